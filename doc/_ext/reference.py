"""What the API reference shows: the names that api.rst lists, and the members on the page of each class.

`conf.py` hands this to the templates of autosummary, and tests compare it with the public names. Members of estimators are all
that classes of dforest define: what scikit-learn's base classes add is told in api.rst. Of other classes they are named here.
"""

import re
from importlib import import_module
from inspect import isclass, isdatadescriptor

from sklearn.base import BaseEstimator

TABLE = re.compile(r"^\.\. autosummary::\n((?: {3}.*\n|\n)+)", re.MULTILINE)
MODULE = re.compile(r"^\.\. automodule:: ([\w.]+)$", re.MULTILINE)

# Members of classes that are no estimators, where there are any to show.
NAMED = {
    "dforest.ImportanceDisplay": "from_estimator plot",
    "dforest.OutOfBagCurveDisplay": "from_estimator plot",
    "dforest.ShapValues": "explanation",
    "dforest.core.forest.arrays.Forest": "tree as_dict depths node_table right_child leaf_row payload_of subset_of "
    "tests_by_feature impurity_decrease leaf_class cut_back predictor row_counts",
    "dforest.core.predict.predictor.Predictor": "predict predict_class",
    "dforest.criterion.Criterion": "configure clone impurity_of score_cuts get_params set_params",
    "dforest.criterion.PythonCriterion": "impurity value score",
    "dforest.engines.memory.MemoryEstimate": "of_thread scratch total",
    "dforest.estimators.memory.FitMemory": "forest scratch total",
    "dforest.fit_report.FitReport": "n_launches",
    "dforest.interop.Tree": "categories_left predict apply decision_path compute_feature_importances compute_node_depths",
    "dforest.loss.Loss": "configure configured in_y_true_range fit_intercept_only derivatives values predictions "
    "get_params set_params",
    "dforest.loss.PythonLoss": "gradient_hessian loss inverse_link leaf_value",
    "dforest.core.search.node_view.NodeView": "values codes n_codes is_categorical is_constant random score_cut "
    "score_sides best_along",
    "dforest.report.curve.Trend": "at gain chance",
    "dforest.report.report.Report": "save",
    "dforest.sampling.Sampling": "plan",
    "dforest.sampling.SamplingPlan": "counts count_draws",
    "dforest.splitter.PythonSplitter": "best_cut find_split",
    "dforest.splitter.Splitter": "used_features describe configure clone get_params set_params",
    "dforest.spmd.communicator.Communicator": "together exchange gather sum least greatest",
    "dforest.spmd.threads.ThreadGroup": "run",
}

# Members of all forests that these classes have, but for which they have no use.
LEFT_OUT = {"dforest.RandomTreesEmbedding": {"estimators_samples_", "feature_importances_", "oob_importance"}}


def listed(text):
    """The full names in the tables of api.rst, given its text, in their order, and the modules that it describes."""
    names = [name for table in TABLE.findall(text) for name in re.findall(r"^ {3}~([\w.]+)$", table, re.MULTILINE)]
    return [f"dforest.{name}" for name in names], MODULE.findall(text)


def resolved(name):
    """The object of a full name."""
    module, _, rest = name.rpartition(".")
    return getattr(import_module(module), rest)


def members(name):
    """The members on the page of a class: a dict of two lists of names, "methods" and "attributes"."""
    shown = resolved(name)
    if not isclass(shown):
        return {"methods": [], "attributes": []}
    if issubclass(shown, BaseEstimator):
        names = _own(shown, name.rpartition(".")[0]) - LEFT_OUT.get(name, set())
        names = sorted(names, key=lambda member: (not member.startswith("fit"), member))
    else:
        names = NAMED.get(name, "").split()
    found = {member: _found(shown, member) for member in names}
    attributes = [member for member, value in found.items() if not _is_called(value)]
    return {"methods": [member for member in names if member not in attributes], "attributes": attributes}


def _own(estimator, module):
    """The public members that dforest defines; of forests of a module such as dforest.dask, what they define anew.

    `set_callbacks` comes from scikit-learn, and belongs to how dforest is used.
    """
    prefix = "dforest" if module == "dforest" else module
    names = {
        name
        for kind in estimator.__mro__
        if kind.__module__ == prefix or kind.__module__.startswith(f"{prefix}.")
        for name in vars(kind)
        if not name.startswith("_") and not re.fullmatch("set_.*_request", name)
    }
    if module == "dforest" and hasattr(estimator, "set_callbacks"):
        names.add("set_callbacks")
    return {name for name in names if _is_called(_found(estimator, name)) or isdatadescriptor(_found(estimator, name))}


def _found(kind, name):
    """A member as its class holds it: a property, and not what it returns."""
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    raise AttributeError(f"{kind.__module__}.{kind.__qualname__} has no member {name}")


def _is_called(member):
    return callable(member) or isinstance(member, classmethod | staticmethod) or hasattr(member, "check")
