"""The table: what is timed, and how it must compare."""

from dataclasses import dataclass

TENSORFLOWS = ("tf1", "tf2")


@dataclass(frozen=True)
class Bound:
    """At most `limit` times the figure of `peer`; "better" is the better TensorFlow."""

    limit: float
    peer: str = "better"


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    module: str
    metric: str
    unit: str
    bounds: tuple[Bound, ...]
    jax: bool = False  # whether the work has a plain JAX form to stand beside it

    @property
    def implementations(self) -> tuple[str, ...]:
        return ("weft", *TENSORFLOWS, *(["jax"] if self.jax else []))


SCALE = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9, "×": 1.0}


def _row(name, title, work, unit, *bounds, jax=False) -> Row:
    module, metric = work.split(".")
    return Row(name, title, module, metric, unit, bounds, jax)


_SAME = Bound(1.0)
_RATE = Bound(1 / 1.2)  # 1.2 times the steps a second

ROWS = (
    _row("scalar", "sess.run of (a+b)*(a-b)", "scalar_call.few", "µs", Bound(0.25)),
    _row("fetches", "10 fetches and 3 feeds", "scalar_call.many", "µs", Bound(0.25)),
    _row("build", "building 5,000 ops, each", "build.op", "µs", Bound(0.5)),
    _row("gradients", "tf.gradients, 200 layers", "build.gradients", "ms", Bound(0.5)),
    _row("fresh", "fresh process, first run", "fresh_process.process", "s", Bound(0.4, "tf1")),
    _row("mlp", "MLP, batch 32", "mlp.step", "µs", Bound(0.75), Bound(1.2, "jax"), jax=True),
    _row("mlp_wide", "MLP 3 × 1024, batch 256", "mlp_wide.step", "ms", Bound(0.9), jax=True),
    _row("cnn", "MNIST CNN, batch 64", "cnn.step", "ms", Bound(1.2), jax=True),
    _row("transformer", "transformer, 2 layers", "transformer.step", "ms", Bound(1.2), jax=True),
    _row("lstm_first", "LSTM, first 100 lengths", "lstm.first", "ms", Bound(1.4)),
    _row("lstm_later", "LSTM, later", "lstm.later", "ms", Bound(1.0)),
    _row("rnn", "LSTM 128 over 50 steps, dynamic_rnn", "rnn.step", "ms", Bound(0.8)),
    _row("resnet", "ResNet-20, batch 64", "resnet.step", "ms", Bound(2.6)),
    _row("while", "while_loop, an iteration", "control_flow.iteration", "ns", Bound(0.05)),
    _row("cond", "cond", "control_flow.cond", "µs", Bound(0.4)),
    _row("py_func", "py_func", "control_flow.py_func", "µs", Bound(0.5)),
    _row("queue", "queue put and get", "queue_ops.pair", "µs", Bound(1.0)),
    _row("examples", "parse_example, 128 Examples", "parse_example.batch", "µs", Bound(1.2)),
    _row("one_example", "parse_single_example", "parse_example.one", "µs", Bound(1.2)),
    _row("random", "10M random_normal", "random_normal.draw", "ms", Bound(0.8)),
    _row("sparse_sgd", "embedding 1M × 32, SGD", "embedding.sgd", "ms", Bound(0.7)),
    _row("sparse_adam", "embedding 1M × 32, Adam", "embedding.adam", "ms", Bound(0.7)),
    _row(
        "sparse_matmul", "sparse × dense, 100k elements", "sparse_matmul.forward", "ms", Bound(1.2)
    ),
    _row("sparse_grad", "the same with gradients", "sparse_matmul.step", "ms", Bound(1.2)),
    _row("hash_bucket", "hash buckets of 100,000 strings", "strings.buckets", "ms", Bound(2.0)),
    _row("lookup", "table lookup of 100,000 strings", "strings.lookup", "ms", Bound(2.0)),
    _row("eager_add", "eager scalar add", "eager.add", "µs", Bound(0.5)),
    _row("eager_mlp", "eager MLP step", "eager.step", "ms", Bound(0.8)),
    _row("jpegs", "1,000 JPEGs decoded and resized", "jpegs.all", "s", Bound(1.2)),
    _row("shuffle_batch", "tf.data, shuffle and batch 60,000", "pipeline.batches", "s", Bound(1.0)),
    _row("data_map", "the same, normalised and cropped", "pipeline.mapped", "s", Bound(1.0)),
    _row("records_read", "20,000 records, parsed one by one", "records.read", "s", Bound(1.25)),
    _row("records_write", "20,000 records written", "records.write", "ms", Bound(1.25)),
    _row("save", "Saver, 200 MB saved", "checkpoint.save", "ms", Bound(1.25)),
    _row("restore", "Saver, 200 MB restored", "checkpoint.restore", "ms", Bound(1.25)),
    _row("summaries", "10 scalar summaries written", "summaries.step", "µs", Bound(1.25)),
    _row("cluster_small", "1 ps, 1 worker, small MLP, a step", "cluster:small_1.step", "ms", _RATE),
    _row("cluster_large", "1 ps, 1 worker, large MLP, a step", "cluster:large_1.step", "ms", _RATE),
    _row("cluster_small_2", "1 ps, 2 workers, small, a step", "cluster:small_2.step", "ms", _RATE),
    _row("cluster_large_2", "1 ps, 2 workers, large, a step", "cluster:large_2.step", "ms", _RATE),
    _row("sync_small", "the same synchronous, small", "cluster:sync_small.step", "ms", _RATE),
    _row("sync_large", "the same synchronous, large", "cluster:sync_large.step", "ms", _RATE),
    _row("remote_op", "a tiny op on a remote task", "cluster:transfers.tiny", "µs", Bound(1.0)),
    _row("push_tf", "64 MB to a variable of TensorFlow", "cluster:transfers_tf.push", "ms", _SAME),
    _row("pull_tf", "64 MB from there", "cluster:transfers_tf.pull", "ms", _SAME),
    _row("push", "64 MB to a remote variable", "cluster:transfers.push", "ms", Bound(0.5)),
    _row("pull", "64 MB from a remote variable", "cluster:transfers.pull", "ms", Bound(0.5)),
    _row(
        "all_reduce",
        "all-reduce of 64 MB, 2 processes",
        "all_reduce.step",
        "ms",
        Bound(1.1, "jax"),
        jax=True,
    ),
    _row("memory_steps", "memory, 10,000 steps", "memory.steps", "×", Bound(1.05, "start")),
    _row("memory_plans", "memory, 1,000 plans", "memory.plans", "×", Bound(1.05, "start")),
)
