"""The part of a graph that saves and restores: what a Saver adds to it."""

from __future__ import annotations

import uuid
from collections import defaultdict
from typing import Any

import weft as tf
from weft import proto
from weft.framework import context
from weft.framework.device_spec import DeviceSpec
from weft.framework.tensor import Tensor
from weft.train import saveable as saving
from weft.variables.partitioned import PartitionedVariable

V1, V2 = 1, 2
_Saveable = saving.SaveableObject


class BaseSaverBuilder:
    """Builds the operations of a Saver; a subclass may save and restore in another way."""

    SaveSpec = saving.SaveSpec
    SaveableObject = saving.SaveableObject
    VariableSaveable = saving.ReferenceVariableSaveable
    ResourceVariableSaveable = saving.ResourceVariableSaveable

    def __init__(self, write_version: int = V2):
        self._write_version = write_version

    # -- what subclasses may do in their own way -----------------------------------------------------

    def save_op(self, filename_tensor: Any, saveables: list[_Saveable]) -> Any:
        """The operation that writes everything to one file or under one prefix."""
        specs = [spec for s in saveables for spec in s.specs]
        names, parts = [s.name for s in specs], [s.slice_spec for s in specs]
        tensors = [spec.tensor for spec in specs]
        if self._write_version == V2:
            return tf.raw_ops.SaveV2(
                prefix=filename_tensor, tensor_names=names, shape_and_slices=parts, tensors=tensors
            )
        if self._write_version == V1:
            return tf.raw_ops.SaveSlices(
                filename=filename_tensor, tensor_names=names, shapes_and_slices=parts, data=tensors
            )
        raise RuntimeError(f"Unexpected write_version: {self._write_version}")

    def bulk_restore(
        self,
        filename_tensor: Any,
        saveables: list[_Saveable],
        preferred_shard: int,
        restore_sequentially: bool,
    ) -> list[Tensor]:
        """The tensors that are read for all saveables, one after another."""
        tensors: list[Tensor] = []
        for s in saveables:
            with tf.device(saving.on_cpu(s.device) if s.device else None):
                tensors.extend(self.restore_op(filename_tensor, s, preferred_shard))
        return tensors

    def restore_op(
        self, filename_tensor: Any, saveable: _Saveable, preferred_shard: int
    ) -> list[Tensor]:
        """The tensors that are read for one saveable."""
        return [_restored(filename_tensor, [spec])[0] for spec in saveable.specs]

    def sharded_filename(self, filename_tensor: Any, shard: int, num_shards: Any) -> Tensor:
        """The name of one shard's file."""
        return tf.raw_ops.ShardedFilename(
            basename=filename_tensor, shard=shard, num_shards=num_shards
        )

    # -- saving --------------------------------------------------------------------------------------

    def _AddSaveOps(self, filename_tensor: Any, saveables: list[_Saveable]) -> Tensor:
        save = self.save_op(filename_tensor, saveables)
        if context.executing_eagerly():
            return filename_tensor
        with tf.control_dependencies([save]):
            return tf.identity(filename_tensor, name="control_dependency")

    def _AddShardedSaveOps(self, filename_tensor: Any, per_device: list[Any]) -> Tensor:
        if self._write_version == V2:
            return self._AddShardedSaveOpsForV2(filename_tensor, per_device)
        shards = tf.constant(len(per_device), name="num_shards")
        saved = []
        for shard, (device, saveables) in enumerate(per_device):
            with tf.device(device):
                name = self.sharded_filename(filename_tensor, shard, shards)
                saved.append(self._AddSaveOps(name, saveables))
        with tf.control_dependencies(saved):
            return tf.raw_ops.ShardedFilespec(basename=filename_tensor, num_shards=shards)

    def _AddShardedSaveOpsForV2(self, checkpoint_prefix: Any, per_device: list[Any]) -> Tensor:
        """Each device saves its part to a folder of its own; then the parts become one checkpoint."""
        folder = tf.string_join([checkpoint_prefix, f"_temp_{uuid.uuid4().hex}/part"])
        shards = tf.constant(len(per_device), name="num_shards")
        names, saved, last = [], [], None
        for shard, (last, saveables) in enumerate(per_device):
            with tf.device(saving.on_cpu(last)):
                names.append(self.sharded_filename(folder, shard, shards))
                saved.append(self._AddSaveOps(names[-1], saveables))
        with tf.control_dependencies(saved), tf.device(saving.on_cpu(last)):
            merged = tf.raw_ops.MergeV2Checkpoints(
                checkpoint_prefixes=names, destination_prefix=checkpoint_prefix
            )
            with tf.control_dependencies([merged]):
                return tf.identity(checkpoint_prefix)

    # -- restoring -----------------------------------------------------------------------------------

    def _AddRestoreOps(
        self,
        filename_tensor: Any,
        saveables: list[_Saveable],
        restore_sequentially: bool,
        reshape: bool,
        preferred_shard: int = -1,
        name: str = "restore_all",
    ) -> Any:
        tensors = self.bulk_restore(
            filename_tensor, saveables, preferred_shard, restore_sequentially
        )
        assigns, at = [], 0
        for s in saveables:
            shapes = [_shape_of(spec.tensor) for spec in s.specs] if reshape else None
            assigns.append(s.restore(tensors[at : at + len(s.specs)], shapes))
            at += len(s.specs)
        return tf.group(*assigns, name=name)

    def _AddShardedRestoreOps(
        self,
        filename_tensor: Any,
        per_device: list[Any],
        restore_sequentially: bool,
        reshape: bool,
    ) -> Any:
        restored = []
        for shard, (device, saveables) in enumerate(per_device):
            with tf.device(device):
                restored.append(
                    self._AddRestoreOps(
                        filename_tensor,
                        saveables,
                        restore_sequentially,
                        reshape,
                        preferred_shard=shard,
                        name="restore_shard",
                    )
                )
        return tf.group(*restored, name="restore_all")

    def _GroupByDevices(self, saveables: list[_Saveable]) -> list[Any]:
        per_device = defaultdict(list)
        for s in saveables:
            devices = {_canonical(spec.tensor.device) for spec in s.specs}
            if len(devices) != 1:
                raise ValueError(
                    f"All tensors of a saveable object must be on the same device: {s.name}"
                )
            per_device[devices.pop()].append(s)
        return sorted(per_device.items())

    # -- all of it -----------------------------------------------------------------------------------

    def build(
        self,
        names_to_saveables: Any,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        filename: str | None = "model",
    ) -> Any:
        """Adds the operations to the default graph and returns the SaverDef that names them."""
        return self._build_internal(
            names_to_saveables,
            reshape,
            sharded,
            max_to_keep,
            keep_checkpoint_every_n_hours,
            name,
            restore_sequentially,
            filename,
        )

    def _build_internal(
        self,
        names_to_saveables: Any,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        filename: str | None = "model",
        build_save: bool = True,
        build_restore: bool = True,
    ) -> Any:
        eager = context.executing_eagerly()
        if not eager and not (build_save and build_restore):
            raise ValueError(
                "save and restore operations need to be built together  when eager execution is not enabled."
            )
        found = saving.saveables(names_to_saveables)
        save: Any = None
        restore: Any = None
        with tf.name_scope(name, "save", [] if eager else [s.op for s in found]):
            prefix = filename or "model"
            if eager:
                filename_tensor = tf.constant(prefix)
            else:
                filename_tensor = tf.placeholder_with_default(prefix, shape=(), name="filename")
                # Another one, so that those who load the graph may feed either.
                filename_tensor = tf.placeholder_with_default(
                    filename_tensor, shape=(), name="Const"
                )
            if sharded:
                groups = self._GroupByDevices(found)
                if build_save:
                    save = self._AddShardedSaveOps(filename_tensor, groups)
                if build_restore:
                    restore = self._AddShardedRestoreOps(
                        filename_tensor, groups, restore_sequentially, reshape
                    )
            else:
                if build_save:
                    save = self._AddSaveOps(filename_tensor, found)
                if build_restore:
                    restore = self._AddRestoreOps(
                        filename_tensor, found, restore_sequentially, reshape
                    )
        if eager:
            names = (prefix, save.numpy() if build_save else "", "")
        else:
            names = (filename_tensor.name, save.name, restore.name)
            _make_wholes()
        return proto.SaverDef(
            filename_tensor_name=names[0],
            save_tensor_name=names[1],
            restore_op_name=names[2],
            max_to_keep=max_to_keep or 0,
            sharded=sharded,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            version=self._write_version,
        )


class BulkSaverBuilder(BaseSaverBuilder):
    """Reads everything by one operation."""

    def bulk_restore(
        self,
        filename_tensor: Any,
        saveables: list[_Saveable],
        preferred_shard: int,
        restore_sequentially: bool,
    ) -> list[Tensor]:
        specs = [spec for s in saveables for spec in s.specs]
        with tf.device("CPU:0"):
            return _restored(filename_tensor, specs)


def _restored(filename_tensor: Any, specs: list[saving.SaveSpec]) -> list[Tensor]:
    return tf.raw_ops.RestoreV2(
        prefix=filename_tensor,
        tensor_names=[spec.name for spec in specs],
        shape_and_slices=[spec.slice_spec for spec in specs],
        dtypes=[spec.dtype.base_dtype for spec in specs],
    )


def _shape_of(tensor: Any) -> Any:
    shape = tensor.get_shape()
    return shape if shape.is_fully_defined() else tf.shape(tensor)


def _canonical(device: str | None) -> str:
    return DeviceSpec.from_string(device or "").to_string()


def _make_wholes() -> None:
    """Partitioned variables in collections are exported by the tensor of the whole, so it has to be there."""
    graph = tf.get_default_graph()
    for key in graph.get_all_collection_keys():
        for item in graph.get_collection(key):
            if isinstance(item, PartitionedVariable):
                try:
                    graph.get_operation_by_name(item.name)
                except KeyError:
                    item.as_tensor()
