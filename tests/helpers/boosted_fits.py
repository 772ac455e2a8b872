"""Random fits of boosted trees that devices and ranks have code for, to be compared with those of threads."""

import numpy as np

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from dforest.loss import PythonLoss
from dforest.rules.losses import LOSSES
from helpers.magnitudes import about_ten_to

WEIGHED = ["absolute_error", "quantile", "huber", "fair", "log_cosh", "mape"]  # whose leaves are no Newton steps
REGRESSION = ["squared_error", "poisson", "gamma", "tweedie", "cross_entropy", *WEIGHED]
CLASSES = {"log_loss": 2, "focal": 2, "exponential": 2, "multinomial": 4}  # losses, and how many classes there are


class OwnSquares(PythonLoss):
    """Half the squared error, where predictions are too low twice that."""

    def __init__(self, is_constant=False):
        self.is_constant = is_constant
        self.constant_hessian = is_constant

    def gradient_hessian(self, y_true, raw_prediction):
        lacks = y_true - raw_prediction
        if self.is_constant:
            return -lacks, None
        times = np.where(lacks > 0, 2.0, 1.0)
        return -lacks * times, times

    def loss(self, y_true, raw_prediction):
        return 0.5 * (y_true - raw_prediction) ** 2


class OwnLeaves(OwnSquares):
    """Its leaves need all of their rows, and depend on the order of these."""

    need_update_leaves_values = True

    def leaf_value(self, y_true, raw_prediction, sample_weight):
        lacks = (y_true - raw_prediction) * sample_weight * np.linspace(1.0, 2.0, len(y_true))
        return float(lacks.sum() / sample_weight.sum())


def random_fit(seed, loss):
    """A boosting estimator with random parameters, and data to fit it to.

    Parameters
    ----------
    seed : int or list of int
    loss : str
        One of `REGRESSION` or of `CLASSES`.

    Returns
    -------
    estimator : HistGradientBoostingClassifier or HistGradientBoostingRegressor
        Not fitted.
    X, y : ndarray
    sample_weight : ndarray or None
    """
    rng = np.random.default_rng([*np.ravel(seed), LOSSES[loss].number])
    n, p = int(rng.integers(4, 400)), int(rng.integers(1, 8))
    X = np.round(rng.standard_normal((n, p)), int(rng.integers(0, 3))).astype(rng.choice([np.float32, np.float64]))
    score = X[:, 0] + rng.standard_normal(n)
    if rng.random() < 0.6:
        X[rng.random(X.shape) < rng.choice([0.02, 0.5])] = np.nan
    parameters = {
        "max_iter": int(rng.integers(1, 6)),
        "learning_rate": float(rng.choice([0.1, 1.0])),
        "max_leaf_nodes": [None, 2, 5, 31][rng.integers(4)],
        "max_depth": [None, 1, 4][rng.integers(3)],
        "min_samples_leaf": int(rng.integers(1, 8)),
        "min_sum_hessian_in_leaf": float(rng.choice([0.0, 1e-3, 1.0])),
        "l2_regularization": float(rng.choice([0.0, 0.5, 10.0])),
        "max_features": float(rng.choice([0.4, 1.0])),
        "colsample_bytree": float(rng.choice([0.6, 1.0])),
        "colsample_bylevel": float(rng.choice([0.6, 1.0])),
        "l1_regularization": float(rng.choice([0.0, 0.0, 2.0])),
        "path_smooth": float(rng.choice([0.0, 0.0, 4.0])),
        "max_bins": int(rng.choice([255, 8])),
        "ordinal_features": [0] if rng.random() < 0.2 else None,
        "random_state": int(rng.integers(1 << 30)),
        "subsample": float(rng.choice([1.0, 1.0, 0.6])),
        "interaction_cst": [None, None, "no_interactions", "pairwise", [range(p // 2 + 1), range(p // 2, p)]][rng.integers(5)],
    }
    if p > 1 and rng.random() < 0.5:  # of few categories or of many, of rows enough or not
        X[:, 1] = np.where(np.isnan(X[:, 1]), np.nan, rng.integers(0, rng.choice([2, 5, 200]), n))
        score += rng.standard_normal(200)[np.nan_to_num(X[:, 1]).astype(int)]
        parameters |= {"categorical_features": [1], "max_bins": 255}
        parameters["categorical_smoothing"] = float(rng.choice([10.0, 0.5]))
        parameters["min_samples_category"] = int(rng.choice([10, 1, 4]))
    if loss in CLASSES:
        y = np.searchsorted(np.quantile(score, np.arange(1, CLASSES[loss]) / CLASSES[loss]), score)
        y[: CLASSES[loss]] = range(CLASSES[loss])
        model = HistGradientBoostingClassifier("log_loss" if loss == "multinomial" else loss, **parameters)
        weight_of_classes = [None, "balanced"][rng.integers(2)]
        model.set_params(class_weight=weight_of_classes)
    else:
        y = score
        if loss == "cross_entropy":
            y = np.clip(np.round(score / 4.0 + 0.5, 3), 0.0, 1.0)
        elif loss not in ("squared_error", *WEIGHED):
            y = np.float32(np.exp(2.0 * score)).astype(np.float64)  # the last bits that NumPy finds are the machine's
        if loss in WEIGHED and rng.random() < 0.5:
            y = np.round(y)  # of many equal ones
        if loss == "squared_error" and rng.random() < 0.3:
            y[rng.integers(n)] = 1e9
        model = HistGradientBoostingRegressor(loss, **parameters)
        quantiles = [0.0, 0.1, 0.5, 0.75, 1.0, [0.25, 0.5], [0.0, 0.1, 0.95]]
        model.set_params(quantile=quantiles[rng.integers(len(quantiles))] if loss == "quantile" else None)
    if CLASSES.get(loss, 2) == 2 and rng.random() < 0.4:
        is_category = np.isin(np.arange(p), parameters.get("categorical_features", []))
        model.set_params(monotonic_cst=np.where(is_category, 0, rng.integers(-1, 2, p)).tolist())
    weights = [None, None, rng.integers(1, 5, n), np.full(n, 0.5), rng.random(n) + 0.1, rng.integers(0, 2049, n) / 4]
    weights += 3 * [weights_of_many_magnitudes(rng, np.nan_to_num(X[:, 0]))]
    weight = weights[rng.integers(len(weights))]
    if weight is not None:
        weight[: CLASSES.get(loss, 2)] = weight.max()
    if rng.random() < 0.3:  # columns that can't split
        X[:, rng.permutation(p)[: rng.integers(0, p)]] = 1.0
    if loss in REGRESSION and loss != "cross_entropy" and rng.random() < 0.4:  # few rows have most of what gradients add up to
        far = rng.integers(0, n, rng.integers(1, 4))
        y[far] = (y[far] + 1.0) * 10.0 ** rng.integers(3, 13)
        y = np.abs(y) + 1e-3 if loss in ("poisson", "gamma", "tweedie") else y
    if CLASSES.get(loss, 2) > 2:
        model.set_params(multi_class=str(rng.choice(["multinomial", "multinomial", "one_tree", "one_vs_rest"])))
    model.set_params(min_gain_to_split=float(rng.choice([0.0, 0.0, 0.01, 1.0])))
    return model, X, y, weight


# Random fits of other kinds, and the losses that each is tried with.
OF_KINDS = {
    "many codes": ("squared_error", "poisson", "log_loss"),
    "several outputs": sorted({*REGRESSION} - {"huber", "mape", "cross_entropy"}),
    "extreme units": ("squared_error",),
    "categories that fill words": ("squared_error",),
}
KINDS = [(kind, loss) for kind, losses in OF_KINDS.items() for loss in losses]


def random_fit_of(kind, seed, loss):
    """`random_fit` of one of `KINDS`."""
    if kind == "categories that fill words":
        rng, n_categories = np.random.default_rng(seed), (64, 128, 320)[seed % 3]
        X = rng.permutation(np.arange(2000) % n_categories)[:, None] + [0, 0, 0]
        X[:, 1:] = rng.geometric(0.1, (2000, 2)) % n_categories
        X[:n_categories] = np.arange(n_categories)[:, None]
        y = rng.standard_normal(n_categories)[X].sum(axis=1) + rng.standard_normal(2000)
        given = {"categorical_features": [0, 1, 2], "max_bins": 400, "min_samples_leaf": 1, "random_state": 0}
        return HistGradientBoostingRegressor(max_iter=4, **given), X, y, None
    model, X, y, weight = random_fit(seed, loss)
    has_levels = np.ndim(getattr(model, "quantile", None)) > 0  # which are the outputs then, of one target
    if not has_levels and (kind == "several outputs" or (kind == "extreme units" and seed % 2)):
        y = with_outputs(seed, y)
    if kind == "many codes" or (kind == "several outputs" and seed % 2):
        X, y, weight = with_many_codes(seed, model, X, y, weight)
    elif kind == "extreme units":
        model, y, weight = with_extreme_units(seed, model, y)
    return model, X, y, weight


def weights_of_many_magnitudes(rng, x):
    """Weights by which rows of some values of a column are far lighter than others."""
    lightness = rng.choice([2.0, 6.0, 11.0, 30.0]) * rng.permutation([0, 0, 1, 2, 3])[(2.0 * np.abs(x)).astype(int) % 5]
    return about_ten_to(rng.choice([0.0, 12.0]) - lightness) * rng.choice([1.0, 0.7, 0.1], len(x))


def with_outputs(seed, y):
    """Targets of several columns for the regressor of a random problem."""
    rng = np.random.default_rng(seed)
    others = [y[rng.permutation(len(y))] * 10.0 ** rng.integers(-3, 4) for _ in range(rng.integers(1, 4))]
    return np.column_stack([y, *others])


def with_extreme_units(seed, model, y):
    """A random problem whose weights, targets and penalties are at the ends of all numbers: the model, targets, weights."""
    rng = np.random.default_rng(seed)
    penalties = [0.0, 1.0, 1e300, 1e-320]
    model.set_params(l2_regularization=float(rng.choice(penalties)), l1_regularization=float(rng.choice([0.0, 0.0, *penalties])),
                     min_sum_hessian_in_leaf=float(rng.choice([0.0, 0.0, 1e-320, 1e300])))  # fmt: skip
    weight = np.full(len(y), rng.choice([1e-320, 1e-310, 1e110, 1.0]))
    if rng.random() < 0.5:
        weight *= rng.random(len(y)) + 0.01
    return model, y / np.abs(y).max() * rng.choice([1e-300, 1e150, 1.0]), weight


def with_many_codes(seed, model, X, *of_rows):
    """A random problem made into one whose columns have about 256 codes, or far more.

    Returns
    -------
    X : ndarray
        Its rows four times, with other values; categories are another column if there is one.
    *of_rows : ndarray or None
        What the rows have besides, four times.
    """
    rng = np.random.default_rng(seed)
    rows = np.tile(np.arange(len(X)), 4)
    X, n_labels = X[rows], int(rng.choice([200, 256, 700]))
    X[:, 0] += rng.random(len(rows)).astype(X.dtype)
    model.set_params(max_bins=int(rng.choice([256, 300, 65535])), ordinal_features=None)
    if X.shape[1] > 1:
        X[:, 1] = np.where(np.isnan(X[:, 1]), np.nan, rng.permutation(len(rows)) % n_labels)
        constraints = model.monotonic_cst and [0 if j == 1 else direction for j, direction in enumerate(model.monotonic_cst)]
        model.set_params(categorical_features=[1], monotonic_cst=constraints)
    return X, *(None if array is None else array[rows] for array in of_rows)
