"""Where the public names of the package are defined.

`import dforest` loads nothing of what it offers: a name's module is imported when the name is first asked for. So a process that
only predicts loads what predicts. Tables of estimators would load all of them, so what needs them asks here, by name.
"""

from importlib import import_module

MODULES = {
    "callback", "criterion", "dask", "distribution", "errors", "loss", "sampling", "serving", "spmd", "splitter", "testing",
    "uplift",
}  # fmt: skip
_ESTIMATORS = {
    "dforest.estimators.auto.auto": ["AutoForestClassifier", "AutoForestRegressor"],
    "dforest.estimators.boosting.boosting": ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"],
    "dforest.estimators.boosting.distribution": ["HistGradientBoostingDistribution"],
    "dforest.estimators.boosting.ranker": ["HistGradientBoostingRanker"],
    "dforest.estimators.causal.forest": ["CausalForest"],
    "dforest.estimators.causal.uplift": ["UpliftForestClassifier"],
    "dforest.estimators.forest.embedding": ["RandomTreesEmbedding"],
    "dforest.estimators.forest.forest": [
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    ],
    "dforest.estimators.forest.isolation": ["IsolationForest"],
    "dforest.estimators.forest.survival": ["ExtraSurvivalTree", "ExtraSurvivalTrees", "RandomSurvivalForest", "SurvivalTree"],
    "dforest.estimators.forest.tree": [
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "ExtraTreeClassifier",
        "ExtraTreeRegressor",
    ],
}
_OTHERS = {
    "dforest.backends.devices": ["devices"],
    "dforest.config": ["config_context"],
    "dforest.estimators.causal.policy": ["PolicyTree"],
    "dforest.estimators.forest.combine": ["combine"],
    "dforest.estimators.results.shap_values": ["ShapInteractionValues", "ShapValues"],
    "dforest.inspection.dependence": ["PartialDependenceDisplay"],
    "dforest.inspection.export": ["export_graphviz", "export_text"],
    "dforest.inspection.frame": ["trees_to_dataframe"],
    "dforest.inspection.plot": ["plot_tree"],
    "dforest.inspection.report.displays": ["ImportanceDisplay", "OutOfBagCurveDisplay"],
    "dforest.inspection.significance": ["corrected_importance", "importance_permutation_test", "importance_pvalues"],
    "dforest.inspection.table.check": ["check_table"],
    "dforest.interchange.clients": ["register_dtreeviz", "register_eli5", "register_mlflow", "register_shap", "skops_types"],
    "dforest.interchange.conversion.from_lightgbm": ["from_lightgbm"],
    "dforest.interchange.conversion.from_sklearn": ["from_sklearn"],
    "dforest.interchange.conversion.from_xgboost": ["from_xgboost"],
    "dforest.interchange.conversion.skl2onnx": ["pipeline_to_onnx", "register_onnx_converters"],
    "dforest.interchange.patch": ["patch_sklearn", "unpatch_sklearn"],
    "dforest.interchange.storage.model": ["load"],
    "dforest.versions": ["show_versions"],
}
HOMES = {name: module for module, names in (_ESTIMATORS | _OTHERS).items() for name in names}
ESTIMATORS = sorted(name for names in _ESTIMATORS.values() for name in names)


def public(name):
    """What a public name of the package stands for. KeyError: there is no such name."""
    return getattr(import_module(HOMES[name]), name)


def estimators():
    """The classes of all estimators: list."""
    return [public(name) for name in ESTIMATORS]
