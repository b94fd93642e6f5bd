"""What a worker has received from others in the steps that are looked at, and when."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Any

from weft import proto
from weft.runtime.rendezvous import Arrival

_MOST_STEPS = 64
_MOST_OF_A_STEP = 10_000


class TransferLog:
    """The transfers of a worker's last steps: of all steps while `enabled`, else of those that are traced."""

    def __init__(self) -> None:
        self.enabled = False
        self._steps: OrderedDict[int, list[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def timed(self, step_id: int, key: str, inner: Arrival) -> Arrival:
        """A tensor that is to come; its coming will be noted."""
        return _Timed(self, step_id, key, inner)

    def note(self, step_id: int, key: str, start: float, size: int) -> None:
        """Notes a tensor that has come."""
        took = max(1, int((time.time() - start) * 1e6))
        sender, _, receiver, name, *_ = key.split(";")
        amount = f"{size}B" if size < 1 << 17 else f"{size / (1 << 20):.1f}MB"
        rate = 8.0 * size / took
        speed = f"{rate / 1000:.1f}Gb/s" if rate >= 1000 else f"{rate:f}Mb/s"
        label = f"[{amount}] [{speed}] {name} from {sender} to {receiver}"
        stats = proto.NodeExecStats(
            node_name="RecvTensor",
            timeline_label=label,
            all_start_micros=int(start * 1e6),
            op_end_rel_micros=took,
            all_end_rel_micros=took,
        )
        output = stats.output.add()
        output.tensor_description.allocation_description.requested_bytes = size
        with self._lock:
            step = self._steps.setdefault(step_id, [])
            if len(step) < _MOST_OF_A_STEP:
                step.append((receiver, stats))
            while len(self._steps) > _MOST_STEPS:
                self._steps.popitem(last=False)

    def take(self, step_id: int, out: Any) -> None:
        """Writes what was noted of a step into a StepStats message, and forgets it."""
        with self._lock:
            noted = self._steps.pop(step_id, ())
        devices = {d.device: d for d in out.dev_stats}
        for device, stats in noted:
            if device not in devices:
                devices[device] = out.dev_stats.add(device=device)
            devices[device].node_stats.append(stats)

    def clear(self) -> None:
        with self._lock:
            self._steps.clear()


class _Timed(Arrival):
    __slots__ = ("_log", "_step_id", "_key", "_start")

    def __init__(self, log: TransferLog, step_id: int, key: str, inner: Arrival):
        super().__init__()
        self._log, self._step_id, self._key, self._start = log, step_id, key, time.time()
        self.on_cancel = inner.cancel
        inner.notify(lambda: self.finish(inner.value, inner.error))

    def finish(self, value: Any = None, error: Exception | None = None) -> None:
        if error is None and not self.done:
            items = value if type(value) is tuple else (value,)
            size = sum(getattr(item, "nbytes", 0) for item in items)
            self._log.note(self._step_id, self._key, self._start, size)
        super().finish(value, error)
