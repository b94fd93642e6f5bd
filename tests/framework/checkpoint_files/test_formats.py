"""Checkpoint files: TensorFlow's own bytes, whole or in parts, and what becomes of altered ones."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.framework import dtypes, errors, file_system
from weft.framework.checkpoint_files import open_checkpoint, snappy, sorted_table, tensor_bundle
from weft.framework.checkpoint_files.coding import ordered_signed, ordered_text
from weft.framework.checkpoint_files.tensor_bundle import BundleReader, BundleWriter
from weft.framework.checkpoint_files.tensor_slice import parse_shape_and_part
from weft.framework.checkpoint_files.tensor_slice_file import TensorSliceWriter
from weft.framework.varints import read_varint, varint

STRINGS = np.array([b"", b"a\0b", b"\xff" * 300], object)
WHOLE = [
    ("zeta", np.arange(6, dtype=np.float32).reshape(2, 3), dtypes.float32),
    ("alpha/b", np.array([1, 2**40, -3]), dtypes.int64),
    ("s", STRINGS, dtypes.string),
    ("empty", np.zeros((0, 4), np.float16), dtypes.float16),
    ("scalar", np.array(True), dtypes.bool),
    *[(f"layer_{i}/kernel/Adam_1", np.full(3, i, np.float64), dtypes.float64) for i in range(40)],
]
PARTS = [
    ("3 200 0,1:-", np.ones((1, 200), np.int32)),
    ("3 200 1,2:0,200", np.zeros((2, 200), np.int32)),
]


def write_bundle(prefix):
    with BundleWriter(str(prefix)) as writer:
        for name, value, dtype in WHOLE:
            writer.add(name, value, dtype)
        for text, value in PARTS:
            writer.add_part("p\0", *parse_shape_and_part(text), value, dtypes.int32)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def test_a_bundle_has_the_bytes_that_tensorflow_writes(tmp_path):
    write_bundle(tmp_path / "m")
    # What SaveV2 of TensorFlow 1.15.5 writes for the same tensors.
    assert digest(tmp_path / "m.index") == "985a4dc47a49a704"
    assert digest(tmp_path / "m.data-00000-of-00001") == "59fba6b7359b08bd"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_of_the_older_format_has_the_bytes_that_tensorflow_writes(tmp_path):
    writer = TensorSliceWriter(str(tmp_path / "m"))
    for name, value, dtype in WHOLE:
        writer.add(name, value, dtype)
    writer.finish()
    assert digest(tmp_path / "m") == "eab03ab5851f80f2"  # TensorFlow 1.15.5's SaveSlices
    reader = open_checkpoint(str(tmp_path / "m"))
    for name, value, dtype in WHOLE:
        assert reader.entry(name) == (dtype, value.shape)
        np.testing.assert_array_equal(reader.read(name), value)


def test_what_was_written_is_read(tmp_path):
    write_bundle(tmp_path / "m")
    with BundleReader(str(tmp_path / "m")) as reader:
        assert sorted(reader.names()) == sorted([n for n, *_ in WHOLE] + ["p\0"])
        for name, value, dtype in WHOLE:
            assert reader.entry(name) == (dtype, value.shape)
            np.testing.assert_array_equal(reader.read(name), value)
        whole = np.concatenate([value for _, value in PARTS])
        np.testing.assert_array_equal(reader.read("p\0"), whole)
        part = parse_shape_and_part("3 200 0,2:198,2")[1]
        np.testing.assert_array_equal(reader.read_part("p\0", part), whole[:2, 198:])


@pytest.mark.parametrize("file", ["m.index", "m.data-00000-of-00001"])
def test_an_altered_or_shortened_file_is_refused_or_read_right(tmp_path, file):
    write_bundle(tmp_path / "m")
    path = tmp_path / file
    whole = path.read_bytes()
    random = np.random.RandomState(0)
    seen = set()

    def read_all():
        with BundleReader(str(tmp_path / "m")) as reader:
            for name, value, _ in WHOLE:
                if name in reader:
                    np.testing.assert_array_equal(reader.read(name), value)
            if "p\0" in reader:
                reader.read("p\0")

    for at in sorted(random.choice(len(whole), 150, replace=False)):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << random.randint(8)
        for contents in (bytes(flipped), whole[:at]):
            path.write_bytes(contents)
            try:
                read_all()
            except (errors.DataLossError, errors.InvalidArgumentError) as e:
                seen.add(type(e).__name__)
                assert str(path) in e.message or "m" in e.message
    assert "DataLossError" in seen


def test_a_shortened_file_names_the_tensor_and_the_file(tmp_path):
    write_bundle(tmp_path / "m")
    path = tmp_path / "m.data-00000-of-00001"
    path.write_bytes(path.read_bytes()[:20])
    with BundleReader(str(tmp_path / "m")) as reader:
        with pytest.raises(
            errors.DataLossError, match=r"tensor alpha/b in .*m\.data-00000-of-00001"
        ):
            reader.read("alpha/b")


@pytest.mark.parametrize(
    ("failing", "call"), [("open_file", 0), ("write_file", 0), ("rename", 0), ("rename", 1)]
)
def test_a_save_that_fails_leaves_what_was_there(tmp_path, monkeypatch, failing, call):
    prefix = str(tmp_path / "m")
    with BundleWriter(prefix) as writer:
        writer.add("v", np.zeros(3), dtypes.float64)
    calls = []
    original = getattr(file_system, failing)

    def fails(*args):
        calls.append(args)
        if len(calls) == call + 1:
            raise errors.ResourceExhaustedError(None, None, "no space")
        return original(*args)

    monkeypatch.setattr(tensor_bundle.file_system, failing, fails)
    other = str(tmp_path / "n")
    with pytest.raises(errors.ResourceExhaustedError), BundleWriter(other) as writer:
        writer.add("v", np.ones(3), dtypes.float64)
    monkeypatch.undo()
    with BundleReader(prefix) as reader:
        np.testing.assert_array_equal(reader.read("v"), np.zeros(3))
    assert not file_system.exists(other + ".index")
    assert not [p for p in tmp_path.iterdir() if "tempstate" in p.name]


def test_parts_that_do_not_cover_what_is_asked_for(tmp_path):
    with BundleWriter(str(tmp_path / "m")) as writer:
        writer.add_part("p", *parse_shape_and_part("4 0,2"), np.zeros(2), dtypes.float64)
    with BundleReader(str(tmp_path / "m")) as reader:
        with pytest.raises(errors.InvalidArgumentError, match="sufficient slices .* p "):
            reader.read("p")
        np.testing.assert_array_equal(
            reader.read_part("p", parse_shape_and_part("4 1,1")[1]), np.zeros(1)
        )


@pytest.mark.parametrize("text", ["", "3", "x 0,1", "3 4,1", "3 0,0", "3 -1,2", "3 0,1:-", "3 0;1"])
def test_a_malformed_part_is_refused(text):
    with pytest.raises(errors.InvalidArgumentError):
        parse_shape_and_part(text)


@given(st.dictionaries(st.binary(max_size=40), st.binary(max_size=400), max_size=60))
@settings(max_examples=50, deadline=None)
def test_tables_give_back_what_was_put_in(rows):
    entries = sorted(rows.items())
    assert [(k, bytes(v)) for k, v in sorted_table.entries(sorted_table.table(entries))] == entries


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_bytes_that_are_no_table_are_data_loss(data):
    with pytest.raises(errors.DataLossError):
        list(sorted_table.entries(data))


@given(st.binary(max_size=100))
@settings(max_examples=300, deadline=None)
def test_bytes_that_are_not_snappys_are_data_loss_or_short(data):
    try:
        assert len(snappy.decompressed(data)) <= 64 * len(data)
    except errors.DataLossError:
        pass


def test_snappy():
    # "abcd" * 5, as literal of 4 and a copy of 16 from 4 back
    assert snappy.decompressed(b"\x14\x0cabcd\x3e\x04\x00") == b"abcd" * 5


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_codes_of_numbers_sort_as_the_numbers(a, b):
    assert (ordered_signed(a) < ordered_signed(b)) == (a < b)


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_codes_of_texts_sort_as_the_texts(a, b):
    assert (ordered_text(a) < ordered_text(b)) == (a < b)


@given(st.integers(0, 2**64 - 1))
def test_varints(number):
    assert read_varint(varint(number), 0) == (number, len(varint(number)))
