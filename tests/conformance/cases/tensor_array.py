"""TensorArrays, in loops and on their own."""

from __future__ import annotations

from ..case import Family, script

scripts = []


def declare(*ops, **options):
    def keep(function):
        scripts.append(script(*ops, **options)(function))
        return function

    return keep


THREE = ("TensorArrayV3", "TensorArrayWriteV3", "TensorArrayReadV3")


def array(g, size, dtype="float32", **attrs):
    return g.raw.TensorArrayV3(size=g.feed(size, "int32"), dtype=g.tf.as_dtype(dtype), **attrs)


def write(g, handle, index, value, flow):
    return g.raw.TensorArrayWriteV3(
        handle=handle, index=g.feed(index, "int32"), value=value, flow_in=flow
    )


def filled(g, handle, flow, dtype="float32"):
    for index, value in ((0, [1, 2]), (2, [5, 6]), (1, [3, 4])):
        flow = write(g, handle, index, g.feed(value, dtype), flow)
    return flow


@declare("TensorArraySizeV3", "TensorArrayGatherV3", "TensorArrayCloseV3", *THREE)
def write_and_read(g):
    tf = g.tf
    for dtype in ("float32", "int64"):
        handle, flow = array(g, 3, dtype)
        flow = filled(g, handle, flow, dtype)
        kind = tf.as_dtype(dtype)
        stacked = g.raw.TensorArrayGatherV3(
            handle=handle, indices=g.feed([0, 1, 2], "int32"), flow_in=flow, dtype=kind
        )
        size = g.raw.TensorArraySizeV3(handle=handle, flow_in=flow)
        with tf.control_dependencies([stacked, size]):
            closed = g.raw.TensorArrayCloseV3(handle=handle)
        yield g.run(stacked, size, closed)


@declare("TensorArrayReadV3")
def read_each(g):
    tf = g.tf
    handle, flow = array(g, 3, clear_after_read=False)
    flow = filled(g, handle, flow)
    yield g.run(
        *[
            g.raw.TensorArrayReadV3(
                handle=handle, index=g.feed(i, "int32"), flow_in=flow, dtype=tf.float32
            )
            for i in (2, 0, 2)
        ]
    )


@declare("TensorArrayScatterV3", "TensorArrayConcatV3", "TensorArraySplitV3")
def scatter_split_concat(g):
    tf = g.tf
    handle, flow = array(g, 3)
    flow = g.raw.TensorArrayScatterV3(
        handle=handle,
        indices=g.feed([2, 0, 1], "int32"),
        value=g.feed([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        flow_in=flow,
    )
    joined = g.raw.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=tf.float32)
    yield g.run(*joined)
    handle, flow = array(g, 3)
    flow = g.raw.TensorArraySplitV3(
        handle=handle,
        value=g.feed([[1.0], [2.0], [3.0], [4.0]]),
        lengths=g.feed([1, 0, 3], "int64"),
        flow_in=flow,
    )
    yield g.run(*g.raw.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=tf.float32))


@declare("TensorArrayV3")
def dynamic_size(g):
    tf = g.tf
    handle, flow = array(g, 0, dynamic_size=True)
    flow = write(g, handle, 3, g.feed([1.0]), write(g, handle, 0, g.feed([2.0]), flow))
    yield g.run(
        g.raw.TensorArraySizeV3(handle=handle, flow_in=flow),
        g.raw.TensorArrayReadV3(
            handle=handle, index=g.feed(3, "int32"), flow_in=flow, dtype=tf.float32
        ),
    )


@declare(*THREE)
def misuse(g):
    tf = g.tf
    handle, flow = array(g, 2)
    first = write(g, handle, 0, g.feed([1.0]), flow)
    yield g.run(write(g, handle, 5, g.feed([1.0]), flow), error="InvalidArgumentError")
    yield g.run(write(g, handle, 0, g.feed([2.0]), first), error="InvalidArgumentError")
    yield g.run(
        g.raw.TensorArrayReadV3(
            handle=handle, index=g.feed(1, "int32"), flow_in=first, dtype=tf.float32
        ),
        error="InvalidArgumentError",
    )
    yield g.run(
        g.raw.TensorArrayReadV3(
            handle=handle, index=g.feed(0, "int32"), flow_in=first, dtype=tf.float32
        )
    )


@declare("TensorArrayGradV3", *THREE)
def gradient_through_an_array(g):
    tf = g.tf
    x = g.feed([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    held = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(x)
    y = held.read(0) * held.read(2) + held.read(0)
    yield g.run(y, *tf.gradients(y, [x]))


@declare("TensorArrayGatherV3", "TensorArrayScatterV3", "TensorArrayConcatV3", "TensorArraySplitV3")
def gradients_of_stack_and_concat(g):
    tf = g.tf
    x = g.feed([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    weights = g.feed([[1.0, -1.0], [0.5, 2.0], [3.0, 0.25]])
    stacked = tf.TensorArray(tf.float32, size=3).unstack(x).stack()
    joined = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(x, [1, 2]).concat()
    for y in (stacked, joined):
        yield g.run(y, *tf.gradients(y * weights * y, [x]))


@declare("TensorArrayV3", "Enter", "Exit")
def arrays_in_loops(g):
    tf = g.tf
    x, w = g.feed([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), g.feed([0.5, -1.0])
    mapped = tf.map_fn(lambda row: tf.sin(row) * w, x)
    scanned = tf.scan(lambda state, row: state * w + row, x)
    folded = tf.foldl(lambda state, row: state * w + row, x)
    reverse = tf.foldr(lambda state, row: state * w + row, x)
    for y in (mapped, scanned, folded, reverse):
        yield g.run(y, *tf.gradients(y, [x, w]))


@declare("TensorArrayV3")
def element_shape_is_kept(g):
    tf = g.tf
    handle, flow = array(g, 2, element_shape=[2], identical_element_shapes=True)
    yield g.run(
        write(g, handle, 0, g.feed([1.0, 2.0, 3.0], shape=None), flow), error="InvalidArgumentError"
    )
    flow = write(g, handle, 1, g.feed([1.0, 2.0]), flow)
    zeros = g.raw.TensorArrayGatherV3(
        handle=handle, indices=g.feed([1], "int32"), flow_in=flow, dtype=tf.float32
    )
    yield g.run(zeros)


FAMILY = Family("tensor_array", [], scripts)
