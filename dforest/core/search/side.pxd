cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from dforest.core.search.criterion cimport Criterion
from dforest.core.types cimport Column, Node

cdef struct CodeRange:       # what occurs in a node
    uint64_t lowest          # of the codes that are values
    uint64_t highest         # below lowest: none are
    bint has_missing


@cython.final
cdef class Side:
    cdef Criterion criterion
    cdef bint is_unit              # all weights are 1
    cdef int class_bits            # of a class in a word; 0: there are no such words
    cdef Py_ssize_t compared_up_to  # codes of so many records are compared as they are read
    cdef uint64_t turn             # of the open node, not 0
    cdef bint has_words            # what follows holds
    cdef Py_ssize_t room           # records of the node, and up to the next multiple of DF_STRIDE
    cdef Py_ssize_t chunk          # so many words can be added without overflow; 0: records have no words
    cdef const uint32_t* row       # [room] rows of the records; both may be another side's, or
    cdef const uint64_t* word      # [room] their words
    cdef uint32_t* own_row         # [records + DF_STRIDE] these,
    cdef uint64_t* own_word        # [records + DF_STRIDE] and these
    cdef int32_t code_bytes        # of a code gathered: 4, or 8 if some column's codes have 64 bits
    cdef void* own_code            # [records + DF_STRIDE] room for codes
    cdef const void* code          # [room] codes of the column to be added up, there or elsewhere:
    cdef bint is_wide              # of 64 bits, else 32

    cdef int reserve(self, Py_ssize_t n_records) except -1
    cdef void use(self, const Column* column, const void* codes) noexcept nogil
    cdef void open_node(self) noexcept nogil
    cdef void lend_words(self, const Node* node) noexcept nogil
    cdef void borrow_words(self, Side other) noexcept nogil
    cdef void make_words(self, const Node* node) noexcept nogil
    cdef CodeRange gather(self, const Node* node, const Column* column, void* to) noexcept nogil
    cdef void divide(self, const uint64_t* subset, uint32_t missing) noexcept nogil
    cdef void add_up(self, const Node* node, uint64_t last, uint64_t missing, bint has_missing, int64_t* left,
                     int64_t* of_missing) noexcept nogil
    cdef void add_words(self, uint64_t last, int64_t* statistic) noexcept nogil
    cdef void unpack(self, uint64_t word, int64_t* statistic) noexcept nogil
