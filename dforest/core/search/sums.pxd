"""What is known of a node's draws of weight 1 before anybody looks at them: sums that the partition of its parent has formed.

Of two classes these are words of scan.h, of three to eight classes class counters (class_counters.h), of numbers how many draws
there are and their sum of targets. A *kind* says which they are.
"""
from libc.stdint cimport int64_t, uint64_t

cdef extern from "core/search/sums.h" nogil:
    ctypedef enum SumsKind "df_sums_kind":
        NO_SUMS "DF_NO_SUMS"             # nothing is known
        BINARY_SUMS "DF_BINARY_SUMS"     # two classes
        CLASS_COUNTER_SUMS "DF_CLASS_COUNTER_SUMS"  # three to eight classes, of at most DF_CLASS_COUNTER_DRAWS draws
        NUMBER_SUMS "DF_NUMBER_SUMS"     # numbers, in one word: see Criterion.is_wide

    void df_copy_words(int64_t* to, const int64_t* from_, int64_t n)

cdef struct Sums:
    SumsKind kind
    uint64_t[2] word           # BINARY_SUMS: the first; CLASS_COUNTER_SUMS: classes 0 to 3, 4 to 7; NUMBER_SUMS: draws, targets
