"""What the functions of this library hand to each other."""

from __future__ import annotations

import collections
from typing import Any

from weft.framework.export import export


@export("contrib.gan.GANModel")
class GANModel(
    collections.namedtuple(
        "GANModel",
        (
            "generator_inputs",
            "generated_data",
            "generator_variables",
            "generator_scope",
            "generator_fn",
            "real_data",
            "discriminator_real_outputs",
            "discriminator_gen_outputs",
            "discriminator_variables",
            "discriminator_scope",
            "discriminator_fn",
        ),
    )
):
    """A generator and a discriminator, on generated and on real data."""


@export("contrib.gan.InfoGANModel")
class InfoGANModel(
    collections.namedtuple(  # type: ignore[misc]
        "InfoGANModel",
        (
            *GANModel._fields,
            "structured_generator_inputs",
            "predicted_distributions",
            "discriminator_and_aux_fn",
        ),
    )
):
    """A model whose discriminator also guesses part of the generator's inputs."""


@export("contrib.gan.ACGANModel")
class ACGANModel(
    collections.namedtuple(  # type: ignore[misc]
        "ACGANModel",
        (
            *GANModel._fields,
            "one_hot_labels",
            "discriminator_real_classification_logits",
            "discriminator_gen_classification_logits",
        ),
    )
):
    """A model whose discriminator also classifies."""


@export("contrib.gan.CycleGANModel")
class CycleGANModel(
    collections.namedtuple(
        "CycleGANModel", ("model_x2y", "model_y2x", "reconstructed_x", "reconstructed_y")
    )
):
    """Two models, there and back."""


@export("contrib.gan.StarGANModel")
class StarGANModel(
    collections.namedtuple(
        "StarGANModel",
        (
            "input_data",
            "input_data_domain_label",
            "generated_data",
            "generated_data_domain_target",
            "reconstructed_data",
            "discriminator_input_data_source_predication",
            "discriminator_generated_data_source_predication",
            "discriminator_input_data_domain_predication",
            "discriminator_generated_data_domain_predication",
            "generator_variables",
            "generator_scope",
            "generator_fn",
            "discriminator_variables",
            "discriminator_scope",
            "discriminator_fn",
        ),
    )
):
    """A model between many domains."""


@export("contrib.gan.GANLoss")
class GANLoss(collections.namedtuple("GANLoss", ("generator_loss", "discriminator_loss"))):
    """The losses of a model."""


@export("contrib.gan.CycleGANLoss")
class CycleGANLoss(collections.namedtuple("CycleGANLoss", ("loss_x2y", "loss_y2x"))):
    """The losses of both models of a cycle."""


@export("contrib.gan.GANTrainOps")
class GANTrainOps(
    collections.namedtuple(
        "GANTrainOps",
        ("generator_train_op", "discriminator_train_op", "global_step_inc_op", "train_hooks"),
    )
):
    """Operations that train a model."""

    def __new__(
        cls,
        generator_train_op: Any,
        discriminator_train_op: Any,
        global_step_inc_op: Any,
        train_hooks: Any = (),
    ) -> Any:
        return super().__new__(
            cls, generator_train_op, discriminator_train_op, global_step_inc_op, train_hooks
        )


@export("contrib.gan.GANTrainSteps")
class GANTrainSteps(
    collections.namedtuple("GANTrainSteps", ("generator_train_steps", "discriminator_train_steps"))
):
    """How often generator and discriminator are trained in one step."""
