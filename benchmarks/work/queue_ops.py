"""What a queue costs: one step that puts a scalar in, and one that takes it out."""

from timing import per_call


def measure(tf):
    value = tf.placeholder(tf.float32, [])
    queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
    put, get = queue.enqueue(value), queue.dequeue()
    with tf.Session() as session:

        def there_and_back():
            session.run(put, {value: 3.0})
            return session.run(get)

        assert there_and_back() == 3.0
        return {"pair": per_call(there_and_back, warm=200)}
