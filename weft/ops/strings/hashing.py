"""StringToHashBucket in its three kinds, and Fingerprint."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import shape_rules
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import fail, rank_at_least, scalar
from weft.ops.math.reduce_functions import chosen
from weft.ops.strings.elements import invalid, scalar_text, shown
from weft.ops.strings.farm_hash import fingerprint64
from weft.ops.strings.packed import pack, pack_rows
from weft.ops.strings.word_hashes import hash64, sip_hash


def _buckets(hashes: np.ndarray, shape: Any, count: int) -> np.ndarray:
    n = np.uint64(count)
    return (hashes - hashes // n * n).view(np.int64).reshape(shape)  # % takes four times as long


@op(
    "StringToHashBucketFast",
    "input: string -> output: int64",
    "num_buckets: int >= 1",
    host=True,
)
def string_to_hash_bucket_fast_op(xp, input, *, num_buckets):
    """A number below `num_buckets` for each string, by FarmHash."""
    return _buckets(fingerprint64(pack(input)), input.shape, num_buckets)


@op(
    "StringToHashBucketStrong",
    "input: string -> output: int64",
    "num_buckets: int >= 1; key: list(int)",
    host=True,
)
def string_to_hash_bucket_strong_op(xp, input, *, num_buckets, key):
    """A number below `num_buckets` for each string, by SipHash with a key."""
    if len(key) != 2:
        raise invalid("Key must have 2 elements")
    return _buckets(sip_hash(pack(input), key), input.shape, num_buckets)


@op(
    "StringToHashBucket",
    "string_tensor: string -> output: int64",
    "num_buckets: int >= 1",
    host=True,
)
def string_to_hash_bucket_op(xp, string_tensor, *, num_buckets):
    """A number below `num_buckets` for each string, by the hash of old programs."""
    return _buckets(hash64(pack(string_tensor)), string_tensor.shape, num_buckets)


for _op in (
    string_to_hash_bucket_fast_op,
    string_to_hash_bucket_strong_op,
    string_to_hash_bucket_op,
):
    _op.shape(shape_rules.same)
    _op.elementwise(_op.args_text.partition(":")[0]).not_differentiable()


@op("Fingerprint", "data: T, method: string -> fingerprint: uint8", "T: type", host=True)
def fingerprint_op(xp, data, method):
    """The eight bytes of a hash of each row; of rows of several strings, of the hashes of these."""
    method = scalar_text(method, "`method`")
    if method != b"farmhash64":
        raise invalid(f"Unsupported fingerprint method: {shown(method)}")
    if not data.ndim:
        raise invalid("`data` should have at least one dimension: []")
    rows = data.shape[0]
    if data.dtype == object:
        if not all(type(element) is bytes for element in data.flat):
            raise invalid("Data type not supported: variant or resource")
        hashes = fingerprint64(pack(data)).reshape(rows, -1 if rows else 1)
        if hashes.shape[1] == 1:
            return hashes.view(np.uint8)
        data = hashes
    row_bytes = data.dtype.itemsize * int(np.prod(data.shape[1:]))
    parts = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
    hashes = fingerprint64(pack_rows(parts.reshape(rows, row_bytes)))
    return hashes.view(np.uint8).reshape(rows, 8)


@fingerprint_op.shape
def _(data, method, *, const):
    scalar(method)
    given = None if const.actual else const("method")
    if given is not None and given[()] != b"farmhash64":
        fail(f"Unsupported method: {shown(given[()])}")
    rank_at_least(data, 1)
    return (None if data is None else data[0], 8)


fingerprint_op.not_differentiable()


@export("string_to_hash_bucket_fast", "strings.to_hash_bucket_fast")
def to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Any:
    """Returns a number from 0 to `num_buckets - 1` for each string, the same everywhere and always."""
    return string_to_hash_bucket_fast_op(input, num_buckets=num_buckets, name=name)


@export("string_to_hash_bucket_strong", "strings.to_hash_bucket_strong")
def to_hash_bucket_strong(
    input: Any, num_buckets: int, key: list[int], name: str | None = None
) -> Any:
    """Returns a number from 0 to `num_buckets - 1` for each string, which nobody can aim at without the key."""
    return string_to_hash_bucket_strong_op(input, num_buckets=num_buckets, key=key, name=name)


@export("string_to_hash_bucket", "strings.to_hash_bucket")
def to_hash_bucket(
    string_tensor: Any = None, num_buckets: Any = None, name: str | None = None, input: Any = None
) -> Any:
    """Returns a number from 0 to `num_buckets - 1` for each string; `to_hash_bucket_fast` is better."""
    strings = chosen("string_tensor", string_tensor, "input", input)
    return string_to_hash_bucket_op(strings, num_buckets=num_buckets, name=name)


@export("fingerprint")
def fingerprint(data: Any, method: Any = "farmhash64", name: str | None = None) -> Any:
    """Returns eight bytes for each row of the data that depend on all that is in the row."""
    return fingerprint_op(data, method, name=name)
