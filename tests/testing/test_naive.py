"""The naive twin against textbook formulas, known answers and trees checked by hand."""

import math
import statistics
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from helpers.rings import some
from hypothesis import example, given
from hypothesis import strategies as st
from twins import naive

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


def test_stream_is_the_blocks_in_order():
    stream = streams.Stream(2**32 - 1, 7 + (9 << 32), 2)
    words = [w for block in range(3) for w in streams.philox((block, 0, 7, 9), (2**32 - 1, 2))]
    assert [stream.next() for _ in range(12)] == words


@pytest.mark.parametrize("n", [1, 3 * 2**30, 2**32 - 1])
def test_below_is_in_range_and_even(n):
    stream = streams.Stream(0, 0, 1)
    draws = [stream.below(n) for _ in range(3000)]
    assert 0 <= min(draws) and max(draws) < n
    # Within 5 standard deviations of a uniform variable's mean.
    assert abs(np.mean(draws) - (n - 1) / 2) <= 5 * math.sqrt((n * n - 1) / 12 / 3000)


def test_bins_of_equal_shares():
    x = np.arange(12.0)
    assert coding.bin_edges(x, 4) == [2.5, 5.5, 8.5, np.inf]
    assert coding.bin_edges(x, 12) == [*np.arange(0.5, 11), np.inf]
    # A heavy value fills a bin; the others share the rest.
    assert coding.bin_edges(x, 3, [1] * 5 + [99] + [1] * 6) == [4.5, 5.5, np.inf]
    # Where two ends are as close to the share, the bin takes the value.
    assert coding.bin_edges(np.array([0.0, 1, 2]), 2) == [1.5, np.inf]
    # A value of weight w is w equal rows.
    weight = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
    assert coding.bin_edges(x, 5, weight) == coding.bin_edges(np.repeat(x, weight), 5)
    assert coding.bin_edges(np.full(3, np.nan), 4) == []


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


sides = st.integers(1, 6).flatmap(lambda k: st.tuples(*[st.lists(st.integers(0, 1000), min_size=k, max_size=k).filter(any)] * 2))


def as_statistics(left, right):
    total = [a + b for a, b in zip(left, right, strict=True)]
    return [0, sum(left), *left], [0, sum(total), *total]


def decrease(impurity, left, right):
    """Weight times impurity decrease by the definition."""
    total = [a + b for a, b in zip(left, right, strict=True)]
    return sum(total) * impurity(total) - sum(left) * impurity(left) - sum(right) * impurity(right)


@given(sides)
def test_gini_score(sides):
    left, right = sides
    gini = decrease(lambda c: 1 - sum(Fraction(k, sum(c)) ** 2 for k in c), left, right)
    assert scores.gini_score(*as_statistics(left, right)) == pytest.approx(float(gini), rel=1e-14)


@given(sides)
def test_entropy_score(sides):
    left, right = sides
    bits = decrease(lambda c: -sum(k / sum(c) * math.log2(k / sum(c)) for k in c if k), left, right)
    score = scores.entropy_score(*as_statistics(left, right))
    assert score >= 0 and score == pytest.approx(bits, rel=1e-9, abs=1e-9)


draws = st.lists(st.tuples(st.integers(1, 2**31 - 1), st.integers(1 - 2**31, 2**31 - 1)), min_size=1, max_size=8)


@given(draws, draws)
def test_squared_error_score(left, right):
    def error(draws):  # sum of w * (q - mean)**2
        weight = sum(w for w, _ in draws)
        mean = Fraction(sum(w * q for w, q in draws), weight)
        return sum(w * (q - mean) ** 2 for w, q in draws)

    def statistic(draws):
        return [len(draws), sum(w for w, _ in draws), sum(w * q for w, q in draws)]

    score = scores.squared_error_score(statistic(left), statistic(left + right))
    exact = error(left + right) - error(left) - error(right)
    weight = sum(w for w, _ in left + right)
    assert score == pytest.approx(float(exact), rel=1e-9, abs=1e-15 * weight)


@given(st.lists(st.floats(-1e6, 1e6) | st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
@example([0.0, np.nextafter(2.0, 0.0)])  # which are rounded to a power of two
def test_quantise(y):
    target, (centre, exponent, span) = coding.quantise(y)
    assert max(map(abs, target)) < 2**31 and span == max(target) - min(target)
    if min(y) == max(y):
        assert (span, exponent, centre) == (0, 0, y[0])
        return
    assert max(map(abs, target)) >= 2**30 - 1  # no scale twice as fine would do
    for v, q in zip(y, target, strict=True):
        assert abs(Fraction(v - centre) * Fraction(2) ** exponent - q) <= Fraction(1, 2)


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 4)), min_size=1, max_size=12))
def test_medians(pairs):
    y, weight = zip(*pairs, strict=True)
    repeated = [v for v, w in pairs for _ in range(w)]
    assert coding.median_target([float(v) for v in y], weight) == statistics.median(repeated)
    assert scores.lower_median([scores.Record(0, 1, v, w) for v, w in pairs]) == statistics.median_low(repeated)
    assert coding.median_target([1.7e308, 1.6e308], [3, 3]) == 0.5 * 1.7e308 + 0.5 * 1.6e308


def test_tiny_tree_by_hand():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0], [8.0, 5.0], [np.nan, 5.0]])
    tree = naive.grow_tree(X, [0, 0, 1, 1, 1], criterion="gini", method="dense", n_classes=2)
    assert naive.flatten(tree)["feature"].tolist() == [0, -1, -1]
    assert (tree.threshold, tree.missing_left, tree.draws, tree.weight) == (3.0, False, 5, [2, 3])
    assert (tree.left.weight, tree.right.weight) == ([2, 0], [0, 3])
    # Values to one side, missing ones to the other: +inf. So too if missing ones are not half of the draws.
    X = np.array([[1.0], [2.0], [np.nan], [np.nan]])
    tree = naive.grow_tree(X, [0, 0, 1, 1], criterion="entropy", method="hist", n_classes=2)
    assert (tree.threshold, tree.missing_left) == (np.inf, False)


def test_tiny_regression_by_hand():
    X = np.array([[1.0], [2.0], [4.0], [8.0]], np.float32)
    arrays = naive.flatten(naive.grow_tree(X, [0.1, 0.1, 7, 9], criterion="squared_error", method="hist"), X.dtype)
    assert arrays["feature"].tolist() == [0, -1, 0, -1, -1]
    assert arrays["threshold"].dtype == np.float32 and arrays["threshold"].tolist() == [3, 0, 6, 0, 0]
    assert arrays["right"].tolist() == [2, 0, 4, 0, 0]
    assert arrays["value"].tolist() == pytest.approx([math.nan, 0.1, math.nan, 7, 9], rel=0, abs=0, nan_ok=True)
    assert arrays["weight"].tolist() == [[4], [2], [2], [1], [1]] and arrays["draws"].tolist() == [4, 2, 2, 1, 1]


@pytest.mark.parametrize(
    ("module", "others"),
    [
        ("naive", ("twins.labels", "twins.sampling", "twins.splits")),
        ("boosting", ("twins.boosted_cuts", "twins.gradients", "twins.losses", "twins.sampling", "twins.splits")),
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
