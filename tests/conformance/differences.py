"""Derivatives by central differences, of many functions at once."""

from __future__ import annotations

import numpy as np

STEP = 1e-6
ALLOWED = 1e-5


class Probe:
    """A weighted sum of tensors, and what its derivatives by some placeholders are said to be.

    Args:
        tensors: the summands, float64.
        weights: an array for each.
        inputs: name -> placeholder.
        gradients: name -> array.
    """

    def __init__(self, tensors, weights, inputs, gradients):
        self.tensors, self.weights = tensors, weights
        self.inputs = {name: inputs[name] for name in gradients}
        self.gradients = gradients

    def total(self, values):
        return sum(float(np.sum(value * weight)) for value, weight in zip(values, self.weights))


def check(verdict, session, feeds, probes):
    """Compares each gradient along one direction per input; one pair of runs for all probes."""
    most = max((len(probe.inputs) for probe in probes.values()), default=0)
    for position in range(most):
        moved = {
            key: list(probe.inputs)[position]
            for key, probe in probes.items()
            if len(probe.inputs) > position
        }
        directions = {}
        for key, name in moved.items():
            shape = np.shape(feeds[probes[key].inputs[name]])
            directions[key] = np.random.RandomState(position).uniform(-1, 1, shape)
        with verdict.attempt("runs with shifted inputs"):
            above = _totals(session, feeds, probes, moved, directions, STEP)
            below = _totals(session, feeds, probes, moved, directions, -STEP)
            for key, name in moved.items():
                slope = (above[key] - below[key]) / (2 * STEP)
                by_rule = float(np.sum(probes[key].gradients[name] * directions[key]))
                if not np.isclose(slope, by_rule, rtol=ALLOWED, atol=ALLOWED):
                    verdict.fail(f"{key} by {name}", f"{by_rule:.8g}, by differences {slope:.8g}")


def _totals(session, feeds, probes, moved, directions, step):
    shifted = dict(feeds)
    for key, name in moved.items():
        placeholder = probes[key].inputs[name]
        shifted[placeholder] = feeds[placeholder] + step * directions[key]
    values = session.run({key: probes[key].tensors for key in moved}, shifted)
    return {key: probes[key].total(values[key]) for key in moved}
