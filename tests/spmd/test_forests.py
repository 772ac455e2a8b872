"""Forests of ranks are those of one process, to the byte: any number of ranks, any cut of the rows, any sizes."""

import pickle

import numpy as np
import pytest
from helpers.device_forests import differences, random_fit, random_fit_of_outputs, standing_in, tuned
from helpers.host_device import strict_device
from helpers.ranks import CUTS, Cut, fit_by_ranks, sizes
from sklearn.base import clone

import dforest
from dforest.config import config_context
from dforest.core.search.criteria import CRITERIA
from dforest.engines import base
from dforest.engines.ranks import engine
from dforest.engines.ranks.shard import extremes
from dforest.splitter import PythonSplitter, Test
from dforest.spmd.communicator import ALONE
from dforest.spmd.draws import DrawAllocator
from dforest.spmd.threads import ThreadGroup

SIZES = [{"ship_up_to": 0}, {"ship_up_to": 20, "shipment_records": 50}, {}, {"ship_up_to": 1 << 62, "n_trees": 3}]


def assert_equal(model, X, y, weight, cut, size, what):
    one = clone(model).fit(X, y, weight)
    for rank, own in enumerate(fit_by_ranks(model, X, y, weight, cut, size)):
        if isinstance(own, BaseException):
            raise AssertionError((what, rank)) from own
        assert not differences(own, one), (what, rank, size)
    return one


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(120))
def test_random_fits(seed):
    rng = np.random.default_rng([seed, 1])
    model, X, y, weight = random_fit(seed)
    if rng.random() < 0.2:
        order = np.argsort(y, kind="stable")
        X, y, weight = X[order], y[order], None if weight is None else weight[order]
    if weight is not None and rng.random() < 0.3:
        weight = weight * (rng.random(len(y)) < 0.7)
        weight[0] = 1
    size = int(rng.choice([1, 2, 2, 3, 4, 8]))
    kind = CUTS[rng.integers(len(CUTS))]
    chosen = SIZES[seed % len(SIZES)]
    with sizes(**chosen):
        assert_equal(model, X, y, weight, Cut.random(rng, len(y), size, kind), size, (seed, kind, chosen))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(24))
def test_random_fits_of_several_outputs(seed):
    rng = np.random.default_rng([seed, 2])
    model, X, y, weight = random_fit_of_outputs(seed)
    size, kind, chosen = int(rng.choice([2, 3, 5])), CUTS[seed % len(CUTS)], SIZES[seed // 2 % len(SIZES)]
    with sizes(**chosen):
        assert_equal(model, X, y, weight, Cut.random(rng, len(y), size, kind), size, (seed, kind, chosen))


def random_problem(seed, n=300):
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, 4)), 2)
    y = (X[:, 0] + rng.standard_normal(n) > 0).astype(int)
    return rng, X, y


def fit_each(models, given):
    """Fit the estimator of each rank to what it is given."""

    def fit(communicator):
        with config_context(communicator=communicator):
            return models[communicator.rank].fit(*given[communicator.rank])

    found = ThreadGroup(len(models)).run(fit)
    for error in found:
        if isinstance(error, BaseException):
            raise error
    return found


class OwnGini(CRITERIA["gini"]):
    """A criterion of somebody's own."""


class Middle(PythonSplitter):
    """Cuts at the code of the record in the middle, which depends on the order of records."""

    def best_cut(self, node, feature):
        codes = node.codes(feature)
        return int(codes[len(codes) // 2]) if codes[len(codes) // 2] < codes.max() else None


class Halves(Middle):
    """Leaves learn from every other record."""

    def leaf_records(self, node):
        return np.arange(node.n_records) % 2 == 0


class Projections(PythonSplitter):
    """Tests of random linear combinations, which look at X."""

    def find_split(self, node):
        weights = node.random().standard_normal(2)
        at = np.column_stack([node.values(0), node.values(1)]) @ weights
        threshold = np.sort(at)[(len(at) - 1) // 2]
        return Test([*weights, threshold], score=1.0) if threshold < at.max() else None

    def goes_left(self, payload, X):
        return X[:, :2].astype(np.float64) @ payload[:2] <= payload[2]


@pytest.mark.parametrize(
    "parameters",
    [
        {"method": "dense", "splitter": "best"},
        {"method": "dense", "splitter": "best", "max_leaf_nodes": 9, "class_weight": "balanced_subsample"},
        {"criterion": OwnGini()},
        {"criterion": OwnGini(), "bootstrap": "subsample", "max_samples": 0.5},
        {"splitter": Middle()},
        {"splitter": Halves(), "method": "dense"},
        {"splitter": Projections()},
        {"split_axis": "oblique"},
    ],
)
@pytest.mark.parametrize("size", [2, 5])
def test_trees_that_their_owners_grow_whole(parameters, size):
    """Weights of many magnitudes make some nodes light; the last rank may have no rows."""
    rng, X, y = random_problem(size, 120)
    model = dforest.RandomForestClassifier(4, random_state=0, **parameters)
    weight = 10.0 ** rng.uniform(-8, 0, len(y))
    for kind in ("random", "interleaved"):
        assert_equal(model, X, y, weight, Cut.random(rng, len(y), size, kind), size, parameters)


@pytest.mark.parametrize("max_leaf_nodes", [3, 6, 7, 11])
def test_nodes_of_equal_scores_are_split_in_preorder(max_leaf_nodes):
    """Halves, quarters and eighths of equal scores, of which there are leaves for some."""
    X, y = np.arange(16.0)[:, None], np.arange(16)
    model = dforest.DecisionTreeClassifier(criterion="entropy", method="hist", max_leaf_nodes=max_leaf_nodes)
    with sizes(ship_up_to=0):
        assert_equal(model, X, y, None, Cut(np.array([0, 5, 16]), np.arange(2)), 2, max_leaf_nodes)


@pytest.mark.parametrize("kind", [dforest.DecisionTreeClassifier, dforest.ExtraTreeClassifier])
def test_single_trees(kind):
    rng, X, y = random_problem(2)
    model = kind(random_state=5, method="hist", ccp_alpha=0.01)
    assert_equal(model, X, y, rng.random(len(y)), Cut.random(rng, len(y), 3, "interleaved"), 3, kind)


def test_zero_as_the_greatest_target_has_no_sign():
    """A leaf whose mean is rounded to it predicts 0.0, as in one process."""
    assert np.signbit(extremes(ALONE, np.array([[[-1.0, 0.0]], [[0.0, 0.0]]]))).tolist() == [[[True, False]], [[False, False]]]


def test_types_of_single_ranks():
    """float32 on one rank and float64 on another, or none; a class, all weights, or a category on one rank only."""
    rng, X, y = random_problem(3)
    X = X.astype(np.float32)
    mixed = X.astype(np.float64)
    mixed[100:] += 1e-12
    parts = [X[:100], mixed[100:200], X[:0], mixed[200:]]
    y[:100] = 0
    y[150] = 7
    weight = np.zeros(len(y))
    weight[100:200] = 0.5
    for weights in (None, weight):
        rows = np.split(np.arange(len(y)), [100, 200, 200])
        given = [(part, y[own], None if weights is None else weights[own]) for part, own in zip(parts, rows, strict=True)]
        models = fit_each([dforest.RandomForestClassifier(4, random_state=0) for _ in range(4)], given)
        one = dforest.RandomForestClassifier(4, random_state=0).fit(np.concatenate(parts), y, weights)
        for own in models:
            assert not differences(own, one)
            assert own.classes_.tolist() == one.classes_.tolist()
            assert own.forest_.threshold.dtype == np.float64


def test_columns_of_frames():
    """Categories and levels differ by rank; text on one rank only; names are kept."""
    pandas = pytest.importorskip("pandas")
    rng, X, y = random_problem(4)
    levels = pandas.CategoricalDtype(["low", "middle", "high"], ordered=True)
    frame = pandas.DataFrame(
        {
            "text": pandas.Series(rng.choice(list("zebra"), len(y)), dtype="object"),
            "number": pandas.Categorical(rng.integers(0, 9, len(y)) * 1.5),
            "level": pandas.Series(rng.choice(levels.categories, len(y))).astype(levels),
            "x": X[:, 0],
        }
    )
    frame.loc[:60, "text"] = "only here"
    frame.loc[rng.random(len(y)) < 0.1, ["text", "number"]] = None
    model = dforest.RandomForestClassifier(5, random_state=0, categorical_features=["text", "number"], max_features=None)
    one = clone(model).fit(frame, y)
    given = []
    for own in np.array_split(np.arange(len(y)), 3):
        part = frame.iloc[own].copy()
        part["number"] = part["number"].cat.remove_unused_categories()
        given.append((part, y[own]))
    for own in fit_each([clone(model) for _ in range(3)], given):
        assert not differences(own, one)
        assert own.feature_names_in_.tolist() == list(frame.columns)
        for mine, theirs in zip(own.categories_, one.categories_, strict=True):
            assert (mine is None) == (theirs is None)
            assert mine is None or mine.tolist() == theirs.tolist()
        np.testing.assert_array_equal(own.predict_proba(frame), one.predict_proba(frame))


def test_a_rank_has_a_table_of_pyarrow_without_rows():
    """Its columns are of the type null, as no value tells another one."""
    pyarrow = pytest.importorskip("pyarrow")
    rng, X, y = random_problem(10)
    text = rng.choice(list("abc"), len(y)).tolist()
    model = dforest.RandomForestClassifier(3, random_state=0, categorical_features=["text"])
    one = clone(model).fit(pyarrow.table({"text": text, "x": X[:, 0]}), y)
    pieces = [slice(0, 0), slice(0, 100), slice(100, None)]
    given = [(pyarrow.table({"text": text[own], "x": X[own, 0]}), y[own]) for own in pieces]
    for own in fit_each([clone(model) for _ in pieces], given):
        assert not differences(own, one)
        assert own.categories_[0].tolist() == list("abc")


def test_what_ranks_know_afterwards():
    rng, X, y = random_problem(5)
    weight = rng.integers(0, 3, len(y)).astype(float)
    model = dforest.RandomForestClassifier(6, random_state=0, class_weight="balanced")
    one = clone(model).fit(X, y, weight)
    cut = Cut.random(rng, len(y), 3, "interleaved")
    for rank, own in enumerate(fit_by_ranks(model, X, y, weight, cut, 3)):
        assert pickle.dumps(own.forest_) == pickle.dumps(one.forest_)
        assert own[2].class_weight == one[2].class_weight
        rows = cut.rows(rank)
        for mine, theirs in zip(own.estimators_samples_, one.estimators_samples_, strict=True):
            np.testing.assert_array_equal(np.sort(rows[mine]), theirs[np.isin(theirs, rows)])
        report = own.fit_report_
        assert (report.n_ranks, report.n_trees) == (3, 6)
        assert report.n_rounds > 10
        assert report.bytes_sent > 1000
        assert "3 ranks: " in str(report)
        again = pickle.loads(pickle.dumps(own))
        assert again.fit_report_.wait_seconds is None
        assert not differences(again, one)


def test_seeds_that_are_drawn_are_those_of_rank_0():
    rng, X, y = random_problem(6)
    cut = Cut.random(rng, len(y), 3, "even")
    models = fit_by_ranks(dforest.RandomForestClassifier(2, random_state=None), X, y, None, cut, 3)
    one = dforest.RandomForestClassifier(2, random_state=0).fit(X, y)
    assert not differences(models[1], models[0])
    assert not differences(models[2], models[0])
    assert differences(models[0], one)


def test_a_forest_goes_on_on_any_number_of_ranks():
    rng, X, y = random_problem(7)
    one = dforest.RandomForestClassifier(7, random_state=0).fit(X, y)
    models = fit_by_ranks(dforest.RandomForestClassifier(2, random_state=0, warm_start=True), X, y, None,
                          Cut.random(rng, len(y), 3, "random"), 3)  # fmt: skip
    two = [models[0], pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(models[1]))))]
    for model in two:
        model.set_params(n_estimators=4)
    fit_each(two, [(X[:10], y[:10]), (X[10:], y[10:])])
    alone = two[1].set_params(n_estimators=7).fit(X, y)
    assert not differences(alone, one)
    assert len(alone) == 7


@pytest.mark.parametrize("seed", range(8))
def test_each_rank_on_a_device(seed):
    """Nodes of many draws are grown on a device that stands in, with little memory for a group, and groups of any kind."""
    model, X, y, weight = (random_fit_of_outputs if seed % 4 == 3 else random_fit)(seed + 500)
    rng = np.random.default_rng(seed)
    one = clone(model).fit(X, y, weight)
    cut = Cut.random(rng, len(y), 3, "random")
    with standing_in(strict_device(n_threads=2, is_cpu=seed % 2 == 0)), tuned({"chunk": 64, "subtree_up_to": 0}):
        with sizes(ship_up_to=int(rng.choice([0, 40]))):
            for own in fit_by_ranks(model.set_params(device="sycl"), X, y, weight, cut, 3):
                assert not isinstance(own, BaseException), own
                assert not differences(own, one)
                is_whole = model.criterion == "absolute_error" or (model.method == "dense" and model.splitter == "best")
                assert own.fit_report_.kernels["df_write_draws" if is_whole else "df_add_histograms"] > 0


def test_draws_are_dealt_out_for_many_batches_at_once(monkeypatch):
    """Or one rank would do it for a batch of one tree, and the others wait."""
    n_allocated = []
    deal = DrawAllocator.allocate

    def noted(allocator, plans, seeds, n_threads):
        n_allocated.append(len(seeds))
        return deal(allocator, plans, seeds, n_threads)

    rng, X, y = random_problem(3)
    model = dforest.RandomForestClassifier(7, random_state=0)
    cut = Cut.random(rng, len(y), 2, "random")
    cases = [(8, 1, [7]), (1, 1, [2, 2, 2, 1]), (1, 3, [3, 3, 1]), (2, 3, [6, 1])]
    balanced = clone(model).set_params(bootstrap="balanced")  # whose plan has two numbers for a block
    for model, (ahead, n_trees, expected) in [*((model, case) for case in cases), (balanced, (4, 1, [4, 3]))]:
        n_allocated.clear()
        with monkeypatch.context() as patch, sizes(n_trees=n_trees):
            patch.setattr(engine, "ALLOCATED_AHEAD", ahead)
            patch.setattr(DrawAllocator, "allocate", noted)
            assert_equal(model, X, y, None, cut, 2, (ahead, n_trees))
        assert sorted(n_allocated) == sorted(2 * expected)


@pytest.mark.parametrize("n_ranks", [1, 3])
def test_trees_are_asked_for_some_at_a_time(n_ranks, monkeypatch):
    """However many are asked for at once, the forest is the same, and so is the memory that ranks need for all of them."""
    rng, X, y = random_problem(4)
    model = dforest.RandomForestClassifier(7, random_state=0, n_jobs=2)
    expected, needs, check_first = clone(model).fit(X, y), [], engine.RankSession._check_first
    monkeypatch.setattr(base, "TREES_AT_ONCE", 3)
    monkeypatch.setattr(
        engine.RankSession, "_check_first", lambda self, tree: needs.append(self._n_wanted) or check_first(self, tree)
    )
    if n_ranks == 1:
        assert not differences(clone(model).fit(X, y), expected)
        return
    given = [(X[own], y[own]) for own in np.array_split(np.arange(len(y)), n_ranks)]
    for own in fit_each([clone(model) for _ in given], given):
        assert not differences(own, expected)
    assert set(needs) == {7}
