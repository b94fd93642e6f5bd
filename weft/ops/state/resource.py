"""Resource variables: VarHandleOp, and the ops that read and assign through the handle it gives."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes, errors
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import fail, merge
from weft.ops.state.reference import count, find_cell, matching, owned


@op(
    "VarHandleOp",
    "-> resource: resource",
    "container: string = ''; shared_name: string = ''; dtype: type; shape: shape",
    stateful=True,
    handle=True,
)
def var_handle_op(ctx, *, container, shared_name, dtype, shape):
    """A handle to a variable of the session."""
    return find_cell(ctx, container, shared_name or ctx.op.name, dtype, shape, is_resource=True)


@var_handle_op.shape
def _():
    return ()


var_handle_op.not_differentiable()


def short_name(dtype: dtypes.DType) -> str:
    """A dtype's name as messages of TensorFlow's runtime have it."""
    return {"float32": "float", "float64": "double", "float16": "half"}.get(dtype.name, dtype.name)


def _check_dtype(const: Any, dtype: dtypes.DType) -> None:
    found = const.handle_dtype("resource")
    if found is not None and found is not dtype:
        fail(f"The handle is of a {found.name} variable, but the op is for {dtype.name} values")


@op("ReadVariableOp", "resource: resource -> value: dtype", "dtype: type", stateful=True)
def read_variable_op(ctx, resource, *, dtype):
    """The value of a variable."""
    if resource.dtype is not dtype:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Trying to read variable with wrong dtype. Expected {short_name(dtype)} got "
            f"{short_name(resource.dtype)}",
        )
    return ctx.read(resource)


@read_variable_op.shape
def _(resource, *, dtype, const):
    _check_dtype(const, dtype)
    return const.handle("resource")


@read_variable_op.gradient
def _(op, grad):
    return grad


@op("AssignVariableOp", "resource: resource, value: dtype", "dtype: type", stateful=True)
def assign_variable_op(ctx, resource, value, *, dtype):
    """Gives a variable a new value."""
    if resource.dtype is not dtype:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Trying to assign variable with wrong dtype. Expected {short_name(resource.dtype)} got "
            f"{short_name(dtype)}",
        )
    value = owned(ctx, value)
    with ctx.lock:
        ctx.write(resource, value)


@assign_variable_op.shape
def _(resource, value, *, dtype, const):
    _check_dtype(const, dtype)
    merge(const.handle("resource"), value, "Shapes of the variable and its value must be equal")


assign_variable_op.not_differentiable()


def _updating(name: str, combine: Any) -> OpDecl:
    """An op that combines a variable with a value of its shape."""

    @op(name, "resource: resource, value: dtype", "dtype: type", stateful=True)
    def update(ctx, resource, value):
        with ctx.lock:
            ctx.write(resource, combine(matching(ctx.read(resource), value), value))

    @update.shape
    def _(resource, value, *, const):
        merge(
            const.handle("resource"), value, "Shapes of the variable and its update must be equal"
        )

    update.not_differentiable()
    return update


assign_add_variable_op = _updating("AssignAddVariableOp", lambda old, value: old + value)
assign_sub_variable_op = _updating("AssignSubVariableOp", lambda old, value: old - value)


@op(
    "VarIsInitializedOp",
    "resource: resource -> is_initialized: bool",
    stateful=True,
    host=True,
)
def var_is_initialized_op(ctx, resource):
    """Whether a variable has a value."""
    return ctx.peek(resource) is not None


@var_is_initialized_op.shape
def _(resource):
    return ()


var_is_initialized_op.not_differentiable()


@op(
    "VariableShape",
    "input: resource -> output: out_type",
    "out_type: type in {int32, int64} = int32",
    stateful=True,
)
def variable_shape(ctx, input, *, out_type):
    """The shape of a variable's value."""
    import numpy as np

    return np.array(ctx.read(input).shape, out_type.np)


@variable_shape.shape
def _(input, *, const):
    dims = const.handle("input")
    return (None,) if dims is None else (len(dims),)


variable_shape.not_differentiable()


@op(
    "DestroyResourceOp",
    "resource: resource",
    "ignore_lookup_error: bool = true",
    stateful=True,
    host=True,
)
def destroy_resource_op(ctx, resource, *, ignore_lookup_error):
    """Forgets a resource; what refers to it by name finds a new, uninitialised one."""
    found = ctx.resources.delete(resource)
    if hasattr(resource, "value"):
        found = found and resource.value is not None
        resource.value = None
    if not found and not ignore_lookup_error:
        raise errors.NotFoundError(
            None, None, f"Resource localhost/{getattr(resource, 'name', '')} does not exist."
        )


destroy_resource_op.not_differentiable()


@op(
    "ResourceCountUpTo",
    "resource: resource -> output: T",
    "limit: int; T: type in {int32, int64}",
    stateful=True,
)
def resource_count_up_to(ctx, resource, *, limit):
    """The value of a counter, which is one more afterwards; OutOfRangeError once it has reached the limit."""
    return count(ctx, resource, limit)


@resource_count_up_to.shape
def _(resource, *, const):
    dims = const.handle("resource")
    if dims:
        fail("A counter must be a scalar", dims)
    return ()


resource_count_up_to.not_differentiable()
