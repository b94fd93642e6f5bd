"""AsString and StringToNumber."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

from weft.framework import dtypes, shape_rules
from weft.framework.export import export
from weft.framework.registry import op
from weft.ops.math.reduce_functions import chosen
from weft.ops.strings.elements import invalid, of, shown

# -- numbers as text ----------------------------------------------------------------------------------------


@op(
    "AsString",
    "input: T -> output: string",
    "T: type in {int8, int16, int32, int64, complex64, complex128, float, double, bool}; precision: int = -1; "
    "scientific: bool = false; shortest: bool = false; width: int = -1; fill: string = ''",
    host=True,
)
def as_string_op(xp, input, *, T, precision, scientific, shortest, width, fill):
    """Numbers as C's printf writes them."""
    is_real = T.is_floating or T.is_complex
    if not is_real and (scientific or shortest):
        raise invalid(f"scientific and shortest format not supported for datatype {T.name}")
    if not is_real and precision >= 0:
        raise invalid(f"precision not supported for datatype {T.name}")
    if len(fill) > 1:
        raise invalid("Fill string must be one or fewer characters")
    if scientific and shortest:
        raise invalid("Cannot select both scientific and shortest notation")
    if fill not in ("", " ", "+", "-", "0", "#"):
        raise invalid(f'Fill argument not supported: "{fill}"')
    if T is dtypes.bool:
        return np.where(input, b"true", b"false").astype(object)
    size = str(width) if width > -1 else ""
    digits = f".{precision}" if precision > -1 else ""
    kind = ("g" if shortest else "e" if scientific else "f") if is_real else "d"
    layout = f"%{fill}{size}{digits}{kind}"
    if T.is_complex:
        parts = [_written(part.ravel(), layout, fill, size) for part in (input.real, input.imag)]
        texts = [b"(%s,%s)" % pair for pair in zip(*parts)]
    else:
        texts = _written(input.ravel(), layout, fill, size)
    return of(texts, input.shape)


as_string_op.shape(shape_rules.same)
as_string_op.elementwise("input").not_differentiable()


def _written(values: np.ndarray, layout: str, fill: str, size: str) -> list[bytes]:
    """The numbers in a printf layout."""
    if not values.size:
        return []
    texts = ("\0".join([layout] * values.size) % tuple(values.tolist())).encode().split(b"\0")
    # Python has no negative NaN, and fills up with zeros before an infinity, where C does not.
    for i in np.flatnonzero(~np.isfinite(values)).tolist():
        sign = "-" if np.signbit(values[i]) else fill if fill in ("+", " ") else ""
        text = sign + ("nan" if np.isnan(values[i]) else "inf")
        texts[i] = f"%{'-' if fill == '-' else ''}{size}s".__mod__(text).encode()
    return texts


@export("as_string", "strings.as_string", "dtypes.as_string")
def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Any:
    """Returns numbers as text: with so many digits behind the point, or in the shortest or scientific notation,
    filled up to a width."""
    return as_string_op(
        input,
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
        name=name,
    )


# -- text as numbers ----------------------------------------------------------------------------------------

_SPACE = rb"[ \t\n\v\f\r]*"
_INTEGER = re.compile(_SPACE + rb"(-?)0*([0-9]{1,19})" + _SPACE)
_REAL = re.compile(
    _SPACE
    + rb"([+-]?)(?:0x([0-9a-f]+)|(inf|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?))?"
    + _SPACE,
    re.IGNORECASE,
)


def _not_a_number(text: bytes) -> Any:
    return invalid(f"StringToNumberOp could not correctly convert string: {shown(text)}")


def _integer(text: bytes) -> int | None:
    found = _INTEGER.fullmatch(text)
    return None if found is None else int(b"".join(found.groups()))


def _real(text: bytes) -> float | None:
    found = _REAL.fullmatch(text)
    if found is None or not text:
        return None
    sign, hexadecimal, decimal = found.groups()
    if decimal is not None:
        return float(sign + decimal)
    if hexadecimal is not None:
        return _of_hexadecimal(sign, hexadecimal)
    return None if sign else 0.0  # nothing but white space


def _of_hexadecimal(sign: bytes, digits: bytes) -> float:
    try:
        value = float(int(digits, 16))
    except OverflowError:
        value = float("inf")
    return -value if sign == b"-" else value


def _as_python_reads(strings: list[bytes], kind: Any) -> list[Any] | None:
    """The numbers as Python reads them, where that is sure to be TensorFlow's way, too."""
    text = b"".join(strings)
    if text.translate(None, _PLAIN):
        return None  # letters, of "infinity" or of hexadecimal numbers, or underscores
    if kind is int and b"+" in text:
        return None
    try:
        return list(map(kind, strings))
    except ValueError:
        return None


_PLAIN = b"0123456789.eE+- \t\n\v\f\r"


def to_numbers(strings: list[bytes], dtype: dtypes.DType) -> tuple[np.ndarray, int | None]:
    """Strings as numbers; and the first one that is none, if there is such."""
    quickly = _as_python_reads(strings, int if dtype.is_integer else float)
    if quickly is not None:
        values = quickly
    else:
        values = list(map(_integer if dtype.is_integer else _real, strings))
    if None in values:
        return np.empty(0, dtype.np), values.index(None)
    if dtype.is_integer:
        limits = np.iinfo(dtype.np)
        if values and not limits.min <= min(values) <= max(values) <= limits.max:
            bad = next(i for i, v in enumerate(values) if not limits.min <= v <= limits.max)
            return np.empty(0, dtype.np), bad
    if dtype is dtypes.float32:
        return _singles(strings, np.array(values, np.float64)), None
    return np.array(values, dtype.np), None


def _singles(strings: list[bytes], values: np.ndarray) -> np.ndarray:
    """Numbers rounded once, from the text: a double between two floats may be a rounded number itself."""
    with np.errstate(over="ignore"):
        out = values.astype(np.float32)
    away = np.where(values > out, np.float32(np.inf), np.float32(-np.inf))
    other = np.nextafter(out, away)
    halfway = (out + other.astype(np.float64)) / 2 == values
    for i in np.flatnonzero(halfway & np.isfinite(other) & np.isfinite(out)).tolist():
        text = strings[i].strip()
        exact = Fraction(text.decode()) if b"x" not in text.lower() else Fraction(int(text, 16))
        if (exact > values[i]) == (other[i] > out[i]) and exact != Fraction(values[i]):
            out[i] = other[i]
    return out


@op(
    "StringToNumber",
    "string_tensor: string -> output: out_type",
    "out_type: type in {float, double, int32, int64} = float",
    host=True,
)
def string_to_number_op(xp, string_tensor, *, out_type):
    """The numbers that strings say."""
    strings = string_tensor.ravel().tolist()
    numbers, bad = to_numbers(strings, out_type)
    if bad is not None:
        raise _not_a_number(strings[bad])
    return numbers.reshape(string_tensor.shape)


string_to_number_op.shape(shape_rules.same)
string_to_number_op.elementwise("string_tensor").not_differentiable()


@export("string_to_number", "strings.to_number")
def string_to_number(
    string_tensor: Any = None,
    out_type: Any = dtypes.float32,
    name: str | None = None,
    input: Any = None,
) -> Any:
    """Returns the numbers that strings say; InvalidArgumentError for a string that says none."""
    strings = chosen("string_tensor", string_tensor, "input", input)
    return string_to_number_op(strings, out_type=out_type, name=name)
