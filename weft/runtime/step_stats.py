"""What is recorded of a traced step, and its RunMetadata message."""

from __future__ import annotations

import time
from typing import Any


class Recorder:
    """Collects when each op of a step ran, and what it gave."""

    def __init__(self) -> None:
        self.records: list[
            tuple[str, Any, float, float, list[Any]]
        ] = []  # device, node, start, end, outputs

    def add(self, device: str, node: Any, start: float, end: float, outputs: list[Any]) -> None:
        self.records.append((device, node, start, end, [_described(o) for o in outputs]))

    @staticmethod
    def now() -> float:
        return time.perf_counter() + _EPOCH

    def fill(self, metadata: Any) -> None:
        """Writes the records into a RunMetadata message."""
        by_device: dict[str, Any] = {}
        for device, node, start, end, outputs in sorted(self.records, key=lambda r: r[2]):
            stats = by_device.get(device)
            if stats is None:
                stats = by_device[device] = metadata.step_stats.dev_stats.add()
                stats.device = device
            item = stats.node_stats.add()
            name, label = _label(node)
            item.node_name, item.timeline_label = name, label
            item.all_start_micros = int(start * 1e6)
            item.op_end_rel_micros = item.all_end_rel_micros = max(1, int((end - start) * 1e6))
            item.all_start_nanos = int(start * 1e9)
            item.op_end_rel_nanos = item.all_end_rel_nanos = int((end - start) * 1e9)
            for slot, (dims, enum, size) in enumerate(outputs):
                out = item.output.add()
                out.slot = slot
                if enum:
                    out.tensor_description.dtype = enum
                for d in dims:
                    out.tensor_description.shape.dim.add().size = d
                out.tensor_description.allocation_description.requested_bytes = size
                out.tensor_description.allocation_description.allocator_name = "cpu"

    def fill_cost_graph(self, metadata: Any, plan: Any) -> None:
        """Writes what each op of the step cost, and what it takes from which."""
        took = {}
        for _, node, start, end, _ in self.records:
            if getattr(node, "op", None) is not None:
                took[node.op] = end - start
        ids = {op: i for i, op in enumerate(plan.ops)}
        for op, i in ids.items():
            item = metadata.cost_graph.node.add()
            item.name, item.id, item.device = op.name, i, plan.placed[op].name
            item.compute_cost = int(took.get(op, 0) * 1e6)
            for t in op._inputs:
                if t._op in ids:
                    source = item.input_info.add()
                    source.preceding_node, source.preceding_port = ids[t._op], t._index
            item.control_input.extend(ids[c] for c in op._control_inputs if c in ids)


class ConstantNode:
    """A constant of the plan, which takes no time in a step."""

    def __init__(self, op: Any):
        self.op = op


_EPOCH = time.time() - time.perf_counter()


def _described(value: Any) -> tuple[tuple, int, int]:
    from weft.framework import dtypes

    shape, dtype = getattr(value, "shape", ()), getattr(value, "dtype", None)
    try:
        enum = dtypes.as_dtype(dtype).enum if dtype is not None else 0
    except TypeError:
        enum = 0
    return tuple(d for d in shape or () if d is not None), enum, getattr(value, "nbytes", 0) or 0


def _label(node: Any) -> tuple[str, str]:
    op = getattr(node, "op", None)
    if op is None:  # a compiled segment
        members = ", ".join(n.op.name for n in node.program.nodes[:20])
        return node.program.name, f"{node.program.name} = XLA({members})"
    inputs = ", ".join(t._as_node_def_input() for t in op._inputs)
    return op.name, f"{op.name} = {op.type}({inputs})"
