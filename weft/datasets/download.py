"""Files from the network that arrive whole or not at all."""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from weft.framework.errors import DataLossError, UnavailableError

_CHUNK = 1 << 18
_TIMEOUT = 60  # seconds without a single byte


def digest(path: str, algorithm: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def algorithm_of(checksum: str, algorithm: str = "auto") -> str:
    """The name of a checksum's algorithm; `auto` tells it by the length."""
    if algorithm == "auto":
        return "sha256" if len(checksum) == 64 else "md5"
    if algorithm not in ("sha256", "md5"):
        raise ValueError(f"hash_algorithm must be 'auto', 'sha256' or 'md5', not {algorithm!r}.")
    return algorithm


def download(url: str, path: str, checksum: str | None = None, algorithm: str = "auto") -> None:
    """Writes what is at `url` to `path`, which is replaced once all of it is here and its checksum is right."""
    folder, name = os.path.split(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    handle, part = tempfile.mkstemp(prefix=name + ".", suffix=".part", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            _receive(url, path, file.write)
        if checksum is not None:
            algorithm = algorithm_of(checksum, algorithm)
            found = digest(part, algorithm)
            if found != checksum:
                raise DataLossError(
                    None,
                    None,
                    f"{url} is not the file that was expected: its {algorithm} is {found}, not {checksum}. "
                    f"Nothing was written to {path}.",
                )
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def _receive(url: str, path: str, write: Callable[[bytes], object]) -> None:
    received, size = 0, None
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as response:
            length = response.headers.get("Content-Length")
            size = int(length) if length and length.isdigit() else None
            with _progress(url, path, size) as advance:
                while chunk := response.read(_CHUNK):
                    write(chunk)
                    received += len(chunk)
                    advance(len(chunk))
    except http.client.IncompleteRead as e:
        received += len(e.partial)
        raise _cut(url, path, received, size) from e
    except (
        OSError,
        http.client.HTTPException,
    ) as e:  # URLError, HTTPError and timeouts are OSErrors
        reason = getattr(e, "reason", None) or e
        status = f"{e.code} " if isinstance(e, urllib.request.HTTPError) else ""
        raise UnavailableError(
            None,
            None,
            f"{url} cannot be downloaded: {status}{reason}. Without a network, put the file at {path} "
            "yourself.",
        ) from e
    if size is not None and received != size:
        raise _cut(url, path, received, size)


def _cut(url: str, path: str, received: int, size: int | None) -> DataLossError:
    of = f" of {size:,}" if size is not None else ""
    return DataLossError(
        None,
        None,
        f"{url} ended after {received:,}{of} bytes. Nothing was written to {path}; try again.",
    )


@contextmanager
def _progress(url: str, path: str, size: int | None) -> Iterator[Callable[[int], None]]:
    """Shows a bar on a terminal, one line elsewhere."""
    if not sys.stderr.isatty():
        of = "" if size is None else f" ({size / 1e6:.1f} MB)"
        print(f"Downloading {url}{of} to {path}", file=sys.stderr)
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(os.path.basename(path), total=size)
        yield lambda count: bar.advance(task, count)
