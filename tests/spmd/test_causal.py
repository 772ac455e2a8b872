"""Causal and uplift forests of ranks are those of one process, to the byte: trees, expectations, and what follows."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from helpers.device_forests import differences
from helpers.ranks import CUTS, Cut, sizes
from helpers.treatments import ARMS, random_forest, table
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from dforest import CausalForest, ExtraTreesRegressor, RandomForestRegressor, UpliftForestClassifier
from dforest.config import config_context
from dforest.estimators.data.agreement import Partition
from dforest.spmd.threads import ThreadGroup


def fit_by_ranks(model, given, cut, size):
    """The fitted model of each rank; raises what a rank has raised."""

    def fit(communicator):
        own = clone(model)
        pieces = np.flatnonzero(cut.owner == communicator.rank)
        pieces = [(i, slice(*cut.edges[i : i + 2].tolist())) for i in pieces] or [(0, slice(0, 0))]
        partitions = [Partition.of(i, {name: value[rows] for name, value in given.items()}) for i, rows in pieces]
        with config_context(communicator=communicator):
            own._fit_partitions(lambda rank: partitions)
            if own.warm_start:
                own.set_params(n_estimators=own.n_estimators + 3)._fit_partitions(lambda rank: partitions)
        return own

    found = ThreadGroup(size).run(fit)
    for own in found:
        if isinstance(own, BaseException):
            raise own
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(24))
def test_causal_forests(seed):
    rng = np.random.default_rng(seed)
    given = table(seed)
    outcomes = ExtraTreesRegressor(60, bootstrap="group" if "groups" in given else True)
    chosen = [{}, {"honest": False}, {"warm_start": True}, {"outcome_model": outcomes}][seed % 4]
    model = random_forest(seed, 24).set_params(**chosen)
    if seed % 6 != 4 and seed % 4 == 0:
        model.set_params(min_samples_leaf="auto")
    one = clone(model).fit(**given)
    if model.warm_start:
        one.set_params(n_estimators=27).fit(**given)
    size, kind = int(rng.choice([1, 2, 3, 5])), CUTS[seed % len(CUTS)]
    with sizes(**[{}, {"n_trees": 3}][seed % 2]):
        found = fit_by_ranks(model, given, Cut.random(rng, len(given["y"]), size, kind), size)
    for own in found:
        assert not differences(own, one)
        for name in ("y_hat_", "w_hat_", "z_hat_", "arms_"):
            np.testing.assert_array_equal(getattr(own, name), getattr(one, name))
        np.testing.assert_array_equal(own.predict(), one.predict())
        np.testing.assert_array_equal(own.predict_interval(), one.predict_interval())
        np.testing.assert_array_equal(own.predict(given["X"]), one.predict(given["X"]))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(own)).predict(), one.predict())
        if one.arms_ is None and "instrument" not in given and not np.isnan(one.predict()[one._kept()]).any():
            assert own.average_effect() == one.average_effect()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(8))
def test_uplift_forests(seed):
    rng = np.random.default_rng(seed)
    given = table(seed)
    given = {name: given[name] for name in ("X", "y", "sample_weight") if name in given}
    given["treatment"] = ARMS[rng.integers(0, 3, 240)]
    given["y"] = np.where(given["y"].reshape(240, -1)[:, 0] > 0, "yes", "no")
    model = UpliftForestClassifier(9, criterion=["kl", "euclidean", "chi2"][seed % 3], honest=seed % 2 == 0, random_state=seed)
    one, size = clone(model).fit(**given), int(rng.choice([2, 3]))
    for own in fit_by_ranks(model, given, Cut.random(rng, 240, size, CUTS[seed % len(CUTS)]), size):
        assert not differences(own, one)
        np.testing.assert_array_equal(own.arms_, one.arms_)
        np.testing.assert_array_equal(own.predict(given["X"]), one.predict(given["X"]))


def told_by_ranks(*given, **parameters):
    """Fit a causal forest by as many ranks as there are tables of what is given."""

    def fit(communicator):
        partition = Partition.of(communicator.rank, given[communicator.rank])
        with config_context(communicator=communicator):
            return CausalForest(4, **{"random_state": 0, **parameters})._fit_partitions(lambda rank: [partition])

    found = ThreadGroup(len(given)).run(fit)
    for own in found:
        if isinstance(own, BaseException):
            raise own
    return found


def halves(seed, **others):
    """The halves of a table, of which the second one has other values of some columns."""
    given = table(seed)
    first, second = ({name: value[rows] for name, value in given.items()} for rows in (slice(120), slice(120, 240)))
    return first, {name: value for name, value in (second | others).items() if value is not None}


@pytest.mark.parametrize(
    "seed, others, message",
    [
        (4, {"instrument": None}, "instrument is given in some partitions, and in others not; allowed is one for all partitions"),
        (0, {"treatment": None}, "treatment is given in some partitions"),
        (0, {"treatment": np.zeros((120, 2))}, r"treatment has rows of the shape \(\) in one partition, and \(2,\) in another"),
        (0, {"treatment": np.zeros(9)}, "treatment has 9 rows, and y has 120; allowed are equal numbers"),
        (0, {"treatment": ARMS[np.arange(120) % 2]}, "treatment holds labels of the types bool, str"),
        (
            3, {"treatment": pd.Series(pd.Categorical(ARMS[np.arange(120) % 3], ARMS[::-1]))},
            r"treatment has the categories \['none', 'some', 'much'\] in one partition, but the categories \['much', 'some'",
        ),
        (
            3, {"treatment": ARMS[np.arange(120) % 3]},
            r"treatment has the categories \['none', 'some', 'much'\] in one partition, but no categorical type in another",
        ),
        (0, {"y": 3.0}, r"y has the shape \(\); allowed are dense arrays with a value for each row"),
        (0, {"y": None}, "y=None; allowed is an outcome for each row"),
        (1, {"sample_weight": None}, "whether there is sample_weight is True on rank 0, but False on rank 1"),
    ],
)  # fmt: skip
def test_partitions_that_are_told_of_different_things(seed, others, message):
    with pytest.raises(ValueError, match=message):
        told_by_ranks(*halves(seed, **others))


def test_models_that_need_all_rows():
    with pytest.raises(ValueError, match=r"outcome_model=LinearRegression\(\) would have to be fitted to all rows, which lie in"):
        told_by_ranks(*halves(0), outcome_model=LinearRegression())


def test_seeds_of_ranks_that_differ():
    """The first rank's counts."""
    first, second = told_by_ranks(*halves(0), random_state=None)
    assert not differences(first, second)
    np.testing.assert_array_equal(first.y_hat_, second.y_hat_)


def test_only_the_first_rank_warns():
    given = table(0)
    given["treatment"] = given["treatment"] & (np.arange(240) % 20 == 0)
    parts = [{name: value[rows] for name, value in given.items()} for rows in (slice(120), slice(120, 240))]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        told_by_ranks(*parts)
    assert len([one for one in told if "have an expected share" in str(one.message)]) == 1


@pytest.mark.parametrize(
    "name, value",
    [("outcome_model", ExtraTreesRegressor(60, bootstrap=True)), ("treatment_model", LinearRegression()), ("alpha", 0.1)],
)
def test_ranks_that_ask_for_different_things(name, value):
    def fit(communicator):
        model = CausalForest(4, random_state=0).set_params(**{name: value} if communicator.rank else {})
        partition = Partition.of(communicator.rank, halves(0)[communicator.rank])
        with config_context(communicator=communicator):
            model._fit_partitions(lambda rank: [partition])

    for error in ThreadGroup(2).run(fit):
        assert isinstance(error, ValueError) and f"{name} is " in str(error) and "allowed is one for all ranks" in str(error)


def test_ranks_of_which_one_goes_on():
    alone = CausalForest(4, warm_start=True, random_state=0).fit(**table(0))

    def fit(communicator):
        model = CausalForest(4, warm_start=True, random_state=0) if communicator.rank else alone
        partition = Partition.of(communicator.rank, halves(0)[communicator.rank])
        with config_context(communicator=communicator):
            model.set_params(n_estimators=6)._fit_partitions(lambda rank: [partition])

    for error in ThreadGroup(2).run(fit):
        assert isinstance(error, ValueError) and "the digest of the forest that there is" in str(error)


@pytest.mark.parametrize("seed", [0, 2])
def test_memory_of_ranks_is_estimated(seed):
    """A rank may have no row, or lack an arm."""
    given = table(seed)
    order = np.argsort(given["treatment"], kind="stable")
    given = {name: value[order] for name, value in given.items()}

    def estimate(communicator):
        rows = [slice(0, 0), slice(0, 100), slice(100, 240)][communicator.rank]
        with config_context(communicator=communicator):
            return random_forest(seed).estimate_memory(**{name: value[rows] for name, value in given.items() if name != "y_hat"})

    for found in ThreadGroup(3).run(estimate):
        assert found.total > 0


def test_a_fit_of_ones_own_is_called():
    class Own(RandomForestRegressor):
        def fit(self, X, y, sample_weight=None, groups=None):
            CALLS.append(len(X))
            return super().fit(X, y, sample_weight, groups)

    CALLS = []
    CausalForest(4, outcome_model=Own(60, max_samples=0.5), random_state=0).fit(**table(0))
    assert CALLS == [240]


@pytest.mark.filterwarnings("ignore")
def test_scores_of_doses_are_those_of_all_rows():
    """They need a forest of their own, which each rank fits alone: one rank may ask, within the context of all."""
    given = table(1) | {"sample_weight": np.ones(240)}
    one = random_forest(1, 60).fit(**given)

    def score(communicator):
        rows = [slice(0, 100), slice(100, 240)][communicator.rank]
        partition = Partition.of(communicator.rank, {name: value[rows] for name, value in given.items()})
        with config_context(communicator=communicator):
            own = random_forest(1, 60)._fit_partitions(lambda rank: [partition])
            return own.doubly_robust_scores() if communicator.rank == 1 else None

    _, found = ThreadGroup(2).run(score)
    np.testing.assert_array_equal(found, one.doubly_robust_scores())
