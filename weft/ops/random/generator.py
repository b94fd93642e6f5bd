"""Generators whose state is a variable: `tf.random.experimental.Generator` and its ops.

The state is a vector of int64: the counter (two), then the key.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from weft.framework import dtypes, errors
from weft.framework.conversion import convert_to_tensor
from weft.framework.export import export, find
from weft.framework.registry import OpDecl, op
from weft.framework.scopes import name_scope
from weft.framework.shape_rules import rank_at_most, scalar
from weft.ops.by_name import raw
from weft.ops.random import distributions, philox, rejection, truncated
from weft.ops.random.counters import given_shape, sizes
from weft.ops.random.plain import check_range

PHILOX, THREEFRY = 1, 2
_STATE_SIZE = {PHILOX: 3, THREEFRY: 2}
_SHAPE_TYPE = "shape_dtype: type = int64"


def _take(ctx: Any, cell: Any, algorithm: Any, blocks: int, skip: int = 0) -> tuple[Any, Any]:
    """The key and counter that a state variable holds; it is advanced by `blocks`."""
    xp = ctx.xp
    with ctx.lock:
        state = ctx.read(cell)
        if cell.dtype is not dtypes.int64:
            _invalid(f"dtype of RNG state variable must be int64, not {cell.dtype.name}")
        if state.ndim != 1:
            _invalid(f"RNG state must have one and only one dimension, not {state.ndim}")
        if algorithm is None:
            algorithm, skip = state[0], 1
        xp.check(algorithm == PHILOX, lambda: f"Unsupported algorithm id: {algorithm}")
        if state.shape[0] < skip + _STATE_SIZE[PHILOX]:
            _invalid(
                "For the Philox algorithm, the size of state must be at least "
                f"{skip + _STATE_SIZE[PHILOX]}; got {state.shape[0]}"
            )
        words = state[skip : skip + 3].astype(xp.uint64)
        counter = philox.advance(xp, words[:2], np.uint64(blocks & (2**64 - 1)))
        parts = [state[:skip], counter.astype(xp.int64), state[skip + 2 :]]
        ctx.write(cell, xp.concatenate(parts))
    return words[2], words[:2]


def _invalid(message: str) -> None:
    raise errors.InvalidArgumentError(None, None, message)


def _filling(name: str, draw: Any, dtype: str, with_algorithm: bool = True) -> OpDecl:
    """Declares an op that fills a shape from the generator in a variable."""

    def from_algorithm(ctx, resource, algorithm, shape, *, dtype):
        dims = sizes(shape)
        state = _take(ctx, resource, algorithm, math.prod(dims) * philox.BLOCKS_PER_OUTPUT)
        return draw(ctx.xp, *state, dims, dtype.np)

    def from_state(ctx, resource, shape, *, dtype):
        dims = sizes(shape)
        state = _take(ctx, resource, None, math.prod(dims) * philox.BLOCKS_PER_OUTPUT)
        return draw(ctx.xp, *state, dims, dtype.np)

    algorithm = "algorithm: int64, " if with_algorithm else ""
    decl = op(
        name,
        f"resource: resource, {algorithm}shape: shape_dtype -> output: dtype",
        f"dtype: type = {dtype}; {_SHAPE_TYPE}",
        stateful=True,
        static=("shape",),
    )(from_algorithm if with_algorithm else from_state)
    decl.__doc__ = f"Numbers from the generator in a variable: {draw.__doc__}"

    if with_algorithm:
        decl.shape(lambda resource, algorithm, shape, *, const: given_shape(shape, const))
    else:
        decl.shape(lambda resource, shape, *, const: given_shape(shape, const))
    return decl.not_differentiable()


stateful_uniform = _filling("StatefulUniform", distributions.uniform, "float")
stateful_uniform_full_int = _filling("StatefulUniformFullInt", distributions.full_int, "uint64")
stateful_standard_normal_v2 = _filling("StatefulStandardNormalV2", distributions.normal, "float")
stateful_standard_normal = _filling(
    "StatefulStandardNormal", distributions.normal, "float", with_algorithm=False
)
stateful_truncated_normal = _filling("StatefulTruncatedNormal", truncated.truncated_normal, "float")


@op(
    "StatefulUniformInt",
    "resource: resource, algorithm: int64, shape: shape_dtype, minval: dtype, maxval: dtype "
    "-> output: dtype",
    f"dtype: type = int64; {_SHAPE_TYPE}",
    stateful=True,
    static=("shape",),
)
def stateful_uniform_int(ctx, resource, algorithm, shape, minval, maxval, *, dtype):
    """Integers in [minval, maxval) from the generator in a variable."""
    dims = sizes(shape)
    check_range(ctx.xp, minval, maxval, (1,))
    state = _take(ctx, resource, algorithm, math.prod(dims) * philox.BLOCKS_PER_OUTPUT)
    return distributions.uniform_int(ctx.xp, *state, dims, minval, maxval, dtype.np)


@stateful_uniform_int.shape
def _(resource, algorithm, shape, minval, maxval, *, const):
    scalar(minval)
    scalar(maxval)
    return given_shape(shape, const)


stateful_uniform_int.not_differentiable()


@op(
    "StatefulRandomBinomial",
    "resource: resource, algorithm: int64, shape: S, counts: T, probs: T -> output: dtype",
    "S: type in {int32, int64}; T: type in {half, float, double, int32, int64} = double; "
    "dtype: type in {half, float, double, int32, int64} = int64",
    stateful=True,
    static=("shape",),
)
def stateful_random_binomial(ctx, resource, algorithm, shape, counts, probs, *, dtype):
    """Binomial numbers; counts and probabilities are scalars, or one for each row of the output."""
    xp = ctx.xp
    dims = sizes(shape)
    count = math.prod(dims)
    rows = dims[0] if dims else 1
    for name, parameter in (("counts", counts), ("probs", probs)):
        if parameter.ndim == 1 and parameter.shape[0] not in (1, rows):
            _invalid(
                f"Input {name} should have length 1 or shape[0], got shape: {list(parameter.shape)}"
            )
    shared = counts.size == probs.size == 1
    batches, samples = (-(-count // 100), 100) if shared else (rows, count // max(rows, 1))
    blocks = batches * 200 * (samples + 3) // 4 * philox.BLOCKS_PER_OUTPUT
    key, counter = _take(ctx, resource, algorithm, blocks)
    by_row = (-1,) + (1,) * (len(dims) - 1) if dims else ()
    counts, probs = (xp.broadcast_to(p.reshape(-1).reshape(by_row), dims) for p in (counts, probs))
    return rejection.binomial(xp, key, counter, counts, probs, dtype.np)


@stateful_random_binomial.shape
def _(resource, algorithm, shape, counts, probs, *, const):
    rank_at_most(counts, 1)
    rank_at_most(probs, 1)
    return given_shape(shape, const)


stateful_random_binomial.not_differentiable()


@op(
    "RngSkip",
    "resource: resource, algorithm: int64, delta: int64",
    stateful=True,
    static=("delta",),
)
def rng_skip(ctx, resource, algorithm, delta):
    """Advances the generator in a variable as if `delta` numbers had been drawn."""
    _take(ctx, resource, algorithm, int(delta) * philox.BLOCKS_PER_OUTPUT)


@rng_skip.shape
def _(resource, algorithm, delta):
    scalar(algorithm)
    scalar(delta)


rng_skip.not_differentiable()


@op(
    "NonDeterministicInts",
    "shape: shape_dtype -> output: dtype",
    f"dtype: type = int64; {_SHAPE_TYPE}",
    stateful=True,
    host=True,
)
def non_deterministic_ints_op(ctx, shape, *, dtype):
    """Integers that nobody can foresee."""
    if dtype.np not in (np.int32, np.uint32, np.int64, np.uint64):
        _invalid(f"Unsupported dtype: {dtype.name}")
    dims = sizes(shape)
    data = os.urandom(math.prod(dims) * np.dtype(dtype.np).itemsize)
    return np.frombuffer(data, dtype.np).reshape(dims)


non_deterministic_ints_op.shape(lambda shape, *, const: given_shape(shape, const))
non_deterministic_ints_op.not_differentiable()


def _signed(n: int) -> int:
    return n - 2**64 if n > 2**63 - 1 else n


def _state_size(algorithm: int) -> int:
    if algorithm not in _STATE_SIZE:
        raise ValueError(f"Unsupported algorithm id: {algorithm}")
    return _STATE_SIZE[algorithm]


@export("random.experimental.create_rng_state")
def create_rng_state(seed: Any, algorithm: int) -> np.ndarray:
    """Makes a generator's state of an integer of any size, or of a vector of them."""
    size = _state_size(algorithm)
    if isinstance(seed, (int, np.integer)):
        seed = int(seed)
        seed = [seed >> (64 * i) & (2**64 - 1) for i in range(size)]
    state = np.asarray([_signed(int(n)) for n in seed], np.int64)
    if state.ndim != 1:
        raise ValueError(f"seed should only have one dimension; got shape: {state.shape}")
    state = state[:size]
    return np.pad(state, [(size - len(state), 0)])


def _int64(value: Any) -> Any:
    if isinstance(value, list):
        value = [_signed(int(n)) if isinstance(n, (int, np.integer)) else n for n in value]
    return convert_to_tensor(value, dtypes.int64)


def _shape(shape: Any) -> Any:
    empty = isinstance(shape, (list, tuple)) and not shape
    return convert_to_tensor(shape, dtypes.int64 if empty else None, "shape")


@export("random.experimental.Generator")
class Generator:
    """A generator of random numbers whose state is a variable."""

    def __init__(self, copy_from: Any = None, state: Any = None, alg: Any = None):
        variable = find("", "Variable", "tf")
        if copy_from is not None:
            if alg is not None or state is not None:
                raise ValueError("A copy takes its state and algorithm from `copy_from` alone.")
            state, alg = copy_from.state, copy_from.algorithm
        else:
            if alg is None or state is None:
                raise ValueError("A generator needs both `state` and `alg`.")
            state = _int64(state)
            state.shape.assert_is_compatible_with([_state_size(alg)])
        self._state_var = variable(state, dtype=dtypes.int64, trainable=False, use_resource=True)
        self._alg_var = alg

    @classmethod
    def from_state(cls, state: Any, alg: int) -> Generator:
        """Creates a generator from a state."""
        return cls(alg=alg, state=state)

    @classmethod
    def from_seed(cls, seed: Any, alg: int | None = None) -> Generator:
        """Creates a generator from a seed."""
        alg = PHILOX if alg is None else alg
        return cls(state=create_rng_state(seed, alg), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: int | None = None) -> Generator:
        """Creates a generator that nobody can foresee."""
        alg = PHILOX if alg is None else alg
        state = non_deterministic_ints_op(
            np.array([_state_size(alg)], np.int64), dtype=dtypes.int64
        )
        return cls(state=state, alg=alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: int) -> Generator:
        """Creates a generator from a key and a counter."""
        return cls(state=_key_and_counter(key, counter, alg), alg=alg)

    def reset(self, state: Any) -> None:
        """Gives the generator a new state."""
        state = _int64(state)
        state.shape.assert_is_compatible_with([_state_size(self.algorithm)])
        self._state_var.assign(state)

    def reset_from_seed(self, seed: Any) -> None:
        """Gives the generator the state that follows from a seed."""
        self._state_var.assign(create_rng_state(seed, self.algorithm))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Gives the generator the state of a key and a counter."""
        self._state_var.assign(_key_and_counter(key, counter, self.algorithm))

    @property
    def state(self) -> Any:
        """The variable that holds the state."""
        return self._state_var

    @property
    def algorithm(self) -> Any:
        """The id of the algorithm."""
        return self._alg_var

    @property
    def key(self) -> Any:
        """The key, which the counter does not change."""
        _state_size(self.algorithm)
        return self._state_var[-1]

    def skip(self, delta: Any) -> None:
        """Advances the counter as if `delta` numbers had been drawn."""
        rng_skip(self.state.handle, self.algorithm, delta)

    def _drawn(self, decl: OpDecl, shape: Any, dtype: Any, **named: Any) -> Any:
        dtype = dtypes.as_dtype(dtype)
        return decl(self.state.handle, self.algorithm, shape, dtype=dtype, **named)

    def _scaled(
        self, decl: OpDecl, scope: str, shape: Any, mean: Any, stddev: Any, dtype: Any, name: Any
    ) -> Any:
        with name_scope(name, scope, [shape, mean, stddev]) as name:
            shape = _shape(shape)
            mean = convert_to_tensor(mean, dtype, "mean")
            stddev = convert_to_tensor(stddev, dtype, "stddev")
            return raw.Add(self._drawn(decl, shape, dtype) * stddev, mean, name=name)

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Any:
        """Draws from a normal distribution."""
        decl = stateful_standard_normal_v2
        return self._scaled(decl, "stateful_normal", shape, mean, stddev, dtype, name)

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Any:
        """Draws from a normal distribution; numbers beyond two deviations are drawn again."""
        decl = stateful_truncated_normal
        return self._scaled(decl, "truncated_normal", shape, mean, stddev, dtype, name)

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> Any:
        """Draws evenly from [minval, maxval)."""
        dtype = dtypes.as_dtype(dtype)
        if maxval is None:
            if dtype.is_integer:
                raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
            maxval = 1
        with name_scope(name, "stateful_uniform", [shape, minval, maxval]) as name:
            shape = _shape(shape)
            low = convert_to_tensor(minval, dtype, "min")
            high = convert_to_tensor(maxval, dtype, "max")
            if dtype.is_integer:
                return stateful_uniform_int(
                    self.state.handle, self.algorithm, shape, low, high, name=name
                )
            drawn = self._drawn(stateful_uniform, shape, dtype)
            return raw.Add(drawn * (high - low), low, name=name)

    def uniform_full_int(
        self, shape: Any, dtype: Any = dtypes.uint64, name: str | None = None
    ) -> Any:
        """Draws integers over the whole range of their dtype."""
        with name_scope(name, "stateful_uniform_full_int", [shape]) as name:
            return self._drawn(stateful_uniform_full_int, _shape(shape), dtype, name=name)

    def binomial(
        self,
        shape: Any,
        counts: Any,
        probs: Any,
        dtype: Any = dtypes.int32,
        name: str | None = None,
    ) -> Any:
        """Draws how many of `counts` trials succeed."""
        with name_scope(name, "binomial", [shape, counts, probs]) as name:
            counts = convert_to_tensor(counts, name="counts")
            probs = convert_to_tensor(probs, name="probs")
            return stateful_random_binomial(
                self.state.handle,
                self.algorithm,
                _shape(shape),
                counts,
                probs,
                dtype=dtypes.as_dtype(dtype),
                name=name,
            )

    def _keys(self, count: int) -> Any:
        return self.uniform_full_int([count], dtypes.int64)

    def make_seeds(self, count: int = 1) -> Any:
        """Draws `count` seeds for stateless functions: [2, count]."""
        _state_size(self.algorithm)
        keys = self._keys(count)
        return find("", "stack", "tf")([keys, find("", "zeros_like", "tf")(keys)])

    def split(self, count: int = 1) -> list[Generator]:
        """Creates `count` generators that are independent of each other."""
        padding = [0] * (_state_size(self.algorithm) - 1)
        keys = self._keys(count).numpy()
        return [Generator(state=[*padding, int(key)], alg=self.algorithm) for key in keys]


def _key_and_counter(key: Any, counter: Any, algorithm: int) -> Any:
    counter, key = _int64(counter), _int64(key)
    counter.shape.assert_is_compatible_with([_state_size(algorithm) - 1])
    key.shape.assert_is_compatible_with([])
    return find("", "concat", "tf")([counter, find("", "reshape", "tf")(key, [1])], 0)


_global_generator: Generator | None = None


@export("random.experimental.get_global_generator")
def get_global_generator() -> Generator:
    """Returns the generator of the process, made when first asked for."""
    global _global_generator
    if _global_generator is None:
        _global_generator = Generator.from_non_deterministic_state()
    return _global_generator


@export("random.experimental.set_global_generator")
def set_global_generator(generator: Generator) -> None:
    """Makes another generator that of the process."""
    global _global_generator
    _global_generator = generator
