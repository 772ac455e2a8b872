"""Estimates from the rows that trees left out, by ranks: the bits of one process, however the rows are cut among ranks."""

import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from helpers.callbacks import StopAfter
from helpers.device_forests import differences
from helpers.out_of_bag import random_problem
from helpers.ranks import CUTS, Cut, by_ranks, fit_by_ranks, one_of, without_error
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import r2_score

from dforest import RandomForestClassifier, RandomForestRegressor, config_context
from dforest.callback import Checkpoint, OutOfBagPlateau
from dforest.core.draws import TreeDraws
from dforest.core.sampling import Bootstrap
from dforest.estimators.scoring import r2, share_of
from dforest.rules.arrays import BLOCK
from dforest.spmd.communicator import ALONE
from dforest.spmd.threads import ThreadGroup

SIZES = pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
OF_ROWS = ["oob_error_per_observation_", "oob_prediction_", "oob_decision_function_"]
OF_ALL = ["oob_error_", "oob_curve_", "n_never_oob_", "oob_score_"]
SCORERS = [["neg_mean_absolute_error", r2_score], ["f1_macro", lambda true, found: float(np.mean(true == found))]]  # by is_class

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores", "ignore:R.2 score is not well-defined")


def estimate_by_ranks(model, cut, size, X, y, weight=None):
    """The models that ranks fit; raises what they raise."""
    return without_error(fit_by_ranks(model, X, y, weight, cut, size))


def assert_same_bits(model, found, cut, names_of_rows, names_of_all, what):
    for rank, own in enumerate(found):
        for name in [*names_of_rows, *names_of_all]:
            assert hasattr(own, name) == hasattr(model, name), (what, name)
            if hasattr(model, name):
                expected = np.asarray(getattr(model, name))
                expected = expected[cut.rows(rank)] if name in names_of_rows else expected
                here = np.asarray(getattr(own, name))
                assert here.dtype == expected.dtype and here.tobytes() == expected.tobytes(), (what, name, here, expected)


# The estimates


@pytest.mark.parametrize("seed", range(60))
def test_estimates_have_the_bits_of_one_process(seed):
    rng = np.random.default_rng(seed)
    size, kind = one_of(rng, 1, 2, 3, 5, 8), CUTS[seed % len(CUTS)]
    model, X, y, weight = random_problem(seed)
    scorers = SCORERS[isinstance(model, RandomForestClassifier)]
    model.set_params(oob_score=one_of(rng, True, *scorers)).fit(X, y, weight)
    cut = Cut.random(rng, len(X), size, kind)
    assert_same_bits(model, estimate_by_ranks(model, cut, size, X, y, weight), cut, OF_ROWS, OF_ALL, (seed, kind, cut))


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_many_blocks(seed):
    """Ranges begin and end inside blocks; the draws of a block are those of all its rows."""
    model, X, y, weight = random_problem(seed, n=3 * BLOCK + 77)
    model.set_params(n_estimators=5, max_depth=6).fit(X, y, weight)
    for size, kind in ((2, "interleaved"), (5, "random")):
        cut = Cut.random(np.random.default_rng([seed, size]), len(X), size, kind)
        found = estimate_by_ranks(model, cut, size, X, y, weight)
        assert_same_bits(model, found, cut, OF_ROWS, OF_ALL, (seed, cut))
        for rank, own in enumerate(found):
            held = cut.rows(rank)
            for own_samples, samples in zip(own.estimators_samples_, model.estimators_samples_, strict=True):
                counts = np.bincount(samples, minlength=len(X))[held]
                np.testing.assert_array_equal(own_samples, np.repeat(np.arange(len(held)), counts))


def test_a_rank_whose_rows_are_in_the_bag_of_all_trees():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    for kind, y in ((RandomForestRegressor, X[:, 0]), (RandomForestClassifier, (X[:, 0] > 0).astype(int))):
        model = kind(2, oob_score=True, random_state=0).fit(X, y)
        never = np.isnan(model.oob_error_per_observation_)
        edges = np.r_[0, np.flatnonzero(np.diff(never)) + 1, 60]
        cut = Cut(edges, never[edges[:-1]].astype(int))
        assert len(cut.rows(1)) == model.n_never_oob_ > 0
        found = estimate_by_ranks(model, cut, 2, X, y)
        assert_same_bits(model, found, cut, OF_ROWS, OF_ALL, kind)
        assert np.isnan(found[1].oob_error_per_observation_).all() and found[1].oob_score_ == model.oob_score_


def test_rank_0_warns_of_the_rows_of_all_ranks():
    X = np.arange(40.0)[:, None]
    model = RandomForestRegressor(2, oob_score=True, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = estimate_by_ranks(model, Cut(np.array([0, 30, 40, 40]), np.arange(3)), 3, X, X[:, 0])
    (message,) = [str(one.message) for one in caught if "OOB scores" in str(one.message)]
    assert f"{found[2].n_never_oob_} of 40 rows are out of the bag of none of the 2 trees" in message


def test_targets_of_other_ranks_set_the_scale():
    """A large target on one rank alone: errors there and elsewhere are digits in one unit."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    y = X[:, 0].copy()
    y[70] = 1e140
    model = RandomForestRegressor(15, oob_score=True, random_state=0).fit(X, y)
    cut = Cut(np.array([0, 60, 80]), np.arange(2))
    assert_same_bits(model, estimate_by_ranks(model, cut, 2, X, y), cut, OF_ROWS, OF_ALL, "scale")
    assert model.oob_error_ > 1e270


# Draws


def test_draws_of_a_range_are_checked():
    plans, seeds = (Bootstrap(9),), np.zeros(1, np.uint32)
    with pytest.raises(ValueError, match=r"row_range=\(3, 5\) of 10 rows needs of_block"):
        TreeDraws(plans, seeds, 10, 1, (3, 5))
    with pytest.raises(ValueError, match=r"of_block has the shape \(1, 2\); for row_range=\(3, 5\) it is \(1, 1, 1\)"):
        TreeDraws(plans, seeds, 10, 1, (3, 5), np.zeros((1, 2)))
    for row_range in [(3, 8), (3, 0), (10, 1), (-1, 3)]:
        with pytest.raises(ValueError, match="of the range=.* allowed are numbers from"):
            TreeDraws(plans, seeds, 10, 1, row_range, np.zeros((1, 1, 1)))


# Scores


def exact_r2(y, p):
    """R2 by fractions: of squares that are rounded once, as the mean is."""
    mean = float(sum(map(Fraction, y.tolist())) / len(y))
    error, spread = (sum(map(Fraction, ((y - other) ** 2).tolist())) for other in (p, mean))
    return float(1 - error / spread)


def r2_of_share(y, p, shares, ranks):
    own = shares[ranks.rank]
    return r2(y[own], p[own], ranks)


@SIZES
def test_r2_is_exact_and_that_of_one_process(size):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 300))
        y = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n) + one_of(rng, 0, 1e6)
        p = y + rng.standard_normal(n)
        edges = np.sort(np.r_[0, rng.integers(0, n + 1, size - 1), n])
        expected = r2(y, p, ALONE)
        assert expected == exact_r2(y, p) == pytest.approx(r2_score(y, p), rel=1e-9)
        shares = [slice(*edges[rank : rank + 2]) for rank in range(size)]
        assert by_ranks(size, partial(r2_of_share, y, p, shares)) == [expected] * size
        assert r2(y[::-1].copy(), p[::-1].copy(), ALONE) == expected
        assert share_of((y > 0) == (p > 0), ALONE) == np.mean((y > 0) == (p > 0))


@pytest.mark.parametrize(
    ("true", "prediction"),
    [([1, 2, 4], [1, 2, 4]), ([3, 3], [3, 3]), ([3, 3], [3, 4]), ([1, 2], [5e8, -5e8]), ([0, 0], [0, 0])],
)
def test_r2_of_special_cases_is_that_of_scikit_learn(true, prediction):
    true, prediction = np.array(true, float), np.array(prediction, float)
    assert r2(true, prediction, ALONE) == r2_score(true, prediction)


def test_r2_of_one_row_warns_as_scikit_learn_does():
    for score in (lambda y, p: r2(y, p, ALONE), r2_score):
        with pytest.warns(UndefinedMetricWarning, match="not well-defined with less than two samples"):
            assert np.isnan(score(np.ones(1), np.ones(1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(r2(np.ones(0), np.ones(0), ALONE))
        assert np.isnan(share_of(np.ones(0, bool), ALONE))


def test_r2_of_numbers_whose_squares_leave_the_range():
    y = np.array([1.0, 2.0, 4.0])
    for scale in (2.0**900, 2.0**-900):
        assert r2(y * scale, y[::-1] * scale, ALONE) == r2(y, y[::-1].copy(), ALONE)
    assert r2(np.array([0, 2.0**-900]), np.array([2.0**200, 0]), ALONE) == -np.inf
    constant = np.full(3, 0.1)  # whose mean by floats is not 0.1
    assert r2(constant, constant + 1, ALONE) == 0


def test_scorers_that_need_all_classes_are_refused_by_the_rows_of_all_ranks():
    """No rank has all classes."""
    X, y = np.arange(60.0)[:, None], np.repeat([0, 1], 30)
    cut = Cut(np.array([0, 30, 60]), np.arange(2))
    model = RandomForestClassifier(20, oob_score="roc_auc", random_state=0).fit(X, y)
    for own in estimate_by_ranks(model, cut, 2, X, y):
        assert own.oob_score_ == model.oob_score_ > 0.9
    for error in fit_by_ranks(model, X, np.repeat([0, 1, 2], 20), None, cut, 2):
        assert isinstance(error, ValueError) and "oob_score='roc_auc'" in str(error)


@pytest.mark.parametrize("seed", range(40))
def test_plateaus_of_the_rows_of_all_ranks(seed):
    """Any rank may have the callback: all count votes, and all end after the same tree."""
    rng = np.random.default_rng(seed)
    model, X, y, weight = random_problem(seed, n=int(rng.integers(30, 200)))
    model.set_params(n_estimators=60, max_samples=None, oob_score=bool(seed % 2))
    scorer = one_of(rng, None, "accuracy" if isinstance(model, RandomForestClassifier) else "r2")
    plateau = OutOfBagPlateau(scorer, rounds=6, tolerance=0.05)
    alone = clone(model).set_callbacks(plateau).fit(X, y, weight)
    size = one_of(rng, 1, 2, 3, 5)
    cut, asks = Cut.random(rng, len(X), size, CUTS[seed % len(CUTS)]), rng.integers(0, size + 1)
    callbacks = [[plateau] if asks in (rank, size) else [] for rank in range(size)]
    found = fit_by_ranks(model, X, y, weight, cut, size, callbacks=callbacks)
    for own in found:
        assert not differences(own, alone)
        assert own.n_estimators_ == alone.n_estimators_
    assert_same_bits(alone, found, cut, OF_ROWS, OF_ALL, (seed, cut))


def test_a_plateau_of_ranks_goes_on(tmp_path):
    """From a checkpoint, and after trees that there are."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 4))
    y = X[:, 0] + rng.standard_normal(150)
    model, plateau = RandomForestRegressor(300, random_state=0), OutOfBagPlateau("r2", rounds=10)
    whole = clone(model).set_callbacks(plateau).fit(X, y)
    assert 12 < whole.n_estimators_ < 300
    clone(model).set_callbacks(Checkpoint(tmp_path / "trees"), StopAfter(12)).fit(X, y)
    cut = Cut.random(rng, 150, 3, "interleaved")
    for own in fit_by_ranks(model, X, y, None, cut, 3, callbacks=[[plateau], [Checkpoint(tmp_path / "trees")], []]):
        assert not differences(own, whole)

    def fit(communicator):
        own = clone(model).set_params(n_estimators=5, warm_start=True)
        with config_context(communicator=communicator):
            for n_trees in (5, 300):
                own.set_params(n_estimators=n_trees).set_callbacks(*[OutOfBagPlateau(rounds=8)] * (n_trees == 300))
                own._fit_partitions(lambda rank: cut.partitions(rank, X, y, None))
        return own

    alone = clone(model).set_params(n_estimators=5, warm_start=True).fit(X, y)
    alone.set_params(n_estimators=300).set_callbacks(OutOfBagPlateau(rounds=8)).fit(X, y)
    for own in ThreadGroup(3).run(fit):
        assert not differences(own, alone)
