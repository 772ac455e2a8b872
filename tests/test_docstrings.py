"""Docstrings of what is public: each begins with a sentence that says what the thing is or does, and their examples run."""

import doctest
import inspect
import re
import sys
from pathlib import Path

import pytest

import dforest
from dforest.estimators.attributes import ATTRIBUTES
from dforest.estimators.boosting_parameters import BOOSTING_PARAMETERS
from dforest.estimators.declaration import WORDS
from dforest.estimators.parameters import PARAMETERS

DOC = Path(__file__).parent.parent / "doc"
sys.path.insert(0, str(DOC / "_ext"))

from reference import listed, members, resolved  # noqa: E402

REFERENCE = (DOC / "api.rst").read_text(encoding="utf-8")
NAMES = [name for name in listed(REFERENCE)[0] if not name.startswith("dforest.spmd.mpi.")]  # needs a library of MPI
SIGNATURE = re.compile(r"\A\w+\(.*\)(?: -> .*)?\n+")  # which Cython writes above a docstring
LEAST = 4


def summary(text):
    """The first paragraph of a docstring as one line, without the signature that Cython puts first."""
    text = SIGNATURE.sub("", inspect.cleandoc(text or ""))
    return " ".join(text.split("\n\n")[0].split())


def fault(first):
    """What is wrong with the beginning of a text, or None."""
    if len(first.split()) < LEAST:
        return f"{first!r} has fewer than {LEAST} words"
    if not first.endswith((".", ":")):
        return f"{first!r} does not end with a period"
    if first[0].islower() and not first.startswith(("dforest", "scikit-learn")):
        return f"{first!r} begins with a small letter"
    return None


def documented(name):
    """The (name, docstring) of a public name and of the members that the reference shows."""
    thing = resolved(name)
    found = [(name, thing.__doc__)]
    for member in sum(members(name).values(), []):
        value = inspect.getattr_static(thing, member)
        value = getattr(value, "fn", getattr(value, "__func__", value))  # of sklearn's available_if; a classmethod
        found.append((f"{name}.{member}", value.__doc__))
    return found


def sentence(text):
    """The first sentence of a description, up to a period or a colon that a space follows, or the end."""
    return re.match(r".*?(?:(?<!e\.g)\.(?=\s|$)|\Z)", " ".join(text.split()), re.DOTALL)[0]


def test_what_is_a_fault():
    assert "fewer" in fault("Trees.") and "period" in fault("Number of the trees") and "small" in fault("number of the trees.")
    assert fault(summary("f(self, x)\nNumber of trees in\n    the forest.\n\n    More.")) is None
    assert sentence("Number of trees: 3.5 is none. More.") == "Number of trees: 3.5 is none."


@pytest.mark.parametrize("name", NAMES)
def test_summaries(name):
    if name.startswith("dforest.dask."):
        pytest.importorskip("distributed")
    faults = [f"{what}: {fault(summary(doc))}" for what, doc in documented(name) if fault(summary(doc))]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("table", [PARAMETERS, BOOSTING_PARAMETERS], ids=["trees and forests", "boosted trees"])
def test_descriptions_of_parameters(table):
    faults = []
    for entry in table:
        for family in sorted(set(entry.of) & set(WORDS)):
            first = sentence(entry.doc.format(**WORDS[family] | {"tree": "tree"}))
            if fault(first):
                faults.append(f"{entry.name} of a {family}: {fault(first)}")
    assert not faults, "\n".join(faults)


def test_descriptions_of_attributes():
    faults = [f"{entry.name}: {fault(sentence(entry.doc))}" for entry in ATTRIBUTES if fault(sentence(entry.doc))]
    assert not faults, "\n".join(faults)


ESTIMATORS = [name for name in dforest.__all__ if hasattr(getattr(dforest, name), "fit")]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_examples_of_estimators(name):
    estimator = getattr(dforest, name)
    example = doctest.DocTestParser().get_doctest(estimator.__doc__, {}, name, None, None)
    assert example.examples, f"the docstring of {name} has no example"
    told = []
    runner = doctest.DocTestRunner()
    runner.run(example, out=told.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(told)
