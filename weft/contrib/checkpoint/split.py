"""Several dependencies that are saved and restored together, by one operation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import weft as tf
from weft.framework.export import export
from weft.framework.trackable import Trackable
from weft.train.object_graph import VARIABLE_VALUE
from weft.train.saveable import SaveableObject, SaveSpec


class _Parts:
    """The parts on their way out, and back in."""

    def __init__(self, count: int, fill: Callable, consume: Callable):
        self._count, self._fill, self._consume = count, fill, consume
        self._saved: dict[str, Any] = {}
        self._restored: dict[str, Any] = {}

    def save(self, name: str) -> Any:
        if name not in self._saved:
            if self._saved:
                raise AssertionError(
                    f"Split dependency {name} unsynchronized. Split dependencies must be saved together."
                )
            self._fill(self._saved)
        return self._saved.pop(name)

    def restore(self, name: str, tensor: Any) -> Any:
        if name in self._restored:
            raise AssertionError(
                f"Split dependency {name} unsynchronized. Split dependencies must be restored together."
            )
        self._restored[name] = tensor
        if len(self._restored) < self._count:
            return tf.no_op()
        op = self._consume(self._restored)
        self._restored.clear()
        return op


class _PartSaveable(SaveableObject):
    def __init__(self, name: str, part: _Part):
        self._part = part
        tensor = functools.partial(part.parts.save, part.name)
        spec = SaveSpec(tensor, "", name, dtype=part.dtype, device=part.device)
        super().__init__(tensor, [spec], name)

    def restore(self, restored_tensors: list[Any], restored_shapes: Any) -> Any:
        return self._part.parts.restore(self._part.name, restored_tensors[0])


class _Part(Trackable):
    def __init__(self, parts: _Parts, name: str, dtype: Any, device: str):
        self.parts, self.name, self.dtype, self.device = parts, name, dtype, device

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {VARIABLE_VALUE: functools.partial(_PartSaveable, part=self)}


@export("contrib.checkpoint.split_dependency")
def split_dependency(
    component_names: Sequence[str],
    component_dtypes: Sequence[Any],
    fill_save_buffer_fn: Callable,
    consume_restore_buffer_fn: Callable,
    device: str,
) -> dict[str, Any]:
    """Objects by name, each with a part of what one function gives to be saved and another takes back.

    `fill_save_buffer_fn(parts)` puts the tensors into a dict; `consume_restore_buffer_fn(parts)` gives the
    operation that restores from all of them.
    """
    parts = _Parts(len(component_names), fill_save_buffer_fn, consume_restore_buffer_fn)
    return {
        name: _Part(parts, name, dtype, device)
        for name, dtype in zip(component_names, component_dtypes)
    }
