"""The contract of a splitter.

`find_split` gets a node and writes a split. The base class tries features in a random order keyed by
the node's path, one `best_cut` call each: the first max_features of them, then, while none had a
valid cut, one more at a time. A subclass that brings a new rule for cuts overrides `best_cut`; it
must

- replace `best` only by a cut of strictly higher score, so that ties go to the feature drawn
  earlier, then to the lower code, then to missing values on the right;
- keep to `rules` on either side, and to codes that occur in the node;
- return whether the column is constant in the node, by exact codes: it is then left out in the
  whole subtree.

and `threshold`, which turns the winning code into a number such that every draw with a code up to
it has x <= threshold and every other has not; `ordinal_threshold` likewise, for ordinal features. A
cut of a categorical feature has a subset instead, which lies in the splitter's `cuts`.

A `RandomSplitter` has one cut of each feature; a subclass says where, in `draw_cut`.

Each thread has a splitter of its own (`clone`), which owns its scratch and shares nothing; the data
view is shared and read only. Nodes of a tree come in depth-first preorder, unless `forget_constants`
is called before each.

Of a large node, other threads try some of the features, each with a splitter of its own: so `best_cut`
may not depend on what it was asked before in the node.
"""
cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from dforest.core.criterion cimport Criterion
from dforest.core.cuts cimport Cuts
from dforest.core.data cimport DataView
from dforest.core.random cimport df_stream
from dforest.core.team cimport Task, Team
from dforest.core.types cimport Column, LeafRules, Node, Split


cdef struct CodeRange:        # what occurs in a node
    uint32_t lowest           # of the codes that are values
    uint32_t highest          # below lowest: none are
    bint has_missing

cdef CodeRange code_range(const Node* node, const Column* column) noexcept nogil
cdef uint32_t code_above(const Node* node, const Column* column, const Split* split) noexcept nogil


@cython.final
cdef class FeatureOrder:
    cdef Py_ssize_t n_features
    cdef Py_ssize_t n_drawn
    cdef Py_ssize_t* order         # [n_features] 0, 1, 2, ... between nodes
    cdef Py_ssize_t* swapped       # [n_features] with which place each place was swapped
    cdef df_stream stream

    cdef void open(self, uint64_t seed, uint32_t tree, uint64_t path) noexcept nogil
    cdef Py_ssize_t next(self) noexcept nogil
    cdef void close(self) noexcept nogil


cdef struct Mark:            # a feature found constant, and the depth of the node it was found in
    Py_ssize_t feature
    Py_ssize_t depth


cdef struct Trial:           # of features of a node by several threads
    Task task
    PyObject* leader         # splitter whose node it is, and which holds the features
    const Node* node
    Split before             # the best cut of features tried before
    Split best               # by now; guarded by the team's lock, as what follows
    Py_ssize_t best_item     # whose cut that is; -1: none's
    bint is_own              # the leader found it


cdef class Splitter:
    cdef readonly Py_ssize_t max_features
    cdef readonly bint one_hot
    cdef readonly dict tuning
    cdef bint takes_ranks          # only the order of codes matters: they may be ranks, see Column.origins
    cdef DataView data
    cdef Criterion criterion
    cdef Cuts cuts
    cdef LeafRules rules
    cdef uint64_t seed
    cdef uint32_t tree
    cdef FeatureOrder order
    cdef uint8_t* is_constant      # [n_features] at the current node
    cdef Mark* marks               # [n_features]
    cdef Py_ssize_t n_marks
    cdef Team team                 # None: works alone
    cdef int member                # its thread's number there
    cdef int64_t share_visits_from  # features of a node are shared if there are as many records times features
    cdef Py_ssize_t* shared        # [n_features] that several threads try, in the order drawn
    cdef uint8_t* found_constant   # [n_features] whether those were

    cdef int prepare(self, DataView data, Criterion criterion) except -1
    cdef int attach(self, DataView data, Criterion criterion, Py_ssize_t n_records) except -1
    cdef int open_tree(self, uint64_t seed, uint32_t tree, const LeafRules* rules) except -1 nogil
    cdef void forget_constants(self) noexcept nogil
    cdef void mark(self, Py_ssize_t feature, const Node* node) noexcept nogil
    cdef int share_features(self, const Node* node, Split* out) except -1 nogil
    cdef int try_features(self, Trial* trial) except -1 nogil
    cdef int find_split(self, const Node* node, Split* out) except -1 nogil
    cdef int best_cut(self, const Node* node, Py_ssize_t feature, const LeafRules* rules, Split* best) except -1 nogil
    cdef void settle(self, const Node* node, const LeafRules* rules, Split* best) noexcept nogil
    cdef double threshold(self, const Node* node, const Split* split) noexcept nogil
    cdef double ordinal_threshold(self, const Node* node, const Split* split) noexcept nogil


cdef class RandomSplitter(Splitter):
    # Where to cut a continuous column, whose lowest and highest code in the node these are, lo < hi;
    # draws of the code returned and lower ones go left. OUT threshold
    cdef uint32_t draw_cut(self, const Column* column, uint32_t lo, uint32_t hi, double u, double* threshold) noexcept nogil
