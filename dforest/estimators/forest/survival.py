"""Trees and forests for survival times: some rows have had an event by the time that is known of them, others were censored.

A row's target is a code (`dforest.estimators.data.survival`) of its time among those of all training rows; trees are grown on
codes among event times (`dforest.core.search.logrank`). A leaf predicts a risk. What else there is to know of its draws is its
curve, made after growth and kept beside the forest, with the leaves in the order of nodes.
"""

import inspect

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dforest.config import on_host
from dforest.core.predict.survival import concordance
from dforest.estimators.data.survival import check_survival
from dforest.estimators.declaration import has_parameters
from dforest.estimators.forest.ensemble import ForestEstimator
from dforest.estimators.forest.survival_predictions import SurvivalPredictions
from dforest.estimators.forest.tree import SingleTree
from dforest.estimators.other_names import with_hints
from dforest.estimators.reporting import report_on
from dforest.estimators.results.dependence import partial_dependence
from dforest.estimators.results.importance import feature_importances_
from dforest.estimators.results.permutation import oob_importance, oob_local_importance
from dforest.estimators.results.shapley import shap_interaction_values, shap_values
from dforest.estimators.targets.survival import SurvivalTimes

_Y = """
y : structured array of shape (n_rows,), or array-like of shape (n_rows, 2) or (n_rows, 3)
    Targets: two or three fields, or columns. The first one is True or 1 for a row that had an event, and False or 0 for
    one that was censored. The second one is the time of the event, or else the last time at which the row was seen: finite
    numbers from 0 on. The third one is the entry, before that time, from which on the row was seen (left truncation): the
    row is at risk after its entry, up to its time. Without it, all rows are seen from the start. There must be one event
    at least.
"""


_WEIGHTS = """\
 None means that all weights are 1.
    If all are whole numbers, a weight of 2 counts as two rows in splits and curves; all others count in units of their
    largest common divisor, or are taken as rounded multiples of a tiny unit."""


def _with_survival_targets(method):
    """The docstring of a method `fit`, with what is said of y replaced, and what whole weights are."""
    before, _, rest = inspect.getdoc(method).partition("\ny : ")
    return before + _Y + rest[rest.index("sample_weight : ") :].replace(" None means that all weights are 1.", _WEIGHTS, 1)


class SurvivalPredictionMixin(SurvivalPredictions):
    """What makes a `TreeEstimator` grow trees for survival times."""

    _target = SurvivalTimes()
    feature_importances_ = feature_importances_
    partial_dependence = partial_dependence
    shap_interaction_values = shap_interaction_values
    shap_values = shap_values

    # Parameters of other trees and forests, with the values that they have here.
    impurity_threshold = 0.0
    min_impurity_decrease = 0.0
    ccp_alpha = 0.0
    monotonic_cst = None
    keep_training_data = False

    def score(self, X, y):
        """Return Harrell's concordance index of the predicted risks [1]_.

        A pair of rows is comparable if one has an event, and the other a later time, or the same time without an event, and an
        entry before the event, if there are entries. The index is the share of comparable pairs whose row with the event has the
        higher risk; pairs of equal risk count half.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        y : structured array of shape (n_rows,), or array-like of shape (n_rows, 2) or (n_rows, 3)
            Their events, times, and entries, as for `fit`.

        Returns
        -------
        float
            From 0 to 1; 0.5 is what chance gives.

        References
        ----------
        .. [1] F. E. Harrell, R. M. Califf, D. B. Pryor, K. L. Lee, R. A. Rosati, "Evaluating the yield of medical tests", Journal
           of the American Medical Association 247(18), 1982.
        """
        check_is_fitted(self)
        event, time, entry = check_survival(y)
        risk = on_host(self.predict(X))
        if len(risk) != len(time):
            raise ValueError(f"y has {len(time)} rows, and X has {len(risk)}; allowed are equal numbers")
        found = concordance(event, time, risk, None, entry)
        if np.isnan(found):
            raise ValueError("y has no comparable pairs: no row has an event before the time of another one")
        return float(found)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = False
        return tags


class SurvivalForest(SurvivalPredictionMixin, ForestEstimator):
    """What forests for survival times share."""

    oob_importance = oob_importance
    oob_local_importance = oob_local_importance

    @with_hints
    def fit(self, X, y, sample_weight=None, groups=None):
        return super().fit(X, y, sample_weight, groups)

    fit.__doc__ = _with_survival_targets(ForestEstimator.fit)

    def _check_out_of_bag(self, rows, forest):
        if (rows.y < 0).any():
            raise ValueError("y has other times than those that the forest was fitted on; allowed are these, in the same order")
        super()._check_out_of_bag(rows, forest)

    def _check_oob_scorer(self, rows):
        """Nothing to try: scores are those that there are names of."""

    def report(self, X=None, y=None, *, path=None, scoring=None, verbose=0):
        """Make a report: one HTML page, which needs no network.

        It is that of `RandomForestRegressor.report`, but for the section on predictions, which shows Harrell's and Uno's
        concordance, the integrated Brier score, and mean survival functions beside Kaplan-Meier estimates, of all rows and of
        groups by their risk. Partial dependence is that of the risk, and importances by permutation are falls of the concordance.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features), optional
            Rows to show predictions for, preferably rows that were not used for training. If they are the training rows in
            their order, the forest recognises them, and with `oob_score` the page shows out-of-bag predictions. None means that
            the page shows only what the estimator itself knows.
        y : structured array of shape (n_rows,), or array-like of shape (n_rows, 2) or (n_rows, 3), optional
            Their events, times, and entries, as for `fit`. None means that the page says nothing about the quality of
            predictions.
        path : str or path-like, optional
            A file to write the page to. Whether it can be written is tried before anything is computed.
        scoring : {"harrell", "uno"}, default=None
            By which concordance predictions are judged at the head of the page, in the curve by the number of trees, and in
            importances by permutation. None means "harrell".
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
            If X or y don't fit the estimator, if y is given without X, or if there is no such `scoring`.
        TypeError
            If X or y are Dask collections.
        """
        check_is_fitted(self)
        return report_on(self, X, y, path, scoring, None, verbose)

    def _make_trees(self):
        trees, ends = super()._make_trees(), np.cumsum(self.forest_.feature < 0)[self.forest_.node_offsets[1:] - 1]
        for tree, begin, end in zip(trees, [0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            tree._curves = self._curves.of_leaves(begin, end)
            tree.unique_times_, tree.event_times_ = self.unique_times_, self.event_times_
        return trees


@has_parameters("survival tree", min_samples_split=6, min_samples_leaf=3)
class SurvivalTree(SurvivalPredictionMixin, SingleTree):
    """A single tree for survival times.

    The tree splits the training rows again and again, each time by the feature and the threshold whose sides differ most in
    survival. Rows may be censored: of these it is known only that they had no event up to a time. A row is predicted by the
    training rows in the leaf that it reaches. Missing values, categorical columns and sparse matrices need no preparation.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    RandomSurvivalForest : A forest of such trees, which mostly predicts better.
    ExtraSurvivalTree : A single tree that draws thresholds at random.
    DecisionTreeRegressor : A single tree for numbers.

    References
    ----------
    M. LeBlanc, J. Crowley, "Survival trees by goodness of split", Journal of the American Statistical Association 88(422), 1993.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import SurvivalTree
    >>> y = np.array([(True, 1.0), (True, 2.0), (False, 2.5), (True, 7.0), (False, 8.0), (True, 9.0)], "?,f8")
    >>> tree = SurvivalTree().fit([[0], [1], [2], [3], [4], [5]], y)
    >>> tree.predict([[0], [5]]).round(2).tolist()
    [2.83, 1.67]
    >>> tree.predict_survival_function([[0], [5]], return_array=True, times=[2, 8]).round(2).tolist()
    [[0.33, 0.33], [1.0, 0.67]]
    """

    @with_hints
    def fit(self, X, y, sample_weight=None, check_input=True):
        return super().fit(X, y, sample_weight)

    fit.__doc__ = _with_survival_targets(SingleTree.fit)


@has_parameters("survival tree", splitter="random", max_features="sqrt", method="dense", min_samples_split=6, min_samples_leaf=3)
class ExtraSurvivalTree(SurvivalTree):
    """A single extremely randomised tree for survival times, which draws thresholds at random.

    At each node the tree draws some features at random, and one threshold for each of them, and takes the best of these
    splits. `ExtraSurvivalTrees` is a forest of such trees, and mostly predicts better.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    ExtraSurvivalTrees : A forest of such trees.
    SurvivalTree : A single tree that searches for the best thresholds.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63(1), 2006.

    Examples
    --------
    >>> from dforest import ExtraSurvivalTree
    >>> y = [(True, 1.0), (True, 2.0), (False, 2.5), (True, 7.0), (False, 8.0), (True, 9.0)]
    >>> tree = ExtraSurvivalTree(random_state=0).fit([[0], [1], [2], [3], [4], [5]], y)
    >>> tree.predict([[0]]).shape
    (1,)
    """


@has_parameters("survival forest", max_features="sqrt", min_samples_split=10, min_samples_leaf=5)
class RandomSurvivalForest(SurvivalForest):
    """A random forest for survival times: many survival trees, whose hazards and survival functions are averaged.

    Each tree is grown on rows that are drawn at random, and tries some features, drawn at random too, at each node: it takes the
    split whose sides differ most in survival. Rows may be censored: of these it is known only that they had no event up to a
    time. Missing values, categorical columns and sparse matrices need no preparation. The same data, parameters and
    `random_state` give the same forest to the bit, on any number of threads.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    ExtraSurvivalTrees : A forest whose trees draw thresholds at random.
    SurvivalTree : A single tree.
    RandomForestRegressor : A random forest for numbers.

    References
    ----------
    H. Ishwaran, U. B. Kogalur, E. H. Blackstone, M. S. Lauer, "Random survival forests", The Annals of Applied Statistics 2(3),
    2008.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import RandomSurvivalForest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 3))
    >>> time, censored = rng.exponential(np.exp(2 * X[:, 0])), rng.exponential(5.0, 200)
    >>> y = np.column_stack([time <= censored, np.minimum(time, censored)])  # or scikit-survival's structured arrays
    >>> forest = RandomSurvivalForest(50, oob_score=True, random_state=0).fit(X, y)
    >>> bool(forest.oob_score_ > 0.6)
    True
    >>> forest.predict_survival_function(X[:2], return_array=True, times=[1.0, 2.0]).shape
    (2, 2)
    """

    _tree_class = SurvivalTree


@has_parameters(
    "survival forest", splitter="random", max_features="sqrt", method="dense", min_samples_split=10, min_samples_leaf=5
)
class ExtraSurvivalTrees(SurvivalForest):
    """Extremely randomised trees for survival times: a forest whose trees draw thresholds at random.

    At each node a tree draws some features at random, and one threshold for each of them, and takes the split whose sides differ
    most in survival. The same data, parameters and `random_state` give the same forest to the bit, on any number of threads.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    RandomSurvivalForest : A forest whose trees search for the best thresholds.
    ExtraSurvivalTree : A single extremely randomised tree.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, "Extremely randomized trees", Machine Learning 63(1), 2006.

    Examples
    --------
    >>> from dforest import ExtraSurvivalTrees
    >>> y = [(True, 1.0), (True, 2.0), (False, 2.5), (True, 7.0), (False, 8.0), (True, 9.0)]
    >>> forest = ExtraSurvivalTrees(20, min_samples_split=2, min_samples_leaf=1, random_state=0)
    >>> forest = forest.fit([[0], [1], [2], [3], [4], [5]], y)
    >>> bool(forest.predict([[0]])[0] > forest.predict([[5]])[0])
    True
    """

    _tree_class = ExtraSurvivalTree
