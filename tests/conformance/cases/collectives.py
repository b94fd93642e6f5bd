"""What the members of a group compute together: two devices of one process."""

from __future__ import annotations

from ..case import Family, script


def members(g, op, values, dtype, **attrs):
    """The op on each of two devices."""
    out = []
    for i, value in enumerate(values):
        with g.tf.device("/cpu:%d" % i):
            out.append(op(input=g.feed(value, dtype), group_size=2, group_key=1, **attrs))
    return out


@script("CollectiveReduce", cpus=2)
def collective_reduce(g):
    key = 0
    for dtype in ("float32", "float64", "int32", "int64"):
        for merge, final in (("Add", "Id"), ("Add", "Div"), ("Mul", "Id")):
            key += 1
            yield g.run(
                *members(
                    g,
                    g.raw.CollectiveReduce,
                    ([[1, -2, 3], [4, 5, -7]], [[2, 2, 2], [-8, 6, 4]]),
                    dtype,
                    instance_key=key,
                    merge_op=merge,
                    final_op=final,
                    subdiv_offsets=[0],
                )
            )
    three = dict(merge_op="Add", final_op="Id", subdiv_offsets=[0])
    for value in (1.5, []):
        key += 1
        yield g.run(
            *members(
                g, g.raw.CollectiveReduce, (value, value), "float32", instance_key=key, **three
            )
        )
    key += 1
    yield g.run(
        *members(g, g.raw.CollectiveReduce, ([1], [1, 2]), "float32", instance_key=key, **three),
        error="InvalidArgumentError",
    )


@script("CollectiveGather", cpus=2)
def collective_gather(g):
    for key, dtype in enumerate(("float32", "float64", "int32", "int64")):
        yield g.run(
            *members(
                g,
                g.raw.CollectiveGather,
                ([[1, 2], [3, 4]], [[5, 6], [7, 8]]),
                dtype,
                instance_key=key + 1,
                shape=[4, 2],
            )
        )


@script("CollectiveBcastSend", "CollectiveBcastRecv", cpus=2)
def collective_broadcast(g):
    for key, dtype in enumerate(("float32", "float64", "int32", "int64")):
        group = dict(group_size=2, group_key=1, instance_key=key + 1, shape=[2, 2])
        with g.tf.device("/cpu:0"):
            sent = g.raw.CollectiveBcastSend(input=g.feed([[1, 2], [3, 4]], dtype), **group)
        with g.tf.device("/cpu:1"):
            received = g.raw.CollectiveBcastRecv(T=g.tf.as_dtype(dtype), **group)
        yield g.run(sent, received)


FAMILY = Family("collectives", [], [collective_reduce, collective_gather, collective_broadcast])
