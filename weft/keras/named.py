"""Things that a configuration may name, such as regularizers: from a name or a configuration to the thing and back."""

from __future__ import annotations

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
