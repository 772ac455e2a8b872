"""The statistic of the draws on the left of a single cut.

The codes of a node's records are *gathered* first, one behind the other. Their range says where a random
cut may be; then the records up to its code are added up, and those that are missing.

Draws of weight 1 are added as packed *words*, unless they are of more than 8 classes. A word of numbers is
that of scan.h; one of classes has the draws of class k in its k-th 8, 16 or 32 bits. Words are added in
*chunks*, so small that nothing overflows.

A `Side` belongs to one thread and owns its scratch; words may be another one's.
"""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from dforest.core.loops cimport DF_STRIDE, df_extent, loops
from dforest.core.tally cimport DF_SUM_BIAS, DF_SUM_BITS, DF_SUM_MASK, df_sum_word
from dforest.core.types cimport CLASS_WEIGHTS, TARGET_SUM, Draw, add_draws, code_t, in_subset

cdef enum:
    NO_CODE = 0xFFFFFFFF       # above all codes


cdef void gather_codes(const uint32_t* row, Py_ssize_t room, const code_t* codes, uint32_t* to) noexcept nogil:
    cdef Py_ssize_t i, k
    for i in range(room // DF_STRIDE):
        for k in range(DF_STRIDE):
            to[i * DF_STRIDE + k] = codes[row[i * DF_STRIDE + k]]


cdef void gather_few(const uint32_t* row, Py_ssize_t room, const code_t* codes, uint32_t missing, uint32_t* to,
                     df_extent* extent) noexcept nogil:
    """The same, and `loops.extent` of them: a vector read at once of what has been written one by one would wait."""
    cdef Py_ssize_t i
    cdef uint32_t code, lowest = 0xFFFFFFFF, highest = 0, past = 0
    for i in range(room):
        code = codes[row[i]]
        to[i] = code
        lowest = min(lowest, code)
        highest = max(highest, code)
        past = max(past, code - missing)
    extent.lowest = lowest
    extent.highest = highest
    extent.highest_value = past + missing


@cython.final
cdef class Side:
    """Adds up the draws on the left of a cut.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    is_unit : bool
        Whether all weights are 1.
    n_records : int
        Of the largest node.
    tuning : dict
        See `dforest.core.tally.Tally`.
    """

    def __cinit__(self, Criterion criterion not None, bint is_unit, Py_ssize_t n_records, dict tuning not None):
        self.criterion = criterion
        self.is_unit = is_unit
        if criterion.kind == CLASS_WEIGHTS:
            self.class_bits = 32 if criterion.n_classes <= 2 else 16 if criterion.n_classes <= 4 else 8
            if criterion.n_classes > 8:
                self.class_bits = 0
        self.compared_up_to = tuning.get("compared_up_to", 8)
        self.reserve(n_records)

    def __dealloc__(self):
        free(self.own_row)
        free(self.own_word)
        free(self.own_code)

    cdef int reserve(self, Py_ssize_t n_records) except -1:
        self.own_row = <uint32_t*> malloc((n_records + DF_STRIDE) * sizeof(uint32_t))
        self.own_word = <uint64_t*> malloc((n_records + DF_STRIDE) * sizeof(uint64_t))
        self.own_code = <uint32_t*> malloc((n_records + DF_STRIDE) * sizeof(uint32_t))
        if self.own_row == NULL or self.own_word == NULL or self.own_code == NULL:
            raise MemoryError()
        return 0

    cdef void open_node(self) noexcept nogil:
        """Get ready for the columns of a node."""
        self.has_words = False
        self.turn += 1

    cdef void lend_words(self, const Node* node) noexcept nogil:
        """Have words that other threads may use: from now on this side only reads them."""
        if not self.has_words:
            self.make_words(node)

    cdef void borrow_words(self, Side other) noexcept nogil:
        """Use the words that another side lends, after `open_node` of the same node."""
        self.has_words = True
        self.room = other.room
        self.chunk = other.chunk
        self.row = other.row
        self.word = other.word

    cdef void make_words(self, const Node* node) noexcept nogil:
        """Fill `row` and `word`."""
        cdef Py_ssize_t i, n = node.n
        cdef const Draw* draws = node.draws
        cdef uint32_t most = 1
        cdef int64_t largest = 0           # that has room in a word
        self.has_words = True
        self.row = self.own_row
        self.word = self.own_word
        self.room = (n + DF_STRIDE - 1) // DF_STRIDE * DF_STRIDE
        self.chunk = 0
        for i in range(DF_STRIDE):          # beyond the records: the first one's row, and nothing to add
            self.own_row[n + i] = draws[0].row
            self.own_word[n + i] = 0
        if self.is_unit and self.class_bits > 0:
            largest = (<int64_t> 1 << self.class_bits) - 1
            for i in range(n):
                self.own_row[i] = draws[i].row
                self.own_word[i] = <uint64_t> draws[i].count << (self.class_bits * draws[i].target)
                most = max(most, draws[i].count)
        elif self.is_unit and self.criterion.kind == TARGET_SUM:
            largest = (<int64_t> 1 << (64 - DF_SUM_BITS)) - 1
            for i in range(n):
                self.own_row[i] = draws[i].row
                self.own_word[i] = df_sum_word(draws[i].count, draws[i].target)
                most = max(most, draws[i].count)
        else:
            for i in range(n):
                self.own_row[i] = draws[i].row
        self.chunk = largest // most // DF_STRIDE * DF_STRIDE

    cdef CodeRange gather(self, const Node* node, const Column* column, uint32_t* to) noexcept nogil:
        """Copy the codes of a column, in a node that is open; `code` is then where they are.

        OUT to : [records + DF_STRIDE] `own_code`, unless codes of several columns are needed
        """
        cdef CodeRange found
        cdef df_extent extent
        cdef uint32_t missing = column.n_codes if column.has_missing else <uint32_t> NO_CODE
        if not self.has_words:
            self.make_words(node)
        self.code = to
        if self.room <= self.compared_up_to:
            if column.width == 1:
                gather_few[uint8_t](self.row, self.room, <const uint8_t*> column.codes, missing, to, &extent)
            elif column.width == 2:
                gather_few[uint16_t](self.row, self.room, <const uint16_t*> column.codes, missing, to, &extent)
            else:
                gather_few[uint32_t](self.row, self.room, <const uint32_t*> column.codes, missing, to, &extent)
        else:
            if column.width == 1:
                gather_codes[uint8_t](self.row, self.room, <const uint8_t*> column.codes, to)
            elif column.width == 2:
                gather_codes[uint16_t](self.row, self.room, <const uint16_t*> column.codes, to)
            else:
                gather_codes[uint32_t](self.row, self.room, <const uint32_t*> column.codes, to)
            loops.extent(to, self.room, missing, &extent)
        found.lowest = extent.lowest
        found.highest = extent.highest_value
        found.has_missing = extent.highest == missing
        if extent.lowest == missing:
            found.lowest = NO_CODE
            found.highest = 0
        return found

    cdef void divide(self, const uint64_t* subset, uint32_t missing) noexcept nogil:
        """Replace the codes gathered: by 0 in a subset, 2 if missing, else 1."""
        cdef Py_ssize_t i
        cdef uint32_t code
        for i in range(self.room):
            code = self.code[i]
            self.code[i] = 2 if code == missing else not in_subset(subset, code)

    cdef void add_up(self, const Node* node, uint32_t last, uint32_t missing, bint has_missing, int64_t* left,
                     int64_t* of_missing) noexcept nogil:
        """Sum up the draws whose codes are values up to `last`, and those that are missing, if any are.

        OUT left, of_missing : [n_words]
        """
        cdef Py_ssize_t i, k, n_words = self.criterion.n_words
        for k in range(n_words):
            left[k] = of_missing[k] = 0
        if self.chunk > 0:
            self.add_words(last, left)
            if has_missing:
                self.add_words(missing - 1, of_missing)
                for k in range(n_words):
                    of_missing[k] = node.statistics[k] - of_missing[k]
            return
        if self.is_unit and self.criterion.kind == CLASS_WEIGHTS:
            self.add_classes(node, last, missing, left, of_missing)
            return
        for i in range(node.n):
            if self.code[i] <= last:
                add_draws(self.criterion.kind, left, &node.draws[i])
            elif self.code[i] == missing:
                add_draws(self.criterion.kind, of_missing, &node.draws[i])

    cdef void add_words(self, uint32_t last, int64_t* statistic) noexcept nogil:
        """Add the words of all codes up to one to a statistic."""
        cdef Py_ssize_t begin = 0
        while begin < self.room:
            self.unpack(loops.side(self.code + begin, self.word + begin, min(self.chunk, self.room - begin), last), statistic)
            begin += self.chunk

    cdef inline void unpack(self, uint64_t word, int64_t* statistic) noexcept nogil:
        """Add a word to a statistic."""
        cdef int64_t n_draws = 0, here
        cdef Py_ssize_t k
        if self.class_bits == 0:
            n_draws = <int64_t> (word >> DF_SUM_BITS)
            statistic[2] += <int64_t> (word & DF_SUM_MASK) - n_draws * DF_SUM_BIAS
        else:
            for k in range(2, self.criterion.n_words):
                here = <int64_t> (word & ((<uint64_t> 1 << self.class_bits) - 1))
                word >>= self.class_bits
                statistic[k] += here
                n_draws += here
        statistic[0] += n_draws
        statistic[1] += n_draws

    cdef void add_classes(self, const Node* node, uint32_t last, uint32_t missing, int64_t* left,
                          int64_t* of_missing) noexcept nogil:
        """The same with draws of weight 1 of many classes. No branches: which side a draw is on, nobody can foretell."""
        cdef Py_ssize_t i
        cdef uint32_t code
        cdef int64_t count
        cdef const Draw* draw
        for i in range(node.n):
            draw = &node.draws[i]
            code = self.code[i]
            count = draw.count & -<int64_t> (code <= last)
            left[0] += count
            left[2 + draw.target] += count
            if code == missing:
                of_missing[0] += draw.count
                of_missing[2 + draw.target] += draw.count
        left[1] = left[0]
        of_missing[1] = of_missing[0]
