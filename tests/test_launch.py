"""`weft launch`: the tasks of a cluster, each a process, ended together."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from weft import launch


def test_a_task_learns_who_it_is():
    options = launch.parse(
        ["--ps", "1", "--workers", "2", "train.py", "--job={job}", "--n={task}", "{ps}|{workers}"]
    )
    cluster = launch.cluster_of(options)
    assert [len(cluster[job]) for job in ("ps", "worker")] == [1, 2]
    assert len({a for addresses in cluster.values() for a in addresses}) == 3
    command, environment = launch.command_of(options, cluster, "worker", 1)
    assert command[1:5] == ["-m", "weft", "run", "train.py"]
    assert command[5:] == [
        "--job=worker",
        "--n=1",
        cluster["ps"][0] + "|" + ",".join(cluster["worker"]),
    ]
    assert json.loads(environment["TF_CONFIG"]) == {
        "cluster": cluster,
        "task": {"type": "worker", "index": 1},
    }


def test_bad_options(capsys, tmp_path):
    with pytest.raises(SystemExit):
        launch.parse(["--ps", "-1", "x.py"])
    assert launch.launch([str(tmp_path / "none.py")]) == 2
    (tmp_path / "some.py").write_text("")
    assert launch.launch(["--workers", "0", str(tmp_path / "some.py")]) == 2
    assert "needs a task" in capsys.readouterr().err


def _started(tmp_path, program, *options):
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(program))
    launch = [sys.executable, "-m", "weft", "launch", *options, str(script)]
    # A job in the background ignores Ctrl-C, and what it starts would too.
    heeding = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    return subprocess.Popen(
        [sys.executable, "-c", heeding, *launch],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_cluster_trains_and_ends(tmp_path):
    program = """
        import json, os
        import tensorflow as tf

        config = json.loads(os.environ["TF_CONFIG"])
        job, index = config["task"]["type"], config["task"]["index"]
        server = tf.train.Server(config["cluster"], job, index)
        if job == "ps":
            server.join()
        with tf.device(tf.train.replica_device_setter(cluster=config["cluster"])):
            step = tf.train.get_or_create_global_step()
            v = tf.get_variable("v", initializer=4.0)
            train = tf.train.GradientDescentOptimizer(0.1).minimize(v * v, global_step=step)
        with tf.train.MonitoredTrainingSession(server.target, is_chief=True) as sess:
            for _ in range(30):
                sess.run(train)
            print("small" if sess.run(v) < 0.1 else "large", sess.run(step))
    """
    with _started(tmp_path, program, "--ps", "1", "--workers", "1") as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    assert "[worker:0] small 30\n" in out


def test_one_that_fails_ends_all(tmp_path):
    program = """
        import json, os, sys, time
        if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1:
            print("failing")
            sys.exit(3)
        time.sleep(60)
    """
    began = time.monotonic()
    with _started(tmp_path, program, "--workers", "2") as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 3 and time.monotonic() - began < 30
    assert "[worker:1] failing\n" in out and "worker:1 has ended with 3" in err


def test_an_interrupt_ends_all(tmp_path):
    program = """
        import os, time
        print(os.getpid())
        time.sleep(60)
    """
    with _started(tmp_path, program, "--workers", "2") as process:
        pids = [int(process.stdout.readline().split()[-1]) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
