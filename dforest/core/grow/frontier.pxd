cimport cython
from libc.stdint cimport uint64_t

from dforest.core.grow.path_features cimport PathFeatures
from dforest.core.types cimport Scale, Split
from dforest.core.grow.writer cimport Judgement, Words

cdef struct Place:                 # where a node stands
    Py_ssize_t first, n            # its records in the trunk's draws
    uint64_t path
    Py_ssize_t depth
    Py_ssize_t parent              # its number, -1: none
    bint is_right
    Scale scale
    double lower, upper            # bounds of its predictions
    int piece                      # the one it was given away as; -1: none

cdef struct Candidate:             # a node grown best first, numbered in order of creation
    Place place
    Split split                    # the best one; feature -1: the node stays a leaf
    Py_ssize_t payload_at          # where its payload lies in Frontier.payloads; -1: it has none
    Judgement judgement            # unless it follows from the leaves
    double score                   # of the split, comparable between nodes
    Py_ssize_t left                # number of its left child, the right one's is 1 more; -1: a leaf so far
    # The last one on the path, from the root to this one, whose split uses a feature for the first time on that
    # path; -1: none, or nobody asks
    Py_ssize_t last_new


@cython.final
cdef class Frontier:
    cdef Candidate* candidates
    cdef Py_ssize_t n_candidates, candidate_room
    cdef Py_ssize_t* heap          # [n_heap] numbers of candidates that can be split, the best one first
    cdef Py_ssize_t n_heap, heap_room
    cdef Words payloads            # of candidates, one after another

    cdef void clear(self) noexcept nogil
    cdef Py_ssize_t add(self, const Place* place) except -1 nogil
    cdef int keep_payload(self, Candidate* candidate) except -1 nogil
    cdef void lend_payload(self, Candidate* candidate) noexcept nogil
    cdef int push(self, Py_ssize_t number) except -1 nogil
    cdef Py_ssize_t pop(self) noexcept nogil
    cdef int reserve(self) except -1 nogil
    cdef bint goes_before(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef bint stands_before(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef void recall_path(self, Py_ssize_t parent, PathFeatures path) noexcept nogil
