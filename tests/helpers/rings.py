"""Which tests run: those of the short ring, or all of them (`pytest --all`).

The short ring has every test that is not marked as slow, with as few cases as show each value of each of its parameters; few
seeds of a `range` of them; and few examples of hypothesis, which are the same in each run. A test marked ``slow(after=n)`` is
there with its first n cases. A test that goes through many values by itself takes some of them: `some`, `combined`, `examples`.
"""

import os
from itertools import product

from hypothesis import settings

ALL = False  # set before test modules are imported
TIMES = int(os.environ.get("DFOREST_TEST_EXAMPLES", "1"))


def open_ring(is_all):
    """Set which ring runs, and what is usual there for hypothesis."""
    global ALL
    ALL = is_all
    settings.register_profile("short", max_examples=examples(100), deadline=None, derandomize=True, database=None)
    settings.register_profile("all", max_examples=examples(100), deadline=None)
    settings.load_profile("all" if is_all else "short")


def examples(n):
    """How many examples of hypothesis, or seeds, a test gets that has n of them in the long ring.

    The environment variable DFOREST_TEST_EXAMPLES multiplies the examples of the long ring.
    """
    return n * TIMES if ALL else min(n, max(8, n // 10))


def some(values, n, first=0):
    """Values that a test goes through: all in the long ring; n of them in the short one, from one on and round."""
    return values if ALL else [values[(first + i) % len(values)] for i in range(n)]


def combined(*lists, turn=0):
    """Combinations of values that a test goes through: all in the long ring; in the short one, each value once or more.

    In each turn, other values come together.
    """
    if ALL:
        return list(product(*lists))
    lists = [list(values) for values in lists]
    return [tuple(own[(i + k * turn) % len(own)] for k, own in enumerate(lists)) for i in range(max(map(len, lists)))]


class Thinning:
    """Says which tests are of the short ring."""

    def __init__(self, items):
        self.cases = {}  # of each test
        for item in items:
            self.cases.setdefault(self.test_of(item), []).append(item)
        self.kept = {item for cases in self.cases.values() for item in self.few(cases)}

    @staticmethod
    def test_of(item):
        return item.path, getattr(item.cls, "__qualname__", None), getattr(item, "originalname", item.name)

    def few(self, cases):
        """The cases of a test that the short ring has."""
        slow = cases[0].get_closest_marker("slow")
        few = self.each_value([case for case in cases if self.has_first_seeds(case)])
        return few if slow is None else few[: slow.kwargs.get("after", 0)]

    def has_first_seeds(self, case):
        """Whether each value of a case that comes from a range is one of the first there."""
        return all(
            case.callspec.params[name] in values[: examples(len(values))]
            for names, values in self.lists(case)
            if isinstance(values, range)
            for name in names
        )

    def each_value(self, cases):
        """Cases in which each value of each parameter occurs: first those in which all values are new."""
        values = {case: self.values(case) for case in cases}
        if all(len(own) < 2 for own in values.values()):
            return cases
        seen, kept = set(), set()
        for is_enough in (set.isdisjoint, lambda own, seen: not own <= seen):
            for case in cases:
                if case not in kept and is_enough(values[case], seen):
                    seen |= values[case]
                    kept.add(case)
        return [case for case in cases if case in kept]

    @staticmethod
    def values(case):
        """The values of a case, one for each list of parameters: what `parametrize` was given together counts as one."""
        if not hasattr(case, "callspec"):
            return set()
        left = dict(case.callspec.params)
        own = {tuple((name, id(left.pop(name))) for name in names if name in left) for names, _ in Thinning.lists(case)}
        return own | {((name, id(value)),) for name, value in left.items()}

    @staticmethod
    def lists(case):
        """What `parametrize` was given, once or more often: names and the list of their values."""
        for mark in case.iter_markers("parametrize"):
            names, values = (*mark.args, *(mark.kwargs[name] for name in ("argnames", "argvalues") if name in mark.kwargs))[:2]
            yield [name.strip() for name in names.split(",")] if isinstance(names, str) else names, values
