"""The losses of whole models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.gan import namedtuples
from weft.contrib.gan.losses import arguments, of_models, penalties
from weft.framework.export import export
from weft.framework.tensor import Tensor


def _checked(weight: Any, name: str) -> Any:
    """The weight of a further loss, which may not be negative."""
    if isinstance(weight, Tensor):
        weight.shape.assert_is_compatible_with([])
        with tf.control_dependencies([tf.assert_greater_equal(weight, 0.0)]):
            return tf.identity(weight)
    if weight is not None and weight < 0:
        raise ValueError(f"`{name}` must be greater than 0. Instead, was {weight}")
    return weight


def _counts(weight: Any) -> bool:
    return weight is not None and (isinstance(weight, Tensor) or weight > 0)


def tensor_pool_adjusted_model(model: Any, tensor_pool_fn: Callable) -> Any:
    """The model with generated data of earlier steps, on which the discriminator is trained."""
    kinds: Any = (namedtuples.GANModel, namedtuples.ACGANModel, namedtuples.InfoGANModel)
    if not isinstance(model, kinds):
        raise ValueError(f"Tensor pool does not support `model`: {type(model)}.")
    pooled = [model.generator_inputs, model.generated_data]
    guesses, classifies = (
        hasattr(model, name) for name in ("predicted_distributions", "one_hot_labels")
    )
    if guesses:
        pooled.append(model.structured_generator_inputs)
    inputs, generated, *structured = tensor_pool_fn(tuple(pooled))
    changed: dict[str, Any] = {"generator_inputs": inputs, "generated_data": generated}
    with tf.variable_scope(model.discriminator_scope, reuse=True):
        if guesses:
            outputs, distributions = model.discriminator_and_aux_fn(generated, inputs)
            changed["structured_generator_inputs"] = structured[0]
            changed["predicted_distributions"] = distributions
        elif classifies:
            outputs, logits = model.discriminator_fn(generated, inputs)
            changed["discriminator_gen_classification_logits"] = logits
        else:
            outputs = model.discriminator_fn(generated, inputs)
    return model._replace(discriminator_gen_outputs=outputs, **changed)


def _regularization(scope: Any) -> Any:
    return tf.losses.get_regularization_loss(scope.name) if scope else 0


@export("contrib.gan.gan_loss")
def gan_loss(
    model: Any,
    generator_loss_fn: Callable = of_models.wasserstein_generator_loss,
    discriminator_loss_fn: Callable = of_models.wasserstein_discriminator_loss,
    gradient_penalty_weight: Any = None,
    gradient_penalty_epsilon: float = 1e-10,
    gradient_penalty_target: float = 1.0,
    gradient_penalty_one_sided: bool = False,
    mutual_information_penalty_weight: Any = None,
    aux_cond_generator_weight: Any = None,
    aux_cond_discriminator_weight: Any = None,
    tensor_pool_fn: Callable | None = None,
    add_summaries: bool = True,
) -> namedtuples.GANLoss:
    """The losses of generator and discriminator, with penalties and what their layers ask for."""
    penalty = _checked(gradient_penalty_weight, "gradient_penalty_weight")
    information = _checked(mutual_information_penalty_weight, "infogan_weight")
    generator_aux = _checked(aux_cond_generator_weight, "aux_cond_generator_weight")
    discriminator_aux = _checked(aux_cond_discriminator_weight, "aux_cond_discriminator_weight")
    if _counts(information) and not isinstance(model, namedtuples.InfoGANModel):
        raise ValueError(
            "When `mutual_information_penalty_weight` is provided, `model` must be an `InfoGANModel`. "
            f"Instead, was {type(model)}."
        )
    if _counts(generator_aux) or _counts(discriminator_aux):
        if not isinstance(model, namedtuples.ACGANModel):
            raise ValueError(
                "When `aux_cond_generator_weight` or `aux_cond_discriminator_weight` is provided, `model` must "
                f"be an `ACGANModel`. Instead, was {type(model)}."
            )
    pooled = tensor_pool_adjusted_model(model, tensor_pool_fn) if tensor_pool_fn else model
    generator = generator_loss_fn(model, add_summaries=add_summaries)
    discriminator = discriminator_loss_fn(pooled, add_summaries=add_summaries)
    if _counts(penalty):
        discriminator += penalty * of_models.wasserstein_gradient_penalty(
            pooled,
            epsilon=gradient_penalty_epsilon,
            target=gradient_penalty_target,
            one_sided=gradient_penalty_one_sided,
            add_summaries=add_summaries,
        )
    if _counts(information):
        loss = of_models.mutual_information_penalty(model, add_summaries=add_summaries)
        generator += information * loss
        if tensor_pool_fn is not None:
            loss = of_models.mutual_information_penalty(pooled, add_summaries=add_summaries)
        discriminator += information * loss
    if _counts(generator_aux):
        loss = of_models.acgan_generator_loss(model, add_summaries=add_summaries)
        generator += generator_aux * loss
    if _counts(discriminator_aux):
        loss = of_models.acgan_discriminator_loss(pooled, add_summaries=add_summaries)
        discriminator += discriminator_aux * loss
    return namedtuples.GANLoss(
        generator + _regularization(model.generator_scope),
        discriminator + _regularization(model.discriminator_scope),
    )


@export("contrib.gan.cyclegan_loss")
def cyclegan_loss(
    model: Any,
    generator_loss_fn: Callable = of_models.least_squares_generator_loss,
    discriminator_loss_fn: Callable = of_models.least_squares_discriminator_loss,
    cycle_consistency_loss_fn: Callable = of_models.cycle_consistency_loss,
    cycle_consistency_loss_weight: Any = 10.0,
    **kwargs: Any,
) -> namedtuples.CycleGANLoss:
    """The losses of both models, each with what is lost there and back."""
    if not isinstance(model, namedtuples.CycleGANModel):
        raise ValueError(f"`model` must be a `CycleGANModel`. Instead, was {type(model)}.")
    lost = cycle_consistency_loss_fn(model, add_summaries=kwargs.get("add_summaries", True))
    weight = _checked(cycle_consistency_loss_weight, "cycle_consistency_loss_weight")
    further = weight * lost

    def one_way(part: Any) -> Any:
        loss = gan_loss(part, generator_loss_fn, discriminator_loss_fn, **kwargs)
        return loss._replace(generator_loss=loss.generator_loss + further)

    with tf.name_scope("cyclegan_loss_x2y"):
        x2y = one_way(model.model_x2y)
    with tf.name_scope("cyclegan_loss_y2x"):
        y2x = one_way(model.model_y2x)
    return namedtuples.CycleGANLoss(x2y, y2x)


_STARGAN_GENERATOR = of_models.stargan_generator_loss_wrapper(arguments.wasserstein_generator_loss)
_STARGAN_DISCRIMINATOR = of_models.stargan_discriminator_loss_wrapper(
    arguments.wasserstein_discriminator_loss
)


@export("contrib.gan.stargan_loss")
def stargan_loss(
    model: Any,
    generator_loss_fn: Callable = _STARGAN_GENERATOR,
    discriminator_loss_fn: Callable = _STARGAN_DISCRIMINATOR,
    gradient_penalty_weight: Any = 10.0,
    gradient_penalty_epsilon: float = 1e-10,
    gradient_penalty_target: float = 1.0,
    gradient_penalty_one_sided: bool = False,
    reconstruction_loss_fn: Callable = tf.losses.absolute_difference,
    reconstruction_loss_weight: Any = 10.0,
    classification_loss_fn: Callable = tf.losses.softmax_cross_entropy,
    classification_loss_weight: Any = 1.0,
    classification_one_hot: bool = True,
    add_summaries: bool = True,
) -> namedtuples.GANLoss:
    """The losses of a model between domains."""

    def classified(labels: Any, logits: Any, name: str) -> Any:
        with tf.name_scope(name, values=(labels, logits)):
            loss = classification_loss_fn(onehot_labels=labels, logits=logits)
            if not classification_one_hot:
                loss = tf.reduce_sum(loss, axis=1)
            loss = tf.reduce_mean(loss)
            if add_summaries:
                tf.summary.scalar(name, loss)
            return loss

    model.input_data_domain_label.shape.assert_has_rank(2)
    model.input_data_domain_label.shape[1:].assert_is_fully_defined()
    generator = generator_loss_fn(model, add_summaries=add_summaries)
    discriminator = discriminator_loss_fn(model, add_summaries=add_summaries)
    if _counts(gradient_penalty_weight):
        penalty_of = of_models.stargan_gradient_penalty_wrapper(
            penalties.wasserstein_gradient_penalty
        )
        penalty = penalty_of(
            model,
            epsilon=gradient_penalty_epsilon,
            target=gradient_penalty_target,
            one_sided=gradient_penalty_one_sided,
            add_summaries=add_summaries,
        )
        discriminator += penalty * gradient_penalty_weight
    reconstruction = reconstruction_loss_fn(model.input_data, model.reconstructed_data)
    generator += reconstruction * reconstruction_loss_weight
    if add_summaries:
        tf.summary.scalar("reconstruction_loss", reconstruction)
    generator += classification_loss_weight * classified(
        model.generated_data_domain_target,
        model.discriminator_generated_data_domain_predication,
        "generator_classification_loss",
    )
    discriminator += classification_loss_weight * classified(
        model.input_data_domain_label,
        model.discriminator_input_data_domain_predication,
        "discriminator_classification_loss",
    )
    return namedtuples.GANLoss(generator, discriminator)
