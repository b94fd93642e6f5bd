"""A spread of array and math ops: slicing with every mask, reductions, scatter, sorting, dtypes."""

import numpy as np


def build(tf):
    random = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [2, None, 4], name="x")
    n = tf.placeholder(tf.int32, [], name="n")
    results = [
        x[..., tf.newaxis, ::-1],
        x[:, 1:n, -1],
        tf.reshape(x, tf.stack([tf.shape(x)[0], -1])),
        tf.pad(x, [[0, 0], [1, 2], [0, 1]], "REFLECT"),
        tf.tile(x[:, :1], [1, 2, 1]),
        tf.transpose(x, [2, 0, 1]),
        tf.reduce_logsumexp(x, [0, 2], keepdims=True),
        tf.argmax(x, 2, output_type=tf.int32),
        tf.reduce_prod(x, 1),
        tf.cumsum(x, 1, exclusive=True, reverse=True),
        tf.einsum("abc,abd->acd", x, x),
        tf.tensordot(x, x, [[0, 1], [0, 1]]),
        tf.one_hot(tf.range(n), 5, on_value=2.0, off_value=-1.0, axis=0),
        tf.gather_nd(x, [[0, 1], [1, 0]]),
        tf.scatter_nd([[1], [3], [1]], tf.constant([1.0, 2.0, 3.0]), [5]),
        tf.reverse_sequence(x, [1, 2], seq_axis=1, batch_axis=0),
        tf.matrix_band_part(x[0], 1, 0),
        tf.space_to_batch_nd(x[:, :2, :, tf.newaxis], [2, 2], [[0, 0], [0, 0]]),
        tf.floordiv(tf.constant([-7, 7]), n),
        tf.mod(tf.constant([-7, 7]), n),
        tf.truncatediv(tf.constant([-7, 7]), n),
        tf.bitwise.bitwise_xor(tf.constant([5, 9]), n),
        tf.cast(x, tf.float16) + 1,
        tf.cast(x, tf.bfloat16),
        tf.cast(x[0, 0] * 20, tf.uint8),
        tf.complex(x, x * 2.0) * tf.conj(tf.complex(x, x)),
        tf.cast(x, tf.float64) / 3,
        tf.range(10, 2, -3),
        tf.linspace(0.0, 1.0, 5),
        tf.clip_by_norm(x, 1.0),
        tf.nn.l2_normalize(x, 2),
        tf.math.erf(x) + tf.lgamma(tf.abs(x) + 1.0),
        tf.segment_sum(x[0], [0, 0, 2]),
        tf.stack(tf.unstack(x, axis=0), axis=2),
    ]
    top = tf.nn.top_k(x, 2)
    results += [top.values, top.indices]
    names = [tf.identity(result, name="result_%d" % i).name for i, result in enumerate(results)]
    feeds = {"x:0": random.rand(2, 3, 4).astype(np.float32) + 0.1, "n:0": np.int32(3)}
    return {"runs": [(feeds, names)]}
