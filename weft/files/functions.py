"""What programs ask of directories and names: `tf.gfile.Exists`, `tf.io.gfile.exists` and their kin."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from weft.framework import errors, file_system
from weft.framework.export import export
from weft.framework.file_system import FileStatistics, path_text

# -- as TensorFlow 2 names them -----------------------------------------------------------------------------


@export("io.gfile.exists")
def exists(path: Any) -> bool:
    """Returns whether there is a file or directory at a path."""
    return file_system.exists(path_text(path))


@export("io.gfile.isdir")
def isdir(path: Any) -> bool:
    """Returns whether there is a directory at a path."""
    return file_system.is_directory(path_text(path))


@export("io.gfile.listdir")
def listdir(path: Any) -> list[str]:
    """Returns the names in a directory."""
    text = path_text(path)
    if not file_system.is_directory(text):
        raise errors.NotFoundError(None, None, f"Could not find directory {text}")
    return file_system.list_directory(text)


@export("io.gfile.mkdir")
def mkdir(path: Any) -> None:
    """Makes a directory in one that is there; it may be there already."""
    try:
        if text := path_text(path):
            file_system.make_directory(text)
    except errors.AlreadyExistsError:
        pass


@export("io.gfile.makedirs")
def makedirs(path: Any) -> None:
    """Makes a directory and all above it; they may be there already."""
    if text := path_text(path):
        file_system.make_directories(text)


@export("io.gfile.glob")
def glob(pattern: Any) -> list[str]:
    """Returns the files that a pattern, or each of several, matches."""
    if isinstance(pattern, (str, bytes)) or hasattr(pattern, "__fspath__"):
        return file_system.glob(path_text(pattern))
    return [name for one in pattern for name in file_system.glob(path_text(one))]


@export("io.gfile.remove")
def remove(path: Any) -> None:
    """Removes a file."""
    file_system.remove(path_text(path))


@export("io.gfile.rmtree")
def rmtree(path: Any) -> None:
    """Removes a directory and all in it."""
    text = path_text(path)
    if not file_system.exists(text):
        raise errors.NotFoundError(None, None, f"{text} not found")
    file_system.remove_tree(text)


def _not_there(path: str, overwrite: bool) -> None:
    if not overwrite and file_system.exists(path):
        raise errors.AlreadyExistsError(
            None, None, f"file already exists: {path}; with overwrite=True it is replaced"
        )


@export("io.gfile.copy")
def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copies a file."""
    old, new = path_text(src), path_text(dst)
    _not_there(new, overwrite)
    if old != new:
        file_system.copy(old, new)


@export("io.gfile.rename")
def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Moves a file or directory."""
    old, new = path_text(src), path_text(dst)
    _not_there(new, overwrite)
    file_system.rename(old, new)


@export("io.gfile.stat")
def stat(path: Any) -> FileStatistics:
    """Returns the length, the time of the last change, and whether it is a directory."""
    return file_system.stat(path_text(path))


@export("io.gfile.walk")
def walk(
    top: Any, topdown: bool = True, onerror: Callable | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields each directory of a tree with the names of its directories and of its files.

    A directory that cannot be listed is left out, after `onerror` was called with the error.
    """
    text = path_text(top)
    try:
        names = listdir(text)
    except errors.OpError as e:
        if onerror is not None:
            onerror(e)
        return
    directories: list[str] = []
    files: list[str] = []
    for name in sorted(names):
        inside = isdir(os.path.join(text, name))
        (directories if inside else files).append(name)
    here = (text, directories, files)
    if topdown:
        yield here
    for name in directories:
        yield from walk(os.path.join(text, name), topdown, onerror)
    if not topdown:
        yield here


# -- as TensorFlow 1 names them -----------------------------------------------------------------------------


@export("gfile.Exists")
def Exists(filename: Any) -> bool:
    """Returns whether there is a file or directory of a name."""
    return exists(filename)


@export("gfile.IsDirectory")
def IsDirectory(dirname: Any) -> bool:
    """Returns whether there is a directory of a name."""
    return isdir(dirname)


@export("gfile.ListDirectory")
def ListDirectory(dirname: Any) -> list[str]:
    """Returns the names in a directory."""
    return listdir(dirname)


@export("gfile.MkDir")
def MkDir(dirname: Any) -> None:
    """Makes a directory in one that is there; it may be there already."""
    mkdir(dirname)


@export("gfile.MakeDirs")
def MakeDirs(dirname: Any) -> None:
    """Makes a directory and all above it; they may be there already."""
    makedirs(dirname)


@export("gfile.Glob")
def Glob(filename: Any) -> list[str]:
    """Returns the files that a pattern, or each of several, matches."""
    return glob(filename)


@export("gfile.Remove")
def Remove(filename: Any) -> None:
    """Removes a file."""
    remove(filename)


@export("gfile.DeleteRecursively")
def DeleteRecursively(dirname: Any) -> None:
    """Removes a directory and all in it."""
    rmtree(dirname)


@export("gfile.Copy")
def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copies a file."""
    copy(oldpath, newpath, overwrite)


@export("gfile.Rename")
def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Moves a file or directory."""
    rename(oldname, newname, overwrite)


@export("gfile.Stat")
def Stat(filename: Any) -> FileStatistics:
    """Returns the length, the time of the last change, and whether it is a directory."""
    return stat(filename)


@export("gfile.Walk")
def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields each directory of a tree with the names of its directories and of its files."""
    return walk(top, in_order)
