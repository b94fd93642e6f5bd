"""TensorArrays under eager execution: Python lists of concrete tensors."""

from __future__ import annotations

from typing import Any

from weft.framework import conversion, errors
from weft.framework.shape_rules import compatible, is_full, merge
from weft.framework.tensor_shape import TensorShape
from weft.ops.by_name import raw


def _int(index: Any) -> int:
    return int(index.numpy()) if hasattr(index, "numpy") else int(index)


class EagerArray:
    """A TensorArray that is a list; writing changes it."""

    handle = None

    def __init__(self, owner: Any, size: Any):
        self.owner = owner
        self.tensors: list[Any] = [None] * _int(size)
        self._read: set[int] = set()
        self.flow = conversion.convert_to_tensor(0)

    def with_flow(self, flow: Any) -> EagerArray:
        return self

    def with_handle(self) -> EagerArray:
        return self

    def identity(self) -> EagerArray:
        return self

    def grad(self, source: str, flow: Any, name: str | None) -> Any:
        raise NotImplementedError(
            "TensorArray.grad is not supported when executing eagerly; a gradient tape needs no such array."
        )

    def read(self, index: Any, name: str | None) -> Any:
        i, n = _int(index), len(self.tensors)
        if i < 0:
            raise errors.OutOfRangeError(
                None, None, f"Reading from negative indices (index {i}) is not allowed."
            )
        if i >= n:
            raise errors.OutOfRangeError(
                None, None, f"Tried to read from index {i} but array size is: {n}"
            )
        tensor = self.tensors[i]
        if tensor is None:
            if i in self._read:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Could not read index {i} twice because it was cleared after a previous read (perhaps try "
                    "setting clear_after_read = false?)",
                )
            tensor = self._zeros(i)
        if self.owner._clear_after_read:
            self.tensors[i] = None
            self._read.add(i)
        return tensor

    def _zeros(self, i: int) -> Any:
        dims = self.owner._element_shape_ref[0]
        if not is_full(dims):
            raise ValueError(
                f"Element {i} of the TensorArray was never written, and its shape is not known: "
                f"{TensorShape.from_tuple(dims)}"
            )
        zero = conversion.convert_to_tensor(0, dtype=self.owner._dtype)
        self.tensors[i] = raw.Fill(conversion.convert_to_tensor(list(dims), dtype="int32"), zero)
        return self.tensors[i]

    def _at(self, i: int) -> Any:
        tensor = self.tensors[i]
        return self._zeros(i) if tensor is None else tensor

    def write(self, index: Any, value: Any, name: str | None) -> EagerArray:
        owner, i, n = self.owner, _int(index), len(self.tensors)
        if i < 0:
            raise errors.OutOfRangeError(
                None, None, f"Writing to negative indices (index {i}) is not allowed."
            )
        if i >= n:
            if not owner._dynamic_size:
                raise errors.OutOfRangeError(
                    None,
                    None,
                    f"Tried to write to index {i} but array is not resizeable and size is: {n}",
                )
            self.tensors.extend([None] * (i - n + 1))
        value = conversion.convert_to_tensor(value, preferred_dtype=owner._dtype)
        if value.dtype is not owner._dtype:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"TensorArray dtype is {owner._dtype.name} but Op is trying to write dtype {value.dtype.name}",
            )
        known = owner._element_shape_ref[0]
        if not compatible(known, value._dims):
            raise ValueError(
                f"Incompatible shape for value ({value.shape}), expected ({TensorShape.from_tuple(known)})"
            )
        if owner._infer_shape:
            owner._element_shape_ref[0] = merge(known, value._dims)
        self.tensors[i] = value
        return self

    def _all(self) -> list[Any]:
        return [self._at(i) for i in range(len(self.tensors))]

    def stack(self, name: str | None) -> Any:
        tensors = self._all()
        if tensors:
            return raw.Pack(tensors, name=name)
        return conversion.convert_to_tensor([], dtype=self.owner._dtype)

    def gather(self, indices: Any, name: str | None) -> Any:
        places = indices.numpy() if hasattr(indices, "numpy") else indices
        return raw.Pack([self._at(int(i)) for i in places])

    def concat(self, name: str | None) -> Any:
        tensors = self._all()
        for i, t in enumerate(tensors):
            if not t._dims:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Concat saw a scalar shape at index {i} but requires at least vectors.",
                )
        if len(tensors) == 1:
            return raw.Identity(tensors[0])
        return raw.ConcatV2(tensors, 0, name=name)

    def unstack(self, value: Any, name: str | None) -> EagerArray:
        value = conversion.convert_to_tensor(value, preferred_dtype=self.owner._dtype)
        tensors = list(raw.Unpack(value, num=value._dims[0], name=name))
        if len(tensors) > len(self.tensors) and not self.owner._dynamic_size:
            raise ValueError(
                f"Cannot unstack {len(tensors)} tensors into a TensorArray of static size {len(self.tensors)}"
            )
        self.tensors = tensors
        return self

    def scatter(self, indices: Any, value: Any, name: str | None) -> EagerArray:
        places = indices.numpy() if hasattr(indices, "numpy") else indices
        value = conversion.convert_to_tensor(value, preferred_dtype=self.owner._dtype)
        for i, row in zip(places, raw.Unpack(value, num=value._dims[0])):
            self.write(int(i), row, None)
        return self

    def split(self, value: Any, lengths: Any, name: str | None) -> EagerArray:
        value = self.owner._value(value)
        lengths = conversion.convert_to_tensor(lengths)
        sizes = lengths.numpy()
        if lengths._dims is None or len(lengths._dims) != 1:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Expected lengths to be a vector, received shape: {list(lengths._dims)}",
            )
        if not value._dims:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Expected value to be at least a vector, but received shape: {list(value._dims)}",
            )
        if int(sizes.sum()) != value._dims[0]:
            raise errors.InvalidArgumentError(
                None,
                None,
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{int(sizes.sum())} and value's shape is: {list(value._dims)} ",
            )
        if not self.owner._dynamic_size and len(sizes) != len(self.tensors):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"TensorArray's size is not equal to the size of lengths ({len(self.tensors)} vs. {len(sizes)}), "
                "and the TensorArray is not marked as dynamically resizeable",
            )
        self.tensors = list(raw.SplitV(value, lengths, 0, num_split=len(sizes), name=name))
        return self

    def size(self, name: str | None) -> Any:
        return conversion.convert_to_tensor(len(self.tensors))

    def close(self, name: str | None) -> None:
        self.tensors = []
