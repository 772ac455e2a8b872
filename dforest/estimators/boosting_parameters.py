"""The parameters of boosted trees: a table like `dforest.estimators.parameters.PARAMETERS`, which says what an entry is."""

from dataclasses import replace
from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from dforest.core.boost.loss import Loss
from dforest.estimators.constraints import Names, SubclassOf
from dforest.estimators.parameters import BOOSTING, PARAMETERS, Parameter

CLASSIFIER = frozenset({"boosting classifier"})
REGRESSOR = frozenset({"boosting regressor"})

BOOSTING_PARAMETERS = (
    Parameter(
        "loss",
        '{"log_loss", "exponential"} or Loss',
        "log_loss",
        [Names("log_loss", "exponential"), Loss, SubclassOf(Loss, "dforest.loss")],
        """Loss that trees are to decrease. "log_loss" is minus the logarithm of the probability of a row's class; of more
        than two classes, each round grows a tree for each class. "exponential", for two classes, is AdaBoost's: e to the
        power of -F for rows of the second class, and of F for others, F being the raw prediction. An object, or a class, of
        `dforest.loss` is a loss of one's own.""",
        of=CLASSIFIER,
        by_position=True,
    ),
    Parameter(
        "loss",
        '{"squared_error", "absolute_error", "gamma", "poisson", "quantile", "huber"} or Loss',
        "squared_error",
        [
            Names("squared_error", "absolute_error", "gamma", "poisson", "quantile", "huber"),
            Loss,
            SubclassOf(Loss, "dforest.loss"),
        ],
        """Loss that trees are to decrease: half the squared error; the absolute error; half the gamma deviance, for targets
        above 0; half the Poisson deviance, for targets from 0; the pinball loss of `quantile`; Huber's loss, which is half
        the squared error up to a distance, and linear beyond it: that distance is, in each round, a quantile of the errors.
        "gamma" and "poisson" predict e to the power of what trees add up. An object, or a class, of `dforest.loss` is a loss of
        one's own.""",
        of=REGRESSOR,
        by_position=True,
    ),
    Parameter(
        "quantile",
        "float or None",
        None,
        [Interval(Real, 0, 1, closed="both"), None],
        """The quantile that loss "quantile" predicts; it must be given there. Of loss "huber" the share of rows whose errors
        count in full; None means 0.9.""",
        of=REGRESSOR,
    ),
    Parameter(
        "learning_rate",
        "float",
        0.1,
        [Interval(Real, 0, None, closed="neither")],
        """Factor of what leaves add to predictions.""",
        of=BOOSTING,
    ),
    Parameter(
        "max_iter",
        "int",
        100,
        [Interval(Integral, 1, None, closed="left")],
        """Largest number of rounds. A round grows one tree, or, for more than two classes, one for each class.""",
        of=BOOSTING,
    ),
    Parameter(
        "max_leaf_nodes",
        "int or None",
        31,
        [Interval(Integral, 2, None, closed="left"), None],
        """Largest number of leaves of a tree: nodes are split in the order of their gain, best first. None means no limit.""",
        of=BOOSTING,
    ),
    Parameter(
        "max_depth",
        "int or None",
        None,
        [Interval(Integral, 1, None, closed="left"), None],
        """A node at this depth is a leaf; the root's depth is 0. None means no limit.""",
        of=BOOSTING,
    ),
    Parameter(
        "min_samples_leaf",
        "int",
        20,
        [Interval(Integral, 1, None, closed="left")],
        """Least number of rows on each side of a split. With few hundreds of rows, less is often better.""",
        of=BOOSTING,
    ),
    Parameter(
        "min_hessian",
        "float",
        1e-3,
        [Interval(Real, 0, None, closed="left")],
        """Least sum of second derivatives of the loss on each side of a split. Of losses whose second derivative is 1, as of
        the squared error, this is the weight of the rows.""",
        of=BOOSTING,
    ),
    Parameter(
        "l2_regularization",
        "float",
        0,
        [Interval(Real, 0, None, closed="left")],
        """What is added to the sum of second derivatives in a leaf, which makes small leaves add less. It counts in splits
        too; medians and quantiles in leaves don't depend on it.""",
        of=BOOSTING,
    ),
    Parameter(
        "max_features",
        "int or float",
        1.0,
        [Interval(RealNotInt, 0, 1, closed="right"), Interval(Integral, 1, None, closed="left")],
        """Number of features tried at each node, drawn at random from those that `interaction_cst` allows there: a float is a
        share of them, rounded up, and an int is this number.""",
        of=BOOSTING,
    ),
    Parameter(
        "subsample",
        "float",
        1.0,
        [Interval(Real, 0, 1, closed="right")],
        """Share of the rows that each round draws without replacement, rounded down; its trees are grown from these, and
        rows that count towards `min_samples_leaf` are these. Below 1 that is stochastic gradient boosting: it takes less
        time, and the trees are less alike.""",
        of=BOOSTING,
    ),
    Parameter(
        "max_bins",
        "int",
        255,
        [Interval(Integral, 2, 255, closed="both")],
        """Largest number of bins that a feature's values are sorted into, and of categories of a feature. Missing values have
        one more bin.""",
        of=BOOSTING,
    ),
    Parameter(
        "categorical_features",
        '"from_dtype", array-like or None',
        "from_dtype",
        ["array-like", StrOptions({"from_dtype"}), None],
        """Columns whose values are labels without an order, tested by sets of labels ("categories"): a mask, or numbers or
        names of columns; None means none. "from_dtype" means those of a categorical type of pandas, polars or pyarrow, except
        for ordered ones that `ordinal_features` takes. Labels are strings, numbers or booleans; 1 and 1.0 are one label.

        Those categories that have at least 10 rows in a node are ordered by G / (H + 10), with the sums of their rows' first
        and second derivatives of the loss, and parted in this order. Missing values are one more category. All that a node
        has not in this order, and labels that were not in training if missing values are not in it either, go together to
        the side that has more gain.""",
        of=BOOSTING,
    ),
    replace(next(entry for entry in PARAMETERS if entry.name == "ordinal_features"), of=BOOSTING),
    Parameter(
        "monotonic_cst",
        "array-like of int of shape (n_features,), dict or None",
        None,
        ["array-like", dict, None],
        """What predictions may do as a feature rises, all others fixed: for 1 they only rise, for -1 they only fall, for 0 they
        do either. A dict maps names of columns to these numbers. For classification, of two classes, the prediction is the
        probability of the second one. Categorical features can't be constrained. What leaves add is kept within bounds that
        the splits of constrained features above them set.""",
        of=BOOSTING,
    ),
    Parameter(
        "interaction_cst",
        '{"pairwise", "no_interactions"}, list or tuple of lists/tuples/sets of int, or None',
        None,
        [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
        """Which features may be tested on one path from a root to a leaf, and so interact: the numbers of those of a group.
        Features in none of the groups given form one more. "no_interactions" means that each path has a single feature,
        "pairwise" two at most. None means no constraint.""",
        of=BOOSTING,
    ),
    Parameter(
        "warm_start",
        "bool",
        False,
        ["boolean"],
        """Whether `fit` keeps the trees there are and adds rounds, up to `max_iter` in all. With the data of the call before,
        that gives the trees of one call to the bit.""",
        of=BOOSTING,
    ),
    Parameter(
        "early_stopping",
        '"auto" or bool',
        "auto",
        [StrOptions({"auto"}), "boolean"],
        """Whether growing stops when scores get no better. "auto" means that it does if X has more than 10,000 rows.""",
        of=BOOSTING,
    ),
    Parameter(
        "scoring",
        "str, callable or None",
        "loss",
        [str, callable, None],
        """What is scored for early stopping, before the first round and after each: "loss" is minus the mean loss, other
        names are those of scikit-learn's scorers, None is accuracy or R2. A callable is given an estimator, rows and
        targets, and returns a number, the higher the better; the estimator predicts these rows only, by the rounds so
        far. Except for "loss", at most 10,000 rows of the training set are scored.""",
        of=BOOSTING,
    ),
    Parameter(
        "validation_fraction",
        "int, float or None",
        0.1,
        [Interval(RealNotInt, 0, 1, closed="neither"), Interval(Integral, 1, None, closed="left"), None],
        """Rows that are held out and scored for early stopping, drawn at random: a float is a share of all, and an int their
        number; of classes, each has its share. None means that the training rows' scores decide. `fit` may be given
        rows of their own instead.""",
        of=BOOSTING,
    ),
    Parameter(
        "n_iter_no_change",
        "int",
        10,
        [Interval(Integral, 1, None, closed="left")],
        """Growing stops early when none of this many latest scores is better than the score before them.""",
        of=BOOSTING,
    ),
    Parameter(
        "tol",
        "float",
        1e-7,
        [Interval(Real, 0, None, closed="left")],
        """A score is better if it is higher by more than this.""",
        of=BOOSTING,
    ),
    Parameter(
        "verbose",
        "int",
        0,
        ["verbose"],
        """How often the number of rounds grown is printed, with scores if there are any, on the error stream: 1 prints a
        line for every tenth of the rounds, 2 for every round, and 0 nothing.""",
        of=BOOSTING,
    ),
    Parameter(
        "random_state",
        "int, RandomState or None",
        None,
        ["random_state"],
        """Seed of the random numbers, which decide what rows are held out and what features are tried. Equal numbers give
        equal trees, whatever `n_jobs`.""",
        of=BOOSTING,
    ),
    Parameter(
        "class_weight",
        'dict, "balanced" or None',
        None,
        [dict, StrOptions({"balanced"}), None],
        """Factors of the rows' weights by class. A dict maps classes to factors, which are 1 for classes that it
        leaves out. "balanced" makes them total weight / (n_classes * weight of the class). None means 1.""",
        of=CLASSIFIER,
    ),
    Parameter(
        "n_jobs",
        "int or None",
        None,
        [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
        """Number of threads of `fit` and of prediction, as in joblib: None means 1, or what
        ``joblib.parallel_config`` says; -1 means all cores that the process may use, -2 all but one. If
        `n_jobs` is None or negative, the thread count is capped by the OpenMP limit, so nested parallelism
        doesn't oversubscribe cores; ``threadpoolctl.threadpool_limits`` or ``OMP_NUM_THREADS`` set it. The trees
        do not depend on `n_jobs`: all threads grow one tree together. Data of few rows get fewer threads.""",
        of=BOOSTING,
    ),
    Parameter(
        "device",
        "str or None",
        None,
        [str, None],
        """Where trees are grown and rows go down them. "cpu" is the processor; "gpu", "sycl" (SYCL's default
        device) or a filter string such as "level_zero:gpu:1" is a SYCL device, which gives the bits of the
        processor; `dforest.devices` lists what there is. None means the device where X lies, if X is an
        array on one; else the device of ``dforest.config_context(queue=...)``; else the processor. Devices
        have no code for the losses "absolute_error", "quantile" and "huber", for `subsample` below 1, for categorical
        features and for constraints, which raise ValueError. Baselines, scores and staged predictions are computed by
        the processor.""",
        of=BOOSTING,
    ),
)
