"""Boosted classifiers of one class, and of classes that no row of positive weight has: as folds, bags and chains make them."""

import pickle

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score, learning_curve
from sklearn.multioutput import ClassifierChain

import dforest
from dforest import HistGradientBoostingClassifier, HistGradientBoostingRanker, RandomForestClassifier
from dforest.loss import PythonLoss

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
THREE = np.searchsorted([-0.5, 0.5], X[:, 0] + 0.3 * rng.normal(size=120))
ALL = np.full(120, "all")


class Logistic(PythonLoss):
    def gradient_hessian(self, y_true, raw_prediction):
        p = 1 / (1 + np.exp(-raw_prediction))
        return p - y_true, p * (1 - p)

    def loss(self, y_true, raw_prediction):
        return np.logaddexp(0, raw_prediction) - y_true * raw_prediction


GIVEN = {"defaults": "scikit-learn", "max_iter": 3, "min_samples_leaf": 3, "random_state": 0}


def boosted(loss="log_loss", **parameters):
    return HistGradientBoostingClassifier(loss, **GIVEN | parameters)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loss", ["log_loss", "exponential", Logistic])
@pytest.mark.parametrize("parameters", [{}, {"class_weight": "balanced", "subsample": 0.5, "min_sum_hessian_in_leaf": 0}])
def test_one_class_is_what_is_predicted(loss, parameters):
    model = boosted(loss, **parameters).fit(X, ALL)
    forest = RandomForestClassifier(2).fit(X, ALL)
    assert model.n_classes_ == 1 and model.n_trees_per_iteration_ == 1 and model.n_iter_ == 3
    assert model.predict(X).tolist() == forest.predict(X).tolist()
    assert model.predict_proba(X).tolist() == forest.predict_proba(X).tolist()
    assert model.decision_function(X).tolist() == [0.0] * 120
    assert [p.tolist() for p in model.staged_predict_proba(X[:1])] == [[[1.0]]] * 3
    assert [labels.tolist() for labels in model.staged_predict(X[:1])] == [["all"]] * 3
    assert model.predict(X[:2], offset=[-5.0, 5.0]).tolist() == ["all"] * 2
    assert model.predict_proba(X[:2], offset=[-5.0, 5.0]).tolist() == [[1.0]] * 2
    assert not model.shap_values(X[:2]).values.any() and not model.apply(X).any() and model.score(X, ALL) == 1
    more = clone(model).set_params(warm_start=True).fit(X, ALL).set_params(max_iter=5).fit(X, ALL)
    assert more.n_iter_ == 5
    with pytest.raises(ValueError, match=r"y has the classes \[0, 2\], but warm_start=True goes on with .* on \['all'\]"):
        more.fit(X, THREE & 2)


@pytest.mark.parametrize("scoring", ["loss", "accuracy", ["loss", "accuracy"]])
def test_one_class_is_scored(scoring):
    model = boosted(max_iter=30, early_stopping=True, scoring=scoring).fit(X, ALL)
    assert model.n_iter_ == 1 and len(model.validation_score_) == 11
    assert (model.validation_score_ == (scoring == "accuracy")).all() and not np.signbit(model.validation_score_).any()
    with pytest.raises(ValueError, match="'neg_log_loss' can't score .*; allowed are scores of one class, such as 'accuracy'"):
        boosted(early_stopping=True, scoring="neg_log_loss").fit(X, ALL)


def test_what_divides_rows_meets_one_class():
    y = np.r_[np.zeros(110, int), np.ones(10, int)]
    assert cross_val_score(boosted(), X, y, cv=KFold(3), error_score="raise").min() > 0.7
    assert np.isfinite(learning_curve(boosted(), X, y, cv=3, error_score="raise")[1]).all()
    bags = sklearn.ensemble.BaggingClassifier(boosted(min_samples_leaf=1), n_estimators=8, max_samples=10, random_state=0)
    assert bags.fit(X, y).predict_proba(X).shape == (120, 2)  # some members are given no weight of class 1
    chain = ClassifierChain(boosted()).fit(X, np.stack([np.zeros(120), np.ones(120)], axis=1))
    assert chain.predict(X).tolist() == [[0, 1]] * 120


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize(("parameters", "weight"), [({}, THREE != 1), ({"class_weight": {1: 0}}, None), ({}, THREE == 2)])
def test_a_class_without_weight_is_as_good_as_impossible(parameters, weight, early_stopping):
    model = boosted(early_stopping=early_stopping, **parameters).fit(X, THREE, weight)
    there = THREE != 1 if weight is None else weight
    alone = boosted(early_stopping=early_stopping).fit(X[there], THREE[there])
    assert model.classes_.tolist() == [0, 1, 2]
    probability = model.predict_proba(X)
    assert probability[:, 1].max() < 1e-15 and model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    assert (model.predict(X) == alone.predict(X)).mean() > 0.9
    with pytest.raises(ValueError, match="Sample weights must contain at least one non-zero number"):
        model.fit(X, THREE, np.zeros(120))


@pytest.mark.parametrize("loss", ["log_loss", "exponential", Logistic])
def test_one_of_two_classes_has_weight(loss):
    two = THREE > 0
    model = boosted(loss, warm_start=True).fit(X, two, two)
    assert model.predict(X).all() and model.predict_proba(X)[:, 0].max() < 1e-9
    if isinstance(loss, str):
        assert (model.set_params(max_iter=200).fit(X, two).predict(X) == two).mean() > 0.9


def test_models_of_one_class_of_other_libraries():
    y = np.full(120, 7)
    theirs = [sklearn.ensemble.HistGradientBoostingClassifier(max_iter=2).fit(X, y)]
    read = [dforest.from_sklearn(theirs[0])]
    lightgbm = pytest.importorskip("lightgbm")
    theirs.append(lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(X, y))
    read.append(dforest.from_lightgbm(theirs[1]))
    for model in read:
        assert model.predict(X).tolist() == [7] * 120 and model.predict_proba(X).tolist() == [[1.0]] * 120
        assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == [7] * 120


def test_reports_of_one_class():
    model = boosted().fit(X, ALL)
    assert "There is one class" in str(model.report(X, ALL)) and str(model.report())
    assert str(boosted().fit(X, THREE, THREE != 1).report(X, THREE))


@pytest.mark.parametrize("loss", ["lambdarank", "pairwise"])
def test_grades_that_are_all_equal_ask_for_nothing(loss):
    model = HistGradientBoostingRanker(loss, max_iter=3, early_stopping=True).fit(X, np.full(120, 3), qid=np.arange(120) // 10)
    assert not model.predict(X).any()
