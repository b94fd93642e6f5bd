"""Files by their names: local ones, and those that fsspec reaches by a scheme (`gs://`, `s3://`, `memory://`).

What fails raises TensorFlow's error classes. Everything here takes paths as text; files are opened for bytes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

from weft.framework import errors

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]*)://")
BUFFER = 512 * 1024
WRITE_BUFFER = 256 * 1024

# What a number of the operating system is called among the status codes; all others are UNKNOWN.
_STATUS = {
    errors.InvalidArgumentError: "EINVAL ENAMETOOLONG E2BIG EDESTADDRREQ EDOM EFAULT EILSEQ ENOTTY ESPIPE",
    errors.NotFoundError: "ENODEV ENOENT ENXIO ESRCH",
    errors.AlreadyExistsError: "EEXIST EADDRNOTAVAIL EALREADY",
    errors.PermissionDeniedError: "EPERM EACCES EROFS",
    errors.FailedPreconditionError: "ENOTEMPTY EISDIR ENOTDIR EBADF EBUSY ECHILD ENOTBLK EPIPE ETXTBSY",
    errors.ResourceExhaustedError: "ENOSPC EDQUOT EMFILE EMLINK ENFILE ENOBUFS ENODATA ENOMEM ENOSR EUSERS",
    errors.OutOfRangeError: "EFBIG EOVERFLOW ERANGE",
    errors.UnimplementedError: "ENOSYS ENOTSUP EXDEV",
    errors.UnavailableError: "EAGAIN ECONNREFUSED ECONNRESET EINTR EHOSTDOWN ENETDOWN ENOLCK ENOLINK",
    errors.DeadlineExceededError: "ETIMEDOUT ETIME",
    errors.AbortedError: "EDEADLK ESTALE",
}
_CLASS_OF_ERRNO = {
    getattr(errno, name): cls
    for cls, names in _STATUS.items()
    for name in names.split()
    if hasattr(errno, name)
}


class FileStatistics(NamedTuple):
    """What is known of a file: its length in bytes, when it last changed, whether it is a directory."""

    length: int
    mtime_nsec: int
    is_directory: bool


def failed(path: str, e: OSError) -> errors.OpError:
    """The error of a file operation that the operating system, or fsspec, refused."""
    number = e.errno
    if number is None:  # fsspec raises the classes without the numbers
        number = {
            FileNotFoundError: errno.ENOENT,
            FileExistsError: errno.EEXIST,
            IsADirectoryError: errno.EISDIR,
            NotADirectoryError: errno.ENOTDIR,
            PermissionError: errno.EACCES,
        }.get(type(e))
    if number is None:
        return errors.UnknownError(None, None, f"{path}; {e}")
    cls = _CLASS_OF_ERRNO.get(number, errors.UnknownError)
    return cls(None, None, f"{path}; {os.strerror(number)}")


@contextlib.contextmanager
def translated(path: str) -> Iterator[None]:
    """What the operating system refuses inside raises TensorFlow's errors."""
    try:
        yield
    except OSError as e:
        raise failed(path, e) from None
    except ValueError as e:
        if "null" in str(e):  # a name with a zero byte
            raise errors.InvalidArgumentError(None, None, f"{path!r}: {e}") from None
        raise


def path_text(path: Any) -> str:
    """A path as text: given as text, bytes or an object that has one."""
    if isinstance(path, str):
        return path
    if isinstance(path, (bytes, bytearray)):
        return os.fsdecode(bytes(path))
    try:
        return os.fsdecode(os.fspath(path))
    except TypeError:
        raise TypeError(f"Expected a path as text or bytes, got {path!r}") from None


class LocalFiles:
    """The files of this machine."""

    def open(self, path: str, mode: str) -> Any:
        return open(path, mode, buffering=BUFFER if mode == "rb" else WRITE_BUFFER)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def stat(self, path: str) -> FileStatistics:
        found = os.stat(path)
        return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(path))

    def list(self, path: str) -> list[str]:
        return os.listdir(path)

    def make_directory(self, path: str) -> None:
        os.mkdir(path)

    def make_directories(self, path: str) -> None:
        if path:
            with contextlib.suppress(FileExistsError):  # also by another process, or a file
                os.makedirs(path)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def remove_tree(self, path: str) -> None:
        shutil.rmtree(path)

    def rename(self, old: str, new: str) -> None:
        os.rename(old, new)

    def duplicate(self, old: str, new: str) -> None:
        try:
            os.link(old, new)
        except OSError:  # not every file system can
            shutil.copyfile(old, new)


class RemoteFiles:
    """The files that a file system of fsspec has."""

    def __init__(self, scheme: str, fs: Any):
        self.scheme, self.fs = scheme, fs

    def open(self, path: str, mode: str) -> Any:
        return self.fs.open(path, mode)

    def exists(self, path: str) -> bool:
        return self.fs.exists(path)

    def is_directory(self, path: str) -> bool:
        return self.fs.isdir(path)

    def stat(self, path: str) -> FileStatistics:
        found = self.fs.info(path)
        changed = found.get("mtime") or found.get("LastModified") or found.get("created") or 0
        seconds = changed.timestamp() if hasattr(changed, "timestamp") else changed
        try:
            nanoseconds = int(float(seconds) * 1e9)
        except (TypeError, ValueError):  # some stores tell the time as text of their own
            nanoseconds = 0
        return FileStatistics(
            int(found.get("size") or 0), nanoseconds, found["type"] == "directory"
        )

    def list(self, path: str) -> list[str]:
        if not self.fs.isdir(path):
            number = errno.ENOTDIR if self.fs.exists(path) else errno.ENOENT
            raise OSError(number, os.strerror(number))
        self.fs.invalidate_cache()
        names = (str(name).rstrip("/") for name in self.fs.ls(path, detail=False))
        return [name.rpartition("/")[2] for name in names]

    def make_directory(self, path: str) -> None:
        self.fs.mkdir(path, create_parents=False)

    def make_directories(self, path: str) -> None:
        self.fs.makedirs(path, exist_ok=True)

    def remove(self, path: str) -> None:
        self.fs.rm_file(path)

    def remove_tree(self, path: str) -> None:
        self.fs.rm(path, recursive=True)

    def rename(self, old: str, new: str) -> None:
        self.fs.mv(old, new, recursive=self.fs.isdir(old))

    def duplicate(self, old: str, new: str) -> None:
        self.fs.cp_file(old, new)


_local = LocalFiles()
_remote: dict[str, RemoteFiles] = {}


def at(path: str) -> tuple[Any, str]:
    """The file system that a path belongs to, and what the file is called there."""
    match = _SCHEME.match(path) if "://" in path else None
    if match is None:
        return _local, path
    scheme = match[1]
    if scheme == "file":
        return _local, path[match.end() :]
    found = _remote.get(scheme)
    if found is None:
        found = _remote[scheme] = RemoteFiles(scheme, _file_system(scheme, path))
    return found, path


def _file_system(scheme: str, path: str) -> Any:
    try:
        import fsspec
    except ImportError:
        raise errors.UnimplementedError(
            None,
            None,
            f"File system scheme '{scheme}' not implemented (file: '{path}'): files that are not on this machine "
            "are reached through fsspec; `pip install fsspec` and what it needs for this scheme.",
        ) from None
    try:
        return fsspec.filesystem(scheme)
    except ImportError as e:
        raise errors.UnimplementedError(
            None, None, f"File system scheme '{scheme}' not implemented (file: '{path}'): {e}"
        ) from None
    except ValueError:
        raise errors.UnimplementedError(
            None, None, f"File system scheme '{scheme}' not implemented (file: '{path}')"
        ) from None


# -- what programs do with files ------------------------------------------------------------------------------


def open_file(path: str, mode: str) -> Any:
    """A file of bytes; the mode is "rb", "wb" or "ab"."""
    fs, name = at(path)
    with translated(path):
        return fs.open(name, mode)


def read_file(path: str) -> bytes:
    """All bytes of a file."""
    with open_file(path, "rb") as f, translated(path):
        return f.read()


def write_file(path: str, contents: bytes) -> None:
    """Makes a file of these bytes, in place of one that is there."""
    with translated(path), open_file(path, "wb") as f:
        f.write(contents)


def replace_file(path: str, contents: bytes) -> None:
    """As `write_file`, in one stroke: until all of it is there, what was there stays."""
    unfinished = f"{path}.tmp{uuid.uuid4().hex}"
    try:
        write_file(unfinished, contents)
        rename(unfinished, path)
    except BaseException:
        with contextlib.suppress(errors.OpError):
            remove(unfinished)
        raise


def exists(path: str) -> bool:
    fs, name = at(path)
    with translated(path):
        return fs.exists(name)


def is_directory(path: str) -> bool:
    fs, name = at(path)
    with translated(path):
        return fs.is_directory(name)


def stat(path: str) -> FileStatistics:
    fs, name = at(path)
    with translated(path):
        return fs.stat(name)


def list_directory(path: str) -> list[str]:
    """The names in a directory, in no order."""
    fs, name = at(path)
    with translated(path):
        return fs.list(name)


def make_directory(path: str) -> None:
    fs, name = at(path)
    with translated(path):
        fs.make_directory(name)


def make_directories(path: str) -> None:
    """Makes a directory and those above it, where they are not there."""
    fs, name = at(path)
    with translated(path):
        fs.make_directories(name)


def remove(path: str) -> None:
    fs, name = at(path)
    with translated(path):
        fs.remove(name)


def remove_tree(path: str) -> None:
    """Removes a directory and all in it."""
    fs, name = at(path)
    with translated(path):
        fs.remove_tree(name)


def rename(old: str, new: str) -> None:
    """Moves a file or directory; a file that has the new name already is replaced."""
    fs, name = at(old)
    other, new_name = at(new)
    if fs is not other:
        raise errors.UnimplementedError(
            None, None, f"Renaming {old} to {new} not implemented: they are in two file systems"
        )
    with translated(old):
        fs.rename(name, new_name)


def duplicate(old: str, new: str) -> None:
    """Gives a file a second name beside its own, or makes a copy; neither is written to afterwards."""
    fs, name = at(old)
    with translated(old):
        fs.duplicate(name, at(new)[1])


def copy(old: str, new: str) -> None:
    """Copies the contents of a file, also from one file system to another."""
    with open_file(old, "rb") as source, open_file(new, "wb") as target, translated(old):
        shutil.copyfileobj(source, target, 1 << 20)


# -- patterns --------------------------------------------------------------------------------------------------


def glob(pattern: str) -> list[str]:
    """The files that a pattern matches, sorted: `*`, `?`, `[a-z]`, `\\` before what is meant literally; none of
    them matches a slash.

    A relative pattern gives names that begin with `./` where it has no directory. The directory before the first
    sign of a pattern has to be there.
    """
    match = _SCHEME.match(pattern)
    root = match[0] if match else ""
    rest = pattern[len(root) :]
    at(pattern)  # a scheme that is not known is an error also where nothing would match
    if not rest:
        return []
    sign = re.search(r"[*?\[\\]", rest)
    folder, slash, _ = rest[: sign.start() if sign else len(rest)].rpartition("/")
    parts = rest[len(folder) + len(slash) :].split("/")
    folder = root + (folder or slash) if slash or root else "."
    if not is_directory(folder):
        raise errors.NotFoundError(None, None, f"{folder}; No such file or directory")
    found = [folder]
    for i, part in enumerate(parts):
        found = list(_matches(found, part, directories=i < len(parts) - 1))
    return sorted(found)


def _matches(above: list[str], part: str, directories: bool) -> Iterator[str]:
    literal = not re.search(r"[*?\[\\]", part)
    accepted = None if literal else re.compile(_regex(part), re.DOTALL)
    for folder in above:
        base = folder if folder.endswith("/") else folder + "/"
        if accepted is None:
            if part and exists(base + part):
                yield base + part
            continue
        try:
            names = list_directory(folder)
        except errors.OpError:
            continue  # a file, or a directory that may not be read
        for name in names:
            if accepted.fullmatch(name) and (not directories or is_directory(base + name)):
                yield base + name


def _regex(part: str) -> str:
    """A pattern of names as a regular expression."""
    out, i = [], 0
    while i < len(part):
        c = part[i]
        i += 1
        if c == "*":
            out.append(".*")
        elif c == "?":
            out.append(".")
        elif c == "\\" and i < len(part):
            out.append(re.escape(part[i]))
            i += 1
        elif c == "[" and (end := part.find("]", i + 1 + (part[i : i + 1] in ("!", "^")))) > 0:
            inside = part[i:end].replace("\\", "\\\\").replace("[", r"\[")
            if inside[0] in "!^":
                inside = "^" + inside[1:]
            out.append(f"[{inside}]")
            i = end + 1
        else:
            out.append(re.escape(c))
    return "".join(out)
