"""Ways to divide a node that no column of codes has: by numbers computed for each record, or record by record.

For splitters whose tests are their own. Numbers are sorted; the left sides of the cuts between them are
summed up a range at a time, and the criterion picks the best cut of each range. The rules for ties are those
of columns: a higher score, then, of cuts that score 0, the most balanced, then the lower cut, then missing values on the right.

A `Divisions` belongs to one thread and owns its scratch.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from dforest.core.search.criterion cimport add_record
from dforest.core.search.split_evaluator cimport Choice, best_of_run
from dforest.core.sorting cimport insertion_sort, radix_sort, radix_sort_range
from dforest.core.types cimport CLASS_WEIGHTS, TARGET_SUM, Record
from dforest.rules.cut cimport df_leads_left, df_missing_goes_left
from dforest.rules.numerics cimport df_is_better, df_midpoint

from dforest.core.search.split_evaluator import scores_statistics


cdef enum:
    CUTS = 256                 # of a range
    INSERTION_BELOW = 24       # sort keys
    FEW_WORDS = 8              # of a statistic: so many are copied at once


cdef inline uint64_t ordered(double value) noexcept nogil:
    """Bits that are in the order of the numbers; 0.0 and -0.0 have the same."""
    cdef uint64_t bits
    value = value + 0.0
    memcpy(&bits, &value, sizeof(bits))
    return ~bits if bits >> 63 else bits | <uint64_t> 1 << 63


cdef inline uint32_t record_of(uint64_t sort_key) noexcept nogil:
    return <uint32_t> sort_key


cdef inline uint64_t* sort_by_key(uint64_t* sort_keys, uint64_t* other, Py_ssize_t n) noexcept nogil:
    """Sort by the upper halves; return whichever of the two buffers holds the result."""
    if n < INSERTION_BELOW:
        insertion_sort(sort_keys, n)
        return sort_keys
    return radix_sort(sort_keys, other, n)


cdef inline bint is_cut(const uint64_t* sort_key, const double* values) noexcept nogil:
    """Whether the numbers of a sort key and the next one differ."""
    return sort_key[0] >> 32 != sort_key[1] >> 32 or values[record_of(sort_key[0])] != values[record_of(sort_key[1])]


cdef inline void sort_few(uint64_t* sort_keys, Py_ssize_t n, const double* values) noexcept nogil:
    """Sort by the values of the records."""
    cdef Py_ssize_t i, j
    cdef uint64_t sort_key
    cdef double value
    for i in range(1, n):
        sort_key = sort_keys[i]
        value = values[record_of(sort_key)]
        j = i
        while j > 0 and values[record_of(sort_keys[j - 1])] > value:
            sort_keys[j] = sort_keys[j - 1]
            j -= 1
        sort_keys[j] = sort_key


cdef void sort_many(uint64_t* sort_keys, uint64_t* other, Py_ssize_t n, const double* values) noexcept nogil:
    """Sort keys of equal upper halves by the values of the records: by the upper halves of these, then by the lower."""
    cdef Py_ssize_t i, first = 0, last
    cdef uint64_t upper = sort_keys[0] >> 32 << 32
    cdef uint64_t* sorted
    for i in range(n):
        sort_keys[i] = ordered(values[record_of(sort_keys[i])]) >> 32 << 32 | record_of(sort_keys[i])
    sorted = sort_by_key(sort_keys, other, n)
    if sorted != sort_keys:
        memcpy(sort_keys, sorted, n * sizeof(uint64_t))
    while first < n:
        last = first + 1
        while last < n and sort_keys[last] >> 32 == sort_keys[first] >> 32:
            last += 1
        if last - first > 1:
            for i in range(first, last):
                sort_keys[i] = ordered(values[record_of(sort_keys[i])]) << 32 | record_of(sort_keys[i])
            sorted = sort_by_key(sort_keys + first, other + first, last - first)
            if sorted != sort_keys + first:
                memcpy(sort_keys + first, sorted, (last - first) * sizeof(uint64_t))
        first = last
    for i in range(n):
        sort_keys[i] = upper | record_of(sort_keys[i])


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
        if not scores_statistics(criterion):
            raise ValueError(f"criterion={criterion!r} scores cuts of columns only, and not the tests of a splitter of its own")
        self.criterion = criterion
        self.n_words = criterion.n_words
        self.sort_keys = <uint64_t*> malloc((n_records + 1) * sizeof(uint64_t))
        self.sort_keys_to = <uint64_t*> malloc((n_records + 1) * sizeof(uint64_t))
        self.left = <int64_t*> malloc((CUTS * self.n_words + FEW_WORDS) * sizeof(int64_t))
        self.shifted = <int64_t*> malloc(CUTS * self.n_words * sizeof(int64_t))
        self.end = <Py_ssize_t*> malloc(CUTS * sizeof(Py_ssize_t))
        self.sum = <int64_t*> malloc((2 * self.n_words + FEW_WORDS) * sizeof(int64_t))
        if (self.sort_keys == NULL or self.sort_keys_to == NULL or self.left == NULL or self.shifted == NULL or self.end == NULL
                or self.sum == NULL):
            raise MemoryError()

    def __dealloc__(self):
        free(self.sort_keys)
        free(self.sort_keys_to)
        free(self.left)
        free(self.shifted)
        free(self.end)
        free(self.sum)

    cdef void clear_sums(self) noexcept nogil:
        """Begin a search: the statistics of a node may have fewer words than the largest, of the classes that it has."""
        self.n_words = self.criterion.n_words
        self.missing = self.sum + self.n_words
        memset(self.sum, 0, 2 * self.n_words * sizeof(int64_t))

    cdef const uint64_t* sort(self, const double* values, Py_ssize_t n, Py_ssize_t* n_values) noexcept nogil:
        """Sort keys in the order of the numbers; the lower half of each is the number of its record. OUT n_values : how many

        Numbers whose sort keys have different upper halves differ; those whose upper halves are equal may differ too. The numbers
        0.5, 0.1, NaN and 0.9 give sort keys of the records 1, 0 and 3. One more sort key follows, which has another upper half
        than the last if numbers are missing, and else is equal to it.
        """
        cdef Py_ssize_t i, first = 0, last, m = 0
        cdef int bits = 12 if n < 100 else 16 if n < 1024 else 22      # two digits of the radix sort
        cdef double lo = INFINITY, hi = -INFINITY, low = INFINITY, high = -INFINITY, scale, value
        cdef uint64_t* sort_keys = self.sort_keys
        cdef uint64_t* other = self.sort_keys_to
        for i in range(n // 2):        # two chains, each of which waits for itself
            value = values[2 * i]
            lo = value if value < lo else lo
            hi = value if value > hi else hi
            value = values[2 * i + 1]
            low = value if value < low else low
            high = value if value > high else high
        if n & 1:
            value = values[n - 1]
            lo = value if value < lo else lo
            hi = value if value > hi else hi
        lo = min(lo, low)
        hi = max(hi, high)
        # A number's upper half is its place between the lowest and the highest one.
        scale = <double> ((1 << bits) - 1) / (hi - lo)
        if 0.0 < scale < INFINITY:
            for i in range(n):
                value = values[i]
                sort_keys[m] = <uint64_t> <int64_t> ((value - lo) * scale if value == value else 0.0) << 32 | <uint64_t> i
                m += value == value
        else:                          # all are equal, or an infinity is there or near
            bits = 32
            for i in range(n):
                sort_keys[m] = ordered(values[i]) >> 32 << 32 | <uint64_t> i
                m += values[i] == values[i]
        n_values[0] = m
        if m == 0:
            return sort_keys
        if bits == 32 or m < INSERTION_BELOW:
            sort_keys = sort_by_key(sort_keys, other, m)
        else:
            sort_keys = radix_sort_range(sort_keys, other, m, 0, bits)
        other = self.sort_keys_to if sort_keys == self.sort_keys else self.sort_keys
        while first < m:
            last = first + 1
            while last < m and sort_keys[last] >> 32 == sort_keys[first] >> 32:
                last += 1
            if 1 < last - first < INSERTION_BELOW:
                sort_few(sort_keys + first, last - first, values)
            elif last - first > 1:
                sort_many(sort_keys + first, other + first, last - first, values)
            first = last
        sort_keys[m] = sort_keys[m - 1] ^ <uint64_t> (m < n) << 63
        return sort_keys

    cdef bint find_along(self, const Node* node, const double* values, const LeafRules* rules, Split* best) noexcept nogil:
        cdef Py_ssize_t i = 0, m, at = -1, n
        cdef const uint64_t* sort_keys = self.sort(values, node.n, &m)
        if m == 0 or (m == node.n and values[record_of(sort_keys[0])] == values[record_of(sort_keys[m - 1])]):
            return True
        self.clear_sums()
        if m < node.n:
            for i in range(node.n):
                if values[i] != values[i]:
                    add_record(self.criterion, self.missing, &node.records[i])
        i = 0
        while i < m:
            n = self.sum_up(node.records, values, sort_keys, &i, m)
            if n > 0:
                self.score(node, n, rules, best, &at)
        if at >= 0:
            best.only_missing_right = at == m and not best.missing_left
            best.threshold = INFINITY
            if at < m:
                best.threshold = df_midpoint(values[record_of(sort_keys[at - 1])], values[record_of(sort_keys[at])], 0)
            best.payload = NULL
        return False

    cdef bint find_at(self, const Node* node, const double* values, double threshold, const LeafRules* rules,
                      Split* best) noexcept nogil:
        cdef Py_ssize_t i, at = -1
        self.clear_sums()
        for i in range(node.n):
            if values[i] <= threshold:
                add_record(self.criterion, self.sum, &node.records[i])
            elif values[i] != values[i]:
                add_record(self.criterion, self.missing, &node.records[i])
        memcpy(self.left, self.sum, self.n_words * sizeof(int64_t))
        self.end[0] = 0
        if self.sum[0] == 0 or self.sum[0] == node.statistics[0]:
            return True
        self.score(node, 1, rules, best, &at)
        if at >= 0:
            best.only_missing_right = False
            best.threshold = threshold
            best.payload = NULL
        return False

    cdef Py_ssize_t sum_up(self, const Record* records, const double* values, const uint64_t* sort_keys, Py_ssize_t* at,
                           Py_ssize_t m) noexcept nogil:
        """Set `left` and `end` for the next cuts, and return how many. INOUT at : how many of the m values have been seen"""
        cdef Py_ssize_t i = at[0], n = 0, k
        cdef int64_t* left = self.left
        cdef int64_t* sum = self.sum
        cdef int64_t n_draws = sum[0], weight = sum[1], third = sum[2], w
        cdef const Record* record
        if self.criterion.kind == CLASS_WEIGHTS and self.n_words == 4:
            # Two classes: sums stay in registers, and all are stored, but only those of cuts remain.
            while i < m and n < CUTS:
                record = &records[record_of(sort_keys[i])]
                w = <int64_t> record.count * record.weight
                n_draws += record.count
                weight += w
                third += w & (<int64_t> record.target - 1)
                left[0] = n_draws
                left[1] = weight
                left[2] = third
                left[3] = weight - third
                i += 1
                self.end[n] = i
                k = is_cut(sort_keys + i - 1, values)
                left += 4 * k
                n += k
            sum[0] = n_draws
            sum[1] = weight
            sum[2] = third
        elif self.criterion.kind == TARGET_SUM and self.n_words == 3:
            while i < m and n < CUTS:
                record = &records[record_of(sort_keys[i])]
                w = <int64_t> record.count * record.weight
                n_draws += record.count
                weight += w
                third += w * record.target
                left[0] = n_draws
                left[1] = weight
                left[2] = third
                i += 1
                self.end[n] = i
                k = is_cut(sort_keys + i - 1, values)
                left += 3 * k
                n += k
            sum[0] = n_draws
            sum[1] = weight
            sum[2] = third
        elif self.criterion.kind == CLASS_WEIGHTS and self.n_words <= FEW_WORDS:
            while i < m and n < CUTS:
                record = &records[record_of(sort_keys[i])]
                w = <int64_t> record.count * record.weight
                sum[0] += record.count
                sum[1] += w
                sum[2 + record.target] += w
                memcpy(left, sum, FEW_WORDS * sizeof(int64_t))         # what is too much is written over, or lies behind all
                i += 1
                self.end[n] = i
                k = is_cut(sort_keys + i - 1, values)
                left += self.n_words * k
                n += k
        else:
            while i < m and n < CUTS:
                add_record(self.criterion, sum, &records[record_of(sort_keys[i])])
                i += 1
                if is_cut(sort_keys + i - 1, values):
                    for k in range(self.n_words):
                        left[k] = sum[k]
                    self.end[n] = i
                    left += self.n_words
                    n += 1
        at[0] = i
        return n

    cdef void score(self, const Node* node, Py_ssize_t n, const LeafRules* rules, Split* best, Py_ssize_t* at) noexcept nogil:
        """Replace `best` if one of n cuts in `left` has a higher score. OUT at : then, how many values are on its left"""
        cdef Py_ssize_t i, k
        cdef bint missing_left = False
        cdef Choice choice = best_of_run(self.criterion, self.left, n, node.statistics, rules), other
        if self.missing[0] > 0:
            for i in range(n):
                for k in range(self.n_words):
                    self.shifted[i * self.n_words + k] = self.left[i * self.n_words + k] + self.missing[k]
            other = best_of_run(self.criterion, self.shifted, n, node.statistics, rules)
            if df_leads_left(other.score, other.imbalance, other.entry, choice.score, choice.imbalance, choice.entry):
                choice = other
                missing_left = True
        # Evenness decides between cuts by the same numbers only: at < 0 if `best` is by others.
        if choice.entry < 0 or not df_is_better(choice.score, choice.imbalance, best.score, self.imbalance if at[0] >= 0 else 0):
            return
        best.score = choice.score
        self.imbalance = choice.imbalance
        at[0] = self.end[choice.entry]
        best.missing_left = df_missing_goes_left(self.left[choice.entry * self.n_words], self.missing[0], missing_left,
                                                 node.statistics[0])

    cdef bint find_sides(self, const Node* node, const uint8_t* left, const LeafRules* rules, Split* best) noexcept nogil:
        cdef Py_ssize_t i
        cdef Choice choice
        self.clear_sums()
        for i in range(node.n):
            if left[i]:
                add_record(self.criterion, self.sum, &node.records[i])
        choice = best_of_run(self.criterion, self.sum, 1, node.statistics, rules)
        if choice.entry < 0:
            return False
        if choice.score > best.score:
            best.score = choice.score
        return True
