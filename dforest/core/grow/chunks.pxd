"""Chunks of records that several threads treat at the same time, and how what comes of them is put together.

A *chunk* is a stretch of an array of records. A thread that has treated one leaves two runs of records: first those that belong
to the *left* part of the result, then those that belong to the right one. Each part has the runs of all chunks in their order,
so that the order of records is kept, whichever thread was faster. Three chunks that have n records, of which n_left are left:

    n, n_left      4, 1      4, 3      2, 0
    left_to           0         1         4      the left part has 1 + 3 + 0 = 4 records, 0 to 3;
    right_to          4         7         8      the right part 3 + 1 + 2 = 6 records, 4 to 9

Whoever calls `cut_chunks` owns the chunks, and frees them.
"""
from dforest.rules.random cimport DF_BLOCK

cdef enum:
    CHUNK_BLOCKS = 2                     # of the rows of a sampling plan's blocks
    CHUNK = CHUNK_BLOCKS * DF_BLOCK      # records, or rows to draw from

cdef struct Chunk:
    Py_ssize_t first, n                  # its stretch
    Py_ssize_t n_left                    # set by who treats it: records of its left run, from `first` on
    Py_ssize_t left_to, right_to         # where its runs belong in the result

# Cut n records into chunks of CHUNK records, the last one of what is left. OUT n_chunks
cdef Chunk* cut_chunks(Py_ssize_t n, Py_ssize_t* n_chunks) except NULL nogil

# Set where the runs of all chunks belong; return the length of the left part.
cdef Py_ssize_t place_runs(Chunk* chunks, Py_ssize_t n_chunks) noexcept nogil
