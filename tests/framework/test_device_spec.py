"""Names of devices; expected values from TensorFlow 1.15."""

from types import SimpleNamespace

import pytest

from weft.framework.device_spec import DeviceSpec, canonical_name, merge_device


@pytest.mark.parametrize(
    "name, canonical",
    [
        ("", ""),
        ("/cpu:0", "/device:CPU:0"),
        ("gpu", "/device:GPU:*"),
        ("/CPU:*", "/device:CPU:*"),
        ("/device:cpu:0", "/device:CPU:0"),
        ("/device:tpu:3", "/device:tpu:3"),
        ("/device:XLA_GPU:0", "/device:XLA_GPU:0"),
        ("/job:a", "/job:a"),
        ("/task:2/job:b/replica:0/gpu:1", "/job:b/replica:0/task:2/device:GPU:1"),
        ("//job:a//", "/job:a"),
        ("/job:a/job:b", "/job:b"),
        (None, ""),
    ],
)
def test_canonical_name(name, canonical):
    assert canonical_name(name) == canonical
    spec = DeviceSpec.from_string(name)
    assert spec.to_string() == canonical_name(spec) == canonical
    assert DeviceSpec.from_string(canonical) == spec


@pytest.mark.parametrize(
    "name, message",
    [
        ("/foo", "Unknown attribute: 'foo' in '/foo'"),
        ("/job", "Unknown attribute: 'job'"),
        ("/job:a:b", "Unknown attribute: 'job'"),
        ("/Job:a", "Unknown attribute: 'Job'"),
        ("/cpu:1:2", "Unknown attribute: 'cpu'"),
        ("/device:GPU", "Unknown attribute: 'device'"),
        ("/device:GPU:x", "invalid literal for int"),
        ("/task:x", "invalid literal for int"),
        ("/cpu:0/gpu:0", "Cannot specify multiple device types"),
        ("/cpu:0/device:CPU:0", "Cannot specify multiple device types"),
    ],
)
def test_malformed_names(name, message):
    with pytest.raises(ValueError, match=message):
        DeviceSpec.from_string(name)


def test_parts_can_be_set():
    spec = DeviceSpec(job="a", device_type="cpu")
    assert spec.to_string() == "/job:a/device:CPU:*"
    spec.device_index = "3"
    spec.task = 2
    assert spec.to_string() == "/job:a/task:2/device:CPU:3"
    assert hash(spec) == hash(spec.to_string())
    assert spec.parse_from_string("/job:z") is spec
    assert (spec.job, spec.replica, spec.task, spec.device_type) == ("z", None, None, None)
    assert DeviceSpec(device_index=1).to_string() == ""
    assert DeviceSpec(job=3).job == "3"
    with pytest.raises(ValueError, match="invalid literal"):
        spec.replica = "x"


def test_merging():
    spec = DeviceSpec.from_string("/job:a/task:2/device:CPU:3")
    spec.merge_from(DeviceSpec(device_type="GPU"))
    assert spec.to_string() == "/job:a/task:2/device:GPU:3"
    merged = spec.make_merged_spec(DeviceSpec(job="b", device_index=7))
    assert merged.to_string() == "/job:b/task:2/device:GPU:7"
    assert spec.replace(job=None, task=0).to_string() == "/task:0/device:GPU:3"
    with pytest.raises(TypeError):
        spec.replace(host="a")


def test_device_function_fills_in_what_the_op_leaves_open():
    op = SimpleNamespace(device="/job:worker")
    spec = DeviceSpec(device_type="GPU", device_index=0)
    function = merge_device(spec)
    spec.device_type = "CPU"
    assert function(op).to_string() == "/job:worker/device:GPU:0"
    assert function.shortcut_string_merge(op) == "/job:worker/device:GPU:0"
    assert merge_device("/job:ps")(op).to_string() == "/job:worker"
    assert merge_device(function) is function
    assert merge_device("").is_null_merge and not function.is_null_merge
