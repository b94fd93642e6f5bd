"""Settings that layers share, and whether a model is being trained: the beginnings of `tf.keras.backend`."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import weft as tf
from weft.framework import context
from weft.framework.export import export
from weft.framework.scopes import graph_of

_settings: dict[str, Any] = {
    "floatx": "float32",
    "epsilon": 1e-7,
    "image_data_format": "channels_last",
}


@export("keras.backend.floatx")
def floatx() -> str:
    """The name of the type of numbers that layers use where nothing else is said."""
    return _settings["floatx"]


@export("keras.backend.set_floatx")
def set_floatx(value: str) -> None:
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown floatx type: {value}")
    _settings["floatx"] = str(value)


@export("keras.backend.epsilon")
def epsilon() -> float:
    """A small number that keeps divisors from being zero."""
    return _settings["epsilon"]


@export("keras.backend.set_epsilon")
def set_epsilon(value: float) -> None:
    _settings["epsilon"] = value


@export("keras.backend.image_data_format")
def image_data_format() -> str:
    """Where images have their channels: `channels_last` or `channels_first`."""
    return _settings["image_data_format"]


@export("keras.backend.set_image_data_format")
def set_image_data_format(data_format: str) -> None:
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Unknown data_format: {data_format}")
    _settings["image_data_format"] = str(data_format)


# -- what is kept for each graph -----------------------------------------------------------------------


class _OfGraph:
    def __init__(self) -> None:
        self.counts: dict[Any, int] = collections.defaultdict(int)  # of layers of a name
        self.learning_phase: Any = None


def _of_graph() -> _OfGraph:
    extras = context.get_default_graph()._extras
    found = extras.get("keras")
    if found is None:
        found = extras["keras"] = _OfGraph()
    return found


@export("keras.backend.get_uid")
def get_uid(prefix: str = "") -> int:
    """How often a prefix has been asked for in this graph, this time included."""
    counts = _of_graph().counts
    counts[prefix] += 1
    return counts[prefix]


@export("keras.backend.reset_uids")
def reset_uids() -> None:
    """Lets the numbers in names of layers begin anew."""
    _of_graph().counts.clear()


def unique_object_name(
    name: str,
    name_uid_map: dict[Any, int] | None = None,
    avoid_names: Any = None,
    namespace: str = "",
    zero_based: bool = False,
) -> str:
    """The name with a number behind it, which no other object of this graph has."""
    counts = _of_graph().counts if name_uid_map is None else name_uid_map
    avoid_names = avoid_names or ()
    key = (namespace, name)
    while True:
        counts[key] = counts.get(key, 0) + 1
        number = counts[key] - 1 if zero_based else counts[key]
        proposed = f"{name}_{number}" if number else name
        if proposed not in avoid_names:
            return proposed


@export("keras.backend.learning_phase")
def learning_phase() -> Any:
    """Whether the model is trained: 0, 1, or a placeholder that is False unless it is fed."""
    state = _of_graph()
    if state.learning_phase is None:
        if context.executing_eagerly():
            return 0
        with tf.name_scope(""):
            state.learning_phase = tf.placeholder_with_default(
                False, shape=(), name="keras_learning_phase"
            )
    return state.learning_phase


@export("keras.backend.set_learning_phase")
def set_learning_phase(value: int) -> None:
    """Fixes the learning phase of the graph: 0 for testing, 1 for training."""
    if value not in (0, 1):
        raise ValueError("Expected learning phase to be 0 or 1.")
    _of_graph().learning_phase = value


@export("keras.backend.learning_phase_scope")
@contextlib.contextmanager
def learning_phase_scope(value: int) -> Iterator[None]:
    """Fixes the learning phase within."""
    if value not in (0, 1):
        raise ValueError("Expected learning phase to be 0 or 1.")
    state = _of_graph()
    before, state.learning_phase = state.learning_phase, value
    try:
        yield
    finally:
        state.learning_phase = before


def learning_phase_is_set() -> bool:
    """Whether the program has fixed the learning phase, or asked for it, in this graph."""
    return _of_graph().learning_phase is not None


# -- values of variables -------------------------------------------------------------------------------

_session: Any = None


def _started_session() -> Any:
    """The default session, or one for the graph, with the variables that have no values yet initialised."""
    global _session
    session = tf.get_default_session()
    if session is None:
        if _session is None or _session.graph is not tf.get_default_graph():
            _session = tf.Session()
        session = _session
    with session.graph.as_default():
        fresh = [v for v in tf.global_variables() if not getattr(v, "_keras_initialized", False)]
        if fresh:
            ready = session.run([tf.is_variable_initialized(v) for v in fresh])
            session.run([v.initializer for v, has_value in zip(fresh, ready) if not has_value])
            for v in fresh:
                v._keras_initialized = True
    return session


@export("keras.backend.get_session")
def get_session(op_input_list: Any = ()) -> Any:
    """The session that layers use to read and set weights, for the graph of some operations."""
    with graph_of(list(op_input_list), context.get_default_graph()).as_default():
        return _started_session()


@export("keras.backend.batch_get_value")
def batch_get_value(tensors: list[Any]) -> list[np.ndarray]:
    """The values of variables as arrays."""
    if context.executing_eagerly():
        return [x.numpy() for x in tensors]
    return _started_session().run(tensors) if tensors else []


@export("keras.backend.batch_set_value")
def batch_set_value(tuples: list[tuple[Any, Any]]) -> None:
    """Gives variables the values of arrays."""
    if not tuples:
        return
    if context.executing_eagerly():
        for variable, value in tuples:
            variable.assign(np.asarray(value, variable.dtype.as_numpy_dtype))
        return
    session = _started_session()
    for variable, value in tuples:
        variable.load(np.asarray(value, variable.dtype.as_numpy_dtype), session)
