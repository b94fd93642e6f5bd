"""Collectives: where the members of a group meet. `Groups` says who is in a group; `Collectives` brings together
what the members that are here ask for, and hands what concerns other tasks to the lane between them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.framework import errors
from weft.runtime.rendezvous import Arrival


@dataclass(frozen=True)
class Members:
    """A complete group: its devices in the order of their ranks, each with its task, and where its tasks meet."""

    devices: tuple[str, ...]
    tasks: tuple[str, ...]
    meeting: bytes = b""

    @property
    def processes(self) -> list[str]:
        """The tasks, each once."""
        return list(dict.fromkeys(self.tasks))


_ALONE = "/job:localhost/replica:0/task:0"


def task_of(device: str) -> str:
    return device.rpartition("/device:")[0]


def _in_order(device: str) -> tuple:
    """Sorts by name, numbers by their value."""
    return tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in _pieces(device))


def _pieces(device: str) -> list[str]:
    return [piece for part in device.split("/") for piece in part.split(":")]


class _Forming:
    """A group while its members come, and afterwards."""

    def __init__(self, size: int, kind: str, first: str):
        self.size, self.kind, self.first = size, kind, first
        self.waiting: dict[str, list[Arrival]] = {}
        self.members: Members | None = None
        self.told: set[str] = set()  # members that know the group


class Groups:
    """Who is in which group: the first so many devices that ask for it, as their number says. This is the logic
    of the group leader of a cluster; a process that is alone leads itself."""

    def __init__(self, meeting: Callable[[int, list[str]], bytes] | None = None):
        self._lock = threading.Lock()
        self._groups: dict[int, _Forming] = {}
        self._meeting = meeting or (lambda key, processes: b"")

    def join(self, key: int, size: int, kind: str, device: str, name: str = "") -> Arrival:
        """Adds a device to a group; gives the `Members` once the group is complete."""
        arrival = Arrival()
        if size < 1 or "/device:" not in device:
            arrival.finish(
                error=errors.InvalidArgumentError(
                    None,
                    None,
                    f"A group has at least one member, each a device with its full name; not {device!r} in a group of "
                    f"{size}.",
                )
            )
            return arrival
        with self._lock:
            group = self._groups.get(key)
            if group is not None and device in group.told:
                # A member that has lost the others (or its life) gathers the group anew.
                group = None
            if group is None:
                group = self._groups[key] = _Forming(size, kind, name or device)
            try:
                self._check(group, key, size, kind, device, name)
            except errors.OpError as e:
                arrival.finish(error=e)
                return arrival
            arrivals = group.waiting.setdefault(device, [])
            arrivals.append(arrival)
            arrival.on_cancel = lambda: self._leave(group, device, arrival)
            if group.members is None and len(group.waiting) == size:
                devices = sorted(group.waiting, key=_in_order)
                tasks = [task_of(d) for d in devices]
                meeting = self._meeting(key, list(dict.fromkeys(tasks)))
                group.members = Members(tuple(devices), tuple(tasks), meeting)
            if group.members is None:
                return arrival
            ready = [a for waiting in group.waiting.values() for a in waiting]
            group.told.update(group.waiting)
            for waiting in group.waiting.values():
                waiting.clear()
        for a in ready:
            a.finish(group.members)
        return arrival

    def members_with(self, key: int, device: str) -> Members | None:
        """The members of a complete group, if a device is one of them."""
        with self._lock:
            group = self._groups.get(key)
            members = group.members if group is not None else None
            return members if members is not None and device in members.devices else None

    def _check(
        self, group: _Forming, key: int, size: int, kind: str, device: str, name: str
    ) -> None:
        if kind != group.kind:
            raise errors.InternalError(
                None,
                None,
                f"Collective Op {name} is assigned to device {device} with type {kind} and group_key {key} but that "
                f"group has type {group.kind}",
            )
        if size != group.size:
            raise errors.InternalError(
                None,
                None,
                f"Collective Op {name} on device {device} has group_size {size} and group_key {key} but that group "
                f"has size {group.size}, as {group.first} says.",
            )
        if device not in group.waiting and len(group.waiting) == group.size:
            raise errors.InternalError(
                None,
                None,
                f"Collective Op {name} is assigned to device {device} and group_key {key} but that group doesn't "
                f"contain that device. It has {', '.join(sorted(group.waiting, key=_in_order))}.",
            )

    def _leave(self, group: _Forming, device: str, arrival: Arrival) -> None:
        """Who stops waiting for a group is no member of it."""
        with self._lock:
            waiting = group.waiting.get(device, [])
            if arrival in waiting and group.members is None:
                waiting.remove(arrival)
                if not waiting:
                    del group.waiting[device]


class _Part:
    """What one member here gives to an instance."""

    __slots__ = ("request", "value", "arrival")

    def __init__(self, request: Any, value: Any):
        self.request, self.value, self.arrival = request, value, Arrival()


class _Group:
    """A group as this task sees it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.asked: set[str] = set()  # devices of this task that have asked to join
        self.members: Members | None = None
        self.here: tuple[str, ...] = ()
        self.lane: Any = None
        # By instance, runs of it that have begun: the parts that have come by device.
        self.runs: dict[int, deque[dict[str, _Part]]] = {}

    def parts(self) -> list[_Part]:
        return [part for runs in self.runs.values() for run in runs for part in run.values()]


class Collectives:
    """The groups that devices of this task are in.

    `join(key, size, kind, device, name)` of `groups` finds a group's members; `open_lane(members, task)` opens
    what connects the tasks of a group, and is needed where there are several.
    """

    def __init__(
        self,
        groups: Any = None,
        open_lane: Callable[[Members, str], Any] | None = None,
        task: str = _ALONE,
    ):
        self.task = task
        self._find = groups or Groups()
        self._open_lane = open_lane
        self._lock = threading.Lock()
        self._groups: dict[int, _Group] = {}

    def name_of(self, device: str | None) -> str:
        """What a device of this process is called among the members: eager execution knows it as one of localhost."""
        task, _, which = (device or _ALONE + "/device:CPU:0").rpartition("/device:")
        return f"{self.task if task == _ALONE else task}/device:{which}"

    def join(self, request: Any, value: Any) -> Arrival:
        """A member's part in an instance of its group; it gives what the group has computed together."""
        if request.group_size < 1:
            raise errors.InvalidArgumentError(
                None, None, f"group_size must be at least 1, not {request.group_size}."
            )
        with self._lock:
            group = self._groups.setdefault(request.group_key, _Group())
        part = _Part(request, value)
        with group.lock:
            if group.members is not None and len(group.members.devices) != request.group_size:
                raise errors.InternalError(
                    None,
                    None,
                    f"Collective Op {request.name} on device {request.device} has group_size "
                    f"{request.group_size} and group_key {request.group_key} but that group has size "
                    f"{len(group.members.devices)}.",
                )
            if group.members is not None and request.device not in group.here:
                raise errors.InternalError(
                    None,
                    None,
                    f"Collective Op {request.name} is assigned to device {request.device} and group_key "
                    f"{request.group_key} but that group doesn't contain that device. It has "
                    f"{', '.join(group.members.devices)}.",
                )
            runs = group.runs.setdefault(request.instance_key, deque())
            run = next((r for r in runs if request.device not in r), None)
            if run is None:
                run = {}
                runs.append(run)
            run[request.device] = part
            part.arrival.on_cancel = lambda: self._withdraw(group, request.instance_key, run, part)
            asks = request.device not in group.asked
            group.asked.add(request.device)
        if asks:
            self._ask(group, request)
        else:
            self._go_on(group)
        return part.arrival

    def _ask(self, group: _Group, request: Any) -> None:
        """Finds out who the members of a group are."""
        kind = request.device.rpartition("/device:")[2].partition(":")[0]
        coming = self._find.join(
            request.group_key, request.group_size, kind, request.device, request.name
        )

        def came() -> None:
            try:
                members: Members = coming.result()
                with group.lock:
                    if group.members is None:
                        self._settle(group, members, request.device)
            except errors.OpError as e:
                self._fail(group, request.group_key, e)
                return
            self._go_on(group)

        coming.notify(came)

    def _settle(self, group: _Group, members: Members, device: str) -> None:
        task = task_of(device)
        group.here = tuple(d for d, t in zip(members.devices, members.tasks) if t == task)
        if len(group.here) < len(members.devices):
            if self._open_lane is None:
                raise errors.InternalError(
                    None, None, f"There is no way from {task} to {', '.join(members.processes)}."
                )
            group.lane = self._open_lane(members, task)
        group.members = members

    def _withdraw(self, group: _Group, instance: int, run: dict[str, _Part], part: _Part) -> None:
        """A step that ends early leaves nothing behind, unless the others count on it already."""
        with group.lock:
            runs = group.runs.get(instance)
            if runs is not None and any(r is run for r in runs):
                run.pop(part.request.device, None)
                if not run:
                    runs.remove(run)
                    if not runs:
                        del group.runs[instance]

    def _fail(self, group: _Group, key: int, error: Exception) -> None:
        """Ends all waits of a group, and forgets it: the next who asks gathers it anew."""
        with self._lock:
            if self._groups.get(key) is group:
                del self._groups[key]
        with group.lock:
            parts, group.runs = group.parts(), {}
        for part in parts:
            part.arrival.finish(error=error)

    def _go_on(self, group: _Group) -> None:
        """Begins the runs for which all members here have come."""
        ready: list[tuple[int, list[_Part]]] = []
        with group.lock:
            if group.members is None:
                return
            for instance, runs in list(group.runs.items()):
                while runs and len(runs[0]) == len(group.here):
                    run = runs.popleft()
                    ready.append((instance, [run[d] for d in group.here]))
                if not runs:
                    del group.runs[instance]
        for instance, parts in ready:
            try:
                self._run(group, instance, parts)
            except Exception as e:
                _finish_all(parts, None, e)

    def _run(self, group: _Group, instance: int, parts: list[_Part]) -> None:
        first = parts[0].request
        for part in parts[1:]:
            if part.request.asked != first.asked:
                raise differ(instance, first, part.request)
        request = first
        if group.lane is None:
            if request.kind == "Broadcast":
                value = _given(instance, parts)
                if value is None:
                    raise no_source(instance, len(parts))
            elif request.kind == "Gather":
                value = np.concatenate([p.value for p in parts])
            else:
                value = divided(_combined(parts), request)
            _finish_all(parts, value, None)
            return

        def done(value: Any, error: Exception | None) -> None:
            _finish_all(parts, value, error)
            if isinstance(error, errors.UnavailableError):
                self._fail(group, request.group_key, error)

        if request.kind == "Reduce":
            value = _combined(parts)
        elif request.kind == "Broadcast":
            value = _given(instance, parts)
            request = next((p.request for p in parts if p.request.is_source), request)
        else:
            value = _in_place(parts, group.members)
        withdraw = group.lane.submit(request, value, done)
        for part in parts:
            part.arrival.on_cancel = withdraw

    def close(self) -> None:
        """Ends all waits, and leaves all groups."""
        error = errors.CancelledError(None, None, "The task has left its groups.")
        with self._lock:
            groups, self._groups = list(self._groups.items()), {}
        for key, group in groups:
            self._fail(group, key, error)
            if group.lane is not None:
                group.lane.close()


def _finish_all(parts: list[_Part], value: Any, error: Exception | None) -> None:
    for part in parts:
        part.arrival.finish(value, error)


def _in_place(parts: list[_Part], members: Any) -> np.ndarray:
    """Some members' rows in their places, with nothing where the others' are: that adds up to all."""
    request = parts[0].request
    rows = request.shape[0]
    whole = np.zeros((rows * len(members.devices), *request.shape[1:]), request.dtype)
    for part in parts:
        at = members.devices.index(part.request.device) * rows
        whole[at : at + rows] = part.value
    return whole


_MERGES = {"Add": np.add, "Mul": np.multiply, "Min": np.minimum, "Max": np.maximum}


def _combined(parts: list[_Part]) -> np.ndarray:
    merge = _MERGES[parts[0].request.merge]
    value = parts[0].value
    for i, part in enumerate(parts[1:]):
        value = merge(value, part.value, out=value if i else None)
    return value


def divided(value: Any, request: Any) -> Any:
    """What an instance gives in the end: whole numbers are divided as C divides them."""
    if request.final != "Div" or request.group_size == 1:
        return value
    if value.dtype.kind == "i":
        whole = np.abs(value) // request.group_size
        return (np.sign(value) * whole).astype(value.dtype)
    return value / value.dtype.type(request.group_size)


def _given(instance: int, parts: list[_Part]) -> Any:
    """What the source among some members gives; None where it is not among them."""
    sources = [p for p in parts if p.request.is_source]
    if len(sources) > 1:
        raise two_sources(instance, sources[0].request.device, sources[1].request.device)
    return sources[0].value if sources else None


def no_source(instance: int, count: int) -> errors.OpError:
    return errors.InternalError(
        None,
        None,
        f"Instance {instance} found no source for broadcast.  This could mean that there were group_size={count} "
        "BcastRecvs but no BcastSend.",
    )


def two_sources(instance: int, first: Any, second: Any) -> errors.OpError:
    return errors.InternalError(
        None,
        None,
        f"Instance {instance} already has source {first}, received second claim from {second}",
    )


def differ(instance: int, mine: Any, other: Any) -> errors.OpError:
    """The error of members that do not ask for the same; requests, or what is known of one elsewhere."""
    if mine.kind == other.kind and mine.shape != other.shape:
        return errors.InvalidArgumentError(
            None,
            None,
            f"Shape mismatch in the collective instance {instance}. Op at device {mine.device} expected shape "
            f"{list(mine.shape)} but another member in the group, at {other.device}, expected shape "
            f"{list(other.shape)}. This is likely due to different input shapes at different members of the "
            "collective op.",
        )
    said = [
        f"{r.device} asks for {r.kind} of {np.dtype(r.dtype).name} {list(r.shape)} with merge_op {r.merge} and "
        f"final_op {r.final}"
        for r in (mine, other)
    ]
    return errors.InternalError(
        None,
        None,
        f"The members of the collective instance {instance} do not ask for the same: {said[0]}, {said[1]}.",
    )
