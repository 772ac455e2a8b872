"""HistGradientBoostingRanker: fits, queries, scores, and all that boosted trees have, for ranking."""

import pickle

import numpy as np
import pandas as pd
import pytest
from helpers.callbacks import Recorder
from helpers.device_forests import assert_same
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context as sklearn_config
from sklearn.base import clone
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import _num_samples

import dforest
from dforest import HistGradientBoostingRanker, HistGradientBoostingRegressor, load
from dforest.callback import Checkpoint
from dforest.engines.rows import RowShare
from dforest.loss import LambdaRank, PairwiseRank, PythonLoss
from dforest.spmd.draws import subsampled

N_QUERIES, SIZE = 30, 20
RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(N_QUERIES * SIZE, 5)), 2)
QID = np.repeat(np.arange(N_QUERIES), SIZE)
Y = np.clip(np.round(X[:, 0] + np.abs(X[:, 1]) + 0.5 * RNG.normal(size=len(X))), 0, 4)
MIXED = RNG.permutation(len(X))
SMALL = {"defaults": "scikit-learn", "max_iter": 6, "max_leaf_nodes": 7, "min_samples_leaf": 3, "random_state": 0}


def ranker(**parameters):
    return HistGradientBoostingRanker(**SMALL | parameters)


def test_it_ranks():
    train, test = QID < 20, QID >= 20
    model = ranker(max_iter=50).fit(X[train], Y[train], qid=QID[train])
    score = model.score(X[test], Y[test], qid=QID[test])
    raw = model.predict(X[test])
    of_queries = [ndcg_score([2 ** Y[QID == q] - 1], [raw[QID[test] == q]]) for q in range(20, 30)]
    assert score == pytest.approx(np.mean(of_queries), rel=1e-12)
    assert score > 0.9 > np.mean([ndcg_score([2 ** Y[QID == q] - 1], [np.zeros(SIZE)]) for q in range(20, 30)])
    pairwise = ranker(loss="pairwise", max_iter=50).fit(X[train], Y[train], qid=QID[train])
    assert pairwise.score(X[test], Y[test], qid=QID[test], k=5) > 0.85


@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_queries_changes_no_bit(random):
    names = list(range(N_QUERIES))
    random.shuffle(names)
    order = np.concatenate([np.flatnonzero(QID == name) for name in names])
    model, other = ranker().fit(X, Y, qid=QID), ranker().fit(X[order], Y[order], qid=QID[order])
    assert_same(model, other)
    apart = np.argsort(np.arange(len(X)) % SIZE, kind="stable")  # the first rows of all queries, the second ones, ...
    assert_same(model, ranker().fit(X[apart], Y[apart], qid=QID[apart]))


def test_ways_to_tell_the_queries():
    model = ranker().fit(X, Y, qid=QID)
    sizes = np.bincount(QID)
    for told in ({"group": sizes}, {"group": sizes.astype(float)}, {"qid": QID - 7}, {"qid": [f"q{q:03}" for q in QID]},
                 {"qid": pd.Series(QID)}, {"qid": QID[:, None]}, {"group": sizes.tolist()}):  # fmt: skip
        assert_same(model, ranker().fit(X, Y, **told))


def test_drawn_rows_get_the_derivatives_of_all():
    """With one tree, the leaves of drawn rows have Newton's steps of derivatives that all rows of their queries decide."""
    model = ranker(subsample=0.5, max_iter=1, learning_rate=1.0, loss="pairwise").fit(X, Y, qid=QID)
    drawn = model.forest_.row_counts(0) > 0
    assert drawn.sum() == len(X) // 2
    loss = model._loss.bound(QID)
    gradient, hessian = (column[:, 0] for column in loss.derivatives(Y, (0.0,)))
    leaf = model.apply(X).ravel()
    for number in np.unique(leaf):
        rows = drawn & (leaf == number)
        value = model.predict(X[leaf == number][:1])[0]
        assert value == pytest.approx(-gradient[rows].sum() / hessian[rows].sum(), rel=1e-4)


def test_early_stopping_holds_out_whole_queries():
    model = ranker(max_iter=40, early_stopping=True, validation_fraction=0.3, n_iter_no_change=40, use_best_model=False)
    model.fit(X[MIXED], Y[MIXED], qid=QID[MIXED])
    held = np.flatnonzero(subsampled(RowShare.whole(N_QUERIES), 9, model._row_seed))
    assert model.best_iteration_ == int(np.argmax(model.validation_score_[1:])) + 1
    assert len(held) == 9
    scores = [ndcg_score([2 ** Y[QID == q] - 1], [model.predict(X[QID == q])], k=10) for q in held]
    assert model.validation_score_[-1] == pytest.approx(np.mean(scores), rel=1e-9)
    given_rows = ranker(max_iter=40, n_iter_no_change=40, use_best_model=False)
    there = ~np.isin(QID[MIXED], held)
    train, valid = MIXED[there], MIXED[~there]
    given_rows.fit(X[train], Y[train], qid=QID[train], X_val=X[valid], y_val=Y[valid], qid_val=QID[valid])
    assert given_rows.validation_score_ == pytest.approx(model.validation_score_, rel=1e-12)
    assert_same(model, given_rows)


def test_scorings():
    scoring = ["map@5", "ndcg", "loss", "ndcg@3"]
    model = ranker(early_stopping=True, scoring=scoring, validation_fraction=None).fit(X, Y, qid=QID)
    assert list(model.score_history_) == scoring
    history = {name: scores["training"] for name, scores in model.score_history_.items()}
    assert history["ndcg"][model.n_iter_] == pytest.approx(model.score(X, Y, qid=QID), rel=1e-12)
    assert history["ndcg@3"][model.n_iter_] == pytest.approx(model.score(X, Y, qid=QID, k=3), rel=1e-12)
    values = model._loss.bound(QID).values(model.predict(X)[:, None], Y)
    assert history["loss"][model.n_iter_] == pytest.approx(-values.mean(), rel=1e-12)
    assert (np.diff(history["map@5"][:3]) > 0).all()


def test_scores_by_weights():
    weight = 1.0 + (QID % 3)
    model = ranker().fit(X, Y, weight, qid=QID)
    each = [model.score(X[QID == q], Y[QID == q], group=[SIZE]) for q in range(N_QUERIES)]
    assert model.score(X, Y, weight, qid=QID) == pytest.approx(np.average(each, weights=1.0 + np.arange(N_QUERIES) % 3))
    weight[QID == 0] = 0.0
    there = QID > 0
    assert model.score(X, Y, weight, qid=QID) == pytest.approx(model.score(X[there], Y[there], weight[there], qid=QID[there]))


def test_weights():
    """Integer weights of whole queries are repeated queries; rows of weight 0 make no pairs."""
    twice = np.concatenate([np.arange(len(X)), np.flatnonzero(QID < 10)])
    qid = np.concatenate([QID, 100 + QID[QID < 10]])
    parameters = {"min_samples_leaf": 1, "max_leaf_nodes": 4, "max_iter": 3}
    model = ranker(**parameters).fit(X, Y, 1.0 + (QID < 10), qid=QID)
    other = ranker(**parameters).fit(X[twice], Y[twice], qid=qid)
    assert model.predict(X) == pytest.approx(other.predict(X), rel=1e-6)
    there = np.arange(len(X)) % 3 > 0
    assert_same(ranker().fit(X, Y, there.astype(float), qid=QID), ranker().fit(X[there], Y[there], qid=QID[there]))


def test_all_that_boosted_trees_have():
    holes = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    holes[:, 4] = np.round(np.abs(X[:, 4]))
    model = ranker(categorical_features=[4], monotonic_cst=[1, 0, 0, 0, 0], n_jobs=2).fit(holes, Y, qid=QID, offset=X[:, 3])
    assert model.n_iter_ == 6
    rising = np.tile(holes[:1], (50, 1))
    rising[:, 0] = np.linspace(-3, 3, 50)
    assert (np.diff(model.predict(rising)) >= 0).all()
    shap = model.shap_values(holes[:5])
    assert shap.values.sum(axis=1) + shap.base_values == pytest.approx(model.predict(holes[:5]))
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    staged = list(model.staged_predict(holes[:5], offset=X[:5, 3]))
    assert (staged[-1] == model.predict(holes[:5], offset=X[:5, 3])).all()
    assert model.predictor().predict(holes[0]) == pytest.approx(model.predict(holes[:1]))
    assert ranker().estimate_memory(X, Y, qid=QID).total > 0


def test_files_pickles_and_clones(tmp_path):
    for loss in ("lambdarank", PairwiseRank(10, 2.0), LambdaRank(label_gain=(0, 1, 2, 3, 10))):
        model = ranker(loss=loss).fit(X, Y, qid=QID)
        model.save(tmp_path / "model.safetensors")
        for other in (load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))):
            assert (other.predict(X) == model.predict(X)).all()
            assert other.score(X, Y, qid=QID) == model.score(X, Y, qid=QID)
            assert other.get_params() == model.get_params()
        assert_same(clone(model).fit(X, Y, qid=QID), model)
    assert ranker(loss=LambdaRank()).set_params(loss__truncation_level=7).loss == LambdaRank(7)


def test_checkpoints_know_the_queries(tmp_path):
    ranker(max_iter=4).set_callbacks(Checkpoint(tmp_path / "part", every=2)).fit(X, Y, qid=QID)
    with pytest.raises(ValueError, match="qid"):
        ranker(max_iter=8).set_callbacks(Checkpoint(tmp_path / "part", every=2)).fit(X, Y, qid=QID // 2)


def test_callbacks_are_told_the_queries():
    for told in ({"qid": QID}, {"group": [SIZE] * N_QUERIES}):
        recorder = Recorder()
        ranker().set_callbacks(recorder).fit(X, Y, **told)
        given = [values["metadata"] for *_, values in recorder.told if values]
        (name,) = told
        assert given and all(list(metadata) == [name] and metadata[name] is told[name] for metadata in given)


class Softmax(PythonLoss):
    """ListNet's loss."""

    of_groups = True

    def gradient_hessian(self, y_true, raw_prediction):
        share = np.exp(raw_prediction - raw_prediction.max())
        share /= share.sum()
        return share - np.exp(y_true) / np.exp(y_true).sum(), share * (1 - share)

    def loss(self, y_true, raw_prediction):
        share = np.exp(raw_prediction - raw_prediction.max())
        return -np.exp(y_true) / np.exp(y_true).sum() * np.log(share / share.sum())

    def fit_intercept_only(self, y_true, sample_weight):
        return 0.0


def test_a_loss_of_ones_own():
    model = ranker(loss=Softmax(), max_iter=30, early_stopping=True, scoring=["loss", "ndcg"])
    model.fit(X[MIXED], Y[MIXED], qid=QID[MIXED])
    assert model.score(X, Y, qid=QID) > 0.9
    assert model.best_score_ > model.validation_score_[0]
    assert_same(ranker(loss=Softmax()).fit(X[MIXED], Y[MIXED], qid=QID[MIXED]), ranker(loss=Softmax).fit(X, Y, qid=QID))
    for loss in (Softmax(), LambdaRank(), PairwiseRank):
        with pytest.raises(ValueError, match="is of groups of rows; allowed are losses of rows, or HistGradientBoostingRanker"):
            HistGradientBoostingRegressor(loss).fit(X, Y)


def test_grades_without_order_and_single_rows():
    alone = ranker().fit(X, Y, qid=np.arange(len(X)), X_val=X, y_val=np.zeros(len(X)), qid_val=QID)
    assert (alone.predict(X) == 0).all() and alone.best_score_ == 1.0


class OneQuery(HistGradientBoostingRanker):
    """All rows are one query, so that scikit-learn's checks, which know of no queries, can run."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sample_weight, qid=one_query(X))

    def score(self, X, y, sample_weight=None):
        return super().score(X, y, sample_weight, qid=one_query(X))


def one_query(X):
    return np.zeros(_num_samples(X))


# A row that is there twice makes more pairs than a row of weight 2.
DIFFERS = dict.fromkeys(
    ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"], "pairs have no weight"
)


def test_scikit_learns_checks():
    model = OneQuery(loss="pairwise", max_iter=3, min_samples_leaf=1)
    found = check_estimator(model, expected_failed_checks=DIFFERS, on_fail=None, on_skip=None)
    assert {result["check_name"]: result["exception"] for result in found if result["status"] == "failed"} == {}


FEW = {"X": X[:40], "y": Y[:40], "qid": QID[:40]}


@pytest.mark.parametrize(
    ("parameters", "given", "message"),
    [
        ({}, {"qid": None}, "neither qid nor group is given; allowed is one of them"),
        ({}, {"group": [20, 20]}, "qid and group are both given; allowed is one of them"),
        ({}, {"qid": QID[:39]}, "qid has 39 entries, and X 40 rows; allowed is an entry for each row"),
        ({}, {"qid": np.where(np.arange(40) == 3, np.nan, 1.0)}, "Input qid .*: nan in row 3; every row needs a value"),
        ({}, {"qid": np.zeros((40, 2))}, r"qid has the shape \(40, 2\); allowed are arrays of one dimension"),
        ({}, {"qid": None, "group": [20, 19]}, "group adds up to 39, and X has 40 rows; allowed is one number"),
        ({}, {"qid": None, "group": [41, -1]}, "group holds -1; allowed are integers from 1 on"),
        ({}, {"qid": None, "group": [20.5, 19.5]}, "group holds 20.5; allowed are integers from 1 on"),
        ({}, {"y": Y[:40] + 0.5}, r"y holds .*5; allowed with loss=LambdaRank.* are integers from 0 to 31"),
        ({}, {"y": Y[:40] - 1}, "y holds -1.0; allowed with loss=LambdaRank"),
        ({}, {"y": np.full(40, 32)}, "y holds 32.0; .* are integers from 0 to 31; .* LambdaRank\\(label_gain=...\\)"),
        ({"loss": LambdaRank(label_gain=[0, 1])}, {"y": np.full(40, 2)}, "are integers from 0 to 1; loss=\"pairwise\" takes any"),
        ({}, {"y": np.zeros((40, 2))}, "loss='lambdarank' is for a y of one column, and y has 2; allowed are grades"),
        ({"loss": "rank:ndcg"}, {}, "loss"),
        ({"loss": "squared_error"}, {}, "loss"),
        ({"early_stopping": True, "scoring": "r2"}, {}, "scoring='r2'; allowed for ranking are \"loss\", \"ndcg\""),
        ({"early_stopping": True, "scoring": "ndcg@0"}, {}, "scoring='ndcg@0'; allowed for ranking are"),
        ({"early_stopping": True, "validation_fraction": 2}, {}, "validation_fraction=2 of 2 queries can't be held out"),
        ({"early_stopping": True, "loss": "pairwise", "scoring": "ndcg"}, {"y": Y[:40] / 2},
         "allowed with scoring='ndcg' are integers from 0 to 31; scoring=\"loss\" takes any$"),
        ({}, {"X_val": X[:9], "y_val": Y[:9]}, "neither qid_val nor group_val is given"),
        ({}, {"X_val": X[:9], "y_val": Y[:9], "group_val": [8]}, "group_val adds up to 8, and X_val has 9 rows"),
        ({}, {"qid_val": QID[:9]}, "qid_val is given without X_val and y_val; allowed are all three"),
    ],
)  # fmt: skip
def test_errors(parameters, given, message):
    model = ranker(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(**FEW | given)
    assert not hasattr(model, "forest_")


def test_errors_of_scores():
    model = ranker().fit(**FEW)
    for more, message in (
        ({"k": 0}, "k=0; allowed are integers from 1 on, and None"),
        ({"qid": None}, "neither qid nor group is given"),
        ({"y": Y[:40] + 0.5}, "allowed with NDCG are integers from 0 to 31; other grades have no gains$"),
        ({"y": Y[:39]}, "inconsistent numbers of samples"),
    ):
        with pytest.raises(ValueError, match=message):
            model.score(**FEW | more)
    with pytest.raises(TypeError, match="HistGradientBoostingRanker is for ranking, whose fit takes qid"):
        model.fit(X, Y, groups=QID)
    with pytest.raises(AttributeError, match="It is called HistGradientBoostingRanker here"):
        dforest.LGBMRanker  # noqa: B018


def test_any_grades_stop_early_by_the_loss(capfd):
    """NDCG needs gains, which grades that are no integers from 0 to 31 do not have; so the loss is the default then."""
    noisy = Y - 1.5 + 0.1 * np.sin(np.arange(len(Y)))
    seen = Recorder()
    model = ranker(loss="pairwise", early_stopping=True, max_iter=30, verbose=1).set_callbacks(seen)
    model.fit(X, noisy, qid=QID)
    assert list(model.score_history_) == ["loss"] and "validation score" in capfd.readouterr().err
    chosen = ranker(loss="pairwise", early_stopping=True, max_iter=30, scoring="loss").fit(X, noisy, qid=QID)
    assert_same(model, chosen)
    page = str(model.report(X, noisy, qid=QID))
    assert "MAP@10" in page and "NDCG" not in page
    assert list(clone(model).set_params(verbose=0).fit(X, Y, qid=QID).score_history_) == ["ndcg@10"]
    later = ranker(loss="pairwise").fit(X, Y, qid=QID, X_val=X[:SIZE], y_val=noisy[:SIZE], qid_val=QID[:SIZE])
    assert list(later.score_history_) == ["loss"]
    with pytest.raises(ValueError, match="y holds .*; allowed with NDCG are integers"):
        model.score(X, noisy, qid=QID)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_searches_that_pass_no_queries_on_say_what_to_do():
    """Without metadata routing scikit-learn gives `qid` to `fit` alone: the scores are NaN, and the warnings name the remedy."""
    remedy = r"enable_metadata_routing=True\), .*set_fit_request\(qid=True\).set_score_request\(qid=True\)"
    search = GridSearchCV(ranker(max_iter=1), {"max_leaf_nodes": [2, 3]}, cv=GroupKFold(2))
    with pytest.warns(UserWarning, match=remedy):
        search.fit(X, Y, groups=QID, qid=QID)
    with pytest.raises(ValueError, match=remedy):
        cross_val_score(ranker(max_iter=1), X, Y, groups=QID, cv=GroupKFold(2))
    with sklearn_config(enable_metadata_routing=True):
        search.set_params(estimator=ranker(max_iter=1).set_fit_request(qid=True).set_score_request(qid=True))
        assert np.isfinite(search.fit(X, Y, groups=QID, qid=QID).cv_results_["mean_test_score"]).all()
