"""PythonState: what a Python object keeps, in checkpoints."""

from __future__ import annotations

import abc
import functools
from typing import Any

from weft.framework.export import export
from weft.framework.trackable import Trackable
from weft.train.object_graph import PythonStateSaveable


@export("train.experimental.PythonState")
class PythonState(Trackable, abc.ABC):
    """An object that gives its state as a string for a checkpoint, and takes it back."""

    @abc.abstractmethod
    def serialize(self) -> Any:
        """The state as a string."""

    @abc.abstractmethod
    def deserialize(self, string_value: Any) -> None:
        """Takes the state that `serialize` gave."""

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {
            "py_state": functools.partial(
                PythonStateSaveable,
                state_callback=self.serialize,
                restore_callback=self.deserialize,
            )
        }
