"""`tf.keras.utils.get_file`: files kept in `~/.keras`, where Keras keeps them as well."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Sequence

from weft.datasets.download import algorithm_of, digest, download
from weft.framework.errors import DataLossError
from weft.framework.export import export


@export("keras.utils.get_file")
def get_file(
    fname: str,
    origin: str,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: str | Sequence[str] | None = "auto",
    cache_dir: str | None = None,
) -> str:
    """Gives the path of a file in the cache; downloads it if it is not there, or not with this checksum.

    With `untar` the path is that of the folder `fname` that the archive holds.
    """
    if md5_hash is not None and file_hash is None:
        file_hash, hash_algorithm = md5_hash, "md5"
    folder = os.path.join(_writable(cache_dir), cache_subdir)
    path = os.path.join(folder, fname)
    archive = path + ".tar.gz" if untar else path
    if untar and os.path.isdir(path):
        return path
    if not (os.path.exists(archive) and _matches(archive, file_hash, hash_algorithm)):
        download(origin, archive, file_hash, hash_algorithm)
    if untar:
        _extract(archive, folder, "tar")
        if not os.path.exists(path):
            raise DataLossError(None, None, f"The archive {archive} has no {fname!r}.")
    elif extract:
        _extract(archive, folder, archive_format)
    return path


def _writable(cache_dir: str | None) -> str:
    """The cache's folder, or one for temporary files where it cannot be written."""
    folder = os.path.expanduser(cache_dir or os.path.join("~", ".keras"))
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        pass
    if os.access(folder, os.W_OK):
        return folder
    return os.path.join(tempfile.gettempdir(), ".keras")


def _matches(path: str, checksum: str | None, algorithm: str) -> bool:
    return checksum is None or digest(path, algorithm_of(checksum, algorithm)) == checksum


def _extract(path: str, folder: str, formats: str | Sequence[str] | None) -> None:
    """Extracts a tar or zip archive; one that is damaged leaves nothing behind, and nothing lands outside."""
    if formats is None:
        return
    known = ("tar", "zip") if formats == "auto" else formats
    inside = tempfile.mkdtemp(prefix=".extracting-", dir=folder)
    try:
        if "tar" in known and tarfile.is_tarfile(path):
            with tarfile.open(path) as archive:
                archive.extractall(inside, filter="data")
        elif "zip" in known and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                archive.extractall(inside)
        for name in os.listdir(inside):
            target = os.path.join(folder, name)
            if os.path.isdir(target) and not os.path.islink(target):
                shutil.rmtree(target)
            os.replace(os.path.join(inside, name), target)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError) as e:
        raise DataLossError(None, None, f"The archive {path} is damaged: {e}.") from e
    finally:
        shutil.rmtree(inside, ignore_errors=True)
