"""What tests of conversions from and to scikit-learn have in common."""

import numpy as np

from dforest.interchange.conversion.probes import within_leaves

KINDS = [
    f"{name}{task}"
    for name in ("RandomForest", "ExtraTrees", "DecisionTree", "ExtraTree")
    for task in ("Classifier", "Regressor")
]


def is_single_tree(kind):
    return kind.endswith(("TreeClassifier", "TreeRegressor"))


def data_of(kind, n=300, seed=0, dtype=np.float32, several=False, missing=True):
    """Rows with missing values, and labels of text or numbers; several: three columns of these, of one to three classes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, (n, 4)).astype(dtype) / 7
    z = X[:, 0] * X[:, 1] + rng.random(n)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    y = np.array(["few", "many", "more"])[np.digitize(z, [6.0, 12.0])] if "Classifier" in kind else z
    if several:
        y = np.stack([y, np.where(rng.random(n) < 0.5, y[0], y[1]), y[:1].repeat(n)], axis=1)
    return X, y


def assert_same_bits(theirs, ours, X):
    """A model of scikit-learn predicts what one of ours does, whose means are within its leaves."""
    if hasattr(ours, "classes_"):
        found, expected = ((own if isinstance(own, list) else [own]) for own in (theirs.predict_proba(X), ours.predict_proba(X)))
        assert [own.tobytes() for own in found] == [own.tobytes() for own in expected]
        assert np.array_equal(theirs.predict(X), ours.predict(X))
    else:
        assert np.array_equal(*(within_leaves(ours.forest_, one.predict(X)) for one in (theirs, ours)))
