"""Static shapes and dimensions; every expected value was printed by TensorFlow 1.15."""

import copy
import pickle

import numpy as np
import pytest

from weft.framework import dtypes, tensor_shape
from weft.framework.tensor_shape import Dimension, TensorShape


@pytest.fixture
def v2_shapes():
    tensor_shape.enable_v2_tensorshape()
    yield
    tensor_shape.disable_v2_tensorshape()


@pytest.mark.parametrize(
    "dims, expected",
    [
        (None, None),
        ([], ()),
        ((1, None, 3), (1, None, 3)),
        (5, (5,)),
        (Dimension(3), (3,)),
        (np.array([1, 2]), (1, 2)),
        (np.array(3), (3,)),
        ([np.int64(3), np.array(4)], (3, 4)),
        (range(3), (0, 1, 2)),
        ((x for x in [1, 2]), (1, 2)),
        (["3", b"4"], (3, 4)),
        ([1.0, True], (1, 1)),
        (TensorShape([1, None]), (1, None)),
        ([2**40], (2**40,)),
    ],
)
def test_construction(dims, expected):
    shape = TensorShape(dims)
    assert shape.dims_tuple == expected
    if expected is not None:
        assert all(size is None or type(size) is int for size in shape.dims_tuple)


@pytest.mark.parametrize(
    "dims, error, message",
    [
        ("34", TypeError, "A string has ambiguous TensorShape"),
        ([-1, 2], ValueError, "Dimension -1 must be >= 0"),
        ([1.5], ValueError, "Ambiguous dimension: 1.5"),
        ([dtypes.int32], TypeError, "Cannot convert <dtype: 'int32'> to Dimension"),
        ([object()], TypeError, r"int\(\) argument must be"),
        ([[1]], TypeError, r"int\(\) argument must be"),
        (["a"], ValueError, "invalid literal for int"),
    ],
)
def test_construction_refuses(dims, error, message):
    with pytest.raises(error, match=message):
        TensorShape(dims)


@pytest.mark.parametrize(
    "dims, text, representation",
    [
        (None, "<unknown>", "TensorShape(None)"),
        ([], "()", "TensorShape([])"),
        ([3], "(3,)", "TensorShape([Dimension(3)])"),
        ([None], "(?,)", "TensorShape([Dimension(None)])"),
        ([3, None], "(3, ?)", "TensorShape([Dimension(3), Dimension(None)])"),
    ],
)
def test_text(dims, text, representation):
    assert str(TensorShape(dims)) == text
    assert repr(TensorShape(dims)) == representation


def test_proto_round_trip():
    shape = TensorShape([3, None])
    message = shape.as_proto()
    assert message.SerializeToString() == bytes.fromhex("12020803120b08ffffffffffffffffff01")
    assert TensorShape(message).dims_tuple == (3, None)
    unknown = TensorShape(None).as_proto()
    assert unknown.unknown_rank
    assert TensorShape(unknown).dims_tuple is None
    assert TensorShape([]).as_proto().SerializeToString() == b""


def test_parts():
    shape = TensorShape([3, None, 5])
    assert list(map(type, shape)) == [Dimension] * 3
    assert shape[0].value == 3 and shape[1].value is None and shape[-1].value == 5
    assert shape[1:].as_list() == [None, 5]
    assert shape[::-1].as_list() == [5, None, 3]
    assert (shape.rank, shape.ndims, len(shape)) == (3, 3, 3)
    assert shape.dims[2].value == 5
    with pytest.raises(IndexError):
        shape[5]


def test_parts_of_unknown_rank():
    shape = TensorShape(None)
    assert (shape.rank, shape.ndims, shape.dims) == (None, None, None)
    assert not shape and TensorShape([])
    assert shape[3].value is None
    assert shape[1:].rank is None and shape[:-1].rank is None and shape[-3:].rank is None
    assert shape[1:4].as_list() == [None] * 3
    assert shape[4:1].as_list() == []
    for use, message in [
        (len, "Cannot take the length of shape with unknown rank"),
        (list, "Cannot iterate over a shape with unknown rank"),
        (TensorShape.as_list, "not defined on an unknown TensorShape"),
        (lambda s: s[::2], "Steps are not yet handled"),
    ]:
        with pytest.raises(ValueError, match=message):
            use(shape)


def test_second_behaviour_gives_plain_values(v2_shapes):
    shape = TensorShape([None, 1])
    assert list(shape) == [None, 1]
    assert shape[0] is None and shape[1] == 1
    assert TensorShape(None)[0] is None
    assert str(shape) == "(None, 1)"
    assert repr(shape) == "TensorShape([None, 1])"
    assert isinstance(shape.dims[0], Dimension)


def test_numpy_takes_shapes():
    assert np.zeros(TensorShape([2, 3])).shape == (2, 3)
    assert np.zeros((Dimension(2), 3)).shape == (2, 3)


@pytest.mark.parametrize(
    "one, other, equal",
    [
        ([1], [1], True),
        ([1, 2], (1, 2), True),
        ([1, 2], ["1", "2"], True),
        ([1], 1, True),
        ([1, 2], [1], False),
        ([None], [None], False),
        ([None], [1], False),
        ([1, 2], object(), False),
        ([1, 2], "12", False),
    ],
)
def test_equality(one, other, equal):
    shape = TensorShape(one)
    assert (shape == other) is equal
    assert (shape != other) is not equal


def test_equality_with_unknown_parts():
    unknown = TensorShape(None)
    assert unknown == TensorShape(None) and unknown == None  # noqa: E711
    assert not unknown == [1] and not TensorShape([1]) == unknown
    for one, other in [(unknown, None), (unknown, [1]), (TensorShape([1]), None)]:
        with pytest.raises(ValueError, match="inequality of unknown TensorShapes is undefined"):
            _ = one != other
    partial = TensorShape([None, 1])
    assert partial == partial and not partial != partial
    assert TensorShape(partial) == partial
    with pytest.raises(ValueError, match="must be >= 0"):
        _ = TensorShape([1]) == [-1]
    with pytest.raises(TypeError, match="unhashable"):
        hash(partial)


@pytest.mark.parametrize(
    "one, other, merged",
    [
        ([1, None], [None, 2], (1, 2)),
        ([1, None], None, (1, None)),
        (None, [2], (2,)),
        ([None], [None], (None,)),
        ([1, None], [2, 2], ValueError),
        ([1, None], [2], ValueError),
    ],
)
def test_merging(one, other, merged):
    shape = TensorShape(one)
    assert shape.is_compatible_with(other) == (merged is not ValueError)
    if merged is ValueError:
        with pytest.raises(ValueError, match=r"Shapes \(1, \?\) and \(2,.* are not compatible"):
            shape.merge_with(other)
        with pytest.raises(ValueError, match=r"Shapes \(1, \?\) and .* are incompatible"):
            shape.assert_is_compatible_with(other)
    else:
        assert shape.merge_with(other).dims_tuple == merged


@pytest.mark.parametrize(
    "one, other, common",
    [
        ([1, None, 3], [1, None, 4], (1, None, None)),
        ([1, 2], [1, 2], (1, 2)),
        ([1, 2], [1], None),
        ([1], None, None),
    ],
)
def test_most_specific_compatible_shape(one, other, common):
    assert TensorShape(one).most_specific_compatible_shape(other).dims_tuple == common


def test_concatenation():
    assert (TensorShape([1]) + [2]).dims_tuple == (1, 2)
    assert ([2] + TensorShape([1])).dims_tuple == (2, 1)
    assert ((2,) + TensorShape([1])).dims_tuple == (2, 1)
    assert (2 + TensorShape([1])).dims_tuple == (2, 1)
    assert (TensorShape([1]) + None).dims_tuple is None
    assert TensorShape([1]).concatenate(Dimension(3)).dims_tuple == (1, 3)


def test_requirements_on_the_rank():
    shape = TensorShape([1])
    assert shape.with_rank(1).dims_tuple == (1,)
    assert shape.with_rank_at_least(1) is shape and shape.with_rank_at_most(1) is shape
    assert TensorShape(None).with_rank(2).dims_tuple == (None, None)
    TensorShape(None).assert_has_rank(2)
    shape.assert_same_rank([7])
    for check, message in [
        (lambda: shape.with_rank(2), r"Shape \(1,\) must have rank 2"),
        (lambda: shape.assert_has_rank(2), r"Shape \(1,\) must have rank 2"),
        (lambda: shape.with_rank_at_least(2), r"Shape \(1,\) must have rank at least 2"),
        (lambda: shape.with_rank_at_most(0), r"Shape \(1,\) must have rank at most 0"),
        (lambda: shape.assert_same_rank([1, 2]), r"\(1,\) and \(1, 2\) must have the same rank"),
        (lambda: TensorShape([1, None]).assert_is_fully_defined(), r"\(1, \?\) is not fully def"),
    ]:
        with pytest.raises(ValueError, match=message):
            check()


def test_number_of_elements():
    assert TensorShape([2, 3]).num_elements() == 6
    assert TensorShape([]).num_elements() == 1
    assert TensorShape([0, 3]).num_elements() == 0
    assert TensorShape([2, None]).num_elements() is None
    assert TensorShape(None).num_elements() is None
    assert TensorShape([2]).is_fully_defined() and not TensorShape(None).is_fully_defined()


def test_copies():
    for dims in ([2, None], None, []):
        shape = TensorShape(dims)
        assert pickle.loads(pickle.dumps(shape)).dims_tuple == shape.dims_tuple
        assert copy.deepcopy(shape).dims_tuple == shape.dims_tuple


def test_other_makers():
    assert tensor_shape.unknown_shape().dims_tuple is None
    assert tensor_shape.unknown_shape(2).dims_tuple == (None, None)
    assert tensor_shape.unknown_shape(ndims=1).dims_tuple == (None,)
    with pytest.raises(TypeError, match="Unknown argument"):
        tensor_shape.unknown_shape(foo=3)
    assert tensor_shape.as_shape([1]).dims_tuple == (1,)
    assert tensor_shape.dimension_value(Dimension(3)) == 3
    assert tensor_shape.dimension_value(None) is None
    assert tensor_shape.dimension_at_index(TensorShape([1, 2]), 1).value == 2
    assert tensor_shape.dimension_at_index(TensorShape(None), 1).value is None
    with pytest.raises(TypeError, match="must be a TensorShape, not list"):
        tensor_shape.dimension_at_index([1], 0)


D = Dimension


@pytest.mark.parametrize(
    "compute, value",
    [
        (lambda: D(3) + 4, 7),
        (lambda: 4 + D(3), 7),
        (lambda: "1" + D(3), 4),
        (lambda: D(4) - 3, 1),
        (lambda: 5 - D(3), 2),
        (lambda: D(3) * 2, 6),
        (lambda: 2 * D(3), 6),
        (lambda: D(7) // 2, 3),
        (lambda: 7 // D(2), 3),
        (lambda: D(7) % 4, 3),
        (lambda: 7 % D(4), 3),
        (lambda: D(None) + 1, None),
        (lambda: 1 - D(None), None),
        (lambda: D(None) // 0, None),
        (lambda: D(3).merge_with(None), 3),
        (lambda: D(None).merge_with(4), 4),
    ],
)
def test_dimension_arithmetic(compute, value):
    assert isinstance(compute(), Dimension)
    assert compute().value == value


@pytest.mark.parametrize(
    "compute, error, message",
    [
        (lambda: D(3) - 4, ValueError, "Dimension -1 must be >= 0"),
        (lambda: D(3) + 1.5, TypeError, "unsupported operand"),
        (lambda: D(7) / 2, TypeError, r"for /: 'Dimension' and 'int', please use // instead"),
        (lambda: 7 / D(2), TypeError, r"for /: 'int' and 'Dimension', please use // instead"),
        (lambda: D(7) // 0, ZeroDivisionError, "by zero|modulo"),
        (lambda: D(3).merge_with(4), ValueError, "Dimensions 3 and 4 are not compatible"),
        (lambda: D(7) < "a", ValueError, "invalid literal"),
        (lambda: int(D(None)), TypeError, "__int__ returned non-int"),
        (lambda: hash(D(3)), TypeError, "unhashable"),
    ],
)
def test_dimension_refuses(compute, error, message):
    with pytest.raises(error, match=message):
        compute()


@pytest.mark.parametrize(
    "comparison, expected",
    [
        (D(3) == 3, True),
        (D(3) == "3", True),
        (D(3) == 3.5, False),
        (D(3) == -1, False),
        (D(3) != 3.5, True),
        (D(3) != object(), True),
        (D(None) == D(None), None),
        (D(None) != 3, None),
        (D(7) < 8, True),
        (8 < D(7), False),
        (D(7) >= None, None),
        (D(3).is_compatible_with(4), False),
        (D(3).is_compatible_with(None), True),
    ],
)
def test_dimension_comparison(comparison, expected):
    assert comparison is expected


def test_dimension_as_a_number():
    assert [1] * D(3) == D(3) * [1] == [1, 1, 1]
    assert list(range(D(3))) == [0, 1, 2]
    assert (str(D(None)), repr(D(None)), str(D(3)), repr(D(3))) == (
        *("?", "Dimension(None)"),
        *("3", "Dimension(3)"),
    )
    assert pickle.loads(pickle.dumps(D(5))).value == 5
    assert bool(D(0)) and bool(D(None))
