"""`tf.estimator.RunConfig`: how and where a model is trained."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from typing import Any

import weft as tf
from weft import proto
from weft.estimator.arguments import arguments_of
from weft.estimator.cluster_role import ClusterRole, TaskType, role_from, tf_config
from weft.framework.compat_text import path_to_str
from weft.framework.export import export

_UNSET: Any = object()
DEFAULT_SECONDS_BETWEEN_CHECKPOINTS = 600
_BOTH = "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."


def _rewriting_once() -> Any:
    return proto.GraphOptions(
        rewrite_options=proto.RewriterConfig(meta_optimizer_iterations=proto.RewriterConfig.ONE)
    )


def default_session_config() -> Any:
    """The configuration of sessions where the user gave none."""
    return proto.ConfigProto(allow_soft_placement=True, graph_options=_rewriting_once())


def _cluster_session_config(role: ClusterRole) -> Any:
    """The same in a cluster: tasks see their parameter servers and not each other; None for an evaluator."""
    filters = {
        TaskType.MASTER: ["/job:ps", "/job:master"],
        TaskType.CHIEF: ["/job:ps", "/job:chief"],
        TaskType.WORKER: ["/job:ps", f"/job:worker/task:{role.task_id}"],
        TaskType.PS: ["/job:ps", "/job:worker", "/job:chief", "/job:master"],
    }.get(role.task_type)
    if filters is None:
        return None
    return proto.ConfigProto(
        allow_soft_placement=True, graph_options=_rewriting_once(), device_filters=filters
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int)


# What a property must be where it is not None, and how it is told.
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "model_dir": (bool, "model_dir should be non-empty"),
    "save_summary_steps": (lambda n: n >= 0, "save_summary_steps should be >= 0"),
    "save_checkpoints_steps": (lambda n: n >= 0, "save_checkpoints_steps should be >= 0"),
    "save_checkpoints_secs": (lambda n: n >= 0, "save_checkpoints_secs should be >= 0"),
    "session_config": (
        lambda c: isinstance(c, proto.ConfigProto),
        "session_config must be instance of ConfigProto",
    ),
    "keep_checkpoint_max": (lambda n: n >= 0, "keep_checkpoint_max should be >= 0"),
    "keep_checkpoint_every_n_hours": (
        lambda n: n > 0,
        "keep_checkpoint_every_n_hours should be > 0",
    ),
    "log_step_count_steps": (lambda n: n > 0, "log_step_count_steps should be > 0"),
    "tf_random_seed": (_is_whole, "tf_random_seed must be integer."),
    "experimental_max_worker_delay_secs": (
        _is_whole,
        "experimental_max_worker_delay_secs must be an integer if set.",
    ),
    "session_creation_timeout_secs": (
        lambda n: n > 0,
        "session_creation_timeout_secs should be > 0",
    ),
    "device_fn": (
        lambda f: callable(f) and set(arguments_of(f)) == {"op"},
        'device_fn must be callable with exactly one argument "op".',
    ),
    "protocol": (lambda p: p in ("grpc", "grpc+verbs"), "protocol should be grpc or grpc+verbs"),
}


class _Stored:
    """A property that is read from the attribute of the same name with an underscore."""

    def __init__(self, effect: str):
        self.__doc__ = effect

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = f"_{name}"

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else getattr(instance, self._attribute)

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError("properties of a RunConfig cannot be set: use `replace`")


@export("estimator.RunConfig")
class RunConfig:
    """How often a model is saved and summarised, with which seed and sessions, and which task of a cluster this is.

    The task comes from the environment variable TF_CONFIG. Properties cannot be set: `replace` gives a copy.
    """

    _REPLACEABLE: tuple[str, ...] = (
        "model_dir",
        "tf_random_seed",
        "save_summary_steps",
        "save_checkpoints_steps",
        "save_checkpoints_secs",
        "session_config",
        "keep_checkpoint_max",
        "keep_checkpoint_every_n_hours",
        "log_step_count_steps",
        "train_distribute",
        "device_fn",
        "protocol",
        "eval_distribute",
        "experimental_distribute",
        "experimental_max_worker_delay_secs",
        "session_creation_timeout_secs",
    )

    def __init__(
        self,
        model_dir: Any = None,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_steps: int | None = _UNSET,
        save_checkpoints_secs: int | None = _UNSET,
        session_config: Any = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float | None = 10000,
        log_step_count_steps: int | None = 100,
        train_distribute: Any = None,
        device_fn: Callable | None = None,
        protocol: str | None = None,
        eval_distribute: Any = None,
        experimental_distribute: Any = None,
        experimental_max_worker_delay_secs: int | None = None,
        session_creation_timeout_secs: int | None = 7200,
    ):
        if save_checkpoints_steps is _UNSET and save_checkpoints_secs is _UNSET:
            save_checkpoints_secs = DEFAULT_SECONDS_BETWEEN_CHECKPOINTS
        steps = None if save_checkpoints_steps is _UNSET else save_checkpoints_steps
        secs = None if save_checkpoints_secs is _UNSET else save_checkpoints_secs
        if steps is not None and secs is not None:
            raise ValueError(_BOTH)
        environment = tf_config()
        if environment:
            tf.logging.info("TF_CONFIG environment variable: %s", environment)
        self._set(
            {
                "model_dir": _model_dir(environment, path_to_str(model_dir)),
                "tf_random_seed": tf_random_seed,
                "save_summary_steps": save_summary_steps,
                "save_checkpoints_steps": steps,
                "save_checkpoints_secs": secs,
                "session_config": session_config,
                "keep_checkpoint_max": keep_checkpoint_max,
                "keep_checkpoint_every_n_hours": keep_checkpoint_every_n_hours,
                "log_step_count_steps": log_step_count_steps,
                "train_distribute": train_distribute,
                "device_fn": device_fn,
                "protocol": protocol,
                "eval_distribute": eval_distribute,
                "experimental_distribute": experimental_distribute,
                "experimental_max_worker_delay_secs": experimental_max_worker_delay_secs,
                "session_creation_timeout_secs": session_creation_timeout_secs,
            }
        )
        role = role_from(environment, among_equals=train_distribute is not None)
        for name, value in vars(role).items():
            setattr(self, f"_{name}", value)
        if not self._session_config and role.cluster_spec:
            self._session_config = _cluster_session_config(role)

    _session_config: Any

    cluster_spec: Any = _Stored("The cluster; empty where there is none.")
    device_fn: Any = _Stored("The device of each operation, or None.")
    evaluation_master: Any = _Stored("Where evaluations run.")
    eval_distribute: Any = _Stored("The strategy of evaluations, or None.")
    experimental_max_worker_delay_secs: Any = _Stored(
        "The longest that a worker waits before it begins."
    )
    global_id_in_cluster: Any = _Stored(
        "The place of this task among all tasks that train; the chief is 0."
    )
    is_chief: Any = _Stored("Whether this task initialises and saves the model.")
    keep_checkpoint_every_n_hours: Any = _Stored(
        "How often a checkpoint is kept for good, in hours."
    )
    keep_checkpoint_max: Any = _Stored("How many checkpoints are kept; all if None or 0.")
    log_step_count_steps: Any = _Stored("How often the loss and the steps per second are logged.")
    master: Any = _Stored("Where sessions run.")
    model_dir: Any = _Stored("Where the model is saved.")
    num_ps_replicas: Any = _Stored("How many parameter servers there are.")
    num_worker_replicas: Any = _Stored("How many tasks train, with the chief.")
    protocol: Any = _Stored("The protocol of the servers, or None.")
    save_checkpoints_secs: Any = _Stored("How often the model is saved, in seconds.")
    save_checkpoints_steps: Any = _Stored("How often the model is saved, in steps.")
    save_summary_steps: Any = _Stored("How often summaries are written, in steps.")
    service: Any = _Stored("What TF_CONFIG says of the service.")
    session_config: Any = _Stored("The configuration of sessions.")
    session_creation_timeout_secs: Any = _Stored("How long workers wait for the chief.")
    task_id: Any = _Stored("Which of the tasks of its job this is.")
    task_type: Any = _Stored("The job of this task.")
    tf_random_seed: Any = _Stored("The seed of the graphs.")
    train_distribute: Any = _Stored("The strategy of training, or None.")

    def _set(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            if name not in self._REPLACEABLE:
                raise ValueError(
                    f"Replacing {name} is not supported. Allowed properties are {list(self._REPLACEABLE)}."
                )
            setattr(self, f"_{name}", value)
        steps, secs = (
            values.get(name) is not None
            for name in ("save_checkpoints_steps", "save_checkpoints_secs")
        )
        if steps and secs:
            raise ValueError(_BOTH)
        if steps and "save_checkpoints_secs" not in values:
            self._save_checkpoints_secs = None
        if secs and "save_checkpoints_steps" not in values:
            self._save_checkpoints_steps = None
        for name, (holds, otherwise) in _RULES.items():
            value = getattr(self, f"_{name}")
            if value is not None and not holds(value):
                raise ValueError(otherwise)

    def replace(self, **kwargs: Any) -> Any:
        """A copy with other values of some properties."""
        other = copy.deepcopy(self)
        other._set(kwargs)
        return other


def _model_dir(environment: dict[str, Any], given: str | None) -> str | None:
    """The folder of the model, which the program and TF_CONFIG may both name."""
    if given == "":
        raise ValueError("model_dir should be non-empty.")
    told = environment.get("model_dir")
    if told == "":
        raise ValueError("model_dir in TF_CONFIG should be non-empty.")
    if told and given and told != given:
        raise ValueError(
            "`model_dir` provided in RunConfig construct, if set, must have the same value as the model_dir in "
            f'TF_CONFIG. model_dir: {given}\nTF_CONFIG["model_dir"]: {told}.\n'
        )
    return given or told


def with_defaults(config: RunConfig | None, model_dir: Any) -> RunConfig:
    """The configuration of an estimator: with a session's configuration, and a folder if need be a temporary one."""
    if config is None:
        config = RunConfig()
        tf.logging.info("Using default config.")
    if not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
    changes: dict[str, Any] = {}
    if config.session_config is None:
        changes["session_config"] = default_session_config()
    model_dir, configured = path_to_str(model_dir), config.model_dir
    if model_dir is not None and configured is not None and configured != model_dir:
        raise ValueError(
            "`model_dir` are set both in constructor and `RunConfig`, but with different values. In constructor: "
            f"'{model_dir}', in `RunConfig`: '{configured}' "
        )
    if not model_dir and configured is None:
        model_dir = tempfile.mkdtemp()
        tf.logging.warning("Using temporary folder as model directory: %s", model_dir)
    if model_dir:
        changes["model_dir"] = model_dir
    return config.replace(**changes)
