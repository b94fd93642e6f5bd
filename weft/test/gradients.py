"""Symbolic gradients against numeric ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import context, dtypes
from weft.framework.gradients import gradients
from weft.framework.indexed_slices import IndexedSlices


def _product(shape: Any) -> int:
    return int(np.prod([int(d) for d in shape], dtype=np.int64))


def _real_parts(dtype: Any) -> tuple[Any, int]:
    """The dtype of the parts of a number, and how many there are."""
    if dtype is np.complex64:
        return np.float32, 2
    if dtype is np.complex128:
        return np.float64, 2
    return dtype, 1


def _theoretical(
    x: Any, x_shape: Any, x_data: np.ndarray, dy: Any, dy_shape: Any, dx: Any, feeds: dict
) -> np.ndarray:
    session = context.get_default_session()
    part, scale = _real_parts(x.dtype.base_dtype.as_numpy_dtype)
    dtype = dy.dtype.base_dtype.as_numpy_dtype
    dy_part, dy_scale = _real_parts(dtype)
    x_size, dy_size = _product(x_shape) * scale, _product(dy_shape) * dy_scale
    if isinstance(dx, IndexedSlices):
        from weft.framework.conversion import convert_to_tensor

        dx = convert_to_tensor(dx)
    jacobian = np.zeros((x_size, dy_size), part)
    dy_data = np.zeros(dy_shape, dtype)
    flat = dy_data.ravel().view(dy_part)
    for column in range(dy_size):
        flat[column] = 1
        value = session.run(dx, {**feeds, x: x_data, dy: flat.view(dtype).reshape(dy_shape)})
        jacobian[:, column] = np.ascontiguousarray(value).ravel().view(part)
        flat[column] = 0
    if dy_size == 0:
        value = session.run(dx, {**feeds, x: x_data, dy: dy_data})
        if value.shape != x_data.shape:
            raise ValueError(
                f"Empty gradient has wrong shape: expected {x_data.shape}, got {value.shape}"
            )
        if np.any(value):
            raise ValueError("Empty tensor with nonzero gradients")
    return jacobian


def _numeric(
    x: Any, x_shape: Any, x_data: np.ndarray, y: Any, y_shape: Any, delta: float, feeds: dict
) -> np.ndarray:
    session = context.get_default_session()
    y_part, y_scale = _real_parts(y.dtype.base_dtype.as_numpy_dtype)
    dtype = x.dtype.base_dtype.as_numpy_dtype
    part, scale = _real_parts(dtype)
    if x.dtype.base_dtype is dtypes.bfloat16:
        x_part: Any = np.float32
    else:
        x_part = part
    x_size, y_size = _product(x_shape) * scale, _product(y_shape) * y_scale
    jacobian = np.zeros((x_size, y_size), x_part)
    flat = x_data.ravel().view(part)

    def at(row: int, value: Any) -> np.ndarray:
        changed = flat.copy()
        changed[row] = value
        out = session.run(y, {**feeds, x: changed.view(dtype).reshape(x_shape)})
        return np.ascontiguousarray(out).ravel().view(y_part).astype(x_part)

    for row in range(x_size):
        jacobian[row] = (at(row, flat[row] + part(delta)) - at(row, flat[row] - part(delta))) / (
            2 * delta
        )
    return jacobian


def _one(
    x: Any,
    x_shape: Any,
    dx: Any,
    y: Any,
    y_shape: Any,
    dy: Any,
    x_init_value: Any,
    delta: float,
    feeds: dict,
) -> tuple[np.ndarray, np.ndarray]:
    floating = (
        dtypes.float16,
        dtypes.bfloat16,
        dtypes.float32,
        dtypes.float64,
        dtypes.complex64,
        dtypes.complex128,
    )
    if x.dtype.base_dtype not in floating:
        raise ValueError(f"Don't know how to handle dtype {x.dtype.base_dtype.name}")
    dtype = x.dtype.base_dtype.as_numpy_dtype
    if x_init_value is None:
        state = np.random.RandomState(0)
        data = state.random_sample(tuple(int(d) for d in x_shape))
        if x.dtype.is_complex:
            data = data + 1j * state.random_sample(data.shape)
        x_data = np.asarray(data, dtype)
    else:
        x_data = np.asarray(x_init_value, dtype)
        if list(x_data.shape) != [int(d) for d in x_shape]:
            raise ValueError(f"x_init_value has shape {x_data.shape}, not {tuple(x_shape)}")
    return (
        _theoretical(x, x_shape, x_data, dy, y_shape, dx, feeds),
        _numeric(x, x_shape, x_data, y, y_shape, delta, feeds),
    )


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """Computes the jacobian of `y` with respect to `x` symbolically and numerically, in the default session."""
    if init_targets is not None:
        for init in init_targets if isinstance(init_targets, (list, tuple)) else [init_targets]:
            init.run()
    feeds = dict(extra_feed_dict or {})
    xs = x if isinstance(x, (list, tuple)) else [x]
    shapes = x_shape if isinstance(x, (list, tuple)) else [x_shape]
    inits = (
        x_init_value
        if isinstance(x, (list, tuple)) and x_init_value is not None
        else [x_init_value] * len(xs)
    )
    # The gradient is taken for a dy that is fed, one element at a time.
    from weft.framework.export import find

    dy = find("", "ones", "tf")(y_shape, dtype=y.dtype.base_dtype)
    grads = gradients(y, list(xs), dy)
    for one, grad in zip(xs, grads):
        if grad is None:
            raise ValueError(f"y does not depend on {one}")
    results = []
    for one, shape, grad, init in zip(xs, shapes, grads, inits):
        others = {o: i for o, i in zip(xs, inits) if o is not one and i is not None}
        results.append(_one(one, shape, grad, y, y_shape, dy, init, delta, {**feeds, **others}))
    return results if isinstance(x, (list, tuple)) else results[0]


def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> float:
    """Returns the greatest difference of symbolic and numeric gradients."""
    found = compute_gradient(
        x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
    )
    error = 0.0
    for symbolic, numeric in found if isinstance(found, list) else [found]:
        if symbolic.size or numeric.size:
            error = np.maximum(error, np.fabs(symbolic - numeric).max())
    return error
