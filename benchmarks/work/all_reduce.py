"""All-reduce of 64 MB between two processes: each gives a tensor, both get the sum.

Run as a program it is one of them: python -m work.all_reduce IMPLEMENTATION RANK ADDRESSES
"""

import json
import os
import subprocess
import sys
import time

import numpy as np

from work.cluster import _ports

IN_PROCESSES_OF_ITS_OWN = True
ELEMENTS = 1 << 24
WARM, TIMED = 3, 20
LIMIT = 90


def measure(implementation):
    addresses = ["127.0.0.1:%d" % port for port in _ports(2)]
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = [here, os.environ.get("PYTHONPATH", "")]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in paths if p))
    command = [sys.executable, "-m", "work.all_reduce", implementation]
    tasks = [
        subprocess.Popen(
            [*command, str(rank), json.dumps(addresses)],
            stdout=subprocess.DEVNULL if rank else subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        for rank in range(2)
    ]
    try:
        # Who waits for one that has failed may wait for ever.
        out, _ = tasks[0].communicate(timeout=LIMIT)
        if tasks[0].returncode:
            raise RuntimeError("a process of the all-reduce has failed")
        return {"step": json.loads(out.decode().strip().splitlines()[-1])}
    finally:
        for task in tasks:
            task.kill()
            task.wait()


def measure_jax():
    return measure("jax")


# -- one of the processes ------------------------------------------------------------------------------


def timed(call):
    """The seconds of the quickest call: both processes make the same ones, and wait for each other."""
    for _ in range(WARM):
        call()
    found = []
    for _ in range(TIMED):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def plain_jax(rank, addresses):
    import jax

    jax.config.update("jax_platforms", "cpu")
    jax.distributed.initialize(addresses[0], 2, rank)
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("task",))
    spec = jax.sharding.PartitionSpec
    whole = jax.make_array_from_process_local_data(
        jax.sharding.NamedSharding(mesh, spec("task")),
        np.ones((1, ELEMENTS), np.float32),
        (2, ELEMENTS),
    )
    total = jax.jit(
        jax.shard_map(
            lambda a: jax.lax.psum(a[0], "task"), mesh=mesh, in_specs=spec("task"), out_specs=spec()
        )
    )
    return timed(lambda: total(whole).block_until_ready())


def in_a_session(tf, rank, addresses):
    config = tf.ConfigProto(device_filters=["/job:worker/task:%d" % rank])
    config.experimental.collective_group_leader = "/job:worker/replica:0/task:0"
    server = tf.train.Server({"worker": addresses}, "worker", rank, config=config)
    with tf.device("/job:worker/task:%d/device:CPU:0" % rank):
        value = tf.get_variable("value", initializer=np.ones(ELEMENTS, np.float32))
        total = tf.raw_ops.CollectiveReduce(
            input=value,
            group_size=2,
            group_key=1,
            instance_key=1,
            merge_op="Add",
            final_op="Id",
            subdiv_offsets=[0],
        )
    options = tf.RunOptions()
    options.experimental.collective_graph_key = 1
    with tf.Session(server.target, config=config) as session:
        session.run(value.initializer)
        return timed(lambda: session.run(total.op, options=options))


def main():
    implementation, rank, addresses = sys.argv[1:]
    rank, addresses = int(rank), json.loads(addresses)
    if implementation == "jax":
        seconds = plain_jax(rank, addresses)
    else:
        from worker import vocabulary

        seconds = in_a_session(vocabulary(implementation), rank, addresses)
    print(json.dumps(seconds))
    sys.stdout.flush()
    time.sleep(0.5)  # the other one ends as well
    os._exit(0)


if __name__ == "__main__":
    main()
