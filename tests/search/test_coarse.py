"""Bounds of buckets against the scores of all cuts inside, and trees grown with and without buckets."""

import numpy as np
import pytest
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import dforest
from dforest.core import loops
from dforest.core.search import dense
from dforest.estimators.forest import base as estimator
from dforest.testing.scores import gini_score


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 8), st.booleans(), st.booleans(), st.sampled_from(loops.names()))
def test_no_cut_inside_a_bucket_is_above_its_bound(seed, n, n_buckets, missing, missing_left, name):
    rng = np.random.default_rng(seed)
    target = np.sort(rng.random(n)) < rng.random() if rng.random() < 0.2 else rng.random(n) < rng.random()
    count = rng.integers(1, rng.choice([2, 4, 1000]), n)
    left = np.cumsum(np.stack([count * ~target, count * target], axis=1), axis=0)       # by class, after each record
    besides = rng.integers(0, 20, 2) * missing
    total = left[-1] + besides
    offset = besides if missing_left else 0 * besides
    ends = np.append(np.sort(rng.integers(0, n, n_buckets - 1)), n - 1)
    edges = np.vstack([[0, 0], left[ends]])
    record = lambda c: [int(c.sum()), int(c.sum()), int(c[0]), int(c[1])]  # noqa: E731
    sides = [side + offset for side in np.vstack([[[0, 0]], left])]
    scores = [gini_score(record(s), record(total)) if 0 < s.sum() < total.sum() else 0.0 for s in sides]
    at_edges = [scores[0]] + [scores[end + 1] for end in ends]
    floor = max(at_edges)
    if floor <= 0.0:
        return
    words = (edges[:, 0] | edges[:, 1] << 32).astype(np.uint64)
    loops.use(name)
    args = words, int(offset[0] | offset[1] << 32), float(total.sum()), float(total[0]), floor * (1 - 2.0**-20)
    reaches, bounds = dense.gini_reach(*args, False)
    mixed, _ = dense.gini_reach(*args, total.sum() <= 4096)
    loops.use()
    begin = 0
    for i, end in enumerate(ends):
        inside = max(scores[begin + 1 : end + 1], default=0.0)
        assert inside <= max(bounds[i], at_edges[i], at_edges[i + 1]) * (1 + 2.0**-40)
        assert (reaches[i] and mixed[i]) or inside < floor
        begin = max(begin, end + 1)


@pytest.mark.parametrize("buckets", [1, 2, 7])
@settings(max_examples=40, deadline=None)  # which take a second, and find what few don't
@given(st.integers(0, 2**32))
def test_buckets_change_nothing(buckets, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(9, 150))
    X = rng.integers(0, rng.integers(2, 200), (n, 4)).astype(float)
    X[rng.random((n, 4)) < rng.choice([0, 0.1, 0.6])] = np.nan
    y = (rng.random(n) < 0.5) ^ (np.nan_to_num(X[:, 0]) > X[0, 1])
    forest = dforest.RandomForestClassifier(
        6, method="dense", max_features=int(rng.integers(1, 5)), random_state=0, bootstrap=bool(rng.integers(2)),
        min_samples_leaf=int(rng.choice([1, 1, 2, 9])), min_weight_fraction_leaf=float(rng.choice([0, 0, 0.03])),
        max_leaf_nodes=[None, None, 12][rng.integers(3)], ordinal_features=[3],
    )
    grown = []
    for n_buckets in (0, buckets):
        estimator.TUNING.update(buckets=n_buckets, unordered_below=int(rng.choice([0, 33])),
                                cache_bytes=int(rng.choice([0, 2**18])), small_up_to=int(rng.choice([0, 64])))
        grown.append(forest.fit(X, y).forest_.as_dict())
        estimator.TUNING.clear()
    for name, array in grown[0].items():
        assert array.tobytes() == grown[1][name].tobytes(), name
