"""Queues that a tensor's rows go through again and again, in another order each time: where input begins."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework import context
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.framework.tensor import Tensor
from weft.ops.queues.queue_base import FIFOQueue
from weft.train.queue_runner import QueueRunner, add_queue_runner


def refuse_eager(kind: type[Exception]) -> None:
    """Queues are filled by threads that run steps of a session."""
    if context.executing_eagerly():
        raise kind(
            "Input pipelines based on Queues are not supported when eager execution is enabled. Please use "
            "tf.data to ingest data into your model instead."
        )


@export("io.match_filenames_once", "train.match_filenames_once")
def match_filenames_once(pattern: Any, name: str | None = None) -> Any:
    """Returns a local variable with the names of the files that match when it is initialized."""
    with tf.name_scope(name, "matching_filenames", [pattern]) as name:
        return tf.Variable(
            name=name,
            initial_value=tf.io.matching_files(pattern),
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


@export("train.limit_epochs")
def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Returns a tensor that can be evaluated `num_epochs` times; after that it raises OutOfRangeError."""
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with tf.name_scope(name, "limit_epochs", [tensor]) as name:
        epochs = tf.Variable(
            tf.constant(0, dtype=tf.int64),
            name="epochs",
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
        with tf.control_dependencies([epochs.count_up_to(num_epochs)]):
            return tf.identity(tensor, name=name)


@export("train.input_producer")
def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """Returns a queue with the rows of a tensor, and adds the queue runner that fills it."""
    refuse_eager(RuntimeError)
    with tf.name_scope(name, "input_producer", [input_tensor]):
        input_tensor = tf.convert_to_tensor(input_tensor, name="input_tensor")
        element_shape = input_tensor.shape[1:].merge_with(element_shape)
        if not element_shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be specified"
            )
        if shuffle:
            input_tensor = tf.random_shuffle(input_tensor, seed=seed)
        input_tensor = limit_epochs(input_tensor, num_epochs)
        named = {} if name is None else {"name": name}
        queue = FIFOQueue(
            capacity=capacity,
            dtypes=[input_tensor.dtype.base_dtype],
            shapes=[element_shape],
            shared_name=shared_name,
            **named,
        )
        enqueue = queue.enqueue_many([input_tensor])
        add_queue_runner(QueueRunner(queue, [enqueue], cancel_op=cancel_op))
        if summary_name is not None:
            tf.summary.scalar(summary_name, tf.cast(queue.size(), tf.float32) * (1.0 / capacity))
        return queue


@export("train.string_input_producer")
def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """Returns a queue of strings, such as file names, and adds the queue runner that fills it."""
    complaint = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, Tensor) and not string_tensor:
        raise ValueError(complaint)
    with tf.name_scope(name, "input_producer", [string_tensor]) as name:
        string_tensor = tf.convert_to_tensor(string_tensor, dtype=tf.string)
        some = tf.Assert(tf.greater(tf.size(string_tensor), 0), [complaint])
        with tf.control_dependencies([some]):
            string_tensor = tf.identity(string_tensor)
        return input_producer(
            input_tensor=string_tensor,
            element_shape=[],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
            name=name,
            summary_name=f"fraction_of_{capacity}_full",
            cancel_op=cancel_op,
        )


@export("train.range_input_producer")
def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> FIFOQueue:
    """Returns a queue of the numbers below `limit`, and adds the queue runner that fills it."""
    with tf.name_scope(name, "input_producer", [limit]) as name:
        return input_producer(
            tf.range(limit),
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            name,
        )


@export("train.slice_input_producer")
def slice_input_producer(
    tensor_list: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Any]:
    """Returns one row of each tensor, the same in all, another one in each step."""
    with tf.name_scope(name, "input_producer", tensor_list):
        tensors = [tf.convert_to_tensor_or_indexed_slices(t) for t in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        queue = range_input_producer(
            tf.shape(tensors[0])[0],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
        )
        index = queue.dequeue()
        return [tf.gather(t, index) for t in tensors]
