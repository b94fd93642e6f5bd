"""State that steps share and wait for: queues and accumulators, in both forms of their handles; locks, handles."""

from __future__ import annotations

from ..case import Family, script

scripts = []


def declare(*ops, **options):
    def keep(function):
        scripts.append(script(*ops, **options)(function))
        return function

    return keep


class Ops:
    """The ops of one form of handle: `ops.QueueSize(queue)` is QueueSizeV2 where that is meant."""

    def __init__(self, g, suffix):
        self._raw, self._suffix = g.raw, suffix

    def __getattr__(self, name):
        op = getattr(self._raw, name + self._suffix)
        return lambda handle=None, **named: op(
            **(named if handle is None else dict(named, handle=handle))
        )


FORMS = ("", "V2")
ACCESS = (
    "QueueEnqueue QueueEnqueueMany QueueDequeue QueueDequeueMany QueueDequeueUpTo QueueClose QueueIsClosed "
    "QueueSize"
).split()


def for_both_forms(kind, **options):
    """Declares a program on queues of one kind for both forms of handles."""

    def keep(function):
        for suffix in FORMS:

            def program(g, suffix=suffix):
                return function(g, Ops(g, suffix))

            program.__name__ = function.__name__ + suffix.lower()
            names = [name + suffix for name in [kind, *ACCESS]]
            declare(*names, **options)(program)
        return function

    return keep


@for_both_forms("FIFOQueue")
def fifo_queue(g, ops):
    tf = g.tf
    types = [tf.float32, tf.string]
    queue = ops.FIFOQueue(
        component_types=types, shapes=[[2], []], capacity=5, shared_name=g.fresh_name()
    )
    one = ops.QueueEnqueue(queue, components=[g.feed([1.0, 2.0]), g.feed(b"a\0", "string")])
    rows = [[3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0]]
    four = ops.QueueEnqueueMany(
        queue, components=[g.feed(rows), g.feed([b"b", b"c", b"d", b"e"], "string")]
    )
    size, closed = ops.QueueSize(queue), ops.QueueIsClosed(queue)
    n = g.feed(2, "int32")
    yield g.run(size, closed)
    yield g.run(one)
    yield g.run(four)
    yield g.run(size)
    yield g.run(*ops.QueueDequeue(queue, component_types=types))
    yield g.run(*ops.QueueDequeueMany(queue, n=n, component_types=types))
    yield g.run(*ops.QueueDequeueMany(queue, n=g.feed(0, "int32"), component_types=types))
    yield g.run(ops.QueueClose(queue))
    yield g.run(size, closed)
    yield g.run(one, error="CancelledError")
    yield g.run(four, error="CancelledError")
    yield g.run(ops.QueueClose(queue), error="CancelledError")
    yield g.run(
        *ops.QueueDequeueMany(queue, n=g.feed(3, "int32"), component_types=types),
        error="OutOfRangeError",
    )
    yield g.run(size)
    up_to = ops.QueueDequeueUpTo(queue, n=g.feed(3, "int32"), component_types=types)
    yield g.run(*up_to)
    yield g.run(*up_to, error="OutOfRangeError")
    yield g.run(*ops.QueueDequeue(queue, component_types=types), error="OutOfRangeError")


@for_both_forms("FIFOQueue")
def fifo_queue_refuses(g, ops):
    tf = g.tf
    queue = ops.FIFOQueue(
        component_types=[tf.float32], shapes=[[2]], capacity=5, shared_name=g.fresh_name()
    )
    wrong = "InvalidArgumentError"
    yield g.run(ops.QueueEnqueue(queue, components=[g.feed([1.0])]), error=wrong)
    yield g.run(ops.QueueEnqueue(queue, components=[g.feed([1, 2], "int32")]), error=wrong)
    yield g.run(ops.QueueEnqueueMany(queue, components=[g.feed([1.0, 2.0])]), error=wrong)
    yield g.run(*ops.QueueDequeue(queue, component_types=[tf.int32]), error=wrong)
    yield g.run(
        *ops.QueueDequeueMany(queue, n=g.feed(-1, "int32"), component_types=[tf.float32]),
        error=wrong,
    )
    free = ops.FIFOQueue(component_types=[tf.float32] * 2, shared_name=g.fresh_name())
    yield g.run(
        ops.QueueEnqueueMany(free, components=[g.feed([1.0, 2.0]), g.feed([1.0])]), error=wrong
    )
    yield g.run(
        *ops.QueueDequeueMany(free, n=g.feed(1, "int32"), component_types=[tf.float32] * 2),
        error=wrong,
    )
    yield g.run(ops.QueueEnqueue(free, components=[g.feed([1.0, 2.0]), g.feed([[1.0]])]))
    yield g.run(*ops.QueueDequeue(free, component_types=[tf.float32] * 2))


@for_both_forms("FIFOQueue")
def shared_queue(g, ops):
    tf = g.tf
    name = g.fresh_name()
    first = ops.FIFOQueue(component_types=[tf.int32], capacity=5, shared_name=name)
    same = ops.FIFOQueue(component_types=[tf.int32], capacity=5, shared_name=name)
    yield g.run(ops.QueueEnqueue(first, components=[g.feed(7, "int32")]))
    yield g.run(*ops.QueueDequeue(same, component_types=[tf.int32]))
    for other in (
        ops.FIFOQueue(component_types=[tf.int32], capacity=6, shared_name=name),
        ops.FIFOQueue(component_types=[tf.int64], capacity=5, shared_name=name),
        ops.FIFOQueue(component_types=[tf.int32], shapes=[[]], capacity=5, shared_name=name),
        ops.RandomShuffleQueue(component_types=[tf.int32], capacity=5, shared_name=name),
    ):
        yield g.run(ops.QueueSize(other), error="InvalidArgumentError")


@for_both_forms("PaddingFIFOQueue")
def padding_fifo_queue(g, ops):
    tf = g.tf
    types = [tf.int32, tf.string]
    queue = ops.PaddingFIFOQueue(
        component_types=types, shapes=[[None, 2], [None]], shared_name=g.fresh_name()
    )
    for pairs, words in (
        ([[1, 2]], [b"a"]),
        ([[3, 4], [5, 6], [7, 8]], []),
        ([[9, 10]], [b"b", b"c"]),
    ):
        yield g.run(
            ops.QueueEnqueue(
                queue,
                components=[g.feed(pairs, "int32"), g.feed(words, "string")],
            )
        )
    yield g.run(
        *ops.QueueDequeueMany(queue, n=g.feed(2, "int32"), component_types=types),
        ops.QueueSize(queue),
    )
    yield g.run(
        ops.QueueEnqueue(queue, components=[g.feed([[1]], "int32"), g.feed([b"a"], "string")]),
        error="InvalidArgumentError",
    )
    yield g.run(ops.QueueClose(queue))
    yield g.run(
        *ops.QueueDequeueUpTo(queue, n=g.feed(2, "int32"), component_types=types),
        ops.QueueIsClosed(queue),
    )


@for_both_forms("PriorityQueue")
def priority_queue(g, ops):
    tf = g.tf
    types = [tf.int64, tf.float32]
    queue = ops.PriorityQueue(component_types=[tf.float32], shapes=[[]], shared_name=g.fresh_name())
    priorities = g.feed([5, -3, 9, 0], "int64")
    yield g.run(ops.QueueEnqueueMany(queue, components=[priorities, g.feed([5.0, -3.0, 9.0, 0.0])]))
    yield g.run(ops.QueueEnqueue(queue, components=[g.feed(1, "int64"), g.feed(1.0)]))
    yield g.run(*ops.QueueDequeue(queue, component_types=types))
    yield g.run(*ops.QueueDequeueMany(queue, n=g.feed(2, "int32"), component_types=types))
    yield g.run(ops.QueueClose(queue))
    # TensorFlow loses what is left where it is less than what is asked for.
    yield g.run(*ops.QueueDequeueUpTo(queue, n=g.feed(2, "int32"), component_types=types))


@for_both_forms("RandomShuffleQueue")
def random_shuffle_queue(g, ops):
    tf = g.tf
    queue = ops.RandomShuffleQueue(
        component_types=[tf.int32],
        shapes=[[]],
        capacity=400,
        min_after_dequeue=3,
        seed=7,
        seed2=11,
        shared_name=g.fresh_name(),
    )
    numbers = g.feed(list(range(300)), "int32")
    yield g.run(ops.QueueEnqueueMany(queue, components=[numbers]))
    yield g.run(*ops.QueueDequeue(queue, component_types=[tf.int32]))
    yield g.run(*ops.QueueDequeueMany(queue, n=g.feed(290, "int32"), component_types=[tf.int32]))
    yield g.run(ops.QueueClose(queue))
    up_to = ops.QueueDequeueUpTo(queue, n=g.feed(50, "int32"), component_types=[tf.int32])
    yield g.run(*up_to)
    too_few = ops.RandomShuffleQueue(
        component_types=[tf.int32], capacity=3, min_after_dequeue=3, shared_name=g.fresh_name()
    )
    yield g.run(ops.QueueSize(too_few), error="InvalidArgumentError")


@declare("FakeQueue", round_trip=False)
def fake_queue(g):
    tf = g.tf
    queue = g.raw.FIFOQueueV2(component_types=[tf.int32], shared_name=g.fresh_name())
    yield g.run(g.raw.QueueEnqueueV2(handle=queue, components=[g.feed(3, "int32")]))
    older = g.raw.FakeQueue(resource=queue)
    yield g.run(g.raw.QueueSize(handle=older))


ACCUMULATOR = (
    "AccumulatorApplyGradient AccumulatorNumAccumulated AccumulatorSetGlobalStep AccumulatorTakeGradient"
).split()


def accumulating(suffix, **options):
    """Declares a program on accumulators of dense gradients for both forms of handles."""

    def keep(function):
        for prefix in ("", "Resource"):

            def program(g, prefix=prefix):
                def call(op, **named):
                    return getattr(g.raw, prefix + op)(**named)

                return function(g, call)

            program.__name__ = (prefix or "Ref").lower() + "_" + suffix
            names = [prefix + each for each in ("ConditionalAccumulator", *ACCUMULATOR)]
            declare(*names, **options)(program)
        return function

    return keep


@accumulating("accumulator")
def accumulator(g, call):
    tf = g.tf
    for dtype, reduction in (("float32", "MEAN"), ("float16", "MEAN"), ("float64", "SUM")):
        kind = tf.as_dtype(dtype)
        it = call(
            "ConditionalAccumulator",
            dtype=kind,
            shape=[2, None],
            shared_name=g.fresh_name(),
            reduction_type=reduction,
        )

        def add(values, step=0, it=it, dtype=dtype):
            return call(
                "AccumulatorApplyGradient",
                handle=it,
                local_step=g.feed(step, "int64"),
                gradient=g.feed(values, dtype),
            )

        count = call("AccumulatorNumAccumulated", handle=it)
        take = call(
            "AccumulatorTakeGradient", handle=it, num_required=g.feed(2, "int32"), dtype=kind
        )
        first = add([[1, -7, 3], [4, 5, 6]])
        yield g.run(first)
        yield g.run(add([[10, 2, 30], [40, 50, -61]]))
        yield g.run(count)
        yield g.run(take)
        yield g.run(count)
        yield g.run(first)  # of a step that is over
        yield g.run(count)
        later = g.feed(5, "int64")
        yield g.run(call("AccumulatorSetGlobalStep", handle=it, new_global_step=later))
        yield g.run(add([[1], [2]], 4))
        yield g.run(add([[1], [2]], 5))
        yield g.run(add([[4], [9]], 6))
        yield g.run(take)


@accumulating("accumulator_refuses")
def accumulator_refuses(g, call):
    tf = g.tf
    it = call(
        "ConditionalAccumulator", dtype=tf.float32, shape=[None, 2], shared_name=g.fresh_name()
    )

    def add(values):  # of the declared dtype: TensorFlow's process ends with any other
        return call(
            "AccumulatorApplyGradient",
            handle=it,
            local_step=g.feed(0, "int64"),
            gradient=g.feed(values),
        )

    wrong = "InvalidArgumentError"
    yield g.run(add([[1.0, 2.0, 3.0]]), error=wrong)
    yield g.run(add([[1.0, 2.0]]))
    yield g.run(add([[1.0, 2.0], [3.0, 4.0]]), error=wrong)
    for required in (0, -1):
        yield g.run(
            call(
                "AccumulatorTakeGradient",
                handle=it,
                num_required=g.feed(required, "int32"),
                dtype=tf.float32,
            ),
            error=wrong,
        )


@declare(
    "SparseConditionalAccumulator",
    "SparseAccumulatorApplyGradient",
    "SparseAccumulatorTakeGradient",
)
def sparse_accumulator(g):
    tf = g.tf
    for reduction in ("MEAN", "SUM"):
        it = g.raw.SparseConditionalAccumulator(
            dtype=tf.float32,
            shape=[4, None],
            shared_name=g.fresh_name(),
            reduction_type=reduction,
        )

        def add(indices, values, shape=None, step=0, it=it):
            return g.raw.SparseAccumulatorApplyGradient(
                handle=it,
                local_step=g.feed(step, "int64"),
                gradient_indices=g.feed(indices, "int64"),
                gradient_values=g.feed(values),
                gradient_shape=g.feed(shape or [], "int64"),
                has_known_shape=shape is not None,
            )

        take = g.raw.SparseAccumulatorTakeGradient(
            handle=it, num_required=g.feed(2, "int32"), dtype=tf.float32
        )
        yield g.run(add([0, 2], [[1.0, 2.0], [3.0, 4.0]], [4, 2]))
        yield g.run(add([1, 2], [[5.0, 6.0], [7.0, 9.0]]))
        yield g.run(*take)
        yield g.run(add([3], [[1.0]], step=1))
        yield g.run(add([3], [[1.0]], step=0))
        yield g.run(g.raw.AccumulatorNumAccumulated(handle=it))
        wrong = "InvalidArgumentError"
        yield g.run(add([4], [[1.0]], step=1), error=wrong)
        yield g.run(add([1], [[1.0]], [5, 1], step=1), error=wrong)
        yield g.run(add([1], [[1.0, 2.0]], step=1), error=wrong)
        yield g.run(add([1, 2], [[1.0]], step=1), error=wrong)
        yield g.run(add([1], [1.0], step=1), error=wrong)


@declare("MutexV2", "MutexLock", "ConsumeMutexLock", round_trip=False)
def mutex(g):
    tf = g.tf
    handle = g.raw.MutexV2(shared_name=g.fresh_name())
    done = []
    for _ in range(3):  # in one step each waits for the others
        lock = g.raw.MutexLock(mutex=handle)
        with tf.control_dependencies([lock]):
            x = tf.identity(g.feed([1.0, 2.0])) * 2.0
        with tf.control_dependencies([x]):
            given_back = g.raw.ConsumeMutexLock(mutex_lock=lock)
        with tf.control_dependencies([given_back]):
            done.append(tf.identity(x))
    yield g.run(*done)
    yield g.run(*done)


@declare("GetSessionHandle", "GetSessionTensor", "DeleteSessionTensor")
def session_handle(g):
    tf = g.tf
    nobody = g.feed(b"nobody;1;/device:CPU:0", "string")
    yield g.run(g.raw.GetSessionHandle(value=g.feed([1.0])).op)
    yield g.run(
        g.raw.GetSessionTensor(handle=nobody, dtype=tf.float32), error="InvalidArgumentError"
    )
    yield g.run(g.raw.DeleteSessionTensor(handle=nobody), error="InvalidArgumentError")


@declare("GetSessionHandleV2")
def session_handle_v2(g):
    yield g.run(g.raw.GetSessionHandleV2(value=g.feed([1.0])).op)


FAMILY = Family("queues", [], scripts)
