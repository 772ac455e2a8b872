"""The statistic of the draws on the left of a single cut.

The codes of a node's records are *gathered* first, one behind the other. Their range says where a random
cut may be; then the records up to its code are added up, and those that are missing.

Draws of weight 1 are added as packed *words*, unless they are of more than 8 classes. A word of numbers is
that of scan.h; one of classes has the draws of class k in its k-th 8, 16 or 32 bits. Words are added in
*chunks*, so small that nothing overflows.

A `Side` belongs to one thread and owns its scratch; words may be another one's.
"""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from dforest.core.loops cimport DF_STRIDE, df_extent, loops
from dforest.core.search.tally cimport DF_SUM_BIAS, DF_SUM_BITS, DF_SUM_MASK, df_sum_word
from dforest.core.types cimport CLASS_WEIGHTS, TARGET_SUM, Draw, DrawKind, add_draws, column_t, in_subset

cdef enum:
    NO_CODE = 0xFFFFFFFF       # above all codes of a column without missing values, keys included

ctypedef fused held_t:         # codes as they are gathered
    uint32_t
    uint64_t


cdef void gather_codes(const uint32_t* row, Py_ssize_t room, const column_t* codes, held_t* to) noexcept nogil:
    cdef Py_ssize_t i, k
    for i in range(room // DF_STRIDE):
        for k in range(DF_STRIDE):
            to[i * DF_STRIDE + k] = codes[row[i * DF_STRIDE + k]]


cdef void gather_few(const uint32_t* row, Py_ssize_t room, const column_t* codes, held_t missing, held_t* to,
                     df_extent* extent) noexcept nogil:
    """The same, and `loops.extent` of them: a vector read at once of what has been written one by one would wait."""
    cdef Py_ssize_t i
    cdef held_t code, lowest = <held_t> -1, highest = 0, past = 0
    for i in range(room):
        code = codes[row[i]]
        to[i] = code
        lowest = min(lowest, code)
        highest = max(highest, code)
        past = max(past, <held_t> (code - missing))
    extent.lowest = lowest
    extent.highest = highest
    extent.highest_value = <held_t> (past + missing)


cdef void add_each(DrawKind kind, const Node* node, const held_t* codes, uint64_t last, uint64_t missing, int64_t* left,
                   int64_t* of_missing) noexcept nogil:
    """Add up the draws of all records, one by one."""
    cdef Py_ssize_t i
    for i in range(node.n):
        if codes[i] <= last:
            add_draws(kind, left, &node.draws[i])
        elif codes[i] == missing:
            add_draws(kind, of_missing, &node.draws[i])


cdef void add_classes(const Node* node, const held_t* codes, uint64_t last, uint64_t missing, int64_t* left,
                      int64_t* of_missing) noexcept nogil:
    """The same with draws of weight 1 of many classes. No branches: which side a draw is on, nobody can foretell."""
    cdef Py_ssize_t i
    cdef uint64_t code
    cdef int64_t count
    cdef const Draw* draw
    for i in range(node.n):
        draw = &node.draws[i]
        code = codes[i]
        count = draw.count & -<int64_t> (code <= last)
        left[0] += count
        left[2 + draw.target] += count
        if code == missing:
            of_missing[0] += draw.count
            of_missing[2 + draw.target] += draw.count
    left[1] = left[0]
    of_missing[1] = of_missing[0]


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
    widest : int
        Bytes of the columns' widest codes.
    tuning : dict
        See `dforest.core.search.tally.Tally`.
    """

    def __cinit__(self, Criterion criterion not None, bint is_unit, Py_ssize_t n_records, int32_t widest, dict tuning not None):
        self.criterion = criterion
        self.is_unit = is_unit
        if criterion.kind == CLASS_WEIGHTS:
            self.class_bits = 32 if criterion.n_classes <= 2 else 16 if criterion.n_classes <= 4 else 8
            if criterion.n_classes > 8:
                self.class_bits = 0
        self.compared_up_to = tuning.get("compared_up_to", 8)
        self.code_bytes = max(4, widest)
        self.reserve(n_records)

    def __dealloc__(self):
        free(self.own_row)
        free(self.own_word)
        free(self.own_code)

    cdef int reserve(self, Py_ssize_t n_records) except -1:
        self.own_row = <uint32_t*> malloc((n_records + DF_STRIDE) * sizeof(uint32_t))
        self.own_word = <uint64_t*> malloc((n_records + DF_STRIDE) * sizeof(uint64_t))
        self.own_code = malloc((n_records + DF_STRIDE) * self.code_bytes)
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

    cdef void use(self, const Column* column, const void* codes) noexcept nogil:
        """Let the codes of a column be these, gathered before. IN codes : [room]"""
        self.code = codes
        self.is_wide = column.width == 8

    cdef CodeRange gather(self, const Node* node, const Column* column, void* to) noexcept nogil:
        """Copy the codes of a column, in a node that is open, and use them.

        OUT to : [records + DF_STRIDE] `own_code`, unless codes of several columns are needed
        """
        cdef CodeRange found
        cdef df_extent extent
        cdef uint64_t missing = column.n_codes if column.has_missing else <uint64_t> NO_CODE
        cdef uint32_t* held = <uint32_t*> to
        if not self.has_words:
            self.make_words(node)
        self.use(column, to)
        if self.is_wide:
            missing = column.n_codes if column.has_missing else <uint64_t> -1
        if self.room <= self.compared_up_to:
            if column.width == 1:
                gather_few[uint8_t, uint32_t](self.row, self.room, <const uint8_t*> column.codes, missing, held, &extent)
            elif column.width == 2:
                gather_few[uint16_t, uint32_t](self.row, self.room, <const uint16_t*> column.codes, missing, held, &extent)
            elif column.width == 4:
                gather_few[uint32_t, uint32_t](self.row, self.room, <const uint32_t*> column.codes, missing, held, &extent)
            else:
                gather_few[uint64_t, uint64_t](self.row, self.room, <const uint64_t*> column.codes, missing, <uint64_t*> to,
                                               &extent)
        elif self.is_wide:
            gather_codes[uint64_t, uint64_t](self.row, self.room, <const uint64_t*> column.codes, <uint64_t*> to)
            loops.extent64(<const uint64_t*> to, self.room, missing, &extent)
        else:
            if column.width == 1:
                gather_codes[uint8_t, uint32_t](self.row, self.room, <const uint8_t*> column.codes, held)
            elif column.width == 2:
                gather_codes[uint16_t, uint32_t](self.row, self.room, <const uint16_t*> column.codes, held)
            else:
                gather_codes[uint32_t, uint32_t](self.row, self.room, <const uint32_t*> column.codes, held)
            loops.extent32(held, self.room, missing, &extent)
        found.lowest = extent.lowest
        found.highest = extent.highest_value
        found.has_missing = extent.highest == missing
        if extent.lowest == missing:
            found.lowest = <uint64_t> -1
            found.highest = 0
        return found

    cdef void divide(self, const uint64_t* subset, uint32_t missing) noexcept nogil:
        """Replace the categories in `own_code`: by 0 in a subset, 2 if missing, else 1."""
        cdef uint32_t* codes = <uint32_t*> self.own_code
        cdef Py_ssize_t i
        for i in range(self.room):
            codes[i] = 2 if codes[i] == missing else not in_subset(subset, codes[i])

    cdef void add_up(self, const Node* node, uint64_t last, uint64_t missing, bint has_missing, int64_t* left,
                     int64_t* of_missing) noexcept nogil:
        """Sum up the draws whose codes are values up to `last`, and those that are missing, if any are.

        OUT left, of_missing : [n_words]
        """
        cdef Py_ssize_t k, n_words = self.criterion.n_words
        for k in range(n_words):
            left[k] = of_missing[k] = 0
        if self.chunk > 0:
            self.add_words(last, left)
            if has_missing:
                self.add_words(missing - 1, of_missing)
                for k in range(n_words):
                    of_missing[k] = node.statistics[k] - of_missing[k]
        elif self.is_unit and self.criterion.kind == CLASS_WEIGHTS:
            if self.is_wide:
                add_classes(node, <const uint64_t*> self.code, last, missing, left, of_missing)
            else:
                add_classes(node, <const uint32_t*> self.code, last, missing, left, of_missing)
        elif self.is_wide:
            add_each(self.criterion.kind, node, <const uint64_t*> self.code, last, missing, left, of_missing)
        else:
            add_each(self.criterion.kind, node, <const uint32_t*> self.code, last, missing, left, of_missing)

    cdef void add_words(self, uint64_t last, int64_t* statistic) noexcept nogil:
        """Add the words of all codes up to one to a statistic."""
        cdef Py_ssize_t begin = 0, n
        cdef uint64_t sum
        while begin < self.room:
            n = min(self.chunk, self.room - begin)
            if self.is_wide:
                sum = loops.side64(<const uint64_t*> self.code + begin, self.word + begin, n, last)
            else:
                sum = loops.side32(<const uint32_t*> self.code + begin, self.word + begin, n, <uint32_t> last)
            self.unpack(sum, statistic)
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
