"""Builds cases through a `tf`-shaped module: the one under test, or for the oracle TensorFlow."""

from __future__ import annotations

import numpy as np

from .case import LEVELS, Case
from .values import UNKNOWN_SHAPE, Dtype, Shape, Value, cast

GRADIENT_SEED = "gradient of output"


class Built:
    """A case in the default graph: its outputs, and what to feed."""

    def __init__(self, outputs, inputs, feeds):
        self.outputs = outputs
        self.inputs = inputs
        self.feeds = feeds


def build(tf, case, level="full", compute=None):
    """Adds `case` to the default graph, its inputs placeholders of shapes as known as `level` says.

    `compute`, where given, does it by other ops.
    """
    feeds = {}
    inputs = {}

    def leaf(value, array, name):
        dtype = value.dtype_in(case.dtype)
        fed = native(tf, array, dtype)
        if value.const and level != "fed":
            return tf.constant(fed, dtype=tf.as_dtype(dtype), shape=array.shape)
        placeholder = tf.placeholder(tf.as_dtype(dtype), shape_at(level, array.shape))
        feeds[placeholder] = fed
        inputs[name] = placeholder
        return placeholder

    arguments = {}
    for name, array in case.arrays().items():
        value = case.inputs[name]
        if isinstance(value, Value):
            arguments[name] = leaf(value, array, name)
        else:
            arguments[name] = [
                leaf(value[i], item, "%s/%d" % (name, i)) for i, item in enumerate(array)
            ]
    return Built(call(tf, case, arguments, compute), inputs, feeds)


def call(tf, case, arguments, compute=None):
    """Calls the raw op, in a graph or eagerly; gives its outputs as a flat list."""
    attrs = {name: attribute(tf, case, value) for name, value in case.attrs.items()}
    if compute:
        return compute(tf, arguments, attrs)
    result = getattr(tf.raw_ops, case.op)(**dict(arguments, **attrs))
    return flat(tf, result)


def call_eagerly(tf, case):
    """Runs the case at once; gives outputs and inputs by name, all eager tensors."""
    inputs = {}

    def leaf(value, array, name):
        dtype = value.dtype_in(case.dtype)
        inputs[name] = tf.constant(native(tf, array, dtype), dtype=tf.as_dtype(dtype))
        return inputs[name]

    arguments = {}
    for name, array in case.arrays().items():
        value = case.inputs[name]
        if isinstance(value, Value):
            arguments[name] = leaf(value, array, name)
        else:
            arguments[name] = [
                leaf(value[i], item, "%s/%d" % (name, i)) for i, item in enumerate(array)
            ]
    return arguments, inputs


def attribute(tf, case, value):
    if isinstance(value, Dtype):
        return tf.as_dtype(case.dtype if value == "T" else str(value))
    if isinstance(value, Shape):
        return tf.TensorShape(list(value))
    if value is UNKNOWN_SHAPE:
        return tf.TensorShape(None)
    if isinstance(value, list):
        return [attribute(tf, case, item) for item in value]
    return value


def flat(tf, result):
    if result is None or isinstance(result, tf.Operation):
        return []
    if isinstance(result, (list, tuple)):
        return [leaf for item in result for leaf in flat(tf, item)]
    return [result]


def native(tf, array, dtype):
    """The array as `tf` wants it fed: bfloat16 in its own NumPy type."""
    return array.astype(tf.bfloat16.as_numpy_dtype) if dtype == "bfloat16" else array


def shape_at(level, shape):
    if level not in LEVELS:
        raise ValueError("no level %r" % level)
    if level == "full":
        return shape
    if level == "batch":
        return (None,) + tuple(shape[1:]) if shape else ()
    if level == "rank":
        return (None,) * len(shape)
    return None


def is_differentiable(tf, dtype):
    dtype = tf.as_dtype(dtype).base_dtype
    return dtype.is_floating or dtype.is_complex


def output_gradient(case, position, shape, dtype):
    """The gradient that flows into an output: fixed numbers in [-1, 1]."""
    from .values import between

    seed = "%s/%s %d" % (case.seed, GRADIENT_SEED, position)
    return between(-1, 1, *shape).array(seed, dtype)


def add_gradients(tf, case, built, shapes):
    """Gradients of the outputs (whose actual shapes are given) by every differentiable input.

    Gives name -> tensor or None, dense; and the names of those that arrived as IndexedSlices.
    """
    outputs = [
        (i, output)
        for i, output in enumerate(built.outputs)
        if is_differentiable(tf, output.dtype) and case.receives(i)
    ]
    names = [
        name
        for name, tensor in built.inputs.items()
        if is_differentiable(tf, tensor.dtype) and case.by(name)
    ]
    if not outputs or not names:
        return {}, []
    grad_ys = []
    for i, output in outputs:
        dtype = output.dtype.base_dtype.name
        grad_ys.append(
            tf.constant(native(tf, output_gradient(case, i, shapes[i], dtype), dtype), output.dtype)
        )
    grads = tf.gradients(
        [output for _, output in outputs], [built.inputs[name] for name in names], grad_ys
    )
    sparse = [name for name, grad in zip(names, grads) if isinstance(grad, tf.IndexedSlices)]
    dense = {
        name: None if grad is None else tf.convert_to_tensor(grad)
        for name, grad in zip(names, grads)
    }
    return dense, sparse


class Step:
    """One `Session.run` of a script."""

    def __init__(self, fetches, error):
        self.fetches = fetches
        self.error = error


class Builder:
    """What a script builds with: `g.tf`, `g.raw` and the few things below."""

    def __init__(self, tf, eager=False):
        self.tf = tf
        self.raw = tf.raw_ops
        self.eager = eager
        self.feeds = {}
        self._names = 0

    def fresh_name(self):
        """A name for a resource: those with none are all one and the same."""
        self._names += 1
        return "resource %d" % self._names

    def feed(self, values, dtype="float32", shape=False):
        """A placeholder fed with `values` in every step; eagerly a constant.

        `shape`: what the graph is told of it, unless all.
        """
        array = values if isinstance(values, np.ndarray) else np.array(values)
        array = native(self.tf, cast(array, dtype), dtype)
        if self.eager:
            return self.tf.constant(array, self.tf.as_dtype(dtype))
        told = array.shape if shape is False else shape
        with self.tf.control_dependencies(None):
            placeholder = self.tf.placeholder(self.tf.as_dtype(dtype), told)
        self.feeds[placeholder] = array
        return placeholder

    def constant(self, values, dtype="float32"):
        array = cast(np.array(values), dtype)
        return self.tf.constant(native(self.tf, array, dtype), self.tf.as_dtype(dtype))

    def function(self, function, *signature):
        """A concrete function of arguments with the given dtypes, or (dtype, shape) pairs."""
        tf = self.tf
        specs = []
        for item in signature:
            dtype, shape = item if isinstance(item, tuple) else (item, None)
            specs.append(tf.TensorSpec(shape, tf.as_dtype(dtype)))
        return tf.function(function, input_signature=specs).get_concrete_function()

    def old_op(self, op, inputs, _producer=2, **attrs):
        """The outputs of an op that only graphs of older TensorFlows may hold: one is imported."""
        tf = self.tf
        graph_def = tf.GraphDef()
        graph_def.versions.producer = _producer
        node = graph_def.node.add(name="old", op=op)
        for name, value in attrs.items():
            if isinstance(value, bool):
                node.attr[name].b = value
            elif isinstance(value, int):
                node.attr[name].i = value
            elif isinstance(value, float):
                node.attr[name].f = value
            elif isinstance(value, str):
                node.attr[name].s = value.encode()
            elif isinstance(value, list):
                node.attr[name].list.i.extend(value)
            else:
                node.attr[name].type = value.as_datatype_enum
        for name, tensor in inputs.items():
            node.input.append(name)
            placeholder = graph_def.node.add(name=name, op="Placeholder")
            placeholder.attr["dtype"].type = tensor.dtype.as_datatype_enum
        return tf.import_graph_def(graph_def, inputs, ["old"])[0].outputs

    def run(self, *fetches, **options):
        """A step that fetches these; `error`: the class of the error that it must end in."""
        error = options.pop("error", None)
        if options:
            raise TypeError("run() takes only `error`, not %s" % sorted(options))
        return Step(list(fetches), error)


def build_script(tf, script):
    """Builds the whole program into the default graph; gives its steps and feeds."""
    builder = Builder(tf)
    steps = list(script.function(builder))
    for step in steps:
        if not isinstance(step, Step):
            raise TypeError("%s yields %r, not g.run(...)" % (script.name, step))
    return steps, builder.feeds


def is_case(item):
    return isinstance(item, Case)
