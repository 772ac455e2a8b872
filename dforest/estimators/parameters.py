"""The parameters of all estimators: one table of names, types, defaults, constraints and descriptions.

Words:

- *family*: what an estimator is, as far as its parameters tell: a forest, a single tree or boosted trees, a classifier or a
  regressor, or an embedding. Sets of families say whose a parameter is.
- *entry*: a `Parameter`, a row of the table `PARAMETERS`. The order of the entries is that of signatures and docstrings.

`dforest.estimators.declaration` makes constructors, constraints and docstrings from the table. An estimator names there the
defaults in which it differs from the table.
"""

from dataclasses import dataclass
from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, Options, RealNotInt, StrOptions

from dforest.core.search.criteria import CLASS_CRITERIA, NUMBER_CRITERIA
from dforest.core.search.criterion import Criterion
from dforest.core.search.splitter import Splitter
from dforest.estimators.constraints import Names, SubclassOf
from dforest.sampling import BY_NAME, Sampling

TREES = frozenset({"tree classifier", "tree regressor"})
FORESTS = frozenset({"forest classifier", "forest regressor"})
EMBEDDINGS = frozenset({"embedding"})
CLASSIFIERS = frozenset({"tree classifier", "forest classifier"})
REGRESSORS = frozenset({"tree regressor", "forest regressor"})
BOOSTING = frozenset({"boosting classifier", "boosting regressor"})
PREDICTORS = TREES | FORESTS
IN_TABLE = PREDICTORS | EMBEDDINGS  # families whose parameters are listed here; others have tables of their own
FAMILIES = IN_TABLE | BOOSTING

# What stands in descriptions for {draws}, {all_draws} and {impurity}.
_OF_ROWS = {"draws": "rows", "all_draws": "the training rows", "impurity": "the impurity"}
_OF_DRAWS = {"draws": "draws", "all_draws": "the tree's draws", "impurity": "the impurity"}
WORDS = {
    **dict.fromkeys(TREES, _OF_ROWS),
    **dict.fromkeys(FORESTS, _OF_DRAWS),
    **dict.fromkeys(EMBEDDINGS, {**_OF_ROWS, "impurity": "the variance of the random targets"}),
    **dict.fromkeys(BOOSTING, {}),
}


@dataclass(frozen=True)
class Parameter:
    """A parameter of the constructors of some estimators.

    Parameters
    ----------
    name : str
    type : str
        What values are allowed, as docstrings say it, without the default.
    default : object
        None, or a number, bool or str: nothing that can change.
    constraint : list
        What values are allowed, as scikit-learn checks it before a fit.
    doc : str
        Whole sentences. The names in `WORDS`, between braces, stand for other words in each family.
    of : frozenset of str
        The families whose estimators have the parameter.
    by_position : bool
        Whether it may be given by position; all others are given by name.
    """

    name: str
    type: str
    default: object
    constraint: list
    doc: str
    of: frozenset = IN_TABLE
    by_position: bool = False


PARAMETERS = (
    Parameter(
        "n_estimators",
        "int",
        100,
        [Interval(Integral, 1, None, closed="left")],
        """Number of trees in the forest.""",
        of=FORESTS | EMBEDDINGS,
        by_position=True,
    ),
    Parameter(
        "criterion",
        '{"gini", "entropy", "log_loss", "hellinger"} or Criterion',
        "gini",
        [Names(*CLASS_CRITERIA), Criterion, SubclassOf(Criterion, "dforest.criterion")],
        """Impurity that splits are to decrease; "log_loss" is another name of "entropy". "hellinger", for two
        classes, is sqrt(p * (1 - p)): cuts are compared by the Hellinger distance of their sides, which does
        not depend on how rare a class is. An object, or a class, of `dforest.criterion` is a criterion of
        your own.""",
        of=CLASSIFIERS,
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
        """Impurity that splits are to decrease. "squared_error" is the mean squared deviation from the mean;
        "absolute_error" is the mean absolute deviation from the median, which leaves predict, and works on
        the processor only; "poisson" is half the mean Poisson deviance, for targets from 0, where no cut
        leaves only targets of 0 on a side. An object, or a class, of `dforest.criterion` is a criterion of
        your own. "friedman_mse" is a deprecated name of "squared_error": Friedman's improvement of a cut
        equals the decrease of the squared error.""",
        of=REGRESSORS,
    ),
    Parameter(
        "splitter",
        '{"best", "random"} or Splitter',
        "best",
        [Names("best", "random"), Splitter, SubclassOf(Splitter, "dforest.splitter")],
        """How the cut of a feature is chosen: "best" tries every cut; "random" draws one, uniformly between
        the node's smallest and largest value. An object, or a class, of `dforest.splitter` is a splitter
        of your own.""",
        of=PREDICTORS,
    ),
    Parameter(
        "max_depth",
        "int or None",
        None,
        [Interval(Integral, 1, None, closed="left"), None],
        """A node at this depth is a leaf; the root's depth is 0. None means no limit.""",
    ),
    Parameter(
        "min_samples_split",
        "int or float",
        2,
        [Interval(Integral, 2, None, closed="left"), Interval(RealNotInt, 0.0, 1.0, closed="right")],
        """Least number of {draws} in a node that is split: a node of fewer is a leaf. A float is a share of
        {all_draws}, rounded up.""",
    ),
    Parameter(
        "min_samples_leaf",
        "int or float",
        1,
        [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0.0, 1.0, closed="neither")],
        """Least number of {draws} on each side of a split. A float is a share of {all_draws}, rounded up.""",
    ),
    Parameter(
        "min_weight_fraction_leaf",
        "float",
        0.0,
        [Interval(Real, 0.0, 0.5, closed="both")],
        """Least share of the total weight of {all_draws} on each side of a split.""",
    ),
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
        """Number of features tried at each node: an int is this number, a float a share of all features,
        "sqrt" and "log2" are functions of their number, and None means all. Where none of the features
        tried has a valid cut, the search goes on until one has.""",
        of=PREDICTORS,
    ),
    Parameter(
        "skip_constant_features",
        "bool",
        True,
        ["boolean"],
        """Whether features that are constant in a node are passed over when `max_features` are drawn. The
        features tried are then all of two values or more in the node, a missing value being one; if there
        are fewer of these than `max_features`, all of them are tried. If False, constant features count,
        as in scikit-learn.""",
        of=PREDICTORS,
    ),
    Parameter(
        "random_state",
        "int, RandomState or None",
        None,
        ["random_state"],
        """Seed of the tree's random numbers, which decide the order in which features are tried, and so
        ties between them, and random cuts.""",
        of=TREES,
    ),
    Parameter(
        "max_leaf_nodes",
        "int or None",
        None,
        [Interval(Integral, 2, None, closed="left"), Options(Integral, {0}), None],
        """Largest number of leaves of a tree: nodes are split in the order of their impurity decrease, best
        first. None or 0 means no limit.""",
    ),
    Parameter(
        "impurity_threshold",
        "float",
        0.0,
        [Interval(Real, 0.0, None, closed="left")],
        """A node of lower impurity than this is a leaf.""",
        of=PREDICTORS,
    ),
    Parameter(
        "min_impurity_decrease",
        "float",
        0.0,
        [Interval(Real, 0.0, None, closed="left")],
        """A node is split only if that decreases {impurity} by at least this much, weighted by the node's
        share of the total weight.""",
    ),
    Parameter(
        "ccp_alpha",
        "float",
        0.0,
        [Interval(Real, 0.0, None, closed="left")],
        """If above 0, each new tree is cut back once it is grown, by minimal cost-complexity pruning: to the
        smallest of its subtrees of least impurity + ccp_alpha * leaves.""",
        of=PREDICTORS,
    ),
    Parameter(
        "bootstrap",
        'bool, {"subsample", "stratified", "balanced", "weighted", "group"} or Sampling',
        True,
        ["boolean", StrOptions(set(BY_NAME)), Sampling],
        """Which rows each tree is grown on. True draws rows with replacement, and False takes every row once. "subsample"
        draws without replacement. "stratified" draws from each class in proportion to its rows, and "balanced" from each
        class as many as the smallest one has. "weighted" draws rows with chances in proportion to their weights, which
        count no more after that. "group" draws the groups of rows that `fit` is given. Objects of `dforest.sampling` say
        more, and draw blocks of consecutive rows: see the page on sampling.""",
        of=FORESTS,
    ),
    Parameter(
        "oob_score",
        "bool or callable",
        False,
        ["boolean", callable],
        """Whether to predict each row by the trees that never drew it, which sets the attributes ``oob_*``
        and `n_never_oob_`. A callable replaces accuracy or R2 in `oob_score_`: it is given true and
        predicted values. Metrics of probabilities, such as ``sklearn.metrics.roc_auc_score`` and
        ``log_loss``, are given probabilities, and so are scorers of ``sklearn.metrics.make_scorer`` that
        ask for them.""",
        of=FORESTS,
    ),
    Parameter(
        "sparse_output",
        "bool",
        True,
        ["boolean"],
        """Whether `transform` returns a sparse matrix or an ndarray.""",
        of=EMBEDDINGS,
    ),
    Parameter(
        "n_jobs",
        "int or None",
        None,
        [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
        """Number of threads of `fit` and of prediction, as in joblib: None means 1, or what
        ``joblib.parallel_config`` says; -1 means all cores that the process may use, -2 all but one. If
        `n_jobs` is None or negative, the thread count is capped by the OpenMP limit, so nested parallelism
        doesn't oversubscribe cores: joblib sets that limit in its worker processes, and
        ``threadpoolctl.threadpool_limits`` or ``OMP_NUM_THREADS`` set it anywhere. The forest does not depend on
        `n_jobs`: a tree is grown by all threads that have nothing else to do. Data of few rows get fewer
        threads. All calls of a process share its threads, of which it starts no more than it may use
        cores, or than the largest `n_jobs` so far; where the system grants fewer, fewer do the work.""",
        of=FORESTS | EMBEDDINGS,
    ),
    Parameter(
        "random_state",
        "int, RandomState or None",
        None,
        ["random_state"],
        """Seed of the forest's random numbers. Equal numbers give equal forests, whatever `n_jobs`.""",
        of=FORESTS | EMBEDDINGS,
    ),
    Parameter(
        "verbose",
        "int",
        0,
        ["verbose"],
        """What is printed on the error stream while trees are grown. 1 shows how many there are, how much time is
        left and, with ``oob_score=True``, their out-of-bag error: in one line that is written anew in a terminal,
        and elsewhere in a line for every tenth of the trees. 2 prints a line for every tree, and 0 nothing.""",
        of=FORESTS | EMBEDDINGS,
    ),
    Parameter(
        "keep_training_data",
        "bool",
        False,
        ["boolean"],
        """Whether the forest keeps copies of the training rows, for `forest_weights`, `proximity`, `outlier_scores` and, in
        regression, `predict_quantiles` and `predict_interval`. They are pickled with it.""",
        of=FORESTS,
    ),
    Parameter(
        "warm_start",
        "bool",
        False,
        ["boolean"],
        """Whether `fit` keeps the trees there are and adds more, up to `n_estimators`. Where it adds none, out-of-bag
        estimates, if there are any, stay as they are.""",
        of=FORESTS | EMBEDDINGS,
    ),
    Parameter(
        "class_weight",
        'dict, list of dict, {"balanced", "balanced_subsample"} or None',
        None,
        [dict, list, StrOptions({"balanced", "balanced_subsample"}), None],
        """Factors of the rows' weights by class. A dict maps classes to factors, which are 1 for classes that it
        leaves out. "balanced" makes them total weight / (n_classes * weight of the class), where weights
        are sums over the training rows; "balanced_subsample" makes them for each tree, by that formula of
        sums over the tree's draws. None means 1. Of several outputs, a list has a dict for each, and the factors of
        all outputs are multiplied.""",
        of=FORESTS & CLASSIFIERS,
    ),
    Parameter(
        "class_weight",
        'dict, list of dict, "balanced" or None',
        None,
        [dict, list, StrOptions({"balanced"}), None],
        """Factors of the rows' weights by class. A dict maps classes to factors, which are 1 for classes that it
        leaves out. "balanced" makes them total weight / (n_classes * weight of the class). None means 1. Of several
        outputs, a list has a dict for each, and the factors of all outputs are multiplied.""",
        of=TREES & CLASSIFIERS,
    ),
    Parameter(
        "max_samples",
        "int, float or None",
        None,
        [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0.0, None, closed="neither"), None],
        """Number of draws of each tree: an int is this number, a float a share of the rows of positive weight, rounded,
        and None means as many as there are such rows. With replacement there may be more draws than rows, so the
        share may be above 1. Without it there are at most as many draws as rows, and None means 63.2 % of them. Where
        groups or blocks of rows are drawn, these are counted in place of rows. Needs `bootstrap`.""",
        of=FORESTS,
    ),
    Parameter(
        "method",
        '{"hist", "dense"}',
        "hist",
        [StrOptions({"hist", "dense"})],
        """Where cuts are looked for: "hist" looks between the bins that a feature's values are sorted into;
        "dense" between all of its values, which is exact, and slower for best splits. Random splits of
        "dense" have thresholds anywhere between a node's smallest and largest value, at about the price of
        bins. Rules about fewer rows than a bin holds, 0.4 % of them by default, escape "hist": choose
        "dense", or more bins, where rare cases count.""",
    ),
    Parameter(
        "max_bins",
        "int",
        256,
        [Interval(Integral, 2, 65535, closed="both")],
        """Largest number of bins of a feature for method "hist", one for missing values included.""",
    ),
    Parameter(
        "categorical_features",
        '"from_dtype", array-like or None',
        "from_dtype",
        ["array-like", StrOptions({"from_dtype"}), None],
        """Columns whose values are labels without an order, tested by sets of labels ("categories"): a mask,
        or numbers or names of columns; None means none. "from_dtype" means those of a categorical type of
        pandas, polars or pyarrow, except for ordered ones that `ordinal_features` takes. Labels are
        strings, numbers or booleans; 1 and 1.0 are one label.

        A best split of two classes, or by squared error, is the exact best of all ways to part the
        categories in two. For more classes, categories are ordered by the share of the node's
        largest class and parted in that order, a heuristic. Missing values, labels that were not in
        training, and categories that a node has not seen go to the side of missing values. A column may
        have up to 256 categories for method "hist", and up to 65,535 for "dense".""",
    ),
    Parameter(
        "ordinal_features",
        '"from_dtype", array-like or None',
        "from_dtype",
        ["array-like", StrOptions({"from_dtype"}), None],
        """Columns whose values have an order but no distances: a mask, or numbers or names of columns; None
        means none. "from_dtype" means those of an ordered categorical type (pandas' ordered categories,
        polars' Enum, pyarrow's ordered dictionaries) that `categorical_features` does not name; their
        order is the declared one. Thresholds are values that occur, never amid two. Text of a type
        without an order is refused; a level that the training type did not declare is taken as missing.""",
    ),
    Parameter(
        "categorical_split",
        '{"subset", "one_hot"}',
        "subset",
        [StrOptions({"subset", "one_hot"})],
        """How a node parts categories: "subset" parts some of them from the others, "one_hot" one of them
        from the others.""",
    ),
    Parameter(
        "monotonic_cst",
        "array-like of int of shape (n_features,), dict or None",
        None,
        ["array-like", dict, None],
        """What predictions may do as a feature rises, all others fixed: for 1 they only rise, for -1 they only
        fall, for 0 they do either. A dict maps names of columns to these numbers. For classification, of
        two classes, the prediction is the probability of the second one. Categorical features can't be
        constrained. No cut, of any feature, leads out of the bounds that constrained ones above it set.""",
        of=PREDICTORS,
    ),
    Parameter(
        "device",
        "str or None",
        None,
        [str, None],
        """Where trees are grown and rows go down them. "cpu" is the processor; "gpu", "sycl" (SYCL's default
        device) or a filter string such as "level_zero:gpu:1" is a SYCL device, which gives the bits of the
        processor; `dforest.devices` lists what there is. None means the device where X lies, if X is an
        array on one; else the device of ``dforest.config_context(queue=...)``; else the processor. Trees
        are grown on a SYCL device by method "hist", or by random splits; importances by impurity and
        pruning run on the processor.""",
    ),
    Parameter(
        "variable_importance",
        '{"mdi", "mda_raw", "mda_scaled"} or None',
        None,
        [StrOptions({"mdi", "mda_raw", "mda_scaled"}), None],
        """What to compute as `variable_importance_`: "mdi" is the mean over trees of the impurity decrease
        that a feature brings; "mda_raw" is the mean over trees of the rise of the error on rows left out
        when the feature is permuted; "mda_scaled" is "mda_raw" divided by its standard error.""",
        of=FORESTS,
    ),
    Parameter(
        "voting",
        '{"soft", "hard"}',
        "soft",
        [StrOptions({"soft", "hard"})],
        """How the votes of trees are put together: "soft" takes the mean of their class shares, "hard" counts
        one vote of each.""",
        of=FORESTS & CLASSIFIERS,
    ),
)
