"""The cuts of one feature in one node, and the best of them: see cuts.pxd.

A `Cuts` belongs to one thread, and so does all that it is made of.
"""
from libc.stdint cimport uint32_t

from dforest.core.loops cimport DF_FEW_DRAWS
from dforest.core.search.chooser cimport chooser_class_of, take_cut
from dforest.core.search.cut_list cimport LANES, RECORDS, CutList, add_missing, expand
from dforest.core.search.side cimport CodeRange
from dforest.core.types cimport CATEGORICAL, MOST_BUCKETS
from dforest.rules.cut cimport df_is_valid, df_leads_left
from dforest.rules.numerics cimport df_imbalance


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
        Size thresholds of `NodeWords`, `Tally`, `FewRecords`, `SmallNodes`, `Side` and `Stored`.
    """

    def __cinit__(self, Criterion criterion not None, DataView data not None, Py_ssize_t n_records, bint one_hot,
                  dict tuning not None):
        cdef Py_ssize_t j, n_codes = MOST_BUCKETS, n_categories = 0
        cdef const Column* column
        cdef bint is_unit = data.weight == NULL
        for j in range(data.n_features):
            column = &data.columns[j]
            if not column.has_keys:
                n_codes = max(n_codes, <Py_ssize_t> column.n_codes)
            if column.kind == CATEGORICAL:
                n_categories = max(n_categories, <Py_ssize_t> column.n_codes)
            self.is_bounded = self.is_bounded or column.direction != 0
        self.criterion = criterion
        self.chooser = chooser_class_of(criterion)(
            criterion, n_records, min(n_records, n_codes if self.is_bounded else n_categories) + 1, self.is_bounded)
        self.scans_words = self.chooser.scans is not None and self.chooser.scans.takes_words
        self.scans_lanes = self.chooser.scans is not None and self.chooser.scans.takes_lanes
        self.words = NodeWords(criterion, is_unit, n_records, tuning)
        self.few = FewRecords(criterion, self.chooser.scans, is_unit, tuning)
        self.small = SmallNodes(criterion, self.chooser.scans, is_unit, tuning)
        self.tally = Tally(criterion, self.words, n_records, n_codes, self.chooser.needs_order, tuning)
        self.side = Side(criterion, self.words, n_records, data.widest(), tuning)
        if data.has_sparse:
            self.stored = Stored(criterion, data, tuning)
        self.categories = Categories(criterion, n_records, n_categories, one_hot)

    cdef void open_node(self, const Node* node) noexcept nogil:
        """Get ready for the columns of a node."""
        self.close_node()
        self.few.open_node(node)
        self.small.open_node(node)
        self.tally.open_node(node)
        self.chooser.open_node(node)
        self.is_open = True

    cdef void close_node(self) noexcept nogil:
        """Forget the node that was open. A search that does not open the next one opens it by looking for a cut."""
        self.is_open = False
        self.words.close()
        self.side.close_node()
        self.score_of_two = -1.0

    cdef void lend_node(self, const Node* node) noexcept nogil:
        """Before others join an open node: have words that they may read."""
        if not self.is_open:
            self.open_node(node)
        if not self.words.is_made:
            self.words.make(node)

    cdef void join_node(self, const Node* node, Cuts other) noexcept nogil:
        """Get ready for the columns of a node that another thread has open."""
        self.open_node(node)
        self.words.borrow(other.words)

    cdef bint find(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        cdef CutList cuts
        cdef Py_ssize_t entry
        cdef double before = best.score
        cdef bint is_constant
        if not self.is_open:
            self.open_node(node)
        if column.stored != NULL:
            return self.find_stored(node, column, rules, best)
        if (column.kind != CATEGORICAL and not self.is_bounded
                and (self.few.is_open or self.small.takes(node, column))):
            is_constant = (self.find_few(node, column, rules, best) if self.few.is_open
                           else self.small.find(node, column, rules, best))
            if not before < best.score == 0.0:
                return is_constant
            best.score = before    # it need not be the evenest of the cuts that score 0
        self.tally.cumulate(node, column, &cuts)
        if cuts.n + (cuts.missing[0] > 0) == 1:
            return True
        if column.kind == CATEGORICAL or self.is_bounded or not (
                self.scans_lanes if cuts.manner == LANES else self.scans_words):
            expand(&cuts, self.criterion.n_words)
        if column.kind == CATEGORICAL:
            self.categories.arrange(node, &cuts)
        entry = self.chooser.choose(node, column, &cuts, rules, best)
        if entry >= 0 and column.kind == CATEGORICAL:
            self.categories.write(column, &cuts, entry, best)
        return False

    cdef bint find_stored(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        """`find` for a sparse column."""
        cdef CutList cuts
        cdef Column unpacked
        if self.chooser.needs_order:
            unpacked = self.stored.unpack(node, column)
            return self.find(node, &unpacked, rules, best)
        self.tally.blank(&cuts)
        cuts.manner = RECORDS
        cuts.is_packed = False
        self.stored.cumulate(node, column, &cuts)
        if cuts.n + (cuts.missing[0] > 0) == 1:
            return True
        self.chooser.choose(node, column, &cuts, rules, best)
        return False

    cdef bint find_few(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        """`find` in a node of few records, for a feature of numbers; of cuts that score 0, the first."""
        cdef bint is_constant
        if node.n == 2 and self.score_of_two >= 0.0 and best.score >= self.score_of_two:
            return False               # every feature that parts two records does it by the same score
        is_constant = self.few.find(node, column, rules, best)
        if not is_constant:
            self.score_of_two = self.few.score
        return is_constant

    cdef void find_at(self, const Node* node, const Column* column, uint64_t code, const LeafRules* rules,
                      Split* best) noexcept nogil:
        cdef CodeRange found
        if column.kind == CATEGORICAL:
            self.categories.find_present(node, column)
            self.categories.take_up_to(column, code)
            self.find_subset(node, column, rules, best)
            return
        found = self.side.gather(node, column, self.side.own_code)
        self.find_gathered(node, column, code, found.has_missing, rules, best)

    cdef void find_gathered(self, const Node* node, const Column* column, uint64_t code, bint has_missing,
                            const LeafRules* rules, Split* best) noexcept nogil:
        cdef CutList cuts
        cdef int64_t n_left, n_missing, w_left
        cdef double score, other
        cdef bint missing_left = False
        self.side.add_up(node, code, column.n_codes, has_missing, &cuts)
        if self.is_bounded or self.chooser.needs_order:
            if not self.is_open:
                self.open_node(node)
            self.chooser.choose(node, column, &cuts, rules, best)
            return
        n_left = cuts.left[0]
        n_missing = cuts.missing[0]
        score = self.score_lone(node, cuts.left, rules)
        if n_missing > 0:
            w_left = cuts.left[1]
            add_missing(&cuts, self.criterion.n_words)
            other = self.score_lone(node, cuts.left, rules)
            missing_left = df_leads_left(other, df_imbalance(other, cuts.left[1], node.statistics[1]), 0, score,
                                         df_imbalance(score, w_left, node.statistics[1]), 0)
            score = other if missing_left else score
        if node.n == 2 and self.few.below > 0 and self.words.chunk > 0 and node.statistics[0] <= DF_FEW_DRAWS:
            self.score_of_two = score
        take_cut(best, score, n_left, code, 0, missing_left, n_missing, node.statistics[0])

    cdef inline double score_lone(self, const Node* node, const int64_t* left, const LeafRules* rules) noexcept nogil:
        """The score of the cut with a left side; -1 if it is not valid."""
        cdef const int64_t* total = node.statistics
        cdef double score = -1.0
        if not df_is_valid(rules, left, total):
            return -1.0
        return score if self.criterion.ask_best_cut(left, 1, total, &score) == 0 else -1.0

    cdef bint find_subset(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        cdef CutList cuts
        cdef CodeRange found
        cdef bint has_missing
        if not self.is_open:
            self.open_node(node)
        found = self.side.gather(node, column, self.side.own_code)
        self.side.divide(self.categories.left_ones, column.n_codes)
        self.side.add_up(node, 0, 2, found.has_missing, &cuts)
        has_missing = cuts.missing[0] > 0
        cuts.subset = self.categories.left_ones
        if self.chooser.choose(node, column, &cuts, rules, best) >= 0:
            self.categories.write(column, &cuts, 0, best)
        return has_missing

    cdef bint find_random_subset(self, const Node* node, const Column* column, df_stream* stream, const LeafRules* rules,
                                 Split* best) noexcept nogil:
        cdef uint32_t n_present = self.categories.find_present(node, column)
        if n_present == 0:
            return True
        self.categories.draw(column, n_present, stream)
        return not self.find_subset(node, column, rules, best) and n_present == 1
