"""Faults of boosted trees as users would report them, each with the right value."""

import numpy as np
import pytest

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = X[:, 0] + RNG.normal(size=300)
TRAIN, VAL = slice(0, 200), slice(200, 300)


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
