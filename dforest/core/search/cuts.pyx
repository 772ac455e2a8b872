"""The cuts of one feature in one node, single cuts and those of categories among them, and the best of them: see cuts.pxd.

A single cut's left side is added up: draws of weight 1 as packed words (packed_sums.pxd), in *chunks*, so small that nothing
overflows.

A `Cuts` belongs to one thread, and so does all that it is made of. A `LeftSums` owns its scratch, which lists borrow.
"""
cimport cython
from libc.stdint cimport uint8_t, uint16_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from dforest.core.loops cimport DF_STRIDE, DF_UNORDERED_DRAWS, df_extent, loops
from dforest.core.search.split_evaluator cimport evaluator_class_of, take_cut
from dforest.core.search.criterion cimport add_record
from dforest.core.search.cut_list cimport CLASS_COUNTERS, RECORDS, SINGLE_CUT, add_missing, expand
from dforest.core.types cimport CATEGORICAL, CLASS_WEIGHTS, MAX_BUCKETS, Record, column_t, in_subset
from dforest.rules.categories cimport df_is_rarer
from dforest.rules.cut cimport df_is_valid, df_leads_left
from dforest.rules.numerics cimport df_imbalance

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
cdef class LeftSums:
    """Adds up the draws on the left of a cut.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    packed : PackedRecords
        Of the same thread.
    n_records : int
        Of the largest node.
    widest : int
        Bytes of the columns' widest codes.
    stored : Stored or None
        Of the same thread; None if no column is sparse.
    """

    def __cinit__(self, Criterion criterion not None, PackedRecords packed not None, Py_ssize_t n_records, int32_t widest,
                  Stored stored):
        self.criterion = criterion
        self.packed = packed
        self.stored = stored
        self.code = malloc((n_records + DF_STRIDE) * max(4, widest))
        self.left = <int64_t*> malloc(2 * criterion.n_words * sizeof(int64_t))
        if self.code == NULL or self.left == NULL:
            raise MemoryError()
        self.missing = self.left + criterion.n_words

    def __dealloc__(self):
        free(self.code)
        free(self.left)

    cdef CodeRange gather(self, const Node* node, const Column* column) noexcept nogil:
        """Copy the codes of a column to `code`, in a node that is open."""
        if column.stored != NULL:
            return self.gather_stored(node, column)
        cdef CodeRange found
        cdef df_extent extent
        cdef uint64_t missing = column.n_codes if column.has_missing else <uint64_t> NO_CODE
        cdef uint32_t* held = <uint32_t*> self.code
        cdef Py_ssize_t room
        cdef const uint32_t* row
        if not self.packed.is_made:
            self.packed.pack_node(node)
        room = self.packed.room
        row = self.packed.row
        self.n_stored = -1
        self.is_wide = column.width == 8
        if self.is_wide:
            missing = column.n_codes if column.has_missing else <uint64_t> -1
        if self.is_wide:
            gather_codes[uint64_t, uint64_t](row, room, <const uint64_t*> column.codes, <uint64_t*> self.code)
            loops.extent64(<const uint64_t*> self.code, room, missing, &extent)
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
        found.has_missing = self.has_missing = extent.highest == missing
        if extent.lowest == missing:
            found.lowest = <uint64_t> -1
            found.highest = 0
        return found

    cdef CodeRange gather_stored(self, const Node* node, const Column* column) noexcept nogil:
        """`gather` of a sparse column."""
        cdef CodeRange found
        cdef const uint64_t* code = self.stored.code
        cdef Py_ssize_t i, n = self.stored.gather(node, column)
        cdef bint is_missing
        self.n_stored = n
        self.implied = column.implied
        found.lowest = found.highest = column.implied
        if n == node.n:
            found.lowest = <uint64_t> -1
            found.highest = 0
        found.has_missing = False
        for i in range(n):
            is_missing = column.has_missing and code[i] == column.n_codes
            found.has_missing |= is_missing
            found.lowest = min(found.lowest, found.lowest if is_missing else code[i])
            found.highest = max(found.highest, found.highest if is_missing else code[i])
        self.has_missing = found.has_missing
        return found

    cdef uint32_t find_categories(self, const Node* node, uint32_t n_codes, uint64_t* present) noexcept nogil:
        """How many categories were gathered. OUT present : [n_codes bits] which these are"""
        cdef const uint32_t* codes = <const uint32_t*> self.code
        cdef Py_ssize_t i, at, n_words = (<Py_ssize_t> n_codes + 63) // 64
        cdef uint32_t n_present = 0
        cdef uint64_t rest
        memset(present, 0, n_words * sizeof(uint64_t))
        if self.n_stored < 0:
            for i in range(node.n):
                if codes[i] < n_codes:
                    present[codes[i] >> 6] |= <uint64_t> 1 << (codes[i] & 63)
        else:
            for i in range(self.n_stored):
                if self.stored.code[i] < n_codes:
                    present[self.stored.code[i] >> 6] |= <uint64_t> 1 << (self.stored.code[i] & 63)
            if self.n_stored < node.n:
                present[self.implied >> 6] |= <uint64_t> 1 << (self.implied & 63)
        for at in range(n_words):
            rest = present[at]
            while rest:
                rest &= rest - 1
                n_present += 1
        return n_present

    cdef int64_t find_rarest(self, const Node* node, uint32_t n_codes, int64_t* draws) noexcept nogil:
        """The rarest category that was gathered: see df_is_rarer. -1: there is none. OUT draws : [n_codes] of those there are"""
        cdef const uint32_t* codes = <const uint32_t*> self.code
        cdef const uint64_t* stored = NULL if self.n_stored < 0 else self.stored.code
        cdef Py_ssize_t i, turn, n = node.n if self.n_stored < 0 else self.n_stored
        cdef uint64_t code
        cdef int64_t count, rest = node.statistics[0], rarest = -1
        for turn in range(3):              # to clear, to count, to compare
            for i in range(n):
                code = codes[i] if stored == NULL else stored[i]
                count = node.records[i if stored == NULL else <Py_ssize_t> self.stored.place[i]].count
                rest -= count if turn == 1 else 0
                if code >= n_codes:
                    continue
                if turn < 2:
                    draws[code] = draws[code] + count if turn == 1 else 0
                elif rarest < 0 or df_is_rarer(draws[code], code, draws[rarest], rarest):
                    rarest = <int64_t> code
        if stored != NULL and n < node.n and (rarest < 0 or df_is_rarer(rest, self.implied, draws[rarest], rarest)):
            rarest = <int64_t> self.implied
        return rarest

    cdef void divide(self, const uint64_t* subset, uint32_t missing) noexcept nogil:
        """Replace the categories that were gathered: by 0 in a subset, 2 if missing, else 1."""
        cdef uint32_t* codes = <uint32_t*> self.code
        cdef uint64_t* stored
        cdef Py_ssize_t i
        if self.n_stored < 0:
            for i in range(self.packed.room):
                codes[i] = 2 if codes[i] == missing else not in_subset(subset, codes[i])
            return
        stored = self.stored.code
        for i in range(self.n_stored):
            stored[i] = 2 if stored[i] == missing else not in_subset(subset, <uint32_t> stored[i])
        self.implied = not in_subset(subset, <uint32_t> self.implied)

    cdef void add_up(self, const Node* node, uint64_t last, uint64_t missing, bint has_missing, CutList* cuts) noexcept nogil:
        """Make the list of one cut: the draws whose codes are values up to `last`, and those that are missing, if any are."""
        cdef Py_ssize_t k, n_words = self.criterion.n_words
        cdef int64_t* left = self.left
        cdef int64_t* of_missing = self.missing
        cuts.kind = SINGLE_CUT
        cuts.n = 1
        cuts.single_cut = last
        cuts.is_packed = False
        cuts.left = left
        cuts.missing = of_missing
        cuts.subset = NULL
        cuts.place = cuts.ends = NULL
        cuts.sorted = NULL
        for k in range(n_words):
            left[k] = of_missing[k] = 0
        if self.n_stored >= 0:
            self.add_stored(node, last, missing)
        elif self.packed.chunk > 0:
            self.add_packed_sums(last, left)
            if has_missing:
                self.add_packed_sums(missing - 1, of_missing)
                for k in range(n_words):
                    of_missing[k] = node.statistics[k] - of_missing[k]
        elif self.packed.is_unit and self.criterion.kind == CLASS_WEIGHTS:
            if self.is_wide:
                add_classes(node, <const uint64_t*> self.code, last, missing, left, of_missing)
            else:
                add_classes(node, <const uint32_t*> self.code, last, missing, left, of_missing)
        elif self.is_wide:
            add_each(self.criterion, node, <const uint64_t*> self.code, last, missing, left, of_missing)
        else:
            add_each(self.criterion, node, <const uint32_t*> self.code, last, missing, left, of_missing)

    cdef void add_stored(self, const Node* node, uint64_t last, uint64_t missing) noexcept nogil:
        """Add up the draws of a sparse column, of which those that are not stored are the rest of the node."""
        cdef bint takes_rest = self.n_stored < node.n and self.implied <= last
        cdef const uint64_t* code = self.stored.code
        cdef const uint32_t* place = self.stored.place
        cdef Py_ssize_t i, k
        for i in range(self.n_stored):
            if self.has_missing and code[i] == missing:
                add_record(self.criterion, self.missing, &node.records[place[i]])
            elif (code[i] <= last) != takes_rest:
                add_record(self.criterion, self.left, &node.records[place[i]])
        if takes_rest:
            for k in range(self.criterion.n_words):
                self.left[k] = node.statistics[k] - self.left[k] - self.missing[k]

    cdef void add_packed_sums(self, uint64_t last, int64_t* statistic) noexcept nogil:
        """Add the words of all codes up to one to a statistic."""
        cdef Py_ssize_t begin = 0, n, room = self.packed.room, chunk = self.packed.chunk
        cdef const uint64_t* word = self.packed.sums
        cdef uint64_t sum
        while begin < room:
            n = min(chunk, room - begin)
            if self.is_wide:
                sum = loops.side64(<const uint64_t*> self.code + begin, word + begin, n, last)
            else:
                sum = loops.side32(<const uint32_t*> self.code + begin, word + begin, n, <uint32_t> last)
            self.packed.add_unpacked(sum, statistic)
            begin += chunk


cdef class Cuts:
    """Finds the best cut of a feature in a node.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    data : DataView
    n_records : int
        Of the largest node.
    one_hot : bool
        Whether categories are divided from the rest one by one.
    tuning : dict
        Size thresholds of `PackedRecords`, `HistogramBuilder`, `UnorderedRecords`, `LeftSums` and `Stored`.
    """

    def __cinit__(self, Criterion criterion not None, DataView data not None, Py_ssize_t n_records, bint one_hot,
                  dict tuning not None):
        cdef Py_ssize_t j, n_codes = MAX_BUCKETS, n_categories = 0
        cdef const Column* column
        cdef bint is_unit = data.weight == NULL
        for j in range(data.n_features):
            column = &data.columns[j]
            if not column.has_keys:
                n_codes = max(n_codes, <Py_ssize_t> column.n_codes)
            if column.kind == CATEGORICAL:
                n_categories = max(n_categories, <Py_ssize_t> column.n_codes)
            self.is_bounded = self.is_bounded or column.monotonic_cst != 0
        self.criterion = criterion
        self.evaluator = evaluator_class_of(criterion)(
            criterion, n_records, min(n_records, n_codes if self.is_bounded else n_categories) + 1, self.is_bounded)
        self.scans_packed_sums = self.evaluator.scans is not None and self.evaluator.scans.takes_packed_sums
        self.scans_class_counters = self.evaluator.scans is not None and self.evaluator.scans.takes_class_counters
        self.packed = PackedRecords(criterion, is_unit, n_records, tuning)
        self.unordered = UnorderedRecords(criterion, self.evaluator.scans, is_unit, tuning)
        self.builder = HistogramBuilder(criterion, self.packed, n_records, n_codes, self.evaluator.needs_order, tuning)
        if data.has_sparse:
            self.stored = Stored(criterion, data, tuning)
        self.left_sums = LeftSums(criterion, self.packed, n_records, data.widest(), self.stored)
        self.categories = Categories(criterion, n_records, n_categories, one_hot)

    cdef void open_node(self, const Node* node) noexcept nogil:
        """Get ready for the columns of a node."""
        self.close_node()
        self.unordered.open_node(node)
        self.builder.open_node(node)
        self.evaluator.open_node(node)
        self.is_open = True

    cdef void close_node(self) noexcept nogil:
        """Forget the node that was open. A search that does not open the next one opens it by looking for a cut."""
        self.is_open = False
        self.rarest = -1
        self.packed.forget_node()
        self.score_of_two = -1.0

    cdef void lend_node(self, const Node* node) noexcept nogil:
        """Before others join an open node: have words that they may read."""
        if not self.is_open:
            self.open_node(node)
        if not self.packed.is_made:
            self.packed.pack_node(node)

    cdef void join_node(self, const Node* node, Cuts other) noexcept nogil:
        """Get ready for the columns of a node that another thread has open."""
        self.open_node(node)
        self.packed.share_packed(other.packed)

    cdef bint find(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        cdef CutList cuts
        cdef Column unpacked
        cdef double before = best.score
        cdef bint is_constant
        if not self.is_open:
            self.open_node(node)
        if column.kind == CATEGORICAL:
            self.categories.look_up(node, column - node.columns)
        if self.unpacks(column):
            unpacked = self.stored.unpack(node, column)
            column = &unpacked
        if column.stored != NULL:
            self.builder.blank(&cuts)
            cuts.accumulator = RECORDS
            cuts.is_packed = False
            self.stored.cumulate(node, column, &cuts)
            return self.find_listed(node, column, &cuts, rules, best)
        if self.unordered.is_open and column.kind != CATEGORICAL and column.monotonic_cst == 0:
            is_constant = self.find_unordered(node, column, rules, best)
            if not before < best.score == 0.0:
                return is_constant
            best.score = before    # it need not be the most balanced of the cuts that score 0
        self.builder.cumulate(node, column, &cuts)
        return self.find_listed(node, column, &cuts, rules, best)

    cdef bint find_listed(self, const Node* node, const Column* column, CutList* cuts, const LeafRules* rules,
                          Split* best) noexcept nogil:
        """`find`, given the list of a column's values or categories."""
        cdef Py_ssize_t entry, n = cuts.n
        if cuts.n + (cuts.missing[0] > 0) == 1:
            return True
        if column.kind == CATEGORICAL or column.monotonic_cst != 0 or not (
                self.scans_class_counters if cuts.accumulator == CLASS_COUNTERS else self.scans_packed_sums):
            expand(cuts, self.criterion.n_words)
        if column.kind == CATEGORICAL:
            self.categories.arrange(node, cuts)
            if cuts.n + (cuts.missing[0] > 0) == 1:
                return self.categories.are_tied(column, n)
        entry = self.evaluator.choose(node, column, cuts, rules, best)
        if entry >= 0 and column.kind == CATEGORICAL:
            if self.categories.ranks != NULL:
                self.categories.write_up_to(column, self.categories.ranks[cuts.code[entry]], cuts.missing[0] > 0, best)
            else:
                self.categories.write(column, cuts, entry, best)
        return False

    cdef bint unpacks(self, const Column* column) noexcept nogil:
        return column.stored != NULL and self.evaluator.needs_order

    cdef bint find_unordered(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        """`find` in a node of few records, for a feature of numbers; of cuts that score 0, the first."""
        cdef bint is_constant
        if node.n == 2 and self.score_of_two >= 0.0 and best.score >= self.score_of_two:
            return False               # every feature that parts two records does it by the same score
        is_constant = self.unordered.find(node, column, rules, best)
        if not is_constant:
            self.score_of_two = self.unordered.score
        return is_constant

    cdef void find_at(self, const Node* node, const Column* column, uint64_t code, const LeafRules* rules,
                      Split* best) noexcept nogil:
        cdef CodeRange found
        cdef Column unpacked
        if self.unpacks(column):
            unpacked = self.stored.unpack(node, column)
            column = &unpacked
        if column.kind == CATEGORICAL:
            self.find_present(node, column)
            self.categories.take_up_to(column, code)
            self.categories.ranks = NULL
            self.find_subset(node, column, rules, best)
            return
        found = self.left_sums.gather(node, column)
        self.find_gathered(node, column, code, found.has_missing, rules, best)

    cdef void find_gathered(self, const Node* node, const Column* column, uint64_t code, bint has_missing,
                            const LeafRules* rules, Split* best) noexcept nogil:
        cdef CutList cuts
        cdef int64_t n_left, n_missing, w_left
        cdef double score, other
        cdef bint missing_left = False
        self.left_sums.add_up(node, code, column.n_codes, has_missing, &cuts)
        if column.monotonic_cst != 0 or self.evaluator.needs_order:
            if not self.is_open:
                self.open_node(node)
            self.evaluator.choose(node, column, &cuts, rules, best)
            return
        n_left = cuts.left[0]
        n_missing = cuts.missing[0]
        score = self.score_single_cut(node, cuts.left, rules)
        if n_missing > 0:
            w_left = cuts.left[1]
            add_missing(&cuts, self.criterion.n_words)
            other = self.score_single_cut(node, cuts.left, rules)
            missing_left = df_leads_left(other, df_imbalance(other, cuts.left[1], node.statistics[1]), 0, score,
                                         df_imbalance(score, w_left, node.statistics[1]), 0)
            score = other if missing_left else score
        if node.n == 2 and self.unordered.below > 0 and self.packed.chunk > 0 and node.statistics[0] <= DF_UNORDERED_DRAWS:
            self.score_of_two = score
        take_cut(best, score, n_left, code, 0, missing_left, n_missing, node.statistics[0])

    cdef inline double score_single_cut(self, const Node* node, const int64_t* left, const LeafRules* rules) noexcept nogil:
        """The score of the cut with a left side; -1 if it is not valid."""
        cdef const int64_t* total = node.statistics
        cdef double score = -1.0
        if not df_is_valid(rules, left, total):
            return -1.0
        return score if self.criterion.ask_best_cut(left, 1, total, &score) == 0 else -1.0

    cdef uint32_t find_present(self, const Node* node, const Column* column) noexcept nogil:
        if not self.is_open:
            self.open_node(node)
        self.left_sums.gather(node, column)
        return self.left_sums.find_categories(node, column.n_codes, self.categories.present)

    cdef bint find_subset(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        cdef CutList cuts
        cdef bint has_missing
        self.left_sums.divide(self.categories.left_ones, column.n_codes)
        self.left_sums.add_up(node, 0, 2, self.left_sums.has_missing, &cuts)
        has_missing = cuts.missing[0] > 0
        cuts.subset = self.categories.left_ones
        if self.evaluator.choose(node, column, &cuts, rules, best) >= 0:
            if self.rarest >= 0 and not has_missing:
                best.missing_left = in_subset(self.categories.left_ones, <uint32_t> self.rarest)
            if self.categories.ranks != NULL:
                self.categories.write_up_to(column, self.categories.last, has_missing, best)
            else:
                self.categories.write(column, &cuts, 0, best)
        return has_missing

    cdef bint find_random_subset(self, const Node* node, const Column* column, df_stream* stream, const LeafRules* rules,
                                 Split* best) noexcept nogil:
        cdef uint32_t n_present = self.find_present(node, column)
        cdef bint has_missing, is_tied
        if n_present == 0:
            return True
        self.categories.look_up(node, column - node.columns)
        if self.categories.ranks != NULL:
            is_tied = self.categories.draw_rank(column, stream)
            return not self.find_subset(node, column, rules, best) and is_tied
        self.categories.draw(column, n_present, stream)
        if self.categories.draws == NULL:
            return not self.find_subset(node, column, rules, best) and n_present == 1
        self.rarest = self.left_sums.find_rarest(node, column.n_codes, self.categories.draws)
        has_missing = self.find_subset(node, column, rules, best)
        self.rarest = -1
        return not has_missing and n_present == 1
