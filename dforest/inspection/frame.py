"""The nodes of trees as a data frame, as LightGBM's and XGBoost's functions of this name have them."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dforest.estimators.one_fit import as_fitted
from dforest.estimators.results.shapley import check_tests
from dforest.inspection.export import names_of_features


def trees_to_dataframe(estimator, *, feature_names=None):
    """Return a table of all nodes of all trees, with a row for each node.

    Trees come in order, and the nodes of each in preorder. ``frame.to_json(orient="records")`` writes the table as JSON, and
    ``frame["feature"].value_counts()`` counts the splits by each feature.

    Parameters
    ----------
    estimator : estimator
        A fitted forest, single tree or boosted trees.
    feature_names : list of str, default=None
        Names of the features. None means those that the estimator was fitted with, or else numbers.

    Returns
    -------
    pandas.DataFrame
        The columns, of which those that are about splits are missing for leaves:

        - `tree`, `node`, `depth`: numbers from 0;
        - `left`, `right`: the numbers of the node's children;
        - `feature`: what the node tests;
        - `threshold`: values up to it go left; missing if the feature is categorical;
        - `categories_left`: a list of the labels that go left;
        - `missing_left`: whether missing values go left;
        - `gain`: what the split gains: the weight of the node's training draws times the decrease of the impurity; of boosted
          trees, twice what the split takes off the loss, to second order;
        - `n_node_samples`: training draws, of which a row counts as often as the tree drew it;
        - `weighted_n_node_samples`: their sample weight; of boosted trees their number, whatever they weigh, and of those that
          XGBoost has grown their sum of Hessians;
        - `impurity`: of the node; not there for boosted trees;
        - `value`: what the node predicts, or would predict as a leaf: a number; or, with classes, a list of their shares; of
          boosted trees, what the node adds to the sum, or a list with several outputs.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If the splitter makes tests of its own, or `feature_names` is not as described.
    ImportError
        If pandas is not installed.

    Examples
    --------
    >>> import dforest
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = dforest.DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> frame = dforest.trees_to_dataframe(tree)
    >>> frame[["node", "left", "right", "feature", "threshold", "n_node_samples"]]
       node  left  right            feature  threshold  n_node_samples
    0     0     1      2  petal length (cm)       2.45             150
    1     1  <NA>   <NA>               <NA>        NaN              50
    2     2  <NA>   <NA>               <NA>        NaN             100
    """
    estimator = as_fitted(estimator)
    check_is_fitted(estimator)
    import pandas

    forest = estimator.forest_
    check_tests(forest, "trees_to_dataframe", ', or export_text, which shows the functions of leaves')
    names = np.array([*names_of_features(estimator, feature_names, "{}"), None], object)
    tables = [forest.node_table(t) for t in range(forest.n_trees)]
    draws, weight, value, impurity, decrease = (np.concatenate(parts) for parts in zip(*tables, strict=True))
    lengths = np.diff(forest.node_offsets)
    tree, inner = np.repeat(np.arange(forest.n_trees), lengths), forest.feature >= 0
    node = np.arange(len(tree)) - np.repeat(forest.node_offsets[:-1], lengths)
    unit = forest.weight_unit[tree]

    def of_splits(values, dtype):
        return pandas.Series(values).astype(dtype).where(inner)

    columns = {
        "tree": tree,
        "node": node,
        "depth": forest.depths(),
        "left": of_splits(node + 1, "Int64"),
        "right": of_splits(forest.link.astype(np.int64), "Int64"),
        "feature": pandas.array(names[forest.feature], dtype="string"),
        "threshold": np.where(inner, forest.threshold, np.nan),
        "categories_left": _labels_left(estimator, forest),
        "missing_left": of_splits(forest.missing_left, "boolean"),
        "gain": np.where(inner, decrease if forest.objective.keeps_gains else decrease * unit, np.nan),
        "n_node_samples": draws,
        "weighted_n_node_samples": forest.objective.total_weight(weight).astype(np.float64) * unit,
        "impurity": impurity,
        "value": value[:, 0] if value.shape[1] == 1 else value.tolist(),
    }
    if forest.objective.keeps_gains:
        del columns["impurity"]
    return pandas.DataFrame(columns)


def _labels_left(estimator, forest):
    """The labels that each node sends left, None if it tests none: ndarray of object."""
    found = np.full(len(forest.feature), None, object)
    for node in np.flatnonzero((forest.feature >= 0) & (forest.n_categories[forest.feature] > 0)).tolist():
        labels = estimator._features.categories[forest.feature[node]]
        is_left = np.isin(np.arange(len(labels)), forest.subset_of(node)) != forest.missing_left[node]
        found[node] = labels[is_left].tolist()
    return found
