"""Checkpoints of objects that one side writes are restored by the other: in graphs, and by names of variables."""

from pathlib import Path

import pytest

from tests.interop.test_files import PAIRS, run

MODEL = """
import numpy as np
class Net(tf.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.w = tf.get_variable("w", initializer=np.arange(4, dtype=np.float32).reshape(2, 2), use_resource=True)
        self.parts = [tf.get_variable("part%d" % i, initializer=[float(i)] * 2) for i in range(2)]
        self.named = {"bias": tf.get_variable("bias", initializer=0.5)}
    def __call__(self, x):
        return tf.matmul(x, self.w) * self.parts[0] + self.parts[1] + self.named["bias"]
net, optimizer = Net(), tf.train.AdamOptimizer(0.1)
step = tf.get_variable("step", initializer=np.int64(0), trainable=False, use_resource=True)
loss = tf.reduce_sum(tf.square(net(tf.constant([[1.0, 2.0]])) - [3.0, 8.0]))
train = optimizer.minimize(loss, global_step=step)
checkpoint = tf.train.Checkpoint(net=net, optimizer=optimizer, step=step)
"""
WRITE = (
    MODEL
    + """
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(train)
    for _ in range(2):
        path = checkpoint.save(folder + "/objects")
    tf.train.Saver().save(session, folder + "/names")
    values = session.run([loss, step, checkpoint.save_counter])
    values += [session.run([train, loss])[1]]
    values += [session.run(loss)]
print(json.dumps([float(v) for v in values]))
"""
)
READ = (
    MODEL
    + """
found = []
with tf.Session() as session:
    status = checkpoint.restore(folder + "/objects-2").assert_consumed()
    status.initialize_or_restore(session)
    values = session.run([loss, step, checkpoint.save_counter])
    values += [session.run([train, loss])[1]]
    values += [session.run(loss)]
    found.append([float(v) for v in values])
    # A Saver reads it by the names of variables, and a Checkpoint what a Saver has written.
    session.run(tf.global_variables_initializer())
    tf.train.Saver().restore(session, folder + "/objects-2")
    found.append(float(session.run(loss)))
with tf.Session() as session:
    status = checkpoint.restore(folder + "/names")
    status.run_restore_ops(session)
    found.append(float(session.run(loss)))
found.append(sorted(name for name, _ in tf.train.list_variables(folder + "/objects-2")))
print(json.dumps(found))
"""
)


@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids="-".join)
def test_checkpoints_of_objects(tmp_path: Path, writer, reader):
    written = run(WRITE, writer, tmp_path)
    values, by_saver, by_names, keys = run(READ, reader, tmp_path)
    assert values == pytest.approx(written, rel=1e-5)
    assert by_saver == by_names == pytest.approx(written[0], rel=1e-5)
    assert keys == sorted(
        ["_CHECKPOINTABLE_OBJECT_GRAPH", "save_counter/.ATTRIBUTES/VARIABLE_VALUE"]
        + ["step/.ATTRIBUTES/VARIABLE_VALUE"]
        + [f"optimizer/beta{i}_power/.ATTRIBUTES/VARIABLE_VALUE" for i in (1, 2)]
        + [
            f"net/{name}{slot}/.ATTRIBUTES/VARIABLE_VALUE"
            for name in ("w", "parts/0", "parts/1", "named/bias")
            for slot in ("", "/.OPTIMIZER_SLOT/optimizer/m", "/.OPTIMIZER_SLOT/optimizer/v")
        ]
    )
