"""Statistics of samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.distributions.arguments import with_checks
from weft.framework.constant_value import constant_value
from weft.framework.export import export

# Which of two neighbours stands for what lies between them, counted from the greatest
_ROUNDING: dict[str, Callable] = {"lower": tf.ceil, "higher": tf.floor, "nearest": tf.round}


@export("contrib.distributions.percentile")
def percentile(
    x: Any,
    q: Any,
    axis: Any = None,
    interpolation: str | None = None,
    keep_dims: bool = False,
    validate_args: bool = False,
    name: str | None = None,
) -> Any:
    """The element of `x` that `q` percent of the elements along `axis` (or of all) are not greater than.

    Between two elements it is the nearest, the lower or the higher one.
    """
    rounded = _ROUNDING.get(interpolation or "nearest")
    if rounded is None:
        raise ValueError(
            f"Argument 'interpolation' must be in {sorted(_ROUNDING)}.  Found {interpolation}"
        )
    with tf.name_scope(name or "percentile", values=[x, q]):
        x = tf.convert_to_tensor(x, name="x")
        q = tf.cast(q, tf.float64, name="q")
        if q.shape.ndims not in (None, 0):
            raise ValueError(f"q must be a number, but has the shape {q.shape}")
        if validate_args:
            zero, most = tf.cast(0.0, tf.float64), tf.cast(100.0, tf.float64)
            q = with_checks([tf.assert_greater_equal(q, zero), tf.assert_less_equal(q, most)], q)
        rows, kept = _as_rows(x, axis)
        d = tf.shape(rows)[-1]
        at = rounded(tf.cast(d - 1, tf.float64) * (1.0 - q / 100.0))
        index = tf.clip_by_value(tf.cast(at, tf.int32), 0, d - 1)
        result = tf.sort(rows, direction="DESCENDING")[..., index]
        return tf.reshape(result, kept) if keep_dims else result


def _as_rows(x: Any, axis: Any) -> tuple[Any, Any]:
    """The axes as one, the last; and the shape in which they are of size 1."""
    if axis is None:
        return tf.reshape(x, [-1]), tf.ones_like(tf.shape(x))
    known = constant_value(tf.convert_to_tensor(axis, name="axis"))
    if known is None:
        raise ValueError(f"Expected argument 'axis' to be statically available.  Found: {axis}")
    ndims = x.shape.ndims
    if ndims is None:
        raise ValueError("Expected argument 'x' to have a known rank.")
    axes = [int(a) for a in known.reshape(-1)]
    if not all(-ndims <= a < ndims for a in axes):
        raise ValueError(f"axis {axes} is out of bounds for {ndims} axes")
    axes = [a % ndims for a in axes]
    others = [a for a in range(ndims) if a not in axes]
    shape = tf.shape(x)
    of_others = tf.gather(shape, tf.constant(others, tf.int32))
    rows = tf.reshape(tf.transpose(x, others + axes), tf.concat([of_others, [-1]], 0))
    kept = [1 if a in axes else shape[a] for a in range(ndims)]
    return rows, tf.stack(kept)
