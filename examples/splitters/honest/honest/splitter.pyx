"""Honest trees: some of a tree's rows choose its splits, and the others give its leaves their values.

A leaf's mean over the rows that chose the splits is too extreme, because splits look for extremes. A mean over rows that had
no part in the choice has no such bias, and ordinary confidence intervals are valid.

Terms: the *structure* half of a node are the records whose rows choose splits, and the *estimation* half are all others.
Which half a row belongs to depends on the tree: it is a hash of the tree's seed and the row's number, so it can be computed
wherever the row occurs and need not be stored. All draws of a row are in the same half.

    draws:   | structure ............ | estimation .... |
             0                        n                 n + n_estimation

A node is searched in a copy of its draws, which has this order. The search is dforest's own, on the structure half. Of the
estimation half, it only knows how many draws are on which side, never their targets.

A splitter belongs to one thread and owns its working memory, including this copy.

S. Wager, S. Athey, "Estimation and inference of heterogeneous treatment effects using random forests", JASA 113, 2018,
section 2.4, "double-sample trees".
"""
from numbers import Real

from libc.math cimport ldexp
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from dforest.core.component cimport CONTRACT
from dforest.core.search.criterion cimport Criterion
from dforest.core.data cimport DataView
from dforest.rules.random cimport DF_CUSTOM, DF_ROOT_KEY, df_feature_key, df_next, df_stream, df_stream_open
from dforest.core.search.splitter cimport Splitter, code_range
from dforest.core.types cimport CATEGORICAL, Column, LeafRules, Node, Record, Split, code_at, data_row, in_subset

from dforest.core.component import declare_contract

declare_contract(__name__, CONTRACT)

cdef struct Sum:
    int64_t records
    int64_t weight

cdef struct Halves:
    Node structure             # the first member, so that a pointer to it is a pointer to the struct
    Py_ssize_t n_estimation    # records behind those of the structure half ...
    Sum estimation             # ... and their sum


cdef inline bint is_left(const Column* column, const Split* split, uint32_t code) noexcept nogil:
    """Where a record of a code goes."""
    if column.has_missing and code == column.n_codes:
        return split.missing_left
    if split.payload != NULL:
        return in_subset(split.payload, code) != split.missing_left
    return split.only_missing_right or code <= split.code


cdef Sum sum_left(const Record* records, Py_ssize_t n, const Column* column, const Split* split) noexcept nogil:
    """Draws and weight of the records on the left."""
    cdef Sum left = Sum(0, 0)
    cdef Py_ssize_t i
    for i in range(n):
        if is_left(column, split, code_at(column, records[i].row)):
            left.records += records[i].count
            left.weight += <int64_t> records[i].count * records[i].weight
    return left


cdef Sum sum_between(const Record* records, Py_ssize_t n, const Column* column, uint32_t first, uint32_t end) noexcept nogil:
    """Draws and weight of the records with codes from first to before end."""
    cdef Sum found = Sum(0, 0)
    cdef Py_ssize_t i
    for i in range(n):
        if first <= code_at(column, records[i].row) < end:
            found.records += records[i].count
            found.weight += <int64_t> records[i].count * records[i].weight
    return found


cdef class HonestSplitter(Splitter):
    """The best split of the structure half; leaves learn from the estimation half.

    `min_samples_leaf` holds in each half on its own, and so does `min_weight_fraction_leaf`, multiplied by the half's share
    of the weight. For a numeric feature, the cut is the best of those that leave enough draws of both halves on both sides. A
    categorical feature whose best cut does not is not used in the node. A node whose structure half is pure is a leaf.

    Parameters
    ----------
    structure_share : float, default=0.5
        The average share of the rows that choose splits, between 0 and 1.
    """

    parameters = ("structure_share",)

    cdef readonly double structure_share
    cdef uint64_t limit            # hashes below it: structure
    cdef uint64_t key              # of the tree at hand
    cdef Record* records               # [records]
    cdef int64_t* statistics       # [n_words] of the structure half
    cdef uint32_t* codes           # [n_rows] see `clip`
    cdef uint64_t* subset          # [cuts.categories.n_set_words] payload of the best cut so far

    def __cinit__(self, *args, **kwargs):
        self.has_own_leaves = True

    def __init__(self, structure_share=0.5):
        if not isinstance(structure_share, Real) or not 0.0 < structure_share < 1.0:
            raise ValueError(f"structure_share={structure_share!r}; allowed are numbers between 0 and 1, without these")
        self.structure_share = structure_share
        self.limit = <uint64_t> ldexp(self.structure_share, 64)

    def __dealloc__(self):
        free(self.records)
        free(self.statistics)
        free(self.codes)
        free(self.subset)

    cdef int prepare(self, DataView data, Criterion criterion) except -1:
        for j in range(data.n_features):
            if data.columns[j].monotonic_cst:
                raise ValueError("monotonic_cst: an honest tree predicts means of rows that its splits were not chosen by, and "
                                 "they may be in another order")
        return 0

    cdef int attach(self, DataView data, Criterion criterion, Py_ssize_t n_records) except -1:
        Splitter.attach(self, data, criterion, n_records)
        self.records = <Record*> malloc(n_records * sizeof(Record))
        self.statistics = <int64_t*> malloc(criterion.n_words * sizeof(int64_t))
        self.codes = <uint32_t*> malloc(data.n_rows * sizeof(uint32_t))
        self.subset = <uint64_t*> malloc((self.cuts.categories.n_set_words + 1) * sizeof(uint64_t))
        if self.records == NULL or self.statistics == NULL or self.codes == NULL or self.subset == NULL:
            raise MemoryError()
        return 0

    cdef int open_tree(self, uint32_t seed, const LeafRules* rules) except -1 nogil:
        cdef df_stream stream
        Splitter.open_tree(self, seed, rules)
        self.rules.min_weight *= self.structure_share        # what `best_cut` gets
        df_stream_open(&stream, seed, DF_ROOT_KEY, DF_CUSTOM)
        self.key = <uint64_t> df_next(&stream) << 32
        self.key |= df_next(&stream)
        return 0

    cdef inline bint is_structure(self, const Node* node, Py_ssize_t i) noexcept nogil:
        """Which half a record belongs to, by the hash function that otherwise makes a feature's path from a node's path."""
        return df_feature_key(self.key, data_row(node.rows, node.records[i].row)) < self.limit

    cdef Py_ssize_t copy_half(self, const Node* node, bint structure, Record* to) noexcept nogil:
        """Copy one half of a node's draws; return how many records it has."""
        cdef Py_ssize_t i, n = 0
        for i in range(node.n):
            if self.is_structure(node, i) == structure:
                to[n] = node.records[i]
                n += 1
        return n

    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        cdef Halves halves
        cdef Node again = node[0]
        out.feature = -1
        halves.structure = node[0]
        halves.structure.records = self.records
        halves.structure.statistics = again.statistics = self.statistics
        halves.structure.n = self.copy_half(node, True, self.records)
        halves.n_estimation = self.copy_half(node, False, self.records + halves.structure.n)
        if halves.structure.n == 0 or halves.n_estimation == 0:
            return 0
        self.criterion.open_node(&halves.structure)
        halves.estimation.records = node.statistics[0] - self.statistics[0]
        halves.estimation.weight = node.statistics[1] - self.statistics[1]
        if not halves.structure.is_pure:
            Splitter.find_split(self, &halves.structure, out)
        if out.feature >= 0:
            self.complete(node, &halves, out)
        # The criterion goes on with the whole node.
        return self.criterion.open_node(&again)

    cdef int complete(self, const Node* node, const Halves* halves, Split* out) except -1 nogil:
        """Convert the best split of the structure half into a split of the whole node."""
        cdef const Column* column = &node.columns[out.feature]
        cdef Sum left
        # In the unit of impurity of the whole node, and for its weight.
        out.score = ldexp(out.score * (<double> node.statistics[1] / <double> halves.structure.statistics[1]),
                          self.criterion.score_exponent(&halves.structure) - self.criterion.score_exponent(node))
        if column.kind != CATEGORICAL and not code_range(node, column).has_missing:
            left = sum_left(node.records, node.n, column, out)
            out.missing_left = 2 * left.records > node.statistics[0]
        out.above = 0              # was the structure half's
        return self.store_split(node, out)

    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
        cdef const Halves* halves = <const Halves*> node
        cdef const Column* column = &node.columns[feature]
        cdef Column inner
        cdef Split found = best[0]
        if self.cuts.find(node, column, rules, &found):
            return True
        if found.score > best.score and not self.keeps_rules(halves, column, rules, &found):
            found = best[0]
            if column.kind != CATEGORICAL and self.clip(halves, column, rules, &inner):
                self.cuts.find(node, &inner, rules, &found)
                if not self.keeps_rules(halves, column, rules, &found):     # it parts missing values from all others
                    found = best[0]
        if found.score > best.score:
            best[0] = found
            if found.payload != NULL:
                memcpy(self.subset, found.payload, found.n_payload_words * sizeof(uint64_t))
                best.payload = self.subset
        return False

    cdef inline bint is_enough(self, Sum side, const LeafRules* rules) noexcept nogil:
        """Whether a side has enough of the estimation half."""
        return (side.records >= rules.min_draws
                and <double> side.weight >= rules.min_weight / self.structure_share * (1.0 - self.structure_share))

    cdef bint keeps_rules(self, const Halves* halves, const Column* column, const LeafRules* rules,
                          const Split* split) noexcept nogil:
        """Whether a split leaves enough of the estimation half on both sides."""
        cdef const Record* records = halves.structure.records + halves.structure.n
        cdef Sum left = sum_left(records, halves.n_estimation, column, split), right = halves.estimation
        right.records -= left.records
        right.weight -= left.weight
        return self.is_enough(left, rules) and self.is_enough(right, rules)

    cdef bint clip(self, const Halves* halves, const Column* column, const LeafRules* rules, Column* inner) noexcept nogil:
        """Make a column that only has the cuts with enough values of the estimation half on both sides; False if there is none.

        Codes up to the lowest such cut become one code, and so do the codes above the highest such cut. Missing values stay,
        but are not counted, so that a cut has enough values on both sides wherever they go.
        """
        cdef const Record* records = halves.structure.records
        cdef const Record* others = records + halves.structure.n
        cdef uint32_t lowest = 0, highest = 0, n = column.n_codes, half, code
        cdef Py_ssize_t i
        # The first of the codes lowest, ..., lowest + n with enough up to it; n_codes: there is none.
        while n > 0:
            half = n // 2
            if self.is_enough(sum_between(others, halves.n_estimation, column, 0, lowest + half + 1), rules):
                n = half
            else:
                lowest += half + 1
                n -= half + 1
        # The first without enough above it.
        n = column.n_codes
        while n > 0:
            half = n // 2
            if self.is_enough(sum_between(others, halves.n_estimation, column, highest + half + 1, column.n_codes), rules):
                highest += half + 1
                n -= half + 1
            else:
                n = half
        if lowest >= highest:
            return False
        for i in range(halves.structure.n):
            code = code_at(column, records[i].row)
            if code < column.n_codes:
                code = min(max(code, lowest), highest)
            self.codes[records[i].row] = code
        inner[0] = column[0]
        inner.codes = self.codes
        inner.width = sizeof(uint32_t)
        return True

    cdef int open_leaf(self, Node* node) except -1 nogil:
        cdef Py_ssize_t n = self.copy_half(node, False, self.records)
        if n == 0:                 # a root without any
            return 0
        node.records = self.records
        node.n = n
        return self.criterion.open_node(node)
