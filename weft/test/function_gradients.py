"""Gradients of Python functions, by tape or graph, against numeric ones (`compute_gradient` of TensorFlow 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.framework import context, conversion, dtypes
from weft.framework.export import export
from weft.framework.gradients import gradients
from weft.ops.array.constant import placeholder
from weft.ops.math.cast import cast


class _Graphed:
    """A function of arrays, run in the default session; it is built once."""

    def __init__(self, function: Callable, types: list[Any]):
        self.inputs = [placeholder(t) for t in types]
        self.output = function(*self.inputs)

    def __call__(self, *values: Any) -> Any:
        session = context.get_default_session()
        return session.run(self.output, dict(zip(self.inputs, values)))


def _prepared(function: Callable, types: list[Any]) -> Callable:
    """A function of arrays that gives an array."""
    if not context.executing_eagerly():
        return _Graphed(function, types)

    def run(*values: Any) -> Any:
        result = function(*map(conversion.convert_to_tensor, values))
        if getattr(result, "_is_indexed_slices", False):
            result = conversion.convert_to_tensor(result)
        return result.numpy()

    return run


def _gradient_function(function: Callable, index: int) -> Callable:
    """The function `(dy, *xs)` that gives the gradient with respect to one of the arguments."""

    def gradient(dy: Any, *xs: Any) -> Any:
        if not context.executing_eagerly():
            return gradients(function(*xs), [xs[index]], grad_ys=[dy])[0]
        from weft.eager.tape import GradientTape

        with GradientTape() as tape:
            tape.watch(xs[index])
            y = function(*xs)
        return tape.gradient(y, xs[index], output_gradients=dy)

    return gradient


def _parts(x: np.ndarray) -> np.ndarray:
    """The elements as a vector of real numbers, two for a complex one."""
    flat = np.ascontiguousarray(x).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _dense(grad: Any) -> np.ndarray:
    """A gradient as an array; that of slices may be a value of them."""
    if hasattr(grad, "indices") and hasattr(grad, "values"):
        out = np.zeros(tuple(grad.dense_shape), np.asarray(grad.values).dtype)
        np.add.at(out, np.asarray(grad.indices), np.asarray(grad.values))
        return out
    return np.asarray(grad)


def _theoretical(function: Callable, xs: list[Any], types: list, y: Any, index: int) -> np.ndarray:
    run = _prepared(_gradient_function(function, index), [dtypes.as_dtype(y.dtype), *types])
    x, dy = xs[index], np.zeros(y.shape, y.dtype)
    flat = _parts(dy)
    jacobian = np.zeros((_parts(x).size, flat.size), _parts(x).dtype)
    for column in range(flat.size):
        flat[column] = 1
        jacobian[:, column] = _parts(_dense(run(flat.view(y.dtype).reshape(y.shape), *xs)))
        flat[column] = 0
    if not flat.size:
        grad = _dense(run(dy, *xs))
        if grad.shape != x.shape:
            raise ValueError(
                f"Empty gradient has wrong shape: expected {x.shape}, got {grad.shape}"
            )
        if grad.any():
            raise ValueError("Empty tensor with nonzero gradients")
    return jacobian


def _numeric(
    function: Callable, xs: list[Any], types: list, y: Any, index: int, delta: float
) -> np.ndarray:
    if dtypes.as_dtype(y.dtype) is dtypes.bfloat16:  # too coarse for differences
        short = function
        function, y = lambda *a: cast(short(*a), dtypes.float32), y.astype(np.float32)
    run = _prepared(function, types)
    x = xs[index].copy()
    values = [*xs[:index], x, *xs[index + 1 :]]
    flat = _parts(x)
    jacobian = np.zeros((flat.size, _parts(y).size), flat.dtype)
    scale = _parts(y).dtype.type(2 * delta)

    def at(row: int, value: Any) -> np.ndarray:
        before, flat[row] = flat[row], value
        values[index] = flat.view(x.dtype).reshape(x.shape)
        out = run(*values)
        flat[row] = before
        return np.asarray(out)

    for row in range(flat.size):
        step = flat.dtype.type(delta)
        difference = at(row, flat[row] + step) - at(row, flat[row] - step)
        jacobian[row] = _parts(difference / scale)
    return jacobian


@export("compat.v2.test.compute_gradient")
def compute_gradient(f: Callable, x: list[Any], delta: float = 1e-3) -> tuple[tuple, tuple]:
    """Computes the jacobians of `f` by its gradients and by differences: two tuples with a matrix for each
    argument, a row for each of its elements and a column for each element of the result."""
    if not isinstance(x, list):
        raise ValueError(f"`x` must be a list of Tensors (arguments to `f`), not a {type(x)}")
    tensors = [conversion.convert_to_tensor(v) for v in x]
    types = [t.dtype.base_dtype for t in tensors]
    session = None if context.executing_eagerly() else context.get_default_session()
    xs = [np.asarray(t.numpy() if session is None else session.run(t)) for t in tensors]
    allowed = (*dtypes.floats, *dtypes.complexes)
    for i, t in enumerate(types):
        if t not in allowed:
            raise TypeError(
                f"Cannot compute gradient for unsupported type {t.name} of argument {i}"
            )
    y = np.asarray(_prepared(f, types)(*xs))
    if dtypes.as_dtype(y.dtype) not in allowed:
        raise TypeError(f"Cannot compute gradient for unsupported type {y.dtype} of y")
    theoretical = tuple(_theoretical(f, xs, types, y, i) for i in range(len(xs)))
    numeric = tuple(_numeric(f, xs, types, y, i, delta) for i in range(len(xs)))
    return theoretical, numeric
