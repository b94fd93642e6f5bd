"""Rewriting a graph in place: batch normalizations are folded, weights and activations rounded."""

from __future__ import annotations

import re
from typing import Any

import weft as tf
from weft.contrib.quantize.folding import fold_batch_norms
from weft.contrib.quantize.layers import quantize

_TRAINING = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]\w*")


def create_training_graph(input_graph: Any = None, quant_delay: int = 0) -> None:
    """Rewrites a model's graph so that it is trained as if it were quantized; before its gradients are added.

    Args:
      input_graph: the graph, by default the default one.
      quant_delay: after how many steps numbers begin to be rounded: 0 for a model that is trained already.
    """
    experimental_create_training_graph(input_graph, quant_delay=quant_delay)


def create_eval_graph(input_graph: Any = None) -> None:
    """Rewrites a model's graph so that it computes as the quantized model will."""
    experimental_create_eval_graph(input_graph)


def experimental_create_training_graph(
    input_graph: Any = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int | None = 0,
    freeze_bn_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """As `create_training_graph`, with more choices.

    Args:
      weight_bits, activation_bits: how many bits there are.
      symmetric: ranges have zero in their middle.
      freeze_bn_delay: after how many steps the moving averages of batch normalizations no longer move.
      scope: what is not in this scope stays as it is.
    """
    _rewrite(
        input_graph,
        True,
        freeze_bn_delay,
        weight_bits=weight_bits,
        activation_bits=activation_bits,
        symmetric=symmetric,
        quant_delay=quant_delay,
        scope=scope,
    )


def experimental_create_eval_graph(
    input_graph: Any = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """As `create_eval_graph`, with the choices of `experimental_create_training_graph`."""
    _rewrite(
        input_graph,
        False,
        None,
        weight_bits=weight_bits,
        activation_bits=activation_bits,
        symmetric=symmetric,
        quant_delay=quant_delay,
        scope=scope,
    )


def _rewrite(graph: Any, is_training: bool, freeze_delay: int | None, **how: Any) -> None:
    graph = tf.get_default_graph() if graph is None else graph
    training = {op.type for op in graph.get_operations() if _TRAINING.fullmatch(op.type)}
    if training:
        raise ValueError(f"Training op found in graph, exiting {training}")
    with graph.as_default():
        fold_batch_norms(graph, is_training, freeze_delay)
        quantize(graph, is_training, **how)
