"""Uniform and normal numbers: `tf.random.uniform`, `normal`, `truncated_normal`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.registry import OpDecl, op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, rank_at_most, scalar
from weft.ops.by_name import raw
from weft.ops.random import bounded, distributions, truncated
from weft.ops.random.counters import given_shape, seeds, shape_tensor, sizes, take
from weft.ops.random.philox import BLOCKS_PER_OUTPUT

_SEEDS = "seed: int = 0; seed2: int = 0"
_FLOATS = "dtype: type in {half, bfloat16, float, double}; T: type in {int32, int64}"


def _plain(name: str, draw: Any, doc: str) -> OpDecl:
    """Declares an op that fills a shape with numbers of one distribution."""

    def kernel(ctx, shape, *, dtype, seed, seed2):
        dims = sizes(shape)
        state = take(ctx, seed, seed2, math.prod(dims) * BLOCKS_PER_OUTPUT)
        return draw(ctx.xp, *state, dims, dtype.np)

    decl = op(
        name, "shape: T -> output: dtype", f"{_SEEDS}; {_FLOATS}", stateful=True, static=("shape",)
    )(kernel)
    decl.__doc__ = doc
    decl.shape(lambda shape, *, const: given_shape(shape, const))
    return decl.not_differentiable()


random_uniform_op = _plain("RandomUniform", distributions.uniform, "Numbers in [0, 1).")
random_standard_normal = _plain(
    "RandomStandardNormal", distributions.normal, "Normal numbers of mean 0 and deviation 1."
)
truncated_normal_op = _plain(
    "TruncatedNormal",
    truncated.truncated_normal,
    "Normal numbers of which those beyond two deviations are drawn again.",
)


@op(
    "RandomUniformInt",
    "shape: T, minval: Tout, maxval: Tout -> output: Tout",
    f"{_SEEDS}; Tout: type in {{int32, int64}}; T: type in {{int32, int64}}",
    stateful=True,
    static=("shape",),
)
def random_uniform_int(ctx, shape, minval, maxval, *, Tout, seed, seed2):
    """Integers in [minval, maxval)."""
    dims = sizes(shape)
    check_range(ctx.xp, minval, maxval, dims)
    key, counter = take(ctx, seed, seed2, math.prod(dims) * BLOCKS_PER_OUTPUT)
    return distributions.uniform_int(ctx.xp, key, counter, dims, minval, maxval, Tout.np)


def check_range(xp: Any, minval: Any, maxval: Any, dims: tuple[int, ...]) -> None:
    """Asks for a range that is not empty, where something is drawn from it."""
    if math.prod(dims):
        xp.check(minval < maxval, lambda: f"Need minval < maxval, got {minval} >= {maxval}")


@random_uniform_int.shape
def _(shape, minval, maxval, *, const):
    scalar(minval)
    scalar(maxval)
    return given_shape(shape, const)


random_uniform_int.not_differentiable()


@op(
    "ParameterizedTruncatedNormal",
    "shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype -> output: dtype",
    f"{_SEEDS}; {_FLOATS}",
    stateful=True,
    host=True,
)
def parameterized_truncated_normal_op(
    ctx, shape, means, stdevs, minvals, maxvals, *, dtype, seed, seed2
):
    """Normal numbers between bounds; the parameters are scalars, or one for each row of the output."""
    dims = sizes(shape)
    if not dims:
        raise ShapeError("Input shape should be a vector with at least one element, got shape: []")
    count = math.prod(dims)
    parameters = (means, stdevs, minvals, maxvals)
    shared = all(p.size == 1 for p in parameters) and minvals.ndim == maxvals.ndim == 0
    batches, samples = (-(-count // 100), 100) if shared else (dims[0], count // max(dims[0], 1))
    for name, p in zip(("means", "stddevs", "minvals", "maxvals"), parameters):
        if p.ndim == 1 and p.size not in (1, batches):
            raise ShapeError(f"Input {name} should have length 1 or shape[0], got shape: {p.shape}")
    key, counter = take(ctx, seed, seed2, bounded.blocks(batches, samples))
    each = [np.broadcast_to(p.reshape(-1), (batches,)) for p in parameters]
    mean, deviation, low, high = each
    fine = (deviation > 0) & (low < high) & (np.isfinite(low) | np.isfinite(high))
    if not fine.all():
        raise errors.InvalidArgumentError(None, None, "Invalid parameters")
    try:
        drawn = bounded.bounded_normal(ctx.xp, key, counter, samples, mean, deviation, low, high)
    except bounded.NoSampleAccepted:
        raise errors.InternalError(
            None,
            None,
            "The rejection sampler failed to accept a sample: the bounds are out of reach of the distribution.",
        ) from None
    return drawn.reshape(-1)[:count].reshape(dims)


@parameterized_truncated_normal_op.shape
def _(shape, means, stdevs, minvals, maxvals, *, const):
    for parameter in (means, stdevs, minvals, maxvals):
        rank_at_most(parameter, 1)
    return given_shape(shape, const)


parameterized_truncated_normal_op.not_differentiable()


def _scaled(
    decl: OpDecl, scope: str, shape: Any, mean: Any, stddev: Any, dtype: Any, seed: Any, name: Any
) -> Any:
    with name_scope(name, scope, [shape, mean, stddev]) as name:
        shape = shape_tensor(shape)
        mean = convert_to_tensor(mean, dtype, "mean")
        stddev = convert_to_tensor(stddev, dtype, "stddev")
        drawn = decl(shape, dtype=dtypes.as_dtype(dtype), **seeds(seed))
        return raw.Add(drawn * stddev, mean, name=name)


@export("random_normal", "random.normal", "compat.v2.random.normal")
def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws from a normal distribution."""
    return _scaled(random_standard_normal, "random_normal", shape, mean, stddev, dtype, seed, name)


@export("truncated_normal", "random.truncated_normal", "compat.v2.random.truncated_normal")
def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws from a normal distribution; numbers more than two deviations off are drawn again."""
    return _scaled(truncated_normal_op, "truncated_normal", shape, mean, stddev, dtype, seed, name)


def parameterized_truncated_normal(
    shape: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws from normal distributions between bounds, with parameters for each row of the output."""
    scope = "parameterized_truncated_normal"
    with name_scope(name, scope, [shape, means, stddevs, minvals, maxvals]):
        shape = shape_tensor(shape)
        means = convert_to_tensor(means, dtype, "means")
        stddevs = convert_to_tensor(stddevs, dtype, "stddevs")
        minvals = convert_to_tensor(minvals, dtype, "minvals")
        maxvals = convert_to_tensor(maxvals, dtype, "maxvals")
        return parameterized_truncated_normal_op(
            shape, means, stddevs, minvals, maxvals, **seeds(seed)
        )


_UNIFORM_DTYPES = (
    dtypes.float16,
    dtypes.bfloat16,
    dtypes.float32,
    dtypes.float64,
    dtypes.int32,
    dtypes.int64,
)


def uniform_range(dtype: Any, maxval: Any) -> tuple[dtypes.DType, Any]:
    """The dtype and upper bound of uniform numbers; ValueError where integers have no bound."""
    dtype = dtypes.as_dtype(dtype)
    if dtype not in _UNIFORM_DTYPES:
        raise ValueError(f"Invalid dtype {dtype!r}")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    return dtype, maxval


@export("random_uniform", "random.uniform", "compat.v2.random.uniform")
def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws evenly from [minval, maxval)."""
    dtype, maxval = uniform_range(dtype, maxval)
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as name:
        shape = shape_tensor(shape)
        minval = convert_to_tensor(minval, dtype, "min")
        maxval = convert_to_tensor(maxval, dtype, "max")
        if dtype.is_integer:
            return random_uniform_int(shape, minval, maxval, name=name, **seeds(seed))
        drawn = random_uniform_op(shape, dtype=dtype, **seeds(seed))
        return raw.Add(drawn * (maxval - minval), minval, name=name)
