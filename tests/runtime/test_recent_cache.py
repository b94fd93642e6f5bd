from weft.runtime.recent_cache import RecentCache


def test_what_was_used_lately_stays():
    cache = RecentCache(3)
    for i in range(3):
        cache.put(i, str(i))
    assert cache.get(0) == "0"
    cache.put(3, "3")
    cache.put(4, "4")
    assert cache.get(0) == "0"
    assert cache.get(1) is None
    assert len(cache) == 3
