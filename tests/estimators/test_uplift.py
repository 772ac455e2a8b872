"""Uplift forests: trees of a brute-force search, what they predict, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from twins.uplift import uplift_score

import dforest
from dforest import UpliftForestClassifier, serving
from dforest.core.forest.digest import digest_of

ONE_TREE = {"n_estimators": 1, "bootstrap": False, "honest": False, "max_features": None, "random_state": 0}


def experiment(n, n_arms=2, seed=0):
    """Rows of an experiment in which arm 1 helps where feature 0 is above 0, and arm 2 where feature 1 is."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4)).round(1)
    arm = random.integers(0, n_arms, n)
    chance = 0.2 + 0.5 * (arm == 1) * (X[:, 0] > 0) + 0.4 * (arm == 2) * (X[:, 1] > 0)
    return X, (random.random(n) < chance).astype(int), arm


def statistic(y, arm, n_arms):
    counts = np.bincount(2 * arm + y, minlength=2 * n_arms)
    return [len(y), len(y), *counts.tolist()]


def cuts(X, y, arm, n_arms, *settings):
    """(score, feature, threshold) of all cuts that are allowed."""
    total = statistic(y, arm, n_arms)
    for feature, column in enumerate(X.T):
        for low in np.unique(column)[:-1]:
            left = column <= low
            score = uplift_score(statistic(y[left], arm[left], n_arms), total, *settings)
            if score is not None:
                yield score, feature, low


@pytest.mark.parametrize("criterion", ["kl", "euclidean", "chi2"])
@pytest.mark.parametrize("n_arms", [2, 3])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("method", ["hist", "dense"])
def test_splits_are_those_of_a_search_through_all(criterion, n_arms, normalize, method):
    X, y, arm = experiment(150, n_arms, seed=n_arms)
    forest = UpliftForestClassifier(
        criterion=criterion,
        normalize=normalize,
        min_samples_leaf=1,
        min_samples_treatment=4,
        smoothing=1.5,
        method=method,
        **ONE_TREE,
    ).fit(X, y, treatment=arm)
    tree, stack, n_splits = forest.forest_.tree(0), [(0, np.arange(150))], 0
    while stack:
        node, rows = stack.pop()
        found = list(cuts(X[rows], y[rows], arm[rows], n_arms, criterion, normalize, 4, 1.5))
        if tree.feature[node] < 0:
            assert not found
            continue
        goes_left = X[rows, tree.feature[node]] <= tree.threshold[node]
        total, left = (statistic(y[own], arm[own], n_arms) for own in (rows, rows[goes_left]))
        assert uplift_score(left, total, criterion, normalize, 4, 1.5) == max(found)[0]
        n_splits += 1
        stack += [(node + 1, rows[goes_left]), (int(tree.right_child[node]), rows[~goes_left])]
    assert n_splits > 1


def test_predictions_are_ratios_of_shares_in_leaves():
    X, y, arm = experiment(400)
    forest = UpliftForestClassifier(min_samples_leaf=40, **ONE_TREE).fit(X, y, treatment=arm)
    leaf = forest.apply(X)[:, 0]
    for own in np.unique(leaf):
        rows = leaf == own
        chance = [y[rows & (arm == k)].mean() for k in range(2)]
        assert forest.predict_outcome(X[rows]) == pytest.approx(np.tile(chance, (rows.sum(), 1)))
        assert forest.predict(X[rows]) == pytest.approx(chance[1] - chance[0])


def test_uplift_is_found():
    X, y, arm = experiment(6000, 3)
    forest = UpliftForestClassifier(60, random_state=0).fit(X, y, treatment=arm)
    found = forest.predict(X)
    assert found.shape == (6000, 2) and forest.predict_outcome(X).shape == (6000, 3)
    for k in range(2):
        assert found[X[:, k] > 0.3, k].mean() > 0.25 > 0.1 > abs(found[X[:, k] < -0.3, k].mean())
    assert forest.feature_importances_[:2].sum() > 0.5
    assert forest.predict(X) == pytest.approx(forest.predict_outcome(X)[:, 1:] - forest.predict_outcome(X)[:, :1])


@pytest.mark.parametrize("method", ["hist", "dense"])
def test_threads_make_no_difference(method):
    X, y, arm = experiment(1500)
    forests = [UpliftForestClassifier(8, method=method, random_state=0, n_jobs=n).fit(X, y, treatment=arm) for n in (1, 2, 3)]
    assert len({digest_of(forest.forest_) for forest in forests}) == 1


def test_labels_and_booleans():
    X, y, arm = experiment(800)
    plain = UpliftForestClassifier(5, random_state=0).fit(X, y, treatment=arm)
    named = UpliftForestClassifier(5, random_state=0).fit(
        pd.DataFrame(X, columns=list("abcd")),
        np.array(["no", "yes"])[y],
        treatment=pd.Series(np.array(["control", "letter"])[arm]),
    )
    flags = UpliftForestClassifier(5, random_state=0).fit(X, y == 1, treatment=arm == 1)
    assert named.arms_.tolist() == ["control", "letter"] and named.outcomes_.tolist() == ["no", "yes"]
    assert np.array_equal(named.predict(pd.DataFrame(X, columns=list("abcd"))), plain.predict(X))
    assert np.array_equal(flags.predict(X), plain.predict(X))


def test_an_arm_without_the_outcome():
    X, y, arm = experiment(600)
    forest = UpliftForestClassifier(5, random_state=0).fit(X, y * (arm == 1), treatment=arm)
    assert np.all(forest.predict_outcome(X)[:, 0] == 0)
    assert np.array_equal(forest.predict(X), forest.predict_outcome(X)[:, 1])


def test_rows_of_weight_0_are_left_out_and_categories_are_split():
    X, y, arm = experiment(2000)
    weight = np.random.default_rng(1).integers(0, 2, 2000)
    forest = UpliftForestClassifier(min_samples_leaf=40, **ONE_TREE)
    kept = weight > 0
    assert np.array_equal(
        clone(forest).fit(X, y, treatment=arm, sample_weight=weight).predict(X),
        clone(forest).fit(X[kept], y[kept], treatment=arm[kept]).predict(X),
    )
    towns = np.array(["Bern", "Oslo", "Rome", "Wien"])[np.clip((X[:, 0] * 2 + 2).astype(int), 0, 3)]
    frame = pd.DataFrame({"town": pd.Categorical(towns), "b": X[:, 1]})
    found = clone(forest).fit(frame, y, treatment=arm)
    effect = pd.Series(found.predict(frame)).groupby(towns).mean()
    assert effect["Rome"] > 0.3 > 0.1 > abs(effect["Bern"])


def test_least_numbers_hold():
    X, y, arm = experiment(1000)
    forest = UpliftForestClassifier(
        5, honest=False, bootstrap=False, min_samples_leaf=1, min_samples_treatment=30, random_state=0
    )
    leaves = forest.fit(X, y, treatment=arm).apply(X)
    for column in leaves.T:
        counts = np.array([[((column == leaf) & (arm == k)).sum() for k in range(2)] for leaf in np.unique(column)])
        assert counts.min() >= 30 and len(counts) > 1


def test_models_are_kept(tmp_path):
    X, y, arm = experiment(800, 3)
    forest = UpliftForestClassifier(5, random_state=0).fit(X, y, treatment=arm)
    assert np.array_equal(pickle.loads(pickle.dumps(forest)).predict(X), forest.predict(X))
    forest.save(tmp_path / "forest")
    assert np.array_equal(dforest.load(tmp_path / "forest").predict_outcome(X), forest.predict_outcome(X))
    served = serving.load(tmp_path / "forest")
    assert np.array_equal(served.predict(X), forest.predict(X))
    tree = forest.estimators_[0]
    assert tree.predict_proba(X).shape == (800, 6)


def test_memory_and_other_libraries():
    X, y, arm = experiment(800)
    forest = UpliftForestClassifier(5, random_state=0).fit(X, y, treatment=arm)
    assert UpliftForestClassifier(5).estimate_memory(X, y, arm).total > 1000
    for name in ("to_c", "to_onnx", "to_shap", "to_treelite"):
        with pytest.raises(ValueError, match="is about means over trees"):
            getattr(forest, name)()


def test_trees_that_are_added():
    X, y, arm = experiment(800)
    grown = UpliftForestClassifier(3, warm_start=True, random_state=0).fit(X, y, treatment=arm)
    grown.set_params(n_estimators=6).fit(X, y, treatment=arm)
    assert digest_of(grown.forest_) == digest_of(UpliftForestClassifier(6, random_state=0).fit(X, y, treatment=arm).forest_)
    grown.set_params(n_estimators=7)
    with pytest.raises(ValueError, match=r"treatment has the labels \['a', 'b'\], but warm_start=True"):
        grown.fit(X, y, treatment=np.array(["a", "b"])[arm])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": None}, "y=None"),
        ({"treatment": None}, "treatment=None; an uplift forest needs the arm"),
        ({"y": [0, 1, 2, 0]}, "y has 3 different values; allowed are two"),
        ({"y": [0, 0, 0, 0]}, "y has the label 0 alone"),
        ({"y": [[0, 1]] * 4}, "y has the shape"),
        ({"treatment": [1, 1, 1, 1]}, "treatment has the label 1 alone"),
        ({"treatment": [0, 1]}, "treatment has 2 rows, and y has 4"),
        ({"treatment": [0, 1, None, 1]}, "treatment contains NaN"),
        ({"treatment": [0.5, 1.5, 0.25, 1.0]}, "treatment: "),
        ({"criterion": "gini"}, "criterion"),
        ({"smoothing": 0}, "smoothing"),
        ({"min_samples_treatment": 0}, "min_samples_treatment"),
        ({"device": "cuda"}, "UpliftForestClassifier is not supported for device='cuda'"),
    ],
)
def test_what_is_refused(change, message):
    given = {"X": np.arange(4.0)[:, None], "y": [0, 1, 1, 0], "treatment": [0, 1, 0, 1]}
    parameters = {name: value for name, value in change.items() if name not in given}
    with pytest.raises(ValueError, match=message):
        UpliftForestClassifier(**parameters).fit(**given | {name: value for name, value in change.items() if name in given})


def test_the_first_category_is_the_control():
    rng = np.random.default_rng(0)
    X, number = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    y = rng.random(400) < 0.3 + 0.4 * number * (X[:, 0] > 0)
    labels = pd.Series(pd.Categorical(np.array(["none", "mail"])[number], ["none", "mail"]))
    found = dforest.UpliftForestClassifier(5, random_state=0).fit(X, y, treatment=labels)
    assert found.arms_.tolist() == ["none", "mail"]
    expected = dforest.UpliftForestClassifier(5, random_state=0).fit(X, y, treatment=number)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
