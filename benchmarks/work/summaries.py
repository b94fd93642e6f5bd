"""Writing scalar summaries: ten of them merged, fetched and put into an event file, each step."""

import shutil
import tempfile

from timing import per_call

SCALARS, STEPS = 10, 200


def measure(tf):
    values = tf.placeholder(tf.float32, [SCALARS])
    for i in range(SCALARS):
        tf.summary.scalar("value_%d" % i, values[i])
    merged = tf.summary.merge_all()
    folder = tempfile.mkdtemp()
    try:
        with tf.Session() as session:
            writer = tf.summary.FileWriter(folder, session.graph)
            numbers = [0.5 * i for i in range(SCALARS)]

            def steps():
                for step in range(STEPS):
                    writer.add_summary(session.run(merged, {values: numbers}), step)
                writer.flush()

            return {"step": per_call(steps, warm=3, batches=10) / STEPS}
    finally:
        writer.close()
        shutil.rmtree(folder)
