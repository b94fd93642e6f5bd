"""The backward pass of a tape: over what it recorded, last first."""

from __future__ import annotations

from typing import Any

from weft.eager.eager_op import EagerOp
from weft.framework import conversion, dtypes, gradients, registry
from weft.framework.gradient_registry import get_gradient_function
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.recording import Step
from weft.framework.tensor import Tensor


def source_tensor(x: Any) -> Any:
    """What gradients with respect to `x` flow into: the handle of a variable, or the tensor."""
    handle = getattr(x, "handle", None)
    return handle if handle is not None and not isinstance(x, Tensor) else x


def differentiate(
    records: list[Any],
    watched: dict[int, Any],
    targets: list[Any],
    sources: list[Any],
    given: list[Any] | None,
    unconnected: gradients.UnconnectedGradients,
) -> list[Any]:
    """The gradients of the targets with respect to the sources."""
    grads: dict[int, Any] = {}  # by id of a tensor: a gradient, or a list of several
    for i, t in enumerate(targets):
        grad = None if given is None else given[i]
        if grad is None:
            if not gradients.is_trainable(t):
                continue
            if t.dtype.base_dtype is dtypes.resource:
                # A variable itself: its gradient is wanted with respect to itself at most.
                if not any(source_tensor(s) is t for s in sources):
                    continue
                value = next(s for s in sources if source_tensor(s) is t)
                grad = registry.get("OnesLike")(conversion.convert_to_tensor(value))
            else:
                grad = registry.get("OnesLike")(t)
        elif not isinstance(grad, (Tensor, IndexedSlices)):
            grad = conversion.convert_to_tensor(grad, dtype=t.dtype)
        _add(grads, id(t), grad)
    wanted = {id(source_tensor(s)) for s in sources}
    for op in reversed(records):
        found = False
        out = []
        for t in op._outputs:
            key = id(t)
            grad = grads.get(key)
            if grad is not None:
                found = True
                if type(grad) is list:
                    grad = gradients.aggregate(grad)
                if key in wanted:
                    grads[key] = grad
                else:
                    del grads[key]
            out.append(grad)
        if found:
            _through(op, out, grads, watched)
    result = []
    for s in sources:
        grad = grads.get(id(source_tensor(s)))
        if type(grad) is list:
            grad = gradients.aggregate(grad)
        if grad is None and unconnected == gradients.UnconnectedGradients.ZERO:
            grad = registry.get("ZerosLike")(conversion.convert_to_tensor(s))
        result.append(grad)
    return result


def _through(op: Any, out: list[Any], grads: dict[int, Any], watched: dict[int, Any]) -> None:
    """Takes the gradients of an operation's outputs to its inputs."""
    inputs = op._inputs
    kind = type(op)
    if kind is Step:
        in_grads = op.backward(*_with_zeros(op, out))
    else:
        try:
            function = get_gradient_function(op)
        except LookupError:
            raise LookupError(
                f"No gradient defined for operation '{op.name}' (op type: {op.type})"
            ) from None
        if function is None:
            return
        keywords = {}
        if getattr(function, "takes_none", False):
            keywords["wanted"] = [id(t) in watched for t in inputs]
        else:
            out = _with_zeros(op, out)
        if kind is EagerOp:
            op.skip_input_indices = [i for i, t in enumerate(inputs) if id(t) not in watched]
        in_grads = function(op, *out, **keywords)
    if not isinstance(in_grads, (list, tuple)):
        in_grads = [in_grads]
    if len(in_grads) != len(inputs):
        raise ValueError(
            f"Num gradients {len(in_grads)} generated for op {op.name} do not match num inputs {len(inputs)}"
        )
    for t, grad in zip(inputs, in_grads):
        if grad is not None and id(t) in watched:
            if not isinstance(grad, (Tensor, IndexedSlices)):
                grad = conversion.convert_to_tensor(grad, dtype=t.dtype.base_dtype)
            _add(grads, id(t), grad)


def _with_zeros(op: Any, out: list[Any]) -> list[Any]:
    """The gradients of the outputs, zeros where nothing depends on one."""
    if len(out) > 1:
        for i, t in enumerate(op._outputs):
            if out[i] is None and gradients.is_trainable(t):
                out[i] = gradients.zeros_for(t)
    return out


def _add(grads: dict[int, Any], key: int, grad: Any) -> None:
    known = grads.get(key)
    if known is None:
        grads[key] = grad
    elif type(known) is list:
        known.append(grad)
    else:
        grads[key] = [known, grad]
