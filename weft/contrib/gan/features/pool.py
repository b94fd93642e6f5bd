"""A pool of what was generated in earlier steps."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import nest
from weft.framework.export import export
from weft.framework.tensor import Tensor


@export("contrib.gan.features.tensor_pool")
def tensor_pool(
    input_values: Any,
    pool_size: int = 50,
    pooling_probability: Any = 0.5,
    name: str = "tensor_pool",
) -> Any:
    """The values, or with some probability those of an earlier step, which leave the pool."""
    pool_size = int(pool_size)
    if pool_size < 0:
        raise ValueError("`pool_size` is negative.")
    if pool_size == 0:
        return input_values
    values = nest.flatten(input_values)
    with tf.name_scope(f"{name}_pool_queue", values=[*values, pooling_probability]):
        queue = tf.RandomShuffleQueue(
            capacity=pool_size,
            min_after_dequeue=0,
            dtypes=[v.dtype for v in values],
            shapes=None,
        )

        def as_list(x: Any) -> list[Any]:
            return [x] if isinstance(x, Tensor) else list(x)

        def put() -> list[Any]:
            with tf.control_dependencies([queue.enqueue(values)]):
                return [tf.identity(v) for v in values]

        def exchange() -> list[Any]:
            taken = as_list(queue.dequeue())
            with tf.control_dependencies(taken):
                with tf.control_dependencies([queue.enqueue(values)]):
                    chosen = tf.random_uniform((), dtype=tf.float32) < pooling_probability
                    return tf.cond(chosen, lambda: taken, lambda: values)

        found = as_list(tf.cond(queue.size() < pool_size, put, exchange))
        for given, out in zip(values, found):
            out.set_shape(given.shape)
    return nest.pack_sequence_as(input_values, found)
