"""Ops that few programs use: those of graphs of old TensorFlows, loops over references, fused convolutions."""

from __future__ import annotations

from ..case import Family, row, script
from ..values import const, lit, num
from .state import reference

rows = [
    row(
        "FusedResizeAndPadConv2D",
        label,
        dtype,
        input=num(1, 3, 4, 2),  # of several images TensorFlow resizes the first one only
        size=const([5, 6]),
        paddings=const([[0, 0], [1, 2], [2, 0], [0, 0]]),
        filter=num(3, 2, 2, 3),
        resize_align_corners=align,
        mode=mode,
        strides=[1, 2, 1, 1],
        padding=padding,
        tol_=tolerance,
        grad_=False,
    )
    for label, align, mode, padding in (
        ("reflected", False, "REFLECT", "VALID"),
        ("corners aligned", True, "SYMMETRIC", "SAME"),
    )
    for dtype, tolerance in (("float32", 3), ("float64", 1000))  # the image is resized in float32
]
# Ids and parents for three steps, two sequences and two beams.
_STEPS = [[[1, 2], [3, 4]], [[5, 6], [7, 9]], [[8, 9], [9, 8]]]
_PARENTS = [[[0, 0], [0, 0]], [[1, 0], [0, 1]], [[1, 0], [1, 1]]]
rows += [
    row(
        "GatherTree",
        label,
        step_ids=lit(_STEPS, "int32"),
        parent_ids=lit(parents, "int32"),
        max_sequence_lengths=lit(lengths, "int32"),
        end_token=lit(9, "int32"),
        error_=error,
    )
    for label, parents, lengths, error in (
        ("as long", _PARENTS, [3, 3], None),
        ("shorter and longer", _PARENTS, [2, 5], None),
        ("empty", _PARENTS, [0, 1], None),
        ("wrong parent", [*_PARENTS[:2], [[1, 0], [-1, 1]]], [3, 3], "InvalidArgumentError"),
        ("other batch", _PARENTS, [3, 3, 3], ("InvalidArgumentError", "ValueError")),
    )
]
rows += [
    row(
        "StringFormat",
        inputs=[lit([[1, 2], [3, 4]], "int32"), lit(2.5, "float32")],
        template="a {} b {} c",
        placeholder="{}",
    ),
    row(
        "StringFormat",
        "long",
        inputs=[lit(list(range(20)), "int64"), lit([b"x", b"y"], "string"), lit(True, "bool")],
        template="%s|%s|%s",
        summarize=2,
    ),
    row(
        "StringFormat",
        "another number of placeholders",
        inputs=[lit([[0.1, 1e10], [-1e-7, 3.0]], "float64")],
        template="{}{}",
        placeholder="{}",
        error_="ValueError",
    ),
    row(
        "StringFormat",
        "no limit",
        inputs=[lit(list(range(12)), "int32")],
        template="{}",
        placeholder="{}",
        summarize=-1,
    ),
]
scripts = []


def declare(*ops, **options):
    def keep(function):
        scripts.append(script(*ops, **options)(function))
        return function

    return keep


@declare("BatchNormWithGlobalNormalization", "BatchNormWithGlobalNormalizationGrad")
def batch_norm_of_old_graphs(g):
    tf = g.tf
    inputs = {
        "t": g.feed([[[[1.0, -2.0], [0.5, 3.0]]], [[[2.0, 0.0], [-1.0, 1.5]]]]),
        "m": g.feed([0.5, 0.25]),
        "v": g.feed([1.5, 2.0]),
        "beta": g.feed([0.1, -0.2]),
        "gamma": g.feed([2.0, 0.5]),
    }
    flowing = g.feed([[[[1.0, 0.5], [-1.0, 2.0]]], [[[0.25, -0.5], [1.0, 1.0]]]])
    for scales in (True, False):
        how = dict(T=tf.float32, variance_epsilon=0.01, scale_after_normalization=scales)
        y = g.old_op("BatchNormWithGlobalNormalization", inputs, **how)[0]
        yield g.run(y, *tf.gradients(y, list(inputs.values()), flowing))


@declare("Conv3DBackpropInput", "Conv3DBackpropFilter")
def gradients_of_conv3d_of_old_graphs(g):
    tf = g.tf
    image = g.constant([0.5 * i % 3.0 - 1.0 for i in range(2 * 3 * 4 * 2)])
    filters = g.constant([0.25 * i % 2.0 - 0.75 for i in range(2 * 2 * 2 * 2)])
    image = tf.reshape(image, [1, 2, 3, 4, 2])
    filters = tf.reshape(filters, [2, 2, 2, 2, 1])
    y = tf.nn.conv3d(image, filters, [1, 1, 1, 2, 1], "SAME")
    inputs = {"input": image, "filter": filters, "out_backprop": tf.sin(y)}
    how = dict(T=tf.float32, strides=[1, 1, 1, 2, 1], padding="SAME")
    for op in ("Conv3DBackpropInput", "Conv3DBackpropFilter"):
        yield g.run(*g.old_op(op, inputs, **how))


@declare("RefEnter", "RefExit", "RefNextIteration", "RefMerge", "RefSwitch", "Enter")
def loop_over_a_reference(g):
    """A loop as the ops spell it out: what it carries is a variable itself."""
    tf = g.tf
    v, init = reference(g, [1.0, 2.0])
    yield g.run(init)
    frame = dict(frame_name="frame")
    i = g.raw.Enter(data=g.feed(0, "int32"), **frame)
    limit = g.raw.Enter(data=g.feed(3, "int32"), is_constant=True, **frame)
    one = g.raw.Enter(data=g.feed(1, "int32"), is_constant=True, **frame)
    more = g.raw.Enter(data=g.feed([1.0, 10.0]), is_constant=True, **frame)
    variable = g.raw.RefEnter(data=v, **frame)
    i_now, _ = g.raw.Merge(inputs=[i, i])
    now, _ = g.raw.RefMerge(inputs=[variable, variable])
    going = g.raw.LoopCond(input=tf.less(i_now, limit))
    _, i_in = g.raw.Switch(data=i_now, pred=going)
    out, inside = g.raw.RefSwitch(data=now, pred=going)
    changed = g.raw.AssignAdd(ref=inside, value=more)
    i_now.op._update_input(1, g.raw.NextIteration(data=i_in + one))
    now.op._update_input(1, g.raw.RefNextIteration(data=changed))
    left = g.raw.RefExit(data=out)
    yield g.run(left)
    yield g.run(g.raw.Identity(input=v))


@declare("Switch", "Merge")
def gradients_through_one_side_of_a_switch(g):
    tf = g.tf
    for taken in (True, False):
        x = g.feed([2.0, 3.0])
        no, yes = g.raw.Switch(data=x, pred=g.feed(taken, "bool"))
        yield g.run(*tf.gradients(no, [x]))
        yield g.run(*tf.gradients(yes, [x]))


@declare("TensorArrayGradWithShape")
def gradients_of_another_shape(g):
    tf = g.tf
    handle, flow = g.raw.TensorArrayV3(
        size=g.feed(2, "int32"), dtype=tf.float32, element_shape=[2], clear_after_read=False
    )

    def at(i):
        return dict(index=g.feed(i, "int32"))

    flow = g.raw.TensorArrayWriteV3(handle=handle, value=g.feed([1.0, 2.0]), flow_in=flow, **at(0))
    grads, flow = g.raw.TensorArrayGradWithShape(
        handle=handle, flow_in=flow, shape_to_prepend=g.constant([3], "int32"), source="a"
    )
    blank = g.raw.TensorArrayReadV3(handle=grads, flow_in=flow, dtype=tf.float32, **at(1))
    yield g.run(blank)
    rows = g.feed([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for _ in range(2):
        flow = g.raw.TensorArrayWriteV3(handle=grads, value=rows, flow_in=flow, **at(0))
    yield g.run(g.raw.TensorArrayReadV3(handle=grads, flow_in=flow, dtype=tf.float32, **at(0)))
    wrong = g.raw.TensorArrayWriteV3(
        handle=grads, value=g.feed([1.0, 2.0], shape=None), flow_in=flow, **at(1)
    )
    yield g.run(wrong, error="InvalidArgumentError")


FAMILY = Family("seldom", rows, scripts)
