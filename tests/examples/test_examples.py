"""Each example learns what it says, already in a short form of itself."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(name, *arguments):
    command = [sys.executable, "-m", "weft", "run", f"examples/{name}.py", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def number(pattern, text):
    (found,) = re.findall(pattern, text)
    return float(found)


def course(name, text):
    """The values that the lines of progress show under a name."""
    return [float(value) for value in re.findall(rf"step .*\b{name} (-?\d+\.\d+)", text)]


def test_linear_regression():
    assert "y = 2.98 x + 2.01" in run("linear_regression")


def test_logistic_regression(tmp_path):
    printed = run("logistic_regression", "--steps", 200, "--logdir", tmp_path)
    assert number(r"test accuracy: (\S+) %", printed) > 80
    assert list(tmp_path.glob("events.out.tfevents.*"))


def test_mnist_mlp_goes_on_where_it_has_stopped(tmp_path):
    first = run("mnist_mlp", "--steps", 100, "--model_dir", tmp_path)
    assert number(r"test accuracy: (\S+) %", first) > 75
    second = run("mnist_mlp", "--steps", 120, "--model_dir", tmp_path)
    assert "step   120" in second
    assert "step     1 " not in second
    assert course("loss", second)[0] < 1


def test_mnist_cnn(tmp_path):
    printed = run("mnist_cnn", "--steps", 30, "--checkpoint", tmp_path / "model")
    losses = course("loss", printed)
    assert losses[-1] < losses[0] / 2
    assert number(r"test accuracy: (\S+) %", printed) > 20  # the averages are still young
    assert (tmp_path / "model.index").exists()


def test_word2vec():
    short = ("--steps", 150, "--characters", 300000, "--words", 500)
    printed = run("word2vec", *short)
    losses = course("loss", printed)
    assert losses[-1] < 0.75 * losses[0]
    assert "self       is like " in printed


def test_language_model():
    printed = run("language_model", "--steps", 40, "--write", 30, "--characters", 200000)
    losses = course("loss", printed)
    assert losses[-1] < 3.4 < losses[0]
    assert len(printed.split("def ", 1)[1]) >= 30


def test_autoencoder():
    printed = run("autoencoder", "--steps", 200)
    assert number(r"error per pixel: (\S+)", printed) < 0.05
    assert "drawn again from 16 numbers" in printed


def test_dcgan(tmp_path):
    printed = run("dcgan", "--steps", 40, "--logdir", tmp_path)
    distances = course("distance", printed)
    assert distances[-1] < distances[0] / 1.5


def test_transformer():
    assert number(r"letters in their place: (\S+) %", run("transformer", "--steps", 100)) > 50


def test_mnist_cluster():
    command = [sys.executable, "-m", "weft", "launch", "--ps", "1", "--workers", "2"]
    command += ["examples/mnist_cluster.py", "--steps", "400"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert number(r"\[worker:0\] test accuracy: (\S+) %", done.stdout) > 88
    steps = [int(n) for n in re.findall(r"trained (\d+) of the steps", done.stdout)]
    assert len(steps) == 2 and 400 <= sum(steps) <= 402


def test_mnist_replicas():
    printed = run("mnist_replicas", "--steps", 40)
    losses = course("loss", printed)
    assert losses[-1] < losses[0] / 2
    assert number(r"test accuracy: (\S+) %", printed) > 75
