"""The records of a node as packed words: see words.pxd.

A `NodeWords` belongs to one thread and owns `own_row`, `own_word` and `own_slot`; `row`, `word` and `slot` may lead to those of
the thread whose node is shared.
"""
cimport cython
from libc.stdlib cimport free, malloc

from dforest.core.loops cimport DF_STRIDE, loops
from dforest.core.types cimport CLASS_WEIGHTS, TARGET_SUM, Record

cdef enum:
    LEAST_LENT = 3 * DF_STRIDE     # 16 bytes of scratch a record have room for 12, and for DF_STRIDE records more


@cython.final
cdef class NodeWords:
    """The records of the node at hand as packed words.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    is_unit : bool
        Whether all weights are 1.
    n_records : int
        Of the largest node.
    tuning : dict
        ``lent_from``: the field, if it is not to have its default.
    """

    def __cinit__(self, Criterion criterion not None, bint is_unit, Py_ssize_t n_records, dict tuning not None):
        self.criterion = criterion
        self.is_unit = is_unit
        self.is_pairs = criterion.kind == CLASS_WEIGHTS
        self.lent_from = max(LEAST_LENT, tuning.get("lent_from", 4096))
        if self.is_pairs and criterion.n_words <= 2 + 8:
            self.class_bits = 32 if criterion.n_words <= 2 + 2 else 16 if criterion.n_words <= 2 + 4 else 8
        self.own_row = <uint32_t*> malloc((n_records + DF_STRIDE) * sizeof(uint32_t))
        self.own_word = <uint64_t*> malloc((n_records + DF_STRIDE) * sizeof(uint64_t))
        if self.own_row == NULL or self.own_word == NULL:
            raise MemoryError()
        if is_unit and 0 < self.class_bits < 32:
            self.flip = df_lane_of(0)
            self.own_slot = <uint32_t*> malloc(n_records * sizeof(uint32_t))
            if self.own_slot == NULL:
                raise MemoryError()

    def __dealloc__(self):
        free(self.own_row)
        free(self.own_word)
        free(self.own_slot)

    cdef void close(self) noexcept nogil:
        """Forget the words of a node."""
        self.is_made = False

    cdef void borrow(self, NodeWords other) noexcept nogil:
        """Use the words that another thread has made of a node, and only reads from now on."""
        self.is_made = True
        self.room = other.room
        self.chunk = other.chunk
        self.row = other.row
        self.word = other.word
        self.slot = other.slot

    cdef void make(self, const Node* node) noexcept nogil:
        """Make the words of a node."""
        cdef Py_ssize_t i, n = node.n
        cdef const Record* records = node.records
        cdef uint32_t most
        cdef uint32_t* row = self.own_row
        cdef uint64_t* word = self.own_word
        if node.scratch != NULL and n >= self.lent_from:
            word = <uint64_t*> node.scratch
            row = <uint32_t*> (word + n + DF_STRIDE)
        self.is_made = True
        self.row = row
        self.word = word
        self.slot = self.own_slot
        self.room = (n + DF_STRIDE - 1) // DF_STRIDE * DF_STRIDE
        for i in range(DF_STRIDE):          # behind the records: the row of the first one, and nothing to add
            row[n + i] = records[0].row
            word[n + i] = 0
        if self.is_unit and self.class_bits > 0:
            most = loops.pack_classes(records, n, self.class_bits, self.flip, row, word, self.own_slot)
            self.chunk = ((<int64_t> 1 << self.class_bits) - 1) // most // DF_STRIDE * DF_STRIDE
        elif self.is_unit and self.criterion.kind == TARGET_SUM:
            most = loops.pack_sums(records, n, row, word)
            self.chunk = ((<int64_t> 1 << (64 - DF_SUM_BITS)) - 1) // most // DF_STRIDE * DF_STRIDE
        else:
            self.chunk = 0
            for i in range(n):
                row[i] = records[i].row

    cdef void unpack(self, uint64_t word, int64_t* statistic) noexcept nogil:
        """Add what a word stands for to a statistic."""
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
