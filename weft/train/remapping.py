"""Initializers that take over the rows or columns of a matrix in a checkpoint whose vocabulary was another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import weft as tf


def remapped(
    ckpt_path: str,
    old_tensor_name: str,
    new_row_vocab_offset: int,
    num_rows_to_load: int,
    new_col_vocab_size: int,
    initializer: Callable,
    old_row_vocab_size: int = -1,
    old_row_vocab_file: str | None = None,
    new_row_vocab_file: str | None = None,
    old_col_vocab_file: str | None = None,
    new_col_vocab_file: str | None = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    max_rows_in_memory: int = -1,
) -> Any:
    """A matrix with the rows (or columns) of a checkpoint's matrix that belong to the same words.

    What is new, and the buckets behind the words, is as the initializer makes it.
    """
    for what, count in (("row", num_row_oov_buckets), ("col", num_col_oov_buckets)):
        if count < 0:
            raise ValueError(f"num_{what}_oov_buckets must be >= 0, but received {count}")
    for what, old, new in (
        ("row", old_row_vocab_file, new_row_vocab_file),
        ("col", old_col_vocab_file, new_col_vocab_file),
    ):
        if bool(old) != bool(new):
            raise ValueError(
                f"old_{what}_vocab_file and new_{what}_vocab_file must both be specified or left unspecified. "
                f"old_{what}_vocab_file='{old}', new_{what}_vocab_file='{new}'"
            )
    if not (new_row_vocab_file or new_col_vocab_file):
        raise ValueError(
            "Must provide either row or column vocab files. If no remapping is necessary, consider using "
            "`tf.train.init_from_checkpoint` instead."
        )
    rows_there: Any = num_rows_to_load
    if new_row_vocab_file:
        rows, rows_there = tf.raw_ops.GenerateVocabRemapping(
            new_vocab_file=new_row_vocab_file,
            old_vocab_file=old_row_vocab_file,
            new_vocab_offset=new_row_vocab_offset,
            num_new_vocab=num_rows_to_load,
            old_vocab_size=old_row_vocab_size,
        )
    else:
        end = new_row_vocab_offset + num_rows_to_load
        rows = tf.range(new_row_vocab_offset, end, dtype=tf.int64)
    cols: Any = tf.constant([], tf.int64)
    cols_there: Any = new_col_vocab_size
    if new_col_vocab_file:
        cols, cols_there = tf.raw_ops.GenerateVocabRemapping(
            new_vocab_file=new_col_vocab_file,
            old_vocab_file=old_col_vocab_file,
            new_vocab_offset=0,
            num_new_vocab=new_col_vocab_size,
        )
    missing = num_rows_to_load * new_col_vocab_size - rows_there * cols_there
    matrix = tf.raw_ops.LoadAndRemapMatrix(
        ckpt_path=ckpt_path,
        old_tensor_name=old_tensor_name,
        row_remapping=rows,
        col_remapping=cols,
        initializing_values=initializer([missing, 1]),
        num_rows=num_rows_to_load,
        num_cols=new_col_vocab_size,
        max_rows_in_memory=max_rows_in_memory,
    )
    if num_row_oov_buckets:
        more = initializer([num_row_oov_buckets, new_col_vocab_size])
        matrix = tf.concat([matrix, more], 0)
    if num_col_oov_buckets:
        more = initializer([num_rows_to_load + num_row_oov_buckets, num_col_oov_buckets])
        matrix = tf.concat([matrix, more], 1)
    return matrix


def remapping_initializer(
    ckpt_path: str,
    old_tensor_name: str,
    new_row_vocab_size: int,
    new_col_vocab_size: int,
    initializer: Callable | None = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    **how: Any,
) -> Callable:
    """An initializer of variables that `remapped` makes the values of, also of partitions of one."""
    make = tf.zeros_initializer() if initializer is None else initializer
    if not callable(make):
        raise TypeError(
            f"initializer must be callable, instead of being {make} of type {type(make)}."
        )
    width, height = (
        new_col_vocab_size + num_col_oov_buckets,
        new_row_vocab_size + num_row_oov_buckets,
    )

    def initial(shape: Sequence[int], dtype: Any = tf.float32, partition_info: Any = None) -> Any:
        if dtype != tf.float32:
            raise TypeError(f"Currently, only float32 is supported. Received dtype: {dtype}")
        if len(shape) != 2:
            raise ValueError(f"Expected 2-dim shape, but received: {shape}")
        if shape[0] <= 0:
            raise ValueError(f"Expected 1st dim of shape to be > 0, but received shape: {shape}")
        if shape[1] != width:
            raise ValueError(
                f"Expected 2nd dim of shape to be new_col_vocab_size ({new_col_vocab_size}) + num_col_oov_buckets "
                f"({num_col_oov_buckets}) = {width}, but received shape: {shape}"
            )
        offset = 0 if partition_info is None else partition_info.single_offset(shape)
        if offset + shape[0] > height:
            raise ValueError(
                f"Trying to initialize {shape[0]} additional rows after {offset} rows have already been "
                f"initialized, which would exceed expected total row count of new_row_vocab_size "
                f"({new_row_vocab_size}) + num_row_oov_buckets ({num_row_oov_buckets}) = {height}."
            )
        buckets = min(shape[0], max(0, offset + shape[0] - new_row_vocab_size))
        if buckets == shape[0] and offset > new_row_vocab_size:
            return make(shape)  # a partition of nothing but buckets
        return remapped(
            ckpt_path,
            old_tensor_name,
            offset,
            shape[0] - buckets,
            new_col_vocab_size,
            make,
            num_row_oov_buckets=buckets,
            num_col_oov_buckets=num_col_oov_buckets,
            **how,
        )

    return initial
