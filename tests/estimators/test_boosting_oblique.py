"""Boosted trees with oblique splits: what they learn, what kinds of data they take, what methods say, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from helpers.oblique import mixed, rotated
from scipy.sparse import csr_array
from sklearn.datasets import load_iris

from dforest import (
    HistGradientBoostingClassifier,
    HistGradientBoostingDistribution,
    HistGradientBoostingRanker,
    HistGradientBoostingRegressor,
    export_text,
    load,
)
from dforest.core.search.oblique_test import ObliqueTest

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
OBLIQUE = {"split_axis": "oblique", "random_state": 0}
FEW = OBLIQUE | {"max_iter": 12, "early_stopping": False}


def log_loss(model, rows, classes):
    return -np.log(model.predict_proba(rows)[np.arange(len(rows)), classes]).mean()


@pytest.mark.parametrize("seed", range(3))
def test_planes_are_learned_better_than_by_single_features(seed):
    rows, classes = rotated(seed)
    known = {"max_iter": 100, "early_stopping": False, "random_state": seed}
    plain, oblique = (
        HistGradientBoostingClassifier(split_axis=axis, projection_density=3.0, **known).fit(rows[:1000], classes[:1000])
        for axis in ("axis_aligned", "oblique")
    )
    assert log_loss(oblique, rows[1000:], classes[1000:]) < 0.85 * log_loss(plain, rows[1000:], classes[1000:])


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"n_projections": 7, "projection_weights": "continuous", "projection_scaling": "standard"},
        {"projections": [[1.0, -1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0], [0.0, 0.5, 2.0, 0.0]]},
        {"splitter": "random", "max_bins": 16},
        {"subsample": 0.5, "sampling": "mvs", "colsample_bytree": 0.6},
        {"forced_splits": {"feature": 1, "threshold": 0.1}, "max_leaf_nodes": 5},
    ],
)
def test_tables_with_gaps_and_categories(tmp_path, given):
    """A fit gives the same model on any number of threads, in parts, and in a file, also of rows with missing values."""
    frame, target = mixed()
    model = HistGradientBoostingRegressor(**FEW, **given, learning_rate=0.3, n_jobs=1).fit(frame, target)
    other = HistGradientBoostingRegressor(**FEW, **given, learning_rate=0.3, n_jobs=4).fit(frame, target)
    np.testing.assert_array_equal(model.predict(frame), other.predict(frame))
    assert model.score(frame, target) > 0.6
    *_, staged = model.staged_predict(frame)
    np.testing.assert_array_equal(staged, model.predict(frame))
    model.save(tmp_path / "model.dforest")
    np.testing.assert_array_equal(load(tmp_path / "model.dforest").predict(frame), model.predict(frame))
    parts = HistGradientBoostingRegressor(**FEW | {"max_iter": 5, "warm_start": True}, **given, learning_rate=0.3)
    parts.fit(frame, target).set_params(max_iter=12).fit(frame, target)
    np.testing.assert_array_equal(parts.predict(frame), model.predict(frame))
    unseen = frame.assign(b=np.nan, kind=None)
    assert np.isfinite(model.predict(unseen)).all()
    sums = sum(tree.predict(frame) for tree in model.estimators_[:, 0]) + model.forest_.objective.baseline[0]
    np.testing.assert_allclose(model.predict(frame), sums, rtol=1e-12)


def test_single_rows_and_permutations():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, 5))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    target = np.nan_to_num(rows[:, 0] - rows[:, 1])
    model = HistGradientBoostingRegressor(**FEW).fit(rows, target)
    single = model.predictor()
    np.testing.assert_array_equal([single.predict(row) for row in rows[:20]], model.predict(rows[:20]))
    means = model.permutation_importance(rows, target, random_state=0).importances_mean
    assert means[:2].min() > 10 * abs(means[2:]).max()


def read_tests(model):
    """The `ObliqueTest` of each node that is no leaf."""
    forest = model.forest_
    return [ObliqueTest.read(forest.payload_of(node)) for node in np.flatnonzero(forest.feature >= 0).tolist()]


def test_importances_share_the_gains_of_sums():
    rows, classes = rotated(0)
    model = HistGradientBoostingClassifier(**FEW).fit(rows, classes)
    gains, wanted = model.forest_.inner[:, -1], np.zeros(6)
    for gain, test in zip(gains, read_tests(model), strict=True):
        wanted[test.columns] += gain / len(test.columns)
    np.testing.assert_allclose(model.feature_importances_, wanted / wanted.sum(), rtol=1e-12)
    assert any(test.is_sum for test in read_tests(model))


def test_the_trees_of_an_iteration_share_their_sums():
    """There are as many as parameters say, the same ones for the trees of all classes, and others in the next iteration."""
    rows, _ = rotated(0)
    classes = np.digitize(rows @ [1.0, -1.0, 1.0, 1.0, -1.0, 1.0], [-1.0, 1.0])
    model = HistGradientBoostingClassifier(**FEW | {"max_iter": 2}, n_projections=3, max_features=1.0).fit(rows, classes)
    forest, found = model.forest_, []
    for iteration in range(2):
        begin, end = forest.node_offsets[3 * iteration], forest.node_offsets[3 * iteration + 3]
        nodes = [begin + node for node in np.flatnonzero(forest.feature[begin:end] >= 0).tolist()]
        tests = [ObliqueTest.read(forest.payload_of(node)) for node in nodes]
        found.append({(*test.columns.tolist(), *test.terms.ravel().tolist()) for test in tests if test.is_sum})
        assert 1 <= len(found[-1]) <= 3
    assert not found[0] & found[1]


def test_rows_go_where_their_tests_say():
    """Leaves, paths and predictions of a forest of sums agree with each other."""
    frame, target = mixed()
    model = HistGradientBoostingRegressor(**FEW, max_leaf_nodes=6).fit(frame, target)
    leaves = model.apply(frame)
    forest = model.forest_
    for t in range(3):
        tree = model.estimators_[t, 0]
        np.testing.assert_array_equal(tree.apply(frame), leaves[:, t])
        path = tree.decision_path(frame)
        assert (np.asarray(path.sum(axis=1)).ravel() >= 1).all() and path[np.arange(len(frame)), leaves[:, t]].all()
    assert " <= " in export_text(model.estimators_[0, 0], feature_names=list(frame))
    assert forest.splitter.n_projections is None and forest.splitter.thresholds == "best"
    assert "double" in model.to_c()


def test_sums_of_ones_own():
    """They are tested with their weights as they are; the matrix fits the table or is refused."""
    rows, classes = rotated(1)
    matrix = np.array([[1.0, -2.0, 0, 0, 0, 0], [0, 0, 3.0, 1.0, 0, 0]])
    model = HistGradientBoostingClassifier(**FEW, projections=matrix).fit(rows, classes)
    found = {(*test.columns.tolist(), *test.terms[:, 0].tolist()) for test in read_tests(model) if test.is_sum}
    assert found == {(0, 1, 1.0, -2.0), (2, 3, 3.0, 1.0)}
    frame, target = mixed()
    for matrix, message in (
        (np.ones((2, 3)), "projections has 3 columns, and X has 4 features"),
        (np.ones((2, 4)), "projections has weights of feature 3, which is categorical; allowed is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            HistGradientBoostingRegressor(**FEW, projections=matrix).fit(frame, target)
    with pytest.raises(ValueError, match="projections is given with split_axis='axis_aligned'"):
        HistGradientBoostingRegressor(projections=matrix).fit(frame, target)


def test_kinds_of_models():
    """Several classes in one tree or each, labels, outputs, bags, folds, ranking and distributions, on any number of threads."""
    rng = np.random.default_rng(0)
    rows, target = rng.standard_normal((300, 4)), rng.standard_normal(300)
    columns = np.column_stack([rows[:, 0] - rows[:, 1], target])
    for model, y, told in (
        (HistGradientBoostingClassifier(**FEW, multi_class="one_tree"), rng.integers(0, 4, 300), {}),
        (HistGradientBoostingClassifier(**FEW, multi_class="one_vs_rest"), rng.integers(0, 4, 300), {}),
        (HistGradientBoostingClassifier(**FEW, class_weight="balanced"), rng.random(300) < 0.2, {}),
        (HistGradientBoostingClassifier(**FEW), columns > 0, {}),
        (HistGradientBoostingRegressor(**FEW, loss="absolute_error"), target, {"sample_weight": rng.random(300)}),
        (HistGradientBoostingRegressor(**FEW, n_bags=3), columns, {}),
        (HistGradientBoostingRegressor(**OBLIQUE, max_iter=12, early_stopping=True, validation_folds=3), columns[:, 0], {}),
        (HistGradientBoostingRanker(**FEW), rng.integers(0, 3, 300), {"qid": np.arange(300) // 10}),
        (HistGradientBoostingDistribution(**FEW), target, {}),
    ):
        one, four = (type(model)(**model.get_params() | {"n_jobs": n}).fit(rows, y, **told) for n in (1, 4))
        assert any(test.is_sum for test in read_tests(one))
        np.testing.assert_array_equal(one.predict(rows), four.predict(rows))
        np.testing.assert_array_equal(one.feature_importances_, four.feature_importances_)


@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_labels_in_the_order_of_statistics(subsample):
    """Columns of many labels have their statistics beside the sums; trees keep sets of labels, as without sums."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((800, 3)), columns=["a", "b", "c"])
    labels, effects = rng.integers(0, 60, 800), rng.standard_normal(60)
    target = (frame["a"] - frame["b"] + effects[labels] + 0.1 * rng.standard_normal(800)).to_numpy()
    frame["town"] = pd.Categorical([f"town {label}" for label in labels])
    frame.loc[rng.random(800) < 0.05, "town"] = None
    model, other = (
        HistGradientBoostingRegressor(**FEW, learning_rate=0.3, subsample=subsample, categorical_split="order", n_jobs=n)
        .fit(frame, target) for n in (1, 3)
    )  # fmt: skip
    subsets = HistGradientBoostingRegressor(**FEW, learning_rate=0.3, subsample=subsample, categorical_split="subset")
    assert not np.array_equal(subsets.fit(frame, target).predict(frame), model.predict(frame))
    np.testing.assert_array_equal(model.predict(frame), other.predict(frame))
    tests = read_tests(model)
    assert any(test.is_sum for test in tests) and any(test.terms is None for test in tests)
    assert max(max(test.columns) for test in tests) == 3 and model.score(frame, target) > 0.6
    unseen = frame.assign(town=pd.Categorical([None] * 800, categories=frame["town"].cat.categories))
    assert np.isfinite(model.predict(unseen)).all()
    assert model.feature_importances_[3] > 0.1
    assert len(model.to_c()) > 1000


def test_few_columns_have_no_sums():
    """Of one column of numbers, or of columns that don't vary, trees are those of single columns."""
    rng = np.random.default_rng(0)
    rows, target = np.column_stack([rng.standard_normal(200), np.zeros(200)]), rng.standard_normal(200)
    plain, oblique = (
        HistGradientBoostingRegressor(**FEW | {"split_axis": axis}, max_features=1.0).fit(rows, target)
        for axis in ("axis_aligned", "oblique")
    )
    np.testing.assert_array_equal(plain.predict(rows), oblique.predict(rows))
    np.testing.assert_array_equal(plain.feature_importances_, oblique.feature_importances_)


def test_statistics_without_sums_are_as_ever():
    """Beside a single column of numbers there are no sums, and sets of labels are those of other boosted trees."""
    rng = np.random.default_rng(0)
    labels, number = rng.integers(0, 90, 500), rng.standard_normal(500)
    frame = pd.DataFrame({"number": number, "town": pd.Categorical(labels.astype(str))})
    frame.loc[rng.random(500) < 0.05, "town"] = None
    target = np.sin(labels) + number
    unseen = frame.assign(town=pd.Categorical([None] * 500, categories=frame["town"].cat.categories))
    plain, oblique = (
        HistGradientBoostingRegressor(**FEW | {"split_axis": axis}, categorical_split="order").fit(frame[:400], target[:400])
        for axis in ("axis_aligned", "oblique")
    )
    for rows in (frame, unseen):
        np.testing.assert_array_equal(plain.predict(rows), oblique.predict(rows))
    np.testing.assert_allclose(plain.feature_importances_, oblique.feature_importances_, rtol=1e-12)


def test_what_is_refused():
    model = HistGradientBoostingRegressor(**FEW)
    with pytest.raises(ValueError, match='split_axis="oblique" with a sparse X'):
        model.fit(csr_array(X_IRIS), Y_IRIS)
    model.set_params(warm_start=True, split_axis="axis_aligned").fit(X_IRIS, Y_IRIS)
    with pytest.raises(ValueError, match='goes on with trees grown by split_axis="axis_aligned"'):
        model.set_params(split_axis="oblique", max_iter=15).fit(X_IRIS, Y_IRIS)
    oblique = HistGradientBoostingRegressor(**FEW).fit(X_IRIS, Y_IRIS)
    with pytest.raises(ValueError, match="makes tests of its own"):
        oblique.shap_values(X_IRIS)
    with pytest.raises(ValueError, match="tests of its own"):
        oblique.partial_dependence(X_IRIS, [0])
    with pytest.raises(ValueError, match="tests add up several features"):
        oblique.to_treelite()


def test_memory_counts_the_sums():
    rng = np.random.default_rng(0)
    rows, target = rng.standard_normal((20_000, 20)), rng.standard_normal(20_000)
    plain, oblique = (
        HistGradientBoostingRegressor(split_axis=axis, max_iter=2, early_stopping=False, n_jobs=1).estimate_memory(rows, target)
        for axis in ("axis_aligned", "oblique")
    )
    more = oblique.growth.rows - plain.growth.rows
    assert 2 * 20_000 * 20 < more < 2 * 20_000 * 20 + 20_000 * 40 + 2**21
