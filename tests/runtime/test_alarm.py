"""Calls at a later time."""

import threading
import time

import pytest

from weft.framework import errors
from weft.runtime import alarm


def test_calls_come_in_the_order_of_their_times():
    heard, over = [], threading.Event()
    alarm.after(0.06, heard.append, 3)
    alarm.after(0.02, heard.append, 1)
    alarm.after(0.04, heard.append, 2).cancel()
    alarm.after(0.08, over.set)
    assert over.wait(5) and heard == [1, 3]


def test_what_is_cancelled_is_let_go():
    before = threading.active_count()
    heard = []
    for _ in range(5000):
        alarm.after(60, heard.append, 1).cancel()
    assert len(alarm._waiting) <= 2 * alarm._MANY and not heard
    kept = [alarm.after(60, heard.append, 1) for _ in range(3000)]
    assert sum(e[2] in kept for e in alarm._waiting) == 3000
    for a in kept:
        a.cancel()
    assert threading.active_count() <= before + 1


def test_limits():
    assert alarm.Limit(0).left() is None and alarm.Limit(0).left_ms() == 0
    limit = alarm.Limit(50)
    assert 0 < limit.left() <= 0.05 and 1 <= limit.left_ms() <= 50
    heard, over = [], threading.Event()
    limit.alarm(lambda e: (heard.append(e), over.set()))
    assert over.wait(5) and isinstance(heard[0], errors.DeadlineExceededError)
    time.sleep(0.01)
    with pytest.raises(errors.DeadlineExceededError, match="50 ms"):
        limit.left()
