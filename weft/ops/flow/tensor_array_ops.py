"""The ops of TensorArrays with handles."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from weft.framework.registry import op
from weft.framework.shape_rules import scalar, vector
from weft.ops.by_name import raw
from weft.ops.flow.tensor_array_storage import TensorArrayStorage, TracedArray

_numbers = itertools.count()
_FLOW = np.zeros((), np.float32)
_FLOW.setflags(write=False)


@op(
    "TensorArrayV3",
    "size: int32 -> handle: resource, flow: float",
    "dtype: type; element_shape: shape = unknown; dynamic_size: bool = false; clear_after_read: bool = true; "
    'identical_element_shapes: bool = false; tensor_array_name: string = ""',
    stateful=True,
    static_if_possible=("size",),
)
def tensor_array(
    ctx,
    size,
    *,
    dtype,
    element_shape,
    dynamic_size,
    clear_after_read,
    identical_element_shapes,
    tensor_array_name,
):
    """Makes an array for the time of a step."""
    name = f"{tensor_array_name or ctx.op._name}_{next(_numbers)}"
    if ctx.tracing:
        if dynamic_size or not isinstance(size, np.ndarray):
            raise ctx.cannot("a TensorArray whose size is not known while compiling")
        array = TracedArray(
            ctx, name, dtype, element_shape, int(size), clear_after_read, identical_element_shapes
        )
        return array, _FLOW
    if size.ndim:
        from weft.ops.flow.list_value import invalid

        raise invalid(f"TensorArray size must be scalar, but had shape: {list(size.shape)}")
    storage = TensorArrayStorage(
        name,
        dtype,
        element_shape,
        int(size),
        dynamic_size,
        clear_after_read,
        identical_element_shapes,
    )
    return storage, _FLOW


@tensor_array.shape
def _(size):
    return (), ()


tensor_array.not_differentiable()


@op(
    "TensorArrayGradV3",
    "handle: resource, flow_in: float -> grad_handle: resource, flow_out: float",
    "source: string",
    stateful=True,
)
def tensor_array_grad(ctx, handle, flow_in, *, source):
    """The array of the gradients of an array."""
    return handle.gradient(ctx, source), flow_in


@tensor_array_grad.shape
def _(handle, flow_in):
    return (), ()


@tensor_array_grad.gradient
def _(op, handle_grad, flow_grad):
    return None, flow_grad


@op(
    "TensorArrayGradWithShape",
    "handle: resource, flow_in: float, shape_to_prepend: int32 -> grad_handle: resource, flow_out: float",
    "source: string",
    stateful=True,
    static=("shape_to_prepend",),
)
def tensor_array_grad_with_shape(ctx, handle, flow_in, shape_to_prepend, *, source):
    """The array of gradients that have further dimensions before those of the elements."""
    return handle.gradient(ctx, source, tuple(shape_to_prepend.tolist())), flow_in


@tensor_array_grad_with_shape.shape
def _(handle, flow_in, shape_to_prepend):
    return (), ()


tensor_array_grad_with_shape.not_differentiable()


@op(
    "TensorArrayWriteV3",
    "handle: resource, index: int32, value: T, flow_in: float -> flow_out: float",
    "T: type",
    stateful=True,
)
def tensor_array_write(ctx, handle, index, value, flow_in, *, T):
    """Sets an element."""
    handle.check_dtype(T, "is trying to write")
    handle.write(ctx, index, value)
    return flow_in


@tensor_array_write.shape
def _(handle, index, value, flow_in):
    return ()


@op(
    "TensorArrayReadV3",
    "handle: resource, index: int32, flow_in: float -> value: dtype",
    "dtype: type",
    stateful=True,
)
def tensor_array_read(ctx, handle, index, flow_in, *, dtype):
    """An element."""
    handle.check_dtype(dtype, "requested")
    return handle.read(ctx, index)


@tensor_array_read.shape
def _(handle, index, flow_in):
    return None


@op(
    "TensorArrayGatherV3",
    "handle: resource, indices: int32, flow_in: float -> value: dtype",
    "dtype: type; element_shape: shape = unknown",
    stateful=True,
)
def tensor_array_gather(ctx, handle, indices, flow_in, *, dtype, element_shape):
    """Elements, as the rows of a tensor."""
    handle.check_dtype(dtype, "requested")
    return handle.gather(ctx, indices, element_shape)


@tensor_array_gather.shape
def _(handle, indices, flow_in, *, element_shape):
    if element_shape is None:
        return None
    return (*(vector(indices) or (None,)), *element_shape)


@op(
    "TensorArrayScatterV3",
    "handle: resource, indices: int32, value: T, flow_in: float -> flow_out: float",
    "T: type",
    stateful=True,
)
def tensor_array_scatter(ctx, handle, indices, value, flow_in, *, T):
    """Sets elements to the rows of a tensor."""
    handle.check_dtype(T, "is trying to write")
    handle.scatter(ctx, indices, value)
    return flow_in


@tensor_array_scatter.shape
def _(handle, indices, value, flow_in):
    return ()


@op(
    "TensorArrayConcatV3",
    "handle: resource, flow_in: float -> value: dtype, lengths: int64",
    "dtype: type; element_shape_except0: shape = unknown",
    stateful=True,
)
def tensor_array_concat(ctx, handle, flow_in, *, dtype, element_shape_except0):
    """All elements joined along their first axis, and their lengths."""
    handle.check_dtype(dtype, "requested")
    return handle.concat(ctx, element_shape_except0)


@tensor_array_concat.shape
def _(handle, flow_in, *, element_shape_except0):
    rest = element_shape_except0
    return (None if rest is None else (None, *rest)), (None,)


@op(
    "TensorArraySplitV3",
    "handle: resource, value: T, lengths: int64, flow_in: float -> flow_out: float",
    "T: type",
    stateful=True,
    static_if_possible=("lengths",),
)
def tensor_array_split(ctx, handle, value, lengths, flow_in, *, T):
    """Sets the elements to pieces of a tensor."""
    handle.check_dtype(T, "is trying to write")
    handle.split(ctx, value, lengths)
    return flow_in


@tensor_array_split.shape
def _(handle, value, lengths, flow_in):
    return ()


@op(
    "TensorArraySizeV3",
    "handle: resource, flow_in: float -> size: int32",
    stateful=True,
    shape_only=True,
)
def tensor_array_size(ctx, handle, flow_in):
    """The number of elements."""
    return handle.count(ctx)


@tensor_array_size.shape
def _(handle, flow_in):
    return scalar(flow_in, "flow_in")


tensor_array_size.not_differentiable()


@op("TensorArrayCloseV3", "handle: resource", stateful=True)
def tensor_array_close(ctx, handle):
    """Gives back what is behind the handle."""
    handle.close(ctx)


tensor_array_close.not_differentiable()

# -- gradients ----------------------------------------------------------------------------------------------
# The gradients of the elements are in an array of their own, one for each call of tf.gradients: the name of
# the gradient tensor tells which.


def _source(tensor: Any) -> str:
    parts = tensor.name.split("/")
    at = [i for i, part in enumerate(parts) if part.startswith("gradients")]
    if not at:
        raise ValueError(
            f"Expected op/tensor name to start with gradients (excluding scope), got: {tensor.name}. This means "
            "that a tf.gradients op with this op in its dependency path has a custom name that does not start "
            "with 'gradients'. Please make sure all calls to tf.gradients that have non-empty 'name' arguments "
            "use names that start with 'gradients'."
        )
    return "/".join(parts[: at[-1] + 1])


def _grads(op: Any, grad: Any, flow: Any) -> tuple[Any, Any]:
    """The array of gradients, and the flow to use it with."""
    from weft.framework.context import get_default_graph

    handle, _ = raw.TensorArrayGradV3(op.inputs[0], flow, source=_source(grad))
    with get_default_graph().control_dependencies([handle]):
        return handle, raw.Identity(flow, name="gradient_flow")


@tensor_array_read.gradient
def _(op, grad):
    handle, flow = _grads(op, grad, op.inputs[2])
    return None, None, raw.TensorArrayWriteV3(handle, op.inputs[1], grad, flow)


@tensor_array_write.gradient
def _(op, flow_grad):
    handle, flow = _grads(op, flow_grad, flow_grad)
    value = op.inputs[2]
    grad = raw.TensorArrayReadV3(handle, op.inputs[1], flow, dtype=value.dtype)
    grad.set_shape(value.shape)
    return None, None, grad, flow_grad


@tensor_array_gather.gradient
def _(op, grad):
    handle, flow = _grads(op, grad, op.inputs[2])
    return None, None, raw.TensorArrayScatterV3(handle, op.inputs[1], grad, flow)


@tensor_array_scatter.gradient
def _(op, flow_grad):
    handle, flow = _grads(op, flow_grad, flow_grad)
    value = op.inputs[2]
    dims = None if value._dims is None else value._dims[1:]
    grad = raw.TensorArrayGatherV3(
        handle, op.inputs[1], flow, dtype=value.dtype, element_shape=dims
    )
    return None, None, grad, flow_grad


@tensor_array_concat.gradient
def _(op, grad, lengths_grad):
    handle, flow = _grads(op, grad, op.inputs[1])
    return None, raw.TensorArraySplitV3(handle, grad, op.outputs[1], flow)


@tensor_array_split.gradient
def _(op, flow_grad):
    handle, flow = _grads(op, flow_grad, flow_grad)
    value = op.inputs[1]
    dims = None if value._dims is None else value._dims[1:]
    grad, _ = raw.TensorArrayConcatV3(handle, flow, dtype=value.dtype, element_shape_except0=dims)
    return None, grad, None, flow_grad
