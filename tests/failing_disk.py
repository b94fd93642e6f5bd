"""A disk that breaks off, or is full, after so much was written: the files as a killed process leaves them."""

import contextlib
import errno
import io
import os

from weft.framework import file_system


class FailingFiles(file_system.LocalFiles):
    """Local files of which only so many changes are made; each write counts thrice: nothing, half, all of its bytes.

    A dead process does nothing more. A disk that is full takes no bytes, but files can be renamed and removed.
    """

    def __init__(self, changes, full=False):
        self.left, self._full = changes, full
        self.failed = False

    def _change(self, needs_room=False):
        if self._full and not needs_room:
            return
        if self.left <= 0:
            self._fail()
        self.left -= 1

    def _fail(self):
        self.failed = True
        number = errno.ENOSPC if self._full else errno.EIO
        raise OSError(number, os.strerror(number))

    def open(self, path, mode):
        if mode == "rb":
            return super().open(path, mode)
        self._change()
        return io.BufferedWriter(_FailingFile(path, mode, self))

    def make_directory(self, path):
        self._change()
        super().make_directory(path)

    def make_directories(self, path):
        if path and not os.path.isdir(path):
            self._change()
        super().make_directories(path)

    def remove(self, path):
        self._change()
        super().remove(path)

    def remove_tree(self, path):
        self._change()
        super().remove_tree(path)

    def rename(self, old, new):
        self._change()
        super().rename(old, new)

    def duplicate(self, old, new):
        self._change()
        super().duplicate(old, new)


class _FailingFile(io.FileIO):
    def __init__(self, path, mode, files):
        super().__init__(path, mode)
        self._files = files

    def write(self, data):
        files, data = self._files, bytes(data)
        if files.left >= 3:
            files.left -= 3
            return super().write(data)
        if files.left > 0 and len(data) > 1:
            files.left = 0
            return super().write(data[: len(data) // 2])
        files._fail()


@contextlib.contextmanager
def failing(monkeypatch, changes, full=False):
    """Local files fail inside; gives the files, which know whether anything did."""
    files = FailingFiles(changes, full)
    with monkeypatch.context() as patch:
        patch.setattr(file_system, "_local", files)
        yield files
