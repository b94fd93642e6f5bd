"""tf.function: a Python function that is traced into graphs, one for each kind of arguments."""

from __future__ import annotations

import functools
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

from weft.eager import tracing
from weft.eager.concrete_function import ConcreteFunction
from weft.eager.function_spec import FunctionSpec, cache_key
from weft.eager.function_variables import CreatedVariables
from weft.framework import context, nest
from weft.framework.export import export
from weft.framework.func_graph import FuncGraph
from weft.framework.shape_rules import relax
from weft.framework.tensor import Tensor
from weft.framework.type_spec import TensorSpec

_runs_eagerly = False
_compiles_at_once = False


def compile_at_once(enabled: bool) -> None:
    """Sets whether functions are compiled at their first call."""
    global _compiles_at_once
    _compiles_at_once = enabled


def compiles_at_once() -> bool:
    return _compiles_at_once


@export("config.experimental_run_functions_eagerly")
def run_functions_eagerly(run_eagerly: bool) -> None:
    """Makes calls of functions run their Python code as it is, as long as `run_eagerly`; for debugging."""
    global _runs_eagerly
    _runs_eagerly = bool(run_eagerly)


class Function:
    """What `tf.function` makes of a Python function."""

    def __init__(
        self,
        python_function: Callable,
        input_signature: Any = None,
        name: str | None = None,
        autograph: bool = True,
        jit_compile: bool = False,
        relax_shapes: bool = False,
        autograph_options: Any = None,
        is_method: bool = False,
    ):
        self._python_function = python_function
        self.function_spec = FunctionSpec(python_function, input_signature, is_method)
        self._name = name or _name_of(python_function)
        self._autograph, self._autograph_options = autograph, autograph_options
        self._jit_compile, self._relax_shapes = bool(jit_compile), relax_shapes
        self._lock = threading.RLock()
        self._cache: dict[Any, ConcreteFunction] = {}
        self._shapes: dict[Any, list[Any]] = {}  # seen so far, where shapes are relaxed
        self._variables = CreatedVariables()
        self._methods: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        self._converted: Callable | None = None
        functools.update_wrapper(self, python_function, updated=())

    @property
    def python_function(self) -> Callable:
        """The Python function that is traced."""
        return self._python_function

    @property
    def input_signature(self) -> Any:
        """The kinds of arguments that the function is traced for, where these were given."""
        return self.function_spec.input_signature

    _input_signature = input_signature

    def experimental_get_tracing_count(self) -> int:
        """How often the function was traced."""
        return len(set(map(id, self._cache.values())))

    _get_tracing_count = experimental_get_tracing_count

    def __get__(self, instance: Any, owner: Any) -> Any:
        """The function as a method of an instance: each has traces of its own."""
        if instance is None:
            return self
        found = self._methods.get(instance)
        if found is None:
            reference = weakref.ref(instance)
            function = self._python_function

            def bound(*args: Any, **kwargs: Any) -> Any:
                return function(reference(), *args, **kwargs)

            functools.update_wrapper(bound, function)
            found = self._methods[instance] = Function(
                bound,
                self.input_signature,
                self._name,
                self._autograph,
                self._jit_compile,
                self._relax_shapes,
                self._autograph_options,
                is_method=True,
            )
            found.__wrapped__ = types.MethodType(function, reference())  # type: ignore[attr-defined]
            del found.__wrapped__  # type: ignore[attr-defined]  # it would keep the instance
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _runs_eagerly:
            return self._python_function(*args, **kwargs)
        args, kwargs = self.function_spec.canonical(args, kwargs)
        return self._concrete(args, kwargs, values=context.current.eager).call_with(args, kwargs)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Returns the trace for arguments of these kinds, which may be given as TensorSpecs."""
        if self.input_signature is not None:
            args, kwargs = self._checked_against_signature(args, kwargs)
        else:
            args, kwargs = self.function_spec.canonical(args, kwargs)
        concrete = self._concrete(args, kwargs, values=False)
        captured = set(concrete.graph.internal_captures)
        names = []
        for t in concrete.inputs:
            if t in captured:
                break
            user = t.op._attrs.get("_user_specified_name")
            if user is None:
                break  # looked up at each call
            names.append(user.decode())
        concrete._arg_keywords = _unique(names)
        concrete._num_positional_args = len(names)
        return concrete

    def _checked_against_signature(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict]:
        signature = self.input_signature
        if args or kwargs:
            canonical, _ = _bind_specs(self.function_spec, args, kwargs)
            flat_signature = nest.flatten(signature)
            flat = nest.flatten(canonical[: len(signature)])
            if len(flat) != len(flat_signature) or any(
                not s.is_compatible_with(a) for s, a in zip(flat_signature, flat)
            ):
                raise ValueError(
                    f"Python inputs incompatible with input_signature:\n  inputs: {canonical}\n"
                    f"  input_signature: {signature}"
                )
        defaults = tuple(
            self.function_spec.defaults[n]
            for n in self.function_spec.arg_names[len(signature) :]
            if n in self.function_spec.defaults
        )
        return (*signature, *defaults), {}

    # -- traces --------------------------------------------------------------------------------------

    def _concrete(self, args: tuple, kwargs: dict[str, Any], values: bool) -> ConcreteFunction:
        trace_args = args
        if self.input_signature is not None:
            n = len(self.input_signature)
            trace_args = (*self.input_signature, *args[n:])
        kinds, shapes = cache_key(trace_args, kwargs)
        around = None if context.current.eager else context.get_default_graph()
        place = None if around is None else (id(around), tuple(map(str, around._devices)))
        key = (place, kinds, shapes)
        found = self._cache.get(key)
        if found is not None:
            return found
        with self._lock:
            found = self._cache.get(key)
            if found is not None:
                return found
            if self._relax_shapes:
                relaxed = self._relaxed((place, kinds), shapes)
                if relaxed is not None:
                    found = self._cache.get((place, kinds, relaxed))
                    if found is None:
                        trace_args, kwargs = _with_shapes((trace_args, kwargs), list(relaxed))
                        found = self._trace(trace_args, kwargs, None)
                        self._cache[(place, kinds, relaxed)] = found
                    self._cache[key] = found
                    return found
            found = self._trace(trace_args, kwargs, (args, kwargs) if values else None)
            if around is not None:
                found._kept_graph = around  # type: ignore[attr-defined]  # so that its id stays its own
            self._cache[key] = found
        return found

    def _relaxed(self, kind: Any, shapes: tuple) -> tuple | None:
        """Shapes in which sizes that differ between calls are open; None at the first call of a kind."""
        seen = self._shapes.get(kind)
        if seen is None:
            self._shapes[kind] = list(shapes)
            return None
        self._shapes[kind] = merged = [relax(a, b) for a, b in zip(seen, shapes)]
        return tuple(merged)

    def _trace(self, args: tuple, kwargs: dict[str, Any], values: Any) -> ConcreteFunction:
        variables = self._variables
        graph = tracing.new_graph(f"__inference_{self._name}")
        arg_names = list(self.function_spec.arg_names)
        if self.function_spec.vararg_name:
            n_extra = max(0, len(args) - len(arg_names))
            arg_names += [f"{self.function_spec.vararg_name}_{i}" for i in range(n_extra)]

        def within(graph: FuncGraph) -> Any:
            return variables.scope(graph)

        if values is not None:
            variables.values = _Values(graph, values)  # type: ignore[assignment]
        try:
            tracing.trace(self._traced, args, kwargs, self._name, arg_names, within, graph)
        finally:
            variables.values = {}
        variables.may_create = False
        return ConcreteFunction(graph, self._jit_compile)

    @property
    def _traced(self) -> Callable:
        if not self._autograph:
            return self._python_function
        if self._converted is None:
            from weft.eager.autograph import converted

            self._converted = converted(self._python_function, self._autograph_options)
        return self._converted

    @property
    def variables(self) -> list[Any]:
        """The variables that the function created."""
        return self._variables.created()

    def _decorate(self, decorator: Callable) -> None:
        """Lets a decorator change the Python function, before the first call."""
        if self._cache:
            raise ValueError("Functions cannot be decorated after they have been traced.")
        self._python_function = decorator(self._python_function)
        self._converted = None
        self.function_spec = FunctionSpec(self._python_function, self.input_signature)


class _Values:
    """The concrete values of a body's inputs, in the order in which they are added."""

    def __init__(self, graph: FuncGraph, arguments: Any):
        self.graph = graph
        flat = nest.flatten(list(arguments), expand_composites=True)
        self.arrays = [x._array for x in flat if isinstance(x, Tensor) and x._op is None]

    def get(self, tensor: Tensor) -> Any:
        inputs = [
            op._outputs[0]
            for op in self.graph._ops.values()
            if op._decl.name == "Placeholder" and "_user_specified_name" in op._attrs
        ]
        for t, array in zip(inputs, self.arrays):
            if t is tensor:
                return array
        return None


def _name_of(function: Callable) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    return "lambda" if name == "<lambda>" else name


def _unique(names: list[str]) -> list[str]:
    """Names told apart by numbers."""
    out: list[str] = []
    for name in names:
        candidate, i = name, 0
        while candidate in out:
            i += 1
            candidate = f"{name}_{i}"
        out.append(candidate)
    return out


def _bind_specs(spec: FunctionSpec, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict]:
    names = spec.arg_names
    bound = list(args)
    kwargs = dict(kwargs)
    for name in names[len(args) :]:
        if name in kwargs:
            bound.append(kwargs.pop(name))
    return tuple(bound), kwargs


def _with_shapes(structure: Any, shapes: list[Any]) -> Any:
    def leaf(x: Any) -> Any:
        if isinstance(x, Tensor):
            return TensorSpec(_shape(shapes.pop(0)), x.dtype)
        if isinstance(x, TensorSpec):
            return TensorSpec(_shape(shapes.pop(0)), x.dtype, x.name)
        return x

    return nest.map_structure(leaf, structure)


def _shape(dims: Any) -> Any:
    from weft.framework.tensor_shape import TensorShape

    return TensorShape.from_tuple(dims)


@export("function")
def function(
    func: Callable | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: bool | None = None,
    jit_compile: bool | None = None,
) -> Any:
    """Makes a function that builds a graph of a Python function, at the first call with arguments of a kind,
    and runs the graph from then on.

    Tensors, arrays and variables among the arguments are inputs of the graph; other values are part of it, so
    that a new value means a new trace. With `jit_compile` (or `experimental_compile`) XLA compiles the function
    at its first call, rather than once it is hot.
    """

    def decorated(inner: Callable) -> Function:
        result = Function(
            inner,
            input_signature,
            autograph=autograph,
            jit_compile=bool(jit_compile if jit_compile is not None else experimental_compile),
            relax_shapes=experimental_relax_shapes,
            autograph_options=experimental_autograph_options,
        )
        result._implements = experimental_implements  # type: ignore[attr-defined]
        return result

    if input_signature is not None:
        from weft.eager.function_spec import flatten_specs

        if isinstance(input_signature, (tuple, list)):
            flatten_specs(tuple(input_signature))
    return decorated if func is None else decorated(func)
