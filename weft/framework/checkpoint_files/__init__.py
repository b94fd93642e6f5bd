"""The formats of checkpoint files: sorted tables, the bundles of TensorFlow's V2 checkpoints, its V1 files."""

from __future__ import annotations

from weft.framework import file_system
from weft.framework.checkpoint_files.tensor_bundle import BundleReader, index_file
from weft.framework.checkpoint_files.tensor_slice_file import TensorSliceReader


def open_checkpoint(prefix: str) -> BundleReader | TensorSliceReader:
    """The reader of a checkpoint: a bundle where there is one by that name, else files of the V1 format."""
    if file_system.exists(index_file(prefix)):
        return BundleReader(prefix)
    return TensorSliceReader(prefix)
