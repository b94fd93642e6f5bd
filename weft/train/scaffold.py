"""Scaffold: the operations and objects that a training session needs besides the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys


@export("train.Scaffold")
class Scaffold:
    """What initialises, checks, summarises and saves a model; what is not given is found in the graph's
    collections or made when the scaffold is finalized."""

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Scaffold, Any], None] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Scaffold | None = None,
    ):
        given = {
            "init_op": init_op,
            "init_feed_dict": init_feed_dict,
            "user_init_fn": init_fn,
            "ready_op": ready_op,
            "ready_for_local_init_op": ready_for_local_init_op,
            "local_init_op": local_init_op,
            "summary_op": summary_op,
            "saver": saver,
        }
        if copy_from_scaffold is not None:
            if not isinstance(copy_from_scaffold, Scaffold):
                raise TypeError("copy_from_scaffold is not a Scaffold instance.")
            for name, value in given.items():
                if value is None:
                    given[name] = getattr(copy_from_scaffold, f"_{name}")
        for name, value in given.items():
            setattr(self, f"_{name}", value)

    _init_op: Any
    _init_feed_dict: Any
    _user_init_fn: Any
    _ready_op: Any
    _ready_for_local_init_op: Any
    _local_init_op: Any
    _summary_op: Any
    _saver: Any

    def finalize(self) -> Scaffold:
        """Adds what is missing to the graph, and finalizes the graph."""
        defaults: dict[str, tuple[str, Callable[[], Any]]] = {
            "init_op": (GraphKeys.INIT_OP, _initialise_globals),
            "ready_op": (GraphKeys.READY_OP, _uninitialised),
            "ready_for_local_init_op": (
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: _uninitialised(tf.global_variables()),
            ),
            "local_init_op": (GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op),
            "summary_op": (GraphKeys.SUMMARY_OP, tf.summary.merge_all),
            "saver": (GraphKeys.SAVERS, _default_saver),
        }
        for name, (key, make) in defaults.items():
            if getattr(self, f"_{name}") is None:
                setattr(self, f"_{name}", Scaffold.get_or_default(name, key, make))
        if hasattr(self._saver, "_frozen_saveables"):  # a tf.train.Checkpoint
            self._saver = tf.train.Saver(self._saver._frozen_saveables(), sharded=True)
        else:
            self._saver.build()
        tf.get_default_graph().finalize()
        tf.logging.info("Graph was finalized.")
        return self

    @property
    def init_fn(self) -> Callable[[Any], None] | None:
        """What is called with a new session after the init op."""
        if self._user_init_fn is None:
            return None
        return lambda session: self._user_init_fn(self, session)

    @property
    def init_op(self) -> Any:
        """The operation that initialises global variables."""
        return self._init_op

    @property
    def ready_op(self) -> Any:
        """The tensor of the names of what is not initialised."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """The tensor of the names of global variables that are not initialised."""
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Any:
        """The operation that initialises local variables and tables."""
        return self._local_init_op

    @property
    def summary_op(self) -> Any:
        """The tensor of the merged summaries, or None."""
        return self._summary_op

    @property
    def saver(self) -> Any:
        """The saver of the model."""
        return self._saver

    @property
    def init_feed_dict(self) -> Any:
        """What is fed to the init op."""
        return self._init_feed_dict

    @staticmethod
    def get_or_default(
        arg_name: str, collection_key: str, default_constructor: Callable[[], Any]
    ) -> Any:
        """The one element of a collection; made and added where there is none."""
        found = tf.get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which one to use by passing '
                f"it to the tf.Scaffold constructor as:  tf.Scaffold({arg_name}=item to use)"
            )
        if found:
            return found[0]
        made = default_constructor()
        if made is not None:
            tf.add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Any:
        """Initialises local variables and tables."""
        return tf.group(
            tf.local_variables_initializer(),
            tf.tables_initializer(),
            *_initialisers(GraphKeys.LOCAL_RESOURCES),
        )


def _initialise_globals() -> Any:
    return tf.group(tf.global_variables_initializer(), *_initialisers(GraphKeys.RESOURCES))


def _initialisers(key: str) -> list[Any]:
    """What creates the resources of a collection: each stands there with what makes it and what checks it."""
    return [resource.create for resource in tf.get_collection(key)]


def _uninitialised(variables: Any = None) -> Any:
    return tf.report_uninitialized_variables(variables)


def _default_saver() -> Any:
    return tf.train.Saver(sharded=True, allow_empty=True)
