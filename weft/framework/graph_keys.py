"""GraphKeys: the names of the collections that the libraries use."""

from __future__ import annotations

from weft.framework.export import export


class _WithOldNames(type):
    @property
    def VARIABLES(cls) -> str:
        """The old name of GLOBAL_VARIABLES."""
        return cls.GLOBAL_VARIABLES  # type: ignore[attr-defined]


@export("GraphKeys")
class GraphKeys(metaclass=_WithOldNames):
    """Names of graph collections: what is in them is found by those who need it (savers, optimizers, ...)."""

    GLOBAL_VARIABLES = "variables"  # shared, saved and restored
    LOCAL_VARIABLES = "local_variables"  # of one process, not saved
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"  # needed for inference
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"

    _STREAMING_MODEL_PORTS = "streaming_model_ports"
    _SUMMARY_COLLECTION = "_SUMMARY_V2"

    # What holds variables; MetaGraph export and `get_collection` of variable scopes go by it.
    _VARIABLE_COLLECTIONS = [
        GLOBAL_VARIABLES,
        LOCAL_VARIABLES,
        METRIC_VARIABLES,
        MODEL_VARIABLES,
        TRAINABLE_VARIABLES,
        MOVING_AVERAGE_VARIABLES,
        CONCATENATED_VARIABLES,
        TRAINABLE_RESOURCE_VARIABLES,
    ]
