"""Reference variables: VariableV2 and the ops that assign to the reference it gives."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes, errors
from weft.framework.registry import OpDecl, op
from weft.framework.shape_rules import compatible, merge, text

_VARIABLE = "shape: shape; dtype: type; container: string = ''; shared_name: string = ''"


def find_cell(
    ctx: Any, container: str, name: str, dtype: dtypes.DType, shape: Any, is_resource: bool = False
) -> Any:
    """The cell that a variable op refers to; made, uninitialised, at its first use."""

    def make() -> Any:
        cell = ctx.new_cell(name, dtype, shape)
        cell.extra = "resource" if is_resource else None
        cell.lock = ctx.resources.lock
        return cell

    cell = ctx.resources.get_or_create("variable", container, name, make)
    if cell.dtype is not dtype:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Trying to access variable {name} of type {cell.dtype.name} with type {dtype.name}",
        )
    return cell


@op("VariableV2", "-> ref ref: dtype", _VARIABLE, stateful=True, handle=True)
def variable_v2(ctx, *, shape, dtype, container, shared_name):
    """A reference to a variable of the session."""
    return find_cell(ctx, container, shared_name or ctx.op.name, dtype, shape)


@variable_v2.shape
def _(*, shape):
    return shape


variable_v2.not_differentiable()


@op("Variable", "-> ref ref: dtype", _VARIABLE, stateful=True, handle=True)
def variable(ctx, *, shape, dtype, container, shared_name):
    """A reference to a variable, as old graphs have it: a scalar shape means an unknown one."""
    return find_cell(ctx, container, shared_name or ctx.op.name, dtype, shape or None)


@variable.shape
def _(*, shape):
    return shape or None


variable.not_differentiable()


@op(
    "TemporaryVariable",
    "-> ref ref: dtype",
    "shape: shape; dtype: type; var_name: string = ''",
    stateful=True,
    host=True,
)
def temporary_variable(ctx, *, shape, dtype, var_name):
    """A reference to a variable that lives until DestroyTemporaryVariable, within one step."""
    import numpy as np

    name = var_name or ctx.op.name
    temporaries = ctx.step.extra.setdefault("temporary variables", {})
    if name in temporaries:
        raise errors.AlreadyExistsError(None, None, f"Temporary variable {name} exists already.")
    cell = temporaries[name] = ctx.new_cell(name, dtype, shape)
    cell.value = np.zeros(shape, dtype.np)  # TensorFlow gives memory as it is
    return cell


@temporary_variable.shape
def _(*, shape):
    return shape


temporary_variable.not_differentiable()


@op(
    "DestroyTemporaryVariable",
    "ref ref: T -> value: T",
    "T: type; var_name: string",
    host=True,
)
def destroy_temporary_variable(ctx, ref, *, var_name):
    """The last value of a temporary variable, which is gone then."""
    temporaries = ctx.step.extra.get("temporary variables", {})
    if temporaries.pop(var_name, None) is None:
        raise errors.NotFoundError(None, None, f"Temporary variable {var_name} does not exist.")
    return ctx.read(ref)


@destroy_temporary_variable.shape
def _(ref):
    return ref


destroy_temporary_variable.not_differentiable()


@op(
    "IsVariableInitialized",
    "ref ref: dtype -> is_initialized: bool",
    "dtype: type",
    allows_uninitialized=True,
    host=True,
)
def is_variable_initialized(ctx, ref):
    """Whether a variable has a value."""
    return ctx.peek(ref) is not None


@is_variable_initialized.shape
def _(ref):
    return ()


is_variable_initialized.not_differentiable()


# -- assignment ----------------------------------------------------------------------------------------


def owned(ctx: Any, value: Any) -> Any:
    """A value that a variable may keep: its own, since a fed array is its owner's to change."""
    if ctx.tracing:
        return value
    if ctx.adopts and value.base is None and value.flags.writeable:
        return value
    return ctx.xp.array(value)


@op(
    "Assign",
    "ref ref: T, value: T -> ref output_ref: T",
    "T: type; validate_shape: bool = true; use_locking: bool = true",
    allows_uninitialized=True,
)
def assign(ctx, ref, value, *, validate_shape):
    """Gives a variable a new value, and gives the reference."""
    if validate_shape:
        old = ctx.peek(ref)
        shape = ref.shape if old is None else old.shape
        if not compatible(shape, value.shape):
            raise errors.InvalidArgumentError(
                None,
                None,
                "Assign requires shapes of both tensors to match. lhs shape= "
                f"{text(shape)} rhs shape= {text(value.shape)}",
            )
    value = owned(ctx, value)
    with ctx.lock:
        ctx.write(ref, value)
    return ref


@assign.shape
def _(ref, value, *, validate_shape):
    return (
        merge(ref, value, "Assign requires shapes of both tensors to match")
        if validate_shape
        else value
    )


assign.not_differentiable()


def _updating(name: str, combine: Any) -> OpDecl:
    """An op that combines a variable with a value of its shape."""

    @op(
        name,
        "ref ref: T, value: T -> ref output_ref: T",
        "T: numbers; use_locking: bool = false",
    )
    def update(ctx, ref, value):
        with ctx.lock:
            ctx.write(ref, combine(matching(ctx.read(ref), value), value))
        return ref

    @update.shape
    def _(ref, value):
        return merge(ref, value, "Shapes of the variable and its update must be equal")

    update.not_differentiable()
    return update


def matching(old: Any, value: Any) -> Any:
    """The variable's value, which must have the shape of the update."""
    if old.shape != value.shape:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Cannot update variable with shape {text(old.shape)} using a Tensor with shape {text(value.shape)}, "
            "shapes must be equal.",
        )
    return old


assign_add = _updating("AssignAdd", lambda old, value: old + value)
assign_sub = _updating("AssignSub", lambda old, value: old - value)


@op("CountUpTo", "ref ref: T -> output: T", "limit: int; T: type in {int32, int64}")
def count_up_to(ctx, ref, *, limit):
    """The value of a counter, which is one more afterwards; OutOfRangeError once it has reached the limit."""
    return count(ctx, ref, limit)


def count(ctx: Any, cell: Any, limit: int) -> Any:
    with ctx.lock:
        value = ctx.read(cell)
        ctx.xp.check(value < limit, lambda: f"Reached limit of {limit}", errors.OutOfRangeError)
        ctx.write(cell, value + value.dtype.type(1))
    return value


@count_up_to.shape
def _(ref):
    if ref:
        merge(ref, (), "A counter must be a scalar")
    return ()


count_up_to.not_differentiable()
