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


@declare("Stack", "StackPush", "StackPop", "StackClose")
def older_stack(g):
    tf = g.tf
    handle = g.raw.Stack(elem_type=tf.float32, stack_name=g.fresh_name())
    first = g.raw.StackPush(handle=handle, elem=g.feed([1.0, 2.0]))
    with tf.control_dependencies([first]):
        second = g.raw.StackPush(handle=handle, elem=g.feed([3.0]))
    with tf.control_dependencies([second]):
        last = g.raw.StackPop(handle=handle, elem_type=tf.float32)
    with tf.control_dependencies([last]):
        before = g.raw.StackPop(handle=handle, elem_type=tf.float32)
    with tf.control_dependencies([before]):
        close = g.raw.StackClose(handle=handle)
    yield g.run(first, second, last, before, close)


class OldGraph:
    """A graph of an older TensorFlow: what it has removed can be imported, but no longer be built."""

    def __init__(self, g, producer):
        self._tf, self._g = g.tf, g
        self._graph_def = g.tf.GraphDef()
        self._graph_def.versions.producer = producer
        self._given = {}

    def feed(self, values, dtype="float32"):
        tensor = self._g.feed(values, dtype)
        name = "fed%d" % len(self._given)
        self._given[name] = tensor
        node = self._graph_def.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = tensor.dtype.as_datatype_enum
        return name

    def add(self, op, *inputs, **attrs):
        """Adds a node and gives its name; inputs that start with ^ only come before it."""
        name = "node%d" % len(self._graph_def.node)
        node = self._graph_def.node.add(name=name, op=op)
        node.input.extend(inputs)
        for key, value in attrs.items():
            if isinstance(value, str):
                node.attr[key].s = value.encode()
            else:
                node.attr[key].type = value.as_datatype_enum
        return name

    def tensors(self, *names):
        return self._tf.import_graph_def(self._graph_def, self._given, list(names))


ARRAY = "Write Read Gather Scatter Concat Split Size Close".split()


def older_arrays(version, producer):
    """Declares a program on arrays behind references, or behind strings."""

    def program(g):
        f = g.tf.float32

        def begin(size):
            old = OldGraph(g, producer)

            def call(name, *inputs, **attrs):
                suffix = "" if name in ("Pack", "Unpack") else version
                return old.add("TensorArray" + name + suffix, *inputs, **attrs)

            return old, call, call("", old.feed(size, "int32"), dtype=f)

        old, call, it = begin(3)
        flow = old.feed(0.0)
        for i, row in ((0, [1.0, 2.0]), (2, [5.0, 6.0]), (1, [3.0, 4.0])):
            flow = call("Write", it, old.feed(i, "int32"), old.feed(row), flow, T=f)
        size = call("Size", it, flow)
        gathered = call("Gather", it, old.feed([2, 0], "int32"), flow, dtype=f)
        one = old.feed(1, "int32")
        read = call("Read", it, one, flow, "^" + gathered, "^" + size, dtype=f)
        call("Close", it, "^" + read)
        yield g.run(*old.tensors(*[name + ":0" for name in (flow, size, gathered, read)]))

        old, call, it = begin(2)
        pieces, lengths = old.feed([1.0, 2.0, 3.0]), old.feed([2, 1], "int64")
        flow = call("Split", it, pieces, lengths, old.feed(0.0), T=f)
        whole = call("Concat", it, flow, dtype=f)
        yield g.run(*old.tensors(whole + ":0", whole + ":1"))

        old, call, it = begin(2)
        rows, places = old.feed([[1.0], [2.0]]), old.feed([1, 0], "int32")
        flow = call("Scatter", it, places, rows, old.feed(0.0), T=f)
        yield g.run(*old.tensors(call("Gather", it, places, flow, dtype=f) + ":0"))

        if not version:
            old, call, it = begin(2)
            flow = call("Unpack", it, old.feed([[1.0], [2.0]]), old.feed(0.0), T=f)
            yield g.run(*old.tensors(call("Pack", it, flow, dtype=f) + ":0"))

        old, call, it = begin(1)
        zero = old.feed(0, "int32")
        flow = call("Write", it, zero, old.feed([7.0]), old.feed(0.0), T=f)
        gradients = call("Grad", it, flow, source="gradients")
        for _ in range(2):
            flow = call("Write", gradients, zero, old.feed([2.5]), flow, T=f)
        yield g.run(*old.tensors(call("Read", gradients, zero, flow, dtype=f) + ":0"))

    program.__name__ = "older_tensor_array" + version.lower()
    names = ["TensorArray" + name + version for name in ["", "Grad", *ARRAY]]
    if not version:
        names += ["TensorArrayPack", "TensorArrayUnpack"]
    declare(*names)(program)


older_arrays("", 15)
older_arrays("V2", 25)


FAMILY = Family("staging", [], scripts)
