"""Hyperparameters: named numbers and texts whose types are those they began with."""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Callable
from typing import Any

from weft.framework.export import export

_ASSIGNMENT = re.compile(
    r"""\s*(?P<name>[a-zA-Z][\w\.]*)
        (\[\s*(?P<index>\d+)\s*\])?
        \s*=\s*
        ((?P<value>[^,\[]*) | \[(?P<values>[^\]]*)\])
        ($|,\s*)""",
    re.VERBOSE,
)


def _bool(text: str) -> bool:
    if text in ("true", "True"):
        return True
    return False if text in ("false", "False") else bool(int(text))


def _cast(name: str, kind: type, value: Any) -> Any:
    """The value in the type of a hyperparameter; ValueError where that would change what it says."""
    if type(value) is kind or kind is type(None):
        return value
    text = issubclass(kind, (str, bytes)) and not isinstance(value, (str, bytes))
    truth = issubclass(kind, bool) != isinstance(value, bool)
    whole = issubclass(kind, numbers.Integral) and not isinstance(value, numbers.Integral)
    number = issubclass(kind, numbers.Number) and not isinstance(value, numbers.Number)
    if text or truth or whole or number:
        raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
    return kind(value)


@export("contrib.training.parse_values")
def parse_values(
    values: str, type_map: dict[str, type], ignore_unknown: bool = False
) -> dict[str, Any]:
    """What text such as `a=1,b[2]=x,c=[1,2]` assigns: an element of a list is a dict from its index."""
    found: dict[str, Any] = {}
    position = 0
    while position < len(values):
        match = _ASSIGNMENT.match(values, position)
        if match is None:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = match.end()
        name, index = match["name"], match["index"]
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        kind = type_map[name]
        parse: Callable[[str], Any] = _bool if kind is bool else kind
        text = match["value"] if match["values"] is None else match["values"]
        again = f"Multiple assignments to variable '{name}' in {values}"
        try:
            if match["values"] is None:
                value = parse(text)
            elif index is not None:
                raise ValueError("Assignment of a list to a list index.")
            else:
                value = [parse(e) for e in re.split("[ ,]", text) if e]
        except ValueError as e:
            if index is not None and match["values"] is not None:
                raise
            raise ValueError(
                f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{text}' in {values}"
            ) from e
        if index is None:
            if name in found:
                raise ValueError(again)
            found[name] = value
            continue
        elements = found.setdefault(name, {})
        if not isinstance(elements, dict) or int(index) in elements:
            raise ValueError(again)
        elements[int(index)] = value
    return found


@export("contrib.training.HParams")
class HParams:
    """Hyperparameters as attributes; lists keep the type of their elements."""

    _HAS_DYNAMIC_ATTRIBUTES = True  # for type checkers

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any):
        self._hparam_types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        if hparam_def:
            if kwargs:
                raise ValueError("hparam_def and initialization values are mutually exclusive")
            kwargs = {name: _of_message(value) for name, value in hparam_def.hparam.items()}
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Adds a hyperparameter, whose type is that of its value."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        is_list = isinstance(value, (list, tuple))
        if is_list and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._hparam_types[name] = type(value[0]) if is_list else type(value), is_list
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Gives a hyperparameter another value, of its type."""
        kind, is_list = self._hparam_types[name]
        if is_list != isinstance(value, list):
            raise ValueError(
                f"Must pass a list for multi-valued parameter: {name}."
                if is_list
                else f"Must not pass a list for single-valued parameter: {name}"
            )
        setattr(
            self,
            name,
            [_cast(name, kind, v) for v in value] if is_list else _cast(name, kind, value),
        )

    def del_hparam(self, name: str) -> None:
        """Takes a hyperparameter away, if it is there."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Assigns what text such as `a=1,b=[1,2]` says."""
        kinds = {name: kind for name, (kind, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, kinds))

    def parse_json(self, values_json: str) -> HParams:
        """Assigns what a JSON object says."""
        return self.override_from_dict(json.loads(values_json))

    def override_from_dict(self, values_dict: dict[str, Any]) -> HParams:
        """Assigns values by name."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_from_map(self, values_map: dict[str, Any]) -> HParams:
        """Deprecated: `override_from_dict`."""
        return self.override_from_dict(values_map)

    def set_model_structure(self, model_structure: Any) -> None:
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        return self._model_structure

    def values(self) -> dict[str, Any]:
        """All hyperparameters by name."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """All hyperparameters as JSON."""
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def to_proto(self) -> Any:
        """All hyperparameters as a `HParamDef` message."""
        from weft import proto

        message = proto.HParamDef()
        for name, (kind, is_list) in self._hparam_types.items():
            value = getattr(self, name)
            field = _field(kind)
            one: Any = str.encode if issubclass(kind, str) else kind
            if is_list:
                values = getattr(message.hparam[name], f"{field}_list").value
                values.extend(one(v) for v in value)
            else:
                setattr(message.hparam[name], f"{field}_value", one(value))
        return message

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a hyperparameter, or the default, which must be of its type."""
        if key not in self._hparam_types:
            return default
        if default is not None:
            kind, is_list = self._hparam_types[key]
            shown = f"list<{kind}>" if is_list else str(kind)
            message = f"Hparam '{key}' of type '{shown}' is incompatible with default={default}"
            if is_list != isinstance(default, list):
                raise ValueError(message)
            try:
                for value in default if is_list else [default]:
                    _cast(key, kind, value)
            except ValueError as e:
                raise ValueError(f"{message}. {e}") from None
        return getattr(self, key)

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self.values().items())})"


def _field(kind: type) -> str:
    """How the fields of an `HParamType` are called that hold values of a type."""
    if issubclass(kind, bool):
        return "bool"
    if issubclass(kind, numbers.Integral):
        return "int64"
    if issubclass(kind, (str, bytes)):
        return "bytes"
    if issubclass(kind, numbers.Real):
        return "float"
    raise ValueError(f"Unsupported parameter type: {kind}")


def _of_message(message: Any) -> Any:
    """The value of an `HParamType` message."""
    kind = message.WhichOneof("kind")
    value = getattr(message, kind)

    def one(v: Any) -> Any:
        return v.decode() if isinstance(v, bytes) else v

    return [one(v) for v in value.value] if kind.endswith("_list") else one(value)
