"""Models: generators and discriminators, connected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.framework.variables import get_trainable_variables
from weft.contrib.gan import namedtuples
from weft.framework.export import export


def _converted(given: Any) -> Any:
    """A tensor, or tensors in a list or a dict."""
    if isinstance(given, (list, tuple)):
        return [tf.convert_to_tensor(x) for x in given]
    if isinstance(given, dict):
        return {k: tf.convert_to_tensor(v) for k, v in given.items()}
    return tf.convert_to_tensor(given)


def _check_shapes(generated: Any, real: Any) -> None:
    if not generated.shape.is_compatible_with(real.shape):
        raise ValueError(
            f"Generator output shape ({generated.shape}) must be the same shape as real data ({real.shape})."
        )


@export("contrib.gan.gan_model")
def gan_model(
    generator_fn: Callable,
    discriminator_fn: Callable,
    real_data: Any,
    generator_inputs: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
    check_shapes: bool = True,
) -> namedtuples.GANModel:
    """A generator, and a discriminator on what it makes and on real data."""
    with tf.variable_scope(generator_scope) as gen_scope:
        generator_inputs = _converted(generator_inputs)
        generated = generator_fn(generator_inputs)
    with tf.variable_scope(discriminator_scope) as dis_scope:
        on_generated = discriminator_fn(generated, generator_inputs)
    with tf.variable_scope(dis_scope, reuse=True):
        real_data = _converted(real_data)
        on_real = discriminator_fn(real_data, generator_inputs)
    if check_shapes:
        _check_shapes(generated, real_data)
    return namedtuples.GANModel(
        generator_inputs,
        generated,
        get_trainable_variables(gen_scope),
        gen_scope,
        generator_fn,
        real_data,
        on_real,
        on_generated,
        get_trainable_variables(dis_scope),
        dis_scope,
        discriminator_fn,
    )


@export("contrib.gan.infogan_model")
def infogan_model(
    generator_fn: Callable,
    discriminator_fn: Callable,
    real_data: Any,
    unstructured_generator_inputs: Any,
    structured_generator_inputs: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
) -> namedtuples.InfoGANModel:
    """A model whose discriminator gives, besides its outputs, distributions of the structured inputs."""
    with tf.variable_scope(generator_scope) as gen_scope:
        structured = _converted(structured_generator_inputs)
        inputs = _converted(unstructured_generator_inputs) + structured
        generated = generator_fn(inputs)
    with tf.variable_scope(discriminator_scope) as dis_scope:
        on_generated, distributions = discriminator_fn(generated, inputs)
    if not isinstance(distributions, (tuple, list)):
        raise ValueError(
            f"`predicted_distributions` must be a list. Instead, found {type(distributions)}."
        )
    if len(distributions) != len(structured):
        raise ValueError(
            f"Length of `predicted_distributions` {len(distributions)} must be the same as the length of "
            f"structured noise {len(structured)}."
        )
    with tf.variable_scope(dis_scope, reuse=True):
        real_data = tf.convert_to_tensor(real_data)
        on_real, _ = discriminator_fn(real_data, inputs)
    _check_shapes(generated, real_data)
    return namedtuples.InfoGANModel(  # type: ignore[call-arg]
        inputs,
        generated,
        get_trainable_variables(gen_scope),
        gen_scope,
        generator_fn,
        real_data,
        on_real,
        on_generated,
        get_trainable_variables(dis_scope),
        dis_scope,
        lambda x, y: discriminator_fn(x, y)[0],
        structured,
        distributions,
        discriminator_fn,
    )


def _two_outputs(outputs: Any) -> tuple[Any, Any]:
    try:
        real, classes = outputs
    except (TypeError, ValueError):
        raise TypeError(
            "A discriminator function for ACGAN must output a tuple consisting of "
            "(discrimination logits, classification logits)."
        ) from None
    return real, classes


@export("contrib.gan.acgan_model")
def acgan_model(
    generator_fn: Callable,
    discriminator_fn: Callable,
    real_data: Any,
    generator_inputs: Any,
    one_hot_labels: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
    check_shapes: bool = True,
) -> namedtuples.ACGANModel:
    """A model whose discriminator gives, besides its outputs, logits of classes."""
    with tf.variable_scope(generator_scope) as gen_scope:
        generator_inputs = _converted(generator_inputs)
        generated = generator_fn(generator_inputs)
    with tf.variable_scope(discriminator_scope) as dis_scope:
        with tf.name_scope(dis_scope.name + "/generated/"):
            on_generated, generated_logits = _two_outputs(
                discriminator_fn(generated, generator_inputs)
            )
    with tf.variable_scope(dis_scope, reuse=True):
        with tf.name_scope(dis_scope.name + "/real/"):
            real_data = tf.convert_to_tensor(real_data)
            on_real, real_logits = _two_outputs(discriminator_fn(real_data, generator_inputs))
    if check_shapes:
        _check_shapes(generated, real_data)
    return namedtuples.ACGANModel(  # type: ignore[call-arg]
        generator_inputs,
        generated,
        get_trainable_variables(gen_scope),
        gen_scope,
        generator_fn,
        real_data,
        on_real,
        on_generated,
        get_trainable_variables(dis_scope),
        dis_scope,
        discriminator_fn,
        one_hot_labels,
        real_logits,
        generated_logits,
    )


@export("contrib.gan.cyclegan_model")
def cyclegan_model(
    generator_fn: Callable,
    discriminator_fn: Callable,
    data_x: Any,
    data_y: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
    model_x2y_scope: Any = "ModelX2Y",
    model_y2x_scope: Any = "ModelY2X",
    check_shapes: bool = True,
) -> namedtuples.CycleGANModel:
    """Two models: from x to y, and from y to x."""

    def one_way(source: Any, target: Any) -> namedtuples.GANModel:
        return gan_model(
            generator_fn,
            discriminator_fn,
            target,
            source,
            generator_scope,
            discriminator_scope,
            check_shapes,
        )

    with tf.variable_scope(model_x2y_scope):
        x2y = one_way(data_x, data_y)
    with tf.variable_scope(model_y2x_scope):
        y2x = one_way(data_y, data_x)
    with tf.variable_scope(y2x.generator_scope, reuse=True):
        back_in_x = y2x.generator_fn(x2y.generated_data)
    with tf.variable_scope(x2y.generator_scope, reuse=True):
        back_in_y = x2y.generator_fn(y2x.generated_data)
    return namedtuples.CycleGANModel(x2y, y2x, back_in_x, back_in_y)


def generate_stargan_random_domain_target(batch_size: int, num_domains: int) -> Any:
    """A domain for each image."""
    wanted = tf.random_uniform([batch_size], minval=0, maxval=num_domains, dtype=tf.int32)
    return tf.one_hot(wanted, num_domains)


@export("contrib.gan.stargan_model")
def stargan_model(
    generator_fn: Callable,
    discriminator_fn: Callable,
    input_data: Any,
    input_data_domain_label: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
) -> namedtuples.StarGANModel:
    """One generator between many domains (Choi et al. 2017)."""
    data, labels = _converted(input_data), _converted(input_data_domain_label)
    data = tf.concat(data, 0) if isinstance(data, list) else data
    labels = tf.concat(labels, 0) if isinstance(labels, list) else labels
    labels.shape.assert_has_rank(2)
    labels.shape.assert_is_fully_defined()
    batch, domains = labels.shape.as_list()
    with tf.variable_scope(generator_scope) as gen_scope:
        target = generate_stargan_random_domain_target(batch, domains)
        generated = generator_fn(data, target)
    with tf.variable_scope(gen_scope, reuse=True):
        reconstructed = generator_fn(generated, labels)
    with tf.variable_scope(discriminator_scope) as dis_scope:
        generated_source, generated_domain = discriminator_fn(generated, domains)
    with tf.variable_scope(dis_scope, reuse=True):
        input_source, input_domain = discriminator_fn(data, domains)
    return namedtuples.StarGANModel(
        input_data=data,
        input_data_domain_label=labels,
        generated_data=generated,
        generated_data_domain_target=target,
        reconstructed_data=reconstructed,
        discriminator_input_data_source_predication=input_source,
        discriminator_generated_data_source_predication=generated_source,
        discriminator_input_data_domain_predication=input_domain,
        discriminator_generated_data_domain_predication=generated_domain,
        generator_variables=get_trainable_variables(gen_scope),
        generator_scope=gen_scope,
        generator_fn=generator_fn,
        discriminator_variables=get_trainable_variables(dis_scope),
        discriminator_scope=dis_scope,
        discriminator_fn=discriminator_fn,
    )
