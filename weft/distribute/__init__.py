"""`tf.distribute`."""
