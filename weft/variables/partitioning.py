"""How a variable is cut into parts, and the partitioners that decide it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from weft.framework import dtypes
from weft.framework.export import export
from weft.framework.tensor_shape import TensorShape


def partitions_of(partitioner: Callable, shape: TensorShape, dtype: Any) -> Any:
    """The number of parts along each axis, checked: one axis may be cut."""
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable must be fully defined, but instead was {shape}."
        )
    if not shape.dims_tuple:
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape}")
    slicing = partitioner(shape=shape, dtype=dtype)
    if not isinstance(slicing, Sequence):
        raise ValueError(f"Partitioner must return a sequence, but saw: {slicing}")
    if len(slicing) != shape.ndims:
        raise ValueError(
            "Partitioner returned a partition list that does not match the Variable's rank: "
            f"{slicing} vs. {shape}"
        )
    if any(p < 1 for p in slicing):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {slicing}")
    if sum(p > 1 for p in slicing) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {slicing}"
        )
    return slicing


def cut_axis(partitions: Sequence[int]) -> tuple[int, int]:
    """The axis that is cut and the number of its parts; the first axis and 1 where none is."""
    return next(((i, n) for i, n in enumerate(partitions) if n > 1), (0, 1))


def slices(full_shape: list[int], n: int, axis: int) -> Iterator[tuple[list[int], list[int]]]:
    """(offset, shape) of each of `n` parts; the first ones are longer by one where it does not divide."""
    least, longer = divmod(full_shape[axis], n)
    start = 0
    for i in range(n):
        offset, shape = [0] * len(full_shape), list(full_shape)
        offset[axis], shape[axis] = start, least + (i < longer)
        yield offset, shape
        start += shape[axis]


@export("fixed_size_partitioner")
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Callable:
    """A partitioner that cuts one axis into a fixed number of parts, or fewer where it is shorter."""

    def partitioner(shape: Any, **unused: Any) -> list[int]:
        partitions = [1] * len(shape)
        partitions[axis] = min(num_shards, int(shape.dims[axis]))
        return partitions

    return partitioner


@export("variable_axis_size_partitioner")
def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Callable:
    """A partitioner that cuts one axis so that no part takes more than `max_shard_bytes`."""
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            "Both max_shard_bytes and bytes_per_string_element must be positive. Currently: "
            f"max_shard_bytes={max_shard_bytes} and bytes_per_string_element={bytes_per_string_element}"
        )
    if max_shards and max_shards < 1:
        raise ValueError(f"max_shards must be positive, but is {max_shards}.")

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        _check(shape)
        dtype = dtypes.as_dtype(dtype)
        sizes = shape.as_list()
        element = bytes_per_string_element if dtype.base_dtype is dtypes.string else dtype.size
        partitions = [1] * len(sizes)
        slice_bytes = math.prod(sizes) / sizes[axis] * element
        # A slice along the axis is the smallest part there can be.
        slices_per_shard = max(1, math.floor(max_shard_bytes / slice_bytes))
        shards = math.ceil(sizes[axis] / slices_per_shard)
        partitions[axis] = shards if max_shards is None else min(max_shards, shards)
        return partitions

    return partitioner


@export("min_max_variable_partitioner")
def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Callable:
    """A partitioner that cuts one axis into at most `max_partitions` parts of at least `min_slice_size` bytes."""

    def partitioner(shape: Any, dtype: Any) -> list[int]:
        _check(shape)
        dtype = dtypes.as_dtype(dtype)
        sizes = shape.as_list()
        if axis >= len(sizes):
            raise ValueError(
                f"Cannot partition variable along axis {axis} when shape is only {shape}"
            )
        element = bytes_per_string_element if dtype.base_dtype is dtypes.string else dtype.size
        total = math.prod(sizes) * element
        partitions = [1] * len(sizes)
        wanted = max(1, math.ceil(total / min_slice_size))
        partitions[axis] = max(1, min(sizes[axis], max_partitions, wanted))
        return partitions

    return partitioner


def _check(shape: Any) -> None:
    if not isinstance(shape, TensorShape):
        raise ValueError(f"shape is not a TensorShape: {shape}")
    if not shape.is_fully_defined():
        raise ValueError(f"shape is not fully defined: {shape}")


@export("create_partitioned_variables")
def create_partitioned_variables(
    shape: Any,
    slicing: Any,
    initializer: Any,
    dtype: Any = dtypes.float32,
    trainable: bool = True,
    collections: Any = None,
    name: str | None = None,
    reuse: Any = None,
) -> list[Any]:
    """Deprecated (use `get_variable` with a partitioner): the parts of a variable, cut as `slicing` says."""
    from weft.variables.scope import get_partitioned_variable, variable_scope

    if len(shape) != len(slicing):
        raise ValueError(
            "The 'shape' and 'slicing' of a partitioned Variable must have the length: shape: "
            f"{shape}, slicing: {slicing}"
        )
    if len(shape) < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1: shape: {shape}")
    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        whole = get_partitioned_variable(
            name=None,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=trainable,
            partitioner=lambda **unused: slicing,
            collections=collections,
        )
        return list(whole)
