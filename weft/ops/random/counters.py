"""What random ops share: their counter, the shapes that they are given, and how functions pass
those on."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes, random_seed
from weft.framework.conversion import convert_to_tensor
from weft.framework.dimension import dimension_value
from weft.framework.shape_rules import Shape, ShapeError
from weft.ops.random import philox

_MASK = 2**64 - 1


def take(ctx: Any, seed: int, seed2: int, blocks: Any) -> tuple[Any, Any]:
    """The key and counter from which this run of the op draws; the next run starts `blocks` behind."""

    def start() -> np.ndarray:
        key, counter = philox.key_and_counter(seed, seed2)
        return np.array([key, *counter], np.uint64)

    cell = ctx.random_cell(start)
    with ctx.lock:
        state = ctx.read(cell)
        ctx.write(cell, _advanced(ctx.xp, state, blocks))
    return state[0], state[1:]


def _advanced(xp: Any, state: Any, blocks: Any) -> Any:
    if type(state) is np.ndarray and isinstance(blocks, int):  # host integers are quicker
        key, low, high = (int(word) for word in state)
        counter = (high << 64) + low + blocks
        return np.array([key, counter & _MASK, (counter >> 64) & _MASK], np.uint64)
    return xp.concatenate([state[:1], philox.advance(xp, state[1:], np.uint64(blocks & _MASK))])


def sizes(shape: np.ndarray) -> tuple[int, ...]:
    """The value of a `shape` input as a tuple."""
    dims = tuple(int(d) for d in np.asarray(shape).reshape(-1))
    for i, d in enumerate(dims):
        if d < 0:
            raise ShapeError(f"Dimension {i} must be >= 0, but is {d} in shape {list(dims)}")
    return dims


def given_shape(shape: Shape, const: Any, name: str = "shape") -> Shape:
    """The static shape of what has the value of the input `shape` as its shape."""
    if shape is not None and len(shape) != 1:
        if len(shape) != 0:
            raise ShapeError(
                f"Shape must be rank 1 but is rank {len(shape)}: {name} must be a vector"
            )
        raise ShapeError(
            f"Shape must be rank 1 but is rank 0: {name} must be a vector of {{int32,int64}}"
        )
    known = const.shape(name)
    if known is None and shape is not None and shape[0] is not None:
        return (None,) * shape[0]
    return known


def shape_tensor(shape: Any) -> Any:
    """A shape as a tensor; an empty list is one of int32."""
    dtype = None
    if isinstance(shape, (list, tuple)):
        dtype = None if shape else dtypes.int32
        shape = [dimension_value(d) for d in shape]
    return convert_to_tensor(shape, dtype, "shape")


def seeds(seed: int | None) -> dict[str, Any]:
    """The attributes `seed` and `seed2` that follow from the seed of a call."""
    first, second = random_seed.get_seed(seed)
    return {"seed": first or 0, "seed2": second or 0}
