"""The rows that trees of boosting are grown from where an iteration draws some of all, without replacement.

They are those that a sampling plan draws by the seed of the iteration (`dforest.core.sampling`). Threads of a team draw them, a
block of rows at a time, and list them when it is known how many there are in the blocks before. A `DrawnRows` owns the order of
the rows.
"""
cimport cython
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from dforest.core.sampling cimport count_blocks, rows_of_block
from dforest.rules.random cimport DF_BLOCK


cdef void draw_block(void* rows, int64_t item) noexcept nogil:
    (<DrawnRows> rows).draw_block(item)


cdef void list_block(void* rows, int64_t item) noexcept nogil:
    (<DrawnRows> rows).list_block(item)


@cython.final
cdef class DrawnRows:
    """Some rows of all, drawn anew for each iteration.

    Parameters
    ----------
    n_rows : int
        All rows.
    plan : SamplingPlan
        Of those that draw no row twice.
    """

    def __cinit__(self, int64_t n_rows, SamplingPlan plan not None):
        cdef int64_t n_blocks = count_blocks(n_rows)
        plan.check_rows(n_rows)
        if not plan.draws_once:
            raise ValueError(f"sampling={plan!r}; allowed are plans that draw no row twice")
        self.n_rows, self.plan = n_rows, plan
        self.order = <uint32_t*> malloc(n_rows * sizeof(uint32_t))
        self.is_drawn = <uint8_t*> malloc(n_rows)
        self.allocated = <int64_t*> malloc(n_blocks * plan.width * sizeof(int64_t))
        self.of_block = <int64_t*> malloc(n_blocks * sizeof(int64_t))
        self.weight_of_block = <int64_t*> malloc(n_blocks * sizeof(int64_t))
        if (self.order == NULL or self.is_drawn == NULL or self.allocated == NULL or self.of_block == NULL
                or self.weight_of_block == NULL):
            raise MemoryError()

    def __dealloc__(self):
        free(self.order)
        free(self.is_drawn)
        free(self.allocated)
        free(self.of_block)
        free(self.weight_of_block)

    cdef int draw(self, uint32_t seed, const uint32_t* times, SpinTeam team) except -1 nogil:
        """Draw the rows of the iteration of a seed. times : [n_rows] or NULL"""
        cdef int64_t n_blocks = count_blocks(self.n_rows), n_drawn = 0, i, n
        self.seed, self.times, self.total_weight = seed, times, 0
        self.plan.allocate(seed, self.n_rows, 0, n_blocks, self.allocated, NULL)
        team.for_each(draw_block, <void*> self, n_blocks)
        for i in range(n_blocks):
            n = self.of_block[i]
            self.of_block[i] = n_drawn
            n_drawn += n
            self.total_weight += self.weight_of_block[i]
        self.n_drawn = n_drawn
        team.for_each(list_block, <void*> self, n_blocks)
        return 0

    cdef void draw_block(self, int64_t item) noexcept nogil:
        """Draw rows of a block."""
        cdef uint32_t counts[DF_BLOCK]
        cdef int64_t begin = item * DF_BLOCK, i, n_drawn = 0, total = 0
        self.plan.draw_block(self.seed, self.n_rows, item, &self.allocated[item * self.plan.width], counts)
        for i in range(rows_of_block(self.n_rows, item)):
            self.is_drawn[begin + i] = <uint8_t> counts[i]
            n_drawn += counts[i]
            if self.times != NULL:
                total += counts[i] * self.times[begin + i]
        self.of_block[item] = n_drawn
        self.weight_of_block[item] = n_drawn if self.times == NULL else total

    cdef void list_block(self, int64_t item) noexcept nogil:
        """List the rows of a block: those that are drawn, and, behind those of all blocks, the others."""
        cdef uint32_t drawn[DF_BLOCK]
        cdef uint32_t left_out[DF_BLOCK]      # both have room for all, as no branch is to be guessed
        cdef int64_t begin = item * DF_BLOCK, n = rows_of_block(self.n_rows, item), i, n_drawn = 0
        cdef int64_t before = self.of_block[item]
        for i in range(n):
            drawn[n_drawn] = left_out[i - n_drawn] = <uint32_t> (begin + i)
            n_drawn += self.is_drawn[begin + i]
        memcpy(self.order + before, drawn, n_drawn * sizeof(uint32_t))
        memcpy(self.order + self.n_drawn + (begin - before), left_out, (n - n_drawn) * sizeof(uint32_t))
