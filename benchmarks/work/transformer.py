"""A training step of a transformer: 2 layers, width 256, 8 heads, sequence 128, batch 8."""

import numpy as np

from timing import per_call

LAYERS, WIDTH, HEADS, INNER, WORDS = 2, 256, 8, 1024, 1000
BATCH, LENGTH = 8, 128


def batch():
    random = np.random.RandomState(0)
    return random.randint(0, WORDS, [2, BATCH, LENGTH]).astype(np.int32)


def dense(tf, x, units, name):
    width = x.shape[-1]
    kernel = tf.get_variable(name + "_kernel", [width, units])
    bias = tf.get_variable(name + "_bias", [units], initializer=tf.zeros_initializer())
    flat = tf.matmul(tf.reshape(x, [-1, width]), kernel) + bias
    return tf.reshape(flat, [BATCH, LENGTH, units])


def normalised(tf, x, name):
    scale = tf.get_variable(name + "_scale", [WIDTH], initializer=tf.ones_initializer())
    offset = tf.get_variable(name + "_offset", [WIDTH], initializer=tf.zeros_initializer())
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    return (x - mean) * tf.rsqrt(variance + 1e-6) * scale + offset


def heads(tf, x):
    x = tf.reshape(x, [BATCH, LENGTH, HEADS, WIDTH // HEADS])
    return tf.transpose(x, [0, 2, 1, 3])


def attention(tf, x):
    query, key, value = [heads(tf, dense(tf, x, WIDTH, name)) for name in ("q", "k", "v")]
    scores = tf.matmul(query, key, transpose_b=True) * (WIDTH // HEADS) ** -0.5
    mixed = tf.matmul(tf.nn.softmax(scores), value)
    mixed = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [BATCH, LENGTH, WIDTH])
    return dense(tf, mixed, WIDTH, "out")


def measure(tf):
    words = tf.placeholder(tf.int32, [BATCH, LENGTH])
    labels = tf.placeholder(tf.int32, [BATCH, LENGTH])
    x = tf.gather(tf.get_variable("words", [WORDS, WIDTH]), words)
    x = x + tf.get_variable("positions", [LENGTH, WIDTH])
    for layer in range(LAYERS):
        with tf.variable_scope("layer_%d" % layer):
            x = normalised(tf, x + attention(tf, x), "first")
            inner = tf.nn.relu(dense(tf, x, INNER, "inner"))
            x = normalised(tf, x + dense(tf, inner, WIDTH, "outer"), "second")
    logits = dense(tf, x, WORDS, "logits")
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses)
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    inputs, targets = batch()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feeds = {words: inputs, labels: targets}
        return {"step": per_call(lambda: session.run([loss, train], feeds), warm=8, seconds=3)}


def measure_jax():
    import jax
    import jax.numpy as jnp

    from work import by_hand

    def normal(x, scale, offset):
        mean = jnp.mean(x, -1, keepdims=True)
        variance = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-6) * scale + offset

    def split(x):
        return x.reshape(BATCH, LENGTH, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    def loss_of(parameters, inputs, targets):
        words, positions, layers, (kernel, bias) = parameters
        x = words[inputs] + positions
        for layer in layers:
            q, k, v = (split(x @ layer[n][0] + layer[n][1]) for n in "qkv")
            weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) * (WIDTH // HEADS) ** -0.5)
            mixed = (weights @ v).transpose(0, 2, 1, 3).reshape(BATCH, LENGTH, WIDTH)
            x = normal(x + mixed @ layer["out"][0] + layer["out"][1], *layer["first"])
            inner = jax.nn.relu(x @ layer["inner"][0] + layer["inner"][1])
            x = normal(x + inner @ layer["outer"][0] + layer["outer"][1], *layer["second"])
        return by_hand.cross_entropy(x @ kernel + bias, targets)

    random = np.random.RandomState(1)

    def matrix(a, b):
        return jnp.asarray(random.randn(a, b) * a**-0.5, jnp.float32)

    def pair(a, b):
        return matrix(a, b), jnp.zeros(b)

    layers = []
    for _ in range(LAYERS):
        layer = {name: pair(WIDTH, WIDTH) for name in ("q", "k", "v", "out")}
        layer.update(inner=pair(WIDTH, INNER), outer=pair(INNER, WIDTH))
        layer.update({name: (jnp.ones(WIDTH), jnp.zeros(WIDTH)) for name in ("first", "second")})
        layers.append(layer)
    parameters = [matrix(WORDS, WIDTH), matrix(LENGTH, WIDTH), layers, pair(WIDTH, WORDS)]
    step = by_hand.training(loss_of, parameters)
    inputs, targets = batch()
    return {"step": per_call(lambda: float(step(inputs, targets)), warm=8, seconds=3)}
