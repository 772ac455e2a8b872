"""What fitted models say, as a few letters; and whether they say the same however they are grown.

Run as a program, it grows random problems of all kinds, and those of golden.json, by every way that must not matter: the extremes
of the machinery's sizes, all sets of loops, 1, 2 and 8 threads, a device that stands in, two and three ranks. It fails if some
way gives another model, and prints one digest of all models. A change of the machinery that means to keep every model prints the
digest of before:

    cd tests
    python -m helpers.digests --write before.json        # before the change
    python -m helpers.digests --compare before.json      # after it: tells which problems differ

Words: a *problem* is an estimator with random parameters and data, made from its kind and a number. A *way* is a context in which
it is fitted.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.base import clone

import dforest
from dforest.config import config_context
from dforest.core import loops
from helpers import boosted_fits, device_forests
from helpers.host_device import compile_kernels, load_kernels, strict_device
from helpers.ranks import Cut, fit_by_ranks
from helpers.tunings import EXTREMES, tuned


def digest(model, X):
    """What a fitted estimator says, as a few letters: node by node, however its arrays are laid out; and of rows."""
    forest = model.forest_
    starts = np.repeat(forest.node_offsets[:-1], np.diff(forest.node_offsets))
    is_leaf = forest.feature < 0
    leaf = forest.leaf_row[is_leaf]
    said = {
        "trees": np.diff(forest.node_offsets),
        "feature": forest.feature.astype(np.int64),
        "threshold": forest.threshold.astype(np.float64),
        "right child": np.where(is_leaf, 0, forest.right_child.astype(np.int64) + starts),
        "missing left": forest.missing_left.astype(np.int64),
        "draws": forest.leaf_draws[leaf].astype(np.int64),
        "weight": forest.leaf_weight[leaf].astype(np.int64),
        **({"shift": forest.leaf_shift[leaf].astype(np.int64)} if len(forest.leaf_shift) else {}),
        "value": forest.leaf_value[leaf] if len(forest.leaf_value) else forest.leaf_value,
        "impurity": forest.leaf_impurity[leaf] if len(forest.leaf_impurity) else forest.leaf_impurity,
        "inner": forest.inner,
        "payload lengths": np.diff(forest.payload_offsets),
        "payloads": forest.payload_words,
        "seeds": np.asarray(forest.seeds, np.int64),
        "weight exponents": 1 - np.frexp(forest.weight_unit)[1].astype(np.int64),
        "prediction": model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X),
        "out of bag": getattr(model, "oob_curve_", np.zeros(0)),
        "importance": getattr(model, "variable_importance_", np.zeros(0)),
    }
    found = hashlib.sha256()
    for name, several in said.items():
        for array in several if isinstance(several, list) else [several]:
            # NaN may have other bits elsewhere, and so may the sign of 0 in a sum.
            array = np.where(np.isnan(array), np.nan, array + 0.0) if array.dtype.kind == "f" else array
            found.update(f"{name} {array.shape}".encode())
            found.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
    return found.hexdigest()[:32]


def _table(rng, n, p):
    """Columns of few values and of many, some of labels, with missing values."""
    X = np.round(rng.standard_normal((n, p)), int(rng.integers(0, 3))).astype(rng.choice([np.float32, np.float64]))
    X[rng.random(X.shape) < rng.choice([0.0, 0.1, 0.5])] = np.nan
    labels = [j for j in range(1, p) if rng.random() < 0.3]
    for j in labels:
        X[:, j] = np.where(np.isnan(X[:, j]), np.nan, rng.integers(0, rng.choice([3, 20, 60]), n))
    return X, labels or None


def _random_survival_fit(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 200))
    X, labels = _table(rng, n, int(rng.integers(1, 6)))
    time = np.round(rng.exponential(1.0, n) + np.nan_to_num(X[:, 0]) % 3, int(rng.integers(0, 3))) + 0.1
    event = rng.random(n) < rng.choice([0.3, 0.8])
    event[0] = True
    y = [event, time] if rng.random() < 0.6 else [event, time, np.where(rng.random(n) < 0.4, time * rng.random(n), 0.0)]
    weight = [None, rng.integers(1, 5, n).astype(float), rng.random(n) + 1e-3][rng.integers(3)]
    kind = [dforest.RandomSurvivalForest, dforest.ExtraSurvivalTrees][rng.integers(2)]
    model = kind(
        3, criterion=str(rng.choice(["logrank", "logrank_score"])), method=str(rng.choice(["hist", "dense"])), max_features=None,
        max_leaf_nodes=[None, 6][rng.integers(2)], categorical_features=labels, random_state=seed,
    )  # fmt: skip
    return model, X, np.column_stack(y), weight


def _random_isolation_fit(seed):
    rng = np.random.default_rng(seed)
    X, labels = _table(rng, int(rng.integers(5, 300)), int(rng.integers(1, 6)))
    X = np.where(np.isnan(X), X.dtype.type(0), X)
    parameters = {"max_samples": [1.0, 64, "auto"][rng.integers(3)], "categorical_features": labels, "random_state": seed}
    return dforest.IsolationForest(4, **parameters), X, None, None


def _random_ordering_fit(seed):
    """Of a column of many labels, that trees order by other rows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 400))
    X, labels = _table(rng, n, 4)
    X[:, 3] = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, rng.choice([40, 200]), n))
    score = np.nan_to_num(X[:, 0]) + rng.standard_normal(200)[np.nan_to_num(X[:, 3]).astype(int)]
    is_class = rng.random() < 0.5
    family = str(rng.choice(["RandomForest", "ExtraTrees"])) + ("Classifier" if is_class else "Regressor")
    y = np.digitize(score, np.quantile(score, np.sort(rng.random(int(rng.integers(1, 4)))))) if is_class else score
    model = getattr(dforest, family)(3, categorical_features=sorted({3, *(labels or [])}), random_state=seed)
    return model, X, y, [None, rng.random(n) + 0.01][rng.integers(2)]


def _random_statistics_fit(seed):
    """Boosted trees by default, which stop, grow anew and cut by statistics of labels."""
    model, X, y, weight = _random_ordering_fit(seed)
    kind = dforest.HistGradientBoostingClassifier if hasattr(model, "predict_proba") else dforest.HistGradientBoostingRegressor
    return kind(max_iter=8, categorical_features=model.categorical_features, random_state=seed), X, y, weight


def _random_ranking_fit(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, int(rng.integers(3, 20)))
    X, labels = _table(rng, int(sizes.sum()), 4)
    y = np.clip(np.round(np.nan_to_num(X[:, 0]) + rng.standard_normal(len(X))), 0, 4).astype(int)
    y[: sizes[0]] = np.arange(sizes[0]) % 5
    model = dforest.HistGradientBoostingRanker(max_iter=4, categorical_features=labels, min_samples_leaf=3, random_state=seed)
    return model, X, y, {"qid": np.repeat(np.arange(len(sizes)), sizes)}


def _random_boosted_fit(loss, n_outputs=False):
    def make(seed):
        model, X, y, weight = boosted_fits.random_fit(seed, loss)
        if n_outputs:
            y = boosted_fits.with_outputs(seed, y)
            model.set_params(monotonic_cst=None)
        return model, X, y, weight

    return make


# How many of a hundred problems are of a kind, and what makes one from a number: an estimator, X, y, and weights or a dict.
KINDS = {
    "forest": (29, device_forests.random_fit),
    "forest of several outputs": (10, device_forests.random_fit_of_outputs),
    "labels ordered by trees": (8, _random_ordering_fit),
    "survival": (6, _random_survival_fit),
    "isolation": (4, _random_isolation_fit),
    "ranking": (2, _random_ranking_fit),
    "statistics of labels": (2, _random_statistics_fit),
    "boosted outputs": (3, _random_boosted_fit("squared_error", True)),
    **{loss: (3 if loss == "squared_error" else 2, _random_boosted_fit(loss)) for loss in boosted_fits.REGRESSION},
    **{loss: (4 if loss == "log_loss" else 3, _random_boosted_fit(loss)) for loss in boosted_fits.CLASSES},
}
FORESTS = {"forest", "forest of several outputs", "labels ordered by trees", "survival", "isolation"}
NOT_ON_DEVICES, NOT_BY_RANKS = {"survival", "isolation"}, {"survival"}  # which refuse them
_DEVICES = []  # one, that is compiled when it is first asked for


@contextmanager
def _nothing():
    yield


@contextmanager
def _by_loops(name):
    loops.use(name)
    try:
        yield
    finally:
        loops.use()


@contextmanager
def _by_device(tuning):
    if not _DEVICES:
        _DEVICES.append(strict_device(load_kernels(compile_kernels()), 2))
    with device_forests.standing_in(_DEVICES[0]), device_forests.tuned(tuning):
        yield


def ways(kind):
    """How problems of a kind are fitted: name -> (context, parameters of the estimator)."""
    is_forest = kind in FORESTS
    found = {f"{n} threads": (_nothing, {"n_jobs": n}) for n in (1, 2, 8)}
    found |= {f"{name} loops": (lambda name=name: _by_loops(name), {}) for name in loops.names()}
    if is_forest:
        found |= {name: (lambda name=name: tuned(name), {"n_jobs": 2}) for name in EXTREMES}
    if kind not in NOT_ON_DEVICES:
        for number, tuning in enumerate(device_forests.TUNINGS if is_forest else device_forests.TUNINGS[:1]):
            found[f"device, sizes {number}"] = (lambda tuning=tuning: _by_device(tuning), {"device": "gpu"})
    return found


def _fit(model, X, y, given):
    fit = given if isinstance(given, dict) else {"sample_weight": given}
    return model.fit(X, y, **fit) if y is not None else model.fit(X, **fit)


def grow(kind, seed):
    """The digest of a problem, and the ways that give another one."""
    model, X, y, given = KINDS[kind][1](seed)
    expected, different = digest(_fit(clone(model), X, y, given), X), []
    for way, (context, parameters) in ways(kind).items():
        with context():
            other = _fit(clone(model).set_params(**parameters), X, y, given)
        other.set_params(**{name: getattr(model, name) for name in parameters})
        if digest(other, X) != expected:
            different.append(way)
    if kind not in NOT_BY_RANKS and not isinstance(given, dict):  # queries are not cut
        for size in (2, 3):
            cut = Cut.random(np.random.default_rng(seed), len(X), size, "interleaved" if size == 2 else "random")
            for rank, other in enumerate(fit_by_ranks(model, X, y, given, cut, size)):
                if isinstance(other, Exception):
                    raise other
                if rank == 0 and digest(other, X) != expected:
                    different.append(f"{size} ranks")
    return expected, different


def grow_one(problem):
    """`grow` for a pool of processes: (name, digest or "", ways that differ or what was raised)."""
    kind, seed = problem
    with warnings.catch_warnings(), config_context():
        warnings.simplefilter("ignore")
        try:
            return f"{kind} {seed}", *grow(kind, seed)
        except Exception as error:  # the others are to be told, too
            return f"{kind} {seed}", "", [f"{type(error).__name__}: {error}"]


def problems(n, seed):
    """The (kind, number) of n problems, so that the first of them are of all kinds."""
    shares = [kind for kind, (share, _) in KINDS.items() for _ in range(share)]
    order = np.random.default_rng(0).permutation(len(shares))
    names = [*KINDS, *(shares[i % len(shares)] for i in np.resize(order, max(0, n - len(KINDS))))][:n]
    return [(kind, seed + number) for number, kind in enumerate(names)]


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m helpers.digests", description="One digest of all that dforest grows.")
    parser.add_argument("--problems", type=int, default=2000, help="how many (2000)")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first one (0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (as many as there are cores)")
    parser.add_argument("--kind", choices=KINDS, help="problems of this kind alone")
    parser.add_argument("--write", type=Path, help="a file for the digests of all problems")
    parser.add_argument("--compare", type=Path, help="a file of an earlier version's digests")
    given = parser.parse_args(arguments)
    chosen = [(given.kind or kind, seed) for kind, seed in problems(given.problems, given.seed)]
    found, failed = {}, []
    compile_kernels()  # which is kept for all processes
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        for name, said, different in pool.imap_unordered(grow_one, chosen):
            found[name] = said
            if different:
                failed.append(f"{name}: {', '.join(different)}")
                print("differs:", failed[-1], flush=True)
    found = dict(sorted(found.items()))
    if given.write:
        given.write.write_text(json.dumps(found, indent=0) + "\n")
    if given.compare:
        before = json.loads(given.compare.read_text())
        changed = [name for name, said in found.items() if before.get(name) != said]
        print(f"{len(found)} problems are compared with {given.compare}, of which {len(changed)} differ or are not there")
        print(*changed[:20], sep="\n")
        failed += changed
    total = hashlib.sha256("".join(f"{name} {said}\n" for name, said in found.items()).encode()).hexdigest()[:32]
    print(f"{len(found)} problems, of which {len(failed)} differ: {total}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
