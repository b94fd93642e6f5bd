"""Timeline: the step stats of a run as a trace that chrome://tracing and Perfetto show."""

from __future__ import annotations

import collections
import json
import re
from typing import Any

from weft.framework.export import export

AllocationMaximum = collections.namedtuple(
    "AllocationMaximum", ("timestamp", "num_bytes", "tensors")
)
StepStatsAnalysis = collections.namedtuple(
    "StepStatsAnalysis", ("chrome_trace", "allocator_maximums")
)

_LABEL = re.compile(r"^(?P<name>[^ ]+) = (?P<op>[^(]+)\((?P<inputs>.*)\)$", re.DOTALL)


class _Trace:
    """Events of a Chrome trace."""

    def __init__(self) -> None:
        self.metadata: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []

    def name_process(self, pid: int, name: str) -> None:
        self.metadata.append(
            {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}
        )

    def region(
        self, category: str, name: str, pid: int, tid: int, start: int, duration: int, args: Any
    ) -> None:
        place = {"pid": pid, "tid": tid, "ts": start, "dur": duration}
        self.events.append({"ph": "X", "cat": category, "name": name, **place, "args": args})

    def flow(self, phase: str, name: str, pid: int, tid: int, at: int, number: int) -> None:
        self.events.append(
            {
                "ph": phase,
                "cat": "DataFlow",
                "name": name,
                "pid": pid,
                "tid": tid,
                "ts": at,
                "id": number,
            }
        )

    def counter(
        self, category: str, name: str, pid: int, at: int, counters: dict[str, int]
    ) -> None:
        self.events.append(
            {
                "ph": "C",
                "cat": category,
                "name": name,
                "pid": pid,
                "tid": 0,
                "ts": at,
                "args": counters,
            }
        )

    def text(self, pretty: bool) -> str:
        trace = {"traceEvents": self.metadata + self.events}
        if pretty:
            return json.dumps(trace, indent=4, separators=(",", ": "))
        return json.dumps(trace, separators=(",", ":"))


class _Tensor:
    """A tensor of the trace: who made it, when, and who used it until when."""

    def __init__(self, name: str, made: int, size: int, allocator: str, pid: int):
        self.name, self.made, self.size, self.allocator, self.pid = name, made, size, allocator, pid
        self.last_use = made


@export("profiler.Timeline")
class Timeline:
    """A view of the step stats that a session wrote into a RunMetadata message."""

    def __init__(self, step_stats: Any, graph: Any = None):
        self._step_stats = step_stats
        self._graph = graph
        self._lanes: dict[int, tuple[str, int]] = {}

    def _assign_lanes(self) -> list[tuple[str, Any, int]]:
        """Gives ops that overlap on a device rows of their own."""
        placed = []
        for device in self._step_stats.dev_stats:
            free_at: list[int] = []
            for node in sorted(device.node_stats, key=lambda n: n.all_start_micros):
                start, end = node.all_start_micros, node.all_start_micros + node.all_end_rel_micros
                for lane, until in enumerate(free_at):
                    if until <= start:
                        free_at[lane] = end
                        break
                else:
                    lane = len(free_at)
                    free_at.append(end)
                node.thread_id = lane
                placed.append((device.device, node, lane))
        return placed

    def analyze_step_stats(
        self, show_dataflow: bool = True, show_memory: bool = True, op_time: str = "schedule"
    ) -> StepStatsAnalysis:
        """Returns the trace and the greatest memory held by each allocator."""
        del op_time
        trace = _Trace()
        pids = {d.device: i * 2 for i, d in enumerate(self._step_stats.dev_stats)}
        for device, pid in pids.items():
            trace.name_process(pid, device + " Compute")
            if show_memory:
                trace.name_process(pid + 1, device + " Tensors")
        placed = self._assign_lanes()
        tensors: dict[str, _Tensor] = {}
        made_by: dict[str, tuple[int, int, int]] = {}
        for device, node, lane in placed:
            name, op, inputs = _parse(node.timeline_label, node.node_name)
            args = {"name": name, "op": op}
            args.update({f"input{i}": text for i, text in enumerate(inputs)})
            trace.region(
                "Op", op, pids[device], lane, node.all_start_micros, node.all_end_rel_micros, args
            )
            made_by[name] = (pids[device], lane, node.all_start_micros + node.all_end_rel_micros)
            for output in node.output:
                text = name if output.slot == 0 else f"{name}:{output.slot}"
                allocation = output.tensor_description.allocation_description
                tensors[text] = _Tensor(
                    text,
                    node.all_start_micros,
                    allocation.requested_bytes,
                    allocation.allocator_name,
                    pids[device],
                )
        flows = 0
        for device, node, lane in placed:
            _, _, inputs = _parse(node.timeline_label, node.node_name)
            for text in inputs:
                bare = text.lstrip("^")
                if bare in tensors:
                    tensors[bare].last_use = max(tensors[bare].last_use, node.all_start_micros)
                source = made_by.get(bare.split(":")[0])
                if show_dataflow and source is not None:
                    flows += 1
                    trace.flow("s", bare, source[0], source[1], source[2], flows)
                    trace.flow("t", bare, pids[device], lane, node.all_start_micros, flows)
        maximums = _memory(tensors, trace if show_memory else None)
        return StepStatsAnalysis(trace, maximums)

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """Returns the trace as JSON text."""
        return self.analyze_step_stats(show_dataflow, show_memory, op_time).chrome_trace.text(
            pretty=True
        )


def _parse(label: str, fallback: str) -> tuple[str, str, list[str]]:
    match = _LABEL.match(label)
    if match is None:
        return fallback, label or fallback, []
    inputs = [i.strip() for i in match["inputs"].split(",") if i.strip()]
    return match["name"], match["op"], inputs


def _memory(tensors: dict[str, _Tensor], trace: _Trace | None) -> dict[str, AllocationMaximum]:
    """What each allocator holds over time; written into the trace, and the greatest returned."""
    changes: dict[tuple[str, int], list[tuple[int, int, str]]] = {}
    for t in tensors.values():
        events = changes.setdefault((t.allocator, t.pid), [])
        events.append((t.made, t.size, t.name))
        events.append((t.last_use + 1, -t.size, t.name))
    maximums: dict[str, AllocationMaximum] = {}
    for (allocator, pid), events in changes.items():
        held = 0
        names: set[str] = set()
        for at, size, name in sorted(events):
            held += size
            (names.add if size >= 0 else names.discard)(name)
            if trace is not None:
                trace.counter("Memory", allocator, pid + 1, at, {allocator: held})
            if allocator not in maximums or held > maximums[allocator].num_bytes:
                maximums[allocator] = AllocationMaximum(at, held, set(names))
    return maximums
