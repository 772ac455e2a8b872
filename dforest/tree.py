"""Single decision trees."""

from sklearn.utils.validation import check_is_fitted

from dforest.estimator import ClassifierPart, Plan, RegressorPart, TreeEstimator, keep_parameters
from dforest.interop import Tree

_PARAMETERS = """
    splitter : {"best", "random"}, default="best"
        "best": try every cut of a feature; "random": one, uniform between the node's smallest and
        largest value.
    max_depth : int, default=None
        A node at this depth is a leaf; the root's depth is 0. None: no limit.
    min_samples_split : int or float, default=2
        A node of fewer rows is a leaf. A float is a share of the training rows, rounded up.
    min_samples_leaf : int or float, default=1
        Each side of a split has at least so many rows. A float is a share, as above.
    min_weight_fraction_leaf : float, default=0.0
        Each side of a split has at least this share of the total weight.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Features tried at each node: a number, a share, or a function of the number of features;
        None: all. Where none of them has a valid cut, the search goes on until one has.
    random_state : int, RandomState or None, default=None
        Decides the order in which features are tried, and so ties between them, and random cuts.
    max_leaf_nodes : int or None, default=None
        Most leaves: nodes are split in the order of their impurity decrease, best first. None or 0:
        no limit.
    impurity_threshold : float, default=0.0
        A node of lower impurity is a leaf.
    min_impurity_decrease : float, default=0.0
        A node is split only if that decreases the impurity by at least this much, weighted by the
        node's share of the total weight.
"""

_METHOD = """
    method : {"hist", "dense"}, default="hist"
        "hist" looks for splits between the bins that a feature's values are sorted into; "dense"
        between all of its values: exact, and slower.
    max_bins : int, default=256
        Method "hist": most bins of a feature, one for missing values included.

    Attributes
    ----------
    forest_ : Forest
        The tree as arrays: ``forest_.as_dict()``.
    tree_ : dforest.interop.Tree
        The tree with the attributes of scikit-learn's tree objects.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X was a frame whose column names are all strings.
    feature_importances_ : ndarray of shape (n_features_in_,)
"""


class DecisionTree(TreeEstimator):
    """What both kinds of single trees share."""

    def _plan(self):
        return Plan(n_trees=1)

    @property
    def tree_(self):
        """The tree with the attributes of scikit-learn's tree objects, made when first asked for."""
        check_is_fitted(self)
        made_for, tree = self.__dict__.get("_tree", (None, None))
        if made_for is not self.forest_:
            tree = Tree(self.forest_)
            self._tree = (self.forest_, tree)
        return tree

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_tree"}

    def get_depth(self):
        """The depth of the deepest leaf; a root alone has depth 0."""
        check_is_fitted(self)
        return int(self.forest_.depths().max())

    def get_n_leaves(self):
        """The number of leaves."""
        check_is_fitted(self)
        return int((self.forest_.feature < 0).sum())

    def apply(self, X):
        """The number of the leaf that each row reaches.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,), dtype int64
            Nodes are numbered in depth-first preorder.
        """
        return self._leaves(X)[:, 0]

    def decision_path(self, X):
        """The nodes that each row passes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        sparse matrix of shape (n_rows, n_nodes)
            1 where the row passes the node.
        """
        return self._paths(X)


class DecisionTreeClassifier(ClassifierPart, DecisionTree):
    __doc__ = f"""A decision tree for classification.

    Parameters
    ----------
    criterion : {{"gini", "entropy", "log_loss"}}, default="gini"
        The impurity; "log_loss" is another name of "entropy".
{_PARAMETERS.strip(chr(10))}
    class_weight : dict, "balanced" or None, default=None
        Factors of the rows' weights by class; "balanced": total weight / (n_classes * weight of the
        class).
{_METHOD.strip(chr(10))}
    classes_ : ndarray of shape (n_classes,)
    n_classes_ : int

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees", 1984.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y).predict(X[:2])
    array([0, 0])
    """

    _parameter_constraints = {**TreeEstimator._parameter_constraints, **ClassifierPart._parameter_constraints}

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
        random_state=None,
        max_leaf_nodes=None,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        class_weight=None,
        method="hist",
        max_bins=256,
    ):
        keep_parameters(self, locals())


class DecisionTreeRegressor(RegressorPart, DecisionTree):
    __doc__ = f"""A decision tree for regression.

    Parameters
    ----------
    criterion : {{"squared_error"}}, default="squared_error"
        The impurity: mean squared deviation from the node's mean.
{_PARAMETERS.strip(chr(10))}
{_METHOD.strip(chr(10))}

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees", 1984.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> DecisionTreeRegressor(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    _parameter_constraints = {**TreeEstimator._parameter_constraints, **RegressorPart._parameter_constraints}

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
        random_state=None,
        max_leaf_nodes=None,
        impurity_threshold=0.0,
        min_impurity_decrease=0.0,
        method="hist",
        max_bins=256,
    ):
        keep_parameters(self, locals())
