"""What parameters of other libraries are called here, for the errors about names that an estimator does not have.

The names are those of LightGBM, XGBoost, CatBoost, cuML, oneDAL, ranger, randomForest and grf (with points as underscores).
"""

from functools import wraps
from inspect import signature

from dforest.public import ESTIMATORS, public

# By the name here, or by a sentence: names elsewhere.
_ANYWHERE = {
    "n_jobs": "num_threads num_thread nthread nthreads n_threads thread_count n_streams",
    "random_state": "seed random_seed bagging_seed feature_fraction_seed data_random_seed extra_seed",
    "max_leaf_nodes": "num_leaves num_leaf max_leaves max_leaf maxnodes",
    "max_depth": "max_tree_depth depth",
    "max_bins": "max_bin n_bins border_count",
    "categorical_features": "categorical_feature cat_feature cat_features categorical_column cat_column enable_categorical",
    "monotonic_cst": "monotone_constraints monotone_constraint monotonic_constraints mc",
    "class_weight": "class_weights classwt",
    'class_weight="balanced", or a dict such as {1: 3}, gives classes other weights': (
        "scale_pos_weight is_unbalance unbalance unbalanced_sets auto_class_weights"
    ),
    "verbose": "verbosity verbose_eval logging_level silent do_trace",
    "device": "device_type task_type gpu_id",
    "fit(sample_weight=...) is for weights": (
        "weight weights weight_column sample_weight sample_weights equalize_cluster_weights"
    ),
    "Missing values need no parameter: they go to the side of a split that is better": (
        "missing missing_values use_missing zero_as_missing nan_mode na_action"
    ),
    "Classes are counted by fit": "num_class n_classes num_classes classes_count",
    "What is sparse, and how columns are coded and bundled, is found by fit": (
        "enable_bundle is_enable_bundle bundle is_enable_sparse is_sparse sparse force_col_wise force_row_wise two_round "
        "histogram_pool_size save_memory memory_saving_mode"
    ),
    "Bins are found from all rows": "bin_construct_sample_cnt subsample_for_bin sketch_eps",
    "The model does not depend on the number of threads, ranks or devices, without any parameter": (
        "deterministic tree_learner num_machines"
    ),
    "n_projections": "sparse_oblique_max_num_projections",
    "A float as n_projections is an exponent of the number of features": "sparse_oblique_num_projections_exponent",
    "projection_density": "sparse_oblique_projection_density_factor feature_combinations",
    "projection_weights": "sparse_oblique_weights",
    "projection_scaling": "sparse_oblique_normalization",
    "projections, of dforest.splitter.patch_projections": "data_dims min_patch_dims max_patch_dims",
}
_BOOSTED = _ANYWHERE | {
    "Boosted trees are always grown by bins, of which max_bins is the number; device says where": "tree_method",
    "Boosted trees take a loss, which says what splits decrease; random forests and single trees have a criterion": (
        "criterion"
    ),
    "max_iter": (
        "n_estimators num_iterations num_iteration num_boost_round num_round num_rounds nrounds n_rounds n_iter num_trees "
        "num_tree iterations"
    ),
    "learning_rate": "eta shrinkage_rate",
    "n_bags": "outer_bags num_bag_sets",
    "An iteration grows one tree for each raw prediction; n_bags averages whole models": "num_parallel_tree inner_bags",
    "loss": "objective objective_type application app loss_function",
    "min_samples_leaf": "min_child_samples min_data_in_leaf min_data_per_leaf min_data min_rows",
    "min_sum_hessian_in_leaf": "min_child_weight min_sum_hessian min_sum_hessian_per_leaf min_hessian_in_leaf",
    "l2_regularization": "reg_lambda lambda_l2 lambda l2_leaf_reg l2",
    "l1_regularization": "reg_alpha lambda_l1 l1",
    "categorical_smoothing": "cat_smooth",
    "min_samples_category": "min_data_per_group",
    "subsample": "bagging_fraction sub_row bagging bootstrap_fraction",
    "subsample of HistGradientBoostingClassifier takes shares of classes, such as {0: 0.2}, where other classes keep all rows": (
        "pos_bagging_fraction pos_sub_row pos_bagging neg_bagging_fraction neg_sub_row neg_bagging"
    ),
    'sampling="query" of HistGradientBoostingRanker draws whole queries, of which subsample is the share': (
        "bagging_by_query sampling_unit"
    ),
    "colsample_bytree": "feature_fraction sub_feature rsm",
    "max_features": "colsample_bynode feature_fraction_bynode sub_feature_bynode",
    "max_delta_step": "max_tree_output max_leaf_output",
    'There is no such factor: with loss="poisson", LightGBM divides steps by exp(0.7), so that half its learning_rate does the '
    "same here": "poisson_max_delta_step",
    "learning_rate is one number for all iterations of a fit; the page 'How do I ...?' says how blocks of iterations have "
    "others, by warm_start=True": "learning_rates reset_parameter",
    "n_iter_no_change": (
        "early_stopping_rounds early_stopping_round early_stopping_patience od_wait early_stopping_num_trees_look_ahead"
    ),
    "tol": "early_stopping_min_delta",
    "scoring": "eval_metric metric metrics metric_types custom_metric feval",
    "The first metric of scoring alone decides when growing stops; the others are only scored": "first_metric_only",
    "interaction_cst": "interaction_constraints",
    "power": "tweedie_variance_power variance_power",
    "quantile": "alpha quantile_alpha",
    "fit(X_val=..., y_val=...) is for validation rows": (
        "eval_set eval_sets eval_X eval_y valid valid_sets validation_data eval_names evals"
    ),
    "fit(offset=...) is for what raw predictions begin with": (
        "init_score base_margin baseline base_score boost_from_average init"
    ),
    "fit(sample_weight_val=...) is for weights of validation rows": "eval_sample_weight eval_class_weight sample_weight_eval_set",
    "fit(offset_val=...) is for what raw predictions of validation rows begin with": "eval_init_score base_margin_eval_set",
    "set_callbacks is for callbacks; n_iter_no_change and early_stopping stop early, and verbose prints scores": (
        "callbacks callback"
    ),
    "warm_start=True goes on with the model's own trees; from_lightgbm and from_xgboost make a model of another library's": (
        "init_model xgb_model"
    ),
    "HistGradientBoostingRanker is for ranking, whose fit takes qid=... or group=..., and qid_val or group_val": (
        "group qid group_id groups eval_group eval_qid"
    ),
    "HistGradientBoostingRanker scores by scoring, such as 'ndcg@10'": "eval_at ndcg_eval_at ndcg_at map_eval_at map_at",
    "dforest.loss.LambdaRank has the parameters of the loss for ranking: truncation_level, sigmoid, normalize, label_gain": (
        "lambdarank_truncation_level max_position lambdarank_norm label_gain lambdarank_num_pair_per_sample "
        "lambdarank_normalization lambdarank_pair_method"
    ),
    "Each iteration draws its rows anew where subsample is below 1": "bagging_freq subsample_freq",
    "boosting": "boosting_type booster",
    'sampling="mvs" draws rows by their gradients where subsample is below 1, and has the place of GOSS': (
        "data_sample_strategy top_rate other_rate goss sampling_method bootstrap_type mvs_reg"
    ),
    "Boosted trees are not honest: each is grown by what the trees before it leave over, so that no rows are new to its leaves": (
        "honest honesty honest_fraction honesty_fraction"
    ),
    "drop_rate": "rate_drop",
    'boosting="dart" drops iterations with equal chances, and weighs them as XGBoost does with normalize_type="tree"': (
        "uniform_drop xgboost_dart_mode one_drop sample_type normalize_type"
    ),
    "min_gain_to_split": "min_split_gain gamma min_split_loss min_impurity_decrease",
    "multi_class": "multi_strategy",
    "Trees grow best first; max_leaf_nodes and max_depth limit them": "grow_policy growing_strategy policy",
    'leaf_model="linear" makes leaves linear': "linear_tree linear_trees",
    "linear_l2": "linear_lambda",
    "Leaves have one value each, by one Newton step, or a linear function (leaf_model)": "leaf_estimation_method",
    "Bins may have any number of rows": "min_data_in_bin",
    "max_bins is for all columns alike": "max_bin_by_feature",
    'splitter="random" tries one cut of each column': "extra_trees extra_tree",
    "In a node, categories are sorted by gradient, and parted in this order": (
        "max_cat_threshold max_cat_to_onehot one_hot_max_size"
    ),
    "l2_regularization is for splits of all columns alike, categorical_smoothing for the order of categories": "cat_l2",
    "Constraints hold exactly, by the one method that there is": "monotone_constraints_method",
    "monotone_penalty": "mono_penalty monotone_splits_penalty",
    "feature_costs is what the model's first split by a column costs; columns have no weights": (
        "feature_contri feature_contrib feature_penalty cegb_tradeoff cegb_penalty_split cegb_penalty_feature_coupled "
        "cegb_penalty_feature_lazy first_feature_use_penalties per_object_feature_penalties penalties_coefficient"
    ),
    "forced_splits": "forcedsplits_filename",
    "Gains of splits are compared as they are, without noise": "random_strength",
    "Gradients are always integers, whose sums are the same in any order": (
        "use_quantized_grad num_grad_quant_bins quant_train_renew_leaf stochastic_rounding"
    ),
    "Bins can't be forced": "forcedbins_filename",
    "path_smooth": "leaf_smoothing",
    "Leaves are not fitted again to other rows": "refit_decay_rate",
    "feature_importances_ are by gain; permutation_importance is another way": "importance_type",
    "Log loss has a scale of 1": "sigmoid",
}
_FORESTS = _ANYWHERE | {
    'method="hist" grows trees by bins, and method="dense" exactly; device says where': "tree_method",
    "Boosted trees take a loss; random forests and single trees have a criterion, which says what their splits decrease": (
        "loss objective"
    ),
    "n_estimators": "num_trees ntree ntrees n_trees tree_count num_tree max_iter num_iterations",
    "max_features": "mtry features_per_node colsample_bynode feature_fraction max_feature",
    "min_samples_leaf": "min_bucket min_child_samples min_data_in_leaf min_rows_per_leaf min_node_records",
    "min_samples_split": "min_observations_in_split_node",
    "Leaves of survival trees keep the event times of their rows alone, and functions take the times that are asked for": (
        "low_memory time_interest ntime"
    ),
    "It is called min_samples_split here, with one more: in R, nodes of this size are leaves": "min_node_size nodesize",
    "max_samples": "sample_fraction sampsize subsample bagging_fraction observations_per_tree_fraction",
    'bootstrap="subsample" draws rows without replacement': "replace",
    'bootstrap="weighted" draws rows by the weights that fit(sample_weight=...) is given, as case.weights do; otherwise weights '
    "count in splits and leaves": "case_weights",
    "criterion": "split_criterion",
    'criterion says how splits are scored, and splitter="random" draws thresholds at random, as "extratrees" does': "splitrule",
    "variable_importance": "importance variable_importance_mode",
    "voting": "voting_mode",
    "oob_score": "oob_error compute_oob_error compute_oob_predictions error_metric_mode",
    "keep_training_data": "quantreg proximity",
    "min_impurity_decrease": "min_split_gain min_impurity_split gamma",
    "leaf_smoothing": "path_smooth reg_param",
    "estimators_samples_ and forest_.drawn_counts(t) say which rows a tree drew": "keep_inbag",
    "Samplings of dforest.sampling, given as bootstrap, say which rows a tree draws": "inbag strata",
    'fit(groups=...) is for groups of rows, which bootstrap="group" draws together': "clusters",
    'variable_importance="mda_scaled" divides importances by their standard errors': "scale_permutation_importance",
    "oob_local_importance computes the importances of single rows": "local_importance localImp",
    "feature_weights": "split_select_weights feature_contri",
    "always_split_features": "always_split_variables",
    "regularization_use_depth": "regularization_usedepth",
    "Splits are not chosen by rank statistics, as maxstat does, nor have sides a least share: min_samples_leaf limits them": (
        "alpha minprop"
    ),
    "Rows of weight 0 are left out of a fit: pass them to score, and to sklearn.inspection.permutation_importance": "holdout",
    "n_random_splits": "num_random_splits",
    "honest": "honesty inference",
    "honest_fraction": "honesty_fraction",
    "ci_group_size": "subforest_size",
    "Leaves of honest trees are always pruned that fewer than min_samples_leaf rows of the other half reach": (
        "honesty_prune_leaves"
    ),
    "Classes are predicted by what predict_proba returns, divided by the cutoffs": "cutoff",
    "score(X, y) is for test rows": "xtest ytest",
    "predict_proba gives probabilities of every classification forest": "probability",
    "Categories are split by sets where categorical_features names them": "respect_unordered_factors",
    'categorical_split="order" orders many labels by shrunk means of rows that a tree does not draw': (
        "cat_smooth cat_l2 max_cat_threshold min_data_per_group"
    ),
    'categorical_split="one_hot" divides single categories from the others, however many there are': (
        "max_cat_to_onehot one_hot_max_size"
    ),
    "Forests do not learn from errors: HistGradientBoostingClassifier and HistGradientBoostingRegressor do": (
        "learning_rate eta num_boost_round reg_lambda reg_alpha lambda_l1 lambda_l2"
    ),
}


def _by_name(table):
    return {theirs: ours for ours, names in table.items() for theirs in names.split()}


BOOSTED_NAMES, FOREST_NAMES = _by_name(_BOOSTED), _by_name(_FORESTS)

# Arguments of other libraries' `predict`, and results, by what is here.
_ASKED = _by_name(
    {
        "predict_quantiles, predict_interval, apply and forest_weights are methods of their own": "type what se_method quantiles",
        "estimators_ has the trees, each with predict and predict_proba": "predict_all",
        "apply returns leaves": "pred_leaf",
        "shap_values returns what each feature adds": "pred_contrib pred_contribs pred_interactions",
        "decision_function of classifiers returns raw predictions; of regressors predictor().predict does, and for a loss with a "
        "link, such as poisson, they are the logarithms of what predict returns": "raw_score output_margin",
        "n_iter is the number of iterations to predict by": "num_iteration iteration_range ntree_limit ntree_end start_iteration",
    }
)
_ASKED_OF_QUANTILES = _by_name(
    {
        "It is called q here": "quantiles probs",
        "forest_weights has the weights of the training targets, from which any statistic can be computed": "what",
    }
)
RESULTS = _by_name(
    {
        "oob_error_, or oob_score_ by a scorer of your choice, is there after a fit with oob_score=True": (
            "prediction_error err_rate mse oob_error oob_score_ oob_error_ oob_decision_function_ oob_prediction_ oob_curve_"
        ),
        "sklearn.metrics.confusion_matrix counts the classes of oob_decision_function_": "confusion confusion_matrix",
        "variable_importance_ and feature_importances_ have importances": "variable_importance_std importances importance_",
        "variable_importance_ is there after a fit with variable_importance": "variable_importance_",
        "There are no p-values; oob_importance tells importances by permutation with their spread": "importance_pvalues",
        "best_iteration_ and best_score_ are there after early stopping": "best_iteration best_score",
        "score_history_ has the scores of all iterations": "evals_result_ evals_result",
        "forest_ has the trees; dforest.trees_to_dataframe makes a table of them": (
            "booster_ get_booster booster get_dump dump_model treeInfo trees_to_dataframe"
        ),
        "feature_importances_ has importances; dforest.trees_to_dataframe has the gain of each split": (
            "feature_importance get_score get_fscore get_feature_importance"
        ),
        "Estimators that predict targets have it": "feature_importances_ oob_importance oob_local_importance",
        "save writes a model file, and dforest.load reads it": "save_model load_model model_to_string",
        "feature_names_in_ has the names of columns, if fit was given a frame": "feature_name feature_name_ feature_names",
    }
)
# What the packages of other libraries have, by what is here.
PACKAGE_NAMES = _by_name(
    {
        "fit takes X and y themselves, and weights, offsets and validation rows as further arguments": (
            "Dataset DMatrix QuantileDMatrix Pool"
        ),
        "HistGradientBoostingClassifier and HistGradientBoostingRegressor are boosted trees, which fit trains": "train Booster",
        "sklearn.model_selection.cross_validate scores a model on several folds": "cv",
        "It is called HistGradientBoostingClassifier here": "LGBMClassifier XGBClassifier CatBoostClassifier",
        "It is called HistGradientBoostingRegressor here": "LGBMRegressor XGBRegressor CatBoostRegressor",
        "It is called HistGradientBoostingRanker here": "LGBMRanker XGBRanker CatBoostRanker",
        "ImportanceDisplay draws importances": "plot_importance",
        "n_iter_no_change and early_stopping are parameters that stop early, and verbose prints scores": (
            "early_stopping log_evaluation print_evaluation"
        ),
        "score_history_ has the scores of all iterations": "record_evaluation plot_metric",
    }
)
# Metrics of other libraries, by scikit-learn's names of scorers.
METRICS = _by_name(
    {
        "neg_mean_absolute_error": "l1 mae mean_absolute_error regression_l1 MAE",
        "neg_mean_squared_error": "l2 mse mean_squared_error regression_l2 MSE",
        "neg_root_mean_squared_error": "rmse root_mean_squared_error l2_root RMSE",
        "neg_root_mean_squared_log_error": "rmsle MSLE",
        "neg_mean_absolute_percentage_error": "mape mean_absolute_percentage_error MAPE",
        "neg_mean_poisson_deviance": "poisson poisson-nloglik Poisson",
        "neg_mean_gamma_deviance": "gamma gamma_deviance gamma-deviance gamma-nloglik",
        "neg_log_loss": "binary_logloss multi_logloss logloss mlogloss cross_entropy Logloss MultiClass",
        "accuracy": "error merror binary_error multi_error Accuracy",
        "roc_auc": "auc AUC",
        "average_precision": "aucpr PRAUC",
        "roc_auc_ovo": "auc_mu",
        "loss": "huber quantile tweedie fair mphe Huber Quantile Tweedie LogCosh Focal",
    }
)
_OF_LEARNING_RATES = BOOSTED_NAMES["learning_rates"]
# What a list as the value of a parameter may have meant.
FOR_LISTS = {
    "class_weight": "Weights are given by class, as a dict such as {'no': 1, 'yes': 3}",
    "learning_rate": _OF_LEARNING_RATES,
    "max_samples": "bootstrap=StratifiedSampling(...) of dforest.sampling draws a number of rows from each class",
}
FOR_FUNCTIONS = {
    "loss": "A loss of your own is a subclass of dforest.loss.PythonLoss: see the page about losses",
    "learning_rate": _OF_LEARNING_RATES,
}

# Values of parameters.
VALUES = {
    "variable_importance": _by_name(
        {
            "mda_raw": "permutation mda",
            "mdi": "impurity gini gain",
            "corrected_importance of dforest computes importances by impurity without bias": "impurity_corrected",
        }
    ),
    "criterion": _by_name(
        {
            "squared_error": "mse variance",
            "absolute_error": "mae",
            "gini": "Gini",
            "log_loss": "deviance",
            'splitter="random" draws thresholds at random': "extratrees",
            "A subclass of dforest.criterion.PythonCriterion scores splits as you like": "maxstat beta",
        }
    ),
    "loss": _by_name(
        {
            "squared_error": "regression regression_l2 l2 mse rmse ls mean_squared_error reg:squarederror RMSE",
            "absolute_error": "regression_l1 l1 mae lad reg:absoluteerror MAE",
            "log_loss": (
                "binary multiclass softmax binary_crossentropy categorical_crossentropy auto deviance binary:logistic "
                "multi:softmax multi:softprob Logloss MultiClass"
            ),
            "poisson": "count:poisson Poisson",
            "gamma": "reg:gamma",
            "tweedie": "reg:tweedie Tweedie",
            "huber": "reg:pseudohubererror Huber",
            "mape": "mean_absolute_percentage_error MAPE",
            "log_cosh": "LogCosh",
            "cross_entropy": "xentropy reg:logistic CrossEntropy",
            "focal": "Focal BINARY_FOCAL_LOSS",
            "quantile": "reg:quantileerror Quantile",
            "lambdarank": "rank:ndcg LambdaMart",
            "pairwise": "rank:pairwise PairLogit PairLogitPairwise",
        }
    ),
}


def hint(estimator, unknown, method="__init__"):
    """What to say about a name that a method does not have: str, empty if there is nothing to say."""
    if unknown in estimator._parameter_constraints:
        return ". It is a parameter of the estimator"
    answer = estimator._other_names.get(unknown, "")
    if method == "__init__" and " " not in answer and answer not in estimator._parameter_constraints:
        answer = _owners(unknown)
    if method.startswith("predict"):
        answer = _ASKED.get(unknown, answer)
    if method == "predict_quantiles":
        answer = _ASKED_OF_QUANTILES.get(unknown, answer)
    if " " in answer:
        return f". {answer}"
    where = "" if method == "__init__" else ", and is a parameter of the estimator"
    return f". It is called {answer} here{where}" if answer in estimator._parameter_constraints else ""


def _owners(name):
    """A sentence that names the estimators that have a parameter; empty if none has it."""
    owners = [kind for kind in ESTIMATORS if name in public(kind)._parameter_constraints]
    return f"It is a parameter of {' and '.join(filter(None, [', '.join(owners[:-1]), owners[-1]]))}" if owners else ""


def message_about(who, what, unknown, hints):
    """A message about names that are unknown, with a hint for each, which may be empty: a line, or one for each of several."""
    parts = [f"{name!r}{told}" for name, told in zip(unknown, hints, strict=True)]
    return f"{who}() got an {what} {parts[0]}" if len(parts) == 1 else "\n  ".join([f"{who}() got {what}s:", *parts])


def with_hints(method):
    """Decorate a method of estimators: a TypeError about an argument that it does not have names the class, with a hint."""

    @wraps(method)
    def answered(self, *args, **kwargs):
        try:
            return method(self, *args, **kwargs)
        except TypeError as error:
            known = signature(method).parameters
            unknown = [name for name in kwargs if name not in known]
            if not unknown or not str(error).startswith(f"{method.__qualname__}() got an unexpected keyword argument"):
                raise
            who, hints = f"{type(self).__name__}.{method.__name__}", [hint(self, name, method.__name__) for name in unknown]
            raise TypeError(message_about(who, "unexpected keyword argument", unknown, hints)) from None

    return answered
