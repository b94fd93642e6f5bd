"""Clusters whose tasks are processes that a test kills, stops and starts again."""

import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOAK = bool(os.environ.get("WEFT_SOAK"))  # whether the long forms are run


def free_ports(n):
    """Ports that are free now."""
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Task:
    """One process."""

    def __init__(self, name, command, log):
        self.name, self.log = name, log
        with open(log, "ab") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=dict(os.environ, PYTHONPATH=str(ROOT), PYTHONWARNINGS="ignore"),
            )
        self.told = []  # all that it has told
        self._new = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        with self.process.stdout as lines:
            for line in lines:
                with contextlib.suppress(ValueError):  # what a killed task has written half
                    self._new.put(json.loads(line))
        self._new.put(None)

    def next(self, key, seconds=30.0):
        """What the task next tells under a key."""
        end = time.monotonic() + seconds
        while True:
            try:
                told = self._new.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"{self.name} tells no {key!r}: {self.story()}") from None
            if told is None:
                self._new.put(None)
                raise AssertionError(f"{self.name} has ended without {key!r}: {self.story()}")
            self.told.append(told)
            if key in told:
                return told[key]

    def until(self, key, least, seconds=30.0):
        """What the task tells under a key, once it is large enough."""
        end = time.monotonic() + seconds
        while (found := self.next(key, end - time.monotonic())) < least:
            pass
        return found

    def skip(self):
        """Forgets what was told so far."""
        while not self._new.empty():
            told = self._new.get()
            if told is None:
                self._new.put(None)
                return
            self.told.append(told)

    def last(self, key):
        """What the task has last told under a key."""
        self.skip()
        return [told[key] for told in self.told if key in told][-1]

    def story(self, length=3000):
        """What is known of the task, for who has to find out what went wrong."""
        lines = self.log.read_text(errors="replace")[-length:]
        return f"exit {self.process.poll()}, told {self.told[-5:]}, log:\n{lines}"

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """Ends the process at once, as SIGKILL does."""
        self.process.kill()
        self.process.wait()

    def end(self):
        """Ends the process, stopped or not, and lets go of it."""
        if self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.kill()
        self.process.stdin.close()
        self._reader.join()

    def wait(self, seconds=30.0):
        """Waits for the end of the process and returns its exit status."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} does not end: {self.story()}") from None


class Cluster:
    """Tasks by job and index; `addresses` is what all of them are told, unless a task is told otherwise.

    `others` has the implementation and the interpreter of jobs that are not of weft.
    """

    def __init__(self, folder, others=None, **jobs):
        ports = iter(free_ports(sum(jobs.values())))
        self.addresses = {
            job: [f"localhost:{next(ports)}" for _ in range(n)] for job, n in jobs.items()
        }
        self.tasks = {}
        self._all = []
        self._folder = Path(folder)
        self._others = others or {}

    def start(self, job, index=0, cluster=None, **options):
        """Starts a task, again where it has ended."""
        options["cluster"] = cluster or self.addresses
        program = str(Path(__file__).with_name("fault_task.py"))
        implementation, python = self._others.get(job, ("weft", sys.executable))
        command = [python, program, implementation, job, str(index)]
        task = Task(
            f"{job} {index}",
            [*command, json.dumps(options)],
            self._folder / f"{job}{index}.log",
        )
        self.tasks[job, index] = task
        self._all.append(task)
        return task

    def kill(self, job, index=0):
        self.tasks[job, index].kill()

    def target(self, job, index=0):
        return "grpc://" + self.addresses[job][index]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for task in self._all:
            task.end()
