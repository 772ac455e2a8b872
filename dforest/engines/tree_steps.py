"""What may be done with a tree of a forest after it is grown and before anybody sees it, on whatever engine.

A *step* belongs to a problem (`Problem.after_tree`). A session hands it finished trees, some that follow each other at a time,
and puts what it returns into the sink: so callbacks, votes out of bag and the forest itself know trees as they leave the step.
Boosted trees have none, as what a tree adds to its rows' predictions is known before it is finished.

`RefilledLeaves` keeps the splits of a tree and fills its leaves anew: with the draws of another sampling plan, which may be of
rows that the splits were not chosen by. Honest trees are made so. Leaves that too few of these draws reach are pruned: the
sibling of such a leaf, with all that is below, takes the place of their parent; where both children are such leaves, the parent
is a leaf. Of a tree (a, (b, c)) that loses the leaf b, (a, c) is left; of one that loses b and c, (a, bc).

`SmoothedLeaves` draws what leaves predict towards what the nodes above them would (`dforest.core.forest.smoothing`).
"""

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from dforest.core.class_lists import ClassLists
from dforest.core.coding.coded_columns import CodedColumn
from dforest.core.draws import draw_pieces
from dforest.core.forest.arrays import Forest, remaining
from dforest.core.forest.assembly import TreeArrays
from dforest.core.forest.node_table import is_deviance
from dforest.core.forest.smoothing import smoothed_nodes, weights_of_shares
from dforest.core.search.splitter import HistSplitter
from dforest.engines.given import grow_given
from dforest.engines.problem import GrowthRules
from dforest.rules import arrays as rules
from dforest.rules.records import record
from dforest.spmd.draws import DrawAllocator

TREES_TOGETHER = 64  # most trees whose leaves are filled together, and most of all of them:
_DRAWS_TOGETHER, _ROWS_OF_TREES, _WORDS_TOGETHER = 1 << 16, 1 << 20, 1 << 20  # draws; rows that are drawn from; words of leaves


def trees_together(problem):
    """Of how many trees of a problem leaves are filled together, as these are small: int."""
    if problem.targets.balance is not None:  # which gives each tree weights of its own
        return 1
    n_rows, objective = problem.n_rows, problem.objective
    n_draws, n_words = problem.sampling.filling().count_draws(n_rows), 1 + objective.n_weights + objective.n_node_values
    most = TREES_TOGETHER, _DRAWS_TOGETHER // n_draws, _ROWS_OF_TREES // n_rows, _WORDS_TOGETHER // (n_draws * n_words)
    return max(1, min(most))


class TreeStep(ABC):
    """A step.

    Attributes
    ----------
    n_together : int
        How many trees it is handed at a time: those from 0 on, then those from `n_together` on, and so forth.
    lists_all_classes : bool
        Whether a leaf has a weight of each class that its tree has, where leaves keep lists of classes.
    """

    n_together, lists_all_classes = 1, False

    @abstractmethod
    def apply(self, trees):
        """What takes the place of some trees.

        Parameters
        ----------
        trees : list of dforest.engines.base.GrownTree
            Up to `n_together`, in the order of their numbers; lent until this returns. Several threads may ask about some each at
            the same time; several ranks ask about the same trees, in the same order, and do so together.

        Returns
        -------
        list of GrownTree
            As many, with arrays of their own.
        """


class RefilledLeaves(TreeStep):
    """Fills leaves with other draws than those that a tree's splits were chosen by.

    A leaf that none of these draws reaches keeps what it had. A rank knows its own rows alone: of R ranks, rank r fills the
    leaves of the trees that are handed in as number r, r + R, ... with the draws that the other ranks send. Making one is a
    collective.

    Parameters
    ----------
    problem : Problem
        What the trees are grown for, with targets of all rows of this rank.
    parts : list of (ndarray of shape (n_rows of the part, n_features), or SparseRows)
        X of these rows, as it is tested by thresholds.
    sampling : SamplingPlan
        Which rows fill a tree's leaves, given the tree's seed.
    ranks : Communicator
    fewest : int, default=0
        Leaves that fewer of these draws reach are pruned, but for the root.
    most : int, default=TREES_TOGETHER
        Most trees whose leaves are filled together.
    **settings
        Attributes of a `Forest` that the problem does not tell: `n_categories`, `criterion`, `splitter`.

    Raises
    ------
    ValueError
        If leaves depend on more than the draws in them: on bounds of monotonic constraints, or on the splitter.
    """

    def __init__(self, problem, parts, sampling, ranks, fewest=0, most=TREES_TOGETHER, **settings):
        if problem.monotonic_csts.any() or problem.splitter.has_own_leaves:
            reason = "monotonic constraints bound" if problem.monotonic_csts.any() else f"{problem.splitter!r} makes"
            raise ValueError(f"leaves can't be filled anew where {reason} what they predict; allowed are leaves of draws alone")
        self._problem, self._parts, self._sampling, self._ranks, self._settings = problem, parts, sampling, ranks, settings
        self._fewest, self.n_together = fewest, min(most, trees_together(problem))
        self._numbers = None if problem.share is None else problem.share.numbers()
        self._allocator = None if problem.share is None else DrawAllocator(ranks, problem.n_rows, problem.share)

    def apply(self, trees):
        """See `TreeStep`."""
        arrays, offsets = joined([tree.arrays for tree in trees])
        counts, targets, unit = self._draws(trees)
        of_tree, drawn = np.nonzero(counts)
        count = counts[of_tree, drawn]
        records = np.zeros(len(drawn), _DRAWN)
        arrays, offsets, records["leaf"] = self._pruned(arrays, offsets, of_tree, drawn, count)
        records["number"] = drawn if self._numbers is None else self._numbers[drawn]
        records["count"], records["class"] = count, targets.classes[drawn]
        records["weight"] = 1 if targets.weight is None else targets.weight[drawn]
        records["exact_weight"] = 0.0 if targets.exact_weight is None else targets.exact_weight[drawn]
        y = None if targets.numbers is None else targets.numbers[drawn]
        owner, there = trees[0].number // self.n_together % self._ranks.size, targets.exact_weight is not None
        records, y = self._sent_to(owner, records), None if y is None else self._sent_to(owner, y)
        filled = None if self._ranks.rank != owner else self._filled(arrays, offsets, records, y, there)
        if self._ranks.size > 1:
            filled = self._ranks.gather_objects(filled)[owner]
        parts = divided(arrays._replace(**filled), offsets, self._has_payload(arrays))
        return [tree._replace(arrays=own, weight_unit=unit) for tree, own in zip(trees, parts, strict=True)]

    def _pruned(self, arrays, offsets, of_tree, drawn, count):
        """Trees without the leaves that too few draws reach, where they begin, and the leaf that each draw reaches. A collective.

        arrays, offsets : as of `joined`; of_tree, drawn, count : a tree, an own row that it draws, and how often
        """
        leaf = self._leaf_numbers(arrays, offsets, of_tree, drawn)
        while self._fewest:
            n_draws = self._ranks.sum(np.bincount(leaf, count, len(arrays.leaves)).astype(np.int64))
            before = np.append(0, np.cumsum(arrays.feature < 0))[offsets]  # leaves of the trees before
            of_trees = np.add.reduceat(n_draws, before[:-1])
            goes = (n_draws < self._fewest) & np.repeat((np.diff(before) > 1) & (of_trees > 0), np.diff(before))
            if not goes.any():
                break
            arrays, offsets, new = without_leaves(arrays, offsets, goes, self._has_payload(arrays))
            leaf = new[leaf]
            moved = np.flatnonzero(leaf < 0)  # draws of leaves that went alone: they go where their siblings stand now
            if len(moved):
                leaf[moved] = self._leaf_numbers(arrays, offsets, of_tree[moved], drawn[moved])
        return arrays, offsets, leaf

    def _has_payload(self, arrays):
        """Which nodes have a payload: see `dforest.core.forest.arrays`."""
        return (arrays.feature >= 0) & (
            (self._settings["n_categories"][arrays.feature] > 0) | (self._settings["splitter"] is not None)
        )

    def _draws(self, trees):
        """How often each tree draws each own row, the `Targets` whose weights draws have, the unit of these. A collective."""
        problem = self._problem
        seeds = problem.seeds_of(range(trees[0].number, trees[-1].number + 1))
        if self._allocator is None:
            counts = np.stack([self._sampling.counts(problem.n_rows, seed) for seed in seeds.tolist()])
        else:
            pieces = problem.share.pieces()
            allocated = self._allocator.allocate((self._sampling,) * len(trees), seeds, 1)
            allocated = allocated[:, np.searchsorted(self._allocator.blocks, pieces[0])]
            counts = draw_pieces(self._sampling, seeds, problem.n_rows, allocated, pieces, 1)
        targets = problem.targets
        if targets.balance is None:
            return counts, targets, targets.weight_unit
        (weights,) = targets.balance.integer_weights(counts)
        return counts, replace(targets, weight=weights.integers, exact_weight=weights.exact), weights.unit

    def _leaf_numbers(self, arrays, offsets, of_tree, rows):
        """The leaves that own rows reach in trees, row by row in one tree each, counted among the leaves of all trees."""
        known = {"n_features": self._problem.n_features, "objective": self._problem.objective, **self._settings}
        packed, nodes = Forest.view_of_trees(arrays, offsets, **known).packed(), offsets[of_tree]
        needed = rows if len(offsets) == 2 else np.unique(rows)
        place = np.searchsorted(needed, rows)
        for first in range(0, len(needed), _ROWS_TOGETHER):
            some = needed[first : first + _ROWS_TOGETHER]
            here = slice(first, first + len(some))  # of one tree
            if len(offsets) > 2 and len(some) < len(needed):
                here = np.flatnonzero((place >= first) & (place < first + len(some)))
            elif len(offsets) > 2:
                here = slice(None)
            nodes[here] += self._reached(packed, some)[place[here] - first, of_tree[here]]
        return (np.cumsum(arrays.feature < 0) - 1)[nodes]

    def _reached(self, packed, rows):
        """The nodes that some of the own rows, ascending numbers, reach in packed trees: (n_rows, n_trees)."""
        ends = np.cumsum([len(part) for part in self._parts])
        nodes = []
        for part, end, own in zip(self._parts, ends, np.split(rows, np.searchsorted(rows, ends[:-1])), strict=True):
            if len(own) == 0:
                continue
            own = own - (end - len(part))
            if isinstance(part, np.ndarray):
                nodes.append(packed.apply(part[own], 1))
            else:  # sparse rows can't be picked one by one
                nodes.append(packed.apply(part[own[0] : own[-1] + 1], 1)[own - own[0]])
        return np.concatenate(nodes)

    def _sent_to(self, owner, array):
        """What the ranks have, one after another, on the owner; on others nothing. A collective."""
        if self._ranks.size == 1:
            return array
        return np.concatenate(self._ranks.exchange([array if rank == owner else array[:0] for rank in range(self._ranks.size)]))

    def _filled(self, arrays, offsets, records, y, has_exact_weights):
        """`leaves`, `entries` and `inner` of trees, given the draws that fill their leaves, and the exact targets: dict."""
        objective = self._problem.objective
        order = np.lexsort([records["number"], records["leaf"]])
        records, y = records[order], None if y is None else y[order]
        filled, n_records = np.unique(records["leaf"], return_counts=True)
        if objective.lists_classes:
            starts, (classes, weights) = np.append(0, np.cumsum(arrays.leaves[:, 1])), arrays.entries.T
            lists = ClassLists(starts, classes.astype(np.int32), weights, objective.n_weights)
            words = np.column_stack([arrays.leaves[:, 0], lists.dense()])
        else:
            words = arrays.leaves.copy()
        words[filled] = self._words(records, n_records, y, has_exact_weights)
        inner = self._inner(arrays, offsets, records, y, has_exact_weights) if len(arrays.inner) else arrays.inner
        leaves, entries = words, arrays.entries
        if objective.lists_classes:
            leaves, entries = objective.list_leaves(words[:, 0], ClassLists.of(words[:, 1:]))
        return {"leaves": leaves, "entries": entries, "inner": inner}

    def _inner(self, arrays, offsets, records, y, has_exact_weights):
        """What nodes that are no leaves would be as leaves of the draws below them, as `Forest.inner` has it.

        Gains remain those by which the splits were chosen.
        """
        nodes, n_leaves = np.flatnonzero(arrays.feature >= 0), np.append(0, np.cumsum(arrays.feature < 0))
        first, end = (np.searchsorted(records["leaf"], n_leaves[some]) for some in (nodes, _ends(arrays, offsets)[nodes]))
        there = first < end
        below = np.concatenate([np.zeros(0, np.int64), *map(np.arange, first[there], end[there])])
        values = self._words(records[below], (end - first)[there], None if y is None else y[below], has_exact_weights)
        words, inner = self._problem.objective.leaf_words, arrays.inner.copy()
        inner[there, :-1] = values[:, words["leaf_value"]].view(np.float64)
        if not self._problem.objective.keeps_gains:
            inner[there, -1:] = values[:, words["leaf_impurity"]].view(np.float64)
        return inner

    def _words(self, records, n_records, y, has_exact_weights):
        """What leaves keep whose draws lie one leaf after another: that of trees which end at their root."""
        draws = np.zeros(len(records), record("df_record"))
        draws["row"] = np.arange(len(records))
        for name, given in (("count", "count"), ("target", "class"), ("weight", "weight")):
            draws[name] = records[given]
        roots = rules.roots(n_records, np.zeros(len(n_records), np.uint32))
        exact_weight = None
        if has_exact_weights:
            roots["first_weight"], exact_weight = 0, np.ascontiguousarray(records["exact_weight"])
        codes = np.zeros(len(records), np.uint8)
        never_split = replace(
            self._problem, columns=(_CONSTANT._replace(codes=codes),), splitter=HistSplitter().configure(1),
            rules=GrowthRules(max_depth=0), monotonic_csts=np.zeros(1, np.int8), X=None, share=None,
        )  # fmt: skip
        return grow_given(never_split, [codes], draws, y, roots, 1, exact_weight).nodes.leaves


class SmoothedLeaves(TreeStep):
    """Draws what leaves predict towards what the nodes above them would predict: see `dforest.core.forest.smoothing`.

    Leaves keep their draws and weights. Where values of inner nodes do not follow from the leaves, those are smoothed too, and
    impurities remain what they were.

    Parameters
    ----------
    strength : float
        How many draws have half of the say; above 0.
    objective : Objective
        Of means: see `Problem`.
    criterion : str or Criterion
        As `Forest.criterion`.
    """

    lists_all_classes = True

    def __init__(self, strength, objective, criterion):
        self._strength, self._objective, self._criterion = strength, objective, criterion

    def apply(self, trees):
        """See `TreeStep`."""
        return [tree._replace(arrays=self._smoothed(tree.arrays)) for tree in trees]

    def _smoothed(self, arrays):
        objective, is_leaf = self._objective, arrays.feature < 0
        tree = Forest.view_of_trees(arrays, np.array([0, len(is_leaf)]), objective, criterion=self._criterion)
        is_poisson = objective.keeps_values and is_deviance(self._criterion)
        table = tree.node_table(0, keeps_impurities=objective.keeps_values)
        value, impurity = smoothed_nodes(tree.feature, tree.right_child, table, self._strength, is_poisson)
        shift, leaves = tree.leaf_shift, value[is_leaf]
        if objective.keeps_values:
            inner, follow = arrays.inner, len(arrays.inner) == 0
            words = objective.join_leaves(
                tree.leaf_draws, tree.leaf_weight, leaves, impurity[is_leaf] if follow else tree.leaf_impurity, shift
            )
            return arrays._replace(leaves=words, inner=inner if follow else np.column_stack([value[~is_leaf], inner[:, -1]]))
        total = objective.total_weight(tree.weights)
        weight, shift = weights_of_shares(leaves, total, objective.weight_columns, shift)
        if objective.lists_classes:
            words, entries = objective.list_leaves(tree.leaf_draws, ClassLists.of(weight), shift)
            return arrays._replace(leaves=words, entries=entries)
        return arrays._replace(leaves=objective.join_leaves(tree.leaf_draws, weight, None, None, shift))


class InTurn(TreeStep):
    """Several steps, one after another, of which all but the first take any number of trees at a time."""

    def __init__(self, *steps):
        self._steps, self.n_together = steps, steps[0].n_together
        self.lists_all_classes = any(step.lists_all_classes for step in steps)

    def apply(self, trees):
        """See `TreeStep`."""
        for step in self._steps:
            trees = step.apply(trees)
        return trees


def joined(trees):
    """Trees as one: the `TreeArrays` of some, one after another, and where the nodes of each begin, and those of the last end.

    Right children are counted in their own tree.
    """
    arrays = TreeArrays(*map(np.concatenate, zip(*trees, strict=True)))
    return arrays, np.cumsum([0, *(len(tree.feature) for tree in trees)])


def divided(arrays, offsets, has_payload):
    """Trees that were `joined`, one by one: list of TreeArrays."""
    is_leaf = arrays.feature < 0
    leaves, payloads = (np.append(0, np.cumsum(of))[offsets] for of in (is_leaf, has_payload))
    inner = offsets - leaves if len(arrays.inner) else np.zeros_like(offsets)
    words = np.append(0, np.cumsum(arrays.payload_lengths))[payloads]
    entries = np.append(0, np.cumsum(arrays.leaves[:, 1]))[leaves] if len(arrays.entries) else np.zeros_like(offsets)
    of_fields = offsets, offsets, offsets, offsets, leaves, inner, payloads, words, entries
    return [
        TreeArrays(*(array[ends[t] : ends[t + 1]] for array, ends in zip(arrays, of_fields, strict=True)))
        for t in range(len(offsets) - 1)
    ]


def _ends(arrays, offsets):
    """For each node, the number of the node that follows all that is below it: ndarray of int64."""
    right = arrays.right + np.repeat(offsets[:-1], np.diff(offsets))
    ends = np.arange(1, len(arrays.feature) + 1)
    for node in np.flatnonzero(arrays.feature >= 0)[::-1].tolist():  # children come after their parents
        ends[node] = ends[right[node]]
    return ends


def without_leaves(arrays, offsets, goes, has_payload):
    """Trees without some of their leaves, whose siblings take the place of their parents.

    Parameters
    ----------
    arrays, offsets : TreeArrays, ndarray of shape (n_trees + 1,)
        As of `joined`.
    goes : ndarray of shape (n_leaves,), dtype bool
        Which leaves go, none of which is a root. Where the sibling of one is a leaf that goes too, their parent becomes a leaf,
        which has what the left one had.
    has_payload : ndarray of shape (n_nodes,), dtype bool

    Returns
    -------
    arrays, offsets
        Of what is left of the trees.
    new : ndarray of shape (n_leaves,), dtype int64
        The number of each leaf among the leaves that there are now; -1 for a leaf that went alone.
    """
    n_nodes, first = len(arrays.feature), np.repeat(offsets[:-1], np.diff(offsets))
    is_leaf = arrays.feature < 0
    number = np.cumsum(is_leaf) - 1
    going = np.zeros(n_nodes, bool)
    going[is_leaf] = goes
    parent = np.flatnonzero(~is_leaf)
    left, right = parent + 1, arrays.right[parent] + first[parent]
    both, one = going[left] & going[right], going[left] ^ going[right]
    kept = ~going
    kept[parent[one]] = False
    ends = is_leaf & kept  # nodes that are leaves now
    ends[parent[both]] = True
    source = np.arange(n_nodes)  # whose leaf a node has
    source[parent[both]] = left[both]
    before, numbers = np.append(0, np.cumsum(kept)), np.cumsum(ends) - 1
    new = np.where(goes, -1, numbers[is_leaf])
    for side in (left, right):
        new[number[side[both]]] = numbers[parent[both]]
    made = ends[kept]
    # What follows a node that is gone stands where its other child stood.
    children = np.where(is_leaf, 0, arrays.right)[kept] + first[kept]
    right = np.where(made, 0, before[children] - before[first[kept]]).astype(arrays.right.dtype)
    taken = number[source[ends]]
    leaves, entries = arrays.leaves[taken], arrays.entries
    if len(entries):
        starts = np.append(0, np.cumsum(arrays.leaves[:, 1]))
        entries = np.concatenate([entries[starts[leaf] : starts[leaf + 1]] for leaf in taken.tolist()])
    arrays = remaining(arrays, kept, ends, has_payload)._replace(right=right, leaves=leaves, entries=entries)
    return arrays, before[offsets], new


_ROWS_TOGETHER = 1 << 16  # that are copied, to be sent down trees

_DRAWN = np.dtype(
    [("leaf", np.int64), ("number", np.int64), ("count", np.uint32), ("class", np.int32), ("weight", np.uint32),
     ("exact_weight", np.float64)]
)  # fmt: skip
_CONSTANT = CodedColumn(None, *(np.zeros(1),) * 3, has_missing=False, kind=0)
