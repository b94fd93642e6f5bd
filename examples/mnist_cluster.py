"""Reads digits with two hidden layers whose variables are on a parameter server, and which several workers train.

    weft launch --ps 1 --workers 2 examples/mnist_cluster.py

Each task is a process that runs this program and learns from its flags which one it is. The workers train on
copies of their own and do not wait for each other: each takes the weights as they are and adds its gradients.
"""

import argparse
import os

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def parsed():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--job_name", required=True, help="ps or worker")
    options.add_argument("--task_index", type=int, required=True)
    options.add_argument("--ps_hosts", required=True, help="addresses, with commas between them")
    options.add_argument("--worker_hosts", required=True)
    options.add_argument("--steps", type=int, default=2000, help="of all workers together")
    return options.parse_args()


def main():
    options = parsed()
    cluster = tf.train.ClusterSpec(
        {"ps": options.ps_hosts.split(","), "worker": options.worker_hosts.split(",")}
    )
    server = tf.train.Server(cluster, options.job_name, options.task_index)
    if options.job_name == "ps":
        server.join()  # keeps the variables, and answers those who ask for them

    mnist = input_data.read_data_sets(DATA, validation_size=0)
    worker = "/job:worker/task:%d" % options.task_index
    # Variables go to the parameter servers in turn, all else is done here.
    with tf.device(tf.train.replica_device_setter(worker_device=worker, cluster=cluster)):
        images = tf.placeholder(tf.float32, [None, 784])
        labels = tf.placeholder(tf.int64, [None])
        x = tf.layers.dense(images, 256, activation=tf.nn.relu, name="hidden1")
        x = tf.layers.dense(x, 64, activation=tf.nn.relu, name="hidden2")
        logits = tf.layers.dense(x, 10, name="logits")
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        right = tf.equal(tf.argmax(logits, 1), labels)
        accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdamOptimizer(1e-3).minimize(loss, global_step=step)

    chief = options.task_index == 0  # prepares the variables; the others wait until they are there
    hooks = [tf.train.StopAtStepHook(last_step=options.steps)]
    # This worker has to do with the parameter servers only: it does not wait for the other workers.
    config = tf.ConfigProto(device_filters=["/job:ps", worker])
    with tf.train.MonitoredTrainingSession(
        server.target, is_chief=chief, hooks=hooks, config=config
    ) as session:
        own = 0
        while not session.should_stop():
            some_images, some_labels = mnist.train.next_batch(100)
            feed = {images: some_images, labels: some_labels}
            _, now, value = session.run([train, step, loss], feed)
            own += 1
            if own % 200 == 1:
                print("step = %4d  loss = %.3f" % (now, value))
        print("trained %d of the steps" % own)

    if chief:
        # The variables are where they were: another session finds them there.
        with tf.Session(server.target, config=config) as session:
            test = {images: mnist.test.images, labels: mnist.test.labels}
            print("test accuracy: %.2f %%" % (100 * session.run(accuracy, test)))


if __name__ == "__main__":
    main()
