"""All trees of a forest in flat arrays.

Words: *nodes* of a tree are numbered in preorder from 0, a left child is its parent's number + 1;
tree t has the entries node_offsets[t] to node_offsets[t + 1] of every node array. *Leaves* are rows
of the leaf tables; nodes whose leaves are equal share a row. A *payload* is what a test needs beside a
feature and a threshold, as words of 64 bits. All payloads of a forest are of one kind: in one whose tests
are a splitter's own (`Forest.splitter`), each inner node has the numbers that its test needs; in any other,
each node that tests a categorical feature has a *subset*, a bit for each category, and no other node has a
payload. Payloads come in the order of their nodes.

A `Forest` owns its arrays, which are read-only, as it is itself; a forest cut out of another one shares
them. What reads them relies on that: a fit makes arrays that fit together, and those of a caller or a
pickle are checked before a forest is made of them (`dforest.core.forest.check`).
"""
from functools import cache, cached_property
from operator import index

from libc.stdint cimport int32_t, int64_t, uint32_t

import numpy as np

from dforest.core.forest.assembly import NODE_ARRAYS, Assembly, TreeArrays
from dforest.core.forest.compact import expand, shrink
from dforest.core.forest.check import check_arrays, check_forest, check_settings
from dforest.core.forest.node_table import class_table, gain_table, number_table, target_power
from dforest.core.forest.pruning import remaining_nodes
from dforest.core.forest.row_table import unique_rows
from dforest.core.predict.packed import PackedForest
from dforest.core.predict.packed_check import check_equal
from dforest.core.predict.predictor import Predictor

_OF_TREES = ("seeds", "n_rows", "plans", "weight_exponent")
_SETTINGS = ("n_features", "objective", "n_categories", "criterion", "splitter", "seed", *_OF_TREES)

_TABLE_BYTES = 1 << 18         # of values that stay in a cache while trees use them in any order
_LINE = 8                      # values that fill a line of a cache


class Forest:
    """The trees of a forest, for good: attributes can't be set, and arrays can't be written to.

    Parameters
    ----------
    arrays : dict of ndarray
        By name, those of the attributes below that are of nodes, leaves and payloads; copied.
    n_rows, n_features, objective, n_categories, criterion, seed, seeds, plans, weight_exponent, splitter
        The other attributes; arrays among them are copied.

    Raises
    ------
    TypeError, ValueError
        If an array has another type or length than below, or they are not those of trees: see `check_forest`.

    Attributes
    ----------
    node_offsets : ndarray of shape (n_trees + 1,), dtype int64
    feature : ndarray of shape (n_nodes,), dtype int32
        The feature a node tests; -1: a leaf.
    threshold : ndarray of shape (n_nodes,), dtype float32 or float64
        A row goes left if x <= threshold. In the precision of the training data. NaN where the
        feature is categorical.
    link : ndarray of shape (n_nodes,), dtype uint32
        Where an inner node leads, its right child, or a leaf, its row in the leaf tables: `right_child` and `leaf_row`.
    missing_left : ndarray of shape (n_nodes,), dtype bool
        Where a row goes whose value is missing. Categorical features: where a row goes whose
        category is not in the node's subset.
    payload_words : ndarray of shape (n_words,), dtype uint64
        Of all payloads. Of subsets: category c is in a subset if its word c // 64, from the first, has the bit
        c % 64, counted from the lowest; words of 0 at the end are left out. Of a splitter's own tests: what its
        `goes_left` takes.
    payload_offsets : ndarray of shape (n_payloads + 1,), dtype int64
        Payload i has the words payload_offsets[i] to payload_offsets[i + 1].
    leaf_draws : ndarray of shape (n_leaves,), dtype int64
        Draws of the bootstrap that reached the leaf.
    leaf_weight : ndarray of shape (n_leaves, n_classes) or (n_leaves, 1), dtype int64
        Their integer weights, by class if the objective has classes, and those of several outputs side by side; times
        2**-weight_exponent of the tree they are sample weights.
    leaf_value : ndarray of shape (n_leaves,), or (n_leaves, n_outputs) of several outputs, dtype float64
        Regression: what the leaf predicts, the mean or median of its targets, kept to the bounds that
        constraints set; empty for classification.
    leaf_impurity : ndarray of shape (n_leaves,), dtype float64
        Regression: the impurity; empty for classification, where it follows from `leaf_weight`.
    inner : ndarray of shape (n_inner, n_judged), dtype float64
        Of each node that is no leaf, in their order: if the objective keeps gains, what it would add as a leaf (0 where that
        is not known) and the gain of its split, twice what that takes off the loss to second order; of the criterion
        absolute_error, its value and impurity. Else these follow from the leaves, and this is empty.
    seed : int
        What the seeds of further trees would follow from: a forest's, or that of a tree alone.
    seeds : ndarray of shape (n_trees,), dtype uint32
        Of each tree's random streams.
    plans : tuple of SamplingPlan
        Of each tree: with its seed and `n_rows`, which rows it drew (`row_counts`).
    weight_exponent : ndarray of shape (n_trees,), dtype int64
    n_rows : ndarray of shape (n_trees,), dtype int64
        Rows of positive weight that each tree drew from.
    n_features : int
    objective : Objective
        What trees were grown to predict: see `dforest.core.objective`.
    n_categories : ndarray of shape (n_features,), dtype int32
        0 for features that are not categorical.
    criterion : str or Criterion
    splitter : Splitter or None
        Whose own tests all tests are; None: they are of numbers and categories.
    """

    _NAMES = ("node_offsets", *NODE_ARRAYS, "leaf_draws", "leaf_weight", "leaf_value", "leaf_impurity", "inner",
              "payload_offsets", "payload_words")

    def __init__(self, arrays, *, n_rows, n_features, objective, n_categories, criterion, seed, seeds, plans, weight_exponent,
                 splitter=None):
        settings = {"n_rows": n_rows, "n_features": n_features, "objective": objective, "n_categories": n_categories,
                    "criterion": criterion, "splitter": splitter, "seed": seed, "seeds": seeds, "plans": plans,
                    "weight_exponent": weight_exponent}
        missing = [name for name in self._NAMES if name not in arrays]
        if missing:
            raise ValueError(f"arrays of a forest without {', '.join(missing)}")
        arrays = {name: arrays[name] for name in self._NAMES}
        for known in (arrays, settings):
            known.update((name, value.copy()) for name, value in known.items() if isinstance(value, np.ndarray))
        self._keep(arrays, settings)
        check_forest(self)

    def _keep(self, arrays, settings):
        """Take arrays and settings as they are, and close them to writing."""
        attributes = {**arrays, **settings}
        for value in attributes.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(attributes, _packed={}, _of_outputs={})

    @classmethod
    def _of(cls, arrays, settings):
        """A forest of what is known to fit together, not copied."""
        forest = cls.__new__(cls)
        forest._keep(arrays, settings)
        return forest

    @classmethod
    def stored(cls, node_offsets, settings, read, error, voting=None, packed=None, n_threads=1):
        """A forest whose nodes and leaves are elsewhere, in a file say, until something asks for them.

        Predictions don't: they go by the packed trees, if these are handed in.

        Parameters
        ----------
        node_offsets : ndarray of shape (n_trees + 1,), dtype int64
        settings : dict
            As `settings` returns them.
        read : callable
            What returns the other arrays by name, made small as by `dforest.core.forest.compact`. Its arrays are checked, and
            must be those that the packed trees were made of.
        error : callable
            What makes the exception that is raised if they are not, given a message.
        voting : {"soft", "hard"}, optional
        packed : PackedArrays, optional
            The trees packed for this voting. None: all arrays are read and checked now.
        n_threads : int
            How many threads may check the packed trees.

        Raises
        ------
        TypeError, ValueError
            If settings or packed trees are not those of a forest.
        """
        def read_arrays():
            small = {**read(), "node_offsets": node_offsets}
            try:
                arrays = expand(small)
                whole = cls._of(arrays, settings)
                check_arrays(whole)
                if packed is not None:
                    check_equal(whole.packed(voting).arrays(), packed)
            except (TypeError, ValueError) as wrong:
                raise error(str(wrong)) from wrong
            return arrays

        if settings.keys() != set(_SETTINGS):
            raise ValueError(f"the settings of a forest must be a dict of {', '.join(sorted(_SETTINGS))}")
        if packed is None:
            check_settings(cls._of({"node_offsets": node_offsets}, settings))
            return cls._of(read_arrays(), settings)
        forest = cls._of({"node_offsets": node_offsets}, settings)
        check_settings(forest)
        read_once = cache(read_arrays)

        def read_nodes():
            arrays = read_once()
            return arrays["feature"], arrays["link"], node_offsets

        forest.__dict__["_read"] = read_once
        forest._packed[voting] = PackedForest(forest, packed.values, None, baseline=forest._baseline(), stored=packed,
                                              read_nodes=read_nodes, n_threads=n_threads)
        return forest

    def __getattr__(self, name):
        """One of the arrays that are elsewhere: all of them are read when the first one is asked for."""
        read = self.__dict__.get("_read")
        if read is None or name not in self._NAMES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__.update(read())
        return self.__dict__[name]

    def __setattr__(self, name, value):
        raise AttributeError(f"{name} can't be set: a forest does not change")

    def __delattr__(self, name):
        raise AttributeError(f"{name} can't be deleted: a forest does not change")

    @classmethod
    def assembled(cls, assembly, before=None, n_new=None, **settings):
        """The forest of trees that have been put together.

        Parameters
        ----------
        assembly : Assembly
            Of all its trees; it ends.
        before : Forest, optional
            Whose trees came first.
        n_new : int, optional
            How many trees are wanted beside these; None: all that have come.
        **settings
            The attributes that are no arrays of nodes or leaves, of the other trees.
        """
        n_trees = None if n_new is None else n_new + (0 if before is None else before.n_trees)
        if before is not None:
            for name in _OF_TREES:
                parts = getattr(before, name), settings[name]
                settings[name] = sum(parts, ()) if name == "plans" else np.concatenate(parts)
        return cls._of(assembly.release(settings["objective"], n_trees), settings)

    @classmethod
    def lent(cls, tree, objective, **settings):
        """A forest of one tree that has not been put together with others: equal leaves are not kept once.

        Parameters
        ----------
        tree : TreeArrays
            Lent as long as the forest is used.
        objective : Objective
        **settings
            As of `assembled`.
        """
        feature = tree.feature
        is_leaf = feature < 0
        link = np.where(is_leaf, np.cumsum(is_leaf, dtype=np.uint32) - np.uint32(1), tree.right)
        words = {name: np.ascontiguousarray(tree.leaves[:, span]) for name, span in objective.leaf_words.items()}
        arrays = {
            "node_offsets": np.array([0, len(feature)]), "feature": feature, "threshold": tree.threshold, "link": link,
            "missing_left": tree.missing_left, **objective.leaf_tables(words), "inner": tree.inner,
            "payload_offsets": np.cumsum([0, *tree.payload_lengths]), "payload_words": tree.payload_words,
        }
        arrays = {name: np.ascontiguousarray(array).view() for name, array in arrays.items()}
        return cls._of(arrays, {**settings, "objective": objective})

    def _leaf_words(self):
        return self.objective.join_leaves(self.leaf_draws, self.leaf_weight, self.leaf_value, self.leaf_impurity)

    def _as_tree(self, words):
        """The one tree there is as `TreeArrays`, given the leaf tables as words."""
        return TreeArrays(*(getattr(self, name) for name in NODE_ARRAYS), words[self.leaf_row[self.feature < 0]], self.inner,
                          np.diff(self.payload_offsets), self.payload_words)

    def tree_reader(self):
        """A function that returns a tree, given its number, as `TreeArrays`."""
        words = self._leaf_words()
        return lambda t: self.tree(t)._as_tree(words)

    def __getstate__(self):
        return {**self.settings(), "arrays": shrink(self.as_dict())}

    def __setstate__(self, state):
        """Take what `__getstate__` gave; raises TypeError or ValueError if it is something else."""
        names = {*_SETTINGS, "arrays"}
        if not isinstance(state, dict) or state.keys() != names:
            raise ValueError(f"the state of a forest must be a dict of {', '.join(sorted(names))}")
        settings = {name: state[name] for name in _SETTINGS}
        settings.update((name, np.array(value, value.dtype.newbyteorder("="))) for name, value in settings.items()
                        if isinstance(value, np.ndarray))
        self._keep(expand(state["arrays"]), settings)
        check_forest(self)

    def _has_payload(self):
        """Which nodes have a payload: a subset, or the splitter's own test."""
        return (self.feature >= 0) & ((self.n_categories[self.feature] > 0) | (self.splitter is not None))

    @cached_property
    def _payload_nodes(self):
        """The nodes that have payloads."""
        return np.flatnonzero(self._has_payload())

    @cached_property
    def _payloads_before(self):
        """How many payloads there are before each tree."""
        return np.searchsorted(self._payload_nodes, self.node_offsets)

    @cached_property
    def _inner_before(self):
        return np.searchsorted(np.flatnonzero(self.feature >= 0), self.node_offsets)

    def payload_of(self, node):
        """The payload of a node, given its place in the node arrays.

        Returns
        -------
        ndarray, dtype uint64, or None
            The words of its subset (`subset_of` tells the categories), or of the splitter's own test. None for a leaf, and
            for a test of a feature by a threshold.
        """
        i = np.searchsorted(self._payload_nodes, node)
        if i == len(self._payload_nodes) or self._payload_nodes[i] != node:
            return None
        return self.payload_words[self.payload_offsets[i] : self.payload_offsets[i + 1]]

    def subset_of(self, node):
        """The categories in the subset of a node, given its place in the node arrays.

        Returns
        -------
        ndarray of int64, or None
            Ascending numbers of categories; None if the node has no subset.
        """
        words = None if self.splitter is not None else self.payload_of(node)
        return None if words is None else np.flatnonzero(np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little"))

    def tests_by_feature(self, t):
        """Which features the inner nodes of a tree test, and how much of each test is about them.

        Returns
        -------
        node, feature : ndarray of shape (n,), dtype int64
        share : ndarray of shape (n,), dtype float64
            Above 0; of sum 1 over the features of a node.
        """
        t = self._number(t)
        first = self.node_offsets[t]
        inner = np.flatnonzero(self.feature[first : self.node_offsets[t + 1]] >= 0)
        feature = self.feature[first + inner].astype(np.int64)
        if self.splitter is None:
            return inner, feature, np.ones(len(inner))
        used = [self.splitter.used_features(self.payload_of(first + node)) for node in inner]
        parts = [(node, *(given or ([own], [1.0]))) for node, own, given in zip(inner, feature, used)]
        return (
            np.repeat(inner, [len(features) for _, features, _ in parts]),
            np.concatenate([np.empty(0, np.int64), *(features for _, features, _ in parts)]).astype(np.int64),
            np.concatenate([np.empty(0), *(shares for _, _, shares in parts)]),
        )

    def _number(self, t):
        """The number of a tree as an int; raises IndexError if there is no such tree."""
        if not 0 <= index(t) < self.n_trees:
            raise IndexError(f"tree {t} of a forest of {self.n_trees}; allowed are 0 to {self.n_trees - 1}")
        return index(t)

    @property
    def right_child(self):
        """`link`, where it is read of inner nodes: the number of each one's right child, as the left one's is its own + 1."""
        return self.link

    @property
    def leaf_row(self):
        """`link`, where it is read of leaves: each one's row in the leaf tables."""
        return self.link

    @property
    def n_trees(self):
        return len(self.node_offsets) - 1

    @property
    def n_draws(self):
        """Draws of each tree, counted anew at each call: ndarray of shape (n_trees,), dtype int64."""
        n_draws = np.array([plan.count_draws(int(n), int(seed)) for plan, n, seed in zip(self.plans, self.n_rows, self.seeds)],
                           np.int64)
        n_draws.setflags(write=False)
        return n_draws

    def row_counts(self, t):
        """How often tree t drew each of the rows that it drew from: ndarray of shape (n_rows[t],), dtype uint32.

        Drawn again at each call, by the tree's sampling plan and its seed.
        """
        t = self._number(t)
        return self.plans[t].counts(int(self.n_rows[t]), int(self.seeds[t]))

    def as_dict(self):
        """The arrays of nodes and leaves, by name. Forests are equal if all of these have the same bytes."""
        return {name: getattr(self, name) for name in self._NAMES}

    def tree(self, t):
        """A forest of tree t alone; it shares the arrays of this one."""
        t = self._number(t)
        first, last = self.node_offsets[t], self.node_offsets[t + 1]
        arrays = self.as_dict()
        for name in NODE_ARRAYS:
            arrays[name] = arrays[name][first:last]
        arrays["node_offsets"] = np.array([0, last - first])
        if len(self.payload_offsets) > 1:
            begin, end = self._payloads_before[t], self._payloads_before[t + 1]
            ends = self.payload_offsets[begin : end + 1]
            arrays["payload_offsets"] = ends - ends[0]
            arrays["payload_words"] = self.payload_words[ends[0] : ends[end - begin]]
        if len(self.inner):
            arrays["inner"] = self.inner[self._inner_before[t] : self._inner_before[t + 1]]
        return Forest._of(arrays, {**self.settings(slice(t, t + 1)), "objective": self.objective.of_tree})

    def settings(self, trees=slice(None)):
        """What is no array of nodes or leaves, of some trees: dict of attributes."""
        return {name: getattr(self, name)[trees] if name in _OF_TREES else getattr(self, name) for name in _SETTINGS}

    def cut_back(self, cut):
        """The forest in which some inner nodes have become leaves, and what was below them is gone.

        Parameters
        ----------
        cut : ndarray of shape (n_nodes,), dtype bool
            Which nodes; leaves stay leaves, and nodes below another one don't matter.

        Returns
        -------
        Forest
            What its new leaves hold follows from the leaves that were below them: see `node_table`.
        """
        if type(cut) is not np.ndarray or cut.dtype != np.bool_ or cut.shape != self.feature.shape:
            raise ValueError(f"cut must be an array of bool with the shape {self.feature.shape}")
        is_cut = [cut[a:b].any() for a, b in zip(self.node_offsets, self.node_offsets[1:])]
        whole_tree = None if all(is_cut) else self.tree_reader()
        assembly = Assembly(self.threshold.dtype, self.n_trees, self.objective.n_judged)
        for t in range(self.n_trees):
            assembly.add(t, self._cut_tree(t, cut[self.node_offsets[t] : self.node_offsets[t + 1]]) if is_cut[t]
                         else whole_tree(t))
        return Forest.assembled(assembly, **self.settings())

    def _cut_tree(self, t, cut):
        """A tree cut back, as `TreeArrays`."""
        tree = self.tree(t)
        kept, right = remaining_nodes(tree.feature, tree.right_child, cut)
        is_leaf = cut[kept] | (tree.feature[kept] < 0)
        # Arrays of nodes as far as these are kept; what belongs to a test goes with it.
        feature, threshold, missing_left = (getattr(tree, name)[kept] for name in ("feature", "threshold", "missing_left"))
        feature[is_leaf] = -1
        threshold[is_leaf] = 0.0
        missing_left[is_leaf] = False
        leaves = self.objective.join_leaves(*(part[kept[is_leaf]] for part in self.node_table(t)[:4]))
        inner, lengths, words = tree.inner, np.diff(tree.payload_offsets), tree.payload_words
        is_inner = np.zeros(len(tree.feature), bool)
        is_inner[kept[~is_leaf]] = True
        if len(inner):
            inner = inner[is_inner[tree.feature >= 0]]
        if len(lengths):
            stays = is_inner[tree._has_payload()]
            words = words[np.repeat(stays, lengths)]
            lengths = lengths[stays]
        return TreeArrays(feature, threshold, right, missing_left, leaves, inner, lengths, words)

    def of_output(self, output):
        """This forest as it predicts one of the outputs alone; its impurities remain those of all outputs."""
        if self.objective.n_outputs == 1:
            return self
        if output not in self._of_outputs:
            arrays = self.as_dict()
            if self.objective.has_classes:
                arrays["leaf_weight"] = np.ascontiguousarray(self.leaf_weight[:, self.objective.outputs[output]])
            else:
                arrays["leaf_value"] = np.ascontiguousarray(self.leaf_value[:, output])
                arrays["inner"] = np.ascontiguousarray(self.inner[:, [output, -1]])
            settings = {**self.settings(), "objective": self.objective.of_output(output)}
            self._of_outputs[output] = Forest._of(arrays, settings)
        return self._of_outputs[output]

    def leaf_class(self):
        """The class of most weight in each leaf, of equals the lower one: ndarray of shape (n_leaves,), dtype int32."""
        return self.leaf_weight.argmax(axis=1).astype(np.int32)

    def leaf_votes(self, voting="soft"):
        """What each leaf adds to a prediction: ndarray of shape (n_leaves, n_values), dtype float64."""
        return self.objective.leaf_votes(self.leaf_weight, self.leaf_value, voting)

    def packed(self, voting="soft"):
        """The forest made ready to predict, built at the first call: see `PackedForest`."""
        packed = self._packed.get(voting)
        if packed is None:
            packed = self._packed[voting] = PackedForest(self, *self.added_values(voting), baseline=self._baseline())
        return packed

    def _baseline(self):
        """The objective's baseline as an array; None if it has none."""
        return None if self.objective.baseline is None else np.array(self.objective.baseline)

    def added_values(self, voting="soft"):
        """The values that leaves add to a prediction, and which of them each leaf node does.

        Those of a tree lie close together, unless a leaf has so many that they fill lines of a cache by themselves.

        Returns
        -------
        values : ndarray of shape (n_values, n_outputs), dtype float64
        rows : ndarray of shape (n_leaf_nodes,), dtype uint32
            Of the leaves in the order of the nodes.
        """
        votes = self.leaf_votes(voting)
        leaf = self.leaf_row[self.feature < 0]
        is_large = votes.nbytes > _TABLE_BYTES
        if is_large and self.objective.n_outputs > 1 and votes.shape[1] >= _LINE:
            return votes, leaf
        if self.objective.has_classes:  # different weights may make the same shares
            distinct, numbers = unique_rows(votes.view(np.int64))
            return distinct.view(np.float64), numbers[leaf]
        if is_large:
            return votes[leaf], np.arange(len(leaf), dtype=np.uint32)
        return votes, leaf

    def predictor(self, voting="soft", n_threads=1):
        """An object that predicts, for serving.

        Parameters
        ----------
        voting : {"soft", "hard"}, default="soft"
            For classification: shares of the leaves, or of the trees' votes.
        n_threads : int, default=1
            Where rows are many enough for more than one.

        Returns
        -------
        Predictor
            See `dforest.core.predict.predictor.Predictor`.
        """
        if voting not in ("soft", "hard"):
            raise ValueError(f'voting={voting!r}; allowed are "soft" and "hard"')
        if self.objective.n_outputs > 1:
            raise ValueError(f"a predictor is for one output, and this forest has {self.objective.n_outputs}; `of_output` gives "
                             "the forest of one")
        return Predictor(self.packed(voting), not self.objective.has_classes, n_threads)

    def packed_leaves(self, voting="soft"):
        """`packed`, but with the rows of the leaf tables as values."""
        return PackedForest(self, self.leaf_votes(voting), self.leaf_row[self.feature < 0])

    def depths(self):
        """Depth of every node, ndarray of shape (n_nodes,), dtype int64; a root's is 0."""
        depth = np.zeros(len(self.feature), np.int64)
        cdef int64_t[::1] to = depth
        cdef const int32_t[::1] feature = self.feature
        cdef const uint32_t[::1] right_child = self.right_child
        cdef const int64_t[::1] offsets = self.node_offsets
        cdef Py_ssize_t t, i
        for t in range(offsets.shape[0] - 1):
            for i in range(offsets[t], offsets[t + 1]):
                if feature[i] >= 0:
                    to[i + 1] = to[i] + 1
                    to[offsets[t] + right_child[i]] = to[i] + 1
        return depth

    def target_exponent(self):
        """The power of two next above all that leaves predict: impurities of targets divided by it are in range."""
        value = self.leaf_value
        if len(value) > len(self.feature):       # of a whole forest that this is a tree of
            value = value[self.leaf_row[self.feature < 0]]
        return int(np.frexp(np.abs(value).max(initial=0.0))[1])

    def node_table(self, t, exponent=0):
        """What holds for each node of a tree.

        Parameters
        ----------
        t : int
            The tree.
        exponent : int
            Regression: as if all targets had been divided by 2**exponent. It has no effect where the objective keeps gains.

        Returns
        -------
        NodeTable
            See `dforest.core.forest.node_table.NodeTable`.
        """
        t = self._number(t)
        nodes = slice(self.node_offsets[t], self.node_offsets[t + 1])
        tree = self.feature[nodes], self.link[nodes], self.leaf_draws, self.leaf_weight
        if self.objective.has_classes:
            total = self.objective.total_weight(self.leaf_weight)
            return class_table(*tree, total, self.objective.make_criterion(self.criterion))
        inner = self.inner
        if len(inner):
            inner = inner[self._inner_before[t] : self._inner_before[t + 1]]
        if self.objective.keeps_gains:
            return gain_table(*tree, self.leaf_value, inner)
        value = self.leaf_value.reshape(len(self.leaf_draws), -1)
        return number_table(*tree, value, self.leaf_impurity, inner, self.criterion, exponent)

    def impurity_decrease(self, relative=False):
        """Total impurity decrease of each feature in each tree.

        Parameters
        ----------
        relative : bool
            Leave out a common factor, for which squares of targets could leave float64's range.

        Returns
        -------
        ndarray of shape (n_trees, n_features), dtype float64
            The sum of p(t) * (impurity decrease at t) over the nodes t that test the feature, where
            p(t) is the share of the tree's weight that reaches t [1]_. If the objective keeps gains, the sum of these
            divided by the tree's rows.

        References
        ----------
        .. [1] G. Louppe, L. Wehenkel, A. Sutera, P. Geurts, "Understanding variable importances in
           forests of randomized trees", NeurIPS 2013, equation 2.
        """
        decrease = np.zeros((self.n_trees, self.n_features))
        exponent = 0 if self.objective.keeps_gains else self.target_exponent()
        for t in range(self.n_trees):
            node, feature, share = self.tests_by_feature(t)
            table = self.node_table(t, exponent)
            decrease[t] = np.bincount(feature, table.decrease[node] * share, self.n_features)
            decrease[t] /= self.objective.total_weight(table.weight[:1])[0]
        if relative:
            return decrease
        with np.errstate(over="ignore"):
            return np.ldexp(decrease, target_power(self.criterion) * exponent)
