"""Things that a configuration may name, such as regularizers: from a name or a configuration to the thing and back."""

from __future__ import annotations

import base64
import marshal
import sys
import types
from typing import Any


class Named:
    """The known things of one kind, by the names that configurations use."""

    def __init__(self, kind: str, known: dict[str, Any]):
        self._kind, self._known = kind, known

    def serialize(self, thing: Any) -> Any:
        """The name of a function, or the class name and configuration of an object."""
        if thing is None:
            return None
        if hasattr(thing, "get_config"):
            return {"class_name": type(thing).__name__, "config": thing.get_config()}
        if hasattr(thing, "__name__"):
            return thing.__name__
        raise ValueError("Cannot serialize", thing)

    def deserialize(self, config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
        """What `serialize` gave, or a name, as the thing it stands for."""
        known = {**self._known, **(custom_objects or {})}
        if isinstance(config, str):
            if config not in known:
                raise ValueError(f"Unknown {self._kind}:{config}")
            found = known[config]
            return found() if isinstance(found, type) else found
        if not isinstance(config, dict) or not {"class_name", "config"} <= set(config):
            raise ValueError(f"Improper config format: {config}")
        name, arguments = config["class_name"], config["config"]
        if name not in known:
            raise ValueError(f"Unknown {self._kind}: {name}")
        make = known[name]
        return make.from_config(arguments) if hasattr(make, "from_config") else make(**arguments)


def function_to_config(function: Any, name: str) -> dict[str, Any]:
    """A function as entries of a configuration: its name, or the code of a lambda."""
    if not callable(function):
        raise ValueError(f"Unrecognized function type for input: {type(function)}")
    module = "residule_fn_module" if name == "residual_fn" else f"{name}_module"  # sic
    config: dict[str, Any] = {f"{name}_type": "function", module: function.__module__}
    if isinstance(function, types.LambdaType):
        code = base64.b64encode(marshal.dumps(function.__code__)).decode("ascii")
        cells = tuple(c.cell_contents for c in function.__closure__ or ()) or None
        return {**config, name: (code, function.__defaults__, cells), f"{name}_type": "lambda"}
    return {**config, name: function.__name__}


def function_of_config(config: dict[str, Any], name: str, custom_objects: Any = None) -> Any:
    """The function of a configuration, whose entries are taken out."""
    module = config.pop("residule_fn_module" if name == "residual_fn" else f"{name}_module", None)
    known = {**vars(sys.modules.get(module, types)), **(custom_objects or {})}
    kind, given = config.pop(f"{name}_type"), config.pop(name)
    if kind == "function":
        if given not in known:
            raise ValueError(f"Unknown function in wrapper:{given}")
        return known[given]
    if kind != "lambda":
        raise TypeError("Unknown function type:", kind)
    code, defaults, closure = given
    cells = None if closure is None else tuple(types.CellType(c) for c in closure)
    raw = marshal.loads(base64.b64decode(code))
    return types.FunctionType(
        raw, known, raw.co_name, None if defaults is None else tuple(defaults), cells
    )
