"""Profiles: what TensorFlow 1.15.5 shows of the same graphs."""

import json
import re

import numpy as np
import pytest

import weft as tf

Builder = tf.profiler.ProfileOptionBuilder


@pytest.fixture
def model():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [8, 28, 28, 1], name="x")
        with tf.variable_scope("net"):
            h = tf.layers.conv2d(x, 8, 5, activation=tf.nn.relu, name="conv")
            h = tf.layers.max_pooling2d(h, 2, 2)
            y = tf.layers.dense(tf.layers.flatten(h), 10, name="fc")
        loss = tf.reduce_mean(tf.square(y))
        tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
        yield graph


def shown(graph, options, tmp_path, cmd="scope", run_meta=None):
    """What is written, and what is returned."""
    path = tmp_path / "profile"
    options = Builder(options).with_file_output(str(path)).build()
    message = tf.profiler.profile(graph, run_meta, cmd=cmd, options=options)
    return path.read_text().split("Profile:\n")[1], message


PARAMETERS = """\
node name | # parameters
_TFProfRoot (--/11.74k params)
  net (--/11.74k params)
    net/conv (--/208 params)
      net/conv/bias (8, 8/8 params)
      net/conv/kernel (5x5x1x8, 200/200 params)
    net/fc (--/11.53k params)
      net/fc/bias (10, 10/10 params)
      net/fc/kernel (1152x10, 11.52k/11.52k params)
"""


def test_parameters(model, tmp_path):
    text, message = shown(model, Builder.trainable_variables_parameter(), tmp_path)
    assert text == PARAMETERS
    assert message.total_parameters == 11738
    assert [c.name for c in message.children[0].children] == ["net/conv", "net/fc"]
    assert tf.profiler.profile(model, options=Builder().with_empty_output().build()).name


def test_float_operations(model, tmp_path):
    text, message = shown(model, Builder.float_operation(), tmp_path)
    assert message.total_float_ops == 7594416
    assert "  gradients/net/conv/Conv2D_grad/Conv2DBackpropInput (2.51m/2.51m flops)\n" in text
    assert "  net/conv/Conv2D (1.84m/1.84m flops)\n" in text
    assert "  net/max_pooling2d/MaxPool (36.86k/36.86k flops)\n" in text
    text, _ = shown(model, Builder.float_operation(), tmp_path, "op")
    assert text.startswith("node name | # float_ops\n")
    assert re.search(r"\nConv2D +1.84m float_ops \(\d+\.\d\d%, 24.27%\)\n", text)


def test_names_choose_what_is_shown(model, tmp_path):
    parameters = Builder.trainable_variables_parameter()
    names = Builder(parameters).with_node_names(hide_name_regexes=["net/conv.*"])
    text, message = shown(model, names.build(), tmp_path)
    assert message.total_parameters == 11530 and "conv" not in text
    all_of_them = Builder(parameters).account_displayed_op_only(False)
    text, message = shown(
        model, all_of_them.with_node_names(show_name_regexes=["net/conv.*"]).build(), tmp_path
    )
    assert message.total_parameters == 11738 and "net/fc" not in text
    starting = Builder(parameters).with_node_names(start_name_regexes=["net/fc"]).build()
    text, _ = shown(model, starting, tmp_path)
    assert text.split("\n")[2] == "  net/fc (--/11.53k params)"
    trimmed = Builder(parameters).with_node_names(trim_name_regexes=["net/fc"]).build()
    assert "net/fc/bias" not in shown(model, trimmed, tmp_path)[0]
    assert (
        "net/conv/bias"
        not in shown(model, Builder(parameters).with_max_depth(3).build(), tmp_path)[0]
    )
    large = Builder(parameters).with_min_parameters(100).build()
    assert "  net/conv/kernel (5x5x1x8, 200/200 params)\n" in shown(model, large, tmp_path)[0]


def test_a_log_adds_types_and_counts(model, tmp_path):
    log = tf.profiler.OpLogProto()
    log.log_entries.add(name="train", types=["mine"], float_ops=5)
    options = Builder(Builder.float_operation()).with_accounted_types(["mine"])
    text, message = shown(model, options.with_empty_output().build(), tmp_path)
    assert message.total_float_ops == 0
    message = tf.profiler.profile(model, op_log=log, options=options.build())
    assert message.total_float_ops == 5 and message.children[0].name == "train"


def test_steps_have_time_and_memory(model, tmp_path):
    profiler = tf.profiler.Profiler(model)
    metadata = tf.RunMetadata()
    traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session(graph=model) as session:
        session.run([v.initializer for v in tf.trainable_variables()])
        for step in range(2):
            images = {"x:0": np.ones([8, 28, 28, 1])}
            session.run("train", images, options=traced, run_metadata=metadata)
            profiler.add_step(step, metadata)
    text, message = shown(model, Builder.time_and_memory(), tmp_path, "scope", metadata)
    assert message.total_exec_micros == message.total_cpu_exec_micros > 0
    assert re.search(r"net/conv/Conv2D \(147.46KB/147.46KB, .*, 0us/0us, .*\)", text)
    text, _ = shown(model, Builder.time_and_memory(), tmp_path, "op", metadata)
    assert re.search(r"^Conv2D .*KB \(.*%\), +\d.*\(.*%\)", text, re.MULTILINE)
    one = Builder(Builder.time_and_memory()).with_step(1).with_empty_output().build()
    assert 0 < profiler.profile_operations(one).total_exec_micros
    none = Builder(one).with_step(7).build()
    assert profiler.profile_operations(none).total_exec_micros == 0
    timeline = str(tmp_path / "timeline")
    profiler.profile_graph(Builder(one).with_timeline_output(timeline).build())
    assert json.loads((tmp_path / "timeline_1").read_text())["traceEvents"]
    (advice,) = (
        profiler.advise({"ExpensiveOperationChecker": {}})
        .checkers["ExpensiveOperationChecker"]
        .reports
    )
    assert advice.startswith("top 1 operation type: ") and advice.count("\n") == 2
    kept = profiler.serialize_to_string()
    assert b"net/conv/kernel" in kept
    with pytest.raises(ValueError, match="step 3 has no step stats"):
        profiler.add_step(3, tf.RunMetadata())


def test_shapes_that_only_a_run_knows(tmp_path, capsys):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.matmul(tf.negative(x), tf.ones([3, 5]))
        options = Builder(Builder.float_operation()).with_empty_output()
        options = options.with_accounted_types(["MatMul"]).build()
        assert tf.profiler.profile(graph, options=options).total_float_ops == 0
        assert "2 ops have no count" in capsys.readouterr().err
        metadata = tf.RunMetadata()
        traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(y, {x: np.ones([7, 3])}, options=traced, run_metadata=metadata)
        assert (
            tf.profiler.profile(graph, metadata, options=options).total_float_ops == 2 * 7 * 3 * 5
        )


def test_lines_of_the_program(model, tmp_path):
    options = Builder(Builder.trainable_variables_parameter()).with_accounted_types([".*"])
    options = options.with_node_names(show_name_regexes=[".*test_profile.*"])
    text, message = shown(model, options.build(), tmp_path, "code")
    assert re.search(r"test_profile.py:\d+:model \(.*/6.27k params\)", text)
    assert message.total_parameters == 11738 + 8 * 28 * 28


def test_a_deep_graph_is_no_matter(tmp_path):
    with tf.Graph().as_default() as graph:
        x = tf.ones([2])
        for _ in range(3000):
            x = tf.negative(x)
        message = shown(graph, Builder.float_operation(), tmp_path, "graph")[1]
    assert message.total_float_ops == 6000


def test_printing_and_the_older_names(model, capsys, tmp_path):
    analyzer = tf.contrib.tfprof.model_analyzer
    found = analyzer.print_model_analysis(
        model, tfprof_options=analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS
    )
    printed = capsys.readouterr().out
    assert found.total_parameters == 11738
    assert PARAMETERS in printed and "=Model Analysis Report=" in printed
    tf.contrib.tfprof.tfprof_logger.write_op_log(model, str(tmp_path))
    log = tf.profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
    entries = {e.name: e for e in log.log_entries}
    assert list(entries["net/fc/kernel"].types) == ["_trainable_variables"]
    assert entries["net/fc/MatMul"].float_ops == 184320 and entries["x"].code_def.traces


def test_what_is_not_known_is_refused(model):
    with pytest.raises(tf.errors.InvalidArgumentError, match="unknown cmd: names"):
        tf.profiler.profile(model, cmd="names")
    with pytest.raises(ValueError, match="Unknown output of a profile: 'paper'"):
        tf.profiler.profile(model, options=dict(Builder().build(), output="paper"))
    with pytest.raises(ValueError, match="needs a file"):
        tf.profiler.profile(model, options=dict(Builder().build(), output="file"))
    with pytest.raises(tf.errors.UnimplementedError, match="pprof"):
        tf.profiler.profile(model, options=Builder().with_pprof_output("p").build())
