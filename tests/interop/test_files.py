"""Record files and event files of one side are read by the other."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.interop.test_exchange import ROOT, interpreter

PAIRS = [("weft", "tf1"), ("weft", "tf2"), ("tf1", "weft"), ("tf2", "weft")]

WRITE = """
options = tf.python_io.TFRecordOptions
for kind in ("NONE", "ZLIB", "GZIP"):
    chosen = options(getattr(tf.python_io.TFRecordCompressionType, kind))
    with tf.python_io.TFRecordWriter(folder + "/" + kind, chosen) as writer:
        for i in range(3):
            writer.write(b"record %d" % i * 1000)
x = tf.placeholder(tf.float32, [None, 2])
tf.summary.scalar("sum", tf.reduce_sum(x))
tf.summary.histogram("values", x)
tf.summary.text("words", tf.constant(["a", "b"]))
merged = tf.summary.merge_all()
with tf.Session() as session:
    writer = tf.summary.FileWriter(folder + "/events", session.graph)
    for step in range(3):
        writer.add_summary(session.run(merged, {x: [[step, 0.5], [-2.0, 8.0]]}), step)
    writer.close()
print(json.dumps(None))
"""
READ = """
import glob
found = {}
for kind in ("NONE", "ZLIB", "GZIP"):
    chosen = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, kind))
    records = list(tf.python_io.tf_record_iterator(folder + "/" + kind, chosen))
    found[kind] = [r[:8].decode() + str(len(r)) for r in records]
(path,) = glob.glob(folder + "/events/*")
events = list(tf.train.summary_iterator(path))
found["kinds"] = [e.WhichOneof("what") for e in events]
found["nodes"] = len(tf.GraphDef.FromString(events[1].graph_def).node) > 5
summaries = [e.summary.value for e in events[3:]]
found["sums"] = [value[0].simple_value for value in summaries]
found["buckets"] = [list(value[1].histo.bucket) for value in summaries]
found["limits"] = [[repr(x) for x in value[1].histo.bucket_limit] for value in summaries]
found["words"] = tf.make_ndarray(summaries[0][2].tensor).tolist() == [b"a", b"b"]
print(json.dumps(found))
"""
HEAD = """
import json, sys, warnings
warnings.simplefilter("ignore")
folder, which = sys.argv[1:]
if which == "weft":
    import weft as tf
else:
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
"""


def run(program, implementation, folder):
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
    environment.pop("PYTHONPATH", None)
    if implementation == "weft":
        environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        [interpreter(implementation), "-c", HEAD + program, str(folder), implementation],
        capture_output=True,
        text=True,
        env=environment,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids="-".join)
def test_files(tmp_path: Path, writer, reader):
    run(WRITE, writer, tmp_path)
    found = run(READ, reader, tmp_path)
    for kind in ("NONE", "ZLIB", "GZIP"):
        assert found[kind] == [f"record {i}8000" for i in range(3)]
    assert found["kinds"] == [
        *("file_version", "graph_def", "meta_graph_def", "summary", "summary", "summary")
    ]
    assert found["nodes"] and found["words"]
    assert found["sums"] == [6.5, 7.5, 8.5]
    assert found == run(READ, writer, tmp_path)
