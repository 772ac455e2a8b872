"""scikit-learn's own tests of forests, trees, boosted trees and of what is made of them, run with dforest's classes instead.

`test_forest.py`, `test_tree.py` and the other modules here import what scikit-learn's modules of these names hold: the tests
come with its wheel. Boosted trees have ``defaults="scikit-learn"`` there. Tests of scikit-learn's private classes alone are
left out, and those that name nothing of what dforest has. What is imported from `sklearn.ensemble` and `sklearn.tree` is
dforest's, as far as dforest has it; what scikit-learn itself imports stays its own.

`allowed_failures.toml` lists the tests that may fail, by reason. One that is not listed must pass, and one that is must
fail: when it passes, its line has to go. Only where a bound is missed by chance, and a change of the forests may change
that (`by_chance`), it may do either. Of the tests that need nothing that dforest has not (`not_there`), at least
`fewest_passed` are not listed. The list is of one release of scikit-learn; with others the tests are skipped.
"""

import inspect
import re
import sys
import tomllib
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.inspection  # before its tests import it: it asks for trees by class, and knows scikit-learn's own
import sklearn.tree
from helpers.scikit_defaults import scikit_defaults

import dforest

HERE = Path(__file__).parent
LIST = tomllib.loads((HERE / "allowed_failures.toml").read_text())
REASONS = {test: reason for reason in LIST["reason"] for test in reason["tests"]}
IS_KNOWN_RELEASE = sklearn.__version__.startswith(LIST["scikit-learn"] + ".")


OURS = {
    module: {name: getattr(dforest, name) for name in module.__all__ if hasattr(dforest, name)}
    for module in (sklearn.ensemble, sklearn.tree)
}


@contextmanager
def our_names():
    """In `sklearn.ensemble` and `sklearn.tree`, public names that dforest has too are dforest's, with scikit-learn's defaults."""
    with patch.multiple(sklearn.ensemble, **OURS[sklearn.ensemble]), patch.multiple(sklearn.tree, **OURS[sklearn.tree]):
        with scikit_defaults():
            yield


@cache
def names_ours(test):
    """Whether a test, or what it uses of its module, names what is dforest's."""
    scope, names, seen = vars(sys.modules[test.__module__]) | {test.__name__: test}, {test.__name__}, set()
    while names - seen:
        name = (names - seen).pop()
        seen.add(name)
        thing = inspect.unwrap(scope[name])
        is_code = inspect.isroutine(thing) or inspect.isclass(thing)
        is_here = is_code and thing.__module__ == test.__module__
        words = set(re.findall(r"\w+", inspect.getsource(thing) if is_here else repr(thing)))
        if any(words & ours.keys() for ours in OURS.values()):
            return True
        if is_here:
            names |= words & scope.keys()
    return False


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: scikit-learn's, for runs in several threads")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    with our_names():  # the test modules are imported here
        return (yield)


@pytest.fixture(autouse=True)
def ours():
    with our_names():
        yield


@pytest.fixture
def global_random_seed():
    """The seed of scikit-learn's tests where none is asked for."""
    return 42


@pytest.fixture
def global_dtype():
    """The type of numbers of scikit-learn's tests where none is asked for."""
    return np.float64


@pytest.fixture
def pyplot():
    """matplotlib's interface, drawing into memory; tests that ask for it are skipped where matplotlib is not installed."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    yield pyplot
    pyplot.close("all")


def without_traceback(excinfo, style=None):
    """What is kept of an expected failure. Nobody reads its traceback, which takes pytest longer than the test."""
    return excinfo.exconly()


class OutOfDate(pytest.Item):
    """A test that fails because the list of allowed failures does not fit the tests: pytest-xdist would hide an error here."""

    cls = None

    @classmethod
    def of(cls, items, why):
        own = next(item for item in items if item.path.parent == HERE)
        found = cls.from_parent(own.session, name=f"allowed_failures.toml: {why}", path=HERE / "allowed_failures.toml")
        found.why = why
        return found

    def runtest(self):
        pytest.fail(self.why, pytrace=False)


@pytest.hookimpl(tryfirst=True)  # before others deselect any
def pytest_collection_modifyitems(config, items):
    items[:] = [item for item in items if item.path.parent != HERE or names_ours(item.function)]
    tests = {f"{item.path.name}::{item.name}": item for item in items if item.path.parent == HERE}
    for item in tests.values():
        item.add_marker(pytest.mark.slow(after=2))
    if not IS_KNOWN_RELEASE:
        why = f"the list of allowed failures is of scikit-learn {LIST['scikit-learn']}, this is {sklearn.__version__}"
        for item in tests.values():
            item.add_marker(pytest.mark.skip(reason=why))
        return
    for name, item in tests.items():
        if name in REASONS:
            reason = REASONS[name]
            item.add_marker(pytest.mark.xfail(reason=reason["why"], strict=not reason.get("by_chance")))
            if not config.option.runxfail:
                item.repr_failure = without_traceback
    files = {item.path.name for item in tests.values()}
    is_all = files == {path.name for path in HERE.glob("test_*.py")}
    if not is_all or any("::" in argument for argument in config.args):
        return
    gone = [name for name in REASONS if name not in tests]
    if gone:
        items.append(OutOfDate.of(items, f"allowed_failures.toml lists tests that there are not: {', '.join(gone)}"))
    n_passed = len(tests) - len(REASONS)
    if n_passed < LIST["fewest_passed"]:
        why = f"{n_passed} of scikit-learn's tests are to pass, fewer than {LIST['fewest_passed']}"
        items.append(OutOfDate.of(items, why))
