"""Settings of Sphinx. Nothing here needs a network: see the README for the command."""

import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from reference import guides, in_order, listed, members  # noqa: E402

project = "dforest"
author = "The dforest developers"
copyright = "2026, The dforest developers"
version = release = version_of("dforest")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "formulas",
    "cython_source",
    "links",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
default_role = "py:obj"  # so names between single backquotes are links, where there is such a page
templates_path = ["_templates"]
exclude_patterns = ["_templates"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

# A page for each name that api.rst lists, in the folder api, which is made anew and not in the repository. The template names
# the members that it is given here: what scikit-learn's base classes add is told in api.rst.
numpydoc_show_class_members = False
autosummary_generate = True
autosummary_context = {"shown": {}}
for name in listed((HERE / "api.rst").read_text(encoding="utf-8"))[0]:
    try:
        autosummary_context["shown"][name] = members(name)
    except (ImportError, RuntimeError):  # no Dask, or no library of MPI: of the name itself autosummary tells
        continue
toc_object_entries_show_parents = "hide"  # side lists show "fit", and not the whole name, which breaks

# The examples are run anew when they have changed, or when doc/gallery has been removed. One that fails ends the build.
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib",),
    "image_srcset": ["2x"],  # sharp on screens of high resolution
    "min_reported_time": 5,  # seconds; each example is meant to take less
    "write_computation_times": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
}

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"dforest {version}"
html_static_path = ["_static"]
html_css_files = ["dforest.css"]
pygments_style = "default"


def without_self(app, what, name, obj, options, signature, returns):
    """Signatures that Cython wrote, as Python shows those of methods; what arrays are the docstring says."""
    return re.sub(r"^\(self(, )?", "(", re.sub(r": \w+\[.*?\]", "", signature or "")) or signature, returns


def add_guides_and_groups(app, what, name, obj, options, lines):
    """Add links to the user guide to what numpydoc has made of a docstring, and headings of groups of parameters."""
    groups = getattr(obj, "_parameter_groups", None) if what == "class" else None
    lines[:] = in_order(lines, guides(name), groups)


def setup(app):
    app.connect("autodoc-process-signature", without_self, priority=400)  # before numpydoc
    app.connect("autodoc-process-docstring", add_guides_and_groups, priority=600)  # after it
