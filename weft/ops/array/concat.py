"""Joining tensors and taking them apart: Concat, ConcatOffset, Pack, Unpack."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import context, conversion, dtypes, nest
from weft.framework.constant_value import constant_value
from weft.framework.export import export
from weft.framework.registry import get, op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import Shape, ShapeError, merge, merge_dim, rank, text
from weft.framework.tensor import Tensor
from weft.ops.array import shape_of
from weft.ops.array.boxes import without
from weft.ops.array.identity import identity


def _axis(axis: np.ndarray, n: int) -> int:
    if axis.size != 1:
        raise ShapeError(
            f"Concat axis tensor should be a scalar integer, but got shape {text(axis.shape)}"
        )
    a = int(axis.reshape(-1)[0])
    if not -n <= a < n:
        raise ShapeError(
            f"ConcatOp : Expected concatenating dimensions in the range [{-n}, {n}), but got {a}"
        )
    return a % n


def _joined(shapes: list[Shape], axis: np.ndarray | None) -> Shape:
    known = [s for s in shapes if s is not None]
    if not known:
        return None
    n = len(known[0])
    if n == 0:
        raise ShapeError("Can't concatenate scalars (use tf.stack instead)")
    for s in known:
        if len(s) != n:
            raise ShapeError(
                f"Shapes must be equal rank, but are {n} and {len(s)}: concatenated tensors have shapes "
                f"{text(known[0])} and {text(s)}"
            )
    if axis is None:
        return (None,) * n
    a = _axis(axis, n)
    rest: Shape = (None,) * n
    for s in known:
        rest = merge(
            rest,
            (*s[:a], None, *s[a + 1 :]),
            "ConcatOp : Dimensions of inputs should match. Dimension 0 in both shapes must be equal",
        )
    assert rest is not None
    whole = len(known) == len(shapes) and all(s[a] is not None for s in known)
    total = sum(s[a] for s in known) if whole else None  # type: ignore[misc]
    return (*rest[:a], total, *rest[a + 1 :])


def _check_same(arrays: list[Any], a: int) -> None:
    """Says which of the inputs does not fit; the array library's own error does not."""
    first = arrays[0].shape
    for i, x in enumerate(arrays):
        if (
            len(x.shape) != len(first)
            or x.shape[:a] + x.shape[a + 1 :] != first[:a] + first[a + 1 :]
        ):
            raise ShapeError(
                f"ConcatOp : Dimensions of inputs should match: shape[0] = {text(first)} vs. shape[{i}] = "
                f"{text(x.shape)}"
            )


def _concatenate(xp: Any, values: list[Any], axis: np.ndarray) -> Any:
    n = max(x.ndim for x in values)
    if n == 0:
        raise ShapeError("Can't concatenate scalars (use tf.stack instead)")
    a = _axis(axis, n)
    _check_same(values, a)
    return xp.concatenate(values, a)


@op(
    "Concat",
    "concat_dim: int32, values: N*T -> output: T",
    "N: int >= 2; T: type",
    static=("concat_dim",),
)
def concat_v1(xp, concat_dim, values):
    """The values one after the other along a dimension."""
    return _concatenate(xp, values, concat_dim)


@concat_v1.shape
def _(concat_dim, values, *, const):
    rank(concat_dim, 0, "concat_dim")
    return _joined(values, const("concat_dim"))


@op(
    "ConcatV2",
    "values: N*T, axis: Tidx -> output: T",
    "N: int >= 2; T: type; Tidx: type in {int32, int64} = int32",
    static=("axis",),
)
def concat_v2(xp, values, axis):
    """The values one after the other along a dimension."""
    return _concatenate(xp, values, axis)


@concat_v2.shape
def _(values, axis, *, const):
    rank(axis, 0, "axis")
    return _joined(values, const("axis"))


@op(
    "ConcatOffset",
    "concat_dim: int32, shape: N*int32 -> offset: N*int32",
    "N: int >= 2",
    static=("concat_dim",),
)
def concat_offset(xp, concat_dim, shape):
    """Where each of several arrays of these shapes begins in their concatenation."""
    for i, s in enumerate(shape):
        if s.ndim != 1:
            raise ShapeError(f"input {i} should be a vector, but got shape {text(s.shape)}")
        if s.shape != shape[0].shape:
            raise ShapeError(f"input {i} should contain {shape[0].size} elements, but got {s.size}")
    n = shape[0].shape[0]
    a = int(concat_dim)
    if not -n <= a < n:
        raise ShapeError(f"Concat dim is out of range: {a} vs. {n}")
    a %= n
    at = np.zeros(n, np.int32)
    at[a] = 1

    def listed(sizes: Any) -> str:
        return f"[{' '.join(str(x) for x in sizes)}]"

    for i, s in enumerate(shape):

        def message(i: int = i, s: Any = s) -> str:
            return (
                f"All dimensions except {a} must match. Input {i} has shape {listed(s)} and doesn't "
                f"match input 0 with shape {listed(shape[0])}."
            )

        xp.check((s == shape[0]) | (at == 1), message)
    out, start = [], xp.zeros((), np.int32)
    for s in shape:
        out.append(start * at)
        start = start + s[a]
    return out


@concat_offset.shape
def _(concat_dim, shape):
    rank(concat_dim, 0, "concat_dim")
    return list(shape)


concat_offset.not_differentiable()


def _concat_gradient(op: Any, grad: Any, inputs: list[Any], axis: Any) -> list[Any]:
    """The parts of the gradient that belong to the inputs of a concatenation."""
    from weft.ops.array.slice import slice as slice_
    from weft.ops.array.split import split_v

    if len(inputs) == 1:
        return [grad]
    static = constant_value(axis)
    n = inputs[0]._rank()
    if static is not None and n is not None:
        where = np.array(int(static) % n, np.int32)
    elif static is not None and static >= 0:
        where = np.array(static, np.int32)
    else:
        where = get("FloorMod")(axis, shape_of.rank(inputs[0]))
    if getattr(grad, "_is_indexed_slices", False):
        return _sparse_parts(grad, inputs, where)
    if isinstance(where, np.ndarray) and n is not None:
        a = int(where)
        sizes = [t._dims[a] if t._dims is not None else None for t in inputs]
        if None not in sizes and len(sizes) > 16:
            return split_v(grad, np.array(sizes, np.int32), where, num_split=len(sizes))
    if all(t.shape.is_fully_defined() for t in inputs):
        shapes = [shape_of.shape(t) for t in inputs]
    else:
        shapes = shape_of.shape_n(inputs)
    offsets = concat_offset(where, shapes)
    return [slice_(grad, begin, size) for begin, size in zip(offsets, shapes)]


def _sparse_parts(grad: Any, inputs: list[Any], where: Any) -> list[Any]:
    from weft.framework.indexed_slices import IndexedSlices
    from weft.ops.array.gather import gather
    from weft.ops.array.reshape import squeeze
    from weft.ops.array.select import where as find
    from weft.ops.array.slice import slice as slice_

    if not isinstance(where, np.ndarray):
        raise ValueError(
            "Can only compute IndexedSlices gradient with statically-known concat_dim (negative ones need the "
            "rank of the first value too)"
        )
    a = int(where)
    shapes = [shape_of.shape(t) for t in inputs]
    index_type = grad.indices.dtype.base_dtype
    parts = []
    if a > 0:
        begin = concat_offset(where, shapes)
        for start, size in zip(begin, shapes):
            whole = concat([np.array([-1], np.int32), slice_(size, [1], [-1])], 0)
            parts.append(IndexedSlices(slice_(grad.values, start, whole), grad.indices, size))
        return parts
    start = conversion.convert_to_tensor(np.zeros((), index_type.np))
    for size in shapes:
        rows = get("Cast")(gather(size, np.int32(0)), DstT=index_type)
        end = start + rows
        inside = get("LogicalAnd")(grad.indices >= start, grad.indices < end)
        chosen = squeeze(find(inside), axis=[1])
        parts.append(
            IndexedSlices(gather(grad.values, chosen), gather(grad.indices, chosen) - start, size)
        )
        start = end
    return parts


@concat_v1.gradient
def _(op, grad):
    return [None, *_concat_gradient(op, grad, list(op.inputs[1:]), op.inputs[0])]


@concat_v2.gradient
def _(op, grad):
    return [*_concat_gradient(op, grad, list(op.inputs[:-1]), op.inputs[-1]), None]


@export("concat")
def concat(values: Any, axis: Any, name: str = "concat") -> Any:
    """Returns the values one after the other along dimension `axis`."""
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        with name_scope(name):
            at = conversion.convert_to_tensor(axis, name="concat_dim", dtype=dtypes.int32)
            at.shape.assert_has_rank(0)
            return identity(values[0], name=name)
    return concat_v2(values, axis, name=name)


# -- Pack and Unpack -------------------------------------------------------------------------------------


def _packed_axis(axis: int, n: int) -> int:
    if not -n <= axis < n:
        raise ShapeError(f"axis = {axis} not in [{-n}, {n})")
    return axis % n


@op("Pack", "values: N*T -> output: T", "N: int >= 1; T: type; axis: int = 0")
def pack(xp, values, *, axis):
    """The values side by side along a new dimension."""
    first = values[0]
    if not hasattr(first, "dtype"):  # handles
        out = np.empty(len(values), object)
        out[:] = values
        return out
    for i, x in enumerate(values):
        if x.shape != first.shape:
            raise ShapeError(
                f"Shapes of all inputs must match: values[0].shape = {text(first.shape)} != values[{i}].shape = "
                f"{text(x.shape)}"
            )
    a = _packed_axis(axis, first.ndim + 1)
    if first.ndim == 0 and xp.is_numpy:
        out = np.empty(len(values), first.dtype)
        out[:] = [x[()] for x in values]
        return out
    return xp.stack(values, a)


@pack.shape
def _(values, *, axis):
    shape = values[0]
    for s in values[1:]:
        if s is not None and shape is not None and len(s) != len(shape):
            raise ShapeError(
                f"Shapes must be equal rank, but are {len(shape)} and {len(s)}: Shapes of all inputs must match"
            )
        shape = merge(shape, s, "Shapes of all inputs must match: values must have equal shapes")
    if shape is None:
        return None
    a = _packed_axis(axis, len(shape) + 1)
    return (*shape[:a], len(values), *shape[a:])


@pack.rows("values")
def _(xp, values, *, axis):
    return pack.kernel(xp, values, axis=axis + 1 if axis >= 0 else axis)


@pack.gradient
def _(op, grad):
    return unpack(grad, num=op.get_attr("N"), axis=op.get_attr("axis"))


@op("Unpack", "value: T -> output: num*T", "num: int >= 0; T: type; axis: int = 0")
def unpack(xp, value, *, num, axis):
    """The parts of a tensor along a dimension, which they lack."""
    a = _packed_axis(axis, value.ndim)
    if value.shape[a] != num:
        raise ShapeError(f"Input shape axis {a} must equal {num}, got shape {text(value.shape)}")
    if value.dtype == object and value.ndim == 1:
        if num and hasattr(value[0], "zeros_like"):  # variants, such as lists of tensors
            return list(value)
        return [np.array(value[i : i + 1]).reshape(()) for i in range(num)]
    return [without(xp, value, a, i) for i in range(num)]


@unpack.shape
def _(value, *, num, axis):
    if value is None:
        return [None] * num
    if not value:
        raise ShapeError("Shape must be at least rank 1 but is rank 0")
    a = _packed_axis(axis, len(value))
    merge_dim(value[a], num, f"Dimension {a} must be the number of parts")
    return [(*value[:a], *value[a + 1 :])] * num


@unpack.gradient
def _(op, *grads):
    return stack(list(grads), axis=op.get_attr("axis"))


@export("stack")
def stack(values: Any, axis: int = 0, name: str = "stack") -> Any:
    """Returns the values side by side along a new dimension `axis`."""
    if axis == 0:
        try:
            return conversion.convert_to_tensor(values, name=name)
        except (TypeError, ValueError, NotImplementedError):
            pass  # not all of them are constants
    first = conversion.convert_to_tensor(values[0], name=name)._dims
    if first is not None:
        n = len(first) + 1
        if not -n <= axis < n:
            raise ValueError(f"axis = {axis} not in [{-n}, {n})")
    return pack(values, axis=axis, name=name)


@export("unstack")
def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Any]:
    """Returns the parts of `value` along dimension `axis`, which they lack."""
    if num is None:
        value = conversion.convert_to_tensor(value)
        dims = value._dims
        if dims is not None:
            n = len(dims)
            if not -n <= axis < n:
                raise ValueError(f"axis = {axis} not in [{-n}, {n})")
            num = dims[axis]
    if num is None:
        raise ValueError(f"Cannot infer num from shape {value.shape}")
    return unpack(value, num=num, axis=axis, name=name)


@op("ParallelConcat", "values: N*T -> output: T", "N: int >= 1; T: type; shape: shape")
def parallel_concat(xp, values, *, shape):
    """The values, of size 1 in their first dimension, one after the other."""
    return xp.concatenate(values, 0)


@parallel_concat.shape
def _(values, *, shape):
    if shape is None or None in shape:
        raise ShapeError(
            "All shapes of ParallelConcat must be known, and so must attribute 'shape'"
        )
    part: Shape = (1, *shape[1:])
    for s in values:
        merge(part, s, "Values of ParallelConcat must have the shape of one row of the output")
    merge_dim(shape[0], len(values), "The first size must be the number of values")
    return shape


@export("parallel_stack")
def parallel_stack(values: Any, name: str = "parallel_stack") -> Any:
    """Returns the values side by side along a new first dimension; their shapes must be known."""
    from weft.ops.array.reshape import expand_dims

    if context.current.eager:
        raise RuntimeError("tf.parallel_stack() is not compatible with eager execution.")
    with name_scope(name):
        first = conversion.convert_to_tensor(values[0])
        shape = (len(values), *first._dims) if first._dims is not None else None
        return parallel_concat([expand_dims(v, 0) for v in values], shape=shape)


# -- lists with tensors in them ----------------------------------------------------------------------------


def is_tensor_like(item: Any) -> bool:
    """Whether an element of a list is a tensor, or converts to one as variables do."""
    return isinstance(item, Tensor) or (
        hasattr(item, "_as_graph_element") and hasattr(item, "dtype")
    )


_PLAIN = frozenset((int, float, bool, str, bytes, complex))


def _dtype_inside(items: Any) -> Any:
    """The dtype of the first tensor in a nested list, or None."""
    if _PLAIN.issuperset(map(type, items)):  # the usual case, and the lists may be long
        return None
    for item in items:
        if is_tensor_like(item):
            return item.dtype.base_dtype
        if isinstance(item, (list, tuple)):
            found = _dtype_inside(item)
            if found is not None:
                return found
    return None


def _packed(items: Any, dtype: dtypes.DType, name: str) -> Any:
    """Packs a nested list; a list without tensors stays as it is."""
    parts, found = [], False
    with name_scope(name) as scope:
        for i, item in enumerate(items):
            if is_tensor_like(item):
                if item.dtype.base_dtype is not dtype:
                    raise TypeError(
                        f"Cannot convert a list containing a tensor of dtype {item.dtype} to {dtype} (Tensor is: "
                        f"{item!r})"
                    )
                found = True
            elif isinstance(item, (list, tuple)):
                item = _packed(item, dtype, str(i))
                found = found or is_tensor_like(item)
            parts.append(item)
        if not found:
            return parts
        tensors = [
            p if is_tensor_like(p) else conversion.convert_to_tensor(p, dtype=dtype, name=str(i))
            for i, p in enumerate(parts)
        ]
        return pack(tensors, name=scope or name)


def _pack_list(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    """Converts a list that has tensors in it; others are constants."""
    if as_ref:
        return NotImplemented
    inside = _dtype_inside(value)
    if inside is None:
        return NotImplemented
    if dtype is None:
        dtype = inside
    elif dtype.base_dtype is not inside:
        dtype = dtype.base_dtype
        cast = get("Cast")
        value = nest.map_structure(
            lambda v: (
                cast(v, DstT=dtype) if is_tensor_like(v) and v.dtype.base_dtype is not dtype else v
            ),
            value,
        )
    return _packed(value, dtype.base_dtype, name or "packed")


conversion.register_tensor_conversion_function((list, tuple), _pack_list, 99)
