"""Criterion "hellinger": against the distance in the literature, the twin, and with classes that are rare."""

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.rings import examples
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from twins import naive
from twins.sampling import twin_of

from dforest import DecisionTreeClassifier, ExtraTreesClassifier, RandomForestClassifier
from dforest.criterion import Hellinger
from dforest.testing import check_criterion
from dforest.testing.scores import hellinger_score

WEIGHTS = st.integers(0, 2**40) | st.integers(0, 5)


def squared_distance(left, right):
    """Of the distributions of two classes over two sides, given the classes' weights on each: fractions are exact."""
    first, second = left[0] + right[0], left[1] + right[1]
    total = 0.0
    for p, n in (left, right):
        a, b = Fraction(p, first), Fraction(n, second)
        # (sqrt(a) - sqrt(b))**2 = (a - b)**2 / (sqrt(a) + sqrt(b))**2, without cancellation
        if a != b:
            total += float((a - b) ** 2) / (math.sqrt(a) + math.sqrt(b)) ** 2
    return total


@settings(max_examples=examples(300), deadline=None)
@example((4, 0), (0, 1))
@example((1, 2), (2, 4))
@example((2**40, 1), (2**40 - 1, 1))
@given(st.tuples(WEIGHTS, WEIGHTS), st.tuples(WEIGHTS, WEIGHTS))
def test_scores_are_the_distance(left, right):
    assume(sum(left) and sum(right) and left[0] + right[0] and left[1] + right[1])
    total = [2, sum(left) + sum(right), left[0] + right[0], left[1] + right[1]]
    words = [1, sum(left), *left]
    expected = 0.5 * math.sqrt(float(total[2] * total[3])) * squared_distance(left, right)
    _, score = Hellinger().configure(2).score_cuts(np.array([words]), np.array(total))
    assert score == hellinger_score(words, total)
    assert score == pytest.approx(expected, rel=1e-12, abs=0.0)
    assert (score == 0.0) == (left[0] * right[1] == left[1] * right[0])
    # As the decrease of the impurity sqrt(p * (1 - p)), where that loses no digits.
    decrease = sum(total[2:]) * 0.5 - sum(math.sqrt(p * n) for p, n in (left, right))
    decrease += math.sqrt(total[2] * total[3]) - sum(total[2:]) * 0.5
    assert score == pytest.approx(decrease, rel=1e-6, abs=1e-9 * sum(total[2:]))


def problem(seed, n=300):
    """Two classes, one of them rare; ties, missing values, a categorical column 3, weights."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, 4)), 1)
    X[:, 3] = rng.integers(0, 6, n)
    X[rng.random((n, 4)) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0]) + (X[:, 3] == 2) + rng.standard_normal(n) > 1.5).astype(int)
    return X, y, rng.integers(1, 4, n)


@pytest.mark.parametrize("parameters", [{}, {"max_leaf_nodes": 12}, {"min_samples_leaf": 4, "min_weight_fraction_leaf": 0.02}])
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("method", ["hist", "dense"])
def test_every_node_is_that_of_the_twin(method, splitter, parameters, extremes, tuning, assert_equal, assert_twin):
    X, y, weight = problem(1)
    parameters = {**parameters, "criterion": "hellinger", "method": method, "splitter": splitter, "max_features": 2}
    first = None
    for extreme in extremes:
        for n_jobs in (1, 3):
            with tuning(extreme):
                forest = RandomForestClassifier(3, n_jobs=n_jobs, random_state=0, categorical_features=[3], **parameters)
                forest.fit(X, y, weight)
            first = first or forest
            assert_equal(first, forest, (extreme, n_jobs))
    for t in range(3):
        twin = naive.grow_tree(X, y, n_classes=2, sample_weight=weight, seed=first.forest_.seeds[t],
                               sampling=twin_of(first.forest_.plans[t]), n_categories=[0, 0, 0, 6], **parameters)  # fmt: skip
        assert_twin(first.forest_, t, naive.flatten(twin), t)


@pytest.mark.parametrize("method", ["hist", "dense"])
def test_how_rare_a_class_is_does_not_matter(method):
    """Weights of a class times a power of 4: the same stump, whose score is as many times the root of that."""
    X, y, _ = problem(2)
    seen = set()
    for rarity in (1.0, 4.0, 4.0**5, 4.0**-6):
        tree = DecisionTreeClassifier(criterion="hellinger", method=method, max_depth=1, random_state=0)
        tree.fit(X, y, np.where(y == 1, rarity, 1.0))
        forest = tree.forest_
        decrease = forest.node_table(0).decrease[0] * forest.weight_unit[0] / math.sqrt(rarity)
        seen.add((int(forest.feature[0]), float(forest.threshold[0]), float(decrease)))
    assert len(seen) == 1
    by_gini = {
        float(DecisionTreeClassifier(max_depth=1, random_state=0, method=method)
              .fit(X, y, np.where(y == 1, rarity, 1.0)).forest_.threshold[0])
        for rarity in (1.0, 4.0**5, 4.0**-6)
    }  # fmt: skip
    assert len(by_gini) > 1


def test_what_trees_tell():
    X, y = load_breast_cancer(return_X_y=True)
    tree = DecisionTreeClassifier(criterion="hellinger", max_depth=4, random_state=0).fit(X, y)
    share = tree.tree_.value[:, 0, 1]
    np.testing.assert_allclose(tree.tree_.impurity, np.sqrt(share * (1 - share)), rtol=1e-12)
    assert np.isclose(tree.feature_importances_.sum(), 1.0)
    forest = ExtraTreesClassifier(20, criterion=Hellinger(), bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    assert forest.oob_score_ > 0.94
    same = ExtraTreesClassifier(20, criterion="hellinger", bootstrap=True, random_state=0).fit(X, y)
    assert np.array_equal(forest.predict_proba(X), same.predict_proba(X))


def test_two_classes_only():
    with pytest.raises(ValueError, match='criterion="hellinger" is for two classes; y has 3'):
        RandomForestClassifier(criterion="hellinger").fit([[0], [1], [2]], [0, 1, 2])
    alone = DecisionTreeClassifier(criterion="hellinger").fit([[0], [1]], [3, 3])
    assert alone.predict([[5]]) == 3


def test_it_keeps_the_rules_of_criteria():
    check_criterion(Hellinger, tasks=["two classes"])
