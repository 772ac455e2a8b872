"""What the API reference shows: the names that api.rst lists, the members on the page of each class, and links to the guide.

`conf.py` hands this to the templates of autosummary, and tests compare it with the public names. Members of estimators are all
that classes of dforest define: what scikit-learn's base classes add is told in api.rst. Of other classes they are named here.
"""

import re
from importlib import import_module
from inspect import isclass, isdatadescriptor

from sklearn.base import BaseEstimator

TABLE = re.compile(r"^\.\. autosummary::\n((?: {3}.*\n|\n)+)", re.MULTILINE)
MODULE = re.compile(r"^\.\. automodule:: ([\w.]+)$", re.MULTILINE)

# Members of classes that are no estimators, where there are any to show.
NAMED = {
    "dforest.ImportanceDisplay": "from_estimator plot",
    "dforest.PartialDependenceDisplay": "from_estimator",
    "dforest.OutOfBagCurveDisplay": "from_estimator plot",
    "dforest.ShapValues": "explanation",
    "dforest.estimators.causal.scores.Estimate": "interval",
    "dforest.estimators.causal.scores.Coefficients": "as_dict",
    "dforest.core.forest.arrays.Forest": "tree as_dict depths node_table right_child leaf_row payload_of subset_of "
    "tests_by_feature impurity_decrease leaf_class cut_back predictor row_counts",
    "dforest.core.predict.predictor.Predictor": "predict predict_class",
    "dforest.criterion.Criterion": "configure clone impurity_of score_cuts get_params set_params",
    "dforest.criterion.PythonCriterion": "impurity value score",
    "dforest.engines.memory.MemoryEstimate": "of_thread scratch total",
    "dforest.estimators.memory.FitMemory": "forest on_device scratch total",
    "dforest.engines.fit_report.FitReport": "n_launches",
    "dforest.estimators.causal.policy.PolicyNodes": "node_count is_leaf apply",
    "dforest.inspection.interop.Tree": "categories_left predict apply decision_path compute_feature_importances "
    "compute_node_depths",
    "dforest.loss.Loss": "configure configured in_y_true_range fit_intercept_only derivatives values predictions "
    "get_params set_params",
    "dforest.loss.LambdaRank": "gains",
    "dforest.loss.PythonLoss": "gradient_hessian loss inverse_link leaf_value",
    "dforest.core.search.node_view.NodeView": "values codes n_codes is_categorical is_constant random score_cut "
    "score_sides best_along",
    "dforest.inspection.report.curve.Trend": "at gain chance",
    "dforest.inspection.report.report.Report": "save",
    "dforest.sampling.Sampling": "plan",
    "dforest.sampling.SamplingPlan": "counts count_draws",
    "dforest.splitter.PythonSplitter": "best_cut find_split",
    "dforest.splitter.Splitter": "used_features describe configure clone get_params set_params",
    "dforest.uplift.UpliftCurveDisplay": "from_estimator from_predictions plot",
    "dforest.spmd.communicator.Communicator": "together exchange gather sum least greatest",
    "dforest.spmd.threads.ThreadGroup": "run",
}

# Members of all forests that these classes have, but for which they have no use.
LEFT_OUT = {
    "dforest.IsolationForest": {"feature_importances_", "oob_importance", "oob_local_importance"},
    "dforest.RandomTreesEmbedding": {"estimators_samples_", "feature_importances_", "oob_importance", "oob_local_importance"},
    "dforest.RandomSurvivalForest": {"oob_local_importance"},
    "dforest.ExtraSurvivalTrees": {"oob_local_importance"},
}

# Pages of the documentation, without suffix, and the public names that link to them, all names without "dforest.".
_ABOUT = {
    "guide_choice guide_trees guide_methods sampling guide_columns guide_imbalance guide_oob": "RandomForestClassifier "
    "ExtraTreesClassifier",
    "guide_choice guide_trees guide_methods sampling guide_columns guide_oob": "RandomForestRegressor ExtraTreesRegressor",
    "guide_choice guide_boosting guide_linear_leaves ensembles guide_columns own_loss": "HistGradientBoostingClassifier "
    "HistGradientBoostingRegressor",
    "guide_ranking guide_boosting guide_columns own_loss": "HistGradientBoostingRanker",
    "guide_distributions guide_boosting guide_columns": "HistGradientBoostingDistribution",
    "guide_distributions": "distribution.PredictedDistribution distribution.Normal distribution.LogNormal distribution.Gamma "
    "distribution.NegativeBinomial distribution.StudentT distribution.ZeroInflatedPoisson distribution.PythonDistribution "
    "distribution.log_score_scorer distribution.neg_crps_scorer",
    "policy": "UpliftForestClassifier PolicyTree estimators.causal.policy.PolicyNodes uplift.qini_score uplift.auuc_score "
    "uplift.uplift_at_k uplift.qini_curve uplift.uplift_curve uplift.make_uplift_scorer uplift.UpliftCurveDisplay",
    "auto_forest guide_choice ensembles": "AutoForestClassifier AutoForestRegressor",
    "guide_ranking": "loss.LambdaRank loss.PairwiseRank",
    "guide_choice guide_methods guide_columns": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier "
    "ExtraTreeRegressor",
    "guide_methods guide_columns": "RandomTreesEmbedding",
    "guide_isolation guide_methods sampling guide_columns": "IsolationForest",
    "guide_survival guide_methods sampling guide_columns": "RandomSurvivalForest ExtraSurvivalTrees",
    "guide_survival guide_methods guide_columns": "SurvivalTree ExtraSurvivalTree",
    "guide_causal guide_methods sampling guide_columns": "CausalForest",
    "guide_causal": "estimators.causal.scores.Estimate estimators.causal.scores.Coefficients estimators.causal.averages.Ranking",
    "guide_survival": "criterion.LogRank criterion.LogRankScore",
    "guide_choice": "export_text export_graphviz plot_tree",
    "guide_importances": "ImportanceDisplay PartialDependenceDisplay corrected_importance importance_pvalues "
    "importance_permutation_test",
    "guide_oob": "OutOfBagCurveDisplay",
    "guide_oblique": "splitter.ObliqueSplitter splitter.patch_projections",
    "guide_methods": "splitter.HistSplitter splitter.RandomHistSplitter splitter.DenseSplitter splitter.RandomDenseSplitter",
    "guide_columns": "errors.UnseenLabelsWarning",
    "guide_tables": "check_table inspection.table.finding.TableFindings inspection.table.finding.Finding",
    "guide_resources": "engines.fit_report.FitReport estimators.memory.FitMemory engines.memory.MemoryEstimate",
    "guide_resources serve": "core.predict.predictor.Predictor",
    "shap": "ShapInteractionValues ShapValues",
    "report": "inspection.report.report.Report inspection.report.curve.Trend",
    "callbacks": "callback.OutOfBagPlateau callback.TimeLimit callback.MemoryLimit callback.KeepOnInterrupt "
    "callback.Checkpoint callback.ProgressBar errors.LimitError",
    "sampling": "sampling.RowSampling sampling.StratifiedSampling sampling.WeightedSampling sampling.GroupSampling "
    "sampling.BlockSampling sampling.Sampling sampling.SampledRows sampling.SamplingPlan sampling.AllRows sampling.Bootstrap "
    "sampling.Subsample sampling.Strata sampling.Groups",
    "own_splitter": "splitter.Splitter splitter.RandomSplitter splitter.PythonSplitter splitter.Cut splitter.Test "
    "core.search.node_view.NodeView testing.check_splitter errors.SplitterError",
    "own_criterion": "criterion.Criterion criterion.ClassCriterion criterion.NumberCriterion criterion.PythonCriterion "
    "criterion.Statistics testing.check_criterion errors.CriterionError",
    "own_loss": "loss.Loss loss.PythonLoss errors.LossError",
    "maths": "criterion.Gini criterion.Entropy criterion.Hellinger criterion.SquaredError criterion.Poisson "
    "criterion.AbsoluteError",
    "contributing": "show_versions",
    "own_splitter own_criterion own_loss": "get_include core.component.declare_contract errors.ContractError",
    "own_splitter own_criterion": "testing.ConformanceError",
    "internals": "testing.engine_check.check_engine core.forest.arrays.Forest core.forest.node_table.NodeTable "
    "core.objective.ClassObjective core.objective.NumberObjective core.objective.SumObjective",
    "migration": "patch_sklearn unpatch_sklearn inspection.interop.Tree",
    "how_do_i": "combine trees_to_dataframe",
    "clients": "register_dtreeviz register_eli5 register_mlflow register_shap skops_types",
    "conversion": "from_lightgbm from_sklearn from_xgboost pipeline_to_onnx register_onnx_converters errors.ConversionError",
    "files serve security": "load",
    "serve files": "serving.load serving.ServedModel",
    "files": "errors.ModelFileError",
    "devices distributed": "config_context",
    "devices": "devices backends.devices.DeviceInfo errors.DeviceError",
    "distributed": "spmd.RandomForestClassifier spmd.RandomForestRegressor spmd.ExtraTreesClassifier spmd.ExtraTreesRegressor "
    "spmd.DecisionTreeClassifier spmd.DecisionTreeRegressor spmd.HistGradientBoostingClassifier "
    "spmd.HistGradientBoostingRegressor spmd.HistGradientBoostingRanker spmd.HistGradientBoostingDistribution "
    "spmd.IsolationForest spmd.CausalForest "
    "spmd.UpliftForestClassifier spmd.communicator.Communicator "
    "spmd.mpi.MpiCommunicator spmd.threads.ThreadGroup "
    "dask.RandomForestClassifier dask.RandomForestRegressor dask.ExtraTreesClassifier dask.ExtraTreesRegressor "
    "dask.HistGradientBoostingClassifier dask.HistGradientBoostingRegressor dask.HistGradientBoostingRanker "
    "dask.HistGradientBoostingDistribution "
    "dask.IsolationForest dask.CausalForest dask.UpliftForestClassifier "
    "errors.RankError",
}
GUIDES = {f"dforest.{name}": pages.split() for pages, names in _ABOUT.items() for name in names.split()}

# For a method of estimators, the page of the guide that its description links to.
METHOD_GUIDES = {
    "estimate_memory": "guide_resources",
    "forest_weights": "neighbours",
    "onnx_converter": "conversion",
    "onnx_shape_calculator": "conversion",
    "oob_importance": "guide_importances",
    "oob_local_importance": "guide_importances",
    "outlier_scores": "neighbours",
    "predict_interval": "neighbours",
    "predict_quantiles": "neighbours",
    "proximity": "neighbours",
    "report": "report",
    "save": "files",
    "set_callbacks": "callbacks",
    "shap_interaction_values": "shap",
    "shap_values": "shap",
    "to_c": "conversion",
    "to_onnx": "conversion",
    "to_shap": "conversion",
    "to_sklearn": "conversion",
    "to_treelite": "conversion",
}


def listed(text):
    """The full names in the tables of api.rst, given its text, in their order, and the modules that it describes."""
    names = [name for table in TABLE.findall(text) for name in re.findall(r"^ {3}~([\w.]+)$", table, re.MULTILINE)]
    return [f"dforest.{name}" for name in names], MODULE.findall(text)


def resolved(name):
    """The object of a full name."""
    module, _, rest = name.rpartition(".")
    return getattr(import_module(module), rest)


def members(name):
    """The members on the page of a class: a dict of two lists of names, "methods" and "attributes"."""
    shown = resolved(name)
    if not isclass(shown):
        return {"methods": [], "attributes": []}
    if issubclass(shown, BaseEstimator):
        names = _own(shown, name.rpartition(".")[0]) - LEFT_OUT.get(name, set())
        names = sorted(names, key=lambda member: (not member.startswith("fit"), member))
    else:
        names = NAMED.get(name, "").split()
    found = {member: _found(shown, member) for member in names}
    attributes = [member for member, value in found.items() if not _is_called(value)]
    return {"methods": [member for member in names if member not in attributes], "attributes": attributes}


def guides(name):
    """The pages about a public name, or about a method of an estimator, given its full name: a list, which may be empty."""
    owner, _, method = name.rpartition(".")
    if owner in GUIDES and method in METHOD_GUIDES:
        of_survival = "guide_survival" in GUIDES[owner] and method in ("oob_importance", "predict_quantiles")
        return ["guide_survival" if of_survival else METHOD_GUIDES[method]]
    return GUIDES.get(name, [])


def _own(estimator, module):
    """The public members that dforest defines; of forests of a module such as dforest.dask, what they define anew.

    `set_callbacks` comes from scikit-learn, and belongs to how dforest is used.
    """
    prefix = "dforest" if module == "dforest" else module
    names = {
        name
        for kind in estimator.__mro__
        if kind.__module__ == prefix or kind.__module__.startswith(f"{prefix}.")
        for name, member in vars(kind).items()
        if not name.startswith("_")
        and not re.fullmatch("set_.*_request", name)
        and not str(getattr(member, "__module__", None)).startswith("sklearn.")  # it has scikit-learn's docstring
    }
    if module == "dforest" and hasattr(estimator, "set_callbacks"):
        names.add("set_callbacks")
    return {name for name in names if _is_called(_found(estimator, name)) or isdatadescriptor(_found(estimator, name))}


def _found(kind, name):
    """A member as its class holds it: a property, and not what it returns."""
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    raise AttributeError(f"{kind.__module__}.{kind.__qualname__} has no member {name}")


def _is_called(member):
    return callable(member) or isinstance(member, classmethod | staticmethod) or hasattr(member, "check")


def in_order(lines, guides=(), groups=None):
    """The lines that numpydoc has made of a docstring, with links to pages of the user guide, and groups of parameters.

    Parameters
    ----------
    lines : list of str
    guides : sequence of str
        Names of pages, without suffix. The links to them follow the summary.
    groups : dict, optional
        The names of parameters by group. A heading stands over the first parameter of each group, and in the overview of the
        groups names are set as code.
    """
    first = {names[0]: group for group, names in (groups or {}).items()}
    named = re.compile(rf"\b({'|'.join(name for names in (groups or {}).values() for name in names)})\b")
    found, section = [], ""
    for line in lines:
        if re.fullmatch(r":[A-Z][\w ]*:|\.\. rubric:: .*", line):
            section = line
        entry = re.match(r"( +)\*\*(\w+)\*\* : ", line)
        if groups and section == ":Parameters:" and entry and entry[2] in first:
            found += [f"{entry[1]}.. rubric:: {first[entry[2]]}", ""]
        elif groups and not section and re.match(r"- |  \w", line):
            title, colon, names = line.rpartition(": ")
            line = title + colon + named.sub(r"``\1``", names)
        found.append(line)
    if guides:
        start = next((i for i, line in enumerate(found) if line.strip()), 0)
        end = next((i for i in range(start, len(found)) if not found[i].strip()), len(found))
        links = ", ".join(f":doc:`/{page}`" for page in guides)
        found[end:end] = ["", f"User guide: {links}.", ""]
    return found
