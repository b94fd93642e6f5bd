"""A worker of a MultiWorkerMirroredStrategy, with a session at its task's server, which somebody else has started.

python strategy_worker.py IMPLEMENTATION INDEX ADDRESSES_AS_JSON
"""

import json
import os
import sys

implementation, index, addresses = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
os.environ["TF_CONFIG"] = json.dumps(
    {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
)
if implementation == "weft":
    import weft as tf
else:
    import tensorflow

    tf = tensorflow.compat.v1
    tf.disable_eager_execution()

strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
config = strategy.update_config_proto(tf.ConfigProto(allow_soft_placement=True))
with strategy.scope():
    w = tf.get_variable("w", initializer=tf.constant([[float(index)]]))
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.AdamOptimizer(0.1)

    def replica():
        x = tf.constant([[1.0 + index], [2.0]])
        loss = tf.reduce_sum(tf.square(tf.matmul(x, w) - 3 * x)) / 4
        with tf.control_dependencies([optimizer.minimize(loss, global_step=step)]):
            return tf.identity(loss)

    losses = strategy.experimental_run_v2(replica)
    loss = strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)
    init = tf.global_variables_initializer()
with tf.Session("grpc://" + addresses[index], config=config) as session:
    session.run(init)
    found = [float(session.run(loss)) for _ in range(4)]
    print(json.dumps([found, session.run(w).tolist(), int(session.run(step))]))
