"""Shape rules as run-time checks, which do not run again for shapes that passed."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors, registry, shape_inference
from weft.framework.registry import OpDecl
from weft.framework.shape_rules import ShapeError, broadcasting, same

_MOST = 512  # kinds of arguments that are remembered
_LARGEST = 64  # elements of a value that is remembered


class ShapeCheck:
    """The shape rule of an op with its attributes, and the shapes that passed it.

    A rule that asks for values is asked again only for other values of those inputs that it asked for.
    """

    __slots__ = ("decl", "attrs", "inputs", "wants_values", "asked", "passed", "waits")

    def __init__(self, decl: OpDecl, attrs: dict[str, Any]):
        self.decl, self.attrs = decl, attrs
        self.inputs = decl.signature.inputs
        rule: Any = decl.shape_rule
        self.wants_values = "const" in registry.wanted_keywords(rule)
        self.asked: set[int] = set()
        self.passed: set[Any] = set()
        # NumPy checks these itself: the rule is asked for its wording only.
        self.waits = rule is broadcasting or rule is same

    def run(self, args: list[Any]) -> None:
        """Raises InvalidArgumentError unless the shapes fit."""
        key = self._key(args)
        if key is not None and key in self.passed:
            return
        shapes = [getattr(a, "shape", None) for a in args]
        const = None
        if self.wants_values:
            grouped = shape_inference.grouped(self.inputs, args, self.attrs)
            const = _Asked(grouped, self.inputs, args, self.asked)
        try:
            shape_inference.run_rule(self.decl, shapes, self.attrs, const)
        except ShapeError as e:
            raise errors.InvalidArgumentError(None, None, str(e)) from None
        if self.wants_values:
            key = self._key(args)
        if key is not None:
            if len(self.passed) > _MOST:
                self.passed.clear()
            self.passed.add(key)

    def _key(self, args: list[Any]) -> Any:
        try:
            parts: list[Any] = [a.shape for a in args]
        except AttributeError:
            return None
        for i in self.asked:
            a = args[i]
            if type(a) is np.ndarray:
                if a.size > _LARGEST or a.dtype == object:
                    return None
                parts.append(a.tobytes())
            else:  # a variable
                value = getattr(a, "value", None)
                parts.append(None if value is None else value.shape)
        return tuple(parts)


class _Asked(shape_inference.ActualInputs):
    """Actual inputs, which note who was asked for."""

    __slots__ = ("_flat", "_noted")

    def __init__(self, tensors: list[Any], op_inputs: Any, flat: list[Any], noted: set[int]):
        super().__init__(tensors, op_inputs)
        self._flat, self._noted = flat, noted

    def _tensor(self, which: str | int) -> Any:
        value = super()._tensor(which)
        for item in value if isinstance(value, list) else (value,):
            for i, a in enumerate(self._flat):
                if a is item:
                    self._noted.add(i)
        return value
