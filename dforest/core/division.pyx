"""Ways to divide a node that no column of codes has: by numbers computed for each record, or record by record.

For splitters whose tests are their own. Numbers are sorted; the left sides of the cuts between them are
summed up a stretch at a time, and the criterion picks the best cut of each stretch. The rules for ties are those
of columns: a higher score, then the lower cut, then missing values on the right.

A `Divisions` belongs to one thread and owns its scratch.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from dforest.core.sorting cimport insertion_sort, radix_sort
from dforest.core.types cimport Draw, add_draws

cdef extern from "numerics.h" nogil:
    double df_middle(double lo, double hi, int is_float32)

cdef enum:
    CUTS = 256                 # of a stretch
    INSERTION_BELOW = 24       # keys


cdef inline uint64_t ordered(double value) noexcept nogil:
    """Bits that are in the order of the numbers; 0.0 and -0.0 have the same."""
    cdef uint64_t bits
    value = value + 0.0
    memcpy(&bits, &value, sizeof(bits))
    return ~bits if bits >> 63 else bits | <uint64_t> 1 << 63


cdef inline uint32_t record_of(uint64_t key) noexcept nogil:
    return <uint32_t> key


cdef inline uint64_t* sort_keys(uint64_t* keys, uint64_t* other, Py_ssize_t n) noexcept nogil:
    """Sort by the upper halves; return whichever of the two buffers holds the result."""
    if n < INSERTION_BELOW:
        insertion_sort(keys, n)
        return keys
    return radix_sort(keys, other, n)


cdef class Divisions:
    """Finds the best of such divisions.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    n_records : int
        Of the largest node.
    """

    def __cinit__(self, Criterion criterion not None, Py_ssize_t n_records):
        if criterion.cuts_class is not None:
            raise ValueError(f"criterion={criterion!r} scores cuts of columns only, and not the tests of a splitter of its own")
        self.criterion = criterion
        self.n_words = criterion.n_words
        self.keys = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.keys_to = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.left = <int64_t*> malloc(CUTS * self.n_words * sizeof(int64_t))
        self.shifted = <int64_t*> malloc(CUTS * self.n_words * sizeof(int64_t))
        self.end = <Py_ssize_t*> malloc(CUTS * sizeof(Py_ssize_t))
        self.sum = <int64_t*> malloc(2 * self.n_words * sizeof(int64_t))
        if (self.keys == NULL or self.keys_to == NULL or self.left == NULL or self.shifted == NULL or self.end == NULL
                or self.sum == NULL):
            raise MemoryError()
        self.missing = self.sum + self.n_words

    def __dealloc__(self):
        free(self.keys)
        free(self.keys_to)
        free(self.left)
        free(self.shifted)
        free(self.end)
        free(self.sum)

    cdef const uint64_t* sort(self, const double* values, Py_ssize_t n, Py_ssize_t* n_values) noexcept nogil:
        """Keys whose lower halves are the records with numbers, `n_values` of them, in the order of these."""
        cdef Py_ssize_t i, first, last, m = 0
        cdef uint64_t* keys
        cdef uint64_t* other
        cdef uint64_t* sorted
        for i in range(n):
            self.keys[m] = ordered(values[i]) >> 32 << 32 | <uint64_t> i
            m += values[i] == values[i]
        n_values[0] = m
        keys = sort_keys(self.keys, self.keys_to, m)
        other = self.keys_to if keys == self.keys else self.keys
        first = 0
        while first < m:
            last = first + 1
            while last < m and keys[last] >> 32 == keys[first] >> 32:
                last += 1
            if last - first > 1:       # equal upper halves: by the lower ones
                for i in range(first, last):
                    keys[i] = ordered(values[record_of(keys[i])]) << 32 | record_of(keys[i])
                sorted = sort_keys(keys + first, other + first, last - first)
                if sorted != keys + first:
                    memcpy(keys + first, sorted, (last - first) * sizeof(uint64_t))
            first = last
        return keys

    cdef bint find_along(self, const Node* node, const double* values, const LeafRules* rules, Split* best) noexcept nogil:
        cdef Py_ssize_t i, m, at = -1, n = 0
        cdef const uint64_t* keys = self.sort(values, node.n, &m)
        cdef const Draw* draws = node.draws
        cdef double value, before = best.score
        memset(self.sum, 0, 2 * self.n_words * sizeof(int64_t))
        if m < node.n:
            for i in range(node.n):
                if values[i] != values[i]:
                    add_draws(self.criterion.kind, self.missing, &draws[i])
        if m == 0 or (m == node.n and values[record_of(keys[0])] == values[record_of(keys[m - 1])]):
            return True
        for i in range(m):
            add_draws(self.criterion.kind, self.sum, &draws[record_of(keys[i])])
            value = values[record_of(keys[i])]
            if values[record_of(keys[i + 1])] == value if i + 1 < m else m == node.n:
                continue               # no cut here
            memcpy(self.left + n * self.n_words, self.sum, self.n_words * sizeof(int64_t))
            self.end[n] = i + 1
            n += 1
            if n == CUTS or i + 1 == m:
                self.score(node, n, rules, best, &at)
                n = 0
        if n > 0:
            self.score(node, n, rules, best, &at)
        if best.score > before:
            best.only_missing_right = at == m and not best.missing_left
            best.threshold = INFINITY
            if at < m:
                best.threshold = df_middle(values[record_of(keys[at - 1])], values[record_of(keys[at])], 0)
            best.payload = NULL
        return False

    cdef void score(self, const Node* node, Py_ssize_t n, const LeafRules* rules, Split* best, Py_ssize_t* at) noexcept nogil:
        """Replace `best` if one of n cuts in `left` has a higher score. OUT at : then, how many values are on its left"""
        cdef Py_ssize_t i, k, right, left
        cdef double score = -1.0, other = -1.0
        cdef bint missing_left = False
        right = self.best_of(node, self.left, n, rules, &score)
        if self.missing[0] > 0:
            for i in range(n):
                for k in range(self.n_words):
                    self.shifted[i * self.n_words + k] = self.left[i * self.n_words + k] + self.missing[k]
            left = self.best_of(node, self.shifted, n, rules, &other)
            if left >= 0 and (right < 0 or other > score or (other == score and left < right)):
                right = left
                score = other
                missing_left = True
        if right < 0 or score <= best.score:
            return
        best.score = score
        at[0] = self.end[right]
        # Where none is missing, missing values will go with the larger side.
        best.missing_left = (missing_left if self.missing[0] > 0
                             else 2 * self.left[right * self.n_words] > node.statistics[0])

    cdef Py_ssize_t best_of(self, const Node* node, const int64_t* left, Py_ssize_t n, const LeafRules* rules,
                            double* score) noexcept nogil:
        """The first of the best cuts that satisfy the rules, and its score; -1 if none does."""
        cdef const int64_t* total = node.statistics
        cdef Py_ssize_t first = 0, last = n, best
        while first < last and (left[first * self.n_words] < rules.min_draws
                                or <double> left[first * self.n_words + 1] < rules.min_weight):
            first += 1
        while last > first and (total[0] - left[(last - 1) * self.n_words] < rules.min_draws
                                or <double> (total[1] - left[(last - 1) * self.n_words + 1]) < rules.min_weight):
            last -= 1
        if first == last:
            return -1
        best = self.criterion.best_cut(left + first * self.n_words, last - first, total, score)
        return first + best if best >= 0 else -1

    cdef bint find_sides(self, const Node* node, const uint8_t* left, const LeafRules* rules, Split* best) noexcept nogil:
        cdef Py_ssize_t i
        cdef double score = -1.0
        memset(self.sum, 0, 2 * self.n_words * sizeof(int64_t))
        for i in range(node.n):
            if left[i]:
                add_draws(self.criterion.kind, self.sum, &node.draws[i])
        if self.best_of(node, self.sum, 1, rules, &score) < 0:
            return False
        if score > best.score:
            best.score = score
        return True
