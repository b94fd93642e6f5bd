"""Values that may be there or not, as variants: how TensorFlow's branches hand on what only one of them has."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.framework.shape_rules import text


class Optional:
    """Some tensors, or nothing."""

    __slots__ = ("components",)

    def __init__(self, components: list[Any] | None):
        self.components = components

    def __repr__(self) -> str:
        return f"<optional {self.components!r}>"


def _invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)


def _checked(value: Any) -> Optional:
    if not isinstance(value, Optional):
        raise _invalid(f"Expected an optional, but the input is {type(value).__name__}.")
    return value


@op(
    "OptionalFromValue",
    "components: Toutput_types -> optional: variant",
    "Toutput_types: list(type) >= 1",
    host=True,
)
def optional_from_value(xp, components):
    """An optional that has these tensors."""
    return Optional(list(components))


@op("OptionalNone", "-> optional: variant", host=True)
def optional_none(xp):
    """An optional that has nothing."""
    return Optional(None)


@optional_from_value.shape
def _(components):
    return ()


@optional_none.shape
def _():
    return ()


@op("OptionalHasValue", "optional: variant -> has_value: bool", host=True)
def optional_has_value(xp, optional):
    """Whether an optional has tensors."""
    return np.asarray(_checked(optional).components is not None)


@optional_has_value.shape
def _(optional):
    return ()


@op(
    "OptionalGetValue",
    "optional: variant -> components: output_types",
    "output_types: list(type) >= 1; output_shapes: list(shape) >= 1",
    host=True,
)
def optional_get_value(xp, optional, *, output_types, output_shapes):
    """The tensors of an optional."""
    components = _checked(optional).components
    if components is None:
        raise _invalid("The given optional does not have a value.")
    if len(components) != len(output_types):
        raise _invalid(
            f"The given optional has {len(components)} components, expected {len(output_types)}."
        )
    for i, (value, dtype, wanted) in enumerate(zip(components, output_types, output_shapes)):
        shape = getattr(value, "shape", None)
        if dtype.np is not None and shape is not None and value.dtype != dtype.np:
            raise _invalid(
                f"The given optional does not match the expected type for component {i}. Expected: {dtype.name}. "
                f"Actual: {value.dtype.name}."
            )
        if wanted is not None and shape is not None:
            if len(wanted) != len(shape) or any(w not in (None, n) for w, n in zip(wanted, shape)):
                raise _invalid(
                    f"The given optional does not match the expected shape for component {i}. Expected: "
                    f"{text(wanted)}. Actual: {text(shape)}."
                )
    return components


@optional_get_value.shape
def _(optional, *, output_shapes):
    return list(output_shapes)


for _decl in (optional_from_value, optional_none, optional_has_value, optional_get_value):
    _decl.not_differentiable()
