"""Ranking by several ranks, each of which has whole queries: the models of one process with all rows, to the bit."""

import numpy as np
import pytest
from helpers.boosted_fits import weights_of_many_magnitudes
from helpers.callbacks import StopAfter
from helpers.device_forests import differences
from helpers.ranks import CUTS, Cut, fit_by_ranks
from helpers.rings import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from dforest import HistGradientBoostingRanker, config_context, spmd
from dforest.callback import Checkpoint
from dforest.errors import LossError
from dforest.estimators.data.agreement import Partition
from dforest.loss import LambdaRank, PairwiseRank, PythonLoss
from dforest.spmd.threads import ThreadGroup


class Softmax(PythonLoss):
    """ListNet's loss, and a pull towards the best grade of the group, by which the intercept depends on groups."""

    of_groups = True

    def gradient_hessian(self, y_true, raw_prediction):
        share = self.shares(raw_prediction)
        pull = 0.1 * (raw_prediction - y_true.max())
        return share - self.shares(y_true) + pull, share * (1.0 - share) + 0.1

    def loss(self, y_true, raw_prediction):
        return 0.05 * (raw_prediction - y_true.max()) ** 2 - self.shares(y_true) * np.log(self.shares(raw_prediction))

    def shares(self, x):
        power = np.exp(x - x.max())
        return power / power.sum()


class FirstGrade(Softmax):
    """A loss whose intercept depends on the order of rows, and on the groups."""

    def fit_intercept_only(self, y_true, sample_weight=None):
        gradient, _ = self.derivatives(y_true, np.zeros((len(y_true), 1)))
        return float(y_true[0] + gradient[-1, 0])


LOSSES = ["lambdarank", "pairwise", LambdaRank(3, 2.0, False, (0, 1, 2, 3, 7)), PairwiseRank(5), Softmax(), FirstGrade()]


def random_ranking(seed, size):
    """A random ranker, the rows of random queries, and which of them each rank has.

    Returns
    -------
    model : HistGradientBoostingRanker
        Not fitted.
    X, y, weight, qid : ndarray
        Rows; `weight` may be None.
    cut : Cut
        Of whole queries, which are not in the order of their labels. Rows of two of them are mixed where one rank has both.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, rng.choice([3, 15, 60]), rng.integers(2, 25))
    n, p, kind = int(sizes.sum()), int(rng.integers(1, 6)), CUTS[rng.integers(len(CUTS))]
    of_queries = Cut.random(rng, len(sizes), size, kind)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    cut = Cut(ends[of_queries.edges], of_queries.owner)
    qid = np.repeat(rng.permutation(1000)[: len(sizes)], sizes)
    for first, last in zip(cut.edges[:-1], cut.edges[1:], strict=True):
        if rng.random() < 0.5:
            qid[first:last] = rng.permutation(qid[first:last])
    qid = [qid, qid.astype(str), qid - 500.0][rng.integers(3)]
    X = np.round(rng.standard_normal((n, p)), int(rng.integers(0, 3))).astype(rng.choice([np.float32, np.float64]))
    y = np.clip(np.round(X[:, 0] + np.abs(rng.standard_normal(n))), 0, 4)
    X[rng.random(X.shape) < rng.choice([0.0, 0.2])] = np.nan
    model = HistGradientBoostingRanker(
        LOSSES[rng.integers(len(LOSSES))], max_iter=int(rng.integers(1, 5)), learning_rate=float(rng.choice([0.1, 1.0])),
        max_leaf_nodes=[None, 3, 31][rng.integers(3)], min_samples_leaf=int(rng.integers(1, 6)),
        l2_regularization=float(rng.choice([0.0, 1.0])), max_features=float(rng.choice([0.5, 1.0])),
        subsample=float(rng.choice([1.0, 0.6])), max_bins=int(rng.choice([255, 300, 8])), random_state=int(rng.integers(1000)),
        monotonic_cst=[None, [1] + (p - 1) * [0]][rng.integers(2)], sampling=["uniform", "query"][rng.integers(2)],
    )  # fmt: skip
    weight = [None, rng.integers(1, 4, n) / 2, rng.integers(0, 3, n) / 1.0, weights_of_many_magnitudes(rng, np.arange(n) % 7)]
    weight = weight[rng.integers(4)]
    return model, X, y, weight if weight is None or weight.any() else None, qid, cut


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([2, 3, 5]))
def test_models_are_those_of_one_process(seed, size):
    model, X, y, weight, qid, cut = random_ranking(seed, size)
    alone = clone(model).fit(X, y, weight, qid=qid)
    for found in fit_by_ranks(model, X, y, weight, cut, size, groups=qid):
        assert not differences(alone, found)
        assert found.forest_.objective == alone.forest_.objective
        assert found.predict(X).tobytes() == alone.predict(X).tobytes()


def with_scores(model, partitions_of, given_of, size):
    """What each rank fits to its partitions, and to rows that it gives to be scored."""

    def fit(communicator):
        with config_context(communicator=communicator):
            return clone(model)._fit_partitions(partitions_of, given_of(communicator.rank))

    return ThreadGroup(size).run(fit)


SCORINGS = ["ndcg@3", "map@2", "loss", ["ndcg", "map", "loss"]]


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([2, 3]), st.sampled_from(SCORINGS), st.sampled_from(["held", "given", "none"]))
@example(262144, 3, ["ndcg", "map", "loss"], "held")  # whose steps go too far, by a learning rate of 1
def test_early_stopping(seed, size, scoring, which):
    """By whole queries held out, by rows that ranks give, whose queries have sizes, and by the training rows."""
    model, X, y, weight, qid, cut = random_ranking(seed, size)
    fraction = None if which == "none" else 0.4
    model.set_params(early_stopping=True, scoring=scoring, max_iter=12, n_iter_no_change=2, validation_fraction=fraction)
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, 9)
    n = int(counts.sum())
    given_rows = (rng.standard_normal((n, X.shape[1])).astype(X.dtype), rng.integers(0, 5, n).astype(float),
                  rng.integers(1, 3, n) / 2 if rng.random() < 0.5 else None)  # fmt: skip
    names, first = ("X_val", "y_val", "sample_weight_val"), int(counts[:4].sum())
    scored = {**dict(zip(names, given_rows, strict=True)), "group_val": counts} if which == "given" else {}

    def given_of(rank):
        if which != "given" or rank > 1:
            return None
        rows = slice(0, first) if rank == 0 else slice(first, None)
        return *(None if array is None else array[rows] for array in given_rows), None, None, np.split(counts, [4])[rank]

    try:
        alone = clone(model).fit(X, y, weight, qid=qid, **scored)
    except ValueError as error:
        assert "can't be held out" in str(error) or isinstance(error, LossError)
        alone = error
    for found in with_scores(model, lambda rank: cut.partitions(rank, X, y, weight, qid), given_of, size):
        if isinstance(alone, ValueError):
            assert isinstance(found, type(alone)) and (isinstance(alone, LossError) or str(alone) in str(found))
            continue
        assert not differences(alone, found)
        assert found.best_iteration_ == alone.best_iteration_ and len(alone.train_score_) > 1
        for name, scores in alone.score_history_.items():
            for rows, of_rows in scores.items():
                assert found.score_history_[name][rows].tobytes() == of_rows.tobytes(), (name, rows)


RNG = np.random.default_rng(0)
X = np.round(RNG.standard_normal((200, 3)), 1)
QID = np.arange(200) // 10
Y = np.clip(np.round(X[:, 0] + np.abs(X[:, 1])), 0, 4)
SMALL = HistGradientBoostingRanker(defaults="scikit-learn", max_iter=4, min_samples_leaf=3, random_state=0)
ROWS = [slice(0, 70), slice(70, 200)]
SIZES = [[10] * 7, [10] * 13]


def on_two_ranks(work):
    """What two ranks return or raise, given a function of a rank that is called in its context."""

    def of_rank(communicator):
        with config_context(communicator=communicator):
            return work(communicator.rank)

    return ThreadGroup(2).run(of_rank)


@pytest.mark.parametrize("kind", [HistGradientBoostingRanker, spmd.HistGradientBoostingRanker])
def test_sizes_of_queries_offsets_and_warm_starts(kind):
    """The ranks' queries are their own, and come one after another."""
    parameters = SMALL.get_params() | {"early_stopping": True, "max_iter": 6, "n_iter_no_change": 3}
    alone = HistGradientBoostingRanker(**parameters).fit(X, Y, qid=QID, offset=X[:, 2])

    def fit(rank):
        own, model = ROWS[rank], kind(**parameters | {"max_iter": 2, "warm_start": True})
        told = {"group": SIZES[rank], "offset": X[own, 2]}
        assert model.estimate_memory(X[own], Y[own], **told).total > 0
        model.fit(X[own], Y[own], **told)
        return model.set_params(max_iter=6).fit(X[own], Y[own], **told)

    for found in on_two_ranks(fit):
        assert not differences(alone, found)
        assert found.validation_score_.tobytes() == alone.validation_score_.tobytes()


def test_callbacks_and_checkpoints(tmp_path):
    alone = clone(SMALL).fit(X, Y, qid=QID)
    part = clone(SMALL).set_params(max_iter=2)
    part.set_callbacks(Checkpoint(tmp_path / "part", every=1)).fit(X, Y, qid=QID)

    def fit(rank):
        model = clone(SMALL).set_callbacks(*[Checkpoint(tmp_path / "part", every=1)] * (rank == 0))
        return model.fit(X[ROWS[rank]], Y[ROWS[rank]], qid=QID[ROWS[rank]])

    def stop(rank):
        model = clone(SMALL).set_params(max_iter=9).set_callbacks(*[StopAfter(4)] * (rank == 1))
        return model.fit(X[ROWS[rank]], Y[ROWS[rank]], group=SIZES[rank])

    for found in on_two_ranks(fit) + on_two_ranks(stop):
        assert not differences(alone, found)


def shared(rank):
    """The labels of queries, one of which rows of both ranks have."""
    return np.where(QID == 19, 3, QID)[ROWS[rank]]


def scored(rank, **told):
    """Queries of training rows by their sizes, and some rows to be scored."""
    return {"group": SIZES[rank], "X_val": X[:10], "y_val": Y[:10], **told}


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (lambda rank: {"qid": shared(rank)}, "qid: rows of the query 3 lie on rank 0 and on rank 1; allowed are queries all of"),
        (lambda rank: {"qid": np.char.add("q", shared(rank).astype(str))}, "qid: rows of the query 'q3' lie on rank 0 and on"),
        (lambda rank: {"qid": QID[ROWS[rank]].astype([int, str][rank])}, "qid holds labels of the types int, str"),
        (lambda rank: [{"qid": QID[:70]}, {"group": SIZES[1]}][rank], "group and qid are given, for different rows; allowed is"),
        (lambda rank: [{"qid": QID[:70]}, {}][rank], "whether there are groups is True on rank 0, but False on rank 1"),
        (lambda rank: {}, "neither qid nor group is given; allowed is one of them"),
        (lambda rank: {"group": [10] * 7}, "on rank 1: group adds up to 70, and X has 130 rows"),
        (lambda rank: {"qid": QID[ROWS[rank]][rank:]}, "on rank 1: qid has 129 entries, and X 130 rows"),
        (lambda rank: scored(rank, qid_val=QID[:10]), "qid_val: rows of the query 0 lie on rank 0 and on rank 1"),
        (lambda rank: scored(rank, **[{"qid_val": QID[:10]}, {"group_val": [10]}][rank]), "group_val and qid_val are given, for"),
        (lambda rank: scored(rank, group_val=[10 - rank]), "on rank 1: group_val adds up to 9, and X_val has 10 rows"),
    ],
)
@pytest.mark.parametrize("is_estimate", [False, True])
def test_what_is_refused_is_refused_on_all_ranks(told, message, is_estimate):
    models = [clone(SMALL), clone(SMALL)]

    def work(rank):
        method = models[rank].estimate_memory if is_estimate else models[rank].fit
        return method(X[ROWS[rank]], Y[ROWS[rank]], **told(rank))

    errors = on_two_ranks(work)
    assert {type(error) for error in errors} == {ValueError}
    assert all(message in str(error) for error in errors), errors
    assert not any(hasattr(model, "forest_") for model in models)


def test_grades_of_one_rank_that_a_loss_does_not_allow():
    """The extremes of all are allowed."""
    y = Y.copy()
    y[100] = 1.5
    for loss in ("lambdarank", LambdaRank()):
        model = clone(SMALL).set_params(loss=loss)
        for error in on_two_ranks(lambda rank, model=model: clone(model).fit(X[ROWS[rank]], y[ROWS[rank]], group=SIZES[rank])):
            assert isinstance(error, ValueError) and "on rank 1: y holds 1.5; allowed with loss=LambdaRank" in str(error)


def test_partitions_of_one_process():
    """They have whole queries, too, as each of them may come to another worker."""
    alone = clone(SMALL).set_params(early_stopping=True).fit(X, Y, qid=QID)
    for cut in (60, 55):
        parts = [Partition(i, X[rows], Y[rows], groups=QID[rows]) for i, rows in enumerate([slice(0, cut), slice(cut, 200)])]
        if cut == 60:
            assert not differences(alone, clone(alone)._fit_partitions(lambda rank, parts=parts: parts))
            continue
        with pytest.raises(ValueError, match="rows of the query 5 lie in partition 0 and in partition 1; allowed are"):
            clone(alone)._fit_partitions(lambda rank, parts=parts: parts)


def test_a_grade_without_a_gain_on_one_rank():
    """All ranks then score by the loss."""
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(80, 2)), rng.integers(0, 3, 80) + 0.0, np.arange(80) // 8
    y[79] = -0.5
    model = HistGradientBoostingRanker("pairwise", max_iter=5, min_samples_leaf=3, early_stopping=True, random_state=0)
    alone = clone(model).fit(X, y, qid=qid)
    for found in fit_by_ranks(model, X, y, None, Cut(np.array([0, 40, 80]), np.arange(2)), 2, qid):
        assert not differences(alone, found) and list(found.score_history_) == ["loss"]
        assert found.validation_score_.tolist() == alone.validation_score_.tolist()
