"""Estimators whose class is a user's own, with a constructor of its own."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import dforest
from dforest import corrected_importance, importance_permutation_test
from dforest.callback import Checkpoint
from dforest.estimators.subclasses import every_parameter

X = np.random.default_rng(0).normal(size=(40, 3))
Y = X[:, 0] - X[:, 1]
CLASSES = np.arange(40) % 3


class Fewer(dforest.RandomForestRegressor):
    threshold = 3

    def __init__(self, n_estimators=4, *, extra=3, random_state=0):
        super().__init__(n_estimators=n_estimators, max_features=0.5, random_state=random_state)
        self.extra = extra
        self.threshold = 2 * extra


class Renamed(dforest.HistGradientBoostingRegressor):
    def __init__(self, rounds=3, depth=2):
        super().__init__(max_iter=rounds, max_depth=depth, random_state=0)
        self.rounds, self.depth = rounds, depth


class Keywords(dforest.ExtraTreesClassifier):
    def __init__(self, extra=1, **keywords):
        super().__init__(**{"n_estimators": 4, "random_state": 0} | keywords)
        self.extra = extra


class Changing(dforest.IsolationForest):
    """What the constructor keeps is not what it was given."""

    def __init__(self, extra=1):
        super().__init__(n_estimators=4, random_state=0)
        self.extra = extra + 1


class Surviving(dforest.RandomSurvivalForest):
    def __init__(self, n_trees, oob_score=False):
        super().__init__(n_trees, random_state=0, oob_score=oob_score, min_samples_leaf=4)
        self.n_trees = n_trees


CASES = [
    (Fewer(extra=5), Y), (Fewer(n_estimators=2), Y), (Renamed(rounds=2), Y), (Keywords(max_depth=2, voting="hard"), CLASSES),
    (Changing(extra=4), None), (Surviving(3), np.column_stack([CLASSES > 0, np.abs(Y)])),
]  # fmt: skip


@pytest.mark.parametrize("model, y", CASES)
def test_files_and_pickles(model, y, tmp_path):
    model = copy.deepcopy(model).fit(X, y)
    path = tmp_path / "model"
    model.save(path)
    for again in (dforest.load(path, components=[type(model)]), pickle.loads(pickle.dumps(model))):
        assert every_parameter(again) == every_parameter(model) and vars(again).keys() == vars(model).keys()
        assert getattr(again, "threshold", None) == getattr(model, "threshold", None)
        assert np.array_equal(again.predict(X), model.predict(X)) and np.array_equal(again.fit(X, y).predict(X), model.predict(X))
    with pytest.raises(dforest.errors.ModelFileError, match=f"it needs '{type(model).__name__}'"):
        dforest.load(path)


@pytest.mark.parametrize("name, value", [("predict", 3), ("estimators_", 3), ("__doc__", "a"), ("fit", None)])
def test_what_hides_a_method_is_not_saved(name, value, tmp_path):
    model = Fewer(2).fit(X, Y)
    vars(model)[name] = value
    with pytest.raises(ValueError, match=f"the attribute '{name}' would hide what the class Fewer has"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("model", [Fewer(), dforest.RandomForestRegressor(2)])
def test_a_parameter_that_a_file_could_not_have_is_not_saved(model, tmp_path):
    model = clone(model).fit(X, Y)
    model.max_depth = -3
    with pytest.raises(ValueError, match="'max_depth' parameter of .* must be"):
        model.save(tmp_path / "model")


def test_pickles_of_versions_that_lacked_a_parameter():
    model = Fewer().fit(X, Y)
    state = model.__getstate__()
    del state["always_split_features"]
    again = Fewer.__new__(Fewer)
    again.__setstate__(state)
    assert again.always_split_features is None and np.array_equal(again.fit(X, Y).predict(X), model.predict(X))


def test_parameters_that_the_constructor_does_not_name_are_checked():
    model = Fewer()
    model.max_depth = -3
    with pytest.raises(ValueError, match="'max_depth' parameter of Fewer must be"):
        model.fit(X, Y)
    with pytest.raises(ValueError, match="Fewer.set_params.* 'max_depth'.* constructor of Fewer does not name"):
        Fewer().set_params(max_depth=3)


def test_a_checkpoint_is_of_all_parameters(tmp_path):
    first, other = Keywords(max_depth=2), Keywords(max_depth=3)
    first.set_callbacks(Checkpoint(tmp_path / "c")).fit(X, CLASSES)
    with pytest.raises(ValueError, match="written with max_depth=2, and this fit has max_depth=3"):
        other.set_callbacks(Checkpoint(tmp_path / "c")).fit(X, CLASSES)


def test_combined_forests_and_reports_have_all_parameters():
    models = [Keywords(max_depth=2, voting="hard", random_state=seed).fit(X, CLASSES) for seed in range(2)]
    combined = dforest.combine(models)
    assert combined.voting == "hard" and combined.max_depth == 2 and combined.n_estimators == 8
    text = str(models[0].report())
    assert "voting" in text and "extra" in text


def test_the_pruning_path_of_a_tree_whose_constructor_names_less():
    class Small(dforest.DecisionTreeRegressor):
        def __init__(self, max_depth=2):
            super().__init__(max_depth=max_depth, ccp_alpha=0.5, min_samples_leaf=3, random_state=0)

    path = Small().cost_complexity_pruning_path(X, Y)
    same = dforest.DecisionTreeRegressor(max_depth=2, min_samples_leaf=3, random_state=0).cost_complexity_pruning_path(X, Y)
    assert np.array_equal(path.ccp_alphas, same.ccp_alphas) and len(path.ccp_alphas) > 2


def test_a_model_of_scikit_learn_whose_constructor_names_less():
    from sklearn.ensemble import RandomForestRegressor

    class Small(RandomForestRegressor):
        def __init__(self, extra=1):
            super().__init__(3, criterion="absolute_error", max_depth=2, random_state=0)
            self.extra = extra

    made = dforest.from_sklearn(Small().fit(X, Y))
    assert made.criterion == "absolute_error" and made.max_depth == 2


def test_ranks_compare_all_parameters():
    from dforest.spmd.threads import ThreadGroup

    def fit(communicator):
        with dforest.config_context(communicator=communicator):
            return Keywords(max_depth=2 + communicator.rank).fit(X, CLASSES)

    for error in ThreadGroup(2).run(fit):
        assert isinstance(error, ValueError) and "max_depth is 2 on rank 0, but 3 on rank 1" in str(error)


def test_fits_of_tests_and_estimates_have_all_parameters():
    few, many = Fewer(), Fewer()
    few.max_features, many.max_features = 1, 3
    found = [importance_permutation_test(model, X, Y, n_permutations=1, random_state=0).importances for model in (few, many)]
    assert (found[0] != found[1]).any()
    few.variable_importance = "mdi"
    assert corrected_importance(few, X, Y, random_state=0).shape == (3,)
    booster, larger = Renamed(), Renamed()
    booster.max_bins, larger.max_bins = 3, 255
    rows = np.repeat(X, 50, axis=0) + np.arange(2000)[:, None]
    sizes = [model.estimate_memory(rows, np.repeat(Y, 50)).total for model in (booster, larger)]
    assert sizes[0] < sizes[1]
