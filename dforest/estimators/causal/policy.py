"""Policy trees: the best shallow tree that assigns an action to each row, found by an exact search (`dforest.core.policy`)."""

from dataclasses import dataclass
from math import frexp, ldexp
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from dforest.core.policy import best_split
from dforest.estimators.data.given import given_numbers
from dforest.estimators.data.validation import check_weights, count_threads

SUM_BITS = 61  # of the sum of the magnitudes of an action's rewards, as integers
LEAF = -1


@dataclass(frozen=True)
class PolicyNodes:
    """The nodes of a policy tree as arrays of shape (n_nodes,), in preorder: a node, its left subtree, then its right one.

    Attributes
    ----------
    feature : ndarray, dtype int64
        Number of the feature that the node tests; -1 for a leaf.
    threshold : ndarray, dtype float64
        Rows whose value is up to this go left, others right; NaN for a leaf.
    children_left, children_right : ndarray, dtype int64
        Numbers of the nodes below; -1 for a leaf.
    action : ndarray, dtype int64
        The action of a leaf; of another node, the one that would be best for all of its rows.
    n_node_samples : ndarray, dtype int64
        How many training rows of positive weight reach the node.

    Examples
    --------
    >>> from dforest import PolicyTree
    >>> nodes = PolicyTree(1).fit([[1.0], [2.0], [4.0]], [[0, -1], [0, -1], [0, 5]]).tree_
    >>> nodes.threshold.tolist(), nodes.action.tolist()
    ([3.0, nan, nan], [1, 0, 1])
    """

    feature: np.ndarray
    threshold: np.ndarray
    children_left: np.ndarray
    children_right: np.ndarray
    action: np.ndarray
    n_node_samples: np.ndarray

    @property
    def node_count(self):
        """Number of nodes: int."""
        return len(self.feature)

    @property
    def is_leaf(self):
        """Whether a node is a leaf: ndarray of bool."""
        return self.feature == LEAF

    def apply(self, X):
        """The numbers of the leaves that rows reach: ndarray of shape (n_rows,), dtype int64."""
        node = np.zeros(len(X), np.int64)
        while True:
            inner = np.flatnonzero(~self.is_leaf[node])
            if len(inner) == 0:
                return node
            at = node[inner]
            goes_left = X[inner, self.feature[at]] <= self.threshold[at]
            node[inner] = np.where(goes_left, self.children_left[at], self.children_right[at])


class PolicyTree(BaseEstimator):
    """A shallow tree that assigns an action to each row, so that the sum of rewards is as great as any such tree can make it.

    It learns from the rewards that each action would bring for each training row, such as doubly robust scores: whom to treat, or
    which of several treatments to give, by a rule that people can read. No tree of this depth is better on the training rows; of
    equal ones it is the shallowest, then that which tests features of lower numbers, then that of lower thresholds. The same
    data give the same tree to the bit, in any order of the rows and on any number of threads.

    Parameters
    ----------
    max_depth : int, default=2
        How many splits lie between the root and a leaf, at most. Up to 2, the search takes a time in proportion to n log n for n
        rows, and to p**2 for p features; each further level takes it up to n p times over. So 3 is for thousands of rows, and 4
        for hundreds.
    min_samples_leaf : int, default=1
        Least number of training rows in a leaf, those of weight 0 not counted.
    split_step : int, default=1
        Of the places between neighbouring values of a column, every `split_step`-th one is considered for splits: larger numbers
        take less time, and find a tree that is nearly as good where columns have many values.
    costs : array-like of shape (n_actions,), optional
        What each action costs, which is taken off its rewards. None means nothing.
    n_jobs : int, optional
        Number of threads, which share the features. None means 1 unless in a ``joblib.parallel_config``, and -1 all cores.

    Attributes
    ----------
    tree_ : dforest.estimators.causal.policy.PolicyNodes
        The nodes as arrays.
    value_ : float
        The mean reward of the training rows, less costs, weighted if they have weights: the greatest that a tree can have.
    n_actions_ : int
        Number of actions.
    n_features_in_ : int
        Number of columns of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of X; set only if X was a data frame whose column names are all strings.

    See Also
    --------
    CausalForest : A forest whose doubly robust scores can be rewards.

    Notes
    -----
    Rewards are rounded to multiples of a power of two, so that they are integers whose sums have 61 bits at most, and searched
    exactly.

    References
    ----------
    S. Athey, S. Wager, "Policy learning with observational data", Econometrica 89(1), 2021.

    Z. Zhou, S. Athey, S. Wager, "Offline multi-action policy learning: generalization and optimization", Operations Research
    71(1), 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import PolicyTree
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> effect = np.where((X[:, 0] > 0) & (X[:, 1] > 0), 1.0, -1.0)  # of the treatment, which is action 1
    >>> tree = PolicyTree(max_depth=2).fit(X, np.column_stack([np.zeros(500), effect]))
    >>> tree.predict([[0.5, 0.5], [0.5, -0.5]])
    array([1, 0])
    >>> print(tree.export_text(feature_names=["age", "risk"], action_names=["wait", "treat"]))
    |--- age <= 0.00
    |   |--- action: wait
    |--- age >  0.00
    |   |--- risk <= 0.00
    |   |   |--- action: wait
    |   |--- risk >  0.00
    |   |   |--- action: treat
    """

    _parameter_constraints = {
        "max_depth": [Interval(Integral, 0, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "split_step": [Interval(Integral, 1, None, closed="left")],
        "costs": ["array-like", None],
        "n_jobs": [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(self, max_depth=2, min_samples_leaf=1, split_step=1, costs=None, *, n_jobs=None):
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.split_step = split_step
        self.costs = costs
        self.n_jobs = n_jobs

    def fit(self, X, rewards, sample_weight=None):
        """Find the best tree for training rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Training rows: finite numbers. Missing values are refused.
        rewards : array-like of shape (n_rows, n_actions)
            What each action brings for each row: finite numbers. For a treatment and scores of its effect, these are zeros for
            action 0, which is not to give it, and the scores: ``np.column_stack([np.zeros(len(scores)), scores])``.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, from 0 on, which rewards are multiplied by; rows of weight 0 are left out. None means that all
            weights are 1.

        Returns
        -------
        self
            The fitted tree.

        Raises
        ------
        ValueError
            If a parameter or the data are not as described.
        """
        self._validate_params()
        X = validate_data(self, X, dtype=np.float64, ensure_min_features=1)
        net, weight = self._net_rewards(X, rewards, sample_weight)
        self.n_actions_ = net.shape[1]
        if weight is not None:
            kept = weight > 0
            X, net, weight = X[kept], net[kept] * weight[kept, None], weight[kept]
            if not np.isfinite(net).all():
                raise ValueError("rewards times sample_weight are beyond the range of float64; rescale one of them")
        integers, unit = _as_integers(net)
        codes = np.stack([_coarse_codes(column, self.split_step) for column in X.T])
        value, nodes = _grow(X, codes, integers, min(self.max_depth, len(X)), self.min_samples_leaf, count_threads(self.n_jobs))
        self.tree_ = PolicyNodes(*(np.array(own) for own in zip(*nodes, strict=True)))
        self.value_ = value * unit / (len(X) if weight is None else float(weight.sum()))
        return self

    def _net_rewards(self, X, rewards, sample_weight):
        """(rewards less costs, weights or None), given rows that were checked. Raises ValueError if they are not as described."""
        rewards = given_numbers("rewards", rewards)
        if not isinstance(rewards, np.ndarray) or rewards.ndim != 2 or len(rewards) != len(X) or rewards.shape[1] < 2:
            raise ValueError(
                f"rewards has the shape {getattr(rewards, 'shape', None)}; allowed is a row for each of {len(X)} rows of X, "
                "with a column for each of two actions or more, such as zeros for the control"
            )
        rewards = _finite("rewards", rewards)
        if self.costs is not None:
            costs = given_numbers("costs", self.costs)
            if costs.shape != rewards.shape[1:]:
                raise ValueError(f"costs has the shape {costs.shape}; allowed is a number for each of {rewards.shape[1]} actions")
            rewards = _finite("rewards less costs", rewards - _finite("costs", costs))
        return rewards, check_weights([sample_weight], [X])

    def _checked(self, X):
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, reset=False)

    def apply(self, X):
        """Return the leaf that each row reaches.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with the columns of the training data: finite numbers.

        Returns
        -------
        ndarray of shape (n_rows,), dtype int64
            Numbers of nodes in `tree_`.
        """
        X = self._checked(X)
        return self.tree_.apply(X)

    def predict(self, X):
        """Return the action for each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with the columns of the training data: finite numbers.

        Returns
        -------
        ndarray of shape (n_rows,), dtype int64
            Numbers of columns of the rewards.
        """
        leaves = self.apply(X)
        return self.tree_.action[leaves]

    def score(self, X, rewards, sample_weight=None):
        """Return the mean reward of the actions that the tree assigns, less costs.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with the columns of the training data: finite numbers.
        rewards : array-like of shape (n_rows, n_actions)
            What each action brings for each row: finite numbers.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, from 0 on. None means that all weights are 1.

        Returns
        -------
        float
        """
        checked = self._checked(X)
        net, weight = self._net_rewards(checked, rewards, sample_weight)
        if net.shape[1] != self.n_actions_:
            raise ValueError(f"rewards has {net.shape[1]} columns; the tree has {self.n_actions_} actions")
        action = self.tree_.action[self.tree_.apply(checked)]
        return float(np.average(net[np.arange(len(net)), action], weights=weight))

    def export_text(self, *, feature_names=None, action_names=None, decimals=2):
        """Return the tree as text.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the features. None means those of the training data, or ``x[0]``, ``x[1]``, ...
        action_names : list of str, optional
            Names of the actions. None means their numbers.
        decimals : int, default=2
            Digits of thresholds after the point.

        Returns
        -------
        str
            A line for each leaf, and two for each split.
        """
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None) if feature_names is None else feature_names
        features = _names("feature_names", known, self.n_features_in_, "x[{}]")
        actions = _names("action_names", action_names, self.n_actions_, "{}")
        tree, lines = self.tree_, []

        def write(node, bars):
            if tree.feature[node] == LEAF:
                lines.append(f"{bars}|--- action: {actions[tree.action[node]]}")
                return
            for sign, child in (("<=", tree.children_left[node]), ("> ", tree.children_right[node])):
                lines.append(f"{bars}|--- {features[tree.feature[node]]} {sign} {tree.threshold[node]:.{decimals}f}")
                write(child, f"{bars}|   ")

        write(0, "")
        return "\n".join(lines)


def _finite(name, numbers):
    """Numbers as float64. Raises ValueError if one is infinite, or none at all."""
    if numbers.dtype.kind not in "biuf":
        raise ValueError(f"{name} has the type {numbers.dtype}; allowed are numbers")
    numbers = np.asarray(numbers, np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} has the value {numbers[~np.isfinite(numbers)][0]}; allowed are finite numbers")
    return numbers


def _names(what, given, n, pattern):
    """n names, as given or made by a pattern."""
    if given is None:
        return [pattern.format(i) for i in range(n)]
    if isinstance(given, str) or len(given) != n:
        raise ValueError(f"{what}={given!r}; allowed is a list of {n} names")
    return [str(name) for name in given]


def _as_integers(net):
    """(rewards as integers, whose magnitudes sum to less than 2**61 for each action; the power of two that 1 stands for)."""
    largest = float(np.abs(net).max())
    if largest == 0.0:
        return np.zeros(net.shape, np.int64), 1.0
    exponent = SUM_BITS - len(net).bit_length() - frexp(largest)[1]
    return np.rint(np.ldexp(net, exponent)).astype(np.int64), ldexp(1.0, -exponent)


def _coarse_codes(column, step):
    """Numbers of the ranges of values that cuts may tell apart: those of `step` values each, in ascending order."""
    return np.unique(column, return_inverse=True)[1] // step


def _grow(X, codes, rewards, depth, least, n_threads):
    """(the value of the best tree, its nodes in preorder as tuples of the fields of `PolicyNodes`)."""
    places = [np.unique(own, return_inverse=True) for own in codes]
    dense = np.stack([place for _, place in places]).astype(np.int32)
    n_codes = np.array([len(known) for known, _ in places], np.int32)
    value, feature, cut = best_split(dense, n_codes, np.ascontiguousarray(rewards), depth, least, n_threads)
    action = int(rewards.sum(axis=0).argmax())
    if feature == LEAF:
        return value, [(LEAF, np.nan, LEAF, LEAF, action, len(X))]
    is_left = dense[feature] <= cut
    low, high = X[is_left, feature].max(), X[~is_left, feature].min()
    nodes = [None]
    children = []
    for side in (is_left, ~is_left):
        children.append(len(nodes))
        own = _grow(X[side], codes[:, side], rewards[side], depth - 1, least, n_threads)[1]
        shift = len(nodes)
        nodes += [(j, t, left + shift * (j != LEAF), right + shift * (j != LEAF), *rest) for j, t, left, right, *rest in own]
    nodes[0] = (feature, _between(float(low), float(high)), *children, action, len(X))
    return value, nodes


def _between(low, high):
    """The number midway between two, which the higher one is above."""
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low
