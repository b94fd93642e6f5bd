"""tf.gfile and tf.io.gfile: values and error classes as TensorFlow 1.15.5 gave them."""

import os

import pytest

import weft as tf

errors = tf.errors


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, contents, mode="w"):
    with tf.gfile.GFile(name, mode) as f:
        f.write(contents)


def read(name):
    with tf.gfile.GFile(name, "rb") as f:
        return f.read()


def test_lines_come_without_carriage_returns_and_read_gives_all(here):
    write("a", "line1\r\nline2\nx")
    assert tf.gfile.GFile("a").readlines() == ["line1\n", "line2\n", "x"]
    assert tf.gfile.GFile("a").read() == "line1\r\nline2\nx"
    assert tf.gfile.GFile("a", "rb").readline() == b"line1\n"
    assert list(tf.gfile.Open("a")) == ["line1\n", "line2\n", "x"]
    with tf.gfile.FastGFile("a") as f:
        assert next(f) == "line1\n" and f.next() == "line2\n"


def test_positions(here):
    write("a", "line1\r\nline2\nx")
    with tf.gfile.GFile("a") as f:
        with pytest.raises(errors.OutOfRangeError, match="end of file"):
            f.seek(100)
        assert (f.tell(), f.read()) == (14, "")
        f.seek(-5, 2)
        assert (f.read(2), f.tell()) == ("ne", 11)
        with pytest.raises(errors.InvalidArgumentError, match="negative position: -89"):
            f.seek(-100, 1)
        with pytest.raises(errors.InvalidArgumentError, match="whence"):
            f.seek(0, 3)
        f.seek(position=7)
        assert f.readline() == "line2\n"
        with pytest.raises(TypeError):
            f.seek()
        with pytest.raises(TypeError):
            f.seek(1, position=1)
        assert f.seekable() and f.size() == 14


def test_modes(here):
    write("a", "one")
    write("a", "two", "r+")  # begins anew, as it does in TensorFlow
    assert read("a") == b"two"
    write("a", b"\xff", "ab+")
    assert read("a") == b"two\xff"
    with pytest.raises(UnicodeDecodeError):
        tf.gfile.GFile("a").read()
    with pytest.raises(errors.InvalidArgumentError, match="mode is not"):
        tf.gfile.GFile("a", "rw")
    with pytest.raises(errors.PermissionDeniedError, match="reading"):
        tf.gfile.GFile("a", "w").read()
    with pytest.raises(errors.PermissionDeniedError, match="writing"):
        tf.gfile.GFile("a").write("x")
    with pytest.raises(TypeError):
        tf.gfile.GFile("a", "a").write(3)
    f = tf.gfile.GFile("a", "a")
    assert f.tell() == 4
    f.write("z")
    assert (f.tell(), f.size()) == (5, 4)
    f.flush()
    assert f.size() == 5
    f.close()
    with tf.gfile.GFile("never", "w"):
        pass
    assert not tf.gfile.Exists("never")  # a file is made by its first write
    tf.gfile.GFile("dropped", "w").write("kept")
    assert read("dropped") == b"kept"


def test_reading_goes_on_after_more_was_written(here):
    with tf.gfile.GFile("a", "a+") as f:
        f.write("one\n")
        f.flush()
        assert f.readline() == "one\n"
        assert f.readline() == ""
        f.write("two\n")
        f.flush()
        assert f.readline() == "two\n"


def test_directories(here):
    g = tf.gfile
    g.MkDir("m")
    g.MkDir("m")
    with pytest.raises(errors.NotFoundError, match="q/r; No such file"):
        g.MkDir("q/r")
    g.MakeDirs("q/r")
    g.MakeDirs("q/r")
    write("q/f", "1")
    assert sorted(g.ListDirectory("q/")) == ["f", "r"]
    with pytest.raises(errors.NotFoundError, match="Could not find directory q/f"):
        g.ListDirectory("q/f")
    with pytest.raises(errors.FailedPreconditionError, match="Not a directory"):
        g.MakeDirs("q/f/x")
    assert [g.IsDirectory(p) for p in ("q", "q/f", "none", "")] == [True, False, False, False]
    assert [g.Exists(p) for p in ("q", b"q", "q/", "none", "")] == [True, True, True, False, False]
    assert list(g.Walk("q")) == [("q", ["r"], ["f"]), ("q/r", [], [])]
    assert [top for top, _, _ in g.Walk("q", in_order=False)] == ["q/r", "q"]
    seen = []
    assert list(tf.io.gfile.walk("none", onerror=seen.append)) == []
    assert isinstance(seen[0], errors.NotFoundError)
    with pytest.raises(errors.FailedPreconditionError, match="Is a directory"):
        g.Remove("q")
    with pytest.raises(errors.FailedPreconditionError, match="Is a directory"):
        g.GFile("q").read()
    with pytest.raises(errors.FailedPreconditionError, match="Not a directory"):
        g.DeleteRecursively("q/f")
    g.DeleteRecursively("q")
    with pytest.raises(errors.NotFoundError):
        g.DeleteRecursively("q")


def test_copies_and_names(here):
    g = tf.gfile
    write("a", "1")
    write("b", "2")
    for change in (g.Copy, g.Rename):
        with pytest.raises(errors.AlreadyExistsError, match="already exists"):
            change("a", "b")
        with pytest.raises(errors.NotFoundError):
            change("none", "c")
    g.Copy("a", "b", overwrite=True)
    assert read("b") == b"1"
    g.Rename("a", "c")
    assert g.Exists("c") and not g.Exists("a")
    g.Rename("c", "b", True)
    g.Remove("b")
    with pytest.raises(errors.NotFoundError, match="b; No such file"):
        g.Remove("b")
    with pytest.raises(errors.NotFoundError, match="b; No such file"):
        g.Stat("b")
    write("b", "12")
    found = g.Stat("b")
    assert (found.length, found.is_directory) == (2, False)
    assert found.mtime_nsec == os.stat("b").st_mtime_ns


def test_patterns(here):
    for name in ("x1.txt", "x2.txt", ".hid.txt", "x*.txt", "x[1].txt"):
        write(name, " ")
    tf.gfile.MakeDirs("q/r")
    write("q/f", " ")
    expected = {
        "*.txt": ["./.hid.txt", "./x*.txt", "./x1.txt", "./x2.txt", "./x[1].txt"],
        "x?.txt": ["./x*.txt", "./x1.txt", "./x2.txt"],
        "x\\*.txt": ["./x*.txt"],
        "x[12].txt": ["./x1.txt", "./x2.txt"],
        "x[!1].txt": ["./x*.txt", "./x2.txt"],
        "x[[]1].txt": ["./x[1].txt"],
        "q/*": ["q/f", "q/r"],
        "*/f": ["./q/f"],
        "*/": [],
        "x1.txt": ["./x1.txt"],
        "nope": [],
        "[": [],
        "": [],
        f"{here}/x1*": [f"{here}/x1.txt"],
    }
    assert {pattern: tf.gfile.Glob(pattern) for pattern in expected} == expected
    assert tf.io.gfile.glob(["x1*", b"x2*"]) == ["./x1.txt", "./x2.txt"]
    with pytest.raises(errors.NotFoundError):
        tf.gfile.Glob("none/*")


def test_schemes(here):
    write("a", "1")
    assert read(f"file://{here}/a") == b"1"
    with pytest.raises(errors.UnimplementedError, match="scheme 'foo' not implemented"):
        tf.gfile.Exists("foo://bar")
    with pytest.raises(TypeError):
        tf.gfile.Exists(3)


def test_files_of_fsspec():
    pytest.importorskip("fsspec")
    g = tf.gfile
    root = "memory://weft-test"
    g.MakeDirs(f"{root}/sub")
    write(f"{root}/a.txt", "one\ntwo\n")
    assert g.GFile(f"{root}/a.txt").readlines() == ["one\n", "two\n"]
    assert sorted(g.ListDirectory(root)) == ["a.txt", "sub"]
    assert g.Stat(f"{root}/a.txt").length == 8
    assert g.IsDirectory(root) and not g.IsDirectory(f"{root}/a.txt")
    g.Copy(f"{root}/a.txt", f"{root}/sub/b.txt")
    g.Rename(f"{root}/sub/b.txt", f"{root}/sub/c.txt")
    assert g.Glob(f"{root}/*/*.txt") == [f"{root}/sub/c.txt"]
    assert [files for _, _, files in g.Walk(root)] == [["a.txt"], ["c.txt"]]
    with pytest.raises(errors.NotFoundError):
        g.GFile(f"{root}/none").read()
    with pytest.raises(errors.NotFoundError):
        g.Remove(f"{root}/none")
    g.DeleteRecursively(root)
    assert not g.Exists(f"{root}/a.txt")
