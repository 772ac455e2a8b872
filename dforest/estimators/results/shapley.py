"""Shapley values of what estimators predict: `dforest.core.predict.shapley` with names and checks around it."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from dforest.config import on_host
from dforest.core.predict.shapley import ShapleyForest
from dforest.core.sparse_rows import dense
from dforest.estimators.data.outputs import classes_of, prediction_columns
from dforest.estimators.data.validation import check_X, count_threads
from dforest.estimators.results.shap_values import ShapInteractionValues, ShapValues

_LARGE = 2.0**1000  # differences of what leaves predict are finite below


def check_tests(forest):
    """Raise ValueError if nodes may test several features at a time, so that it is not known what one feature adds."""
    if forest.splitter is not None:
        raise ValueError(
            f"splitter={forest.splitter!r} makes tests of its own, which may be about several features at a time, so that "
            'what one feature adds is not known; allowed are estimators grown with splitter="best" or "random", or with '
            "one of your own that chooses thresholds or categories"
        )


class ShapPart:
    """What tells how much each feature, and each pair of features, adds to a prediction."""

    def shap_values(self, X, background=None):
        r"""Compute Shapley values: how much each feature of a row adds to the prediction for the row [1]_.

        Suppose that the features of a row become known one after another. The Shapley value of a feature is the mean, over all
        orders in which this can happen, of how much the expected prediction changes when the feature becomes known. So the
        values of a row add up to its prediction, less the prediction that is expected if nothing is known of a row. They are
        exact but for rounding, and have the same bits on any number of threads.

        There are two ways to compute what is expected while some features are not known:

        - ``background=None`` uses the training weights that the trees keep: where a node tests a feature that is not known,
          the row goes to both sides, with the shares that they have in the weight of the node's training draws [2]_. The rows
          of boosted trees count alike there.
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

        Returns
        -------
        dforest.ShapValues
            An object whose `values` have the shape (n_rows, n_features) or, for class probabilities and for boosted trees with
            more than two classes, (n_rows, n_features, n_classes). For several outputs of numbers, the shape is (n_rows,
            n_features, n_outputs); for several outputs of classes there is a list of such objects, as `predict_proba` returns a
            list.

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
        return self._explain(ShapValues, X, background)

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
        return self._explain(ShapInteractionValues, X, background)

    def _explain(self, kind, X, background):
        """A result of a kind, `ShapValues` or `ShapInteractionValues`; for several outputs of classes a list of them."""
        check_is_fitted(self)
        forest = self.forest_
        check_tests(forest)
        X = dense(check_X(self, on_host(X), self._features, reset=False))  # as large as the values
        if background is not None:
            background = self._check_background(background)
        n_threads, voting = count_threads(getattr(self, "n_jobs", None)), getattr(self, "voting", "soft")
        predicted = forest.packed(voting, n_threads).mean(X, n_threads)
        expected = None if background is None else forest.packed(voting).mean(background, n_threads).mean(axis=0)
        known = getattr(self, "feature_names_in_", None)
        features = None if known is None else known.tolist()
        classes = classes_of(self) if is_classifier(self) else None
        explained = []
        for output, own in enumerate(prediction_columns(forest.objective)):
            has_interactions = kind is ShapInteractionValues
            values, base = _values_of(forest.of_output(output), voting, X, background, n_threads, has_interactions)
            base = base if expected is None else expected[own]
            total = values.reshape(len(X), -1, len(base)).sum(axis=1)
            explained.append((values, base, float(np.abs(base + total - predicted[:, own]).max())))
        if classes is None and len(explained) > 1:
            values, base, error = zip(*explained, strict=True)
            return kind(np.concatenate(values, axis=-1), np.concatenate(base), X, features, None, max(error))
        results = []
        for output, (values, base, error) in enumerate(explained):
            names = None
            if len(base) > 1 or forest.objective.predicts_shares:
                names = [str(label) for label in classes[output].tolist()]
            else:
                values, base = values[..., 0], float(base[0])
            results.append(kind(values, base, X, features, names, error))
        return results if len(results) > 1 else results[0]

    def _check_background(self, background):
        """Rows of the background, checked. Raises ValueError or TypeError, which names the parameter."""
        try:
            return dense(check_X(self, on_host(background), self._features, reset=False))
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"background={type(background).__name__} of the shape {np.shape(background)}: {error}; allowed are None, and one "
                "row or more with the columns of the training data"
            ) from error


def _values_of(forest, voting, X, background, n_threads, has_interactions):
    """The Shapley values of a forest of one output, or interactions, and what is expected of a row by the cover of nodes."""
    votes = forest.leaf_votes(voting)
    scale = 1.0 if np.abs(votes).max() < _LARGE else 2.0**-64
    values, base = ShapleyForest(forest, votes * scale, n_threads).explain(X, background, n_threads, has_interactions)
    if scale != 1.0:
        values /= scale
    if background is not None:
        return values, None
    if forest.objective.baseline is not None:
        return values, base / scale + forest.objective.baseline
    with np.errstate(under="ignore"):
        base = base / forest.n_trees / scale
    return values, np.append(base, 1.0 - base.sum()) if forest.objective.predicts_shares else base
