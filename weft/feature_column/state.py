"""Where the variables and tables of columns are kept."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import weft as tf


class StateManager:
    """Variables and other resources by column and name."""

    def __init__(self) -> None:
        self._variables: dict[Any, dict[str, Any]] = defaultdict(dict)
        self._resources: dict[Any, dict[str, Any]] = defaultdict(dict)

    def make(self, name: str, **settings: Any) -> Any:
        """A new variable."""
        raise NotImplementedError("StateManager.make")

    def create_variable(
        self,
        feature_column: Any,
        name: str,
        shape: Any,
        dtype: Any = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Any = None,
    ) -> Any:
        """Makes a variable of a column."""
        if name in self._variables[feature_column]:
            raise ValueError("Variable already exists.")
        variable = self._variables[feature_column][name] = self.make(
            name,
            shape=shape,
            dtype=dtype,
            trainable=trainable,
            use_resource=use_resource,
            initializer=initializer,
        )
        return variable

    def add_variable(self, feature_column: Any, name: str, variable: Any) -> None:
        """Gives a column a variable that there is already."""
        self._variables[feature_column][name] = variable

    def get_variable(self, feature_column: Any, name: str) -> Any:
        """The variable of a column."""
        if name not in self._variables[feature_column]:
            raise ValueError("Variable does not exist.")
        return self._variables[feature_column][name]

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        """Keeps a table of a column."""
        self._resources[feature_column][name] = resource

    def get_resource(self, feature_column: Any, name: str) -> Any:
        """The table of a column."""
        if name not in self._resources[feature_column]:
            raise ValueError("Resource does not exist.")
        return self._resources[feature_column][name]


class ScopeState(StateManager):
    """Variables of the variable scope that is open as they are made."""

    def __init__(self, collections: Any = None, trainable: bool | None = None):
        super().__init__()
        self._collections = None if collections is None else list(collections)
        self._trainable = trainable is None or trainable

    def make(self, name: str, **settings: Any) -> Any:
        """A variable of the scope's own kind, in the collections."""
        settings.pop("use_resource")
        trainable = settings.pop("trainable") and self._trainable
        if self._collections and tf.GraphKeys.GLOBAL_VARIABLES not in self._collections:
            self._collections.append(tf.GraphKeys.GLOBAL_VARIABLES)
        return tf.get_variable(name, trainable=trainable, collections=self._collections, **settings)
