"""The rows that trees of boosting are grown from where an iteration draws some of all, without replacement.

They are those that `dforest.core.sampling.Subsample` draws. Threads of a team draw them, a block of rows at a time. A `DrawnRows`
owns the order of the rows.
"""
cimport cython
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from dforest.core.loops cimport loops
from dforest.core.sampling cimport count_blocks, rows_of_block
from dforest.rules.random cimport DF_BLOCK
from dforest.rules.sampling cimport df_subsampled_before


cdef void draw_block(void* rows, int64_t item) noexcept nogil:
    (<DrawnRows> rows).draw_block(item)


@cython.final
cdef class DrawnRows:
    """Some rows of all, drawn anew for each iteration.

    Parameters
    ----------
    n_rows, n_drawn : int
        All rows, and those that are drawn; fewer.
    """

    def __cinit__(self, int64_t n_rows, int64_t n_drawn):
        self.n_rows = n_rows
        self.n_drawn = n_drawn
        self.order = <uint32_t*> malloc(n_rows * sizeof(uint32_t))
        self.of_block = <int64_t*> malloc(count_blocks(n_rows) * sizeof(int64_t))
        if self.order == NULL or self.of_block == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.order)
        free(self.of_block)

    cdef void draw(self, uint32_t seed, const uint32_t* times, SpinTeam team) noexcept nogil:
        """Draw the rows of the iteration of a seed. times : [n_rows] or NULL"""
        cdef int64_t i
        self.seed = seed
        self.times = times
        team.for_each(draw_block, <void*> self, count_blocks(self.n_rows))
        self.total_weight = self.n_drawn
        if times != NULL:
            self.total_weight = 0
            for i in range(count_blocks(self.n_rows)):
                self.total_weight += self.of_block[i]

    cdef int64_t n_before(self, int64_t row) noexcept nogil:
        """How many of the rows before one, the first of a block or n_rows, are drawn."""
        return df_subsampled_before(self.seed, 0, self.n_rows, self.n_drawn, row)

    cdef void draw_block(self, int64_t item) noexcept nogil:
        """Draw rows of a block."""
        cdef uint32_t counts[DF_BLOCK]
        cdef uint32_t drawn[DF_BLOCK]      # both have room for all, as no branch is to be guessed
        cdef uint32_t left_out[DF_BLOCK]
        cdef int64_t begin = item * DF_BLOCK, n = rows_of_block(self.n_rows, item), i, n_drawn = 0, total = 0
        cdef int64_t before = self.n_before(begin)
        loops.subsample_block(self.seed, item, n, self.n_before(begin + n) - before, counts)
        for i in range(n):
            drawn[n_drawn] = left_out[i - n_drawn] = <uint32_t> (begin + i)
            n_drawn += counts[i]
        memcpy(self.order + before, drawn, n_drawn * sizeof(uint32_t))
        memcpy(self.order + self.n_drawn + (begin - before), left_out, (n - n_drawn) * sizeof(uint32_t))
        if self.times != NULL:
            for i in range(n_drawn):
                total += self.times[drawn[i]]
            self.of_block[item] = total
