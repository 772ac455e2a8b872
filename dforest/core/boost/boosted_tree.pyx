"""A boosted tree as it grows: best first, by a team.

Each node has a range of the tree's rows (`tree_rows.pyx`), which its split divides. Of the two children of a node, the *small*
one has fewer rows, and its histogram is filled from them; that of the *large* one is what remains of their parent's. Nodes are
numbered in order of creation, so both children of one come together, the left one first. A light node (rules/boost.h) gets a
*scale* of its own, and its rows are quantised anew; then its histogram is filled from its rows, and is not what remains of its
parent's.

Interaction constraints say which columns may be tested on one path: those of a *group*.

Threads share the rows of a large node, and the columns of two nodes; or, of a small one, the columns alone. A team may also be
one thread, while others grow other trees. All that is added up are integers, so neither the number of threads nor
their order makes a difference.

A `BoostedTree` serves one grower for one tree after another. It owns its nodes; the quantised gradients and the
derivatives that are kept are the booster's, and those of light nodes' rows are changed here.
"""
cimport cython
from libc.math cimport INFINITY, ldexp
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from dforest.core.boost.bundles cimport BundledColumn
from dforest.core.boost.histograms cimport counted
from dforest.core.boost.tree_rows cimport DF_MAX_BITS_BELOW, TreeRows, df_boost_largest
from dforest.core.loops cimport DF_BOOST_CODES, df_boost_goes_left
from dforest.core.threads cimport poll
from dforest.core.tree.buffers cimport ensure_room
from dforest.core.tree.split_heap cimport free_split_heap, keep_first, note_node, pop_split, push_split
from dforest.rules.boost cimport (
    DF_CONSTANT_WORDS, DF_GRADIENT_BITS, DF_LEAF_TAIL_BITS, DF_LIGHT_BITS, DF_TAIL_BITS, df_boost_limits_of, df_boost_sums,
    df_bounds_in_units, df_cut_midpoint, df_gain_of_score, df_gains_enough, df_gradient_exponent, df_is_far_below, df_is_light,
    df_near_scale, df_unit_of_scores,
)
from dforest.rules.bounds cimport df_bounds, df_child_bounds, df_no_bounds
from dforest.rules.node cimport df_child_of, df_root_of

cdef enum:
    FORCED_UNIT = 1 << 24              # the unit of forced splits, far above that of any gain


cdef void fill_part(void* tree, int64_t item) noexcept nogil:
    (<BoostedTree> tree).fill_part(item)


cdef void search_item(void* tree, int64_t item) noexcept nogil:
    (<BoostedTree> tree).search_item(item)


cdef void search_range(void* tree, int64_t item) noexcept nogil:
    (<BoostedTree> tree).search_range(item)


cdef inline int32_t unit_of(const BoostScale* scale) noexcept nogil:
    return df_unit_of_scores(scale.narrow_g, scale.narrow_h)


@cython.final
cdef class BoostedTree:
    """One tree after another.

    Parameters
    ----------
    bundles : Bundles
    histograms : Histograms
    team : SpinTeam
        Whose leader grows trees.
    max_leaf_nodes : int or None
    max_depth : int or None
    columns : TriedColumns
    monotonic_csts : ndarray of shape (n_columns,), dtype int8, or None
        See `Constraints`.
    n_drawn : int
        How many rows trees are grown from: all, or as many as the booster puts into `drawn` before each tree.
    tuning : dict
        `part_rows`, `range_items`, `partition_rows`, `subtracts`: the fields that are not to have their defaults.
    preferences : Preferences or None
        None: columns are all alike.
    """

    def __cinit__(self, Bundles bundles not None, Histograms histograms not None, SpinTeam team not None, max_leaf_nodes,
                  max_depth, TriedColumns columns not None, monotonic_csts, int64_t n_drawn, dict tuning not None,
                  Preferences preferences):
        cdef Py_ssize_t j, n = bundles.n_columns, widest = DF_BOOST_CODES
        self.bundles = bundles
        self.histograms = histograms
        self.n_outputs, self.plane = histograms.n_outputs, histograms.plane
        self.team = team
        self.max_leaves = max_leaf_nodes or 0
        self.max_depth = bundles.data.n_rows if max_depth is None else min(max_depth, bundles.data.n_rows)
        self.rows = TreeRows(bundles, histograms, team, n_drawn, tuning.get("partition_rows", 8192))
        self.columns, self.preferences = columns, preferences
        if preferences is not None:
            self.factors = <double*> malloc(4 * n * sizeof(double))
            if self.factors == NULL:
                raise MemoryError()
        self.part_rows = tuning.get("part_rows", 2048)
        self.subtracts = tuning.get("subtracts", True)
        # The entries of lists are filled together.
        self.n_item_ranges = 1
        if bundles.n_bundles == bundles.n_items:
            self.n_item_ranges = max(1, min(team.n_members, bundles.n_items // tuning.get("range_items", 4)))
        self.cuts = <df_boost_cut*> malloc(max(<Py_ssize_t> 1, 2 * bundles.n_items) * sizeof(df_boost_cut))
        self.tried = <uint8_t*> malloc(2 * n)
        self.forced_tried = <uint8_t*> calloc(2 * n, 1)
        for j in range(n):
            widest = max(widest, bundles.columns[j].n_codes + bundles.columns[j].has_missing)
        self.by_code = <uint8_t*> malloc(widest)
        self.by_shared = <uint8_t*> malloc(DF_BOOST_CODES)
        self.tested = <int32_t*> malloc(n * sizeof(int32_t))
        self.limits = <df_boost_limits*> malloc(self.n_outputs * sizeof(df_boost_limits))
        self.units = <double*> malloc(self.n_outputs * sizeof(double))
        self.largest = <df_boost_largest*> malloc(self.n_outputs * sizeof(df_boost_largest))
        if (self.forced_tried == NULL or self.tried == NULL or self.cuts == NULL or self.by_code == NULL or self.by_shared == NULL
                or self.tested == NULL or self.limits == NULL or self.units == NULL or self.largest == NULL):
            raise MemoryError()
        memset(self.tried, True, 2 * n)
        if monotonic_csts is not None and np.any(monotonic_csts):
            self.monotonic_csts = <int8_t*> malloc(n)
            if self.monotonic_csts == NULL:
                raise MemoryError()
            for j in range(n):
                self.monotonic_csts[j] = monotonic_csts[j]
            self.searched = <df_bounds*> malloc(2 * self.n_outputs * sizeof(df_bounds))
            if self.searched == NULL:
                raise MemoryError()

    def __dealloc__(self):
        free(self.cuts)
        free(self.tried)
        free(self.factors)
        free(self.forced_tried)
        free(self.by_code)
        free(self.by_shared)
        free(self.tested)
        free(self.monotonic_csts)
        free(self.limits)
        free(self.units)
        free(self.largest)
        free(self.nodes)
        free(self.outputs)
        free(self.searched)
        free(self.bounds)
        free(self.midpoints)
        free(self.sums)
        free(self.routes)
        free(self.sides)
        free_split_heap(&self.frontier)

    cdef int grow(self, int32_t* quantised, const double* kept, bint has_tail, const BoostScale* scales, double max_weight,
                  uint32_t seed, WorkerContext* worker) except -1 nogil:
        """Grow a tree.

        INOUT quantised : [n_outputs, n_rows, 1 or 2] integers of all rows, those of rows drawn by `scales`; changed where nodes
        are light
        IN kept : [n_outputs, n_rows, 2] or NULL; scales : [n_outputs]
        IN has_tail : whether derivatives have a heavy tail, so that nodes may be light without it
        IN max_weight : the weight of the max_weight of all rows
        """
        cdef int64_t n_leaves = 1
        cdef int32_t number
        cdef Py_ssize_t k
        cdef df_open_node root = df_root_of(self.rows.n, seed)
        self.quantised = quantised
        self.kept, self.has_tail = kept, has_tail
        self.columns.begin_tree(seed)
        self.n_nodes = self.n_pushed = self.frontier.n_waiting = self.n_sides = 0
        self.rows.is_undivided = True
        self.add_node(&root, -1, 0)
        self.nodes[0].most = self.bundles.most
        self.nodes[0].forced = 0 if self.forced != NULL else -1
        for k in range(self.n_outputs):
            self.outputs[k].scale = scales[k]
        self.nodes[0].reference = max_weight
        self.nodes[0].bits_below_max = 0
        self.limits[0] = self.limits_of(&self.nodes[0], 0)
        self.requantise(&self.nodes[0], DF_TAIL_BITS)
        if self.max_leaves != 1 and self.may_be_split(&self.nodes[0]):
            self.small = &self.nodes[0]
            self.large = NULL
            self.small.has_packed_sums = self.histograms.fits_packed_sums(self.small.at.n, self.small.most)
            self.small.slot = self.histograms.take_slot(self.small.has_packed_sums)
            if self.bundles.has_defaults:
                self.add_up(self.small)
            self.searches_small = True
            self.search()
            self.push(0)
        while self.frontier.n_waiting > 0:
            number = <int32_t> pop_split(&self.frontier)
            self.split(number)
            n_leaves += 1
            if n_leaves == self.max_leaves:
                self.histograms.leave(&self.nodes[number].slot)
                break
            self.search_children(number)
            self.prune_frontier(self.max_leaves - n_leaves)
            poll(worker, self.nodes[number].at.n)
        while self.frontier.n_waiting > 0:
            self.histograms.leave(&self.nodes[pop_split(&self.frontier)].slot)
        return 0

    # Growth --------------------------------------------------------------------------------------------------------------

    cdef int32_t add_node(self, const df_open_node* at, int32_t parent, bint is_right) except -1 nogil:
        """Add a leaf; pointers to other nodes may be invalid then."""
        cdef BoostNode* node
        cdef Py_ssize_t k
        ensure_room(<void**> &self.nodes, &self.room, self.n_nodes + 1, sizeof(BoostNode))
        ensure_room(<void**> &self.outputs, &self.output_room, (self.n_nodes + 1) * self.n_outputs, sizeof(BoostOutput))
        if self.bundles.has_defaults:
            ensure_room(<void**> &self.sums, &self.sums_room, (self.n_nodes + 1) * self.n_outputs, sizeof(df_boost_sums))
        node = &self.nodes[self.n_nodes]
        self.n_nodes += 1
        if self.monotonic_csts != NULL:
            self.add_bounds(parent, is_right)
        node.at = at[0]
        node.parent = parent
        node.left = node.slot = node.cut.feature = -1
        node.sides = node.forced = -1
        if parent >= 0:
            for k in range(self.n_outputs):
                self.outputs_of(node)[k].scale = self.outputs_of(&self.nodes[parent])[k].scale
            node.reference = self.nodes[parent].reference
            node.bits_below_max = self.nodes[parent].bits_below_max
        node.is_light = False
        node.gain = node.counts = 0.0
        note_node(&self.frontier, self.n_nodes - 1, parent, is_right)
        if self.rows.drawn != NULL:
            ensure_room(<void**> &self.routes, &self.route_room, self.n_nodes, sizeof(BoostRoute))
            memset(self.routes[self.n_nodes - 1].left, 0xff, DF_BOOST_CODES // 8)
            self.routes[self.n_nodes - 1].bundle = 0
            self.routes[self.n_nodes - 1].listed = -1
            self.routes[self.n_nodes - 1].sides = -1
            self.routes[self.n_nodes - 1].next = <int32_t> (self.n_nodes - 1)
        return <int32_t> (self.n_nodes - 1)

    cdef int add_bounds(self, int32_t parent, bint is_right) except -1 nogil:
        """Have the bounds of the last node."""
        cdef Py_ssize_t k, K = self.n_outputs, last = (self.n_nodes - 1) * K
        cdef int8_t monotonic_cst = self.monotonic_cst(&self.nodes[parent]) if parent >= 0 else 0
        ensure_room(<void**> &self.bounds, &self.bounds_room, last + K, sizeof(df_bounds))
        ensure_room(<void**> &self.midpoints, &self.midpoint_room, last + K, sizeof(double))
        for k in range(K):
            self.midpoints[last + k] = 0.0
            self.bounds[last + k] = df_no_bounds()
            if parent >= 0:
                self.bounds[last + k] = df_child_bounds(self.bounds[parent * K + k], is_right, monotonic_cst,
                                                        self.midpoints[parent * K + k])
        return 0

    cdef inline BoostOutput* outputs_of(self, const BoostNode* node) noexcept nogil:
        """What a node has of each output: [n_outputs]."""
        return self.outputs + (node - self.nodes) * self.n_outputs

    cdef df_boost_limits limits_of(self, const BoostNode* node, Py_ssize_t output) noexcept nogil:
        """What a node's cuts are judged by, in its units of an output."""
        cdef const BoostScale* scale = &self.outputs_of(node)[output].scale
        return df_boost_limits_of(&self.rules, scale.narrow_g, scale.narrow_h)

    cdef void use_units_of(self, const BoostNode* node) noexcept nogil:
        """Judge cuts in the units of a node."""
        cdef const BoostOutput* outputs = self.outputs_of(node)
        cdef Py_ssize_t k
        for k in range(self.n_outputs):
            self.limits[k] = self.limits_of(node, k)
        self.unit = unit_of(&outputs[0].scale)
        if self.n_outputs == 1:
            return
        for k in range(1, self.n_outputs):
            self.unit = max(self.unit, unit_of(&outputs[k].scale))
        for k in range(self.n_outputs):
            self.units[k] = ldexp(1.0, unit_of(&outputs[k].scale) - self.unit)

    cdef bint may_be_split(self, const BoostNode* node) noexcept nogil:
        """Whether it is worth looking for a cut of a node."""
        return node.at.n >= 2 * self.limits[0].min_samples and node.at.depth < self.max_depth

    cdef int split(self, int32_t number) except -1 nogil:
        """Divide a leaf by its best cut, and add its children."""
        cdef int64_t n_left = self.nodes[number].cut.n_left
        cdef df_open_node children[2]
        cdef int child
        if self.preferences is not None:
            self.preferences.note(self.nodes[number].cut.feature)
        self.divide(&self.nodes[number])
        for child in range(2):
            children[child] = df_child_of(&self.nodes[number].at, child, n_left, 0, 0.0)     # bounds are elsewhere
        self.nodes[number].left = self.add_node(&children[0], number, False)
        self.add_node(&children[1], number, True)
        if self.nodes[number].forced >= 0:
            self.nodes[self.nodes[number].left].forced = self.forced[self.nodes[number].forced].left
            self.nodes[self.nodes[number].left + 1].forced = self.forced[self.nodes[number].forced].right
        for child in range(2):
            self.requantise(&self.nodes[self.nodes[number].left + child], DF_TAIL_BITS)
        return self.know_sums(number) if self.bundles.has_defaults else 0

    cdef int know_sums(self, int32_t number) except -1 nogil:
        """Have the sums of the children of a node: by its cut, where that says them in their units."""
        cdef const BoostNode* node = &self.nodes[number]
        cdef const df_boost_cut* cut = &node.cut
        cdef df_boost_sums* left = self.sums + node.left * self.n_outputs
        cdef int child
        if self.n_outputs == 1:
            left[0] = df_boost_sums(cut.gradient_left, cut.hessian_left, cut.n_left)
            left[1] = df_boost_sums(cut.gradient - cut.gradient_left, cut.hessian - cut.hessian_left, cut.n - cut.n_left)
        for child in range(2):
            if self.n_outputs > 1 or self.nodes[node.left + child].is_light:
                self.add_up(&self.nodes[node.left + child])
        return 0

    cdef int weigh_leaves(self) except -1 nogil:
        """Give leaves of a finished tree scales of their own where they need them for their values."""
        cdef Py_ssize_t i
        for i in range(self.n_nodes if self.has_tail else 0):
            if self.nodes[i].left < 0:
                self.requantise(&self.nodes[i], DF_LEAF_TAIL_BITS)
        return 0

    cdef int requantise(self, BoostNode* node, int tail_bits) except -1 nogil:
        """Give a node a scale of its own if it is light. IN tail_bits : by how many its derivatives are below its scale then"""
        cdef BoostScale* scale
        cdef const double* kept
        cdef double[2] factors
        cdef Py_ssize_t k
        cdef df_boost_largest enough
        cdef int bits_below_max = 0
        cdef bint has_hessian = self.histograms.fill_kind != DF_CONSTANT_WORDS
        if self.kept == NULL:
            return 0
        if self.rows.bits_below_max != NULL:
            bits_below_max = self.rows.min_bits_below_max(&node.at)
            if not self.has_tail and bits_below_max < DF_MAX_BITS_BELOW and bits_below_max - node.bits_below_max < DF_LIGHT_BITS:
                return 0
        for k in range(self.n_outputs):
            enough = self.enough_of(node, k, tail_bits)
            self.rows.find_largest(&node.at, self.kept + 2 * k * self.bundles.data.n_rows, &enough, &self.largest[k])
        if not self.is_light(node, tail_bits):
            return 0
        enough.gradient = INFINITY
        for k in range(self.n_outputs if self.n_outputs > 1 else 0):   # of some, the first rows were enough
            self.rows.find_largest(&node.at, self.kept + 2 * k * self.bundles.data.n_rows, &enough, &self.largest[k])
        for k in range(self.n_outputs):
            kept = self.kept + 2 * k * self.bundles.data.n_rows
            scale = &self.outputs_of(node)[k].scale
            scale.exponent_g = scale.narrow_g = df_gradient_exponent(self.largest[k].gradient, DF_GRADIENT_BITS)
            if has_hessian:
                scale.exponent_h = scale.narrow_h = df_gradient_exponent(self.largest[k].hessian, DF_GRADIENT_BITS)
            factors[0] = ldexp(1.0, scale.exponent_g)
            factors[1] = ldexp(1.0, scale.exponent_h)
            self.rows.quantise(&node.at, kept, factors, has_hessian, self.quantised + k * self.plane)
        node.is_light = True
        node.reference = self.largest[0].weight
        node.bits_below_max = bits_below_max
        return 0

    cdef df_boost_largest enough_of(self, const BoostNode* node, Py_ssize_t output, int tail_bits) noexcept nogil:
        """Weights and derivatives that a light node does not have."""
        cdef const BoostScale* scale = &self.outputs_of(node)[output].scale
        cdef df_boost_largest enough = df_boost_largest(ldexp(node.reference, -DF_LIGHT_BITS), 0.0, 0.0)
        if self.has_tail:
            enough.gradient = df_near_scale(scale.exponent_g, tail_bits)
            if self.histograms.fill_kind != DF_CONSTANT_WORDS:
                enough.hessian = df_near_scale(scale.exponent_h, tail_bits)
        return enough

    cdef bint is_light(self, const BoostNode* node, int tail_bits) noexcept nogil:
        """Whether a node of the largest weights and derivatives at hand needs a scale of its own: see rules/boost.h."""
        cdef const BoostScale* scale
        cdef Py_ssize_t k
        if df_is_light(self.largest[0].weight, node.reference):
            return True
        for k in range(self.n_outputs if self.has_tail else 0):
            scale = &self.outputs_of(node)[k].scale
            if df_is_far_below(self.largest[k].gradient, scale.exponent_g, tail_bits):
                return True
            if self.histograms.fill_kind == DF_CONSTANT_WORDS:
                continue
            if df_is_far_below(self.largest[k].hessian, scale.exponent_h, tail_bits):
                return True
        return False

    cdef int add_up(self, BoostNode* node) except -1 nogil:
        """Find the sums of a node's rows."""
        cdef Py_ssize_t k
        for k in range(self.n_outputs):
            self.rows.add_up(&node.at, self.quantised + k * self.plane, &self.sums[(node - self.nodes) * self.n_outputs + k])
        return 0

    cdef int search_children(self, int32_t number) except -1 nogil:
        """Find the best cuts of the children of a node."""
        cdef BoostNode* node = &self.nodes[number]
        cdef int32_t small = node.left if 2 * self.nodes[node.left].at.n <= node.at.n else node.left + 1
        cdef int32_t large = 2 * node.left + 1 - small
        self.small = &self.nodes[small]
        self.large = &self.nodes[large]
        self.searches_small = self.may_be_split(self.small)
        self.searches_large = self.may_be_split(self.large)
        if not self.searches_large:                # nor the small one
            self.histograms.leave(&node.slot)
            return 0
        self.parent_had_packed_sums = node.has_packed_sums
        self.small.most = min(node.most, self.small.at.n)
        self.large.most = min(node.most, self.large.at.n)
        self.small.has_packed_sums = self.large.has_packed_sums = self.histograms.fits_packed_sums(self.large.at.n,
                                                                                                   self.large.most)
        self.small.slot = self.histograms.take_slot(self.small.has_packed_sums)
        self.large.slot = node.slot
        node.slot = -1
        if not self.subtracts or self.small.is_light or self.large.is_light:
            self.large = NULL
            if self.searches_small:
                self.search()
            self.small = &self.nodes[large]
            self.searches_small = True
        self.search()
        self.push(small)
        self.push(large)
        return 0

    cdef int push(self, int32_t number) except -1 nogil:
        """Put a leaf into the frontier, or see that it stays one.

        If all leaves will be split, the one that came last is the next, so that the fewest histograms wait; but with preferences,
        which columns are used depends on the order, and it is that of trees with a limit.
        """
        cdef BoostNode* node = &self.nodes[number]
        if node.counts <= 0.0:
            self.histograms.leave(&node.slot)
            return 0
        self.n_pushed += 1
        if node.forced >= 0:                       # before all others
            return push_split(&self.frontier, number, 1.0, FORCED_UNIT)
        if self.max_leaves > 0 or self.preferences is not None:
            return push_split(&self.frontier, number, node.counts, node.unit)
        return push_split(&self.frontier, number, <double> self.n_pushed, 0)

    cdef void prune_frontier(self, Py_ssize_t n_splits) noexcept nogil:
        """Take leaves out of the frontier that can't be split any more, and free their histograms.

        At most n_splits splits are still to come; below 0, their number has no limit. Only the n_splits leaves of most gain can
        be among them. As choosing these takes time, it is put off while the frontier has few others.
        """
        cdef Py_ssize_t n_left, i
        if n_splits < 0 or self.frontier.n_waiting <= n_splits + n_splits // 8:
            return
        n_left = keep_first(&self.frontier, n_splits)
        for i in range(n_left):
            self.histograms.leave(&self.nodes[self.frontier.waiting[n_splits + i]].slot)

    # Cuts ----------------------------------------------------------------------------------------------------------------

    cdef int search(self) except -1 nogil:
        """Have the histograms of the small and the large node, which have one scale, and their best cuts."""
        self.use_units_of(self.small)
        self.n_parts = <int> max(<int64_t> 1, min(<int64_t> self.histograms.n_parts, self.small.at.n // self.part_rows))
        if self.searches_small:
            self.begin_search(0)
        if self.large != NULL:
            self.begin_search(1)
        if self.n_parts > 1:
            self.team.for_each(fill_part, <void*> self, self.n_parts)
            self.team.for_each(search_item, <void*> self, self.histograms.n_items)
        elif self.n_item_ranges > 1 or self.team.n_members == 1:
            self.team.for_each(search_range, <void*> self, self.n_item_ranges)
        else:
            self.fill_small_histogram(0, self.histograms.n_items)
            self.team.for_each(search_item, <void*> self, self.histograms.n_items)
        if self.searches_small:
            self.choose(self.small, self.cuts, &self.searches[0])
            if self.small.forced >= 0 and self.small.counts <= 0.0:
                self.choose_freely(self.small, 0)
        if self.large != NULL:
            self.choose(self.large, self.cuts + self.histograms.n_items, &self.searches[1])
            if self.large.forced >= 0 and self.large.counts <= 0.0:
                self.choose_freely(self.large, 1)
        return 0

    cdef int choose_freely(self, BoostNode* node, int which) except -1 nogil:
        """Take the best cut of a node whose forced split can't be made. IN which : 0: it is the small one; 1: the large one"""
        cdef df_boost_cut* cuts = self.cuts + which * self.histograms.n_items
        cdef Py_ssize_t i
        node.forced = -1
        self.begin_search(which)
        for i in range(self.histograms.n_items):
            self.histograms.find_cut(i, &self.searches[which], &cuts[i])
        return self.choose(node, cuts, &self.searches[which])

    cdef void begin_search(self, int which) noexcept nogil:
        """Draw columns for the small node, 0, or the large one, 1, and say where all is that its cuts depend on."""
        cdef const BoostNode* node = self.small if which == 0 else self.large
        cdef Search* search = &self.searches[which]
        cdef const BoostScale* scale
        cdef double* factors
        cdef Py_ssize_t k
        self.draw_columns(node, self.tried + which * self.bundles.n_columns)
        search.slot, search.has_packed_sums, search.n_rows = node.slot, node.has_packed_sums, node.at.n
        if self.monotonic_csts != NULL:
            search.bounds = self.searched + which * self.n_outputs
            for k in range(self.n_outputs):
                scale = &self.outputs_of(node)[k].scale
                self.searched[which * self.n_outputs + k] = df_bounds_in_units(
                    self.bounds[(node - self.nodes) * self.n_outputs + k], 0, scale.narrow_h - scale.narrow_g)
        search.totals, search.limits, search.units = self.sums + (node - self.nodes) * self.n_outputs, self.limits, self.units
        search.tried, search.monotonic_csts = self.tried + which * self.bundles.n_columns, self.monotonic_csts
        search.rooms = self.histograms.rooms + which * self.bundles.n_wide
        search.is_random, search.seed, search.node_key, search.forced_code = self.is_random, node.at.seed, node.at.key, -1
        if node.forced >= 0:
            search.tried = self.forced_tried + which * self.bundles.n_columns
            memset(self.forced_tried + which * self.bundles.n_columns, 0, self.bundles.n_columns)
            self.forced_tried[which * self.bundles.n_columns + self.forced[node.forced].feature] = True
            search.forced_code = self.forced[node.forced].code
        search.factors = search.costs = NULL
        if self.preferences is not None:
            factors = self.factors + 2 * which * self.bundles.n_columns
            self.preferences.of_node(node.at.depth, ldexp(1.0 / self.rules.weight_unit, -self.unit), factors,
                                     factors + self.bundles.n_columns)
            search.factors, search.costs = factors, factors + self.bundles.n_columns

    cdef void draw_columns(self, const BoostNode* node, uint8_t* tried) noexcept nogil:
        """Draw the columns that are tried in a node. OUT tried : [n_columns] whether each is; already so where all are"""
        cdef int32_t above = node.parent
        cdef Py_ssize_t n_tested = 0, i
        if self.columns.tries_all:
            return
        while above >= 0:
            for i in range(n_tested):
                if self.tested[i] == self.nodes[above].cut.feature:
                    break
            else:
                self.tested[n_tested] = self.nodes[above].cut.feature
                n_tested += 1
            above = self.nodes[above].parent
        self.columns.draw(node.at.key, node.at.depth, self.tested, n_tested, tried)

    cdef void fill_part(self, int64_t item) noexcept nogil:
        cdef int64_t first = self.small.at.first
        self.histograms.fill_part(<int> item, self.n_parts, self.rows.rows_from(first), first, self.small.at.n, self.quantised,
                                  self.small.has_packed_sums)

    cdef void search_item(self, int64_t item) noexcept nogil:
        """Have the entries of an item for both nodes, and find the best cuts of its columns."""
        if self.n_parts > 1:
            self.histograms.join_parts(item, self.n_parts, self.small.slot, self.small.has_packed_sums)
        if self.searches_small:
            self.histograms.find_cut(item, &self.searches[0], &self.cuts[item])
        if self.large != NULL:
            self.histograms.subtract(item, self.large.slot, self.small.slot, self.parent_had_packed_sums,
                                     self.large.has_packed_sums)
            self.histograms.find_cut(item, &self.searches[1], &self.cuts[self.histograms.n_items + item])

    cdef void search_range(self, int64_t item) noexcept nogil:
        """Fill the histogram of the small node in a range of items, and search these."""
        cdef Py_ssize_t n = self.histograms.n_items, i
        cdef Py_ssize_t begin = n * item // self.n_item_ranges, end = n * (item + 1) // self.n_item_ranges
        self.fill_small_histogram(begin, end)
        for i in range(begin, end):
            self.search_item(i)

    cdef void fill_small_histogram(self, Py_ssize_t item, Py_ssize_t last) noexcept nogil:
        """Fill the histogram of the small node in items from `item` to `last` - 1."""
        cdef int64_t first = self.small.at.first
        self.histograms.fill_slot(item, last, self.rows.rows_from(first), first, self.small.at.n, self.quantised, self.small.slot,
                                  self.small.has_packed_sums)

    cdef int choose(self, BoostNode* node, const df_boost_cut* cuts, const Search* search) except -1 nogil:
        """Take the best cut of all columns that were tried, of equal ones that of the first column. IN search : of the node"""
        cdef const WideRoom* room
        cdef const BundledColumn* column
        cdef Py_ssize_t i, best = -1
        cdef int64_t most = 0
        cdef double own, highest = 0.0
        for i in range(self.histograms.n_items):
            most = max(most, cuts[i].most)
            if cuts[i].feature < 0:
                continue
            own = cuts[i].score if search.factors == NULL else counted(search, &cuts[i], self.n_outputs > 1)
            if best < 0 or own > highest or own == highest and cuts[i].feature < cuts[best].feature:
                best = i
                highest = own
        if self.columns.tries_all and node.forced < 0:
            # Never more than the parent's: histograms that began as words have room for nothing longer.
            node.most = min(node.most, most)
        if best < 0:                               # no column that is tried can have a cut
            return 0
        node.cut = cuts[best]
        if self.n_outputs > 1:
            node.gain = node.cut.score
        else:
            node.gain = df_gain_of_score(self.limits, self.monotonic_csts != NULL, node.cut.score, <double> node.cut.gradient,
                                         <double> node.cut.hessian)
        node.unit = self.unit
        if node.forced < 0 and not df_gains_enough(node.gain, node.unit, self.rules.weight_unit, self.min_gain):
            node.gain = 0.0
        node.gain = max(node.gain, 0.0)
        node.counts = node.gain
        if search.factors != NULL and node.forced < 0 and node.gain > 0.0:
            node.counts = highest
        column = &self.bundles.columns[node.cut.feature]
        if node.counts > 0.0 and column.wide >= 0 and column.is_category:
            room = &search.rooms[column.wide]
            memcpy(self.make_sides(node, room.n_words), room.left, room.n_words * sizeof(uint64_t))
        if node.counts > 0.0 and self.monotonic_cst(node) != 0:
            self.find_midpoints(node, search)
        return 0

    cdef void find_midpoints(self, const BoostNode* node, const Search* search) noexcept nogil:
        """Find where the best cut of a node, which has just been searched, parts the steps of each output."""
        cdef const df_boost_cut* cut = &node.cut
        cdef const BoostScale* scale
        cdef df_boost_sums total = df_boost_sums(cut.gradient, cut.hessian, cut.n)
        cdef df_boost_sums left = df_boost_sums(cut.gradient_left, cut.hessian_left, cut.n_left)
        cdef Py_ssize_t k
        for k in range(self.n_outputs):
            scale = &self.outputs_of(node)[k].scale
            if self.n_outputs > 1:                 # a cut has no sums of these
                left = self.histograms.sums_on_left(cut, search, k, &total)
            self.midpoints[(node - self.nodes) * self.n_outputs + k] = ldexp(
                df_cut_midpoint(&self.limits[k], left, total, search.bounds[k], self.monotonic_cst(node)),
                scale.narrow_h - scale.narrow_g)

    cdef uint64_t* make_sides(self, BoostNode* node, Py_ssize_t n_words) except NULL nogil:
        """Memory for the sides of the codes of the wide column that a node tests."""
        ensure_room(<void**> &self.sides, &self.sides_room, self.n_sides + n_words, sizeof(uint64_t))
        node.sides = self.n_sides
        self.n_sides += n_words
        return self.sides + node.sides

    # Codes ---------------------------------------------------------------------------------------------------------------

    cdef bint goes_left(self, const BoostNode* node, int code) noexcept nogil:
        """Whether a node that has been split sends a code of its column to the left."""
        cdef const BundledColumn* column = &self.bundles.columns[node.cut.feature]
        cdef const uint64_t* left = NULL
        if column.is_category:     # Cython forgets that what is in a const struct is const
            left = <const uint64_t*> node.cut.left if column.wide < 0 else self.sides + node.sides
        return df_boost_goes_left(&node.cut, left, code, column.n_codes)

    cdef int8_t monotonic_cst(self, const BoostNode* node) noexcept nogil:
        """Of the column that a node tests."""
        return self.monotonic_csts[node.cut.feature] if self.monotonic_csts != NULL else 0

    cdef void find_leaves(self, const uint32_t* rows, int n, int32_t* leaves) noexcept nogil:
        """The leaves that some rows reach, which go down together, so that none waits for another. OUT leaves : [n]"""
        cdef const BoostRoute* routes = self.routes
        cdef const BoostRoute* route
        cdef const uint8_t* codes = self.bundles.shared.rows.codes
        cdef int64_t stride = self.bundles.shared.rows.stride
        cdef const uint64_t* left
        cdef int32_t next, moved = 1
        cdef int i, code
        memset(leaves, 0, n * sizeof(int32_t))
        while moved:
            moved = 0
            for i in range(n):
                route = &routes[leaves[i]]
                if route.listed < 0:
                    code = codes[rows[i] * stride + route.bundle]
                else:
                    code = self.bundles.listed_code(route.listed, rows[i])
                left = <const uint64_t*> route.left if route.sides < 0 else &self.sides[route.sides]
                next = route.next + 1 - <int32_t> (left[code >> 6] >> (code & 63) & 1)
                moved |= next ^ leaves[i]
                leaves[i] = next

    cdef int divide(self, BoostNode* node) except -1 nogil:
        """Divide a node's rows by its cut."""
        cdef const BundledColumn* column = &self.bundles.columns[node.cut.feature]
        cdef int code, n_codes = column.n_codes + column.has_missing
        cdef uint64_t* sides
        cdef BoostRoute* route
        for code in range(DF_BOOST_CODES if column.wide < 0 else n_codes):
            self.by_code[code] = self.goes_left(node, code)
        self.bundles.by_shared_code(node.cut.feature, self.by_code, self.by_shared)
        if self.rows.drawn != NULL:
            route = &self.routes[node - self.nodes]
            if column.wide >= 0:
                if not column.is_category:
                    sides = self.make_sides(node, (n_codes + 63) // 64)
                    memset(sides, 0, (n_codes + 63) // 64 * sizeof(uint64_t))
                    for code in range(n_codes):
                        sides[code >> 6] |= <uint64_t> self.by_code[code] << (code & 63)
                route.sides = node.sides
            memset(route.left, 0, DF_BOOST_CODES // 8)
            for code in range(DF_BOOST_CODES):
                route.left[code >> 6] |= <uint64_t> self.by_shared[code] << (code & 63)
            route.bundle = max(0, self.bundles.columns[node.cut.feature].bundle)
            route.listed = node.cut.feature if self.bundles.columns[node.cut.feature].bundle < 0 else -1
            route.next = <int32_t> self.n_nodes     # where its children will be
        return self.rows.divide(&node.at, node.cut.feature, self.by_code, self.by_shared)
