"""Addresses of tasks: what they are, which machine they mean, and what is wrong with them."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from typing import Any

from weft.framework import errors

_LOOPBACK = ("", "localhost")


def split(address: str) -> tuple[str, int]:
    """The host and the port of an address; InvalidArgumentError where it has none."""
    host, colon, port = address.removeprefix("grpc://").rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise errors.InvalidArgumentError(
            None, None, f'Could not interpret "{address}" as a host-port pair.'
        )
    return host.removeprefix("[").removesuffix("]"), int(port)


def numbers_of(host: str) -> list[str]:
    """The addresses that a host's name stands for, those of the older kind first."""
    if host in _LOOPBACK:
        return ["127.0.0.1"]  # it may have two, and is reached by this one
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as e:
        raise errors.UnavailableError(
            None, None, f"The host {host!r} cannot be resolved: {e}"
        ) from None
    found.sort(key=lambda info: info[0] != socket.AF_INET)
    return list(dict.fromkeys(str(info[4][0]) for info in found))


def is_loopback(number: str) -> bool:
    """Whether only this machine is reached by an address."""
    return ipaddress.ip_address(number.partition("%")[0]).is_loopback


def bound(number: str, port: int) -> str:
    """An address as gRPC binds it."""
    return f"[{number}]:{port}" if ":" in number else f"{number}:{port}"


def why_not(number: str, port: int) -> str:
    """Why a server cannot listen at an address; "" where it can."""
    family = socket.AF_INET6 if ":" in number else socket.AF_INET
    with socket.socket(family) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gRPC does
        try:
            s.bind((number, port))
            s.listen(1)
        except OSError as e:
            if e.errno == errno.EADDRNOTAVAIL:
                return (
                    f"this machine has no address {number} (WEFT_LISTEN names another to listen at)"
                )
            return os.strerror(e.errno or 0)
    return ""


def check_cluster(cluster: Any) -> None:
    """Raises InvalidArgumentError for a ClusterDef whose tasks cannot be told apart or reached."""
    seen: dict[str, str] = {}
    for job in cluster.job:
        for index, address in sorted(job.tasks.items()):
            task = f"/job:{job.name}/task:{index}"
            if index < 0:
                raise errors.InvalidArgumentError(None, None, f"The index of {task} is negative.")
            _, port = split(address)
            other = seen.setdefault(address, task)
            if other != task and port:
                raise errors.InvalidArgumentError(
                    None, None, f"Two tasks of the cluster claim {address}: {other} and {task}."
                )


def disagreement(mine: Any, theirs: Any) -> str:
    """Where two descriptions of a cluster, a ClusterDef and the ServerDef of another task, contradict each
    other; "" where nowhere. Neither needs to have every task."""
    known = {(job.name, i): a for job in mine.job for i, a in job.tasks.items()}
    for job in theirs.cluster.job:
        for index, address in job.tasks.items():
            if (job.name, index) == (theirs.job_name, theirs.task_index):
                continue  # its own address, which it may have as it listens
            here = known.get((job.name, index), address)
            if here != address and not _may_be_the_same(here, address):
                return f"/job:{job.name}/task:{index} is at {here} here, and at {address} there"
    return ""


def _may_be_the_same(one: str, other: str) -> bool:
    (host, port), (other_host, other_port) = split(one), split(other)
    if port != other_port:
        return False
    try:
        numbers, others = numbers_of(host), numbers_of(other_host)
    except errors.UnavailableError:
        return True  # as far as can be told from here
    # What is loopback for one machine may be this machine's name for another.
    return bool({*numbers} & {*others}) or any(map(is_loopback, numbers + others))
