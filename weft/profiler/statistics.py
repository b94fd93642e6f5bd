"""What is known of each operation of a graph: parameters, float operations, and of its runs time and memory."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from typing import Any

import numpy as np

from weft.framework.graph_keys import GraphKeys
from weft.profiler.flops import RULES, Shapes, UnknownShape
from weft.profiler.options import TRAINABLE_VARIABLES

# The numbers of an operation, in this order: sums over operations are sums of arrays.
FIELDS = (
    "exec_micros accelerator_exec_micros cpu_exec_micros requested_bytes peak_bytes residual_bytes "
    "output_bytes parameters float_ops run_count definition_count"
).split()
_OF_RUNS = 7
_RUN_COUNT = FIELDS.index("run_count")
_DEVICE = re.compile(r".*/(device:gpu|gpu|device:cpu|cpu):\d+")
_OF_MODEL = ("Variable", "VariableV2", "VarHandleOp")


class OpStatistics:
    """An operation: what it is, and the numbers of its runs by step."""

    def __init__(self, name: str, kind: str):
        self.name = name
        self.types = {kind}
        self.shape: list[int] | None = None
        self.parameters = self.float_ops = 0
        self.device = ""
        self.inputs: list[tuple[str, list[int] | None]] = []
        self.trace: list[tuple[str, int, str]] = []
        self.runs: dict[int, np.ndarray] = {}

    def numbers(self, step: int) -> np.ndarray:
        """All numbers; those of runs are of one step, or the average over the steps."""
        found = np.zeros(len(FIELDS), np.int64)
        found[_OF_RUNS : _OF_RUNS + 2] = self.parameters, self.float_ops
        found[-1] = 1
        if self.runs:
            none = np.zeros(_OF_RUNS + 1, np.int64)
            of_all = np.sum(list(self.runs.values()), axis=0) // len(self.runs)
            runs = self.runs.get(step, none) if step >= 0 else of_all
            found[:_OF_RUNS] = runs[:-1]
            found[_RUN_COUNT] = runs[-1]
            found[FIELDS.index("float_ops")] *= runs[-1]
        return found

    def add_run(self, step: int, device: str, stats: Any) -> None:
        device = device.lower()
        if _DEVICE.fullmatch(device):
            if self.device and self.device != device:
                return  # a copy for another device
            self.device = device
            self.types.add(device)
        run = self.runs.setdefault(step, np.zeros(_OF_RUNS + 1, np.int64))
        micros = max(stats.op_end_rel_micros, 1) if stats.all_start_micros else 0
        accelerated = "stream:all" in device
        if accelerated or device == self.device:
            run[0] += micros
            run[1 if accelerated else 2] += micros
        if device == self.device:
            run[-1] += bool(micros)
            run[3:_OF_RUNS] += _memory(stats)


def _memory(stats: Any) -> np.ndarray:
    """Bytes that were requested, needed at most, kept, and put out."""
    described = [o.tensor_description.allocation_description for o in stats.output]
    out = sum(max(d.allocated_bytes, d.requested_bytes) for d in described)
    kept, temporary = stats.memory_stats.persistent_memory_size, stats.memory_stats.temp_memory_size
    if not stats.memory and not kept + temporary:
        return np.array([out, out, 0, out])  # outputs are all that is known
    requested, peak, live = (
        sum(getattr(m, field) for m in stats.memory)
        for field in ("total_bytes", "peak_bytes", "live_bytes")
    )
    return np.array([requested + kept + temporary, peak + kept + temporary, live + kept, out])


def _known(shape: Any) -> list[int] | None:
    """A shape as profiles have it: unknown sizes are -1, a scalar has one element."""
    if shape.ndims is None:
        return None
    return [-1 if n is None else n for n in shape.as_list()] or [1]


class Statistics:
    """The operations of a graph by name; steps and graphs can be added."""

    def __init__(self, graph: Any, op_log: Any = None, with_code: bool = False):
        self.ops: dict[str, OpStatistics] = {}
        self.steps: list[int] = []
        self.traces: dict[int, Any] = {}
        self._with_code = with_code
        self._graph = graph
        self._seen_shapes: dict[str, tuple[int, ...]] = {}
        self.add_graph()
        if op_log is not None:
            self.add_log(op_log)

    def add_graph(self) -> None:
        """Takes in the graph as it is by now."""
        if self._graph is None:
            return
        incomplete = 0
        for op in self._graph.get_operations():
            node = self.ops.get(op.name)
            if node is None:
                node = self.ops[op.name] = self._new(op)
            if not node.float_ops and op.type in RULES:
                try:
                    node.float_ops = int(RULES[op.type](Shapes(op, self._seen_shapes)))
                except UnknownShape:
                    incomplete += 1
        for v in self._graph.get_collection(GraphKeys.TRAINABLE_VARIABLES):
            if v.op.name in self.ops:
                self.ops[v.op.name].types.add(TRAINABLE_VARIABLES)
        if incomplete and not self._seen_shapes:
            print(
                f"{incomplete} ops have no count of float operations, as their shapes are not known.",
                file=sys.stderr,
            )

    def _new(self, op: Any) -> OpStatistics:
        node = OpStatistics(op.name, op.type)
        # Where the node has an attribute of its shape, as variables and placeholders have.
        if "shape" in op.node_def.attr and op.type in (*_OF_MODEL, "Placeholder"):
            shape = op.outputs[0].shape if op.type != "VarHandleOp" else _shape_attr(op)
            node.shape = _known(shape)
            if node.shape and min(node.shape) >= 0:
                node.parameters = int(np.prod(node.shape))
        node.inputs = [(t.op.name, _known(t.shape)) for t in op.inputs]
        node.inputs += [(c.name, None) for c in op.control_inputs]
        if self._with_code:
            node.trace = [(file, line, function) for file, line, function, _ in op.traceback]
        return node

    def add_log(self, op_log: Any) -> None:
        """Takes in what a log says of operations: types and float operations."""
        for entry in op_log.log_entries:
            node = self.ops.get(entry.name)
            if node is not None:
                node.types.update(entry.types)
                node.float_ops = entry.float_ops or node.float_ops

    def add_step(self, step: int, run_meta: Any) -> None:
        """Takes in the times and the memory of a run."""
        stats = run_meta.step_stats
        if not stats.dev_stats:
            raise ValueError(
                f"The RunMetadata of step {step} has no step stats: run the step with "
                "options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)."
            )
        self.steps.append(step)
        self.traces[step] = stats
        runs = defaultdict(list)
        for device in stats.dev_stats:
            for node in device.node_stats:
                runs[node.node_name.partition(":")[0]].append((device.device, node))
        for name, found in runs.items():
            if name not in self.ops:
                if name in ("RecvTensor", "_SOURCE") or "MEMCPY" in name:
                    continue
                self.ops[name] = OpStatistics(name, name)
            for device, node in found:
                self.ops[name].add_run(step, device, node)
                for i, output in enumerate(node.output):
                    shape = output.tensor_description.shape
                    self._seen_shapes[f"{name}:{i}"] = tuple(d.size for d in shape.dim)
        self.add_graph()


def _shape_attr(op: Any) -> Any:
    from weft.framework.tensor_shape import TensorShape

    return TensorShape(op.get_attr("shape"))
