"""The nodes of a tree grown best first: see frontier.pyx."""
cimport cython

from dforest.core.grow.buffers cimport Words
from dforest.core.grow.path_features cimport PathFeatures
from dforest.core.grow.place cimport Place
from dforest.core.types cimport Split

cdef struct Candidate:             # a node whose best split is known, numbered in order of creation
    Place place                    # its parent is a candidate's number, or, once the tree is written, a node's
    Split split                    # the best one; feature -1: the node stays a leaf
    Py_ssize_t payload_at          # where its payload lies in Frontier.payloads; -1: it has none
    double score                   # of the split, comparable between nodes
    Py_ssize_t left                # number of its left child, the right child's is 1 more; -1: a leaf so far
    # The lowest candidate on the path, from the root to this one, whose split uses a feature that no split above it uses;
    # -1: there is none, or no splitter asks for it
    Py_ssize_t last_new


@cython.final
cdef class Frontier:
    cdef Candidate* candidates
    cdef Py_ssize_t n_candidates, candidate_room
    cdef Py_ssize_t* heap          # [n_heap] numbers of candidates that can be split, the best one first
    cdef Py_ssize_t n_heap, heap_room
    cdef Words payloads            # of candidates, one after another
    # [n_candidates, n_judged] see Judge; set if what a node would predict as a leaf does not follow from the leaves
    cdef double* judgements
    cdef Py_ssize_t judgement_room, n_judged

    # Begin a tree.
    cdef void clear(self) noexcept nogil

    # While a tree is grown
    cdef Py_ssize_t add(self, const Place* place) except -1 nogil
    cdef int push(self, Py_ssize_t number, double score, bint uses_new_feature) except -1 nogil
    cdef Py_ssize_t pop(self) noexcept nogil
    cdef void recall_path(self, Py_ssize_t parent, PathFeatures path) noexcept nogil

    # What a candidate would predict as a leaf; valid until the next one is added.
    cdef double* judgement(self, Py_ssize_t number) except NULL nogil

    # When it is written
    cdef int begin_preorder(self) except -1 nogil
    cdef Candidate* next_in_preorder(self, Py_ssize_t* number) noexcept nogil
    cdef void put_children(self, const Candidate* candidate, Py_ssize_t number) noexcept nogil

    cdef void lend_payload(self, Candidate* candidate) noexcept nogil
    cdef bint goes_before(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef bint stands_before(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
