"""A model of several bags is the mean of models that are grown by chance of their own, whatever is done with it."""

import numpy as np
import pytest
from helpers.boosting import CLASSIFICATION, REGRESSION, assert_equal_models, problem
from helpers.callbacks import FailAfter, StopAfter
from scipy.special import expit
from sklearn.base import clone

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRanker, HistGradientBoostingRegressor
from dforest.callback import Checkpoint, TimeLimit
from dforest.engines.rows import RowShare
from dforest.spmd.communicator import ALONE
from dforest.spmd.draws import assign_parts

N_BAGS = 3
BAGGED = {"n_bags": N_BAGS, "max_features": 0.5, "subsample": 0.8}
STOPS = {"early_stopping": True, "n_iter_no_change": 4, "max_iter": 40, "learning_rate": 0.3}


def data_of(loss, n=300, **parameters):
    """X, y and a model of several bags."""
    X, y, model = problem(loss, n=n)
    y = np.clip(y, 0.5, 20) if loss in ("gamma", "poisson", "tweedie") else y
    return X, y, model.set_params(**{**BAGGED, **parameters})


def state_of_bag(bag):
    """The RandomState from which fits of one bag draw what a bag is grown by: each fit draws the seeds of rows and of trees."""
    state = np.random.RandomState(0)
    for _ in range(bag):
        state.randint(np.iinfo(np.uint32).max, dtype=np.uint64)
        state.randint(np.iinfo(np.int64).max, dtype=np.int64)
    return state


def bags_of(model, X, y, **given):
    """The bags of a model, as fits of their own."""
    alone = clone(model).set_params(n_bags=1)
    return [clone(alone).set_params(random_state=state_of_bag(b)).fit(X, y, **given) for b in range(model.n_bags)]


def raw(model, X, n_iter=None):
    """Raw predictions without a baseline or an offset, by the leaves that rows reach: a twin of prediction, (n_rows, n_sums)."""
    forest, leaves = model.forest_, model.apply(X).reshape(len(X), -1)
    sums = np.zeros((len(X), forest.objective.n_sums))
    for t in range((n_iter or model.n_iter_) * model.n_trees_per_iteration_):
        values = forest.leaf_value[forest.leaf_row[forest.node_offsets[t] + leaves[:, t]]]
        if values.ndim == 2:
            sums += values
        else:
            sums[:, t % sums.shape[1]] += values
    return sums


def assert_mean_of(model, bags, X, n_iter=None):
    """The trees are those of the bags, in turn, with shares of their leaves; and so predictions are the mean of theirs."""
    assert {bag.n_iter_ >= model.n_iter_ for bag in bags} == {True}
    n_each, forest = bags[0].n_trees_per_iteration_, model.forest_
    assert model.n_trees_per_iteration_ == n_each * len(bags) and forest.n_trees == model.n_iter_ * n_each * len(bags)
    for t in range(forest.n_trees):
        iteration, place = divmod(t, n_each * len(bags))
        bag, own = bags[place // n_each], iteration * n_each + place % n_each
        ours, theirs = forest.tree(t), bag.forest_.tree(own)
        for name in ("feature", "threshold", "missing_left", "payload_words"):
            assert getattr(ours, name).tobytes() == getattr(theirs, name).tobytes()
        is_leaf = ours.feature < 0
        values = [tree.leaf_value[tree.leaf_row[is_leaf]] for tree in (ours, theirs)]
        assert np.array_equal(values[0], values[1] / len(bags)) and np.array_equal(ours.inner, theirs.inner / len(bags))
        assert forest.seeds[t] == bag.forest_.seeds[own] and forest.plans[t] == bag.forest_.plans[own]
        assert forest.n_rows[t] == bag.forest_.n_rows[own]
    means = np.mean([raw(bag, X, model.n_iter_) + bag.forest_.objective.baseline for bag in bags], axis=0)
    np.testing.assert_allclose(model._raw(X.astype(float)), means, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(raw(model, X) + forest.objective.baseline, means, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", REGRESSION + CLASSIFICATION)
@pytest.mark.parametrize("others", [{}, {"subsample": 1.0, "max_bins": 300}])
def test_a_model_is_the_mean_of_its_bags(loss, others):
    X, y, model = data_of(loss, **others)
    weight = np.random.default_rng(0).integers(0, 4, len(X)) / 2
    model.fit(X, y, weight)
    assert_mean_of(model, bags_of(model, X, y, sample_weight=weight), X)
    assert len({array.tobytes() for array in np.split(model.forest_.seeds, model.n_iter_ * model.n_bags)}) > N_BAGS
    assert model.fit_report_.n_trees == model.forest_.n_trees


def test_one_bag_is_a_model_without_bags():
    X, y, model = data_of("multinomial", n_bags=1)
    state = np.random.RandomState(0)
    two = clone(model).set_params(n_bags=2).fit(X, y)
    first, second = (clone(model).set_params(random_state=state).fit(X, y) for _ in range(2))
    assert_equal_models(first, model.fit(X, y))
    assert_mean_of(two, [first, second], X)


def test_several_outputs_and_offsets():
    X, y, model = data_of("squared_error")
    both, offset = np.column_stack([y, -(X[:, 0] ** 2)]), np.random.default_rng(1).normal(size=(300, 2))
    both[np.isnan(both)] = 0
    model.fit(X, both, offset=offset)
    assert_mean_of(model, bags_of(model, X, both, offset=offset), X)
    assert model.n_trees_per_iteration_ == N_BAGS and model.predict(X).shape == (300, 2)
    assert model.apply(X).shape == (300, 8, N_BAGS) and model.estimators_.shape == (8, N_BAGS)


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "log_loss", "multinomial"])
def test_folds_of_all_bags_choose_one_number_of_iterations(loss):
    """Of each bag and fold there is a fit to which the rows held out are given; the mean of all scores decides."""
    X, y, model = data_of(loss, n=240, **STOPS, validation_folds=3)
    model.fit(X, y)
    classes = np.searchsorted(model.classes_, y) if loss in CLASSIFICATION else np.zeros(240)
    alone = clone(model).set_params(n_bags=1, validation_folds=1, n_iter_no_change=40, use_best_model=False)
    scores, outside = [], np.zeros((240, model.forest_.objective.n_sums))
    for b in range(N_BAGS):
        row_seed = int(state_of_bag(b).randint(np.iinfo(np.uint32).max, dtype=np.uint64))
        fold = assign_parts(RowShare.whole(240), 3, row_seed, classes, int(classes.max()) + 1, ALONE)
        for k in range(3):
            own, held = fold != k, fold == k
            fit = clone(alone).set_params(random_state=state_of_bag(b)).fit(X[own], y[own], X_val=X[held], y_val=y[held])
            scores.append((fit.train_score_, fit.validation_score_))
            outside[held] += (raw(fit, X[held], model.best_iteration_) + fit.forest_.objective.baseline) / N_BAGS
    means = np.mean(scores, axis=0)
    n = len(model.validation_score_)
    assert n < 41 and np.argmax(means[1, 1:n]) + 1 == model.best_iteration_ == n - 5
    np.testing.assert_allclose([model.train_score_, model.validation_score_], means[:, :n], rtol=1e-14)
    assert model.n_iter_ == int(np.floor(model.best_iteration_ * 3 / 2 + 0.5))
    found = model.oof_prediction_
    if loss == "squared_error":
        expected = outside[:, 0]
    elif loss == "poisson":
        expected = np.exp(outside[:, 0])
    elif loss == "log_loss":
        expected = np.column_stack([expit(-outside[:, 0]), expit(outside[:, 0])])
    else:
        expected = np.exp(outside) / np.exp(outside).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    fixed = {"early_stopping": False, "validation_folds": 1, "max_iter": model.n_iter_}
    assert_mean_of(model, bags_of(clone(model).set_params(**fixed), X, y), X)


@pytest.mark.parametrize("given", [{"validation_fraction": 60, "refit": False}, {"X_val": True}, {"validation_fraction": None}])
@pytest.mark.parametrize("loss", ["squared_error", "multinomial"])
def test_without_a_refit_the_mean_of_the_scores_of_the_bags_decides(given, loss):
    X, y, model = data_of(loss, **STOPS)
    X_val, y_val, _ = data_of(loss)
    scored = {"X_val": X_val[::-3], "y_val": y_val[::-3]} if "X_val" in given else {}
    model.set_params(tol=0.01, **{name: value for name, value in given.items() if name != "X_val"}).fit(X, y, **scored)
    bags = bags_of(clone(model).set_params(n_iter_no_change=40, use_best_model=False), X, y, **scored)
    n, which = len(model.train_score_), "train_score_" if given.get("validation_fraction", 1) is None else "validation_score_"
    means = np.mean([getattr(bag, which) for bag in bags], axis=0)
    np.testing.assert_allclose(getattr(model, which), means[:n], rtol=1e-14)
    assert model.n_iter_ == model.best_iteration_ == 1 + np.argmax(means[1:n])
    assert n == 41 or not any(score > means[n - 5] + 0.01 for score in means[n - 4 : n])
    assert_mean_of(model, bags, X)
    assert_equal_models(model, clone(model).set_callbacks(StopAfter(100)).fit(X, y, **scored))


def test_rows_held_out_once_and_a_refit():
    X, y, model = data_of("log_loss", **STOPS, validation_fraction=60, refit=True)
    search = clone(model).set_params(refit=False).fit(X, y)
    model.fit(X, y)
    assert np.array_equal(model.validation_score_, search.validation_score_)
    assert model.n_iter_ == int(np.floor(search.n_iter_ * 300 / 240 + 0.5))
    assert_mean_of(model, bags_of(clone(model).set_params(early_stopping=False, max_iter=model.n_iter_), X, y), X)


def test_ranking():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(300, 3)), np.sort(rng.integers(0, 30, 300))
    y = np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=300)), 0, 3)
    model = HistGradientBoostingRanker(random_state=0, **BAGGED, **STOPS)
    model.set_params(refit=False, validation_folds=1).fit(X, y, qid=qid)
    n_rows = model.forest_.n_rows[:N_BAGS]
    assert len(set(n_rows.tolist())) > 1  # queries of other sizes are held out
    bags = bags_of(clone(model).set_params(n_iter_no_change=40, use_best_model=False), X, y, qid=qid)
    assert_mean_of(model, bags, X)
    folds = clone(model).set_params(refit="auto", validation_folds=3).fit(X, y, qid=qid)
    assert folds.oof_prediction_.shape == (300,) and np.isfinite(folds.oof_prediction_).all()


def test_labels_have_statistics_of_each_bag(tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 60, 400), rng.normal(size=400)])
    y = (np.arange(60.0) % 7)[X[:, 0].astype(int)] + X[:, 1] + 0.3 * rng.normal(size=400)
    model = HistGradientBoostingRegressor(categorical_features=[0], max_iter=12, n_bags=2, random_state=0, subsample=0.9)
    model.set_params(categorical_split="order", early_stopping=False)
    whole = clone(model).fit(X, y)
    assert_mean_of(whole, bags_of(model, X, y), X)
    with pytest.raises(RuntimeError, match="enough"):
        clone(model).set_callbacks(Checkpoint(tmp_path / "trees", 1), FailAfter(5)).fit(X, y)
    assert_equal_models(clone(model).set_callbacks(Checkpoint(tmp_path / "trees", 1)).fit(X, y), whole)
    stopped = {"early_stopping": True, "refit": False, "n_iter_no_change": 5, "max_iter": 60}
    held = clone(model).set_params(**stopped).fit(X, y)
    assert_mean_of(held, bags_of(clone(held).set_params(n_iter_no_change=60, use_best_model=False), X, y), X)


def test_a_fit_that_is_stopped_has_all_bags_of_whole_iterations():
    X, y, model = data_of("multinomial", early_stopping=False)
    stopped = clone(model).set_callbacks(StopAfter(4)).fit(X, y)
    assert_equal_models(stopped, clone(model).set_params(max_iter=4, learning_rate=stopped.learning_rate_).fit(X, y))
    seconds = clone(model).set_params(max_iter=10**6).set_callbacks(TimeLimit(0.05)).fit(X, y)
    assert 0 < seconds.n_iter_ < 10**6 and seconds.forest_.n_trees == 9 * seconds.n_iter_


@pytest.mark.parametrize("loss", ["squared_error", "log_loss", "multinomial"])
def test_all_that_reads_a_model_takes_it_as_any(loss):
    X, y, model = data_of(loss)
    model.fit(X, y)
    stages, bags = list(model.staged_predict(X)), bags_of(model, X, y)
    assert len(stages) == model.n_iter_ == 8 and np.array_equal(stages[2], model.predict(X, n_iter=3))
    if loss == "squared_error":
        np.testing.assert_allclose(stages[2], np.mean([bag.predict(X, n_iter=3) for bag in bags], axis=0), rtol=1e-12)
    sums = raw(model, X, 3) + model.forest_.objective.baseline
    values = model.shap_values(X, n_iter=3)
    np.testing.assert_allclose((values.values.sum(axis=1) + values.base_values).reshape(sums.shape), sums)
    of_bags = [bag.shap_values(X, n_iter=3).values for bag in bags]
    np.testing.assert_allclose(values.values, np.mean(of_bags, axis=0), atol=1e-9)
    gains = np.mean([bag.feature_importances_ for bag in bags], axis=0)
    assert model.feature_importances_.sum() == pytest.approx(1) and np.abs(model.feature_importances_ - gains).max() < 0.1
    np.testing.assert_allclose(model.predictor().predict(X[0]), model._raw(X[:1])[0])
    assert f"{model.forest_.n_trees:,}" in model.report(X, y).html


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "log_loss", "multinomial"])
@pytest.mark.parametrize("name", ["to_onnx", "to_treelite", "to_shap", "to_c"])
def test_other_libraries_predict_as_it_does(loss, name):
    """Each conversion compares the predictions of the other library with the model's own before it returns."""
    if name != "to_c":
        pytest.importorskip({"to_onnx": "onnxruntime"}.get(name, name.removeprefix("to_")))
    X, y, model = data_of(loss)
    model.fit(X, y)
    assert getattr(model, name)(verify=True) is not None


def test_memory_counts_all_bags():
    X, y, model = data_of("multinomial", n=3000, subsample=1.0)
    three, one = (clone(model).set_params(n_bags=n).estimate_memory(X, y) for n in (3, 1))
    for name in ("forest", "gradients", "rows", "histograms", "tree"):
        assert getattr(three.growth, name) == 3 * getattr(one.growth, name), name
    assert three.codes == one.codes  # of the same rows
    search = {"early_stopping": True, "validation_folds": 2}
    three, one = (clone(model).set_params(n_bags=n, **search).estimate_memory(X, y) for n in (3, 1))
    assert 2.8 < three.search / one.search < 3.2
    kept = {"early_stopping": True, "refit": False}
    three, one = (clone(model).set_params(n_bags=n, **kept).estimate_memory(X, y) for n in (3, 1))
    assert three.codes == 3 * one.codes and three.growth.scores == 3 * one.growth.scores


def test_bags_and_warm_start():
    X, y, model = data_of("squared_error", warm_start=True)
    with pytest.raises(ValueError, match="n_bags=3 with warm_start=True is not supported .*n_bags=1, or warm_start=False"):
        model.fit(X, y)
    model.set_params(warm_start=False).fit(X, y).set_params(warm_start=True, n_bags=1, max_iter=20)
    with pytest.raises(ValueError, match="n_bags=1, but warm_start=True goes on with trees of 3 bags; allowed is warm_s"):
        model.fit(X, y)
    assert model.n_iter_ == 8 and model.n_trees_per_iteration_ == 3


def test_bags_without_chance_are_told_of():
    X, y, model = data_of("squared_error", subsample=1.0, max_features=1.0)
    with pytest.warns(UserWarning, match="n_bags=3, but the bags grow equal trees, as neither rows nor columns are drawn by"):
        model.fit(X, y)
    model.set_params(early_stopping=True, validation_fraction=0.3, refit=False)
    bags = bags_of(clone(model).set_params(n_iter_no_change=8, use_best_model=False), X, y)
    assert_mean_of(model.fit(X, y), bags, X)  # which are grown on other rows


def test_bags_of_other_baselines_begin_with_their_mean():
    X, y, model = data_of("squared_error", **STOPS, refit=False)
    bags = bags_of(model, X, y)
    baselines = [bag.forest_.objective.baseline[0] for bag in bags]
    assert len(set(baselines)) == N_BAGS
    assert model.fit(X, y).forest_.objective.baseline[0] == pytest.approx(np.mean(baselines), rel=1e-15)
    constant = data_of("squared_error", n_bags=5)[2].fit(X, np.full(300, 0.1))
    assert (constant.predict(X) == 0.1).all()


@pytest.mark.parametrize("n", [0, -3, 2, 7, 3.0, None])
def test_damaged_numbers_of_trees_are_found(n):
    X, y, model = data_of("multinomial")
    state = model.fit(X, y).__getstate__()
    with pytest.raises(ValueError, match="n_trees_per_iteration_: .*must divide 72, as a multiple of 3"):
        HistGradientBoostingClassifier().__setstate__(state | {"n_trees_per_iteration_": n})
