"""How a problem's columns and statistics are laid out, for engines whose code is not compiled with dforest.

Such engines know columns as an array of `df_column` and one array of all columns' numbers, and criteria by their names.
"""

import numpy as np

from dforest.core.grow.label_order import places_of_ranks
from dforest.core.sampling import WithLabelOrder
from dforest.core.search.criteria import OF_KERNELS, name_of
from dforest.core.search.dense import DenseSplitter, RandomDenseSplitter
from dforest.core.search.heterogeneity import Heterogeneity
from dforest.core.search.splitter import HistSplitter, RandomHistSplitter
from dforest.engines.nodes import Nodes
from dforest.rules import arrays
from dforest.rules.records import constants, record

KEY_ENTRIES = 3  # of a histogram: see df_draft
SPLITTERS = HistSplitter, RandomHistSplitter, DenseSplitter, RandomDenseSplitter  # that such engines have code for


def has_kernels(problem):
    """Whether level-wise engines have code for the criterion and the splitter of a `Problem`."""
    splitter = problem.splitter
    return name_of(problem.criterion) in OF_KERNELS and type(splitter) in SPLITTERS and not splitter.has_preferences


def kernel_criterion(problem):
    """The criterion that kernels use: the problem's, or, if they lack it, one that has the same kind of targets.

    Without code for the criterion, kernels only draw rows and add up their weights, which is equal for all criteria.
    """
    if name_of(problem.criterion) in OF_KERNELS:
        return problem.criterion
    objective = problem.objective.of_same_targets
    name = next(name for name in OF_KERNELS if name in objective.criteria)
    return objective.make_criterion(name, problem.criterion.is_wide)


def table_of(columns):
    """What every kernel knows of columns: ndarray of shape (n_features,), dtype df_column."""
    table = np.zeros(len(columns), record("df_column"))
    table["n_codes"] = [len(column.values) for column in columns]
    table["has_missing"] = [column.has_missing for column in columns]
    table["kind"] = [int(column.kind) for column in columns]
    return table


class Layout:
    """That of one problem.

    Parameters
    ----------
    problem : Problem
        If it has no kernels (`has_kernels`), the layout is for the draws of trees and their weights, and not for histograms.

    Attributes
    ----------
    criterion : str
        The name of the one that kernels use.
    criterion_number : int
        That of records.h.
    objective : Objective
        The problem's.
    n_words : int
        Of a statistic.
    is_wide : bool
        Whether sums of targets have two words.
    effects : ndarray of shape (1,), dtype df_effect_rules, or None
        How trees tell rows apart by effects, if they do: see rules/effects.h.
    outputs : ndarray of shape (n_outputs,), dtype df_output, or None
        The words of several outputs; without scales, by which all targets are 0.
    n_leaf_words : int
        That a leaf keeps.
    is_random : bool
        Whether cuts are drawn.
    where : int
        Where thresholds are: see `dforest.rules.arrays.where_thresholds_are`.
    has_keys : bool
        Whether any column has keys for codes.
    has_medians : bool
        Whether cuts are scored by medians.
    keeps_inner : bool
        Whether nodes that are no leaves keep values too: see `Forest.inner`.
    n_missing_sides : int
        2 if any column has missing values, which may go left or right.
    max_entries : int
        Of the longest histogram.
    max_categories, subset_words : int
        The most categories that a feature has, and how many 64-bit words have a bit for each of them.
    n_label_orders, n_label_ranks : int
        Of a tree: how many orders of labels it has, and how many ranks of labels in all (`dforest.core.grow.label_order`); 0:
        nodes order them.
    table : ndarray of shape (n_features,), dtype df_column
    values, lows, highs : ndarray of float64
        Those of all columns one after another, and a 0.
    """

    def __init__(self, problem):
        columns, criterion = problem.columns, kernel_criterion(problem)
        self.criterion = name_of(criterion)
        self.effects = _effects_of(criterion)
        scores_by = self.criterion if self.effects is None else "squared_error"
        self.criterion_number = constants()[f"DF_{scores_by.upper()}"]
        self.objective = problem.objective
        self.n_words, self.is_wide = criterion.n_words, criterion.is_wide
        self.outputs = _outputs_of(criterion)
        self.n_leaf_words = self.objective.n_leaf_words
        self.is_random = isinstance(problem.splitter, RandomHistSplitter | RandomDenseSplitter)
        self.where = arrays.where_thresholds_are(self.is_random, isinstance(problem.splitter, DenseSplitter))
        self.has_keys = any(column.has_keys for column in columns)
        self.has_medians = self.criterion == "absolute_error"
        self.keeps_inner = not criterion.is_additive
        self.n_missing_sides = 1 + any(column.has_missing for column in columns)
        self.max_entries = max(KEY_ENTRIES if c.has_keys else len(c.values) + c.has_missing for c in columns)
        self.max_categories = max((len(c.values) for c in columns if int(c.kind) == constants()["DF_CATEGORICAL"]), default=0)
        self.subset_words = -(-self.max_categories // 64)
        self.table = table = table_of(columns)
        n_values = table["n_codes"].astype(np.int64)
        table["first"] = np.cumsum(n_values) - n_values
        table["key_bits"] = [8 * column.codes.dtype.itemsize if column.has_keys else 0 for column in columns]
        table["n_codes"][table["key_bits"] > 0] = KEY_ENTRIES - 1
        table["monotonic_cst"] = problem.monotonic_csts
        table["first_rank"], self.n_label_orders, self.n_label_ranks = -1, 1, 0
        if isinstance(problem.sampling, WithLabelOrder):
            places = places_of_ranks(table["kind"].tolist(), n_values.tolist(), problem.criterion.n_classes)
            table["first_rank"], self.n_label_orders, self.n_label_ranks = places
        self.bounds_fractions = self.objective.predicts_shares and self.objective.n_weights == 2 and problem.monotonic_csts.any()
        table["is_float32"] = [column.values.dtype == np.float32 for column in columns]
        # For leaves and missing values something has to be there, even if no column has a value.
        self.values, self.lows, self.highs = (
            np.append(np.concatenate([getattr(c, name) for c in columns], dtype=np.float64), 0.0)
            for name in ("values", "lows", "highs")
        )

    @property
    def n_outputs(self):
        """Outputs that are scored, or bound cuts."""
        return 1 if self.outputs is None else len(self.outputs)

    def with_words(self, feature):
        """Which nodes keep words, given the features they test: ndarray of int64."""
        return np.arange(len(feature)) if self.keeps_inner else np.flatnonzero(feature < 0)

    def thresholds(self, grown):
        """Where nodes cut, given as `df_grown`; kernels for devices tell the same of those that they grow."""
        return arrays.thresholds(grown, self.table, self.where, self.values, self.highs)

    def nodes_of(self, feature, thresholds, missing_left, subsets, words):
        """What becomes of nodes, as the splitters and growers of the processor write them.

        Parameters
        ----------
        feature : ndarray of shape (n_nodes,), dtype int32
            Below 0: a leaf.
        thresholds : ndarray of shape (n_nodes,), dtype float64
        missing_left : ndarray of shape (n_nodes,), dtype bool
        subsets : ndarray of shape (n_nodes, subset_words), dtype uint64
            Of nodes that test categories.
        words : ndarray of shape (n, n_leaf_words), dtype int64
            What the nodes `with_words` keep, as leaves do.

        Returns
        -------
        Nodes
        """
        subsets = subsets[np.isnan(thresholds)]
        # Words of 0 at the end of a subset are left out.
        is_kept = np.logical_or.accumulate((subsets != 0)[:, ::-1], axis=1)[:, ::-1]
        inner = np.empty((0, self.objective.n_node_values))
        if self.keeps_inner:
            inner = words[feature >= 0, -self.objective.n_node_values :].copy().view(np.float64)
            words = words[feature < 0]
        return Nodes(feature, thresholds, missing_left, words, inner, is_kept.sum(axis=1), subsets[is_kept])


def _outputs_of(criterion):
    """The words of each output of a criterion, `df_output`s; None: there is one."""
    if criterion.n_outputs == 1 and not isinstance(criterion, Heterogeneity):
        return None
    outputs = np.zeros(criterion.n_outputs, record("df_output"))
    outputs["n_words"] = [part.n_words - 2 for part in criterion.parts]
    outputs["first"] = 2 + np.cumsum(outputs["n_words"]) - outputs["n_words"]
    return outputs


def _effects_of(criterion):
    """The rules of effects of a criterion; None: it scores no effects."""
    if not isinstance(criterion, Heterogeneity):
        return None
    rules = np.zeros(1, record("df_effect_rules"))
    for name in rules.dtype.names:
        rules[name] = getattr(criterion, name)
    return rules
