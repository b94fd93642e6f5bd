"""What lives on a task: queues, tables, staging areas, iterators, accumulators, Python functions."""

import numpy as np

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def queues(tf, sess):
    with tf.device(PS):
        queue = tf.FIFOQueue(
            10, [tf.float32, tf.string], shapes=[[2], []], shared_name="queue_of_both"
        )
        shuffled = tf.RandomShuffleQueue(10, 0, tf.int32, shapes=[[]], shared_name="shuffled")
    with tf.device(WORKER):
        x = tf.placeholder(tf.float32, [2])
        put = queue.enqueue([x * 2.0, "word"])
        numbers, words = queue.dequeue_many(2)
        total = tf.reduce_sum(numbers) + 0.0
        fill = shuffled.enqueue_many([tf.range(5)])
        drawn = shuffled.dequeue_many(5)
    for _ in range(2):
        sess.run(put, {x: [1.0, 2.0]})
        sess.run(put, {x: [3.0, 4.0]})
        assert sess.run(queue.size()) == 2
        a, b = sess.run([total, words])
        assert a == 20.0 and b.tolist() == [b"word", b"word"]
    sess.run(fill)
    assert sorted(sess.run(drawn)) == [0, 1, 2, 3, 4]
    sess.run([queue.close(), shuffled.close()])
    try:
        sess.run(numbers)
    except tf.errors.OutOfRangeError as e:
        assert "closed and has insufficient elements" in e.message, e
    else:
        raise AssertionError("no error")


def tables(tf, sess):
    with tf.device(PS):
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64)), -1
        )
    with tf.device(WORKER):
        keys = tf.placeholder(tf.string, [None])
        found = table.lookup(keys) * 10
    sess.run(tf.tables_initializer())
    assert sess.run(found, {keys: ["b", "z", "a"]}).tolist() == [20, -10, 10]


def staging(tf, sess):
    if not hasattr(tf, "contrib") and not hasattr(tf.raw_ops, "Stage"):
        return
    with tf.device(PS):
        put = tf.raw_ops.Stage(values=[tf.constant([1.0, 2.0])], shared_name="staged")
        size = tf.raw_ops.StageSize(dtypes=[tf.float32], shared_name="staged")
        got = tf.raw_ops.Unstage(dtypes=[tf.float32], shared_name="staged")
    with tf.device(WORKER):
        y = got[0] * 2.0
    sess.run(put)
    assert sess.run(size) == 1
    assert sess.run(y).tolist() == [2.0, 4.0]


def batches(tf, sess):
    with tf.device(PS):
        number = tf.train.range_input_producer(6, shuffle=False, num_epochs=1).dequeue()
        batch = tf.train.batch([number, tf.as_string(number)], 3)
    with tf.device(WORKER):
        doubled = batch[0] * 2
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coordinator)
    seen = [sess.run([doubled, batch[1]]) for _ in range(2)]
    assert [s[0].tolist() for s in seen] == [[0, 2, 4], [6, 8, 10]]
    assert seen[1][1].tolist() == [b"3", b"4", b"5"]
    try:
        sess.run(doubled)
    except tf.errors.OutOfRangeError:
        pass
    else:
        raise AssertionError("no end")
    coordinator.request_stop()
    coordinator.join(threads, stop_grace_period_secs=10)


def iterators(tf, sess):
    with tf.device(PS):
        n = tf.placeholder(tf.int64, [])
        data = tf.data.Dataset.range(n).map(lambda x: (x * x, tf.as_string(x))).batch(2)
        iterator = tf.data.make_initializable_iterator(data)
        following = iterator.get_next()
        once = tf.data.make_one_shot_iterator(
            tf.data.Dataset.from_tensor_slices([5.0, 7.0])
        ).get_next()
    with tf.device(WORKER):
        y = following[0] + 1
        z = once * 2.0
    for _ in range(2):
        sess.run(iterator.initializer, {n: 3})
        assert sess.run([y, following[1]])[0].tolist() == [1, 2]
        assert sess.run([y, following[1]])[1].tolist() == [b"2"]
        try:
            sess.run(y)
        except tf.errors.OutOfRangeError:
            pass
        else:
            raise AssertionError("no end")
    assert [sess.run(z) for _ in range(2)] == [10.0, 14.0]


def accumulators(tf, sess):
    with tf.device(PS):
        kept = tf.ConditionalAccumulator(tf.float32, shape=[2], shared_name="kept")
    with tf.device(WORKER):
        give = kept.apply_grad(tf.constant([1.0, 3.0]), local_step=0)
        taken = kept.take_grad(2) * 10.0
    sess.run([give])
    sess.run([give])
    assert sess.run(taken).tolist() == [10.0, 30.0]


def python_functions(tf, sess):
    """A Python function runs in the process that has it: another one says that it does not."""
    with tf.device(PS):
        y = tf.py_func(lambda x: x + 1.0, [tf.constant(1.0)], tf.float32, name="called")
    try:
        sess.run(y)
    except tf.errors.OpError as e:
        assert "pyfunc_" in e.message or "called" in e.message, e
    else:
        raise AssertionError("who called it?")


def handles_stay(tf, sess):
    """The handle of a resource names it where it is: who reads through it does so there."""
    with tf.device(PS):
        v = tf.get_variable("by_handle", initializer=[1.0, 2.0], use_resource=True)
    with tf.device(WORKER):
        y = tf.gather(v, [1, 0]) * 2.0
        bumped = v.assign_add([1.0, 1.0])
        with tf.control_dependencies([bumped if hasattr(bumped, "op") else bumped]):
            after = v.read_value() + 0.0
    sess.run(v.initializer)
    assert sess.run(y).tolist() == [4.0, 2.0]
    assert sess.run(after).tolist() == [2.0, 3.0]
    assert sess.run(tf.is_variable_initialized(v) if hasattr(tf, "contrib") else v.is_initialized())
    assert np.allclose(sess.run(v), [2.0, 3.0])
