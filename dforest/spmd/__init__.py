"""Fits by several processes together, each of which has some of the rows; all of them get the forest of all rows.

The estimators of this module are for programs that ``mpiexec`` starts several times: each process, or *rank*, of MPI calls `fit`
with rows of its own. The forest depends on the rows and on their order, which is that of the ranks. It does not depend on how
many ranks there are, nor on how the rows are divided among them. The page on rows in several processes says more.
"""

from importlib import import_module

__all__ = [
    "CausalForest",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingDistribution",
    "HistGradientBoostingRanker",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "UpliftForestClassifier",
]


def __getattr__(name):  # estimators need communicators, so they can't be imported with these
    if name in __all__:
        return getattr(import_module("dforest.spmd.estimators"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *__all__])
