"""What a Python function takes: its arguments brought into one form, checked against a signature, as a key."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import conversion, nest
from weft.framework.tensor import Tensor
from weft.framework.type_spec import TensorSpec, TypeSpec, type_spec_from_value


class FunctionSpec:
    """The parameters of a Python function, and the input signature it is traced for."""

    def __init__(self, function: Callable, input_signature: Any, is_method: bool = False):
        self.function = function
        spec, fixed = _argspec(function)
        names = list(spec.args)
        if is_method or inspect.ismethod(function):
            names = names[1:]
        self.fullargspec = spec
        self.arg_names = names
        self.vararg_name = spec.varargs
        self.takes_any_keyword = spec.varkw is not None
        self.defaults = dict(
            zip(names[len(names) - len(spec.defaults or ()) :], spec.defaults or ())
        )
        self.keyword_defaults = dict(spec.kwonlydefaults or {})
        self.keyword_only = list(spec.kwonlyargs)
        self.defaults.update({k: v for k, v in fixed.items() if k in names})
        self.input_signature: tuple | None = None
        if input_signature is not None:
            if spec.kwonlyargs:
                raise ValueError(
                    "Cannot define a TensorFlow function from a Python function with keyword arguments when "
                    "input_signature is provided."
                )
            if not isinstance(input_signature, (tuple, list)):
                raise TypeError(
                    f"input_signature must be either a tuple or a list, received {type(input_signature)}"
                )
            self.input_signature = tuple(input_signature)
            self.flat_signature = flatten_specs(self.input_signature)

    def canonical(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments as positional ones where the function has a name for them, arrays as tensors."""
        signature = self.input_signature
        names = self.arg_names
        if signature is not None:
            if len(args) > len(signature):
                raise TypeError(
                    f"When input_signature is provided, only pass arguments covered by it. Received {len(args)} "
                    "argument(s)."
                )
            for name in kwargs:
                if name not in names:
                    raise TypeError(f"Function got an unexpected keyword argument {name}")
                if names.index(name) >= len(signature):
                    raise TypeError(
                        "When input_signature is provided, only pass arguments covered by it. Received argument "
                        f"{name}."
                    )
        kwargs = {**self.keyword_defaults, **kwargs}
        if kwargs or self.defaults:
            args = self._bound(args, kwargs)
        if signature is not None:
            return self._conforming(args), {}
        flat = nest.flatten([args, kwargs])
        if any(type(v) is np.ndarray for v in flat):
            flat = [conversion.convert_to_tensor(v) if type(v) is np.ndarray else v for v in flat]
            args, kwargs = nest.pack_sequence_as([args, kwargs], flat)
        return tuple(args), kwargs

    def _bound(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        names = self.arg_names
        bound = list(args)
        for name in names[: len(args)]:
            if name in kwargs:
                raise TypeError(f"{self.name}() got multiple values for argument '{name}'")
        for name in names[len(args) :]:
            if name in kwargs:
                bound.append(kwargs.pop(name))
            elif name in self.defaults:
                bound.append(self.defaults[name])
            else:
                if self.input_signature is None and any(n in kwargs for n in names):
                    raise TypeError(
                        f"{self.name}() missing 1 required positional argument: '{name}'"
                    )
                break
        return tuple(bound)

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def _conforming(self, args: tuple) -> tuple:
        signature = self.input_signature
        assert signature is not None
        given, rest = args[: len(signature)], args[len(signature) :]

        def message(what: str) -> str:
            values = ",\n    ".join(map(str, args))
            specs = ",\n    ".join(map(str, signature))
            return f"{what}:\n  inputs: (\n    {values})\n  input_signature: (\n    {specs})"

        try:
            flat = flatten_up_to(signature, given)
        except (ValueError, TypeError):
            raise ValueError(
                message("Structure of Python function inputs does not match input_signature")
            ) from None
        out = []
        for value, spec in zip(flat, self.flat_signature):
            if not _is_tensor_like(value) and isinstance(spec, TensorSpec):
                try:
                    value = conversion.convert_to_tensor(value, dtype_hint=spec.dtype)
                except (ValueError, TypeError):
                    raise ValueError(
                        message(
                            "When input_signature is provided, all inputs to the Python function must be "
                            "convertible to tensors"
                        )
                    ) from None
            out.append(value)
        if any(not spec.is_compatible_with(v) for spec, v in zip(self.flat_signature, out)):
            raise ValueError(message("Python inputs incompatible with input_signature"))
        return (*nest.pack_sequence_as(_marks(signature), out), *rest)


def _argspec(function: Callable) -> tuple[inspect.FullArgSpec, dict[str, Any]]:
    """The parameters of a function; of a partial one those that are open, with what it fixes by name."""
    fixed: dict[str, Any] = {}
    positional = 0
    while isinstance(function, functools.partial):
        fixed = {**function.keywords, **fixed}
        positional += len(function.args)
        function = function.func
    target = function
    if not inspect.isroutine(function) and not inspect.isclass(function):
        target = type(function).__call__
        positional += 1
    try:
        spec = inspect.getfullargspec(inspect.unwrap(target))
    except TypeError:
        return inspect.FullArgSpec([], "args", "kwargs", None, [], None, {}), fixed
    if positional or fixed:
        args = spec.args[positional:]
        # What follows a parameter that is fixed can be given by name only.
        args = args[: next((i for i, name in enumerate(args) if name in fixed), len(args))]
        known = dict(zip(reversed(spec.args), reversed(spec.defaults or ())))
        defaults = tuple(known[name] for name in args if name in known) or None
        spec = spec._replace(args=args, defaults=defaults)
    return spec, fixed


def _is_tensor_like(value: Any) -> bool:
    return isinstance(value, Tensor) or nest.is_composite(value) or hasattr(value, "handle")


def flatten_specs(structure: Any) -> list[Any]:
    """The specs of a structure."""
    flat = nest.flatten(structure)
    for item in flat:
        if not isinstance(item, TypeSpec):
            raise TypeError(
                f"Invalid input_signature {structure}; input_signature must be a possibly nested sequence of "
                "TensorSpec objects."
            )
    return flat


def _marks(structure: Any) -> Any:
    return nest.map_structure(lambda s: 0, structure)


def flatten_up_to(shallow: Any, deep: Any) -> list[Any]:
    shallow, deep = _listed(shallow), _listed(deep)
    if nest.is_nested(deep) and nest.is_nested(shallow):
        if len(shallow) != len(deep):
            raise ValueError("The structures do not have the same length.")
        if isinstance(shallow, dict):
            if set(shallow) != set(deep):
                raise ValueError("The structures do not have the same keys.")
            return [v for k in sorted(shallow) for v in flatten_up_to(shallow[k], deep[k])]
        if isinstance(deep, dict):
            raise ValueError("The structures do not have the same type.")
        return [v for s, d in zip(shallow, deep) for v in flatten_up_to(s, d)]
    if nest.is_nested(shallow):
        raise ValueError("The structures differ.")
    return [deep]


def _listed(x: Any) -> Any:
    return list(x) if isinstance(x, tuple) else x


# -- keys of a cache ---------------------------------------------------------------------------------------


class _ById:
    """Stands for an object that cannot be compared, without keeping it."""

    __slots__ = ("reference", "number")

    def __init__(self, item: Any):
        self.reference, self.number = weakref.ref(item), id(item)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _ById):
            return False
        item = self.reference()
        return item is not None and item is other.reference()


def cache_key(args: tuple, kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """A key of the kinds of tensors and the other values among arguments, and the ranks alone (for relaxing)."""
    parts: list[Any] = []
    shapes: list[Any] = []
    seen: dict[int, int] = {}
    _encode((args, kwargs), parts, shapes, seen)
    return tuple(parts), tuple(shapes)


def _encode(x: Any, parts: list[Any], shapes: list[Any], seen: dict[int, int]) -> None:
    if isinstance(x, Tensor):
        parts.append(("T", x._dtype))
        shapes.append(x._dims)
    elif isinstance(x, (list, tuple)):
        parts.append(("(", len(x), type(x) if hasattr(x, "_fields") else isinstance(x, list)))
        for item in x:
            _encode(item, parts, shapes, seen)
    elif isinstance(x, dict):
        keys = sorted(x, key=str)
        parts.append(("{", tuple(keys)))
        for key in keys:
            _encode(x[key], parts, shapes, seen)
    elif isinstance(x, TensorSpec):
        parts.append(("T", x.dtype) if x.name is None else ("T", x.dtype, x.name))
        shapes.append(x.shape.dims_tuple)
    elif isinstance(x, TypeSpec):
        parts.append(("C", x))
    elif nest.is_composite(x):
        parts.append(("C", type_spec_from_value(x)))
    elif is_variable(x):
        parts.append(("V", seen.setdefault(id(x.handle), len(seen)), x.dtype, x.shape.dims_tuple))
    elif nest.is_nested(x):
        parts.append(type(x))
        for item in nest.children(x):
            _encode(item, parts, shapes, seen)
    else:
        try:
            hash(x)
        except TypeError:
            raise ValueError(
                "Arguments supplied to `tf.function`-decorated functions must be hashable. Got "
                f"{x!r} of type {type(x)}."
            ) from None
        if type(x) in (int, float, bool, str, bytes, complex, type(None)):
            parts.append((type(x), x))
        else:
            try:
                parts.append(_ById(x))
            except TypeError:
                parts.append((type(x), x))


def is_variable(x: Any) -> bool:
    """Whether a value is a variable behind a handle."""
    return hasattr(x, "_dense_var_to_tensor") and isinstance(getattr(x, "handle", None), Tensor)
