"""Segment: ops of one level that XLA can take together, and the choice of the tier that runs them."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.engine import interpreter
from weft.engine.cell import Cell, on_host
from weft.engine.compiler import CannotCompile, CheckFailed, CompiledProgram, is_reference
from weft.engine.namespace import load_jax
from weft.engine.program import Node, Program
from weft.engine.static_values import static_inputs
from weft.engine.tracing import CannotRun
from weft.framework import errors
from weft.runtime.devices import jax_device

# Estimated microseconds; the rule counts work, never the clock, so that a run can be repeated exactly.
_PER_NODE = 2.0
_PER_ELEMENT = 0.001
_PER_FLOP = 0.00005
# What a compiled call costs, with each array in and out: below this the interpreter is as quick.
_CALL, _CALL_INPUT, _CALL_OUTPUT = 8.0, 0.5, 2.5
# What compiling counts as: less than the time it takes, since a step that came this often will come more often.
_COMPILE = 5_000.0
_COMPILE_PER_NODE = 150.0

# What goes over its arrays once, or not at all: XLA is no quicker, and needs threads and copies of what stays as it
# is. A segment of nothing else is interpreted, as long as the state that it changes is on the host.
_SINGLE_PASS = frozenset(
    """ApplyGradientDescent ResourceApplyGradientDescent AssignAdd AssignSub AssignAddVariableOp AssignSubVariableOp
    ReadVariableOp Identity IdentityN StopGradient Reshape ExpandDims Squeeze Const NoOp Assign AssignVariableOp
    """.split()
)

forced_tier: str | None = None  # "interpret" or "compile"; set by weft.testing.tier


def can_compile(op: Any, functions: Any) -> bool:
    """Whether XLA can take an operation, with the functions that it calls."""
    return not functions.why_interpreted(op)


class Segment:
    """A program of a plan, and how it has run so far."""

    compile_at_once = False  # whether it is compiled at its first run

    def __init__(
        self,
        program: Program,
        inputs: list[int],
        outputs: list[int],
        tensors: list[Any],
        level: int,
        device: Any,
    ):
        self.program, self.inputs, self.outputs, self.level = program, inputs, outputs, level
        self.device = device
        self.compiled: CompiledProgram | None = None
        self.refused = ""
        self.runs = 0
        self.work: dict[
            Any, float
        ] = {}  # estimated work done by the interpreter, by shapes of inputs
        self.work_of: dict[Any, float] = {}  # of one run
        self.ready: set[Any] = set()  # shapes that are compiled
        self.static: list[int] | None = None  # inputs whose values are part of an executable
        self.dynamic = [i for i, t in enumerate(tensors) if t._dims is None or None in t._dims]
        self._single_pass = device.kind == "CPU" and all(
            node.decl.name in _SINGLE_PASS for node in program.nodes
        )
        self._call_cost = _CALL + _CALL_INPUT * len(inputs) + _CALL_OUTPUT * len(outputs)
        self._device_constants: dict[int, Any] = {}
        self._constant_ids: dict[int, Any] = {}

    def run(self, values: list[Any], ctx: Any) -> None:
        """Runs the segment over the step's table of values."""
        args = [values[i] for i in self.inputs]
        if forced_tier == "interpret" or self.refused:
            results = self._interpret(args, ctx)
        else:
            if self.static is None:
                self._find_static(ctx)
            key = self._key(args)
            if key in self.ready or self._is_hot(key, args):
                results = self._run_compiled(args, key, ctx)
            else:
                work = self.work_of.get(key)
                if work is None:
                    work = self.work_of[key] = self.estimate(args)
                self.work[key] = self.work.get(key, 0.0) + work
                results = self._interpret(args, ctx)
        self.runs += 1
        for slot, value in zip(self.outputs, results):
            values[slot] = value

    def _interpret(self, args: list[Any], ctx: Any) -> list[Any]:
        """Runs the segment with NumPy; what another segment left on a device comes to the host."""
        return interpreter.run(self.program, on_host(args), ctx)

    def _find_static(self, ctx: Any) -> None:
        """Finds the inputs whose values are part of an executable, and refuses what has no such form."""
        self.static, refused = static_inputs(self.program, ctx.functions)
        if refused:
            names = ", ".join(sorted(n.op.name for n in refused))
            self.refused = f"values that must be known while compiling follow from state: {names}"

    def _key(self, args: list[Any]) -> Any:
        """What an executable is for: the shapes of inputs that vary, and the values of static ones."""
        if not self.dynamic and not self.static:
            return ()
        shapes = [getattr(args[i], "shape", None) for i in self.dynamic]
        values = []
        for i in self.static or ():
            value = args[i]
            if not is_reference(value):
                value = np.asarray(value)
                values.append((value.tobytes(), value.shape))
        return (*shapes, *values)

    def _is_hot(self, key: Any, args: list[Any]) -> bool:
        if forced_tier == "compile" or self.compile_at_once:
            return True
        if self._single_pass and not any(type(a) is Cell and a.is_on_device for a in args):
            return False
        work = self.work.get(key)
        if work is None:
            return False
        per_run = work / max(self.runs, 1)
        if per_run < self._call_cost and not self.ready:
            return False
        cost = _COMPILE + _COMPILE_PER_NODE * len(self.program.nodes)
        # The more shapes there are, the less often each of them will come again.
        return work >= cost * (1 + len(self.ready) / 2) * len(self.work)

    def _run_compiled(self, args: list[Any], key: Any, ctx: Any) -> list[Any]:
        if self.compiled is None:
            try:
                self.compiled = CompiledProgram.for_args(
                    self.program, args, ctx.resources, ctx.functions, jax_device(self.device)
                )
            except CannotCompile as e:
                return self._refuse(e.why, args, ctx)
        try:
            results = self.compiled(self._on_device(args), ctx)
        except CannotCompile as e:
            return self._refuse(e.why, args, ctx)
        except CheckFailed:
            results = self._interpret(args, ctx)
            if self.compiled.give_room():
                return results
            raise errors.InvalidArgumentError(
                None,
                None,
                f"A check failed in the compiled {self.program.name}, but not when it ran again.",
            ) from None
        except CannotRun as e:
            raise e.error from None
        except errors.OpError:
            return self._interpret(args, ctx)
        self.ready.add(key)
        return results

    def _refuse(self, why: str, args: list[Any], ctx: Any) -> list[Any]:
        self.refused = why
        return self._interpret(args, ctx)

    def _on_device(self, args: list[Any]) -> list[Any]:
        """Large constants stay on the device between calls."""
        static = self.compiled.static if self.compiled else ()
        for i in self._constant_ids:
            if i in static:
                continue
            known = self._device_constants.get(i)
            if known is None or known[0] is not args[i]:
                known = self._device_constants[i] = (args[i], self._put(args[i]))
            args[i] = known[1]
        return args

    def _put(self, array: Any) -> Any:
        return load_jax().device_put(array, jax_device(self.device))

    def note_constants(self, slots: set[int]) -> None:
        self._constant_ids = {i: None for i, slot in enumerate(self.inputs) if slot in slots}

    def estimate(self, args: list[Any]) -> float:
        """Estimated microseconds of one interpreted run, from what is known of shapes."""
        total = _PER_NODE * len(self.program.nodes)
        fed = sum(getattr(a, "size", 1) for a in args if not isinstance(a, Cell))
        total += fed * _PER_ELEMENT
        for node in self.program.nodes:
            total += estimate_node(node)
        return total

    def describe(self) -> list[str]:
        if self.refused:
            tier = f"interpreted, since {self.refused}"
        elif self.ready:
            tier = f"compiled for {len(self.ready)} shapes"
        else:
            tier = f"interpreted so far ({self.runs} runs; not hot yet)"
        lines = [
            f"level {self.level}, {self.device.name}: segment of {len(self.program.nodes)} ops, {tier}"
        ]
        lines.extend(f"    {n.op.name} ({n.decl.name})" for n in self.program.nodes)
        return lines


def estimate_node(node: Node) -> float:
    """Estimated microseconds of a node beyond the call itself, by static shapes (unknown sizes count 32)."""
    out = sum(_elements(t._dims) for t in node.op._outputs)
    kind = node.decl.name
    if kind in ("MatMul", "BatchMatMulV2", "BatchMatMul"):
        a = node.op._inputs[0]._dims
        inner = 32 if not a or a[-1] is None else max(a[-1], a[-2] or 1) if len(a) > 1 else 1
        return out * inner * 2 * _PER_FLOP
    if kind.startswith(("Apply", "ResourceApply")):
        return 10 * sum(_elements(t._dims) for t in node.op._inputs[-1:]) * _PER_ELEMENT
    if "Conv" in kind and node.op._inputs:
        return max(out, _elements(node.op._inputs[0]._dims)) * 200 * _PER_FLOP
    if kind in ("While", "StatelessWhile"):
        return node.memo.work_per_run if node.memo is not None else 200.0
    if node.calls:
        return 20.0 * len(node.calls)
    return out * _PER_ELEMENT


def _elements(dims: Any) -> int:
    if dims is None:
        return 32
    n = 1
    for d in dims:
        n *= 32 if d is None else d
    return n
