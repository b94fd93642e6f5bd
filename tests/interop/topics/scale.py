"""Training over tasks: towers, layers on different tasks, partitioned variables, embeddings."""

import numpy as np

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def _data():
    rng = np.random.RandomState(0)
    rows = rng.randn(64, 8).astype("f")
    return rows, np.tanh(rows.dot(np.linspace(-1, 1, 8)[:, None])).astype("f")


def towers(tf, sess):
    """In-graph replication: one client, a tower on each task, gradients averaged."""
    rows, wanted = _data()
    x, y = tf.placeholder(tf.float32, [None, 8]), tf.placeholder(tf.float32, [None, 1])
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    with tf.device(PS):
        w = tf.get_variable(
            "tower_w", shape=[8, 1], initializer=tf.zeros_initializer(), use_resource=False
        )
        b = tf.get_variable(
            "tower_b", shape=[1], initializer=tf.zeros_initializer(), use_resource=True
        )
    halves, losses = zip(tf.split(x, 2), tf.split(y, 2)), []
    gradients = []
    for (part, label), device in zip(halves, (PS, WORKER)):
        with tf.device(device):
            loss = tf.reduce_mean(tf.square(tf.matmul(part, w) + b - label))
            losses.append(loss)
            gradients.append(optimizer.compute_gradients(loss, [w, b]))
    with tf.device(PS):
        mean = [(tf.add_n([g for g, _ in pairs]) / 2.0, pairs[0][1]) for pairs in zip(*gradients)]
        train = optimizer.apply_gradients(mean)
    sess.run(tf.global_variables_initializer())
    feed = {x: rows, y: wanted}
    before = sum(sess.run(losses, feed))
    for _ in range(30):
        sess.run(train, feed)
    assert sum(sess.run(losses, feed)) < before / 4
    # What one task alone comes to.
    v, momentum = np.zeros((9, 1)), np.zeros((9, 1))
    full = np.concatenate([rows, np.ones((64, 1), "f")], 1)
    for _ in range(30):
        momentum = 0.9 * momentum + full.T.dot(full.dot(v) - wanted) * 2 / 64
        v -= 0.1 * momentum
    np.testing.assert_allclose(np.concatenate([sess.run(w), sess.run(b)[:, None]]), v, atol=1e-4)


def layers_on_different_tasks(tf, sess):
    rows, wanted = _data()
    x, y = tf.placeholder(tf.float32, [None, 8]), tf.placeholder(tf.float32, [None, 1])
    rng = np.random.RandomState(1)
    h = x
    for i, device in enumerate((PS, WORKER, PS)):
        with tf.device(device):
            sizes = [[8, 16], [16, 16], [16, 1]][i]
            start = rng.randn(*sizes).astype("f") / 3
            w = tf.get_variable("layer_%d" % i, initializer=start, use_resource=bool(i % 2))
            h = tf.matmul(h, w)
            h = tf.nn.relu(h) if i < 2 else h
    with tf.device(WORKER):
        loss = tf.reduce_mean(tf.square(h - y))
    train = tf.train.AdamOptimizer(0.01).minimize(loss, colocate_gradients_with_ops=True)
    sess.run(tf.global_variables_initializer())
    feed = {x: rows, y: wanted}
    before = sess.run(loss, feed)
    for _ in range(60):
        sess.run(train, feed)
    assert sess.run(loss, feed) < before / 4


def partitioned_variables(tf, sess):
    places = iter((PS, WORKER, PS, WORKER))

    def place(op):
        return next(places) if op.type in ("VariableV2", "VarHandleOp") else WORKER

    with tf.device(place):
        w = tf.get_variable(
            "pieces",
            shape=[8, 2],
            initializer=tf.ones_initializer(),
            partitioner=tf.fixed_size_partitioner(4),
            use_resource=False,
        )
    parts = list(w)
    assert {p.device[:7] for p in parts} == {"/job:ps", "/job:wo"}, [p.device for p in parts]
    with tf.device(WORKER):
        x = tf.constant(np.arange(16, dtype="f").reshape(2, 8))
        loss = tf.reduce_sum(tf.matmul(x, tf.convert_to_tensor(w)))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    sess.run(tf.global_variables_initializer())
    sess.run(train)
    whole = np.concatenate(sess.run(parts))
    np.testing.assert_allclose(
        whole, 1 - 0.1 * np.arange(16).reshape(2, 8).sum(0)[:, None].repeat(2, 1), rtol=1e-5
    )


def embeddings(tf, sess):
    for name, resource, optimizer in (
        ("a", False, tf.train.GradientDescentOptimizer(1.0)),
        ("b", True, tf.train.AdagradOptimizer(1.0)),
        ("c", False, tf.train.AdamOptimizer(0.1)),
        ("d", True, tf.train.MomentumOptimizer(1.0, 0.9)),
    ):
        with tf.device(PS):
            table = tf.get_variable(
                "table_" + name,
                shape=[100, 4],
                initializer=tf.ones_initializer(),
                use_resource=resource,
            )
        with tf.device(WORKER):
            ids = tf.placeholder(tf.int32, [None])
            rows = tf.nn.embedding_lookup(table, ids)
            loss = tf.reduce_sum(tf.square(rows))
            train = optimizer.minimize(loss)
        sess.run(tf.global_variables_initializer())
        sess.run(train, {ids: [3, 50, 3]})
        changed = np.nonzero((sess.run(table) != 1).any(1))[0]
        assert changed.tolist() == [3, 50], (name, changed)


def large_embeddings(tf, sess):
    """10 MB on the parameter server, of which steps touch a few rows; how much crosses is counted elsewhere."""
    rows = 40000
    with tf.device(PS):
        tables = [
            tf.get_variable(
                "large_table_%s" % kind,
                shape=[rows, 32],
                initializer=tf.ones_initializer(),
                use_resource=kind == "r",
            )
            for kind in "nr"
        ]
    with tf.device(WORKER):
        ids = tf.placeholder(tf.int32, [16])
        loss = tf.add_n([tf.reduce_sum(tf.square(tf.nn.embedding_lookup(t, ids))) for t in tables])
        train = tf.train.AdagradOptimizer(0.5).minimize(loss)
        probed = [tf.nn.embedding_lookup(t, [7, 8, rows - 1])[:, 0] for t in tables]
    sess.run(tf.global_variables_initializer())
    for _ in range(20):
        sess.run(train, {ids: np.arange(16) * 7})
    for values in sess.run(probed):
        assert values[0] < 0.9 and values[1] == values[2] == 1.0, values


def a_saved_model_is_restored(tf, sess):
    import shutil
    import tempfile

    folder = tempfile.mkdtemp()
    try:
        with tf.device(PS):
            v = tf.get_variable("saved_v", initializer=[1.0, 2.0], use_resource=False)
        with tf.device(WORKER):
            r = tf.get_variable("saved_r", initializer=3.0, use_resource=True)
        saver = tf.train.Saver([v, r], sharded=True)
        sess.run([v.initializer, r.initializer])
        path = saver.save(sess, folder + "/model", write_meta_graph=False)
        sess.run(
            [
                v.assign([9.0, 9.0]).op,
                r.assign(9.0) if not hasattr(r.assign(9.0), "op") else r.assign(9.0).op,
            ]
        )
        saver.restore(sess, path)
        assert sess.run(v).tolist() == [1.0, 2.0] and sess.run(r) == 3.0
    finally:
        shutil.rmtree(folder)
