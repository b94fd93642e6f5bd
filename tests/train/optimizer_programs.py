"""What every optimizer is trained on: small models of fixed data, built through any `tf`-shaped module.

Imported by the tests and, on Python 3.7, by `tools/optimizer_losses.py`.
"""

from __future__ import annotations

import numpy as np

STEPS = 50
KINDS = ("dense", "dense resource", "sparse", "sparse resource")


def optimizers(tf, step):
    """name -> optimizer, with settings that move every one of its parts."""
    t = tf.train
    rate = t.exponential_decay(0.1, step, 5, 0.8, staircase=True)
    both = {"l1_regularization_strength": 0.002, "l2_regularization_strength": 0.01}
    return {
        "gradient_descent": t.GradientDescentOptimizer(0.1),
        "decayed": t.GradientDescentOptimizer(rate),
        "momentum": t.MomentumOptimizer(0.03, 0.9),
        "nesterov": t.MomentumOptimizer(0.03, 0.9, use_nesterov=True),
        "adagrad": t.AdagradOptimizer(0.3),
        "adagrad_da": t.AdagradDAOptimizer(0.3, step, **both),
        "adadelta": t.AdadeltaOptimizer(1.0, 0.9, 1e-3),
        "adam": t.AdamOptimizer(0.05, 0.8, 0.95, 1e-4),
        "ftrl": t.FtrlOptimizer(0.3, **both),
        "ftrl_of_another_power": t.FtrlOptimizer(0.2, learning_rate_power=-0.3, **both),
        "ftrl_with_shrinkage": t.FtrlOptimizer(
            0.3, l2_shrinkage_regularization_strength=0.02, **both
        ),
        "rmsprop": t.RMSPropOptimizer(0.03),
        "rmsprop_with_momentum": t.RMSPropOptimizer(0.02, 0.8, 0.5, 1e-3),
        "centered_rmsprop": t.RMSPropOptimizer(0.02, 0.8, 0.5, 1e-2, centered=True),
        "proximal_gradient_descent": t.ProximalGradientDescentOptimizer(0.1, **both),
        "proximal_adagrad": t.ProximalAdagradOptimizer(0.3, **both),
    }


def numbers(seed, *shape):
    """Numbers that every NumPy makes alike: multiples of 1/64 in [-1, 1]."""
    return np.random.RandomState(seed).randint(-64, 65, shape) / 64.0


def feeds(n):
    """Inputs, ids (some of them repeated) and targets of step `n`."""
    seed = 100 + n % 7
    ids = np.random.RandomState(seed).randint(0, 6, 8)
    return numbers(seed, 8, 4), ids, numbers(1000 + seed, 8, 3)


def losses(tf, kind):
    """The losses of all optimizers at each step, and the names of all variables that there are then."""
    sparse, resource = kind.startswith("sparse"), kind.endswith("resource")
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.train.get_or_create_global_step()
        x = tf.placeholder(tf.float32, [8, 4])
        ids = tf.placeholder(tf.int32, [8])
        wanted = tf.placeholder(tf.float32, [8, 3])
        found, train = {}, []
        for name, optimizer in sorted(optimizers(tf, step).items()):
            with tf.variable_scope(name, use_resource=resource):
                b = tf.get_variable("b", initializer=numbers(2, 3).astype("float32"))
                if sparse:
                    table = numbers(1, 6, 3).astype("float32")
                    rows = tf.gather(tf.get_variable("table", initializer=table), ids)
                    output = tf.tanh(rows + b * x[:, :1])
                else:
                    w = tf.get_variable("w", initializer=numbers(1, 4, 3).astype("float32"))
                    output = tf.tanh(tf.matmul(x, w) + b)
                found[name] = tf.reduce_mean(tf.square(output - wanted))
                train.append(optimizer.minimize(found[name]))
        with tf.control_dependencies(train):
            advance = tf.assign_add(step, 1)
        session.run(tf.global_variables_initializer())
        recorded = {name: [] for name in found}
        for n in range(STEPS):
            given = dict(zip((x, ids, wanted), feeds(n)))
            values, _ = session.run([found, advance], given)
            for name, value in values.items():
                recorded[name].append(float(value))
        return recorded, sorted(v.op.name for v in tf.global_variables())
