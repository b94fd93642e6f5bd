"""Staging areas, in order and by key; barriers; the older stacks and arrays behind references."""

from __future__ import annotations

from ..case import Family, script

scripts = []


def declare(*ops, **options):
    def keep(function):
        scripts.append(script(*ops, **options)(function))
        return function

    return keep


@declare("Stage", "Unstage", "StagePeek", "StageSize", "StageClear")
def staging_area(g):
    tf = g.tf
    types = [tf.float32, tf.string]
    area = dict(capacity=3, memory_limit=400, shared_name=g.fresh_name())
    for i in range(2):
        yield g.run(g.raw.Stage(values=[g.feed([1.0 + i, 2.0]), g.feed(b"a\0", "string")], **area))
    size = g.raw.StageSize(dtypes=types, **area)
    yield g.run(size)
    yield g.run(*g.raw.StagePeek(index=g.feed(1, "int32"), dtypes=types, **area))
    yield g.run(*g.raw.Unstage(dtypes=types, **area))
    yield g.run(size)
    too_large = [g.feed([1.0] * 101), g.feed(b"", "string")]
    yield g.run(g.raw.Stage(values=too_large, **area), error="ResourceExhaustedError")
    yield g.run(*g.raw.Unstage(dtypes=[tf.float32], **area), error="InvalidArgumentError")
    yield g.run(g.raw.Stage(values=[g.feed([9.0]), g.feed(b"b", "string")], **area))
    yield g.run(g.raw.StageClear(dtypes=types, **area))
    yield g.run(size)


MAP = "Stage Unstage Peek UnstageNoKey Size IncompleteSize Clear".split()


def by_key(prefix):
    """Declares a program on areas with keys, ordered or not."""

    def program(g):
        tf = g.tf
        types = [tf.float32, tf.int32]
        area = dict(capacity=4, shared_name=g.fresh_name())

        def call(name, **named):
            return getattr(g.raw, prefix + name)(**dict(named, **area))

        def put(key, indices, *values):
            return call(
                "Stage",
                key=g.feed(key, "int64"),
                indices=g.feed(indices, "int32"),
                values=[
                    g.feed(v, "float32" if i == 0 else "int32") for i, v in zip(indices, values)
                ],
                dtypes=types,
            )

        def take(name, key, indices):
            return call(
                name,
                key=g.feed(key, "int64"),
                indices=g.feed(indices, "int32"),
                dtypes=[types[i] for i in indices],
            )

        sizes = call("Size", dtypes=types), call("IncompleteSize", dtypes=types)
        yield g.run(put(7, [0, 1], [1.0, 2.0], 3))
        yield g.run(put(-2, [1], 5))
        yield g.run(*sizes)
        yield g.run(put(-2, [1], 6), error="InvalidArgumentError")
        yield g.run(put(-2, [0], [4.0, 4.5]))
        yield g.run(*sizes)
        yield g.run(*take("Peek", 7, [0, 1]))
        yield g.run(*take("Unstage", 7, [1]))
        yield g.run(*take("Unstage", 7, [1]), error="InvalidArgumentError")
        yield g.run(*sizes)
        yield g.run(*take("Unstage", 7, [0]))
        yield g.run(*sizes)
        wrong = "InvalidArgumentError"
        yield g.run(put(1, [1, 0], [4], [4.0]), error=wrong)
        pair = call("UnstageNoKey", indices=g.feed([0, 1], "int32"), dtypes=types)
        yield g.run(pair[0], *pair[1])
        yield g.run(put(1, [0, 1], [1.0], 2))
        yield g.run(call("Clear", dtypes=types))
        yield g.run(*sizes)

    program.__name__ = prefix.lower() + "_staging_area"
    declare(*[prefix + name for name in MAP])(program)


by_key("Map")
by_key("OrderedMap")


@declare("OrderedMapStage", "OrderedMapUnstageNoKey")
def smallest_key_first(g):
    tf = g.tf
    name = g.fresh_name()
    for key in (5, -1, 3):
        yield g.run(
            g.raw.OrderedMapStage(
                key=g.feed(key, "int64"),
                indices=g.feed([0], "int32"),
                values=[g.feed(key * 10.0)],
                dtypes=[tf.float32],
                shared_name=name,
            )
        )
    pair = g.raw.OrderedMapUnstageNoKey(
        indices=g.feed([0], "int32"), dtypes=[tf.float32], shared_name=name
    )
    for _ in range(3):
        yield g.run(pair[0], *pair[1])


BARRIER = "Barrier BarrierInsertMany BarrierTakeMany BarrierClose BarrierReadySize BarrierIncompleteSize".split()


def barrier(g, types, shapes):
    """A barrier, and what one does with it."""
    handle = g.raw.Barrier(component_types=types, shapes=shapes, shared_name=g.fresh_name())

    def insert(component, keys, values, dtype="float32"):
        return g.raw.BarrierInsertMany(
            handle=handle,
            keys=g.feed(keys, "string"),
            values=g.feed(values, dtype),
            component_index=component,
        )

    def take(count, small=False):
        taken = g.raw.BarrierTakeMany(
            handle=handle,
            num_elements=g.feed(count, "int32"),
            component_types=types,
            allow_small_batch=small,
        )
        return [taken[0], taken[1], *taken[2]]

    sizes = g.raw.BarrierReadySize(handle=handle), g.raw.BarrierIncompleteSize(handle=handle)

    def close(cancel=False):
        return g.raw.BarrierClose(handle=handle, cancel_pending_enqueues=cancel)

    return insert, take, sizes, close


@declare(*BARRIER)
def barrier_in_parts(g):
    tf = g.tf
    insert, take, sizes, close = barrier(g, [tf.float32, tf.int32], [[2], []])
    yield g.run(insert(0, [b"a"], [[1.0, 2.0]]))
    yield g.run(insert(0, [b"b"], [[3.0, 4.0]]))
    yield g.run(insert(1, [b"c", b"b"], [30, 20], "int32"))
    yield g.run(*sizes)
    yield g.run(insert(0, [b"a"], [[0.0, 0.0]]), error="InvalidArgumentError")
    yield g.run(insert(1, [b"a"], [1.5]), error="InvalidArgumentError")
    yield g.run(insert(1, [b"a"], [10], "int32"))
    yield g.run(*sizes)
    yield g.run(*take(2))
    yield g.run(*take(0))
    yield g.run(close())
    yield g.run(insert(0, [b"new"], [[1.0, 2.0]]), error="CancelledError")
    yield g.run(insert(0, [b"c"], [[5.0, 6.0]]))
    yield g.run(*sizes)
    yield g.run(*take(9, small=True))
    yield g.run(*take(1), error="OutOfRangeError")
    yield g.run(close(), error="CancelledError")


@declare(*BARRIER)
def barrier_cancelled(g):
    tf = g.tf
    insert, take, sizes, close = barrier(g, [tf.float32, tf.float32], [[], []])
    yield g.run(insert(0, [b"a", b"b"], [1.0, 2.0]))
    yield g.run(insert(1, [b"a"], [3.0]))
    yield g.run(close(cancel=True))
    yield g.run(*sizes)
    yield g.run(insert(1, [b"b"], [3.0]), error="CancelledError")
    yield g.run(*take(2), error="OutOfRangeError")
    yield g.run(*take(1))


@declare("Barrier", "BarrierReadySize")
def barrier_refuses(g):
    tf = g.tf
    for options in (
        dict(component_types=[tf.float32]),
        dict(component_types=[tf.float32], shapes=[[]], capacity=3),
    ):
        handle = g.raw.Barrier(shared_name=g.fresh_name(), **options)
        yield g.run(g.raw.BarrierReadySize(handle=handle), error="InvalidArgumentError")


FAMILY = Family("staging", [], scripts)
