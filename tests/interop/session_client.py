"""A client's program at the server whose target is given: prints what it saw, as one line of JSON."""

import json
import sys

import numpy as np

if sys.argv[1] == "weft":
    import weft as tf
else:
    import tensorflow

    tf = tensorflow.compat.v1
    tf.disable_eager_execution()


def seen(sess):
    rng = np.random.RandomState(0)
    rows = rng.randn(64, 8).astype("f")
    wanted = rows.dot(rng.randn(8, 1)).astype("f")
    x = tf.placeholder(tf.float32, [None, 8])
    y = tf.placeholder(tf.float32, [None, 1])
    hidden = tf.nn.relu(tf.matmul(x, tf.get_variable("a", [8, 16])))
    given = tf.matmul(hidden, tf.get_variable("b", [16, 1], use_resource=True))
    loss = tf.reduce_mean(tf.square(given - y))
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=step)
    power = tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 2), [0, 1.0])[1]
    branch = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.constant("pos"), lambda: tf.constant("neg"))
    sess.run(tf.global_variables_initializer())
    feed = {x: rows, y: wanted}
    first = sess.run(loss, feed)
    for _ in range(100):
        sess.run(train, feed)
    last = sess.run(loss, feed)
    yield "trained", bool(last < first / 4), int(sess.run(step))
    yield "flow", float(sess.run(power)), sess.run(branch, {x: -np.abs(rows)}).decode()

    handle = sess.partial_run_setup([given, loss], [x, y])
    part = sess.partial_run(handle, given, {x: rows})
    yield "parts", part.shape, bool(sess.partial_run(handle, loss, {y: part}) == 0)
    yield "callable", bool(sess.make_callable(loss, [x, y])(rows, wanted) == sess.run(loss, feed))

    checked = tf.check_numerics(tf.log(x), "here", name="checked")
    try:
        sess.run(checked, {x: -np.ones((1, 8))})
    except tf.errors.InvalidArgumentError as e:
        yield "error", e.error_code, e.op.name, "here : Tensor had NaN" in e.message
    unset = tf.get_variable("unset", [2], use_resource=False)
    try:
        sess.run(unset)
    except tf.errors.FailedPreconditionError as e:
        yield "unset", "Attempting to use uninitialized value unset" in e.message
    item = tf.FIFOQueue(3, tf.int32).dequeue()
    try:
        sess.run(item, options=tf.RunOptions(timeout_in_ms=200))
    except tf.errors.DeadlineExceededError:
        yield ("late",)

    large = tf.placeholder(tf.float32, [1 << 20])
    kept = tf.get_variable("kept", [1 << 20])
    values = rng.randn(1 << 20).astype("f")
    sess.run(kept.assign(large).op, {large: values})
    yield "large", bool((sess.run(kept) == values).all())
    names = [d.name for d in sess.list_devices()]
    yield "devices", any(n.endswith("/replica:0/task:0/device:CPU:0") for n in names)


with tf.Session(sys.argv[2]) as sess:
    lines = list(seen(sess))
tf.Session.reset(sys.argv[2])
with tf.Session(sys.argv[2]) as sess:
    try:
        sess.run(tf.train.get_global_step())
    except tf.errors.FailedPreconditionError:
        lines.append(("reset",))
print(json.dumps(lines))
