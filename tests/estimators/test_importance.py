"""Variable importance against brute force: impurities and permutations computed anew, tree by tree."""

import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.metrics import average_precision_score, mean_absolute_error, r2_score
from twins import naive
from twins.sampling import twin_of

from dforest import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from dforest.core.draws import TreeDraws
from dforest.core.predict.permutation import permutation_error_increase
from dforest.estimators.powers import times_power

PERMUTATION = 5  # the purpose of the random streams that permute columns
METHODS = pytest.mark.parametrize("method", ["hist", "dense"])
TASKS = pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
CRITERIA = pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
KINDS = {"gini": RandomForestClassifier, "entropy": RandomForestClassifier, "squared_error": RandomForestRegressor}


def problem(kind, seed=0, n=150):
    """Features: informative, somewhat so, of no use, constant, informative with many missing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    y = 2 * X[:, 0] + X[:, 1] ** 2 + X[:, 4] + rng.standard_normal(n) / 2
    X[:, 3] = 1
    X[rng.random(n) < 0.3, 4] = np.nan
    X[rng.random(n) < 0.05, 0] = np.nan
    return X, y if kind is RandomForestRegressor else np.array([3, 5, 9])[np.digitize(y, [0, 2.5])]


# Mean decrease of impurity


def impurity(y, weight, criterion):
    if criterion == "squared_error":
        return np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
    share = np.bincount(y, weight) / weight.sum()
    return 1 - (share**2).sum() if criterion == "gini" else -sum(p * np.log2(p) for p in share if p > 0)


def decreases(node, X, y, weight, criterion, out):
    """Add weight * (impurity decrease) of a twin's nodes to the entries of the features they test."""
    if node.feature < 0:
        return
    x = X[:, node.feature]
    left = np.where(np.isnan(x), node.missing_left, x <= node.threshold)
    out[node.feature] += weight.sum() * impurity(y, weight, criterion)
    for side, child in ((left, node.left), (~left, node.right)):
        out[node.feature] -= weight[side].sum() * impurity(y[side], weight[side], criterion)
        decreases(child, X[side], y[side], weight[side], criterion, out)


def impurity_decreases(model, X, y, sample_weight, **parameters):
    """The summands of MDI: (n_trees, n_features)."""
    forest = model.forest_
    result = np.zeros((forest.n_trees, X.shape[1]))
    for t in range(forest.n_trees):
        sampling = twin_of(forest.plans[t])
        counts = sampling.counts(len(X), forest.seeds[t])
        twin = naive.grow_tree(X, y, n_classes=forest.objective.n_classes, sample_weight=sample_weight, seed=forest.seeds[t],
                               sampling=sampling, **parameters)  # fmt: skip
        weight = counts * (1 if sample_weight is None else sample_weight)
        drawn = counts > 0
        decreases(twin, X[drawn], y[drawn], weight[drawn], parameters["criterion"], result[t])
        result[t] /= weight.sum()
    return result


@CRITERIA
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bootstrap", [False, True])
def test_mdi(criterion, weighted, bootstrap):
    X, y = problem(KINDS[criterion], n=80)
    weight = np.random.default_rng(1).integers(1, 9, len(X)) / 4 if weighted else None
    parameters = {"criterion": criterion, "method": "dense" if bootstrap else "hist", "max_features": 2, "max_depth": 4}
    model = KINDS[criterion](4, bootstrap=bootstrap, variable_importance="mdi", random_state=0, **parameters)
    model.fit(X, y, weight)
    codes = y if criterion == "squared_error" else np.searchsorted(model.classes_, y)
    expected = impurity_decreases(model, X, codes, weight, **parameters)
    np.testing.assert_allclose(model.variable_importance_, expected.mean(axis=0), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(model.variable_importance_std_, expected.std(axis=0, ddof=1), rtol=1e-7, atol=1e-12)
    shares = expected / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.feature_importances_, shares.mean(axis=0), rtol=1e-7, atol=1e-12)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.variable_importance_[3] == model.variable_importance_std_[3] == 0


@TASKS
def test_roots_alone_give_0(kind):
    X, y = problem(kind)
    model = kind(5, min_samples_leaf=100, variable_importance="mdi", random_state=0).fit(X, y)
    assert len(model.forest_.feature) == 5
    for name in ("feature_importances_", "variable_importance_", "variable_importance_std_"):
        np.testing.assert_array_equal(getattr(model, name), np.zeros(5))
    found = model.oob_importance(X, y)
    for name in ("importances_mean", "importances_std", "importances_scaled"):
        np.testing.assert_array_equal(found[name], np.zeros(5))


def test_trees_without_a_split_don_t_change_feature_importances():
    X = np.c_[np.arange(8) % 2, [0, 1, 0, 1, 0, 0, 1, 1]].astype(float)
    y = [0, 1, 0, 1, 0, 1, 0, 1]
    model = RandomForestClassifier(60, max_features=1, max_samples=2, random_state=0).fit(X, y)
    shares = np.array([tree.feature_importances_ for tree in model.estimators_])
    of_roots = shares.sum(axis=1) == 0
    assert of_roots.any() and not of_roots.all()
    assert set(shares[~of_roots].sum(axis=1)) == {1.0}
    np.testing.assert_allclose(model.feature_importances_, shares[~of_roots].mean(axis=0), rtol=1e-12)
    assert model.feature_importances_.sum() == pytest.approx(1)


# Mean decrease of accuracy


def rise_of_means(after, before, weights):
    return np.average(after, weights=weights) - np.average(before, weights=weights)


def error_rises(model, X, y, weight=None, rise=rise_of_means):
    """The summands of MDA: (n_trees, n_features)."""
    forest = model.forest_
    weight = np.ones(len(X)) if weight is None else weight
    result = np.full((forest.n_trees, X.shape[1]), np.nan)

    def error(tree, X, y):
        return tree.predict(X) != y if forest.objective.predicts_shares else (tree.predict(X) - y) ** 2

    for t, tree in enumerate(model.estimators_):
        rows = np.flatnonzero(twin_of(forest.plans[t]).counts(len(X), forest.seeds[t]) == 0)
        if len(rows) == 0:
            continue
        before = error(tree, X[rows], y[rows])
        for j in range(X.shape[1]):
            stream = naive.Stream(forest.seeds[t], j, PERMUTATION)
            other = rows.copy()
            for i in range(len(rows) - 1):
                at = i + stream.below(len(rows) - i)
                other[[i, at]] = other[[at, i]]
            permuted = X[rows]
            permuted[:, j] = X[other, j]
            result[t, j] = rise(error(tree, permuted, y[rows]), before, weight[rows])
    return result


def summary(rises):
    """(raw, spread, scaled)"""
    rises = rises[~np.isnan(rises[:, 0])]
    mean, spread = rises.mean(axis=0), rises.std(axis=0, ddof=1)
    return mean, spread, [m / (s / np.sqrt(len(rises))) if s > 0 else 0.0 for m, s in zip(mean, spread, strict=True)]


def assert_close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


@METHODS
@CRITERIA
@pytest.mark.parametrize("weighted", [False, True])
def test_mda(criterion, method, weighted):
    kind = KINDS[criterion]
    X, y = problem(kind)
    weight = np.random.default_rng(1).random(len(X)) + 0.1 if weighted else None
    parameters = {"n_estimators": 8, "criterion": criterion, "method": method, "max_features": 2, "random_state": 0}
    raw, scaled = (kind(variable_importance=name, **parameters).fit(X, y, weight) for name in ("mda_raw", "mda_scaled"))
    rises = error_rises(raw, X, y, weight)
    mean, spread, ratio = summary(rises)
    assert_close(raw.variable_importance_, mean)
    assert_close(raw.variable_importance_std_, spread)
    assert_close(scaled.variable_importance_, ratio)
    assert_close(scaled.variable_importance_std_, spread)
    assert raw.variable_importance_.argmax() == 0
    assert raw.variable_importance_[0] > 0
    assert raw.variable_importance_[3] == scaled.variable_importance_[3] == 0

    found = raw.oob_importance(X, y, weight)
    assert_close(found.importances, rises.T)
    np.testing.assert_array_equal(found.importances_mean, raw.variable_importance_)
    np.testing.assert_array_equal(found.importances_std, raw.variable_importance_std_)
    np.testing.assert_array_equal(found.importances_scaled, scaled.variable_importance_)


@pytest.mark.parametrize("outlier", [1e12, -1e100])
@pytest.mark.parametrize("weighted", [False, True])
def test_mda_beside_an_outlier_in_the_bag(outlier, weighted):
    """Rises of the errors of other rows are not lost; sums are rounded once."""
    X, y = problem(RandomForestRegressor)
    weight = np.random.default_rng(1).integers(1, 5, len(X)) if weighted else None
    forest = RandomForestRegressor(2, random_state=0).fit(X, y).forest_
    drawn = [twin_of(plan).counts(len(X), forest.seeds[t]) > 0 for t, plan in enumerate(forest.plans)]
    y[np.flatnonzero(drawn[0] & ~drawn[1])[0]] = outlier
    model = RandomForestRegressor(2, random_state=0).fit(X, y, weight)

    def exactly(after, before, weights):
        rise = sum((Fraction(a) - Fraction(b)) * int(w) for a, b, w in zip(after, before, weights, strict=True))
        return float(rise) / weights.sum()

    found = model.oob_importance(X, y, weight).importances
    np.testing.assert_array_equal(found.T, error_rises(model, X, y, weight, exactly))
    assert 0 < found[0, 0] < 100


@TASKS
def test_features_that_a_tree_does_not_use_get_exactly_0(kind):
    X, y = problem(kind)
    model = kind(10, max_depth=2, max_features=1, random_state=0).fit(X, y)
    importances = model.oob_importance(X, y).importances
    for t, tree in enumerate(model.estimators_):
        unused = np.setdiff1d(np.arange(5), tree.forest_.feature)
        assert len(unused)
        np.testing.assert_array_equal(importances[unused, t], 0)


@TASKS
def test_trees_that_leave_out_no_row_do_not_count(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 2))
    y = np.arange(4) % 2 if kind is RandomForestClassifier else X[:, 0]
    model = kind(60, max_features=1, variable_importance="mda_scaled", random_state=3).fit(X, y)
    rises = error_rises(model, X, y)
    assert np.isnan(rises).any() and not np.isnan(rises).all()
    assert_close(model.oob_importance(X, y).importances, rises.T)
    assert_close(model.variable_importance_, summary(rises)[2])
    assert_close(model.variable_importance_std_, summary(rises)[1])


def test_no_row_left_out_at_all():
    model = RandomForestClassifier(3, variable_importance="mda_raw").fit([[1.0, 2.0]], [0])
    assert np.isnan(model.variable_importance_).all() and np.isnan(model.variable_importance_std_).all()


def test_a_single_tree():
    X, y = problem(RandomForestRegressor)
    model = RandomForestRegressor(1, variable_importance="mda_raw", random_state=0).fit(X, y)
    assert_close(model.variable_importance_, error_rises(model, X, y)[0])
    np.testing.assert_array_equal(model.variable_importance_std_, 0)
    np.testing.assert_array_equal(model.oob_importance(X, y).importances_scaled, 0)


@pytest.mark.slow(after=1)
@TASKS
def test_more_rows_than_a_block_more_features_than_a_word_and_any_number_of_threads(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 70)).astype(np.float32)
    y = np.round(X[:, 0] + X[:, 64] + X[:, 69]).clip(-1, 1)
    parameters = {"n_estimators": 3, "max_features": 0.5, "max_depth": 3, "max_samples": 4000, "random_state": 0}
    models = [kind(n_jobs=n, variable_importance="mda_raw", **parameters).fit(X, y) for n in (1, 4)]
    expected = error_rises(models[0], X, y)
    assert_close(models[0].variable_importance_, expected.mean(axis=0))
    assert set(np.argsort(models[0].variable_importance_)[-3:]) == {0, 64, 69}
    for name in ("variable_importance_", "variable_importance_std_"):
        assert getattr(models[0], name).tobytes() == getattr(models[1], name).tobytes()
    found = [model.oob_importance(X, y).importances.tobytes() for model in models]
    assert found[0] == found[1]


@METHODS
@TASKS
def test_rows_of_weight_0_are_left_out(kind, method):
    X, y = problem(kind)
    weight = np.random.default_rng(2).integers(0, 3, len(X)).astype(float)
    kept = weight > 0
    parameters = {"n_estimators": 6, "method": method, "variable_importance": "mda_raw", "random_state": 0}
    model = kind(**parameters).fit(X, y, weight)
    assert_close(model.variable_importance_, summary(error_rises(model, X[kept], y[kept], weight[kept]))[0])
    np.testing.assert_array_equal(model.oob_importance(X, y, weight).importances_mean, model.variable_importance_)
    without = model.oob_importance(X[kept], y[kept], weight[kept])
    np.testing.assert_array_equal(without.importances_mean, model.variable_importance_)


def test_rows_of_a_class_of_weight_0_are_left_out():
    X, y = problem(RandomForestClassifier)
    model = RandomForestClassifier(6, class_weight={5: 0, 9: 3}, variable_importance="mda_raw", random_state=0)
    model.fit(X, y)
    kept = y != 5
    assert_close(model.variable_importance_, summary(error_rises(model, X[kept], y[kept]))[0])
    np.testing.assert_array_equal(model.oob_importance(X[kept], y[kept]).importances_mean, model.variable_importance_)
    np.testing.assert_array_equal(model.oob_importance(X, y, kept + 0.0).importances_mean, model.variable_importance_)
    np.testing.assert_array_equal(model.oob_importance(X, y).importances_mean, model.variable_importance_)


@pytest.mark.parametrize("importance", ["mdi", "mda_raw", "mda_scaled"])
def test_a_fit_without_importance_drops_the_old_one(importance):
    X, y = problem(RandomForestClassifier)
    model = RandomForestClassifier(5, variable_importance=importance, random_state=0).fit(X, y)
    assert model.variable_importance_.shape == model.variable_importance_std_.shape == (5,)
    model.set_params(variable_importance=None).fit(X, y)
    assert not hasattr(model, "variable_importance_") and not hasattr(model, "variable_importance_std_")


# Scale


@pytest.mark.parametrize("power", [-900, -500, 5, 300, 480, 900])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_unit_of_targets(n_outputs, power):
    """Raw importances are in the squared unit, scaled ones have none; nothing warns."""
    X, y = problem(RandomForestRegressor)
    if n_outputs == 2:
        y = np.stack([y, 1e3 * np.abs(y)], axis=1)

    def found(y):
        models = [RandomForestRegressor(9, variable_importance=name, oob_score=True, random_state=0).fit(X, y)
                  for name in ("mdi", "mda_raw", "mda_scaled")]  # fmt: skip
        squares = [one for model in models[:2] for one in (model.variable_importance_, model.variable_importance_std_)]
        last = models[2]
        squares += [last.variable_importance_std_, last.oob_error_, last.oob_curve_, *last.oob_importance(X, y).values()]
        return squares[:-1], [squares[-1], last.variable_importance_, last.oob_score_, last.feature_importances_]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        (squares, numbers), (scaled_squares, same_numbers) = found(y), found(np.ldexp(y, power))
    for one, scaled in zip(squares, scaled_squares, strict=True):
        np.testing.assert_array_equal(times_power(one, 2 * power), scaled)
    for one, same in zip(numbers, same_numbers, strict=True):
        np.testing.assert_array_equal(one, same)


# Errors


@TASKS
def test_errors_of_oob_importance(kind):
    X, y = problem(kind)
    with pytest.raises(NotFittedError):
        kind().oob_importance(X, y)
    model = kind(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="X has 149 rows of positive weight, but trees were grown on 150 rows"):
        model.oob_importance(X[1:], y[1:])
    with pytest.raises(ValueError, match="X has 149 rows of positive weight"):
        model.oob_importance(X, y, np.arange(150))
    with pytest.raises(ValueError, match="4 features"):
        model.oob_importance(X[:, :4], y)
    with pytest.raises(ValueError, match="inconsistent"):
        model.oob_importance(X, y[1:])
    y = y.copy()
    y[7] = np.nan if kind is RandomForestRegressor else 4
    with pytest.raises(ValueError, match="y contains NaN" if kind is RandomForestRegressor else r"4.*\[3, 5, 9\]"):
        model.oob_importance(X, y)
    with pytest.raises(ValueError, match="bootstrap=True"):
        kind(3, bootstrap=False).fit(*problem(kind)).oob_importance(*problem(kind))


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier])
@pytest.mark.parametrize("importance", ["mda_raw", "mda_scaled"])
def test_permutation_needs_bootstrap(kind, importance, monkeypatch):
    def grow_forest(*_, **__):
        raise AssertionError("it has been grown")

    monkeypatch.setattr("dforest.estimators.forest.base.grow_forest", grow_forest)
    with pytest.raises(ValueError, match=f"variable_importance='{importance}' needs bootstrap=True"):
        kind(3, bootstrap=False, variable_importance=importance).fit([[0], [1]], [0, 1])


@TASKS
@pytest.mark.parametrize("weighted", [False, True])
def test_permuted_rows_copied_or_followed(kind, weighted):
    """Trees of a splitter's own tests are permuted by copies of rows, others along paths: here both, of one forest."""
    X, y = problem(kind, n=3000)
    forest = kind(8, max_leaf_nodes=40, random_state=1).fit(X, y).forest_
    target = y.astype(float) if kind is RandomForestRegressor else np.unique(y, return_inverse=True)[1].astype(float)
    value = forest.leaf_value if kind is RandomForestRegressor else forest.leaf_class().astype(float)
    weight = np.random.default_rng(0).integers(1, 5, len(X), np.uint32) if weighted else None
    draws = TreeDraws(forest.plans, forest.seeds, len(X), 1)
    work = forest.packed_leaves(), X, target, value, kind is RandomForestRegressor, weight, draws
    used = np.zeros((forest.n_trees, forest.n_features), np.uint8)
    for t, nodes in enumerate(np.split(forest.feature, forest.node_offsets[1:-1])):
        used[t, nodes[nodes >= 0]] = 1
    assert (used[:, 3] == 0).all()  # the constant one
    followed, copied = permutation_error_increase(*work, 1), permutation_error_increase(*work, 1, used)
    assert followed.tobytes() == copied.tobytes() and (followed != 0).any(axis=0).tolist() == [True] * 3 + [False, True]


# By a score


def rare(n=400):
    X = np.random.default_rng(0).standard_normal((n, 3))
    return X, np.where(X[:, 0] + 0.3 * X[:, 1] > 2, "rare", "common")


def permuted_scores(model, X, y, metric, n_repeats, seed):
    """The slow way: each tree of `estimators_` predicts the rows that `estimators_samples_` lacks."""
    left_out = [np.bincount(rows, minlength=len(X)) == 0 for rows in model.estimators_samples_]

    def score(X):
        sums, n = 0, 0
        for tree, out in zip(model.estimators_, left_out, strict=True):
            predicted = tree.predict_proba(X)[:, 1] if hasattr(tree, "classes_") else tree.predict(X)
            sums, n = sums + np.where(out, predicted, 0), n + out
        return metric(y[n > 0], sums[n > 0] / n[n > 0])

    return permutation_importance(
        model, X, y, scoring=lambda _, X, y: score(X), n_repeats=n_repeats, random_state=seed
    ).importances


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_importances_by_a_score(kind):
    X, y = rare()
    metric = partial(average_precision_score, pos_label="rare")
    if kind is RandomForestRegressor:
        y, metric = X[:, 0] ** 2 + X[:, 1], lambda true, predicted: -mean_absolute_error(true, predicted)
    model = kind(8, max_depth=4, random_state=0).fit(X, y)  # some rows are drawn by all trees
    found = model.oob_importance(X, y, scoring=metric, n_repeats=3, random_state=7)
    assert sorted(found) == ["importances", "importances_mean", "importances_std"] and found.importances.shape == (3, 3)
    np.testing.assert_allclose(found.importances, permuted_scores(model, X, y, metric, 3, 7), atol=1e-12)
    np.testing.assert_array_equal(found.importances_std, found.importances.std(axis=1))
    again = model.oob_importance(X, y, scoring=metric, n_repeats=3, random_state=np.random.RandomState(7))
    np.testing.assert_array_equal(again.importances, found.importances)
    assert found.importances_mean[0] > found.importances_mean[2] + 0.1


def test_importances_by_a_name_are_those_of_its_metric():
    X, y = rare()
    model = RandomForestClassifier(30, random_state=0).fit(X, y == "rare")
    by_name = model.oob_importance(X, y == "rare", scoring="average_precision", random_state=0).importances
    by_metric = model.oob_importance(X, y == "rare", scoring=average_precision_score, random_state=0).importances
    np.testing.assert_array_equal(by_name, by_metric)
    assert model.oob_importance(X, y == "rare").importances_mean.max() < 0.05 < by_name.mean(axis=1).max()


def test_a_score_takes_weights_and_several_outputs():
    X, y = problem(RandomForestRegressor)
    weight = np.arange(len(y)) % 3 + 0.0
    model = RandomForestRegressor(10, random_state=0).fit(X, y, weight)
    some = weight > 0
    found = model.oob_importance(X, y, weight, scoring="r2", n_repeats=2, random_state=1).importances
    given = {}

    def weighted(true, predicted, sample_weight):
        given[len(given)] = sample_weight
        return r2_score(true, predicted, sample_weight=sample_weight)

    np.testing.assert_array_equal(
        model.oob_importance(X, y, weight, scoring=weighted, n_repeats=2, random_state=1).importances, found
    )
    assert len(given) == 1 + 4 * 2 and set(given[0]) <= set(weight[some])  # one feature is constant, and no tree tests it
    both = np.column_stack([y, -y])
    model = RandomForestRegressor(10, random_state=0).fit(X, both)
    assert model.oob_importance(X, both, scoring="r2", random_state=0).importances_mean.argmax() == 0


def test_errors_of_importances_by_a_score():
    X, y = rare()
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="scoring='average_precison' names no scorer; near it are 'average_precision'"):
        model.oob_importance(X, y, scoring="average_precison")
    with pytest.raises(ValueError, match=r"scoring='r2' can't score y: .*; allowed are scores of 2 classes, such as"):
        model.oob_importance(X, y, scoring="r2")
    with pytest.raises(ValueError, match="scoring=7; allowed are names"):
        model.oob_importance(X, y, scoring=7)
    with pytest.raises(ValueError, match="n_repeats=0; allowed are integers from 1"):
        model.oob_importance(X, y, scoring="accuracy", n_repeats=0)
    with pytest.raises(ValueError, match="scoring=.* returned nan; allowed are numbers other than NaN"):
        model.oob_importance(X, y, scoring=lambda true, predicted: np.nan)
    with pytest.raises(ValueError, match="X has 399 rows"):
        model.oob_importance(X[1:], y[1:], scoring="accuracy")
