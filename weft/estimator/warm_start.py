"""Where a model begins that is not trained yet: `tf.estimator.WarmStartSettings`."""

from __future__ import annotations

import collections
import os
from typing import Any

import weft as tf
from weft.framework.export import export
from weft.train.warm_starting import VocabInfo, warm_start

export("estimator.VocabInfo")(VocabInfo)


@export("estimator.WarmStartSettings")
class WarmStartSettings(
    collections.namedtuple(
        "_WarmStartSettings",
        [
            "ckpt_to_initialize_from",
            "vars_to_warm_start",
            "var_name_to_vocab_info",
            "var_name_to_prev_var_name",
        ],
    )
):
    """Which variables begin with the values of which checkpoint, under which names and with which vocabularies."""

    __slots__ = ()

    def __new__(
        cls,
        ckpt_to_initialize_from: str,
        vars_to_warm_start: Any = ".*",
        var_name_to_vocab_info: dict[str, Any] | None = None,
        var_name_to_prev_var_name: dict[str, str] | None = None,
    ) -> WarmStartSettings:
        if not ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        return super().__new__(
            cls,
            ckpt_to_initialize_from,
            vars_to_warm_start,
            var_name_to_vocab_info or {},
            var_name_to_prev_var_name or {},
        )


def settings_from(warm_start_from: Any) -> WarmStartSettings | None:
    """Settings as users give them: settings, or a checkpoint, or the folder of checkpoints or of a SavedModel."""
    if warm_start_from is None or isinstance(warm_start_from, WarmStartSettings):
        return warm_start_from
    if not isinstance(warm_start_from, (str, bytes)):
        raise ValueError(
            f"warm_start_from must be a string or a WarmStartSettings, instead got {type(warm_start_from)}"
        )
    folder = os.fsdecode(warm_start_from)
    in_saved_model = os.path.join(folder, "variables", "variables")
    if tf.gfile.Exists(f"{in_saved_model}.index"):
        tf.logging.info("Warm-starting from a SavedModel")
        return WarmStartSettings(in_saved_model)
    return WarmStartSettings(folder)


def begin_with(settings: WarmStartSettings) -> None:
    """Lets the variables of the default graph begin so."""
    tf.logging.info("Warm-starting with WarmStartSettings: %s", settings)
    warm_start(*settings)
