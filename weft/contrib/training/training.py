"""Operations that train: the loss, after gradients have been changed and applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.framework.indexed_slices import IndexedSlices
from weft.train.optimizer import Optimizer

USE_GLOBAL_STEP = 0  # says: the global step of the graph


def with_values(gradient: Any, change: Callable) -> Any:
    """A gradient, of rows or of everything, with its values changed."""
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(change(gradient.values), gradient.indices, gradient.dense_shape)
    return change(gradient)


@export("contrib.training.add_gradients_summaries")
def add_gradients_summaries(grads_and_vars: Any, separator: str = "_") -> list[Any]:
    """A histogram and the norm of each gradient."""
    summaries = []
    for gradient, variable in grads_and_vars:
        if gradient is None:
            tf.logging.info("Var %s has no gradient", variable.op.name)
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        name = f"{variable.op.name}{separator}gradient"
        summaries.append(tf.summary.histogram(name, values))
        summaries.append(tf.summary.scalar(f"{name}_norm", tf.global_norm([values])))
    return summaries


@export("contrib.training.clip_gradient_norms")
def clip_gradient_norms(gradients_to_variables: Any, max_norm: float) -> list[tuple]:
    """The gradients, each scaled down to a norm of at most `max_norm`."""
    return [
        (None if g is None else with_values(g, lambda x: tf.clip_by_norm(x, max_norm)), v)
        for g, v in gradients_to_variables
    ]


@export("contrib.training.clip_gradient_norms_fn")
def clip_gradient_norms_fn(max_norm: float) -> Callable:
    """A function that clips gradients."""
    return lambda gradients_to_variables: clip_gradient_norms(gradients_to_variables, max_norm)


@export("contrib.training.multiply_gradients")
def multiply_gradients(grads_and_vars: Any, gradient_multipliers: Any) -> list[tuple]:
    """The gradients of some variables, given themselves or by name, multiplied."""
    if not isinstance(grads_and_vars, list):
        raise ValueError("`grads_and_vars` must be a list.")
    if not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    if not isinstance(gradient_multipliers, dict):
        raise ValueError("`gradient_multipliers` must be a dict.")

    def multiplied(gradient: Any, variable: Any) -> Any:
        for key, factor in gradient_multipliers.items():
            if key is variable or (isinstance(key, str) and key == variable.op.name):
                if gradient is None:
                    raise ValueError("Requested multiple of `None` gradient.")
                return with_values(
                    gradient, lambda g, f=factor: g * tf.convert_to_tensor(f, dtype=g.dtype)
                )
        return gradient

    return [(multiplied(g, v), v) for g, v in grads_and_vars]


@export("contrib.training.create_train_op")
def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    transform_grads_fn: Callable | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Any:
    """The loss, with a step of training and the updates of the graph (`UPDATE_OPS`) before it."""
    if global_step is USE_GLOBAL_STEP:
        global_step = tf.train.get_or_create_global_step()
    known = tf.get_collection(GraphKeys.UPDATE_OPS)
    updates = list(known if update_ops is None else update_ops)
    if {id(u) for u in known} - {id(u) for u in updates}:
        tf.logging.warning(
            "update_ops in create_train_op does not contain all the update_ops in GraphKeys.UPDATE_OPS"
        )
    if updates:
        with tf.control_dependencies(updates):
            barrier = tf.no_op(name="update_barrier")
        with tf.control_dependencies([barrier]):
            total_loss = tf.identity(total_loss)
    if variables_to_train is None:
        variables_to_train = tf.trainable_variables()
    if not variables_to_train:
        raise ValueError("There are no variables to train.")
    pairs = optimizer.compute_gradients(
        total_loss,
        variables_to_train,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        with tf.name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    step = optimizer.apply_gradients(pairs, global_step=global_step)
    with tf.name_scope("train_op"):
        if check_numerics:
            total_loss = tf.check_numerics(total_loss, "LossTensor is inf or nan")
        with tf.control_dependencies([step]):
            train_op = tf.identity(total_loss)
    tf.add_to_collection(GraphKeys.TRAIN_OP, train_op)
    return train_op


@export("contrib.training.train")
def train(
    train_op: Any,
    logdir: str | None,
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Any = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: Any = None,
    max_wait_secs: float = 7200,
    run_metadata: Any = None,
) -> Any:
    """Trains until a hook stops: the last loss."""
    if logdir is None and is_chief:
        for name, value in (
            ("save_summaries_steps", save_summaries_steps),
            ("save_checkpoint_secs", save_checkpoint_secs),
        ):
            if value:
                raise ValueError(f"logdir cannot be None when {name} is not None")
    with tf.train.MonitoredTrainingSession(
        master=master,
        is_chief=is_chief,
        checkpoint_dir=logdir,
        scaffold=scaffold,
        hooks=hooks,
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
        max_wait_secs=max_wait_secs,
    ) as session:
        loss = None
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss
