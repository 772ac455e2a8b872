"""The records of the node at hand as packed words, and a producer of cut lists: draws counted by code.

What the records of a node have in words (packed_sums.pxd) is made once for the node, when a feature first needs it; threads that
share the node all read what its owner made.

To count by code, every draw is added to a histogram over the column's codes, then the histogram is walked through; through its
those codes alone that occur, where few occur. Of records with the codes 3, 0 and 3, and two, one and one draws, the histogram is
1, 0, 0, 3, and the list has the codes 0 and 3 with 1 and 4 draws on their left.
"""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.search.criterion cimport Criterion
from dforest.core.search.cut_list cimport CutList, Accumulator
from dforest.core.types cimport CLASS_WEIGHTS, Column, Node


@cython.final
cdef class PackedRecords:
    cdef Criterion criterion
    cdef readonly bint is_unit     # all weights are 1
    cdef readonly bint is_binary   # words are of classes; else of numbers
    cdef readonly int class_bits   # of a class in a word; 0: of numbers, or there are no words
    cdef bint is_made              # for the open node, whose words follow
    cdef Py_ssize_t room           # its records, and up to the next multiple of DF_STRIDE
    cdef Py_ssize_t chunk          # how many words can be added without overflow; 0: the records have no words
    # What the node has; or what another thread has made of it.
    cdef const uint32_t* row       # [room] rows of the records
    cdef const uint64_t* sums      # [room] their words
    cdef const uint32_t* slot      # [n] three to eight classes: how often drawn in the high half, which counter in the low one
    cdef Py_ssize_t scratch_from   # records of a node whose rows and words lie in the node's scratch; smaller ones' here
    cdef uint32_t* own_row         # [records + DF_STRIDE]
    cdef uint64_t* own_sums        # [records + DF_STRIDE]
    cdef uint32_t* own_slot        # [records] NULL: there are none
    cdef uint32_t flip             # the number of a class exclusive-or this is that of its class counter

    cdef void forget_node(self) noexcept nogil
    cdef void pack_node(self, const Node* node) noexcept nogil
    cdef void share_packed(self, PackedRecords other) noexcept nogil
    cdef void add_unpacked(self, uint64_t word, int64_t* statistic) noexcept nogil


@cython.final
cdef class Histogram:
    cdef Criterion criterion
    cdef PackedRecords packed
    cdef int64_t* counters           # [codes, n_words or 4] or smaller ones; all 0 between calls
    cdef uint64_t* occupancy         # [codes / 64] a bit for each code that occurs; all 0 between calls
    cdef uint32_t* before            # [codes / 64] bits set before
    cdef int64_t* sum                # [n_words] of the codes so far

    cdef void count(self, const Node* node, const Column* column, bint by_bitmap, CutList* cuts) noexcept nogil
    cdef void count_packed_sums(self, const Node* node, const Column* column, bint in_copies, CutList* cuts) noexcept nogil
    cdef void add_two(self, const Node* node, const uint8_t* codes) noexcept nogil
    cdef void count_class_counters(self, const Node* node, const Column* column, bint by_bitmap, CutList* cuts) noexcept nogil
    cdef void add_by_bitmap(self, const Node* node, const Column* column, uint32_t* codes, CutList* cuts) noexcept nogil
    cdef void take_statistic(self, Accumulator accumulator, uint32_t code, int64_t* statistic) noexcept nogil
    cdef void take_classes(self, uint32_t code, int64_t* to, const int64_t* before) noexcept nogil
    cdef Py_ssize_t list_cuts(self, uint32_t n_codes, CutList* cuts) noexcept nogil
    cdef void pass_records(self, uint32_t code, int64_t* left) noexcept nogil
    cdef Py_ssize_t walk_occupied(self, uint32_t n_codes, CutList* cuts) noexcept nogil
    cdef Py_ssize_t walk_sums(self, uint32_t n_codes, CutList* cuts) noexcept nogil
    cdef Py_ssize_t walk_classes(self, uint32_t n_codes, bint by_bitmap, CutList* cuts) noexcept nogil


cdef inline void complete(Criterion criterion, int64_t* statistic) noexcept nogil:
    """Set the weight of a statistic of classes, of which draws and weights of classes are there."""
    cdef Py_ssize_t k
    cdef int64_t weight = 0
    if criterion.kind == CLASS_WEIGHTS:
        for k in range(2, criterion.n_words):
            weight += statistic[k]
        statistic[1] = weight
