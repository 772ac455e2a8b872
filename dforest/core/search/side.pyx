"""The statistic of the draws on the left of a single cut: see side.pxd.

Draws of weight 1 are added as packed words (words.pxd), in *chunks*, so small that nothing overflows.

A `Side` belongs to one thread and owns its scratch, which the lists that it makes borrow.
"""
cimport cython
from libc.stdint cimport uint8_t, uint16_t
from libc.stdlib cimport free, malloc

from dforest.core.search.criterion cimport add_record
from dforest.core.loops cimport DF_STRIDE, df_extent, loops
from dforest.core.search.cut_list cimport LONE
from dforest.core.types cimport CLASS_WEIGHTS, Record, column_t, in_subset

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
    """`gather_codes` and `loops.extent` in one: a vector read at once of what has been written one by one would wait."""
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


cdef void add_each(Criterion criterion, const Node* node, const held_t* codes, uint64_t last, uint64_t missing, int64_t* left,
                   int64_t* of_missing) noexcept nogil:
    """Add up the draws of all records, one by one."""
    cdef Py_ssize_t i
    for i in range(node.n):
        if codes[i] <= last:
            add_record(criterion, left, &node.records[i])
        elif codes[i] == missing:
            add_record(criterion, of_missing, &node.records[i])


cdef void add_classes(const Node* node, const held_t* codes, uint64_t last, uint64_t missing, int64_t* left,
                      int64_t* of_missing) noexcept nogil:
    """`add_each` for draws of weight 1 of many classes. No branches: which side a draw is on, nobody can foretell."""
    cdef Py_ssize_t i
    cdef uint64_t code
    cdef int64_t count
    cdef const Record* record
    for i in range(node.n):
        record = &node.records[i]
        code = codes[i]
        count = record.count & -<int64_t> (code <= last)
        left[0] += count
        left[2 + record.target] += count
        if code == missing:
            of_missing[0] += record.count
            of_missing[2 + record.target] += record.count
    left[1] = left[0]
    of_missing[1] = of_missing[0]


@cython.final
cdef class Side:
    """Adds up the draws on the left of a cut.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    words : NodeWords
        Of the same thread.
    n_records : int
        Of the largest node.
    widest : int
        Bytes of the columns' widest codes.
    tuning : dict
        ``compared_up_to``: the field, if it is not to have its default.
    """

    def __cinit__(self, Criterion criterion not None, NodeWords words not None, Py_ssize_t n_records, int32_t widest,
                  dict tuning not None):
        self.criterion = criterion
        self.words = words
        self.compared_up_to = tuning.get("compared_up_to", 8)
        self.code_bytes = max(4, widest)
        self.own_code = malloc((n_records + DF_STRIDE) * self.code_bytes)
        self.left = <int64_t*> malloc(2 * criterion.n_words * sizeof(int64_t))
        if self.own_code == NULL or self.left == NULL:
            raise MemoryError()
        self.missing = self.left + criterion.n_words

    def __dealloc__(self):
        free(self.own_code)
        free(self.left)

    cdef void close_node(self) noexcept nogil:
        """Forget the codes of a node."""
        self.turn += 1

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
        cdef Py_ssize_t room
        cdef const uint32_t* row
        if not self.words.is_made:
            self.words.make(node)
        room = self.words.room
        row = self.words.row
        self.use(column, to)
        if self.is_wide:
            missing = column.n_codes if column.has_missing else <uint64_t> -1
        if room <= self.compared_up_to:
            if column.width == 1:
                gather_few[uint8_t, uint32_t](row, room, <const uint8_t*> column.codes, missing, held, &extent)
            elif column.width == 2:
                gather_few[uint16_t, uint32_t](row, room, <const uint16_t*> column.codes, missing, held, &extent)
            elif column.width == 4:
                gather_few[uint32_t, uint32_t](row, room, <const uint32_t*> column.codes, missing, held, &extent)
            else:
                gather_few[uint64_t, uint64_t](row, room, <const uint64_t*> column.codes, missing, <uint64_t*> to,
                                               &extent)
        elif self.is_wide:
            gather_codes[uint64_t, uint64_t](row, room, <const uint64_t*> column.codes, <uint64_t*> to)
            loops.extent64(<const uint64_t*> to, room, missing, &extent)
        else:
            if column.width == 1:
                gather_codes[uint8_t, uint32_t](row, room, <const uint8_t*> column.codes, held)
            elif column.width == 2:
                gather_codes[uint16_t, uint32_t](row, room, <const uint16_t*> column.codes, held)
            else:
                gather_codes[uint32_t, uint32_t](row, room, <const uint32_t*> column.codes, held)
            loops.extent32(held, room, missing, &extent)
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
        for i in range(self.words.room):
            codes[i] = 2 if codes[i] == missing else not in_subset(subset, codes[i])

    cdef void add_up(self, const Node* node, uint64_t last, uint64_t missing, bint has_missing, CutList* cuts) noexcept nogil:
        """Make the list of one cut: the draws whose codes are values up to `last`, and those that are missing, if any are."""
        cdef Py_ssize_t k, n_words = self.criterion.n_words
        cdef int64_t* left = self.left
        cdef int64_t* of_missing = self.missing
        cuts.kind = LONE
        cuts.n = 1
        cuts.lone = last
        cuts.is_packed = False
        cuts.left = left
        cuts.missing = of_missing
        cuts.subset = NULL
        cuts.place = NULL
        cuts.sorted = NULL
        for k in range(n_words):
            left[k] = of_missing[k] = 0
        if self.words.chunk > 0:
            self.add_words(last, left)
            if has_missing:
                self.add_words(missing - 1, of_missing)
                for k in range(n_words):
                    of_missing[k] = node.statistics[k] - of_missing[k]
        elif self.words.is_unit and self.criterion.kind == CLASS_WEIGHTS:
            if self.is_wide:
                add_classes(node, <const uint64_t*> self.code, last, missing, left, of_missing)
            else:
                add_classes(node, <const uint32_t*> self.code, last, missing, left, of_missing)
        elif self.is_wide:
            add_each(self.criterion, node, <const uint64_t*> self.code, last, missing, left, of_missing)
        else:
            add_each(self.criterion, node, <const uint32_t*> self.code, last, missing, left, of_missing)

    cdef void add_words(self, uint64_t last, int64_t* statistic) noexcept nogil:
        """Add the words of all codes up to one to a statistic."""
        cdef Py_ssize_t begin = 0, n, room = self.words.room, chunk = self.words.chunk
        cdef const uint64_t* word = self.words.word
        cdef uint64_t sum
        while begin < room:
            n = min(chunk, room - begin)
            if self.is_wide:
                sum = loops.side64(<const uint64_t*> self.code + begin, word + begin, n, last)
            else:
                sum = loops.side32(<const uint32_t*> self.code + begin, word + begin, n, <uint32_t> last)
            self.words.unpack(sum, statistic)
            begin += chunk
