"""Affine bijectors of vectors."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.contrib.distributions.bijectors.base import Bijector
from weft.contrib.distributions.linear_map import LinearMap
from weft.distributions.arguments import with_checks
from weft.framework.export import export

_SPACE = "contrib.distributions.bijectors."


def _scale(
    multiplier: Any, diagonal: Any, triangle: Any, factor: Any, factor_diagonal: Any
) -> LinearMap | None:
    """multiplier * I + diag + triangle + factor @ diag @ factor^T; None where only a multiplier is given."""
    if factor is not None:
        if triangle is None and diagonal is None and multiplier is None:
            raise ValueError("scale_perturb_factor needs something to perturb.")
        scaled = factor if factor_diagonal is None else factor * factor_diagonal[..., None, :]
        total = tf.matmul(scaled, factor, transpose_b=True)
        for part in (triangle, None if diagonal is None else tf.matrix_diag(diagonal)):
            total = total if part is None else total + part
        if multiplier is not None:
            eye = tf.eye(tf.shape(factor)[-2], dtype=factor.dtype.base_dtype)
            total += multiplier[..., None, None] * eye
        return LinearMap(matrix=total)
    if triangle is not None:
        triangle = tf.matrix_band_part(triangle, -1, 0)
        if diagonal is not None or multiplier is not None:
            own = tf.matrix_diag_part(triangle)
            own = own if diagonal is None else own + diagonal
            own = own if multiplier is None else own + multiplier[..., None]
            triangle = tf.matrix_set_diag(triangle, own)
        return LinearMap(matrix=triangle, is_triangular=True)
    if diagonal is not None:
        return LinearMap(diagonal if multiplier is None else diagonal + multiplier[..., None])
    return None


@export(_SPACE + "Affine")
class Affine(Bijector):
    """y = scale @ x + shift, where scale is a sum of the parts that are given, or the identity."""

    def __init__(
        self,
        shift: Any = None,
        scale_identity_multiplier: Any = None,
        scale_diag: Any = None,
        scale_tril: Any = None,
        scale_perturb_factor: Any = None,
        scale_perturb_diag: Any = None,
        validate_args: bool = False,
        name: str = "affine",
    ):
        given = {
            "shift": shift,
            "scale_identity_multiplier": scale_identity_multiplier,
            "scale_diag": scale_diag,
            "scale_tril": scale_tril,
            "scale_perturb_factor": scale_perturb_factor,
            "scale_perturb_diag": scale_perturb_diag,
        }
        with tf.name_scope(name, values=list(given.values())):
            tensors = {
                what: None if value is None else tf.convert_to_tensor(value, name=what)
                for what, value in given.items()
            }
            dtypes = {t.dtype.base_dtype for t in tensors.values() if t is not None}
            if len(dtypes) > 1:
                raise TypeError(
                    f"Affine's arguments have several dtypes: {sorted(map(str, dtypes))}"
                )
            self._shift = tensors.pop("shift")
            self._multiplier = tensors["scale_identity_multiplier"]
            self._map = _scale(*tensors.values())
            if validate_args and self._map is not None and self._map.matrix is None:
                diagonal = self._map.diagonal
                zero = tf.zeros([], diagonal.dtype.base_dtype)
                message = "Singular operator: Diagonal contained zero values."
                check = tf.assert_none_equal(diagonal, zero, message=message)
                self._map = LinearMap(with_checks([check], diagonal))
        super().__init__(
            forward_min_event_ndims=1,
            graph_parents=[t for t in (self._shift, *tensors.values()) if t is not None],
            is_constant_jacobian=True,
            dtype=next(iter(dtypes), None),
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self) -> Any:
        """What is added."""
        return self._shift

    @property
    def scale(self) -> Any:
        """The linear operator; a number's tensor where only a multiplier was given."""
        return self._multiplier if self._map is None else self._map.operator()

    def _forward(self, x):
        if self._map is not None:
            x = self._map.apply(x)
        elif self._multiplier is not None:
            x = x * self._multiplier[..., None]
        return tf.identity(x) if self.shift is None else x + self.shift

    def _inverse(self, y):
        x = y if self.shift is None else y - self.shift
        if self._map is not None:
            return self._map.solve(x)
        return tf.identity(x) if self._multiplier is None else x / self._multiplier[..., None]

    def _forward_log_det_jacobian(self, x):
        if self._map is not None:
            return self._map.log_abs_det()
        if self._multiplier is None:
            return tf.constant(0.0, dtype=x.dtype.base_dtype)
        size = tf.cast(tf.shape(x)[-1], x.dtype.base_dtype)
        return tf.log(tf.abs(self._multiplier)) * size
