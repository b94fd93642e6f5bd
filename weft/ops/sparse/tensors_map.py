"""Sparse tensors kept between steps, so that queues pass on their handles only."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np

from weft.framework.graph import colocate_with
from weft.framework.operation import Operation
from weft.framework.registry import op
from weft.framework.shape_rules import vector
from weft.framework.sparse_tensor import SparseTensor
from weft.ops.sparse.batches import Parts, check_part, rows_of, together
from weft.ops.sparse.coordinates import check_parts, check_ranks, refuse, whole_shape
from weft.ops.sparse.inputs import as_sparse
from weft.ops.sparse.serialize import of_rank

_ADDING = "sparse_indices: int64, sparse_values: T, sparse_shape: int64"
_PLACE = 'container: string = ""; shared_name: string = ""'


class SparseTensorsMap:
    """Sparse tensors by handle; each is taken once."""

    def __init__(self, name: str):
        self.name = name
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._parts: dict[int, Parts] = {}

    def add(self, parts: list[Parts]) -> np.ndarray:
        with self._lock:
            handles = list(itertools.islice(self._numbers, len(parts)))
            self._parts.update(zip(handles, parts))
        return np.array(handles, np.int64)

    def take(self, handles: list[int]) -> list[Parts]:
        with self._lock:
            for handle in handles:
                if handle not in self._parts:
                    refuse(f"Unable to find SparseTensor: {handle} in map: {self.name}")
            found = [self._parts[handle] for handle in handles]
            for handle in handles:
                self._parts.pop(handle, None)
        return found


def _map(ctx: Any, container: str, shared_name: str) -> SparseTensorsMap:
    name = shared_name or ctx.op._name
    return ctx.resources.get_or_create(
        "SparseTensorsMap", container, name, lambda: SparseTensorsMap(name)
    )


@op(
    "AddSparseToTensorsMap",
    f"{_ADDING} -> sparse_handle: int64",
    f"T: type; {_PLACE}",
    host=True,
    stateful=True,
)
def add_sparse_op(ctx, sparse_indices, sparse_values, sparse_shape, *, container, shared_name):
    """Keeps a sparse tensor; gives its handle."""
    check_parts(sparse_indices, sparse_values, sparse_shape, "sparse_")
    whole_shape(sparse_shape)
    parts = Parts(sparse_indices, sparse_values, sparse_shape)
    return _map(ctx, container, shared_name).add([parts])[0]


@add_sparse_op.shape
def _(sparse_indices, sparse_values, sparse_shape):
    check_ranks(sparse_indices, sparse_values, sparse_shape, "sparse_")
    return ()


@op(
    "AddManySparseToTensorsMap",
    f"{_ADDING} -> sparse_handles: int64",
    f"T: type; {_PLACE}",
    host=True,
    stateful=True,
)
def add_many_sparse_op(ctx, sparse_indices, sparse_values, sparse_shape, *, container, shared_name):
    """Keeps the rows of a sparse tensor; gives a handle for each."""
    rows = rows_of(ctx.xp, Parts(sparse_indices, sparse_values, sparse_shape))
    return _map(ctx, container, shared_name).add(rows)


@add_many_sparse_op.shape
def _(sparse_indices, sparse_values, sparse_shape):
    check_ranks(sparse_indices, sparse_values, sparse_shape, "sparse_")
    return (None,)


@op(
    "TakeManySparseFromTensorsMap",
    "sparse_handles: int64 -> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
    f"dtype: type; {_PLACE}",
    host=True,
    stateful=True,
)
def take_many_sparse_op(ctx, sparse_handles, *, dtype, container, shared_name):
    """Takes sparse tensors out of the map, together as the rows of one."""
    if not len(sparse_handles):
        refuse("Must have at least 1 serialized SparseTensor, but input matrix has 0 rows")
    kept = _map(ctx, container, shared_name)
    parts = kept.take(sparse_handles.tolist())
    for i, part in enumerate(parts):
        check_part(part, i, dtype.np, dtype.name)
    return together(parts, (len(parts),))


@take_many_sparse_op.shape
def _(sparse_handles):
    vector(sparse_handles, "sparse_handles")
    return (None, None), (None,), (None,)


for _decl in (add_sparse_op, add_many_sparse_op, take_many_sparse_op):
    _decl.not_differentiable()


# -- functions that queues of sparse tensors are made with


def add_sparse_to_tensors_map(
    sp_input: Any,
    container: str | None = None,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns the handle of a sparse tensor, which is kept."""
    sp = as_sparse(sp_input)
    return add_sparse_op(
        sp.indices,
        sp.values,
        sp.dense_shape,
        container=container or "",
        shared_name=shared_name or "",
        name=name,
    )


def add_many_sparse_to_tensors_map(
    sp_input: Any,
    container: str | None = None,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns a handle for each row of a sparse tensor; the rows are kept."""
    sp = as_sparse(sp_input)
    return add_many_sparse_op(
        sp.indices,
        sp.values,
        sp.dense_shape,
        container=container or "",
        shared_name=shared_name or "",
        name=name,
    )


def take_many_sparse_from_tensors_map(
    sparse_map_op: Any, sparse_handles: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Returns the sparse tensors that an op has kept, as the rows of one."""
    if not isinstance(sparse_map_op, Operation):
        raise TypeError("sparse_map_op be an Operation")
    if sparse_map_op.type not in ("AddSparseToTensorsMap", "AddManySparseToTensorsMap"):
        raise TypeError(
            "sparse_map_op must be one of AddSparseToTensorsMap or AddManySparseToTensorsMap. Instead, "
            f"found `{sparse_map_op.type}`."
        )
    shared_name = sparse_map_op.get_attr("shared_name") or sparse_map_op.name
    with colocate_with(sparse_map_op):
        parts = take_many_sparse_op(
            sparse_handles,
            dtype=sparse_map_op.get_attr("T"),
            container=sparse_map_op.get_attr("container"),
            shared_name=shared_name,
            name=name,
        )
    return of_rank(parts, rank)
