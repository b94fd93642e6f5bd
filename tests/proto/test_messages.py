"""Wire formats: the same bytes as TensorFlow, loaded late, beside types registered by others."""

import copy
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from google.protobuf.unknown_fields import UnknownFieldSet

from tests.proto.fill import DEPTH, digest, fill
from weft import proto

HERE = Path(__file__).parent
DIGESTS = dict(
    line.split() for line in (HERE / "tensorflow_1_15_digests.txt").read_text().splitlines()
)
# TensorFlow 1.15 has no Python classes for these; its servers speak them.
RUNTIME_ONLY = ("tensorflow/core/protobuf/master.proto", "tensorflow/core/protobuf/worker.proto")


def messages_of_files():
    return [
        (path, getattr(proto.file_module(path), name))
        for path in sorted(str(p.relative_to(proto.__path__[0])) for p in sources())
        for name in proto.file_module(path).DESCRIPTOR.message_types_by_name
    ]


def sources():
    return Path(proto.__path__[0]).glob("tensorflow/**/*.proto")


def test_filled_messages_have_tensorflows_bytes():
    compared = 0
    for path, message_class in messages_of_files():
        if path not in RUNTIME_ONLY:
            name = message_class.DESCRIPTOR.full_name
            assert digest(message_class) == DIGESTS[name], name
            compared += 1
    assert compared == 190


def test_every_message_survives_a_round_trip():
    for _, message_class in messages_of_files():
        message = message_class()
        fill(message, 0, DEPTH)
        read = message_class.FromString(message.SerializeToString())
        assert read == message
        assert len(UnknownFieldSet(read)) == 0


def test_attributes():
    assert proto.GraphDef.DESCRIPTOR.full_name == "tensorflow.GraphDef"
    assert proto.message("tensorflow.GraphDef") is proto.GraphDef
    assert proto.message("tensorflow.AttrValue.ListValue") is proto.AttrValue.ListValue
    assert proto.DT_FLOAT == proto.DataType.Value("DT_FLOAT") == 1
    assert proto.DataType.Name(123) == "DT_UINT64_REF"
    assert proto.Code.Name(5) == "NOT_FOUND"
    assert proto.enum("tensorflow.error.Code").Value("UNAUTHENTICATED") == 16
    assert proto.OptimizerOptions.L0 == -1
    assert {"GraphDef", "DT_FLOAT", "RunStepRequest"} <= set(dir(proto))
    with pytest.raises(AttributeError, match="no message, enum or enum value 'Missing'"):
        _ = proto.Missing
    with pytest.raises(ValueError, match="no message type 'tensorflow.Missing'"):
        proto.message("tensorflow.Missing")
    with pytest.raises(ValueError, match="no enum"):
        proto.enum("tensorflow.GraphDef.Missing")


def test_modules_like_tensorflows_generated_ones():
    module = proto.file_module("tensorflow/core/framework/types.proto")
    assert module.__name__ == "tensorflow.core.framework.types_pb2"
    assert module.DT_INT32 == 3 and module.DataType.Name(3) == "DT_INT32"
    example = proto.file_module("tensorflow/core/example/example.proto")
    assert example.Example is proto.Example
    with pytest.raises(ValueError, match="no file"):
        proto.file_module("other.proto")


def test_services():
    methods = {m.name: m for m in proto.service_methods("tensorflow.MasterService")}
    assert len(methods) == 10
    step = methods["RunStep"]
    assert step.path == "/tensorflow.MasterService/RunStep"
    assert step.request is proto.RunStepRequest and step.response is proto.RunStepResponse
    assert len(proto.service_methods("tensorflow.WorkerService")) == 15
    with pytest.raises(ValueError, match="no service"):
        proto.service_methods("tensorflow.Other")


def test_copies():
    node = proto.NodeDef(name="a", op="B", input=["c"])
    node.attr["x"].list.i.extend([1, 2])
    assert copy.deepcopy(node) == node
    assert pickle.loads(pickle.dumps(node)) == node
    values = node.attr["x"].list
    assert pickle.loads(pickle.dumps(values)) == values


def run(program):
    """Runs a program in a process of its own, in which nothing is registered yet."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        cwd=HERE.parent.parent,
    )
    assert done.returncode == 0, done.stderr


def test_types_that_others_registered_are_used():
    """A foreign file holds Example and part of feature.proto, under other file names."""
    run(
        """
        import sys
        import weft.proto
        assert not any(name.startswith("google.protobuf") for name in sys.modules)

        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
        text = descriptor_pb2.FieldDescriptorProto
        foreign = descriptor_pb2.FileDescriptorProto(
            name="foreign.proto", package="tensorflow", syntax="proto3"
        )
        other = foreign.message_type.add(name="Int64List")
        other.field.add(name="value", number=1, label=text.LABEL_REPEATED, type=text.TYPE_INT64)
        other.field.add(name="extra", number=7, label=text.LABEL_OPTIONAL, type=text.TYPE_STRING)
        version = foreign.message_type.add(name="VersionDef")
        version.field.add(
            name="producer", number=1, label=text.LABEL_OPTIONAL, type=text.TYPE_INT32
        )
        pool = descriptor_pool.Default()
        pool.Add(foreign)
        taken = message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.Int64List"))

        assert weft.proto.Int64List is taken
        example = weft.proto.Example()
        example.features.feature["a"].int64_list.value.append(3)
        example.features.feature["a"].int64_list.extra = "foreign"
        assert weft.proto.Example.FromString(example.SerializeToString()) == example
        graph = weft.proto.GraphDef(versions=weft.proto.VersionDef(producer=5))
        assert isinstance(graph.versions, weft.proto.VersionDef)
        for name in dir(weft.proto):
            getattr(weft.proto, name)
        """
    )


def test_messages_unpickle_where_nothing_was_loaded():
    data = pickle.dumps(proto.ClusterDef(job=[proto.JobDef(name="worker")]))
    run(f"import pickle; assert pickle.loads({data!r}).job[0].name == 'worker'")


def test_compiled_file_has_every_source():
    from weft.proto import loading

    _, files = loading.load()
    assert sorted(files) == sorted(str(p.relative_to(proto.__path__[0])) for p in sources())
