"""Sessions, errors, feeds and fetches, parts, callables, traces."""

import threading

import numpy as np

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def sessions_share_state(tf, sess):
    with tf.device(PS):
        v = tf.get_variable("shared_v", initializer=1.0, use_resource=False)
        r = tf.get_variable("shared_r", initializer=1.0, use_resource=True)
    add = [v.assign_add(1.0), r.assign_add(1.0)]
    sess.run([v.initializer, r.initializer])
    with tf.Session(sess.sess_str) as other:
        other.run(add)
    assert sess.run([v, r]) == [2.0, 2.0]
    alone = tf.ConfigProto(isolate_session_state=True)
    with tf.Session(sess.sess_str, config=alone) as other:
        for x in (v, r):
            try:
                other.run(x)
            except tf.errors.FailedPreconditionError as e:
                assert e.error_code == 9, e
            else:
                raise AssertionError("the state of an isolated session is its own")
        other.run([v.initializer, r.initializer])
        other.run(add)
    assert sess.run([v, r]) == [2.0, 2.0]


def graphs_grow(tf, sess):
    with tf.device(PS):
        total = tf.constant(1.0)
    for i in range(5):
        with tf.device(PS if i % 2 else WORKER):
            total = total + float(i)
        assert sess.run(total) == 1 + sum(range(i + 1))


def options_of_sessions(tf, sess):
    config = tf.ConfigProto(
        allow_soft_placement=True,
        log_device_placement=False,
        inter_op_parallelism_threads=2,
        intra_op_parallelism_threads=1,
        use_per_session_threads=False,
        placement_period=3,
        operation_timeout_in_ms=20000,
        device_count={"CPU": 1},
        device_filters=[PS, WORKER],
    )
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.optimizer_options.global_jit_level = 0
    config.graph_options.infer_shapes = True
    config.graph_options.place_pruned_graph = True
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.rpc_options.use_rpc_for_inprocess_master = True
    config.experimental.executor_type = ""
    config.experimental.collective_group_leader = ""
    config.gpu_options.allow_growth = True
    with tf.device(PS):
        x = tf.constant(2.0) * 3.0
    with tf.device("/device:GPU:0"):  # which is not there: soft placement
        y = x + 1.0
    with tf.Session(sess.sess_str, config=config) as other:
        assert other.run(y) == 7.0
        names = {d.name for d in other.list_devices()}
    for task in (PS, WORKER):
        assert task.replace("/task", "/replica:0/task") + "/device:CPU:0" in names, names


def errors_with_their_codes(tf, sess):
    with tf.device(PS):
        x = tf.placeholder(tf.float32, [None], name="x")
        unset = tf.get_variable("never_set", [2], use_resource=False)
        queue = tf.FIFOQueue(3, tf.float32, shared_name="of_errors")
        reader = tf.read_file("/there/is/no/such/file")
        cases = [
            (
                tf.check_numerics(tf.log(x), "here", name="checked"),
                3,
                "checked",
                "here : Tensor had NaN",
            ),
            (
                tf.gather(tf.constant([1, 2]), tf.cast(x, tf.int32), name="picked"),
                3,
                "picked",
                None,
            ),
            (tf.reshape(x, [3], name="reshaped"), 3, "reshaped", None),
            (unset + 1.0, 9, None, "uninitialized value never_set"),
            (reader, 5, None, "no/such/file"),
            (tf.Assert(tf.reduce_all(x > 0), [x], name="claimed"), 3, None, "assertion failed"),
            (tf.decode_raw(tf.constant("abc"), tf.float32, name="raw"), 3, "raw", None),
        ]
        item = queue.dequeue()
        close = queue.close()
    for local in (False, True):  # from the task itself, and through another one
        for tensor, code, name, text in cases:
            if local and hasattr(tensor, "dtype"):
                with tf.device(WORKER):
                    tensor = tf.identity(tensor)
            try:
                sess.run(tensor, {x: [-1.0, 5.0]})
            except tf.errors.OpError as e:
                assert e.error_code == code, (tensor, e)
                assert name is None or (e.op is not None and e.op.name == name), (name, e.op, e)
                assert text is None or text in e.message, e
            else:
                raise AssertionError("%s gave no error" % tensor.name)
    try:
        sess.run(item, options=tf.RunOptions(timeout_in_ms=300))
    except tf.errors.DeadlineExceededError as e:
        assert e.error_code == 4
    sess.run(close)
    try:
        sess.run(item)
    except tf.errors.OutOfRangeError as e:
        assert e.error_code == 11
    assert sess.run(tf.reshape(x, [2]), {x: [1.0, 2.0]}).tolist() == [1.0, 2.0]


def closing_cancels(tf, sess):
    with tf.device(PS):
        queue = tf.FIFOQueue(3, tf.float32, shared_name="of_closing")
        item = queue.dequeue()
    seen = []
    other = tf.Session(sess.sess_str)
    other.run(queue.size())

    def take():
        try:
            other.run(item)
        except tf.errors.CancelledError:
            seen.append("cancelled")
        except BaseException as e:
            seen.append(repr(e))

    thread = threading.Thread(target=take)
    thread.start()
    thread.join(0.5)
    other.close()
    thread.join(20)
    assert seen == ["cancelled"], seen
    assert sess.run(queue.size()) == 0


def strings(tf, sess):
    given = np.array([[b"a\0b", b""], ["\u00e9\u4e2d".encode("utf-8"), b"x" * 3000]], object)
    x = tf.placeholder(tf.string, [2, 2])
    with tf.device(PS):
        v = tf.get_variable(
            "words",
            shape=[2, 2],
            dtype=tf.string,
            initializer=tf.constant_initializer([["", ""], ["", ""]], tf.string),
            use_resource=False,
        )
        set_ = v.assign(x)
    with tf.device(WORKER):
        joined = tf.string_join([v, tf.constant("!")])
        length = tf.strings.length(v)
    sess.run(v.initializer)
    sess.run(set_.op, {x: given})
    a, b, c = sess.run([joined, length, v])
    assert (a == given + b"!").all() and (c == given).all() and b.tolist() == [[3, 0], [5, 3000]]


def types(tf, sess):
    values = {
        tf.bool: [True, False],
        tf.int8: [-1, 2],
        tf.uint8: [1, 255],
        tf.int16: [-1, 300],
        tf.uint16: [1, 65535],
        tf.int32: [-1, 1 << 30],
        tf.int64: [-1, 1 << 40],
        tf.float16: [0.5, -2],
        tf.bfloat16: [0.5, -2],
        tf.float32: [1.5, -2],
        tf.float64: [1e300, -2],
        tf.complex64: [1 + 2j, 0],
        tf.complex128: [1 + 2j, 0],
    }
    feeds, fetches = {}, []
    for dtype, value in values.items():
        x = tf.placeholder(dtype, [2])
        with tf.device(PS):
            y = tf.stack([x, x])
        with tf.device(WORKER):
            fetches.append((tf.reverse(y, [0]), tf.identity(y[:0])))
        feeds[x] = np.array(value, dtype.as_numpy_dtype)
    for x, (y, empty) in zip(feeds, sess.run(fetches, feeds)):
        assert y.dtype == feeds[x].dtype and (y == feeds[x]).all(), (x, y)
        assert empty.shape == (0, 2) and empty.dtype == y.dtype


def partial_runs(tf, sess):
    with tf.device(PS):
        a = tf.placeholder(tf.float32, [])
        v = tf.get_variable("of_parts", initializer=2.0, use_resource=False)
        scaled = a * v
    with tf.device(WORKER):
        b = tf.placeholder(tf.float32, [])
        first = scaled + 1.0
        second = first * b
    with tf.device(PS):
        c = tf.placeholder(tf.float32, [])
        third = tf.stack([second + c, tf.log(c, name="logarithm")])
        checked = tf.check_numerics(third, "bad", name="checked_part")
    sess.run(v.initializer)
    for _ in range(3):
        handle = sess.partial_run_setup([first, second, third], [a, b, c])
        assert sess.partial_run(handle, first, {a: 3.0}) == 7.0
        for fetch, feed in ((second, {}), (first, {b: 1.0}), (second, {a: 1.0})):
            try:
                sess.partial_run(handle, fetch, feed)
            except tf.errors.InvalidArgumentError as e:
                assert e.error_code == 3
            else:
                raise AssertionError("allowed: %s %s" % (fetch, feed))
        assert sess.partial_run(handle, second, {b: 2.0}) == 14.0
        assert sess.partial_run(handle, third, {c: 1.0}).tolist() == [15.0, 0.0]
        try:
            sess.partial_run(handle, third)
        except tf.errors.InvalidArgumentError:
            pass
    handle = sess.partial_run_setup([first, checked], [a, b, c])
    assert sess.partial_run(handle, first, {a: 1.0}) == 3.0
    try:
        sess.partial_run(handle, checked, {b: 1.0, c: -1.0})
    except tf.errors.InvalidArgumentError as e:
        assert "bad" in e.message, e
    else:
        raise AssertionError("no error")
    assert sess.run(second, {a: 1.0, b: 3.0}) == 9.0


def callables(tf, sess):
    x = tf.placeholder(tf.float32, [None])
    with tf.device(PS):
        y = x * 2.0
    with tf.device(WORKER):
        z = tf.reduce_sum(y)
    both = sess.make_callable([y, z], [x], accept_options=True)
    meta = tf.RunMetadata()
    given = both([1.0, 2.0], options=tf.RunOptions(trace_level=3), run_metadata=meta)
    assert given[0].tolist() == [2.0, 4.0] and given[1] == 6.0
    assert meta.step_stats.dev_stats
    assert sess.make_callable(z, [x])([1.0]) == 2.0
    assert sess.make_callable(z.op) is not None
    for _ in range(3):
        assert both([1.0])[1] == 2.0


def prepared_callables(tf, sess):
    """What a CallableOptions message names is prepared at the master, and tensors may be connected."""
    if not hasattr(sess, "_make_callable_from_options"):
        return
    with tf.device(PS):
        x = tf.placeholder(tf.float32, [2], name="taken")
        other = tf.placeholder(tf.float32, [2], name="given")
    with tf.device(WORKER):
        y = tf.identity(x * 2.0, name="doubled")
        tf.identity(other + 100.0, name="source")
        tf.identity(tf.constant(b"w"), name="word")
    pair = np.array([1.0, 2.0], "f")
    options = _callable_options(tf)
    options.feed.append("taken:0")
    options.fetch.extend(["doubled:0", "source:0"])
    options.feed.append("given:0")
    call = sess._make_callable_from_options(options)
    for _ in range(3):
        given = call(pair, pair)
        assert [g.tolist() for g in given] == [[2.0, 4.0], [101.0, 102.0]], given
    options = _callable_options(tf)
    options.feed.append("given:0")
    options.fetch.append("doubled:0")
    connection = options.tensor_connection.add()
    connection.from_tensor, connection.to_tensor = "source:0", "taken:0"
    call = sess._make_callable_from_options(options)
    assert call(pair)[0].tolist() == [202.0, 204.0]
    assert sess.run(y, {x: [1.0, 1.0]}).tolist() == [2.0, 2.0]
    connection.from_tensor = "word:0"
    try:
        sess._make_callable_from_options(options)(pair)
    except tf.errors.InvalidArgumentError:
        pass
    else:
        raise AssertionError("connected a word with a number")


def _callable_options(tf):
    if hasattr(tf, "CallableOptions"):
        return tf.CallableOptions()
    if tf.__name__ == "weft":
        from weft import proto

        return proto.CallableOptions()
    from tensorflow.core.protobuf import config_pb2

    return config_pb2.CallableOptions()


def traces(tf, sess):
    with tf.device(PS):
        x = tf.random_uniform([8, 8], name="there")
    with tf.device(WORKER):
        y = tf.matmul(x, x, name="here")
    meta = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    sess.run(y, options=options, run_metadata=meta)
    sess.run(y, options=options, run_metadata=meta)
    seen = {d.device: {n.node_name for n in d.node_stats} for d in meta.step_stats.dev_stats}
    there = [
        n for d, names in seen.items() if d.startswith("/job:ps/replica:0/task:0") for n in names
    ]
    here = [
        n
        for d, names in seen.items()
        if d.startswith("/job:worker/replica:0/task:0")
        for n in names
    ]
    assert any(n.startswith("there") for n in there), seen
    assert any(n.startswith("here") for n in here), seen
    nodes = {n.name for graph in meta.partition_graphs for n in graph.node}
    assert "here" in nodes and len(meta.partition_graphs) >= 2, nodes
    assert all(n.all_start_micros > 1e15 for d in meta.step_stats.dev_stats for n in d.node_stats)
    sess.run(y, options=tf.RunOptions(), run_metadata=meta)
    assert not meta.step_stats.dev_stats


def placement_errors(tf, sess):
    config = tf.ConfigProto(allow_soft_placement=False)
    for device in ("/job:worker/task:7", "/job:other", "/job:ps/task:0/device:CPU:9"):
        with tf.Graph().as_default(), tf.Session(sess.sess_str, config=config) as strict:
            given = tf.constant(1.0)
            with tf.device(device):
                nowhere = tf.identity(given, name="nowhere")
            try:
                strict.run(nowhere)
            except tf.errors.InvalidArgumentError as e:
                assert "Cannot assign a device for operation nowhere" in e.message, e
                assert device in e.message, e
            else:
                raise AssertionError("placed on %s" % device)


def large_tensors(tf, sess):
    n = 16 << 20
    x = tf.placeholder(tf.float32, [n])
    with tf.device(PS):
        v = tf.get_variable(
            "large_v", shape=[n], initializer=tf.zeros_initializer(), use_resource=True
        )
        push = v.assign(x)
    with tf.device(WORKER):
        ends = tf.stack([tf.reduce_max(v.read_value()), v.read_value()[n - 1]])
    sess.run(v.initializer)
    given = np.arange(n, dtype=np.float32) % 1000003
    sess.run(push.op if hasattr(push, "op") else push, {x: given})
    assert sess.run(ends).tolist() == [given.max(), given[-1]]
    assert (sess.run(v) == given).all()
