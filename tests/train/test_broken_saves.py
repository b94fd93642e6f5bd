"""Saves that are killed at any moment, or find the disk full: what was saved before stays, and is found."""

import os
import re
import subprocess

import numpy as np
import pytest

import weft as tf
from tests.failing_disk import failing

SIZE = 3000


class Model:
    """Two variables that hold the number of a save in each element: a mixture of two saves would show."""

    def __init__(self, **saver):
        self.graph = tf.Graph()
        with self.graph.as_default():
            with tf.device("/cpu:0"):
                a = tf.get_variable("a", [SIZE], initializer=tf.zeros_initializer())
            with tf.device("/cpu:1"):
                b = tf.get_variable("b", [2], initializer=tf.zeros_initializer())
            self.variables = [a, b]
            self.number = tf.placeholder(tf.float32, [])
            self.assign = [v.assign(tf.fill(v.shape, self.number)) for v in self.variables]
            self.saver = self.make_saver(**saver)
        self.session = tf.Session(
            graph=self.graph,
            config=tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True),
        )

    def make_saver(self, **arguments):
        return tf.train.Saver(**arguments)

    def save(self, folder, number):
        with self.graph.as_default():
            self.session.run(self.assign, {self.number: number})
            self.write(folder, number)

    def write(self, folder, number):
        raise NotImplementedError


class Steps(Model):
    def write(self, folder, number):
        self.saver.save(self.session, os.path.join(folder, "m"), global_step=number)


class SameName(Model):
    def write(self, folder, number):
        self.saver.save(self.session, os.path.join(folder, "m"))


class Objects(Model):
    def make_saver(self):
        a, b = self.variables
        return tf.train.Checkpoint(a=a, b=b)

    def write(self, folder, number):
        if not hasattr(self, "begun"):
            self.session.run(tf.variables_initializer([self.saver.save_counter]))
            self.begun = True
        with self.session.as_default():
            self.saver.save(os.path.join(folder, "m"))


class Managed(Objects):
    def write(self, folder, number):
        if not hasattr(self, "manager"):
            self.manager = tf.train.CheckpointManager(self.saver, folder, max_to_keep=2)
        with self.session.as_default():
            self.manager.save()


KINDS = {
    "steps": lambda: Steps(max_to_keep=2),
    "same name": lambda: SameName(),
    "sharded, same name": lambda: SameName(sharded=True),
    "sharded": lambda: Steps(sharded=True, max_to_keep=1),
    "the older format": lambda: Steps(write_version=tf.train.SaverDef.V1, max_to_keep=1),
    "the older format, same name": lambda: SameName(write_version=tf.train.SaverDef.V1),
    "objects": Objects,
    "managed": Managed,
}


def values(prefix):
    """The number of the save that a checkpoint has, all of whose values must agree."""
    reader = tf.train.NewCheckpointReader(prefix)
    found = set()
    for name in ("a", "b"):
        for key in (name, f"{name}/.ATTRIBUTES/VARIABLE_VALUE"):
            if reader.has_tensor(key):
                found |= set(np.unique(reader.get_tensor(key)))
    assert len(found) == 1, found
    return found.pop()


@pytest.mark.parametrize("kind", KINDS)
def test_a_save_that_is_killed_at_any_moment(kind, tmp_path, monkeypatch):
    model = KINDS[kind]()
    folder = str(tmp_path)
    for number in (1, 2, 3):
        model.save(folder, number)
    seen, changes = set(), 0
    while True:
        known = values(tf.train.latest_checkpoint(folder))
        number += 1
        with failing(monkeypatch, changes) as disk:
            try:
                model.save(folder, number)
            except (tf.errors.OpError, OSError):
                assert disk.failed
        latest = tf.train.latest_checkpoint(folder)
        found = values(latest)
        assert found in (known, number), changes
        seen.add(found == number)
        if not isinstance(model, Objects):
            for prefix in tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths:
                values(prefix)
            tf.MetaGraphDef.FromString((tmp_path / f"{latest}.meta").read_bytes())
        if not disk.failed:
            break
        changes += 1
    assert seen == {False, True} and changes > 8
    # Whatever was left lying about hinders nobody.
    model.save(folder, number + 1)
    assert values(tf.train.latest_checkpoint(folder)) == number + 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_save_on_a_full_disk(kind, tmp_path, monkeypatch):
    folder = str(tmp_path)
    model = KINDS[kind]()
    for number in (1, 2, 3):
        model.save(folder, number)
    changes = 0
    while True:
        number += 1
        files = set(os.listdir(folder))
        with failing(monkeypatch, changes, full=True) as disk:
            if changes < 2:
                with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
                    model.save(folder, number)
                assert folder in caught.value.message
                assert "No space left on device" in caught.value.message
                assert values(tf.train.latest_checkpoint(folder)) == number - 1 - changes
            else:
                try:
                    model.save(folder, number)
                except tf.errors.ResourceExhaustedError:
                    assert disk.failed
        values(tf.train.latest_checkpoint(folder))
        assert not [f for f in set(os.listdir(folder)) - files if "temp" in f and "_temp_" not in f]
        if not disk.failed:
            break
        changes += 1
    assert values(tf.train.latest_checkpoint(folder)) == number


def test_an_export_that_is_killed_is_no_model(tmp_path, monkeypatch):
    model = Steps()
    with model.graph.as_default():
        a = tf.identity(model.variables[0])
    for changes in range(1000):
        folder = str(tmp_path / str(changes))
        with failing(monkeypatch, changes) as disk, model.graph.as_default():
            model.session.run(model.assign, {model.number: 7})
            try:
                tf.saved_model.simple_save(model.session, folder, {"n": model.number}, {"a": a})
            except (tf.errors.OpError, OSError):
                assert disk.failed
        whole = tf.saved_model.contains_saved_model(folder)
        if whole:
            with tf.Session(graph=tf.Graph()) as session:
                tf.saved_model.load(session, ["serve"], folder)
                assert set(session.run("b:0")) == {7}
        if not disk.failed:
            break
    assert whole and changes > 8


def test_an_estimators_export_is_seen_when_it_is_whole(tmp_path, monkeypatch):
    def model(features, mode):
        v = tf.get_variable("v", [3])
        step = tf.train.get_or_create_global_step()
        return tf.estimator.EstimatorSpec(
            mode,
            predictions={"y": features["x"] * v},
            loss=tf.reduce_sum(v),
            train_op=tf.assign_add(step, 1),
            export_outputs={
                "serving_default": tf.estimator.export.PredictOutput(features["x"] * v)
            },
        )

    def receive():
        x = tf.placeholder(tf.float32, [None, 3])
        return tf.estimator.export.ServingInputReceiver({"x": x}, x)

    estimator = tf.estimator.Estimator(model, str(tmp_path / "model"))
    estimator.train(lambda: {"x": tf.zeros([1, 3])}, max_steps=1)
    base = tmp_path / "exports"
    for changes in (2, 7, 12):
        with failing(monkeypatch, changes, full=True) as disk:
            try:
                estimator.export_saved_model(str(base), receive)
            except tf.errors.ResourceExhaustedError as e:
                assert "No space left on device" in e.message
        whole = (
            [f.name for f in base.iterdir() if re.fullmatch(r"\d+", f.name)]
            if base.exists()
            else []
        )
        assert bool(whole) == (not disk.failed)


def test_a_real_full_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        model = Steps(max_to_keep=3)
        folder = str(disk)
        model.save(folder, 1)
        filler = disk / "filler"
        filler.write_bytes(
            b"x" * (os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize - 4096)
        )
        with pytest.raises(tf.errors.ResourceExhaustedError, match=f"{folder}/m-2.*No space left"):
            model.save(folder, 2)
        assert values(tf.train.latest_checkpoint(folder)) == 1
        with pytest.raises(tf.errors.ResourceExhaustedError, match="events.*No space left"):
            with tf.summary.FileWriter(folder, graph=model.graph) as writer:
                for step in range(1000):
                    writer.add_session_log(tf.SessionLog(msg="x" * 100), step)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="records.*No space left"):
            with tf.python_io.TFRecordWriter(str(disk / "records")) as writer:
                for _ in range(1000):
                    writer.write(b"x" * 100)
        filler.unlink()
        model.save(folder, 3)
        assert values(tf.train.latest_checkpoint(folder)) == 3
    finally:
        subprocess.run(["umount", str(disk)], check=True)
