"""Boosted trees on columns of all kinds: categories, ordinal features, monotonic and interaction constraints."""

import pickle

import numpy as np
import pandas as pd
import pytest
from helpers.device_forests import same_forest
from scipy.sparse import csr_array
from sklearn.base import clone
from twins import boosting as twin

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor

LOSSES = ("squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie", "fair", "mape")
LABELS = np.array(["ant", "bee", "cow", "doe", "elk", "fox", "gnu", "hen"])


def regressor(loss="squared_error", **parameters):
    given = {"quantile": 0.7 if loss == "quantile" else None, "random_state": 0, "defaults": "scikit-learn"}
    return HistGradientBoostingRegressor(loss, **given, **parameters)


def frame_of(n=800, seed=0):
    """A frame with an animal, a size and a number, and a number that depends on all three; the animals' order says nothing."""
    rng = np.random.default_rng(seed)
    animal = rng.choice(8, n, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.04, 0.01])
    size = rng.integers(0, 4, n)
    x = rng.normal(size=n)
    y = np.array([0.0, 5.0, 1.0, 6.0, 2.0, 7.0, 0.5, 9.0])[animal] + size + x + 0.1 * rng.normal(size=n)
    frame = pd.DataFrame({
        "animal": pd.Categorical(LABELS[animal], categories=LABELS),
        "size": pd.Categorical(np.array(["S", "M", "L", "XL"])[size], categories=["S", "M", "L", "XL"], ordered=True),
        "x": x,
    })  # fmt: skip
    frame.loc[rng.random(n) < 0.1, "animal"] = None
    return frame, y


def numbers_of(frame):
    """The columns of such a frame as numbers of their labels."""
    return np.column_stack([frame["animal"].cat.codes.where(frame["animal"].notna()), frame["size"].cat.codes, frame["x"]])


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 7])
def test_models_are_the_naive_twins(n_jobs):
    frame, y = frame_of(300)
    given = dict(max_iter=5, max_leaf_nodes=6, min_samples_leaf=4, monotonic_cst={"x": 1})
    model = regressor(n_jobs=n_jobs, interaction_cst=[{0, 1}, {0, 2}], **given).fit(frame, y)
    X = numbers_of(frame)
    given["monotonic"] = [0, 0, given.pop("monotonic_cst")["x"]]
    # The seed counts for features drawn at random, and none is.
    naive = twin.grow_booster(X, y, loss="squared_error", max_bins=256, n_categories=[8, 0, 0], ordinal=[False, True, False],
                              interactions=[{0, 1}, {0, 2}], **given)  # fmt: skip
    trees = [twin.flatten(tree) for trees in naive.rounds for tree in trees]
    for name in ("feature", "threshold", "missing_left"):
        assert getattr(model.forest_, name).tobytes() == np.concatenate([tree[name] for tree in trees]).tobytes(), name
    assert (model.forest_.payload_words == np.concatenate([tree["payload_words"] for tree in trees])).all()
    assert np.array_equal(model.predict(frame), naive.raw[:, 0])
    assert np.isnan(model.forest_.threshold[model.forest_.feature == 0]).all()
    assert set(model.forest_.threshold[model.forest_.feature == 1]) <= {0.0, 1.0, 2.0}


def test_categories_by_any_name():
    frame, y = frame_of()
    model = regressor(max_iter=20).fit(frame, y)
    assert model.is_categorical_.tolist() == [True, False, False] and model.is_ordinal_.tolist() == [False, True, False]
    assert model.categories_[0].tolist() == LABELS.tolist()
    codes = numbers_of(frame)
    by_number = regressor(max_iter=20, categorical_features=[0], ordinal_features=[1]).fit(codes, y)
    assert same_forest(model, by_number)
    assert np.array_equal(model.predict(frame), by_number.predict(codes))
    assert regressor(max_iter=1, categorical_features=None).fit(codes, y).is_categorical_ is None


def test_unseen_labels_go_where_missing_values_go():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (300, 1)).astype(float)
    y = np.array([0.0, 5.0, 10.0])[X[:, 0].astype(int)]
    X[:100], y[:100] = np.nan, 20.0
    model = regressor(categorical_features=[0]).fit(X, y)
    with pytest.warns(UserWarning, match="labels that were not in the training data"):
        found = model.predict([[7.0], [-1.0]])
    np.testing.assert_allclose(found, 20.0, atol=0.01)
    np.testing.assert_allclose(model.predict([[np.nan], [2.0]]), [20.0, 10.0], atol=0.01)


def test_categories_of_rows_of_weight_0_are_unknown():
    frame, y = frame_of()
    weight = (frame["animal"] != "bee").to_numpy(float)
    model = regressor(max_iter=5).fit(frame, y, weight)
    assert "bee" not in model.categories_[0]
    assert same_forest(model, regressor(max_iter=5).fit(frame[weight > 0], y[weight > 0]))


def test_early_stopping_warm_start_and_pickles():
    frame, y = frame_of()
    given = dict(early_stopping=True, n_iter_no_change=3, monotonic_cst=[0, 1, 0])
    whole = regressor(max_iter=12, **given).fit(frame, y)
    parts = regressor(max_iter=5, warm_start=True, **given).fit(frame, y)
    parts.set_params(max_iter=12).fit(frame, y)
    assert same_forest(whole, parts)
    again = pickle.loads(pickle.dumps(whole))
    assert np.array_equal(again.predict(frame), whole.predict(frame)) and same_forest(again, whole)
    assert np.array_equal(list(whole.staged_predict(frame))[-1], whole.predict(frame))
    with pytest.raises(ValueError, match=r"monotonic_cst=None, but warm_start=True goes on with trees grown under .*\[0, 1, 0\]"):
        parts.set_params(max_iter=13, monotonic_cst=None).fit(frame, y)
    with pytest.raises(ValueError, match="X column 'animal' holds 'yak', but warm_start=True goes on with trees grown on 'ant'"):
        parts.set_params(max_iter=13, monotonic_cst=[0, 1, 0]).fit(frame.assign(animal="yak").astype({"animal": "category"}), y)
    assert parts.n_iter_ == whole.n_iter_


@pytest.mark.parametrize("loss", [*LOSSES, "log_loss", "exponential"])
@pytest.mark.parametrize("direction", [1, -1])
def test_predictions_are_monotonic(loss, direction):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(np.sin(3 * X[:, 0]) - direction * 0.2 * X[:, 0] + X[:, 1] * X[:, 2]) + 0.3 * rng.standard_t(3, 600)
    cst = [direction, 0, -direction]
    given = dict(max_iter=30, min_samples_leaf=3, monotonic_cst=cst, n_jobs=2)
    if loss in LOSSES:
        y = np.exp(signal) if loss in ("poisson", "gamma", "tweedie") else signal
        model = regressor(loss, **given).fit(X, y)
        predict = model.predict
    else:
        y = signal > 0
        model = HistGradientBoostingClassifier(loss, **given).fit(X, y)
        predict = model.decision_function
    steps = np.linspace(-3, 3, 200)
    for feature in (0, 2):
        for row in X[:20]:
            rows = np.tile(row, (len(steps), 1))
            rows[:, feature] = steps
            assert (np.diff(predict(rows)) * cst[feature] >= 0).all()
    assert model.forest_.depths().max() > 2 and set(model.forest_.feature.tolist()) == {-1, 0, 1, 2}
    assert not same_forest(model, clone(model).set_params(monotonic_cst=None).fit(X, y))


def paths(forest):
    """The set of features on each path to a leaf, over all trees."""
    found = []
    for t in range(forest.n_trees):
        first = forest.node_offsets[t]

        def visit(node, used, first=first):
            feature = forest.feature[first + node]
            if feature < 0:
                found.append(frozenset(used))
                return
            visit(node + 1, used | {int(feature)})
            visit(int(forest.right_child[first + node]), used | {int(feature)})

        visit(0, set())
    return found


@pytest.mark.parametrize(("interaction_cst", "allowed"), [
    ("no_interactions", lambda path: len(path) <= 1),
    ("pairwise", lambda path: len(path) <= 2),
    ([{0, 1}], lambda path: path <= {0, 1} or path <= {2, 3}),
    ([(0, 1, 2), [1, 3]], lambda path: path <= {0, 1, 2} or path <= {1, 3}),
])  # fmt: skip
@pytest.mark.parametrize("max_features", [1.0, 0.5, 1])
def test_paths_keep_to_interactions(interaction_cst, allowed, max_features):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 4))
    y = np.prod(X, axis=1) + X.sum(axis=1)
    model = regressor(max_iter=20, min_samples_leaf=3, interaction_cst=interaction_cst, max_features=max_features).fit(X, y)
    found = paths(model.forest_)
    assert all(map(allowed, found))
    assert set().union(*found) == {0, 1, 2, 3}
    free = paths(clone(model).set_params(interaction_cst=None).fit(X, y).forest_)
    assert not all(map(allowed, free))
    named = pd.DataFrame(X, columns=list("abcd"))
    if isinstance(interaction_cst, list):
        names = [["abcd"[j] for j in group] for group in interaction_cst]
        assert same_forest(model, clone(model).set_params(interaction_cst=names).fit(named, y))
    lists = {"no_interactions": [[j] for j in range(4)], "pairwise": [[i, j] for i in range(4) for j in range(i)]}
    if str(interaction_cst) in lists:
        listed = clone(model).set_params(interaction_cst=lists[interaction_cst]).fit(X, y)
        assert same_forest(model, listed)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_columns_of_many_codes_are_the_naive_twins(n_jobs):
    """More categories and bins than a byte has codes."""
    rng = np.random.default_rng(0)
    n, n_labels = 2500, 280
    label = np.concatenate([np.arange(n_labels), rng.integers(0, n_labels, n - n_labels)]).astype(float)
    x = rng.integers(0, 400, n) / 10
    y = rng.normal(size=n_labels)[label.astype(int)] + np.sin(x)
    label[n_labels:][rng.random(n - n_labels) < 0.1] = np.nan
    x[rng.random(n) < 0.1] = np.nan
    X = np.column_stack([label, x])
    model = regressor(max_iter=2, max_bins=2000, categorical_features=[0], n_jobs=n_jobs).fit(X, y)
    assert {0, 1} <= set(model.forest_.feature) and np.diff(model.forest_.payload_offsets).max() > 4
    naive = twin.grow_booster(X, y, loss="squared_error", max_iter=2, max_bins=2000, n_categories=[n_labels, 0])
    trees = [twin.flatten(tree) for trees in naive.rounds for tree in trees]
    for name in ("feature", "threshold", "missing_left"):
        assert getattr(model.forest_, name).tobytes() == np.concatenate([tree[name] for tree in trees]).tobytes(), name
    assert (model.forest_.payload_words == np.concatenate([tree["payload_words"] for tree in trees])).all()
    np.testing.assert_array_equal(model.predict(X), twin.predict_raw(naive, X)[:, 0])


@pytest.mark.parametrize(("parameters", "message"), [
    ({"interaction_cst": [0, 1]}, r"interaction_cst=\[0, 1\] .*: Interaction constraints must be a sequence of tuples or lists"),
    ({"interaction_cst": [{0, 9}]}, r"interaction_cst holds 9; allowed are .* numbers of features, from 0 to 2"),
    ({"interaction_cst": [[-1]]}, r"interaction_cst holds -1; allowed"),
    ({"interaction_cst": [["yak"]]}, r"interaction_cst holds 'yak'; allowed are .* names, \['an.* indices: 'yak'$"),
    ({"interaction_cst": "all"}, "interaction_cst"),
    ({"monotonic_cst": {"animal": 1}}, "monotonic_cst constrains X column 'animal', which is categorical"),
    ({"monotonic_cst": [0, 1]}, "monotonic_cst has shape"),
    ({"categorical_features": ["yak"]}, "categorical_features names 'yak'; the columns of X are"),
])  # fmt: skip
def test_refused(parameters, message):
    frame, y = frame_of()
    model = regressor(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(frame, y)
    assert not hasattr(model, "forest_") and not hasattr(model, "n_features_in_")


def test_several_classes_have_no_direction():
    X = np.arange(90.0)[:, None]
    with pytest.raises(ValueError, match="Monotonicity constraints are for two classes at most; y has 3 classes"):
        HistGradientBoostingClassifier(monotonic_cst=[1]).fit(X, X[:, 0] // 30)


@pytest.mark.parametrize("groups", [["ab", "c"], ["a", "b"], ("a", ("b", "c")), [b"ab"], [{"a": 1}], ["a"], [0, 1]])
def test_a_group_of_interactions_is_no_text(groups):
    """The letters of "ab" were taken for columns of these names."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=["a", "b", "c"])
    with pytest.raises(ValueError, match="interaction_cst=.* holds the group .*; allowed are lists, tuples or sets"):
        regressor(interaction_cst=groups).fit(X, X["a"])
    regressor(interaction_cst=[["a", "b"], ("c",)]).fit(X, X["a"])


@pytest.mark.parametrize(
    "drawing", [{"colsample_bytree": 0.1}, {"colsample_bylevel": 0.1}, {"max_features": 0.1}, {"max_features": 1}]
)
def test_columns_that_can_not_split_are_not_drawn(drawing):
    """Columns of one value, of missing values alone, or of a category that all rows but those of weight 0 have."""
    rng = np.random.default_rng(0)
    X = np.c_[rng.standard_normal((200, 2)), np.zeros((200, 16)), np.full(200, np.nan), np.arange(200) < 5]
    y, weight = X[:, 0] + rng.standard_normal(200), np.where(np.arange(200) < 5, 0.0, 1.0)
    model = regressor(max_iter=20, categorical_features=[2, 19], **drawing).fit(X, y, weight)
    roots = model.forest_.feature[model.forest_.node_offsets[:-1]]
    assert set(roots.tolist()) <= {0, 1}
    if drawing != {"colsample_bytree": 0.1}:
        return
    sparse = regressor(max_iter=20, **drawing).fit(csr_array(np.nan_to_num(X[:, :19])), y, weight)
    assert set(sparse.forest_.feature[sparse.forest_.node_offsets[:-1]].tolist()) == {0, 1}
