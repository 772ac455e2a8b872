"""The records of a tree: drawn at its root, and partitioned by each split, in chunks where several threads do that together.

A *chunk* is a range of an array of records. A thread that has treated one leaves two runs of records: first those that belong
to the *left* part of the result, then those that belong to the right one. Each part has the runs of all chunks in their order,
so that the order of records is kept, whichever thread was faster. Three chunks that have n records, of which n_left are left:

    n, n_left      4, 1      4, 3      2, 0
    left_to           0         1         4      the left part has 1 + 3 + 0 = 4 records, 0 to 3;
    right_to          4         7         8      the right part 3 + 1 + 2 = 6 records, 4 to 9

Whoever calls `cut_chunks` owns the chunks, and frees them.

A partition of a node's records by its split has those that go left first, the others behind them.

    draws:   | ...... | goes left | goes right | ...... |
                      first       first + n_left       first + n

Partitions are *stable*, the records of either side stay in the order they had, and in place. All forms give the same order, and
return the number of records that go left.

INOUT node : its records, and its scratch; nothing else of the node is written to
IN column : of the split's feature, with the codes of the node's records
"""
cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint32_t

from dforest.core.data cimport DataView
from dforest.core.team cimport Team
from dforest.core.sampling cimport Helpers, SamplingPlan
from dforest.core.search.splitter cimport Splitter
from dforest.core.search.sums cimport Sums
from dforest.core.types cimport Column, Node, Record, Split
from dforest.rules.random cimport DF_BLOCK

cdef enum:
    CHUNK_BLOCKS = 2                     # of the rows of a sampling plan's blocks
    CHUNK = CHUNK_BLOCKS * DF_BLOCK      # records, or rows to draw from

cdef struct Chunk:
    Py_ssize_t first, n                  # its range
    Py_ssize_t n_left                    # set by who treats it: records of its left run, from `first` on
    Py_ssize_t left_to, right_to         # where its runs belong in the result
    Sums left                            # of a partition: what the left run's draws add up to, if its kind asks for that

cdef struct Leader:                      # a member of a team, with the help of idle ones: see Helpers
    PyObject* team
    int member

# Cut n records into chunks of CHUNK records, the last one of what is left. OUT n_chunks
cdef Chunk* cut_chunks(Py_ssize_t n, Py_ssize_t* n_chunks) except NULL nogil

# Set where the runs of all chunks belong; return the length of the left part.
cdef Py_ssize_t place_runs(Chunk* chunks, Py_ssize_t n_chunks) noexcept nogil


@cython.final
cdef class Drawing:
    cdef DataView data
    cdef SamplingPlan plan
    cdef Py_ssize_t n_rows                     # that trees draw from; the data may have those alone that some tree draws
    cdef readonly int64_t n_draws              # of a tree
    cdef readonly Py_ssize_t max_records       # of a tree
    cdef const uint32_t[::1] counts            # None; or how often the next tree draws each row, in place of what the plan says
    cdef const uint32_t[::1] weights           # None; or what a draw of each row weighs in it, in place of the data's weights
    cdef const double[::1] exact_weights       # None; or exact weights, of which these are the integers
    # None; or the rows that the next tree draws, by the data's numbers, and how often: the plan is not asked
    cdef const uint32_t[::1] listed, listed_counts
    # Of the tree that is being drawn
    cdef const double* exact_weight            # [n_rows] exact weights of the rows (weights.h); NULL: the integers are exact
    cdef uint32_t seed
    cdef const uint32_t* weight                # [n_rows] integer weights of the rows; NULL: all are 1
    # [blocks of the rows, width of the plan] draws in each; or, where `counts` are known, [blocks of the rows] records
    cdef int64_t* of_block

    # Write the records of a tree in row order; return their number. OUT out : [max_records]
    cdef Py_ssize_t draw(self, uint32_t seed, Record* out) except -1 nogil

    # Do as `draw` does, with the help of idle members of a team, of whom the caller is number `member`.
    # OUT scratch : [max_records]
    cdef Py_ssize_t draw_together(self, Team team, int member, uint32_t seed, Record* out, Record* scratch) except -1 nogil

    cdef int allocate(self, uint32_t seed, Helpers* helpers) except -1 nogil
    cdef void count_records(self, Py_ssize_t block) noexcept nogil
    cdef Py_ssize_t records_of_block(self, Py_ssize_t block) noexcept nogil
    cdef Py_ssize_t draw_block(self, Py_ssize_t block, Record* out) noexcept nogil
    cdef void write_record(self, uint32_t row, uint32_t count, Record* out) noexcept nogil


# By codes: a record goes left up to the code of the split, or by its category. Adds up either side's draws by the way, for which
# the node is open, unless their kind is NO_SUMS.
# IN leader : NULL: the caller is alone; n_words : of a statistic
# INOUT left, right : of one kind, on either side
cdef Py_ssize_t partition(const Node* node, const Column* column, const Split* split, const Leader* leader, Py_ssize_t n_words,
                          Sums* left, Sums* right) except -1 nogil

# By a test of the splitter's own, which its `goes_left` does for some rows at a time.
cdef Py_ssize_t partition_by_test(Splitter splitter, const Node* node, const Split* split) except -1 nogil
