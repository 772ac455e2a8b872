"""Grows one tree at a time, depth first or best first.

A node's draws are a run of `draws`; splitting a node moves those that go left to the front of its
run, so that each child has a run of its own:

    draws:   | ...... | goes left | goes right | ...... |
                      first       first + n_left       first + n

Depth first, a node's subtree is finished before its sibling's. Best first, for a limit on leaves, the
nodes that may be split wait in a heap, ordered by the score of their best split; as a node's best
split depends on nothing but the node, both ways give the same tree if the limit isn't reached.

Depth first, the codes of a subtree small enough are copied into a *block* that stays in the cache, and
its records are numbered anew; the subtree is finished there. Of columns with buckets these are copied in
place of the codes; others of many codes are ranked among these records, if the splitter takes ranks.

Nodes are numbered in preorder: a left child is its parent's number + 1, a right child's is stored.

A tree may be grown in *pieces*. Where other threads have nothing to do, a grower gives away pending
subtrees, the largest first, and leaves a *hole* where the piece belongs. As the run of a subtree's draws
is its own, a piece is grown in place, in the draws of the tree's *trunk*. See `dforest.core.grow.pieces`.

A grower belongs to one thread and owns all of its buffers, which it uses again for the next tree; the
trunk of a piece is that of the grower that began the tree.
"""
cimport cython
from libc.math cimport INFINITY, NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from cpython.ref cimport PyObject

import numpy as np

from dforest.core.grow.frontier cimport Candidate
from dforest.core.grow.rows cimport Drawing, draw_rows, partition
from dforest.core.sampling cimport SamplingPlan, count_blocks
from dforest.core.grow.shared_rows cimport draw_rows_together, partition_together
from dforest.core.grow.split_check cimport has_test, refuse_division, refuse_judgement, refuse_side, refuse_split
from dforest.core.grow.team cimport Task
from dforest.core.threads cimport check_signals, df_add_to
from dforest.core.types cimport Column, Split, data_row
from dforest.core.grow.writer cimport ensure_room, lend
from dforest.rules.cut cimport df_is_side_valid
from dforest.rules.node cimport (
    df_absolute_score,
    df_bounds,
    df_child_bounds,
    df_clip,
    df_decreases_enough,
    df_is_leaf_by_size,
    df_is_pure_enough,
    df_leaf_rules_of,
)
from dforest.rules.random cimport DF_ROOT_PATH, df_child_path
from dforest.rules.records cimport df_limits

from dforest.core.component import CriterionError, SplitterError

cdef enum:
    POLL_RECORDS = 200000      # look for signals each time so many records have been split
    SMALLEST_BLOCK = 64        # records
    MOST_LEAVES_AHEAD = 1 << 20      # of a tree that room is made for before it is grown
    TESTED = 1024              # records that a splitter tests at a time
    SHARE_FROM = 2000          # records of a subtree that is worth giving away, by default


@cython.final
cdef class Grower:
    """Grows trees on one thread.

    Parameters
    ----------
    data : DataView
    criterion, splitter : Criterion, Splitter
        Of this thread; the splitter gets attached.
    rules : GrowthRules
        When a node becomes a leaf: see `dforest.problem.GrowthRules`.
    sampling : SamplingPlan
        Which rows a tree draws.
    """

    def __cinit__(self, DataView data not None, objective not None, Criterion criterion not None, Splitter splitter not None,
                  rules, SamplingPlan sampling not None):
        cdef Py_ssize_t capacity = sampling.most_records(data.n_rows)
        self.capacity = capacity
        self.data = data
        self.criterion = criterion
        words = objective.weight_words
        self.first_weight, self.n_weights, self.keeps_values = words.start, words.stop - words.start, objective.keeps_values
        self.splitter = splitter
        self.sampling = sampling
        self.counts = self.weight = None
        cdef const df_limits[::1] limits = rules.limits(data.n_rows)
        self.limits = limits[0]
        self.max_leaf_nodes = rules.max_leaf_nodes or 0
        self.share_from = splitter.tuning.get("share_from", SHARE_FROM)
        self.writer = TreeWriter(objective.n_leaf_words, not splitter.has_own_tests)
        self.frontier = Frontier()
        # A block is filled once and read max_features times for each level below: about a dozen.
        pays = (data.n_features <= 12 * splitter.max_features and not self.max_leaf_nodes
                and not splitter.has_own_tests)
        n_bytes = splitter.tuning.get("block_bytes", 1 << 18) if pays else 0
        self.block = Block(data, n_bytes, capacity, splitter.tuning, splitter.takes_ranks)
        if criterion.n_words < 2:
            raise CriterionError(f"{type(criterion).__name__}.configure does not call its base's")
        criterion.attach(capacity)
        splitter.attach(data, criterion, capacity)
        if splitter.cuts is None:
            raise SplitterError(f"{type(splitter).__name__}.attach does not call its base's")
        self.path = PathFeatures(data.n_features if splitter.needs_path_features else 0)
        self.statistics = <int64_t*> malloc(criterion.n_words * sizeof(int64_t))
        self.of_block = <int64_t*> malloc(count_blocks(data.n_rows) * sizeof(int64_t))
        most_leaves = min(capacity, <Py_ssize_t> MOST_LEAVES_AHEAD)
        if self.max_leaf_nodes:
            most_leaves = min(most_leaves, self.max_leaf_nodes)
        if self.limits.max_depth < 32:
            most_leaves = min(most_leaves, <Py_ssize_t> 1 << self.limits.max_depth)
        self.writer.reserve(most_leaves)
        if self.statistics == NULL or self.of_block == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.own.draws)
        free(self.own.scratch)
        free(self.own.rows)
        free(self.own.is_first)
        free(self.statistics)
        free(self.of_block)
        free(self.stack)

    def join(self, Team team not None, int member, bint keeps_rows):
        """Get ready to grow trees.

        Parameters
        ----------
        team : Team
            Shared with the growers of other threads.
        member : int
            The number of this grower in it.
        keeps_rows : bool
            Whether `record_table` is to have the records of each tree that this grower begins.
        """
        self.team = team
        self.member = member
        self.splitter.join(team, member)
        if keeps_rows:
            ensure_room(<void**> &self.own.rows, &self.row_room, self.capacity, sizeof(uint32_t))
            ensure_room(<void**> &self.own.is_first, &self.first_room, self.capacity, 1)
        else:
            free(self.own.rows)
            free(self.own.is_first)
            self.own.rows = NULL
            self.own.is_first = NULL
            self.row_room = self.first_room = 0

    @staticmethod
    def most_members(DataView data not None, Splitter splitter not None, rules, SamplingPlan sampling not None,
                     Py_ssize_t n_trees):
        """How many threads can have work to do at the same time."""
        cdef int64_t n = sampling.most_records(data.n_rows), by_tree = 1
        if not rules.max_leaf_nodes:
            by_tree = n // max(1, <int64_t> splitter.tuning.get("share_from", SHARE_FROM))
        if n * splitter.max_features >= splitter.share_visits_from:
            by_tree = max(by_tree, splitter.max_features)
        return n_trees * max(1, by_tree)

    def set_draws(self, const uint32_t[::1] counts not None, const uint32_t[::1] weight not None):
        """Say what the next tree draws, and how much that weighs.

        Parameters
        ----------
        counts : ndarray of shape (n_rows,), dtype uint32
            How often it draws each row by its sampling plan, which is not asked again.
        weight : ndarray of shape (n_rows,), dtype uint32
            Integer weights of the rows, in place of the data's.
        """
        if self.data.weight == NULL or not counts.shape[0] == weight.shape[0] == self.data.n_rows:
            raise ValueError(f"counts of {counts.shape[0]} and weights of {weight.shape[0]} rows, of data of "
                             f"{self.data.n_rows} rows with weights")
        self.counts, self.weight = counts, weight

    cdef int grow(self, uint32_t tree, uint32_t seed) except -1 nogil:
        """Grow a tree into `nodes` and `leaves`, but for the pieces that it gives away."""
        cdef Place root
        cdef Node node
        cdef Drawing drawing
        cdef Trunk* trunk = &self.own
        if trunk.draws == NULL:
            trunk.draws = <Draw*> malloc(self.capacity * sizeof(Draw))
            trunk.scratch = <Draw*> malloc(self.capacity * sizeof(Draw))
            if trunk.draws == NULL or trunk.scratch == NULL:
                with gil:
                    raise MemoryError()
        drawing.data = <PyObject*> self.data
        drawing.plan = <PyObject*> self.sampling
        drawing.weight = &self.weight[0] if self.weight is not None else self.data.weight
        drawing.counts = &self.counts[0] if self.counts is not None else NULL
        drawing.seed = seed
        drawing.of_block = self.of_block
        if self.is_shared(self.sampling.tree_draws(self.data.n_rows)):
            root.n = draw_rows_together(self.team, self.member, &drawing, trunk.draws, trunk.scratch)
        else:
            root.n = draw_rows(&drawing, trunk.draws)
        trunk.n = root.n
        root.first = 0
        root.path = DF_ROOT_PATH
        root.depth = 0
        root.parent = root.piece = -1
        root.is_right = False
        root.scale.centre = 0.0            # opened, it makes a scale of its draws
        root.scale.exponent = 0
        root.scale.range = 0
        root.lower = -INFINITY
        root.upper = INFINITY
        self.draws = trunk.draws
        self.in_block = False
        self.path.leave(-1)
        self.open(&root, &node)
        root.scale = node.scale
        trunk.seed = seed
        trunk.tree = tree
        trunk.root_weight = node.statistics[1]
        trunk.rules = df_leaf_rules_of(&self.limits, trunk.root_weight)
        trunk.n_pieces = trunk.n_open = 1
        self.enter(trunk, 0)
        if self.max_leaf_nodes:
            return self.grow_best_first(&root)
        return self.grow_depth_first(&root)

    cdef bint help(self) except -1 nogil:
        """Wait for work of other growers, and do it until it is a piece of a tree; False: no work is left."""
        cdef void* offer
        cdef Task* task
        cdef Subtree subtree
        cdef const int32_t* path_features
        cdef Py_ssize_t i
        cdef int piece
        while self.team.wait(self.member, &offer, &task):
            if task != NULL:
                self.team.help(task, <void*> self.splitter)
                continue
            subtree = (<Subtree*> offer)[0]
            path_features = <const int32_t*> (<Subtree*> offer + 1)
            self.path.leave(-1)
            for i in range(subtree.n_path_features):
                self.path.add(path_features[i], -1)
            free(offer)
            piece = subtree.place.piece
            subtree.place.piece = -1
            self.enter(subtree.trunk, piece)
            self.grow_depth_first(&subtree.place)
            return True
        return False

    cdef int enter(self, Trunk* trunk, int piece) except -1 nogil:
        """Get ready for a piece of a tree."""
        self.trunk = trunk
        self.piece = piece
        self.draws = trunk.draws
        self.n_stack = self.n_offered = 0
        self.writer.clear()
        self.frontier.clear()
        self.in_block = False
        return self.splitter.open_tree(trunk.seed, &trunk.rules)

    def finish(self):
        """Count the piece at hand as finished; whether all pieces of its tree are."""
        return df_add_to(self.trunk.n_open, -1) == 1

    cdef void give(self) noexcept nogil:
        """Give pending subtrees to those who have nothing to do, the ones nearest to the root first."""
        cdef Py_ssize_t end = min(self.n_stack, self.block_base) if self.in_block else self.n_stack
        cdef Place* place
        cdef Subtree* subtree
        cdef Py_ssize_t n_path_features
        while self.n_offered < end and self.team.has_idle():
            place = &self.stack[self.n_offered]
            self.n_offered += 1
            if place.n < self.share_from or place.piece >= 0:
                continue
            # What waits here hangs on the path of the node at hand, which is as deep at least.
            n_path_features = self.path.count_above(place.depth)
            subtree = <Subtree*> malloc(sizeof(Subtree) + n_path_features * sizeof(int32_t))
            if subtree == NULL:        # then it stays here
                return
            subtree.trunk = self.trunk
            subtree.place = place[0]
            subtree.n_path_features = n_path_features
            if n_path_features > 0:
                memcpy(subtree + 1, self.path.features, n_path_features * sizeof(int32_t))
            subtree.place.parent = -1
            subtree.place.is_right = False
            subtree.place.piece = df_add_to(self.trunk.n_pieces, 1)
            df_add_to(self.trunk.n_open, 1)
            place.piece = subtree.place.piece
            if not self.team.offer(subtree):
                free(subtree)
                df_add_to(self.trunk.n_open, -1)
                place.piece = -1
                self.n_offered -= 1
                return

    cdef int open(self, const Place* place, Node* node) except -1 nogil:
        """Look at a node's draws: statistics, purity, perhaps a new scale."""
        node.draws = self.draws + place.first
        node.n = place.n
        node.statistics = self.statistics
        node.path = place.path
        node.depth = place.depth
        node.scale = place.scale
        node.lower = place.lower
        node.upper = place.upper
        node.columns = self.block.columns if self.in_block else self.data.columns
        node.rows = self.block.rows if self.in_block else NULL
        node.y = <const double*> self.block.y if self.in_block else self.data.y
        node.path_features = self.path.features
        node.n_path_features = self.path.n
        node.on_path = self.path.bits
        self.criterion.open_node(node)
        if not self.splitter.is_built_in and self.breaks_rules(place, node):
            refuse_side(self.splitter, &self.trunk.rules, self.limits.min_weight_fraction_leaf, self.trunk.root_weight, node,
                        place.is_right)
        return 0

    cdef int find_split(self, Node* node, Split* split) except -1 nogil:
        """The split of an open node that all limits allow; feature -1 if there is none."""
        split.feature = -1
        if self.is_leaf(node):
            return 0
        if self.splitter.is_built_in:
            self.splitter.find_split(node, split)
            self.criterion.check()
        else:
            self.find_foreign_split(node, split)
        if (split.feature >= 0 and self.limits.min_impurity_decrease > 0.0
                and not df_decreases_enough(&self.limits, df_absolute_score(split.score, self.criterion.score_exponent(node)),
                                            self.trunk.root_weight)):
            split.feature = -1
        return 0

    cdef int find_foreign_split(self, const Node* node, Split* split) except -1 nogil:
        """The split that a splitter from elsewhere finds, checked before anything is done with it.

        What refuses it is another function: one with Python's objects is slow, even if it does not get to them.
        """
        split.threshold = NAN
        split.payload = NULL
        split.code = split.above = 0
        split.missing_left = split.only_missing_right = False
        split.middle = 0.0
        self.splitter.cuts.close_node()        # or a search that opens no node would meet the one before
        self.splitter.find_split(node, split)
        self.criterion.check()
        if split.feature < 0 or (split.feature < self.data.n_features and 0.0 <= split.score < INFINITY
                                 and has_test(self.splitter, node, split)):
            return 0
        return refuse_split(self.splitter, self.data, node, split)

    cdef inline bint breaks_rules(self, const Place* place, const Node* node) noexcept nogil:
        """Whether a side of a split has fewer draws, or less weight, than a leaf needs."""
        return place.depth > 0 and not df_is_side_valid(&self.trunk.rules, node.statistics[0], node.statistics[1])

    cdef bint is_leaf(self, const Node* node) noexcept nogil:
        return (node.is_pure
                or df_is_leaf_by_size(&self.limits, node.depth, node.statistics[0], node.statistics[1], self.trunk.root_weight)
                or (self.limits.impurity_threshold > 0.0
                    and df_is_pure_enough(&self.limits, self.criterion.node_impurity(node))))

    cdef bint is_shared(self, int64_t n_visits) noexcept nogil:
        """Whether somebody is idle, and so many visits of records are worth waking them up."""
        return n_visits >= self.splitter.share_visits_from and self.team.has_idle()

    cdef int divide(self, const Node* node, const Split* split, Place* left, Place* right) except -1 nogil:
        """Partition a node's draws, and set all of its children's places but for the parent."""
        cdef const Column* column = &node.columns[split.feature]
        cdef Draw* scratch = self.trunk.scratch + (node.draws - self.draws)
        cdef Py_ssize_t n_left
        cdef df_bounds bounds, own
        if self.splitter.has_own_tests:
            n_left = self.partition_by_test(node, split, scratch)
        elif self.is_shared(node.n):
            n_left = partition_together(self.team, self.member, node.draws, node.n, column, node.rows, split, scratch)
        else:
            n_left = partition(node.draws, node.n, column, node.rows, split, scratch)
        if n_left == 0 or n_left == node.n:
            refuse_division(self.splitter, node, n_left)
        left.first = node.draws - self.draws
        left.piece = right.piece = -1
        left.n = n_left
        left.path = df_child_path(node.path, 0)
        left.is_right = False
        right.first = left.first + n_left
        right.n = node.n - n_left
        right.path = df_child_path(node.path, 1)
        right.is_right = True
        left.depth = right.depth = node.depth + 1
        left.scale = right.scale = node.scale
        bounds.lower = node.lower
        bounds.upper = node.upper
        own = df_child_bounds(bounds, False, column.direction, split.middle)
        left.lower = own.lower
        left.upper = own.upper
        own = df_child_bounds(bounds, True, column.direction, split.middle)
        right.lower = own.lower
        right.upper = own.upper
        return 0

    cdef Py_ssize_t partition_by_test(self, const Node* node, const Split* split, Draw* scratch) except -1 nogil:
        """Move the draws that go left by a test of the splitter's own to the front, keeping the order on either side."""
        cdef uint32_t rows[TESTED]
        cdef uint8_t left[TESTED]
        cdef Draw* draws = node.draws
        cdef Py_ssize_t first = 0, i, n, n_left = 0, n_right = 0
        while first < node.n:
            n = min(<Py_ssize_t> TESTED, node.n - first)
            for i in range(n):
                rows[i] = data_row(node.rows, draws[first + i].row)
            self.splitter.goes_left(split.payload, split.n_payload_words, &self.data.x, rows, n, left)
            for i in range(n):
                if left[i]:
                    draws[n_left] = draws[first + i]
                    n_left += 1
                else:
                    scratch[n_right] = draws[first + i]
                    n_right += 1
            first += n
        memcpy(draws + n_left, scratch, n_right * sizeof(Draw))
        return n_left

    cdef int grow_depth_first(self, const Place* root) except -1 nogil:
        cdef Place place, left, right
        cdef Node node
        cdef Split split
        cdef Judgement judgement
        ensure_room(<void**> &self.stack, &self.stack_room, 1, sizeof(Place))
        self.stack[0] = root[0]
        self.n_stack = 1
        while self.n_stack > 0:
            self.n_stack -= 1
            self.n_offered = min(self.n_offered, self.n_stack)
            place = self.stack[self.n_stack]
            if self.in_block:
                self.in_block = self.n_stack >= self.block_base
            if place.piece >= 0:
                self.writer.add_hole(place.parent, place.is_right, place.piece)
                continue
            if self.splitter.needs_path_features:
                self.path.leave(place.depth)
            self.poll(place.n)
            if self.team.has_idle():
                self.give()
            # Nothing can be given away out of a block.
            if (not self.in_block and SMALLEST_BLOCK <= place.n <= self.block.most_records
                    and not (place.n // 2 >= self.share_from and self.team.runs_short())):
                self.block.fill(self.draws + place.first, place.n, <uint32_t*> (self.trunk.scratch + place.first))
                self.in_block = True
                self.block_base = self.n_stack
            self.open(&place, &node)
            self.find_split(&node, &split)
            left.parent = right.parent = self.writer.add_node(place.parent, place.is_right, &split)
            if split.feature < 0:
                self.add_leaf(&node)
                continue
            if self.splitter.needs_path_features:
                self.path.add(split.feature, place.depth)
            if not self.criterion.is_additive:
                self.judge(&node, &judgement)
                self.writer.add_inner(&judgement)
            self.divide(&node, &split, &left, &right)
            ensure_room(<void**> &self.stack, &self.stack_room, self.n_stack + 2, sizeof(Place))
            self.stack[self.n_stack] = right
            self.stack[self.n_stack + 1] = left
            self.n_stack += 2
        return 0

    cdef int grow_best_first(self, const Place* root) except -1 nogil:
        """Split the node of highest score, of equal ones the first in preorder, until there are enough leaves."""
        cdef Place left, right
        cdef Node node
        cdef Py_ssize_t number, n_leaves = 1
        cdef Candidate* candidate
        self.add_candidate(root)
        while self.frontier.n_heap > 0 and n_leaves < self.max_leaf_nodes:
            number = self.frontier.pop()
            n_leaves += 1
            candidate = &self.frontier.candidates[number]
            self.poll(candidate.place.n)
            node.draws = self.draws + candidate.place.first
            node.n = candidate.place.n
            node.path = candidate.place.path
            node.depth = candidate.place.depth
            node.scale = candidate.place.scale
            node.lower = candidate.place.lower
            node.upper = candidate.place.upper
            node.columns = self.data.columns
            node.rows = NULL
            self.frontier.lend_payload(candidate)
            self.divide(&node, &candidate.split, &left, &right)
            left.parent = right.parent = number
            candidate.left = self.frontier.n_candidates
            self.add_candidate(&left)
            self.add_candidate(&right)
        return self.write_candidates()

    cdef int write_candidates(self) except -1 nogil:
        """Write the nodes grown best first in preorder. From here on a place's parent is the number of a node written."""
        cdef Candidate* candidate
        cdef Py_ssize_t number
        cdef Node node
        self.frontier.reserve()
        self.frontier.heap[0] = 0                   # from here on, a stack of those to come
        self.frontier.n_heap = 1
        self.path.leave(-1)
        while self.frontier.n_heap > 0:
            self.frontier.n_heap -= 1
            candidate = &self.frontier.candidates[self.frontier.heap[self.frontier.n_heap]]
            if candidate.left < 0:
                candidate.split.feature = -1
            self.frontier.lend_payload(candidate)
            number = self.writer.add_node(candidate.place.parent, candidate.place.is_right, &candidate.split)
            if self.splitter.needs_path_features:
                self.path.leave(candidate.place.depth)
            if candidate.left < 0:
                self.open(&candidate.place, &node)
                self.add_leaf(&node)
                continue
            if self.splitter.needs_path_features:
                self.path.add(candidate.split.feature, candidate.place.depth)
            if not self.criterion.is_additive:
                self.writer.add_inner(&candidate.judgement)
            self.frontier.candidates[candidate.left].place.parent = number
            self.frontier.candidates[candidate.left + 1].place.parent = number
            self.frontier.heap[self.frontier.n_heap] = candidate.left + 1
            self.frontier.heap[self.frontier.n_heap + 1] = candidate.left
            self.frontier.n_heap += 2
        return 0

    cdef int add_candidate(self, const Place* place) except -1 nogil:
        """Find the split of a new node; if there is one, put it into the heap."""
        cdef Py_ssize_t number = self.frontier.add(place)
        cdef Candidate* candidate = &self.frontier.candidates[number]
        cdef Node node
        if self.splitter.needs_path_features and place.parent >= 0:
            self.frontier.recall_path(place.parent, self.path)
            candidate.last_new = self.frontier.candidates[place.parent].last_new
        self.open(place, &node)
        candidate.place.scale = node.scale
        self.splitter.forget_constants()       # what was found constant was so in another subtree
        self.find_split(&node, &candidate.split)
        if candidate.split.feature < 0:
            return 0
        if self.splitter.needs_path_features and self.path.add(candidate.split.feature, place.depth):
            candidate.last_new = number
        self.frontier.keep_payload(candidate)
        if not self.criterion.is_additive:
            self.judge(&node, &candidate.judgement)
        candidate.score = df_absolute_score(candidate.split.score, self.criterion.score_exponent(&node))
        return self.frontier.push(number)

    cdef int poll(self, Py_ssize_t n_records) except -1 nogil:
        """Now and then, see whether growing is to end."""
        self.since_poll += n_records
        if self.since_poll < POLL_RECORDS:
            return 0
        self.since_poll = 0
        self.team.check()
        return check_signals()

    cdef int judge(self, const Node* node, Judgement* out) except -1 nogil:
        """What an open node would predict as a leaf, and its impurity."""
        self.criterion.leaf_value(node, &out.value)
        out.value = df_clip(out.value, node.lower, node.upper)
        out.impurity = 0.0 if node.is_pure else self.criterion.node_impurity(node)
        if not self.criterion.is_built_in and not (-INFINITY < out.value < INFINITY and -INFINITY < out.impurity < INFINITY):
            refuse_judgement(self.criterion, out)
        return self.criterion.check()

    cdef void note_rows(self, const Node* node) noexcept nogil:
        """Note which rows a leaf has, for `record_table`."""
        cdef Py_ssize_t i, first = node.draws - self.draws
        for i in range(node.n):
            self.trunk.rows[first + i] = data_row(node.rows, node.draws[i].row)
            self.trunk.is_first[first + i] = i == 0

    cdef int add_leaf(self, Node* node) except -1 nogil:
        """Write what a leaf keeps: see `TreeWriter`."""
        cdef int64_t* words
        if self.trunk.rows != NULL:
            self.note_rows(node)
        if self.splitter.has_own_leaves:
            self.splitter.open_leaf(node)
        words = self.writer.add_leaf()
        words[0] = node.statistics[0]
        memcpy(&words[1], &node.statistics[self.first_weight], self.n_weights * sizeof(int64_t))
        if self.keeps_values:
            self.judge(node, <Judgement*> &words[1 + self.n_weights])
        return 0

    def record_table(self):
        """The records of the tree at hand, all of whose pieces are finished, if its grower was to keep them.

        Returns
        -------
        rows : ndarray of shape (n_records,), dtype uint32
            Those of each leaf together, leaves in preorder.
        is_first : ndarray of shape (n_records,), dtype bool
            Which are the first of their leaf.
        """
        return (lend(self.trunk.rows, self.trunk.n * sizeof(uint32_t), np.uint32).copy(),
                lend(self.trunk.is_first, self.trunk.n, np.bool_).copy())
