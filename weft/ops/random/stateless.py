"""Numbers that follow from a seed alone: `tf.random.stateless_*`."""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export
from weft.framework.registry import OpDecl, op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import ShapeError, scalar, text, vector
from weft.ops.by_name import raw
from weft.ops.random import discrete, distributions, truncated
from weft.ops.random.categories import MULTINOMIAL_TYPES, check_categories, drawn_shape
from weft.ops.random.counters import given_shape, shape_tensor, sizes
from weft.ops.random.philox import stateless_key_and_counter
from weft.ops.random.plain import check_range, uniform_range

_SEED = "Tseed: type in {int32, int64} = int64"


def _check_seed(seed: Any) -> None:
    seed = vector(seed, "seed")
    if seed[0] not in (None, 2):
        raise ShapeError(f"seed must have shape [2], not {text(seed)}")


def _stateless(name: str, draw: Any, doc: str) -> OpDecl:
    def kernel(xp, shape, seed, *, dtype):
        return draw(xp, *stateless_key_and_counter(xp, seed), sizes(shape), dtype.np)

    decl = op(
        name,
        "shape: T, seed: Tseed -> output: dtype",
        "dtype: type in {half, bfloat16, float, double} = float; "
        f"T: type in {{int32, int64}} = int32; {_SEED}",
        static=("shape",),
    )(kernel)
    decl.__doc__ = doc

    @decl.shape
    def _(shape, seed, *, const):
        _check_seed(seed)
        return given_shape(shape, const)

    return decl.not_differentiable()


stateless_random_uniform_op = _stateless(
    "StatelessRandomUniform", distributions.uniform, "Numbers in [0, 1)."
)
stateless_random_normal_op = _stateless(
    "StatelessRandomNormal", distributions.normal, "Normal numbers of mean 0 and deviation 1."
)
stateless_truncated_normal_op = _stateless(
    "StatelessTruncatedNormal",
    truncated.truncated_normal,
    "Normal numbers of which those beyond two deviations are drawn again.",
)


@op(
    "StatelessRandomUniformInt",
    "shape: T, seed: Tseed, minval: dtype, maxval: dtype -> output: dtype",
    f"dtype: type in {{int32, int64}}; T: type in {{int32, int64}}; {_SEED}",
    static=("shape",),
)
def stateless_random_uniform_int(xp, shape, seed, minval, maxval, *, dtype):
    """Integers in [minval, maxval)."""
    dims = sizes(shape)
    check_range(xp, minval, maxval, dims)
    state = stateless_key_and_counter(xp, seed)
    return distributions.uniform_int(xp, *state, dims, minval, maxval, dtype.np)


@stateless_random_uniform_int.shape
def _(shape, seed, minval, maxval, *, const):
    _check_seed(seed)
    scalar(minval)
    scalar(maxval)
    return given_shape(shape, const)


stateless_random_uniform_int.not_differentiable()


@op(
    "StatelessMultinomial",
    "logits: T, num_samples: int32, seed: Tseed -> output: output_dtype",
    f"T: {MULTINOMIAL_TYPES}; {_SEED}; output_dtype: type in {{int32, int64}} = int64",
    static=("num_samples",),
)
def stateless_multinomial_op(xp, logits, num_samples, seed, *, output_dtype):
    """For each row of unnormalised log-probabilities `num_samples` categories."""
    count = check_categories(logits, num_samples)
    state = stateless_key_and_counter(xp, seed)
    return discrete.multinomial(xp, *state, logits, count, output_dtype.np)


@stateless_multinomial_op.shape
def _(logits, num_samples, seed, *, const):
    _check_seed(seed)
    return drawn_shape(logits, num_samples, const)


stateless_multinomial_op.not_differentiable()


@export("random.stateless_uniform", "compat.v2.random.stateless_uniform")
def stateless_random_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Any:
    """Draws evenly from [minval, maxval), the same numbers for the same seed."""
    dtype, maxval = uniform_range(dtype, maxval)
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as name:
        shape = shape_tensor(shape)
        minval = convert_to_tensor(minval, dtype, "min")
        maxval = convert_to_tensor(maxval, dtype, "max")
        if dtype.is_integer:
            return stateless_random_uniform_int(shape, seed, minval, maxval, name=name)
        drawn = stateless_random_uniform_op(shape, seed, dtype=dtype)
        return raw.Add(drawn * (maxval - minval), minval, name=name)


def _scaled(
    decl: OpDecl, scope: str, shape: Any, seed: Any, mean: Any, stddev: Any, dtype: Any, name: Any
) -> Any:
    with name_scope(name, scope, [shape, seed, mean, stddev]) as name:
        shape = shape_tensor(shape)
        mean = convert_to_tensor(mean, dtype, "mean")
        stddev = convert_to_tensor(stddev, dtype, "stddev")
        drawn = decl(shape, seed, dtype=dtypes.as_dtype(dtype))
        return raw.Add(drawn * stddev, mean, name=name)


@export("random.stateless_normal", "compat.v2.random.stateless_normal")
def stateless_random_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Any:
    """Draws from a normal distribution, the same numbers for the same seed."""
    return _scaled(
        stateless_random_normal_op,
        "stateless_random_normal",
        shape,
        seed,
        mean,
        stddev,
        dtype,
        name,
    )


@export("random.stateless_truncated_normal", "compat.v2.random.stateless_truncated_normal")
def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Any:
    """Draws from a truncated normal distribution, the same numbers for the same seed."""
    return _scaled(
        stateless_truncated_normal_op,
        "stateless_truncated_normal",
        shape,
        seed,
        mean,
        stddev,
        dtype,
        name,
    )


@export("random.stateless_multinomial")
def stateless_multinomial(
    logits: Any,
    num_samples: Any,
    seed: Any,
    output_dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Any:
    """Draws categories, the same for the same seed; deprecated for `stateless_categorical`."""
    with name_scope(name, "stateless_multinomial", [logits, seed]):
        logits = convert_to_tensor(logits, name="logits")
        return stateless_multinomial_op(logits, num_samples, seed, output_dtype=output_dtype)


@export("random.stateless_categorical", "compat.v2.random.stateless_categorical")
def stateless_categorical(
    logits: Any,
    num_samples: Any,
    seed: Any,
    dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Any:
    """Draws categories from log-probabilities, the same for the same seed."""
    with name_scope(name, "stateless_categorical", [logits, seed]):
        logits = convert_to_tensor(logits, name="logits")
        return stateless_multinomial_op(logits, num_samples, seed, output_dtype=dtype)
