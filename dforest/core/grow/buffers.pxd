"""Buffers that grow as more is written to them, and arrays that look into them.

A buffer belongs to whoever holds its pointer, and is freed by `free`.
"""
from libc.stdint cimport uint64_t

cdef struct Words:                 # a buffer of 64-bit words
    uint64_t* words                # [n], in memory for `room` of them
    Py_ssize_t n, room


# Grow a buffer by doubling until it has room for `needed` items of `size` bytes, which it has not.
cdef int enlarge(void** buffer, Py_ssize_t* room, Py_ssize_t needed, size_t size) except -1 nogil


cdef inline int ensure_room(void** buffer, Py_ssize_t* room, Py_ssize_t needed, size_t size) except -1 nogil:
    """Have room for `needed` items of `size` bytes in a buffer that has room for `room`."""
    return enlarge(buffer, room, needed, size) if needed > room[0] else 0


# Append n words.
cdef int append_words(Words* to, const uint64_t* words, Py_ssize_t n) except -1 nogil

# A buffer of n_bytes bytes as an array that does not own it: lent until the buffer grows or is freed.
cdef lend(const void* buffer, size_t n_bytes, dtype)
