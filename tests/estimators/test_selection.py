"""Parameters that are "auto" are chosen by errors out of bag, as one would choose them by fits of small forests."""

import io
import pickle
from contextlib import redirect_stderr

import numpy as np
import pytest
from helpers.callbacks import Recorder, StopAfter
from helpers.device_forests import assert_same
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_wine

import dforest
from dforest import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from dforest.callback import Checkpoint
from dforest.estimators.forest.ensemble import CANDIDATES

KINDS = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]
ALL = pytest.mark.parametrize("kind", KINDS)
AUTO = dict.fromkeys(CANDIDATES, "auto")


def data_of(kind):
    return (load_wine if is_classifier(kind()) else load_diabetes)(return_X_y=True)


def losses_of(model, values, n_trees, X, y, weight=None):
    """The errors of rows out of bag that `model` is expected to have with some values, by a small forest that has them."""
    bootstrap = True if model.bootstrap == "auto" else model.bootstrap
    small = clone(model).set_params(n_estimators=n_trees, bootstrap=bootstrap, **values).fit(X, y, sample_weight=weight)
    y = y.reshape(len(y), -1)
    wanted = y
    if is_classifier(model):
        classes = small.classes_ if isinstance(small.classes_, list) else [small.classes_]
        wanted = np.hstack([y[:, [o]] == own for o, own in enumerate(classes)]).astype(float)
    votes, forest = np.full((n_trees, *wanted.shape), np.nan), small.forest_
    kept = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
    for t, tree in enumerate(small.estimators_):
        out = kept[forest.used_plans[t].counts(len(kept), seed=forest.seeds[t]) == 0]
        found = tree.predict_proba(X[out]) if is_classifier(model) else tree.predict(X[out]).reshape(len(out), -1)
        votes[t, out] = np.hstack(found) if isinstance(found, list) else found
    n = (~np.isnan(votes[..., :1])).sum(axis=0)
    known = n[:, 0] > 1
    votes, wanted, n = votes[:, known], wanted[known], n[known]
    losses = np.full(len(y), np.nan)
    more = np.nanvar(votes, axis=0, ddof=1) * (1 / n - 1 / model.n_estimators)
    losses[known] = ((np.nanmean(votes, axis=0) - wanted) ** 2 - more).sum(axis=1)
    return losses


def mean_and_error(values, weight):
    known = ~np.isnan(values)
    share = np.ones(known.sum()) if weight is None else weight[known]
    share = share / share.sum()
    mean = share @ values[known]
    return mean, np.sqrt((share**2 * (values[known] - mean) ** 2).sum() * known.sum() / (known.sum() - 1))


def choose_by_hand(model, X, y, sample_weight, weight):
    """(the values that are chosen, the values that were tried and the losses of each). weight : what losses of rows weigh"""
    defaults, n_trees = type(model)().get_params(), max(10, model.n_estimators // 10)
    best, tried = {name: defaults[name] for name in CANDIDATES if model.get_params()[name] == "auto"}, []

    def losses(values):
        tried.append((values, losses_of(model, values, n_trees, X, y, sample_weight)))
        return tried[-1][1]

    of_best = losses(best)
    for name in list(best):
        differences = {}
        of = {value: losses({**best, name: value}) for value in CANDIDATES[name] if value != best[name]}
        for value, own in of.items():
            mean, error = mean_and_error(own - of_best, weight)
            if mean < -error:
                differences[value] = mean
        if differences:
            value = min(differences, key=differences.get)
            best, of_best = {**best, name: value}, of[value]
    return best, tried


@ALL
@pytest.mark.parametrize("case", ["plain", "weights", "class weights", "outputs", "categories", "subsample", "method"])
def test_the_choice_is_that_of_small_forests_by_hand(kind, case):
    X, y = data_of(kind)
    sample_weight, parameters = None, {}
    if case == "weights":
        sample_weight = np.random.default_rng(0).integers(0, 4, len(y)) / 2
    elif case == "class weights":
        parameters = {"class_weight": "balanced"} if is_classifier(kind()) else {"criterion": "poisson"}
    elif case == "outputs":
        y = np.column_stack([y, X[:, 0] > np.median(X[:, 0])]).astype(y.dtype)
    elif case == "categories":
        X = np.column_stack([np.arange(len(y)) % 40, np.where(X < 0.01, np.nan, X)])
        parameters = {"categorical_features": [0]}
    elif case == "subsample":
        parameters = {"bootstrap": "subsample", "max_samples": 0.5}
    elif case == "method":
        parameters = {"method": "hist" if kind().method == "dense" else "dense"}
    model = kind(120, random_state=3, **parameters, **AUTO).fit(X, y, sample_weight=sample_weight)
    weight = 1 / np.bincount(y)[y] if parameters.get("class_weight") else sample_weight
    best, tried = choose_by_hand(model, X, y, sample_weight, weight)
    assert model.best_params_ == best
    assert_same(model, clone(model).set_params(**best).fit(X, y, sample_weight=sample_weight))
    found = model.selection_
    assert found["params"] == [values for values, _ in tried]
    for name in CANDIDATES:
        assert found[f"param_{name}"].tolist() == [values[name] for values, _ in tried]
    means, errors = np.transpose([mean_and_error(losses, weight) for _, losses in tried])
    np.testing.assert_allclose(found["mean_loss"], means, rtol=1e-9)
    np.testing.assert_allclose(found["std_error"], errors, rtol=1e-9)
    assert np.array_equal(found["mean_loss"][np.argsort(found["rank"])], np.sort(found["mean_loss"]))
    assert sorted(found["rank"]) == list(range(1, len(tried) + 1))


def test_what_is_better_is_chosen_and_noise_is_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 40))
    y = X[:, 0] > 0  # a forest that tries few of the features at a node rarely finds this one
    model = RandomForestClassifier(random_state=0, max_features="auto").fit(X, y)
    assert model.best_params_ == {"max_features": 1.0}
    noise = RandomForestClassifier(random_state=0, max_features="auto").fit(X, rng.integers(2, size=600))
    assert noise.best_params_ == {"max_features": "sqrt"}
    names = {name for name in model.selection_ if name.startswith("param_")}
    assert names == {"param_max_features"} and len(model.selection_["params"]) == 3


@ALL
def test_threads_and_the_scale_of_targets_do_not_matter(kind):
    X, y = data_of(kind)
    model = kind(50, random_state=0, **AUTO).fit(X, y)
    other = clone(model).set_params(n_jobs=3).fit(X, y)
    assert_same(model, other)
    assert np.array_equal(model.selection_["mean_loss"], other.selection_["mean_loss"])
    if not is_classifier(model):
        for power in (-1000, 1000):
            scaled = clone(model).fit(X, np.ldexp(y, power))
            assert scaled.best_params_ == model.best_params_
            assert np.array_equal(scaled.selection_["rank"], model.selection_["rank"])


@ALL
def test_parameters_stay_auto_and_trees_have_what_was_chosen(kind, tmp_path):
    X, y = data_of(kind)
    model = kind(20, random_state=0, **AUTO).fit(X, y)
    assert {name: model.get_params()[name] for name in AUTO} == AUTO
    tree = model.estimators_[0]
    assert {name: tree.get_params()[name] for name in AUTO} == model.best_params_
    assert {name: dforest.combine([model, model]).estimators_[0].get_params()[name] for name in AUTO} == model.best_params_
    model.save(tmp_path / "model")
    for other in (pickle.loads(pickle.dumps(model)), dforest.load(tmp_path / "model")):
        assert other.get_params() == model.get_params() and other.best_params_ == model.best_params_
        assert other.selection_["params"] == model.selection_["params"]
        assert np.array_equal(other.selection_["mean_loss"], model.selection_["mean_loss"])
        assert np.array_equal(other.predict(X), model.predict(X))
    many = np.tile(X, (60, 1)), np.tile(y, 60)
    estimated = clone(model).estimate_memory(*many).total
    assert 0.5 < estimated / clone(model).set_params(**model.best_params_).estimate_memory(*many).total < 2
    model.report(X, y, path=tmp_path / "report.html")
    assert f"{model.best_params_['min_samples_leaf']} was chosen" in (tmp_path / "report.html").read_text()
    model.set_params(**type(model)().get_params()).fit(X, y)
    assert not hasattr(model, "best_params_") and not hasattr(model, "selection_")


def test_states_that_no_fit_leaves_are_refused():
    X, y = load_wine(return_X_y=True)
    state = RandomForestClassifier(3, max_features="auto").fit(X, y).__getstate__()
    for wrong in ([], {"n_estimators": 5}):
        with pytest.raises(TypeError, match="best_params_ is"):
            RandomForestClassifier().__setstate__(state | {"best_params_": wrong})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bootstrap": False}, 'max_features="auto" needs bootstrap=True'),
        ({"bootstrap": "subsample", "max_samples": 1.0}, 'max_features="auto" needs rows that two trees leave out'),
        ({"warm_start": True}, 'max_features="auto" with warm_start=True is not supported'),
    ],
)
def test_errors(parameters, message):
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        RandomForestClassifier(5, max_features="auto", **parameters).fit(X, y)


def test_other_families_choose_nothing():
    X, y = load_diabetes(return_X_y=True)
    for model in (dforest.DecisionTreeRegressor(), dforest.RandomTreesEmbedding()):
        with pytest.raises(ValueError, match="min_samples_leaf"):
            model.set_params(min_samples_leaf="auto").fit(X, y)


def test_callbacks_see_the_chosen_forest(tmp_path):
    X, y = load_wine(return_X_y=True)
    model, path = RandomForestClassifier(12, random_state=0, **AUTO), tmp_path / "trees"
    recorder = Recorder()
    whole = clone(model).set_callbacks(recorder).fit(X, y)
    assert_same(whole, clone(model).fit(X, y))
    stopped = clone(model).set_callbacks(StopAfter(5)).fit(X, y)
    assert stopped.n_estimators_ == 5 and stopped.best_params_ == whole.best_params_
    clone(model).set_callbacks(Checkpoint(path, every=2), StopAfter(5)).fit(X, y)
    resumed = clone(model).set_callbacks(Checkpoint(path, every=2)).fit(X, y)
    assert_same(resumed, whole)
    assert resumed.best_params_ == whole.best_params_


def test_verbose_tells_what_is_chosen():
    X, y = load_wine(return_X_y=True)
    with redirect_stderr(io.StringIO()) as told:
        RandomForestClassifier(10, random_state=0, verbose=1, max_features="auto").fit(X, y)
    assert told.getvalue().splitlines()[0] == "max_features=\"auto\": 'sqrt' is chosen"
