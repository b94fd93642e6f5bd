"""EagerTensor: a tensor that has its value."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.framework import context, dtypes
from weft.framework.tensor import Tensor
from weft.framework.tensor_shape import TensorShape, as_shape


class EagerTensor(Tensor):
    """A concrete tensor. Its array is never written to once it is in a tensor."""

    __slots__ = ("_array",)

    def __init__(self, array: Any, dtype: dtypes.DType):
        self._array = array
        self._dtype = dtype

    # A symbolic tensor keeps its static shape; here the array tells.
    @property
    def _dims(self) -> Any:  # type: ignore[override]
        return getattr(self._array, "shape", ()) if not hasattr(self._array, "extra") else ()

    def numpy(self) -> Any:
        """The value as a NumPy array or scalar that the caller owns."""
        array = self._host()
        if type(array) is not np.ndarray:
            return array
        return array[()] if array.ndim == 0 else array.copy()

    def _host(self) -> Any:
        array = self._array
        if type(array) is not np.ndarray and hasattr(array, "unsafe_buffer_pointer"):
            array = self._array = np.asarray(array)
        return array

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

    @property
    def op(self) -> Any:
        raise AttributeError("Tensor.op is meaningless when eager execution is enabled.")

    @property
    def graph(self) -> Any:
        raise AttributeError("Tensor.graph is meaningless when eager execution is enabled.")

    @property
    def name(self) -> str:
        raise AttributeError("Tensor.name is meaningless when eager execution is enabled.")

    @property
    def value_index(self) -> int:
        raise AttributeError("Tensor.value_index is meaningless when eager execution is enabled.")

    def consumers(self) -> Any:
        raise NotImplementedError("consumers() is meaningless when eager execution is enabled.")

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        raise NotImplementedError(
            "eval() is not supported when eager execution is enabled; use numpy()."
        )

    def __bool__(self) -> bool:
        return bool(self._host())

    __nonzero__ = __bool__

    def __int__(self) -> int:
        return int(self._host())

    def __float__(self) -> float:
        return float(self._host())

    def __complex__(self) -> complex:
        return complex(self._host())

    def __index__(self) -> int:
        array = self._host()
        if array.ndim or array.dtype.kind not in "iu":
            raise TypeError(f"Only integer scalar tensors can be an index, not {self!r}.")
        return int(array)

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
        return format(self.numpy(), spec) if not self._dims else str(self)

    def __reduce__(self) -> Any:
        return _rebuild, (self.numpy(), self._dtype.enum)

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: dict) -> EagerTensor:
        copy = EagerTensor(self._array, self._dtype)
        memo[id(self)] = copy
        return copy

    def _text(self, is_repr: bool) -> str:
        if self._dtype.np is None:
            return "<unprintable>"
        if self._dtype is dtypes.string and not self._dims:
            return repr(self._host()[()]) if is_repr else str(self._host()[()])
        return repr(self._host()) if is_repr and self._dims else str(self._host())

    def __repr__(self) -> str:
        return f"<tf.Tensor: id={id(self)}, shape={self.shape}, dtype={self._dtype.name}, numpy={self._text(True)}>"

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


__all__ = ["EagerTensor", "context", "make"]
