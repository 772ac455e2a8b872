"""Linear leaves of boosted trees: what they predict, how they are chosen and explained, and what refuses them."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from twins.shapley import shapley_values

import dforest
from dforest import HistGradientBoostingClassifier, HistGradientBoostingRanker, HistGradientBoostingRegressor, export_text
from dforest.core.forest.arrays import Forest
from dforest.core.objective import LinearSumObjective

RNG = np.random.default_rng(0)
N = 600
X = np.column_stack([RNG.random((N, 3)), RNG.integers(0, 5, N)])
SLOPE = 4.0 * X[:, 0] - 3.0 * X[:, 1] + (X[:, 3] > 2)
Y = SLOPE + 0.1 * RNG.standard_normal(N)
CLASSES = np.digitize(SLOPE, np.quantile(SLOPE, [0.4, 0.7]))
FEW = {"max_iter": 10, "early_stopping": False, "random_state": 0}


def linear(**parameters):
    return HistGradientBoostingRegressor(**(FEW | {"leaf_model": "linear"} | parameters))


def test_linear_leaves_fit_slopes():
    few = {"max_iter": 40, "max_leaf_nodes": 4}
    constant = HistGradientBoostingRegressor(**FEW | few).fit(X[:400], Y[:400])
    model = linear(**few).fit(X[:400], Y[:400])
    errors = [np.square(one.predict(X[400:]) - Y[400:]).mean() for one in (constant, model)]
    assert errors[1] < 0.7 * errors[0]
    assert model.leaf_model_ == "linear" and constant.leaf_model_ == "constant"
    assert model.forest_.objective == LinearSumObjective(model.forest_.objective.baseline, 5)
    assert not hasattr(constant.forest_, "leaf_slopes") and not hasattr(model, "leaf_model_scores_")


@pytest.mark.parametrize("kind", [HistGradientBoostingRegressor, HistGradientBoostingClassifier, HistGradientBoostingRanker])
def test_predictions_are_raw_sums_however_rows_come(kind):
    """A row's prediction is what its leaves add by their arrays, whatever rows come with it; as in a file and in C code."""
    y = Y if kind is HistGradientBoostingRegressor else CLASSES
    given = {"qid": np.arange(N) // 20} if kind is HistGradientBoostingRanker else {}
    rows = X.copy()
    rows[RNG.random(X.shape) < 0.05] = np.nan
    rows[5, 0], rows[6, 1] = np.inf, -np.inf
    model = kind(**FEW, leaf_model="linear", max_leaf_features=3).fit(rows, y, **given)
    raw = model.decision_function(rows) if kind is HistGradientBoostingClassifier else model.predict(rows)
    forest, sums = model.forest_, np.zeros((N, model.forest_.objective.n_sums))
    reached = model.apply(rows).reshape(N, -1)
    for t in range(forest.n_trees):
        for i, leaf in enumerate(forest.leaf_row[forest.node_offsets[t] + reached[:, t]].tolist()):
            value, is_known = float(forest.leaf_value[leaf]), True
            for feature, center, slope in zip(*(table[leaf].tolist() for table in lines_of(forest)), strict=True):
                if feature >= 0:
                    is_known &= bool(np.isfinite(rows[i, feature]))
                    value += slope * (float(rows[i, feature]) - center)
            least, greatest = forest.leaf_bounds[leaf].tolist()
            has_terms = forest.leaf_features[leaf, 0] >= 0
            sums[i, t % sums.shape[1]] += (
                min(max(value, least), greatest) if is_known and has_terms else float(forest.leaf_value[leaf])
            )
    expected = (sums + np.array(forest.objective.baseline)).reshape(raw.shape)
    assert np.array_equal(raw, expected)
    single = [model.predictor().predict(row) for row in rows[:20]]
    assert np.array_equal(np.reshape(single, raw[:20].shape), raw[:20])
    assert np.array_equal(model.forest_.packed().mean(rows[:3], 1).reshape(raw[:3].shape), raw[:3])
    assert "model_line_value" in model.to_c(verify=True)


def lines_of(forest):
    return forest.leaf_features, forest.leaf_centers, forest.leaf_slopes


def test_sparse_rows_are_predicted_like_dense_ones():
    model = linear().fit(X, Y)
    rows = np.where(RNG.random((50, 4)) < 0.9, 0.0, X[:50])
    for given in (rows, X[:50]):
        assert np.array_equal(model.predict(csr_array(given)), model.predict(given))


def test_no_row_is_predicted_beyond_training_rows():
    """Leaves add no more to rows far away than they do to training rows; a missing value leaves the constants alone."""
    model = linear(max_iter=3).fit(X, Y)
    far = np.array([[1e6, -1e6, 0.5, 3.0], [-1e300, 1e300, 0.5, 3.0], [np.inf, 0.5, 0.5, 3.0]])
    assert Y.min() - 1.0 < model.predict(far).min() and model.predict(far).max() < Y.max() + 1.0
    forest = model.forest_
    values = model.predict(np.full((1, 4), np.nan))
    leaves = forest.leaf_row[forest.node_offsets[:-1] + model.apply(np.full((1, 4), np.nan))[0]]
    total = 0.0
    for leaf in leaves:
        total += forest.leaf_value[leaf]
    assert values == total + forest.objective.baseline[0]


def test_whole_weights_are_rows_that_are_there_several_times():
    times = RNG.integers(1, 4, N)
    rows = np.repeat(np.arange(N), times)
    weighted = linear(min_samples_leaf=1, max_features=1.0, max_bins=10).fit(X, Y, sample_weight=times)
    repeated = linear(min_samples_leaf=1, max_features=1.0, max_bins=10).fit(X[rows], Y[rows])
    assert np.array_equal(weighted.predict(X), repeated.predict(X))


def test_the_order_of_rows_does_not_count():
    order = RNG.permutation(N)
    one, other = linear().fit(X, Y).forest_, linear().fit(X[order], Y[order]).forest_
    for name, array in one.as_dict().items():
        assert array.tobytes() == other.as_dict()[name].tobytes(), name


def test_labels_are_no_regressors():
    model = linear(categorical_features=[3]).fit(X, Y)
    assert set(np.unique(model.forest_.leaf_features)) == {-1, 0, 1, 2}
    assert 3 in model.forest_.feature


def test_a_feature_of_two_values_makes_room():
    """A feature that is constant below its split takes no place among those of a leaf."""
    rows = np.column_stack([X[:, 0], X[:, 1] > 0.5])
    model = linear(max_leaf_features=1, max_features=1.0).fit(rows, 5.0 * rows[:, 1] + rows[:, 0])
    assert set(np.unique(model.forest_.leaf_features)) <= {-1, 0}


def test_auto_takes_what_scores_better():
    given = {"leaf_model": "auto", "early_stopping": True, "max_iter": 60, "validation_folds": 2}
    model = linear(**given).fit(X, Y)
    assert model.leaf_model_ == max(("constant", "linear"), key=model.leaf_model_scores_.get) == "linear"
    assert model.best_score_ == model.leaf_model_scores_["linear"]
    alone = clone(model).set_params(leaf_model="linear").fit(X, Y)
    assert np.array_equal(alone.predict(X), model.predict(X)) and np.array_equal(alone.oof_prediction_, model.oof_prediction_)
    assert alone.n_iter_ == model.n_iter_ and not hasattr(alone, "leaf_model_scores_")
    steps = np.floor(4.0 * X[:, 2])
    by_steps = linear(**given).fit(X, steps)
    assert by_steps.leaf_model_ == max(("constant", "linear"), key=by_steps.leaf_model_scores_.get)
    without_refit = linear(leaf_model="auto", early_stopping=True, refit=False, max_iter=30).fit(X, Y)
    assert without_refit.best_score_ == without_refit.leaf_model_scores_[without_refit.leaf_model_]
    shown = linear(leaf_model="auto", early_stopping=True, max_iter=30).fit(X[:400], Y[:400], X_val=X[400:], y_val=Y[400:])
    assert shown.best_score_ == shown.leaf_model_scores_[shown.leaf_model_]


def test_of_equal_scores_leaves_are_constant():
    """Labels alone leave nothing to be linear in."""
    model = linear(leaf_model="auto", early_stopping=True, categorical_features=[0]).fit(X[:, 3:], Y)
    assert model.leaf_model_ == "constant" and len(set(model.leaf_model_scores_.values())) == 1


@pytest.mark.parametrize(
    ("parameters", "given", "message"),
    [
        ({"leaf_model": "auto"}, {}, 'leaf_model="auto", but no rows are held out to choose by'),
        ({"leaf_model": "auto", "early_stopping": True, "validation_fraction": None}, {}, "no rows are held out"),
        ({}, {"X": csr_array(X)}, 'leaf_model="linear" with a sparse X'),
        ({"max_leaf_features": 17}, {}, "The 'max_leaf_features' parameter"),
        ({"linear_l2": -1.0}, {}, "The 'linear_l2' parameter"),
        ({"leaf_model": "tree"}, {}, "The 'leaf_model' parameter"),
        ({"loss": "quantile", "quantile": 0.5}, {}, "slopes are Newton steps"),
    ],
)
def test_what_is_refused(parameters, given, message):
    with pytest.raises(ValueError, match=message):
        linear(**parameters).fit(**{"X": X, "y": Y} | given)


def test_a_warm_start_goes_on_with_linear_leaves_alone():
    whole = linear(max_iter=8, subsample=0.7).fit(X, Y)
    begun = linear(max_iter=5, subsample=0.7, warm_start=True).fit(X, Y)
    begun.set_params(max_iter=8).fit(X, Y)
    assert np.array_equal(begun.predict(X), whole.set_params(warm_start=True).fit(X, Y).predict(X))
    cases = ({"leaf_model": "constant"}, 'leaf_model="constant", but'), ({"max_leaf_features": 2}, "_features=2, but")
    for others, said in cases:
        with pytest.raises(ValueError, match=said):
            begun.set_params(**{"leaf_model": "linear", "max_leaf_features": 5, "max_iter": 9} | others).fit(X, Y)


def test_bags_share_lines():
    model = linear(n_bags=3, max_features=0.5).fit(X, Y)
    assert np.abs(model.predict(X) - Y).mean() < np.abs(Y - Y.mean()).mean()
    assert np.array_equal(model.predict(X), list(model.staged_predict(X))[-1])


def test_shapley_values_are_those_of_the_twin():
    rows = np.vstack([X[:12], 2.0 * X[12:24] - 0.5])
    rows[:, 3] = X[:24, 3]
    rows[3, 0], rows[4, 1] = np.nan, np.inf
    model = linear(max_iter=3, max_leaf_nodes=6, categorical_features=[3]).fit(X, Y)
    found = model.shap_values(rows)
    expected, base = shapley_values(model.forest_, model.forest_.leaf_votes(), rows)
    assert np.abs(np.array(expected, float).reshape(found.values.shape) - found.values).max() < 1e-13
    assert np.abs(found.values.sum(axis=1) + found.base_values - model.predict(rows)).max() < 1e-13
    assert abs(float(base[0]) - found.base_values) < 1e-13
    several = HistGradientBoostingClassifier(**FEW, leaf_model="linear", n_jobs=2).fit(X, CLASSES)
    values = several.shap_values(X).values
    assert np.array_equal(values, several.set_params(n_jobs=1).shap_values(X).values)
    assert np.allclose(values.sum(axis=1) + several.shap_values(X).base_values, several.decision_function(X), atol=1e-12)


def test_what_takes_leaves_for_numbers_says_so(tmp_path):
    model = linear().fit(X, Y)
    with_background = "or shap_values with background=None and sparse_output=False"
    calls = [
        (model.to_treelite, ""), (model.to_shap, ""),
        (lambda: model.shap_interaction_values(X[:2]), f"shap_interaction_values of leaf_model=.*, {with_background}$"),
        (lambda: model.shap_values(X[:2], X[:5]), f"^shap_values of leaf_model=.*, {with_background}$"),
        (lambda: model.shap_values(X[:2], sparse_output=True), f"^shap_values of leaf_model=.*, {with_background}$"),
        (lambda: model.partial_dependence(X, 0), '^partial_dependence of .*; allowed are models with leaf_model="constant"$'),
        (lambda: dforest.trees_to_dataframe(model), "^trees_to_dataframe of leaf_model=.*, or export_text, which shows the"),
    ]  # fmt: skip
    for call, says in calls:
        with pytest.raises(ValueError, match='leaf_model="linear"') as caught:
            call()
        assert re.search(says, str(caught.value))


@pytest.mark.parametrize("zeros", [[0, 0, 0, 0], np.zeros(4, int), {}, {"a": 0}])
def test_constraints_of_zeros_are_none(zeros):
    rows = pd.DataFrame(X, columns=list("abcd"))
    model = linear(max_iter=3, monotonic_cst=zeros).fit(rows, Y)
    assert np.array_equal(model.predict(rows), linear(max_iter=3).fit(rows, Y).predict(rows))
    several = np.column_stack([Y, -Y])
    forest = dforest.RandomForestRegressor(3, random_state=0)
    expected = clone(forest).fit(rows, several).predict(rows)
    assert np.array_equal(forest.set_params(monotonic_cst=zeros).fit(rows, several).predict(rows), expected)
    oblique = HistGradientBoostingRegressor(max_iter=3, split_axis="oblique", random_state=0)
    expected = clone(oblique).fit(rows, Y).predict(rows)
    assert np.array_equal(oblique.set_params(monotonic_cst=zeros).fit(rows, Y).predict(rows), expected)
    for other in ({"honest": True}, {"leaf_smoothing": 5.0}):
        forest = dforest.RandomForestRegressor(3, random_state=0, **other)
        expected = clone(forest).fit(rows, Y).predict(rows)
        assert np.array_equal(forest.set_params(monotonic_cst=zeros).fit(rows, Y).predict(rows), expected)
    for wrong in ([0, 0, 0, 1], {"a": 1}):
        with pytest.raises(ValueError, match="leaf_model=.linear. with monotonic_cst="):
            linear(monotonic_cst=wrong).fit(rows, Y)


def test_text_shows_the_terms():
    model = linear(max_iter=1, max_leaf_nodes=2, learning_rate=1.0).fit(X[:, :1], Y)
    shown = export_text(model.estimators_[0, 0], feature_names=["a"])
    slope, center = (float(table[0, 0]) for table in (model.forest_.leaf_slopes, model.forest_.leaf_centers))
    assert f" + {slope:.2f} * (a - {center:.2f})" in shown


def test_arrays_are_checked():
    forest = linear(max_iter=2).fit(X, Y).forest_
    arrays, settings = forest.as_dict(), forest.settings()
    Forest(arrays, **settings)
    with_gap = np.full_like(forest.leaf_features, -1)
    with_gap[:, 1] = 0
    for name, wrong, message in (
        ("leaf_features", with_gap, "leaf_features has a feature behind -1"),
        ("leaf_features", np.full_like(forest.leaf_features, 4), "leaf_features holds numbers from 4 to 4"),
        ("leaf_slopes", forest.leaf_slopes * np.nan, "leaf_slopes holds .*nan"),
        ("leaf_centers", forest.leaf_centers[:, :1].copy(), "each row of leaf_centers has length 1"),
        ("leaf_bounds", forest.leaf_bounds[1:].copy(), "leaf_bounds has length"),
    ):
        with pytest.raises(ValueError, match=message):
            Forest(arrays | {name: wrong}, **settings)
    for wrong in (0, 17, 1.0):
        with pytest.raises((TypeError, ValueError), match="n_leaf_features"):
            LinearSumObjective((0.0,), wrong).check()
