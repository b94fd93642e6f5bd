"""Random numbers with seeds: the same numbers wherever the graph runs, new ones at each run."""


def build(tf):
    tf.set_random_seed(7)
    results = [
        tf.random_uniform([5, 3], -1, 2, seed=1),
        tf.random_normal([7], 1.0, 2.0, seed=2),
        tf.truncated_normal([9], seed=3),
        tf.random_uniform([6], 0, 100, tf.int32, seed=4),
        tf.random_normal([3], dtype=tf.float64),
        tf.random_uniform([4]),
    ]
    names = [tf.identity(result, name="numbers_%d" % i).name for i, result in enumerate(results)]
    return {"runs": [({}, names)] * 3}
