"""Monotonic constraints: what predictions never do, to the last bit, and what is refused."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from helpers.device_forests import same_forest
from sklearn import ensemble, tree

from dforest import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

METHODS = pytest.mark.parametrize("method", ["hist", "dense"])
CLASSIFIERS = [DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS = [DecisionTreeRegressor, RandomForestRegressor, ExtraTreesRegressor]
TREES = [DecisionTreeClassifier, DecisionTreeRegressor]
EXTRA = [ExtraTreesClassifier, ExtraTreesRegressor]
# scikit-learn's
PEERS = {kind: getattr(tree if kind in TREES else ensemble, kind.__name__) for kind in CLASSIFIERS + REGRESSORS}
ALL = pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)

# Every criterion that there is, with every method and class that has it.
CASES = [
    *product(CLASSIFIERS, ["gini", "entropy", "log_loss"], ["hist", "dense"]),
    *product(REGRESSORS, ["squared_error", "poisson", "absolute_error"], ["hist", "dense"]),
]
PAIRS = 10_000


def make(kind, n_trees=7, **parameters):
    return kind(random_state=0, **({} if "Decision" in kind.__name__ else {"n_estimators": n_trees}), **parameters)


def problem(kind, seed=0, n=300, p=5):
    """Columns that y rises and falls with, or first one and then the other; ties, missing and infinite values."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, 1] = np.round(X[:, 1])
    y = X[:, 0] - 0.5 * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, 3] ** 2 / 2 + rng.standard_normal(n)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.01] = np.inf
    X[rng.random(X.shape) < 0.01] = -np.inf
    return X, y > 0.5 if kind in CLASSIFIERS else np.exp(y / 2), rng.random(n) + 0.1


def response(model, X):
    return model.predict_proba(X)[:, 1] if hasattr(model, "classes_") else model.predict(X)


def rises(model, X, j, seed=0):
    """How the predictions of random rows change as feature j rises and all others stay: ndarray of shape (PAIRS,).

    Values are of training, thresholds and their neighbours, anything between, and the extremes.
    """
    rng = np.random.default_rng([seed, j])
    rows = np.stack([rng.choice(column, PAIRS) for column in X.T], axis=1)
    known = X[~np.isnan(X[:, j]), j]
    thresholds = model.forest_.threshold[model.forest_.feature == j]
    thresholds = thresholds if len(thresholds) else known
    spread = rng.standard_normal(len(known)) * 3
    values = [known, thresholds, np.nextafter(thresholds, np.inf), spread, [-np.inf, np.inf, -1e300, 1e300]]
    ends = np.concatenate([rng.choice(values[i], PAIRS // 5) for i in range(5)] * 2)
    ends = np.sort(rng.permutation(ends).reshape(2, PAIRS), axis=0)
    ends[:, ::10] = [[-np.inf], [np.inf]]
    below, above = rows.copy(), rows
    below[:, j], above[:, j] = ends
    return response(model, above) - response(model, below)


def assert_kept(model, X, directions, tolerance=0.0):
    for j in np.flatnonzero(directions):
        assert (rises(model, X, j) * directions[j]).min() >= -tolerance, j


# What never happens


@pytest.mark.parametrize(("kind", "criterion", "method"), CASES)
@pytest.mark.parametrize("max_leaf_nodes", [None, 25])
def test_predictions_never_go_against_a_constraint(kind, criterion, method, max_leaf_nodes):
    """Not by one bit, in thousands of pairs of rows that differ in one constrained feature."""
    for seed in range(2):
        X, y, weight = problem(kind, seed)
        directions = np.random.default_rng([seed, len(criterion), kind in TREES]).choice([-1, 0, 1], 5)
        directions[2 + seed] = 1 - 2 * seed  # y rises and falls with this feature
        parameters = {"criterion": criterion, "method": method, "max_leaf_nodes": max_leaf_nodes}
        model = make(kind, monotonic_cst=directions, **parameters).fit(X, y, None if seed else weight)
        assert_kept(model, X, directions)
        assert len(np.unique(response(model, X))) > (5 if kind in TREES else 10)  # leaves that are clipped predict the same
        # In few leaves, free splits may leave no room for the feature that y follows.
        assert np.isin(model.forest_.feature, np.flatnonzero(directions) if max_leaf_nodes else 2 + seed).any()
        # Without constraints, they do.
        free = make(kind, **parameters).fit(X, y, None if seed else weight)
        assert (rises(free, X, 2 + seed) * directions[2 + seed]).min() < 0


@ALL
@METHODS
@pytest.mark.parametrize(
    "parameters",
    [
        {"splitter": "best", "max_features": 1},
        {"splitter": "random", "max_features": None},
        {"min_samples_leaf": 10},
        {"max_bins": 5},
        {"max_depth": 4},
        {"min_impurity_decrease": 0.005},
        {"ccp_alpha": 0.002},
        {"ordinal_features": [1, 2]},
        {"categorical_features": [1]},
        {"categorical_features": [1], "categorical_split": "one_hot", "max_leaf_nodes": 30},
    ],
    ids=str,
)
def test_whatever_else_is_asked_for(kind, method, parameters):
    """Constraints hold with every limit, kind of feature and strategy."""
    X, y, weight = problem(kind, 2)
    directions = [1, 0, -1, 1, 0]
    model = make(kind, 30, method=method, monotonic_cst=directions, **parameters).fit(X, y, weight)
    assert_kept(model, X, directions)
    assert len(np.unique(response(model, X))) > 2


@pytest.mark.parametrize("kind", CLASSIFIERS)
@METHODS
def test_classes(kind, method):
    """With class weights, and by votes: the probability of the second of two classes, whatever their names."""
    X, y, _ = problem(kind)
    names = np.array(["b", "a"])[y.astype(int)]
    for parameters in ({"class_weight": "balanced"}, {"class_weight": {"a": 7.3}}, *([{"voting": "hard"}] * (kind not in TREES))):
        model = make(kind, method=method, monotonic_cst=[-1, 0, 1, 0, 0], **parameters).fit(X, names)
        assert_kept(model, X, [-1, 0, 1, 0, 0])
        assert len(np.unique(response(model, X))) > 1
    # One class is no less than two.
    alone = make(kind, monotonic_cst=[1, 0, 0, 0, -1]).fit(X, np.zeros(len(X)))
    assert (alone.forest_.feature == -1).all()


@pytest.mark.parametrize("criterion", ["squared_error", "poisson", "absolute_error"])
@pytest.mark.parametrize("kind", REGRESSORS)
def test_targets_of_all_sizes(kind, criterion):
    """Where scales differ between nodes: outliers, tiny and huge units, a large offset."""
    X, y, weight = problem(kind)
    outliers = y.copy()
    outliers[::50] *= 1e9
    for target in (outliers, y * 1e-200, y * 1e200, y + 1e9, np.round(y)):
        model = make(kind, criterion=criterion, method="dense", monotonic_cst=[1, -1, 1, -1, 0]).fit(X, target, weight)
        assert_kept(model, X, [1, -1, 1, -1, 0])
        assert len(np.unique(response(model, X))) > 3


@pytest.mark.parametrize("kind", TREES)
@METHODS
def test_a_pruned_tree_keeps_them(kind, method):
    """What an inner node predicts as a leaf is within the bounds that its branch was grown in."""
    X, y, weight = problem(kind)
    criteria = {"gini", "entropy"} if kind in CLASSIFIERS else {"squared_error", "poisson", "absolute_error"}
    directions = [1, -1, 1, -1, 0]
    rounding = 2.0**-52 if kind in CLASSIFIERS else 0.0  # of sums of real weights of leaves that are clipped to one bound
    for criterion in sorted(criteria):
        model = make(kind, criterion=criterion, method=method, monotonic_cst=directions).fit(X, y, weight)
        alphas = model.cost_complexity_pruning_path(X, y, weight).ccp_alphas
        alphas = alphas[alphas > 0.0]  # nodes whose leaves are all clipped to one bound cost nothing
        for alpha in alphas[len(alphas) // 4 :: len(alphas) // 4]:
            pruned = make(kind, criterion=criterion, method=method, monotonic_cst=directions, ccp_alpha=alpha).fit(X, y, weight)
            assert pruned.get_n_leaves() < model.get_n_leaves()
            assert_kept(pruned, X, directions, rounding)
        other, z, _ = problem(kind, 5, n=150)
        pruned = model.prune(other, z, inplace=False)
        assert pruned.get_n_leaves() < model.get_n_leaves()
        assert_kept(pruned, X, directions, rounding)


@ALL
def test_one_feature_by_hand(kind):
    """Of a fall and a rise, only what is allowed is left."""
    X = np.arange(6.0)[:, None]
    y = [1, 1, 0, 0, 1, 1]
    for method, sign in product(["hist", "dense"], [1, -1]):
        parameters = {"method": method, "splitter": "best", "monotonic_cst": [sign]}
        parameters |= {} if kind in TREES else {"bootstrap": False}
        found = response(make(kind, **parameters).fit(X, y), X)
        expected = [0.5, 0.5, 0.5, 0.5, 1, 1] if sign > 0 else [1, 1, 0.5, 0.5, 0.5, 0.5]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_leaves_are_clipped_to_their_bounds(kind):
    """A median in the middle of two targets may leave bounds that the lower of these keeps: values by hand."""
    X = np.array([[0, 0]] * 4 + [[0, 1]] * 2 + [[1, 0]] * 6, float)
    y = np.array([0.0] * 4 + [5, 9] + [10] * 6)
    parameters = {"criterion": "absolute_error", "method": "dense", "max_depth": 2, "max_features": None, "splitter": "best"}
    parameters |= {} if kind in TREES else {"bootstrap": False}
    rows = [[0, 0], [0, 1], [1, 0]]
    assert make(kind, **parameters).fit(X, y).predict(rows).tolist() == [0, 7, 10]
    # By the first feature, medians of 0 and 10: what is below them is parted at 5.
    assert make(kind, monotonic_cst=[1, 0], **parameters).fit(X, y).predict(rows).tolist() == [0, 5, 10]


# What is the same


@ALL
@METHODS
def test_no_constraint_is_none(kind, method):
    """Zeros give the forest that None gives, to the bit; constraints another one."""
    X, y, weight = problem(kind)
    none, zeros, one = (
        make(kind, method=method, monotonic_cst=directions).fit(X, y, weight) for directions in (None, [0] * 5, [0, 0, 1, 0, 0])
    )
    assert same_forest(none, zeros) and not same_forest(none, one)


@ALL
def test_by_name(kind):
    """A dict of names is the list; names that it leaves out are free."""
    X, y, _ = problem(kind)
    frame = pd.DataFrame(X, columns=list("abcde"))
    by_name = make(kind, monotonic_cst={"c": 1, "a": -1, "e": 0}).fit(frame, y)
    by_place = make(kind, monotonic_cst=(-1, 0, 1, 0, 0)).fit(X, y)
    assert same_forest(by_name, by_place)
    assert by_name.get_params()["monotonic_cst"] == {"c": 1, "a": -1, "e": 0}
    if kind not in TREES:
        assert by_name.estimators_[0].get_params()["monotonic_cst"] == {"c": 1, "a": -1, "e": 0}


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson", "absolute_error"])
@pytest.mark.parametrize("seed", range(3))
def test_trees_are_scikit_learns(criterion, seed):
    """Each node has the test and the value of scikit-learn's, if no scores tie."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((400, 4)) * 1024) / 1024
    y = np.round(np.exp(X[:, 0] / 2 - np.sin(2 * X[:, 1]) + X[:, 2] ** 2 / 4 + rng.standard_normal(400) / 2) * 1024) / 1024
    kind = DecisionTreeClassifier if criterion in ("gini", "entropy") else DecisionTreeRegressor
    y = y > 1 if kind is DecisionTreeClassifier else y
    weight = rng.integers(1, 900, 400) / 8
    directions = [[1, -1, 1, -1], [1, 0, 0, 0], [0, -1, 1, 0]][seed]
    parameters = {"criterion": criterion, "min_samples_leaf": 10, "monotonic_cst": directions, "random_state": 0}
    ours = kind(method="dense", **parameters).fit(X, y, weight)
    theirs = PEERS[kind](**parameters).fit(X, y, weight)
    a, b = ours.tree_, theirs.tree_
    assert a.node_count > 20
    for name in ("children_left", "children_right", "feature", "threshold", "n_node_samples"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    np.testing.assert_allclose(response(ours, X), response(theirs, X), rtol=1e-7)  # bounds of shares have 26 bits


# What is lost, and what is not


def signal(kind, seed, n=1500):
    """Features that y rises, rises, falls with, and one of no use."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = 2 * X[:, 0] + np.tanh(3 * X[:, 1]) - X[:, 2] ** 3 / 2 + rng.standard_normal(n)
    return X, y > 0 if kind in CLASSIFIERS else y


@pytest.mark.slow
@pytest.mark.parametrize("kind", EXTRA)
@METHODS
def test_scores_of_random_cuts_with_a_true_constraint(kind, method):
    """It costs more than where cuts are the best, as many random ones leave the bounds.

    The true costs are 0.03 and 0.13, and seeds differ by 0.02 and 0.03: means of 60 are far enough below the bounds.
    """
    costs = []
    for seed in range(60):
        X, y = signal(kind, seed)
        models = [make(kind, 30, method=method, monotonic_cst=cst, min_samples_leaf=5) for cst in (None, [0, 0, -1, 0])]
        free, one = (model.fit(X[:700], y[:700]).score(X[700:], y[700:]) for model in models)
        costs.append(free - one)
    assert np.mean(costs) < (0.05 if kind in CLASSIFIERS else 0.15)


@pytest.mark.parametrize("kind", EXTRA)
def test_one_constraint_leaves_the_rest_to_other_features(kind):
    """The error of extra trees with a true constraint is about that of scikit-learn's, which clip leaves to their bounds, too."""
    errors = []
    for seed in range(3):
        rng = np.random.default_rng(100 + seed)
        X, T = rng.random((500, 4)), rng.random((1000, 4))
        true, y = (2 * Z[:, 0] + 2 * np.sin(6 * Z[:, 1]) for Z in (T, X))
        y += 0.3 * rng.normal(size=500)
        true, y = (true > 1, y > 1) if kind in CLASSIFIERS else (true, y)
        models = [peer(30, monotonic_cst=[1, 0, 0, 0], random_state=seed).fit(X, y) for peer in (kind, PEERS[kind])]
        errors.append([((response(model, T) - true) ** 2).mean() for model in models])
    ours, theirs = np.mean(errors, axis=0)
    assert ours < 1.3 * theirs


@ALL
def test_false_constraints_leave_what_other_features_say(kind):
    """A feature held against its effect hardly serves; the others still do."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 2))
    y = X[:, 0] + 2 * X[:, 1] + rng.standard_normal(800) / 2
    y = y > 0 if kind in CLASSIFIERS else y
    model = make(kind, monotonic_cst=[-1, 0], min_samples_leaf=5, max_features=None).fit(X, y)
    assert model.score(X, y) > (0.75 if kind in CLASSIFIERS else 0.6)
    assert model.feature_importances_[0] < 0.1
    assert_kept(model, X, [-1, 0])


# Errors


@ALL
@pytest.mark.parametrize(
    ("monotonic_cst", "message"),
    [
        ([1, 0], "monotonic_cst has shape .* but the input data X has 3 features"),
        ([1, 0, 0, 0], "monotonic_cst has shape .* but the input data X has 3 features"),
        ([2, 0, 0], "monotonic_cst must be an array-like of -1, 0 or 1"),
        ([0.5, 0, 0], "monotonic_cst must be an array-like of -1, 0 or 1"),
        ({"x": 1, "a": 1}, r"contains 1 unexpected feature names: .*'x'.*The columns of X are 'a', 'b', 'c'$"),
        ({"x": 1}, "monotonic_cst contains 1 unexpected feature names: .*'x'"),
        ({"a": 3}, "must be either -1, 0 or 1. Got 3"),
        ({"c": 1}, "monotonic_cst constrains X column 'c', which is categorical; allowed are continuous and ordinal"),
        ([0, 0, -1], "monotonic_cst constrains X column 'c', which is categorical"),
        ("a", "The 'monotonic_cst' parameter"),
        (1, "The 'monotonic_cst' parameter"),
    ],
)
def test_refused(kind, monotonic_cst, message):
    """With the parameter, the column, and what is allowed; nothing half-fitted stays."""
    X = pd.DataFrame({"a": [1.0, 2, 3], "b": [3.0, 1, 2], "c": pd.Categorical(["x", "y", "x"])})
    model = make(kind, monotonic_cst=monotonic_cst)
    with pytest.raises(ValueError, match=message):
        model.fit(X, [0, 1, 1])
    assert not hasattr(model, "forest_") and not hasattr(model, "n_features_in_")
    model.set_params(monotonic_cst=[0, 1, 0]).fit(X, [0, 1, 1])


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_more_than_two_classes(kind):
    X = np.arange(6.0)[:, None]
    model = make(kind, monotonic_cst=[1])
    with pytest.raises(ValueError, match="monotonic_cst: .* two classes at most; y has 3 classes"):
        model.fit(X, [0, 1, 2] * 2)
    assert not hasattr(model, "classes_")
    assert len(make(kind, monotonic_cst=[0]).fit(X, [0, 1, 2] * 2).classes_) == 3


@ALL
def test_names_need_a_frame(kind):
    with pytest.raises(ValueError, match="not fitted on data with feature names. Pass monotonic_cst as an integer array"):
        make(kind, monotonic_cst={"a": 1}).fit([[1.0], [2.0]], [0, 1])
