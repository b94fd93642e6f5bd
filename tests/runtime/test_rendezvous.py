"""Tensors of a step meet their receivers by key, whoever comes first."""

import threading

import pytest

from weft.framework import errors
from weft.runtime.rendezvous import Rendezvous, key_of


def test_keys_are_those_of_tensorflow():
    cpu = "/job:ps/replica:0/task:0/device:CPU:0"
    assert key_of(cpu, 255, cpu, "edge_1_x") == f"{cpu};00000000000000ff;{cpu};edge_1_x;0:0"
    assert key_of(cpu, -1, cpu, "x").split(";")[1] == "f" * 16


def test_the_sender_first():
    r = Rendezvous()
    r.send("k", 1)
    assert r.receive("k").wait() == 1
    assert r.end()


def test_the_receiver_first():
    r = Rendezvous()
    arrival = r.receive("k")
    threading.Timer(0.05, r.send, ["k", None]).start()
    assert arrival.wait() is None and r.end()


def test_nothing_is_sent_twice():
    r = Rendezvous()
    r.send("k", 1)
    with pytest.raises(errors.AbortedError, match="Duplicate send"):
        r.send("k", 2)
    assert not r.end()
    assert r.receive("k").wait() == 1 and r.is_over()


def test_an_abort_ends_all_waits():
    r = Rendezvous()
    early = r.receive("early")
    r.abort(errors.OutOfRangeError(None, None, "no more"))
    for arrival in (early, r.receive("late")):
        with pytest.raises(errors.OutOfRangeError, match="no more"):
            arrival.wait()


def test_who_gives_up_leaves_nothing():
    r = Rendezvous()
    arrival = r.receive("k")
    arrival.cancel()
    assert r.give_up("k", arrival)
    with pytest.raises(errors.CancelledError):
        arrival.wait()
