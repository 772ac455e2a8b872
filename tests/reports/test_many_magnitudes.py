"""Weights of many orders of magnitude: what is right is worked out with fractions."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from helpers.device_forests import differences, fit_there, standing_in
from helpers.host_device import strict_device
from helpers.ranks import CUTS, Cut, fit_by_ranks
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import AdaBoostRegressor

import dforest
from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

X = np.array([[0.0], [0.0], [0.0], [0.0], [1.0]])
Y = np.array([0, 1, 1, 1, 0])
WEIGHT = np.array([1e-10, 1e-12, 1e-12, 1e-12, 1.0])
SPANS = [9, 12, 40, 300]


def shares(classes, weight, n_classes):
    """Of the classes in the weight: what a leaf predicts."""
    sums = [Fraction() for _ in range(n_classes)]
    for w, k in zip(weight, classes, strict=True):
        sums[k] += Fraction(w)
    return [float(own / sum(sums)) for own in sums]


def mean(y, weight):
    return float(sum(Fraction(w) * Fraction(v) for w, v in zip(weight, y, strict=True)) / sum(map(Fraction, weight)))


def median(y, weight):
    order = np.argsort(y)
    upto = np.cumsum([Fraction(w) for w in weight[order].tolist()])
    return y[order][np.searchsorted(upto, upto[-1] / 2)]


def problem(seed, span, n=300):
    """Columns of few values, so that leaves have many rows, and weights of `span` orders of magnitude."""
    rng = np.random.default_rng([seed, span])
    X = rng.integers(0, 4, (n, 3)).astype(float)
    return X, X[:, 0] + rng.random(n), 10.0 ** rng.uniform(-span, 0, n)


def test_light_rows_next_to_a_heavy_one():
    """All rows lighter than 1e-9 of the heaviest weighed the same: the shares at 0 were a quarter and three quarters."""
    expected = shares(Y[:4].tolist(), WEIGHT[:4].tolist(), 2)
    np.testing.assert_allclose(expected, [0.970873786, 0.029126214], rtol=1e-7)
    tree = DecisionTreeClassifier().fit(X, Y, WEIGHT)
    np.testing.assert_allclose(tree.predict_proba([[0.0]]), [expected], rtol=1e-14)
    assert tree.predict([[0.0]]) == 0
    np.testing.assert_allclose(tree.tree_.weighted_n_node_samples, [1 + 1.03e-10, 1.03e-10, 1], rtol=1e-14)
    regressor = DecisionTreeRegressor().fit(X, Y, WEIGHT)
    np.testing.assert_allclose(regressor.predict([[0.0]]), expected[1], rtol=1e-14)


def test_weights_of_classes():
    weights = {0: 1, 1: 1e-12, 2: 1e-14}
    X, y = np.array([[0], [0], [0], [1]]), np.array([1, 2, 2, 0])
    found = RandomForestClassifier(2, bootstrap=False, class_weight=weights).fit(X, y).predict_proba([[0]])
    np.testing.assert_allclose(found, [shares([1, 2, 2], [1e-12, 1e-14, 1e-14], 3)], rtol=1e-14)


@pytest.mark.parametrize("balance", ["balanced", "balanced_subsample"])
def test_balanced_classes(balance):
    """Each class has the same weight in all, also one whose rows are all light."""
    found = RandomForestClassifier(2, bootstrap=False, class_weight=balance).fit(X, Y, WEIGHT).predict_proba([[0.0]])
    exact = [Fraction(w) for w in WEIGHT.tolist()]
    of_class = exact[0] / (exact[0] + exact[4])  # the share of its weight that is here; of the other class all is
    np.testing.assert_allclose(found[0, 0], float(of_class / (of_class + 1)), rtol=1e-8)
    np.testing.assert_allclose(found.sum(), 1)


def test_a_thousand_light_rows():
    """They weighed a thousand times too much, together."""
    X, y = np.zeros((1001, 1)), np.append(np.ones(1000), 0)
    weight = np.append(np.full(1000, 1e-12), 1.0)
    expected = mean(y.tolist(), weight.tolist())
    np.testing.assert_allclose(DecisionTreeRegressor().fit(X, y, weight).predict([[0]]), expected, atol=1e-15)
    plan = RandomForestRegressor(30, bootstrap="weighted", random_state=0).fit(X, y, weight)
    assert sum(int((plan.forest_.row_counts(t)[:1000]).sum()) for t in range(30)) == 0  # 3e-5 are expected; 28 came


def test_light_rows_have_as_many_bits_as_others():
    """A span of 1e8 left light rows four bits."""
    X, y, weight = np.array([[0], [0], [1]]), np.array([0.0, 1.0, 0.0]), np.array([1.5e-8, 1.45e-8, 1.0])
    expected = mean(y[:2].tolist(), weight[:2].tolist())
    np.testing.assert_allclose(DecisionTreeRegressor().fit(X, y, weight).predict([[0]]), expected, rtol=1e-14)


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson", "gini", "entropy"])
def test_leaves_have_the_means_of_their_rows(criterion, span):
    X, y, weight = problem(0, span)
    if criterion in ("gini", "entropy"):
        y = np.digitize(y % 1, [0.3, 0.6])
        tree = DecisionTreeClassifier(criterion=criterion, min_samples_leaf=4).fit(X, y, weight)
        found = tree.predict_proba(X)
    else:
        tree = DecisionTreeRegressor(criterion=criterion, min_samples_leaf=4).fit(X, y, weight)
        found = tree.predict(X)
    leaves = tree.apply(X)
    assert len(set(leaves.tolist())) > 20
    for leaf in set(leaves.tolist()):
        own = leaves == leaf
        if criterion == "absolute_error":
            assert found[own][0] == median(y[own], weight[own])
            continue
        of_leaf = y[own].tolist(), weight[own].tolist()
        expected = mean(*of_leaf) if y.dtype.kind == "f" else shares(*of_leaf, 3)
        np.testing.assert_allclose(found[own][0], expected, rtol=1e-12, atol=1e-15)
    totals = [float(sum(map(Fraction, weight[leaves == leaf].tolist()))) for leaf in sorted(set(leaves.tolist()))]
    is_leaf = tree.tree_.children_left < 0
    np.testing.assert_allclose(tree.tree_.weighted_n_node_samples[is_leaf], totals, rtol=1e-12)


@pytest.mark.parametrize("span", SPANS)
def test_trees_go_on_where_all_rows_are_light(span):
    """A node of light rows found no split, or a wrong one: their weights were all 1."""
    rng = np.random.default_rng(span)
    y = rng.random(64)
    heavy, weight = np.repeat([0.0, 1.0], 64), 10.0 ** rng.uniform(-1, 0, 64)
    X = np.column_stack([heavy, np.tile(np.arange(64.0), 2)])
    scaled = np.append(weight, weight * 10.0**-span)
    whole = DecisionTreeRegressor(max_leaf_nodes=None, max_depth=4).fit(X, np.append(np.zeros(64), y), scaled)
    alone = DecisionTreeRegressor(max_depth=3).fit(X[64:, 1:], y, weight)
    np.testing.assert_allclose(whole.predict(X[64:]), alone.predict(X[64:, 1:]), rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_same_on_threads_ranks_and_devices(seed):
    rng = np.random.default_rng(seed)
    X, y, weight = problem(seed, SPANS[seed % 4])
    model = RandomForestRegressor(4, random_state=seed, min_weight_fraction_leaf=[0.0, 1e-9][seed % 2])
    if seed % 3 == 0:
        model, y = RandomForestClassifier(4, class_weight="balanced_subsample", random_state=seed), np.digitize(y, [1, 2])
    if seed % 3 == 1:
        model.set_params(max_leaf_nodes=30, min_impurity_decrease=1e-14)
    one = clone(model).fit(X, y, weight)
    assert differences(clone(model).set_params(n_jobs=3).fit(X, y, weight), one) == []
    for size in (2, 3):
        for own in fit_by_ranks(model, X, y, weight, Cut.random(rng, len(y), size, CUTS[seed % len(CUTS)]), size):
            assert differences(own, one) == []
    for sizes in ({}, {"subtree_up_to": 10, "chunk": 64}):
        with standing_in(strict_device(None, 2, is_cpu=seed % 2 == 0)):
            assert differences(fit_there(model, X, y, weight, tuning=sizes), one) == []


@pytest.mark.parametrize("span", SPANS)
def test_scaling_by_a_power_of_two_changes_nothing(span):
    X, y, weight = problem(1, span)
    one = RandomForestRegressor(3, random_state=0).fit(X, y, weight)
    again = RandomForestRegressor(3, random_state=0).fit(X, y, np.ldexp(weight, 700))
    assert differences(one, again) == []
    np.testing.assert_array_equal(again.forest_.weight_unit, np.ldexp(one.forest_.weight_unit, 700))


def test_integers_stay_exact():
    """Integers up to 2**31 have no shift, and a weight of 3 is a row three times."""
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 2**31, len(y))
    forest = RandomForestClassifier(3, bootstrap=False).fit(X, y, weight).forest_
    assert len(forest.leaf_shift) == 0
    roots = [int(forest.node_table(t).weight[0].sum()) for t in range(3)]
    assert [root * int(forest.weight_unit[0]) for root in roots] == 3 * [int(weight.sum())]
    small = weight % 4 + 1
    a = DecisionTreeClassifier(random_state=0).fit(X, y, small)
    b = DecisionTreeClassifier(random_state=0).fit(np.repeat(X, small, axis=0), np.repeat(y, small))
    assert np.array_equal(a.predict_proba(X), b.predict_proba(X))


@pytest.mark.parametrize("span", SPANS)
def test_what_is_told_of_nodes(span):
    """Weights of nodes, importances, Shapley values, pruning, files: from the weights themselves."""
    X, y, weight = problem(2, span)
    tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y, weight)
    reached = tree.decision_path(X).toarray().astype(bool)
    totals = [sum((Fraction(w) for w in weight[reached[:, i]].tolist()), Fraction()) for i in range(reached.shape[1])]
    np.testing.assert_allclose(tree.tree_.weighted_n_node_samples, [float(total) for total in totals], rtol=1e-9)
    values = [mean(y[reached[:, i]].tolist(), weight[reached[:, i]].tolist()) for i in range(reached.shape[1])]
    np.testing.assert_allclose(tree.tree_.value.ravel(), values, rtol=1e-9)
    np.testing.assert_allclose(tree.feature_importances_.sum(), 1)
    explained = tree.shap_values(X[:20])
    np.testing.assert_allclose(explained.values.sum(axis=1) + explained.base_values, tree.predict(X[:20]), rtol=1e-9)
    np.testing.assert_allclose(explained.base_values, values[0], rtol=1e-9)
    again = pickle.loads(pickle.dumps(tree))
    assert differences(tree, again) == []
    root = tree.forest_.cut_back(np.arange(len(tree.forest_.feature)) == 0)
    weight_of_root = np.ldexp(float(root.leaf_weight[0, 0]), -int(root.leaf_shift[0])) * root.weight_unit[0]
    np.testing.assert_allclose(weight_of_root, float(totals[0]), rtol=1e-9)
    forest = RandomForestRegressor(5, random_state=0, keep_training_data=True).fit(X, y, weight)
    np.testing.assert_allclose(forest.forest_weights(X) @ y, forest.predict(X), rtol=1e-9)


def test_boosting_by_weights_of_deep_trees():
    """AdaBoost divides the weights of rows that a deep tree gets right by any number: by 1e112 in the end."""
    X, y = load_diabetes(return_X_y=True)
    model = AdaBoostRegressor(DecisionTreeRegressor(max_depth=8), n_estimators=60, random_state=0, loss="exponential").fit(X, y)
    rng, weight = np.random.default_rng(0), np.exp(-np.linspace(0, 250, len(y)))
    assert np.isfinite(model.predict(X)).all()
    rng.shuffle(weight)
    forest = RandomForestRegressor(10, random_state=0, min_samples_leaf=5).fit(X, y, weight)
    for t in range(10):
        counts, leaves = forest.forest_.row_counts(t), forest.apply(X)[:, t]
        for leaf in set(leaves[counts > 0].tolist()):
            own = (leaves == leaf) & (counts > 0)
            expected = mean(np.repeat(y[own], counts[own]).tolist(), np.repeat(weight[own], counts[own]).tolist())
            at = forest.forest_.leaf_row[forest.forest_.node_offsets[t] + leaf]
            np.testing.assert_allclose(forest.forest_.leaf_value[at], expected, rtol=1e-12)


def test_several_outputs():
    X, y, weight = problem(3, 40)
    both = np.column_stack([y, -y])
    tree, one = (DecisionTreeRegressor(max_depth=3).fit(X, targets, weight) for targets in (both, y))
    np.testing.assert_allclose(tree.predict(X)[:, 0], one.predict(X), rtol=1e-12)
    classes = np.column_stack([np.digitize(y, [1, 2]), y > 2])
    found = dforest.DecisionTreeClassifier(max_depth=3).fit(X, classes, weight)
    leaves, probabilities = found.apply(X), found.predict_proba(X)
    for leaf in set(leaves.tolist()):
        own = leaves == leaf
        for o, of_output in enumerate(probabilities):
            expected = shares(classes[own, o].tolist(), weight[own].tolist(), of_output.shape[1])
            np.testing.assert_allclose(of_output[own][0], expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.feature_importances_.sum(), 1)


def test_pruning_by_the_errors_of_light_rows():
    """Errors of light rows all counted alike, so that a branch of these was cut back as if they had no weights."""
    X = np.array([[0.0], [1.0], [1.0], [5.0]])
    y, weight = np.array([0, 1, 1, 0]), np.array([1e-12, 1e-14, 1e-14, 1.0])
    tree = DecisionTreeClassifier().fit(X, y, weight)
    assert tree.get_n_leaves() == 3
    wrong = np.array([0, 0, 1, 0])  # at 1 an error of 1e-14 and one of the same: ties are cut; at 0 none
    pruned = tree.prune(X, wrong, [1e-12, 3e-14, 1e-14, 1.0], inplace=False)
    assert pruned.predict([[1.0]]) == 0 and pruned.get_n_leaves() == 1
    kept = tree.prune(X, wrong, [1e-12, 1e-14, 3e-14, 1.0], inplace=False)
    assert kept.predict([[1.0]]) == 1


@pytest.mark.parametrize("scale", [1.0, 1e12])
def test_boosted_trees_split_light_rows_off(scale):
    """Light rows had derivatives of 0, so that there was no split, and all was the baseline."""
    settings = {"max_iter": 1, "learning_rate": 1.0, "min_samples_leaf": 1, "min_sum_hessian_in_leaf": 1e-3 * (scale > 1)}
    model = HistGradientBoostingRegressor(**settings, defaults="scikit-learn")
    found = model.fit(X, Y.astype(float), WEIGHT * scale).predict([[0.0], [1.0]])
    np.testing.assert_allclose(found, [mean(Y[:4].tolist(), WEIGHT[:4].tolist()), 0.0], rtol=1e-7, atol=1e-12)


def leaf_step(loss, y, weight):
    """Of rows whose raw predictions are 0, Newton's step; that of log loss is damped."""
    if loss == "squared_error":
        return mean(y.tolist(), weight.tolist())
    step = 4.0 * mean((y - 0.5).tolist(), weight.tolist())
    return step if abs(step) <= 1.0 else np.copysign(max(1.0, np.log1p(abs(step))), step)


@pytest.mark.parametrize("span", [9, 12, 40, 200])
@pytest.mark.parametrize("loss", ["squared_error", "log_loss", "absolute_error"])
def test_leaves_of_boosted_trees(loss, span):
    """A leaf's step is that of its own rows, however light they are: of the least weights half the leaves had none."""
    X, y, weight = problem(4, span)
    y -= np.average(y, weights=weight) if loss == "squared_error" else 0.0
    options = {"max_iter": 1, "learning_rate": 1.0, "min_samples_leaf": 4, "min_sum_hessian_in_leaf": 0.0, "max_leaf_nodes": None}
    options["defaults"] = "scikit-learn"
    if loss == "log_loss":
        y = (y % 1 > 0.5).astype(float)
        weight[y > 0] *= weight[y == 0].sum() / weight[y > 0].sum()  # so that the baseline is 0
        model = HistGradientBoostingClassifier(**options).fit(X, y, weight)
        found = model.decision_function(X) - model.forest_.objective.baseline[0]
    else:
        model = HistGradientBoostingRegressor(loss, **options).fit(X, y, weight)
        found = model.predict(X)
    leaves = model.apply(X)[:, 0]
    assert len(set(leaves.tolist())) > 10
    for leaf in set(leaves.tolist()):
        own = leaves == leaf
        if loss == "absolute_error":
            np.testing.assert_allclose(found[own][0], median(y[own], weight[own]))
        else:
            np.testing.assert_allclose(found[own][0], leaf_step(loss, y[own], weight[own]), rtol=1e-5, atol=1e-9)
