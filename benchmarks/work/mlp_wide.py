"""A training step of a wide perceptron, 784-1024-1024-1024-10, batch 256."""

from work import mlp

SIZES = (784, 1024, 1024, 1024, 10)
BATCH = 256


def measure(tf):
    return mlp.measure(tf, SIZES, BATCH, warm=10)


def measure_jax():
    return mlp.measure_jax(SIZES, BATCH, warm=10)
