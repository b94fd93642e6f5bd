"""Sums over all axes but the last."""

from __future__ import annotations

from typing import Any

import numpy as np


def channel_sum(xp: Any, x: Any) -> Any:
    """The sum of [..., channels] over everything but the channels, in float32 at least.

    XLA's loops over such sums are slow on a CPU; as a product with a row of ones they are 4 to 20
    times as quick (measured: 1568 x 512 floats 2.5 ms of processor time against 0.12).
    """
    flat = x.reshape(-1, x.shape[-1])
    wide = xp.float32 if flat.dtype.itemsize == 2 else flat.dtype
    if xp.is_numpy or np.dtype(flat.dtype).kind != "f" or flat.size == 0:
        return flat.sum(axis=0, dtype=wide)

    def product(x: Any) -> Any:
        ones = xp.ones((1, x.shape[0]), wide)
        return xp.matmul(ones, x.astype(wide), precision="highest")[0]

    def loop(x: Any) -> Any:
        return x.sum(axis=0, dtype=wide)

    return xp.lax.platform_dependent(flat, cpu=product, default=loop)
