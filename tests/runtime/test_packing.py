"""Small results of an accelerator that come to the host as one array."""

import jax.numpy as jnp
import numpy as np

import weft as tf
from weft import testing
from weft.engine.compiler import Executable
from weft.engine.namespace import load_jax
from weft.engine.packing import pack


def test_small_arrays_come_back_as_they_were_whatever_their_type_and_shape():
    jax = load_jax()

    def several(x):
        big = jnp.zeros(40_000, np.float32) + x[0]
        return pack(
            jax, [x > 0, x.sum(), big, x.astype(np.int8), x.reshape(1, -1).astype(np.int64)]
        )

    several = jax.jit(several)
    for size in (3, 5):  # the places follow the shapes of each call
        x = np.arange(size, dtype=np.float32) - 1
        positive, total, big, narrow, wide = several(x).unpack()
        np.testing.assert_array_equal(positive, x > 0)
        assert positive.dtype == bool and total.shape == () and total == x.sum()
        assert big.shape == (40_000,) and big[0] == -1
        np.testing.assert_array_equal(narrow, x.astype(np.int8))
        np.testing.assert_array_equal(wide, x[None].astype(np.int64))


def test_what_has_no_bytes_to_cast_and_what_is_empty_goes_by_itself():
    jax = load_jax()
    values = [np.complex64(1j), np.zeros((0, 3), np.float32), np.float32(2)]
    packed = jax.jit(lambda *v: pack(jax, list(v)))(*values)
    assert len(packed.large) == 2
    for value, expected in zip(packed.unpack(), values):
        np.testing.assert_array_equal(value, expected)


def test_a_program_on_an_accelerator_gives_what_it_gives_on_the_host(monkeypatch):
    """On the CPU, told that it were away."""
    from weft.runtime import segment

    jax = load_jax()
    cpu = jax.devices("cpu")[0]
    monkeypatch.setattr(segment, "jax_device", lambda device: cpu)
    made = Executable.__init__

    def away(self, *args):
        made(self, *args)
        self.is_away = True

    monkeypatch.setattr(Executable, "__init__", away)
    with tf.Graph().as_default(), tf.Session() as session, testing.tier("compile"):
        x = tf.placeholder(tf.float32, [None, 2])
        labels = tf.placeholder(tf.int32, [None])
        v = tf.get_variable("v", [2, 3], initializer=tf.ones_initializer())
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x @ v)
        loss = tf.reduce_mean(losses)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        feeds = {x: np.ones((4, 2), np.float32), labels: [0, 1, 2, 0]}
        first = session.run([loss, losses, train], feeds)
        np.testing.assert_allclose(first[0], np.log(3), rtol=1e-6)
        assert first[1].shape == (4,)
        assert session.run(loss, feeds) < first[0]
