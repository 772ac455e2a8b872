"""A fit while other threads predict: each prediction is that of one fit, and all of a fit's results are there at once.

`test_one_fit` has all that an estimator can be asked for.
"""

from threading import Thread

import numpy as np
import pytest
from sklearn.base import is_classifier

from dforest import DecisionTreeClassifier, HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor

X = np.random.default_rng(0).normal(size=(60, 3))
# Of other classes, of other numbers of classes, and of other columns.
FITS = [(X, np.arange(60) % 2 * 10), (X, np.arange(60) % 5 + 100), (X[:, :2], np.arange(60) % 3)]


@pytest.mark.parametrize(
    "kind", [DecisionTreeClassifier, RandomForestClassifier, RandomForestRegressor, HistGradientBoostingClassifier]
)
def test_predictions_during_fits(kind):
    small = {} if kind is DecisionTreeClassifier else {"max_iter": 2} if "Boosting" in kind.__name__ else {"n_estimators": 4}
    model = kind(random_state=0, **small)
    method = "predict_proba" if is_classifier(model) else "predict"
    expected = [getattr(model.fit(*given), method)(X) for given in FITS[:2]]
    found, errors, goes_on = set(), [], [True]

    def predict():
        try:
            while goes_on[0]:
                seen = getattr(model, method)(X)
                found.add(next(i for i, array in enumerate(expected) if array.shape == seen.shape and (array == seen).all()))
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=predict)
    thread.start()
    for _ in range(15):
        for given in FITS[:2]:
            model.fit(*given)
    goes_on[0] = False
    thread.join()
    assert not errors and found


def test_a_fit_that_fails_changes_nothing():
    model = RandomForestClassifier(2, random_state=0).fit(*FITS[0])
    before = model.__dict__
    with pytest.raises(ValueError, match="n_estimators"):
        model.set_params(n_estimators=0).fit(*FITS[2])
    assert model.__dict__ is before and model.classes_.tolist() == [0, 10] and model.n_features_in_ == 3
