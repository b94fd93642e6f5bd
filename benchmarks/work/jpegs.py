"""A thousand JPEG files of 500 x 375, decoded and resized to 224 x 224 by two threads: an input pipeline."""

import time
from multiprocessing.pool import ThreadPool

import numpy as np

FILES, DIFFERENT = 1000, 20


def photos(tf, session):
    """Files of pictures that are smooth here and rough there."""
    random = np.random.RandomState(0)
    y, x = np.mgrid[:375, :500]
    picture = tf.placeholder(tf.uint8, [375, 500, 3])
    encoded = tf.image.encode_jpeg(picture, quality=90)
    files = []
    for i in range(DIFFERENT):
        waves = [np.sin(x / (9.0 + i + c)) + np.cos(y / (5.0 + 2 * c)) for c in range(3)]
        noise = random.randn(375, 500, 1) * (x > 250)[..., None]
        pixels = 128 + 45 * np.stack(waves, -1) + 12 * noise
        files.append(session.run(encoded, {picture: np.clip(pixels, 0, 255).astype(np.uint8)}))
    return files * (FILES // DIFFERENT)


def measure(tf):
    with tf.Graph().as_default(), tf.Session() as session:
        contents = tf.placeholder(tf.string, [])
        resized = tf.image.resize_images(tf.image.decode_jpeg(contents, channels=3), [224, 224])
        files = photos(tf, session)

        def one(file):
            return session.run(resized, {contents: file}).shape

        pool = ThreadPool(2)
        pool.map(one, files[:100])
        found = []
        for _ in range(3):
            start = time.perf_counter()
            shapes = pool.map(one, files, chunksize=25)
            found.append(time.perf_counter() - start)
        pool.close()
        assert set(shapes) == {(224, 224, 3)}
    return {"all": min(found)}
