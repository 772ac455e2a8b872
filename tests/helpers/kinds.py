"""The classes of estimators that are trees, and no blends of such estimators."""

from dforest.estimators.tree_model import TreeModel
from dforest.public import estimators

OF_TREES = {kind.__name__: kind for kind in estimators() if issubclass(kind, TreeModel)}
