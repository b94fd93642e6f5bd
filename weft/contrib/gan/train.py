"""Training: operations for generator and discriminator, and loops that run them in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.gan.namedtuples import CycleGANModel, GANTrainOps, GANTrainSteps
from weft.contrib.slim.learning import train_step
from weft.contrib.training import training
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys
from weft.train.sync_replicas import SyncReplicasOptimizer


def _update_ops(kwargs: dict[str, Any], scopes: list[str], check_for_unused_ops: bool) -> list:
    """The updates of each scope; ValueError for those that are in no scope."""
    wanted = kwargs.pop("update_ops", None)
    wanted = list(tf.get_collection(GraphKeys.UPDATE_OPS) if wanted is None else wanted)
    parts = [set(tf.get_collection(GraphKeys.UPDATE_OPS, scope)) for scope in scopes]
    if check_for_unused_ops:
        unused = set(wanted) - set().union(*parts)
        if unused:
            raise ValueError(f"There are unused update ops: {unused}")
    return [[u for u in dict.fromkeys(wanted) if u in part] for part in parts]


@export("contrib.gan.gan_train_ops")
def gan_train_ops(
    model: Any,
    loss: Any,
    generator_optimizer: Any,
    discriminator_optimizer: Any,
    check_for_unused_update_ops: bool = True,
    is_chief: bool = True,
    **kwargs: Any,
) -> GANTrainOps:
    """Operations that train generator and discriminator, and one that counts steps."""
    if isinstance(model, CycleGANModel):
        parts = []
        for way, part, part_loss in (
            ("x2y", model.model_x2y, loss.loss_x2y),
            ("y2x", model.model_y2x, loss.loss_y2x),
        ):
            with tf.name_scope(f"cyclegan_{way}_train"):
                parts.append(
                    gan_train_ops(
                        part,
                        part_loss,
                        generator_optimizer,
                        discriminator_optimizer,
                        check_for_unused_update_ops,
                        is_chief,
                        **kwargs,
                    )
                )
        return GANTrainOps(
            tuple(p.generator_train_op for p in parts),
            tuple(p.discriminator_train_op for p in parts),
            tf.train.get_or_create_global_step().assign_add(1),
        )
    step = tf.train.get_or_create_global_step()
    counted = step.assign_add(1)
    scopes = [model.generator_scope.name, model.discriminator_scope.name]
    updates = _update_ops(kwargs, scopes, check_for_unused_update_ops)
    ops: list[Any] = []
    hooks: list[Any] = []
    for name, part_loss, optimizer, variables, update_ops in (
        (
            "generator",
            loss.generator_loss,
            generator_optimizer,
            model.generator_variables,
            updates[0],
        ),
        (
            "discriminator",
            loss.discriminator_loss,
            discriminator_optimizer,
            model.discriminator_variables,
            updates[1],
        ),
    ):
        own_step = None
        if isinstance(optimizer, SyncReplicasOptimizer):
            # It counts steps itself, and both may not count in one variable.
            own_step = tf.get_variable(
                f"dummy_global_step_{name}",
                shape=[],
                dtype=step.dtype.base_dtype,
                initializer=tf.zeros_initializer(),
                trainable=False,
                collections=[GraphKeys.GLOBAL_VARIABLES],
            )
            update_ops = [*update_ops, own_step.assign(step)]
            hooks.append(optimizer.make_session_run_hook(is_chief))
        with tf.name_scope(f"{name}_train"):
            ops.append(
                training.create_train_op(
                    total_loss=part_loss,
                    optimizer=optimizer,
                    variables_to_train=variables,
                    global_step=own_step,
                    update_ops=update_ops,
                    **kwargs,
                )
            )
    return GANTrainOps(ops[0], ops[1], counted, hooks)


@export("contrib.gan.RunTrainOpsHook")
class RunTrainOpsHook(tf.train.SessionRunHook):
    """Runs operations some times before each step."""

    def __init__(self, train_ops: Any, train_steps: int):
        self._train_ops = train_ops if isinstance(train_ops, (list, tuple)) else [train_ops]
        self._train_steps = train_steps

    def before_run(self, run_context: Any) -> None:
        for _ in range(self._train_steps):
            run_context.session.run(self._train_ops)


_ONE_EACH = GANTrainSteps(1, 1)


@export("contrib.gan.get_sequential_train_hooks")
def get_sequential_train_hooks(train_steps: Any = _ONE_EACH) -> Callable:
    """A function that gives hooks which train the generator, and then the discriminator."""

    def hooks(train_ops: Any) -> list[Any]:
        return [
            RunTrainOpsHook(train_ops.generator_train_op, train_steps.generator_train_steps),
            RunTrainOpsHook(
                train_ops.discriminator_train_op, train_steps.discriminator_train_steps
            ),
            *train_ops.train_hooks,
        ]

    return hooks


@export("contrib.gan.get_joint_train_hooks")
def get_joint_train_hooks(train_steps: Any = _ONE_EACH) -> Callable:
    """A function that gives hooks which train both at once, and then the one that has more steps."""
    both = min(train_steps)

    def hooks(train_ops: Any) -> list[Any]:
        generator, discriminator = train_ops.generator_train_op, train_ops.discriminator_train_op
        return [
            RunTrainOpsHook([generator, discriminator], both),
            RunTrainOpsHook(generator, train_steps.generator_train_steps - both),
            RunTrainOpsHook(discriminator, train_steps.discriminator_train_steps - both),
            *train_ops.train_hooks,
        ]

    return hooks


_IN_TURN = get_sequential_train_hooks()


@export("contrib.gan.gan_train")
def gan_train(
    train_ops: Any,
    logdir: str | None,
    get_hooks_fn: Callable = _IN_TURN,
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Any = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: Any = None,
) -> Any:
    """Trains until a hook stops: the last number of steps."""
    return training.train(
        train_ops.global_step_inc_op,
        logdir,
        master=master,
        is_chief=is_chief,
        scaffold=scaffold,
        hooks=[*(hooks or ()), *get_hooks_fn(train_ops)],
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
    )


@export("contrib.gan.get_sequential_train_steps")
def get_sequential_train_steps(train_steps: Any = _ONE_EACH) -> Callable:
    """A function for `slim.learning.train` that trains the generator, and then the discriminator."""

    def steps(
        sess: Any, train_ops: Any, global_step: Any, train_step_kwargs: dict[str, Any]
    ) -> tuple[Any, Any]:
        kwargs = {k: v for k, v in train_step_kwargs.items() if k != "should_stop"}
        total = 0
        for op, count in (
            (train_ops.generator_train_op, train_steps.generator_train_steps),
            (train_ops.discriminator_train_op, train_steps.discriminator_train_steps),
        ):
            for _ in range(count):
                total += train_step(sess, op, global_step, kwargs)[0]
        sess.run(train_ops.global_step_inc_op)
        stop = train_step_kwargs.get("should_stop")
        return total, False if stop is None else sess.run(stop)

    return steps
