"""Readers, in both forms of their handles."""

from __future__ import annotations

import os
import tempfile
import zlib

from ..case import Family, script

scripts = []
FORMS = ("", "V2")
EACH = (
    "ReaderRead ReaderReadUpTo ReaderNumRecordsProduced ReaderNumWorkUnitsCompleted ReaderSerializeState "
    "ReaderRestoreState ReaderReset"
).split()
# Two records, b"one" and b"", in TensorFlow's framing.
RECORDS = (
    b"\x03\x00\x00\x00\x00\x00\x00\x00\xb0\x99I\x0eone\x01@U\x08"
    b"\x00\x00\x00\x00\x00\x00\x00\x00)\x03\x98\x07\xd8\xea\x82\xa2"
)


class Reading:
    """A reader of one form, the queue that it takes from, and the ops on both."""

    def __init__(self, g, suffix, kind, **attrs):
        self.g, self.suffix = g, suffix
        self.reader = self.op(kind, shared_name=g.fresh_name(), **attrs)
        self.queue = self.op(
            "FIFOQueue",
            component_types=[g.tf.string],
            shapes=[[]],
            capacity=9,
            shared_name=g.fresh_name(),
        )

    def op(self, name, **arguments):
        return getattr(self.g.raw, name + self.suffix)(**arguments)

    def put(self, *work):
        return self.op(
            "QueueEnqueueMany", handle=self.queue, components=[self.g.feed(list(work), "string")]
        )

    def close(self):
        return self.op("QueueClose", handle=self.queue)

    def read(self):
        found = self.op("ReaderRead", reader_handle=self.reader, queue_handle=self.queue)
        return self.without_folder(*found)

    def read_up_to(self, n):
        found = self.op(
            "ReaderReadUpTo",
            reader_handle=self.reader,
            queue_handle=self.queue,
            num_records=self.g.feed(n, "int64"),
        )
        return self.without_folder(*found)

    def without_folder(self, key, value):
        return self.g.tf.strings.regex_replace(key, "^.*/", ""), value

    def on(self, name, **arguments):
        return self.op(name, reader_handle=self.reader, **arguments)

    def counts(self):
        return self.on("ReaderNumRecordsProduced"), self.on("ReaderNumWorkUnitsCompleted")


def for_both_forms(kind, **attrs):
    def keep(function):
        for suffix in FORMS:

            def program(g, suffix=suffix):
                return function(g, Reading(g, suffix, kind, **attrs))

            program.__name__ = function.__name__ + suffix.lower()
            names = [name + suffix for name in [kind] + EACH]
            scripts.append(script(*names)(program))
        return function

    return keep


def for_none(*ops):
    def keep(function):
        scripts.append(script(*ops)(function))
        return function

    return keep


def files(*contents):
    folder = tempfile.mkdtemp()
    paths = []
    for i, data in enumerate(contents):
        paths.append(os.path.join(folder, "file%d" % i))
        with open(paths[-1], "wb") as file:
            file.write(data)
    return [path.encode() for path in paths]


@for_both_forms("IdentityReader")
def identity_reader(g, r):
    read, counts = r.read(), r.counts()
    state = r.on("ReaderSerializeState")
    yield g.run(*counts)
    yield g.run(r.put(b"a", b"b", b"c"))
    yield g.run(*read)
    yield g.run(*r.read_up_to(5))
    yield g.run(state)
    yield g.run(*counts)
    yield g.run(r.on("ReaderRestoreState", state=g.feed(b"\x08\x07\x10\x07\x18\x03", "string")))
    yield g.run(*counts)
    yield g.run(*read)
    yield g.run(*counts)
    restore = r.on("ReaderRestoreState", state=g.feed(b"\x08\x07", "string"))
    yield g.run(restore, error="InvalidArgumentError")
    yield g.run(*counts)
    restore = r.on("ReaderRestoreState", state=g.feed(b"broken", "string"))
    yield g.run(restore, error="InvalidArgumentError")
    yield g.run(r.put(b"d"))
    yield g.run(*read)
    yield g.run(r.on("ReaderReset"))
    yield g.run(*counts)
    yield g.run(r.close())
    yield g.run(*read, error="OutOfRangeError")


@for_both_forms("WholeFileReader")
def whole_file_reader(g, r):
    read = r.read()
    yield g.run(r.put(*(files(b"a\0b\n", b"") + [b"/no/such/file"] + files(b"after"))))
    yield g.run(*read)
    yield g.run(*read)
    yield g.run(*read, error="NotFoundError")
    yield g.run(r.on("ReaderReset"))
    yield g.run(*read)
    yield g.run(*r.counts())


@for_both_forms("TextLineReader", skip_header_lines=1)
def text_line_reader(g, r):
    read, counts = r.read(), r.counts()
    yield g.run(r.put(*files(b"head\none\r\n\nth\rree", b"head", b"", b"head\nlast\n")))
    yield g.run(*read)
    yield g.run(*r.read_up_to(9))
    yield g.run(*counts)
    yield g.run(*r.read_up_to(9))
    yield g.run(*counts)
    yield g.run(r.on("ReaderSerializeState"), error="UnimplementedError")
    restore = r.on("ReaderRestoreState", state=g.feed(b"", "string"))
    yield g.run(restore, error="UnimplementedError")


@for_both_forms(
    "FixedLengthRecordReader", header_bytes=2, record_bytes=3, footer_bytes=1, hop_bytes=2
)
def fixed_length_record_reader(g, r):
    read = r.read()
    yield g.run(r.put(*files(b"HHabcdefghF", b"HHab", b"HHxyzF")))
    for _ in range(4):
        yield g.run(*read)
    yield g.run(r.close())
    yield g.run(*read, error="OutOfRangeError")
    yield g.run(*r.counts())


@for_both_forms("FixedLengthRecordReader", record_bytes=2, hop_bytes=5)
def records_with_gaps(g, r):
    yield g.run(r.put(*files(b"ab---cd---e")))
    yield g.run(*r.read_up_to(1))
    yield g.run(*r.read_up_to(9))
    yield g.run(r.close())
    yield g.run(*r.read_up_to(9), error="OutOfRangeError")


@for_both_forms("TFRecordReader")
def tf_record_reader(g, r):
    read, counts = r.read(), r.counts()
    yield g.run(r.put(*files(RECORDS, b"", RECORDS)))
    yield g.run(*read)
    yield g.run(*r.read_up_to(9))
    yield g.run(*counts)
    yield g.run(*r.read_up_to(2))
    yield g.run(*counts)
    yield g.run(r.put(*files(RECORDS[:-1])))
    yield g.run(*read)
    yield g.run(*read, error="DataLossError")
    yield g.run(*read, error="DataLossError")
    yield g.run(r.on("ReaderReset"))
    yield g.run(*counts)


@for_both_forms("TFRecordReader", compression_type="ZLIB")
def compressed_records(g, r):
    yield g.run(r.put(*files(zlib.compress(RECORDS))))
    yield g.run(*r.read_up_to(9))


@for_none("RecordInput")
def record_input(g):
    (path,) = files(RECORDS[:19])
    attrs = dict(file_buffer_size=1, file_parallelism=1, batch_size=2)
    yield g.run(g.raw.RecordInput(file_pattern=path.decode(), **attrs))
    yield g.run(g.raw.RecordInput(file_pattern="/no/such/file*", **attrs), error="NotFoundError")


FAMILY = Family("readers", [], scripts)
