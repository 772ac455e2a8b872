"""The parameters of all estimators: one table of names, types, defaults, constraints and descriptions.

The order of the entries (`dforest.estimators.entries`) is that of signatures and docstrings; those of a group follow each other.
Families (`dforest.estimators.families`) say whose a parameter is.

`dforest.estimators.declaration` makes constructors, constraints and docstrings from the table. An estimator names there the
defaults in which it differs from the table.
"""

from dataclasses import replace
from inspect import cleandoc
from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, Options, RealNotInt, StrOptions

from dforest.core.search.criteria import CLASS_CRITERIA, NUMBER_CRITERIA, SURVIVAL_CRITERIA
from dforest.core.search.criterion import Criterion
from dforest.core.search.logrank import SurvivalCriterion
from dforest.core.search.projections import SCALINGS, WEIGHTS
from dforest.core.search.splitter import Splitter
from dforest.estimators.constraints import Names, SubclassOf
from dforest.estimators.entries import COLUMNS, COMPUTATION, ENSEMBLE, ESTIMATES, ROWS, SHAPE, SPLITS, Parameter
from dforest.estimators.families import (
    CLASSIFIERS,
    EMBEDDINGS,
    FORESTS,
    ISOLATION,
    PREDICTORS,
    REGRESSORS,
    SHAPED,
    SURVIVAL,
    TREES,
)
from dforest.estimators.randomness import ALLOWED
from dforest.sampling import BY_NAME, Sampling

MAX_TREES = 2**32 - 1  # their numbers have 32 bits
CHOOSING = FORESTS - SURVIVAL  # families that choose parameters out of bag


def _or_auto(entry, kind, tried):
    """The entries of a parameter that may be "auto" too in `CHOOSING`, given its type there, and which values are tried."""
    more = f'"auto" leaves the choice to `fit`, which tries {tried} by small forests, out of bag: see `selection_`.'
    doc = f"{cleandoc(entry.doc)}\n\n{more}"
    constraint = [StrOptions({"auto"}), *entry.constraint]
    return replace(entry, of=entry.of - CHOOSING), replace(
        entry, type=kind, constraint=constraint, doc=doc, of=entry.of & CHOOSING
    )


PARAMETERS = (
    Parameter(
        "n_estimators",
        "int",
        100,
        [Interval(Integral, 1, MAX_TREES, closed="both")],
        """Number of trees in the forest, from 1 to 2**32 - 1. More trees take time and memory in proportion, and don't
        overfit.""",
        of=FORESTS | EMBEDDINGS | ISOLATION,
        by_position=True,
        group=ENSEMBLE,
    ),
    Parameter(
        "voting",
        '{"soft", "hard"}',
        "soft",
        [StrOptions({"soft", "hard"})],
        """How the votes of trees are combined. "soft" takes the mean over trees of the shares of the classes in the leaves that
        a row reaches; "hard" counts one vote of each tree, for the class of the largest share in the leaf, of
        equal ones the first.""",
        of=FORESTS & CLASSIFIERS,
        group=ENSEMBLE,
    ),
    Parameter(
        "sparse_output",
        "bool",
        True,
        ["boolean"],
        """Whether `transform` returns a sparse matrix or, if False, an ndarray.""",
        of=EMBEDDINGS,
        group=ENSEMBLE,
    ),
    Parameter(
        "contamination",
        '"auto" or float',
        "auto",
        [StrOptions({"auto"}), Interval(Real, 0.0, 0.5, closed="right")],
        """Share of outliers among the training rows, above 0 and up to 0.5, which sets `offset_`, and so what `predict` calls an
        outlier. "auto" means that rows are outliers if their score is below -0.5, as in the original paper.""",
        of=ISOLATION,
        group=ENSEMBLE,
    ),
    Parameter(
        "criterion",
        '{"gini", "entropy", "log_loss", "hellinger"} or Criterion',
        "gini",
        [Names(*CLASS_CRITERIA), Criterion, SubclassOf(Criterion, "dforest.criterion")],
        """Measure of a node's impurity, which splits are chosen to decrease. "gini" is the Gini impurity, and "entropy" the
        Shannon entropy, of which "log_loss" is another name. "hellinger" is for two classes, and prefers splits whose sides
        differ most by the Hellinger distance, which does not depend on how rare a class is; the impurity of a node is then
        sqrt(p * (1 - p)), where p is the share of one class. A criterion of your own is an instance, or a subclass, of
        `dforest.criterion.Criterion`.""",
        of=CLASSIFIERS,
        group=SPLITS,
    ),
    Parameter(
        "criterion",
        '{"squared_error", "absolute_error", "poisson"} or Criterion',
        "squared_error",
        [
            Names(*NUMBER_CRITERIA, deprecated=["friedman_mse"]),
            Criterion,
            SubclassOf(Criterion, "dforest.criterion"),
        ],
        """Measure of a node's impurity, which splits are chosen to decrease. "squared_error" is the mean squared deviation
        from the mean. "absolute_error" is the mean absolute deviation from the median: leaves then predict medians.
        "poisson" is half the mean Poisson deviance, for targets from 0 on; no split may leave a side
        whose targets are all 0. A criterion of your own is an instance, or a subclass, of
        `dforest.criterion.Criterion`. "friedman_mse" is
        a deprecated name of "squared_error": Friedman's improvement of a split equals the decrease of the squared error.""",
        of=REGRESSORS,
        group=SPLITS,
    ),
    Parameter(
        "criterion",
        '{"logrank", "logrank_score"} or Criterion',
        "logrank",
        [Names(*SURVIVAL_CRITERIA), SurvivalCriterion, SubclassOf(SurvivalCriterion, "dforest.criterion")],
        """How the two sides of a split are compared; the split is taken whose sides differ most. "logrank" is the log-rank test
        of their survival; "logrank_score" compares the means of the log-rank scores of their rows, which is faster. Objects are
        `dforest.criterion.LogRank` and `dforest.criterion.LogRankScore`.""",
        of=SURVIVAL,
        group=SPLITS,
    ),
    Parameter(
        "splitter",
        '{"best", "random"} or Splitter',
        "best",
        [Names("best", "random"), Splitter, SubclassOf(Splitter, "dforest.splitter")],
        """How the threshold of a feature is chosen. "best" tries all thresholds that `method` allows, and takes the one that
        decreases the impurity most; "random" draws one, uniformly between the node's smallest and largest value. A splitter of
        your own is an instance, or a subclass, of `dforest.splitter.Splitter`.""",
        of=PREDICTORS,
        group=SPLITS,
    ),
    *_or_auto(
        Parameter(
            "max_features",
            'int, float, {"sqrt", "log2"} or None',
            None,
            [
                Interval(Integral, 1, None, closed="left"),
                Interval(RealNotInt, 0.0, 1.0, closed="right"),
                StrOptions({"sqrt", "log2"}),
                None,
            ],
            """Number of features that are drawn at random and tried at each node. An int is this number, or means all
            features if there are fewer; a float, above 0 and up to 1, is a share of all features; "sqrt" and "log2" are the
            square root and the base-2 logarithm of the number of all features. Results are rounded down, and are 1 at least. None
            means all features. Where none of the features tried has a valid split, further ones are tried until one has.""",
            of=PREDICTORS,
            group=SPLITS,
        ),
        'int, float, {"sqrt", "log2", "auto"} or None',
        "the square root of their number, half of them and all",
    ),
    Parameter(
        "max_features",
        "int or float",
        1.0,
        [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0.0, 1.0, closed="right")],
        """Number of features that each tree draws at random: it tests no others. An int is this number; a float, above 0 and up
        to 1, is a share of all features, rounded down to 1 at least. In other forests, by contrast, each node draws anew.""",
        of=ISOLATION,
        group=SPLITS,
    ),
    Parameter(
        "extension_level",
        "int",
        0,
        [Interval(Integral, 0, None, closed="left")],
        """How many features a split combines beside a first one, less than there are features. 0 means that splits are thresholds
        of single features. From 1 on they are hyperplanes of random directions, as in extended isolation forests.""",
        of=ISOLATION,
        group=SPLITS,
    ),
    Parameter(
        "skip_constant_features",
        "bool",
        True,
        ["boolean"],
        """Whether features that are constant in a node don't count among the `max_features` that are tried there. If True,
        all features tried have at least two values in the node, where a missing value counts as a value; if there are fewer of
        these than `max_features`, all of them are tried. If False, constant features count, as in scikit-learn.""",
        of=PREDICTORS,
        group=SPLITS,
    ),
    Parameter(
        "feature_weights",
        "array-like of shape (n_features,), dict or None",
        None,
        ["array-like", dict, None],
        """Weights of the features, from 0 on: the next feature to be tried at a node is drawn with a chance of its weight over
        the sum of the weights of those that have not been drawn there. Features of weight 0 are never drawn. A dict has the
        weights of some columns, by their names or numbers; the others have a weight of 1. None means equal chances.""",
        of=PREDICTORS,
        group=SPLITS,
    ),
    Parameter(
        "always_split_features",
        "array-like of int, str or bool, or None",
        None,
        ["array-like", None],
        """Features that are tried at every node, beside the `max_features` that are drawn from the others: numbers or names of
        columns, or a mask. None means that there are none.""",
        of=PREDICTORS,
        group=SPLITS,
    ),
    Parameter(
        "n_random_splits",
        "int",
        1,
        [Interval(Integral, 1, 2**31 - 1, closed="both")],
        """Number of thresholds that are drawn for each feature that is tried, with ``splitter="random"``; the best of them
        counts. Of a categorical feature, it is the number of random subsets.""",
        of=PREDICTORS,
        group=SPLITS,
    ),
    Parameter(
        "regularization_factor",
        "float, array-like of shape (n_features,) or dict",
        1.0,
        [Interval(Real, 0.0, 1.0, closed="right"), "array-like", dict],
        """What the gain of a split is multiplied by if no split above it uses its feature; the gain is the decrease of impurity,
        or the statistic of the log-rank test. A factor above 0 and below 1 keeps the number of different features on a path from
        the root to a leaf small. One number is that of all features; an array has one for each, and a dict those of some columns,
        by their names or numbers, where the others have a factor of 1. The product decides which feature a node is split by and
        which node `max_leaf_nodes` splits next, and is what `min_impurity_decrease` is compared with; importances are made of
        the decreases themselves. In ranger, by contrast, a feature is new until any split uses it, in this tree or an earlier
        one.""",
        of=PREDICTORS,
        group=SPLITS,
    ),
    Parameter(
        "regularization_use_depth",
        "bool",
        False,
        ["boolean"],
        """Whether `regularization_factor` is taken to the power of the node's depth, where that of the root is 1.""",
        of=PREDICTORS,
        group=SPLITS,
    ),
    Parameter(
        "split_axis",
        '{"axis_aligned", "oblique"}',
        "axis_aligned",
        [StrOptions({"axis_aligned", "oblique"})],
        """What the splits of trees compare with thresholds. "axis_aligned" means single features. "oblique" means weighted sums
        of a few features too, which are drawn at random at each node; categorical features are tested by themselves alone.
        The next five parameters say which sums are tried: see `dforest.splitter.ObliqueSplitter`.""",
        of=CLASSIFIERS | REGRESSORS,
        group=SPLITS,
    ),
    Parameter(
        "n_projections",
        "int, float or None",
        None,
        [Interval(Integral, 1, 2**31 - 1, closed="both"), Interval(RealNotInt, 0.0, 5.0, closed="right"), None],
        """Number of sums that are tried at a node with ``split_axis="oblique"``, beside single features. A float is an exponent
        of the number of features that are not categorical, and the result is rounded up. None means this number, by which all
        features are tried, whatever `max_features` says.""",
        of=CLASSIFIERS | REGRESSORS,
        group=SPLITS,
    ),
    Parameter(
        "projection_density",
        "float",
        2.0,
        [Interval(Real, 0.0, None, closed="neither")],
        """How many features a sum of ``split_axis="oblique"`` has on average, above 0; a sum with fewer than 2 has 2.""",
        of=CLASSIFIERS | REGRESSORS,
        group=SPLITS,
    ),
    Parameter(
        "projection_weights",
        '{"binary", "continuous", "integer", "power_of_two"}',
        "binary",
        [StrOptions(set(WEIGHTS))],
        """What the weights of features in a sum of ``split_axis="oblique"`` are drawn from: "binary" means -1 and 1, "continuous"
        the numbers from -1 to 1, "integer" the integers from -5 to 5 without 0, and "power_of_two" the powers of 2 from 1/8 to 8
        and their negatives.""",
        of=CLASSIFIERS | REGRESSORS,
        group=SPLITS,
    ),
    Parameter(
        "projection_scaling",
        '{"min_max", "standard"} or None',
        "min_max",
        [StrOptions({name for name in SCALINGS if name is not None}), None],
        """What features are divided by before they are added up by ``split_axis="oblique"``: "min_max" means the range of their
        finite values in the node, and "standard" their standard deviation there. None means that they are added up as they
        are.""",
        of=CLASSIFIERS | REGRESSORS,
        group=SPLITS,
    ),
    Parameter(
        "projections",
        "array-like or sparse matrix of shape (n, n_features)",
        None,
        ["array-like", "sparse matrix", None],
        """The sums that nodes may try with ``split_axis="oblique"``, in place of random ones: each row holds the weights of the
        features in one, which are taken as they are. Two at least are not 0; those of categorical features are. A node tries
        `n_projections` rows, drawn at random, and `max_features` features by themselves. `dforest.splitter.patch_projections`
        draws patches of images and windows of series. None means random sums.""",
        of=CLASSIFIERS | REGRESSORS,
        group=SPLITS,
    ),
    Parameter(
        "method",
        '{"hist", "dense"}',
        "hist",
        [StrOptions({"hist", "dense"})],
        """Which thresholds are possible. "hist" sorts the values of each feature into at most `max_bins` bins, and puts
        thresholds between bins, which is fast. "dense" puts them between any two values, which is exact, and slower for best
        splits; random splits of "dense" have thresholds anywhere between a node's smallest and largest value, and take about
        as long as those of "hist". Rows in one bin, which by default has about 0.4 % of all rows, can't be told apart by
        "hist": choose "dense", or more bins, where rare cases matter.""",
        group=SPLITS,
    ),
    Parameter(
        "max_bins",
        "int",
        256,
        [Interval(Integral, 2, 65535, closed="both")],
        """Largest number of bins of a feature for ``method="hist"``, from 2 to 65,535; the bin of missing values is one of
        them. ``method="dense"`` has no bins and ignores it.""",
        group=SPLITS,
    ),
    Parameter(
        "max_depth",
        "int or None",
        None,
        [Interval(Integral, 1, None, closed="left"), None],
        """Greatest depth of a tree: a node at this depth is a leaf. The root's depth is 0. None means no limit.""",
        of=SHAPED,
        group=SHAPE,
    ),
    Parameter(
        "max_leaf_nodes",
        "int or None",
        None,
        [Interval(Integral, 2, None, closed="left"), Options(Integral, {0}), None],
        """Largest number of leaves of a tree. If it is given, nodes are split in the order of their impurity decrease, best
        first. None or 0 means no limit.""",
        of=SHAPED,
        group=SHAPE,
    ),
    Parameter(
        "min_samples_split",
        "int or float",
        2,
        [Interval(Integral, 2, None, closed="left"), Interval(RealNotInt, 0.0, 1.0, closed="right")],
        """Least number of {draws} in a node that is split: a node with fewer is a leaf.
        {note}A float, above 0 and up to 1, is a share of {all_draws}, rounded up.""",
        of=SHAPED,
        group=SHAPE,
    ),
    *_or_auto(
        Parameter(
            "min_samples_leaf",
            "int or float",
            1,
            [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0.0, 1.0, closed="neither")],
            """Least number of {draws} on each side of a split, and so in each leaf, unless the tree has fewer: it is a leaf then.
            {note}A float, above 0 and below 1, is a share of {all_draws}, rounded up.""",
            of=SHAPED,
            group=SHAPE,
        ),
        'int, float or "auto"',
        "1 and 3",
    ),
    Parameter(
        "min_weight_fraction_leaf",
        "float",
        0.0,
        [Interval(Real, 0.0, 0.5, closed="both")],
        """Least share of the total weight of {all_draws} on each side of a split, from 0 to 0.5.""",
        of=SHAPED,
        group=SHAPE,
    ),
    Parameter(
        "impurity_threshold",
        "float",
        0.0,
        [Interval(Real, 0.0, None, closed="left")],
        """Impurity below which a node is not split but becomes a leaf; 0 means no limit.""",
        of=PREDICTORS - SURVIVAL,
        group=SHAPE,
    ),
    Parameter(
        "min_impurity_decrease",
        "float",
        0.0,
        [Interval(Real, 0.0, None, closed="left")],
        """Least decrease of {impurity} for which a node is split. The decrease is multiplied by the node's share of the total
        weight before it is compared with this limit; 0 means no limit.""",
        of=SHAPED - SURVIVAL,
        group=SHAPE,
    ),
    Parameter(
        "ccp_alpha",
        "float",
        0.0,
        [Interval(Real, 0.0, None, closed="left")],
        """Price of a leaf in minimal cost-complexity pruning, in the unit of the impurity; 0 means no pruning. Each new tree is
        cut back once it is grown, to the smallest of its subtrees for which impurity + ccp_alpha * number of leaves is
        least.""",
        of=PREDICTORS - SURVIVAL,
        group=SHAPE,
    ),
    *_or_auto(
        Parameter(
            "leaf_smoothing",
            "float",
            0.0,
            [Interval(Real, 0.0, None, closed="left")],
            """How far the predictions of leaves are drawn towards those of the nodes above them, once a tree is grown
            (hierarchical shrinkage): a number of {draws}. On the way from the root to a leaf, each step from a node of n {draws}
            to its child changes the prediction by n / (n + leaf_smoothing) of the difference between what their own {draws} say,
            which are means, medians, or shares of classes. So half of the difference counts where a node has leaf_smoothing
            {draws}. 0 means that leaves predict what their own {draws} say. `ccp_alpha` prunes, and importances are made of, the
            impurities of the smoothed tree.""",
            of=PREDICTORS - SURVIVAL,
            group=SHAPE,
        ),
        'float or "auto"',
        "0, 1, 3, 10, 30 and 100",
    ),
    Parameter(
        "bootstrap",
        'bool, {"auto", "subsample", "stratified", "balanced", "weighted", "group"} or Sampling',
        True,
        ["boolean", StrOptions({"auto", *BY_NAME}), Sampling],
        """Which rows each tree is grown on. True draws rows with replacement, and False takes every row once. "auto" takes every
        row once unless something else needs trees that leave rows out, and is True then: columns of many labels (see
        `categorical_split`), `max_samples`, `oob_score`, `calibration`, or a `variable_importance` out of bag. "subsample" draws
        without replacement. "stratified" draws from each class in proportion to its rows, and "balanced" draws equally often
        from each class, as often as the smallest class has rows. "weighted" draws rows with chances in proportion to their
        weights, and the weights then have no other effect. "group" draws whole groups of rows, which `fit` takes as `groups`.
        For further settings, or blocks of consecutive rows, pass an object of a class of `dforest.sampling`, such as
        `BlockSampling`.""",
        of=FORESTS,
        group=ROWS,
    ),
    Parameter(
        "max_samples",
        "int, float or None",
        None,
        [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0.0, None, closed="neither"), None],
        """Number of draws of each tree. An int is this number, and a float is a share of the rows of positive weight, rounded;
        if rows are drawn with replacement, it may be above 1. None means as many draws as there are such rows, or 63.2 % of them
        if rows are drawn without replacement; three quarters as many draws if trees order labels: see `categorical_split`. Where
        groups or blocks of rows are drawn, these are counted instead of rows.
        With ``bootstrap=False`` it must be None.""",
        of=FORESTS,
        group=ROWS,
    ),
    Parameter(
        "honest",
        "bool",
        False,
        ["boolean"],
        """Whether trees are honest: the rows that a tree draws are parted at random in two halves, and one half chooses the
        splits while the other fills the leaves. What a leaf predicts is then not chosen to fit its own rows, so that it has no
        bias from the choice of splits; the price is that either is done with fewer rows. Limits on nodes
        count the rows that choose splits. `min_samples_leaf` holds for the other half as well: a leaf that fewer of its rows
        reach goes, and its sibling takes the place of their parent. A tree that draws a single row has it in both halves. Rows
        of either half are not out of bag.""",
        of=PREDICTORS,
        group=ROWS,
    ),
    Parameter(
        "honest_fraction",
        "float",
        0.5,
        [Interval(Real, 0.0, 1.0, closed="neither")],
        """Share of the rows of an honest tree that choose its splits. Of groups of rows it is the share of the groups.""",
        of=PREDICTORS,
        group=ROWS,
    ),
    Parameter(
        "ci_group_size",
        "int",
        1,
        [Interval(Integral, 1, MAX_TREES, closed="both")],
        """Number of trees in a *little bag*. The trees of a bag share a random half of the rows, from which each of them draws
        its own rows without replacement; how much bags differ tells how sure predictions are: see
        ``predict_interval(method="little_bags")``. This needs ``bootstrap="subsample"``, or groups that are drawn without
        replacement. ``max_samples=None`` then means half of the rows, and more are refused. With 1, there are no bags.""",
        of=FORESTS & REGRESSORS,
        group=ROWS,
    ),
    Parameter(
        "bootstrap",
        'bool, "weighted" or Sampling',
        False,
        ["boolean", StrOptions({"weighted"}), Sampling],
        """Whether each tree draws its rows with replacement. "weighted" draws them with replacement too, with chances in
        proportion to their weights, as is always done where rows differ in weight. Other ways are objects of a class of
        `dforest.sampling`, for which weights change nothing.""",
        of=ISOLATION,
        group=ROWS,
    ),
    Parameter(
        "max_samples",
        'int, float or "auto"',
        "auto",
        [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0.0, 1.0, closed="right")],
        """Number of draws of each tree: 256, or as many as there are rows if these are fewer, if "auto". An int is this number,
        but for a warning no more than there are rows. A float, above 0 and up to 1, is a share of the rows of positive weight,
        rounded down to 1 at least. No leaf is deeper than the base-2 logarithm of this number, rounded up.""",
        of=ISOLATION,
        group=ROWS,
    ),
    Parameter(
        "class_weight",
        'dict, list of dict, {"balanced", "balanced_subsample"} or None',
        None,
        [dict, list, StrOptions({"balanced", "balanced_subsample"}), None],
        """Factors by which the weights of rows are multiplied, by class. A dict maps classes to factors; the factor of a class
        that it leaves out is 1, and if it leaves out none, it may name classes that no row has. "balanced" gives each class
        the factor total weight / (n_classes * weight of the class), where weights are
        sums over the training rows; "balanced_subsample" uses the same formula for each tree, with sums over the tree's draws.
        None means 1 for all classes. For several outputs, a list has a dict for each, and the factors of all outputs are
        multiplied.""",
        of=FORESTS & CLASSIFIERS,
        group=ROWS,
    ),
    Parameter(
        "class_weight",
        'dict, list of dict, "balanced" or None',
        None,
        [dict, list, StrOptions({"balanced"}), None],
        """Factors by which the weights of rows are multiplied, by class. A dict maps classes to factors; the factor of a class
        that it leaves out is 1, and if it leaves out none, it may name classes that no row has. "balanced" gives each class
        the factor total weight / (n_classes * weight of the class). None means 1 for all classes.
        For several outputs, a list has a dict for each, and the factors of all outputs are multiplied.""",
        of=TREES & CLASSIFIERS,
        group=ROWS,
    ),
    Parameter(
        "categorical_features",
        '{"auto", "from_dtype"}, array-like or None',
        "from_dtype",
        ["array-like", StrOptions({"auto", "from_dtype"}), None],
        """Columns whose values are labels without an order ("categories"), given as a mask, as indices or as names of columns;
        None means none. "from_dtype" means the columns that have a categorical type of pandas, polars or pyarrow, except for
        ordered ones that `ordinal_features` takes. "auto" means these, and all columns of text and of booleans, which include
        those of Python's objects that hold any. Labels are strings, numbers or booleans; 1 and 1.0 are one label. A node
        sends a row to one side if the row's label is in a set.

        With two classes, or the squared error, a best split is the best of all ways to part the categories in two. With more
        classes, categories are sorted by the share of the node's largest class, and the best split in this order is taken,
        which is a heuristic. Missing values, labels that did not occur in training, and categories that did not occur in the
        node all go to the same side. A column may have up to 65,535 categories, which are not binned.""",
        group=COLUMNS,
    ),
    Parameter(
        "ordinal_features",
        '"from_dtype", array-like or None',
        "from_dtype",
        ["array-like", StrOptions({"from_dtype"}), None],
        """Columns whose values have an order but no distances, given as a mask, as indices or as names of columns; None means
        none. "from_dtype" means the columns of an ordered categorical type (pandas' ordered categories, polars' Enum,
        pyarrow's ordered dictionaries) that `categorical_features` does not name; their order is the declared one.
        A node tests whether a level is at most one of the levels that occur in the column. Text of a type without an order is
        refused; a level that the type of the training column did not declare is taken as missing.""",
        group=COLUMNS,
    ),
    Parameter(
        "categorical_split",
        '{"auto", "subset", "one_hot", "order"}',
        "auto",
        [StrOptions({"auto", "subset", "one_hot", "order"})],
        """How a node parts the categories of a column: "subset" parts any number of them from the others, in the order of their
        mean targets in the node, and "one_hot" a single one from the others. "order" is for columns of many labels, more than
        30, whose means in a node say little of other rows: each tree orders the labels of such a column once, by shrunk means of
        rows that it does not draw, and its nodes look for cuts in this order. Two of three rows that a tree does not draw order
        labels, and the others are out of bag; so "order" needs trees that leave rows out, one output, and a criterion of mean
        targets or of survival times, which have log-rank scores in place of targets. With
        ``bootstrap=True`` and ``max_samples=None``, trees then draw three quarters as many rows. Other columns are parted as by
        "subset". "auto" is "order" where that is possible, and else "subset".""",
        group=COLUMNS,
    ),
    Parameter(
        "monotonic_cst",
        "array-like of int of shape (n_features,), dict or None",
        None,
        ["array-like", dict, None],
        """Monotonicity constraints: how predictions may change as a feature rises and all others stay fixed. 1 means that they
        may only rise, -1 that they may only fall, and 0 that there is no constraint. A dict maps names of columns to these
        numbers. For classification there must be two classes, and the prediction is the probability of the second one.
        Categorical features can't be constrained. Constrained splits bound the predictions of all nodes below them, to which
        those of leaves are clipped.""",
        of=PREDICTORS - SURVIVAL,
        group=COLUMNS,
    ),
    Parameter(
        "oob_score",
        "bool, str or callable",
        False,
        ["boolean", str, callable],
        """Whether to estimate the forest's error out of bag: each row is predicted by the trees that never drew it, and the
        attributes ``oob_*`` and `n_never_oob_` are set. The name of a scorer, such as "roc_auc" or "neg_log_loss" (see
        ``sklearn.metrics.get_scorer_names``), or a callable replaces accuracy or R2 in `oob_score_`: a callable is called with
        true and predicted values. Metrics of probabilities, such as ``sklearn.metrics.roc_auc_score`` and ``log_loss``, are
        called with probabilities, and so are scorers that
        ``sklearn.metrics.make_scorer`` makes with ``response_method="predict_proba"``. Of two classes, those scores of
        scikit-learn that have a `pos_label` look at the class 1, or, if there is no such class, at ``classes_[1]``.""",
        of=FORESTS - SURVIVAL,
        group=ESTIMATES,
    ),
    Parameter(
        "calibration",
        '{"oob"} or None',
        None,
        [StrOptions({"oob"}), None],
        """How probabilities are calibrated. "oob" finds, after the trees are grown, the temperature with which the log loss of
        the out-of-bag predictions is least, in which rows count by their weights and those of their classes, and applies it to
        all probabilities: see `calibration_`. `predict` returns the classes that it returns without. It needs trees that leave
        rows out, and a y of one column. None means that probabilities are the shares that the trees vote for.""",
        of=FORESTS & CLASSIFIERS,
        group=ESTIMATES,
    ),
    Parameter(
        "variable_importance",
        '{"mdi", "mda_raw", "mda_scaled"} or None',
        None,
        [StrOptions({"mdi", "mda_raw", "mda_scaled"}), None],
        """Importance of features that `fit` is to compute as `variable_importance_`. "mdi" (mean decrease in impurity) is the
        mean over trees of the impurity decrease that a feature brings; `feature_importances_` is like it, but scaled to sum to
        1, first in each tree and then in the mean. "mda_raw" (mean decrease in accuracy) is the mean over trees of the rise of
        the error, on the rows that a tree left out, when the feature is permuted; "mda_scaled" is "mda_raw" divided by its
        standard error. None means that none is computed.""",
        of=FORESTS - SURVIVAL,
        group=ESTIMATES,
    ),
    Parameter(
        "oob_score",
        'bool or {"harrell", "uno", "neg_integrated_brier_score"}',
        False,
        ["boolean", StrOptions({"harrell", "uno", "neg_integrated_brier_score"})],
        """Whether to score the forest out of bag: each row is predicted by the trees that never drew it, and the attributes
        ``oob_*`` and `n_never_oob_` are set. True and "harrell" mean Harrell's concordance index, as of `score`. "uno"
        means Uno's, in which a pair of rows is weighted by 1 / G(t)**2, with t the time of its row with the event, and G the
        Kaplan-Meier estimate of the probability not to be censored. "neg_integrated_brier_score" means the Brier score of
        survival functions, integrated over the event times before the last time, with the sign changed. It takes time in
        proportion to rows times event times.""",
        of=FORESTS & SURVIVAL,
        group=ESTIMATES,
    ),
    Parameter(
        "variable_importance",
        '{"mdi", "mda_raw", "mda_scaled"} or None',
        None,
        [StrOptions({"mdi", "mda_raw", "mda_scaled"}), None],
        """Importance of features that `fit` is to compute as `variable_importance_`. "mdi" is the mean over trees of the sum of
        the statistics of the splits by a feature, divided by the weight of the tree's draws. "mda_raw" is the mean over trees of
        the fall of the concordance, on the rows that a tree left out, when the feature is permuted; "mda_scaled" is "mda_raw"
        divided by its standard error. None means that none is computed.""",
        of=FORESTS & SURVIVAL,
        group=ESTIMATES,
    ),
    Parameter(
        "keep_training_data",
        "bool",
        False,
        ["boolean"],
        """Whether the forest keeps copies of the training rows, which the methods `forest_weights`, `proximity`,
        `outlier_scores` and, in regression, `predict_quantiles` and `predict_interval` need. The copies are pickled with the
        forest. If several processes fit the forest, each of them gets the rows of all.""",
        of=FORESTS - SURVIVAL,
        group=ESTIMATES,
    ),
    Parameter(
        "random_state",
        "int, RandomState, Generator or None",
        None,
        ALLOWED,
        """Seed of the tree's random numbers, which decide in which order features are tried, which of equally good splits is
        taken, and random thresholds. An int gives an equal tree in each fit to the same data; None, a RandomState or a Generator
        of NumPy gives another one in each fit.""",
        of=TREES,
        group=COMPUTATION,
    ),
    Parameter(
        "random_state",
        "int, RandomState, Generator or None",
        None,
        ALLOWED,
        """Seed of the forest's random numbers. An int gives an equal forest in each fit to the same data, whatever `n_jobs`
        is; None gives another one in each fit. A RandomState or a Generator of NumPy is drawn from at each
        fit, so that a second fit with it gives another forest.""",
        of=FORESTS | EMBEDDINGS | ISOLATION,
        group=COMPUTATION,
    ),
    Parameter(
        "n_jobs",
        "int or None",
        None,
        [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
        """Number of threads for fitting and predicting, as in joblib: None means 1, or what ``joblib.parallel_config`` says;
        -1 means all cores that the process may use, and -2 all but one. If `n_jobs` is None or negative, the thread count is
        capped by the OpenMP limit, so nested parallelism doesn't oversubscribe cores: joblib sets that limit in its worker
        processes, and ``threadpoolctl.threadpool_limits`` or ``OMP_NUM_THREADS`` set it anywhere. The forest does not depend
        on `n_jobs`. Idle threads help to grow trees that others have begun, and data of few rows get fewer threads. All calls
        in a process share one set of threads, so calls at the same time don't multiply them; where the system grants fewer
        threads, fewer do the work.""",
        of=FORESTS | EMBEDDINGS | ISOLATION,
        group=COMPUTATION,
    ),
    Parameter(
        "device",
        "str or None",
        None,
        [str, None],
        """Where trees are grown and predictions are made. "cpu" is the processor; "cuda" or "cuda:1", say, is one of NVIDIA's
        GPUs; "gpu", "sycl" (SYCL's default device) or a filter string such as "level_zero:gpu:1" is a SYCL device. All give
        results equal to the processor's to the bit; `dforest.devices` lists what there is. None means the device that holds X,
        if X is an array on a device, such as one of CuPy, PyTorch, JAX or dpnp; else the device of
        ``dforest.config_context(queue=...)``; else the processor. Where trees are grown on a device, importances by impurity
        and pruning run on the processor.""",
        group=COMPUTATION,
    ),
    Parameter(
        "warm_start",
        "bool",
        False,
        ["boolean"],
        """Whether `fit` keeps the trees of earlier calls and adds more, up to `n_estimators` in all; if False, it grows all
        trees anew. `n_estimators` must not be less than the number of trees there are, and changed parameters or data affect
        new trees only. A call that adds no trees leaves out-of-bag estimates, if there are any, as they are.""",
        of=FORESTS | EMBEDDINGS | ISOLATION,
        group=COMPUTATION,
    ),
    Parameter(
        "verbose",
        "int",
        0,
        ["verbose"],
        """How much is printed on the error stream while trees are grown. 0 prints nothing. 1 shows how many trees there are,
        how much time is left and, with ``oob_score=True``, the out-of-bag error: in one line that is updated in a terminal,
        and elsewhere in a new line after every tenth of the trees. 2 prints a line for every tree.""",
        of=FORESTS | EMBEDDINGS | ISOLATION,
        group=COMPUTATION,
    ),
)
