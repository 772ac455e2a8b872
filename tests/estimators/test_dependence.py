"""Partial dependence: against a walk down each tree, point by point, and against scikit-learn's on the same trees."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.inspection import partial_dependence

import dforest

X, Y = load_diabetes(return_X_y=True)


def walked(model, known):
    """The mean prediction of a model if the features that are keys of `known` have its values: ndarray of shape (n_outputs,)."""
    forest, votes = model.forest_, model.forest_.leaf_votes()
    baseline, total = forest.objective.baseline, 0.0
    for t in range(forest.n_trees):
        tree = forest.tree(t)
        weight = forest.node_table(t).weight.sum(axis=1).astype(float)

        def below(i, tree=tree, weight=weight):
            left, right = i + 1, tree.link[i]
            j = tree.feature[i]
            if j < 0:
                return votes[tree.link[i]]
            if j not in known:
                return (weight[left] * below(left) + weight[right] * below(right)) / weight[i]
            x = known[j]
            subset = tree.subset_of(i)
            if subset is not None:
                goes_left = (x in subset) != tree.missing_left[i]
            else:
                goes_left = tree.missing_left[i] if np.isnan(x) else x <= tree.threshold[i]
            return below(left if goes_left else right)

        own = below(0)
        if baseline is not None and len(own) < len(baseline):
            own = np.eye(len(baseline))[t % len(baseline)] * own
        total = total + own
    return total / forest.n_trees if baseline is None else total + np.array(baseline)


def table(n=300, seed=0):
    """A frame with a number that is missing at times, labels, and a number; and targets."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "number": rng.normal(size=n).round(1), "label": rng.choice(["ash", "elm", "oak", "yew"], n), "other": rng.normal(size=n),
    })  # fmt: skip
    frame.loc[rng.random(n) < 0.2, "number"] = np.nan
    y = frame["other"] + np.nan_to_num(frame["number"], nan=2.0) * frame["label"].isin(["elm", "yew"])
    return frame, y.to_numpy()


@pytest.mark.parametrize("family", [
    dforest.RandomForestClassifier, dforest.ExtraTreesRegressor, dforest.DecisionTreeClassifier,
    dforest.HistGradientBoostingRegressor,
    dforest.HistGradientBoostingClassifier,
])  # fmt: skip
@pytest.mark.parametrize("n_classes", [2, 3])
def test_means_are_those_of_walks(family, n_classes):
    frame, y = table()
    model = family(random_state=0, categorical_features=["label"])
    model.set_params(**{name: 4 for name in ("n_estimators", "max_iter") if name in model.get_params()})
    if "Classifier" in family.__name__:
        y = np.array(["a", "b", "c"])[np.digitize(y, [0.0, 1.0][: n_classes - 1])]
    elif n_classes == 3:
        pytest.skip("numbers have no classes")
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    model.fit(frame, y, sample_weight=weight)
    custom = {"number": [-1.0, 0.3, np.nan], "label": ["yew", "ash"]}
    found = model.partial_dependence(frame, ["number", "label"], custom_values=custom)
    assert found.grid_values[0].tolist()[:2] == [-1.0, 0.3] and found.grid_values[1].tolist() == ["yew", "ash"]
    for i, number in enumerate(custom["number"]):
        for k, label in enumerate([3, 0]):
            wanted = walked(model, {0: number, 1: label})
            wanted = wanted[1:] if len(wanted) == 2 else wanted
            np.testing.assert_allclose(found.average[:, i, k], wanted, rtol=1e-12, atol=1e-14)
    again = model.set_params(**{"n_jobs": 3} if "n_jobs" in model.get_params() else {})
    assert again.partial_dependence(frame, [0, 1], custom_values=custom).average.tobytes() == found.average.tobytes()


@pytest.mark.parametrize("features", [[2], [8, 0], [1]])
def test_scikit_learns_forests_say_the_same(features):
    model = dforest.RandomForestRegressor(10, random_state=0).fit(X, Y, sample_weight=np.arange(1.0, len(Y) + 1))
    mine = model.partial_dependence(X, features, grid_resolution=12)
    theirs = partial_dependence(model.to_sklearn(), X, features, grid_resolution=12, method="recursion")
    np.testing.assert_allclose(mine.average, theirs.average, rtol=1e-12)
    for own, other in zip(mine.grid_values, theirs.grid_values, strict=True):
        np.testing.assert_array_equal(own, other)


def test_all_features_known_is_a_prediction():
    features = [0, 1, 2, 3]
    X, y = load_iris(return_X_y=True)
    model = dforest.HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    for row in X[::30]:
        found = model.partial_dependence(X, features, custom_values={j: row[j : j + 1] for j in features})
        np.testing.assert_allclose(found.average.ravel(), model.decision_function(row[None])[0], rtol=1e-12)


@pytest.mark.parametrize("family", [
    dforest.RandomForestClassifier, dforest.ExtraTreesRegressor, dforest.DecisionTreeClassifier,
    dforest.HistGradientBoostingRegressor,
])  # fmt: skip
def test_several_outputs(family):
    frame, y = table()
    codes = frame.assign(label=frame["label"].map({"ash": 0.0, "elm": 1.0, "oak": 2.0, "yew": np.nan}))
    several = np.stack([y, y[::-1], 100 * y], axis=1)
    is_class = "Classifier" in family.__name__
    if is_class:
        several = np.stack([np.digitize(y, [0.0, 1.0]), y[::-1] > 0, np.full(len(y), 7)], axis=1)
    own = {"max_iter": 10} if "Hist" in family.__name__ else {}
    model = family(random_state=0, **own).fit(codes, several, sample_weight=np.random.default_rng(1).integers(1, 4, len(y)))
    custom = {"number": [-1.0, 0.3, np.nan], "label": [2.0, np.nan]}
    average = model.partial_dependence(codes, ["number", "label"], custom_values=custom).average
    assert [own.shape for own in average] == ([(3, 3, 2), (1, 3, 2), (1, 3, 2)] if is_class else [(3, 2)] * 3)
    assert isinstance(average, list) == is_class
    for i, number in enumerate(custom["number"]):
        for k, label in enumerate(custom["label"]):
            wanted = np.delete(walked(model, {0: number, 1: label}), 3) if is_class else walked(model, {0: number, 1: label})
            found = np.concatenate([own[:, i, k] for own in average]) if is_class else average[:, i, k]
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


def test_a_display_draws_it():
    pytest.importorskip("matplotlib")
    frame, y = table()
    model = dforest.RandomForestRegressor(5, categorical_features=["label"], random_state=0).fit(frame, y)
    display = dforest.PartialDependenceDisplay.from_estimator(model, frame, ["other", "label", ("number", "other")])
    assert [axes.get_xlabel() for axes in display.axes_.ravel()[:3]] == ["other", "label", "number"]
    line = display.lines_.ravel()[0]
    np.testing.assert_array_equal(line.get_ydata(), model.partial_dependence(frame, "other").average[0])


DISPLAY = dforest.PartialDependenceDisplay.from_estimator


@pytest.mark.parametrize("family", [dforest.RandomForestClassifier, dforest.HistGradientBoostingClassifier])
@pytest.mark.parametrize("labels", [["no", "yes"], [1, 2], ["a", "b", "c"]])
def test_a_display_draws_the_class_that_is_named(family, labels):
    pytest.importorskip("matplotlib")
    frame, y = table()
    y = np.array(labels)[np.digitize(y, [0.0, 1.0][: len(labels) - 1])]
    model = family(random_state=0, categorical_features=["label"]).fit(frame, y)
    kind = "probability" if family is dforest.RandomForestClassifier else "raw prediction"
    average = model.partial_dependence(frame, "other").average
    for target in labels if len(labels) > 2 else [None, *labels]:
        display = DISPLAY(model, frame, ["other", "label", ("number", "other")], target=target)
        drawn = target if len(labels) > 2 else labels[1]
        assert [axes.get_ylabel() for axes in display.axes_.flat] == [f"Partial dependence\n({kind} of {drawn})", "", "other"]
        line = display.lines_.ravel()[0].get_ydata()
        np.testing.assert_array_equal(line, average[labels.index(drawn) if len(labels) > 2 else 0])
    for target in ("oui", None) if len(labels) > 2 else ("oui", 0):
        allowed = "" if len(labels) > 2 else "None and "
        with pytest.raises(ValueError, match=rf"target={target!r}; allowed are {allowed}the classes \[{labels[0]!r}, "):
            DISPLAY(model, frame, ["other"], target=target)


def test_a_display_of_numbers_has_no_class():
    pytest.importorskip("matplotlib")
    frame, y = table()
    model = dforest.RandomForestRegressor(3, categorical_features=["label"], random_state=0).fit(frame, y)
    assert DISPLAY(model, frame, ["other"]).axes_[0, 0].get_ylabel() == "Partial dependence"
    with pytest.raises(ValueError, match="target=0; allowed for regression is None"):
        DISPLAY(model, frame, ["other"], target=0)


@pytest.mark.parametrize(("family", "target", "place", "what"), [
    (dforest.RandomForestRegressor, 1, 1, "output 1"),
    (dforest.HistGradientBoostingRegressor, 0, 0, "output 0"),
    (dforest.RandomForestClassifier, (0, "c"), (0, 2), "probability of c, output 0"),
    (dforest.RandomForestClassifier, (1, None), (1, 0), "probability of b, output 1"),
])  # fmt: skip
def test_a_display_draws_the_output_that_is_named(family, target, place, what):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    frame, y = table()
    frame, several = frame[["number", "other"]], np.stack([y, y[::-1]], axis=1)
    if family is dforest.RandomForestClassifier:
        several = np.array(["a", "b", "c"])[np.stack([np.digitize(y, [0.0, 1.0]), y[::-1] > 0], axis=1).astype(int)]
    model = family(random_state=0).fit(frame, several)
    display = DISPLAY(model, frame, ["other"], target=target)
    assert display.axes_[0, 0].get_ylabel() == f"Partial dependence\n({what})"
    average = model.partial_dependence(frame, "other").average
    expected = average[place[0]][place[1]] if isinstance(place, tuple) else average[place]
    np.testing.assert_array_equal(display.lines_.ravel()[0].get_ydata(), expected)
    for wrong, message in (
        [(None, "tuples of an output's number and a class"), ((0, "d"), "the classes of output 0 ")]
        if isinstance(target, tuple)
        else [(None, "outputs from 0 to 1"), (2, "outputs from 0 to 1")]
    ):
        with pytest.raises(ValueError, match=f"target=.* allowed .*{message}"):
            DISPLAY(model, frame, ["other"], target=wrong)
    pyplot.close("all")


@pytest.mark.parametrize(("given", "message"), [
    ({"features": "age"}, "features holds 'age'; allowed are numbers from 0 to 2 and names of columns"),
    ({"features": [3]}, "features holds 3; allowed are numbers from 0 to 2"),
    ({"features": []}, "allowed are one or more different features"),
    ({"features": ["label", 1]}, "allowed are one or more different features"),
    ({"features": 0, "grid_resolution": 1}, "grid_resolution"),
    ({"features": 0, "percentiles": (0.9, 0.1)}, "percentiles=.*; allowed are two ascending numbers from 0 to 1"),
    ({"features": 2, "percentiles": (0.5, 0.5000001), "grid_resolution": 300}, None),
    ({"features": 1, "custom_values": {"label": ["fir"]}}, "custom_values of X column 'label' are .* allowed are the labels"),
    ({"features": 0, "custom_values": {0: []}}, "custom_values of X column 'number' have the shape"),
    ({"features": 0, "custom_values": {0: ["x"]}}, "custom_values of X column 'number' are .* allowed are numbers"),
])  # fmt: skip
def test_refused(given, message):
    frame, y = table()
    model = dforest.RandomForestRegressor(2, categorical_features=["label"], random_state=0).fit(frame, y)
    if message is None:
        assert model.partial_dependence(frame, **given).average.shape == (1, 300)
        return
    with pytest.raises(ValueError, match=message):
        model.partial_dependence(frame, **given)
