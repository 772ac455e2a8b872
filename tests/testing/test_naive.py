"""What the naive twin computes with, against known answers and against the core."""

import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.rings import some
from hypothesis import given
from hypothesis import strategies as st

import dforest
from dforest.core.grow.trainer import tree_seeds
from dforest.core.integer_weights import integer_weights
from dforest.spmd.threads import ThreadGroup
from dforest.testing import coding, scores, streams


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_philox_known_answers(counter, key, words):
    # From the kat_vectors file of the Random123 distribution.
    counter, key, words = ([int(word, 16) for word in text.split()] for text in (counter, key, words))
    assert list(streams.philox(counter, key)) == words


@pytest.mark.parametrize(
    ("sample_weight", "expected", "unit"),
    [
        ([1, 1, 1], [1, 1, 1], 1),
        ([0.1, 0.1], [1, 1], 0.1),
        ([3, 1], [3, 1], 1),
        ([2, 4], [1, 2], 2),
        ([0.5, 0.75], [2, 3], 0.25),
        ([0.1, 0.2, 0.3], [1, 2, 3], 0.1),
        ([5 / 7, 3 / 7], [5, 3], 1 / 7),
        ([1024 / 7, 1025 / 7], [1024, 1025], 1 / 7),
        ([1025 / 7, 1026 / 7], [round(1025 / 1026 * 2**30), 2**30], 1026 / 7 * 2.0**-30),  # 1025 is not among the divisors
        ([3 * 1025, 3 * 2**28], [1025, 2**28], 3),
        ([2.0**100, 3 * 2.0**100], [1, 3], 2.0**100),
        ([5e-324], [1], 5e-324),
        ([2**31 - 1, 1], [2**31 - 1, 1], 1),
        ([2**31, 1], [2**30, 1], 2),  # 1/2, made 1
        ([2**32 + 2, 7], [2**30, 2], 4 + 2.0**-29),  # 7/4, rounded
        ([1.0, 1e-30], [2**30, 1], 2.0**-30),
    ],
)
def test_integer_weights(sample_weight, expected, unit):
    for weigh in (coding.integer_weights, integer_weights):
        weight, found = weigh(np.array(sample_weight, np.float64))[:2]
        assert weight.dtype == np.uint32 and weight.tolist() == expected and found == unit


@given(
    st.lists(st.integers(2**25, 2**49) | st.integers(1, 2000), min_size=1, max_size=20),
    st.sampled_from([1, 3, 5, 7, 9, 10, 15]),
    st.integers(-500, 500),
)
def test_integer_weights_know_no_unit(numbers, times, exponent):
    """To the bit where the products with any constant are exact, and of weights that are rounded but for the last bit."""
    weight = np.ldexp(np.array(numbers, np.float64), exponent)
    found, scaled, rounded = (integer_weights(weight * factor) for factor in (1.0, times, times * 0.1))
    assert scaled.integers.tolist() == found.integers.tolist()
    assert scaled.unit == pytest.approx(found.unit * times, rel=1e-15)
    assert (scaled.exact is None) == (found.exact is None)
    if found.exact is not None:
        assert scaled.exact.tobytes() == found.exact.tobytes()
        np.testing.assert_allclose(rounded.integers.astype(float), found.integers, rtol=0, atol=1)
        np.testing.assert_allclose(rounded.in_units, found.in_units, rtol=1e-15)
    elif found.integers.min() <= 1024 and found.integers.max() <= 2**20:
        assert rounded.integers.tolist() == found.integers.tolist()


@given(
    st.lists(st.integers(1, 2**21), min_size=1, max_size=9),
    st.floats(1e-300, 1e-3),
    st.sampled_from([1, 3, 7, 10, 49, 1000]),
    st.integers(0, 3),
)
def test_small_multiples_of_a_number_become_integers(times, factor, divisor, change):
    weight = np.array(times) * factor / divisor
    weight[0] += change % 3 * np.spacing(weight[0])  # of which at most one is the rounding of a multiple
    expected, expected_unit = coding.integer_weights(weight)
    found, unit, _ = integer_weights(weight)
    assert found.tolist() == expected.tolist()
    assert abs(unit - expected_unit) <= np.spacing(unit)

    def agree(communicator):
        with communicator.together() as ranks:
            return integer_weights(weight[ranks.rank :: 2], ranks)[:2]

    together = ThreadGroup(2).run(agree)
    assert np.array_equal(together[0][0], found[::2]) and np.array_equal(together[1][0], found[1::2])
    assert together[0][1] == together[1][1] == unit


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 4)), min_size=1, max_size=12))
def test_medians(pairs):
    y, weight = zip(*pairs, strict=True)
    repeated = [v for v, w in pairs for _ in range(w)]
    assert coding.median_target([float(v) for v in y], weight) == statistics.median(repeated)
    assert scores.lower_median([scores.Record(0, 1, v, w) for v, w in pairs]) == statistics.median_low(repeated)
    assert coding.median_target([1.7e308, 1.6e308], [3, 3]) == 0.5 * 1.7e308 + 0.5 * 1.6e308


@pytest.mark.parametrize(
    ("module", "others"),
    [
        ("naive", ("twins.labels", "twins.sampling", "twins.splits")),
        ("boosting", (
            "twins.boosted_cuts", "twins.chances", "twins.dropout", "twins.gradients", "twins.linear_leaves", "twins.losses",
            "twins.projections", "twins.sampling", "twins.splits",
        )),
    ],
)
def test_nothing_compiled_is_imported(module, others):
    code = """
import importlib, sys, types
sys.path.insert(0, sys.argv[1])
for name, folder in [("dforest", sys.argv[2]), ("dforest.testing", sys.argv[2] + "/testing")]:
    sys.modules[name] = types.ModuleType(name)       # without running the package's own imports
    sys.modules[name].__path__ = [folder]
importlib.import_module("twins." + sys.argv[3])
print(sorted(name for name in sys.modules if name.startswith(("dforest", "twins."))))
"""
    folders = [str(Path(__file__).parents[1]), str(Path(dforest.__file__).parent)]
    command = [sys.executable, "-I", "-c", code, *folders, module]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    shared = [f"dforest.testing.{name}" for name in ("coding", "scores", "streams", *["survival"] * (module == "naive"))]
    assert output.strip() == str(["dforest", "dforest.testing", *shared, *sorted((f"twins.{module}", *others))])


def test_seeds_of_trees_are_those_of_the_core():
    for seed in (0, 1, 2**64 - 1):
        for first in (0, 2**16 - 3, 2**32 - 6):
            trees = range(first, first + 6)
            assert tree_seeds(seed, trees).tolist() == [streams.tree_seed(seed, tree) for tree in trees]


def test_no_two_trees_of_a_forest_share_a_seed():
    for seed in some((2**63 - 1, 0, 7), 1):
        seeds = tree_seeds(seed, range(10**6))
        assert len(np.unique(seeds)) == 10**6
        # Their bits are even, and those of neighbours have nothing in common: within 5 standard deviations.
        ones = np.unpackbits(seeds.view(np.uint8).reshape(-1, 4), axis=1)
        assert np.abs(ones.mean(axis=0) - 0.5).max() < 5 * 0.5 / 1000
        changed = np.unpackbits((seeds[1:] ^ seeds[:-1]).view(np.uint8).reshape(-1, 4), axis=1)
        assert np.abs(changed.mean(axis=0) - 0.5).max() < 5 * 0.5 / 1000
    assert not np.intersect1d(tree_seeds(0, range(1000)), tree_seeds(1, range(1000))).size
