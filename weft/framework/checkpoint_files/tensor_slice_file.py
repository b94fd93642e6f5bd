"""The V1 format of checkpoints: a table of messages, first what there is, then each part of each tensor."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft import proto
from weft.framework import dtypes, errors, file_system
from weft.framework.checkpoint_files import sorted_table
from weft.framework.checkpoint_files.tensor_slice import Part, assembled
from weft.framework.tensor_proto import add_values, make_ndarray
from weft.framework.tensor_shape import TensorShape

_VERSION = 1
_LARGEST = 1 << 31


class TensorSliceWriter:
    """Writes one file: it has its name when all of it is there."""

    def __init__(self, path: str):
        self._path = path
        self._first = proto.SavedTensorSlices()
        self._first.meta.versions.producer = _VERSION
        self._meta: dict[str, Any] = {}
        self._rows: dict[bytes, bytes] = {}

    def add(self, name: str, value: np.ndarray, dtype: dtypes.DType) -> None:
        """Adds a whole tensor."""
        self.add_part(name, value.shape, Part.whole(value.ndim), value, dtype)

    def add_part(
        self, name: str, full: Sequence[int], part: Part, value: np.ndarray, dtype: dtypes.DType
    ) -> None:
        """Adds a part of a tensor whose whole has the shape `full`."""
        if value.nbytes >= _LARGEST:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Tensor {name} is too large for a checkpoint of the V1 format: {value.nbytes} bytes",
            )
        shape = TensorShape(full).as_proto()
        meta = self._meta.get(name)
        if meta is None:
            meta = self._meta[name] = self._first.meta.tensor.add(
                name=name, shape=shape, type=dtype.as_datatype_enum
            )
        elif meta.shape != shape or meta.type != dtype.as_datatype_enum:
            raise errors.InvalidArgumentError(
                None, None, f"The parts of {name} do not agree on the type and shape of the whole."
            )
        part.to_proto(meta.slice.add())
        row = proto.SavedTensorSlices()
        row.data.name = name
        part.to_proto(row.data.slice)
        add_values(row.data.data, value, dtype)
        self._rows[part.key(name)] = row.SerializeToString()

    def finish(self) -> None:
        self._first.meta.tensor.sort(key=lambda tensor: tensor.name)
        rows = [(b"", self._first.SerializeToString()), *sorted(self._rows.items())]
        file_system.replace_file(self._path, sorted_table.table(rows))


class TensorSliceReader:
    """Reads the files that a pattern matches, as one checkpoint."""

    def __init__(self, pattern: str):
        self._pattern = pattern
        self._meta: dict[str, Any] = {}
        self._parts: dict[str, list[tuple[Part, Any]]] = {}
        paths = file_system.glob(pattern)
        if not paths:
            raise errors.NotFoundError(
                None,
                None,
                f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {pattern}",
            )
        for path in paths:
            self._load(path)

    def _load(self, path: str) -> None:
        try:
            rows = iter(sorted_table.entries(file_system.read_file(path)))
            found = {bytes(key): value for key, value in rows}
            meta = proto.SavedTensorSlices.FromString(bytes(found[b""])).meta
        except (errors.DataLossError, KeyError) as e:
            why = getattr(e, "message", "it says nothing of its tensors")
            raise errors.DataLossError(
                None,
                None,
                f"Unable to open table file {path}: Data loss: {why}: perhaps your file is in a different "
                "file format and you need to use a different restore operator?",
            ) from None
        for tensor in meta.tensor:
            known = self._meta.setdefault(tensor.name, tensor)
            if known.shape != tensor.shape or known.type != tensor.type:
                raise errors.InternalError(
                    None, None, f"The files of {self._pattern} do not agree on tensor {tensor.name}"
                )
            for message in tensor.slice:
                part = Part.of_proto(message)
                row = found.get(part.key(tensor.name))
                if row is None:
                    raise sorted_table.corrupt(f"{path} lacks {tensor.name} [{part}]")
                self._parts.setdefault(tensor.name, []).append((part, row))

    def names(self) -> list[str]:
        return list(self._meta)

    def __contains__(self, name: str) -> bool:
        return name in self._meta

    def close(self) -> None:
        """Nothing is open."""

    def entry(self, name: str) -> tuple[dtypes.DType, tuple[int, ...]]:
        """The type and the shape of a tensor."""
        meta = self._meta.get(name)
        if meta is None:
            raise errors.NotFoundError(
                None, None, f'Tensor name "{name}" not found in checkpoint files {self._pattern}'
            )
        return dtypes.as_dtype(meta.type), tuple(d.size for d in meta.shape.dim)

    def read(self, name: str) -> np.ndarray:
        """A whole tensor."""
        return self.read_part(name, Part.whole(len(self.entry(name)[1])))

    def read_part(self, name: str, part: Part) -> np.ndarray:
        """A part of a tensor, whichever parts it was saved in."""
        dtype, full = self.entry(name)
        stored = [(p, functools.partial(self._value, name, p, row)) for p, row in self._parts[name]]
        return assembled(name, dtype, full, part, stored)

    def _value(self, name: str, part: Part, row: Any) -> np.ndarray:
        dtype, full = self.entry(name)
        message = proto.SavedTensorSlices.FromString(bytes(row)).data.data
        message.dtype = dtype.as_datatype_enum
        message.tensor_shape.CopyFrom(TensorShape(part.shape(full)).as_proto())
        try:
            return make_ndarray(message)
        except ValueError as e:
            raise sorted_table.corrupt(f"tensor {name} in {self._pattern}: {e}") from None
