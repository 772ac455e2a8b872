"""Intervals around the predictions of forests for regression.

The *level* of an interval is the probability that it is meant to cover the target, or, with the infinitesimal jackknife and with
little bags, its expectation. Which trees left a training row out is computed again by their sampling plans.
"""

from numbers import Real

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from dforest.core.draws import Groups, TreeDraws
from dforest.core.halves import LittleBags
from dforest.core.predict.out_of_bag import predict_out_of_bag, square_exponent
from dforest.core.sampling import Bootstrap
from dforest.core.threads import each
from dforest.estimators.data.given import check_number
from dforest.estimators.data.outputs import columns_of
from dforest.estimators.data.validation import count_threads
from dforest.estimators.powers import next_power, times_power
from dforest.estimators.results.conformal import covering_rank, moved, scores_of
from dforest.estimators.results.neighbours import quantiles_at, quantiles_out_of_bag
from dforest.warning import warn

BLOCK_BYTES = 1 << 26  # of numbers that are worked on together


def predict_interval(self, X=None, level=0.9, method="oob"):
    r"""Predict an interval for each row that is meant to hold its target, or the expectation of its target.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_rows, n_features), optional
        Rows with the columns of the training data. None, with ``method="little_bags"``, means the training rows, each as
        predicted by the trees that left it out.
    level : float, default=0.9
        The share of targets that the intervals are meant to cover, above 0 and below 1.
    method : {"oob", "conformal", "jackknife+ab", "infinitesimal", "little_bags"}, default="oob"
        How intervals are made:

        - "oob": the prediction plus quantiles of the out-of-bag errors :math:`y_i - \hat y_{(i)}` [1]_. All intervals are
          equally wide; they are quick to compute.
        - "conformal": the quantiles of the target that leave (1 - `level`) / 2 of it out on either side, as `predict_quantiles`
          has them, moved outwards on both sides by as much as the training rows ask for, whose quantiles are predicted out of
          bag [6]_: the :math:`\lceil(1 - \alpha)(n + 1)\rceil`-th smallest of how far their n targets lie outside, which is below
          0 inside. Intervals are as wide as the target varies at a row. They hold their level only about, as out of bag each row
          has fewer trees than a new one. Ends that would cross are both in the middle of the quantiles.
        - "jackknife+ab": jackknife+ after bootstrap [2]_. For each training row i, the trees that left it out predict
          :math:`\hat\mu_{-i}(x)`, and their error in row i is :math:`R_i`. The ends are the
          :math:`\lfloor\alpha(n + 1)\rfloor`-th smallest :math:`\hat\mu_{-i}(x) - R_i` and the
          :math:`\lceil(1 - \alpha)(n + 1)\rceil`-th smallest :math:`\hat\mu_{-i}(x) + R_i`, with :math:`\alpha` = 1 -
          `level`; where there is no such number, they are infinite. Targets are covered with a probability of about
          `level`, and of at least :math:`1 - 2\alpha` whatever their distribution. The time is in proportion to the number of
          rows of X times that of training rows times that of trees.
        - "infinitesimal": a confidence interval of the expected prediction, not of the target: normal, with the variance of
          the infinitesimal jackknife, corrected for the number of trees being finite [3]_. It needs many trees: with few, the
          corrected variance may be negative; the interval then has no width, and a warning says for how many rows.
        - "little_bags": a confidence interval of the expected prediction, and, as far as trees have no bias, for which they
          should be honest (`honest`), of the expected target. It is normal, with the variance that little bags of trees
          (`ci_group_size`) tell [4]_: that of the means of bags, less what trees of one bag differ by chance. As this may be
          negative with few trees, it is shrunk towards 0 from above, by Bayes' rule with a flat prior on positive variances, as
          in grf [5]_.

        With the first four, every training row of positive weight counts once, however large its weight is. "jackknife+ab" and
        "infinitesimal" need a byte for each tree and training row while they work. They multiply matrices by NumPy, whose
        library decides how many threads it uses; the last bits may depend on these.

    Returns
    -------
    ndarray of shape (n_rows, 2) or (n_rows, n_outputs, 2), dtype float64
        The lower and the upper end of each interval. The second shape is that for several outputs, each of which has an
        interval of its own: `level` is the share of its targets. NaN for training rows that fewer than two whole bags left out.

    Raises
    ------
    ValueError
        If the forest was not fitted with ``keep_training_data=True`` and ``bootstrap=True``, or, for "little_bags", with
        `ci_group_size` above 1; if every tree drew every row, or if a parameter is not as described.

    References
    ----------
    .. [1] H. Zhang, J. Zimmerman, D. Nettleton, D. J. Nordman, "Random forest prediction intervals", The American
       Statistician 74(4), 2020.
    .. [2] B. Kim, C. Xu, R. F. Barber, "Predictive inference is free with the jackknife+-after-bootstrap", NeurIPS 2020.
    .. [3] S. Wager, T. Hastie, B. Efron, "Confidence intervals for random forests: the jackknife and the infinitesimal
       jackknife", Journal of Machine Learning Research 15, 2014.
    .. [4] J. Sexton, P. Laake, "Standard errors for bagged and random forest estimators", Computational Statistics and Data
       Analysis 53(3), 2009.
    .. [5] S. Athey, J. Tibshirani, S. Wager, "Generalized random forests", Annals of Statistics 47(2), 2019, section 4.
    .. [6] Y. Romano, E. Patterson, E. J. Candès, "Conformalized quantile regression", NeurIPS 2019; out of bag: U. Johansson,
       H. Boström, T. Löfström, H. Linusson, "Regression conformal prediction with random forests", Machine Learning 97, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(keep_training_data=True, random_state=0).fit(X, y)
    >>> forest.predict_interval(X[:3], level=0.8).shape
    (3, 2)
    """
    check_is_fitted(self)
    level = check_number("level", level, Real, "numbers above 0 and below 1", lambda n: 0 < n < 1)
    methods = {"oob": _by_errors, "jackknife+ab": _by_jackknife, "infinitesimal": _by_infinitesimal_jackknife}
    if method == "little_bags":
        return _by_little_bags(self, X, level)
    if not isinstance(method, str) or method not in (*methods, "conformal"):
        raise ValueError(f"method={method!r}; allowed are {', '.join(map(repr, [*methods, 'conformal', 'little_bags']))}")
    if X is None:
        raise ValueError(f'X=None with method={method!r}; allowed is that with method="little_bags" alone')
    data, X = self._training_rows(), self._checked_rows(X)
    if not all(plan.leaves_rows_out for plan in self.forest_.plans):
        raise ValueError(
            f"method={method!r} needs trees that leave rows out, by bootstrap=True; this forest was fitted without it"
        )
    if method == "infinitesimal" and not all(isinstance(plan, Bootstrap) for plan in self.forest_.plans):
        raise ValueError(
            f"method={method!r} is for rows drawn with replacement and equal chances, all others being out of bag; this "
            f"forest was fitted with bootstrap={self.bootstrap!r}, categorical_split={self.categorical_split!r}, "
            f'honest={self.honest}; allowed are bootstrap=True with categorical_split="subset" and honest=False, or '
            'method="oob" or "jackknife+ab"'
        )
    if method == "conformal":
        ends = _by_quantiles(self, data, X, level)
        return np.stack(ends, axis=1) if self.n_outputs_ > 1 else ends[0]
    n_threads = count_threads(self.n_jobs)
    ends = [
        methods[method](self.forest_, output, data._replace(y=y), X, level, n_threads)
        for output, y in enumerate(columns_of(data.y))
    ]
    return np.stack(ends, axis=1) if self.n_outputs_ > 1 else ends[0]


def _by_quantiles(self, data, X, level):
    """Conformal intervals of each output: list of ndarray of shape (n_rows, 2)."""
    q, found = np.array([(1 - level) / 2, (1 + level) / 2]), []
    held, there = quantiles_out_of_bag(self, q), quantiles_at(self, X, q)
    for output, y in enumerate(columns_of(data.y)):
        scores = scores_of(y, *held[:, output].T)
        scores = np.sort(scores[~np.isnan(scores)])
        if len(scores) == 0:
            _raise_none_out_of_bag(self.forest_)
        found.append(moved(*there[:, output].T, scores, level))
    return found


def _by_little_bags(self, X, level):
    """See `predict_interval`."""
    forest, n_threads, left_out = self.forest_, count_threads(self.n_jobs), None
    size = bag_size(forest.plans[0])
    if len(set(forest.plans)) > 1 or len(set(forest.n_rows.tolist())) > 1 or size == 1 or forest.n_trees < 2 * size:
        raise ValueError(
            f'method="little_bags" needs two bags of trees or more, grown on the same rows; this forest has {forest.n_trees} '
            f"trees, and was fitted with ci_group_size={self.ci_group_size}; allowed are numbers from 2"
        )
    if X is None:
        X = self._training_rows().X
        left_out = by_tree(forest.left_out, forest.n_trees, n_threads)
    else:
        X = self._checked_rows(X)
    at_a_time, ends = max(1, BLOCK_BYTES // (8 * forest.n_trees)), np.empty((len(X), forest.objective.n_outputs, 2))
    powers = [next_power(_leaf_values(forest, output)) for output in range(forest.objective.n_outputs)]
    for first in range(0, len(X), at_a_time):
        some = slice(first, first + at_a_time)
        rows = leaf_rows(forest, X[some], n_threads)
        for output, power in enumerate(powers):
            trees = np.ldexp(_leaf_values(forest, output)[rows], -power)  # so that squares are in range
            mean, variance = mean_and_variance(trees, size, None if left_out is None else left_out[:, some].T)
            half = norm.ppf((1 + level) / 2) * np.sqrt(variance)
            ends[some, output] = times_power(mean[:, None] + half[:, None] * [-1.0, 1.0], power)
    return ends if forest.objective.n_outputs > 1 else ends[:, 0]


def bag_size(plan):
    """How many trees that are grown by a sampling plan share half of the rows; 1 if these are no little bags."""
    plan = plan.drawn()
    plan = plan.drawing if isinstance(plan, Groups) else plan
    return plan.bag_size if isinstance(plan, LittleBags) else 1


def mean_over_trees(trees, counts=None):
    """The mean over trees that count: ndarray of shape (n_rows, ...), NaN where none does.

    Parameters
    ----------
    trees : ndarray of shape (n_rows, n_trees, ...), dtype float64
        What each tree says of each row.
    counts : ndarray of shape (n_rows, n_trees), dtype bool, optional
        Which trees count for a row; None means all.
    """
    if counts is None:
        return trees.mean(axis=1)
    counting = counts.reshape(counts.shape + (1,) * (trees.ndim - 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(counting, trees, 0.0).sum(axis=1) / counting.sum(axis=1)


def mean_and_variance(trees, size, counts=None):
    """What a forest predicts, and the variance of that, by its little bags.

    Parameters
    ----------
    trees : ndarray of shape (n_rows, n_trees), dtype float64
        What each tree predicts.
    size : int
        Trees of a bag, from 2; trees at the end that are no whole bag count in the mean alone.
    counts : ndarray of shape (n_rows, n_trees), dtype bool, optional
        Which trees count for a row; bags count of which all trees do. None means all.

    Returns
    -------
    mean, variance : ndarray of shape (n_rows,), dtype float64
        NaN where no tree counts, the variance also where fewer than two bags do.

    Notes
    -----
    With G bags of k trees, the deviations of trees from the forest's mean, and their means over each bag, the variance is
    V - (T - V) / (k - 1), where V is the mean square of the latter, and T of the former. Its standard error is about
    s = max(V, (T - V) / (k - 1)) sqrt(2 / G). The mean of a normal distribution with these two parameters, cut off at 0, is what
    is returned, as by grf's `BayesDebiaser`.
    """
    counts = np.ones(trees.shape, bool) if counts is None else counts
    n_bags = trees.shape[1] // size
    shape = len(trees), n_bags, size
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = mean_over_trees(trees, counts)
        apart = (trees - mean[:, None])[:, : n_bags * size].reshape(shape)
        whole = counts[:, : n_bags * size].reshape(shape).all(axis=2)
        n_whole = whole.sum(axis=1)
        between = np.where(whole, np.square(apart.mean(axis=2)), 0.0).sum(axis=1) / n_whole
        total = np.where(whole, np.square(apart).mean(axis=2), 0.0).sum(axis=1) / n_whole
        by_chance = (total - between) / (size - 1)
        found, error = between - by_chance, np.maximum(between, by_chance) * np.sqrt(2 / n_whole)
        ratio = found / error
        above = error * np.exp(-np.square(ratio) / 2 - log_ndtr(ratio)) / np.sqrt(2 * np.pi)
    variance = np.where(error > 0, np.maximum(found + above, 0.0), 0.0)
    return mean, np.where(n_whole >= 2, variance, np.nan)


# The functions below are told the number of an output, and its targets in the training data.


def _errors_out_of_bag(forest, output, data, n_threads):
    """The errors of the trees that left each training row out: ndarray of shape (n_rows,), NaN if there are none."""
    forest = forest.of_output(output)
    exponent = square_exponent(data.y.min(), data.y.max(), forest.leaf_value.min(), forest.leaf_value.max())
    draws = TreeDraws(forest.used_plans, forest.seeds, len(data.y), n_threads)
    packed = forest.packed_leaves(n_threads=n_threads)
    sums, _, n_votes, _, _ = predict_out_of_bag(packed, data.X, data.y, None, draws, exponent, n_threads)
    if not n_votes.any():
        _raise_none_out_of_bag(forest)
    return data.y - np.divide(sums[:, 0], n_votes, out=np.full(len(data.y), np.nan), where=n_votes > 0)


def _raise_none_out_of_bag(forest):
    raise ValueError(
        f"each of the {forest.n_trees} trees drew every training row, so none has an out-of-bag error; more trees are needed"
    )


def _by_errors(forest, output, data, X, level, n_threads):
    errors = _errors_out_of_bag(forest, output, data, n_threads)
    ends = np.nanquantile(errors, [(1 - level) / 2, (1 + level) / 2])
    return forest.packed(n_threads=n_threads).mean(X, n_threads)[:, [output]] + ends


def _by_jackknife(forest, output, data, X, level, n_threads):
    errors = np.abs(_errors_out_of_bag(forest, output, data, n_threads))
    seen = ~np.isnan(errors)
    errors, n = errors[seen], int(seen.sum())
    left_out = by_tree(forest.left_out, forest.n_trees, n_threads)[:, seen]
    n_out, columns = left_out.sum(axis=0), max(1, BLOCK_BYTES // (8 * forest.n_trees))
    high = covering_rank(level, n)
    low = n + 1 - high
    ends = np.empty((len(X), 2))
    at_a_time = max(1, BLOCK_BYTES // (8 * n))
    for first in range(0, len(X), at_a_time):
        some = slice(first, first + at_a_time)
        trees = _predictions_of_trees(forest, output, X[some], n_threads)
        means = np.empty((len(trees), n))
        for begin in range(0, n, columns):
            own = slice(begin, begin + columns)
            np.matmul(trees, left_out[:, own].astype(np.float64), out=means[:, own])
        means /= n_out
        ends[some, 0] = np.partition(means - errors, low - 1, axis=1)[:, low - 1] if low >= 1 else -np.inf
        ends[some, 1] = np.partition(means + errors, high - 1, axis=1)[:, high - 1] if high <= n else np.inf
    return ends


def _by_infinitesimal_jackknife(forest, output, data, X, level, n_threads):
    n_trees, power = forest.n_trees, next_power(_leaf_values(forest, output))
    counts = by_tree(forest.row_counts, n_trees, n_threads)
    n_draws = np.mean([plan.count_draws(len(data.y)) for plan in forest.plans])
    ends, n_lost = np.empty((len(X), 2)), 0
    at_a_time = max(1, BLOCK_BYTES // (8 * n_trees))
    for first in range(0, len(X), at_a_time):
        some = slice(first, first + at_a_time)
        trees = np.ldexp(_predictions_of_trees(forest, output, X[some], n_threads), -power)  # so that squares are in range
        mean = trees.mean(axis=1, keepdims=True)
        trees -= mean
        variance = np.zeros(len(trees))
        rows_at_a_time = max(1, BLOCK_BYTES // (8 * max(n_trees, len(trees))))
        for begin in range(0, counts.shape[1], rows_at_a_time):
            own = counts[:, begin : begin + rows_at_a_time].astype(np.float64)
            variance += np.square(trees @ (own - own.mean(axis=0)) / n_trees).sum(axis=1)
        by_chance = n_draws / n_trees**2 * np.square(trees).sum(axis=1)
        variance -= by_chance
        n_lost += int(np.count_nonzero((variance <= 0) & (by_chance > 0)))
        half = norm.ppf((1 + level) / 2) * np.sqrt(np.maximum(variance, 0.0))
        ends[some] = times_power(mean + half[:, None] * [-1.0, 1.0], power)
    if n_lost:
        warn(
            f'the intervals of {n_lost} of {len(X)} rows ({n_lost / len(X):.1%}) by method="infinitesimal" have no width, as '
            f"their variances, corrected for a forest of only {n_trees} trees, are not above 0; other widths are uncertain too. "
            'Grow more trees, or leaves of more rows (min_samples_leaf); for intervals of targets, method="oob" needs no more'
        )
    return ends


def by_tree(of_tree, n_trees, n_threads):
    """What a function tells of each tree and its training rows, counts or masks: (n_trees, n_rows) of the smallest type."""
    found = [None] * n_trees

    def look(t, _):
        own = of_tree(t)
        found[t] = own.astype(np.min_scalar_type(own.max()))

    each(n_trees, look, n_threads)
    return np.stack(found)


def _leaf_values(forest, output):
    return forest.leaf_value.reshape(len(forest.leaf_draws), -1)[:, output]


def _predictions_of_trees(forest, output, X, n_threads):
    """ndarray of shape (n_rows, n_trees), dtype float64."""
    return _leaf_values(forest, output)[leaf_rows(forest, X, n_threads)]


def leaf_rows(forest, X, n_threads):
    """The rows of the leaf tables that rows of X reach in each tree: ndarray of shape (n_rows, n_trees)."""
    return forest.leaf_row[forest.packed(n_threads=n_threads).apply(X, n_threads) + forest.node_offsets[:-1]]
