"""Files, bytes and records: reading, decoding, parsing."""

from __future__ import annotations

import os
import struct
import tempfile
import zlib

from ..case import Family, row, script
from ..values import Dtype, Shape, const, f32, i32, lit

# -- messages as bytes, written by hand so that the tables need no protobuf ---------------------------


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def piece(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def floats(*values):
    return piece(2, piece(1, struct.pack("<%df" % len(values), *values)) if values else b"")


def loose_floats(*values):
    return piece(2, b"".join(b"\x0d" + struct.pack("<f", v) for v in values))


def ints(*values):
    return piece(3, piece(1, b"".join(map(varint, values))) if values else b"")


def loose_ints(*values):
    return piece(3, b"".join(b"\x08" + varint(v) for v in values))


def texts(*values):
    return piece(1, b"".join(piece(1, v) for v in values))


def features(*entries):
    return b"".join(piece(1, piece(1, key) + piece(2, value)) for key, value in entries)


def example(*entries):
    return piece(1, features(*entries))


def sequence(context, lists):
    rows = [(key, b"".join(piece(1, f) for f in values)) for key, values in lists]
    return piece(1, features(*context)) + piece(2, features(*rows))


def strings(*values):
    return lit(list(values), "string")


def text(value):
    return lit(value, "string")


FLOAT, INT64, STRING = Dtype("float32"), Dtype("int64"), Dtype("string")
NO_FLOATS, NO_INTS, NO_TEXTS = lit([], "float32"), lit([], "int64"), strings()

FULL = example(
    (b"age", ints(7)),
    (b"name", texts(b"ann\0")),
    (b"w", floats(1.5, -2.0)),
    (b"ids", ints(3, -1, 300, 1 << 40)),
    (b"tags", texts(b"x", b"", b"yy" * 90)),
)
OTHER = example(
    (b"tags", texts()),
    (b"ids", ints()),
    (b"w", floats(0.25, 4.0)),
    (b"name", texts(b"bob")),
    (b"age", ints(-5)),
    (b"more", floats(1.0)),
)
LOOSE = example(
    (b"age", loose_ints(200)),
    (b"name", texts(b"c" * 200)),
    (b"w", loose_floats(3.0, 5.0)),
    (b"ids", loose_ints(1, 2)),
)
TWICE = example((b"age", ints(1)), (b"name", texts(b"d"))) + example(
    (b"age", ints(2)), (b"w", floats(1.0, 2.0))
)
NONE = example()


def parse(label, examples, sparse=(), dense=(), names=(), op="ParseExample", **options):
    """A row of ParseExample; `sparse` and `dense` are (key, dtype[, shape, default])."""
    empty = {FLOAT: NO_FLOATS, INT64: NO_INTS, STRING: NO_TEXTS}
    arguments = dict(
        serialized=strings(*examples),
        names=strings(*names),
        sparse_keys=[const(text(key)) for key, _ in sparse],
        dense_keys=[const(text(d[0])) for d in dense],
        dense_defaults=[empty[d[1]] if d[3] is None else lit(d[3], d[1]) for d in dense],
        sparse_types=[kind for _, kind in sparse],
        dense_shapes=[Shape(d[2]) for d in dense],
    )
    if op == "ParseSingleExample":
        del arguments["names"], arguments["sparse_keys"], arguments["dense_keys"]
        arguments.update(
            serialized=text(examples[0]),
            num_sparse=len(sparse),
            sparse_keys=[key.decode() for key, _ in sparse],
            dense_keys=[d[0].decode() for d in dense],
        )
    return row(op, label, "float32", grad_=False, **dict(arguments, **options))


AGE = (b"age", INT64, (), None)
NAME = (b"name", STRING, (), None)
W = (b"w", FLOAT, (2,), None)
IDS = (b"ids", INT64)
TAGS = (b"tags", STRING)
BAD = "InvalidArgumentError"

rows = []
for op in ("ParseExample", "ParseSingleExample"):
    rows += [
        parse("dense", [FULL, OTHER], dense=[AGE, NAME, W], op=op),
        parse("sparse", [FULL, OTHER, NONE], [IDS, TAGS, (b"w", FLOAT)], op=op),
        parse("of other writers", [LOOSE, FULL], [IDS, TAGS], [AGE, NAME, W], op=op),
        parse("put together", [TWICE, FULL], [IDS], [AGE, NAME, W], op=op),
        parse(
            "defaults",
            [NONE, FULL, OTHER],
            dense=[
                (b"age", INT64, (), -3),
                (b"w", FLOAT, (2,), [0.5, 0.75]),
                (b"name", STRING, (), b"nobody"),
            ],
            op=op,
        ),
        parse(
            "padded",
            [OTHER, FULL, NONE],
            dense=[
                (b"ids", INT64, (None,), -1),
                (b"tags", STRING, (None,), b"-"),
                (b"w", FLOAT, (None, 2), 9.0),
            ],
            op=op,
        ),
        parse("a matrix", [FULL], dense=[(b"ids", INT64, (2, 2), None)], op=op),
        parse("missing", [NONE], dense=[AGE], op=op, error_=BAD),
        parse("no list", [example((b"age", b""))], dense=[AGE], op=op, error_=BAD),
        parse("too many", [FULL], dense=[(b"ids", INT64, (), None)], op=op, error_=BAD),
        parse("of another kind", [FULL], dense=[(b"age", FLOAT, (), None)], op=op, error_=BAD),
        parse("sparse of another kind", [FULL], [(b"age", STRING)], op=op, error_=BAD),
        parse("no multiple", [FULL], dense=[(b"ids", INT64, (None, 3), 0)], op=op, error_=BAD),
        parse("no Example", [b"\x0a\x05abc"], [IDS], op=op, error_=BAD),
        parse(
            "a list that breaks off",
            [example((b"ids", b"\x1a\x05\x0a\x03\x01\xff\xff"))],
            [IDS],
            op=op,
            error_=BAD,
        ),
        parse(
            "default of another shape",
            [FULL],
            dense=[(b"w", FLOAT, (2,), [1.0, 2.0, 3.0])],
            op=op,
            error_=BAD,
        ),
        parse("no padding", [FULL], dense=[(b"ids", INT64, (None,), None)], op=op, error_=BAD),
    ]
rows += [
    parse("no Examples", [], [IDS], [AGE]),
    parse("names", [FULL, NONE], dense=[AGE], names=[b"first", b"second"], error_=BAD),
    parse("names of some", [FULL, OTHER], [IDS], names=[b"first"], error_=BAD),
]

# -- sequences ---------------------------------------------------------------------------------------

ONE = sequence(
    [(b"id", ints(4)), (b"tags", texts(b"p", b"q"))],
    [
        (b"x", [floats(1.0, 2.0), floats(3.0, 4.0)]),
        (b"words", [texts(b"a"), texts(), texts(b"b", b"cc"), b""]),
    ],
)
TWO = sequence([(b"w", floats(0.5))], [(b"x", [floats(5.0, 6.0)]), (b"n", [ints(1, 2), ints(3)])])
BARE = sequence([], [])


def sequences(
    label, examples, context=(), dense=(), lists=(), dense_lists=(), may_miss=(), **options
):
    """Rows of the op for one sequence and of that for several; `dense` as in `parse`."""
    empty = {FLOAT: NO_FLOATS, INT64: NO_INTS, STRING: NO_TEXTS}
    shared = dict(
        context_dense_defaults=[empty[d[1]] if d[3] is None else lit(d[3], d[1]) for d in dense],
        context_sparse_types=[kind for _, kind in context],
        context_dense_shapes=[Shape(d[2]) for d in dense],
        feature_list_sparse_types=[kind for _, kind in lists],
        feature_list_dense_types=[d[1] for d in dense_lists],
        feature_list_dense_shapes=[Shape(d[2]) for d in dense_lists],
    )
    keys = dict(
        context_sparse_keys=[key for key, _ in context],
        context_dense_keys=[d[0] for d in dense],
        feature_list_sparse_keys=[key for key, _ in lists],
        feature_list_dense_keys=[d[0] for d in dense_lists],
    )
    several = row(
        "ParseSequenceExample",
        label,
        grad_=False,
        serialized=strings(*examples),
        debug_name=strings(),
        feature_list_dense_missing_assumed_empty=[key.decode() for key in may_miss],
        Ncontext_sparse=len(context),
        Ncontext_dense=len(dense),
        Nfeature_list_sparse=len(lists),
        Nfeature_list_dense=len(dense_lists),
        **dict(
            {name: [key.decode() for key in given] for name, given in keys.items()},
            **dict(shared, **options),
        ),
    )
    one = row(
        "ParseSingleSequenceExample",
        label,
        grad_=False,
        serialized=text(examples[0]),
        feature_list_dense_missing_assumed_empty=const(strings(*may_miss)),
        debug_name=text(b""),
        **dict(
            {name: [const(text(key)) for key in given] for name, given in keys.items()},
            **dict(shared, **options),
        ),
    )
    return several + one


X = (b"x", FLOAT, (2,))
rows += [
    sequences("context", [ONE, TWO], [(b"tags", STRING), (b"w", FLOAT)]),
    sequences(
        "dense context", [ONE, TWO], dense=[(b"id", INT64, (), -1), (b"w", FLOAT, (1,), [9.0])]
    ),
    sequences(
        "lists", [ONE, TWO, BARE], lists=[(b"words", STRING), (b"x", FLOAT), (b"n", INT64)][:2]
    ),
    sequences("dense lists", [ONE, TWO], dense_lists=[X]),
    sequences("dense lists that may miss", [BARE, ONE], dense_lists=[X], may_miss=[b"x"]),
    sequences(
        "all", [ONE, TWO], [(b"tags", STRING)], [(b"id", INT64, (), 0)], [(b"words", STRING)], [X]
    ),
    sequences("missing", [BARE], dense=[(b"id", INT64, (), None)], error_=BAD),
    sequences("a list missing", [BARE], dense_lists=[X], error_=BAD),
    sequences("of another kind", [ONE], [(b"id", STRING)], error_=BAD),
    sequences("a list of another kind", [ONE], lists=[(b"x", INT64)], error_=BAD),
    sequences("a list of another size", [ONE], dense_lists=[(b"x", FLOAT, (3,))], error_=BAD),
    sequences("no SequenceExample", [b"\x0a\x05abc"], [(b"id", INT64)], error_=BAD),
]

# -- bytes -------------------------------------------------------------------------------------------

RAW = ("float16", "float32", "float64", "int32", "uint16", "uint8", "int16", "int8", "int64")
SIXTEEN = bytes(bytearray(range(60, 76)))
rows += [
    row("DecodeRaw", "", RAW, bytes=strings(SIXTEEN, SIXTEEN[::-1]), out_type=Dtype("T")),
    row(
        "DecodeRaw",
        "from the big end",
        RAW,
        bytes=text(SIXTEEN),
        out_type=Dtype("T"),
        little_endian=False,
    ),
    row("DecodeRaw", "flags", bytes=text(b"\0\1\1"), out_type=Dtype("bool")),
    row("DecodeRaw", "complex", bytes=text(SIXTEEN), out_type=Dtype("complex64")),
    row("DecodeRaw", "none", bytes=strings(), out_type=Dtype("int32")),
    row("DecodeRaw", "empty", bytes=strings(b"", b""), out_type=Dtype("int32")),
    row("DecodeRaw", "cut short", bytes=text(b"12345"), out_type=Dtype("int32"), error_=BAD),
    row("DecodeRaw", "unlike", bytes=strings(b"1", b"22"), out_type=Dtype("int8"), error_=BAD),
    row(
        "DecodePaddedRaw",
        "",
        ("float32", "float64", "int32", "uint16", "uint8", "int16", "int8", "int64"),
        input_bytes=strings(
            SIXTEEN
        ),  # of several TensorFlow 1.15 writes into memory that is not its own
        fixed_length=const(8),
        out_type=Dtype("T"),
    ),
    row(
        "DecodePaddedRaw",
        "several",
        input_bytes=strings(SIXTEEN, b"abc", b""),
        fixed_length=const(8),
        out_type=Dtype("uint8"),
    ),
    row(
        "DecodePaddedRaw",
        "no multiple",
        input_bytes=strings(b"abcd"),
        fixed_length=i32(6),
        out_type=Dtype("int32"),
        error_=(BAD, "ValueError"),
    ),
    row(
        "DecodePaddedRaw",
        "of no length",
        input_bytes=strings(b"abcd"),
        fixed_length=i32(0),
        out_type=Dtype("int32"),
        error_=BAD,
    ),
    row("DecodeCompressed", "plain", bytes=strings(b"a\0", b"")),
    row(
        "DecodeCompressed",
        "ZLIB",
        bytes=strings(zlib.compress(b"weft" * 99), zlib.compress(b"")),
        compression_type="ZLIB",
    ),
    row(
        "DecodeCompressed",
        "no ZLIB",
        bytes=text(b"ab"),
        compression_type="ZLIB",
        error_="DataLossError",
    ),
    row("DecodeCompressed", "unknown", bytes=text(b"ab"), compression_type="LZ4", error_=BAD),
]

# -- lines -------------------------------------------------------------------------------------------


def csv(label, lines, defaults, **options):
    """A row of DecodeCSV; the defaults are (dtype, value or None)."""
    made = [lit([] if value is None else [value], kind) for kind, value in defaults]
    return row("DecodeCSV", label, records=strings(*lines), record_defaults=made, **options)


EVERY = [
    ("float32", None),
    ("float64", None),
    ("int32", None),
    ("int64", None),
    ("string", None),
]
rows += [
    csv("", [b"1.5,-2e3,7, 8 ,abc", b"0.25,1,-3,9000000000,"], EVERY[:4] + [("string", b"-")]),
    csv(
        "in quotes",
        [b'"1","a ""b"", c",x', b'2,"",""'],
        [EVERY[2], ("string", b"none"), ("string", b"no")],
    ),
    csv(
        "defaults",
        [b",,", b"1,NA,x"],
        [("int32", 5), ("float32", 0.5), ("string", b"s")],
        na_value="NA",
    ),
    csv("other delimiter", [b"1\t2", b"3\t"], [EVERY[0], ("int64", 9)], field_delim="\t"),
    csv("quotes are letters", [b'"a",b"', b'c,"'], [EVERY[4], EVERY[4]], use_quote_delim=False),
    csv("some columns", [b"a,1,b,2", b"c,3,d,4,e"], [EVERY[2], EVERY[3]], select_cols=[1, 3]),
    csv(
        "some columns in quotes",
        [b'a,"1",b,2', b"c,3,d,4,e"],
        [EVERY[2], EVERY[3]],
        select_cols=[1, 3],
    ),
    csv("line ends", [b"1,2\r\n", b"\n3,\r4"][1:], [EVERY[2], EVERY[2]]),
    csv("a line end within", [b"1,2\r\n"], [EVERY[2], EVERY[2]], error_=BAD),
    csv("a list of none", [], [EVERY[2], EVERY[4]]),
    csv("too few", [b"1,2", b"3"], [EVERY[2], EVERY[2]], error_=BAD),
    csv("too many", [b"1,2,3"], [EVERY[2], EVERY[2]], error_=BAD),
    csv("nothing", [b""], [EVERY[4]], error_=BAD),
    csv("missing", [b"1,"], [EVERY[2], EVERY[2]], error_=BAD),
    csv("no int", [b"1,x"], [EVERY[2], EVERY[2]], error_=BAD),
    csv("large", [b"3000000000"], [EVERY[2]], error_=BAD),
    csv("no float", [b"1..5"], [EVERY[0]], error_=BAD),
    csv("a quote within", [b'a"b'], [EVERY[4]], error_=BAD),
    csv("a lone quote", [b'"a"b"'], [EVERY[4]], error_=BAD),
    csv("an open quote", [b'"ab'], [EVERY[4]], error_=BAD),
    csv("two defaults", [b"1"], [EVERY[2]], field_delim=",,", error_=(BAD, "ValueError")),
]

# -- tensors, JSON, names ----------------------------------------------------------------------------

rows += [
    row(
        "SerializeTensor",
        "",
        ("float32", "int64", "bool", "string", "float16"),
        tensor=lit([[1, 0]]),
    ),
    row("SerializeTensor", "a scalar", tensor=lit(2.5)),
    row("SerializeTensor", "empty", tensor=lit([])),
    row(
        "ParseTensor",
        "",
        serialized=text(b"\x08\x01\x12\x04\x12\x02\x08\x02" + piece(4, struct.pack("<2f", 1, 2))),
        out_type=Dtype("float32"),
    ),
    row(
        "ParseTensor",
        "one value for all",
        serialized=text(b"\x08\x03\x12\x04\x12\x02\x08\x03" + b"\x3a\x01\x07"),
        out_type=Dtype("int32"),
    ),
    row(
        "ParseTensor", "of another dtype", serialized=text(b"\x08\x01"), out_type=INT64, error_=BAD
    ),
    row("ParseTensor", "broken", serialized=text(b"\x08"), out_type=FLOAT, error_=BAD),
    row(
        "DecodeJSONExample",
        exact_=False,  # the same message, whose numbers TensorFlow leaves unpacked
        json_examples=strings(
            b'{"features": {"feature": {"a": {"int64List": {"value": ["7", 8]}}}}}', b"{}"
        ),
    ),
    row("DecodeJSONExample", "broken", json_examples=text(b"{"), error_=BAD),
    row("ShardedFilename", basename=text(b"/tmp/x"), shard=i32(7), num_shards=i32(123456)),
    row("ShardedFilespec", basename=text(b"base"), num_shards=i32(10)),
    row("ReadFile", "none", filename=text(b"/no/such/file"), error_="NotFoundError"),
    row("MatchingFiles", "none", pattern=text(b"/no/such/*"), error_="NotFoundError"),
]

# -- messages ----------------------------------------------------------------------------------------

# A tensorflow.VersionDef: producer, min_consumer, bad_consumers
VERSIONS = [b"\x08\x05\x1a\x02\x07\x08", b"\x10\x03", b""]
NODE = piece(1, b"name") + piece(2, b"Op") + piece(3, b"in0") + piece(3, b"in1")


def message(label, data, kind, names, kinds, **options):
    return row(
        "DecodeProtoV2",
        label,
        bytes=strings(*data),
        message_type="tensorflow." + kind,
        field_names=names,
        output_types=kinds,
        **options,
    )


I32 = Dtype("int32")
rows += [
    message("", VERSIONS, "VersionDef", ["bad_consumers", "producer"], [I32, I32]),
    message("wider", VERSIONS, "VersionDef", ["bad_consumers"], [INT64]),
    message("texts", [NODE, b""], "NodeDef", ["input", "op"], [STRING, STRING]),
    message(
        "as text",
        [b"producer: 4 bad_consumers: [1, 2]"],
        "VersionDef",
        ["bad_consumers"],
        [I32],
        message_format="text",
    ),
    message("sanitized", VERSIONS, "VersionDef", ["producer"], [I32], sanitize=True),
    message("no type", VERSIONS, "NoSuchType", ["a"], [I32], error_=BAD),
    message("no field", VERSIONS, "VersionDef", ["a"], [I32], error_=BAD),
    message("of another dtype", VERSIONS, "VersionDef", ["producer"], [STRING], error_=BAD),
    message("broken", [b"\x08"], "VersionDef", ["producer"], [I32], error_="DataLossError"),
    message("no messages", [], "VersionDef", ["producer"], [I32], error_=BAD),
    row(
        "EncodeProto",
        sizes=i32([[1, 2], [0, 1]]),
        values=[i32([[5], [6]]), i32([[7, 8], [9, 10]])],
        field_names=["producer", "bad_consumers"],
        message_type="tensorflow.VersionDef",
        exact_=False,  # the same messages, in packed form or not
    ),
    row(
        "EncodeProto",
        "texts",
        sizes=i32([[2]]),
        values=[strings([b"in0", b"in1"])],
        field_names=["input"],
        message_type="tensorflow.NodeDef",
    ),
    row(
        "EncodeProto",
        "too few values",
        sizes=i32([[3]]),
        values=[i32([[5]])],
        field_names=["producer"],
        message_type="tensorflow.VersionDef",
        error_=BAD,
    ),
]

# -- sound -------------------------------------------------------------------------------------------

WAV = (
    b"RIFF"
    + struct.pack("<I", 36 + 8)
    + b"WAVEfmt "
    + struct.pack("<IHHIIHH", 16, 1, 2, 8000, 32000, 4, 16)
    + b"data"
    + struct.pack("<I4h", 8, 1, -32768, 32767, 256)
)
rows += [
    row("EncodeWav", audio=f32([[0.5, -2.0], [0.00002, 1.0]]), sample_rate=i32(44100)),
    row("EncodeWav", "no frames", audio=lit([[]], "float32"), sample_rate=i32(8), error_=BAD),
    row("DecodeWav", contents=text(WAV)),
    row("DecodeWav", "more", contents=text(WAV), desired_channels=3, desired_samples=4),
    row("DecodeWav", "less", contents=text(WAV), desired_channels=1, desired_samples=1),
    row("DecodeWav", "cut short", contents=text(WAV[:-3]), error_=BAD),
    row("DecodeWav", "something else", contents=text(b"RIFX" + WAV[4:]), error_=BAD),
]

# -- programs ----------------------------------------------------------------------------------------

scripts = []


def declare(*ops, **options):
    def keep(function):
        scripts.append(script(*ops, **options)(function))
        return function

    return keep


@declare("ReadFile", "WriteFile", "MatchingFiles")
def files(g):
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "new", "a.txt").encode()
    name, contents = g.feed(path, "string"), g.feed(b"one\0two\n", "string")
    yield g.run(g.raw.WriteFile(filename=name, contents=contents))
    yield g.run(g.raw.ReadFile(filename=name))
    pattern = g.feed([os.path.join(folder, "*", "*.txt").encode()], "string")
    yield g.run(g.tf.size(g.raw.MatchingFiles(pattern=pattern)))


FAMILY = Family("parsing", rows, scripts)
