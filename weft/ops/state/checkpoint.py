"""Saving tensors to checkpoints and restoring them: SaveV2, RestoreV2, MergeV2Checkpoints and the V1 forms."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.framework import dtypes, errors, file_system
from weft.framework.checkpoint_files import open_checkpoint, tensor_bundle
from weft.framework.checkpoint_files.tensor_slice import parse_shape_and_part
from weft.framework.checkpoint_files.tensor_slice_file import TensorSliceReader, TensorSliceWriter
from weft.framework.registry import op
from weft.framework.shape_rules import ShapeError, rank


def _invalid(why: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, why)


def _text(value: Any, what: str) -> str:
    if np.size(value) != 1:
        raise _invalid(f"Input {what} should have a single element, got {np.size(value)} instead.")
    return file_system.path_text(np.asarray(value, object).reshape(-1)[0])


def _names(value: np.ndarray) -> list[str]:
    return [s.decode() if isinstance(s, bytes) else s for s in value.reshape(-1).tolist()]


def _checked(names: np.ndarray, parts: np.ndarray, count: int, what: str) -> None:
    if names.ndim != 1 or parts.ndim != 1:
        raise _invalid(
            "Input tensor_names and shape_and_slices should be an 1-D tensors, got "
            f"{list(names.shape)} and {list(parts.shape)} instead."
        )
    if names.size != parts.size:
        raise _invalid(
            f"tensor_names and shape_and_slices have different number of elements: {names.size} vs. {parts.size}"
        )
    if names.size != count:
        raise _invalid(f"Got {names.size} tensor names but {count} {what}.")


def _save(
    writer: Any, names: Sequence[str], parts: Sequence[str], tensors: Sequence[Any], types: Any
) -> None:
    for name, spec, tensor, dtype in zip(names, parts, tensors, types):
        value = np.asarray(tensor)
        if not spec:
            writer.add(name, value, dtype)
            continue
        full, part = parse_shape_and_part(spec)
        if part.shape(full) != value.shape:
            raise _invalid(
                "Slice in shape_and_slice specification does not match the shape of the tensor to  save: "
                f"{spec}, tensor: {list(value.shape)} ({name})"
            )
        writer.add_part(name, full, part, value, dtype)


def _restored(reader: Any, name: str, spec: str, dtype: dtypes.DType) -> np.ndarray:
    found, full = reader.entry(name)
    if found is not dtype:
        raise _invalid(
            f"tensor_name = {name}; expected dtype {dtype.name} does not equal original dtype {found.name}"
        )
    if not spec:
        return reader.read(name)
    whole, part = parse_shape_and_part(spec)
    if whole != full:
        raise _invalid(
            f"tensor_name = {name}; shape in shape_and_slice spec {list(whole)} does not match the shape "
            f"stored in checkpoint: {list(full)}"
        )
    return reader.read_part(name, part)


def _static_shape(spec: Any) -> tuple[int, ...] | None:
    """What the specification of a part says of its shape."""
    text = spec.decode() if isinstance(spec, bytes) else spec
    if not text:
        return None
    try:
        full, part = parse_shape_and_part(text)
    except errors.InvalidArgumentError as e:
        raise ShapeError(e.message) from None
    return part.shape(full)


# -- the V2 format --------------------------------------------------------------------------------------


@op(
    "SaveV2",
    "prefix: string, tensor_names: string, shape_and_slices: string, tensors: dtypes",
    "dtypes: list(type) >= 1",
    stateful=True,
    host=True,
)
def save_v2(ctx, prefix, tensor_names, shape_and_slices, tensors, *, dtypes):
    """Saves tensors, or parts of them, under a prefix."""
    _checked(tensor_names, shape_and_slices, len(tensors), "tensors")
    with tensor_bundle.BundleWriter(_text(prefix, "prefix")) as writer:
        _save(writer, _names(tensor_names), _names(shape_and_slices), tensors, dtypes)


@save_v2.shape
def _(prefix, tensor_names, shape_and_slices, tensors, *, dtypes):
    rank(prefix, 0), rank(tensor_names, 1), rank(shape_and_slices, 1)
    return []


save_v2.not_differentiable()


@op(
    "RestoreV2",
    "prefix: string, tensor_names: string, shape_and_slices: string -> tensors: dtypes",
    "dtypes: list(type) >= 1",
    stateful=True,
    host=True,
)
def restore_v2(ctx, prefix, tensor_names, shape_and_slices, *, dtypes):
    """Restores tensors, or parts of them, from the checkpoint of a prefix, of either format."""
    _checked(tensor_names, shape_and_slices, len(dtypes), "expected dtypes")
    names, parts = _names(tensor_names), _names(shape_and_slices)
    reader = open_checkpoint(_text(prefix, "prefix"))
    try:
        for name in sorted(names):  # a missing one is said before anything is read
            reader.entry(name)
        return [_restored(reader, *each) for each in zip(names, parts, dtypes)]
    finally:
        reader.close()


@restore_v2.shape
def _(prefix, tensor_names, shape_and_slices, *, dtypes, const):
    rank(prefix, 0), rank(tensor_names, 1), rank(shape_and_slices, 1)
    specs = const("shape_and_slices")
    if specs is None:
        return [None] * len(dtypes)
    return [_static_shape(spec) for spec in specs.reshape(-1).tolist()]


restore_v2.not_differentiable()


@op(
    "MergeV2Checkpoints",
    "checkpoint_prefixes: string, destination_prefix: string",
    "delete_old_dirs: bool = true",
    stateful=True,
    host=True,
)
def merge_v2_checkpoints(ctx, checkpoint_prefixes, destination_prefix, *, delete_old_dirs):
    """Makes one checkpoint of several that shards were saved as."""
    if checkpoint_prefixes.ndim != 1:
        raise _invalid(
            f"Input checkpoint_prefixes should be an 1-D tensor, got {list(checkpoint_prefixes.shape)} instead."
        )
    prefixes = _names(checkpoint_prefixes)
    merged = _text(destination_prefix, "destination_prefix")
    tensor_bundle.merge(prefixes, merged)
    if delete_old_dirs:
        for folder in {os.path.dirname(p) for p in prefixes} - {os.path.dirname(merged)}:
            if file_system.is_directory(folder) and not file_system.list_directory(folder):
                file_system.remove_tree(folder)


@merge_v2_checkpoints.shape
def _(checkpoint_prefixes, destination_prefix):
    rank(checkpoint_prefixes, 1), rank(destination_prefix, 0)
    return []


merge_v2_checkpoints.not_differentiable()


# -- the V1 format --------------------------------------------------------------------------------------


@op(
    "SaveSlices",
    "filename: string, tensor_names: string, shapes_and_slices: string, data: T",
    "T: list(type) >= 1",
    stateful=True,
    host=True,
)
def save_slices(ctx, filename, tensor_names, shapes_and_slices, data, *, T):
    """Saves tensors, or parts of them, to one file."""
    _checked(tensor_names, shapes_and_slices, len(data), "tensors")
    writer = TensorSliceWriter(_text(filename, "filename"))
    _save(writer, _names(tensor_names), _names(shapes_and_slices), data, T)
    writer.finish()


@save_slices.shape
def _(filename, tensor_names, shapes_and_slices, data):
    rank(filename, 0), rank(tensor_names, 1), rank(shapes_and_slices, 1)
    return []


save_slices.not_differentiable()


@op(
    "Save",
    "filename: string, tensor_names: string, data: T",
    "T: list(type) >= 1",
    stateful=True,
    host=True,
)
def save(ctx, filename, tensor_names, data, *, T):
    """Saves tensors to one file."""
    _checked(tensor_names, tensor_names, len(data), "tensors")
    writer = TensorSliceWriter(_text(filename, "filename"))
    _save(writer, _names(tensor_names), [""] * len(data), data, T)
    writer.finish()


@save.shape
def _(filename, tensor_names, data):
    rank(filename, 0), rank(tensor_names, 1)
    return []


save.not_differentiable()


@op(
    "RestoreSlice",
    "file_pattern: string, tensor_name: string, shape_and_slice: string -> tensor: dt",
    "dt: type; preferred_shard: int = -1",
    stateful=True,
    host=True,
)
def restore_slice(ctx, file_pattern, tensor_name, shape_and_slice, *, dt, preferred_shard):
    """Restores a tensor, or a part of it, from the files that a pattern matches."""
    reader = TensorSliceReader(_text(file_pattern, "file_pattern"))
    return _restored(reader, _text(tensor_name, "tensor_name"), _text(shape_and_slice, "slice"), dt)


@restore_slice.shape
def _(file_pattern, tensor_name, shape_and_slice, *, const):
    rank(file_pattern, 0), rank(tensor_name, 0), rank(shape_and_slice, 0)
    spec = const("shape_and_slice")
    return None if spec is None else _static_shape(spec.item())


restore_slice.not_differentiable()


@op(
    "Restore",
    "file_pattern: string, tensor_name: string -> tensor: dt",
    "dt: type; preferred_shard: int = -1",
    stateful=True,
    host=True,
)
def restore(ctx, file_pattern, tensor_name, *, dt, preferred_shard):
    """Restores a tensor from the files that a pattern matches."""
    reader = TensorSliceReader(_text(file_pattern, "file_pattern"))
    return _restored(reader, _text(tensor_name, "tensor_name"), "", dt)


@restore.shape
def _(file_pattern, tensor_name):
    rank(file_pattern, 0), rank(tensor_name, 0)
    return None


restore.not_differentiable()
