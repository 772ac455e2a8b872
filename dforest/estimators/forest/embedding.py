"""Rows as the leaves that they reach in trees which look at no target."""

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn import get_config
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from dforest.config import on_host
from dforest.estimators.conversion import to_sklearn
from dforest.estimators.declaration import has_parameters
from dforest.estimators.forest.ensemble import ForestEstimator
from dforest.estimators.forest.tree import ExtraTreeRegressor
from dforest.estimators.kinds import Embedding
from dforest.estimators.results.importance import feature_importances_
from dforest.estimators.targets.none import RandomNumbers


@has_parameters("embedding", max_depth=5, method="dense")
class RandomTreesEmbedding(Embedding, TransformerMixin, ForestEstimator):
    """An embedding of rows by random trees, which turns each row into the leaves that it reaches.

    Each leaf of each tree is a column of the result, which is 1 where a row reaches that leaf and 0 elsewhere. The trees need
    no target: each node is split by one feature, drawn at random, at a threshold drawn at random. As in scikit-learn, the
    trees are those of `ExtraTreesRegressor` with ``max_features=1``, grown for targets that are random numbers.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    ExtraTreesRegressor : A forest of such trees that are grown for given targets.

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
    _target = RandomNumbers()
    feature_importances_ = feature_importances_
    to_sklearn = to_sklearn

    # Parameters of other forests, with the values that they have here.
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
    keep_training_data = False

    def fit(self, X, y=None, sample_weight=None):
        """Grow the random trees on training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Training rows: numbers or booleans, or text in categorical columns. None, NaN, NA, null and masked cells are missing.
        y : object, optional
            Ignored; it is there for scikit-learn's pipelines, which pass one.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, from 0 on, for `min_weight_fraction_leaf` and for the variance of the random
            targets; rows of weight 0 are left out. None means that all weights are 1.

        Returns
        -------
        self
            The fitted embedding.
        """
        return super().fit(X, None, sample_weight)

    def fit_transform(self, X, y=None, sample_weight=None):
        """Grow the random trees on training rows, and return the leaves that these rows reach.

        Parameters
        ----------
        X, y, sample_weight
            Training data, as `fit` takes them.

        Returns
        -------
        sparse matrix, or ndarray with ``sparse_output=False``, of shape (n_rows, n_leaves), dtype float64
            What `transform` returns for X.
        """
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X):
        """Return a matrix of the leaves that rows reach.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        sparse matrix, or ndarray with ``sparse_output=False``, of shape (n_rows, n_leaves), dtype float64
            1 where a row reaches a leaf, else 0. Columns are the leaves of the first tree in the order of their
            numbers, then those of the second tree, and so on.
        """
        leaf = on_host(self._leaves(X))
        columns = self._column_of_node()[leaf + self.forest_.node_offsets[:-1]]
        n_rows, n_trees = columns.shape
        kind = csr_array if get_config().get("sparse_interface") == "sparray" else csr_matrix
        parts = np.ones(columns.size), columns.ravel(), np.arange(n_rows + 1) * n_trees
        found = kind(parts, shape=(n_rows, self._n_features_out))
        return found if self.sparse_output else found.toarray()

    def _column_of_node(self):
        """The number of each leaf among all leaves, by its place in the node arrays; for other nodes, that of the leaf before."""
        return np.cumsum(self.forest_.feature < 0) - 1

    @property
    def _n_features_out(self):
        return int(np.count_nonzero(self.forest_.feature < 0))

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns of what `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of X, which are only compared with those seen in `fit`.

        Returns
        -------
        ndarray of str objects
            ``randomtreesembedding_{tree}_{leaf}``, with the number of the tree and that of the leaf among its nodes.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        place = np.flatnonzero(self.forest_.feature < 0)
        tree = np.searchsorted(self.forest_.node_offsets, place, side="right") - 1
        node = place - self.forest_.node_offsets[tree]
        return np.array([f"randomtreesembedding_{t}_{i}" for t, i in zip(tree, node, strict=True)], object)
