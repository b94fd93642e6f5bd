"""Eager execution: ops run as they are called, tapes record them, functions are traced and cached."""

from weft.eager import custom_gradient as custom_gradient
from weft.eager import execute as execute
from weft.eager import function as function
from weft.eager import operators as operators
from weft.eager import tape as tape
from weft.eager import wrap_function as wrap_function
