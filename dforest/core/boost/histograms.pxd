"""Histograms of gradients of the nodes of a tree: see histograms.pyx."""
cimport cython
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.boost.bundles cimport BundledColumn, Bundles
from dforest.core.loops cimport (
    df_boost_arrays, df_boost_constraint, df_boost_cut, df_boost_entries, df_boost_outputs, df_boost_room,
)
from dforest.rules.boost cimport df_boost_limits, df_boost_sums
from dforest.rules.bounds cimport df_bounds


cdef struct WideRoom:                  # what a search for cuts of a wide column writes to
    df_boost_room room
    df_boost_arrays unpacked           # the sums of its codes, if it has a default
    df_boost_outputs outputs           # if there are several
    uint64_t* left                     # of a column of categories: a bit for each code that the best cut sends left
    int n_words                        # of these

cdef struct Search:                    # for cuts of a node
    int32_t slot                       # of its histogram
    bint has_packed_sums
    int64_t n_rows
    const df_boost_sums* totals        # [n_outputs] what all rows add up to; only looked at if columns have defaults
    const df_boost_limits* limits      # [n_outputs]
    const double* units                # [n_outputs] what scores are multiplied by to be added up, if there are several outputs
    const uint8_t* tried               # [n_columns] whether a column may have the cut
    const df_bounds* bounds            # [n_outputs] in the node's units; only looked at if there are
    const int8_t* monotonic_csts       # [n_columns]; NULL: there are no monotonic constraints
    const double* factors              # [n_columns] what gains are multiplied by; NULL, as the next: they count as they are
    const double* costs                # [n_columns] what they are then less by
    bint is_random                     # one cut alone is tried of a column of numbers, drawn by the next two
    uint32_t seed                      # of the tree
    uint64_t node_key
    int32_t forced_code                # of the one column that is tried: the code that its cut is after; -1: any
    WideRoom* rooms                    # [n_wide]

cdef double counted(const Search* search, const df_boost_cut* cut, bint has_outputs) noexcept nogil


@cython.final
cdef class Histograms:
    cdef Bundles bundles
    cdef readonly int kind             # of words, wide where there are times
    cdef readonly Py_ssize_t n_items, n_entries
    cdef const uint32_t* first         # [n_items + 1] entries of the items before, the bundles'
    cdef const uint32_t* times         # [n_rows] integer weights; NULL: all are 1
    cdef object times_owner
    cdef int fill_kind                 # of words that rows would have without times
    cdef int64_t packed_sum_rows       # the most that words stand for; 0: histograms are sums
    cdef int width                     # words of an entry, and the most there may be
    cdef int max_width
    cdef uint64_t** slots              # [n_slots] memory for a histogram each, ...
    cdef int32_t* slot_widths          # ... of so many numbers for each entry
    cdef int32_t* unused               # [n_unused] numbers of slots
    cdef Py_ssize_t n_slots, slot_room, width_room, n_unused, unused_room
    cdef uint64_t** parts              # [n_parts] memory for words, and sums behind
    cdef readonly int n_parts
    cdef WideRoom* rooms               # [2, n_wide] for two searches
    cdef Py_ssize_t n_outputs
    cdef int64_t plane                 # the quantised gradients of an output are so many behind those of the one before

    cdef int make_rooms(self) except -1
    cdef void use(self, int kind) noexcept nogil
    cdef int32_t take_slot(self, bint has_packed_sums) except -1 nogil
    cdef void leave(self, int32_t* slot) noexcept nogil
    cdef bint fits_packed_sums(self, int64_t n, int64_t most) noexcept nogil
    cdef void add_rows(self, Py_ssize_t item, Py_ssize_t last, const uint32_t* rows, int64_t first, int64_t n,
                       const int32_t* quantised, uint64_t* words, uint64_t* sums) noexcept nogil
    cdef void fill_part(self, int part, int n_parts, const uint32_t* rows, int64_t first, int64_t n, const int32_t* quantised,
                        bint has_packed_sums) noexcept nogil
    cdef void fill_slot(self, Py_ssize_t item, Py_ssize_t last, const uint32_t* rows, int64_t first, int64_t n,
                        const int32_t* quantised, int32_t slot, bint has_packed_sums) noexcept nogil
    cdef void fill_items(self, Py_ssize_t item, Py_ssize_t last, const uint32_t* rows, int64_t first, int64_t n,
                         const int32_t* quantised, uint64_t* words) noexcept nogil
    cdef void join_parts(self, Py_ssize_t item, int n_parts, int32_t slot, bint has_packed_sums) noexcept nogil
    cdef void subtract(self, Py_ssize_t item, int32_t slot, int32_t other, bint had_packed_sums,
                       bint has_packed_sums) noexcept nogil
    cdef df_boost_entries entries_of(self, int32_t slot, Py_ssize_t output, bint has_packed_sums) noexcept nogil
    cdef Py_ssize_t part_numbers(self) noexcept nogil
    cdef uint64_t* words_of_part(self, int part, Py_ssize_t output) noexcept nogil
    cdef uint64_t* sums_of_part(self, int part, Py_ssize_t output) noexcept nogil
    cdef uint64_t* of_slot(self, int32_t slot, Py_ssize_t output) noexcept nogil
    cdef df_boost_sums total(self, const uint32_t* rows, int64_t first, int64_t n, const int32_t* quantised) noexcept nogil
    cdef void find_cut(self, Py_ssize_t item, const Search* search, df_boost_cut* best) noexcept nogil
    cdef void find_cut_of_digits(self, Py_ssize_t item, const df_boost_entries* own, const Search* search,
                                 df_boost_cut* best) noexcept nogil
    cdef void choose_column(self, Py_ssize_t item, const df_boost_entries* entries, const Search* search,
                            df_boost_cut* best) noexcept nogil
    cdef int code_to_try(self, const df_boost_entries* entries, const BundledColumn* column, const Search* search) noexcept nogil
    cdef df_boost_entries halved(self, const df_boost_entries* entries, const BundledColumn* column, int code, int missing,
                                 int64_t* numbers) noexcept nogil
    cdef void try_one(self, const BundledColumn* column, const df_boost_entries* entries, const Search* search,
                      const df_boost_constraint* constraint, df_boost_cut* cut) noexcept nogil
    cdef void unpack(self, const BundledColumn* column, const df_boost_sums* total, df_boost_entries* entries,
                     const df_boost_arrays* unpacked) noexcept nogil
    cdef df_boost_entries entries_of_column(self, const BundledColumn* column, const Search* search, Py_ssize_t output,
                                            const df_boost_arrays* unpacked) noexcept nogil
    cdef df_boost_sums sums_on_left(self, const df_boost_cut* cut, const Search* search, Py_ssize_t output,
                                    df_boost_sums* total) noexcept nogil
    cdef void find_cut_of_outputs(self, const BundledColumn* column, const Search* search, df_boost_cut* cut) noexcept nogil
