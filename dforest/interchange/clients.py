"""What makes other libraries take dforest's estimators where they go by the classes of scikit-learn's.

Each function imports its library when it is called. Nothing of a library is changed before.
"""

from contextlib import ExitStack
from functools import wraps

import numpy as np
from sklearn import ensemble, tree
from sklearn.utils.validation import check_is_fitted

from dforest.core.forest.arrays import Forest
from dforest.core.sparse_rows import dense
from dforest.estimators.causal.policy import PolicyNodes, PolicyTree
from dforest.estimators.forest.ensemble import ForestClassifier, ForestRegressor
from dforest.estimators.forest.tree import DecisionTreeClassifier, DecisionTreeRegressor
from dforest.estimators.kinds import DecisionTree
from dforest.estimators.tree_model import TreeModel
from dforest.extras import needed
from dforest.interchange.conversion.columns import check_numbers_alone, threshold_labels
from dforest.interchange.conversion.shap import to_shap
from dforest.interchange.storage.values import BUILT_IN, RECORDS
from dforest.public import estimators

_SHAP_NODES = 2**15 - 1  # of a tree: with more, shap 0.51 may crash where there is a background
_replaced = {}  # functions of libraries in whose place there are others now, by (owner, name)


def _replace(owner, name, make):
    """Replace a function, unless it is replaced already, by what `make` returns for it; return what puts it back."""
    back = ExitStack()
    if name not in vars(owner):
        raise AttributeError(f"{owner.__name__} has no {name}, which was to be wrapped: dforest does not know this version of it")
    if (owner, name) not in _replaced:
        original = _replaced[owner, name] = vars(owner)[name]
        setattr(owner, name, make(original))
        back.callback(lambda: setattr(owner, name, _replaced.pop((owner, name))))
    return back


def register_shap():
    """Have `shap.TreeExplainer` and `shap.Explainer` take estimators of dforest.

    From then on, both call `to_shap` of a forest, a single tree or boosted trees, and so do libraries that use shap:
    explainerdashboard, shapash, arfs, skforecast. shap has no place where other libraries' models can be registered, so the
    constructors of its ``TreeEnsemble`` and ``TreeExplainer`` are wrapped, and the method by which that reads X. A second call
    changes nothing.

    If columns hold text, or other labels than numbers, explainers take rows with these labels, as the estimator does, and pass
    their numbers on to shap; plots show the labels.

    Returns
    -------
    contextlib.ExitStack
        Its method ``close`` undoes what the call has changed. In a ``with`` statement, this is done at the end of the block.

    Raises
    ------
    ImportError
        If shap is not installed: the extra ``dforest[shap]`` has it.
    AttributeError
        If this version of shap has no such constructor or method.

    Notes
    -----
    shap raises the errors that `to_shap` raises, for example for tests of a splitter of your own, and ValueError for a background
    with trees of more than 32,767 nodes, with which shap may crash. ``shap.Explainer`` raises neither: where
    ``shap.TreeExplainer`` can't explain a model, it tries others, which are slower, or says that the model is not callable.

    Examples
    --------
    >>> import dforest
    >>> import shap
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = dforest.RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> with dforest.register_shap():
    ...     explainer = shap.TreeExplainer(forest)
    >>> explainer.shap_values(X).shape
    (150, 4, 3)
    """
    trees, maskers = (needed(f"shap.{name}", "shap", "register_shap") for name in ("explainers._tree", "maskers"))

    def make_ensemble(original):
        @wraps(original)
        def __init__(self, model, data=None, *args, **kwargs):
            if isinstance(model, TreeModel):
                check_is_fitted(model)
                estimator, encodes = model, _holds_text(model)
                model = to_shap(estimator, True, encodes)
                if encodes:
                    self.encoded_by = estimator
                largest = max(len(tree["features"]) for tree in model["trees"])
                if data is not None and largest > _SHAP_NODES:
                    raise ValueError(
                        f"a tree of {largest} nodes with a background, for which shap numbers nodes in 16 bits; allowed are "
                        f"{_SHAP_NODES} nodes: grow smaller trees, leave out the background, or call shap_values of the model"
                    )
            original(self, model, data, *args, **kwargs)

        return __init__

    def make_explainer(original):
        @wraps(original)
        def __init__(self, model, data=None, *args, **kwargs):
            if data is not None and isinstance(model, TreeModel) and hasattr(model, "forest_") and _holds_text(model):
                if isinstance(data, maskers.Independent):
                    names = getattr(data, "feature_names", None)
                    rows = _numbers(model, data.data, names)
                    data = maskers.Independent(rows, max_samples=data.max_samples)
                    if names is not None:
                        data.feature_names = names
                else:
                    data = _numbers(model, data)
            original(self, model, data, *args, **kwargs)

        return __init__

    def make_inputs(original):
        @wraps(original)
        def _validate_inputs(self, X, *args, **kwargs):
            estimator = getattr(self.model, "encoded_by", None)
            return original(self, X if estimator is None else _numbers(estimator, X), *args, **kwargs)

        return _validate_inputs

    with ExitStack() as back:
        back.enter_context(_replace(trees.TreeEnsemble, "__init__", make_ensemble))
        back.enter_context(_replace(trees.TreeExplainer, "__init__", make_explainer))
        back.enter_context(_replace(trees.TreeExplainer, "_validate_inputs", make_inputs))
        return back.pop_all()


def _holds_text(estimator):
    """Whether a fitted estimator has columns of labels that shap's trees, which compare numbers, can't have."""
    try:
        threshold_labels(estimator, "shap", np.float64)
    except ValueError:
        return True
    return False


def _numbers(estimator, X, names=None):
    """Rows, or a single one, that hold the numbers of labels in their place: ndarray of float64, or a frame if X is one.

    Labels that did not occur in training are missing, and go where missing values go.
    """
    import pandas as pd

    is_single = len(X.shape) == 1
    if isinstance(X, pd.Series):
        X = X.to_frame().T
    elif isinstance(X, np.ndarray):
        X = X[None, :] if is_single else X
        X = X if names is None else pd.DataFrame(X, columns=names)
    encoded = np.asarray(dense(estimator._checked_rows(X)), np.float64).copy()
    n_categories = estimator.forest_.n_categories
    encoded[(n_categories > 0) & (encoded >= n_categories)] = np.nan
    if is_single:
        return encoded[0]
    return pd.DataFrame(encoded, X.index, X.columns) if isinstance(X, pd.DataFrame) else encoded


def register_dtreeviz():
    """Have ``dtreeviz.model`` take dforest's single trees, with those in `estimators_` of forests and of boosted trees.

    dtreeviz draws them as it draws scikit-learn's trees. So do libraries that use it, such as explainerdashboard, whose page
    of decision trees needs `register_shap` too. dtreeviz has no place where other libraries' trees can be registered, so its
    ``ShadowDecTree.get_shadow_tree`` is wrapped. A second call changes nothing.

    Returns
    -------
    contextlib.ExitStack
        Its method ``close`` undoes what the call has changed. In a ``with`` statement, this is done at the end of the block.

    Raises
    ------
    ImportError
        If dtreeviz is not installed: the extra ``dforest[dtreeviz]`` has it.
    AttributeError
        If this version of dtreeviz has no such function.

    Notes
    -----
    dtreeviz draws thresholds alone. For trees that were grown on columns of categories it raises ValueError; `plot_tree` and
    `export_graphviz` draw them.

    Examples
    --------
    >>> import dforest
    >>> import dtreeviz
    >>> from sklearn.datasets import load_iris
    >>> registration = dforest.register_dtreeviz()
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = dforest.RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    >>> names = {"feature_names": ["a", "b", "c", "d"], "target_name": "species", "class_names": ["x", "y", "z"]}
    >>> drawn = dtreeviz.model(forest.estimators_[0], X, y, **names)
    >>> drawn.shadow_tree.nnodes() == forest.estimators_[0].tree_.node_count
    True
    """
    shadow = needed("dtreeviz.models.shadow_decision_tree", "dtreeviz", "register_dtreeviz").ShadowDecTree
    adapted = needed("dtreeviz.models.sklearn_decision_trees", "dtreeviz", "register_dtreeviz").ShadowSKDTree

    def make(original):
        @staticmethod
        @wraps(original)
        def get_shadow_tree(tree_model, X_train, y_train, feature_names, target_name, class_names=None, tree_index=None):
            data = X_train, y_train, feature_names, target_name, class_names
            if isinstance(tree_model, DecisionTree):
                check_numbers_alone(tree_model, "dtreeviz")
                tree_model = adapted(tree_model, *data)
            return original(tree_model, *data, tree_index)

        return get_shadow_tree

    return _replace(shadow, "get_shadow_tree", make)


def register_mlflow():
    """Have ``mlflow.sklearn.autolog`` log what estimators of dforest are fitted with.

    MLflow logs the fits of those classes that scikit-learn lists as its own, and says nothing of others. Call this function
    before you call ``mlflow.sklearn.autolog`` or ``mlflow.autolog``: then parameters, metrics and models of dforest's
    estimators are logged like those of scikit-learn's. MLflow has no place where other classes can be registered, so its
    private function that lists the classes is wrapped. A second call changes nothing.

    Returns
    -------
    contextlib.ExitStack
        Its method ``close`` undoes what the call has changed, from the next call of ``autolog`` on. In a ``with`` statement,
        this is done at the end of the block.

    Raises
    ------
    ImportError
        If MLflow is not installed: the extra ``dforest[mlflow]`` has it.
    AttributeError
        If this version of MLflow has no such function.

    Examples
    --------
    >>> import dforest
    >>> import mlflow
    >>> registration = dforest.register_mlflow()
    >>> mlflow.sklearn.autolog(silent=True)
    >>> mlflow.sklearn.autolog(disable=True)
    >>> registration.close()
    """
    flavor = needed("mlflow.sklearn", "mlflow", "register_mlflow")
    return _replace(flavor, "_gen_estimators_to_patch", lambda original: lambda: [*original(), *estimators()])


def register_eli5():
    """Have ``eli5.explain_weights`` and ``eli5.explain_prediction`` take dforest's forests and single trees.

    eli5 explains them as it explains scikit-learn's: by `feature_importances_`, and by how the expected prediction changes on
    the way to the leaves. It does not explain `HistGradientBoostingClassifier` and `HistGradientBoostingRegressor`, of neither
    library. A second call changes nothing.

    Raises
    ------
    ImportError
        If eli5 is not installed: the extra ``dforest[eli5]`` has it.

    Notes
    -----
    For forests with ``voting="hard"``, ``eli5.explain_prediction`` raises ValueError, as shares of classes along the ways to
    leaves don't add up to shares of votes.

    Examples
    --------
    >>> import dforest
    >>> import eli5
    >>> from sklearn.datasets import load_iris
    >>> dforest.register_eli5()
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = dforest.RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> print(eli5.format_as_text(eli5.explain_prediction(forest, X[0], targets=[0])).splitlines()[0])
    Explained as: decision path
    """
    eli5 = needed("eli5", "eli5", "register_eli5")
    for ours, theirs in (
        (ForestClassifier, ensemble.RandomForestClassifier),
        (ForestRegressor, ensemble.RandomForestRegressor),
        (DecisionTreeClassifier, tree.DecisionTreeClassifier),
        (DecisionTreeRegressor, tree.DecisionTreeRegressor),
    ):
        for explain in (eli5.explain_weights, eli5.explain_prediction):
            explain.register(ours, explain.dispatch(theirs))
    explain_soft = eli5.explain_prediction.dispatch(ensemble.RandomForestClassifier)

    @eli5.explain_prediction.register(ForestClassifier)
    def explain_prediction(forest, doc, **kwargs):
        if forest.voting == "hard":
            raise ValueError('eli5 can\'t explain predictions of forests with voting="hard"; allowed is voting="soft"')
        return explain_soft(forest, doc, **kwargs)


def skops_types():
    """Return the names of dforest's classes that may occur in skops files of its estimators.

    ``skops.io.load`` only makes objects of types that it is told to trust. The types named here are dforest's estimators and what
    fitted ones consist of. Classes of your own, such as a splitter, are not among them, and functions neither: add the names of
    those that you trust.

    Returns
    -------
    list of str
        Full names of classes in alphabetical order.

    Examples
    --------
    >>> import dforest
    >>> from skops import io
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), dforest.RandomForestClassifier(5, random_state=0)).fit(X, y)
    >>> again = io.loads(io.dumps(model), trusted=dforest.skops_types())
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    own = {f"{cls.__module__}.{cls.__qualname__}" for cls in (Forest, PolicyTree, PolicyNodes, *estimators())}
    return sorted(own.union(f"{home}.{name}" for homes in (RECORDS, BUILT_IN) for name, home in homes.items()))
