"""Axes and vectors of one data format in terms of another, as layout rewriting needs them."""

from __future__ import annotations

import numpy as np

from weft.framework import errors
from weft.framework.registry import op
from weft.framework.shape_rules import ShapeError, text

_ATTRS = (
    "T: type in {int32, int64} = int32; src_format: string = 'NHWC'; dst_format: string = 'NCHW'"
)


def _check(source: str, target: str) -> None:
    for what, given in (("Source", source), ("Destination", target)):
        if len(given) not in (4, 5):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{what} format must be of length 4 or 5, received {what.lower()[:3]}_format = {given}",
            )
        if len(set(given)) != len(given):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Destination and source format must determine a permutation, got {source} and {target}",
            )
    if set(source) != set(target):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Destination and source format must determine a permutation, got {source} and {target}",
        )


@op("DataFormatDimMap", "x: T -> y: T", _ATTRS)
def data_format_dim_map(xp, x, *, src_format, dst_format):
    """Where axes of the source format stand in the destination format."""
    _check(src_format, dst_format)
    rank = len(src_format)
    order = np.array([dst_format.index(axis) for axis in src_format], x.dtype)
    return xp.asarray(order)[(x % rank).astype(xp.int32)]


data_format_dim_map.shape(lambda x: x)
data_format_dim_map.not_differentiable()


@op("DataFormatVecPermute", "x: T -> y: T", _ATTRS)
def data_format_vec_permute(xp, x, *, src_format, dst_format):
    """A vector with one item (or row) for each axis, put into the order of the destination format."""
    _check(src_format, dst_format)
    if x.shape[0] != len(src_format):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"input must have {len(src_format)} items in its first dimension, but got shape {text(tuple(x.shape))}",
        )
    return x[np.array([src_format.index(axis) for axis in dst_format])]


@data_format_vec_permute.shape
def _(x):
    if x is None:
        return None
    if len(x) not in (1, 2):
        raise ShapeError(f"input must be a vector or 2D tensor, but got shape {text(x)}")
    if len(x) == 2 and x[1] not in (None, 2):
        raise ShapeError(f"Second dimension of 2D input must be of size 2, but got shape {text(x)}")
    return x


data_format_vec_permute.not_differentiable()
