"""The cuts of one feature in one node, from codes to the best one.

Two ways lead to the same cuts. *Counting* adds every draw to a histogram over the column's codes
and walks through it; *sorting* sorts the node's records by code and walks through them. Either walk
meets the codes that occur in ascending order and sums up what has gone by; after each it *emits*
the cut "codes up to here go left", if both sides satisfy the leaf rules: first with the missing
draws on the right, then, where the node has any, with them on the left. After the last code the
former is the cut that divides missing from all the rest. Emitted cuts are scored in chunks.

A `Cuts` belongs to one thread and owns its scratch. Its histogram is all zero between calls.
"""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from dforest.core.types cimport CLASS_WEIGHTS, TARGET_SUM, code_t

cdef enum:
    DIGITS = 2048      # radix sort: counters, 11 bits


cdef CodeRange code_range(const Node* node, const Column* column) noexcept nogil:
    """The codes that occur in a node, from one pass over its draws."""
    cdef CodeRange found
    found.lowest = 0xFFFFFFFF
    found.highest = 0
    found.has_missing = False
    if column.width == 1:
        scan_range[uint8_t](node, <const uint8_t*> column.codes, column.n_codes, &found)
    elif column.width == 2:
        scan_range[uint16_t](node, <const uint16_t*> column.codes, column.n_codes, &found)
    else:
        scan_range[uint32_t](node, <const uint32_t*> column.codes, column.n_codes, &found)
    return found


cdef void scan_range(const Node* node, const code_t* codes, uint32_t n_codes, CodeRange* found) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint32_t code, lowest = 0xFFFFFFFF, highest = 0
    cdef bint has_missing = False
    for i in range(node.n):
        code = codes[node.draws[i].row]
        if code == n_codes:
            has_missing = True
        else:
            lowest = min(lowest, code)
            highest = max(highest, code)
    found.lowest = lowest
    found.highest = highest
    found.has_missing = has_missing


cdef void gather_keys(const Draw* draws, Py_ssize_t n, const code_t* codes, uint64_t* keys) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        keys[i] = (<uint64_t> codes[draws[i].row] << 32) | <uint64_t> i


cdef void insertion_sort(uint64_t* keys, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef uint64_t key
    for i in range(1, n):
        key = keys[i]
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key


cdef uint64_t* radix_sort(uint64_t* keys, uint64_t* other, Py_ssize_t n) noexcept nogil:
    """Sort by the upper 32 bits, stably; return whichever of the two buffers holds the result."""
    cdef uint32_t counts[DIGITS]
    cdef uint32_t lo = 0xFFFFFFFF, hi = 0, code, digit, total, held
    cdef int bits = 0, most = 8 if n < 1024 else 11, shift = 0, width
    cdef Py_ssize_t i
    for i in range(n):
        code = <uint32_t> (keys[i] >> 32)
        lo = min(lo, code)
        hi = max(hi, code)
    while bits < 32 and (hi - lo) >> bits:
        bits += 1
    if bits == 0:
        return keys
    width = (bits + most - 1) // most           # passes
    width = (bits + width - 1) // width         # bits of each
    while shift < bits:
        memset(counts, 0, (<size_t> 1 << width) * sizeof(uint32_t))
        for i in range(n):
            counts[((<uint32_t> (keys[i] >> 32) - lo) >> shift) & ((<uint32_t> 1 << width) - 1)] += 1
        total = 0
        for digit in range(<uint32_t> 1 << width):
            held = counts[digit]
            counts[digit] = total
            total += held
        for i in range(n):
            digit = ((<uint32_t> (keys[i] >> 32) - lo) >> shift) & ((<uint32_t> 1 << width) - 1)
            other[counts[digit]] = keys[i]
            counts[digit] += 1
        keys, other = other, keys
        shift += width
    return keys


cdef void count_pairs(const Draw* draws, Py_ssize_t n, const code_t* codes, uint64_t* histogram) noexcept nogil:
    """Two classes, weights of 1: both counts in one word, the second class in its upper half."""
    cdef Py_ssize_t i
    for i in range(n):
        histogram[codes[draws[i].row]] += <uint64_t> draws[i].count << (32 * draws[i].target)


cdef void count_classes(const Draw* draws, Py_ssize_t n, const code_t* codes, int64_t* histogram, Py_ssize_t n_words) noexcept nogil:
    """Weights of 1: class counts only."""
    cdef Py_ssize_t i
    for i in range(n):
        histogram[codes[draws[i].row] * n_words + 2 + draws[i].target] += draws[i].count


cdef void count_sums(const Draw* draws, Py_ssize_t n, const code_t* codes, int64_t* histogram) noexcept nogil:
    """Weights of 1: draws and sums of targets only."""
    cdef Py_ssize_t i
    cdef int64_t* words
    for i in range(n):
        words = histogram + <Py_ssize_t> codes[draws[i].row] * 3
        words[1] += draws[i].count
        words[2] += <int64_t> draws[i].count * draws[i].target


cdef void count_any(Cuts cuts, const Draw* draws, Py_ssize_t n, const code_t* codes) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        cuts.add(cuts.histogram + codes[draws[i].row] * cuts.n_words, &draws[i])


@cython.final
cdef class Cuts:
    """Finds the best cut of a feature in a node.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    is_unit : bool
        Whether all weights are 1.
    tuning : dict
        Values for the fields of `Tuning` that are not to have their defaults.
    """

    def __cinit__(self, Criterion criterion not None, bint is_unit, dict tuning not None):
        self.criterion = criterion
        self.is_unit = is_unit
        self.n_words = criterion.n_words
        self.tuning.sort_below = tuning.get("sort_below", 24)
        self.tuning.codes_per_record = tuning.get("codes_per_record", 8)
        self.tuning.insertion_below = tuning.get("insertion_below", 24)
        self.tuning.chunk = tuning.get("chunk", 256)
        self.left = <int64_t*> malloc((self.tuning.chunk + 2) * self.n_words * sizeof(int64_t))
        self.code = <uint32_t*> malloc(self.tuning.chunk * sizeof(uint32_t))
        self.missing_left = <bint*> malloc(self.tuning.chunk * sizeof(bint))
        if self.left == NULL or self.code == NULL or self.missing_left == NULL:
            raise MemoryError()
        self.sum = self.left + self.tuning.chunk * self.n_words
        self.missing = self.sum + self.n_words

    def __dealloc__(self):
        free(self.left)
        free(self.code)
        free(self.missing_left)
        free(self.histogram)
        free(self.keys)
        free(self.keys_to)

    cdef int reserve(self, Py_ssize_t n_records, Py_ssize_t n_codes) except -1:
        """Make room for nodes of n_records records, and columns of n_codes codes that get counted."""
        self.n_histogram = min(n_codes, self.tuning.codes_per_record * n_records) + 1
        self.n_keys = n_records
        self.histogram = <int64_t*> calloc(self.n_histogram * self.n_words, sizeof(int64_t))
        self.keys = <uint64_t*> malloc(self.n_keys * sizeof(uint64_t))
        self.keys_to = <uint64_t*> malloc(self.n_keys * sizeof(uint64_t))
        if self.histogram == NULL or self.keys == NULL or self.keys_to == NULL:
            raise MemoryError()
        return 0

    cdef bint find(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        """Replace `best` if a cut of this column has a higher score; return whether it is constant."""
        memset(self.sum, 0, 2 * self.n_words * sizeof(int64_t))
        self.n_seen = 0
        self.n_cuts = 0
        if node.n >= self.tuning.sort_below and <int64_t> column.n_codes <= self.tuning.codes_per_record * node.n:
            self.count(node, column, rules, best)
        else:
            self.sort(node, column, rules, best)
        if self.n_cuts > 0:
            self.score(node.statistics, best)
        return self.n_seen == 1

    cdef void find_at(self, const Node* node, const Column* column, uint32_t code, const LeafRules* rules,
                      Split* best) noexcept nogil:
        """Replace `best` if the cut after this code has a higher score."""
        memset(self.sum, 0, 2 * self.n_words * sizeof(int64_t))
        self.n_cuts = 0
        if column.width == 1:
            add_up_to[uint8_t](self, node, <const uint8_t*> column.codes, code, column.n_codes)
        elif column.width == 2:
            add_up_to[uint16_t](self, node, <const uint16_t*> column.codes, code, column.n_codes)
        else:
            add_up_to[uint32_t](self, node, <const uint32_t*> column.codes, code, column.n_codes)
        self.complete(self.sum)
        self.complete(self.missing)
        self.emit(node.statistics, code, rules, best)
        if self.n_cuts > 0:
            self.score(node.statistics, best)

    cdef inline void add(self, int64_t* statistic, const Draw* draw) noexcept nogil:
        """Add a draw to a statistic, but for the words that `complete` derives."""
        cdef int64_t weight = <int64_t> draw.count * draw.weight, product
        statistic[0] += draw.count
        if self.criterion.kind == CLASS_WEIGHTS:
            statistic[2 + draw.target] += weight
            return
        statistic[1] += weight
        if self.criterion.kind == TARGET_SUM:
            statistic[2] += weight * draw.target
        else:
            product = <int64_t> draw.weight * draw.target
            statistic[2] += (product & 0x7FFFFFFF) * draw.count
            statistic[3] += (product >> 31) * draw.count

    cdef inline void complete(self, int64_t* statistic) noexcept nogil:
        cdef Py_ssize_t k
        cdef int64_t weight = 0
        if self.criterion.kind == CLASS_WEIGHTS:
            for k in range(2, self.n_words):
                weight += statistic[k]
            statistic[1] = weight
        if self.is_unit:
            statistic[0] = statistic[1]

    cdef inline void emit(self, const int64_t* total, uint32_t code, const LeafRules* rules, Split* best) noexcept nogil:
        """Keep the cuts after this code, with `sum` the statistic of all values so far."""
        cdef Py_ssize_t k, side
        cdef int64_t* left
        for side in range(1 + (self.missing[0] > 0)):
            left = self.left + self.n_cuts * self.n_words
            for k in range(self.n_words):
                left[k] = self.sum[k] + (self.missing[k] if side else 0)
            if (left[0] < rules.min_draws or total[0] - left[0] < rules.min_draws
                    or <double> left[1] < rules.min_weight or <double> (total[1] - left[1]) < rules.min_weight):
                continue
            self.code[self.n_cuts] = code
            self.missing_left[self.n_cuts] = side
            self.n_cuts += 1
            if self.n_cuts == self.tuning.chunk:
                self.score(total, best)

    cdef void score(self, const int64_t* total, Split* best) noexcept nogil:
        """Score the cuts kept, update `best`, and start afresh."""
        cdef double score
        cdef Py_ssize_t i = self.criterion.best_cut(self.left, self.n_cuts, total, &score)
        cdef int64_t* left = self.left + i * self.n_words
        if score > best.score:
            best.score = score
            best.code = self.code[i]
            best.only_missing_right = self.missing[0] > 0 and left[0] + self.missing[0] == total[0] and not self.missing_left[i]
            # Where none is missing, missing values will go with the larger side.
            best.missing_left = self.missing_left[i] if self.missing[0] > 0 else 2 * left[0] > total[0]
        self.n_cuts = 0

    cdef void count(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        cdef const int64_t* total = node.statistics
        cdef bint pairs = (self.is_unit and self.criterion.kind == CLASS_WEIGHTS and self.n_words == 4
                           and total[1] < <int64_t> 1 << 32)
        cdef uint64_t* packed = <uint64_t*> self.histogram
        cdef uint64_t word
        cdef int64_t* words
        cdef uint32_t code
        cdef Py_ssize_t k
        cdef bint occurs
        if column.width == 1:
            fill[uint8_t](self, node, <const uint8_t*> column.codes, pairs)
        elif column.width == 2:
            fill[uint16_t](self, node, <const uint16_t*> column.codes, pairs)
        else:
            fill[uint32_t](self, node, <const uint32_t*> column.codes, pairs)
        if pairs:
            if column.has_missing:
                word = packed[column.n_codes]
                packed[column.n_codes] = 0
                self.missing[2] = <int64_t> <uint32_t> word
                self.missing[3] = word >> 32
                self.complete(self.missing)
                self.n_seen += self.missing[0] > 0
            for code in range(column.n_codes):
                word = packed[code]
                if word:
                    packed[code] = 0
                    self.sum[2] += <int64_t> <uint32_t> word
                    self.sum[3] += word >> 32
                    self.sum[1] = self.sum[2] + self.sum[3]
                    self.sum[0] = self.sum[1]
                    self.n_seen += 1
                    self.emit(total, code, rules, best)
            return
        if column.has_missing:
            words = self.histogram + column.n_codes * self.n_words
            self.complete(words)
            memcpy(self.missing, words, self.n_words * sizeof(int64_t))
            memset(words, 0, self.n_words * sizeof(int64_t))
            self.n_seen += self.missing[0] > 0
        words = self.histogram
        for code in range(column.n_codes):
            self.complete(words)
            if words[0] > 0:
                for k in range(self.n_words):
                    self.sum[k] += words[k]
                    words[k] = 0
                self.n_seen += 1
                self.emit(total, code, rules, best)
            words += self.n_words

    cdef void sort(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        cdef const int64_t* total = node.statistics
        cdef uint64_t* keys = self.keys
        cdef Py_ssize_t i, n = node.n, n_values
        cdef uint32_t code
        if column.width == 1:
            gather_keys[uint8_t](node.draws, n, <const uint8_t*> column.codes, keys)
        elif column.width == 2:
            gather_keys[uint16_t](node.draws, n, <const uint16_t*> column.codes, keys)
        else:
            gather_keys[uint32_t](node.draws, n, <const uint32_t*> column.codes, keys)
        if n < self.tuning.insertion_below:
            insertion_sort(keys, n)
        else:
            keys = radix_sort(keys, self.keys_to, n)
        n_values = n
        if column.has_missing:
            while n_values > 0 and <uint32_t> (keys[n_values - 1] >> 32) == column.n_codes:
                n_values -= 1
                self.add(self.missing, &node.draws[<uint32_t> keys[n_values]])
            if n_values < n:
                self.complete(self.missing)
                self.n_seen += 1
        for i in range(n_values):
            code = <uint32_t> (keys[i] >> 32)
            self.add(self.sum, &node.draws[<uint32_t> keys[i]])
            if i + 1 == n_values or <uint32_t> (keys[i + 1] >> 32) != code:
                self.complete(self.sum)
                self.n_seen += 1
                self.emit(total, code, rules, best)


cdef void fill(Cuts cuts, const Node* node, const code_t* codes, bint pairs) noexcept nogil:
    """Add the node's draws to the histogram over codes."""
    if pairs:
        count_pairs(node.draws, node.n, codes, <uint64_t*> cuts.histogram)
    elif cuts.is_unit and cuts.criterion.kind == CLASS_WEIGHTS:
        count_classes(node.draws, node.n, codes, cuts.histogram, cuts.n_words)
    elif cuts.is_unit and cuts.criterion.kind == TARGET_SUM:
        count_sums(node.draws, node.n, codes, cuts.histogram)
    else:
        count_any(cuts, node.draws, node.n, codes)


cdef void add_up_to(Cuts cuts, const Node* node, const code_t* codes, uint32_t code, uint32_t missing) noexcept nogil:
    """Sum up the draws whose code is at most `code`, and those that are missing."""
    cdef Py_ssize_t i
    cdef uint32_t c
    for i in range(node.n):
        c = codes[node.draws[i].row]
        if c <= code:
            cuts.add(cuts.sum, &node.draws[i])
        elif c == missing:
            cuts.add(cuts.missing, &node.draws[i])
