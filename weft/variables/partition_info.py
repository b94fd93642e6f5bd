"""PartitionInfo: tells an initializer which part of a whole it makes."""

from __future__ import annotations

from collections.abc import Sequence


def _check_sequence(value: object, name: str) -> None:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise TypeError(
            f"`{name}` must be a sequence (like tuple or list) instead of {type(value).__name__}"
        )


class PartitionInfo:
    """The shape of the whole, and where in it a part begins."""

    def __init__(self, full_shape: Sequence[int], var_offset: Sequence[int]):
        _check_sequence(full_shape, "full_shape")
        _check_sequence(var_offset, "var_offset")
        if len(var_offset) != len(full_shape):
            raise ValueError(
                f"Expected equal length, but `var_offset` is of length {len(var_offset)} while full_shape is of "
                f"length {len(full_shape)}."
            )
        for offset, size in zip(var_offset, full_shape):
            if offset < 0 or offset >= size:
                raise ValueError(
                    f"Expected 0 <= offset < shape but found offset={offset}, shape={size} for "
                    f"var_offset={var_offset}, full_shape={full_shape}"
                )
        self._full_shape, self._var_offset = full_shape, var_offset

    @property
    def full_shape(self) -> Sequence[int]:
        return self._full_shape

    @property
    def var_offset(self) -> Sequence[int]:
        return self._var_offset

    def single_offset(self, shape: Sequence[int]) -> int:
        """Where a part of this shape begins, along the one axis that is cut; 0 where none is."""
        axis = self.single_slice_dim(shape)
        return 0 if axis is None else self._var_offset[axis]

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """The one axis along which a part of this shape is cut out, or None for the whole."""
        _check_sequence(shape, "shape")
        full = self._full_shape
        if len(shape) != len(full):
            raise ValueError(
                f"Expected equal length, but received shape={shape} of length {len(shape)} while "
                f"self.full_shape={full} is of length {len(full)}."
            )
        for i, size in enumerate(shape):
            if self._var_offset[i] + size > full[i]:
                raise ValueError(
                    f"With self.var_offset={self._var_offset}, a partition of shape={shape} would exceed "
                    f"self.full_shape={full} in dimension {i}."
                )
        cut = [i for i, size in enumerate(shape) if size != full[i]]
        if len(cut) > 1:
            raise ValueError(
                f"Cannot use single_slice_dim() with shape={shape} and self.full_shape={full} since slice dim "
                f"could be either dimension {cut[0]} or {cut[1]}."
            )
        return cut[0] if cut else None
