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
    """`dforest.RandomForestClassifier`, fitted by all ranks of ``MPI.COMM_WORLD`` together, each with rows of its own."""


class RandomForestRegressor(_OfAllRanks, dforest.RandomForestRegressor):
    """`dforest.RandomForestRegressor`, fitted by all ranks of ``MPI.COMM_WORLD`` together, each with rows of its own."""


class ExtraTreesClassifier(_OfAllRanks, dforest.ExtraTreesClassifier):
    """`dforest.ExtraTreesClassifier`, fitted by all ranks of ``MPI.COMM_WORLD`` together, each with rows of its own."""


class ExtraTreesRegressor(_OfAllRanks, dforest.ExtraTreesRegressor):
    """`dforest.ExtraTreesRegressor`, fitted by all ranks of ``MPI.COMM_WORLD`` together, each with rows of its own."""


class DecisionTreeClassifier(_OfAllRanks, dforest.DecisionTreeClassifier):
    """`dforest.DecisionTreeClassifier`, fitted by all ranks of ``MPI.COMM_WORLD`` together, each with rows of its own."""


class DecisionTreeRegressor(_OfAllRanks, dforest.DecisionTreeRegressor):
    """`dforest.DecisionTreeRegressor`, fitted by all ranks of ``MPI.COMM_WORLD`` together, each with rows of its own."""


class HistGradientBoostingClassifier(_OfAllRanks, dforest.HistGradientBoostingClassifier):
    """`dforest.HistGradientBoostingClassifier`, fitted by all ranks of ``MPI.COMM_WORLD`` together, each with rows."""


class HistGradientBoostingRegressor(_OfAllRanks, dforest.HistGradientBoostingRegressor):
    """`dforest.HistGradientBoostingRegressor`, fitted by all ranks of ``MPI.COMM_WORLD`` together, each with rows."""
