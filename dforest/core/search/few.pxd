"""Small nodes, where the cuts of a feature of numbers are found and scored at once (few.h): no list is made.

Both kinds find what a search through a list finds, but for one thing: where the best cut scores 0, it need not be the evenest.
"""
cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.loops cimport df_few
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.scans cimport FastScans
from dforest.core.types cimport Column, LeafRules, Node, Split


@cython.final
cdef class FewRecords:
    cdef Criterion criterion
    cdef FastScans scans           # None: there are none
    cdef bint is_foreign           # what they say is checked
    cdef bint has_pairs            # words of two classes, in 16 bits
    cdef int64_t below             # nodes of fewer records are scanned here; 0: none are
    cdef bint is_open              # the node at hand is one of these:
    cdef df_few few                # its records
    cdef double score              # of the last feature that was looked at

    cdef void open_node(self, const Node* node) noexcept nogil
    cdef bint gather(self, const Node* node, const Column* column, uint64_t* missing) noexcept nogil
    cdef bint find(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil


@cython.final
cdef class SmallNodes:
    cdef Criterion criterion
    cdef FastScans scans           # None: there are none
    cdef bint is_foreign           # what they say is checked
    cdef int64_t most_draws        # nodes of no more draws are scanned here; 0: none are
    cdef int64_t codes_per_record  # columns of more codes than this times the records are not
    cdef int64_t copy_from         # counting: in copies if there are this many times more records than codes
    cdef bint is_open              # for the node at hand, these are made:
    cdef uint32_t* row             # [DF_SMALL_DRAWS] rows of the records
    cdef uint32_t* word            # [DF_SMALL_DRAWS] draws of class 0 in the low half, of class 1 in the high one
    cdef uint32_t* histogram       # [4 * 257] words by code, missing ones last, or four copies; all 0 between calls
    cdef uint32_t* run             # [256] sums of these up to each code

    cdef void open_node(self, const Node* node) noexcept nogil
    cdef bint takes(self, const Node* node, const Column* column) noexcept nogil
    cdef bint count(self, const Node* node, const Column* column, uint32_t* missing) noexcept nogil
    cdef bint find(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil
