"""`tf.contrib.losses.metric_learning`: losses that bring embeddings of one class together and others apart."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.framework.export import export


def _distances(embeddings: Any, squared: bool = False) -> Any:
    """The Euclidean distance of each two rows, 0 of a row and itself, with a gradient of 0 where it is 0."""
    squares = tf.reduce_sum(tf.square(embeddings), 1, keepdims=True)
    products = tf.matmul(embeddings, embeddings, transpose_b=True)
    found = tf.maximum(squares + tf.transpose(squares) - 2.0 * products, 0.0)
    zero = tf.cast(tf.less_equal(found, 0.0), found.dtype)
    if not squared:
        found = tf.sqrt(found + zero * 1e-16)
    found = found * (1.0 - zero)
    return tf.linalg.set_diag(found, tf.zeros_like(found[0]))


def _same_label(labels: Any) -> Any:
    """Whether each two labels of a vector are the same."""
    labels = tf.convert_to_tensor(labels)
    labels.shape.assert_has_rank(1)
    return tf.equal(tf.expand_dims(labels, 1), tf.expand_dims(labels, 0))


def _positives(same: Any) -> Any:
    """1 for each pair with the same label, but for those of one and itself."""
    found = tf.cast(same, tf.float32)
    return tf.linalg.set_diag(found, tf.zeros_like(found[0]))


@export("contrib.losses.metric_learning.contrastive_loss")
def contrastive_loss(
    labels: Any, embeddings_anchor: Any, embeddings_positive: Any, margin: float = 1.0
) -> Any:
    """Returns the mean of the squared distances of pairs with label 1, and of how far others are within the margin."""
    gaps = tf.squared_difference(embeddings_anchor, embeddings_positive)
    distances = tf.sqrt(tf.reduce_sum(gaps, 1))
    alike = tf.cast(labels, distances.dtype)
    too_near = tf.square(tf.maximum(margin - distances, 0.0))
    losses = alike * tf.square(distances) + (1.0 - alike) * too_near
    return tf.reduce_mean(losses, name="contrastive_loss")


@export("contrib.losses.metric_learning.triplet_semihard_loss")
def triplet_semihard_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> Any:
    """Returns the mean, over pairs with the same label, of how much nearer a third with another one is than it should.

    The third is the nearest that is farther away than the pair, or where there is none, the farthest.
    """
    distances = _distances(embeddings, squared=True)
    same = _same_label(labels)
    other = tf.logical_not(same)
    # For anchor i, its partner j, and a third k.
    of_third, of_pair = tf.expand_dims(distances, 1), tf.expand_dims(distances, 2)
    farther = tf.logical_and(tf.expand_dims(other, 1), tf.greater(of_third, of_pair))
    greatest = tf.reduce_max(of_third, 2, keepdims=True)
    nearest = tf.reduce_min((of_third - greatest) * tf.cast(farther, tf.float32), 2)
    nearest = nearest + greatest[:, :, 0]
    least = tf.reduce_min(distances, 1, keepdims=True)
    farthest = tf.reduce_max((distances - least) * tf.cast(other, tf.float32), 1, keepdims=True)
    farthest = farthest + least + tf.zeros_like(distances)
    third = tf.where(tf.reduce_any(farther, 2), nearest, farthest)
    pairs = _positives(same)
    losses = tf.maximum((margin + distances - third) * pairs, 0.0)
    total = tf.reduce_sum(losses)
    return tf.truediv(total, tf.reduce_sum(pairs), name="triplet_semihard_loss")


@export("contrib.losses.metric_learning.lifted_struct_loss")
def lifted_struct_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> Any:
    """Returns the loss of pairs with the same label against all others that either of the two has."""
    distances = _distances(embeddings)
    same = _same_label(labels)
    other = tf.cast(tf.logical_not(same), tf.float32)
    gaps = margin - distances
    least = tf.reduce_min(gaps, 1, keepdims=True)
    greatest = tf.reduce_max((gaps - least) * other, 1, keepdims=True) + least
    # A logarithm of a sum of exponentials, of which the greatest of both rows is taken out: the result does
    # not depend on it, so it gets no gradient, which would not cancel where two rows have the same.
    greatest = tf.stop_gradient(tf.maximum(greatest, tf.transpose(greatest)))
    terms = tf.exp(tf.expand_dims(gaps, 1) - tf.expand_dims(greatest, 2))
    sums = tf.reduce_sum(terms * tf.expand_dims(other, 1), 2)
    losses = greatest + tf.log(sums + tf.transpose(sums)) + distances
    pairs = _positives(same)
    total = 0.25 * tf.reduce_sum(tf.square(tf.maximum(losses * pairs, 0.0)))
    return tf.truediv(total, tf.reduce_sum(pairs) / 2.0, name="liftedstruct_loss")


def _npairs(alike: Any, anchor: Any, positive: Any, reg_lambda: float, print_losses: bool) -> Any:
    """The cross entropy of how similar each anchor is to all positives with how alike their labels are."""
    norms = [tf.reduce_mean(tf.reduce_sum(tf.square(x), 1)) for x in (anchor, positive)]
    l2loss = tf.multiply(0.25 * reg_lambda, norms[0] + norms[1], name="l2loss")
    similarity = tf.matmul(anchor, positive, transpose_b=True)
    wanted = alike / tf.reduce_sum(alike, 1, keepdims=True)
    losses = tf.nn.softmax_cross_entropy_with_logits_v2(
        labels=tf.stop_gradient(wanted), logits=similarity
    )
    loss = tf.reduce_mean(losses, name="xentropy")
    if print_losses:
        loss = tf.Print(loss, ["cross entropy:", loss, "l2loss:", l2loss])
    return l2loss + loss


@export("contrib.losses.metric_learning.npairs_loss")
def npairs_loss(
    labels: Any,
    embeddings_anchor: Any,
    embeddings_positive: Any,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Any:
    """Returns the loss of telling the positive of each anchor from those of all others."""
    alike = tf.cast(_same_label(labels), tf.float32)
    return _npairs(alike, embeddings_anchor, embeddings_positive, reg_lambda, print_losses)


@export("contrib.losses.metric_learning.npairs_loss_multilabel")
def npairs_loss_multilabel(
    sparse_labels: Any,
    embeddings_anchor: Any,
    embeddings_positive: Any,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Any:
    """As `npairs_loss`, of pairs with several labels each: a list of SparseTensors with a 1 for each label."""
    if not all(isinstance(item, tf.SparseTensor) for item in sparse_labels):
        raise TypeError(f"sparse_labels must be a list of SparseTensors, but got {sparse_labels}")
    with tf.name_scope("NpairsLossMultiLabel"):
        rows = tf.stack([tf.reshape(tf.sparse.to_dense(x), [-1]) for x in sparse_labels])
        common = tf.minimum(tf.expand_dims(rows, 1), tf.expand_dims(rows, 0))
        alike = tf.cast(tf.reduce_sum(common, 2), tf.float32)
        return _npairs(alike, embeddings_anchor, embeddings_positive, reg_lambda, print_losses)
