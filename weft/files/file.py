"""`tf.gfile.GFile`: a file of this machine or of a store that fsspec reaches, as an object."""

from __future__ import annotations

from typing import Any

from weft.framework import errors, file_system
from weft.framework.compat_text import as_bytes
from weft.framework.export import export

_MODES = ("r", "w", "a", "r+", "w+", "a+")


@export("gfile.GFile", "gfile.Open", "io.gfile.GFile")
class GFile:
    """A file that is opened when it is first read or written.

    Modes are those of `open`; with `b` contents are bytes, else text in UTF-8. Reading and writing have positions
    of their own: what is written goes to the end.
    """

    def __init__(self, name: Any, mode: str = "r"):
        plain = mode.replace("b", "")
        if plain not in _MODES:
            raise errors.InvalidArgumentError(
                None, None, "mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'"
            )
        self.__name, self.__mode = name, mode
        self._is_binary = "b" in mode
        self._may_read, self._may_write = plain not in ("w", "a"), plain != "r"
        self._opens_at_end = "a" in mode
        self._reader: Any = None
        self._writer: Any = None

    @property
    def name(self) -> Any:
        """The name that the file was given."""
        return self.__name

    @property
    def mode(self) -> str:
        """The mode that the file was given."""
        return self.__mode

    def __repr__(self) -> str:
        return f"<GFile {self.__name!r}, mode {self.__mode!r}>"

    # -- reading ---------------------------------------------------------------------------------------

    def _for_reading(self) -> Any:
        if self._reader is None:
            if not self._may_read:
                raise errors.PermissionDeniedError(None, None, "File isn't open for reading")
            self._reader = file_system.open_file(self._path, "rb")
        return self._reader

    @property
    def _path(self) -> str:
        return file_system.path_text(self.__name)

    def _given(self, data: bytes) -> Any:
        return data if self._is_binary else data.decode()

    def read(self, n: int = -1) -> Any:
        """Returns the next `n` bytes, or all that are left."""
        reader = self._for_reading()
        if n < -1:
            raise errors.InvalidArgumentError(
                None, None, f"n should be -1, for all that is left, or at least 0, got {n}"
            )
        with file_system.translated(self._path):
            return self._given(reader.read(n))

    def readline(self) -> Any:
        """Returns the next line with its end, without carriage returns; nothing at the end of the file."""
        reader = self._for_reading()
        with file_system.translated(self._path):
            line = reader.readline()
            if b"\r" in line:
                line = line.replace(b"\r", b"")
            return self._given(line)

    def readlines(self) -> list[Any]:
        """Returns the lines that are left."""
        return list(self)

    def __iter__(self) -> GFile:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Goes to an offset from the start (`whence` 0), from where reading is (1), or from the end (2)."""
        reader = self._for_reading()
        if offset is None and position is None:
            raise TypeError("seek(): offset argument required")
        if offset is not None and position is not None:
            raise TypeError("seek(): offset and position may not be set simultaneously.")
        to = position if offset is None else offset
        assert to is not None
        if whence not in (0, 1, 2):
            raise errors.InvalidArgumentError(
                None, None, f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2."
            )
        if whence == 1:
            to += reader.tell()
        elif whence == 2:
            to += self.size()
        if to < 0:
            raise errors.InvalidArgumentError(None, None, f"Seeking to a negative position: {to}")
        with file_system.translated(self._path):
            end = reader.seek(0, 2)
            reader.seek(min(to, end))
        if to > end:
            raise errors.OutOfRangeError(None, None, "reached end of file")

    def tell(self) -> int:
        """Returns where reading is, or in a file that is only written, how long it is."""
        return (self._for_reading() if self._may_read else self._for_writing()).tell()

    def seekable(self) -> bool:
        """Returns True: every file can go back and forth."""
        return True

    def size(self) -> int:
        """Returns the length in bytes of what has been flushed."""
        return file_system.stat(self._path).length

    # -- writing ---------------------------------------------------------------------------------------

    def _for_writing(self) -> Any:
        if self._writer is None:
            if not self._may_write:
                raise errors.PermissionDeniedError(None, None, "File isn't open for writing")
            mode = "ab" if self._opens_at_end else "wb"
            self._writer = file_system.open_file(self._path, mode)
        return self._writer

    def write(self, file_content: Any) -> None:
        """Writes text or bytes at the end."""
        writer = self._for_writing()
        data = as_bytes(file_content)
        with file_system.translated(self._path):
            writer.write(data)

    def flush(self) -> None:
        """Hands what was written to the operating system."""
        if self._writer is not None:
            with file_system.translated(self._path):
                self._writer.flush()

    def close(self) -> None:
        """Flushes and closes; the next use opens the file again."""
        reader, self._reader = self._reader, None
        writer, self._writer = self._writer, None
        if reader is not None:
            reader.close()
        if writer is not None:
            with file_system.translated(self._path):
                writer.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        # As a C++ object would: programs write `GFile(name, "w").write(text)` and go on.
        if getattr(self, "_writer", None) is not None or getattr(self, "_reader", None) is not None:
            self.close()


@export("gfile.FastGFile")
class FastGFile(GFile):
    """The same as `GFile`, by its older name."""
