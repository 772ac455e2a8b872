"""Cut lists: what is known of the cuts of one feature in one node, whoever found them.

*Producers* (count, sort, two-level, side, categories) make a list, the *evaluator* picks the best of its cuts. Each cut has a
left side, of which the list holds the statistic or, where draws are packed (packed_sums.pxd), the word, both without missing
values. Of six draws with the values 2, 5, 5, 7 and two missing, the list has the codes of 2, 5 and 7; left sides of 1, 3 and 4
draws; and 2 draws missing. The last cut of a run divides the missing values from all others.

A list borrows its arrays from whoever made it, until that one makes the next.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from dforest.core.search.packed_sums cimport df_class_counter_draws, draws_of, unpack_class_counters, unpack_sum

cdef enum CutKind:
    RUN                       # each left side holds the one before, and the draws of one more value
    ONE_VS_REST               # each left side is one category; if values are missing, the last is all categories
    SINGLE_CUT                # there is one cut

cdef enum Accumulator:        # how the draws of a node are added up
    PACKED_SUMS               # weights of 1: as packed words
    CLASS_COUNTERS            # three to eight classes, weights of 1, at most DF_CLASS_COUNTER_DRAWS draws: 16 bits for each
    CLASSES                   # more classes, weights of 1: by a counter of 32 bits for each
    SUMS                      # weights of 1: the number of draws and the sum of their targets
    RECORDS                   # any: as whole statistics

cdef struct CutList:
    CutKind kind
    Accumulator accumulator   # by which the left sides come about
    Py_ssize_t n              # cuts
    bint is_packed            # left sides are words, in `run`; else statistics, in `left`
    bint is_binary            # these words are of two classes; else, but for CLASS_COUNTERS, of numbers
    uint32_t* code            # [n] the highest code on the left, or the category; not of SINGLE_CUT
    uint64_t single_cut       # SINGLE_CUT: the highest code on the left
    uint64_t* run             # [n] the left sides in words; of CLASS_COUNTERS, classes 0 to 3
    uint64_t* more            # [n] CLASS_COUNTERS: classes 4 to 7; this and `run` have room for the next multiple of 8
    int64_t* left             # [n, n_words] the left sides
    uint64_t[2] missing_sum   # the missing values, if is_packed; the second one of CLASS_COUNTERS
    int64_t* missing          # [n_words] the missing values, packed or not
    const uint64_t* subset    # SINGLE_CUT, of categories: a bit for each that goes left; else NULL
    const uint32_t* place     # RUN of categories: which of those that occur, in ascending order, is added; else NULL
    const uint32_t* ends      # categories that stay together: behind which of `place` those of each cut end; NULL: one of each
    const uint64_t* sorted    # NULL; or the node's records by code, missing ones last: see Sorter.keys


cdef inline void expand(CutList* cuts, Py_ssize_t n_words) noexcept nogil:
    """Have the left sides as statistics, if they are words."""
    cdef Py_ssize_t i
    if not cuts.is_packed:
        return
    cuts.is_packed = False
    if cuts.accumulator == CLASS_COUNTERS:
        for i in range(cuts.n):
            unpack_class_counters(cuts.run[i], cuts.more[i], cuts.left + i * n_words, n_words)
    else:
        for i in range(cuts.n):
            unpack_sum(cuts.run[i], cuts.is_binary, cuts.left + i * n_words)


cdef inline void add_missing(CutList* cuts, Py_ssize_t n_words) noexcept nogil:
    """Put the missing values on the left of all cuts; of words they are added when these are scored."""
    cdef Py_ssize_t i, k
    if cuts.is_packed:
        return
    for i in range(cuts.n):
        for k in range(n_words):
            cuts.left[i * n_words + k] += cuts.missing[k]


cdef inline int64_t left_draws(const CutList* cuts, Py_ssize_t i, Py_ssize_t n_words) noexcept nogil:
    """Draws on the left of a cut."""
    if not cuts.is_packed:
        return cuts.left[i * n_words]
    if cuts.accumulator == CLASS_COUNTERS:
        return <int64_t> (df_class_counter_draws(cuts.run[i]) + df_class_counter_draws(cuts.more[i]))
    return draws_of(cuts.run[i], cuts.is_binary)
