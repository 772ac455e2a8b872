"""Faults of what forests tell of the training rows in their leaves, as they were reported."""

import numpy as np

from dforest import RandomForestClassifier


def test_class_weights_count_once_where_rows_are_drawn_by_weight():
    """With bootstrap="weighted", the trees of `estimators_` had the forest's class_weight, which their draws had in them already:
    grown again from their seeds they differed.
    """
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
    model = RandomForestClassifier(1, bootstrap="weighted", method="dense", min_samples_leaf=5, class_weight={0: 5, 1: 1, 2: 2})
    model.set_params(random_state=0).fit(X, y)
    tree, rows = model.estimators_[0], model.estimators_samples_[0]
    assert tree.class_weight is None
    assert tree.fit(X[rows], y[rows]).predict_proba(X).tolist() == model.predict_proba(X).tolist()
