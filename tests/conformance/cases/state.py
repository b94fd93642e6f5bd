"""Variables, by reference and by resource, and everything that updates them."""

from __future__ import annotations

from ..case import Family, script

START = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]
scripts = []


def declare(*ops, **options):
    def keep(function):
        scripts.append(script(*ops, **options)(function))
        return function

    return keep


def named(name):
    """Names the next script's function, where a loop declares several."""

    def rename(function):
        function.__name__ = name
        return function

    return rename


def reference(g, values, dtype="float32", op="VariableV2"):
    """A reference variable; with it the op that initialises it."""
    value = g.constant(values, dtype)
    variable = getattr(g.raw, op)(shape=value.shape, dtype=value.dtype)
    return variable, g.raw.Assign(ref=variable, value=value)


def resource(g, values, dtype="float32", name=""):
    value = g.constant(values, dtype)
    handle = g.raw.VarHandleOp(
        dtype=value.dtype, shape=value.shape, shared_name=name or g.fresh_name()
    )
    return handle, g.raw.AssignVariableOp(resource=handle, value=value)


def read(g, handle, dtype="float32"):
    return g.raw.ReadVariableOp(resource=handle, dtype=g.tf.as_dtype(dtype))


def after(g, *ops):
    return g.tf.control_dependencies(list(ops))


@declare("VariableV2", "Assign", "AssignAdd", "AssignSub", "Identity")
def assign_family(g):
    v, init = reference(g, START)
    delta = g.feed([[1.0, 0.5]] * 4)
    add = g.raw.AssignAdd(ref=v, value=delta)
    sub = g.raw.AssignSub(ref=v, value=delta * 3.0)
    yield g.run(init)
    yield g.run(g.raw.Identity(input=v))
    yield g.run(add)
    yield g.run(sub)
    yield g.run(v)


@declare("Variable", "Assign")
def first_form_of_variable(g):
    v, init = reference(g, [1.0, 2.0], op="Variable")
    yield g.run(init)
    yield g.run(v * 2.0)


for dtype in (
    "int32",
    "int64",
    "float64",
    "bool",
    "string",
    "complex64",
    "uint8",
    "bfloat16",
    "float16",
):
    values = {"bool": [True, False], "string": [b"a\0", b""]}.get(dtype, [1, 2])

    @declare("VariableV2", "Assign", "VarHandleOp", "AssignVariableOp", "ReadVariableOp")
    @named("variables_of_" + dtype)
    def of_dtype(g, dtype=dtype, values=values):
        v, init = reference(g, values, dtype)
        handle, init_handle = resource(g, values, dtype)
        yield g.run(init, init_handle)
        yield g.run(g.raw.Identity(input=v), read(g, handle, dtype))


@declare("VariableV2", "Assign", "IsVariableInitialized")
def initialised_or_not(g):
    v, init = reference(g, START)
    test = g.raw.IsVariableInitialized(ref=v)
    yield g.run(test)
    yield g.run(g.raw.Identity(input=v), error="FailedPreconditionError")
    yield g.run(v, error="FailedPreconditionError")
    yield g.run(init)
    yield g.run(test)


@declare("VariableV2", "Assign")
def assign_another_shape(g):
    tf = g.tf
    v = g.raw.VariableV2(shape=tf.TensorShape(None), dtype=tf.float32)
    strict, init = reference(g, [1.0, 2.0])
    yield g.run(g.raw.Assign(ref=v, value=g.constant([1.0, 2.0]), validate_shape=False), init)
    yield g.run(g.raw.Assign(ref=v, value=g.constant([[3.0]]), validate_shape=False))
    yield g.run(g.raw.Identity(input=v))
    yield g.run(
        g.raw.Assign(ref=strict, value=g.feed([1.0], shape=None)), error="InvalidArgumentError"
    )
    yield g.run(g.raw.Identity(input=strict))


@declare("Assign", "AssignAdd", "VariableV2")
def order_within_a_step(g):
    """A read before and one after an assignment, by control edges, in the same step."""
    v, init = reference(g, [10.0])
    before = v + 0.0
    with after(g, before):
        add = g.raw.AssignAdd(ref=v, value=g.feed([5.0]))
    with after(g, add):
        later = g.raw.Identity(input=v) * 1.0
    yield g.run(init)
    yield g.run(before, later)
    yield g.run(before, later)


@declare(
    "VarHandleOp",
    "AssignVariableOp",
    "ReadVariableOp",
    "AssignAddVariableOp",
    "AssignSubVariableOp",
    "VariableShape",
    eager=True,
)
def resource_assign_family(g):
    v, init = resource(g, START)
    delta = g.feed([[1.0, 0.5]] * 4)
    yield g.run(init)
    yield g.run(read(g, v))
    yield g.run(g.raw.AssignAddVariableOp(resource=v, value=delta))
    yield g.run(read(g, v))
    yield g.run(g.raw.AssignSubVariableOp(resource=v, value=delta * 3.0))
    yield g.run(
        read(g, v), g.raw.VariableShape(input=v), g.raw.VariableShape(input=v, out_type=g.tf.int64)
    )


@declare(
    "VarHandleOp", "AssignVariableOp", "VarIsInitializedOp", "DestroyResourceOp", "ReadVariableOp"
)
def resource_initialised_and_destroyed(g):
    v, init = resource(g, START)
    test = g.raw.VarIsInitializedOp(resource=v)
    value = read(g, v)
    yield g.run(test)
    yield g.run(value, error="FailedPreconditionError")
    yield g.run(init)
    yield g.run(test, value)
    yield g.run(g.raw.DestroyResourceOp(resource=v))
    yield g.run(test)
    yield g.run(value, error="FailedPreconditionError")
    yield g.run(g.raw.DestroyResourceOp(resource=v, ignore_lookup_error=True))
    yield g.run(
        g.raw.DestroyResourceOp(resource=v, ignore_lookup_error=False), error="NotFoundError"
    )


@declare("VarHandleOp", "AssignVariableOp", "ReadVariableOp")
def resources_share_by_name(g):
    v, init = resource(g, [1.0], name="shared by two")
    same, _ = resource(g, [2.0], name="shared by two")
    yield g.run(init)
    yield g.run(read(g, same))


@declare("AssignVariableOp", "ReadVariableOp", "AssignAddVariableOp")
def resource_order_within_a_step(g):
    v, init = resource(g, [10.0])
    before = read(g, v)
    with after(g, before):
        add = g.raw.AssignAddVariableOp(resource=v, value=g.feed([5.0]))
    with after(g, add):
        later = read(g, v)
    yield g.run(init)
    yield g.run(before, later)
    yield g.run(before, later)


@declare("CountUpTo", "ResourceCountUpTo")
def count_up_to(g):
    tf = g.tf
    v, init = reference(g, 0, "int32")
    handle, init_handle = resource(g, 5, "int64")
    count = g.raw.CountUpTo(ref=v, limit=2)
    count_handle = g.raw.ResourceCountUpTo(resource=handle, limit=6, T=tf.int64)
    yield g.run(init, init_handle)
    yield g.run(count, count_handle)
    yield g.run(count)
    yield g.run(count, error="OutOfRangeError")
    yield g.run(count_handle, error="OutOfRangeError")
    yield g.run(v, read(g, handle, "int64"))


@declare("TemporaryVariable", "DestroyTemporaryVariable", "AssignAdd")
def temporary_variable(g):
    tf = g.tf
    ref = g.raw.TemporaryVariable(shape=[2], dtype=tf.float32, var_name="sum of parts")
    filled = g.raw.Assign(ref=ref, value=g.feed([1.0, 2.0]))
    added = g.raw.AssignAdd(ref=filled, value=g.feed([10.0, 20.0]))
    final = g.raw.DestroyTemporaryVariable(ref=added, var_name="sum of parts")
    yield g.run(final)
    yield g.run(final)


ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update")
for kind in ARITHMETIC:
    ref_op, resource_op = "Scatter" + kind, "ResourceScatter" + kind

    @declare(ref_op, "VariableV2", "Assign")
    @named("scatter_" + kind.lower())
    def scatter(g, op=getattr, kind=ref_op):
        call = op(g.raw, kind)
        for dtype, index in (("float32", "int32"), ("float64", "int64"), ("int32", "int32")):
            v, init = reference(g, START, dtype)
            indices = g.feed([3, 0, 3], index)
            updates = g.feed([[2.0, 4.0], [5.0, 1.0], [3.0, 9.0]], dtype)
            yield g.run(init)
            yield g.run(call(ref=v, indices=indices, updates=updates))
            yield g.run(call(ref=v, indices=g.feed(1, index), updates=g.feed([4.0, 1.0], dtype)))
            yield g.run(
                call(
                    ref=v,
                    indices=g.feed([[0], [2]], index),
                    updates=g.feed([[[2, 1]], [[1, 2]]], dtype),
                )
            )
            yield g.run(call(ref=v, indices=indices, updates=g.feed(2.0, dtype)))
            yield g.run(g.raw.Identity(input=v))

    @declare(resource_op, "VarHandleOp", "AssignVariableOp", "ReadVariableOp", eager=True)
    @named("resource_scatter_" + kind.lower())
    def resource_scatter(g, op=getattr, kind=resource_op):
        call = op(g.raw, kind)
        for dtype, index in (("float32", "int32"), ("float64", "int64"), ("int32", "int32")):
            v, init = resource(g, START, dtype, name="table of " + dtype)
            indices = g.feed([3, 0, 3], index)
            updates = g.feed([[2.0, 4.0], [5.0, 1.0], [3.0, 9.0]], dtype)
            yield g.run(init)
            yield g.run(call(resource=v, indices=indices, updates=updates))
            yield g.run(read(g, v, dtype))
            yield g.run(call(resource=v, indices=indices, updates=g.feed(2.0, dtype)))
            yield g.run(read(g, v, dtype))


for kind in ("Add", "Sub", "Update"):
    ref_op, resource_op = "ScatterNd" + kind, "ResourceScatterNd" + kind

    @declare(ref_op)
    @named("scatter_nd_" + kind.lower())
    def scatter_nd(g, kind=ref_op):
        call = getattr(g.raw, kind)
        v, init = reference(g, START)
        yield g.run(init)
        yield g.run(
            call(
                ref=v, indices=g.feed([[3], [0]], "int32"), updates=g.feed([[1.0, 2.0], [3.0, 4.0]])
            )
        )
        yield g.run(
            call(ref=v, indices=g.feed([[1, 1], [2, 0]], "int64"), updates=g.feed([7.0, 9.0]))
        )
        yield g.run(
            call(ref=v, indices=g.feed([[4, 0]], "int32"), updates=g.feed([7.0])),
            error="InvalidArgumentError",
        )
        yield g.run(g.raw.Identity(input=v))

    @declare(resource_op, eager=True)
    @named("resource_scatter_nd_" + kind.lower())
    def resource_scatter_nd(g, kind=resource_op):
        call = getattr(g.raw, kind)
        v, init = resource(g, START, name="table")
        yield g.run(init)
        yield g.run(
            call(
                ref=v, indices=g.feed([[3], [0]], "int32"), updates=g.feed([[1.0, 2.0], [3.0, 4.0]])
            )
        )
        yield g.run(read(g, v))
        yield g.run(
            call(ref=v, indices=g.feed([[1, 1], [2, 0]], "int64"), updates=g.feed([7.0, 9.0]))
        )
        yield g.run(read(g, v))


@declare(
    "ScatterAdd", "ScatterUpdate", "ResourceScatterAdd", "ResourceScatterUpdate", "ResourceGather"
)
def scatter_out_of_range(g):
    """A bad index names the op and leaves the variable readable."""
    v, init = reference(g, START)
    handle, init_handle = resource(g, START)
    bad, row = g.feed([1, 4], "int32"), g.feed([[1.0, 1.0]] * 2)
    yield g.run(init, init_handle)
    yield g.run(g.raw.ScatterAdd(ref=v, indices=bad, updates=row), error="InvalidArgumentError")
    yield g.run(g.raw.ScatterUpdate(ref=v, indices=bad, updates=row), error="InvalidArgumentError")
    yield g.run(
        g.raw.ResourceScatterAdd(resource=handle, indices=bad, updates=row),
        error="InvalidArgumentError",
    )
    yield g.run(
        g.raw.ResourceGather(resource=handle, indices=bad, dtype=g.tf.float32),
        error="InvalidArgumentError",
    )
    yield g.run(read(g, handle) - read(g, handle), g.raw.Identity(input=v) - v)


@declare("ScatterUpdate", "ScatterAdd")
def scatter_strings_and_nothing(g):
    text, init = reference(g, [b"a", b"b", b"c"], "string")
    v, init_v = reference(g, START)
    yield g.run(init, init_v)
    yield g.run(
        g.raw.ScatterUpdate(
            ref=text, indices=g.feed([2, 0], "int32"), updates=g.feed([b"x\0", b""], "string")
        )
    )
    nothing = g.raw.ScatterAdd(
        ref=v, indices=g.feed([], "int32"), updates=g.constant([[0.0, 0.0]])[:0]
    )
    yield g.run(nothing)


@declare("ResourceGather", "ResourceGatherNd", "VarHandleOp", "AssignVariableOp", eager=True)
def resource_gather(g):
    tf = g.tf
    v, init = resource(g, START)
    yield g.run(init)
    yield g.run(
        g.raw.ResourceGather(
            resource=v, indices=g.feed([[3, 0], [1, 1]], "int64"), dtype=tf.float32
        ),
        g.raw.ResourceGather(resource=v, indices=g.feed(2, "int32"), dtype=tf.float32),
        g.raw.ResourceGatherNd(
            resource=v, indices=g.feed([[3, 0], [1, 1]], "int32"), dtype=tf.float32
        ),
        g.raw.ResourceGatherNd(resource=v, indices=g.feed([[2]], "int64"), dtype=tf.float32),
    )


@declare("StridedSliceAssign", "ResourceStridedSliceAssign")
def strided_slice_assign(g):
    v, init = reference(g, START)
    handle, init_handle = resource(g, START)
    span = dict(
        begin=g.constant([1, 0], "int32"),
        end=g.constant([4, 1], "int32"),
        strides=g.constant([2, 1], "int32"),
    )
    yield g.run(init, init_handle)
    yield g.run(g.raw.StridedSliceAssign(ref=v, value=g.feed([[10.0], [20.0]]), **span))
    yield g.run(
        g.raw.ResourceStridedSliceAssign(ref=handle, value=g.feed([[10.0], [20.0]]), **span)
    )
    yield g.run(read(g, handle))
    yield g.run(
        g.raw.StridedSliceAssign(
            ref=v, value=g.feed([-1.0, -2.0]), shrink_axis_mask=1, end_mask=2, **span
        )
    )
    yield g.run(g.raw.Identity(input=v))


@declare("ReadVariableOp", "ResourceGather")
def gradients_of_reads(g):
    tf = g.tf
    v, init = resource(g, START)
    value = read(g, v)
    rows = g.raw.ResourceGather(resource=v, indices=g.feed([3, 0, 3], "int32"), dtype=tf.float32)
    dense = tf.gradients(value * value, v)[0]
    sparse = tf.gradients(rows * rows, v)[0]
    yield g.run(init)
    yield g.run(dense, sparse.values, sparse.indices)


FAMILY = Family("state", [], scripts)
