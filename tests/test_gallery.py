"""The gallery's examples: whoever has the extra can run them, offline, and sees what the page shows.

That they run at all the documentation's build tells, which runs them.
"""

import ast
import inspect
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

TOP = Path(__file__).parent.parent
EXAMPLES = sorted((TOP / "examples" / "gallery").glob("*.py"))
PROVIDED = {"scikit-learn": "sklearn"}  # what a distribution is imported as, where that is another name
TITLE = re.compile(r"\n(?P<title>\S.+)\n(?P<line>=+)\n\n\S")


def requirements(name):
    """The names of the distributions that an extra brings, those of other extras and of dforest itself among them."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = set()
    for requirement in project["dependencies"] + project["optional-dependencies"][name]:
        distribution, extras = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", requirement).groups()
        if distribution == "dforest":
            found |= set().union(*map(requirements, extras.split(",")))
        found.add(distribution)
    return found


def imported(tree):
    """The packages that an example imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


def taking_random_state(tree):
    """The names of the classes and functions that an example imports from dforest and scikit-learn that take a random_state."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] in ("dforest", "sklearn"):
            for alias in node.names:
                named = getattr(import_module(node.module), alias.name)
                is_estimator = inspect.isclass(named) and issubclass(named, BaseEstimator)
                if (is_estimator or inspect.isfunction(named)) and "random_state" in inspect.signature(named).parameters:
                    yield alias.name


def calls(tree):
    """All calls of an example: the last part of the name that is called, and the node."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")), node


def test_examples_are_found():
    assert len(EXAMPLES) >= 15
    assert all(path.name.startswith("plot_") for path in EXAMPLES), "the documentation's build runs plot_*.py alone"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path):
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    opening = TITLE.match(ast.get_docstring(tree, clean=False))
    assert opening and len(opening["title"]) == len(opening["line"]), "begins with an underlined title and a sentence"
    assert re.search(r"^# %%\n# [^#]", source.rpartition("plt.show()")[2], re.MULTILINE), "says what is seen in the last picture"

    for block in re.split(r"^# %%$", source, flags=re.MULTILINE):  # a picture is taken at the end of each
        assert ("plt.subplots(" in block) == ("plt.show()" in block), f"a figure is drawn in one block: {block[:200]}"

    allowed = {PROVIDED.get(name, name) for name in requirements("gallery")}
    standard = {"pickle", "time"}
    assert set(imported(tree)) <= allowed | standard

    random = set(taking_random_state(tree))
    for name, call in calls(tree):
        keywords = {keyword.arg for keyword in call.keywords}
        assert not name.startswith("fetch_"), f"{name} needs a network"
        assert "n_jobs" not in keywords
        if name in random:  # None: **parameters, written elsewhere
            given = "random_state" in keywords or (None in keywords and '"random_state": ' in source)
            assert given, f"line {call.lineno}: {name} without random_state"
        if name == "default_rng":
            assert call.args, f"line {call.lineno}: default_rng without a seed"
