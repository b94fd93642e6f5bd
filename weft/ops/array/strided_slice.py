"""StridedSlice: NumPy's basic indexing, its gradient, and assignment to what it selects."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.known_elements import known_elements
from weft.framework.registry import op
from weft.framework.shape_rules import ShapeError, text, vector
from weft.ops.array import shape_of
from weft.ops.array.boxes import cut
from weft.ops.array.fill import filled, ones_like, zero_of
from weft.ops.array.strided_spec import Masks, Resolved, layout, one_range, resolve, static_shape

_TYPES = "T: type; Index: type in {int32, int64}"
_MASK_NAMES = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
_MASKS = "; ".join(f"{m}: int = 0" for m in _MASK_NAMES)
_ATTRS = f"{_TYPES}; {_MASKS}"


def _resolved(shape: tuple, begin: Any, end: Any, strides: Any, masks: Masks) -> Resolved:
    for x in (begin, end, strides):
        if x.ndim != 1:
            raise ShapeError(f"begin, end and strides must be vectors, got shape {text(x.shape)}")
    return resolve(
        tuple(shape), tuple(begin.tolist()), tuple(end.tolist()), tuple(strides.tolist()), masks
    )


def _dynamic(op: Any, shape: tuple, begin: Any, masks: Masks, xp: Any) -> tuple[list, list, tuple]:
    """Starts and sizes of a slice some of whose indices are traced; ranges must be known.

    Gives (start of each dimension, its size, the final shape).
    """
    known = [known_elements(t) for t in op._inputs[1:4]]
    length = begin.shape[0]
    b, e, s = [k or [None] * length for k in known]
    starts: list[Any] = []
    sizes: list[int] = []
    final: list[int] = []
    for axis, i in layout(length, masks, len(shape)):
        if axis < 0:
            final.append(1)
            continue
        size = shape[axis]
        if i < 0:
            starts.append(0)
            sizes.append(size)
            final.append(size)
        elif masks[4] & (1 << i):
            at = begin[i].astype(np.int64)
            xp.check((at >= -size) & (at < size), lambda: "slice index out of bounds.")
            starts.append(xp.where(at < 0, at + size, at))
            sizes.append(1)
        else:
            bit = 1 << i
            if (b[i] is None and not masks[0] & bit) or (e[i] is None and not masks[1] & bit):
                raise ValueError(f"The bounds of dimension {i} of a strided slice are not known")
            if s[i] != 1:
                raise ValueError("A strided slice with traced indices needs strides of 1")
            start, n, _ = one_range(size, b[i] or 0, e[i] or 0, 1, i, masks)
            starts.append(start)
            sizes.append(n)
            final.append(n)
    return starts, sizes, tuple(final)


def _static_inputs(op: Any) -> tuple[str, ...]:
    """Bounds of ranges must be known; a single index may be traced (`x[i]` in a loop)."""
    names = ("begin", "end", "strides")
    kind = op._decl.name
    extra = ("shape",) if kind == "StridedSliceGrad" else ()
    begin, end, strides = (known_elements(t) for t in op._inputs[1:4])
    masks = tuple(op._attrs[m] for m in _MASK_NAMES)
    if begin is None or end is None or strides is None:
        return names + extra
    for i, (b, e, s) in enumerate(zip(begin, end, strides)):
        bit = 1 << i
        if masks[2] & bit or masks[3] & bit:
            continue
        if masks[4] & bit:
            continue
        if s != 1 or (b is None and not masks[0] & bit) or (e is None and not masks[1] & bit):
            return names + extra
    if all(None not in x for x in (begin, end, strides)):
        return names + extra  # constants
    return extra


def _shape_rule(input: Any, begin: Any, end: Any, strides: Any, const: Any, masks: Masks) -> Any:
    lengths = (vector(begin, "begin")[0], vector(end, "end")[0], vector(strides, "strides")[0])  # type: ignore[index]
    values = (const.elements("begin"), const.elements("end"), const.elements("strides"))
    return static_shape(input, lengths, *values, masks)


@op(
    "StridedSlice",
    "input: T, begin: Index, end: Index, strides: Index -> output: T",
    _ATTRS,
    static=_static_inputs,
)
def strided_slice_op(
    xp, input, begin, end, strides,
    *, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask,
):  # fmt: skip
    """The elements of `input` from `begin` to `end` in steps of `strides`; masks say what entries mean."""
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    found = _resolved(input.shape, begin, end, strides, masks)
    return input[found.slices].reshape(found.final)


@strided_slice_op.kernel_for("xla")
def _(
    ctx, input, begin, end, strides,
    *, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask,
):  # fmt: skip
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    xp = ctx.xp
    if all(isinstance(x, np.ndarray) for x in (begin, end, strides)):
        found = _resolved(input.shape, begin, end, strides, masks)
        return cut(xp, input, found.ranges).reshape(found.final)
    starts, sizes, final = _dynamic(ctx.op, input.shape, begin, masks, xp)
    return xp.lax.dynamic_slice(input, _same_type(starts, xp), sizes).reshape(final)


def _same_type(starts: list[Any], xp: Any) -> list[Any]:
    return [xp.asarray(s, np.int64) for s in starts]


@strided_slice_op.shape
def _(
    input, begin, end, strides,
    *, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask, const,
):  # fmt: skip
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    return _shape_rule(input, begin, end, strides, const, masks)


def _masks_of(op: Any) -> dict[str, int]:
    return {m: op._attrs[m] if hasattr(op, "_attrs") else op.get_attr(m) for m in _MASK_NAMES}


@strided_slice_op.gradient
def _(op, grad):
    input, begin, end, strides = op.inputs
    shape = shape_of.shape(input, out_type=begin.dtype)
    return [strided_slice_grad(shape, begin, end, strides, grad, **_masks_of(op)), None, None, None]


@op(
    "StridedSliceGrad",
    "shape: Index, begin: Index, end: Index, strides: Index, dy: T -> output: T",
    _ATTRS,
    static=_static_inputs,
)
def strided_slice_grad(
    xp, shape, begin, end, strides, dy,
    *, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask,
):  # fmt: skip
    """Zeros of the given shape, with `dy` where StridedSlice would take elements from."""
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    found = _resolved(shape.tolist(), begin, end, strides, masks)
    _check_part(dy.shape, found.final)
    out = filled(xp, tuple(shape.tolist()), zero_of(dy.dtype), dy.dtype)
    out[found.slices] = dy.reshape(found.sizes)
    return out


@strided_slice_grad.kernel_for("xla")
def _(
    ctx, shape, begin, end, strides, dy,
    *, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask,
):  # fmt: skip
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    xp = ctx.xp
    whole = tuple(shape.tolist())
    if not all(isinstance(x, np.ndarray) for x in (begin, end, strides)):
        starts, sizes, final = _dynamic(ctx.op, whole, begin, masks, xp)
        _check_part(dy.shape, final)
        zeros = xp.zeros(whole, dy.dtype)
        return xp.lax.dynamic_update_slice(zeros, dy.reshape(sizes), _same_type(starts, xp))
    found = _resolved(whole, begin, end, strides, masks)
    _check_part(dy.shape, found.final)
    return _spread(xp, dy.reshape(found.sizes), whole, found)


def _spread(xp: Any, part: Any, whole: tuple, found: Resolved) -> Any:
    """Zeros with a strided part set: padding between and around, which XLA fuses (a scatter it does not)."""
    if 0 in found.sizes:
        return xp.zeros(whole, part.dtype)
    config, flip = [], []
    for axis, (size, (begin, n, stride)) in enumerate(zip(whole, found.ranges)):
        if stride < 0:
            flip.append(axis)
            begin, stride = begin + (n - 1) * stride, -stride
        config.append((begin, size - begin - (n - 1) * stride - 1, stride - 1))
    if flip:
        part = xp.flip(part, flip)
    return xp.lax.pad(xp.asarray(part), np.zeros((), part.dtype), config)


def _check_part(given: tuple, wanted: tuple) -> None:
    if tuple(given) != wanted:
        raise ShapeError(f"shape of dy was {text(tuple(given))} instead of {text(wanted)}")


@strided_slice_grad.shape
def _(shape, begin, end, strides, dy, *, const):
    vector(shape, "shape")
    return const.shape("shape")


@strided_slice_grad.gradient
def _(op, grad):
    _, begin, end, strides, _ = op.inputs
    return [None, None, None, None, strided_slice_op(grad, begin, end, strides, **_masks_of(op))]


# -- assignment --------------------------------------------------------------------------------------------


def _updated(xp: Any, array: Any, found: Resolved, value: Any) -> Any:
    """A copy of `array` with the value in the slice."""
    if 0 in found.sizes:
        return array  # TensorFlow puts anything into nothing
    if tuple(value.shape) != found.final:
        raise ShapeError(
            f"A value of shape {text(tuple(value.shape))} cannot be assigned to a slice of shape {text(found.final)}"
        )
    part = value.reshape(found.sizes)
    if xp.is_numpy:
        out = np.array(array)
        out[found.slices] = part
        return out
    if found.is_simple:
        return xp.lax.dynamic_update_slice(
            array, xp.asarray(part), [np.int64(b) for b, _, _ in found.ranges]
        )
    return xp.asarray(array).at[found.slices].set(part)


def _assign(
    ctx: Any, cell: Any, begin: Any, end: Any, strides: Any, value: Any, masks: Masks
) -> None:
    old = ctx.read(cell)
    found = _resolved(old.shape, begin, end, strides, masks)
    ctx.write(cell, _updated(ctx.xp, old, found, value))


_BOUNDS = ("begin", "end", "strides")


@op(
    "StridedSliceAssign",
    "ref ref: T, begin: Index, end: Index, strides: Index, value: T -> ref output_ref: T",
    _ATTRS,
    static=_BOUNDS,
)
def strided_slice_assign(
    ctx, ref, begin, end, strides, value,
    *, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask,
):  # fmt: skip
    """Assigns `value` to a strided slice of a reference variable."""
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    _assign(ctx, ref, begin, end, strides, value, masks)
    return ref


@strided_slice_assign.shape
def _(ref, begin, end, strides, value):
    return ref


@op(
    "ResourceStridedSliceAssign",
    "ref: resource, begin: Index, end: Index, strides: Index, value: T ->",
    _ATTRS,
    static=_BOUNDS,
    stateful=True,
)
def resource_strided_slice_assign(
    ctx, ref, begin, end, strides, value,
    *, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask,
):  # fmt: skip
    """Assigns `value` to a strided slice of a resource variable."""
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    _assign(ctx, ref, begin, end, strides, value, masks)
    return ()


@op(
    "TensorStridedSliceUpdate",
    "input: T, begin: Index, end: Index, strides: Index, value: T -> output: T",
    _ATTRS,
    static=_BOUNDS,
)
def tensor_strided_slice_update(
    xp, input, begin, end, strides, value,
    *, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask,
):  # fmt: skip
    """A copy of `input` with `value` in a strided slice."""
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    return _updated(xp, input, _resolved(input.shape, begin, end, strides, masks), value)


@tensor_strided_slice_update.shape
def _(input, begin, end, strides, value):
    return input


# -- the public function -----------------------------------------------------------------------------------


def _cannot_assign(value: Any, name: str | None = None) -> None:
    raise ValueError("Sliced assignment is only supported for variables")


@export("strided_slice")
def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Any:
    """Returns the elements of `input_` from `begin` to `end` in steps of `strides`.

    Bit i of a mask says of entry i: begin or end is ignored; it stands for as many dimensions as are
    missing; it is a new dimension; it is an index, whose dimension goes away. The result of a slice of
    the variable `var` has a method `assign`.
    """
    if strides is None:
        strides = ones_like(begin)
    masks = {
        "begin_mask": begin_mask,
        "end_mask": end_mask,
        "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask,
        "shrink_axis_mask": shrink_axis_mask,
    }
    result = strided_slice_op(input_, begin, end, strides, name=name, **masks)
    if var is None:
        result.__dict__["assign"] = _cannot_assign
        return result

    def assign(value: Any, name: str | None = None) -> Any:
        """Assigns to the slice of the variable."""
        given = name or (parent + "_assign" if parent else None)
        return var._strided_slice_assign(
            begin=begin, end=end, strides=strides, value=value, name=given, **masks
        )

    parent = name.rstrip("/") if name else None
    result.__dict__["assign"] = assign
    return result
