"""Steps after growth: leaves that are filled anew, on any engine, with the same bits."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.device_forests import TUNINGS, random_fit, standing_in, tables, tuned
from helpers.host_device import strict_device
from helpers.ranks import CUTS, Cut, fit_by_ranks
from helpers.rings import some

import dforest
from dforest.core.sampling import AllRows, Bootstrap, Subsample
from dforest.engines.tree_steps import RefilledLeaves


def refilling(model, sampling, problems=None):
    """An unfitted copy of a forest whose leaves are filled with the draws of another plan; None: that of the trees."""

    class Refilling(type(model)):
        def _make_problem(self, plan, rows, *others):
            problem = super()._make_problem(plan, rows, *others)
            settings = {"n_categories": self._features.n_categories, "criterion": self._own_criterion(), "splitter": None}
            step = RefilledLeaves(problem, rows.parts, sampling or problem.sampling, rows.ranks, **settings)
            return replace(problem, after_tree=step)

    return Refilling(**model.get_params(deep=False))


def fits(seeds):
    """Random forests without what leaves can't be filled anew with, and data for each."""
    for seed in seeds:
        model, X, y, weight = random_fit(seed)
        if model.monotonic_cst is None and (np.ndim(y) == 1 or model.criterion != "absolute_error"):
            yield seed, model, X, y, weight


@pytest.mark.parametrize("first", some(range(0, 200, 10), 5))
def test_the_draws_that_trees_were_grown_by_change_nothing(first):
    """But for impurities, whose sums are over integers that depend on the nodes above."""
    for seed, model, X, y, weight in fits(range(first, first + 10)):
        expected = model.fit(X, y, weight).forest_
        found = refilling(model, None).fit(X, y, weight).forest_
        assert np.array_equal(found.feature, expected.feature), seed
        for name in expected.objective.leaf_words.keys() - {"leaf_impurity"}:
            per_leaf = (getattr(one, name)[one.leaf_row[one.feature < 0]] for one in (found, expected))
            np.testing.assert_array_equal(*per_leaf, err_msg=f"{seed} {name}")


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("plan", [AllRows(), Bootstrap(70), Subsample(9)], ids=["all", "bootstrap", "few"])
def test_leaves_say_what_other_draws_say(classes, plan):
    rng = np.random.default_rng(3)
    X, weight = rng.normal(size=(300, 4)), rng.integers(1, 4, 300).astype(np.float64)
    y = rng.integers(0, 3, 300) if classes else rng.normal(size=300)
    kind = dforest.RandomForestClassifier if classes else dforest.RandomForestRegressor
    model = kind(5, min_samples_leaf=4, random_state=0)
    own, forest = model.fit(X, y, weight).forest_, refilling(model, plan).fit(X, y, weight).forest_
    n_kept = 0
    for t in range(5):
        tree, before = forest.tree(t), own.tree(t)
        counts = plan.counts(300, int(forest.seeds[t]))
        reached = tree.packed().apply(X, 1)[:, 0]
        for leaf in np.flatnonzero(tree.feature < 0):
            here, row = counts * (reached == leaf), tree.leaf_row[leaf]
            if not here.any():
                n_kept += 1
                assert tree.leaf_draws[row] == before.leaf_draws[before.leaf_row[leaf]]
                continue
            assert tree.leaf_draws[row] == here.sum()
            if classes:
                assert tree.leaf_weight[row].tolist() == np.bincount(y, here * weight, 3).tolist()
            else:
                assert tree.leaf_value[row] == pytest.approx(np.average(y, weights=here * weight), abs=1e-12)
    assert (n_kept == 0) == isinstance(plan, AllRows)


@pytest.mark.parametrize("first", some(range(200, 300, 10), 3))
def test_devices_and_ranks_fill_leaves_alike(first):
    for seed, model, X, y, weight in fits(range(first, first + 10)):
        rng, plan = np.random.default_rng(seed), Bootstrap(1 + len(y) // 2)
        filled = refilling(model, plan)
        expected = tables(filled.set_params(n_jobs=1).fit(X, y, weight).forest_)
        assert tables(filled.set_params(n_jobs=3).fit(X, y, weight).forest_) == expected, seed
        tuning = TUNINGS[seed % len(TUNINGS)]
        with standing_in(strict_device()), tuned(tuning | {"n_items": 1}):
            there = filled.set_params(device="sycl").fit(X, y, weight).forest_
        assert tables(there) == expected, seed
        filled.set_params(device=None)
        size = int(rng.integers(2, 4))
        for fitted in fit_by_ranks(filled, X, y, weight, Cut.random(rng, len(y), size, CUTS[seed % len(CUTS)]), size):
            assert tables(fitted.forest_) == expected, seed


def test_estimates_out_of_bag_are_of_leaves_as_they_are():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    model = dforest.RandomForestRegressor(30, oob_score=True, random_state=0)
    filled = refilling(model, Bootstrap(200)).fit(X, y)
    trees = np.stack([tree.predict(X) for tree in filled.estimators_])
    left_out = np.stack([filled.forest_.left_out(t) for t in range(30)])
    expected = (trees * left_out).sum(axis=0) / left_out.sum(axis=0)
    np.testing.assert_allclose(filled.oob_prediction_, expected)


def test_what_leaves_depend_on_beside_draws_is_refused():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    with pytest.raises(ValueError, match="monotonic constraints bound what they predict"):
        refilling(dforest.RandomForestRegressor(2, monotonic_cst=[1]), None).fit(X, y)
