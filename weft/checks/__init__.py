"""Checks of values, shapes and types that a program states: `tf.assert_*`."""

from weft.checks import shapes as shapes
from weft.checks import types as types
from weft.checks import values as values
