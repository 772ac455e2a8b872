"""Out-of-bag estimates against a brute force: trees one by one, bootstraps from the naive twin."""

import math
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    d2_log_loss_score,
    f1_score,
    get_scorer,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    top_k_accuracy_score,
)
from twins.sampling import twin_of

from dforest import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.estimators.scoring import score_of_classes

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS = [RandomForestRegressor, ExtraTreesRegressor]
TASKS = pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
METHODS = pytest.mark.parametrize("method", ["hist", "dense"])
NAMES = ["oob_score_", "oob_error_", "oob_error_per_observation_", "oob_curve_", "n_never_oob_"]


def problem(kind, seed=0, n=200):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = X[:, 0] + X[:, 1] ** 2 + rng.standard_normal(n)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.array([3, 5, 9])[np.digitize(y, [0, 1.5])] if kind in CLASSIFIERS else y


def fit(kind, X, y, sample_weight=None, **parameters):
    parameters = {"n_estimators": 12, "bootstrap": True, "oob_score": True, "random_state": 0} | parameters
    return kind(**parameters).fit(X, y, sample_weight)


def left_out(model, n_rows):
    """Which rows each tree never drew: (n_trees, n_rows)."""
    forest = model.forest_
    counts = [twin_of(plan).counts(n_rows, forest.seeds[t]) for t, plan in enumerate(forest.plans)]
    return np.array(counts) == 0


def estimate(model, X, y):
    """(predictions, errors of rows, errors of the first 1, 2, ... trees)."""
    is_classifier = hasattr(model, "classes_")
    sums = np.zeros((len(X), len(model.classes_) if is_classifier else 1))
    votes, n_votes, curve = np.zeros_like(sums), np.zeros(len(X)), []
    for tree, out in zip(model.estimators_, left_out(model, len(X)), strict=True):
        if is_classifier:
            vote = (tree.predict(X)[:, None] == model.classes_).astype(float)
            votes += vote * out[:, None]
            output = tree.predict_proba(X) if model.voting == "soft" else vote
        else:
            output = tree.predict(X)[:, None]
        sums += output * out[:, None]
        n_votes += out
        with np.errstate(invalid="ignore"):
            prediction = sums / n_votes[:, None]
        error = (model.classes_[votes.argmax(axis=1)] != y) + 0.0 if is_classifier else (prediction[:, 0] - y) ** 2
        error[n_votes == 0] = np.nan
        curve.append(math.fsum(error[n_votes > 0]) / (n_votes > 0).sum() if n_votes.any() else np.nan)
    return prediction, error, np.array(curve)


def assert_estimates(model, X, y):
    prediction, error, curve = estimate(model, X, y)
    seen = ~np.isnan(error)
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(model.oob_decision_function_, prediction)
        score = accuracy_score(y[seen], model.classes_[prediction[seen].argmax(axis=1)])
    else:
        np.testing.assert_array_equal(model.oob_prediction_, prediction[:, 0])
        score = r2_score(y[seen], prediction[seen, 0])
    np.testing.assert_array_equal(model.oob_error_per_observation_, error)
    np.testing.assert_array_equal(model.oob_curve_, curve)  # sums are rounded once
    np.testing.assert_array_equal(model.oob_error_, model.oob_curve_[-1])
    assert model.n_never_oob_ == (~seen).sum()
    assert model.oob_score_ == pytest.approx(score, rel=1e-12)


@METHODS
@pytest.mark.parametrize("max_samples", [None, 0.3])
@pytest.mark.parametrize(
    ("kind", "voting"),
    [(kind, {"voting": voting}) for kind in CLASSIFIERS for voting in ("soft", "hard")] + [(k, {}) for k in REGRESSORS],
)
def test_estimates(kind, voting, max_samples, method):
    X, y = problem(kind)
    model = fit(kind, X, y, n_estimators=30, max_samples=max_samples, max_depth=4, method=method, **voting)
    assert_estimates(model, X, y)
    assert model.n_never_oob_ == 0
    if not max_samples:  # the first tree leaves out about e**-1 of the rows; later ones see all
        assert 0.3 < left_out(model, len(X))[0].mean() < 0.43


@METHODS
@TASKS
def test_rows_that_every_tree_drew(kind, method):
    X, y = problem(kind)
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores") as caught:
        model = fit(kind, X, y, n_estimators=3, method=method)
    assert model.n_never_oob_ > 0
    assert f"{model.n_never_oob_} of 200 rows" in str(caught[0].message)
    assert_estimates(model, X, y)


@TASKS
def test_no_row_is_left_out(kind):
    with pytest.warns(UserWarning, match="1 of 1 rows"):
        model = fit(kind, [[1.0]], [2.0 if kind in REGRESSORS else 2])
    assert model.n_never_oob_ == 1
    assert np.isnan([model.oob_score_, model.oob_error_, *model.oob_error_per_observation_, *model.oob_curve_]).all()
    assert model.predict([[0.0]]).tolist() == [2]


@TASKS
def test_more_rows_than_a_block_and_any_number_of_threads(kind):
    X, y = problem(kind, n=9000)
    parameters = {"n_estimators": 20, "max_depth": 5, "max_samples": 0.5}
    models = [fit(kind, X, y, n_jobs=n, **parameters) for n in (1, 4)]
    assert_estimates(models[0], X, y)
    for name in [*NAMES, "oob_decision_function_" if kind in CLASSIFIERS else "oob_prediction_"]:
        a, b = (np.asarray(getattr(model, name)) for model in models)
        assert a.tobytes() == b.tobytes(), name


@METHODS
@TASKS
def test_weights(kind, method):
    """Rows of weight 0 get NaN and change nothing else; errors are not weighted."""
    X, y = problem(kind)
    weight = np.random.default_rng(0).integers(0, 4, len(X)) / 2
    kept = weight > 0
    model = fit(kind, X, y, weight, n_estimators=30, method=method)
    without = fit(kind, X[kept], y[kept], weight[kept], n_estimators=30, method=method)
    assert_estimates(without, X[kept], y[kept])
    for name in ("oob_score_", "oob_error_", "n_never_oob_"):
        assert getattr(model, name) == getattr(without, name)
    np.testing.assert_array_equal(model.oob_curve_, without.oob_curve_)
    by_row = ["oob_error_per_observation_", "oob_decision_function_" if kind in CLASSIFIERS else "oob_prediction_"]
    for name in by_row:
        assert np.isnan(getattr(model, name)[~kept]).all()
        np.testing.assert_array_equal(getattr(model, name)[kept], getattr(without, name))


def test_a_class_of_weight_0():
    X, y = problem(RandomForestClassifier)
    model = fit(RandomForestClassifier, X, y, n_estimators=30, class_weight={5: 0})
    assert model.oob_decision_function_.shape == (200, 3)
    np.testing.assert_array_equal(np.isnan(model.oob_error_per_observation_), y == 5)
    assert model.n_never_oob_ == 0
    assert model.oob_score_ == np.mean(model.classes_[model.oob_decision_function_.argmax(axis=1)][y != 5] == y[y != 5])


@pytest.mark.parametrize(
    ("kind", "score"), [(RandomForestClassifier, balanced_accuracy_score), (RandomForestRegressor, mean_absolute_error)]
)
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_a_callable_score(kind, score):
    X, y = problem(kind)
    given = []

    def callable_score(true, predicted):
        given.append((true, predicted))
        return score(true, predicted)

    model = fit(kind, X, y, n_estimators=4, oob_score=callable_score)
    prediction, error, _ = estimate(model, X, y)
    seen = ~np.isnan(error)
    assert 0 < seen.sum() < 200
    prediction = model.classes_[prediction.argmax(axis=1)] if kind in CLASSIFIERS else prediction[:, 0]
    [(true, predicted)] = given
    np.testing.assert_array_equal(true, y[seen])
    np.testing.assert_array_equal(predicted, prediction[seen])
    assert model.oob_score_ == score(y[seen], prediction[seen])


@TASKS
def test_targets_far_from_0(kind):
    X, y = problem(RandomForestRegressor)
    y = 1e9 + y if kind is RandomForestRegressor else (y > 0) - 10**9
    model = fit(kind, X, y, n_estimators=30)
    assert_estimates(model, X, y)
    assert model.oob_score_ > 0.3


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("outlier", [1e12, -1e100])
@pytest.mark.parametrize("is_seen", [False, True])
def test_an_outlier(outlier, is_seen):
    """Errors of other rows aren't lost beside one that may be large, or that is."""
    X, y = problem(RandomForestRegressor)
    forest = fit(RandomForestRegressor, X, y, n_estimators=3)
    n_out = left_out(forest, len(X)).sum(axis=0)
    y[np.flatnonzero(n_out == (1 if is_seen else 0))[0]] = outlier
    model = fit(RandomForestRegressor, X, y, n_estimators=3)
    assert_estimates(model, X, y)
    assert model.oob_error_ > (abs(outlier) if is_seen else 0.5)


@pytest.mark.parametrize("factor", [1e-9, 1e9, 1e-150])
def test_a_warm_start_with_targets_of_another_scale(factor):
    """Leaves of the trees there were predict what lies far outside the targets."""
    X, y = problem(RandomForestRegressor)
    model = fit(RandomForestRegressor, X, y, n_estimators=15, warm_start=True)
    model.set_params(n_estimators=30).fit(X, y * factor)
    assert_estimates(model, X, y * factor)
    assert model.oob_error_ > 0


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
@pytest.mark.parametrize("oob_score", [True, accuracy_score])
def test_without_bootstrap(kind, oob_score):
    X, y = problem(kind)
    model = kind(2, bootstrap=False, oob_score=oob_score)
    with pytest.raises(ValueError, match="oob_score=.* needs bootstrap=True"):
        model.fit(X, y)
    assert not hasattr(model, "forest_")


@TASKS
def test_a_fit_without_estimates_drops_old_ones(kind):
    X, y = problem(kind)
    model = fit(kind, X, y, n_estimators=30)
    assert all(hasattr(model, name) for name in NAMES)
    model.set_params(oob_score=False).fit(X, y)
    assert not [name for name in vars(model) if "oob" in name and name.endswith("_")]


# Metrics of probabilities, and scorers


def of_two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    return X, np.array(["benign", "malign"])[1 - y]


@pytest.mark.parametrize(
    ("score", "sign"), [(log_loss, 1), (partial(log_loss, normalize=True), 1), (get_scorer("neg_log_loss"), -1)]
)
def test_a_class_that_no_row_has_keeps_its_probability(score, sign):
    probability = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]])
    found = score_of_classes(score, np.array(["a", "b", "c"]), np.array(["a", "b"]), probability)
    assert found == pytest.approx(-sign * (np.log(0.5) + np.log(0.75)) / 2)


@pytest.mark.parametrize("metric", [roc_auc_score, log_loss, d2_log_loss_score, partial(roc_auc_score, max_fpr=0.2)])
def test_metrics_of_probabilities_are_given_them(metric):
    X, y = of_two_classes()
    model = RandomForestClassifier(30, oob_score=metric, random_state=0).fit(X, y)
    assert model.oob_score_ == metric(y, model.oob_decision_function_[:, 1])
    by_label = RandomForestClassifier(30, oob_score=True, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.oob_decision_function_, by_label.oob_decision_function_)
    assert by_label.oob_score_ == np.mean(y == by_label.classes_[by_label.oob_decision_function_.argmax(axis=1)])


@pytest.mark.parametrize("label", ["benign", "malign"])
def test_metrics_are_given_the_probability_of_their_class(label):
    X, y = of_two_classes()
    for metric in (brier_score_loss, average_precision_score):
        model = RandomForestClassifier(30, oob_score=partial(metric, pos_label=label), random_state=0).fit(X, y)
        expected = metric(y == label, model.oob_decision_function_[:, ["benign", "malign"].index(label)])
        assert model.oob_score_ == pytest.approx(expected, rel=1e-12)
        assert model.oob_score_ < 0.06 if metric is brier_score_loss else model.oob_score_ > 0.9


def test_scorers_of_numbers_by_name():
    X, y = problem(RandomForestRegressor)
    model = fit(RandomForestRegressor, X, y, n_estimators=30, oob_score="neg_mean_absolute_error")
    assert model.oob_score_ == -mean_absolute_error(y, model.oob_prediction_)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ("roc_au", "oob_score='roc_au' names no scorer; near it are 'roc_auc'.*; allowed are metrics, scorers"),
        (partial(average_precision_score, pos_label=1), r"can't score y: pos_label=1 is none of the classes \['benign', 'mali"),
        ("neg_mean_squared_error", "oob_score='neg_mean_squared_error' can't score y: .*; allowed are scores of 2 classes"),
    ],
)
def test_scorers_are_tried_before_trees_are_grown(score, message, monkeypatch):
    X, y = of_two_classes()
    monkeypatch.setattr(RandomForestClassifier, "_watch", lambda *_: pytest.fail("trees were grown"))
    with pytest.raises(ValueError, match=message):
        RandomForestClassifier(30, oob_score=score).fit(X, y)


def test_metrics_of_the_user_are_not_tried():
    calls = []
    X, y = of_two_classes()
    RandomForestClassifier(30, oob_score=lambda *given: calls.append(given) or 0.5, random_state=0).fit(X, y)
    assert len(calls) == 1


def test_metrics_of_probabilities_of_more_classes():
    X, y = load_wine(return_X_y=True)
    for metric in (log_loss, partial(roc_auc_score, multi_class="ovr"), partial(top_k_accuracy_score, k=2)):
        model = RandomForestClassifier(30, oob_score=metric, random_state=0).fit(X, y)
        assert model.oob_score_ == metric(y, model.oob_decision_function_)


@pytest.mark.parametrize(
    ("name", "metric"),
    [("roc_auc", roc_auc_score), ("neg_log_loss", lambda *given: -log_loss(*given)), ("accuracy", None), ("f1_macro", None)],
)
def test_scorers_of_classes(name, metric):
    X, y = of_two_classes()
    model, other = (RandomForestClassifier(30, oob_score=one, random_state=0).fit(X, y) for one in (get_scorer(name), name))
    assert other.oob_score_ == model.oob_score_
    if metric is None:
        metric = accuracy_score if name == "accuracy" else partial(f1_score, average="macro")
        expected = metric(y, model.classes_[model.oob_decision_function_.argmax(axis=1)])
    else:
        expected = metric(y, model.oob_decision_function_[:, 1])
    assert model.oob_score_ == expected
