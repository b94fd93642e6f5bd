"""How good what was generated is, as a classifier sees it: scores and distances."""

from __future__ import annotations

import functools
import io
import os
import tarfile
import urllib.request
from collections.abc import Callable
from typing import Any

import weft as tf
from weft.contrib.layers.shapes import flatten
from weft.framework import file_system
from weft.framework.export import export, export_all

INCEPTION_URL = "http://download.tensorflow.org/models/frozen_inception_v1_2015_12_05.tar.gz"
INCEPTION_FROZEN_GRAPH = "inceptionv1_for_inception_score.pb"
INCEPTION_INPUT = "Mul:0"
INCEPTION_OUTPUT = "logits:0"
INCEPTION_FINAL_POOL = "pool_3:0"
INCEPTION_DEFAULT_IMAGE_SIZE = 299
_SIDE = INCEPTION_DEFAULT_IMAGE_SIZE

export_all(
    "contrib.gan.eval",
    INCEPTION_DEFAULT_IMAGE_SIZE=_SIDE,
    INCEPTION_FINAL_POOL=INCEPTION_FINAL_POOL,
    INCEPTION_FROZEN_GRAPH=INCEPTION_FROZEN_GRAPH,
    INCEPTION_INPUT=INCEPTION_INPUT,
    INCEPTION_OUTPUT=INCEPTION_OUTPUT,
    INCEPTION_URL=INCEPTION_URL,
)


@export("contrib.gan.eval.preprocess_image")
def preprocess_image(
    images: Any, height: int = _SIDE, width: int = _SIDE, scope: Any = None
) -> Any:
    """Images of this size, with values from -1 to 1."""
    with tf.name_scope(scope, "preprocess", [images, height, width]):
        single = images.shape.ndims == 3
        if not images.dtype.is_floating:
            images = tf.to_float(images)
        if single:
            images = tf.expand_dims(images, axis=0)
        resized = (tf.image.resize_bilinear(images, [height, width]) - 128.0) / 128.0
        return tf.squeeze(resized, axis=0) if single else resized


@export("contrib.gan.eval.get_graph_def_from_disk")
def get_graph_def_from_disk(filename: str) -> Any:
    """The graph in a file."""
    return tf.GraphDef.FromString(file_system.read_file(filename))


@export("contrib.gan.eval.get_graph_def_from_url_tarball")
def get_graph_def_from_url_tarball(url: str, filename: str, tar_filename: str | None = None) -> Any:
    """The graph in a file of an archive, which is downloaded if it isn't there."""
    if tar_filename and os.path.exists(tar_filename):
        packed = file_system.read_file(tar_filename)
    else:
        tf.logging.info("Downloading %s", url)
        with urllib.request.urlopen(url) as response:
            packed = response.read()
        if tar_filename:
            file_system.write_file(tar_filename, packed)
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
        member = archive.extractfile(filename)
        if member is None:
            raise tf.errors.NotFoundError(None, None, f"{filename} is no file of {url}")
        return tf.GraphDef.FromString(member.read())


def _default_graph_def() -> Any:
    return get_graph_def_from_url_tarball(
        INCEPTION_URL, INCEPTION_FROZEN_GRAPH, os.path.basename(INCEPTION_URL)
    )


@export("contrib.gan.eval.run_image_classifier")
def run_image_classifier(
    tensor: Any,
    graph_def: Any,
    input_tensor: str,
    output_tensor: Any,
    scope: str = "RunClassifier",
) -> Any:
    """What a graph gives for a tensor."""
    single = isinstance(output_tensor, str)
    names = [output_tensor] if single else output_tensor
    found = tf.import_graph_def(graph_def, {input_tensor: tensor}, names, name=scope)
    return found[0] if single else found


@export("contrib.gan.eval.run_inception")
def run_inception(
    images: Any,
    graph_def: Any = None,
    default_graph_def_fn: Callable | None = _default_graph_def,
    image_size: int = _SIDE,
    input_tensor: str = INCEPTION_INPUT,
    output_tensor: Any = INCEPTION_OUTPUT,
) -> Any:
    """What Inception gives for images."""
    images = tf.convert_to_tensor(images)
    images.shape.with_rank(4)
    images.shape.assert_is_compatible_with([None, image_size, image_size, None])
    if graph_def is None:
        if default_graph_def_fn is None:
            raise ValueError("If `graph_def` is `None`, must provide `default_graph_def_fn`.")
        graph_def = default_graph_def_fn()
    found = run_image_classifier(images, graph_def, input_tensor, output_tensor)
    return [flatten(x) for x in found] if isinstance(found, list) else flatten(found)


def _activations(images: Any, classifier_fn: Callable, num_batches: int) -> Any:
    """What a classifier gives for all images, some at a time."""
    parts = tf.stack(tf.split(images, num_or_size_splits=num_batches))
    found = tf.map_fn(
        fn=classifier_fn,
        elems=parts,
        parallel_iterations=1,
        back_prop=False,
        swap_memory=True,
        name="RunClassifier",
    )
    return tf.concat(tf.unstack(found), 0)


def _in_double(function: Callable) -> Callable:
    """Computes in float64 what is given in another type: differences of large sums need it."""

    @functools.wraps(function)
    def wide(*tensors: Any) -> Any:
        for x in tensors:
            x.shape.assert_has_rank(2)
        dtype = tensors[0].dtype
        return tf.cast(function(*[tf.cast(x, tf.float64) for x in tensors]), dtype)

    return wide


@export("contrib.gan.eval.classifier_score")
def classifier_score(images: Any, classifier_fn: Callable, num_batches: int = 1) -> Any:
    """How sure the classifier is of each image, and how unlike the images are (Salimans et al. 2016)."""
    return classifier_score_from_logits(_activations(images, classifier_fn, num_batches))


@export("contrib.gan.eval.classifier_score_from_logits")
def classifier_score_from_logits(logits: Any) -> Any:
    """The score for logits."""

    def score(logits: Any) -> Any:
        p = tf.nn.softmax(logits)
        q = tf.reduce_mean(p, axis=0)
        return tf.exp(tf.reduce_mean(kl_divergence(p, logits, q)))

    return _in_double(score)(logits)


def kl_divergence(p: Any, p_logits: Any, q: Any) -> Any:
    """The divergence of each row from a distribution."""
    for tensor in (p, p_logits, q):
        if not tensor.dtype.is_floating:
            raise ValueError(f"Input {tensor.name} must be floating type.")
    p.shape.assert_has_rank(2)
    p_logits.shape.assert_has_rank(2)
    q.shape.assert_has_rank(1)
    return tf.reduce_sum(p * (tf.nn.log_softmax(p_logits) - tf.log(q)), axis=1)


def _square_root(matrix: Any, eps: float = 1e-10) -> Any:
    """The root of a symmetric matrix."""
    s, u, v = tf.linalg.svd(matrix)
    root = tf.where(tf.less(s, eps), s, tf.sqrt(s))
    return tf.matmul(tf.matmul(u, tf.diag(root)), v, transpose_b=True)


def trace_sqrt_product(sigma: Any, sigma_v: Any) -> Any:
    """The trace of the root of a product of covariances."""
    root = _square_root(sigma)
    return tf.trace(_square_root(tf.matmul(root, tf.matmul(sigma_v, root))))


def _moments(activations: Any) -> tuple[Any, Any]:
    mean = tf.reduce_mean(activations, 0)
    centered = activations - mean
    count = tf.cast(tf.shape(activations)[0], tf.float64)
    return mean, tf.matmul(centered, centered, transpose_a=True) / (count - 1)


@export("contrib.gan.eval.frechet_classifier_distance_from_activations")
def frechet_classifier_distance_from_activations(
    real_activations: Any, generated_activations: Any
) -> Any:
    """The distance of two normal distributions (Heusel et al. 2017)."""

    def distance(real: Any, generated: Any) -> Any:
        (m, sigma), (m_w, sigma_w) = _moments(real), _moments(generated)
        spread = tf.trace(sigma + sigma_w) - 2.0 * trace_sqrt_product(sigma, sigma_w)
        return spread + tf.reduce_sum(tf.squared_difference(m, m_w))

    return _in_double(distance)(real_activations, generated_activations)


@export("contrib.gan.eval.mean_only_frechet_classifier_distance_from_activations")
def mean_only_frechet_classifier_distance_from_activations(
    real_activations: Any, generated_activations: Any
) -> Any:
    """The distance of the means."""

    def distance(real: Any, generated: Any) -> Any:
        means = tf.reduce_mean(real, 0), tf.reduce_mean(generated, 0)
        return tf.reduce_sum(tf.squared_difference(*means))

    return _in_double(distance)(real_activations, generated_activations)


@export("contrib.gan.eval.diagonal_only_frechet_classifier_distance_from_activations")
def diagonal_only_frechet_classifier_distance_from_activations(
    real_activations: Any, generated_activations: Any
) -> Any:
    """The distance of two normal distributions whose components are taken for independent."""

    def distance(real: Any, generated: Any) -> Any:
        (m, var), (m_w, var_w) = (tf.nn.moments(x, axes=[0]) for x in (real, generated))
        spread = tf.reduce_sum(var + var_w - 2.0 * tf.sqrt(var * var_w))
        return spread + tf.reduce_sum(tf.squared_difference(m, m_w))

    return _in_double(distance)(real_activations, generated_activations)


@export("contrib.gan.eval.frechet_classifier_distance")
def frechet_classifier_distance(
    real_images: Any, generated_images: Any, classifier_fn: Callable, num_batches: int = 1
) -> Any:
    """The distance of what a classifier sees in real and in generated images."""
    return frechet_classifier_distance_from_activations(
        _activations(real_images, classifier_fn, num_batches),
        _activations(generated_images, classifier_fn, num_batches),
    )


_logits = functools.partial(run_inception, output_tensor=INCEPTION_OUTPUT)
_pooled = functools.partial(run_inception, output_tensor=INCEPTION_FINAL_POOL)
inception_score = functools.partial(classifier_score, classifier_fn=_logits)
frechet_inception_distance = functools.partial(frechet_classifier_distance, classifier_fn=_pooled)
export_all(
    "contrib.gan.eval",
    inception_score=inception_score,
    frechet_inception_distance=frechet_inception_distance,
)
