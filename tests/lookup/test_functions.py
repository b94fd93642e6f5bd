"""`tf.lookup` and `tf.contrib.lookup` in graphs, sessions and eagerly."""

import numpy as np
import pytest

import weft as tf
from weft import testing

WORDS = ["emerson", "lake", "palmer"]


@pytest.fixture
def words_file(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("\n".join(WORDS) + "\n")
    return str(path)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def initialized():
    session = tf.Session()
    session.run(tf.tables_initializer())
    return session


def by_words():
    return tf.lookup.KeyValueTensorInitializer(WORDS, tf.constant([0, 1, 2], tf.int64))


def test_a_table_must_be_initialized_first():
    table = tf.lookup.StaticHashTable(by_words(), -1)
    ids = table.lookup(tf.constant(["lake", "tarkus"]))
    assert ids.shape == [2] and tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS) == [
        table.initializer
    ]
    with tf.Session() as session:
        with pytest.raises(
            tf.errors.FailedPreconditionError,
            match=r"Table not initialized[\s\S]*LookupTableFindV2",
        ):
            session.run(ids)
        session.run(table.initializer)
        assert session.run(ids).tolist() == [1, -1]


def test_nothing_to_initialize():
    with tf.Session() as session:
        assert tf.tables_initializer().type == "NoOp"
        session.run(tf.initialize_all_tables())


def test_sparse_keys():
    table = tf.lookup.StaticHashTable(by_words(), -1)
    keys = tf.SparseTensor([[0, 0], [1, 2]], ["palmer", "x"], [2, 3])
    with initialized() as session:
        found = session.run(table.lookup(keys))
    assert found.values.tolist() == [2, -1] and found.dense_shape.tolist() == [2, 3]


def test_what_does_not_fit_is_said_while_the_graph_is_built():
    table = tf.lookup.StaticHashTable(by_words(), -1)
    with pytest.raises(TypeError, match="Keys must be dtype"):
        table.lookup(tf.constant([1]))
    with pytest.raises(ValueError):
        tf.lookup.StaticHashTable(by_words(), [1, 2])
    mutable = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    with pytest.raises(ValueError, match="wrong dtype"):
        tf.raw_ops.LookupTableFindV2(
            table_handle=mutable.resource_handle, keys=[1], default_value=tf.constant(-1, tf.int64)
        )
    assert mutable.lookup(tf.placeholder(tf.string, [None, 3])).shape.as_list() == [None, 3]


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"filename": ""}, "Filename required"),
        ({"key_index": -3}, "Invalid key index"),
        ({"key_index": -1}, "Keys must be dtype"),
        ({"key_dtype": tf.float32}, "integer or string"),
        ({"value_index": -2}, "Values must be dtype"),
        ({"vocab_size": 0}, "Invalid vocab_size"),
    ],
)  # fmt: skip
def test_arguments_of_a_text_file(how, match):
    given = {
        "filename": "f",
        "key_dtype": tf.string,
        "key_index": -2,
        "value_dtype": tf.int64,
        "value_index": -1,
    }
    with pytest.raises(ValueError, match=match):
        tf.lookup.TextFileInitializer(**{**given, **how})


def test_a_table_of_a_text_file(words_file):
    index = tf.lookup.TextFileIndex
    fill = tf.lookup.TextFileInitializer(
        words_file, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
    )
    table = tf.lookup.StaticVocabularyTable(fill, 2)
    ids = table.lookup(tf.constant(["palmer", "tank", "lake"]))
    with initialized() as session:
        found, size = session.run([ids, table.size()])
    assert found[0] == 2 and found[1] in (3, 4) and found[2] == 1 and size == 5
    (asset,) = tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)
    assert asset.op.type == "Const"


def test_the_file_may_be_fed(words_file):
    name = tf.placeholder(tf.string, [])
    table = tf.contrib.lookup.index_table_from_file(name)
    with tf.Session() as session:
        session.run(table.init if hasattr(table, "init") else table.initializer, {name: words_file})
        assert session.run(table.lookup(tf.constant(["lake"]))).tolist() == [1]


def test_sessions_have_tables_of_their_own():
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    insert, size = table.insert(["a"], [1]), table.size()
    with tf.Session() as one, tf.Session() as other:
        one.run(insert)
        assert one.run(size) == 1 and other.run(size) == 0


def test_tables_without_a_shared_name_belong_to_one_session():
    server = tf.train.Server.create_local_server()
    found = []
    for ids in ([1, 2], [5, 6]):
        with tf.Graph().as_default():
            fill = tf.lookup.KeyValueTensorInitializer(["a", "b"], ids, value_dtype=tf.int64)
            table = tf.contrib.lookup.HashTable(fill, -1)
            words = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
            values = [table.lookup(tf.constant(["a"])), words.size()]
            insert = words.insert([f"word {ids[0]}"], [1])
            with tf.Session(server.target) as session:
                session.run([table.init, insert])
                found.append([v.tolist() for v in session.run(values)])
    assert found == [
        [[1], 1],
        [[5], 2],
    ]  # what checkpoints hold is shared under the operation's name


def test_buckets_are_those_of_the_hash():
    unknown = tf.constant(["toccata", "karn evil"])
    known = tf.contrib.lookup.index_table_from_tensor(WORDS, num_oov_buckets=5)
    strong = tf.contrib.lookup.IdTableWithHashBuckets(
        None, 7, tf.contrib.lookup.StrongHashSpec([1, 2])
    )
    numbers = tf.contrib.lookup.IdTableWithHashBuckets(None, 7, key_dtype=tf.int32)
    with initialized() as session:
        found = session.run(
            [
                known.lookup(unknown),
                tf.strings.to_hash_bucket_fast(unknown, 5),
                strong.lookup(unknown),
                tf.strings.to_hash_bucket_strong(unknown, 7, [1, 2]),
                numbers.lookup(tf.constant([12])),
                tf.strings.to_hash_bucket_fast(["12"], 7),
                known.size(),
            ]
        )
    assert (found[0] == found[1] + 3).all() and (found[2] == found[3]).all()
    assert found[4] == found[5] and found[6] == 8


def test_ids_back_to_words(words_file):
    of_file = tf.contrib.lookup.index_to_string_table_from_file(words_file, default_value="?")
    of_list = tf.contrib.lookup.index_to_string_table_from_tensor(WORDS)
    ids = tf.constant([2, 7], tf.int64)
    with initialized() as session:
        assert session.run(of_file.lookup(ids)).tolist() == [b"palmer", b"?"]
        assert session.run(of_list.lookup(ids)).tolist() == [b"palmer", b"UNK"]


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda c: c.index_table_from_file(""), ValueError, "must be specified"),
        (lambda c: c.index_table_from_file("f", vocab_size=0), ValueError, "greater than 0, got 0. vocabulary_file: f"),
        (lambda c: c.index_table_from_tensor(None), ValueError, "mapping must be specified"),
        (lambda c: c.index_table_from_tensor(["a"], num_oov_buckets=-1), ValueError, "greater or equal than 0"),
        (lambda c: c.index_table_from_tensor([1.0], dtype=tf.float32), TypeError, "Only integer and string"),
        (lambda c: c.index_table_from_tensor([1], dtype=tf.string), ValueError, "Expected non-integer"),
        (lambda c: c.StrongHashSpec([1]), ValueError, "size 2"),
        (lambda c: c.StrongHashSpec([1, "a"]), TypeError, "unsigned integer"),
        (lambda c: c.IdTableWithHashBuckets(None, 0), ValueError, "oov_buckets must be > 0"),
        (lambda c: c.IdTableWithHashBuckets(None, 1, hasher_spec="fast"), TypeError, "HasherSpec"),
        (lambda c: c.IdTableWithHashBuckets(None, 1, key_dtype=tf.float64), TypeError, "integer or string"),
    ],
)  # fmt: skip
def test_wrong_arguments(make, error, match):
    with pytest.raises(error, match=match):
        make(tf.contrib.lookup)


def test_an_unknown_hash_is_told_at_the_lookup():
    table = tf.contrib.lookup.IdTableWithHashBuckets(
        None, 1, tf.contrib.lookup.HasherSpec("my hash", None)
    )
    with pytest.raises(ValueError, match="Unknown hasher my hash"):
        table.lookup(tf.constant(["a"]))


def test_dense_tables():
    table = tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.string, "?", 0, -1, initial_num_buckets=4
    )
    assert tf.contrib.lookup.MutableDenseHashTable is tf.lookup.experimental.DenseHashTable
    insert = table.insert_or_assign([5, 6], ["five", "six"])
    erase = table.erase(tf.constant([5], tf.int64))
    found = table.lookup([5, 6])
    (saved,) = tf.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS)
    assert [s.name for s in saved.specs] == [
        "MutableDenseHashTable-keys",
        "MutableDenseHashTable-values",
    ]
    with tf.Session() as session:
        session.run(insert)
        session.run(erase)
        assert session.run(found).tolist() == [b"?", b"six"]
        keys, values = session.run([s.tensor for s in saved.specs])
        other = saved.restore([tf.constant(keys), tf.constant(values)], None)
        session.run(insert)
        session.run(other)
        assert session.run(found).tolist() == [b"?", b"six"]


def test_checkpoints_hold_tables(tmp_path):
    words = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, name="words")
    buckets = tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.float32, [0.0, 0.0], 0, -1, initial_num_buckets=4, name="buckets"
    )
    insert = [words.insert(["a"], [1]), buckets.insert([7, 8], [[1, 2], [3, 4]])]
    change = [words.insert(["a", "b"], [5, 6]), buckets.insert([7, 9], [[9, 9], [9, 9]])]
    found = [words.lookup(["a", "b"]), buckets.lookup([7, 9]), words.size(), buckets.size()]
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(insert)
        path = saver.save(session, str(tmp_path / "model"))
        session.run(change)
        saver.restore(session, path)
        values = session.run(found)
    assert [v.tolist() for v in values] == [[1, -1], [[1, 2], [0, 0]], 1, 2]


def test_tables_in_loops_and_branches():
    keys, values = tf.constant([1, 2, 3]), tf.constant([5, 10, 15])

    def function(x):
        return tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, values), -1
        ).lookup(x)

    mapped = tf.map_fn(function, np.array([2, 4, 1], np.int32))
    chosen = tf.cond(tf.constant(False), lambda: keys[:1], lambda: function(tf.constant([3])))
    with initialized() as session:
        assert [x.tolist() for x in session.run([mapped, chosen])] == [[10, -1, 5], [15]]


def test_graphs_with_tables_travel(graph):
    table = tf.contrib.lookup.HashTable(by_words(), -1, shared_name="words")
    ids = table.lookup(tf.constant(["lake"]))
    graph_def = graph.as_graph_def()
    with tf.Graph().as_default():
        init, found = tf.import_graph_def(
            graph_def, return_elements=[table.init.name, ids.name], name=""
        )
        with tf.Session() as session:
            session.run(init)
            assert session.run(found).tolist() == [1]


def test_eagerly():
    with testing.eager_mode():
        table = tf.lookup.StaticHashTable(by_words(), -1)
        other = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(["x"], [9], value_dtype=tf.int64), -1
        )
        assert table.lookup(tf.constant(["lake", "x"])).numpy().tolist() == [1, -1]
        assert other.lookup(tf.constant(["lake", "x"])).numpy().tolist() == [-1, 9]
        changing = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
        changing.insert(["a"], [4])
        assert changing.size().numpy() == 1 and changing.lookup(["a"]).numpy().tolist() == [4]

        @tf.function
        def ids(words):
            return table.lookup(words)

        assert ids(tf.constant(["palmer"])).numpy().tolist() == [2]


def test_old_names():
    ids = tf.contrib.lookup.string_to_index(tf.constant(["lake"]), WORDS)
    words = tf.contrib.lookup.index_to_string(tf.constant([2], tf.int64), WORDS)
    table = tf.contrib.lookup.string_to_index_table_from_tensor(WORDS)
    with initialized() as session:
        found = session.run([ids, words, table.lookup(tf.constant(["emerson"]))])
    assert [x.tolist() for x in found] == [[1], [b"palmer"], [0]]
