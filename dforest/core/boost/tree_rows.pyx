"""The rows of a boosted tree, in the order of its leaves, and what threads find of a node's rows together.

Each node has a range of the rows' numbers, which ascend in it. A node's split divides its range, stably: the rows of the left
child come first. Threads share a large node's rows in *ranges* of some thousand.

A `TreeRows` owns the rows' numbers, and what is found of ranges. What it looks up by these numbers is the booster's.
"""
cimport cython
from libc.stdlib cimport free, malloc

from dforest.core.tree.buffers cimport ensure_room

cdef extern from "core/boost/gradients.h" nogil:
    uint8_t df_min_bits_below_max(const uint32_t* rows, int64_t first, int64_t n, const uint8_t* bits_below_max)
    df_boost_largest df_largest_of_rows(const uint32_t* rows, int64_t first, int64_t n, const double* weight, const double* kept,
                                        const df_boost_largest* enough)
    void df_quantise_again(const uint32_t* rows, int64_t first, int64_t n, const double* kept, const double* factors,
                           bint has_hessian, int32_t* quantised)


cdef void divide_range(void* rows, int64_t item) noexcept nogil:
    (<TreeRows> rows).divide_range(item)


cdef void place_range(void* rows, int64_t item) noexcept nogil:
    (<TreeRows> rows).place_range(item)


cdef void bits_below_max_of_range(void* rows, int64_t item) noexcept nogil:
    (<TreeRows> rows).bits_below_max_of_range(item)


cdef void largest_of_range(void* rows, int64_t item) noexcept nogil:
    (<TreeRows> rows).largest_of_range(item)


cdef void quantise_range(void* rows, int64_t item) noexcept nogil:
    (<TreeRows> rows).quantise_range(item)


cdef void add_range(void* rows, int64_t item) noexcept nogil:
    (<TreeRows> rows).add_range(item)


@cython.final
cdef class TreeRows:
    """The rows of one tree after another.

    Parameters
    ----------
    bundles : Bundles
    histograms : Histograms
    team : SpinTeam
        Whose leader calls this.
    n_drawn : int
        How many rows trees are grown from: all, or as many as the booster puts into `drawn` before each tree.
    partition_rows : int
        Rows of a range.
    """

    def __cinit__(self, Bundles bundles not None, Histograms histograms not None, SpinTeam team not None, int64_t n_drawn,
                  int64_t partition_rows):
        self.bundles, self.histograms, self.team = bundles, histograms, team
        self.n, self.partition_rows = n_drawn, partition_rows
        self.is_undivided = True
        self.numbers = <uint32_t*> malloc(n_drawn * sizeof(uint32_t))
        self.moved = <uint32_t*> malloc(n_drawn * sizeof(uint32_t))
        if self.numbers == NULL or self.moved == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.numbers)
        free(self.moved)
        free(self.ranges)

    cdef const uint32_t* rows_from(self, int64_t first) noexcept nogil:
        """The numbers of the rows from a place on; NULL: they are numbered as their places."""
        if not self.is_undivided:
            return self.numbers + first
        return self.drawn + first if self.drawn != NULL else NULL

    cdef int cut_into_ranges(self, const df_open_node* node) except -1 nogil:
        """Choose the ranges of a node's rows that threads take."""
        self.first, self.n_here = node.first, node.n
        self.range_rows = self.partition_rows
        if self.team.n_members == 1 or node.n < 2 * self.partition_rows:
            self.range_rows = node.n
        self.n_ranges = (node.n + self.range_rows - 1) // self.range_rows
        return ensure_room(<void**> &self.ranges, &self.room, self.n_ranges, sizeof(RowRange))

    cdef int divide(self, const df_open_node* node, int32_t column, const uint8_t* by_code,
                    const uint8_t* by_shared) except -1 nogil:
        """Divide a node's rows by the codes of a column. IN by_code, by_shared : as of `Bundles.divide`"""
        cdef int64_t i, total = 0
        self.cut_into_ranges(node)
        self.column, self.by_code, self.by_shared = column, by_code, by_shared
        self.team.for_each(divide_range, <void*> self, self.n_ranges)
        if self.n_ranges == 1:                     # those on the left are in their place
            for i in range(node.n - self.ranges[0].n_left):
                self.numbers[node.first + self.ranges[0].n_left + i] = self.moved[node.first + node.n - 1 - i]
        else:
            for i in range(self.n_ranges):
                total += self.ranges[i].n_left
                self.ranges[i].n_left = total
            self.team.for_each(place_range, <void*> self, self.n_ranges)
        self.is_undivided = False
        return 0

    cdef int min_bits_below_max(self, const df_open_node* node) except -1 nogil:
        """The least lightness of a node's rows."""
        cdef int least = DF_MAX_BITS_BELOW
        cdef int64_t i
        self.cut_into_ranges(node)
        self.team.for_each(bits_below_max_of_range, <void*> self, self.n_ranges)
        for i in range(self.n_ranges):
            least = min(least, self.ranges[i].bits_below_max)
        return least

    cdef int find_largest(self, const df_open_node* node, const double* kept, const df_boost_largest* enough,
                          df_boost_largest* largest) except -1 nogil:
        """The largest magnitudes of the weights and derivatives of a node's rows, or some that are enough.

        IN kept : derivatives of one output
        """
        cdef int64_t i
        self.cut_into_ranges(node)
        self.kept, self.enough = kept, enough
        self.team.for_each(largest_of_range, <void*> self, self.n_ranges)
        largest[0] = self.ranges[0].largest
        for i in range(1, self.n_ranges):
            largest.weight = max(largest.weight, self.ranges[i].largest.weight)
            largest.gradient = max(largest.gradient, self.ranges[i].largest.gradient)
            largest.hessian = max(largest.hessian, self.ranges[i].largest.hessian)
        return 0

    cdef int quantise(self, const df_open_node* node, const double* kept, const double* factors, bint has_hessian,
                      int32_t* quantised) except -1 nogil:
        """Make the integers of a node's rows anew, of one output. IN factors : [2] what derivatives are multiplied by"""
        self.cut_into_ranges(node)
        self.kept, self.factors, self.has_hessian, self.quantised = kept, factors, has_hessian, quantised
        self.team.for_each(quantise_range, <void*> self, self.n_ranges)
        return 0

    cdef int add_up(self, const df_open_node* node, int32_t* quantised, df_boost_sums* sums) except -1 nogil:
        """Find the sums of the narrow integers of a node's rows, of one output."""
        cdef int64_t i
        self.cut_into_ranges(node)
        self.quantised = quantised
        self.team.for_each(add_range, <void*> self, self.n_ranges)
        sums[0] = self.ranges[0].sums
        for i in range(1, self.n_ranges):
            sums.gradient += self.ranges[i].sums.gradient
            sums.hessian += self.ranges[i].sums.hessian
            sums.count += self.ranges[i].sums.count
        return 0

    cdef int64_t begin_of(self, int64_t item, int64_t* n) noexcept nogil:
        """Where a range begins. OUT n : how many rows it has"""
        n[0] = min(self.n_here - item * self.range_rows, self.range_rows)
        return self.first + item * self.range_rows

    cdef void divide_range(self, int64_t item) noexcept nogil:
        """Divide a range: rows on the left come first, the others last and in reverse."""
        cdef int64_t n, begin = self.begin_of(item, &n)
        self.ranges[item].n_left = self.bundles.divide(
            self.column, self.rows_from(begin), begin, n, self.by_code, self.by_shared,
            (self.numbers if self.n_ranges == 1 else self.moved) + begin, self.moved + begin + n)

    cdef void place_range(self, int64_t item) noexcept nogil:
        """Put the rows of a range where they belong."""
        cdef int64_t n, begin = self.begin_of(item, &n), i
        cdef int64_t before = self.ranges[item - 1].n_left if item > 0 else 0, n_left = self.ranges[item].n_left - before
        cdef const uint32_t* moved = self.moved + begin
        cdef uint32_t* left = self.numbers + self.first + before
        cdef uint32_t* right = self.numbers + begin + self.ranges[self.n_ranges - 1].n_left - before
        for i in range(n_left):
            left[i] = moved[i]
        for i in range(n - n_left):
            right[i] = moved[n - 1 - i]

    cdef void bits_below_max_of_range(self, int64_t item) noexcept nogil:
        cdef int64_t n, begin = self.begin_of(item, &n)
        self.ranges[item].bits_below_max = df_min_bits_below_max(self.rows_from(begin), begin, n, self.bits_below_max)

    cdef void largest_of_range(self, int64_t item) noexcept nogil:
        cdef int64_t n, begin = self.begin_of(item, &n)
        self.ranges[item].largest = df_largest_of_rows(self.rows_from(begin), begin, n, self.weight, self.kept, self.enough)

    cdef void quantise_range(self, int64_t item) noexcept nogil:
        cdef int64_t n, begin = self.begin_of(item, &n)
        df_quantise_again(self.rows_from(begin), begin, n, self.kept, self.factors, self.has_hessian, self.quantised)

    cdef void add_range(self, int64_t item) noexcept nogil:
        cdef int64_t n, begin = self.begin_of(item, &n)
        self.ranges[item].sums = self.histograms.total(self.rows_from(begin), begin, n, self.quantised)
