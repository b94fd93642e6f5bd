"""Of an embedding on a parameter server only the rows that a step touches cross the wire: counted in bytes."""

import numpy as np
import pytest

import weft as tf
from tests.distributed.clusters import free_ports
from tests.distributed.proxy import Proxy

ROWS, COLUMNS, TOUCHED = 20_000, 32, 16
TABLE = ROWS * COLUMNS * 4


@pytest.fixture
def wire(monkeypatch):
    """A worker's target, and a function that tells how many bytes its task and the parameter server have exchanged."""
    monkeypatch.setattr("weft.distributed.server.directly", False)
    monkeypatch.setattr("weft.distributed.links.enabled", False)
    ps, worker = (f"localhost:{p}" for p in free_ports(2))
    with Proxy(ps) as to_ps, Proxy(worker) as to_worker:
        addresses = {"ps": [ps], "worker": [to_worker.address]}
        serving = tf.train.Server(addresses, "ps", 0)
        addresses = {"ps": [to_ps.address], "worker": [worker]}
        training = tf.train.Server(addresses, "worker", 0)
        with tf.Graph().as_default():
            yield training.target, lambda: to_ps.count + to_worker.count
        training._stop()
        serving._stop()


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("optimizer", ["GradientDescent", "Adagrad", "Momentum", "Ftrl"])
def test_only_touched_rows_travel(wire, resource, optimizer):
    target, count = wire
    with tf.device("/job:ps"):
        table = tf.get_variable(
            "table", [ROWS, COLUMNS], initializer=tf.ones_initializer(), use_resource=resource
        )
    with tf.device("/job:worker"):
        ids = tf.placeholder(tf.int32, [TOUCHED])
        loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids)))
        makers = {"Momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9)}
        make = makers.get(optimizer, lambda: getattr(tf.train, optimizer + "Optimizer")(0.1))
        train = make().minimize(loss)
    rows = np.arange(TOUCHED) * 7
    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(2):
            sess.run(train, {ids: rows})
        before = count()
        for _ in range(3):
            sess.run(train, {ids: rows})
        step = (count() - before) / 3
        # The rows one way, their gradients the other; the rest is what the messages say.
        values = 2 * TOUCHED * COLUMNS * 4
        assert values < step < 2 * values + 4096, step
        before = count()
        whole = sess.run(table)
        assert count() - before > TABLE  # what it counts when all of it travels
    changed = np.nonzero((whole != 1).any(1))[0]
    np.testing.assert_array_equal(changed, rows)
