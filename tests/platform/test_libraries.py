"""Files beside the program, and libraries that cannot be loaded."""

import os

import pytest

import weft as tf


def test_files_are_found_beside_the_file_that_asks():
    here = os.path.dirname(os.path.abspath(__file__))
    assert tf.resource_loader.get_data_files_path() == here
    assert tf.resource_loader.get_path_to_datafile("a.txt") == os.path.join(here, "a.txt")
    assert tf.resource_loader.get_root_dir_with_all_resources() == here
    assert tf.resource_loader.readahead_file_path("a") == "a"


def test_libraries_of_ops_are_refused(tmp_path):
    there = tmp_path / "ops.so"
    there.write_bytes(b"")
    for load in (tf.load_op_library, tf.load_file_system_library):
        with pytest.raises(tf.errors.NotFoundError, match="no.so"):
            load("/no.so")
        with pytest.raises(tf.errors.UnimplementedError, match="py_func"):
            load(str(there))
    with pytest.raises(OSError, match="does not exist"):
        tf.load_library("/no")
    with pytest.raises(tf.errors.UnimplementedError):
        tf.load_library(str(tmp_path))
