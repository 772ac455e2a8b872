"""Decision forests: exact or binned, fast, and the same to the bit on any number of threads."""

from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import dforest.built  # noqa: F401
from dforest.backends.devices import devices
from dforest.config import config_context
from dforest.estimators.auto.auto import AutoForestClassifier, AutoForestRegressor
from dforest.estimators.boosting.boosting import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from dforest.estimators.boosting.ranker import HistGradientBoostingRanker
from dforest.estimators.forest.combine import combine
from dforest.estimators.forest.embedding import RandomTreesEmbedding
from dforest.estimators.forest.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from dforest.estimators.forest.isolation import IsolationForest
from dforest.estimators.forest.survival import ExtraSurvivalTree, ExtraSurvivalTrees, RandomSurvivalForest, SurvivalTree
from dforest.estimators.forest.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor
from dforest.estimators.other_names import PACKAGE_NAMES
from dforest.estimators.results.shap_values import ShapInteractionValues, ShapValues
from dforest.inspection.dependence import PartialDependenceDisplay
from dforest.inspection.export import export_graphviz, export_text
from dforest.inspection.frame import trees_to_dataframe
from dforest.inspection.plot import plot_tree
from dforest.inspection.report.displays import ImportanceDisplay, OutOfBagCurveDisplay
from dforest.inspection.significance import corrected_importance, importance_permutation_test, importance_pvalues
from dforest.inspection.table.check import check_table
from dforest.interchange.clients import register_dtreeviz, register_eli5, register_mlflow, register_shap, skops_types
from dforest.interchange.conversion.from_lightgbm import from_lightgbm
from dforest.interchange.conversion.from_sklearn import from_sklearn
from dforest.interchange.conversion.from_xgboost import from_xgboost
from dforest.interchange.conversion.skl2onnx import pipeline_to_onnx, register_onnx_converters
from dforest.interchange.pickles import know_moved_modules
from dforest.interchange.storage.model import load

know_moved_modules()

__version__ = version("dforest")

__all__ = [
    "AutoForestClassifier",
    "AutoForestRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraSurvivalTree",
    "ExtraSurvivalTrees",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRanker",
    "HistGradientBoostingRegressor",
    "ImportanceDisplay",
    "IsolationForest",
    "OutOfBagCurveDisplay",
    "PartialDependenceDisplay",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomSurvivalForest",
    "RandomTreesEmbedding",
    "ShapInteractionValues",
    "ShapValues",
    "SurvivalTree",
    "check_table",
    "combine",
    "config_context",
    "corrected_importance",
    "devices",
    "export_graphviz",
    "export_text",
    "from_lightgbm",
    "from_sklearn",
    "from_xgboost",
    "get_include",
    "importance_permutation_test",
    "importance_pvalues",
    "load",
    "pipeline_to_onnx",
    "plot_tree",
    "register_dtreeviz",
    "register_eli5",
    "register_mlflow",
    "register_onnx_converters",
    "register_shap",
    "skops_types",
    "trees_to_dataframe",
]

_MODULES = {"callback", "criterion", "dask", "errors", "loss", "sampling", "spmd", "splitter", "testing"}


def __getattr__(name):  # the public modules, when they are first asked for
    if name in _MODULES:
        return import_module(f"dforest.{name}")
    hint = f". {PACKAGE_NAMES[name]}" if name in PACKAGE_NAMES else ""
    raise AttributeError(f"module 'dforest' has no attribute {name!r}{hint}")


def __dir__():
    return sorted([*__all__, *_MODULES, "__version__"])


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
