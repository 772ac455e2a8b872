"""Random forests and extremely randomised trees: their parameters."""

from dforest.ensemble import ForestClassifier, ForestRegressor
from dforest.estimator import keep_parameters
from dforest.parameters import CLASS_CRITERIA, FITTED, METHOD, NUMBER_CRITERIA
from dforest.tree import ExtraTreeClassifier, ExtraTreeRegressor

_PARAMETERS = """
    splitter : {{"best", "random"}} or Splitter, default={splitter}
        "best": try every cut of a feature; "random": one, uniform between the node's smallest and
        largest value. Or an object, or a class, of `dforest.splitter`: one of your own.
    max_depth : int, default=None
        A node at this depth is a leaf; the root's depth is 0. None: no limit.
    min_samples_split : int or float, default=2
        A node of fewer draws is a leaf. A float is a share of a tree's draws, rounded up.
    min_samples_leaf : int or float, default=1
        Each side of a split has at least so many draws. A float is a share, as above.
    min_weight_fraction_leaf : float, default=0.0
        Each side of a split has at least this share of the total weight of the tree's draws.
    max_features : int, float, {{"sqrt", "log2"}} or None, default={max_features}
        Features tried at each node: a number, a share, or a function of the number of features;
        None: all. Where none of them has a valid cut, the search goes on until one has.
    skip_constant_features : bool, default=True
        Whether features that are constant in a node are passed over when `max_features` are drawn: then
        so many are tried, if there are, that have two values there, missing being one. False: they
        count, as in scikit-learn.
    max_leaf_nodes : int or None, default=None
        Most leaves: nodes are split in the order of their impurity decrease, best first. None or 0:
        no limit.
    impurity_threshold : float, default=0.0
        A node of lower impurity is a leaf.
    min_impurity_decrease : float, default=0.0
        A node is split only if that decreases the impurity by at least this much, weighted by the
        node's share of the total weight.
    ccp_alpha : float, default=0.0
        If above 0, each new tree is cut back once it is grown, by minimal cost-complexity pruning: to the
        smallest of its subtrees of least impurity + ccp_alpha * leaves.
    bootstrap : bool, default={bootstrap}
        Whether each tree is grown on rows drawn with replacement, or on every row.
    oob_score : bool or callable, default=False
        Whether to predict each row by the trees that never drew it: see the attributes ``oob_*``. A
        callable replaces accuracy or R2 in `oob_score_`: it is given true and predicted values. Metrics
        of probabilities, such as ``sklearn.metrics.roc_auc_score`` and ``log_loss``, are given those; so
        is, if it asks for them, what ``sklearn.metrics.make_scorer`` made.
    n_jobs : int or None, default=None
        Threads of `fit` and of prediction, as in joblib: None means 1, or what ``joblib.parallel_config``
        says; -1 all cores that the process may use, -2 all but one. A number that follows from None or
        from a negative one is cut to the limit of OpenMP, which joblib sets in its worker processes, so
        that these together use each core once, and which ``threadpoolctl.threadpool_limits`` or
        ``OMP_NUM_THREADS`` set. The forest does not depend on it: a tree is grown by all threads that
        have nothing else to do. Data of few rows get fewer threads. All calls of a process share its
        threads, of which it starts no more than it may use cores, or than the largest `n_jobs` so far;
        where the system grants fewer, fewer do the work.
    random_state : int, RandomState or None, default=None
        The same number gives the same forest, whatever `n_jobs`.
    verbose : int, default=0
        1: a line for every tenth of the trees; 2: for every tree.
    warm_start : bool, default=False
        Whether `fit` keeps the trees there are and adds more, up to `n_estimators`.
"""

_METHOD = f"""
    max_samples : int, float or None, default=None
        Draws of each tree: a number, a share of the rows of positive weight (rounded; above 1 too,
        as rows are drawn with replacement), or None for as many as there are. Needs `bootstrap`.
{METHOD}
    variable_importance : {{"mdi", "mda_raw", "mda_scaled"}} or None, default=None
        What to compute as `variable_importance_`: "mdi", the mean over trees of the impurity
        decrease that a feature brings; "mda_raw", the mean over trees of the rise of the error on
        rows left out when the feature is permuted; "mda_scaled", that divided by its standard error.
"""

_OF_EXTRA_TREES = _METHOD.replace('default="hist"', 'default="dense"', 1)

_ATTRIBUTES = f"""
    Attributes
    ----------
    forest_ : Forest
        All trees as arrays: ``forest_.as_dict()``.
    estimator, estimator_ : {{tree}}
        A single tree, not fitted, with the forest's parameters.
    estimators_ : list of {{tree}}
        The trees one by one, made when asked for; they share the forest's arrays.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if X was a frame whose column names are all strings.
{FITTED}
    feature_importances_ : ndarray of shape (n_features,)
        Impurity-based, scaled to sum 1.
    variable_importance_, variable_importance_std_ : ndarray of shape (n_features,)
        If `variable_importance` is set: the importances, and their standard deviation over trees.
    oob_score_ : float
        With `oob_score`, as all that follows: accuracy, R2, or what the callable gave.
    oob_error_ : float
        Misclassification rate by majority of the votes of a row's trees, or mean squared error.
    oob_error_per_observation_ : ndarray of shape (n_rows,)
        NaN for rows that every tree drew, or of weight 0.
    oob_curve_ : ndarray of shape (n_estimators,)
        `oob_error_` after 1, 2, ... trees.
    n_never_oob_ : int
        Rows of positive weight that every tree drew.
"""


class RandomForestClassifier(ForestClassifier):
    __doc__ = f"""A random forest for classification.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
{CLASS_CRITERIA}
{_PARAMETERS.format(splitter='"best"', max_features='"sqrt"', bootstrap=True).strip(chr(10))}
    class_weight : dict, {{"balanced", "balanced_subsample"}} or None, default=None
        Factors of the rows' weights by class; "balanced": total weight / (n_classes * weight of the
        class); "balanced_subsample": likewise, of each tree's draws.
{_METHOD.strip(chr(10))}
    voting : {{"soft", "hard"}}, default="soft"
        How trees are put together: the mean of their class shares, or one vote each.
{_ATTRIBUTES.format(tree="DecisionTreeClassifier").rstrip()}
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45(1), 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RandomForestClassifier(random_state=0).fit(X, y).predict(X[:2])
    array([0, 0])
    """

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
    ):
        keep_parameters(self, locals())


class RandomForestRegressor(ForestRegressor):
    __doc__ = f"""A random forest for regression.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
{NUMBER_CRITERIA}
{_PARAMETERS.format(splitter='"best"', max_features="1.0", bootstrap=True).strip(chr(10))}
{_METHOD.strip(chr(10))}
{_ATTRIBUTES.format(tree="DecisionTreeRegressor").rstrip()}

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45(1), 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RandomForestRegressor(random_state=0).fit(X, y).predict(X).shape
    (442,)
    """

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
    ):
        keep_parameters(self, locals())


class ExtraTreesClassifier(ForestClassifier):
    __doc__ = f"""Extremely randomised trees for classification.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
{CLASS_CRITERIA}
{_PARAMETERS.format(splitter='"random"', max_features='"sqrt"', bootstrap=False).strip(chr(10))}
    class_weight : dict, {{"balanced", "balanced_subsample"}} or None, default=None
        Factors of the rows' weights by class; "balanced": total weight / (n_classes * weight of the
        class); "balanced_subsample": likewise, of each tree's draws.
{_OF_EXTRA_TREES.strip(chr(10))}
    voting : {{"soft", "hard"}}, default="soft"
        How trees are put together: the mean of their class shares, or one vote each.
{_ATTRIBUTES.format(tree="ExtraTreeClassifier").rstrip()}
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63(1), 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreesClassifier(random_state=0).fit(X, y).predict(X[:2])
    array([0, 0])
    """

    _tree_class = ExtraTreeClassifier

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
    ):
        keep_parameters(self, locals())


class ExtraTreesRegressor(ForestRegressor):
    __doc__ = f"""Extremely randomised trees for regression.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
{NUMBER_CRITERIA}
{_PARAMETERS.format(splitter='"random"', max_features="1.0", bootstrap=False).strip(chr(10))}
{_OF_EXTRA_TREES.strip(chr(10))}
{_ATTRIBUTES.format(tree="ExtraTreeRegressor").rstrip()}

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63(1), 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ExtraTreesRegressor(random_state=0).fit(X, y).predict(X).shape
    (442,)
    """

    _tree_class = ExtraTreeRegressor

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
    ):
        keep_parameters(self, locals())
