"""`custom_gradient`: a function that brings its own gradient."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from weft.framework import context, conversion, nest, registry, variable_access
from weft.framework.export import export
from weft.framework.indexed_slices import IndexedSlices

_numbers = itertools.count()

# Runs the eager form: (function, args, kwargs) -> result. Set by eager execution.
eager_form: Callable[..., Any] | None = None


@contextlib.contextmanager
def watch_variables() -> Iterator[list[Any]]:
    """Collects the trainable variables that are read inside."""
    seen: list[Any] = []
    thread = threading.get_ident()

    def note(variable: Any) -> None:
        if threading.get_ident() == thread and hasattr(variable, "handle"):
            if not any(v.handle is variable.handle for v in seen):
                seen.append(variable)

    variable_access.listeners.append(note)
    try:
        yield seen
    finally:
        variable_access.listeners.remove(note)


@export("custom_gradient")
def custom_gradient(f: Callable | None = None) -> Callable:
    """Decorates a function that returns its result and a function from the gradients of the result to those
    of the arguments."""
    if f is None:
        return custom_gradient  # type: ignore[return-value]

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if context.executing_eagerly():
            if eager_form is None:
                raise RuntimeError("Eager execution is on, but its executor is not loaded.")
            return eager_form(f, args, kwargs)
        return _graph_form(f, args, kwargs)

    return decorated


def takes_variables(grad_fn: Callable) -> bool:
    """Whether a gradient function has a parameter `variables`."""
    try:
        spec = inspect.getfullargspec(grad_fn)
    except TypeError:
        return False
    return "variables" in spec.args or "variables" in spec.kwonlyargs or spec.varkw is not None


def input_gradients(
    grad_fn: Callable, grads: Any, n_args: int, variables: list[Any]
) -> tuple[list[Any], list[Any]]:
    """Calls a custom gradient; gives the gradients of the arguments and of the variables."""
    if variables:
        if not takes_variables(grad_fn):
            raise TypeError(
                "If using @custom_gradient with a function that uses variables, then grad_fn must accept a "
                "'variables' keyword argument."
            )
        in_grads, variable_grads = grad_fn(*grads, variables=variables)
        if len(variable_grads) != len(variables):
            raise ValueError(
                "Must return gradient for each variable from @custom_gradient grad_fn."
            )
    else:
        in_grads, variable_grads = grad_fn(*grads), []
    in_grads = nest.flatten(in_grads) if not isinstance(in_grads, IndexedSlices) else [in_grads]
    if len(in_grads) != n_args:
        raise ValueError(
            f"custom_gradient function expected to return {n_args} gradients but returned {len(in_grads)} instead."
        )
    return in_grads, list(variable_grads)


def _graph_form(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    if kwargs:
        raise ValueError(
            "The custom_gradient decorator currently supports keywords arguments only when eager execution is "
            "enabled."
        )
    identity_n = registry.get("IdentityN")
    name = f"CustomGradient-{next(_numbers)}"
    inputs = [conversion.convert_to_tensor(x) for x in nest.flatten(list(args))]
    identity = registry.get("Identity")
    # Variables read inside must be told from the arguments, so that both get their gradients.
    inputs = [identity(x) for x in inputs]
    variables: list[Any] = []
    packed = nest.pack_sequence_as(list(args), inputs)
    with watch_variables() as seen:
        result, grad_fn = f(*packed)
    given = {id(a) for a in args}
    variables = [v for v in seen if id(v) not in given]
    flat = [conversion.convert_to_tensor(r) for r in nest.flatten(result)]
    handles = [getattr(v, "handle", None) for v in variables]
    sources = [h if h is not None else v for h, v in zip(handles, variables)]

    def gradient(op: Any, *grads: Any) -> list[Any]:
        in_grads, variable_grads = input_gradients(
            grad_fn, grads[: len(flat)], len(inputs), variables
        )
        return [None] * len(flat) + in_grads + variable_grads

    registry.gradients[name] = gradient
    graph = context.get_default_graph()
    with graph.gradient_override_map({"IdentityN": name}):
        outputs = identity_n(
            flat + inputs + [conversion.convert_to_tensor(s, as_ref=True) for s in sources]
        )
    return nest.pack_sequence_as(result, outputs[: len(flat)])


@export("grad_pass_through")
def grad_pass_through(f: Callable) -> Callable:
    """Wraps a function so that gradients pass it by, as they would the identity."""

    @custom_gradient
    def identity_op(*args: Any, **kwargs: Any) -> Any:
        def grad(*grads: Any, **kw: Any) -> Any:
            variables = kw.get("variables")
            if variables is not None:
                return grads, [None] * len(variables)
            return grads

        return f(*args, **kwargs), grad

    return functools.wraps(f)(lambda *args, **kwargs: identity_op(*args, **kwargs))
