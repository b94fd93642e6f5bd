"""What the classes of operators check of arguments and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import weft as tf
from weft.framework.constant_value import constant_value


def no_entries_with_modulus_zero(x: Any, message: str) -> Any:
    """An operation that fails if an element is zero."""
    x = tf.convert_to_tensor(x, name="x")
    zero = tf.constant(0, x.dtype.base_dtype.real_dtype)
    return tf.debugging.assert_less(zero, tf.abs(x), message=message)


def zero_imaginary_part(x: Any, message: str) -> Any:
    """An operation that fails if an element is not real."""
    x = tf.convert_to_tensor(x, name="x")
    if not x.dtype.is_complex:
        return tf.no_op()
    zero = tf.constant(0, x.dtype.base_dtype.real_dtype)
    return tf.debugging.assert_equal(zero, tf.imag(x), message=message)


def at_least_rank(x: Any, rank: int, name: str) -> None:
    if x.shape.ndims is not None and x.shape.ndims < rank:
        plural = "s" * (rank > 1)
        raise ValueError(
            f"Argument {name} must have at least {rank} dimension{plural}.  Found: {x}"
        )


def must_be(hint: bool | None, otherwise: str) -> bool:
    """True, which the hint must not deny."""
    if hint is False:
        raise ValueError(otherwise)
    return True


def agreed_hint(own: bool | None, given: bool | None, contradiction: str) -> bool | None:
    """What is known from the operator and the caller, who must not contradict each other."""
    if own is not None and given is not None and bool(own) != bool(given):
        raise ValueError(contradiction)
    return given if own is None else own


def same_dtype(operators: Sequence[Any]) -> Any:
    """The type of all operators."""
    dtype = operators[0].dtype
    if any(operator.dtype != dtype for operator in operators):
        found = "   ".join(f"({o.name!r}, {o.dtype})" for o in operators)
        raise TypeError(f"Expected all operators to have the same dtype.  Found {found}")
    return dtype


def listed(operators: Any) -> list[Any]:
    """The operators as a list, of one at least."""
    if isinstance(operators, (tf.Tensor, str, bytes)) or not hasattr(operators, "__iter__"):
        raise TypeError(
            f"Expected argument to be a proper iterable of operators, found: {operators}"
        )
    operators = list(operators)
    if not operators:
        raise ValueError(
            f"Expected a non-empty list of operators, >=1 operators. Found: {operators}"
        )
    return operators


def parents_of(operators: Sequence[Any]) -> list[Any]:
    return [parent for operator in operators for parent in operator.graph_parents]


def size_argument(value: Any, name: str, rank: int, at_run_time: bool) -> tuple[Any, Any]:
    """(a number of rows or a batch shape as a tensor, its value where it is known), checked."""
    if isinstance(value, tf.Variable):
        raise TypeError(f"Argument {name} cannot be reference type. Found: {type(value)}")
    kind = tf.int32 if isinstance(value, (list, tuple)) and not len(value) else None
    if isinstance(value, tf.TensorShape):
        value, kind = value.as_list(), tf.int32
    tensor = tf.convert_to_tensor(value, dtype=kind, name=name)
    known = constant_value(tensor)
    if not tensor.dtype.is_integer:
        raise TypeError(f"Argument {name} must be integer type.  Found: {tensor}")
    if known is not None:
        if known.ndim != rank:
            raise ValueError(f"Argument {name} must be a {rank}-D Tensor.  Found: {known}")
        if np.any(known < 0):
            raise ValueError(f"Argument {name} must be non-negative.  Found: {known}")
    if at_run_time:
        checks = [
            tf.debugging.assert_rank(
                tensor, rank, message=f"Argument {name} must be a {rank}-D Tensor."
            ),
            tf.debugging.assert_non_negative(
                tensor, message=f"Argument {name} must be non-negative."
            ),
        ]
        with tf.control_dependencies([check for check in checks if check is not None]):
            tensor = tf.identity(tensor)
    return tensor, known
