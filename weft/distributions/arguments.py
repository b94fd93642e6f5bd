"""What constructors and functions of distributions check and convert."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

import weft as tf


def after(checks: list[Any]) -> Any:
    """A `with` block whose operations wait for checks; those that were done at once are None."""
    return tf.control_dependencies([check for check in checks if check is not None])


def with_checks(checks: list[Any], tensor: Any) -> Any:
    """The tensor, once the checks have passed."""
    with after(checks):
        return tf.identity(tensor)


def another_seed(seed: Any, salt: str) -> Any:
    """A seed that follows from a seed: TensorFlow's, so that samples are the same."""
    if seed is None:
        return None
    digest = hashlib.md5(f"{seed}{salt}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) & 0x7FFFFFFF


def nan_where_not(defined: Any, value: Any) -> Any:
    """A statistic where it is defined, NaN elsewhere."""
    nan = tf.constant(np.nan, dtype=value.dtype.base_dtype, name="nan")
    return tf.where_v2(defined, value, nan)


def integer_form(x: Any, message: str | None = None, int_dtype: Any = None) -> Any:
    """A check that all elements are whole numbers."""
    x = tf.convert_to_tensor(x, name="x")
    if x.dtype.is_integer:
        return None
    if int_dtype is None:
        of = {tf.float16: tf.int16, tf.float32: tf.int32, tf.float64: tf.int64}
        if x.dtype.base_dtype not in of:
            raise TypeError(f"Unrecognized type {x.dtype.name}")
        int_dtype = of[x.dtype.base_dtype]
    whole = tf.cast(tf.cast(x, int_dtype), x.dtype)
    message = message or f"{x} has non-integer components"
    return tf.assert_equal(x, whole, message=message)


def counts(x: Any) -> Any:
    """Numbers, checked to be whole and not negative."""
    with tf.name_scope("embed_check_nonnegative_integer_form", values=[x]):
        x = tf.convert_to_tensor(x, name="x")
        checks = [tf.assert_non_negative(x, message=f"'{x}' must be non-negative.")]
        checks.append(integer_form(x, f"'{x}' cannot contain fractional components."))
        return with_checks(checks, x)


def casts_to(x: Any, target: Any, nonnegative: bool = True) -> Any:
    """Numbers, checked not to change when they are cast to an integer dtype, and not to be negative."""
    with tf.name_scope("embed_check_casting_closed", values=[x]):
        x = tf.convert_to_tensor(x, name="x")
        checks = []
        if nonnegative:
            checks.append(tf.assert_non_negative(x, message="Elements must be non-negative."))
        if x.dtype.is_floating:
            message = f"Elements must be {target.name}-equivalent."
            checks.append(integer_form(x, message, target))
        elif _largest(x.dtype) > _largest(target):
            most = _largest(target)
            message = f"Elements cannot exceed {most}."
            checks.append(tf.assert_less_equal(x, tf.cast(most, x.dtype), message=message))
        return with_checks(checks, x)


def _largest(dtype: Any) -> int:
    """The largest integer of an integer dtype, or up to which a floating one has them all."""
    dtype = dtype.base_dtype
    if dtype == tf.bool:
        return 1
    if dtype.is_floating:
        return int(2 ** (np.finfo(dtype.as_numpy_dtype).nmant + 1))
    return int(np.iinfo(dtype.as_numpy_dtype).max)


def categories(x: Any) -> Any:
    """Parameters of a distribution over categories, of which there must be two, and not too many."""
    with tf.name_scope("embed_check_categorical_event_shape", values=[x]):
        x = tf.convert_to_tensor(x, name="categorical_param")
        if not x.dtype.is_floating:
            raise TypeError(f"Unable to validate size of unrecognized dtype ({x.dtype.name}).")
        most = min(_largest(x.dtype), np.iinfo(np.int32).max)
        if x.shape.ndims == 0:
            raise ValueError("A categorical-distribution parameter must have at least 1 dimension.")
        size = None if x.shape.ndims is None else x.shape.as_list()[-1]
        too_many = f"Number of classes exceeds `dtype` precision, i.e., {x.dtype.name} "
        too_few = "A categorical-distribution parameter must have at least 2 events."
        if size is not None:
            if size < 2:
                raise ValueError(too_few)
            if size > most:
                raise ValueError(too_many + f"implies shape ({size}) cannot exceed {most}.")
            return x
        last = tf.shape(x, name="x_shape")[-1]
        rank = "A categorical-distribution parameter must have at least 1 dimension."
        checks = [
            tf.assert_rank_at_least(x, 1, message=rank),
            tf.assert_greater_equal(last, 2, message=too_few),
            tf.assert_less_equal(
                last, most, message=too_many + f"dtype cannot exceed {most} shape."
            ),
        ]
        return with_checks(checks, x)


def logits_and_probs(
    logits: Any = None,
    probs: Any = None,
    multidimensional: bool = False,
    validate_args: bool = False,
    name: str = "get_logits_and_probs",
    dtype: Any = None,
) -> tuple[Any, Any]:
    """Both, from whichever of the two is given."""
    with tf.name_scope(name, values=[probs, logits]):
        if (probs is None) == (logits is None):
            raise ValueError("Must pass probs or logits, but not both.")
        if probs is None:
            logits = tf.convert_to_tensor(logits, name="logits", dtype=dtype)
            if not logits.dtype.is_floating:
                raise TypeError("logits must having floating type.")
            if not multidimensional:
                return logits, tf.sigmoid(logits, name="probs")
            if validate_args:
                logits = categories(logits)
            return logits, tf.nn.softmax(logits, name="probs")
        probs = tf.convert_to_tensor(probs, name="probs", dtype=dtype)
        if not probs.dtype.is_floating:
            raise TypeError("probs must having floating type.")
        if validate_args:
            probs = _checked_probs(probs, multidimensional)
        with tf.name_scope("logits"):
            if multidimensional:
                return tf.log(probs), probs
            return tf.log(probs) - tf.log1p(-probs), probs


def _checked_probs(probs: Any, multidimensional: bool) -> Any:
    with tf.name_scope("validate_probs"):
        one = tf.constant(1.0, probs.dtype.base_dtype)
        checks = [tf.assert_non_negative(probs)]
        if multidimensional:
            probs = categories(probs)
            total = tf.reduce_sum(probs, -1)
            checks.append(tf.assert_near(total, one, message="probs does not sum to 1."))
        else:
            message = "probs has components greater than 1."
            checks.append(tf.assert_less_equal(probs, one, message=message))
        return with_checks(checks, probs)


def log_combinations(n: Any, counts: Any) -> Any:
    """The logarithm of n! over the product of the counts' factorials, along the last axis."""
    with tf.name_scope("log_combinations", values=[n, counts]):
        n = tf.convert_to_tensor(n, name="n")
        counts = tf.convert_to_tensor(counts, name="counts")
        return tf.math.lgamma(n + 1.0) - tf.reduce_sum(tf.math.lgamma(counts + 1.0), axis=[-1])


def same_float_dtype(*tensors: Any) -> None:
    """Raises unless all are floating-point numbers of one dtype."""
    tf.debugging.assert_same_float_dtype(list(tensors))
