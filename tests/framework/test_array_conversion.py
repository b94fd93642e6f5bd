"""Python values to arrays; types, values and errors as TensorFlow 1.15 printed them."""

import fractions

import ml_dtypes
import numpy as np
import pytest

from weft.framework import dtypes
from weft.framework.array_conversion import to_array
from weft.framework.dimension import Dimension

INFERRED = [
    (1, "int32", 1),
    (1.5, "float32", 1.5),
    (True, "bool", True),
    (2**31 - 1, "int32", 2**31 - 1),
    (2**31, "int64", 2**31),
    (-(2**31) - 1, "int64", -(2**31) - 1),
    (2**63, "uint64", 2**63),
    (1j, "complex128", 1j),
    (1e39, "float32", float("inf")),
    ("a", "string", b"a"),
    (b"a\0", "string", b"a\0"),
    ("é", "string", b"\xc3\xa9"),
    (np.int64(5), "int64", 5),
    (np.float64(5), "float64", 5.0),
    (np.bool_(True), "bool", True),
    (np.str_("x"), "string", b"x"),
    ([1, 2], "int32", [1, 2]),
    ([1, 2.5], "float32", [1.0, 2.5]),
    ([True, 2], "int32", [1, 2]),
    ([1, 2j], "complex128", [1 + 0j, 2j]),
    ([2**31, 1], "int64", [2**31, 1]),
    ([], "float32", []),
    ([[], []], "float32", [[], []]),
    ([(1, 2), [3, 4]], "int32", [[1, 2], [3, 4]]),
    (["a", b"b\0"], "string", [b"a", b"b\0"]),
    ([["a"], ["b"]], "string", [[b"a"], [b"b"]]),
    ([np.float64(1)], "float32", [1.0]),
    ([np.int64(1)], "int32", [1]),
    ([np.float16(1)], "float16", [1.0]),
    ([np.uint8(1), np.uint8(2)], "uint8", [1, 2]),
    ([np.array(1), 2], "int32", [1, 2]),
    (np.array([1, 2]), "int64", [1, 2]),
    (np.array([1.0]), "float64", [1.0]),
    (np.array(["a", "bb"]), "string", [b"a", b"bb"]),
    (np.array([b"a", "bb"], object), "string", [b"a", b"bb"]),
    (np.zeros((0, 3)), "float64", []),
    (np.ma.array([1, 2]), "int64", [1, 2]),
    (np.array([1, 2], np.longlong), "int64", [1, 2]),
    (bytearray(b"ab"), "uint8", [97, 98]),
    # TensorFlow refuses these in a graph and takes them eagerly, or the other way round.
    (range(3), "int32", [0, 1, 2]),
    ([np.array([1, 2]), np.array([3, 4])], "int32", [[1, 2], [3, 4]]),
    (Dimension(3), "int32", 3),
    ([Dimension(3), 4], "int32", [3, 4]),
    (np.array([1, 2], ">i4"), "int32", [1, 2]),
]


@pytest.mark.parametrize("value, dtype, expected", INFERRED)
def test_inference(value, dtype, expected):
    array = to_array(value)
    assert isinstance(array, np.ndarray)
    assert array.dtype is getattr(dtypes, dtype).np
    assert array.tolist() == expected


CONVERTED = [
    ("float32", True, 1.0),
    ("float32", [1, 2], [1.0, 2.0]),
    ("float32", [np.float64(1.5)], [1.5]),
    ("float32", fractions.Fraction(1, 2), 0.5),
    ("float32", 2**70, float(2**70)),
    ("float32", np.array([1, 2]), [1.0, 2.0]),
    ("float32", np.array(["1"]), [1.0]),
    ("float32", np.array([2 + 1j]), [2.0]),
    ("float64", 1e39, 1e39),
    ("float64", np.float32(0.1), 0.10000000149011612),
    ("float16", [1.5, 70000.0], [1.5, float("inf")]),
    ("bfloat16", [1.5, 1], [1.5, 1.0]),
    ("bfloat16", ml_dtypes.bfloat16(1.5), 1.5),
    ("bfloat16", [ml_dtypes.bfloat16(1.5)], [1.5]),
    ("int32", [], []),
    ("int32", True, 1),
    ("int32", 2**31, -(2**31)),
    ("int32", [2**31, 2**40 + 3], [-(2**31), 3]),
    ("int32", np.float64(1.5), 1),
    ("int32", np.array([1.5, 2]), [1, 2]),
    ("int32", np.array([np.nan]), [-(2**31)]),
    ("int32", [Dimension(3), 4], [3, 4]),
    ("uint8", [300, -1], [44, 255]),
    ("int8", 200, -56),
    ("int64", np.uint64(2**63), -(2**63)),
    ("uint64", [2**63, 1], [2**63, 1]),
    ("uint64", -1, 2**64 - 1),
    ("uint32", 2**32, 0),
    ("bool", np.array([1, 0]), [True, False]),
    ("complex64", [1, 2j], [1 + 0j, 2j]),
    ("string", ["a", b"b"], [b"a", b"b"]),
    ("string", [], []),
    ("string", np.array([b"x\0"], object), [b"x\0"]),
    ("string", np.array(["é"]), [b"\xc3\xa9"]),
    ("qint8", [(1,), (2,)], [(1,), (2,)]),
    ("qint8", (1,), (1,)),
    ("qint8", [[(1,)], [(300,)]], [[(1,)], [(44,)]]),
    ("qint8", np.array([1, 2]), [(1,), (2,)]),
    ("qint8", [], []),
]


@pytest.mark.parametrize("dtype, value, expected", CONVERTED)
def test_conversion(dtype, value, expected):
    dtype = getattr(dtypes, dtype)
    array = to_array(value, dtype)
    assert array.dtype is dtype.np or array.dtype == dtype.np
    assert array.tolist() == expected


REFUSED = [
    (None, None, ValueError, "None values not supported"),
    (None, 2**64, TypeError, "Failed to convert object of type <class 'int'> to Tensor"),
    (None, [1, "a"], TypeError, r"Failed to convert object .* Contents: \[1, 'a'\]. Consider"),
    (None, ["a", 1], TypeError, "Failed to convert object of type <class 'list'>"),
    (None, [b"a", None], TypeError, "Failed to convert object of type <class 'list'>"),
    (None, [None, 1], TypeError, "Failed to convert object of type <class 'list'>"),
    (None, {"a": 1}, TypeError, "Failed to convert object of type <class 'dict'>"),
    (None, [1, [2]], TypeError, "Failed to convert object"),
    (None, [[1, 2], [3]], ValueError, r"dense tensor: .* got shape \[2\], but wanted \[2, 2\]"),
    (None, [["a", "c"], ["b"]], ValueError, r"got shape \[2\], but wanted \[2, 2\]"),
    (None, [["a"], "b"], ValueError, r"got shape \[2\], but wanted \[2, 1\]"),
    (None, np.array([1, "a"], object), TypeError, "Expected binary or unicode string, got 1"),
    (None, np.array([1], np.longdouble), TypeError, "Cannot convert value"),
    ("float32", "a", TypeError, "Expected float32, got 'a' of type 'str' instead"),
    ("float32", [1, "a"], TypeError, "Expected float32, got 'a' of type 'str' instead"),
    ("float32", 1j, TypeError, "Expected float32, got 1j of type 'complex' instead"),
    ("float32", [None], TypeError, "Expected float32, got None of type 'NoneType' instead"),
    ("float32", [[1, 2], [3]], ValueError, "must be a dense tensor"),
    ("float32", Dimension(3), TypeError, r"Expected float32, got Dimension\(3\)"),
    ("float64", "a", TypeError, "Expected float64, got 'a' of type 'str' instead"),
    ("int32", 1.0, TypeError, "Expected int32, got 1.0 of type 'float' instead"),
    ("int32", [1, 2.0], TypeError, "Expected int32, got 2.0 of type 'float' instead"),
    ("int32", [np.float64(1.5)], TypeError, "Expected int32, got 1.5 of type 'float64' instead"),
    ("int32", 2**64, OverflowError, "too large"),
    ("int64", [2**63], OverflowError, "too large"),
    ("bool", [1], TypeError, "Expected bool, got 1 of type 'int' instead"),
    ("string", ["a", 1], TypeError, "Expected string, got 1 of type 'int' instead"),
    ("string", np.array([1]), TypeError, "Expected binary or unicode string, got 1"),
    ("string", [["a"], ["b", "c"]], ValueError, r"got shape \[2\], but wanted \[2, 1\]"),
    ("qint8", [1, 2], TypeError, "Expected qint8, got 1 of type 'int' instead"),
    ("qint8", [(1.5,)], TypeError, "Expected qint8, got 1.5 of type 'float' instead"),
    ("resource", 1, TypeError, "Incompatible types: <dtype: 'resource'>"),
]


@pytest.mark.parametrize("dtype, value, error, message", REFUSED)
def test_refusal(dtype, value, error, message):
    with pytest.raises(error, match=message):
        to_array(value, dtype and getattr(dtypes, dtype))


SHAPED = [
    (1, [2, 2], [[1, 1], [1, 1]]),
    ([1, 2], [2, 2], [[1, 2], [2, 2]]),
    ([[1, 2]], [2], [1, 2]),
    ([], [2], [0.0, 0.0]),
    (["a", "b"], (3,), [b"a", b"b", b"b"]),
    (5, [0], []),
    ([1.5], [], 1.5),
    (np.array([1, 2]), np.array([3]), [1, 2, 2]),
    (1, [Dimension(2)], [1, 1]),
]


@pytest.mark.parametrize("value, shape, expected", SHAPED)
def test_shape_repeats_the_last_value(value, shape, expected):
    assert to_array(value, shape=shape).tolist() == expected


def test_shape_that_does_not_fit():
    with pytest.raises(ValueError, match="Needed at most 4, but received 5"):
        to_array([1, 2, 3, 4, 5], shape=[2, 2])
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(2, 2\), got \(4,\)"):
        to_array([1, 2, 3, 4], shape=[2, 2], verify_shape=True)
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(2, 2\), got \(2,\)"):
        to_array([1, 2], shape=[2, 2], allow_broadcast=True)
    assert to_array([7], shape=[2], allow_broadcast=True).tolist() == [7, 7]


def test_arrays_that_are_right_are_not_copied():
    array = np.arange(3, dtype=np.float32)
    assert to_array(array) is array
    assert to_array(array, dtypes.float32) is array
    strings = np.array([b"a"], object)
    assert to_array(strings, dtypes.string) is strings


def test_long_values_are_shortened_in_errors():
    with pytest.raises(TypeError, match="Failed to convert") as caught:
        to_array([*range(10_000), "a"])
    assert len(str(caught.value)) < 500
