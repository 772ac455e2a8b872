"""The API reference lists every public name, and the page of a class shows members that there are."""

import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

DOC = Path(__file__).parent.parent / "doc"
sys.path.insert(0, str(DOC / "_ext"))

from reference import LEFT_OUT, NAMED, listed, members, resolved  # noqa: E402

NAMES, MODULES = listed((DOC / "api.rst").read_text(encoding="utf-8"))
PUBLIC = ["dforest", "callback", "criterion", "errors", "loss", "sampling", "splitter", "spmd", "testing"]


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
    assert not {"get_params", "set_params", "score", "set_fit_request"} & set(shown["methods"])
    assert "oob_importance" not in members("dforest.RandomTreesEmbedding")["methods"]
    assert set(members("dforest.testing.check_splitter")) == {"methods", "attributes"}


def test_members_are_named_of_listed_classes():
    assert set(NAMED) | set(LEFT_OUT) <= set(NAMES)


def test_the_citation_names_this_version():
    text = (DOC.parent / "CITATION.cff").read_text(encoding="utf-8")
    project = tomllib.loads((DOC.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    fields = dict(re.findall(r'^([\w-]+): "?(.*?)"?$', text, re.MULTILINE))
    assert fields["cff-version"] == "1.2.0"
    assert (fields["version"], fields["license"]) == (project["version"], project["license"])
    assert all(f'name: "{author["name"]}"' in text for author in project["authors"])
