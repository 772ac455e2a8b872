"""`multi_class` of boosted trees: one tree for all classes, and each class against the rest; models are compared with the naive
twin in tests/boost.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import log_loss
from sklearn.multiclass import OneVsRestClassifier

import dforest
from dforest import HistGradientBoostingClassifier

X, Y = load_iris(return_X_y=True)
FEW = dict(max_iter=20, early_stopping=False, random_state=0, max_features=1.0)


def model(way="one_tree", **parameters):
    return HistGradientBoostingClassifier(**{"multi_class": way, **FEW, **parameters})


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "focal"])
def test_classes_against_the_rest_are_classifiers_of_each(loss):
    fitted = model("one_vs_rest", loss=loss).fit(X, Y)
    own = [HistGradientBoostingClassifier(loss, **FEW).fit(X, k == Y) for k in range(3)]
    raw = np.column_stack([classifier.decision_function(X) for classifier in own])
    assert np.allclose(fitted.decision_function(X), raw, atol=1e-9)
    odds = np.column_stack([classifier.predict_proba(X)[:, 1] for classifier in own])
    assert np.allclose(fitted.predict_proba(X), odds / odds.sum(axis=1, keepdims=True), atol=1e-12)
    if loss == "log_loss":
        theirs = OneVsRestClassifier(HistGradientBoostingClassifier(**FEW)).fit(X, Y)
        assert np.allclose(fitted.predict_proba(X), theirs.predict_proba(X), atol=1e-12)


def test_one_tree_has_a_value_for_each_class():
    fitted = model().fit(X, Y)
    assert fitted.n_trees_per_iteration_ == 1 and fitted.forest_.n_trees == 20
    assert fitted.estimators_.shape == (20, 1)
    assert fitted.decision_function(X).shape == (150, 3)
    assert log_loss(Y, fitted.predict_proba(X)) < 0.2 < log_loss(Y, np.full((150, 3), 1 / 3))


@pytest.mark.parametrize("way", ["one_tree", "one_vs_rest"])
def test_models_are_kept_and_explained_as_others_are(way, tmp_path):
    fitted = model(way).fit(X, Y)
    fitted.save(tmp_path / "model")
    for other in (dforest.load(tmp_path / "model"), dforest.serving.load(tmp_path / "model")):
        assert np.array_equal(other.predict_proba(X), fitted.predict_proba(X))
        assert np.array_equal(other.predict(X), fitted.predict(X))
    explained = fitted.shap_values(X[:7])
    assert explained.values.shape == (7, 4, 3) and len(explained.base_values) == 3
    raw = explained.values.sum(axis=1) + explained.base_values
    assert np.allclose(raw, fitted.decision_function(X[:7]))
    assert fitted.shap_interaction_values(X[:2]).values.shape == (2, 4, 4, 3)
    more = clone(fitted).set_params(max_iter=12).fit(X, Y).set_params(max_iter=20, warm_start=True).fit(X, Y)
    assert np.array_equal(more.predict_proba(X), fitted.predict_proba(X))
    assert [p.shape for p in fitted.staged_predict_proba(X[:3])] == [(3, 3)] * 20
    with pytest.raises(ValueError, match=f'trees of multi_class="{way}", which are not converted'):
        fitted.to_onnx()


@pytest.mark.parametrize("way", ["one_tree", "one_vs_rest"])
def test_early_stopping_looks_at_the_loss_of_all_classes(way):
    labels = np.array(["a", "b", "c"])[Y]
    fitted = model(way, early_stopping=True, max_iter=300, validation_folds=1).fit(X, labels)
    assert fitted.best_iteration_ < 300
    assert fitted.validation_score_[fitted.best_iteration_] == fitted.validation_score_.max()
    assert fitted.score(X, labels) > 0.9


def test_weights_are_repetitions_by_all_ways():
    times = np.arange(150) % 3
    rows = np.repeat(np.arange(150), times)
    for way in ("one_tree", "one_vs_rest"):
        weighted = model(way, min_samples_leaf=1).fit(X, Y, sample_weight=times)
        repeated = model(way, min_samples_leaf=1).fit(X[rows], Y[rows])
        assert np.allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("n_classes", [20, 21, 40])
def test_many_classes(n_classes):
    """Above 20 of which trees are sketched; the bits don't depend on threads, and gains are those of all classes in the mean."""
    rows, y = make_classification(
        4_000, 20, n_informative=12, n_classes=n_classes, n_clusters_per_class=1, class_sep=2.0, random_state=0
    )
    fitted = model(max_iter=30, learning_rate=0.3).fit(rows[:3_000], y[:3_000])
    again = model(max_iter=30, learning_rate=0.3, n_jobs=3).fit(rows[:3_000], y[:3_000])
    assert fitted._loss.n_directions == (10 if n_classes > 20 else 0)
    assert np.array_equal(fitted.decision_function(rows), again.decision_function(rows))
    assert fitted.score(rows[3_000:], y[3_000:]) > 0.5
    first = dforest.trees_to_dataframe(model(max_iter=1).fit(rows, y)).iloc[0]
    assert 0.25 < first["gain"] / gain_of_all_classes(rows, y, first) < 4.0


def gain_of_all_classes(rows, y, node):
    """What a split of the first tree's root gains, by all classes, each with the mean of their Hessians."""
    share = np.bincount(y) / len(y)
    gradient = share - (y[:, None] == np.arange(len(share)))
    hessian = np.mean(share * (1 - share))
    is_left = rows[:, int(node["feature"])] <= node["threshold"]
    sides = [(gradient[side].sum(axis=0), hessian * side.sum()) for side in (is_left, ~is_left)]
    return sum((g**2).sum() / (h + 1.0) for g, h in sides)


@pytest.mark.parametrize(
    ("loss", "way", "message"),
    [("focal", "one_tree", 'loss="focal" is for two classes, and y has 3; allowed are'),
     ("exponential", "multinomial", 'loss="exponential" is for two classes, and y has 3; allowed are'),
     ("log_loss", "ovr", "The 'multi_class' parameter of HistGradientBoostingClassifier must be a str among")],
)  # fmt: skip
def test_wrong_ways(loss, way, message):
    with pytest.raises(ValueError, match=message):
        model(way, loss=loss).fit(X, Y)


def test_two_classes_know_one_way():
    found = [model(way).fit(X, Y > 0).predict_proba(X) for way in ("multinomial", "one_tree", "one_vs_rest")]
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


def test_a_loss_of_ones_own_in_one_tree():
    """Trees are those of the built-in loss, where derivatives are."""

    class Softmax(dforest.loss.PythonLoss):
        def gradient_hessian(self, y_true, raw):
            power = np.exp(raw - raw.max(axis=1, keepdims=True))
            p = power / power.sum(axis=1, keepdims=True)
            return p - (y_true[:, None] == np.arange(raw.shape[1])), p * (1 - p)

    own = model(loss=Softmax()).fit(X, Y)
    assert own.n_trees_per_iteration_ == 1
    assert np.allclose(own.predict_proba(X), model().fit(X, Y).predict_proba(X), atol=1e-4)


def test_a_loss_of_ones_own_knows_no_rest():
    class Softmax(dforest.loss.PythonLoss):
        def gradient_hessian(self, y_true, raw):
            return raw, np.ones_like(raw)

    with pytest.raises(ValueError, match='multi_class="one_vs_rest" with loss=.*asked about all 3 classes at once'):
        model("one_vs_rest", loss=Softmax()).fit(X, Y)


def test_partial_dependence_is_that_of_classes():
    for way in ("multinomial", "one_tree", "one_vs_rest"):
        fitted = model(way).fit(X, Y)
        assert fitted.partial_dependence(X, [2], grid_resolution=5)["average"].shape == (3, 5)


def test_a_warm_start_tells_the_way():
    fitted = model("multinomial", warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="means multinomial in one tree, but warm_start=True goes on with trees grown by multi"):
        fitted.set_params(multi_class="one_tree", max_iter=30).fit(X, Y)
