"""Random forests."""

import sys
from numbers import Integral

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from dforest.estimator import ClassifierPart, RegressorPart, TreeEstimator
from dforest.tree import DecisionTreeClassifier, DecisionTreeRegressor

_PARAMETERS = """
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
    min_impurity_decrease : float, default=0.0
        A node is split only if that decreases the impurity by at least this much, weighted by the
        node's share of the total weight.
    bootstrap : bool, default=True
        Whether each tree is grown on rows drawn with replacement, or on every row.
    n_jobs : int or None, default=None
        Threads, as in joblib: None means 1, -1 all cores. The forest does not depend on it.
    random_state : int, RandomState or None, default=None
        The same number gives the same forest, whatever `n_jobs`.
    verbose : int, default=0
        1: a line for every tenth of the trees; 2: for every tree.
"""

_METHOD = """
    max_samples : int, float or None, default=None
        Draws of each tree: a number, a share of the rows (rounded), or None for as many as there
        are rows. Needs `bootstrap`.
    method : {"hist", "dense"}, default="hist"
        "hist" looks for splits between the bins that a feature's values are sorted into; "dense"
        between all of its values: exact, and slower.
    max_bins : int, default=256
        Method "hist": most bins of a feature, one for missing values included.
"""

_ATTRIBUTES = """
    Attributes
    ----------
    forest_ : Forest
        All trees as arrays: ``forest_.as_dict()``.
    estimators_ : list of {tree}
        The trees one by one, made when asked for; they share the forest's arrays.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X was a frame whose column names are all strings.
    feature_importances_ : ndarray of shape (n_features_in_,)
"""


class RandomForest(TreeEstimator):
    """What both kinds of random forests share."""

    _parameter_constraints = {
        **TreeEstimator._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "n_jobs": [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
        "max_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
            None,
        ],
    }

    def _plan(self):
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError(f"max_samples={self.max_samples} needs bootstrap=True; without it every row is taken")
        return self.n_estimators, self.bootstrap, self.max_samples, self.n_jobs, self._report if self.verbose else None

    def _report(self, n_grown):
        every = 1 if self.verbose > 1 else max(1, self.n_estimators // 10)
        if n_grown % every == 0 or n_grown == self.n_estimators:
            print(f"{n_grown} of {self.n_estimators} trees", file=sys.stderr)

    @property
    def estimators_(self):
        """The trees one by one, as fitted single-tree estimators that share the forest's arrays."""
        check_is_fitted(self)
        names = set(self._tree_class().get_params()) & set(self.get_params())
        pattern = self._tree_class(**{name: getattr(self, name) for name in names if name != "random_state"})
        shared = {"n_features_in_", "feature_names_in_", "classes_", "n_classes_"}
        fitted = {name: value for name, value in vars(self).items() if name in shared}
        trees = []
        for t in range(self.forest_.n_trees):
            tree = clone(pattern)
            tree.__dict__.update(fitted, forest_=self.forest_.tree(t))
            trees.append(tree)
        return trees

    def apply(self, X):
        """The number of the leaf that each row reaches in each tree.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_estimators), dtype int64
            Nodes of a tree are numbered in depth-first preorder.
        """
        return self._leaves(X)

    def decision_path(self, X):
        """The nodes that each row passes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        indicator : sparse matrix of shape (n_rows, n_nodes)
            1 where the row passes the node; the trees' nodes side by side.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,), dtype int64
            Tree t has the columns n_nodes_ptr[t] to n_nodes_ptr[t + 1].
        """
        return self._paths(X), np.array(self.forest_.node_offsets)


class RandomForestClassifier(ClassifierPart, RandomForest):
    __doc__ = f"""A random forest for classification.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    criterion : {{"gini", "entropy", "log_loss"}}, default="gini"
        The impurity; "log_loss" is another name of "entropy".
{_PARAMETERS.format(max_features='"sqrt"').strip(chr(10))}
    class_weight : dict, "balanced" or None, default=None
        Factors of the rows' weights by class; "balanced": n_rows / (n_classes * rows of the class),
        among the rows of positive weight.
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

    _tree_class = DecisionTreeClassifier
    _parameter_constraints = {
        **RandomForest._parameter_constraints,
        **ClassifierPart._parameter_constraints,
        "voting": [StrOptions({"soft", "hard"})],
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="gini",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features="sqrt",
        min_impurity_decrease=0.0,
        bootstrap=True,
        n_jobs=None,
        random_state=None,
        verbose=0,
        class_weight=None,
        max_samples=None,
        method="hist",
        max_bins=256,
        voting="soft",
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.class_weight = class_weight
        self.max_samples = max_samples
        self.method = method
        self.max_bins = max_bins
        self.voting = voting


class RandomForestRegressor(RegressorPart, RandomForest):
    __doc__ = f"""A random forest for regression.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    criterion : {{"squared_error"}}, default="squared_error"
        The impurity: mean squared deviation from the node's mean.
{_PARAMETERS.format(max_features="1.0").strip(chr(10))}
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

    _tree_class = DecisionTreeRegressor
    _parameter_constraints = {**RandomForest._parameter_constraints, **RegressorPart._parameter_constraints}

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="squared_error",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=1.0,
        min_impurity_decrease=0.0,
        bootstrap=True,
        n_jobs=None,
        random_state=None,
        verbose=0,
        max_samples=None,
        method="hist",
        max_bins=256,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_samples = max_samples
        self.method = method
        self.max_bins = max_bins
