"""`sparse_mask`: rows taken out of IndexedSlices."""

from __future__ import annotations

from typing import Any

from weft.framework.export import export
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.scopes import name_scope
from weft.ops.array.gather import gather
from weft.ops.array.unique import setdiff1d


@export("sparse.mask", "sparse_mask")
def sparse_mask(a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """Returns the rows of `a` without those at `mask_indices`."""
    with name_scope(name, "sparse_mask", [a, mask_indices]) as name:
        kept, positions = setdiff1d(a.indices, mask_indices)
        return IndexedSlices(gather(a.values, positions, name=name), kept, a.dense_shape)
