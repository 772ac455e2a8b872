"""Several outputs: one tree for all columns of y, against a twin, single outputs, threads, and scikit-learn's conventions."""

import numpy as np
import pytest
from helpers.device_forests import assert_same
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from twins.naive import flatten
from twins.outputs import grow_outputs, nodes_of
from twins.sampling import twin_of

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.core import loops
from dforest.criterion import CriterionError, PythonCriterion

OF_CLASSES = ["gini", "entropy"]
OF_NUMBERS = ["squared_error", "poisson", "absolute_error"]


def table(n=120, seed=0, n_outputs=3):
    """X with missing values and ties, numbers from 0, and classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).round(1)
    X[rng.random(X.shape) < 0.05] = np.nan
    known = np.nan_to_num(X)
    numbers = np.stack([known[:, k % 5] * 10.0**k + rng.normal(size=n) for k in range(n_outputs)], axis=1)
    numbers -= numbers.min(axis=0)
    edges = [[-1], [-1, 0.5], [-1, 0.5, 1]]
    classes = np.stack([np.digitize(known[:, k % 5] + rng.normal(size=n), edges[k % 3]) for k in range(n_outputs)], axis=1)
    return X, numbers, classes


def make(criterion, tree=False, **parameters):
    kinds = (DecisionTreeClassifier, RandomForestClassifier) if criterion in OF_CLASSES else (
        DecisionTreeRegressor, RandomForestRegressor)  # fmt: skip
    if not tree:
        parameters = {"n_estimators": 4, **parameters}
    return kinds[not tree](criterion=criterion, **{"random_state": 0, **parameters})


@given(
    criterion=st.sampled_from(OF_CLASSES + OF_NUMBERS),
    method=st.sampled_from(["hist", "dense"]),
    n=st.integers(2, 40),
    n_outputs=st.sampled_from([2, 3, 4, 11]),
    seed=st.integers(0, 1000),
    weights=st.sampled_from(["equal", "small", "large"]),  # large: sums of two words
    bootstrap=st.booleans(),
    loop_set=st.sampled_from(loops.names()),
    limits=st.fixed_dictionaries(
        {
            "max_features": st.sampled_from([None, 1, 2]),
            "min_samples_leaf": st.integers(1, 3),
            "max_depth": st.sampled_from([None, 3]),
            "min_impurity_decrease": st.sampled_from([0.0, 0.05]),
            "impurity_threshold": st.sampled_from([0.0, 0.3]),
        }
    ),
)
@settings(max_examples=examples(120), deadline=None)
def test_a_tree_is_that_of_the_twin(criterion, method, n, n_outputs, seed, weights, bootstrap, loop_set, limits):
    X, numbers, classes = table(n, seed, n_outputs)
    y = classes if criterion in OF_CLASSES else numbers
    rng = np.random.default_rng(seed)
    weight = {"equal": None, "small": rng.integers(1, 6, n) / 4, "large": rng.uniform(0.1, 1.0, n)}[weights]
    limits["min_samples_leaf"] = min(limits["min_samples_leaf"], n)
    loops.use(loop_set)
    try:
        forest = make(criterion, n_estimators=1, method=method, bootstrap=bootstrap, **limits).fit(X, y, weight)
    finally:
        loops.use()
    trees = forest.forest_
    counted = {}
    if criterion in OF_CLASSES:
        y = np.stack([np.unique(column, return_inverse=True)[1] for column in y.T], axis=1)
        counted["n_classes"] = forest.n_classes_
    tree = grow_outputs(X, y, criterion=criterion, method=method, sample_weight=weight, seed=int(trees.seeds[0]),
                        sampling=twin_of(trees.plans[0]), **counted, **limits)  # fmt: skip
    value = [node.value for node in nodes_of(tree)]
    for node in nodes_of(tree):
        node.value = np.nan
    twin = flatten(tree)
    leaf = trees.feature < 0
    np.testing.assert_array_equal(trees.feature, twin["feature"])
    np.testing.assert_array_equal(trees.threshold[~leaf], twin["threshold"][~leaf])
    np.testing.assert_array_equal(trees.missing_left, twin["missing_left"])
    np.testing.assert_array_equal(trees.leaf_weight[trees.leaf_row[leaf]], twin["weight"][leaf])
    if criterion not in OF_CLASSES:
        own = [v for v, is_leaf in zip(value, leaf, strict=True) if is_leaf]
        np.testing.assert_array_equal(trees.leaf_value[trees.leaf_row[leaf]], own)
        np.testing.assert_allclose(trees.leaf_impurity[trees.leaf_row[leaf]], twin["impurity"][leaf], rtol=1e-12)


@pytest.mark.parametrize("method", ["hist", "dense"])
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("criterion", OF_CLASSES + OF_NUMBERS)
def test_equal_columns_give_the_tree_of_one(criterion, splitter, method):
    X, numbers, classes = table(300)
    y = (classes if criterion in OF_CLASSES else numbers)[:, 1]
    one = make(criterion, splitter=splitter, method=method).fit(X, y)
    four = make(criterion, splitter=splitter, method=method).fit(X, np.repeat(y[:, None], 4, axis=1))
    for name in ("feature", "threshold", "missing_left", "node_offsets"):
        np.testing.assert_array_equal(getattr(four.forest_, name), getattr(one.forest_, name))
    np.testing.assert_array_equal(four.predict(X), np.repeat(one.predict(X)[:, None], 4, axis=1))
    np.testing.assert_allclose(four.feature_importances_, one.feature_importances_, rtol=1e-8)
    if criterion in OF_CLASSES:
        for part in four.predict_proba(X):
            np.testing.assert_array_equal(part, one.predict_proba(X))


@pytest.mark.parametrize("parameters", [{}, {"max_leaf_nodes": 9}, {"method": "dense"}, {"splitter": "random"}])
@pytest.mark.parametrize("criterion", OF_CLASSES + OF_NUMBERS)
def test_threads_give_the_same_forest(criterion, parameters, monkeypatch):
    import dforest.estimators.forest.base as base

    monkeypatch.setitem(base.TUNING, "parallel_from", 8)  # many pieces, and features of nodes that threads share
    monkeypatch.setitem(base.TUNING, "parallel_visits_from", 64)
    X, numbers, classes = table(400)
    y = classes if criterion in OF_CLASSES else numbers
    alone = make(criterion, n_jobs=1, **parameters).fit(X, y)
    for n_jobs in (2, 5):
        assert_same(make(criterion, n_jobs=n_jobs, **parameters).fit(X, y), alone)


@pytest.mark.parametrize("criterion", [*OF_CLASSES, "squared_error", "absolute_error"])
def test_blocks_and_best_first_growth_change_nothing(criterion, monkeypatch):
    import dforest.estimators.forest.base as base

    X, numbers, classes = table(600)
    y = classes if criterion in OF_CLASSES else numbers
    forest = make(criterion).fit(X, y)
    whole = make(criterion, max_leaf_nodes=10_000).fit(X, y)
    assert_same(forest, whole)
    for n_bytes in (0, 1 << 13):
        monkeypatch.setitem(base.TUNING, "cache_bytes", n_bytes)
        assert_same(make(criterion).fit(X, y), forest)


def test_categories_are_ordered_by_the_output_that_they_tell_most_about():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (400, 1)).astype(float)
    effect = rng.permutation(12) > 5
    y = np.stack([rng.normal(size=400), 100.0 * effect[X[:, 0].astype(int)]], axis=1)
    tree = DecisionTreeRegressor(max_depth=1, categorical_features=[0], random_state=0).fit(X, y)
    np.testing.assert_array_equal(tree.predict(X)[:, 1], y[:, 1])


def test_what_follows_a_fit_of_classes():
    X, _, classes = table(200)
    labels = classes.astype(object)
    labels[:, 1] = np.array(["no", "maybe", "yes"])[classes[:, 1]]
    forest = RandomForestClassifier(60, random_state=0, oob_score=True, variable_importance="mda_raw").fit(X, labels)
    assert forest.n_outputs_ == 3
    assert forest.n_classes_ == [len(np.unique(column)) for column in classes.T]
    assert [c.tolist() for c in forest.classes_][1] == ["maybe", "no", "yes"]
    probability = forest.predict_proba(X)
    predicted = forest.predict(X)
    for o, part in enumerate(probability):
        assert part.shape == (200, forest.n_classes_[o])
        np.testing.assert_allclose(part.sum(axis=1), 1)
        np.testing.assert_array_equal(predicted[:, o], forest.classes_[o][part.argmax(axis=1)])
        np.testing.assert_array_equal(np.log(np.maximum(part, 1e-300))[part > 0], forest.predict_log_proba(X)[o][part > 0])
    # Out of bag: each output is that of the same trees alone.
    outputs = forest.forest_.objective.outputs
    assert [part.shape for part in forest.oob_decision_function_] == [(200, own.stop - own.start) for own in outputs]
    best = np.stack([part.argmax(axis=1) for part in forest.oob_decision_function_], axis=1)
    numbers = np.stack([np.searchsorted(c, labels[:, o].astype(c.dtype)) for o, c in enumerate(forest.classes_)], axis=1)
    assert forest.oob_score_ == (best == numbers).all(axis=1).mean()
    assert 0 < forest.oob_error_ < 0.7
    assert forest.variable_importance_.shape == (5,)
    np.testing.assert_array_equal(forest.variable_importance_, forest.oob_importance(X, labels).importances_mean)


def test_what_follows_a_fit_of_numbers():
    X, numbers, _ = table(200)
    forest = RandomForestRegressor(60, random_state=0, oob_score=True, keep_training_data=True).fit(X, numbers)
    assert forest.predict(X).shape == (200, 3)
    assert forest.oob_score_ == pytest.approx(r2_score(numbers, forest.oob_prediction_))
    assert forest.oob_prediction_.shape == (200, 3)
    assert forest.oob_curve_[-1] == pytest.approx(np.mean((numbers - forest.oob_prediction_) ** 2))
    mean = np.mean([tree.predict(X) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.predict(X), mean)
    assert forest.proximity(X[:3]).shape == (3, 200)
    for o in range(3):
        np.testing.assert_array_equal(forest.forest_.of_output(o).packed().mean(X, 1)[:, 0], forest.predict(X)[:, o])


@pytest.mark.parametrize("criterion", ["gini", "squared_error", "absolute_error"])
def test_tree_and_pruning(criterion):
    X, numbers, classes = table(150)
    y = classes if criterion in OF_CLASSES else numbers
    tree = make(criterion, tree=True).fit(X, y)
    shown = tree.tree_
    assert shown.n_outputs == 3
    assert shown.value.shape == (shown.node_count, 3, shown.max_n_classes)
    assert shown.predict(X).shape == (150, 3, shown.max_n_classes)
    weight = shown.weighted_n_node_samples
    assert weight[0] == 150
    inner = np.flatnonzero(shown.children_left >= 0)
    left, right = shown.children_left[inner], shown.children_right[inner]
    np.testing.assert_array_equal(weight[inner], weight[left] + weight[right])
    if criterion != "absolute_error":
        mixed = weight[left, None, None] * shown.value[left] + weight[right, None, None] * shown.value[right]
        np.testing.assert_allclose(mixed / weight[inner, None, None], shown.value[inner], atol=1e-9)
    if criterion == "squared_error":
        leaf = tree.apply(X)
        own = [np.mean(numbers[leaf == node].var(axis=0)) for node in np.unique(leaf)]
        np.testing.assert_allclose(shown.impurity[np.unique(leaf)], own, atol=1e-9)
        assert shown.impurity[0] == pytest.approx(np.mean(numbers.var(axis=0)))
    path = tree.cost_complexity_pruning_path(X, y)
    assert path.impurities[0] == pytest.approx(0, abs=1e-9)
    pruned = clone(tree).set_params(ccp_alpha=path.ccp_alphas[-2] * 1.0001).fit(X, y)
    assert 1 < pruned.get_n_leaves() < tree.get_n_leaves()
    assert pruned.predict(X).shape == (150, 3)


def test_class_weights_are_multiplied():
    X, _, classes = table(200)
    classes = classes[:, :2]
    given = [{0: 2.0, 1: 1.0}, {0: 1.0, 1: 3.0, 2: 1.0}]
    weight = np.array([2.0, 1.0])[classes[:, 0]] * np.array([1.0, 3.0, 1.0])[classes[:, 1]]
    by_class = RandomForestClassifier(4, random_state=0, class_weight=given).fit(X, classes)
    by_row = RandomForestClassifier(4, random_state=0).fit(X, classes, weight)
    np.testing.assert_array_equal(by_class.forest_.threshold, by_row.forest_.threshold)
    factors = np.prod([len(c) / (len(np.unique(c)) * np.bincount(c))[c] for c in classes.T], axis=0)
    balanced = RandomForestClassifier(4, random_state=0, class_weight="balanced").fit(X, classes)
    weighed = RandomForestClassifier(4, random_state=0).fit(X, classes, factors)
    np.testing.assert_array_equal(balanced.forest_.feature, weighed.forest_.feature)
    each = RandomForestClassifier(4, random_state=0, class_weight="balanced_subsample").fit(X, classes)
    for t in range(4):
        drawn = each.forest_.row_counts(t)
        factors = [drawn.sum() / (np.count_nonzero(n) * n)[c] for c in classes.T for n in [np.bincount(c, drawn)]]
        draws = np.repeat(np.prod(factors, axis=0), drawn).sum()
        total = each.forest_.tree(t).node_table(0).weight[0, :2].sum() * each.forest_.weight_unit[t]
        assert total == pytest.approx(draws)


def test_strata_are_joint_classes():
    X, _, classes = table(300)
    forest = RandomForestClassifier(5, random_state=0, bootstrap="balanced").fit(X, classes[:, :2])
    for rows in forest.estimators_samples_:
        _, drawn = np.unique(classes[rows, :2], axis=0, return_counts=True)
        assert len(set(drawn.tolist())) == 1


class Weighed(PythonCriterion):
    """Variance, of which the first output counts twice: an own criterion that sees which output it is for."""

    def impurity(self, statistics):
        assert self.n_outputs == 2
        return -(2.0 - self.output) * statistics.mean**2


def test_own_criteria_know_their_output():
    X, numbers, _ = table(100, n_outputs=2)
    own = DecisionTreeRegressor(criterion=Weighed(), max_depth=4, random_state=0).fit(X, numbers)
    scaled = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, numbers * np.sqrt([2.0, 1.0]))
    np.testing.assert_array_equal(own.tree_.feature, scaled.tree_.feature)
    np.testing.assert_array_equal(own.apply(X), scaled.apply(X))


class Broken(PythonCriterion):
    def impurity(self, statistics):
        return np.full(len(statistics.draws), np.nan)


def test_broken_criteria_are_named():
    X, numbers, classes = table(50)
    with pytest.raises(CriterionError, match="Broken: impurity returned nan"):
        DecisionTreeRegressor(criterion=Broken()).fit(X, numbers)
    with pytest.raises(CriterionError, match="Broken: impurity returned nan"):
        DecisionTreeClassifier(criterion=Broken()).fit(X, classes)


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor, DecisionTreeRegressor])
def test_a_column_is_one_output(kind):
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(UserWarning, match="column-vector y was passed"):
        model = kind(max_depth=3, random_state=0).fit(X, y[:, None])
    assert model.n_outputs_ == 1
    np.testing.assert_array_equal(model.predict(X), kind(max_depth=3, random_state=0).fit(X, y).predict(X))


def test_bad_input():
    X, numbers, classes = table(60)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        RandomForestRegressor().fit(X, np.where(numbers > 100, np.nan, numbers))
    mixed = classes.astype(object)
    mixed[3, 1] = "b"
    with pytest.raises(ValueError, match="column 1 of y holds labels of the types int, str"):
        RandomForestClassifier().fit(X, mixed)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        RandomForestRegressor().fit(X, numbers[:-1])
    with pytest.raises(ValueError, match=r"dim|3d|axis"):
        RandomForestRegressor().fit(X, numbers[:, :, None])
    with pytest.raises(ValueError, match="should be a list of dicts"):
        RandomForestClassifier(class_weight={0: 1.0}).fit(X, classes)
    with pytest.raises(ValueError, match="class_weight has 1 entries for 3 outputs"):
        RandomForestClassifier(class_weight=[{0: 1.0}]).fit(X, classes)
    with pytest.raises(ValueError, match="class_weight has 'balanced' for column 1 of y; allowed are dicts"):
        RandomForestClassifier(class_weight=[{}, "balanced", {}]).fit(X, classes)
    with pytest.raises(ValueError, match="the classes are"):
        RandomForestClassifier(class_weight=[{9: 1.0}, {}, {}]).fit(X, classes)
    with pytest.raises(ValueError, match="not supported with multiple output"):
        RandomForestRegressor(monotonic_cst=[1, 0, 0, 0, 0]).fit(X, numbers)
    warm = RandomForestRegressor(2, warm_start=True).fit(X, numbers).set_params(n_estimators=3)
    with pytest.raises(ValueError, match="y has 1 columns, but warm_start=True goes on with trees grown on 3"):
        warm.fit(X, numbers[:, 0])
    with pytest.raises(ValueError, match='criterion="hellinger" is for two classes'):
        RandomForestClassifier(criterion="hellinger").fit(X, classes)


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_predictors(voting):
    X, numbers, classes = table(60)
    forest = RandomForestClassifier(5, voting=voting, random_state=0).fit(X, classes)
    predictor, probability = forest.predictor(), np.hstack(forest.predict_proba(X))
    assert predictor.n_outputs == probability.shape[1]
    assert np.array_equal(predictor.predict(X), probability) and np.array_equal(predictor.predict(X[3]), probability[3])
    labels = np.column_stack([own[found] for own, found in zip(forest.classes_, predictor.predict_class(X).T, strict=True)])
    assert np.array_equal(labels, forest.predict(X))
    assert np.array_equal(predictor.predict_class(X[3]), predictor.predict_class(X)[3])
    for make in (RandomForestRegressor, HistGradientBoostingRegressor):
        model = make(random_state=0).fit(X, numbers)
        assert np.array_equal(model.predictor().predict(X), model.predict(X))
        assert np.array_equal(model.predictor().predict(X[3]), model.predict(X)[3])


def test_a_report_is_of_one_output():
    X, numbers, _ = table(60)
    forest = RandomForestRegressor(3, random_state=0).fit(X, numbers)
    with pytest.raises(ValueError, match="output=None, but RandomForestRegressor has 3 outputs, .* allowed are 0 to 2"):
        forest.report()
    with pytest.raises(ValueError, match="output=3; allowed are integers from 0 to 2"):
        forest.report(output=3)
    with pytest.raises(ValueError, match="y has 1 columns; the estimator predicts 3"):
        forest.report(X, numbers[:, 0], output=0)
    with pytest.raises(ValueError, match="output=0; allowed are None, as there is one output"):
        RandomForestRegressor(3).fit(X, numbers[:, 0]).report(output=0)


def test_memory_counts_what_outputs_take():
    X, numbers, _ = table(2000, n_outputs=3)
    one = RandomForestRegressor(4, n_jobs=1).estimate_memory(X, numbers[:, 0])
    three = RandomForestRegressor(4, n_jobs=1).estimate_memory(X, numbers)
    assert three.growth.records == one.growth.records * (32 + 16 + 8 + 12) / 32
    assert three.data >= one.data + 2 * numbers[:, 0].nbytes


def test_scorers_of_rows_out_of_bag_are_given_labels():
    X, _, classes = table(200, n_outputs=2)
    labels = classes.astype(object)
    labels[:, 1] = np.array(["no", "maybe", "yes"])[classes[:, 1]]

    def share(true, predicted):
        assert set(true[:, 0]) | set(predicted[:, 0]) <= {0, 1}
        assert set(predicted[:, 1]) <= {"no", "maybe", "yes"}
        return (true == predicted).mean()

    forest = RandomForestClassifier(60, random_state=0, oob_score=share).fit(X, labels)
    assert forest.oob_score_ == pytest.approx(1 - forest.oob_error_, abs=0.1)
