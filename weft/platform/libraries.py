"""`tf.load_library` and its kind: shared libraries of ops are written for TensorFlow's own runtime."""

from __future__ import annotations

import errno
import glob
import os
from typing import Any, NoReturn

from weft.framework import errors
from weft.framework.export import export


def _refused(path: str) -> NoReturn:
    if not os.path.exists(path):
        raise errors.NotFoundError(
            None, None, f"{path}: cannot open shared object file: No such file or directory"
        )
    raise errors.UnimplementedError(
        None,
        None,
        f"{path}: a shared library has kernels for TensorFlow's own runtime, which weft does not contain. Write the "
        "op in Python (tf.py_func, tf.custom_gradient), or out of ops that there are.",
    )


@export("load_op_library")
def load_op_library(library_filename: str) -> Any:
    """Raises NotFoundError for a library that is not there, UnimplementedError for one that is."""
    _refused(library_filename)


@export("load_file_system_library")
def load_file_system_library(library_filename: str) -> None:
    """Raises NotFoundError for a library that is not there, UnimplementedError for one that is."""
    _refused(library_filename)


@export("load_library")
def load_library(library_location: str) -> None:
    """Refuses a library, or the libraries of a directory, as `load_op_library` does."""
    if not os.path.exists(library_location):
        raise OSError(
            errno.ENOENT,
            "The file or folder to load kernel libraries from does not exist.",
            library_location,
        )
    libraries = [library_location]
    if os.path.isdir(library_location):
        libraries = sorted(glob.glob(os.path.join(library_location, "*.so")))
    for library in libraries:
        _refused(library)
