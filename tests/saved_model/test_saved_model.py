"""SavedModels: what the builder refuses, what the loader finds, what goes with a model."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft as tf
from weft import proto
from weft.saved_model import loading, structures

sm = tf.saved_model


@pytest.fixture
def session():
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as s:
        yield s


def with_variable(session, value=3.0):
    v = tf.get_variable("v", initializer=value)
    session.run(v.initializer)
    return v


def asset(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return str(path)


class TestBuilder:
    def test_a_directory_with_something_in_it_is_refused(self, tmp_path):
        (tmp_path / "a").write_text("")
        with pytest.raises(AssertionError, match="isn't empty"):
            sm.Builder(str(tmp_path))

    def test_variables_are_saved_once_and_first(self, session, tmp_path):
        with_variable(session)
        builder = sm.Builder(str(tmp_path / "m"))
        with pytest.raises(AssertionError, match="has not been saved yet"):
            builder.add_meta_graph(["a"])
        builder.add_meta_graph_and_variables(session, ["a"])
        with pytest.raises(AssertionError, match="already been saved"):
            builder.add_meta_graph_and_variables(session, ["b"])

    def test_only_operations_run_after_loading(self, session, tmp_path):
        v = with_variable(session)
        builder = sm.Builder(str(tmp_path / "m"))
        with pytest.raises(TypeError, match="main_op needs to be an Operation"):
            builder.add_meta_graph_and_variables(session, ["a"], main_op=v)
        tf.add_to_collection(sm.constants.LEGACY_INIT_OP_KEY, tf.no_op())
        with pytest.raises(ValueError, match="already contains one or more main ops"):
            builder.add_meta_graph_and_variables(session, ["a"], main_op=tf.no_op())

    @pytest.mark.parametrize(
        ("info", "why"),
        [
            (proto.TensorInfo(dtype=proto.DT_FLOAT), "'encoding' fields"),
            (proto.TensorInfo(name="x:0"), "dtype field"),
        ],
    )
    def test_signatures_say_which_tensors_they_mean(self, session, tmp_path, info, why):
        with_variable(session)
        signature = sm.build_signature_def({"x": info}, {}, "m")
        with pytest.raises(AssertionError, match=why):
            sm.Builder(str(tmp_path / "m")).add_meta_graph_and_variables(
                session, ["a"], {"s": signature}
            )

    def test_keys_of_init_ops_are_reserved(self, session, tmp_path):
        with_variable(session)
        with pytest.raises(KeyError, match="reserved for initialization"):
            sm.Builder(str(tmp_path / "m")).add_meta_graph_and_variables(
                session, ["a"], {"__saved_model_init_op": sm.build_signature_def()}
            )

    def test_assets_of_one_name_get_different_files(self, session, tmp_path):
        with_variable(session)
        paths = [
            asset(tmp_path, "a/words", "1"),
            asset(tmp_path, "b/words", "2"),
            asset(tmp_path, "c/words", "1"),
        ]
        for path in paths:
            tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, tf.constant(path))
        out = tmp_path / "m"
        builder = sm.Builder(str(out))
        builder.add_meta_graph_and_variables(
            session,
            ["a"],
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
        )
        builder.save()
        found = {p.name: p.read_text() for p in (out / "assets").iterdir()}
        assert found == {"words": "1", "words_1": "2"}

    @pytest.mark.parametrize("content", ["not a tensor", 3, ["a", "b"]])
    def test_an_asset_is_one_path(self, session, tmp_path, content):
        with_variable(session)
        tensor = content if content == "not a tensor" else tf.constant(content)
        with pytest.raises(TypeError, match="Asset path tensor must be"):
            sm.Builder(str(tmp_path / "m")).add_meta_graph_and_variables(
                session, ["a"], assets_collection=[tensor]
            )


class TestLoader:
    def test_graphs_are_found_by_all_their_tags(self, session, tmp_path):
        v = with_variable(session)
        builder = sm.Builder(str(tmp_path / "m"))
        builder.add_meta_graph_and_variables(session, ["a", "b"], clear_devices=True)
        builder.save()
        session.run(v.assign(0.0))
        with tf.Session(graph=tf.Graph()) as other:
            with pytest.raises(RuntimeError, match="could not be found"):
                sm.load(other, ["a"], str(tmp_path / "m"))
            meta = sm.load(other, ["b", "a"], str(tmp_path / "m"), import_scope="deep/in")
            assert sorted(meta.meta_info_def.tags) == ["a", "b"]
            assert other.run("deep/in/v:0") == 3.0

    def test_the_main_op_runs_with_the_copies_of_assets(self, session, tmp_path):
        path = tf.constant(asset(tmp_path, "text", "hello"), name="path")
        v = tf.get_variable("text", initializer="", use_resource=True)
        session.run(v.initializer)
        sm_dir = str(tmp_path / "m")
        builder = sm.Builder(sm_dir)
        builder.add_meta_graph_and_variables(
            session, ["a"], assets_collection=[path], main_op=v.assign(tf.read_file(path)).op
        )
        builder.save()
        os.remove(tmp_path / "text")
        with tf.Session(graph=tf.Graph()) as other:
            sm.load(other, ["a"], sm_dir)
            assert other.run("text/Read/ReadVariableOp:0") == b"hello"

    def test_a_graph_without_variables(self, session, tmp_path):
        x = tf.placeholder(tf.float32, name="x")
        sm.simple_save(session, str(tmp_path / "m"), {"x": x}, {"y": tf.square(x, name="y")})
        with tf.Session(graph=tf.Graph()) as other:
            sm.load(other, ["serve"], str(tmp_path / "m"))
            assert other.run("y:0", {"x:0": 3.0}) == 9.0

    def test_stripped_attributes_come_back(self, session, tmp_path):
        tf.complex(with_variable(session), 1.0, name="c")
        builder = sm.Builder(str(tmp_path / "m"))
        builder.add_meta_graph_and_variables(session, ["a"], strip_default_attrs=True)
        builder.save(as_text=True)

        def attributes(meta):
            return set(next(n for n in meta.graph_def.node if n.name == "c").attr)

        assert "T" not in attributes(loading.parse_saved_model(tmp_path / "m").meta_graphs[0])
        with tf.Session(graph=tf.Graph()) as other:
            assert "T" in attributes(sm.load(other, ["a"], str(tmp_path / "m")))

    def test_what_is_no_model_is_told(self, tmp_path):
        assert not sm.maybe_saved_model_directory(str(tmp_path))
        with pytest.raises(OSError, match="SavedModel file does not exist"):
            loading.parse_saved_model(tmp_path)
        for name in ("saved_model.pbtxt", "saved_model.pb"):
            (tmp_path / name).write_bytes(b"\x07\xff nonsense")
            assert sm.contains_saved_model(str(tmp_path))
            with pytest.raises(OSError, match=f"Cannot parse file .*{name}:"):
                loading.parse_saved_model(tmp_path)


class TestSignatures:
    def test_dtypes_are_what_serving_asks_for(self, session):
        text, number = tf.constant(["a"]), tf.constant([1.0])
        s = sm.classification_signature_def(text, text, number)
        assert sm.is_valid_signature(s)
        assert sm.is_valid_signature(sm.regression_signature_def(text, number))
        del s.outputs["classes"]
        assert sm.is_valid_signature(s)
        s.outputs["more"].dtype = proto.DT_FLOAT
        assert not sm.is_valid_signature(s)
        with pytest.raises(ValueError, match="must be a string Tensor"):
            sm.regression_signature_def(number, number)
        with pytest.raises(ValueError, match="must be a float Tensor"):
            sm.regression_signature_def(text, text)
        with pytest.raises(ValueError, match="cannot both be None"):
            sm.classification_signature_def(text, None, None)

    def test_ragged_and_sparse_tensors(self, session):
        ragged = tf.ragged.constant([[1, 2], [3]])
        sparse = tf.SparseTensor([[0, 1]], [5], [2, 2])
        for value in (ragged, sparse):
            back = sm.get_tensor_from_tensor_info(sm.build_tensor_info(value))
            assert type(back) is type(value)
            assert str(session.run(back)) == str(session.run(value))

    @pytest.mark.parametrize(
        "spec",
        [
            tf.SparseTensorSpec([None, 3], tf.string),
            tf.RaggedTensorSpec([2, None, None], tf.int32, 1, tf.int32),
            tf.IndexedSlicesSpec([None, 2], tf.float32, dense_shape_dtype=tf.int32),
        ],
    )
    def test_type_specs_as_messages(self, spec):
        assert structures.spec_from_proto(structures.spec_to_proto(spec)) == spec

    def test_a_type_spec_of_another_kind_is_refused(self):
        with pytest.raises(ValueError, match="not supported"):
            structures.spec_from_proto(proto.TypeSpecProto(type_spec_class=5))


@given(content=st.binary(max_size=200))
def test_any_bytes_are_a_model_or_an_error(content, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "saved_model.pb").write_bytes(content)
    with tf.Session(graph=tf.Graph()) as session, pytest.raises((OSError, RuntimeError)):
        sm.load(session, ["serve"], str(folder))
