"""RecordInput: each record once in an epoch, in an order that a seed decides."""

import weft as tf


def test_epochs(tmp_path):
    wanted = sorted(b"%d-%d" % (i, k) for i in range(5) for k in range(20))
    for i in range(5):
        with tf.python_io.TFRecordWriter(str(tmp_path / f"part{i}"), "GZIP") as writer:
            for k in range(20):
                writer.write(b"%d-%d" % (i, k))

    def epochs(seed):
        with tf.Graph().as_default(), tf.Session() as session:
            records = tf.raw_ops.RecordInput(
                file_pattern=f"{tmp_path}/part[0-2],{tmp_path}/part[3-4]",
                file_random_seed=seed,
                file_buffer_size=30,
                file_parallelism=2,
                file_shuffle_shift_ratio=0.4,
                batch_size=10,
                compression_type="GZIP",
            )
            found = [r for _ in range(30) for r in session.run(records).tolist()]
        return [found[i : i + 100] for i in range(0, 300, 100)]

    first = epochs(7)
    assert [sorted(epoch) for epoch in first] == [wanted] * 3
    assert first[0] != first[1] and first[0] != wanted
    assert epochs(7) == first
    assert epochs(8) != first
