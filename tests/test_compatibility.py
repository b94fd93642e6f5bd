"""`import tensorflow` as weft, and `weft run`."""

import subprocess
import sys

import pytest

import weft


def run(tmp_path, source, *args):
    script = tmp_path / "program.py"
    script.write_text(source)
    return subprocess.run(
        [sys.executable, "-m", "weft", "run", str(script), *args],
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_a_program_runs_as_under_python(tmp_path):
    source = (
        "import sys, tensorflow as tf\n"
        "import tensorflow.compat.v1 as v1\n"
        "from tensorflow.compat.v1 import placeholder\n"
        "assert v1 is tf and tf.__version__.startswith('1.15')\n"
        "print(__name__, sys.argv[1:], tf.Session().run(tf.constant(2) + 3))\n"
        "sys.exit(7)\n"
    )
    done = run(tmp_path, source, "--flag", "-x")
    assert done.stdout == "__main__ ['--flag', '-x'] 5\n"
    assert done.returncode == 7


def test_a_traceback_shows_the_programs_own_calls(tmp_path):
    done = run(tmp_path, "def f():\n    raise ValueError('sorry')\nf()\n")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ValueError: sorry"
    assert "run_script" not in done.stderr


def test_a_missing_script_is_told(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "weft", "run", str(tmp_path / "no.py")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "can't open file" in done.stderr


def test_flags_and_app_run(tmp_path):
    source = (
        "import tensorflow as tf\n"
        "tf.app.flags.DEFINE_integer('steps', 3, 'How many.')\n"
        "FLAGS = tf.app.flags.FLAGS\n"
        "def main(argv):\n    print(FLAGS.steps, argv[1:])\n"
        "if __name__ == '__main__':\n    tf.app.run()\n"
    )
    assert run(tmp_path, source, "--steps=5", "rest").stdout == "5 ['rest']\n"


def test_what_internal_modules_hold_is_found_by_its_public_name(tmp_path):
    source = (
        "import tensorflow as tf\n"
        "import tensorflow.python.platform.flags\n"
        "from tensorflow.python.client import timeline\n"
        "from tensorflow.python.framework import dtypes, ops\n"
        "from tensorflow.python.layers.base import Layer\n"
        "from tensorflow.python.ops import gen_math_ops, math_ops, rnn_cell_impl, variable_scope as vs\n"
        "from tensorflow.python.training import saver as saver_lib\n"
        "from tensorflow.python.util import nest\n"
        "assert ops.Graph is tf.Graph and dtypes.float32 is tf.float32 and Layer is tf.layers.Layer\n"
        "assert vs.get_variable is tf.get_variable and saver_lib.Saver is tf.train.Saver\n"
        "assert rnn_cell_impl.LSTMCell is tf.nn.rnn_cell.LSTMCell\n"
        "print(tf.Session().run(gen_math_ops.mat_mul([[2.0]], math_ops.add([[1.0]], 2.0))[0]))\n"
        "print(timeline.Timeline.__name__, nest.flatten([1, [2]]), hasattr(ops, 'nothing'))\n"
        "import tensorflow.python.ops.nothing\n"
    )
    done = run(tmp_path, source)
    assert done.stdout == "[6.]\nTimeline [1, 2] False\n"
    assert "no module tf.python.ops.nothing" in done.stderr.splitlines()[-1]


def test_modules_of_contrib_that_programs_import_from(tmp_path):
    source = (
        "import tensorflow.contrib.slim as slim\n"
        "from tensorflow.contrib.framework.python.ops import add_arg_scope, variables\n"
        "from tensorflow.contrib.layers.python.layers import utils\n"
        "from tensorflow.contrib.layers.python.layers.layers import conv2d\n"
        "from tensorflow.contrib.slim.nets import vgg\n"
        "from tensorflow.contrib.slim.python.slim.nets.resnet_utils import Block\n"
        "assert add_arg_scope is slim.add_arg_scope and conv2d is slim.conv2d\n"
        "print(utils.two_element_tuple(3), variables.model_variable is slim.model_variable)\n"
    )
    done = run(tmp_path, source)
    assert done.stdout == "(3, 3) True\n", done.stderr


def test_installing_twice_and_taking_back():
    before = dict(sys.modules)
    try:
        weft.install_as_tensorflow()
        weft.install_as_tensorflow()
        import tensorflow

        assert tensorflow is weft
    finally:
        from weft.compatibility import uninstall_as_tensorflow

        uninstall_as_tensorflow()
    assert "tensorflow" not in sys.modules or "tensorflow" in before
    with pytest.raises(ImportError):
        import tensorflow.nothing


def test_modules_of_messages_and_words_of_saved_models(tmp_path):
    source = (
        "from tensorflow.core.protobuf import saved_model_pb2, config_pb2\n"
        "from tensorflow.core.framework.types_pb2 import DT_FLOAT\n"
        "from tensorflow.python.saved_model import builder, tag_constants\n"
        "from tensorflow.python.saved_model.signature_constants import PREDICT_INPUTS\n"
        "import tensorflow as tf\n"
        "assert builder.SavedModelBuilder is tf.saved_model.Builder\n"
        "assert config_pb2.ConfigProto is tf.ConfigProto\n"
        "model = saved_model_pb2.SavedModel(saved_model_schema_version=1)\n"
        "try:\n"
        "    import tensorflow.core.protobuf.none_pb2\n"
        "except ModuleNotFoundError as e:\n"
        "    print(model.saved_model_schema_version, DT_FLOAT, tag_constants.SERVING, PREDICT_INPUTS, e.name)\n"
    )
    done = run(tmp_path, source)
    assert done.stdout.split() == [
        *("1", "1", "serve", "inputs", "tensorflow.core.protobuf.none_pb2")
    ], done.stderr
