"""Losses for ranking and what rankings are worth: those of a naive twin, for any groups and any number of threads."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score
from twins import ranking as twin

from dforest.core import loops
from dforest.core.boost.loss import GroupedRows
from dforest.core.boost.ranking import scores_of_groups
from dforest.loss import LambdaRank, LossError, PairwiseRank, PythonLoss

RAW = st.floats(-30, 30) | st.sampled_from([0.0, 0.5, 1.0])


@st.composite
def groups(draw, max_rows=40, max_grade=4):
    """(grades, raw predictions, numbers of groups) of some rows."""
    n = draw(st.integers(1, max_rows))
    grades = draw(st.lists(st.integers(0, max_grade), min_size=n, max_size=n))
    raw = draw(st.lists(RAW, min_size=n, max_size=n))
    numbers = draw(st.lists(st.integers(0, draw(st.integers(0, 4))), min_size=n, max_size=n))
    return np.array(grades, float), np.array(raw), np.array(numbers, np.int64)


def by_group(function, *columns, numbers):
    """What a function of a group's columns makes of each group, row by row."""
    found = np.array([np.zeros(len(numbers)) for _ in range(2)])
    for number in np.unique(numbers):
        rows = np.flatnonzero(numbers == number)
        found[:, rows] = function(*(column[rows] for column in columns))
    return found


def of_groups(loss, numbers):
    return loss.configured(0).bound(GroupedRows(numbers))


@settings(deadline=None)
@given(groups(), st.sampled_from([1, 2, 5, 30]), st.sampled_from([0.5, 1.0, 3.0]), st.booleans(), st.booleans())
def test_derivatives_are_the_twins(rows, truncation, sigmoid, normalize, is_pairwise):
    y, raw, numbers = rows
    loss = PairwiseRank(truncation, sigmoid) if is_pairwise else LambdaRank(truncation, sigmoid, normalize)
    gradient, hessian = of_groups(loss, numbers).derivatives(y, raw[:, None])
    name = "pairwise" if is_pairwise else "lambdarank"

    def derived(y, raw):
        return twin.derivatives(name, y, raw, truncation, sigmoid, normalize and not is_pairwise)

    known = by_group(derived, y, raw, numbers=numbers)
    # A gradient is a sum of terms of both signs; Hessians bound their sizes where probabilities are not close to 0 or 1.
    for found, exact in zip((gradient[:, 0], hessian[:, 0]), known, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max(initial=0))


@settings(deadline=None)
@given(groups(), st.sampled_from([1, 5, 30]), st.booleans())
def test_values_are_the_twins_and_derivatives_are_those_of_values(rows, truncation, is_pairwise):
    y, raw, numbers = rows
    loss = of_groups(PairwiseRank(truncation) if is_pairwise else LambdaRank(truncation, normalize=False), numbers)
    name = "pairwise" if is_pairwise else "lambdarank"
    values = loss.values(y, raw[:, None])
    np.testing.assert_allclose(
        values, by_group(lambda y, raw: twin.values(name, y, raw, truncation, 1.0), y, raw, numbers=numbers)[0], rtol=1e-12
    )


def test_gradients_of_pairs_are_slopes_of_the_loss():
    rng = np.random.default_rng(0)
    y, raw, numbers = rng.normal(size=60), rng.normal(size=60), rng.integers(0, 4, 60)
    loss, step = of_groups(PairwiseRank(sigmoid=1.5), numbers), 1e-4

    def total(raw):
        return loss.values(y, raw[:, None]).sum()

    gradient, hessian = loss.derivatives(y, raw[:, None])
    for row in range(0, 60, 7):
        above, below = raw.copy(), raw.copy()
        above[row] += step
        below[row] -= step
        assert gradient[row, 0] == pytest.approx((total(above) - total(below)) / (2 * step), rel=1e-6, abs=1e-8)
        assert hessian[row, 0] == pytest.approx((total(above) + total(below) - 2 * total(raw)) / step**2, rel=1e-4, abs=1e-4)


@given(groups(), st.randoms(use_true_random=False))
def test_the_order_of_groups_changes_no_bit(rows, random):
    y, raw, numbers = rows
    names = list(np.unique(numbers))
    random.shuffle(names)
    order = np.concatenate([np.flatnonzero(numbers == name) for name in names])
    mixed = np.argsort(np.array([random.random() for _ in numbers]), kind="stable")
    mixed = mixed[np.argsort(numbers[mixed], kind="stable")]  # rows of a group in another order ...
    mixed = np.sort(mixed) if len(set(raw)) < len(raw) else mixed  # ... which counts where raw predictions are equal
    gradient, hessian = of_groups(LambdaRank(), numbers).derivatives(y, raw[:, None])
    for rows in (order, mixed):
        other, curve = of_groups(LambdaRank(), numbers[rows]).derivatives(y[rows], raw[rows, None])
        assert (other == gradient[rows]).all() and (curve == hessian[rows]).all()


@settings(deadline=None)
@given(groups(max_rows=30), st.sampled_from([1, 3, 10, None]))
def test_scores_without_ties(rows, k):
    y, raw, numbers = rows
    raw = raw + np.arange(len(raw)) * 1e-6
    raw = np.argsort(np.argsort(raw)).astype(float)  # without ties
    found = {metric: scores_of_groups(metric, y, raw, GroupedRows(numbers), k) for metric in ("ndcg", "map")}
    for number in np.unique(numbers):
        own = numbers == number
        places = own.sum() if k is None else k
        assert found["ndcg"][number] == pytest.approx(twin.ndcg(y[own], raw[own], places), rel=1e-12)
        assert found["map"][number] == pytest.approx(twin.average_precision(y[own], raw[own], places), rel=1e-12)
        if own.sum() > 1 and y[own].any():
            assert found["ndcg"][number] == pytest.approx(ndcg_score([2 ** y[own] - 1], [raw[own]], k=k), rel=1e-9)


def test_equal_predictions_count_by_the_mean_over_orders():
    rng = np.random.default_rng(1)
    for _ in range(20):
        y, raw = rng.integers(0, 4, 6).astype(float), rng.integers(0, 3, 6).astype(float)
        one = GroupedRows(np.zeros(6, np.int64))
        for k in (1, 3, 6):
            orders = [np.array(order) for order in permutations(range(6))]
            both = [(twin.ndcg(y[o], raw[o], k), twin.average_precision(y[o], raw[o], k)) for o in orders]
            assert scores_of_groups("ndcg", y, raw, one, k)[0] == pytest.approx(np.mean(both, axis=0)[0], rel=1e-12)
            assert scores_of_groups("map", y, raw, one, k)[0] == pytest.approx(np.mean(both, axis=0)[1], rel=1e-12)


def test_large_groups_and_scores_by_threads():
    rng = np.random.default_rng(2)
    n = 4500  # more than discounts that are listed
    y, raw = rng.integers(0, 3, n).astype(float), rng.normal(size=n)
    one = GroupedRows(np.zeros(n, np.int64))
    assert scores_of_groups("ndcg", y, raw, one)[0] == pytest.approx(twin.ndcg(y, raw, n), rel=1e-12)
    gradient, _ = LambdaRank(3).configured(0).bound(one).derivatives(y, raw[:, None])
    exact, _ = twin.derivatives("lambdarank", y, raw, 3, 1.0, True)
    np.testing.assert_allclose(gradient[:, 0], exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())
    many = GroupedRows(rng.integers(0, 1000, n))
    for metric in ("ndcg", "map"):
        alone, together = (scores_of_groups(metric, y, raw, many, 10, n_threads=n_threads) for n_threads in (1, 4))
        assert alone.tobytes() == together.tobytes()


def test_predictions_far_apart():
    """Powers of e are not formed by quotients where these leave their range."""
    rng = np.random.default_rng(4)
    y, raw = rng.integers(0, 4, 40).astype(float), np.concatenate([rng.normal(size=20), 900 + rng.normal(size=20)])
    for name, loss in (("lambdarank", LambdaRank(normalize=False)), ("pairwise", PairwiseRank())):
        gradient, hessian = loss.configured(0).derivatives(y, raw[:, None])
        known = twin.derivatives(name, y, raw, 30 if name == "lambdarank" else 40, 1.0)
        for found, exact in zip((gradient, hessian), known, strict=True):
            np.testing.assert_allclose(found[:, 0], exact, rtol=1e-12, atol=1e-12)


def test_every_set_of_instructions_gives_the_bits_of_the_others():
    rng = np.random.default_rng(5)
    y, raw, numbers = rng.integers(0, 5, 500).astype(float), rng.normal(size=500), rng.integers(0, 5, 500)
    found = []
    try:
        for name in loops.names():
            loops.use(name)
            derived = [of_groups(loss, numbers).derivatives(y, raw[:, None]) for loss in (LambdaRank(), PairwiseRank())]
            found.append(np.array(derived).tobytes())
    finally:
        loops.use()
    assert found == found[:1] * len(found)


def test_extreme_predictions():
    y, raw = np.array([0.0, 1.0, 2.0, 0.0]), np.array([1e308, -1e308, 0.0, 1e308])
    for loss in (LambdaRank(), LambdaRank(normalize=False), PairwiseRank()):
        gradient, hessian = loss.configured(0).derivatives(y, raw[:, None])
        assert np.isfinite(gradient).all() and (hessian >= 0).all() and np.isfinite(hessian).all()


def test_label_gain():
    y, raw = np.array([0.0, 1.0, 2.0]), np.zeros(3)
    linear = LambdaRank(label_gain=[0, 1, 2]).configured(0).derivatives(y, raw[:, None])[0]
    by_default = LambdaRank().configured(0).derivatives(y, raw[:, None])[0]
    assert (linear != by_default).any()
    powers = LambdaRank(label_gain=[0, 1, 3]).configured(0).derivatives(y, raw[:, None])[0]
    assert (powers == by_default).all()


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (LambdaRank(truncation_level=0), "truncation_level=0; allowed are integers from 1 on"),
        (LambdaRank(truncation_level=None), "truncation_level=None; allowed are integers from 1 on"),
        (PairwiseRank(truncation_level=1.5), "truncation_level=1.5; allowed are integers from 1 on, and None"),
        (LambdaRank(sigmoid=0), "sigmoid=0; allowed are numbers above 0"),
        (LambdaRank(normalize="yes"), "normalize='yes'; allowed are True and False"),
        (LambdaRank(label_gain=[0, 2, 1]), r"label_gain=\[0, 2, 1\]; allowed are sequences of finite numbers from 0 on"),
        (LambdaRank(label_gain="abc"), "label_gain='abc'; allowed are sequences"),
    ],
)
def test_parameters_that_are_not_allowed(loss, message):
    with pytest.raises(ValueError, match=message):
        loss.configured(0)


def test_groups_must_fit_the_rows():
    loss = of_groups(LambdaRank(), np.zeros(3, np.int64))
    with pytest.raises(ValueError, match="4 rows are given; allowed are as many as have a group, 3"):
        loss.derivatives(np.zeros(4), np.zeros((4, 1)))


class Softmax(PythonLoss):
    """ListNet's loss: of the shares of a query's rows by grade and by prediction."""

    of_groups = True

    def gradient_hessian(self, y_true, raw_prediction):
        share = np.exp(raw_prediction - raw_prediction.max())
        share /= share.sum()
        wanted = np.exp(y_true) / np.exp(y_true).sum()
        return share - wanted, share * (1 - share)

    def loss(self, y_true, raw_prediction):
        share = np.exp(raw_prediction - raw_prediction.max())
        return -np.exp(y_true) / np.exp(y_true).sum() * np.log(share / share.sum())

    def fit_intercept_only(self, y_true, sample_weight):
        return 0.0


def test_a_loss_of_ones_own_is_asked_group_by_group():
    rng = np.random.default_rng(3)
    y, raw, numbers = rng.integers(0, 3, 30).astype(float), rng.normal(size=30), rng.integers(0, 5, 30)
    gradient, hessian = of_groups(Softmax(), numbers).derivatives(y, raw[:, None])
    values = of_groups(Softmax(), numbers).values(y, raw[:, None])
    for number in range(5):
        own = numbers == number
        alone = Softmax().gradient_hessian(y[own], raw[own])
        assert (gradient[own, 0] == alone[0]).all() and (hessian[own, 0] == alone[1]).all()
        assert (values[own] == Softmax().loss(y[own], raw[own])).all()


class Wrong(Softmax):
    """A loss that says what is no number for one row."""

    def gradient_hessian(self, y_true, raw_prediction):
        gradient, hessian = super().gradient_hessian(y_true, raw_prediction)
        gradient[y_true == 7] = np.nan
        return gradient, hessian


def test_rows_are_named_as_they_were_given():
    y = np.array([1.0, 0.0, 7.0, 0.0])
    with pytest.raises(LossError, match=r"Wrong.gradient_hessian returned the gradient nan for row 2;"):
        of_groups(Wrong(), np.array([1, 0, 0, 1])).derivatives(y, np.zeros((4, 1)))


@pytest.mark.parametrize("normalize", [True, False])
def test_derivatives_are_those_of_lightgbm(normalize):
    """The leaves of LightGBM's trees have Newton's steps by our derivatives, up to its float32 and its table of powers."""
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(6)
    X, group = rng.normal(size=(1200, 4)), [40] * 30
    y = np.clip(np.round(X[:, 0] + np.abs(X[:, 1]) + rng.normal(size=1200)), 0, 4)
    model = lightgbm.LGBMRanker(
        n_estimators=4, num_leaves=8, learning_rate=0.5, lambdarank_truncation_level=10, lambdarank_norm=normalize, verbose=-1
    ).fit(X, y, group=group)
    leaves = model.predict(X, pred_leaf=True)
    loss = of_groups(LambdaRank(10, normalize=normalize), np.repeat(np.arange(30), group))
    for tree in range(4):
        before = model.predict(X, num_iteration=tree) if tree else np.zeros(1200)
        gradient, hessian = (part[:, 0] for part in loss.derivatives(y, before[:, None]))
        added = model.predict(X, num_iteration=tree + 1) - before
        for leaf in np.unique(leaves[:, tree]):
            rows = leaves[:, tree] == leaf
            step = -0.5 * gradient[rows].sum() / hessian[rows].sum()
            assert added[rows] == pytest.approx(step, rel=2e-3, abs=2e-3)
