"""`custom_gradient` under eager execution: one step of the tape, with the function's own gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.eager.backward import source_tensor
from weft.framework import conversion, gradients_custom, nest, registry
from weft.framework.recording import record_step, stop_recording
from weft.framework.tensor import Tensor
from weft.framework.variable_access import variable_accessed


def call(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Calls a function that gives its result and its gradient function."""
    for a in nest.flatten([list(args), list(kwargs.values())]):
        if hasattr(a, "_dense_var_to_tensor"):
            variable_accessed(a)
    with gradients_custom.watch_variables() as seen:
        result, grad_fn = f(*args, **kwargs)
    flat_args = nest.flatten(list(args)) if args else []
    given = {id(source_tensor(a)) for a in [*flat_args, *kwargs.values()]}
    variables = [v for v in seen if id(v.handle) not in given]
    if variables and not gradients_custom.takes_variables(grad_fn):
        raise TypeError(
            "If using @custom_gradient with a function that uses variables, then grad_fn must accept a "
            "'variables' keyword argument."
        )
    with stop_recording():
        identity = registry.get("Identity")
        flat = [identity(conversion.convert_to_tensor(r)) for r in nest.flatten(result)]
    inputs = []
    for a in [*flat_args, *variables]:
        source = source_tensor(a)
        inputs.append(
            source if isinstance(source, Tensor) else conversion.convert_to_tensor(source)
        )

    def backward(*grads: Any) -> list[Any]:
        own, others = gradients_custom.input_gradients(grad_fn, grads, len(flat_args), variables)
        return [*own, *others]

    record_step(getattr(f, "__name__", "custom_gradient"), flat, inputs, backward)
    return nest.pack_sequence_as(result, flat)


gradients_custom.eager_form = call
