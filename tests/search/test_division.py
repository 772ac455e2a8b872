"""The best cut along numbers that no feature has, against the twin."""

import numpy as np
import pytest
from helpers.rings import examples
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from twins.divisions import best_along

from dforest import DecisionTreeClassifier, DecisionTreeRegressor
from dforest.splitter import PythonSplitter
from dforest.testing import coding
from dforest.testing.scores import Record


class Recorder(PythonSplitter):
    """Asks about some numbers at the root."""

    def __init__(self, numbers=None, kept=None):
        self.numbers = numbers
        self.kept = kept

    def find_split(self, node):
        drawn = zip(node.rows, node.counts, range(node.n_records), node.weights, strict=True)
        draws = [Record(*map(int, record)) for record in drawn]
        self.kept.append((draws, node.targets, node.best_along(self.numbers[node.rows]), node.min_weight))
        return None


NUMBERS = st.one_of(
    st.sampled_from([np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0, float(np.nextafter(1.0, 2.0)), 1e300, -1e300, 5e-324]),
    st.floats(-3, 3),
    st.integers(-4, 4).map(float),
)


@settings(max_examples=examples(150), deadline=None)
@example([0.0, -0.0, np.inf], "gini", 2, 1, 0.0, False, 0)  # the threshold is no -0
@given(st.lists(NUMBERS, min_size=2, max_size=60), st.sampled_from(["gini", "entropy", "squared_error"]), st.integers(2, 4),
       st.integers(1, 3), st.sampled_from([0.0, 0.2]), st.booleans(), st.integers(0, 2**32))
def test_the_best_cut_along_numbers_is_that_of_the_twin(numbers, criterion, n_classes, least, share, weighted, seed):
    rng = np.random.default_rng(seed)
    n = len(numbers)
    assume(n >= 2 * least)
    y = rng.integers(0, 5, n).astype(float) if criterion == "squared_error" else rng.integers(0, n_classes, n)
    y[:2] = 0, 1
    kept = []
    kind = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
    tree = kind(criterion=criterion, splitter=Recorder(np.array(numbers), kept), min_samples_leaf=least,
                min_weight_fraction_leaf=share)
    tree.fit(np.arange(n)[:, None], y, rng.integers(1, 5, n) if weighted else None)
    (draws, targets, found, min_weight), = kept
    targets = coding.quantise(list(targets))[0] if criterion == "squared_error" else targets
    draws = [draw._replace(target=int(target)) for draw, target in zip(draws, targets, strict=True)]
    expected = best_along(numbers, draws, criterion=criterion, n_classes=0 if criterion == "squared_error" else int(y.max()) + 1,
                          min_draws=least, min_weight=min_weight)
    assert repr(found) == repr(expected)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("spread", ["even", "close together", "far apart", "infinite"])
def test_the_best_cut_along_many_numbers(spread):
    """More cuts than are scored at a time, ties across these ranges, and numbers that only their last bits tell apart."""
    rng = np.random.default_rng(0)
    useless = 0
    for n in (255, 256, 257, 700):
        for missing in (0.0, 0.1):
            numbers = rng.permutation(n) / 7
            if spread != "even":
                numbers = 1 + rng.permutation(n) * 2.0**-50
                numbers[:3] = {"close together": 1.0, "far apart": 1e12, "infinite": np.inf}[spread]
            numbers[rng.random(n) < missing] = np.nan
            for values, y in ((numbers, np.arange(n) % 2), (np.repeat(numbers, 2), np.arange(2 * n) % 2)):
                kept = []
                DecisionTreeClassifier(splitter=Recorder(values, kept)).fit(np.zeros((len(y), 1)), y)
                (draws, targets, found, _), = kept
                draws = [draw._replace(target=int(target)) for draw, target in zip(draws, targets, strict=True)]
                assert repr(found) == repr(best_along(values.tolist(), draws, criterion="gini", n_classes=2))
                useless += found[0] == 0.0
    assert useless == 8                      # one cut of which is in the middle
