"""The trees of a boosted model one by one, as single-tree estimators."""

import numpy as np

from dforest.estimators.boosting.losses import Loss
from dforest.estimators.data.encoder import CATEGORICAL, ORDINAL
from dforest.estimators.forest.tree import DecisionTreeRegressor


def trees_of(model):
    """Single-tree estimators that share the arrays of a fitted boosted model.

    Parameters
    ----------
    model : BoostingEstimator

    Returns
    -------
    ndarray of shape (n_iterations, n_trees_per_iteration), dtype object
        `DecisionTreeRegressor`, which predict what the trees add to raw predictions.
    """
    forest, features = model.forest_, model._features
    names = "n_features_in_", "feature_names_in_", "_features"
    fitted = {name: value for name, value in dict(vars(model)).items() if name in names}
    fitted |= {
        "is_categorical_": features.kinds == CATEGORICAL,
        "is_ordinal_": features.kinds == ORDINAL,
        "categories_": list(features.categories),
        "fit_report_": model.fit_report_,
        "n_trees_per_iteration_": 1,  # as their forests are those of boosted trees, with a loss without a link
        "_loss": Loss("squared_error"),
    }
    trees = np.empty(forest.n_trees, object)
    for t in range(forest.n_trees):
        trees[t] = tree = DecisionTreeRegressor()
        arrays = forest.tree(t)
        tree.__dict__.update(fitted, forest_=arrays, _seen_in=arrays)
    return trees.reshape(-1, model.n_trees_per_iteration_)
