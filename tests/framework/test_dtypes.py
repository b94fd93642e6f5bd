"""Element types; every expected value was printed by TensorFlow 1.15."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

from weft.framework import dtypes

# name, number, NumPy type, size, what it is
TABLE = [
    ("float32", 1, np.float32, 4, "floating"),
    ("float64", 2, np.float64, 8, "floating"),
    ("int32", 3, np.int32, 4, "integer"),
    ("uint8", 4, np.uint8, 1, "integer unsigned"),
    ("int16", 5, np.int16, 2, "integer"),
    ("int8", 6, np.int8, 1, "integer"),
    ("string", 7, object, 8, ""),
    ("complex64", 8, np.complex64, 8, "complex"),
    ("int64", 9, np.int64, 8, "integer"),
    ("bool", 10, np.bool_, 1, "bool"),
    ("qint8", 11, np.dtype([("qint8", "i1")]), 1, "quantized"),
    ("quint8", 12, np.dtype([("quint8", "u1")]), 1, "quantized"),
    ("qint32", 13, np.dtype([("qint32", "i4")]), 4, "quantized"),
    ("bfloat16", 14, ml_dtypes.bfloat16, 2, "floating"),
    ("qint16", 15, np.dtype([("qint16", "i2")]), 2, "quantized"),
    ("quint16", 16, np.dtype([("quint16", "u2")]), 2, "quantized"),
    ("uint16", 17, np.uint16, 2, "integer unsigned"),
    ("complex128", 18, np.complex128, 16, "complex"),
    ("float16", 19, np.float16, 2, "floating"),
    ("resource", 20, None, 1, ""),
    ("variant", 21, None, 1, ""),
    ("uint32", 22, np.uint32, 4, "integer unsigned"),
    ("uint64", 23, np.uint64, 8, "integer unsigned"),
]
PROPERTIES = ("floating", "integer", "unsigned", "complex", "bool", "quantized")


@pytest.mark.parametrize("name, number, numpy_type, size, kinds", TABLE)
def test_type_and_its_reference(name, number, numpy_type, size, kinds):
    base = getattr(dtypes, name)
    ref = getattr(dtypes, f"{name}_ref")
    for dtype, suffix, offset in ((base, "", 0), (ref, "_ref", 100)):
        assert dtype.name == name + suffix
        assert dtype.enum == dtype.as_datatype_enum == hash(dtype) == number + offset
        assert str(dtype) == f"<dtype: '{name}{suffix}'>"
        assert repr(dtype) == f"tf.{name}{suffix}"
        assert dtype.size == size
        assert dtype.base_dtype is base
        assert dtype._as_ref is ref
        assert dtype._is_ref_dtype == bool(suffix)
        assert dtype.is_numpy_compatible == (numpy_type is not None)
        for what in PROPERTIES:
            assert getattr(dtype, f"is_{what}") is (what in kinds.split()), what
        if numpy_type is None:
            assert dtype.np is None
            with pytest.raises(KeyError):
                _ = dtype.as_numpy_dtype
        else:
            assert dtype.as_numpy_dtype == numpy_type
            assert dtype.np == np.dtype(numpy_type)
            assert dtypes.as_dtype(dtype.as_numpy_dtype) is base
            assert dtypes.as_dtype(dtype.np) is base
        for form in (dtype, dtype.name, dtype.enum):
            assert dtypes.as_dtype(form) is dtype
        assert dtypes.DType(dtype.enum) is dtype
        assert pickle.loads(pickle.dumps(dtype)) is dtype
        assert copy.deepcopy(dtype) is dtype


@pytest.mark.parametrize(
    "value, expected",
    [
        (float, "float32"),
        (bool, "bool"),
        (object, "string"),
        ("half", "float16"),
        ("float", "float32"),
        ("double_ref", "float64_ref"),
        (np.str_, "string"),
        (np.bytes_, "string"),
        (np.dtype("S5"), "string"),
        (np.array(["foo", "bar"]).dtype, "string"),
        (np.dtype(">f4"), "float32"),
        (np.longlong, "int64"),
        (np.dtype("q"), "int64"),
        (np.ulonglong, "uint64"),
        (np.intc, "int32"),
        (True, "float32"),
    ],
)
def test_as_dtype(value, expected):
    assert dtypes.as_dtype(value) is getattr(dtypes, expected)


@pytest.mark.parametrize(
    "value",
    [
        *(int, str, bytes, complex, None, 0, 24, 1000, "f4", "str", "O", "bogus", b"float32", 3.5),
        *([1], (1, 2), dict, np.datetime64, np.longdouble, np.generic, np.dtype("i4,i4")),
    ],
)
def test_as_dtype_refuses(value):
    with pytest.raises(TypeError, match="Cannot convert value"):
        dtypes.as_dtype(value)


def test_number_zero_is_no_type():
    with pytest.raises(TypeError, match="not a valid types_pb2.DataType: 0"):
        dtypes.DType(0)


def test_equality_accepts_whatever_names_a_type():
    assert dtypes.float32 == "float32"
    assert dtypes.float32 == np.float32
    assert dtypes.float32 == 1
    assert np.float32 == dtypes.float32
    for other in ("float64", np.float64, 3, None, "xx", [], int, dtypes.float32_ref):
        assert dtypes.float32 != other
    assert {1: "float"}[dtypes.float32] == "float"


@pytest.mark.parametrize(
    "name, least, greatest",
    [
        ("int8", -128, 127),
        ("uint16", 0, 65535),
        ("int64", -(2**63), 2**63 - 1),
        ("uint64", 0, 2**64 - 1),
        ("float32", np.finfo(np.float32).min, np.finfo(np.float32).max),
        ("bfloat16", float.fromhex("-0x1.FEp127"), float.fromhex("0x1.FEp127")),
    ],
)
def test_min_and_max(name, least, greatest):
    dtype = getattr(dtypes, name)
    assert (dtype.min, dtype.max) == (least, greatest)


@pytest.mark.parametrize("name", ["bool", "string", "complex64", "qint8", "resource"])
def test_no_min_where_there_is_no_order(name):
    dtype = getattr(dtypes, name)
    with pytest.raises(TypeError, match=f"Cannot find minimum value of <dtype: '{name}'>"):
        _ = dtype.min
    with pytest.raises(TypeError, match="Cannot find maximum value"):
        _ = dtype.max


def test_limits_of_images():
    assert dtypes.uint8.limits == (0, 255)
    assert dtypes.int16.limits == (0, 32767)
    assert dtypes.float32.limits == (0, 1)
    with pytest.raises(KeyError):
        _ = dtypes.complex64.limits


def test_real_dtype():
    assert dtypes.complex64.real_dtype is dtypes.float32
    assert dtypes.complex128_ref.real_dtype is dtypes.float64
    assert dtypes.float32_ref.real_dtype is dtypes.float32_ref
    assert dtypes.string.real_dtype is dtypes.string


def test_compatibility_goes_from_reference_to_value():
    assert dtypes.float32.is_compatible_with(dtypes.float32_ref)
    assert not dtypes.float32_ref.is_compatible_with(dtypes.float32)
    assert dtypes.int32.is_compatible_with("int32")
    assert not dtypes.int32.is_compatible_with(dtypes.int64)


def test_a_type_cannot_be_changed():
    with pytest.raises(AttributeError):
        dtypes.float32.name = "other"
    with pytest.raises(AttributeError):
        del dtypes.float32.np


def test_sets():
    assert len(dtypes.numbers) == 17 and dtypes.bool not in dtypes.numbers
    assert set(dtypes.real_numbers) < set(dtypes.numbers)
    assert len(dtypes.QUANTIZED_DTYPES) == 10 and dtypes.qint8_ref in dtypes.QUANTIZED_DTYPES
    assert dtypes.index_types == (dtypes.int32, dtypes.int64)
    assert {d for d in dtypes.numbers if d.is_integer} == set(dtypes.integers)
    assert len(dtypes.TF_VALUE_DTYPES) == 21
