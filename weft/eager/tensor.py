"""EagerTensor: a tensor that has its value."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape, as_shape

_ids = itertools.count()
_OF_GRAPHS = ("op", "graph", "name", "value_index")


class EagerTensor(Tensor):
    """A concrete tensor. Its array is never written to once it is in a tensor."""

    __slots__ = ("_array", "_known_id")

    _op: Any = None  # a symbolic tensor has one

    def __init__(self, array: Any, dtype: dtypes.DType):
        self._array = array  # of NumPy, or of a device; a resource is what it refers to
        self._dtype = dtype

    # A symbolic tensor keeps its static shape; here the array tells.
    @property
    def _dims(self) -> Any:  # type: ignore[override]
        if self._dtype.np is None and type(self._array) is not np.ndarray:
            return ()  # a resource, or one variant
        return self._array.shape

    @property
    def dims(self) -> Any:
        return self._dims

    @property
    def _id(self) -> int:
        try:
            return self._known_id
        except AttributeError:
            self._known_id = next(_ids)
            return self._known_id

    def numpy(self) -> Any:
        """The value as a NumPy array or scalar that the caller owns."""
        array = self._host()
        if type(array) is not np.ndarray:
            raise ValueError(f"A tensor of dtype {self._dtype.name} has no NumPy value.")
        return array[()] if array.ndim == 0 else array.copy()

    _numpy = numpy

    def _host(self) -> Any:
        """The value in the host's memory, which nobody may change."""
        array = self._array
        if type(array) is not np.ndarray and hasattr(array, "unsafe_buffer_pointer"):
            array = self._array = np.asarray(array)
        return array

    def _num_elements(self) -> int:
        return math.prod(self._dims)

    def _shape_tuple(self) -> tuple:
        return self._dims

    def _shape_as_list(self) -> list[int]:
        return list(self._dims)

    def _rank(self) -> int:
        return len(self._dims)

    def _datatype_enum(self) -> int:
        return self._dtype.as_datatype_enum

    @property
    def shape(self) -> TensorShape:
        return TensorShape.from_tuple(self._dims)

    _shape = shape

    def get_shape(self) -> TensorShape:
        return TensorShape.from_tuple(self._dims)

    @property
    def ndim(self) -> int:
        return len(self._dims)

    def set_shape(self, shape: Any) -> None:
        if not as_shape(shape).is_compatible_with(self.shape):
            raise ValueError(
                f"Tensor's shape {self.shape} is not compatible with supplied shape {as_shape(shape)}"
            )

    @property
    def device(self) -> str:
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    @property
    def backing_device(self) -> str:
        return self.device

    def cpu(self) -> EagerTensor:
        return self

    def gpu(self, index: int = 0) -> EagerTensor:
        raise RuntimeError(
            "Error copying tensor to device: GPU:%d. No such device is visible." % index
        )

    def __getattr__(self, name: str) -> Any:
        if name in _OF_GRAPHS:
            raise AttributeError(f"Tensor.{name} is meaningless when eager execution is enabled.")
        raise AttributeError(f"'EagerTensor' object has no attribute '{name}'")

    op = graph = name = value_index = property(None)  # type: ignore[assignment]

    def consumers(self) -> Any:
        raise NotImplementedError(
            "Tensor.consumers is meaningless when eager execution is enabled."
        )

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        raise NotImplementedError(
            "eval is not supported when eager execution is enabled, is .numpy() what you're looking for?"
        )

    def __bool__(self) -> bool:
        return bool(self._host())

    __nonzero__ = __bool__

    def __int__(self) -> int:
        return int(self._scalar())

    def __float__(self) -> float:
        return float(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def __index__(self) -> int:
        return self._host().__index__()

    def _scalar(self) -> Any:
        array = self._host()
        if array.size != 1:
            raise TypeError("only size-1 arrays can be converted to Python scalars")
        return array.reshape(())[()]

    def __len__(self) -> int:
        if not self._dims:
            raise TypeError("Scalar tensor has no `len()`")
        return self._dims[0]

    def __iter__(self) -> Any:
        if not self._dims:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[i] for i in range(self._dims[0]))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        array = self._host()
        return np.array(array, dtype) if dtype is not None or copy else array

    def __format__(self, spec: str) -> str:
        return self.numpy().__format__(spec)

    def __reduce__(self) -> Any:
        return _rebuild, (self.numpy(), self._dtype.enum)

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: dict) -> EagerTensor:
        return self

    def _text(self, is_repr: bool) -> str:
        if self._dtype.np is None:
            return "<unprintable>"
        if self._dtype is dtypes.string and not self._dims:
            return repr(self._host()[()]) if is_repr else str(self._host()[()])
        return repr(self._host()) if is_repr and self._dims else str(self._host())

    def __repr__(self) -> str:
        return f"<tf.Tensor: id={self._id}, shape={self.shape}, dtype={self._dtype.name}, numpy={self._text(True)}>"

    def __str__(self) -> str:
        return f"tf.Tensor({self._text(False)}, shape={self.shape}, dtype={self._dtype.name})"

    __hash__ = object.__hash__

    @property
    def is_fully_defined(self) -> bool:
        return True


def _rebuild(array: Any, enum: int) -> EagerTensor:
    dtype = dtypes.as_dtype(enum)
    return EagerTensor(np.asarray(array, dtype.np), dtype)


def make(array: np.ndarray, dtype: dtypes.DType) -> EagerTensor:
    """A concrete tensor of an array that nobody changes any more."""
    return EagerTensor(array, dtype)


__all__ = ["EagerTensor", "make"]
