"""The functions of a graph's library, as programs that both tiers run."""

from __future__ import annotations

import heapq
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.engine.program import Node, Program, called_functions, order
from weft.engine.static_values import static_arguments
from weft.framework import dtypes, errors
from weft.framework.func_graph import has_effect
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor

# Those that TensorFlow takes for stateless when it saves an iterator, or looks into.
_AS_STATELESS = frozenset(
    "Assert Print PrintV2 Timestamp If While LookupTableFindV2 LookupTableSize LookupTableSizeV2".split()
)


class FunctionPrograms:
    """Programs of library functions, made at their first call."""

    def __init__(self, graph: Any):
        self._graph = graph
        self._programs: dict[str, tuple[Any, int, Program]] = {}
        self._why: dict[str, str] = {}
        self._local: weakref.WeakValueDictionary[str, CutFunction] = weakref.WeakValueDictionary()
        self._gradients: dict[str, str] = {}
        self._callables: dict[Any, tuple[Any, Any]] = {}
        self._rows: dict[Any, Any] = {}  # by what calls, and how many arguments rows share

    def program(self, name: str) -> Program:
        """The program of a function; NotFoundError if the library has none of that name."""
        local = self._local.get(name)
        if local is not None:
            return local.program
        found = self._programs.get(name)
        function = self._graph._get_function(name)
        if function is None:
            raise errors.NotFoundError(None, None, f"Function {name} is not defined.")
        wanted = len(
            function.control_outputs
        )  # grows where an operation outside waits for one inside
        if found is None or found[0] is not function or found[1] != wanted:
            found = self._programs[name] = (function, wanted, function_program(function, self))
            self._why.pop(name, None)
        return found[2]

    def add_local(self, function: CutFunction) -> None:
        """Makes a function known that a plan has, and for as long as it has it."""
        self._local[function.name] = function

    def gradient_of(self, name: str) -> str:
        """The name of the function that computes the gradient of a function."""
        found = self._gradients.get(name) or self._graph._gradient_functions.get(name)
        if found is None:
            from weft.ops.flow.function_gradient import gradient_function

            function = self._graph._get_function(name)
            if function is None:
                raise errors.NotFoundError(None, None, f"Function {name} is not defined.")
            found = self._gradients[name] = gradient_function(self._graph, function).name
        return found

    def callable(self, name: str, resources: Any) -> Any:
        """A function to be called from outside of a step, such as by the walk over a dataset: from a list of
        arrays to a list of arrays, on state of a session; any thread may call it."""
        function = self._graph._get_function(name)
        if function is None:
            raise errors.NotFoundError(None, None, f"Function {name} is not defined.")
        key = (name, id(resources))
        found = self._callables.get(key)
        if found is None or found[0] is not function:
            from weft.runtime.function_call import FunctionCall

            # As TensorFlow prepares input: on the host, whose memory it comes from and goes to.
            call = FunctionCall(function, resources, self, on_host=True)
            found = self._callables[key] = (function, call)
        call = found[1]
        return lambda args: [to_host(v) for v in call(args)]

    def on_rows(self, name: str, resources: Any, shared: int) -> Any:
        """A function to be called on many rows at once, which share the last arguments."""
        from weft.runtime.function_rows import FunctionRows

        self.callable(name, resources)
        call = self._callables[name, id(resources)][1]
        key = (call, shared)
        found = self._rows.get(key)
        if found is None:
            found = self._rows[key] = FunctionRows(call, shared)
        return found

    @property
    def stays_interpreted(self) -> bool:
        """Whether nothing is to be compiled."""
        from weft.runtime import segment

        return segment.forced_tier == "interpret"

    def why_interpreted(self, op: Any) -> str:
        """Why XLA cannot take an operation, with the functions that it calls; "" where it can."""
        decl = op._decl
        if not decl.is_compilable or (decl.host and decl.host(op)):
            return f"{op._name} ({decl.name}) runs on the host"
        for t in (*op._inputs, *op._outputs):
            if t._dtype.base_dtype is dtypes.string and not decl.reads_strings:
                return f"{op._name} ({decl.name}) has strings"
            if t._dtype.base_dtype.is_quantized:
                return f"{op._name} ({decl.name}) has quantized values"
            if t._dtype is dtypes.variant and t._dims:
                return f"{op._name} ({decl.name}) has an array of variants"
            if t._dtype._is_ref_dtype and _is_temporary(t):
                return f"{op._name} ({decl.name}) uses a variable that lives for a step only"
        names = called_functions(op)
        if not names:
            return ""
        if decl.name == "SymbolicGradient":
            names = (self.gradient_of(names[0]),)
        for name in names:
            why = self._why_function(name)
            if why:
                return why
        node = Node(op, tuple(range(len(op._inputs))), (-1,) * len(op._outputs))
        if static_arguments(node, self) is None:
            return f"{op._name} needs values while compiling that follow from a loop or from state"
        return ""

    def is_compilable(self, name: str) -> bool:
        """Whether XLA can take all of a function."""
        return not self._why_function(name)

    def stateful_op(self, name: str) -> str:
        """The type of an operation of a function, or of one that it calls, whose state lies outside of it, so that
        saving what calls it saves too little; "" where there is none."""
        for op in self._stateful_ops([name]):
            kind = op._decl.name
            if kind not in _AS_STATELESS and not kind.endswith(("Dataset", "DatasetV2")):
                return kind
        return ""

    def restart_random(self, names: list[str], resources: Any) -> None:
        """Has the operations of functions, and of those that they call, draw random numbers from the beginning."""
        resources.restart_random(set(self._stateful_ops(names)))

    def _stateful_ops(self, names: list[str]) -> Iterator[Operation]:
        seen, rest = set(), list(names)
        while rest:
            name = rest.pop()
            if name not in seen:
                seen.add(name)
                for node in self.program(name).nodes:
                    if node.decl.stateful:
                        yield node.op
                    rest += called_functions(node.op)

    def _why_function(self, name: str) -> str:
        try:
            program = self.program(name)
        except errors.NotFoundError as e:
            return e.message
        known = self._why.get(name)
        if known is None:
            self._why[name] = f"function {name} calls itself"
            known = ""
            for node in program.nodes:
                if node.decl.name == "Const":
                    continue
                known = self.why_interpreted(node.op)
                if known:
                    break
            self._why[name] = known
        return known


def to_host(value: Any) -> Any:
    """A value of a step as NumPy's, where it is an array of a device."""
    return np.asarray(value) if hasattr(value, "addressable_shards") else value


class CutFunction:
    """A function that a plan cut out of a graph: its inputs and outputs are tensors of the graph."""

    def __init__(
        self,
        name: str,
        inputs: list[Tensor],
        outputs: list[Tensor],
        ops: list[Operation],
        aliases: dict[Tensor, Tensor],
        read: list[int],
    ):
        self.name = name
        # `aliases`: tensors that are the same as one of the inputs.
        self.program = Program(ops, inputs, outputs, name, aliases=aliases)
        self.program.read_outputs = read


def _is_temporary(reference: Any) -> bool:
    """Whether a reference, maybe handed on by assignments, is one to a TemporaryVariable."""
    while reference._op._inputs and reference._op._inputs[0]._dtype._is_ref_dtype:
        reference = reference._op._inputs[0]
    return reference._op._decl.name == "TemporaryVariable"


def function_program(function: Any, functions: FunctionPrograms) -> Program:
    """The program of a function's body. Effects happen in the order the body was written."""
    from weft.runtime import v1_control_flow  # which makes functions of its own

    cut = set(function.inputs)
    ops = order(function.wanted_ops(), cut)
    if v1_control_flow.has_control_flow(ops):
        graph = getattr(function, "graph", function)
        targets = [op for op in ops if has_effect(op)] + function.control_outputs
        ops = v1_control_flow.replace(graph, ops, function.outputs, targets, cut, functions)
    if all(hasattr(op, "_id") for op in ops):
        ops = in_order_of_creation(ops)
    return Program(ops, list(function.inputs), list(function.outputs), function.name)


def in_order_of_creation(ops: list[Any]) -> list[Any]:
    """The operations as the program wrote them, as far as that is an order they can run in."""
    by_id = sorted(ops, key=lambda op: op._id)
    position = {op: i for i, op in enumerate(by_id)}
    planned = [op for op in ops if type(op) is not Operation]  # whose outputs are tensors of others
    for op in planned:
        for t in op._outputs:
            position.setdefault(t._op, position[op])
    waits: dict[Any, int] = {}
    followers: dict[Any, list[Any]] = {}
    late = False
    for i, op in enumerate(by_id):
        n = 0
        for other in (*(t._op for t in op._inputs), *op._control_inputs):
            at = position.get(other)
            if at is not None and not _closes_loop(other, op):
                late = late or at >= i
                n += 1
                followers.setdefault(by_id[at], []).append(op)
        waits[op] = n
    if not late:
        return by_id
    ready = [(op._id, position[op]) for op in by_id if not waits[op]]
    heapq.heapify(ready)
    out = []
    while ready:
        _, i = heapq.heappop(ready)
        op = by_id[i]
        out.append(op)
        for follower in followers.get(op, ()):
            waits[follower] -= 1
            if not waits[follower]:
                heapq.heappush(ready, (follower._id, position[follower]))
    return out if len(out) == len(ops) else ops


def _closes_loop(source: Any, op: Any) -> bool:
    return source._decl.name.endswith("NextIteration") and op._decl.name.endswith("Merge")
