"""Attributes that TensorFlow 2 has added to ops of TensorFlow 1.15, and what they say where they say nothing new.

GraphDefs that TensorFlow 2 writes mention them. With these values an op does what it did before; with another
value it is an op that TensorFlow 1.15 does not have.
"""

from __future__ import annotations

from typing import Any

from weft.framework import dtypes

# Hints and bookkeeping, whose values change no result.
_HINTS = frozenset(
    "allowed_devices autotuner_thresh buffer_size_min debug_name grad_a grad_b grad_x grad_y log_warning metadata "
    "ram_budget sparse_gradient timeout_seconds use_default_device validate_shape".split()
)
_DEFAULTS: dict[str, Any] = {
    "Tcomplex": dtypes.complex64,
    "Tk": dtypes.int32,
    "Treal": dtypes.float32,
    "Tshape": dtypes.int32,
    "allow_missing_files": False,
    "axis": -1,
    "bad_indices_policy": b"",
    "blank_index": -1,
    "cardinality_options": b"",
    "drop_remainder": True,
    "dtype": dtypes.float32,
    "ensure_minimum_range": 0.01,
    "explicit_paddings": [],
    "exponential_avg_factor": 1.0,
    "external_state_policy": 0,
    "force_synchronous": False,
    "index_type": dtypes.int32,
    "is_files": False,
    "multiply_linear_by_lr": False,
    "narrow_range": False,
    "offset": 0,
    "perturb_singular": False,
    "ragged_keys": [],
    "ragged_split_types": [],
    "ragged_value_types": [],
    "replicate_on_split": False,
    "reshuffle_each_iteration": True,
    "resize_if_index_out_of_bounds": False,
    "shape_type": dtypes.int32,
    "stop_on_empty_dataset": False,
}


# Operations without results that TensorFlow 2 has added as hints on how to keep a variable.
HINT_OPS = frozenset({"DisableCopyOnRead"})

# Operations of TensorFlow 2 that do what one of TensorFlow 1.15 does.
LATER_NAMES = {"StatelessCase": "Case"}

# Attributes that let an input have another type, which is int32 in TensorFlow 1.15: such an input is cast.
CAST_INPUTS = {"Tsegmentids": "segment_ids"}


def says_nothing_new(name: str, value: Any) -> bool:
    """Whether an attribute that an op of TensorFlow 1.15 does not have may be left out."""
    if name in _HINTS or name in CAST_INPUTS:
        return True
    if name not in _DEFAULTS:
        return False
    default = _DEFAULTS[name]
    if isinstance(default, float):
        return isinstance(value, float) and abs(value - default) < 1e-6 * abs(default)
    return value == default
