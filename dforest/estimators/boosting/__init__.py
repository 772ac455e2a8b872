"""Boosted trees."""

from importlib import import_module

_OF_PICKLES = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")  # of versions in which this was a module


def __getattr__(name):
    if name in _OF_PICKLES:
        return getattr(import_module("dforest.estimators.boosting.boosting"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
