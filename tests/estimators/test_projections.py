"""Projections of one's own: what matrices are taken, what is kept of them, and patches of images and series."""

import pickle

import numpy as np
import pandas as pd
import pytest
from helpers.device_forests import assert_same
from scipy import sparse
from sklearn.base import clone

from dforest import DecisionTreeRegressor, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor, load
from dforest.core.search.projections import Projections
from dforest.splitter import ObliqueSplitter, patch_projections

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 5)).astype(np.float32)
y = X[:, 0] - 2 * X[:, 3] + 0.1 * RNG.standard_normal(300)
MATRIX = np.array([[1.0, 0, 0, -2.0, 0], [0, 1, 1, 0, 0], [0.5, 0, 0.25, 0, -1], [0, 3, 0, 1, 0]])


def terms(forest):
    """The columns and weights of all sums in a forest: set of tuples."""
    found = set()
    for node in np.flatnonzero(forest.feature >= 0):
        numbers = forest.payload_of(node).view(float)[2:].reshape(-1, 3)
        if len(numbers) > 1:
            found.add(tuple(map(tuple, numbers[:, :2].tolist())))
    return found


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_sums_are_those_of_the_matrix(kind):
    forest = kind(10, split_axis="oblique", projections=MATRIX, random_state=0).fit(X, y)
    given = {tuple((float(j), row[j]) for j in np.flatnonzero(row)) for row in MATRIX}
    assert terms(forest.forest_) == given
    assert forest.forest_.payload_of(0).view(float)[2::3].tolist() == [0.0, 3.0]  # the sum that counts


def test_how_many_rows_are_tried():
    """All rows where there are not so many; of two, each is tried in about half of the nodes."""
    one, all_ = (
        RandomForestRegressor(20, split_axis="oblique", projections=MATRIX[[0, 0, 0, 1]], n_projections=n, random_state=0).fit(
            X, y
        )
        for n in (1, 10**6)
    )
    at_root = [forest.forest_.payload_of(first).view(float)[2::3].tolist() for forest in (one, all_) for first in
               forest.forest_.node_offsets[:-1]]  # fmt: skip
    assert at_root[20:] == [[0.0, 3.0]] * 20
    assert 8 < at_root[:20].count([0.0, 3.0]) < 20


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.coo_matrix, sparse.csc_matrix, np.ndarray.tolist, np.float32])
def test_kinds_of_matrices(make):
    ours, theirs = (
        RandomForestRegressor(3, split_axis="oblique", projections=given, random_state=0).fit(X, y)
        for given in (MATRIX, make(MATRIX))
    )
    assert_same(ours, theirs)


def test_threads_and_orders_of_columns():
    given = [{"n_jobs": 1}, {"n_jobs": 3}]
    one, three = (
        RandomForestRegressor(8, split_axis="oblique", projections=MATRIX, n_projections=2, random_state=3, **own).fit(X, y)
        for own in given
    )
    assert_same(one, three)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_matrix, pd.DataFrame])
def test_models_keep_them(tmp_path, make):
    model = RandomForestRegressor(4, split_axis="oblique", projections=make(MATRIX), random_state=0).fit(X, y)
    model.save(tmp_path / "model.dforest")
    for again in (load(tmp_path / "model.dforest"), pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        assert_same(model, again)
        assert again.forest_.splitter == model.forest_.splitter
        kept = again.projections
        assert np.array_equal(kept.toarray() if sparse.issparse(kept) else kept, MATRIX)
        assert_same(clone(again).fit(X, y), model)
    assert model.forest_.splitter != ObliqueSplitter(projections=2 * MATRIX)


def test_missing_values_count_as_the_mean():
    rows = X.copy()
    rows[RNG.random(rows.shape) < 0.2] = np.nan
    tree = DecisionTreeRegressor(split_axis="oblique", projections=MATRIX, max_depth=1, random_state=0).fit(rows, y)
    numbers = tree.forest_.payload_of(0).view(float)[2:].reshape(-1, 3)
    assert len(numbers) > 1
    assert numbers[:, 2] == pytest.approx(np.nanmean(rows[:, numbers[:, 0].astype(int)], axis=0), abs=1e-3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"projections": np.ones(5)}, "projections"),
        ({"projections": np.ones((2, 4))}, "projections has 4 columns, and X has 5 features"),
        ({"projections": [[1.0, np.nan, 0, 0, 0]]}, "infinities or NaN"),
        ({"projections": [[1.0, 1, 0, 0, 0], [0, 0, 2, 0, 0]]}, "row 1 of projections has 1 numbers other than 0"),
        ({"projections": np.zeros((0, 5))}, "a row for each"),
        ({"projections": [["a", "b", "c", "d", "e"]]}, "no matrix of numbers"),
        ({"projections": MATRIX, "split_axis": "axis_aligned"}, 'allowed is split_axis="oblique"'),
        ({"projections": MATRIX, "projection_weights": "integer"}, "projection_weights='integer' with projections of your own"),
        ({"projections": MATRIX, "projection_scaling": None}, "allowed is the default, 'min_max'"),
        ({"projections": MATRIX, "projection_density": 3.0}, "projection_density=3.0 with projections"),
        ({"projections": MATRIX, "categorical_features": [3]}, "weights of feature 3, which is categorical"),
    ],
)
def test_what_is_refused(given, message):
    rows = np.abs(np.round(X)) if "categorical_features" in given else X
    with pytest.raises(ValueError, match=message):
        RandomForestRegressor(2, **{"split_axis": "oblique"} | given).fit(rows, y)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("columns", np.array([0, 5, 1, 2, 0, 2, 4, 1, 3], np.int32)),
        ("columns", np.array([3, 0, 1, 2, 0, 2, 4, 1, 3], np.int32)),
        ("starts", np.array([0, 1, 4, 7, 9])),
        ("starts", np.array([0, 2, 4, 7, 12])),
        ("values", np.array([1.0, -2.0, np.inf, 1, 0.5, 0.25, -1, 3, 1])),
    ],
)
def test_matrices_of_files_that_were_tampered_with(name, value):
    right = Projections.read(MATRIX)
    parts = {part: getattr(right, part) for part in ("values", "columns", "starts", "n_features")}
    Projections(**parts)
    with pytest.raises(ValueError, match="columns out of order"):
        Projections(**parts | {name: value})


def test_patches_are_boxes():
    shape, least, greatest = (6, 9, 3), (2, 1, 3), (4, 5, 3)
    patches = patch_projections(shape, 300, min_size=least, max_size=greatest, random_state=0)
    assert set(patches.data.tolist()) == {-1.0, 1.0}
    seen, sizes = np.zeros(shape, int), set()
    for row in patches.toarray().reshape(-1, *shape):
        places = np.nonzero(row)
        size = tuple(int(at.max() - at.min() + 1) for at in places)
        assert len(places[0]) == np.prod(size)  # no holes
        assert all(low <= length <= high for low, length, high in zip(least, size, greatest, strict=True))
        sizes.add(size)
        seen += row != 0
    assert len(sizes) == 15 and (seen > 0).all()
    assert np.array_equal(
        patches.toarray(), patch_projections(shape, 300, min_size=least, max_size=greatest, random_state=0).toarray()
    )


@pytest.mark.parametrize("weights", ["binary", "continuous", "ones"])
def test_weights_of_patches(weights):
    windows = patch_projections(20, 200, weights=weights, random_state=1)
    assert windows.shape == (200, 20) and (windows.data != 0).all() and (abs(windows.data) <= 1).all()
    assert (np.diff(windows.indptr) >= 2).all() and (np.diff(windows.indptr) <= 10).all()
    assert len(set(windows.data.tolist())) == {"binary": 2, "ones": 1}.get(weights, len(windows.data))
    Projections.read(windows)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"shape": (8, 0)}, "shape="),
        ({"n_projections": 0}, "n_projections=0"),
        ({"min_size": 9}, "min_size=9"),
        ({"max_size": (2, 2, 2)}, "max_size="),
        ({"min_size": 4, "max_size": 3}, "is above max_size=3"),
        ({"min_size": 1}, "patches of a single value"),
        ({"weights": "normal"}, "weights='normal'"),
    ],
)
def test_patches_that_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        patch_projections(**{"shape": (8, 8), "n_projections": 3} | given)


def test_matrices_stay_as_they_are():
    given = sparse.csr_array(([1.0, 0.0, 2.0, 1.0], [3, 2, 0, 0], [0, 4]), shape=(1, 5))
    assert Projections.read(given).values.tolist() == [3.0, 1.0]
    assert given.data.tolist() == [1.0, 0.0, 2.0, 1.0] and given.indices.tolist() == [3, 2, 0, 0]


def test_constant_pixels_are_added_up_too():
    """A column that does not vary in a node stays in its sums, whose missing values count as it."""
    rows = np.column_stack([X[:, 0], np.full(300, 7.0), X[:, 3]])
    model = RandomForestClassifier(
        1, bootstrap=False, split_axis="oblique", projections=[[1.0, 1.0, -2.0]], max_depth=1, random_state=0
    )
    root = model.fit(rows, y > 0).forest_.payload_of(0).view(float)[2:].reshape(-1, 3)
    assert root[:, 0].tolist() == [0.0, 1.0, 2.0] and root[1, 2] == 7.0
