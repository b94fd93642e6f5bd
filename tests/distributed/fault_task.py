"""A task of a cluster under test, which trains or serves until it is killed or its input ends.

python fault_task.py IMPLEMENTATION JOB INDEX OPTIONS_AS_JSON

It prints lines of JSON: {"ready": address} first, then what its part has to tell.
"""

import faulthandler
import json
import os
import signal
import sys
import threading
import time

implementation, job, index = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = json.loads(sys.argv[4])


faulthandler.register(signal.SIGUSR1)  # what all threads do goes to the log


def end_with_input():
    """A test that is killed leaves no task behind."""
    while os.read(0, 1):
        pass
    os._exit(1)


threading.Thread(target=end_with_input, daemon=True).start()

import numpy as np  # noqa: E402

if implementation == "weft":
    import weft as tf
else:
    import tensorflow

    tf = tensorflow.compat.v1
    tf.disable_eager_execution()


def tell(**what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


tf.logging.set_verbosity(tf.logging.INFO)
config = tf.ConfigProto()
if options.get("server_timeout_ms"):
    config.operation_timeout_in_ms = options["server_timeout_ms"]
server = tf.train.Server(options["cluster"], job, index, config=config)
tell(ready=server.target)


def train():
    """Softmax regression on points that a hidden matrix has labelled."""
    rng = np.random.RandomState(0)
    hidden = rng.randn(10, 4).astype("f")
    rng = np.random.RandomState(100 + index)
    replicas = len(options["cluster"]["worker"])
    device = "/job:worker/task:%d" % index
    with tf.device(
        tf.train.replica_device_setter(worker_device=device, cluster=options["cluster"])
    ):
        x = tf.placeholder(tf.float32, [None, 10])
        y = tf.placeholder(tf.int64, [None])
        w = tf.get_variable("w", [10, 4], initializer=tf.zeros_initializer())
        ballast = tf.get_variable("ballast", [options.get("ballast", 1)], trainable=False)
        logits = tf.matmul(x, w)
        loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
        right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(options.get("rate", 0.5))
        hooks = []
        if options.get("aggregate"):
            optimizer = tf.train.SyncReplicasOptimizer(
                optimizer, options["aggregate"], total_num_replicas=replicas
            )
            hooks.append(optimizer.make_session_run_hook(index == 0))
        op = optimizer.minimize(loss, global_step=step)
    del ballast
    saver = tf.train.Saver(max_to_keep=3, sharded=options.get("sharded", False))
    session_config = tf.ConfigProto(device_filters=["/job:ps", device])
    if options.get("timeout_ms"):
        session_config.operation_timeout_in_ms = options["timeout_ms"]
    scaffold = tf.train.Scaffold(saver=saver)
    if index == 0:
        folder = options.get("folder")
        creator = tf.train.ChiefSessionCreator(scaffold, server.target, session_config, folder)
        if folder:
            hooks.append(
                tf.train.CheckpointSaverHook(
                    folder, save_steps=options.get("save_steps", 10), scaffold=scaffold
                )
            )
    else:
        creator = tf.train.WorkerSessionCreator(scaffold, server.target, session_config)

    class Told(tf.train.SessionRunHook):
        """Tells of each session."""

        def after_create_session(self, session, coord):
            tell(session=int(session.run(step)))

    if options.get("stop_at"):
        hooks.append(tf.train.StopAtStepHook(last_step=options["stop_at"]))
    test_x = rng.randn(500, 10).astype("f")
    test_y = test_x.dot(hidden).argmax(1)
    enough = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: enough.set())
    with tf.train.MonitoredSession(creator, hooks + [Told()], 1) as sess:
        while not enough.is_set() and not sess.should_stop():
            rows = rng.randn(32, 10).astype("f")
            feed = {x: rows, y: rows.dot(hidden).argmax(1)}
            _, at = sess.run([op, step], feed)
            tell(step=int(at))
            time.sleep(options.get("pause", 0.0))
        tell(accuracy=float(sess.run(right, {x: test_x, y: test_y})))


if job == "ps":
    server.join()
else:
    train()
    tell(done=True)
