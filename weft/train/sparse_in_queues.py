"""Sparse tensors on their way through a queue: a map keeps them, and the queue passes on their handles."""

from __future__ import annotations

from typing import Any, NamedTuple

import weft as tf
from weft.framework.sparse_tensor import SparseTensor
from weft.ops.flow.cond import smart_cond
from weft.ops.sparse.tensors_map import (
    add_many_sparse_to_tensors_map,
    add_sparse_to_tensors_map,
    take_many_sparse_from_tensors_map,
)


class Kept(NamedTuple):
    """How a component goes through the queue: as it is, or by the handles that `map_op` gives."""

    is_sparse: bool = False
    map_op: Any = None
    rank: int | None = None

    def fits(self, other: Kept) -> bool:
        """Whether both can go through the same queue."""
        if not (self.is_sparse and other.is_sparse):
            return self.is_sparse == other.is_sparse
        same_rank = None in (self.rank, other.rank) or self.rank == other.rank
        return self.map_op is other.map_op and same_rank


def _stored(tensor: SparseTensor, many: bool, keep_input: Any, shared_name: str) -> tuple[Any, Any]:
    """The handles of a sparse tensor that is kept, -1 for what is not to be; and the operation that keeps it."""
    per_row = keep_input.shape.ndims == 1
    add = add_many_sparse_to_tensors_map if many or per_row else add_sparse_to_tensors_map
    added = []

    def keep() -> Any:
        added.append(add(tensor, shared_name=shared_name))
        return added[-1]

    def leave() -> Any:
        if many:
            return -1 * tf.ones(tf.shape(tensor)[0:1], tf.int64)
        return tf.constant(-1, tf.int64)

    if per_row:
        rows = tf.gather(keep_input, tensor.indices[:, 0])
        tensor = tf.sparse.retain(tensor, rows)
        return keep(), added[0].op
    handles = smart_cond(keep_input, keep, leave)
    if many:
        handles.set_shape([None])
    return handles, added[0].op


def store(
    tensors: list[Any], enqueue_many: bool, keep_input: Any, like: list[Kept] | None = None
) -> tuple[list[Any], list[Kept]]:
    """What is put into the queue for some tensors; `like`: as the components of another enqueue operation."""
    out, kept = [], []
    for i, t in enumerate(tensors):
        if not isinstance(t, SparseTensor):
            out.append(t)
            kept.append(Kept())
            continue
        map_op = like[i].map_op if like else None
        handles, adding = _stored(t, enqueue_many, keep_input, map_op.name if map_op else "")
        rank = t.dense_shape.shape.with_rank(1).as_list()[0]
        if rank is not None and enqueue_many:
            rank -= 1
        kept.append(Kept(True, map_op or adding, rank))
        out.append(tf.expand_dims(handles, [-1]))
    return out, kept


def store_all(
    tensors_list: list[list[Any]], enqueue_many: bool, keep_input: Any
) -> tuple[list[list[Any]], list[Kept]]:
    """What several enqueue operations put into the same queue."""
    first, kept = store(tensors_list[0], enqueue_many, keep_input)
    out = [first]
    for tensors in tensors_list[1:]:
        stored, other = store(tensors, enqueue_many, keep_input, kept)
        if len(other) != len(kept) or not all(a.fits(b) for a, b in zip(kept, other)):
            raise ValueError(f"Inconsistent SparseTensors list: {tensors_list[0]} vs. {tensors}")
        out.append(stored)
    return out, kept


def _taken(handles: Any, kept: Kept) -> SparseTensor:
    rank = None if kept.rank is None else kept.rank + 1
    return take_many_sparse_from_tensors_map(kept.map_op, tf.squeeze(handles, [1]), rank)


def restore(stored: Any, kept: list[Kept]) -> Any:
    """The tensors that come out of the queue. Whichever is evaluated, all sparse ones leave their map."""
    if not any(k.is_sparse for k in kept):
        return stored
    one = not isinstance(stored, (list, tuple))
    tensors = [
        _taken(s, k) if k.is_sparse else s for s, k in zip([stored] if one else stored, kept)
    ]
    values = [t.values if isinstance(t, SparseTensor) else t for t in tensors]

    def after_all(t: Any) -> Any:
        with tf.control_dependencies(values), tf.colocate_with(t):
            return tf.identity(t)

    tied = [
        SparseTensor(after_all(t.indices), after_all(t.values), after_all(t.dense_shape))
        if isinstance(t, SparseTensor)
        else after_all(t)
        for t in tensors
    ]
    return tied[0] if one else tied
