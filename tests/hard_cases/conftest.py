"""Sessions on each tier, and what an error must tell."""

from __future__ import annotations

import contextlib
import inspect
import re

import pytest

import weft as tf
from weft import testing

TIERS = ("interpret", "compile")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture(params=TIERS)
def tier(request):
    """The name of the tier, forced while the test runs."""
    with testing.tier(request.param):
        yield request.param


@pytest.fixture
def session(graph, tier):
    with tf.Session(graph=graph) as session:
        yield session


@pytest.fixture
def raises_at():
    """A context that expects an error of a class which names an op, and the line that created it."""

    @contextlib.contextmanager
    def expect(error, op, line, match=""):
        with pytest.raises(error) as caught:
            yield
        text = str(caught.value)
        op = getattr(op, "op", op)
        assert caught.value.op is not None, f"no op in the error: {text}"
        assert caught.value.op.name == op.name
        assert op.name in text
        assert re.search(match, text), text
        found = re.search(r'File ".*?([^/"]+)", line (\d+)', text)
        assert found, f"no line in the error: {text}"
        assert re.search(rf'{line.file}", line {line.number}\b', text), text

    return expect


class _Here:
    def __init__(self, file: str, number: int):
        self.file, self.number = re.escape(file), number


@pytest.fixture
def here():
    """A function that notes the line it is called on."""

    def note():
        frame = inspect.currentframe().f_back
        return _Here(frame.f_code.co_filename.rsplit("/", 1)[-1], frame.f_lineno)

    return note
