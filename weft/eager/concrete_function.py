"""ConcreteFunction: a traced function for arguments of one kind, which can be called."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.eager.function_backward import Backward
from weft.eager.function_spec import is_variable
from weft.eager.resources import programs, resources
from weft.eager.tensor import EagerTensor
from weft.engine.cell import Cell
from weft.framework import context, conversion, function_tracing, gradients, nest, registry
from weft.framework.func_graph import FuncGraph
from weft.framework.operation import Operation
from weft.framework.recording import is_watched, record_step, recording
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape
from weft.framework.type_spec import TensorSpec, type_spec_from_value
from weft.framework.variable_access import variable_accessed
from weft.ops.flow import building
from weft.runtime.function_call import FunctionCall


class Runner:
    """Runs a body, or a view of one, on concrete tensors."""

    def __init__(self, function: Any, compiled: bool = False):
        self.function, self.compiled = function, compiled
        self.call: FunctionCall | None = None

    def __call__(self, inputs: list[Any]) -> list[Any]:
        call = self.call
        if call is None:
            call = self.call = FunctionCall(self.function, resources, programs, self.compiled)
        values = call([t._array for t in inputs])
        return [_tensor(v, t._dtype.base_dtype) for v, t in zip(values, self.function.outputs)]


def _tensor(value: Any, dtype: Any) -> EagerTensor:
    if type(value) is not np.ndarray and isinstance(value, np.generic):
        value = np.asarray(value)
    return EagerTensor(value, dtype)


class ConcreteFunction:
    """A body that was traced for arguments of one kind.

    It is called with tensors for the tensors among the traced arguments, by position or by name.
    """

    def __init__(self, graph: FuncGraph, compiled: bool = False, signature: Any = None):
        self._func_graph = graph
        self._arg_keywords: list[str] | None = None
        self._num_positional_args: int | None = None
        self._signature = signature  # of wrap_function: what arguments convert to
        self._compiled = compiled
        self._runner = Runner(graph, compiled)
        self._views: dict[Any, Any] = {}
        graph._add_function(graph)

    # -- what it is ----------------------------------------------------------------------------------

    @property
    def graph(self) -> FuncGraph:
        """The body."""
        return self._func_graph

    @property
    def name(self) -> bytes:
        """The name of the function in libraries."""
        return self._func_graph.name.encode()

    @property
    def inputs(self) -> list[Tensor]:
        """The tensors of the body that stand for arguments, then for captured tensors."""
        return self._func_graph.inputs

    @property
    def outputs(self) -> list[Tensor]:
        return self._func_graph.outputs

    @property
    def captured_inputs(self) -> list[Any]:
        """The tensors outside that the body uses."""
        return self._func_graph.external_captures

    @property
    def structured_input_signature(self) -> Any:
        """The kinds of the arguments: those by position, and those by name."""
        return self._func_graph.structured_input

    @property
    def structured_outputs(self) -> Any:
        """The kinds of the results, in their structure."""

        def spec(x: Any) -> Any:
            if x is None:
                return None
            return (
                TensorSpec(x.shape, x.dtype) if isinstance(x, Tensor) else type_spec_from_value(x)
            )

        return nest.map_structure(spec, self._func_graph.structured_outputs)

    @property
    def variables(self) -> tuple:
        return tuple(self._func_graph.variables)

    @property
    def trainable_variables(self) -> tuple:
        return tuple(v for v in self._func_graph.variables if v.trainable)

    @property
    def output_dtypes(self) -> Any:
        return nest.map_structure(
            lambda x: None if x is None else x.dtype, self._func_graph.structured_outputs
        )

    @property
    def output_shapes(self) -> Any:
        return nest.map_structure(
            lambda x: None if x is None else x.shape, self._func_graph.structured_outputs
        )

    @property
    def function_def(self) -> Any:
        """The FunctionDef message of the function."""
        library = function_tracing.outermost(self._func_graph).as_graph_def().library
        return next(f for f in library.function if f.signature.name == self._func_graph.name)

    def add_to_graph(self, g: Any = None) -> None:
        """Adds the function, and those that it calls, to the library of a graph, by default the default one."""
        graph = function_tracing.outermost(g or context.get_default_graph())
        graph._add_function(self._func_graph)
        for called in function_tracing.outermost(self._func_graph)._functions.values():
            graph._add_function(called)

    def add_gradient_functions_to_graph(self, g: Any = None) -> None:
        """Adds the function to a graph; gradients are built when they are asked for."""
        self.add_to_graph(g)

    def __repr__(self) -> str:
        return f"<tf.ConcreteFunction {self._func_graph.name}>"

    # -- calling -------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        names, most = self._arg_keywords, self._num_positional_args
        if names is None or most is None:
            if self._signature is None:
                raise AssertionError(
                    "Tried to call a concrete function obtained from an internal API through the public "
                    "interface. Use get_concrete_function instead."
                )
            if kwargs:
                raise NotImplementedError(
                    "Keyword arguments not supported when calling a wrap_function-decorated function."
                )
            return self._call_flat(args)
        if len(args) > most:
            raise TypeError(
                f"Expected at most {most} positional arguments (and the rest keywords, of {names}), got {args}. "
                "When calling a concrete function, positional arguments may not be bound to Tensors within "
                "nested structures."
            )
        flat = list(args)
        for name in names[len(args) :]:
            if name not in kwargs:
                given = [*names[: len(flat)], *kwargs]
                missing = sorted(set(names) - set(given))
                raise TypeError(
                    f"Expected argument names {names} but got values for {given}. Missing: {missing}."
                )
            flat.append(kwargs.pop(name))
        for name in kwargs:
            if name in names[: len(args)]:
                raise TypeError(f"Got two values for keyword '{name}'.")
            raise TypeError(f"Keyword arguments {list(kwargs)} unknown. Expected {names}.")
        return self._call_flat(flat)

    def call_with(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Calls with the arguments of the Python function, in canonical form."""
        flat = nest.flatten([args, kwargs], expand_composites=True)
        return self._call_flat([x for x in flat if isinstance(x, Tensor) or is_variable(x)])

    def _call_flat(self, args: Any, captured: list[Any] | None = None) -> Any:
        graph = self._func_graph
        if recording.tapes or context.current.graphs:
            for v in graph.variables:
                variable_accessed(v)
        inputs: list[Any] = []
        handles: set[int] = set()
        eager = context.current.eager
        for i, arg in enumerate(args):
            if isinstance(arg, Tensor):
                if not eager:
                    self._check_shape(i, arg)
                inputs.append(arg)
            elif is_variable(arg):
                if id(arg.handle) in handles:
                    continue
                handles.add(id(arg.handle))
                variable_accessed(arg)
                inputs.append(arg.handle)
            elif self._signature is not None and isinstance(self._signature[i], TensorSpec):
                inputs.append(conversion.convert_to_tensor(arg, self._signature[i].dtype))
            else:
                raise ValueError(
                    f"All inputs to `ConcreteFunction`s must be Tensors; on invocation of {graph.name}, the {i}-th "
                    f"input ({arg}) was not a Tensor."
                )
        inputs += self.captured_inputs if captured is None else captured
        if graph.deferred_captures:
            inputs += graph.deferred_values()
        if eager:
            return self._structured(self._run(inputs))
        return self._structured(self._add(inputs))

    def _check_shape(self, i: int, arg: Any) -> None:
        wanted = self._func_graph.inputs[i]
        if arg.dtype.name != "resource" and not TensorShape.from_tuple(
            wanted._dims
        ).is_compatible_with(arg.shape):
            name = f"'{self._arg_keywords[i]}'" if self._arg_keywords else f"with index {i}"
            raise ValueError(
                f"The argument {name} (value {arg}) is not compatible with the shape this function was traced with. "
                f"Expected shape {wanted.shape}, but got shape {arg.shape}.\n\nIf you called get_concrete_function, "
                "you may need to pass a tf.TensorSpec(..., shape=...) with a less specific shape, having None on "
                "axes which can vary."
            )

    def _add(self, inputs: list[Any]) -> list[Any]:
        """Adds a call to the default graph."""
        graph = context.get_default_graph()
        function_tracing.outermost(graph)._add_function(self._func_graph)
        inputs = [graph.capture(t) if graph.building_function else t for t in inputs]
        for t in inputs:
            if t._op is None:
                raise RuntimeError(
                    "Attempting to capture an EagerTensor without building a function."
                )
        op = building.add_call(self._func_graph, inputs)
        if not op._outputs:
            return [op]
        return list(op._outputs)

    def _run(self, inputs: list[Any]) -> list[Any]:
        """Runs the body at once."""
        for t in inputs:
            if t._op is not None:
                raise TypeError(
                    f'An op outside of the function building code is being passed a "Graph" tensor: {t}.'
                )
        if self._func_graph.outputs and recording.tapes and is_watched(inputs):
            return self._run_recorded(inputs)
        return self._runner(inputs)

    # -- gradients -----------------------------------------------------------------------------------

    def _run_recorded(self, inputs: list[Any]) -> list[Any]:
        """Runs the body with the intermediate values of its gradient, and tells the tapes."""
        graph = self._func_graph
        n = len(graph.outputs)
        backward, view, runner = self._forward(
            tuple(t for t in graph.outputs if gradients.is_trainable(t))
        )
        results = runner(inputs)
        record_step(
            self._func_graph.name,
            results,
            inputs,
            lambda *grads: self._backward(view.outputs, inputs, results, list(grads)),
        )
        return results[:n]

    def _forward(self, ys: tuple) -> Any:
        """The backward function of some outputs, the body as one that gives what it needs, and its runner."""
        found = self._views.get(("forward", ys))
        if found is None:
            graph = self._func_graph
            backward = self._backward_of(ys)
            inside = set(graph.inputs) | set(graph.outputs)
            extra = [t for t in backward.captures if t._op is not None and t not in inside]
            view = graph.view(
                f"{graph.name}_with_{len(extra)}", list(graph.inputs), [*graph.outputs, *extra]
            )
            found = self._views[("forward", ys)] = (backward, view, Runner(view, self._compiled))
        return found

    def _backward_of(self, ys: tuple) -> Backward:
        found = self._views.get(("backward", ys))
        if found is None:
            found = self._views[("backward", ys)] = Backward(
                self._func_graph, list(ys), list(self._func_graph.inputs)
            )
            found.function = ConcreteFunction(found.graph, self._compiled)
        return found

    def _backward(
        self, outputs: list[Tensor], inputs: list[Any], results: list[Any], grads: list[Any]
    ) -> list[Any]:
        """The gradients of the inputs from those of the outputs, intermediate ones among them."""
        given = [
            (y, g) for y, g in zip(outputs, grads) if g is not None and gradients.is_trainable(y)
        ]
        first = [y for y in self._func_graph.outputs if gradients.is_trainable(y)]
        seen: set[int] = set()
        unique = []
        for y, g in given:
            if id(y) not in seen:
                seen.add(id(y))
                unique.append((y, g))
        # Gradients that are zeros made up for what nobody asked for are left out.
        wanted = {id(y) for y in first}
        more = [(y, g) for y, g in unique if id(y) not in wanted and not _is_zeros(g)]
        ys = tuple([y for y, _ in unique if id(y) in wanted] + [y for y, _ in more])
        by_id = {id(y): g for y, g in unique}
        backward = self._backward_of(ys)
        known = {id(t): v for t, v in zip(self._func_graph.inputs, inputs)}
        known.update((id(t), v) for t, v in zip(outputs, results))
        missing = [t for t in backward.captures if t._op is not None and id(t) not in known]
        if missing:
            view = self._func_graph.view(
                self._func_graph.name + "_again", list(self._func_graph.inputs), missing
            )
            known.update(zip(map(id, missing), Runner(view)(inputs)))
        args = [_dense(by_id[id(y)]) for y in ys]
        captured = [known[id(t)] if t._op is not None else t for t in backward.captures]
        flat = backward.function._flat_call(args + captured)
        return backward.gradients(flat)

    def _flat_call(self, inputs: list[Any]) -> list[Any]:
        return self._run(inputs) if context.current.eager else self._add(inputs)

    # -- results -------------------------------------------------------------------------------------

    def _structured(self, flat: list[Any]) -> Any:
        structure = self._func_graph.structured_outputs
        if structure is None:
            return (
                flat[0]
                if flat and isinstance(flat[0], Operation) and not context.current.eager
                else None
            )
        left = list(flat)

        def leaf(x: Any) -> Any:
            if x is None:
                return None
            if nest.is_composite(x):
                n = len(nest.flatten(x, expand_composites=True))
                parts = [left.pop(0) for _ in range(n)]
                return nest.pack_sequence_as(x, parts, expand_composites=True)
            return left.pop(0)

        return nest.map_structure(leaf, structure)


def _is_zeros(grad: Any) -> bool:
    array = getattr(grad, "_array", None)
    if array is None or isinstance(array, Cell):
        return False
    return not np.any(np.asarray(array)) if np.asarray(array).dtype != object else False


def _dense(grad: Any) -> Any:
    return conversion.convert_to_tensor(grad) if isinstance(grad, Tensor) else registry_dense(grad)


def registry_dense(grad: Any) -> Any:
    """IndexedSlices as a tensor."""
    return conversion.convert_to_tensor(grad)


__all__ = ["ConcreteFunction", "Runner", "registry"]
