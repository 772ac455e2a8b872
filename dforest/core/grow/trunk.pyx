"""The records of one tree, and what else its pieces share: see trunk.pxd."""
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from dforest.core.grow.buffers cimport lend
from dforest.core.types cimport Record


cdef int reserve_trunk(Trunk* trunk, Py_ssize_t capacity, Py_ssize_t n_numbered, bint keeps_leaves) except -1 nogil:
    if trunk.records == NULL:
        trunk.records = <Record*> malloc(capacity * sizeof(Record))
    if trunk.scratch == NULL:
        trunk.scratch = <Record*> malloc(capacity * sizeof(Record))
    if n_numbered > 0:
        if trunk.record_of == NULL:
            trunk.record_of = <uint32_t*> malloc(n_numbered * sizeof(uint32_t))
        if trunk.record_of == NULL:
            with gil:
                raise MemoryError()
        memset(trunk.record_of, 0xFF, n_numbered * sizeof(uint32_t))       # NO_RECORD
    if not keeps_leaves:
        free(trunk.rows)
        free(trunk.is_first)
        trunk.rows = NULL
        trunk.is_first = NULL
    elif trunk.rows == NULL or trunk.is_first == NULL:
        free(trunk.rows)
        free(trunk.is_first)
        trunk.rows = <uint32_t*> malloc(capacity * sizeof(uint32_t))
        trunk.is_first = <uint8_t*> malloc(capacity)
    if trunk.records == NULL or trunk.scratch == NULL or (keeps_leaves and (trunk.rows == NULL or trunk.is_first == NULL)):
        with gil:
            raise MemoryError()
    return 0


cdef void free_trunk(Trunk* trunk) noexcept nogil:
    free(trunk.records)
    free(trunk.scratch)
    free(trunk.rows)
    free(trunk.is_first)
    free(trunk.record_of)


cdef tuple leaf_table(const Trunk* trunk):
    return (lend(trunk.rows, trunk.n * sizeof(uint32_t), np.uint32).copy(),
            lend(trunk.is_first, trunk.n, np.bool_).copy())
