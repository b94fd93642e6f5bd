"""Linear algebra; where signs are free, what is compared does not depend on them."""

from __future__ import annotations

from ..case import Family, script


@script("Svd", tol=20, later=True)
def singular_values_and_vectors(g):
    tf = g.tf
    x = g.feed([[1.0, 2.0], [3.0, -4.0], [0.5, 6.0]])
    for full in (False, True):
        s, u, v = g.raw.Svd(input=x, full_matrices=full)
        back = tf.matmul(u[:, :2] * s, v, transpose_b=True)
        yield g.run(s, back, tf.matmul(u, u, transpose_a=True), tf.abs(v), tf.shape(u))
    wide = g.feed([[[1.0, 2.0, 3.0], [3.0, -4.0, 0.5]]], "float64")
    yield g.run(g.raw.Svd(input=wide, compute_uv=False)[0])
    yield g.run(*tf.gradients(tf.square(tf.linalg.svd(x, compute_uv=False)), [x]))


FAMILY = Family("linalg", [], [singular_values_and_vectors])
