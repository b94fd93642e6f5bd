"""GradientTape: records ops as they run or join a graph, and differentiates what it recorded."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from weft.eager import jacobians
from weft.eager.backward import differentiate, source_tensor
from weft.framework import conversion, gradients, nest, variable_access
from weft.framework.export import export
from weft.framework.recording import recording
from weft.framework.tensor import Tensor

_log = logging.getLogger("tensorflow")


@export("GradientTape")
class GradientTape:
    """Records operations for automatic differentiation.

    Trainable variables that are read inside of the `with` block are watched on their own; tensors are with
    `watch`. A tape that is not persistent gives one gradient.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        self._persistent = persistent
        self._watch_accessed_variables = watch_accessed_variables
        # By id; the tensor is kept so that its id stays its own.
        self._watched: dict[int, Any] = {}
        self._records: list[Any] = []
        self._variables: dict[int, Any] = {}
        self._recording = False
        self._taken = False

    def __enter__(self) -> GradientTape:
        self._push()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._recording:
            self._pop()

    def __del__(self) -> None:
        if self._recording and self in recording.tapes:
            recording.tapes.remove(self)

    def _push(self) -> None:
        if self._recording:
            raise ValueError("Tape is already recording.")
        if self._taken and not self._persistent:
            self._forget()
        self._recording = True
        recording.tapes.append(self)

    def _pop(self) -> None:
        if not self._recording:
            raise ValueError("Tape is not recording.")
        if self in recording.tapes:
            recording.tapes.remove(self)
        self._recording = False

    def _forget(self) -> None:
        self._records, self._watched, self._variables = [], {}, {}
        self._taken = False

    # -- what is watched and recorded ----------------------------------------------------------------

    def watch(self, tensor: Any) -> None:
        """Makes the tape record what is computed from a tensor (or structure of tensors)."""
        for t in nest.flatten(tensor):
            handle = getattr(t, "handle", None)
            if not isinstance(t, Tensor) and handle is None:
                raise ValueError(f"Passed in object of type {type(t)}, not tf.Tensor")
            if not gradients.is_trainable(t):
                _log.warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r",
                    t.dtype,
                )
            elif isinstance(t, Tensor):
                self._watched[id(t)] = t
            else:
                self._watch_variable(t)

    def _watch_variable(self, variable: Any) -> None:
        handle = variable.handle
        self._watched[id(handle)] = handle
        self._variables.setdefault(id(handle), variable)

    def _variable_accessed(self, variable: Any) -> None:
        if self._watch_accessed_variables and hasattr(variable, "handle"):
            self._watch_variable(variable)

    def watched_variables(self) -> tuple:
        """Returns the variables watched by this tape, in the order in which they were created."""
        return tuple(sorted(self._variables.values(), key=_age))

    def _record(self, op: Any) -> None:
        """Keeps an operation if something watched goes into it."""
        watched = self._watched
        for t in op._inputs:
            if id(t) in watched:
                self._keep(op)
                return

    def _keep(self, op: Any) -> None:
        kept = False
        for t in op._outputs:
            if t._dtype.base_dtype in gradients._TRAINABLE:
                self._watched[id(t)] = t
                kept = True
        if kept:
            self._records.append(op)

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Stops recording inside of a `with` block."""
        if not self._recording:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self._pop()
        try:
            yield
        finally:
            self._push()

    def reset(self) -> None:
        """Forgets everything that was recorded."""
        self._forget()

    # -- derivatives ---------------------------------------------------------------------------------

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = gradients.UnconnectedGradients.NONE,
    ) -> Any:
        """Returns the gradients of the target with respect to the sources, in their structure."""
        if self._taken and not self._persistent:
            raise RuntimeError(
                "GradientTape.gradient can only be called once on non-persistent tapes."
            )
        unconnected = gradients.UnconnectedGradients(unconnected_gradients)
        if self._recording:
            if not self._persistent:
                self._pop()
            else:
                _log.warning(
                    "Calling GradientTape.gradient on a persistent tape inside its context is significantly less "
                    "efficient than calling it outside the context (it causes the gradient ops to be recorded on "
                    "the tape, leading to increased CPU and memory usage)."
                )
        targets = []
        for t in nest.flatten(target):
            if not gradients.is_trainable(t):
                _log.warning(
                    "The dtype of the target tensor must be floating (e.g. tf.float32) when calling "
                    "GradientTape.gradient, got %r",
                    t.dtype,
                )
            targets.append(
                source_tensor(t) if hasattr(t, "handle") else conversion.convert_to_tensor(t)
            )
        flat = nest.flatten(sources)
        for s in flat:
            if not (isinstance(s, Tensor) or hasattr(s, "handle")):
                raise ValueError(f"Passed in object of type {type(s)}, not tf.Tensor")
            if not gradients.is_trainable(s):
                _log.warning(
                    "The dtype of the source tensor must be floating (e.g. tf.float32) when calling "
                    "GradientTape.gradient, got %r",
                    s.dtype,
                )
        given = None if output_gradients is None else nest.flatten(output_gradients)
        records = self._records
        if self._persistent:
            records = list(records)  # what is computed now is recorded as well
        result = differentiate(records, self._watched, targets, flat, given, unconnected)
        if not self._persistent:
            self._taken = True
            self._records, self._watched = [], {}
        return nest.pack_sequence_as(sources, result)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = gradients.UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Returns the derivatives of each element of the target with respect to each of the sources."""
        del parallel_iterations  # rows are computed one after the other
        with self._several_gradients(experimental_use_pfor, "jacobian"):
            flat = nest.flatten(sources)
            rows = jacobians.jacobian(self, target, flat, unconnected_gradients)
        return nest.pack_sequence_as(sources, rows)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = gradients.UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Returns the jacobian of each example of a batch with respect to the same example of the source."""
        del parallel_iterations
        jacobians.check_batches(target, source)
        with self._several_gradients(experimental_use_pfor, "batch_jacobian"):
            return jacobians.batch_jacobian(self, target, source, unconnected_gradients)

    @contextlib.contextmanager
    def _several_gradients(self, vectorized: bool, method: str) -> Iterator[None]:
        """Lets `gradient` be called again and again, whether the tape is persistent or not."""
        from weft.framework import context

        if self._taken and not self._persistent:
            raise RuntimeError(
                "GradientTape.gradient can only be called once on non-persistent tapes."
            )
        persistent = self._persistent
        if not (vectorized or persistent) and context.executing_eagerly():
            raise RuntimeError(
                f"GradientTape must be created with persistent=True to compute the {method} with eager execution "
                "enabled and with experimental_use_pfor set to False."
            )
        self._persistent = True
        was_recording = self._recording
        try:
            yield
        finally:
            self._persistent = persistent
            if persistent and was_recording and not self._recording:
                self._push()
            elif not persistent:
                if self._recording:
                    self._pop()
                self._taken = True
                self._records, self._watched = [], {}


def _age(variable: Any) -> int:
    return variable.handle._id if variable.handle._op is None else variable.handle._op._id


def note_variable_read(variable: Any) -> None:
    """Lets the tapes of this thread watch a trainable variable that is being read."""
    for tape in recording.tapes:
        tape._variable_accessed(variable)


variable_access.listeners.append(note_variable_read)
