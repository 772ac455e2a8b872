"""Survival forests: statistics by textbook formulas, curves, concordance, what is kept and what is refused."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import CensoredData, logrank
from sklearn.model_selection import GridSearchCV

import dforest
from dforest import ExtraSurvivalTree, ExtraSurvivalTrees, RandomSurvivalForest, SurvivalTree
from dforest.callback import OutOfBagPlateau
from dforest.core.predict.permutation import permute_values
from dforest.core.predict.survival import concordance
from dforest.estimators.data.survival import StepFunction
from dforest.estimators.results.survival import integrated_brier_score, uno_weights

KINDS = pytest.mark.parametrize("kind", [SurvivalTree, ExtraSurvivalTree, RandomSurvivalForest, ExtraSurvivalTrees])


def problem(n=150, seed=0, ties=True):
    """X, event, time; several rows have equal times if there are `ties`."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4)).round(2)
    time, censored = rng.exponential(np.exp(2 * X[:, 0] - X[:, 1])), rng.exponential(3.0, n)
    event, time = time <= censored, np.minimum(time, censored)
    return X, event, np.ceil(10 * time) if ties else time


X, EVENT, TIME = problem()
Y = np.column_stack([EVENT, TIME])
FUNCTIONS = "predict_survival_function", "predict_cumulative_hazard_function"


def answers(model, X=X):
    return [model.predict(X), *(getattr(model, name)(X, return_array=True) for name in FUNCTIONS)]


def assert_equal(a, b, X=X):
    for one, other in zip(answers(a, X), answers(b, X), strict=True):
        np.testing.assert_array_equal(one, other)


# Splits


def statistic(event, time, left):
    """The log-rank statistic by scipy."""
    sides = [CensoredData(uncensored=time[side & event], right=time[side & ~event]) for side in (left, ~left)]
    return logrank(*sides).statistic ** 2


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_root_is_the_best_of_all_splits_by_the_log_rank_test(ties, seed):
    X, event, time = problem(60, seed, ties)
    tree = SurvivalTree(method="dense", max_depth=1, min_samples_leaf=5).fit(X, np.column_stack([event, time]))
    found = []
    for j in range(X.shape[1]):
        for threshold in np.unique(X[:, j])[:-1]:
            left = X[:, j] <= threshold
            if min(left.sum(), (~left).sum()) >= 5:
                found.append(statistic(event, time, left))
    forest = tree.forest_
    assert forest.inner[0, 1] == pytest.approx(max(found), rel=1e-6)
    assert statistic(event, time, X[:, forest.feature[0]] <= forest.threshold[0]) == pytest.approx(max(found), rel=1e-9)


def test_log_rank_scores_by_their_formula():
    """The statistic of Hothorn and Lausen, from the scores of a textbook."""
    tree = SurvivalTree(criterion="logrank_score", method="dense", max_depth=1).fit(X, Y)
    hazard = [sum((EVENT & (TIME == t)).sum() / (TIME >= t).sum() for t in np.unique(TIME[EVENT]) if t <= time) for time in TIME]
    score, n = EVENT - np.array(hazard), len(X)
    left = X[:, tree.forest_.feature[0]] <= tree.forest_.threshold[0]
    variance = left.sum() * (n - left.sum()) / n * score.var(ddof=1)
    assert tree.forest_.inner[0, 1] == pytest.approx((score[left].sum() - left.sum() * score.mean()) ** 2 / variance, rel=1e-6)


# Entries


def entries(time, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(time)) < 0.7, np.floor(time * rng.random(len(time))), 0.0)


def test_root_is_the_best_split_of_rows_at_risk_after_their_entry():
    """The log-rank test of the textbook, over sets of rows at risk that rows enter late."""
    entry = entries(TIME)
    tree = SurvivalTree(method="dense", max_depth=1, min_samples_leaf=5).fit(X, np.column_stack([Y, entry]))

    def statistic(left):
        u = v = 0.0
        for t in np.unique(TIME[EVENT]):
            at_risk, events = (entry < t) & (t <= TIME), EVENT & (TIME == t)
            n, d, share = at_risk.sum(), events.sum(), (at_risk & left).sum() / at_risk.sum()
            u += (events & left).sum() - d * share
            v += d * share * (1 - share) * (n - d) / (n - 1) if n > 1 else 0.0
        return u * u / v

    cuts = [X[:, j] <= threshold for j in range(X.shape[1]) for threshold in np.unique(X[:, j])]
    best = max(statistic(left) for left in cuts if min(left.sum(), (~left).sum()) >= 5)
    forest = tree.forest_
    assert forest.inner[0, 1] == pytest.approx(best, rel=1e-6)
    assert statistic(X[:, forest.feature[0]] <= forest.threshold[0]) == pytest.approx(best, rel=1e-9)


@KINDS
def test_entries_at_the_start_change_nothing(kind):
    plain, entered = (kind(random_state=0).fit(X, y) for y in (Y, np.column_stack([Y, np.zeros(len(Y))])))
    assert_equal(plain, entered)
    assert entered.score(X, np.column_stack([Y, np.zeros(len(Y))])) == plain.score(X, Y)


def test_scores_and_weights_with_entries():
    entry = entries(TIME)
    y = np.array(list(zip(EVENT, TIME, entry, strict=True)), "?,f8,f8")
    forest = RandomSurvivalForest(30, oob_score=True, variable_importance="mda_raw", random_state=0).fit(X, y)
    assert forest.oob_score_ == pytest.approx(naive_concordance(EVENT, TIME, forest.oob_prediction_, None, entry))
    assert forest.score(X, y) == pytest.approx(naive_concordance(EVENT, TIME, forest.predict(X), None, entry))
    assert forest.score(X, y) != forest.score(X, Y)
    np.testing.assert_array_equal(forest.oob_importance(X, y).importances_mean, forest.variable_importance_)
    with pytest.raises(ValueError, match="y has other times"):
        forest.oob_importance(X, Y + [0, 1])
    kept = np.arange(len(X)) < 100
    assert_equal(RandomSurvivalForest(5, random_state=0).fit(X[:100], y[:100]),
                 RandomSurvivalForest(5, random_state=0).fit(X, y, 1.0 * kept))  # fmt: skip
    seen = []

    def score(y, risk):
        seen.append(1.0 - naive_concordance(y["event"], y["time"], risk, None, y["entry"]))
        return -seen[-1]

    other = RandomSurvivalForest(30, random_state=0).set_callbacks(OutOfBagPlateau(score, 29)).fit(X, y)
    assert seen[-1] == pytest.approx(forest.oob_error_) and other.n_estimators_ == 30
    for oob_score in ("uno", "neg_integrated_brier_score"):
        with pytest.raises(ValueError, match=f"oob_score='{oob_score}' is not defined for a y with entries"):
            RandomSurvivalForest(2, oob_score=oob_score).fit(X, y)


# Predictions


@KINDS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("entered", [False, True])
def test_curves_are_those_of_the_draws_in_leaves(kind, weighted, entered):
    entry = entries(TIME) if entered else np.full(len(TIME), -1.0)
    y = np.column_stack([Y, entry]) if entered else Y
    weight = np.random.default_rng(1).integers(1, 4, len(X)) if weighted else None
    model = kind(random_state=0, **{"n_estimators": 4} if hasattr(kind(), "n_estimators") else {}).fit(X, y, weight)
    forest, leaves = model.forest_, model.apply(X).reshape(len(X), -1)
    survival, hazard = np.zeros((2, 5, len(model.unique_times_)))
    for t in range(forest.n_trees):
        counts = forest.row_counts(t) * (1 if weight is None else weight)
        for i in range(5):
            w = counts * (leaves[:, t] == leaves[i, t])
            n, d = (np.array([(w * test(time)).sum() for time in model.unique_times_])
                    for test in (lambda time: (entry < time) & (time <= TIME), lambda time: EVENT & (time == TIME)))  # fmt: skip
            steps = np.divide(d, n, out=np.zeros(len(n)), where=n > 0)
            survival[i] += np.cumprod(1 - steps) / forest.n_trees
            hazard[i] += np.cumsum(steps) / forest.n_trees
    risk, own_survival, own_hazard = answers(model, X[:5])
    np.testing.assert_allclose(own_survival, survival, atol=1e-12)
    np.testing.assert_allclose(own_hazard, hazard, atol=1e-12)
    np.testing.assert_allclose(risk, hazard[:, np.isin(model.unique_times_, model.event_times_)].sum(axis=1), rtol=1e-9)


def test_functions_quantiles_and_means():
    forest = RandomSurvivalForest(10, random_state=0).fit(X, Y)
    times = np.array([0.0, 3.0, 3.5, 200.0])
    functions = forest.predict_survival_function(X[:7])
    assert all(isinstance(function, StepFunction) for function in functions)
    at = forest.predict_survival_function(X[:7], return_array=True, times=times)
    assert (at[:, 0] == 1).all()
    for function, row in zip(functions, at, strict=True):
        np.testing.assert_array_equal(function.x, np.unique(TIME))
        np.testing.assert_array_equal(function(times), row)
    quantiles = forest.predict_quantiles(X[:7], [0.25, 0.9])
    for function, (first, last) in zip(functions, quantiles, strict=True):
        assert function(first) <= 0.75 and (first == TIME.min() or function(first - 1) > 0.75)
        assert function(last) <= 0.1 if np.isfinite(last) else function.y[-1] > 0.1
    np.testing.assert_array_equal(forest.predict_quantiles(X[:7], 0.25), quantiles[:, 0])
    horizon = 12.5
    whole = np.arange(12)  # times are whole numbers: from each to the next the function keeps its value
    rows = forest.predict_survival_function(X[:7], return_array=True, times=np.append(whole, 12))
    np.testing.assert_allclose(forest.predict_restricted_mean(X[:7], horizon), rows[:, :-1].sum(axis=1) + 0.5 * rows[:, -1])


@KINDS
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_the_arrays_at_any_time(kind, name):
    """Before the first time of an event, and after the last one, too."""
    y = Y + [0, 3]
    model, at = kind(random_state=0).fit(X, y), np.array([0.0, 2.0, y[:, 1].min(), 8.0, y[:, 1].max(), 1e9])
    functions, arrays = getattr(model, name)(X[:5]), getattr(model, name)(X[:5], return_array=True, times=at)
    assert arrays[0, 0] == arrays[0, 1] == (name == FUNCTIONS[0]) != arrays[0, -1]
    np.testing.assert_array_equal([function(at) for function in functions], arrays)
    assert functions[0](0) == arrays[0, 0] and pickle.loads(pickle.dumps(functions[0])) == functions[0] != functions[1]
    for wrong in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"x holds {wrong:g}; allowed are finite times from 0 on"):
            functions[0]([1.0, wrong])


def test_functions_for_chosen_times_are_known_between_them():
    forest, times = RandomSurvivalForest(3, random_state=0).fit(X, Y), [4.0, 9.0]
    (function,) = forest.predict_survival_function(X[:1], times=times)
    (row,) = forest.predict_survival_function(X[:1], return_array=True, times=times)
    np.testing.assert_array_equal(function([4, 5, 9]), row[[0, 0, 1]])
    for wrong in (3.9, 9.1):
        with pytest.raises(ValueError, match=f"x holds {wrong}; allowed are times from 4 to 9"):
            function(wrong)


def test_censored_rows_count_as_at_risk_up_to_their_time():
    tree = SurvivalTree(max_depth=1, min_samples_leaf=4).fit(np.zeros((4, 1)), [(1, 1.0), (0, 2.0), (1, 2.0), (0, 5.0)])
    np.testing.assert_allclose(tree.predict_survival_function([[0]], return_array=True), [[3 / 4, 1 / 2, 1 / 2]])
    np.testing.assert_array_equal(tree.event_times_, [1, 2])


# Concordance


def naive_concordance(event, time, risk, weight=None, entry=None):
    concordant = comparable = 0.0
    for i in np.flatnonzero(event):
        others = (time > time[i]) | ((time == time[i]) & ~event)
        others &= True if entry is None else entry < time[i]
        w = 1.0 if weight is None else weight[i]
        comparable += w * others.sum()
        concordant += w * ((risk[others] < risk[i]).sum() + 0.5 * (risk[others] == risk[i]).sum())
    return concordant / comparable


def test_concordance_is_the_naive_one():
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = rng.integers(5, 60)
        event, time, risk = rng.random(n) < 0.6, rng.integers(0, 20, n).astype(float), rng.integers(0, 9, n) / 3
        event[time.argmin()] = True
        weight = uno_weights(event, time)
        assert concordance(event, time, risk) == pytest.approx(naive_concordance(event, time, risk), rel=1e-12)
        assert concordance(event, time, risk, weight) == pytest.approx(naive_concordance(event, time, risk, weight), rel=1e-12)


def test_uno_weights_by_hand():
    """Times 1, 2+, 2, 3+, 4: after the events, 1 of 3 is censored at 2, and 1 of 2 at 3."""
    weight = uno_weights(np.array([True, False, True, False, True]), np.array([1.0, 2, 2, 3, 4]))
    np.testing.assert_allclose(weight, [1, (3 / 2) ** 2, (3 / 2) ** 2, 9, 9])


@pytest.mark.parametrize("score", [True, "harrell", "uno"])
def test_out_of_bag_concordance(score):
    forest = RandomSurvivalForest(30, oob_score=score, random_state=0).fit(X, Y)
    risk = np.zeros(len(X))
    out = np.stack([forest.forest_.row_counts(t) == 0 for t in range(30)])
    for tree, left_out in zip(forest.estimators_, out, strict=True):
        risk += np.where(left_out, tree.predict(X), 0.0)
    risk /= out.sum(axis=0)
    np.testing.assert_allclose(forest.oob_prediction_, risk, rtol=1e-12)
    weight = uno_weights(EVENT, TIME) if score == "uno" else None
    assert forest.oob_score_ == pytest.approx(naive_concordance(EVENT, TIME, forest.oob_prediction_, weight))
    assert forest.oob_error_ == 1 - forest.oob_score_
    assert forest.score(X, Y) > forest.oob_score_ > 0.55


def test_out_of_bag_brier_score(monkeypatch):
    """By the formula, row by row and time by time, of the mean of the curves of trees that left the row out."""
    monkeypatch.setattr("dforest.estimators.forest.survival_predictions.BLOCK_ROWS", 7)
    monkeypatch.setattr("dforest.estimators.results.survival.BLOCK_ROWS", 7)
    weight = np.where(np.arange(len(X)) % 9 == 0, 0.0, 1.0)
    forest = RandomSurvivalForest(9, oob_score="neg_integrated_brier_score", random_state=0, n_jobs=2).fit(X, Y, weight)
    out = np.stack([counts == 0 for counts in map(forest.forest_.row_counts, range(9))])
    kept = np.flatnonzero(weight)[out.any(axis=0)]
    times = forest.event_times_[forest.event_times_ < TIME[weight > 0].max()]
    curves = np.stack([tree.predict_survival_function(X[kept], return_array=True, times=times) for tree in forest.estimators_])
    is_out = out[:, out.any(axis=0), None]
    survival = (curves * is_out).sum(axis=0) / is_out.sum(axis=0)
    event, time = EVENT[kept], TIME[kept]

    def not_censored(t):
        censored = np.unique(time[~event & (time <= t)])
        return np.prod([1 - (~event & (time == c)).sum() / ((time >= c).sum() - (event & (time == c)).sum()) for c in censored])

    scores = []
    for k, t in enumerate(times):
        of_rows = [
            (1 - survival[i, k]) ** 2 / not_censored(t) if time[i] > t
            else survival[i, k] ** 2 / not_censored(time[i]) if event[i] else 0.0
            for i in range(len(kept))
        ]  # fmt: skip
        scores.append(np.mean(of_rows))
    found = sum((a + b) / 2 * step for a, b, step in zip(scores, scores[1:], np.diff(times), strict=False))
    assert forest.oob_error_ == pytest.approx(found / (times[-1] - times[0]), rel=1e-9)
    assert forest.oob_score_ == -forest.oob_error_
    sparse = RandomSurvivalForest(9, oob_score="neg_integrated_brier_score", random_state=0).fit(csr_matrix(X), Y, weight)
    assert sparse.oob_score_ == forest.oob_score_


def test_nobody_is_censored_before_the_first_row_that_the_brier_score_sees():
    """Rows 0 and 1 are seen at 1+ and 3; at a time before, the probability not to be censored is 1, and 1/2 at 1."""
    score = integrated_brier_score(np.array([False, True]), np.array([1.0, 3.0]), np.array([0.5, 2.0]),
                                   lambda own: np.full((2, 2), 0.5)[own])  # fmt: skip
    assert score == pytest.approx((2 * 0.25 + 0.25 * 2) / 2 / 2)


def test_plateau_of_the_concordance():
    forest = RandomSurvivalForest(300, oob_score=True, random_state=0, min_samples_leaf=15)
    forest.set_callbacks(OutOfBagPlateau(rounds=10)).fit(X, Y)
    n = forest.n_estimators_
    errors = [1 - RandomSurvivalForest(k, oob_score=True, random_state=0, min_samples_leaf=15).fit(X, Y).oob_score_
              for k in (n - 11, n - 10, n)]  # fmt: skip
    assert 11 < n < 300 and forest.oob_error_ == errors[2] >= errors[1] and errors[1] < errors[0]
    scores = []

    def score(y, risk):
        scores.append(1 - concordance(y["event"], y["time"], risk))
        return -scores[-1]

    other = RandomSurvivalForest(300, random_state=0, min_samples_leaf=15).set_callbacks(OutOfBagPlateau(score, 10)).fit(X, Y)
    assert other.n_estimators_ == n == len(scores) and scores[-1] == forest.oob_error_
    grown = RandomSurvivalForest(5, random_state=0, min_samples_leaf=15, warm_start=True).fit(X, Y).set_params(n_estimators=300)
    assert grown.set_callbacks(OutOfBagPlateau(rounds=10)).fit(X, Y).n_estimators_ == n


@pytest.mark.parametrize("kind", ["mdi", "mda_raw", "mda_scaled"])
def test_importances_find_the_column_that_matters(kind):
    forest = RandomSurvivalForest(50, variable_importance=kind, random_state=0, min_samples_leaf=10).fit(X, Y)
    assert forest.variable_importance_.argmax() == forest.feature_importances_.argmax() == 0
    if kind == "mda_raw":
        constant = np.hstack([X, np.zeros((len(X), 1))])
        assert RandomSurvivalForest(5, variable_importance=kind).fit(constant, Y).variable_importance_[4] == 0


def test_importances_of_a_fit_and_after_it():
    weight = np.where(np.arange(len(X)) % 5 == 0, 0.0, 1.0)
    forest = RandomSurvivalForest(20, variable_importance="mda_raw", random_state=0).fit(X, Y, weight)
    found = forest.oob_importance(X, Y, weight)
    np.testing.assert_array_equal(found.importances_mean, forest.variable_importance_)
    tree = forest.estimators_[3]
    kept = np.flatnonzero(weight)[forest.forest_.row_counts(3) == 0]
    permuted = X[kept].copy()
    (permuted[:, 0],) = permute_values([X[kept, 0]], [forest.forest_.seeds[3]], [0], 1)
    scores = [concordance(EVENT[kept], TIME[kept], tree.predict(rows)) for rows in (X[kept], permuted)]
    assert found.importances[0, 3] == pytest.approx(scores[0] - scores[1])

    def score(y, risk, sample_weight):
        return concordance(y["event"], y["time"], risk)

    by_score = forest.oob_importance(X, Y, weight, scoring=score)
    assert by_score.importances_mean.argmax() == 0
    with pytest.raises(ValueError, match="other rows"):
        forest.oob_importance(X[::-1], Y[::-1], weight[::-1])
    with pytest.raises(ValueError, match="other times"):
        forest.oob_importance(X, Y + [0, 1], weight)


@pytest.mark.parametrize("kind", [SurvivalTree, RandomSurvivalForest])
def test_risks_are_explained_and_exported(kind):
    """As other numbers that trees predict; exports compare themselves."""
    model = kind(max_depth=3, random_state=0).fit(X, Y)
    found = model.shap_values(X[:20])
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(X[:20]), rtol=1e-9)
    falls = np.diff(model.partial_dependence(X, 0, grid_resolution=5).average[0])
    assert falls.sum() < 0
    assert "double" in model.to_c(verify=False)
    assert model.predictor().predict(X[0]) == model.predict(X[:1])


def test_drawings():
    text = dforest.export_graphviz(SurvivalTree(max_depth=1).fit(X, Y))
    assert "value" in text and "logrank" not in text


# What is kept


@KINDS
def test_curves_of_other_leaves_are_refused(kind):
    state = kind(random_state=0).fit(X, Y).__getstate__()
    state["_curves"] = state["_curves"].of_leaves(0, 1)
    with pytest.raises(ValueError, match="curves of 1 leaves"):
        kind().__setstate__(state)


def test_warm_starts_trees_and_combined_forests():
    whole = RandomSurvivalForest(9, random_state=0).fit(X, Y)
    forest = RandomSurvivalForest(9, random_state=0, warm_start=True).fit(X, Y)
    assert_equal(whole, dforest.combine(whole.estimators_))
    risks = np.mean([tree.predict(X) for tree in whole.estimators_], axis=0)
    np.testing.assert_allclose(risks, whole.predict(X), rtol=1e-12)
    curves = np.mean([tree.predict_survival_function(X, return_array=True) for tree in whole.estimators_], axis=0)
    np.testing.assert_allclose(curves, whole.predict_survival_function(X, return_array=True), atol=1e-12)
    with pytest.raises(ValueError, match="warm_start=True goes on with trees grown on"):
        forest.set_params(n_estimators=10).fit(X, Y + [0, 1])
    with pytest.raises(ValueError, match="event times"):
        dforest.combine([whole, RandomSurvivalForest(1).fit(X, Y * [1, 2])])


# Data


def test_forms_of_y_and_X():
    model = RandomSurvivalForest(5, random_state=0).fit(X, Y)
    structured = np.array(list(zip(EVENT, TIME, strict=True)), "?,f8")
    for y in (structured, Y.tolist(), pd.DataFrame({"dead": EVENT, "days": TIME}), list(zip(EVENT, TIME, strict=True))):
        assert_equal(model, RandomSurvivalForest(5, random_state=0).fit(X, y))
        assert model.score(X, y) == model.score(X, Y)
    weight = np.where(np.arange(len(X)) < 100, 1.0, 0.0)
    assert_equal(RandomSurvivalForest(5, random_state=0).fit(X[:100], Y[:100]),
                 RandomSurvivalForest(5, random_state=0).fit(X, Y, weight))  # fmt: skip
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    assert RandomSurvivalForest(20, oob_score=True, random_state=0).fit(holes, Y).oob_score_ > 0.55
    table = pd.DataFrame({"group": pd.Categorical(np.where(X[:, 0] < 0.5, "a", "b")), "x": X[:, 3]})
    assert SurvivalTree(max_depth=1).fit(table, Y).forest_.feature[0] == 0


def tables_of_y():
    yield pa.table({"dead": EVENT, "days": TIME})
    yield pa.table({"dead": pa.chunked_array([EVENT[:9], EVENT[9:]]), "days": TIME})
    yield pa.record_batch({"dead": EVENT, "days": TIME})
    yield pl.DataFrame({"dead": EVENT, "days": TIME})
    yield pd.DataFrame({"dead": pd.array(EVENT, "boolean"), "days": pd.array(TIME, "Float64")})
    yield pd.DataFrame({"dead": EVENT.astype(object), "days": TIME})
    yield pd.DataFrame({"dead": pd.array(EVENT, pd.ArrowDtype(pa.bool_())), "days": TIME.astype(int)})
    yield np.ma.masked_array(Y)
    yield np.ma.masked_array(np.array(list(zip(EVENT, TIME, strict=True)), "?,f8"))


@pytest.mark.parametrize("y", list(tables_of_y()), ids=lambda y: type(y).__module__)
def test_tables_as_y(y):
    forest, other = (RandomSurvivalForest(2, random_state=0).fit(X, own) for own in (Y, y))
    assert_equal(forest, other)
    assert forest.score(X, y) == forest.score(X, Y)


def tables_without_values():
    holes = [None, *EVENT[1:].tolist()]
    yield pa.table({"dead": holes, "days": TIME}), "None"
    yield pl.DataFrame({"dead": holes, "days": TIME}), "None"
    yield pd.DataFrame({"dead": pd.array(holes, "boolean"), "days": TIME}), "None"
    yield pd.DataFrame({"dead": [pd.NA, *EVENT[1:]], "days": TIME}), "None"
    yield np.ma.masked_array(Y.astype(object), mask=np.arange(2 * len(Y)).reshape(Y.shape) == 0), "None"
    yield [(pd.NA, 1.0), (True, 2.0)], "<NA>"


@pytest.mark.parametrize(("y", "what"), list(tables_without_values()))
def test_an_event_that_has_no_value(y, what):
    name = 0 if isinstance(y, np.ndarray | list) else "'dead'"
    with pytest.raises(ValueError, match=f"column {name} of y has no value in row 0, which holds {what}; allowed are True or 1"):
        SurvivalTree().fit(X[: len(y)], y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (TIME, "y has the shape"),
        (np.column_stack([Y, TIME, TIME]), "y has 4 columns"),
        (np.column_stack([Y, TIME]), "column 2 of y holds the entry .* in row 0, whose time is"),
        (np.column_stack([Y, 0 * TIME - 1]), "column 2 of y holds -1 in row 0; allowed are finite entries"),
        (Y * [2, 1], "column 0 of y holds 2 in row"),
        (Y * [1, -1], "column 1 of y holds -"),
        (np.where(np.arange(len(Y))[:, None] == 7, [1, np.nan], Y), "column 1 of y holds nan in row 7"),
        (Y * [0, 1], "no event"),
        (Y[:, ::-1], "The columns may be swapped: the event comes first, then the time"),
        (pd.DataFrame({"dead": np.where(EVENT, "yes", "no"), "days": TIME}), "column 'dead' of y holds '(yes|no)' in row 0"),
        (np.ma.masked_less(Y, 0.5), "column 0 of y holds nan in row"),
        (list(zip(EVENT, TIME.astype(str), strict=True)), "column 1 of y holds '.*' in row 0; allowed are finite times"),
        (np.array([("x", t) for t in TIME], "U1,f8"), "field 'f0' of y is of the type"),
        (Y[:-1], "inconsistent"),
    ],
)
def test_targets_that_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        RandomSurvivalForest(2).fit(X, y)


def test_more_times_than_codes_have_numbers_for(monkeypatch):
    monkeypatch.setattr("dforest.estimators.data.survival.MOST_TIMES", 5)
    with pytest.raises(ValueError, match=r"y has \d\d different times; allowed are up to 5"):
        RandomSurvivalForest(2).fit(X, Y)


def test_arguments_that_are_refused():
    forest = RandomSurvivalForest(2, random_state=0).fit(X, Y)
    for call, message in [
        (lambda: forest.predict_survival_function(X, times=[2.0, 1.0]), "times="),
        (lambda: forest.predict_quantiles(X, 1.0), "quantiles=1.0"),
        (lambda: forest.predict_restricted_mean(X, -1.0), "horizon=-1.0"),
        (lambda: forest.score(X, Y[:-1]), "y has 149 rows, and X has 150"),
        (lambda: forest.score(X[:2], [(0, 1.0), (0, 2.0)]), "no comparable pairs"),
        (lambda: RandomSurvivalForest(oob_score="r2").fit(X, Y), "oob_score"),
        (lambda: RandomSurvivalForest(criterion="gini").fit(X, Y), "criterion"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_times_of_zero_are_times():
    """As scikit-survival has it."""
    tree = SurvivalTree(max_depth=1, min_samples_leaf=3).fit(np.zeros((3, 1)), [(1, 0.0), (0, 0.0), (1, 2.0)])
    np.testing.assert_allclose(tree.predict_survival_function([[0]], return_array=True), [[2 / 3, 0]])


def test_searches():
    search = GridSearchCV(RandomSurvivalForest(10, random_state=0), {"min_samples_leaf": [3, 50]}, cv=2)
    structured = np.array(list(zip(EVENT, TIME, strict=True)), "?,f8")
    assert search.fit(X, structured).best_score_ > 0.6
