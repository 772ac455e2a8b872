"""What IDEs and type checkers are told of `dforest`. Written by `tests/estimators/test_stub.py`: see there."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

import dforest.estimators.auto.auto
import dforest.estimators.boosting.boosting
import dforest.estimators.boosting.distribution
import dforest.estimators.boosting.ranker
import dforest.estimators.causal.forest
import dforest.estimators.causal.policy
import dforest.estimators.causal.uplift
import dforest.estimators.forest.embedding
import dforest.estimators.forest.forest
import dforest.estimators.forest.isolation
import dforest.estimators.forest.survival
import dforest.estimators.forest.tree
from dforest.backends.devices import devices as devices
from dforest.config import config_context as config_context
from dforest.criterion import Criterion
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
from dforest.loss import Loss
from dforest.sampling import Sampling
from dforest.splitter import Splitter
from dforest.versions import show_versions as show_versions

__version__: str

def get_include() -> str: ...

class AutoForestClassifier(dforest.estimators.auto.auto.AutoForestClassifier):
    """A blend for classification: a random forest, boosted trees and extra trees, weighed by what they predict out of sample."""

    def __init__(
        self,
        n_estimators: int = 300,
        *,
        members: ArrayLike | None = None,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class AutoForestRegressor(dforest.estimators.auto.auto.AutoForestRegressor):
    """A blend for regression: a random forest, boosted trees and extra trees, weighed by what they predict out of sample."""

    def __init__(
        self,
        n_estimators: int = 300,
        *,
        members: ArrayLike | None = None,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class CausalForest(dforest.estimators.causal.forest.CausalForest):
    """A causal forest: how the effect of a treatment on an outcome depends on features."""

    def __init__(
        self,
        n_estimators: int = 500,
        *,
        outcome_model: Any | None = None,
        treatment_model: Any | None = None,
        instrument_model: Any | None = None,
        cv: int = 5,
        max_features: Literal["auto", "log2", "sqrt"] | int | float | None = None,
        alpha: Literal["auto"] | float = 0.05,
        imbalance_penalty: float = 0.0,
        stabilize_splits: bool = True,
        skip_constant_features: bool = True,
        feature_weights: ArrayLike | Mapping[Any, Any] | None = None,
        always_split_features: ArrayLike | None = None,
        method: Literal["dense", "hist"] = "hist",
        max_bins: int = 256,
        max_depth: int | None = None,
        max_leaf_nodes: Literal[0] | int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: Literal["auto"] | int | float = 5,
        min_weight_fraction_leaf: float = 0.0,
        max_samples: int | float = 0.5,
        honest: bool = True,
        honest_fraction: Literal["auto"] | float = 0.5,
        ci_group_size: int = 2,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        keep_training_data: bool = True,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
    ) -> None: ...

class DecisionTreeClassifier(dforest.estimators.forest.tree.DecisionTreeClassifier):
    """A single decision tree for classification."""

    def __init__(
        self,
        *,
        criterion: Literal["entropy", "gini", "hellinger", "log_loss"] | Criterion | type[Criterion] = "gini",
        splitter: Literal["best", "random"] | Splitter | type[Splitter] = "best",
        max_features: Literal["log2", "sqrt"] | int | float | None = None,
        skip_constant_features: bool = True,
        feature_weights: ArrayLike | Mapping[Any, Any] | None = None,
        always_split_features: ArrayLike | None = None,
        n_random_splits: int = 1,
        regularization_factor: float | ArrayLike | Mapping[Any, Any] = 1.0,
        regularization_use_depth: bool = False,
        split_axis: Literal["axis_aligned", "oblique"] = "axis_aligned",
        n_projections: int | float | None = None,
        projection_density: float = 2.0,
        projection_weights: Literal["binary", "continuous", "integer", "power_of_two"] = "binary",
        projection_scaling: Literal["min_max", "standard"] | None = "min_max",
        projections: ArrayLike | Any | None = None,
        method: Literal["dense", "hist"] = "hist",
        max_bins: int = 256,
        max_depth: int | None = None,
        max_leaf_nodes: Literal[0] | int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        impurity_threshold: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        leaf_smoothing: float = 0.0,
        honest: bool = False,
        honest_fraction: float = 0.5,
        class_weight: Literal["balanced"] | Mapping[Any, Any] | Sequence[Any] | None = None,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        monotonic_cst: ArrayLike | Mapping[Any, Any] | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        device: str | None = None,
    ) -> None: ...

class DecisionTreeRegressor(dforest.estimators.forest.tree.DecisionTreeRegressor):
    """A single decision tree for regression."""

    def __init__(
        self,
        *,
        criterion: Literal["absolute_error", "friedman_mse", "poisson", "squared_error"] | Criterion | type[Criterion] = "squared_error",  # noqa: E501
        splitter: Literal["best", "random"] | Splitter | type[Splitter] = "best",
        max_features: Literal["log2", "sqrt"] | int | float | None = None,
        skip_constant_features: bool = True,
        feature_weights: ArrayLike | Mapping[Any, Any] | None = None,
        always_split_features: ArrayLike | None = None,
        n_random_splits: int = 1,
        regularization_factor: float | ArrayLike | Mapping[Any, Any] = 1.0,
        regularization_use_depth: bool = False,
        split_axis: Literal["axis_aligned", "oblique"] = "axis_aligned",
        n_projections: int | float | None = None,
        projection_density: float = 2.0,
        projection_weights: Literal["binary", "continuous", "integer", "power_of_two"] = "binary",
        projection_scaling: Literal["min_max", "standard"] | None = "min_max",
        projections: ArrayLike | Any | None = None,
        method: Literal["dense", "hist"] = "hist",
        max_bins: int = 256,
        max_depth: int | None = None,
        max_leaf_nodes: Literal[0] | int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        impurity_threshold: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        leaf_smoothing: float = 0.0,
        honest: bool = False,
        honest_fraction: float = 0.5,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        monotonic_cst: ArrayLike | Mapping[Any, Any] | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        device: str | None = None,
    ) -> None: ...

class ExtraSurvivalTree(dforest.estimators.forest.survival.ExtraSurvivalTree):
    """A single extremely randomised tree for survival times, which draws thresholds at random."""

    def __init__(
        self,
        *,
        criterion: Literal["logrank", "logrank_score"] | Criterion | type[Criterion] = "logrank",
        splitter: Literal["best", "random"] | Splitter | type[Splitter] = "random",
        max_features: Literal["log2", "sqrt"] | int | float | None = "sqrt",
        skip_constant_features: bool = True,
        feature_weights: ArrayLike | Mapping[Any, Any] | None = None,
        always_split_features: ArrayLike | None = None,
        n_random_splits: int = 1,
        regularization_factor: float | ArrayLike | Mapping[Any, Any] = 1.0,
        regularization_use_depth: bool = False,
        method: Literal["dense", "hist"] = "dense",
        max_bins: int = 256,
        max_depth: int | None = None,
        max_leaf_nodes: Literal[0] | int | None = None,
        min_samples_split: int | float = 6,
        min_samples_leaf: int | float = 3,
        min_weight_fraction_leaf: float = 0.0,
        honest: bool = False,
        honest_fraction: float = 0.5,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        device: str | None = None,
    ) -> None: ...

class ExtraSurvivalTrees(dforest.estimators.forest.survival.ExtraSurvivalTrees):
    """Extremely randomised trees for survival times: a forest whose trees draw thresholds at random."""

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: Literal["logrank", "logrank_score"] | Criterion | type[Criterion] = "logrank",
        splitter: Literal["best", "random"] | Splitter | type[Splitter] = "random",
        max_features: Literal["log2", "sqrt"] | int | float | None = "sqrt",
        skip_constant_features: bool = True,
        feature_weights: ArrayLike | Mapping[Any, Any] | None = None,
        always_split_features: ArrayLike | None = None,
        n_random_splits: int = 1,
        regularization_factor: float | ArrayLike | Mapping[Any, Any] = 1.0,
        regularization_use_depth: bool = False,
        method: Literal["dense", "hist"] = "dense",
        max_bins: int = 256,
        max_depth: int | None = None,
        max_leaf_nodes: Literal[0] | int | None = None,
        min_samples_split: int | float = 10,
        min_samples_leaf: int | float = 5,
        min_weight_fraction_leaf: float = 0.0,
        bootstrap: Literal["auto", "balanced", "group", "stratified", "subsample", "weighted"] | bool | Sampling = True,
        max_samples: int | float | None = None,
        honest: bool = False,
        honest_fraction: float = 0.5,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        oob_score: Literal["harrell", "neg_integrated_brier_score", "uno"] | bool = False,
        variable_importance: Literal["mda_raw", "mda_scaled", "mdi"] | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
    ) -> None: ...

class ExtraTreeClassifier(dforest.estimators.forest.tree.ExtraTreeClassifier):
    """A single extremely randomised tree for classification, which draws thresholds at random."""

    def __init__(
        self,
        *,
        criterion: Literal["entropy", "gini", "hellinger", "log_loss"] | Criterion | type[Criterion] = "gini",
        splitter: Literal["best", "random"] | Splitter | type[Splitter] = "random",
        max_features: Literal["log2", "sqrt"] | int | float | None = "sqrt",
        skip_constant_features: bool = True,
        feature_weights: ArrayLike | Mapping[Any, Any] | None = None,
        always_split_features: ArrayLike | None = None,
        n_random_splits: int = 1,
        regularization_factor: float | ArrayLike | Mapping[Any, Any] = 1.0,
        regularization_use_depth: bool = False,
        split_axis: Literal["axis_aligned", "oblique"] = "axis_aligned",
        n_projections: int | float | None = None,
        projection_density: float = 2.0,
        projection_weights: Literal["binary", "continuous", "integer", "power_of_two"] = "binary",
        projection_scaling: Literal["min_max", "standard"] | None = "min_max",
        projections: ArrayLike | Any | None = None,
        method: Literal["dense", "hist"] = "dense",
        max_bins: int = 256,
        max_depth: int | None = None,
        max_leaf_nodes: Literal[0] | int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        impurity_threshold: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        leaf_smoothing: float = 0.0,
        honest: bool = False,
        honest_fraction: float = 0.5,
        class_weight: Literal["balanced"] | Mapping[Any, Any] | Sequence[Any] | None = None,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        monotonic_cst: ArrayLike | Mapping[Any, Any] | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        device: str | None = None,
    ) -> None: ...

class ExtraTreeRegressor(dforest.estimators.forest.tree.ExtraTreeRegressor):
    """A single extremely randomised tree for regression, which draws thresholds at random."""

    def __init__(
        self,
        *,
        criterion: Literal["absolute_error", "friedman_mse", "poisson", "squared_error"] | Criterion | type[Criterion] = "squared_error",  # noqa: E501
        splitter: Literal["best", "random"] | Splitter | type[Splitter] = "random",
        max_features: Literal["log2", "sqrt"] | int | float | None = 1.0,
        skip_constant_features: bool = True,
        feature_weights: ArrayLike | Mapping[Any, Any] | None = None,
        always_split_features: ArrayLike | None = None,
        n_random_splits: int = 1,
        regularization_factor: float | ArrayLike | Mapping[Any, Any] = 1.0,
        regularization_use_depth: bool = False,
        split_axis: Literal["axis_aligned", "oblique"] = "axis_aligned",
        n_projections: int | float | None = None,
        projection_density: float = 2.0,
        projection_weights: Literal["binary", "continuous", "integer", "power_of_two"] = "binary",
        projection_scaling: Literal["min_max", "standard"] | None = "min_max",
        projections: ArrayLike | Any | None = None,
        method: Literal["dense", "hist"] = "dense",
        max_bins: int = 256,
        max_depth: int | None = None,
        max_leaf_nodes: Literal[0] | int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        impurity_threshold: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        leaf_smoothing: float = 0.0,
        honest: bool = False,
        honest_fraction: float = 0.5,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        monotonic_cst: ArrayLike | Mapping[Any, Any] | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        device: str | None = None,
    ) -> None: ...

class ExtraTreesClassifier(dforest.estimators.forest.forest.ExtraTreesClassifier):
    """Extremely randomised trees for classification: a forest whose trees draw thresholds at random."""

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        voting: Literal["hard", "soft"] = "soft",
        criterion: Literal["entropy", "gini", "hellinger", "log_loss"] | Criterion | type[Criterion] = "gini",
        splitter: Literal["best", "random"] | Splitter | type[Splitter] = "random",
        max_features: Literal["auto", "log2", "sqrt"] | int | float | None = "sqrt",
        skip_constant_features: bool = True,
        feature_weights: ArrayLike | Mapping[Any, Any] | None = None,
        always_split_features: ArrayLike | None = None,
        n_random_splits: int = 1,
        regularization_factor: float | ArrayLike | Mapping[Any, Any] = 1.0,
        regularization_use_depth: bool = False,
        split_axis: Literal["axis_aligned", "oblique"] = "axis_aligned",
        n_projections: int | float | None = None,
        projection_density: float = 2.0,
        projection_weights: Literal["binary", "continuous", "integer", "power_of_two"] = "binary",
        projection_scaling: Literal["min_max", "standard"] | None = "min_max",
        projections: ArrayLike | Any | None = None,
        method: Literal["dense", "hist"] = "dense",
        max_bins: int = 256,
        max_depth: int | None = None,
        max_leaf_nodes: Literal[0] | int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: Literal["auto"] | int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        impurity_threshold: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        leaf_smoothing: Literal["auto"] | float = 0.0,
        bootstrap: Literal["auto", "balanced", "group", "stratified", "subsample", "weighted"] | bool | Sampling = "auto",
        max_samples: int | float | None = None,
        honest: bool = False,
        honest_fraction: float = 0.5,
        class_weight: Literal["balanced", "balanced_subsample"] | Mapping[Any, Any] | Sequence[Any] | None = None,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        monotonic_cst: ArrayLike | Mapping[Any, Any] | None = None,
        oob_score: bool | str | Callable[..., Any] = False,
        calibration: Literal["oob"] | None = None,
        variable_importance: Literal["mda_raw", "mda_scaled", "mdi"] | None = None,
        keep_training_data: bool = False,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
    ) -> None: ...

class ExtraTreesRegressor(dforest.estimators.forest.forest.ExtraTreesRegressor):
    """Extremely randomised trees for regression: a forest whose trees draw thresholds at random."""

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: Literal["absolute_error", "friedman_mse", "poisson", "squared_error"] | Criterion | type[Criterion] = "squared_error",  # noqa: E501
        splitter: Literal["best", "random"] | Splitter | type[Splitter] = "random",
        max_features: Literal["auto", "log2", "sqrt"] | int | float | None = 1.0,
        skip_constant_features: bool = True,
        feature_weights: ArrayLike | Mapping[Any, Any] | None = None,
        always_split_features: ArrayLike | None = None,
        n_random_splits: int = 1,
        regularization_factor: float | ArrayLike | Mapping[Any, Any] = 1.0,
        regularization_use_depth: bool = False,
        split_axis: Literal["axis_aligned", "oblique"] = "axis_aligned",
        n_projections: int | float | None = None,
        projection_density: float = 2.0,
        projection_weights: Literal["binary", "continuous", "integer", "power_of_two"] = "binary",
        projection_scaling: Literal["min_max", "standard"] | None = "min_max",
        projections: ArrayLike | Any | None = None,
        method: Literal["dense", "hist"] = "dense",
        max_bins: int = 256,
        max_depth: int | None = None,
        max_leaf_nodes: Literal[0] | int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: Literal["auto"] | int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        impurity_threshold: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        leaf_smoothing: Literal["auto"] | float = 0.0,
        bootstrap: Literal["auto", "balanced", "group", "stratified", "subsample", "weighted"] | bool | Sampling = "auto",
        max_samples: int | float | None = None,
        honest: bool = False,
        honest_fraction: float = 0.5,
        ci_group_size: int = 1,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        monotonic_cst: ArrayLike | Mapping[Any, Any] | None = None,
        oob_score: bool | str | Callable[..., Any] = False,
        variable_importance: Literal["mda_raw", "mda_scaled", "mdi"] | None = None,
        keep_training_data: bool = False,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
    ) -> None: ...

class HistGradientBoostingClassifier(dforest.estimators.boosting.boosting.HistGradientBoostingClassifier):
    """Gradient-boosted trees for classification: each tree corrects the predictions of those before it."""

    def __init__(
        self,
        loss: Literal["exponential", "focal", "log_loss"] | Loss | type[Loss] = "log_loss",
        *,
        multi_class: Literal["multinomial", "one_tree", "one_vs_rest"] = "multinomial",
        focal_gamma: float = 2.0,
        learning_rate: Literal["auto"] | float = "auto",
        max_iter: Literal["auto"] | int = "auto",
        n_bags: int = 1,
        defaults: Literal["dforest", "scikit-learn"] = "dforest",
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_sum_hessian_in_leaf: float = 0.001,
        l2_regularization: Literal["auto"] | float = "auto",
        l1_regularization: float = 0,
        max_delta_step: float | None = None,
        path_smooth: float = 0.0,
        splitter: Literal["best", "random"] = "best",
        split_axis: Literal["axis_aligned", "oblique"] = "axis_aligned",
        n_projections: int | float | None = None,
        projection_density: float = 2.0,
        projection_weights: Literal["binary", "continuous", "integer", "power_of_two"] = "binary",
        projection_scaling: Literal["min_max", "standard"] | None = "min_max",
        projections: ArrayLike | Any | None = None,
        forced_splits: Mapping[Any, Any] | None = None,
        min_gain_to_split: float = 0.0,
        leaf_model: Literal["auto", "constant", "linear"] = "constant",
        max_leaf_features: int = 5,
        linear_l2: float = 10.0,
        min_hessian: Literal["deprecated"] | float = "deprecated",
        max_features: Literal["auto"] | float | int = "auto",
        colsample_bytree: float = 1.0,
        colsample_bylevel: float = 1.0,
        max_bins: int = 255,
        subsample: float = 1.0,
        sampling: Literal["mvs", "uniform"] = "uniform",
        class_weight: Literal["balanced"] | Mapping[Any, Any] | Sequence[Any] | None = None,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "order", "subset"] = "auto",
        categorical_smoothing: float = 10.0,
        min_samples_category: int = 10,
        monotonic_cst: ArrayLike | Mapping[Any, Any] | None = None,
        monotone_penalty: float = 0.0,
        feature_costs: ArrayLike | Mapping[Any, Any] | None = None,
        interaction_cst: Literal["no_interactions", "pairwise"] | Sequence[Any] | None = None,
        early_stopping: Literal["auto"] | bool = "auto",
        scoring: Literal["loss"] | str | Callable[..., Any] | Sequence[Any] | Mapping[Any, Any] | None = "loss",
        validation_fraction: Literal["auto"] | float | int | None = "auto",
        validation_folds: Literal["auto"] | int = "auto",
        refit: Literal["auto"] | bool = "auto",
        n_iter_no_change: Literal["auto"] | int = "auto",
        tol: Literal["auto"] | float = "auto",
        use_best_model: bool = True,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
    ) -> None: ...

class HistGradientBoostingDistribution(dforest.estimators.boosting.distribution.HistGradientBoostingDistribution):
    """Gradient-boosted trees for whole distributions: each tree corrects the parameters of all rows' distributions."""

    def __init__(
        self,
        loss: Literal["gamma", "lognormal", "negative_binomial", "normal", "student", "zero_inflated_poisson"] | Loss | type[Loss] = "normal",  # noqa: E501
        *,
        learning_rate: Literal["auto"] | float = "auto",
        max_iter: Literal["auto"] | int = "auto",
        n_bags: int = 1,
        defaults: Literal["dforest", "scikit-learn"] = "dforest",
        max_leaf_nodes: int | None = 15,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_sum_hessian_in_leaf: float = 0.001,
        l2_regularization: Literal["auto"] | float = "auto",
        l1_regularization: float = 0,
        max_delta_step: float | None = None,
        path_smooth: float = 0.0,
        splitter: Literal["best", "random"] = "best",
        split_axis: Literal["axis_aligned", "oblique"] = "axis_aligned",
        n_projections: int | float | None = None,
        projection_density: float = 2.0,
        projection_weights: Literal["binary", "continuous", "integer", "power_of_two"] = "binary",
        projection_scaling: Literal["min_max", "standard"] | None = "min_max",
        projections: ArrayLike | Any | None = None,
        forced_splits: Mapping[Any, Any] | None = None,
        min_gain_to_split: float = 0.0,
        leaf_model: Literal["auto", "constant", "linear"] = "constant",
        max_leaf_features: int = 5,
        linear_l2: float = 10.0,
        min_hessian: Literal["deprecated"] | float = "deprecated",
        max_features: Literal["auto"] | float | int = "auto",
        colsample_bytree: float = 1.0,
        colsample_bylevel: float = 1.0,
        max_bins: int = 255,
        subsample: float = 1.0,
        sampling: Literal["mvs", "uniform"] = "uniform",
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "order", "subset"] = "auto",
        categorical_smoothing: float = 10.0,
        min_samples_category: int = 10,
        monotonic_cst: ArrayLike | Mapping[Any, Any] | None = None,
        monotone_penalty: float = 0.0,
        feature_costs: ArrayLike | Mapping[Any, Any] | None = None,
        interaction_cst: Literal["no_interactions", "pairwise"] | Sequence[Any] | None = None,
        early_stopping: Literal["auto"] | bool = "auto",
        scoring: Literal["loss"] | str | Callable[..., Any] | Sequence[Any] | Mapping[Any, Any] | None = "loss",
        validation_fraction: Literal["auto"] | float | int | None = "auto",
        validation_folds: Literal["auto"] | int = "auto",
        refit: Literal["auto"] | bool = "auto",
        n_iter_no_change: Literal["auto"] | int = "auto",
        tol: Literal["auto"] | float = "auto",
        use_best_model: bool = True,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
    ) -> None: ...

class HistGradientBoostingRanker(dforest.estimators.boosting.ranker.HistGradientBoostingRanker):
    """Gradient-boosted trees for ranking: each tree corrects the order that those before it give to the rows of a query."""

    def __init__(
        self,
        loss: Literal["lambdarank", "pairwise"] | Loss | type[Loss] = "lambdarank",
        *,
        learning_rate: Literal["auto"] | float = "auto",
        max_iter: Literal["auto"] | int = "auto",
        n_bags: int = 1,
        defaults: Literal["dforest", "scikit-learn"] = "dforest",
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_sum_hessian_in_leaf: float = 0.001,
        l2_regularization: Literal["auto"] | float = "auto",
        l1_regularization: float = 0,
        max_delta_step: float | None = None,
        path_smooth: float = 0.0,
        splitter: Literal["best", "random"] = "best",
        split_axis: Literal["axis_aligned", "oblique"] = "axis_aligned",
        n_projections: int | float | None = None,
        projection_density: float = 2.0,
        projection_weights: Literal["binary", "continuous", "integer", "power_of_two"] = "binary",
        projection_scaling: Literal["min_max", "standard"] | None = "min_max",
        projections: ArrayLike | Any | None = None,
        forced_splits: Mapping[Any, Any] | None = None,
        min_gain_to_split: float = 0.0,
        leaf_model: Literal["auto", "constant", "linear"] = "constant",
        max_leaf_features: int = 5,
        linear_l2: float = 10.0,
        min_hessian: Literal["deprecated"] | float = "deprecated",
        max_features: Literal["auto"] | float | int = "auto",
        colsample_bytree: float = 1.0,
        colsample_bylevel: float = 1.0,
        max_bins: int = 255,
        subsample: float = 1.0,
        sampling: Literal["mvs", "uniform"] = "uniform",
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "order", "subset"] = "auto",
        categorical_smoothing: float = 10.0,
        min_samples_category: int = 10,
        monotonic_cst: ArrayLike | Mapping[Any, Any] | None = None,
        monotone_penalty: float = 0.0,
        feature_costs: ArrayLike | Mapping[Any, Any] | None = None,
        interaction_cst: Literal["no_interactions", "pairwise"] | Sequence[Any] | None = None,
        early_stopping: Literal["auto"] | bool = "auto",
        scoring: str | Sequence[Any] | Mapping[Any, Any] | None = None,
        validation_fraction: Literal["auto"] | float | int | None = "auto",
        validation_folds: Literal["auto"] | int = "auto",
        refit: Literal["auto"] | bool = "auto",
        n_iter_no_change: Literal["auto"] | int = "auto",
        tol: Literal["auto"] | float = "auto",
        use_best_model: bool = True,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
    ) -> None: ...

class HistGradientBoostingRegressor(dforest.estimators.boosting.boosting.HistGradientBoostingRegressor):
    """Gradient-boosted trees for regression: each tree corrects the predictions of those before it."""

    def __init__(
        self,
        loss: Literal["absolute_error", "cross_entropy", "fair", "gamma", "huber", "log_cosh", "mape", "poisson", "quantile", "squared_error", "tweedie"] | Loss | type[Loss] = "squared_error",  # noqa: E501
        *,
        quantile: float | ArrayLike | None = None,
        power: float = 1.5,
        fair_c: float = 1.0,
        learning_rate: Literal["auto"] | float = "auto",
        max_iter: Literal["auto"] | int = "auto",
        n_bags: int = 1,
        defaults: Literal["dforest", "scikit-learn"] = "dforest",
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_sum_hessian_in_leaf: float = 0.001,
        l2_regularization: Literal["auto"] | float = "auto",
        l1_regularization: float = 0,
        max_delta_step: float | None = None,
        path_smooth: float = 0.0,
        splitter: Literal["best", "random"] = "best",
        split_axis: Literal["axis_aligned", "oblique"] = "axis_aligned",
        n_projections: int | float | None = None,
        projection_density: float = 2.0,
        projection_weights: Literal["binary", "continuous", "integer", "power_of_two"] = "binary",
        projection_scaling: Literal["min_max", "standard"] | None = "min_max",
        projections: ArrayLike | Any | None = None,
        forced_splits: Mapping[Any, Any] | None = None,
        min_gain_to_split: float = 0.0,
        leaf_model: Literal["auto", "constant", "linear"] = "constant",
        max_leaf_features: int = 5,
        linear_l2: float = 10.0,
        min_hessian: Literal["deprecated"] | float = "deprecated",
        max_features: Literal["auto"] | float | int = "auto",
        colsample_bytree: float = 1.0,
        colsample_bylevel: float = 1.0,
        max_bins: int = 255,
        subsample: float = 1.0,
        sampling: Literal["mvs", "uniform"] = "uniform",
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "order", "subset"] = "auto",
        categorical_smoothing: float = 10.0,
        min_samples_category: int = 10,
        monotonic_cst: ArrayLike | Mapping[Any, Any] | None = None,
        monotone_penalty: float = 0.0,
        feature_costs: ArrayLike | Mapping[Any, Any] | None = None,
        interaction_cst: Literal["no_interactions", "pairwise"] | Sequence[Any] | None = None,
        early_stopping: Literal["auto"] | bool = "auto",
        scoring: Literal["loss"] | str | Callable[..., Any] | Sequence[Any] | Mapping[Any, Any] | None = "loss",
        validation_fraction: Literal["auto"] | float | int | None = "auto",
        validation_folds: Literal["auto"] | int = "auto",
        refit: Literal["auto"] | bool = "auto",
        n_iter_no_change: Literal["auto"] | int = "auto",
        tol: Literal["auto"] | float = "auto",
        use_best_model: bool = True,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
    ) -> None: ...

class IsolationForest(dforest.estimators.forest.isolation.IsolationForest):
    """An isolation forest, which finds outliers: rows that few random splits part from all others."""

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        contamination: Literal["auto"] | float = "auto",
        max_features: int | float = 1.0,
        extension_level: int = 0,
        method: Literal["dense", "hist"] = "dense",
        max_bins: int = 256,
        bootstrap: Literal["weighted"] | bool | Sampling = False,
        max_samples: Literal["auto"] | int | float = "auto",
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
    ) -> None: ...

class PolicyTree(dforest.estimators.causal.policy.PolicyTree):
    """A shallow tree that assigns an action to each row, so that the sum of rewards is as great as any such tree can make it."""

    def __init__(
        self,
        max_depth: int = 2,
        min_samples_leaf: int = 1,
        split_step: int = 1,
        costs: ArrayLike | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None: ...

class RandomForestClassifier(dforest.estimators.forest.forest.RandomForestClassifier):
    """A random forest for classification: many decision trees, which vote on the class of a row."""

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        voting: Literal["hard", "soft"] = "soft",
        criterion: Literal["entropy", "gini", "hellinger", "log_loss"] | Criterion | type[Criterion] = "gini",
        splitter: Literal["best", "random"] | Splitter | type[Splitter] = "best",
        max_features: Literal["auto", "log2", "sqrt"] | int | float | None = "sqrt",
        skip_constant_features: bool = True,
        feature_weights: ArrayLike | Mapping[Any, Any] | None = None,
        always_split_features: ArrayLike | None = None,
        n_random_splits: int = 1,
        regularization_factor: float | ArrayLike | Mapping[Any, Any] = 1.0,
        regularization_use_depth: bool = False,
        split_axis: Literal["axis_aligned", "oblique"] = "axis_aligned",
        n_projections: int | float | None = None,
        projection_density: float = 2.0,
        projection_weights: Literal["binary", "continuous", "integer", "power_of_two"] = "binary",
        projection_scaling: Literal["min_max", "standard"] | None = "min_max",
        projections: ArrayLike | Any | None = None,
        method: Literal["dense", "hist"] = "hist",
        max_bins: int = 256,
        max_depth: int | None = None,
        max_leaf_nodes: Literal[0] | int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: Literal["auto"] | int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        impurity_threshold: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        leaf_smoothing: Literal["auto"] | float = 0.0,
        bootstrap: Literal["auto", "balanced", "group", "stratified", "subsample", "weighted"] | bool | Sampling = True,
        max_samples: int | float | None = None,
        honest: bool = False,
        honest_fraction: float = 0.5,
        class_weight: Literal["balanced", "balanced_subsample"] | Mapping[Any, Any] | Sequence[Any] | None = None,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        monotonic_cst: ArrayLike | Mapping[Any, Any] | None = None,
        oob_score: bool | str | Callable[..., Any] = False,
        calibration: Literal["oob"] | None = None,
        variable_importance: Literal["mda_raw", "mda_scaled", "mdi"] | None = None,
        keep_training_data: bool = False,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
    ) -> None: ...

class RandomForestRegressor(dforest.estimators.forest.forest.RandomForestRegressor):
    """A random forest for regression: many decision trees, whose predictions are averaged."""

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: Literal["absolute_error", "friedman_mse", "poisson", "squared_error"] | Criterion | type[Criterion] = "squared_error",  # noqa: E501
        splitter: Literal["best", "random"] | Splitter | type[Splitter] = "best",
        max_features: Literal["auto", "log2", "sqrt"] | int | float | None = 1.0,
        skip_constant_features: bool = True,
        feature_weights: ArrayLike | Mapping[Any, Any] | None = None,
        always_split_features: ArrayLike | None = None,
        n_random_splits: int = 1,
        regularization_factor: float | ArrayLike | Mapping[Any, Any] = 1.0,
        regularization_use_depth: bool = False,
        split_axis: Literal["axis_aligned", "oblique"] = "axis_aligned",
        n_projections: int | float | None = None,
        projection_density: float = 2.0,
        projection_weights: Literal["binary", "continuous", "integer", "power_of_two"] = "binary",
        projection_scaling: Literal["min_max", "standard"] | None = "min_max",
        projections: ArrayLike | Any | None = None,
        method: Literal["dense", "hist"] = "hist",
        max_bins: int = 256,
        max_depth: int | None = None,
        max_leaf_nodes: Literal[0] | int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: Literal["auto"] | int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        impurity_threshold: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        leaf_smoothing: Literal["auto"] | float = 0.0,
        bootstrap: Literal["auto", "balanced", "group", "stratified", "subsample", "weighted"] | bool | Sampling = True,
        max_samples: int | float | None = None,
        honest: bool = False,
        honest_fraction: float = 0.5,
        ci_group_size: int = 1,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        monotonic_cst: ArrayLike | Mapping[Any, Any] | None = None,
        oob_score: bool | str | Callable[..., Any] = False,
        variable_importance: Literal["mda_raw", "mda_scaled", "mdi"] | None = None,
        keep_training_data: bool = False,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
    ) -> None: ...

class RandomSurvivalForest(dforest.estimators.forest.survival.RandomSurvivalForest):
    """A random forest for survival times: many survival trees, whose hazards and survival functions are averaged."""

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: Literal["logrank", "logrank_score"] | Criterion | type[Criterion] = "logrank",
        splitter: Literal["best", "random"] | Splitter | type[Splitter] = "best",
        max_features: Literal["log2", "sqrt"] | int | float | None = "sqrt",
        skip_constant_features: bool = True,
        feature_weights: ArrayLike | Mapping[Any, Any] | None = None,
        always_split_features: ArrayLike | None = None,
        n_random_splits: int = 1,
        regularization_factor: float | ArrayLike | Mapping[Any, Any] = 1.0,
        regularization_use_depth: bool = False,
        method: Literal["dense", "hist"] = "hist",
        max_bins: int = 256,
        max_depth: int | None = None,
        max_leaf_nodes: Literal[0] | int | None = None,
        min_samples_split: int | float = 10,
        min_samples_leaf: int | float = 5,
        min_weight_fraction_leaf: float = 0.0,
        bootstrap: Literal["auto", "balanced", "group", "stratified", "subsample", "weighted"] | bool | Sampling = True,
        max_samples: int | float | None = None,
        honest: bool = False,
        honest_fraction: float = 0.5,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        oob_score: Literal["harrell", "neg_integrated_brier_score", "uno"] | bool = False,
        variable_importance: Literal["mda_raw", "mda_scaled", "mdi"] | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
    ) -> None: ...

class RandomTreesEmbedding(dforest.estimators.forest.embedding.RandomTreesEmbedding):
    """An embedding of rows by random trees, which turns each row into the leaves that it reaches."""

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        sparse_output: bool = True,
        method: Literal["dense", "hist"] = "dense",
        max_bins: int = 256,
        max_depth: int | None = 5,
        max_leaf_nodes: Literal[0] | int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
    ) -> None: ...

class SurvivalTree(dforest.estimators.forest.survival.SurvivalTree):
    """A single tree for survival times."""

    def __init__(
        self,
        *,
        criterion: Literal["logrank", "logrank_score"] | Criterion | type[Criterion] = "logrank",
        splitter: Literal["best", "random"] | Splitter | type[Splitter] = "best",
        max_features: Literal["log2", "sqrt"] | int | float | None = None,
        skip_constant_features: bool = True,
        feature_weights: ArrayLike | Mapping[Any, Any] | None = None,
        always_split_features: ArrayLike | None = None,
        n_random_splits: int = 1,
        regularization_factor: float | ArrayLike | Mapping[Any, Any] = 1.0,
        regularization_use_depth: bool = False,
        method: Literal["dense", "hist"] = "hist",
        max_bins: int = 256,
        max_depth: int | None = None,
        max_leaf_nodes: Literal[0] | int | None = None,
        min_samples_split: int | float = 6,
        min_samples_leaf: int | float = 3,
        min_weight_fraction_leaf: float = 0.0,
        honest: bool = False,
        honest_fraction: float = 0.5,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        device: str | None = None,
    ) -> None: ...

class UpliftForestClassifier(dforest.estimators.causal.uplift.UpliftForestClassifier):
    """An uplift forest: for whom a treatment changes the probability of an outcome, and by how much."""

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: Literal["chi2", "euclidean", "kl"] = "euclidean",
        normalize: bool = True,
        smoothing: float = 10.0,
        max_features: Literal["log2", "sqrt"] | int | float | None = "sqrt",
        skip_constant_features: bool = True,
        feature_weights: ArrayLike | Mapping[Any, Any] | None = None,
        always_split_features: ArrayLike | None = None,
        method: Literal["dense", "hist"] = "hist",
        max_bins: int = 256,
        max_depth: int | None = None,
        max_leaf_nodes: Literal[0] | int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 50,
        min_samples_treatment: int = 10,
        min_weight_fraction_leaf: float = 0.0,
        bootstrap: Literal["auto", "balanced", "group", "stratified", "subsample", "weighted"] | bool | Sampling = True,
        max_samples: int | float | None = None,
        honest: bool = True,
        honest_fraction: float = 0.5,
        categorical_features: Literal["auto", "from_dtype"] | ArrayLike | None = "from_dtype",
        ordinal_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        categorical_split: Literal["auto", "one_hot", "order", "subset"] = "auto",
        warm_start: bool = False,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
        verbose: int | bool = 0,
    ) -> None: ...
