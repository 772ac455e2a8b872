"""Statistics of the values that occur in a node, for one feature.

Two ways lead from the node's draws to the values that occur in it, in ascending order, each with the
statistic of all draws up to it. *Counting* adds every draw to a histogram over the column's codes,
then walks through it (through its marked codes, where few occur). *Sorting* sorts the node's records
by code. Both give the same integers. Draws of weight 1 are added as packed words, where their criterion
has words for them (see scan.h), and the statistics of all values then are such words too.

A `Tally` belongs to one thread and owns its scratch. Histogram and marks are all 0 between calls.
"""
cimport cython
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from dforest.core.codes cimport fill_words, gather_and_mark, gather_keys
from dforest.core.loops cimport DF_FEW, DF_FEW_DRAWS, DF_FEW_NO_CODE, DF_SMALL_DRAWS, loops
from dforest.core.sorting cimport insertion_sort, radix_sort
from dforest.core.types cimport CLASS_WEIGHTS, TARGET_SUM, add_draws, code_t

cdef extern from *:
    """
    #define df_lowest_bit(x) __builtin_ctzll(x)
    """
    int df_lowest_bit(uint64_t x) nogil


cdef void fill(Manner manner, Tally tally, const Node* node, const code_t* codes) noexcept nogil:
    """Add the node's draws to the histogram."""
    cdef const Draw* draws = node.draws
    cdef uint32_t* counters = <uint32_t*> tally.histogram
    cdef Py_ssize_t i, n = node.n, n_classes = tally.n_words - 2
    cdef int64_t* words
    if manner == CLASSES:
        for i in range(n):
            counters[codes[draws[i].row] * n_classes + draws[i].target] += draws[i].count
    elif manner == SUMS:
        for i in range(n):
            words = tally.histogram + 2 * <Py_ssize_t> codes[draws[i].row]
            words[0] += draws[i].count
            words[1] += <int64_t> draws[i].count * draws[i].target
    else:
        for i in range(n):
            add_draws(tally.criterion.kind, tally.histogram + codes[draws[i].row] * tally.n_words, &draws[i])


cdef void mark(uint64_t* marks, const Node* node, const code_t* codes) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint32_t code
    for i in range(node.n):
        code = codes[node.draws[i].row]
        marks[code >> 6] |= <uint64_t> 1 << (code & 63)


@cython.final
cdef class Tally:
    """Sums up the draws of a node by value.

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
        self.packs = is_unit and (criterion.n_classes == 2 or criterion.kind == TARGET_SUM) and criterion.is_additive
        self.n_words = criterion.n_words
        self.tuning.few_below = min(criterion.few + 1, tuning.get("few_below", DF_FEW + 1)) if is_unit else 0
        self.tuning.small_draws = min(<int64_t> DF_SMALL_DRAWS, tuning.get("small_draws", DF_SMALL_DRAWS))
        self.tuning.small_codes = tuning.get("small_codes", 4)
        if not is_unit or criterion.few == 0 or criterion.n_classes != 2:
            self.tuning.small_draws = 0
        self.tuning.sort_below = tuning.get("sort_below", 20)
        self.tuning.codes_per_record = tuning.get("codes_per_record", 8)
        self.tuning.insertion_below = tuning.get("insertion_below", 24)
        self.tuning.mark_from = tuning.get("mark_from", 2)
        self.tuning.copy_from = tuning.get("copy_from", 4)
        self.tuning.codes_per_mark = tuning.get("codes_per_mark", 512)

    def __dealloc__(self):
        free(self.histogram)
        free(self.marks)
        free(self.before)
        free(self.keys)
        free(self.keys_to)
        free(self.left)
        free(self.code)
        free(self.own_row)
        free(self.own_word)
        free(self.run)
        free(self.small)
        free(self.small_run)

    cdef int reserve(self, Py_ssize_t n_records, Py_ssize_t n_codes) except -1:
        """Make room for nodes of n_records records, and columns of n_codes codes."""
        cdef Py_ssize_t n_counted = min(n_codes, max(self.tuning.codes_per_record, self.tuning.small_codes) * n_records) + 1
        cdef Py_ssize_t n_marks = max(n_counted, min(n_codes, self.tuning.codes_per_mark * n_records)) // 64 + 1
        # Values, missing ones, and where values that do not occur are written.
        cdef Py_ssize_t n_values = min(n_records, n_codes) + 2
        self.histogram = <int64_t*> calloc(n_counted * max(self.n_words, 4), sizeof(int64_t))     # or four copies
        self.marks = <uint64_t*> calloc(n_marks, sizeof(uint64_t))
        self.before = <uint32_t*> malloc(n_marks * sizeof(uint32_t))
        self.keys = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.keys_to = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.left = <int64_t*> malloc((n_values + 2) * self.n_words * sizeof(int64_t))
        self.code = <uint32_t*> malloc(n_values * sizeof(uint32_t))
        if self.packs:
            self.own_row = <uint32_t*> malloc(n_records * sizeof(uint32_t))
            self.own_word = <uint64_t*> malloc(n_records * sizeof(uint64_t))
            self.run = <uint64_t*> malloc(n_values * sizeof(uint64_t))
            if self.own_row == NULL or self.own_word == NULL or self.run == NULL:
                raise MemoryError()
        if self.tuning.small_draws > 0:
            self.small = <uint32_t*> malloc(DF_SMALL_DRAWS * sizeof(uint32_t))
            self.small_run = <uint32_t*> malloc(256 * sizeof(uint32_t))
            if self.small == NULL or self.small_run == NULL:
                raise MemoryError()
        if (self.histogram == NULL or self.marks == NULL or self.before == NULL or self.keys == NULL or self.keys_to == NULL
                or self.left == NULL or self.code == NULL):
            raise MemoryError()
        self.sum = self.left + n_values * self.n_words
        self.missing = self.sum + self.n_words
        return 0

    cdef void open_node(self, const Node* node) noexcept nogil:
        """Get ready for the columns of a node."""
        cdef Py_ssize_t i
        cdef const Draw* draws = node.draws
        self.manner = self.manner_of(node.statistics)
        self.is_pairs = self.criterion.kind == CLASS_WEIGHTS
        self.has_words = self.has_small = False
        self.row = self.own_row
        self.word = self.own_word
        self.is_few = node.n < self.tuning.few_below and node.statistics[0] <= DF_FEW_DRAWS
        if not self.is_few:
            return
        self.few.n = <int> node.n
        for i in range(node.n, <Py_ssize_t> DF_FEW):
            self.few.code[i] = DF_FEW_NO_CODE
        if self.criterion.n_classes == 2:
            for i in range(node.n):
                self.few.pair[i] = <uint16_t> (draws[i].count << (8 * draws[i].target))
        elif self.is_pairs:
            for i in range(node.n):
                self.few.word[i] = <uint64_t> draws[i].count << (8 * draws[i].target)
        else:
            for i in range(node.n):
                self.few.word[i] = df_sum_word(draws[i].count, draws[i].target)

    cdef bint gather_few(self, const Node* node, const Column* column, uint64_t* missing) noexcept nogil:
        """Fill what `few` needs of a column; return whether all codes are equal. OUT missing : words of missing draws"""
        cdef uint32_t codes[DF_FEW]
        cdef int32_t ranks[DF_FEW]
        cdef Py_ssize_t i
        cdef uint32_t first, differing = 0, highest = 0xFFFFFFFF
        missing[0] = 0
        self.few.missing = DF_FEW_NO_CODE
        self.few.n_missing = 0
        if column.width == 1:
            for i in range(node.n):
                codes[i] = (<const uint8_t*> column.codes)[node.draws[i].row]
        elif column.width == 2:
            for i in range(node.n):
                codes[i] = (<const uint16_t*> column.codes)[node.draws[i].row]
        else:
            for i in range(node.n):
                codes[i] = (<const uint32_t*> column.codes)[node.draws[i].row]
        first = codes[0]
        for i in range(node.n):
            differing |= codes[i] ^ first
        if differing == 0:
            return True
        if column.has_missing:
            for i in range(node.n):
                if codes[i] == column.n_codes:
                    missing[0] += self.few.pair[i] if self.criterion.n_classes == 2 else self.few.word[i]
                    self.few.n_missing += <int> node.draws[i].count
                    codes[i] = highest
        if column.width < 4 and not column.has_missing:
            for i in range(node.n):        # the sign's bit turned: they order like unsigned numbers
                self.few.code[i] = <int16_t> (codes[i] ^ 0x8000)
            return False
        loops.few_ranks(codes, <int> node.n, ranks)
        for i in range(node.n):
            self.few.code[i] = <int16_t> ranks[i]
            if column.has_missing and codes[i] == highest:
                self.few.missing = <int16_t> ranks[i]
        return False

    cdef inline bint counts_small(self, const Node* node, const Column* column) noexcept nogil:
        """Whether `count_small` is for this node and column."""
        return (node.statistics[0] <= self.tuning.small_draws and column.width == 1
                and <int64_t> column.n_codes <= self.tuning.small_codes * node.n)

    cdef inline bint counts_in_copies(self, const Node* node, const Column* column) noexcept nogil:
        return node.n >= self.tuning.copy_from * (<int64_t> column.n_codes + 1)

    cdef bint count_small(self, const Node* node, const Column* column, uint32_t* missing) noexcept nogil:
        """Fill `small_run`; return whether all codes are equal. OUT missing : word of the missing draws"""
        cdef uint32_t* histogram = <uint32_t*> self.histogram
        cdef const uint8_t* codes = <const uint8_t*> column.codes
        cdef const Draw* draws = node.draws
        cdef Py_ssize_t i
        cdef uint32_t code, sum = 0, first = codes[draws[0].row]
        if not self.has_small:
            self.has_small = True
            if not self.has_words:
                for i in range(node.n):
                    self.own_row[i] = draws[i].row
            for i in range(node.n):
                self.small[i] = draws[i].count << (16 * draws[i].target)
        fill_words[uint32_t, uint8_t](self.row, self.small, node.n, codes, histogram, column.n_codes + 1,
                                      self.counts_in_copies(node, column))
        missing[0] = histogram[column.n_codes] if column.has_missing else 0
        if (histogram[first] & 0xFFFF) + (histogram[first] >> 16) == node.statistics[0]:
            histogram[first] = 0
            return True
        if column.has_missing:
            histogram[column.n_codes] = 0
        for code in range(column.n_codes):
            sum += histogram[code]
            histogram[code] = 0
            self.small_run[code] = sum
        return False

    cdef void make_words(self, const Node* node) noexcept nogil:
        """Fill `row` and `word`."""
        cdef Py_ssize_t i
        cdef const Draw* draws = node.draws
        self.has_words = True
        for i in range(node.n):
            self.own_row[i] = draws[i].row
        if self.is_pairs:
            for i in range(node.n):
                self.own_word[i] = df_pair_word(draws[i].count, draws[i].target)
        else:
            for i in range(node.n):
                self.own_word[i] = df_sum_word(draws[i].count, draws[i].target)

    cdef void lend_words(self, const Node* node) noexcept nogil:
        """Have words that other threads may use: from now on this tally only reads them."""
        if self.manner == WORDS and not self.has_words:
            self.make_words(node)

    cdef void borrow_words(self, Tally other) noexcept nogil:
        """Use the words that another tally lends, after `open_node` of the same node."""
        if self.manner == WORDS:
            self.row = other.row
            self.word = other.word
            self.has_words = True

    cdef Py_ssize_t cumulate(self, const Node* node, const Column* column) noexcept nogil:
        """Fill `left` or `run`, `code` and `missing` for all values that occur; return how many do."""
        cdef int64_t n_codes = column.n_codes
        cdef bint marking = (node.n >= self.tuning.sort_below
                             and self.tuning.mark_from * node.n <= n_codes <= self.tuning.codes_per_mark * node.n)
        cdef bint counting = (node.n >= self.tuning.sort_below
                              and n_codes <= self.tuning.codes_per_record * node.n)
        memset(self.sum, 0, 2 * self.n_words * sizeof(int64_t))
        self.is_packed = self.manner == WORDS
        self.missing_word = 0
        if self.is_packed and not self.has_words:
            self.make_words(node)
        if self.is_packed and marking:
            return self.mark_words(node, column)
        if not counting:
            return self.sort(node, column)
        return self.count_words(node, column) if self.is_packed else self.count(node, column)

    cdef void unpack(self, uint64_t word, int64_t* statistic) noexcept nogil:
        statistic[0] = statistic[1] = draws_of(word, self.is_pairs)
        if self.is_pairs:
            statistic[2] = <uint32_t> word
            statistic[3] = <int64_t> (word >> 32)
        else:
            statistic[2] = <int64_t> (word & DF_SUM_MASK) - statistic[0] * DF_SUM_BIAS

    cdef void expand(self, Py_ssize_t n) noexcept nogil:
        """Fill `left` from `run`, if that is where the statistics are."""
        cdef Py_ssize_t i
        if self.is_packed:
            self.is_packed = False
            for i in range(n):
                self.unpack(self.run[i], self.left + i * self.n_words)

    cdef inline Manner manner_of(self, const int64_t* total) noexcept nogil:
        if not self.is_unit or total[0] >> 32:
            return RECORDS
        if self.packs and total[0] < (DF_PAIR_DRAWS if self.criterion.kind == CLASS_WEIGHTS else DF_SUM_DRAWS):
            return WORDS
        if self.criterion.kind == CLASS_WEIGHTS:
            return CLASSES
        return SUMS if self.criterion.kind == TARGET_SUM else RECORDS

    cdef inline void complete(self, int64_t* statistic) noexcept nogil:
        cdef Py_ssize_t k
        cdef int64_t weight = 0
        if self.criterion.kind == CLASS_WEIGHTS:
            for k in range(2, self.n_words):
                weight += statistic[k]
            statistic[1] = weight

    cdef inline void take(self, Manner manner, uint32_t code, int64_t* statistic) noexcept nogil:
        """Move what the histogram has of a code to a statistic."""
        cdef uint32_t* counters = <uint32_t*> self.histogram
        cdef int64_t* words
        cdef Py_ssize_t k
        if manner == CLASSES:
            counters += <Py_ssize_t> code * (self.n_words - 2)
            for k in range(self.n_words - 2):
                statistic[2 + k] += counters[k]
                counters[k] = 0
        elif manner == SUMS:
            words = self.histogram + 2 * <Py_ssize_t> code
            statistic[1] += words[0]
            statistic[2] += words[1]
            words[0] = words[1] = 0
        else:
            words = self.histogram + code * self.n_words
            for k in range(self.n_words):
                statistic[k] += words[k]
                words[k] = 0
        self.complete(statistic)
        if manner != RECORDS:
            statistic[0] = statistic[1]

    cdef Py_ssize_t count(self, const Node* node, const Column* column) noexcept nogil:
        """Fill `left` and `code` by counting; return how many values occur."""
        cdef Manner manner = self.manner
        cdef bint marked = <int64_t> column.n_codes >= self.tuning.mark_from * node.n
        if column.width == 1:
            fill[uint8_t](manner, self, node, <const uint8_t*> column.codes)
            if marked:
                mark[uint8_t](self.marks, node, <const uint8_t*> column.codes)
        elif column.width == 2:
            fill[uint16_t](manner, self, node, <const uint16_t*> column.codes)
            if marked:
                mark[uint16_t](self.marks, node, <const uint16_t*> column.codes)
        else:
            fill[uint32_t](manner, self, node, <const uint32_t*> column.codes)
            if marked:
                mark[uint32_t](self.marks, node, <const uint32_t*> column.codes)
        if column.has_missing:
            self.take(manner, column.n_codes, self.missing)
            if marked:
                self.marks[column.n_codes >> 6] &= ~(<uint64_t> 1 << (column.n_codes & 63))
        if manner == CLASSES:
            return self.walk_classes(column.n_codes, marked)
        if marked:
            return self.walk_marked(manner, column.n_codes)
        if manner == SUMS:
            return self.walk_sums(column.n_codes)
        return self.walk(manner, column.n_codes)

    cdef Py_ssize_t mark_words(self, const Node* node, const Column* column) noexcept nogil:
        """Fill `run` and `code` by adding packed words up by the rank of their code among the marked ones."""
        cdef uint32_t* codes = <uint32_t*> self.keys
        cdef uint64_t* run = self.run
        cdef uint64_t total = 0
        cdef uint64_t* last = &self.marks[column.n_codes >> 6]
        cdef uint64_t missing = <uint64_t> 1 << (column.n_codes & 63)
        cdef Py_ssize_t i, n, n_words = column.n_codes // 64 + 1
        gather_and_mark(self.row, node.n, column, codes, self.marks)
        n = loops.before(self.marks, n_words, self.before)
        memset(run, 0, n * sizeof(uint64_t))
        loops.rank_sums(codes, self.word, node.n, self.marks, self.before, run, self.code)
        if last[0] & missing:
            n -= 1
            self.missing_word = run[n]
            self.unpack(self.missing_word, self.missing)
        memset(self.marks, 0, n_words * sizeof(uint64_t))
        for i in range(n):
            total += run[i]
            run[i] = total
        return n

    cdef Py_ssize_t count_words(self, const Node* node, const Column* column) noexcept nogil:
        """Fill `run` and `code` by counting packed words."""
        cdef uint64_t* histogram = <uint64_t*> self.histogram
        cdef uint64_t* run = self.run
        cdef uint64_t sum = 0, word
        cdef uint32_t* codes = self.code
        cdef uint32_t code, n_codes = column.n_codes
        cdef Py_ssize_t n = 0
        cdef bint copies = self.counts_in_copies(node, column)
        if column.width == 1:
            fill_words[uint64_t, uint8_t](self.row, self.word, node.n, <const uint8_t*> column.codes, histogram, n_codes + 1,
                                          copies)
        elif column.width == 2:
            fill_words[uint64_t, uint16_t](self.row, self.word, node.n, <const uint16_t*> column.codes, histogram, n_codes + 1,
                                           copies)
        else:
            fill_words[uint64_t, uint32_t](self.row, self.word, node.n, <const uint32_t*> column.codes, histogram, n_codes + 1,
                                           copies)
        if column.has_missing:
            self.missing_word = histogram[n_codes]
            histogram[n_codes] = 0
            self.unpack(self.missing_word, self.missing)
        for code in range(n_codes):      # no branches: a code that does not occur is written over
            word = histogram[code]
            histogram[code] = 0
            sum += word
            run[n] = sum
            codes[n] = code
            n += word != 0
        return n

    cdef Py_ssize_t walk_sums(self, uint32_t n_codes) noexcept nogil:
        cdef int64_t* words = self.histogram
        cdef int64_t here, weight = 0, total = 0
        cdef int64_t* left = self.left
        cdef uint32_t* codes = self.code
        cdef uint32_t code
        cdef Py_ssize_t n = 0
        for code in range(n_codes):
            here = words[2 * <Py_ssize_t> code]
            weight += here
            total += words[2 * <Py_ssize_t> code + 1]
            words[2 * <Py_ssize_t> code] = words[2 * <Py_ssize_t> code + 1] = 0
            left[3 * n] = left[3 * n + 1] = weight
            left[3 * n + 2] = total
            codes[n] = code
            n += here != 0
        return n

    cdef void take_classes(self, uint32_t code, int64_t* to, const int64_t* before) noexcept nogil:
        """The statistic before, or 0 if NULL, and what the counters have of a code, which become 0."""
        cdef Py_ssize_t k, n_classes = self.n_words - 2
        cdef uint32_t* counters = <uint32_t*> self.histogram + <Py_ssize_t> code * n_classes
        cdef int64_t total = 0, here
        for k in range(n_classes):
            here = counters[k] + (before[2 + k] if before != NULL else 0)
            counters[k] = 0
            to[2 + k] = here
            total += here
        to[0] = to[1] = total

    cdef Py_ssize_t walk_classes(self, uint32_t n_codes, bint marked) noexcept nogil:
        cdef uint64_t word
        cdef uint32_t code, at
        cdef Py_ssize_t n = 0
        cdef int64_t* to = self.left
        cdef const int64_t* before = NULL
        if not marked:
            for code in range(n_codes):
                self.take_classes(code, to, before)
                if to[0] > (before[0] if before != NULL else 0):
                    self.code[n] = code
                    n += 1
                    before = to
                    to += self.n_words
            return n
        for at in range((n_codes + 63) // 64):
            word = self.marks[at]
            self.marks[at] = 0
            while word:
                code = 64 * at + <uint32_t> df_lowest_bit(word)
                word &= word - 1
                self.take_classes(code, to, before)
                self.code[n] = code
                n += 1
                before = to
                to += self.n_words
        return n

    cdef Py_ssize_t walk(self, Manner manner, uint32_t n_codes) noexcept nogil:
        cdef uint32_t code
        cdef int64_t before
        cdef Py_ssize_t n = 0
        for code in range(n_codes):
            before = self.sum[0]
            self.take(manner, code, self.sum)
            memcpy(self.left + n * self.n_words, self.sum, self.n_words * sizeof(int64_t))
            self.code[n] = code
            n += self.sum[0] != before
        return n

    cdef Py_ssize_t walk_marked(self, Manner manner, uint32_t n_codes) noexcept nogil:
        cdef uint64_t word
        cdef uint32_t code, at
        cdef Py_ssize_t n = 0
        for at in range((n_codes + 63) // 64):
            word = self.marks[at]
            self.marks[at] = 0
            while word:
                code = 64 * at + <uint32_t> df_lowest_bit(word)
                word &= word - 1
                self.take(manner, code, self.sum)
                memcpy(self.left + n * self.n_words, self.sum, self.n_words * sizeof(int64_t))
                self.code[n] = code
                n += 1
        return n

    cdef uint64_t* sort_keys(self, Py_ssize_t n) noexcept nogil:
        """Sort `keys`; return where they are then."""
        cdef uint64_t* keys = self.keys
        if n < self.tuning.insertion_below:
            insertion_sort(keys, n)
        else:
            keys = radix_sort(keys, self.keys_to, n)
        self.sorted = keys
        return keys

    cdef Py_ssize_t sort(self, const Node* node, const Column* column) noexcept nogil:
        """Fill `left` or `run`, and `code`, by sorting; return how many values occur."""
        cdef uint64_t* keys = self.keys
        cdef Py_ssize_t n = node.n, n_values = node.n
        gather_keys[Draw](node.draws, n, column, keys)
        keys = self.sort_keys(n)
        if column.has_missing:
            while n_values > 0 and <uint32_t> (keys[n_values - 1] >> 32) == column.n_codes:
                n_values -= 1
            if n_values < n and self.manner == WORDS:
                self.walk_sorted_words(keys + n_values, n - n_values, &self.missing_word)
                self.unpack(self.missing_word, self.missing)
            elif n_values < n:
                if self.manner == SUMS:
                    self.walk_sorted_sums(keys + n_values, n - n_values, node.draws)
                else:
                    self.walk_sorted(keys + n_values, n - n_values, node.draws)
                memcpy(self.missing, self.left, self.n_words * sizeof(int64_t))
                memset(self.sum, 0, self.n_words * sizeof(int64_t))
        if self.manner == WORDS:
            return self.walk_sorted_words(keys, n_values, NULL)
        if self.manner == SUMS:
            return self.walk_sorted_sums(keys, n_values, node.draws)
        return self.walk_sorted(keys, n_values, node.draws)

    cdef Py_ssize_t walk_sorted_words(self, const uint64_t* keys, Py_ssize_t n, uint64_t* sum) noexcept nogil:
        """OUT sum : of all, if not NULL"""
        cdef uint64_t total = 0
        cdef uint64_t* run = self.run
        cdef Py_ssize_t i, n_values = 0
        cdef uint32_t code, next_code = <uint32_t> (keys[0] >> 32) if n else 0
        for i in range(n):               # a value that goes on is written over
            code = next_code
            next_code = <uint32_t> (keys[i + 1] >> 32) if i + 1 < n else ~code
            total += self.word[<uint32_t> keys[i]]
            run[n_values] = total
            self.code[n_values] = code
            n_values += code != next_code
        if sum != NULL:
            sum[0] = total
        return n_values

    cdef Py_ssize_t walk_sorted_sums(self, const uint64_t* keys, Py_ssize_t n, const Draw* draws) noexcept nogil:
        cdef int64_t weight = 0, total = 0
        cdef int64_t* left = self.left
        cdef const Draw* draw
        cdef Py_ssize_t i, n_values = 0
        cdef uint32_t code, next_code = <uint32_t> (keys[0] >> 32) if n else 0
        for i in range(n):
            code = next_code
            next_code = <uint32_t> (keys[i + 1] >> 32) if i + 1 < n else ~code
            draw = &draws[<uint32_t> keys[i]]
            weight += draw.count
            total += <int64_t> draw.count * draw.target
            left[3 * n_values] = left[3 * n_values + 1] = weight
            left[3 * n_values + 2] = total
            self.code[n_values] = code
            n_values += code != next_code
        return n_values

    cdef Py_ssize_t walk_sorted(self, const uint64_t* keys, Py_ssize_t n, const Draw* draws) noexcept nogil:
        cdef Py_ssize_t i, n_values = 0
        cdef uint32_t code
        for i in range(n):
            code = <uint32_t> (keys[i] >> 32)
            add_draws(self.criterion.kind, self.sum, &draws[<uint32_t> keys[i]])
            if i + 1 == n or <uint32_t> (keys[i + 1] >> 32) != code:
                self.complete(self.sum)
                memcpy(self.left + n_values * self.n_words, self.sum, self.n_words * sizeof(int64_t))
                self.code[n_values] = code
                n_values += 1
        return n_values
