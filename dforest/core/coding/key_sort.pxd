"""Keys, which are integers that order as values do (rules/ordered_keys.h), and sorting of them, alone or with a number each."""
from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from dforest.rules.numerics cimport df_midpoint

cdef extern from "rules/ordered_keys.h" nogil:
    uint32_t df_ordered_key32(float x)
    uint64_t df_ordered_key64(double x)
    double df_value_of(uint64_t key, int is_wide)
    const uint32_t DF_MISSING_KEY32
    const uint64_t DF_MISSING_KEY64

ctypedef fused real_t:
    float
    double


cdef inline uint64_t key_of(real_t x) noexcept nogil:
    if real_t is float:
        return df_ordered_key32(x)
    else:
        return df_ordered_key64(x)


cdef inline void fill_edges(const double* lows, const double* highs, Py_ssize_t n, bint is_float32, double* edges) noexcept nogil:
    """The upper edges of bins, given the smallest and the largest value of each: middles, and at last infinity."""
    cdef Py_ssize_t i
    for i in range(n - 1):
        edges[i] = df_midpoint(highs[i], lows[i + 1], is_float32)
    if n > 0:
        edges[n - 1] = INFINITY


cdef enum:
    DIGIT_BITS = 11
    DIGIT = 2048


cdef struct Key32:
    uint32_t key

cdef struct Key64:
    uint64_t key

cdef struct Pair:
    uint64_t key
    uint64_t number

ctypedef fused pair_t:     # a key and a number below 2**32: a key of 32 bits is the upper half of one word
    uint64_t
    Pair

ctypedef fused item_t:     # a key, with a number or without
    Key32
    Key64
    uint64_t
    Pair


cdef inline uint64_t key_in(item_t item) noexcept nogil:
    if item_t is uint64_t:
        return item >> 32
    else:
        return item.key


cdef inline uint32_t number_in(pair_t item) noexcept nogil:
    if pair_t is uint64_t:
        return <uint32_t> item
    else:
        return <uint32_t> item.number


cdef inline item_t make_item(item_t* _, uint64_t key, uint64_t number) noexcept nogil:
    cdef item_t item
    if item_t is uint64_t:
        item = key << 32 | number
    elif item_t is Pair:
        item.key = key
        item.number = number
    elif item_t is Key32:
        item.key = <uint32_t> key
    else:
        item.key = key
    return item


cdef inline item_t* sort_items(item_t* items, item_t* to, Py_ssize_t n) noexcept nogil:
    """Sort n items by key, fewer than 2**32, stably; return whichever of the two buffers holds the result."""
    cdef uint32_t counts[6][DIGIT]
    cdef uint32_t total, held, digit
    cdef int bits = 32 if item_t is uint64_t or item_t is Key32 else 64
    cdef int n_passes = (bits + DIGIT_BITS - 1) // DIGIT_BITS, p, shift
    cdef Py_ssize_t i
    cdef uint64_t key
    if n == 0:
        return items
    memset(counts, 0, n_passes * sizeof(counts[0]))
    for i in range(n):
        key = key_in(items[i])
        for p in range(n_passes):
            counts[p][(key >> (p * DIGIT_BITS)) & (DIGIT - 1)] += 1
    for p in range(n_passes):
        shift = p * DIGIT_BITS
        if counts[p][(key_in(items[0]) >> shift) & (DIGIT - 1)] == <uint32_t> n:
            continue       # all alike
        total = 0
        for digit in range(DIGIT):
            held = counts[p][digit]
            counts[p][digit] = total
            total += held
        for i in range(n):
            digit = (key_in(items[i]) >> shift) & (DIGIT - 1)
            to[counts[p][digit]] = items[i]
            counts[p][digit] += 1
        items, to = to, items
    return items
