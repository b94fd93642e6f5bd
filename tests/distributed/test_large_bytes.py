"""Large bytes objects are what joining gives."""

import gc

import numpy as np
import pytest

from weft.distributed.large_bytes import joined


@pytest.mark.parametrize("size", [0, 1, 1 << 22, (1 << 22) + 4097])
def test_joined_is_join(size):
    array = np.random.RandomState(0).randint(0, 256, size).astype(np.uint8)
    pieces = [b"head", array.data, b"", array[: size // 2].data, b"end"]
    found = joined(pieces)
    assert type(found) is bytes and found == b"".join(pieces)
    assert hash(found) == hash(b"".join(pieces))


def test_memory_is_given_back():
    pieces = [np.zeros(1 << 24, np.uint8).data]
    with open("/proc/self/statm") as status:
        before = int(status.read().split()[1])
    for _ in range(30):
        joined(pieces)
    gc.collect()
    with open("/proc/self/statm") as status:
        after = int(status.read().split()[1])
    assert (after - before) * 4096 < 4 << 24
