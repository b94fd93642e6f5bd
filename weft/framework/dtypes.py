"""Element types of tensors: one interned, immutable `DType` for each of TensorFlow's types."""

import builtins
from typing import Any

import ml_dtypes
import numpy as np

_REF_OFFSET = 100
_BY_ENUM: "dict[int, DType]" = {}


class DType:
    """The type of the elements of a tensor.

    There is exactly one object for each type, so `is` compares types. For a reference type (what a
    mutable variable's op gives, `tf.float32_ref`) `base_dtype` is the type of the values behind it.

    `np` is the NumPy dtype of an array of this type, or None where NumPy has no such type
    (`resource`, `variant`); `enum` is the number in TensorFlow's `DataType`.
    """

    __slots__ = (
        "name",
        "enum",
        "np",
        "size",
        "base_dtype",
        "real_dtype",
        "is_bool",
        "is_integer",
        "is_floating",
        "is_complex",
        "is_quantized",
        "is_unsigned",
        "is_numpy_compatible",
        "_as_ref",
        "_is_ref_dtype",
        "_scalar_type",
        "__weakref__",
    )

    name: str
    enum: int
    np: Any  # np.dtype or None
    size: int
    base_dtype: "DType"
    real_dtype: "DType"
    is_bool: "builtins.bool"
    is_integer: "builtins.bool"
    is_floating: "builtins.bool"
    is_complex: "builtins.bool"
    is_quantized: "builtins.bool"
    is_unsigned: "builtins.bool"
    is_numpy_compatible: "builtins.bool"
    _as_ref: "DType"
    _is_ref_dtype: "builtins.bool"
    _scalar_type: Any

    def __new__(cls, type_enum: Any) -> "DType":
        """Returns the type with the number `type_enum` in TensorFlow's `DataType`."""
        dtype = _BY_ENUM.get(int(type_enum))
        if dtype is None:
            raise TypeError(f"type_enum is not a valid types_pb2.DataType: {type_enum}")
        return dtype

    def __setattr__(self, attribute, value):
        raise AttributeError(f"{self!r}: the attribute {attribute!r} of a DType cannot be set.")

    def __delattr__(self, attribute):
        raise AttributeError(f"{self!r}: the attribute {attribute!r} of a DType cannot be removed.")

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy type of arrays of this type: a scalar type, or a dtype where quantized."""
        if self._scalar_type is None:
            raise KeyError(f"{self.name} values have no NumPy type.")
        return self._scalar_type

    @property
    def as_datatype_enum(self) -> int:
        """The number of this type in TensorFlow's `DataType`."""
        return self.enum

    _type_enum = as_datatype_enum

    @property
    def min(self) -> Any:
        """The least finite value. `TypeError` for a type that is not an ordered number."""
        return self._bound("min", "minimum")

    @property
    def max(self) -> Any:
        """The greatest finite value. `TypeError` for a type that is not an ordered number."""
        return self._bound("max", "maximum")

    def _bound(self, which, word):
        if self.is_floating:
            return getattr(ml_dtypes.finfo(self.np), which)
        if self.is_integer:
            return getattr(np.iinfo(self.np), which)
        raise TypeError(f"Cannot find {word} value of {self}.")

    @property
    def limits(self) -> tuple:
        """The intensities `(0, max)` of images of this type; floating point images end at 1."""
        if self._scalar_type not in dtype_range:
            raise KeyError(f"{self.name} is not a type of images with known limits.")
        return 0, dtype_range[self._scalar_type][1]

    def is_compatible_with(self, other: Any) -> "builtins.bool":
        """Whether a tensor of the type `other` may stand where this type is required."""
        other = as_dtype(other)
        return self is other or self is other.base_dtype

    def __eq__(self, other):
        if self is other:
            return True
        if other is None or type(other) is DType:
            return False
        try:
            return self is as_dtype(other)
        except TypeError:
            return False

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return self.enum

    def __str__(self):
        return f"<dtype: {self.name!r}>"

    def __repr__(self):
        return "tf." + self.name

    def __reduce__(self):
        return as_dtype, (self.name,)


def _define(
    enum: int, name: str, scalar_type: Any, kind: str = "", real_dtype: DType | None = None
) -> tuple[DType, DType]:
    """Makes the type and its reference type; `kind` says which `is_*` attributes hold."""
    pair = base, ref = object.__new__(DType), object.__new__(DType)
    array_dtype = None if scalar_type is None else np.dtype(scalar_type)
    for dtype, offset, suffix in ((base, 0, ""), (ref, _REF_OFFSET, "_ref")):
        attributes = {
            "name": name + suffix,
            "enum": enum + offset,
            "np": array_dtype,
            "size": 1 if array_dtype is None else array_dtype.itemsize,
            "base_dtype": base,
            "real_dtype": real_dtype or dtype,
            "is_bool": kind == "bool",
            "is_integer": kind in ("signed", "unsigned"),
            "is_floating": kind == "floating",
            "is_complex": kind == "complex",
            "is_quantized": kind == "quantized",
            "is_unsigned": kind == "unsigned",
            "is_numpy_compatible": scalar_type is not None,
            "_as_ref": ref,
            "_is_ref_dtype": dtype is ref,
            "_scalar_type": scalar_type,
        }
        for attribute, value in attributes.items():
            object.__setattr__(dtype, attribute, value)
        _BY_ENUM[dtype.enum] = dtype
    return pair


# Quantized values are fed and fetched as structured NumPy values with one field of this name.
_np_qint8 = np.dtype([("qint8", np.int8)])
_np_quint8 = np.dtype([("quint8", np.uint8)])
_np_qint16 = np.dtype([("qint16", np.int16)])
_np_quint16 = np.dtype([("quint16", np.uint16)])
_np_qint32 = np.dtype([("qint32", np.int32)])
np_resource = np.dtype([("resource", np.ubyte)])

float32, float32_ref = _define(1, "float32", np.float32, "floating")
float64, float64_ref = _define(2, "float64", np.float64, "floating")
int32, int32_ref = _define(3, "int32", np.int32, "signed")
uint8, uint8_ref = _define(4, "uint8", np.uint8, "unsigned")
int16, int16_ref = _define(5, "int16", np.int16, "signed")
int8, int8_ref = _define(6, "int8", np.int8, "signed")
string, string_ref = _define(7, "string", object)
complex64, complex64_ref = _define(8, "complex64", np.complex64, "complex", float32)
int64, int64_ref = _define(9, "int64", np.int64, "signed")
bool, bool_ref = _define(10, "bool", np.bool_, "bool")
qint8, qint8_ref = _define(11, "qint8", _np_qint8, "quantized")
quint8, quint8_ref = _define(12, "quint8", _np_quint8, "quantized")
qint32, qint32_ref = _define(13, "qint32", _np_qint32, "quantized")
bfloat16, bfloat16_ref = _define(14, "bfloat16", ml_dtypes.bfloat16, "floating")
qint16, qint16_ref = _define(15, "qint16", _np_qint16, "quantized")
quint16, quint16_ref = _define(16, "quint16", _np_quint16, "quantized")
uint16, uint16_ref = _define(17, "uint16", np.uint16, "unsigned")
complex128, complex128_ref = _define(18, "complex128", np.complex128, "complex", float64)
float16, float16_ref = _define(19, "float16", np.float16, "floating")
resource, resource_ref = _define(20, "resource", None)
variant, variant_ref = _define(21, "variant", None)
uint32, uint32_ref = _define(22, "uint32", np.uint32, "unsigned")
uint64, uint64_ref = _define(23, "uint64", np.uint64, "unsigned")

half, half_ref = float16, float16_ref
double, double_ref = float64, float64_ref

# Sets of types for op declarations, in the order in which TensorFlow's own declarations list them.
numbers = (
    *(float32, float64, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32),
    *(bfloat16, uint16, complex128, float16, uint32, uint64),
)
real_numbers = (
    *(
        float32,
        float64,
        int32,
        uint8,
        int16,
        int8,
        int64,
        bfloat16,
        uint16,
        float16,
        uint32,
        uint64,
    ),
)
floats = (float16, bfloat16, float32, float64)
complexes = (complex64, complex128)
integers = (int8, int16, int32, int64, uint8, uint16, uint32, uint64)
index_types = (int32, int64)
quantized = (qint8, quint8, qint32, qint16, quint16)

QUANTIZED_DTYPES = frozenset(quantized) | frozenset(dtype._as_ref for dtype in quantized)

# Intensities of images, by NumPy scalar type.
dtype_range = {
    np.bool_: (False, True),
    **{t: (np.iinfo(t).min, np.iinfo(t).max) for t in (dtype.np.type for dtype in integers)},
    np.float32: (-1, 1),
    np.float64: (-1, 1),
}


def _numpy_types():
    table = {
        dtype._scalar_type: dtype
        for dtype in _BY_ENUM.values()
        if dtype._scalar_type not in (None, object) and not dtype._is_ref_dtype
    }
    table.update({np.object_: string, np.bytes_: string, np.str_: string})
    # NumPy keeps two scalar types of the same width apart (`long` and `long long`).
    for scalar_type in (np.intc, np.uintc, np.int_, np.uint, np.longlong, np.ulonglong):
        if scalar_type not in table:
            table[scalar_type] = next(d for d in integers if d.np == np.dtype(scalar_type))
    return table


_BY_NUMPY_TYPE = _numpy_types()
_BY_ANYTHING: "dict[Any, DType]" = {
    **_BY_ENUM,
    **{dtype.name: dtype for dtype in _BY_ENUM.values()},
    "half": float16,
    "half_ref": float16_ref,
    "float": float32,
    "float_ref": float32_ref,
    "double": float64,
    "double_ref": float64_ref,
    builtins.float: float32,
    builtins.bool: bool,
    object: string,
    **_BY_NUMPY_TYPE,
}
TF_VALUE_DTYPES = set(_BY_NUMPY_TYPE.values())


def as_dtype(type_value: Any) -> DType:
    """Returns the `DType` for `type_value`.

    That may be a `DType`, its name or number, a NumPy dtype or scalar type, or Python's `float`,
    `bool` or `object` (which is `tf.string`).
    """
    if type(type_value) is DType:
        return type_value
    if isinstance(type_value, np.dtype):
        dtype = _BY_NUMPY_TYPE.get(type_value.type)
        if dtype is not None:
            return dtype
    try:
        dtype = _BY_ANYTHING.get(type_value)
    except TypeError:  # not hashable
        dtype = None
    if dtype is None:
        raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")
    return dtype
