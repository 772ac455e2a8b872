"""Trees in order, whichever is finished first; leaves of training rows; problems that refuse targets."""

import doctest
import threading
from dataclasses import replace

import numpy as np
import pytest

import dforest.engines.base
from dforest.core.tree.split_queue import SplitQueue
from dforest.engines.base import GrownTree, InOrder, leaves_of_rows
from dforest.engines.problem import Targets
from dforest.testing.engine_check import Kept, random_problem, random_targets


class Letter:
    """Stands in for a tree's arrays, which are lent."""

    def __init__(self, text):
        self.text = text

    def copy(self):
        return Letter(self.text)


def letters(kept):
    return "".join(tree.arrays.text for tree in kept.trees)


@pytest.mark.parametrize("order", ["012345", "543210", "240531", "102345"])
def test_any_order(order):
    kept = Kept()
    ordered = InOrder(kept, range(6))
    for digit in order:
        lent = Letter("abcdef"[int(digit)])
        assert ordered.put(GrownTree(int(digit), lent, 0))
        lent.text = "?"  # it was the caller's
    assert letters(kept) == "abcdef"
    assert ordered.n_put == 6


def test_numbers_begin_anywhere():
    kept = Kept()
    ordered = InOrder(kept, range(10, 12))
    ordered.put(GrownTree(11, Letter("b"), 0))
    assert kept.trees == []
    ordered.put(GrownTree(10, Letter("a"), 0))
    assert letters(kept) == "ab"


@pytest.mark.parametrize("order", ["012345", "543210", "240531"])
@pytest.mark.parametrize("most", [1, 3, 5])
def test_a_sink_that_has_enough(order, most):
    """It has the first trees; whoever brings one after that is told."""
    kept = Kept(most)
    ordered = InOrder(kept, range(6))
    answers = [ordered.put(GrownTree(int(digit), Letter("abcdef"[int(digit)]), 0)) for digit in order]
    assert letters(kept) == "abcdef"[:most]
    assert not answers[-1] and not ordered.is_open
    assert ordered.n_put == most


def test_many_threads():
    for _ in range(5):
        kept = Kept()
        ordered = InOrder(kept, range(6))
        numbers = iter(range(400))

        def work(numbers=numbers, ordered=ordered):
            for number in numbers:
                ordered.put(GrownTree(number, Letter("x"), number))

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [tree.number for tree in kept.trees] == [tree.weight_unit for tree in kept.trees] == list(range(400))


def test_a_sink_that_prepares():
    """It does so as trees come, and is given what it made of them in order, without copies."""
    prepared = []

    class Preparing(Kept):
        def prepare(self, tree):
            prepared.append(tree.number)
            return tree._replace(arrays=Letter(tree.arrays.text.upper()))

    kept = Preparing()
    ordered = InOrder(kept, range(6))
    for number in (2, 0, 3, 1):
        ordered.put(GrownTree(number, Letter("abcd"[number]), 0))
    assert prepared == [2, 0, 3, 1]
    assert letters(kept) == "ABCD"


@pytest.mark.parametrize("order", ["012345", "543210", "240531"])
@pytest.mark.parametrize("first", [0, 1, 3])
def test_a_step_is_handed_trees_that_belong_together(order, first):
    """Those from 0 to 3, then the others, as far as they are grown, in order."""
    handed = []

    class Step:
        n_together = 4

        def apply(self, trees):
            handed.append("".join(tree.arrays.text for tree in trees))
            return [tree._replace(arrays=Letter(tree.arrays.text.upper())) for tree in trees]

    kept = Kept()
    ordered = InOrder(kept, range(first, 6), Step())
    for digit in order:
        if int(digit) >= first:
            lent = Letter("abcdef"[int(digit)])
            assert ordered.put(GrownTree(int(digit), lent, 0))
            lent.text = "?"
    assert sorted(handed) == ["abcd"[first:], "ef"]
    assert letters(kept) == "ABCDEF"[first:]


def test_an_error_of_a_sink_is_raised():
    class Broken:
        def put(self, tree):
            raise RuntimeError("full")

    with pytest.raises(RuntimeError, match="full"):
        InOrder(Broken(), range(1)).put(GrownTree(0, Letter("a"), 0))


def test_leaves_of_a_root_alone():
    assert leaves_of_rows(3, np.array([2, 0]), np.array([True, False]), np.array([-1])).tolist() == [0, -1, 0]


def test_examples_in_docstrings():
    assert doctest.testmod(dforest.engines.base).failed == 0


def test_targets_that_do_not_fit():
    problem = random_problem(0, "weighted classes")[1]
    assert problem.with_targets(random_targets(1, 300, "weighted classes")).n_rows == 300
    with pytest.raises(ValueError, match="targets have 200 rows.*have 300"):
        problem.with_targets(random_targets(1, 200, "weighted classes"))
    with pytest.raises(ValueError, match="targets.weight must be None"):
        problem.with_targets(random_targets(1, 300, "classes"))
    with pytest.raises(ValueError, match="targets.numbers must be None"):
        problem.with_targets(random_targets(1, 300, "numbers"))
    with pytest.raises(ValueError, match="targets.weight goes up to 2147483648"):
        heavy = problem.targets.weight.copy()
        heavy[0] = 2**31
        problem.with_targets(replace(problem.targets, weight=heavy))
    assert Targets(problem.targets.classes).max_weight == 1


@pytest.mark.parametrize("seed", range(20))
def test_a_queue_of_nodes_is_that_of_sorting_them(seed):
    """By score, and of equal scores by preorder, which the sides on the way from the root tell."""
    rng, queue = np.random.default_rng(seed), SplitQueue()
    sides, waiting, scores, parent = {queue.note(-1, False): ()}, [], {}, 0
    for _ in range(60):
        for side in range(2):
            node = queue.note(parent, bool(side))
            sides[node], scores[node] = (*sides[parent], side), float(rng.integers(4))
            if rng.random() < 0.8 or not waiting:
                queue.push(node, scores[node], 0)
                waiting.append(node)
        waiting.sort(key=lambda node: (-scores[node], sides[node]))
        n = int(rng.integers(len(waiting) + 2))
        assert queue.first(n) == waiting[:n] and len(queue) == len(waiting)
        parent = waiting.pop(0)
        assert queue.pop() == parent
    for wrong in (lambda: queue.note(-1, False), lambda: queue.push(len(sides), 0.0, 0), lambda: queue.note(len(sides), True)):
        with pytest.raises(ValueError, match=r"parent=|number="):
            wrong()
