"""Labels of columns that have many, ordered by rows that a tree does not draw: `categorical_split="order"`."""

import numpy as np
import pandas as pd
import pytest
from helpers import device_forests
from helpers.host_device import strict_device
from helpers.ranks import Cut, fit_by_ranks, sizes
from helpers.rings import combined, examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from twins import intervals, naive
from twins.labels import orders_labels
from twins.sampling import twin_of

from dforest import (
    DecisionTreeClassifier,
    ExtraSurvivalTrees,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomSurvivalForest,
)
from dforest.core.predict.permutation import permute_values
from dforest.sampling import AllRows, Groups, GroupSampling, Sampling
from dforest.testing.survival import ENTRY

FORESTS = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]
SURVIVAL = [RandomSurvivalForest, ExtraSurvivalTrees]
ALL = pytest.mark.parametrize("kind", FORESTS)
SURVIVAL_TOO = pytest.mark.parametrize("kind", FORESTS + SURVIVAL)


def codes_of(y):
    """Targets of the twin, of survival times."""
    (event, time), event_times = y.T[:2], np.unique(y[y[:, 0] == 1, 1])
    begin = np.searchsorted(event_times, y[:, 2], side="right") if y.shape[1] > 2 else 0
    return (2 * np.searchsorted(event_times, time, side="right") + event + ENTRY * begin).astype(int)


def problem(kind, seed=0, n=600, n_labels=80, n_classes=3, effect=2.0):
    """Two columns of numbers and one of labels, each of which has an effect of its own, spread by so much; some are missing."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, 3)), 1)
    X[:, 1] = rng.integers(0, n_labels, n)
    if kind in SURVIVAL:
        risk = X[:, 0] / 2 + effect / 2 * rng.standard_normal(n_labels)[X[:, 1].astype(int)]
        time, censored = rng.exponential(np.exp(risk)), rng.exponential(3.0, n)
        return X, np.column_stack([time <= censored, np.round(np.minimum(time, censored), 1) + 0.1])
    y = X[:, 0] + effect * rng.standard_normal(n_labels)[X[:, 1].astype(int)] + rng.standard_normal(n) / 2
    X[rng.random(n) < 0.05, 1] = np.nan
    if kind in (RandomForestClassifier, ExtraTreesClassifier):
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    return X, y


def make(kind, n_trees=5, **parameters):
    given = {"categorical_features": [1], "categorical_split": "order", "bootstrap": True, "random_state": 0}
    return kind(n_trees, **given | parameters)


def by_number(X):
    """X with the numbers of labels in place of these."""
    known = ~np.isnan(X[:, 1])
    X = X.copy()
    X[known, 1] = np.unique(X[known, 1], return_inverse=True)[1]
    return X


def in_use(forest):
    """How many splits test the column of labels."""
    return int((forest.feature == 1).sum())


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_every_node_is_that_of_the_twin(assert_twin, data):
    kind = data.draw(st.sampled_from(FORESTS))
    is_classifier = kind in (RandomForestClassifier, ExtraTreesClassifier)
    seed, n = data.draw(st.integers(0, 2**32)), data.draw(st.integers(60, 200))
    n_classes = data.draw(st.sampled_from([2, 3, 5, 70]))
    X, y = problem(kind, seed, n, data.draw(st.sampled_from([33, 60, 300])), n_classes)
    if is_classifier and n_classes == 70:
        y = np.random.default_rng(seed).integers(0, 5, n) * 15 + y // 10
    rng = np.random.default_rng(seed)
    weight = data.draw(st.sampled_from([None, rng.integers(1, 5, n).astype(float), rng.random(n) + 1e-3]))
    parameters = {
        "criterion": data.draw(st.sampled_from(["gini", "entropy"] if is_classifier else ["squared_error"])),
        "method": data.draw(st.sampled_from(["hist", "dense"])),
        "max_features": data.draw(st.integers(1, 3)),
        "skip_constant_features": data.draw(st.booleans()),
        "max_leaf_nodes": data.draw(st.sampled_from([None, 9])),
        "min_samples_leaf": data.draw(st.sampled_from([1, 3])),
        "splitter": data.draw(st.sampled_from(["best", "random"])),
    }
    sampling = {"bootstrap": data.draw(st.sampled_from([True, "subsample"]))}
    sampling["max_samples"] = data.draw(st.sampled_from([None, 0.4]))
    forest = make(kind, 2, **parameters, **sampling).fit(X, y, weight).forest_
    X, y = by_number(X), np.unique(y, return_inverse=True)[1] if is_classifier else y
    for t in range(2):
        twin = naive.grow_tree(
            X, y, sample_weight=weight, n_classes=forest.objective.n_classes, sampling=twin_of(forest.plans[t]),
            seed=forest.seeds[t], n_categories=forest.n_categories.tolist(), ordinal=[False] * 3, categorical_split="order",
            **parameters,
        )  # fmt: skip
        assert_twin(forest, t, naive.flatten(twin, X.dtype))


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_every_node_of_a_survival_tree_is_that_of_the_twin(assert_twin, data):
    """Labels are ordered by log-rank scores among all rows; equal keys stay together where draws move from side to side."""
    seed, n = data.draw(st.integers(0, 2**32)), data.draw(st.integers(80, 200))
    X, y = problem(RandomSurvivalForest, seed, n, data.draw(st.sampled_from([33, 60])))
    rng = np.random.default_rng(seed)
    if data.draw(st.booleans()):
        y = np.column_stack([y, y[:, 1] * np.where(rng.random(n) < 0.3, rng.random(n), 0.0)])  # entries
    weight = data.draw(st.sampled_from([None, rng.integers(1, 5, n).astype(float), rng.random(n) + 1e-3]))
    parameters = {
        "criterion": data.draw(st.sampled_from(["logrank", "logrank_score"])),
        "method": data.draw(st.sampled_from(["hist", "dense"])),
        "max_features": data.draw(st.integers(1, 3)),
        "max_leaf_nodes": data.draw(st.sampled_from([None, 9])),
        "min_samples_leaf": data.draw(st.sampled_from([1, 3])),
        "min_samples_split": 6,
        "splitter": data.draw(st.sampled_from(["best", "random"])),
    }
    forest = make(RandomSurvivalForest, 2, **parameters).fit(X, y, weight).forest_
    for t in range(2):
        twin = naive.grow_tree(
            by_number(X), codes_of(y), sample_weight=weight, n_times=forest.objective.n_times, seed=forest.seeds[t],
            sampling=twin_of(forest.plans[t]), n_categories=forest.n_categories.tolist(), categorical_split="order", **parameters,
        )  # fmt: skip
        assert_twin(forest, t, naive.flatten(twin, X.dtype))


@SURVIVAL_TOO
def test_threads_change_nothing(kind, extremes, tuning, assert_equal):
    """Also where threads share nodes and subtrees."""
    X, y = problem(kind, n=3000, n_labels=400)
    first = None
    for extreme, n_jobs in combined(extremes, (1, 4)):
        with tuning(extreme):
            forest = make(kind, n_jobs=n_jobs).fit(X, y)
        first = first or forest
        assert_equal(first, forest, (extreme, n_jobs))
    assert in_use(first.forest_) > 20


@pytest.mark.parametrize(
    ("kind", "n_classes", "parameters"),
    [
        (RandomForestClassifier, 2, {"oob_score": True}),
        (RandomForestClassifier, 3, {"method": "dense"}),
        (RandomForestClassifier, 70, {}),
        (ExtraTreesClassifier, 3, {"oob_score": True, "max_features": 1}),
        (ExtraTreesClassifier, 2, {"method": "dense", "bootstrap": "subsample", "max_samples": 0.5}),
        (RandomForestRegressor, 0, {"method": "dense", "oob_score": True}),
        (RandomForestRegressor, 0, {"max_leaf_nodes": 9, "min_samples_leaf": 3}),
        (ExtraTreesRegressor, 0, {"max_features": 1}),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_ranks_and_devices_order_labels_as_one_process_does(kind, n_classes, parameters, weighted):
    """With subtrees of any size; labels that some ranks don't have, or no rows; and numbers whose extremes are not drawn."""
    X, y = problem(kind, n=300, n_labels=50, n_classes=min(n_classes, 5))
    rng = np.random.default_rng(0)
    if n_classes == 70:
        y = rng.integers(0, 14, len(X)) * 5 + y
    elif n_classes == 0:
        y[rng.integers(0, len(y), 3)] = [1e3, -1e3, 50]
    X[:60, 1] = np.minimum(X[:60, 1], 20)
    weight = rng.random(len(X)) + 0.1 if weighted else None
    model = make(kind, 3, **parameters)
    expected = clone(model).fit(X, y, weight)
    assert in_use(expected.forest_) > 2
    others = fit_by_ranks(model, X, y.astype(float), weight, Cut(np.array([0, 60, 200, 300]), np.array([0, 1, 0])), 2)
    with sizes(ship_up_to=20):
        others += fit_by_ranks(model, X, y.astype(float), weight, Cut(np.array([0, 100, 300]), np.arange(2)), 2)
    others += fit_by_ranks(model, X, y.astype(float), weight, Cut(np.array([0, 300]), np.zeros(1, int)), 2)
    for tuning in ({}, {"subtree_up_to": 0}, {"subtree_up_to": 40}):
        with device_forests.standing_in(strict_device()), device_forests.tuned(tuning):
            others.append(clone(model).set_params(device="gpu").fit(X, y, weight))
    for other in others:
        assert not isinstance(other, Exception), other
        found = other.forest_.as_dict()
        assert all(found[name].tobytes() == array.tobytes() for name, array in expected.forest_.as_dict().items())
        if model.oob_score:
            assert other.oob_score_ == expected.oob_score_


@ALL
def test_rows_that_order_labels_are_not_out_of_bag(kind):
    X, y = problem(kind)
    model = make(kind, 12, oob_score=True).fit(X, y)
    forest = model.forest_
    for t in range(12):
        drawn = forest.row_counts(t) > 0
        assert drawn.sum() == len(np.unique(model.estimators_samples_[t])) < 0.6 * len(X)  # of 0.75 n draws
        orders = [not drawn[row] and orders_labels(forest.seeds[t], row) for row in range(len(X))]
        np.testing.assert_array_equal(forest.left_out(t), ~drawn & ~np.array(orders))
    # Estimates are those of the trees that left a row out.
    left_out = np.stack([forest.left_out(t) for t in range(12)])
    own = [tree.predict_proba(X) if hasattr(tree, "classes_") else tree.predict(X)[:, None] for tree in model.estimators_]
    n_out = left_out.sum(axis=0)
    expected = np.full((len(X), own[0].shape[1]), np.nan)
    np.divide((left_out[:, :, None] * own).sum(axis=0), n_out[:, None], out=expected, where=n_out[:, None] > 0)
    found = model.oob_decision_function_ if hasattr(model, "classes_") else model.oob_prediction_[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_other_estimates_out_of_bag_take_the_same_rows():
    """Intervals, forest weights and importances: rows that order labels are not left out."""
    X, y = problem(RandomForestRegressor, n=150, n_labels=40)
    model = make(RandomForestRegressor, 30, keep_training_data=True, variable_importance="mda_raw").fit(X, y)
    forest = model.forest_
    used = np.array([~forest.left_out(t) for t in range(30)]).T
    there, trees = (np.array([tree.predict(rows) for tree in model.estimators_]).T for rows in (X[:9], X))
    for method, rule in (("oob", intervals.by_errors), ("jackknife+ab", intervals.by_jackknife)):
        expected = [rule(own, trees, used, y, 0.8) for own in there]
        np.testing.assert_allclose(model.predict_interval(X[:9], 0.8, method), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="is for rows drawn with replacement and equal chances"):
        model.predict_interval(X[:9], 0.8, "infinitesimal")
    rises = []
    for t, tree in enumerate(model.estimators_):
        rows = np.flatnonzero(forest.left_out(t))
        changed = X[rows]
        before = ((tree.predict(changed) - y[rows]) ** 2).mean()
        (changed[:, 1],) = permute_values([changed[:, 1].copy()], [forest.seeds[t]], [1], 1)
        rises.append(((tree.predict(changed) - y[rows]) ** 2).mean() - before)
    assert model.variable_importance_[1] == pytest.approx(np.mean(rises), rel=1e-9)


def test_a_column_of_row_numbers_is_never_used():
    """No row that orders labels has a label that is drawn, so all keys are equal."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(500), rng.permutation(500)])
    y = (X[:, 0] + rng.standard_normal(500) > 0).astype(int)
    for kind, seed in ((RandomForestClassifier, 1), (ExtraTreesClassifier, 2)):
        forest = make(kind, 20, random_state=seed, max_features=1).fit(X, y)
        assert forest.feature_importances_[1] == 0.0
    subsets = RandomForestClassifier(20, categorical_features=[1], categorical_split="subset", random_state=1).fit(X, y)
    assert subsets.feature_importances_[1] > 0.3


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_random_targets_are_not_learnt(kind):
    """With y at random, labels are worth no more than a column of noise, in the bag's estimate and with new rows."""
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.standard_normal(800), rng.integers(0, 250, 800), rng.standard_normal(800)])
        y = rng.standard_normal(800)
        model = make(kind, 60, random_state=seed, oob_score=True, min_samples_leaf=20).fit(X[:400], y[:400])
        new = ((model.predict(X[400:]) - y[400:]) ** 2).mean() / y[400:].var()
        known = ~np.isnan(model.oob_prediction_)
        errors.append([new, ((model.oob_prediction_ - y[:400])[known] ** 2).mean() / y[:400].var()])
    new, out_of_bag = np.mean(errors, axis=0)
    assert 0.97 < new < 1.08
    assert 0.97 < out_of_bag < 1.08


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("kind", SURVIVAL)
def test_random_times_are_not_learnt(kind):
    """With survival times at random, a label is worth nothing out of bag, and one of row numbers is not used."""
    scores = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.standard_normal(400), rng.integers(0, 120, 400), rng.permutation(400)])
        y = np.column_stack([rng.random(400) < 0.7, rng.exponential(1.0, 400)])
        model = make(kind, 60, random_state=seed, oob_score=True, categorical_features=[1, 2]).fit(X, y)
        assert not (model.forest_.feature == 2).any()
        scores.append(model.oob_score_)
    assert 0.47 < np.mean(scores) < 0.53


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("kind", "effect"), [(RandomForestRegressor, 0.25), (ExtraTreesRegressor, 2.0)])
def test_order_serves_new_rows_better(kind, effect):
    """Where many labels have weak effects, means in nodes overfit; random sets of labels say little of strong ones either.

    With best cuts and strong effects, means in nodes are the better order, as more rows make them.
    """
    scores = []
    for seed in range(6):
        X, y = problem(kind, seed, 1600, 300, effect=effect)
        models = [make(kind, 40, categorical_split=split).fit(X[:600], y[:600]) for split in ("order", "subset")]
        scores.append([model.score(X[600:], y[600:]) for model in models])
    order, subset = np.mean(scores, axis=0)
    assert order > subset + 0.02


@SURVIVAL_TOO
def test_unseen_labels_take_the_place_of_the_mean(kind):
    """In a node without missing values they go where the key 0 does, whatever side has more rows."""
    X, y = problem(kind)
    X = X[~np.isnan(X[:, 1])]
    y = y[: len(X)]
    frame = pd.DataFrame(X, columns=list("abc")).assign(b=lambda frame: frame.b.astype(str).astype("category"))
    model = make(kind, categorical_features="from_dtype").fit(frame, y)
    assert in_use(model.forest_) > 5
    new = frame.assign(b=pd.Categorical(["never seen"] * len(frame)))
    missing = frame.assign(b=pd.Categorical([None] * len(frame), categories=frame.b.cat.categories))
    np.testing.assert_array_equal(model.predict(new), model.predict(missing))


@SURVIVAL_TOO
def test_shapley_values_add_up_to_predictions(kind):
    X, y = problem(kind)
    model = make(kind).fit(X, y)
    found = model.shap_values(X[:40])
    expected = model.predict_proba(X[:40]) if hasattr(model, "classes_") else model.predict(X[:40])
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, expected, atol=1e-12)


def test_few_labels_are_parted_as_by_subset(assert_equal):
    """Trees then draw as many rows as ever, and the others are out of bag."""
    X, y = problem(RandomForestClassifier, n_labels=30)
    models = [make(RandomForestClassifier, categorical_split=split).fit(X, y) for split in ("order", "subset")]
    assert_equal(*models)


@pytest.mark.parametrize("n_labels", [30, 31])
@SURVIVAL_TOO
def test_auto_is_order_where_labels_are_many(kind, n_labels, assert_equal):
    """Extra trees of classes and numbers, which take every row, draw rows then."""
    X, y = problem(kind, n_labels=n_labels)
    own = {"n_estimators": 5, "random_state": 3, "categorical_features": [1]}
    draws = kind not in (ExtraTreesClassifier, ExtraTreesRegressor)
    expected = {"categorical_split": "order", "bootstrap": True} if n_labels > 30 else {
        "categorical_split": "subset", "bootstrap": draws}  # fmt: skip
    assert_equal(kind(**own).fit(X, y), kind(**own, **expected).fit(X, y))


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (RandomForestClassifier, {"bootstrap": False}),
        (ExtraTreesClassifier, {"bootstrap": False}),
        (RandomForestRegressor, {"criterion": "absolute_error"}),
        (RandomForestClassifier, {"bootstrap": GroupSampling()}),
        (RandomForestClassifier, {"bootstrap": "subsample", "max_samples": 1.0}),
        (DecisionTreeClassifier, {}),
        (RandomForestRegressor, {"two outputs": True}),
        (ExtraTreesRegressor, {"two outputs": True}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_auto_is_subset_where_trees_cannot_order_labels(kind, parameters, assert_equal):
    parameters = dict(parameters)
    X, y = problem(RandomForestClassifier if hasattr(kind, "predict_proba") else RandomForestRegressor)
    if parameters.pop("two outputs", False):
        y = np.column_stack([y, X[:, 0]])
    given = {"groups": np.arange(len(X)) // 4} if isinstance(parameters.get("bootstrap"), GroupSampling) else {}
    model = kind(random_state=0, categorical_features=[1], **parameters)
    model.set_params(**{"n_estimators": 4} if hasattr(model, "n_estimators") else {})
    assert_equal(clone(model).fit(X, y, **given), clone(model).set_params(categorical_split="subset").fit(X, y, **given))


@pytest.mark.parametrize("asked", [{}, {"oob_score": True}, {"max_samples": 0.5}, {"variable_importance": "mda_raw"}])
def test_rows_are_drawn_where_something_needs_rows_left_out(asked, assert_equal):
    X, y = problem(ExtraTreesRegressor, n_labels=9)
    given = {"n_estimators": 30, "random_state": 0, **asked}
    assert_equal(ExtraTreesRegressor(**given).fit(X, y), ExtraTreesRegressor(**given, bootstrap=bool(asked)).fit(X, y))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RandomForestClassifier(bootstrap=False), "needs trees that leave rows out; allowed are forests with bootstrap=True"),
        (DecisionTreeClassifier(), "needs trees that leave rows out"),
        (RandomForestRegressor(criterion="absolute_error"), "with the criterion 'absolute_error', which has no mean targets"),
        (RandomForestClassifier(bootstrap=GroupSampling()), "whose rows are drawn together"),
        (IsolationForest(), "with the criterion 'path_length'"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_refused(model, message):
    """With the reason; a model is left as it was."""
    X, y = problem(RandomForestClassifier)
    model.set_params(categorical_features=[1], categorical_split="order")
    given = {"groups": np.arange(len(X))} if isinstance(model.get_params().get("bootstrap"), GroupSampling) else {}
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **given)
    assert not hasattr(model, "forest_")


class Own(Sampling):
    """Draws rows by a plan that it is given."""

    def __init__(self, made):
        self.made = made

    def plan(self, rows):
        return self.made


@pytest.mark.parametrize(
    ("sampling", "message"),
    [
        ({"bootstrap": Own(AllRows())}, "needs trees that leave rows out, but each draws all 600"),
        ({"bootstrap": "subsample", "max_samples": 1.0}, "needs trees that leave rows out, but each draws all 600"),
        ({"bootstrap": Own(Groups(np.arange(600, dtype=np.uint32) // 6, 100, True))}, "whose rows are drawn together"),
    ],
    ids=["all rows", "subsample", "groups"],
)
def test_plans_that_leave_no_rows_to_order_labels_are_refused(sampling, message):
    """Whatever made them: labels were all tied, or told by rows of groups that are out of bag."""
    X, y = problem(RandomForestRegressor)
    with pytest.raises(ValueError, match=message):
        make(RandomForestRegressor, **sampling).fit(X, y)
    few = problem(RandomForestRegressor, n_labels=20)[0]
    assert in_use(make(RandomForestRegressor, **sampling).fit(few, y).forest_) > 0  # nothing is to be ordered


def test_several_columns_of_y_are_refused():
    X, y = problem(RandomForestRegressor)
    with pytest.raises(ValueError, match="with a y of 2 columns, which have a mean each"):
        make(RandomForestRegressor).fit(X, np.column_stack([y, y]))
