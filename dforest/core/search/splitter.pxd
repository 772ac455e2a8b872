"""The contract of a splitter: how a node is divided.

A splitter is given nodes and writes splits. What it can bring, from the least to the most:

(a) A rule for cuts: `best_cut`. The base class tries features in a random order that follows from the node's key,
    one call each: until max_features of them were not constant in the node (with skip_constant_features off,
    the first max_features), then, while none had a valid cut, one more at a time.
    `best_cut` replaces `best` by a cut of strictly higher score only, so that ties go to the feature drawn
    earlier, and it keeps to the codes that occur in the node and to `rules` on either side. It returns
    whether the feature is constant in the node, by exact codes: it is then left out in the whole subtree.
    `self.cuts` (cuts.pxd) scores cuts: `find` all of a feature, `find_at` one. A `RandomSplitter` has one cut
    of each feature, where its `draw_cut` says.
(b) A search: `find_split`. Any features, any number, any order; it sets all of `out` and ends with
    `store_split`, which turns the code that won into a threshold.
(c) A test: with `has_own_tests` set, `goes_left` decides, not feature and code. `store_split` then lets
    `payload` point to what `goes_left` will need: 64-bit words, of any number, kept with the node and handed
    back when rows go down the tree, in training and after. `feature` is any feature; `used_features` tells
    importances which ones the test is about, `describe` people what it says. `self.divisions` (division.pxd)
    finds the best cut of numbers that the splitter has computed for each record.

Leaves that learn from other draws than the node's set `has_own_leaves` and override `open_leaf`.

Given: the node (types.pxd: its draws, codes, statistics, key, depth), `data`, `criterion`, `rules`, and the
tree's `seed`. With `needs_rows` set, `data.x` has the rows of X as numbers, else it is empty; Record.row of a record leads
there by data_row(node.rows, row). Nothing of these may be written to, but for the node that `open_leaf` gets.
With `needs_path_features` set, node.path_features are the features that the splits above the node use, each once, in
order of first use, and `is_on_path` tells of a feature whether it is one of them: for splits that cost less where a
feature was used before, or that keep some features apart. Of a split with a test of its own, `feature` counts.

Kept: scratch, made in `attach`, which is called once per thread. Each thread has a splitter of its own, made
from the class and its parameters (component.pxd); they share nothing. Other threads may try some of the features
of a large node: `best_cut` must not depend on what it was asked before in that node.

Always: the same node and key give the same split. Random numbers come from df_stream_open(&stream, self.seed,
node.key, DF_CUSTOM + any number), random.pxd, and from nowhere else. All methods run without the GIL
in any thread, but for `prepare`, `attach` and what is `def`; an `except -1` method may take it, and raise. Of
splitters that are not dforest's own, the forest checks what they say before it uses it, and raises
`SplitterError` where a split leaves a side empty or breaks the rules.

A cut of each feature at a value drawn from the node, as level (a):

    from libc.stdint cimport uint32_t

    from dforest.core.component cimport CONTRACT
    from dforest.core.component import declare_contract
    from dforest.rules.random cimport DF_CUSTOM, df_below, df_feature_key, df_stream, df_stream_open
    from dforest.core.search.splitter cimport CodeRange, Splitter, code_range
    from dforest.core.types cimport Column, LeafRules, Node, Split, code_at

    declare_contract(__name__, CONTRACT)

    cdef class ValueSplitter(Splitter):
        cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil:
            cdef const Column* column = &node.columns[feature]
            cdef CodeRange codes = code_range(node, column)
            cdef df_stream stream
            cdef uint32_t code
            if codes.lowest >= codes.highest:
                return not codes.has_missing or codes.lowest > codes.highest
            df_stream_open(&stream, self.seed, df_feature_key(node.key, feature), DF_CUSTOM)
            code = code_at(column, node.records[df_below(&stream, <unsigned int> node.n)].row)
            self.cuts.find_at(node, column, min(code, codes.highest - 1), rules, best)
            return False
"""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.component cimport Component
from dforest.core.data cimport DataView
from dforest.core.team cimport Team, TeamTask
from dforest.core.search.criterion cimport Criterion
from dforest.core.search.cuts cimport CodeRange, Cuts
from dforest.core.search.division cimport Divisions
from dforest.core.search.feature_order cimport FeatureOrder, Present
from dforest.core.types cimport Column, LeafRules, Node, Split, df_rows


cdef CodeRange code_range(const Node* node, const Column* column) noexcept nogil
cdef uint32_t code_above(const Node* node, const Column* column, const Split* split) noexcept nogil


cdef struct ConstantFeature:   # and the depth of the node it was found in; -1: the tree does not draw it
    Py_ssize_t feature
    Py_ssize_t depth


cdef struct ParallelSearch:  # for the best cut of some features of a node, by several threads
    TeamTask task
    PyObject* leader         # splitter whose node it is, and which holds the features
    const Node* node
    Split before             # the best cut of features tried before
    Split best               # by now; guarded by the team's lock, as what follows
    Py_ssize_t best_item     # whose cut that is; -1: none's
    bint is_own              # the leader found it


cdef class Splitter(Component):
    # Set by subclasses, in __cinit__
    cdef readonly str method       # "hist" or "dense", if it works for that one alone; else None
    cdef readonly bint has_own_tests   # (c)
    cdef readonly bint has_own_leaves  # `open_leaf` does something
    cdef readonly bint needs_rows  # of X, in data.x; has_own_tests brings them too
    cdef readonly bint needs_path_features  # in nodes
    cdef bint takes_ranks          # only the order of codes matters: they may be ranks, see Column.origins
    cdef bint grows_small_subtrees  # what it finds is what small subtrees find (`SmallSubtree`); dforest's own alone
    # Columns may be sparse: it reads codes by `cuts`, code_range, code_above and code_at alone. Classes written in Python that
    # derive from one that sets it have it too; a compiled one that derives from a built-in splitter sets it again.
    cdef readonly bint takes_sparse
    cdef readonly bint takes_keys  # in place of a continuous feature's codes: see Column.has_keys
    # Set by the forest, before `attach`
    cdef readonly Py_ssize_t max_features
    cdef readonly bint skip_constant_features  # they don't count among these
    cdef readonly object feature_weights  # None: features have equal chances to be tried; else see FeatureOrder
    cdef readonly tuple always_tried  # the features that are tried in every node, beside max_features others
    cdef readonly int n_random_splits  # of each feature, by splitters that draw thresholds
    cdef readonly object gain_factors  # of features that no split above uses; None: all are 1
    cdef readonly bint gain_factors_by_depth  # to the power of a node's depth, where the root's is 1
    cdef readonly bint has_preferences  # by some of the last five, which neither kernels nor small subtrees know
    cdef readonly bint one_hot
    cdef readonly Py_ssize_t tree_features   # that each tree draws; 0: it may use all
    cdef readonly dict tuning
    # Lent in `attach` and `open_tree`
    cdef DataView data
    cdef Criterion criterion
    cdef LeafRules rules
    cdef uint32_t seed             # of the tree's random streams
    # Tools
    cdef Cuts cuts
    cdef Divisions divisions       # None without has_own_tests
    cdef FeatureOrder order
    cdef Present present           # None: few features, or no sparse columns
    # The base class's own
    cdef uint8_t* is_constant      # [n_features] at the current node
    cdef ConstantFeature* constant_stack     # [n_features]
    cdef Py_ssize_t n_constant
    cdef Team team                 # None: works alone
    cdef int member                # its thread's number there
    cdef int64_t parallel_visits_from  # features of a node are shared if there are as many records times features
    cdef Py_ssize_t* first         # [n_features] those drawn last at the current node that aren't known constant ...
    cdef uint8_t* found_constant   # [n_features] ... and whether threads that share them found them so
    cdef double* gain_factor       # [n_features] NULL: all are 1
    cdef uint64_t* kept_subset     # [words] with factors, the categories of the best split so far
    cdef Py_ssize_t fetch_up_to    # most records of a node whose codes are asked for ahead

    # Look at the data once, before clones of this splitter do, and raise if they are not for it; changes nothing.
    cdef int prepare(self, DataView data, Criterion criterion) except -1

    # How many buckets the data are to have of each column with more codes (see Column.buckets); 0: none.
    cdef uint64_t wanted_buckets(self, DataView data, Criterion criterion)

    # Take data to work on, and make room for nodes of n_records records.
    cdef int attach(self, DataView data, Criterion criterion, Py_ssize_t n_records) except -1

    # Begin a tree, or a part of one. Nodes come in depth-first preorder, unless forget_constants is called
    # before each.
    cdef int open_tree(self, uint32_t seed, const LeafRules* rules) except -1 nogil
    cdef void forget_constants(self) noexcept nogil

    # Only what was found in ancestors of the node at hand counts, which are less deep.
    cdef inline void forget_constants_from(self, Py_ssize_t depth) noexcept nogil:
        while self.n_constant > 0 and self.constant_stack[self.n_constant - 1].depth >= depth:
            self.n_constant -= 1
            self.is_constant[self.constant_stack[self.n_constant].feature] = 0

    # (b) OUT out : feature -1 if there is no valid split
    cdef int find_split(self, const Node* node, Split* out) except -1 nogil

    # (a)
    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil

    # Finish what `best_cut` may have put off; the best cut may change, even to one of a feature tried earlier.
    cdef void finish_search(self, const Node* node, const LeafRules* rules, Split* best) noexcept nogil

    # Complete the split that won. By default: its threshold; NaN for a subset of categories.
    cdef int store_split(self, const Node* node, Split* split) except -1 nogil

    # A number such that all draws of codes up to the split's have x <= threshold and the others have not. By
    # default the middle of the two values next to the cut; of ordinal features, the value before the one on
    # the right.
    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil
    cdef double ordinal_threshold(self, const Node* node, const Split* split) noexcept nogil

    # Whether a split above the node uses a feature. Raises RuntimeError without needs_path_features.
    cdef bint is_on_path(self, const Node* node, Py_ssize_t feature) except -1 nogil

    # (c) Whether rows of X go left. It uses nothing but parameters and these: after training there is no data.
    # It writes to nothing but `left`: in prediction one object serves all threads.
    # IN payload : [n_words] as `store_split` left it
    # IN rows : [n] numbers of rows
    # OUT left : [n] 1 or 0
    cdef int goes_left(self, const uint64_t* payload, Py_ssize_t n_words, const df_rows* X, const uint32_t* rows,
                       Py_ssize_t n, uint8_t* left) except -1 nogil

    # has_own_leaves: change which draws a leaf keeps, or their statistics; at least one must stay.
    cdef int open_leaf(self, Node* node) except -1 nogil

    # The base class's own
    cdef void push_constant(self, Py_ssize_t feature, Py_ssize_t depth) noexcept nogil
    cdef void draw_tree_features(self) noexcept nogil
    cdef Py_ssize_t try_next(self, const Node* node, Py_ssize_t n_wanted, bint counts_varying, Split* out) except -1 nogil
    cdef bint fetches(self, const Node* node) noexcept nogil
    cdef int take_factors(self) except -1
    cdef int try_by_factor(self, const Node* node, Py_ssize_t feature, Split* best) except -1 nogil

    # Replace `best` if a cut of a feature has a higher score; return whether the feature is constant.
    cdef inline int try_feature(self, const Node* node, Py_ssize_t feature, Split* best) except -1 nogil:
        cdef double before = best.score
        cdef bint is_constant
        if self.gain_factor != NULL:
            return self.try_by_factor(node, feature, best)
        is_constant = self.best_cut(node, feature, &self.rules, best)
        if best.score > before:
            best.feature = feature
        return is_constant
    cdef int try_present(self, const Node* node, Split* out) except -1 nogil
    cdef int search_in_parallel(self, const Node* node, Py_ssize_t n, Split* out) except -1 nogil
    cdef int try_features(self, ParallelSearch* search) except -1 nogil


cdef class RandomSplitter(Splitter):
    # Where to cut a continuous column, whose lowest and highest code in the node these are, lo < hi;
    # draws of the code returned and lower ones go left. OUT threshold
    cdef uint64_t draw_cut(self, const Column* column, uint64_t lo, uint64_t hi, double u, double* threshold) noexcept nogil


cdef class HistSplitter(Splitter):
    pass


cdef class RandomHistSplitter(RandomSplitter):
    pass
