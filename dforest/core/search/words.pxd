"""Draws packed into words, of the node at hand.

A *word* of 64 bits holds the statistic of draws of weight 1, so that one addition adds a draw (scan.h). Of two classes it
has the draws of class 0 in the low half and those of class 1 in the high one; of numbers, how many draws there are, and
their sum of targets; of up to 8 classes, the draws of each class in 16 or 8 bits. Histograms of three to eight classes have
*lanes* of 16 bits in two words (lanes.h). What the records of a node have in words is made once for the node, when a feature
first needs it; threads that share the node all read what its owner made.
"""
cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.search.criterion cimport Criterion
from dforest.core.search.sums cimport LANE_SUMS, NUMBER_SUMS, PAIR_SUMS, Sums
from dforest.core.types cimport Node

cdef extern from "core/search/scan.h" nogil:
    const int64_t DF_PAIR_DRAWS
    const int64_t DF_SUM_DRAWS
    const int DF_SUM_BITS
    const int64_t DF_SUM_BIAS
    const uint64_t DF_SUM_MASK
    uint64_t df_sum_word(uint32_t count, int target)

cdef extern from "core/search/lanes.h" nogil:
    enum:
        DF_CLASS_LANES
    const int64_t DF_LANE_DRAWS
    uint32_t df_lane_of(int k)
    uint64_t df_lane_draws(uint64_t word)
    void df_add_bytes(uint64_t counts, uint64_t* halves)
    void df_lanes_of_halves(const uint64_t* halves, uint64_t* lanes)

cdef inline int64_t draws_of(uint64_t word, bint is_pairs) noexcept nogil:
    """How many draws a word stands for: of two classes (`is_pairs`), or of numbers."""
    return <int64_t> (word >> 32) + <uint32_t> word if is_pairs else <int64_t> (word >> DF_SUM_BITS)

cdef inline void unpack_word(uint64_t word, bint is_pairs, int64_t* statistic) noexcept nogil:
    """Set a statistic to what a word of two classes, or of numbers, stands for."""
    statistic[0] = statistic[1] = draws_of(word, is_pairs)
    if is_pairs:
        statistic[2] = <uint32_t> word
        statistic[3] = <int64_t> (word >> 32)
    else:
        statistic[2] = <int64_t> (word & DF_SUM_MASK) - statistic[0] * DF_SUM_BIAS

cdef inline void unpack_lanes(uint64_t word, uint64_t more, int64_t* statistic, Py_ssize_t n_words) noexcept nogil:
    """Set a statistic to what the lanes of two words stand for."""
    cdef Py_ssize_t k
    statistic[0] = statistic[1] = <int64_t> (df_lane_draws(word) + df_lane_draws(more))
    for k in range(n_words - 2):
        statistic[2 + k] = <int64_t> ((word if k < 4 else more) >> (16 * (k & 3)) & 0xFFFF)

cdef inline void unpack_sums(const Sums* sums, int64_t* statistic, Py_ssize_t n_words) noexcept nogil:
    """Set a statistic to what is known."""
    if sums.kind == PAIR_SUMS:
        unpack_word(sums.word[0], True, statistic)
    elif sums.kind == LANE_SUMS:
        unpack_lanes(sums.word[0], sums.word[1], statistic, n_words)
    else:
        statistic[0] = statistic[1] = <int64_t> sums.word[0]
        statistic[2] = <int64_t> sums.word[1]

cdef inline void pack_sums(const int64_t* statistic, Py_ssize_t n_words, Sums* sums) noexcept nogil:
    """Set the words of some kind to a statistic."""
    cdef Py_ssize_t k
    sums.word[0] = sums.word[1] = 0
    if sums.kind == NUMBER_SUMS:
        sums.word[0] = <uint64_t> statistic[0]
        sums.word[1] = <uint64_t> statistic[2]
    elif sums.kind == PAIR_SUMS:
        sums.word[0] = <uint64_t> statistic[2] | <uint64_t> statistic[3] << 32
    else:
        for k in range(n_words - 2):
            sums.word[k >> 2] |= <uint64_t> statistic[2 + k] << (16 * (k & 3))


@cython.final
cdef class NodeWords:
    cdef Criterion criterion
    cdef readonly bint is_unit     # all weights are 1
    cdef readonly bint is_pairs    # words are of classes; else of numbers
    cdef readonly int class_bits   # of a class in a word; 0: of numbers, or there are no words
    cdef bint is_made              # for the open node, whose words follow
    cdef Py_ssize_t room           # its records, and up to the next multiple of DF_STRIDE
    cdef Py_ssize_t chunk          # how many words can be added without overflow; 0: the records have no words
    # What the node has; or what another thread has made of it.
    cdef const uint32_t* row       # [room] rows of the records
    cdef const uint64_t* word      # [room] their words
    cdef const uint32_t* slot      # [n] of three to eight classes: how often drawn in the high half, which lane in the low one
    cdef Py_ssize_t lent_from      # records of a node whose rows and words lie in the node's scratch; smaller ones' here
    cdef uint32_t* own_row         # [records + DF_STRIDE]
    cdef uint64_t* own_word        # [records + DF_STRIDE]
    cdef uint32_t* own_slot        # [records] NULL: there are none
    cdef uint32_t flip             # the number of a class exclusive-or this is that of its lane

    cdef void close(self) noexcept nogil
    cdef void make(self, const Node* node) noexcept nogil
    cdef void borrow(self, NodeWords other) noexcept nogil
    cdef void unpack(self, uint64_t word, int64_t* statistic) noexcept nogil
