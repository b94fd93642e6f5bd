"""The graph of objects in a checkpoint is TensorFlow 1.15's: names of dependencies, keys, names of variables, slots."""

import pytest

from tests.interop.test_files import run

PROGRAM = """
import contextlib
if which == "tf1":
    import tensorflow as tf
if mode == "eager":
    tf.enable_eager_execution()

def layer(l, shape):
    l(tf.ones(shape))
    return {"x": l}

def cell(c):
    c(tf.ones([1, 3]), c.zero_state(1, tf.float32))
    return {"x": c}

class Module(tf.Module):
    def __init__(self):
        super(Module, self).__init__()
        self.a = self._private = tf.Variable(1.0)
        self.parts = [tf.Variable(1.0), 3, [tf.Variable(2.0)]]
        self.named = {"x": tf.Variable(1.0), "y": {"z": tf.Variable(1.0)}}
        self.pair, self.text, self.empty, self.none = (tf.Variable(1.0), 2), "x", [], None

def optimized(optimizer):
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    w = tf.get_variable("w", initializer=3.0, use_resource=True)
    loss = lambda: tf.reduce_sum(v * v) + w * w
    optimizer.minimize(loss if tf.executing_eagerly() else loss(), var_list=[v, w])
    return {"v": v, "w": w, "optimizer": optimizer}

def tables():
    with open(folder + "/words", "w") as f:
        f.write("a\\nb\\n")
    lookup = tf.lookup
    return {
        "mutable": tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, name="m"),
        "dense": tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, -5, deleted_key=-6, name="d"),
        "fixed": lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a"], [1]), -1),
        "words": lookup.StaticVocabularyTable(lookup.TextFileInitializer(
            folder + "/words", tf.string, lookup.TextFileIndex.WHOLE_LINE, tf.int64,
            lookup.TextFileIndex.LINE_NUMBER), 1),
    }

def template():
    t = tf.make_template("t", lambda: tf.get_variable("v", initializer=1.0) + tf.layers.dense(tf.ones([1, 2]), 1))
    t()
    return {"t": t}

rnn, train = tf.nn.rnn_cell, tf.train
programs = {
    "dense": lambda: layer(tf.layers.Dense(2), [1, 3]),
    "batch norm": lambda: layer(tf.layers.BatchNormalization(), [1, 3]),
    "separable": lambda: layer(tf.layers.SeparableConv2D(2, 3), [1, 5, 5, 3]),
    "keras": lambda: layer(tf.keras.layers.Dense(2), [1, 3]),
    "lstm": lambda: cell(rnn.LSTMCell(2, use_peepholes=True, num_proj=1)),
    "cells": lambda: cell(rnn.MultiRNNCell([rnn.GRUCell(2), rnn.DropoutWrapper(rnn.BasicRNNCell(2))])),
    "block": lambda: cell(tf.contrib.rnn.LSTMBlockCell(2)),
    "module": lambda: {"x": Module()},
    "checkpoint": lambda: {"x": tf.train.Checkpoint(x=tf.Variable(1.0), y=tf.train.Checkpoint())},
    "tables": tables,
    "template": template,
    "sgd": lambda: optimized(train.GradientDescentOptimizer(0.1)),
    "momentum": lambda: optimized(train.MomentumOptimizer(0.1, 0.9)),
    "adam": lambda: optimized(train.AdamOptimizer(0.1)),
    "adagrad": lambda: optimized(train.AdagradOptimizer(0.1)),
    "rmsprop": lambda: optimized(train.RMSPropOptimizer(0.1, centered=True)),
    "ftrl": lambda: optimized(train.FtrlOptimizer(0.1)),
    "adadelta": lambda: optimized(train.AdadeltaOptimizer(0.1)),
}

def described(path):
    nodes = tf.contrib.checkpoint.object_metadata(path).nodes
    found = sorted(
        [
            [sorted(child.local_name for child in node.children)],
            [[a.name, a.checkpoint_key, a.full_name, a.optional_restore] for a in node.attributes],
            sorted(slot.slot_name for slot in node.slot_variables),
        ]
        for node in nodes
    )
    return [found, [[name, list(shape)] for name, shape in tf.train.list_variables(path)]]

result = {}
for name, program in sorted(programs.items()):
    prefix = folder + "/" + name.replace(" ", "_")
    with tf.Graph().as_default() if mode == "graph" else contextlib.suppress():
        checkpoint = tf.train.Checkpoint(**program())
        if mode == "eager":
            path = checkpoint.save(prefix)
        else:
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                path = checkpoint.save(prefix)
    result[name] = described(path)
print(json.dumps(result))
"""


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_graphs_of_objects(tmp_path, mode):
    found = {}
    for side in ("tf1", "weft"):
        folder = tmp_path / side
        folder.mkdir()
        found[side] = run(f"mode = {mode!r}\n{PROGRAM}", side, folder)
    assert len(found["tf1"]) > 15
    for name, expected in found["tf1"].items():
        assert found["weft"][name] == expected, name
