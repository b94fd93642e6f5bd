"""Calling an op: converts inputs, resolves dtypes and attributes, then adds the op to the graph, or runs it.

One algorithm serves graph building and eager execution; they differ in what a value is converted to and in
the last step.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from weft.framework import attributes, context, conversion, dtypes, errors
from weft.framework.recording import record, recording
from weft.framework.registry import OpDecl
from weft.framework.signature import REQUIRED, Arg
from weft.framework.tensor import Tensor

# Calls an op at once: (decl, args, kwargs, name) -> what the caller sees. Set by eager execution.
call_eagerly: Callable[..., Any] | None = None


class CallPlan:
    """What calling an op needs of its signature, taken out once."""

    __slots__ = ("inputs", "input_names", "explicit", "explicit_names", "single_output", "defaults")

    def __init__(self, decl: OpDecl):
        sig = decl.signature
        self.inputs = sig.inputs
        self.input_names = [a.name for a in sig.inputs]
        self.explicit = sig.explicit_attrs
        self.explicit_names = {a.name for a in self.explicit}
        self.single_output = len(sig.outputs) == 1 and not sig.outputs[0].is_list
        self.defaults = {a.name: a for a in sig.attrs.values() if a.default is not REQUIRED}


def call(decl: OpDecl, args: tuple, kwargs: dict[str, Any], name: str | None) -> Any:
    """Calls an op with inputs, then attributes, by position or by name."""
    if context.current.eager:
        if call_eagerly is None:
            raise RuntimeError("Eager execution is on, but its executor is not loaded.")
        return call_eagerly(decl, args, kwargs, name)
    plan = call_plan(decl)
    inputs, given = bind(decl, plan, args, kwargs)
    return pack(decl, apply(decl, inputs, given, name), plan)


def call_plan(decl: OpDecl) -> CallPlan:
    plan = decl._call_plan
    if plan is None:
        plan = decl._call_plan = CallPlan(decl)
    return plan


def bind(decl: OpDecl, plan: CallPlan, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, dict]:
    """The values of the inputs, in order, and the attributes of a call."""
    if len(args) == len(plan.inputs) and all(k in plan.explicit_names for k in kwargs):
        return args, kwargs
    return _bind(decl, plan, args, kwargs)


def _bind(
    decl: OpDecl, plan: CallPlan, args: tuple, kwargs: dict[str, Any]
) -> tuple[list[Any], dict]:
    order = plan.input_names + [a.name for a in plan.explicit]
    if len(args) > len(order):
        raise TypeError(f"{decl.name} takes at most {len(order)} arguments, got {len(args)}.")
    bound = dict(zip(order, args))
    for key, value in kwargs.items():
        if key in bound:
            raise TypeError(f"{decl.name} got multiple values for argument '{key}'.")
        if key not in order:
            if key + "_" in order:
                key += "_"
            elif key not in decl.signature.attrs:
                raise TypeError(
                    f"{decl.name} got an unexpected keyword argument '{key}'; it takes {', '.join(order)}."
                )
        bound[key] = value
    missing = [n for n in plan.input_names if n not in bound]
    if missing:
        raise TypeError(f"No argument for input {missing[0]} found in {decl.name}.")
    return [bound.pop(n) for n in plan.input_names], bound


def pack(decl: OpDecl, result: Any, plan: CallPlan) -> Any:
    """The outputs as a caller sees them: a tensor, a list, a named tuple; the operation if it has none."""
    sig = decl.signature
    if not sig.outputs:
        return result[0]
    flat = result[1]
    if plan.single_output:
        return flat[0]
    from weft.framework.shape_inference import grouped

    attrs = result[2]
    items = grouped(sig.outputs, flat, attrs)
    if len(items) == 1:
        return items[0]
    return decl_tuple(decl)(*items)


_tuples: dict[str, Any] = {}


def decl_tuple(decl: OpDecl) -> Any:
    """The named tuple class of an op with several outputs."""
    if decl.name not in _tuples:
        from collections import namedtuple

        _tuples[decl.name] = namedtuple(decl.name, [a.name for a in decl.signature.outputs])
    return _tuples[decl.name]


def apply(decl: OpDecl, values: Any, given: dict[str, Any], name: str | None) -> tuple:
    """Adds an op with one value per input argument to the graph; gives (operation, flat outputs, attrs)."""
    attrs = given_attrs(decl, given)
    inputs = decl.signature.inputs
    graph = context.get_default_graph()
    if not inputs:
        flat = []
    elif _all_plain_tensors(inputs, values):
        flat = convert_inputs(decl, inputs, values, attrs)
    else:
        with graph.name_scope(name or decl.name) as scope:
            flat = convert_inputs(decl, inputs, values, attrs)
        name = scope
    fill_defaults(decl, attrs)
    out_dtypes = output_dtypes(decl.signature.outputs, attrs)
    if decl.takes_references:
        op = _add_beside_references(decl, flat, attrs, out_dtypes, name)
    else:
        op = graph.add_op(decl, flat, attrs, out_dtypes, name, site_depth=3)
    if recording.tapes:
        record(op)
    return op, op._outputs, attrs


def _add_beside_references(
    decl: OpDecl, flat: list[Any], attrs: dict[str, Any], out_dtypes: list[Any], name: str | None
) -> Any:
    """Adds an op that takes references: it stands on the device of what they refer to."""
    graph = context.get_default_graph()
    with contextlib.ExitStack() as stack:
        position = 0
        for arg in decl.signature.inputs:
            count = attrs[arg.number_attr] if arg.number_attr is not None else 1
            if arg.is_ref:
                for tensor in flat[position : position + count]:
                    if tensor.graph is graph:
                        stack.enter_context(graph.colocate_with(tensor.op))
            position += count
        return graph.add_op(decl, flat, attrs, out_dtypes, name, site_depth=4)


def given_attrs(decl: OpDecl, given: dict[str, Any]) -> dict[str, Any]:
    """The attributes that a caller gave, converted."""
    sig = decl.signature
    attrs: dict[str, Any] = {}
    for key, value in given.items():
        attr = sig.attrs.get(key)
        if attr is None:
            raise TypeError(f"apply_op() got unexpected keyword arguments: {key} (op {decl.name})")
        if value is None:
            if attr.default is not REQUIRED and attr.kind != "shape":
                continue  # TensorFlow's wrappers give None for a default
            if attr.kind != "shape":
                raise TypeError(f"Missing required positional argument: {key} of op {decl.name}")
        attrs[key] = attributes.convert(value, attr, decl.name)
    return attrs


def fill_defaults(decl: OpDecl, attrs: dict[str, Any]) -> None:
    """Adds the attributes that neither the caller nor the inputs gave."""
    for attr in decl.signature.attrs.values():
        if attr.name not in attrs:
            if attr.default is REQUIRED:
                raise TypeError(f"No argument for attr {attr.name} found in op {decl.name}.")
            attrs[attr.name] = list(attr.default) if attr.is_list else attr.default


def _all_plain_tensors(args: Any, values: Any) -> bool:
    for value in values:
        if not isinstance(value, Tensor):
            if (
                isinstance(value, (list, tuple))
                and value
                and all(isinstance(v, Tensor) for v in value)
            ):
                continue
            return False
    return True


def output_dtypes(args: Any, attrs: dict[str, Any]) -> list[dtypes.DType]:
    """The dtypes of all outputs, flat; references where the signature says so."""
    out: list[dtypes.DType] = []
    for arg in args:
        if arg.type_list_attr is not None:
            types = list(attrs[arg.type_list_attr])
        else:
            dtype = arg.dtype if arg.dtype is not None else attrs[arg.type_attr]
            types = [dtype] * (attrs[arg.number_attr] if arg.number_attr is not None else 1)
        out.extend([t._as_ref for t in types] if arg.is_ref else types)
    return out


def convert_inputs(
    decl: OpDecl,
    args: tuple[Arg, ...],
    values: Any,
    attrs: dict[str, Any],
    name: str | None = None,
) -> list[Any]:
    """The inputs as a flat list of tensors; the attributes that follow from them are added to `attrs`."""
    flat: list[Any] = []
    for arg, value in zip(args, values):
        if arg.is_list:
            flat.extend(_convert_list(decl, arg, value, attrs))
            continue
        wanted = arg.dtype if arg.dtype is not None else attrs.get(arg.type_attr or "")
        if isinstance(value, Tensor) and not arg.is_ref:
            tensor = value
        else:
            tensor = _convert_one(decl, arg, value, wanted, attrs, name)
        base = tensor._dtype.base_dtype
        if wanted is None:
            attr = decl.signature.attrs[arg.type_attr]  # type: ignore[index]
            if attr.allowed is not None and base not in attr.allowed:
                attributes.check_dtype(base, attr, decl.name, arg.name)
            attrs[arg.type_attr] = base  # type: ignore[index]
        elif base is not wanted:
            _mismatch(decl, arg, tensor, wanted, attrs, name)
        if arg.is_ref and not tensor._dtype._is_ref_dtype:
            raise TypeError(
                f"'{decl.name}' Op requires that input '{arg.name}' be a mutable tensor (e.g.: a tf.Variable)"
            )
        flat.append(tensor)
    return flat


def _convert_one(
    decl: OpDecl, arg: Arg, value: Any, wanted: Any, attrs: dict[str, Any], name: str | None
) -> Any:
    preferred = None
    if wanted is None:
        default = decl.signature.attrs[arg.type_attr].default  # type: ignore[index]
        preferred = None if default is REQUIRED else default
    try:
        return conversion.convert_to_tensor(
            value, dtype=wanted, name=arg.name, preferred_dtype=preferred, as_ref=arg.is_ref
        )
    except TypeError as e:
        if wanted is None:
            raise
        raise TypeError(
            f"Expected {wanted.name} passed to parameter '{arg.name}' of op '{decl.name}', got "
            f"{value!r} of type '{type(value).__name__}' instead. Error: {e}"
        ) from None
    except ValueError as e:
        if wanted is None or not str(e).startswith("Tensor conversion requested"):
            raise
        found = conversion.convert_to_tensor(value, as_ref=arg.is_ref)
        _mismatch(decl, arg, found, wanted, attrs, name)


def _mismatch(
    decl: OpDecl,
    arg: Arg,
    tensor: Any,
    wanted: dtypes.DType,
    attrs: dict[str, Any],
    name: str | None,
) -> None:
    found = tensor.dtype.base_dtype.name
    if context.current.eager:  # TensorFlow finds it as it runs the op, and says so in other words
        where = f" name: {name}" if name else ""
        raise errors.InvalidArgumentError(
            None,
            None,
            f"cannot compute {decl.name} as input #{decl.signature.inputs.index(arg)}(zero-based) was "
            f"expected to be a {_in_messages(wanted.name)} tensor but is a {_in_messages(found)} tensor "
            f"[Op:{decl.name}]{where}",
        )
    prefix = f"Input '{arg.name}' of '{decl.name}' Op has type {found} that does not match"
    if arg.type_attr is None:
        raise TypeError(f"{prefix} expected type of {wanted.name}.")
    for other in decl.signature.inputs:
        if other is arg:
            break
        if other.type_attr == arg.type_attr:
            raise TypeError(f"{prefix} type {wanted.name} of argument '{other.name}'.")
    raise TypeError(f"{prefix} type {wanted.name} of attr '{arg.type_attr}'.")


def _in_messages(dtype_name: str) -> str:
    """What a dtype is called in the messages of the runtime."""
    return {"float32": "float", "float64": "double", "float16": "half"}.get(dtype_name, dtype_name)


def _convert_list(decl: OpDecl, arg: Arg, values: Any, attrs: dict[str, Any]) -> list[Any]:
    if not isinstance(values, (list, tuple)):
        if isinstance(values, Tensor) and context.current.eager:
            values = list(values)
        else:
            raise TypeError(
                f"Expected list for '{arg.name}' argument to '{decl.name}' Op, not {values!r}."
            )
    if arg.type_list_attr is not None:
        return _convert_mixed_list(decl, arg, values, attrs)
    wanted = arg.dtype if arg.dtype is not None else attrs.get(arg.type_attr or "")
    if wanted is None:
        wanted = next((v.dtype.base_dtype for v in values if isinstance(v, Tensor)), None)
    preferred = None
    if wanted is None:
        default = decl.signature.attrs[arg.type_attr].default  # type: ignore[index]
        preferred = None if default is REQUIRED else default
    tensors = []
    for i, value in enumerate(values):
        try:
            tensor = conversion.convert_to_tensor(
                value,
                dtype=wanted,
                name=f"{arg.name}_{i}",
                preferred_dtype=preferred,
                as_ref=arg.is_ref,
            )
        except (TypeError, ValueError) as e:
            got = []
            for v in values:
                try:
                    got.append(conversion.convert_to_tensor(v).dtype.name)
                except (TypeError, ValueError):
                    got.append("<NOT CONVERTIBLE TO TENSOR>")
            what = f"that don't all match: {got}" if wanted is None else f"{got} that don't match"
            expected = "" if wanted is None else f" expected type of {wanted.name}"
            raise TypeError(
                f"Tensors in list passed to '{arg.name}' of '{decl.name}' Op have types {what}{expected}. ({e})"
            ) from None
        wanted = wanted or tensor.dtype.base_dtype
        tensors.append(tensor)
    count = arg.number_attr
    assert count is not None
    if count in attrs and attrs[count] != len(tensors):
        raise ValueError(
            f"List argument '{arg.name}' to '{decl.name}' Op with length {len(tensors)} must match length "
            f"{attrs[count]} of argument '{_first_list(decl, count)}'."
        )
    number = decl.signature.attrs[count]
    if number.minimum is not None and len(tensors) < number.minimum:
        raise ValueError(
            f"List argument '{arg.name}' to '{decl.name}' Op with length {len(tensors)} shorter than minimum "
            f"length {number.minimum}."
        )
    attrs[count] = len(tensors)
    if arg.type_attr is not None and arg.type_attr not in attrs:
        if wanted is None:
            attr = decl.signature.attrs[arg.type_attr]
            if attr.default is REQUIRED:
                raise TypeError(
                    f"Don't know how to infer type variable {arg.type_attr} from empty input list passed to "
                    f"input '{arg.name}' of '{decl.name}' Op."
                )
            wanted = attr.default
        attributes.check_dtype(wanted, decl.signature.attrs[arg.type_attr], decl.name, arg.name)
        attrs[arg.type_attr] = wanted
    return tensors


def _first_list(decl: OpDecl, count: str) -> str:
    return next(a.name for a in decl.signature.inputs if a.number_attr == count)


def _convert_mixed_list(decl: OpDecl, arg: Arg, values: Any, attrs: dict[str, Any]) -> list[Any]:
    name = arg.type_list_attr
    assert name is not None
    wanted = attrs.get(name)
    if wanted is not None and len(wanted) != len(values):
        raise ValueError(
            f"List argument '{arg.name}' to '{decl.name}' Op with length {len(values)} must match length "
            f"{len(wanted)} of attr '{name}'."
        )
    attr = decl.signature.attrs[name]
    tensors = [
        conversion.convert_to_tensor(
            v,
            dtype=None if wanted is None else wanted[i],
            name=f"{arg.name}_{i}",
            as_ref=arg.is_ref,
        )
        for i, v in enumerate(values)
    ]
    if attr.minimum is not None and len(tensors) < attr.minimum:
        raise ValueError(
            f"List argument '{arg.name}' to '{decl.name}' Op with length {len(tensors)} shorter than minimum "
            f"length {attr.minimum}."
        )
    types = [t.dtype.base_dtype for t in tensors]
    for dtype in types:
        attributes.check_dtype(dtype, attr, decl.name, arg.name)
    attrs[name] = types
    return tensors
