"""tf.while_loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.framework import context, conversion, function_tracing, nest, registry
from weft.framework.export import export
from weft.framework.func_graph import FuncGraph
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import Shape, text
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape, as_shape
from weft.ops.flow import building, structure
from weft.ops.flow.cond import follows_v2


@export("while_loop")
def while_loop(
    cond: Callable,
    body: Callable,
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeats `body` for as long as `cond` holds, and returns the loop's variables after it.

    Both take the variables, a structure of tensors, composite tensors and TensorArrays; `body` returns the
    same structure. A variable keeps its shape from iteration to iteration unless `shape_invariants` gives it a
    less specific one. With `back_prop=False` no gradient flows through the loop. A single variable is
    returned as it is, unless `return_same_structure`.

    `swap_memory` has no effect: what a gradient needs stays in the memory of the device.
    """
    del swap_memory
    if not callable(cond):
        raise TypeError("cond must be callable.")
    if not callable(body):
        raise TypeError("body must be callable.")
    if parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    if context.executing_eagerly():
        return _run_eagerly(cond, body, loop_vars, maximum_iterations, return_same_structure)
    if not loop_vars:
        raise ValueError("No loop variables provided")
    v2 = follows_v2(context.get_default_graph())
    values = nest.flatten(loop_vars)
    with name_scope(name, "while", values if not v2 else None) as scope:
        loop = _Loop(scope, loop_vars, shape_invariants, v2)
        op = loop.build(cond, body, maximum_iterations, parallel_iterations)
        if not back_prop:
            op._attrs["_no_gradient"] = True
        graph = context.get_default_graph()
        identity, label = registry.get("Identity"), building.result_name(graph, "Exit")
        outputs = [identity(t, name=label) for t in op._outputs[loop.first : loop.last]]
        graph.prevent_fetching(op)
    results = structure.with_tensors(loop.returned, outputs)
    if return_same_structure:
        return results
    return results[0] if len(outputs) == 1 else results


class _Loop:
    """A loop that is being built."""

    def __init__(self, scope: str, loop_vars: Any, invariants: Any, v2: bool):
        self.scope, self.v2 = scope, v2
        self.original = loop_vars
        self.variables = nest.map_structure(_entering, loop_vars)
        self.inputs = structure.flat_tensors(self.variables)
        if invariants is not None:
            nest.assert_same_structure(loop_vars, invariants, check_types=not v2)
            given = nest.flatten_up_to(
                nest.pack_sequence_as(loop_vars, [0] * len(nest.flatten(loop_vars))), invariants
            )
        else:
            given = [None] * len(nest.flatten(loop_vars))
        self.shapes: list[Shape] = []
        for leaf, shape in zip(nest.flatten(self.variables), given):
            self.shapes.extend(_invariants(leaf, shape))
        for t, shape in zip(self.inputs, self.shapes):
            if not _is_within(t._dims, shape):
                raise ValueError(
                    f"The shape invariant specified for {t.name} is not compatible with the initial shape of "
                    f"the loop variable. It enters the loop with shape {t.shape}, but the specified shape "
                    f"invariant is {TensorShape.from_tuple(shape)}."
                )
        self.first = self.last = 0  # where the variables are among the outputs
        self.returned: Any = None  # the structure that the body returned

    def build(
        self, cond: Callable, body: Callable, maximum_iterations: Any, parallel_iterations: int
    ) -> Any:
        counter = limit = None
        if maximum_iterations is not None:
            limit = conversion.convert_to_tensor(maximum_iterations, name="maximum_iterations")
            if limit._dims is not None and limit._dims != ():
                raise ValueError(f"maximum_iterations must be a scalar, saw shape: {limit.shape}")
            counter = conversion.convert_to_tensor(0, dtype=limit.dtype, name="iteration_counter")
        extra = [] if counter is None else [counter]
        inputs = extra + self.inputs
        shapes: list[Shape] = [()] * len(extra) + self.shapes
        self.first, self.last = len(extra), len(inputs)

        with building.function_body(self.scope, "cond") as cond_graph:
            args = self._arguments(cond_graph, inputs, shapes)
            pred = conversion.convert_to_tensor(cond(*self._packed(args[len(extra) :])))
            if self.v2 and pred._dims != ():
                pred = registry.get("Squeeze")(pred)
            if counter is not None:
                going = registry.get("Less")(args[0], limit)
                pred = registry.get("LogicalAnd")(going, pred)
            cond_graph.outputs = function_tracing.returned(cond_graph, [pred])
        cond_args = args
        if pred.dtype.base_dtype.name != "bool":
            raise TypeError(f"The condition of a loop must be a bool, but is {pred.dtype.name}.")

        with building.function_body(self.scope, "body") as body_graph:
            for t in cond_graph.external_captures:
                body_graph.capture(t)
            args = self._arguments(body_graph, inputs, shapes)
            results = self._body_results(body, args[len(extra) :])
            if counter is not None:
                results = [registry.get("AddV2")(args[0], 1), *results]
            results = function_tracing.returned(body_graph, results)
        self._check(inputs, results, shapes)
        captured = building.match_captures([cond_graph, body_graph], [cond_args, args])
        body_graph.outputs = results + body_graph.inputs[len(args) :]
        shapes = shapes + [t._dims for t in captured]
        return building.add_while(
            cond_graph,
            body_graph,
            inputs + captured,
            shapes,
            self.scope or "while",  # a loop may be outside of any scope
            parallel_iterations,
        )

    def _arguments(
        self, graph: FuncGraph, inputs: list[Tensor], shapes: list[Shape]
    ) -> list[Tensor]:
        args = []
        for t, shape in zip(inputs, shapes):
            name = t.op.name.rsplit("/", 1)[-1]
            arg = graph.add_input(t.dtype, shape, name)
            data = function_handle_data(t)
            if data is not None:
                arg._handle_data = data
            args.append(arg)
        return args

    def _packed(self, args: list[Tensor]) -> Any:
        """The arguments of a body in the structure that the program gave its variables."""
        packed = structure.with_tensors(self.variables, args)
        return packed

    def _body_results(self, body: Callable, args: list[Tensor]) -> list[Tensor]:
        packed = self._packed(args)
        results = body(*packed)
        if not nest.is_nested(results) or _stands_alone(results, packed):
            results = [results]
        # The outermost list or tuple is only the list of arguments.
        nest.assert_same_structure(list(packed), list(results), expand_composites=not self.v2)
        pivot = args[0]
        results = nest.map_structure(lambda x: structure.to_tensor(x, pivot), results)
        self.returned = (
            results if not self.v2 else nest.pack_sequence_as(self.variables, nest.flatten(results))
        )
        return structure.flat_tensors(results)

    def _check(self, inputs: list[Tensor], results: list[Tensor], shapes: list[Shape]) -> None:
        for t, result, shape in zip(inputs, results, shapes):
            if t.dtype.base_dtype is not result.dtype.base_dtype:
                raise TypeError(
                    f"Loop var {t.name} enters the loop with type {t.dtype!r} but has type "
                    f"{result.dtype!r} after 1 iteration."
                )
            if not _is_within(result._dims, shape):
                raise ValueError(
                    f"Input tensor '{t.name}' enters the loop with shape {t.shape}, but has shape "
                    f"{result.shape} after one iteration. To allow the shape to vary across iterations, use "
                    "the `shape_invariants` argument of tf.while_loop to specify a less-specific shape."
                )


def _stands_alone(results: Any, packed: Any) -> bool:
    """Whether what a body returned is its only variable, rather than the list of them."""
    if len(packed) != 1 or not nest.is_nested(packed[0]):
        return False
    try:
        nest.assert_same_structure(list(packed), list(results), expand_composites=True)
    except (TypeError, ValueError):
        try:
            nest.assert_same_structure(packed[0], results, expand_composites=True)
        except (TypeError, ValueError):
            return False
        return True
    return False


def function_handle_data(tensor: Tensor) -> Any:
    from weft.framework.handle_data import handle_data

    return handle_data(tensor) if tensor.dtype.name in ("resource", "variant") else None


def _entering(x: Any) -> Any:
    return structure.to_tensor(x)


def _is_within(shape: Shape, invariant: Shape) -> bool:
    """Whether a shape is as specific as an invariant."""
    if invariant is None:
        return True
    if shape is None or len(shape) != len(invariant):
        return False
    return all(i is None or s == i for s, i in zip(shape, invariant))


def _invariants(leaf: Any, given: Any) -> list[Shape]:
    """The shapes that the tensors of a variable keep; `given` is what the program says, or None."""
    if structure.is_tensor_array(leaf):
        return [leaf.flow._dims]
    if given is not None and hasattr(given, "shape") and not isinstance(given, TensorShape):
        given = given.shape  # a TensorSpec
    if structure.is_composite(leaf):
        return _composite_invariants(leaf, given)
    if given is None:
        return [leaf._dims]
    if not isinstance(given, (TensorShape, list, tuple)):
        raise ValueError(f"`shapes` must be a (possibly nested) list of shapes, not {given!r}.")
    return [as_shape(given).dims_tuple]


def _composite_invariants(leaf: Any, given: Any) -> list[Shape]:
    kind = type(leaf).__name__
    dims = None if given is None else as_shape(given).dims_tuple
    if kind == "SparseTensor":
        rank = leaf.dense_shape._dims
        n = rank[0] if dims is None and rank else (dims[0] if dims else None)
        return [(None, n), (None,), (n,)]
    if kind == "IndexedSlices":
        values = leaf.values._dims if given is None else dims
        rows = values[0] if values else None
        out: list[Shape] = [values, (rows,)]
        if leaf.dense_shape is not None:
            out.append((None if values is None else len(values),))
        return out
    parts = structure.tensors_of(leaf)
    if given is None:
        return [t._dims for t in parts]
    invariants = getattr(leaf, "_loop_invariants", None)
    if invariants is None:
        raise TypeError(
            f"To describe or constrain a {kind}, use a {kind}Spec instead of a TensorShape ({text(dims)})."
        )
    return invariants(given)


def _run_eagerly(
    cond: Callable, body: Callable, loop_vars: Any, maximum_iterations: Any, same_structure: bool
) -> Any:
    try_to_pack = len(loop_vars) == 1 and not same_structure
    packed = False
    left = None if maximum_iterations is None else int(maximum_iterations)
    template = list(loop_vars)
    while (left is None or left > 0) and cond(*loop_vars):
        loop_vars = body(*loop_vars)
        if try_to_pack and not isinstance(loop_vars, (list, tuple)):
            packed, loop_vars = True, (loop_vars,)
        nest.assert_same_structure(template, list(loop_vars))
        left = None if left is None else left - 1

    def convert(x: Any) -> Any:
        return x if structure.is_tensor_array(x) else structure.to_tensor(x)

    loop_vars = nest.map_structure(convert, loop_vars)
    return loop_vars[0] if packed else loop_vars
