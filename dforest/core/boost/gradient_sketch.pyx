"""The sketch of an iteration's gradients: what the splits of one tree for many classes are chosen by.

A sketch has a few directions, along which the gradients of all classes are added up with random signs (rules/sketch.h). It is
made anew for each tree, by a team's threads, from the quantised gradients of all classes. A `GradientSketch` serves one booster,
and owns its arrays.
"""
cimport cython
from libc.math cimport ldexp
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc

from dforest.rules.boost cimport DF_GRADIENT_BITS, df_gradient_exponent
from dforest.rules.sketch cimport df_direction_factor, df_directions_of, df_mean_factor, df_most_of_classes, df_signs_of

cdef extern from "core/boost/gradients.h" nogil:
    void df_join_extent(df_boost_extent* extent, const df_boost_extent* other)

cdef extern from "core/boost/sketch.h" nogil:
    void df_sketch_rows(const df_sketch* sketch, const df_boost_rows* rows, int64_t n_rows, int64_t begin, int64_t end,
                        const int32_t* quantised, int32_t* sketched, df_boost_extent* extents)


cdef void make_chunk(void* sketch, int64_t item) noexcept nogil:
    (<GradientSketch> sketch).make_chunk(item)


def directions_of(n_sums):
    """How many directions the splits of a tree for so many classes are chosen by; 0: by all classes. See rules/sketch.h."""
    return df_directions_of(n_sums)


@cython.final
cdef class GradientSketch:
    """The gradients of all rows along some directions, made anew for each tree.

    Parameters
    ----------
    n_sums, n_directions : int
    n_rows : int
    n_chunks : int
        Of rows, at most.
    """

    def __cinit__(self, int n_sums, int n_directions, int64_t n_rows, int64_t n_chunks):
        self.n_directions, self.n_rows = n_directions, n_rows
        self.quantised = <int32_t*> malloc(2 * n_directions * n_rows * sizeof(int32_t))
        self.scales = <BoostScale*> calloc(n_directions, sizeof(BoostScale))
        self.extents = <df_boost_extent*> malloc(n_chunks * n_directions * sizeof(df_boost_extent))
        self.signs = <uint32_t*> malloc(n_sums * sizeof(uint32_t))
        self.units = <double*> malloc(2 * n_sums * sizeof(double))
        if (self.quantised == NULL or self.scales == NULL or self.extents == NULL or self.signs == NULL
                or self.units == NULL):
            raise MemoryError()
        self.sketch.n_sums, self.sketch.n_directions = n_sums, n_directions
        self.sketch.signs, self.sketch.units = self.signs, self.units

    def __dealloc__(self):
        free(self.quantised)
        free(self.scales)
        free(self.extents)
        free(self.signs)
        free(self.units)

    cdef void draw(self, uint32_t seed, const BoostScale* scales, const df_boost_extent* totals) noexcept nogil:
        """Draw the directions of the tree of a seed, and choose their scales. IN scales, totals : [n_sums] of all classes"""
        cdef double largest = 0.0
        cdef double[2] factors
        cdef int32_t[2] exponents
        cdef int i, k
        factors[0], factors[1] = df_direction_factor(self.n_directions), df_mean_factor(self.sketch.n_sums)
        for k in range(self.sketch.n_sums):
            self.signs[k] = df_signs_of(seed, k)
            self.units[2 * k] = ldexp(1.0, -scales[k].exponent_g)
            self.units[2 * k + 1] = ldexp(1.0, -scales[k].exponent_h)
            largest = max(largest, totals[k].gradient)
        for i in range(2):
            exponents[i] = df_gradient_exponent(df_most_of_classes(largest, factors[i]), DF_GRADIENT_BITS)
            self.sketch.factors[i] = ldexp(factors[i], exponents[i])
        for k in range(self.n_directions):
            self.scales[k].exponent_g, self.scales[k].exponent_h = exponents[0], exponents[1]

    cdef void make(self, const df_boost_rows* rows, int64_t n_listed, int64_t chunk, const int32_t* quantised,
                   SpinTeam team) noexcept nogil:
        """Make the sketches of the rows that are listed, a chunk of so many at a time."""
        self.rows, self.of_sums = rows, quantised
        self.n_listed, self.chunk = n_listed, chunk
        self.n_chunks = (n_listed + chunk - 1) // chunk
        team.for_each(make_chunk, <void*> self, self.n_chunks)

    cdef void make_chunk(self, int64_t item) noexcept nogil:
        """Make the sketches of a chunk."""
        cdef int64_t begin = item * self.chunk, end = min(self.n_listed, begin + self.chunk)
        df_sketch_rows(&self.sketch, self.rows, self.n_rows, begin, end, self.of_sums, self.quantised,
                       self.extents + item * self.n_directions)

    cdef df_boost_extent extent_along(self, int direction) noexcept nogil:
        """What is known of all these rows along a direction."""
        cdef df_boost_extent total = self.extents[direction]
        cdef int64_t i
        for i in range(1, self.n_chunks):
            df_join_extent(&total, &self.extents[i * self.n_directions + direction])
        return total
