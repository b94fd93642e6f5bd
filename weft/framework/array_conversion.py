"""Python values and NumPy arrays as the arrays that tensors hold, by TensorFlow's rules."""

import math
import numbers
import reprlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.framework import dtypes
from weft.framework.dimension import Dimension
from weft.framework.dtypes import DType

# What the elements of a list may be, and which arrays NumPy makes of such lists (by `dtype.kind`).
_BOOLS = ((bool, np.bool_), "b")
_INTEGERS = ((numbers.Integral, np.integer, np.bool_, Dimension), "biu")
_REALS = ((numbers.Real, np.integer, np.floating, np.bool_), "biuf")
_COMPLEXES = ((numbers.Complex, np.number, np.bool_), "biufc")

_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1
_FLOAT32_MAX = float(np.finfo(np.float32).max)


def to_array(
    values: Any,
    dtype: DType | None = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> np.ndarray:
    """Returns `values` as an array of `dtype`, or of the type that TensorFlow infers.

    Without a `dtype`, Python ints become int32 (int64 if one does not fit), floats float32, and
    strings objects of type `bytes`; arrays and NumPy scalars keep their type. A `shape` with more
    elements than `values` repeats the last one, unless `verify_shape` is set.

    An array that is right already is returned itself, so the result may share memory with `values`.
    """
    if shape is None:
        return _convert(values, dtype)
    shape = shape_list(shape)
    array = convert_for_shape(values, dtype, shape)
    check_shape(array, shape, verify_shape, allow_broadcast)
    return _fill(array, shape)


def shape_list(shape: Any) -> list[int]:
    """Returns a shape argument as a list of ints."""
    return [int(size) for size in shape]


def convert_for_shape(values: Any, dtype: DType | None, shape: list[int]) -> np.ndarray:
    """Returns `values` as an array; where the shape leaves no element they are not looked at."""
    if 0 in shape and not _is_array_like(values):
        if values is None:
            raise ValueError("None values not supported.")
        return np.empty(shape, np.float32 if dtype is None else dtype.np)
    return _convert(values, dtype)


def check_shape(
    array: np.ndarray, shape: list[int], verify_shape: bool, allow_broadcast: bool
) -> None:
    """Raises an error unless a tensor of `shape` may be made of the elements of `array`."""
    size = np.prod(shape, dtype=np.int64)
    if allow_broadcast:
        mismatch = array.shape not in ((), (1,)) and array.size != size
    else:
        mismatch = verify_shape and array.shape != tuple(shape)
    if mismatch:
        raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, got {array.shape}.")
    if array.size > size and not allow_broadcast:
        raise ValueError(
            f"Too many elements provided. Needed at most {size}, but received {array.size}"
        )


def _fill(array, shape):
    """Returns `array` in the given shape, its last element repeated where there are too few."""
    if array.shape == tuple(shape):
        return array
    size = int(np.prod(shape, dtype=np.int64))
    flat = array.reshape(-1)
    if flat.size < size:
        if flat.size == 0:
            filled = (
                np.full(size, b"", object) if array.dtype == object else np.zeros(size, array.dtype)
            )
        else:
            filled = np.empty(size, array.dtype)
            filled[: flat.size] = flat
            filled[flat.size :] = flat[-1]
        flat = filled
    return flat[:size].reshape(shape)


def _convert(values, dtype):
    kind = type(values)
    if kind is float:
        if (dtype is None or dtype is dtypes.float32) and abs(values) < _FLOAT32_MAX:
            return np.array(values, np.float32)
    elif kind is int:
        if dtype is None or dtype is dtypes.int32:
            if _INT32_MIN <= values <= _INT32_MAX:
                return np.array(values, np.int32)
    elif kind is str or kind is bytes:
        if dtype is None or dtype is dtypes.string:
            array = np.empty((), object)
            array[()] = values if kind is bytes else values.encode()
            return array
    elif kind is np.ndarray:
        if dtype is not None and values.dtype is dtype.np and values.dtype.kind != "O":
            return values
        return _from_array(values, dtype)
    elif kind is list and dtype is dtypes.string and set(map(type, values)) == {bytes}:
        return _object_array(values, (len(values),))
    if _is_array_like(values):
        return _from_array(np.asarray(values), dtype)
    if values is None:
        raise ValueError("None values not supported.")
    return _from_python(values, dtype)


def _is_array_like(values):
    if isinstance(values, (np.ndarray, np.generic, list, tuple, int, float, complex, str, bytes)):
        return isinstance(values, (np.ndarray, np.generic))
    if callable(getattr(values, "__array__", None)):
        return True
    if isinstance(getattr(values, "__array_interface__", None), dict):
        return True
    try:
        memoryview(values)
    except TypeError:
        return False
    return True


# -- arrays ---------------------------------------------------------------------------------------


def _from_array(array, dtype):
    """Returns a NumPy array as one of `dtype`; as in TensorFlow the cast may lose digits."""
    if array.dtype.kind in "OSUT" and (dtype is None or dtype is dtypes.string):
        return _bytes_array(array)
    if dtype is None:
        dtype = dtypes.as_dtype(array.dtype)
    if dtype.np is None:
        raise TypeError(f"Incompatible types: {dtype} vs. {array.dtype}. Value is {array}")
    if dtype is dtypes.string:
        if array.size == 0:
            return np.empty(array.shape, object)
        raise TypeError(f"Expected binary or unicode string, got {_short(array.flat[0])}")
    return _cast(array, dtype)


def _cast(array, dtype):
    if array.dtype is dtype.np:
        return array
    if array.dtype == dtype.np:
        return array.view(dtype.np)  # NumPy has two dtypes for int64: long and long long
    with np.errstate(over="ignore", invalid="ignore"):
        if array.dtype.kind == "c" and not dtype.is_complex:
            array = array.real
        if dtype.is_quantized and array.dtype.names is None:
            return array.astype(dtype.np[0]).view(dtype.np)
        return array.astype(dtype.np)


def _bytes_array(array):
    """Returns an array of strings as an array of `bytes` objects; str is encoded as UTF-8."""
    elements = array.ravel().tolist()
    # Thrice as fast as all(), which calls back for each of what may be very many strings.
    if array.dtype.kind == "O" and list(map(type, elements)).count(bytes) == len(elements):
        return array
    return _object_array([_as_bytes(element) for element in elements], array.shape)


def _as_bytes(element):
    if isinstance(element, str):
        return element.encode()
    if isinstance(element, (bytes, bytearray)):
        return bytes(element)
    raise TypeError(f"Expected binary or unicode string, got {_short(element)}")


def _object_array(elements, shape):
    array = np.empty(len(elements), object)
    array[:] = elements
    return array.reshape(shape)


# -- Python values --------------------------------------------------------------------------------


def _from_python(values, dtype):
    if dtype is None:
        return _infer(values)
    if dtype is dtypes.string:
        _check_elements(values, dtype, (str, bytes))
        return _strings(values)
    if dtype.is_quantized:
        return _quantized(values, dtype)
    if dtype.np is None:
        raise TypeError(
            f"Incompatible types: {dtype} vs. {_infer(values).dtype}. Value is {values}"
        )
    allowed, kinds = _allowed(dtype)
    inferred = _as_numpy(values, dtype, allowed)
    if inferred.dtype.kind in kinds or inferred.dtype == dtype.np or inferred.size == 0:
        if inferred.dtype != np.uint64 or not dtype.is_integer:
            return _cast(inferred, dtype)
    _check_elements(values, dtype, allowed)
    return _exactly(values, dtype)


def _allowed(dtype):
    if dtype.is_integer:
        return _INTEGERS
    if dtype.is_floating:
        return _REALS
    return _COMPLEXES if dtype.is_complex else _BOOLS


def _infer(values):
    """Returns the array that TensorFlow makes of Python values where no type is asked for."""
    if isinstance(_first_leaf(values), (str, bytes)):
        return _strings(values)
    array = _as_numpy(values)
    kind = array.dtype.kind
    if array.dtype == np.float64:
        return _cast(array, dtypes.float32)
    if array.dtype == np.int64:
        narrow = array.astype(np.int32)
        return narrow if np.array_equal(narrow, array) else array
    if kind == "O":
        elements = list(leaves(values))
        if all(isinstance(element, (numbers.Integral, Dimension)) for element in elements):
            if any(isinstance(element, Dimension) for element in elements):
                return _infer(_exactly(values, dtypes.int64).tolist())
        if all(isinstance(leaf, (str, bytes)) for leaf in array.ravel().tolist()):
            return _bytes_array(array)
    if kind in "OUS":  # as `[1, "a"]`: NumPy finds a type where there is none
        raise not_convertible(values)
    return _cast(array, dtypes.as_dtype(array.dtype))


def _as_numpy(values, dtype=None, allowed=None):
    """Returns what NumPy makes of `values`; raises TensorFlow's errors where it can't."""
    try:
        return np.array(values)
    except Exception as error:
        if any(_is_tensor(leaf) for leaf in leaves(values)):
            raise TypeError("List of Tensors when single Tensor expected") from None
        if allowed is not None:
            _check_elements(values, dtype, allowed)
        if not isinstance(error, ValueError):
            raise
        if dtype is None and _regular_shape(values) == _wanted_shape(values):
            raise not_convertible(values) from None
        raise _ragged(values) from None


def _ragged(values):
    return ValueError(
        f"Argument must be a dense tensor: {_short(values)} - got shape {_regular_shape(values)}, "
        f"but wanted {_wanted_shape(values)}: setting an array element with a sequence (this is a "
        "non-rectangular Python sequence)."
    )


def _exactly(values, dtype):
    """Returns Python numbers as an array; integers too large for `dtype` keep their low bits."""
    try:
        with np.errstate(over="ignore"):
            return np.array(values, dtype.np)
    except OverflowError:
        if not dtype.is_integer or dtype.size == 8:
            raise
        return np.array(values, np.int64).astype(dtype.np)


def _strings(values):
    elements = list(leaves(values))
    shape = _wanted_shape(values)
    if _regular_shape(values) != shape or len(elements) != math.prod(shape):
        raise _ragged(values)
    try:
        return _object_array([_as_bytes(element) for element in elements], shape)
    except TypeError:
        raise not_convertible(values) from None


def _quantized(values, dtype):
    """Returns nested lists of tuples of one integer as a structured array."""
    flat = [values]
    while flat and isinstance(flat[0], list):
        flat = [
            inner for outer in flat for inner in (outer if isinstance(outer, list) else [outer])
        ]
    for item in flat:
        if not isinstance(item, tuple):
            raise _unexpected(item, dtype)
        for element in item:
            if not isinstance(element, _INTEGERS[0]):
                raise _unexpected(element, dtype)
    integers = np.array(values, np.int64)
    if integers.size and integers.shape[-1:] != (1,):
        raise ValueError(
            f"Each value of type {dtype.name} must be a tuple of one integer, got {_short(values)}."
        )
    shape = integers.shape[:-1] if integers.size else integers.shape
    return integers.astype(dtype.np[0]).view(dtype.np).reshape(shape)


def _check_elements(values, dtype, allowed):
    for leaf in leaves(values):
        if isinstance(leaf, np.ndarray):
            if leaf.dtype.kind not in _allowed(dtype)[1] and leaf.dtype != dtype.np:
                raise _unexpected(leaf, dtype)
        elif not isinstance(leaf, allowed) and not (
            isinstance(leaf, np.generic) and leaf.dtype == dtype.np
        ):
            raise _unexpected(leaf, dtype)


def _unexpected(value, dtype):
    return TypeError(
        f"Expected {dtype.name}, got {_short(value)} of type '{type(value).__name__}' instead."
    )


def not_convertible(values: Any) -> TypeError:
    """Returns the error for values that have no type in common."""
    if any(_is_tensor(leaf) for leaf in leaves(values)):
        return TypeError("List of Tensors when single Tensor expected")
    return TypeError(
        f"Failed to convert object of type {type(values)} to Tensor. Contents: {_short(values)}. "
        "Consider casting elements to a supported type."
    )


def _is_tensor(value):
    from weft.framework.tensor import Tensor

    return isinstance(value, Tensor)


def leaves(values: Any) -> Iterator[Any]:
    """Yields what nested lists and tuples hold."""
    if isinstance(values, (list, tuple)):
        for item in values:
            yield from leaves(item)
    else:
        yield values


def _first_leaf(values):
    while isinstance(values, (list, tuple)) and values:
        values = values[0]
    return values


def _wanted_shape(values):
    """Returns the shape that the first element at each level of nested lists suggests."""
    shape = []
    while isinstance(values, (list, tuple)):
        shape.append(len(values))
        if not values:
            break
        values = values[0]
    return shape


def _regular_shape(values):
    """Returns the sizes of nested lists down to the level where they begin to differ."""
    shape = []
    level = [values]
    while level and all(isinstance(item, (list, tuple)) for item in level):
        sizes = {len(item) for item in level}
        if len(sizes) > 1:
            break
        shape.append(sizes.pop())
        level = [inner for item in level for inner in item]
    return shape


def _short(value):
    """As `repr`, but short enough for an error message."""
    return _limited.repr(value.item() if isinstance(value, np.generic) else value)


_limited = reprlib.Repr()
_limited.maxlevel, _limited.maxlist, _limited.maxtuple = 8, 16, 16
_limited.maxstring = _limited.maxother = _limited.maxlong = 240
