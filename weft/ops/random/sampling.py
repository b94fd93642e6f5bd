"""Gamma and Poisson numbers: `tf.random.gamma`, `tf.random.poisson`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export, find
from weft.framework.graph import control_dependencies
from weft.framework.registry import op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import broadcast, concatenate
from weft.ops.by_name import raw
from weft.ops.random import gamma_gradient, rejection
from weft.ops.random.counters import given_shape, seeds, sizes, take
from weft.ops.random.philox import BLOCKS_PER_OUTPUT

_SEEDS = "seed: int = 0; seed2: int = 0; S: type in {int32, int64}"


@op(
    "RandomGamma",
    "shape: S, alpha: T -> output: T",
    f"{_SEEDS}; T: type in {{half, float, double}}",
    stateful=True,
    static=("shape",),
)
def random_gamma_op(ctx, shape, alpha, *, seed, seed2):
    """`shape` gamma-distributed numbers of rate 1 for each `alpha`."""
    dims = sizes(shape)
    count = math.prod(dims) * alpha.size
    if count == 0:
        return ctx.xp.zeros((*dims, *alpha.shape), alpha.dtype)
    state = take(ctx, seed, seed2, count * BLOCKS_PER_OUTPUT)
    return rejection.gamma(ctx.xp, *state, dims, alpha)


@random_gamma_op.shape
def _(shape, alpha, *, const):
    return concatenate(given_shape(shape, const), alpha)


@random_gamma_op.gradient
def _(op, grad):
    shape, alpha = op.inputs
    with control_dependencies([grad]):
        leading = raw.Size(shape)
        ones = raw.Fill(raw.Reshape(leading, [1]), np.int32(1))
        alpha = raw.Reshape(alpha, raw.ConcatV2([ones, raw.Shape(alpha)], 0))
        partial = random_gamma_grad(alpha, op.outputs[0])
        axes = raw.Range(np.int32(0), leading, np.int32(1))
        return None, raw.Sum(grad * partial, axes)


@op(
    "RandomGammaGrad",
    "alpha: T, sample: T -> output: T",
    "T: type in {float, double}",
)
def random_gamma_grad(xp, alpha, sample):
    """How a gamma-distributed sample changes with its `alpha`, the sample's quantile staying the
    same."""
    return gamma_gradient.sample_derivative(xp, alpha, sample)


random_gamma_grad.shape(broadcast)


@op(
    "RandomPoisson",
    "shape: S, rate: dtype -> output: dtype",
    f"{_SEEDS}; dtype: type in {{half, float, double}}",
    stateful=True,
    static=("shape",),
)
def random_poisson_v1_op(ctx, shape, rate, *, dtype, seed, seed2):
    """`shape` Poisson-distributed numbers for each `rate`."""
    return _poisson(ctx, shape, rate, dtype, seed, seed2)


@op(
    "RandomPoissonV2",
    "shape: S, rate: R -> output: dtype",
    f"{_SEEDS}; R: type in {{half, float, double, int32, int64}} = double; "
    "dtype: type in {half, float, double, int32, int64} = int64",
    stateful=True,
    static=("shape",),
)
def random_poisson_op(ctx, shape, rate, *, dtype, seed, seed2):
    """`shape` Poisson-distributed numbers for each `rate`."""
    return _poisson(ctx, shape, rate, dtype, seed, seed2)


def _poisson(ctx: Any, shape: Any, rate: Any, dtype: Any, seed: int, seed2: int) -> Any:
    dims = sizes(shape)
    count = math.prod(dims) * rate.size
    if count == 0:
        return ctx.xp.zeros((*dims, *rate.shape), dtype.np)
    state = take(ctx, seed, seed2, count * BLOCKS_PER_OUTPUT)
    return rejection.poisson(ctx.xp, *state, dims, rate, dtype.np)


for _decl in (random_poisson_v1_op, random_poisson_op):

    @_decl.shape
    def _(shape, rate, *, const):
        return concatenate(given_shape(shape, const), rate)

    _decl.not_differentiable()


@export("random_gamma", "random.gamma", "compat.v2.random.gamma")
def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws `shape` numbers from each gamma distribution of shape `alpha` and rate `beta`."""
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        shape = convert_to_tensor(shape, dtypes.int32, "shape")
        alpha = convert_to_tensor(alpha, dtype, "alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype, "beta")
        alpha = alpha + find("", "zeros_like", "tf")(beta)
        least = np.finfo(alpha.dtype.as_numpy_dtype).tiny
        return raw.Maximum(least, random_gamma_op(shape, alpha, **seeds(seed)) / beta)


@export("compat.v2.random.poisson")
def random_poisson_v2(
    shape: Any,
    lam: Any,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws `shape` numbers from each Poisson distribution of mean `lam`."""
    return random_poisson(lam, shape, dtype, seed, name)


@export("random_poisson", "random.poisson")
def random_poisson(
    lam: Any,
    shape: Any,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws `shape` numbers from each Poisson distribution of mean `lam`."""
    with name_scope(name, "random_poisson", [lam, shape]):
        shape = convert_to_tensor(shape, dtypes.int32, "shape")
        return random_poisson_op(shape, lam, dtype=dtypes.as_dtype(dtype), **seeds(seed))
