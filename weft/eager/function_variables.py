"""Variables that a traced function creates: they are made outside of it, at its first trace only."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from weft.eager.resources import programs, resources
from weft.framework import context, conversion
from weft.framework.func_graph import FuncGraph, init_scope
from weft.framework.tensor import Tensor
from weft.runtime.function_call import FunctionCall
from weft.variables.base import creator_stack

_REFUSAL = "tf.function-decorated function tried to create variables on non-first call."


class CreatedVariables:
    """The variables of a function: who creates them, and whether it still may."""

    def __init__(self) -> None:
        self.references: list[Any] = []
        self.may_create = True
        # Values of the function's inputs while its first trace is on, for initial values that follow from them.
        self.values: dict[Tensor, Any] = {}

    @contextlib.contextmanager
    def scope(self, graph: FuncGraph) -> Iterator[None]:
        """Creates the variables of a trace."""
        stack = creator_stack(graph)
        before = list(stack)
        # The last to be called: creators of the program come first.
        stack.insert(
            0, (-1, lambda next_creator, **kwargs: self._create(graph, next_creator, kwargs))
        )
        try:
            yield
        finally:
            stack[:] = before

    def _create(self, graph: FuncGraph, next_creator: Callable, kwargs: dict[str, Any]) -> Any:
        if not self.may_create:
            raise ValueError(_REFUSAL)
        value = kwargs.get("initial_value")
        if isinstance(value, Tensor) and value._op is not None:
            kwargs["initial_value"] = self._lifted(graph, value)
        elif value is not None and not callable(value) and not isinstance(value, Tensor):
            with init_scope():
                kwargs["initial_value"] = conversion.convert_to_tensor(
                    value, dtype=kwargs.get("dtype")
                )
        variable = next_creator(**kwargs)
        self.references.append(weakref.ref(variable))
        return variable

    def _lifted(self, graph: FuncGraph, value: Tensor) -> Any:
        """An initial value computed outside of the function that has computed it so far."""
        with init_scope():
            eager = context.executing_eagerly()
        if not eager:
            raise ValueError(
                "Tensor-typed variable initializers must either be wrapped in an init_scope or callable (e.g., "
                "`tf.Variable(lambda : tf.truncated_normal([10, 40]))`) when building functions. Please file a "
                "feature request if this restriction inconveniences you."
            )
        body: Any = value.graph
        view = body.view("initial_value", list(body.inputs), [value])
        view.runs_everything = False
        view.control_outputs = []
        args = []
        outside = {id(inner): outer for outer, inner in body.captures}
        for t in body.inputs:
            known = outside.get(id(t))
            args.append(known._array if known is not None else self.values.get(t))
        with init_scope():
            from weft.eager.tensor import EagerTensor

            (array,) = FunctionCall(view, resources, programs)(args)
            return EagerTensor(array, value.dtype.base_dtype)

    def created(self) -> list[Any]:
        """The variables that are still there."""
        return [v for v in (r() for r in self.references) if v is not None]
