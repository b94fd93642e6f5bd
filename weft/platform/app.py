"""`tf.app.run` and `tf.app.flags`, by absl's flags."""

from __future__ import annotations

import functools
import sys
from typing import Any

from absl import app as _absl_app
from absl import flags as _flags

from weft.framework.export import export, export_all

# What TensorFlow calls the arguments of DEFINE_*, and what absl does.
_RENAMED = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def _tensorflow_form(define: Any) -> Any:
    @functools.wraps(define)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        kwargs = {_RENAMED.get(k, k): v for k, v in kwargs.items()}
        # Flags belong to the module that defines them, which absl finds by the calling frame.
        kwargs.setdefault("module_name", sys._getframe(1).f_globals.get("__name__", "__main__"))
        if kwargs["module_name"] == "__main__":
            kwargs["module_name"] = sys.argv[0] if sys.argv else "__main__"
        return define(*args, **kwargs)

    return wrapper


class _Flags:
    """absl's FLAGS, which reads the command line when a flag is first asked for."""

    def __init__(self, values: Any):
        self.__dict__["_values"] = values

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__["_values"]
        if not values.is_parsed():
            values(sys.argv, known_only=True)
        return getattr(values, name)

    def __setattr__(self, name: str, value: Any) -> None:
        values = self.__dict__["_values"]
        if not values.is_parsed():
            values(sys.argv, known_only=True)
        setattr(values, name, value)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __delattr__(self, name: str) -> None:
        delattr(self._values, name)

    def __dir__(self) -> list[str]:
        return dir(self._values)

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._values(*args, **kwargs)


FLAGS = _Flags(_flags.FLAGS)
_exported = {n: getattr(_flags, n) for n in dir(_flags) if not n.startswith("_") and n != "FLAGS"}
for _name, _function in list(_exported.items()):
    if _name.startswith("DEFINE") and _name not in ("DEFINE_flag", "DEFINE_alias"):
        _exported[_name] = _tensorflow_form(_function)
for _space in ("flags", "app.flags"):
    export_all(_space, FLAGS=FLAGS, **_exported)


@export("app.run")
def run(main: Any = None, argv: Any = None) -> None:
    """Reads the flags and runs the program's `main` with what is left of the command line."""
    main = main or sys.modules["__main__"].main

    def parse(args: list[str]) -> list[str]:
        return _flags.FLAGS(args, known_only=True)

    _absl_app.run(main=main, argv=argv, flags_parser=parse)
