"""Plays through how the steps per second of a cluster grow with its workers and parameter servers.

    python -m tools.scaling --workers 1 4 16 64 --servers 1 4 16 --model large
    python -m tools.scaling --measure

Every task is on a host of its own. A step asks each parameter server for its share of the variables, computes, and
sends each its share of the gradients; the server's answer ends the step. What a task does with messages and bytes it
does one thing after another, as a Python process does; each host sends and receives over one line. The costs are
measured: `--measure` takes them anew on the machine it runs on.
"""

import argparse
import dataclasses
import heapq
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MB = 1e6
US = 1e-6


@dataclass(frozen=True)
class Costs:
    """Seconds for a message, and for each byte in it, at either end; and what the line does."""

    message: float  # at each end, whatever is in it: in Python, one after another
    byte: float  # at each end: copied by any core
    latency: float  # on the way
    line: float  # bytes a second, in each direction
    asks: bool  # whether who wants a tensor sends a message for it
    step: float = 100 * US  # of a worker, for whatever a step does
    update: float = 0.07e-9  # of a parameter server, for each byte of a variable that it updates


# Measured on two cores of an AMD EPYC, by --measure: over links on one host, and over gRPC. The line of the one is the
# memory, of the other a network of 25 Gbit/s.
LINK = Costs(message=11 * US, byte=0.11e-9, latency=10 * US, line=9e9, asks=False)
GRPC = Costs(message=130 * US, byte=0.4e-9, latency=30 * US, line=25e9 / 8, asks=True)
# Frames like those of links on that network: not built; it shows what gRPC costs.
BARE = dataclasses.replace(LINK, line=GRPC.line, latency=GRPC.latency)
COSTS = {"link": LINK, "grpc": GRPC, "bare": BARE}


@dataclass(frozen=True)
class Model:
    """What a step moves and computes."""

    bytes: float  # of variables, and as many of gradients
    compute: float  # seconds of one core of a worker


# The perceptrons of benchmarks/work/cluster.py, and a network of 100 MB that one core would compute for two seconds.
MODELS = {
    "small": Model(0.32 * MB, 0.7e-3),
    "large": Model(7.45 * MB, 10e-3),
    "huge": Model(100 * MB, 2.0),
}


class Resource:
    """What does as many things at a time as it has places, in the order in which it was asked."""

    def __init__(self, name: str, places: int = 1):
        self.name, self.places = name, places
        self.busy = 0.0
        self._free_at = [0.0] * places

    def use(self, now: float, seconds: float) -> float:
        """Returns when something is done that is asked for now."""
        self.busy += seconds / self.places
        done = max(now, self._free_at[0]) + seconds
        heapq.heapreplace(self._free_at, done)
        return done

    def pass_through(self, now: float, seconds: float) -> float:
        """Returns when something has come in that began to come as many seconds ago, if nothing else was in
        its way."""
        self.busy += seconds
        self._free_at[0] = max(now, self._free_at[0] + seconds)
        return self._free_at[0]


class Gate:
    """What opens when `left` have come."""

    def __init__(self, left: int):
        self.left = left
        self.waiting: list[Iterator] = []

    def come(self) -> list[Iterator]:
        """One more has come; returns the processes that may go on."""
        self.left -= 1
        return [] if self.left else self.waiting


class Simulation:
    """Runs processes. These are generators: they yield (how, seconds) to use something, a number of seconds to wait,
    a Gate to wait until it opens, and its `come` to be one of those that it waits for."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = itertools.count()
        self._events: list[tuple[float, int, Iterator]] = []

    def start(self, process: Iterator) -> None:
        self._at(self.now, process)

    def _at(self, time: float, process: Iterator) -> None:
        heapq.heappush(self._events, (time, next(self._order), process))

    def run(self, until: float) -> None:
        while self._events and self._events[0][0] <= until:
            self.now, _, process = heapq.heappop(self._events)
            wish: Any = next(process, None)
            if wish is None:
                continue
            if isinstance(wish, float):
                self._at(self.now + wish, process)
            elif isinstance(wish, tuple):
                use, seconds = wish
                self._at(use(self.now, seconds), process)
            elif isinstance(wish, Gate):
                if wish.left:
                    wish.waiting.append(process)
                else:
                    self._at(self.now, process)
            else:
                for waiting in wish():
                    self._at(self.now, waiting)
                self._at(self.now, process)


class Host:
    """What one task has: Python for what goes one after another, cores, and a line in each direction."""

    def __init__(self, name: str, cores: Resource):
        self.python, self.cores = Resource(f"Python of {name}"), cores
        self.out, self.into = Resource(f"line of {name}"), Resource(f"line of {name}")


@dataclass
class Result:
    rate: float  # steps a second, of all workers together
    bottleneck: str
    load: float  # of the bottleneck, 0 to 1


class Cluster:
    """A training with parameter servers, each task on a host of its own unless all are on one."""

    def __init__(
        self,
        model: Model,
        costs: Costs,
        workers: int,
        servers: int,
        sync: bool = False,
        cores: int = 8,
        one_host: bool = False,
    ):
        self.model, self.costs, self.sync = model, costs, sync
        shared = Resource("cores", cores)

        def host(name: str) -> Host:
            return Host(name, shared if one_host else Resource(f"cores of {name}", cores))

        self.workers = [host("a worker") for _ in range(workers)]
        self.servers = [host("a ps") for _ in range(servers)]
        self.share = model.bytes / servers
        self.steps = 0
        self.simulation = Simulation()
        self._meetings: list[dict[Host, tuple[Gate, Gate]]] = []

    def _message(self, sender: Host, receiver: Host, size: float = 0.0) -> Iterator:
        """A message from one host to another."""
        c = self.costs
        yield sender.python.use, c.message
        if size:
            yield sender.cores.use, size * c.byte
            yield sender.out.use, size / c.line
        yield c.latency  # what is small does not wait behind what is large
        if size:
            yield receiver.into.pass_through, size / c.line
            yield receiver.cores.use, size * c.byte
        yield receiver.python.use, c.message

    def _tensors(self, sender: Host, receiver: Host) -> Iterator:
        """A server's share of variables or gradients on its way."""
        if self.costs.asks:
            yield from self._message(receiver, sender)
        yield from self._message(sender, receiver, self.share)

    def _pull(self, worker: Host, server: Host, all_here: Gate) -> Iterator:
        yield from self._message(worker, server)
        yield from self._tensors(server, worker)
        yield all_here.come

    def _push(self, worker: Host, server: Host, done: Gate, meeting: Any) -> Iterator:
        yield from self._tensors(worker, server)
        # An update, or the sum of what the workers send.
        yield server.cores.use, self.share * self.costs.update
        if meeting is not None:
            all_added, updated = meeting[server]
            last = all_added.left == 1
            yield all_added.come
            if last:
                yield server.cores.use, self.share * self.costs.update
                yield updated.come
            yield updated
        yield from self._message(server, worker)
        yield done.come

    def _compute(self, worker: Host) -> Iterator:
        """Spreads a step's work over the cores."""
        done = Gate(worker.cores.places)

        def piece() -> Iterator:
            yield worker.cores.use, self.model.compute / worker.cores.places
            yield done.come

        for _ in range(worker.cores.places):
            self.simulation.start(piece())
        yield done

    def _worker(self, worker: Host) -> Iterator:
        start = self.simulation.start
        for turn in itertools.count():
            yield worker.python.use, self.costs.step
            all_here, done = Gate(len(self.servers)), Gate(len(self.servers))
            for server in self.servers:
                start(self._pull(worker, server, all_here))
            yield all_here
            yield from self._compute(worker)
            meeting = self._meeting(turn) if self.sync else None
            for server in self.servers:
                start(self._push(worker, server, done, meeting))
            yield done
            self.steps += 1

    def _meeting(self, turn: int) -> Any:
        """Where the workers meet in a synchronous step: at each server, when all have come and when it has updated."""
        if turn == len(self._meetings):
            self._meetings.append({s: (Gate(len(self.workers)), Gate(1)) for s in self.servers})
        return self._meetings[turn]

    def run(self, seconds: float) -> Result:
        for worker in self.workers:
            self.simulation.start(self._worker(worker))
        self.simulation.run(seconds / 4)
        warm = self.steps
        resources = [
            r
            for host in (*self.workers, *self.servers)
            for r in (host.python, host.cores, host.out, host.into)
        ]
        before = [r.busy for r in resources]
        self.simulation.run(seconds)
        span = seconds * 3 / 4
        load, name = max(
            ((r.busy - b) / span, r.name) for r, b in zip(resources, before, strict=True)
        )
        return Result((self.steps - warm) / span, name, load)


def steps_per_second(
    model: Model, costs: Costs, workers: int, servers: int, **options: Any
) -> Result:
    """What a cluster reaches; a synchronous step counts once for each worker."""
    cluster = Cluster(model, costs, workers, servers, **options)
    place = cluster.workers[0].cores.places
    alone = costs.step + 12 * servers * costs.message + model.compute / place
    alone += model.bytes * (4 * costs.byte + 2 / costs.line)
    # Long enough for a queue at the servers to become what it will be.
    return cluster.run(32 * alone + 4 * workers * model.bytes / costs.line / servers)


# -- the costs --------------------------------------------------------------------------------------------


def measured() -> dict[str, Costs]:
    """The costs on this machine: of links, and of gRPC between two processes."""
    from tools.transfer_costs import measure

    found = measure()
    return {
        name: dataclasses.replace(COSTS[name], message=message, byte=byte)
        for name, (message, byte) in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--servers", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--model", choices=MODELS, default="large")
    parser.add_argument("--costs", choices=COSTS, default="grpc")
    parser.add_argument("--cores", type=int, default=8, help="of each host")
    parser.add_argument("--sync", action="store_true", help="synchronous steps")
    parser.add_argument("--measure", action="store_true", help="measure the costs, and stop")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps({k: dataclasses.asdict(v) for k, v in measured().items()}, indent=1))
        return
    model, costs = MODELS[options.model], COSTS[options.costs]
    print("workers " + "".join(f"{f'{p} ps':>27}" for p in options.servers))
    for workers in options.workers:
        cells = []
        for servers in options.servers:
            found = steps_per_second(
                model, costs, workers, servers, sync=options.sync, cores=options.cores
            )
            cells.append(f"{found.rate:8.0f} {found.bottleneck:>18}")
        print(f"{workers:7} " + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
