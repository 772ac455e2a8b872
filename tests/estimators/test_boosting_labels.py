"""Boosted classifiers of several labels: a y of several columns of two classes each, which the trees of an iteration share."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_score

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from dforest.loss import PythonLoss

rng = np.random.default_rng(0)
X = np.round(rng.normal(size=(300, 4)), 1)
Y = np.stack([X[:, 0] + 0.5 * rng.normal(size=300) > 0, X[:, 1] * X[:, 2] > 0, X[:, 0] + X[:, 3] > 1], axis=1).astype(int)
TEXT = np.array(["no", "yes"])[Y]


def boosted(loss="log_loss", **parameters):
    return HistGradientBoostingClassifier(loss, **{"max_iter": 8, "min_samples_leaf": 5, "random_state": 0} | parameters)


def test_answers_have_the_forms_of_forests():
    for labels in (Y, TEXT, pd.DataFrame(Y, columns=list("abc"))):
        model, forest = boosted().fit(X, labels), RandomForestClassifier(3).fit(X, labels)
        assert [own.tolist() for own in model.classes_] == [own.tolist() for own in forest.classes_]
        assert model.n_classes_ == [2, 2, 2] and model.n_trees_per_iteration_ == 1 and model.n_iter_ == 8
        found, expected = model.predict(X), forest.predict(X)
        assert found.shape == expected.shape and found.dtype == expected.dtype
        assert [p.shape for p in model.predict_proba(X)] == [p.shape for p in forest.predict_proba(X)] == [(300, 2)] * 3
        assert (found == np.asarray(labels)).all(axis=1).mean() > 0.5
    assert model.score(X, Y) == (found == Y).all(axis=1).mean()  # scikit-learn has no accuracy of several columns of text
    raw = model.decision_function(X)
    assert raw.shape == (300, 3) and (found == (raw > 0)).all()
    for o, own in enumerate(model.predict_proba(X)):
        np.testing.assert_allclose(own[:, 1], 1 / (1 + np.exp(-raw[:, o])))
        assert roc_auc_score(Y[:, o], own[:, 1]) > 0.8
    assert (list(model.staged_predict(X))[-1] == found).all() and len(list(model.staged_decision_function(X))) == 8
    assert [p.tolist() for p in list(model.staged_predict_proba(X))[-1]] == [p.tolist() for p in model.predict_proba(X)]
    assert cross_val_score(boosted(), X, Y, cv=3, scoring="roc_auc", error_score="raise").min() > 0.7
    assert boosted().fit(X, Y[:, 0]).predict(X).shape == (300,)


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_trees_are_shared_by_labels_that_are_equal(loss):
    """Gains of equal labels are sums of equal gains, so that trees are those of one label."""
    one, twice = boosted(loss).fit(X, Y[:, 0]), boosted(loss).fit(X, Y[:, [0, 0]])
    assert (one.forest_.feature == twice.forest_.feature).all()
    np.testing.assert_allclose(one.predict_proba(X), twice.predict_proba(X)[1])


def test_a_label_without_two_classes_says_nothing_of_splits():
    """Its second derivatives are too small for any leaf, which kept all labels from being split."""
    with_constant = np.column_stack([Y[:, 0], np.zeros(300, int)])
    model, alone = boosted().fit(X, with_constant), boosted().fit(X, Y[:, 0])
    assert (model.forest_.feature == alone.forest_.feature).all()
    both = model.predict_proba(X)
    np.testing.assert_allclose(both[0], alone.predict_proba(X))
    assert both[1].tolist() == [[1.0]] * 300 and not model.predict(X)[:, 1].any()
    weight = (Y[:, 1] == 0) + 0.0
    weighted = boosted().fit(X, Y, weight)
    assert weighted.predict_proba(X)[1][:, 1].max() < 1e-9 and (weighted.forest_.feature >= 0).any()


def test_a_node_that_is_certain_of_a_label_is_still_split_for_others():
    y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(int)
    model = boosted(max_iter=200, learning_rate=0.5, min_sum_hessian_in_leaf=1.0, max_leaf_nodes=3).fit(X, y)
    assert (model.predict(X) == y).all()


@pytest.mark.parametrize("scoring", ["loss", "accuracy", "roc_auc", "f1_macro", ["loss", "roc_auc"]])
def test_early_stopping(scoring):
    model = boosted(max_iter=40, early_stopping=True, scoring=scoring).fit(X, Y)
    assert len(model.validation_score_) <= 41 and np.isfinite(model.validation_score_).all()


def test_the_loss_of_given_rows_is_the_sum_over_outputs():
    given = boosted(max_iter=5, scoring="loss").fit(X[:200], Y[:200], X_val=X[200:], y_val=Y[200:])
    shares = given.predict_proba(X[200:], n_iter=5)
    expected = sum(log_loss(Y[200:, o], shares[o][:, 1]) for o in range(3))
    assert given.set_params(use_best_model=False).score_history_["loss"]["validation"][given.n_iter_] == pytest.approx(-expected)


def test_weights_offsets_and_warm_starts():
    weighted = boosted(class_weight=[{0: 1, 1: 2}, {0: 1, 1: 1}, {0: 1, 1: 1}]).fit(X, Y)
    given = boosted().fit(X, Y, sample_weight=1.0 + Y[:, 0])
    assert weighted.forest_.leaf_value.tolist() == given.forest_.leaf_value.tolist()
    assert boosted(class_weight="balanced").fit(X, Y).n_iter_ == 8
    offset = rng.normal(size=(300, 3))
    model = boosted().fit(X, Y, offset=offset)
    np.testing.assert_allclose(model.decision_function(X, offset=offset), model.decision_function(X) + offset)
    part = boosted(max_iter=3, warm_start=True).fit(X, Y).set_params(max_iter=8)
    with pytest.raises(ValueError, match=r"y has the classes \[\[0, 1\], \[0, 1\]\], but warm_start=True goes on with"):
        part.fit(X, Y[:, :2])


def test_importances_shapley_values_and_reports():
    model = boosted().fit(X, TEXT)
    values = [own.values for own in model.shap_values(X[:5])]
    bases = [own.base_values for own in model.shap_values(X[:5])]
    for o in range(3):
        np.testing.assert_allclose(values[o].sum(axis=1) + bases[o], model.decision_function(X[:5])[:, o])
    found = boosted().fit(X, Y).permutation_importance(X, Y, n_repeats=2, random_state=0)
    assert found.importances_mean.min() > 0.05
    assert len(model.partial_dependence(X, 0).average) == 3
    assert str(model.report(X, TEXT, output=1))
    with pytest.raises(ValueError, match="output=None, but HistGradientBoostingClassifier has 3 outputs"):
        model.report(X, TEXT)
    state = model.__getstate__()
    with pytest.raises(ValueError, match="classes_: .* it must be one or two of each of 3"):
        clone(model).__setstate__(state | {"classes_": state["classes_"][:2]})


@pytest.mark.parametrize(("model", "y", "message"), [
    (boosted(), np.column_stack([Y, np.arange(300) % 3]), "column 3 of y has 3 classes, and two .*MultiOutputClassifier makes"),
    (boosted(PythonLoss()), Y, "y should be a 1d array, got an array of shape"),
    (boosted(monotonic_cst=[1, 0, 0, 0]), np.column_stack([Y, np.arange(300) % 3]), "column 3 of y has 3 classes"),
    (boosted(class_weight={0: 1, 1: 2}), Y, "For multi-output, class_weight should be a list of dicts"),
    (boosted(scoring="balanced_accuracy", early_stopping=True), Y, "scoring='balanced_accuracy' can't score the"),
    (HistGradientBoostingRegressor("huber"), Y, "loss='huber' is for a y of one column, and y has 3"),
])  # fmt: skip
def test_refused(model, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(("needed", "name"), [("onnx", "to_onnx"), ("dforest", "to_c"), ("treelite", "to_treelite")])
def test_conversions_are_refused(needed, name):
    pytest.importorskip(needed)
    with pytest.raises(ValueError, match="has 3 outputs, and boosted trees of several labels are not converted"):
        getattr(boosted().fit(X, Y), name)()
