"""Conditional accumulators: gradients of several workers, taken as their mean or sum once there are enough."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.registry import op
from weft.framework.shape_rules import Shape, compatible, text
from weft.ops.queues.handles import both_handles, held, kept, shapes_of
from weft.ops.queues.waiting import NOT_YET, WaitingRoom


def _mismatch(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, f"Shape mismatch: {message}")


class Accumulator(WaitingRoom):
    """What both kinds share: the count, the step from which on gradients are fresh, and who waits."""

    def __init__(self, name: str, dtype: dtypes.DType, shape: Shape, reduction_type: str):
        super().__init__("take")
        self.name, self.dtype, self.shape = name, dtype, shape
        self.is_mean = reduction_type == "MEAN"
        self.count = 0
        self.step = 0  # gradients of earlier steps are stale

    def apply(self, local_step: int, gradient: Any) -> None:
        """Adds a gradient, unless it is stale."""

        def add() -> None:
            if local_step >= self.step:
                self.add(gradient)
                self.count += 1

        self.change(add)

    def take(self, ctx: Any, required: int) -> Any:
        """The mean or sum of what was added, once there are as many as required."""
        if required <= 0:
            raise errors.InvalidArgumentError(
                None, None, f"Argument num_required must be positive, but was {required}"
            )

        def attempt() -> Any:
            if self.count < required:
                return NOT_YET
            self.step += 1
            taken = self.taken()
            self.count = 0
            return taken

        return self.run(ctx, "take", attempt, "TakeGrad operation was cancelled")

    def add(self, gradient: Any) -> None:
        raise NotImplementedError

    def taken(self) -> Any:
        raise NotImplementedError


def _divided(values: np.ndarray, counts: Any) -> np.ndarray:
    """values / counts in the dtype of the values; whole numbers are cut off towards zero."""
    counts = np.asarray(counts).astype(values.dtype)
    if values.dtype.kind == "u":
        return values // counts
    if values.dtype.kind == "i":
        return np.sign(values) * (np.abs(values) // counts)
    return (values / counts).astype(values.dtype)


class DenseAccumulator(Accumulator):
    """Accumulates arrays of one shape."""

    total: np.ndarray

    def add(self, gradient: np.ndarray) -> None:
        if self.count and gradient.shape != self.total.shape:
            raise _mismatch(f"expected {text(self.total.shape)}, got {text(gradient.shape)}")
        if not compatible(self.shape, gradient.shape):
            raise _mismatch(f"expected {text(self.shape)}, got {text(gradient.shape)}")
        self.total = self.total + gradient if self.count else gradient

    def taken(self) -> np.ndarray:
        total, self.total = self.total, np.zeros(0)
        return _divided(total, self.count) if self.is_mean else total


class SparseAccumulator(Accumulator):
    """Accumulates rows of an array; each has its own count."""

    indices: np.ndarray
    values: np.ndarray
    counts: np.ndarray

    def add(self, gradient: tuple) -> None:
        indices, values, shape = gradient
        self._check(indices, values, shape)
        ones = np.ones(len(indices), np.int64)
        if not self.count:
            self.indices, self.values, self.counts = indices, values, ones
            return
        before = len(self.indices)
        all_indices, place = np.unique(np.concatenate([self.indices, indices]), return_inverse=True)
        total = np.zeros((len(all_indices), *values.shape[1:]), values.dtype)
        counts = np.zeros(len(all_indices), np.int64)
        for rows, at, n in (
            (self.values, place[:before], self.counts),
            (values, place[before:], ones),
        ):
            np.add.at(total, at, rows)
            np.add.at(counts, at, n)
        self.indices, self.values, self.counts = all_indices, total, counts

    def _check(self, indices: np.ndarray, values: np.ndarray, shape: np.ndarray | None) -> None:
        invalid = errors.InvalidArgumentError
        if indices.ndim != 1:
            raise invalid(
                None,
                None,
                f"Input indices should be vector but received shape: {text(indices.shape)}",
            )
        if values.ndim == 0:
            raise invalid(None, None, "Values cannot be 0-dimensional.")
        if len(values) != len(indices):
            raise invalid(
                None,
                None,
                f"Expected {len(indices)} non-empty input values, got {len(values)}",
            )
        mine = self.shape or ()
        if shape is not None:
            if len(mine) > len(shape):
                raise _mismatch(f"expected shape rank at least {len(mine)}, got {len(shape)}")
            for i, (n, found) in enumerate(zip(mine, shape.tolist())):
                if n is not None and n != found:
                    raise _mismatch(f"expected shape dim {i} to be {n}, got {found}")
        if mine and mine[0] is not None:
            outside = np.flatnonzero(indices >= mine[0])
            if outside.size:
                i = int(outside[0])
                raise _mismatch(
                    f"index of slice {i} exceeded limits of shape; index is {indices[i]} exceeded {mine[0]}"
                )
        if self.count:
            if self.values.ndim != values.ndim:
                raise _mismatch(f"expected values rank {self.values.ndim}, got {values.ndim}")
            row: Any = self.values.shape
        else:
            if len(mine) > values.ndim:
                raise _mismatch(f"expected values rank at least {len(mine)}, got {values.ndim}")
            row = mine
        for i, n in enumerate(row[1:], 1):
            if n is not None and n != values.shape[i]:
                raise _mismatch(f"expected values dim {i} to be {n}, got {values.shape[i]}")

    def taken(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        values = self.values
        if self.is_mean:
            values = _divided(values, self.counts.reshape(-1, *[1] * (values.ndim - 1)))
        rows = self.shape[0] if self.shape and self.shape[0] is not None else -1
        return self.indices, values, np.array([rows, *values.shape[1:]], np.int64)


# -- ops ----------------------------------------------------------------------------------------------------

_NUMBER = (
    "dtype: type in {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, "
    "uint16, complex128, half, uint32, uint64}"
)
_NEW = (
    f'{_NUMBER}; shape: shape; container: string = ""; shared_name: string = ""; '
    'reduction_type: string in {MEAN, SUM} = "MEAN"'
)


def _find(ctx: Any, cls: Any, container: str, shared_name: str, *args: Any) -> Accumulator:
    name = shared_name or ctx.op.name
    return ctx.resources.get_or_create("accumulator", container, name, lambda: cls(name, *args))


def _conditional_accumulator(ctx, *, dtype, shape, container, shared_name, reduction_type):
    """An accumulator of dense gradients."""
    return _find(ctx, DenseAccumulator, container, shared_name, dtype, shape, reduction_type)


_dense = both_handles(
    "ConditionalAccumulator",
    "ResourceConditionalAccumulator",
    "-> @handle",
    _NEW,
    stateful=True,
    handle=True,
)(_conditional_accumulator)
shapes_of(_dense[:1], lambda: (2,))
shapes_of(_dense[1:], lambda: ())


@op(
    "SparseConditionalAccumulator",
    "-> ref handle: string",
    _NEW,
    stateful=True,
    host=True,
    handle=True,
)
def sparse_conditional_accumulator(ctx, *, dtype, shape, container, shared_name, reduction_type):
    """An accumulator of sparse gradients."""
    return _find(ctx, SparseAccumulator, container, shared_name, dtype, shape, reduction_type)


sparse_conditional_accumulator.shape(lambda: (2,))
sparse_conditional_accumulator.not_differentiable()


def _of_dtype(handle: Any, cls: Any, dtype: dtypes.DType) -> Any:
    accumulator = held(handle, cls)
    if accumulator.dtype is not dtype:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Signature mismatch, have: {dtype.name} expected: {accumulator.dtype.name}",
        )
    return accumulator


def _scalar(name: str, value: Any) -> int:
    if np.ndim(value):
        raise errors.InvalidArgumentError(
            None, None, f"Argument {name} must be scalar, but had bad shape {text(value.shape)}"
        )
    return int(value)


@both_handles(
    "AccumulatorApplyGradient",
    "ResourceAccumulatorApplyGradient",
    "@handle, local_step: int64, gradient: dtype",
    _NUMBER,
)
def _apply_gradient(ctx, handle, local_step, gradient, *, dtype):
    """Adds a gradient to an accumulator, unless it is stale."""
    accumulator = _of_dtype(handle, DenseAccumulator, dtype)
    accumulator.apply(_scalar("local_step", local_step), kept(ctx, gradient))


@both_handles(
    "AccumulatorNumAccumulated",
    "ResourceAccumulatorNumAccumulated",
    "@handle -> num_accumulated: int32",
)
def _num_accumulated(ctx, handle):
    """How many gradients were added."""
    return held(handle, Accumulator).count


shapes_of(_num_accumulated, lambda handle: ())


@both_handles(
    "AccumulatorSetGlobalStep",
    "ResourceAccumulatorSetGlobalStep",
    "@handle, new_global_step: int64",
)
def _set_global_step(ctx, handle, new_global_step):
    """Makes the gradients of earlier steps stale."""
    held(handle, Accumulator).step = _scalar("new_global_step", new_global_step)


@both_handles(
    "AccumulatorTakeGradient",
    "ResourceAccumulatorTakeGradient",
    "@handle, num_required: int32 -> average: dtype",
    _NUMBER,
    blocking=True,
)
def _take_gradient(ctx, handle, num_required, *, dtype):
    """Takes the mean or sum of the gradients; waits for as many as are required."""
    accumulator = _of_dtype(handle, DenseAccumulator, dtype)
    return accumulator.take(ctx, _scalar("num_required", num_required))


shapes_of(_take_gradient, lambda handle, num_required: None)


@op(
    "SparseAccumulatorApplyGradient",
    "ref handle: string, local_step: int64, gradient_indices: int64, gradient_values: dtype, "
    "gradient_shape: int64",
    f"{_NUMBER}; has_known_shape: bool",
    host=True,
)
def sparse_accumulator_apply_gradient(
    ctx,
    handle,
    local_step,
    gradient_indices,
    gradient_values,
    gradient_shape,
    *,
    dtype,
    has_known_shape,
):
    """Adds rows of a gradient to an accumulator, unless they are stale."""
    accumulator = _of_dtype(handle, SparseAccumulator, dtype)
    gradient = (
        kept(ctx, gradient_indices),
        kept(ctx, gradient_values),
        gradient_shape if has_known_shape else None,
    )
    accumulator.apply(_scalar("local_step", local_step), gradient)


sparse_accumulator_apply_gradient.not_differentiable()


@op(
    "SparseAccumulatorTakeGradient",
    "ref handle: string, num_required: int32 -> indices: int64, values: dtype, shape: int64",
    _NUMBER,
    host=True,
    blocking=True,
)
def sparse_accumulator_take_gradient(ctx, handle, num_required, *, dtype):
    """Takes the mean or sum of the rows that were added; waits for as many gradients as are required."""
    accumulator = _of_dtype(handle, SparseAccumulator, dtype)
    return accumulator.take(ctx, _scalar("num_required", num_required))


sparse_accumulator_take_gradient.shape(lambda handle, num_required: (None, None, None))
sparse_accumulator_take_gradient.not_differentiable()
