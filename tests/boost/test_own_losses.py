"""Losses of one's own: those that repeat a built-in one give its model to the bit, others the twin's; answers are checked."""

import pickle

import numpy as np
import pytest
from helpers.boosting import assert_equal_models
from sklearn.base import clone
from twins import boosting as twin

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from dforest.core.boost import inverse_link
from dforest.core.integer_weights import integer_weights
from dforest.errors import ContractError, LossError
from dforest.loss import Loss, PythonLoss
from dforest.rules import losses as rules
from dforest.rules.losses import baselines

SMALL = {"defaults": "scikit-learn", "max_iter": 6, "max_leaf_nodes": 7, "min_samples_leaf": 3, "random_state": 0}


def start(name, y, weight, n_classes=2):
    """The built-in losses' intercept."""
    return baselines(name, y, None if weight is None else integer_weights(weight).integers, n_classes)


class SquaredError(PythonLoss):
    constant_hessian = True

    def gradient_hessian(self, y_true, raw_prediction):
        return raw_prediction - y_true, None

    def loss(self, y_true, raw_prediction):
        return 0.5 * (raw_prediction - y_true) ** 2

    def fit_intercept_only(self, y_true, sample_weight):
        return start("squared_error", y_true, sample_weight)[0]


class Poisson(PythonLoss):
    def gradient_hessian(self, y_true, raw_prediction):
        return rules.derivatives("poisson", raw_prediction, y_true)

    def loss(self, y_true, raw_prediction):
        return rules.values("poisson", raw_prediction, y_true)

    def inverse_link(self, raw_prediction):
        return inverse_link.predictions("poisson", raw_prediction)

    def fit_intercept_only(self, y_true, sample_weight):
        return start("poisson", y_true, sample_weight)

    def in_y_true_range(self, y_true):
        return (y_true >= 0).all()


class Quantile(PythonLoss):
    """With values of leaves, and a parameter."""

    constant_hessian = True

    def __init__(self, quantile=0.5):
        self.quantile = quantile

    def gradient_hessian(self, y_true, raw_prediction):
        return rules.derivatives("quantile", raw_prediction, y_true, self.quantile)

    def loss(self, y_true, raw_prediction):
        return rules.values("quantile", raw_prediction, y_true, self.quantile)

    def fit_intercept_only(self, y_true, sample_weight):
        return np.quantile(y_true, self.quantile, method="averaged_inverted_cdf")

    def leaf_value(self, y_true, raw_prediction, sample_weight):
        assert (sample_weight == 1).all()
        return np.quantile(y_true - raw_prediction, self.quantile, method="averaged_inverted_cdf")


class LogLoss(PythonLoss):
    """Of two or more classes."""

    def gradient_hessian(self, y_true, raw_prediction):
        if raw_prediction.ndim == 1:
            return rules.derivatives("log_loss", raw_prediction, y_true)
        return rules.class_derivatives(raw_prediction, y_true.astype(np.int64))

    def loss(self, y_true, raw_prediction):
        if raw_prediction.ndim == 1:
            return rules.values("log_loss", raw_prediction, y_true)
        return rules.class_values(raw_prediction, y_true.astype(np.int64))

    def fit_intercept_only(self, y_true, sample_weight):
        n_classes = self.n_classes
        return start("log_loss" if n_classes == 2 else "multinomial", y_true, sample_weight, n_classes)


class LogCosh(PythonLoss):
    """That no built-in one is; with sums that start by themselves."""

    def gradient_hessian(self, y_true, raw_prediction):
        gradient = np.tanh(raw_prediction - y_true)
        return gradient, 1 - gradient**2

    def loss(self, y_true, raw_prediction):
        away = np.abs(raw_prediction - y_true)
        return away + np.log1p(np.exp(-2 * away)) - np.log(2)


def problem(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 2)
    signal = 2 * X[:, 0] + np.abs(X[:, 1]) + rng.normal(size=n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, signal


# (loss, the built-in one, targets from a signal)
REPEATED = {
    "squared_error": (SquaredError(), {}, lambda s: s),
    "poisson": (Poisson(), {}, lambda s: np.floor(np.exp(0.5 * s))),
    "quantile": (Quantile(0.3), {"quantile": 0.3}, lambda s: s),
    "log_loss": (LogLoss(), {}, lambda s: s > 1),
    "multinomial": (LogLoss(), {}, lambda s: np.searchsorted([0.0, 1.5], s)),
}


def pair(name, **parameters):
    """An estimator with a loss of one's own, one with the built-in loss, and what makes targets."""
    own, given, make_y = REPEATED[name]
    parameters = {**SMALL, **parameters}
    if name in ("log_loss", "multinomial"):
        return HistGradientBoostingClassifier(own, **parameters), HistGradientBoostingClassifier(**parameters), make_y
    return HistGradientBoostingRegressor(own, **parameters), HistGradientBoostingRegressor(name, **given, **parameters), make_y


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("parameters", [{}, {"subsample": 0.5}, {"early_stopping": True, "max_iter": 30, "n_iter_no_change": 3}])
@pytest.mark.parametrize("name", REPEATED)
def test_what_repeats_a_loss_is_that_loss(name, parameters, n_jobs):
    # Long steps of losses with a link are shortened further, those of a loss of one's own are not.
    model, built_in, make_y = pair(name, n_jobs=n_jobs, max_delta_step=5.0, **parameters)
    X, signal = problem(9000)
    y = make_y(signal)
    assert_equal_models(model.fit(X, y), built_in.fit(X, y))
    assert model.predict(X).tobytes() == built_in.predict(X).tobytes()
    for a, b in zip(model.staged_predict(X), built_in.staged_predict(X), strict=True):
        assert a.tobytes() == b.tobytes()
    if name in ("log_loss", "multinomial"):
        np.testing.assert_allclose(model.predict_proba(X), built_in.predict_proba(X), atol=1e-15)
        np.testing.assert_array_equal(model.decision_function(X), built_in.decision_function(X))


@pytest.mark.parametrize("weights", ["integers", "real"])
@pytest.mark.parametrize("name", ["squared_error", "poisson", "log_loss", "multinomial"])
def test_weights_count_as_those_of_built_in_losses(name, weights):
    model, built_in, make_y = pair(name)
    X, signal = problem()
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 5, len(X)).astype(float) if weights == "integers" else rng.random(len(X)) + 0.1
    assert_equal_models(model.fit(X, make_y(signal), weight), built_in.fit(X, make_y(signal), weight))
    grown = twin.grow_booster(
        X, make_y(signal), loss=configured(model), max_iter=6, max_leaf_nodes=7, min_samples_leaf=3, max_bins=256,
        sample_weight=weight, seed=model.forest_.seed,
    )  # fmt: skip
    assert model._raw(X).tobytes() == np.ascontiguousarray(grown.raw).tobytes()


def configured(model):
    """The loss of a fitted estimator, as the twin asks it."""
    return model._loss.number


@pytest.mark.parametrize("monotonic", [None, [1, 0, 0, -1]])
@pytest.mark.parametrize("subsample", [1.0, 0.4])
@pytest.mark.parametrize("loss", [LogCosh, Quantile(0.7)])
def test_models_are_the_naive_twins(loss, subsample, monotonic):
    X, y = problem(150)
    model = HistGradientBoostingRegressor(loss, subsample=subsample, monotonic_cst=monotonic, l2_regularization=0.5, **SMALL)
    model.fit(X, y)
    grown = twin.grow_booster(
        X, y, loss=configured(model), max_iter=6, max_leaf_nodes=7, min_samples_leaf=3, l2_regularization=0.5, max_bins=256,
        seed=model.forest_.seed, n_drawn=int(subsample * 150), monotonic=monotonic,
    )  # fmt: skip
    assert model._raw(X).tobytes() == np.ascontiguousarray(grown.raw).tobytes()


def test_intercepts_are_looked_for():
    """By default, by Newton's steps: the mean, the logarithm of the mean or of odds, where others overshoot."""
    rng = np.random.default_rng(0)
    y, weight = rng.exponential(1e5, 500), rng.random(500) + 0.1
    found = PythonLoss.fit_intercept_only
    for w in (None, weight):
        np.testing.assert_allclose(found(SquaredError().configured(0), y, w), np.average(y, weights=w), rtol=1e-12)
        np.testing.assert_allclose(found(Poisson().configured(0), y, w), np.log(np.average(y, weights=w)), rtol=1e-12)
        ones = rng.random(500) < 0.01
        p = np.average(ones, weights=w)
        np.testing.assert_allclose(found(LogLoss().configured(2), ones.astype(float), w), np.log(p / (1 - p)), rtol=1e-10)
        classes = np.searchsorted([0.05, 0.3], rng.random(500))
        share = np.bincount(classes, w) / (500 if w is None else w.sum())
        raw = found(LogLoss().configured(3), classes.astype(float), w)
        np.testing.assert_allclose(np.exp(raw) / np.exp(raw).sum(), share, rtol=1e-6)


# Warm starts, pickles, clones


@pytest.mark.parametrize("name", ["quantile", "multinomial"])
def test_warm_start_is_one_fit(name):
    whole, _, make_y = pair(name, subsample=0.7)
    X, signal = problem()
    y = make_y(signal)
    parts = clone(whole).set_params(warm_start=True, max_iter=2).fit(X, y)
    assert_equal_models(whole.fit(X, y), parts.set_params(max_iter=6).fit(X, y))
    before = dict(vars(parts))
    others = [LogLoss if name == "quantile" else LogCosh(), "squared_error" if name == "quantile" else "log_loss"]
    for other in [*others, Quantile(0.31)] if name == "quantile" else others:
        with pytest.raises(ValueError, match=r"warm_start=True goes on with trees grown by OwnLoss\(loss="):
            parts.set_params(loss=other).fit(X, y)
        parts.set_params(loss=before["loss"])
        assert vars(parts) == before
    equal = type(before["loss"])(**before["loss"].get_params())
    assert parts.set_params(loss=equal, max_iter=7).fit(X, y).n_iter_ == 7


def test_a_class_does_as_well_as_an_object():
    X, y = problem()
    assert_equal_models(*(HistGradientBoostingRegressor(loss, **SMALL).fit(X, y) for loss in (LogCosh, LogCosh())))
    model = HistGradientBoostingRegressor(Quantile(), **SMALL).set_params(loss__quantile=0.9)
    assert model.fit(X, y).loss == Quantile(0.9) != Quantile() and model.get_params()["loss__quantile"] == 0.9
    model.loss.quantile = 0.1  # a fitted model goes by the loss that it was fitted with
    assert model._loss.loss == Quantile(0.9)


# Answers that break the contract


def broken(**methods):
    """An object of a loss of which some methods are others."""
    return type("Broken", (LogCosh,), {name: staticmethod(method) for name, method in methods.items()})()


def derivatives(gradient=0.0, hessian=1.0):
    """A `gradient_hessian` in which row 7 has these; a number too many in row 9."""

    def gradient_hessian(y, raw):
        g, h = raw - y, np.ones(len(y))
        g[[7, 9]], h[[7, 9]] = gradient, hessian
        return g, h

    return gradient_hessian


REFUSED = [
    (broken(gradient_hessian=derivatives(gradient=np.nan)), "Broken.gradient_hessian returned the gradient nan for row 7"),
    (broken(gradient_hessian=derivatives(gradient=-np.inf)), "the gradient -inf for row 7; allowed are finite numbers, up to"),
    (broken(gradient_hessian=derivatives(gradient=1e200)), r"the gradient 1e\+200 for row 7; .* up to 2\*\*500 in magnitude"),
    (broken(gradient_hessian=derivatives(hessian=-1.0)), "the Hessian -1.0 for row 7; allowed are finite numbers from 0 on"),
    (broken(gradient_hessian=derivatives(hessian=np.nan)), "the Hessian nan for row 7"),
    (broken(gradient_hessian=lambda y, raw: (raw[1:], raw)), r"an array of the shape \(149,\); allowed are arrays .* \(150,\)"),
    (broken(gradient_hessian=lambda y, raw: (raw, 1.0)), r"Broken.gradient_hessian returned an array of the shape \(\)"),
    (broken(gradient_hessian=lambda y, raw: raw), "Broken.gradient_hessian returned a ndarray; allowed are pairs of arrays"),
    (broken(gradient_hessian=lambda y, raw: ("many", raw)), "Broken.gradient_hessian returned 'many'; allowed are numbers"),
    (broken(loss=lambda y, raw: np.where(y == 0, np.nan, 1)), "Broken.loss returned the loss nan for row 0"),
    (broken(loss=lambda y, raw: raw[:3]), r"Broken.loss returned an array of the shape \(3,\)"),
    (broken(fit_intercept_only=lambda y, w: np.inf), "Broken.fit_intercept_only returned inf; allowed is a finite number"),
    (broken(fit_intercept_only=lambda y, w: [1, 2]), r"Broken.fit_intercept_only returned \[1, 2\]; allowed is a finite number"),
    (broken(fit_intercept_only=lambda y, w: "zero"), "Broken.fit_intercept_only returned 'zero'"),
    (broken(configure=lambda n_classes: None), "Broken.configure must call the method of its base class"),
    (broken(in_y_true_range=lambda y: False), "y holds targets from 0.0 to 4.0, which loss=Broken.. does not allow"),
]


@pytest.mark.parametrize(("loss", "message"), REFUSED, ids=range(len(REFUSED)))
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_refused(loss, message, n_jobs):
    X, y = np.arange(600.0).reshape(150, 4), np.arange(150.0) % 5
    model = HistGradientBoostingRegressor(LogCosh(), max_iter=3, early_stopping=True, validation_fraction=None, n_jobs=n_jobs)
    model.fit(X, y)
    model.set_params(loss=loss, max_iter=4)
    before = dict(vars(model))
    is_classifier_only = "configure" in message
    with pytest.raises(ValueError, match=message) as raised:
        if is_classifier_only:
            HistGradientBoostingClassifier(loss).fit(X, y > 2)
        else:
            model.fit(X, y)
    assert isinstance(raised.value, LossError | ContractError) or "does not allow" in message
    assert vars(model) == before


def test_refused_values_of_leaves():
    class Half(Quantile):
        def leaf_value(self, y_true, raw_prediction, sample_weight):
            return np.nan if y_true.max() > 3 else 0.0

    X, y = np.arange(600.0).reshape(150, 4), np.arange(150.0) % 5
    with pytest.raises(LossError, match=r"Half.leaf_value returned the value nan for the leaf of row \d+; allowed are finite"):
        HistGradientBoostingRegressor(Half(), min_samples_leaf=5, n_jobs=2).fit(X, y)
    with pytest.raises(ValueError, match=r"loss=Half.* says what values leaves have, .* y has 3 classes, and allowed are two"):
        HistGradientBoostingClassifier(Half()).fit(X, y % 3)
    assert HistGradientBoostingClassifier(Quantile(), max_iter=2).fit(X, y > 1).n_iter_ == 2


def test_a_leaf_value_is_asked_for_without_a_word():
    """Without need_update_leaves_values = True it was never called; with False it still is not."""
    said, newton = (type("Other", (Quantile,), {"need_update_leaves_values": value}) for value in (True, False))
    X, y = problem(300)
    others = {"early_stopping": False, **SMALL}
    fits = [HistGradientBoostingRegressor(loss(0.3), **others).fit(X, y) for loss in (said, Quantile, newton)]
    assert_equal_models(*fits[:2])
    assert (fits[2].predict(X) != fits[1].predict(X)).any()


def test_rows_to_be_scored_may_be_given():
    X, y = problem()
    fits = [
        HistGradientBoostingRegressor(loss, early_stopping=True, **SMALL).fit(X[50:], y[50:], X_val=X[:50], y_val=y[:50])
        for loss in ("squared_error", SquaredError())
    ]
    assert_equal_models(*fits)


def test_an_exception_of_a_method_ends_the_fit():
    class Own(Exception):
        pass

    def fails(*_):
        raise Own("so it is")

    X, y = problem()
    for method in ("gradient_hessian", "loss", "fit_intercept_only", "in_y_true_range"):
        with pytest.raises(Own, match="so it is"):
            HistGradientBoostingRegressor(broken(**{method: fails}), max_iter=9, early_stopping=True, n_jobs=2).fit(X, y)
    model = HistGradientBoostingRegressor(broken(inverse_link=fails), max_iter=9).fit(X, y)
    with pytest.raises(Own):
        model.predict(X)
    with pytest.raises(LossError, match=r"inverse_link returned an array of the shape \(1,\); allowed"):
        HistGradientBoostingRegressor(broken(inverse_link=lambda raw: raw[:1]), max_iter=9).fit(X, y).predict(X)
    with pytest.raises(LossError, match="inverse_link returned the prediction nan for row 0"):
        HistGradientBoostingRegressor(broken(inverse_link=lambda raw: raw * np.nan), max_iter=9).fit(X, y).predict(X)


def test_methods_that_are_not_there():
    class Bare(PythonLoss):
        def gradient_hessian(self, y_true, raw_prediction):
            return raw_prediction - y_true, np.ones(len(y_true))

    X, y = problem()
    model = HistGradientBoostingRegressor(Bare(), early_stopping=True)
    with pytest.raises(NotImplementedError, match='Bare does not define loss, which scoring="loss" needs; allowed are other'):
        model.fit(X, y)
    assert model.set_params(scoring=None).fit(X, y).score(X, y) > 0.5
    with pytest.raises(NotImplementedError, match="PythonLoss does not define gradient_hessian"):
        HistGradientBoostingRegressor(PythonLoss()).fit(X, y)
    with pytest.raises(NotImplementedError, match="Loss does not define gradient_hessian"):
        HistGradientBoostingRegressor(Loss()).fit(X, y)
    with pytest.raises(ValueError, match=r"loss=<class 'int'>; allowed are subclasses of Loss, and instances of them"):
        HistGradientBoostingRegressor(int).fit(X, y)
    with pytest.raises(ValueError, match="The 'loss' parameter of HistGradientBoostingRegressor must be .*dforest.loss.Loss"):
        HistGradientBoostingRegressor(3).fit(X, y)


# In Cython

COMPILED = """
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.stdlib cimport qsort

from dforest.core.boost.loss cimport Loss
from dforest.core.boost import inverse_link
from dforest.core.component cimport CONTRACT
from dforest.core.component import declare_contract
from dforest.rules.losses cimport (
    DF_POISSON_LOSS, df_derivatives, df_derivatives_of_loss, df_multinomial_derivatives, df_predictions_of_loss, df_value_of_loss,
)

declare_contract(__name__, CONTRACT)


cdef class Poisson(Loss):
    cdef void gradient_hessian(self, const double* y, const double* raw, int64_t n, double* gradient,
                               double* hessian) noexcept nogil:
        cdef int64_t i
        cdef df_derivatives d
        for i in range(n):
            d = df_derivatives_of_loss(DF_POISSON_LOSS, raw[i], y[i], 0.0)
            gradient[i] = d.gradient
            hessian[i] = d.hessian

    cdef void loss(self, const double* y, const double* raw, int64_t n, double* loss) noexcept nogil:
        cdef int64_t i
        for i in range(n):
            loss[i] = df_value_of_loss(DF_POISSON_LOSS, raw[i], y[i], 0.0)

    cdef void inverse_link(self, const double* raw, int64_t n, double* prediction) noexcept nogil:
        df_predictions_of_loss(DF_POISSON_LOSS, raw, n, prediction)


cdef class Classes(Loss):
    cdef void gradient_hessian(self, const double* y, const double* raw, int64_t n, double* gradient,
                               double* hessian) noexcept nogil:
        cdef int64_t i, k = self.n_outputs
        for i in range(n):
            df_multinomial_derivatives(raw + k * i, <int64_t> y[i], gradient + k * i, hessian + k * i, 1, k)


cdef int order(const void* a, const void* b) noexcept nogil:
    return ((<const double*> a)[0] > (<const double*> b)[0]) - ((<const double*> a)[0] < (<const double*> b)[0])


cdef class Median(Loss):
    constant_hessian = True
    parameters = ("wrong",)
    cdef readonly bint wrong

    def __init__(self, wrong=False):
        self.wrong = wrong

    cdef void gradient_hessian(self, const double* y, const double* raw, int64_t n, double* gradient,
                               double* hessian) noexcept nogil:
        for i in range(n):
            gradient[i] = 1.0 if raw[i] > y[i] else -1.0
        if hessian != NULL:
            with gil:
                self.fail(AssertionError("nobody asks for a constant Hessian"))

    cdef double leaf_value(self, double* y, double* raw, double* weight, int64_t n) noexcept nogil:
        for i in range(n):
            y[i] -= raw[i]
        qsort(y, n, sizeof(double), order)
        return INFINITY if self.wrong else y[n // 2] if n % 2 else 0.5 * y[n // 2 - 1] + 0.5 * y[n // 2]


cdef class Failing(Poisson):
    cdef void gradient_hessian(self, const double* y, const double* raw, int64_t n, double* gradient,
                               double* hessian) noexcept nogil:
        Poisson.gradient_hessian(self, y, raw, n, gradient, hessian)
        with gil:
            self.fail(KeyError("so it is"))


cdef class Negative(Poisson):
    cdef void gradient_hessian(self, const double* y, const double* raw, int64_t n, double* gradient,
                               double* hessian) noexcept nogil:
        Poisson.gradient_hessian(self, y, raw, n, gradient, hessian)
        hessian[n - 1] = -1.0
"""

UNDECLARED = """
from dforest.core.boost.loss cimport Loss

cdef class Undeclared(Loss):
    pass
"""


@pytest.fixture(scope="module")
def compiled(compile_module):
    return compile_module("own_losses", COMPILED)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_compiled_losses_that_repeat_a_built_in_one(compiled, n_jobs):
    X, signal = problem(20_000)
    stopping = {"early_stopping": True, "subsample": 0.7, "n_jobs": n_jobs, "max_delta_step": 5.0, **SMALL}
    y = np.floor(np.exp(0.5 * signal))
    model = HistGradientBoostingRegressor(compiled.Poisson(), **stopping)
    # Where Newton's steps end is not the logarithm of the mean to the last bit, so both begin there.
    start = HistGradientBoostingRegressor("poisson", **stopping)
    started = type("Started", (compiled.Poisson,), {"fit_intercept_only": lambda self, y, w: baselines("poisson", y)})
    assert_equal_models(model.set_params(loss=started()).fit(X, y), start.fit(X, y))
    assert model.predict(X).tobytes() == start.predict(X).tobytes()
    np.testing.assert_allclose(
        clone(model).set_params(loss=compiled.Poisson()).fit(X, y).predict(X), start.predict(X), rtol=1e-6
    )
    median = type("Started", (compiled.Median,), {"fit_intercept_only": lambda self, y, w: np.median(y)})
    others = {"early_stopping": False, "n_jobs": n_jobs, **SMALL}
    assert_equal_models(*(HistGradientBoostingRegressor(loss, **others).fit(X, y) for loss in (median(), "absolute_error")))
    classes = np.searchsorted([0.0, 1.5], signal)
    start = type("Started", (compiled.Classes,), {
        "fit_intercept_only": lambda self, y, w: baselines("multinomial", y, n_classes=3)
    })  # fmt: skip
    models = [HistGradientBoostingClassifier(loss, **others).fit(X, classes) for loss in (start(), "log_loss")]
    assert_equal_models(*models)
    assert models[0].predict_proba(X).tobytes() == models[1].predict_proba(X).tobytes()


def test_compiled_losses_have_their_methods_in_cython(compiled):
    with pytest.raises(ContractError, match="Late.loss is written in Python and would never be called, as Poisson has its"):
        type("Late", (compiled.Poisson,), {"loss": lambda self, y, raw: y})()
    with pytest.raises(ContractError, match="Half.leaf_value .* subclasses of dforest.loss.PythonLoss, or of Loss in Cython"):
        type("Half", (Loss,), {"leaf_value": lambda self, y, raw, weight: 0.0})()
    assert compiled.Median().need_update_leaves_values and not compiled.Poisson().need_update_leaves_values
    X, signal = problem(300)
    newton = type("Newton", (compiled.Median,), {"need_update_leaves_values": False})
    fits = [HistGradientBoostingRegressor(loss, **SMALL).fit(X, signal) for loss in (compiled.Median, newton)]
    assert (fits[0].predict(X) != fits[1].predict(X)).any()


def test_compiled_losses_are_checked(compiled, compile_module):
    X, y = np.arange(40_000.0)[:, None], np.arange(40_000) % 3.0
    for loss, kind, message in [
        (compiled.Failing(), KeyError, "so it is"),
        (compiled.Negative(), LossError, "Negative.gradient_hessian returned the Hessian -1.0 for row 39999"),
        (compiled.Median(wrong=True), LossError, r"Median.leaf_value returned the value inf for the leaf of row \d+"),
        (compiled.Classes(), NotImplementedError, "Classes does not define loss"),
    ]:
        has_classes = loss == compiled.Classes()
        model = HistGradientBoostingClassifier if has_classes else HistGradientBoostingRegressor
        with pytest.raises(kind, match=message):
            model(loss, early_stopping=has_classes, n_jobs=2, **SMALL).fit(X, y)
    assert pickle.loads(pickle.dumps(compiled.Median(wrong=True))).wrong
    with pytest.raises(ImportError, match="undeclared does not say for which contract Undeclared was compiled"):
        compile_module("undeclared", UNDECLARED).Undeclared()


class Flat(PythonLoss):
    """Half the squared error whose second derivatives are all as given, or, with slope=False, whose first ones are 0."""

    def __init__(self, hessian, slope=True):
        self.hessian, self.slope = hessian, slope

    def gradient_hessian(self, y_true, raw_prediction):
        return self.slope * (raw_prediction - y_true), np.full(raw_prediction.shape, self.hessian)

    def fit_intercept_only(self, y_true, sample_weight):
        return np.zeros(self.n_outputs)


@pytest.mark.parametrize("has_classes", [False, True])
@pytest.mark.parametrize("lenient", [{}, {"l2_regularization": 1.0, "min_sum_hessian_in_leaf": 0.0}])
def test_second_derivatives_of_0_are_warned_of(has_classes, lenient):
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2 if has_classes else np.arange(60.0)
    model = HistGradientBoostingClassifier if has_classes else HistGradientBoostingRegressor
    with pytest.warns(UserWarning, match=r"all second derivatives of loss=Flat\(hessian=0.0, slope=True\) are 0"):
        model(Flat(0.0), **SMALL, **lenient).fit(X, y)


@pytest.mark.filterwarnings("error")
def test_trees_without_a_reason_to_split_are_not_warned_of():
    X, y = np.arange(60.0)[:, None], np.arange(60.0)
    for loss in (Flat(1.0, slope=False), Flat(0.0, slope=False), Flat(1.0)):
        HistGradientBoostingRegressor(loss, **SMALL).fit(X, y)
