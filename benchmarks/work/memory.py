"""How large the process is after 1,000 and 10,000 training steps, and after 1,000 plans more."""

import gc
import itertools
import os
import resource

import numpy as np

from work.mlp import BATCH, SIZES, batch

BASE, STEPS, PLANS = 1000, 10000, 1000


def resident():
    gc.collect()
    if os.path.exists("/proc/self/statm"):
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(tf):
    x = tf.placeholder(tf.float32, [None, SIZES[0]])
    labels = tf.placeholder(tf.int32, [None])
    hidden = tf.nn.relu(tf.matmul(x, tf.get_variable("first", [SIZES[0], SIZES[1]])))
    logits = tf.matmul(hidden, tf.get_variable("last", [SIZES[1], SIZES[2]]))
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses)
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    z = tf.placeholder(tf.float32, [None])
    parts = [tf.reduce_sum(z * float(i)) + tf.exp(z) for i in range(12)]
    choices = itertools.chain(*(itertools.combinations(parts, size) for size in (5, 6)))
    fetches = list(itertools.islice(choices, PLANS))

    images, targets = batch(SIZES, BATCH)
    feeds = {x: images, labels: targets}
    values = np.arange(4, dtype=np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(BASE):
            session.run([loss, train], feeds)
        base = resident()
        for _ in range(STEPS - BASE):
            session.run([loss, train], feeds)
        trained = resident()
        for chosen in fetches:
            for _ in range(3):
                session.run(chosen, {z: values})
        planned = resident()
    return {"base": base, "steps": float(trained) / base, "plans": float(planned) / base}
