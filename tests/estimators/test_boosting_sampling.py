"""Which rows and columns boosted trees prefer: `sampling`, `min_gain_to_split`, `feature_costs`, `monotone_penalty`. Models are
compared with the naive twin in tests/boost.
"""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_friedman1

import dforest
from dforest import HistGradientBoostingClassifier, HistGradientBoostingRegressor

X, Y = load_diabetes(return_X_y=True)
PLAIN = dict(max_iter=20, early_stopping=False, random_state=0, max_features=1.0)


def model(**parameters):
    return HistGradientBoostingRegressor(**{**PLAIN, **parameters})


def test_rows_drawn_by_chance_are_about_as_many_as_asked_for_and_leaves_are_right_in_the_mean():
    rows, y = make_friedman1(6_000, random_state=0)
    rows = (rows[:, [3]] > 0.5) * 1.0  # one split alone
    stumps = [model(max_iter=1, max_leaf_nodes=2, learning_rate=1.0, subsample=0.2, sampling="mvs", random_state=seed)
              .fit(rows, y).forest_ for seed in range(40)]  # fmt: skip
    drawn = np.array([stump.leaf_draws.sum() for stump in stumps])
    assert 0.95 < drawn.mean() / 1_200 < 1.02 and drawn.std() > 0
    whole = model(max_iter=1, max_leaf_nodes=2, learning_rate=1.0).fit(rows, y)
    found = np.array([stump.packed().mean(rows[:50], 1)[:, 0] for stump in stumps])
    off = np.abs(found.mean(axis=0) - whole.predict(rows[:50]))
    assert (off < 4 * found.std(axis=0) / np.sqrt(40) + 1e-3).all() and found.std() > 0


@pytest.mark.parametrize("parameters", [{}, {"loss": "poisson"}, {"subsample": 0.05}])
def test_the_same_on_any_number_of_threads(parameters):
    rows, y = make_friedman1(20_000, random_state=1)
    given = {"sampling": "mvs", "subsample": 0.3, "max_iter": 5, **parameters}
    found = [model(n_jobs=n, **given).fit(rows, np.abs(y)).predict(rows) for n in (1, 2, 5)]
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


def test_lower_loss_than_rows_drawn_alike():
    rows, y = make_friedman1(4_000, noise=1.0, random_state=2)
    errors = [
        [np.mean((model(subsample=0.1, sampling=sampling, max_iter=60, random_state=seed).fit(rows[:3_000], y[:3_000])
                  .predict(rows[3_000:]) - y[3_000:]) ** 2) for seed in range(5)]
        for sampling in ("mvs", "uniform")
    ]  # fmt: skip
    assert np.mean(errors[0]) < np.mean(errors[1])


def test_all_gradients_are_0():
    fitted = model(sampling="mvs", subsample=0.5).fit(X, np.ones(len(X)))
    assert np.array_equal(fitted.predict(X), np.ones(len(X)))


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "huber", "fair", "log_cosh", "mape"])
def test_losses_whose_leaves_are_no_newton_steps(loss):
    with pytest.raises(ValueError, match=f"sampling=\"mvs\" with loss='{loss}'; allowed is sampling=\"uniform\""):
        model(loss=loss, sampling="mvs", subsample=0.5, quantile=0.5 if loss == "quantile" else None).fit(X, Y)
    model(loss=loss, sampling="mvs", subsample=1.0, quantile=0.5 if loss == "quantile" else None).fit(X, Y)


def test_least_gain():
    plain, limited = model().fit(X, Y), model(min_gain_to_split=30_000.0).fit(X, Y)
    gains = [dforest.trees_to_dataframe(fitted)["gain"].dropna() for fitted in (plain, limited)]
    assert gains[0].min() < 30_000 <= gains[1].min()
    assert len(gains[0]) > len(gains[1]) > 0
    assert len(model(min_gain_to_split=1e30).fit(X, Y).forest_.feature) == 20


def test_least_gain_as_in_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    rows = np.round(X, 2)
    ours = model(max_iter=1, learning_rate=1.0, l2_regularization=0.0, min_gain_to_split=50_000.0).fit(rows, Y)
    theirs = lightgbm.LGBMRegressor(n_estimators=1, learning_rate=1.0, min_split_gain=50_000.0, min_data_in_bin=1, verbose=-1)
    assert np.allclose(ours.predict(rows), theirs.fit(rows, Y).predict(rows), rtol=1e-4)


def test_columns_cost_until_they_are_used():
    plain = model().fit(X, Y)
    assert (plain.feature_importances_ > 0).all()
    first = dforest.trees_to_dataframe(plain)["gain"].max()
    frugal = model(feature_costs={2: 2 * first, 8: 0.0}).fit(X, Y)
    assert frugal.feature_importances_[2] == 0 and np.count_nonzero(frugal.feature_importances_) == 9
    once = model(feature_costs=np.full(10, first / 10)).fit(X, Y)
    used = once.feature_importances_ > 0
    assert 1 <= used.sum() < 10
    gains = dforest.trees_to_dataframe(once)
    assert gains["gain"].min() < first / 10  # columns that have been used are free


def test_costs_hold_in_a_warm_start():
    costs = np.full(10, 100_000.0)
    whole = model(feature_costs=costs).fit(X, Y)
    parts = model(feature_costs=costs, max_iter=7, warm_start=True).fit(X, Y).set_params(max_iter=20).fit(X, Y)
    assert np.array_equal(whole.predict(X), parts.predict(X))


def test_costs_of_labels_are_those_of_their_statistics():
    rng = np.random.default_rng(0)
    labels, numbers = rng.integers(60, size=2_000), rng.standard_normal(2_000)
    y = rng.normal(size=60)[labels] + numbers
    rows = np.column_stack([labels, numbers])
    given = {"categorical_features": [0], "min_samples_leaf": 5}
    assert (model(**given).fit(rows, y).feature_importances_ > 0).all()
    assert model(feature_costs=[1e9, 0.0], **given).fit(rows, y).feature_importances_[0] == 0


def test_penalised_columns_come_later():
    rows, y = make_friedman1(2_000, random_state=0)
    directions = [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]

    def of_root(penalty):
        fitted = model(monotonic_cst=directions, monotone_penalty=penalty).fit(rows, y)
        frame = dforest.trees_to_dataframe(fitted)
        return set(frame.groupby("tree")["feature"].first().astype(int)), fitted

    assert {3} & of_root(0.0)[0]
    roots, fitted = of_root(2.0)
    assert not {3, 4} & roots
    assert fitted.feature_importances_[3] > 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"feature_costs": [1.0]}, r"feature_costs=\[1.0\]; allowed are 10 numbers from 0 on, a dict"),
     ({"feature_costs": np.full(10, -1.0)}, "feature_costs=array"),
     ({"feature_costs": {"age": 1.0}}, "feature_costs={'age': 1.0}; allowed are"),
     ({"feature_costs": {0: np.nan}}, "allowed are 10 numbers from 0 on"),
     ({"min_gain_to_split": -1.0}, "The 'min_gain_to_split' parameter of"),
     ({"monotone_penalty": -1.0}, "The 'monotone_penalty' parameter of"),
     ({"sampling": "goss"}, "The 'sampling' parameter of HistGradientBoostingRegressor must be a str among")],
)  # fmt: skip
def test_wrong_values(parameters, message):
    with pytest.raises(ValueError, match=message):
        model(**parameters).fit(X, Y)


def test_classes_of_several_trees_share_what_they_use():
    """Trees of one iteration are grown one after another, so that the second one has the first one's columns for nothing."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((500, 6))
    y = np.argmax(rows[:, :3] + rng.gumbel(size=(500, 3)), axis=1)
    costs = np.full(6, 20.0)
    found = [HistGradientBoostingClassifier(**PLAIN, n_jobs=n, feature_costs=costs).fit(rows, y) for n in (1, 3)]
    assert np.array_equal(found[0].predict_proba(rows), found[1].predict_proba(rows))
    assert 0 < np.count_nonzero(found[0].feature_importances_) < 6


def test_random_cuts_differ_by_the_seed_and_fit_worse():
    rows, y = make_friedman1(1_000, random_state=0)
    found = [model(splitter="random", random_state=seed).fit(rows, y) for seed in (0, 0, 1)]
    predicted = [fitted.predict(rows) for fitted in found]
    assert np.array_equal(predicted[0], predicted[1]) and not np.array_equal(predicted[0], predicted[2])
    assert model().fit(rows, y).score(rows, y) > found[0].score(rows, y) > 0.3


def test_trees_begin_with_forced_splits():
    forced = {"feature": 4, "threshold": 0.0, "right": {"feature": 2, "threshold": 0.01}}
    fitted = model(forced_splits=forced).fit(X, Y)
    frame = dforest.trees_to_dataframe(fitted)
    roots = frame.groupby("tree").first()
    assert (roots["feature"].astype(int) == 4).all() and roots["threshold"].nunique() == 1
    edges = np.unique(X[:, 4])
    assert abs(roots["threshold"].iloc[0] - edges[np.searchsorted(edges, 0.0)]) < np.diff(edges).max()
    right = [frame[(frame["tree"] == t)].set_index("node").loc[roots.loc[t, "right"]]["feature"] for t in range(20)]
    assert [int(feature) for feature in right] == [2] * 20
    other = model(forced_splits={"feature": 4, "threshold": 1e9}).fit(X, Y)  # which divides nothing
    assert np.array_equal(other.predict(X), model().fit(X, Y).predict(X))


@pytest.mark.parametrize(
    ("forced", "message"),
    [({"feature": 1}, r"forced_splits=\{'feature': 1\}; allowed are None and dicts"),
     ({"feature": 10, "threshold": 0.0}, "tests the column 10, which X has not"),
     ({"feature": 1, "threshold": np.nan}, "allowed are None and dicts"),
     ({"feature": 1, "threshold": 0, "left": {"feature": 2}}, r"forced_splits\['left'\]=\{'feature': 2\}"),
     ({"feature": 0, "threshold": 0, "leftt": None}, "allowed are None and dicts")],
)  # fmt: skip
def test_wrong_forced_splits(forced, message):
    with pytest.raises(ValueError, match=message):
        model(forced_splits=forced).fit(X, Y)


def test_forced_splits_of_categories_are_refused():
    rows = np.column_stack([np.arange(len(X)) % 3, X])
    with pytest.raises(ValueError, match="tests the column 0, which has categories"):
        model(categorical_features=[0], forced_splits={"feature": 0, "threshold": 1.0}).fit(rows, Y)


def test_forced_splits_are_between_numbers_though_values_are_missing():
    """Whichever side missing values gain more on; cuts between numbers and missing values would gain most of all."""
    rng = np.random.default_rng(0)
    is_missing, x = rng.random(2_000) < 0.3, rng.standard_normal(2_000)
    rows = np.column_stack([np.where(is_missing, np.nan, x), rng.standard_normal(2_000)])
    x += rows[:, 1]
    for sign in (-1, 1):
        y = 5 * sign * is_missing + 0.3 * x
        for target in (y, np.column_stack([y, -y])):
            forced = {"feature": 0, "threshold": 0.0, "left": {"feature": 1, "threshold": 0.5}}
            fitted = model(max_iter=1, max_leaf_nodes=4, forced_splits=forced).fit(rows, target).forest_
            assert abs(fitted.threshold[0]) < 0.1 and fitted.missing_left[0] == (sign < 0)
            assert fitted.feature[1] == 1


def test_forced_splits_keep_to_interactions():
    forced = {"feature": 0, "threshold": 0.0, "left": {"feature": 1, "threshold": 0.0}}
    for interactions in ("no_interactions", [{0}, {1, 2}]):
        with pytest.raises(ValueError, match=r"forced_splits\['left'\] has the columns \[0, 1\] tested on one path"):
            model(forced_splits=forced, interaction_cst=interactions).fit(X, Y)
    model(forced_splits=forced, interaction_cst=[{0, 1}]).fit(X, Y)
    forced["left"] = forced
    with pytest.raises(ValueError, match="forced_splits has more than 64 splits below each other"):
        model(forced_splits=forced).fit(X, Y)


def test_memory_knows_of_rows_drawn_by_chance():
    rows, y = make_friedman1(5_000, random_state=0)
    plain, drawn = (model(subsample=0.3, sampling=how).estimate_memory(rows, y).total for how in ("uniform", "mvs"))
    assert drawn > plain + 29 * 5_000
