"""Bad input on one rank: all ranks raise an error of one type that names the rank, and all estimators stay as they were."""

import pickle
from dataclasses import dataclass
from time import monotonic

import numpy as np
import pytest

from dforest import RandomForestClassifier, RandomForestRegressor
from dforest.config import config_context
from dforest.engines.ranks import engine
from dforest.estimators.data import agreement, rows
from dforest.estimators.data.agreement import Partition
from dforest.sampling import BlockSampling, Sampling, StratifiedSampling
from dforest.spmd.threads import ThreadGroup

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Y = np.arange(60) % 3
SIZE = 3
ROWS = [slice(20 * rank, 20 * rank + 20) for rank in range(SIZE)]


def fit_all(models, given):
    """Fit an estimator on each rank to what it is given; what `fit` raises, or None, by rank."""

    def fit(communicator):
        with config_context(communicator=communicator):
            models[communicator.rank].fit(*given[communicator.rank])

    return ThreadGroup(SIZE).run(fit)


def assert_refused(kind, message, make=lambda rank: RandomForestClassifier(3, random_state=0), given=None, ranks=(1,)):
    """Fits fail on all ranks, naming one of some ranks, within 5 seconds; fitted and unfitted estimators stay what they were."""
    given = [(X[own], Y[own]) for own in ROWS] if given is None else given
    for is_fitted in (False, True):
        models = [make(rank) for rank in range(SIZE)]
        if is_fitted:
            for model in models:
                model.__dict__.update(RandomForestClassifier(2, random_state=1).fit(X[:50], Y[:50]).__dict__ | model.get_params())
        before = [pickle.dumps(model.__dict__) for model in models]
        start = monotonic()
        errors = fit_all(models, given)
        assert monotonic() - start < 5
        for error in errors:
            assert isinstance(error, kind), error
            assert type(error) is type(errors[0])
            assert any(str(error).startswith(f"on rank {rank}: ") for rank in ranks), error
            assert message in str(error)
        assert [pickle.dumps(model.__dict__) for model in models] == before


def changed(**arrays):
    """What ranks are given, of which rank 1 has something else."""
    given = [[X[own].copy(), Y[own].copy()] for own in ROWS]
    for name, change in arrays.items():
        given[1]["Xy".index(name)] = change(given[1]["Xy".index(name)])
    return given


def with_nan(y):
    y = y.astype(float)
    y[3] = np.nan
    return y


def weighted(*weights):
    return [(X[own], Y[own], weight) for own, weight in zip(ROWS, weights, strict=True)]


def framed(names, b="float64"):
    """Frames of ranks, of which rank 1 has other names, or a column of another type."""
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame(X[own].round(), columns=list(name)) for own, name in zip(ROWS, names, strict=True)]
    frames[1] = frames[1].astype({"b": b})
    return [(frame, Y[own]) for frame, own in zip(frames, ROWS, strict=True)]


ONES, ALL = np.ones(20), range(SIZE)
NUMBERS = [(X[own], X[own, 0] if rank != 1 else with_nan(X[own, 0])) for rank, own in enumerate(ROWS)]
OUTPUTS = [(X[own], np.stack([Y[own]] * (3 if rank != 1 else 2), axis=1)) for rank, own in enumerate(ROWS)]


@pytest.mark.parametrize(
    ("kind", "message", "given", "ranks", "model"),
    [
        (ValueError, "Input y contains NaN", changed(y=with_nan), (1,), RandomForestClassifier),
        (ValueError, "Input y contains NaN", NUMBERS, (1,), RandomForestRegressor),
        (ValueError, "X column 0", changed(X=lambda x: np.full(x.shape, "2020", "U4").astype("M8[Y]")), (1,), None),
        (TypeError, "argument must be", changed(X=lambda x: [[object()] * 3] * len(x)), (1,), None),
        (ValueError, "y holds labels of the types int, str", changed(y=lambda y: y.astype("U1")), ALL, None),
        (ValueError, "Unknown label type: continuous", changed(y=lambda y: y + 0.5), (1,), None),
        (ValueError, "y has 2 columns, but 3 in other rows", OUTPUTS, (1,), RandomForestClassifier),
        (ValueError, "y has 2 columns, but 3 in other rows", OUTPUTS, (1,), RandomForestRegressor),
        (ValueError, "the number of columns of X is 3 on rank 0, but 2 on rank 1", changed(X=lambda x: x[:, :2]), ALL, None),
        (ValueError, "the names of the columns of X is ['a', 'b', 'c'] on rank 0", framed(["abc", "abd", "abc"]), ALL, None),
        (ValueError, "X column 'b' is continuous in one partition, but categorical", framed(["abc"] * 3, "category"), ALL, None),
        (ValueError, "Negative values", weighted(ONES, -ONES, ONES), (1,), None),
        (ValueError, "whether there is sample_weight is True on rank 0, but False", weighted(ONES, None, ONES), ALL, None),
        (ValueError, "at least one non-zero number", weighted(*[0 * ONES] * 3), ALL, None),
        (ValueError, "X has 0 rows", [(X[:0], Y[:0])] * SIZE, ALL, None),
    ],
)
def test_other_data(kind, message, given, ranks, model):
    model = model or RandomForestClassifier
    assert_refused(kind, message, lambda rank: model(3, random_state=0), given, ranks)


@pytest.mark.parametrize("other", [int, "S1"])
def test_other_labels_in_partitions_of_one_rank(other):
    """They are not made text, however the partitions lie."""
    model = RandomForestClassifier(3, random_state=0)
    partitions = [Partition(r, X[own], Y[own].astype("U1" if r < 2 else other)) for r, own in enumerate(ROWS)]
    with pytest.raises(ValueError, match=f"y holds labels of the types {'int' if other is int else 'bytes'}, str"):
        model._fit_partitions(lambda rank: partitions)
    assert not hasattr(model, "forest_")


@pytest.mark.parametrize(
    ("parameters", "message", "ranks"),
    [
        ({"max_depth": 3}, "max_depth is None on rank 0, but 3 on rank 1", ALL),
        ({"n_estimators": 4}, "n_estimators is 3 on rank 0, but 4 on rank 1", ALL),
        ({"class_weight": {0: 2.0}}, "class_weight is None on rank 0", ALL),
        ({"random_state": 1}, "random_state is 0 on rank 0, but 1 on rank 1", ALL),
        ({"monotonic_cst": [0, 0, 1]}, "monotonic_cst is None on rank 0", ALL),
        (
            {"bootstrap": BlockSampling(4)},
            "bootstrap is True on rank 0, but BlockSampling(length=4, replace=True) on",
            ALL,
        ),
        ({"n_estimators": -1}, "The 'n_estimators' parameter", (1,)),
    ],
)
def test_other_parameters(parameters, message, ranks):
    def make(rank):
        return RandomForestClassifier(3, random_state=0).set_params(**(parameters if rank == 1 else {}))

    assert_refused(ValueError, message, make, ranks=ranks)


def with_groups(groups):
    """What ranks are given, each with some of these groups."""
    return [(X[own], Y[own], None, None if part is None else part) for own, part in zip(ROWS, groups, strict=True)]


def test_groups():
    def by_groups(rank):
        return RandomForestClassifier(3, bootstrap="group", random_state=0)

    there = [np.arange(20) // 3, np.arange(20) // 4, np.arange(20)]
    assert fit_all([by_groups(rank) for rank in range(SIZE)], with_groups(there)) == [None] * SIZE
    for message, part, ranks in [
        ("whether there are groups is True on rank 0, but False on rank 1", None, range(SIZE)),
        ("groups has 19 entries, but X has 20 rows", np.arange(19), [1]),
        ("has no value: nan in row 23; every row needs a value", np.where(np.arange(20) == 3, np.nan, 7), [1]),
        ("has no value: None in row 39; every row needs a value", [1] * 19 + [None], [1]),
        ("has no value: NaT in row 20; every row needs a value", np.array(["NaT"] + ["2020"] * 19, "M8[Y]"), [1]),
        ("groups holds labels of the types int, str", np.arange(20).astype(str), range(SIZE)),
        (f"groups holds the integer {2**53}, and in other rows numbers", np.arange(20).astype(np.uint64) + 2**53, range(SIZE)),
        ("groups holds labels of the types int, str", np.array([1, "a"] * 10, object), [1]),
    ]:
        assert_refused(ValueError, message, by_groups, with_groups([there[0], part, there[2]]), ranks)
    assert_refused(ValueError, "groups=None; rows are drawn by groups", by_groups, with_groups([None] * SIZE), range(SIZE))
    given = with_groups(there)
    assert_refused(ValueError, "groups are given, but RowSampling(replace=True) does not", given=given, ranks=range(SIZE))


def test_plans_that_rows_do_not_allow():
    """All ranks ask for the plan, and find what is wrong with it."""
    for way, message in [
        (StratifiedSampling({0: 3, 1: 3}), "leaves the class 2 out"),
        (StratifiedSampling({0: 21, 1: 3, 2: 3}, replace=False), "sizes has 21 for the class 0, which has only 20 rows"),
        (BlockSampling(61), "length=61; allowed are 1 to 60 rows of a block"),
        (NoPlan(), "made a plan None; allowed are sampling plans"),
    ]:

        def make(rank, way=way):
            return RandomForestClassifier(3, bootstrap=way, random_state=0)

        assert_refused(TypeError if way == NoPlan() else ValueError, message, make, ranks=range(SIZE))


def test_another_version(monkeypatch):
    versions = iter(["0.1", "0.2", "0.1", "0.1", "0.2", "0.1"])
    monkeypatch.setattr(agreement, "version", lambda _: next(versions))
    assert_refused(ValueError, "the version of dforest is", ranks=range(SIZE))


def test_another_forest_to_go_on_with():
    def make(rank):
        model = RandomForestClassifier(2, random_state=0 if rank == 1 else 1, warm_start=True).fit(X, Y)
        return model.set_params(n_estimators=3, random_state=0)

    models = [make(rank) for rank in range(SIZE)]
    for error in fit_all(models, [(X[own], Y[own]) for own in ROWS]):
        assert isinstance(error, ValueError)
        assert "the digest of the forest that there is" in str(error)
    assert [len(model) for model in models] == [2] * SIZE


@dataclass(frozen=True)
class NoPlan(Sampling):
    """A sampling that has no plan."""

    def plan(self, rows):
        return None


def test_too_many_rows(monkeypatch):
    monkeypatch.setattr(rows, "MAX_ROWS", 50)
    assert_refused(ValueError, "X has 60 rows; allowed are 1 to 50", ranks=range(SIZE))


def test_a_forest_that_would_not_fit_a_rank(monkeypatch):
    """It is refused once the first tree is there; and neither before it must be, nor if ranks have machines of their own."""
    one = RandomForestClassifier(4, random_state=0).fit(X.astype(np.float32), Y)
    trees = one.forest_.as_dict()
    first = int(trees["node_offsets"][1])
    need = 4 * first * sum(trees[name].itemsize for name in ("feature", "threshold", "link", "missing_left"))
    one.fit(X, Y)
    monkeypatch.setattr(engine, "machine_bytes", lambda: SIZE * need - 1)
    message = f"4 trees like the first one, of {first} nodes, take at least "
    assert_refused(MemoryError, message, lambda rank: RandomForestClassifier(4, random_state=0), ranks=range(SIZE))
    given = [(X[own], Y[own]) for own in ROWS]

    def fit():
        models = [RandomForestClassifier(4, random_state=0) for _ in range(SIZE)]
        assert fit_all(models, given) == [None] * SIZE
        return models

    names = iter("abc")
    with monkeypatch.context() as patch:
        patch.setattr(engine.platform, "node", lambda: next(names))
        fit()
    monkeypatch.setattr(engine, "machine_bytes", lambda: SIZE * need)
    models = fit()
    for model in models:  # trees that are there already count
        model.set_params(n_estimators=5, warm_start=True)
    assert {type(error) for error in fit_all(models, given)} == {MemoryError}
    assert [len(model) for model in models] == [4] * SIZE
    assert pickle.dumps(models[0].forest_.as_dict()) == pickle.dumps(one.forest_.as_dict())


def test_equal_parameters_of_different_types():
    given = [(X[own], Y[own]) for own in ROWS]
    parameters = [{"max_depth": 3, "class_weight": {0: 1, 1: 2}}, {"max_depth": np.int64(3), "class_weight": {1: 2.0, 0: 1.0}}]
    models = [RandomForestClassifier(2, random_state=0, **parameters[rank % 2]) for rank in range(SIZE)]
    assert fit_all(models, given) == [None] * SIZE
