"""The rows that trees of boosting are grown from where each is drawn by a chance of its own: see rules/chances.h.

A `RowChances` serves one booster, and is asked once for each iteration. Threads of a team look at blocks of rows, some of which,
a *part*, are counted together. It owns the importances of rows and their order; derivatives are the booster's.
"""
cimport cython
from libc.math cimport ldexp, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from dforest.core.sampling cimport count_blocks, rows_of_block
from dforest.rules.boost cimport DF_GRADIENT_BITS, df_gradient_exponent
from dforest.rules.chances cimport (
    DF_IMPORTANCE_STEPS, df_importance_of_certain, df_inverse_chance, df_is_drawn, df_step_of,
)
from dforest.rules.random cimport DF_BLOCK, DF_CHANCE, df_next, df_stream, df_stream_open

cdef enum:
    MOST_PARTS = 64


cdef void weigh_part(void* rows, int64_t item) noexcept nogil:
    (<RowChances> rows).weigh_part(item)


cdef void count_part(void* rows, int64_t item) noexcept nogil:
    (<RowChances> rows).count_part(item)


cdef void draw_block(void* rows, int64_t item) noexcept nogil:
    (<RowChances> rows).draw_block(item)


cdef void place_block(void* rows, int64_t item) noexcept nogil:
    (<RowChances> rows).place_block(item)


@cython.final
cdef class RowChances:
    """Some rows of all, drawn anew for each iteration.

    Parameters
    ----------
    n_rows, n_drawn : int
        All rows, and about how many are drawn; fewer.
    n_sums : int
        How many raw predictions a row has.
    """

    def __cinit__(self, int64_t n_rows, int64_t n_drawn, int n_sums):
        self.n_rows, self.n_asked, self.n_sums = n_rows, n_drawn, n_sums
        self.n_blocks = count_blocks(n_rows)
        self.n_parts = min(<int64_t> MOST_PARTS, self.n_blocks)
        self.order = <uint32_t*> malloc(n_rows * sizeof(uint32_t))
        self.importance = <uint32_t*> malloc(n_rows * sizeof(uint32_t))
        self.exact = <double*> malloc(n_rows * sizeof(double))
        self.is_drawn = <uint8_t*> malloc(n_rows)
        self.of_block = <int64_t*> malloc((self.n_blocks + 1) * sizeof(int64_t))
        self.weight_of_block = <int64_t*> malloc(self.n_blocks * sizeof(int64_t))
        self.largest = <double*> malloc(self.n_parts * sizeof(double))
        self.counts = <int64_t*> malloc(2 * self.n_parts * DF_IMPORTANCE_STEPS * sizeof(int64_t))
        if (self.order == NULL or self.importance == NULL or self.exact == NULL or self.is_drawn == NULL or self.of_block == NULL
                or self.weight_of_block == NULL or self.largest == NULL or self.counts == NULL):
            raise MemoryError()

    def __dealloc__(self):
        free(self.order)
        free(self.importance)
        free(self.exact)
        free(self.is_drawn)
        free(self.of_block)
        free(self.weight_of_block)
        free(self.largest)
        free(self.counts)

    cdef void draw(self, uint32_t seed, const int32_t* quantised, const double* units, const uint32_t* times, double* kept,
                   SpinTeam team) noexcept nogil:
        """Draw the rows of the iteration of a seed.

        IN quantised : [n_sums, n_rows, 2] integers of all rows
        IN units : [n_sums, 2] what an integer of 1 adds to an importance, of gradients and of Hessians
        IN times : [n_rows] integer weights, or NULL
        INOUT kept : [n_sums, n_rows, 2] derivatives, of which those of drawn rows are divided by their chances
        """
        cdef int64_t* counts = self.counts
        cdef int64_t* sums = counts + self.n_parts * DF_IMPORTANCE_STEPS
        cdef double largest = 0.0
        cdef int64_t i, top = 0, total = 0, n
        cdef int step
        self.seed, self.quantised, self.units, self.times, self.kept = seed, quantised, units, times, kept
        team.for_each(weigh_part, <void*> self, self.n_parts)
        for i in range(self.n_parts):
            largest = max(largest, self.largest[i])
        self.all_are_equal = not largest > 0.0
        self.factor = ldexp(1.0, df_gradient_exponent(largest, DF_GRADIENT_BITS))
        team.for_each(count_part, <void*> self, self.n_parts)
        for i in range(1, self.n_parts):
            for step in range(DF_IMPORTANCE_STEPS):
                counts[step] += counts[i * DF_IMPORTANCE_STEPS + step]
                sums[step] += sums[i * DF_IMPORTANCE_STEPS + step]
        self.of_certain = df_importance_of_certain(counts, sums, self.n_asked)
        team.for_each(draw_block, <void*> self, self.n_blocks)
        self.total_weight = 0
        for i in range(self.n_blocks):
            n = self.of_block[i]
            self.of_block[i] = total
            total += n
            self.total_weight += self.weight_of_block[i]
        self.n_drawn = total
        if total == 0:                             # the row of most importance, of equal ones the first
            for i in range(self.n_rows):
                if self.importance[i] > self.importance[top]:
                    top = i
            self.is_drawn[top] = True
            self.divide(top)
            for i in range(top // DF_BLOCK + 1, self.n_blocks):
                self.of_block[i] = 1
            self.n_drawn, self.total_weight = 1, 1 if times == NULL else times[top]
        team.for_each(place_block, <void*> self, self.n_blocks)

    cdef void rows_of_part(self, int64_t item, int64_t* begin, int64_t* end) noexcept nogil:
        begin[0] = DF_BLOCK * (self.n_blocks * item // self.n_parts)
        end[0] = min(self.n_rows, DF_BLOCK * (self.n_blocks * (item + 1) // self.n_parts))

    cdef void weigh_part(self, int64_t item) noexcept nogil:
        """Find the importances of the rows of a part."""
        cdef int64_t begin, end, i
        cdef double largest = 0.0, g, h, total
        cdef const int32_t* own
        cdef int k
        self.rows_of_part(item, &begin, &end)
        for i in range(begin, end):
            total = 0.0
            for k in range(self.n_sums):
                own = self.quantised + 2 * (k * self.n_rows + i)
                g, h = own[0] * self.units[2 * k], own[1] * self.units[2 * k + 1]
                total += g * g
                total += h * h
            self.exact[i] = sqrt(total) * (1 if self.times == NULL else self.times[i])
            largest = max(largest, self.exact[i])
        self.largest[item] = largest

    cdef void count_part(self, int64_t item) noexcept nogil:
        """Make importances integers, and count them."""
        cdef int64_t* counts = self.counts + item * DF_IMPORTANCE_STEPS
        cdef int64_t* sums = counts + self.n_parts * DF_IMPORTANCE_STEPS
        cdef int64_t begin, end, i
        cdef uint32_t importance
        cdef int step
        self.rows_of_part(item, &begin, &end)
        memset(counts, 0, DF_IMPORTANCE_STEPS * sizeof(int64_t))
        memset(sums, 0, DF_IMPORTANCE_STEPS * sizeof(int64_t))
        for i in range(begin, end):
            importance = 1 if self.all_are_equal else <uint32_t> (self.exact[i] * self.factor + 0.5)
            self.importance[i] = importance
            if importance > 0:
                step = df_step_of(importance)
                counts[step] += 1
                sums[step] += importance

    cdef void draw_block(self, int64_t item) noexcept nogil:
        """Draw rows of a block, and divide their derivatives by their chances."""
        cdef int64_t begin = item * DF_BLOCK, n = rows_of_block(self.n_rows, item), i, n_drawn = 0, total = 0
        cdef df_stream stream
        df_stream_open(&stream, self.seed, item, DF_CHANCE)
        for i in range(begin, begin + n):
            self.is_drawn[i] = df_is_drawn(df_next(&stream), self.importance[i], self.of_certain)
            if not self.is_drawn[i]:
                continue
            n_drawn += 1
            total += 1 if self.times == NULL else self.times[i]
            self.divide(i)
        self.of_block[item], self.weight_of_block[item] = n_drawn, total

    cdef void divide(self, int64_t row) noexcept nogil:
        """Divide the derivatives of a drawn row by its chance."""
        cdef double inverse = df_inverse_chance(self.importance[row], self.of_certain)
        cdef double* own
        cdef int k
        for k in range(self.n_sums):
            own = self.kept + 2 * (k * self.n_rows + row)
            own[0] *= inverse
            own[1] *= inverse

    cdef void place_block(self, int64_t item) noexcept nogil:
        """List the rows of a block: those that are drawn, and, behind those of all blocks, the others."""
        cdef int64_t begin = item * DF_BLOCK, n = rows_of_block(self.n_rows, item), i
        cdef uint32_t* drawn = self.order + self.of_block[item]
        cdef uint32_t* others = self.order + self.n_drawn + (begin - self.of_block[item])
        for i in range(begin, begin + n):
            if self.is_drawn[i]:
                drawn[0] = <uint32_t> i
                drawn += 1
            else:
                others[0] = <uint32_t> i
                others += 1
