"""Transformations of `tf.contrib.data` that are not in `tf.data.experimental`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft as tf
from weft.data import structure
from weft.data.dataset import DatasetV2
from weft.data.files import TFRecordDataset
from weft.data.readers import make_batched_features_dataset
from weft.data.transformations import Reducer, parallel_interleave

Transformation = Callable[[DatasetV2], DatasetV2]


def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """So many elements as one; a last one of fewer is dropped."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Transformation:
    """So many elements as one, padded; a last one of fewer is dropped."""
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )


def sliding_window_batch(
    window_size: Any, stride: Any = None, window_shift: Any = None, window_stride: Any = 1
) -> Transformation:
    """Batches that overlap: each begins `window_shift` elements (`stride` is its old name) after the one before."""
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = stride if window_shift is None else window_shift

    def number(value: Any, name: str) -> Any:
        return tf.convert_to_tensor(value, dtype=tf.int64, name=name)

    return lambda dataset: dataset._made(
        "SlidingWindowDataset",
        structure.batched(dataset.element_spec, None),
        window_size=number(window_size, "window_size"),
        window_shift=number(1 if shift is None else shift, "window_shift"),
        window_stride=number(window_stride, "window_stride"),
    )


def sloppy_interleave(
    map_func: Callable, cycle_length: Any, block_length: Any = 1
) -> Transformation:
    """Elements of several of the datasets that a function makes, in an order that may differ from run to run."""
    return parallel_interleave(map_func, cycle_length, block_length, sloppy=True)


def reduce_dataset(dataset: DatasetV2, reducer: Reducer) -> Any:
    """What a reducer makes of all elements; its last function is not called."""
    if not isinstance(dataset, DatasetV2):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    return dataset.reduce(reducer.init_func(np.int64(0)), reducer.reduce_func)


def assert_element_shape(expected_shapes: Any) -> Transformation:
    """The elements, whose shapes are what is expected: where that is not known now, each is checked."""

    def apply(dataset: DatasetV2) -> DatasetV2:
        spec = dataset.element_spec
        expected = structure.shapes_like(spec, expected_shapes)
        merged = [
            leaf.shape.merge_with(shape)
            for leaf, shape in zip(structure.flatten(spec), structure.flatten(expected))
        ]

        def checked(*parts: Any) -> Any:
            element = parts if type(spec) is tuple else parts[0]
            out = []
            for tensor, shape in zip(structure.flatten(element), merged):
                if shape.ndims is None or tensor.shape.is_fully_defined():
                    out.append(tensor)
                    continue
                checks = [tf.debugging.assert_rank(tensor, shape.ndims)]
                checks += [
                    tf.debugging.assert_equal(tf.shape(tensor)[axis], size.value)
                    for axis, size in enumerate(shape.dims)
                    if size.value is not None
                ]
                with tf.control_dependencies(checks):
                    tensor = tf.identity(tensor)
                tensor.set_shape(shape)
                out.append(tensor)
            return structure.pack(spec, out)

        return dataset.map(checked)

    return apply


def read_batch_features(
    file_pattern: Any,
    batch_size: int,
    features: dict[str, Any],
    reader: Any = TFRecordDataset,
    reader_args: Any = None,
    randomize_input: bool = True,
    num_epochs: Any = None,
    capacity: int = 10000,
) -> Any:
    """The features of the next batch of serialized Examples in files."""
    dataset = make_batched_features_dataset(
        file_pattern,
        batch_size,
        features,
        reader=reader,
        reader_args=reader_args,
        shuffle=randomize_input,
        num_epochs=num_epochs,
        shuffle_buffer_size=capacity,
    )
    return dataset._make_one_shot_iterator().get_next()
