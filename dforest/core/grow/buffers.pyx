"""Buffers that grow as more is written to them: see buffers.pxd."""
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy

import numpy as np

cdef enum:
    FEWEST = 64                    # items that a buffer has room for, once it has any


cdef int enlarge(void** buffer, Py_ssize_t* room, Py_ssize_t needed, size_t size) except -1 nogil:
    cdef Py_ssize_t wanted = max(<Py_ssize_t> FEWEST, room[0])
    cdef void* grown
    while wanted < needed:
        wanted *= 2
    grown = realloc(buffer[0], wanted * size)
    if grown == NULL:
        with gil:
            raise MemoryError()
    buffer[0] = grown
    room[0] = wanted
    return 0


cdef int append_words(Words* to, const uint64_t* words, Py_ssize_t n) except -1 nogil:
    ensure_room(<void**> &to.words, &to.room, to.n + n, sizeof(uint64_t))
    memcpy(to.words + to.n, words, n * sizeof(uint64_t))
    to.n += n
    return 0


cdef lend(const void* buffer, size_t n_bytes, dtype):
    cdef const uint8_t[::1] bytes
    if n_bytes == 0:
        return np.empty(0, dtype)
    bytes = <const uint8_t[:n_bytes]> <const uint8_t*> buffer
    return np.asarray(bytes).view(dtype)
