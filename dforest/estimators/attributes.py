"""The attributes of fitted estimators, as docstrings describe them: one table of names, types and descriptions.

`dforest.estimators.declaration` makes docstrings from it; the families are those of `dforest.estimators.parameters`.
"""

from dataclasses import dataclass

from dforest.estimators.parameters import (
    BOOSTING,
    CLASSIFIERS,
    EMBEDDINGS,
    FAMILIES,
    FORESTS,
    IN_TABLE,
    PREDICTORS,
    REGRESSORS,
    TREES,
)


@dataclass(frozen=True)
class Attribute:
    """An attribute, or several that are described together.

    Parameters
    ----------
    name : str
        The name; several are separated by commas.
    type : str
        {tree} stands for the class of a forest's single trees.
    doc : str
        Whole sentences, or nothing where the type says all.
    of : frozenset of str
        The families whose estimators have the attribute.
    """

    name: str
    type: str
    doc: str
    of: frozenset = FAMILIES


ATTRIBUTES = (
    Attribute("forest_", "Forest", "All trees as arrays: ``forest_.as_dict()``.", FORESTS | EMBEDDINGS),
    Attribute("forest_", "Forest", "The tree as arrays: ``forest_.as_dict()``.", TREES),
    Attribute(
        "forest_",
        "Forest",
        "All trees as arrays: ``forest_.as_dict()``. Tree t was grown in the round ``t // n_trees_per_iteration_``.",
        BOOSTING,
    ),
    Attribute("n_iter_", "int", "Number of rounds that were grown.", BOOSTING),
    Attribute(
        "n_trees_per_iteration_",
        "int",
        "Number of trees of a round: the number of classes if these are more than two, else 1.",
        BOOSTING,
    ),
    Attribute("do_early_stopping_", "bool", "Whether growing was to stop when scores got no better.", BOOSTING),
    Attribute(
        "train_score_, validation_score_",
        "ndarray of shape (n_rounds + 1,), dtype float64",
        """Scores of the training rows, and of the rows held out, before the first round and after each. Empty without early
        stopping, or if there are no such rows.""",
        BOOSTING,
    ),
    Attribute("tree_", "dforest.interop.Tree", "The tree with the attributes of scikit-learn's tree objects.", TREES),
    Attribute("estimator, estimator_", "{tree}", "A single tree, not fitted, with the forest's parameters.", FORESTS),
    Attribute(
        "estimators_",
        "list of {tree}",
        "The trees one by one, made when asked for; they share the forest's arrays.",
        FORESTS | EMBEDDINGS,
    ),
    Attribute(
        "n_estimators_",
        "int",
        "Number of trees: fewer than `n_estimators` if a callback ended the fit.",
        FORESTS | EMBEDDINGS,
    ),
    Attribute("n_features_in_", "int", "Number of columns of X."),
    Attribute(
        "feature_names_in_",
        "ndarray of shape (n_features,)",
        "Names of the columns of X, set only if X was a frame whose column names are all strings.",
    ),
    Attribute(
        "is_categorical_, is_ordinal_",
        "ndarray of shape (n_features,), dtype bool",
        "For each column, whether it is categorical, and whether it is ordinal.",
        IN_TABLE,
    ),
    Attribute(
        "is_categorical_",
        "ndarray of shape (n_features,), dtype bool, or None",
        "Which columns are categorical; None if none is.",
        BOOSTING,
    ),
    Attribute("is_ordinal_", "ndarray of shape (n_features,), dtype bool", "Which columns are ordinal.", BOOSTING),
    Attribute(
        "categories_",
        "list of length n_features",
        """For each column an ndarray of its labels, whose places 0, 1, ... trees test: of a categorical column
        the labels in training, sorted; of an ordinal one that holds no numbers the declared levels. None
        for other columns.""",
        IN_TABLE | BOOSTING,
    ),
    Attribute(
        "fit_report_",
        "FitReport",
        "Where the last `fit` grew trees, and what that took: see `dforest.fit_report.FitReport`.",
    ),
    Attribute(
        "feature_importances_",
        "ndarray of shape (n_features,)",
        "Impurity-based importances, scaled to sum 1.",
        PREDICTORS,
    ),
    Attribute(
        "feature_importances_",
        "ndarray of shape (n_features,)",
        "The share of each feature in the gain of all splits; 0 if no tree has a split.",
        BOOSTING,
    ),
    Attribute(
        "variable_importance_, variable_importance_std_",
        "ndarray of shape (n_features,)",
        "The importances that `variable_importance` asks for, and their standard deviation over trees.",
        FORESTS,
    ),
    Attribute(
        "oob_score_",
        "float",
        """Accuracy, R2, or what the callable gave, of predictions out of bag. Set, as all estimates out of bag are,
        if `oob_score` is. If several processes hold the rows, estimates by row are those of this one's rows.""",
        FORESTS,
    ),
    Attribute(
        "oob_error_",
        "float",
        """Misclassification rate by majority of the votes of a row's trees, or mean squared error; the mean over outputs, if
        there are several.""",
        FORESTS,
    ),
    Attribute(
        "oob_error_per_observation_",
        "ndarray of shape (n_rows,)",
        "Errors of the rows; NaN for rows that every tree drew, or of weight 0.",
        FORESTS,
    ),
    Attribute("oob_curve_", "ndarray of shape (n_estimators,)", "`oob_error_` after 1, 2, ... trees.", FORESTS),
    Attribute("n_never_oob_", "int", "Number of rows of positive weight that every tree drew.", FORESTS),
    Attribute(
        "oob_decision_function_",
        "ndarray of shape (n_rows, n_classes)",
        """Class probabilities by the trees that never drew the row; NaN where there is none. Of several outputs, of shape
        (n_rows, n_classes, n_outputs), or a list of arrays if they differ in the number of classes.""",
        FORESTS & CLASSIFIERS,
    ),
    Attribute(
        "oob_prediction_",
        "ndarray of shape (n_rows,) or (n_rows, n_outputs)",
        "Predictions by the trees that never drew the row; NaN where there is none.",
        FORESTS & REGRESSORS,
    ),
    Attribute(
        "classes_",
        "ndarray of shape (n_classes,)",
        "The class labels, sorted; of several outputs, which forests and trees may have, a list of such arrays.",
        CLASSIFIERS | frozenset({"boosting classifier"}),
    ),
    Attribute(
        "n_classes_",
        "int",
        "Number of classes; of several outputs a list of these.",
        CLASSIFIERS | frozenset({"boosting classifier"}),
    ),
)
