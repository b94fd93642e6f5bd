"""Geometry of windows that slide over spatial axes: output sizes and padding as TensorFlow has
them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from weft.framework.shape_rules import ShapeError


class Window(NamedTuple):
    """One spatial axis: how a window moves over it."""

    size: int  # of the input
    kernel: int
    stride: int
    dilation: int
    out: int
    low: int  # padding before the input
    high: int  # and behind it; negative where the last elements are not reached

    @property
    def span(self) -> int:
        """From the first to the last element that a window sees."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def reach(self) -> int:
        """From the first element of the first window to the last of the last; 0 where there is
        none."""
        return 0 if self.out == 0 else (self.out - 1) * self.stride + self.span

    def positions(self) -> range:
        """Where each element of the first window lies in the padded axis."""
        return range(0, self.span, self.dilation)


def output_size(
    size: int | None,
    kernel: int | None,
    stride: int,
    dilation: int,
    padding: str,
    explicit: tuple[int, int] = (0, 0),
) -> int | None:
    """The number of windows along an axis; None where it is not known."""
    if size is None:
        return None
    if padding == "SAME":
        return -(-size // stride)
    if kernel is None:
        return None
    span = (kernel - 1) * dilation + 1
    total = size + (sum(explicit) if padding == "EXPLICIT" else 0)
    if total < span:
        raise ShapeError(
            f"Negative dimension size caused by subtracting {span} from {total}: Computed output size would be "
            f"negative [input_size: {size}, effective_filter_size: {span}, stride: {stride}]"
        )
    return (total - span) // stride + 1


def window(
    size: int,
    kernel: int,
    stride: int = 1,
    dilation: int = 1,
    padding: str = "VALID",
    explicit: tuple[int, int] = (0, 0),
) -> Window:
    """The geometry of one axis."""
    out = output_size(size, kernel, stride, dilation, padding, explicit)
    assert out is not None
    span = (kernel - 1) * dilation + 1
    reach = 0 if out == 0 else (out - 1) * stride + span
    low = explicit[0] if padding == "EXPLICIT" else 0
    if padding == "SAME":
        low = max(reach - size, 0) // 2
    return Window(size, kernel, stride, dilation, out, low, reach - size - low)


def windows(
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int] | None = None,
    padding: str = "VALID",
    explicit: Sequence[tuple[int, int]] | None = None,
) -> list[Window]:
    """The geometry of each spatial axis."""
    count = len(sizes)
    dilations = dilations or (1,) * count
    explicit = explicit or ((0, 0),) * count
    rows = zip(sizes, kernel, strides, dilations, (padding,) * count, explicit)
    return [window(*row) for row in rows]
