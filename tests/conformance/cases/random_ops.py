"""Random numbers: for given seeds the same as TensorFlow's, in every run of a session."""

from __future__ import annotations

from ..case import Family, row, script
from ..values import FLOATS, INDICES, SINGLES, Dtype, T, const, lit, num, pos

SEEDS = dict(seed=87654321, seed2=5)
STATEFUL = ("RandomUniform", "RandomStandardNormal", "TruncatedNormal")
STATELESS = ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal")
SEED_PAIR = const([17, -42], "int64")

rows = []
for op in STATEFUL:
    rows += [
        row(op, "", FLOATS, shape=const([3, 4]), dtype=T, eager_=False, tol_=2, **SEEDS),
        row(
            op,
            "many",
            SINGLES,
            shape=const([1000], "int64"),
            dtype=T,
            eager_=False,
            tol_=2,
            **SEEDS,
        ),
        row(op, "only one seed", shape=const([5]), dtype=T, eager_=False, tol_=2, seed=0, seed2=99),
        row(op, "scalar", shape=const(lit([], "int32")), dtype=T, eager_=False, tol_=2, **SEEDS),
        row(op, "nothing", shape=const([2, 0]), dtype=T, **SEEDS),
        row(op, "unseeded", shape=const([2, 3]), dtype=T, exact_=False),
        row(
            op, "negative shape", shape=const([-1]), dtype=T, error_="InvalidArgumentError", **SEEDS
        ),
    ]
rows += [
    row(
        "RandomUniformInt",
        "",
        INDICES,
        shape=const([3, 4]),
        minval=lit(-5),
        maxval=lit(20),
        eager_=False,
        **SEEDS,
    ),
    row(
        "RandomUniformInt",
        "many",
        INDICES,
        shape=const([777]),
        minval=lit(0),
        maxval=lit(1000),
        eager_=False,
        **SEEDS,
    ),
    row(
        "RandomUniformInt",
        "empty range",
        "int32",
        shape=const([2]),
        minval=lit(3),
        maxval=lit(3),
        error_="InvalidArgumentError",
        **SEEDS,
    ),
]
for op in STATELESS:
    rows += [
        row(op, "", FLOATS, shape=const([3, 4]), seed=SEED_PAIR, dtype=T, tol_=2),
        row(op, "many", SINGLES, shape=const([1000]), seed=SEED_PAIR, dtype=T, tol_=2),
        row(
            op,
            "int32 seed",
            "float32",
            shape=const([5], "int64"),
            seed=const([1, 2]),
            dtype=T,
            tol_=2,
        ),
        row(
            op,
            "bad seed",
            "float32",
            shape=const([5]),
            seed=const([1]),
            dtype=T,
            error_="InvalidArgumentError",
        ),
    ]
rows += [
    row(
        "StatelessRandomUniformInt",
        "",
        INDICES,
        shape=const([3, 4]),
        seed=SEED_PAIR,
        minval=lit(-5),
        maxval=lit(20),
    ),
    row(
        "StatelessRandomUniformInt",
        "empty range",
        "int32",
        shape=const([2]),
        seed=SEED_PAIR,
        minval=lit(3),
        maxval=lit(3),
        error_="InvalidArgumentError",
    ),
    row(
        "StatelessMultinomial",
        "",
        SINGLES,
        logits=num(2, 3),
        num_samples=const(20),
        seed=SEED_PAIR,
        later_=True,
    ),
    row(
        "Multinomial",
        "",
        SINGLES,
        logits=num(2, 3),
        num_samples=const(20),
        eager_=False,
        later_=True,
        **SEEDS,
    ),
    row(
        "Multinomial",
        "int32",
        logits=num(2, 3),
        num_samples=const(5),
        output_dtype=Dtype("int32"),
        exact_=False,
        later_=True,
    ),
    row(
        "RandomShuffle",
        "",
        SINGLES + INDICES + ("string",),
        value=num(7),
        eager_=False,
        grad_=False,
        later_=True,
        **SEEDS,
    ),
    row(
        "RandomShuffle",
        "rows",
        "float32",
        value=num(5, 2),
        eager_=False,
        grad_=False,
        later_=True,
        **SEEDS,
    ),
    row(
        "RandomGamma",
        "",
        ("float16",) + SINGLES,
        shape=const([50]),
        alpha=pos(3),
        eager_=False,
        grad_=False,
        later_=True,
        tol_=5,
        **SEEDS,
    ),
    row("RandomGammaGrad", "", SINGLES, alpha=pos(3), sample=pos(3), later_=True, tol_=5),
    row(
        "RandomPoissonV2",
        "",
        SINGLES,
        shape=const([20]),
        rate=pos(3),
        dtype=Dtype("int64"),
        eager_=False,
        later_=True,
        grad_=False,
        **SEEDS,
    ),
    row("NonDeterministicInts", "", shape=const([2, 3], "int64"), exact_=False, later_=True),
    row(
        "ParameterizedTruncatedNormal",
        "",
        SINGLES,
        shape=const([4]),
        means=lit(1.0),
        stdevs=lit(2.0),
        minvals=lit(-1.0),
        maxvals=lit(2.0),
        exact_=False,
        eager_=False,
        later_=True,
        **SEEDS,
    ),
]


@script("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt", tol=2)
def new_numbers_each_run(g):
    """Run after run continues the sequence of the op; equal seeds give equal sequences."""
    tf = g.tf
    shape = g.feed([6], "int32")
    found = []
    for op in STATEFUL:
        found.append(getattr(g.raw, op)(shape=shape, dtype=tf.float32, **SEEDS))
    found.append(
        g.raw.RandomUniformInt(
            shape=shape, minval=g.feed(0, "int32"), maxval=g.feed(100, "int32"), **SEEDS
        )
    )
    found.append(g.raw.RandomUniform(shape=shape, dtype=tf.float32, **SEEDS))
    for _ in range(3):
        yield g.run(*found)


@script("RandomUniform", "RandomStandardNormal", tol=2)
def graph_seed(g):
    """The seeds that public functions derive from the graph's seed and the op's place."""
    tf = g.tf
    tf.set_random_seed(1234)
    found = [
        tf.random_uniform([3]),
        tf.random_uniform([3], seed=7),
        tf.random_normal([3]),
        tf.truncated_normal([3], stddev=2.0, seed=1),
        tf.random_uniform([3], 2, 50, tf.int32),
    ]
    yield g.run(*found)
    yield g.run(*found)


@script("RandomUniform", "RandomStandardNormal", tol=2)
def op_seed_only(g):
    tf = g.tf
    found = [
        tf.random_uniform([3], seed=7),
        tf.random_normal([2, 2], mean=3.0, seed=8, dtype=tf.float64),
    ]
    yield g.run(*found)
    yield g.run(*found)


@script("StatelessRandomUniform", tol=2)
def stateless_numbers_stay(g):
    seed = g.feed([3, 4], "int64")
    found = g.raw.StatelessRandomUniform(
        shape=g.constant([4], "int32"), seed=seed, dtype=g.tf.float32
    )
    yield g.run(found)
    yield g.run(found)


@script(
    "StatefulUniform",
    "StatefulStandardNormalV2",
    "StatefulTruncatedNormal",
    "StatefulUniformInt",
    "StatefulUniformFullInt",
    "RngSkip",
    tol=2,
    later=True,
)
def generators(g):
    """Numbers from a generator whose state is a variable; each call moves the state on."""
    tf = g.tf
    state = g.constant([0, 17, 99], "int64")
    handle = g.raw.VarHandleOp(dtype=tf.int64, shape=[3], shared_name=g.fresh_name())
    philox = g.constant(1, "int64")
    shape = g.constant([2, 3], "int64")
    low, high = g.constant(-5, "int32"), g.constant(50, "int32")
    now = g.raw.ReadVariableOp(resource=handle, dtype=tf.int64)
    yield g.run(g.raw.AssignVariableOp(resource=handle, value=state))
    for op in ("StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal"):
        call = getattr(g.raw, op)
        for dtype in (tf.float32, tf.float64):
            yield g.run(call(resource=handle, algorithm=philox, shape=shape, dtype=dtype))
            yield g.run(now)
    yield g.run(
        g.raw.StatefulUniformInt(
            resource=handle, algorithm=philox, shape=shape, minval=low, maxval=high
        )
    )
    yield g.run(
        g.raw.StatefulUniformFullInt(
            resource=handle, algorithm=philox, shape=shape, dtype=tf.uint64
        )
    )
    yield g.run(g.raw.RngSkip(resource=handle, algorithm=philox, delta=g.constant(10, "int64")))
    yield g.run(now)


@script("RandomCrop", "RandomPoisson", "StatefulStandardNormal", later=True)
def random_ops_of_old_graphs(g):
    tf = g.tf
    image = g.feed([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]])
    size = g.feed([1, 2], "int64")
    yield g.run(*g.old_op("RandomCrop", {"image": image, "size": size}, T=tf.float32, **SEEDS))
    shape, rate = g.feed([9], "int32"), g.feed([0.5, 4.0, 20.0])
    found = g.old_op(
        "RandomPoisson", {"shape": shape, "rate": rate}, S=tf.int32, dtype=tf.float32, **SEEDS
    )
    yield g.run(*found)
    handle = g.raw.VarHandleOp(dtype=tf.int64, shape=[4], shared_name=g.fresh_name())
    yield g.run(g.raw.AssignVariableOp(resource=handle, value=g.constant([1, 0, 17, 99], "int64")))
    inputs = {"resource": handle, "shape": shape}
    found = g.old_op("StatefulStandardNormal", inputs, dtype=tf.float32, shape_dtype=tf.int32)
    yield g.run(*found)


@script("StatefulRandomBinomial", later=True, exact=False)
def binomial_generator(g):
    tf = g.tf
    handle = g.raw.VarHandleOp(dtype=tf.int64, shape=[3], shared_name=g.fresh_name())
    yield g.run(g.raw.AssignVariableOp(resource=handle, value=g.constant([0, 17, 99], "int64")))
    drawn = g.raw.StatefulRandomBinomial(
        resource=handle,
        algorithm=g.constant(1, "int64"),
        shape=g.constant([4, 2], "int32"),
        counts=g.constant([10.0, 1000.0, 20.0, 5.0], "float64"),
        probs=g.constant([0.3, 0.7, 0.5, 0.9], "float64"),
    )
    yield g.run(drawn)
    yield g.run(drawn)


FAMILY = Family(
    "random_ops",
    rows,
    [
        new_numbers_each_run,
        graph_seed,
        op_seed_only,
        stateless_numbers_stay,
        generators,
        random_ops_of_old_graphs,
        binomial_generator,
    ],
)
