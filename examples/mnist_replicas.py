"""Reads digits on several devices in step: replicas of one machine, or workers of a cluster.

    weft run examples/mnist_replicas.py                          two replicas in one process
    weft launch --workers 2 examples/mnist_replicas.py           two processes, without a parameter server

The program is the same: TF_CONFIG, which `weft launch` sets, decides. Every replica has all variables, takes its
part of each batch, and adds its gradients to those of the others, so that training is what one device would do with
the whole batch.
"""

import argparse
import json
import os

import numpy as np
import tensorflow as tf
from progress import Progress
from tensorflow.examples.tutorials.mnist import input_data

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def model(images):
    x = tf.layers.dense(images, 128, activation=tf.nn.relu, name="hidden1")
    x = tf.layers.dense(x, 64, activation=tf.nn.relu, name="hidden2")
    return tf.layers.dense(x, 10, name="logits")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--steps", type=int, default=1000)
    options.add_argument("--batch", type=int, default=64, help="of all replicas together")
    options = options.parse_args()

    task = json.loads(os.environ.get("TF_CONFIG", "{}"))
    config = tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
    if len(task.get("cluster", {}).get("worker", ())) > 1:
        strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
        config = strategy.update_config_proto(config)
        kind, index = task["task"]["type"], int(task["task"]["index"])
        server = tf.train.Server(task["cluster"], kind, index, config=config)
        target, chief = server.target, index == 0
    else:
        strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        target, chief = "", True

    tf.set_random_seed(1)
    mnist = input_data.read_data_sets(DATA, validation_size=0)
    pairs = (mnist.train.images, mnist.train.labels.astype(np.int64))
    # All workers go through the same batches, and take their rows of them: the order must be the same.
    dataset = tf.data.Dataset.from_tensor_slices(pairs).shuffle(10000, seed=1).repeat()

    with strategy.scope():
        iterator = strategy.make_dataset_iterator(dataset.batch(options.batch))
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.AdamOptimizer(1e-3)

        def replica(inputs):
            images, labels = inputs
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=model(images)
            )
            # Gradients are added up over replicas: this is a replica's share in the mean over the batch.
            loss = tf.reduce_sum(losses) / options.batch
            with tf.control_dependencies([optimizer.minimize(loss, global_step=step)]):
                return tf.identity(loss)

        losses = strategy.experimental_run(replica, iterator)
        loss = strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

        test_images = tf.placeholder(tf.float32, [None, 784])
        with tf.variable_scope(tf.get_variable_scope(), reuse=True):
            found = tf.argmax(model(test_images), 1)
        init = [tf.global_variables_initializer(), iterator.initialize()]

    with tf.Session(target, config=config) as session:
        session.run(init)
        with Progress(options.steps if chief else 0) as progress:
            for i in range(options.steps):
                value = session.run(loss)
                if chief:
                    progress.update(i + 1, loss=value)
        right = session.run(found, {test_images: mnist.test.images}) == mnist.test.labels
        print("test accuracy: %.2f %%" % (100 * np.mean(right)))


if __name__ == "__main__":
    main()
