"""`import tensorflow` gives weft: for a process, or for a program under `weft run`."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from functools import partial
from types import ModuleType
from typing import Any

from weft.framework.export import find
from weft.platform import internals

_ROOT = "tensorflow"


class TensorFlowFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `tensorflow` and what is below it in weft, before any installed TensorFlow is looked at."""

    # Further names, for modules that are no public namespace: full tensorflow name -> weft module name.
    aliases: dict[str, str] = {
        "tensorflow.python.client.timeline": "weft.studio.timeline",
        "tensorflow.python.training.moving_averages": "weft.train.moving_averages",
        "tensorflow.contrib.framework.python.ops": "weft.contrib.framework",
        "tensorflow.contrib.framework.python.ops.arg_scope": "weft.contrib.framework.arguments",
        "tensorflow.contrib.framework.python.ops.variables": "weft.contrib.framework.variables",
        "tensorflow.contrib.layers.python.layers": "weft.contrib.layers",
        "tensorflow.contrib.layers.python.layers.initializers": "weft.contrib.layers.initializers",
        "tensorflow.contrib.layers.python.layers.layers": "weft.contrib.layers",
        "tensorflow.contrib.layers.python.layers.regularizers": "weft.contrib.layers.regularizers",
        "tensorflow.contrib.layers.python.layers.utils": "weft.contrib.layers.utils",
        "tensorflow.contrib.learn.python.learn.datasets.mnist": "weft.datasets.input_data",
        "tensorflow.contrib.slim.python.slim": "weft.contrib.slim",
        "tensorflow.contrib.slim.python.slim.data": "weft.contrib.slim.data",
        "tensorflow.contrib.slim.python.slim.evaluation": "weft.contrib.slim.evaluation",
        "tensorflow.contrib.slim.python.slim.learning": "weft.contrib.slim.learning",
        "tensorflow.contrib.slim.python.slim.nets": "weft.contrib.slim.nets",
        "tensorflow.examples.tutorials.mnist.input_data": "weft.datasets.input_data",
        "tensorflow.examples.tutorials.mnist.mnist": "weft.datasets.tutorial_mnist",
    }

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name == _ROOT or name.startswith(_ROOT + "."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> ModuleType:
        return _module_for(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """The module ran when weft made it; what the import system wrote into it is put back."""
        saved = module.__dict__.pop("_weft_import_state", None)
        if saved is not None:
            for key, value in saved.items():
                if value is None:
                    module.__dict__.pop(key, None)
                else:
                    module.__dict__[key] = value


def _module_for(name: str) -> ModuleType:
    alias = TensorFlowFinder.aliases.get(name)
    below = name[len(_ROOT) + 1 :]
    if alias is not None:
        module: Any = importlib.import_module(alias)
    elif not below:
        module = importlib.import_module("weft")
    elif below == "compat.v1" or below.startswith("compat.v1."):
        rest = below[len("compat.v1.") :]
        return _module_for(f"{_ROOT}.{rest}" if rest else _ROOT)
    elif internals.is_module(name):
        module = internals.module(name)
    elif below == "core" or below.startswith("core."):
        return _of_messages(name)
    else:
        at: Any = importlib.import_module("weft")
        for part in below.split("."):
            try:
                at = getattr(at, part)
            except AttributeError:
                inside = _inside_contrib(below)
                if inside is not None:
                    at = inside
                    break
                if any(other.startswith(name + ".") for other in TensorFlowFinder.aliases):
                    return ModuleType(name)  # a package above modules that have aliases
                raise ModuleNotFoundError(
                    f"No module named '{name}': weft has no module tf.{below}.", name=name
                ) from None
        if not isinstance(at, ModuleType):
            raise ModuleNotFoundError(
                f"No module named '{name}': tf.{below} is no module.", name=name
            )
        module = at
    keys = ("__spec__", "__loader__", "__package__", "__path__", "__file__")
    module.__dict__["_weft_import_state"] = {k: module.__dict__.get(k) for k in keys}
    return module


def _of_messages(name: str) -> ModuleType:
    """What stands for a module of `tensorflow.core`: `tensorflow.core.protobuf.saved_model_pb2` has messages."""
    if not name.endswith("_pb2"):
        return ModuleType(name)  # a package
    from weft import proto

    try:
        return proto.file_module(name.removesuffix("_pb2").replace(".", "/") + ".proto")
    except ValueError as e:
        raise ModuleNotFoundError(f"No module named '{name}': {e}", name=name) from None


def _inside_contrib(below: str) -> ModuleType | None:
    """What stands for a module inside of a contrib library (`contrib.x.python.ops.y`): the library's module
    `y`, or else the library. Its modules then have all names of the library, as TensorFlow's are cut differently."""
    parts = below.split(".")
    if parts[0] != "contrib" or len(parts) < 3 or parts[2] != "python":
        return None
    space = ".".join(parts[:2])
    try:
        found = importlib.import_module(f"weft.{space}")
    except ModuleNotFoundError:
        return None
    try:
        found = importlib.import_module(f"weft.{space}.{parts[-1]}")
    except ModuleNotFoundError:
        pass
    for name, module in list(sys.modules.items()):
        if name.startswith(f"weft.{space}.") and not hasattr(module, "__getattr__"):
            module.__dict__["__getattr__"] = partial(find, space, module_name=name)
    return found


_finder = TensorFlowFinder()


def install_as_tensorflow() -> None:
    """Makes `import tensorflow` (and `tensorflow.compat.v1`, `tensorflow.nn`, ...) give weft in this process.

    An installed TensorFlow is left alone, but a TensorFlow that was imported already is refused.
    """
    known = sys.modules.get(_ROOT)
    weft = importlib.import_module("weft")
    if known is not None and known is not weft:
        raise RuntimeError(
            "tensorflow is imported already; call weft.install_as_tensorflow() before the program imports it."
        )
    # Programs ask which TensorFlow they run on.
    weft.__dict__["__version__"] = weft.VERSION
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def uninstall_as_tensorflow() -> None:
    """Takes `install_as_tensorflow` back."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name in [n for n in sys.modules if n == _ROOT or n.startswith(_ROOT + ".")]:
        del sys.modules[name]
