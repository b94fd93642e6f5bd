"""NumpyState: arrays of a Python program, in checkpoints of objects."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from weft.framework.export import export
from weft.framework.trackable import Trackable
from weft.train.python_state import PythonState


class _Array(PythonState):
    def __init__(self, array: Any):
        self.array = array

    def serialize(self) -> bytes:
        out = io.BytesIO()
        np.save(out, self.array, allow_pickle=False)
        return out.getvalue()

    def deserialize(self, string_value: bytes) -> None:
        self.array = np.load(io.BytesIO(string_value), allow_pickle=False)


@export("contrib.checkpoint.NumpyState")
class NumpyState(Trackable):
    """An object whose attributes are NumPy arrays. Restoring makes those that it does not have."""

    def _lookup_dependency(self, name: str) -> Any:
        found = super()._lookup_dependency(name)
        if found is None:  # a checkpoint has it, or it is assigned
            found = self._tracking.dependencies[name] = _Array(np.array([]))
        return found

    def __getattr__(self, name: str) -> Any:
        # Arrays are dependencies only, so that this is asked for them.
        found = None if name.startswith("__") else self._tracking.dependencies.get(name)
        if found is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return found.array

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_update_uid":
            super().__setattr__(name, value)
        elif not isinstance(value, (np.ndarray, np.generic)):
            raise NotImplementedError(
                f"Assigned {value} to the {name} property of {self}, which is not a NumPy array. An object of this "
                "class has arrays only; put other objects beside it."
            )
        else:
            self._lookup_dependency(name).array = value
