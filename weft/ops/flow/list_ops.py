"""Lists of tensors as variant tensors: the TensorList ops.

The interpreter keeps a Python list that versions share (list_value), XLA a buffer and a length (traced_list);
so each op has two kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.registry import op
from weft.framework.shape_rules import Shape, ShapeError, is_full, rank_at_least, text, vector
from weft.ops.flow.list_value import TensorList, fits, invalid, merged_shape
from weft.ops.flow.traced_list import TracedList

_SHAPE_TYPE = "shape_type: type in {int32, int64}"
_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def element_shape_of(value: Any) -> Shape:
    """The shape that an `element_shape` input says; a scalar says that the rank is not known."""
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return None
    return tuple(None if d < 0 else int(d) for d in value)


def _static_shape(const: Any, which: str) -> Shape:
    value = const(which)
    if value is not None:
        return element_shape_of(np.asarray(value))
    return const.shape(which)


def check_dtype(handle: Any, dtype: dtypes.DType) -> None:
    """InvalidArgumentError unless a list holds elements of this dtype."""
    if handle.element_dtype is not dtype:
        names = [_NAMES.get(d.name, d.name) for d in (dtype, handle.element_dtype)]
        raise invalid(f"Invalid data types; op elements {names[0]} but list elements {names[1]}")


def shape_of(x: Any) -> Shape:
    return getattr(x, "shape", ())


# -- making a list ----------------------------------------------------------------------------------------


@op(
    "EmptyTensorList",
    "element_shape: shape_type, max_num_elements: int32 -> handle: variant",
    "element_dtype: type; " + _SHAPE_TYPE,
)
def empty_tensor_list(ctx, element_shape, max_num_elements, *, element_dtype):
    """A list without elements, for at most so many (-1: any number)."""
    shape = element_shape_of(element_shape)
    if ctx.tracing:
        most = int(max_num_elements) if isinstance(max_num_elements, np.ndarray) else -1
        return TracedList(element_dtype, shape, max_elements=most)
    return TensorList(element_dtype, shape, [], int(max_num_elements))


@empty_tensor_list.shape
def _(element_shape, max_num_elements):
    return ()


@op(
    "TensorListReserve",
    "element_shape: shape_type, num_elements: int32 -> handle: variant",
    "element_dtype: type; " + _SHAPE_TYPE,
    static_if_possible=("num_elements",),
)
def tensor_list_reserve(ctx, element_shape, num_elements, *, element_dtype):
    """A list of elements that are still to be set."""
    shape = element_shape_of(element_shape)
    if ctx.tracing:
        if isinstance(num_elements, np.ndarray):
            return TracedList(element_dtype, shape, length=int(num_elements))
        return TracedList(element_dtype, shape, length=num_elements)
    if num_elements < 0:
        raise invalid(
            f"The num_elements to reserve must be a non negative number, but got {num_elements}"
        )
    return TensorList(element_dtype, shape, None, length=int(num_elements), few={})


@tensor_list_reserve.shape
def _(element_shape, num_elements):
    return ()


@op(
    "TensorListFromTensor",
    "tensor: element_dtype, element_shape: shape_type -> output_handle: variant",
    "element_dtype: type; " + _SHAPE_TYPE,
)
def tensor_list_from_tensor(ctx, tensor, element_shape, *, element_dtype):
    """The rows of a tensor as a list."""
    shape = element_shape_of(element_shape)
    if not tensor.ndim:
        raise invalid(f"Tensor must be at least a vector, but saw shape: {text(tensor.shape)}")
    if not fits(shape, tensor.shape[1:]):
        raise invalid(
            f"Specified a list with shape {text(shape)} from a tensor with shape {text(tensor.shape[1:])}"
        )
    n = tensor.shape[0]
    if ctx.tracing:
        return TracedList(element_dtype, shape, ctx.xp.asarray(tensor), n, n)
    return TensorList(element_dtype, shape, [tensor[i, ...] for i in range(n)])


@tensor_list_from_tensor.shape
def _(tensor, element_shape, *, const):
    rank_at_least(tensor, 1, "tensor")
    return ()


@op(
    "TensorListSplit",
    "tensor: element_dtype, element_shape: shape_type, lengths: int64 -> output_handle: variant",
    "element_dtype: type; " + _SHAPE_TYPE,
    static=("lengths",),
)
def tensor_list_split(ctx, tensor, element_shape, lengths, *, element_dtype):
    """Pieces of a tensor, of these lengths along its first axis, as a list."""
    shape = element_shape_of(element_shape)
    if not tensor.ndim:
        if _is_tensor_array(ctx):
            raise invalid(
                f"Expected value to be at least a vector, but received shape: {text(tensor.shape)}"
            )
        raise invalid(f"Tensor must be at least a vector, but saw shape: {text(tensor.shape)}")
    if lengths.ndim != 1:
        raise invalid(f"Expected lengths to be a vector, received shape: {text(lengths.shape)}")
    if shape is not None and not shape:
        raise invalid(
            f"TensorListSplit requires element_shape to be at least of rank 1, but saw: {text(shape)}"
        )
    if shape is not None and not fits(shape[1:], tensor.shape[1:]):
        raise invalid(
            f"tensor shape {text(tensor.shape)} is not compatible with element_shape {text(shape)}"
        )
    pieces, start = [], 0
    for n in lengths.tolist():
        if n < 0:
            raise invalid(f"Invalid value in lengths: {n}")
        if start + n > tensor.shape[0]:
            raise invalid(
                f"Attempting to slice [{start}, {start + n}] from tensor with length {tensor.shape[0]}"
            )
        pieces.append(tensor[start : start + n])
        start += n
    if start != tensor.shape[0]:
        if _is_tensor_array(ctx):
            raise invalid(
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{start} and value's shape is: {text(tensor.shape)}"
            )
        raise invalid(
            f"Unused values in tensor. Length of tensor: {tensor.shape[0]} Values used: {start}"
        )
    if not ctx.tracing:
        return TensorList(element_dtype, shape, pieces)
    if any(p.shape != pieces[0].shape for p in pieces):
        raise ctx.cannot("a list of pieces of different lengths")
    if not pieces:
        return TracedList(element_dtype, shape)
    return TracedList(element_dtype, shape, ctx.xp.stack(pieces), len(pieces), len(pieces))


@tensor_list_split.shape
def _(tensor, element_shape, lengths, *, const):
    rank_at_least(tensor, 1, "tensor")
    vector(lengths, "lengths")
    shape = _static_shape(const, "element_shape")
    if shape is not None and tensor is not None and len(shape) != len(tensor):
        raise ShapeError(f"Shapes must be equal rank, but are {len(tensor)} and {len(shape)}")
    return ()


def _scatter(ctx, tensor, indices, element_shape, num_elements, *, element_dtype):
    shape = element_shape_of(element_shape)
    if num_elements < -1:
        raise invalid(f"TensorListScatter expects num_elements >= -1, found: {int(num_elements)}")
    if tensor.shape[0] < indices.shape[0]:
        raise invalid(
            f"Invalid number of rows in input tensor. Expected: {indices.shape[0]} Actual: "
            f"{tensor.shape[0]}"
        )
    if (indices < 0).any():
        raise invalid("Indices in TensorListScatter must all be non-negative.")
    n = int(num_elements)
    if n < 0:
        n = int(indices.max()) + 1 if indices.size else 0
    if (indices >= n).any():
        raise invalid(
            f"TensorListScatter: Trying to scatter at index {int(indices[indices >= n][0])} in list with "
            f"size {n}"
        )
    if not fits(shape, tensor.shape[1:]):
        raise invalid(
            f"Specified a list with shape {text(shape)} from a tensor with shape {text(tensor.shape[1:])}"
        )
    if ctx.tracing:
        reserved = TracedList(element_dtype, shape, length=n)
        return reserved.scattered(ctx, indices, tensor[: indices.shape[0]])
    items: list[Any] = [None] * n
    for row, i in enumerate(indices.tolist()):
        items[i] = tensor[row, ...]
    return TensorList(element_dtype, shape, items)


@op(
    "TensorListScatter",
    "tensor: element_dtype, indices: int32, element_shape: shape_type -> output_handle: variant",
    "element_dtype: type; " + _SHAPE_TYPE,
    static=("indices",),
)
def tensor_list_scatter(ctx, tensor, indices, element_shape, *, element_dtype):
    """A list with the rows of a tensor at these places."""
    most = np.asarray(-1, np.int32)
    return _scatter(ctx, tensor, indices, element_shape, most, element_dtype=element_dtype)


@op(
    "TensorListScatterV2",
    "tensor: element_dtype, indices: int32, element_shape: shape_type, num_elements: int32 "
    "-> output_handle: variant",
    "element_dtype: type; " + _SHAPE_TYPE,
    static=("indices", "num_elements"),
)
def tensor_list_scatter_v2(ctx, tensor, indices, element_shape, num_elements, *, element_dtype):
    """A list of so many elements, with the rows of a tensor at these places."""
    return _scatter(ctx, tensor, indices, element_shape, num_elements, element_dtype=element_dtype)


@tensor_list_scatter.shape
@tensor_list_scatter_v2.shape
def _(tensor, indices, *rest):
    return ()


# -- asking a list ----------------------------------------------------------------------------------------


@op("TensorListLength", "input_handle: variant -> length: int32", shape_only=True)
def tensor_list_length(ctx, input_handle):
    """The number of elements."""
    n = input_handle.length
    return np.asarray(n, np.int32) if isinstance(n, int) else n


@tensor_list_length.shape
def _(input_handle):
    return ()


tensor_list_length.not_differentiable()


@op(
    "TensorListElementShape",
    "input_handle: variant -> element_shape: shape_type",
    _SHAPE_TYPE,
    shape_only=True,
)
def tensor_list_element_shape(ctx, input_handle, *, shape_type):
    """The shape of the elements as far as it is known, -1 for an unknown size; a scalar -1 if nothing is."""
    shape = input_handle.element_shape
    if ctx.tracing and not is_full(shape):
        shape = input_handle.actual_shape
    if shape is None:
        return np.asarray(-1, shape_type.np)
    return np.asarray([-1 if d is None else d for d in shape], shape_type.np)


@tensor_list_element_shape.shape
def _(input_handle, *, const):
    dims = const.handle("input_handle")
    return None if dims is None else (len(dims),)


tensor_list_element_shape.not_differentiable()

# A list may stand behind a TensorArray of TensorFlow 1, whose elements are written once.


def _is_tensor_array(ctx: Any) -> bool:
    return "_tensor_array" in ctx.op._attrs


def _check_write(i: int, n: int, handle: TensorList) -> None:
    if not 0 <= i < n:
        raise invalid(f"Tried to write to index {i} but array is not resizeable and size is: {n}")
    if handle.has(i):
        raise invalid(
            f"Could not write to TensorArray index {i} because it has already been written to."
        )


# -- one element ------------------------------------------------------------------------------------------


@op(
    "TensorListGetItem",
    "input_handle: variant, index: int32, element_shape: int32 -> item: element_dtype",
    "element_dtype: type",
)
def tensor_list_get_item(ctx, input_handle, index, element_shape, *, element_dtype):
    """An element of a list."""
    check_dtype(input_handle, element_dtype)
    i, n = int(index), input_handle.length
    if not 0 <= i < n:
        if _is_tensor_array(ctx):
            raise invalid(f"Tried to read from index {i} but array size is: {n}")
        raise invalid(f"Trying to access element {i} in a list with {n} elements.")
    wanted = element_shape_of(element_shape)
    if not input_handle.has(i):
        return input_handle.at(i, wanted)
    item = input_handle.at(i)
    if not fits(shape_of(item), wanted) and element_dtype is not dtypes.variant:
        raise invalid(
            f"Incompatible shapes during merge: {text(wanted)} vs. {text(shape_of(item))}"
        )
    return item


@tensor_list_get_item.kernel_for("xla")
def _(ctx, input_handle, index, element_shape, *, element_dtype):
    check_dtype(input_handle, element_dtype)
    return input_handle.at(ctx, index, element_shape_of(element_shape))


def _element_rule(const: Any) -> Shape:
    wanted = _static_shape(const, "element_shape")
    known = const.handle("input_handle")
    try:
        return merged_shape(wanted, known)
    except errors.InvalidArgumentError as e:
        raise ShapeError(e.message) from None


@tensor_list_get_item.shape
def _(input_handle, index, element_shape, *, const):
    return _element_rule(const)


@op(
    "TensorListSetItem",
    "input_handle: variant, index: int32, item: element_dtype -> output_handle: variant",
    "element_dtype: type",
)
def tensor_list_set_item(ctx, input_handle, index, item, *, element_dtype):
    """A list in which one element is another."""
    check_dtype(input_handle, element_dtype)
    i, n = int(index), input_handle.length
    if _is_tensor_array(ctx):
        _check_write(i, n, input_handle)
    if not 0 <= i < n:
        raise invalid(f"Trying to modify element {i} in a list with {n} elements.")
    if not fits(input_handle.element_shape, shape_of(item)):
        raise invalid(
            "Tried to set a tensor with incompatible shape at a list index. Item element shape: "
            f"{text(shape_of(item))} list shape: {text(input_handle.element_shape)}"
        )
    return input_handle.with_item(i, item)


@tensor_list_set_item.kernel_for("xla")
def _(ctx, input_handle, index, item, *, element_dtype):
    check_dtype(input_handle, element_dtype)
    # As a gradient has them: filled with zeros, which is known here, or like another tensor.
    is_zero = isinstance(item, np.ndarray) and item.dtype != object and not item.any()
    is_zero = is_zero or ctx.op._inputs[2]._op._decl.name == "ZerosLike"
    return input_handle.with_item(ctx, index, item, is_zero)


@tensor_list_set_item.shape
def _(input_handle, index, item):
    return ()


@op(
    "TensorListPushBack",
    "input_handle: variant, tensor: element_dtype -> output_handle: variant",
    "element_dtype: type",
)
def tensor_list_push_back(ctx, input_handle, tensor, *, element_dtype):
    """A list with one element more at its end."""
    check_dtype(input_handle, element_dtype)
    if element_dtype is not dtypes.variant and not fits(
        input_handle.element_shape, shape_of(tensor)
    ):
        raise invalid(
            "Tried to append a tensor with incompatible shape to a list. Op element shape: "
            f"{text(shape_of(tensor))} list shape: {text(input_handle.element_shape)}"
        )
    n, most = input_handle.length, input_handle.max_elements
    if 0 <= most <= n:
        raise invalid(
            f"Tried to push item into a full list list size: {n} max_num_elements: {most}"
        )
    return input_handle.pushed(tensor)


@tensor_list_push_back.kernel_for("xla")
def _(ctx, input_handle, tensor, *, element_dtype):
    check_dtype(input_handle, element_dtype)
    return input_handle.pushed(ctx, tensor)


@tensor_list_push_back.shape
def _(input_handle, tensor):
    return ()


@op(
    "TensorListPopBack",
    "input_handle: variant, element_shape: int32 -> output_handle: variant, tensor: element_dtype",
    "element_dtype: type",
)
def tensor_list_pop_back(ctx, input_handle, element_shape, *, element_dtype):
    """A list without its last element, and that element."""
    check_dtype(input_handle, element_dtype)
    n = input_handle.length
    if not n:
        raise invalid("Trying to pop from an empty list.")
    return input_handle.popped(), _element(input_handle, n - 1, element_shape)


def _element(handle: TensorList, i: int, element_shape: Any) -> Any:
    wanted = element_shape_of(element_shape)
    if wanted is not None:
        merged_shape(wanted, handle.element_shape)
    return handle.at(i, wanted)


@tensor_list_pop_back.kernel_for("xla")
def _(ctx, input_handle, element_shape, *, element_dtype):
    check_dtype(input_handle, element_dtype)
    return input_handle.popped(ctx, element_shape_of(element_shape))


@tensor_list_pop_back.shape
def _(input_handle, element_shape, *, const):
    return (), _element_rule(const)


# -- several elements -------------------------------------------------------------------------------------


@op(
    "TensorListResize",
    "input_handle: variant, size: int32 -> output_handle: variant",
    stateful=True,
    static_if_possible=("size",),
)
def tensor_list_resize(ctx, input_handle, size):
    """A list cut short, or with further elements that are still to be set."""
    n = int(size)
    if n < 0:
        raise invalid(f"TensorListSlice expects size to be non-negative. Got: {n}")
    return input_handle.resized(n)


@tensor_list_resize.kernel_for("xla")
def _(ctx, input_handle, size):
    return input_handle.resized(ctx, size)


@tensor_list_resize.shape
def _(input_handle, size):
    return ()


@op(
    "TensorListStack",
    "input_handle: variant, element_shape: int32 -> tensor: element_dtype",
    "element_dtype: type; num_elements: int = -1",
)
def tensor_list_stack(ctx, input_handle, element_shape, *, element_dtype, num_elements):
    """The elements of a list as the rows of a tensor."""
    check_dtype(input_handle, element_dtype)
    n = input_handle.length
    if num_elements >= 0 and n != num_elements:
        raise invalid(
            f"Operation expected a list with {num_elements} elements but got a list with {n} elements."
        )
    shape = common_shape(input_handle, input_handle.items, element_shape_of(element_shape), "stack")
    return stacked(input_handle, input_handle.items, shape)


def common_shape(handle: TensorList, items: list[Any], wanted: Shape, what: str) -> Shape:
    """The shape of the elements, from what is known and the elements themselves."""
    shape = merged_shape(wanted, handle.element_shape)
    if is_full(shape):
        return shape
    if not items:
        kind = "elements of an empty list" if what == "stack" else "0-elements from a list"
        raise invalid(f"Tried to {what} {kind} with non-fully-defined element_shape: {text(shape)}")
    for x in items:
        if x is not None:
            shape = merged_shape(shape, x.shape)
    if not is_full(shape):
        if what == "stack":
            raise invalid(
                "Tried to stack list which only contains uninitialized tensors and has a "
                f"non-fully-defined element_shape: {text(shape)}"
            )
        raise invalid(
            f"Tried to {what} uninitialized tensors from a list with non-fully-defined element_shape: "
            f"{text(shape)}"
        )
    return shape


def stacked(handle: TensorList, items: list[Any], shape: Any) -> Any:
    out = np.empty((len(items), *shape), handle.element_dtype.np)
    blank = b"" if out.dtype == object else 0
    for i, x in enumerate(items):
        if x is None:
            out[i] = blank
        elif x.shape != shape:
            raise invalid(f"Incompatible shapes during merge: {text(shape)} vs. {text(x.shape)}")
        else:
            out[i, ...] = x
    return out


@tensor_list_stack.kernel_for("xla")
def _(ctx, input_handle, element_shape, *, element_dtype, num_elements):
    check_dtype(input_handle, element_dtype)
    return input_handle.stacked(ctx, element_shape_of(element_shape), num_elements)


@tensor_list_stack.shape
def _(input_handle, element_shape, *, num_elements, const):
    shape = _element_rule(const)
    return None if shape is None else (None if num_elements < 0 else num_elements, *shape)


@op(
    "TensorListGather",
    "input_handle: variant, indices: int32, element_shape: int32 -> values: element_dtype",
    "element_dtype: type",
)
def tensor_list_gather(ctx, input_handle, indices, element_shape, *, element_dtype):
    """Elements of a list as the rows of a tensor."""
    check_dtype(input_handle, element_dtype)
    n = input_handle.length
    for i in indices.tolist():
        if not 0 <= i < n:
            raise invalid(f"Index {i} out o range; list only has {n} elements.")
    items = [input_handle.items[i] for i in indices.tolist()]
    shape = common_shape(input_handle, items, element_shape_of(element_shape), "gather")
    return stacked(input_handle, items, shape)


@tensor_list_gather.kernel_for("xla")
def _(ctx, input_handle, indices, element_shape, *, element_dtype):
    check_dtype(input_handle, element_dtype)
    return input_handle.gathered(ctx, indices, element_shape_of(element_shape))


@tensor_list_gather.shape
def _(input_handle, indices, element_shape, *, const):
    shape = _element_rule(const)
    if shape is None:
        return None
    return (*(indices if indices is not None else (None,)), *shape)


@op(
    "TensorListScatterIntoExistingList",
    "input_handle: variant, tensor: element_dtype, indices: int32 -> output_handle: variant",
    "element_dtype: type",
)
def tensor_list_scatter_into_existing_list(ctx, input_handle, tensor, indices, *, element_dtype):
    """A list in which the elements at these places are rows of a tensor."""
    check_dtype(input_handle, element_dtype)
    if (indices < 0).any():
        raise invalid("Indices in TensorListScatter must all be non-negative.")
    n = max(input_handle.length, int(indices.max()) + 1 if indices.size else 0)
    if not fits(input_handle.element_shape, tensor.shape[1:]):
        raise invalid(
            f"Specified a list with shape {text(input_handle.element_shape)} from a tensor with shape "
            f"{text(tensor.shape[1:])}"
        )
    items = list(input_handle.items) + [None] * (n - input_handle.length)
    for row, i in enumerate(indices.tolist()):
        items[i] = tensor[row, ...]
    return input_handle.with_items(items)


@tensor_list_scatter_into_existing_list.kernel_for("xla")
def _(ctx, input_handle, tensor, indices, *, element_dtype):
    check_dtype(input_handle, element_dtype)
    return input_handle.scattered(ctx, indices, tensor)


@tensor_list_scatter_into_existing_list.shape
def _(input_handle, tensor, indices):
    return ()


def _concat(ctx, input_handle, element_shape, leading_dims, *, element_dtype):
    """The elements of a list, joined along their first axis, and their lengths."""
    check_dtype(input_handle, element_dtype)
    wanted = element_shape_of(element_shape)
    if wanted is not None and not wanted:
        raise invalid("Concat requires elements to be at least vectors, found scalars instead.")
    shape = merged_shape(wanted, input_handle.element_shape)
    if shape is not None and not shape:
        raise invalid("Concat requires elements to be at least vectors, found scalars instead.")
    first, rest = (None, None) if shape is None else (shape[0], shape[1:])
    items = input_handle.items
    if not items and not is_full(rest):
        raise invalid(
            "All except the first dimension must be fully defined when concating an empty tensor list. "
            f"element_shape: {text(shape)}"
        )
    for i, x in enumerate(items):
        if x is not None:
            if not x.ndim:
                raise invalid(
                    f"Concat saw a scalar shape at index {i} but requires at least vectors."
                )
            rest = merged_shape(rest, x.shape[1:])
    if items and not is_full(rest):
        raise invalid(
            "Trying to concat list with only uninitialized tensors but "
            f"element_shape_except_first_dim_ is not fully defined: {text(rest)}"
        )
    pieces = []
    for i, x in enumerate(items):
        if x is None:
            n = first
            if n is None:
                if i >= len(leading_dims):
                    raise invalid(
                        f"List contains uninitialized tensor at index {i} but leading_dims has only "
                        f"{len(leading_dims)} elements."
                    )
                n = int(leading_dims[i])
            x = np.zeros((n, *rest), element_dtype.np)
        pieces.append(x)
    lengths = np.asarray([p.shape[0] for p in pieces], np.int64)
    if not pieces:
        return np.zeros((0, *rest), element_dtype.np), lengths
    return np.concatenate(pieces), lengths


def _traced_concat(ctx, input_handle, element_shape, leading_dims, *, element_dtype):
    check_dtype(input_handle, element_dtype)
    shape = element_shape_of(element_shape)
    if not is_full(shape) and isinstance(leading_dims, np.ndarray) and leading_dims.size:
        # The elements of a compiled list have one length.
        if (leading_dims != leading_dims[0]).any():
            raise ctx.cannot("the elements of a list have different lengths")
        if shape is not None:
            shape = (int(leading_dims[0]), *shape[1:])
    rows = input_handle.stacked(ctx, shape)
    if rows.ndim < 2:
        raise invalid("Concat requires elements to be at least vectors, found scalars instead.")
    n, length = rows.shape[:2]
    return rows.reshape((n * length, *rows.shape[2:])), np.full((n,), length, np.int64)


@op(
    "TensorListConcat",
    "input_handle: variant -> tensor: element_dtype, lengths: int64",
    "element_dtype: type; element_shape: shape = unknown",
)
def tensor_list_concat(ctx, input_handle, *, element_dtype, element_shape):
    """The elements of a list, joined along their first axis, and their lengths."""
    shape = _as_array(element_shape)
    return _concat(ctx, input_handle, shape, np.zeros(0, np.int64), element_dtype=element_dtype)


@tensor_list_concat.kernel_for("xla")
def _(ctx, input_handle, *, element_dtype, element_shape):
    shape = _as_array(element_shape)
    return _traced_concat(
        ctx, input_handle, shape, np.zeros(0, np.int64), element_dtype=element_dtype
    )


def _as_array(shape: Shape) -> np.ndarray:
    if shape is None:
        return np.asarray(-1)
    return np.asarray([-1 if d is None else d for d in shape], np.int64)


@tensor_list_concat.shape
def _(input_handle, *, element_shape):
    shape = None if not element_shape else (None, *element_shape[1:])
    return shape, (None,)


tensor_list_concat_v2 = op(
    "TensorListConcatV2",
    "input_handle: variant, element_shape: shape_type, leading_dims: int64 "
    "-> tensor: element_dtype, lengths: int64",
    "element_dtype: type; " + _SHAPE_TYPE,
    static_if_possible=("leading_dims",),
)(_concat)
tensor_list_concat_v2.kernel_for("xla")(_traced_concat)


@tensor_list_concat_v2.shape
def _(input_handle, element_shape, leading_dims, *, const):
    shape = _static_shape(const, "element_shape")
    known = const.handle("input_handle")
    if known:
        try:
            shape = merged_shape(shape, known)
        except errors.InvalidArgumentError:  # the run reports it
            shape = None
    return (None if not shape else (None, *shape[1:])), (None,)


# -- batches of lists ---------------------------------------------------------------------------------------


@op(
    "TensorListPushBackBatch",
    "input_handles: variant, tensor: element_dtype -> output_handles: variant",
    "element_dtype: type",
    host=True,
)
def tensor_list_push_back_batch(ctx, input_handles, tensor, *, element_dtype):
    """Appends a row of a tensor to each of several lists."""
    handles = np.asarray(input_handles, object)
    if not tensor.ndim or tensor.shape[0] != handles.size:
        raise invalid(
            "Tried to push a batch of another size than there are lists: tensor "
            f"{text(tensor.shape)}, lists {text(handles.shape)}"
        )
    out = np.empty(handles.shape, object)
    for i, handle in enumerate(handles.reshape(-1)):
        check_dtype(handle, element_dtype)
        if not fits(handle.element_shape, tensor.shape[1:]):
            raise invalid(
                f"Tried to append a tensor with incompatible shape to a list at index {i}. Op element "
                f"shape: {text(tensor.shape[1:])} list shape: {text(handle.element_shape)}"
            )
        out.reshape(-1)[i] = handle.pushed(tensor[i, ...])
    return out


@tensor_list_push_back_batch.shape
def _(input_handles, tensor):
    return input_handles


tensor_list_push_back_batch.not_differentiable()


@op(
    "TensorListConcatLists",
    "input_a: variant, input_b: variant -> output: variant",
    "element_dtype: type",
    host=True,
)
def tensor_list_concat_lists(ctx, input_a, input_b, *, element_dtype):
    """The elements of one list and then those of another; for tensors of lists, elementwise."""
    a, b = np.asarray(input_a, object), np.asarray(input_b, object)
    if a.shape != b.shape:
        raise invalid(f"Incompatible input TensorList tensor shapes: {a.shape} vs. {b.shape}")
    out = np.empty(a.shape, object)
    for i, (x, y) in enumerate(zip(a.reshape(-1), b.reshape(-1))):
        check_dtype(x, element_dtype)
        check_dtype(y, element_dtype)
        if not fits(x.element_shape, y.element_shape):
            raise invalid(
                "input_a and input_b TensorList element shapes are not identical at index "
                f"{i}: {text(x.element_shape)} vs. {text(y.element_shape)}"
            )
        out.reshape(-1)[i] = x.with_items([*x.items, *y.items])
    return out if out.ndim else out[()]


@tensor_list_concat_lists.shape
def _(input_a, input_b):
    return input_a if input_a is not None else input_b


tensor_list_concat_lists.not_differentiable()
