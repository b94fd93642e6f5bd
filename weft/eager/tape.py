"""GradientTape: records ops as they run, and differentiates what it recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from weft.eager import execute
from weft.eager.execute import EagerOp, tapes
from weft.eager.tensor import EagerTensor
from weft.framework import context, conversion, dtypes, gradients, nest, registry
from weft.framework.export import export
from weft.framework.gradient_registry import get_gradient_function
from weft.framework.indexed_slices import IndexedSlices
from weft.framework.tensor import Tensor


@export("GradientTape")
class GradientTape:
    """Records operations for automatic differentiation.

    Trainable variables that are read inside of the `with` block are watched on their own; tensors are with
    `watch`. A tape that is not persistent gives one gradient.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        self._persistent = persistent
        self._watch_variables = watch_accessed_variables
        self._watched: dict[
            int, Any
        ] = {}  # id -> tensor; the tensor is kept so that its id stays its own
        self._records: list[EagerOp] = []
        self._variables: dict[int, Any] = {}
        self._recording = False
        self._used = False
        self._explicit: list[Any] = []

    def __enter__(self) -> GradientTape:
        self._push()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._recording:
            self._pop()

    def _push(self) -> None:
        if self._recording:
            raise ValueError("Tape is already recording.")
        self._recording = True
        tapes.active.append(self)

    def _pop(self) -> None:
        if not self._recording:
            raise ValueError("Tape is not recording.")
        tapes.active.remove(self)
        self._recording = False

    def watch(self, tensor: Any) -> None:
        """Makes the tape record what is computed from a tensor (or structure of tensors)."""
        for t in nest.flatten(tensor):
            if not (isinstance(t, Tensor) or hasattr(t, "handle") or hasattr(t, "dtype")):
                raise ValueError(f"Passed in object of type {type(t)}, not tf.Tensor")
            if not _is_differentiable(t):
                import logging

                logging.getLogger("tensorflow").warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r",
                    t.dtype,
                )
            handle = getattr(t, "handle", None)
            if handle is not None and not isinstance(t, Tensor):
                self._watch_variable(t)
            else:
                t = conversion.convert_to_tensor(t) if not isinstance(t, Tensor) else t
                self._watched[id(t)] = t
                self._explicit.append(t)

    def _watch_variable(self, variable: Any) -> None:
        self._watched[id(variable.handle)] = variable.handle
        self._variables[id(variable)] = variable

    def _variable_accessed(self, variable: Any) -> None:
        """A variable was read while the tape records."""
        if self._watch_variables and getattr(variable, "trainable", False):
            self._watch_variable(variable)

    def watched_variables(self) -> tuple:
        """Returns the variables watched by this tape, in the order they were first read."""
        return tuple(self._variables.values())

    def _record(self, op: EagerOp) -> None:
        watched = self._watched
        for t in op._inputs:
            if id(t) in watched:
                break
        else:
            return
        kept = False
        for t in op._outputs:
            if gradients.is_trainable(t):
                watched[id(t)] = t
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
        self._records, self._watched, self._variables = [], {}, {}
        self._explicit = []

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = gradients.UnconnectedGradients.NONE,
    ) -> Any:
        """Returns the gradients of the target with respect to the sources, in their structure."""
        if self._used and not self._persistent:
            raise RuntimeError(
                "GradientTape.gradient can only be called once on non-persistent tapes."
            )
        self._used = True
        if self._recording:
            if not self._persistent:
                self._pop()
            else:
                import logging

                logging.getLogger("tensorflow").warning(
                    "Calling GradientTape.gradient on a persistent tape inside its context is significantly less "
                    "efficient than calling it outside the context."
                )
        targets = [_tensor(t) for t in nest.flatten(target)]
        flat = nest.flatten(sources)
        out_grads = None if output_gradients is None else nest.flatten(output_gradients)
        unconnected = gradients.UnconnectedGradients(unconnected_gradients)
        if targets and not isinstance(targets[0], EagerTensor):
            result = self._symbolic(targets, flat, out_grads, unconnected)
        else:
            result = self._backward(targets, flat, out_grads, unconnected)
        if not self._persistent:
            self._records = []
        return nest.pack_sequence_as(sources, result)

    def _symbolic(
        self, targets: list[Any], sources: list[Any], out_grads: Any, unconnected: Any
    ) -> list[Any]:
        """Under graph construction the graph itself is the record."""
        known = {id(t) for t in self._explicit}
        result = gradients.gradients(targets, sources, out_grads, unconnected_gradients=unconnected)
        for i, s in enumerate(sources):
            if isinstance(s, Tensor) and id(s) not in known and unconnected.value == "none":
                variable_read = not self._explicit
                if not variable_read:
                    result[i] = None
        return result

    def _backward(
        self, targets: list[Any], sources: list[Any], out_grads: Any, unconnected: Any
    ) -> list[Any]:
        grads: dict[int, list[Any]] = {}
        ones = registry.get("OnesLike")
        for i, t in enumerate(targets):
            if not isinstance(t, EagerTensor):
                raise TypeError(f"The target {t!r} is no tensor of this tape.")
            given = None if out_grads is None else out_grads[i]
            if given is None:
                if not _is_differentiable(t):
                    continue
                given = ones(t)
            elif not isinstance(given, (Tensor, IndexedSlices)):
                given = conversion.convert_to_tensor(given, dtype=t.dtype)
            grads.setdefault(id(t), []).append(given)
        wanted = {id(_source(s)) for s in sources}
        for op in reversed(self._records):
            out = []
            for t in op._outputs:
                g = grads.get(id(t))
                if g is None:
                    out.append(None)
                    continue
                if len(g) > 1:
                    g[:] = [gradients.aggregate(g)]
                out.append(g[0])
                if id(t) not in wanted:
                    del grads[id(t)]
            if all(g is None for g in out):
                continue
            for i, t in enumerate(op._outputs):
                if out[i] is None and gradients.is_trainable(t) and t._dtype.np is not None:
                    out[i] = registry.get("ZerosLike")(t)
            backward = op._extra if hasattr(op, "_extra") else None
            if backward is not None:
                in_grads = backward(*out)
            else:
                try:
                    function = get_gradient_function(op)
                except LookupError:
                    raise LookupError(
                        f"No gradient defined for operation '{op.name}' (op type: {op.type})"
                    ) from None
                if function is None:
                    continue
                in_grads = function(op, *out)
            if not isinstance(in_grads, (list, tuple)):
                in_grads = [in_grads]
            for t, g in zip(op._inputs, in_grads):
                if g is not None and id(t) in self._watched:
                    grads.setdefault(id(t), []).append(g)
        result = []
        for s in sources:
            tensor = _source(s)
            g = grads.get(id(tensor))
            if g is None:
                zero = unconnected.value == "zero"
                result.append(registry.get("ZerosLike")(_tensor(s)) if zero else None)
            else:
                result.append(gradients.aggregate(g) if len(g) > 1 else g[0])
        return result

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = gradients.UnconnectedGradients.NONE,
        parallel_iterations: Any = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Returns the derivatives of each element of the target with respect to each of the sources."""
        del parallel_iterations, experimental_use_pfor  # ways to compute the same
        reshape, pack = registry.get("Reshape"), registry.get("Pack")
        target = _tensor(target)
        persistent, self._persistent = self._persistent, True
        flat_sources = nest.flatten(sources)
        try:
            with contextlib.ExitStack() as stack:
                if self._recording:
                    if not persistent:
                        self._pop()
                    flat = reshape(target, [-1])
                else:
                    self._push()
                    stack.callback(lambda: self._pop() if self._recording else None)
                    flat = reshape(target, [-1])
                    self._pop()
            n = flat._dims[0]
            if n is None:
                raise ValueError("The jacobian needs the static shape of the target.")
            rows: list[list[Any]] = []
            for i in range(n):
                one = [0.0] * n
                one[i] = 1.0
                seed = conversion.convert_to_tensor(one, dtype=target.dtype)
                rows.append(
                    nest.flatten(self.gradient(flat, flat_sources, seed, unconnected_gradients))
                )
        finally:
            self._persistent = persistent
            self._used = True
        out = []
        for j, source in enumerate(flat_sources):
            parts = [r[j] for r in rows]
            if any(p is None for p in parts):
                out.append(None)
                continue
            parts = [conversion.convert_to_tensor(p) for p in parts]
            shape = list(target._dims) + list(_tensor(source)._dims)
            out.append(reshape(pack(parts), shape))
        return nest.pack_sequence_as(sources, out)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = gradients.UnconnectedGradients.NONE,
        parallel_iterations: Any = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Returns the jacobian of each example of a batch with respect to the same example of the source."""
        del parallel_iterations, experimental_use_pfor
        if target.shape[0] != source.shape[0]:
            raise ValueError(
                f"Need first dimension of target shape ({target.shape}) and source shape ({source.shape}) to match."
            )
        reshape, pack = registry.get("Reshape"), registry.get("Pack")
        batch = target._dims[0]
        n = 1
        for d in target._dims[1:]:
            n *= d
        persistent, self._persistent = self._persistent, True
        try:
            if not self._recording:
                self._push()
            flat = reshape(target, [batch, n])
            self._pop()
            rows = []
            for i in range(n):
                one = [[0.0] * i + [1.0] + [0.0] * (n - i - 1)] * batch
                seed = conversion.convert_to_tensor(one, dtype=target.dtype)
                rows.append(self.gradient(flat, source, seed, unconnected_gradients))
        finally:
            self._persistent = persistent
            self._used = True
        if any(r is None for r in rows):
            return None
        shape = list(target._dims) + list(source._dims[1:])
        return reshape(pack(rows, axis=1), shape)


def _is_differentiable(t: Any) -> bool:
    return t.dtype.is_floating or t.dtype.is_complex or t.dtype in (dtypes.resource, dtypes.variant)


def _tensor(x: Any) -> Any:
    return x if isinstance(x, Tensor) else conversion.convert_to_tensor(x)


def _source(x: Any) -> Any:
    handle = getattr(x, "handle", None)
    return handle if handle is not None and not isinstance(x, Tensor) else x


def note_variable_read(variable: Any) -> None:
    """Lets the tapes of this thread watch a variable that is being read."""
    for tape in tapes.active:
        tape._variable_accessed(variable)


@contextlib.contextmanager
def stop_recording() -> Iterator[None]:
    """Hides what happens inside from all tapes."""
    before, tapes.active = tapes.active, []
    try:
        yield
    finally:
        tapes.active = before


__all__ = ["GradientTape", "context", "execute", "note_variable_read", "stop_recording"]
