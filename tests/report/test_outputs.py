"""Reports on one of several outputs."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score

from dforest import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.inspection.report.outputs import column_of, estimator_of_output
from dforest.inspection.report.study import Study


def data(n=300):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    return X, np.column_stack([X[:, 0] + 0.1 * rng.standard_normal(n), 1e3 * X[:, 1] ** 2, X[:, 2]])


def study_of(model, X, y, output, scoring=None):
    return Study(estimator_of_output(model, output), X, column_of(y, output, 3), scoring, (output, 3))


@pytest.mark.parametrize("output", [0, 2])
@pytest.mark.parametrize("make", [RandomForestRegressor, HistGradientBoostingRegressor])
def test_scores_are_those_of_the_output(make, output):
    X, y = data()
    model = make(random_state=0).fit(X[:200], y[:200])
    study = study_of(model, X[200:], y[200:], output)
    assert study.score == pytest.approx(r2_score(y[200:, output], model.predict(X[200:])[:, output]), rel=1e-12)
    assert study.curve.values[-1] == pytest.approx(study.score, rel=1e-12)
    page = str(model.report(X[200:], y[200:], output=output))
    assert f"{output}, of 3 from 0 on" in page


def test_classes_and_out_of_bag_predictions_are_those_of_the_output():
    X, numbers = data()
    y = np.column_stack([numbers[:, 0] > 0, np.digitize(numbers[:, 1], [100, 1000]), numbers[:, 2] > 0]).astype(int)
    model = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
    for output in range(3):
        study = study_of(model, X, y, output)
        assert study.predictions[2] and study.classes == [str(k) for k in np.unique(y[:, output])]
        probability = model.oob_decision_function_[output]
        rows = ~np.isnan(probability).any(axis=1)
        assert study.model.out_of_bag(np.flatnonzero(rows))(X[rows]) == pytest.approx(probability[rows], abs=1e-12)
        if study.rare is None:
            assert study.score == accuracy_score(y[rows, output], probability[rows].argmax(axis=1))


def test_frames():
    pandas = pytest.importorskip("pandas")
    X, y = data()
    frame = pandas.DataFrame(y, columns=["first", "second", "third"])
    page = str(RandomForestRegressor(10, random_state=0).fit(X, frame).report(X, frame, output=1))
    assert "second" in page and "third" not in page
