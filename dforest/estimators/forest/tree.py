"""Single decision trees."""

import copy
import inspect
from numbers import Integral

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from dforest.config import in_kind
from dforest.engines.weights import TrainingRows
from dforest.estimators.conversion import to_sklearn
from dforest.estimators.data.fits import Plan
from dforest.estimators.data.rows import checked_targets
from dforest.estimators.data.validation import check_weights, count_features
from dforest.estimators.declaration import has_parameters
from dforest.estimators.forest.base import TreeEstimator
from dforest.estimators.forest.predictions import ClassPredictions, NumberPredictions
from dforest.estimators.kinds import DecisionTree
from dforest.estimators.other_names import with_hints
from dforest.estimators.randomness import check_random_state
from dforest.estimators.results import pruning
from dforest.estimators.results.dependence import partial_dependence
from dforest.estimators.results.importance import feature_importances_
from dforest.estimators.results.shapley import shap_interaction_values, shap_values
from dforest.estimators.scoring import ClassifierScore, RegressorScore
from dforest.estimators.subclasses import unfitted
from dforest.estimators.targets.classes import Classes
from dforest.estimators.targets.numbers import Numbers
from dforest.inspection.interop import Tree

_CHECK_INPUT = """
check_input : bool, default=True
    Ignored; it is there for code written for scikit-learn's trees. X is always checked, which takes
    little time for arrays of float32 or float64."""


def _with_check_input(method):
    """The docstring of a method, with `check_input` after its other parameters."""
    parameters, returns, rest = inspect.getdoc(method).partition("\n\nReturns\n")
    return parameters + _CHECK_INPUT + returns + rest


class SingleTree(TreeEstimator, DecisionTree):
    """What all kinds of single trees share."""

    __metadata_request__fit = {"check_input": UNUSED}
    __metadata_request__predict = {"check_input": UNUSED}
    __metadata_request__predict_proba = {"check_input": UNUSED}

    @with_hints
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
        """Number of features that are tried at each node before the search may stop: int."""
        check_is_fitted(self)
        return count_features(self.max_features, self.n_features_in_)

    def get_depth(self):
        """Return the depth of the deepest leaf: int. The depth of the root is 0."""
        check_is_fitted(self)
        return int(self.forest_.depths().max())

    def get_n_leaves(self):
        """Return the number of leaves of the tree: int."""
        check_is_fitted(self)
        return int((self.forest_.feature < 0).sum())

    def apply(self, X, check_input=True):
        """Return the number of the leaf that each row reaches.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows,), dtype int64
            Numbers of nodes: the root is 0, and all other nodes follow in depth-first preorder.
        """
        return in_kind(X, self._leaves(X).ravel())

    apply.__doc__ = _with_check_input(apply)

    def decision_path(self, X, check_input=True):
        """Return the nodes that each row passes on its way from the root to a leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        sparse matrix of shape (n_rows, n_nodes)
            1 where the row passes the node, else 0; nodes have the numbers that `apply` returns.
        """
        return self._paths(X)

    decision_path.__doc__ = _with_check_input(decision_path)


class PrunableTree(SingleTree):
    """What kinds of single trees share that can be pruned."""

    feature_importances_ = feature_importances_
    partial_dependence = partial_dependence
    shap_interaction_values = shap_interaction_values
    shap_values = shap_values
    to_sklearn = to_sklearn

    def prune(self, X, y, sample_weight=None, inplace=True):
        """Cut the tree back by the errors that it makes on other rows than those it was grown on [1]_.

        This is reduced-error pruning. From the leaves up, a node becomes a leaf if that makes no more errors
        than what is left of the subtree below it; a node that no row reaches becomes a leaf too. The new leaf
        predicts what the node's training rows say. The result is the smallest of all pruned trees that make
        the fewest errors on the given rows; sums of squared deviations are compared exactly.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data. Missing values go where they go in prediction.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            True targets of these rows: classes of the training data, or finite numbers.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of the error of each row, which is a wrong class or the squared deviation, or the sum of
            these over several outputs; None means 1. `class_weight` does not change it.
        inplace : bool, default=True
            Whether this tree itself is pruned; if False, a pruned copy is returned. A tree of a forest's
            `estimators_` can't be pruned in place, as the forest would go on predicting with the unpruned tree.

        Returns
        -------
        estimator
            This tree, or the pruned copy.

        Raises
        ------
        ValueError
            If X has other columns, or y other labels, than there were in training, or if the tree of a
            forest would be pruned in place. The tree is then left as it was.

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
        X = self._checked_rows(X)
        y = self._target.encode_known(self, checked_targets(self, y, X))
        rows = TrainingRows([X], y, check_weights([sample_weight], [X]))
        weight = rows.integer_weight().fine(rows.y.size, max_bits=53)
        forest = pruning.reduced_error(self.forest_, rows.X, rows.y, weight)
        pruned = self if inplace else copy.copy(self)
        pruned.forest_ = forest
        return pruned

    def cost_complexity_pruning_path(self, X, y, sample_weight=None):
        """Compute the subtrees that minimal cost-complexity pruning passes through as `ccp_alpha` rises [1]_.

        A new tree with the parameters of this one, except for ``ccp_alpha=0``, is grown on the data. This
        tree need not be fitted, and is left as it is.

        Parameters
        ----------
        X, y, sample_weight
            Training data, as `fit` takes them.

        Returns
        -------
        Bunch
            ccp_alphas : ndarray of shape (n_subtrees,)
                The lowest `ccp_alpha` that leads to each subtree; 0 for the whole tree.
            impurities : ndarray of shape (n_subtrees,)
                The impurity of each subtree: the sum over its leaves of their share of the weight times their
                impurity.

        References
        ----------
        .. [1] L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees",
           1984, chapter 3.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from dforest import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> path = DecisionTreeClassifier(max_depth=2, random_state=0).cost_complexity_pruning_path(X, y)
        >>> path.ccp_alphas.round(2).tolist()
        [0.0, 0.26, 0.33]
        """
        tree = unfitted(self)
        tree.ccp_alpha = 0.0
        tree.fit(X, y, sample_weight)
        alphas, impurities = pruning.cost_complexity_path(tree.forest_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)


@has_parameters("tree classifier")
class DecisionTreeClassifier(ClassPredictions, ClassifierScore, PrunableTree):
    """A single decision tree for classification.

    The tree splits the training rows again and again, each time by one feature, until the leaves hold rows of one class or a
    limit is reached. A row is predicted by the leaf that it reaches: the probability of a class is its share in the leaf.
    Missing values, categorical columns and sparse matrices need no preparation.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    DecisionTreeRegressor : A single decision tree for regression.
    RandomForestClassifier : A forest of such trees, which mostly predicts better.
    ExtraTreeClassifier : A single tree that draws thresholds at random.
    export_text : The rules of a tree as text.
    plot_tree : A drawing of a tree.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees", 1984.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> tree.predict(X[:2])
    array([0, 0])
    >>> tree.get_n_leaves()
    3
    """

    _target = Classes()

    def predict(self, X, check_input=True):
        return super().predict(X)

    def predict_proba(self, X, check_input=True):
        return super().predict_proba(X)

    predict.__doc__ = _with_check_input(ClassPredictions.predict)
    predict_proba.__doc__ = _with_check_input(ClassPredictions.predict_proba)


@has_parameters("tree regressor")
class DecisionTreeRegressor(NumberPredictions, RegressorScore, PrunableTree):
    """A single decision tree for regression.

    The tree splits the training rows again and again, each time by one feature, until the leaves hold rows of one target or a
    limit is reached. A row is predicted by the leaf that it reaches: by the mean of the leaf's training targets, or, with
    ``criterion="absolute_error"``, by their median. Missing values, categorical columns and sparse matrices need no
    preparation.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    DecisionTreeClassifier : A single decision tree for classification.
    RandomForestRegressor : A forest of such trees, which mostly predicts better.
    ExtraTreeRegressor : A single tree that draws thresholds at random.
    export_text : The rules of a tree as text.
    plot_tree : A drawing of a tree.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees", 1984.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = DecisionTreeRegressor(max_leaf_nodes=8, random_state=0).fit(X, y)
    >>> tree.predict(X).shape
    (442,)
    >>> tree.get_n_leaves()
    8
    """

    _target = Numbers()

    def predict(self, X, check_input=True):
        return super().predict(X)

    predict.__doc__ = _with_check_input(NumberPredictions.predict)


@has_parameters("tree classifier", splitter="random", max_features="sqrt", method="dense")
class ExtraTreeClassifier(DecisionTreeClassifier):
    """A single extremely randomised tree for classification, which draws thresholds at random.

    At each node the tree draws some features at random, and one threshold for each of them, and takes the best of these
    splits. `ExtraTreesClassifier` is a forest of such trees, and mostly predicts better.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    ExtraTreeRegressor : A single extremely randomised tree for regression.
    ExtraTreesClassifier : A forest of such trees.
    DecisionTreeClassifier : A single tree that searches for the best thresholds.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63(1), 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import ExtraTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ExtraTreeClassifier(random_state=0).fit(X, y)
    >>> tree.score(X, y)  # on the rows that it was grown on
    1.0
    """


@has_parameters("tree regressor", splitter="random", max_features=1.0, method="dense")
class ExtraTreeRegressor(DecisionTreeRegressor):
    """A single extremely randomised tree for regression, which draws thresholds at random.

    At each node the tree draws one threshold at random for each of the features that it tries, all of them by default, and
    takes the best of these splits. `ExtraTreesRegressor` is a forest of such trees, and mostly predicts better.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    ExtraTreeClassifier : A single extremely randomised tree for classification.
    ExtraTreesRegressor : A forest of such trees.
    DecisionTreeRegressor : A single tree that searches for the best thresholds.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63(1), 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import ExtraTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = ExtraTreeRegressor(random_state=0).fit(X, y)
    >>> tree.score(X, y)  # on the rows that it was grown on
    1.0
    """
