"""What IDEs and type checkers are told of `dforest`. Written by `tests/estimators/test_stub.py`: see there."""

import dforest.estimators.boosting
import dforest.estimators.embedding
import dforest.estimators.forest
import dforest.estimators.tree
from dforest.config import config_context as config_context
from dforest.conversion.from_sklearn import from_sklearn as from_sklearn
from dforest.conversion.skl2onnx import register_onnx_converters as register_onnx_converters
from dforest.export import export_graphviz as export_graphviz
from dforest.export import export_text as export_text
from dforest.plot import plot_tree as plot_tree
from dforest.report.displays import ImportanceDisplay as ImportanceDisplay
from dforest.report.displays import OutOfBagCurveDisplay as OutOfBagCurveDisplay
from dforest.shap_values import ShapValues as ShapValues
from dforest.storage.model import load as load
from dforest.sycl.devices import devices as devices

__version__: str

def get_include() -> str: ...

class DecisionTreeClassifier(dforest.estimators.tree.DecisionTreeClassifier):
    """A decision tree for classification."""

    def __init__(
        self,
        *,
        criterion="gini",
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=None,
        skip_constant_features=True,
        random_state=None,
        max_leaf_nodes=None,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        class_weight=None,
        method="hist",
        max_bins=256,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="subset",
        monotonic_cst=None,
        device=None,
    ) -> None: ...

class DecisionTreeRegressor(dforest.estimators.tree.DecisionTreeRegressor):
    """A decision tree for regression."""

    def __init__(
        self,
        *,
        criterion="squared_error",
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=None,
        skip_constant_features=True,
        random_state=None,
        max_leaf_nodes=None,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        method="hist",
        max_bins=256,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="subset",
        monotonic_cst=None,
        device=None,
    ) -> None: ...

class ExtraTreeClassifier(dforest.estimators.tree.ExtraTreeClassifier):
    """An extremely randomised tree for classification: what `ExtraTreesClassifier` is a forest of."""

    def __init__(
        self,
        *,
        criterion="gini",
        splitter="random",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features="sqrt",
        skip_constant_features=True,
        random_state=None,
        max_leaf_nodes=None,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        class_weight=None,
        method="dense",
        max_bins=256,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="subset",
        monotonic_cst=None,
        device=None,
    ) -> None: ...

class ExtraTreeRegressor(dforest.estimators.tree.ExtraTreeRegressor):
    """An extremely randomised tree for regression: what `ExtraTreesRegressor` is a forest of."""

    def __init__(
        self,
        *,
        criterion="squared_error",
        splitter="random",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=1.0,
        skip_constant_features=True,
        random_state=None,
        max_leaf_nodes=None,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        method="dense",
        max_bins=256,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="subset",
        monotonic_cst=None,
        device=None,
    ) -> None: ...

class ExtraTreesClassifier(dforest.estimators.forest.ExtraTreesClassifier):
    """Extremely randomised trees for classification."""

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="gini",
        splitter="random",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features="sqrt",
        skip_constant_features=True,
        max_leaf_nodes=None,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        bootstrap=False,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        keep_training_data=False,
        warm_start=False,
        class_weight=None,
        max_samples=None,
        method="dense",
        max_bins=256,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="subset",
        monotonic_cst=None,
        device=None,
        variable_importance=None,
        voting="soft",
    ) -> None: ...

class ExtraTreesRegressor(dforest.estimators.forest.ExtraTreesRegressor):
    """Extremely randomised trees for regression."""

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="squared_error",
        splitter="random",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=1.0,
        skip_constant_features=True,
        max_leaf_nodes=None,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        bootstrap=False,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        keep_training_data=False,
        warm_start=False,
        max_samples=None,
        method="dense",
        max_bins=256,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="subset",
        monotonic_cst=None,
        device=None,
        variable_importance=None,
    ) -> None: ...

class HistGradientBoostingClassifier(dforest.estimators.boosting.HistGradientBoostingClassifier):
    """Gradient-boosted trees for classification."""

    def __init__(
        self,
        loss="log_loss",
        *,
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        min_hessian=0.001,
        l2_regularization=0,
        max_features=1.0,
        subsample=1.0,
        max_bins=255,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        monotonic_cst=None,
        interaction_cst=None,
        warm_start=False,
        early_stopping="auto",
        scoring="loss",
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-07,
        verbose=0,
        random_state=None,
        class_weight=None,
        n_jobs=None,
        device=None,
    ) -> None: ...

class HistGradientBoostingRegressor(dforest.estimators.boosting.HistGradientBoostingRegressor):
    """Gradient-boosted trees for regression."""

    def __init__(
        self,
        loss="squared_error",
        *,
        quantile=None,
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        min_hessian=0.001,
        l2_regularization=0,
        max_features=1.0,
        subsample=1.0,
        max_bins=255,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        monotonic_cst=None,
        interaction_cst=None,
        warm_start=False,
        early_stopping="auto",
        scoring="loss",
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-07,
        verbose=0,
        random_state=None,
        n_jobs=None,
        device=None,
    ) -> None: ...

class RandomForestClassifier(dforest.estimators.forest.RandomForestClassifier):
    """A random forest for classification."""

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="gini",
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features="sqrt",
        skip_constant_features=True,
        max_leaf_nodes=None,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        bootstrap=True,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        keep_training_data=False,
        warm_start=False,
        class_weight=None,
        max_samples=None,
        method="hist",
        max_bins=256,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="subset",
        monotonic_cst=None,
        device=None,
        variable_importance=None,
        voting="soft",
    ) -> None: ...

class RandomForestRegressor(dforest.estimators.forest.RandomForestRegressor):
    """A random forest for regression."""

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="squared_error",
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=1.0,
        skip_constant_features=True,
        max_leaf_nodes=None,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        bootstrap=True,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        keep_training_data=False,
        warm_start=False,
        max_samples=None,
        method="hist",
        max_bins=256,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="subset",
        monotonic_cst=None,
        device=None,
        variable_importance=None,
    ) -> None: ...

class RandomTreesEmbedding(dforest.estimators.embedding.RandomTreesEmbedding):
    """Rows as the leaves that they reach in trees of random cuts, which look at no target."""

    def __init__(
        self,
        n_estimators=100,
        *,
        max_depth=5,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        sparse_output=True,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        method="dense",
        max_bins=256,
        categorical_features="from_dtype",
        ordinal_features="from_dtype",
        categorical_split="subset",
        device=None,
    ) -> None: ...
