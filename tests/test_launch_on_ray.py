"""`weft launch --ray`: the tasks on a Ray cluster of two nodes, which both are this machine."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed (pip install weft[ray])")

PROGRAM = """
    import json, os
    import tensorflow as tf

    config = json.loads(os.environ["TF_CONFIG"])
    cluster, (job, index) = config["cluster"], config["task"].values()
    server = tf.train.Server(cluster, job, index)
    if job == "ps":
        server.join()
    mark = os.path.join(os.path.dirname(os.path.abspath(__file__)), "died")
    if index == 1 and not os.path.exists(mark):
        open(mark, "w").close()
        os._exit(7)
    worker = f"/job:worker/task:{index}"
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=worker)):
        step = tf.train.get_or_create_global_step()
        v = tf.get_variable("v", initializer=4.0)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(v * v, global_step=step)
    filters = tf.ConfigProto(device_filters=["/job:ps", worker])
    with tf.train.MonitoredTrainingSession(server.target, index == 0, config=filters) as sess:
        for _ in range(30):
            sess.run(train)
        print("small" if sess.run(v) < 0.1 else "large")
"""


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_two_nodes(tmp_path):
    from ray.cluster_utils import Cluster

    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAM))
    head = {"num_cpus": 2, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        cluster.add_node(num_cpus=2)
        done = subprocess.run(
            [
                *(sys.executable, "-m", "weft", "launch", "--ray", "--secure"),
                *("--ps", "1", "--workers", "2", str(script)),
            ],
            env=dict(os.environ, RAY_ADDRESS=cluster.address),
            capture_output=True,
            text=True,
            timeout=100,
        )
    finally:
        cluster.shutdown()
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.split("\n")) == ["", "[worker:0] small", "[worker:1] small"]
    nodes = dict(re.findall(r"(\w+:\d) is on node (\w+)", done.stderr))
    assert nodes["ps:0"] != nodes["worker:0"] == nodes["worker:1"]
    assert "worker:1 has ended with 7 and is started again (9 left)" in done.stderr
