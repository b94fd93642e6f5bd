"""Files come whole, with their checksum, or not at all; the errors say what to do."""

import contextlib
import hashlib
import http.server
import io
import os
import tarfile
import threading
import zipfile

import pytest

import weft as tf

CONTENT = os.urandom(300_000)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        body = self.server.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.path.startswith("/cut") else body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.files, server.asked = {"/file": CONTENT, "/cut": CONTENT}, []
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def get(tmp_path, server):
    def get(name, at, **arguments):
        return tf.keras.utils.get_file(name, server.url + at, cache_dir=str(tmp_path), **arguments)

    return get


def read(path):
    with open(path, "rb") as file:
        return file.read()


def test_a_file_is_downloaded_once(get, server, tmp_path, capsys):
    sha = hashlib.sha256(CONTENT).hexdigest()
    path = get("a.bin", "/file", file_hash=sha)
    assert path == str(tmp_path / "datasets" / "a.bin")
    assert read(path) == CONTENT
    assert "0.3 MB" in capsys.readouterr().err
    assert get("a.bin", "/file", file_hash=sha) == path
    assert get("a.bin", "/file", md5_hash=hashlib.md5(CONTENT).hexdigest()) == path
    assert server.asked == ["/file"]
    assert os.listdir(tmp_path / "datasets") == ["a.bin"]


def test_a_file_with_another_checksum_is_downloaded_anew(get, server, tmp_path):
    sha = hashlib.sha256(CONTENT).hexdigest()
    path = get("a.bin", "/file")
    with open(path, "wb") as file:
        file.write(CONTENT[:100])
    assert read(get("a.bin", "/file", file_hash=sha)) == CONTENT
    assert len(server.asked) == 2


def test_a_wrong_checksum_leaves_what_was_there(get, tmp_path):
    path = get("a.bin", "/file")
    with pytest.raises(tf.errors.DataLossError, match=r"its sha256 is [0-9a-f]{64}, not 00"):
        get("a.bin", "/file", file_hash="0" * 64)
    assert read(path) == CONTENT
    assert os.listdir(tmp_path / "datasets") == ["a.bin"]


def test_a_cut_download_leaves_nothing(get, tmp_path):
    with pytest.raises(tf.errors.DataLossError, match=r"ended after 150,000 of 300,000 bytes"):
        get("a.bin", "/cut")
    assert os.listdir(tmp_path / "datasets") == []


def test_what_is_not_there_says_where_to_put_it(get, tmp_path):
    with pytest.raises(
        tf.errors.UnavailableError, match=r"404 Not Found.*put the file at .*a\.bin"
    ):
        get("a.bin", "/nowhere")
    assert os.listdir(tmp_path / "datasets") == []


def test_nobody_answers(tmp_path):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as gone:
        url = f"http://127.0.0.1:{gone.server_port}/x"
    with pytest.raises(tf.errors.UnavailableError, match=r"cannot be downloaded: .*refused"):
        tf.keras.utils.get_file("x", url, cache_dir=str(tmp_path))


def test_a_bar_on_a_terminal(get, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    with contextlib.redirect_stderr(terminal):
        get("a.bin", "/file")
    assert "a.bin" in terminal.getvalue()
    assert "300.0/300.0 kB" in terminal.getvalue()


def tar(**files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def test_archives_are_extracted(get, server, tmp_path):
    server.files["/things.tar.gz"] = tar(**{"things/one": b"1"})
    assert get("things", "/things.tar.gz", untar=True) == str(tmp_path / "datasets" / "things")
    assert read(tmp_path / "datasets/things/one") == b"1"
    os.remove(tmp_path / "datasets/things.tar.gz")
    get("things", "/things.tar.gz", untar=True)  # the folder is enough
    assert server.asked == ["/things.tar.gz"]

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("inside", "text")
    server.files["/z.zip"] = out.getvalue()
    get("z.zip", "/z.zip", extract=True)
    assert read(tmp_path / "datasets/inside") == b"text"


@pytest.mark.parametrize(
    "archive",
    [tar(**{"things/one": os.urandom(9000)})[:4000], tar(**{"../outside": b"1"}), tar(other=b"1")],
    ids=["cut", "climbs out", "something else"],
)
def test_bad_archives(get, server, tmp_path, archive):
    server.files["/things.tar.gz"] = archive
    with pytest.raises(tf.errors.DataLossError):
        get("things", "/things.tar.gz", untar=True)
    assert not (tmp_path / "outside").exists()
    assert not (tmp_path / "datasets" / "things").exists()
