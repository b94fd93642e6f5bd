"""Expansion: branches, loops and calls whose functions have operations on several tasks are written out, with
TensorFlow 1's control flow, so that they can be cut between the tasks.

What stays on one task stays as it is: it is quicker so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from weft import proto
from weft.engine.program import called_functions, order
from weft.framework import dtypes, graph_def
from weft.framework.func_graph import has_effect
from weft.framework.graph import Graph
from weft.framework.importer import extend_graph
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape
from weft.runtime.functions import in_order_of_creation

_IFS, _CASES = ("If", "StatelessIf"), ("Case", "StatelessCase")
_LOOPS = ("While", "StatelessWhile")
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
EXPANDABLE = frozenset((*_IFS, *_CASES, *_LOOPS, *_CALLS))
# What calls back into the process that a program runs in.
_CALL_BACK = ("PyFunc", "PyFuncStateless", "EagerPyFunc")


class _Body:
    """Operations of one graph that are being written: what their tensors and ends are called by then."""

    def __init__(self, device: str, pivot: str):
        self.device = device  # for those that name none
        self.pivot = pivot  # what runs where these run, "" at the outermost level
        self.values: dict[Tensor, str] = {}
        self.ends: dict[Operation, list[str]] = {}


class Expansion:
    """A step in which nothing is spread over tasks but operations: its graph, feeds, fetches and targets."""

    def __init__(
        self,
        graph: Graph,
        ops: list[Operation],
        feeds: list[Tensor],
        fetches: list[Tensor],
        targets: list[Operation],
        task_of_op: Callable[[Operation], str],
        task_of_device: Callable[[Operation, str], str],
    ):
        """`task_of_op` tells where an operation of the graph is, `task_of_device` which task a device names."""
        self._library = graph
        self._ops, self._task_of_op, self._fed = ops, task_of_op, set(feeds)
        self._step = (feeds, fetches, targets)
        self._task_of_device = task_of_device
        self._message = proto.GraphDef()
        self._names = set(graph._ops)
        self._fixed: set[str] = set()  # what enters a loop once, for all iterations
        self._homes: dict[str, str] = {}  # tensors that stand for state, and the task that it is at

    def is_needed(self) -> bool:
        """Whether anything of the step is spread, or belongs on another task than where it would be."""
        for op in self._ops:
            if op.type in EXPANDABLE and self._fed.isdisjoint(op._outputs):
                homes = [self._task_of_op(t._op) for t in op._inputs if _is_state(t)]
                tasks = self._tasks(op, op._device, homes)
                if len(tasks) > 1 or (tasks and tasks != {self._task_of_op(op)}):
                    return True
        return False

    def write(self) -> None:
        """Makes the graph, and finds the step's feeds, fetches and targets in it."""
        library = self._library
        if library._functions:
            of_library = graph_def.to_graph_def(library, library._next_id).library
            self._message.library.CopyFrom(of_library)
        self._message.versions.producer = 134
        top = _Body("", "")
        for op in self._ops:
            for t in op._outputs:
                top.values[t] = t._as_node_def_input()
                if _is_state(t):
                    self._homes[top.values[t]] = self._task_of_op(op)
            top.ends[op] = [op._name]
        for t in self._step[0]:
            top.values[t] = self._name(t._op._name + "/fed")
            node = self._message.node.add(
                name=top.values[t], op="Placeholder", device=t._op._device
            )
            node.attr["dtype"].type = t._dtype.base_dtype.enum
            node.attr["shape"].shape.CopyFrom(TensorShape.from_tuple(t._dims).as_proto())
        fed = [top.values[t] for t in self._step[0]]
        for op in self._ops:
            self._add(op, top, op._name, fed=not self._fed.isdisjoint(op._outputs))
        self.graph = Graph()
        extend_graph(self.graph, self._message)
        _, fetches, targets = self._step
        self.feeds = [self._tensor(text) for text in fed]
        self.fetches = [self._tensor(top.values[t]) for t in fetches]
        self.targets = [
            self.graph._ops[end.partition(":")[0]] for op in targets for end in top.ends[op]
        ]

    def _tensor(self, text: str) -> Tensor:
        name, _, index = text.partition(":")
        return self.graph._ops[name]._outputs[int(index or 0)]

    # -- what is spread

    def _tasks(self, op: Operation, device: str, homes: Iterable[str]) -> set[str]:
        """The tasks that an operation names, or that state of its is at; with its functions."""
        found = {home for home in homes if home}
        if device:
            found.add(self._task_of_device(op, device))
        elif op.type in _CALL_BACK:
            found.add(self._task_of_device(op, ""))
        for name in called_functions(op):
            function = self._library._get_function(name)
            if function is not None and op.type in EXPANDABLE:
                for inner in order(function.wanted_ops(), set(function.inputs)):
                    found |= self._tasks(inner, _merged(inner._device, device), ())
        return found

    # -- writing

    def _name(self, wanted: str) -> str:
        name, n = wanted, 0
        while name in self._names:
            n += 1
            name = f"{wanted}_{n}"
        self._names.add(name)
        return name

    def _node(
        self, name: str, kind: str, inputs: Iterable[str], device: str, dtype: Any = None
    ) -> str:
        """Writes a node; returns its name."""
        name = self._name(name)
        node = self._message.node.add(name=name, op=kind, device=device, input=inputs)
        if dtype is not None:
            node.attr["T"].type = dtype.base_dtype.enum
        return name

    def _add(
        self,
        op: Operation,
        body: _Body,
        name: str = "",
        fed: bool = False,
        after: Iterable[str] = (),
    ) -> None:
        """Writes an operation of a body, or what it stands for; it runs after others."""
        inputs = [body.values[t] for t in op._inputs]
        controls = [end for c in op._control_inputs for end in body.ends.get(c, ())]
        controls.extend(after)
        device = _merged(op._device, body.device)
        homes = [self._homes.get(text, "") for text in inputs]
        if op.type in EXPANDABLE and not fed:
            tasks = self._tasks(op, device, homes)
            if len(tasks) > 1 and self._expand(op, body, inputs, controls, device):
                return
            if len(tasks) == 1 and not device:
                device = tasks.pop()
        if body.pivot and not controls and self._fixed.issuperset(inputs):
            controls = [body.pivot]  # it runs with the rest: where that does, and as often
        name = name or self._name(op._name)
        node = graph_def.node_def(op)
        node.name, node.device = name, device
        del node.input[:]
        node.input.extend(inputs)
        node.input.extend("^" + c for c in dict.fromkeys(controls))
        self._message.node.append(node)
        for i, t in enumerate(op._outputs):
            text = f"{name}:{i}" if i else name
            if t not in self._fed:
                body.values[t] = text
            if body.pivot and _is_state(t):
                home = next(filter(None, homes), "")
                if not home and device:
                    home = self._task_of_device(op, device)
                self._homes[text] = home
        body.ends[op] = [name]

    def _expand(
        self, op: Operation, body: _Body, inputs: list[str], controls: list[str], device: str
    ) -> bool:
        if op.type in _LOOPS:
            self._loop(op, body, inputs, controls, device)
        elif op.type in _CALLS:
            self._call(op, body, inputs, controls, device)
        elif op._inputs[0]._dtype.base_dtype not in (dtypes.bool, dtypes.int32):
            return False
        else:
            self._branches(op, body, inputs, controls, device)
        return True

    def _inline(
        self, name: str, args: list[str], device: str, pivot: str
    ) -> tuple[list[str], list[str]]:
        """Writes the body of a function; returns its outputs, and what has run when all of it has."""
        function = self._library._get_function(name)
        body = _Body(device, pivot)
        body.values.update(zip(function.inputs, args))
        cut = set(function.inputs)
        ops = in_order_of_creation(order(function.wanted_ops(), cut))
        wanted = set(function.control_outputs)
        ends: list[str] = []
        last: list[str] = []  # the last effect
        reads: list[str] = []  # since then
        for op in ops:
            if op._outputs and all(t in cut for t in op._outputs):
                continue
            effect = has_effect(op)
            in_order = function.runs_everything and (effect or op.type == "ReadVariableOp")
            if not in_order:
                self._add(op, body)
            else:
                # Effects happen in the order in which the function was written.
                self._add(op, body, after=[*last, *(reads if effect else ())])
                if effect:
                    last, reads = body.ends[op], []
                else:
                    reads.extend(body.ends[op])
            if op in wanted or (effect and function.runs_everything):
                ends.extend(body.ends[op])
        return [body.values[t] for t in function.outputs], list(dict.fromkeys(ends))

    def _call(
        self, op: Operation, body: _Body, inputs: list[str], controls: list[str], device: str
    ) -> None:
        pivot = body.pivot
        if controls:
            # What has no inputs waits for what the call waits for.
            first = self._node(op._name + "/begin", "NoOp", [], device)
            waits = [*controls, *([pivot] if pivot else ())]
            self._message.node[-1].input.extend("^" + c for c in dict.fromkeys(waits))
            pivot = first
            kept = [t._dtype._is_ref_dtype for t in op._inputs]
            inputs = [
                value if is_ref else self._gated(value, first, t, device)
                for value, is_ref, t in zip(inputs, kept, op._inputs)
            ]
        outputs, ends = self._inline(op._attrs["f"].name, inputs, device, pivot)
        body.values.update(zip(op._outputs, outputs))
        end = self._node(op._name + "/end", "NoOp", [], device)
        after = [*ends, *(o.partition(":")[0] for o in outputs), *([pivot] if pivot else ())]
        self._message.node[-1].input.extend("^" + n for n in dict.fromkeys(after))
        body.ends[op] = [end]

    def _gated(self, value: str, after: str, like: Tensor, device: str) -> str:
        name = value.partition(":")[0] + "/given"
        found = self._node(name, "Identity", [value, "^" + after], device, like._dtype)
        self._homes[found] = self._homes.get(value, "")
        return found

    def _switch(self, name: str, value: str, predicate: str, like: Tensor, device: str) -> str:
        kind = "RefSwitch" if like._dtype._is_ref_dtype else "Switch"
        switch = self._node(name, kind, [value, predicate], device, like._dtype)
        if _is_state(like):
            self._homes[switch] = self._homes[switch + ":1"] = self._homes.get(value, "")
        return switch

    def _branches(
        self, op: Operation, body: _Body, inputs: list[str], controls: list[str], device: str
    ) -> None:
        base = op._name
        given = inputs[0]
        if controls or body.pivot:
            given = self._node(
                base + "/pred", "Identity", [given], device, op._inputs[0]._dtype.base_dtype
            )
            waits = controls or [body.pivot]
            self._message.node[-1].input.extend("^" + c for c in dict.fromkeys(waits))
        if op.type in _IFS:
            # (function, predicate, which output of a Switch by it is the branch's)
            names = [op._attrs["else_branch"].name, op._attrs["then_branch"].name]
            cases = [(names[0], given, 0), (names[1], given, 1)]
        else:
            cases = self._cases(base, given, [f.name for f in op._attrs["branches"]], device)
        switches: dict[tuple[str, str], str] = {}
        results, ran = [], []
        for name, predicate, side in cases:
            function = self._library._get_function(name)
            key = ("", predicate)
            if key not in switches:
                switches[key] = self._node(
                    base + "/Switch", "Switch", [predicate, predicate], device, dtypes.bool
                )
            way = _output(switches[key], side)
            pivot = self._node(base + "/pivot", "Identity", [way], device, dtypes.bool)
            used = _used(function)
            args = []
            for value, outer, inner in zip(inputs[1:], op._inputs[1:], function.inputs):
                if inner not in used:
                    args.append(value)
                    continue
                key = (value, predicate)
                if key not in switches:
                    switches[key] = self._switch(
                        f"{base}/{outer._op._name.rpartition('/')[2]}/Switch",
                        value,
                        predicate,
                        inner,
                        device,
                    )
                args.append(_output(switches[key], side))
            outputs, ends = self._inline(name, args, device, pivot)
            results.append(outputs)
            token = self._node(base + "/ran", "Identity", [pivot], device, dtypes.bool)
            self._message.node[-1].input.extend("^" + e for e in ends)
            ran.append(token)
        for i, t in enumerate(op._outputs):
            merge = self._merge(base + "/Merge", [r[i] for r in results], device, t._dtype)
            body.values[t] = merge
            if _is_state(t):
                self._homes[merge] = next(
                    filter(None, (self._homes.get(r[i], "") for r in results)), ""
                )
        end = self._merge(base + "/end", ran, device, dtypes.bool)
        body.ends[op] = [end, *(body.values[t] for t in op._outputs)]

    def _merge(self, name: str, values: list[str], device: str, dtype: Any) -> str:
        merge = self._node(name, "Merge", values, device, dtype)
        self._message.node[-1].attr["N"].i = len(values)
        return merge

    def _cases(
        self, base: str, index: str, functions: list[str], device: str
    ) -> list[tuple[str, str, int]]:
        """The functions of a Case, each with a predicate that says whether it is taken."""
        out, known = [], ""
        for i, name in enumerate(functions[:-1]):
            number = self._node(f"{base}/{i}", "Const", ["^" + index.partition(":")[0]], device)
            node = self._message.node[-1]
            node.attr["dtype"].type = dtypes.int32.enum
            tensor = node.attr["value"].tensor
            tensor.dtype, tensor.int_val[:] = dtypes.int32.enum, [i]
            tensor.tensor_shape.SetInParent()
            chosen = self._node(base + "/is", "Equal", [index, number], device, dtypes.int32)
            out.append((name, chosen, 1))
            known = (
                self._node(base + "/any", "LogicalOr", [known, chosen], device) if known else chosen
            )
        if not known:  # there is one function only, for any index
            known = self._node(base + "/is", "NotEqual", [index, index], device, dtypes.int32)
        return [*out, (functions[-1], known, 0)]

    def _loop(
        self, op: Operation, body: _Body, inputs: list[str], controls: list[str], device: str
    ) -> None:
        base = op._name
        cond, step = op._attrs["cond"].name, op._attrs["body"].name
        function = self._library._get_function(step)
        fixed = [
            given is out and i > 0
            for i, (given, out) in enumerate(zip(function.inputs, function.outputs))
        ]
        frame = self._name(base + "/while_context")
        waits = ["^" + c for c in dict.fromkeys(controls or filter(None, [body.pivot]))]
        entered = []
        for value, t, constant in zip(inputs, function.inputs, fixed):
            kind = "RefEnter" if t._dtype._is_ref_dtype else "Enter"
            name = self._node(base + "/Enter", kind, [value, *waits], device, t._dtype)
            attrs = self._message.node[-1].attr
            attrs["frame_name"].s = frame.encode()
            attrs["is_constant"].b = constant
            attrs["parallel_iterations"].i = op._attrs.get("parallel_iterations", 10)
            if _is_state(t):
                self._homes[name] = self._homes.get(value, "")
            entered.append(name)
            if constant:
                self._fixed.add(name)
        now = list(entered)
        merges: dict[int, Any] = {}
        for i, constant in enumerate(fixed):
            if not constant:
                dtype = function.inputs[i]._dtype
                now[i] = self._merge(base + "/Merge", [entered[i], ""], device, dtype)
                merges[i] = self._message.node[-1]
                self._homes[now[i]] = self._homes.get(entered[i], "")
        (predicate,), _ = self._inline(cond, now, device, now[0])
        decides = self._node(base + "/LoopCond", "LoopCond", [predicate], device)
        inside = list(entered)
        for i in merges:
            like = function.inputs[i]
            switch = self._switch(base + "/Switch", now[i], decides, like, device)
            inside[i] = switch + ":1"
            body.values[op._outputs[i]] = self._node(
                base + "/Exit", "Exit", [switch], device, like._dtype
            )
        pivot = self._node(
            base + "/pivot", "Identity", [inside[0]], device, function.inputs[0]._dtype
        )
        outputs, ends = self._inline(step, inside, device, pivot)
        for i, merge in merges.items():
            following = self._node(
                base + "/NextIteration",
                "NextIteration",
                [outputs[i], *("^" + e for e in ends)],
                device,
                function.inputs[i]._dtype,
            )
            merge.input[1] = following
        for i, constant in enumerate(fixed):
            if constant:
                body.values[op._outputs[i]] = inputs[i]
        body.ends[op] = [body.values[op._outputs[i]] for i in merges]


def _output(name: str, index: int) -> str:
    return f"{name}:{index}" if index else name


def _is_state(tensor: Tensor) -> bool:
    return tensor._dtype is dtypes.resource or tensor._dtype._is_ref_dtype


def _used(function: Any) -> set[Tensor]:
    """The inputs that a function makes use of."""
    ops = order(function.wanted_ops(), set(function.inputs))
    return {t for op in ops for t in op._inputs}.union(function.outputs)


def _merged(device: str, around: str) -> str:
    """A device, with what it leaves open taken from the one of what is around it."""
    if not device or not around or "/job:" in device:
        return device or around
    own = dict(_parts(device))
    return "".join(f"/{v}" for v in {**dict(_parts(around)), **own}.values())


def _parts(device: str) -> Iterable[tuple[str, str]]:
    for part in device.split("/"):
        if part:
            yield part.partition(":")[0], part
