"""Causal forests: trees like those of the twin, effects that follow from moments, averages, and the same bits everywhere."""

import pickle
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import InvalidParameterError

import dforest
from dforest import CausalForest
from dforest.callback import TimeLimit
from dforest.estimators.causal.intervals import expected_losses
from dforest.estimators.causal.scores import (
    doubly_robust,
    mean,
    mean_of_some,
    of_arms,
    rank_average,
    regression,
    targeting_curve,
)

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 4))
W = (RNG.random(N) < 0.5).astype(float)
EFFECT = 1.0 + X[:, 0]
Y = X[:, 1] + EFFECT * W + 0.5 * RNG.normal(size=N)
GROUPS = np.arange(N) // 4


def small(**parameters):
    return CausalForest(**{"n_estimators": 40, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def forest():
    return small().fit(X, Y, treatment=W)


def same(one, other):
    return (
        one.digest() == other.digest()
        and one.predict(X).tobytes() == other.predict(X).tobytes()
        and one.predict().tobytes() == other.predict().tobytes()
        and one.predict_interval(X).tobytes() == other.predict_interval(X).tobytes()
        and one.average_effect() == other.average_effect()
    )


@pytest.mark.parametrize("method", ["hist", "dense"])
def test_threads_files_and_pickles_keep_the_bits(method, tmp_path):
    arms = np.array(["no", "pill", "shot"])[np.arange(N) % 3]
    told = {"treatment": arms, "groups": GROUPS, "sample_weight": 1 + np.arange(N) % 3}
    alone = small(method=method).fit(X, np.column_stack([Y, X[:, 2]]), **told)
    threads = small(method=method, n_jobs=3).fit(X, np.column_stack([Y, X[:, 2]]), **told)
    threads.save(tmp_path / "model")
    assert alone.predict(X).shape == (N, 2, 2) and alone.arms_.tolist() == ["no", "pill", "shot"]
    for found in threads, dforest.load(tmp_path / "model"), pickle.loads(pickle.dumps(alone)):
        assert found.digest() == alone.digest()
        assert found.predict(X).tobytes() == alone.predict(X).tobytes()
        assert found.predict_interval().tobytes() == alone.predict_interval().tobytes()
        for arm in ("pill", "shot"):
            assert found.average_effect(outcome=1, treatment=arm) == alone.average_effect(outcome=1, treatment=arm)


def test_effects_of_training_rows_are_those_of_the_trees_that_left_them_out(forest):
    trees, moments = forest.forest_, forest.forest_.objective.moments
    leaves = trees.leaf_row[forest.apply(X) + trees.node_offsets[:-1]]
    left_out = np.stack([trees.left_out(t) for t in range(trees.n_trees)], axis=1)
    mean = np.stack([trees.leaf_value[leaf[out]].mean(axis=0) for leaf, out in zip(leaves, left_out, strict=True)])
    np.testing.assert_allclose(forest.predict(), moments.effects(mean)[:, 0, 0], rtol=1e-9)
    weights = forest.forest_weights(X)
    rest = [own - own.mean() for own in (Y - forest.y_hat_[:, 0], W - forest.w_hat_[:, 0])]
    level = [np.asarray(weights @ part) for part in (*rest, rest[0] * rest[1], rest[1] ** 2)]
    found = (level[2] - level[0] * level[1]) / (level[3] - level[1] ** 2)
    np.testing.assert_allclose(forest.predict(X), found, rtol=1e-7)


def test_effects_do_not_depend_on_units(forest):
    doubled = small().fit(X, 4.0 * Y, treatment=W)
    np.testing.assert_allclose(doubled.predict(X), 4.0 * forest.predict(X), rtol=1e-9)
    dose = small().fit(X, Y, treatment=W * 8.0)
    assert np.array_equal(dose.forest_.feature, forest.forest_.feature)
    np.testing.assert_allclose(dose.predict(X) * 8.0, forest.predict(X), rtol=1e-9)


def test_labels_are_numbers_of_arms(forest):
    assert same(small().fit(X, Y, treatment=W > 0), forest)
    named = small().fit(X, Y, treatment=np.where(W > 0, "pill", "none"))
    assert same(named, forest) and named.arms_.tolist() == ["none", "pill"]
    assert small().fit(X, Y[:, None], treatment=W[:, None]).predict(X).shape == (N,)


def test_rows_of_weight_zero_are_left_out():
    weight = np.where(np.arange(N) % 5 == 0, 0.0, 1.0)
    kept = weight > 0
    told = {"y_hat": np.zeros(N), "w_hat": np.full(N, 0.5)}
    with_zeros = small().fit(X, Y, treatment=W, sample_weight=weight, **told)
    without = small().fit(X[kept], Y[kept], treatment=W[kept], **{name: value[kept] for name, value in told.items()})
    assert with_zeros.predict(X).tobytes() == without.predict(X).tobytes()
    assert with_zeros.average_effect() == without.average_effect()
    effects, scores = with_zeros.predict(), with_zeros.doubly_robust_scores()
    assert np.isnan(effects[~kept]).all() and np.isnan(scores[~kept]).all()
    assert np.array_equal(effects[kept], without.predict())


def test_expectations_come_from_models():
    given = small(outcome_model=LinearRegression(), treatment_model=DummyRegressor(), cv=3).fit(X, Y, treatment=W)
    assert np.corrcoef(given.y_hat_[:, 0], Y)[0, 1] > 0.5
    assert len(np.unique(given.w_hat_)) == 3  # a mean of each fold's rest
    own = small().fit(X, Y, treatment=W, y_hat=given.y_hat_, w_hat=given.w_hat_[:, 0])
    assert np.array_equal(own.forest_.leaf_value, given.forest_.leaf_value)
    grouped = small(outcome_model=LinearRegression()).fit(X, Y, treatment=W, groups=GROUPS)
    assert grouped.average_effect().standard_error > 0
    with pytest.raises(InvalidParameterError, match="outcome_model"):
        small(outcome_model=3).fit(X, Y, treatment=W)


def test_groups_are_drawn_together():
    model = small().fit(X, Y, treatment=W, groups=GROUPS)
    for t in range(4):
        drawn = model.forest_.drawn_counts(t)
        assert all(len(set(drawn[GROUPS == group])) == 1 for group in range(20))


def test_average_effects_are_those_of_their_formulas(forest):
    tau, y, w, m, e = forest.predict(), Y, W, forest.y_hat_[:, 0], np.clip(forest.w_hat_[:, 0], 0.01, 0.99)
    scores = tau + (w - e) / (e * (1 - e)) * (y - m - (w - e) * tau)
    np.testing.assert_allclose(forest.doubly_robust_scores(), scores, rtol=1e-12)
    found = forest.average_effect()
    np.testing.assert_allclose([found.estimate, found.standard_error], [scores.mean(), scores.std(ddof=1) / np.sqrt(N)])
    some = forest.average_effect(subset=X[:, 0] > 0)
    np.testing.assert_allclose(some.estimate, scores[X[:, 0] > 0].mean())
    assert some == forest.average_effect(subset=np.flatnonzero(X[:, 0] > 0))
    # The residuals of both arms, weighted to look like the treated.
    rest = y - m - (w - e) * tau
    correction = np.average(rest[w == 1]) - np.average(rest[w == 0], weights=(e / (1 - e))[w == 0])
    np.testing.assert_allclose(forest.average_effect("treated").estimate, tau[w == 1].mean() + correction)
    line = np.polyfit(w - e, y - m, 1)
    np.testing.assert_allclose(forest.average_effect("overlap").estimate, line[0])
    assert abs(forest.average_effect("control").estimate - 1.0) < 0.3


def test_scores_of_two_arms_are_those_of_one_treatment():
    rng = np.random.default_rng(1)
    (tau, y, m), w, e = rng.normal(size=(3, 20)), (rng.random(20) < 0.5) * 1.0, rng.uniform(0.2, 0.8, 20)
    arms = of_arms(tau[:, None], y, w.astype(int), m, np.column_stack([1 - e, e]))
    np.testing.assert_allclose(arms[:, 0], doubly_robust(tau, y, w, m, e))


def test_robust_errors_are_those_without_each_row_or_cluster():
    """HC3 and CR3 residuals are those that rows, or clusters, have in regressions without them."""
    rng = np.random.default_rng(0)
    A, y = np.column_stack([np.ones(30), rng.normal(size=(30, 2))]), rng.normal(size=30)
    for clusters in (None, np.arange(30) // 3):
        found = regression(["a", "b", "c"], A, y, None, clusters)
        each = np.arange(30) if clusters is None else clusters
        without = np.array([np.linalg.lstsq(A[each != k], y[each != k], rcond=None)[0] for k in np.unique(each)])
        np.testing.assert_allclose(found.estimate, np.linalg.lstsq(A, y, rcond=None)[0])
        np.testing.assert_allclose(found.standard_error**2, np.square(without - found.estimate).sum(axis=0), rtol=1e-9)
    assert "std. error" in str(found) and list(found.as_dict()) == ["name", "estimate", "standard_error", "statistic", "pvalue"]


def test_targeting_curves_are_means_of_the_first_rows():
    scores, priorities = np.array([4.0, 1.0, 3.0, 0.0]), np.array([3.0, 1.0, 2.0, 0.0])
    share, gain = targeting_curve(scores, priorities)
    np.testing.assert_allclose(share, [0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(gain, [2.0, 1.5, 8 / 3 - 2, 0.0])
    assert np.isclose(rank_average(scores, priorities, None, "AUTOC"), gain.mean())
    assert np.isclose(rank_average(scores, priorities, None, "QINI"), (gain * share).mean())
    tied = targeting_curve(scores, np.zeros(4))[1]
    np.testing.assert_allclose(tied, 0.0, atol=1e-15)
    doubled = targeting_curve(np.repeat(scores, [2, 1, 1, 1]), np.repeat(priorities, [2, 1, 1, 1]))
    weighted = targeting_curve(scores, priorities, np.array([2.0, 1.0, 1.0, 1.0]))
    np.testing.assert_allclose(doubled[1][[1, 3]], weighted[1][[0, 2]])


def test_what_depends_on_effects_is_found(forest):
    test = forest.calibration_test()
    assert test.names == ["mean", "differential"] and test.pvalue[0] < 0.01
    line = forest.best_linear_projection(pd.DataFrame(X[:, :2], columns=["first", "second"]))
    assert line.names == ["constant", "first", "second"] and line.pvalue[1] < 0.01
    ranking = forest.rank_average_effect(X[:, 0])
    assert ranking.estimate.interval()[0] > 0 and len(ranking.gain) == N
    assert ranking.estimate == forest.rank_average_effect(X[:, 0]).estimate
    assert forest.feature_importances_.argmax() == 0 and np.isclose(forest.feature_importances_.sum(), 1)
    assert forest.split_frequencies(2).shape == (2, 4)


def test_instruments_find_what_is_confounded():
    rng = np.random.default_rng(0)
    n = 2000
    hidden, z, rows = rng.normal(size=n), (rng.random(n) < 0.5).astype(float), rng.normal(size=(n, 3))
    w = np.where(rng.random(n) < 0.8, z, hidden > 0)
    y = 2.0 * w + hidden + 0.3 * rng.normal(size=n)
    plain = small(n_estimators=100).fit(rows, y, treatment=w)
    model = small(n_estimators=100).fit(rows, y, treatment=w, instrument=z)
    assert abs(model.average_effect().estimate - 2.0) < 0.2 < plain.average_effect().estimate - 2.0
    with pytest.raises(ValueError, match='target="overlap" is not defined with an instrument'):
        model.average_effect("overlap")


def test_doses_have_scores():
    dose = X[:, 2] + RNG.normal(size=N)
    model = small().fit(X, Y + EFFECT * dose, treatment=dose)
    low, high = model.average_effect().interval(0.999)
    assert low < 1.0 < high
    with pytest.raises(ValueError, match="target='treated' needs one treatment of 0 and 1"):
        model.average_effect("treated")


def test_a_warm_start_goes_on():
    whole = small(n_estimators=40).fit(X, Y, treatment=W)
    model = small(n_estimators=20, warm_start=True).fit(X, Y, treatment=W)
    assert same(model.set_params(n_estimators=40).fit(X, Y, treatment=W), whole)
    with pytest.raises(ValueError, match="treatment is another than that of the trees which warm_start=True goes on with"):
        model.set_params(n_estimators=50).fit(X, Y, treatment=1 - W)


def test_metadata_is_routed():
    with config_context(enable_metadata_routing=True):
        model = small().set_fit_request(treatment=True, sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        found = pipeline.fit(X, Y, treatment=W, sample_weight=np.ones(N)).predict(X)
    assert np.corrcoef(found, EFFECT)[0, 1] > 0.8


WRONG = [
    ({"treatment": None}, "treatment=None: a causal forest requires treatment to be passed"),
    ({"treatment": np.zeros(N)}, "treatment is 0 in all rows; allowed are numbers that differ between rows"),
    ({"treatment": W[:10]}, "treatment has 10 rows, and y has 400"),
    ({"treatment": np.where(W > 0, np.nan, 0.0)}, "Input treatment contains NaN"),
    ({"treatment": np.full(N, "pill")}, "treatment has the label 'pill' alone; allowed are two labels or more"),
    ({"treatment": W, "instrument": X[:, :2]}, "instrument has 2 columns, and there are 1 treatments"),
    ({"treatment": W, "y_hat": np.zeros(3)}, r"y_hat has the shape \(3, 1\); allowed is \(400, 1\)"),
    ({"treatment": W, "z_hat": W}, "z_hat is given without an instrument"),
    ({"treatment": W, "y": Y * 1e200}, "y and treatment have products that are beyond the range of float64"),
]


@pytest.mark.parametrize(("told", "message"), WRONG, ids=[message[:30] for _, message in WRONG])
def test_what_is_wrong_is_named(told, message):
    told = {"y": Y, **told}
    if "range" in message:
        told |= {"treatment": W * 1e200, "y_hat": np.zeros(N), "w_hat": np.zeros(N)}
    model = small()
    with pytest.raises(ValueError, match=message):
        model.fit(X, **told)
    assert vars(model).keys() == set(model.get_params())


def test_questions_that_are_wrong(forest):
    for ask, message in (
        (lambda: forest.average_effect("nobody"), "target='nobody'; allowed are 'all', 'treated', 'control', 'overlap'"),
        (lambda: forest.average_effect(subset=np.zeros(N, bool)), "has no row of positive weight; allowed are subsets that"),
        (lambda: forest.average_effect(subset=[1.5]), "allowed are a mask of the 400 training rows"),
        (lambda: forest.average_effect(outcome=1), "outcome=1; allowed are 0 to 0"),
        (lambda: forest.best_linear_projection(X[:5]), r"A has the shape \(5, 4\)"),
        (lambda: forest.rank_average_effect(X[:5, 0]), r"priorities has the shape \(5,\)"),
        (lambda: forest.rank_average_effect(X[:, 0], "gini"), "target='gini'; allowed are \"AUTOC\" and \"QINI\""),
        (lambda: forest.predict_interval(level=2), "level=2; allowed are numbers above 0 and below 1"),
        (lambda: small(ci_group_size=1).fit(X, Y, treatment=W).predict_interval(X), "intervals need two bags of trees or more"),
        (lambda: small(keep_training_data=False).fit(X, Y, treatment=W).predict(), "keep_training_data=False"),
        (lambda: forest.predictor(), "predictor is about means over trees, but a CausalForest predicts effects"),
    ):
        with pytest.raises(ValueError, match=message):
            ask()


def test_few_rows_to_compare_with_are_warned_of():
    rare = (X[:, 0] > 1.0).astype(float)
    with pytest.warns(UserWarning, match="rows, .* have an expected share below 0.05"):
        small().fit(X, Y, treatment=rare)
    with pytest.warns(UserWarning, match="X explains .* of the variance of treatment"):
        small(treatment_model=LinearRegression()).fit(X, Y, treatment=X[:, 0] + 1e-3 * RNG.normal(size=N))


def test_reports_say_what_is_known(forest, tmp_path):
    page = str(forest.report(path=tmp_path / "page.html"))
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    for name in ("Who can be compared?", "Does it work?", "For whom?", "The best line", "What to doubt", "Origin"):
        assert name in page
    assert f"{forest.average_effect().estimate:.3g}" in page
    frame = pd.DataFrame({"<b>": X[:, 0], "kind": pd.Categorical(np.array(list("ab"))[GROUPS % 2])})
    arms = small().fit(frame, np.column_stack([Y, Y]), treatment=np.array(["<no>", "pill", "shot"])[np.arange(N) % 3])
    told = str(arms.report(outcome=1, treatment="shot"))
    assert "&lt;no&gt;" in told and "<b>" not in told and "needs one treatment of 0 and 1" not in told
    dose = str(small().fit(X, Y, treatment=X[:, 1] + RNG.normal(size=N)).report())
    assert "of the treatment&#x27;s variance" in dose or "of the treatment's variance" in dose
    with pytest.raises(ValueError, match="treatment='drug'; allowed are the arms 'pill', 'shot'"):
        arms.report(treatment="drug")


def test_parameters_that_are_auto_are_chosen_by_residuals_out_of_bag():
    chosen = small(n_estimators=100, min_samples_leaf="auto", max_features="auto", honest_fraction="auto", alpha="auto")
    chosen.fit(X, Y, treatment=W)
    assert set(chosen.best_params_) == {"min_samples_leaf", "max_features", "honest_fraction", "alpha"}
    assert len(chosen.selection_["params"]) >= 10 and (np.diff(np.sort(chosen.selection_["rank"])) == 1).all()
    same_values = small(n_estimators=100, **chosen.best_params_).fit(X, Y, treatment=W, y_hat=chosen.y_hat_, w_hat=chosen.w_hat_)
    assert same_values.digest() == chosen.digest()
    assert same(dforest.load(saved(chosen)), chosen)


def saved(model):
    path = Path(tempfile.mkdtemp()) / "model"
    model.save(path)
    return path


def test_losses_are_residuals_less_the_noise_of_few_trees(forest):
    trees, moments = forest.forest_, forest.forest_.objective.moments
    rest = np.column_stack([own - own.mean() for own in (Y - forest.y_hat_[:, 0], W - forest.w_hat_[:, 0])])
    y = moments.of(rest[:, :1], rest[:, 1:])
    for n_trees in (trees.n_trees, 1000):
        found = expected_losses(trees, X, y, n_trees, 1)
        leaves = trees.leaf_row[forest.apply(X) + trees.node_offsets[:-1]]
        for i in (0, 17, 200):
            out = [t for t in range(trees.n_trees) if trees.left_out(t)[i]]
            own = trees.leaf_value[leaves[i, out]]
            mean = own.mean(axis=0, keepdims=True)
            effect = moments.effects(mean)
            apart = moments.linearised(mean, effect, own[None])[0, :, 0, 0] * rest[i, 1]
            noise = np.square(apart).sum() / (len(out) - 1) * max(0.0, 1 / len(out) - 1 / n_trees)
            square = (rest[i, 0] - rest[i, 1] * effect[0, 0, 0]) ** 2
            expected = square - min(noise, square)
            np.testing.assert_allclose(found[i], expected, rtol=1e-9)


# What a reading by another found.


def test_treatments_that_go_together_are_told_apart():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 3))
    arm = rng.integers(0, 3, 1500)
    y = rows[:, 1] + np.array([0.0, 1.0, 5.0])[arm] + 0.5 * rng.normal(size=1500)
    arms = small(n_estimators=100).fit(rows, y, treatment=np.array(["a", "b", "c"])[arm])
    for target in ("all", "overlap"):
        for name, truth in (("b", 1.0), ("c", 5.0)):
            assert abs(arms.average_effect(target, treatment=name).estimate - truth) < 0.2
    with pytest.raises(ValueError, match="calibration_test is for one treatment"):
        arms.calibration_test(treatment="b")
    dose = rng.normal(size=(1500, 2))
    dose[:, 1] += dose[:, 0]
    for scale in (1.0, 1e9):
        doses = small(n_estimators=100).fit(rows, dose @ [1.0, 3.0] + 0.5 * rng.normal(size=1500), treatment=dose * [scale, 1.0])
        np.testing.assert_allclose(np.nanmean(doses.predict(), axis=0) * [scale, 1.0], [1.0, 3.0], atol=0.2)
        assert abs(doses.average_effect("overlap", treatment=0).estimate * scale - 1.0) < 0.2


def test_columns_of_any_unit_have_coefficients(forest):
    plain = forest.best_linear_projection(X[:, :2])
    large = forest.best_linear_projection(X[:, :2] * 1e9)
    np.testing.assert_allclose(large.statistic, plain.statistic, rtol=1e-6)
    np.testing.assert_allclose(forest.best_linear_projection(X[:, :2] + 1e6).statistic[1:], plain.statistic[1:], rtol=1e-4)
    for A, message in (
        (np.column_stack([X[:, 0], 2 * X[:, 0]]), "the column 'A2' follows from others"),
        ((np.arange(N) == 3) * 1.0, "a coefficient is told by a single row alone"),
        (np.full((N, 1), "a"), "A has values of the type"),
    ):
        with pytest.raises(ValueError, match=message):
            forest.best_linear_projection(A)


def test_labels_of_groups_are_of_any_type():
    numbers, labels = (small().fit(X, Y, treatment=W, groups=own) for own in (GROUPS, np.array([f"g{k}" for k in GROUPS])))
    assert same(numbers, labels)
    for ask in (CausalForest.calibration_test, CausalForest.best_linear_projection):
        assert np.array_equal(ask(numbers).estimate, ask(labels).estimate)
    assert numbers.average_effect("overlap") == labels.average_effect("overlap")
    assert numbers.rank_average_effect(X[:, 0]).estimate == labels.rank_average_effect(X[:, 0]).estimate


def test_scores_of_doses_and_instruments_take_any_table():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=pd.Categorical(np.array(list("xyz"))[GROUPS % 3]))
    dose = X[:, 2] + RNG.normal(size=N)
    told = {"feature_weights": {"c": 2.0, "a": 1.0}, "always_split_features": ["b"]}
    named = small(**told).fit(frame, Y + dose, treatment=dose)
    assert abs(named.average_effect().estimate - 1.0) < 0.3
    z = (RNG.random(N) < 0.5).astype(float)
    w = np.where(RNG.random(N) < 0.8, z, 1 - z)
    rows = csr_matrix(np.where(np.abs(X) > 1, X, 0.0))
    for table in (rows, frame):
        model = small().set_callbacks(TimeLimit(3600)).fit(table, X[:, 1] + w, treatment=w, instrument=z)
        assert abs(model.average_effect().estimate - 1.0) < 0.5
        assert np.isfinite(small().fit(table, Y + dose, treatment=dose).average_effect().estimate)


def test_a_categorical_treatment_keeps_its_order():
    kind = pd.Series(pd.Categorical(np.where(W > 0, "a", "b"), ["b", "a"]))
    model = small().fit(X, Y, treatment=kind)
    assert model.arms_.tolist() == ["b", "a"] and model.average_effect().estimate > 0
    for treatment in (pd.Series(W > 0, dtype=object), pd.Series(W.astype(int), dtype=object)):
        assert small().fit(X, Y, treatment=treatment).digest() == model.digest()


REFUSED = [
    ({"sample_weight": W[:5]}, "sample_weight has the shape"),
    ({"sample_weight": -W}, "sample_weight has numbers that are not allowed"),
    ({"groups": GROUPS[:5]}, "groups has the shape"),
    ({"treatment": np.arange(N).astype(str)}, "treatment has 400 labels; allowed are up to 50 arms"),
    ({"instrument": np.ones(N)}, "instrument 0 is 1 in all rows"),
    ({"w_hat": np.full(N, 1.7)}, "w_hat has numbers beyond 0 and 1"),
]


@pytest.mark.parametrize(("told", "message"), REFUSED, ids=[message[:30] for _, message in REFUSED])
def test_what_is_told_wrongly_is_refused(told, message):
    with pytest.raises(ValueError, match=message):
        small().fit(X, Y, **{"treatment": W, **told})


def test_models_that_cannot_be_used_are_refused():
    for model, error, message in (
        (LogisticRegression(), TypeError, "treatment_model=LogisticRegression.* which classifiers don't"),
        (dforest.RandomForestRegressor(3), ValueError, "has no tree that leaves out"),
        (make_pipeline(Wrong()), ValueError, "predicts numbers that are not finite"),
    ):
        with pytest.raises(error, match=message), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            small(treatment_model=model).fit(X, Y, treatment=W)
    with pytest.raises(ValueError, match="cv=5, but there are 3 rows or groups"):
        small(treatment_model=LinearRegression()).fit(X, Y, treatment=W, groups=np.arange(N) % 3)
    with pytest.raises(ValueError, match='="auto" is not possible with an instrument'):
        small(alpha="auto").fit(X, Y, treatment=W, instrument=X[:, 3])


class Wrong(LinearRegression):
    """A model that predicts nothing."""

    def predict(self, X):
        return super().predict(X) * np.nan


def test_averages_of_few_rows_are_refused(forest):
    few = small(n_estimators=2).fit(X, Y, treatment=W)
    for ask, message in (
        (few.average_effect, "of 400 rows have no effect out of bag"),
        (lambda: forest.average_effect(subset=[3]), "there is 1 row to estimate from"),
        (lambda: forest.average_effect(subset=[3, 3]), "has a number twice"),
        (lambda: forest.average_effect("treated", subset=W == 1), "all of the rows are treated, or none is"),
        (lambda: forest.rank_average_effect(X[:, 0], subset=[3, 4]), "there are 2 rows or groups to rank"),
        (lambda: forest.average_effect(outcome=False), "outcome=False; allowed are 0 to 0"),
        (lambda: forest.split_frequencies(0), "max_depth=0"),
        (lambda: forest.average_effect().interval(2), "level=2"),
    ):
        with pytest.raises(ValueError, match=message):
            ask()


def test_there_are_no_estimators_of_trees(forest):
    """Consoles that complete names, and `if forest:`, do without them."""
    with pytest.raises(AttributeError, match="the trees of a causal forest predict no effects by themselves"):
        _ = forest.estimators_
    assert "average_effect" in dir(forest) and not hasattr(forest, "estimators_")
    assert len(forest) == forest.n_estimators_ and forest


def test_averages_of_the_treated_are_of_the_population():
    """The spread of estimates over samples is what the standard error says, where effects vary."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        tau = 3 * rng.normal(size=300)
        w = (rng.random(300) < 0.5).astype(float)
        y = tau * w + rng.normal(size=300)
        found.append(mean_of_some(tau, y, w, 0.5 * tau, np.full(300, 0.5), None, None, True))
    spread = np.std([one.estimate for one in found], ddof=1)
    assert 0.7 < np.mean([one.standard_error for one in found]) / spread < 1.4


def test_weights_have_no_unit(forest):
    scores, weight = forest.doubly_robust_scores(), RNG.random(N)
    expected = mean(scores, weight, None)
    for factor in (1e-200, 1e200):
        found = mean(scores, weight * factor, None)
        np.testing.assert_allclose([found.estimate, found.standard_error], [expected.estimate, expected.standard_error])


def test_nothing_is_kept_if_nothing_is_to_be_kept():
    model = small(keep_training_data=False).fit(X, Y, treatment=W)
    assert model._observed is None and Y.tobytes() not in pickle.dumps(model)
    with pytest.raises(ValueError, match="warm_start=True needs keep_training_data=True"):
        model.set_params(warm_start=True, n_estimators=50).fit(X, Y, treatment=W)


def test_memory_is_estimated():
    found = small().estimate_memory(X, Y, treatment=W, groups=GROUPS)
    assert found.total > 0 and "forest" in str(found)
