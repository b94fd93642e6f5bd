"""`tf.contrib.learn.ExportStrategy`: how an experiment exports its model."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from weft.estimator.arguments import those_taken
from weft.estimator.exporters import LatestExporter
from weft.framework.export import export


@export("contrib.learn.ExportStrategy")
class ExportStrategy(
    collections.namedtuple("_ExportStrategy", ["name", "export_fn", "strip_default_attrs"])
):
    """A name, and a function that exports a model."""

    __slots__ = ()

    def __new__(
        cls, name: str, export_fn: Callable, strip_default_attrs: bool | None = None
    ) -> ExportStrategy:
        return super().__new__(cls, name, export_fn, strip_default_attrs)

    def export(
        self,
        estimator: Any,
        export_path: Any,
        checkpoint_path: str | None = None,
        eval_result: Any = None,
    ) -> Any:
        """Exports the model of a checkpoint; the function gets the rest as far as it takes it."""
        offered = {"checkpoint_path": checkpoint_path, "eval_result": eval_result}
        if self.strip_default_attrs is not None:
            offered["strip_default_attrs"] = self.strip_default_attrs
        given = those_taken(self.export_fn, offered)
        if checkpoint_path is not None and "checkpoint_path" not in given:
            raise ValueError("`export_fn` does not take `checkpoint_path`")
        return self.export_fn(estimator, export_path, **given)


@export("contrib.learn.make_export_strategy", "contrib.learn.utils.make_export_strategy")
def make_export_strategy(
    serving_input_fn: Callable,
    default_output_alternative_key: str | None = None,
    assets_extra: dict[str, str] | None = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """A strategy that exports SavedModels and keeps the latest so many."""
    if default_output_alternative_key is not None:
        raise ValueError(
            "default_output_alternative_key is not supported in core Estimator. Given: "
            f"{default_output_alternative_key}"
        )
    exporter = LatestExporter("Servo", serving_input_fn, assets_extra, as_text, exports_to_keep)

    def export_fn(estimator: Any, export_dir_base: Any, checkpoint_path: str | None = None) -> Any:
        return exporter.export(estimator, export_dir_base, checkpoint_path or "", {}, False)

    return ExportStrategy("Servo", export_fn, strip_default_attrs)
