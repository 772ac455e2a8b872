"""Packed trees for rows that store few values: see zero_paths.h for the words, and why.

A `ZeroPaths` owns its arrays and borrows the slots of the `PackedForest` that it is made of; any number of threads may use one.
"""
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free, malloc

from dforest.core.threads cimport Turn, poll, share
from dforest.core.predict.walk cimport df_number_nodes


cdef class ZeroPaths:

    def __dealloc__(self):
        free(self.features)
        free(self.stops)


cdef ZeroPaths zero_paths(const df_packed* forest, Py_ssize_t n_trees, int n_threads):
    """Number the nodes of a forest's trees, on some threads; ValueError: there are too many, as some have two parents."""
    cdef ZeroPaths paths = ZeroPaths()
    cdef Py_ssize_t n_slots = forest.starts[n_trees]
    paths.forest = forest
    paths.features = <uint32_t*> calloc(n_slots + 3, sizeof(uint32_t))
    paths.stops = <df_stop*> malloc(n_slots * sizeof(df_stop))
    if paths.features == NULL or paths.stops == NULL:
        raise MemoryError()
    share(number_tree, <void*> paths, n_trees, n_threads)
    return paths


cdef int number_tree(void* context, Py_ssize_t t, Turn* turn) except -1 nogil:
    cdef const df_packed* forest = (<ZeroPaths> context).forest
    cdef Py_ssize_t start = forest.starts[t], n_slots = forest.starts[t + 1] - start
    cdef uint32_t* waiting = <uint32_t*> malloc(2 * n_slots * sizeof(uint32_t))
    cdef bint is_done
    if waiting == NULL:
        with gil:
            raise MemoryError()
    is_done = df_number_nodes(forest, t, (<ZeroPaths> context).features + start, (<ZeroPaths> context).stops + start, waiting)
    free(waiting)
    if not is_done:
        with gil:
            raise ValueError(f"tree {t} has packed nodes with two parents")
    return poll(turn, 8 * n_slots)
