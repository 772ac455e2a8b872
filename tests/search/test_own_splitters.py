"""Splitters written in Python: against the built-in ones to the bit, in all that a forest does, and where they go wrong."""

import itertools
import os
import pickle
import threading
import traceback

import numpy as np
import pytest
from helpers.device_forests import assert_same
from sklearn.base import clone
from sklearn.datasets import load_iris

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    export_text,
    plot_tree,
)
from dforest.splitter import Cut, PythonSplitter, SplitterError, Test

TASKS = pytest.mark.parametrize("n_classes", [2, 4, 0])
METHODS = pytest.mark.parametrize("method", ["hist", "dense"])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def problem(n_classes, n=120, dtype=np.float64, seed=0):
    """Ties, missing values, a categorical column 2, a constant one, weights. (X, y, weight)"""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5)).astype(dtype)
    X[:, 1] = np.round(X[:, 1], 1)
    X[:, 2] = rng.integers(0, 7, n)
    X[rng.random(n) < 0.2, 0] = np.nan
    X[rng.random(n) < 0.1, 2] = np.nan
    X[:, 4] = 3
    number = np.nan_to_num(X[:, 0]) + X[:, 1] ** 2 + np.isin(X[:, 2], (1, 5)) + rng.standard_normal(n) / 3
    y = np.searchsorted(np.quantile(number, np.arange(1, n_classes) / n_classes), number) if n_classes else number.astype(float)
    return X, y, rng.uniform(0.5, 2, n)


def forest_of(n_classes, **parameters):
    kind = RandomForestClassifier if n_classes else RandomForestRegressor
    return kind(**{"n_estimators": 4, "random_state": 3, "max_features": 3, **parameters})


# Against the built-in splitters ------------------------------------------------------------------------


class WholeSearch(PythonSplitter):
    """Every cut of a feature by itself; categories in the order of their mean response."""

    def best_cut(self, node, feature):
        codes = node.codes(feature)
        present = np.unique(codes)
        options = present.tolist()
        if node.is_categorical(feature):
            categories = present[present < node.n_codes(feature)]
            w = node.counts.astype(float) * node.weights
            response = node.targets == np.argmax(np.bincount(node.targets, w)) if node.n_classes else node.targets
            means = [np.average(response[codes == c], weights=w[codes == c]) for c in categories]
            order = categories[np.argsort(means, kind="stable")]
            options = [order[: i + 1] for i in range(len(order))]
        scores = [node.score_cut(feature, option) for option in options]
        best = int(np.argmax(scores)) if scores else -1
        return (options[best], scores[best]) if scores and scores[best] >= 0 else None


class ListSearch(WholeSearch):
    """A `WholeSearch` that also goes through the features by itself, in `find_split`."""

    def find_split(self, node):
        best, n_counted = None, 0
        for feature in node.order.tolist():
            if n_counted >= self.max_features and best is not None:
                break
            n_counted += not node.is_constant(feature)
            answer = self.best_cut(node, feature)
            if answer is not None and (best is None or answer[1] > best.score):
                best = Cut(feature, *answer)
        return best


class AxisTest(PythonSplitter):
    """Tests of single features as tests of its own: what the method "dense" does."""

    def __init__(self, offset=0.0):
        self.offset = offset

    def find_split(self, node):
        best, n_counted = None, 0
        for feature in node.order.tolist():
            if n_counted >= self.max_features and best is not None:
                break
            n_counted += not node.is_constant(feature)
            score, threshold, missing_left = node.best_along(node.values(feature))
            if score >= 0 and (best is None or score > best.score):
                best = Test([feature, threshold, missing_left, self.offset], feature, score)
        return best

    def goes_left(self, payload, X):
        x = X[:, int(payload[0])].astype(float)
        return np.where(np.isnan(x), payload[2] != 0, x + self.offset <= payload[1] + payload[3])


class NamedTest(AxisTest):
    def describe(self, payload, names):
        feature, threshold, *_ = payload.view(float)
        return f"{names[int(feature)]}  at most\n{threshold:.2f}"


class SumTest(PythonSplitter):
    """The best cut of the sum of two features."""

    def find_split(self, node):
        best = None
        for _ in range(3):
            a, b = node.random(purpose=_).choice(node.n_features, 2, replace=False)
            score, threshold, _ = node.best_along(node.values(a) + node.values(b))
            if score >= 0 and (best is None or score > best.score):
                best = Test([a, b, threshold], feature=int(a), score=score)
        return best

    def goes_left(self, payload, X):
        a, b = payload[:2].astype(int)
        return X[:, a].astype(float) + X[:, b] <= payload[2]

    def used_features(self, payload):
        return payload.view(float)[:2].astype(int), np.array([0.5, 0.5])


ALL_BUT_THRESHOLD = ("node_offsets", "feature", "link", "missing_left", "leaf_draws", "leaf_weight", "leaf_value",
                     "leaf_impurity", "payload_offsets", "payload_words")  # fmt: skip


@TASKS
@METHODS
@DTYPES
@pytest.mark.parametrize("kind", [WholeSearch, ListSearch])
def test_a_search_of_every_cut_gives_the_built_in_forest(n_classes, method, dtype, kind):
    X, y, weight = problem(n_classes, dtype=dtype)
    parameters = dict(method=method, categorical_features=[2], min_samples_leaf=2, min_weight_fraction_leaf=0.02)
    for sample_weight in (None, weight):
        built_in = forest_of(n_classes, **parameters).fit(X, y, sample_weight)
        for n_jobs in (1, 8):
            own = forest_of(n_classes, splitter=kind, n_jobs=n_jobs, **parameters).fit(X, y, sample_weight)
            # Thresholds lie between the same two values: by default in their middle, where "hist" takes a bin's edge.
            assert_same(built_in, own, ALL_BUT_THRESHOLD if method == "hist" else None)
    assert len(built_in.forest_.payload_words) > 0


@TASKS
@pytest.mark.parametrize(
    "limits", [{"max_leaf_nodes": 9}, {"min_impurity_decrease": 0.01}, {"max_depth": 3}, {"ccp_alpha": 0.01}]
)
def test_limits_of_growth_hold_for_searches_in_python(n_classes, limits):
    X, y, weight = problem(n_classes)
    limits = {"method": "dense", "categorical_features": [2], **limits}
    built_in = forest_of(n_classes, **limits).fit(X, y, weight)
    assert_same(built_in, forest_of(n_classes, splitter=WholeSearch(), **limits).fit(X, y, weight))


# Tests of a splitter's own: the same trees, but for how they are written down ------------------------------

SHAPE = ("node_offsets", "feature", "link", "leaf_draws", "leaf_weight", "leaf_value")


@TASKS
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"max_leaf_nodes": 9},
        {"ccp_alpha": 0.01},
        {"min_samples_leaf": 4, "min_weight_fraction_leaf": 0.05},
        {"bootstrap": True, "oob_score": True, "variable_importance": "mda_raw"},
        {"bootstrap": True, "oob_score": True, "variable_importance": "mda_scaled", "n_jobs": 8},
        {"variable_importance": "mdi", "n_jobs": 2},
    ],
)
def test_tests_of_its_own_do_all_that_thresholds_do(n_classes, parameters):
    X, y, weight = problem(n_classes)
    X_new = problem(n_classes, seed=1)[0]
    built_in = forest_of(n_classes, method="dense", **parameters).fit(X, y, weight)
    own = forest_of(n_classes, method="dense", splitter=AxisTest(), **parameters).fit(X, y, weight)
    assert_same(built_in, own, SHAPE)
    assert np.isnan(own.forest_.threshold[own.forest_.feature >= 0]).all()
    again = pickle.loads(pickle.dumps(own))
    assert_same(own, again)
    for forest in (own, again):
        assert np.array_equal(forest.predict(X_new), built_in.predict(X_new))
        assert np.array_equal(forest.apply(X_new), built_in.apply(X_new))
        assert (forest.decision_path(X_new)[0] != built_in.decision_path(X_new)[0]).nnz == 0
        if n_classes:
            assert np.array_equal(forest.predict_proba(X_new), built_in.predict_proba(X_new))
        assert np.array_equal(forest.predictor().predict(X_new[:5]), built_in.predictor().predict(X_new[:5]))
        assert np.array_equal(forest.predictor().predict(X_new[0]), built_in.predictor().predict(X_new[0]))
        assert np.array_equal(forest.feature_importances_, built_in.feature_importances_)
        for name in ("oob_score_", "oob_error_", "oob_curve_", "variable_importance_", "variable_importance_std_"):
            if hasattr(built_in, name):
                assert np.array_equal(getattr(forest, name), getattr(built_in, name), equal_nan=True)
        for tree, other in zip(forest.estimators_, built_in.estimators_, strict=True):
            assert np.array_equal(tree.predict(X_new), other.predict(X_new))
            assert np.array_equal(tree.apply(X_new), other.apply(X_new))


def test_few_rows_go_down_deep_trees():
    """Each node of a chain has one row or none of those that are asked about."""
    X = np.arange(300.0)[:, None]
    tree = DecisionTreeRegressor(splitter=FirstOff(), random_state=0).fit(X, X[:, 0])
    assert tree.get_depth() == 299
    for rows in ([299], [0], [7, 250], range(300)):
        assert tree.predict(X[rows]).tolist() == X[rows, 0].tolist()


class FirstOff(AxisTest):
    """The smallest value against the rest."""

    def find_split(self, node):
        return Test([0, node.values(0).min(), 0, 0])


def test_importances_are_shared_among_the_features_of_a_test():
    X, y, _ = problem(2)
    X = np.nan_to_num(X)
    forest = forest_of(2, splitter=SumTest(), bootstrap=True, variable_importance="mda_raw").fit(X, y)
    by_hand = np.zeros(5)
    for t in range(forest.forest_.n_trees):
        tree, table = forest.forest_.tree(t), forest.forest_.node_table(t)
        part = np.zeros(5)
        for node in np.flatnonzero(tree.feature >= 0):
            a, b = tree.payload_of(node).view(float)[:2].astype(int)
            part[[a, b]] += table.decrease[node] / 2
        by_hand += part / part.sum()
    np.testing.assert_allclose(forest.feature_importances_, by_hand / by_hand.sum(), rtol=1e-12)
    assert (forest.variable_importance_ != 0).sum() >= 3


def test_warm_start_goes_on_with_the_same_splitter_only():
    X, y, _ = problem(2)
    whole = forest_of(2, splitter=AxisTest()).fit(X, y)
    grown = forest_of(2, splitter=AxisTest(), n_estimators=2, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=4).fit(X, y)
    assert_same(whole, grown)
    before = dict(vars(grown))
    for splitter in (AxisTest(offset=1.0), "best", SumTest()):
        grown.set_params(n_estimators=6, splitter=splitter)
        with pytest.raises(ValueError, match=r"splitter=.*but warm_start=True goes on with trees that have tests by AxisTest"):
            grown.fit(X, y)
    grown.set_params(n_estimators=4, splitter=before["splitter"])
    assert vars(grown).keys() == before.keys() and grown.forest_ is before["forest_"]
    plain = forest_of(2, n_estimators=2, warm_start=True).fit(X, y).set_params(n_estimators=3, splitter=AxisTest())
    with pytest.raises(ValueError, match="goes on with trees that have tests of single features"):
        plain.fit(X, y)
    assert plain.set_params(splitter=WholeSearch()).fit(X, y).forest_.n_trees == 3


@TASKS
def test_pruning_a_tree_of_own_tests(n_classes):
    X, y, _ = problem(n_classes)
    X_prune, y_prune, _ = problem(n_classes, seed=2)
    kind = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
    trees = [kind(method="dense", random_state=0, splitter=s).fit(X, y) for s in ("best", AxisTest())]
    pruned = [tree.prune(X_prune, y_prune, inplace=False) for tree in trees]
    assert pruned[1].get_n_leaves() < trees[1].get_n_leaves()
    assert_same(*pruned, SHAPE)
    assert np.array_equal(pruned[0].predict(X), pruned[1].predict(X))
    paths = [tree.cost_complexity_pruning_path(X, y) for tree in trees]
    assert np.array_equal(paths[0].ccp_alphas, paths[1].ccp_alphas) and len(paths[0].ccp_alphas) > 3


def test_trees_of_own_tests_for_people_to_read():
    pytest.importorskip("matplotlib").use("Agg")
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=1, splitter=AxisTest(), random_state=0).fit(X, y)
    feature = tree.tree_.feature[0]
    assert tree.tree_.categories_left(0) is None and tree.tree_.categories_left(1) is None
    assert np.isnan(tree.tree_.threshold.min()) and tree.tree_.threshold[1] == -2
    assert export_text(tree).splitlines()[0] == f"|--- own test of {{feature_{feature}}}"
    assert export_text(tree).splitlines()[2] == f"|--- not: own test of {{feature_{feature}}}"
    assert plot_tree(tree)[0].get_text().splitlines()[0] == f"own test of {{x[{feature}]}}"
    assert f"own test of {{{'abcd'[feature]}}}" in plot_tree(tree, feature_names=list("abcd"))[0].get_text()
    tree = DecisionTreeClassifier(max_depth=2, splitter=SumTest(), random_state=0).fit(X, y)
    a, b = tree.forest_.payload_of(0).view(float)[:2].astype(int)
    assert export_text(tree, feature_names=list("abcd")).splitlines()[0] == f"|--- own test of {{{'abcd'[a]}, {'abcd'[b]}}}"
    tree = DecisionTreeClassifier(max_depth=1, splitter=NamedTest(), random_state=0).fit(X, y)
    words = tree.forest_.payload_of(0).view(float)
    shown = f"{'abcd'[int(words[0])]} at most {words[1]:.2f}"
    lines = export_text(tree, feature_names=list("abcd")).splitlines()
    assert lines[0] == f"|--- {shown}" and lines[2] == f"|--- not: {shown}"
    assert plot_tree(tree, feature_names=list("abcd"))[0].get_text().splitlines()[0] == shown
    # Inside a forest, as part of one.
    forest = RandomForestClassifier(2, max_depth=2, splitter=NamedTest(), random_state=0).fit(X, y)
    assert "at most" in export_text(forest.estimators_[1])


class HonestTest(AxisTest):
    """Leaves learn from half of the rows only."""

    def leaf_records(self, node):
        keeps = node.rows % 2 == 0
        return keeps if keeps.any() else np.ones(node.n_records, bool)


@TASKS
def test_honest_leaves(n_classes):
    X, y, weight = problem(n_classes)
    forest = forest_of(n_classes, splitter=HonestTest(), min_samples_leaf=10, bootstrap=False, n_estimators=2).fit(X, y)
    plain = forest_of(n_classes, splitter=AxisTest(), min_samples_leaf=10, bootstrap=False, n_estimators=2).fit(X, y)
    assert_same(forest, plain, ("node_offsets", "feature", "payload_words"))
    leaves = forest.apply(X)
    for t in range(2):
        tree = forest.forest_.tree(t)
        for leaf in np.unique(leaves[:, t]):
            rows = np.flatnonzero(leaves[:, t] == leaf)
            kept = rows[rows % 2 == 0] if (rows % 2 == 0).any() else rows
            assert tree.leaf_draws[tree.leaf_row[leaf]] == len(kept)
            if n_classes:
                assert (tree.leaf_weight[tree.leaf_row[leaf]] == np.bincount(y[kept], minlength=n_classes)).all()
            else:
                np.testing.assert_allclose(tree.leaf_value[tree.leaf_row[leaf]], y[kept].mean(), rtol=1e-12)
    for n_jobs in (2, 8):
        other = clone(forest).set_params(n_jobs=n_jobs).fit(X, y)
        assert_same(forest, other)


# What goes wrong ---------------------------------------------------------------------------------------


class Wrong(PythonSplitter):
    """Returns what it is told to."""

    def __init__(self, answer=None):
        self.answer = answer

    def find_split(self, node):
        return self.answer(node)


class WrongTest(Wrong):
    def goes_left(self, payload, X):
        if payload[0] == 1:
            return X[:, 0] > 0
        return [np.ones(len(X), bool), None, X[:, 0], np.ones(len(X) + 1, bool), X > 0][int(payload[0]) - 2]


def highest(node, feature=0):
    return int(node.codes(feature).max())


@pytest.mark.parametrize(
    "answer, message",
    [
        (lambda node: Cut(0, highest(node)), "the cut after code .* of feature 0 is not inside the node: codes there go from 0"),
        (lambda node: Cut(0, -1), "not inside the node"),
        (lambda node: Cut(0, 10**12), "not inside the node"),
        (lambda node: Cut(0, 0), "1 of 80 draws on the left and breaks min_samples_leaf=3"),
        (lambda node: Cut(7, 3), "feature=7; allowed are numbers from 0 to 2"),
        (lambda node: Cut(-1, 3), "feature=-1"),
        (lambda node: Cut("a", 3), "feature='a'"),
        (lambda node: Cut(0, 20, float("nan")), "score=nan; a score is a finite number from 0"),
        (lambda node: Cut(0, 20, float("inf")), "score=inf"),
        (lambda node: Cut(0, 20, -2.0), "score=-2.0"),
        (lambda node: Test([1.0]), "returned a Test, but there is no `goes_left`"),
    ],
)
def test_wrong_cuts_are_named(answer, message):
    X = np.random.default_rng(0).standard_normal((80, 3))
    for n_jobs in (1, 4):
        forest = RandomForestRegressor(3, splitter=Wrong(answer), min_samples_leaf=3, bootstrap=False, n_jobs=n_jobs)
        with pytest.raises(SplitterError, match=f"Wrong: .*{message}"):
            forest.fit(X, X[:, 0])
        assert not hasattr(forest, "forest_")


@pytest.mark.parametrize(
    "answer, message",
    [
        (lambda node: Cut(0, 20), "with `goes_left`, every split is a Test"),
        (lambda node: Test([]), "empty payload"),
        (lambda node: Test([1.0], feature=3), "feature=3; allowed are numbers from 0 to 2"),
        (lambda node: Test([1.0], score=float("nan")), "score=nan"),
        (lambda node: Test([2.0]), "all 80 draws are on one side of a test"),
        (lambda node: Test([3.0]), r"goes_left returned an array of shape \(\) and dtype object for 80 rows; allowed is \(80,\)"),
        (lambda node: Test([4.0]), "dtype float64 for 80 rows"),
        (lambda node: Test([5.0]), r"shape \(81,\)"),
        (lambda node: Test([6.0]), r"shape \(80, 3\)"),
    ],
)
def test_wrong_tests_are_named(answer, message):
    X = np.random.default_rng(0).standard_normal((80, 3))
    with pytest.raises(SplitterError, match=f"WrongTest: .*{message}"):
        RandomForestRegressor(3, splitter=WrongTest(answer), bootstrap=False).fit(X, X[:, 0])


def test_broken_leaf_rules_of_tests_are_named():
    X = np.linspace(-9, 1, 80)[:, None]
    splitter = WrongTest(lambda node: Test([1.0]))
    for limit, message in [
        ({"min_samples_leaf": 9}, r"puts 8 of 80 draws on the left and breaks min_samples_leaf=9"),
        ({"min_weight_fraction_leaf": 0.2}, r"8 of 80 .* min_weight_fraction_leaf \(a weight of 16\)"),
    ]:
        with pytest.raises(SplitterError, match=message):
            DecisionTreeRegressor(splitter=splitter, **limit).fit(X, X[:, 0])


def test_wrong_answers_of_other_methods_are_named():
    X = np.random.default_rng(0).standard_normal((80, 3))

    class Honest(WholeSearch):
        def leaf_records(self, node):
            return self.answer(node)

    for answer, message in [
        (lambda self, node: np.zeros(node.n_records, bool), "not all False"),
        (lambda self, node: np.ones(node.n_records), "dtype float64"),
        (lambda self, node: [True] * (node.n_records + 1), r"bool"),
    ]:
        Honest.answer = answer
        with pytest.raises(SplitterError, match=f"Honest: leaf_records returned .*{message}"):
            DecisionTreeRegressor(splitter=Honest()).fit(X, X[:, 0])
    with pytest.raises(SplitterError, match="the sides of|an array has the shape"):
        DecisionTreeRegressor(splitter=Wrong(lambda node: node.score_sides([True]))).fit(X, X[:, 0])
    with pytest.raises(SplitterError, match="an array has the shape"):
        DecisionTreeRegressor(splitter=Wrong(lambda node: node.best_along(np.zeros(3)))).fit(X, X[:, 0])
    with pytest.raises(IndexError, match="feature=3; the data have 3 features"):
        DecisionTreeRegressor(splitter=Wrong(lambda node: node.values(3))).fit(X, X[:, 0])
    with pytest.raises(NotImplementedError, match="PythonSplitter defines neither best_cut nor find_split"):
        DecisionTreeRegressor(splitter=PythonSplitter).fit(X, X[:, 0])


def test_criteria_that_score_columns_only_refuse_other_divisions():
    X = np.random.default_rng(0).standard_normal((80, 3))
    parameters = dict(criterion="absolute_error", method="dense", max_depth=3)
    with pytest.raises(ValueError, match="scores cuts of columns only"):
        DecisionTreeRegressor(splitter=AxisTest(), **parameters).fit(X, X[:, 0])
    for ask in (lambda node: node.best_along(node.values(0)), lambda node: node.score_sides(node.values(0) > 0)):
        with pytest.raises(SplitterError, match="Wrong: criterion=.*scores cuts of columns only"):
            DecisionTreeRegressor(splitter=Wrong(ask), **parameters).fit(X, X[:, 0])
    built_in = DecisionTreeRegressor(random_state=0, **parameters).fit(X, X[:, 0])
    assert_same(built_in, DecisionTreeRegressor(splitter=WholeSearch(), random_state=0, **parameters).fit(X, X[:, 0]))


def test_monotonic_constraints_mean_nothing_for_own_tests():
    X, y, _ = problem(0)
    with pytest.raises(ValueError, match=r"AxisTest.*makes tests of its own; allowed is monotonic_cst=None"):
        RandomForestRegressor(splitter=AxisTest(), monotonic_cst=[1, 0, 0, 0, 0]).fit(X, y)


class Failing(WholeSearch):
    """Raises at the deeper nodes of some trees."""

    def find_split(self, node):
        if node.seed % 4 == 0 and node.depth == 2:
            raise KeyError("lost in the middle")  # here
        return super().find_split(node)


@pytest.mark.parametrize("n_jobs", [1, 8])
def test_an_exception_comes_through_with_its_place(n_jobs, monkeypatch):
    monkeypatch.setattr("dforest.estimators.forest.base.TUNING", {"parallel_from": 1, "parallel_visits_from": 0})
    X, y, _ = problem(2)
    forest = forest_of(2, n_estimators=2, splitter=WholeSearch()).fit(X, y)
    forest.set_params(splitter=Failing(), n_estimators=20, n_jobs=n_jobs)
    before = dict(vars(forest))
    with pytest.raises(KeyError, match="lost in the middle") as caught:
        forest.fit(X, y)
    last = traceback.extract_tb(caught.tb)[-1]
    assert (last.filename, last.name) == (__file__, "find_split") and "here" in last.line
    assert vars(forest) == before and forest.forest_ is before["forest_"]


def resident():
    """Bytes of memory that the process holds."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_failing_fits_leave_nothing_behind(monkeypatch):
    monkeypatch.setattr("dforest.estimators.forest.base.TUNING", {"parallel_from": 1, "parallel_visits_from": 0})
    X, y, _ = problem(2, n=4000)

    def fail():
        with pytest.raises(KeyError):
            forest_of(2, n_estimators=8, n_jobs=8, splitter=LateFailing()).fit(X, y)

    for _ in range(10):
        fail()
    before, n_threads = resident(), threading.active_count()
    for _ in range(50):
        fail()
    assert threading.active_count() == n_threads
    # A fit holds some 5 MB; were it kept, 50 of them would be 250.
    assert resident() - before < 40 * 2**20


class LateFailing(AxisTest):
    """Raises at the root of each eighth tree."""

    n_begun = itertools.count(1)

    def find_split(self, node):
        if node.depth == 0 and next(self.n_begun) % 8 == 0:
            raise KeyError
        return Test([1, np.median(node.values(1)), 0, 0], 1) if node.depth < 3 else None


def test_a_node_is_closed_after_its_call():
    kept = []

    class Keeping(WholeSearch):
        def find_split(self, node):
            if not kept:
                kept.extend([node, node.rows, node.X])
            return super().find_split(node)

    X, y, _ = problem(2)
    DecisionTreeClassifier(splitter=Keeping()).fit(X, y)
    node, rows, values = kept
    for ask in (lambda: node.n_records, lambda: node.values(0), lambda: node.depth, lambda: node.score_cut(0, 1), lambda: node.X,
                lambda: node.best_along(np.zeros(len(X))), lambda: node.random(), lambda: node.statistics):
        with pytest.raises(RuntimeError, match="this node has been split already"):
            ask()
    assert np.array_equal(values, X, equal_nan=True) and np.array_equal(rows, np.arange(len(X)))
    with pytest.raises(ValueError, match="read-only"):
        rows[0] = 1


@TASKS
def test_what_a_node_shows(n_classes):
    X, y, weight = problem(n_classes)
    weight[5] = 0.0
    seen = []

    class Looking(WholeSearch):
        def find_split(self, node):
            seen.append({name: getattr(node, name) for name in SHOWN})
            seen[-1].update(
                values=np.array([node.values(j) for j in range(5)]).T,
                constant=[node.is_constant(j) for j in range(5)],
                random=(node.random().random(3).tolist(), node.random(1).random(3).tolist()),
            )
            return super().find_split(node)

    forest_of(n_classes, splitter=Looking(), categorical_features=[2], min_samples_leaf=2).fit(X, y, weight)
    X, y, weight = (np.delete(array, 5, axis=0) for array in (X, y, weight))
    streams = {}
    for node in seen:
        rows, counts = node["rows"], node["counts"]
        assert np.array_equal(node["X"], X[rows], equal_nan=True) and np.array_equal(node["values"], X[rows], equal_nan=True)
        assert np.array_equal(node["targets"], y[rows]) and counts.sum() == node["n_draws"] == node["statistics"][0]
        assert node["statistics"][1] == (counts.astype(int) * node["weights"]).sum()
        shares = node["weights"] / node["weights"].sum()
        np.testing.assert_allclose(shares, weight[rows] / weight[rows].sum(), rtol=1e-6)
        assert sorted(node["order"]) == list(range(5)) and node["n_classes"] == n_classes and node["min_draws"] == 2
        assert node["constant"] == [len(np.unique(column, equal_nan=True)) == 1 for column in X[rows].T]
        streams[node["seed"], node["key"]] = node["random"]
    numbers = [tuple(part) for pair in streams.values() for part in pair]
    assert len(set(numbers)) == len(numbers) == 2 * len(seen)


SHOWN = ("seed", "key", "rows", "counts", "weights", "targets", "X", "n_draws", "statistics", "order", "n_classes", "min_draws")
