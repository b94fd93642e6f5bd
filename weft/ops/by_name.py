"""Ops by their type, whichever file declares them: `raw.Reshape(x, shape)`.

Gradients and composed functions of one family use ops of another; by this the files of the library need not
import each other.
"""

from __future__ import annotations

from weft.framework import registry
from weft.framework.registry import OpDecl


class RawOps:
    """The declared ops as attributes."""

    def __getattr__(self, name: str) -> OpDecl:
        if name.startswith("_"):
            raise AttributeError(name)
        decl = self.__dict__[name] = registry.get(name)
        return decl


raw = RawOps()
