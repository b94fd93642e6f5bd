"""Ops that pass a tensor on: as it is, without its gradient, or only if it is fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import conversion, dtypes, errors
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import merge, same, text
from weft.framework.tensor_shape import as_shape


@op("Identity", "input: T -> output: T", "T: type")
def identity_op(xp, input):
    """The input."""
    return input


identity_op.shape(same)
identity_op.elementwise("input")


@identity_op.gradient
def _(op, grad):
    return grad


@export("identity")
def identity(input: Any, name: str | None = None) -> Any:
    """Returns a tensor with the same shape and contents as `input`."""
    if hasattr(type(input), "_nest_components"):
        parts = [identity(p) for p in input._nest_components()]
        return input._nest_from_components(parts)
    return identity_op(input, name=name)


@op("RefIdentity", "ref input: T -> ref output: T", "T: type", allows_uninitialized=True)
def ref_identity(xp, input):
    """The reference."""
    return input


ref_identity.shape(same)


@ref_identity.gradient
def _(op, grad):
    return grad


@op("IdentityN", "input: T -> output: T", "T: list(type) >= 1")
def identity_n_op(xp, input):
    """The inputs."""
    return list(input)


@identity_n_op.shape
def _(input):
    return list(input)


@identity_n_op.gradient
def _(op, *grads):
    return list(grads)


@export("identity_n")
def identity_n(input: Any, name: str | None = None) -> list[Any]:
    """Returns tensors with the same shapes and contents as the inputs."""
    return identity_n_op(input, name=name)


@op("Snapshot", "input: T -> output: T", "T: type")
def snapshot(xp, input):
    """The input as it is now."""
    return input


snapshot.shape(same)


@op("DeepCopy", "x: T -> y: T", "T: type", stateful=True)
def deep_copy(xp, x):
    """A copy of `x`."""
    return xp.array(x)


deep_copy.shape(same)


@op("StopGradient", "input: T -> output: T", "T: type")
def stop_gradient_op(xp, input):
    """The input, as if it were a constant to `gradients`."""
    return input


stop_gradient_op.shape(same)
stop_gradient_op.not_differentiable()


@export("stop_gradient")
def stop_gradient(input: Any, name: str | None = None) -> Any:
    """Returns the input; gradients take it for a constant."""
    return stop_gradient_op(input, name=name)


@op("PreventGradient", "input: T -> output: T", "T: type; message: string = ''")
def prevent_gradient(xp, input):
    """The input, for which asking for a gradient is an error."""
    return input


prevent_gradient.shape(same)


@prevent_gradient.gradient
def _(op, grad):
    raise LookupError(
        f"Gradient explicitly disabled. Reason: {op.get_attr('message')!r} (op {op.name})"
    )


@op("GuaranteeConst", "input: T -> output: T", "T: type", stateful=True)
def guarantee_const_op(xp, input, *, T):
    """The input, of which the program says that it never changes."""
    if T is dtypes.resource:
        raise errors.InvalidArgumentError(
            None, None, "Input tensor cannot be a resource variable handle."
        )
    return input


guarantee_const_op.shape(same)


@export("guarantee_const")
def guarantee_const(input: Any, name: str | None = None) -> Any:
    """Returns the input, of which the program says that it is the same in every step."""
    return guarantee_const_op(input, name=name)


@op("DebugGradientIdentity", "input: T -> output: T", "T: type", allows_uninitialized=True)
def debug_gradient_identity(xp, input):
    """The input; the gradient debugger finds its gradients by this op."""
    return input


debug_gradient_identity.shape(same)


@debug_gradient_identity.gradient
def _(op, grad):
    return debug_gradient_identity(grad, name=f"{op.name}/grad")


@op(
    "DebugGradientRefIdentity",
    "ref input: T -> ref output: T",
    "T: type",
    allows_uninitialized=True,
)
def debug_gradient_ref_identity(xp, input):
    """The reference; the gradient debugger finds its gradients by this op."""
    return input


debug_gradient_ref_identity.shape(same)


@op("EnsureShape", "input: T -> output: T", "shape: shape; T: type")
def ensure_shape_op(xp, input, *, shape):
    """The input, whose shape must be compatible with `shape`."""
    actual = input.shape
    if shape is not None and (
        len(actual) != len(shape) or any(w is not None and w != d for d, w in zip(actual, shape))
    ):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Shape of tensor {text(actual)} is not compatible with expected shape {text(shape)}.",
        )
    return input


@ensure_shape_op.shape
def _(input, *, shape):
    return merge(input, shape, "Shapes must be compatible")


@ensure_shape_op.gradient
def _(op, grad):
    return grad


@export("ensure_shape")
def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    """Returns `x`, whose static shape is made more precise; a run fails if its shape is another."""
    return ensure_shape_op(x, shape=as_shape(shape), name=name)


@op(
    "CheckNumerics",
    "tensor: T -> output: T",
    "T: type in {bfloat16, half, float, double}; message: string",
    stateful=True,
)
def check_numerics_op(xp, tensor, *, message):
    """The input, in which every element must be finite."""

    def found() -> str:
        nan, inf = bool(np.isnan(tensor).any()), bool(np.isinf(tensor).any())
        what = "Inf and NaN" if nan and inf else "Inf" if inf else "NaN"
        return f"{message} : Tensor had {what} values"

    xp.check(xp.all(xp.isfinite(tensor)), found)
    return tensor


check_numerics_op.shape(same)


@check_numerics_op.gradient
def _(op, grad):
    why = op.get_attr("message").decode()
    return check_numerics_op(
        grad, message=f"Not a number (NaN) or infinity (Inf) values detected in gradient. {why}"
    )


@export("check_numerics", "debugging.check_numerics")
def check_numerics(tensor: Any, message: str, name: str | None = None) -> Any:
    """Returns `tensor`; a run in which an element is not finite fails with `message`."""
    return check_numerics_op(conversion.convert_to_tensor(tensor), message=message, name=name)
