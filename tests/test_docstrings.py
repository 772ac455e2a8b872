"""Docstrings of what is public: each begins with a sentence that says what the thing is or does, and their examples run."""

import doctest
import inspect
import re
import sys
from importlib import import_module
from itertools import groupby
from pathlib import Path

import pytest

from dforest.estimators.attributes import ATTRIBUTES
from dforest.estimators.auto.parameters import BLEND_PARAMETERS
from dforest.estimators.boosting.parameters import BOOSTING_PARAMETERS
from dforest.estimators.declaration import WORDS
from dforest.estimators.entries import OTHERS
from dforest.estimators.parameters import PARAMETERS

DOC = Path(__file__).parent.parent / "doc"
sys.path.insert(0, str(DOC / "_ext"))

from reference import listed, members, resolved  # noqa: E402

REFERENCE = (DOC / "api.rst").read_text(encoding="utf-8")
NAMES = [name for name in listed(REFERENCE)[0] if not name.startswith("dforest.spmd.mpi.")]  # needs a library of MPI
SIGNATURE = re.compile(r"\A\w+\(.*\)(?: -> .*)?\n+")  # which Cython writes above a docstring
LEAST = 4
TABLES = {"trees and forests": PARAMETERS, "boosted trees": BOOSTING_PARAMETERS, "blends": BLEND_PARAMETERS}


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


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
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


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_parameters_of_a_group_follow_each_other(table):
    groups = [group for group, _ in groupby(entry.group for entry in table)]
    assert len(groups) == len(set(groups)) > 2
    assert OTHERS not in groups


# Examples

# Public names without an example, and why.
PROCESSES = "it is used in programs of several processes, as the page about these shows"
CYTHON = "it is the base of classes in Cython, as the page about these shows"
RAISED = "it is raised for a mistake in code, or because of another process"
WITHOUT_EXAMPLE = {
    **{name: PROCESSES for name in NAMES if re.fullmatch(r"dforest\.(spmd|dask)\.\w+", name)},
    **dict.fromkeys(
        [
            "dforest.splitter.Splitter",
            "dforest.splitter.RandomSplitter",
            "dforest.criterion.ClassCriterion",
            "dforest.criterion.NumberCriterion",
            "dforest.loss.Loss",
            "dforest.core.component.declare_contract",
        ],
        CYTHON,
    ),
    **dict.fromkeys(
        [
            "dforest.errors.ContractError",
            "dforest.errors.ConversionError",
            "dforest.errors.RankError",
            "dforest.testing.ConformanceError",
        ],
        RAISED,
    ),
}

# Packages that examples need, by the last part of the name.
NEEDED = {
    "explanation": ["shap"],
    "ImportanceDisplay": ["matplotlib"],
    "PartialDependenceDisplay": ["matplotlib"],
    "OutOfBagCurveDisplay": ["matplotlib"],
    "ProgressBar": ["tqdm"],
    "pipeline_to_onnx": ["onnxruntime", "skl2onnx"],
    "plot_tree": ["matplotlib"],
    "register_dtreeviz": ["dtreeviz"],
    "register_eli5": ["eli5"],
    "register_mlflow": ["mlflow"],
    "register_onnx_converters": ["skl2onnx"],
    "register_shap": ["shap"],
    "onnx_shape_calculator": ["skl2onnx"],
    "Report": ["matplotlib"],
    "UpliftCurveDisplay": ["matplotlib"],
    "report": ["matplotlib"],
    "skops_types": ["skops"],
    "to_onnx": ["onnx", "onnxruntime"],
    "to_shap": ["shap"],
    "to_treelite": ["treelite"],
}


def examples(name, text):
    """The examples of a docstring as a test."""
    return doctest.DocTestParser().get_doctest(inspect.cleandoc(text or ""), {"__name__": "__main__"}, name, None, None)


def has_module(name):
    try:
        import_module(name.rpartition(".")[0])
    except (ImportError, RuntimeError):  # no Dask; no library of MPI
        return False
    return True


def all_examples():
    """The docstrings with examples by name; one that several classes share once."""
    found = {}
    for name in filter(has_module, NAMES):
        for what, text in documented(name):
            if examples(what, text).examples:
                found.setdefault(text, what)
    return {what: text for text, what in found.items()}


EXAMPLES = all_examples()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_public_has_an_example(name):
    if not has_module(name):
        pytest.skip("its module needs a package that is not installed")
    has_example = bool(examples(name, resolved(name).__doc__).examples)
    assert has_example == (name not in WITHOUT_EXAMPLE), f"the docstring of {name} has {'an' if has_example else 'no'} example"


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, tmp_path, monkeypatch):
    for package in NEEDED.get(name.rpartition(".")[2], ()):
        pytest.importorskip(package)
    if "matplotlib" in NEEDED.get(name.rpartition(".")[2], ()):
        import_module("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    told = []
    runner = doctest.DocTestRunner()
    runner.run(examples(name, EXAMPLES[name]), out=told.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(told)
