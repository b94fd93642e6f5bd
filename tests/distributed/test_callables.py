"""Callables by CallableOptions messages: of local sessions, of clusters, and prepared by a master elsewhere."""

import numpy as np
import pytest

import weft as tf
from tests.distributed.test_cluster import Cluster
from weft import proto


@pytest.fixture(params=["local", "cluster", "remote"])
def session(request, monkeypatch):
    monkeypatch.setattr("weft.distributed.server.directly", False)
    with tf.Graph().as_default():
        if request.param == "local":
            with tf.Session() as sess:
                yield sess
            return
        cluster = Cluster(1, 1)
        config = tf.ConfigProto()
        config.rpc_options.use_rpc_for_inprocess_master = request.param == "remote"
        with tf.Session(cluster.target("worker", 0), config=config) as sess:
            yield sess
        for server in cluster.servers.values():
            server._stop()


def _options(feed=(), fetch=(), target=(), **connections):
    out = proto.CallableOptions(feed=feed, fetch=fetch, target=target)
    for to, source in connections.items():
        out.tensor_connection.add(from_tensor=source + ":0", to_tensor=to + ":0")
    return out


def test_tensors_are_connected(session):
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.multiply(x, 2.0, name="y")
    step = tf.get_variable("step", initializer=0.0)
    source = tf.assign_add(step, 1.0) + tf.constant([10.0, 20.0])
    source = tf.identity(source, name="source")
    session.run(step.initializer)
    call = session._make_callable_from_options(_options(fetch=["y:0", "source:0"], x="source"))
    for n in (1, 2, 3):  # what is connected is computed once in a step
        y, given = call()
        np.testing.assert_array_equal(given, [10 + n, 20 + n])
        np.testing.assert_array_equal(y, 2 * given)
    np.testing.assert_array_equal(session.run("y:0", {x: [1.0, 1.0]}), [2.0, 2.0])


def test_values_metadata_and_targets(session):
    x = tf.placeholder(tf.string, [], name="x")
    tf.string_join([x, "!"], name="y")
    v = tf.get_variable("v", initializer=0)
    add = v.assign_add(1).op
    session.run(v.initializer)
    options = _options(["x:0"], ["y:0"], [add.name])
    options.run_options.trace_level = tf.RunOptions.FULL_TRACE
    call = session._make_callable_from_options(options)
    metadata = tf.RunMetadata()
    assert [call("a")[0], call("b", run_metadata=metadata)[0]] == [b"a!", b"b!"]
    assert metadata.step_stats.dev_stats and session.run(v) == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="1 values are to be fed"):
        call()


def test_what_cannot_be_connected(session):
    tf.placeholder(tf.float32, [2], name="x")
    tf.negative(tf.ones([2]), name="other")
    tf.constant("word", name="word")
    for source in ("word", "nothing"):
        with pytest.raises(tf.errors.InvalidArgumentError, match=source):
            session._make_callable_from_options(_options(fetch=["other:0"], x=source))()
