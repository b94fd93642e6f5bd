"""The values of a tensor as text, the way Print, Assert and tf.print show them."""

from __future__ import annotations

from typing import Any

import numpy as np

_ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("'"): "\\'"}
_ESCAPES[ord("\\")] = "\\\\"


def escaped(text: bytes) -> str:
    """Bytes with everything that is not printable as in a C string."""
    return "".join(
        _ESCAPES.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in bytes(text)
    )


def number(value: Any) -> str:
    """A number in as few digits as tell it from its neighbours."""
    kind = value.dtype.kind if hasattr(value, "dtype") else ""
    if kind == "b":
        return "1" if value else "0"
    if kind in "iu" and kind:
        return str(int(value))
    if kind == "c":
        return "?"
    single = value.dtype.itemsize < 8
    x = float(value)
    if np.isnan(x):
        return "nan"
    if np.isinf(x):
        return "inf" if x > 0 else "-inf"
    text = f"{x:.{6 if single else 15}g}"
    if single and np.float32(text) != np.float32(x) or not single and float(text) != x:
        text = f"{x:.{9 if single else 17}g}"
    return text


def _element(value: Any, quoted: bool) -> str:
    if isinstance(value, (bytes, str)):
        text = escaped(value.encode() if isinstance(value, str) else value)
        return f'"{text}"' if quoted else text
    if not hasattr(value, "dtype"):
        return f"<{type(value).__name__}>"
    return number(value)


def flat_summary(array: Any, limit: int) -> str:
    """The first `limit` elements (all, if negative), rows in brackets: what Print and Assert show."""
    array = np.asarray(array)
    if array.size == 0:
        return ""
    if limit < 0:
        limit = array.size
    if array.ndim == 0:
        return _element(array[()], False)
    left = [limit]

    def show(part: np.ndarray) -> str:
        if part.ndim == 1:
            shown = [_element(x, False) for x in part[: max(left[0], 0)]]
            left[0] -= len(shown)
            text = " ".join(shown)
            return text + ("..." if len(shown) < len(part) else "")
        out = []
        for row in part:
            if left[0] <= 0:
                out.append("...")
                break
            out.append(f"[{show(row)}]")
        return "".join(out)

    return show(array)


def summary(array: Any, limit: int) -> str:
    """The first and last `limit` elements along each axis (all, if negative): what tf.print shows."""
    array = np.asarray(array)
    if array.ndim == 0:
        return _element(array[()], True)

    def show(part: np.ndarray, depth: int) -> str:
        n = len(part)
        if part.ndim == 1:
            items = [_element(x, True) for x in _ends(part, limit)]
            separator = " "
        else:
            items = [show(x, depth + 1) for x in _ends(part, limit)]
            separator = "\n" * (part.ndim - 1) + " " * (depth + 1)
        if 0 <= limit and n > 2 * limit:
            items.insert(min(limit, len(items)), "...")
        return "[" + separator.join(items) + "]"

    return show(array, 0)


def _ends(part: np.ndarray, limit: int) -> list[Any]:
    if limit < 0 or len(part) <= 2 * limit:
        return list(part)
    return [*part[:limit], *(part[len(part) - limit :] if limit else ())]
