"""Every optimizer, trained for fifty steps, loses what TensorFlow 1.15.5 loses (`tools/optimizer_losses.py`)."""

from __future__ import annotations

import functools
import json
import os

import numpy as np
import pytest

import weft as tf
from weft import testing

from . import optimizer_programs as programs

EXPECTED = os.path.join(os.path.dirname(__file__), "expected", "optimizer_losses.json")


@functools.cache
def expected():
    with open(EXPECTED) as file:
        return json.load(file)


@pytest.mark.parametrize("tier", ["interpret", "auto"])
@pytest.mark.parametrize("kind", programs.KINDS)
def test_losses(kind, tier):
    """Dense and sparse gradients, of reference and of resource variables; slots have TensorFlow's names."""
    with testing.tier(tier):
        found, variables = programs.losses(tf, kind)
    wanted = expected()[kind]
    assert variables == wanted["variables"]
    assert sorted(found) == sorted(wanted["losses"])
    for name, losses in found.items():
        np.testing.assert_allclose(losses, wanted["losses"][name], rtol=1e-4, err_msg=name)


@pytest.mark.parametrize("kind", programs.KINDS)
def test_everything_learns(kind):
    """The recorded losses fall, so that the test above is about training."""
    for name, losses in expected()[kind]["losses"].items():
        assert len(losses) == programs.STEPS
        assert np.mean(losses[-7:]) < 0.95 * np.mean(losses[:7]), name
