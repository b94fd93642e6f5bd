"""Jacobians: one gradient for each element of the target."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from weft.eager.backward import source_tensor
from weft.framework import conversion, gradients, registry
from weft.framework.shape_rules import is_full
from weft.framework.tensor import Tensor


def jacobian(tape: Any, target: Any, sources: list[Any], unconnected: Any) -> list[Any]:
    """The derivatives of each element of the target with respect to each of the sources."""
    target = conversion.convert_to_tensor(target)
    if not is_full(target._dims):
        raise ValueError(
            f"The jacobian needs the static shape of the target, which is {target.shape}: one gradient is computed "
            "for each element."
        )
    n = math.prod(target._dims)
    rows = []
    if tape._recording:
        tape._pop()
    for i in range(n):
        seed = np.zeros(n, target.dtype.base_dtype.np)
        seed[i] = 1
        rows.append(tape.gradient(target, sources, _like(seed, target), unconnected))
    return [
        _stacked([row[j] for row in rows], 0, [target], source, n)
        for j, source in enumerate(sources)
    ]


def batch_jacobian(tape: Any, target: Any, source: Any, unconnected: Any) -> Any:
    """For each example of a batch, the jacobian of the target's with respect to the source's."""
    target = conversion.convert_to_tensor(target)
    dims = target._dims
    if not is_full(dims[1:]):
        raise ValueError(
            f"The batch_jacobian needs the static shape of the target's examples; the target is {target.shape}."
        )
    n = math.prod(dims[1:])
    rows = []
    if tape._recording:
        tape._pop()
    for i in range(n):
        example = np.zeros(n, target.dtype.base_dtype.np)
        example[i] = 1
        seed = registry.get("BroadcastTo")(example.reshape(dims[1:]), registry.get("Shape")(target))
        rows.append(tape.gradient(target, source, seed, unconnected))
    if not rows:
        shape = _shape(target, source, 1)
        return registry.get("Fill")(shape, np.zeros((), target.dtype.base_dtype.np))
    if any(r is None for r in rows):
        return None
    packed = registry.get("Pack")([conversion.convert_to_tensor(r) for r in rows], axis=1)
    result = registry.get("Reshape")(packed, _shape(target, source, 1))
    return result


def check_batches(target: Any, source: Any) -> None:
    """Raises ValueError unless both are batches of the same size."""
    a, b = (
        target._dims,
        source._dims if isinstance(source, Tensor) else tuple(source.shape.as_list()),
    )
    if a is None or b is None or len(a) < 2 or len(b) < 2:
        raise ValueError(
            f"The target and the source must have rank at least 2, got {target.shape} and {source.shape}."
        )
    if a[0] is not None and b[0] is not None and a[0] != b[0]:
        raise ValueError(
            f"Need first dimension of target shape ({target.shape}) and source shape ({source.shape}) to match."
        )


def _like(seed: np.ndarray, target: Any) -> Any:
    return conversion.convert_to_tensor(seed.reshape(target._dims), dtype=target.dtype.base_dtype)


def _shape(target: Any, source: Any, skipped: int) -> Any:
    """The target's shape followed by the source's, without `skipped` leading axes."""
    source = conversion.convert_to_tensor(source)
    after = source._dims[skipped:] if source._dims is not None else None
    if is_full(target._dims) and after is not None and is_full(after):
        return np.array([*target._dims, *after], np.int32)
    of = registry.get("Shape")
    tail = of(source)
    if skipped:
        tail = registry.get("Slice")(tail, [skipped], [-1])
    return registry.get("ConcatV2")([of(target), tail], 0)


def _stacked(parts: list[Any], axis: int, targets: list[Any], source: Any, n: int) -> Any:
    (target,) = targets
    if n == 0:
        return registry.get("Fill")(
            _shape(target, source, 0), np.zeros((), target.dtype.base_dtype.np)
        )
    if any(p is None for p in parts):
        return None
    parts = [conversion.convert_to_tensor(p) for p in parts]
    return registry.get("Reshape")(
        registry.get("Pack")(parts, axis=axis), _shape(target, source, 0)
    )


__all__ = ["batch_jacobian", "check_batches", "gradients", "jacobian", "source_tensor"]
