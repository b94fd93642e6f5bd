"""Losses that are added to those of a game: penalties, and losses of other kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.gan.losses.arguments import LOSSES, MEAN, _summaries
from weft.framework.constant_value import constant_value
from weft.framework.export import export


@export("contrib.gan.losses.wargs.wasserstein_gradient_penalty")
def wasserstein_gradient_penalty(
    real_data: Any,
    generated_data: Any,
    generator_inputs: Any,
    discriminator_fn: Callable,
    discriminator_scope: Any,
    epsilon: float = 1e-10,
    target: float = 1.0,
    one_sided: bool = False,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = LOSSES,
    reduction: Any = MEAN,
    add_summaries: bool = False,
) -> Any:
    """How far the slope of the discriminator is from one, between real and generated (Gulrajani et al. 2017)."""
    with tf.name_scope(scope, "wasserstein_gradient_penalty", (real_data, generated_data)) as scope:
        real, generated = tf.convert_to_tensor(real_data), tf.convert_to_tensor(generated_data)
        for name, data in (("real_data", real), ("generated_data", generated)):
            if data.shape.ndims is None:
                raise ValueError(f"`{name}` can't have unknown rank.")
        differences = generated - real
        batch = differences.shape.as_list()[0]
        size = tf.shape(differences)[0] if batch is None else batch
        alpha = tf.random_uniform(shape=[size] + [1] * (differences.shape.ndims - 1))
        between = real + alpha * differences
        with (
            tf.name_scope(None),  # the discriminator's layers are where they were made
            tf.variable_scope(discriminator_scope, "gpenalty_dscope", reuse=tf.AUTO_REUSE),
        ):
            outputs = discriminator_fn(between, generator_inputs)
        if isinstance(outputs, tuple):
            outputs = outputs[0]  # of a discriminator that also classifies
        gradients = tf.gradients(outputs, between)[0]
        squares = tf.reduce_sum(tf.square(gradients), axis=list(range(1, gradients.shape.ndims)))
        if batch is not None:
            squares.set_shape([batch])
        penalties = tf.sqrt(squares + epsilon) / target - 1.0
        if one_sided:
            penalties = tf.maximum(0.0, penalties)
        penalty = tf.losses.compute_weighted_loss(
            tf.square(penalties),
            weights,
            scope=scope,
            loss_collection=loss_collection,
            reduction=reduction,
        )
        _summaries(add_summaries, gradient_penalty_loss=penalty)
        return penalty


@export("contrib.gan.losses.wargs.mutual_information_penalty")
def mutual_information_penalty(
    structured_generator_inputs: Any,
    predicted_distributions: Any,
    weights: Any = 1.0,
    scope: Any = None,
    loss_collection: Any = LOSSES,
    reduction: Any = MEAN,
    add_summaries: bool = False,
) -> Any:
    """How badly the discriminator guesses the inputs of the generator (Chen et al. 2016)."""
    if not isinstance(predicted_distributions, (list, tuple)):
        raise ValueError(
            f"`distributions` must be a list or tuple. Instead, found {type(predicted_distributions)}."
        )
    for x in predicted_distributions:
        if not callable(getattr(x, "log_prob", None)):
            raise ValueError(
                f"`distributions` must be a list of `Distributions`. Instead, found {type(x)}."
            )
    if len(structured_generator_inputs) != len(predicted_distributions):
        raise ValueError(
            f"`structured_generator_inputs` length {len(structured_generator_inputs)} must be the same as "
            f"`predicted_distributions` length {len(predicted_distributions)}."
        )
    with tf.name_scope(scope, "mutual_information_loss") as scope:
        log_probs = [
            tf.reduce_mean(d.log_prob(noise))
            for d, noise in zip(predicted_distributions, structured_generator_inputs)
        ]
        loss = -1 * tf.losses.compute_weighted_loss(
            log_probs, weights, scope, loss_collection=loss_collection, reduction=reduction
        )
        _summaries(add_summaries, mutual_information_penalty=loss)
    return loss


def numerically_stable_global_norm(tensor_list: Any) -> Any:
    """The norm of all tensors, whose squares may be too large to be added."""
    tensors = [x for x in tensor_list if x is not None]
    if not tensors:
        return 0.0
    largest = tf.reduce_max([tf.reduce_max(tf.abs(x)) for x in tensors])
    return largest * tf.global_norm([x / largest for x in tensors])


@export("contrib.gan.losses.wargs.combine_adversarial_loss")
def combine_adversarial_loss(
    main_loss: Any,
    adversarial_loss: Any,
    weight_factor: Any = None,
    gradient_ratio: Any = None,
    gradient_ratio_epsilon: float = 1e-6,
    variables: Any = None,
    scalar_summaries: bool = True,
    gradient_summaries: bool = True,
    scope: Any = None,
) -> Any:
    """Two losses as one, by a factor or by how large their gradients are to each other."""
    for loss in (main_loss, adversarial_loss):
        loss.shape.assert_is_compatible_with([])
    if weight_factor is None and gradient_ratio is None:
        raise ValueError("`weight_factor` and `gradient_ratio` cannot both be `None.`")
    if weight_factor is not None and gradient_ratio is not None:
        raise ValueError("`weight_factor` and `gradient_ratio` cannot both be specified.")
    if variables is None:
        variables = tf.trainable_variables()
    with tf.name_scope(scope, "adversarial_loss", values=[main_loss, adversarial_loss]):
        main_size: Any = None
        adversarial_size: Any = None
        if gradient_summaries or gradient_ratio is not None:
            main_size = numerically_stable_global_norm(tf.gradients(main_loss, variables))
            adversarial_size = numerically_stable_global_norm(
                tf.gradients(adversarial_loss, variables)
            )
        _summaries(scalar_summaries, main_loss=main_loss, adversarial_loss=adversarial_loss)
        _summaries(
            gradient_summaries,
            main_loss_gradients=main_size,
            adversarial_loss_gradients=adversarial_size,
        )
        given = gradient_ratio if weight_factor is None else weight_factor
        if constant_value(tf.convert_to_tensor(given)) == 0:
            return main_loss
        if weight_factor is not None:
            return main_loss + tf.stop_gradient(weight_factor) * adversarial_loss
        factor = main_size / (adversarial_size + gradient_ratio_epsilon) / gradient_ratio
        tf.summary.scalar("adversarial_coefficient", factor)
        return main_loss + tf.stop_gradient(factor) * adversarial_loss


@export("contrib.gan.losses.wargs.cycle_consistency_loss")
def cycle_consistency_loss(
    data_x: Any,
    reconstructed_data_x: Any,
    data_y: Any,
    reconstructed_data_y: Any,
    scope: Any = None,
    add_summaries: bool = False,
) -> Any:
    """How much is lost there and back (Zhu et al. 2017)."""
    values = [data_x, reconstructed_data_x, data_y, reconstructed_data_y]
    with tf.name_scope(scope, "cycle_consistency_loss", values=values):
        x2x = tf.losses.absolute_difference(data_x, reconstructed_data_x)
        y2y = tf.losses.absolute_difference(data_y, reconstructed_data_y)
        loss = (x2x + y2y) / 2.0
        _summaries(
            add_summaries,
            cycle_consistency_loss_x2x=x2x,
            cycle_consistency_loss_y2y=y2y,
            cycle_consistency_loss=loss,
        )
    return loss
