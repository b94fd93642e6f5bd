"""`tf.contrib.tpu.TPUEstimator` with `use_tpu=False`: on CPUs and GPUs, with the same model and input functions."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any

import weft as tf
from weft import proto
from weft.estimator.arguments import arguments_of, those_taken
from weft.estimator.estimator import Estimator
from weft.estimator.modes import ModeKeys
from weft.estimator.spec import EstimatorSpec
from weft.estimator.tpu.config import InputPipelineConfig, RunConfig, check_positive, steps_per_loop
from weft.estimator.tpu.host_calls import TPUEstimatorSpec
from weft.framework.export import export
from weft.train.saving_hooks import StepCounterHook

_RESERVED = ("batch_size", "context")


class ExportSavedModelApiVersion(enum.Enum):
    """How a model would be exported for TPUs."""

    V1 = 1
    V2 = 2


@export("estimator.tpu.TPUEstimator", "contrib.tpu.TPUEstimator")
class TPUEstimator(Estimator):
    """An Estimator whose functions find the batch size in `params["batch_size"]`.

    There is no TPU here: with `use_tpu=True` training, evaluation and prediction raise, except evaluations where
    `eval_on_tpu=False`. Models are exported for CPUs and GPUs, without the graph for TPUs besides.
    """

    _may_be_overridden = Estimator._may_be_overridden | {
        "_call_input_fn",
        "_model_result",
        "_call_model_fn_to_export",
        "_call_model_fn",
    }

    def __init__(
        self,
        model_fn: Any = None,
        model_dir: Any = None,
        config: Any = None,
        params: Any = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
        embedding_config_spec: Any = None,
        export_saved_model_api_version: ExportSavedModelApiVersion = ExportSavedModelApiVersion.V1,
    ):
        if not isinstance(config, RunConfig):
            raise ValueError("`config` must be provided with type `tpu_config.RunConfig`")
        if params is not None and any(k in params for k in _RESERVED):
            raise ValueError(f"{_RESERVED} are reserved keys but existed in params {params}.")
        if not isinstance(export_saved_model_api_version, ExportSavedModelApiVersion):
            raise ValueError(
                "export_saved_model_api_version should be of type ExportSavedModelApiVersion; got "
                f"{export_saved_model_api_version}."
            )
        if embedding_config_spec is not None:
            raise tf.errors.UnimplementedError(
                None, None, "TPUEstimator: embedding_config_spec needs a TPU, which is not here."
            )
        sizes = {
            ModeKeys.TRAIN: ("train_batch_size", train_batch_size),
            ModeKeys.EVAL: ("eval_batch_size", eval_batch_size),
            ModeKeys.PREDICT: ("predict_batch_size", predict_batch_size),
        }
        if use_tpu:
            if train_batch_size is None:
                raise ValueError("`train_batch_size` cannot be `None`")
            for name, size in sizes.values():
                if size is not None:
                    check_positive(size, name)
        self._log_every_n_steps = _in_loops(config)
        super().__init__(
            model_fn=model_fn,
            model_dir=model_dir,
            config=config.replace(log_step_count_steps=None),  # the hook of examples logs
            params=params or ({} if "params" in arguments_of(model_fn) else None),
            warm_start_from=warm_start_from,
        )
        self._batch_sizes = {mode: size for mode, (_, size) in sizes.items()}
        self._on_tpu = dict.fromkeys(sizes, use_tpu)
        self._on_tpu[ModeKeys.EVAL] = use_tpu and eval_on_tpu
        self._export_to_cpu, self._export_to_tpu = export_to_cpu, export_to_tpu

    def _params_for(self, mode: str, batch_size: int | None) -> Any:
        """The parameters of a function, with those that the estimator adds."""
        if self._on_tpu[mode]:
            raise RuntimeError(
                f"Cannot find any TPU cores in the system to run {mode!r} on: weft runs on CPUs and GPUs. Pass "
                "use_tpu=False to TPUEstimator."
            )
        params = self.params
        added: dict[str, Any] = {"use_tpu": False}
        if batch_size is not None:
            added["batch_size"] = batch_size
        for name, value in added.items():
            if not hasattr(params, "set_hparam"):
                params[name] = value
            elif name in params:
                params.set_hparam(name, value)
            else:
                params.add_hparam(name, value)
        return params

    def _call_input_fn(self, input_fn: Callable, mode: str, input_context: Any = None) -> Any:
        if "params" not in arguments_of(input_fn):
            raise ValueError(
                f"input_fn ({input_fn}) does not include params argument, required by TPUEstimator to pass batch size "
                'as params["batch_size"]'
            )
        config = self.config
        if config.tpu_config.eval_training_input_configuration == InputPipelineConfig.SLICED:
            raise ValueError(
                "Invalid TPUConfig `eval_training_input_configuration` value. SLICED mode only works on use_tpu = "
                "True."
            )
        params = self._params_for(mode, self._batch_sizes[mode])
        offered = {"mode": mode, "params": params, "config": config}
        if input_context is not None:
            offered["input_context"] = input_context
        with tf.device("/cpu:0"):
            return input_fn(**those_taken(input_fn, offered))

    def _model_result(self, features: Any, labels: Any, mode: str, config: Any, params: Any) -> Any:
        if "params" not in arguments_of(self._model_fn):
            raise ValueError(
                f"model_fn ({self._model_fn}) does not include params argument, required by TPUEstimator to pass "
                "batch size as params['batch_size']"
            )
        result = super()._model_result(features, labels, mode, config, params)
        if isinstance(result, TPUEstimatorSpec):
            return result.as_estimator_spec()
        return result

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        size = self._batch_sizes[mode]
        params = self._params_for(mode, size)
        spec = self._checked_result(self._model_result(features, labels, mode, config, params))
        if self._log_every_n_steps is None:
            return spec
        folder = self.model_dir if config.save_summary_steps else None
        hook = ExamplesPerSecondHook(size, self._log_every_n_steps, output_dir=folder)
        return spec._replace(training_hooks=(*spec.training_hooks, hook))

    def _call_model_fn_to_export(
        self, features: Any, labels: Any, mode: str, config: Any
    ) -> EstimatorSpec:
        if not self._export_to_cpu:
            raise ValueError(
                "One of export_to_cpu and export_to_tpu must be true."
                if not self._export_to_tpu
                else "export_to_cpu must be true: weft exports no graphs for TPUs."
            )
        on_tpu = self._on_tpu
        self._on_tpu = dict.fromkeys(on_tpu, False)  # what is exported is for CPUs and GPUs
        try:
            params = self._params_for(mode, None)
        finally:
            self._on_tpu = on_tpu
        return self._checked_result(self._model_result(features, labels, mode, config, params))


class ExamplesPerSecondHook(StepCounterHook):
    """Logs, and writes as summaries, how many steps and how many examples a second were taken."""

    def __init__(
        self,
        batch_size: int | None,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
    ):
        super().__init__(every_n_steps, every_n_secs, output_dir, summary_writer)
        self._batch_size = batch_size

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        super()._log_and_record(elapsed_steps, elapsed_time, global_step)
        if self._batch_size is None:
            return
        rate = self._batch_size * elapsed_steps / elapsed_time
        if self._summary_writer is not None:
            value = proto.Summary.Value(tag="examples/sec", simple_value=rate)
            self._summary_writer.add_summary(proto.Summary(value=[value]), global_step)
        tf.logging.info("examples/sec: %g", rate)


def _in_loops(config: Any) -> int | None:
    """How often the steps are logged, counted in loops as TensorFlow does."""
    steps, loop = config.log_step_count_steps, steps_per_loop(config.tpu_config.iterations_per_loop)
    return None if steps is None or loop is None else math.ceil(steps / loop)
