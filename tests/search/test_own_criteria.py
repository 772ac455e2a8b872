"""Criteria written in Python: against the built-in ones, and where they go wrong."""

import pickle
import traceback

import numpy as np
import pytest
from helpers.device_forests import assert_same
from sklearn.datasets import load_diabetes, load_wine
from sklearn.exceptions import NotFittedError

from dforest import DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.criterion import AbsoluteError, CriterionError, Poisson, PythonCriterion, SquaredError

METHODS = pytest.mark.parametrize("method", ["hist", "dense"])


class SlowGini(PythonCriterion):
    def impurity(self, statistics):
        share = statistics.class_weight / statistics.weight[:, None]
        return (share * (1 - share)).sum(axis=1)


class ExactGini(SlowGini):
    """Scored by the formula of the built-in one, in the same order of operations."""

    def score(self, left, right, node):
        total = np.zeros(len(left.weight))
        for k in range(node.class_weight.shape[1]):
            cross = node.weight * left.class_weight[:, k] - left.weight * node.class_weight[:, k]
            total += cross * cross
        return total / ((left.weight * right.weight) * node.weight)


class Variance(PythonCriterion):
    """Squared error, but for the mean square, which is the same for all cuts."""

    def impurity(self, statistics):
        return -(statistics.mean**2)

    def score(self, left, right, node):
        return left.weight * right.weight / node.weight * (left.mean - right.mean) ** 2


class Midpoint(Variance):
    """Leaves predict half of the mean."""

    def value(self, statistics):
        return statistics.mean / 2


class Told(PythonCriterion):
    """Answers what it is told to."""

    def __init__(self, method="impurity", answer=None):
        self.method = method
        self.answer = answer

    def impurity(self, statistics):
        return self.answer(statistics) if self.method == "impurity" else np.zeros(len(statistics.weight))

    def value(self, statistics):
        return self.answer(statistics) if self.method == "value" else statistics.mean

    def score(self, left, right, node):
        return self.answer(left) if self.method == "score" else super().score(left, right, node)


def problem(n_classes, n=160, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    X[:, 1] = np.round(X[:, 1], 1)
    X[rng.random(n) < 0.2, 0] = np.nan
    X[:, 2] = rng.integers(0, 6, n)
    number = np.nan_to_num(X[:, 0]) + X[:, 1] ** 2 + np.isin(X[:, 2], (0, 4)) + rng.standard_normal(n) / 3
    if n_classes:
        return X, np.searchsorted(np.quantile(number, np.arange(1, n_classes) / n_classes), number)
    return X, number - number.min()


SHAPE = ("node_offsets", "feature", "threshold", "missing_left", "link", "leaf_draws", "payload_words")


@METHODS
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 12}, {"min_impurity_decrease": 0.01}, {"min_samples_leaf": 5}])
def test_gini_in_python_gives_the_built_in_forest(method, n_classes, limits):
    X, y = problem(n_classes)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    parameters = dict(n_estimators=3, method=method, random_state=0, categorical_features=[2], **limits)
    for sample_weight in (None, weight):
        built_in = RandomForestClassifier(**parameters).fit(X, y, sample_weight)
        for n_jobs in (1, 8):
            own = RandomForestClassifier(criterion=ExactGini(), n_jobs=n_jobs, **parameters).fit(X, y, sample_weight)
            assert_same(built_in, own)
        np.testing.assert_allclose(own.feature_importances_, built_in.feature_importances_, rtol=1e-9)
        assert np.array_equal(own.predict_proba(X), built_in.predict_proba(X))


@METHODS
def test_the_default_score_is_the_decrease_of_impurity(method):
    X, y = load_wine(return_X_y=True)
    own = DecisionTreeClassifier(criterion=SlowGini, max_depth=3, method=method, random_state=0).fit(X, y)
    built_in = DecisionTreeClassifier(max_depth=3, method=method, random_state=0).fit(X, y)
    assert own.tree_.feature.tolist() == built_in.tree_.feature.tolist()
    np.testing.assert_allclose(own.tree_.impurity, built_in.tree_.impurity, atol=1e-12)
    np.testing.assert_allclose(own.feature_importances_, built_in.feature_importances_, rtol=1e-6)


@METHODS
@pytest.mark.parametrize("limits", [{"max_depth": 4}, {"max_leaf_nodes": 12}])
def test_squared_error_in_python_grows_the_built_in_trees(method, limits):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:200], y[:200]
    for weight in (None, np.random.default_rng(1).uniform(0.5, 2, 200)):
        # With other seeds, two cuts of equal worth may differ in the last bit of the score that is written in Python.
        parameters = dict(method=method, random_state=3, n_estimators=2, **limits)
        built_in = RandomForestRegressor(**parameters).fit(X, y, weight)
        own = RandomForestRegressor(criterion=Variance(), **parameters).fit(X, y, weight)
        assert_same(built_in, own, SHAPE)
        np.testing.assert_allclose(own.predict(X), built_in.predict(X), rtol=1e-7)
        assert_same(own, RandomForestRegressor(criterion=Variance(), n_jobs=8, **parameters).fit(X, y, weight))


def test_leaves_predict_what_value_says():
    X, y = problem(0)
    parameters = dict(max_depth=3, min_samples_leaf=5, random_state=0)
    own = DecisionTreeRegressor(criterion=Midpoint(), **parameters).fit(X, y)
    plain = DecisionTreeRegressor(criterion=Variance(), **parameters).fit(X, y)
    np.testing.assert_allclose(own.predict(X), plain.predict(X) / 2, rtol=1e-9)
    np.testing.assert_allclose(own.tree_.value[0, 0, 0], y.mean() / 2, rtol=1e-9)
    # A node of equal targets predicts these.
    whole = DecisionTreeRegressor(criterion=Midpoint(), method="dense", random_state=0).fit(X, y)
    assert np.array_equal(whole.predict(X), y)
    again = pickle.loads(pickle.dumps(own))
    assert np.array_equal(again.predict(X), own.predict(X)) and again.criterion == own.criterion


@pytest.mark.parametrize(
    "kind, name, method",
    [(SquaredError, "squared_error", "hist"), (Poisson, "poisson", "dense"), (AbsoluteError, "absolute_error", "hist")],
)
def test_objects_of_built_in_criteria_are_what_their_names_are(kind, name, method):
    """Also in what is computed from a grown forest: units of targets, impurities, pruning."""
    X, y = problem(0)
    y *= 1000
    results = []
    for criterion in (name, kind(), kind):
        parameters = dict(criterion=criterion, method=method, max_depth=5, random_state=0)
        forest = RandomForestRegressor(3, variable_importance="mdi", **parameters).fit(X, y)
        tree = DecisionTreeRegressor(ccp_alpha=1.0, **parameters).fit(X, y)
        path = DecisionTreeRegressor(**parameters).cost_complexity_pruning_path(X, y)
        results.append([*forest.forest_.as_dict().values(), *tree.forest_.as_dict().values(), forest.variable_importance_,
                        forest.feature_importances_, tree.tree_.impurity, path.ccp_alphas, path.impurities])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert a.tobytes() == b.tobytes()
    if kind is Poisson:
        with pytest.raises(ValueError, match="criterion=.poisson"):
            RandomForestRegressor(3, criterion=kind()).fit(X, -y)


class MySquaredError(SquaredError):
    """Another class of the same criterion."""


class MyPoisson(Poisson):
    pass


@pytest.mark.parametrize("kind, name", [(MySquaredError, "squared_error"), (MyPoisson, "poisson")])
def test_subclasses_of_built_in_criteria_have_their_importances(kind, name):
    X, y = problem(0)
    y *= 1000
    parameters = dict(max_depth=5, random_state=0)
    forests = (RandomForestRegressor(3, criterion=c, variable_importance="mdi", **parameters) for c in (kind(), name))
    own, built_in = (forest.fit(X, y) for forest in forests)
    assert_same(own, built_in)
    np.testing.assert_allclose(own.variable_importance_, built_in.variable_importance_, rtol=1e-9)
    np.testing.assert_allclose(own.feature_importances_, built_in.feature_importances_, rtol=1e-9)
    paths = [DecisionTreeRegressor(criterion=c, **parameters).cost_complexity_pruning_path(X, y) for c in (kind(), name)]
    np.testing.assert_allclose(paths[0].ccp_alphas, paths[1].ccp_alphas, rtol=1e-9)
    np.testing.assert_allclose(paths[0].impurities, paths[1].impurities, rtol=1e-9)


def test_statistics_are_those_of_the_sides():
    X, y = problem(3)
    weight = np.random.default_rng(0).integers(1, 5, len(y))
    seen = []

    class Looking(ExactGini):
        def score(self, left, right, node):
            seen.append((left, right, node))
            return super().score(left, right, node)

    DecisionTreeClassifier(criterion=Looking(), max_depth=2, random_state=0).fit(X, y, weight)
    for left, right, node in seen:
        assert len(node.draws) == 1 and left.draws.dtype == np.int64 and left.mean is None
        for name in ("draws", "weight", "class_weight"):
            a, b, total = (getattr(part, name) for part in (left, right, node))
            assert (a + b == total).all() and (a >= 0).all() and (b >= 0).all()
        assert (left.class_weight.sum(axis=1) == left.weight).all() and (left.draws > 0).all() and (right.draws > 0).all()
        with pytest.raises(ValueError, match="read-only"):
            left.weight[0] = 1
    assert seen[0][2].weight[0] == weight.sum() and seen[0][2].draws[0] == len(y)
    assert seen[0][2].class_weight[0].tolist() == np.bincount(y, weight).tolist()
    means = []

    class LookingAtMeans(Variance):
        def score(self, left, right, node):
            means.append((left, right, node))
            return super().score(left, right, node)

    X, y = problem(0)
    DecisionTreeRegressor(criterion=LookingAtMeans(), max_depth=2, random_state=0).fit(X, y)
    for left, right, node in means:
        assert left.class_weight is None
        np.testing.assert_allclose((left.weight * left.mean + right.weight * right.mean) / node.weight, node.mean[0], rtol=1e-7)
    np.testing.assert_allclose(means[0][2].mean[0], y.mean(), rtol=1e-9)


@pytest.mark.parametrize("n_jobs", [1, 4])
@pytest.mark.parametrize(
    "method, answer, message",
    [
        ("impurity", lambda s: np.full(len(s.weight), np.nan), "returned nan|score returned nan"),
        ("impurity", lambda s: 0.5 * np.ones(len(s.weight) + 1), r"impurity returned an array of shape \(2,\) for 1 statistics"),
        ("score", lambda s: np.zeros(3 + len(s.weight)), r"score returned an array of shape \(\d+,\) for \d+ statistics"),
        ("score", lambda s: np.full(len(s.weight), np.nan), "score returned nan; allowed are finite numbers, and -inf"),
        ("score", lambda s: np.full(len(s.weight), np.inf), "score returned inf"),
        ("value", lambda s: np.zeros((len(s.weight), 2)), r"value returned an array of shape \(1, 2\) for 1 statistics"),
        ("value", lambda s: s.mean * np.nan, "value returned nan; allowed are finite numbers"),
    ],
)
def test_wrong_answers_are_named(method, answer, message, n_jobs):
    X, y = problem(0)
    forest = RandomForestRegressor(4, criterion=Told(method, answer), max_depth=3, n_jobs=n_jobs)
    with pytest.raises(CriterionError, match=f"Told: .*({message})"):
        forest.fit(X, y)
    with pytest.raises(NotFittedError):
        forest.predict(X)


@pytest.mark.parametrize("n_jobs", [1, 8])
@pytest.mark.parametrize("method", ["impurity", "score", "value"])
def test_an_exception_comes_through_with_its_place(method, n_jobs):
    def fail(statistics):
        raise KeyError("lost")  # here

    X, y = problem(0)
    forest = RandomForestRegressor(8, criterion=Told(method, fail), max_depth=3, n_jobs=n_jobs)
    before = dict(vars(forest))
    with pytest.raises(KeyError, match="lost") as caught:
        forest.fit(X, y)
    last = traceback.extract_tb(caught.tb)[-1]
    assert (last.filename, last.name) == (__file__, "fail") and "here" in last.line
    assert vars(forest) == before


def test_cuts_that_are_not_allowed_are_not_made():
    X, y = problem(2)

    class Balanced(ExactGini):
        """No side is more than twice the other."""

        def score(self, left, right, node):
            ratio = left.weight / right.weight
            return np.where((ratio > 2) | (ratio < 0.5), -np.inf, super().score(left, right, node))

    tree = DecisionTreeClassifier(criterion=Balanced(), random_state=0).fit(X, y).tree_
    left, right = tree.children_left, tree.children_right
    inner = left >= 0
    ratio = tree.n_node_samples[left[inner]] / tree.n_node_samples[right[inner]]
    assert inner.sum() > 3 and (ratio <= 2).all() and (ratio >= 0.5).all()
    nothing = DecisionTreeClassifier(criterion=Told("score", lambda s: np.full(len(s.weight), -np.inf))).fit(X, y)
    assert nothing.get_n_leaves() == 1
