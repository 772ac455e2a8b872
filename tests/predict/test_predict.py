"""Prediction: packed forests against a slow walk over the forest's arrays; one row; threads; pickles."""

import importlib
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers.walker import Walker
from scipy.sparse import csr_matrix

from dforest import (
    DecisionTreeClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.core import loops
from dforest.core.forest.state import expand, right_children, shrink
from dforest.core.predict.packed import PackedForest
from dforest.core.predict.packed_check import check_equal

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
SIZES = pytest.mark.parametrize("is_wide", [False, True])
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0]


def problem(dtype, n=400, n_categories=0, seed=0):
    """Rows with missing values, infinities, zeros of both signs; the last column may hold categories."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5)).astype(dtype)
    X[:, 1] = np.round(X[:, 1])
    for value in SPECIAL:
        X[rng.random(X.shape) < 0.03, ...] = value
    if n_categories:
        X[:, 4] = rng.integers(0, n_categories, n)
        X[rng.random(n) < 0.1, 4] = np.nan
    y = np.where(np.isfinite(X[:, 0]), X[:, 0], 1) + np.nan_to_num(X[:, 4], posinf=0, neginf=0) % 3 + rng.standard_normal(n)
    return X, y


def grown(dtype, n_classes=0, n_categories=0, n_trees=7, **parameters):
    X, y = problem(dtype, n_categories=n_categories)
    parameters = {"random_state": 0, "categorical_features": [4] if n_categories else None, **parameters}
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1]))
        return RandomForestClassifier(n_trees, **parameters).fit(X, y)
    return RandomForestRegressor(n_trees, **parameters).fit(X, y)


def slow_apply(forest, X):
    walker = Walker(forest)
    return np.array([[walker.path(t, x)[-1] for t in range(forest.n_trees)] for x in X.astype(np.float64).tolist()])


def slow_mean(forest, X, votes):
    """Sums in the order of the trees."""
    total = np.zeros((len(X), votes.shape[1]))
    nodes = slow_apply(forest, X)
    for t in range(forest.n_trees):
        total += votes[forest.leaf_row[forest.node_offsets[t] + nodes[:, t]]]
    return total / forest.n_trees


def packings(forest, voting="soft"):
    """The packed forest in all its forms."""
    votes = forest.leaf_votes(voting)
    for is_wide in (False, True):
        yield PackedForest(forest, votes, np.arange(len(votes), dtype=np.uint32), is_wide)
        yield PackedForest(forest, votes, None, is_wide)
    yield forest.packed(voting)
    yield forest.packed_leaves(voting)


# Against the slow walk


@DTYPES
@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("n_categories", [0, 7, 200])
@pytest.mark.parametrize("max_depth", [1, 6, None])
def test_slow_walk(dtype, n_classes, n_categories, max_depth):
    forest = grown(dtype, n_classes, n_categories, max_depth=max_depth).forest_
    for other in (np.float32, np.float64):
        X = problem(other, n=67, n_categories=n_categories and n_categories + 70, seed=1)[0]
        nodes, mean = slow_apply(forest, X), slow_mean(forest, X, forest.leaf_votes())
        for packed in packings(forest):
            np.testing.assert_array_equal(packed.apply(X, 1), nodes)
            assert packed.mean(X, 1).tobytes() == mean.tobytes()
            np.testing.assert_array_equal(packed.most(X, 1), mean.argmax(axis=1))


@DTYPES
@SIZES
def test_paths(dtype, is_wide):
    forest = grown(dtype, n_categories=9).forest_
    X = problem(dtype, n=20, n_categories=9, seed=1)[0]
    packed = PackedForest(forest, forest.leaf_votes(), None, is_wide)
    indices, indptr = packed.paths(packed.apply(X, 1))
    walker = Walker(forest)
    for i, x in enumerate(X.astype(np.float64).tolist()):
        expected = [forest.node_offsets[t] + node for t in range(forest.n_trees) for node in walker.path(t, x)]
        assert indices[indptr[i] : indptr[i + 1]].tolist() == expected


@pytest.mark.parametrize("n", [1, 2, 7, 15, 16, 17, 31, 33, 127, 128, 129, 255, 1000, 4095, 4097, 12345])
@pytest.mark.parametrize("n_classes", [0, 2])
def test_blocks_and_threads(n, n_classes):
    model = grown(np.float32, n_classes, n_trees=20)
    X = problem(np.float32, n=n, seed=2)[0]
    packed = model.forest_.packed()
    # Row by row, so that no two share anything.
    mean = np.vstack([packed.mean(X[i : i + 1], 1) for i in range(n)])
    for n_threads in (1, 2, 3, 8):
        assert packed.mean(X, n_threads).tobytes() == mean.tobytes()
        np.testing.assert_array_equal(packed.most(X, n_threads), mean.argmax(axis=1))
        np.testing.assert_array_equal(packed.apply(X, n_threads), packed.apply(X, 1))


def test_a_tree_without_splits():
    model = RandomForestRegressor(3, random_state=0).fit(np.zeros((5, 2)), [3.0] * 5)
    assert model.predict([[0.0, np.nan], [9.0, 1.0]]).tolist() == [3, 3]
    assert model.apply([[np.nan, 1.0]]).tolist() == [[0, 0, 0]]


def test_a_deep_tree():
    x = np.arange(3000.0)[:, None]
    y = 0.5 ** np.arange(3000.0).clip(0, 900)  # each split cuts off a row or few
    tree = DecisionTreeClassifier(method="dense").fit(x, np.arange(3000) % 7)
    np.testing.assert_array_equal(tree.predict(x), np.arange(3000) % 7)
    chain = ExtraTreesRegressor(1, bootstrap=False, random_state=0).fit(x, y)
    forest = chain.forest_
    np.testing.assert_array_equal(forest.packed().apply(x[:200], 1), slow_apply(forest, x[:200]))


# The form of the slots


def test_size_of_slots():
    assert grown(np.float32).forest_.packed().slot_size == 8
    assert grown(np.float64).forest_.packed().slot_size == 16  # midpoints of two float64
    X, y = problem(np.float32)
    forest = RandomForestRegressor(3, random_state=0).fit(np.round(X.astype(np.float64)), y).forest_
    assert forest.threshold.dtype == np.float64 and forest.packed().slot_size == 8  # halves are float32 numbers too


@pytest.mark.parametrize("n_features, size", [(5, 8), (1 << 17, 8), (1 << 25, 16)])
def test_features_and_slots_share_a_word(n_features, size):
    assert packed_of_many(n_features).slot_size == size


def test_too_many_features():
    with pytest.raises(ValueError, match="1073741824 features"):
        packed_of_many(1 << 30)


def packed_of_many(n_features):
    """A forest packed as if it had been grown on so many features."""
    forest = grown(np.float32).forest_
    known = {**vars(forest), "right_child": forest.right_child, "n_trees": forest.n_trees, "n_features": n_features}
    as_if = SimpleNamespace(**known)
    return PackedForest(as_if, forest.leaf_votes(), None)


def test_slots():
    forest = grown(np.float32, max_depth=None).forest_
    numbers = forest.packed().node_numbers()
    for t in range(forest.n_trees):
        nodes = slice(forest.node_offsets[t], forest.node_offsets[t + 1])
        feature, right = forest.feature[nodes], forest.right_child[nodes]
        own = np.zeros(len(feature), np.int64)
        own[numbers[nodes.start + t + 1 : nodes.stop + t + 1]] = np.arange(1, len(own) + 1)
        assert sorted(own) == list(range(1, len(own) + 1))
        inner = np.flatnonzero(feature >= 0)
        assert own[0] == 1 and (own[inner + 1] % 2 == 0).all()
        np.testing.assert_array_equal(own[right[inner]], own[inner + 1] + 1)
        assert (own[inner + 1] > own[inner]).all()


# One row through the estimator


def outcome(function, X):
    """What a call returns, or raises."""
    try:
        result = function(X)
        return (result if isinstance(result, np.ndarray) else result[0].toarray()).tolist()
    except Exception as error:  # noqa: BLE001
        return type(error).__name__, str(error)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("n_classes", [0, 3])
def test_the_short_way_is_the_long_way(n_classes, monkeypatch):
    model = grown(np.float64, n_classes)
    X = problem(np.float64, n=3, seed=4)[0]
    cases = [
        X, X[:1], X[:0], X[0], X[:, :4], np.hstack([X, X]), X.astype(np.float32), X.astype(">f8"), X.astype(np.float16),
        np.asfortranarray(X), X[:, ::-1], X[::2], X.tolist(), pd.DataFrame(X), X[None], np.ma.masked_array(X), X + 0j,
        X.astype(object), X.astype(str), np.matrix(X), X[:1].copy().view(np.recarray), None, 3.0,
    ]  # fmt: skip
    functions = [model.predict, model.apply, model.predict_proba if n_classes else model.decision_path]
    short = [outcome(f, case) for f in functions for case in cases]
    monkeypatch.setattr(type(model), "_is_plain", lambda self, X: False)
    assert [outcome(f, case) for f in functions for case in cases] == short


@pytest.mark.parametrize("n_classes", [0, 3])
def test_the_short_way_makes_no_checks(n_classes, monkeypatch):
    """scikit-learn's take several times as long as a single row."""
    model, row = grown(np.float64, n_classes), problem(np.float64, n=1, seed=4)[0]
    for part in ["forest.base", "prediction"]:
        known = vars(importlib.import_module(f"dforest.estimators.{part}"))
        for check in {"check_is_fitted", "read_table", "checked_rows"} & known.keys():
            monkeypatch.setattr(f"dforest.estimators.{part}.{check}", None)
    for function in [model.predict, model.apply, *([model.predict_proba] if n_classes else [])]:
        assert len(function(row)) == 1


def test_names_are_still_compared():
    X, y = problem(np.float64)
    model = RandomForestRegressor(3, random_state=0).fit(pd.DataFrame(X, columns=list("abcde")), y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X[:1])


@pytest.mark.parametrize("n_jobs", [0, "two"])
def test_bad_numbers_of_jobs_are_still_refused(n_jobs):
    model = grown(np.float64).set_params(n_jobs=n_jobs)
    with pytest.raises((ValueError, TypeError)):
        model.predict(np.zeros((1, 5)))


def test_read_only_rows():
    model = grown(np.float64)
    X = problem(np.float64, n=3, seed=4)[0]
    expected = model.predict(X)
    X.setflags(write=False)
    np.testing.assert_array_equal(model.predict(X), expected)


# A predictor


@DTYPES
@pytest.mark.parametrize("n_classes", [0, 2, 4])
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_predictor(dtype, n_classes, voting):
    model = grown(dtype, n_classes, **({"voting": voting} if n_classes else {}))
    X = problem(dtype, n=50, seed=5)[0]
    predictor = model.forest_.predictor(voting)
    assert (predictor.n_features, predictor.n_outputs) == (5, max(n_classes, 1))
    expected = model.predict_proba(X) if n_classes else model.predict(X)
    assert predictor.predict(X).tobytes() == expected.tobytes() and predictor.predict(X).shape == expected.shape
    assert predictor.predict(X[:0]).shape == expected[:0].shape
    for x, one in zip(X, expected, strict=True):
        assert np.array_equal(predictor.predict(x), one)
        assert isinstance(predictor.predict(x), np.ndarray if n_classes else float)
    if n_classes:
        np.testing.assert_array_equal(predictor.predict_class(X), expected.argmax(axis=1))
        assert [predictor.predict_class(x) for x in X] == expected.argmax(axis=1).tolist()
    else:
        with pytest.raises(ValueError, match="no classes"):
            predictor.predict_class(X)


def test_predictor_in_many_threads():
    model = grown(np.float32, 3, n_trees=30)
    predictor = model.predictor()
    X = problem(np.float32, n=400, seed=6)[0]
    expected = model.predict_proba(X)
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(predictor.predict, list(X) * 3))
        blocks = list(pool.map(predictor.predict, [X] * 24))
    np.testing.assert_array_equal(rows, np.vstack([expected] * 3))
    assert all(np.array_equal(block, expected) for block in blocks)


def test_predictor_refuses():
    predictor = grown(np.float64).predictor()
    with pytest.raises(ValueError, match="X has 4 features, but the forest was grown on 5"):
        predictor.predict(np.zeros((2, 4)))
    for X in (np.zeros((1, 2, 5)), np.zeros((2, 5), int), np.zeros(())):
        with pytest.raises(ValueError, match="float32 or float64"):
            predictor.predict(X)
    for X in (np.zeros((5, 2)).T, np.zeros((2, 10))[:, ::2]):
        with pytest.raises((ValueError, BufferError), match="contiguous"):
            predictor.predict(X)
    with pytest.raises(TypeError):
        predictor.predict([[0.0] * 5])
    with pytest.raises(ValueError, match="voting"):
        grown(np.float64, 2).forest_.predictor("loud")
    with pytest.raises(ValueError, match="n_threads=0"):
        grown(np.float64, 2).forest_.predictor(n_threads=0)
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(predictor)


# Pickles

GROWN = {
    "float32": dict(dtype=np.float32),
    "float64": dict(dtype=np.float64, method="dense"),
    "two classes": dict(dtype=np.float64, n_classes=2),
    "classes and categories": dict(dtype=np.float32, n_classes=5, n_categories=200),
    "balanced": dict(dtype=np.float64, n_classes=3, class_weight="balanced_subsample"),
    "absolute error": dict(dtype=np.float64, criterion="absolute_error", method="dense", max_depth=4),
    "poor leaves": dict(dtype=np.float64, max_depth=3, n_categories=7),
    "stump": dict(dtype=np.float64, max_depth=1, n_trees=1),
}


@pytest.mark.parametrize("case", GROWN)
def test_pickles(case):
    model = grown(**GROWN[case])
    X = problem(np.float64, n=30, n_categories=GROWN[case].get("n_categories", 0), seed=7)[0]
    expected = model.predict(X)
    trees = [pickle.loads(pickle.dumps(tree)) for tree in model.estimators_]  # with their own leaves
    forests = [model.forest_, *(tree.forest_ for tree in trees), pickle.loads(pickle.dumps(model)).forest_]
    for forest in forests:
        again = pickle.loads(pickle.dumps(forest))
        for name, array in forest.as_dict().items():
            other = again.as_dict()[name]
            assert (other.dtype, other.shape, other.tobytes()) == (array.dtype, array.shape, array.tobytes()), name
            assert other.flags.c_contiguous and not other.flags.writeable
        for name in ("n_features", "objective", "criterion", "seed"):
            assert getattr(again, name) == getattr(forest, name)
        assert again.plans == forest.plans
        for name in ("n_rows", "n_draws", "weight_unit", "n_categories"):
            np.testing.assert_array_equal(getattr(again, name), getattr(forest, name))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)


@pytest.mark.parametrize("n_classes", [0, 2, 7])
def test_size_of_pickles(n_classes):
    from sklearn.ensemble import RandomForestClassifier as Classifier
    from sklearn.ensemble import RandomForestRegressor as Regressor

    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 10)).astype(np.float32)
    y = rng.integers(0, n_classes, 3000) if n_classes else rng.standard_normal(3000)
    ours = (RandomForestClassifier if n_classes else RandomForestRegressor)(10, random_state=0).fit(X, y)
    others = (Classifier if n_classes else Regressor)(10, random_state=0).fit(X, y)
    assert 8 * len(pickle.dumps(ours)) < len(pickle.dumps(others))


def test_pickles_hold_numbers_only():
    for value in grown(np.float32, 3, 9).forest_.__getstate__()["arrays"].values():
        assert isinstance(value, np.ndarray) and value.dtype.kind in "uif"


def test_damaged_arrays():
    small = shrink(grown(np.float32).forest_.as_dict())
    leaf = np.unpackbits(small["leaf"])
    for place in (0, 1, 20, len(leaf) // 2):
        other = leaf.copy()
        other[place] ^= 1
        with pytest.raises(ValueError):
            expand({**small, "leaf": np.packbits(other)})
    with pytest.raises(ValueError, match="a leaf has row"):
        expand({**small, "leaf_weight": small["leaf_weight"][:3]})
    for feature, offsets in (([0, -1], [0, 2]), ([-1, -1, -1], [0, 3]), ([0, -1, -1], [0, 4]), ([-1], [0, 0])):
        with pytest.raises(ValueError, match="tree 0"):
            right_children(np.array(feature, np.int32), np.array(offsets))


def numbers_near(thresholds, dtype, rng, n):
    """Values without missing ones: thresholds and their neighbours, and numbers that one float32 or another does not have."""

    def with_neighbours(values):
        return np.concatenate([values, *(np.nextafter(values, values.dtype.type(end)) for end in (np.inf, -np.inf))])

    largest, least = np.finfo(np.float32).max, np.finfo(np.float32).smallest_subnormal
    values = np.concatenate([with_neighbours(thresholds), [0, np.inf, largest, least, 1]]).astype(dtype)
    if dtype == np.float64:
        values = np.append(with_neighbours(values), [1e300, 1e-300])
    values = np.append(values, -values)
    return rng.choice(values, (n, 3))


@DTYPES
@pytest.mark.parametrize("n", [40, 64, 333, 5000])
@pytest.mark.parametrize("max_depth", [1, 4, None])
def test_many_rows_of_numbers_go_down_small_trees(dtype, n, max_depth):
    """They lie in tiles then, and trees of at most four slots a row have keys for thresholds: as row by row, to the bit."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((60, 3)).astype(np.float32)
    X[:20] = X[20:40].round()  # thresholds of 0 and 0.5, too
    model = RandomForestRegressor(20, method="dense", max_depth=max_depth, random_state=0).fit(X, X[:, 0] + X[:, 1] * X[:, 2])
    forest, packed = model.forest_, model.forest_.packed()
    assert packed.slot_size == 8 and np.diff(forest.node_offsets).max() < 4 * n
    X = numbers_near(np.unique(forest.threshold[forest.feature >= 0]).astype(np.float32), dtype, rng, n)
    expected = np.concatenate([packed.mean(X[i : i + 1], 1) for i in range(n)])
    assert packed.mean(X, 1).tobytes() == packed.mean(X, 3).tobytes() == expected.tobytes()
    np.testing.assert_array_equal(expected[:50], slow_mean(forest, X[:50], forest.leaf_value[:, None]))
    X[n // 2, 1] = np.nan  # its block is walked otherwise
    rest = np.arange(n) != n // 2
    assert packed.mean(X, 1)[rest].tobytes() == expected[rest].tobytes()


@DTYPES
@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize("n_leaves", [2, 31, 32, 33, 64, 65])
def test_many_rows_go_down_trees_of_few_leaves(dtype, has_missing, n_leaves):
    """By bitmasks of up to 32 leaves, or 64 where slots are wide; missing values go to either side, and beyond all numbers."""
    rng = np.random.default_rng(n_leaves)
    X = rng.standard_normal((600, 4)).astype(dtype)
    y = X[:, 0] + X[:, 1] * X[:, 2]
    if has_missing:
        X[rng.random(X.shape) < 0.2] = np.nan
        y += 3.0 * np.isnan(X[:, 3]) - 3.0 * np.isnan(X[:, 0])
    model = RandomForestRegressor(12, method="dense", max_leaf_nodes=n_leaves, random_state=0).fit(X, y)
    packed = model.forest_.packed()
    assert np.diff(model.forest_.node_offsets).max() == 2 * n_leaves - 1
    assert packed.slot_size == 16 if dtype == np.float64 else packed.slot_size == 8
    thresholds = model.forest_.threshold[model.forest_.feature >= 0]
    X[:50] = rng.choice(np.concatenate([thresholds, np.nextafter(thresholds, np.inf).astype(dtype), [np.inf, -np.inf]]), (50, 4))
    expected = np.concatenate([packed.mean(X[i : i + 1], 1) for i in range(len(X))])
    for name in loops.names():
        loops.use(name)
        try:
            for n in (600, 497, 40):
                assert packed.mean(X[:n], 1).tobytes() == expected[:n].tobytes(), (name, n)
        finally:
            loops.use()


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(12, method="dense", max_leaf_nodes=31, random_state=0),
        HistGradientBoostingClassifier(max_iter=130, max_leaf_nodes=31, min_samples_leaf=3, random_state=0),
    ],
    ids=["all trees add to all classes", "trees take turns at classes"],
)
def test_many_rows_of_classes_go_down_trees_of_few_leaves(model):
    """By more tests than there are in a cache at a time, in the boosted model; as rows one by one do."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 4)).astype(np.float32)
    packed = model.fit(X, np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.7, 0.7])).forest_.packed()
    assert len(model.forest_.feature) > 2 << 13 or packed.n_trees == 12
    expected = np.concatenate([packed.mean(X[i : i + 1], 1) for i in range(len(X))])
    some = np.zeros_like(expected)
    for name in loops.names():
        loops.use(name)
        try:
            assert packed.mean(X, 1).tobytes() == expected.tobytes(), name
            assert np.array_equal(packed.most(X, 1), expected.argmax(axis=1)), name
            some[:] = 0
            for first, n_trees in [(0, 5), (5, packed.n_trees - 5)]:
                packed.add_up(X, some, first, n_trees, 2)
        finally:
            loops.use()
        if packed.baselines is not None:
            assert (some + packed.baselines).tobytes() == expected.tobytes(), name
        else:
            assert (some / packed.n_trees).tobytes() == expected.tobytes(), name


def test_many_rows_go_down_boosted_trees_of_categories():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 5, 900), rng.standard_normal((900, 2))])
    X[rng.random(X.shape) < 0.1] = np.nan
    model = HistGradientBoostingRegressor(max_iter=20, max_leaf_nodes=3, categorical_features=[0])
    model.fit(X, np.nan_to_num(X[:, 1]) + np.isin(X[:, 0], [1, 3]))
    with_sets = [np.isnan(model.forest_.tree(t).threshold).any() for t in range(20)]
    assert any(with_sets) and not all(with_sets)
    assert np.array_equal(model.predict(X), np.concatenate([model.predict(X[i : i + 1]) for i in range(len(X))]))


@pytest.mark.parametrize("n", [700, 2000])
def test_many_rows_of_numbers_go_down_trees_that_differ(n):
    """A long chain, whose leaves are at all depths, among trees of which some have too many slots for so many rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 2)).astype(np.float32)
    y = np.where(rng.random(6000) < 0.5, 2.0 ** (X[:, 0] * 9), X[:, 1])
    model = RandomForestRegressor(6, random_state=0, max_features=1.0).fit(X, y)
    model.set_params(warm_start=True, n_estimators=24, max_samples=60).fit(X, y)
    slots = np.diff(model.forest_.node_offsets) + 1
    assert slots.max() > 4 * 700 and slots.mean() < 4 * 700  # those of 2000 rows are all small
    X = rng.standard_normal((n, 2)).astype(np.float32)
    packed = model.forest_.packed()
    assert packed.mean(X, 1).tobytes() == np.concatenate([packed.mean(X[i : i + 1], 1) for i in range(n)]).tobytes()


@pytest.mark.parametrize("case", [(np.float32, 2, 0), (np.float64, 0, 0), (np.float32, 3, 9)])
def test_threads_share_packing(case, monkeypatch):
    """As one thread packs, to the bit; a forest is packed or it is not."""
    dtype, n_classes, n_categories = case
    X, y = problem(dtype, n=4000, n_categories=n_categories)
    y = np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1])) if n_classes else y
    kind = RandomForestClassifier if n_classes else RandomForestRegressor
    model = kind(30, n_jobs=3, random_state=0, categorical_features=[4] if n_categories else None).fit(X, y)
    forest, packing = model.forest_, importlib.import_module("dforest.core.predict.packing")
    assert len(forest.feature) > 2 << 14  # worth two more threads
    with monkeypatch.context() as patch:
        patch.setattr(packing, "bounds_of_means", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            model.predict(X)
    assert not forest.is_packed()
    expected = pickle.loads(pickle.dumps(model)).set_params(n_jobs=1)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert forest.is_packed()
    check_equal(forest.packed().arrays(), expected.forest_.packed().arrays())
    np.testing.assert_array_equal(forest.packed().node_numbers(3), expected.forest_.packed().node_numbers())


def test_what_is_made_at_the_first_prediction_is_made_by_one_thread():
    """Zero paths and the numbers of nodes, which a forest keeps: by threads that ask at the same moment."""
    rng = np.random.default_rng(0)
    X = csr_matrix(rng.random((300, 40)) * (rng.random((300, 40)) < 0.05))
    stored = pickle.dumps(RandomForestClassifier(20, random_state=0).fit(X, rng.integers(0, 2, 300)))
    model = pickle.loads(stored)
    expected, leaves = model.predict_proba(X), model.apply(X)
    for _ in range(5):
        fresh, gate = pickle.loads(stored), Barrier(4)

        def asked(number, fresh=fresh, gate=gate):
            gate.wait()
            return (fresh.predict_proba if number % 2 else fresh.apply)(X)

        with ThreadPoolExecutor(4) as threads:
            for number, found in enumerate(threads.map(asked, range(4))):
                np.testing.assert_array_equal(found, expected if number % 2 else leaves)
