"""Trees and forests of trees that do not depend on each other."""

from importlib import import_module

# Of versions in which this was a module.
_OF_PICKLES = ("ExtraTreesClassifier", "ExtraTreesRegressor", "RandomForestClassifier", "RandomForestRegressor")


def __getattr__(name):
    if name in _OF_PICKLES:
        return getattr(import_module("dforest.estimators.forest.forest"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
