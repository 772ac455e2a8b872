"""The API reference lists every public name, and the page of a class shows members that there are."""

import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

DOC = Path(__file__).parent.parent / "doc"
sys.path.insert(0, str(DOC / "_ext"))

from reference import GUIDES, LEFT_OUT, METHOD_GUIDES, NAMED, guides, in_order, listed, members, resolved  # noqa: E402

NAMES, MODULES = listed((DOC / "api.rst").read_text(encoding="utf-8"))
PUBLIC = ["dforest", "callback", "criterion", "errors", "loss", "sampling", "serving", "splitter", "spmd", "testing", "uplift"]


def importable(name):
    """Whether what a module of an optional library defines can be looked at here."""
    try:
        import_module(name.rpartition(".")[0])
    except (ImportError, RuntimeError):  # no Dask; no library of MPI
        return False
    return True


SHOWN = [name for name in NAMES if importable(name)]


def test_names_are_found():
    assert len(NAMES) > 90 and "dforest.RandomForestClassifier" in NAMES and "dforest.sampling.RowSampling" in NAMES
    assert len(set(NAMES)) == len(NAMES), "a name is listed twice"
    assert listed(".. autosummary::\n   :toctree: api\n\n   ~load\n\n.. automodule:: dforest.loss\n") == (
        ["dforest.load"],
        ["dforest.loss"],
    )


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_listed(module):
    module = import_module(module if module == "dforest" else f"dforest.{module}")
    assert module.__name__ in {"dforest", *MODULES}
    objects = [resolved(name) for name in SHOWN]
    missing = [
        name
        for name in module.__all__
        if f"{module.__name__}.{name}" not in NAMES and not any(getattr(module, name) is shown for shown in objects)
    ]
    assert not missing, f"doc/api.rst does not list {', '.join(missing)} of {module.__name__}"


def test_every_name_of_dask_is_listed():
    dask = pytest.importorskip("dforest.dask")
    assert {f"dforest.dask.{name}" for name in dask.__all__} <= set(NAMES)


@pytest.mark.parametrize("name", SHOWN)
def test_members_are_there(name):
    for member in sum(members(name).values(), []):
        assert hasattr(resolved(name), member)


def test_members_are_those_of_dforest():
    shown = members("dforest.RandomForestClassifier")
    assert {"fit", "predict_proba", "save", "to_onnx", "set_callbacks"} <= set(shown["methods"])
    assert {"estimators_", "feature_importances_"} <= set(shown["attributes"])
    assert not {"get_params", "set_params", "set_fit_request"} & set(shown["methods"])
    assert "oob_importance" not in members("dforest.RandomTreesEmbedding")["methods"]
    assert set(members("dforest.testing.check_splitter")) == {"methods", "attributes"}


def test_members_are_named_of_listed_classes():
    assert set(NAMED) | set(LEFT_OUT) <= set(NAMES)


def test_names_link_to_pages_that_exist():
    assert set(GUIDES) == set(NAMES)
    pages = {page for about in GUIDES.values() for page in about} | set(METHOD_GUIDES.values())
    lost = sorted(page for page in pages if not (DOC / f"{page}.md").exists())
    assert not lost, f"there is no {lost[0]}.md in doc"
    shown = {method for name in SHOWN for method in members(name)["methods"]}
    assert set(METHOD_GUIDES) <= shown
    assert guides("dforest.RandomForestRegressor.shap_values") == ["shap"]
    assert guides("dforest.RandomForestRegressor.shap_interaction_values") == ["shap"]
    assert guides("dforest.RandomForestRegressor.fit") == []


DOCSTRING = """A forest of trees,
and more.

The parameters are listed below in groups:

- Size and shape: max_depth,
  max_leaf_nodes
- Seed and computation: n_jobs

:Parameters:

    **max_depth** : int
        As in max_leaf_nodes.

    **max_leaf_nodes** : int
        No more.

    **n_jobs** : int
        Threads.

:Attributes:

    **n_jobs** : int
        Threads."""


def test_headings_and_links_are_added():
    groups = {"Size and shape": ["max_depth", "max_leaf_nodes"], "Seed and computation": ["n_jobs"]}
    text = "\n".join(in_order(DOCSTRING.splitlines(), ["guide_trees", "maths"], groups))
    assert text.startswith("A forest of trees,\nand more.\n\nUser guide: :doc:`/guide_trees`, :doc:`/maths`.\n\n")
    assert "- Size and shape: ``max_depth``,\n  ``max_leaf_nodes``\n- Seed and computation: ``n_jobs``\n" in text
    headings = re.findall(r"    \.\. rubric:: (.*)\n\n    \*\*(\w+)\*\* : int", text)
    assert headings == [("Size and shape", "max_depth"), ("Seed and computation", "n_jobs")]
    assert "As in max_leaf_nodes." in text
    assert in_order(DOCSTRING.splitlines()) == DOCSTRING.splitlines()


def test_the_citation_names_the_licence_and_the_authors():
    text = (DOC.parent / "CITATION.cff").read_text(encoding="utf-8")
    project = tomllib.loads((DOC.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    fields = dict(re.findall(r'^([\w-]+): "?(.*?)"?$', text, re.MULTILINE))
    assert fields["cff-version"] == "1.2.0"
    assert fields["license"] == project["license"]
    assert "version" not in fields  # which tags of git tell
    assert all(f'name: "{author["name"]}"' in text for author in project["authors"])
