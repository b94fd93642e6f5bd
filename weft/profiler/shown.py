"""What a view shows of an operation, a scope or a line of code: its own numbers and those of all below, as text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from weft import proto
from weft.profiler.statistics import FIELDS, OpStatistics

ROOT = "_TFProfRoot"
_SCOPE = "_kTFScopeParent"
_AT = {name: i for i, name in enumerate(FIELDS)}
# What can be selected and ordered by, and which number it is.
_NUMBER = {
    "bytes": "requested_bytes",
    "peak_bytes": "peak_bytes",
    "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes",
    "micros": "exec_micros",
    "accelerator_micros": "accelerator_exec_micros",
    "cpu_micros": "cpu_exec_micros",
    "params": "parameters",
    "float_ops": "float_ops",
}
_LEGEND = {
    "params": ["# parameters"],
    "float_ops": ["# float_ops"],
    "bytes": ["requested bytes"],
    "peak_bytes": ["peak bytes"],
    "residual_bytes": ["residual bytes"],
    "output_bytes": ["output bytes"],
    "micros": ["total execution time", "accelerator execution time", "cpu execution time"],
    "accelerator_micros": ["accelerator execution time"],
    "cpu_micros": ["cpu execution time"],
    "device": ["assigned devices"],
    "op_types": ["op types"],
    "occurrence": ["op count (run|defined)"],
    "input_shapes": ["input shapes"],
}
# In the list of operation types memory and time stand first.
_LEGEND_OF_TYPES = (
    "bytes peak_bytes residual_bytes output_bytes micros accelerator_micros cpu_micros params float_ops "
    "device op_types occurrence input_shapes"
).split()
_TIMES = ("exec_micros", "accelerator_exec_micros", "cpu_exec_micros")


class Shown:
    """A node of a view. `own` are its own numbers, `total` those with all that is below."""

    def __init__(self, name: str, ops: list[OpStatistics], multiple: bool = False):
        self.name, self.ops, self.multiple = name, ops, multiple
        self.own = np.zeros(len(FIELDS), np.int64)
        self.own[-1] = 1
        self.total = np.zeros(len(FIELDS), np.int64)
        self.accounted = False
        self.children: list[Shown] = []
        self.shown: list[Shown] = []
        self.indent = 0

    def account(self, step: int, types: list[str]) -> bool:
        """Takes the numbers of a step; whether the node counts, by its types."""
        kept = [op for op in self.ops if any_matches(types, op.types)]
        counted = kept if self.multiple else self.ops
        if counted:
            self.own = np.sum([op.numbers(step) for op in counted], axis=0)
        self.matching = kept
        self.accounted = bool(kept) or (not self.ops and ".*" in types)
        return self.accounted

    def add_up(self, nodes: list[Shown]) -> None:
        """The total of this node, and of some below it."""
        self.total = self.own + sum((n.total for n in nodes), np.zeros_like(self.own))

    def number(self, field: str) -> tuple[int, int]:
        return int(self.own[_AT[field]]), int(self.total[_AT[field]])

    # -- as a message --------------------------------------------------------------------------------

    def message(self, step: int) -> Any:
        """A GraphNodeProto, or a MultiGraphNodeProto where the node stands for several operations."""
        made = proto.MultiGraphNodeProto() if self.multiple else proto.GraphNodeProto()
        made.name = self.name
        for field in FIELDS:
            own, total = self.number(field)
            for name, value in ((field, own), (f"total_{field}", total)):
                if name in made.DESCRIPTOR.fields_by_name:
                    setattr(made, name, value)
        if self.multiple:
            if not self.shown or self.name == ROOT or self.is_type:
                made.graph_nodes.extend(single(op, step).message(step) for op in self.matching)
        elif self.ops:
            (op,) = self.ops
            if op.device:
                made.devices.append(op.device)
            for i, (_, shape) in enumerate(op.inputs):
                message = made.input_shapes[i]
                if shape is None:
                    message.unknown_rank = True
                else:
                    for size in shape:
                        message.dim.add(size=size)
        return made

    matching: list[OpStatistics] = []
    is_type = False  # one of a list of types, not of a tree

    # -- as text -------------------------------------------------------------------------------------

    def text(self, select: list[str]) -> str:
        """A line: the name, and in parentheses what is selected, own and in total."""
        parts: list[str] = []

        def add(field: str, form: Any, unit: str = "") -> None:
            own, total = self.number(field)
            parts.append(f"{form(own) if self.accounted else '--'}/{form(total)}{unit}")

        if "params" in select:
            shape = self.ops[0].shape if self.ops and not self.multiple else None
            if shape:
                parts.append("x".join(map(str, shape)))
            add("parameters", count, " params")
        if "float_ops" in select:
            add("float_ops", count, " flops")
        for name in ("bytes", "peak_bytes", "residual_bytes", "output_bytes"):
            if name in select:
                add(_NUMBER[name], memory)
        for field in _times(select):
            add(field, time)
        if "device" in select and (devices := self._devices()):
            parts.append("|".join(devices))
        if "op_types" in select:
            parts.append("|".join(self._types()))
        if "occurrence" in select:
            runs, all_runs = self.number("run_count")
            _, defined = self.number("definition_count")
            own = (count(runs), "1") if self.accounted else ("--", "--")
            parts.append(f"{own[0]}/{count(all_runs)}|{own[1]}/{count(defined)}")
        if "input_shapes" in select:
            inputs = self.ops[0].inputs if self.ops and not self.multiple else []
            parts.append(
                "|".join(
                    f"{i}:{'x'.join(map(str, shape)) if shape else 'unknown'}"
                    for i, (_, shape) in enumerate(inputs)
                )
            )
        return f"{self.name} ({', '.join(parts)})"

    def _types(self) -> list[str]:
        return sorted({t for op in self.ops for t in op.types}) or [_SCOPE]

    def _devices(self) -> list[str]:
        return sorted({op.device for op in self.ops if op.device})

    def row(self, select: list[str], root: Shown) -> str:
        """A line of the list of types: numbers with the shares that they, and all from here on, have of the whole."""
        parts: list[str] = []

        def add(field: str, form: Any, unit: str = "") -> None:
            own, total = self.number(field)
            whole = root.number(field)[1]
            shares = [100 * x / whole if total and whole else 0.0 for x in (total, own)]
            parts.append(f"{form(own)}{unit} ({shares[0]:.2f}%, {shares[1]:.2f}%)".rjust(30))

        for name in ("bytes", "peak_bytes", "residual_bytes", "output_bytes"):
            if name in select:
                add(_NUMBER[name], memory)
        for field in _times(select):
            add(field, time)
        if "params" in select:
            add("parameters", count, " params")
        if "float_ops" in select:
            add("float_ops", count, " float_ops")
        if "device" in select:
            parts.append("|".join(self._devices()))
        if "op_types" in select:
            parts.append("|".join(self._types()))
        if "occurrence" in select:
            parts.append(f"{self.number('run_count')[0]}|{len(self.matching)}".rjust(10))
        return f"{self.name:<25}{', '.join(parts)}"


def single(op: OpStatistics, step: int) -> Shown:
    """The node of one operation alone."""
    node = Shown(op.name, [op])
    node.account(step, [".*"])
    node.add_up([])
    return node


def any_matches(patterns: list[str], names: Any) -> bool:
    return any(p == ".*" or re.fullmatch(p, name) for p in patterns for name in names)


def ordered(nodes: list[Shown], by: str) -> list[Shown]:
    """Sorted by name, or by a total with the largest first."""
    if by in _NUMBER:
        return sorted(nodes, key=lambda n: -n.number(_NUMBER[by])[1])
    return sorted(nodes, key=lambda n: n.name)


def large_enough(node: Shown, options: dict[str, Any]) -> bool:
    """Whether a node has the numbers that it needs to be shown."""
    for name, field in _NUMBER.items():
        own, total = node.number(field)
        of_all_below = name not in ("params", "float_ops")
        if (total if of_all_below else own) < options[f"min_{name}"]:
            return False
    runs = len(node.matching) if node.multiple else node.number("run_count")[0]
    return runs >= options["min_occurrence"]


def legend(select: list[str], of_types: bool) -> str:
    names = _LEGEND_OF_TYPES if of_types else list(_LEGEND)
    parts = [text for name in names if name in select for text in _LEGEND[name]]
    return f"node name | {' | '.join(dict.fromkeys(parts))}\n"


def _times(select: list[str]) -> list[str]:
    if "micros" in select:
        return list(_TIMES)
    return [_NUMBER[name] for name in ("accelerator_micros", "cpu_micros") if name in select]


def count(n: int) -> str:
    for size, unit in ((10**9, "b"), (10**6, "m"), (10**3, "k")):
        if n >= size:
            return f"{n / size:.2f}{unit}"
    return str(n)


def time(micros: int) -> str:
    for size, unit in ((10**6, "sec"), (10**3, "ms")):
        if micros >= size:
            return f"{micros / size:.2f}{unit}"
    return f"{micros}us"


def memory(size: int) -> str:
    for unit_size, unit in ((10**6, "MB"), (10**3, "KB")):
        if size >= unit_size:
            return f"{size / unit_size:.2f}{unit}"
    return f"{size}B"
