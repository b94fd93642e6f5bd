"""Eigenvalues and eigenvectors of self-adjoint matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.registry import op
from weft.ops.array.diagonal import matrix_band_part, matrix_diag_part
from weft.ops.array.transpose import matrix_transpose
from weft.ops.by_name import raw
from weft.ops.linalg.matrices import (
    FLOATS,
    FLOATS_COMPLEX,
    failing_with,
    legacy,
    square,
    wide,
)
from weft.ops.math.matmul import matmul

_FAILED = "Self-adjoint eigen decomposition was not successful. The input might not be valid."


def _decomposed(xp: Any, input: Any) -> tuple[Any, Any]:
    """Eigenvalues in ascending order, and eigenvectors as columns; only the lower triangle is read."""
    x = wide(input)
    if xp.is_numpy:
        with failing_with(_FAILED):
            e, v = np.linalg.eigh(x)
    else:
        v, e = xp.lax.linalg.eigh(x, lower=True, symmetrize_input=False)
    xp.check(~xp.isnan(e), lambda: _FAILED)
    return e, v


@op(
    "SelfAdjointEigV2",
    "input: T -> e: T, v: T",
    "compute_v: bool = true; " + FLOATS_COMPLEX,
)
def self_adjoint_eig_v2(xp, input, *, compute_v):
    """Eigenvalues of self-adjoint matrices in ascending order, and their eigenvectors as columns."""
    if not compute_v and xp.is_numpy:
        with failing_with(_FAILED):
            e = np.linalg.eigvalsh(wide(input))
        xp.check(~np.isnan(e), lambda: _FAILED)
        return e.astype(input.dtype), np.zeros(0, input.dtype)
    e, v = _decomposed(xp, input)
    v = v.astype(input.dtype) if compute_v else np.zeros(0, input.dtype)
    return e.astype(input.dtype), v


@self_adjoint_eig_v2.shape
def _(input, *, compute_v):
    shape = square(input)
    vectors = shape if compute_v else (0,)
    return None if shape is None else shape[:-1], vectors


@self_adjoint_eig_v2.gradient
def _(op, grad_e, grad_v):
    e = op.outputs[0]
    if op.get_attr("compute_v"):
        v = op.outputs[1]
        differences = raw.ExpandDims(e, np.int32(-2)) - raw.ExpandDims(e, np.int32(-1))
        f = raw.MatrixSetDiag(raw.Reciprocal(differences), raw.ZerosLike(e))
        inner = raw.MatrixDiag(grad_e) + f * matmul(v, grad_v, adjoint_a=True)
    else:
        v = self_adjoint_eig_v2(op.inputs[0], compute_v=True)[1]
        inner = raw.MatrixDiag(grad_e)
    found = matmul(v, matmul(inner, v, adjoint_b=True))
    # Only the lower triangle was read: what belongs to the upper one is its mirror image.
    found = matrix_band_part(found + matrix_transpose(found, conjugate=True), -1, 0)
    half = np.array(0.5, e.dtype.np)
    return raw.MatrixSetDiag(found, half * matrix_diag_part(found))


@op("SelfAdjointEig", "input: T -> output: T", FLOATS)
def self_adjoint_eig_v1(xp, input):
    """Eigenvalues in the first row, and below them the eigenvectors as columns."""
    e, v = _decomposed(xp, input)
    return xp.concatenate([e[..., None, :], v], -2).astype(input.dtype)


@self_adjoint_eig_v1.shape
def _(input):
    shape = square(input)
    if shape is None:
        return None
    n = shape[-1]
    return (*shape[:-2], None if n is None else n + 1, n)


legacy(self_adjoint_eig_v1)
legacy(self_adjoint_eig_v2, "compute_v: bool = true; T: type in {double, float}")


@export("self_adjoint_eig", "linalg.eigh")
def self_adjoint_eig(tensor: Any, name: str | None = None) -> Any:
    """`e, v`: eigenvalues of self-adjoint matrices in ascending order, and eigenvectors as columns."""
    e, v = self_adjoint_eig_v2(tensor, compute_v=True, name=name)
    return e, v


@export("self_adjoint_eigvals", "linalg.eigvalsh")
def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Any:
    """The eigenvalues of self-adjoint matrices, in ascending order."""
    return self_adjoint_eig_v2(tensor, compute_v=False, name=name)[0]
