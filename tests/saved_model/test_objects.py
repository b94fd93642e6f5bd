"""SavedModels of objects: what can be written, how functions are found, and what is refused."""

import numpy as np
import pytest

import weft as tf
from weft.testing import eager_mode


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.v = tf.Variable([1.0, 2.0], name="v")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def apply(self, x):
        return x * self.v

    @tf.function
    def power(self, x, n=2, *, offset=0.0):
        return x**n + offset


@pytest.fixture(autouse=True)
def eagerly():
    with eager_mode():
        yield


def test_signatures_have_named_outputs(tmp_path):
    model = Model()
    many = tf.function(
        lambda a, b: [a + b, a - b], input_signature=[tf.TensorSpec([], tf.float32)] * 2
    )
    named = model.power.get_concrete_function(tf.TensorSpec([2], tf.float32, name="given"))
    tf.saved_model.save(model, str(tmp_path), {"apply": model.apply, "many": many, "named": named})
    signatures = tf.saved_model.load_v2(str(tmp_path)).signatures
    assert sorted(signatures) == ["apply", "many", "named"]
    found = signatures["many"](a=tf.constant(3.0), b=tf.constant(1.0))
    assert {k: float(v) for k, v in found.items()} == {"output_0": 4, "output_1": 2}
    assert signatures["named"](given=tf.constant([2.0, 3.0]))["output_0"].numpy().tolist() == [4, 9]
    assert signatures["apply"](tf.ones([1, 2]))["output_0"].numpy().tolist() == [[1, 2]]


def test_functions_are_found_by_their_arguments(tmp_path):
    model = Model()
    x = tf.constant([1.0, 2.0, 3.0])
    expected = {}
    for n in (2, 3):
        expected[n] = model.power(x, n, offset=1.0).numpy()
    assert model.power(x, 2).numpy().tolist() == [1, 4, 9]
    tf.saved_model.save(model, str(tmp_path))
    loaded = tf.saved_model.load_v2(str(tmp_path))
    for n in (2, 3):
        np.testing.assert_array_equal(loaded.power(x, n, offset=1.0), expected[n])
        np.testing.assert_array_equal(loaded.power([1.0, 2.0, 3.0], n=n, offset=1.0), expected[n])
    assert loaded.power(x).numpy().tolist() == [1, 4, 9]
    with pytest.raises(ValueError, match="Could not find matching function to call"):
        loaded.power(x, 4)
    with pytest.raises(ValueError, match="one of the following 1 option"):
        loaded.apply(tf.ones([2, 3]))
    with pytest.raises(TypeError, match="unexpected keyword argument 'exponent'"):
        loaded.power(x, exponent=2)


def test_what_was_loaded_goes_on_and_is_saved_again(tmp_path):
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    tf.saved_model.save(Model(), first)
    loaded = tf.saved_model.load_v2(first)
    other = tf.saved_model.load_v2(first)
    loaded.v.assign([5.0, 6.0])
    assert other.v.numpy().tolist() == [1, 2]  # each has variables of its own
    tf.saved_model.save(loaded, second)
    again = tf.saved_model.load_v2(second)
    assert again.apply([[1.0, 1.0]]).numpy().tolist() == [[5, 6]]
    restored = Model()
    tf.train.Checkpoint(v=restored.v).restore(second + "/variables/variables").expect_partial()
    assert restored.v.numpy().tolist() == [5, 6]


def test_what_cannot_be_written(tmp_path):
    folder = str(tmp_path / "m")
    with pytest.raises(ValueError, match="Expected a Trackable object for export"):
        tf.saved_model.save([], folder)
    model = Model()
    hidden = tf.Variable(1.0)
    model.bad = tf.function(lambda x: x + hidden, input_signature=[tf.TensorSpec([], tf.float32)])
    with pytest.raises(AssertionError, match="references untracked object"):
        tf.saved_model.save(model, folder)
    model.bad = model.power
    with pytest.raises(ValueError, match="Only `tf.functions` with an input signature"):
        tf.saved_model.save(model, folder, signatures=model.power)
    nested = tf.function(lambda x: {"a": [x]}, input_signature=[tf.TensorSpec([], tf.float32)])
    with pytest.raises(ValueError, match="non-Tensor value"):
        tf.saved_model.save(model, folder, signatures=nested)
    model.table = tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.int64, default_value=-1, empty_key=-1, deleted_key=-2
    )
    with pytest.raises(tf.errors.UnimplementedError, match="tables are not written"):
        tf.saved_model.save(model, folder)
    del model.table
    model.signatures = {"mine": 1}
    with pytest.raises(ValueError, match="attribute named 'signatures'"):
        tf.saved_model.save(model, folder)
    assert not (tmp_path / "m").exists()
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match="enable_eager_execution"):
        tf.saved_model.save(Model(), folder)
