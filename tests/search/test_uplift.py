"""Criteria of uplift: scores of the naive twin to the bit, formulas of the paper by hand, and what is no cut."""

import numpy as np
import pytest
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.uplift import uplift_score

from dforest.core.search.criteria import UPLIFT_CRITERIA


def cuts_of(random, n_arms, n_cuts, largest):
    """Random left sides of a node, and the node: statistics of two outcomes of each arm."""
    total = random.integers(1, largest, 2 * n_arms, endpoint=True)
    left = np.stack([random.integers(0, total, endpoint=True) for _ in range(n_cuts)])
    left = left[(left.sum(axis=1) > 0) & (left.sum(axis=1) < total.sum())]
    n = int(min(total.sum(), 1000))
    record = lambda c, draws: np.concatenate([[draws], [c.sum()], c])  # noqa: E731
    return np.array([record(c, max(1, n // 2)) for c in left], np.int64).reshape(-1, 2 + 2 * n_arms), record(total, n)


@pytest.mark.parametrize("name", UPLIFT_CRITERIA)
@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 4), st.sampled_from([3, 30, 1000, 2**40]), st.booleans(), st.sampled_from([1, 2, 5]))
def test_scores_are_those_of_the_twin(name, seed, n_arms, largest, normalize, least):
    random = np.random.default_rng(seed)
    left, total = cuts_of(random, n_arms, 20, largest)
    if not len(left):
        return
    smoothing = float(random.choice([0.5, 2.0, 30.0]))
    criterion = UPLIFT_CRITERIA[name](normalize, least, smoothing).configure(2 * n_arms)
    best, score = criterion.score_cuts(left, total)
    scores = [uplift_score(cut.tolist(), total.tolist(), name, normalize, least, smoothing) for cut in left]
    allowed = [found for found in scores if found is not None]
    if not allowed:
        assert best == -1
        return
    assert score == max(allowed)
    assert best == scores.index(score)


def test_gains_by_hand():
    # 8 draws: treated rows with the second outcome go left, and one of the four others.
    total = np.array([8, 8, 3, 1, 2, 2])
    left = np.array([[4, 4, 1, 1, 0, 2]])
    share, p = 3 / 8, lambda second, weight: (second + 2 * 3 / 8) / (weight + 2)
    squared = lambda one, other: 2 * (one - other) ** 2  # noqa: E731
    gain = 0.5 * squared(p(2, 2), p(1, 2)) + 0.5 * squared(p(0, 2), p(0, 2)) - squared(p(2, 4), p(1, 4))
    _, score = UPLIFT_CRITERIA["euclidean"](normalize=False, smoothing=2.0).configure(4).score_cuts(left, total)
    assert score == pytest.approx(8 * gain)
    _, normalized = UPLIFT_CRITERIA["euclidean"](smoothing=2.0).configure(4).score_cuts(left, total)
    assert normalized == pytest.approx(8 * gain / (0.5 * squared(0.5, 0.5) + 0.5 * 0.5 + 0.5 * 0.5 + 0.5))
    kl = lambda one, other: one * np.log2(one / other) + (1 - one) * np.log2((1 - one) / (1 - other))  # noqa: E731
    gain = 0.5 * kl(p(2, 2), p(1, 2)) + 0.5 * kl(p(0, 2), p(0, 2)) - kl(p(2, 4), p(1, 4))
    _, score = UPLIFT_CRITERIA["kl"](smoothing=2.0).configure(4).score_cuts(left, total)
    assert share == 3 / 8 and score == pytest.approx(8 * gain / (kl(0.5, 0.5) + 1.0 + 0.5))


def test_a_unit_of_weight_makes_no_difference():
    left, total = cuts_of(np.random.default_rng(0), 2, 10, 50)
    criterion = UPLIFT_CRITERIA["kl"](least=3).configure(4)
    more = [np.concatenate([own[..., :1], 1024 * own[..., 1:]], axis=-1) for own in (left, total)]
    best, score = criterion.score_cuts(left, total)
    assert criterion.score_cuts(*more) == (best, pytest.approx(1024 * score))


@pytest.mark.parametrize("name", UPLIFT_CRITERIA)
def test_what_is_no_cut(name):
    criterion = UPLIFT_CRITERIA[name]().configure(4)
    without_arm = np.array([[4, 4, 2, 2, 0, 0]])
    assert criterion.score_cuts(without_arm, np.array([8, 8, 2, 2, 2, 2]))[0] == -1
    same_outcomes = np.array([[4, 4, 0, 2, 0, 2]])
    assert criterion.score_cuts(same_outcomes, np.array([8, 8, 0, 4, 0, 4]))[0] == -1
    nothing_gained = np.array([[4, 4, 1, 1, 1, 1]])
    assert criterion.score_cuts(nothing_gained, np.array([8, 8, 2, 2, 2, 2]))[0] == -1


@pytest.mark.parametrize("n_classes", [2, 5])
def test_numbers_of_classes_are_refused(n_classes):
    with pytest.raises(ValueError, match=f"two outcomes of each of two arms or more; there are {n_classes} classes"):
        UPLIFT_CRITERIA["kl"]().configure(n_classes)
