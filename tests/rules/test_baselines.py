"""Exact means, weighted quantiles and baselines (rules/losses.pyx), against scikit-learn and by hand."""

import numpy as np
import pytest
from sklearn._loss import loss as sk

from dforest.core.boost.quantiles import quantile_of_all
from dforest.estimators.boosting.losses import Loss
from dforest.rules.losses import baselines, exact_mean, weighted_quantile
from dforest.spmd.communicator import ALONE
from dforest.spmd.threads import ThreadGroup


@pytest.mark.parametrize(
    ("loss", "theirs"),
    [
        ("squared_error", sk.HalfSquaredError()),
        ("poisson", sk.HalfPoissonLoss()),
        ("gamma", sk.HalfGammaLoss()),
        ("cross_entropy", sk.HalfBinomialLoss()),
        ("log_loss", sk.HalfBinomialLoss()),
        ("exponential", sk.ExponentialLoss()),
        ("multinomial", sk.HalfMultinomialLoss(n_classes=4)),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_baselines_are_those_of_scikit_learn(loss, theirs, weighted):
    rng = np.random.default_rng(0)
    n_classes = {"log_loss": 2, "exponential": 2, "multinomial": 4}.get(loss, 0)
    y = rng.integers(0, n_classes, 101).astype(float) if n_classes else rng.exponential(size=101)
    y = y / y.max() if loss == "cross_entropy" else y
    weight = rng.integers(1, 2**20, 101).astype(np.uint32) if weighted else None
    expected = theirs.fit_intercept_only(y, None if weight is None else weight.astype(float))
    np.testing.assert_allclose(baselines(loss, y, weight, max(n_classes, 2)), np.ravel(expected), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("quantile", [0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
def test_quantiles_are_those_of_numpy(quantile):
    rng = np.random.default_rng(0)
    for n in (1, 2, 10, 41):
        values = np.round(rng.normal(size=n), 1)
        weight = rng.integers(1, 6, n).astype(np.uint32)
        for repeated, w in ((values, None), (values.repeat(weight), weight)):
            expected = np.quantile(repeated, quantile, method="averaged_inverted_cdf")
            assert weighted_quantile(values, quantile, w) == pytest.approx(expected, rel=1e-15)
    assert Loss("quantile", 0.25).baseline(np.arange(4.0), None, ALONE) == (0.5,)
    assert Loss("huber", 0.25).baseline(np.arange(4.0), None, ALONE) == (1.5,)
    for robust in (Loss("fair", 0.1), Loss("log_cosh")):
        assert robust.baseline(np.arange(4.0), None, ALONE) == (1.5,)
    assert Loss("mape").baseline(np.array([1.0, 100.0, 101.0, 103.0]), None, ALONE) == (1.0,)  # weighs more than all others
    assert Loss("cross_entropy").baseline(np.zeros(3), None, ALONE) == (pytest.approx(-52 * np.log(2)),)
    assert Loss("absolute_error").baseline(np.arange(3.0), np.array([1.0, 1.0, 3.0]), ALONE) == (2.0,)


@pytest.mark.parametrize("size", [2, 3])
def test_quantiles_of_ranks_are_those_of_one_process(size):
    for seed in range(20):
        rng = np.random.default_rng([size, seed])
        values = np.round(rng.normal(size=rng.integers(size, 60)), int(rng.integers(0, 3))) * 10.0 ** rng.integers(-300, 300)
        weight = rng.integers(1, 6, len(values)).astype(np.uint32) if seed % 2 else None
        quantile, cut = rng.choice([0.0, 0.25, 0.5, 1.0]), rng.integers(0, len(values))

        def find(ranks, values=values, weight=weight, quantile=quantile, cut=cut):
            own = [slice(cut, None), slice(0, cut), slice(0, 0)][ranks.rank]
            return quantile_of_all(values[own], quantile, None if weight is None else weight[own], ranks)

        assert ThreadGroup(size).run(find) == [weighted_quantile(values, quantile, weight)] * size


def test_nothing_depends_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200) * 10.0 ** rng.integers(-8, 8, 200)
    weight = rng.integers(1, 2**31, 200).astype(np.uint32)
    order = rng.permutation(200)
    assert exact_mean(y, weight) == exact_mean(y[order], weight[order]) and exact_mean(y) == exact_mean(y[order])
    assert weighted_quantile(y, 0.3, weight) == weighted_quantile(y[order], 0.3, weight[order])
    zeros = np.array([-0.0, 0.0, 0.0])
    assert not np.signbit([weighted_quantile(zeros, 0.1), weighted_quantile(zeros[::-1], 0.1)]).any()


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="loss='l2'; allowed are"):
        baselines("l2", np.zeros(2))
    with pytest.raises(ValueError, match="the mean of y is 0.0; allowed are means from"):
        baselines("poisson", np.zeros(2))
    with pytest.raises(ValueError, match="y has class 2.0; allowed are 0 to 1"):
        baselines("log_loss", np.array([0.0, 2.0]))
