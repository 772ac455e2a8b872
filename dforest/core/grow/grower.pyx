"""Grows trees, one at a time, on one thread: the loop, depth first or best first.

A grower takes a node, decides what becomes of it, and writes a leaf, or partitions the node's records and goes on with both
children. What is to be known of a step is in a component of its own:

    Drawing       what a tree draws, as records, unless these are given
    TreeRecords   the records of a tree, and what else its parts share
    OpenNode      where a node stands
    Stack         the nodes to come, depth first, and the subtrees that are given away
    Frontier      the nodes to come, best first
    SubtreeCache         copies of what a subtree's records need
    SmallSubtree  subtrees of few records, all at once
    NodeDecision  whether a node is split and how, or what it predicts
    partition     which records go left
    TreeWriter    the tree as it is written

Depth first, a node's subtree is finished before its right sibling is looked at. Best first, for a limit on leaves, the nodes that
may be split wait in a heap, ordered by the scores of their best splits. As a node's best split depends on nothing but the node,
both ways give the same tree if the limit is not reached.

A tree may be grown in *parts*: a grower gives pending subtrees to threads that have nothing to do, and leaves placeholders where
these belong. See `dforest.core.grow.tree`.

The nodes of a part are looked at in preorder. The *stack* holds the right siblings along the path to the node at hand, the one
nearest to the root at the bottom, so it is as high as the tree is deep, and the largest pending subtrees are mostly at the
bottom. After the nodes 0, 1 and 2 of

                0
             /     \\
            1       6
           / \\     / \\
          2   5   7   8
         / \\
        3   4

have been looked at, the stack holds 6, 5, 4 and 3, of which 3 comes next. Given away are 6, then 5, and so on, as long as a
member of the team has nothing to do. A node that was given away stays on the stack; when its turn comes, the grower leaves a
placeholder there.

Best first, a *candidate* is a node whose best split is known, or that has none. Candidates are numbered in order of creation, so
both children of one come together, the left one first. The *heap* holds the numbers of the candidates that can be split: the one
of highest score first, of equal scores the one that comes first in preorder. Once the tree is grown, all candidates are gone
through in preorder, with the heap's memory as a stack.

A grower belongs to one thread and owns all of its components, which it uses again for the next tree. The `TreeRecords` of a part
belong to the grower that began the tree. Stack and frontier own the memory of their nodes and candidates. A subtree that is
given away is memory of its own, which belongs to the team until a member takes it.
"""
cimport cython
from cpython.pyport cimport PY_SSIZE_T_MAX
from cpython.ref cimport PyObject
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from dforest.core.grow.subtree_cache cimport make_subtree_caches
from dforest.core.grow.node_decision cimport refuse_division
from dforest.core.grow.open_node cimport first_node, set_children
from dforest.core.grow.records cimport Leader, partition, partition_by_test
from dforest.core.team cimport TeamTask
from dforest.core.grow.tree cimport (
    begin_part, begin_tree, end_part, free_records, number_records, reserve_records,
)
from dforest.core.sampling cimport WithLabelOrder
from dforest.core.search.sums cimport NO_SUMS
from dforest.core.threads cimport check_signals
from dforest.core.tree.split_heap cimport free_split_heap, note_node, pop_split, push_split
from dforest.core.tree.writer cimport append_words
from dforest.core.types cimport Column
from dforest.rules.node cimport df_leaf_rules_of, df_root_of, df_shifted_weight

cdef struct Subtree:               # what is given away; n_path_features of int32_t follow it in memory
    TreeRecords* tree_records
    OpenNode open_node                    # of its uppermost node
    Py_ssize_t n_path_features


@cython.final
cdef class Stack:
    """Nodes to come.

    Parameters
    ----------
    parallel_from : int
        Subtrees of fewer records are not given away.
    """

    def __cinit__(self, Py_ssize_t parallel_from):
        self.parallel_from = parallel_from

    def __dealloc__(self):
        free(self.open_nodes)

    cdef void give(self, Team team, TreeRecords* tree_records, PathFeatures path, SubtreeCache cache) noexcept nogil:
        cdef OpenNode* open_node
        cdef Subtree* subtree
        cdef Py_ssize_t n_path_features, end = cache.first_inside(self.n), in_outer = self.n
        if cache.outer is not None:
            in_outer = cache.outer.first_inside(self.n)
        while self.n_offered < end and team.has_idle():
            open_node = &self.open_nodes[self.n_offered]
            if open_node.at.n < self.parallel_from or open_node.part >= 0:
                self.n_offered += 1
                continue
            # What waits here hangs on the path to the node taken last, which is as deep at least.
            n_path_features = path.count_above(open_node.at.depth)
            subtree = <Subtree*> malloc(sizeof(Subtree) + n_path_features * sizeof(int32_t))
            if subtree == NULL:        # then it stays here
                return
            subtree.tree_records = tree_records
            subtree.open_node = open_node[0]
            subtree.n_path_features = n_path_features
            if n_path_features > 0:
                memcpy(subtree + 1, path.features, n_path_features * sizeof(int32_t))
            subtree.open_node.parent = -1
            subtree.open_node.is_right = False
            subtree.open_node.part = begin_part(tree_records)
            open_node.part = subtree.open_node.part
            if self.n_offered >= in_outer:
                cache.outer.release(tree_records.records + open_node.at.first, open_node.at.n)
            if not team.offer(subtree):
                if self.n_offered >= in_outer:
                    cache.outer.take_back(tree_records.records + open_node.at.first, open_node.at.n)
                free(subtree)
                end_part(tree_records)
                open_node.part = -1
                return
            self.n_offered += 1


cdef TreeRecords* take_subtree(void* offer, OpenNode* open_node, PathFeatures path) noexcept nogil:
    cdef Subtree* subtree = <Subtree*> offer
    cdef const int32_t* path_features = <const int32_t*> (subtree + 1)
    cdef TreeRecords* tree_records = subtree.tree_records
    cdef Py_ssize_t i
    open_node[0] = subtree.open_node
    path.leave(-1)
    for i in range(subtree.n_path_features):
        path.add(path_features[i], -1)
    free(offer)
    return tree_records


@cython.final
cdef class Frontier:
    """Candidates of one tree, and the heap of those to be split.

    Parameters
    ----------
    n_node_values : int
        Numbers that an inner node keeps: see `dforest.core.grow.node_decision`. 0: they follow from the leaves.
    """

    def __cinit__(self, Py_ssize_t n_node_values):
        self.n_node_values = n_node_values

    def __dealloc__(self):
        free(self.candidates)
        free_split_heap(&self.heap)
        free(self.node_values)
        free(self.payloads.words)

    cdef void clear(self) noexcept nogil:
        self.n_candidates = self.heap.n_waiting = self.payloads.n = 0

    cdef int add(self, const OpenNode* open_node, const Split* split, const double* node_values, int32_t exponent,
                 bint uses_new_feature) except -1 nogil:
        """Make a candidate of a node, and put it into the heap if it has a split. Pointers to others may be invalid then.

        IN split : its payload is the splitter's until its next call
        IN node_values : [n_node_values] of a node that has a split
        IN exponent : of the unit of the split's score
        IN uses_new_feature : no split on the path to the node uses the feature that its split uses
        """
        cdef Py_ssize_t number = self.n_candidates
        cdef Candidate* candidate
        ensure_room(<void**> &self.candidates, &self.candidate_room, number + 1, sizeof(Candidate))
        self.n_candidates += 1
        candidate = &self.candidates[number]
        candidate.open_node = open_node[0]
        candidate.split = split[0]
        candidate.left = candidate.payload_at = candidate.last_new = -1
        if open_node.parent >= 0:
            candidate.last_new = self.candidates[open_node.parent].last_new
            if not open_node.is_right:
                self.candidates[open_node.parent].left = number
        note_node(&self.heap, number, open_node.parent, open_node.is_right)
        if split.feature < 0:
            return 0
        if uses_new_feature:
            candidate.last_new = number
        if split.payload != NULL:
            candidate.payload_at = self.payloads.n
            append_words(&self.payloads, split.payload, split.n_payload_words)
        if self.n_node_values > 0:
            ensure_room(<void**> &self.node_values, &self.node_values_room, number + 1, self.n_node_values * sizeof(double))
            memcpy(self.node_values_of(number), node_values, self.n_node_values * sizeof(double))
        return push_split(&self.heap, number, split.score, exponent)

    cdef double* node_values_of(self, Py_ssize_t number) noexcept nogil:
        return self.node_values + number * self.n_node_values

    cdef void lend_payload(self, Candidate* candidate) noexcept nogil:
        """Point to where the payload of a candidate's split lies now."""
        if candidate.payload_at >= 0:
            candidate.split.payload = self.payloads.words + candidate.payload_at

    cdef Py_ssize_t pop(self) noexcept nogil:
        """Take the best candidate off the heap; return its number."""
        cdef Py_ssize_t best = pop_split(&self.heap)
        self.lend_payload(&self.candidates[best])
        return best

    cdef int begin_preorder(self) except -1 nogil:
        """Begin to go through all candidates in preorder. What is left in the heap stays leaves."""
        ensure_room(<void**> &self.heap.waiting, &self.heap.room, self.n_candidates, sizeof(Py_ssize_t))
        self.heap.waiting[0] = 0               # from here on a stack of those to come, the next one last
        self.heap.n_waiting = 1
        return 0

    cdef Py_ssize_t next_in_preorder(self) noexcept nogil:
        """The number of the next candidate; -1: there is none. If it was split, `put_children` comes before the next call."""
        cdef Candidate* candidate
        if self.heap.n_waiting == 0:
            return -1
        self.heap.n_waiting -= 1
        candidate = &self.candidates[self.heap.waiting[self.heap.n_waiting]]
        if candidate.left < 0:
            candidate.split.feature = -1
        self.lend_payload(candidate)
        return self.heap.waiting[self.heap.n_waiting]

    cdef void put_children(self, const Candidate* candidate, Py_ssize_t number) noexcept nogil:
        """Have a candidate's children come next in preorder, given the number of the node that was written for it."""
        cdef Py_ssize_t left = candidate.left
        self.candidates[left].open_node.parent = self.candidates[left + 1].open_node.parent = number
        self.heap.waiting[self.heap.n_waiting] = left + 1
        self.heap.waiting[self.heap.n_waiting + 1] = left
        self.heap.n_waiting += 2

    cdef void recall_path(self, Py_ssize_t parent, PathFeatures path) noexcept nogil:
        """Find the features on the path to a child of a candidate. OUT path : in order of first use, at depths of -1"""
        cdef Py_ssize_t number = parent
        path.leave(-1)
        while number >= 0:
            number = self.candidates[number].last_new
            if number >= 0:                    # the splits of these candidates use different features
                path.add(self.candidates[number].split.feature, -1)
                number = self.candidates[number].open_node.parent
        path.reverse()


cdef enum:
    POLL_RECORDS = 200000              # records of the nodes that are looked at between two polls
    MAX_LEAVES_AHEAD = 1 << 20        # of a tree that room is made for before it is grown


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
        When a node becomes a leaf: see `dforest.engines.problem.GrowthRules`.
    n_rows : int
        Of the problem; the data may have a part of them.
    max_records : int
        Of a tree.
    drawing : Drawing, optional
        What trees draw. None: they are grown from given records.
    label_ranks : ndarray, optional
        The ranks of labels of trees of given records, if they have any, as of `LabelOrder`.
    """

    def __cinit__(self, DataView data not None, objective not None, Criterion criterion not None, Splitter splitter not None,
                  rules, n_rows, Py_ssize_t max_records, Drawing drawing=None, label_ranks=None):
        self.criterion = criterion
        self.splitter = splitter
        self.max_leaf_nodes = rules.max_leaf_nodes or 0
        self.max_records = max_records
        self.drawing = drawing
        self.decision = NodeDecision(data, objective, criterion, splitter, rules.limits(n_rows), max_records)
        self.cache = make_subtree_caches(data, splitter, rules, self.decision.limits.max_depth, max_records)
        self.path = PathFeatures(data.n_features if splitter.needs_path_features else 0)
        self.small = SmallSubtree(data, self.decision, not self.max_leaf_nodes)
        self.stack = Stack(PY_SSIZE_T_MAX if self.max_leaf_nodes else splitter.tuning.get("parallel_from", PARALLEL_FROM))
        self.frontier = Frontier(0 if criterion.is_additive else self.decision.n_node_values)
        self.node.path_features = self.path.features
        self.node.on_path = self.path.bits
        lists_classes = drawing is not None and objective.lists_classes     # nodes of given records are put together elsewhere
        self.writer = TreeWriter(2 if lists_classes else objective.n_leaf_words, self.decision.n_node_values,
                                 not splitter.has_own_tests, lists_classes)
        max_leaves = min(max_records, MAX_LEAVES_AHEAD, self.max_leaf_nodes or max_records)
        if self.decision.limits.max_depth < 32:
            max_leaves = min(max_leaves, <int64_t> 1 << self.decision.limits.max_depth)
        self.writer.reserve(max_leaves)
        if drawing is not None and type(drawing.plan) is WithLabelOrder:
            self.label_order = LabelOrder(data, criterion)
            if self.label_order.n_ranks == 0:
                self.label_order = None
        elif label_ranks is not None:
            self.label_order = LabelOrder(data, criterion, label_ranks)

    def __dealloc__(self):
        free_records(&self.own)

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
        cdef TreeRecords* tree_records = &self.own
        cdef OpenNode root
        cdef df_open_node at
        cdef double root_weight
        self.writer.clear()
        reserve_records(tree_records, self.max_records, self.decision.data.n_rows if self.decision.data.has_sparse else 0,
                        self.keeps_leaves)
        if self.drawing.listed is None and self.is_parallel(self.drawing.n_draws):
            tree_records.n = self.drawing.draw_together(self.team, self.member, seed, tree_records.records, tree_records.scratch)
        else:
            tree_records.n = self.drawing.draw(seed, tree_records.records)
        number_records(tree_records, 0, tree_records.n)
        tree_records.exact_weight = self.drawing.exact_weight
        tree_records.label_ranks = self.label_order.ranks if self.label_order is not None else NULL
        self.enter(tree_records)
        self.path.leave(-1)
        at = df_root_of(tree_records.n, seed)
        root = first_node(&at)
        self.go_to(&root)
        self.decision.open(&self.node, False, &root.sums)
        if self.label_order is not None:
            self.label_order.fill(&self.node, seed)
        root.at = self.node.at             # with its scale
        root_weight = df_shifted_weight(self.node.statistics[1], self.node.weight_shift)
        begin_tree(tree_records, tree, seed, root_weight, df_leaf_rules_of(&self.decision.limits, root_weight, 0))
        return self.grow_part(tree_records, 0, &root)

    cdef int grow_given(self, uint32_t number, const Record* records, const df_open_node* given, Py_ssize_t n) except -1 nogil:
        cdef TreeRecords* tree_records = &self.own
        cdef const df_open_node* at
        cdef OpenNode root
        cdef Py_ssize_t i
        self.writer.clear()
        reserve_records(tree_records, self.max_records, 0, self.keeps_leaves)
        for i in range(n):
            at = &given[i]
            tree_records.exact_weight = self.decision.data.exact_weight if at.first_weight >= 0 else NULL
            tree_records.n = at.n
            memcpy(tree_records.records, records + at.first, at.n * sizeof(Record))
            if self.label_order is not None:
                self.label_order.take(at.label_order)
                tree_records.label_ranks = self.label_order.ranks
            begin_tree(tree_records, number, at.seed, at.root_weight,
                       df_leaf_rules_of(&self.decision.limits, at.root_weight, 0))
            self.path.leave(-1)
            root = first_node(at)
            self.grow_part(tree_records, 0, &root)
        return 0

    cdef bint help(self) except -1 nogil:
        cdef void* offer
        cdef TeamTask* task
        cdef TreeRecords* tree_records
        cdef OpenNode root
        cdef int part
        while self.team.wait_for_work(self.member, &offer, &task):
            if task != NULL:
                self.team.help_with(task, <void*> self.splitter)
                continue
            tree_records = take_subtree(offer, &root, self.path)
            part = root.part
            root.part = -1
            self.writer.clear()
            self.grow_part(tree_records, part, &root)
            return True
        return False

    cdef int grow_part(self, TreeRecords* tree_records, int part, const OpenNode* root) except -1 nogil:
        """Write a part of a tree, given its number and where its first node stands, to which `path` leads."""
        cdef Py_ssize_t n_written = self.writer.n_nodes
        self.part = part
        self.enter(tree_records)
        if part > 0:                      # it may come from a cache
            number_records(tree_records, root.at.first, root.at.n)
        self.decision.enter(tree_records)
        self.small.enter(tree_records)
        self.grow_nodes(root)
        if self.max_leaf_nodes:
            self.write_candidates()
        self.writer.look_up_thresholds(n_written, self.decision.data.columns)
        return 0

    cdef void enter(self, TreeRecords* tree_records) noexcept nogil:
        """Begin to look at nodes of a tree, or of a part of one."""
        self.tree_records = tree_records
        self.node.record_of = tree_records.record_of
        self.node.label_ranks = tree_records.label_ranks
        self.cache.enter_tree(tree_records.exact_weight, tree_records.record_of)

    cdef inline void go_to(self, const OpenNode* open_node) noexcept nogil:
        """Have a node at hand, which is not open yet."""
        if self.splitter.needs_path_features:
            self.path.leave(open_node.at.depth)
        self.node.at = open_node.at
        self.node.records = self.tree_records.records + open_node.at.first
        self.node.scratch = self.tree_records.scratch + open_node.at.first
        self.node.n_path_features = self.path.n
        self.cache.set_node_arrays(&self.node)

    cdef bint is_parallel(self, int64_t n_visits) noexcept nogil:
        """Whether a member of the team is idle, and n_visits visits of records are worth waking it up."""
        return n_visits >= self.splitter.parallel_visits_from and self.team.has_idle()

    cdef int divide(self, const Split* split, OpenNode* left, OpenNode* right) except -1 nogil:
        """Partition the records of the node at hand, and add them up if it is open; and set its children but for their parent."""
        cdef const Node* node = &self.node
        cdef const Column* column = &node.columns[split.feature]
        cdef Column unpacked
        cdef Leader leader = Leader(<PyObject*> self.team, self.member)
        cdef Py_ssize_t n_left
        left.sums.kind = right.sums.kind = NO_SUMS if self.splitter.has_own_tests else self.decision.sums_of_sides(node)
        if column.stored != NULL:
            unpacked = self.splitter.cuts.stored.unpack(node, column)
            column = &unpacked
        if self.splitter.has_own_tests:
            n_left = partition_by_test(self.splitter, node, split)
        else:
            n_left = partition(node, column, split, &leader if self.is_parallel(node.n) else NULL, self.criterion.n_words,
                               &left.sums, &right.sums)
        if n_left == 0 or n_left == node.n:
            refuse_division(self.splitter, node, n_left)
        if node.rows == NULL:              # these are the data's rows
            number_records(self.tree_records, node.at.first, node.n)
        set_children(node, n_left, column.monotonic_cst, split.midpoint, left, right)
        return 0

    cdef int grow_nodes(self, const OpenNode* root) except -1 nogil:
        """The loop: decide what becomes of a node, and go on with its children, if it has some.

        The children of a node that is split are visited next. Depth first, nodes are split and written at once. Best first, they
        wait in the frontier, which gives the best one when all nodes have been visited, until there are enough leaves.
        """
        cdef OpenNode open_node, left, right
        cdef Split split
        cdef Py_ssize_t number             # of a node that is split now, by which its children know it; -1: none is
        self.stack.begin(root)
        self.frontier.clear()
        while True:
            if self.stack.n > 0:
                self.stack.pop(&open_node)
                number = self.visit(&open_node, &split)
            elif self.frontier.heap.n_waiting > 0 and self.frontier.n_leaves() < self.max_leaf_nodes:
                number = self.recall_best(&split)
            else:
                return 0
            if number >= 0:
                self.divide(&split, &left, &right)
                left.parent = right.parent = number
                self.stack.push(&left, &right)

    cdef Py_ssize_t visit(self, OpenNode* open_node, Split* split) except -2 nogil:
        """Decide what becomes of a node; return its number if it is split now. OUT split"""
        self.cache.leave(self.stack.n)
        if open_node.part >= 0:
            self.writer.add_placeholder(open_node.parent, open_node.is_right, open_node.part)
            return -1
        self.poll(open_node.at.n)
        if self.team.has_idle():
            self.stack.give(self.team, self.tree_records, self.path, self.cache)
        if self.small.takes(open_node.at.n):
            self.go_to(open_node)
            if self.small.grow(open_node, &self.node, self.writer):
                return -1
        if not (open_node.at.n // 2 >= self.stack.parallel_from and self.team.runs_short()):
            self.cache.enter(self.tree_records.records + open_node.at.first, open_node.at.n, open_node.at.depth, self.stack.n)
        if self.max_leaf_nodes:
            self.splitter.forget_constants()   # what was found constant was so in another subtree
            if self.splitter.needs_path_features:
                self.frontier.recall_path(open_node.parent, self.path)
        self.go_to(open_node)
        self.decision.find_split(&self.node, open_node.is_right, &open_node.sums, split)
        if not self.max_leaf_nodes:
            return self.write(open_node, split, self.decision.inner_values)
        self.hold(open_node, split)
        return -1

    cdef int hold(self, OpenNode* open_node, const Split* split) except -1 nogil:
        """Have the node at hand wait in the frontier."""
        cdef bint uses_new_feature = False
        cdef int32_t exponent = 0
        if split.feature >= 0:
            uses_new_feature = self.splitter.needs_path_features and self.path.add(split.feature, open_node.at.depth)
            exponent = self.decision.absolute_exponent(&self.node)
        open_node.at = self.node.at        # with the scale by which its draws are quantised from here on,
        open_node.sums.kind = NO_SUMS      # and no longer those that were added up
        return self.frontier.add(open_node, split, self.decision.inner_values, exponent, uses_new_feature)

    cdef Py_ssize_t recall_best(self, Split* split) noexcept nogil:
        """Take the best node of the frontier, which is not opened again; return its number. OUT split"""
        cdef Py_ssize_t number = self.frontier.pop()
        cdef const Candidate* candidate = &self.frontier.candidates[number]
        split[0] = candidate.split
        self.go_to(&candidate.open_node)
        self.node.statistics = NULL
        return number

    cdef int write_candidates(self) except -1 nogil:
        """Write the nodes grown best first in preorder."""
        cdef Candidate* candidate
        cdef Py_ssize_t at, number
        self.path.leave(-1)
        self.frontier.begin_preorder()
        while True:
            at = self.frontier.next_in_preorder()
            if at < 0:
                return 0
            candidate = &self.frontier.candidates[at]
            self.go_to(&candidate.open_node)
            if candidate.split.feature < 0:
                self.decision.open(&self.node, candidate.open_node.is_right, &candidate.open_node.sums)
            number = self.write(&candidate.open_node, &candidate.split, self.frontier.node_values_of(at))
            if number >= 0:
                self.frontier.put_children(candidate, number)

    cdef inline Py_ssize_t write(self, const OpenNode* open_node, const Split* split, const double* node_values) except -2 nogil:
        """Write the node at hand, which is open if it is a leaf; return its number if it is inner, else -1.

        IN node_values : [n_node_values] of an inner node, if they do not follow from the leaves
        """
        cdef Py_ssize_t number
        if split.feature < 0:
            self.decision.write_leaf(&self.node, open_node.parent, open_node.is_right, self.writer)
            return -1
        if self.splitter.needs_path_features:
            self.path.add(split.feature, open_node.at.depth)
        number = self.writer.add_inner(open_node.parent, open_node.is_right, split)
        if not self.criterion.is_additive:
            memcpy(self.writer.add_node_values(), node_values, self.decision.n_node_values * sizeof(double))
        return number

    cdef int poll(self, Py_ssize_t n_records) except -1 nogil:
        """Now and then, see whether growing is to end."""
        self.since_poll += n_records
        if self.since_poll < POLL_RECORDS:
            return 0
        self.since_poll = 0
        self.team.check()
        return check_signals()
