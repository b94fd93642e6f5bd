"""`tf.contrib.learn.RunConfig` and `ModeKeys`."""

from __future__ import annotations

from typing import Any

from weft import proto
from weft.estimator.cluster_role import tf_config
from weft.estimator.run_config import RunConfig as PlainRunConfig
from weft.framework.export import export

_NOT_IN_UID = (
    "tf_random_seed",
    "save_summary_steps",
    "save_checkpoints_steps",
    "save_checkpoints_secs",
    "session_config",
    "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
)


@export("contrib.learn.ModeKeys")
class ModeKeys:
    """What a model function is called for."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

    @classmethod
    def validate(cls, key: str) -> None:
        """ValueError if this is none of them."""
        if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
            raise ValueError(f"Invalid mode {key}.")


@export("contrib.learn.RunConfig")
class RunConfig(PlainRunConfig):
    """The configuration of an experiment; 0 seconds between checkpoints stands for the default."""

    _master: str
    _evaluation_master: str

    def __init__(
        self,
        master: str | None = None,
        num_cores: int = 0,
        log_device_placement: bool = False,
        gpu_memory_fraction: float = 1,
        tf_random_seed: int | None = None,
        save_summary_steps: int = 100,
        save_checkpoints_secs: int | None = 0,
        save_checkpoints_steps: int | None = None,
        keep_checkpoint_max: int = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int = 100,
        protocol: str | None = None,
        evaluation_master: str = "",
        model_dir: Any = None,
        session_config: Any = None,
        session_creation_timeout_secs: int = 7200,
    ):
        if save_checkpoints_secs == 0:
            save_checkpoints_secs = 600 if save_checkpoints_steps is None else None
        super().__init__(
            model_dir=model_dir,
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            save_checkpoints_steps=save_checkpoints_steps,
            save_checkpoints_secs=save_checkpoints_secs,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            protocol=protocol,
            session_creation_timeout_secs=session_creation_timeout_secs,
        )
        if master is not None:
            self._master = master
        if evaluation_master:
            self._evaluation_master = evaluation_master
        self._environment = tf_config().get("environment", "local")
        self._tf_config = proto.ConfigProto(
            log_device_placement=log_device_placement,
            inter_op_parallelism_threads=num_cores,
            intra_op_parallelism_threads=num_cores,
            gpu_options=proto.GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
        )

    @property
    def environment(self) -> str:
        """Where this runs: "local", or as TF_CONFIG says."""
        return self._environment

    @property
    def tf_config(self) -> Any:
        """The configuration of the servers."""
        return self._tf_config

    def uid(self, whitelist: Any = None) -> str:
        """A text that differs where configurations differ in more than those properties."""
        left_out = {f"_{name}" for name in (_NOT_IN_UID if whitelist is None else whitelist)}
        state = {k: v for k, v in sorted(vars(self).items()) if k not in left_out}
        if state.get("_cluster_spec") is not None:
            state["_cluster_spec"] = sorted(state["_cluster_spec"].as_dict().items())
        return ", ".join(f"{k}={v!r}" for k, v in state.items())
