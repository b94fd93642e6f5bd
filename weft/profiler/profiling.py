"""`tf.profiler.profile` and its kin: profiles of a graph, shown or written, and returned as messages."""

from __future__ import annotations

import os
from typing import Any

import weft as tf
from weft import proto
from weft.framework import context, errors, file_system
from weft.framework.export import export
from weft.profiler.options import ProfileOptionBuilder, complete
from weft.profiler.shown import time
from weft.profiler.statistics import Statistics
from weft.profiler.views import Types, by_code, by_data_flow, by_scope

ALL_ADVICE: dict[str, Any] = {
    "ExpensiveOperationChecker": {},
    "AcceleratorUtilizationChecker": {},
    "JobChecker": {},
    "OperationChecker": {},
}
_DEFAULT = 0
_DOC = {
    "scope": "Operations by the scopes of their names: the first number is an operation's own, the second that of "
    "all in its scope.",
    "graph": "Operations by the flow of data: beneath each are those whose results it takes, and the second number "
    "is that of all of them.",
    "op": "Operations by their types: a number, with the share that all from this line on have, and its own share.",
    "code": "Operations by the lines of the program that made them: beneath each line are those that it called.",
}


def _graph_or_default(graph: Any) -> Any:
    if graph is None and not context.executing_eagerly():
        return tf.get_default_graph()
    return graph


def _kinds(graph: Any) -> dict[str, str]:
    return {} if graph is None else {op.name: op.type for op in graph.get_operations()}


def _shown(statistics: Statistics, graph: Any, view: str, given: Any) -> Any:
    """Shows a view in the way that the options ask for, and returns its message."""
    options = complete(given)
    output = options["output"]
    if output == "pprof":
        raise errors.UnimplementedError(
            None, None, "weft does not write profiles for pprof: 'file' and 'timeline' are there."
        )
    if output == "timeline":
        _write_timelines(statistics, options)
    if view == "op":
        text, message = Types(statistics, _kinds(graph)).show(options)
    else:
        tree = {"scope": by_scope, "graph": by_data_flow, "code": by_code}[view](statistics)
        text, message = tree.show(options)
    text = f"Doc:\n{view}: {_DOC[view]}\n\nProfile:\n{text}"
    if output == "stdout":
        print("\n=========================Options=============================")
        print("".join(f"-{k:<27}{_value(v)}\n" for k, v in options.items() if k != "outfile"))
        print("==================Model Analysis Report======================")
        print(text)
        print("======================End of Report==========================", flush=True)
    elif output == "file":
        file_system.write_file(options["outfile"], text.encode())
    return message


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _write_timelines(statistics: Statistics, options: dict[str, Any]) -> None:
    from weft.studio.timeline import Timeline

    steps = statistics.steps if options["step"] < 0 else [options["step"]]
    for step in steps:
        if step in statistics.traces:
            trace = Timeline(statistics.traces[step]).generate_chrome_trace_format()
            file_system.write_file(f"{options['outfile']}_{step}", trace.encode())


@export("profiler.profile")
def profile(
    graph: Any = None,
    run_meta: Any = None,
    op_log: Any = None,
    cmd: str = "scope",
    options: Any = _DEFAULT,
) -> Any:
    """Shows, and returns as a message, what a graph has or a run of it took.

    Args:
      run_meta: what a run with `trace_level=FULL_TRACE` left: times, memory, and shapes that the graph does not know.
      op_log: types and float operations of operations, besides those that are known.
      cmd: `scope`, `graph`, `op` or `code`: by what operations are put together.
      options: a dict, as ProfileOptionBuilder makes it; by default the parameters of trainable variables.
    """
    if cmd not in _DOC:
        raise errors.InvalidArgumentError(None, None, f"unknown cmd: {cmd}\n")
    graph = _graph_or_default(graph)
    if options == _DEFAULT:
        options = ProfileOptionBuilder.trainable_variables_parameter()
    statistics = Statistics(graph, op_log, with_code=cmd == "code")
    if run_meta is not None and run_meta.HasField("step_stats"):
        statistics.add_step(0, run_meta)
    return _shown(statistics, graph, cmd, options)


@export("profiler.Profiler")
class Profiler:
    """Profiles of several steps of a graph."""

    def __init__(self, graph: Any = None, op_log: Any = None):
        self._graph = _graph_or_default(graph)
        self._statistics = Statistics(self._graph, op_log, with_code=True)

    def add_step(self, step: int, run_meta: Any) -> None:
        """Adds what a run left; runs of the same step are added up."""
        self._statistics.add_graph()
        self._statistics.add_step(step, run_meta)

    def profile_python(self, options: dict[str, Any]) -> Any:
        """By the lines of the program; a MultiGraphNodeProto."""
        return _shown(self._statistics, self._graph, "code", options)

    def profile_operations(self, options: dict[str, Any]) -> Any:
        """By operation types; a MultiGraphNodeProto."""
        return _shown(self._statistics, self._graph, "op", options)

    def profile_name_scope(self, options: dict[str, Any]) -> Any:
        """By name scopes; a GraphNodeProto."""
        return _shown(self._statistics, self._graph, "scope", options)

    def profile_graph(self, options: dict[str, Any]) -> Any:
        """By the flow of data; a GraphNodeProto."""
        return _shown(self._statistics, self._graph, "graph", options)

    def advise(self, options: Any = None) -> Any:
        """What stands out; an AdviceProto."""
        return _advice(self._statistics, self._graph, options)

    def serialize_to_string(self) -> bytes:
        """A ProfileProto of the operations, for TensorFlow's tools."""
        made = proto.ProfileProto()
        numbers = {name: i for i, name in enumerate(self._statistics.ops)}
        for name, op in self._statistics.ops.items():
            node = made.nodes[numbers[name]]
            node.name, node.id, node.float_ops = name, numbers[name], op.float_ops
            node.op_types.extend(sorted(op.types))
            node.canonical_device = op.device
            node.shape.extend(op.shape or ())
            for i, (source, _) in enumerate(op.inputs):
                if source in numbers:
                    node.inputs[i] = numbers[source]
        made.steps.extend(self._statistics.steps)
        return made.SerializeToString(deterministic=True)


@export("profiler.advise")
def advise(graph: Any = None, run_meta: Any = None, options: Any = _DEFAULT) -> Any:
    """Says what stands out in a graph and a run of it: operations that take most time, accelerators that idle, and
    slower forms of operations; an AdviceProto."""
    graph = _graph_or_default(graph)
    statistics = Statistics(graph)
    if run_meta is not None and run_meta.HasField("step_stats"):
        statistics.add_step(0, run_meta)
    return _advice(statistics, graph, None if options == _DEFAULT else options)


def _advice(statistics: Statistics, graph: Any, options: Any) -> Any:
    wanted = ALL_ADVICE if options is None else options
    made = proto.AdviceProto()
    checks = {
        "ExpensiveOperationChecker": _expensive,
        "AcceleratorUtilizationChecker": _idle,
        "OperationChecker": _slower_forms,
    }
    for name, check in checks.items():
        if name in wanted:
            made.checkers[name].reports.extend(check(statistics, graph))
    return made


def _expensive(statistics: Statistics, graph: Any) -> list[str]:
    if not statistics.steps:
        return []
    builder = ProfileOptionBuilder().with_empty_output().order_by("micros")
    root = _shown(statistics, graph, "op", builder.with_min_execution_time(1).build())
    lines: list[str] = []
    node = root
    while node.children and len(lines) < 3:
        node = node.children[0]
        share = 100 * node.exec_micros / max(root.total_exec_micros, 1)
        lines.append(
            f"top {len(lines) + 1} operation type: {node.name}, cpu: {time(node.cpu_exec_micros)}, "
            f"accelerator: {time(node.accelerator_exec_micros)}, total: {time(node.exec_micros)} ({share:.2f}%)"
        )
    return ["\n".join(lines)] if lines else []


def _idle(statistics: Statistics, graph: Any) -> list[str]:
    spans: dict[str, list[tuple[int, int]]] = {}
    for stats in statistics.traces.values():
        for device in stats.dev_stats:
            if "stream:all" in device.device:
                for node in device.node_stats:
                    span = (node.all_start_micros, node.op_end_rel_micros)
                    spans.setdefault(device.device, []).append(span)
    reports = []
    for device, found in spans.items():
        whole = max(s + n for s, n in found) - min(s for s, _ in found)
        share = sum(n for _, n in found) / whole if whole else 0.0
        low = "" if share >= 0.5 else "low "
        reports.append(f"device: {device} {low}utilization: {share:.2f}")
    return reports


def _slower_forms(statistics: Statistics, graph: Any) -> list[str]:
    kinds = _kinds(graph)
    reports = []
    fused = any(kind.startswith("FusedBatchNorm") for kind in kinds.values())
    if any("BatchNorm" in name for name in statistics.ops) and not fused:
        reports.append("Maybe use faster FusedBatchNorm instead of BatchNorm")
    return reports


@export("profiler.write_op_log")
def write_op_log(
    graph: Any, log_dir: str, op_log: Any = None, run_meta: Any = None, add_trace: bool = True
) -> None:
    """Writes `tfprof_log` into a folder: types, float operations and, if asked, the lines that made each operation."""
    graph = _graph_or_default(graph)
    statistics = Statistics(graph, op_log, with_code=add_trace)
    if run_meta is not None and run_meta.HasField("step_stats"):
        statistics.add_step(0, run_meta)
    kinds = _kinds(graph)
    made = proto.OpLogProto()
    texts = {"none": 0}
    for name, op in statistics.ops.items():
        types = sorted(op.types - {kinds.get(name), op.device})
        if not (op.float_ops or types or op.trace):
            continue
        entry = made.log_entries.add(name=name, float_ops=op.float_ops, types=types)
        for file, line, function in op.trace:
            entry.code_def.traces.add(
                file_id=texts.setdefault(file, len(texts)),
                lineno=line,
                function_id=texts.setdefault(function, len(texts)),
            )
    for text, number in texts.items():
        made.id_to_string[number] = text
    file_system.write_file(os.path.join(log_dir, "tfprof_log"), made.SerializeToString())
