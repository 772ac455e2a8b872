"""Shapley values of what estimators predict: `dforest.core.predict.shapley` with names and checks around it."""

import numpy as np
from scipy.sparse import csc_array, csc_matrix, csr_array, csr_matrix, issparse, sparray, vstack
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from dforest.core.forest.arrays import Forest
from dforest.core.predict.shapley import ShapleyForest
from dforest.core.sparse_rows import SparseRows, dense
from dforest.estimators.data.outputs import classes_of, prediction_columns
from dforest.estimators.data.validation import count_threads
from dforest.estimators.results.calibration import check_leaves_predict
from dforest.estimators.results.linear_shapley import add_linear_parts
from dforest.estimators.results.shap_values import ShapInteractionValues, ShapValues

_BLOCK_VALUES = 2**23  # of rows whose values are made sparse together
_LARGE = 2.0**1000  # differences of what leaves predict are finite below


def check_tests(forest, asked, besides=""):
    """Raise ValueError if it is not known what one feature adds, as nodes test several at a time, or leaves are linear.

    asked : whose question it is; besides : what else is allowed of linear leaves
    """
    if forest.objective.line_tables:
        raise ValueError(
            f'{asked} of leaf_model="linear": leaves add linear functions of several features; allowed are models with '
            f'leaf_model="constant"{besides}'
        )
    if forest.splitter is not None:
        raise ValueError(
            f"splitter={forest.splitter!r} makes tests of its own, which may be about several features at a time, so that "
            'what one feature adds is not known; allowed are estimators grown with splitter="best" or "random", or with '
            "one of your own that chooses thresholds or categories"
        )


def shap_values(self, X, background=None, *, sparse_output=False):
    r"""Compute Shapley values: how much each feature of a row adds to the prediction for the row [1]_.

    Suppose that the features of a row become known one after another. The Shapley value of a feature is the mean, over all
    orders in which this can happen, of how much the expected prediction changes when the feature becomes known. So the
    values of a row add up to its prediction, less the prediction that is expected if nothing is known of a row. They are
    exact but for rounding, and have the same bits on any number of threads.

    There are two ways to compute what is expected while some features are not known:

    - ``background=None`` uses the training weights that the trees keep: where a node tests a feature that is not known,
      the row goes to both sides, with the shares that they have in the weight of the node's training draws [2]_. The rows
      of boosted trees count alike there. In a linear leaf, a feature that is not known has its mean among the leaf's rows.
    - With a background, a feature that is not known has the value that it has in a row of the background, and the mean over
      all these rows is taken [3]_.

    The predictions that are explained are the class probabilities of forests and single trees for classification (by the
    forest's `voting`), the predictions of forests and single trees for regression, the raw predictions of boosted trees,
    such as the logarithm of the odds, and the mean path lengths of isolation forests. The values are computed by the
    processor, whatever `device` says.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Rows whose predictions are to be explained, as `predict` takes them.
    background : array-like of shape (n_background, n_features), optional
        At least one row, as `predict` takes them; some hundreds of training rows are usual. None means that the trees are
        asked.
    sparse_output : bool, default=False
        Whether `values` and `data` of the result are sparse: of SciPy's class and format that X has, if that is CSR or CSC,
        or else CSR. Features that no tree tests have values of 0, which are not stored then, and take no memory. The numbers
        are the same.

    Returns
    -------
    dforest.ShapValues
        An object whose `values` have the shape (n_rows, n_features) or, for class probabilities and for boosted trees with
        more than two classes, (n_rows, n_features, n_classes). For several outputs of numbers, the shape is (n_rows,
        n_features, n_outputs); for several outputs of classes there is a list of such objects, as `predict_proba` returns a
        list. With ``sparse_output=True``, `values` are a matrix of the first shape, or a list of one for each output.

    Raises
    ------
    ValueError
        If X or the background are not as described, or if the splitter makes tests of its own, which may be about several
        features at a time.

    References
    ----------
    .. [1] L. S. Shapley, "A value for n-person games", Contributions to the Theory of Games 2, 1953.
    .. [2] S. M. Lundberg et al., "From local explanations to global understanding with explainable AI for trees", Nature
       Machine Intelligence 2, 2020: "tree_path_dependent". For how it is computed see G. Owen, "Multilinear extensions of
       games", Management Science 18(5), 1972.
    .. [3] S. M. Lundberg et al., in the article of [2]_: "interventional".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> result = forest.shap_values(X)
    >>> result.values.shape
    (150, 4, 3)
    >>> result.feature_names[abs(result.values).mean(axis=(0, 2)).argmax()]
    'petal width (cm)'
    """
    if not isinstance(sparse_output, bool | np.bool_):
        raise ValueError(f"sparse_output={sparse_output!r}; allowed are True and False")
    return _explain(self, ShapValues, X, background, sparse_output)


def shap_interaction_values(self, X, background=None):
    r"""Compute Shapley interaction values, which split Shapley values into main effects and interactions [1]_.

    The interaction of two features says how much more one of them changes the expected prediction for a row if the other one
    is known already. It is a mean over all orders in which the other features can become known before and after these two
    [2]_. One half of the interaction is given to each of the two features, so that there is a symmetric matrix for each row.
    The diagonal contains the main effects: what is left of the Shapley value of a feature after its halves of all its
    interactions have been taken off. So each row of the matrix adds up to the Shapley value of a feature, and the whole
    matrix adds up to the prediction minus the prediction that is expected if nothing is known about the row. The values are
    exact up to rounding, and they are equal to the bit on any number of threads.

    Which predictions are explained, and what a background is, are described for `shap_values`.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Rows whose predictions are to be explained, as `predict` takes them.
    background : array-like of shape (n_background, n_features), optional
        Rows that give values to the features that are not known; at least one row is needed, and some hundreds of training
        rows are usual. None means that rows go to both sides of a test of a feature that is not known, with the shares
        that both sides have in the training weight of the node.

    Returns
    -------
    dforest.ShapInteractionValues
        An object whose `values` have the shape (n_rows, n_features, n_features) or, for class probabilities and for boosted
        trees with more than two classes, (n_rows, n_features, n_features, n_classes); of several outputs as for
        `shap_values`.

    Raises
    ------
    ValueError
        If X or the background are not as described, or if the splitter makes tests of its own, which may involve several
        features at once.

    Notes
    -----
    The values take ``8 * n_rows * n_features**2`` bytes for each output, so explain a part of the rows at a time if there are
    many features. While values are computed, each thread needs about as much memory as the values of 16 rows take, or a few
    megabytes if that is more.

    References
    ----------
    .. [1] S. M. Lundberg et al., "From local explanations to global understanding with explainable AI for trees", Nature
       Machine Intelligence 2, 2020.
    .. [2] M. Grabisch and M. Roubens, "An axiomatic approach to the concept of interaction among players in cooperative
       games", International Journal of Game Theory 28, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(random_state=0, max_depth=6).fit(X, y)
    >>> result = forest.shap_interaction_values(X[:20])
    >>> result.values.shape
    (20, 10, 10)
    >>> bool(np.allclose(result.values.sum(axis=2), forest.shap_values(X[:20]).values))
    True
    """
    return _explain(self, ShapInteractionValues, X, background)


def _explain(self, kind, X, background, sparse_output=False):
    """A result of a kind, `ShapValues` or `ShapInteractionValues`; for several outputs of classes a list of them."""
    check_is_fitted(self)
    asked = "shap_values" if kind is ShapValues else "shap_interaction_values"
    check_leaves_predict(self, asked)
    forest, given = self.forest_, X
    if not (forest.objective.line_tables and kind is ShapValues and background is None and not sparse_output):
        check_tests(forest, asked, ", or shap_values with background=None and sparse_output=False")
    X = self._checked_rows(X)
    if not sparse_output:
        X = dense(X)  # as large as the values
    if background is not None:
        background = _check_background(self, background)
    n_threads, voting = count_threads(getattr(self, "n_jobs", None)), getattr(self, "voting", "soft")
    predicted = forest.packed(voting, n_threads).mean(X, n_threads)
    expected = None if background is None else forest.packed(voting).mean(background, n_threads).mean(axis=0)
    known = getattr(self, "feature_names_in_", None)
    features = None if known is None else known.tolist()
    classes = classes_of(self) if is_classifier(self) else None
    are_labels = classes is not None and isinstance(self.classes_, list)
    explained = []
    for output, own in enumerate(prediction_columns(forest.objective)):
        of_output = forest.of_output(output)
        if sparse_output:
            values, total, base = _sparse_values_of(of_output, voting, X, background, n_threads)
        else:
            values, base = _values_of(of_output, voting, X, background, n_threads, kind is ShapInteractionValues)
            if forest.objective.line_tables:
                add_linear_parts(forest, X, values, n_threads)
            total = values.reshape(len(X), -1, values.shape[-1]).sum(axis=1)
        base = base if expected is None else expected[own]
        explained.append((values, base, float(np.abs(base + total - predicted[:, own]).max())))
    if sparse_output:
        like = _conversion_to_kind_of(given)
        X = like(SparseRows.of_any(X).matrix())
        explained = [([like(of_result) for of_result in values], base, error) for values, base, error in explained]
    if not are_labels and len(explained) > 1:
        values, base, error = zip(*explained, strict=True)
        values = sum(values, []) if sparse_output else np.concatenate(values, axis=-1)
        names = None if classes is None else [str(label) for label in classes[0].tolist()]
        return kind(values, np.concatenate(base), X, features, names, max(error))
    results = []
    for output, (values, base, error) in enumerate(explained):
        names = None
        if len(base) > 1 or forest.objective.predicts_shares:
            names = [str(label) for label in classes[output].tolist()]
        else:
            values, base = values[0] if sparse_output else values[..., 0], float(base[0])
        results.append(kind(values, base, X, features, names, error))
    return results if len(results) > 1 else results[0]


def _check_background(self, background):
    """Rows of the background, checked. Raises ValueError or TypeError, which names the parameter."""
    try:
        return dense(self._checked_rows(background))
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"background={type(background).__name__} of the shape {np.shape(background)}: {error}; allowed are None, and one "
            "row or more with the columns of the training data"
        ) from error


def _explainer_of(forest, voting, background, n_threads, has_interactions):
    """What tells (Shapley values, what is expected of a row) of a forest of one output, given rows; or interactions.

    Against a background, nothing is said of what is expected: None.
    """
    votes = forest.leaf_votes(voting)
    scale = 1.0 if np.abs(votes).max() < _LARGE else 2.0**-64
    shapley = ShapleyForest(forest, votes * scale, n_threads)

    def explain(X):
        values, base = shapley.explain(X, background, n_threads, has_interactions)
        if scale != 1.0:
            values /= scale
        if background is not None:
            return values, None
        if forest.objective.baseline is not None:
            return values, base / scale + forest.objective.baseline
        with np.errstate(under="ignore"):
            base = base / forest.n_trees / scale
        return values, np.append(base, 1.0 - base.sum()) if forest.objective.predicts_shares else base

    return explain


def _values_of(forest, voting, X, background, n_threads, has_interactions):
    """The Shapley values of a forest of one output, or interactions, and what is expected of a row."""
    own, tested = _of_tested_features(forest)
    if 2 * len(tested) > forest.n_features:  # else features that nodes don't test would take most of the time
        return _explainer_of(forest, voting, background, n_threads, has_interactions)(X)
    background = None if background is None else np.ascontiguousarray(background[:, tested])
    found, base = _explainer_of(own, voting, background, n_threads, has_interactions)(np.ascontiguousarray(X[:, tested]))
    values = np.zeros((len(X), *(2 if has_interactions else 1) * [forest.n_features], found.shape[-1]))
    values[(slice(None), tested[:, None], tested) if has_interactions else (slice(None), tested)] = found
    return values, base


def _sparse_values_of(forest, voting, X, background, n_threads):
    """The Shapley values of a forest of one output: (a csr_array for each result, their sums over features, what is expected).

    Only features that trees test have values. Blocks of rows are made sparse one after another.
    """
    own, tested = _of_tested_features(forest)
    if background is not None:
        background = np.ascontiguousarray(background[:, tested])
    explain = _explainer_of(own, voting, background, n_threads, False)
    X = X.matrix() if isinstance(X, SparseRows) else X
    blocks, totals, n_block = [], [], max(1, _BLOCK_VALUES // len(tested))
    for begin in range(0, X.shape[0], n_block):
        rows = X[begin : begin + n_block][:, tested]
        values, base = explain(np.ascontiguousarray(rows.toarray() if issparse(rows) else rows))
        totals.append(values.sum(axis=1))
        blocks.append([csr_array(values[:, :, result]) for result in range(values.shape[2])])
    found = []
    for of_result in zip(*blocks, strict=True):
        joined = vstack(of_result, format="csr")
        found.append(csr_array((joined.data, tested[joined.indices], joined.indptr), shape=(X.shape[0], forest.n_features)))
    return found, np.concatenate(totals), base


def _of_tested_features(forest):
    """A forest as it is where only the features exist that its nodes test, of which there is one at least; and their numbers."""
    tested = np.unique(forest.feature[forest.feature >= 0])
    if not len(tested):
        tested = np.zeros(1, np.int32)
    number = np.full(forest.n_features + 1, -1, np.int32)  # the last one is that of leaves
    number[tested] = np.arange(len(tested))
    arrays = {**forest.as_dict(), "feature": number[forest.feature]}
    settings = {**forest.settings(), "n_features": len(tested), "n_categories": forest.n_categories[tested]}
    return Forest._of(arrays, settings), tested


def _conversion_to_kind_of(X):
    """What makes a csr_array a matrix or an array as X is, if that is CSR or CSC, or else one of CSR."""
    if not issparse(X):
        return csr_array
    is_csc, is_array = X.format == "csc", isinstance(X, sparray)
    return (csc_array if is_array else csc_matrix) if is_csc else csr_array if is_array else csr_matrix
