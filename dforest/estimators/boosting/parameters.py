"""The parameters of boosted trees: a table like `dforest.estimators.parameters.PARAMETERS`, which says what an entry is."""

from dataclasses import replace
from numbers import Integral, Real

from sklearn.utils._param_validation import Hidden, Interval, RealNotInt, StrOptions

from dforest.core.boost.loss import Loss
from dforest.core.predict.packing import MAX_TERMS
from dforest.estimators.boosting.oblique import OBLIQUE_PARAMETERS
from dforest.estimators.boosting.stopping_parameters import STOPPING_PARAMETERS
from dforest.estimators.constraints import Names, SubclassOf
from dforest.estimators.entries import COLUMNS, COMPUTATION, ROWS, SHAPE, SPLITS, Parameter
from dforest.estimators.families import BOOSTED_CLASSES, BOOSTED_DISTRIBUTIONS, BOOSTED_NUMBERS, BOOSTED_RANKS, BOOSTING
from dforest.estimators.parameters import MAX_TREES, PARAMETERS
from dforest.estimators.randomness import ALLOWED

ITERATIONS = "Loss and iterations"  # a group that only boosted trees have

BOOSTING_PARAMETERS = (
    Parameter(
        "loss",
        '{"log_loss", "exponential", "focal"} or Loss',
        "log_loss",
        [Names("log_loss", "exponential", "focal"), Loss, SubclassOf(Loss, "dforest.loss")],
        """Loss that the trees are to decrease. "log_loss" is minus the logarithm of the probability of a row's class; with
        more than two classes, `multi_class` says what trees do. "exponential" is the loss of AdaBoost, for two classes:
        with the raw prediction F, it is exp(-F) for rows of the second class and exp(F) for others. "focal" is the log
        loss, for two classes, times (1 - p) to the power of `focal_gamma`, where p is the probability of a row's class: rows that
        are well told count less. Of more than two classes, the last two are for ``multi_class="one_vs_rest"``. An object, or a
        class, of `dforest.loss` is a loss of your own.""",
        of=BOOSTED_CLASSES,
        by_position=True,
        group=ITERATIONS,
    ),
    Parameter(
        "loss",
        '{"squared_error", "absolute_error", "gamma", "poisson", "tweedie", "quantile", "huber", "fair", "log_cosh", "mape", '
        '"cross_entropy"} or Loss',
        "squared_error",
        [
            Names(
                "squared_error", "absolute_error", "gamma", "poisson", "tweedie", "quantile", "huber", "fair", "log_cosh", "mape",
                "cross_entropy",
            ),  # fmt: skip
            Loss,
            SubclassOf(Loss, "dforest.loss"),
        ],
        """Loss that the trees are to decrease. "squared_error" is half the squared error, and predicts means.
        "absolute_error" is the absolute error, and predicts medians. "gamma" is half the gamma deviance, for targets above 0,
        "poisson" half the Poisson deviance, for targets from 0 on, and "tweedie" half the Tweedie deviance of the parameter
        `power`, for targets from 0 on; with these three, the prediction is exp(sum of the trees).
        "quantile" is the pinball loss of the parameter `quantile`. "huber" is half the squared error up to a distance and
        linear beyond it, where the distance is, in each iteration, a quantile of the errors. "fair" and "log_cosh" go from
        squares to distances smoothly, and by a distance that is given: `fair_c`, and 1. "mape" is the absolute error divided by
        the magnitude of the target, or by 1 where that is smaller. "cross_entropy" is the log loss for targets from 0 to 1, such
        as shares, and predicts means between 0 and 1. An object, or a class, of `dforest.loss` is a loss of your own.""",
        of=BOOSTED_NUMBERS,
        by_position=True,
        group=ITERATIONS,
    ),
    Parameter(
        "loss",
        '{"lambdarank", "pairwise"} or Loss',
        "lambdarank",
        [Names("lambdarank", "pairwise"), Loss, SubclassOf(Loss, "dforest.loss")],
        """Loss that the trees are to decrease. "lambdarank" is that of LambdaMART: two rows of a query in the wrong order count
        by what NDCG loses; its grades are integers from 0 to 31. "pairwise" is that of RankNet, for which all such pairs count
        alike, and grades are any numbers. Objects of `dforest.loss.LambdaRank` and `dforest.loss.PairwiseRank` are these losses
        with other parameters, and an object, or a class, of another subclass of `dforest.loss.Loss` is a loss of your own, best
        with ``of_groups = True``.""",
        of=BOOSTED_RANKS,
        by_position=True,
        group=ITERATIONS,
    ),
    Parameter(
        "loss",
        '{"normal", "lognormal", "gamma", "negative_binomial", "student", "zero_inflated_poisson"} or Loss',
        "normal",
        [
            Names("normal", "lognormal", "gamma", "negative_binomial", "student", "zero_inflated_poisson"),
            Loss,
            SubclassOf(Loss, "dforest.distribution"),
        ],
        """Distribution of targets, whose log density trees are to increase. "normal" has a location and a scale, and so has
        "lognormal", for targets above 0, whose logarithms are normal. "gamma" is for targets above 0 too, by mean and shape.
        "negative_binomial" is for counts, by mean and size: the variance is mean + mean**2 / size. "student" is Student's t
        distribution, for targets with outliers, by location, scale and degrees of freedom. "zero_inflated_poisson" is for counts
        with more zeros than their rate says, by the rate and the share of zeros. An object, or a class, of `dforest.distribution`
        is one of these, or a distribution of your own.""",
        of=BOOSTED_DISTRIBUTIONS,
        by_position=True,
        group=ITERATIONS,
    ),
    Parameter(
        "quantile",
        "float, array-like of float, or None",
        None,
        [Interval(Real, 0, 1, closed="both"), "array-like", None],
        """Quantile that ``loss="quantile"`` predicts, from 0 to 1, which must then be given. If it is a list of quantiles, each
        greater than the one before, one model predicts them all: y has one column, an iteration grows a tree whose leaves have
        a value for each quantile, by the sum of the losses of all, and `predict` returns a column for each. Predictions of a row
        never cross, as they are put in ascending order. Early stopping is by the mean of the losses. With ``loss="huber"``,
        `quantile` is the share of rows whose errors count in full; None means 0.9. Other losses ignore a number.""",
        of=BOOSTED_NUMBERS,
        group=ITERATIONS,
    ),
    Parameter(
        "multi_class",
        '{"multinomial", "one_tree", "one_vs_rest"}',
        "multinomial",
        [StrOptions({"multinomial", "one_tree", "one_vs_rest"})],
        """How more than two classes are told apart. "multinomial" is the log loss of all classes together, and an iteration grows
        a tree for each class. "one_tree" is the same loss, but an iteration grows a single tree, whose leaves have a value for
        each class and whose splits have the gains of all classes added up: a model of many classes takes far less room and
        predicts faster, and needs more leaves in a tree or more iterations to be as good. "one_vs_rest" has, for each class, a
        tree in an iteration that tells it from all others by the `loss` of two classes; the probabilities of the classes are
        then divided by their sum.""",
        of=BOOSTED_CLASSES,
        group=ITERATIONS,
    ),
    Parameter(
        "power",
        "float",
        1.5,
        [Interval(Real, 1, 2, closed="neither")],
        """Power of ``loss="tweedie"``, between 1 and 2: the variance of a target is in proportion to its mean to this power. Near
        1 it is that of counts, as with "poisson", and near 2 that of "gamma"; between them are sums of a random number of
        positive amounts, of which many are 0, such as insurance claims. Other losses ignore it.""",
        of=BOOSTED_NUMBERS,
        group=ITERATIONS,
    ),
    Parameter(
        "fair_c",
        "float",
        1.0,
        [Interval(Real, 0, None, closed="neither")],
        """Distance c of ``loss="fair"``, above 0: errors that are far smaller count by half their squares, and those that are far
        larger by c times their distances. Other losses ignore it.""",
        of=BOOSTED_NUMBERS,
        group=ITERATIONS,
    ),
    Parameter(
        "focal_gamma",
        "float",
        2.0,
        [Interval(Real, 0, None, closed="left")],
        """Power of ``loss="focal"``, from 0 on. The higher it is, the less count rows that are well told; with 0 the loss is
        "log_loss". Other losses ignore it.""",
        of=BOOSTED_CLASSES,
        group=ITERATIONS,
    ),
    Parameter(
        "learning_rate",
        'float or "auto"',
        "auto",
        [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        """Factor, above 0, by which the values of leaves are multiplied before they are added up. A lower rate needs more
        iterations. "auto" means 10 / `max_iter`, but no less than 0.05 and no more than 0.1; if an iteration has six trees or
        more, and with ``defaults="scikit-learn"``, it means 0.1. With ``boosting="dart"`` and dforest's defaults it is 0.3.""",
        of=BOOSTING,
        group=ITERATIONS,
    ),
    Parameter(
        "max_iter",
        'int or "auto"',
        "auto",
        [Interval(Integral, 1, MAX_TREES, closed="both"), StrOptions({"auto"})],
        """Largest number of iterations, from 1 to 2**32 - 1. An iteration grows one tree or, for more than two classes, one
        tree for each class, as `multi_class` says. "auto" means 1,000, or 500 if an iteration has six trees or more, of which
        early stopping takes the best number, and 300 with ``boosting="dart"``; without early stopping, and with
        ``defaults="scikit-learn"``, it means 100.""",
        of=BOOSTING,
        group=ITERATIONS,
    ),
    Parameter(
        "boosting",
        '{"gbdt", "dart"}',
        "gbdt",
        [StrOptions({"gbdt", "dart"})],
        """What trees of an iteration correct. "gbdt" means all trees before them. "dart" means that some of the iterations before
        are dropped, drawn by chance: gradients are found without them, and when the new trees are there, these and those of the
        dropped iterations are multiplied by weights, so that together they say about as much as the dropped ones did. Each
        iteration takes longer. With k dropped iterations and the learning rate r, new
        leaves are multiplied by 1 / (k + r), and dropped ones by k / (k + r). Staged predictions and ``n_iter`` take the weights
        that trees have in the end, whereas early stopping scores each iteration by the weights of its time.""",
        of=BOOSTING,
        group=ITERATIONS,
    ),
    Parameter(
        "drop_rate",
        "float",
        0.1,
        [Interval(Real, 0, 1, closed="both")],
        """Chance of each iteration before to be dropped, from 0 to 1. It is for ``boosting="dart"``, as are the next two.""",
        of=BOOSTING,
        group=ITERATIONS,
    ),
    Parameter(
        "skip_drop",
        "float",
        0.5,
        [Interval(Real, 0, 1, closed="both")],
        "Chance of an iteration to drop none, from 0 to 1.",
        of=BOOSTING,
        group=ITERATIONS,
    ),
    Parameter(
        "max_drop",
        "int or None",
        50,
        [Interval(Integral, 1, None, closed="left"), None],
        "Largest number of iterations that one drops; if more are to be dropped, chance says which. None means any number.",
        of=BOOSTING,
        group=ITERATIONS,
    ),
    Parameter(
        "n_bags",
        "int",
        1,
        [Interval(Integral, 1, None, closed="left")],
        """Number of bags, from 1 on: models that are grown side by side, each by random numbers of its own, and whose raw
        predictions are averaged as one. Bags differ in the columns and rows that are drawn and in the rows that are held out. An
        iteration grows the trees of all bags, one bag after another, whose leaves have their value divided by the number of
        bags. There is one number of iterations for all: where rows are held out, each bag holds out rows, or has folds, of its
        own, and the mean of the scores of all of them decides. This takes as many times the time, and mostly lowers the loss
        a little. ``warm_start=True`` is refused with more than one.""",
        of=BOOSTING,
        group=ITERATIONS,
    ),
    Parameter(
        "defaults",
        '{"dforest", "scikit-learn"}',
        "dforest",
        [StrOptions({"dforest", "scikit-learn"})],
        """What "auto" means as the value of a parameter. "dforest" means what measured best on real tables: a low rate, as many
        iterations as rows that are held out ask for, and then a refit on all rows, with half of the features tried at each node
        and some regularisation. "scikit-learn" means the defaults of scikit-learn's classes of the same names, which take less
        time. For each parameter that may be "auto" and has another meaning in both, an attribute of its name and an underscore
        has the value of the last `fit`.""",
        of=BOOSTING,
        group=ITERATIONS,
    ),
    Parameter(
        "max_leaf_nodes",
        "int or None",
        31,
        [Interval(Integral, 2, None, closed="left"), None],
        """Largest number of leaves of a tree: nodes are split in the order of their gain, best first. None means no limit.""",
        of=BOOSTING,
        group=SHAPE,
    ),
    Parameter(
        "max_depth",
        "int or None",
        None,
        [Interval(Integral, 1, None, closed="left"), None],
        """Greatest depth of a tree: a node at this depth is a leaf. The root's depth is 0. None means no limit.""",
        of=BOOSTING,
        group=SHAPE,
    ),
    Parameter(
        "min_samples_leaf",
        "int",
        20,
        [Interval(Integral, 1, None, closed="left")],
        """Least number of rows on each side of a split, and so in each leaf. With only some hundreds of training rows, a lower
        number is often better.""",
        of=BOOSTING,
        group=SHAPE,
    ),
    Parameter(
        "min_sum_hessian_in_leaf",
        "float",
        1e-3,
        [Interval(Real, 0, None, closed="left")],
        """Least sum of second derivatives of the loss on each side of a split, from 0 on. For losses whose second derivative is
        1, such as the squared error, this sum is the total weight of the rows.""",
        of=BOOSTING,
        group=SHAPE,
    ),
    Parameter(
        "l2_regularization",
        'float or "auto"',
        "auto",
        [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        """Number, from 0 on, that is added to the sum of second derivatives in a leaf, which brings the values of small leaves
        closer to 0. It counts in the gains of splits too, but medians and quantiles in leaves don't depend on it.
        "auto" means 1, or 0 with ``defaults="scikit-learn"``.""",
        of=BOOSTING,
        group=SHAPE,
    ),
    Parameter(
        "l1_regularization",
        "float",
        0,
        [Interval(Real, 0, None, closed="left")],
        """Number, from 0 on, by which the sum of first derivatives in a leaf is brought closer to 0. A leaf whose sum is not
        above this number in magnitude gets the value 0. The number counts in the gains of splits too, but medians and quantiles
        in leaves don't depend on it. LightGBM and XGBoost call it `reg_alpha`.""",
        of=BOOSTING,
        group=SHAPE,
    ),
    Parameter(
        "max_delta_step",
        "float or None",
        None,
        [Interval(Real, 0, None, closed="neither"), None],
        """Largest magnitude, above 0, of a leaf's value before it is multiplied by `learning_rate`. A leaf beyond it gets this
        value with its sign. None means no limit but the one that holds anyway for losses with a link, such as "log_loss" and
        "poisson": a step that is so long that it might raise the loss of its leaf is shortened.""",
        of=BOOSTING,
        group=SHAPE,
    ),
    Parameter(
        "path_smooth",
        "float",
        0.0,
        [Interval(Real, 0, None, closed="left")],
        """How far the values of nodes are drawn towards those of the nodes above them: a number of rows. From the root down, the
        value of a node of n rows becomes n / (n + path_smooth) of its own value and, for the rest, the value of its parent. 0
        means that leaves have their own values. As in LightGBM, rows count whatever they weigh; but splits are chosen by gains
        without smoothing.""",
        of=BOOSTING,
        group=SHAPE,
    ),
    Parameter(
        "splitter",
        '{"best", "random"}',
        "best",
        [StrOptions({"best", "random"})],
        """How a node finds its split. "best" tries all cuts between the bins of a column. "random" tries one cut of each column
        of numbers, drawn at random from those between the lowest and the highest bin of the node's rows, and takes the column
        whose cut gains most; columns of categories are searched whole. LightGBM calls it `extra_trees`.""",
        of=BOOSTING,
        group=SHAPE,
    ),
    *OBLIQUE_PARAMETERS,
    Parameter(
        "forced_splits",
        "dict or None",
        None,
        [dict, None],
        """Splits that each tree begins with: a dict of "feature", the number or name of a column of numbers, "threshold", a
        number, and, if there are any, "left" and "right", the splits of the children, which are such dicts too. Rows go left
        that are at most the upper edge of the bin that the threshold is in. A split that gains nothing, or leaves too few rows
        on a side, is not made, and its node is split as any other; nor are the splits below it.""",
        of=BOOSTING,
        group=SHAPE,
    ),
    Parameter(
        "min_gain_to_split",
        "float",
        0.0,
        [Interval(Real, 0, None, closed="left")],
        """Least gain of a split, from 0 on: nodes whose best split gains less stay leaves. With the sums G of gradients and H of
        Hessians, each times the weights of rows, the gain is what the split adds to G^2 / (H + `l2_regularization`), which is
        twice what the loss of the training rows gets less by, to second order. XGBoost calls it `gamma`.""",
        of=BOOSTING,
        group=SHAPE,
    ),
    Parameter(
        "leaf_model",
        '{"constant", "linear", "auto"}',
        "constant",
        [StrOptions({"constant", "linear", "auto"})],
        """What a leaf adds to raw predictions. "constant" is one number for all rows. "linear" is, beside this number, a linear
        function of the last `max_leaf_features` numeric features that are tested on the way to the leaf, found by ridge
        regression of the gradients of its rows, and never below or above what it is for these; a row with a missing or infinite
        value of such a feature gets the number alone. Splits are those of constant leaves. "auto" means whichever of the two
        scores better on rows that are held out, of equal scores "constant": it takes early stopping, and about twice the time.
        Linear leaves are for losses whose leaves are Newton steps: not for medians and quantiles.""",
        of=BOOSTING,
        group=SHAPE,
    ),
    Parameter(
        "max_leaf_features",
        "int",
        5,
        [Interval(Integral, 1, MAX_TERMS, closed="both")],
        """Largest number of features of a linear leaf, from 1 to 16. Those that are tested nearest to the leaf come first;
        categorical features, and features that have one bin alone in the leaf, don't count. Constant leaves have none.""",
        of=BOOSTING,
        group=SHAPE,
    ),
    Parameter(
        "linear_l2",
        "float",
        10.0,
        [Interval(Real, 0, None, closed="left")],
        """Number, from 0 on, that is added to the sum of second derivatives in a linear leaf where its slopes are found: the
        higher, the flatter. It does not depend on units of features, which count by their standard deviations in the leaf.""",
        of=BOOSTING,
        group=SHAPE,
    ),
    Parameter(
        "min_hessian",
        "float",
        "deprecated",
        [Interval(Real, 0, None, closed="left"), Hidden(StrOptions({"deprecated"}))],
        """Earlier name of `min_sum_hessian_in_leaf`, which goes away with the next version.""",
        of=BOOSTING,
        group=SHAPE,
    ),
    Parameter(
        "max_features",
        'int, float or "auto"',
        "auto",
        [Interval(RealNotInt, 0, 1, closed="right"), Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        """Number of features tried at each node, drawn at random from those of its level that `interaction_cst` allows there. An
        int is this number, or means all of them if there are fewer; a float, above 0 and up to 1, is a share of them, rounded
        up. Features of a single value in the training rows are not drawn. "auto" means 0.5, or 1.0
        with ``defaults="scikit-learn"``.""",
        of=BOOSTING,
        group=SPLITS,
    ),
    Parameter(
        "colsample_bytree",
        "float",
        1.0,
        [Interval(Real, 0, 1, closed="right")],
        """Share of the features that a tree may test, above 0 and up to 1. They are drawn at random for each tree, among those
        with two values or more in the training rows, and their number is rounded up.""",
        of=BOOSTING,
        group=SPLITS,
    ),
    Parameter(
        "colsample_bylevel",
        "float",
        1.0,
        [Interval(Real, 0, 1, closed="right")],
        """Share of a tree's features that the nodes of one depth may test, above 0 and up to 1. They are drawn at random for each
        depth of each tree, and their number is rounded up.""",
        of=BOOSTING,
        group=SPLITS,
    ),
    Parameter(
        "max_bins",
        "int",
        255,
        [Interval(Integral, 2, 65535, closed="both")],
        """Largest number of bins that the values of a feature are sorted into, from 2 to 65,535; missing values have one more.
        Categories are not binned. A feature with more than 255 bins or categories takes more time and memory.""",
        of=BOOSTING,
        group=SPLITS,
    ),
    Parameter(
        "subsample",
        "float or dict",
        1.0,
        [Interval(Real, 0, 1, closed="right"), dict],
        """Share of the rows that each iteration draws without replacement, above 0 and up to 1; the number of rows is rounded
        down. The trees of the iteration are grown from these rows, and only these count towards `min_samples_leaf`. A share below
        1 is stochastic gradient boosting: it takes less time, and the trees are less alike. A dict maps classes to shares of
        their rows, of which at least one is drawn; those of a class that it leaves out are all drawn. Rows that are drawn don't
        count for more in place of the others, so that probabilities of classes with small shares come out too low: weights of
        classes, or calibration, take this back.""",
        of=BOOSTED_CLASSES,
        group=ROWS,
    ),
    Parameter(
        "subsample",
        "float",
        1.0,
        [Interval(Real, 0, 1, closed="right")],
        """Share of the rows that each iteration draws without replacement, above 0 and up to 1; the number of rows is rounded
        down. The trees of the iteration are grown from these rows, and only these count towards `min_samples_leaf`. A share below
        1 is stochastic gradient boosting: it takes less time, and the trees are less alike.""",
        of=BOOSTING - BOOSTED_CLASSES,
        group=ROWS,
    ),
    Parameter(
        "sampling",
        '{"uniform", "mvs"}',
        "uniform",
        [StrOptions({"uniform", "mvs"})],
        """How an iteration draws rows, if `subsample` is below 1. "uniform" means that all are equally likely. "mvs", minimal
        variance sampling, draws about as many, but rows with large derivatives are likelier, and count for less where they are
        drawn, so that sums have the right means. With shares of 0.2 or so this mostly has a lower loss than "uniform" by as
        many rows. It is for losses whose leaves are Newton steps, which are all but those of absolute distances, quantiles and
        robust means.""",
        of=BOOSTING - BOOSTED_RANKS,
        group=ROWS,
    ),
    Parameter(
        "sampling",
        '{"uniform", "mvs", "query"}',
        "uniform",
        [StrOptions({"uniform", "mvs", "query"})],
        """How an iteration draws rows, if `subsample` is below 1. "uniform" means that all are equally likely. "mvs", minimal
        variance sampling, draws about as many, but rows with large derivatives are likelier, and count for less where they are
        drawn, so that sums have the right means. It is for losses whose leaves are Newton steps. "query" draws whole queries:
        `subsample` is the share of these, their number is rounded down, and at least one is drawn.""",
        of=BOOSTED_RANKS,
        group=ROWS,
    ),
    Parameter(
        "class_weight",
        'dict, list of dict, "balanced" or None',
        None,
        [dict, list, StrOptions({"balanced"}), None],
        """Factors by which the weights of rows are multiplied, by class. A dict maps classes to factors; the factor of a class
        that it leaves out is 1, and if it leaves out none, it may name classes that no row has. "balanced" gives each class
        the factor total weight / (n_classes * weight of the class). None means 1 for all classes. A y of several columns takes
        a list with a dict for each, whose factors are multiplied.""",
        of=BOOSTED_CLASSES,
        group=ROWS,
    ),
    Parameter(
        "categorical_features",
        '{"auto", "from_dtype"}, array-like or None',
        "from_dtype",
        ["array-like", StrOptions({"auto", "from_dtype"}), None],
        """Columns whose values are labels without an order ("categories"), given as a mask, as numbers or as names of columns;
        None means none. "from_dtype" means the columns that have a categorical type of pandas, polars or pyarrow, except for
        ordered ones that `ordinal_features` takes. "auto" means these, and all columns of text and of booleans, which include
        those of Python's objects that hold any. Labels are strings, numbers or booleans; 1 and 1.0 are one label. A node
        tests such a column by a set of categories.

        In a node, the categories that have at least `min_samples_category` rows are sorted by G / (H + `categorical_smoothing`),
        where G and H are the sums of the first and second derivatives of the loss over their rows, and are parted in this order.
        Missing values count as one more category. All other categories go together to the side that has more gain. Labels that
        did not occur in training are treated as missing values.""",
        of=BOOSTING,
        group=COLUMNS,
    ),
    replace(next(entry for entry in PARAMETERS if entry.name == "ordinal_features"), of=BOOSTING),
    Parameter(
        "categorical_split",
        '{"auto", "subset", "order"}',
        "auto",
        [StrOptions({"auto", "subset", "order"})],
        """How a node parts the categories of a column: "subset" as described for `categorical_features`. "order" is for columns
        of many labels, more than 30, of which a node has few rows each: nodes also look for cuts in the order of the labels by
        their mean gradients at the beginning, shrunk to that of all rows, where rows are dealt out to five folds, and a row is
        given the mean that the rows of other folds make of its label. Of several classes or outputs, there is an order for each
        of the first ten. Other columns are parted as by "subset". "auto" means "order", or "subset" in fits with
        ``defaults="scikit-learn"``, ``warm_start=True`` or `interaction_cst`.""",
        of=BOOSTING,
        group=COLUMNS,
    ),
    Parameter(
        "categorical_smoothing",
        "float",
        10.0,
        [Interval(Real, 0, None, closed="neither")],
        """What is added, above 0, to a category's sum of second derivatives, H, where the categories in a node are sorted by
        G / (H + `categorical_smoothing`): the more, the closer do categories of few rows come to those of no effect. LightGBM
        calls it `cat_smooth`.""",
        of=BOOSTING,
        group=COLUMNS,
    ),
    Parameter(
        "min_samples_category",
        "int",
        10,
        [Interval(Integral, 1, None, closed="left")],
        """Least number of rows in a node for a category to be sorted among the others; all that have fewer go to one side
        together. LightGBM calls it `min_data_per_group`.""",
        of=BOOSTING,
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
        If y has several columns, a constraint holds for the predictions of each of them. Categorical features can't be
        constrained. The values of leaves are kept within the bounds that the constrained splits above them set.""",
        of=BOOSTING,
        group=COLUMNS,
    ),
    Parameter(
        "monotone_penalty",
        "float",
        0.0,
        [Interval(Real, 0, None, closed="left")],
        """How far splits by columns with a monotonic constraint are put off, from 0 on, so that others come first. At depth d, 0
        being that of the root, gains of such splits count times 1 - monotone_penalty / 2^d if it is up to 1, and else times
        1 - 2^(monotone_penalty - 1 - d), or not at all where d is at most monotone_penalty - 1. It is LightGBM's.""",
        of=BOOSTING,
        group=COLUMNS,
    ),
    Parameter(
        "feature_costs",
        "array-like of float of shape (n_features,), dict or None",
        None,
        ["array-like", dict, None],
        """What it costs to use a column, from 0 on, in the unit of `min_gain_to_split`: the gain of a split counts for as much
        less as long as no split of the model tests its column. So columns that are expensive to measure are only used if they
        are worth it. A dict maps names or numbers of columns to costs; those that it leaves out cost nothing. None means that
        none costs anything. In a tree, what a split counts for is found when its node is made.""",
        of=BOOSTING,
        group=COLUMNS,
    ),
    Parameter(
        "interaction_cst",
        '{"pairwise", "no_interactions"}, list or tuple of lists/tuples/sets of int or str, or None',
        None,
        [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
        """Interaction constraints: which features may be tested together on one path from a root to a leaf. A list holds groups
        of numbers or names of features; features that are in none of them form one more group. "no_interactions" means that each
        path tests a single feature, and "pairwise" that it tests two at most. None means no constraint.""",
        of=BOOSTING,
        group=COLUMNS,
    ),
    *STOPPING_PARAMETERS,
    Parameter(
        "random_state",
        "int, RandomState, Generator or None",
        None,
        ALLOWED,
        """Seed of the random numbers, which decide which rows are held out or drawn and which features are tried. An int gives
        equal trees in each fit to the same data, whatever `n_jobs` is; None, or a RandomState or Generator, gives others in each
        fit.""",
        of=BOOSTING,
        group=COMPUTATION,
    ),
    Parameter(
        "n_jobs",
        "int or None",
        None,
        [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
        """Number of threads for fitting and predicting, as in joblib: None means 1, or what ``joblib.parallel_config`` says;
        -1 means all cores that the process may use, and -2 all but one. If `n_jobs` is None or negative, the thread count is
        capped by the OpenMP limit, so nested parallelism doesn't oversubscribe cores; ``threadpoolctl.threadpool_limits`` or
        ``OMP_NUM_THREADS`` set that limit. The trees do not depend on `n_jobs`. All threads grow one tree together, and data
        of few rows get fewer threads.""",
        of=BOOSTING,
        group=COMPUTATION,
    ),
    Parameter(
        "device",
        "str or None",
        None,
        [str, None],
        """Where trees are grown and predictions are made. "cpu" is the processor; "cuda" or "cuda:1", say, is one of NVIDIA's
        GPUs; "gpu", "sycl" (SYCL's default device) or a filter string such as "level_zero:gpu:1" is a SYCL device. All give
        results equal to the processor's to the bit; `dforest.devices` lists what there is. None means the device where X lies,
        if X is an array on a device; else the device of ``dforest.config_context(queue=...)``; else the processor. What devices
        don't support raises ValueError. Baselines, scores and staged predictions are computed by the processor.""",
        of=BOOSTING,
        group=COMPUTATION,
    ),
    Parameter(
        "warm_start",
        "bool",
        False,
        ["boolean"],
        """Whether `fit` keeps the trees of earlier calls and adds iterations, up to `max_iter` in all; if False, it grows all
        trees anew. If the data are those of the earlier calls, the trees are those of a single call, to the bit. With early
        stopping, each call scores all iterations anew, by its own rows and its own `scoring`.""",
        of=BOOSTING,
        group=COMPUTATION,
    ),
    Parameter(
        "verbose",
        "int",
        0,
        ["verbose"],
        """How much is printed on the error stream while trees are grown. 0 prints nothing. 1 prints the number of iterations, and
        scores if there are any, after every tenth of the iterations, and 2 after every iteration. A last line says so if scores
        have ended the fit.""",
        of=BOOSTING,
        group=COMPUTATION,
    ),
)
