"""Tests of the oblique splitter with an installed dforest. Run them from a folder outside dforest's sources."""

import pickle

import numpy as np
import pytest
from oblique import ObliqueSplitter, PythonObliqueSplitter
from oblique.in_python import draw_projections, project
from oblique.splitter import count_entries
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from dforest import DecisionTreeClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.testing import check_splitter
from dforest.testing.streams import Stream


def assert_same_trees(a, b):
    """Check that two fitted forests are equal to the bit; the classes of their splitters may differ."""
    a, b = a.forest_.as_dict(), b.forest_.as_dict()
    assert list(a) == list(b)
    for name in a:
        assert a[name].dtype == b[name].dtype and a[name].tobytes() == b[name].tobytes(), name


def diagonal(n, seed, n_columns=10):
    """Classes on the two sides of x0 + x1 = x2."""
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, n_columns))
    return X, (X[:, 0] + X[:, 1] > X[:, 2]).astype(int)


def with_gaps(X, share=0.1):
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < share] = np.nan
    return X


def terms_of(forest, node):
    """The terms of a node's test, as (column, sign)."""
    terms = forest.payload_of(node).view(float)[2:]
    return [(int(abs(term)) - 1, np.sign(term)) for term in terms]


# The rule


def test_matrices_have_so_many_entries_in_cells_equally_likely():
    counts, signs, n = np.zeros((4, 5)), 0.0, 4000
    for tree in range(n):
        projections = draw_projections(Stream(tree, 2, 64), 4, 5, 6)
        terms = [term for projection in projections for term in projection]
        assert len(terms) == 6 and all(projections)
        assert all(len({abs(term) for term in projection}) == len(projection) for projection in projections)
        for term in projections[0] if len(projections) == 4 else []:
            counts[0, abs(term) - 1] += 1
        counts[1] += np.bincount(np.abs(terms) - 1, minlength=5)
        signs += np.sign(terms).sum()
    # Standard deviations: of a share of n * 6 terms, and of their sum.
    assert np.abs(counts[1] - n * 6 / 5).max() < 5 * np.sqrt(n * 6 / 5)
    assert abs(signs) < 5 * np.sqrt(n * 6)
    assert counts[0].min() > 0


def test_all_cells_may_be_drawn():
    terms = draw_projections(Stream(0, 0, 64), 3, 4, 12)
    assert [sorted(abs(term) for term in projection) for projection in terms] == [[1, 2, 3, 4]] * 3


@pytest.mark.parametrize("combinations", [1, 1.5, 3.0, 10])
def test_projections_have_so_many_columns_on_average(combinations):
    X, y = diagonal(400, 0)
    forest = RandomForestClassifier(20, splitter=ObliqueSplitter(combinations), max_features=8, random_state=0).fit(X, y).forest_
    inner = np.flatnonzero(forest.feature >= 0)
    lengths = np.array([len(terms_of(forest, node)) for node in inner])
    assert lengths.min() >= 1 and lengths.max() <= 10
    if combinations == 10:
        assert (lengths == 10).all()
    else:
        # The average of those that are not empty, and the best ones are the longer ones here.
        assert combinations * 0.9 < lengths.mean() < combinations * 2.5
    assert {sign for node in inner for _, sign in terms_of(forest, node)} == {-1.0, 1.0}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize(
    "kind, load, given",
    [
        (RandomForestClassifier, load_iris, {}),
        (RandomForestClassifier, load_iris, {"max_features": 1, "min_samples_leaf": 4}),
        (RandomForestClassifier, load_wine, {"criterion": "entropy", "max_leaf_nodes": 9}),
        (RandomForestRegressor, load_diabetes, {"max_features": 3, "max_depth": 6}),
    ],
)
def test_the_compiled_splitter_and_the_one_in_python_grow_the_same_forest(kind, load, given, gaps, dtype):
    X, y = load(return_X_y=True)
    X, y = with_gaps(X.astype(dtype), gaps)[::2], y[::2]
    compiled, plain = (
        kind(3, splitter=splitter, random_state=5, **given).fit(X, y) for splitter in (ObliqueSplitter(), PythonObliqueSplitter())
    )
    assert_same_trees(compiled, plain)
    assert (compiled.forest_.feature >= 0).sum() > 3
    queries = with_gaps(load(return_X_y=True)[0].astype(dtype), 0.3)
    assert np.array_equal(compiled.predict(queries), plain.predict(queries))
    assert np.array_equal(compiled.feature_importances_, plain.feature_importances_)


def test_infinities_count_as_values_and_as_missing_where_they_cancel_out():
    X = np.random.default_rng(0).standard_normal((120, 3))
    X[::7, 0], X[::5, 1], X[3::7, 0] = np.inf, np.inf, -np.inf
    y = np.arange(120) % 3
    compiled, plain = (
        RandomForestClassifier(3, splitter=kind(3), random_state=0).fit(X, y) for kind in (ObliqueSplitter, PythonObliqueSplitter)
    )
    assert_same_trees(compiled, plain)
    assert np.isnan(project(X, [1, -2])).any()
    assert compiled.score(X, y) > 0.6


def test_a_node_that_single_columns_can_divide_is_divided():
    # Of 40 columns one differs; most matrices miss it.
    X = np.zeros((64, 40))
    X[:, 17] = np.arange(64)
    y = np.arange(64) % 2
    for seed in range(5):
        tree = DecisionTreeClassifier(splitter=ObliqueSplitter, max_features=2, random_state=seed).fit(X, y)
        assert tree.score(X, y) == 1.0
    constant = DecisionTreeClassifier(splitter=ObliqueSplitter, random_state=0).fit(np.zeros((4, 2)), [0, 1, 0, 1])
    assert len(constant.forest_.feature) == 1


@pytest.mark.parametrize("seed", range(5))
def test_a_diagonal_boundary_is_learned_better_than_by_single_features(seed):
    X, y = diagonal(2000, seed, n_columns=6)
    errors = []
    for splitter in ("best", ObliqueSplitter(3)):
        forest = RandomForestClassifier(40, splitter=splitter, max_features=None, random_state=seed, n_jobs=2)
        errors.append(1.0 - forest.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]))
    assert errors[1] < 0.7 * errors[0]


def test_leaf_rules_hold():
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(10, splitter=ObliqueSplitter, min_samples_leaf=9, random_state=0).fit(X, y).forest_
    assert forest.leaf_draws.min() >= 9


# What a forest does with its tests


def test_tests_survive_prediction_and_pickle():
    X, y = load_breast_cancer(return_X_y=True)
    X = with_gaps(X)
    model = RandomForestClassifier(10, splitter=ObliqueSplitter(2.5), bootstrap=False, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    again = pickle.loads(pickle.dumps(model))
    assert_same_trees(model, again)
    assert again.splitter == ObliqueSplitter(2.5) and again.forest_.splitter == ObliqueSplitter(2.5)
    queries = with_gaps(X, 0.2)
    assert np.array_equal(again.predict_proba(queries), model.predict_proba(queries))
    assert np.array_equal(again.apply(queries), model.apply(queries))
    for row in (0, 7):
        assert np.array_equal(model.predict_proba(queries[row : row + 1])[0], model.predict_proba(queries)[row])


def test_a_node_tests_what_its_payload_says():
    X, y = diagonal(300, 0)
    X = with_gaps(X)
    model = DecisionTreeClassifier(splitter=ObliqueSplitter(3), max_depth=1, random_state=0).fit(X, y)
    forest = model.forest_
    threshold, missing_left, *terms = forest.payload_of(0).view(float)
    values = project(X, terms)
    left = (values <= threshold) | (np.isnan(values) & bool(missing_left))
    assert np.array_equal(model.apply(X) == 1, left)


@pytest.mark.parametrize("variable_importance", ["mdi", "mda_raw", "mda_scaled"])
def test_importances_find_the_columns_that_matter(variable_importance):
    X, y = diagonal(1500, 3)
    forest = RandomForestClassifier(
        60, splitter=ObliqueSplitter(2.0), oob_score=True, variable_importance=variable_importance, random_state=0
    ).fit(X, y)
    assert set(np.argsort(forest.variable_importance_)[-3:]) == {0, 1, 2}
    assert set(np.argsort(forest.feature_importances_)[-3:]) == {0, 1, 2}
    assert forest.feature_importances_.sum() == pytest.approx(1.0)
    assert forest.oob_score_ > 0.9


def test_shares_of_a_decrease_are_equal():
    payload = np.array([0.5, 0.0, 3.0, -1.0, 7.0, -2.0])
    for splitter in (ObliqueSplitter(), PythonObliqueSplitter()):
        features, shares = splitter.used_features(payload.view(np.uint64))
        assert features.tolist() == [2, 0, 6, 1] and shares.tolist() == [0.25] * 4


def test_tests_can_be_read():
    payload = np.array([0.25, 0.0, -1.0, 3.0]).view(np.uint64)
    missing = np.array([-2.0, 1.0, 2.0]).view(np.uint64)
    for splitter in (ObliqueSplitter(), PythonObliqueSplitter()):
        assert splitter.describe(payload, ["a", "b", "c"]) == "-a + c <= 0.25"
        assert splitter.describe(missing, ["a", "b", "c"]) == "b <= -2 or missing"


def test_the_contract_is_kept():
    check_splitter(ObliqueSplitter(2.0))


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("given", [{}, {"max_leaf_nodes": 12}, {"oob_score": True, "variable_importance": "mda_raw"}], ids=str)
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor, ExtraTreesRegressor])
def test_threads_change_nothing(kind, given):
    X, y = diagonal(6000, 2)
    X = with_gaps(X, 0.02)
    y = y + X[:, 4] ** 2 if kind is not RandomForestClassifier else y
    y = np.nan_to_num(y)
    if kind is ExtraTreesRegressor:
        given = {**given, "bootstrap": True}
    one, two, eight = (
        kind(5, splitter=ObliqueSplitter(), random_state=0, n_jobs=n_jobs, **given).fit(X, y) for n_jobs in (1, 2, 8)
    )
    assert_same_trees(one, two)
    assert_same_trees(one, eight)
    assert np.array_equal(one.predict(X), eight.predict(X))
    if "variable_importance" in given:
        assert np.array_equal(one.variable_importance_, eight.variable_importance_)


def test_best_first_without_a_limit_in_reach_gives_the_same_tree():
    X, y = diagonal(500, 4)
    depth_first, best_first = (
        RandomForestClassifier(3, splitter=ObliqueSplitter(), max_leaf_nodes=limit, random_state=0).fit(X, y)
        for limit in (None, 500)
    )
    assert_same_trees(depth_first, best_first)
    small = RandomForestClassifier(3, splitter=ObliqueSplitter(), max_leaf_nodes=6, random_state=0).fit(X, y)
    assert [tree.get_n_leaves() for tree in small] == [6, 6, 6]


def test_warm_start_goes_on():
    X, y = load_wine(return_X_y=True)
    whole = RandomForestClassifier(6, splitter=ObliqueSplitter(2), random_state=0).fit(X, y)
    model = RandomForestClassifier(2, splitter=ObliqueSplitter(2), random_state=0, warm_start=True).fit(X, y)
    assert_same_trees(model.set_params(n_estimators=6).fit(X, y), whole)
    with pytest.raises(ValueError, match="feature_combinations=3"):
        model.set_params(n_estimators=8, splitter=ObliqueSplitter(3)).fit(X, y)


@pytest.mark.parametrize("method", ["hist", "dense"])
def test_float32_is_exact_in_float64(method):
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    narrow, wide = (
        RandomForestClassifier(5, splitter=ObliqueSplitter, method=method, random_state=0).fit(data, y)
        for data in (X, X.astype(np.float64))
    )
    assert np.array_equal(narrow.forest_.payload_words, wide.forest_.payload_words)
    assert np.array_equal(narrow.predict_proba(X), wide.predict_proba(X.astype(np.float64)))


def test_the_method_and_its_bins_change_nothing():
    X, y = load_wine(return_X_y=True)
    coarse, exact = (
        RandomForestClassifier(5, splitter=ObliqueSplitter, random_state=0, **given).fit(X, y)
        for given in ({"max_bins": 4}, {"method": "dense"})
    )
    assert_same_trees(coarse, exact)


# Parameters


def test_parameters_are_kept_and_cloned():
    splitter = ObliqueSplitter(feature_combinations=2.0)
    assert splitter.get_params() == {"feature_combinations": 2.0}
    assert repr(clone(splitter)) == "ObliqueSplitter(feature_combinations=2.0)"
    assert splitter.set_params(feature_combinations=None).feature_combinations is None


@pytest.mark.parametrize("kind", [ObliqueSplitter, PythonObliqueSplitter])
@pytest.mark.parametrize("wrong", [0, -1.5, np.nan, np.inf, "many", [1.5]])
def test_what_is_no_number_of_columns_is_refused(kind, wrong):
    with pytest.raises(ValueError, match="feature_combinations=.*positive"):
        kind(wrong)


@pytest.mark.parametrize("kind", [ObliqueSplitter, PythonObliqueSplitter])
def test_limits_are_told_in_fit(kind):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="feature_combinations=5; allowed are at most 4"):
        RandomForestClassifier(2, splitter=kind(5)).fit(X, y)
    with pytest.raises(ValueError, match="AbsoluteError"):
        RandomForestRegressor(2, splitter=kind(), criterion="absolute_error", method="dense").fit(X, y)
    with pytest.raises(ValueError, match="monotonic_cst"):
        RandomForestClassifier(2, splitter=kind(), monotonic_cst=[1, 0, 0, 0]).fit(X, y % 2)


def test_matrices_have_a_size_that_can_be_drawn_from():
    assert count_entries(None, 4, 10) == 6
    assert count_entries(None, 1, 1) == count_entries(0.1, 3, 5) == 1
    with pytest.raises(ValueError, match="65536 projections of 32768 features"):
        count_entries(1.5, 2**16, 2**15)


def test_one_feature_is_enough():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(5, splitter=ObliqueSplitter, random_state=0).fit(X[:, 2:3], y)
    assert forest.score(X[:, 2:3], y) > 0.9
