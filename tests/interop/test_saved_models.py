"""SavedModels that one side writes are loaded and run by the other."""

from pathlib import Path

import pytest

from tests.interop.test_files import PAIRS, run

WRITE = """
import numpy as np
with open(folder + "/words.txt", "w") as f:
    f.write("cat\\ndog\\n")
x = tf.placeholder(tf.float32, [None, 3], name="x")
w = tf.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
steps = tf.get_variable("steps", initializer=7, use_resource=True)
y = tf.nn.relu(tf.matmul(x, w) - 20.0, name="y")
path = tf.constant(folder + "/words.txt")
table = tf.contrib.lookup.index_table_from_file(path, num_oov_buckets=1) if hasattr(tf, "contrib") else (
    tf.lookup.StaticVocabularyTable(tf.lookup.TextFileInitializer(
        path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), 1))
word = tf.sparse_placeholder(tf.string, [None, None], name="words")
ids = tf.SparseTensor(word.indices, table.lookup(word.values), word.dense_shape)
sm = tf.saved_model
for name, as_text in (("binary", False), ("text", True)):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        builder = sm.builder.SavedModelBuilder(folder + "/" + name)
        signatures = {
            "serving_default": sm.signature_def_utils.predict_signature_def({"x": x}, {"y": y}),
            "words": sm.signature_def_utils.predict_signature_def({"words": word}, {"ids": ids}),
        }
        for key in (sm.constants.MAIN_OP_KEY, sm.constants.ASSETS_KEY):
            del tf.get_collection_ref(key)[:]
        builder.add_meta_graph_and_variables(
            session, [sm.tag_constants.SERVING], signatures,
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
            main_op=tf.tables_initializer(name="tables_" + name), clear_devices=True)
        builder.add_meta_graph([sm.tag_constants.TRAINING], strip_default_attrs=True)
        builder.save(as_text)
tf.reset_default_graph()
x = tf.placeholder(tf.float32, [2], name="x")
v = tf.get_variable("v", initializer=[5.0, 6.0])
with tf.Session() as session:
    session.run(v.initializer)
    sm.simple_save(session, folder + "/simple", {"x": x}, {"sum": x + v})
print(json.dumps(None))
"""
READ = """
import os
found = {}
os.rename(folder + "/words.txt", folder + "/moved.txt")  # the model has a copy
for name in ("binary", "text"):
    with tf.Session(graph=tf.Graph()) as session:
        meta = tf.saved_model.loader.load(session, ["serve"], folder + "/" + name)
        tensor = lambda info: tf.saved_model.get_tensor_from_tensor_info(info)
        signature = meta.signature_def["serving_default"]
        y = session.run(tensor(signature.outputs["y"]), {tensor(signature.inputs["x"]): [[1, 2, 3], [3, 2, 1]]})
        signature = meta.signature_def["words"]
        words = tf.SparseTensorValue([[0, 0], [0, 1], [1, 0]], ["dog", "cow", "cat"], [2, 2])
        ids = session.run(tensor(signature.outputs["ids"]), {tensor(signature.inputs["words"]): words})
        variables = sorted(v.op.name for v in tf.global_variables())
        found[name] = [y.tolist(), ids.values.tolist(), session.run("steps/Read/ReadVariableOp:0").tolist(), variables]
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.load(session, ["train"], folder + "/" + name, import_scope="inner")
        found[name].append(session.run("inner/y:0", {"inner/x:0": [[1, 2, 3]]}).tolist())
with tf.Session(graph=tf.Graph()) as session:
    meta = tf.saved_model.load(session, [tf.saved_model.SERVING], folder + "/simple")
    (name,) = [info.name for info in meta.signature_def["serving_default"].outputs.values()]
    found["simple"] = session.run(name, {"x:0": [1, 2]}).tolist()
os.rename(folder + "/moved.txt", folder + "/words.txt")
print(json.dumps(found))
"""
MODEL = [[[0.0, 2.0], [0.0, 0.0]], [1, 2, 0], 7, ["steps", "w"], [[0.0, 2.0]]]


@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids="-".join)
def test_saved_models(tmp_path: Path, writer, reader):
    run(WRITE, writer, tmp_path)
    found = run(READ, reader, tmp_path)
    assert found == {"binary": MODEL, "text": MODEL, "simple": [6.0, 8.0]}


AS_OBJECT = """
import sys
if which == "weft":
    load = tf.saved_model.load_v2
    tf.enable_eager_execution()
elif tf.__version__ < "1.16":
    load = tf.saved_model.load_v2
    tf.enable_eager_execution()
else:
    import tensorflow
    load = tensorflow.saved_model.load
    tf.enable_v2_behavior()
found = []
# TensorFlow 1.15 does not take signatures with sparse tensors as functions.
sparse = which == "weft" or tf.__version__ >= "1.16"
for name, tags in (("binary", ["serve"]), ("text", "serve")) if sparse else ():
    model = load(folder + "/" + name, tags=tags)
    (y,) = model.signatures["serving_default"](x=tf.constant([[1.0, 2.0, 3.0]])).values()
    found.append(y.numpy().tolist())
    found.append(sorted(v.numpy().tolist() for v in model.variables if v.shape.rank == 0))
model = load(folder + "/simple")
(y,) = model.signatures["serving_default"](tf.constant([1.0, 2.0])).values()
found.append(y.numpy().tolist())
print(json.dumps(found))
"""


@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids="-".join)
def test_saved_models_as_objects(tmp_path: Path, writer, reader):
    run(WRITE, writer, tmp_path)
    found = run(AS_OBJECT, reader, tmp_path)
    assert found[:-1] == ([] if reader == "tf1" else [[[0.0, 2.0]], [7], [[0.0, 2.0]], [7]])
    assert found[-1] == [6.0, 8.0]


WRITE_OBJECTS = """
import tensorflow
tf.enable_v2_behavior()
class Model(tensorflow.Module):
    def __init__(self):
        super().__init__()
        self.w = tensorflow.Variable([[1.0], [2.0]])
    @tensorflow.function(input_signature=[tensorflow.TensorSpec([None, 2])])
    def __call__(self, x):
        y = tensorflow.matmul(x, self.w)
        return {"y": tensorflow.cond(tensorflow.reduce_sum(y) > 0.0, lambda: y, lambda: -y)}
model = Model()
tensorflow.saved_model.save(model, folder + "/objects", signatures=model.__call__)
print(json.dumps(None))
"""
READ_OBJECTS = """
with tf.Session(graph=tf.Graph()) as session:
    meta = tf.saved_model.load(session, ["serve"], folder + "/objects")
    signature = meta.signature_def["serving_default"]
    y = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: [[1.0, 1.0], [-3.0, -4.0]]})
tf.enable_eager_execution()
function = tf.saved_model.load_v2(folder + "/objects").signatures["serving_default"]
print(json.dumps([y.tolist(), function(tf.constant([[5.0, 1.0]]))["y"].numpy().tolist()]))
"""


def test_signatures_of_objects_of_tensorflow_2(tmp_path: Path):
    run(WRITE_OBJECTS, "tf2", tmp_path)
    assert run(READ_OBJECTS, "weft", tmp_path) == [[[-3.0], [11.0]], [[7.0]]]


SAVE_OBJECT = """
if which == "weft":
    api = tf
    tf.enable_eager_execution()
else:
    import tensorflow as api
    tf.enable_v2_behavior()
big = tf.constant([[float(i) for i in range(200)]])

class Part(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w", use_resource=True)

    @api.function
    def product(self, x):
        return tf.matmul(x, self.w)

class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.scale = tf.Variable(2.0, name="scale", use_resource=True)
        self.shifts = [tf.Variable([1.0, 2.0], trainable=False, use_resource=True)]
        self.parts = {"first": Part()}
        self.calls = tf.Variable(0, dtype=tf.int64, use_resource=True)

    @api.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def apply(self, x):
        self.calls.assign_add(1)
        y = self.parts["first"].product(x) * self.scale + self.shifts[0]
        return {"y": tf.cond(tf.reduce_sum(y) > 0.0, lambda: y, lambda: -y), "sum": tf.reduce_sum(big)}

    @api.function
    def scaled(self, x, by=3, shifted=False):
        return x * by, (x + self.scale if shifted else x)

model = Model()
model.scale.assign(5.0)
model.apply(tf.ones([3, 2]))
model.scaled(tf.constant([1.0, 2.0]))
model.scaled(tf.constant([1.0, 2.0]), shifted=True)
api.saved_model.save(model, folder + "/object")
print(json.dumps(None))
"""
LOAD_OBJECT = """
if which == "weft":
    tf.enable_eager_execution()
    load = tf.saved_model.load_v2
else:
    import tensorflow
    tf.enable_v2_behavior()
    load = tf.saved_model.load_v2 if which == "tf1" else tensorflow.saved_model.load
model = load(folder + "/object")
found = {"signature": model.signatures["serving_default"](tf.ones([1, 2]))["y"].numpy().tolist()}
with tf.GradientTape() as tape:
    result = model.apply(tf.ones([1, 2]))
    loss = tf.reduce_sum(result["y"])
found["values"] = [result["y"].numpy().tolist(), float(result["sum"].numpy())]
gradients = tape.gradient(loss, [model.scale, model.parts["first"].w])
found["gradients"] = [g.numpy().tolist() for g in gradients]
found["calls"] = int(model.calls.numpy())
model.scale.assign(1.0)
a, b = model.scaled(tf.constant([1.0, 2.0])), model.scaled(tf.constant([1.0, 2.0]), shifted=True)
found["scaled"] = [x.numpy().tolist() for x in (*a, *b)]
found["trainable"] = [model.scale.trainable, model.shifts[0].trainable]
with tf.Graph().as_default(), tf.Session() as session:
    meta = tf.saved_model.loader.load(session, ["serve"], folder + "/object")
    signature = meta.signature_def["serving_default"]
    found["session"] = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: [[0.0, 1.0]]}).tolist()
print(json.dumps(found))
"""
OBJECT = {
    "signature": [[21.0, 32.0]],
    "values": [[[21.0, 32.0]], 19900.0],
    "gradients": [10.0, [[5.0, 5.0], [5.0, 5.0]]],
    "calls": 3,
    "scaled": [[3.0, 6.0], [1.0, 2.0], [3.0, 6.0], [2.0, 3.0]],
    "trainable": [True, False],
    "session": [[16.0, 22.0]],
}


@pytest.mark.parametrize(
    ("writer", "reader"),
    [("weft", "tf1"), ("weft", "tf2"), ("weft", "weft"), *PAIRS[2:]],
    ids="-".join,
)
def test_objects_with_functions(tmp_path: Path, writer, reader):
    run(SAVE_OBJECT, writer, tmp_path)
    assert run(LOAD_OBJECT, reader, tmp_path) == OBJECT
