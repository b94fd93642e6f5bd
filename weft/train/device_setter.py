"""Placing a replica's graph: variables on the parameter servers in turn, all else on the worker."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework.device_spec import DeviceSpec
from weft.framework.export import export

STANDARD_PS_OPS = (
    "Variable VariableV2 AutoReloadVariable MutableHashTable MutableHashTableV2 MutableHashTableOfTensors "
    "MutableHashTableOfTensorsV2 MutableDenseHashTable MutableDenseHashTableV2 VarHandleOp "
    "BoostedTreesEnsembleResourceHandleOp BoostedTreesQuantileStreamResourceHandleOp "
    "ResourceConditionalAccumulator"
).split()


@export("train.replica_device_setter")
def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Any = None,
    ps_strategy: Callable[[Any], int] | None = None,
) -> Callable[[Any], str] | None:
    """A function for `tf.device` that puts what holds state on parameter servers, in turn, and all else on the
    worker; None where there are no parameter servers.

    Args:
      merge_devices: keep what an operation's device says already, and add to it.
      cluster: a ClusterSpec, or what makes one, instead of `ps_tasks`.
      ps_ops: the types of the operations that go to parameter servers.
      ps_strategy: gives the task for an operation, instead of one after the other.
    """
    if cluster is not None:
        tasks = tf.train.ClusterSpec(cluster).as_dict()
        job = DeviceSpec.from_string(ps_device).job
        if not tasks.get(job):
            return None
        ps_tasks = len(tasks[job])
    if ps_tasks == 0:
        return None
    if ps_strategy is None:
        turns = itertools.cycle(range(ps_tasks))

        def ps_strategy(op: Any) -> int:
            return next(turns)

    if not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    if not merge_devices:
        tf.logging.warning(
            "DEPRECATION: It is recommended to set merge_devices=true in replica_device_setter"
        )
    kinds = frozenset(STANDARD_PS_OPS if ps_ops is None else ps_ops)
    server = DeviceSpec.from_string(ps_device or "")
    worker = DeviceSpec.from_string(worker_device or "")
    choose = ps_strategy

    def device_of(op: Any) -> str:
        if op.device and not merge_devices:
            return op.device
        current = DeviceSpec.from_string(op.device or "")
        kind = getattr(op, "type", None) or op.op  # an operation or a NodeDef
        if not ps_device or kind not in kinds:
            return worker.make_merged_spec(current).to_string()
        target = server
        if server.job and (not current.job or current.job == server.job):
            target = server.replace(task=choose(op))
        return target.make_merged_spec(current).to_string()

    return device_of
