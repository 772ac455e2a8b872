"""Sorting of 64-bit sort keys, whose upper half is what counts."""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

cdef enum:
    DIGITS = 2048      # radix sort: counters, 11 bits


cdef inline void insertion_sort(uint64_t* sort_keys, Py_ssize_t n) noexcept nogil:
    """Sort in place."""
    cdef Py_ssize_t i, j
    cdef uint64_t sort_key
    for i in range(1, n):
        sort_key = sort_keys[i]
        j = i
        while j > 0 and sort_keys[j - 1] > sort_key:
            sort_keys[j] = sort_keys[j - 1]
            j -= 1
        sort_keys[j] = sort_key


cdef inline uint64_t* radix_sort(uint64_t* sort_keys, uint64_t* other, Py_ssize_t n) noexcept nogil:
    """Sort by the upper 32 bits, stably; return whichever of the two buffers holds the result."""
    cdef uint32_t lo = 0xFFFFFFFF, hi = 0, code
    cdef int bits = 0
    cdef Py_ssize_t i
    for i in range(n):
        code = <uint32_t> (sort_keys[i] >> 32)
        lo = min(lo, code)
        hi = max(hi, code)
    while bits < 32 and (hi - lo) >> bits:
        bits += 1
    return radix_sort_range(sort_keys, other, n, lo, bits)


cdef inline uint64_t* radix_sort_range(uint64_t* sort_keys, uint64_t* other, Py_ssize_t n, uint32_t lo, int bits) noexcept nogil:
    """`radix_sort` of sort keys whose upper halves, less `lo`, are known to have no more than `bits` bits."""
    cdef uint32_t counts[DIGITS]
    cdef uint32_t digit, total, held
    cdef int most = 8 if n < 1024 else 11, shift = 0, width
    cdef Py_ssize_t i
    if bits == 0:
        return sort_keys
    width = (bits + most - 1) // most           # passes
    width = (bits + width - 1) // width         # bits of each
    while shift < bits:
        memset(counts, 0, (<size_t> 1 << width) * sizeof(uint32_t))
        for i in range(n):
            counts[((<uint32_t> (sort_keys[i] >> 32) - lo) >> shift) & ((<uint32_t> 1 << width) - 1)] += 1
        total = 0
        for digit in range(<uint32_t> 1 << width):
            held = counts[digit]
            counts[digit] = total
            total += held
        for i in range(n):
            digit = ((<uint32_t> (sort_keys[i] >> 32) - lo) >> shift) & ((<uint32_t> 1 << width) - 1)
            other[counts[digit]] = sort_keys[i]
            counts[digit] += 1
        sort_keys, other = other, sort_keys
        shift += width
    return sort_keys
