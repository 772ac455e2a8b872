"""Single decision trees."""

import copy
import inspect
from numbers import Integral

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from dforest import pruning
from dforest.config import in_kind
from dforest.estimators.base import ClassifierPart, Plan, RegressorPart, TreeEstimator
from dforest.estimators.conversion import ConversionPart
from dforest.estimators.declaration import has_parameters
from dforest.estimators.outputs import check_one_output
from dforest.estimators.shapley import ShapPart
from dforest.estimators.validation import check_weights, check_X, count_features
from dforest.interop import Tree
from dforest.weights import TrainingRows

_CHECK_INPUT = """
check_input : bool, default=True
    Accepted for code written for scikit-learn's trees, and not used: X is always checked, which takes
    little time for arrays of float32 or float64."""


def _with_check_input(method):
    """The docstring of a method, with `check_input` after its other parameters."""
    parameters, returns, rest = inspect.getdoc(method).partition("\n\nReturns\n")
    return parameters + _CHECK_INPUT + returns + rest


class DecisionTree(TreeEstimator):
    """What all kinds of single trees share."""

    __metadata_request__fit = {"check_input": UNUSED}
    __metadata_request__predict = {"check_input": UNUSED}
    __metadata_request__predict_proba = {"check_input": UNUSED}

    def fit(self, X, y, sample_weight=None, check_input=True):
        return super().fit(X, y, sample_weight)

    fit.__doc__ = _with_check_input(TreeEstimator.fit)

    def _plan(self):
        return Plan(n_trees=1)

    def _seed(self, plan):
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = int(check_random_state(seed).randint(2**32, dtype=np.uint32))
        return int(seed), True

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
        return {name: value for name, value in state.items() if name not in ("_tree", "_seen_in")}

    @property
    def max_features_(self):
        """How many features are tried at each node before the search may stop."""
        check_is_fitted(self)
        return count_features(self.max_features, self.n_features_in_)

    def get_depth(self):
        """The depth of the deepest leaf; a root alone has depth 0."""
        check_is_fitted(self)
        return int(self.forest_.depths().max())

    def get_n_leaves(self):
        """The number of leaves of the tree."""
        check_is_fitted(self)
        return int((self.forest_.feature < 0).sum())

    def prune(self, X, y, sample_weight=None, inplace=True):
        """Cut the tree back by the errors it makes on rows it was not grown on [1]_.

        From the leaves up, a node becomes a leaf if that makes no more errors than what is left of its
        branch; a node that no row reaches becomes a leaf too. The new leaf predicts what the node's
        training rows say. The result is the smallest of all prunings that make the fewest errors on the
        rows; sums of squared deviations are compared exactly.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data. Missing values go where they go in prediction.
        y : array-like of shape (n_rows,)
            Classes of the training data, or finite numbers.
        sample_weight : array-like of shape (n_rows,), optional
            How much the error of each row counts, which is a wrong class or the squared deviation.
            `class_weight` does not change it.
        inplace : bool, default=True
            Whether this tree is pruned, or a copy of it. One of a forest's `estimators_` can't be pruned
            in place: the forest would go on predicting with the tree as it was.

        Returns
        -------
        estimator
            This tree or the copy.

        Raises
        ------
        ValueError
            If X has other columns, or y other labels, than there were in training, or if a tree of a
            forest would be pruned in place. The tree stays as it was.

        References
        ----------
        .. [1] J. R. Quinlan, "Simplifying decision trees", International Journal of Man-Machine
           Studies 27(3), 1987.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.model_selection import train_test_split
        >>> from dforest import DecisionTreeClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> X, X_prune, y, y_prune = train_test_split(X, y, random_state=0)
        >>> tree = DecisionTreeClassifier(random_state=0).fit(X, y)
        >>> pruned = tree.prune(X_prune, y_prune, inplace=False)
        >>> pruned.get_n_leaves() < tree.get_n_leaves()
        True
        """
        check_is_fitted(self)
        if inplace and self.__dict__.get("_seen_in") is self.forest_:
            raise ValueError(
                "inplace=True, but this tree is one of a forest's estimators_, and the forest would not change with it; "
                "allowed is inplace=False, which returns a pruned copy that stands alone"
            )
        check_one_output(self, "prune")
        X, y = check_X(self, X, self._features, y=y, reset=False, y_numeric=is_regressor(self))
        rows = TrainingRows([X], self._encode_known(y), check_weights([sample_weight], [X]))
        forest = pruning.reduced_error(self.forest_, rows.X, rows.y, rows.integer_weight()[0])
        pruned = self if inplace else copy.copy(self)
        pruned.forest_ = forest
        return pruned

    def cost_complexity_pruning_path(self, X, y, sample_weight=None):
        """The subtrees that minimal cost-complexity pruning passes through as `ccp_alpha` rises [1]_.

        Parameters
        ----------
        X, y, sample_weight
            Training data, as `fit` takes them. A tree with this one's parameters, except ``ccp_alpha=0``, is
            grown on them.

        Returns
        -------
        Bunch
            ccp_alphas : ndarray of shape (n_subtrees,)
                The lowest `ccp_alpha` that leads to each subtree; 0 for the whole tree.
            impurities : ndarray of shape (n_subtrees,)
                The sum over each subtree's leaves of their share of the weight times their impurity.

        References
        ----------
        .. [1] L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees",
           1984, chapter 3.
        """
        tree = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight)
        alphas, impurities = pruning.cost_complexity_path(tree.forest_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def apply(self, X, check_input=True):
        """The number of the leaf that each row reaches.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,), dtype int64
            Nodes are numbered in depth-first preorder.
        """
        return in_kind(X, self._leaves(X).ravel())

    apply.__doc__ = _with_check_input(apply)

    def decision_path(self, X, check_input=True):
        """The nodes that each row passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)

        Returns
        -------
        sparse matrix of shape (n_rows, n_nodes)
            1 where the row passes the node, else 0.
        """
        return self._paths(X)

    decision_path.__doc__ = _with_check_input(decision_path)


@has_parameters("tree classifier")
class DecisionTreeClassifier(ConversionPart, ShapPart, ClassifierPart, DecisionTree):
    """A decision tree for classification.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

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

    def predict(self, X, check_input=True):
        return super().predict(X)

    def predict_proba(self, X, check_input=True):
        return super().predict_proba(X)

    predict.__doc__ = _with_check_input(ClassifierPart.predict)
    predict_proba.__doc__ = _with_check_input(ClassifierPart.predict_proba)


@has_parameters("tree regressor")
class DecisionTreeRegressor(ConversionPart, ShapPart, RegressorPart, DecisionTree):
    """A decision tree for regression.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

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

    def predict(self, X, check_input=True):
        return super().predict(X)

    predict.__doc__ = _with_check_input(RegressorPart.predict)


@has_parameters("tree classifier", splitter="random", max_features="sqrt", method="dense")
class ExtraTreeClassifier(DecisionTreeClassifier):
    """An extremely randomised tree for classification: what `ExtraTreesClassifier` is a forest of.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63(1), 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import ExtraTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreeClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """


@has_parameters("tree regressor", splitter="random", max_features=1.0, method="dense")
class ExtraTreeRegressor(DecisionTreeRegressor):
    """An extremely randomised tree for regression: what `ExtraTreesRegressor` is a forest of.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63(1), 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import ExtraTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ExtraTreeRegressor(random_state=0).fit(X, y).score(X, y)
    1.0
    """
