"""Tests here run eagerly, each in a clean eager context."""

import pytest

from weft import testing


@pytest.fixture(autouse=True)
def eagerly():
    with testing.eager_mode():
        yield
