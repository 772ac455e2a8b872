"""Decision forests: exact or binned, fast, and the same to the bit on any number of threads."""

from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from dforest.config import config_context
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
    "config_context",
    "devices",
    "export_graphviz",
    "export_text",
    "get_include",
    "load",
    "plot_tree",
    "register_onnx_converters",
]


def get_include():
    """The folder that dforest's C headers are found from.

    They are named from there, as in dforest's `.pxd` files: ``rules/random.h``, ``core/predict/walk.h``.

    Returns
    -------
    str
        To be added to the include path of an extension that cimports `dforest.core` or `dforest.rules`.
    """
    return str(Path(__file__).parent)


def register_onnx_converters():
    """Tell skl2onnx how to convert dforest's classifiers and regressors, so that it converts pipelines that hold them.

    A pipeline's ONNX model takes the rows that the pipeline does; its outputs are those of ``estimator.to_onnx()``, arrays
    without ``ZipMap``. Trees are ``TreeEnsembleRegressor`` of ai.onnx.ml 3, the last version that skl2onnx allows, which has no
    tests of categories. Nothing is compared; see ``estimator.to_onnx()`` for models that are.

    Raises
    ------
    ImportError
        If skl2onnx is not installed: the extra is ``dforest[onnx]``.

    Examples
    --------
    >>> import dforest
    >>> from skl2onnx import to_onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), dforest.RandomForestClassifier(5, random_state=0)).fit(X, y)
    >>> dforest.register_onnx_converters()
    >>> [output.name for output in to_onnx(model, X).graph.output]
    ['label', 'probabilities']
    """
    import_module("dforest.conversion.skl2onnx").register(
        [
            DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor, ExtraTreesClassifier,
            ExtraTreesRegressor, HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier,
            RandomForestRegressor,
        ]
    )  # fmt: skip
