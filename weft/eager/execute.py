"""Runs an op at once, with its reference kernel, and lets the tapes know."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from weft.eager.tensor import EagerTensor, make
from weft.engine import interpreter
from weft.engine.cell import Cell
from weft.engine.namespace import numpy_namespace
from weft.framework import apply, attributes, context, conversion, dtypes, registry, shape_inference
from weft.framework.registry import OpDecl
from weft.runtime.functions import FunctionPrograms
from weft.runtime.resources import ResourceStore


class Library:
    """The functions that eager execution knows."""

    outer_graph = None

    def __init__(self) -> None:
        self._functions: dict[str, Any] = {}

    def _get_function(self, name: str) -> Any:
        return self._functions.get(name)

    def _add_function(self, function: Any) -> None:
        self._functions[function.name] = function

    def _is_function(self, name: str) -> bool:
        return name in self._functions


library = Library()
programs = FunctionPrograms(library)
resources = ResourceStore()


class Tapes(threading.local):
    """The tapes of this thread that record now."""

    def __init__(self) -> None:
        self.active: list[Any] = []


tapes = Tapes()


class EagerOp:
    """An op that ran: what gradient functions and kernels see in place of an Operation."""

    __slots__ = ("_decl", "_attrs", "_inputs", "_outputs", "_name", "_extra", "__weakref__")

    graph = None
    device = ""
    _device = ""
    user_line = ""
    control_inputs: list[Any] = []

    def __init__(self, decl: OpDecl, inputs: list[Any], attrs: dict[str, Any], name: str = ""):
        self._decl, self._inputs, self._attrs, self._name = decl, inputs, attrs, name or decl.name
        self._outputs: list[Any] = []

    @property
    def type(self) -> str:
        return self._decl.name

    @property
    def name(self) -> str:
        return self._name

    @property
    def inputs(self) -> list[Any]:
        return self._inputs

    @property
    def outputs(self) -> list[Any]:
        return self._outputs

    @property
    def _graph(self) -> Any:
        return library

    def get_attr(self, name: str) -> Any:
        try:
            return attributes.to_public(self._attrs[name])
        except KeyError:
            raise ValueError(f"Operation '{self._name}' has no attr named '{name}'.") from None

    @property
    def node_def(self) -> Any:
        from weft import proto

        node = proto.NodeDef(name=self._name, op=self._decl.name)
        for name in sorted(self._attrs):
            node.attr[name].CopyFrom(attributes.to_proto(self._attrs[name]))
        return node

    @property
    def traceback(self) -> list[Any]:
        return []

    def colocation_groups(self) -> list[bytes]:
        return []


class EagerNode:
    """What a kernel sees of its node."""

    __slots__ = ("op", "decl", "memo", "kwargs")

    def __init__(self, op: EagerOp):
        self.op, self.decl, self.memo = op, op._decl, None


class EagerContext(interpreter.Context):
    """A kernel's `ctx` under eager execution."""

    def random_cell(self, make: Any) -> Cell:
        op = self.node.op
        key = (op._decl.name, repr(sorted(op._attrs.items(), key=lambda i: i[0])))
        cell = resources.random.get(key)
        if cell is None:
            cell = resources.random[key] = Cell(op._decl.name + "/counter", value=make())
        return cell


_plans: dict[OpDecl, tuple] = {}


def _plan(decl: OpDecl) -> tuple:
    plan = _plans.get(decl)
    if plan is None:
        kernel = decl.kernel
        if kernel is None:
            from weft.framework import errors

            raise errors.UnimplementedError(
                None, None, f"Op {decl.name} has no kernel in weft yet."
            )
        sig = decl.signature
        plan = _plans[decl] = (
            kernel,
            registry.wants_context(kernel),
            registry.wanted_keywords(kernel),
            any(a.is_list for a in sig.inputs),
            len(sig.outputs) != 1 or sig.outputs[0].is_list,
        )
    return plan


def execute(
    decl: OpDecl,
    inputs: list[Any],
    attrs: dict[str, Any],
    out_dtypes: list[dtypes.DType],
    name: str | None,
) -> list[Any]:
    """Runs an op on concrete tensors and returns concrete tensors."""
    kernel, wants_context, keywords, has_lists, many = _plan(decl)
    args: list[Any] = [
        t._host() if isinstance(t, EagerTensor) else _refuse(t, decl) for t in inputs
    ]
    op = EagerOp(decl, inputs, attrs, name or decl.name)
    try:
        if decl.shape_rule is not None:
            _check_shapes(decl, args, attrs)
        kwargs = shape_inference.keyword_attrs(kernel, attrs, decl) if keywords else {}
        if has_lists:
            args = shape_inference.grouped(decl.signature.inputs, args, attrs)
        with np.errstate(all="ignore"):
            if wants_context:
                ctx = EagerContext(resources, None, programs)
                ctx.node = EagerNode(op)  # type: ignore[assignment]
                result = kernel(ctx, *args, **kwargs)
            else:
                result = kernel(numpy_namespace, *args, **kwargs)
    except Exception as e:
        raise interpreter.located(e, EagerNode(op), args) from None  # type: ignore[arg-type]
    flat = shape_inference.flatten_outputs(decl.signature, result) if many else [result]
    outputs = []
    for value, dtype in zip(flat, out_dtypes):
        if type(value) is not np.ndarray and dtype.np is not None:
            value = interpreter.as_array(value, dtype.base_dtype.np)
        outputs.append(EagerTensor(value, dtype.base_dtype))
    op._outputs = outputs
    if tapes.active:
        record(op)
    return outputs


def record(op: EagerOp) -> None:
    """Tells the active tapes of an op that ran."""
    for tape in tapes.active:
        tape._record(op)


def _check_shapes(decl: OpDecl, args: list[Any], attrs: dict[str, Any]) -> None:
    from weft.framework import errors
    from weft.framework.shape_rules import ShapeError

    shapes = [getattr(a, "shape", None) for a in args]
    const = shape_inference.ActualInputs(
        shape_inference.grouped(decl.signature.inputs, args, attrs), decl.signature.inputs
    )
    try:
        shape_inference.run_rule(decl, shapes, attrs, const)
    except ShapeError as e:
        raise errors.InvalidArgumentError(None, None, str(e)) from None


def _refuse(tensor: Any, decl: OpDecl) -> Any:
    raise TypeError(
        f"Op {decl.name} runs eagerly, but its input {tensor} is a symbolic tensor of a graph: an EagerTensor "
        "is needed. Use the tensor inside of the function or graph that it belongs to."
    )


apply.execute_eagerly = execute
conversion.make_eager = make  # type: ignore[attr-defined]
__all__ = [
    "EagerContext",
    "EagerOp",
    "context",
    "execute",
    "library",
    "programs",
    "record",
    "resources",
    "tapes",
]
