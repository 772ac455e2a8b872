"""The map of rows, against slow twins."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from dforest import ExtraTreesRegressor, RandomForestClassifier
from dforest.inspection.report.proximity import classical_scaling, proximity_of, region_of, regions_of

IRIS = load_iris(return_X_y=True)


def naive_region(tree, draws, least, node):
    """Climb until there are so many draws, or there is nothing above."""
    parent = {}
    for i in np.flatnonzero(tree.feature >= 0).tolist():
        parent[i + 1] = parent[int(tree.right_child[i])] = i
    while draws[node] < least and node:
        node = parent[node]
    return node


@pytest.mark.parametrize("least", [0, 1, 4.5, 30, 150, 1000])
@pytest.mark.parametrize("model", [RandomForestClassifier(3, random_state=0), ExtraTreesRegressor(2, random_state=0)])
def test_regions(model, least):
    X, y = IRIS if isinstance(model, RandomForestClassifier) else load_diabetes(return_X_y=True)
    forest = model.fit(X, y).forest_
    for t in range(forest.n_trees):
        tree, draws = forest.tree(t), forest.node_table(t).draws
        found = region_of(tree, least)
        expected = [naive_region(tree, draws, least, node) for node in range(len(tree.feature))]
        assert found.tolist() == expected


def test_regions_of_rows():
    model = RandomForestClassifier(4, random_state=0).fit(*IRIS)
    leaves = model.apply(IRIS[0])
    regions = regions_of(model.forest_, leaves)
    for t in range(4):
        draws = model.forest_.node_table(t).draws
        assert (draws[regions[:, t]] >= 150 / 20).all()
        assert (regions[:, t] <= leaves[:, t]).all()


def test_proximity():
    leaves = np.random.RandomState(0).randint(3, size=(20, 7))
    expected = [[np.mean([a == b for a, b in zip(row, other, strict=True)]) for other in leaves] for row in leaves]
    assert np.array_equal(proximity_of(leaves), expected)


def test_scaling_finds_points_of_a_plane_again():
    points = np.random.RandomState(0).normal(size=(30, 2)) * [3, 1]
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    found, shares = classical_scaling(squares)
    np.testing.assert_allclose(((found[:, None] - found) ** 2).sum(axis=2), squares, atol=1e-9)
    assert shares[0] > shares[1] and shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_rows_that_are_all_alike_have_one_point(n):
    points, shares = classical_scaling(np.zeros((n, n)))
    assert points.tolist() == [[0, 0]] * n and shares.tolist() == [0, 0]
