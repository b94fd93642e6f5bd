"""Losses of discriminators and generators, with tensors for arguments."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export
from weft.framework.graph_keys import GraphKeys

LOSSES = GraphKeys.LOSSES
MEAN = tf.losses.Reduction.SUM_BY_NONZERO_WEIGHTS


def _summaries(wanted: bool, **values: Any) -> None:
    if wanted:
        for name, value in values.items():
            tf.summary.scalar(name, value)


@export("contrib.gan.losses.wargs.wasserstein_generator_loss")
def wasserstein_generator_loss(
    discriminator_gen_outputs: Any,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = LOSSES,
    reduction: Any = MEAN,
    add_summaries: bool = False,
) -> Any:
    """How far from real the discriminator thinks what was generated is (Arjovsky et al. 2017)."""
    with tf.name_scope(
        scope, "generator_wasserstein_loss", (discriminator_gen_outputs, weights)
    ) as scope:
        loss = -tf.to_float(discriminator_gen_outputs)
        loss = tf.losses.compute_weighted_loss(loss, weights, scope, loss_collection, reduction)
        _summaries(add_summaries, generator_wass_loss=loss)
    return loss


@export("contrib.gan.losses.wargs.wasserstein_discriminator_loss")
def wasserstein_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = LOSSES,
    reduction: Any = MEAN,
    add_summaries: bool = False,
) -> Any:
    """The mean on what was generated less that on what is real."""
    values = (
        discriminator_real_outputs,
        discriminator_gen_outputs,
        real_weights,
        generated_weights,
    )
    with tf.name_scope(scope, "discriminator_wasserstein_loss", values) as scope:
        real = tf.to_float(discriminator_real_outputs)
        generated = tf.to_float(discriminator_gen_outputs)
        real.shape.assert_is_compatible_with(generated.shape)
        on_generated = tf.losses.compute_weighted_loss(
            generated, generated_weights, scope, loss_collection=None, reduction=reduction
        )
        on_real = tf.losses.compute_weighted_loss(
            real, real_weights, scope, loss_collection=None, reduction=reduction
        )
        loss = on_generated - on_real
        tf.losses.add_loss(loss, loss_collection)
        _summaries(
            add_summaries,
            discriminator_gen_wass_loss=on_generated,
            discriminator_real_wass_loss=on_real,
            discriminator_wass_loss=loss,
        )
    return loss


@export("contrib.gan.losses.wargs.acgan_discriminator_loss")
def acgan_discriminator_loss(
    discriminator_real_classification_logits: Any,
    discriminator_gen_classification_logits: Any,
    one_hot_labels: Any,
    label_smoothing: float = 0.0,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = LOSSES,
    reduction: Any = MEAN,
    add_summaries: bool = False,
) -> Any:
    """How badly the discriminator classifies (Odena et al. 2016)."""
    values = (
        discriminator_real_classification_logits,
        discriminator_gen_classification_logits,
        one_hot_labels,
    )
    with tf.name_scope(scope, "acgan_discriminator_loss", values) as scope:
        on_generated = tf.losses.softmax_cross_entropy(
            one_hot_labels,
            discriminator_gen_classification_logits,
            weights=generated_weights,
            scope=scope,
            loss_collection=None,
            reduction=reduction,
        )
        on_real = tf.losses.softmax_cross_entropy(
            one_hot_labels,
            discriminator_real_classification_logits,
            weights=real_weights,
            label_smoothing=label_smoothing,
            scope=scope,
            loss_collection=None,
            reduction=reduction,
        )
        loss = on_generated + on_real
        tf.losses.add_loss(loss, loss_collection)
        _summaries(
            add_summaries,
            discriminator_gen_ac_loss=on_generated,
            discriminator_real_ac_loss=on_real,
            discriminator_ac_loss=loss,
        )
    return loss


@export("contrib.gan.losses.wargs.acgan_generator_loss")
def acgan_generator_loss(
    discriminator_gen_classification_logits: Any,
    one_hot_labels: Any,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = LOSSES,
    reduction: Any = MEAN,
    add_summaries: bool = False,
) -> Any:
    """How badly what was generated is classified."""
    values = (discriminator_gen_classification_logits, one_hot_labels)
    with tf.name_scope(scope, "acgan_generator_loss", values) as scope:
        loss = tf.losses.softmax_cross_entropy(
            one_hot_labels,
            discriminator_gen_classification_logits,
            weights=weights,
            scope=scope,
            loss_collection=loss_collection,
            reduction=reduction,
        )
        _summaries(add_summaries, generator_ac_loss=loss)
    return loss


@export("contrib.gan.losses.wargs.minimax_discriminator_loss")
def minimax_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.25,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = LOSSES,
    reduction: Any = MEAN,
    add_summaries: bool = False,
) -> Any:
    """The cross entropy of real (one) and generated (zero) (Goodfellow et al. 2014)."""
    values = (
        discriminator_real_outputs,
        discriminator_gen_outputs,
        real_weights,
        generated_weights,
        label_smoothing,
    )
    with tf.name_scope(scope, "discriminator_minimax_loss", values) as scope:
        on_real = tf.losses.sigmoid_cross_entropy(
            tf.ones_like(discriminator_real_outputs),
            discriminator_real_outputs,
            real_weights,
            label_smoothing,
            scope,
            loss_collection=None,
            reduction=reduction,
        )
        on_generated = tf.losses.sigmoid_cross_entropy(
            tf.zeros_like(discriminator_gen_outputs),
            discriminator_gen_outputs,
            generated_weights,
            scope=scope,
            loss_collection=None,
            reduction=reduction,
        )
        loss = on_real + on_generated
        tf.losses.add_loss(loss, loss_collection)
        _summaries(
            add_summaries,
            discriminator_gen_minimax_loss=on_generated,
            discriminator_real_minimax_loss=on_real,
            discriminator_minimax_loss=loss,
        )
    return loss


@export("contrib.gan.losses.wargs.minimax_generator_loss")
def minimax_generator_loss(
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.0,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = LOSSES,
    reduction: Any = MEAN,
    add_summaries: bool = False,
) -> Any:
    """The opposite of the discriminator's loss."""
    with tf.name_scope(scope, "generator_minimax_loss") as scope:
        loss = -minimax_discriminator_loss(
            tf.ones_like(discriminator_gen_outputs),
            discriminator_gen_outputs,
            label_smoothing,
            weights,
            weights,
            scope,
            loss_collection,
            reduction,
        )
    _summaries(add_summaries, generator_minimax_loss=loss)
    return loss


@export("contrib.gan.losses.wargs.modified_discriminator_loss")
def modified_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.25,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = LOSSES,
    reduction: Any = MEAN,
    add_summaries: bool = False,
) -> Any:
    """The same as `minimax_discriminator_loss`."""
    return minimax_discriminator_loss(
        discriminator_real_outputs,
        discriminator_gen_outputs,
        label_smoothing,
        real_weights,
        generated_weights,
        scope or "discriminator_modified_loss",
        loss_collection,
        reduction,
        add_summaries,
    )


@export("contrib.gan.losses.wargs.modified_generator_loss")
def modified_generator_loss(
    discriminator_gen_outputs: Any,
    label_smoothing: float = 0.0,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = LOSSES,
    reduction: Any = MEAN,
    add_summaries: bool = False,
) -> Any:
    """The cross entropy of what was generated with one: its gradient doesn't vanish early."""
    with tf.name_scope(scope, "generator_modified_loss", [discriminator_gen_outputs]) as scope:
        loss = tf.losses.sigmoid_cross_entropy(
            tf.ones_like(discriminator_gen_outputs),
            discriminator_gen_outputs,
            weights,
            label_smoothing,
            scope,
            loss_collection,
            reduction,
        )
        _summaries(add_summaries, generator_modified_loss=loss)
    return loss


@export("contrib.gan.losses.wargs.least_squares_generator_loss")
def least_squares_generator_loss(
    discriminator_gen_outputs: Any,
    real_label: Any = 1,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = LOSSES,
    reduction: Any = MEAN,
    add_summaries: bool = False,
) -> Any:
    """Half the squared distance from what is real (Mao et al. 2016)."""
    values = (discriminator_gen_outputs, real_label)
    with tf.name_scope(scope, "lsq_generator_loss", values) as scope:
        loss = tf.squared_difference(tf.to_float(discriminator_gen_outputs), real_label) / 2.0
        loss = tf.losses.compute_weighted_loss(loss, weights, scope, loss_collection, reduction)
    _summaries(add_summaries, generator_lsq_loss=loss)
    return loss


@export("contrib.gan.losses.wargs.least_squares_discriminator_loss")
def least_squares_discriminator_loss(
    discriminator_real_outputs: Any,
    discriminator_gen_outputs: Any,
    real_label: Any = 1,
    fake_label: Any = 0,
    real_weights: Any = 1.0,
    generated_weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = LOSSES,
    reduction: Any = MEAN,
    add_summaries: bool = False,
) -> Any:
    """Half the squared distances of real and generated from their labels."""
    values = (discriminator_gen_outputs, real_label)
    with tf.name_scope(scope, "lsq_discriminator_loss", values) as scope:
        real = tf.to_float(discriminator_real_outputs)
        generated = tf.to_float(discriminator_gen_outputs)
        real.shape.assert_is_compatible_with(generated.shape)
        on_real = tf.losses.compute_weighted_loss(
            tf.squared_difference(real, real_label) / 2.0,
            real_weights,
            scope,
            loss_collection=None,
            reduction=reduction,
        )
        on_generated = tf.losses.compute_weighted_loss(
            tf.squared_difference(generated, fake_label) / 2.0,
            generated_weights,
            scope,
            loss_collection=None,
            reduction=reduction,
        )
        loss = on_real + on_generated
        tf.losses.add_loss(loss, loss_collection)
    _summaries(
        add_summaries,
        discriminator_gen_lsq_loss=on_generated,
        discriminator_real_lsq_loss=on_real,
        discriminator_lsq_loss=loss,
    )
    return loss
