"""Lists of tensors, held in variants."""

from __future__ import annotations

from ..case import Family, script

scripts = []


def declare(*ops, **options):
    def keep(function):
        scripts.append(script(*ops, **options)(function))
        return function

    return keep


ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def shape(g, dims):
    return g.constant(dims, "int32")


def held(g, values=ROWS, dims=(2,)):
    return g.raw.TensorListFromTensor(tensor=g.feed(values), element_shape=shape(g, list(dims)))


def stack(g, handle, dims=(2,), **attrs):
    return g.raw.TensorListStack(
        input_handle=handle, element_shape=shape(g, list(dims)), element_dtype=g.tf.float32, **attrs
    )


@declare(
    "TensorListFromTensor",
    "TensorListStack",
    "TensorListLength",
    "TensorListElementShape",
    eager=True,
)
def from_tensor_and_back(g):
    handle = held(g)
    yield g.run(
        stack(g, handle),
        stack(g, handle, num_elements=3),
        g.raw.TensorListLength(input_handle=handle),
    )
    yield g.run(
        g.raw.TensorListElementShape(input_handle=handle, shape_type=g.tf.int32),
        g.raw.TensorListElementShape(input_handle=handle, shape_type=g.tf.int64),
    )


@declare(
    "EmptyTensorList", "TensorListPushBack", "TensorListPopBack", "TensorListLength", eager=True
)
def push_and_pop(g):
    tf = g.tf
    empty = g.raw.EmptyTensorList(
        element_shape=g.constant(-1, "int32"),
        max_num_elements=g.constant(-1, "int32"),
        element_dtype=tf.float32,
    )
    one = g.raw.TensorListPushBack(input_handle=empty, tensor=g.feed([1.0, 2.0]))
    two = g.raw.TensorListPushBack(input_handle=one, tensor=g.feed([3.0, 4.0]))
    left, top = g.raw.TensorListPopBack(
        input_handle=two, element_shape=g.constant(-1, "int32"), element_dtype=tf.float32
    )
    yield g.run(
        top, g.raw.TensorListLength(input_handle=left), g.raw.TensorListLength(input_handle=two)
    )
    yield g.run(stack(g, two, [-1]), stack(g, one))


@declare(
    "TensorListReserve", "TensorListSetItem", "TensorListGetItem", "TensorListResize", eager=True
)
def reserve_set_and_get(g):
    tf = g.tf
    handle = g.raw.TensorListReserve(
        element_shape=shape(g, [2]), num_elements=g.feed(3, "int32"), element_dtype=tf.float32
    )
    changed = g.raw.TensorListSetItem(
        input_handle=handle, index=g.feed(1, "int32"), item=g.feed([3.0, 4.0])
    )
    for index in (1, 0):
        yield g.run(
            g.raw.TensorListGetItem(
                input_handle=changed,
                index=g.feed(index, "int32"),
                element_shape=shape(g, [2]),
                element_dtype=tf.float32,
            )
        )
    larger = g.raw.TensorListResize(input_handle=changed, size=g.feed(5, "int32"))
    yield g.run(g.raw.TensorListLength(input_handle=larger), stack(g, larger))
    yield g.run(stack(g, g.raw.TensorListResize(input_handle=changed, size=g.feed(2, "int32"))))


@declare(
    "TensorListGather",
    "TensorListScatter",
    "TensorListScatterV2",
    "TensorListScatterIntoExistingList",
    eager=True,
)
def gather_and_scatter(g):
    tf = g.tf
    value = g.feed(ROWS)
    yield g.run(
        g.raw.TensorListGather(
            input_handle=held(g),
            indices=g.feed([2, 0, 2], "int32"),
            element_shape=shape(g, [2]),
            element_dtype=tf.float32,
        )
    )
    scattered = g.raw.TensorListScatter(
        tensor=value, indices=g.feed([3, 0, 1], "int32"), element_shape=shape(g, [2])
    )
    yield g.run(
        g.raw.TensorListGather(
            input_handle=scattered,
            indices=g.feed([0, 1, 3], "int32"),
            element_shape=shape(g, [2]),
            element_dtype=tf.float32,
        )
    )
    second = g.raw.TensorListScatterV2(
        tensor=value,
        indices=g.feed([3, 0, 1], "int32"),
        element_shape=shape(g, [2]),
        num_elements=g.feed(5, "int32"),
    )
    yield g.run(stack(g, second))
    existing = g.raw.TensorListScatterIntoExistingList(
        input_handle=held(g), tensor=g.feed([[10.0, 20.0]]), indices=g.feed([1], "int32")
    )
    yield g.run(stack(g, existing))


@declare(
    "TensorListConcat", "TensorListConcatV2", "TensorListSplit", "TensorListConcatLists", eager=True
)
def concat_and_split(g):
    tf = g.tf
    handle = g.raw.TensorListSplit(
        tensor=g.feed([[1.0], [2.0], [3.0], [4.0]]),
        element_shape=shape(g, [-1, 1]),
        lengths=g.feed([1, 3], "int64"),
    )
    yield g.run(
        *g.raw.TensorListConcat(
            input_handle=handle, element_dtype=tf.float32, element_shape=[None, 1]
        )
    )
    yield g.run(
        *g.raw.TensorListConcatV2(
            input_handle=handle,
            element_shape=shape(g, [-1, 1]),
            leading_dims=g.feed([], "int64"),
            element_dtype=tf.float32,
        )
    )
    both = g.raw.TensorListConcatLists(input_a=held(g), input_b=held(g), element_dtype=tf.float32)
    yield g.run(stack(g, both))


@declare("TensorListPushBackBatch", later=True)
def push_back_batch(g):
    tf = g.tf
    empty = [
        g.raw.EmptyTensorList(
            element_shape=shape(g, [2]),
            max_num_elements=g.constant(-1, "int32"),
            element_dtype=tf.float32,
        )
        for _ in range(2)
    ]
    handles = g.raw.TensorListPushBackBatch(
        input_handles=tf.stack(empty), tensor=g.feed([[1.0, 2.0], [3.0, 4.0]])
    )
    first, second = tf.unstack(handles)
    yield g.run(stack(g, first), stack(g, second))


@declare(
    "TensorListGetItem",
    "TensorListPopBack",
    "TensorListSetItem",
    "TensorListStack",
    "TensorListFromTensor",
)
def bad_use(g):
    tf = g.tf
    handle = held(g)
    empty = g.raw.EmptyTensorList(
        element_shape=shape(g, [2]),
        max_num_elements=g.constant(-1, "int32"),
        element_dtype=tf.float32,
    )
    yield g.run(
        g.raw.TensorListGetItem(
            input_handle=handle,
            index=g.feed(3, "int32"),
            element_shape=shape(g, [2]),
            element_dtype=tf.float32,
        ),
        error="InvalidArgumentError",
    )
    yield g.run(
        g.raw.TensorListPopBack(
            input_handle=empty, element_shape=shape(g, [2]), element_dtype=tf.float32
        )[1],
        error="InvalidArgumentError",
    )
    yield g.run(
        g.raw.TensorListLength(
            input_handle=g.raw.TensorListSetItem(
                input_handle=handle, index=g.feed(7, "int32"), item=g.feed([1.0, 2.0])
            )
        ),
        error="InvalidArgumentError",
    )
    yield g.run(stack(g, handle, num_elements=4), error="InvalidArgumentError")


@declare("ZerosLike", "AddN", "TensorListStack")
def lists_as_values(g):
    """Zeros of a list and sums of lists, as gradients need them."""
    zeros = g.raw.ZerosLike(x=held(g))
    total = g.raw.AddN(inputs=[held(g), held(g)])
    yield g.run(stack(g, zeros), stack(g, total))


@declare(
    "TensorListStack",
    "TensorListFromTensor",
    "TensorListPushBack",
    "TensorListPopBack",
    "TensorListGetItem",
    "TensorListSetItem",
    "TensorListGather",
    "TensorListScatter",
    "TensorListScatterV2",
    "TensorListConcatV2",
    "TensorListSplit",
)
def gradients(g):
    tf = g.tf
    x, w = g.feed(ROWS), g.feed([[1.0, -1.0], [0.5, 2.0], [3.0, 0.25]])

    def through(x):
        handle = g.raw.TensorListFromTensor(tensor=x, element_shape=shape(g, [2]))
        yield stack(g, handle) * w
        yield g.raw.TensorListGetItem(
            input_handle=handle,
            index=g.feed(1, "int32"),
            element_shape=shape(g, [2]),
            element_dtype=tf.float32,
        )
        yield g.raw.TensorListPopBack(
            input_handle=handle, element_shape=shape(g, [2]), element_dtype=tf.float32
        )[1]
        yield g.raw.TensorListGather(
            input_handle=handle,
            indices=g.feed([2, 0], "int32"),
            element_shape=shape(g, [2]),
            element_dtype=tf.float32,
        )
        pushed = g.raw.TensorListPushBack(input_handle=handle, tensor=x[0] * x[1])
        yield stack(g, pushed)
        changed = g.raw.TensorListSetItem(
            input_handle=handle, index=g.feed(1, "int32"), item=x[0] * x[2]
        )
        yield stack(g, changed) * w
        scattered = g.raw.TensorListScatterV2(
            tensor=x,
            indices=g.feed([2, 0, 1], "int32"),
            element_shape=shape(g, [2]),
            num_elements=g.feed(3, "int32"),
        )
        yield stack(g, scattered) * w
        split = g.raw.TensorListSplit(
            tensor=x, element_shape=shape(g, [-1, 2]), lengths=g.feed([1, 2], "int64")
        )
        yield (
            g.raw.TensorListConcatV2(
                input_handle=split,
                element_shape=shape(g, [-1, 2]),
                leading_dims=g.feed([], "int64"),
                element_dtype=tf.float32,
            )[0]
            * w
        )

    for y in through(x):
        yield g.run(y, *tf.gradients(y * y, [x]))


FAMILY = Family("tensor_list", [], scripts)
