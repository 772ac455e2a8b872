"""Scores of scikit-learn for classes with names: which class is the positive one, and what is said of scores that don't fit."""

from functools import partial

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_iris
from sklearn.metrics import average_precision_score, brier_score_loss, f1_score, log_loss, make_scorer

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.callback import OutOfBagPlateau
from dforest.estimators.scoring import as_scorer, score_of_classes
from dforest.inspection.report.measure import Measure

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(400, 3))
IS_RARE = X[:, 0] + RANDOM.normal(size=400) / 2 > 1.2
Y = np.where(IS_RARE, "yes", "no")
NAMES = ["average_precision", "f1", "precision", "recall", "jaccard", "neg_brier_score", "f1_macro", "roc_auc", "neg_log_loss"]


def fitted(name, y=Y, **parameters):
    return RandomForestClassifier(30, max_depth=4, oob_score=name, random_state=0, **parameters).fit(X, y)


def boosted(scoring, y=Y):
    parameters = {"max_iter": 4, "early_stopping": True, "use_best_model": False, "random_state": 0}
    model = HistGradientBoostingClassifier(**parameters, scoring=scoring)
    return model.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])


@pytest.mark.filterwarnings("error:Note that pos_label", "ignore:Precision is ill-defined")
@pytest.mark.parametrize("name", NAMES)
def test_text_scores_like_numbers(name):
    text, numbers = fitted(name), fitted(name, IS_RARE.astype(int))
    assert text.oob_score_ == pytest.approx(numbers.oob_score_, rel=1e-12) and text.oob_score_ != 0
    found, expected = (
        model.oob_importance(X, y, scoring=name, n_repeats=2, random_state=0).importances
        for model, y in ((text, Y), (numbers, IS_RARE.astype(int)))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    probability = text.predict_proba(X)
    found = Measure.named(text, name)(IS_RARE.astype(int), probability)
    assert found == pytest.approx(Measure.named(numbers, name)(IS_RARE.astype(int), probability), rel=1e-12)
    np.testing.assert_allclose(boosted(name).validation_score_, boosted(name, IS_RARE.astype(int)).validation_score_)


def test_plateau_by_a_name():
    ends = [
        RandomForestClassifier(200, random_state=0).set_callbacks(OutOfBagPlateau("average_precision", rounds=5)).fit(X, y)
        for y in (Y, IS_RARE)
    ]
    assert ends[0].n_estimators_ == ends[1].n_estimators_ < 200


def test_classes_of_numbers_score_as_in_scikit_learn():
    """The class 1 is the positive one, even where it is the first, for which scikit-learn asks for its probability."""
    y = np.where(IS_RARE, 2, 1)
    for score in ("average_precision", average_precision_score):
        model = fitted(score, y)
        assert model.oob_score_ == pytest.approx(average_precision_score(y == 1, model.oob_decision_function_[:, 0]))
    y = np.where(IS_RARE, 7, 3)
    model = fitted("average_precision", y)
    assert model.oob_score_ == pytest.approx(average_precision_score(y == 7, model.oob_decision_function_[:, 1]))


def test_a_class_that_is_named_is_the_positive_one():
    scorer = make_scorer(average_precision_score, response_method="predict_proba", pos_label="no")
    model = fitted(scorer)
    expected = average_precision_score(~IS_RARE, model.oob_decision_function_[:, 0])
    assert model.oob_score_ == pytest.approx(expected) == fitted(partial(average_precision_score, pos_label="no")).oob_score_
    assert scorer._kwargs == {"pos_label": "no"}
    model = boosted(scorer)
    expected = average_precision_score(Y[300:] == "no", model.predict_proba(X[300:])[:, 0])
    assert model.validation_score_[-1] == pytest.approx(expected)


def test_metrics_that_take_no_weights():
    def metric(true, predicted):
        return 1.0

    def scorer(estimator, X, y):
        return 1.0

    def with_weights(estimator, X, y, sample_weight=None):
        return float(sample_weight is not None)

    model = HistGradientBoostingRegressor(max_iter=1, early_stopping=True)
    y, weight = X[:, 0], np.linspace(1, 2, len(X))
    for one in (scorer, make_scorer(metric)):
        with pytest.raises(ValueError, match="argument 'sample_weight'; allowed are .* add sample_weight=None to the parameters"):
            model.set_params(scoring={"mine": one}).fit(X, y, weight)
    assert model.set_params(scoring={"mine": with_weights}).fit(X, y, weight).best_score_ == 1.0


PLACES = {
    "oob_score": fitted,
    "scoring of oob_importance": lambda score: fitted(True).oob_importance(X, Y, scoring=score, n_repeats=1),
    "scoring of report": lambda score: fitted(True).report(X, Y, scoring=score),
    "scorer": lambda score: RandomForestClassifier(5).set_callbacks(OutOfBagPlateau(score)).fit(X, Y),
    "scoring": boosted,
}


@pytest.mark.parametrize("place", PLACES)
def test_advice_works_where_it_is_given(place):
    score, name = PLACES[place], place.split()[0]
    with pytest.raises(ValueError, match=f"{name}='r2' can't score .*; allowed are scores of 2 classes") as told:
        score("r2")
    names = str(told.value).rpartition("such as ")[2].replace("'", "").split(", ")
    assert len(names) == 3
    for each in names:
        score(each)
    with pytest.raises(ValueError, match=f"{name}=make_scorer.* can't score .*; allowed are scorers that ask") as told:
        score(make_scorer(average_precision_score))
    score(eval(str(told.value).partition("probabilities, as ")[2].removesuffix(" does"), vars(metrics).copy()))


@pytest.mark.parametrize(
    ("metric", "written"),
    [
        (average_precision_score, "make_scorer(average_precision_score, response_method='predict_proba', pos_label='yes')"),
        (partial(f1_score, pos_label="no"), "make_scorer(f1_score, pos_label='no')"),
        (partial(f1_score, average="macro"), "make_scorer(f1_score, average='macro', pos_label=None)"),
        (log_loss, "make_scorer(log_loss, greater_is_better=False, response_method='predict_proba')"),
        (brier_score_loss,
         "make_scorer(brier_score_loss, greater_is_better=False, response_method='predict_proba', pos_label='yes')"),
        (lambda true, predicted: np.mean(true == predicted), "make_scorer(metric)"),
    ],
)  # fmt: skip
def test_boosted_trees_say_how_a_metric_becomes_a_scorer(metric, written):
    with pytest.raises(ValueError, match="is a metric, of true and predicted values; allowed are scorers, such as") as told:
        boosted(metric)
    assert f" {written} with make_scorer of sklearn.metrics" in str(told.value)
    assert as_scorer(metric, np.array(["no", "yes"])) == written
    model = boosted(eval(written, {"metric": metric, **vars(metrics)}))
    sign = -1 if "greater_is_better" in written else 1
    found = score_of_classes(metric, model.classes_, Y[300:], model.predict_proba(X[300:]))
    assert model.validation_score_[-1] == pytest.approx(sign * found)


def test_advice_for_other_targets():
    X, y = load_iris(return_X_y=True)
    for name in ("balanced_accuracy", "roc_auc_ovr", "f1_macro", "neg_log_loss"):
        with pytest.raises(ValueError, match=f"can't score y: .*average='binary'.*scores of 3 classes, such as .*{name}"):
            RandomForestClassifier(5, oob_score="f1").fit(X, y)
        RandomForestClassifier(50, oob_score=name, random_state=0).fit(X, y)
    for name in ("r2", "neg_mean_absolute_error", "neg_root_mean_squared_error"):
        with pytest.raises(ValueError, match=f"oob_score='f1' can't score y: .*; allowed are scores of numbers.*{name}"):
            RandomForestRegressor(5, oob_score="f1").fit(X, X[:, 0])
        with pytest.raises(ValueError, match=f"scoring='f1' can't score the 135 training rows: .* of numbers, such as .*{name}"):
            HistGradientBoostingRegressor(early_stopping=True, scoring="f1", validation_fraction=15).fit(X, X[:, 0])
        RandomForestRegressor(50, oob_score=name, random_state=0).fit(X, X[:, 0])
    both = np.stack([y, y], axis=1)
    model = RandomForestClassifier(30, random_state=0).fit(X, both)
    with pytest.raises(ValueError, match="allowed are functions of true and predicted labels of shape"):
        model.oob_importance(X, both, scoring="accuracy")
    model.oob_importance(X, both, scoring=lambda true, predicted: np.mean(true == predicted), n_repeats=1)
