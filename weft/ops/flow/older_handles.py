"""Stacks and TensorArrays as older graphs have them: behind strings, and references to strings, instead of
resources. The kernels are those of today's ops; what travels in a step is the stack or array itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework.registry import OpDecl, op
from weft.ops.flow import stack, tensor_array_ops

_numbers = itertools.count()
_REFERENCE, _STRING = "ref handle: string", "handle: string"


def _older(name: str, args: str, attrs: str, kernel: Callable, shape: Any, **flags: Any) -> None:
    decl = op(name, args, attrs, host=True, **flags)(kernel)
    if shape is not None:
        decl.shape(shape)
    decl.not_differentiable()


def _same_but_handle(decl: OpDecl, name: str, handle: str, **flags: Any) -> None:
    """Declares an op that differs from another in the kind of its handle only."""
    args = decl.args_text.replace("handle: resource", handle)
    kernel: Any = decl.kernel
    _older(name, args, decl.attrs_text, kernel, decl.shape_rule, **flags)


# -- stacks


def _new_stack(ctx, *, elem_type, stack_name):
    """Makes a stack."""
    name = f"{stack_name or ctx.op._name}_{next(_numbers)}"  # which is all that is shown of it
    return stack.Stack(name, elem_type, -1)


_older(
    "Stack",
    f"-> {_REFERENCE}",
    'elem_type: type; stack_name: string = ""',
    _new_stack,
    lambda: (2,),
    stateful=True,
)
for _name, _decl in (
    ("StackPush", stack.stack_push),
    ("StackPop", stack.stack_pop),
    ("StackClose", stack.stack_close),
):
    _same_but_handle(_decl, _name, _REFERENCE)

# -- TensorArrays


def _new_array(
    ctx, size, *, dtype, element_shape, dynamic_size, clear_after_read, tensor_array_name
):
    """Makes an array for the time of a step."""
    make: Any = tensor_array_ops.tensor_array.kernel
    array, _ = make(
        ctx,
        size,
        dtype=dtype,
        element_shape=element_shape,
        dynamic_size=dynamic_size,
        clear_after_read=clear_after_read,
        identical_element_shapes=False,
        tensor_array_name=tensor_array_name,
    )
    return array


def _gradients_of(ctx, handle, flow_in, *, source):
    """The array of the gradients of an array."""
    return handle.gradient(ctx, source)


_ARRAY = (
    "dtype: type; element_shape: shape = unknown; dynamic_size: bool = false; clear_after_read: bool = true; "
    'tensor_array_name: string = ""'
)
for _version, _handle in (("", _REFERENCE), ("V2", _STRING)):
    _older(
        f"TensorArray{_version}",
        f"size: int32 -> {_handle}",
        _ARRAY,
        _new_array,
        lambda size: (2,),
        stateful=True,
    )
    _older(
        f"TensorArrayGrad{_version}",
        f"{_STRING}, flow_in: float -> {_handle.replace('handle', 'grad_handle')}",
        "source: string",
        _gradients_of,
        lambda handle, flow_in: (2,),
        stateful=True,
    )
    for _decl in (
        tensor_array_ops.tensor_array_write,
        tensor_array_ops.tensor_array_read,
        tensor_array_ops.tensor_array_gather,
        tensor_array_ops.tensor_array_scatter,
        tensor_array_ops.tensor_array_concat,
        tensor_array_ops.tensor_array_split,
        tensor_array_ops.tensor_array_size,
        tensor_array_ops.tensor_array_close,
    ):
        _same_but_handle(_decl, _decl.name.replace("V3", _version), _handle)


def _pack(ctx, handle, flow_in, *, dtype, element_shape):
    """All elements, as the rows of a tensor."""
    handle.check_dtype(dtype, "requested")
    return handle.gather(ctx, np.arange(int(handle.count(ctx)), dtype=np.int32), element_shape)


def _unpack(ctx, handle, value, flow_in, *, T):
    """Sets the elements to the rows of a tensor."""
    handle.check_dtype(T, "is trying to write")
    handle.scatter(ctx, np.arange(len(value), dtype=np.int32), value)
    return flow_in


_older(
    "TensorArrayPack",
    f"{_REFERENCE}, flow_in: float -> value: dtype",
    "dtype: type; element_shape: shape = unknown",
    _pack,
    lambda handle, flow_in: None,
)
_older(
    "TensorArrayUnpack",
    f"{_REFERENCE}, value: T, flow_in: float -> flow_out: float",
    "T: type",
    _unpack,
    lambda handle, value, flow_in: (),
)
