"""Weights of features, features that are always tried, and several random thresholds of a feature."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare
from twins.splits import weighted_feature_order

from dforest import RandomForestClassifier
from dforest.core.search.feature_order import FeatureOrder
from dforest.splitter import PythonSplitter

rng = np.random.default_rng(0)
X = rng.standard_normal((200, 6))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)


def roots(forest):
    return forest.forest_.feature[forest.forest_.node_offsets[:-1]]


@pytest.mark.parametrize("n_features", [1, 2, 5, 64, 100, 5000])
def test_orders_by_weight_are_those_of_the_twin(n_features):
    draws = np.random.default_rng(n_features)
    weights = draws.integers(0, 50, n_features).astype(np.uint64) * draws.integers(0, 2**30, n_features).astype(np.uint64)
    weights[-1] = 7
    first = draws.permutation(n_features)[: n_features // 3].tolist()
    order = FeatureOrder(n_features, weights, first)
    for seed in range(3):
        expected = weighted_feature_order(weights.tolist(), first, seed, 1, len(first) + 50)
        assert order.draw(seed, 1, len(expected)) == expected
    with pytest.raises(ValueError, match="cannot draw"):
        order.draw(0, 1, n_features + 1)


def test_chances_are_in_proportion_to_weights():
    weights = [3.0, 0.0, 1.0, 6.0, 0.0, 2.0]
    forest = RandomForestClassifier(3000, feature_weights=weights, max_features=1, max_depth=1, random_state=0).fit(X, Y)
    counts = np.bincount(roots(forest), minlength=6)
    assert counts[1] == counts[4] == 0
    assert chisquare(counts[[0, 2, 3, 5]], 3000 * np.array([3, 1, 6, 2]) / 12).pvalue > 0.001
    assert not np.isin(forest.forest_.feature, [1, 4]).any()


def test_features_that_are_always_tried():
    """They do not count among max_features: with one more, the better one of the two is taken."""
    frame = pd.DataFrame(X, columns=list("abcdef"))
    noise = np.random.default_rng(1).integers(0, 2, 200)
    forest = RandomForestClassifier(400, always_split_features=["b"], max_features=1, max_depth=1, random_state=0)
    counts = np.bincount(roots(forest.fit(frame, Y)), minlength=6)
    assert counts[[2, 3, 4, 5]].sum() == 0 and 30 < counts[0] < 200 < counts[1]  # a is drawn in a fifth of the trees
    others = np.bincount(roots(forest.fit(frame, noise)), minlength=6)
    assert (others > 20).all()
    for chosen in ([1], [False, True, False, False, False, False]):
        other = RandomForestClassifier(400, always_split_features=chosen, max_features=1, max_depth=1, random_state=0).fit(X, Y)
        assert (roots(other) == roots(forest.fit(frame, Y))).all()


class Searching(PythonSplitter):
    """The cuts of the built-in splitter, found in Python."""

    def best_cut(self, node, feature):
        codes = np.unique(node.codes(feature))
        scores = [node.score_cut(feature, int(code)) for code in codes[:-1]]
        return int(codes[int(np.argmax(scores))])


def test_splitters_in_python_go_by_the_same_order():
    parameters = {"feature_weights": [1, 2, 0, 4, 8, 1], "always_split_features": [5], "max_features": 1, "random_state": 0}
    built_in, own = (RandomForestClassifier(20, splitter=s, max_depth=1, **parameters).fit(X, Y) for s in ("best", Searching))
    assert (roots(built_in) == roots(own)).all() and len(set(roots(own))) > 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"feature_weights": [1.0, 2.0]}, "feature_weights is an array of shape .2,.; allowed are one number for each of the 6"),
        ({"feature_weights": [1, 1, 1, -2.0, 1, 1]}, "feature_weights holds -2 for feature 3; allowed are finite numbers from 0"),
        ({"feature_weights": [1, 1, 1, np.inf, 1, 1]}, "feature_weights holds inf for feature 3"),
        ({"feature_weights": ["much"] * 6}, "feature_weights=.*holds what is no number: .*; allowed are finite numbers"),
        ({"feature_weights": {0: "much"}}, "feature_weights=.*holds what is no number"),
        ({"feature_weights": np.zeros(6)}, "feature_weights is 0 for all features"),
        ({"feature_weights": {9: 1.0}}, "feature_weights holds 9; the 6 features"),
        ({"feature_weights": {"a": 1.0}}, "feature_weights names 'a', but X has no column names"),
        ({"always_split_features": [0, 0]}, "always_split_features lists 0 more than once"),
        ({"n_random_splits": 2}, "n_random_splits=2 needs a splitter that draws thresholds"),
        ({"n_random_splits": 0}, "The 'n_random_splits' parameter"),
    ],
)
def test_what_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        RandomForestClassifier(2, **parameters).fit(X, Y)


def test_weights_of_any_magnitude():
    """All that counts is their ratio; a weight that is small beyond measure is still a chance."""
    first, *others = (
        RandomForestClassifier(20, feature_weights=np.array([1, 2, 3, 4, 5, 6]) * factor, random_state=0).fit(X, Y)
        for factor in (1.0, 2.0**-1060, 2.0**1000)
    )
    for other in others:
        assert (other.forest_.feature == first.forest_.feature).all()
    weights = [1e-300, 1.0, 0, 0, 0, 0]
    tree = RandomForestClassifier(1, feature_weights=weights, bootstrap=False, max_features=1, random_state=0)
    assert tree.fit(np.c_[X[:, :1], np.zeros((200, 5))], Y).forest_.feature[0] == 0
