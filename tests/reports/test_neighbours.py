"""Faults of what forests tell of the training rows in their leaves, as they were reported."""

import numpy as np

from dforest import RandomForestClassifier, RandomForestRegressor


def test_quantiles_are_right_if_a_category_is_only_in_rows_of_weight_0():
    """With a category that only rows of weight 0 have, the kept training rows had the numbers of other categories: quantiles
    came from memory that nobody had written to, such as 6.9e-310 for 10.
    """
    X, y, weight = [[0], [1], [2], [1], [2], [2]], [9, 10, 20, 10, 20, 20], [0, 1, 1, 1, 1, 1]
    model = RandomForestRegressor(5, categorical_features=[0], bootstrap=False, keep_training_data=True, random_state=0)
    model.fit(X, y, weight)
    assert model.predict_quantiles([[1], [2]], 0.5).tolist() == [10, 20]
    expected = [[0, 1 / 2, 0, 1 / 2, 0, 0], [0, 0, 1 / 3, 0, 1 / 3, 1 / 3]]  # a column for each row, also of weight 0
    np.testing.assert_allclose(model.forest_weights([[1], [2]]).toarray(), expected, rtol=1e-12)


def test_weights_count_once_where_rows_are_drawn_by_weight():
    """With bootstrap="weighted", forest weights and gap proximities counted sample weights a second time beside the chance of a
    draw, so that they did not give the forest's own predictions.
    """
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(60, 3)), rng.integers(1, 6, 60).astype(float)
    y = X[:, 0] + rng.normal(size=60)
    model = RandomForestRegressor(50, bootstrap="weighted", min_samples_leaf=5, oob_score=True, keep_training_data=True)
    model.set_params(random_state=0).fit(X, y, weight)
    np.testing.assert_allclose(model.forest_weights(X) @ y, model.predict(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.proximity() @ y, model.oob_prediction_, rtol=1e-12, atol=1e-12)


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


def test_training_rows_of_several_outputs_are_kept_with_balanced_draws():
    """class_weight="balanced_subsample" and keep_training_data=True failed for a y of several columns: "'int' object is not
    iterable".
    """
    X, y = np.arange(8.0)[:, None], np.array([[0, 0], [0, 1], [1, 2], [1, 0], [0, 1], [0, 2], [1, 0], [1, 1]])
    model = RandomForestClassifier(9, class_weight="balanced_subsample", keep_training_data=True, max_depth=1, random_state=0)
    weights = model.fit(X, y).forest_weights(X)
    for output, probability in enumerate(model.predict_proba(X)):
        np.testing.assert_allclose(weights @ np.eye(3)[y[:, output], : probability.shape[1]], probability, rtol=1e-12, atol=1e-12)
