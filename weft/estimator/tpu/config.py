"""`tf.contrib.tpu.RunConfig` and `TPUConfig`: what programs say of the TPUs that they were written for."""

from __future__ import annotations

import collections
import re
from typing import Any

from weft import proto
from weft.estimator.cluster_role import TaskType, tf_config
from weft.estimator.run_config import RunConfig as PlainRunConfig
from weft.framework.export import export


@export("estimator.tpu.InputPipelineConfig", "contrib.tpu.InputPipelineConfig")
class InputPipelineConfig:
    """How often the input function is called: for each core, for each host, or once."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


def check_positive(value: Any, what: str) -> None:
    """TypeError or ValueError if this is no positive integer."""
    if not isinstance(value, int):
        raise TypeError(f"{what} must be int, got {type(value)}")
    if value <= 0:
        raise ValueError(f"{what} must be positive, got {value}")


def steps_per_loop(iterations_per_loop: Any) -> int | None:
    """How many steps a loop has; None where it is told in seconds, minutes or hours."""
    match = re.fullmatch(r"([1-9]\d*)([smh]?)", str(iterations_per_loop))
    if match is None:
        raise ValueError(
            "Invalid TPUConfig `iterations_per_loop` value. Value must be positive integer value or time-based value "
            f"`<N><s|m|h>`, such as `3600s`, `60m` or `1h`, got {iterations_per_loop}"
        )
    return None if match[2] else int(match[1])


@export("estimator.tpu.TPUConfig", "contrib.tpu.TPUConfig")
class TPUConfig(
    collections.namedtuple(
        "_TPUConfig",
        [
            "iterations_per_loop",
            "num_shards",
            "num_cores_per_replica",
            "per_host_input_for_training",
            "tpu_job_name",
            "initial_infeed_sleep_secs",
            "input_partition_dims",
            "eval_training_input_configuration",
            "experimental_host_call_every_n_steps",
        ],
    )
):
    """How TPUs would be used. Without one only `iterations_per_loop` matters: logs come once for so many loops."""

    __slots__ = ()

    def __new__(
        cls,
        iterations_per_loop: Any = 2,
        num_shards: int | None = None,
        num_cores_per_replica: int | None = None,
        per_host_input_for_training: Any = True,
        tpu_job_name: str | None = None,
        initial_infeed_sleep_secs: int | None = None,
        input_partition_dims: Any = None,
        eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1,
        experimental_host_call_every_n_steps: int = 1,
    ) -> TPUConfig:
        steps_per_loop(iterations_per_loop)
        if num_shards is not None:
            check_positive(num_shards, "TPUConfig num_shards")
        if input_partition_dims is not None:
            if len(input_partition_dims) not in (1, 2):
                raise ValueError(
                    "input_partition_dims must be a list/tuple with one or two elements."
                )
            if per_host_input_for_training is not InputPipelineConfig.PER_HOST_V2:
                raise ValueError("input_partition_dims is only supported in PER_HOST_V2 mode.")
            if num_cores_per_replica is None:
                raise ValueError("input_partition_dims requires setting num_cores_per_replica.")
        if num_cores_per_replica not in (None, 1, 2, 4, 8, 16, 32, 64, 128):
            raise ValueError(
                f"num_cores_per_replica must be 1, 2, 4, 8, 16, 32, 64, 128; got {num_cores_per_replica}"
            )
        if eval_training_input_configuration not in (
            InputPipelineConfig.PER_HOST_V1,
            InputPipelineConfig.SLICED,
        ):
            raise ValueError(
                "eval_training_input_configuration must be PER_HOST_V1 or SLICED; got "
                f"{eval_training_input_configuration}"
            )
        if isinstance(per_host_input_for_training, bool):
            per_host_input_for_training = (
                InputPipelineConfig.PER_HOST_V1
                if per_host_input_for_training
                else InputPipelineConfig.PER_SHARD_V1
            )
        if initial_infeed_sleep_secs:
            check_positive(initial_infeed_sleep_secs, "TPUConfig initial_infeed_sleep_secs")
        job = tpu_job_name or tf_config().get("service", {}).get("tpu_worker_job_name")
        return super().__new__(
            cls,
            iterations_per_loop,
            num_shards,
            num_cores_per_replica,
            per_host_input_for_training,
            job,
            initial_infeed_sleep_secs,
            input_partition_dims,
            eval_training_input_configuration,
            experimental_host_call_every_n_steps,
        )


@export("estimator.tpu.RunConfig", "contrib.tpu.RunConfig")
class RunConfig(PlainRunConfig):
    """A configuration that also says how TPUs would be used, and where sessions run."""

    _REPLACEABLE = (*PlainRunConfig._REPLACEABLE, "tpu_config")
    _tpu_config: Any
    _cluster: Any
    _master: str
    _evaluation_master: str
    _cluster_spec: Any

    def __init__(
        self,
        tpu_config: TPUConfig | None = None,
        evaluation_master: str | None = None,
        master: str | None = None,
        cluster: Any = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._tpu_config = tpu_config or TPUConfig()
        self._cluster = cluster
        if master is not None and cluster is not None:
            raise ValueError("Both master and cluster are set.")
        if cluster is not None:
            self._take_cluster(cluster)
        elif master is not None:
            self._master = master
        if evaluation_master is not None:
            self._evaluation_master = evaluation_master
        elif not self._evaluation_master and self.task_type != TaskType.EVALUATOR:
            self._evaluation_master = self._master

    def _take_cluster(self, cluster: Any) -> None:
        self._master, self._cluster_spec = cluster.master(), cluster.cluster_spec()
        if self._session_config is None:
            self._session_config = proto.ConfigProto(
                allow_soft_placement=True, isolate_session_state=True
            )
        if self._session_config.HasField("cluster_def"):
            raise ValueError("You cannot provide a ClusterResolver and session_config.cluster_def.")
        if self._cluster_spec:
            self._session_config.cluster_def.CopyFrom(self._cluster_spec.as_cluster_def())

    @property
    def tpu_config(self) -> TPUConfig:
        """How TPUs would be used."""
        return self._tpu_config

    @property
    def cluster(self) -> Any:
        """What resolved the cluster, or None."""
        return self._cluster
