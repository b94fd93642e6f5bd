"""The `Batch...` forms of ops on matrices whose own files do not know of them."""

from __future__ import annotations

from weft.ops.array.diagonal import (
    matrix_band_part_op,
    matrix_diag_part_v1,
    matrix_diag_v1,
    matrix_set_diag_v1,
)
from weft.ops.linalg.matrices import legacy
from weft.ops.linalg.svd import svd_op

for _decl in (matrix_diag_v1, matrix_diag_part_v1, matrix_set_diag_v1):
    legacy(_decl, "T: type")
legacy(matrix_band_part_op, "T: type", "input: T, num_lower: int64, num_upper: int64 -> band: T")
legacy(
    svd_op,
    "compute_uv: bool = true; full_matrices: bool = false; "
    "T: type in {double, float, complex64, complex128}",
)
