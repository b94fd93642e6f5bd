"""A task of a cluster that trains: `cluster_task.py FOLDER`, with TF_CONFIG as schedulers set it."""

import sys
import time

import weft as tf
from tests.estimator.linear_model import batches, linear


class Slowly(tf.train.SessionRunHook):
    """Gives the worker time to join."""

    steps = 0

    def after_run(self, run_context, run_values):
        self.steps += 1
        time.sleep(0.02)


hook = Slowly()
config = tf.estimator.RunConfig(
    model_dir=sys.argv[1],
    tf_random_seed=1,
    save_checkpoints_steps=100,
    experimental_max_worker_delay_secs=0,
)
tf.estimator.train_and_evaluate(
    tf.estimator.Estimator(linear, config=config, params={"rate": 0.05}),
    tf.estimator.TrainSpec(batches(None), max_steps=300, hooks=[hook]),
    tf.estimator.EvalSpec(batches(1), start_delay_secs=0, throttle_secs=0.2),
)
print(f"{hook.steps} steps")
