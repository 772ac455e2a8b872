"""Subtrees of few records: see twig.pyx."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from dforest.core.data cimport DataView
from dforest.core.grow.judge cimport Judge
from dforest.core.grow.place cimport Place
from dforest.core.grow.trunk cimport Trunk
from dforest.core.grow.writer cimport TreeWriter
from dforest.core.loops cimport df_twig
from dforest.core.search.splitter cimport RandomSplitter, Splitter
from dforest.core.types cimport Node

cdef enum:
    TWIG_UP_TO = 32                # records of a subtree that is grown as a twig, by default


@cython.final
cdef class Twig:
    cdef DataView data
    cdef Judge judge
    cdef Splitter splitter
    cdef readonly Py_ssize_t most_records  # of a twig; 0: there are none
    cdef bint is_random            # cuts are random, else the best ones
    cdef int words                 # what the words of records are: see few.h
    cdef int n_ahead               # features whose codes are asked for ahead, where they are far
    cdef const Trunk* trunk        # of the tree at hand, lent
    cdef df_twig* twig

    cdef inline bint takes(self, Py_ssize_t n) noexcept nogil:
        """Whether a subtree of n records may be grown here."""
        return n <= self.most_records

    # Begin a tree, or a piece of one.
    cdef void enter(self, const Trunk* trunk) noexcept nogil

    # Write the subtree of a node, of which all is known but its statistics. False: it has too many draws, and nothing is written.
    cdef bint grow(self, const Place* place, const Node* node, TreeWriter writer) except -1 nogil

    cdef bint load(self, const Place* place, const Node* node) noexcept nogil
    cdef int write(self, const Node* node, const Place* place, TreeWriter writer) except -1 nogil
    cdef int write_leaf(self, const Node* node, Py_ssize_t k, int64_t* words) except -1 nogil
