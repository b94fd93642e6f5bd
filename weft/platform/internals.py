"""The modules of `tensorflow.python`, for programs that import from there: what they hold has a public name."""

from __future__ import annotations

import functools
import gzip
import importlib
import importlib.machinery
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from weft.framework import registry

_NAMES = Path(__file__).with_name("internal_names.txt.gz")  # by tools/internal_names.py
ROOT = "tensorflow.python"
# Modules of weft that have what one of TensorFlow's has beyond its public names.
_COUNTERPARTS = {
    "saved_model.constants": "weft.saved_model.words",
    "saved_model.loader_impl": "weft.saved_model.loading",
    "saved_model.signature_constants": "weft.saved_model.words",
    "saved_model.tag_constants": "weft.saved_model.words",
    "training.tracking.base": "weft.framework.trackable",
    "training.tracking.data_structures": "weft.framework.tracked_structures",
    "training.tracking.tracking": "weft.framework.tracked_structures",
    "util.nest": "weft.framework.nest",
}


@functools.cache
def _modules() -> dict[str, str]:
    """What each module holds, not taken apart yet."""
    lines = gzip.decompress(_NAMES.read_bytes()).decode().splitlines()
    return dict(line.partition("\t")[::2] for line in lines)


@functools.cache
def _public_names(module: str) -> dict[str, str]:
    found = {}
    for group in filter(None, _modules().get(module, "").split("\t")):
        space, _, names = group.partition(":")
        for item in names.split(","):
            inside, _, public = item.partition("=")
            found[inside] = ".".join(filter(None, (space, public or inside)))
    return found


def is_module(name: str) -> bool:
    """Whether TensorFlow has an internal module, or a package of such, by a full name."""
    if name == ROOT:
        return True
    if not name.startswith(ROOT + "."):
        return False
    short = name[len(ROOT) + 1 :]
    return short in _modules() or any(known.startswith(short + ".") for known in _modules())


def _resolved(public: str) -> Any:
    item: Any = importlib.import_module("weft")
    for part in public.split("."):
        item = getattr(item, part)
    return item


@functools.cache
def _ops_by_function() -> dict[str, str]:
    """Op types by the names of the functions that TensorFlow generates for them."""

    def snake(name: str) -> str:
        name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
        return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()

    return {snake(name): name for name in registry.all_ops()}


class InternalModule(ModuleType):
    """One module of `tensorflow.python`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        short = self.__name__[len(ROOT) + 1 :]
        public = _public_names(short).get(name)
        try:
            if public is not None:
                item = _resolved(public)
            elif f"{self.__name__}.{name}" in sys.modules:
                item = sys.modules[f"{self.__name__}.{name}"]
            elif is_module(f"{self.__name__}.{name}"):
                item = importlib.import_module(f"{self.__name__}.{name}")
            elif short.rpartition(".")[2].startswith("gen_"):
                item = registry.find(_ops_by_function()[name])
            else:
                item = getattr(importlib.import_module(_COUNTERPARTS[short]), name)
        except (AttributeError, KeyError):
            what = f"tf.{public}, which weft lacks" if public else "no public name"
            raise AttributeError(
                f"{self.__name__}.{name} is internal to TensorFlow and has {what}."
            ) from None
        self.__dict__[name] = item
        return item

    def __dir__(self) -> list[str]:
        return sorted(_public_names(self.__name__[len(ROOT) + 1 :]))


@functools.cache
def module(name: str) -> ModuleType:
    """The module of a full name."""
    made = InternalModule(
        name, "A module of TensorFlow's internals, by the public names of what it holds."
    )
    made.__path__ = []
    made.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    return made
