"""The same losses with a model for argument: what a loss needs is taken from the model's fields."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from weft.contrib.gan.losses import arguments, penalties
from weft.contrib.gan.namedtuples import CycleGANModel
from weft.framework.export import export


def args_to_gan_model(loss_fn: Callable) -> Callable:
    """A loss of a model, made of a loss whose arguments have the names of the model's fields."""
    parameters = inspect.signature(loss_fn).parameters

    @functools.wraps(loss_fn)
    def of_model(gan_model: Any, **kwargs: Any) -> Any:
        fields = set(gan_model._fields)
        twice = fields & set(kwargs)
        if twice:
            raise ValueError(
                f"The following args are present in both the tuple and keyword args for {loss_fn.__name__}: {twice}"
            )
        for name, parameter in parameters.items():
            if name in fields:
                value = getattr(gan_model, name)
                if value is not None or parameter.default is parameter.empty:
                    kwargs[name] = value
            elif parameter.default is parameter.empty and name not in kwargs:
                raise ValueError(f"`{name}` must be supplied to {loss_fn.__name__} loss function.")
        return loss_fn(**kwargs)

    del of_model.__wrapped__  # its arguments are others
    return of_model


def _exported(loss_fn: Callable) -> Callable:
    return export(f"contrib.gan.losses.{loss_fn.__name__}")(args_to_gan_model(loss_fn))


wasserstein_generator_loss = _exported(arguments.wasserstein_generator_loss)
wasserstein_discriminator_loss = _exported(arguments.wasserstein_discriminator_loss)
wasserstein_gradient_penalty = _exported(penalties.wasserstein_gradient_penalty)
acgan_discriminator_loss = _exported(arguments.acgan_discriminator_loss)
acgan_generator_loss = _exported(arguments.acgan_generator_loss)
minimax_discriminator_loss = _exported(arguments.minimax_discriminator_loss)
minimax_generator_loss = _exported(arguments.minimax_generator_loss)
modified_discriminator_loss = _exported(arguments.modified_discriminator_loss)
modified_generator_loss = _exported(arguments.modified_generator_loss)
least_squares_generator_loss = _exported(arguments.least_squares_generator_loss)
least_squares_discriminator_loss = _exported(arguments.least_squares_discriminator_loss)
mutual_information_penalty = _exported(penalties.mutual_information_penalty)


@export("contrib.gan.losses.combine_adversarial_loss")
def combine_adversarial_loss(
    gan_loss: Any,
    gan_model: Any,
    non_adversarial_loss: Any,
    weight_factor: Any = None,
    gradient_ratio: Any = None,
    gradient_ratio_epsilon: float = 1e-6,
    scalar_summaries: bool = True,
    gradient_summaries: bool = True,
) -> Any:
    """The losses of a model, with another one in that of the generator."""
    combined = penalties.combine_adversarial_loss(
        non_adversarial_loss,
        gan_loss.generator_loss,
        weight_factor,
        gradient_ratio,
        gradient_ratio_epsilon,
        gan_model.generator_variables,
        scalar_summaries,
        gradient_summaries,
    )
    return gan_loss._replace(generator_loss=combined)


@export("contrib.gan.losses.cycle_consistency_loss")
def cycle_consistency_loss(
    cyclegan_model: Any, scope: Any = None, add_summaries: bool = False
) -> Any:
    """How much a cycle loses."""
    if not isinstance(cyclegan_model, CycleGANModel):
        raise ValueError(
            f"`cyclegan_model` must be a `CycleGANModel`. Instead, was {type(cyclegan_model)}."
        )
    return penalties.cycle_consistency_loss(
        cyclegan_model.model_x2y.generator_inputs,
        cyclegan_model.reconstructed_x,
        cyclegan_model.model_y2x.generator_inputs,
        cyclegan_model.reconstructed_y,
        scope,
        add_summaries,
    )


@export("contrib.gan.losses.stargan_generator_loss_wrapper")
def stargan_generator_loss_wrapper(loss_fn: Callable) -> Callable:
    """A loss of a generator between domains."""

    def of_model(stargan_model: Any, **kwargs: Any) -> Any:
        return loss_fn(stargan_model.discriminator_generated_data_source_predication, **kwargs)

    return of_model


@export("contrib.gan.losses.stargan_discriminator_loss_wrapper")
def stargan_discriminator_loss_wrapper(loss_fn: Callable) -> Callable:
    """A loss of a discriminator between domains."""

    def of_model(stargan_model: Any, **kwargs: Any) -> Any:
        return loss_fn(
            stargan_model.discriminator_input_data_source_predication,
            stargan_model.discriminator_generated_data_source_predication,
            **kwargs,
        )

    return of_model


@export("contrib.gan.losses.stargan_gradient_penalty_wrapper")
def stargan_gradient_penalty_wrapper(loss_fn: Callable) -> Callable:
    """A penalty for the slopes of a discriminator between domains."""

    def of_model(stargan_model: Any, **kwargs: Any) -> Any:
        return loss_fn(
            real_data=stargan_model.input_data,
            generated_data=stargan_model.generated_data,
            generator_inputs=stargan_model.input_data_domain_label.shape.as_list()[-1],
            discriminator_fn=stargan_model.discriminator_fn,
            discriminator_scope=stargan_model.discriminator_scope,
            **kwargs,
        )

    return of_model
