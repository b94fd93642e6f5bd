"""Looking into checkpoints: what they hold, the values, new ones as they come; variables initialised from them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import weft as tf
from weft import proto
from weft.framework import errors, file_system
from weft.framework.checkpoint_files import open_checkpoint
from weft.framework.export import export
from weft.train import checkpoint_state, saveable
from weft.variables.base import Variable
from weft.variables.store import default_store


@export("train.NewCheckpointReader")
class CheckpointReader:
    """What a checkpoint holds, of either format."""

    def __init__(self, filepattern: str):
        self._prefix = file_system.path_text(filepattern)
        self._reader = open_checkpoint(self._prefix)
        self._entries = {name: self._reader.entry(name) for name in self._reader.names()}

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shape of each tensor, by its name."""
        return {name: list(shape) for name, (_, shape) in self._entries.items()}

    def get_variable_to_dtype_map(self) -> dict[str, tf.DType]:
        """The type of each tensor, by its name."""
        return {name: dtype for name, (dtype, _) in self._entries.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is a tensor of a name."""
        return tensor_str in self._entries

    def get_tensor(self, tensor_str: str) -> Any:
        """The value of a tensor."""
        if tensor_str not in self._entries:
            raise errors.NotFoundError(None, None, f"Key {tensor_str} not found in checkpoint")
        try:
            return self._reader.read(tensor_str)[()]
        finally:
            self._reader.close()

    def debug_string(self) -> bytes:
        """A line for each tensor: name, type, shape."""
        lines = [
            f"{name} ({proto.DataType.Name(dtype.as_datatype_enum)}) [{','.join(map(str, shape))}]\n"
            for name, (dtype, shape) in self._entries.items()
        ]
        return "".join(lines).encode()


def prefix_of(ckpt_dir_or_file: Any) -> str | None:
    """The prefix of a checkpoint, given as that or as its directory."""
    path = file_system.path_text(ckpt_dir_or_file)
    if file_system.is_directory(path):
        return checkpoint_state.latest_checkpoint(path)
    return path


@export("train.load_checkpoint")
def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """The reader of a checkpoint, of a directory's newest."""
    prefix = prefix_of(ckpt_dir_or_file)
    if prefix is None:
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {ckpt_dir_or_file}"
        )
    return CheckpointReader(prefix)


@export("train.load_variable")
def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """The value of a variable in a checkpoint."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


@export("train.list_variables")
def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """Names and shapes of all variables of a checkpoint, by name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


# -- waiting --------------------------------------------------------------------------------------------


def wait_for_new_checkpoint(
    checkpoint_dir: str,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """The newest checkpoint, as soon as it is another than the last one; None when the time is over."""
    tf.logging.info("Waiting for new checkpoint at %s", checkpoint_dir)
    end = None if timeout is None else time.time() + timeout
    while True:
        found = checkpoint_state.latest_checkpoint(checkpoint_dir)
        if found is not None and found != last_checkpoint:
            tf.logging.info("Found new checkpoint at %s", found)
            return found
        if end is not None and time.time() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)


@export("train.checkpoints_iterator")
def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """New checkpoints as they come, until none came for `timeout` seconds and `timeout_fn` agrees."""
    last = None
    while True:
        found = wait_for_new_checkpoint(checkpoint_dir, last, timeout=timeout)
        if found is None:
            if timeout_fn is None:
                tf.logging.info("Timed-out waiting for a checkpoint.")
                return
            if timeout_fn():
                return
            continue
        start = time.time()
        last = found
        yield found
        left = start + min_interval_secs - time.time()
        if left > 0:
            time.sleep(left)


# -- initialising ---------------------------------------------------------------------------------------


@export("train.init_from_checkpoint")
def init_from_checkpoint(ckpt_dir_or_file: Any, assignment_map: dict[str, Any]) -> None:
    """Lets variables begin with values of a checkpoint: their initializers read them.

    The map goes from names in the checkpoint to variables or their names, or from one scope to another (both end
    in a slash; a lone slash is the root).
    """
    reader = load_checkpoint(ckpt_dir_or_file)
    prefix = prefix_of(ckpt_dir_or_file)
    assert prefix is not None
    shapes = reader.get_variable_to_shape_map()
    known = default_store()._vars
    for name, target in sorted(assignment_map.items(), key=lambda pair: pair[0]):
        variable = _named(target, known)
        if variable is not None:
            if name not in shapes:
                raise ValueError(
                    f"Tensor {name} is not found in {ckpt_dir_or_file} checkpoint {shapes}"
                )
            if isinstance(variable, Variable) and not variable.get_shape().is_compatible_with(
                shapes[name]
            ):
                raise ValueError(
                    f"Shape of variable {variable.name} ({variable.get_shape()}) doesn't match with shape of tensor "
                    f"{name} ({shapes[name]}) from checkpoint reader."
                )
            initialise(variable, prefix, name)
            continue
        scope = target[: target.rindex("/")] if "/" in target else ""
        if not name.endswith("/"):
            raise ValueError(
                f"Assignment map with scope only name {scope} should map to scope only {name}. Should be 'scope/': "
                "'other_scope/'."
            )
        for full_name in sorted(
            {v.partition("/part_")[0] for v in known if not scope or v.startswith(f"{scope}/")}
        ):
            below = full_name[len(scope) :] if target == "/" else full_name[len(scope) + 1 :]
            stored = (below if name == "/" else name + below).removesuffix("/")
            if stored not in shapes:
                raise ValueError(
                    f"Tensor {stored} ({full_name[len(scope) + 1 :]} in {name}) is not found in {ckpt_dir_or_file} "
                    "checkpoint"
                )
            initialise(_named(full_name, known), prefix, stored)


def _named(target: Any, known: dict[str, Any]) -> Any:
    """The variable, or the parts of one, that is meant; None for a scope."""
    if isinstance(target, Variable):
        return target
    if isinstance(target, list) and all(isinstance(v, Variable) for v in target):
        return target
    if target in known:
        return known[target]
    parts: list[Any] = []
    while f"{target}/part_{len(parts)}" in known:
        parts.append(known[f"{target}/part_{len(parts)}"])
    return parts or None


def initialise(variable: Any, prefix: str, name: str) -> None:
    """Makes the initializer of a variable, or of each part of one, read a tensor of a checkpoint."""
    if not isinstance(variable, (list, tuple)):
        _initialise(variable, prefix, name, "")
        return
    wholes = {v._get_save_slice_info().full_name for v in variable}
    if len(wholes) > 1:
        raise ValueError(f"Slices must all be from the same tensor: {' != '.join(sorted(wholes))}")
    for v in variable:
        _initialise(v, prefix, name, v._get_save_slice_info().spec)


def _initialise(variable: Any, prefix: str, name: str, part: str) -> None:
    with tf.device(variable.device), tf.device("/cpu:0"):
        value = tf.raw_ops.RestoreV2(
            prefix=prefix,
            tensor_names=[name],
            shape_and_slices=[part],
            dtypes=[variable.dtype.base_dtype],
            name="checkpoint_initializer",
        )[0]
        ((name, item),) = saveable.names_of([variable]).items()
        (found,) = saveable.saveables_of(item, name)
    variable._initializer_op = found.restore([value], None)
    value.set_shape(variable.shape)
    variable._initial_value = value
