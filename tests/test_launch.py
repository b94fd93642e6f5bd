"""`weft launch`: the tasks of a cluster, each a process, ended together."""

import io
import json
import os
import pty
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from weft import launch
from weft.launch.cluster import flags_of
from weft.launch.console import Console, Progress
from weft.launch.ray_cluster import assign


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
    assert _gone(pids)


def _gone(pids):
    """Whether processes have ended, or do so at once."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        left = [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
        if not left:
            return True
        time.sleep(0.05)
    return False


def test_nobody_outlives_a_launcher_that_is_killed(tmp_path):
    program = """
        import os, subprocess, time
        child = subprocess.Popen(["sleep", "60"])
        print(os.getpid(), child.pid)
        time.sleep(60)
    """
    with _started(tmp_path, program, "--workers", "1") as process:
        pids = [int(p) for p in process.stdout.readline().split()[-2:]]
        process.kill()
        process.communicate(timeout=30)
        assert _gone(pids)


def test_what_a_task_leaves_behind_ends_with_it(tmp_path):
    program = """
        import subprocess
        print(subprocess.Popen(["sleep", "60"]).pid)
    """
    began = time.monotonic()
    with _started(tmp_path, program) as process:
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0 and time.monotonic() - began < 20
    assert _gone([int(out.split()[-1])])


def test_an_interrupt_reaches_the_program(tmp_path):
    program = """
        import time
        try:
            print("running")
            time.sleep(60)
        except KeyboardInterrupt:
            print("saved")
    """
    with _started(tmp_path, program, "--ps", "1") as process:
        assert {process.stdout.readline() for _ in range(2)} == {
            "[ps:0] running\n",
            "[worker:0] running\n",
        }
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    assert out == "[worker:0] saved\n"  # a parameter server has nothing to save
    assert process.returncode == 130


def test_what_fails_is_started_again_as_often_as_is_said(tmp_path):
    program = """
        import sys
        print("again")
        sys.exit(4)
    """
    with _started(tmp_path, program, "--restarts", "2") as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 4 and out.count("again") == 3
    assert "started again (1 left)" in err and "(0 left)" in err


def test_flags_that_the_program_knows(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "flags.DEFINE_string('job_name', '', '')\nparser.add_argument(\"--task_index\")\n# ps_hosts"
    )
    options = launch.parse([str(script)])
    assert flags_of(options) == ["job_name", "task_index"]
    assert flags_of(launch.parse([str(script), "--task_index=3"])) == ["job_name"]
    assert flags_of(launch.parse(["--flags", "no", str(script)])) == []
    every = launch.parse(["--flags=yes", "--ps=1", "-m", "no.such.module"])
    assert flags_of(every) == ["job_name", "task_index", "ps_hosts", "worker_hosts"]
    command, _ = launch.command_of(every, {"ps": ["a:1"], "worker": ["b:1", "c:1"]}, "ps", 0)
    assert command[1:] == [
        *("-m", "weft", "run", "-m", "no.such.module", "--job_name=ps", "--task_index=0"),
        *("--ps_hosts=a:1", "--worker_hosts=b:1,c:1"),
    ]


def test_a_secure_cluster_is_closed_to_strangers(tmp_path):
    program = """
        import json, os
        import tensorflow as tf

        config = json.loads(os.environ["TF_CONFIG"])
        job, index = config["task"]["type"], config["task"]["index"]
        server = tf.train.Server(config["cluster"], job, index)
        if job == "ps":
            server.join()
        with tf.device("/job:ps"):
            x = tf.constant(20.0)
        with tf.Session(server.target) as sess:
            print(sess.run(x + 1.0))
        del os.environ["WEFT_CREDENTIALS"]
        config = tf.ConfigProto(operation_timeout_in_ms=20000)
        target = "grpc://127.0.0.1"  # a name that the cluster does not have
        port = server.target.rpartition(":")[2]
        try:
            tf.Session(f"{target}:{port}", config=config).list_devices()
        except tf.errors.UnavailableError as e:
            print("closed" if "credentials" in str(e) else e)
    """
    with _started(tmp_path, program, "--ps", "1", "--secure") as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    assert "[worker:0] 21.0\n" in out and "[worker:0] closed\n" in out
    folder = err.partition("WEFT_CREDENTIALS=")[2].split()[0]
    assert not os.path.exists(folder)


def test_a_terminal_has_colours_and_a_line_of_progress(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import time\nfor i in range(12):\n    print('loss = 1, step =', 100 * i)\n    time.sleep(0.1)\n"
        "time.sleep(2)\n"  # the line is drawn now and then: on a busy machine the steps may be over before
    )
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "weft", "launch", "--workers", "2", str(script)]
    with subprocess.Popen(command, stdout=theirs, stdin=subprocess.DEVNULL) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            seen += piece
    os.close(ours)
    text = seen.decode()
    assert process.returncode == 0
    assert "\x1b[36m[worker:0] \x1b[0mloss = 1, step = 0" in text
    assert "\x1b[33m[worker:1] \x1b[0m" in text
    assert "2/2 tasks" in text and "steps/s" in text and "step 1,100" in text
    assert text.rindex("\x1b[K") > text.rindex("steps/s")  # wiped in the end


def test_progress_is_read_from_lines():
    progress = Progress()
    for i, text in enumerate(("loss = 0.5, step = 100 (0.1 sec)", "no numbers", "global_step=300")):
        progress.read(text, float(i))
    assert progress.step == 300 and progress.rate == 100.0
    progress.read("INFO:tensorflow:global_step/sec: 512.25", 3.0)
    progress.read("step 900 of 1000", 4.0)
    progress.read("footstep 5000", 5.0)
    assert progress.rate == 512.25 and progress.step == 900
    progress.read("step 7", 6.0)  # another task's, which is behind
    assert progress.step == 900


def test_a_pipe_has_lines_only():
    out = io.StringIO()
    with Console(["ps:0"], out) as console:
        console.line("ps:0", "step = 3")
        console.note("something")
    assert out.getvalue() == "[ps:0] step = 3\n"


def test_parameter_servers_have_nodes_of_their_own():
    tasks = [("ps", 0), ("ps", 1), ("chief", 0), ("worker", 0), ("worker", 1), ("worker", 2)]
    assert assign(["a"], tasks) == ["a"] * 6
    assert assign(["a", "b"], tasks) == ["a", "a", "b", "b", "b", "b"]
    assert assign(["a", "b", "c"], tasks) == ["a", "a", "b", "c", "b", "c"]
    assert assign(["a", "b"], tasks[2:]) == ["a", "b", "a", "b"]
    assert assign(["a", "b"], tasks[:2]) == ["a", "b"]
