"""Static shapes: runs an op's shape rule over the static shapes of its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.framework import errors, registry
from weft.framework.shape_rules import Shape, ShapeError, text

if TYPE_CHECKING:
    from weft.framework.operation import Operation
    from weft.framework.registry import OpDecl
    from weft.framework.signature import Signature


class ConstantInputs:
    """What a shape rule may ask about the values of inputs: `const("axis")`, `const.shape("size")`."""

    actual = False  # whether these are the values of a run, whose kernel looks at them as well
    __slots__ = ("_tensors", "_inputs")

    def __init__(self, tensors: list[Any], op_inputs: Any):
        self._tensors, self._inputs = tensors, op_inputs

    def _tensor(self, which: str | int) -> Any:
        if isinstance(which, int):
            return self._tensors[which]
        for i, arg in enumerate(self._inputs):
            if arg.name == which:
                return self._tensors[i]
        raise KeyError(which)

    def __call__(self, which: str | int) -> Any:
        """The value as a NumPy array, or None where it is not known while the graph is built."""
        from weft.framework import constant_value

        tensor = self._tensor(which)
        return None if tensor is None else constant_value.constant_value(tensor)

    def each(self, which: str | int, k: int) -> Any:
        """The value of item k of an input that is a list."""
        from weft.framework import constant_value

        return constant_value.constant_value(self._tensor(which)[k])

    def shape(self, which: str | int) -> Shape:
        """The value of a vector of sizes, read as a shape: an unknown element, or -1, is None."""
        from weft.framework import constant_value

        tensor = self._tensor(which)
        return None if tensor is None else constant_value.constant_value_as_shape(tensor)

    def elements(self, which: str | int) -> list[int | None] | None:
        """The elements of a vector of integers, None for each that is not known; None if nothing is."""
        from weft.framework.known_elements import known_elements

        tensor = self._tensor(which)
        return None if tensor is None else known_elements(tensor)

    def rows(self, which: str | int) -> list[list[int | None]] | None:
        """The rows of a matrix of integers, None for each element that is not known."""
        from weft.framework.known_elements import known_rows

        tensor = self._tensor(which)
        return None if tensor is None else known_rows(tensor)

    def handle(self, which: str | int) -> Shape:
        """The shape of the variable behind a resource."""
        from weft.framework.handle_data import handle_data

        known = handle_data(self._tensor(which))
        return None if known is None else known.dims

    def origin(self, which: str | int) -> Any:
        """The operation that makes a resource."""
        from weft.framework.handle_data import origin

        return origin(self._tensor(which))

    def handle_dtype(self, which: str | int) -> Any:
        """The dtype of the variable behind a resource."""
        from weft.framework.handle_data import handle_data

        known = handle_data(self._tensor(which))
        return None if known is None else known.dtype


class ActualInputs(ConstantInputs):
    """The same over arrays, as the rule runs again before a kernel."""

    actual = True

    def __call__(self, which: str | int) -> Any:
        return self._tensor(which)

    def each(self, which: str | int, k: int) -> Any:
        return self._tensor(which)[k]

    def shape(self, which: str | int) -> Shape:
        value = self._tensor(which)
        return None if value is None else tuple(None if d < 0 else int(d) for d in value)

    def elements(self, which: str | int) -> list[int | None] | None:
        value = self(which)
        return None if value is None else value.tolist()

    def rows(self, which: str | int) -> list[list[int | None]] | None:
        value = self(which)
        return None if value is None else value.tolist()

    def handle(self, which: str | int) -> Shape:
        return None  # kernels check the value itself: it need not have the shape that was declared

    def handle_dtype(self, which: str | int) -> Any:
        return None


def grouped(args: Any, flat: list[Any], attrs: dict[str, Any]) -> list[Any]:
    """One item for an argument: a value, or a list of values where the argument is a list."""
    out, i = [], 0
    for arg in args:
        if arg.number_attr is not None:
            n = attrs[arg.number_attr]
            out.append(flat[i : i + n])
            i += n
        elif arg.type_list_attr is not None:
            n = len(attrs[arg.type_list_attr])
            out.append(flat[i : i + n])
            i += n
        else:
            out.append(flat[i])
            i += 1
    return out


def keyword_attrs(function: Any, attrs: dict[str, Any], decl: OpDecl) -> dict[str, Any]:
    """The attributes that a kernel or rule asks for by name; strings as `str`."""
    out = {}
    for name in registry.wanted_keywords(function):
        if name == "const":
            continue
        if name in attrs:
            value = attrs[name]
        else:
            attr = decl.signature.attrs.get(name)
            if attr is None:
                raise TypeError(
                    f"A function of op {decl.name} asks for an attribute {name!r} that it lacks."
                )
            value = attr.default
        out[name] = readable(value)
    return out


def readable(value: Any) -> Any:
    """An attribute as kernels like it: bytes that are text as str."""
    if type(value) is bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    if type(value) is list and value and type(value[0]) is bytes:
        return [readable(v) for v in value]
    return value


def run_rule(
    decl: OpDecl, shapes: list[Shape], attrs: dict[str, Any], const: ConstantInputs | None
) -> list[Shape]:
    """The shapes of all outputs, flat; raises ShapeError where the rule does."""
    rule = decl.shape_rule
    assert rule is not None
    sig = decl.signature
    keywords = registry.wanted_keywords(rule)
    kwargs = keyword_attrs(rule, attrs, decl) if keywords else {}
    if "const" in keywords:
        kwargs["const"] = const
    if any(a.number_attr or a.type_list_attr for a in sig.inputs):
        result = rule(*grouped(sig.inputs, shapes, attrs), **kwargs)
    else:
        result = rule(*shapes, **kwargs)
    return flatten_outputs(sig, result)


def flatten_outputs(sig: Signature, result: Any) -> list[Any]:
    """What a rule or kernel returned for the output arguments, as a flat list."""
    outputs = sig.outputs
    if len(outputs) == 1:
        return list(result) if outputs[0].is_list else [result]
    flat: list[Any] = []
    for arg, item in zip(outputs, result or ()):
        if arg.is_list:
            flat.extend(item)
        else:
            flat.append(item)
    return flat


def infer(op: Operation) -> None:
    """Sets the static shapes of an operation's outputs; ValueError where its inputs cannot be right."""
    decl = op._decl
    if decl.shape_rule is None:
        return
    tensors = op._inputs
    attrs = op._attrs
    const = None
    if "const" in registry.wanted_keywords(decl.shape_rule):
        const = ConstantInputs(
            grouped(decl.signature.inputs, tensors, attrs), decl.signature.inputs
        )
    try:
        shapes = run_rule(decl, [t._dims for t in tensors], attrs, const)
    except (ShapeError, errors.OpError) as e:
        given = ", ".join(text(t._dims) for t in tensors)
        where = f"for '{op._name}' (op: '{decl.name}') with input shapes: {given}."
        if isinstance(e, errors.OpError):
            raise type(e)(None, None, f"{e.message} {where}") from None
        raise ValueError(f"{e} {where}") from None
    for tensor, shape in zip(op._outputs, shapes):
        tensor._dims = shape
