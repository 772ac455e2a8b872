"""Rows as the leaves that they reach in trees which look at no target."""

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn import get_config
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names_in, _num_samples, check_is_fitted

from dforest.config import on_host
from dforest.ensemble import ForestEstimator
from dforest.estimator import NumberTargets, keep_parameters
from dforest.parameters import FITTED, METHOD
from dforest.tree import ExtraTreeRegressor


class RandomTreesEmbedding(NumberTargets, TransformerMixin, ForestEstimator):
    __doc__ = f"""Rows as the leaves that they reach in trees of random cuts, which look at no target.

    Each leaf of each tree is a column of the result: 1 where a row reaches that leaf, else 0. A cut is drawn at
    random, of one feature drawn at random. As in scikit-learn, the trees are those of `ExtraTreesRegressor` with
    ``max_features=1``, grown for targets that are random numbers.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees in the forest.
    max_depth : int or None, default=5
        A node at this depth is a leaf; the root's depth is 0. None: no limit.
    min_samples_split : int or float, default=2
        A node of fewer rows is a leaf. A float is a share of the rows, rounded up.
    min_samples_leaf : int or float, default=1
        Each side of a split has at least so many rows. A float is a share, as above.
    min_weight_fraction_leaf : float, default=0.0
        Each side of a split has at least this share of the total weight.
    max_leaf_nodes : int or None, default=None
        Most leaves: nodes are split in the order of their impurity decrease, best first. None or 0:
        no limit.
    min_impurity_decrease : float, default=0.0
        A node is split only if that decreases the variance of the random targets by at least this much,
        weighted by the node's share of the total weight.
    sparse_output : bool, default=True
        Whether `transform` returns a sparse matrix or an ndarray.
    n_jobs : int or None, default=None
        Number of threads, as for `RandomForestRegressor`.
    random_state : int, RandomState or None, default=None
        The same number gives the same trees, whatever `n_jobs`.
    verbose : int, default=0
        1: a line for every tenth of the trees; 2: for every tree.
    warm_start : bool, default=False
        Whether `fit` keeps the trees there are and adds more, up to `n_estimators`.
{METHOD.replace('default="hist"', 'default="dense"', 1)}

    Attributes
    ----------
    forest_ : Forest
        All trees as arrays: ``forest_.as_dict()``.
    estimators_ : list of ExtraTreeRegressor
        The trees one by one, made when asked for; they share the forest's arrays.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if X was a frame whose column names are all strings.
{FITTED}

    References
    ----------
    F. Moosmann, B. Triggs, F. Jurie, "Fast discriminative visual codebooks using randomized clustering forests",
    NeurIPS 2006.

    Examples
    --------
    >>> from dforest import RandomTreesEmbedding
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> embedding = RandomTreesEmbedding(n_estimators=5, max_depth=1, random_state=0).fit(X)
    >>> embedding.transform(X).shape
    (4, 10)
    >>> embedding.transform(X).sum(axis=1).ravel().tolist()
    [[5.0, 5.0, 5.0, 5.0]]
    """

    _tree_class = ExtraTreeRegressor
    _parameter_constraints = {**ForestEstimator._parameter_constraints, "sparse_output": ["boolean"]}

    # What other forests leave to the user.
    criterion = "squared_error"
    splitter = "random"
    max_features = 1
    skip_constant_features = True
    bootstrap = False
    oob_score = False
    max_samples = None
    variable_importance = None
    monotonic_cst = None
    impurity_threshold = 0.0
    ccp_alpha = 0.0

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
    ):
        keep_parameters(self, locals())

    def fit(self, X, y=None, sample_weight=None):
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            As for the other forests.
        y : object, optional
            Not looked at.
        sample_weight : array-like of shape (n_rows,), optional
            How much each row counts in `min_weight_fraction_leaf` and in the variance of the random targets;
            rows of weight 0 are left out.

        Returns
        -------
        self
        """
        return super().fit(X, None, sample_weight)

    def _fit(self, X, y, sample_weight):
        y = check_random_state(self.random_state).uniform(size=_num_samples(X))
        super()._fit(X, y, sample_weight)

    def fit_transform(self, X, y=None, sample_weight=None):
        """Grow the trees and return the leaves that the rows reach: parameters as for `fit`, result as of `transform`."""
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X):
        """The leaves that rows reach.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        sparse matrix, or ndarray with ``sparse_output=False``, of shape (n_rows, n_leaves), dtype float64
            1 where a row reaches a leaf. Columns are the leaves of the first tree in the order of their
            numbers, then those of the second, and so on.
        """
        leaf = on_host(self._leaves(X))
        columns = self._column_of_node()[leaf + self.forest_.node_offsets[:-1]]
        n_rows, n_trees = columns.shape
        kind = csr_array if get_config().get("sparse_interface") == "sparray" else csr_matrix
        parts = np.ones(columns.size), columns.ravel(), np.arange(n_rows + 1) * n_trees
        found = kind(parts, shape=(n_rows, self._n_features_out))
        return found if self.sparse_output else found.toarray()

    def _column_of_node(self):
        """The number of each leaf among all leaves, by its place in the node arrays; of inner nodes that of the leaf before."""
        return np.cumsum(self.forest_.feature < 0) - 1

    @property
    def _n_features_out(self):
        return int(np.count_nonzero(self.forest_.feature < 0))

    def get_feature_names_out(self, input_features=None):
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, optional
            Only compared with the names seen in `fit`.

        Returns
        -------
        ndarray of str objects
            ``randomtreesembedding_{tree}_{leaf}``, the number of the tree and of the node that is the leaf.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        place = np.flatnonzero(self.forest_.feature < 0)
        tree = np.searchsorted(self.forest_.node_offsets, place, side="right") - 1
        node = place - self.forest_.node_offsets[tree]
        return np.array([f"randomtreesembedding_{t}_{i}" for t, i in zip(tree, node, strict=True)], object)
