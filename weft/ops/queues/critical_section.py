"""Critical sections: functions whose executions exclude each other, in one step and in several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from weft.framework import context, dtypes, nest
from weft.framework.export import export, find
from weft.framework.graph import colocate_with, control_dependencies
from weft.framework.operation import Operation
from weft.framework.scopes import name_scope
from weft.ops.array.identity import identity
from weft.ops.flow.grouping import group
from weft.ops.queues.mutex import consume_mutex_lock, mutex_lock, mutex_v2

CRITICAL_SECTIONS = "critical_sections"
CRITICAL_SECTION_EXECUTIONS = "critical_section_executions"


class _Execution(NamedTuple):
    """What one execution uses, so that executions under other locks can be held against it."""

    op: Any
    handle: Any
    resources: list[Any]
    exclusive_resource_access: bool


def _same(value: Any) -> Any:
    """A result that can be made to wait for the lock to be given back."""
    if value is None and context.executing_eagerly():
        return None
    if isinstance(value, Operation):
        return group(value)
    if hasattr(value, "identity") and hasattr(value, "flow"):  # a TensorArray
        return value.identity()
    return identity(value)


@export("CriticalSection")
class CriticalSection:
    """Executes functions one at a time: each holds the section's lock while it runs."""

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ):
        if critical_section_def is not None:
            if name is not None:
                raise ValueError("critical_section_def and shared_name are mutually exclusive.")
            raise NotImplementedError(
                "TensorFlow 1.15 has no message of critical sections that one could be made from."
            )
        with name_scope(name, "CriticalSection", []) as name, find("", "init_scope", "tf")():
            graph = context.get_default_graph()
            self._handle = mutex_v2(
                shared_name=name if shared_name is None else shared_name,
                container=getattr(graph, "_container", "") or "",
                name=name,
            )
        if not context.executing_eagerly():
            context.get_default_graph().add_to_collection(CRITICAL_SECTIONS, self)

    @property
    def name(self) -> str:
        """The name of the section's lock."""
        return self._handle.op.name

    def execute(
        self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None
    ) -> Any:
        """Returns what `fn` returns; while its operations run no other execution of the section does.

        With `exclusive_resource_access` it is an error if an execution of another section uses the same
        resources.
        """
        with name_scope(name, "critical_section_execute", []):
            lock = mutex_lock(self._handle)
            if context.executing_eagerly():
                with control_dependencies([lock]):
                    results = fn()
                consume_mutex_lock(lock)
                return results
            graph = context.get_default_graph()
            before = len(graph.get_operations())
            with control_dependencies([lock]):
                results = fn()
            created = graph.get_operations()[before:]
            self._wait_before_locking(created, lock.op)
            used = list(
                {t: None for op in created for t in op.inputs if t.dtype == dtypes.resource}
            )
            self._check_uses(graph, used, exclusive_resource_access)
            flat = [_same(x) for x in nest.flatten(results)]
            with control_dependencies(flat), colocate_with(self._handle):
                given_back = consume_mutex_lock(lock)
            with control_dependencies([given_back]):
                outputs = nest.pack_sequence_as(results, [_same(x) for x in flat])
            graph.add_to_collection(
                CRITICAL_SECTION_EXECUTIONS,
                _Execution(lock.op, self._handle, used, exclusive_resource_access),
            )
            return outputs

    def _wait_before_locking(self, created: list[Operation], lock_op: Operation) -> None:
        """Computes what the function takes from outside before the lock is taken: it is held shortly, and what
        is outside may itself need the lock."""
        inside = {*created, lock_op, *lock_op.control_inputs, *[t.op for t in lock_op.inputs]}
        needed: dict[Operation, None] = {}
        for op in created:
            for source in [*[t.op for t in op.inputs], *op.control_inputs]:
                if source not in inside:
                    needed[source] = None
        if needed:
            with context.get_default_graph().control_dependencies(None):
                ready = group(*needed)
            lock_op._add_control_inputs([ready])

    def _is_mine(self, tensor: Any) -> bool:
        """Whether a tensor is a handle of this section's lock."""
        op, mine = tensor.op, self._handle.op
        return (
            op.type == "MutexV2"
            and bool(op.get_attr("shared_name"))
            and op.get_attr("shared_name") == mine.get_attr("shared_name")
            and op.device == mine.device
        )

    def _check_uses(self, graph: Any, used: list[Any], exclusive: bool) -> None:
        if any(self._is_mine(t) for t in used):
            raise ValueError(
                "The function fn attempts to directly access the CriticalSection in which it would be running.  "
                "This is illegal and would cause deadlocks."
            )
        for other in graph.get_collection(CRITICAL_SECTION_EXECUTIONS):
            if self._is_mine(other.handle) or not (exclusive or other.exclusive_resource_access):
                continue
            both = [t for t in used if any(t is o for o in other.resources)]
            if both:
                raise ValueError(
                    f"This execution would access resources: {both}.  Either this lock (CriticalSection: "
                    f"{self._handle}) or lock '{other.op.name}' (CriticalSection: {other.handle}) requested "
                    "exclusive resource access of this resource.  Did you mean to call execute with keyword "
                    "argument exclusive_resource_access=False?"
                )
