"""The cuts of one feature in one node, and the best of them.

A feature of numbers (continuous or ordinal) has a cut after each value that occurs: the tally's
statistics, each of all draws up to a value, are those of the left sides. As they grow from one value
to the next, the cuts that satisfy the leaf rules are a run among them, and the criterion picks the
best of that run; if none scores above 0, the evenest is taken (df_imbalance, numerics.h).

The categories of a categorical feature are put in the order of their mean response first, then cut
like values: for two classes, and for squared error, the best of all subsets is among these cuts [1]_.
With more classes, the response is the share of the node's largest class, and that is a heuristic. Or,
one by one, each category is divided from the rest.

Missing values go right, then left with every cut: where the node has some, they are added to all left
sides, and the criterion picks again. The last cut of a run divides them from all the rest.

Where features have directions, each side of a cut has to predict within the node's bounds, and in the
right order; such cuts are tested one by one.

A `Cuts` belongs to one thread and owns its scratch.

References
----------
.. [1] W. D. Fisher, "On grouping for maximum homogeneity", JASA 53, 1958; L. Breiman, J. Friedman,
   R. Olshen, C. Stone, "Classification and Regression Trees", 1984, section 4.2.2 and chapter 8.8.
"""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcpy, memset

from dforest.core.loops cimport DF_FEW_DRAWS, DF_SMALL_DRAWS, df_cut, df_few
from dforest.rules.random cimport df_below, df_next
from dforest.core.search.side cimport CodeRange
from dforest.core.search.tally cimport draws_of
from dforest.core.types cimport CATEGORICAL, MOST_BUCKETS, code_at, code_t
from dforest.rules.cut cimport (
    df_is_allowed,
    df_is_valid,
    df_leads_left,
    df_least_draws,
    df_middle_prediction,
    df_missing_goes_left,
    df_only_missing_right,
    df_valid_run,
)
from dforest.rules.numerics cimport df_imbalance


cdef void mark_present(const Node* node, const code_t* codes, uint32_t n_codes, uint64_t* present) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint32_t code
    for i in range(node.n):
        code = codes[node.draws[i].row]
        if code < n_codes:
            present[code >> 6] |= <uint64_t> 1 << (code & 63)


cdef inline double least_draws(const LeafRules* rules) noexcept nogil:
    """The fewest draws of weight 1 that a side needs; one too many for any small node if that is large."""
    return <double> min(<int64_t> (DF_SMALL_DRAWS + 1), df_least_draws(rules))


cdef inline void take_cut(Split* best, double score, int64_t n_left, uint64_t code, uint32_t above, bint missing_left,
                          int64_t n_missing, int64_t total) noexcept nogil:
    """Replace `best` by a cut of numbers if its score is higher. No branches: whether it is, nobody can foretell.

    n_left : draws on the left, without missing ones
    """
    cdef bint taken = score > best.score
    cdef bint alone = df_only_missing_right(n_left, n_missing, missing_left, total)
    cdef bint goes_left = df_missing_goes_left(n_left, n_missing, missing_left, total)
    best.score = score if taken else best.score
    best.code = code if taken else best.code
    best.above = above if taken else best.above
    best.only_missing_right = alone if taken else best.only_missing_right
    best.missing_left = goes_left if taken else best.missing_left
    best.payload = NULL if taken else best.payload


cdef int compare_ranked(const void* a, const void* b) noexcept nogil:
    cdef const Ranked* x = <const Ranked*> a
    cdef const Ranked* y = <const Ranked*> b
    if x.key != y.key:
        return -1 if x.key < y.key else 1
    return -1 if x.place < y.place else 1


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
        See `dforest.core.search.tally.Tally`.
    """

    def __cinit__(self, Criterion criterion not None, DataView data not None, Py_ssize_t n_records, bint one_hot,
                  dict tuning not None):
        self.criterion = criterion
        self.is_foreign = not criterion.is_built_in
        self.n_words = criterion.n_words
        self.one_hot = one_hot
        self.tally = Tally(criterion, data.weight == NULL, tuning)
        self.side = Side(criterion, data.weight == NULL, n_records, data.widest(), tuning)
        self.reserve(data, n_records)

    def __dealloc__(self):
        free(self.spare)
        free(self.spare_at)
        free(self.keys)
        free(self.ranked)
        free(self.present)
        free(self.left_ones)
        free(self.subset)

    cdef int reserve(self, DataView data, Py_ssize_t n_records) except -1:
        cdef Py_ssize_t j, n_codes = MOST_BUCKETS, n_categories = 0, n_entries
        cdef const Column* column
        for j in range(data.n_features):
            column = &data.columns[j]
            if not column.has_keys:
                n_codes = max(n_codes, <Py_ssize_t> column.n_codes)
            if column.kind == CATEGORICAL:
                n_categories = max(n_categories, <Py_ssize_t> column.n_codes)
            self.is_bounded = self.is_bounded or column.direction != 0
        self.tally.reserve(n_records, n_codes)
        self.n_subset_words = (n_categories + 63) // 64
        n_entries = min(n_records, n_codes if self.is_bounded else n_categories) + 1
        self.spare = <int64_t*> malloc(n_entries * self.n_words * sizeof(int64_t))
        self.spare_at = <uint32_t*> malloc(n_entries * sizeof(uint32_t))
        self.keys = <double*> malloc(n_entries * sizeof(double))
        self.ranked = <Ranked*> malloc(n_entries * sizeof(Ranked))
        self.present = <uint64_t*> calloc(self.n_subset_words + 1, sizeof(uint64_t))
        self.left_ones = <uint64_t*> calloc(self.n_subset_words + 1, sizeof(uint64_t))
        self.subset = <uint64_t*> calloc(self.n_subset_words + 1, sizeof(uint64_t))
        if (self.spare == NULL or self.spare_at == NULL or self.keys == NULL or self.ranked == NULL
                or self.present == NULL or self.left_ones == NULL or self.subset == NULL):
            raise MemoryError()
        return 0

    cdef void open_node(self, const Node* node) noexcept nogil:
        """Get ready for the columns of a node."""
        self.close_node()
        self.tally.open_node(node)
        self.is_open = True

    cdef void close_node(self) noexcept nogil:
        """Forget the node that was open. A search that does not open the next one opens it by looking for a cut."""
        self.is_open = False
        self.side.open_node()
        self.score_of_two = -1.0

    cdef void join_node(self, const Node* node, Cuts other) noexcept nogil:
        """Get ready for the columns of a node that another thread has open."""
        self.open_node(node)
        if self.one_by_one:
            self.side.borrow_words(other.side)
        else:
            self.tally.borrow_words(other.tally)

    cdef void lend_node(self, const Node* node) noexcept nogil:
        """Before others join an open node."""
        if not self.is_open:
            self.open_node(node)
        if self.one_by_one:
            self.side.lend_words(node)
        else:
            self.tally.lend_words(node)

    cdef bint find(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        """Replace `best` if a cut of this column has a higher score; return whether it is constant."""
        cdef Py_ssize_t n
        cdef double before = best.score
        cdef bint is_constant
        if not self.is_open:
            self.open_node(node)
        if (column.kind != CATEGORICAL and not self.is_bounded
                and (self.tally.is_few or self.tally.counts_small(node, column))):
            is_constant = (self.find_few(node, column, rules, best) if self.tally.is_few
                           else self.find_small(node, column, rules, best))
            if not before < best.score == 0.0:
                return is_constant
            best.score = before    # of cuts that score 0 these take the first
        n = self.tally.cumulate(node, column)
        if n + (self.tally.missing[0] > 0) == 1:
            return True
        self.entries = RUN
        if column.kind == CATEGORICAL or self.is_bounded or not self.criterion.scans_words:
            self.tally.expand(n)
        if column.kind == CATEGORICAL:
            if self.one_hot:
                n = self.prepare_singles(n)
            else:
                self.prepare_ranking(node, n)
        self.choose(node, column, n, rules, best)
        return False

    cdef bint find_few(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        """`find` in a node of few records, for a feature of numbers; of cuts that score 0, the first."""
        cdef df_few* few = &self.tally.few
        cdef uint64_t missing
        cdef df_cut cut, other
        cdef bint missing_left = False
        if node.n == 2 and self.score_of_two >= 0.0 and best.score >= self.score_of_two:
            return False               # every feature that parts two records does it by the same score
        if self.tally.gather_few(node, column, &missing):
            return True
        few.least = <int> least_draws(rules)
        self.criterion.best_few(few, 0, node.statistics, &cut)
        if self.is_foreign:
            self.check_cut("best_few", &cut, node.n)
        if few.n_missing > 0:
            self.criterion.best_few(few, missing, node.statistics, &other)
            if self.is_foreign:
                self.check_cut("best_few", &other, node.n)
            if df_leads_left(other.score, 0, few.code[other.place], cut.score, 0, few.code[cut.place]):
                cut = other
                missing_left = True
        self.score_of_two = cut.score
        take_cut(best, cut.score, cut.left, code_at(column, node.draws[cut.place].row), 0, missing_left, few.n_missing,
                 node.statistics[0])
        return False

    cdef bint find_small(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        """`find` in a node of few draws and two classes, for a column of few codes; of cuts that score 0, the first."""
        cdef uint32_t missing
        cdef double least = least_draws(rules)
        cdef df_cut cut, other
        cdef int above, n_missing, lowest = 0, n_codes = <int> column.n_codes
        cdef uint32_t* run = self.tally.small_run
        cdef bint missing_left = False
        if self.tally.count_small(node, column, &missing):
            return True
        n_missing = (missing & 0xFFFF) + (missing >> 16)
        self.criterion.best_small(run, n_codes, 0, node.statistics, least, &cut)
        if self.is_foreign:
            self.check_cut("best_small", &cut, n_codes)
        if n_missing > 0:
            while run[lowest] == 0:        # before the lowest value, missing ones are alone on the left: no cut
                lowest += 1
            self.criterion.best_small(run + lowest, n_codes - lowest, missing, node.statistics, least, &other)
            if self.is_foreign:
                self.check_cut("best_small", &other, n_codes - lowest)
            other.place += lowest
            if df_leads_left(other.score, 0, other.place, cut.score, 0, cut.place):
                cut = other
                missing_left = True
        above = cut.place + 1
        while above < n_codes and run[above] == run[cut.place]:
            above += 1
        take_cut(best, cut.score, cut.left, <uint32_t> cut.place, <uint32_t> above, missing_left, n_missing, node.statistics[0])
        return False

    cdef void find_at(self, const Node* node, const Column* column, uint64_t code, const LeafRules* rules,
                      Split* best) noexcept nogil:
        """Replace `best` if the cut after this code has a higher score; some value is not above it.

        Of a categorical column: the cut of the categories up to this number.
        """
        cdef Py_ssize_t at, n_words = (<Py_ssize_t> column.n_codes + 63) // 64
        cdef CodeRange found
        if column.kind == CATEGORICAL:
            self.find_present(node, column)
            for at in range(n_words):
                self.left_ones[at] = self.present[at] if at < code >> 6 else 0
            self.left_ones[code >> 6] = self.present[code >> 6] & ((<uint64_t> 2 << (code & 63)) - 1)
            self.find_subset(node, column, rules, best)
            return
        found = self.side.gather(node, column, self.side.own_code)
        self.find_gathered(node, column, code, found.has_missing, rules, best)

    cdef void find_gathered(self, const Node* node, const Column* column, uint64_t code, bint has_missing,
                            const LeafRules* rules, Split* best) noexcept nogil:
        """The same for a column of numbers whose codes the side has, some of which are missing or none."""
        cdef int64_t* left = self.tally.left
        cdef int64_t n_left, n_missing, w_left
        cdef double score, other
        cdef bint missing_left = False
        self.side.add_up(node, code, column.n_codes, has_missing, left, self.tally.missing)
        if self.is_bounded or self.criterion.cuts_class is not None:
            self.lone = code
            self.tally.is_packed = False
            self.entries = LONE
            self.choose(node, column, 1, rules, best)
            return
        n_left = left[0]
        n_missing = self.tally.missing[0]
        score = self.score_lone(node, left, rules)
        if n_missing > 0:
            self.tally.is_packed = False
            w_left = left[1]
            self.add_missing(1)
            other = self.score_lone(node, left, rules)
            missing_left = df_leads_left(other, df_imbalance(other, left[1], node.statistics[1]), 0, score,
                                         df_imbalance(score, w_left, node.statistics[1]), 0)
            score = other if missing_left else score
        if node.n == 2 and self.criterion.few > 0 and self.side.chunk > 0 and node.statistics[0] <= DF_FEW_DRAWS:
            self.score_of_two = score
        take_cut(best, score, n_left, code, 0, missing_left, n_missing, node.statistics[0])

    cdef inline double score_lone(self, const Node* node, const int64_t* left, const LeafRules* rules) noexcept nogil:
        """The score of the cut with a left side; -1 if it is not valid."""
        cdef const int64_t* total = node.statistics
        cdef double score = -1.0
        if not df_is_valid(rules, left, total):
            return -1.0
        return score if self.criterion.ask_best_cut(left, 1, total, &score) == 0 else -1.0

    cdef uint32_t find_present(self, const Node* node, const Column* column) noexcept nogil:
        """Put the categories in the node into `present`; return how many there are."""
        cdef Py_ssize_t at, n_words = (<Py_ssize_t> column.n_codes + 63) // 64
        cdef uint32_t n_present = 0
        cdef uint64_t rest
        memset(self.present, 0, n_words * sizeof(uint64_t))
        if column.width == 1:
            mark_present[uint8_t](node, <const uint8_t*> column.codes, column.n_codes, self.present)
        elif column.width == 2:
            mark_present[uint16_t](node, <const uint16_t*> column.codes, column.n_codes, self.present)
        else:
            mark_present[uint32_t](node, <const uint32_t*> column.codes, column.n_codes, self.present)
        for at in range(n_words):
            rest = self.present[at]
            while rest:
                rest &= rest - 1
                n_present += 1
        return n_present

    cdef void find_subset(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        """Replace `best` if the cut that sends the categories in `left_ones` left, some of `present`, has a higher score."""
        cdef CodeRange found = self.side.gather(node, column, self.side.own_code)
        self.side.divide(self.left_ones, column.n_codes)
        self.side.add_up(node, 0, 2, found.has_missing, self.tally.left, self.tally.missing)
        self.lone = 0
        self.tally.is_packed = False
        self.entries = LONE
        self.choose(node, column, 1, rules, best)

    cdef bint find_random_subset(self, const Node* node, const Column* column, df_stream* stream, const LeafRules* rules,
                                 Split* best) noexcept nogil:
        """Replace `best` if a random cut of a categorical column has a higher score; return whether it is constant."""
        cdef Py_ssize_t at, n_words = (<Py_ssize_t> column.n_codes + 63) // 64
        cdef uint32_t n_present = self.find_present(node, column), n_left = 0, bit, chosen, word = 0
        cdef uint64_t rest
        if n_present == 0:
            return True
        memcpy(self.left_ones, self.present, n_words * sizeof(uint64_t))
        if n_present > 1:
            chosen = df_below(stream, n_present) if self.one_hot else 0
            while n_left == 0 or n_left == n_present:
                # the present categories in ascending order, each with a number `bit`
                bit = n_left = 0
                for at in range(n_words):
                    rest = self.present[at]
                    self.left_ones[at] = 0
                    while rest:
                        if self.one_hot:
                            word = bit == chosen
                        else:
                            word = df_next(stream) if bit % 32 == 0 else word >> 1
                        if word & 1:
                            self.left_ones[at] |= rest & (~rest + 1)
                            n_left += 1
                        rest &= rest - 1
                        bit += 1
        self.find_subset(node, column, rules, best)
        return n_present == 1 and self.tally.missing[0] == 0

    cdef Py_ssize_t prepare_singles(self, Py_ssize_t n) noexcept nogil:
        """Turn cumulated statistics into those of single categories, and perhaps all; return how many that makes."""
        cdef Py_ssize_t i, k, n_words = self.n_words
        cdef int64_t* left = self.tally.left
        cdef bint has_missing = self.tally.missing[0] > 0
        if has_missing:
            memcpy(left + n * n_words, left + (n - 1) * n_words, n_words * sizeof(int64_t))
            self.tally.code[n] = 0
        for i in range(n - 1, 0, -1):
            for k in range(n_words):
                left[i * n_words + k] -= left[(i - 1) * n_words + k]
        self.entries = SINGLES
        return n + has_missing

    cdef void prepare_ranking(self, const Node* node, Py_ssize_t n) noexcept nogil:
        """Cumulate the categories' statistics in the order of their mean response."""
        cdef Py_ssize_t i, j, k, n_words = self.n_words
        cdef bint is_sorted = True
        cdef int64_t* left = self.tally.left
        cdef int64_t* to = self.spare
        for i in range(n - 1, 0, -1):
            for k in range(n_words):
                left[i * n_words + k] -= left[(i - 1) * n_words + k]
        self.criterion.mean_responses(left, n, node.statistics, self.keys)
        for i in range(n):
            self.ranked[i].place = <uint32_t> i
            self.ranked[i].key = self.keys[i]
            is_sorted = is_sorted and (i == 0 or self.keys[i - 1] <= self.keys[i])
        if not is_sorted:          # they are where categories have equal means, and nodes then may be many
            qsort(self.ranked, n, sizeof(Ranked), compare_ranked)
        for i in range(n):
            j = self.ranked[i].place
            self.spare_at[i] = self.tally.code[j]
            for k in range(n_words):
                to[i * n_words + k] = left[j * n_words + k] + (to[(i - 1) * n_words + k] if i > 0 else 0)
        memcpy(left, to, n * n_words * sizeof(int64_t))
        memcpy(self.tally.code, self.spare_at, n * sizeof(uint32_t))

    cdef Py_ssize_t place_of(self, const Column* column, Py_ssize_t entry) noexcept nogil:
        """Which of the values that occur, in ascending order, an entry ends with."""
        return self.ranked[entry].place if column.kind == CATEGORICAL and self.entries == RUN else entry

    cdef void choose(self, const Node* node, const Column* column, Py_ssize_t n, const LeafRules* rules,
                     Split* best) noexcept nogil:
        """Replace `best` if one of the cuts in `left` has a higher score, in either direction of the missing."""
        cdef Choice choice, other
        cdef int64_t n_left, total = node.statistics[0], n_missing = self.tally.missing[0]
        cdef int64_t* left = self.tally.left
        cdef bint missing_left = False
        if not self.is_open:
            self.open_node(node)
        # Packed words directly: nodes are many, and small.
        choice = (self.best_packed(node, n, False, rules) if self.tally.is_packed
                  else self.best_entry(node, column, n, False, rules))
        n_left = 0
        if choice.entry >= 0:
            n_left = (draws_of(self.tally.run[choice.entry], self.tally.is_pairs) if self.tally.is_packed
                      else left[choice.entry * self.n_words])
        if n_missing > 0:
            self.add_missing(n)
            other = (self.best_packed(node, n, True, rules) if self.tally.is_packed
                     else self.best_entry(node, column, n, True, rules))
            if df_leads_left(other.score, other.imbalance, other.entry, choice.score, choice.imbalance, choice.entry):
                choice = other
                missing_left = True
        if choice.entry < 0 or choice.score <= best.score:
            return
        best.score = choice.score
        best.middle = choice.middle
        best.code = self.lone if self.entries == LONE else self.tally.code[choice.entry]
        best.above = self.tally.code[choice.entry + 1] if self.entries == RUN and choice.entry + 1 < n else 0
        best.only_missing_right = df_only_missing_right(n_left, n_missing, missing_left, total)
        best.missing_left = df_missing_goes_left(n_left, n_missing, missing_left, total)
        if column.kind == CATEGORICAL:
            self.write_subset(column, n, choice.entry, best)
        else:
            best.payload = NULL

    cdef void add_missing(self, Py_ssize_t n) noexcept nogil:
        """Put the missing values on the left of all cuts."""
        cdef Py_ssize_t i, k
        cdef int64_t* left = self.tally.left
        if self.tally.is_packed:
            return             # these are added when they are scored
        for i in range(n):
            for k in range(self.n_words):
                left[i * self.n_words + k] += self.tally.missing[k]

    cdef void write_subset(self, const Column* column, Py_ssize_t n, Py_ssize_t entry, Split* best) noexcept nogil:
        cdef Py_ssize_t i, at, n_words = (<Py_ssize_t> column.n_codes + 63) // 64
        cdef bint has_all = self.entries == SINGLES and self.tally.missing[0] > 0      # the last entry
        cdef uint32_t code
        cdef uint64_t bit
        if self.entries != LONE:
            memset(self.present, 0, n_words * sizeof(uint64_t))
            memset(self.left_ones, 0, n_words * sizeof(uint64_t))
            for i in range(n - has_all):
                code = self.tally.code[i]
                bit = <uint64_t> 1 << (code & 63)
                self.present[code >> 6] |= bit
                if i == entry or (has_all and entry == n - 1) or (self.entries == RUN and i < entry):
                    self.left_ones[code >> 6] |= bit
        for at in range(n_words):
            self.subset[at] = self.present[at] & ~self.left_ones[at] if best.missing_left else self.left_ones[at]
        best.payload = self.subset
        best.n_payload_words = n_words

    cdef Choice best_entry(self, const Node* node, const Column* column, Py_ssize_t n, bint missing_left,
                           const LeafRules* rules) noexcept nogil:
        """The first of the best cuts among those that are valid; of cuts that score 0, the first of the evenest."""
        cdef const int64_t* total = node.statistics
        cdef const int64_t* left = self.tally.left
        cdef Py_ssize_t kept, n_words = self.n_words
        cdef int64_t first
        cdef Choice choice
        choice.entry = -1
        choice.score = -1.0
        choice.middle = 0.0
        choice.imbalance = 0
        if self.is_bounded or self.entries == SINGLES:
            kept = self.keep_valid(node, column, n, rules)
            if kept > 0:
                choice.entry = self.criterion.ask_best_cut(self.spare, kept, total, &choice.score)
            if choice.entry < 0:
                choice.score = -1.0
            else:
                choice.imbalance = df_imbalance(choice.score, self.spare[choice.entry * n_words + 1], total[1])
                choice.middle = self.keys[choice.entry]
                choice.entry = self.spare_at[choice.entry]
            return choice
        kept = df_valid_run(rules, left, n, n_words, total, &first)
        if kept > 0:
            choice.entry = self.criterion.ask_best_cut(left + first * n_words, kept, total, &choice.score)
        if choice.entry < 0:
            choice.score = -1.0
        else:
            choice.entry += first
            choice.imbalance = df_imbalance(choice.score, left[choice.entry * n_words + 1], total[1])
        return choice

    cdef void check_cut(self, const char* method, df_cut* cut, Py_ssize_t n) noexcept nogil:
        """Let a cut be none unless it is one of n, or said to be none."""
        if cut.score == -1.0 or not self.criterion.can_be_used(method, cut.place, n, cut.score):
            cut.score = -1.0
            cut.place = 0

    cdef Choice best_packed(self, const Node* node, Py_ssize_t n, bint missing_left, const LeafRules* rules) noexcept nogil:
        """The same from packed words."""
        cdef const uint64_t* run = self.tally.run
        cdef uint64_t offset = self.tally.missing_word if missing_left else 0
        cdef bint is_pairs = self.tally.is_pairs
        cdef int64_t least = df_least_draws(rules), total = node.statistics[0], imbalance
        cdef Py_ssize_t i, first = 0, last = n
        cdef Choice choice
        choice.entry = -1
        choice.score = -1.0
        choice.middle = 0.0
        choice.imbalance = 0
        while first < last and draws_of(run[first] + offset, is_pairs) < least:
            first += 1
        while last > first and total - draws_of(run[last - 1] + offset, is_pairs) < least:
            last -= 1
        if first < last:
            choice.entry = first + self.criterion.best_word(run + first, last - first, offset, node.statistics, &choice.score)
            if self.is_foreign and not self.criterion.can_be_used("best_word", choice.entry - first, last - first, choice.score):
                choice.entry = -1
                choice.score = -1.0
        if choice.entry >= 0 and choice.score == 0.0:
            choice.imbalance = total + 1
            for i in range(first, last):
                imbalance = df_imbalance(0.0, draws_of(run[i] + offset, is_pairs), total)
                if imbalance < choice.imbalance:
                    choice.imbalance = imbalance
                    choice.entry = i
        return choice

    cdef Py_ssize_t keep_valid(self, const Node* node, const Column* column, Py_ssize_t n,
                               const LeafRules* rules) noexcept nogil:
        """Copy the valid cuts to `spare`, with their places, and what `Split.middle` would be in `keys`."""
        cdef const int64_t* total = node.statistics
        cdef const int64_t* left = self.tally.left
        cdef int64_t* right = self.criterion.scratch
        cdef Py_ssize_t i, k, kept = 0
        cdef double at_left, at_right
        for i in range(n):
            if df_is_valid(rules, left, total):
                at_left = at_right = 0.0
                if self.is_bounded:
                    for k in range(self.n_words):
                        right[k] = total[k] - left[k]
                    at_left = self.criterion.value(node, left)
                    at_right = self.criterion.value(node, right)
                if self.is_allowed(node, column, at_left, at_right):
                    memcpy(self.spare + kept * self.n_words, left, self.n_words * sizeof(int64_t))
                    self.spare_at[kept] = <uint32_t> i
                    self.keys[kept] = df_middle_prediction(at_left, at_right)
                    kept += 1
            left += self.n_words
        return kept

    cdef bint is_allowed(self, const Node* node, const Column* column, double left, double right) noexcept nogil:
        """Whether a cut whose sides predict this may be taken: not every one may where some feature has a direction."""
        return not self.is_bounded or df_is_allowed(node.lower, node.upper, column.direction, left, right)
