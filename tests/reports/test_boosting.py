"""Faults of boosted trees as users would report them, each with the right value."""

import numpy as np
import pytest

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from dforest.loss import PythonLoss

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = X[:, 0] + RNG.normal(size=300)
TRAIN, VAL = slice(0, 200), slice(200, 300)


def training_loss(loss, y, raw):
    """The mean loss of raw predictions, by SciPy and NumPy."""
    if loss == "poisson":
        return np.mean(np.exp(raw) - y * raw)
    return np.mean(y * np.exp(-raw) + raw) if loss == "gamma" else np.mean(np.logaddexp(0, np.where(y, -raw, raw)))


@pytest.mark.parametrize(
    ("loss", "y"),
    [
        ("gamma", [1e-9] * 20 + [1.0] * 20 + [1e4] * 20),
        ("poisson", [1.0] * 59 + [1e6]),
        ("log_loss", [True] + [False] * 59),
    ],
)
@pytest.mark.parametrize("learning_rate", [0.1, 1.0])
def test_training_makes_the_training_loss_no_worse(loss, y, learning_rate):
    """Newton steps overshot: with targets far below the prediction, the training loss of "gamma" rose to 2e45."""
    X, y = np.arange(60.0)[:, None], np.array(y)
    Model = HistGradientBoostingClassifier if loss == "log_loss" else HistGradientBoostingRegressor
    model = Model(loss=loss, learning_rate=learning_rate, min_samples_leaf=1, random_state=0).fit(X, y)
    raw = model.decision_function(X) if loss == "log_loss" else np.log(model.predict(X))
    assert training_loss(loss, y, raw) < training_loss(loss, y, np.full(60, model.forest_.objective.baseline[0]))


def test_validation_rows_that_fit_is_given_are_used():
    """With early_stopping="auto" and few training rows, X_val and y_val were ignored, and all 100 rounds were grown."""
    model = HistGradientBoostingRegressor(learning_rate=0.5, random_state=0)
    model.fit(X[TRAIN], Y[TRAIN], X_val=X[VAL], y_val=Y[VAL])
    assert model.do_early_stopping_ and len(model.validation_score_) < 101


@pytest.mark.filterwarnings("ignore:Only one class is present in y_true")
def test_a_score_that_is_not_a_number_is_an_error():
    """A validation set of one class has no ROC AUC: each score was NaN, and the fit ended after 10 rounds without a word."""
    y = Y > 0
    model = HistGradientBoostingClassifier(early_stopping=True, scoring="roc_auc")
    with pytest.raises(ValueError, match=r"scoring='roc_auc' returned nan for the \d+ validation rows, .* classes \[True\]"):
        model.fit(X, y, X_val=X[~y], y_val=y[~y])


def test_a_class_that_the_validation_rows_lack_can_be_scored():
    """With a class missing in y_val, scoring="neg_log_loss" failed inside of scikit-learn, as nobody told it all classes."""
    y = (Y > 0) + (Y > 1).astype(int)
    there = y != 2
    model = HistGradientBoostingClassifier(max_iter=1, early_stopping=True, scoring="neg_log_loss")
    model.fit(X, y, X_val=X[there], y_val=y[there])
    shares = np.bincount(y) / len(y)
    assert model.validation_score_[0] == pytest.approx(np.log(shares[y[there]]).mean())


def test_stopping_may_be_switched_on_when_a_fit_goes_on(capfd):
    """With early stopping only from the second fit on, a third one with verbose=1 failed with an IndexError."""
    model = HistGradientBoostingRegressor(max_iter=5, warm_start=True, early_stopping=False, random_state=0).fit(X, Y)
    model.set_params(early_stopping=True, max_iter=7, validation_fraction=None, verbose=1).fit(X, Y)
    model.set_params(max_iter=9).fit(X, Y)
    losses = [np.mean((Y - predicted) ** 2) / 2 for predicted in model.staged_predict(X)]
    np.testing.assert_allclose(model.train_score_, [-Y.var() / 2, *np.negative(losses)])
    assert f"9 of 9 iterations, training score {-losses[-1]:.6g}" in capfd.readouterr().err


def test_scores_of_another_scorer_are_not_compared():
    """A fit that went on with another `scoring`, or another X_val, mixed the old scores with the new ones."""
    model = HistGradientBoostingRegressor(max_iter=5, warm_start=True, scoring="r2", random_state=0)
    model.fit(X[TRAIN], Y[TRAIN], X_val=X[VAL][:50], y_val=Y[VAL][:50])
    model.set_params(max_iter=8, scoring="loss").fit(X[TRAIN], Y[TRAIN], X_val=X[VAL], y_val=Y[VAL])
    losses = [np.mean((Y[VAL] - predicted) ** 2) / 2 for predicted in model.staged_predict(X[VAL])]
    np.testing.assert_allclose(model.validation_score_[1:], np.negative(losses))


def test_early_stopping_keeps_the_best_round():
    """The rounds that early stopping waited for stayed in the model, which predicted worse than after its best round."""
    model = HistGradientBoostingRegressor(learning_rate=0.9, random_state=0)
    model.fit(X[TRAIN], Y[TRAIN], X_val=X[VAL], y_val=Y[VAL])
    whole = HistGradientBoostingRegressor(learning_rate=0.9, random_state=0, early_stopping=False).fit(X[TRAIN], Y[TRAIN])
    n_grown = len(model.validation_score_) - 1
    errors = [np.mean((Y[VAL] - whole.predict(X[VAL], n_iter=n)) ** 2) for n in range(1, n_grown + 1)]
    assert model.best_iteration_ == model.n_iter_ == 1 + np.argmin(errors) < n_grown
    assert np.mean((Y[VAL] - model.predict(X[VAL])) ** 2) == min(errors)


def test_a_loss_without_second_derivatives_grows_no_trees_silently():
    """A loss whose second derivatives are 0 gave 20 trees without a split, and no word about it."""

    class Absolute(PythonLoss):
        def gradient_hessian(self, y_true, raw_prediction):
            return np.sign(raw_prediction - y_true), np.zeros(len(y_true))

    with pytest.warns(UserWarning, match="no tree has a split, .*: all second derivatives of loss=.*Absolute.* are 0"):
        model = HistGradientBoostingRegressor(Absolute(), max_iter=20).fit(X, Y)
    assert len(model.forest_.feature) == 20
