"""Decision forests: exact or binned, fast, and the same to the bit on any number of threads."""

from importlib.metadata import version
from pathlib import Path

import dforest.built  # noqa: F401
from dforest.config import config_context
from dforest.conversion.from_sklearn import from_sklearn
from dforest.conversion.skl2onnx import pipeline_to_onnx, register_onnx_converters
from dforest.estimators.boosting import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from dforest.estimators.embedding import RandomTreesEmbedding
from dforest.estimators.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor
from dforest.export import export_graphviz, export_text
from dforest.plot import plot_tree
from dforest.report.displays import ImportanceDisplay, OutOfBagCurveDisplay
from dforest.shap_values import ShapValues
from dforest.storage.model import load
from dforest.sycl.devices import devices

__version__ = version("dforest")

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "ImportanceDisplay",
    "OutOfBagCurveDisplay",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomTreesEmbedding",
    "ShapValues",
    "config_context",
    "devices",
    "export_graphviz",
    "export_text",
    "from_sklearn",
    "get_include",
    "load",
    "pipeline_to_onnx",
    "plot_tree",
    "register_onnx_converters",
]


def get_include():
    """Return the folder that contains dforest's C headers, for compiling extensions against them.

    A splitter, criterion or loss of your own that is written in Cython is such an extension.

    Returns
    -------
    str
        Folder to be added to the include path of an extension that cimports `dforest.core` or `dforest.rules`. Headers are
        named from there, as in dforest's `.pxd` files: ``rules/random.h``, ``core/predict/walk.h``.

    Examples
    --------
    >>> from pathlib import Path
    >>> import dforest
    >>> Path(dforest.get_include()).name
    'dforest'
    """
    return str(Path(__file__).parent)
