"""Summaries of models."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.contrib.gan.eval.images import image_grid, image_reshaper
from weft.contrib.gan.namedtuples import CycleGANModel
from weft.framework.export import export


def _check_images(*batches: Any) -> None:
    for data in batches:
        data.shape.assert_has_rank(4)
        data.shape[1:].assert_is_fully_defined()


def _ways(model: Any, name: str) -> Any:
    """Both models of a cycle, each in a name scope."""
    for way, part in (("x2y", model.model_x2y), ("y2x", model.model_y2x)):
        with tf.name_scope(f"cyclegan_{way}_{name}"):
            yield part


@export("contrib.gan.eval.add_gan_model_image_summaries")
def add_gan_model_image_summaries(
    gan_model: Any, grid_size: int = 4, model_summaries: bool = True
) -> None:
    """Summaries of real and generated images."""
    if isinstance(gan_model, CycleGANModel):
        raise ValueError(
            "`add_gan_model_image_summaries` does not take CycleGANModels. Please use "
            "`add_cyclegan_image_summaries` instead."
        )
    _check_images(gan_model.real_data, gan_model.generated_data)
    for name in ("real_data", "generated_data"):
        images = getattr(gan_model, name)
        _, height, width, channels = images.shape.as_list()
        grid = image_grid(
            images[: grid_size**2],
            grid_shape=(grid_size, grid_size),
            image_shape=(height, width),
            num_channels=channels,
        )
        tf.summary.image(name, grid, max_outputs=1)
    if model_summaries:
        add_gan_model_summaries(gan_model)


@export("contrib.gan.eval.add_cyclegan_image_summaries")
def add_cyclegan_image_summaries(cyclegan_model: Any) -> None:
    """Summaries of an image, what was made of it, and what was made of that."""
    if not isinstance(cyclegan_model, CycleGANModel):
        raise ValueError(
            f"`cyclegan_model` was not a CycleGANModel. Instead, was {type(cyclegan_model)}"
        )
    for way, model, back in (
        ("x2y", cyclegan_model.model_x2y, cyclegan_model.reconstructed_x),
        ("y2x", cyclegan_model.model_y2x, cyclegan_model.reconstructed_y),
    ):
        batches = (model.generator_inputs, model.generated_data, back)
        _check_images(*batches)
        with tf.name_scope(f"{way}_image_comparison_summaries"):
            images = [image for batch in batches for image in tf.unstack(batch[:1])]
            joined = image_reshaper(images, num_cols=len(images))
            tf.summary.image("image_comparison", joined, max_outputs=1)


@export("contrib.gan.eval.add_image_comparison_summaries")
def add_image_comparison_summaries(
    gan_model: Any, num_comparisons: int = 2, display_diffs: bool = False
) -> None:
    """A summary of inputs, generated and real images among each other, for models from image to image."""
    batches = (gan_model.generator_inputs, gan_model.generated_data, gan_model.real_data)
    _check_images(*batches)
    for one, other in zip(batches, batches[1:]):
        other.shape.assert_is_compatible_with(one.shape)
    rows = [tf.unstack(batch[:num_comparisons]) for batch in batches]
    if display_diffs:
        rows.append([tf.abs(tf.to_float(g) - tf.to_float(r)) for g, r in zip(rows[1], rows[2])])
    images = [image for row in rows for image in row]
    joined = image_reshaper(images, num_cols=num_comparisons)
    tf.summary.image("image_comparison", joined, max_outputs=1)


@export("contrib.gan.eval.add_stargan_image_summaries")
def add_stargan_image_summaries(
    stargan_model: Any, num_images: int = 2, display_diffs: bool = False
) -> None:
    """A summary of images in all domains."""
    _check_images(stargan_model.input_data)
    label = stargan_model.input_data_domain_label
    label.shape.assert_has_rank(2)
    label.shape[1:].assert_is_fully_defined()
    domains = label.shape.as_list()[-1]

    def in_all_domains(image: Any) -> Any:
        images = tf.tile(tf.expand_dims(image, axis=0), [domains, 1, 1, 1])
        targets = tf.one_hot(list(range(domains)), domains)
        with tf.variable_scope(stargan_model.generator_scope, reuse=True):
            generated = stargan_model.generator_fn(images, targets)
            row = [image, *tf.unstack(generated, num=domains)]
            if display_diffs:
                row += [tf.zeros_like(image), *tf.unstack(generated - images, num=domains)]
            return tf.squeeze(image_reshaper(row, num_cols=domains + 1), axis=0)

    made = tf.map_fn(
        in_all_domains,
        stargan_model.input_data[:num_images],
        parallel_iterations=num_images,
        back_prop=False,
        swap_memory=True,
    )
    tf.summary.image("stargan_image_generation", made, max_outputs=num_images)


@export("contrib.gan.eval.add_gan_model_summaries")
def add_gan_model_summaries(gan_model: Any) -> None:
    """Histograms of all variables."""
    if isinstance(gan_model, CycleGANModel):
        for part in _ways(gan_model, "summaries"):
            add_gan_model_summaries(part)
        return
    for kind in ("generator_variables", "discriminator_variables"):
        with tf.name_scope(kind):
            for variable in getattr(gan_model, kind):
                tf.summary.histogram(variable.name, variable)


@export("contrib.gan.eval.add_regularization_loss_summaries")
def add_regularization_loss_summaries(gan_model: Any) -> None:
    """Summaries of what the layers' regularizers ask for."""
    if isinstance(gan_model, CycleGANModel):
        for part in _ways(gan_model, "regularization_loss_summaries"):
            add_regularization_loss_summaries(part)
        return
    for kind in ("generator", "discriminator"):
        scope = getattr(gan_model, f"{kind}_scope")
        if scope:
            loss = tf.losses.get_regularization_loss(scope.name)
            tf.summary.scalar(f"{kind}_regularization_loss", loss)
