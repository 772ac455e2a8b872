"""A fit that goes on from its checkpoint leaves what an uninterrupted fit leaves."""

import json
import os
import pickle
import random
import re
import subprocess
import sys
import time
import zlib

import numpy as np
import pytest
from helpers.callbacks import CLASSES, NUMBERS, WEIGHT, FailAfter, StopAfter, X, assert_equal_fits, one_line, target_of
from helpers.rings import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from sklearn.base import clone
from sklearn.metrics import accuracy_score

import dforest
from dforest import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.callback import Checkpoint, MemoryLimit, OutOfBagPlateau
from dforest.callback.base import Callback, is_step
from dforest.callback.checkpoint import FRAME, MAGIC
from dforest.core.sparse_rows import SparseRows
from dforest.estimators.data.agreement import digest_of_rows
from dforest.estimators.data.sparse import in_order
from dforest.estimators.forest import memory
from dforest.spmd.communicator import ALONE
from dforest.spmd.threads import ThreadGroup

MODELS = [
    RandomForestClassifier(oob_score=True, variable_importance="mdi"),
    RandomForestRegressor(oob_score=True, ccp_alpha=20.0),
    IsolationForest(contamination=0.1, max_features=0.5),
]
ALL = pytest.mark.parametrize("model", MODELS, ids=one_line)


pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")


@ALL
@pytest.mark.parametrize("every", [1, 7, 100])
@pytest.mark.parametrize("n_jobs", [1, 4])
def test_fits_go_on(model, every, n_jobs, tmp_path):
    path, y = tmp_path / "trees", target_of(model)
    model = clone(model).set_params(n_estimators=40, random_state=0, n_jobs=n_jobs)
    whole = clone(model).fit(X, y, WEIGHT)
    with pytest.raises(RuntimeError, match="enough"):
        clone(model).set_callbacks(Checkpoint(path, every), FailAfter(9)).fit(X, y, WEIGHT)
    size = path.stat().st_size
    stopped = clone(model).set_callbacks(Checkpoint(path, every), StopAfter(10)).fit(X, y, WEIGHT)
    assert stopped.n_estimators_ >= 19 if every == 1 else stopped.n_estimators_ > 10  # trees were there before
    assert path.stat().st_size > size
    resumed = clone(model).set_callbacks(Checkpoint(path, every)).fit(X, y, WEIGHT)
    assert_equal_fits(resumed, whole)
    again = clone(model).set_callbacks(Checkpoint(path, every)).fit(X, y, WEIGHT)  # grows nothing
    assert_equal_fits(again, whole)
    fewer = clone(model).set_params(n_estimators=15).set_callbacks(Checkpoint(path, every)).fit(X, y, WEIGHT)
    assert_equal_fits(fewer, clone(model).set_params(n_estimators=15).fit(X, y, WEIGHT))
    more = clone(model).set_params(n_estimators=55).set_callbacks(Checkpoint(path, every)).fit(X, y, WEIGHT)
    assert_equal_fits(more, clone(model).set_params(n_estimators=55).fit(X, y, WEIGHT))


def test_a_seed_of_its_own(tmp_path):
    """Without random_state, the seed is in the file."""
    path = tmp_path / "trees"
    for random_state in (None, np.random.RandomState(0)):
        first = RandomForestRegressor(20, random_state=random_state).set_callbacks(Checkpoint(path), StopAfter(5)).fit(X, NUMBERS)
        second = RandomForestRegressor(20, random_state=random_state).set_callbacks(Checkpoint(path)).fit(X, NUMBERS)
        assert second.forest_.seed == first.forest_.seed and second.n_estimators_ == 20
        np.testing.assert_array_equal(second.forest_.seeds[:5], first.forest_.seeds)
        path.unlink()


def test_votes_go_on(tmp_path):
    plateau = OutOfBagPlateau(rounds=20)
    model = RandomForestRegressor(500, oob_score=True, random_state=0)
    whole = clone(model).set_callbacks(plateau).fit(X, NUMBERS)
    assert 30 < whole.n_estimators_ < 500
    clone(model).set_callbacks(Checkpoint(tmp_path / "trees"), StopAfter(30), plateau).fit(X, NUMBERS)
    resumed = clone(model).set_callbacks(Checkpoint(tmp_path / "trees"), plateau).fit(X, NUMBERS)
    assert_equal_fits(resumed, whole)


def test_scores_go_on(tmp_path):
    """A plateau of a score knows those of the trees in the file."""
    plateau = OutOfBagPlateau(accuracy_score, rounds=15)
    model = RandomForestClassifier(300, random_state=0)
    whole = clone(model).set_callbacks(plateau).fit(X, CLASSES)
    assert 12 < whole.n_estimators_ < 300
    clone(model).set_callbacks(Checkpoint(tmp_path / "trees"), StopAfter(12), plateau).fit(X, CLASSES)
    for callbacks in ([Checkpoint(tmp_path / "trees"), plateau], [plateau, Checkpoint(tmp_path / "trees")]):
        assert_equal_fits(clone(model).set_callbacks(*callbacks).fit(X, CLASSES), whole)


def test_memory_of_trees_in_the_file_counts(tmp_path, monkeypatch):
    model = RandomForestRegressor(300, random_state=0)
    limit = MemoryLimit(model.estimate_memory(X, NUMBERS).total)
    monkeypatch.setattr(memory, "count_leaves", lambda *_: (20, 6000))
    whole = clone(model).set_callbacks(limit).fit(X, NUMBERS)
    assert 20 < whole.n_estimators_ < 300
    clone(model).set_callbacks(Checkpoint(tmp_path / "trees"), StopAfter(20)).fit(X, NUMBERS)
    for callbacks in ([Checkpoint(tmp_path / "trees"), limit], [limit, Checkpoint(tmp_path / "trees")]):
        assert_equal_fits(clone(model).set_callbacks(*callbacks).fit(X, NUMBERS), whole)


PROGRAM = """
import sys
import numpy as np
from dforest import HistGradientBoostingRegressor, RandomForestRegressor
from dforest.callback import Checkpoint
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 6))
y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(size=3000)
model = {model}.set_callbacks(Checkpoint(sys.argv[1], 2))
print("growing", flush=True)
model.fit(X, y)
import pickle
pickle.dump(model.set_callbacks(), open(sys.argv[2], "wb"))
"""
LONG = [
    "RandomForestRegressor(400, random_state=0, n_jobs=2, oob_score=True)",
    "HistGradientBoostingRegressor(max_iter=400, random_state=0, n_jobs=2, n_iter_no_change=400, refit=False)",
    "HistGradientBoostingRegressor(max_iter=400, random_state=0, n_jobs=2)",  # looks for the number of iterations first
]


@pytest.mark.slow
@pytest.mark.parametrize("model", LONG)
def test_killed_processes(model, tmp_path):
    """Killed again and again at any moment, a fit comes to its end: with the bytes of one that nobody killed."""
    program = PROGRAM.format(model=model)
    whole, killed, path = (str(tmp_path / name) for name in ("whole", "killed", "trees"))
    subprocess.run([sys.executable, "-P", "-c", program, str(tmp_path / "other"), whole], check=True, stdout=subprocess.DEVNULL)

    def size():
        return os.path.getsize(path) if os.path.exists(path) else 0

    chance, sizes = random.Random(0), [0]
    while not os.path.exists(killed):
        with subprocess.Popen([sys.executable, "-P", "-c", program, path, killed], stdout=subprocess.PIPE, text=True) as fit:
            assert fit.stdout.readline() == "growing\n"
            while len(sizes) < 7 and size() == sizes[-1] and fit.poll() is None:
                time.sleep(0.001)
            if len(sizes) < 7 and fit.poll() is None:
                time.sleep(chance.uniform(0.0, 0.03))
                fit.kill()
        sizes.append(size())
    assert len(sizes) > 2
    with open(whole, "rb") as one, open(killed, "rb") as other:
        assert_equal_fits(pickle.load(one), pickle.load(other))


def test_any_beginning_of_the_file_will_do(tmp_path):
    """Wherever the last write was cut short."""
    path = tmp_path / "trees"
    model = RandomForestClassifier(12, random_state=0, max_depth=3)
    whole = clone(model).fit(X, CLASSES)
    clone(model).set_callbacks(Checkpoint(path, 3)).fit(X, CLASSES)
    content = path.read_bytes()
    ends = random.Random(1).sample(range(len(content)), 60)
    for end in [*range(40), *ends, len(content) - 1]:
        path.write_bytes(content[:end])
        resumed = clone(model).set_callbacks(Checkpoint(path, 3)).fit(X, CLASSES)
        assert_equal_fits(resumed, whole)
        assert path.read_bytes()[: len(content)] == content or end < 21


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=examples(30), deadline=None)
def test_digests_of_rows(seed):
    """They depend on what each row has, and on its number, but not on who has it, nor on which zeros are stored."""
    rng = np.random.default_rng(seed)
    n, kind = int(rng.integers(1, 60)), rng.choice([np.float32, np.float64, np.int32, np.uint8])
    X = (4 * rng.standard_normal((n, int(rng.integers(1, 4))))).astype(kind)
    whole = digest_of_rows(ALONE, [X])
    owner = rng.integers(0, 3, n)

    def some(rows):
        if X.dtype.kind != "f" or rng.random() < 0.5:
            return X[rows]
        entries = coo_array(X[rows])
        i, j = rng.integers(0, np.maximum(entries.shape, 1), (9 * (len(rows) > 0), 2)).T
        more = np.append(entries.data, np.full(len(i), -0.0, kind))
        return SparseRows.of(in_order(coo_array((more, (np.append(entries.row, i), np.append(entries.col, j))), entries.shape)))

    parts = [[some(rows) for rows in np.split(np.flatnonzero(owner == rank)[::-1], [5])] for rank in range(3)]

    def own(ranks):
        return digest_of_rows(ranks, parts[ranks.rank], np.flatnonzero(owner == ranks.rank)[::-1])

    assert ThreadGroup(3).run(own) == [whole] * 3
    other = X.copy()
    row, column = rng.integers(0, n), rng.integers(0, X.shape[1])
    other[row, column] += 1
    assert digest_of_rows(ALONE, [other]) != whole
    for turned in (X[::-1], X[:, ::-1]):
        assert (digest_of_rows(ALONE, [turned]) == whole) == np.array_equal(X, turned)
    assert digest_of_rows(ALONE, [np.append(X, X[:1], axis=0)]) != whole
    assert digest_of_rows(ALONE, [np.append(X, np.zeros((1, X.shape[1]), kind), axis=0)]) != whole
    assert digest_of_rows(ALONE, [X, X]) != whole
    assert digest_of_rows(ALONE, []) != whole


def test_damaged_files(tmp_path):
    path = tmp_path / "trees"
    model = RandomForestClassifier(12, random_state=0, max_depth=3)
    whole = clone(model).fit(X, CLASSES)
    clone(model).set_callbacks(Checkpoint(path, 3)).fit(X, CLASSES)
    content, chance = path.read_bytes(), random.Random(2)
    for at in [0, 5, 20, 21, 30, 40, *(chance.randrange(len(content)) for _ in range(60))]:
        damaged = bytearray(content)
        damaged[at] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        try:
            resumed = clone(model).set_callbacks(Checkpoint(path, 3)).fit(X, CLASSES)
        except ValueError as error:
            assert "damaged" in str(error) or "is not a checkpoint" in str(error)
            assert path.read_bytes() == damaged  # nothing is lost
        else:  # a length that says that the rest is missing
            assert_equal_fits(resumed, whole)


JSON = [None, True, 0, -1, 2**64, 10**30, 1.5, float("nan"), "", "x", [], [None], [-1], [2**64], [0, 0, 0], {}, {"a": 1}]


@pytest.mark.parametrize("model", [RandomForestClassifier(3, max_depth=2), HistGradientBoostingClassifier(max_iter=3)])
@pytest.mark.parametrize("random_state", [0, None])
def test_damaged_headers(model, random_state, tmp_path):
    """A header of other fields, or of a field of another type, whose checksum is right."""
    path = tmp_path / "trees"
    clone(model).set_params(random_state=0).set_callbacks(Checkpoint(path, 3)).fit(X, CLASSES)
    content, begin = path.read_bytes(), len(MAGIC) + FRAME.size
    end = begin + FRAME.unpack_from(content, len(MAGIC))[0]
    header = json.loads(content[begin:end])
    changed = [{other: header[other] for other in header if other != name} for name in header]
    changed += [header | {name: value} for name in header for value in JSON] + JSON
    raw = [json.dumps(other).encode() for other in changed]
    raw += [content[begin:cut] for cut in range(begin, end, 50)] + [b"[" * 100_000, b"\xff", b'{"a":']
    for other in raw:
        path.write_bytes(MAGIC + FRAME.pack(len(other), zlib.crc32(other)) + other + content[end:])
        before = path.read_bytes()
        with pytest.raises(ValueError, match="the checkpoint .* (is damaged|was written)"):
            clone(model).set_params(random_state=random_state).set_callbacks(Checkpoint(path, 3)).fit(X, CLASSES)
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(X=X * 2), "for another X than"),
        (dict(X=X.astype(np.float32)), "for another X than"),
        (dict(y=NUMBERS + 1), "for another y than"),
        (dict(sample_weight=None), "for another sample_weight than"),
        (dict(max_depth=4), "max_depth=3, and this fit has max_depth=4"),
        (dict(max_features="sqrt"), "max_features=1.0, and this fit has max_features='sqrt'"),
        (dict(criterion="absolute_error"), "criterion='squared_error', and this fit has criterion='absolute_error'"),
        (dict(random_state=1), "random_state=1 means another seed"),
        (dict(kind=ExtraTreesRegressor), "estimator='RandomForestRegressor', and this fit has estimator='ExtraTreesRegressor'"),
        (dict(version="7.0"), re.escape(f"{dforest.__version__}', and this fit has dforest.__version__='7.0'")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_checkpoints_of_other_fits(change, message, tmp_path, monkeypatch):
    path, change = tmp_path / "trees", dict(change)
    parameters, data = dict(random_state=0, max_depth=3, max_features=1.0), dict(X=X, y=NUMBERS, sample_weight=WEIGHT)
    RandomForestRegressor(5, **parameters).set_callbacks(Checkpoint(path)).fit(**data)
    content = path.read_bytes()
    kind, version = change.pop("kind", RandomForestRegressor), change.pop("version", None)
    if version:
        monkeypatch.setattr("dforest.callback.checkpoint.version", lambda package: version)
    data |= {name: change.pop(name) for name in list(change) if name in data}
    model = kind(10, **(parameters | change)).set_callbacks(Checkpoint(path))
    with pytest.raises(ValueError, match=message):
        model.fit(**data)
    assert path.read_bytes() == content
    assert not hasattr(model, "forest_")


def test_what_changes_no_tree_may_differ(tmp_path):
    path = tmp_path / "trees"
    RandomForestClassifier(5, random_state=0).set_callbacks(Checkpoint(path)).fit(X, CLASSES)
    model = RandomForestClassifier(
        9, random_state=0, n_jobs=3, verbose=1, voting="hard", oob_score=True, variable_importance="mdi", ccp_alpha=0.01
    )
    assert_equal_fits(clone(model).set_callbacks(Checkpoint(path)).fit(X, CLASSES), clone(model).fit(X, CLASSES))


class NothingGrown(Callback):
    """It fails if a tree is begun."""

    def on_fit_task_begin(self, estimator, context):
        assert not is_step(context)


def test_bad_paths(tmp_path):
    """They are found before anything is grown."""

    def message_of(path, **parameters):
        model = RandomForestRegressor(3, **parameters).set_callbacks(NothingGrown(), Checkpoint(path))
        with pytest.raises(ValueError) as caught:
            model.fit(X, NUMBERS)
        assert not hasattr(model, "forest_")
        return str(caught.value)

    assert "cannot be written: No such file" in message_of(tmp_path / "missing" / "trees")
    assert "is a folder; allowed are regular files" in message_of(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "is a device, a pipe or a socket; allowed are regular files" in message_of(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "text").write_text("something else\n")
    assert "is not a checkpoint" in message_of(tmp_path / "text")
    assert (tmp_path / "text").read_text() == "something else\n"
    if os.geteuid():
        (tmp_path / "text").chmod(0o400)
        assert "cannot be written: Permission denied" in message_of(tmp_path / "text")


def test_one_fit_at_a_time(tmp_path):
    class Another(Callback):
        def on_fit_task_end(self, estimator, context):
            if is_step(context):
                with pytest.raises(ValueError, match="is being written by another fit"):
                    RandomForestRegressor(3).set_callbacks(Checkpoint(tmp_path / "trees")).fit(X, NUMBERS)

    RandomForestRegressor(3, random_state=0).set_callbacks(Checkpoint(tmp_path / "trees"), Another()).fit(X, NUMBERS)


def test_refusals(tmp_path):
    path = tmp_path / "trees"
    model = RandomForestRegressor(3, warm_start=True).set_callbacks(Checkpoint(path)).fit(X, NUMBERS)
    with pytest.raises(ValueError, match="warm_start=True goes on with 3 trees"):
        model.set_params(n_estimators=5).fit(X, NUMBERS)
    assert model.n_estimators_ == 3
    other = tmp_path / "other"
    with pytest.raises(ValueError, match="categorical"):  # found later: the empty file goes
        RandomForestRegressor(3, categorical_features=[99]).set_callbacks(Checkpoint(other)).fit(X, NUMBERS)
    assert not other.exists()
    for parameters, allowed in [(dict(path=3), "strings and path-like"), (dict(path="x", every=0), "integers from 1")]:
        with pytest.raises(ValueError, match=f"allowed are {allowed}"):
            Checkpoint(**parameters)
