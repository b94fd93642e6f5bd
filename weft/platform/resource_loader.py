"""`tf.resource_loader`: files that lie beside the program."""

from __future__ import annotations

import os
import sys

from weft.framework.export import export


def _directory_of_caller(depth: int) -> str:
    file = sys._getframe(depth + 1).f_globals.get("__file__") or sys.argv[0]
    return os.path.dirname(os.path.abspath(file))


@export("resource_loader.get_data_files_path")
def get_data_files_path() -> str:
    """Returns the directory of the file that calls this."""
    return _directory_of_caller(1)


@export("resource_loader.get_path_to_datafile")
def get_path_to_datafile(path: str) -> str:
    """Returns the path of a file that lies beside the one that calls this."""
    return os.path.join(_directory_of_caller(1), path)


@export("resource_loader.get_root_dir_with_all_resources")
def get_root_dir_with_all_resources() -> str:
    """Returns the directory that files of the program are found from: that of the file that calls this."""
    return _directory_of_caller(1)


@export("resource_loader.load_resource")
def load_resource(path: str) -> bytes:
    """Returns what is in a file, whose path is from the directory that holds the package."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(os.path.join(os.path.dirname(package), path), "rb") as file:
        return file.read()


@export("resource_loader.readahead_file_path")
def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Returns the path as it is: no file system here takes a hint to read ahead."""
    return path
