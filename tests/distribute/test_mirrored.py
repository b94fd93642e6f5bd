"""MirroredStrategy, over two CPU devices of one process."""

from __future__ import annotations

import numpy as np
import pytest

import weft as tf

from . import training

TWO = ["/cpu:0", "/cpu:1"]
SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN


@pytest.fixture
def session_of():
    """Makes sessions on two devices."""
    sessions = []

    def make():
        sessions.append(tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})))
        return sessions[-1]

    with tf.Graph().as_default():
        yield make
    for session in sessions:
        session.close()


@pytest.fixture
def strategy():
    return tf.distribute.MirroredStrategy(TWO)


def run(session_of, fetches):
    session = session_of()
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    return session.run(fetches)


@pytest.mark.parametrize("optimizer", sorted(training.LOSSES))
def test_training_is_that_of_one_process_with_the_same_batches(session_of, strategy, optimizer):
    losses, step = training.train(session_of(), training.build(strategy, optimizer))
    np.testing.assert_allclose(losses, training.LOSSES[optimizer], rtol=1e-5)
    assert step == 6


@pytest.mark.parametrize(
    "ops",
    [
        tf.distribute.ReductionToOneDevice("/cpu:1", tf.add_n),
        tf.distribute.NcclAllReduce(num_packs=2),
        tf.distribute.HierarchicalCopyAllReduce(num_packs=0),
    ],
)
def test_the_way_of_the_values_does_not_matter(session_of, ops):
    strategy = tf.distribute.MirroredStrategy(TWO, cross_device_ops=ops)
    losses, _ = training.train(session_of(), training.build(strategy, "adam"))
    np.testing.assert_allclose(losses, training.LOSSES["adam"], rtol=1e-5)


def test_one_device_is_enough(session_of):
    for strategy in (
        tf.distribute.MirroredStrategy(["/cpu:0"]),
        tf.distribute.OneDeviceStrategy("/cpu:0"),
        tf.distribute.experimental.CentralStorageStrategy(["/cpu:0"]),
        tf.distribute.experimental.ParameterServerStrategy(),
        tf.distribute.experimental.MultiWorkerMirroredStrategy(),
    ):
        with tf.Graph().as_default():
            losses, step = training.train(session_of(), training.build(strategy, "adam"))
        np.testing.assert_allclose(losses, training.LOSSES["adam"], rtol=1e-5)
        assert step == 6


def test_variables_may_be_in_one_place(session_of):
    strategy = tf.distribute.experimental.CentralStorageStrategy(TWO, "/cpu:0")
    losses, step = training.train(session_of(), training.build(strategy, "adam"))
    np.testing.assert_allclose(losses, training.LOSSES["adam"], rtol=1e-5)
    assert step == 6
    assert {v.device for v in tf.global_variables()} == {tf.global_variables()[0].device}


# -- where a program stands --------------------------------------------------------------------------------


def test_where_a_program_stands(session_of, strategy):
    where = tf.distribute

    def state():
        return where.has_strategy(), where.in_cross_replica_context(), where.get_replica_context()

    has, crosses, replica = state()
    assert not has and not crosses and replica.num_replicas_in_sync == 1
    assert where.get_strategy().num_replicas_in_sync == 1
    with strategy.scope():
        assert state() == (True, True, None)
        assert where.get_strategy() is strategy
        seen = []

        def replica_fn():
            has, crosses, replica = state()
            seen.append((has, crosses, replica.num_replicas_in_sync, replica.devices))
            return replica.replica_id_in_sync_group

        ids = strategy.experimental_run_v2(replica_fn)
        places = [f"/replica:0/task:0/device:CPU:{i}" for i in range(2)]
        assert seen == [(True, False, 2, (p,)) for p in places]
        assert session_of().run(strategy.experimental_local_results(ids)) == (0, 1)
        with tf.Graph().as_default():
            assert not where.has_strategy()
    assert not where.has_strategy()


def test_scopes_are_not_mixed(strategy):
    with strategy.scope(), strategy.scope():
        other = tf.distribute.MirroredStrategy(["/cpu:0"])
        with pytest.raises(RuntimeError, match="Mixing different"), other.scope():
            pass
    with pytest.raises(RuntimeError, match='Need to be inside "with strategy.scope'):
        strategy.extended.call_for_each_replica(lambda: 1)


def test_a_strategy_can_be_set(strategy):
    with tf.Graph().as_default():
        tf.distribute.experimental_set_strategy(strategy)
        assert tf.distribute.get_strategy() is strategy
        tf.distribute.experimental_set_strategy(None)
        assert not tf.distribute.has_strategy()


def test_devices_are_checked():
    with pytest.raises(ValueError, match="[Dd]uplicate"):
        tf.distribute.MirroredStrategy(["/cpu:0", "/device:CPU:0"])
    with pytest.raises(ValueError, match="empty"):
        tf.distribute.MirroredStrategy([])
    with pytest.raises(ValueError, match="cross_device_ops"):
        tf.distribute.MirroredStrategy(TWO, cross_device_ops="nccl")


# -- replicas ------------------------------------------------------------------------------------------------


def test_replicas_get_their_parts_and_give_theirs(session_of, strategy):
    def replica_fn(offset):
        context = tf.distribute.get_replica_context()
        own = tf.cast(context.replica_id_in_sync_group, tf.float32) + offset
        merged = context.merge_call(
            lambda s, v, k: s.reduce(SUM, v, axis=None) * k, args=(own,), kwargs={"k": 10.0}
        )
        return {"own": own, "both": (merged, "text")}

    with strategy.scope():
        out = strategy.experimental_run_v2(replica_fn, args=(tf.constant(5.0),))
        assert out["both"][1] == "text"
        own = strategy.experimental_local_results(out["own"])
        merged = strategy.experimental_local_results(out["both"][0])
    # What all replicas have got is one value.
    assert [list(v) for v in run(session_of, [own, merged])] == [[5.0, 6.0], [110.0]]


def test_all_reduce_and_its_gradient(session_of, strategy):
    def replica_fn():
        context = tf.distribute.get_replica_context()
        x = tf.cast(context.replica_id_in_sync_group, tf.float32) + 1.0  # 1, 2
        total, mean = context.all_reduce(SUM, [x]), context.all_reduce(MEAN, x)
        grad = tf.gradients(total[0] * x, x)[0]
        return total[0], mean, grad

    with strategy.scope():
        out = strategy.experimental_run_v2(replica_fn)
        fetches = [strategy.experimental_local_results(v) for v in out]
    total, mean, grad = run(session_of, fetches)
    assert list(total) == [3, 3]
    assert list(mean) == [1.5, 1.5]
    # d/dx of (x0 + x1) * x at each, with the other's share: total + x0 + x1.
    assert list(grad) == [6, 6]


def test_replicas_must_meet_equally_often(strategy):
    def replica_fn(n):
        for _ in range(n):
            tf.distribute.get_replica_context().merge_call(lambda s: None)

    numbers = iter([1, 2])
    with tf.Graph().as_default(), strategy.scope():
        different = strategy.experimental_run_v2(lambda: next(numbers))
        with pytest.raises(RuntimeError, match="different number of"):
            strategy.experimental_run_v2(replica_fn, args=(different,))


def test_an_error_in_a_replica_is_the_programs(strategy):
    def replica_fn():
        raise KeyError("mine")

    with tf.Graph().as_default(), strategy.scope(), pytest.raises(KeyError, match="mine"):
        strategy.experimental_run_v2(replica_fn)


def test_scopes_and_dependencies_reach_replicas(session_of, strategy):
    with strategy.scope(), tf.name_scope("outer"), tf.variable_scope("vars"):
        before = tf.no_op("before")
        with tf.control_dependencies([before]):

            def replica_fn():
                v = tf.get_variable("v", initializer=1.0)
                with tf.name_scope("inner"):
                    return tf.add(v, tf.constant(1.0), name="sum")

            sums = strategy.experimental_local_results(strategy.experimental_run_v2(replica_fn))
    names = ["outer/vars/inner/sum", "outer/vars/replica_1/inner/sum"]
    assert [s.op.name for s in sums] == names
    assert all(before in s.op.inputs[1].op.control_inputs for s in sums)
    assert [v.name for v in tf.global_variables()] == ["vars/v:0"]
    assert list(run(session_of, sums)) == [2.0, 2.0]


# -- variables -----------------------------------------------------------------------------------------------


def test_mirrored_variables(session_of, strategy):
    with strategy.scope():
        v = tf.get_variable("v", initializer=[1.0, 2.0], aggregation=tf.VariableAggregation.MEAN)
        assert v.name == "v:0" and v.shape == (2,) and v.dtype == tf.float32
        assert [c.name for c in strategy.experimental_local_results(v)] == ["v:0", "v/replica_1:0"]
        assert tf.trainable_variables() == tf.global_variables() == [v]

        def replica_fn():
            own = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
            with tf.control_dependencies([v.assign_add([own, 10 * own])]):
                return v.read_value() * 2

        doubled = strategy.experimental_local_results(strategy.experimental_run_v2(replica_fn))
        across = v.assign([7.0, 8.0])
    session = session_of()
    session.run(tf.global_variables_initializer())
    assert session.run(v).tolist() == [1, 2]
    assert [x.tolist() for x in session.run(doubled)] == [[3.0, 14.0]] * 2
    session.run(across)
    assert [x.tolist() for x in session.run(list(v.values))] == [[7.0, 8.0]] * 2


@pytest.mark.parametrize(
    ("aggregation", "expected"), [("SUM", 12.0), ("MEAN", 6.5), ("ONLY_FIRST_REPLICA", 6.0)]
)
def test_an_update_in_replicas_gives_the_value_after_it(
    session_of, strategy, aggregation, expected
):
    with strategy.scope():
        v = tf.get_variable(
            "v", initializer=1.0, aggregation=getattr(tf.VariableAggregation, aggregation)
        )

        def replica_fn():
            own = tf.distribute.get_replica_context().replica_id_in_sync_group
            return v.assign_add(tf.cast(own, tf.float32) + 5.0)

        found = strategy.experimental_local_results(strategy.experimental_run_v2(replica_fn))
    assert list(run(session_of, list(found))) == [expected] * 2


def test_losses_of_replicas_are_shares_of_that_of_the_batch(session_of, strategy):
    losses = np.float32([1, 2, 3, 6])
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensors(losses).repeat())

        def replica_fn(each):
            return (
                tf.nn.compute_average_loss(each),
                tf.nn.compute_average_loss(each, sample_weight=[1.0, 0.0], global_batch_size=4),
                tf.nn.scale_regularization_loss(tf.constant([1.0, 3.0])),
            )

        out = [
            strategy.reduce(SUM, x, axis=None)
            for x in strategy.experimental_run(replica_fn, iterator)
        ]
        with pytest.raises(RuntimeError, match="cross replica context"):
            tf.nn.compute_average_loss(losses)
    with pytest.raises(ValueError, match="at least rank 1"):
        tf.nn.compute_average_loss(1.0)
    assert tf.Session().run(tf.nn.compute_average_loss(losses)) == 3
    session = session_of()
    session.run(iterator.initialize())
    assert session.run(out) == [3.0, 1.0, 4.0]


def test_a_replica_needs_to_know_how_updates_are_combined(strategy):
    with tf.Graph().as_default(), strategy.scope():
        v = tf.get_variable("v", initializer=1.0)
        with pytest.raises(ValueError, match="You must specify an aggregation method"):
            strategy.experimental_run_v2(lambda: v.assign(2.0))


def test_what_is_synchronised_on_read(session_of, strategy):
    with strategy.scope():
        v, m = (
            tf.get_variable(
                name,
                initializer=1.0,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=aggregation,
            )
            for name, aggregation in (
                ("v", tf.VariableAggregation.SUM),
                ("m", tf.VariableAggregation.MEAN),
            )
        )
        assert not v.trainable

        def replica_fn():
            own = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
            return tf.group(v.assign_add(own), m.assign_add(own))

        moved = strategy.group(strategy.experimental_run_v2(replica_fn))
        read = [strategy.extended.read_var(v), strategy.extended.read_var(m)]
        put = v.assign(10.0)
        with pytest.raises(ValueError, match="does not support `assign_add` in cross-replica"):
            v.assign_add(1.0)
        with pytest.raises(ValueError, match="ON_READ only for non-trainable"):
            tf.get_variable(
                "t", initializer=1.0, trainable=True,
                synchronization=tf.VariableSynchronization.ON_READ,
            )  # fmt: skip
        with pytest.raises(ValueError, match="`NONE` variable synchronization"):
            tf.get_variable("n", initializer=1.0, synchronization=tf.VariableSynchronization.NONE)
    session = session_of()
    session.run(tf.global_variables_initializer())
    session.run(moved)
    assert session.run(read) == [3.0, 1.5]
    session.run(put)
    assert session.run(list(v.values)) == [5.0, 5.0]
    assert session.run(read)[0] == 10.0


def test_batch_normalization_keeps_the_mean_over_replicas(session_of, strategy):
    x = np.arange(8, dtype="f").reshape(4, 2)
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensors(x).repeat())

        def replica_fn(x):
            tf.layers.batch_normalization(x, training=True, momentum=0.5, name="bn")
            return tf.group(*tf.get_collection(tf.GraphKeys.UPDATE_OPS))

        update = strategy.group(strategy.experimental_run(replica_fn, iterator))
        mean = [v for v in tf.global_variables() if "moving_mean" in v.name][0]
        read = strategy.extended.read_var(mean)
    session = session_of()
    session.run([tf.global_variables_initializer(), iterator.initialize()])
    session.run(update)
    assert session.run(list(mean.values))[0].tolist() == [0.5, 1.0]
    assert session.run(list(mean.values))[1].tolist() == [2.5, 3.0]
    assert session.run(read).tolist() == [1.5, 2.0]


def test_sparse_gradients_are_added_up(session_of, strategy):
    with strategy.scope():
        table = tf.get_variable("table", initializer=np.zeros([4, 1], "f"))
        optimizer = tf.train.GradientDescentOptimizer(1.0)

        def replica_fn():
            own = tf.distribute.get_replica_context().replica_id_in_sync_group
            rows = tf.nn.embedding_lookup(table, [0, own + 1])
            return optimizer.minimize(tf.reduce_sum(rows))

        train = strategy.group(strategy.experimental_run_v2(replica_fn))
    session = session_of()
    session.run(tf.global_variables_initializer())
    session.run(train)
    for component in table.values:
        assert session.run(component)[:, 0].tolist() == [-2, -1, -1, 0]


def test_checkpoints_hold_one_of_each(session_of, strategy, tmp_path):
    def build():
        with strategy.scope():
            v = tf.get_variable("v", initializer=[1.0, 2.0])
            s = tf.get_variable(
                "s",
                initializer=3.0,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )
            return v, s, tf.train.Saver()

    v, s, saver = build()
    with strategy.scope():
        put = strategy.extended.update(v, lambda x: x.assign([5.0, 6.0]))
    session = session_of()
    session.run(tf.global_variables_initializer())
    session.run(put)
    path = saver.save(session, str(tmp_path / "model"))
    reader = tf.train.NewCheckpointReader(path)
    assert sorted(reader.get_variable_to_shape_map()) == ["s", "v"]
    assert reader.get_tensor("v").tolist() == [5, 6]
    assert reader.get_tensor("s") == 6.0
    with tf.Graph().as_default():
        v, s, saver = build()
        session = session_of()
        saver.restore(session, path)
        assert [x.tolist() for x in session.run(list(v.values))] == [[5.0, 6.0]] * 2
        assert session.run(list(s.values)) == [3.0, 3.0]
        session.close()
    with tf.Graph().as_default():  # a program without a strategy takes it as its own
        v = tf.get_variable("v", [2], use_resource=True)
        session = session_of()
        tf.train.Saver([v]).restore(session, path)
        assert session.run(v).tolist() == [5, 6]
        session.close()


def test_update_non_slot_and_reductions(session_of, strategy):
    extended = strategy.extended
    with strategy.scope():
        per_replica = strategy.experimental_run_v2(
            lambda: (
                tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
                + [1.0, 2.0]
            )
        )
        v = tf.get_variable("v", initializer=[0.0, 0.0])
        found = {
            "sum": strategy.reduce("sum", per_replica, axis=None),
            "mean": strategy.reduce(MEAN, per_replica, axis=None),
            "sum of all": strategy.reduce(SUM, per_replica, axis=0),
            "mean of all": strategy.reduce(MEAN, per_replica, axis=0),
            "to": extended.reduce_to(SUM, per_replica, v).values,
            "batch": [r.values for r in extended.batch_reduce_to(MEAN, [(per_replica, v)] * 2)],
            "broadcast": extended.broadcast_to(tf.constant(4.0), v).values,
        }
        assert extended.broadcast_to(4, v) == 4
        assert extended.variable_created_in_scope(v)
        assert extended.value_container(v.values[1]) is v
        with pytest.raises(TypeError, match="mirrored"):
            extended.update(v, lambda v, x: v.assign(x), args=(per_replica,))
    got = run(session_of, found)
    assert got["sum"].tolist() == [3, 5] and got["mean"].tolist() == [1.5, 2.5]
    assert got["sum of all"] == 8 and got["mean of all"] == 2
    assert [x.tolist() for x in got["to"]] == [[3, 5]] * 2
    assert [[x.tolist() for x in r] for r in got["batch"]] == [[[1.5, 2.5]] * 2] * 2
    assert list(got["broadcast"]) == [4, 4]


# -- input ---------------------------------------------------------------------------------------------------


def drained(session, iterator, strategy):
    """What the replicas get until the end."""
    parts = strategy.experimental_local_results(iterator.get_next())
    session.run(iterator.initialize())
    out = []
    while True:
        try:
            out.append([p.tolist() for p in session.run(parts)])
        except tf.errors.OutOfRangeError:
            return out


@pytest.mark.parametrize(
    ("rows", "batch", "expected"),
    [
        (8, 4, [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]),
        (7, 4, [[[0, 1], [2, 3]], [[4, 5], [6]]]),
        (5, 4, [[[0, 1], [2, 3]], [[4], []]]),
        (6, 3, [[[0, 1], [2]], [[3, 4], [5]]]),
    ],
)
def test_batches_are_shared_out(session_of, strategy, rows, batch, expected):
    dataset = tf.data.Dataset.range(rows).batch(batch)
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(dataset)
    assert drained(session_of(), iterator, strategy) == expected


def test_shapes_are_known_where_batches_are(strategy):
    with tf.Graph().as_default(), strategy.scope():
        dataset = tf.data.Dataset.from_tensor_slices(np.zeros([8, 3], "f")).batch(4, True)
        parts = strategy.make_dataset_iterator(dataset).get_next().values
        assert [p.shape.as_list() for p in parts] == [[2, 3]] * 2


def test_an_input_function_gives_each_replica_its_own(session_of, strategy):
    def input_fn(ctx):
        assert (ctx.num_input_pipelines, ctx.input_pipeline_id) == (1, 0)
        assert ctx.get_per_replica_batch_size(8) == 4
        with pytest.raises(ValueError, match="not divisible"):
            ctx.get_per_replica_batch_size(7)
        return tf.data.Dataset.range(5)

    iterator = strategy.make_input_fn_iterator(input_fn)
    assert drained(session_of(), iterator, strategy) == [[0, 1], [2, 3]]


def test_datasets_of_arrays(session_of, strategy):
    dataset = strategy.experimental_make_numpy_dataset((np.arange(4), np.arange(4) * 10))
    distributed = strategy.experimental_distribute_dataset(dataset.batch(4))
    iterator = tf.data.make_initializable_iterator(distributed)
    a, b = iterator.get_next()
    session = session_of()
    session.run(iterator.initializer)
    assert [x.tolist() for x in session.run([*a.values, *b.values])] == [
        [0, 1], [2, 3], [0, 10], [20, 30]
    ]  # fmt: skip


def test_several_steps_in_one_loop(session_of, strategy):
    with strategy.scope():
        v = tf.get_variable("v", initializer=0.0, aggregation=tf.VariableAggregation.SUM)
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(100).batch(2))

        def step(ctx, inputs):
            def replica_fn(x):
                return v.assign_add(tf.cast(x[0], tf.float32), read_value=False)

            done = strategy.group(strategy.extended.call_for_each_replica(replica_fn, (inputs,)))
            with tf.control_dependencies([done]):
                ctx.set_last_step_output("v", v.read_value())
            return done

        ctx = strategy.extended.experimental_run_steps_on_iterator(
            step, iterator, iterations=3, initial_loop_values={"v": tf.constant(0.0)}
        )
    session = session_of()
    session.run([tf.global_variables_initializer(), iterator.initialize()])
    session.run(ctx.run_op)
    assert session.run(v) == 0 + 1 + 2 + 3 + 4 + 5
