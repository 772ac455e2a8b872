"""The records of a node as packed words, and its draws counted by code: see histogram.pxd.

A `PackedRecords` belongs to one thread and owns `own_row`, `own_sums` and `own_slot`; `row`, `word` and `slot` may lead to those
of the thread whose node is shared.

A `Histogram` belongs to one thread and owns its scratch, of which counters and bitmaps are all 0 between calls.
"""
cimport cython
from libc.stdint cimport uint16_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from dforest.core.codes cimport fill_packed_sums, gather_and_set_bits
from dforest.core.loops cimport DF_STRIDE, loops
from dforest.core.search.cut_list cimport CLASSES, RECORDS, SUMS
from dforest.core.search.packed_sums cimport (
    DF_COUNTED_CLASSES, DF_SUM_BIAS, DF_SUM_BITS, DF_SUM_MASK, df_add_bytes, df_class_counter_of, df_class_counters_of_halves,
    unpack_class_counters, unpack_sum,
)
from dforest.core.types cimport OUTPUTS, TARGET_SUM, Record, add_draws, code_t

cdef extern from *:
    """
    #define df_lowest_bit(x) __builtin_ctzll(x)
    """
    int df_lowest_bit(uint64_t x) nogil

cdef extern from "core/search/class_counters.h" nogil:
    void df_put_class_counters(uint16_t* class_counters, int64_t code, const uint64_t* words)
    void df_take_class_counters(uint16_t* class_counters, int64_t code, uint64_t* taken)
    int64_t df_walk_class_counters(uint16_t* class_counters, int64_t n_codes, uint64_t* run, uint64_t* more, uint32_t* codes)
    int64_t df_walk_occupied_class_counters(uint16_t* class_counters, uint64_t* occupancy, int64_t n_codes, uint64_t* run,
                                            uint64_t* more, uint32_t* codes)

cdef enum:
    MIN_IN_SCRATCH = 3 * DF_STRIDE  # 16 bytes of scratch a record have room for 12, and for DF_STRIDE records more


@cython.final
cdef class PackedRecords:
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
        ``scratch_from``: the field, if it is not to have its default.
    """

    def __cinit__(self, Criterion criterion not None, bint is_unit, Py_ssize_t n_records, dict tuning not None):
        self.criterion = criterion
        self.is_unit = is_unit
        self.is_binary = criterion.kind == CLASS_WEIGHTS
        self.scratch_from = max(MIN_IN_SCRATCH, tuning.get("scratch_from", 4096))
        if self.is_binary and criterion.n_words <= 2 + 8:
            self.class_bits = 32 if criterion.n_words <= 2 + 2 else 16 if criterion.n_words <= 2 + 4 else 8
        self.own_row = <uint32_t*> malloc((n_records + DF_STRIDE) * sizeof(uint32_t))
        self.own_sums = <uint64_t*> malloc((n_records + DF_STRIDE) * sizeof(uint64_t))
        if self.own_row == NULL or self.own_sums == NULL:
            raise MemoryError()
        if is_unit and 0 < self.class_bits < 32:
            self.flip = df_class_counter_of(0)
            self.own_slot = <uint32_t*> malloc(n_records * sizeof(uint32_t))
            if self.own_slot == NULL:
                raise MemoryError()

    def __dealloc__(self):
        free(self.own_row)
        free(self.own_sums)
        free(self.own_slot)

    cdef void forget_node(self) noexcept nogil:
        """Forget the words of a node."""
        self.is_made = False

    cdef void share_packed(self, PackedRecords other) noexcept nogil:
        """Use the words that another thread has made of a node, and only reads from now on."""
        self.is_made = True
        self.room = other.room
        self.chunk = other.chunk
        self.row = other.row
        self.sums = other.sums
        self.slot = other.slot

    cdef void pack_node(self, const Node* node) noexcept nogil:
        """Make the words of a node."""
        cdef Py_ssize_t i, n = node.n
        cdef const Record* records = node.records
        cdef uint32_t most
        cdef uint32_t* row = self.own_row
        cdef uint64_t* sums = self.own_sums
        if node.scratch != NULL and n >= self.scratch_from:
            sums = <uint64_t*> node.scratch
            row = <uint32_t*> (sums + n + DF_STRIDE)
        self.is_made = True
        self.row = row
        self.sums = sums
        self.slot = self.own_slot
        self.room = (n + DF_STRIDE - 1) // DF_STRIDE * DF_STRIDE
        for i in range(DF_STRIDE):          # behind the records: the row of the first one, and nothing to add
            row[n + i] = records[0].row
            sums[n + i] = 0
        if self.is_unit and self.class_bits > 0:
            most = loops.pack_classes(records, n, self.class_bits, self.flip, row, sums, self.own_slot)
            self.chunk = ((<int64_t> 1 << self.class_bits) - 1) // most // DF_STRIDE * DF_STRIDE
        elif self.is_unit and self.criterion.kind == TARGET_SUM:
            most = loops.pack_sums(records, n, row, sums)
            self.chunk = ((<int64_t> 1 << (64 - DF_SUM_BITS)) - 1) // most // DF_STRIDE * DF_STRIDE
        else:
            self.chunk = 0
            for i in range(n):
                row[i] = records[i].row

    cdef void add_unpacked(self, uint64_t word, int64_t* statistic) noexcept nogil:
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


cdef void fill(Accumulator accumulator, Histogram histogram, const Node* node, const code_t* codes) noexcept nogil:
    """Add the draws of a node to the counters."""
    cdef const Record* records = node.records
    cdef uint32_t* counters = <uint32_t*> histogram.counters
    cdef Py_ssize_t i, n = node.n, n_words = histogram.criterion.n_words, n_classes = n_words - 2
    cdef int64_t* words
    if accumulator == CLASSES:
        for i in range(n):
            counters[codes[records[i].row] * n_classes + records[i].target] += records[i].count
    elif accumulator == SUMS:
        for i in range(n):
            words = histogram.counters + 2 * <Py_ssize_t> codes[records[i].row]
            words[0] += records[i].count
            words[1] += <int64_t> records[i].count * records[i].target
    elif histogram.criterion.kind == OUTPUTS:
        loops.outputs.count(&histogram.criterion.outputs, records, n, codes, sizeof(code_t), n_words, histogram.counters)
    else:
        for i in range(n):
            add_draws(histogram.criterion.kind, histogram.counters + codes[records[i].row] * n_words, &records[i])


cdef void fill_class_counters(const uint32_t* row, const uint32_t* slot, Py_ssize_t n, const code_t* codes,
                              uint16_t* class_counters, uint64_t* occupancy) noexcept nogil:
    """Add n records to a histogram of class counters. INOUT occupancy : NULL, or a bit for each code that occurs"""
    cdef Py_ssize_t i
    cdef uint32_t code
    for i in range(n):
        class_counters[DF_COUNTED_CLASSES * <Py_ssize_t> codes[row[i]] + (slot[i] & 0xFFFF)] += <uint16_t> (slot[i] >> 16)
    if occupancy != NULL:
        for i in range(n):
            code = codes[row[i]]
            occupancy[code >> 6] |= <uint64_t> 1 << (code & 63)


cdef void set_bits(uint64_t* occupancy, const Node* node, const code_t* codes) noexcept nogil:
    """Set the bits of the codes that occur."""
    cdef Py_ssize_t i
    cdef uint32_t code
    for i in range(node.n):
        code = codes[node.records[i].row]
        occupancy[code >> 6] |= <uint64_t> 1 << (code & 63)


@cython.final
cdef class Histogram:
    """Counts the draws of a node by code.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    packed : PackedRecords
        Of the same thread.
    n_counted : int
        Codes of the largest column that is counted.
    n_bitmap_codes : int
        Codes of the largest column of which a bitmap is made.
    """

    def __cinit__(self, Criterion criterion not None, PackedRecords packed not None, Py_ssize_t n_counted,
                  Py_ssize_t n_bitmap_codes):
        cdef Py_ssize_t n_bitmap_words = max(n_counted, n_bitmap_codes) // 64 + 1
        self.criterion = criterion
        self.packed = packed
        self.counters = <int64_t*> calloc((n_counted + 1) * max(self.criterion.n_words, 4), sizeof(int64_t))     # or four copies
        self.occupancy = <uint64_t*> calloc(n_bitmap_words, sizeof(uint64_t))
        self.before = <uint32_t*> malloc(n_bitmap_words * sizeof(uint32_t))
        self.sum = <int64_t*> malloc(self.criterion.n_words * sizeof(int64_t))
        if self.counters == NULL or self.occupancy == NULL or self.before == NULL or self.sum == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.counters)
        free(self.occupancy)
        free(self.before)
        free(self.sum)

    cdef void count(self, const Node* node, const Column* column, bint by_bitmap, CutList* cuts) noexcept nogil:
        """Make the list of a column, by statistics, with a bitmap of the codes that occur if that is worth it."""
        cdef Accumulator accumulator = cuts.accumulator
        memset(self.sum, 0, self.criterion.n_words * sizeof(int64_t))
        if column.width == 1:
            fill[uint8_t](accumulator, self, node, <const uint8_t*> column.codes)
            if by_bitmap:
                set_bits[uint8_t](self.occupancy, node, <const uint8_t*> column.codes)
        elif column.width == 2:
            fill[uint16_t](accumulator, self, node, <const uint16_t*> column.codes)
            if by_bitmap:
                set_bits[uint16_t](self.occupancy, node, <const uint16_t*> column.codes)
        else:
            fill[uint32_t](accumulator, self, node, <const uint32_t*> column.codes)
            if by_bitmap:
                set_bits[uint32_t](self.occupancy, node, <const uint32_t*> column.codes)
        if column.has_missing:
            self.take_statistic(accumulator, column.n_codes, cuts.missing)
            if by_bitmap:
                self.occupancy[column.n_codes >> 6] &= ~(<uint64_t> 1 << (column.n_codes & 63))
        if accumulator == CLASSES:
            cuts.n = self.walk_classes(column.n_codes, by_bitmap, cuts)
        elif by_bitmap:
            cuts.n = self.walk_occupied(column.n_codes, cuts)
        elif accumulator == SUMS:
            cuts.n = self.walk_sums(column.n_codes, cuts)
        else:
            cuts.n = self.list_cuts(column.n_codes, cuts)

    cdef void add_by_bitmap(self, const Node* node, const Column* column, uint32_t* codes, CutList* cuts) noexcept nogil:
        """Make the list of a column: words are added up by the rank of their code among those that occur.

        OUT codes : [node.n] scratch
        """
        cdef uint64_t* run = cuts.run
        cdef uint64_t total = 0
        cdef uint64_t* last = &self.occupancy[column.n_codes >> 6]
        cdef uint64_t missing = <uint64_t> 1 << (column.n_codes & 63)
        cdef Py_ssize_t i, n, n_bitmap_words = column.n_codes // 64 + 1
        gather_and_set_bits(self.packed.row, node.n, column, codes, self.occupancy)
        n = loops.before(self.occupancy, n_bitmap_words, self.before)
        memset(run, 0, n * sizeof(uint64_t))
        loops.rank_packed_sums(codes, self.packed.sums, node.n, self.occupancy, self.before, run, cuts.code)
        if last[0] & missing:
            n -= 1
            cuts.missing_sum[0] = run[n]
            unpack_sum(run[n], cuts.is_binary, cuts.missing)
        memset(self.occupancy, 0, n_bitmap_words * sizeof(uint64_t))
        for i in range(n):
            total += run[i]
            run[i] = total
        cuts.n = n

    cdef void count_packed_sums(self, const Node* node, const Column* column, bint in_copies, CutList* cuts) noexcept nogil:
        """Make the list of a column, by words."""
        cdef uint64_t* histogram = <uint64_t*> self.counters
        cdef const uint32_t* row = self.packed.row
        cdef const uint64_t* words = self.packed.sums
        cdef uint32_t n_codes = column.n_codes
        cdef Py_ssize_t n_all = <Py_ssize_t> n_codes + column.has_missing
        if column.width == 1:
            fill_packed_sums[uint64_t, uint8_t](row, words, node.n, <const uint8_t*> column.codes, histogram, n_all, in_copies)
        elif column.width == 2:
            fill_packed_sums[uint64_t, uint16_t](row, words, node.n, <const uint16_t*> column.codes, histogram, n_all, in_copies)
        else:
            fill_packed_sums[uint64_t, uint32_t](row, words, node.n, <const uint32_t*> column.codes, histogram, n_all, in_copies)
        if column.has_missing:
            cuts.missing_sum[0] = histogram[n_codes]
            histogram[n_codes] = 0
            unpack_sum(cuts.missing_sum[0], cuts.is_binary, cuts.missing)
        cuts.n = loops.running_sums(histogram, n_codes, cuts.run, cuts.code)

    cdef void add_two(self, const Node* node, const uint8_t* codes) noexcept nogil:
        """Add the draws of a column of the codes 0 and 1 to a histogram of class counters: those of code 1 are added up."""
        cdef uint64_t[2] ones
        cdef uint64_t[2] zeros
        cdef uint64_t[2] halves
        cdef uint64_t sum
        cdef Py_ssize_t begin = 0, end, i
        cdef const uint32_t* row = self.packed.row
        cdef const uint64_t* sums = self.packed.sums
        halves[0] = halves[1] = ones[0] = ones[1] = zeros[0] = zeros[1] = 0
        while begin < node.n:
            end = min(begin + self.packed.chunk, node.n)
            sum = 0
            for i in range(begin, end):
                sum += sums[i] & -<uint64_t> codes[row[i]]
            if self.packed.class_bits == 16:
                ones[0] += sum
            else:
                df_add_bytes(sum, halves)
            begin = end
        if self.packed.class_bits < 16:
            df_class_counters_of_halves(halves, ones)
        for i in range(self.criterion.n_words - 2):
            zeros[i // 4] += <uint64_t> node.statistics[2 + i] << (16 * (i % 4))
        zeros[0] -= ones[0]
        zeros[1] -= ones[1]
        df_put_class_counters(<uint16_t*> self.counters, 0, zeros)
        df_put_class_counters(<uint16_t*> self.counters, 1, ones)

    cdef void count_class_counters(self, const Node* node, const Column* column, bint by_bitmap, CutList* cuts) noexcept nogil:
        """Make the list of a column, by class counters."""
        cdef uint16_t* class_counters = <uint16_t*> self.counters
        cdef uint64_t* occupancy = self.occupancy if by_bitmap else NULL
        cdef const uint32_t* row = self.packed.row
        cdef const uint32_t* slot = self.packed.slot
        cuts.is_packed = True
        if column.n_codes + column.has_missing == 2 and column.width == 1 and self.packed.chunk > 0:
            self.add_two(node, <const uint8_t*> column.codes)
            by_bitmap = False
        elif column.width == 1:
            fill_class_counters(row, slot, node.n, <const uint8_t*> column.codes, class_counters, occupancy)
        elif column.width == 2:
            fill_class_counters(row, slot, node.n, <const uint16_t*> column.codes, class_counters, occupancy)
        else:
            fill_class_counters(row, slot, node.n, <const uint32_t*> column.codes, class_counters, occupancy)
        if column.has_missing:
            df_take_class_counters(class_counters, column.n_codes, cuts.missing_sum)
            unpack_class_counters(cuts.missing_sum[0], cuts.missing_sum[1], cuts.missing, self.criterion.n_words)
            if by_bitmap:
                occupancy[column.n_codes >> 6] &= ~(<uint64_t> 1 << (column.n_codes & 63))
        if by_bitmap:
            cuts.n = df_walk_occupied_class_counters(class_counters, occupancy, column.n_codes, cuts.run, cuts.more, cuts.code)
        else:
            cuts.n = df_walk_class_counters(class_counters, column.n_codes, cuts.run, cuts.more, cuts.code)

    cdef inline void take_statistic(self, Accumulator accumulator, uint32_t code, int64_t* statistic) noexcept nogil:
        """Move what the counters have of a code to a statistic."""
        cdef uint32_t* counters = <uint32_t*> self.counters
        cdef int64_t* words
        cdef Py_ssize_t k
        if accumulator == CLASSES:
            counters += <Py_ssize_t> code * (self.criterion.n_words - 2)
            for k in range(self.criterion.n_words - 2):
                statistic[2 + k] += counters[k]
                counters[k] = 0
        elif accumulator == SUMS:
            words = self.counters + 2 * <Py_ssize_t> code
            statistic[1] += words[0]
            statistic[2] += words[1]
            words[0] = words[1] = 0
        else:
            words = self.counters + code * self.criterion.n_words
            for k in range(self.criterion.n_words):
                statistic[k] += words[k]
                words[k] = 0
        complete(self.criterion, statistic)
        if accumulator != RECORDS:
            statistic[0] = statistic[1]

    cdef void take_classes(self, uint32_t code, int64_t* to, const int64_t* before) noexcept nogil:
        """Set a statistic to the one before (NULL: none) and what the counters have of a code, which become 0."""
        cdef Py_ssize_t k, n_classes = self.criterion.n_words - 2
        cdef uint32_t* counters = <uint32_t*> self.counters + <Py_ssize_t> code * n_classes
        cdef int64_t total = 0, here
        for k in range(n_classes):
            here = counters[k] + (before[2 + k] if before != NULL else 0)
            counters[k] = 0
            to[2 + k] = here
            total += here
        to[0] = to[1] = total

    # The walks move what the counters have to the list's left sides and codes, and return how many codes occur.

    cdef Py_ssize_t walk_sums(self, uint32_t n_codes, CutList* cuts) noexcept nogil:
        cdef int64_t* words = self.counters
        cdef int64_t here, weight = 0, total = 0
        cdef int64_t* left = cuts.left
        cdef uint32_t* codes = cuts.code
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

    cdef Py_ssize_t walk_classes(self, uint32_t n_codes, bint by_bitmap, CutList* cuts) noexcept nogil:
        cdef uint64_t word
        cdef uint32_t code, at
        cdef Py_ssize_t n = 0, n_words = self.criterion.n_words
        cdef int64_t* to = cuts.left
        cdef const int64_t* before = NULL
        if not by_bitmap:
            for code in range(n_codes):
                self.take_classes(code, to, before)
                if to[0] > (before[0] if before != NULL else 0):
                    cuts.code[n] = code
                    n += 1
                    before = to
                    to += n_words
            return n
        for at in range((n_codes + 63) // 64):
            word = self.occupancy[at]
            self.occupancy[at] = 0
            while word:
                code = 64 * at + <uint32_t> df_lowest_bit(word)
                word &= word - 1
                self.take_classes(code, to, before)
                cuts.code[n] = code
                n += 1
                before = to
                to += n_words
        return n

    cdef Py_ssize_t list_cuts(self, uint32_t n_codes, CutList* cuts) noexcept nogil:
        cdef uint32_t code
        cdef Py_ssize_t n = 0
        for code in range(n_codes):
            if self.counters[code * <Py_ssize_t> self.criterion.n_words] > 0:        # draws
                self.pass_records(code, cuts.left + n * self.criterion.n_words)
                cuts.code[n] = code
                n += 1
        return n

    cdef inline void pass_records(self, uint32_t code, int64_t* left) noexcept nogil:
        """Add a code's statistic, which is one by records, to the sum, and clear it. OUT left : [n_words] the sum then"""
        cdef Py_ssize_t n_words = self.criterion.n_words
        loops.outputs.pass_statistics(self.counters + code * n_words, n_words, self.sum, left)

    cdef Py_ssize_t walk_occupied(self, uint32_t n_codes, CutList* cuts) noexcept nogil:
        cdef uint64_t word
        cdef uint32_t code, at
        cdef Py_ssize_t n = 0
        for at in range((n_codes + 63) // 64):
            word = self.occupancy[at]
            self.occupancy[at] = 0
            while word:
                code = 64 * at + <uint32_t> df_lowest_bit(word)
                word &= word - 1
                if cuts.accumulator == RECORDS:
                    self.pass_records(code, cuts.left + n * self.criterion.n_words)
                else:
                    self.take_statistic(cuts.accumulator, code, self.sum)
                    memcpy(cuts.left + n * self.criterion.n_words, self.sum, self.criterion.n_words * sizeof(int64_t))
                cuts.code[n] = code
                n += 1
        return n
