"""Control flow as graphs of TensorFlow 1 hold it: dead tensors, frames, loops; control edges."""

from __future__ import annotations

from ..case import Family, row, script
from .state import read, reference, resource

scripts = []


def declare(*ops, **options):
    def keep(function):
        scripts.append(script(*ops, **options)(function))
        return function

    return keep


rows = [
    row("NoOp"),
    row("ControlTrigger", eager_=False),
]


@declare("Switch", "Merge")
def switch_and_merge(g):
    for taken in (True, False):
        data = g.feed([1.0, 2.0])
        no, yes = g.raw.Switch(data=data, pred=g.feed(taken, "bool"))
        merged, index = g.raw.Merge(inputs=[no * 10.0, yes + 1.0])
        yield g.run(merged, index)


@declare("Switch")
def fetching_a_dead_tensor(g):
    no, yes = g.raw.Switch(data=g.feed([1.0, 2.0]), pred=g.feed(True, "bool"))
    yield g.run(yes)
    yield g.run(no, error="InvalidArgumentError")


@declare("Switch", "Merge", "Assign", "AssignAdd")
def only_the_taken_branch_has_effects(g):
    tf = g.tf
    v, init = reference(g, 0.0)
    for taken in (True, False, True):
        pred = g.feed(taken, "bool")
        result = tf.cond(pred, lambda: tf.assign_add(v, 1.0), lambda: tf.assign_add(v, 100.0))
        yield g.run(init) if taken else g.run(g.raw.Identity(input=v))
        yield g.run(result)


@declare("RefSwitch", "RefMerge", "RefIdentity", "RefSelect", "VariableV2", "Assign")
def references_through_control_flow(g):
    v, init = reference(g, [1.0, 2.0])
    w, init_w = reference(g, [3.0, 4.0])
    one = g.feed([1.0, 1.0])
    no, yes = g.raw.RefSwitch(data=v, pred=g.feed(True, "bool"))
    merged, index = g.raw.RefMerge(
        inputs=[g.raw.RefIdentity(input=no), g.raw.RefIdentity(input=yes)]
    )
    chosen = g.raw.RefSelect(index=g.feed(1, "int32"), inputs=[v, w])
    yield g.run(init, init_w)
    yield g.run(g.raw.AssignAdd(ref=merged, value=one), index)
    yield g.run(g.raw.AssignAdd(ref=chosen, value=one))
    yield g.run(g.raw.Identity(input=v), g.raw.Identity(input=w))


@declare("Enter", "Exit", "NextIteration", "LoopCond", "Merge", "Switch")
def while_loop(g):
    tf = g.tf
    limit = g.feed(5, "int32")
    i, total = tf.while_loop(
        lambda i, total: i < limit,
        lambda i, total: (i + 1, total * 2.0 + 1.0),
        [g.feed(0, "int32"), g.feed([1.0, 0.5])],
    )
    yield g.run(i, total)


@declare("Enter", "Exit", "NextIteration", "LoopCond", "Merge", "Switch")
def while_loop_never_entered(g):
    tf = g.tf
    limit = g.feed(0, "int32")
    total = tf.while_loop(
        lambda i, x: i < limit, lambda i, x: (i + 1, x * 2.0), [g.feed(3, "int32"), g.feed([1.0])]
    )
    yield g.run(*total)


@declare("Enter", "Exit", "NextIteration", "LoopCond")
def nested_while_loops(g):
    tf = g.tf
    limit = g.feed(4, "int32")

    def outer(i, total):
        _, inner = tf.while_loop(
            lambda j, t: j < i, lambda j, t: (j + 1, t + tf.cast(j, tf.float32)), [0, total]
        )
        return i + 1, inner + 10.0

    yield g.run(
        *tf.while_loop(lambda i, total: i < limit, outer, [g.feed(0, "int32"), g.feed(0.0)])
    )


@declare("Enter", "Exit", "Merge", "Switch", "NextIteration")
def gradient_of_while_loop(g):
    tf = g.tf
    x, w = g.feed([1.0, -0.5]), g.feed([0.5, 2.0])
    for trips in (3, 0):
        limit = g.feed(trips, "int32")
        _, y = tf.while_loop(
            lambda i, y, limit=limit: i < limit,
            lambda i, y: (i + 1, tf.sin(y) * w),
            [g.feed(0, "int32"), x],
        )
        yield g.run(y, *tf.gradients(y, [x, w]))


@declare("Switch", "Merge")
def gradient_of_cond(g):
    tf = g.tf
    for taken in (True, False):
        x, c = g.feed([1.0, -0.5]), g.feed([3.0, 4.0])
        y = tf.cond(g.feed(taken, "bool"), lambda x=x, c=c: x * c, lambda x=x: x * x)
        yield g.run(y, *tf.gradients(y, [x, c]))


@declare("Enter", "Exit", "Switch", "Merge")
def cond_inside_while_loop(g):
    tf = g.tf
    x = g.feed([2.0])

    def body(i, y):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * x, lambda: y + x)

    _, y = tf.while_loop(lambda i, y: i < 5, body, [g.feed(0, "int32"), g.feed([1.0])])
    yield g.run(y, *tf.gradients(y, [x]))


@declare("Enter", "Exit", "NextIteration")
def while_loop_changes_shape(g):
    tf = g.tf
    limit = g.feed(3, "int32")
    _, y = tf.while_loop(
        lambda i, y: i < limit,
        lambda i, y: (i + 1, tf.concat([y, y], 0)),
        [g.feed(0, "int32"), g.feed([1.0, 2.0])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    yield g.run(y, tf.shape(y))


@declare("Enter", "Exit", "NextIteration", "RandomUniform")
def random_numbers_in_a_loop(g):
    """A new number in each iteration; the next run continues."""
    tf = g.tf
    _, y = tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, tf.concat([y, tf.random_uniform([2], seed=4)], 0)),
        [g.feed(0, "int32"), g.feed([0.0])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    yield g.run(y)
    yield g.run(y)


@declare("Enter", "AssignAdd", "VariableV2", "Exit")
def variable_updated_in_a_loop(g):
    tf = g.tf
    handle, init = resource(g, 1.0)

    def body(i):
        with tf.control_dependencies(
            [g.raw.AssignAddVariableOp(resource=handle, value=tf.cast(i, tf.float32))]
        ):
            return i + 1

    loop = tf.while_loop(lambda i: i < 5, body, [g.feed(0, "int32")])
    yield g.run(init)
    yield g.run(loop)
    yield g.run(read(g, handle))


@declare("NoOp", "ControlTrigger")
def control_edges(g):
    tf = g.tf
    v, init = reference(g, 1.0)
    with tf.control_dependencies([g.raw.AssignAdd(ref=v, value=g.feed(2.0))]):
        nothing = g.raw.NoOp()
        trigger = g.raw.ControlTrigger()
    with tf.control_dependencies([nothing, trigger]):
        later = g.raw.Identity(input=v) + 0.0
    yield g.run(init)
    yield g.run(nothing)
    yield g.run(later)


@declare("StackV2", "StackPushV2", "StackPopV2", "StackCloseV2")
def stacks(g):
    tf = g.tf
    handle = g.raw.StackV2(
        max_size=g.constant(-1, "int32"), elem_type=tf.float32, stack_name="saved"
    )
    first = g.raw.StackPushV2(handle=handle, elem=g.feed([1.0, 2.0]))
    with tf.control_dependencies([first]):
        second = g.raw.StackPushV2(handle=handle, elem=g.feed([[3.0]]))
    with tf.control_dependencies([second]):
        top = g.raw.StackPopV2(handle=handle, elem_type=tf.float32)
    with tf.control_dependencies([top]):
        below = g.raw.StackPopV2(handle=handle, elem_type=tf.float32)
    with tf.control_dependencies([below]):
        closed = g.raw.StackCloseV2(handle=handle)
    yield g.run(top, below, closed)


@declare("OptionalFromValue", "OptionalNone", "OptionalHasValue", "OptionalGetValue")
def optionals(g):
    tf = g.tf
    some = g.raw.OptionalFromValue(components=[g.feed([1.0, 2.0]), g.feed(b"text", "string")])
    none = g.raw.OptionalNone()
    kinds = dict(output_types=[tf.float32, tf.string], output_shapes=[[2], []])
    yield g.run(g.raw.OptionalHasValue(optional=some), g.raw.OptionalHasValue(optional=none))
    yield g.run(*g.raw.OptionalGetValue(optional=some, **kinds))
    yield g.run(*g.raw.OptionalGetValue(optional=none, **kinds), error="InvalidArgumentError")
    wrong = dict(kinds, output_types=[tf.int32, tf.string])
    yield g.run(*g.raw.OptionalGetValue(optional=some, **wrong), error="InvalidArgumentError")
    wrong = dict(kinds, output_shapes=[[3], []])
    yield g.run(*g.raw.OptionalGetValue(optional=some, **wrong), error="InvalidArgumentError")


FAMILY = Family("flow", rows, scripts)
