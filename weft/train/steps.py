"""The global step: the variable that counts training steps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import weft as tf
from weft.framework import context
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.framework.tensor import Tensor
from weft.variables.base import Variable
from weft.variables.resource import is_resource_variable

GLOBAL_STEP_READ_KEY = "global_step_read_op_cache"


@export("train.global_step")
def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The value of the global step in a session."""
    if context.executing_eagerly():
        return int(np.asarray(global_step_tensor.numpy()).item())
    return int(np.asarray(sess.run(global_step_tensor)).item())  # also where it is a vector of one


@export("train.get_global_step")
def get_global_step(graph: Any = None) -> Any:
    """The variable or tensor of the global step of a graph, or None."""
    graph = graph or context.get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        warnings.warn("Multiple tensors in global_step collection.", stacklevel=2)
        return None
    if found:
        step = found[0]
    else:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(step)
    return step


@export("train.create_global_step")
def create_global_step(graph: Any = None) -> Any:
    """Makes the global step of a graph; ValueError if there is one."""
    graph = graph or context.get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    if context.executing_eagerly():
        return _new_step()
    with graph.as_default(), graph.name_scope(None):
        return _new_step()


def _new_step() -> Any:
    return tf.get_variable(
        GraphKeys.GLOBAL_STEP,
        shape=[],
        dtype=tf.int64,
        initializer=tf.zeros_initializer(),
        trainable=False,
        aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
    )


@export("train.get_or_create_global_step")
def get_or_create_global_step(graph: Any = None) -> Any:
    """The global step of a graph, made if there is none."""
    graph = graph or context.get_default_graph()
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


@export("train.assert_global_step")
def assert_global_step(global_step_tensor: Any) -> None:
    """TypeError unless the global step is a scalar of an integer type."""
    step = global_step_tensor
    if not (isinstance(step, (Variable, Tensor)) or is_resource_variable(step)):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {step}.')
    if not step.dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {step.dtype}')
    shape = step.get_shape()
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')


def global_step_read(graph: Any = None) -> Any:
    """A tensor of the global step's value that the whole graph shares, or None without a global step."""
    graph = graph or context.get_default_graph()
    found = graph.get_collection(GLOBAL_STEP_READ_KEY)
    if len(found) > 1:
        raise RuntimeError(
            f"There are multiple items in collection {GLOBAL_STEP_READ_KEY}. There should be only one."
        )
    if found:
        return found[0]
    step = get_global_step(graph)
    if step is None:
        return None
    with graph.as_default(), graph.name_scope(None), graph.name_scope(step.op.name + "/"):
        value = step.initialized_value() if isinstance(step, Variable) else step
        read = value + 0
        graph.add_to_collection(GLOBAL_STEP_READ_KEY, read)
    return read


def increment_global_step(increment: int, graph: Any = None) -> Any:
    """Adds to the global step, after those have read it who share its value."""
    graph = graph or context.get_default_graph()
    step = get_global_step(graph)
    if step is None:
        raise ValueError(
            "Global step tensor should be created by tf.train.get_or_create_global_step before calling "
            "increment."
        )
    read = global_step_read(graph)
    with graph.as_default(), graph.name_scope(None), graph.name_scope(step.op.name + "/"):
        with tf.control_dependencies([read]):
            return tf.assign_add(step, increment)
