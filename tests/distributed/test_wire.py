"""Tensors on the wire: what is written beside protobuf is what protobuf writes, and hostile bytes are refused."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import proto
from weft.distributed import large_messages, wire
from weft.framework import dtypes, errors
from weft.framework.tensor_proto import make_ndarray
from weft.ops.flow.list_value import TensorList

MANY = large_messages.LARGE


def _parsed(data, cls):
    """A message as protobuf reads it, and as weft does."""
    data = wire.written(data)
    return cls.FromString(data), wire.reader(cls)(data)


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.int8, np.bool_, np.complex64, ml_dtypes.bfloat16]
)
def test_large_tensors_are_what_protobuf_makes_of_them(dtype):
    array = (np.arange(MANY * 2) % 3).astype(dtype).reshape(2, MANY)
    kind = dtypes.as_dtype(array.dtype)
    request = proto.RunStepRequest(session_handle="s", fetch=["y:0"])
    tensors = [("x:0", array, kind), ("small:0", array[0, :2], kind), ("t:0", array.T, kind)]
    data = wire.with_tensors(request, "feed", tensors)
    assert type(data) is bytes
    plain, ours = _parsed(data, proto.RunStepRequest)
    assert plain.session_handle == ours.session_handle == "s" and list(ours.fetch) == ["y:0"]
    expected = {name: value for name, value, _ in tensors}
    for found in (
        {f.name: make_ndarray(f.tensor) for f in plain.feed},
        dict(wire.tensors_of(ours, "feed")),
    ):
        assert found.keys() == expected.keys()
        for name, value in found.items():
            assert value.dtype == dtype
            np.testing.assert_array_equal(value, expected[name])


@pytest.mark.parametrize("size", [3, MANY])
def test_bundles_and_single_tensors(size):
    words = np.array([b"a\0", b""], object)
    several = (np.arange(size), words, np.float32(3.0), np.zeros((0, 2)))
    plain, ours = _parsed(wire.pack(several), proto.RecvTensorResponse)
    for response in (plain, ours):
        for a, b in zip(wire.unpack(response), several, strict=True):
            np.testing.assert_array_equal(a, b)
    _, ours = _parsed(wire.pack(np.arange(size)), proto.RecvTensorResponse)
    np.testing.assert_array_equal(wire.unpack(ours), np.arange(size))


def test_what_tensorflow_writes_is_read():
    tensor = proto.TensorProto(dtype=1, float_val=[2.5])
    tensor.tensor_shape.dim.add(size=MANY)
    data = proto.RecvTensorResponse(tensor=tensor, is_dead=False).SerializeToString()
    np.testing.assert_array_equal(
        wire.unpack(wire.reader(proto.RecvTensorResponse)(data)), np.full(MANY, 2.5)
    )


_GOOD = wire.pack(np.arange(MANY, dtype=np.float32))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_messages_are_refused(data):
    """Whatever comes instead of the head of a message, or where it is cut off: an error or a tensor, no more."""
    head = data.draw(st.integers(0, 40))
    noise = data.draw(st.binary(max_size=40))
    end = data.draw(st.integers(len(_GOOD) - 10, len(_GOOD)))
    damaged = noise + _GOOD[head:end]
    try:
        wire.unpack(wire.reader(proto.RecvTensorResponse)(damaged))
    except (ValueError, TypeError, IndexError, errors.OpError) as e:
        assert str(e)
    except Exception as e:
        assert type(e).__name__ == "DecodeError"


def test_a_tensor_that_is_said_to_be_vast_takes_no_memory():
    tensor = proto.TensorProto(dtype=1, float_val=[1.0])
    tensor.tensor_shape.dim.add(size=1 << 40)
    with pytest.raises(errors.InvalidArgumentError, match="at most 268435456 are repeated"):
        wire.from_message(tensor)


def test_lists_of_tensors_cross_as_tensorflow_writes_them():
    inner = TensorList(dtypes.int32, None, [np.int32(7)])
    for dtype, items in [(dtypes.float32, [np.ones((2, 3), "f"), None]), (dtypes.variant, [inner])]:
        value = TensorList(dtype, None if dtype is dtypes.variant else (2, None), items)
        message = proto.TensorProto()
        wire.to_message(value, wire.dtype_of(value), message)
        back = wire.from_message(proto.TensorProto.FromString(message.SerializeToString()))
        assert (back.element_dtype, back.element_shape) == (dtype, value.element_shape)
        assert back.max_elements == -1 and back.length == len(items)
    assert back.items[0].items == [7]


@pytest.mark.parametrize(
    "metadata", [b"", b"\xff\xff\xff\xff\x7f", b"\x01\x05\x01\x00", b"\xff" * 20]
)
def test_a_damaged_list_is_refused(metadata):
    message = proto.TensorProto(dtype=proto.DT_VARIANT)
    message.tensor_shape.SetInParent()
    message.variant_val.add(type_name="tensorflow::TensorList", metadata=metadata)
    with pytest.raises(errors.InvalidArgumentError):
        wire.from_message(message)
