"""Which checkpoints a directory has: the `checkpoint` file, and the files that belong to a prefix."""

from __future__ import annotations

import os
import re
from typing import Any

import weft as tf
from weft import proto
from weft.framework import errors, file_system
from weft.framework.checkpoint_files.tensor_bundle import index_file
from weft.framework.export import export

_V2 = 2  # SaverDef.V2


def state_file(save_dir: str, latest_filename: str | None) -> str:
    """The file that tells which checkpoints there are."""
    return os.path.join(save_dir, "checkpoint" if latest_filename is None else latest_filename)


@export("train.generate_checkpoint_state_proto")
def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: list[str] | None = None,
    all_model_checkpoint_timestamps: list[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> Any:
    """The message of the `checkpoint` file; where `save_dir` is relative, so are the paths, to it."""
    paths = list(all_model_checkpoint_paths or ())
    if not paths or paths[-1] != model_checkpoint_path:
        tf.logging.info(
            "%s is not in all_model_checkpoint_paths. Manually adding it.",
            model_checkpoint_path,
        )
        paths.append(model_checkpoint_path)
        if all_model_checkpoint_paths is not None:
            all_model_checkpoint_paths.append(model_checkpoint_path)
    times = all_model_checkpoint_timestamps
    if times and len(times) != len(paths):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
            f"{paths} and timestamps {times})"
        )

    def shown(path: str) -> str:
        if os.path.isabs(save_dir) or os.path.isabs(path):
            return path
        return os.path.relpath(path, save_dir)

    return proto.CheckpointState(
        model_checkpoint_path=shown(model_checkpoint_path),
        all_model_checkpoint_paths=[shown(p) for p in paths],
        all_model_checkpoint_timestamps=times,
        last_preserved_timestamp=last_preserved_timestamp,
    )


@export("train.update_checkpoint_state")
def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: list[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: list[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Writes the `checkpoint` file anew, in one stroke."""
    write_state(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        latest_filename,
        False,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )


def write_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: list[str] | None = None,
    latest_filename: str | None = None,
    save_relative_paths: bool = False,
    all_model_checkpoint_timestamps: list[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """As `update_checkpoint_state`; paths may be made relative to the directory."""
    from google.protobuf import text_format

    latest, paths = model_checkpoint_path, all_model_checkpoint_paths
    if save_relative_paths:
        relative = [
            os.path.relpath(p, save_dir) if os.path.isabs(p) else p
            for p in [latest, *(paths or ())]
        ]
        latest, paths = relative[0], relative[1:]
    state = generate_checkpoint_state_proto(
        save_dir, latest, paths, all_model_checkpoint_timestamps, last_preserved_timestamp
    )
    path = state_file(save_dir, latest_filename)
    if path == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state.  Please use a "
            "different save path."
        )
    file_system.replace_file(path, text_format.MessageToString(state).encode())


@export("train.get_checkpoint_state")
def get_checkpoint_state(checkpoint_dir: str, latest_filename: str | None = None) -> Any:
    """The message of the `checkpoint` file of a directory, with whole paths; None where there is none to read."""
    from google.protobuf import text_format

    checkpoint_dir = file_system.path_text(checkpoint_dir)
    path = state_file(checkpoint_dir, latest_filename)
    try:
        if not file_system.exists(path):
            return None
        state = text_format.Merge(file_system.read_file(path).decode(), proto.CheckpointState())
    except (errors.OpError, text_format.ParseError, UnicodeDecodeError) as e:
        tf.logging.warning("%s: %s", type(e).__name__, e)
        tf.logging.warning("%s: Checkpoint ignored", path)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {checkpoint_dir}")
    state.model_checkpoint_path = os.path.join(checkpoint_dir, state.model_checkpoint_path)
    for i, p in enumerate(state.all_model_checkpoint_paths):
        state.all_model_checkpoint_paths[i] = os.path.join(checkpoint_dir, p)
    return state


@export("train.latest_checkpoint")
def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """The prefix of the newest checkpoint of a directory, or None."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    if checkpoint_exists(state.model_checkpoint_path):
        return state.model_checkpoint_path
    tf.logging.error("Couldn't match files for checkpoint %s", state.model_checkpoint_path)
    return None


def _first_file(prefix: str) -> str | None:
    for pattern in (index_file(prefix), prefix):
        found = file_system.glob(pattern)
        if found:
            return found[0]
    return None


@export("train.checkpoint_exists")
def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Whether there is a checkpoint, of either format, under a prefix."""
    return _first_file(file_system.path_text(checkpoint_prefix)) is not None


@export("train.get_checkpoint_mtimes")
def get_checkpoint_mtimes(checkpoint_prefixes: list[str]) -> list[float]:
    """When those checkpoints that there are were written, in seconds."""
    found = [_first_file(file_system.path_text(p)) for p in checkpoint_prefixes]
    return [file_system.stat(path).mtime_nsec / 1e9 for path in found if path is not None]


@export("train.remove_checkpoint")
def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: int = _V2, meta_graph_suffix: str = "meta"
) -> None:
    """Removes the files of a checkpoint, and its meta graph."""
    patterns = [meta_graph_file(checkpoint_prefix, meta_graph_suffix)]
    if checkpoint_format_version == _V2:
        # The table first: without it nothing takes what is left for a checkpoint.
        patterns += [index_file(checkpoint_prefix), f"{checkpoint_prefix}.data-?????-of-?????"]
    else:
        patterns.append(checkpoint_prefix)
    for pattern in patterns:
        for path in file_system.glob(pattern):
            file_system.remove(path)


def meta_graph_file(prefix: str, suffix: str = "meta") -> str:
    """The file of the meta graph that belongs to a checkpoint."""
    return ".".join([re.sub(r"-[\d\?]+-of-\d+$", "", prefix), suffix])
