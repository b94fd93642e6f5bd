"""Strings as bytes of any length: constants, shapes, comparison, joining, numbers, hashing."""

import numpy as np


def build(tf):
    words = tf.placeholder(tf.string, [None], name="words")
    table = tf.constant([[b"warp\0", b"weft"], [b"", b"\xff\0\xfe"]])
    tf.identity(table, name="table")
    tf.gather(words, [1, 0, 1], name="gathered")
    tf.concat([words, tf.reshape(table, [-1])], 0, name="joined_arrays")
    tf.equal(words, "weft", name="same")
    tf.where(tf.not_equal(words, "weft"), words, tf.fill(tf.shape(words), "?"), name="chosen")
    tf.string_join([words, words], separator="-", name="joined")
    tf.as_string(tf.constant([1.5, -2.0]), precision=2, name="numbers")
    tf.string_to_number(tf.constant(["3.25", "-1e3"]), name="parsed")
    tf.string_to_hash_bucket_fast(words, 1000, name="hashed")
    tf.reduce_join(table, 1, name="reduced")
    tf.decode_raw(tf.constant(b"\1\0\2\0"), tf.int16, name="raw")
    names = ["table", "gathered", "joined_arrays", "same", "chosen", "joined", "numbers", "parsed"]
    fetches = [name + ":0" for name in names + ["hashed", "raw"]]
    fetches.append(tf.reduce_join(table, 1).name)
    fed = np.array([b"weft", b"a\0b\0", "schu\u00df".encode()], object)
    return {"runs": [({"words:0": fed}, fetches)]}
