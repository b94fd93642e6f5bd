"""Runs an op at once, with its reference kernel, and lets the tapes know.

What a call needs to know of the op is worked out at its first call with arguments of a kind, and kept.
"""

from __future__ import annotations

import contextvars
import itertools
import threading
from collections.abc import MutableMapping
from typing import Any

import numpy as np

from weft.eager.eager_op import EagerNode, EagerOp
from weft.eager.resources import UNIQUE, EagerStep, library, programs, resources
from weft.eager.shape_check import ShapeCheck
from weft.eager.tensor import EagerTensor, make
from weft.engine import interpreter
from weft.engine.cell import Cell
from weft.engine.namespace import numpy_namespace
from weft.framework import apply, attributes, conversion, dtypes, errors, registry, shape_inference
from weft.framework.apply import CallPlan
from weft.framework.attributes import Func
from weft.framework.gradients import is_trainable
from weft.framework.recording import recording
from weft.framework.registry import OpDecl
from weft.framework.tensor import Tensor

_numbers = itertools.count()


class _Quiet(threading.local):
    """A context in which NumPy says nothing of overflow and its like, as TensorFlow does."""

    def __init__(self) -> None:
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


_quiet = _Quiet()


class EagerContext(interpreter.Context):
    """A kernel's `ctx` under eager execution."""

    def __init__(self, ready: Ready, node: EagerNode):
        super().__init__(resources, EagerStep(), programs)
        self._ready = ready
        self.node = node  # type: ignore[assignment]

    def random_cell(self, make: Any) -> Cell:
        # A counter for each op with its attributes, seeds among them: the next call goes on.
        node = self.node
        ready = self._ready
        key = (ready.key or ready) if type(node) is EagerNode else node.op
        cell = resources.random.get(key)
        if cell is None:
            _make_room(resources.random)
            cell = resources.random[key] = Cell(node.op._name + "/counter", value=make())
            cell.extra = make
        return cell


_MOST_COUNTERS = 4096  # ops with seeds of their own that are known at once
_MOST_KINDS = 512  # of calls of one op


def _make_room(table: MutableMapping[Any, Any], most: int = _MOST_COUNTERS) -> None:
    """Forgets the older half of a table that is full: a program may give each call another attribute."""
    if len(table) >= most:
        for key in list(table)[: most // 2]:
            del table[key]


class Ready:
    """An op with its attributes settled: what it takes to run it on arrays."""

    __slots__ = (
        "decl",
        "attrs",
        "dtypes",
        "kernel",
        "kwargs",
        "wants_context",
        "has_lists",
        "many",
        "output_np",
        "check",
        "single",
        "ctx",
        "calls_python",
        "makes_resource",
        "grows",
        "plan",
        "key",
    )

    def __init__(
        self, decl: OpDecl, attrs: dict[str, Any], out: list[dtypes.DType], plan: CallPlan
    ):
        kernel = decl.kernel
        if kernel is None:
            raise errors.UnimplementedError(
                None, None, f"Op {decl.name} has no kernel in weft yet."
            )
        sig = decl.signature
        if any(a.is_ref for a in sig.inputs) or any(a.is_ref for a in sig.outputs):
            raise errors.UnimplementedError(
                None,
                None,
                f"{decl.name} op does not support eager execution: it takes or gives a reference. Use resource "
                "variables.",
            )
        self.decl, self.attrs, self.plan = decl, attrs, plan
        self.key: Any = None  # equal for the same op with equal attributes
        self.dtypes = [d.base_dtype for d in out]
        self.output_np = [d.np for d in self.dtypes]
        self.kernel = kernel
        self.kwargs = shape_inference.keyword_attrs(kernel, attrs, decl)
        self.wants_context = registry.wants_context(kernel)
        self.has_lists = any(a.is_list for a in sig.inputs)
        self.many = len(sig.outputs) != 1 or sig.outputs[0].is_list
        self.single = plan.single_output
        self.check = ShapeCheck(decl, attrs) if decl.shape_rule is not None else None
        calls = any(
            type(v) is Func or type(v) is list and any(type(f) is Func for f in v)
            for v in attrs.values()
        )
        # These may come back to eager execution before they are done.
        self.calls_python = calls or decl.host is True
        self.makes_resource = (
            dtypes.resource in self.dtypes
            and self.wants_context
            and not any(a.dtype is dtypes.resource for a in sig.inputs)
        )
        node = EagerNode(EagerOp(decl, [], [], attrs))
        self.ctx = EagerContext(self, node) if self.wants_context else None
        rule = registry.gradients.get(decl.name, decl)
        self.grows = rule is not None and any(d in _TRAINABLE for d in self.dtypes)

    def context(self, inputs: list[Any], name: str | None) -> EagerContext:
        if not (self.calls_python or self.makes_resource):
            return self.ctx  # type: ignore[return-value]
        name = name or self.decl.name
        if self.makes_resource:
            name = f"{name}{UNIQUE}{next(_numbers)}"
        return EagerContext(self, EagerNode(EagerOp(self.decl, inputs, [], self.attrs, name)))


_TRAINABLE = frozenset(
    d
    for d in vars(dtypes).values()
    if isinstance(d, dtypes.DType) and is_trainable(EagerTensor(None, d))
)


def call(decl: OpDecl, args: tuple, kwargs: dict[str, Any], name: str | None) -> Any:
    """Calls an op with inputs, then attributes, by position or by name; gives what the caller sees."""
    plan = decl._call_plan
    if plan is None:
        plan = apply.call_plan(decl)
    known = inputs = None
    key: Any = None
    if len(args) < len(plan.inputs):
        rest = plan.input_names[len(args) :]
        if all(n in kwargs for n in rest):
            kwargs = dict(kwargs)
            args = (*args, *[kwargs.pop(n) for n in rest])
    if len(args) == len(plan.inputs):
        parts: list[Any] = []
        plain = True
        for a in args:
            kind = type(a)
            if kind is EagerTensor:
                parts.append(a._dtype)
            elif kind is np.ndarray and a.dtype.kind != "O":
                parts.append(a.dtype)
                plain = False
            elif kind is float or kind is int or kind is bool:
                parts.append(kind)
                plain = False
            elif hasattr(kind, "_dense_var_to_tensor"):
                return call(decl, tuple([_value(v) for v in args]), kwargs, name)
            else:
                break
        else:
            for name_, value in kwargs.items():
                parts += (name_, type(value), value)
            key = tuple(parts)
            try:
                known = decl._eager_calls.get(key)
            except TypeError:  # an attribute that cannot be hashed
                key = None
            if known is not None:
                if plain:
                    inputs = list(args)
                else:
                    inputs = _as_tensors(args, known[1])
    if known is None or inputs is None:
        ready, inputs = _resolve(decl, plan, args, kwargs, name)
        if key is not None and _is_regular(args, inputs, kwargs, plan):
            _make_room(decl._eager_calls, _MOST_KINDS)
            decl._eager_calls[key] = (ready, [t._dtype.np for t in inputs])
    else:
        ready = known[0]
    outputs = run(ready, inputs, name)
    if ready.single:
        return outputs[0]
    return apply.pack(decl, (None, outputs, ready.attrs), plan)


def _value(x: Any) -> Any:
    """A variable's value; anything else as it is."""
    return x._dense_var_to_tensor() if hasattr(type(x), "_dense_var_to_tensor") else x


def _as_tensors(args: tuple, kinds: list[Any]) -> list[Any] | None:
    """Arrays and numbers of known kinds as tensors."""
    out = []
    try:
        for a, kind in zip(args, kinds):
            out.append(
                a
                if type(a) is EagerTensor
                else EagerTensor(np.array(a, kind), dtypes.as_dtype(kind))
            )
    except (OverflowError, ValueError, TypeError):
        return None
    return out


def _is_regular(args: tuple, inputs: list[Any], kwargs: dict[str, Any], plan: CallPlan) -> bool:
    """Whether the next call with arguments of the same kinds and attributes is converted as this one was."""
    if len(args) != len(inputs) or any(k not in plan.explicit_names for k in kwargs):
        return False
    for a, t in zip(args, inputs):
        if type(a) is np.ndarray:
            if a.dtype != t._dtype.np or t._dtype.is_quantized:
                return False
        elif type(a) is not EagerTensor:
            kind = t._dtype
            ok = (
                kind.is_floating
                if type(a) is float
                else kind.is_bool
                if type(a) is bool
                else (kind.is_floating or kind.is_integer and not kind.is_quantized)
            )
            if not ok:
                return False
    return True


def _resolve(
    decl: OpDecl, plan: CallPlan, args: tuple, kwargs: dict[str, Any], name: str | None
) -> tuple[Ready, list]:
    values, given = apply.bind(decl, plan, args, kwargs)
    attrs = apply.given_attrs(decl, given)
    inputs = apply.convert_inputs(decl, plan.inputs, values, attrs, name)
    apply.fill_defaults(decl, attrs)
    return ready_for(decl, plan, attrs), inputs


def ready_for(decl: OpDecl, plan: CallPlan, attrs: dict[str, Any]) -> Ready:
    """What runs an op with these attributes: the same for the same attributes."""
    key: Any = ("attrs", *[(k, _hashable(attrs[k])) for k in sorted(attrs)])
    try:
        found = decl._eager_calls.get(key)
    except TypeError:
        key = found = None
    if found is None:
        out = apply.output_dtypes(decl.signature.outputs, attrs)
        found = Ready(decl, attrs, out, plan)
        if key is not None:
            _make_room(decl._eager_calls, _MOST_KINDS)
            found.key = (decl.name, key)
            decl._eager_calls[key] = found
    return found


def _hashable(value: Any) -> Any:
    if type(value) is list:
        return tuple(_hashable(v) for v in value)
    return (type(value), value)


def run(ready: Ready, inputs: list[Any], name: str | None = None) -> list[Any]:
    """Runs an op on concrete tensors; gives concrete tensors."""
    args = []
    try:
        for t in inputs:
            a = t._array
            args.append(a if type(a) is np.ndarray or type(a) is Cell else t._host())
    except AttributeError:
        _refuse(inputs[len(args)], ready.decl)
    try:
        check = ready.check
        if check is not None and not check.waits:
            check.run(args)
        full = (
            shape_inference.grouped(ready.decl.signature.inputs, args, ready.attrs)
            if ready.has_lists
            else args
        )
        if ready.ctx is None:
            result = _quiet.run(ready.kernel, numpy_namespace, *full, **ready.kwargs)
        elif ready.calls_python:
            with np.errstate(all="ignore"):
                result = ready.kernel(ready.context(inputs, name), *full, **ready.kwargs)
        else:
            result = _quiet.run(ready.kernel, ready.context(inputs, name), *full, **ready.kwargs)
    except Exception as e:
        raise _error(e, ready, inputs, args, name) from None
    if ready.many:
        flat = shape_inference.flatten_outputs(ready.decl.signature, result)
        outputs = []
        for value, dtype in zip(flat, ready.dtypes):
            if type(value) is not np.ndarray and dtype.np is not None:
                value = interpreter.as_array(value, dtype.np)
            outputs.append(EagerTensor(value, dtype))
    else:
        if type(result) is not np.ndarray:
            wanted = ready.output_np[0]
            if isinstance(result, np.generic) and result.dtype.kind != "V":
                result = np.asarray(result, wanted)
            elif wanted is not None:
                result = interpreter.as_array(result, wanted)
        outputs = [EagerTensor(result, ready.dtypes[0])]
    if ready.makes_resource:
        outputs[0]._id  # noqa: B018  numbers resources in the order in which they are made
    if recording.tapes and ready.grows:
        _record(ready, inputs, outputs, name)
    return outputs


def _record(ready: Ready, inputs: list[Any], outputs: list[Any], name: str | None) -> None:
    op = None
    for tape in recording.tapes:
        watched = tape._watched
        for t in inputs:
            if id(t) in watched:
                if op is None:
                    op = EagerOp(ready.decl, inputs, outputs, ready.attrs, name or "")
                tape._keep(op)
                break


def _error(
    e: Exception, ready: Ready, inputs: list[Any], args: list[Any], name: str | None
) -> Exception:
    if ready.check is not None and ready.check.waits and not isinstance(e, errors.OpError):
        try:
            ready.check.run(args)
        except errors.OpError as better:
            e = better
    kind = ready.decl.name
    op = EagerOp(ready.decl, inputs, [], ready.attrs, name or "")
    found = interpreter.located(e, EagerNode(op), args)  # type: ignore[arg-type]
    if (
        isinstance(found, errors.OpError)
        and found is not e
        and not getattr(e, "keeps_place", False)
    ):
        text = f"{found.message} [Op:{kind}]" + (f" name: {name}" if name else "")
        return type(found)(None, None, text)
    return found


def _refuse(tensor: Any, decl: OpDecl) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Op {decl.name} runs eagerly on tensors, not on {tensor!r}.")
    raise TypeError(
        f'An op outside of the function building code is being passed a "Graph" tensor: op {decl.name} runs eagerly, '
        f"but its input {tensor} is symbolic. Use the tensor inside of the function or graph that it belongs to."
    )


apply.call_eagerly = call
conversion.make_eager = make
__all__ = [
    "EagerContext",
    "EagerOp",
    "attributes",
    "call",
    "library",
    "programs",
    "resources",
    "run",
]
