"""`tf.estimator.Estimator`: trains, evaluates, uses and exports a model that a function makes."""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

import weft as tf
from weft.estimator import distributed, exporting
from weft.estimator.arguments import those_taken
from weft.estimator.checks import (
    batch_length,
    check_model_fn,
    check_steps,
    checked_hooks,
    chosen,
    device_setter,
    step_of_latest_checkpoint,
)
from weft.estimator.cluster_role import TaskType
from weft.estimator.inputs_of_model import ModelInputs, may_end, model_inputs
from weft.estimator.modes import ModeKeys
from weft.estimator.results import write_results
from weft.estimator.run_config import RunConfig, with_defaults
from weft.estimator.spec import LOSS_METRIC_KEY, EstimatorSpec
from weft.estimator.training_session import run_training
from weft.estimator.warm_start import begin_with, settings_from
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.train import evaluation
from weft.train.monitored_session import ChiefSessionCreator, MonitoredSession
from weft.train.saving_hooks import CheckpointSaverListener
from weft.train.scaffold import Scaffold
from weft.train.session_run_hook import SessionRunHook
from weft.train.steps import GLOBAL_STEP_READ_KEY, global_step_read


class Evaluation(NamedTuple):
    """The graph of an evaluation: how it is prepared, what a step runs, and what it comes to."""

    scaffold: Scaffold
    update_op: Any
    values: dict[str, Any]
    hooks: list[SessionRunHook]


@export("estimator.Estimator")
class Estimator:
    """A model and its folder: each call builds the model anew and goes on where the folder's last checkpoint is.

    Args:
      model_fn: makes the model, as an EstimatorSpec, of `features` and if it takes them `labels`, `mode`, `params`
        and `config`.
      model_dir: where checkpoints and events are.
      warm_start_from: where a model that is not trained yet begins: a checkpoint, a SavedModel or WarmStartSettings.
    """

    # What subclasses may have their own of.
    _may_be_overridden = frozenset(
        {
            "model_fn",
            "_may_be_overridden",
            "_create_and_assert_global_step",
            "_export_all_saved_models",
        }
    )

    def __init__(
        self,
        model_fn: Callable,
        model_dir: Any = None,
        config: RunConfig | None = None,
        params: Any = None,
        warm_start_from: Any = None,
    ):
        self._refuse_overridden_members()
        self._config = with_defaults(config, model_dir)
        self._model_dir: str = self._config.model_dir
        self._session_config = self._config.session_config
        tf.logging.info("Using config: %s", vars(self._config))
        self._device_fn = self._config.device_fn or device_setter(self._config)
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        check_model_fn(model_fn, params)
        self._model_fn = model_fn
        self._params = copy.deepcopy(params or {})
        self._warm_start_settings = settings_from(warm_start_from)

    def _refuse_overridden_members(self) -> None:
        kind = type(self)
        ours = {m for m in dir(Estimator) if not m.startswith("__")} - kind._may_be_overridden
        theirs = [m for m in vars(kind) if m in ours]
        changed = [m for m in theirs if getattr(kind, m) is not getattr(Estimator, m)]
        if changed:
            raise ValueError(
                f"Subclasses of Estimator cannot override members of Estimator. {kind} does override {changed}"
            )

    # -- what it is -----------------------------------------------------------------------------------------

    @property
    def model_dir(self) -> str:
        """The folder of the model."""
        return self._model_dir

    @property
    def config(self) -> Any:
        """A copy of the configuration."""
        return copy.deepcopy(self._config)

    @property
    def params(self) -> Any:
        """A copy of the parameters that the model function gets."""
        return copy.deepcopy(self._params)

    @property
    def model_fn(self) -> Callable:
        """The model function, bound to the parameters."""

        def public_model_fn(features: Any, labels: Any, mode: Any, config: Any) -> EstimatorSpec:
            return self._call_model_fn(features, labels, mode, config)

        return public_model_fn

    def get_variable_value(self, name: str) -> np.ndarray:
        """The value of a variable in the latest checkpoint."""
        return tf.train.load_variable(self._trained(), name)

    def get_variable_names(self) -> list[str]:
        """The names of the variables in the latest checkpoint."""
        return [name for name, _ in tf.train.list_variables(self._trained())]

    def latest_checkpoint(self) -> str | None:
        """The latest checkpoint, or None if the model is not trained."""
        return tf.train.latest_checkpoint(self.model_dir)

    def eval_dir(self, name: str | None = None) -> str:
        """The folder of the events of evaluations."""
        return os.path.join(self._model_dir, f"eval_{name}" if name else "eval")

    def _trained(self) -> str:
        if not self.latest_checkpoint():
            raise ValueError(f"Could not find trained model in model_dir: {self.model_dir}.")
        return self.model_dir

    # -- training -------------------------------------------------------------------------------------------

    def train(
        self,
        input_fn: Callable,
        hooks: Iterable[SessionRunHook] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Iterable[CheckpointSaverListener] | None = None,
    ) -> Estimator:
        """Trains on from the latest checkpoint: so many `steps` more, or up to `max_steps`, or till the input ends."""
        if self._config.task_type in (TaskType.EVALUATOR, TaskType.PS):
            raise ValueError(
                "Train has been called wrong configuration. Please use tf.estimator.train_and_evaluate which calls "
                f"proper API according to given configuration. Current configuration: {self._config}."
            )
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        check_steps("steps", steps)
        check_steps("max_steps", max_steps)
        if max_steps is not None and max_steps <= step_of_latest_checkpoint(self._model_dir):
            tf.logging.info("Skipping training since max_steps has already saved.")
            return self
        all_hooks = checked_hooks(hooks)
        all_hooks.extend(self._convert_train_steps_to_hooks(steps, max_steps))
        listeners = list(saving_listeners or ())
        for listener in listeners:
            if not isinstance(listener, CheckpointSaverListener):
                raise TypeError(
                    f"saving_listeners must be a list of CheckpointSaverListener, given: {listener}"
                )
        loss = self._train_model(input_fn, all_hooks, listeners)
        tf.logging.info("Loss for final step: %s.", loss)
        return self

    def _convert_train_steps_to_hooks(
        self, steps: int | None, max_steps: int | None
    ) -> list[SessionRunHook]:
        if steps is None and max_steps is None:
            return []
        return [tf.train.StopAtStepHook(steps, max_steps)]

    def _train_model(
        self,
        input_fn: Callable,
        hooks: list[SessionRunHook],
        listeners: list[CheckpointSaverListener],
    ) -> Any:
        if self._config.train_distribute is not None:
            return self._train_model_distributed(input_fn, hooks, listeners)
        with tf.Graph().as_default() as graph, graph.device(self._device_fn):
            tf.set_random_seed(self._config.tf_random_seed)
            self._create_and_assert_global_step(graph)
            global_step_read(graph)
            inputs = self._inputs(input_fn, ModeKeys.TRAIN)
            spec = self._call_model_fn(inputs.features, inputs.labels, ModeKeys.TRAIN, self.config)
            if self._warm_start_settings:
                begin_with(self._warm_start_settings)
            return run_training(self, spec, [*inputs.hooks, *hooks], listeners)

    def _train_model_distributed(
        self,
        input_fn: Callable,
        hooks: list[SessionRunHook],
        listeners: list[CheckpointSaverListener],
    ) -> Any:
        strategy = self._config.train_distribute
        config = strategy.update_config_proto(self._session_config)
        with (
            tf.Graph().as_default() as graph,
            strategy.scope(),
            strategy._scale_loss_for_estimator_enabled(),
        ):
            tf.set_random_seed(self._config.tf_random_seed)
            inputs = distributed.inputs_for(self, strategy, input_fn, ModeKeys.TRAIN)
            step = self._create_and_assert_global_step(graph)
            tf.add_to_collection(GLOBAL_STEP_READ_KEY, strategy.extended.read_var(step))
            spec = distributed.training_spec(self, strategy, inputs, ModeKeys.TRAIN)
            if self._warm_start_settings:
                begin_with(self._warm_start_settings)
            return run_training(
                self, spec, [*inputs.hooks, *hooks], listeners, strategy.extended, config
            )

    # -- evaluation -----------------------------------------------------------------------------------------

    def evaluate(
        self,
        input_fn: Callable,
        steps: int | None = None,
        hooks: Iterable[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """The metrics of a checkpoint (the latest), over so many `steps` or till the input ends.

        They have `loss` and `global_step` besides those of the model, and are written as events into `eval_dir(name)`.
        """
        all_hooks = checked_hooks(hooks)
        all_hooks.extend(self._convert_eval_steps_to_hooks(steps))
        path = checkpoint_path or self._latest_or_tell("evaluate")
        strategy = self._config.eval_distribute
        scope = strategy.scope() if strategy is not None else contextlib.nullcontext()
        with tf.Graph().as_default(), scope:
            built = self._evaluate_build_graph(input_fn, all_hooks, path)
            return self._evaluate_run(path, built, self.eval_dir(name))

    def _convert_eval_steps_to_hooks(self, steps: int | None) -> list[SessionRunHook]:
        check_steps("steps", steps)
        return [] if steps is None else [evaluation.StopAfterNEvalsHook(num_evals=steps)]

    def _evaluate_build_graph(
        self, input_fn: Callable, hooks: list[SessionRunHook], checkpoint_path: str | None
    ) -> Evaluation:
        """Builds the evaluation in the default graph."""
        graph = tf.get_default_graph()
        tf.set_random_seed(self._config.tf_random_seed)
        self._create_and_assert_global_step(graph)
        strategy = self._config.eval_distribute
        if strategy is None:
            inputs = self._inputs(input_fn, ModeKeys.EVAL)
            spec = self._call_model_fn(inputs.features, inputs.labels, ModeKeys.EVAL, self.config)
            metrics, loss = dict(spec.eval_metric_ops), None
        else:
            inputs = distributed.inputs_for(self, strategy, input_fn, ModeKeys.EVAL)
            spec, metrics = distributed.evaluation_spec(self, strategy, inputs, ModeKeys.EVAL)
            loss = distributed.loss_of(metrics)
        for reserved in (LOSS_METRIC_KEY, GraphKeys.GLOBAL_STEP):
            if reserved in metrics:
                raise ValueError(
                    f"Metric with name `{reserved}` is not allowed, because Estimator already defines a default metric "
                    "with the same name."
                )
        metrics[LOSS_METRIC_KEY] = loss or tf.metrics.mean(spec.loss)
        values = {name: value for name, (value, _) in sorted(metrics.items())}
        updates = [update for _, (_, update) in sorted(metrics.items())]
        values[GraphKeys.GLOBAL_STEP] = tf.train.get_global_step(graph)
        self._maybe_warm_start(checkpoint_path)
        scaffold = spec.scaffold
        if scaffold.local_init_op is not None:
            evaluation.get_or_create_eval_step()  # so that the default initialises it too
            both = tf.group(scaffold.local_init_op, Scaffold.default_local_init_op())
            scaffold = Scaffold(local_init_op=both, copy_from_scaffold=scaffold)
        all_hooks = [*inputs.hooks, *hooks, *spec.evaluation_hooks]
        return Evaluation(scaffold, tf.group(*updates), values, all_hooks)

    def _evaluate_run(
        self, checkpoint_path: str | None, built: Evaluation, output_dir: str
    ) -> dict[str, Any]:
        results = evaluation.evaluate_once(
            checkpoint_path=checkpoint_path,
            master=self._config.evaluation_master,
            scaffold=built.scaffold,
            eval_ops=built.update_op,
            final_ops=built.values,
            hooks=built.hooks,
            config=self._evaluation_session_config(),
        )
        write_results(output_dir, results, results[GraphKeys.GLOBAL_STEP], checkpoint_path)
        return results

    def _evaluation_session_config(self) -> Any:
        strategy = self._config.eval_distribute
        if strategy is None:
            return self._session_config
        return strategy.update_config_proto(self._session_config)

    # -- prediction -----------------------------------------------------------------------------------------

    def predict(
        self,
        input_fn: Callable,
        predict_keys: Any = None,
        hooks: Iterable[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """Yields the predictions for each example, or for each batch, till the input ends."""
        all_hooks = checked_hooks(hooks)
        path = checkpoint_path or self._latest_or_tell("predict")
        graph = tf.Graph()
        with graph.as_default():
            tf.set_random_seed(self._config.tf_random_seed)
            self._create_and_assert_global_step(graph)
            inputs = self._inputs(input_fn, ModeKeys.PREDICT)
            if not may_end(inputs.features):
                tf.logging.warning(
                    "Input graph does not use tf.data.Dataset or contain a QueueRunner. That means predict yields "
                    "forever. This is probably a mistake."
                )
            spec = self._call_model_fn(inputs.features, None, ModeKeys.PREDICT, self.config)
            self._maybe_warm_start(path)
            predictions = chosen(spec.predictions, predict_keys)
            creator = ChiefSessionCreator(
                checkpoint_filename_with_path=path,
                master=self._config.master,
                scaffold=spec.scaffold,
                config=self._session_config,
            )
            session = MonitoredSession(creator, [*inputs.hooks, *all_hooks, *spec.prediction_hooks])
        with _Ending(session, graph):
            while not session.should_stop():
                with graph.as_default():  # not while the caller has what is yielded
                    values = session.run(predictions)
                if not yield_single_examples:
                    yield values
                elif isinstance(predictions, dict):
                    for i in range(batch_length(values)):
                        yield {name: value[i] for name, value in values.items()}
                else:
                    yield from values

    # -- export ---------------------------------------------------------------------------------------------

    def export_saved_model(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Callable,
        assets_extra: dict[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        experimental_mode: str = ModeKeys.PREDICT,
    ) -> bytes:
        """Exports the model for a mode as a SavedModel, in a new folder whose name is the time."""
        return self._export(
            export_dir_base,
            {experimental_mode: serving_input_receiver_fn},
            assets_extra,
            as_text,
            checkpoint_path,
            strip_default_attrs=True,
        )

    def export_savedmodel(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Callable,
        assets_extra: dict[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """The older name of `export_saved_model`."""
        return self._export(
            export_dir_base,
            {ModeKeys.PREDICT: serving_input_receiver_fn},
            assets_extra,
            as_text,
            checkpoint_path,
            strip_default_attrs,
        )

    def experimental_export_all_saved_models(
        self,
        export_dir_base: Any,
        input_receiver_fn_map: dict[str, Callable],
        assets_extra: dict[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
    ) -> bytes:
        """Exports the model for several modes, each with its own inputs, in one SavedModel."""
        return self._export_all_saved_models(
            export_dir_base, input_receiver_fn_map, assets_extra, as_text, checkpoint_path
        )

    def _export(
        self,
        export_dir_base: Any,
        receivers: dict[str, Callable],
        assets_extra: dict[str, str] | None,
        as_text: bool,
        checkpoint_path: str | None,
        strip_default_attrs: bool,
    ) -> bytes:
        if not all(receivers.values()):
            raise ValueError("An input_receiver_fn must be defined.")
        return self._export_all_saved_models(
            export_dir_base, receivers, assets_extra, as_text, checkpoint_path, strip_default_attrs
        )

    def _export_all_saved_models(
        self,
        export_dir_base: Any,
        input_receiver_fn_map: dict[str, Callable],
        assets_extra: dict[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = True,
    ) -> bytes:
        path = checkpoint_path or self.latest_checkpoint()
        if not path and self._warm_start_settings:
            path = self._warm_start_settings.ckpt_to_initialize_from
            if tf.gfile.IsDirectory(path):
                path = tf.train.latest_checkpoint(path)
        if not path:
            raise ValueError(f"Couldn't find trained model at {self._model_dir}.")
        return exporting.export(
            self,
            export_dir_base,
            input_receiver_fn_map,
            assets_extra,
            as_text,
            path,
            strip_default_attrs,
        )

    # -- calling what the user gave ---------------------------------------------------------------------------

    def _latest_or_tell(self, purpose: str) -> str | None:
        path = self.latest_checkpoint()
        if not path:
            tf.logging.info(
                "Could not find trained model in model_dir: %s, running initialization to %s.",
                self._model_dir,
                purpose,
            )
        return path

    def _maybe_warm_start(self, checkpoint_path: str | None) -> None:
        if not checkpoint_path and self._warm_start_settings:
            begin_with(self._warm_start_settings)

    def _create_global_step(self, graph: Any) -> Any:
        return tf.train.create_global_step(graph)

    def _create_and_assert_global_step(self, graph: Any) -> Any:
        step = self._create_global_step(graph)
        if step is not tf.train.get_global_step(graph) or not step.dtype.is_integer:
            raise ValueError(f"{step} is not the global step of the graph, an integer")
        return step

    def _inputs(self, input_fn: Callable, mode: str) -> ModelInputs:
        return model_inputs(self._call_input_fn(input_fn, mode))

    def _call_input_fn(self, input_fn: Callable, mode: str, input_context: Any = None) -> Any:
        offered = {"mode": mode, "params": self.params, "config": self.config}
        if input_context is not None:
            offered["input_context"] = input_context
        with tf.device("/cpu:0"):
            return input_fn(**those_taken(input_fn, offered))

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        result = self._model_result(features, labels, mode, config, self.params)
        return self._checked_result(result)

    def _call_model_fn_to_export(
        self, features: Any, labels: Any, mode: str, config: Any
    ) -> EstimatorSpec:
        return self._call_model_fn(features, labels, mode, config)

    def _model_result(self, features: Any, labels: Any, mode: str, config: Any, params: Any) -> Any:
        """What the user's function gives for what it takes."""
        offered = {"labels": labels, "mode": mode, "params": params, "config": config}
        taken = those_taken(self._model_fn, offered)
        if "labels" not in taken and labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        tf.logging.info("Calling model_fn.")
        result = self._model_fn(features=features, **taken)
        tf.logging.info("Done calling model_fn.")
        return result

    @staticmethod
    def _checked_result(result: Any) -> EstimatorSpec:
        if not isinstance(result, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        return result


class _Ending:
    """Ends a monitored session with its own graph as the default graph, which its hooks may expect."""

    def __init__(self, session: MonitoredSession, graph: Any):
        self._session, self._graph = session, graph

    def __enter__(self) -> None:
        self._session.__enter__()

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> bool:
        with self._graph.as_default():
            return self._session.__exit__(kind, value, traceback)
