"""All trees of a forest in flat arrays.

Tree t has the entries node_offsets[t] to node_offsets[t + 1] - 1 of every node array, in preorder. *Leaves* are rows of the leaf
tables; nodes whose leaves are equal share a row. All payloads of a forest are of one kind, words of 64 bits. If tests are a
splitter's own (`Forest.splitter`), each inner node has the words that its test needs. Otherwise each node that tests a
categorical feature has a *subset*, a bit for each category, and no other node has a payload. Payloads are in the order of nodes.

A `Forest` owns its arrays; the arrays and the forest itself are read-only. A forest cut out of another one shares that forest's
arrays. What reads a forest's arrays relies on them: a fit makes arrays that fit together, and the arrays of a caller or a pickle
are checked before a forest is made of them (`dforest.core.forest.state`).
"""
from functools import cache, cached_property
from itertools import pairwise
from operator import index

import numpy as np

from dforest.core.class_lists import ClassLists, weight_arrays
from dforest.core.forest.assembly import NO_ENTRIES, NODE_ARRAYS, Assembly, TreeArrays
from dforest.core.forest.class_table import class_table
from dforest.core.forest.node_table import gain_table, number_table, remaining_nodes, target_power
from dforest.core.forest.preorder import depths
from dforest.core.forest.row_table import RowTable, unique_rows
from dforest.core.forest.state import check_arrays, check_forest, check_form, check_length, check_settings, expand, shrink
from dforest.core.objective import check_objective
from dforest.core.predict.packed import PackedForest
from dforest.core.predict.packed_check import check_equal
from dforest.core.predict.predictor import Predictor

_OF_TREES = ("seeds", "n_rows", "plans", "weight_unit")
_SETTINGS = ("n_features", "objective", "n_categories", "criterion", "splitter", "seed", *_OF_TREES)

_TABLE_BYTES = 1 << 18         # of values that stay in a cache while trees use them in any order
_LINE = 8                      # values that fill a line of a cache


def names_of(objective):
    """The names of the arrays of nodes and leaves that a forest keeps."""
    weights = ("class_starts", "class_numbers", "class_weights") if objective.lists_classes else ("leaf_weight",)
    return ("node_offsets", *NODE_ARRAYS, "leaf_draws", *weights, "leaf_shift", "leaf_value", "leaf_impurity",
            *objective.line_tables, "inner", "payload_offsets", "payload_words")


def with_kept_weights(arrays, objective):
    """The arrays of a forest with the weights of leaves as the forest keeps them, given `leaf_weight`, or lists of classes."""
    weight = arrays.get("leaf_weight")
    if objective.lists_classes and weight is not None:
        check_form("leaf_weight", weight)
        check_length("each row of leaf_weight", weight.shape[1], objective.n_weights)
        others = {name: array for name, array in arrays.items() if name != "leaf_weight"}
        return others | weight_arrays(ClassLists.of(weight))
    return arrays


def unique_votes(votes):
    """The distinct rows of votes, a table or `ClassLists`, in order of first appearance; and which of them each row equals."""
    if not isinstance(votes, ClassLists):
        distinct, numbers = unique_rows(votes.view(np.int64))
        return distinct.view(np.float64), numbers
    table = RowTable(2, 1, True)
    rows = np.stack([np.zeros(len(votes), np.int64), votes.lengths], axis=1)
    numbers = table.add(rows, 0, np.stack([votes.classes, votes.values.view(np.int64)], axis=1))
    table.finalize(np.array([0, len(votes)]))
    _, starts, classes, numbers_of = table.release_lists()
    return ClassLists(starts, classes, numbers_of.view(np.float64), votes.n_classes), numbers


def remaining(tree, kept, ends, has_payload):
    """Some nodes of a tree, with what belongs to their tests.

    Parameters
    ----------
    tree : TreeArrays
    kept, ends, has_payload : ndarray of shape (n_nodes,), dtype bool
        Which nodes remain, which of these are leaves then, and which have a payload now.

    Returns
    -------
    TreeArrays
        With the right children and leaves that there were.
    """
    feature, threshold, missing_left = (array[kept] for array in (tree.feature, tree.threshold, tree.missing_left))
    is_end, stays = ends[kept], kept & ~ends
    feature[is_end], threshold[is_end], missing_left[is_end] = -1, 0, False
    inner = tree.inner[stays[tree.feature >= 0]] if len(tree.inner) else tree.inner
    lengths, words = tree.payload_lengths, tree.payload_words
    if len(lengths):
        own = stays[has_payload]
        words, lengths = words[np.repeat(own, lengths)], lengths[own]
    return tree._replace(feature=feature, threshold=threshold, missing_left=missing_left, inner=inner, payload_lengths=lengths,
                         payload_words=words)


class Forest:
    """All trees of a fitted forest, as flat arrays that describe nodes and leaves.

    It is the attribute `forest_` of fitted estimators. A forest does not change: attributes can't be set, and arrays can't be
    written to.

    The nodes of a tree are numbered from 0 in depth-first preorder, so the left child of a node has the next number. Arrays with
    an entry for each node have the nodes of tree t at the places node_offsets[t] to node_offsets[t + 1] - 1. Leaves are described
    in tables whose rows several equal leaves share. A *payload* is what a test needs beside a feature and a threshold: a set of
    categories, or the numbers of a splitter's own test. Nodes that have one come in the order of their numbers.

    Parameters
    ----------
    arrays : dict of ndarray
        The attributes below that describe nodes, leaves and payloads, by name; they are copied.
    n_rows, n_features, objective, n_categories, criterion, seed, seeds, plans, weight_unit, splitter
        The other attributes below; arrays among them are copied.

    Raises
    ------
    TypeError, ValueError
        If an array has another type or length than described below, or if the arrays don't describe trees.

    Attributes
    ----------
    node_offsets : ndarray of shape (n_trees + 1,), dtype int64
        Place of the first node of each tree in the arrays of nodes, and at the end the number of all nodes.
    feature : ndarray of shape (n_nodes,), dtype int32
        Number of the feature that each node tests; -1 for a leaf.
    threshold : ndarray of shape (n_nodes,), dtype float32 or float64
        Threshold of each node, in the precision of the training data: a row goes left if x <= threshold. NaN where the feature
        is categorical.
    link : ndarray of shape (n_nodes,), dtype uint32
        For a node that is not a leaf, the number of its right child (`right_child`); for a leaf, its row in the tables of leaves
        (`leaf_row`).
    missing_left : ndarray of shape (n_nodes,), dtype bool
        Whether a row whose value is missing goes left. For a categorical feature, whether a row whose category is not in the
        node's set goes left.
    payload_words : ndarray of shape (n_words,), dtype uint64
        Words of all payloads. In a set of categories, category c is a member if bit c % 64, counted from the lowest, of word
        c // 64 is 1; words of 0 at the end are left out. A splitter's own test is given them by its method `goes_left`.
    payload_offsets : ndarray of shape (n_payloads + 1,), dtype int64
        Payload i has the words from payload_offsets[i] up to payload_offsets[i + 1] - 1.
    leaf_draws : ndarray of shape (n_leaves,), dtype int64
        Number of draws that reach each leaf; a row that the tree drew twice counts twice.
    leaf_weight : ndarray of shape (n_leaves, n_classes) or (n_leaves, 1), dtype int64
        Integer weights of these draws, for classification by class, with the classes of several outputs side by side. Multiplied
        by the tree's `weight_unit`, and by 2.0**-leaf_shift if there is a `leaf_shift`, they are sample weights. Leaves of more
        than 64 classes (of an output, on average) keep lists of the classes that they have instead, and this array is made of
        the lists each time that it is asked for.
    class_starts : ndarray of shape (n_leaves + 1,), dtype int64
        With more than 64 classes, where the list of each leaf begins, and the last one ends.
    class_numbers : ndarray of shape (n_entries,), dtype int32
        With more than 64 classes, the columns of `leaf_weight` in which a leaf has a weight, ascending in each list.
    class_weights : ndarray of shape (n_entries,), dtype int64
        With more than 64 classes, these weights.
    leaf_shift : ndarray of shape (n_leaves,) or (0,), dtype int32
        Exponents of the weights of leaves. It is empty if all are 0, as they are unless sample weights are no multiples of a
        common unit.
    leaf_value : ndarray of shape (n_leaves,) or (n_leaves, n_outputs), dtype float64
        For regression, the number that each leaf predicts: the mean or median of its targets, kept within the bounds that
        constraints set. It is empty for classification. The second shape is that of several outputs.
    leaf_impurity : ndarray of shape (n_leaves,), dtype float64
        For regression, the impurity of each leaf. It is empty for classification, where it follows from `leaf_weight`.
    leaf_bounds : ndarray of shape (n_leaves, 2), dtype float64
        Of boosted trees with linear leaves alone, as the next three are: the least and the greatest of what each leaf adds.
    leaf_features : ndarray of shape (n_leaves, n_leaf_features), dtype int64
        The features of which each leaf adds a linear function; -1 after the last one.
    leaf_centers, leaf_slopes : ndarray of shape (n_leaves, n_leaf_features), dtype float64
        A row x adds `leaf_value` and the sum of ``slope * (x[feature] - center)``, kept between the bounds; or `leaf_value`
        alone, if one of these values is not finite.
    inner : ndarray of shape (n_inner, n_node_values), dtype float64
        For boosted trees, two numbers for each node that is not a leaf: what it would add as a leaf (0 where that is not known),
        and the gain of its split, which is twice what the split takes off the loss, to second order. For the criterion
        "absolute_error", the node's value and impurity. It is empty for other forests, where these follow from the leaves.
    seed : int
        Seed from which the seeds of further trees would follow; for a single tree, the tree's seed.
    seeds : ndarray of shape (n_trees,), dtype uint32
        Seed of each tree.
    plans : tuple of SamplingPlan
        Sampling plan of each tree. The plan, the tree's seed and its `n_rows` say which rows it drew (`row_counts`).
    weight_unit : ndarray of shape (n_trees,), dtype float64
        For each tree, the sample weight that an integer weight of 1 stands for.
    n_rows : ndarray of shape (n_trees,), dtype int64
        For each tree, the number of rows of positive weight that it drew from.
    n_features : int
        Number of features.
    objective : Objective
        What the trees were grown to predict: `ClassObjective`, `NumberObjective` or `SumObjective`, for example.
    n_categories : ndarray of shape (n_features,), dtype int32
        Number of categories of each feature; 0 for features that are not categorical.
    criterion : str or Criterion
        Criterion by which the trees were grown.
    splitter : Splitter or None
        Splitter whose own tests all nodes make; None if nodes test thresholds and categories.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(3, max_depth=1, random_state=0).fit(X, y).forest_
    >>> forest.n_trees, forest.node_offsets.tolist()
    (3, [0, 3, 6, 9])
    >>> (forest.feature < 0).tolist()  # which nodes are leaves
    [False, True, True, False, True, True, False, True, True]
    """

    def __init__(self, arrays, *, n_rows, n_features, objective, n_categories, criterion, seed, seeds, plans, weight_unit,
                 splitter=None):
        settings = {"n_rows": n_rows, "n_features": n_features, "objective": objective, "n_categories": n_categories,
                    "criterion": criterion, "splitter": splitter, "seed": seed, "seeds": seeds, "plans": plans,
                    "weight_unit": weight_unit}
        arrays = {"leaf_shift": np.zeros(0, np.int32), **arrays}
        check_objective(objective)
        arrays, names = with_kept_weights(arrays, objective), names_of(objective)
        missing = [name for name in names if name not in arrays]
        if missing:
            raise ValueError(f"arrays of a forest without {', '.join(missing)}")
        arrays = {name: arrays[name] for name in names}
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
            What returns the other arrays by name, made small as by `dforest.core.forest.state`. Its arrays are checked, and
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
                arrays = with_kept_weights(expand(small), settings["objective"])
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
        """An array that is elsewhere, as all are that are read when the first one is asked for; or `leaf_weight` of lists."""
        read, objective = self.__dict__.get("_read"), self.__dict__.get("objective")
        if name == "leaf_weight" and objective is not None and objective.lists_classes:
            weight = self.weights.dense()
            weight.setflags(write=False)
            return weight
        if read is None or name not in names_of(objective):
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
            plans = {}             # equal ones are one object, as in a forest that was grown at once
            settings["plans"] = tuple(plans.setdefault(plan, plan) for plan in before.plans + settings["plans"])
            for name in ("seeds", "n_rows", "weight_unit"):
                settings[name] = np.concatenate([getattr(before, name), settings[name]])
        return cls._of(assembly.release(settings["objective"], n_trees), settings)

    @classmethod
    def view_of_trees(cls, tree, offsets, objective, **settings):
        """A forest of trees that have not been put together: equal leaves are not kept once.

        Parameters
        ----------
        tree : TreeArrays
            Of one tree after another; lent as long as the forest is used.
        offsets : ndarray of shape (n_trees + 1,), dtype int64
            As `node_offsets`.
        objective : Objective
        **settings
            As of `assembled`.
        """
        feature = tree.feature
        is_leaf = feature < 0
        link = np.where(is_leaf, np.cumsum(is_leaf, dtype=np.uint32) - np.uint32(1), tree.right)
        words = {name: np.ascontiguousarray(tree.leaves[:, span]) for name, span in objective.leaf_words.items()}
        lists = None
        if objective.lists_classes:
            starts, (classes, weights) = np.append(0, np.cumsum(tree.leaves[:, 1])), tree.entries.T
            lists = ClassLists(starts, classes.astype(np.int32), weights, objective.n_weights)
        arrays = {
            "node_offsets": offsets, "feature": feature, "threshold": tree.threshold, "link": link,
            "missing_left": tree.missing_left, **objective.leaf_tables(words, lists), "inner": tree.inner,
            "payload_offsets": np.cumsum([0, *tree.payload_lengths]), "payload_words": tree.payload_words,
        }
        arrays = {name: np.ascontiguousarray(array).view() for name, array in arrays.items()}
        return cls._of(arrays, {**settings, "objective": objective})

    @property
    def weights(self):
        """The integer weights of leaves by class: the array `leaf_weight`, or `ClassLists` if the objective `lists_classes`."""
        if not self.objective.lists_classes:
            return self.leaf_weight
        return ClassLists(self.class_starts, self.class_numbers, self.class_weights, self.objective.n_weights)

    def _leaf_words(self):
        lines = [getattr(self, name) for name in self.objective.line_tables]
        return self.objective.join_leaves(self.leaf_draws, self.leaf_weight, self.leaf_value, self.leaf_impurity, self.leaf_shift,
                                          lines)

    def _as_tree(self, whole):
        """The one tree there is as `TreeArrays`, given all leaves as words, or None if the tree's own have to be found."""
        rows = self.leaf_row[self.feature < 0]
        if whole is not None:
            leaves, entries = whole[rows], NO_ENTRIES
        else:
            shift = self.leaf_shift[rows] if len(self.leaf_shift) else self.leaf_shift
            leaves, entries = self.objective.list_leaves(self.leaf_draws[rows], self.weights.take(rows), shift)
        return TreeArrays(*(getattr(self, name) for name in NODE_ARRAYS), leaves, self.inner, np.diff(self.payload_offsets),
                          self.payload_words, entries)

    def tree_reader(self):
        """A function that returns a tree, given its number, as `TreeArrays`."""
        words = None if self.objective.lists_classes else self._leaf_words()
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
        try:
            check_objective(settings["objective"])
            self._keep(with_kept_weights(expand(state["arrays"]), settings["objective"]), settings)
            check_forest(self)
        except (AttributeError, LookupError, ArithmeticError, RecursionError) as error:  # of parts that are something else
            raise ValueError(f"this is not the state of a forest: {type(error).__name__}: {error}") from error

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
        """Return the payload of a node, given its place in the arrays of nodes.

        Returns
        -------
        ndarray, dtype uint64, or None
            Words of the node's set of categories (`subset_of` returns the categories), or of the splitter's own test. None for a
            leaf, and for a node that tests a threshold.
        """
        i = np.searchsorted(self._payload_nodes, node)
        if i == len(self._payload_nodes) or self._payload_nodes[i] != node:
            return None
        return self.payload_words[self.payload_offsets[i] : self.payload_offsets[i + 1]]

    def subset_of(self, node):
        """Return the set of categories of a node, given its place in the arrays of nodes.

        Returns
        -------
        ndarray of int64, or None
            Numbers of the categories in ascending order; None if the node tests no categories.
        """
        words = None if self.splitter is not None else self.payload_of(node)
        return None if words is None else np.flatnonzero(np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little"))

    def tests_by_feature(self, t):
        """Return which features the nodes of tree `t` test, and how much of each test is about each of them.

        Returns
        -------
        node, feature : ndarray of shape (n,), dtype int64
            Number of a node that is not a leaf, and of a feature that it tests.
        share : ndarray of shape (n,), dtype float64
            Share of the test that is about the feature, above 0; the shares of a node sum to 1.
        """
        t = self._number(t)
        first = self.node_offsets[t]
        inner = np.flatnonzero(self.feature[first : self.node_offsets[t + 1]] >= 0)
        feature = self.feature[first + inner].astype(np.int64)
        if self.splitter is None:
            return inner, feature, np.ones(len(inner))
        used = [self.splitter.used_features(self.payload_of(first + node)) for node in inner]
        parts = [(node, *(given or ([own], [1.0]))) for node, own, given in zip(inner, feature, used, strict=True)]
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
        """The array `link`, to be read for nodes that are not leaves: the number of the right child of each node."""
        return self.link

    @property
    def leaf_row(self):
        """The array `link`, to be read for leaves: the row of each leaf in the tables of leaves."""
        return self.link

    @property
    def n_trees(self):
        return len(self.node_offsets) - 1

    @property
    def n_draws(self):
        """Draws in the leaves of each tree, counted anew at each call: ndarray of shape (n_trees,), dtype int64."""
        by_tree = zip(self.plans, self.n_rows, self.seeds, strict=True)
        n_draws = np.array([plan.filling().count_draws(int(n), int(seed)) for plan, n, seed in by_tree], np.int64)
        n_draws.setflags(write=False)
        return n_draws

    def row_counts(self, t):
        """Return how often each row counts in the leaves of tree `t`: ndarray of shape (n_rows[t],), dtype uint32.

        These are the tree's draws, or, of an honest tree, those that fill its leaves. Only rows of positive weight are counted,
        and have numbers here; the attribute `estimators_samples_` of estimators numbers all rows that `fit` was given. The draws
        are computed anew at each call, from the tree's sampling plan and its seed.
        """
        t = self._number(t)
        return self.plans[t].filling().counts(int(self.n_rows[t]), int(self.seeds[t]))

    def drawn_counts(self, t):
        """Return how often tree `t` drew each row, for splits or for leaves: ndarray of shape (n_rows[t],), dtype uint32."""
        t = self._number(t)
        return self.plans[t].drawn().counts(int(self.n_rows[t]), int(self.seeds[t]))

    def left_out(self, t):
        """Return which rows are out of bag of tree `t`: ndarray of shape (n_rows[t],), dtype bool.

        The tree has neither drawn them (`row_counts`) nor ordered labels by them. Rows have the numbers that `row_counts` has.
        """
        t = self._number(t)
        return self.plans[t].used().counts(int(self.n_rows[t]), int(self.seeds[t])) == 0

    @property
    def used_plans(self):
        """The plans by which rows of count 0 are out of bag, a tree each: tuple of `SamplingPlan`. See `left_out`."""
        used = {plan: plan.used() for plan in set(self.plans)}
        return tuple(used[plan] for plan in self.plans)

    def as_dict(self):
        """Return the arrays of nodes and leaves by name: a dict. Forests have equal trees if all arrays have equal bytes."""
        return {name: getattr(self, name) for name in names_of(self.objective)}

    def tree(self, t):
        """Return a forest of tree `t` alone, which shares the arrays of this one."""
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
        """Return a new forest in which some nodes have become leaves, and all that was below them is gone.

        Parameters
        ----------
        cut : ndarray of shape (n_nodes,), dtype bool
            Which nodes become leaves; nodes that are leaves already stay leaves.

        Returns
        -------
        Forest
            The new forest. What its new leaves hold follows from the leaves that were below them: see `node_table`.
        """
        if type(cut) is not np.ndarray or cut.dtype != np.bool_ or cut.shape != self.feature.shape:
            raise ValueError(f"cut must be an array of bool with the shape {self.feature.shape}")
        is_cut = [cut[a:b].any() for a, b in pairwise(self.node_offsets)]
        whole_tree = None if all(is_cut) else self.tree_reader()
        assembly = Assembly(self.threshold.dtype, self.n_trees, self.objective.n_node_values)
        for t in range(self.n_trees):
            assembly.add(t, self._cut_tree(t, cut[self.node_offsets[t] : self.node_offsets[t + 1]]) if is_cut[t]
                         else whole_tree(t))
        return Forest.assembled(assembly, **self.settings())

    def _cut_tree(self, t, cut):
        """A tree cut back, as `TreeArrays`."""
        tree = self.tree(t)
        kept, right = remaining_nodes(tree.feature, tree.right_child, cut)
        is_leaf = cut[kept] | (tree.feature[kept] < 0)
        table, shift = self._node_table(t)
        ends = kept[is_leaf]
        draws, weight, value, impurity = (part[ends] for part in table[:4])
        shift, entries = shift[ends] if len(shift) else shift, NO_ENTRIES
        if self.objective.lists_classes:
            leaves, entries = self.objective.list_leaves(draws, ClassLists.of(weight), shift)
        else:
            leaves = self.objective.join_leaves(draws, weight, value, impurity, shift)
        stays, is_end = (np.zeros(len(tree.feature), bool) for _ in range(2))
        stays[kept], is_end[ends] = True, True
        whole = TreeArrays(*(getattr(tree, name) for name in NODE_ARRAYS), leaves, tree.inner, np.diff(tree.payload_offsets),
                           tree.payload_words, entries)
        return remaining(whole, stays, is_end, tree._has_payload())._replace(right=right)

    def of_output(self, output):
        """This forest as it predicts one of the outputs alone; its impurities remain those of all outputs."""
        if self.objective.n_outputs == 1:
            return self
        if output not in self._of_outputs:
            arrays = self.as_dict()
            if not self.objective.keeps_values:
                for name in weight_arrays(self.weights):
                    del arrays[name]
                arrays |= weight_arrays(self._weights_of(output))
            else:
                arrays["leaf_value"] = np.ascontiguousarray(self.leaf_value[:, output])
                arrays["inner"] = np.ascontiguousarray(self.inner[:, [output, -1]])
            settings = {**self.settings(), "objective": self.objective.of_output(output)}
            self._of_outputs[output] = Forest._of(arrays, settings)
        return self._of_outputs[output]

    def _weights_of(self, output):
        """The weights of the classes of one output, as a forest of this output keeps them."""
        columns, is_listed = self.objective.outputs[output], self.objective.of_output(output).lists_classes
        if self.objective.lists_classes:
            own = self.weights.columns(columns)
            return own if is_listed else own.dense()
        own = np.ascontiguousarray(self.leaf_weight[:, columns])
        return ClassLists.of(own) if is_listed else own

    def leaf_class(self):
        """Return the class that each leaf votes for, or None: see `dforest.core.objective.Objective.leaf_class`."""
        return self.objective.leaf_class(self.weights)

    def leaf_votes(self, voting="soft"):
        """What each leaf adds to a prediction: ndarray of shape (n_leaves, n_values), dtype float64."""
        votes = self.votes(voting)
        return votes.dense() if isinstance(votes, ClassLists) else votes

    def votes(self, voting="soft"):
        """`leaf_votes`, but `ClassLists` if the objective `lists_classes`."""
        return self.objective.leaf_votes(self.weights, self.leaf_value, voting)

    def packed(self, voting="soft", n_threads=1):
        """The forest made ready to predict, built at the first call, on some threads: see `PackedForest`."""
        packed = self._packed.get(voting)
        if packed is None:
            packed = self._packed[voting] = PackedForest(self, *self.packed_values(voting), baseline=self._baseline(),
                                                         n_threads=n_threads, lines=self.lines())
        return packed

    def lines(self):
        """The linear functions of leaves as `PackedArrays.lines`; None if leaves are constants."""
        if not self.objective.line_tables:
            return None
        terms = np.stack([self.leaf_features, self.leaf_centers, self.leaf_slopes], axis=2)
        return np.hstack([self.leaf_bounds, terms.reshape(len(terms), -1)])

    def is_packed(self, voting="soft"):
        """Whether `packed` returns what was built before."""
        return voting in self._packed

    def _baseline(self):
        """The objective's baseline as an array; None if it has none."""
        return None if self.objective.baseline is None else np.array(self.objective.baseline)

    def added_values(self, voting="soft"):
        """The values that leaves add to a prediction, and which of them each leaf node does.

        Returns
        -------
        values : ndarray of shape (n_values, n_outputs), dtype float64
        rows : ndarray of shape (n_leaf_nodes,), dtype uint32
            Of the leaves in the order of the nodes.
        """
        values, rows = self.packed_values(voting)
        values = values.dense() if isinstance(values, ClassLists) else values
        leaf = self.leaf_row[self.feature < 0]
        return (values[leaf], np.arange(len(leaf), dtype=np.uint32)) if rows is None else (values, rows[leaf])

    def largest_added(self, values):
        """The largest magnitude of what leaves add to a prediction, given the values that they add as constants: a float."""
        return max(np.abs(values).max(), np.abs(self.leaf_bounds).max() if self.objective.line_tables else 0.0)

    def packed_values(self, voting="soft"):
        """The values that leaves add to a prediction, and which of them each row of the leaf tables adds: see `PackedForest`.

        Those of a tree lie close together, unless a leaf has so many that they fill lines of a cache by themselves.

        Returns
        -------
        values : ndarray of shape (n_values, n_outputs), dtype float64, or ClassLists
        rows : ndarray of shape (n_leaves,), dtype uint32, or None
        """
        votes = self.votes(voting)
        is_large = len(votes) * votes.shape[1] * 8 > _TABLE_BYTES
        fills_lines = self.objective.n_outputs > 1 and votes.shape[1] >= _LINE
        if not (is_large and fills_lines):
            if not self.objective.keeps_values:  # different weights may make the same shares
                return unique_votes(votes)
            if is_large and not self.objective.line_tables:
                return votes, None
        return votes, np.arange(len(votes), dtype=np.uint32)

    def predictor(self, voting="soft", n_threads=1, encoder=None):
        """Make an object that predicts fast, for serving.

        Parameters
        ----------
        voting : {"soft", "hard"}, default="soft"
            For classification, whether probabilities are means of the shares of the classes in leaves ("soft"), or shares
            of the trees that vote for a class ("hard").
        n_threads : int, default=1
            Largest number of threads; few rows get fewer.
        encoder : object, optional
            Its method `encode_rows` makes an array of rows that are none.

        Returns
        -------
        dforest.core.predict.predictor.Predictor
            The object, which shares the forest's arrays.
        """
        if voting not in ("soft", "hard"):
            raise ValueError(f'voting={voting!r}; allowed are "soft" and "hard"')
        columns = self.objective.outputs if self.objective.n_outputs > 1 else None
        return Predictor(self.packed(voting, n_threads), not self.objective.predicts_shares, n_threads, encoder, columns)

    def packed_leaves(self, voting="soft", n_threads=1):
        """`packed`, but with the rows of the leaf tables as values."""
        votes = self.votes(voting)
        return PackedForest(self, votes, np.arange(len(votes), dtype=np.uint32), n_threads=n_threads)

    def depths(self):
        """Return the depth of each node: ndarray of shape (n_nodes,), dtype int64. The depth of a root is 0."""
        return depths(self.feature, self.right_child, self.node_offsets)

    def target_exponent(self):
        """The power of two next above all that leaves predict: impurities of targets divided by it are in range."""
        value = self.leaf_value
        if len(value) > len(self.feature):       # of a whole forest that this is a tree of
            value = value[self.leaf_row[self.feature < 0]]
        return int(np.frexp(np.abs(value).max(initial=0.0))[1])

    def node_table(self, t, exponent=0, keeps_weights=True, keeps_impurities=True):
        """Return a table of the nodes of a tree, with their draws, weights, values and impurities.

        Parameters
        ----------
        t : int
            Number of the tree.
        exponent : int
            For regression, compute the table as if all targets had been divided by 2**exponent. It has no effect for boosted
            trees.
        keeps_weights : bool
            For classification, whether weights and values of all nodes are asked for. Without them, the table has those of the
            root alone, and no memory is needed for all nodes times all classes.
        keeps_impurities : bool
            For classification, whether impurities and decreases are asked for. Without them, they are 0.

        Returns
        -------
        dforest.core.forest.node_table.NodeTable
            The table, with the nodes in preorder.
        """
        table, shift = self._node_table(self._number(t), exponent, keeps_weights, keeps_impurities)
        return table._replace(weight=np.ldexp(table.weight, -shift[: len(table.weight), None])) if len(shift) else table

    @cached_property
    def _totals(self):
        """The integer weight of each leaf."""
        return self.objective.total_weight(self.weights)

    def _node_table(self, t, exponent=0, keeps_weights=True, keeps_impurities=True):
        """`node_table` with integer weights, and their shifts, none if all are 0; of classes, the root's alone on demand."""
        nodes = slice(self.node_offsets[t], self.node_offsets[t + 1])
        tree = self.feature[nodes], self.link[nodes], self.leaf_draws, self.weights
        if not self.objective.keeps_values:
            sets = np.array([0, *(own.stop for own in self.objective.weight_columns)])
            criterion = self.objective.make_criterion(self.criterion) if keeps_impurities else None
            return class_table(*tree, self._totals, self.leaf_shift, sets, criterion, keeps_weights)
        inner = self.inner
        if len(inner):
            inner = inner[self._inner_before[t] : self._inner_before[t + 1]]
        value = self.leaf_value.reshape(len(self.leaf_draws), -1)
        if self.objective.keeps_gains:
            return gain_table(*tree, self.leaf_shift, value, inner)
        return number_table(*tree, self.leaf_shift, value, self.leaf_impurity, inner, self.criterion, exponent)

    def impurity_decrease(self, relative=False):
        """Return the total impurity decrease that each feature brings in each tree.

        Parameters
        ----------
        relative : bool
            Whether to leave out a factor that all numbers have in common. With this factor, squares of large targets could
            leave the range of float64.

        Returns
        -------
        ndarray of shape (n_trees, n_features), dtype float64
            The sum of p(t) * (impurity decrease at t) over the nodes t that test the feature, where p(t) is the share of the
            tree's weight that reaches t [1]_. For boosted trees, the sum of gains divided by the number of the tree's rows.

        References
        ----------
        .. [1] G. Louppe, L. Wehenkel, A. Sutera, P. Geurts, "Understanding variable importances in
           forests of randomized trees", NeurIPS 2013, equation 2.
        """
        decrease = np.zeros((self.n_trees, self.n_features))
        exponent = 0 if self.objective.keeps_gains else self.target_exponent()
        for t in range(self.n_trees):
            node, feature, share = self.tests_by_feature(t)
            table = self.node_table(t, exponent, keeps_weights=False)
            decrease[t] = np.bincount(feature, table.decrease[node] * share, self.n_features)
            decrease[t] /= self.objective.total_weight(table.weight[:1])[0]
        if relative:
            return decrease
        with np.errstate(over="ignore"):
            return np.ldexp(decrease, target_power(self.criterion) * exponent)
