"""Splits between any two values (method "dense"), best and random.

The best cut of a feature is found without putting most of a node's records in order. Neighbouring codes make a *bucket*. The
node's records are counted by bucket; the cuts at the buckets' *edges* are scored like any others. A cut inside a bucket has a
left side between those of the bucket's edges, and so a score below a bound (see two_level.h). Only buckets whose bound reaches
the best score so far are *open*: their records are sorted by code, and their cuts scored too. So the cut found is that of a full
search.

    codes     0 1 2 3 | 4 5 6 7 | 8 9 ...
    buckets      0    |    1    |    2
    edges             ^         ^

The edges of all features are scored first, and only then are buckets opened: the features that have some
whose bound reaches the best edge so far are *pending* until the search of the node ends.

Inside an open bucket a cut may score as much as an edge: in the list of cuts that the criterion picks from,
the best edges stand in their places among the open buckets' cuts.

A `TwoLevelSearch` belongs to one thread and owns its scratch; it borrows the histogram builder and the evaluator of its `Cuts`.
"""
from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from dforest.core.component import has_methods_of

from dforest.core.loops cimport DF_UNORDERED, loops
from dforest.core.search.split_evaluator cimport FastScans, scans_of
from dforest.core.search.cut_list cimport PACKED_SUMS
from dforest.core.search.splitter cimport code_above
from dforest.core.search.packed_sums cimport draws_of, unpack_sum
from dforest.core.types cimport CONTINUOUS, bucket_of, code_t, data_code, data_row, in_subset, last_code, number_at
from dforest.rules.cut cimport df_min_draws
from dforest.rules.numerics cimport df_between

cdef extern from *:
    int df_lowest_bit "__builtin_ctzll"(uint64_t x) nogil

cdef extern from "core/search/two_level.h" nogil:
    double df_gini_bound(uint64_t before, uint64_t after, double weight, double first)

cdef extern from "rules/ordered_keys.h" nogil:
    uint64_t df_draw_key(uint64_t lo, uint64_t hi, double u, int is_wide, int is_float32, double* threshold)


# A floor this much below the best score leaves room for rounding. It is wide enough that an inner cut scores
# less than an edge at a corner of its box, unless another corner scores about as much.
cdef double MARGIN = 2.0 ** -20

cdef enum:
    NEAR_MISSING = 0xFFFF
    NO_BUCKET = 0xFFFF
    # Draws of a node where cuts inside a bucket of one class score less than the better of its edges: the score
    # is strictly convex there, by at least the weight to the power of -4 relative to its largest value.
    SMALL_NODE = 4096


def gini_reach(const uint64_t[::1] edges not None, uint64_t offset, double weight, double first, double floor,
               bint skips_pure):
    """Which buckets of a node of two classes may have a cut inside whose score is above a floor.

    Parameters
    ----------
    edges : ndarray of shape (n + 1,), dtype uint64
        Words of the left sides at the buckets' edges, see scan.h.
    offset : int
        Word of what is on the left besides.
    weight, first : float
        Draws of the node, and of its class 0.
    floor : float
    skips_pure : bool
        Whether buckets of one class don't count.

    Returns
    -------
    reaches : list of bool
    bounds : list of float
        For the cuts inside each bucket, where these are above the scores of its edges.
    """
    cdef double[::1] excess = np.empty(len(edges))
    loops.gini_reach(&edges[0], len(edges) - 1, offset, weight, first, floor, skips_pure, False, &excess[0])
    return ([excess[i] > 0.0 for i in range(len(edges) - 1)],
            [df_gini_bound(edges[i] + offset, edges[i + 1] + offset, weight, first) for i in range(len(edges) - 1)])


cdef inline uint64_t packed_binary(uint32_t binary_counts) noexcept nogil:
    """A word of unordered.h as one of scan.h."""
    return binary_counts & 255 | <uint64_t> (binary_counts >> 8) << 32


cdef void gather_sort_keys(const uint32_t* row, const uint32_t* rows, const code_t* codes, uint64_t* sort_keys,
                           Py_ssize_t n) noexcept nogil:
    """INOUT sort_keys : [n] in: the records' numbers; out: those, below their codes"""
    cdef Py_ssize_t i
    for i in range(n):
        sort_keys[i] |= <uint64_t> codes[data_row(rows, row[sort_keys[i]])] << 32


cdef void gather_codes(const Node* node, const code_t* codes, uint32_t* to) noexcept nogil:
    """OUT to : by Record.row"""
    cdef Py_ssize_t i
    for i in range(node.n):
        to[node.records[i].row] = codes[data_row(node.rows, node.records[i].row)]


cdef void scan_neighbours(const Node* node, const code_t* codes, const Column* column, uint32_t* near,
                          Split* split) noexcept nogil:
    """OUT near : [node.n] scratch"""
    cdef Py_ssize_t i, n = 0
    cdef uint32_t bucket, code, cut = <uint32_t> split.code, of_cut = bucket_of(column, cut), next_bucket = MAX_BUCKETS
    cdef uint32_t below = 0, above = column.n_codes
    for i in range(node.n):
        bucket = column.buckets[node.records[i].row]
        next_bucket = min(next_bucket, bucket if bucket > of_cut else <uint32_t> MAX_BUCKETS)
    for i in range(node.n):            # no branches: which buckets these are in, nobody can foretell
        near[n] = node.records[i].row
        bucket = column.buckets[near[n]]
        n += bucket == of_cut or (bucket == next_bucket and bucket < MAX_BUCKETS)
    for i in range(n):
        code = codes[data_row(node.rows, near[i])]
        below = max(below, code if code <= cut else below)
        above = min(above, code if code > cut else above)
    split.code = below
    split.above = above


cdef class TwoLevelSearch:
    """Finds the best cut of a column with buckets.

    Parameters
    ----------
    cuts : Cuts
        Of the same thread.
    data : DataView
    """

    def __cinit__(self, Cuts cuts not None, DataView data not None):
        self.cuts = cuts
        self.builder = cuts.builder
        self.packed = cuts.packed
        self.evaluator = cuts.evaluator
        self.codes = <uint32_t*> malloc(data.n_rows * sizeof(uint32_t))
        self.pending = <Pending*> malloc(data.n_features * sizeof(Pending))
        if self.codes == NULL or self.pending == NULL:
            raise MemoryError()
        memset(self.is_open, 0, sizeof(self.is_open))

    def __dealloc__(self):
        free(self.codes)
        free(self.pending)

    cdef void note(self, bint is_best) noexcept nogil:
        """Called after each feature of the node at hand, with whether it has the best cut by now."""
        if is_best:
            self.best_time = self.time
        self.time += 1

    cdef bint find(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) noexcept nogil:
        """As `Cuts.find`, if the search ends after the last feature.

        `Split.above` remains unknown, and the split's code need not occur in the node.
        """
        cdef const Column* column = &node.columns[feature]
        cdef Choice right, left
        cdef double highest
        if self.cuts.unordered.is_open:
            return self.find_unordered(node, column, rules, best)
        if not self.count(node, column):
            return self.find_by_code(node, column, rules, best)
        self.best_edges(node, rules, &right, &left)
        highest = max(best.score, right.score, left.score)
        if highest <= 0.0:
            return self.find_by_code(node, column, rules, best)
        self.open_buckets(node, highest, rules)
        if self.n_open > 0:
            self.pending[self.n_pending].feature = feature
            self.pending[self.n_pending].time = self.time
            self.pending[self.n_pending].bound = self.bound(node, rules)
            self.n_pending += 1
        if highest > best.score:
            self.choose(node, column, NULL, 0, right.entry, left.entry, rules, best)
            self.keep_above(column, best)
        return False

    cdef void finish_search(self, const Node* node, const LeafRules* rules, Split* best) noexcept nogil:
        """Open the buckets of the pending features, and replace `best` if a cut inside one is better."""
        cdef const Column* column
        cdef const Pending* pending
        cdef Choice right, left
        cdef Split found
        cdef Py_ssize_t i, n
        for i in range(self.n_pending):
            pending = &self.pending[i]
            if pending.bound < best.score * (1.0 - MARGIN):
                continue
            column = &node.columns[pending.feature]
            self.count(node, column)
            self.open_buckets(node, best.score, rules)
            if self.n_open == 0:
                continue
            self.best_edges(node, rules, &right, &left)
            n = self.gather_open(node, column)
            found = best[0]
            found.score = -1.0
            self.choose(node, column, self.builder.sorter.sort_first(n), n, right.entry, left.entry, rules, &found)
            if found.score > best.score or (found.score == best.score and pending.time <= self.best_time):
                found.feature = pending.feature
                self.keep_above(column, &found)
                best[0] = found
                self.best_time = pending.time
        self.n_pending = 0

    cdef void keep_above(self, const Column* column, Split* split) noexcept nogil:
        """Forget `Split.above` of a split just found unless it is of the same bucket, whose codes were looked up then."""
        if bucket_of(column, split.above) != bucket_of(column, <uint32_t> split.code):
            split.above = 0

    cdef bint count(self, const Node* node, const Column* column) noexcept nogil:
        """Count the node's records by bucket; return whether that is possible, and several buckets occur."""
        cdef Column by_bucket = column[0]
        if self.builder.accumulator != PACKED_SUMS:
            return False
        by_bucket.codes = column.buckets
        by_bucket.width = 1
        by_bucket.n_codes = MAX_BUCKETS
        self.builder.cumulate(node, &by_bucket, &self.found)
        self.edges[0] = 0
        memcpy(self.edges + 1, self.found.run, self.found.n * sizeof(uint64_t))
        memcpy(self.number, self.found.code, self.found.n * sizeof(uint32_t))
        self.found.run = self.edges + 1        # as other lists borrow what this one borrowed
        self.found.code = self.number
        return self.found.n + (self.found.missing_sum[0] > 0) > 1

    cdef bint find_unordered(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        """Look for the best cut in a node of few records: by buckets first, then with codes where several records share one."""
        cdef Column near = column[0]
        cdef uint16_t* to = <uint16_t*> self.codes     # bucket and place inside, ordered like the codes
        cdef uint64_t sort_keys[DF_UNORDERED]
        cdef Split found = best[0]
        cdef uint32_t row
        cdef Py_ssize_t i, j, n
        cdef bint is_constant
        # A cut after a bucket has the bucket's last code, whether it occurs or not: see `find`.
        for i in range(node.n):
            row = node.records[i].row
            to[row] = <uint16_t> (column.buckets[row] << 8 if column.buckets[row] < MAX_BUCKETS else NEAR_MISSING)
        near.codes = to
        near.width = 2
        near.n_codes = NEAR_MISSING
        is_constant = self.cuts.find_unordered(node, &near, rules, &found)
        n = self.gather_shared(node, column, 0.0 if is_constant else found.score, rules, sort_keys)
        if n > 0:
            for i in range(n):
                row = <uint32_t> sort_keys[i]
                for j in range(n):
                    to[row] += (column.buckets[<uint32_t> sort_keys[j]] == column.buckets[row]
                                and sort_keys[j] >> 32 < sort_keys[i] >> 32)
            found = best[0]
            is_constant = self.cuts.find_unordered(node, &near, rules, &found)
        if best.score < found.score == 0.0:
            return self.find_by_code(node, column, rules, best)
        if found.score > best.score and not found.only_missing_right:
            row = found.code
            found.code = min(last_code(column, row >> 8), column.n_codes - 1)
            for i in range(n):
                if to[<uint32_t> sort_keys[i]] == row:
                    found.code = <uint32_t> (sort_keys[i] >> 32)
        best[0] = found
        return is_constant

    cdef Py_ssize_t gather_shared(self, const Node* node, const Column* column, double highest, const LeafRules* rules,
                                  uint64_t* sort_keys) noexcept nogil:
        """Look up the records in open buckets, unless these have one record; return how many these are.

        OUT sort_keys : [node.n] code, and below it Record.row
        """
        cdef uint64_t seen[2][4]                       # by class: a bit for each bucket that occurs
        cdef uint64_t shared[4]                        # those of several records
        cdef uint64_t bit, bits, before, inside, missing = 0
        cdef uint16_t numbers[DF_UNORDERED]            # of the records' buckets
        cdef uint32_t shares
        cdef double floor = highest * (1.0 - MARGIN), weight = <double> node.statistics[1], first = <double> node.statistics[2]
        cdef bint bounded = highest > 0.0 and df_min_draws(rules) == 1
        cdef uint32_t bucket
        cdef Py_ssize_t i, n = 0
        cdef int at
        memset(seen, 0, sizeof(seen))
        memset(shared, 0, sizeof(shared))
        for i in range(node.n):
            bucket = numbers[i] = column.buckets[node.records[i].row]
            bit = <uint64_t> 1 << (bucket & 63)
            shared[bucket >> 6] |= (seen[0][bucket >> 6] | seen[1][bucket >> 6]) & bit
            seen[node.records[i].target][bucket >> 6] |= bit
        shared[MAX_BUCKETS >> 6] &= ~(<uint64_t> 1 << (MAX_BUCKETS & 63))
        for i in range(node.n, <Py_ssize_t> DF_UNORDERED):
            numbers[i] = NO_BUCKET
        if bounded and column.has_missing:
            missing = packed_binary(loops.unordered_sums_below(numbers, self.cuts.unordered.unordered.binary_counts,
                                                               MAX_BUCKETS) >> 16)
        for at in range(4):
            if not bounded:
                continue
            shared[at] &= seen[0][at] & seen[1][at]    # see SMALL_NODE
            bits = shared[at]
            while bits:
                bucket = 64 * at + df_lowest_bit(bits)
                bit = bits & (~bits + 1)
                bits ^= bit
                shares = loops.unordered_sums_below(numbers, self.cuts.unordered.unordered.binary_counts, <uint16_t> bucket)
                before = packed_binary(shares & 0xFFFF)
                inside = packed_binary(shares >> 16)
                if df_gini_bound(before, before + inside, weight, first) <= floor and (
                        missing == 0 or df_gini_bound(before + missing, before + inside + missing, weight, first) <= floor):
                    shared[at] ^= bit
        if shared[0] | shared[1] | shared[2] | shared[3]:
            for i in range(node.n):                    # no branches: which are in open buckets, nobody can foretell
                sort_keys[n] = node.records[i].row
                n += in_subset(shared, numbers[i])
            for i in range(n):
                sort_keys[i] |= <uint64_t> self.code_at(node, column, <uint32_t> sort_keys[i]) << 32
        return n

    cdef uint32_t code_at(self, const Node* node, const Column* column, uint32_t row) noexcept nogil:
        row = data_row(node.rows, row)
        if column.width == 1:
            return (<const uint8_t*> column.codes)[row]
        if column.width == 2:
            return (<const uint16_t*> column.codes)[row]
        return (<const uint32_t*> column.codes)[row]

    cdef bint find_by_code(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        """As `Cuts.find`, if need be with codes copied to where the node has its records."""
        cdef Column exact = column[0]
        if node.rows != NULL:
            exact.codes = self.codes
            exact.width = 4
            if column.width == 1:
                gather_codes[uint8_t](node, <const uint8_t*> column.codes, self.codes)
            elif column.width == 2:
                gather_codes[uint16_t](node, <const uint16_t*> column.codes, self.codes)
            else:
                gather_codes[uint32_t](node, <const uint32_t*> column.codes, self.codes)
        return self.cuts.find(node, &exact, rules, best)

    cdef void best_edges(self, const Node* node, const LeafRules* rules, Choice* right, Choice* left) noexcept nogil:
        """The best edge with missing values on the right, and the best one with them on the left, if there are any."""
        right[0] = self.evaluator.best_packed(node, &self.found, False, rules)
        left.entry = -1
        left.score = 0.0
        if self.found.missing_sum[0] > 0:
            left[0] = self.evaluator.best_packed(node, &self.found, True, rules)

    cdef void open_buckets(self, const Node* node, double highest, const LeafRules* rules) noexcept nogil:
        """Fill `open` with the buckets in which a cut may score as much as the highest so far."""
        cdef Py_ssize_t i, n_open = 0
        cdef bint reaches = self.reach(node, 0, highest * (1.0 - MARGIN), rules)
        if self.found.missing_sum[0] > 0:
            reaches = self.reach(node, self.found.missing_sum[0], highest * (1.0 - MARGIN), rules)
        if reaches:
            for i in range(self.found.n):
                self.open[n_open] = <uint8_t> i
                n_open += self.excess[i] > 0.0
        self.n_open = n_open

    cdef double bound(self, const Node* node, const LeafRules* rules) noexcept nogil:
        """A bound for the scores in all open buckets."""
        cdef Py_ssize_t i, j
        cdef double weight = <double> node.statistics[1], first = <double> node.statistics[2], highest = 0.0
        cdef uint64_t missing = self.found.missing_sum[0]
        if df_min_draws(rules) > 1:
            return INFINITY
        for j in range(self.n_open):
            i = self.open[j]
            highest = max(highest, df_gini_bound(self.edges[i], self.edges[i + 1], weight, first))
            if missing > 0:
                highest = max(highest, df_gini_bound(self.edges[i] + missing, self.edges[i + 1] + missing, weight, first))
        return highest

    cdef bint reach(self, const Node* node, uint64_t offset, double floor, const LeafRules* rules) noexcept nogil:
        """Set or raise `excess` of the buckets in which a cut may score more than a floor; return whether there are any."""
        cdef const int64_t* total = node.statistics
        cdef int64_t least = df_min_draws(rules), before, after
        cdef Py_ssize_t i
        cdef bint reaches = loops.gini_reach(self.edges, self.found.n, offset, <double> total[1], <double> total[2], floor,
                                             least == 1 and total[0] <= SMALL_NODE, offset > 0, self.excess)
        if least == 1:
            return reaches
        # An edge that the rules forbid may score more than the floor; its bucket may have cuts that they allow.
        for i in range(self.found.n):
            before = draws_of(self.edges[i] + offset, self.found.is_binary)
            after = draws_of(self.edges[i + 1] + offset, self.found.is_binary)
            if (before < least <= after) or (total[0] - after < least <= total[0] - before):
                self.excess[i] = 1.0
                reaches = True
        return reaches

    cdef Py_ssize_t gather_open(self, const Node* node, const Column* column) noexcept nogil:
        """Fill the sorter's `sort_keys` with the records in open buckets; return how many there are."""
        cdef uint64_t* sort_keys = self.builder.sorter.sort_keys
        cdef const uint32_t* row = self.packed.row
        cdef Py_ssize_t i, n = 0
        for i in range(self.n_open):
            self.is_open[self.number[self.open[i]]] = True
            self.place[self.number[self.open[i]]] = self.open[i]
        for i in range(node.n):
            sort_keys[n] = <uint64_t> i
            n += self.is_open[column.buckets[row[i]]]
        for i in range(self.n_open):
            self.is_open[self.number[self.open[i]]] = False
        if column.width == 1:
            gather_sort_keys[uint8_t](row, node.rows, <const uint8_t*> column.codes, sort_keys, n)
        elif column.width == 2:
            gather_sort_keys[uint16_t](row, node.rows, <const uint16_t*> column.codes, sort_keys, n)
        else:
            gather_sort_keys[uint32_t](row, node.rows, <const uint32_t*> column.codes, sort_keys, n)
        return n

    cdef void choose(self, const Node* node, const Column* column, const uint64_t* sort_keys, Py_ssize_t n, Py_ssize_t right,
                     Py_ssize_t left, const LeafRules* rules, Split* best) noexcept nogil:
        """Replace `best` by the best of the cuts in open buckets and at two edges (-1: none). IN sort_keys : [n] sorted"""
        cdef CutList cuts
        self.builder.blank(&cuts)
        cuts.missing_sum[0] = self.found.missing_sum[0]
        unpack_sum(cuts.missing_sum[0], cuts.is_binary, cuts.missing)
        cuts.n = self.merge(column, sort_keys, n, min(right, left), max(right, left), &cuts)
        self.evaluator.choose(node, column, &cuts, rules, best)

    cdef Py_ssize_t merge(self, const Column* column, const uint64_t* sort_keys, Py_ssize_t n, Py_ssize_t first,
                          Py_ssize_t second, CutList* cuts) noexcept nogil:
        """Fill a list with the cuts of open buckets, two edges (-1: none) and the last one; return how many there are.

        IN sort_keys : [n] sorted
        """
        cdef uint64_t* run = cuts.run
        cdef uint32_t* codes = cuts.code
        cdef uint64_t sum
        cdef uint32_t code
        cdef Py_ssize_t i = 0, at, to = 0, place, next_place, last = self.found.n - 1
        at = -1                            # of the edge or open bucket written last
        while at < last:
            next_place = self.place[bucket_of(column, <uint32_t> (sort_keys[i] >> 32))] if i < n else last
            place = next_place
            if at < second < place:
                place = second
            if at < first < place:
                place = first
            at = place
            if i < n and place == next_place:
                sum = self.edges[place]
                while i < n:
                    code = <uint32_t> (sort_keys[i] >> 32)
                    if self.place[bucket_of(column, code)] != place:
                        break
                    sum += self.packed.sums[<uint32_t> sort_keys[i]]
                    run[to] = sum
                    codes[to] = code
                    i += 1
                    to += i == n or <uint32_t> (sort_keys[i] >> 32) != code
                continue
            run[to] = self.edges[place + 1]
            codes[to] = min(last_code(column, self.number[place]), column.n_codes - 1)
            to += 1
        return to

    cdef void find_neighbours(self, const Node* node, const Column* column, Split* split) noexcept nogil:
        """Set `above`, and let `code` be that of a value that occurs in the node."""
        cdef uint32_t* near = <uint32_t*> self.builder.sorter.sort_keys
        if column.width == 1:
            scan_neighbours[uint8_t](node, <const uint8_t*> column.codes, column, near, split)
        elif column.width == 2:
            scan_neighbours[uint16_t](node, <const uint16_t*> column.codes, column, near, split)
        else:
            scan_neighbours[uint32_t](node, <const uint32_t*> column.codes, column, near, split)


cdef class DenseSplitter(Splitter):
    """The splitter that searches all thresholds of exact values: ``splitter="best"`` with ``method="dense"``.

    A threshold is the middle between two neighbouring values of the node.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier
    >>> from dforest.splitter import DenseSplitter
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(splitter=DenseSplitter(), method="dense", max_depth=1, random_state=0).fit(X, y)
    >>> float(tree.tree_.threshold[0])
    2.45
    """

    def __cinit__(self, *args, **kwargs):
        self.method = "dense"
        self.takes_ranks = type(self) is DenseSplitter       # a subclass may look codes up in the data
        self.grows_small_subtrees = self.takes_ranks
        self.takes_sparse = has_methods_of(type(self), DenseSplitter)

    cdef bint searches_two_levels(self, DataView data, Criterion criterion):
        """Whether bounds are known for what cuts inside a bucket score."""
        cdef Py_ssize_t j
        cdef FastScans scans = scans_of(criterion)
        for j in range(data.n_features):
            if data.columns[j].monotonic_cst != 0:
                return False
        return self.takes_ranks and scans is not None and scans.has_bounds and data.weight == NULL

    cdef uint64_t wanted_buckets(self, DataView data, Criterion criterion):
        # Where few features are tried, most nodes are so small that each record has a bucket of its own: buckets gain nothing.
        n_buckets = MAX_BUCKETS if 2 * self.max_features >= data.n_features else 0
        return self.tuning.get("buckets", n_buckets) if self.searches_two_levels(data, criterion) else 0

    cdef int attach(self, DataView data, Criterion criterion, Py_ssize_t n_records) except -1:
        Splitter.attach(self, data, criterion, n_records)
        if data.buckets != NULL:
            self.two_level = TwoLevelSearch(self.cuts, data)
        return 0

    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
        cdef double before = best.score
        cdef bint is_constant
        if node.columns[feature].buckets != NULL:
            is_constant = self.two_level.find(node, feature, rules, best)
        else:
            is_constant = self.cuts.find(node, &node.columns[feature], rules, best)
        if self.two_level is not None:
            self.two_level.note(best.score > before)
        return is_constant

    cdef void finish_search(self, const Node* node, const LeafRules* rules, Split* best) noexcept nogil:
        if self.two_level is not None:
            self.two_level.finish_search(node, rules, best)

    cdef int store_split(self, const Node* node, Split* split) except -1 nogil:
        """Leave the threshold of a continuous feature to whoever writes the tree, as looking values up means waiting for memory.

        Of a subclass, what `threshold` says is asked.
        """
        cdef const Column* column = &node.columns[split.feature]
        cdef Split found
        if not self.takes_ranks or column.kind != CONTINUOUS or split.only_missing_right:
            return Splitter.store_split(self, node, split)
        found = self.with_neighbours(node, split)
        split.is_deferred = True
        split.between[0] = data_code(column, <uint32_t> found.code)
        split.between[1] = data_code(column, code_above(node, column, &found))
        return 0

    cdef inline Split with_neighbours(self, const Node* node, const Split* split) noexcept nogil:
        """A split whose code is that of a value in the node, and whose `above` is known if buckets do not tell it."""
        cdef Split found = split[0]
        if node.columns[split.feature].buckets != NULL and split.above == 0:
            self.two_level.find_neighbours(node, &node.columns[split.feature], &found)
        return found

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef Split found = self.with_neighbours(node, split)
        return Splitter.threshold(self, node, &found)

    cdef double ordinal_threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef Split found = self.with_neighbours(node, split)
        return Splitter.ordinal_threshold(self, node, &found)


cdef class RandomDenseSplitter(RandomSplitter):
    """The splitter that draws thresholds between exact values: ``splitter="random"`` with ``method="dense"``.

    For each feature it draws one threshold, uniformly between the node's smallest and largest value.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier
    >>> from dforest.splitter import RandomDenseSplitter
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(splitter=RandomDenseSplitter(), method="dense", random_state=0).fit(X, y)
    >>> tree.score(X, y)
    1.0
    """

    def __cinit__(self, *args, **kwargs):
        self.method = "dense"
        self.takes_keys = type(self) is RandomDenseSplitter     # a subclass may look codes up in the data
        self.grows_small_subtrees = self.takes_keys
        self.takes_sparse = has_methods_of(type(self), RandomDenseSplitter)

    cdef uint64_t draw_cut(self, const Column* column, uint64_t lo, uint64_t hi, double u, double* threshold) noexcept nogil:
        cdef uint64_t middle
        cdef const void* values = column.values
        if column.has_keys:
            return df_draw_key(lo, hi, u, column.width == 8, column.is_float32, threshold)
        threshold[0] = df_between(number_at(column, values, <uint32_t> lo), number_at(column, values, <uint32_t> hi), u,
                                  column.is_float32)
        while hi - lo > 1:     # value[lo] <= threshold < value[hi]
            middle = lo + (hi - lo) // 2
            if number_at(column, values, <uint32_t> middle) <= threshold[0]:
                lo = middle
            else:
                hi = middle
        return lo
