"""Grows trees, one at a time, on one thread: the loop, depth first or best first.

A grower takes a node, has it judged, and writes a leaf, or partitions the node's records and goes on with both children. What is
to be known of a step is in a part of its own:

    drawing     what a tree draws, as records, unless these are given
    trunk       the records of a tree, and what else its pieces share
    place       where a node stands
    stack       the nodes to come, depth first, and the subtrees that are given away
    frontier    the nodes to come, best first
    block       copies of what a subtree's records need
    twig        subtrees of few records, all at once
    judge       whether a node is split and how, or what it predicts
    partition   which records go left
    writer      the tree as it is written

Depth first, a node's subtree is finished before its right sibling is looked at. Best first, for a limit on leaves, the nodes that
may be split wait in a heap, ordered by the scores of their best splits. As a node's best split depends on nothing but the node,
both ways give the same tree if the limit is not reached.

A tree may be grown in *pieces*: a grower gives pending subtrees to threads that have nothing to do, and leaves holes where these
belong. See `dforest.core.grow.pieces`.

A grower belongs to one thread and owns all of its parts, which it uses again for the next tree. The trunk of a piece belongs to
the grower that began the tree.
"""
cimport cython
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

from dforest.core.grow.block cimport make_blocks
from dforest.core.grow.frontier cimport Candidate
from dforest.core.grow.partition cimport partition_by_test, partition_summing, partition_together
from dforest.core.grow.place cimport given_place, place_children, root_place
from dforest.core.grow.split_check cimport refuse_division
from dforest.core.grow.stack cimport SHARE_FROM, take_subtree
from dforest.core.grow.team cimport Task
from dforest.core.grow.trunk cimport begin_tree, free_trunk, note_leaf, number_records, reserve_trunk
from dforest.core.search.sums cimport NO_SUMS
from dforest.core.threads cimport check_signals
from dforest.core.types cimport Column, Record
from dforest.rules.node cimport df_leaf_rules_of

cdef enum:
    POLL_RECORDS = 200000              # records of the nodes that are looked at between two polls
    MOST_LEAVES_AHEAD = 1 << 20        # of a tree that room is made for before it is grown


@cython.final
cdef class Grower:
    """Grows trees on one thread.

    Parameters
    ----------
    data : DataView
    objective : Objective
        What trees are to predict: see `dforest.core.objective`.
    criterion, splitter : Criterion, Splitter
        Of this thread; both get attached.
    rules : GrowthRules
        When a node becomes a leaf: see `dforest.problem.GrowthRules`.
    n_rows : int
        Of the problem; the data may have a part of them.
    most_records : int
        Of a tree.
    drawing : Drawing, optional
        What trees draw. None: they are grown from given records.
    """

    def __cinit__(self, DataView data not None, objective not None, Criterion criterion not None, Splitter splitter not None,
                  rules, n_rows, Py_ssize_t most_records, Drawing drawing=None):
        self.criterion = criterion
        self.splitter = splitter
        self.max_leaf_nodes = rules.max_leaf_nodes or 0
        self.most_records = most_records
        self.drawing = drawing
        self.judge = Judge(data, objective, criterion, splitter, rules.limits(n_rows), most_records)
        self.block = make_blocks(data, splitter, rules, self.judge.limits.max_depth, most_records)
        self.path = PathFeatures(data.n_features if splitter.needs_path_features else 0)
        self.twig = Twig(data, self.judge, not self.max_leaf_nodes)
        self.stack = Stack(splitter.tuning.get("share_from", SHARE_FROM))
        self.frontier = Frontier(self.judge.n_judged)
        self.writer = TreeWriter(objective.n_leaf_words, self.judge.n_judged, not splitter.has_own_tests)
        most_leaves = min(most_records, MOST_LEAVES_AHEAD, self.max_leaf_nodes or most_records)
        if self.judge.limits.max_depth < 32:
            most_leaves = min(most_leaves, <int64_t> 1 << self.judge.limits.max_depth)
        self.writer.reserve(most_leaves)

    def __dealloc__(self):
        free_trunk(&self.own)

    def join(self, Team team not None, int member, bint keeps_leaves):
        """Get ready to grow trees.

        Parameters
        ----------
        team : Team
            Shared with the growers of other threads.
        member : int
            The number of this grower in it.
        keeps_leaves : bool
            Whether it is to be known which rows each leaf has, of the trees that this grower begins: see `leaf_table`.
        """
        self.team = team
        self.member = member
        self.keeps_leaves = keeps_leaves
        self.splitter.join(team, member)

    cdef int grow(self, uint32_t tree, uint32_t seed) except -1 nogil:
        cdef Trunk* trunk = &self.own
        cdef Place root
        cdef Node node
        self.writer.clear()
        reserve_trunk(trunk, self.most_records, self.judge.data.n_rows if self.judge.data.has_sparse else 0, self.keeps_leaves)
        if self.is_shared(self.drawing.n_draws):
            trunk.n = self.drawing.draw_together(self.team, self.member, seed, trunk.records, trunk.scratch)
        else:
            trunk.n = self.drawing.draw(seed, trunk.records)
        number_records(trunk, 0, trunk.n)
        self.trunk = trunk
        self.block.close()
        self.path.leave(-1)
        root = root_place(trunk.n)
        self.fill_node(&root, &node)
        self.judge.open(&node, False, &root.sums)
        root.scale = node.scale
        begin_tree(trunk, tree, seed, node.statistics[1], df_leaf_rules_of(&self.judge.limits, node.statistics[1]))
        return self.grow_piece(trunk, 0, &root)

    cdef int grow_given(self, uint32_t number, const Record* records, const df_open_node* places, Py_ssize_t n) except -1 nogil:
        cdef Trunk* trunk = &self.own
        cdef const df_open_node* place
        cdef Place root
        cdef Py_ssize_t i
        self.writer.clear()
        reserve_trunk(trunk, self.most_records, 0, self.keeps_leaves)
        for i in range(n):
            place = &places[i]
            trunk.n = place.n
            memcpy(trunk.records, records + place.first, place.n * sizeof(Record))
            begin_tree(trunk, number, place.seed, place.root_weight, df_leaf_rules_of(&self.judge.limits, place.root_weight))
            self.path.leave(-1)
            root = given_place(place)
            self.grow_piece(trunk, 0, &root)
        return 0

    cdef bint help(self) except -1 nogil:
        cdef void* offer
        cdef Task* task
        cdef Trunk* trunk
        cdef Place root
        cdef int piece
        while self.team.wait(self.member, &offer, &task):
            if task != NULL:
                self.team.help(task, <void*> self.splitter)
                continue
            trunk = take_subtree(offer, &root, self.path)
            piece = root.piece
            root.piece = -1
            self.writer.clear()
            self.grow_piece(trunk, piece, &root)
            return True
        return False

    cdef int grow_piece(self, Trunk* trunk, int piece, const Place* root) except -1 nogil:
        """Write a piece of a tree, given its number and where its first node stands, to which `path` leads."""
        cdef Py_ssize_t n_written = self.writer.n_nodes
        self.trunk = trunk
        self.piece = piece
        self.block.close()
        if piece > 0:                      # it may come from a block
            number_records(trunk, root.first, root.n)
        self.judge.enter(trunk)
        self.twig.enter(trunk)
        if self.max_leaf_nodes:
            self.grow_best_first(root)
        else:
            self.grow_depth_first(root)
        self.writer.look_up_thresholds(n_written, self.judge.data.columns)
        return 0

    cdef inline void fill_node(self, const Place* place, Node* node) noexcept nogil:
        """Tell of a node what is known before it is opened."""
        node.records = self.trunk.records + place.first
        node.n = place.n
        node.scratch = self.trunk.scratch + place.first
        node.record_of = self.trunk.record_of
        node.first = <uint32_t> place.first
        node.path = place.path
        node.depth = place.depth
        node.scale = place.scale
        node.lower = place.lower
        node.upper = place.upper
        node.path_features = self.path.features
        node.n_path_features = self.path.n
        node.on_path = self.path.bits
        self.block.lend(node)

    cdef bint is_shared(self, int64_t n_visits) noexcept nogil:
        """Whether a member of the team is idle, and n_visits visits of records are worth waking it up."""
        return n_visits >= self.splitter.share_visits_from and self.team.has_idle()

    cdef int divide(self, const Node* node, const Split* split, Place* left, Place* right) except -1 nogil:
        """Partition a node's records, and add them up if it is open; and set its children's places but for their parent."""
        cdef Py_ssize_t first = node.records - self.trunk.records, n_left
        cdef Record* scratch = self.trunk.scratch + first
        cdef const Column* column = &node.columns[split.feature]
        cdef Column unpacked
        left.sums.kind = right.sums.kind = NO_SUMS
        if column.stored != NULL:
            unpacked = self.splitter.cuts.stored.unpack(node, column)
            column = &unpacked
        if self.splitter.has_own_tests:
            n_left = partition_by_test(self.splitter, node, split, scratch)
        elif self.is_shared(node.n):
            n_left = partition_together(self.team, self.member, node, column, split, scratch)
        else:
            left.sums.kind = right.sums.kind = self.judge.sums_of_sides(node)
            n_left = partition_summing(node, column, split, scratch, self.criterion.n_words, &left.sums, &right.sums)
        if n_left == 0 or n_left == node.n:
            refuse_division(self.splitter, node, n_left)
        if node.rows == NULL:              # these are the data's rows
            number_records(self.trunk, first, node.n)
        place_children(node, first, n_left, column.direction, split.middle, left, right)
        return 0

    cdef int grow_depth_first(self, const Place* root) except -1 nogil:
        cdef Place place, left, right
        cdef Node node
        cdef Split split
        self.stack.begin(root)
        while self.stack.n > 0:
            self.stack.pop(&place)
            self.block.leave(self.stack.n)
            if place.piece >= 0:
                self.writer.add_hole(place.parent, place.is_right, place.piece)
                continue
            if self.splitter.needs_path_features:
                self.path.leave(place.depth)
            self.poll(place.n)
            if self.team.has_idle():
                self.stack.give(self.team, self.trunk, self.path, self.block)
            if self.twig.takes(place.n):
                self.fill_node(&place, &node)
                if self.twig.grow(&place, &node, self.writer):
                    continue
            if not (place.n // 2 >= self.stack.share_from and self.team.runs_short()):
                self.block.enter(self.trunk.records + place.first, place.n, place.depth, self.stack.n)
            self.fill_node(&place, &node)
            self.judge.find_split(&node, place.is_right, &place.sums, &split)
            if split.feature < 0:
                self.add_leaf(&node, place.parent, place.is_right)
                continue
            if self.splitter.needs_path_features:
                self.path.add(split.feature, place.depth)
            left.parent = right.parent = self.writer.add_inner(place.parent, place.is_right, &split)
            if not self.criterion.is_additive:
                self.judge.judge(&node, self.writer.add_judgement())
            self.divide(&node, &split, &left, &right)
            self.stack.push(&left, &right)
        return 0

    cdef int grow_best_first(self, const Place* root) except -1 nogil:
        """Split the node of highest score, of equal ones the first in preorder, until there are enough leaves."""
        cdef Place left, right
        cdef Node node
        cdef Py_ssize_t number, n_leaves = 1
        cdef Candidate* candidate
        self.frontier.clear()
        self.add_candidate(root)
        while self.frontier.n_heap > 0 and n_leaves < self.max_leaf_nodes:
            number = self.frontier.pop()
            n_leaves += 1
            candidate = &self.frontier.candidates[number]
            self.poll(candidate.place.n)
            self.fill_node(&candidate.place, &node)
            node.statistics = NULL             # it is not open
            self.divide(&node, &candidate.split, &left, &right)
            left.parent = right.parent = number
            self.add_candidate(&left)
            self.add_candidate(&right)
        return self.write_candidates()

    cdef int add_candidate(self, const Place* place) except -1 nogil:
        """Find the split of a new node; if there is one, put it into the heap."""
        cdef Py_ssize_t number = self.frontier.add(place)
        cdef Candidate* candidate = &self.frontier.candidates[number]
        cdef Node node
        cdef bint uses_new_feature
        if self.splitter.needs_path_features and place.parent >= 0:
            self.frontier.recall_path(place.parent, self.path)
        self.fill_node(place, &node)
        self.splitter.forget_constants()       # what was found constant was so in another subtree
        self.judge.find_split(&node, place.is_right, &place.sums, &candidate.split)
        candidate.place.scale = node.scale     # by which its draws are quantised from here on,
        candidate.place.sums.kind = NO_SUMS    # and no longer those that were added up
        if candidate.split.feature < 0:
            return 0
        uses_new_feature = self.splitter.needs_path_features and self.path.add(candidate.split.feature, place.depth)
        if not self.criterion.is_additive:
            self.judge.judge(&node, self.frontier.judgement(number))
        return self.frontier.push(number, self.judge.absolute_score(&node, &candidate.split), uses_new_feature)

    cdef int write_candidates(self) except -1 nogil:
        """Write the nodes grown best first in preorder."""
        cdef Candidate* candidate
        cdef Py_ssize_t at, number
        cdef Node node
        self.path.leave(-1)
        self.frontier.begin_preorder()
        while True:
            candidate = self.frontier.next_in_preorder(&at)
            if candidate == NULL:
                return 0
            if self.splitter.needs_path_features:
                self.path.leave(candidate.place.depth)
            if candidate.left < 0:
                self.fill_node(&candidate.place, &node)
                self.judge.open(&node, candidate.place.is_right, &candidate.place.sums)
                self.add_leaf(&node, candidate.place.parent, candidate.place.is_right)
                continue
            if self.splitter.needs_path_features:
                self.path.add(candidate.split.feature, candidate.place.depth)
            number = self.writer.add_inner(candidate.place.parent, candidate.place.is_right, &candidate.split)
            if not self.criterion.is_additive:
                memcpy(self.writer.add_judgement(), self.frontier.judgement(at), self.judge.n_judged * sizeof(double))
            self.frontier.put_children(candidate, number)

    cdef inline int add_leaf(self, Node* node, Py_ssize_t parent, bint is_right) except -1 nogil:
        """Write an open node as a leaf."""
        note_leaf(self.trunk, node)
        return self.judge.store_leaf(node, self.writer.add_leaf(parent, is_right))

    cdef int poll(self, Py_ssize_t n_records) except -1 nogil:
        """Now and then, see whether growing is to end."""
        self.since_poll += n_records
        if self.since_poll < POLL_RECORDS:
            return 0
        self.since_poll = 0
        self.team.check()
        return check_signals()
