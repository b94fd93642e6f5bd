"""The public names: each function says beside its definition what it is called in the `tf` namespace.

`export("math.add", "add")` gives an object these names. A namespace (`weft.math`) is a module that reads
this table; `weft/__init__.py` puts them together.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar

from weft.framework.dispatch import dispatching

T = TypeVar("T")

_table: dict[str, dict[str, Any]] = {}


def export(*names: str) -> Callable[[T], T]:
    """Gives an object public names: `"math.add"` is `weft.math.add`, `"add"` is `weft.add`."""

    def register(item: T) -> T:
        if isinstance(item, types.FunctionType):
            item = dispatching(item, names)
        for name in names:
            space, _, leaf = name.rpartition(".")
            _table.setdefault(space, {})[leaf] = item
        return item

    return register


def export_all(space: str, **items: Any) -> None:
    """Gives several objects names in one namespace."""
    _table.setdefault(space, {}).update(items)


def exported(space: str) -> dict[str, Any]:
    """The names of a namespace so far; those still to be made have None."""
    return {**dict.fromkeys(_made.get(space, ())), **_table.get(space, {})}


def spaces() -> list[str]:
    """Every namespace that has a name, with those above it."""
    out = set()
    for space in (*_table, *_made, *_lazy):
        while space:
            out.add(space)
            space = space.rpartition(".")[0]
    return sorted(out)


class Namespace(types.ModuleType):
    """A public module that is made of exported names; what it lacks it looks for in lazy packages."""

    def __init__(self, name: str, space: str, doc: str = ""):
        super().__init__(name, doc or f"The public names of tf.{space}.")
        self.__dict__["_space"] = space
        self.__dict__["__path__"] = []
        self.__dict__["__spec__"] = importlib.machinery.ModuleSpec(name, None, is_package=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = self.__dict__[name] = find(self._space, name, self.__name__)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *exported(self._space)})


# Names whose objects are made when they are first asked for: namespace -> name -> maker.
_made: dict[str, dict[str, Callable[[], Any]]] = {}


def export_lazily(space: str, name: str, make: Callable[[], Any]) -> None:
    """Gives a name in a namespace to an object that `make` gives when somebody asks."""
    _made.setdefault(space, {})[name] = make


ANYWHERE = "*"  # of modules that export into many namespaces

# Packages that are imported when a name of theirs is first asked for: namespace -> module names.
_lazy: dict[str, list[str]] = {}


def lazy(space: str, *modules: str) -> None:
    """Lets the first unknown name of a namespace import these modules, which export more names."""
    _lazy.setdefault(space, []).extend(modules)


def find(space: str, name: str, module_name: str) -> Any:
    """A name of a namespace: exported, or made so by a lazy package, or a namespace below."""
    if name.startswith("__"):
        raise AttributeError(f"module '{module_name}' has no attribute '{name}'")
    names = _table.get(space, {})
    if name in names:
        return names[name]
    make = _made.get(space, {}).get(name)
    if make is not None:
        item = _table.setdefault(space, {})[name] = make()
        return item
    below = f"{space}.{name}" if space else name
    module = sys.modules.get(f"weft.{below}")
    # A module that another thread is importing has not all of its names yet: the import below waits for it.
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        return module
    try:
        importlib.import_module(f"weft.{below}")
        return as_namespace(f"weft.{below}")
    except ModuleNotFoundError as e:
        if e.name is None or not f"weft.{below}".startswith(e.name):
            raise
    # In the list a module stays: a thread that comes while another imports it has to wait for that.
    for later in (*_lazy.get(space, ()), *_lazy.get(ANYWHERE, ())):
        importlib.import_module(later)
        if name in _table.get(space, {}):
            return _table[space][name]
    if below in spaces():
        return namespace(below)
    raise AttributeError(f"module '{module_name}' has no attribute '{name}'")


def public(space: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that is a public namespace: it has what is exported there."""

    def get(name: str) -> Any:
        return find(space, name, f"weft.{space}")

    return get, lambda: sorted(exported(space))


def as_namespace(module_name: str) -> Any:
    """Makes a package of weft a public namespace, which has the names exported to that namespace as well.

    A package is one when a program names it; one that other packages import calls this for itself.
    """
    module: Any = sys.modules[module_name]
    space = module_name.partition(".")[2]
    if not hasattr(module, "__getattr__"):
        module.__getattr__ = lambda name: find(space, name, module_name)
        module.__dir__ = lambda: sorted({*module.__dict__, *exported(space)})
    return module


def namespace(space: str) -> Namespace:
    """The module of a namespace, registered so that `import weft.<space>` finds it."""
    full = f"weft.{space}"
    module = sys.modules.get(full)
    if module is None:
        module = sys.modules[full] = Namespace(full, space)
    return module  # type: ignore[return-value]
