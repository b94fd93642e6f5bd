"""Program: operations in an order they can run in, with their values in numbered slots.

Both tiers walk the same program: the interpreter over NumPy arrays, the compiler over traced ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from weft.framework import dtypes, registry
from weft.framework.attributes import Func
from weft.framework.operation import Operation
from weft.framework.shape_inference import keyword_attrs
from weft.framework.shape_rules import is_full
from weft.framework.tensor import Tensor


class Node:
    """One operation as the engine sees it."""

    __slots__ = (
        "op",
        "decl",
        "kernel",
        "kwargs",
        "xla_kernel",
        "xla_kwargs",
        "wants_context",
        "xla_wants_context",
        "inputs",
        "outputs",
        "groups",
        "n_outputs",
        "derefs",
        "static",
        "frees",
        "checked",
        "recheck",
        "flat_outputs",
        "only_output",
        "dtypes",
        "memo",
        "calls",
    )

    def __init__(self, op: Operation, inputs: tuple[int, ...], outputs: tuple[int, ...]):
        decl = op._decl
        self.op, self.decl = op, decl
        self.inputs, self.outputs = inputs, outputs
        self.n_outputs = len(outputs)
        self.kernel = decl.kernel
        self.kwargs = keyword_attrs(decl.kernel, op._attrs, decl) if decl.kernel else {}
        self.wants_context = decl.kernel is not None and registry.wants_context(decl.kernel)
        self.xla_kernel = decl.xla_kernel or decl.kernel
        self.xla_kwargs = keyword_attrs(self.xla_kernel, op._attrs, decl) if self.xla_kernel else {}
        self.xla_wants_context = self.xla_kernel is not None and registry.wants_context(
            self.xla_kernel
        )
        args = decl.signature.inputs
        self.groups = _groups(args, op._attrs) if any(a.is_list for a in args) else None
        self.derefs = _derefs(op)
        self.static = _static_positions(op)
        self.frees: tuple[int, ...] = ()
        self.checked: Any = None
        # Where everything was known as the graph was built, the shape rule has had its say already.
        self.recheck = decl.shape_rule is not None and not all(is_full(t._dims) for t in op._inputs)
        outs = decl.signature.outputs
        self.flat_outputs = len(outs) != 1 or outs[0].is_list
        self.only_output = -1 if self.flat_outputs else outputs[0]
        self.dtypes = [t._dtype.base_dtype.np for t in op._outputs]
        self.memo: Any = (
            None  # what a kernel keeps between runs of this node: derived from attributes only
        )
        self.calls = called_functions(op)

    def __repr__(self) -> str:
        return f"<node {self.op._name} ({self.decl.name})>"


def called_functions(op: Operation) -> tuple[str, ...]:
    """The names of the functions that an operation calls."""
    names = []
    for value in op._attrs.values():
        if type(value) is Func:
            names.append(value.name)
        elif type(value) is list:
            names.extend(v.name for v in value if type(v) is Func)
    return tuple(names)


def _groups(args: Any, attrs: dict[str, Any]) -> list[int | slice]:
    """For each argument the position of its value, or the slice of positions where it is a list."""
    out: list[int | slice] = []
    i = 0
    for arg in args:
        if arg.number_attr is not None:
            n = attrs[arg.number_attr]
        elif arg.type_list_attr is not None:
            n = len(attrs[arg.type_list_attr])
        else:
            out.append(i)
            i += 1
            continue
        out.append(slice(i, i + n))
        i += n
    return out


def _flat_args(op: Operation) -> list[Any]:
    """The signature's argument for each flat input."""
    flat: list[Any] = []
    for arg in op._decl.signature.inputs:
        n = 1
        if arg.number_attr is not None:
            n = op._attrs[arg.number_attr]
        elif arg.type_list_attr is not None:
            n = len(op._attrs[arg.type_list_attr])
        flat.extend([arg] * n)
    return flat


def _derefs(op: Operation) -> tuple[int, ...]:
    """Positions of inputs that come as a reference where the kernel wants the value."""
    if op._decl.passes_references or not any(t._dtype._is_ref_dtype for t in op._inputs):
        return ()
    return tuple(
        i
        for i, (t, arg) in enumerate(zip(op._inputs, _flat_args(op)))
        if t._dtype._is_ref_dtype and not arg.is_ref
    )


def reference_positions(op: Operation) -> tuple[int, ...]:
    """Positions of inputs that the kernel takes as references."""
    if not any(t._dtype._is_ref_dtype for t in op._inputs):
        return ()
    return tuple(i for i, arg in enumerate(_flat_args(op)) if arg.is_ref)


def _static_positions(op: Operation) -> tuple[int, ...]:
    static = op._decl.static
    names = static(op) if callable(static) else static
    if not names:
        return ()
    return named_positions(op, names)


def named_positions(op: Operation, names: Iterable[str]) -> tuple[int, ...]:
    """The positions of the inputs that belong to arguments of these names."""
    return tuple(i for i, arg in enumerate(_flat_args(op)) if arg.name in names)


class Program:
    """Nodes in order; `inputs` and `outputs` are slots.

    What runs it node by node starts from a copy of `table`, which has the `constants`, and runs what is `todo`.
    """

    __slots__ = (
        "meets",
        "nodes",
        "table",
        "todo",
        "constants",
        "inputs",
        "outputs",
        "n_slots",
        "slot_of",
        "name",
        "memo",
        "value_inputs",
        "read_outputs",
    )

    def __init__(
        self,
        ops: Iterable[Operation],
        inputs: list[Tensor],
        outputs: list[Tensor],
        name: str = "",
        free: bool = True,
        aliases: dict[Tensor, Tensor] | None = None,
    ):
        slot_of: dict[Tensor, int] = {}
        for t in inputs:
            slot_of.setdefault(t, len(slot_of))
        for t, same in (aliases or {}).items():
            slot_of.setdefault(t, slot_of[same])
        self.inputs = [slot_of[t] for t in inputs]
        nodes = []
        fed = set(slot_of)
        n_slots = max(slot_of.values(), default=-1) + 1
        for op in ops:
            outs = []
            if op._outputs and all(t in fed for t in op._outputs):
                continue  # a fed placeholder
            for t in op._outputs:
                if t in fed:
                    outs.append(-1)  # fed: what the op gives is dropped
                else:
                    slot = slot_of.setdefault(t, n_slots)
                    n_slots = max(n_slots, slot + 1)
                    outs.append(slot)
            nodes.append(Node(op, tuple(slot_of[t] for t in op._inputs), tuple(outs)))
        self.nodes = nodes
        self.outputs = [slot_of[t] for t in outputs]
        self.n_slots = n_slots
        self.slot_of = slot_of
        self.name = name
        self.memo: dict[Any, Any] = {}
        self.read_outputs: list[int] = []  # outputs that are references, and read at the end
        # Inputs that take values: a reference that is passed is read.
        self.value_inputs = [
            i
            for i, t in enumerate(inputs)
            if not t._dtype._is_ref_dtype and t._dtype is not dtypes.resource
        ]
        self._set_constants()
        if free:
            _mark_last_uses(self.todo, {*self.outputs, *self.constants})

    def _set_constants(self) -> None:
        """Puts the constants where each run starts from; what is left has to be run."""
        self.table: list[Any] = [None] * self.n_slots
        self.todo: list[Node] = []
        self.constants: list[int] = []
        for node in self.nodes:
            value = node.op._attrs["value"] if node.decl.name == "Const" else None
            if type(value) is np.ndarray and node.outputs[0] >= 0:
                self.table[node.outputs[0]] = value
                self.constants.append(node.outputs[0])
            else:
                self.todo.append(node)
        # Whether operations of it wait for each other.
        self.meets = sum(node.decl.meets for node in self.todo) > 1

    @property
    def output_tensors(self) -> set[Tensor]:
        """The tensors that the outputs are the values of."""
        outputs = set(self.outputs)
        return {tensor for tensor, slot in self.slot_of.items() if slot in outputs}


def node_program(op: Operation) -> Program:
    """A program of one operation, with an input for each of its inputs, even where two are the same."""
    n, m = len(op._inputs), len(op._outputs)
    program = Program((), [], [], op._name)
    node = Node(op, tuple(range(n)), tuple(range(n, n + m)))
    program.nodes = [node]
    program.inputs, program.outputs = list(node.inputs), list(node.outputs)
    program.n_slots = n + m
    program.slot_of = dict(zip(op._outputs, node.outputs))
    program._set_constants()
    return program


def _mark_last_uses(nodes: list[Node], kept: set[int]) -> None:
    """Notes after which node each slot's value is no longer needed, so that memory is given back early."""
    seen = set(kept)
    for node in reversed(nodes):
        frees = []
        for slot in (*node.inputs, *node.outputs):
            if slot >= 0 and slot not in seen:
                seen.add(slot)
                frees.append(slot)
        node.frees = tuple(frees)


def order(
    targets: Iterable[Operation], cut: set[Tensor], stop: Callable[[Operation], bool] | None = None
) -> list[Operation]:
    """The operations that the targets need, inputs before consumers; tensors in `cut` need nothing.

    Loops of imported TensorFlow 1 graphs close through a Merge: the NextIteration comes after it.
    """
    out: list[Operation] = []
    state: dict[Operation, int] = {}  # 1: entered, 2: done
    stack: list[tuple[Operation, bool]] = [(op, False) for op in reversed(list(targets))]
    while stack:
        op, done = stack.pop()
        if done:
            state[op] = 2
            out.append(op)
            continue
        if op in state:
            continue
        state[op] = 1
        stack.append((op, True))
        for c in reversed(op._control_inputs):
            if c not in state:
                stack.append((c, False))
        for t in reversed(op._inputs):
            if t in cut:
                continue
            o = t._op
            if o not in state:
                if o._decl.name in ("NextIteration", "RefNextIteration") and op._decl.name.endswith(
                    "Merge"
                ):
                    stack.insert(0, (o, False))
                    continue
                stack.append((o, False))
    return out
