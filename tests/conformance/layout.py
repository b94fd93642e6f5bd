"""Channels first: mostly missing from TensorFlow's CPU kernels, so the oracle transposes."""

from __future__ import annotations


def to_last(rank):
    return [0] + list(range(2, rank)) + [1]


def to_first(rank):
    return [0, rank - 1] + list(range(1, rank - 1))


def first(dims):
    """A channels-last list (shape, strides, window) as channels-first."""
    return [dims[i] for i in to_first(len(dims))]


def by_transposing(op, images, sizes=(), results=(0,)):
    """How the oracle computes `op` with channels first.

    Args:
        images: inputs with channels.
        sizes: inputs that are shapes with channels.
        results: positions of the outputs with channels.
    """

    def compute(tf, arguments, attrs):
        arguments, attrs = dict(arguments), dict(attrs)
        for name in images:
            rank = arguments[name].shape.ndims
            arguments[name] = tf.transpose(arguments[name], to_last(rank))
        for name in sizes:
            rank = arguments[name].shape.as_list()[0]
            arguments[name] = tf.gather(arguments[name], to_last(rank))
        for name in ("strides", "ksize", "dilations"):
            if name in attrs:
                attrs[name] = [attrs[name][i] for i in to_last(len(attrs[name]))]
        attrs["data_format"] = {"NCHW": "NHWC", "NCDHW": "NDHWC"}[attrs["data_format"]]
        outputs = getattr(tf.raw_ops, op)(**dict(arguments, **attrs))
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        for position in results:
            rank = outputs[position].shape.ndims
            outputs[position] = tf.transpose(outputs[position], to_first(rank))
        return outputs

    return compute
