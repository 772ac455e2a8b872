"""Trees put together, and tables of distinct rows, against what plain Python makes of them."""

import numpy as np
import pytest

from dforest import RandomForestClassifier, RandomForestRegressor
from dforest.core.forest.arrays import Forest
from dforest.core.forest.assembly import Assembly, RowTable, TreeArrays, unique_rows
from dforest.core.objective import NumberObjective
from dforest.core.scratch import scratch


def made_tree(seed):
    """Arrays like a regression tree's: leaves that other trees have too, subsets, and inner nodes' values."""
    rng = np.random.default_rng(seed)
    n_leaves = int(rng.integers(1, 40))
    feature = np.full(2 * n_leaves - 1, -1, np.int32)
    feature[rng.permutation(len(feature))[: n_leaves - 1]] = rng.integers(0, 5, n_leaves - 1)
    words = rng.integers(0, 9, n_leaves // 3)
    return TreeArrays(
        feature,
        rng.integers(0, 99, len(feature)) / 4,
        rng.integers(0, 99, len(feature)).astype(np.uint32),
        rng.random(len(feature)) < 0.5,
        rng.integers(1, 4, (n_leaves, 4)),
        rng.random((n_leaves - 1, 2)),
        words,
        rng.integers(0, 2**63, words.sum()).astype(np.uint64),
    )


def put_together(trees, dtype=np.float64):
    assembly = Assembly(dtype, len(trees))
    for tree in trees:
        assembly.append(tree)
    return assembly.release(NumberObjective())


def expected(trees, dtype):
    """All arrays, from lists."""
    arrays = {name: np.concatenate([getattr(tree, name) for tree in trees])
              for name in ("feature", "threshold", "right", "missing_left", "inner", "payload_words")}  # fmt: skip
    arrays["threshold"] = arrays["threshold"].astype(dtype)
    leaves = [tuple(leaf) for tree in trees for leaf in tree.leaves.tolist()]
    distinct = list(dict.fromkeys(leaves))
    arrays["link"] = arrays.pop("right")
    arrays["link"][arrays["feature"] < 0] = [distinct.index(leaf) for leaf in leaves]
    words = np.array(distinct)
    arrays["leaf_draws"], arrays["leaf_weight"] = words[:, 0], words[:, 1:2]
    arrays["leaf_value"], arrays["leaf_impurity"] = words[:, 2].copy().view(float), words[:, 3].copy().view(float)
    arrays["node_offsets"] = np.cumsum([0, *(len(tree.feature) for tree in trees)])
    arrays["payload_offsets"] = np.cumsum([0, *np.concatenate([tree.payload_lengths for tree in trees])])
    return arrays


def assert_same(arrays, others):
    assert arrays.keys() == others.keys() == set(Forest._NAMES)
    for name, array in arrays.items():
        assert array.dtype == others[name].dtype and array.flags.c_contiguous, name
        np.testing.assert_array_equal(array, others[name], err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_trees", [1, 2, 30])
def test_trees_one_after_another(n_trees, dtype):
    trees = [made_tree(seed) for seed in range(n_trees)]
    assert_same(put_together(trees, dtype), expected(trees, dtype))


def test_trees_are_lent():
    trees = [made_tree(seed) for seed in range(3)]
    assembly = Assembly(np.float64, 3)
    for tree in trees:
        lent = tree.copy()
        assembly.append(lent)
        for part in lent:
            part[...] = 7
    assert_same(assembly.release(NumberObjective()), expected(trees, np.float64))


def test_room_for_very_many_trees_is_not_taken_at_once():
    """It would be more memory than there is."""
    trees = [made_tree(seed) for seed in range(200)]
    assembly = Assembly(np.float64, 10**15)
    for tree in trees:
        assembly.append(tree)
    assert_same(assembly.release(NumberObjective()), expected(trees, np.float64))


@pytest.mark.parametrize("n_expected", [1, 3, 50])
def test_other_trees_than_expected(n_expected):
    """Fewer, where growing was stopped, or more."""
    trees = [made_tree(seed) for seed in range(7)]
    assembly = Assembly(np.float64, n_expected)
    for tree in trees:
        assembly.append(tree)
    assert_same(assembly.release(NumberObjective()), expected(trees, np.float64))


def test_a_small_tree_first_and_a_large_one_last():
    """Room taken ahead is too much, or not enough."""
    trees = sorted((made_tree(seed) for seed in range(20)), key=lambda tree: len(tree.feature))
    for ordered in (trees, trees[::-1]):
        assert_same(put_together(ordered), expected(ordered, np.float64))


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_arrays_have_no_room_left(kind):
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 3)), rng.integers(0, 3, 200)
    for array in kind(7, random_state=0).fit(X, y).forest_.as_dict().values():
        owner = array
        while owner.base is not None:
            owner = owner.base
        assert owner.nbytes == array.nbytes


@pytest.mark.parametrize("n", [0, 1, 40, 5000])
@pytest.mark.parametrize("n_distinct", [1, 30, 4000])
def test_distinct_rows(n, n_distinct):
    rows = np.random.default_rng(n).integers(0, n_distinct, (n, 2)) * [1, 0]
    first = list(dict.fromkeys(rows[:, 0].tolist()))
    distinct, numbers = unique_rows(rows)
    assert distinct[:, 0].tolist() == first and numbers.dtype == np.uint32
    np.testing.assert_array_equal(distinct[numbers], rows)
    table = RowTable(2)
    for part in np.array_split(rows, 7):
        np.testing.assert_array_equal(distinct[table.add(part)], part)
    assert len(table) == len(first)
    whole, second = table.release((0, 2), (1, 2))
    np.testing.assert_array_equal(whole, distinct)
    np.testing.assert_array_equal(second, distinct[:, 1:])
    assert len(table) == 0
    with pytest.raises(ValueError, match="released"):
        table.add(rows)


def test_rows_of_another_length():
    table = RowTable(2)
    with pytest.raises(ValueError, match="rows of 3 words, in a table of rows of 2"):
        table.add(np.zeros((1, 3), np.int64))


def test_memory_that_there_is_not():
    """As for any array, not the system's own error."""
    with pytest.raises(MemoryError, match="1152921504606846976 bytes for an array of shape"):
        scratch((2, 1 << 59), np.uint8)
