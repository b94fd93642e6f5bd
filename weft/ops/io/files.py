"""Whole files: ReadFile, WriteFile, MatchingFiles, and the names of sharded ones."""

from __future__ import annotations

import os
from typing import Any

from weft.framework import file_system
from weft.framework.export import export
from weft.framework.registry import op
from weft.framework.shape_rules import rank_at_most, scalar
from weft.ops.strings.elements import of


@op("ReadFile", "filename: string -> contents: string", host=True)
def read_file_op(xp, filename):
    """All bytes of a file."""
    return file_system.read_file(os.fsdecode(filename[()]))


@read_file_op.shape
def _(filename):
    return scalar(filename)


read_file_op.not_differentiable()


@export("read_file", "io.read_file")
def read_file(filename: Any, name: str | None = None) -> Any:
    """Returns the contents of a file, read each time this is computed."""
    return read_file_op(filename, name=name)


@op("WriteFile", "filename: string, contents: string", stateful=True, host=True)
def write_file_op(xp, filename, contents):
    """Makes a file of these contents, and the directories above it."""
    path = os.fsdecode(filename[()])
    folder = path.rpartition("/")[0]
    if folder and not file_system.exists(folder):
        file_system.make_directories(folder)
    file_system.write_file(path, contents[()])


@write_file_op.shape
def _(filename, contents):
    scalar(filename)
    scalar(contents)


write_file_op.not_differentiable()


@export("write_file", "io.write_file")
def write_file(filename: Any, contents: Any, name: str | None = None) -> Any:
    """Returns the operation that makes a file of `contents`, and the directories above it."""
    return write_file_op(filename, contents, name=name)


@op("MatchingFiles", "pattern: string -> filenames: string", host=True)
def matching_files_op(xp, pattern):
    """The names of the files that any of the patterns matches, sorted."""
    found: set[str] = set()
    for one in pattern.reshape(-1):
        found.update(file_system.glob(os.fsdecode(one)))
    return of(map(os.fsencode, sorted(found)), len(found))


@matching_files_op.shape
def _(pattern):
    rank_at_most(pattern, 1)
    return (None,)


matching_files_op.not_differentiable()


@export("matching_files", "io.matching_files")
def matching_files(pattern: Any, name: str | None = None) -> Any:
    """Returns the names of the files that a pattern, or any of several, matches, sorted."""
    return matching_files_op(pattern, name=name)


@op(
    "ShardedFilename",
    "basename: string, shard: int32, num_shards: int32 -> filename: string",
    host=True,
)
def sharded_filename(xp, basename, shard, num_shards):
    """The name of one of several files: `base-00002-of-00010`."""
    return b"%s-%05d-of-%05d" % (basename[()], int(shard), int(num_shards))


@op("ShardedFilespec", "basename: string, num_shards: int32 -> filename: string", host=True)
def sharded_filespec(xp, basename, num_shards):
    """The pattern that matches all of several files: `base-?????-of-00010`."""
    return b"%s-?????-of-%05d" % (basename[()], int(num_shards))


@sharded_filename.shape
def _(basename, shard, num_shards):
    scalar(shard)
    scalar(num_shards)
    return scalar(basename)


@sharded_filespec.shape
def _(basename, num_shards):
    scalar(num_shards)
    return scalar(basename)


sharded_filename.not_differentiable()
sharded_filespec.not_differentiable()
