"""What a node has of sparse columns: its records whose rows are stored; all others have the implied code.

Either the column's stored rows are gone through, and it is asked which record of the node each is (Node.record_of); or, where the
node has far fewer records, their rows are looked up among the stored ones. Sums over what is found make a list of cuts: the
implied code has what the node has besides. So neither takes time for records that have the implied code.

    node's rows          2  3  5  8  9          totals of the node   7 draws
    stored: code         1: 4   3: 0   8: 4     code 0: 1 draw, code 4: 2 draws; so the implied code 2 has 4 draws
    cuts                 0 | 2 | 4              1, 5 and 7 draws on the left

What needs the code of each record has the column *unpacked*, for the records of one node.
"""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.data cimport DataView
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.cut_list cimport CutList
from dforest.core.types cimport Column, Node


@cython.final
cdef class Stored:
    cdef Criterion criterion
    cdef Py_ssize_t n_words
    cdef Py_ssize_t stored_per_record  # rows are looked up where the column stores so many times more than the node has records
    cdef uint32_t* place             # [n] the node's records that were found, by their number in the node, ascending; ...
    cdef uint32_t* code              # [n] ... and their codes; n = the most that a column stores
    cdef uint64_t* keys              # [n] each, to sort by code
    cdef uint64_t* more_keys
    cdef int64_t* rest               # [n_words] what has the implied code
    cdef uint8_t* unpacked           # [rows] codes of the widest sparse column

    # Fill `place` and `code`; return how many records were found.
    cdef Py_ssize_t gather(self, const Node* node, const Column* column) noexcept nogil

    # Make the list of the cuts of a column of numbers, given one that has no cuts yet: see Tally.blank.
    cdef void cumulate(self, const Node* node, const Column* column, CutList* cuts) noexcept nogil

    # A column that has the codes of all records of the node, and borrows `unpacked` until the next call.
    cdef Column unpack(self, const Node* node, const Column* column) noexcept nogil
