"""How a piece of work is timed; runs on every Python that a peer needs."""

import time


def per_call(call, warm=20, seconds=1.0, batches=20):
    """Calls `call` until it is warm, then in batches; returns the best batch's seconds a call.

    A batch is long enough for what comes now and then (the garbage collector) to be part of it; the
    best of them is the one that the rest of the machine disturbed least.
    """
    for _ in range(warm):
        call()
    start = time.perf_counter()
    call()
    once = time.perf_counter() - start
    count = max(1, int(seconds / batches / max(once, 1e-7)))
    found = []
    for _ in range(batches):
        start = time.perf_counter()
        for _ in range(count):
            call()
        found.append((time.perf_counter() - start) / count)
    return min(found)


def once(call):
    """Returns the seconds that one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
