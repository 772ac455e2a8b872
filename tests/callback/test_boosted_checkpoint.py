"""Boosted trees that go on from their checkpoint are those of an uninterrupted fit, scores and their end by these included."""

import numpy as np
import pytest
from helpers.boosted_fits import OwnSquares
from helpers.boosting import assert_equal_models, problem
from helpers.callbacks import FailAfter, StopAfter
from helpers.ranks import CUTS, Cut, fit_by_ranks
from sklearn.base import clone

from dforest.callback import Checkpoint

pytestmark = pytest.mark.filterwarnings("ignore:none of")

STOPPING = [
    {"early_stopping": False},
    {"early_stopping": True, "n_iter_no_change": 3, "learning_rate": 1.0, "max_iter": 30},
    {"early_stopping": True, "validation_fraction": None, "scoring": "loss", "use_best_model": False},
]
OTHERS = [
    {"subsample": 0.5, "max_features": 0.6},
    {"interaction_cst": [{0, 1}, {2, 3, 4}], "colsample_bytree": 0.7},
    {"categorical_features": [0], "max_bins": 9},
]


def fits(seed):
    """A random estimator, its data, and a cut of the rows for ranks."""
    rng = np.random.default_rng(seed)
    loss = ["squared_error", "absolute_error", "log_loss", "multinomial"][seed % 4]
    X, y, model = problem(loss, n=120, seed=seed)
    X[:, 0] = rng.integers(0, 5, len(X))
    model.set_params(**STOPPING[seed % 3], **OTHERS[seed // 3 % 3])
    if seed % 8 == 4:
        y, model = np.column_stack([y, X[:, 1] > 0]).astype(float), model.set_params(categorical_features=None)
    elif seed % 8 == 5:
        model.set_params(loss=OwnSquares(), quantile=None)
    return model, {"X": X, "y": y, "sample_weight": rng.integers(1, 4, len(X)) / 2.0}


@pytest.mark.parametrize("seed", range(24))
def test_fits_go_on(seed, tmp_path):
    model, given = fits(seed)
    path, every = tmp_path / "trees", 1 + seed % 3
    whole = clone(model).fit(**given)
    n_grown = len(whole.train_score_) - 1 if model.early_stopping else whole.n_iter_
    with pytest.raises(RuntimeError, match="enough"):
        clone(model).set_callbacks(Checkpoint(path, every), FailAfter(1 + n_grown // 2)).fit(**given)
    clone(model).set_callbacks(Checkpoint(path, every), StopAfter(1)).fit(**given)
    assert_equal_models(clone(model).set_callbacks(Checkpoint(path, every)).fit(**given), whole)
    size = path.stat().st_size
    again = clone(model).set_callbacks(Checkpoint(path, every), FailAfter(1)).fit(**given)  # grows nothing
    assert_equal_models(again, whole)
    assert path.stat().st_size == size and again.fit_report_.n_trees == n_grown * again.n_trees_per_iteration_
    for max_iter in (2, model.max_iter + 3):
        other = clone(model).set_params(max_iter=max_iter)
        assert_equal_models(clone(other).set_callbacks(Checkpoint(path, every)).fit(**given), other.fit(**given))


@pytest.mark.parametrize("seed", range(12))
def test_ranks_and_one_process_go_on_with_each_other(seed, tmp_path):
    model, given = fits(seed)
    path, size = tmp_path / "trees", [2, 3, 5][seed % 3]
    whole = clone(model).fit(**given)
    rng = np.random.default_rng(seed)

    def by_ranks(*others):
        """Only some ranks have the callback, at any path but for the first of them."""
        first = int(rng.integers(0, size))
        cut = Cut.random(rng, len(given["X"]), size, CUTS[rng.integers(0, len(CUTS))])
        callbacks = [[] for _ in range(size)]
        callbacks[first] = [Checkpoint(path, 2), *others]
        callbacks[-1] = callbacks[-1] or [Checkpoint(tmp_path / "nobody writes it")]
        return fit_by_ranks(model, **given, cut=cut, size=size, callbacks=callbacks)

    if seed % 2:
        with pytest.raises(RuntimeError, match="enough"):
            clone(model).set_callbacks(Checkpoint(path, 2), FailAfter(2)).fit(**given)
    else:
        assert {type(error) for error in by_ranks(FailAfter(2))} == {RuntimeError}
    for own in by_ranks():
        assert_equal_models(own, whole)
    assert_equal_models(clone(model).set_callbacks(Checkpoint(path), FailAfter(1)).fit(**given), whole)
    assert [file.name for file in tmp_path.iterdir()] == ["trees"]


def test_a_seed_of_its_own(tmp_path):
    """Without random_state, the seeds of the trees and of the rows that are held out are in the file."""
    X, y, model = problem("squared_error")
    model.set_params(random_state=None, early_stopping=True, subsample=0.5)
    first = clone(model).set_callbacks(Checkpoint(tmp_path / "trees"), StopAfter(3)).fit(X, y)
    second = clone(model).set_callbacks(Checkpoint(tmp_path / "trees")).fit(X, y)
    assert second.forest_.seed == first.forest_.seed and second.n_iter_ > 3
    np.testing.assert_array_equal(second.validation_score_[:4], first.validation_score_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offset": np.ones(300)}, "for another offset than"),
        ({"sample_weight": np.arange(300) + 1.0}, "for another sample_weight than"),
        ({"learning_rate": 0.3}, "learning_rate='auto', and this fit has learning_rate=0.3"),
        ({"loss": OwnSquares(True)}, r"loss=.OwnSquares\(is_constant=False\)., and this fit has loss=.OwnSquares\(is_cons"),
        ({"validation_fraction": 0.3}, "validation_fraction='auto', and this fit has validation_fraction=0.3"),
        ({"interaction_cst": [{3, 4}]}, "interaction_cst=.*and this fit has interaction_cst"),
        ({"random_state": 1}, "random_state=1 means another seed"),
        ({"X_val": np.zeros((9, 5)), "y_val": np.arange(9.0)}, "for another X than"),
        ({"warm_start": True}, "warm_start=True goes on with 8 trees"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_checkpoints_of_other_fits(change, message, tmp_path):
    X, y, model = problem("squared_error")
    path, change = tmp_path / "trees", dict(change)
    model.set_params(loss=OwnSquares(), early_stopping=True, interaction_cst=[{0, 1}], n_iter_no_change=20)
    model.set_callbacks(Checkpoint(path)).fit(X, y)
    content = path.read_bytes()
    given = {name: change.pop(name) for name in list(change) if name in ("offset", "sample_weight", "X_val", "y_val")}
    other = model if "warm_start" in change else clone(model)
    with pytest.raises(ValueError, match=message):
        other.set_params(**change).fit(X, y, **given)
    assert path.read_bytes() == content


def test_what_changes_no_tree_may_differ(tmp_path):
    X, y, model = problem("squared_error")
    model.set_params(early_stopping=True, n_iter_no_change=20, validation_fraction=0.2)
    clone(model).set_callbacks(Checkpoint(tmp_path / "trees")).fit(X, y)
    model.set_params(n_jobs=3, scoring="r2", tol=0.1, n_iter_no_change=2, use_best_model=False, max_iter=30)
    resumed = clone(model).set_callbacks(Checkpoint(tmp_path / "trees")).fit(X, y)
    assert_equal_models(resumed, model.fit(X, y))
    assert model.n_iter_ < 8  # it ends before the trees of the file do


def test_names_of_columns_in_sets(tmp_path):
    """The order of a set of text differs from process to process."""
    pandas = pytest.importorskip("pandas")
    X, y, model = problem("squared_error")
    X = pandas.DataFrame(X, columns=list("abcde"))
    model.set_params(max_iter=2).set_callbacks(Checkpoint(tmp_path / "trees"))
    model.set_params(interaction_cst=[{"a", "b", "c", "d"}]).fit(X, y)
    model.set_params(interaction_cst=[{"d", "c", "b", "a"}]).fit(X, y)
