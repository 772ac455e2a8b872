"""Whatever was grown, on columns of any kind: models of other libraries predict the same for any rows."""

import shutil

import numpy as np
import pytest
import treelite
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import dforest

onnxruntime = pytest.importorskip("onnxruntime")
COLUMNS = ("normal", "few values", "subnormal", "huge", "infinite", "constant", "missing or not", "categories", "many categories")

KINDS = (
    *("forest", "classes", "ordered labels", "tree of several", "isolation"),
    *("boosted", "boosted by statistics", "boosted classes", "ranker"),
)


def column_of(kind, n, rng):
    normal = rng.normal(size=n)
    if kind == "few values":
        return rng.integers(-3, 4, n).astype(float)
    if kind == "subnormal":
        return rng.integers(-4, 5, n) * 5e-324
    if kind == "huge":
        return normal * 1e300
    if kind == "infinite":
        return np.where(rng.random(n) < 0.6, rng.choice([-np.inf, np.inf], n), normal)
    if kind == "constant":
        return np.full(n, 1.5)
    if kind == "missing or not":
        return np.where(rng.random(n) < 0.5, np.nan, 1.0)
    if kind in ("categories", "many categories"):
        return rng.integers(0, 5 if kind == "categories" else 700, n).astype(float)
    return normal


def grown(kind, X, y, **common):
    """(an estimator, a function that tells the numbers that models should say of rows)."""
    classes, several = (y > np.median(y)).astype(int), np.column_stack([y, -y])
    if kind == "forest":
        estimator = dforest.RandomForestRegressor(4, **common).fit(X, y)
    elif kind == "classes":
        estimator = dforest.ExtraTreesClassifier(4, **common).fit(X, classes)
    elif kind == "ordered labels":
        common |= {"bootstrap": True, "categorical_split": "order"}
        estimator = (dforest.RandomForestRegressor if len(X) % 2 else dforest.ExtraTreesRegressor)(4, **common).fit(X, y)
    elif kind == "tree of several":
        estimator = dforest.DecisionTreeRegressor(max_depth=4, **common).fit(X, several)
    elif kind in ("boosted", "boosted by statistics"):
        common |= {"categorical_split": "subset" if kind == "boosted" else "order"}
        estimator = dforest.HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=1, **common).fit(X, y)
    elif kind == "boosted classes":
        classes = np.digitize(y, np.quantile(y, [0.2, 0.5, 0.8][: 1 + len(X) % 3]))
        estimator = dforest.HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=1, **common).fit(X, classes)
    elif kind == "ranker":
        estimator = dforest.HistGradientBoostingRanker(max_iter=3, min_samples_leaf=1, **common).fit(
            X, classes, qid=np.arange(len(X)) // 4
        )
    else:
        estimator = dforest.IsolationForest(4, contamination=0.2, **common).fit(X)
        return estimator, lambda rows: estimator.score_samples(rows)[:, None]
    if "classes" in kind:
        return estimator, estimator.predict_proba
    return estimator, lambda rows: estimator.predict(rows).reshape(len(rows), -1)


@pytest.mark.filterwarnings("ignore:no tree has a split", "ignore::dforest.errors.UnseenLabelsWarning")
@settings(max_examples=examples(20), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(5, 80),
    columns=st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=4),
    kind=st.sampled_from(KINDS),
)
def test_any_model(seed, n, columns, kind):
    rng = np.random.default_rng(seed)
    X = np.column_stack([column_of(one, n, rng) for one in columns])
    categorical = [j for j, one in enumerate(columns) if "categories" in one]
    estimator, predicted = grown(kind, X, rng.normal(size=n), random_state=seed, categorical_features=categorical or None)
    rows, forest = X[rng.integers(0, n, 60)], estimator.forest_
    thresholds = np.append(forest.threshold[forest.feature >= 0], [0.0, np.nan])
    near = np.concatenate([thresholds, np.nextafter(thresholds, -np.inf), np.nextafter(thresholds, np.inf)])
    numbers = [j for j in range(X.shape[1]) if j not in categorical]
    is_other = rng.random((len(rows), len(numbers))) < 0.4
    rows[:, numbers] = np.where(is_other, rng.choice(near, is_other.shape), rows[:, numbers])
    rows[::7, categorical] = 5000.0
    expected, tolerance = predicted(rows), 1e-15 if kind in ("isolation", "boosted classes") else 0.0
    session = onnxruntime.InferenceSession(estimator.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    assert np.abs(session.run(None, {"X": rows})[-1] - expected).max() <= tolerance
    found = treelite.gtil.predict(estimator.to_treelite(), rows).reshape(len(rows), -1)
    expected = expected[:, 1:] if found.shape[1] < expected.shape[1] else expected
    assert np.abs((-found if kind == "isolation" else found) - expected).max() <= 1e-6
    estimator.to_onnx(operators="classic")  # from here on, the conversions compare predictions
    if shutil.which("cc"):
        estimator.to_c()
    estimator.to_shap()  # with known categories alone
    if hasattr(estimator, "to_sklearn"):
        estimator.to_sklearn()
