"""The estimators of dforest as programs of many processes use them: all ranks of MPI fit together, each with rows of its own.

They are the classes of `dforest`, and take the same parameters; what differs is the communicator that they use where
`dforest.config_context` has set none.
"""

from importlib import import_module

import dforest
from dforest.spmd.communicator import ALONE


class _OfAllRanks:
    """What makes an estimator fit together with all ranks of ``MPI.COMM_WORLD``."""

    def _communicator(self):
        own = super()._communicator()
        return import_module("dforest.spmd.mpi").world() if own is ALONE else own


class RandomForestClassifier(_OfAllRanks, dforest.RandomForestClassifier):
    """`dforest.RandomForestClassifier` for programs of several MPI processes, which fit it together.

    Each process of ``MPI.COMM_WORLD`` calls `fit` with rows of its own, and gets the fitted estimator of all rows. Parameters,
    methods and attributes are those of `dforest.RandomForestClassifier`.
    """


class RandomForestRegressor(_OfAllRanks, dforest.RandomForestRegressor):
    """`dforest.RandomForestRegressor` for programs of several MPI processes, which fit it together.

    Each process of ``MPI.COMM_WORLD`` calls `fit` with rows of its own, and gets the fitted estimator of all rows. Parameters,
    methods and attributes are those of `dforest.RandomForestRegressor`.
    """


class ExtraTreesClassifier(_OfAllRanks, dforest.ExtraTreesClassifier):
    """`dforest.ExtraTreesClassifier` for programs of several MPI processes, which fit it together.

    Each process of ``MPI.COMM_WORLD`` calls `fit` with rows of its own, and gets the fitted estimator of all rows. Parameters,
    methods and attributes are those of `dforest.ExtraTreesClassifier`.
    """


class ExtraTreesRegressor(_OfAllRanks, dforest.ExtraTreesRegressor):
    """`dforest.ExtraTreesRegressor` for programs of several MPI processes, which fit it together.

    Each process of ``MPI.COMM_WORLD`` calls `fit` with rows of its own, and gets the fitted estimator of all rows. Parameters,
    methods and attributes are those of `dforest.ExtraTreesRegressor`.
    """


class DecisionTreeClassifier(_OfAllRanks, dforest.DecisionTreeClassifier):
    """`dforest.DecisionTreeClassifier` for programs of several MPI processes, which fit it together.

    Each process of ``MPI.COMM_WORLD`` calls `fit` with rows of its own, and gets the fitted estimator of all rows. Parameters,
    methods and attributes are those of `dforest.DecisionTreeClassifier`.
    """


class DecisionTreeRegressor(_OfAllRanks, dforest.DecisionTreeRegressor):
    """`dforest.DecisionTreeRegressor` for programs of several MPI processes, which fit it together.

    Each process of ``MPI.COMM_WORLD`` calls `fit` with rows of its own, and gets the fitted estimator of all rows. Parameters,
    methods and attributes are those of `dforest.DecisionTreeRegressor`.
    """


class HistGradientBoostingClassifier(_OfAllRanks, dforest.HistGradientBoostingClassifier):
    """`dforest.HistGradientBoostingClassifier` for programs of several MPI processes, which fit it together.

    Each process of ``MPI.COMM_WORLD`` calls `fit` with rows of its own, and gets the fitted estimator of all rows. Parameters,
    methods and attributes are those of `dforest.HistGradientBoostingClassifier`.
    """


class HistGradientBoostingRegressor(_OfAllRanks, dforest.HistGradientBoostingRegressor):
    """`dforest.HistGradientBoostingRegressor` for programs of several MPI processes, which fit it together.

    Each process of ``MPI.COMM_WORLD`` calls `fit` with rows of its own, and gets the fitted estimator of all rows. Parameters,
    methods and attributes are those of `dforest.HistGradientBoostingRegressor`.
    """


class HistGradientBoostingDistribution(_OfAllRanks, dforest.HistGradientBoostingDistribution):
    """`dforest.HistGradientBoostingDistribution` for programs of several MPI processes, which fit it together.

    Each process of ``MPI.COMM_WORLD`` calls `fit` with rows of its own, and gets the fitted estimator of all rows. Parameters,
    methods and attributes are those of `dforest.HistGradientBoostingDistribution`.
    """


class HistGradientBoostingRanker(_OfAllRanks, dforest.HistGradientBoostingRanker):
    """`dforest.HistGradientBoostingRanker` for programs of several MPI processes, which fit it together.

    Each process of ``MPI.COMM_WORLD`` calls `fit` with rows of its own, and gets the fitted estimator of all rows. All rows of a
    query must lie in one process. Parameters, methods and attributes are those of `dforest.HistGradientBoostingRanker`.
    """


class IsolationForest(_OfAllRanks, dforest.IsolationForest):
    """`dforest.IsolationForest` for programs of several MPI processes, which fit it together.

    Each process of ``MPI.COMM_WORLD`` calls `fit` with rows of its own, and gets the fitted estimator of all rows. Parameters,
    methods and attributes are those of `dforest.IsolationForest`.
    """


class CausalForest(_OfAllRanks, dforest.CausalForest):
    """`dforest.CausalForest` for programs of several MPI processes, which fit it together.

    Each process of ``MPI.COMM_WORLD`` calls `fit` with rows of its own, and gets the fitted estimator of all rows. Parameters,
    methods and attributes are those of `dforest.CausalForest`.
    """


class UpliftForestClassifier(_OfAllRanks, dforest.UpliftForestClassifier):
    """`dforest.UpliftForestClassifier` for programs of several MPI processes, which fit it together.

    Each process of ``MPI.COMM_WORLD`` calls `fit` with rows of its own, and gets the fitted estimator of all rows. Parameters,
    methods and attributes are those of `dforest.UpliftForestClassifier`.
    """
