"""The attributes of fitted estimators, as docstrings describe them: one table of names, types and descriptions.

`dforest.estimators.declaration` makes docstrings from it; the families are those of `dforest.estimators.families`.
"""

from dataclasses import dataclass

from dforest.estimators.families import (
    BLENDS,
    BOOSTED_CLASSES,
    BOOSTED_DISTRIBUTIONS,
    BOOSTED_NUMBERS,
    BOOSTING,
    CAUSAL,
    CLASSIFIERS,
    EMBEDDINGS,
    FAMILIES,
    FORESTS,
    IN_TABLE,
    ISOLATION,
    OF_TREES,
    PREDICTORS,
    REGRESSORS,
    SURVIVAL,
    TREES,
    UPLIFT,
)

MANY_TREES = FORESTS | EMBEDDINGS | ISOLATION | CAUSAL | UPLIFT


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
        Whole sentences or phrases that stand alone.
    of : frozenset of str
        The families whose estimators have the attribute.
    """

    name: str
    type: str
    doc: str
    of: frozenset = FAMILIES


ATTRIBUTES = (
    Attribute("forest_", "Forest", "All trees as arrays, which ``forest_.as_dict()`` returns by name.", MANY_TREES),
    Attribute("forest_", "Forest", "The tree as arrays, which ``forest_.as_dict()`` returns by name.", TREES),
    Attribute(
        "forest_",
        "Forest",
        """All trees as arrays, which ``forest_.as_dict()`` returns by name. Tree t was grown in the iteration
        ``t // n_trees_per_iteration_``.""",
        BOOSTING,
    ),
    Attribute(
        "n_iter_",
        "int",
        """Number of iterations that the model has: those that were grown, or with `use_best_model` those up to the best one;
        after a refit, those that all rows have grown.""",
        BOOSTING,
    ),
    Attribute(
        "learning_rate_, max_iter_, l2_regularization_, max_features_, categorical_split_, validation_fraction_, "
        "validation_folds_, refit_, n_iter_no_change_, tol_",
        "float, int, bool or str",
        """What the parameters of these names meant in the last `fit`, where "auto" leaves it to `defaults`.""",
        BOOSTING,
    ),
    Attribute(
        "best_iteration_",
        "int or None",
        """Number of iterations, from 1 on, after which the score that decides about early stopping was highest, and of equally
        good numbers the lowest: ``validation_score_[best_iteration_]``, or with ``validation_fraction=None`` the entry of
        `train_score_`, is `best_score_`. After a refit it is the number of the search. None if there was no early stopping.""",
        BOOSTING,
    ),
    Attribute(
        "leaf_model_",
        "str",
        """What leaves are: "constant" or "linear". With ``leaf_model="auto"``, it is the one that scored better.""",
        BOOSTING,
    ),
    Attribute(
        "leaf_model_scores_",
        "dict",
        """The best score of each kind of leaves, "constant" and "linear", on the rows that were held out: the higher, the better.
        It is there only with ``leaf_model="auto"``.""",
        BOOSTING,
    ),
    Attribute(
        "oof_prediction_",
        "ndarray of shape (n_rows, n_classes)",
        """Class probabilities of each row, out of fold: by the trees of the fold that held the row out, after `best_iteration_`
        iterations, or with ``use_best_model=False`` after all that were grown. With `n_bags`, raw predictions are means over the
        bags, each of which has folds of its own. NaN for rows of weight 0. For several outputs, the shape
        is (n_rows, n_classes, n_outputs), or there is a list of arrays if outputs differ in the number of classes. It is there
        only if rows were held out in turn: `validation_folds_` is above 1, and decided about the iterations.""",
        BOOSTED_CLASSES,
    ),
    Attribute(
        "oof_prediction_",
        "ndarray of shape (n_rows,) or (n_rows, n_outputs)",
        """Prediction for each row, out of fold: by the trees of the fold that held the row out, after `best_iteration_`
        iterations, or with ``use_best_model=False`` after all that were grown. With `n_bags`, raw predictions are means over the
        bags, each of which has folds of its own. NaN for rows of weight 0. It is there only if rows were held
        out in turn: `validation_folds_` is above 1, and decided about the iterations.""",
        BOOSTING - BOOSTED_CLASSES,
    ),
    Attribute(
        "conformal_scores_",
        "ndarray of shape (n_bands, n_rows), dtype float64",
        """How far the targets of the rows that `conformalize` was given lie outside the bands that they were expected in, in
        ascending order, and below 0 inside: see `predict_interval`. There is a band for each output or, if `quantile` is a list,
        for each pair of quantiles that leave equal shares of targets out. A new fit removes the attribute.""",
        BOOSTED_NUMBERS,
    ),
    Attribute(
        "conformal_scores_",
        "ndarray of shape (1, n_rows), dtype float64",
        """How far out the targets of the rows that `conformalize` was given are in the distributions predicted for them, in
        ascending order: minus the probability of a target of at most this, or, if it is smaller, of at least this. See
        `predict_interval`. A new fit removes the attribute.""",
        BOOSTED_DISTRIBUTIONS,
    ),
    Attribute(
        "oof_parameters_",
        "ndarray of shape (n_rows, n_parameters), dtype float64",
        """Parameters of the distribution of each row, out of fold, of which `oof_prediction_` are the means. It is there only
        where the latter is.""",
        BOOSTED_DISTRIBUTIONS,
    ),
    Attribute(
        "best_score_", "float or None", "Score after `best_iteration_` iterations; None if there was no early stopping.", BOOSTING
    ),
    Attribute(
        "estimators_",
        "ndarray of shape (n_iterations, n_trees_per_iteration), dtype object",
        """The trees one by one: `DecisionTreeRegressor`, which predict what they add to raw predictions. They are made when they
        are asked for, and share the model's arrays.""",
        BOOSTING,
    ),
    Attribute(
        "n_trees_per_iteration_",
        "int",
        "Number of trees of an iteration: `n_bags`, times the number of classes if there are more than two.",
        BOOSTING,
    ),
    Attribute("do_early_stopping_", "bool", "Whether growing was to stop early, when scores got no better.", BOOSTING),
    Attribute(
        "train_score_, validation_score_",
        "ndarray of shape (n_iterations + 1,), dtype float64",
        """Scores of the training rows and of the rows held out, before the first iteration and after each one that was grown,
        those that were dropped included. With `validation_folds` they are means over the folds, and with `n_bags` over the bags,
        each of which is scored by itself. An array is empty if the last `fit` had no early stopping, or if there are no such
        rows.""",
        BOOSTING,
    ),
    Attribute(
        "score_history_",
        "dict",
        """Scores by each entry of `scoring`, with the keys "training" and, if rows were held out, "validation": arrays like
        `train_score_` and `validation_score_`, which are those by the first entry. Empty without early stopping.""",
        BOOSTING,
    ),
    Attribute(
        "tree_",
        "dforest.inspection.interop.Tree",
        "The tree as an object with the attributes of scikit-learn's tree objects.",
        TREES,
    ),
    Attribute("estimator, estimator_", "{tree}", "A single tree, not fitted, with the forest's parameters.", FORESTS),
    Attribute(
        "estimators_",
        "list of {tree}",
        "The trees one by one. They are made when first asked for, and share the forest's arrays.",
        MANY_TREES - CAUSAL,
    ),
    Attribute(
        "n_estimators_",
        "int",
        "Number of trees in the fitted forest, less than `n_estimators` if a callback (`set_callbacks`) ended the fit.",
        MANY_TREES,
    ),
    Attribute(
        "y_hat_, w_hat_, z_hat_",
        "ndarray of shape (n_rows, n_outcomes) or (n_rows, n_treatments), or None",
        """What is expected of outcomes, treatments and instruments given X, by models that were not fitted on the row.
        `z_hat_` is None if there are no instruments.""",
        CAUSAL,
    ),
    Attribute(
        "arms_",
        "ndarray of shape (n_treatments + 1,), or None",
        "The arms, if the treatment has labels, in ascending order: the control comes first. None if treatments are numbers.",
        CAUSAL,
    ),
    Attribute(
        "arms_",
        "ndarray of shape (n_arms,)",
        "The labels of the treatment, in ascending order: the control comes first.",
        UPLIFT,
    ),
    Attribute(
        "outcomes_",
        "ndarray of shape (2,)",
        "The labels of y, in ascending order; probabilities and uplifts are those of the second one.",
        UPLIFT,
    ),
    Attribute(
        "classes_, n_classes_",
        "ndarray of shape (2 * n_arms,), int",
        "The classes of single trees: numbers ``2 * arm + outcome``, by the places of labels in `arms_` and `outcomes_`.",
        UPLIFT,
    ),
    Attribute(
        "feature_importances_",
        "ndarray of shape (n_features,)",
        """How often features split nodes near the roots, scaled to sum 1: the shares of splits at depths 1 to 4, from 1 on for
        the root, weighted by 1 / depth**2.""",
        CAUSAL | UPLIFT,
    ),
    Attribute(
        "offset_",
        "float",
        """What `decision_function` takes off scores: -0.5, or, if `contamination` is a number, the score below which there is
        this share of the training rows.""",
        ISOLATION,
    ),
    Attribute(
        "best_params_",
        "dict",
        """Values of the parameters that are "auto", as the last `fit` has chosen them out of bag. It is there only if there are
        such parameters.""",
        FORESTS - SURVIVAL | CAUSAL,
    ),
    Attribute(
        "selection_",
        "dict",
        """The small forests that `best_params_` were chosen by, in the order in which they were grown. "params" is a list of the
        values of each, and "param_max_features", say, an array of the values of one parameter; "mean_loss" is the squared error
        out of bag, of classes the Brier score, that a forest of `n_estimators` trees is expected to have, "std_error" its
        standard error over rows, and "rank" its place among all, from 1 on. ``pandas.DataFrame(forest.selection_)`` is a table
        of it. It is there only if there is something to choose. The loss of a `CausalForest` is the squared residual of outcomes,
        given the effects out of bag.""",
        FORESTS - SURVIVAL | CAUSAL,
    ),
    Attribute("max_samples_", "int", "Number of draws of each tree of the last `fit`.", ISOLATION),
    Attribute("n_features_in_", "int", "Number of columns of the training data."),
    Attribute(
        "feature_names_in_",
        "ndarray of shape (n_features,)",
        "Names of the columns of X; set only if X was a data frame whose column names are all strings.",
    ),
    Attribute(
        "is_categorical_, is_ordinal_",
        "ndarray of shape (n_features,), dtype bool",
        "For each column, whether it is categorical, and whether it is ordinal.",
        IN_TABLE | CAUSAL | UPLIFT,
    ),
    Attribute(
        "is_categorical_",
        "ndarray of shape (n_features,), dtype bool, or None",
        "For each column, whether it is categorical; None if none is.",
        BOOSTING,
    ),
    Attribute("is_ordinal_", "ndarray of shape (n_features,), dtype bool", "For each column, whether it is ordinal.", BOOSTING),
    Attribute(
        "categories_",
        "list of length n_features",
        """Labels of each column. For a categorical column this is an ndarray of the labels in training, sorted; for an ordinal
        column that holds no numbers, an ndarray of the declared levels; for other columns None. Inside of trees,
        a label is its index in this array.""",
        IN_TABLE | BOOSTING | CAUSAL | UPLIFT,
    ),
    Attribute(
        "fit_report_",
        "FitReport",
        "Where the last `fit` grew its trees, and what that took: see `dforest.engines.fit_report.FitReport`.",
        OF_TREES,
    ),
    Attribute(
        "estimators_, named_estimators_",
        "list, Bunch",
        "The fitted members that have a weight, in the order of `members`; and by name.",
        BLENDS,
    ),
    Attribute(
        "weights_",
        "ndarray of shape (n_members,)",
        "The weights of `estimators_`, which are above 0 and sum to 1.",
        BLENDS,
    ),
    Attribute(
        "selection_",
        "list of dict",
        """What became of each of the `members`: its "name", its "loss" on rows that it was not fitted on, its "weight" in the
        blend, how many "seconds" its fits took, and a "note" that says why it was left out, or is empty. The loss is the log loss
        or the mean squared error; it is NaN for a member that was left out. ``pandas.DataFrame(blend.selection_)`` is a table of
        it.""",
        BLENDS,
    ),
    Attribute(
        "oof_prediction_",
        "ndarray of shape (n_rows,) or (n_rows, n_classes)",
        """What the blend predicts of each training row by trees that were not grown on it; NaN for rows of which that is not
        known, as all trees of a forest drew them.""",
        BLENDS,
    ),
    Attribute(
        "oof_loss_",
        "float",
        """The loss of `oof_prediction_`, of the kind that `selection_` has. As the weights are chosen by it, it is a little less
        than that of new rows.""",
        BLENDS,
    ),
    Attribute(
        "feature_importances_",
        "ndarray of shape (n_features,)",
        "The members' importances of the features, averaged by weight; they sum to 1, or are 0 if no tree has a split.",
        BLENDS,
    ),
    Attribute(
        "feature_importances_",
        "ndarray of shape (n_features,)",
        "Importances of the features by the impurity decrease that they bring; they sum to 1, or are 0 if no tree has a split.",
        PREDICTORS,
    ),
    Attribute(
        "feature_importances_",
        "ndarray of shape (n_features,)",
        "Share of each feature in the gain of all splits; all are 0 if no tree has a split.",
        BOOSTING,
    ),
    Attribute(
        "variable_importance_, variable_importance_std_",
        "ndarray of shape (n_features,)",
        "Importances of the kind that `variable_importance` asks for, and their standard deviations over trees.",
        FORESTS,
    ),
    Attribute(
        "oob_score_",
        "float",
        """Score of the out-of-bag predictions: accuracy, R2, or what the scorer returned. By default, classes are predicted
        as `voting` says. It is set unless ``oob_score=False``, as the other attributes ``oob_*`` are. After a fit by several
        processes (`dforest.spmd`, `dforest.dask`), attributes with an entry for each row are about the rows of this process.""",
        FORESTS - SURVIVAL,
    ),
    Attribute(
        "oob_score_",
        "float",
        """Concordance of the out-of-bag predictions, by the index that `oob_score` names; NaN if no rows are comparable. It is
        set unless ``oob_score=False``, as the other attributes ``oob_*`` are.""",
        FORESTS & SURVIVAL,
    ),
    Attribute(
        "oob_error_",
        "float",
        """Out-of-bag error: for classification, the misclassification rate by the majority of the votes of a row's trees,
        whatever `voting` is, so that it may differ from 1 - `oob_score_`; for
        regression, the mean squared error. For several outputs it is the mean over them.""",
        FORESTS - SURVIVAL,
    ),
    Attribute(
        "oob_error_",
        "float",
        """Out-of-bag error: 1 - `oob_score_`; the integrated Brier score with ``oob_score="neg_integrated_brier_score"``.""",
        FORESTS & SURVIVAL,
    ),
    Attribute(
        "oob_error_per_observation_",
        "ndarray of shape (n_rows,)",
        "Out-of-bag error of each row; NaN for a row that every tree drew, or whose weight is 0.",
        FORESTS - SURVIVAL,
    ),
    Attribute(
        "oob_curve_", "ndarray of shape (n_estimators,)", "Out-of-bag error of the first 1, 2, ... trees.", FORESTS - SURVIVAL
    ),
    Attribute("n_never_oob_", "int", "Number of rows of positive weight that every tree drew.", FORESTS),
    Attribute(
        "oob_decision_function_",
        "ndarray of shape (n_rows, n_classes)",
        """Class probabilities of each row by the trees that never drew it; NaN if there is no such tree. For several outputs,
        the shape is (n_rows, n_classes, n_outputs), or there is a list of arrays if outputs differ in the number of classes.""",
        FORESTS & CLASSIFIERS,
    ),
    Attribute(
        "calibration_",
        "dict",
        """With ``calibration="oob"``: the "temperature" T that was found, and the "floor" that is added to each share s of the
        trees' votes. Probabilities are in proportion to ``(s + floor) ** (1 / T)``.""",
        FORESTS & CLASSIFIERS,
    ),
    Attribute(
        "oob_prediction_",
        "ndarray of shape (n_rows,) or (n_rows, n_outputs)",
        "Prediction for each row by the trees that never drew it; NaN if there is no such tree.",
        FORESTS & REGRESSORS,
    ),
    Attribute(
        "oob_prediction_",
        "ndarray of shape (n_rows,)",
        "Risk of each row by the trees that never drew it; NaN if there is no such tree.",
        FORESTS & SURVIVAL,
    ),
    Attribute(
        "unique_times_",
        "ndarray of shape (n_times,)",
        "Different times of the training rows, ascending, of events or not.",
        SURVIVAL,
    ),
    Attribute(
        "event_times_",
        "ndarray of shape (n_event_times,)",
        "Those of `unique_times_` at which a training row has an event.",
        SURVIVAL,
    ),
    Attribute(
        "classes_",
        "ndarray of shape (n_classes,)",
        "Class labels, sorted; for several outputs, a list of such arrays.",
        CLASSIFIERS | frozenset({"boosting classifier", "blend classifier"}),
    ),
    Attribute(
        "n_classes_",
        "int",
        "Number of classes; for several outputs, a list of these numbers.",
        CLASSIFIERS | frozenset({"boosting classifier", "blend classifier"}),
    ),
)
