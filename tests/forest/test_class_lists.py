"""Leaves that keep lists of classes against tables of the weights of all classes, and against forests that keep such tables."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import dforest
from dforest.core import objective as objectives
from dforest.core.class_lists import ClassLists
from dforest.core.forest.arrays import Forest
from dforest.core.forest.row_table import RowTable
from dforest.core.objective import ClassObjective, MultiOutputClassObjective
from dforest.core.predict.packed import PackedForest
from dforest.core.predict.packed_check import check_equal
from dforest.core.sparse_rows import SparseRows
from dforest.spmd.threads import ThreadGroup


def random_table(rng, n, n_classes):
    """Weights of leaves, of which each has a class or more."""
    table = rng.integers(1, 9, (n, n_classes)) * (rng.random((n, n_classes)) < 0.1)
    table[np.arange(n), rng.integers(0, n_classes, n)] += 1
    return table


@pytest.mark.parametrize("seed", range(5))
def test_lists_say_what_the_table_says(seed):
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(0, 30)), int(rng.integers(1, 50))
    table = random_table(rng, n, n_classes)
    lists = ClassLists.of(table)
    assert lists.shape == table.shape and len(lists) == n
    np.testing.assert_array_equal(lists.dense(), table)
    first, last = sorted(rng.integers(0, n + 1, 2).tolist())
    np.testing.assert_array_equal(lists.dense(slice(first, last)), table[first:last])
    np.testing.assert_array_equal(lists.totals(), table.sum(axis=1))
    np.testing.assert_array_equal(lists.largest(), table.argmax(axis=1))
    np.testing.assert_array_equal(lists.divided(table.sum(axis=1)).dense(), table / table.sum(axis=1)[:, None])
    rows = rng.integers(0, n, 20) if n else np.empty(0, np.int64)
    np.testing.assert_array_equal(lists.take(rows).dense(), table[rows])
    first, last = sorted(rng.integers(0, n_classes + 1, 2).tolist())
    np.testing.assert_array_equal(lists.columns(slice(first, last)).dense(), table[:, first:last])


@pytest.mark.parametrize("objective", [ClassObjective(90), MultiOutputClassObjective((90, 70))], ids=str)
def test_votes_are_those_of_the_table(objective):
    rng = np.random.default_rng(0)
    table = np.hstack([random_table(rng, 40, own.stop - own.start) for own in objective.outputs])
    table[:, 0] += 99 - table[:, :90].sum(axis=1)  # of both outputs the same total
    if objective.n_outputs > 1:
        table[:, 90] += 99 - table[:, 90:].sum(axis=1)
    lists = ClassLists.of(table)
    np.testing.assert_array_equal(objective.total_weight(lists), objective.total_weight(table))
    for voting in ("soft", "hard"):
        votes = objective.leaf_votes(table, None, voting)
        np.testing.assert_array_equal(objective.leaf_votes(lists, None, voting).dense(), votes)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_rows_are_distinct_by_their_lists(n_threads):
    rng = np.random.default_rng(n_threads)
    table, batches, numbers = RowTable(2, n_threads, True), [], []
    for batch in range(6):
        lengths = rng.integers(1, 4, 300) * rng.choice([1, 1, 50], 300)
        entries = np.stack([rng.integers(0, 2, lengths.sum()), np.ones(lengths.sum(), int)], axis=1)
        words = np.stack([rng.integers(0, 2, 300), lengths], axis=1)
        numbers.append(table.add(words, batch, entries))
        lists = np.split(entries, np.cumsum(lengths)[:-1])
        batches += [(word, own.tolist()) for word, own in zip(words[:, 0].tolist(), lists, strict=True)]
    distinct = list(dict.fromkeys(map(repr, batches)))
    assert table.finalize(np.arange(7) * 300) == len(distinct)
    link = np.concatenate(numbers)
    table.renumber(np.full(len(link), -1, np.int32), link)
    words, starts, classes, weights = table.release_lists()
    lists = [own.tolist() for own in np.split(np.stack([classes, weights], axis=1), starts[1:-1])]
    found = [repr(leaf) for leaf in zip(words[:, 0].tolist(), lists, strict=True)]
    assert found == distinct and [found[i] for i in link] == list(map(repr, batches))


def test_rows_without_all_their_entries_are_refused():
    table = RowTable(2, 1, True)
    with pytest.raises(ValueError, match="2 entries, for lists of 3 together"):
        table.add(np.array([[1, 1], [1, 2]]), 0, np.ones((2, 2), np.int64))
    with pytest.raises(ValueError, match="allowed are rows of two words"):
        table.add(np.ones((2, 3), np.int64), 0, np.ones((2, 2), np.int64))


def problem(seed, n_outputs=1):
    rng = np.random.default_rng(seed)
    n, n_classes = 400, 70
    X = np.round(rng.standard_normal((n, 4)), 1)
    y = rng.integers(0, n_classes, (n, n_outputs))
    X[:, 0] += y[:, 0] / 10
    weight = [None, rng.integers(0, 3, n), rng.random(n), 10.0 ** rng.integers(-12, 12, n)][seed % 4]
    return X, y[:, 0] if n_outputs == 1 else y, weight


def by_output(shares):
    return shares if isinstance(shares, list) else [shares]


def answers(model, X):
    forest = model.forest_
    found = [forest.leaf_weight, forest.leaf_draws, forest.leaf_shift, forest.link, forest.leaf_class(), *forest.node_table(1)]
    found += [forest.leaf_votes(), forest.leaf_votes("hard"), model.feature_importances_]
    found += [model.predict(X), *by_output(model.predict_proba(X))]
    found += [forest.packed_leaves().mean(X, 1), model.estimators_[1].tree_.value, forest.tree(1).packed().mean(X, 1)]
    found += forest.cut_back(forest.depths() == 2).node_table(0)
    for output in range(forest.objective.n_outputs):
        found += [forest.of_output(output).leaf_weight, forest.of_output(output).packed("hard").mean(X, 1)]
    if hasattr(model, "oob_decision_function_"):
        found += [*by_output(model.oob_decision_function_), model.variable_importance_]
    return found


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_forests_are_those_of_tables(monkeypatch, seed, n_outputs):
    """Grown by threads, more of them later, by ranks, and from a pickle of a forest that kept tables."""
    X, y, weight = problem(seed, n_outputs)
    rules = {"max_leaf_nodes": [None, 40][seed % 2], "voting": ["soft", "hard"][seed // 2], "random_state": 0}
    if n_outputs == 1:
        rules |= {"oob_score": True, "variable_importance": "mda_raw", "ccp_alpha": [0.0, 1e-3][seed % 2]}

    def grown(n_jobs):
        return dforest.RandomForestClassifier(3, n_jobs=n_jobs, **rules).fit(X, y, weight)

    def by_ranks(communicator):
        rows = slice(0, 170) if communicator.rank == 0 else slice(170, None)
        own = dforest.RandomForestClassifier(3, **{**rules, "oob_score": False, "variable_importance": None})
        with dforest.config_context(communicator=communicator):
            return own.fit(X[rows], y[rows], None if weight is None else weight[rows])

    monkeypatch.setattr(objectives, "LISTED_ABOVE", 10**6)
    whole = grown(1)
    expected, pickled = answers(whole, X), pickle.dumps(whole)
    assert "class_starts" not in whole.forest_.as_dict()
    monkeypatch.undo()
    models = [grown(1), grown(3), pickle.loads(pickled)]
    models.append(pickle.loads(pickle.dumps(models[0])))
    if n_outputs == 1:
        models += ThreadGroup(2).run(by_ranks)
    for model in models:
        assert "leaf_weight" not in model.forest_.as_dict()
        found = answers(model, X)  # ranks have no out-of-bag estimates here, which come last
        for mine, wanted in zip(found, expected[: len(found)], strict=True):
            np.testing.assert_array_equal(mine, wanted)


def test_more_trees_later():
    X, y, _ = problem(0)
    whole = dforest.ExtraTreesClassifier(4, random_state=0).fit(X, y).forest_
    model = dforest.ExtraTreesClassifier(2, random_state=0, warm_start=True).fit(X, y)
    for name, array in model.set_params(n_estimators=4).fit(X, y).forest_.as_dict().items():
        assert array.tobytes() == getattr(whole, name).tobytes(), name


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("listed_above", [64, 10**6])
def test_files(monkeypatch, tmp_path, mmap, n_outputs, listed_above):
    """Of lists, and those of before, which have tables."""
    X, y, _ = problem(0, n_outputs)
    monkeypatch.setattr(objectives, "LISTED_ABOVE", listed_above)
    model = dforest.RandomForestClassifier(3, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    expected = [*by_output(model.predict_proba(X)), model.predict(X), model.forest_.leaf_weight]
    monkeypatch.undo()
    loaded = dforest.load(tmp_path / "model", mmap=mmap)
    found = [*by_output(loaded.predict_proba(X)), loaded.predict(X), loaded.forest_.leaf_weight]
    for mine, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, wanted)
    assert isinstance(loaded.forest_.packed().arrays().values, ClassLists)


WRONG_VALUES = {
    "starts": lambda starts: starts[::-1].copy(),
    "classes": lambda classes: classes + np.int32(70),
    "values": lambda values: values[1:],
}


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_packed_trees_with_wrong_lists_are_refused(name):
    X, y, _ = problem(0)
    forest = dforest.RandomForestClassifier(2, random_state=0).fit(X, y).forest_
    packed = forest.packed().arrays()
    PackedForest(forest, packed.values, None, stored=packed)
    changed = replace(packed.values, **{name: WRONG_VALUES[name](getattr(packed.values, name))})
    with pytest.raises(ValueError, match="lists of classes of packed trees"):
        PackedForest(forest, changed, None, stored=packed._replace(values=changed))
    with pytest.raises(ValueError, match="values of packed trees are not those"):
        check_equal(packed, packed._replace(values=changed))


@pytest.mark.parametrize("max_depth", [2, None])
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_lists_are_added_up_as_tables_are(voting, max_depth):
    """In blocks of rows, row by row, and on zero paths."""
    X, y, _ = problem(0)
    sparse_X = sparse.random_array((400, 600), density=0.01, rng=np.random.default_rng(0), format="csr")
    for rows in (X, sparse_X):
        model = dforest.ExtraTreesClassifier(5, max_depth=max_depth, voting=voting, random_state=0).fit(rows, y)
        forest = model.forest_
        values, numbers = forest.packed_values(voting)
        table = PackedForest(forest, np.ascontiguousarray(values.dense()), numbers)
        given = SparseRows.of(rows) if rows is sparse_X else rows
        for some in (given, given[:1], given[:5]):
            assert forest.packed(voting).mean(some, 1).tobytes() == table.mean(some, 1).tobytes()
            assert forest.packed(voting).most(some, 2).tobytes() == table.most(some, 1).tobytes()


def test_memory_grows_with_entries_not_with_leaves_times_classes():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3000, 4)), rng.permutation(3000) % 1000
    model = dforest.RandomForestClassifier(3, random_state=0).fit(X, y)
    arrays = model.forest_.as_dict()
    n_leaves, n_entries = len(arrays["leaf_draws"]), len(arrays["class_numbers"])
    assert n_entries < 4 * n_leaves
    of_leaves = [array.nbytes for name, array in arrays.items() if name.startswith(("leaf_", "class_"))]
    assert sum(of_leaves) < 16 * n_leaves + 12 * n_entries + 16 < n_leaves * 1000
    assert len(pickle.dumps(model.forest_)) < 100 * n_leaves
    values = model.forest_.packed().arrays().values
    assert values.starts.nbytes + values.classes.nbytes + values.values.nbytes < 16 * n_leaves + 12 * n_entries
    table = model.forest_.node_table(0, keeps_weights=False)
    assert table.weight.shape == (1, 1000)
    for name in ("draws", "impurity", "decrease"):
        np.testing.assert_array_equal(getattr(table, name), getattr(model.forest_.node_table(0), name))


WRONG = {
    "class_starts": (lambda starts: starts[::-1].copy(), "class_starts must rise from 0"),
    "class_numbers": (lambda classes: classes + np.int32(70), "class_numbers holds numbers from"),
    "class_weights": (lambda weights: weights - 9, "class_weights holds numbers from"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_lists_are_refused(name):
    X, y, _ = problem(0)
    forest = dforest.RandomForestClassifier(2, max_depth=3, random_state=0).fit(X, y).forest_
    change, message = WRONG[name]
    arrays = forest.as_dict()
    with pytest.raises(ValueError, match=message):
        Forest(arrays | {name: change(arrays[name])}, **forest.settings())
    falling = arrays["class_numbers"].copy()
    falling[:2] = falling[1::-1]
    with pytest.raises(ValueError, match="class_numbers must rise in the list of each leaf"):
        Forest(arrays | {"class_numbers": falling}, **forest.settings())
    with pytest.raises(ValueError, match="leaf_weight sum up to 2.*63 or more"):
        Forest(arrays | {"class_weights": np.full(len(falling), 2**62)}, **forest.settings())
    with pytest.raises(ValueError, match="each row of leaf_weight has length 3"):
        Forest(arrays | {"leaf_weight": forest.leaf_weight[:, :3].copy()}, **forest.settings())
    again = Forest(forest.as_dict() | {"leaf_weight": forest.leaf_weight}, **forest.settings())
    assert again.class_weights.tobytes() == forest.class_weights.tobytes()
