"""Canned estimators: names of variables, metrics against NumPy, and that they learn."""

import numpy as np
import pytest

import weft as tf

RNG = np.random.RandomState(0)
A = RNG.randn(40, 2).astype(np.float32)
C = RNG.choice([b"x", b"y", b"z"], (40, 1))
W = RNG.rand(40, 1).astype(np.float32)
FEATURES = {"a": A, "c": C, "w": W}
NUMBER = (A @ [[2.0], [-1.0]] + (C == b"z")).astype(np.float32)
TWO = (NUMBER > 0).astype(np.int32)
THREE = (np.digitize(NUMBER, [-1.0, 1.0])).astype(np.int64)


def columns():
    fc = tf.feature_column
    words = fc.categorical_column_with_vocabulary_list("c", ["x", "y", "z"])
    return fc.numeric_column("a", shape=(2,)), words, fc.embedding_column(words, 2)


def fed(labels, epochs=1):
    return tf.estimator.inputs.numpy_input_fn(
        FEATURES, labels, batch_size=20, num_epochs=epochs, shuffle=False
    )


def config():
    return tf.estimator.RunConfig(tf_random_seed=1)


def test_a_linear_regression_steps_as_numpy_does(tmp_path):
    number, _, _ = columns()
    sgd = tf.train.GradientDescentOptimizer(0.01)
    estimator = tf.estimator.LinearRegressor(
        [number], str(tmp_path), optimizer=sgd, weight_column="w", config=config()
    )
    estimator.train(fed(NUMBER, None), steps=1)
    errors = -NUMBER[:20]  # all weights begin at zero, and the losses of a batch are added up
    weights = -0.01 * 2 * A[:20].T @ (W[:20] * errors)
    bias = -0.01 * 2 * np.sum(W[:20] * errors)
    model = "linear/linear_model"
    names = ["global_step", f"{model}/a/weights", f"{model}/bias_weights"]
    assert estimator.get_variable_names() == names
    np.testing.assert_allclose(estimator.get_variable_value(names[1]), weights, rtol=1e-4)
    np.testing.assert_allclose(estimator.get_variable_value(names[2]), [bias], rtol=1e-4)
    results = estimator.evaluate(fed(NUMBER))
    squares = (A @ weights + bias - NUMBER) ** 2
    np.testing.assert_allclose(results["average_loss"], np.average(squares, weights=W), rtol=1e-4)
    np.testing.assert_allclose(results["loss"], np.sum(W * squares) / 2, rtol=1e-4)
    np.testing.assert_allclose(results["label/mean"], np.average(NUMBER, weights=W), rtol=1e-4)


def test_a_baseline_learns_how_frequent_classes_are(tmp_path):
    estimator = tf.estimator.BaselineClassifier(str(tmp_path), n_classes=3, config=config())
    estimator.train(fed(THREE, None), steps=300)
    row = next(estimator.predict(fed(THREE)))
    np.testing.assert_allclose(row["probabilities"], np.bincount(THREE[:, 0]) / 40, atol=0.02)
    assert estimator.get_variable_names()[0] == "baseline/bias"


def test_a_network_learns_classes_by_their_names(tmp_path):
    number, _, embedding = columns()
    words = np.array([b"cat", b"dog"], object)[TWO]
    estimator = tf.estimator.DNNClassifier(
        [8], [number, embedding], str(tmp_path), label_vocabulary=["cat", "dog"], config=config()
    )
    assert estimator.train(fed(words, None), steps=150) is estimator
    assert {
        "dnn/hiddenlayer_0/kernel",
        "dnn/logits/bias",
        "dnn/input_from_feature_columns/input_layer/c_embedding/embedding_weights",
        "dnn/hiddenlayer_0/kernel/t_0/Adagrad",
    } <= set(estimator.get_variable_names())
    results = estimator.evaluate(fed(words))
    assert results["accuracy"] > 0.9 and results["auc"] > 0.95
    rows = list(estimator.predict(fed(words)))
    said = np.array([r["classes"][0] for r in rows])
    assert np.mean(said == words[:, 0]) == pytest.approx(results["accuracy"])
    np.testing.assert_allclose(
        [r["probabilities"][1] for r in rows], [r["logistic"][0] for r in rows], rtol=1e-5
    )


def test_a_network_and_a_linear_model_learn_together(tmp_path):
    number, words, embedding = columns()
    estimator = tf.estimator.DNNLinearCombinedRegressor(
        str(tmp_path),
        linear_feature_columns=[words],
        linear_optimizer=tf.train.AdamOptimizer(0.05),
        dnn_feature_columns=[number, embedding],
        dnn_optimizer=tf.train.AdamOptimizer(0.05),
        dnn_hidden_units=[6],
        config=config(),
    )
    before = estimator.evaluate(fed(NUMBER))["average_loss"]
    estimator.train(fed(NUMBER, None), steps=100)
    assert estimator.get_variable_value("global_step") == 100
    assert estimator.evaluate(fed(NUMBER))["average_loss"] < before / 20


def test_heads_for_models_of_ones_own():
    with tf.Graph().as_default(), tf.Session() as session:
        head = tf.estimator.BinaryClassHead(thresholds=[0.3], name="h")
        logits, labels = tf.constant([[1.0], [-2.0], [0.5]]), tf.constant([[1], [0], [0]])
        loss = head.loss(labels, logits)
        expected = np.mean(np.log1p(np.exp([-1.0, -2.0, 0.5])))
        assert session.run(loss) == pytest.approx(expected, rel=1e-5)
        assert set(head.predictions(logits, ["logistic"])) == {"logistic"}
        spec = head.create_estimator_spec({}, "eval", logits, labels)
        assert {"accuracy/h", "recall/positive_threshold_0.3/h"} <= set(spec.eval_metric_ops)
        served = head.create_estimator_spec({}, "infer", logits).export_outputs
        assert set(served) == {"serving_default", "classification", "regression", "predict"}
        poisson = tf.estimator.PoissonRegressionHead(compute_full_loss=False)
        value = session.run(poisson.loss(tf.constant([[2.0]]), tf.constant([[0.5]])))
        assert value == pytest.approx(np.exp(0.5) - 2 * 0.5, rel=1e-5)
        with pytest.raises(tf.errors.InvalidArgumentError, match="n_classes"):
            session.run(head.loss(tf.constant([[1], [0], [2]]), logits))
        with pytest.raises(ValueError, match="Mismatched label shape"):
            head.loss(tf.constant([[1, 0]]), tf.constant([[1.0]]))
        with pytest.raises(ValueError, match="must provide a labels"):
            head.loss(None, logits)
    with pytest.raises(ValueError, match="n_classes must be > 2"):
        tf.estimator.MultiClassHead(2)
    with pytest.raises(ValueError, match="loss_reduction"):
        tf.estimator.RegressionHead(loss_reduction="none")


def test_examples_are_parsed_for_a_classifier():
    number, words, _ = columns()
    spec = tf.estimator.classifier_parse_example_spec([number, words], "label", weight_column="w")
    assert set(spec) == {"a", "c", "label", "w"}
    assert spec["label"].dtype == tf.int64
    with pytest.raises(ValueError, match="label should not be used as feature"):
        tf.estimator.regressor_parse_example_spec([number], "a")
