"""What elements are padded to, and with what: checked and flat, as the op takes it."""

from __future__ import annotations

from typing import Any

import numpy as np

import weft as tf
from weft.data import structure
from weft.framework import conversion
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape
from weft.framework.type_spec import TensorSpec


def padded_shapes(spec: Any, shapes: Any) -> list[Tensor]:
    """The sizes that each component is padded to; -1 for those that follow from the batch."""

    def of(leaf: TensorSpec, shape: Any) -> Tensor:
        try:
            if isinstance(shape, (Tensor, np.ndarray)):
                raise TypeError
            wanted = TensorShape(shape)
        except (TypeError, ValueError):
            sizes = tf.convert_to_tensor(shape, preferred_dtype=tf.int64)
            if sizes.shape.ndims not in (None, 1):
                raise ValueError(
                    f"Padded shape {shape} must be a 1-D tensor of tf.int64 values, but its shape was {sizes.shape}."
                ) from None
            if sizes.dtype != tf.int64:
                raise TypeError(
                    f"Padded shape {shape} must be a 1-D tensor of tf.int64 values, but its element type was "
                    f"{sizes.dtype.name}."
                ) from None
            known = tf.get_static_value(sizes)
            if known is None or (known < -1).any():  # the operation refuses what is less
                rank = sizes.shape.num_elements()
                if None not in (rank, leaf.shape.ndims) and rank != leaf.shape.ndims:
                    shown = ", ".join(["None"] * rank)
                    raise ValueError(
                        f"The padded shape ({shown}) is not compatible with the corresponding input component shape "
                        f"{leaf.shape}."
                    ) from None
                return sizes
            wanted = TensorShape([None if n < 0 else int(n) for n in known])
        if wanted.dims is None:
            raise ValueError("Padded shapes must have a known rank")
        lengths = [-1 if d.value is None else d.value for d in wanted.dims]
        have = leaf.shape
        if have.dims is not None:
            if len(lengths) != len(have.dims):
                raise ValueError(
                    f"The padded shape {tuple(lengths)} is not compatible with the corresponding input component shape "
                    f"{have}."
                )
            for n, d in zip(lengths, have.dims):
                if n >= 0 and d.value is not None and n < d.value:
                    raise ValueError(
                        f"The padded shape {tuple(lengths)} is not compatible with the corresponding input component "
                        f"shape {have}."
                    )
        return tf.convert_to_tensor(np.array(lengths, np.int64))

    return [
        of(leaf, shape) for leaf, shape in zip(structure.flatten(spec), leaves_like(spec, shapes))
    ]


def leaves_like(spec: Any, values: Any) -> list[Any]:
    """Values for the leaves of a structure, where a list is a value."""
    if not structure.is_structure(spec):
        return [values]
    if isinstance(spec, dict):
        if not isinstance(values, dict) or values.keys() != spec.keys():
            raise ValueError(f"{values} is not structured as the elements {spec}")
        return [v for k in sorted(spec) for v in leaves_like(spec[k], values[k])]
    if not isinstance(values, (tuple, list)) or len(values) != len(spec):
        raise ValueError(f"{values} is not structured as the elements {spec}")
    return [v for s, x in zip(spec, values) for v in leaves_like(s, x)]


def padding_values(spec: Any, values: Any) -> list[Tensor]:
    leaves = structure.flatten(spec)
    if values is None:
        flat: list[Any] = [
            "" if s.dtype is tf.string else np.zeros((), s.dtype.as_numpy_dtype) for s in leaves
        ]
    elif not structure.is_structure(values) and structure.is_structure(spec):
        flat = [values] * len(leaves)
    else:
        structure.assert_same(spec, values)
        flat = structure.flatten(values)
    out = []
    for leaf, value in zip(leaves, flat):
        tensor = conversion.convert_to_tensor(value, name="padding_value")
        if tensor.dtype != leaf.dtype:
            raise TypeError(
                f"Padding value tensor ({tensor}) does not match output type: {leaf.dtype}"
            )
        if tensor.shape.ndims != 0:
            raise ValueError(f"Padding value should be a scalar, but is not: {tensor}")
        out.append(tensor)
    return out
