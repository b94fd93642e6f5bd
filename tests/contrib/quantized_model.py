"""A small network that is trained as if it were quantized; the same program on weft and TensorFlow 1.15.

Printed by TensorFlow 1.15.5, its results are those that `test_quantize.py` expects.
"""

import numpy as np

CASES = {
    "training": {},
    "delayed": {"quant_delay": 2},
    "frozen": {"freeze_bn_delay": 2, "quant_delay": 1},
    "few bits": {"symmetric": True, "weight_bits": 4},
    "scope": {"scope": "c1"},
    "separate": {"fused": False, "bypass": False},
    "without": {"norm": False},
    "evaluation": {"train": False},
}


def _weights(tf):
    def make(shape, dtype=None, partition_info=None):
        values = np.random.RandomState(sum(map(int, shape))).randn(*map(int, shape)) * 0.3
        return tf.constant(values, tf.float32)

    return make


def model(tf, x, train, fused, norm, bypass):
    slim = tf.contrib.slim
    params = {"is_training": train, "fused": fused, "decay": 0.9, "scale": True}
    with slim.arg_scope(
        [slim.conv2d, slim.separable_conv2d],
        normalizer_fn=slim.batch_norm if norm else None,
        normalizer_params=params,
        weights_initializer=_weights(tf),
    ):
        net = slim.conv2d(x, 8, 3, scope="c1", activation_fn=tf.nn.relu6)
        net = slim.separable_conv2d(net, None, 3, 1, scope="dw")
        if bypass:
            net = tf.nn.relu(slim.conv2d(net, 8, 1, scope="pw", activation_fn=None) + net)
        else:
            net = slim.conv2d(net, 8, 1, scope="pw")
        net = slim.flatten(net)
        return slim.fully_connected(
            net, 4, activation_fn=None, scope="out", weights_initializer=_weights(tf)
        )


def run(tf, train=True, fused=True, norm=True, bypass=True, **how):
    """Losses of four steps, the names of rounding operations and variables, and the ranges at the end."""
    data = np.random.RandomState(0).randn(4, 8, 6, 6, 3).astype(np.float32)
    rewrite = tf.contrib.quantize
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [8, 6, 6, 3])
        y = model(tf, x, train, fused, norm, bypass)
        if train:
            rewrite.experimental_create_training_graph(graph, **how)
        else:
            rewrite.create_eval_graph(graph)
        step = tf.no_op()
        loss = tf.reduce_mean(tf.square(y - 1.0))
        if train:
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
                step = tf.train.GradientDescentOptimizer(0.002).minimize(loss)
        rounding = sorted(o.name for o in graph.get_operations() if o.type.startswith("FakeQuant"))
        variables = sorted(tf.global_variables(), key=lambda v: v.op.name)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            losses = [float(session.run([loss, step], {x: batch})[0]) for batch in data]
            values = session.run(variables)
    ranges = {
        v.op.name: round(float(np.sum(value)), 4)
        for v, value in zip(variables, values)
        if v.op.name.endswith(("/act_quant/max", "/act_quant/min", "moving_variance"))
    }
    return {
        "losses": [round(x, 4) for x in losses],
        "rounding": rounding,
        "variables": len(variables),
        "ranges": ranges,
    }


if __name__ == "__main__":
    import pprint

    import tensorflow

    pprint.pprint({name: run(tensorflow, **how) for name, how in CASES.items()}, width=110)
