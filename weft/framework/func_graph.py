"""FuncGraph: the body of a function, which captures what it uses of the graph around it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from weft.framework import context, dtypes, registry
from weft.framework.export import export
from weft.framework.graph import Graph
from weft.framework.handle_data import handle_data
from weft.framework.operation import Operation
from weft.framework.recording import record_step, recording, stop_recording
from weft.framework.registry import OpDecl
from weft.framework.tensor import Tensor

# Elements; a larger tensor that is captured from eager execution is passed at each call.
_LARGEST_CONSTANT = 128


def _pass_on(grad: Any) -> list[Any]:
    return [grad]


class FuncGraph(Graph):
    """A graph with inputs and outputs. A tensor of an outer graph that is used inside becomes a captured
    input; its value is passed at each call."""

    building_function = True

    def __init__(self, name: str, outer_graph: Graph | None = None):
        super().__init__()
        self.name = name
        self.outer_graph = context.get_default_graph() if outer_graph is None else outer_graph
        self.inputs: list[Tensor] = []  # the arguments, then the captured inputs
        self.outputs: list[Tensor] = []
        self.control_outputs: list[Operation] = []
        self.structured_input: Any = None
        self.structured_outputs: Any = None
        self._captures: dict[
            Any, tuple[Any, Tensor]
        ] = {}  # id of the outer tensor -> (outer, inner)
        self.arg_names: list[str] = []
        self.declared: Any = None  # the OpDef message that it was imported with
        self.attrs: dict[str, Any] = {}  # of the function
        self.variables: list[Any] = []
        self.deferred_captures: dict[Any, Any] = {}
        # Whether a call runs every operation with effects, or only what the outputs need: the branches of a
        # TensorFlow 1 `cond` are as lazy as the graph around them.
        self.runs_everything = True
        self.control_captures: dict[
            Operation, None
        ] = {}  # operations outside that run before a call
        self.caller: Operation | None = (
            None  # the operation outside that runs this body, if it is the only one
        )
        outer = self.outer_graph
        if outer is not None:
            # Ids go on from the graph around: default seeds of random operations are made of them.
            self._next_id = outer._next_id
            self._seed = outer._seed
            self._gradient_overrides = dict(outer._gradient_overrides)
            self._collections = outer._collections  # shared: a summary in a branch is a summary
            self._container = outer._container
            self._devices = list(outer._devices)
            self._extras = outer._extras
            self._graph_key = outer._graph_key
            self._variable_creator_stack = outer._variable_creator_stack
            self._unfeedable, self._unfetchable = outer._unfeedable, outer._unfetchable

    @property
    def is_eager_outside(self) -> bool:
        """Whether what is around the function runs eagerly, so that captures are concrete values."""
        return self.outer_graph is None or not isinstance(self.outer_graph, Graph)

    def add_input(self, dtype: dtypes.DType, dims: Any = None, name: str = "arg") -> Tensor:
        """Adds an argument and returns the tensor that stands for it inside."""
        tensor = self._placeholder(dtype, dims, name)
        at = len(self.inputs) - len(self._captures)
        self.inputs.insert(at, tensor)
        return tensor

    def _placeholder(self, dtype: dtypes.DType, dims: Any, name: str) -> Tensor:
        with self.as_default(), self.control_dependencies(None):
            op = self.add_op(
                registry.get("Placeholder"),
                [],
                {"dtype": dtype.base_dtype, "shape": dims},
                [dtype],
                name,
            )
        op._outputs[0]._dims = dims
        return op._outputs[0]

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """The tensor inside that stands for one outside."""
        op = getattr(tensor, "_op", None)  # a concrete tensor has none
        if op is not None and op._graph is self:
            return tensor
        known = self._captures.get(id(tensor))
        if known is not None:
            inside = known[1]
        elif (
            op is None
            and tensor._num_elements() <= _LARGEST_CONSTANT
            and tensor.dtype.np is not None
        ):
            inside = self._capture_constant(tensor, name)
        else:
            inside = self._capture_new(tensor, op, name)
        record_step("captured_value", [inside], [tensor], _pass_on)
        return inside

    def _capture_constant(self, tensor: Any, name: str | None) -> Tensor:
        """A small concrete tensor is known inside as well, and an input none the less, for its gradient."""
        with self.as_default(), self.control_dependencies(None):
            array = tensor._host()
            op = self.add_op(
                registry.get("Const"),
                [],
                {"value": array, "dtype": tensor.dtype},
                [tensor.dtype],
                name or "Const",
            )
        self._captures[id(tensor)] = (tensor, op._outputs[0])
        self.inputs.append(op._outputs[0])
        return op._outputs[0]

    def _capture_new(self, tensor: Any, op: Any, name: str | None) -> Tensor:
        inner_outer = tensor
        outer = self.outer_graph
        if op is not None and outer is not None and op._graph is not outer:
            if isinstance(outer, FuncGraph):
                inner_outer = outer.capture(tensor)
            else:
                raise ValueError(
                    f"Tensor {tensor} is of another graph than the function '{self.name}' that uses it."
                )
        if inner_outer is not tensor and id(inner_outer) in self._captures:
            return self._captures[id(inner_outer)][1]
        placeholder = self._placeholder(
            tensor.dtype, tensor._dims, self._capture_name(tensor, name)
        )
        if tensor.dtype is dtypes.resource:
            placeholder._handle_data = handle_data(tensor)
        placeholder._op._captured = (
            inner_outer  # so that a constant is known to be one inside as well
        )
        self._captures[id(inner_outer)] = (inner_outer, placeholder)
        self.inputs.append(placeholder)
        return placeholder

    def adopt(self, inner: Tensor, outer: Any) -> None:
        """Makes a placeholder of the body stand for a tensor outside, as if that had been captured."""
        around = self.outer_graph
        if outer.graph is not around and isinstance(around, FuncGraph):
            outer = around.capture(outer)
        inner._op._captured = outer
        self._captures[id(inner)] = (outer, inner)
        self.inputs.append(inner)

    def set_arguments(self, arguments: list[Tensor], captured: list[Any]) -> None:
        """Makes the inputs these arguments, then what stands for the captured tensors, in this order."""
        inside: dict[int, list[Tensor]] = {}
        for outer, inner in self._captures.values():
            inside.setdefault(id(outer), []).append(inner)
        self.inputs = list(arguments)
        for t in captured:
            found = inside.get(id(t))
            self.inputs.append(found.pop(0) if found else self._placeholder_for(t))

    def _placeholder_for(self, tensor: Any) -> Tensor:
        """An input for a tensor outside that the body has no use for."""
        inner = self._placeholder(tensor.dtype, tensor._dims, self._capture_name(tensor, None))
        inner._op._captured = tensor
        if tensor.dtype is dtypes.resource:
            inner._handle_data = handle_data(tensor)
        self._captures[id(inner)] = (tensor, inner)
        return inner

    @staticmethod
    def _capture_name(tensor: Any, name: str | None) -> str:
        if name:
            return name
        if hasattr(tensor, "numpy"):
            return "captured"
        return tensor.op._name.rsplit("/", 1)[-1]

    def _import_input(self, tensor: Tensor, decl: OpDecl, name: str | None) -> Tensor:
        return self.capture(tensor)

    def _control_input(self, item: Any) -> Operation | None:
        """What is outside of a function runs before the function is called."""
        op = item if isinstance(item, Operation) else getattr(item, "_op", None)
        if op is None and isinstance(item, Tensor):
            return None  # a concrete value has been computed
        if op is not None and not _is_inside(op._graph, self):
            self.control_captures.setdefault(op)
            return None
        return super()._control_input(item)

    def _add_function(self, function: Any) -> None:
        """Functions of functions are in the library of the outermost graph."""
        if self.outer_graph is None:
            super()._add_function(function)
        else:
            self.outer_graph._add_function(function)

    def capture_call_time_value(self, closure: Any, spec: Any, key: Any = None) -> Any:
        """What stands for a value that `closure()` gives at each call of the function.

        `spec` says what the value is like; of one `key` there is one value.
        """
        from weft.framework import deferred_capture

        return deferred_capture.capture(self, closure, spec, object() if key is None else key)

    def deferred_values(self) -> list[Any]:
        """The values of call time, as tensors, in the order of their inputs."""
        return [t for item in self.deferred_captures.values() for t in item.values()]

    def watch_variable(self, variable: Any) -> None:
        """Notes that the body, or a body within it, reads or changes a variable."""
        if not any(variable is v for v in self.variables):
            self.variables.append(variable)
        if isinstance(self.outer_graph, FuncGraph):
            self.outer_graph.watch_variable(variable)

    @property
    def captures(self) -> list[tuple[Any, Tensor]]:
        """(tensor outside, tensor inside) for everything captured."""
        return list(self._captures.values())

    @property
    def external_captures(self) -> list[Any]:
        return [outer for outer, _ in self._captures.values()]

    @property
    def internal_captures(self) -> list[Tensor]:
        return [inner for _, inner in self._captures.values()]

    def signature_key(self) -> Any:
        """What must be equal for two functions of one name to be the same."""
        return (
            [t.dtype for t in self.inputs],
            [t.dtype for t in self.outputs],
            [(op.type, [t.name for t in op._inputs]) for op in self.get_operations()],
        )

    def wanted_ops(self) -> list[Operation]:
        """The operations that a call runs: those the outputs need, and all that have effects."""
        wanted = [t.op for t in self.outputs] + self.control_outputs
        if self.runs_everything:
            wanted += [op for op in self._ops.values() if has_effect(op)]
        return wanted

    def run_for(self, op: Operation, outer: Graph) -> Operation | None:
        """The operation of a graph around that runs `op` of this body; None where there is no one such."""
        graph: Any = self
        while graph is not outer:
            if not isinstance(graph, FuncGraph) or graph.caller is None:
                return None
            if op not in graph.control_outputs:
                graph.control_outputs.append(op)
            op = graph.caller
            graph = op._graph
        return op

    def view(self, name: str, inputs: list[Tensor], outputs: list[Tensor]) -> FunctionView:
        """The same body as another function: with further outputs, or other inputs."""
        return FunctionView(self, name, inputs, outputs)


class FunctionView:
    """A function that shares the body of another one, with inputs and outputs of its own.

    Gradients make the intermediate values of a body outputs this way; those who call the function as it was
    are not touched.
    """

    def __init__(self, graph: FuncGraph, name: str, inputs: list[Tensor], outputs: list[Tensor]):
        self.graph, self.name = graph, name
        self.inputs, self.outputs = inputs, outputs
        self.control_outputs = graph.control_outputs
        self.runs_everything = graph.runs_everything
        self.arg_names = [t.op.name for t in inputs]
        self.attrs = graph.attrs

    @property
    def outer_graph(self) -> Any:
        return self.graph.outer_graph

    def get_operations(self) -> list[Operation]:
        return self.graph.get_operations()

    signature_key = FuncGraph.signature_key

    @property
    def _ops(self) -> dict[str, Operation]:
        return self.graph._ops

    wanted_ops = FuncGraph.wanted_ops

    def view(self, name: str, inputs: list[Tensor], outputs: list[Tensor]) -> FunctionView:
        return FunctionView(self.graph, name, inputs, outputs)


def _is_inside(graph: Any, outer: Any) -> bool:
    """Whether a graph is the body of a function within `outer`, at any depth."""
    while graph is not None:
        if graph is outer:
            return True
        graph = graph.outer_graph
    return False


def has_effect(op: Operation) -> bool:
    """Whether running the operation matters beyond its outputs."""
    decl = op._decl
    if decl.name in ("Placeholder", "VarHandleOp", "VariableV2", "ReadVariableOp", "Const"):
        return False
    return decl.stateful or any(a.is_ref for a in decl.signature.inputs)


@export("init_scope")
@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Leaves functions and control flow: what is created inside lands in the outermost graph, or eagerly.
    Gradient tapes do not see it."""
    graphs, modes = context.current.graphs, context.current.modes
    if not graphs and context.current.eager:
        before, recording.tapes = recording.tapes, []
        try:
            yield
        finally:
            recording.tapes = before
        return
    with stop_recording():
        if not graphs or not graphs[-1].building_function:
            with context.get_default_graph().control_dependencies(None):
                yield
            return
        depth = len(graphs)
        while depth and graphs[depth - 1].building_function:
            depth -= 1
        scope = graphs[-1].get_name_scope()
        if modes[depth]:
            with context.outermost(depth, eager=True):
                yield
            return
        graph: Any = graphs[-1]
        while graph is not None and graph.building_function:
            graph = graph.outer_graph
        if graph is None:  # a program has said of its graph that it is a function's
            graph = graphs[depth - 1] if depth else graphs[-1]
        with graph.as_default(), graph.control_dependencies(None):
            with graph.name_scope(scope + "/" if scope else None):
                yield
