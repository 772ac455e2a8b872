"""Boosted trees that order many labels by statistics of other rows: `categorical_split="order"`."""

import numpy as np
import pytest
from helpers.boosting import assert_equal_models
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from twins.label_statistics import label_statistics

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRanker, HistGradientBoostingRegressor
from dforest.core.forest.assembly import TreeArrays
from dforest.core.grow.label_order import LABELS_ORDERED_ABOVE
from dforest.estimators.boosting import base
from dforest.estimators.boosting.statistics import LabelStatistics

FAST = {"max_iter": 20, "learning_rate": 0.3, "max_leaf_nodes": 8, "categorical_split": "order", "random_state": 0}
KINDS = pytest.mark.parametrize("kind", ["numbers", "two classes", "five classes", "two outputs", "grades"])


def problem(kind, n=600, n_labels=60, seed=0, **parameters):
    """Rows with a column of many labels, some missing, and one of few, and an estimator of such targets."""
    rng = np.random.default_rng(seed)
    label, few = rng.integers(0, n_labels, n), rng.integers(0, 5, n)
    X = np.column_stack([rng.standard_normal(n), label, few]).astype(float)
    X[rng.random(n) < 0.05, 1] = np.nan
    score = X[:, 0] + 2 * rng.standard_normal(n_labels)[label] + rng.standard_normal(n)
    given = {"categorical_features": [1, 2], **FAST, **parameters}
    if kind == "numbers":
        return X, score, HistGradientBoostingRegressor(**given), {}
    if kind == "two outputs":
        return X, np.column_stack([score, score + 3 * X[:, 0]]), HistGradientBoostingRegressor(**given), {}
    cuts = np.quantile(score, [0.2, 0.4, 0.6, 0.8] if kind != "two classes" else [0.6])
    y = np.searchsorted(cuts, score)
    if kind == "grades":
        return X, y, HistGradientBoostingRanker(**given), {"qid": np.arange(n) // 20}
    return X, y, HistGradientBoostingClassifier(**given), {}


def fit_and_look(model, *data, **more):
    """The fitted model, its `LabelStatistics`, and what its trees were as they were grown."""
    seen, own = [], LabelStatistics.with_sets

    def with_sets(statistics, tree):
        seen.append((statistics, TreeArrays(*(np.array(part) for part in tree))))
        return own(statistics, tree)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LabelStatistics, "with_sets", with_sets)
        model.fit(*data, **more)
    return model, seen[0][0], [tree for _, tree in seen]


@KINDS
@pytest.mark.parametrize("is_weighted", [False, True])
def test_statistics_are_those_of_the_twin(kind, is_weighted):
    X, y, model, more = problem(kind, early_stopping=False)
    weight = np.random.default_rng(1).integers(1, 5, len(X)) / 4 if is_weighted else np.ones(len(X))
    more = {**more, "sample_weight": weight} if is_weighted else more
    captured = {}

    def allocate(sample, *given):
        captured["fold"] = own_allocate(sample, *given)
        return captured["fold"]

    own_allocate = base.Sample.allocate
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base.Sample, "allocate", allocate)
        model, statistics, _ = fit_and_look(model, X, y, **more)
    baseline = np.array(model.forest_.objective.baseline)
    if kind in ("numbers", "two outputs"):
        responses = y.reshape(len(y), -1) - baseline
    elif kind == "two classes":
        responses = (y - 1 / (1 + np.exp(-baseline)))[:, None]
    elif kind == "five classes":
        responses = np.eye(5)[y] - np.exp(baseline) / np.exp(baseline).sum()
    else:
        loss = model._loss.bound(np.unique(more["qid"], return_inverse=True)[1])
        responses = -loss.derivatives(y.astype(float), tuple(baseline))[0]
    assert np.bincount(captured["fold"]).min() > 80 and len(np.unique(captured["fold"])) == 5
    assert statistics.features.tolist() == [1] * responses.shape[1]
    labels = np.where(np.isnan(X[:, 1]), 60, X[:, 1]).astype(int)
    for k in range(responses.shape[1]):
        of_rows, of_labels = label_statistics(labels, 60, responses[:, k], weight, captured["fold"])
        unit = 2.0 ** np.round(np.log2(np.abs(statistics.of_labels[k]).max() / np.abs(of_labels).max()))
        np.testing.assert_allclose(statistics.rows[:, k], unit * of_rows, rtol=1e-9, atol=1e-9 * unit)
        np.testing.assert_allclose(statistics.of_labels[k], unit * of_labels, rtol=1e-9, atol=1e-9 * unit)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("factor", [2.0**-400, 2.0**400])
def test_the_unit_of_targets_does_not_matter(factor):
    X, y, model, _ = problem("numbers", early_stopping=False, l2_regularization=0.0)
    for dtype in (np.float32, np.float64):
        models = [clone(model).fit(X.astype(dtype), y * scale) for scale in (1.0, factor)]
        np.testing.assert_array_equal(models[0].predict(X) * factor, models[1].predict(X))


@KINDS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sets_are_cuts_of_statistics(kind, dtype):
    """A row to be predicted reaches the leaf of the tree as it was grown, by the statistic of its label."""
    X, y, model, more = problem(kind)
    model, statistics, trees = fit_and_look(model, X.astype(dtype), y, **more)
    new = np.column_stack([np.random.default_rng(2).standard_normal(300), np.arange(300) % 70 - 2, np.arange(300) % 7])
    new[::9, 1:] = np.nan
    leaves = model.apply(new.astype(dtype)).reshape(300, -1)
    labels = np.where((new[:, 1] >= 0) & (new[:, 1] < 60), new[:, 1], 60).astype(int)
    values = [*new.T, *(own[labels] for own in statistics.of_labels)]
    n_cuts = 0
    for tree, found in zip(trees, leaves.T, strict=False):
        words = iter(np.split(tree.payload_words, np.cumsum(tree.payload_lengths)[:-1]))
        sets = [next(words) if f in (1, 2) else None for f in tree.feature]
        for row in range(300):
            node = 0
            while tree.feature[node] >= 0:
                value = values[tree.feature[node]][row]
                if sets[node] is None:
                    is_left = value <= tree.threshold[node] or bool(np.isnan(value) and tree.missing_left[node])
                else:
                    most = [60, 5][tree.feature[node] - 1]
                    is_in = (
                        0 <= value < most
                        and value // 64 < len(sets[node])
                        and bool(int(sets[node][int(value) // 64]) >> int(value) % 64 & 1)
                    )
                    is_left = is_in != tree.missing_left[node]
                node = node + 1 if is_left else tree.right[node]
            assert node == found[row]
        n_cuts += np.count_nonzero(tree.feature > 2)
    assert n_cuts > 10
    assert set(model.forest_.feature) <= {-1, 0, 1, 2} and model.forest_.n_features == 3
    assert np.isnan(model.forest_.threshold[model.forest_.feature == 1]).all()


@given(st.data())
def test_with_sets_keeps_the_order_of_payloads(data):
    """Any mixture of nodes: numbers, sets, statistics and leaves."""
    n_labels = data.draw(st.integers(1, 140))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    of_labels = rng.integers(0, 9, n_labels + 1).astype(float)
    statistics = LabelStatistics(np.zeros((0, 1)), [of_labels], np.array([1], np.int32), np.array([0, n_labels, 3]))
    feature = np.array(data.draw(st.lists(st.integers(-1, 3), min_size=1, max_size=12)), np.int32)
    lengths = rng.integers(0, 3, np.isin(feature, [1, 2]).sum())
    words = rng.integers(1, 99, lengths.sum()).astype(np.uint64)
    threshold = rng.integers(-1, 10, len(feature)) + 0.5
    n, zeros = len(feature), np.zeros((0, 1))
    tree = TreeArrays(feature, threshold, np.zeros(n, np.uint32), rng.random(n) < 0.5, zeros, zeros, lengths, words)
    found = statistics.with_sets(tree)
    given = iter(np.split(words, np.cumsum(lengths)[:-1]) if len(lengths) else [])
    payloads = iter(np.split(found.payload_words, np.cumsum(found.payload_lengths)[:-1]) if len(found.payload_lengths) else [])
    for i in range(n):
        assert found.feature[i] == (1 if feature[i] == 3 else feature[i])
        if feature[i] in (1, 2):
            assert next(payloads).tolist() == next(given).tolist()
        if feature[i] != 3:
            assert found.threshold[i] == threshold[i] and found.missing_left[i] == tree.missing_left[i]
            continue
        is_left = of_labels <= threshold[i]
        own = next(payloads)
        labels = [label for label in range(64 * len(own)) if int(own[label // 64]) >> label % 64 & 1]
        assert labels == np.flatnonzero(is_left[:-1] != is_left[-1]).tolist() and (len(own) == 0 or own[-1] != 0)
        assert found.missing_left[i] == is_left[-1] and np.isnan(found.threshold[i])
    assert next(given, None) is None and next(payloads, None) is None


def test_row_numbers_as_labels_are_never_used():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(500), rng.permutation(500)])
    y = X[:, 0] + rng.standard_normal(500)
    model = HistGradientBoostingRegressor(**FAST, categorical_features=[1], max_features=1.0).fit(X, y)
    assert model.feature_importances_[1] == 0.0
    plain = HistGradientBoostingRegressor(**FAST, max_features=1.0).fit(X[:, :1], y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X[:, :1]))


def test_random_targets_are_not_learnt():
    """Labels of few rows say nothing of targets that are noise: the loss is at most 1 % above that of a constant."""
    losses = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 150, (2000, 1)).astype(float), rng.standard_normal(2000)
        model = HistGradientBoostingRegressor(defaults="dforest", categorical_features=[0], random_state=seed)
        model.fit(X[:1000], y[:1000])
        losses.append(np.mean((model.predict(X[1000:]) - y[1000:]) ** 2) / np.mean((y[:1000].mean() - y[1000:]) ** 2))
    assert np.mean(losses) < 1.01


def test_few_labels_have_no_statistics():
    X, y, model, _ = problem("numbers", n_labels=LABELS_ORDERED_ABOVE)
    assert_equal_models(clone(model).fit(X, y), clone(model).set_params(categorical_split="subset").fit(X, y))


def test_what_auto_is():
    X, y, model, _ = problem("numbers", categorical_split="auto", max_iter=5)
    chosen = {"dforest": "order", "scikit-learn": "subset"}
    for defaults, split in chosen.items():
        fitted = clone(model).set_params(defaults=defaults).fit(X, y)
        assert fitted.categorical_split_ == split
        assert_equal_models(fitted, clone(model).set_params(defaults=defaults, categorical_split=split).fit(X, y))
    for asked in ({"warm_start": True}, {"interaction_cst": "pairwise"}):
        assert clone(model).set_params(defaults="dforest", **asked).fit(X, y).categorical_split_ == "subset"
    assert clone(model).set_params(defaults="dforest", categorical_split="subset").fit(X, y).categorical_split_ == "subset"


def test_constraints_on_other_columns():
    X, y, model, _ = problem("numbers", monotonic_cst=[-1, 0, 0])
    model, _, trees = fit_and_look(model, X, y)
    assert any((tree.feature > 2).any() for tree in trees)
    rows = np.repeat(X[:50], 20, axis=0)
    rows[:, 0] = np.tile(np.linspace(-3, 3, 20), 50)
    assert (np.diff(model.predict(rows).reshape(50, 20), axis=1) <= 0).all()
