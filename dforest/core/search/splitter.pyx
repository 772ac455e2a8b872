"""The base classes of splitters: feature sampling, and the order of the search; and splits at the edges of bins (method "hist").

A splitter owns its scratch; the data view, the criterion and the node are lent to it.
"""
from libc.math cimport INFINITY, NAN
from libc.stdint cimport uint16_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memmove

from dforest.core.prefetch cimport df_prefetch
from dforest.core.threads cimport WAIT_LOCK, PyThread_acquire_lock, PyThread_release_lock
from dforest.core.types cimport CATEGORICAL, CONTINUOUS, ORDINAL, code_at, code_t, data_code, in_subset, midpoint_of, number_at
from dforest.rules.cut cimport df_last_left, df_threshold_code
from dforest.rules.feature_order cimport DF_MANY_FEATURES, df_round_size, df_tries_more
from dforest.rules.numerics cimport df_power
from dforest.rules.random cimport DF_THRESHOLD, df_below, df_feature_key, df_stream, df_stream_open, df_uniform

from dforest.core.component import SplitterError, has_methods_of

cdef extern from "core/search/random_cut.h" nogil:
    uint64_t df_draw_bin(const Column* column, uint64_t lo, uint64_t hi, double u, double* threshold)

cdef enum:
    FETCHED_RECORDS = 128      # codes that are on their way to a cache at a time, about, but those of one feature ...
    FETCHED_FEATURES = 8       # ... at least, and of so many at most
    FETCHED_SPARSE = 8         # sparse columns whose stored rows are on their way; as many before that, where these are
    FETCH_BYTES_FROM = 1 << 19     # all codes, in a cache of a thread's own otherwise
    OF_TREE = -1               # depth of features that are constant in the whole tree
    TREE_PATH = 0              # of the features that a tree draws; no node's

cdef int64_t PARALLEL_VISITS_FROM = 1 << 17    # worth waking a thread up for, by default
cdef Py_ssize_t FETCH_UP_TO = 4096             # records of a node, by default: codes of larger ones are close to each other


cdef CodeRange code_range(const Node* node, const Column* column) noexcept nogil:
    """The codes that occur in a node, from one pass over its draws."""
    cdef CodeRange found
    cdef Py_ssize_t i
    cdef uint32_t code
    found.lowest = 0xFFFFFFFF
    found.highest = 0
    found.has_missing = False
    if column.stored != NULL:
        for i in range(node.n):
            code = code_at(column, node.records[i].row)
            if code == column.n_codes:
                found.has_missing = True
            else:
                found.lowest = min(found.lowest, <uint64_t> code)
                found.highest = max(found.highest, <uint64_t> code)
    elif column.width == 1:
        scan_range[uint8_t](node, <const uint8_t*> column.codes, column.n_codes, column.has_missing, &found)
    elif column.width == 2:
        scan_range[uint16_t](node, <const uint16_t*> column.codes, column.n_codes, column.has_missing, &found)
    else:
        scan_range[uint32_t](node, <const uint32_t*> column.codes, column.n_codes, column.has_missing, &found)
    return found


cdef void scan_range(const Node* node, const code_t* codes, uint32_t n_codes, bint may_miss, CodeRange* found) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint32_t code, lowest = 0xFFFFFFFF, highest = 0
    cdef bint has_missing = False
    if not may_miss:
        for i in range(node.n):
            code = codes[node.records[i].row]
            lowest = min(lowest, code)
            highest = max(highest, code)
    else:
        for i in range(node.n):
            code = codes[node.records[i].row]
            has_missing |= code == n_codes
            lowest = min(lowest, code if code != n_codes else lowest)
            highest = max(highest, code if code != n_codes else highest)
    found.lowest = lowest
    found.highest = highest
    found.has_missing = has_missing


cdef uint32_t code_above(const Node* node, const Column* column, const Split* split) noexcept nogil:
    """The lowest code of a value that occurs in a node above a cut; n_codes if none does."""
    cdef Py_ssize_t i
    cdef uint32_t code, lowest = column.n_codes
    if split.above:
        return split.above
    if column.stored != NULL:
        for i in range(node.n):
            code = code_at(column, node.records[i].row)
            lowest = min(lowest, code if code > split.code else lowest)
        return lowest
    if column.width == 1:
        return scan_next[uint8_t](node, <const uint8_t*> column.codes, <uint32_t> split.code, column.n_codes)
    if column.width == 2:
        return scan_next[uint16_t](node, <const uint16_t*> column.codes, <uint32_t> split.code, column.n_codes)
    return scan_next[uint32_t](node, <const uint32_t*> column.codes, <uint32_t> split.code, column.n_codes)


cdef uint32_t scan_next(const Node* node, const code_t* codes, uint32_t code, uint32_t n_codes) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint32_t c, lowest = n_codes
    for i in range(node.n):
        c = codes[node.records[i].row]
        if c > code and c < lowest:
            lowest = c
    return lowest


cdef void fetch_codes(const Node* node, const Column* column) noexcept nogil:
    """Have the codes of a node's records brought to a cache, without waiting for them."""
    cdef Py_ssize_t i
    cdef const char* codes = <const char*> (column.codes if column.buckets == NULL else column.buckets)
    cdef Py_ssize_t width = column.width if column.buckets == NULL else 1
    if column.stored != NULL:
        return
    for i in range(node.n):
        df_prefetch(codes + width * <Py_ssize_t> node.records[i].row)


cdef inline void fetch_column(const Column* column) noexcept nogil:
    """Have what is said of a column's codes brought to a cache: it may lie in two lines."""
    df_prefetch(<const char*> column)
    df_prefetch(<const char*> &column.has_missing)


cdef inline void fetch_stored(const Column* column) noexcept nogil:
    """Have the first stored rows of a column, if it is sparse, and their codes brought to a cache."""
    if column.stored != NULL:
        df_prefetch(<const char*> column.stored)
        df_prefetch(<const char*> column.codes)


cdef int try_features(void* context, void* own) except -1 nogil:
    return (<Splitter> own).try_features(<ParallelSearch*> context)


cdef class Splitter:
    """Base class of splitters, which choose how a node is split.

    Splitters that are written in Cython derive from it, and those that are written in Python from `PythonSplitter`. The contract
    of the former is the head of ``dforest/core/search/splitter.pxd``.
    """

    methods_in_c = ("find_split", "best_cut", "draw_cut", "finish_search", "store_split", "goes_left", "open_leaf",
                    "leaf_records")
    in_python = "dforest.splitter.PythonSplitter"

    def configure(self, Py_ssize_t max_features, bint one_hot=False, dict tuning=None, bint skip_constant_features=True,
                  feature_weights=None, always_tried=(), int n_random_splits=1, gain_factors=None,
                  bint gain_factors_by_depth=False, Py_ssize_t tree_features=0):
        """Set what the splitter must know of the forest's parameters; forests call this method before trees are grown.

        Parameters
        ----------
        max_features : int
            Number of features that are tried at a node before the search may stop.
        one_hot : bool
            Whether a node parts only a single category from the others, instead of any number of them.
        tuning : dict
            Size thresholds of the implementation, which change the speed and never the forest.
        skip_constant_features : bool
            Whether features that are constant in a node don't count among `max_features`.
        feature_weights : ndarray of shape (n_features,), dtype uint64, optional
            With which chances features are tried: integers whose sum is 2**52 at most. None means equal chances.
        always_tried : sequence of int, default=()
            Features that are tried in every node, beside `max_features` others. `feature_weights` must be given with them.
        n_random_splits : int, default=1
            How many thresholds are drawn for each feature, by splitters that draw them.
        gain_factors : ndarray of shape (n_features,), dtype float64, optional
            What the gain of a split is multiplied by if no split above it uses its feature: numbers above 0 and up to 1. None
            means that all are 1.
        gain_factors_by_depth : bool
            Whether factors are taken to the power of a node's depth, where the root's is 1.
        tree_features : int
            Number of features that each tree draws at random: in the whole tree, all others are taken for constant. 0 means that
            trees draw none, and may use all features.

        Returns
        -------
        self
            This splitter.
        """
        self._check_flags()
        self.max_features = max_features
        self.skip_constant_features = skip_constant_features
        self.feature_weights = feature_weights
        self.always_tried = tuple(always_tried)
        self.n_random_splits = n_random_splits
        self.gain_factors = gain_factors
        self.gain_factors_by_depth = gain_factors_by_depth
        self.has_preferences = feature_weights is not None or n_random_splits > 1 or gain_factors is not None
        if self.has_preferences:
            self.grows_small_subtrees = False
        if gain_factors is not None:
            self.needs_path_features = True
        self.one_hot = one_hot
        self.tree_features = tree_features
        self.tuning = dict(tuning or {})
        self.parallel_visits_from = self.tuning.get("parallel_visits_from", PARALLEL_VISITS_FROM)
        return self

    def _check_flags(self):
        """Raise SplitterError if a method is there, but not the flag without which it is never called."""
        for is_there, flag, name in (
            (<void*> self.goes_left != <void*> PLAIN.goes_left, self.has_own_tests, "goes_left"),
            (<void*> self.open_leaf != <void*> PLAIN.open_leaf, self.has_own_leaves, "open_leaf"),
        ):
            if is_there and not flag:
                needed = "has_own_tests" if name == "goes_left" else "has_own_leaves"
                raise SplitterError(f"{type(self).__name__} has the method {name}, which is called only if {needed} is set; set "
                                    "it in __cinit__")

    def __dealloc__(self):
        free(self.gain_factor)
        free(self.kept_subset)
        free(self.first)
        free(self.found_constant)
        free(self.is_constant)
        free(self.constant_stack)

    def clone(self):
        """Return a copy of this splitter, with its class, its parameters and its settings of `configure`, without data."""
        splitter = self.__sklearn_clone__()
        return splitter.configure(self.max_features, self.one_hot, self.tuning, self.skip_constant_features,
                                  self.feature_weights, self.always_tried, self.n_random_splits, self.gain_factors,
                                  self.gain_factors_by_depth, self.tree_features)

    def runs_on(self, device):
        """Whether there is code of this splitter for another device than the CPU: never for one from elsewhere."""
        return self.is_built_in

    def used_features(self, payload):
        """Return which features a test of this splitter's own is about, for importances.

        Parameters
        ----------
        payload : ndarray of shape (n_words,), dtype uint64
            Payload of the test.

        Returns
        -------
        features : ndarray of int
            Numbers of the features. The method may return None in place of both arrays: the test is then about the
            node's `feature` alone.
        shares : ndarray of float
            Share of each of these features in the node's impurity decrease; they sum to 1.
        """
        return None

    def describe(self, payload, names):
        """Return a text for people that says what is true of rows that go left by a test of this splitter's own.

        Parameters
        ----------
        payload : ndarray of shape (n_words,), dtype uint64
            Payload of the test.
        names : list of str
            Names of the features.

        Returns
        -------
        str or None
            The text. None means that only the features that the test is about can be named.
        """
        return None

    cdef int prepare(self, DataView data, Criterion criterion) except -1:
        return 0

    cdef uint64_t wanted_buckets(self, DataView data, Criterion criterion):
        return 0

    cdef int attach(self, DataView data, Criterion criterion, Py_ssize_t n_records) except -1:
        cdef Py_ssize_t n = data.n_features
        self.data = data
        self.criterion = criterion
        self.cuts = Cuts(criterion, data, n_records, self.one_hot, self.tuning)
        if self.has_own_tests:
            self.divisions = Divisions(criterion, n_records)
        self.order = FeatureOrder(n, self.feature_weights, self.always_tried)
        if data.present_from != NULL and n >= DF_MANY_FEATURES and self.feature_weights is None:
            self.present = Present(data, self.tuning)
        if data.n_rows * n * data.widest() >= FETCH_BYTES_FROM or "fetch_up_to" in self.tuning:
            self.fetch_up_to = self.tuning.get("fetch_up_to", FETCH_UP_TO)
        self.is_constant = <uint8_t*> calloc(n, sizeof(uint8_t))
        self.constant_stack = <ConstantFeature*> malloc(n * sizeof(ConstantFeature))
        self.first = <Py_ssize_t*> malloc(n * sizeof(Py_ssize_t))
        self.found_constant = <uint8_t*> malloc(n * sizeof(uint8_t))
        if self.is_constant == NULL or self.constant_stack == NULL or self.first == NULL or self.found_constant == NULL:
            raise MemoryError()
        if self.gain_factors is not None:
            self.take_factors()
        return 0

    cdef int take_factors(self) except -1:
        cdef Py_ssize_t j
        self.gain_factor = <double*> malloc(self.data.n_features * sizeof(double))
        self.kept_subset = <uint64_t*> calloc(self.cuts.categories.n_set_words + 1, sizeof(uint64_t))
        if self.gain_factor == NULL or self.kept_subset == NULL:
            raise MemoryError()
        for j in range(self.data.n_features):
            self.gain_factor[j] = self.gain_factors[j]
        return 0

    def join(self, Team team not None, int member):
        """Share large nodes with the other members of a team."""
        self.team = team
        self.member = member

    cdef int open_tree(self, uint32_t seed, const LeafRules* rules) except -1 nogil:
        self.seed = seed
        self.rules = rules[0]
        self.forget_constants_from(OF_TREE)
        if 0 < self.tree_features < self.data.n_features:
            self.draw_tree_features()
        return 0

    cdef void draw_tree_features(self) noexcept nogil:
        """Leave the features out that the tree does not draw."""
        cdef Py_ssize_t i
        cdef uint32_t feature
        self.order.open(self.seed, TREE_PATH)
        for i in range(self.data.n_features):
            feature = self.order.next()
            if i >= self.tree_features:
                self.push_constant(feature, OF_TREE)
        self.order.close()

    cdef void forget_constants(self) noexcept nogil:
        self.forget_constants_from(0)

    cdef void push_constant(self, Py_ssize_t feature, Py_ssize_t depth) noexcept nogil:
        """Leave a feature out below a node of a depth."""
        self.is_constant[feature] = 1
        self.constant_stack[self.n_constant].feature = feature
        self.constant_stack[self.n_constant].depth = depth
        self.n_constant += 1

    cdef bint is_on_path(self, const Node* node, Py_ssize_t feature) except -1 nogil:
        if node.on_path == NULL:
            with gil:
                name = type(self).__name__
                raise RuntimeError(f"{name}: is_on_path needs needs_path_features=True, set in __cinit__")
        return in_subset(node.on_path, <uint32_t> feature)

    cdef int search_in_parallel(self, const Node* node, Py_ssize_t n, Split* out) except -1 nogil:
        """Try the first n features of `first` together with idle threads."""
        cdef Py_ssize_t i
        cdef ParallelSearch search
        search.task.part = try_features
        search.task.context = &search
        search.task.leader = self.member
        search.task.n_items = n
        self.finish_search(node, &self.rules, out)
        search.leader = <PyObject*> self
        search.node = node
        search.before = search.best = out[0]
        search.best_item = -1
        search.is_own = True
        self.cuts.lend_node(node)
        self.team.run_task(&search.task, <void*> self)
        for i in range(search.task.n_items):
            if self.found_constant[i]:
                self.push_constant(self.first[i], node.depth)
        out[0] = search.best
        if not search.is_own and out.payload != NULL:      # which may have changed since
            out.score = -1.0
            self.try_feature(node, out.feature, out)
        return 0

    cdef int try_features(self, ParallelSearch* search) except -1 nogil:
        """This thread's part in a shared search."""
        cdef bint leads = <PyObject*> self == search.leader, is_better
        cdef Py_ssize_t item, best_item = 0
        cdef Split best
        if leads:
            best = search.before
        else:
            best.feature = -1
            best.score = -1.0
            best.payload = NULL
            self.seed = (<Splitter> search.leader).seed
            self.rules = (<Splitter> search.leader).rules
            self.criterion.join_node(search.node, (<Splitter> search.leader).criterion)
            self.cuts.join_node(search.node, (<Splitter> search.leader).cuts)
        while True:
            item = self.team.take_item(&search.task)
            if item < 0:
                break
            (<Splitter> search.leader).found_constant[item] = self.try_feature(
                search.node, (<Splitter> search.leader).first[item], &best)
        self.finish_search(search.node, &self.rules, &best)
        self.criterion.check()
        while best_item < search.task.n_items and (<Splitter> search.leader).first[best_item] != best.feature:
            best_item += 1
        if best_item == search.task.n_items:        # none of these
            return 0
        PyThread_acquire_lock(self.team.lock, WAIT_LOCK)
        is_better = best.score > search.best.score or (best.score == search.best.score and best_item < search.best_item)
        if is_better:
            search.best = best
            search.best_item = best_item
            search.is_own = leads
        PyThread_release_lock(self.team.lock)
        return 0

    cdef int find_split(self, const Node* node, Split* out) except -1 nogil:
        cdef Py_ssize_t n_features = self.order.n_drawable, n_counted = 0, n_drawn, n_varying
        cdef bint takes_first = (node.n == 2 and self.is_built_in and self.gain_factor == NULL
                                 and self.criterion.has_one_score(node))
        out.feature = -1
        out.score = -1.0
        out.payload = NULL
        self.forget_constants_from(node.depth)
        self.cuts.open_node(node)
        self.order.open(self.seed, node.key)
        # By rounds (feature_order.h); and one by one to the first that has a cut, if no other can be better.
        if self.present is not None and self.present.find(node, self.order, self.max_features, self.skip_constant_features):
            self.try_present(node, out)
            n_features = 0
        if self.order.n_first > 0:
            self.try_next(node, self.order.n_first, False, out)
        while df_tries_more(self.order.n_drawn, n_features, n_counted, self.max_features, out.feature >= 0):
            n_drawn = self.order.n_drawn
            n_varying = self.try_next(node, 1 if takes_first else df_round_size(n_counted, self.max_features),
                                      self.skip_constant_features, out)
            if takes_first and out.feature >= 0:
                break
            n_counted += n_varying if self.skip_constant_features else self.order.n_drawn - n_drawn
        self.order.close()
        self.finish_search(node, &self.rules, out)
        if out.feature < 0:
            return 0
        self.store_split(node, out)
        return 0

    cdef int try_present(self, const Node* node, Split* out) except -1 nogil:
        """Try the features that `present` has found, in their order: all others are constant."""
        cdef Py_ssize_t i, feature, n_counted = 0
        for i in range(self.present.n):
            feature = self.present.feature(i)
            if not self.skip_constant_features:
                n_counted = self.present.place(i)
            if n_counted >= self.max_features and out.feature >= 0:
                break
            if self.is_constant[feature]:
                continue
            n_counted += not self.try_feature(node, feature, out)
        return 0

    cdef Py_ssize_t try_next(self, const Node* node, Py_ssize_t n_wanted, bint counts_varying, Split* out) except -1 nogil:
        """Draw n_wanted features, and try those that are not known constant; return how many of those turn out not to be.

        If it counts those that vary, features that are known constant don't count among the n_wanted.
        """
        cdef Py_ssize_t i, feature, n = 0, n_constant = self.n_constant, n_drawn = self.order.n_drawn
        cdef Py_ssize_t ahead = 0      # features whose codes are on their way
        while (n if counts_varying else self.order.n_drawn - n_drawn) < n_wanted and self.order.n_drawn < self.order.n_drawable:
            feature = self.order.next()
            if not self.is_constant[feature]:
                self.first[n] = feature
                n += 1
        if self.fetches(node):
            ahead = max(1, min(FETCHED_FEATURES, FETCHED_RECORDS // node.n))
            for i in range(min(n, ahead)):
                fetch_codes(node, &node.columns[self.first[i]])
        for i in range(n):
            if self.data.has_sparse:
                if i + 2 * FETCHED_SPARSE < n:
                    fetch_column(&node.columns[self.first[i + 2 * FETCHED_SPARSE]])
                if i + FETCHED_SPARSE < n:
                    fetch_stored(&node.columns[self.first[i + FETCHED_SPARSE]])
            if 0 < ahead < n - i:
                fetch_codes(node, &node.columns[self.first[i + ahead]])
            if (self.team is not None and self.team.has_idle() and i + 1 < n
                    and node.n * (n - i) >= self.parallel_visits_from):
                memmove(self.first, self.first + i, (n - i) * sizeof(Py_ssize_t))
                self.search_in_parallel(node, n - i, out)
                break
            if self.try_feature(node, self.first[i], out):
                self.push_constant(self.first[i], node.depth)
        return n - (self.n_constant - n_constant)

    cdef int try_by_factor(self, const Node* node, Py_ssize_t feature, Split* best) except -1 nogil:
        """`try_feature` by the score times the feature's factor. The feature's own cuts are compared by their scores alone."""
        cdef bint is_constant
        cdef Split found
        found.feature = -1
        found.score = -1.0
        found.payload = NULL
        is_constant = self.best_cut(node, feature, &self.rules, &found)
        self.finish_search(node, &self.rules, &found)
        if found.score < 0.0:
            return is_constant
        if not in_subset(node.on_path, <uint32_t> feature):
            found.score *= df_power(self.gain_factor[feature], node.depth + 1 if self.gain_factors_by_depth else 1)
        if found.score > best.score:
            if found.payload != NULL:      # which the next feature's cuts are written to
                memcpy(self.kept_subset, found.payload, found.n_payload_words * sizeof(uint64_t))
                found.payload = self.kept_subset
            found.feature = feature
            best[0] = found
        return is_constant

    cdef inline bint fetches(self, const Node* node) noexcept nogil:
        """Whether a node's codes are worth asking for ahead: they are far from each other, and not in a block."""
        return node.n <= self.fetch_up_to and node.columns == self.data.columns

    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
        return self.cuts.find(node, &node.columns[feature], rules, best)

    cdef void finish_search(self, const Node* node, const LeafRules* rules, Split* best) noexcept nogil:
        pass

    cdef int store_split(self, const Node* node, Split* split) except -1 nogil:
        split.is_deferred = False
        if split.payload != NULL:
            split.threshold = NAN
        elif split.only_missing_right:
            split.code = df_last_left(split.code, True, node.columns[split.feature].n_codes)
            split.threshold = INFINITY
        elif node.columns[split.feature].kind == ORDINAL:
            split.threshold = self.ordinal_threshold(node, split)
        else:
            split.threshold = self.threshold(node, split)
        return 0

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef const Column* column = &node.columns[split.feature]
        return midpoint_of(column, data_code(column, <uint32_t> split.code), data_code(column, code_above(node, column, split)))

    cdef double ordinal_threshold(self, const Node* node, const Split* split) noexcept nogil:
        """The value before the lowest one on the right."""
        cdef const Column* column = &node.columns[split.feature]
        return number_at(column, column.highs, df_threshold_code(ORDINAL, 0, data_code(column, code_above(node, column, split))))

    cdef int goes_left(self, const uint64_t* payload, Py_ssize_t n_words, const df_rows* X, const uint32_t* rows,
                       Py_ssize_t n, uint8_t* left) except -1 nogil:
        with gil:
            raise SplitterError(f"{type(self).__name__} has tests of its own, but no `goes_left`")

    cdef int open_leaf(self, Node* node) except -1 nogil:
        return 0


cdef Splitter PLAIN = Splitter()


cdef class RandomSplitter(Splitter):
    """Base class of splitters that draw one random split for each feature, written in Cython.

    A continuous column is split where the method `draw_cut` says. An ordinal column is split after a code that is drawn
    uniformly from the node's lowest code up to the one before its highest. Of a categorical column, a random subset of
    the categories in the node goes left. A column with a single value and missing values has one possible split, between
    the two.
    """

    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
        cdef const Column* column = &node.columns[feature]
        cdef Column unpacked
        cdef double before = best.score, threshold = INFINITY
        cdef uint64_t code
        cdef int _draw
        cdef CodeRange found
        cdef df_stream stream
        if node.n == 2 and before >= self.cuts.score_of_two >= 0.0:
            return False               # every feature that parts two records does it by the same score
        if self.cuts.unpacks(column):
            unpacked = self.cuts.stored.unpack(node, column)
            column = &unpacked
        df_stream_open(&stream, self.seed, df_feature_key(node.key, feature), DF_THRESHOLD)
        if column.kind == CATEGORICAL:
            for _draw in range(self.n_random_splits):
                if self.cuts.find_random_subset(node, column, &stream, rules, best):
                    return True
            return False
        found = self.cuts.left_sums.gather(node, column)
        if found.lowest > found.highest or (found.lowest == found.highest and not found.has_missing):
            return True
        for _draw in range(self.n_random_splits if found.lowest < found.highest else 1):
            before = best.score
            code = found.lowest
            if found.lowest < found.highest and column.kind == ORDINAL:
                code += df_below(&stream, <uint32_t> (found.highest - found.lowest))
                threshold = number_at(column, column.highs, <uint32_t> code)
            elif found.lowest < found.highest:
                code = self.draw_cut(column, found.lowest, found.highest, df_uniform(&stream), &threshold)
            self.cuts.find_gathered(node, column, code, found.has_missing, rules, best)
            if best.score > before:
                best.threshold = threshold
        return False

    cdef uint64_t draw_cut(self, const Column* column, uint64_t lo, uint64_t hi, double u, double* threshold) noexcept nogil:
        threshold[0] = number_at(column, column.values, <uint32_t> lo)
        return lo

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        return split.threshold

    cdef double ordinal_threshold(self, const Node* node, const Split* split) noexcept nogil:
        return split.threshold


cdef class HistSplitter(Splitter):
    """The splitter that searches all thresholds between bins of values: ``splitter="best"`` with ``method="hist"``.

    The threshold is the upper edge of the last bin that goes left. If the next bins are empty in the node, it is the
    upper edge of the one in the middle of these.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier
    >>> from dforest.splitter import HistSplitter
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(splitter=HistSplitter(), method="hist", random_state=0).fit(X, y)
    >>> tree.score(X, y)
    1.0
    """

    def __cinit__(self, *args, **kwargs):
        self.method = "hist"
        self.grows_small_subtrees = type(self) is HistSplitter
        self.takes_sparse = has_methods_of(type(self), HistSplitter)

    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil:
        cdef const Column* column = &node.columns[split.feature]
        cdef uint64_t code = df_threshold_code(CONTINUOUS, split.code, code_above(node, column, split))
        return number_at(column, column.values, <uint32_t> code)


cdef class RandomHistSplitter(RandomSplitter):
    """The splitter that draws thresholds between bins of values: ``splitter="random"`` with ``method="hist"``.

    For each feature it draws a number, uniformly between the smallest value of the node's lowest bin and the largest value
    of its highest bin, and takes the edge of bins that is nearest to it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier
    >>> from dforest.splitter import RandomHistSplitter
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(splitter=RandomHistSplitter(), method="hist", random_state=0).fit(X, y)
    >>> tree.score(X, y)
    1.0
    """

    def __cinit__(self, *args, **kwargs):
        self.method = "hist"
        self.grows_small_subtrees = type(self) is RandomHistSplitter
        self.takes_sparse = has_methods_of(type(self), RandomHistSplitter)

    cdef uint64_t draw_cut(self, const Column* column, uint64_t lo, uint64_t hi, double u, double* threshold) noexcept nogil:
        return df_draw_bin(column, lo, hi, u, threshold)
