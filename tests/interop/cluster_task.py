"""A task of a cluster: a parameter server serves until its input ends, a worker trains and prints what it saw.

python cluster_task.py IMPLEMENTATION JOB INDEX CLUSTER_AS_JSON
"""

import json
import sys

import numpy as np

if sys.argv[1] == "weft":
    import weft as tf
else:
    import tensorflow

    tf = tensorflow.compat.v1
    tf.disable_eager_execution()

job, index, cluster = sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
server = tf.train.Server(cluster, job, index)
if job == "ps":
    print("serving")
    sys.stdout.flush()
    sys.stdin.read()
    sys.exit()

rng = np.random.RandomState(index)
rows = rng.randn(64, 8).astype("f")
wanted = np.tanh(rows.dot(np.linspace(-1, 1, 8)[:, None])).astype("f")
with tf.device(tf.train.replica_device_setter(cluster=cluster)):
    step = tf.train.get_or_create_global_step()
    x = tf.placeholder(tf.float32, [None, 8])
    y = tf.placeholder(tf.float32, [None, 1])
    table = tf.get_variable("table", [20, 8])
    a = tf.get_variable("a", [8, 16])
    b = tf.get_variable("b", [16, 1], use_resource=True)
    row = tf.nn.embedding_lookup(table, [3, 5, 3])
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, a)), b) - y))
    loss += 0.1 * tf.reduce_mean(tf.square(row))
    train = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=step)
    with tf.device("/job:ps"):
        bad = tf.check_numerics(tf.log(tf.reduce_min(x)), "here", name="bad")
    worse = bad + 1.0

seen = {}
with tf.train.MonitoredTrainingSession(server.target, is_chief=index == 0) as sess:
    feed = {x: rows, y: wanted}
    first = sess.run(loss, feed)
    for _ in range(200):
        sess.run(train, feed)
    last, steps, rare = sess.run([loss, step, table], feed)
    seen["trained"] = bool(last < first / 3)
    seen["steps"] = int(steps)
    seen["touched"] = np.nonzero(np.abs(rare).max(1) < 0.1)[0].tolist()
    try:
        sess.run(worse, {x: -rows})
    except tf.errors.InvalidArgumentError as e:
        seen["error"] = [e.op.name, "From /job:ps/replica:0/task:0" in e.message]
print(json.dumps(seen))
