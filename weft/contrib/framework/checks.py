"""Checks of shapes and types under their names in `tf.contrib.framework`."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import dtypes
from weft.framework.export import export, export_all
from weft.framework.sparse_tensor import SparseTensor

export_all("contrib.framework", is_tensor=tf.is_tensor)


@export("contrib.framework.assert_scalar")
def assert_scalar(tensor: Any, name: str | None = None) -> Any:
    """The tensor, or ValueError where it is known to be no scalar."""
    tensor = tf.convert_to_tensor(tensor, name=name)
    shape = tensor.get_shape()
    if shape.ndims != 0:
        raise ValueError(f"Expected scalar shape for {tensor.name}, saw shape: {shape}.")
    return tensor


@export("contrib.framework.assert_scalar_int")
def assert_scalar_int(tensor: Any, name: str | None = None) -> Any:
    """The tensor, or ValueError where it is no integer scalar."""
    tensor = tf.convert_to_tensor(tensor, name=name)
    if not tensor.dtype.is_integer:
        raise ValueError(f"Expected integer type for {tensor.name}, received type: {tensor.dtype}.")
    return assert_scalar(tensor)


@export("contrib.framework.assert_same_float_dtype")
def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> Any:
    """The floating type that all tensors have, or ValueError."""
    if tensors:
        dtype = tf.debugging.assert_same_float_dtype(tensors, dtype)
    return dtypes.as_dtype(dtype or dtypes.float32)


@export("contrib.framework.convert_to_tensor_or_sparse_tensor")
def convert_to_tensor_or_sparse_tensor(value: Any, dtype: Any = None, name: Any = None) -> Any:
    """A tensor, or the SparseTensor that it is."""
    if isinstance(value, SparseTensor):
        if dtype and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise RuntimeError(f"Sparse dtype: requested = {dtype}, actual = {value.dtype}")
        return value
    return tf.convert_to_tensor(value, dtype=dtype, name=name)


@export("contrib.framework.get_placeholders")
def get_placeholders(graph: Any) -> list[Any]:
    """The placeholders of a graph."""
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]


@export("contrib.framework.get_name_scope")
def get_name_scope() -> str:
    """The name scope that operations are made in."""
    return tf.get_default_graph().get_name_scope()


@export("contrib.framework.reduce_sum_n")
def reduce_sum_n(tensors: list[Any], name: str | None = None) -> Any:
    """The sum of the elements of all tensors."""
    if not tensors:
        raise ValueError("No tensors provided.")
    with tf.name_scope(name, "reduce_sum_n", tensors) as scope:
        sums = [tf.reduce_sum(t, name=f"{t.op.name}/sum") for t in tensors]
        return sums[0] if len(sums) == 1 else tf.add_n(sums, name=scope)


@export("contrib.framework.strip_name_scope")
def strip_name_scope(name: str, export_scope: str | None) -> str:
    """A name without the scope that it begins with."""
    if export_scope and name.startswith(export_scope + "/"):
        return name[len(export_scope) + 1 :]
    return name


@export("contrib.framework.prepend_name_scope")
def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """A name within a scope."""
    return f"{import_scope}/{name}" if import_scope else name
