"""Categories, permutations and crops: `tf.random.categorical`, `shuffle`, `random_crop`."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export, find
from weft.framework.graph import control_dependencies
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, rank, same, scalar
from weft.ops.by_name import raw
from weft.ops.random import discrete
from weft.ops.random.counters import seeds, take
from weft.ops.random.philox import BLOCKS_PER_OUTPUT

MULTINOMIAL_TYPES = "type in {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"


def check_categories(logits: Any, num_samples: Any) -> int:
    """The number of samples; InvalidArgumentError where there is nothing to draw from."""
    count = int(num_samples)
    if count < 0:
        raise errors.InvalidArgumentError(
            None, None, f"num_samples should be nonnegative, got {count}"
        )
    if logits.shape[1] == 0:
        raise errors.InvalidArgumentError(None, None, "num_classes should be positive, got 0")
    return count


def drawn_shape(logits: Any, num_samples: Any, const: Any) -> Any:
    """The static shape of categories that are drawn."""
    logits = rank(logits, 2)
    scalar(num_samples)
    count = const("num_samples")
    return logits[0], None if count is None else int(count)


@op(
    "Multinomial",
    "logits: T, num_samples: int32 -> output: output_dtype",
    f"seed: int = 0; seed2: int = 0; T: {MULTINOMIAL_TYPES}; output_dtype: type in {{int32, int64}} = int64",
    stateful=True,
    static=("num_samples",),
)
def multinomial_op(ctx, logits, num_samples, *, seed, seed2, output_dtype):
    """For each row of unnormalised log-probabilities `num_samples` categories."""
    count = check_categories(logits, num_samples)
    reserved = len(logits) * (-(-count // 4) * 4) * 2 if count else 0
    key, counter = take(ctx, seed, seed2, reserved * BLOCKS_PER_OUTPUT)
    return discrete.multinomial(ctx.xp, key, counter, logits, count, output_dtype.np)


@multinomial_op.shape
def _(logits, num_samples, *, const):
    return drawn_shape(logits, num_samples, const)


multinomial_op.not_differentiable()


@export("multinomial", "random.multinomial")
def multinomial(
    logits: Any,
    num_samples: Any,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = None,
) -> Any:
    """Draws categories; deprecated for `tf.random.categorical`."""
    with name_scope(name, "multinomial", [logits]):
        return _categories(logits, num_samples, output_dtype, seed)


@export("random.categorical", "compat.v2.random.categorical")
def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws categories from rows of unnormalised log-probabilities: [rows, num_samples]."""
    with name_scope(name, "categorical", [logits]):
        return _categories(logits, num_samples, dtype, seed)


def _categories(logits: Any, num_samples: Any, dtype: Any, seed: Any) -> Any:
    logits = convert_to_tensor(logits, name="logits")
    dtype = dtypes.int64 if dtype is None else dtype
    return multinomial_op(logits, num_samples, output_dtype=dtype, **seeds(seed))


@op(
    "RandomShuffle",
    "value: T -> output: T",
    "seed: int = 0; seed2: int = 0; T: type",
    stateful=True,
)
def random_shuffle_op(ctx, value, *, seed, seed2):
    """The rows of `value` in random order."""
    size = value.shape[0] if value.ndim else 1
    if value.size <= 1 or size <= 1:
        return value
    state = take(ctx, seed, seed2, discrete.shuffle_blocks(size))
    return value[discrete.permutation(ctx.xp, *state, size)]


random_shuffle_op.shape(same)


@export("random_shuffle", "random.shuffle", "compat.v2.random.shuffle")
def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Any:
    """Puts a tensor's rows into random order."""
    return random_shuffle_op(value, name=name, **seeds(seed))


@op(
    "RandomCrop",
    "image: T, size: int64 -> output: T",
    "T: type in {uint8, int8, int16, int32, int64, float, double}; seed: int = 0; seed2: int = 0",
    stateful=True,
    host=True,
)
def random_crop_op(ctx, image, size, *, seed, seed2):
    """A part of an image, of the given height and width."""
    height, width = (int(n) for n in size)
    for name, have, want in (("width", image.shape[1], width), ("height", image.shape[0], height)):
        if have < want:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"{name} must be >= target_{name}: {name} = {have}, target_{name} = {want}",
            )
    if image.shape[:2] == (height, width):
        return image
    state = take(ctx, seed, seed2, 1)
    extra = image.shape[0] - height, image.shape[1] - width
    y, x = discrete.crop_offsets(ctx.xp, *state, *extra)
    return image[y : y + height, x : x + width]


@random_crop_op.shape
def _(image, size, *, const):
    image = rank(image, 3)
    if size is not None and size not in ((2,), (None,)):
        raise ShapeError("size must have two elements")
    known = const("size")
    height, width = (None, None) if known is None else (int(n) for n in known)
    return height, width, image[2]


random_crop_op.not_differentiable()


@export("random_crop", "image.random_crop")
def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Any:
    """Cuts a part of the given size out of a tensor, at a random place."""
    from weft.ops.random.plain import random_uniform

    with name_scope(name, "random_crop", [value, size]) as name:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtypes.int32, "size")
        shape = find("", "shape", "tf")(value)
        check = find("", "Assert", "tf")(
            find("", "reduce_all", "tf")(raw.GreaterEqual(shape, size)),
            ["Need value.shape >= size, got ", shape, size],
            summarize=1000,
        )
        with control_dependencies([] if check is None else [check]):
            shape = raw.Identity(shape, name="control_dependency")
        limit = shape - size + 1
        greatest = int(np.iinfo(np.int32).max)
        offset = random_uniform(
            find("", "shape", "tf")(shape), maxval=greatest, dtype=dtypes.int32, seed=seed
        )
        return find("", "slice", "tf")(value, offset % limit, size, name=name)
