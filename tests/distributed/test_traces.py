"""What a traced step over several tasks tells: when operations ran where, what crossed, and the parts' graphs."""

import json

import pytest

import weft as tf
from tests.distributed.test_cluster import Cluster
from weft import proto
from weft.distributed import rpc
from weft.studio import timeline


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr("weft.distributed.server.directly", False)
    made = Cluster(1, 1)
    with tf.Graph().as_default():
        yield made
    for server in made.servers.values():
        server._stop()


def _step():
    with tf.device("/job:ps"):
        x = tf.random_uniform([8, 8], name="there")
    with tf.device("/job:worker"):
        return tf.matmul(x, x, name="here")


@pytest.mark.parametrize("through_grpc", [False, True])
def test_a_traced_step_tells_of_all_tasks(cluster, through_grpc):
    y = _step()
    config = tf.ConfigProto()
    config.rpc_options.use_rpc_for_inprocess_master = through_grpc
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    with tf.Session(cluster.target("worker", 0), config=config) as sess:
        for _ in range(2):
            sess.run(y, options=options, run_metadata=metadata)
        names = {}
        for device in metadata.step_stats.dev_stats:
            names.setdefault(device.device, set()).update(n.node_name for n in device.node_stats)
        ps, worker = (f"/job:{j}/replica:0/task:0/device:CPU:0" for j in ("ps", "worker"))
        assert "there/RandomUniform" in names[ps] and "here" in names[worker]
        (received,) = [
            n
            for d in metadata.step_stats.dev_stats
            for n in d.node_stats
            if n.node_name == "RecvTensor"
        ]
        assert received.timeline_label.startswith("[256B]") and received.all_end_rel_micros > 0
        assert received.timeline_label.endswith(f"from {ps} to {worker}")
        parts = [{n.name for n in graph.node} for graph in metadata.partition_graphs]
        assert len(parts) == 2 and any("here" in part for part in parts)
        chart = json.loads(timeline.Timeline(metadata.step_stats).generate_chrome_trace_format())
        assert any("RecvTensor" in str(event) for event in chart["traceEvents"])
        sess.run(y, options=tf.RunOptions(), run_metadata=metadata)
        assert not metadata.step_stats.dev_stats and not metadata.partition_graphs


def test_a_worker_notes_transfers_when_it_is_told_to(cluster):
    y = _step()
    stub = rpc.Stub(cluster.target("worker", 0)[len("grpc://") :], "tensorflow.WorkerService")
    log = cluster.servers["worker", 0].worker.log
    with tf.Session(cluster.target("ps", 0)) as sess:
        sess.run(y)
        assert not log._steps
        stub.call("Logging", proto.LoggingRequest(enable_rpc_logging=True))
        sess.run(y)
        (step_id,) = log._steps
        (step,) = stub.call("Logging", proto.LoggingRequest(fetch_step_id=[step_id])).step
        assert step.step_id == step_id
        assert [n.node_name for n in step.step_stats.dev_stats[0].node_stats] == ["RecvTensor"]
        stub.call("Logging", proto.LoggingRequest(disable_rpc_logging=True))
        sess.run(y)
        assert not log._steps
    with pytest.raises(tf.errors.UnimplementedError, match="Tracing"):
        stub.call("Tracing", proto.TracingRequest())
    with pytest.raises(tf.errors.UnimplementedError, match="RecvBuf"):
        stub.call("RecvBuf", proto.RecvBufRequest(buf_rendezvous_key="k"))
    stub.close()
