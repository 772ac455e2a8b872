"""How iterations of boosted trees are scored for early stopping: by which rows and measures, and when growing stops."""

import warnings

import numpy as np
import pytest
from helpers.boosting import CLASSIFICATION, REGRESSION, assert_equal_models, problem
from sklearn.base import clone
from sklearn.metrics import accuracy_score, log_loss, make_scorer, r2_score

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from dforest.engines.rows import RowShare
from dforest.estimators.boosting.early_stopping import Stopping
from dforest.spmd.communicator import ALONE
from dforest.spmd.draws import stratified, subsampled

ALL_LOSSES = pytest.mark.parametrize("loss", REGRESSION + CLASSIFICATION)


def should_stop(scores, n_rounds, tol):
    """scikit-learn's rule, after every iteration."""
    if len(scores) < n_rounds + 1:
        return False
    reference = scores[-n_rounds - 1] + tol
    return not any(score > reference for score in scores[-n_rounds:])


@pytest.mark.parametrize("seed", range(20))
def test_no_round_is_grown_beyond_the_stop(seed):
    rng = np.random.default_rng(seed)
    n_rounds, tol = int(rng.integers(1, 7)), rng.choice([0.0, 0.01])
    scores = list(np.round(np.minimum(0.02 * np.arange(300), 2) + rng.normal(size=300) * 0.05, 2))
    scores[40] = np.nan
    expected = next((n for n in range(2, 300) if should_stop(scores[:n], n_rounds, tol)), 300)
    stopping, n = Stopping(n_rounds, tol), 1
    while n < 300:
        ahead = stopping.earliest(scores[:n])
        assert 0 < ahead <= n_rounds
        n = min(300, n + ahead)
        if stopping.earliest(scores[:n]) == 0:
            break
    assert n == expected


@ALL_LOSSES
@pytest.mark.parametrize("given", ["fraction", "rows", "none"])
def test_scores_by_loss(loss, given):
    X, y, model = problem(loss, n=500)
    X_val, y_val = X[400:], y[400:]
    held_out = {"X_val": X_val, "y_val": y_val} if given == "rows" else {}
    model.set_params(early_stopping=True, use_best_model=False, max_iter=60, learning_rate=0.5, n_iter_no_change=4)
    tol = 0.05 if given == "none" else 1e-7  # scores of training rows always rise
    model.set_params(tol=tol, validation_fraction=None if given == "none" else 0.2).fit(X[:400], y[:400], **held_out)
    assert model.do_early_stopping_ and model.n_iter_ < 60
    scores = model.train_score_ if given == "none" else model.validation_score_
    assert len(model.train_score_) == model.n_iter_ + 1 == len(scores)
    assert len(model.validation_score_) == (0 if given == "none" else model.n_iter_ + 1)
    assert should_stop(scores, 4, tol) and not any(should_stop(scores[:n], 4, tol) for n in range(2, len(scores)))
    if given == "rows" and loss in ("log_loss", "multinomial"):
        expected = [-log_loss(y_val, p, labels=model.classes_) for p in model.staged_predict_proba(X_val)]
        np.testing.assert_allclose(scores[1:], expected, rtol=1e-12)
    if given == "rows" and loss == "squared_error":
        np.testing.assert_allclose(scores[1:], [-((p - y_val) ** 2).mean() / 2 for p in model.staged_predict(X_val)], rtol=1e-12)
    if given == "none" and loss == "absolute_error":
        np.testing.assert_allclose(scores[1:], [-np.abs(p - y[:400]).mean() for p in model.staged_predict(X[:400])], rtol=1e-12)


@pytest.mark.parametrize("loss", ["squared_error", "multinomial"])
def test_rows_that_are_given_are_scored_whatever_their_number(loss):
    X, y, model = problem(loss)
    rows = {"X_val": X[200:], "y_val": y[200:]}
    given = clone(model).set_params(early_stopping="auto").fit(X[:200], y[:200], **rows)
    assert given.do_early_stopping_
    assert_equal_models(given, model.set_params(early_stopping=True).fit(X[:200], y[:200], **rows))


@pytest.mark.parametrize("loss", ["poisson", "multinomial"])
def test_what_stops_early_is_a_prefix(loss):
    X, y, model = problem(loss, n=500)
    model.set_params(max_iter=60, learning_rate=0.5, n_iter_no_change=3, early_stopping=True)
    model.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    assert model.n_iter_ < 60
    whole = clone(model).set_params(early_stopping=False).fit(X[:400], y[:400])
    stages = list(whole.staged_predict(X))
    assert len(stages) == 60 and stages[model.n_iter_ - 1].tobytes() == model.predict(X).tobytes()


def test_weights_count_in_scores():
    X, y, model = problem("squared_error")
    weight = np.random.default_rng(0).integers(0, 5, 300).astype(float)
    model.set_params(early_stopping=True, use_best_model=False)
    model.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:], sample_weight_val=weight[200:])
    expected = [-np.average((p - y[200:]) ** 2, weights=weight[200:]) / 2 for p in model.staged_predict(X[200:])]
    np.testing.assert_allclose(model.validation_score_[1:], expected, rtol=1e-12)
    model.set_params(validation_fraction=None).fit(X, y, weight)
    expected = [-np.average((p - y) ** 2, weights=weight) / 2 for p in model.staged_predict(X)]
    np.testing.assert_allclose(model.train_score_[1:], expected, rtol=1e-12)


@pytest.mark.parametrize("loss", ["squared_error", "log_loss", "multinomial"])
def test_scores_by_scorers(loss):
    X, y, model = problem(loss, n=500)
    rows = {"X_val": X[400:], "y_val": y[400:]}
    model.set_params(early_stopping=True, use_best_model=False, n_iter_no_change=100)
    metric, name = (r2_score, "r2") if loss == "squared_error" else (accuracy_score, "accuracy")
    seen = []

    def scorer(estimator, X, y):
        seen.append(X)
        return metric(y, estimator.predict(X))

    for scoring in (None, name, scorer):
        model.set_params(scoring=scoring).fit(X[:400], y[:400], **rows)
        expected = [metric(y[400:], p) for p in model.staged_predict(X[400:])]
        np.testing.assert_allclose(model.validation_score_[1:], expected)
        np.testing.assert_allclose(model.train_score_[1:], [metric(y[:400], p) for p in model.staged_predict(X[:400])])
    np.testing.assert_array_equal(seen[-1], X[400:])
    if loss == "log_loss":
        model.set_params(scoring="roc_auc").fit(X[:400], y[:400], **rows)
        assert 0.8 < model.validation_score_[-1] < 1
    if loss != "squared_error":
        model.set_params(scoring="neg_log_loss").fit(X[:400], y[:400], **rows)
        by_loss = clone(model).set_params(scoring="loss").fit(X[:400], y[:400], **rows)
        np.testing.assert_allclose(model.validation_score_, by_loss.validation_score_, rtol=1e-9)


def test_several_scorers_the_first_of_which_decides(capfd):
    X, y, model = problem("log_loss", n=500)
    model.set_params(early_stopping=True, max_iter=30, n_iter_no_change=3, verbose=2)
    rows = {"X_val": X[400:], "y_val": y[400:]}
    alone = clone(model).set_params(scoring="roc_auc", verbose=0).fit(X[:400], y[:400], **rows)
    by_loss = clone(model).set_params(n_iter_no_change=30, verbose=0, use_best_model=False).fit(X[:400], y[:400], **rows)

    def brier(estimator, X, y):
        return -np.mean((estimator.predict_proba(X)[:, 1] - (y == estimator.classes_[1])) ** 2)

    capfd.readouterr()
    model.set_params(scoring={"auc": "roc_auc", "loss": "loss", "brier": brier}).fit(X[:400], y[:400], **rows)
    assert_equal_models(model, alone)
    history = model.score_history_
    assert list(history) == ["auc", "loss", "brier"] and list(history["auc"]) == ["training", "validation"]
    assert history["auc"]["validation"].tobytes() == model.validation_score_.tobytes()
    assert history["auc"]["training"].tobytes() == model.train_score_.tobytes()
    n_scores = len(model.validation_score_)
    assert history["loss"]["validation"].tobytes() == by_loss.validation_score_[:n_scores].tobytes()
    assert history["brier"]["validation"][model.best_iteration_] == brier(model, X[400:], y[400:])
    assert list(alone.score_history_) == ["roc_auc"]
    assert alone.score_history_["roc_auc"]["validation"].tobytes() == alone.validation_score_.tobytes()
    told = "".join(f", {which} {name} {history[name][which][1]:.6g}" for name in history for which in ("training", "validation"))
    assert capfd.readouterr().err.splitlines()[0] == f"1 of 30 iterations{told}"
    listed = clone(model).set_params(scoring=["loss", "accuracy"], verbose=0).fit(X, y)
    assert list(listed.score_history_) == ["loss", "accuracy"]
    assert clone(model).set_params(early_stopping=False).fit(X, y).score_history_ == {}


@pytest.mark.parametrize("loss", ["log_loss", "multinomial"])
@pytest.mark.parametrize(
    "scoring", ["neg_log_loss", make_scorer(log_loss, greater_is_better=False, response_method="predict_proba")]
)
def test_a_class_that_validation_rows_lack_has_its_probability(loss, scoring):
    X, y, model = problem(loss)
    lacking = y != "a"
    rows = {"X_val": X[lacking], "y_val": y[lacking]}
    model.set_params(early_stopping=True, use_best_model=False, scoring=scoring).fit(X, y, **rows)
    probabilities = [
        p[np.arange(lacking.sum()), np.searchsorted(model.classes_, y[lacking])] for p in model.staged_predict_proba(X[lacking])
    ]
    np.testing.assert_allclose(model.validation_score_[1:], [np.log(p).mean() for p in probabilities])


def test_scorers_are_given_some_training_rows():
    X, y, model = problem("log_loss", n=12_000)
    given = []

    def scorer(estimator, X, y):
        given.append(np.unique(y, return_counts=True)[1])
        return 0.0

    model.set_params(scoring=scorer, validation_fraction=None, n_iter_no_change=1).fit(X, y)
    assert model.do_early_stopping_ and model.n_iter_ == 1  # "auto", above 10,000 rows
    shares = np.unique(y, return_counts=True)[1] / len(y)
    assert given[0].sum() == 10_000 and (given[0] == given[1]).all()
    np.testing.assert_allclose(given[0] / 10_000, shares, atol=1e-3)
    assert not clone(model).set_params(scoring="loss").fit(X[:10_000], y[:10_000]).do_early_stopping_


@pytest.mark.parametrize("loss", ["squared_error", "multinomial"])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_held_out_may_be_held_out_by_the_caller(loss, weighted):
    """Whoever holds them out alone gets the trees of `validation_fraction`. Each class has its share of them."""
    X, y, model = problem(loss, n=400)
    weight = np.random.default_rng(0).exponential(size=400) if weighted else np.ones(400)
    model.set_params(early_stopping=True, validation_fraction=0.3)
    whole = clone(model).fit(X, y, weight)
    seed = np.random.RandomState(0).randint(np.iinfo(np.uint32).max, dtype="u8")
    if loss == "multinomial":
        classes, numbers = np.unique(y, return_inverse=True)
        held = stratified(RowShare.whole(400), 120, int(seed), numbers, len(classes), ALONE)
        n = np.unique_counts(y).counts
        assert (np.abs(np.unique_counts(y[held]).counts - 0.3 * n) < 1).all()
    else:
        held = subsampled(RowShare.whole(400), 120, int(seed)) > 0
    assert held.sum() == 120
    given = {"X_val": X[held], "y_val": y[held], "sample_weight_val": weight[held]}
    parts = clone(model).fit(X[~held], y[~held], weight[~held], **given)
    assert_equal_models(whole, parts)


def test_rows_held_out_are_not_trained_on():
    X, y, model = problem("log_loss", n=400)
    model.set_params(early_stopping=True, validation_fraction=100, max_iter=1).fit(X, y)
    assert set(model.forest_.n_rows) == {300}
    model.set_params(validation_fraction=0.25).fit(X, y)
    assert set(model.forest_.n_rows) == {300}


# Predictions


def told_of(model, X, y, **given):
    """What a fit warns of, at this line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **given)
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


def test_a_fit_of_which_no_iteration_beats_the_constant_is_told_of():
    """As where the rows held out have few rows of a class: such models were worse than a constant, without a word."""
    random = np.random.default_rng(3)
    X, y = random.normal(size=(1500, 4)), np.where(np.arange(1500) % 60 == 0, "rare", "usual")
    parameters = {"learning_rate": 1.0, "early_stopping": True, "min_samples_leaf": 5, "defaults": "scikit-learn"}
    model = HistGradientBoostingClassifier(**parameters, random_state=0)
    (told,) = told_of(model, X, y)
    assert max(model.validation_score_[1:]) <= model.validation_score_[0]
    n = len(model.validation_score_) - 1
    assert told.startswith(f"none of {n} iterations scored better on the 150 validation rows, 3 of which have the class 'rare',")
    assert "by their loss" in told and "early_stopping=False" in told
    (told,) = told_of(clone(model).set_params(scoring="accuracy"), X, y)
    assert "by scoring='accuracy'" in told
    (told,) = told_of(HistGradientBoostingRegressor(), X, X[:, 0], X_val=X[:40], y_val=-X[:40, 0])
    assert "on the 40 validation rows than the constant" in told
    assert told_of(clone(model).set_params(early_stopping=False), X, y) == []
    assert told_of(model, X, X[:, 0] > 0) == []
    assert told_of(HistGradientBoostingRegressor(early_stopping=True), X, np.zeros(1500)) == []
