"""Ops that call functions of the graph's library."""

from __future__ import annotations

from ..case import Family, script
from .state import read, resource

scripts = []


def declare(*ops, **options):
    def keep(function):
        scripts.append(script(*ops, **options)(function))
        return function

    return keep


for op in ("If", "StatelessIf"):

    def if_(g, op=op):
        tf = g.tf
        then = g.function(lambda x, y: (x + y, x), "float32", "float32")
        other = g.function(lambda x, y: (x * y, y), "float32", "float32")
        x, y = g.feed([1.0, 2.0]), g.feed([3.0, 4.0])
        for cond in (
            g.feed(True, "bool"),
            g.feed(0, "int32"),
            g.feed(2.5),
            g.feed(b"yes", "string"),
            g.feed(b"", "string"),
            g.feed([], "float32"),
            g.feed([0.0], "float32"),
        ):
            yield g.run(
                *getattr(g.raw, op)(
                    cond=cond,
                    input=[x, y],
                    Tout=[tf.float32, tf.float32],
                    then_branch=then,
                    else_branch=other,
                )
            )

    if_.__name__ = op
    declare(op)(if_)

for op in ("While", "StatelessWhile"):

    def while_(g, op=op):
        cond = g.function(lambda i, x: i < 4, ("int32", []), "float32")
        body = g.function(lambda i, x: (i + 1, x * 2.0 + 1.0), ("int32", []), "float32")
        start = g.feed(0, "int32")
        yield g.run(*getattr(g.raw, op)(input=[start, g.feed([1.0, -1.0])], cond=cond, body=body))
        yield g.run(
            *getattr(g.raw, op)(input=[start + 9, g.feed([1.0, -1.0])], cond=cond, body=body)
        )

    while_.__name__ = op
    declare(op)(while_)

for op in ("PartitionedCall", "StatefulPartitionedCall"):

    def call(g, op=op):
        tf = g.tf
        function = g.function(lambda x, n: (tf.matmul(x, x), n + 1), "float32", "int32")
        yield g.run(
            *getattr(g.raw, op)(
                args=[g.feed([[1.0, 2.0], [3.0, 4.0]]), g.feed([1, 2], "int32")],
                Tout=[tf.float32, tf.int32],
                f=function,
            )
        )

    call.__name__ = op
    declare(op)(call)


@declare("Case")
def case(g):
    tf = g.tf
    branches = [g.function(lambda x, k=k: x * k, "float32") for k in (1.0, 10.0, 100.0)]
    for index in (0, 1, 2, 7, -1):
        yield g.run(
            *g.raw.Case(
                branch_index=g.feed(index, "int32"),
                input=[g.feed([1.0, 2.0])],
                Tout=[tf.float32],
                branches=branches,
            )
        )


@declare("For")
def for_(g):
    body = g.function(lambda i, x: x + g.tf.cast(i, g.tf.float32), ("int32", []), "float32")
    for start, limit, delta in ((0, 5, 1), (5, 0, -2), (3, 3, 1)):
        yield g.run(
            *g.raw.For(
                start=g.feed(start, "int32"),
                limit=g.feed(limit, "int32"),
                delta=g.feed(delta, "int32"),
                input=[g.feed([1.0, 2.0])],
                body=body,
            )
        )


@declare("RemoteCall")
def remote_call(g):
    tf = g.tf
    function = g.function(lambda x, n: (x * 2.0, n + 1), "float32", "int32")

    def called(target):
        args = [g.feed([1.0, 2.0]), g.feed(3, "int32")]
        return g.raw.RemoteCall(
            target=g.feed(target, "string"), args=args, Tout=[tf.float32, tf.int32], f=function
        )

    for target in (b"/job:localhost/replica:0/task:0/device:CPU:0", b"/cpu:0", b""):
        yield g.run(*called(target))
    yield g.run(*called(b"/job:worker/task:3/cpu:0"), error="InternalError")
    yield g.run(*called(b"/device:CPU:77"), error="InternalError")
    yield g.run(*called(b"nonsense"), error="InvalidArgumentError")


@declare("StatefulPartitionedCall", "VarHandleOp", "AssignAddVariableOp", "ReadVariableOp")
def a_function_updates_a_variable(g):
    tf = g.tf
    handle, init = resource(g, [1.0, 2.0])

    def update(variable, delta):
        with tf.control_dependencies([g.raw.AssignAddVariableOp(resource=variable, value=delta)]):
            return g.raw.ReadVariableOp(resource=variable, dtype=tf.float32)

    function = g.function(update, ("resource", []), "float32")
    called = g.raw.StatefulPartitionedCall(
        args=[handle, g.feed([10.0, 20.0])], Tout=[tf.float32], f=function
    )
    yield g.run(init)
    yield g.run(*called)
    yield g.run(*called)
    yield g.run(read(g, handle))


@declare("While", "If")
def functional_gradients(g):
    """Gradients of the functional forms, as `tf.function` builds them."""
    tf = g.tf
    x = g.feed([1.0, -0.5])

    @tf.function
    def looped(x):
        _, y = tf.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) * x), [tf.constant(0), x]
        )
        return tf.cond(tf.reduce_sum(y) > 0.0, lambda: y * 2.0, lambda: y * x)

    y = looped(x)
    yield g.run(y, *tf.gradients(y, [x]))


@declare("StatefulPartitionedCall", "PartitionedCall")
def nested_functions(g):
    tf = g.tf

    @tf.function
    def inner(x):
        return tf.square(x)

    @tf.function
    def outer(x):
        return inner(x) + inner(x + 1.0)

    x = g.feed([1.0, 2.0])
    y = outer(x)
    yield g.run(y, *tf.gradients(y, [x]))


@declare("SymbolicGradient", later=True)
def symbolic_gradient(g):
    tf = g.tf
    function = g.function(
        lambda x, w: tf.reduce_sum(tf.sin(x) * w), ("float32", [2]), ("float32", [2])
    )
    x, w = g.feed([1.0, 2.0]), g.feed([3.0, 4.0])
    function.add_to_graph()
    yield g.run(
        *g.raw.SymbolicGradient(
            input=[x, w, g.feed(1.0)], Tout=[tf.float32, tf.float32], f=function
        )
    )


@declare("MapDefun", later=True)
def map_defun(g):
    tf = g.tf
    function = g.function(lambda x, c: x * 2.0 + c, ("float32", [2]), ("float32", []))
    yield g.run(
        *g.raw.MapDefun(
            arguments=[g.feed([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])],
            captured_inputs=[g.feed(0.5)],
            output_types=[tf.float32],
            output_shapes=[[2]],
            f=function,
        )
    )


@declare("FakeParam", "If")
def fake_param(g):
    """Stands for an output that the branch not taken would have given."""
    tf = g.tf
    then = g.function(lambda x: (x, g.raw.FakeParam(dtype=tf.float32, shape=[2])), "float32")
    other = g.function(lambda x: (x + 1.0, x), "float32")
    first, _ = g.raw.If(
        cond=g.feed(True, "bool"),
        input=[g.feed([1.0, 2.0])],
        Tout=[tf.float32, tf.float32],
        then_branch=then,
        else_branch=other,
    )
    yield g.run(first)


FAMILY = Family("functional", [], scripts)
