"""One tree by several threads: parts that are given away and put together, and features of a node that threads share."""

import numpy as np
import pytest

from dforest.core.forest.assembly import TreeArrays
from dforest.core.grow import trainer
from dforest.core.sampling import Bootstrap
from dforest.core.tree.layout import join_parts, number_children
from dforest.engines.cpu import CpuEngine
from dforest.testing.engine_check import Kept, assert_equal_trees, random_problem


def random_tree(rng, n_leaves):
    """A tree as nested dicts: leaves have words and entries; others a test, two floats, children, some a payload."""
    if n_leaves == 1:
        entries = rng.integers(1, 100, (rng.integers(1, 4), 2)).tolist()
        return {"words": rng.integers(0, 100, 3).tolist(), "entries": entries}
    n_left = int(rng.integers(1, n_leaves))
    return {
        "feature": int(rng.integers(0, 9)),
        "threshold": rng.random(),
        "inner": rng.random(2).tolist(),
        "payload": rng.integers(0, 9, rng.integers(1, 4)).tolist() if rng.random() < 0.3 else None,
        "left": random_tree(rng, n_left),
        "right": random_tree(rng, n_leaves - n_left),
    }


def write(root, is_placeholder=lambda node: False):
    """A tree or a part as the writer has it: (TreeArrays, placeholders, the nodes that belong into these)."""
    feature, threshold, right, missing_left, leaves, inner, lengths, words, entries, placeholders, rest = ([] for _ in range(11))

    def visit(node):
        number = len(feature)
        feature.append(-1)
        threshold.append(0.0)
        right.append(0)
        missing_left.append(False)
        if node is not root and is_placeholder(node):
            placeholders.append([0, number, len(leaves), len(inner), len(lengths), len(words), len(entries)])
            rest.append(node)
        elif "words" in node:
            leaves.append(node["words"])
            entries.extend(node["entries"])
        else:
            feature[number], threshold[number], missing_left[number] = node["feature"], node["threshold"], number % 2
            inner.append(node["inner"])
            if node["payload"] is not None:
                lengths.append(len(node["payload"]))
                words.extend(node["payload"])
            visit(node["left"])
            right[number] = len(feature)
            visit(node["right"])

    visit(root)
    arrays = TreeArrays(
        np.array(feature, np.int32), np.array(threshold), np.array(right, np.uint32), np.array(missing_left, np.bool_),
        np.reshape(np.array(leaves, np.int64), (-1, 3)), np.reshape(np.array(inner, float), (-1, 2)),
        np.array(lengths, np.int64), np.array(words, np.uint64), np.reshape(np.array(entries, np.int64), (-1, 2)),
    )  # fmt: skip
    return arrays, placeholders, rest


def cut(root, is_placeholder):
    """A tree in parts, numbered as they are cut off, as `join_parts` takes them."""
    parts, pending = {}, [root]
    for number, node in enumerate(pending):
        arrays, placeholders, rest = write(node, is_placeholder)
        for placeholder, below in zip(placeholders, rest, strict=True):
            placeholder[0] = len(pending)
            pending.append(below)
        parts[number] = arrays, np.reshape(np.array(placeholders, np.int64), (-1, 7))
    return parts


def assert_same_tree(tree, expected):
    is_inner = expected.feature >= 0
    assert np.array_equal(tree.right[is_inner], expected.right[is_inner])  # of leaves it means nothing
    for name in set(TreeArrays._fields) - {"right", "missing_left"}:  # the latter depends on the number in a part here
        mine, other = getattr(tree, name), getattr(expected, name)
        assert mine.dtype == other.dtype and mine.shape == other.shape and mine.tobytes() == other.tobytes(), name


def test_worked_example():
    """The nodes 0 to 4, of which 1, with its children 2 and 3, was given away: five nodes again, and their children."""
    one, two, three = ({"words": [i, i, i], "entries": [[i, 9]] * i} for i in (1, 2, 3))
    inner = {"threshold": 0.5, "inner": [0.0, 1.0], "payload": None}
    below = {"feature": 7, **inner, "left": one, "right": two}
    root = {"feature": 4, **inner, "left": below, "right": three}
    parts = cut(root, lambda node: node is below)
    assert parts[0][0].feature.tolist() == [4, -1, -1]
    assert parts[0][1].tolist() == [[1, 1, 0, 1, 0, 0, 0]]
    assert parts[1][0].feature.tolist() == [7, -1, -1]
    tree = join_parts(parts)
    assert tree.feature.tolist() == [4, 7, -1, -1, -1]
    assert tree.right[[0, 1]].tolist() == [4, 3]
    assert tree.leaves[:, 0].tolist() == [1, 2, 3]
    assert tree.entries[:, 0].tolist() == [1, 2, 2, 3, 3, 3]


@pytest.mark.parametrize("share", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(12))
def test_parts_make_up_the_tree(seed, share):
    """Whichever nodes were given away, out of parts that were given away themselves, too."""
    rng = np.random.default_rng(seed)
    root = random_tree(rng, int(rng.integers(2, 80)))
    parts = cut(root, lambda node: rng.random() < share)
    assert_same_tree(join_parts(parts), write(root)[0])


@pytest.mark.parametrize("n_leaves", [1, 2, 3, 50])
def test_children_are_numbered(n_leaves):
    arrays = write(random_tree(np.random.default_rng(n_leaves), n_leaves))[0]
    right = np.zeros_like(arrays.right)
    number_children(arrays.feature, right)
    assert np.array_equal(right, arrays.right)


# Both extremes of what is shared, with blocks of some sizes, out of which nothing can be given away.
TUNINGS = {
    "default": {},
    "nothing": {"parallel_from": 2**62, "parallel_visits_from": 2**62},
    "subtrees": {"parallel_from": 1, "parallel_visits_from": 2**62},
    "features": {"parallel_from": 2**62, "parallel_visits_from": 0},
    "everything": {"parallel_from": 1, "parallel_visits_from": 0},
    "everything, without blocks": {"parallel_from": 1, "parallel_visits_from": 0, "cache_bytes": 0},
    "everything, small blocks": {"parallel_from": 100, "parallel_visits_from": 0, "cache_bytes": 3000},
}
RULES = {"depth first": {}, "best first": {"max_leaf_nodes": 40}}


@pytest.fixture
def n_joined(monkeypatch):
    """How many parts each tree was put together from, of those that were grown in more than one."""
    counts = []

    def join(parts):
        counts.append(len(parts))
        return join_parts(parts)

    monkeypatch.setattr(trainer, "join_parts", join)
    return counts


def grown(n_threads, tuning, kind, rules, n_trees=2):
    """Trees of a team, and the leaf of each training row: ([GrownTree], ndarray of shape (n_trees, n_rows))."""
    _, problem = random_problem(3, kind, n_rows=9000, sampling=Bootstrap(9000), **rules)
    problem.splitter.tuning.update(tuning)
    kept = Kept()
    with CpuEngine(n_threads).open(problem) as session:
        session.grow(range(n_trees), kept, keep_leaves=True)
        return kept.trees, np.stack([session.leaves(t) for t in range(n_trees)])


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("tuning", TUNINGS.values(), ids=TUNINGS)
@pytest.mark.parametrize("kind", ["weighted classes", "numbers"])
def test_a_team_grows_the_trees_of_one_thread(kind, tuning, rules):
    trees, leaves = grown(1, {}, kind, rules)
    for n_members in (1, 2, 3, 7):
        others, their_leaves = grown(n_members, tuning, kind, rules)
        assert_equal_trees(others, trees)
        np.testing.assert_array_equal(their_leaves, leaves)


@pytest.mark.parametrize("n_members", [2, 3, 7])
def test_subtrees_are_given_away(n_members, n_joined):
    """Until somebody had nothing to do while a tree was grown; each time the tree is that of one thread."""
    tuning = TUNINGS["subtrees"] | {"cache_bytes": 0}  # so that nodes can be given away until the end
    trees, _ = grown(1, {}, "numbers", {}, n_trees=1)
    assert not n_joined
    for _ in range(300):
        assert_equal_trees(grown(n_members, tuning, "numbers", {}, n_trees=1)[0], trees)
        if n_joined:
            break
    assert n_joined
    assert min(n_joined) > 1


@pytest.mark.parametrize("tuning", ["nothing", "features"])
def test_what_is_not_worth_it_is_not_given_away(tuning, n_joined):
    for _ in range(3):
        grown(7, TUNINGS[tuning], "numbers", {})
    assert not n_joined
