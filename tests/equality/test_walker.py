"""Forests against a walker that shares no code with dforest.

On random small problems: a walk down the trees in plain Python from what is documented of a forest's arrays,
against `apply`, paths and predictions; which leaves the training draws fall into, and what these then hold;
out-of-bag estimates by brute force; and what must not change a forest, or change it in a known way only.
"""

import math
import warnings

import numpy as np
import pytest
from helpers.rings import examples
from helpers.walker import Walker

from dforest import RandomForestClassifier, RandomForestRegressor

SEEDS, TOGETHER = 500, 20  # problems, and how many of them a test takes

pytestmark = pytest.mark.filterwarnings("ignore:.*labels that were not in the training data")


class Problem:
    """Random rows and parameters.

    Attributes
    ----------
    X, y, weight : ndarray
        To fit on; weights may be None.
    new : ndarray
        Other rows, with values that training has not seen.
    parameters : dict
    labels : list of list
        Labels of each feature that is categorical, ascending; None for others.
    """

    def __init__(self, seed):
        rng = np.random.default_rng(seed)

        def one_of(*choices):
            return choices[rng.integers(len(choices))]

        self.rng = rng
        n, p = int(rng.integers(12, 70)), int(rng.integers(1, 6))
        X = rng.standard_normal((n + 15, p))
        digits = one_of(0, 1, None)
        X = np.rint(4 * X) / 4 if digits is None else X.round(digits)  # quarters: their middles are float32 numbers
        categorical = [j for j in range(p) if rng.random() < 0.3]
        for j in categorical:
            X[:, j] = rng.integers(0, one_of(2, 5, 70), n + 15)
        y = X[:, 0] + X[:, -1] * X[:, p // 2] + rng.standard_normal(n + 15)
        if rng.random() < 0.5:
            X[rng.random(X.shape) < 0.15] = np.nan
        if rng.random() < 0.2:
            X[rng.integers(n + 15), rng.integers(p)] = one_of(np.inf, -np.inf)
        X[:, categorical] = np.where(np.isinf(X[:, categorical]), 0, X[:, categorical])
        self.X, self.new = X[:n].copy(), X[n:].copy()
        self.labels = [sorted({value for value in X[:n, j].tolist() if value == value}) if j in categorical else None
                       for j in range(p)]  # fmt: skip
        self.n_classes = one_of(0, 2, 3, 5)
        if self.n_classes:
            y = np.digitize(y, np.quantile(y, np.arange(1, self.n_classes) / self.n_classes))
            self.criterion = one_of("gini", "entropy")
        else:
            self.criterion = one_of("squared_error", "poisson")
            y = np.abs(y) if self.criterion == "poisson" else y
        self.y = y[:n]
        if self.n_classes:  # of which some may be in the other rows alone
            present, self.y = np.unique(self.y, return_inverse=True)
            self.n_classes = len(present)
        self.weight = one_of(None, None, rng.integers(1, 9, n) / 4)
        self.parameters = {
            "n_estimators": int(rng.integers(1, 7)),
            "criterion": self.criterion,
            "method": one_of("hist", "dense"),
            "splitter": one_of("best", "best", "random"),
            "max_bins": one_of(4, 256),
            "max_features": one_of(None, 0.5, 1),
            "max_leaf_nodes": one_of(None, None, 5, 1000),
            "max_depth": one_of(None, None, 3),
            "min_samples_leaf": one_of(1, 1, 4),
            "min_samples_split": one_of(2, 9),
            "bootstrap": one_of(True, True, False),
            "categorical_features": categorical or None,
            "categorical_split": one_of("subset", "one_hot"),
            "random_state": seed,
        }
        if self.parameters["bootstrap"]:
            self.parameters["max_samples"] = one_of(None, 0.6, 2.0)
        self.is_constrained = self.n_classes in (0, 2) and rng.random() < 0.25
        if self.is_constrained:
            self.parameters["monotonic_cst"] = [0 if j in categorical else int(rng.integers(-1, 2)) for j in range(p)]

    def fit(self, X=None, order=None, weight=None, start=None, **parameters):
        """A fitted forest of these parameters and some others."""
        kind = RandomForestClassifier if self.n_classes else RandomForestRegressor
        order = np.arange(len(self.y)) if order is None else order
        weight = self.weight if weight is None else weight
        model = kind(**{**self.parameters, **parameters}) if start is None else start.set_params(**parameters)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
            return model.fit((self.X if X is None else X)[order], self.y[order], None if weight is None else weight[order])

    def rows(self, X):
        """Rows as lists of floats; the numbers of labels in place of these."""
        rows = X.astype(np.float64).tolist()
        for j, labels in enumerate(self.labels):
            if labels is not None:
                for row in rows:
                    row[j] = float(labels.index(row[j])) if row[j] in labels else math.nan
        return rows


@pytest.fixture(params=range(0, examples(SEEDS), TOGETHER), ids=lambda first: f"{first}-{first + TOGETHER - 1}")
def problems(request):
    return ((f"seed {seed}", Problem(seed)) for seed in range(request.param, request.param + TOGETHER))


def test_walks_draws_and_estimates(problems):
    for what, problem in problems:
        model = problem.fit(oob_score=problem.parameters["bootstrap"])
        forest, walker = model.forest_, Walker(model.forest_)
        check_walks(what, problem, model, walker)
        leaves = [[walker.path(t, row)[-1] for row in problem.rows(problem.X)] for t in range(forest.n_trees)]
        samples = [np.bincount(drawn, minlength=len(problem.y)) for drawn in model.estimators_samples_]
        check_draws(what, problem, forest, leaves, samples)
        if problem.parameters["bootstrap"]:
            check_out_of_bag(what, problem, model, leaves, samples)


def values_of(forest, t, leaf):
    """What a leaf of tree t predicts, given its node."""
    row = forest.leaf_row[forest.node_offsets[t] + leaf]
    if not forest.objective.predicts_shares:
        return forest.leaf_value[row : row + 1]
    return forest.leaf_weight[row] / forest.leaf_weight[row].sum()


def check_walks(what, problem, model, walker):
    """Rows reach the leaves they should, and predictions are what these say."""
    forest = model.forest_
    for X in (problem.X, problem.new):
        paths = [[walker.path(t, row) for t in range(forest.n_trees)] for row in problem.rows(X)]
        np.testing.assert_array_equal(model.apply(X), [[path[-1] for path in trees] for trees in paths], what)
        passed = np.zeros((len(X), len(forest.feature)), int)
        for i, trees in enumerate(paths):
            for t, path in enumerate(trees):
                passed[i, np.add(walker.offsets[t], path)] = 1
        indicator, offsets = model.decision_path(X)
        np.testing.assert_array_equal(indicator.toarray(), passed, what)
        assert offsets.tolist() == walker.offsets, what
        expected = np.array([sum(values_of(forest, t, path[-1]) for t, path in enumerate(trees)) for trees in paths])
        expected /= forest.n_trees
        if problem.n_classes:
            np.testing.assert_array_equal(model.predict_proba(X), expected, what)
            np.testing.assert_array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)], what)
        else:
            ends = forest.leaf_value.min(), forest.leaf_value.max()  # beyond which a rounded mean may lie
            np.testing.assert_array_equal(model.predict(X), expected[:, 0].clip(*ends), what)
        for n in (1, 2):  # other ways for few rows
            np.testing.assert_array_equal(model.predict(X[:n]), model.predict(X)[:n], what)


def check_draws(what, problem, forest, leaves, samples):
    """Leaves hold what the draws that fall into them say, and keep to the limits."""
    weight = np.ones(len(problem.y)) if problem.weight is None else problem.weight
    parameters = problem.parameters
    for t, drawn in enumerate(samples):
        first, last = forest.node_offsets[t : t + 2]
        unit = forest.weight_unit[t]
        nodes = {leaf: np.flatnonzero((np.array(leaves[t]) == leaf) & (drawn > 0)) for leaf in set(leaves[t])}
        total = 0
        for leaf in np.flatnonzero(forest.feature[first:last] < 0).tolist():
            rows, held = nodes.get(leaf, []), forest.leaf_row[first + leaf]
            assert len(rows) > 0, (what, t, leaf)
            draws, w = drawn[rows], drawn[rows] * weight[rows]
            assert forest.leaf_draws[held] == draws.sum(), (what, t, leaf)
            assert draws.sum() >= parameters["min_samples_leaf"], (what, t, leaf)
            total += draws.sum()
            if problem.n_classes:
                shift = forest.leaf_shift[held] if len(forest.leaf_shift) else 0
                found = np.ldexp(forest.leaf_weight[held] * unit, -shift)
                if problem.is_constrained:  # shares of leaves are kept within bounds, and weights have fewer bits
                    np.testing.assert_allclose(found.sum(), w.sum(), rtol=2.0**-27, err_msg=what)
                else:
                    np.testing.assert_array_equal(found, np.bincount(problem.y[rows], w, problem.n_classes), what)
            else:
                assert forest.leaf_weight[held, 0] * unit == w.sum(), (what, t, leaf)
                if not problem.is_constrained:
                    mean = np.average(problem.y[rows], weights=w)
                    np.testing.assert_allclose(forest.leaf_value[held], mean, rtol=1e-12, atol=1e-15, err_msg=what)
        assert total == drawn.sum(), (what, t)
        n_leaves = len({leaf for leaf in leaves[t]})
        assert n_leaves <= (parameters["max_leaf_nodes"] or n_leaves), (what, t)


def check_out_of_bag(what, problem, model, leaves, samples):
    """Estimates are means over the trees that did not draw a row."""
    forest = model.forest_
    estimates, errors = [], []
    for i, target in enumerate(problem.y):
        left_out = [t for t, drawn in enumerate(samples) if not drawn[i]]
        if not left_out:
            estimates.append(np.full(problem.n_classes or 1, np.nan))
            continue
        estimates.append(sum(values_of(forest, t, leaves[t][i]) for t in left_out) / len(left_out))
        errors.append(estimates[-1].argmax() != target if problem.n_classes else (estimates[-1][0] - target) ** 2)
    if problem.n_classes:
        np.testing.assert_array_equal(model.oob_decision_function_, estimates, what)
    else:
        np.testing.assert_array_equal(model.oob_prediction_, np.ravel(estimates), what)
        scale = np.ptp(problem.y) ** 2 * 2.0**-50  # errors are summed as integers
        np.testing.assert_allclose(model.oob_error_, np.mean(errors) if errors else np.nan, 1e-6, scale, err_msg=what)
    assert model.n_never_oob_ == len(problem.y) - len(errors), what


def test_what_must_not_change_a_forest(problems, assert_equal):
    for what, problem in problems:
        model = problem.fit()
        assert_equal(model, problem.fit(n_jobs=3), what)
        n, rng = len(problem.y), np.random.default_rng(1)
        check_layouts(what, problem, model, assert_equal)
        if model.n_estimators > 1:
            begun = problem.fit(n_estimators=1, warm_start=True)
            assert_equal(model, problem.fit(start=begun, n_estimators=model.n_estimators), f"{what}, warm start")
        weight = np.ones(n) if problem.weight is None else problem.weight
        heavy = problem.fit(weight=4 * weight)
        assert_equal(model, heavy, f"{what}, weights times 4")
        np.testing.assert_array_equal(heavy.forest_.weight_unit, 4 * model.forest_.weight_unit, what)
        whole = problem.fit(bootstrap=False, max_samples=None)
        assert_equal(whole, problem.fit(order=rng.permutation(n), bootstrap=False, max_samples=None), f"{what}, order")


def check_layouts(what, problem, model, assert_equal):
    """Where the numbers lie in memory means nothing, and their precision little."""
    X = problem.X
    wide = np.full((2 * len(X), 3 * X.shape[1]), 1e9)
    wide[::2, 1::3] = X
    for name, other in {"Fortran": np.asfortranarray(X), "strided": wide[::2, 1::3], "reversed": X[::-1].copy()[::-1]}.items():
        assert_equal(model, problem.fit(other), f"{what}, {name}")
        np.testing.assert_array_equal(model.predict(other), model.predict(X), what)
    narrow = X.astype(np.float32)
    if (narrow == X).all(where=~np.isnan(X)) and problem.parameters["splitter"] == "best":
        other = problem.fit(narrow)
        np.testing.assert_array_equal(other.forest_.feature, model.forest_.feature, what)
        np.testing.assert_array_equal(other.apply(narrow), model.apply(X), what)


def test_hist_with_all_bins_is_dense(problems):
    """Each split has equal sets of rows on its sides by both methods; thresholds may lie elsewhere between two values."""
    for what, problem in problems:
        known = {"splitter": "best", "max_bins": 256}
        hist, dense = (problem.fit(method=method, **known).forest_ for method in ("hist", "dense"))
        for name in ("node_offsets", "feature", "link", "leaf_draws", "leaf_weight", "leaf_value", "payload_words"):
            np.testing.assert_array_equal(getattr(hist, name), getattr(dense, name), f"{what}: {name}")
