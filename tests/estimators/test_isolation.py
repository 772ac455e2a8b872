"""`IsolationForest`: scores, outliers, what trees draw, and what is kept and refused."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from helpers.device_forests import differences
from scipy.sparse import csr_matrix
from sklearn.base import is_outlier_detector
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import IsolationForest as Reference
from sklearn.ensemble._iforest import _average_path_length
from sklearn.metrics import roc_auc_score

import dforest
from dforest import ExtraTreesRegressor, IsolationForest
from dforest.core.forest.arrays import Forest
from dforest.core.search.isolation import average_path_length
from dforest.errors import UnseenLabelsWarning
from dforest.estimators.forest.base import TUNING
from dforest.inspection.export import export_text
from dforest.sampling import BlockSampling

X, Y = load_breast_cancer(return_X_y=True)
METHODS = pytest.mark.parametrize("method", ["hist", "dense"])


def test_average_path_lengths_are_those_of_scikit_learn():
    n = np.array([1, 2, 3, 5, 256, 999, 10**9])
    np.testing.assert_allclose([average_path_length(k) for k in n], _average_path_length(n), rtol=1e-15)


@METHODS
def test_scores_follow_from_leaves(method):
    model = IsolationForest(20, method=method, random_state=0).fit(X)
    forest, leaves = model.forest_, model.apply(X)
    assert model.max_samples_ == 256 and forest.depths().max() <= 8
    lengths = np.zeros(len(X))
    for t in range(20):
        table, depth = forest.node_table(t), forest.depths()[forest.node_offsets[t] : forest.node_offsets[t + 1]]
        lengths += depth[leaves[:, t]] + _average_path_length(table.draws)[leaves[:, t]]
    np.testing.assert_allclose(model.score_samples(X), -(2 ** (-lengths / (20 * _average_path_length([256])))), rtol=1e-13)
    np.testing.assert_array_equal(model.decision_function(X), model.score_samples(X) + 0.5)
    np.testing.assert_array_equal(model.predict(X), np.where(model.decision_function(X) < 0, -1, 1))
    np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))


@pytest.mark.slow
def test_scores_are_about_those_of_scikit_learn():
    own, other = (kind(n_estimators=2000, random_state=0).fit(X).score_samples(X) for kind in (IsolationForest, Reference))
    assert np.abs(own - other).max() < 0.02 and np.corrcoef(own, other)[0, 1] > 0.998
    assert roc_auc_score(Y, own) == pytest.approx(roc_auc_score(Y, other), abs=0.01)


def test_contamination_is_the_share_of_outliers():
    model = IsolationForest(contamination=0.1, random_state=0).fit(X)
    assert model.offset_ == np.percentile(model.score_samples(X), 10)
    assert (model.predict(X) < 0).mean() == pytest.approx(0.1, abs=1 / len(X))
    assert IsolationForest(3).fit(X).offset_ == -0.5
    for wrong in (0, 0.6, "some"):
        with pytest.raises(ValueError, match="contamination"):
            IsolationForest(contamination=wrong).fit(X)


def test_draws():
    for parameters, expected in [
        ({}, 256), ({"max_samples": 0.5}, 284), ({"max_samples": 7}, 7), ({"max_samples": 1e-9}, 1),
        ({"bootstrap": True, "max_samples": 100}, 100), ({"bootstrap": BlockSampling(10, replace=False), "max_samples": 3}, 30),
    ]:  # fmt: skip
        model = IsolationForest(3, random_state=0, **parameters).fit(X)
        assert model.max_samples_ == expected
        for rows in model.estimators_samples_:
            assert len(rows) == expected and (len(set(rows)) == expected or parameters["bootstrap"] is True)
    with pytest.warns(UserWarning, match="max_samples will be set to n_samples"):
        assert IsolationForest(3, max_samples=600).fit(X).max_samples_ == 569
    assert IsolationForest(3).fit(X[:1]).predict(X[:3]).tolist() == [1, 1, 1]


def test_rows_are_drawn_by_weight():
    weight = np.where(np.arange(len(X)) < 100, 1.0, 1e-9)
    model = IsolationForest(10, random_state=0).fit(X, sample_weight=weight)
    assert (np.concatenate(model.estimators_samples_) < 100).all() and model.max_samples_ == 256
    zeros = IsolationForest(10, random_state=0).fit(X, sample_weight=weight == 1)
    assert zeros.max_samples_ == 100
    alone = IsolationForest(10, random_state=0).fit(X[:100])
    np.testing.assert_array_equal(zeros.score_samples(X), alone.score_samples(X))
    equal = IsolationForest(10, random_state=0).fit(X, sample_weight=np.full(len(X), 0.3))
    assert not differences(equal, IsolationForest(10, random_state=0).fit(X))


@METHODS
def test_features_are_drawn_by_tree(method):
    for max_features, n_drawn in ((3, 3), (0.2, 6), (1e-9, 1)):
        model = IsolationForest(300, max_features=max_features, method=method, random_state=0, n_jobs=2).fit(X)
        offsets, feature = model.forest_.node_offsets, model.forest_.feature
        used = [set(feature[a:b]) - {-1, -2} for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
        assert max(map(len, used)) == n_drawn
        share = np.bincount([j for one in used for j in one], minlength=30) / 300
        np.testing.assert_allclose(share, n_drawn / 30, atol=5 * np.sqrt(n_drawn / 30 / 300))
    with pytest.raises(ValueError, match="max_features must be <= n_features"):
        IsolationForest(max_features=31).fit(X)


def test_roots_draw_features_and_thresholds_uniformly():
    rows = np.random.default_rng(0).random((100, 4)) ** 3
    model = IsolationForest(3000, max_samples=1.0, random_state=0).fit(rows)
    roots = model.forest_.node_offsets[:-1]
    feature, threshold = model.forest_.feature[roots], model.forest_.threshold[roots]
    np.testing.assert_allclose(np.bincount(feature, minlength=4) / 3000, 0.25, atol=0.04)
    low, high = rows.min(axis=0)[feature], rows.max(axis=0)[feature]
    np.testing.assert_allclose(np.quantile((threshold - low) / (high - low), [0.25, 0.5, 0.75]), [0.25, 0.5, 0.75], atol=0.04)


def test_codes_of_drawn_rows_alone_give_the_same_forests():
    rng, n_rows = np.random.default_rng(0), 20_000
    rows = rng.standard_normal((n_rows, 3)).round(2)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    weight = rng.integers(0, 4, n_rows) / 2
    models = [
        IsolationForest(5, random_state=0),
        IsolationForest(5, random_state=0, bootstrap=True, n_jobs=2),
        IsolationForest(5, random_state=0, bootstrap=BlockSampling(700), max_samples=1),
        ExtraTreesRegressor(3, bootstrap="subsample", max_samples=50, random_state=0, categorical_features=[2]),
        dforest.RandomForestClassifier(2, max_samples=40, method="dense", random_state=0, oob_score=True),
    ]
    labels, rows[:, 2] = np.nan_to_num(rows[:, 0]) > 0, rng.integers(0, 5, n_rows)
    for model in models:
        for given in (None, weight):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                found = pickle.loads(pickle.dumps(model)).fit(rows, labels, given)
                try:
                    TUNING["drawn_up_to"] = 0
                    expected = model.fit(rows, labels, given)
                finally:
                    TUNING.clear()
            assert not differences(found, expected)
            assert found.estimate_memory(rows, labels, given).codes < rows.nbytes / 4
            if hasattr(found, "oob_score_"):
                assert found.oob_score_ == expected.oob_score_


def test_kinds_of_data():
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(np.array(["x", "y"])[Y])})
    frame.loc[::7, "a"] = np.nan
    model = IsolationForest(20, random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == ["a", "b"] and model.is_categorical_.tolist() == [False, True]
    assert model.score_samples(frame).shape == (569,)
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.2, X, 0.0)
    for method in ("hist", "dense"):
        sparse, dense = (IsolationForest(5, method=method, random_state=0).fit(given) for given in (csr_matrix(rows), rows))
        assert not differences(sparse, dense)
        np.testing.assert_array_equal(sparse.score_samples(csr_matrix(rows)), dense.score_samples(rows))


def test_shapley_values_add_up_to_mean_path_lengths():
    model = IsolationForest(20, random_state=0).fit(X[:, :5])
    lengths = model.predictor().predict(X[:9, :5].copy()).ravel()
    for background in (None, X[:20, :5]):
        found = model.shap_values(X[:9, :5], background)
        np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), lengths, rtol=1e-9)
    np.testing.assert_allclose(model.score_samples(X[:9, :5]), -np.exp2(-lengths / average_path_length(256)), rtol=1e-15)


def test_what_is_refused():
    fitted = IsolationForest(3).fit(X)
    for name in ("feature_importances_", "oob_importance", "score", "predict_proba"):
        assert not hasattr(fitted, name)
    with pytest.raises(AttributeError, match="Estimators that predict targets have it"):
        fitted.oob_importance(X, Y)
    assert is_outlier_detector(IsolationForest())
    with pytest.raises(ValueError, match="length of a path is no code for kernels"):
        IsolationForest(3, device="sycl").fit(X)
    with pytest.raises(ValueError, match="outliers have no errors"):
        IsolationForest(3, bootstrap=True).set_callbacks(dforest.callback.OutOfBagPlateau()).fit(X)
    for name, wrong in (("max_samples", 1.5), ("max_features", 0), ("bootstrap", "balanced"), ("n_estimators", 0)):
        with pytest.raises(ValueError, match=name):
            IsolationForest(**{name: wrong}).fit(X)


def test_extended_forests():
    rows = X.astype(np.float32)
    rows[::7, 3] = np.nan
    model = IsolationForest(20, extension_level=4, max_features=0.5, random_state=0, warm_start=True).fit(rows)
    # A power of 2 is another unit of measurement, and a shift by whole numbers changes no fraction.
    scaled = IsolationForest(20, extension_level=4, random_state=0).fit(np.round(X) * 8.0 - 4.0)
    np.testing.assert_array_equal(
        scaled.score_samples(np.round(X) * 8.0 - 4.0),
        IsolationForest(20, extension_level=4, random_state=0).fit(np.round(X)).score_samples(np.round(X)),
    )
    text = export_text(model.estimators_[0], feature_names=[f"x{j}" for j in range(30)])
    assert re.search(r"-?[0-9.]+ x[0-9]+( [+-] [0-9.e-]+ x[0-9]+){4} <= -?[0-9]", text)
    with pytest.raises(ValueError, match="ExtendedSplitter.*makes tests of its own"):
        model.shap_values(rows)
    with pytest.raises(ValueError, match="extension_level=30, but X has 30 features: allowed are 0 to 29"):
        IsolationForest(extension_level=30).fit(X)
    with pytest.raises(ValueError, match="goes on with trees that have tests by ExtendedSplitter"):
        model.set_params(n_estimators=30, extension_level=0).fit(rows)


def test_extended_forests_see_rows_beside_a_band():
    rng = np.random.default_rng(0)
    t = rng.uniform(-3, 3, 1000)
    band, beside = np.c_[t, t + 0.1 * rng.standard_normal(1000)], np.c_[[-2.0, 2.0], [2.0, -2.0]]
    for columns in (slice(None), [1, 0]):
        extended, plain = (IsolationForest(200, extension_level=level, random_state=0).fit(band[:, columns]) for level in (1, 0))
        n_below = [(model.score_samples(band[:, columns]) < model.score_samples(beside[:, columns]).max()).sum()
                   for model in (extended, plain)]  # fmt: skip
        assert 2 * n_below[0] < n_below[1]


def test_extended_forests_of_categories_and_extremes():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(["a", "b", "c"], 500), "size": rng.standard_normal(500)})
    frame.loc[0] = ["rare", 9.0]
    model = IsolationForest(100, extension_level=1, random_state=0, categorical_features=["kind"]).fit(frame)
    assert model.score_samples(frame).argmin() == 0
    huge = np.finfo(float).max
    rows = np.array([[-np.inf, 0.0], [huge, 1.0], [-huge, 2.0], [5e-324, 3.0], [np.nan, 4.0], [np.inf, 5.0], [0.0, np.nan]])
    scores = IsolationForest(300, extension_level=1, random_state=0).fit(rows).score_samples(rows)
    assert np.isfinite(scores).all() and np.argmin(scores) == 0
    assert scores[1] == scores[5]  # from the least value it is farther to either than float64 can say
    same = IsolationForest(3, extension_level=1, random_state=0).fit(np.ones((9, 2)))
    assert len(same.forest_.feature) == 3 and len(set(same.score_samples(np.eye(2)))) == 1


@pytest.mark.parametrize(("word", "value"), [(1, 30), (1, 2**63), (9, 2**40)])
def test_tests_of_extended_forests_that_were_tampered_with(word, value):
    model = IsolationForest(2, extension_level=1, random_state=0).fit(X)
    words = model.forest_.payload_words.copy()
    words[word] = value  # the number of a feature
    model.forest_ = Forest({**model.forest_.as_dict(), "payload_words": words}, **model.forest_.settings())
    with pytest.raises(ValueError, match="a split of 17 words is no test of an isolation forest on 30 features"):
        model.score_samples(X)


@pytest.mark.parametrize("extension_level", [0, 1])
@pytest.mark.parametrize("method", ["dense", "hist"])
@pytest.mark.parametrize("seed", range(4))
def test_labels_that_were_not_there_are_as_rare_as_the_rarest(seed, method, extension_level):
    """In random tables, a column's label that training lacked makes rows outliers as much as the rarest one it had."""
    rng = np.random.default_rng(seed)
    n, n_labels = int(rng.integers(200, 600)), int(rng.integers(2, 12))
    share = rng.dirichlet(np.full(n_labels, 0.5))
    labels = rng.choice(n_labels, n, p=share)
    X = np.column_stack([labels, rng.integers(0, 3, n), rng.standard_normal((n, 2))])
    forest = IsolationForest(
        100, random_state=seed, method=method, extension_level=extension_level, categorical_features=[0, 1]
    ).fit(X)
    known, counts = np.unique(labels, return_counts=True)

    def mean_score(label):
        rows = X.copy()
        rows[:, 0] = label
        return forest.score_samples(rows).mean()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLabelsWarning)
        unseen = mean_score(99)
        assert unseen == mean_score(np.nan)
    scores = np.array([mean_score(label) for label in known])
    assert unseen <= scores[counts.argmin()] + 0.02
    assert unseen < scores[counts.argmax()]
