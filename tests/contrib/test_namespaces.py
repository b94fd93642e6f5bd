"""`tf.contrib`: its libraries are found by name and loaded one by one."""

import subprocess
import sys

import pytest

import weft as tf


def test_names_of_core_modules_are_found_below_contrib():
    assert tf.contrib.eager.py_func is tf.py_function
    assert tf.compat.v1.contrib.eager is tf.contrib.eager


def test_an_unknown_library_is_named():
    with pytest.raises(AttributeError, match=r"weft\.contrib.*no_such_library"):
        tf.contrib.no_such_library  # noqa: B018


def test_contrib_is_loaded_when_it_is_named():
    program = (
        "import sys, weft as tf; before = 'weft.contrib' in sys.modules; tf.contrib.eager; "
        "print(before, 'weft.contrib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"], done.stderr
