"""A producer of cut lists: one cut, whose left side is added up.

The codes of a node's records are *gathered* first, one behind the other. Their range says where a random cut may be; then the
records up to its code are added up, and those that are missing. Of the codes 4, 9, 4 and 6, with a cut after 5, the first
and the third record are on the left.
"""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from dforest.core.search.criterion cimport Criterion
from dforest.core.search.cut_list cimport CutList
from dforest.core.search.words cimport NodeWords
from dforest.core.types cimport Column, Node

cdef struct CodeRange:       # what occurs in a node
    uint64_t lowest          # of the codes that are values
    uint64_t highest         # below lowest: none are
    bint has_missing


@cython.final
cdef class Side:
    cdef Criterion criterion
    cdef NodeWords words
    cdef Py_ssize_t compared_up_to  # most records of a node whose codes are compared as they are read
    cdef uint64_t turn             # counts nodes; not 0
    cdef int32_t code_bytes        # of a code gathered: 4, or 8 if some column's codes have 64 bits
    cdef void* own_code            # [records + DF_STRIDE] room for codes
    cdef const void* code          # [words.room] codes of the column to be added up, there or elsewhere:
    cdef bint is_wide              # of 64 bits, else 32
    cdef int64_t* left             # [n_words] for CutList.left
    cdef int64_t* missing          # [n_words] for CutList.missing

    cdef void use(self, const Column* column, const void* codes) noexcept nogil
    cdef void close_node(self) noexcept nogil
    cdef CodeRange gather(self, const Node* node, const Column* column, void* to) noexcept nogil
    cdef void divide(self, const uint64_t* subset, uint32_t missing) noexcept nogil
    cdef void add_up(self, const Node* node, uint64_t last, uint64_t missing, bint has_missing, CutList* cuts) noexcept nogil
    cdef void add_words(self, uint64_t last, int64_t* statistic) noexcept nogil
