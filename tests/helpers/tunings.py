"""Both extremes of every size threshold in the machinery, of which no forest may depend, and the defaults."""

import contextlib

from dforest.core import loops
from dforest.estimators.forest import base as estimator

LONG_WAY = {"small_up_to": 0, "unordered_below": 0}

EXTREMES = {
    "default": {},
    "few records node by node": {"small_up_to": 0},
    "small subtrees of three": {"small_up_to": 3},
    "count always": {
        **LONG_WAY,
        "sort_below": 0,
        "codes_per_record": 10**9,
        "bitmap_from": 2**31,
        "copy_from": 0,
        "cache_bytes": 0,
        "parallel_from": 1,
        "parallel_visits_from": 0,
        "fetch_up_to": 0,
    },
    "count by bitmaps always": {
        **LONG_WAY,
        "sort_below": 0,
        "codes_per_record": 10**9,
        "bitmap_from": 0,
        "bitmap_codes_per_record": 10**9,
        "cache_bytes": 2**24,
        "buckets": 0,
        "ranked_above": 0,
        "fetch_up_to": 2**62,
    },
    "few buckets": {**LONG_WAY, "buckets": 3, "cache_bytes": 3000},
    "few buckets in small nodes": {"small_up_to": 0, "buckets": 4},
    "one bucket": {**LONG_WAY, "buckets": 1},
    "some buckets": {
        **LONG_WAY,
        "buckets": 20,
        "cache_bytes": 0,
        "parallel_from": 1,
        "parallel_visits_from": 0,
        "fetch_up_to": 2**62,
    },
    "ranks by sorting": {"buckets": 0, "ranked_above": 0, "bitmap_codes_per_record": 0},
    "no ranks": {"buckets": 0, "ranked_above": 10**9},
    "count by code always": {**LONG_WAY, "copy_from": 2**31},
    "insertion sort always": {**LONG_WAY, "sort_below": 2**62, "insertion_below": 2**62},
    "ranks in place of keys": {"keys": False},
    "portable loops": {"loops": "portable", "buckets": 5, "small_up_to": 64},
    "AVX2 loops": {"loops": "avx2", "small_up_to": 64},
    "codes of drawn rows": {"drawn_up_to": 10**9},
    "codes of all rows": {"drawn_up_to": 0},
    "no copies": {"copied_values": 0},
    "few copies": {"copied_values": 150},
    "share everything": {"parallel_from": 1, "parallel_visits_from": 0},
    "share nothing": {"parallel_from": 2**62, "parallel_visits_from": 2**62},
    "all classes always": {"records_per_class": 0},
    "classes present always": {"records_per_class": 10**9},
    "radix sort always": {**LONG_WAY, "sort_below": 2**62, "insertion_below": 0, "cache_bytes": 3000},
}


@contextlib.contextmanager
def tuned(name):
    """Inside a `with` block, fits have one of the EXTREMES."""
    estimator.TUNING.update(EXTREMES[name])
    wanted = EXTREMES[name].get("loops")
    loops.use(wanted if wanted in loops.names() else None)
    try:
        yield
    finally:
        estimator.TUNING.clear()
        loops.use()
