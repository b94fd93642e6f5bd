"""Algebra of linear operators: which rule gives the adjoint, inverse, Cholesky factor, product or solution.

Rules are registered for classes; of those that fit, the one for the nearest classes is taken.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import weft as tf

_FAR = 1 << 30


class Rules:
    """The rules of one operation, by the classes of its operands."""

    def __init__(self, name: str, scope: str):
        self.name, self.scope = name, scope
        self._rules: dict[tuple[type, ...], Callable[..., Any]] = {}

    def register(self, *classes: type) -> Callable[[Callable], Callable]:
        """Adds a rule for operands of these classes and of classes made of them."""

        def add(rule: Callable) -> Callable:
            if not callable(rule):
                raise TypeError(f"The rule of {self.name} must be callable, received: {rule}")
            if classes in self._rules:
                names = ", ".join(c.__name__ for c in classes)
                raise ValueError(f"{self.name}({names}) has already been registered.")
            self._rules[classes] = rule
            return rule

        return add

    def find(self, *classes: type) -> Callable[..., Any] | None:
        """The rule for the nearest classes; of several the one that is nearest in the first operand."""
        best, found = _FAR, None
        for places in itertools.product(*(enumerate(c.__mro__) for c in classes)):
            rule = self._rules.get(tuple(c for _, c in places))
            distance = sum(i for i, _ in places)
            if rule is not None and distance < best:
                best, found = distance, rule
        return found

    def __call__(self, *operators: Any, name: str | None = None) -> Any:
        rule = self.find(*map(type, operators))
        if rule is None:
            kinds = ", ".join(type(o).__name__ for o in operators)
            raise ValueError(f"No {self.name} registered for {kinds}")
        with tf.name_scope(name, self.scope):
            return rule(*operators)


adjoint = Rules("adjoint", "Adjoint")
cholesky = Rules("cholesky decomposition", "Cholesky")
inverse = Rules("inverse", "Inverse")
matmul = Rules("matmul", "Matmul")
solve = Rules("solve", "Solve")
