"""Models exported by estimators, and input functions that give Datasets."""

import numpy as np
import pytest

import weft as tf
from tests.estimator.linear_model import X, Y, made


def data():
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(10)


def test_trains_evaluates_and_predicts_on_data_sets(tmp_path):
    estimator = made(tmp_path).train(lambda: data().repeat(), steps=7)
    assert estimator.get_variable_value("global_step") == 7
    assert estimator.train(data).get_variable_value("global_step") == 9  # till the data end
    results = estimator.evaluate(data)
    rows = list(estimator.predict(lambda: data().map(lambda x, y: x), predict_keys=["y"]))
    errors = np.array([row["y"] for row in rows]) - Y
    np.testing.assert_allclose(results["loss"], np.mean(errors**2), rtol=1e-5)


def receiver():
    return tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"x": tf.placeholder(tf.float32, [None, 2])}
    )()


def test_an_exported_model_predicts_as_the_estimator_does(tmp_path):
    estimator = made(tmp_path / "model").train(data, steps=2)
    extra = tmp_path / "notes.txt"
    extra.write_text("read me")
    folder = estimator.export_saved_model(
        str(tmp_path / "exports"), receiver, assets_extra={"more/notes.txt": str(extra)}
    )
    assert isinstance(folder, bytes) and folder.decode().startswith(str(tmp_path / "exports"))
    assert (tmp_path / "exports" / folder.decode() / "assets.extra/more/notes.txt").exists()
    with tf.Session(graph=tf.Graph()) as session:
        loaded = tf.saved_model.load(session, ["serve"], folder.decode())
        signature = loaded.signature_def["serving_default"]
        assert signature.method_name == "tensorflow/serving/predict"
        got = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: X})
    rows = list(estimator.predict(lambda: data().map(lambda x, y: x)))
    np.testing.assert_allclose(got, [row["y"] for row in rows], rtol=1e-6)
    with pytest.raises(ValueError, match="must be defined"):
        estimator.export_saved_model(str(tmp_path), None)
    with pytest.raises(ValueError, match="Couldn't find trained model"):
        made(tmp_path / "new").export_saved_model(str(tmp_path), receiver)


def test_several_modes_are_exported_together(tmp_path):
    estimator = made(tmp_path / "model").train(data, steps=2)
    features = {"x": tf.placeholder(tf.float32, [None, 2])}
    labels = tf.placeholder(tf.float32, [None, 1])
    supervised = tf.estimator.experimental.build_raw_supervised_input_receiver_fn(features, labels)
    folder = estimator.experimental_export_all_saved_models(
        str(tmp_path), {"train": supervised, "eval": supervised, "infer": receiver}
    ).decode()
    with tf.Session(graph=tf.Graph()) as session:
        loaded = tf.saved_model.load(session, ["eval"], folder)
        signature = loaded.signature_def["eval"]
        feeds = {signature.inputs["x"].name: X, signature.inputs["label"].name: Y}
        loss, _ = session.run(
            [
                signature.outputs["loss"].name,
                signature.outputs["metrics/error/update_op"].name,
            ],
            feeds,
        )
    np.testing.assert_allclose(loss, estimator.evaluate(data)["loss"], rtol=1e-5)


def test_the_latest_exports_are_kept(tmp_path):
    estimator = made(tmp_path / "model").train(data, steps=1)
    folder = tmp_path / "exports"
    for name in ("1500000001", "1500000002", "unrelated"):
        (folder / name).mkdir(parents=True)
    exporter = tf.estimator.LatestExporter("latest", receiver, exports_to_keep=2)
    exporter.export(estimator, str(folder), estimator.latest_checkpoint(), {}, False)
    left = sorted(p.name for p in folder.iterdir())
    assert len(left) == 3 and left[0] == "1500000002" and left[2] == "unrelated"


def test_the_best_export_is_better_than_those_of_earlier_runs(tmp_path):
    estimator = made(tmp_path / "model").train(data, steps=1)
    with tf.summary.FileWriter(estimator.eval_dir()) as writer:
        value = tf.Summary.Value(tag="loss", simple_value=2.0)
        writer.add_summary(tf.Summary(value=[value]), 1)
    exporter = tf.estimator.BestExporter(serving_input_receiver_fn=receiver)
    folder, checkpoint = str(tmp_path / "best"), estimator.latest_checkpoint()
    assert exporter.export(estimator, folder, checkpoint, {"loss": 3.0}, False) is None
    assert exporter.export(estimator, folder, checkpoint, {"loss": 1.0}, False) is not None
    assert exporter.export(estimator, folder, checkpoint, {"loss": 1.5}, True) is None
    with pytest.raises(ValueError, match="must include current_eval_result"):
        tf.estimator.BestExporter(compare_fn=lambda best_eval_result: True)
