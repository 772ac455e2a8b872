"""Buffers that grow as more is written to them. A buffer belongs to whoever holds its pointer, and is freed by `free`."""
from libc.stdlib cimport realloc

cdef extern from "core/red_zones.h" nogil:
    enum:
        DF_RED_ZONE

cdef enum:
    FEWEST = 64                    # items that a buffer has room for, once it has any


cdef inline int enlarge(void** buffer, Py_ssize_t* room, Py_ssize_t needed, size_t size) except -1 nogil:
    """Grow a buffer by doubling until it has room for `needed` items of `size` bytes, which it has not."""
    cdef Py_ssize_t wanted = max(<Py_ssize_t> FEWEST, room[0])
    cdef void* grown
    while wanted < needed:
        wanted *= 2
    if DF_RED_ZONE > 0:
        wanted = needed
    grown = realloc(buffer[0], wanted * size)
    if grown == NULL:
        with gil:
            raise MemoryError()
    buffer[0] = grown
    room[0] = wanted
    return 0


cdef inline int ensure_room(void** buffer, Py_ssize_t* room, Py_ssize_t needed, size_t size) except -1 nogil:
    """Have room for `needed` items of `size` bytes in a buffer that has room for `room`."""
    return enlarge(buffer, room, needed, size) if needed > room[0] else 0
