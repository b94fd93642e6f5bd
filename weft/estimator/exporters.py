"""Exporters, which `train_and_evaluate` calls after evaluations: `tf.estimator.LatestExporter` and its kin."""

from __future__ import annotations

import abc
import os
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.estimator.arguments import arguments_of, refuse_others
from weft.framework.compat_text import as_str_any
from weft.framework.export import export


@export("estimator.Exporter")
class Exporter(abc.ABC):
    """Exports a model after an evaluation, or does not."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The folder of its exports, beneath `export` in the folder of the model."""

    @abc.abstractmethod
    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: dict[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Exports the model of a checkpoint; where to, or None."""


class _SavedModelExporter(Exporter):
    """Exports each time, and keeps the latest so many exports."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable | None,
        assets_extra: dict[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = None,
    ):
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError(
                f"`exports_to_keep`, if provided, must be positive number. Got {exports_to_keep}"
            )
        self._name, self._serving_input_receiver_fn = name, serving_input_receiver_fn
        self._assets_extra, self._as_text = assets_extra, as_text
        self._exports_to_keep = exports_to_keep

    @property
    def name(self) -> str:
        return self._name

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: dict[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        result = estimator.export_saved_model(
            export_path,
            self._serving_input_receiver_fn,
            assets_extra=self._assets_extra,
            as_text=self._as_text,
            checkpoint_path=checkpoint_path,
        )
        if self._exports_to_keep is not None:
            for old in _exports_in(export_path)[: -self._exports_to_keep]:
                try:
                    tf.gfile.DeleteRecursively(old)
                except tf.errors.NotFoundError as e:  # somebody else was faster
                    tf.logging.warning("Can not delete %s recursively: %s", old, e)
        return result


def _exports_in(folder: str) -> list[str]:
    """The exports of a folder, oldest first: their names are ten digits, the time."""
    names = sorted(as_str_any(entry).rstrip("/") for entry in tf.gfile.ListDirectory(folder))
    return [
        os.path.join(as_str_any(folder), name)
        for name in names
        if len(name) == 10 and name.isdigit()
    ]


@export("estimator.LatestExporter")
class LatestExporter(_SavedModelExporter):
    """Exports after each evaluation, and keeps the latest so many exports."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable,
        assets_extra: dict[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ):
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)


@export("estimator.FinalExporter")
class FinalExporter(_SavedModelExporter):
    """Exports once, at the end of training."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable,
        assets_extra: dict[str, str] | None = None,
        as_text: bool = False,
    ):
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: dict[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        if not is_the_final_export:
            return None
        tf.logging.info("Performing the final export in the end of training.")
        return super().export(estimator, export_path, checkpoint_path, eval_result, True)


def _loss_smaller(best_eval_result: Any, current_eval_result: Any) -> bool:
    for what, result in (
        ("best_eval_result", best_eval_result),
        ("current_eval_result", current_eval_result),
    ):
        if not result or "loss" not in result:
            raise ValueError(f"{what} cannot be empty or no loss is found in it.")
    return best_eval_result["loss"] > current_eval_result["loss"]


@export("estimator.BestExporter")
class BestExporter(_SavedModelExporter):
    """Exports a model that is better than every one before, also than those of earlier runs.

    Args:
      event_file_pattern: where, in the folder of the model, the results of earlier runs are.
      compare_fn: whether `current_eval_result` is better than `best_eval_result`.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Callable | None = None,
        event_file_pattern: str | None = "eval/*.tfevents.*",
        compare_fn: Callable = _loss_smaller,
        assets_extra: dict[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ):
        if compare_fn is None:
            raise ValueError("`compare_fn` must not be None.")
        for needed in ("best_eval_result", "current_eval_result"):
            if needed not in arguments_of(compare_fn):
                raise ValueError(f"compare_fn ({compare_fn}) must include {needed} argument.")
        refuse_others("compare_fn", compare_fn, {"best_eval_result", "current_eval_result"})
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._compare_fn, self._event_file_pattern = compare_fn, event_file_pattern
        self._model_dir: str | None = None
        self._best: dict[str, Any] | None = None

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: dict[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        if self._model_dir != estimator.model_dir and self._event_file_pattern:
            tf.logging.info("Loading best metric from event files.")
            self._model_dir = estimator.model_dir
            self._best = self._best_of(os.path.join(self._model_dir, self._event_file_pattern))
        if not self._is_better(eval_result):
            return None
        tf.logging.info("Performing best model export.")
        self._best = eval_result
        return super().export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )

    def _is_better(self, result: dict[str, Any]) -> bool:
        return self._best is None or self._compare_fn(
            best_eval_result=self._best, current_eval_result=result
        )

    def _best_of(self, pattern: str) -> dict[str, Any] | None:
        """The best result in event files."""
        self._best = None
        for path in tf.gfile.Glob(pattern):
            for event in tf.train.summary_iterator(path):
                result = {
                    value.tag: value.simple_value
                    for value in event.summary.value
                    if value.HasField("simple_value")
                }
                if result and self._is_better(result):
                    self._best = result
        return self._best
