"""Sparse tensors as strings or variants: SerializeSparse, DeserializeSparse and the forms for batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from weft import proto
from weft.framework import dtypes, errors
from weft.framework.export import export
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import merge_dim, rank, rank_at_least
from weft.framework.sparse_tensor import SparseTensor
from weft.framework.tensor_proto import make_ndarray
from weft.framework.tensor_shape import as_shape
from weft.framework.varints import varint
from weft.ops.sparse.batches import Parts, check_part, rows_of, together
from weft.ops.sparse.coordinates import check_ranks, refuse
from weft.ops.sparse.inputs import as_sparse

_OUT = "T: type; out_type: type in {string, variant} = string"


def message_of(array: np.ndarray) -> bytes:
    """A TensorProto with its values as `tensor_content`, as TensorFlow's runtime writes it."""
    dtype = dtypes.as_dtype(array.dtype)
    message = proto.TensorProto(dtype=dtype.enum, tensor_shape=as_shape(array.shape).as_proto())
    if dtype is dtypes.string:
        strings = array.ravel().tolist()
        message.tensor_content = b"".join([*(varint(len(s)) for s in strings), *strings])
    else:
        message.tensor_content = np.ascontiguousarray(array).tobytes()
    return message.SerializeToString()


def array_of(data: Any) -> np.ndarray:
    """The array of a serialized TensorProto; InvalidArgumentError where the bytes are not one."""
    if isinstance(data, np.ndarray):  # the element of a variant
        return data
    if not isinstance(data, bytes):
        refuse(f"Expected a part of a serialized sparse tensor, got {type(data).__name__}")
    try:
        return make_ndarray(proto.TensorProto.FromString(data))
    except DecodeError:
        message = "Could not parse serialized proto"
    except (ValueError, TypeError, KeyError, OverflowError, MemoryError) as e:
        message = f"Could not construct tensor from proto: {e}"
    raise errors.InvalidArgumentError(None, None, message)


def _elements(parts: tuple[Any, ...], as_variant: bool) -> list[Any]:
    return list(parts) if as_variant else [message_of(part) for part in parts]


def _objects(rows: list[list[Any]]) -> np.ndarray:
    """A matrix of three columns, arrays among its elements or not."""
    out = np.empty((len(rows), 3), object)
    for i, row in enumerate(rows):
        for j, item in enumerate(row):
            out[i, j] = item
    return out


def _serializing(name: str, cut: Callable, doc: str, shape: Callable) -> OpDecl:
    @op(
        name,
        "sparse_indices: int64, sparse_values: T, sparse_shape: int64 -> serialized_sparse: out_type",
        _OUT,
        host=True,
    )
    def decl(xp, sparse_indices, sparse_values, sparse_shape, *, out_type):
        return cut(
            xp, Parts(sparse_indices, sparse_values, sparse_shape), out_type is dtypes.variant
        )

    decl.__doc__ = doc

    @decl.shape
    def _(sparse_indices, sparse_values, sparse_shape, *, const):
        check_ranks(sparse_indices, sparse_values, sparse_shape, "sparse_")
        return shape(const)

    return decl.not_differentiable()


serialize_sparse_op = _serializing(
    "SerializeSparse",
    lambda xp, whole, variant: _objects([_elements(whole, variant)])[0],
    "A sparse tensor as a vector of three: positions, elements, shape.",
    lambda const: (3,),
)
serialize_many_sparse_op = _serializing(
    "SerializeManySparse",
    lambda xp, whole, variant: _objects([_elements(row, variant) for row in rows_of(xp, whole)]),
    "The rows of a sparse tensor, each as three: positions, elements, shape.",
    lambda const: (None, 3),
)


def _read(serialized: np.ndarray, dtype: dtypes.DType) -> Parts:
    if not serialized.size:
        refuse(
            "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension "
            f"{list(serialized.shape)}"
        )
    parts = []
    for i, row in enumerate(serialized.reshape(-1, 3).tolist()):
        part = Parts(*[array_of(item) for item in row])
        check_part(part, i, dtype.np, dtype.name)
        parts.append(part)
    return parts[0] if serialized.ndim == 1 else together(parts, serialized.shape[:-1])


def _deserializing(name: str, argument: str, attrs: str, rank_rule: Callable, doc: str) -> OpDecl:
    @op(
        name,
        f"serialized_sparse: {argument} -> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
        attrs,
        host=True,
    )
    def decl(xp, serialized_sparse, *, dtype):
        return _read(serialized_sparse, dtype)

    decl.__doc__ = doc

    @decl.shape
    def _(serialized_sparse):
        serialized_sparse = rank_rule(serialized_sparse)
        if serialized_sparse is not None:
            merge_dim(
                serialized_sparse[-1], 3, "serialized_sparse must have 3 as the last dimension"
            )
        return (None, None), (None,), (None,)

    return decl.not_differentiable()


deserialize_sparse_op = _deserializing(
    "DeserializeSparse",
    "Tserialized",
    "dtype: type; Tserialized: type in {string, variant} = string",
    lambda s: rank_at_least(s, 1, "serialized_sparse"),
    "A sparse tensor of what SerializeSparse made; of a batch of these, one with further axes.",
)
deserialize_many_sparse_op = _deserializing(
    "DeserializeManySparse",
    "string",
    "dtype: type",
    lambda s: rank(s, 2, "serialized_sparse"),
    "A sparse tensor of what SerializeManySparse made.",
)


@export("io.serialize_sparse", "serialize_sparse")
def serialize_sparse(sp_input: Any, name: str | None = None, out_type: Any = dtypes.string) -> Any:
    """Returns a sparse tensor as a vector of three strings (or variants)."""
    sp = as_sparse(sp_input)
    return serialize_sparse_op(sp.indices, sp.values, sp.dense_shape, name=name, out_type=out_type)


@export("io.serialize_many_sparse", "serialize_many_sparse")
def serialize_many_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Any:
    """Returns the rows of a sparse tensor as a matrix of three strings (or variants) each."""
    sp = as_sparse(sp_input)
    return serialize_many_sparse_op(
        sp.indices, sp.values, sp.dense_shape, name=name, out_type=out_type
    )


def of_rank(parts: Any, rank: int | None) -> SparseTensor:
    """The outputs of an op as a SparseTensor of known rank."""
    indices, values, shape = parts
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


@export("io.deserialize_many_sparse", "deserialize_many_sparse")
def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Returns the sparse tensor of a batch that `serialize_many_sparse` made, or of several such rows."""
    return of_rank(deserialize_many_sparse_op(serialized_sparse, dtype=dtype, name=name), rank)


def deserialize_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Returns the sparse tensor that `serialize_sparse` made, or one of a batch of them."""
    return of_rank(deserialize_sparse_op(serialized_sparse, dtype=dtype, name=name), rank)
