"""Programs add ops between runs: old plans stay; adding inside of the loop is told."""

from __future__ import annotations

import warnings

import pytest

import weft as tf
from weft import testing


def test_a_plan_stays_valid_as_the_graph_grows(session, tier):
    x = tf.placeholder(tf.float32, [3])
    y = tf.reduce_sum(tf.square(x))
    assert session.run(y, {x: [1, 2, 3]}) == 14
    plans, traced = len(session._plans.values()), testing.compilations()
    for i in range(20):
        tf.add(y, float(i), name="later")
        assert session.run(y, {x: [1, 2, 3]}) == 14
    assert len(session._plans.values()) == plans
    assert testing.compilations() == traced
    assert session.run("later_19:0", {x: [1, 2, 3]}) == 33


def test_a_graph_that_grows_in_the_loop_is_told():
    with tf.Session() as session, pytest.warns(RuntimeWarning, match="graph has grown"):
        for i in range(150):
            session.run(tf.constant(i) + 1)


def test_building_first_and_running_many_kinds_is_not_told():
    tensors = [tf.constant(i) + 1 for i in range(150)]
    with tf.Session() as session, warnings.catch_warnings():
        warnings.simplefilter("error")
        for i, t in enumerate(tensors):
            assert session.run(t) == i + 1


def test_a_finalized_graph_refuses_to_grow(graph, session):
    y = tf.constant(1) + 1
    graph.finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(2)
    assert session.run(y) == 2


def test_a_control_edge_that_is_added_later_counts(graph, session):
    v = tf.get_variable("v", initializer=0)
    y = tf.identity(1)
    add = v.assign_add(1).op
    session.run(v.initializer)
    session.run(y)
    assert session.run(v) == 0
    y.op._add_control_input(add)
    session.run(y)
    assert session.run(v) == 1
