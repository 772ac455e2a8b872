"""Settings of Sphinx. Nothing here needs a network: see the README for the command."""

import re
from importlib.metadata import version as version_of

project = "dforest"
author = "The dforest developers"
version = release = version_of("dforest")

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx_gallery.gen_gallery"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

# Members are named one by one in api.rst: what scikit-learn's base classes add is told there.
numpydoc_show_class_members = False
autodoc_member_order = "bysource"

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

html_theme = "furo"
html_title = f"dforest {version}"
pygments_style = "default"


def without_self(app, what, name, obj, options, signature, returns):
    """Signatures that Cython wrote, as Python shows those of methods; what arrays are the docstring says."""
    return re.sub(r"^\(self(, )?", "(", re.sub(r": \w+\[.*?\]", "", signature or "")) or signature, returns


def setup(app):
    app.connect("autodoc-process-signature", without_self, priority=400)  # before numpydoc
