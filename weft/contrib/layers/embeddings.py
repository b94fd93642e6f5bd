"""Embeddings of ids and of sequences of ids."""

from __future__ import annotations

from typing import Any

import weft as tf
from weft.contrib.framework.variables import model_variable
from weft.contrib.layers.layer import exported


@exported("embed_sequence")
def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: bool | None = None,
) -> Any:
    """A row for each id; with `unique` the rows are looked up once for each id that occurs."""
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            f"Must specify vocab size and embedding dimension when not reusing. Got vocab_size={vocab_size} and "
            f"embed_dim={embed_dim}"
        )
    with tf.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape: Any = [vocab_size, embed_dim]
        if (reuse and vocab_size is None) or embed_dim is None:
            shape = None
        embeddings = model_variable(
            "embeddings",
            shape=shape,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        look_up = embedding_lookup_unique if unique else tf.nn.embedding_lookup
        return look_up(embeddings, ids)


@exported("embedding_lookup_unique")
def embedding_lookup_unique(
    params: Any, ids: Any, partition_strategy: str = "mod", name: Any = None
) -> Any:
    """`embedding_lookup` that looks up each id once."""
    with tf.name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = tf.convert_to_tensor(ids)
        shape = tf.shape(ids)
        unique, positions = tf.unique(tf.reshape(ids, [-1]))
        rows = tf.nn.embedding_lookup(params, unique, partition_strategy)
        flat = tf.gather(rows, positions)
        out = tf.reshape(flat, tf.concat([shape, tf.shape(flat)[1:]], 0))
        out.set_shape(ids.get_shape().concatenate(flat.get_shape()[1:]))
        return out


@exported("safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = None,
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Any:
    """`tf.nn.safe_embedding_lookup_sparse`, with `mean` as the default combiner."""
    return tf.nn.safe_embedding_lookup_sparse(
        embedding_weights,
        sparse_ids,
        sparse_weights,
        combiner=combiner or "mean",
        default_id=default_id,
        name=name,
        partition_strategy=partition_strategy,
        max_norm=max_norm,
    )


@exported("bow_encoder")
def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: bool | None = None,
) -> Any:
    """The mean of the rows of each example's ids."""
    if not vocab_size or not embed_dim:
        raise ValueError("Must specify vocab size and embedding dimension")
    with tf.variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        sparse = isinstance(ids, tf.SparseTensor)
        if sparse_lookup:
            if not sparse:
                ids = tf.convert_to_tensor(ids)
                places = tf.where(tf.not_equal(ids, 0))
                ids = tf.SparseTensor(
                    places, tf.gather_nd(ids, places), tf.shape(ids, out_type=tf.int64)
                )
            return safe_embedding_lookup_sparse([embeddings], ids, combiner="mean", default_id=0)
        if sparse:
            raise TypeError("ids are expected to be dense Tensor, got: %s", ids)
        return tf.reduce_mean(tf.nn.embedding_lookup(embeddings, ids), axis=1)
