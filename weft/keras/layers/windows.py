"""Arguments of layers that slide windows: their sizes, strides, padding and formats."""

from __future__ import annotations

from typing import Any

from weft.keras import backend


def normalize_tuple(value: Any, n: int, name: str) -> tuple:
    """One number for all axes, or one for each, as a tuple."""
    if isinstance(value, int):
        return (value,) * n
    message = f"The `{name}` argument must be a tuple of {n} integers. Received: {value}"
    try:
        values = tuple(value)
    except TypeError:
        raise ValueError(message) from None
    if len(values) != n:
        raise ValueError(message)
    for one in values:
        try:
            int(one)
        except (ValueError, TypeError):
            raise ValueError(f"{message} including element {one} of type {type(one)}") from None
    return values


def normalize_data_format(value: str | None) -> str:
    """`channels_last` or `channels_first`."""
    data_format = (backend.image_data_format() if value is None else value).lower()
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(
            'The `data_format` argument must be one of "channels_first", "channels_last". Received: '
            f"{value}"
        )
    return data_format


def normalize_padding(value: Any) -> Any:
    """`valid`, `same` or `causal`, or the padding of each axis."""
    if isinstance(value, (list, tuple)):
        return value
    padding = value.lower()
    if padding not in ("valid", "same", "causal"):
        raise ValueError(
            'The `padding` argument must be a list/tuple or one of "valid", "same" (or "causal", only for '
            f"`Conv1D). Received: {padding}"
        )
    return padding


_FORMATS = {"channels_last": ("NWC", "NHWC", "NDHWC"), "channels_first": ("NCW", "NCHW", "NCDHW")}


def convert_data_format(data_format: str, ndim: int) -> str:
    """The format as ops call it, for inputs of a rank."""
    if data_format not in _FORMATS:
        raise ValueError("Invalid data_format:", data_format)
    if not 3 <= ndim <= 5:
        raise ValueError("Input rank not supported:", ndim)
    return _FORMATS[data_format][ndim - 3]


def conv_output_length(
    length: Any, window: int, padding: str, stride: int, dilation: int = 1
) -> Any:
    """How many windows there are along an axis; None where its length is not known."""
    if length is None:
        return None
    reach = window + (window - 1) * (dilation - 1)
    length = length + {"same": 0, "causal": 0, "valid": 1 - reach, "full": reach - 1}[padding]
    return (length + stride - 1) // stride


def deconv_output_length(
    length: Any,
    window: int,
    padding: str,
    output_padding: int | None = None,
    stride: int = 0,
    dilation: int = 1,
) -> Any:
    """How long an axis was of which a convolution made this many windows; of the lengths that could be, the
    shortest, or what `output_padding` says."""
    if length is None:
        return None
    reach = window + (window - 1) * (dilation - 1)
    if output_padding is not None:
        cut = {"same": reach // 2, "valid": 0, "full": reach - 1}[padding]
        return (length - 1) * stride + reach - 2 * cut + output_padding
    if padding == "valid":
        return length * stride + max(reach - stride, 0)
    return length * stride - (stride + reach - 2 if padding == "full" else 0)
