"""What trees draw on a device: the core's draws, to the bit; those of plans without a kernel are copied."""

import numpy as np
import pytest
from twins.sampling import twin_of

from dforest.core.draws import Groups, Strata, TreeDraws
from dforest.core.sampling import AllRows, Bootstrap, Subsample
from dforest.engines.device.out_of_bag import predict_out_of_bag
from dforest.engines.device.sampling import PLANS, RowCounts
from dforest.rules.arrays import BLOCK


@pytest.mark.parametrize("n_items", [1, 16])
@pytest.mark.parametrize("n_rows", [1, 300, BLOCK, 2 * BLOCK + 1])
def test_counts_are_those_of_the_twin(device, tuning, n_rows, n_items):
    tuning["n_items"] = n_items
    seeds = np.array([5, 2**32 - 1, 7], np.uint32)
    draws = TreeDraws((Bootstrap(9000), Bootstrap(20), Bootstrap(3)), seeds, n_rows, 1)
    expected = np.stack([twin_of(plan).counts(n_rows, seed) for plan, seed in zip(draws.plans, seeds, strict=True)])
    for trees in (slice(None), slice(1, 3)):
        here = expected[trees]
        for found in (RowCounts.drawn(device, draws, trees), RowCounts.known(device, here)):
            np.testing.assert_array_equal(found.there.get(), here)
            n_drawn = [[(row[i : i + BLOCK] > 0).sum() for i in range(0, n_rows, BLOCK)] for row in here]
            np.testing.assert_array_equal(found.n_drawn, n_drawn)
            assert found.n_drawn.dtype == np.int64 and found.most == here.max()


def test_numbers_that_are_passed_over(device, tuning):
    """Of so many rows, one number in a million would favour some of them; a few trees in a thousand meet one."""
    n_rows = max(range(BLOCK), key=lambda n: 2**32 % max(1, n))
    tuning["n_items"] = min(64, device.max_items)
    seeds = np.arange(3000, dtype=np.uint32)
    plans = (Bootstrap(n_rows),) * len(seeds)
    found = RowCounts.drawn(device, TreeDraws(plans, seeds, n_rows, 1))
    expected = np.stack([plan.counts(n_rows, seed) for plan, seed in zip(plans, seeds.tolist(), strict=True)])
    np.testing.assert_array_equal(found.there.get(), expected)


def test_all_rows_need_no_counts(device):
    found = RowCounts.drawn(device, TreeDraws((AllRows(),) * 2, np.zeros(2, np.uint32), BLOCK + 9, 1))
    assert found.there is None and found.n_drawn.tolist() == [[BLOCK, 9]] * 2 and found.most == 1


def test_plans_without_a_kernel_are_drawn_by_the_processor(device):
    n_rows = BLOCK + 9
    stratum = (np.arange(n_rows) % 3).astype(np.uint32)
    plans = Subsample(700), Strata(stratum, np.array([5, 900, 40]), True), Groups(None, 11, True, n_rows, 20), AllRows()
    assert {Subsample, Strata, Groups}.isdisjoint(PLANS)
    seeds = np.array([3, 4, 5, 6], np.uint32)
    found = RowCounts.drawn(device, TreeDraws(plans, seeds, n_rows, 1))
    here = np.stack([plan.counts(n_rows, seed) for plan, seed in zip(plans, seeds.tolist(), strict=True)])
    np.testing.assert_array_equal(found.there.get(), here)
    np.testing.assert_array_equal(found.n_drawn, np.add.reduceat(here > 0, [0, BLOCK], axis=1))
    assert found.most == here.max()


class Packed:
    """As much of a packed forest as is looked at before its trees."""

    splitter = None

    @staticmethod
    def arrays():
        return [np.zeros(1)] * 7


def test_plans_that_leave_no_rows_out_are_refused_out_of_bag(device):
    draws = TreeDraws((Bootstrap(5), AllRows()), np.zeros(2, np.uint32), 5, 1)
    with pytest.raises(ValueError, match=r"AllRows\(\) leaves no rows out"):
        predict_out_of_bag(device, Packed(), np.zeros((5, 1)), np.zeros(5), None, draws, 0)
