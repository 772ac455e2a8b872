"""How the entries of a node's histogram belong to columns, and what rows have of these: see bundles.pyx."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from dforest.core.data cimport DataView

cdef struct BundledColumn:
    int32_t bundle             # its byte; -1: rows have lists of its codes, or it has no entries
    int32_t step, radix        # of its digit in the byte: code / step % radix
    uint32_t origin            # the entry of the digit's code 0; if the byte has several digits, of what is made of these by sums
    int32_t default            # the code that has no entry of its own; -1: each has one
    uint32_t first             # the entry of its first code, but for the default
    int32_t n_codes            # of values
    int32_t wide               # its number among the wide columns, which have more codes than a byte; -1: it is narrow
    uint8_t has_missing, is_category


cdef inline int64_t entry_of(const BundledColumn* column, int code) noexcept nogil:
    """The entry of a code other than the default."""
    return column.first + code - (column.default >= 0 and code > column.default)


@cython.final
cdef class ColumnFacts:
    cdef DataView data
    cdef int64_t[::1] n_codes          # [n_columns] with the one for missing values
    cdef int64_t[::1] default          # [n_columns], as the next
    cdef int64_t[::1] n_others         # rows with another code
    cdef int64_t[::1] most             # rows of the most frequent code but for the default
    cdef uint8_t[::1] is_wide          # [n_columns]
    cdef Py_ssize_t narrow_codes


@cython.final
cdef class Bundles:
    cdef DataView data                 # the columns
    cdef DataView shared               # a column of codes for each bundle, which count its entries; with codes by row
    cdef readonly Py_ssize_t n_columns, n_bundles
    cdef BundledColumn* columns        # [n_columns]
    cdef readonly Py_ssize_t n_items, n_entries
    cdef uint32_t* first               # [n_items + 1] entries of the items before
    cdef int64_t* digits_from          # [n_items + 1] where the digits of an item begin in
    cdef int32_t* radix                # [n_digits] how many codes each digit has
    cdef int64_t* members_from         # [n_items + 1] where the columns of an item begin in
    cdef int32_t* members              # [n_columns] ascending in each item
    cdef readonly bint has_defaults    # of some columns
    cdef readonly Py_ssize_t n_wide    # columns
    cdef int64_t* list_from            # [n_rows + 1] where the list of a row begins in `listed`; NULL: there are no lists
    cdef uint32_t* listed              # the entries that rows have beside those of bundles, ascending in each row
    cdef readonly int64_t most         # rows of the most frequent entry that is read
    cdef readonly int64_t n_cells      # codes that rows have, and four times the entries, which take longer

    cdef lay_out(self, ColumnFacts facts, together, listed, bint may_share, bint packs, int64_t packed_sum_rows,
                 Py_ssize_t n_changing)
    cdef int write(self, columns, together, int n_threads) except -1
    cdef int write_column(self, Py_ssize_t j, uint8_t[::1] to) except -1
    cdef int write_lists(self, ColumnFacts facts, listed) except -1
    cdef void by_shared_code(self, Py_ssize_t column, const uint8_t* by_code, uint8_t* by_shared) noexcept nogil
    cdef int64_t divide(self, Py_ssize_t column, const uint32_t* rows, int64_t first, int64_t n, const uint8_t* by_code,
                        const uint8_t* by_shared, uint32_t* left, uint32_t* end) noexcept nogil
    cdef int listed_code(self, Py_ssize_t column, int64_t row) noexcept nogil
