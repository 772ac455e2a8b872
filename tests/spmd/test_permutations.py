"""Importances by permutation, by ranks: the bits of one process, however the rows are cut among ranks."""

import numpy as np
import pytest
from helpers.out_of_bag import random_problem
from helpers.ranks import CUTS, Cut, fit_by_ranks, one_of, without_error
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from twins import naive

import dforest
from dforest import RandomForestClassifier, RandomForestRegressor
from dforest.core.draws import TreeDraws
from dforest.core.predict.permutation import Permutations, permute_values, rise_of
from dforest.rules.arrays import BLOCK
from dforest.splitter import PythonSplitter, Test
from dforest.spmd import permutations
from dforest.spmd.threads import ThreadGroup

PERMUTATION = 5  # the purpose of the random streams that permute columns
NAMES = ["importances", "importances_mean", "importances_std", "importances_scaled"]


def problem(seed, n=None):
    """(a forest that has importances, X, y, sample_weight or None)"""
    model, *given = random_problem(seed, n)
    return model.set_params(oob_score=False, variable_importance=["mda_raw", "mda_scaled"][seed % 2]), *given


def importance_by_ranks(model, X, y, weight, cut, size):
    """What `oob_importance` returns on each rank, or raises."""

    def work(communicator):
        own = cut.rows(communicator.rank)
        with dforest.config_context(communicator=communicator):
            return model.oob_importance(X[own], y[own], None if weight is None else weight[own])

    return ThreadGroup(size).run(work)


def assert_same(model, found):
    for own in without_error(found):
        for name in ("variable_importance_", "variable_importance_std_"):
            assert getattr(own, name).tobytes() == getattr(model, name).tobytes(), (name, getattr(own, name))


@pytest.mark.parametrize("round_bytes", [1, 1 << 28])
@pytest.mark.parametrize("seed", range(36))
def test_importances_have_the_bits_of_one_process(monkeypatch, seed, round_bytes):
    """In rounds of one pair for each rank, or more."""
    monkeypatch.setattr(permutations, "ROUND_BYTES", round_bytes)
    rng = np.random.default_rng(seed)
    size, kind = one_of(rng, 1, 2, 3, 5, 8), CUTS[seed % len(CUTS)]
    model, X, y, weight = problem(seed)
    cut = Cut.random(rng, len(X), size, kind)
    found = fit_by_ranks(model, X, y, weight, cut, size)
    assert_same(clone(model).fit(X, y, weight), found)


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_many_blocks(seed):
    model, X, y, weight = problem(seed, n=3 * BLOCK + 77)
    model.set_params(n_estimators=3, max_depth=6).fit(X, y, weight)
    for size, kind in ((2, "interleaved"), (3, "random")):
        cut = Cut.random(np.random.default_rng([seed, size]), len(X), size, kind)
        assert_same(model, fit_by_ranks(model, X, y, weight, cut, size))


@pytest.mark.parametrize("seed", range(12))
def test_oob_importance_by_ranks(seed):
    """A forest of one process, on ranks that have consecutive rows."""
    model, X, y, weight = problem(seed)
    whole = model.fit(X, y, weight).oob_importance(X, y, weight)
    rng = np.random.default_rng(seed)
    for size in (1, 2, 5):
        cut = Cut.random(rng, len(X), size, one_of(rng, "even", "random", "empty", "one row"))
        for found in without_error(importance_by_ranks(model, X, y, weight, cut, size)):
            for name in NAMES:
                assert found[name].tobytes() == whole[name].tobytes(), (seed, size, name)


def test_errors_are_raised_on_all_ranks():
    model, X, y, _ = problem(0, n=60)
    model.fit(X, y)
    cut = Cut(np.array([0, 20, 60]), np.arange(2))
    for found in importance_by_ranks(model, X[:59], y[:59], None, Cut(np.array([0, 20, 59]), np.arange(2)), 2):
        assert isinstance(found, ValueError) and "X has 59 rows of positive weight, but trees were grown on 60 rows" in str(found)
    for found in importance_by_ranks(model, X[::-1], y[::-1], None, cut, 2):
        assert isinstance(found, ValueError) and "or has them in another order" in str(found)
    others = [model, clone(model).set_params(random_state=99).fit(X, y)]

    def work(communicator):
        own = cut.rows(communicator.rank)
        with dforest.config_context(communicator=communicator):
            return others[communicator.rank].oob_importance(X[own], y[own])

    others[1].set_params(random_state=model.random_state)
    for found in ThreadGroup(2).run(work):
        assert isinstance(found, ValueError) and "the digest of the forest" in str(found)
    others[1] = clone(model)
    for found in ThreadGroup(2).run(work):
        assert isinstance(found, NotFittedError) and str(found).startswith("on rank 1: This ")


# What ranks do for themselves


@pytest.mark.parametrize("n_threads", [1, 3])
def test_values_are_permuted_by_the_stream_of_a_tree_and_a_feature(n_threads):
    arrays = [np.arange(9, dtype=np.float32), np.arange(1.0), np.arange(0.0), np.arange(100.0)]
    found = permute_values(arrays, [3, 4, 5, 6], [0, 1, 2, 70], n_threads)
    for array, seed, feature, values in zip(arrays, (3, 4, 5, 6), (0, 1, 2, 70), found, strict=True):
        stream, expected = naive.Stream(seed, feature, PERMUTATION), array.copy()
        for i in range(len(array) - 1):
            at = i + stream.below(len(array) - i)
            expected[[i, at]] = expected[[at, i]]
        assert values.dtype == array.dtype and values.tolist() == expected.tolist()


def grown(n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0] + X[:, 2])
    forest = RandomForestRegressor(2, random_state=0).fit(X, y).forest_
    draws = TreeDraws(forest.plans, forest.seeds, n, 1)
    return X, forest, (forest.packed_leaves(), X, y, forest.leaf_value, True, None, draws)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("has_own_tests", [False, True])
def test_given_values_give_the_rises_of_permuted_columns(n_threads, has_own_tests):
    """All features at once, or one at a time; along paths, or by copies of rows."""
    X, forest, work = grown(30_000)
    used = np.ones((2, 3), np.uint8)
    job = Permutations(*work, used if has_own_tests else None)
    whole = job.error_increases(1)
    left_out = job.weigh_left_out(n_threads)
    for t in range(2):
        rows = np.flatnonzero(forest.row_counts(t) == 0)
        assert left_out[t].tolist() == [len(rows)] * 2
        np.testing.assert_array_equal(job.left_out(t, len(rows)), rows)
        values = permute_values([X[rows, j] for j in range(3)], [forest.seeds[t]] * 3, range(3), 1)
        for features in ([0, 1, 2], [1], [0, 2], [2]):
            digits = np.zeros((len(features), 68), np.int64)
            at = np.array(features)
            if len(features) == 2:  # between them lies a feature that is not given, and is not tried
                digits_of_both = digits
            for half in (slice(None, 9000), slice(9000, None)):  # digits add up
                some = [values[j][half] for j in features]
                job.add_error_increases(t, rows[half].astype(np.uint32), at, some, digits, n_threads)
            np.testing.assert_array_equal(rise_of(digits) / len(rows), whole[t, features])
    assert digits_of_both.any()


def test_given_values_are_checked():
    X, forest, work = grown(100)
    job = Permutations(*work)
    rows, at, digits = np.arange(4, dtype=np.uint32), np.array([0, 2]), np.zeros((2, 68), np.int64)
    values = [np.zeros(4), np.zeros(4)]
    job.add_error_increases(0, rows, at, values, digits, 1)
    for wrong in [(0, rows, at, values[:1], digits), (0, rows, at, [np.zeros(3)] * 2, digits), (0, rows, at, values, digits[:1]),
                  (2, rows, at, values, digits), (0, rows, at + 1, values, digits), (0, rows, at[::-1].copy(), values, digits),
                  (0, rows + np.uint32(97), at, values, digits)]:  # fmt: skip
        with pytest.raises(ValueError, match="arrays of values and digits|allowed are features of 3, ascending, and rows of 100"):
            job.add_error_increases(*wrong, 1)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores", "ignore:R.2 score is not well-defined")
def test_several_parts_in_one_process():
    """Without ranks: estimates and importances of a fit of partitions, none of which is put beside another one."""
    for seed in range(4):
        model, X, y, weight = problem(seed, n=90)
        model.set_params(oob_score=True)
        cut = Cut(np.array([0, 7, 7, 60, 90]), np.zeros(4, int))
        one = clone(model).fit(X, y, weight)
        own = clone(model)._fit_partitions(lambda rank, given=(X, y, weight), cut=cut: cut.partitions(0, *given))
        assert_same(one, [own])
        assert own.oob_score_ == one.oob_score_ and own.oob_curve_.tobytes() == one.oob_curve_.tobytes()


class SumTest(PythonSplitter):
    """The best cut of the sum of two features."""

    def find_split(self, node):
        a, b = node.random(purpose=0).choice(node.n_features, 2, replace=False)
        score, threshold, _ = node.best_along(node.values(a) + node.values(b))
        return Test([a, b, threshold], feature=int(a), score=score) if score >= 0 else None

    def goes_left(self, payload, X):
        a, b = payload[:2].astype(int)
        return X[:, a].astype(float) + X[:, b] <= payload[2]

    def used_features(self, payload):
        return payload.view(float)[:2].astype(int), np.array([0.5, 0.5])


def test_trees_of_tests_of_a_splitter_s_own():
    """They are grown in one process; importances by ranks follow what the splitter says of copies of rows."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 3)), rng.integers(0, 2, 200)
    model = RandomForestClassifier(3, splitter=SumTest(), method="dense", random_state=0).fit(X, y)
    whole = model.oob_importance(X, y)
    cut = Cut(np.array([0, 90, 200]), np.arange(2))
    for found in importance_by_ranks(model, X, y, None, cut, 2):
        assert found["importances"].tobytes() == whole["importances"].tobytes()
    assert (whole["importances"] != 0).any()
