"""The tables, one module for each family of ops; each gives a `FAMILY`."""

from __future__ import annotations

import importlib
import pkgutil


def names():
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def family(name):
    return importlib.import_module(__name__ + "." + name).FAMILY
