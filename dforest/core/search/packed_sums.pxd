"""Draws packed into words.

A *word* of 64 bits holds the statistic of draws of weight 1, so that one addition adds a draw (scan.h). Of two classes it
has the draws of class 0 in the low half and those of class 1 in the high one; of numbers, how many draws there are, and
their sum of targets; of up to 8 classes, the draws of each class in 16 or 8 bits. Histograms of three to eight classes have
*class counters* of 16 bits in two words (class_counters.h). The words of a node's records are `PackedRecords` (histogram.pxd).
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.search.sums cimport BINARY_SUMS, CLASS_COUNTER_SUMS, NUMBER_SUMS, Sums

cdef extern from "core/search/scan.h" nogil:
    const int64_t DF_BINARY_DRAWS
    const int64_t DF_SUM_DRAWS
    const int DF_SUM_BITS
    const int64_t DF_SUM_BIAS
    const uint64_t DF_SUM_MASK
    uint64_t df_pack_sum(uint32_t count, int target)

cdef extern from "core/search/class_counters.h" nogil:
    enum:
        DF_COUNTED_CLASSES
    const int64_t DF_CLASS_COUNTER_DRAWS
    uint32_t df_class_counter_of(int k)
    uint64_t df_class_counter_draws(uint64_t word)
    void df_add_bytes(uint64_t counts, uint64_t* halves)
    void df_class_counters_of_halves(const uint64_t* halves, uint64_t* class_counters)

cdef inline int64_t draws_of(uint64_t word, bint is_binary) noexcept nogil:
    """How many draws a word stands for: of two classes (`is_binary`), or of numbers."""
    return <int64_t> (word >> 32) + <uint32_t> word if is_binary else <int64_t> (word >> DF_SUM_BITS)

cdef inline void unpack_sum(uint64_t word, bint is_binary, int64_t* statistic) noexcept nogil:
    """Set a statistic to what a word of two classes, or of numbers, stands for."""
    statistic[0] = statistic[1] = draws_of(word, is_binary)
    if is_binary:
        statistic[2] = <uint32_t> word
        statistic[3] = <int64_t> (word >> 32)
    else:
        statistic[2] = <int64_t> (word & DF_SUM_MASK) - statistic[0] * DF_SUM_BIAS

cdef inline void unpack_class_counters(uint64_t word, uint64_t more, int64_t* statistic, Py_ssize_t n_words) noexcept nogil:
    """Set a statistic to what the class counters of two words stand for."""
    cdef Py_ssize_t k
    statistic[0] = statistic[1] = <int64_t> (df_class_counter_draws(word) + df_class_counter_draws(more))
    for k in range(n_words - 2):
        statistic[2 + k] = <int64_t> ((word if k < 4 else more) >> (16 * (k & 3)) & 0xFFFF)

cdef inline void unpack_sums(const Sums* sums, int64_t* statistic, Py_ssize_t n_words) noexcept nogil:
    """Set a statistic to what is known."""
    if sums.kind == BINARY_SUMS:
        unpack_sum(sums.word[0], True, statistic)
    elif sums.kind == CLASS_COUNTER_SUMS:
        unpack_class_counters(sums.word[0], sums.word[1], statistic, n_words)
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
    elif sums.kind == BINARY_SUMS:
        sums.word[0] = <uint64_t> statistic[2] | <uint64_t> statistic[3] << 32
    else:
        for k in range(n_words - 2):
            sums.word[k >> 2] |= <uint64_t> statistic[2 + k] << (16 * (k & 3))
