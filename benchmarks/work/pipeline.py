"""An epoch of 60,000 images through tf.data: shuffled and batched, and with a map that normalises and crops."""

import numpy as np

from timing import once

ROWS, BATCH, BUFFER, EPOCHS = 60000, 100, 10000, 3


def prepared(tf, image, label):
    """Normalises one image and cuts 24 by 24 pixels from somewhere in it."""
    image = tf.cast(image, tf.float32) / 255.0 - 0.5
    return tf.random_crop(image, [24, 24, 1]), label


def epoch(tf, mapped):
    """Seconds that the best of some epochs takes."""
    with tf.Graph().as_default(), tf.Session() as session:
        random = np.random.RandomState(0)
        images = random.randint(0, 256, (ROWS, 28, 28, 1)).astype(np.uint8)
        labels = random.randint(0, 10, ROWS)
        fed = tf.placeholder(tf.uint8, images.shape), tf.placeholder(tf.int64, labels.shape)
        dataset = tf.data.Dataset.from_tensor_slices(fed).shuffle(BUFFER)
        if mapped:
            dataset = dataset.map(lambda *row: prepared(tf, *row), num_parallel_calls=2)
        iterator = dataset.batch(BATCH).prefetch(2).make_initializable_iterator()
        following = iterator.get_next()

        def run():
            session.run(iterator.initializer, dict(zip(fed, (images, labels))))
            count = 0
            while True:
                try:
                    count += len(session.run(following)[1])
                except tf.errors.OutOfRangeError:
                    break
            assert count == ROWS

        run()
        return min(once(run) for _ in range(EPOCHS))


def measure(tf):
    return {"batches": epoch(tf, mapped=False), "mapped": epoch(tf, mapped=True)}
