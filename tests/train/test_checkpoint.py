"""tf.train.Checkpoint: what is found from an object, what waits, what the status says; in graphs and eagerly."""

import collections
import contextlib
import gc

import numpy as np
import pytest

import weft as tf
from weft import proto
from weft.framework.trackable import Trackable
from weft.framework.tracked_structures import AutoTrackable
from weft.testing import eager_mode


@pytest.fixture(params=["graph", "eager"])
def mode(request):
    """Runs a test in both modes; gives what evaluates."""
    if request.param == "eager":
        with eager_mode():
            yield lambda x: x.numpy()
    else:
        with tf.Graph().as_default(), tf.Session() as session:
            yield session.run


def variable(value, name=None):
    v = tf.Variable(value, name=name, use_resource=True)
    if not tf.executing_eagerly():
        tf.get_default_session().run(v.initializer)
    return v


def assign(v, value):
    op = v.assign(value)
    if not tf.executing_eagerly():
        tf.get_default_session().run(op)


def restored(checkpoint, path):
    status = checkpoint.restore(path)
    status.initialize_or_restore()
    return status


class Node(AutoTrackable):
    pass


class TestSavingAndRestoring:
    def test_keys_are_the_ways_to_variables(self, mode, tmp_path):
        node = Node()
        node.inner = Node()
        setattr(node.inner, "a.b/c", variable(1.0))
        path = tf.train.Checkpoint(x=node).save(str(tmp_path / "c"))
        keys = {name for name, _ in tf.train.list_variables(path)}
        assert "x/inner/a..b.Sc/.ATTRIBUTES/VARIABLE_VALUE" in keys
        assert tf.train.latest_checkpoint(str(tmp_path)) == path == str(tmp_path / "c-1")

    def test_values_come_back(self, mode, tmp_path):
        v = variable([1.0, 2.0])
        checkpoint = tf.train.Checkpoint(v=v)
        first = checkpoint.save(str(tmp_path / "deep/in/c"))
        assign(v, [3.0, 4.0])
        second = checkpoint.save(str(tmp_path / "deep/in/c"))
        restored(checkpoint, first).assert_consumed()
        assert mode(v).tolist() == [1.0, 2.0] and mode(checkpoint.save_counter) == 1
        restored(checkpoint, second)
        assert mode(v).tolist() == [3.0, 4.0] and mode(checkpoint.save_counter) == 2

    def test_write_counts_nothing_and_tells_nobody(self, mode, tmp_path):
        checkpoint = tf.train.Checkpoint(v=variable(1.0))
        assert checkpoint.write(str(tmp_path / "c")) == str(tmp_path / "c")
        assert tf.train.latest_checkpoint(str(tmp_path)) is None

    def test_what_comes_later_is_restored_then(self, mode, tmp_path):
        path = tf.train.Checkpoint(x=variable(5.0), y=variable(6.0)).save(str(tmp_path / "c"))
        checkpoint = tf.train.Checkpoint()
        status = checkpoint.restore(path)
        with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint \(root\)\.x"):
            status.assert_consumed()
        status.assert_existing_objects_matched()
        checkpoint.x = variable(0.0)
        checkpoint.y = variable(0.0)
        status.assert_consumed().run_restore_ops()
        assert mode(checkpoint.x) == 5.0 and mode(checkpoint.y) == 6.0

    def test_the_newest_of_two_restores_wins(self, mode, tmp_path):
        v = variable(1.0)
        checkpoint = tf.train.Checkpoint(v=v)
        first = checkpoint.save(str(tmp_path / "c"))
        assign(v, 2.0)
        second = checkpoint.save(str(tmp_path / "c"))
        late = tf.train.Checkpoint()
        statuses = [late.restore(second), late.restore(first)]
        late.v = variable(0.0)
        for status in statuses:
            status.run_restore_ops()
        assert mode(late.v) == 1.0

    def test_a_new_object_in_an_old_program(self, mode, tmp_path):
        path = tf.train.Checkpoint(x=variable(1.0)).save(str(tmp_path / "c"))
        checkpoint = tf.train.Checkpoint(x=variable(0.0), new=variable(7.0))
        status = restored(checkpoint, path)
        with pytest.raises(AssertionError, match="not bound to checkpointed values"):
            status.assert_existing_objects_matched()
        assert mode(checkpoint.x) == 1.0 and mode(checkpoint.new) == 7.0

    def test_without_a_checkpoint_variables_are_initialised(self, mode):
        status = tf.train.Checkpoint(x=tf.Variable(3.0, use_resource=True)).restore(None)
        status.initialize_or_restore()
        with pytest.raises(AssertionError, match="No checkpoint specified"):
            status.assert_consumed()

    def test_one_object_by_two_ways_is_saved_once(self, mode, tmp_path):
        v = variable(1.0)
        path = tf.train.Checkpoint(a=v, b=v).save(str(tmp_path / "c"))
        assert [n for n, _ in tf.train.list_variables(path) if n.startswith(("a", "b"))] == [
            "a/.ATTRIBUTES/VARIABLE_VALUE"
        ]

    def test_a_cycle_of_objects(self, mode, tmp_path):
        node = Node()
        node.me, node.v = node, variable(2.0)
        checkpoint = tf.train.Checkpoint(node=node)
        path = checkpoint.save(str(tmp_path / "c"))
        assign(node.v, 0.0)
        restored(checkpoint, path).assert_consumed()
        assert mode(node.v) == 2.0

    def test_only_trackable_objects_are_taken(self, mode):
        with pytest.raises(ValueError, match="expecting a trackable object"):
            tf.train.Checkpoint(x=3)

    def test_python_state(self, mode, tmp_path):
        class Text(tf.train.experimental.PythonState):
            text = "one"

            def serialize(self):
                return self.text.encode()

            def deserialize(self, string_value):
                self.text = string_value.decode()

        state = Text()
        checkpoint = tf.train.Checkpoint(state=state)
        path = checkpoint.save(str(tmp_path / "c"))
        state.text = "two"
        second = checkpoint.save(str(tmp_path / "c"))
        restored(checkpoint, path).assert_consumed()
        assert state.text == "one"
        restored(checkpoint, second)
        assert state.text == "two"

    def test_a_missing_checkpoint(self, mode, tmp_path):
        with pytest.raises(tf.errors.NotFoundError):
            tf.train.Checkpoint().restore(str(tmp_path / "none"))

    def test_an_unused_checkpoint_is_told_when_it_goes(self, mode, tmp_path, monkeypatch):
        path = tf.train.Checkpoint(x=variable(1.0)).save(str(tmp_path / "c"))
        told = []
        monkeypatch.setattr(tf.logging, "warning", lambda text, *a: told.append(text))
        status = tf.train.Checkpoint().restore(path)
        del status
        gc.collect()
        assert "Unresolved object in checkpoint: (root).x" in told
        told.clear()
        tf.train.Checkpoint().restore(path).expect_partial()
        gc.collect()
        assert not told


class TestOptimizers:
    def model(self, optimizer):
        v = variable([1.0, 2.0])

        def loss():
            return tf.reduce_sum(tf.square(v))

        def step():
            op = optimizer.minimize(loss if tf.executing_eagerly() else loss(), var_list=[v])
            if not tf.executing_eagerly():
                session = tf.get_default_session()
                session.run(tf.variables_initializer(optimizer.variables()))
                session.run(op)

        return v, step

    def test_slots_are_saved_beside_their_variables(self, mode, tmp_path):
        optimizer = tf.train.AdamOptimizer(0.1)
        v, step = self.model(optimizer)
        step()
        checkpoint = tf.train.Checkpoint(v=v, optimizer=optimizer)
        path = checkpoint.save(str(tmp_path / "c"))
        keys = {
            n.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for n, _ in tf.train.list_variables(path)
        }
        assert {"v/.OPTIMIZER_SLOT/optimizer/m", "v/.OPTIMIZER_SLOT/optimizer/v"} <= keys
        assert {"optimizer/beta1_power", "optimizer/beta2_power"} <= keys
        expected = mode(optimizer.get_slot(v, "m"))
        assign(optimizer.get_slot(v, "m"), [0.0, 0.0])
        restored(checkpoint, path).assert_consumed()
        np.testing.assert_array_equal(mode(optimizer.get_slot(v, "m")), expected)

    def test_slots_that_are_made_later_wait(self, mode, tmp_path):
        first = (
            tf.train.MomentumOptimizer(0.1, 0.9)
            if hasattr(tf.train, "MomentumOptimizer")
            else (tf.train.AdagradOptimizer(0.1))
        )
        v, step = self.model(first)
        step()
        (slot_name,) = first.get_slot_names()
        path = tf.train.Checkpoint(v=v, optimizer=first).save(str(tmp_path / "c"))
        second = type(first)(
            **({"momentum": 0.9} if slot_name == "momentum" else {}), learning_rate=0.1
        )
        w, step = self.model(second)
        status = tf.train.Checkpoint(optimizer=second, v=w).restore(path)
        before = mode(first.get_slot(v, slot_name))
        if tf.executing_eagerly():
            np.testing.assert_array_equal(mode(second.get_slot(w, slot_name)), before)
        step()
        status.assert_consumed().run_restore_ops()
        if not tf.executing_eagerly():
            np.testing.assert_array_equal(mode(second.get_slot(w, slot_name)), before)


class TestWhatIsFound:
    def test_layers_have_their_weights(self, mode, tmp_path):
        layer = tf.layers.Dense(2, kernel_initializer=tf.ones_initializer())
        layer(tf.ones([1, 3]))
        if not tf.executing_eagerly():
            tf.get_default_session().run(tf.global_variables_initializer())
        path = tf.train.Checkpoint(layer=layer).save(str(tmp_path / "c"))
        shapes = dict(tf.train.list_variables(path))
        assert shapes["layer/kernel/.ATTRIBUTES/VARIABLE_VALUE"] == [3, 2]
        other = tf.layers.Dense(2)
        checkpoint = tf.train.Checkpoint(layer=other)
        status = checkpoint.restore(path)
        other(tf.ones([1, 3]))
        status.assert_consumed().initialize_or_restore()
        assert mode(other.kernel).tolist() == [[1.0, 1.0]] * 3

    def test_tables(self, mode, tmp_path):
        table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, name="words")
        run = (lambda x: x) if tf.executing_eagerly() else tf.get_default_session().run
        run(table.insert(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)))
        checkpoint = tf.train.Checkpoint(table=table)
        path = checkpoint.save(str(tmp_path / "c"))
        run(table.insert(tf.constant(["a"]), tf.constant([9], tf.int64)))
        restored(checkpoint, path).assert_consumed()
        assert mode(table.lookup(tf.constant(["a", "b", "c"]))).tolist() == [1, 2, -1]

    def test_lists_and_dicts(self, mode, tmp_path):
        node = Node()
        node.items = [variable(1.0), [variable(2.0)]]
        node.named = {"x": variable(3.0), "deep": {"y": variable(4.0)}, "n": 5}
        node.items.append(variable(6.0))
        node.items += [7]
        node.ignored = tf.contrib.checkpoint.NoDependency([variable(0.0)])
        path = tf.train.Checkpoint(node=node).save(str(tmp_path / "c"))
        keys = {
            n.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for n, _ in tf.train.list_variables(path)
        }
        assert {k for k in keys if k.startswith("node")} == {
            *("node/items/0", "node/items/1/0", "node/items/2", "node/named/x", "node/named/deep/y")
        }
        assert isinstance(node.items, list) and len(node.items) == 4
        assert isinstance(node.named, dict) and node.named["n"] == 5
        assert type(node.ignored) is list

    def test_what_is_put_into_a_list_later_is_restored(self, mode, tmp_path):
        node = Node()
        node.items = [variable(1.0), variable(2.0)]
        path = tf.train.Checkpoint(node=node).save(str(tmp_path / "c"))
        other = Node()
        other.items = []
        status = tf.train.Checkpoint(node=other).restore(path)
        other.items.append(variable(0.0))
        other.items.append(variable(0.0))
        status.assert_consumed().run_restore_ops()
        assert [mode(v) for v in other.items] == [1.0, 2.0]

    @pytest.mark.parametrize(
        "change",
        [
            lambda x: x.pop(),
            lambda x: x.insert(0, x[0]),
            lambda x: x.reverse(),
            lambda x: x.__delitem__(0),
            lambda x: x.__setitem__(0, 3),
            lambda x: x.clear(),
        ],
    )
    def test_a_list_that_was_rearranged_is_not_saved(self, mode, tmp_path, change):
        node = Node()
        node.items = [variable(1.0), variable(2.0)]
        change(node.items)
        with pytest.raises(ValueError, match="Unable to save the object ListWrapper"):
            tf.train.Checkpoint(node=node).save(str(tmp_path / "c"))

    def test_lists_without_dependencies_change_as_they_like(self, mode, tmp_path):
        node = Node()
        node.sizes = [3, 1, 2]
        node.sizes.sort()
        node.sizes.pop()
        assert node.sizes == [1, 2]
        tf.train.Checkpoint(node=node).save(str(tmp_path / "c"))

    def test_a_dict_with_other_keys_than_strings(self, mode, tmp_path):
        node = Node()
        node.named = {1: variable(1.0)}
        with pytest.raises(ValueError, match="Unable to save the object DictWrapper"):
            tf.train.Checkpoint(node=node).save(str(tmp_path / "c"))

    def test_ordered_dicts_stay_so(self, mode, tmp_path):
        node = Node()
        node.named = collections.OrderedDict(b=variable(1.0), a=variable(2.0))
        node.named.move_to_end("b")
        assert isinstance(node.named, collections.OrderedDict) and list(node.named) == ["a", "b"]
        path = tf.train.Checkpoint(node=node).save(str(tmp_path / "c"))
        keys = {n for n, _ in tf.train.list_variables(path)}
        assert "node/named/a/.ATTRIBUTES/VARIABLE_VALUE" in keys
        assert mode(node.named.popitem(last=False)[1]) == 2.0
        with pytest.raises(ValueError, match="Unable to save the object OrderedDictWrapper"):
            tf.train.Checkpoint(node=node).save(str(tmp_path / "c"))

    def test_names_are_unique_unless_they_are_replaced(self, mode):
        node = Trackable()
        v = variable(1.0)
        node._track_trackable(v, "x")
        with pytest.raises(ValueError, match="already declared"):
            node._track_trackable(variable(2.0), "x")
        with pytest.raises(TypeError, match="not a Trackable"):
            node._track_trackable(3, "y")


class TestNamesAndObjects:
    def test_a_checkpoint_of_a_saver(self, mode, tmp_path):
        v = variable([1.0, 2.0], name="v")
        saver = tf.train.Saver([v])
        session = None if tf.executing_eagerly() else tf.get_default_session()
        path = saver.save(session, str(tmp_path / "names"))
        assign(v, [0.0, 0.0])
        node = Node()
        node.v = v
        checkpoint = tf.train.Checkpoint(node=node)
        with contextlib.suppress(tf.errors.NotFoundError):  # the counter is not in it
            checkpoint.restore(path).run_restore_ops()
        if tf.executing_eagerly():
            assert mode(v).tolist() == [1.0, 2.0]

    def test_a_scaffold_saves_objects(self, tmp_path):
        with tf.Graph().as_default():
            step = tf.train.get_or_create_global_step()
            checkpoint = tf.train.Checkpoint(step=step)
            train = step.assign_add(1)
            scaffold = tf.train.Scaffold(saver=checkpoint)
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), scaffold=scaffold, save_summaries_steps=None
            ) as session:
                for _ in range(3):
                    session.run(train)
        path = tf.train.latest_checkpoint(str(tmp_path))
        assert "_CHECKPOINTABLE_OBJECT_GRAPH" in dict(tf.train.list_variables(path))
        with tf.Graph().as_default(), tf.Session() as session:
            step = tf.train.get_or_create_global_step()
            tf.train.Checkpoint(step=step).restore(path).initialize_or_restore(session)
            assert session.run(step) == 3


class TestManager:
    def test_the_newest_stay(self, mode, tmp_path):
        checkpoint = tf.train.Checkpoint(v=variable(1.0))
        manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=2)
        assert manager.latest_checkpoint is None and manager.checkpoints == []
        paths = [manager.save() for _ in range(4)]
        assert manager.checkpoints == paths[2:] and manager.latest_checkpoint == paths[3]
        assert [tf.train.checkpoint_exists(p) for p in paths] == [False, False, True, True]
        again = tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=2)
        assert again.checkpoints == paths[2:] and again.latest_checkpoint == paths[3]
        assert manager.save(checkpoint_number=50).endswith("ckpt-50")
        with pytest.raises(ValueError, match="positive integer"):
            tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=0)


class TestDamage:
    """A graph of objects that is not of TensorFlow's making: an error, and the objects as they were."""

    def written(self, content, folder):
        v = tf.get_variable("v", initializer=[1.0])
        with tf.Session() as session:
            session.run(v.initializer)
            text = tf.constant(content, dtype=tf.string)
            tf.raw_ops.SaveV2(
                prefix=str(folder / "c"),
                tensor_names=["_CHECKPOINTABLE_OBJECT_GRAPH", "v"],
                shape_and_slices=["", ""],
                tensors=[text, v],
                name="write",
            )
            session.run("write")
        return str(folder / "c"), v

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            (b"\x07\xff", "is damaged"),
            (b"", "no object in it"),
            ("nodes { children { node_id: 7 local_name: 'x' } }", r"refers to \[7\]"),
            ("nodes { children { node_id: -1 local_name: 'x' } }", r"refers to \[-1\]"),
            ("nodes { slot_variables { slot_variable_node_id: 3 } }", r"refers to \[0, 3\]"),
        ],
    )
    def test_a_damaged_graph_of_objects(self, tmp_path, content, why):
        from google.protobuf import text_format

        if isinstance(content, str):
            message = text_format.Parse(content, proto.TrackableObjectGraph())
            content = message.SerializeToString()
        with tf.Graph().as_default():
            path, v = self.written(content, tmp_path)
            checkpoint = tf.train.Checkpoint(x=v)
            with pytest.raises(tf.errors.DataLossError, match=why):
                checkpoint.restore(path)
            checkpoint.restore(None)

    def test_objects_that_hold_each_other(self, tmp_path):
        from google.protobuf import text_format

        text = """nodes { children { node_id: 1 local_name: 'x' } children { node_id: 0 local_name: 'x' } }
            nodes { children { node_id: 0 local_name: 'x' } attributes { name: 'VARIABLE_VALUE' checkpoint_key: 'v' } }
            """
        message = text_format.Parse(text, proto.TrackableObjectGraph())
        with tf.Graph().as_default():
            path, v = self.written(message.SerializeToString(), tmp_path)
            status = tf.train.Checkpoint(x=v).restore(path)
            with tf.Session() as session:
                status.run_restore_ops(session)
                assert session.run(v).tolist() == [1.0]
