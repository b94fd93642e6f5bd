"""100,000 strings that are fed: their hash buckets, and the ids that a table gives them."""

import numpy as np

from timing import per_call

COUNT = 100000


def measure(tf):
    words = np.empty(COUNT, object)
    words[:] = [b"user_%d" % (7 * i) for i in range(COUNT)]
    text = tf.placeholder(tf.string, [None])
    buckets = tf.strings.to_hash_bucket_fast(text, 1000)
    numbers = np.arange(COUNT, dtype=np.int64)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(words, numbers), -1)
    ids = table.lookup(text)
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        return {
            "buckets": per_call(lambda: session.run(buckets, {text: words}), warm=5),
            "lookup": per_call(lambda: session.run(ids, {text: words}), warm=5),
        }
