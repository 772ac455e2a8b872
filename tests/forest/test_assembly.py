"""Trees put together, by one thread or several, against what plain Python makes of them."""

import threading

import numpy as np
import pytest
from helpers.device_forests import differences

from dforest import RandomForestClassifier, RandomForestRegressor
from dforest.core.forest import assembly as assembly_module
from dforest.core.forest.arrays import names_of
from dforest.core.forest.assembly import Assembly, TreeArrays
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
    assembly = Assembly(dtype, len(trees), 2)
    for number, tree in enumerate(trees):
        assembly.add(number, tree)
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
    arrays["leaf_shift"] = np.zeros(0, np.int32)
    arrays["node_offsets"] = np.cumsum([0, *(len(tree.feature) for tree in trees)])
    arrays["payload_offsets"] = np.cumsum([0, *np.concatenate([tree.payload_lengths for tree in trees])])
    return arrays


def assert_same(arrays, others):
    assert arrays.keys() == others.keys() == set(names_of(NumberObjective()))
    for name, array in arrays.items():
        assert array.dtype == others[name].dtype and array.flags.c_contiguous, name
        np.testing.assert_array_equal(array, others[name], err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_trees", [1, 2, 30])
def test_trees_one_after_another(n_trees, dtype):
    trees = [made_tree(seed) for seed in range(n_trees)]
    assert_same(put_together(trees, dtype), expected(trees, dtype))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (2, 1, 0)])
def test_trees_are_lent(order):
    trees = [made_tree(seed) for seed in range(3)]
    assembly = Assembly(np.float64, 3, 2)
    for number in order:
        tree = trees[number]
        lent = tree.copy()
        assembly.add(number, lent)
        for part in lent:
            part[...] = 7
    assert_same(assembly.release(NumberObjective()), expected(trees, np.float64))


@pytest.mark.parametrize("n_threads", [1, 2, 6])
@pytest.mark.parametrize("room", ["enough", "scarce"])
@pytest.mark.parametrize("seed", range(4))
def test_any_order(seed, room, n_threads, monkeypatch):
    """Distinct leaves are numbered by the trees' order, not by that in which trees come; room may have to be made again."""
    if room == "scarce":
        monkeypatch.setattr(assembly_module, "MAX_AHEAD", 1)
        monkeypatch.setattr(assembly_module, "MIN_BYTES", 1)
    trees = [made_tree(100 * seed + number) for number in range(50)]
    order = np.random.default_rng(seed).permutation(len(trees))
    assembly = Assembly(np.float32, len(trees), 2, n_threads=n_threads)
    for number in order:
        assembly.add(int(number), trees[number])
    assert_same(assembly.release(NumberObjective()), expected(trees, np.float32))


@pytest.mark.parametrize("seed", range(3))
def test_several_threads(seed):
    trees = [made_tree(1000 * seed + number) for number in range(200)]
    assembly = Assembly(np.float64, len(trees), 2, n_threads=5)
    numbers = iter(np.random.default_rng(seed).permutation(len(trees)).tolist())

    def work():
        for number in numbers:
            assembly.add(number, trees[number])

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_same(assembly.release(NumberObjective()), expected(trees, np.float64))


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_wanted", [1, 4, 6])
def test_trees_that_nobody_wants(n_wanted, n_threads):
    """Growing was stopped: leaves of later trees alone are left out, and those of both are numbered as if these had not come."""
    trees = [made_tree(seed) for seed in range(9)]
    assembly = Assembly(np.float64, 20, 2, n_threads=n_threads)
    for number in (8, 1, 5, 0, 4, 3, 2):
        assembly.add(number, trees[number])
    assert_same(assembly.release(NumberObjective(), n_wanted), expected(trees[:n_wanted], np.float64))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_trees_of_an_earlier_forest(n_threads):
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 3)), rng.random(300)
    forest = RandomForestRegressor(6, random_state=0).fit(X, y)
    assert forest.forest_.n_trees == 6
    again = RandomForestRegressor(2, random_state=0, warm_start=True, n_jobs=n_threads).fit(X, y).set_params(n_estimators=6)
    assert not differences(again.fit(X, y), forest)


def test_room_for_very_many_trees_is_not_taken_at_once():
    """It would be more memory than there is."""
    trees = [made_tree(seed) for seed in range(200)]
    assembly = Assembly(np.float64, 10**15, 2)
    for number, tree in enumerate(trees):
        assembly.add(number, tree)
    assert_same(assembly.release(NumberObjective()), expected(trees, np.float64))


@pytest.mark.parametrize("n_expected", [1, 3, 50])
def test_other_trees_than_expected(n_expected):
    """Fewer, where growing was stopped, or more."""
    trees = [made_tree(seed) for seed in range(7)]
    assembly = Assembly(np.float64, n_expected, 2)
    for number, tree in enumerate(trees):
        assembly.add(number, tree)
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


def test_memory_that_there_is_not():
    """As for any array, not the system's own error."""
    with pytest.raises(MemoryError, match="1152921504606846976 bytes for an array of shape"):
        scratch((2, 1 << 59), np.uint8)
