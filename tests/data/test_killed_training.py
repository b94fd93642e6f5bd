"""A training process that is killed and started again: step, learning rate and input go on where they were."""

import json
import signal
import subprocess
import sys

PROGRAM = """
import json, sys
import weft as tf

folder, steps = sys.argv[1], int(sys.argv[2])
rows = tf.data.Dataset.from_tensor_slices({"x": [float(i) for i in range(60)]})
dataset = (
    rows.shuffle(25, seed=3)
    .map(lambda row: (row["x"], 3.0 * row["x"]), num_parallel_calls=2)
    .repeat()
    .batch(7)
    .prefetch(2)
)
iterator = tf.data.make_initializable_iterator(dataset)
tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
x, y = iterator.get_next()
step = tf.train.get_or_create_global_step()
w = tf.get_variable("w", initializer=0.0)
loss = tf.reduce_mean(tf.square(w * x - y))
rate = tf.train.exponential_decay(1e-4, step, 10, 0.9)
train = tf.train.MomentumOptimizer(rate, 0.5).minimize(loss, step)
with tf.control_dependencies([train]):
    now = step.read_value()

config = tf.estimator.RunConfig(save_checkpoints_steps=3)
carrier = tf.estimator.Estimator(lambda features: None, folder, config)
hooks = [
    # The input first: then there is an input for each step of the model, whenever the process is killed.
    tf.data.experimental.CheckpointInputPipelineHook(carrier),
    tf.train.CheckpointSaverHook(folder, save_steps=3),
    tf.train.StopAtStepHook(last_step=steps),
]
with tf.train.MonitoredTrainingSession(
    checkpoint_dir=folder,
    hooks=hooks,
    save_checkpoint_steps=None,
    save_checkpoint_secs=None,
    save_summaries_steps=None,
    log_step_count_steps=None,
) as session:
    while not session.should_stop():
        number, seen, lost, at = session.run([now, x, loss, rate])
        print(json.dumps([int(number), seen.tolist(), float(lost), float(at)]), flush=True)
"""


def train(folder, steps, kill_after=None):
    """What the steps of a process saw, up to the one after which it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), str(steps)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    seen = []
    with process.stdout as lines:
        for line in lines:
            seen.append(json.loads(line))
            if len(seen) == kill_after:
                process.send_signal(signal.SIGKILL)
    code = process.wait()
    assert code == (0 if kill_after is None else -signal.SIGKILL)
    return seen


def test_the_same_examples_follow_at_the_same_steps(tmp_path):
    whole = train(tmp_path / "whole", 30)
    assert [number for number, *_ in whole] == list(range(1, 31))
    parts = [train(tmp_path / "killed", 30, kill_after) for kill_after in (8, 5, None)]
    reached = 0
    for part in parts:
        assert part[0][0] <= reached + 1
        reached = part[-1][0]
        first = part[0][0] - 1
        assert part == whole[first : first + len(part)]
    assert parts[1][0][0] > 1 and parts[2][0][0] > parts[1][0][0]  # none began anew
    assert reached == 30
