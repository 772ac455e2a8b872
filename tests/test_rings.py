"""The short ring of the tests: which cases of a test it has."""

from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import rings
from helpers.rings import Thinning


@pytest.fixture(autouse=True)
def short_ring(monkeypatch):
    monkeypatch.setattr(rings, "ALL", False)


def cases_of(*lists, slow=None):
    """Cases of a test with a list of values for each of its parameters, as pytest would make them."""
    marks = [pytest.mark.parametrize(f"p{i}", values).mark for i, values in enumerate(lists)]

    return [
        Case(
            path=Path("test_some.py"), cls=None, originalname="test_some", name="", own=values,
            callspec=SimpleNamespace(params={f"p{i}": value for i, value in enumerate(values)}),
            iter_markers=lambda name: marks, get_closest_marker=lambda name: slow,
        )
        for values in product(*lists)
    ]  # fmt: skip


class Case(SimpleNamespace):
    __hash__ = object.__hash__


def kept(cases):
    few = Thinning(cases).kept
    return [case.own for case in cases if case in few]


def test_each_value_occurs():
    assert kept(cases_of([1, 2, 3])) == [(1,), (2,), (3,)]
    assert kept(cases_of([1, 2], "ab")) == [(1, "a"), (2, "b")]
    assert kept(cases_of([1, 2, 3], "ab")) == [(1, "a"), (2, "b"), (3, "a")]
    for lists in ([range(5), "abc", [None, True]], [[0], "xy", range(4)]):
        left = kept(cases_of(*lists))
        assert [set(values) for values in zip(*left, strict=True)] == [set(values) for values in lists]
        assert len(left) <= sum(map(len, lists))


def test_few_seeds():
    assert kept(cases_of(range(200))) == [(seed,) for seed in range(20)]
    assert kept(cases_of(range(30), "ab")) == [(seed, "ab"[seed % 2 if seed < 2 else 0]) for seed in range(8)]
    assert len(kept(cases_of(list(range(30))))) == 30


def test_what_a_test_goes_through(monkeypatch):
    assert rings.some(range(6), 2, first=5) == [5, 0]
    assert rings.combined("abc", [1, 2]) == [("a", 1), ("b", 2), ("c", 1)]
    assert rings.combined("abc", [1, 2], turn=1) == [("a", 2), ("b", 1), ("c", 2)]
    monkeypatch.setattr(rings, "ALL", True)
    assert list(rings.some(range(6), 2, first=5)) == [0, 1, 2, 3, 4, 5]
    assert rings.combined("ab", [1, 2]) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_of_slow_tests_the_first_cases_if_any():
    slow = pytest.mark.slow
    assert kept(cases_of([1, 2, 3], slow=slow.mark)) == []
    assert kept(cases_of([1, 2, 3], slow=slow(after=2).mark)) == [(1,), (2,)]
