"""What IDEs and type checkers are told of `dforest`. Written by `tests/estimators/test_stub.py`: see there."""

import dforest.estimators.auto.auto
import dforest.estimators.boosting.boosting
import dforest.estimators.boosting.ranker
import dforest.estimators.forest.embedding
import dforest.estimators.forest.forest
import dforest.estimators.forest.isolation
import dforest.estimators.forest.survival
import dforest.estimators.forest.tree
from dforest.backends.devices import devices as devices
from dforest.config import config_context as config_context
from dforest.estimators.forest.combine import combine as combine
from dforest.estimators.results.shap_values import ShapInteractionValues as ShapInteractionValues
from dforest.estimators.results.shap_values import ShapValues as ShapValues
from dforest.inspection.dependence import PartialDependenceDisplay as PartialDependenceDisplay
from dforest.inspection.export import export_graphviz as export_graphviz
from dforest.inspection.export import export_text as export_text
from dforest.inspection.frame import trees_to_dataframe as trees_to_dataframe
from dforest.inspection.plot import plot_tree as plot_tree
from dforest.inspection.report.displays import ImportanceDisplay as ImportanceDisplay
from dforest.inspection.report.displays import OutOfBagCurveDisplay as OutOfBagCurveDisplay
from dforest.inspection.significance import corrected_importance as corrected_importance
from dforest.inspection.significance import importance_permutation_test as importance_permutation_test
from dforest.inspection.significance import importance_pvalues as importance_pvalues
from dforest.inspection.table.check import check_table as check_table
from dforest.interchange.clients import register_dtreeviz as register_dtreeviz
from dforest.interchange.clients import register_eli5 as register_eli5
from dforest.interchange.clients import register_mlflow as register_mlflow
from dforest.interchange.clients import register_shap as register_shap
from dforest.interchange.clients import skops_types as skops_types
from dforest.interchange.conversion.from_lightgbm import from_lightgbm as from_lightgbm
from dforest.interchange.conversion.from_sklearn import from_sklearn as from_sklearn
from dforest.interchange.conversion.from_xgboost import from_xgboost as from_xgboost
from dforest.interchange.conversion.skl2onnx import pipeline_to_onnx as pipeline_to_onnx
from dforest.interchange.conversion.skl2onnx import register_onnx_converters as register_onnx_converters
from dforest.interchange.patch import patch_sklearn as patch_sklearn
from dforest.interchange.patch import unpatch_sklearn as unpatch_sklearn
from dforest.interchange.storage.model import load as load
from dforest.versions import show_versions as show_versions

__version__: str

def get_include() -> str: ...

class AutoForestClassifier(dforest.estimators.auto.auto.AutoForestClassifier):
    """A blend for classification: a random forest, boosted trees and extra trees, weighed by what they predict out of sample."""

    def __init__(
        self,
        n_estimators=300,
        *,
        members=None,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        time_limit=None,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ) -> None: ...

class AutoForestRegressor(dforest.estimators.auto.auto.AutoForestRegressor):
    """A blend for regression: a random forest, boosted trees and extra trees, weighed by what they predict out of sample."""

    def __init__(
        self,
        n_estimators=300,
        *,
        members=None,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        time_limit=None,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ) -> None: ...

class DecisionTreeClassifier(dforest.estimators.forest.tree.DecisionTreeClassifier):
    """A single decision tree for classification."""

    def __init__(
        self,
        *,
        criterion="gini",
        splitter="best",
        max_features=None,
        skip_constant_features=True,
        feature_weights=None,
        always_split_features=None,
        n_random_splits=1,
        regularization_factor=1.0,
        regularization_use_depth=False,
        method="hist",
        max_bins=256,
        max_depth=None,
        max_leaf_nodes=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        class_weight=None,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        monotonic_cst=None,
        random_state=None,
        device=None,
    ) -> None: ...

class DecisionTreeRegressor(dforest.estimators.forest.tree.DecisionTreeRegressor):
    """A single decision tree for regression."""

    def __init__(
        self,
        *,
        criterion="squared_error",
        splitter="best",
        max_features=None,
        skip_constant_features=True,
        feature_weights=None,
        always_split_features=None,
        n_random_splits=1,
        regularization_factor=1.0,
        regularization_use_depth=False,
        method="hist",
        max_bins=256,
        max_depth=None,
        max_leaf_nodes=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        monotonic_cst=None,
        random_state=None,
        device=None,
    ) -> None: ...

class ExtraSurvivalTree(dforest.estimators.forest.survival.ExtraSurvivalTree):
    """A single extremely randomised tree for survival times, which draws thresholds at random."""

    def __init__(
        self,
        *,
        criterion="logrank",
        splitter="random",
        max_features="sqrt",
        skip_constant_features=True,
        feature_weights=None,
        always_split_features=None,
        n_random_splits=1,
        regularization_factor=1.0,
        regularization_use_depth=False,
        method="dense",
        max_bins=256,
        max_depth=None,
        max_leaf_nodes=None,
        min_samples_split=6,
        min_samples_leaf=3,
        min_weight_fraction_leaf=0.0,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        random_state=None,
        device=None,
    ) -> None: ...

class ExtraSurvivalTrees(dforest.estimators.forest.survival.ExtraSurvivalTrees):
    """Extremely randomised trees for survival times: a forest whose trees draw thresholds at random."""

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="logrank",
        splitter="random",
        max_features="sqrt",
        skip_constant_features=True,
        feature_weights=None,
        always_split_features=None,
        n_random_splits=1,
        regularization_factor=1.0,
        regularization_use_depth=False,
        method="dense",
        max_bins=256,
        max_depth=None,
        max_leaf_nodes=None,
        min_samples_split=10,
        min_samples_leaf=5,
        min_weight_fraction_leaf=0.0,
        bootstrap=True,
        max_samples=None,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        oob_score=False,
        variable_importance=None,
        random_state=None,
        n_jobs=None,
        device=None,
        warm_start=False,
        verbose=0,
    ) -> None: ...

class ExtraTreeClassifier(dforest.estimators.forest.tree.ExtraTreeClassifier):
    """A single extremely randomised tree for classification, which draws thresholds at random."""

    def __init__(
        self,
        *,
        criterion="gini",
        splitter="random",
        max_features="sqrt",
        skip_constant_features=True,
        feature_weights=None,
        always_split_features=None,
        n_random_splits=1,
        regularization_factor=1.0,
        regularization_use_depth=False,
        method="dense",
        max_bins=256,
        max_depth=None,
        max_leaf_nodes=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        class_weight=None,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        monotonic_cst=None,
        random_state=None,
        device=None,
    ) -> None: ...

class ExtraTreeRegressor(dforest.estimators.forest.tree.ExtraTreeRegressor):
    """A single extremely randomised tree for regression, which draws thresholds at random."""

    def __init__(
        self,
        *,
        criterion="squared_error",
        splitter="random",
        max_features=1.0,
        skip_constant_features=True,
        feature_weights=None,
        always_split_features=None,
        n_random_splits=1,
        regularization_factor=1.0,
        regularization_use_depth=False,
        method="dense",
        max_bins=256,
        max_depth=None,
        max_leaf_nodes=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        monotonic_cst=None,
        random_state=None,
        device=None,
    ) -> None: ...

class ExtraTreesClassifier(dforest.estimators.forest.forest.ExtraTreesClassifier):
    """Extremely randomised trees for classification: a forest whose trees draw thresholds at random."""

    def __init__(
        self,
        n_estimators=100,
        *,
        voting="soft",
        criterion="gini",
        splitter="random",
        max_features="sqrt",
        skip_constant_features=True,
        feature_weights=None,
        always_split_features=None,
        n_random_splits=1,
        regularization_factor=1.0,
        regularization_use_depth=False,
        method="dense",
        max_bins=256,
        max_depth=None,
        max_leaf_nodes=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        bootstrap="auto",
        max_samples=None,
        class_weight=None,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        monotonic_cst=None,
        oob_score=False,
        calibration=None,
        variable_importance=None,
        keep_training_data=False,
        random_state=None,
        n_jobs=None,
        device=None,
        warm_start=False,
        verbose=0,
    ) -> None: ...

class ExtraTreesRegressor(dforest.estimators.forest.forest.ExtraTreesRegressor):
    """Extremely randomised trees for regression: a forest whose trees draw thresholds at random."""

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="squared_error",
        splitter="random",
        max_features=1.0,
        skip_constant_features=True,
        feature_weights=None,
        always_split_features=None,
        n_random_splits=1,
        regularization_factor=1.0,
        regularization_use_depth=False,
        method="dense",
        max_bins=256,
        max_depth=None,
        max_leaf_nodes=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        bootstrap="auto",
        max_samples=None,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        monotonic_cst=None,
        oob_score=False,
        variable_importance=None,
        keep_training_data=False,
        random_state=None,
        n_jobs=None,
        device=None,
        warm_start=False,
        verbose=0,
    ) -> None: ...

class HistGradientBoostingClassifier(dforest.estimators.boosting.boosting.HistGradientBoostingClassifier):
    """Gradient-boosted trees for classification: each tree corrects the predictions of those before it."""

    def __init__(
        self,
        loss="log_loss",
        *,
        learning_rate="auto",
        max_iter="auto",
        n_bags=1,
        defaults="dforest",
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        min_sum_hessian_in_leaf=0.001,
        l2_regularization="auto",
        l1_regularization=0,
        max_delta_step=None,
        min_hessian="deprecated",
        max_features="auto",
        colsample_bytree=1.0,
        colsample_bylevel=1.0,
        max_bins=255,
        subsample=1.0,
        class_weight=None,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        categorical_smoothing=10.0,
        min_samples_category=10,
        monotonic_cst=None,
        interaction_cst=None,
        early_stopping="auto",
        scoring="loss",
        validation_fraction="auto",
        validation_folds="auto",
        refit="auto",
        n_iter_no_change="auto",
        tol="auto",
        use_best_model=True,
        random_state=None,
        n_jobs=None,
        device=None,
        warm_start=False,
        verbose=0,
    ) -> None: ...

class HistGradientBoostingRanker(dforest.estimators.boosting.ranker.HistGradientBoostingRanker):
    """Gradient-boosted trees for ranking: each tree corrects the order that those before it give to the rows of a query."""

    def __init__(
        self,
        loss="lambdarank",
        *,
        learning_rate="auto",
        max_iter="auto",
        n_bags=1,
        defaults="dforest",
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        min_sum_hessian_in_leaf=0.001,
        l2_regularization="auto",
        l1_regularization=0,
        max_delta_step=None,
        min_hessian="deprecated",
        max_features="auto",
        colsample_bytree=1.0,
        colsample_bylevel=1.0,
        max_bins=255,
        subsample=1.0,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        categorical_smoothing=10.0,
        min_samples_category=10,
        monotonic_cst=None,
        interaction_cst=None,
        early_stopping="auto",
        scoring=None,
        validation_fraction="auto",
        validation_folds="auto",
        refit="auto",
        n_iter_no_change="auto",
        tol="auto",
        use_best_model=True,
        random_state=None,
        n_jobs=None,
        device=None,
        warm_start=False,
        verbose=0,
    ) -> None: ...

class HistGradientBoostingRegressor(dforest.estimators.boosting.boosting.HistGradientBoostingRegressor):
    """Gradient-boosted trees for regression: each tree corrects the predictions of those before it."""

    def __init__(
        self,
        loss="squared_error",
        *,
        quantile=None,
        power=1.5,
        learning_rate="auto",
        max_iter="auto",
        n_bags=1,
        defaults="dforest",
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        min_sum_hessian_in_leaf=0.001,
        l2_regularization="auto",
        l1_regularization=0,
        max_delta_step=None,
        min_hessian="deprecated",
        max_features="auto",
        colsample_bytree=1.0,
        colsample_bylevel=1.0,
        max_bins=255,
        subsample=1.0,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        categorical_smoothing=10.0,
        min_samples_category=10,
        monotonic_cst=None,
        interaction_cst=None,
        early_stopping="auto",
        scoring="loss",
        validation_fraction="auto",
        validation_folds="auto",
        refit="auto",
        n_iter_no_change="auto",
        tol="auto",
        use_best_model=True,
        random_state=None,
        n_jobs=None,
        device=None,
        warm_start=False,
        verbose=0,
    ) -> None: ...

class IsolationForest(dforest.estimators.forest.isolation.IsolationForest):
    """An isolation forest, which finds outliers: rows that few random splits part from all others."""

    def __init__(
        self,
        n_estimators=100,
        *,
        contamination="auto",
        max_features=1.0,
        extension_level=0,
        method="dense",
        max_bins=256,
        bootstrap=False,
        max_samples="auto",
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        random_state=None,
        n_jobs=None,
        device=None,
        warm_start=False,
        verbose=0,
    ) -> None: ...

class RandomForestClassifier(dforest.estimators.forest.forest.RandomForestClassifier):
    """A random forest for classification: many decision trees, which vote on the class of a row."""

    def __init__(
        self,
        n_estimators=100,
        *,
        voting="soft",
        criterion="gini",
        splitter="best",
        max_features="sqrt",
        skip_constant_features=True,
        feature_weights=None,
        always_split_features=None,
        n_random_splits=1,
        regularization_factor=1.0,
        regularization_use_depth=False,
        method="hist",
        max_bins=256,
        max_depth=None,
        max_leaf_nodes=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        bootstrap=True,
        max_samples=None,
        class_weight=None,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        monotonic_cst=None,
        oob_score=False,
        calibration=None,
        variable_importance=None,
        keep_training_data=False,
        random_state=None,
        n_jobs=None,
        device=None,
        warm_start=False,
        verbose=0,
    ) -> None: ...

class RandomForestRegressor(dforest.estimators.forest.forest.RandomForestRegressor):
    """A random forest for regression: many decision trees, whose predictions are averaged."""

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="squared_error",
        splitter="best",
        max_features=1.0,
        skip_constant_features=True,
        feature_weights=None,
        always_split_features=None,
        n_random_splits=1,
        regularization_factor=1.0,
        regularization_use_depth=False,
        method="hist",
        max_bins=256,
        max_depth=None,
        max_leaf_nodes=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        bootstrap=True,
        max_samples=None,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        monotonic_cst=None,
        oob_score=False,
        variable_importance=None,
        keep_training_data=False,
        random_state=None,
        n_jobs=None,
        device=None,
        warm_start=False,
        verbose=0,
    ) -> None: ...

class RandomSurvivalForest(dforest.estimators.forest.survival.RandomSurvivalForest):
    """A random forest for survival times: many survival trees, whose hazards and survival functions are averaged."""

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="logrank",
        splitter="best",
        max_features="sqrt",
        skip_constant_features=True,
        feature_weights=None,
        always_split_features=None,
        n_random_splits=1,
        regularization_factor=1.0,
        regularization_use_depth=False,
        method="hist",
        max_bins=256,
        max_depth=None,
        max_leaf_nodes=None,
        min_samples_split=10,
        min_samples_leaf=5,
        min_weight_fraction_leaf=0.0,
        bootstrap=True,
        max_samples=None,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        oob_score=False,
        variable_importance=None,
        random_state=None,
        n_jobs=None,
        device=None,
        warm_start=False,
        verbose=0,
    ) -> None: ...

class RandomTreesEmbedding(dforest.estimators.forest.embedding.RandomTreesEmbedding):
    """An embedding of rows by random trees, which turns each row into the leaves that it reaches."""

    def __init__(
        self,
        n_estimators=100,
        *,
        sparse_output=True,
        method="dense",
        max_bins=256,
        max_depth=5,
        max_leaf_nodes=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        min_impurity_decrease=0.0,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        random_state=None,
        n_jobs=None,
        device=None,
        warm_start=False,
        verbose=0,
    ) -> None: ...

class SurvivalTree(dforest.estimators.forest.survival.SurvivalTree):
    """A single tree for survival times."""

    def __init__(
        self,
        *,
        criterion="logrank",
        splitter="best",
        max_features=None,
        skip_constant_features=True,
        feature_weights=None,
        always_split_features=None,
        n_random_splits=1,
        regularization_factor=1.0,
        regularization_use_depth=False,
        method="hist",
        max_bins=256,
        max_depth=None,
        max_leaf_nodes=None,
        min_samples_split=6,
        min_samples_leaf=3,
        min_weight_fraction_leaf=0.0,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="auto",
        random_state=None,
        device=None,
    ) -> None: ...
