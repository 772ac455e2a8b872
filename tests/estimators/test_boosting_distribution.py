"""Boosted trees for distributions: what they learn, that bits don't depend on threads, and what they refuse."""

import io
import pickle

import numpy as np
import pytest
from helpers.boosting import assert_equal_models
from scipy import stats
from sklearn.base import clone, is_regressor
from sklearn.model_selection import cross_val_score

import dforest
from dforest import HistGradientBoostingDistribution, HistGradientBoostingRegressor
from dforest.core.boost.distributions import DISTRIBUTIONS
from dforest.distribution import (
    Normal,
    PredictedDistribution,
    PythonDistribution,
    StudentT,
    log_score_scorer,
    neg_crps_scorer,
)
from dforest.estimators.results.conformal import covering_rank
from dforest.estimators.results.densities import DENSITIES

NAMES = pytest.mark.parametrize("name", DISTRIBUTIONS)
SMALL = {"max_iter": 30, "max_leaf_nodes": 7, "early_stopping": False, "random_state": 0}


def rows(n=3000, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 4))


def truth(name, X):
    """Parameters that depend on two columns each."""
    a, b = X[:, 0], X[:, 1]
    return {
        "normal": (5 * np.sin(a), np.exp(0.5 * b)),
        "lognormal": (np.sin(a), np.exp(0.5 * b - 1)),
        "gamma": (np.exp(a), np.exp(b)),
        "negative_binomial": (np.exp(1 + a), np.exp(b)),
        "student": (5 * np.sin(a), np.exp(0.5 * b), np.full(len(a), 3.0)),
        "zero_inflated_poisson": (np.exp(1 + 0.7 * a), 1 / (1 + np.exp(-2 * b))),
    }[name]


def targets(name, X, seed=1):
    y = DENSITIES[name].sample(np.random.default_rng(seed), (len(X),), *truth(name, X))
    return np.maximum(y, 1e-200) if DISTRIBUTIONS[name].targets == "above_0" else y


class OwnNormal(PythonDistribution):
    """The formulas of `Normal`, of the unit 1."""

    parameter_names = "center", "width"

    def _deviation(self, y, raw):
        return (y - raw[:, 0]) / np.exp(raw[:, 1]), np.exp(raw[:, 1])

    def gradient_hessian(self, y_true, raw_prediction):
        z, width = self._deviation(y_true, raw_prediction)
        return np.column_stack([-z / width, 1 - z**2]), np.column_stack([width**-2, 1 + z**2])

    def loss(self, y_true, raw_prediction):
        return np.log(np.sqrt(2 * np.pi)) + raw_prediction[:, 1] + 0.5 * self._deviation(y_true, raw_prediction)[0] ** 2

    def inverse_link(self, raw_prediction):
        return np.column_stack([raw_prediction[:, 0], np.exp(raw_prediction[:, 1])])

    def mean(self, center, width):
        return center

    def log_density(self, y, center, width):
        return stats.norm.logpdf(y, center, width)


@NAMES
def test_trees_find_what_parameters_depend_on(name):
    X, new = rows(), rows(2000, 5)
    y, fresh = targets(name, X), targets(name, new, 6)
    model = HistGradientBoostingDistribution(name, random_state=0).fit(X, y)
    best = PredictedDistribution(DISTRIBUTIONS[name](), np.column_stack(truth(name, new)))
    constants = HistGradientBoostingDistribution(name, max_iter=1, learning_rate=1e-9, early_stopping=False).fit(X, y)
    found, none, most = model.score(new, fresh), constants.score(new, fresh), best.mean_log_density(fresh)
    assert none < found < most + 0.02
    assert found - none > 0.7 * (most - none)
    predicted = model.predict_distribution(new)
    assert predicted.mean_crps(fresh) < 0.9 * constants.predict_distribution(new).mean_crps(fresh)
    # Levels of intervals, and ranks of targets, are right.
    ends = model.predict_interval(new, level=0.8)
    covered = ((ends[:, 0] <= fresh) & (fresh <= ends[:, 1])).mean()
    assert 0.65 < covered < 0.96  # those of counts hold more, and others less, as trees are fitted to training rows
    assert (model.predict(new) == predicted.mean()).all() and model.predict(new).shape == (2000,)
    # Both parameters are learnt, not the first one alone.
    logs = np.log(predicted.parameters[:, 1] / (1 - predicted.parameters[:, 1] * (name == "zero_inflated_poisson")))
    assert np.corrcoef(logs, new[:, 1])[0, 1] > 0.8


@NAMES
def test_bits_do_not_depend_on_threads_or_order(name):
    X = rows(1200)
    y, weight = targets(name, X), np.random.default_rng(2).integers(0, 4, 1200).astype(float)
    models = [
        HistGradientBoostingDistribution(name, n_jobs=n_jobs, **SMALL | {"early_stopping": True}).fit(X, y, weight)
        for n_jobs in (1, 3)
    ]
    assert_equal_models(*models)
    order = np.random.default_rng(3).permutation(1200)
    one, other = (HistGradientBoostingDistribution(name, **SMALL).fit(X[o], y[o], weight[o]) for o in (slice(None), order))
    assert one.forest_.objective.baseline == other.forest_.objective.baseline
    np.testing.assert_array_equal(one._raw(X), other._raw(X))
    # Whole weights are rows that are there several times.
    repeated = HistGradientBoostingDistribution(name, **SMALL | {"min_samples_leaf": 1}).fit(
        np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int))
    )
    weighted = HistGradientBoostingDistribution(name, **SMALL | {"min_samples_leaf": 1}).fit(X, y, weight)
    np.testing.assert_allclose(repeated.score(X, y), weighted.score(X, y), rtol=1e-3)


@pytest.mark.parametrize("name", ["normal", "student"])
@pytest.mark.parametrize("factor", [2.0**-40, 2.0**30])
def test_units_do_not_matter(name, factor):
    X = rows(600)
    y = targets(name, X)
    one, other = (HistGradientBoostingDistribution(name, **SMALL).fit(X, y * by) for by in (1, factor))
    np.testing.assert_array_equal(one._raw(X), other._raw(X))
    np.testing.assert_array_equal(one.predict(X) * factor, other.predict(X))
    np.testing.assert_array_equal(one.predict_distribution(X).scale * factor, other.predict_distribution(X).scale)
    loose = HistGradientBoostingDistribution(name, **SMALL).fit(X, y * 1e-30)
    np.testing.assert_allclose(loose.predict(X), one.predict(X) * 1e-30, rtol=0.2, atol=1e-30)


@NAMES
def test_a_leaf_is_a_natural_gradient(name):
    # One split of one column, by the sums of gradients and informations of its sides.
    X = np.repeat([0.0, 1.0], 500)[:, None]
    y = targets(name, rows(1000))
    model = HistGradientBoostingDistribution(
        name, max_iter=1, max_leaf_nodes=2, learning_rate=1.0, l2_regularization=0.0, early_stopping=False, max_features=1.0
    ).fit(X, y)
    baseline = np.array(model.forest_.objective.baseline)
    gradient, information = model._loss.derivatives(y, baseline)
    for side in (0, 1):
        some = X[:, 0] == side
        expected = baseline - gradient[some].sum(axis=0) / information[some].sum(axis=0)
        np.testing.assert_allclose(model._raw([[side]])[0], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["normal", "lognormal", "gamma", "student"])
def test_heavy_tails_and_tiny_leaves_do_not_diverge(name):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(400, 3)), np.exp(4 * rng.standard_t(1.5, 400).clip(-30, 30))
    y[:30] = 1.0  # equal targets, which want a scale of 0
    many = {"max_iter": 300, "learning_rate": 0.5, "min_samples_leaf": 1, "early_stopping": False, "l2_regularization": 0.0}
    model = HistGradientBoostingDistribution(name, random_state=0, **many).fit(X, y)
    assert np.isfinite(model.predict_distribution(X).parameters).all()
    constants = HistGradientBoostingDistribution(name, max_iter=1, learning_rate=1e-9, early_stopping=False).fit(X, y)
    assert model.score(X, y) > constants.score(X, y)  # by the training rows


def test_equal_targets():
    X = rows(100)
    for name in ("normal", "lognormal", "gamma", "student", "negative_binomial", "zero_inflated_poisson"):
        model = HistGradientBoostingDistribution(name, **SMALL).fit(X, np.full(100, 7.0))
        assert (np.abs(model.predict(X) - 7) < 0.2).all()
    for name in ("negative_binomial", "zero_inflated_poisson"):
        assert (HistGradientBoostingDistribution(name, **SMALL).fit(X, np.zeros(100)).predict(X) < 0.05).all()


def test_own_distribution():
    X = rows(700)
    y = targets("normal", X)
    own = HistGradientBoostingDistribution(OwnNormal(), **SMALL).fit(X, y)
    ours = HistGradientBoostingDistribution(Normal(unit=1.0), **SMALL).fit(X, y)
    np.testing.assert_allclose(own._raw(X), ours._raw(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(own.score(X, y), ours.score(X, y), rtol=1e-8)
    predicted = own.predict_distribution(X)
    assert (predicted.center == own.predict(X)).all() and predicted.width.shape == (700,)
    with pytest.raises(NotImplementedError, match="OwnNormal does not define crps"):
        predicted.crps(y)
    restored = pickle.loads(pickle.dumps(own))
    np.testing.assert_array_equal(restored.predict(X), own.predict(X))


def test_own_distributions_of_wrong_names_are_refused():
    class Nameless(OwnNormal):
        parameter_names = ["center"]

    class Short(OwnNormal):
        def mean(self, center, width):
            return center[1:]

    X, y = rows(60), np.arange(60.0)
    with pytest.raises(ValueError, match=r"Nameless.parameter_names=\['center'\]; allowed are tuples of names, and None"):
        HistGradientBoostingDistribution(Nameless(), **SMALL).fit(X, y)
    with pytest.raises(ValueError, match=r"Short.mean returned the shape \(59,\); allowed is \(60,\)"):
        HistGradientBoostingDistribution(Short(), **SMALL).fit(X, y).predict(X)


def test_scorers():
    X = rows(600)
    y = targets("gamma", X)
    model = HistGradientBoostingDistribution("gamma", **SMALL).fit(X, y)
    predicted, weight = model.predict_distribution(X), np.arange(600) % 3
    assert log_score_scorer(model, X, y) == model.score(X, y) == predicted.log_density(y).mean()
    assert neg_crps_scorer(model, X, y) == -predicted.crps(y).mean()
    np.testing.assert_allclose(model.score(X, y, weight), np.average(predicted.log_density(y), weights=weight))
    found = cross_val_score(clone(model), X, y, cv=3, scoring=neg_crps_scorer)
    assert found.shape == (3,) and (found < 0).all()
    stopping = {**SMALL, "early_stopping": True, "max_iter": 20, "validation_folds": 1, "refit": False}
    by_crps = HistGradientBoostingDistribution("gamma", scoring={"crps": neg_crps_scorer, "log": "loss"}, **stopping).fit(X, y)
    assert by_crps.score_history_.keys() == {"crps", "log"}
    by_score = HistGradientBoostingDistribution("gamma", scoring=None, **stopping).fit(X, y)
    by_loss = HistGradientBoostingDistribution("gamma", **stopping).fit(X, y)
    np.testing.assert_allclose(by_score.validation_score_[:5], by_loss.validation_score_[:5], rtol=1e-9)


def test_n_iter_staged_and_warm_start():
    X = rows(500)
    y = targets("normal", X)
    model = HistGradientBoostingDistribution(**SMALL).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == 30 and (stages[-1] == model.predict(X)).all()
    assert (stages[6] == model.predict(X, n_iter=7)).all()
    assert (model.predict_distribution(X, n_iter=7).location == stages[6]).all()
    warm = HistGradientBoostingDistribution(warm_start=True, **SMALL | {"max_iter": 11}).fit(X, y)
    warm.set_params(max_iter=30).fit(X, y)
    assert_equal_models(warm, model)


def test_offsets_of_all_parameters():
    X = rows(800)
    y = targets("negative_binomial", X)
    exposure = np.random.default_rng(8).uniform(0.5, 3, 800)
    offset = np.column_stack([np.log(exposure), np.zeros(800)])
    counts = DENSITIES["negative_binomial"].sample(np.random.default_rng(9), (800,), 2.0 * exposure, np.full(800, 3.0))
    model = HistGradientBoostingDistribution("negative_binomial", **SMALL | {"max_iter": 1}).fit(X, counts, offset=offset)
    np.testing.assert_allclose(model.predict(X, offset=offset) / model.predict(X), exposure, rtol=1e-12)
    assert 1.7 < np.median(model.predict(X)) < 2.3
    with pytest.raises(ValueError, match=r"offset has the shape \(800,\); allowed is \(800, 2\)"):
        HistGradientBoostingDistribution("negative_binomial", **SMALL).fit(X, y, offset=offset[:, 0])
    with pytest.raises(ValueError, match=r"such as loss=dforest.distribution.Normal\(unit=1.0\)"):
        HistGradientBoostingDistribution(**SMALL).fit(X, y, offset=offset)
    known = HistGradientBoostingDistribution(Normal(unit=1.0), **SMALL | {"max_iter": 3})
    known.fit(X, y, offset=np.column_stack([y, np.zeros(800)]))  # all that is known
    assert np.abs(known.predict(X)).max() < 1e-6


def test_shapley_values_add_up():
    X = rows(300)
    model = HistGradientBoostingDistribution("student", **SMALL).fit(X, targets("student", X))
    found = model.shap_values(X[:20])
    assert found.values.shape == (20, 4, 3)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, model._raw(X[:20]), rtol=1e-9, atol=1e-9)


def test_files_and_copies(tmp_path):
    X = rows(300)
    for loss in (*DISTRIBUTIONS, StudentT(unit=2.0)):
        name = loss if isinstance(loss, str) else loss.name
        y = targets(name, X)
        model = HistGradientBoostingDistribution(loss, **SMALL | {"max_iter": 4}).fit(X, y)
        model.save(tmp_path / "model")
        loaded = dforest.load(tmp_path / "model")
        buffer = io.BytesIO(pickle.dumps(model))
        for other in (loaded, pickle.loads(buffer.getvalue())):
            assert_equal_models(other, model)
            assert other.predict_distribution(X).parameters.tobytes() == model.predict_distribution(X).parameters.tobytes()
            assert other.score(X, y) == model.score(X, y)
        served = dforest.serving.load(tmp_path / "model")
        assert served.predict(X).tobytes() == model.predict(X).tobytes()
        assert served.predict_distribution(X).crps(y).tobytes() == model.predict_distribution(X).crps(y).tobytes()


def test_bags_are_averages_of_parameters():
    X = rows(400)
    y = targets("normal", X)
    model = HistGradientBoostingDistribution(n_bags=3, subsample=0.5, **SMALL).fit(X, y)
    assert model.n_trees_per_iteration_ == 3 and model.predict_distribution(X).parameters.shape == (400, 2)


def test_what_is_refused(tmp_path):
    X, y = rows(100), np.arange(100) - 3.0
    for name, allowed in (("gamma", "numbers above 0"), ("lognormal", "numbers above 0"), ("negative_binomial", "counts")):
        with pytest.raises(ValueError, match=f'y holds -3.0; allowed with loss="{name}" are {allowed}'):
            HistGradientBoostingDistribution(name).fit(X, y)
    with pytest.raises(ValueError, match='y holds 3.5; allowed with loss="zero_inflated_poisson" are counts'):
        HistGradientBoostingDistribution("zero_inflated_poisson").fit(X, np.abs(y) + 0.5)
    with pytest.raises(ValueError, match=r"unit=-1; allowed are numbers from 2\*\*-500 to 2\*\*500, and None"):
        HistGradientBoostingDistribution(Normal(unit=-1)).fit(X, y)
    with pytest.raises(ValueError, match="The 'loss' parameter"):
        HistGradientBoostingDistribution("poisson").fit(X, y)
    with pytest.raises(ValueError, match="is a distribution; allowed with it is HistGradientBoostingDistribution"):
        HistGradientBoostingRegressor(Normal()).fit(X, y)
    with pytest.raises(ValueError, match="is a distribution of numbers; y has 2 classes"):
        dforest.HistGradientBoostingClassifier(OwnNormal()).fit(X, y > 0)
    with pytest.raises(ValueError, match="is no distribution; allowed are names, objects of dforest.distribution"):
        HistGradientBoostingDistribution(dforest.loss.PythonLoss()).fit(X, y)
    with pytest.raises(ValueError, match="monotonic_cst=.* is not supported for any trees, as a mean may follow from several"):
        HistGradientBoostingDistribution(monotonic_cst=[1, 0, 0, 0]).fit(X, y)
    model = HistGradientBoostingDistribution(**SMALL).fit(X, y)
    with pytest.raises(ValueError, match="predicts distributions, and a report is about numbers or classes"):
        model.report(X, y)
    for to in (model.to_onnx, model.to_treelite, model.to_c):
        with pytest.raises(ValueError, match="predicts parameters of distributions"):
            to()
    with pytest.raises(ValueError, match="level=1; allowed are numbers above 0 and below 1"):
        model.predict_interval(X, level=1)
    with pytest.raises(ValueError, match="q=.*; allowed are a number from 0 to 1"):
        model.predict_distribution(X).quantile([0.5, 1.5])
    with pytest.raises(ValueError, match=r"y has the shape \(99,\); allowed are \(100,\), \(100, n\), and a number"):
        model.predict_distribution(X).crps(y[1:])
    with pytest.raises(ValueError, match="is for a y of one column, and y has 2; allowed are targets in one column"):
        HistGradientBoostingDistribution().fit(X, np.column_stack([y, y]))


def test_what_is_predicted_is_a_sequence_of_rows():
    predicted = PredictedDistribution(Normal(), np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
    assert len(predicted) == 3 and len(predicted[1]) == 1 and predicted[-1].location == [4.0]
    assert (predicted[predicted.scale > 2].mean() == [2.0, 4.0]).all()
    assert predicted.quantile(0.5).shape == (3,) and predicted.quantile([0.1, 0.5]).shape == (3, 2)
    assert predicted.cdf(np.zeros((3, 4))).shape == (3, 4) and predicted.cdf(1.0).shape == (3,)
    assert (predicted.median() == predicted.mean()).all() and repr(predicted) == "PredictedDistribution(Normal, 3 rows)"
    draws = predicted.sample(4000, random_state=0)
    assert draws.shape == (3, 4000) and (draws == predicted.sample(4000, random_state=0)).all()
    np.testing.assert_allclose(draws.std(axis=1), predicted.std(), rtol=0.05)
    with pytest.raises(AttributeError, match="no attribute 'rate'; parameters are location, scale"):
        getattr(predicted, "rate")  # noqa: B009
    assert pickle.loads(pickle.dumps(predicted)).location.tolist() == [0.0, 2.0, 4.0]
    assert is_regressor(HistGradientBoostingDistribution())


def test_predictions_are_rows_that_end():
    predicted = PredictedDistribution(Normal(), np.array([[0.0, 1.0], [10.0, 2.0]]))
    assert [float(own.mean()[0]) for own in predicted] == [0.0, 10.0]
    assert predicted[-1].mean() == 10.0
    for row in (2, -3):
        with pytest.raises(IndexError):
            predicted[row]


@pytest.mark.parametrize(("mean", "size"), [(10.0, 2.0), (0.01, 1e4), (1000.0, 300.0), (50.0, 1e6)])
def test_crps_of_counts_is_the_sum_over_thresholds(mean, size):
    below = stats.nbinom.cdf(np.arange(int(20 * mean + 50)), size, size / (size + mean))
    for y in (0, int(mean), int(2 * mean)):
        expected = (below[:y] ** 2).sum() + ((1 - below[y:]) ** 2).sum()
        assert DENSITIES["negative_binomial"].crps(float(y), mean, size) == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_equal_targets_have_the_unit_of_their_size():
    weight = np.random.default_rng(0).random(300)
    model = HistGradientBoostingDistribution(**SMALL).fit(rows(300), np.full(300, 1e5), sample_weight=weight)
    assert model.predict_distribution(rows(300)).scale.min() > 0.01


def test_raw_predictions_of_another_shape_are_refused():
    for ask in (lambda loss: loss.predictions(np.zeros((3, 1))), lambda loss: loss.values(np.zeros(3), np.zeros((3, 1)))):
        with pytest.raises(ValueError, match=r"raw has the shape \(3, 1\); allowed is \(3, 2\)"):
            ask(Normal(unit=1.0).configured(0))


@pytest.mark.parametrize("weight", [[1.0], [0.0, 0.0], [-1.0, 2.0], [np.nan, 1.0]])
def test_wrong_weights_of_means(weight):
    predicted = PredictedDistribution(Normal(), np.array([[0.0, 1.0], [10.0, 2.0]]))
    for mean in (predicted.mean_crps, predicted.mean_log_density):
        with pytest.raises(ValueError, match="weight=.*allowed are 2 numbers from 0 on, not all 0, and None"):
            mean([0.0, 10.0], weight)


class ShiftedNormal(Normal):
    """A normal distribution that knows more than dforest's: which targets are far out."""

    def is_far(self, y, location, scale):
        return np.abs(y - location) > 3 * scale

    def variance(self, location, scale):
        return 4 * scale**2


class StartsAtHome(Normal):
    def fit_intercept_only(self, y_true, sample_weight=None):
        return [7.0, 0.0]


def test_subclasses_of_built_in_distributions(tmp_path):
    """They have the formulas of these, but for those that they define."""
    X = rows(800)
    y = 1000.0 * targets("normal", X)
    plain = HistGradientBoostingDistribution("normal", **SMALL).fit(X, y)
    model = HistGradientBoostingDistribution(ShiftedNormal(), **SMALL).fit(X, y)
    assert model._loss.loss.unit == plain._loss.loss.unit > 1000
    found, expected = model.predict_distribution(X), plain.predict_distribution(X)
    np.testing.assert_allclose(found.parameters, expected.parameters, rtol=1e-6)
    assert found.variance() == pytest.approx(4 * expected.variance(), rel=1e-5)
    assert found.crps(y) == pytest.approx(expected.crps(y), rel=1e-5)
    assert model.score(X, y) == pytest.approx(plain.score(X, y), rel=1e-6)
    assert model.conformalize(X, y).predict_interval(X) == pytest.approx(plain.conformalize(X, y).predict_interval(X), rel=1e-5)
    model.save(tmp_path / "model")
    again = dforest.load(tmp_path / "model", components=[ShiftedNormal])
    assert again.predict_interval(X).tobytes() == model.predict_interval(X).tobytes()
    own = HistGradientBoostingDistribution(StartsAtHome(unit=1000.0), **SMALL).fit(X, y)
    assert own.forest_.objective.baseline == (7.0, 0.0)


MAGNITUDES = [name for name, cls in DISTRIBUTIONS.items() if cls.magnitudes is not None]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", MAGNITUDES)
def test_magnitudes_of_targets(name):
    X = rows(500)
    y = targets(name, X)
    y /= np.abs(y).max()
    model = HistGradientBoostingDistribution(name, **SMALL)
    usual = clone(model).fit(X, y)
    least, most = DISTRIBUTIONS[name].magnitudes
    for scale in (1.001 * least, 0.999 * most):
        far = y * scale
        found = clone(model).fit(X, far)
        assert np.median(found.predict(X) / scale / usual.predict(X)) == pytest.approx(1, rel=0.01)
        assert found.score(X, far) + np.log(scale) == pytest.approx(usual.score(X, y), abs=0.05)
    for scale in (1.1e149, 1e160, 1e300):
        with pytest.raises(ValueError, match=rf'y holds .*; allowed with loss="{name}" are numbers up to 1e\+149 in magnitude'):
            clone(model).fit(X, y * scale)
    for scale in (0.9 * least, 1e-160, 1e-290):
        with pytest.raises(ValueError, match=rf'y holds numbers up to .* in magnitude; allowed with loss="{name}" are targets of '
                                             rf"which the greatest is 0, or from {least} to 1e\+149: multiply them"):  # fmt: skip
            clone(model).fit(X, y * scale)
    assert np.isfinite(usual.score(X[:5], y[:5] * 1e-160))  # what is scored may be small
    if name != "gamma":
        assert (clone(model).fit(X, np.zeros(500)).predict(X) == 0).all()


@pytest.mark.filterwarnings("error")
def test_log_normal_targets_of_all_magnitudes():
    X = rows(500)
    y = np.exp(np.sin(X[:, 0]))
    usual = HistGradientBoostingDistribution("lognormal", **SMALL).fit(X, y)
    for scale in (1e-300, 1e300):
        found = HistGradientBoostingDistribution("lognormal", **SMALL).fit(X, y * scale)
        assert found.predict(X) / scale == pytest.approx(usual.predict(X), rel=1e-3)


@pytest.mark.parametrize("loss", ["zero_inflated_poisson", "negative_binomial"])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e9])
def test_conformal_intervals_of_counts_have_ends(loss, scale):
    """Where tails are too small for SciPy's inverse functions, or counts are so large that these are far off."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((400, 3))
    y = np.floor(scale * rng.gamma(2.0, size=400) * np.exp(rows[:, 0]))
    y[200::12] *= 3
    model = HistGradientBoostingDistribution(loss, max_iter=20, early_stopping=False).fit(rows[:200], y[:200])
    model.conformalize(rows[200:], y[200:])
    ends = model.predict_interval(rows[200:], 0.9)
    assert not np.isnan(ends).any() and np.mean((ends[:, 0] <= y[200:]) & (y[200:] <= ends[:, 1])) >= 0.9
    tail = -np.ravel(model.conformal_scores_)[covering_rank(0.9, 200) - 1]
    if tail > 0:
        predicted = model.predict_distribution(rows[200:])
        assert (predicted._upper_tail(ends[:, 1]) >= tail * (1 - 1e-9)).all()
        assert (predicted._upper_tail(ends[:, 1] + 1) < tail).all() and (predicted.cdf(ends[:, 0] - 1) < tail).all()


@pytest.mark.parametrize("loss", ["lognormal", "gamma"])
def test_conformal_intervals_of_positive_targets_begin_at_0(loss):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((400, 1))
    y = np.exp((40 if loss == "lognormal" else 3) * rng.standard_normal(400))
    model = HistGradientBoostingDistribution(loss, max_iter=20, early_stopping=False).fit(rows[:200], y[:200])
    ends = model.conformalize(rows[200:], y[200:]).predict_interval(rows, 0.9)
    assert (ends[:, 0] >= 0).all() and (ends[:, 1] > ends[:, 0]).all()
