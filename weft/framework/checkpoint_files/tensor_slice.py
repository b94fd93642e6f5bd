"""Parts of tensors as checkpoints name them: an offset and a length for each axis, or all of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.checkpoint_files.coding import ordered_count, ordered_signed, ordered_text

_EXTENT = re.compile(r"-?\d+,\d+|-")


class Part(NamedTuple):
    """A part of a tensor of known shape: for each axis (start, length), or None for the whole axis."""

    extents: tuple[tuple[int, int] | None, ...]

    @classmethod
    def whole(cls, rank: int) -> Part:
        return cls((None,) * rank)

    @classmethod
    def of_proto(cls, message: Any) -> Part:
        return cls(
            tuple((e.start, e.length) if e.HasField("length") else None for e in message.extent)
        )

    @property
    def is_whole(self) -> bool:
        return all(e is None for e in self.extents)

    def shape(self, full: Sequence[int]) -> tuple[int, ...]:
        return tuple(n if e is None else e[1] for e, n in zip(self.extents, full))

    def bounds(self, full: Sequence[int]) -> list[tuple[int, int]]:
        """For each axis where the part begins and ends."""
        return [(0, n) if e is None else (e[0], e[0] + e[1]) for e, n in zip(self.extents, full)]

    def covers(self, full: Sequence[int]) -> bool:
        """Whether it is all of a tensor of this shape, though it may say so by numbers."""
        return all(b == (0, n) for b, n in zip(self.bounds(full), full))

    def to_proto(self, message: Any) -> None:
        message.SetInParent()  # a scalar's part is there too
        for extent in self.extents:
            added = message.extent.add()
            if extent is not None:
                if extent[0]:
                    added.start = extent[0]
                added.length = extent[1]

    def key(self, name: str) -> bytes:
        """The key under which files keep this part of the tensor of that name."""
        numbers = [n for e in self.extents for n in (e or (0, -1))]
        return b"".join(
            (
                ordered_count(0),
                ordered_text(name.encode()),
                ordered_count(len(self.extents)),
                *map(ordered_signed, numbers),
            )
        )

    def __str__(self) -> str:
        return ":".join("-" if e is None else f"{e[0]},{e[1]}" for e in self.extents)


def parse_shape_and_part(text: str) -> tuple[tuple[int, ...], Part]:
    """Reads the shape of a whole and a part of it: `3 4 0,2:-` is the first two rows of 3 x 4."""
    *sizes, spec = text.split(" ")
    if not sizes:
        raise errors.InvalidArgumentError(
            None, None, f"Need least two elements in shape_and_slice specification: {text}"
        )
    try:
        full = tuple(int(n) for n in sizes)
    except ValueError:
        raise errors.InvalidArgumentError(
            None, None, f"Non numerical dimension in shape_and_slice: {text}"
        ) from None
    pieces = spec.split(":") if spec else []
    if len(pieces) != len(full) or not all(_EXTENT.fullmatch(p) for p in pieces):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Expected list of pairs or '-' but got a malformed slice, for {len(full)} axes: {text}",
        )
    extents: list[tuple[int, int] | None] = []
    for piece, n in zip(pieces, full):
        if piece == "-":
            extents.append(None)
            continue
        start, length = map(int, piece.split(","))
        if start < 0 or length <= 0 or start + length > n:
            raise errors.InvalidArgumentError(
                None, None, f"Expected non-negative start and positive length within {n}: {text}"
            )
        extents.append((start, length))
    return full, Part(tuple(extents))


def assembled(
    name: str,
    dtype: dtypes.DType,
    full: Sequence[int],
    wanted: Part,
    stored: Iterable[tuple[Part, Callable[[], np.ndarray]]],
) -> np.ndarray:
    """A part of a tensor, put together from those that there are; only what overlaps it is read."""
    want = wanted.bounds(full)
    result = np.empty(
        wanted.shape(full), object if dtype is dtypes.string else dtype.as_numpy_dtype
    )
    filled = np.zeros(result.shape, bool)
    for part, read in stored:
        have = part.bounds(full)
        common = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(want, have)]
        if any(a >= b for a, b in common):
            continue
        source = tuple(slice(a - c, b - c) for (a, b), (c, _) in zip(common, have))
        target = tuple(slice(a - c, b - c) for (a, b), (c, _) in zip(common, want))
        result[target] = read()[source]
        filled[target] = True
    if not filled.all():
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Does not have sufficient slices for partitioned tensor {name} to restore in slice_spec: {wanted}",
        )
    return result
