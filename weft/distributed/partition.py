"""Partition: cuts a placed step into one graph for each task, with a pair of Send and Recv on every edge cut.

The graphs are TensorFlow's: a task of either implementation can run its part.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from weft import proto
from weft.distributed.flow import Flow, Path
from weft.engine.dataflow import EXITS, MERGES
from weft.framework import errors, graph_def
from weft.framework.operation import Operation
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape
from weft.runtime.devices import Device
from weft.runtime.regions import CERTAIN, UNCERTAIN
from weft.runtime.rendezvous import key_of


def task_of(device: str) -> str:
    """The task that a device belongs to."""
    return device.partition("/device:")[0]


class Part:
    """What one task does of a step: its graph, and by which keys it takes feeds and gives fetches."""

    def __init__(self, task: str):
        self.task = task
        self.graph_def = proto.GraphDef()
        self.feeds: dict[int, str] = {}  # index of the feed -> key
        self.fetches: dict[str, int] = {}  # key -> index of the fetch


class _Bundle:
    """Tensors of one round that travel together from one task to another."""

    def __init__(
        self,
        name: str,
        sender: Part,
        receiver: Part,
        send_device: Device,
        recv_device: Device,
        level: int,
    ):
        self.name, self.sender, self.receiver, self.level = name, sender, receiver, level
        self.send_device, self.recv_device = send_device, recv_device
        self.inputs: list[str] = []
        self.types: list[int] = []
        self.dims: list[Any] = []

    def add(self, given: str, enum: int, dims: Any) -> str:
        """Takes a tensor; returns how the receiver's nodes refer to it."""
        i = len(self.inputs)
        self.inputs.append(given)
        self.types.append(enum)
        self.dims.append(dims)
        return f"{self.name}:{i}" if i else self.name


class Partitioner:
    """The cutting of one step."""

    def __init__(
        self,
        graph: Any,
        ops: list[Operation],
        placed: dict[Operation, Device],
        feeds: list[Tensor],
        fetches: list[Tensor],
        bundling: Collection[str] = (),
    ):
        self.placed, self.fed = placed, {t: i for i, t in enumerate(feeds)}
        self.parts: dict[str, Part] = {}
        self.level: dict[Operation, int] = {}
        # Tasks between which tensors of one round travel together: those of weft.
        self._bundling = frozenset(bundling)
        self._bundles: dict[tuple[str, str, int], _Bundle] = {}
        self._behind_waiting: set[Operation] = (
            set()
        )  # operations that may wait, and what needs them
        self._received: dict[
            Any, str
        ] = {}  # (what, task) -> name of the node that stands for it there
        self._flow = Flow(ops, self.fed)
        self._loops: dict[
            tuple[Path, str], str
        ] = {}  # (frame, task) -> what an iteration begins with there
        self._edges = 0
        self._library = None
        if graph._functions:
            self._library = graph_def.to_graph_def(graph, graph._next_id).library
        self._first: dict[str, Device] = {}
        for op in ops:
            self._first.setdefault(task_of(placed[op].name), placed[op])
        for op in ops:
            self._add(op)
        for i, tensor in enumerate(fetches):
            if tensor not in self.fed:
                self._fetch(tensor, i)
        for bundle in self._bundles.values():
            self._finish(bundle)

    def _part(self, task: str) -> Part:
        part = self.parts.get(task)
        if part is None:
            part = self.parts[task] = Part(task)
            part.graph_def.versions.producer = 134
            if self._library is not None:
                part.graph_def.library.CopyFrom(self._library)
        return part

    def _add(self, op: Operation) -> None:
        if op._outputs and all(t in self.fed for t in op._outputs):
            return
        device = self.placed[op]
        here = task_of(device.name)
        sources = [t._op for t in op._inputs if t not in self.fed]
        waiting = self._behind_waiting
        if op._decl.blocking or any(s in waiting for s in sources + op._control_inputs):
            waiting.add(op)
        level = 0
        inputs = []
        for t in op._inputs:
            if t in self.fed:
                inputs.append(self._feed(t, here))
            elif task_of(self.placed[t._op].name) == here:
                level = max(level, self.level.get(t._op, 0))
                inputs.append(t._as_node_def_input())
            else:
                text, at = self._bring(t, device, self._flow.around(op))
                level = max(level, at)
                inputs.append(text)
        for c in op._control_inputs:
            if c._outputs and all(t in self.fed for t in c._outputs):
                continue
            if task_of(self.placed[c].name) == here:
                level = max(level, self.level.get(c, 0))
                inputs.append("^" + c._name)
            else:
                text, at = self._bring(c, device, self._flow.around(op))
                level = max(level, at)
                inputs.append("^" + text.partition(":")[0])
        self.level[op] = level
        node = graph_def.node_def(op)
        if op.type in MERGES or op.type in EXITS:
            node.attr[CERTAIN].b = self._flow.is_certain(op._outputs[0])
        self._node(self._part(here), node, device, inputs)

    def _node(self, part: Part, node: Any, device: Device, inputs: list[str]) -> None:
        del node.input[:]
        node.input.extend(inputs)
        node.device = device.name
        node.attr.pop("_class", None)  # placement is over
        part.graph_def.node.append(node)

    def _feed(self, tensor: Tensor, task: str) -> str:
        """The node that gives a fed tensor at a task."""
        name = self._received.get((tensor, task))
        if name is None:
            part, i = self._part(task), self.fed[tensor]
            name = self._received[tensor, task] = f"_recv_{tensor._op._name}_{tensor._index}"
            node = part.graph_def.node.add(name=name, op="_Recv", device=self._first[task].name)
            node.attr["tensor_type"].type = tensor.dtype.base_dtype.enum
            node.attr[UNCERTAIN].b = False
            _say_shape(node, tensor._dims)
            part.feeds[i] = self._ends(
                node, tensor.name, self._first[task], self._first[task], True
            )
        return name

    def _fetch(self, tensor: Tensor, index: int) -> None:
        """Adds the node that gives a tensor to the master."""
        device = self.placed[tensor._op]
        part = self._part(task_of(device.name))
        name = f"_send_{tensor._op._name}_{tensor._index}"
        node = part.graph_def.node.add(name=name, op="_Send", device=device.name)
        node.input.append(tensor._as_node_def_input())
        node.attr["T"].type = tensor.dtype.base_dtype.enum
        part.fetches[self._ends(node, tensor.name, device, device, True)] = index

    def _loop(self, frame: Path, to: Device) -> str:
        """The Merge that each iteration of a frame begins with at a task that takes part in the loop.

        The task follows the loop by operations of its own, which are told whether there is a next iteration;
        by them it knows how often to receive."""
        task = task_of(to.name)
        found = self._loops.get((frame, task))
        if found is not None:
            return found
        part, n = self._part(task), len(self._loops)
        base = f"_cloop_{n}_{frame[-1].decode()}"
        merge = self._loops[frame, task] = base + "_merge"
        condition = self._flow.conditions.get(frame)
        if condition is None:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"A cross-device loop must have a pivot predicate: {frame[-1].decode()}",
            )

        def node(name: str, kind: str, *inputs: str) -> Any:
            out = part.graph_def.node.add(name=name, op=kind, device=to.name, input=inputs)
            out.attr["T"].type = proto.DT_FLOAT
            return out

        start = base + "_start"
        if len(frame) > 1:
            start = self._loop(frame[:-1], to)
        else:
            _empty_constant(part.graph_def.node.add(name=start, op="Const", device=to.name))
        enter = node(base + "_enter", "Enter", start)
        enter.attr["frame_name"].s = frame[-1]
        enter.attr["is_constant"].b = False
        enter.attr["parallel_iterations"].i = condition.parallel_iterations
        node(merge, "Merge", base + "_enter", base + "_next").attr["N"].i = 2
        decides = condition.op._outputs[0]
        if task_of(self.placed[condition.op].name) == task:
            told = decides._as_node_def_input()
        else:
            told, _ = self._bring(decides, to, frame)
        node(base + "_switch", "Switch", merge, told)
        node(base + "_next", "NextIteration", base + "_switch:1")
        return merge

    def _bring(self, what: Any, to: Device, frame: Path = ()) -> tuple[str, int]:
        """What stands at a task for a tensor, or for the end of an operation, of another; with its level.

        `frame` is the loop that it is used in."""
        source: Operation = what._op if type(what) is Tensor else what
        at = self.level.get(source, 0) + 1
        task = task_of(to.name)
        name = self._received.get((what, task))
        if name is not None:
            return name, at
        begins = self._loop(frame, to) if frame else ""
        if type(what) is Tensor and what.dtype.name == "resource":
            raise errors.InvalidArgumentError(
                source.node_def,
                source,
                f"Resource {what.name} of {self.placed[source].name} is used on {to.name}: its users belong there.",
            )
        self._edges += 1
        edge = f"edge_{self._edges}_{source._name}"
        device = self.placed[source]
        if type(what) is Tensor and source.type == "Const" and not source._control_inputs:
            # A constant travels once, with the graph.
            name = self._received[what, task] = f"{source._name}/_{self._edges}"
            node = graph_def.node_def(source)
            node.name = name
            self._node(self._part(task), node, to, [])
            return name, 0
        sender, receiver = self._part(task_of(device.name)), self._part(task)
        if type(what) is Tensor:
            given, enum, dims = what._as_node_def_input(), what.dtype.base_dtype.enum, what._dims
        else:
            # An edge that only orders carries an empty tensor.
            given, enum, dims = f"{source._name}/_{self._edges}_done", proto.DT_FLOAT, (0,)
            token = sender.graph_def.node.add(name=given, op="Const", device=device.name)
            _empty_constant(token)
            token.input.append("^" + source._name)
        # What may have to wait does not hold up anything else.
        together = {sender.task, task} <= self._bundling and source not in self._behind_waiting
        # Nor does what may be dead take anything else with it.
        together = together and self._flow.is_certain(what)
        if together:
            bundle = self._bundles.get((sender.task, task, at))
            if bundle is None:
                bundle = _Bundle(f"_weft_{len(self._bundles)}", sender, receiver, device, to, at)
                self._bundles[sender.task, task, at] = bundle
            name = self._received[what, task] = bundle.add(given, enum, dims)
            return name, at
        send = sender.graph_def.node.add(
            name=f"{source._name}/_{self._edges}_send",
            op="_Send",
            device=device.name,
            input=[given],
        )
        send.attr["T"].type = enum
        self._ends(send, edge, device, to, False)
        name = self._received[what, task] = f"{source._name}/_{self._edges}"
        recv = receiver.graph_def.node.add(name=name, op="_Recv", device=to.name)
        if begins:
            recv.input.append("^" + begins)
        recv.attr["tensor_type"].type = enum
        _say_shape(recv, dims)
        recv.attr["_weft_level"].i = at
        recv.attr[UNCERTAIN].b = not self._flow.is_certain(what)
        self._ends(recv, edge, device, to, False)
        if type(what) is not Tensor and not self._flow.is_certain(what):
            # Whether it is dead is told by what follows it, not by the Recv itself.
            passed = name + "_ran"
            node = receiver.graph_def.node.add(
                name=passed, op="Identity", device=to.name, input=[name]
            )
            node.attr["T"].type = enum
            name = self._received[what, task] = passed
        return name, at

    def _finish(self, bundle: _Bundle) -> None:
        """Adds the nodes of a bundle, which is complete."""
        b = bundle
        send = b.sender.graph_def.node.add(
            name=b.name + "_send", op="WeftSend", device=b.send_device.name, input=b.inputs
        )
        recv = b.receiver.graph_def.node.add(name=b.name, op="WeftRecv", device=b.recv_device.name)
        for node in (send, recv):
            node.attr["T"].list.type.extend(b.types)
            self._ends(node, b.name, b.send_device, b.recv_device, False)
        recv.attr["_weft_level"].i = b.level
        for dims in b.dims:
            _say_shape(recv, dims)

    def _ends(self, node: Any, name: str, sender: Device, receiver: Device, client: bool) -> str:
        incarnation = sender.incarnation
        if incarnation >= 1 << 63:  # an attribute is signed
            incarnation -= 1 << 64
        node.attr["tensor_name"].s = name.encode()
        node.attr["send_device"].s = sender.name.encode()
        node.attr["send_device_incarnation"].i = incarnation
        node.attr["recv_device"].s = receiver.name.encode()
        node.attr["client_terminated"].b = client
        return key_of(sender.name, incarnation, receiver.name, name)


_LIFE = "_weft_life"


def set_life(part: Any, incarnation: int) -> None:
    """Says for which life of its task a part of a graph is meant: one that comes after it has other state."""
    if part.node:
        signed = incarnation - (1 << 64) if incarnation >= 1 << 63 else incarnation
        part.node[0].attr[_LIFE].i = signed


def life_of(part: Any) -> int | None:
    """What `set_life` has said; nothing, where the master is not of weft."""
    if not part.node or _LIFE not in part.node[0].attr:
        return None
    return part.node[0].attr[_LIFE].i & (1 << 64) - 1


def _empty_constant(node: Any) -> None:
    node.attr["dtype"].type = proto.DT_FLOAT
    node.attr["value"].tensor.dtype = proto.DT_FLOAT
    node.attr["value"].tensor.tensor_shape.dim.add(size=0)


def _say_shape(node: Any, dims: Any) -> None:
    """Tells what is known of the shape of a node's output, which the part of the graph does not show."""
    shape = TensorShape.from_tuple(dims).as_proto()
    node.attr["_output_shapes"].list.shape.append(shape)
