"""What trees are to predict, as a value: leaf words, leaf tables and criteria of each objective."""

import pickle

import numpy as np
import pytest

from dforest import RandomForestClassifier, RandomForestRegressor
from dforest.core.objective import ClassObjective, MultiOutputClassObjective, NumberObjective, SumObjective, check_objective
from dforest.core.search.criteria import CLASS_CRITERIA, NUMBER_CRITERIA
from dforest.core.search.criterion import Gini
from dforest.core.search.regression import SquaredError

OBJECTIVES = [ClassObjective(1), ClassObjective(2), ClassObjective(5), NumberObjective(), SumObjective((0.5, -1.0))]


def tables(objective, n, rng, shifted):
    """Random leaf tables of n leaves."""
    m = n if objective.keeps_values else 0
    draws, weight = rng.integers(1, 9, n), rng.integers(1, 2**40, (n, objective.n_weights))
    return {"leaf_draws": draws, "leaf_weight": weight, "leaf_value": rng.normal(size=m), "leaf_impurity": rng.random(m),
            "leaf_shift": rng.integers(-30, 2000, n if shifted else 0).astype(np.int32)}  # fmt: skip


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_words_of_leaves_and_tables_are_the_same_numbers(objective, shifted):
    known = tables(objective, 7, np.random.default_rng(0), shifted)
    words = objective.join_leaves(*known.values())
    assert words.shape == (7, objective.n_leaf_words) and words.dtype == np.int64
    again = objective.leaf_tables({name: words[:, span] for name, span in objective.leaf_words.items()})
    assert again.keys() == known.keys()
    for name, table in known.items():
        assert again[name].dtype == table.dtype
        np.testing.assert_array_equal(again[name], table)


def test_words_of_a_statistic_by_hand():
    """A statistic of classes is [draws, weight, weight of class 0, ...]; one of numbers [draws, weight, sum of targets]."""
    assert list(range(9))[ClassObjective(3).weight_words] == [2, 3, 4] and ClassObjective(3).n_leaf_words == 4
    assert list(range(9))[NumberObjective().weight_words] == [1] and NumberObjective().n_leaf_words == 4


def test_votes():
    weight, value = np.array([[1, 3], [2, 2]]), np.array([0.5, -1.0])
    soft = ClassObjective(2).leaf_votes(weight, np.empty(0), "soft")
    np.testing.assert_array_equal(soft, [[0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_array_equal(ClassObjective(2).leaf_votes(weight, np.empty(0), "hard"), [[0, 1], [1, 0]])
    np.testing.assert_array_equal(NumberObjective().leaf_votes(weight[:, :1], value, "soft"), [[0.5], [-1.0]])


def test_criteria_of_an_objective():
    assert set(CLASS_CRITERIA) & set(NUMBER_CRITERIA) == set()
    for objective in OBJECTIVES:
        for name, kind in objective.criteria.items():
            if name != "hellinger" or objective.n_classes <= 2:
                made = objective.make_criterion(name)
                assert type(made) is kind and made.n_classes == objective.n_classes
                assert made.n_words >= objective.weight_words.stop
    given = Gini()
    assert ClassObjective(3).make_criterion(given) is not given
    assert NumberObjective().make_criterion("squared_error", is_wide=True).n_words == 4
    with pytest.raises(ValueError, match="is for classification"):
        NumberObjective().make_criterion(Gini())
    with pytest.raises(ValueError, match="is for regression"):
        ClassObjective(2).make_criterion(SquaredError())


def test_an_objective_is_a_value():
    for objective in OBJECTIVES:
        check_objective(objective)
        assert pickle.loads(pickle.dumps(objective)) == objective
        with pytest.raises(AttributeError):
            objective.n_classes = 4
    assert len(set(OBJECTIVES)) == 5 and ClassObjective(2) == ClassObjective(2) != ClassObjective(3)


def test_classes_of_leaves_and_of_rows():
    classes, numbers = ClassObjective(3), NumberObjective()
    weight = np.array([[1, 2, 2], [5, 0, 4]])
    assert classes.leaf_class(weight).tolist() == [1, 0]  # of equal weights, the lowest
    assert numbers.leaf_class(weight[:, :1]) is None
    assert [classes.predicts_means, numbers.predicts_means, SumObjective((0.0,)).predicts_means] == [False, True, False]
    classes.check_encoded(np.array([0, 2, 1]))
    MultiOutputClassObjective((2, 3)).check_encoded(np.array([[0, 2], [1, 0]]))
    numbers.check_encoded(np.array([-0.5, 7.0]))
    for wrong in ([0, 3], [-1, 0], [0.0, 1.0]):
        with pytest.raises(ValueError, match="allowed are classes from 0, below"):
            classes.check_encoded(np.array(wrong))
    with pytest.raises(ValueError, match="allowed are classes from 0, below"):
        MultiOutputClassObjective((2, 3)).check_encoded(np.array([[2, 0]]))


def test_forests_keep_the_objective_of_their_fit():
    X = np.random.default_rng(0).random((60, 2))
    y = np.arange(60) % 3
    known = RandomForestClassifier(2, random_state=0).fit(X, y), RandomForestRegressor(2, random_state=0).fit(X, y)
    for model, objective in zip(known, (ClassObjective(3), NumberObjective()), strict=True):
        for forest in (model.forest_, model.estimators_[0].forest_, pickle.loads(pickle.dumps(model)).forest_):
            assert forest.objective == objective
