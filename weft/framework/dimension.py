"""One dimension of a static shape, as TensorFlow 1 shows it: a number that may be unknown."""

import operator
from typing import Any

import numpy as np

from weft.framework import dtypes


def as_size(value: Any) -> int | None:
    """Returns `value` as an int or None; raises what `Dimension(value)` raises."""
    if value is None or (type(value) is int and value >= 0):
        return value
    if isinstance(value, Dimension):
        return value.value
    if isinstance(value, dtypes.DType):
        raise TypeError(f"Cannot convert {value} to Dimension")
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    size = int(value)
    if not isinstance(value, (str, bytes)) and size != value:
        raise ValueError(f"Ambiguous dimension: {value}")
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return size


def _arithmetic(operation):
    """Makes the two methods for an operator; no dimension as the other operand is not an error."""

    def forward(self, other):
        try:
            other = as_size(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other is None:
            return Dimension(None)
        return Dimension(operation(self._value, other))

    def reflected(self, other):
        other = as_size(other)
        if self._value is None or other is None:
            return Dimension(None)
        return Dimension(operation(other, self._value))

    return forward, reflected


def _order(operation):
    """Makes a comparison that gives None where one of the two sizes is not known."""

    def compare(self, other):
        other = as_size(other)
        if self._value is None or other is None:
            return None
        return operation(self._value, other)

    return compare


def _equality(operation):
    compare = _order(operation)

    def compare_with_anything(self, other):
        try:
            return compare(self, other)
        except (TypeError, ValueError):
            return NotImplemented

    return compare_with_anything


class Dimension:
    """The size of one dimension of a `TensorShape`: an integer, or None where it is unknown.

    Arithmetic with an unknown dimension gives an unknown dimension; a comparison with one gives
    None, which counts as false.
    """

    __slots__ = ("_value", "__weakref__")

    def __init__(self, value: Any):
        self._value = as_size(value)

    @property
    def value(self) -> int | None:
        """The size as an int, or None where it is unknown."""
        return self._value

    def is_compatible_with(self, other: Any) -> bool:
        """Whether the two sizes are equal or one of them is unknown."""
        try:
            other = as_size(other)
        except (TypeError, ValueError):
            return NotImplemented
        return self._value is None or other is None or self._value == other

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises `ValueError` if both sizes are known and differ."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> "Dimension":
        """Returns the dimension that both describe; `ValueError` if both are known and differ."""
        try:
            other = as_size(other)
        except (TypeError, ValueError):
            return NotImplemented
        self.assert_is_compatible_with(other)
        return Dimension(other if self._value is None else self._value)

    __add__, __radd__ = _arithmetic(operator.add)
    __sub__, __rsub__ = _arithmetic(operator.sub)
    __mul__, __rmul__ = _arithmetic(operator.mul)
    __floordiv__, __rfloordiv__ = _arithmetic(operator.floordiv)
    __mod__, __rmod__ = _arithmetic(operator.mod)
    # `[0] * dimension` repeats the list: the list asks for `__index__` after this gives way.
    __radd__, __rmul__ = __add__, __mul__
    __lt__, __le__ = _order(operator.lt), _order(operator.le)
    __gt__, __ge__ = _order(operator.gt), _order(operator.ge)
    __eq__, __ne__ = _equality(operator.eq), _equality(operator.ne)
    __hash__ = None  # type: ignore[assignment]

    def __truediv__(self, other):
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and '{type(other).__name__}', "
            "please use // instead"
        )

    def __rtruediv__(self, other):
        raise TypeError(
            f"unsupported operand type(s) for /: '{type(other).__name__}' and 'Dimension', "
            "please use // instead"
        )

    def __int__(self):
        return self._value

    __index__ = __int__

    def __str__(self):
        return "?" if self._value is None else str(self._value)

    def __repr__(self):
        return f"Dimension({self._value!r})"

    def __reduce__(self):
        return Dimension, (self._value,)


def as_dimension(value: Any) -> Dimension:
    """Returns `value` as a `Dimension`."""
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension: Any) -> Any:
    """Returns the int or None behind a `Dimension`; anything else is returned as it is."""
    return dimension.value if isinstance(dimension, Dimension) else dimension
