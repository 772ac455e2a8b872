"""Rows that iterations draw by class, and by query: the naive twin's models, on any number of threads, and what is refused."""

import numpy as np
import pytest
from helpers.boosting import assert_equal_models
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from twins import boosting as twin
from twins import sampling

from dforest import HistGradientBoostingClassifier, HistGradientBoostingRanker, HistGradientBoostingRegressor, load
from dforest.core.sampling import AllRows, DrawnElsewhere
from dforest.testing.streams import tree_seed

LABELS = np.array(["cold", "mild", "warm"])


def classes(n=300, seed=0, n_classes=3):
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, 3)), 1)
    return X, np.clip(np.round(X[:, 0] + 1 + 0.3 * rng.standard_normal(n)), 0, n_classes - 1).astype(int)


def queries(n=300, seed=0):
    """Rows, grades, and queries of different sizes, whose rows lie apart."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, 3)), 1)
    y = np.clip(np.round(X[:, 0] + np.abs(rng.standard_normal(n))), 0, 4)
    return X, y, rng.permutation(1000)[rng.geometric(0.1, n)]


def n_of_trees(model):
    """How many rows each tree was grown from: list of int."""
    return [int(tree.tree_.n_node_samples[0]) for tree in model.estimators_.ravel()]


@pytest.mark.filterwarnings("ignore:no tree has a split")
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.dictionaries(st.integers(0, 2), st.sampled_from([1.0, 0.5, 0.21, 1e-9]), min_size=1),
       st.sampled_from([2, 3]), st.booleans())  # fmt: skip
def test_models_are_the_naive_twins(seed, shares, n_classes, one_tree):
    X, y = classes(90, seed % 1000, n_classes)
    y[:n_classes] = range(n_classes)
    shares = {k: share for k, share in shares.items() if k < n_classes}
    model = HistGradientBoostingClassifier(
        max_iter=3, max_leaf_nodes=7, min_samples_leaf=3, l2_regularization=0.5,
        subsample={LABELS[k]: s for k, s in shares.items()}, max_features=1.0, early_stopping=False, random_state=seed,
        multi_class="one_tree" if one_tree else "multinomial",
    ).fit(X, LABELS[y])  # fmt: skip
    known = np.bincount(y, minlength=n_classes)
    n_draws = np.array([max(1, int(shares.get(k, 1.0) * n)) for k, n in enumerate(known)])
    plan = sampling.Strata(y.astype(np.uint32), n_draws, False)
    grown = twin.grow_booster(
        X, y, loss="multinomial" if n_classes == 3 else "log_loss", n_classes=n_classes, max_iter=3, max_leaf_nodes=7,
        min_samples_leaf=3, l2_regularization=0.5, max_bins=256, seed=model.forest_.seed, n_drawn=int(n_draws.sum()),
        sampling=plan, one_tree=one_tree if n_classes == 3 else None,
    )  # fmt: skip
    assert model._raw(X).tobytes() == np.ascontiguousarray(grown.raw).reshape(len(X), -1).tobytes()


def test_whole_queries_are_drawn():
    X, y, qid = queries()
    model = HistGradientBoostingRanker(max_iter=6, subsample=0.4, sampling="query", early_stopping=False, random_state=0)
    model.fit(X, y, qid=qid)
    _, first, number = np.unique(qid, return_index=True, return_inverse=True)
    group = np.argsort(np.argsort(first))[number]
    n_drawn = int(0.4 * len(first))
    plan = sampling.Groups(group, n_drawn, False, of_groups=sampling.Subsample(n_drawn))
    counts = [plan.counts(len(y), tree_seed(model.forest_.seed, t)) for t in range(6)]
    assert n_of_trees(model) == [int(count.sum()) for count in counts]
    assert len(set(n_of_trees(model))) > 1  # as queries differ in size
    # The first tree has Newton's steps of the rows that were drawn.
    one = clone(model).set_params(max_iter=1, learning_rate=1.0, l2_regularization=0.0, loss="pairwise").fit(X, y, qid=qid)
    gradient, hessian = (column[:, 0] for column in one._loss.bound(qid).derivatives(y, (0.0,)))
    leaf, drawn = one.apply(X).ravel(), counts[0] > 0
    for leaf_number in np.unique(leaf):
        rows = drawn & (leaf == leaf_number)
        assert one.predict(X[leaf == leaf_number][:1])[0] == pytest.approx(-gradient[rows].sum() / hessian[rows].sum(), rel=1e-4)


@pytest.mark.parametrize("kind", ["classes", "queries"])
def test_threads_warm_starts_and_files_change_nothing(kind, tmp_path):
    if kind == "classes":
        X, y = classes(9000)
        told, model = {}, HistGradientBoostingClassifier(subsample={0: 0.1, 1: 0.5})
    else:
        X, y, qid = queries(9000)
        told, model = {"qid": qid}, HistGradientBoostingRanker(subsample=0.3, sampling="query")
    model.set_params(max_iter=6, early_stopping=False, random_state=0, n_jobs=1).fit(X, y, **told)
    for n_jobs in (2, 5):
        assert_equal_models(model, clone(model).set_params(n_jobs=n_jobs).fit(X, y, **told))
    parts = clone(model).set_params(warm_start=True, max_iter=2).fit(X, y, **told)
    assert_equal_models(model, parts.set_params(max_iter=6).fit(X, y, **told))
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(X).tobytes() == model.predict(X).tobytes()
    assert {type(plan) for plan in model.forest_.plans} == {DrawnElsewhere}  # of which files hold no row


def test_early_stopping_folds_and_bags():
    X, y = classes(400)
    for parameters in ({"early_stopping": True, "validation_folds": 3}, {"early_stopping": True}, {"n_bags": 3}):
        model = HistGradientBoostingClassifier(max_iter=20, subsample={2: 0.3}, random_state=0, **parameters).fit(X, y)
        assert model.score(X, y) > 0.75
    X, y, qid = queries(400)
    model = HistGradientBoostingRanker(max_iter=20, subsample=0.5, sampling="query", early_stopping=True, random_state=0)
    assert model.fit(X, y, qid=qid).n_iter_ >= 1


def test_shares_of_1_are_no_drawing():
    X, y = classes()
    model = HistGradientBoostingClassifier(max_iter=3, early_stopping=False, random_state=0)
    for shares in ({}, {0: 1.0}, {0: 1, 1: 1.0, 2: 1.0}):
        found = clone(model).set_params(subsample=shares).fit(X, y)
        assert_equal_models(found, clone(model).fit(X, y))
        assert set(found.forest_.plans) == {AllRows()}
    X, y, qid = queries()
    model = HistGradientBoostingRanker(max_iter=3, early_stopping=False, random_state=0).fit(X, y, qid=qid)
    assert_equal_models(model, clone(model).set_params(sampling="query").fit(X, y, qid=qid))


def test_at_least_one_is_drawn():
    X, y = classes()
    model = HistGradientBoostingClassifier(max_iter=2, subsample=dict.fromkeys(range(3), 1e-9), early_stopping=False)
    with pytest.warns(UserWarning, match="no tree has a split.*and subsample={0: 1e-09"):
        assert n_of_trees(model.fit(X, y)) == [3] * 6
    X, y, qid = queries()
    model = HistGradientBoostingRanker(max_iter=3, subsample=1e-9, sampling="query", early_stopping=False, min_samples_leaf=1)
    sizes = np.unique(qid, return_counts=True)[1]
    assert set(n_of_trees(model.fit(X, y, qid=qid))) <= set(sizes)


def test_refused():
    X, y = load_iris(return_X_y=True)
    for shares, says in (
        ({3: 0.5}, r"subsample has the class 3; allowed are the classes \[0, 1, 2\]"),
        ({1: 0.0}, "subsample has 0.0 for the class 1; allowed are shares above 0 and up to 1"),
        ({1: 1.5}, "subsample has 1.5 for the class 1"),
        ({1: True}, "subsample has True for the class 1"),
        ({1: "half"}, "subsample has 'half' for the class 1"),
    ):
        with pytest.raises(ValueError, match=says):
            HistGradientBoostingClassifier(max_iter=2, subsample=shares).fit(X, y)
    with pytest.raises(ValueError, match="sampling='mvs' with subsample={1: 0.5}; allowed with shares of classes is"):
        HistGradientBoostingClassifier(max_iter=2, subsample={1: 0.5}, sampling="mvs").fit(X, y)
    with pytest.raises(ValueError, match="subsample={1: 0.5} with a y of several columns; allowed is one share, of all rows"):
        HistGradientBoostingClassifier(max_iter=2, subsample={1: 0.5}).fit(X, np.column_stack([y > 0, y > 1]))
    with pytest.raises(ValueError, match="'subsample' parameter"):
        HistGradientBoostingRegressor(subsample={1: 0.5}).fit(X, y)
    for kind in (HistGradientBoostingClassifier, HistGradientBoostingRegressor):
        with pytest.raises(ValueError, match="'sampling' parameter"):
            kind(subsample=0.5, sampling="query").fit(X, y)
