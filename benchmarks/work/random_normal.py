"""Ten million random normals, fetched."""

from timing import per_call


def measure(tf):
    numbers = tf.random_normal([10000000])
    with tf.Session() as session:
        assert abs(session.run(numbers).mean()) < 0.01
        return {"draw": per_call(lambda: session.run(numbers), warm=4, seconds=2)}
