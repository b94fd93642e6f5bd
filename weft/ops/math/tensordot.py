"""`tf.tensordot`: sums of products over pairs of axes, as one matrix product."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes
from weft.framework.export import export
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import is_full
from weft.ops.by_name import raw
from weft.ops.math.matmul import matmul

_INTEGRAL = (int, np.integer)


def _int32(values: Any) -> np.ndarray:
    return np.array(values, np.int32)


class _Operand:
    """One tensor as a matrix, the contracted axes behind (or in front), and the sizes of its free axes."""

    def __init__(self, tensor: Any, axes: Any, contracted_first: bool):
        dims = tensor.dims
        self.static: list[int | None] | None = None
        if isinstance(axes, (list, tuple)) and dims is not None:
            axes = [int(i) + len(dims) if i < 0 else int(i) for i in axes]
            for i in axes:
                if i >= len(dims):
                    raise IndexError(f"Axis {i} of tensordot is not below the rank of {tensor}.")
            free = [i for i in range(len(dims)) if i not in axes]
            self.static = [dims[i] for i in free]
            order = axes + free if contracted_first else free + axes
            moved = (
                tensor
                if order == list(range(len(dims)))
                else raw.Transpose(tensor, _int32(order), name="transpose")
            )
            if is_full(dims):
                self.free: Any = self.static
                sizes = [int(np.prod([dims[i] for i in part])) for part in (free, axes)]
                self.matrix = raw.Reshape(moved, _int32(sizes[::-1] if contracted_first else sizes))
                return
            free_axes, sum_axes = _int32(free), _int32(axes)
            shape = raw.Shape(tensor)
        else:
            shape, rank = raw.Shape(tensor), raw.Rank(tensor)
            given = conversion.convert_to_tensor(axes, dtype=dtypes.int32, name="axes")
            sum_axes = raw.Select(
                raw.GreaterEqual(given, raw.ZerosLike(given)), given, given + rank
            )
            every = raw.Range(_int32(0), rank, _int32(1))
            free_axes = raw.ListDiff(every, sum_axes)[0]
            parts = [sum_axes, free_axes] if contracted_first else [free_axes, sum_axes]
            moved = raw.Transpose(tensor, raw.ConcatV2(parts, _int32(0)), name="transpose")
        self.free = raw.GatherV2(shape, free_axes, _int32(0))
        sizes = [
            raw.Prod(s, _int32([0])) for s in (self.free, raw.GatherV2(shape, sum_axes, _int32(0)))
        ]
        self.matrix = raw.Reshape(moved, raw.Pack(sizes[::-1] if contracted_first else sizes))


def _axes(a: Any, axes: Any) -> tuple[Any, Any]:
    """The axes of either tensor that are contracted."""
    if isinstance(axes, _INTEGRAL) and not isinstance(axes, bool):
        if axes < 0:
            raise ValueError("'axes' must be at least 0.")
        if a.dims is not None:
            if axes > len(a.dims):
                raise ValueError(
                    f"'axes' must not be larger than the number of dimensions of tensor {a}."
                )
            return list(range(len(a.dims) - axes, len(a.dims))), list(range(axes))
        rank = raw.Rank(a)
        return raw.Range(rank - axes, rank, _int32(1)), list(range(axes))
    if isinstance(axes, (list, tuple)):
        if len(axes) != 2:
            raise ValueError("'axes' must be an integer or have length 2.")
        of_a, of_b = axes
        if isinstance(of_a, _INTEGRAL) and isinstance(of_b, _INTEGRAL):
            return [of_a], [of_b]
        of_a, of_b = (x.tolist() if isinstance(x, np.ndarray) else x for x in (of_a, of_b))
        if len(of_a) != len(of_b):
            raise ValueError(
                f"Different number of contraction axes 'a' and 'b', {len(of_a)} != {len(of_b)}."
            )
        return of_a, of_b
    axes = conversion.convert_to_tensor(axes, name="axes", dtype=dtypes.int32)
    return axes[0], axes[1]


@export("tensordot", "linalg.tensordot")
def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Any:
    """Sums products over pairs of axes: the last `axes` of `a` with the first of `b` if it is a number, else
    those that it lists for `a` and for `b`."""
    with name_scope(name, "Tensordot", [a, b, axes]) as name:
        a = conversion.convert_to_tensor(a, name="a")
        b = conversion.convert_to_tensor(b, name="b")
        of_a, of_b = _axes(a, axes)
        left, right = _Operand(a, of_a, False), _Operand(b, of_b, True)
        product = matmul(left.matrix, right.matrix)
        if isinstance(left.free, list) and isinstance(right.free, list):
            return raw.Reshape(product, _int32(left.free + right.free), name=name)
        free = [_int32(f) if isinstance(f, list) else f for f in (left.free, right.free)]
        result = raw.Reshape(product, raw.ConcatV2(free, _int32(0)), name=name)
        if left.static is not None and right.static is not None:
            result.set_shape(left.static + right.static)
        return result
