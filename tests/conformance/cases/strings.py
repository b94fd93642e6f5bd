"""Ops on strings: joins, splits, parts, case, numbers, hashes, regular expressions, Base64, encodings, n-grams."""

from __future__ import annotations

import numpy as np

from ..case import Family, row
from ..values import Dtype, T, const, lit, num, special

BYTES = [
    b"",
    b"a",
    b"Ab\0c\0",
    b" \t two words \r\n",
    b"\xff\xfe\x80",
    "Größe Łódź ΣΑΣ ".encode("utf-8"),
]
LENGTHS = [
    bytes(bytearray((7 * i + n) % 256 for i in range(n)))
    for n in list(range(70)) + [127, 128, 129, 192, 500]
]


def text(values):
    return lit(values, "string")


def i(values, dtype="int32"):
    return lit(values, dtype)


strings = text(BYTES)
rows = [
    row("StringLower", input=strings),
    row("StringUpper", input=strings),
    row(
        "StringLower",
        "utf-8",
        input=text([b"", "ÄÖÜ ŁÓDŹ ΟΔΟΣ İ".encode("utf-8"), b"A\xffB"]),
        encoding="utf-8",
    ),
    row(
        "StringUpper",
        "utf-8",
        input=text([b"", "äöü łódź straße ﬁ ı".encode("utf-8"), b"a\xc3b"]),
        encoding="utf-8",
    ),
    row(
        "StringLower",
        "another encoding",
        input=strings,
        encoding="latin-1",
        error_="InvalidArgumentError",
    ),
    row(
        "StringUpper",
        "another encoding",
        input=strings,
        encoding="latin-1",
        error_="InvalidArgumentError",
    ),
    row("StringStrip", input=strings),
    row("StringStrip", "a scalar", input=text(b" \v\f x ")),
    row("StringLength", input=strings),
    row("StringLength", "of characters", input=strings, unit="UTF8_CHAR"),
    row("StringLength", "of nothing", input=text(np.empty((0, 2), object))),
]
# -- Substr
rows += [
    row("Substr", "scalars", input=text([b"abcdef", b"xyz"]), pos=i(1), len=i(3)),
    row("Substr", "from the end", input=text([b"abcdef", b"xyz"]), pos=i(-2, "int64"), len=i(1, "int64")),
    row("Substr", "one each", input=text([[b"abcdef", b"xyz"]]), pos=i([[5, 3]]), len=i([[10, 1]])),
    row("Substr", "broadcast", input=text([[b"abcdef"], [b"uvwxyz"]]), pos=i([0, 1, -3]), len=i([1, 2, 3])),
    row("Substr", "no length", input=text([b"abcdef", b""]), pos=i(0), len=i(0)),
    row("Substr", "a negative length", input=text([b"abcdef"]), pos=i(2), len=i(-1)),
    row(
        "Substr",
        "characters",
        input=text(["aäß€😀z".encode("utf-8"), b"\x80\x80a\xffb"]),
        pos=i([1, 1]),
        len=i([3, 2]),
        unit="UTF8_CHAR",
    ),
    row(
        "Substr",
        "characters from the end",
        input=text(["aäß€😀z".encode("utf-8"), b"\x80\x80a\xffb", b"abc"]),
        pos=i([-3, -2, -3]),
        len=i([2, 7, 3]),
        unit="UTF8_CHAR",
    ),
    row("Substr", "characters, a negative length", input=text([b"abc"]), pos=i(1), len=i(-1), unit="UTF8_CHAR"),
    row("Substr", "behind the end", input=text([b"abc"]), pos=i(4), len=i(1), error_="InvalidArgumentError"),
    row("Substr", "before the begin", input=text([b"abc"]), pos=i(-4), len=i(1), error_="InvalidArgumentError"),
    row(
        "Substr", "characters behind the end", input=text(["äö".encode("utf-8")]), pos=i(3), len=i(1),
        unit="UTF8_CHAR", error_="InvalidArgumentError",
    ),
    row(
        "Substr", "characters before the begin", input=text(["äö".encode("utf-8")]), pos=i(-3), len=i(1),
        unit="UTF8_CHAR", error_="InvalidArgumentError",
    ),
    row("Substr", "shapes", input=text([b"abc"]), pos=i([1]), len=i(1), error_=("ValueError", "InvalidArgumentError")),
]  # fmt: skip
# -- joins
rows += [
    row("StringJoin", inputs=[num(2, 3).typed("string"), text(b"-"), num(2, 3).typed("string")]),
    row("StringJoin", "separated", inputs=[text([b"a", b"b"]), text([b"", b"\0"])], separator=", "),
    row("StringJoin", "scalars", inputs=[text(b"a"), text(b"b")], separator="+"),
    row(
        "StringJoin",
        "shapes",
        inputs=[text([b"a", b"b"]), text([b"c"])],
        error_=("ValueError", "InvalidArgumentError"),
    ),
]
grid = text([[[b"a", b"b", b""], [b"d", b"e", b"f"]], [[b"g", b"h", b"i"], [b"j", b"k", b"l"]]])
rows += [
    row(
        "ReduceJoin",
        label,
        inputs=grid,
        reduction_indices=const(axes),
        separator=separator,
        keep_dims=keep,
    )
    for label, axes, separator, keep in (
        ("one", [0], "", False),
        ("from the end", [-1], "-", False),
        ("in order", [0, 1], ", ", False),
        ("out of order", [2, 0], "", True),
        ("all", [2, 1, 0], "", False),
        ("none", [], "-", False),
        ("a scalar", 1, "", True),
    )
]
rows += [
    row(
        "ReduceJoin",
        "of nothing",
        inputs=text(np.empty((2, 0), object)),
        reduction_indices=const([1]),
    ),
    row(
        "ReduceJoin",
        "gives nothing",
        inputs=text(np.empty((0, 2), object)),
        reduction_indices=const([1]),
    ),
    row(
        "ReduceJoin",
        "out of range",
        inputs=grid,
        reduction_indices=const([3]),
        error_=("ValueError", "OutOfRangeError"),
    ),
    row(
        "ReduceJoin",
        "twice",
        inputs=grid,
        reduction_indices=const([1, -2]),
        error_="InvalidArgumentError",
    ),
]
parts = text([[b"a", b"b"], [b"", b"d"], [b"e", b""], [b"g", b"h"]])
rows += [
    row(
        "UnsortedSegmentJoin",
        "rows",
        inputs=parts,
        segment_ids=i([2, 0, 2, 0], dtype),
        num_segments=const(3, other),
        separator=":",
    )
    for dtype, other in (("int32", "int32"),)
]
rows += [
    row(
        "UnsortedSegmentJoin",
        "elements",
        inputs=parts,
        segment_ids=i([[0, 1], [0, 3], [3, 3], [1, 1]], "int64"),
        num_segments=const(4, "int64"),
    ),
    row(
        "UnsortedSegmentJoin",
        "empty texts",
        inputs=text([b"", b"a", b"", b"", b"b"]),
        segment_ids=i([0, 0, 0, 1, 1]),
        num_segments=const(2),
        separator="-",
    ),
    row(
        "UnsortedSegmentJoin", "an id too high", inputs=parts, segment_ids=i([0, 1, 2, 3]), num_segments=const(3),
        error_="InvalidArgumentError",
    ),
    row(
        "UnsortedSegmentJoin", "a negative id", inputs=parts, segment_ids=i([0, 1, 2, -1]), num_segments=const(3),
        error_="InvalidArgumentError",
    ),
]  # fmt: skip
# -- splits
sentences = text([b" a  b,c ", b"", b",,x;y", b"\0z z"])
rows += [
    row("StringSplit", label, input=sentences, delimiter=text(delimiter), skip_empty=skip)
    for label, delimiter, skip in (
        ("", b" ", True),
        ("keeps empty ones", b" ", False),
        ("several bytes", b" ,;", True),
        ("several bytes, keeps empty ones", b",;", False),
        ("every byte", b"", True),
    )
]
rows += [
    row("StringSplitV2", label, input=sentences, sep=text(sep), maxsplit=most)
    for label, sep, most in (
        ("white space", b"", -1),
        ("white space, at most one", b"", 1),
        ("white space, at most two", b"", 2),
        ("a comma", b",", -1),
        ("a comma, at most one", b",", 1),
        ("two bytes", b"  ", -1),
        ("none", b",", 0),
        ("none of white space", b"", 0),
    )
]
rows += [
    row("StringSplit", "of nothing", input=text(np.empty(0, object)), delimiter=text(b" ")),
    row(
        "StringSplit",
        "a matrix",
        input=grid,
        delimiter=text(b" "),
        error_=("ValueError", "InvalidArgumentError"),
    ),
    row(
        "StringSplitV2",
        "a vector",
        input=sentences,
        sep=text([b" "]),
        error_=("ValueError", "InvalidArgumentError"),
    ),
]
# -- numbers
rows += [
    row("AsString", over_=("int8", "int16", "int32", "int64", "bool"), input=num(2, 3)),
    row(
        "AsString",
        "reals",
        over_=("float32", "float64", "complex64", "complex128"),
        input=num(2, 3),
    ),
    row("AsString", "special", over_=("float32", "float64"), input=special()),
    row(
        "AsString",
        "wide special",
        over_=("float32", "float64"),
        input=special(),
        width=12,
        fill="0",
    ),
    row("AsString", "complex, digits", "complex64", input=num(3), precision=2, width=8),
] + [
    row("AsString", label, dtype, input=values, **how)
    for label, dtype, values, how in (
        ("digits", "float32", lit([0.1, 123456.789, 1e30, -2.5e-8]), dict(precision=3)),
        ("many digits", "float64", lit([0.1, 1e22]), dict(precision=40)),
        ("scientific", "float64", lit([0.1, 123456.789, 1e-300, 0.0]), dict(scientific=True)),
        (
            "scientific, digits",
            "float32",
            lit([0.1, 123456.789]),
            dict(scientific=True, precision=2),
        ),
        ("shortest", "float64", lit([0.1, 123456789.0, 1e-5, 1e22]), dict(shortest=True)),
        ("shortest, digits", "float32", lit([0.1, 123456789.0]), dict(shortest=True, precision=10)),
        ("width", "int32", lit([5, -5, 123456]), dict(width=4)),
        ("zeros", "int64", lit([5, -5, 2**62]), dict(width=4, fill="0")),
        ("left", "int32", lit([5, -5]), dict(width=4, fill="-")),
        ("plus", "int32", lit([5, -5]), dict(fill="+")),
        ("blank", "float32", lit([5.5, -5.5, np.inf]), dict(fill=" ")),
        ("plus of specials", "float64", lit([np.inf, -np.inf, np.nan]), dict(fill="+", width=7)),
        ("left specials", "float64", lit([np.inf, -np.inf]), dict(fill="-", width=7)),
    )
]
rows += [
    row("AsString", label, dtype, input=lit([1]), error_="InvalidArgumentError", **how)
    for label, dtype, how in (
        ("digits of integers", "int32", dict(precision=2)),
        ("scientific integers", "int32", dict(scientific=True)),
        ("two notations", "float32", dict(scientific=True, shortest=True)),
        ("fill of two", "float32", dict(fill="ab")),
        ("unknown fill", "float32", dict(fill="s")),
    )
]
REALS = [
    b"1.5",
    b"-0",
    b" 2 ",
    b"\t.5e1\n",
    b"5.",
    b"+7",
    b"1e400",
    b"-1e-400",
    b"INF",
    b"-inf",
    b"NaN",
    b"0x1f",
    b"  ",
]
REALS += [
    b"16777217.0000000001",
    b"16777217",
    b"3.4028236e38",
    b"1.17549429e-38",
    b"1e-45",
    b"7.0064923216240854e-46",
]
INTEGERS = [b"0", b"-12", b" 7\n", b"007", b"2147483647", b"-2147483648"]
BAD_REALS = [
    b"", b"abc", b"1e", b"1_000", b"1.5.2", b"+ 1", b"infinity", b"0x", b"-", b".", b"1 2", b"1\0", "٣".encode("utf-8"),
]  # fmt: skip
BAD_INTEGERS = [b"", b"  ", b"1.0", b"+1", b"99999999999999999999", b"0x10", b"--1", b"1_0", b"1\0"]
rows += [
    row("StringToNumber", "reals", over_=("float32", "float64"), string_tensor=text(REALS), out_type=T),
    row("StringToNumber", "integers", over_=("int32", "int64"), string_tensor=text(INTEGERS), out_type=T),
    row(
        "StringToNumber", "wide integers", "int64",
        string_tensor=text([b"9223372036854775807", b"-9223372036854775808", b"-00"]), out_type=T,
    ),
    row("StringToNumber", "a matrix", "float32", string_tensor=text([[b"1", b"2"], [b"3", b"4"]]), out_type=T),
]  # fmt: skip
for k, bad in enumerate(BAD_REALS):
    rows.append(
        row(
            "StringToNumber", "bad real %d" % k, string_tensor=text([b"1", bad]), out_type=T,
            error_="InvalidArgumentError",
        )
    )  # fmt: skip
for k, bad in enumerate(BAD_INTEGERS):
    rows.append(
        row(
            "StringToNumber", "bad integer %d" % k, over_=("int32", "int64"), string_tensor=text([b"1", bad]),
            out_type=T, error_="InvalidArgumentError",
        )
    )  # fmt: skip
rows += [
    row(
        "StringToNumber", "too large", "int32", string_tensor=text(b"2147483648"), out_type=T,
        error_="InvalidArgumentError",
    ),
    row(
        "StringToNumber", "too small", "int64", string_tensor=text(b"-9223372036854775809"), out_type=T,
        error_="InvalidArgumentError",
    ),
]  # fmt: skip
# -- hashes
rows += [
    row("StringToHashBucket", string_tensor=text(LENGTHS), num_buckets=2**62 + 1),
    row("StringToHashBucketFast", input=text(LENGTHS), num_buckets=2**62 + 1),
    row("StringToHashBucketStrong", input=text(LENGTHS), num_buckets=2**62 + 1, key=[98765, -132]),
    row("StringToHashBucketFast", "few", input=text([[b"a", b"b"], [b"", b"\0"]]), num_buckets=10),
    row("StringToHashBucketFast", "one", input=text(b"a"), num_buckets=1),
    row("StringToHashBucketFast", "of nothing", input=text(np.empty((0, 3), object)), num_buckets=3),
    row(
        "StringToHashBucketStrong", "one key", input=text([b"a"]), num_buckets=3, key=[1],
        error_="InvalidArgumentError",
    ),
    row(
        "Fingerprint",
        over_=("float32", "float64", "int8", "uint16", "int64", "complex128", "bool"),
        data=num(3, 2, 5),
        method=const(b"farmhash64", "string"),
        grad_=False,
    ),
    row("Fingerprint", "strings", data=text(LENGTHS), method=const(b"farmhash64", "string")),
    row("Fingerprint", "rows of strings", data=text([BYTES, BYTES[::-1]]), method=const(b"farmhash64", "string")),
    row(
        "Fingerprint", "another method", data=text(BYTES), method=const(b"md5", "string"),
        error_="InvalidArgumentError",
    ),
    row(
        "Fingerprint", "a scalar", data=text(b"a"), method=const(b"farmhash64", "string"),
        error_=("ValueError", "InvalidArgumentError"),
    ),
]  # fmt: skip
# -- regular expressions
SUBJECTS = [b"", b"baac", b"aaa", b"a1-b22 c", b"\xff\xfea", "äb€a".encode("utf-8"), b"x\ny\n"]
REPLACEMENTS = (
    ("text", b"a", b"-"),
    ("empty matches", b"a*", b"X"),
    ("nothing at all", b"", b"."),
    ("groups", rb"([a-z])(\d*)", rb"\2\1"),
    ("the match", rb"[a-c]+", rb"<\0>"),
    ("a group that is not there", rb"a|(b)", rb"[\1]"),
    ("a group that the pattern lacks", rb"(a)", rb"\2"),
    ("a backslash", b"a", rb"\\"),
    ("a bad rewrite", b"a", rb"x\q"),
    ("boundaries", rb"\b", b"|"),
    ("characters", b"[^a-z]", b"?"),
    ("lines", b"(?m)^", b"> "),
    ("ends", rb"\s*$", b"."),
)
for label, pattern, rewrite in REPLACEMENTS:
    for everywhere in (True, False):
        how = dict(replace_global=everywhere)
        name = label if everywhere else label + ", the first"
        rows += [
            row(
                "RegexReplace", name, input=text(SUBJECTS), pattern=const(pattern, "string"),
                rewrite=const(rewrite, "string"), **how
            ),
            row("StaticRegexReplace", name, input=text(SUBJECTS), pattern=pattern, rewrite=rewrite, **how),
        ]  # fmt: skip
for label, pattern in (
    ("text", b"aaa"),
    ("empty", b""),
    ("any", b".*"),
    ("any character", b"(?s).*"),
    ("alternatives", b"a|ba+c|"),
    ("umlauts", "ä.€a".encode("utf-8")),
):
    rows += [
        row("RegexFullMatch", label, input=text(SUBJECTS), pattern=const(pattern, "string")),
        row("StaticRegexFullMatch", label, input=text(SUBJECTS), pattern=pattern),
    ]
for label, pattern in (
    ("bracket", b"["),
    ("group", b"a(b"),
    ("look-behind", b"(?<=a)b"),
    ("escape", rb"\Z\y"),
):
    what = dict(input=text(SUBJECTS), error_="InvalidArgumentError")
    rows += [
        row(
            "RegexReplace",
            "bad " + label,
            pattern=const(pattern, "string"),
            rewrite=const(b"", "string"),
            **what,
        ),
        row("StaticRegexReplace", "bad " + label, pattern=pattern, rewrite=b"", **what),
        row("RegexFullMatch", "bad " + label, pattern=const(pattern, "string"), **what),
        row("StaticRegexFullMatch", "bad " + label, pattern=pattern, **what),
    ]
rows += [
    row(
        "RegexFullMatch", "patterns", input=text(SUBJECTS), pattern=const([b"a", b"b"], "string"),
        error_=("ValueError", "InvalidArgumentError"),
    ),
    row(
        "RegexReplace", "rewrites", input=text(SUBJECTS), pattern=const(b"a", "string"),
        rewrite=const([b"b"], "string"), error_=("ValueError", "InvalidArgumentError"),
    ),
]  # fmt: skip
# -- Base64
rows += [
    row("EncodeBase64", input=text(BYTES)),
    row("EncodeBase64", "padded", input=text(BYTES), pad=True),
    row(
        "DecodeBase64",
        input=text([b"", b"YQ", b"YQ==", b"YWI", b"YWI=", b"YWJj", b"_-8_", b"YR", b"YWJjZA=="]),
    ),
]
BAD_BASE64 = [
    b"Y",
    b"YWJjZ",
    b"Y=",
    b"YQ=",
    b"YQ=a",
    b"Y===",
    b"====",
    b"YQ==YQ==",
    b"+/8_",
    b"YW\nI",
    b"YQ \0",
    b"\xffQ",
]
for k, bad in enumerate(BAD_BASE64):
    rows.append(
        row("DecodeBase64", "bad %d" % k, input=text([b"YQ", bad]), error_="InvalidArgumentError")
    )
# -- encodings
UTF8 = [
    b"", b"abc", "aä€😀\0\u001f\ufeffz".encode("utf-8"), b"a\xffb\xc3", b"\xe2\x82", b"\xc0\x80", b"\xed\xa0\x80x",
    b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\xe2\x28\xa1", b"\x80\x80", "\ufffd".encode("utf-8"), b"\tx\n",
]  # fmt: skip
UTF16 = [
    b"", "aä€😀".encode("utf-16-be"), b"\0a\xd8\x00\0b", b"\xdc\x00\0a", b"\0a\0", b"\0a\xd8\x3d",
]  # fmt: skip
MARKED = [b"\xfe\xff\0a\0b", b"\xff\xfea\0b\0", b"\0a", b""]
UTF32 = [
    b"",
    "aä😀".encode("utf-32-be"),
    b"\0\x11\0\0\0\0\0a",
    b"\0\0\xd8\x00\0\0\0a",
    b"\0\0\0a\0\0",
]
SOURCES = (
    ("UTF-8", UTF8),
    ("UTF-16-BE", UTF16),
    ("UTF-32-BE", UTF32),
    ("utf-16le", ["aä😀".encode("utf-16-le")]),
    ("US-ASCII", [b"abc", b"a\x80b"]),
    ("latin1", [b"abc", b"a\xe4b"]),
    ("windows-1252", [b"a\x80b"]),
    ("shift_jis", ["日本 ｱa".encode("shift_jis"), b"a\x81"]),
    ("euc-jp", ["日本a".encode("euc-jp")]),
)
# TensorFlow remembers the byte order of the first string for all that follow it: one string each.
SOURCES += tuple(("UTF-16", [marked]) for marked in MARKED)
for k, (encoding, source) in enumerate(SOURCES):
    for policy in ("replace", "ignore"):
        label = "%d, %s, %s" % (k, encoding, policy)
        how = dict(input=text(source), input_encoding=encoding, errors=policy)
        rows += [
            row("UnicodeDecode", label, **how),
            row("UnicodeDecodeWithOffsets", label, **how),
            row("UnicodeTranscode", label, output_encoding="UTF-8", **how),
        ]
for output in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
    how = dict(input=text(UTF8), input_encoding="UTF-8", output_encoding=output)
    rows += [
        row("UnicodeTranscode", "to %s" % output, replacement_char=0x20AC, **how),
        row("UnicodeTranscode", "controls to %s" % output, replace_control_characters=True, **how),
        row("UnicodeTranscode", "surrogates to %s" % output, replacement_char=0xD800, **how),
    ]
GOOD = text(["aä".encode("utf-8"), b"x\ny"])
CONTROLS = dict(input_encoding="UTF-8", errors="strict", replace_control_characters=True)
STRICT = dict(input_encoding="UTF-8", errors="strict")
TO_UTF8 = dict(output_encoding="UTF-8")
rows += [
    row("UnicodeDecode", "int32", input=GOOD, input_encoding="UTF-8", Tsplits=Dtype("int32")),
    row("UnicodeDecodeWithOffsets", "int32", input=text([[b"ab", b""], [b"c", b"d"]]), **STRICT),
    row("UnicodeDecode", "strict", input=GOOD, **STRICT),
    row("UnicodeDecode", "strict, controls", input=GOOD, **CONTROLS),
    row("UnicodeTranscode", "strict", input=GOOD, output_encoding="UTF-16-BE", **STRICT),
    row("UnicodeTranscode", "a scalar", input=text(b"abc"), output_encoding="UTF-16-BE", **STRICT),
    row("UnicodeDecode", "of nothing", input=text(np.empty(0, object)), **STRICT),
]
WRONG = dict(error_="InvalidArgumentError")
rows += [
    row(
        "UnicodeTranscode",
        "strict, controls",
        input=GOOD,
        **dict(CONTROLS, **dict(TO_UTF8, **WRONG)),
    ),
    row(
        "UnicodeTranscode", "malformed", input=text(UTF8), **dict(STRICT, **dict(TO_UTF8, **WRONG))
    ),
    row("UnicodeDecode", "malformed", input=text(UTF8), **dict(STRICT, **WRONG)),
    row("UnicodeDecodeWithOffsets", "malformed", input=text(UTF8), **dict(STRICT, **WRONG)),
    row("UnicodeDecode", "no encoding", input=GOOD, input_encoding="ABC-99", **WRONG),
    row(
        "UnicodeTranscode",
        "no encoding",
        input=GOOD,
        input_encoding="base64",
        **dict(TO_UTF8, **WRONG),
    ),
    row(
        "UnicodeDecode",
        "no replacement",
        input=GOOD,
        input_encoding="UTF-8",
        replacement_char=0x110000,
        **WRONG,
    ),
]
VALUES = [97, 228, 0x20AC, 0x1F600, 0, -1, 0x110000, 0xD800, 98, 0xD83D, 0xDE00]
for output in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
    for policy in ("replace", "ignore"):
        rows.append(
            row(
                "UnicodeEncode", "%s, %s" % (output, policy), input_values=i(VALUES),
                input_splits=i([0, 4, 4, 8, 11], "int64"), output_encoding=output, errors=policy,
            )
        )  # fmt: skip
rows += [
    row("UnicodeEncode", "int32", input_values=i([97, 98]), input_splits=i([0, 1, 2]), output_encoding="UTF-8"),
    row("UnicodeEncode", "of nothing", input_values=i(np.zeros(0)), input_splits=i([0, 0]), output_encoding="UTF-8"),
    row(
        "UnicodeEncode", "strict", input_values=i([97, -1]), input_splits=i([0, 2]), output_encoding="UTF-8",
        errors="strict", error_="InvalidArgumentError",
    ),
    row("UnicodeScript", input=i([[65, 0x3B1, 0x42F], [0x5D0, 0x65E5, 0xAC00], [0, 0x10FFFF, 0xE01EF]])),
    row("UnicodeScript", "no code points", input=i([-1, 0x110000, 0xD800])),
]  # fmt: skip
# -- n-grams
WORDS = dict(
    data=text([b"aa", b"bb", b"cc", b"dd", b"ee", b"ff"]), data_splits=i([0, 4, 5, 6], "int64")
)
for label, widths, left, right, pad, short in (
    ("pairs", [2], b"", b"", 0, False),
    ("several widths", [3, 2], b"", b"", 0, False),
    ("padded", [3], b"LP", b"RP", -1, False),
    ("padded by one", [3], b"LP", b"RP", 1, False),
    ("padded too much", [2], b"LP", b"RP", 4, False),
    ("short ones", [3], b"", b"", 0, True),
    ("short ones, padded", [5], b"LP", b"RP", 1, True),
    ("single ones", [1], b"", b"", 0, False),
    ("no width", [], b"", b"", 0, False),
):
    rows.append(
        row(
            "StringNGrams", label, separator=b"|", ngram_widths=widths, left_pad=left, right_pad=right,
            pad_width=pad, preserve_short_sequences=short, **WORDS
        )
    )  # fmt: skip
PLAIN = dict(
    separator=b" ", left_pad=b"", right_pad=b"", pad_width=0, preserve_short_sequences=False
)
rows += [
    row(
        "StringNGrams", "int32", data=text([b"a", b"b", b"c"]), data_splits=i([0, 3]), ngram_widths=[2], **PLAIN
    ),
]  # fmt: skip

FAMILY = Family("strings", rows)
