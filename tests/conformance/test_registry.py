"""The registry itself: every op has cases, and is declared as TensorFlow 1.15 declares it."""

from __future__ import annotations

import functools
import gzip
import inspect
import json
import os
import signal
import subprocess
import sys

import pytest
from google.protobuf import json_format

import weft as tf
from weft import proto
from weft.framework import graph_def, registry

from . import expected_store, harness

# Ops of weft's own: no TensorFlow has them, so their tests stand elsewhere. So do those of the runtime's own nodes.
OWN = {name for name in registry.all_ops() if name.startswith(("Weft", "_"))}
# Ops that TensorFlow 1.15 declares but cannot run, or that end its process: each has its test below,
# those for each channel in tests/ops/quantization.
NOT_RUN = {"TileGrad", "Abort", "AudioSummary"}
NOT_RUN |= {"RequantizePerChannel", "RequantizationRangePerChannel"}
# What weft refuses, with its test below.
REFUSED = {"CreateSummaryDbWriter", "LMDBReader"}
# Element types that weft does without.
QUANTIZED = {"DT_QINT8", "DT_QUINT8", "DT_QINT16", "DT_QUINT16", "DT_QINT32"}
FLAGS = ("is_stateful", "is_commutative", "is_aggregate", "allows_uninitialized_input")
REGISTERED = sorted(set(registry.all_ops()) - OWN)


@functools.cache
def op_defs():
    with gzip.open(os.path.join(expected_store.FOLDER, "op_defs.json.gz")) as file:
        return json.loads(file.read())


def covered():
    return {op for family in harness.families().values() for op in family.ops()}


def test_every_op_has_cases():
    missing = sorted(set(REGISTERED) - covered() - NOT_RUN - REFUSED)
    assert not missing, f"registered, but without a case: {missing}"


def test_every_case_has_an_op():
    """The ops of the tables are there, but for those that the tables mark as welcome later."""
    required = set()
    for family in harness.families().values():
        required |= {case.op for case in family.cases if not case.later}
        required |= {op for script in family.scripts if not script.later for op in script.ops}
    missing = sorted(required - set(registry.all_ops()))
    assert not missing, f"{len(missing)} ops are not registered: {missing}"


def test_expected_values_are_complete():
    """Each case has its entry, and each entry its case; else the tool must run again."""
    for name, family in harness.families().items():
        reader = harness.expected(name)
        assert set(reader.cases) == {case.name for case in family.cases}, name
        assert set(reader.scripts) == {script.name for script in family.scripts}, name


@pytest.mark.parametrize("op", REGISTERED)
def test_declaration(op):
    """Inputs, outputs, attributes, defaults and flags are those of TensorFlow's OpDef."""
    wanted = op_defs()[op]
    ours = json_format.MessageToDict(
        graph_def.op_def(registry.get(op)), preserving_proto_field_name=True
    )
    for part in ("input_arg", "output_arg"):
        assert ours.get(part, []) == wanted.get(part, []), part
    ours_attrs = {attr["name"]: normal(attr) for attr in ours.get("attr", [])}
    wanted_attrs = {attr["name"]: normal(attr) for attr in wanted.get("attr", [])}
    assert sorted(ours_attrs) == sorted(wanted_attrs)
    wrong = [
        f"{name}: {ours_attrs[name]}, not {attr}"
        for name, attr in wanted_attrs.items()
        if ours_attrs[name] != attr
    ]
    assert not wrong, "\n".join(wrong)
    for flag in FLAGS:
        assert ours.get(flag, False) == wanted.get(flag, False), flag


def normal(attr):
    """An attribute without quantized types, its allowed values in a fixed order."""
    attr = dict(attr)
    allowed = attr.get("allowed_values")
    if allowed:
        types = allowed.get("list", {}).get("type")
        if types:
            attr["allowed_values"] = sorted(set(types) - QUANTIZED)
        else:
            attr["allowed_values"] = sorted(allowed.get("list", {}).get("s", []))
    tensor = attr.get("default_value", {}).get("tensor")
    if tensor:  # whichever field its elements are in
        message = json_format.ParseDict(tensor, proto.TensorProto())
        attr["default_value"] = (message.dtype, tf.make_ndarray(message).tolist())
    return attr


def test_summaries_in_a_database_are_refused():
    with tf.Graph().as_default(), tf.Session() as session:
        writer = tf.raw_ops.SummaryWriter()
        made = tf.raw_ops.CreateSummaryDbWriter(
            writer=writer, db_uri="a.sqlite", experiment_name="", run_name="", user_name=""
        )
        with pytest.raises(tf.errors.UnimplementedError, match="event files"):
            session.run(made)


def test_databases_of_records_are_refused():
    with tf.Graph().as_default(), tf.Session() as session:
        names = tf.FIFOQueue(1, [tf.string])
        key, _ = tf.LMDBReader().read(names)
        with pytest.raises(tf.errors.UnimplementedError, match="LMDB"):
            session.run(key)


def test_audio_summary():
    """GraphDefs of today may not have the op; older ones of TensorFlow do."""
    with tf.Graph().as_default(), tf.Session() as session:
        tag, sound = tf.constant("s"), tf.constant([[0.0, 0.5]])
        old = registry.get("AudioSummary")(tag, sound, sample_rate=8000.0)
        new = tf.raw_ops.AudioSummaryV2(tag=tag, tensor=sound, sample_rate=8000.0)
        old, new = session.run([old, new])
    assert old == new


@pytest.mark.skipif(registry.find("TileGrad") is None, reason="TileGrad is not registered")
def test_tile_grad():
    """What flows into each copy is added up."""
    with tf.Graph().as_default(), tf.Session() as session:
        copies = tf.constant([[1.0, 2.0, 10.0, 20.0], [3.0, 4.0, 30.0, 40.0]])
        found = session.run(registry.get("TileGrad")(copies, tf.constant([1, 2])))
    assert found.tolist() == [[11.0, 22.0], [33.0, 44.0]]


@pytest.mark.parametrize("quietly", [False, True])
def test_abort(quietly):
    """The process ends: by SIGABRT with the text of the op, or as if all were well."""
    program = (
        "import weft as tf\n"
        f"op = tf.raw_ops.Abort(error_msg='the reason', exit_without_error={quietly})\n"
        "tf.Session().run(op)\n"
        "print('still there')\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.returncode == (0 if quietly else -signal.SIGABRT)
    assert "still there" not in found.stdout
    assert quietly or "Abort_op intentional failure; the reason" in found.stderr


@pytest.mark.parametrize("op", REGISTERED)
def test_raw_op(op):
    """`tf.raw_ops` takes the arguments that TensorFlow's takes, by keyword."""
    wanted = op_defs()[op].get("raw_arguments")
    if wanted is None:
        assert not hasattr(tf.raw_ops, op), "TensorFlow does not export it"
        return
    parameters = inspect.signature(getattr(tf.raw_ops, op)).parameters
    assert sorted(parameters) == sorted([*wanted, "name"])
