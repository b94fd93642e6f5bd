"""TensorProto from values and back; the bytes are those that TensorFlow 1.15 writes."""

import numpy as np
import pytest

from weft import proto
from weft.framework import dtypes
from weft.framework.dimension import Dimension
from weft.framework.tensor_proto import make_ndarray, make_tensor_proto

# value, dtype, shape, bytes
WRITTEN = [
    (1, None, None, "080312003a0101"),
    (-(2**31), None, None, "080312003a0a80808080f8ffffffff01"),
    (1.5, None, None, "080112002a040000c03f"),
    (True, None, None, "080a12005a0101"),
    (2**31, None, None, "0809120052058080808008"),
    (2**63, None, None, "081712008a010a80808080808080808001"),
    (b"a\0", None, None, "0807120042026100"),
    ("é", None, None, "080712004202c3a9"),
    (1j, None, None, "0812120062100000000000000000000000000000f03f"),
    ([1, 2], None, None, "080312041202080222080100000002000000"),
    ([1, 2.5], None, None, "080112041202080222080000803f00002040"),
    ([True, False], None, None, "080a1204120208025a020100"),
    ([[], []], None, None, "08011206120208021200"),
    (["a", b"b\0"], None, None, "080712041202080242016142026200"),
    ([2**31, 1], None, None, "0809120412020802221000000080000000000100000000000000"),
    (np.array([1, 2], np.int16), None, None, "0805120412020802220401000200"),
    (np.zeros((0, 3)), None, None, "08021206120012020803"),
    ([1.5, 70000.0], "float16", None, "08131204120208026a05807c80f801"),
    ([1.5, 1], "bfloat16", None, "080e1204120208026a04c07f807f"),
    ([1, 2j], "complex64", None, "08081204120208024a100000803f000000000000000000000040"),
    ([(1,), (2,)], "qint8", None, "080b12041202080222020102"),
    ((1,), "qint8", None, "080b12003a0101"),
    ([300, -1], "uint8", None, "080412041202080222022cff"),
    ([2**31], "uint32", None, "08161204120208018201058080808008"),
    (1, None, [2, 2], "0803120812020802120208023a0101"),
    ([1, 2], None, [2, 2], "0803120812020802120208023a020102"),
    ([], None, [2], "0801120412020802"),
    (["a", "b"], None, [3], "0807120412020803420161420162"),
    ([1.5], "float32", [], "080112002a040000c03f"),
    (np.array([1, 2]), None, [3], "080912041202080352020102"),
    ([1, 2], "float16", [4], "08131204120208046a058078808001"),
    ([1, 2], "uint64", [4], "08171204120208048a01020102"),
    ([(1,), (2,)], "qint8", [4], "080b1204120208043a020102"),
    (5, "float32", [0], "080112021200"),
]


@pytest.mark.parametrize("value, dtype, shape, written", WRITTEN)
def test_bytes_and_back(value, dtype, shape, written):
    message = make_tensor_proto(value, dtype and getattr(dtypes, dtype), shape)
    assert message.SerializeToString().hex() == written
    array = make_ndarray(message)
    tensor_dtype = dtypes.as_dtype(message.dtype)
    assert array.dtype == tensor_dtype.np
    assert list(array.shape) == [dim.size for dim in message.tensor_shape.dim]
    again = make_tensor_proto(array, tensor_dtype)
    np.testing.assert_array_equal(make_ndarray(again), array)
    assert make_tensor_proto(message) is message


@pytest.mark.parametrize(
    "written, expected",
    [
        ("0803120812020802120208023a020102", [[1, 2], [2, 2]]),
        ("0801120412020802", [0.0, 0.0]),
        ("0807120412020802", [b"", b""]),
        ("081212041202080462100000000000000000000000000000f03f", [1j] * 4),
        ("080612003a0ac8ffffffffffffffff01", -56),
        ("0807120412020803420161420162", [b"a", b"b", b"b"]),
    ],
)
def test_reading_repeats_the_last_value(written, expected):
    message = proto.TensorProto.FromString(bytes.fromhex(written))
    assert make_ndarray(message).tolist() == expected


@pytest.mark.parametrize("dtype", [*dtypes.numbers, dtypes.bool])
def test_reading_both_forms_of_every_number(dtype):
    values = np.array([0, 1, 1, 0], np.int8)
    plain = dtype.np[0] if dtype.is_quantized else dtype.np
    array = values.astype(plain).view(dtype.np).reshape(2, 2)
    content = proto.TensorProto(dtype=dtype.enum, tensor_content=array.tobytes())
    for size in array.shape:
        content.tensor_shape.dim.add(size=size)
    read = make_ndarray(content)
    assert read.dtype == dtype.np and read.flags.writeable
    np.testing.assert_array_equal(read, array)
    listed = make_tensor_proto(array.ravel()[:3], dtype, [2, 2])
    assert not listed.tensor_content
    assert make_ndarray(listed).ravel().tolist() == array.ravel()[[0, 1, 2, 2]].tolist()


def test_reading_the_runtimes_lists_of_strings():
    long = b"x" * 200
    message = make_tensor_proto([b"", b"", b""])
    message.ClearField("string_val")
    message.tensor_content = bytes([0, 0xC8, 0x01, 2]) + long + b"\0y"
    assert make_ndarray(message).tolist() == [b"", long, b"\0y"]
    message.tensor_content = message.tensor_content[:-1]
    with pytest.raises(ValueError, match="must have 206 bytes of tensor_content, this one has 205"):
        make_ndarray(message)
    message.tensor_content = b"\x80"
    with pytest.raises(ValueError, match="cut off"):
        make_ndarray(message)


def test_resource_handles():
    handles = [proto.ResourceHandleProto(name=name, device="/cpu:0") for name in ("v", "w")]
    message = make_tensor_proto(handles, dtypes.resource)
    assert [h.name for h in message.resource_handle_val] == ["v", "w"]
    assert make_ndarray(message).tolist() == handles
    parts = [h.SerializeToString() for h in handles]
    message.ClearField("resource_handle_val")
    message.tensor_content = bytes(map(len, parts)) + b"".join(parts)
    assert make_ndarray(message).tolist() == handles
    scalar = make_tensor_proto(handles[0], dtypes.resource)
    assert make_ndarray(scalar).item() == handles[0]
    with pytest.raises(TypeError, match="Incompatible types: <dtype: 'resource'> vs. int"):
        make_tensor_proto(1, dtypes.resource)


def test_damaged_messages():
    message = make_tensor_proto([1, 2, 3])
    message.tensor_content = message.tensor_content[:-1]
    with pytest.raises(ValueError, match="must have 12 bytes of tensor_content, this one has 11"):
        make_ndarray(message)
    message = proto.TensorProto(dtype=proto.DT_FLOAT, float_val=[1, 2])
    with pytest.raises(ValueError, match="holds at most 1 values, this one has 2 in float_val"):
        make_ndarray(message)
    with pytest.raises(TypeError, match="Cannot convert value 0"):
        make_ndarray(proto.TensorProto())


def test_arguments_that_contradict_each_other():
    with pytest.raises(ValueError, match="not both allowed"):
        make_tensor_proto(1, shape=[1], verify_shape=True, allow_broadcast=True)
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(2,\), got \(\)"):
        make_tensor_proto(1, shape=[2], verify_shape=True)
    with pytest.raises(TypeError, match="Cannot convert value 0"):
        make_tensor_proto(np.array([1]), 0)
    with pytest.raises(TypeError, match="Failed to convert object of type <class 'list'>"):
        make_tensor_proto([Dimension(1)])
    assert make_ndarray(make_tensor_proto([Dimension(1)], dtypes.int32)).tolist() == [1]
    with pytest.raises(ValueError, match="Needed at most 1, but received 2"):
        make_tensor_proto([1, 2], shape=[])


def test_limit_of_two_gigabytes():
    # One byte that is repeated by a stride of 0, so that the test itself needs no memory.
    array = np.broadcast_to(np.uint8(1), (2**31,))
    with pytest.raises(ValueError, match="larger than 2GB"):
        make_tensor_proto(array)
