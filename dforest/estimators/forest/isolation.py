"""Isolation forests, which find outliers: rows that few random splits part from all others.

There are no targets. Trees take any feature that varies in a node, and any threshold between its least and its greatest value
there; a leaf keeps the length of the path to it (`dforest.core.search.isolation`).
"""

import math
from numbers import Integral

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from dforest.core.search.isolation import ExtendedSplitter
from dforest.engines.problem import GrowthRules
from dforest.estimators.conversion import to_sklearn
from dforest.estimators.declaration import has_parameters
from dforest.estimators.forest.base import SPLITTERS, TUNING
from dforest.estimators.forest.ensemble import ForestEstimator
from dforest.estimators.forest.predictions import OutlierPredictions
from dforest.estimators.forest.tree import ExtraTreeRegressor
from dforest.estimators.other_names import with_hints
from dforest.estimators.reporting import report_on
from dforest.estimators.results.shapley import shap_interaction_values, shap_values
from dforest.estimators.targets.none import NoTarget
from dforest.sampling import RowSampling, WeightedSampling
from dforest.warning import warn

AUTO_SAMPLES = 256  # draws of a tree, if there are as many rows
AUTO_OFFSET = -0.5  # the score of a row whose paths are as long as paths are on average


def depth_limit(n_draws):
    """The depth at which trees of so many draws end: that of a tree whose leaves are all equally deep."""
    return math.ceil(math.log2(max(n_draws, 2)))


@has_parameters("isolation forest", method="dense")
class IsolationForest(OutlierPredictions, OutlierMixin, ForestEstimator):
    """An isolation forest, which finds outliers: rows that few random splits part from all others.

    Each tree is grown on a few rows that are drawn at random, and splits them by a random feature at a random threshold, again
    and again. Outliers end in leaves near the root. The score of a row follows from the mean length of its paths over all trees,
    and `predict` calls rows of low scores outliers. Missing values, categorical columns and sparse matrices need no preparation.
    The same data, parameters and `random_state` give the same forest to the bit, on any number of threads.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    RandomTreesEmbedding : Rows as the leaves that they reach in random trees.
    ExtraTreesRegressor : A forest of such trees that are grown for given targets.

    Notes
    -----
    The score of a row is -2 ** -(mean path length / c(n)), where n is `max_samples_`, and c(n) = 2 (ln(n - 1) + 0.5772...)
    - 2 (n - 1) / n the average path length in a tree of n draws that is grown to its end. A path is as long as its leaf is deep,
    and by c(m) longer if the leaf has m draws.

    With `extension_level` from 1 on, a split adds up several features that vary in the node, each divided by its range there and
    multiplied by a coefficient from the standard normal distribution. Rows whose sum is at most a threshold, which is uniform
    between the least and the greatest sum in the node, go to the left. Categories and missing values count as random numbers that
    are drawn for each feature of each split. Shapley values and other libraries' models need splits of single features.

    References
    ----------
    F. T. Liu, K. M. Ting, Z.-H. Zhou, "Isolation Forest", ICDM 2008.

    S. Hariri, M. Carrasco Kind, R. J. Brunner, "Extended Isolation Forest", IEEE Transactions on Knowledge and Data Engineering
    33(4), 2021.

    Examples
    --------
    >>> from dforest import IsolationForest
    >>> X = [[-1.1], [0.3], [0.5], [100.0]]
    >>> forest = IsolationForest(random_state=0).fit(X)
    >>> forest.predict([[0.1], [0.0], [90.0]])
    array([ 1,  1, -1])
    """

    _tree_class = ExtraTreeRegressor
    _target = NoTarget()
    shap_interaction_values = shap_interaction_values
    shap_values = shap_values
    to_sklearn = to_sklearn

    # Parameters of other forests, with the values that they have here.
    criterion = "path_length"
    splitter = "random"
    skip_constant_features = True
    min_samples_split = 2
    min_samples_leaf = 1
    max_leaf_nodes = None
    monotonic_cst = None
    ccp_alpha = 0.0
    oob_score = False
    variable_importance = None
    keep_training_data = False

    @with_hints
    def fit(self, X, y=None, sample_weight=None):
        """Grow the trees of the forest on training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Training rows: numbers or booleans, or text in categorical columns. None, NaN, NA, null and masked cells
            are missing values, and infinities are ordinary values.
        y : object, optional
            Ignored; it is there for scikit-learn's pipelines, which pass one.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, from 0 on. Trees draw rows with chances in proportion to their weights, and with replacement if
            these differ. Rows of weight 0 are left out before anything is drawn. None means that all weights are 1.

        Returns
        -------
        self
            The fitted forest.

        Raises
        ------
        ValueError
            If a parameter or the data are not as described; the estimator is then left as it was.
        """
        return super().fit(X, None, sample_weight)

    def _check_draws(self):
        """Nothing to check: every tree draws rows."""

    def _plan(self):
        plan = super()._plan()
        if plan.sampling is None:
            plan.sampling = RowSampling(replace=False)
        return plan

    def _check_plan(self, rows, plan):
        super()._check_plan(rows, plan)
        n_rows = rows.n_rows
        if self.max_samples == "auto":
            plan.max_samples = min(AUTO_SAMPLES, n_rows)
        elif not isinstance(self.max_samples, Integral):
            plan.max_samples = max(1, int(self.max_samples * n_rows))
        elif self.max_samples > n_rows:
            warn(
                f"max_samples={self.max_samples} is greater than the number of rows, {n_rows}: max_samples will be set to "
                "n_samples for estimation, which is this number",
                UserWarning,
            )
            plan.max_samples = n_rows
        if isinstance(plan.sampling, RowSampling) and rows.integer_weight().integers is not None:
            plan.sampling = WeightedSampling()

    def _rules(self, n_rows, n_draws):
        return GrowthRules(max_depth=depth_limit(n_draws))

    def _configured_splitter(self, n_features):
        if isinstance(self.max_features, Integral):
            n_drawn = int(self.max_features)
            if n_drawn > n_features:
                raise ValueError(
                    f"max_features={n_drawn}, but X has {n_features} features: max_features must be <= n_features, which is this "
                    "number"
                )
        else:
            n_drawn = max(1, int(self.max_features * n_features))
        if self.extension_level >= n_features:
            raise ValueError(
                f"extension_level={self.extension_level}, but X has {n_features} features: allowed are 0 to {n_features - 1}, as "
                "a split combines one feature more"
            )
        splitter = ExtendedSplitter(self.extension_level) if self.extension_level else SPLITTERS[self.method, "random"]()
        return splitter.configure(1, self.categorical_split == "one_hot", TUNING, tree_features=n_drawn)

    def _after_growth(self, rows, plan, device, growth=None):
        super()._after_growth(rows, plan, device, growth)
        self.offset_ = AUTO_OFFSET
        if self.contamination != "auto":
            packed = self.forest_.packed("soft", plan.n_threads)
            scores = np.concatenate([self._scores(packed.mean(part, plan.n_threads)) for part in rows.parts])
            self.offset_ = float(np.percentile(np.concatenate(rows.ranks.gather(scores)), 100.0 * self.contamination))

    @property
    def max_samples_(self):
        """Number of draws of each tree of the last `fit`: int, the average where trees differ in it."""
        return self._n_samples_bootstrap

    def report(self, X=None, *, path=None, verbose=0):
        """Make a report: one HTML page, which needs no network.

        The page shows how the scores of rows are distributed, and how many rows are outliers; the rows of the lowest scores, with
        the features that shorten their paths most, by `shap_values`; rows arranged by their proximity; the sizes of the trees,
        and one tree; the data and the parameters; and the seed, versions and a digest of the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features), optional
            Rows to show scores for, such as the training rows. None means that the page shows only what the forest itself knows.
        path : str or path-like, optional
            A file to write the page to. Whether it can be written is tried before anything is computed.
        verbose : int, default=0
            Whether progress is shown on the error stream: 1 means a line that is written anew after each section of the page, and
            2 a line for each.

        Returns
        -------
        dforest.inspection.report.report.Report
            The report. Notebooks show it, its method `save` writes it to a file, and ``str`` gives its HTML.

        Raises
        ------
        OSError
            If the file can't be written.
        ValueError
            If X doesn't fit the forest.
        TypeError
            If X is a Dask collection.
        """
        check_is_fitted(self)
        return report_on(self, X, None, path, None, None, verbose)

    @property
    def estimator(self):
        """A single tree, not fitted, with the forest's parameters, of which the trees in `estimators_` are copies."""
        names = "categorical_features", "ordinal_features", "categorical_split", "method", "max_bins", "device"
        own = {name: getattr(self, name) for name in names}
        depth = depth_limit(self.max_samples_) if "forest_" in self.__dict__ else None
        splitter = ExtendedSplitter(self.extension_level) if self.extension_level else "random"
        return self._tree_class(splitter=splitter, max_features=1, max_depth=depth, **own)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.target_tags.multi_output = False
        return tags
