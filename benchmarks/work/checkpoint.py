"""Saving and restoring 200 MB of variables with a Saver."""

import os
import shutil
import tempfile

from timing import once

VARIABLES, ROWS, COLUMNS = 10, 5000, 1000  # 20 MB each
ROUNDS = 5


def measure(tf):
    for i in range(VARIABLES):
        tf.get_variable("v%d" % i, [ROWS, COLUMNS])
    saver = tf.train.Saver()
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "model")
    try:
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            saver.save(session, path)
            saver.restore(session, path)
            save = min(once(lambda: saver.save(session, path)) for _ in range(ROUNDS))
            restore = min(once(lambda: saver.restore(session, path)) for _ in range(ROUNDS))
    finally:
        shutil.rmtree(folder)
    return {"save": save, "restore": restore}
