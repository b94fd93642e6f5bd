"""A peer is found where it is named, or said to be missing."""

import sys

import pytest

from tools import peers


def test_the_environment_names_the_interpreter(monkeypatch):
    monkeypatch.setenv("WEFT_BENCH_TF1", sys.executable)
    assert peers.interpreter("tf1") == sys.executable


def test_an_interpreter_that_does_not_run_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("WEFT_BENCH_TF2", str(tmp_path / "python"))
    with pytest.raises(peers.Missing, match="WEFT_BENCH_TF2 names .*python, which cannot be run"):
        peers.interpreter("tf2")


def test_a_peer_that_was_never_set_up_is_missing(monkeypatch, tmp_path):
    monkeypatch.delenv("WEFT_BENCH_TF1", raising=False)
    monkeypatch.setattr(peers, "CACHE", tmp_path)
    with pytest.raises(peers.Missing, match="neither WEFT_BENCH_TF1 is set"):
        peers.interpreter("tf1")


def test_without_the_right_python_nothing_is_set_up(monkeypatch, tmp_path):
    monkeypatch.delenv("WEFT_BENCH_TF1", raising=False)
    monkeypatch.setattr(peers, "CACHE", tmp_path / "peers")
    monkeypatch.setattr(peers, "_base_python", lambda versions: None)
    with pytest.raises(peers.Missing, match=r"no Python 3\.7 was found"):
        peers.interpreter("tf1", install=True)
    assert not (tmp_path / "peers").exists()
