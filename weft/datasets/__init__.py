"""Data sets that programs begin with: MNIST and its like, CIFAR, from a local cache or downloaded into it.

`tf.keras.datasets`, `tf.keras.utils.get_file` and the `input_data` module of TensorFlow's MNIST tutorials.
"""
