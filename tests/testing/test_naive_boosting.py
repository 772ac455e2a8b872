"""The naive twin of boosted trees: its arithmetic against the compiled rules, its trees against scikit-learn's and by hand."""

import math
from itertools import product

import numpy as np
import pytest
from probes import boosting as boost_probe
from sklearn._loss.loss import HuberLoss
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits
from twins import boosted_cuts, boosting, gradients, losses
from twins.boosting import flatten, grow_booster, predict_raw

from dforest.core.boost import inverse_link
from dforest.rules import losses as compiled
from dforest.testing import scores

ROW_LOSSES = [name for name in compiled.LOSSES if name != "multinomial"]
PARAMETER = {"quantile": 0.3, "huber": 0.7}
OF_CLASSES = ("log_loss", "exponential", "multinomial")


@pytest.fixture(autouse=True)
def one_thread():
    """scikit-learn's threads wait for each other busily, and data are small."""
    with threadpool_limits(1):
        yield


def targets(loss, score, n_classes=3):
    """Targets that a loss allows, which rise with a score."""
    if loss == "multinomial":
        return np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    if loss in OF_CLASSES:
        return (score > np.median(score)).astype(int)
    if loss in ("poisson", "gamma"):
        return np.exp(score / 4)
    return score


def problem(seed=0, n=300, n_features=4, missing=0.0):
    """(X, score) with few distinct values, so that each has a bin of its own."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, n_features)).astype(float)
    score = X[:, 0] / 2 + np.sin(X[:, 1]) * X[:, 2] / 3 + rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, score


# Arithmetic ----------------------------------------------------------------------------------------------


def test_functions_have_the_bits_of_the_compiled_ones():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-720, 720, 2000), rng.normal(size=1000), [0.0, -0.0, -1e300, 1e300]])
    assert [losses.exp(v) for v in x.tolist()] == boost_probe.elementary("exp", x).tolist()
    x = np.abs(x)
    assert [losses.log1p(v) for v in x.tolist()] == boost_probe.elementary("log1p", x).tolist()


@pytest.mark.parametrize("name", ROW_LOSSES)
def test_losses_have_the_bits_of_the_compiled_ones(name):
    rng = np.random.default_rng(0)
    raw = np.concatenate([rng.normal(size=300), rng.uniform(-40, 40, 300), [-1e4, 1e4, 0.0]])
    y, parameter = targets(name, rng.normal(size=len(raw))).astype(float), PARAMETER.get(name, 0.0)
    rows = list(zip(raw.tolist(), y.tolist(), strict=True))
    expected = [array.tolist() for array in compiled.derivatives(name, raw, y, parameter)]
    assert [list(d) for d in zip(*[losses.derivatives(name, f, v, parameter) for f, v in rows], strict=True)] == expected
    assert [losses.value(name, f, v, parameter) for f, v in rows] == compiled.values(name, raw, y, parameter).tolist()
    assert [losses.prediction(name, f) for f, _ in rows] == inverse_link.predictions(name, raw).tolist()
    assert (name in losses.CONSTANT_HESSIAN) == compiled.LOSSES[name].has_constant_hessian
    assert (name in losses.BY_QUANTILE) == (compiled.LOSSES[name].leaf != "newton")


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_multinomial_has_the_bits_of_the_compiled_one(n_classes):
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(300, n_classes)) * 10.0 ** rng.integers(-2, 3, (300, 1))
    raw[::5] = np.round(raw[::5])  # equal ones
    y = rng.integers(0, n_classes, 300)
    gradient, hessian = compiled.class_derivatives(raw, y)
    for i, f in enumerate(raw.tolist()):
        assert losses.class_derivatives(f, y[i]) == (gradient[i].tolist(), hessian[i].tolist())
    assert [losses.class_predictions(f) for f in raw.tolist()] == inverse_link.class_predictions(raw).tolist()
    assert [losses.class_value(f, v) for f, v in zip(raw.tolist(), y, strict=True)] == compiled.class_values(raw, y).tolist()


def compiled_baselines(loss, y, weight, n_classes):
    """By the quantile 0.25, where the loss has one."""
    if compiled.LOSSES[loss].leaf != "newton":
        return [compiled.weighted_quantile(y, 0.25 if loss == "quantile" else 0.5, weight)]
    return compiled.baselines(loss, y, weight, n_classes).tolist()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", compiled.LOSSES)
def test_baselines_have_the_bits_of_the_compiled_ones(loss, weighted):
    rng = np.random.default_rng(0)
    for n in (12, 200):
        y = targets(loss, np.round(rng.normal(size=n), 1))
        n_classes = 3 if loss == "multinomial" else 2
        weight = rng.integers(1, 2**31, n).astype(np.uint32) if weighted else None
        w = weight.tolist() if weighted else [1] * n
        found = compiled_baselines(loss, y.astype(float), weight, n_classes)
        assert found == losses.baselines(loss, y.tolist(), w, n_classes, 0.25)
        if not weighted:  # a weight of 1 is none
            assert found == compiled_baselines(loss, y.astype(float), np.ones(n, np.uint32), n_classes)


@pytest.mark.parametrize("seed", range(5))
def test_rules_have_the_bits_of_the_compiled_ones(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=200) * 10.0 ** rng.integers(-320, 300)
    for bits in (gradients.GRADIENT_BITS, 20):
        quantised, exponent = gradients.quantised_integers(x.tolist(), bits)
        assert exponent == boost_probe.fine_exponent(np.abs(x).max(), bits)
        assert quantised == boost_probe.quantised_integers(x, 2.0**exponent).tolist()
    magnitudes = np.abs(np.array(quantised, np.int32))
    for part, values in (("gradient", np.array(quantised, np.int32)), ("hessian", magnitudes)):
        shift = gradients.GRADIENT_SHIFT if part == "gradient" else gradients.HESSIAN_SHIFT
        assert gradients.narrow(values.tolist(), shift) == boost_probe.coarse_integers(values, "narrow", part).tolist()
    tail = np.floor(np.exp(rng.normal(size=300) * 2.5) * 100).astype(np.int64).tolist()
    expected = boost_probe.has_heavy_tail(max(tail), sum(tail), len(tail))
    assert gradients.has_heavy_tail(tail, [1] * len(tail)) == expected

    g, h = rng.integers(-(2**50), 2**50, 100), rng.integers(1, 2**55, 100)
    total = int(g.sum()), int(h.sum())
    for l2, exponent in ((0.0, 0), (1.0, 20), (0.3, -7)):
        scores, gains = boost_probe.cut_gains(l2, exponent, g, h, total)
        scaled = gradients.scaled(l2, exponent)
        for i in range(len(g)):
            left = int(g[i]), int(h[i])
            score = boosted_cuts.cut_score(scaled, left, (total[0] - left[0], total[1] - left[1]))
            assert (score, score - boosted_cuts.common_score(scaled, total)) == (scores[i], gains[i])

    integers = gradients.Integers("wide", g.tolist(), h.tolist(), g.tolist(), h.tolist(), (40, 33), (40, 33), 1.0, (), [])
    sums = int(g[:50].sum()), int(h[:50].sum())
    for l2, rate, most, is_damped, exponent in product((0.0, 0.7), (0.1, 1.0, 2.0), (0.01, math.inf), (True, False), (40, 20, 7)):
        for n_sums, l1 in ((1, 0.0), (3, 0.0), (1, 0.4), (1, 1e30)):
            limits = boosting.ValueLimits(rate, most, is_damped, n_sums)
            node = boosting.Node(list(range(50)), [integers._replace(exponents=(exponent, 33))])
            found = boosting.newton_value(node, 0, limits, l1, l2)
            assert found == boost_probe.newton_value(*sums, exponent, 33, rate, l2, most, is_damped, n_sums, l1)

    residual, weight = np.unique(rng.normal(size=60)), rng.integers(1, 2**31, 60)
    for q in (0.0, 0.1, 0.5, 0.77, 1.0):
        for w in (weight, np.ones(60, np.int64), np.full(60, 4)):
            expected = boost_probe.quantile_of_sorted(residual, w, q)
            assert losses.weighted_quantile(residual.tolist(), w.tolist(), q) == expected
    median = losses.weighted_quantile(residual.tolist(), weight.tolist(), 0.5)
    for delta in (0.0, 0.3, 1e9):
        expected = boost_probe.huber_step(residual, weight, median, delta)
        assert boosting.refit("huber", residual.tolist(), weight.tolist(), delta) == expected


# scikit-learn's trees --------------------------------------------------------------------------------------


@pytest.mark.parametrize("l2", [0.0, 2.0])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "gamma", "log_loss", "multinomial"])
def test_models_are_those_of_scikit_learn(loss, l2):
    """Each value has its bin, and integers have 30 bits: trees differ by scikit-learn's float32 gradients only."""
    X, score = problem()
    y = targets(loss, score)
    settings = dict(max_iter=8, min_samples_leaf=7, max_leaf_nodes=9, l2_regularization=l2)
    words = None if loss in losses.CONSTANT_HESSIAN else "wide"
    found = grow_booster(X, y, loss=loss, n_classes=3 if loss == "multinomial" else 2, words=words, **settings)
    if loss in OF_CLASSES:
        model = HistGradientBoostingClassifier(early_stopping=False, **settings).fit(X, y)
    else:
        model = HistGradientBoostingRegressor(loss=loss, early_stopping=False, **settings).fit(X, y)
    np.testing.assert_allclose(found.raw, model._raw_predict(X), rtol=1e-6, atol=1e-6)
    leaves = [[int((flatten(tree)["feature"] < 0).sum()) for tree in trees] for trees in found.rounds]
    assert leaves == [[predictor.get_n_leaf_nodes() for predictor in trees] for trees in model._predictors]


def test_missing_values_go_as_scikit_learn_sends_them():
    X, score = problem(1, missing=0.2)
    score += 2.0 * np.isnan(X[:, 0])
    settings = dict(max_iter=5, min_samples_leaf=5, max_leaf_nodes=6)
    found = grow_booster(X, score, loss="squared_error", **settings)
    model = HistGradientBoostingRegressor(early_stopping=False, **settings).fit(X, score)
    np.testing.assert_allclose(predict_raw(found, X)[:, 0], model.predict(X), rtol=1e-6)


def test_hubers_leaves_are_those_of_gradient_boosting():
    """Of one leaf with an odd number of rows, of which 0.9 is no integer, median and delta are not a matter of convention."""
    _, score = problem(2, n=301)
    score[::17] *= 30
    X = np.zeros((301, 1))
    model = GradientBoostingRegressor(loss="huber", n_estimators=6).fit(X, score)
    found = grow_booster(X, score, loss="huber", max_iter=6)
    np.testing.assert_allclose(found.raw[:, 0], model.predict(X), rtol=1e-7)
    for n in (1, 2, 50):
        for delta in (0.1, 1.0, 100.0):
            found = boosting.refit("huber", score[:n].tolist(), [1] * n, delta)
            assert found == pytest.approx(HuberLoss(delta=delta).fit_intercept_only(score[:n]), rel=1e-7)


# Rules -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", ["", "integer", "real"])
@pytest.mark.parametrize("loss", compiled.LOSSES)
def test_a_booster_learns_and_predicts_what_it_trained(loss, weighted):
    X, score = problem(3, n=200, missing=0.1)
    y = targets(loss, score)
    rng = np.random.default_rng(0)
    weight = {"": None, "integer": rng.integers(1, 9, 200), "real": rng.random(200) + 0.01}[weighted]
    settings = dict(loss=loss, n_classes=3 if loss == "multinomial" else 2, quantile=0.3 if loss == "quantile" else None)
    booster = grow_booster(X, y, max_iter=6, max_leaf_nodes=6, min_samples_leaf=3, sample_weight=weight, **settings)
    np.testing.assert_array_equal(predict_raw(booster, X), booster.raw)
    usual = "constant" if loss in losses.CONSTANT_HESSIAN else "narrow"
    assert booster.words[0] == ("wide" if weighted == "real" else usual)
    assert set(booster.words) <= {usual, "wide"}  # gradients come to have heavy tails

    def mean_loss(raw):
        if loss == "multinomial":
            of_rows = [losses.class_value(f, v) for f, v in zip(raw.tolist(), y, strict=True)]
        else:
            parameter = {"quantile": 0.3, "huber": 1.0}.get(loss, 0.0)
            of_rows = [losses.value(loss, f, float(v), parameter) for f, v in zip(raw[:, 0].tolist(), y, strict=True)]
        return np.average(of_rows, weights=weight)

    begin = np.tile(booster.baselines, (200, 1))
    least = mean_loss(np.array([[scores.log(v)] for v in y])) if loss in ("poisson", "gamma") else 0.0
    assert mean_loss(booster.raw) - least < 0.9 * (mean_loss(begin) - least)
    # Baselines are best: no other number loses less.
    if loss not in ("multinomial", "huber"):
        assert all(mean_loss(begin) <= mean_loss(begin + d) + 1e-12 for d in (-0.01, 0.01))


@pytest.mark.parametrize("loss", compiled.LOSSES)
def test_a_weight_of_3_is_three_rows(loss):
    """To the bit; and weights times a power of two change nothing but the unit of l2."""
    X, score = problem(4, n=90, missing=0.1)
    y = targets(loss, score)
    weight = np.random.default_rng(0).integers(1, 4, 90)
    settings = dict(loss=loss, n_classes=3 if loss == "multinomial" else 2, quantile=0.3 if loss == "quantile" else None)
    settings |= dict(max_iter=4, max_leaf_nodes=6, min_samples_leaf=1, min_hessian=0.0)
    one = grow_booster(X, y, sample_weight=weight, **settings)
    other = grow_booster(X.repeat(weight, axis=0), y.repeat(weight), **settings)
    np.testing.assert_array_equal(one.raw.repeat(weight, axis=0), other.raw)
    assert one.words == other.words
    halved = grow_booster(X, y, sample_weight=weight / 2, **settings)
    np.testing.assert_array_equal(one.raw, halved.raw)


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_equal_weights_of_a_power_of_two_are_none(loss):
    X, score = problem(5, n=120)
    y = targets(loss, score)
    settings = dict(loss=loss, max_iter=3, max_leaf_nodes=6, min_samples_leaf=5)
    none = grow_booster(X, y, l2_regularization=1.0, min_hessian=2.0, **settings)
    ones = grow_booster(X, y, l2_regularization=1.0, min_hessian=2.0, sample_weight=np.ones(120), **settings)
    fours = grow_booster(X, y, l2_regularization=4.0, min_hessian=8.0, sample_weight=np.full(120, 4.0), **settings)
    for booster in (ones, fours):
        assert booster.words == none.words
        np.testing.assert_array_equal(booster.raw, none.raw)


def test_real_weights_are_nearly_integer_ones():
    X, score = problem(6, n=150)
    weight = np.random.default_rng(0).integers(1, 5, 150)
    settings = dict(loss="log_loss", max_iter=3, max_leaf_nodes=6, min_samples_leaf=5)
    y = targets("log_loss", score)
    exact = grow_booster(X, y, sample_weight=weight, **settings)
    real = grow_booster(X, y, sample_weight=weight * (1 + 1e-12), **settings)
    np.testing.assert_allclose(real.raw, exact.raw, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_heavy_tails_get_wide_words(loss):
    X, score = problem(7, n=200)
    y = targets(loss, score)
    if loss == "gamma":
        y[0] = 1e6
    else:
        y = np.where(np.arange(200) == 0, 1e6, y)
    booster = grow_booster(X, y, loss=loss, max_iter=2, min_samples_leaf=1, max_leaf_nodes=5)
    assert booster.words[0] == "wide"


def test_one_huge_target_costs_the_others_nothing():
    X, score = problem(8, n=200)
    score[0] = 1e9
    X[0] = 11.0
    X[1:, 0] = np.minimum(X[1:, 0], 10.0)
    booster = grow_booster(X, score, loss="squared_error", max_iter=40, learning_rate=1.0, min_samples_leaf=1, max_leaf_nodes=20)
    assert np.abs(booster.raw[1:, 0] - score[1:]).max() < 1.0


def test_a_tree_by_hand():
    """y - mean is -2, -2, 1, 3: the root divides 2 from 2 and gains 8 + 8; its right side is divided next."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    settings = dict(loss="squared_error", max_iter=1, learning_rate=0.5, min_samples_leaf=1)
    booster = grow_booster(X, [1.0, 1.0, 4.0, 6.0], **settings)
    assert booster.baselines == [3.0] and booster.words == ["constant"]
    tree = flatten(booster.rounds[0][0])
    assert tree["feature"].tolist() == [0, -1, 0, -1, -1] and tree["right"].tolist() == [2, 0, 4, 0, 0]
    assert tree["threshold"].tolist() == [1.5, 0.0, 2.5, 0.0, 0.0]
    np.testing.assert_allclose(tree["gain"], [16.0, 0.0, 2.0, 0.0, 0.0], rtol=1e-15)
    assert tree["values"][[1, 3, 4], 0].tolist() == [-1.0, 0.5, 1.5]
    assert tree["n_rows"].tolist() == [4, 2, 2, 1, 1]
    stump = flatten(grow_booster(X, [1.0, 1.0, 4.0, 6.0], max_leaf_nodes=2, l2_regularization=2.0, **settings).rounds[0][0])
    # 16 / 4 + 16 / 4 - 0, and leaves of 0.5 * 4 / 4.
    assert stump["gain"][0] == 8.0 and stump["values"][1:, 0].tolist() == [-0.5, 0.5]


def test_missing_values_go_where_they_gain_more():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [np.nan]])
    settings = dict(loss="squared_error", max_iter=1, min_samples_leaf=1, max_leaf_nodes=2)
    for y, threshold, missing_left in [
        ([0, 0, 1, 1, 0], 1.5, True),
        ([0, 0, 1, 1, 1], 1.5, False),
        ([0, 0, 0, 0, 9], np.inf, False),  # missing values alone
    ]:
        tree = grow_booster(X, y, **settings).rounds[0][0]
        assert (tree.threshold, tree.missing_left) == (threshold, missing_left)
    for y, missing_left in [([0, 0, 0, 1], True), ([0, 1, 1, 1], False), ([0, 0, 1, 1], False)]:  # to the larger side
        assert grow_booster(X[:4], y, **settings).rounds[0][0].missing_left == missing_left


def test_of_equal_cuts_the_first_is_taken():
    X = np.array([[0, 0.0], [0, 0], [3, 1], [3, 1]])
    tree = grow_booster(X, [0.0, 0.0, 1.0, 1.0], loss="squared_error", max_iter=1, min_samples_leaf=1).rounds[0][0]
    assert (tree.feature, tree.threshold) == (0, 1.5)
    # The right child has no code 1; the cut between 0 and 2 is that after 0.
    X = np.array([[0, 0.0], [1, 0], [2, 0], [0, 1], [2, 1], [2, 1]])
    tree = grow_booster(X, [9.0, 9.0, 9.0, 0.0, 1.0, 1.0], loss="squared_error", max_iter=1, min_samples_leaf=1).rounds[0][0]
    assert (tree.feature, tree.right.feature, tree.right.threshold) == (1, 0, 0.5)


def test_limits():
    X, score = problem(9, n=200)
    y = targets("log_loss", score)
    settings = dict(loss="log_loss", max_iter=2, min_samples_leaf=1, min_hessian=0.0)

    def leaves(booster):
        return [leaf for trees in booster.rounds for tree in trees for leaf in every_leaf(tree)]

    def every_leaf(node, depth=0):
        if node.feature < 0:
            return [(node, depth)]
        return every_leaf(node.left, depth + 1) + every_leaf(node.right, depth + 1)

    assert len(leaves(grow_booster(X, y, max_leaf_nodes=5, **settings))) == 10
    assert max(depth for _, depth in leaves(grow_booster(X, y, max_depth=3, max_leaf_nodes=None, **settings))) == 3
    large = grow_booster(X, y, **settings | dict(min_samples_leaf=30))
    assert min(len(leaf.rows) for leaf, _ in leaves(large)) >= 30
    heavy = grow_booster(X, y, **settings | dict(min_hessian=5.0, max_iter=1))  # the hessian of a row is 1/4
    assert 20 <= min(len(leaf.rows) for leaf, _ in leaves(heavy)) < 30
    # Without a limit a tree is best first as well as any other way; a limit gives its first nodes.
    assert len(leaves(grow_booster(X, y, max_leaf_nodes=None, **settings))) > 20


def test_features_of_a_node_are_drawn():
    X, score = problem(10, n=200, n_features=5)
    settings = dict(loss="squared_error", max_iter=3, max_leaf_nodes=8, max_features=1)
    one = grow_booster(X, score, seed=1, **settings)
    tried = {tree.feature for (tree,) in one.rounds} | {tree.left.feature for (tree,) in one.rounds}
    assert len(tried) > 1
    np.testing.assert_array_equal(one.raw, grow_booster(X, score, seed=1, **settings).raw)
    assert (one.raw != grow_booster(X, score, seed=2, **settings).raw).any()
    everything = settings | dict(max_features=5)
    np.testing.assert_array_equal(grow_booster(X, score, seed=1, **everything).raw, grow_booster(X, score, **everything).raw)


def test_a_leaf_is_best_for_its_rows():
    """Of losses by quantile, no other value of a leaf loses less; a constant X has one leaf."""
    X, (_, score) = np.zeros((101, 1)), problem(11, n=101)
    for loss, q in (("absolute_error", 0.5), ("quantile", 0.3)):
        booster = grow_booster(X, score, loss=loss, quantile=q, max_iter=1, learning_rate=1.0)
        assert booster.rounds[0][0].feature == -1 and booster.rounds[0][0].values == [0.0]  # the baseline is best already
        assert booster.baselines[0] == np.quantile(score, q, method="averaged_inverted_cdf")


def test_gains_without_rounding_of_hessians_close_to_0():
    """Far into training all hessians are tiny; narrow words keep what they are to each other."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (100, 1)).astype(float)
    y = (X[:, 0] > 1).astype(int)
    booster = grow_booster(X, y, loss="log_loss", max_iter=60, learning_rate=1.0, min_samples_leaf=1, min_hessian=0.0)
    assert (np.sign(booster.raw[:, 0]) == 2 * y - 1).all() and np.abs(booster.raw).min() > 30.0
    assert np.isfinite(booster.raw).all()
