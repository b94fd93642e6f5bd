"""Attributes of convolutions and pooling: strides, windows and padding by data format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.framework import errors
from weft.framework.shape_rules import Shape, ShapeError, merge_dim, rank, text
from weft.ops.nn.windows import Window, output_size, windows


def is_channels_last(data_format: str) -> bool:
    """Whether the channels stand behind the spatial axes."""
    return not data_format.startswith("NC")


def spatial(values: Sequence[Any], data_format: str) -> tuple:
    """What a list with one item for each axis says of the spatial axes."""
    return tuple(values[1:-1] if is_channels_last(data_format) else values[2:])


def batch_and_channels(values: Sequence[Any], data_format: str) -> tuple:
    """What such a list says of the other axes."""
    return values[0], values[-1] if is_channels_last(data_format) else values[1]


def with_layout(batch: Any, sizes: Sequence[Any], channels: Any, data_format: str) -> tuple:
    """A shape, or a list with one item for each axis."""
    if is_channels_last(data_format):
        return (batch, *sizes, channels)
    return (batch, channels, *sizes)


def refuse(message: str) -> None:
    """Raises InvalidArgumentError."""
    # Attributes that no kernel takes: TensorFlow says so when the kernel is made, and not as a
    # matter of shapes.
    raise errors.InvalidArgumentError(None, None, message)


def explicit_pairs(padding: str, explicit: Sequence[int], data_format: str) -> list | None:
    """The padding of each spatial axis, where it is given; ShapeError where it cannot be."""
    if padding != "EXPLICIT":
        if explicit:
            raise ShapeError(
                "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT"
            )
        return None
    if len(explicit) != 8:
        raise ShapeError(
            f"explicit_paddings attribute must contain 8 values, but got: {len(explicit)}"
        )
    pairs = [tuple(explicit[i : i + 2]) for i in range(0, 8, 2)]
    if min(explicit) < 0:
        raise ShapeError(f"All elements of explicit_paddings must be nonnegative: {list(explicit)}")
    if any(map(any, batch_and_channels(pairs, data_format))):
        raise ShapeError(
            f"Nonzero explicit padding in the batch or depth dimensions is not supported: {list(explicit)}"
        )
    return list(spatial(pairs, data_format))


def per_axis(name: str, what: str, values: Sequence[int], count: int, data_format: str) -> tuple:
    """The spatial part of `strides`, `dilations` or `ksize`, which have one value for each axis."""
    if len(values) != count:
        raise ShapeError(
            f"{name} requires the {what} attribute to contain {count} values, but got: {len(values)}"
        )
    return spatial(values, data_format)


def convolution_shape(
    name: str,
    x: Shape,
    w: Shape,
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    explicit: Sequence[int],
    data_format: str,
    depthwise: bool = False,
) -> Shape:
    """The shape of a convolution's output."""
    count = len(data_format)
    x, w = rank(x, count), rank(w, count)
    steps = per_axis(name, "stride", strides, count, data_format)
    rates = per_axis(name, "dilation", dilations, count, data_format)
    check_steps(strides, dilations, data_format)
    pairs = explicit_pairs(padding, explicit, data_format) or [(0, 0)] * (count - 2)
    batch, channels = batch_and_channels(x, data_format)
    if depthwise:
        channels = merge_dim(channels, w[-2])
        out = None if channels is None or w[-1] is None else channels * w[-1]
    else:
        check_groups(channels, w)
        out = w[-1]
    rows = zip(spatial(x, data_format), w[:-2], steps, rates, pairs)
    sizes = [output_size(n, k, s, d, padding, p) for n, k, s, d, p in rows]
    return with_layout(batch, sizes, out, data_format)


def check_steps(strides: Sequence[int], dilations: Sequence[int], data_format: str) -> None:
    """Strides and dilations are of the spatial axes, and positive."""
    if batch_and_channels(strides, data_format) != (1, 1):
        refuse(
            "Current implementation does not yet support strides in the batch and depth dimensions."
        )
    if batch_and_channels(dilations, data_format) != (1, 1):
        refuse(
            "Current implementation does not yet support dilations in the batch and depth dimensions."
        )
    if min(strides) <= 0:
        refuse("Stride should be larger than 0: all strides must be > 0")
    if min(dilations) <= 0:
        refuse("Dilated rates should be larger than 0.")


def check_groups(channels: int | None, w: tuple) -> None:
    """The channels of the input are as many as the filter's, or groups of so many."""
    if channels is None or w[-2] is None:
        return
    if w[-2] == 0 and channels == 0:
        return
    if w[-2] == 0 or channels % w[-2]:
        raise ShapeError(
            f"Dimensions must be equal, but are {channels} and {w[-2]}: the channels of the input must be those of "
            "the filter, or a multiple"
        )
    groups = channels // w[-2]
    if w[-1] is not None and groups and w[-1] % groups:
        raise ShapeError(
            f"Depth of output ({w[-1]}) is not a multiple of the number of groups ({groups})"
        )


def geometry(
    x: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    explicit: Sequence[int],
    data_format: str,
) -> list[Window]:
    """The windows of a convolution whose input has the shape `x`."""
    return windows(
        spatial(x, data_format),
        kernel,
        spatial(strides, data_format),
        spatial(dilations, data_format),
        padding,
        explicit_pairs(padding, explicit, data_format),
    )


def check_output_gradient(
    name: str, dy: Any, batch: int, ws: Sequence[Window], channels: int, data_format: str
) -> None:
    """The gradient of an output has the output's shape."""
    wanted = with_layout(batch, [a.out for a in ws], channels, data_format)
    if tuple(dy.shape) != wanted:
        raise ShapeError(
            f"{name}: Size of out_backprop doesn't match computed: actual = {text(tuple(dy.shape))}, "
            f"computed = {text(wanted)}"
        )
