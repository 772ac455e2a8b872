"""Uplift forests, which tell for whom a treatment changes an outcome of two classes.

They are forests of classes that are couples of an arm and an outcome, with criteria of their own (`dforest.core.search.uplift`).
"""

from typing import NamedTuple

import numpy as np

from dforest.core.search.criteria import UPLIFT_CRITERIA
from dforest.estimators.causal.averages import AverageEffects
from dforest.estimators.causal.given import GivenRows
from dforest.estimators.causal.observations import labels_and_numbers
from dforest.estimators.causal.uplift_parameters import UPLIFT_PARAMETERS
from dforest.estimators.causal.uplift_predictions import UpliftPredictions
from dforest.estimators.data.agreement import Partition
from dforest.estimators.declaration import has_parameters
from dforest.estimators.forest.ensemble import ForestEstimator
from dforest.estimators.forest.tree import DecisionTreeClassifier
from dforest.estimators.other_names import with_hints
from dforest.estimators.targets.uplift import ArmsAndOutcomes


class Told(NamedTuple):
    """What a fit is told of its rows: the labels of arms and of outcomes, and `2 * arm + outcome` of each row."""

    arms: np.ndarray
    outcomes: np.ndarray
    numbers: np.ndarray

    @classmethod
    def read(cls, y=None, treatment=None, categories=None):
        """Check what `fit` was given, and the order of labels of the treatment, if there is one.

        Raises ValueError if it is not as described.
        """
        if y is None:
            raise ValueError("y=None: an uplift forest requires y to be passed, but the target y is None")
        if treatment is None:
            raise ValueError("treatment=None; an uplift forest needs the arm of each row")
        outcomes, outcome = labels_and_numbers("y", y)
        arms, arm = labels_and_numbers("treatment", treatment, categories)
        if len(outcomes) > 2:
            raise ValueError(f"y has {len(outcomes)} different values; allowed are two")
        if len(arm) != len(outcome):
            raise ValueError(f"treatment has {len(arm)} rows, and y has {len(outcome)}; allowed are equal numbers")
        return cls(arms, outcomes, 2 * arm + outcome)


@has_parameters("uplift forest", table=UPLIFT_PARAMETERS, max_features="sqrt", min_samples_leaf=50, honest=True)
class UpliftForestClassifier(UpliftPredictions, ForestEstimator):
    """An uplift forest: for whom a treatment changes the probability of an outcome, and by how much.

    It learns from an experiment, whose rows got a treatment, or one of several, or none by lot, and had an outcome of two
    classes: who was sent a letter, and who bought. Trees look for splits whose sides differ in how far the outcomes of treated
    rows are from those of others. Where treatments were not drawn by lot, `CausalForest` is the one to use.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    CausalForest : A forest for effects of any size on any outcome, with intervals.
    PolicyTree : A tree that assigns actions.

    Notes
    -----
    With D a divergence between the outcomes of an arm and those of the control, and its mean over arms, a split of N draws into L
    and R gains (L D(left) + R D(right)) / N - D(node). With ``normalize=True`` this is divided by
    H(N_0 / N) D(s_T, s_0) + sum of N_i / N H(s_i) + 1/2, where N_i is the number of draws of arm i, 0 for the control, s_i the
    share of these that goes left, s_T that of all treated draws, and H the entropy for "kl", otherwise the Gini impurity. Splits
    whose gain is not above 0 are not made.

    References
    ----------
    P. Rzepakowski, S. Jaroszewicz, "Decision trees for uplift modeling with single and multiple treatments", Knowledge and
    Information Systems 32(2), 2012.

    L. Guelman, M. Guillén, A. M. Pérez-Marín, "Uplift random forests", Cybernetics and Systems 46(3-4), 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import UpliftForestClassifier
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(4000, 3))
    >>> letter = random.random(4000) < 0.5
    >>> bought = random.random(4000) < 0.2 + 0.3 * letter * (X[:, 0] > 0)
    >>> forest = UpliftForestClassifier(random_state=0).fit(X, bought, treatment=letter)
    >>> (forest.predict([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]) > 0.1).tolist()
    [True, False]
    """

    _target = ArmsAndOutcomes()
    _tree_class = DecisionTreeClassifier
    split_frequencies = AverageEffects.split_frequencies
    feature_importances_ = AverageEffects.feature_importances_

    # Parameters of other forests, with the values that they have here.
    splitter = "best"
    impurity_threshold = 0.0
    min_impurity_decrease = 0.0
    ccp_alpha = 0.0
    class_weight = None
    monotonic_cst = None
    oob_score = False
    variable_importance = None

    @with_hints
    def fit(self, X, y, treatment=None, sample_weight=None, groups=None):
        """Grow the trees of the forest on training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Training rows: numbers or booleans, and in categorical columns text too (see
            `categorical_features`). NaN, None, NA, null and masked cells are missing values.
        y : array-like of shape (n_rows,)
            Outcomes: two labels, of any type. Uplift is in the probability of the second one in their order: of 1 or True.
        treatment : array-like of shape (n_rows,)
            The arm of each row: 0 and 1, booleans, or other labels, of which the first one in their order, or of a categorical
            type in the order of its categories, is the control.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, from 0 on; rows of weight 0 are left out before anything is drawn. None means that all weights
            are 1.
        groups : array-like of shape (n_rows,), optional
            The group of each row, as a label of any type. They are needed with ``bootstrap="group"``, and refused otherwise.

        Returns
        -------
        self
            The fitted forest.

        Raises
        ------
        ValueError
            If a parameter or the data are not as described; the estimator is then left as it was.
        """
        return self._fit_partitions(lambda rank: [Partition(rank, X, {"y": y, "treatment": treatment}, sample_weight, groups)])

    def estimate_memory(self, X, y=None, treatment=None, sample_weight=None, groups=None):
        """Estimate how much memory `fit` will take.

        The data are checked and coded as in `fit`, and a few trees are grown on some of the rows, to learn how many leaves trees
        have. The estimator is left as it is.

        Parameters
        ----------
        X, y, treatment, sample_weight, groups
            What `fit` would be given.

        Returns
        -------
        FitMemory
            The estimate in bytes, beside X and y themselves; ``print`` shows it as a table.

        Raises
        ------
        ValueError
            If a parameter or the data are not as `fit` would have them.
        """
        return super().estimate_memory(X, {"y": y, "treatment": treatment}, sample_weight, groups)

    def _read(self, partitions, ranks):
        """See `TreeEstimator`: labels are kept, and rows have numbers in their place."""
        given = GivenRows(self, partitions, ranks)
        told = Told.read(**given.told, categories=given.categories)
        if self.warm_start and "forest_" in vars(self):
            for name, own, before in (("treatment", told.arms, self.arms_), ("y", told.outcomes, self.outcomes_)):
                if not np.array_equal(own, before):
                    raise ValueError(
                        f"{name} has the labels {own.tolist()}, but warm_start=True goes on with trees grown on {before.tolist()}"
                    )
        self.arms_, self.outcomes_ = told.arms, told.outcomes
        return super()._read(given.partitions_with(y=told.numbers), ranks)

    def _make_criterion(self, objective, is_wide, n_draws):
        own = UPLIFT_CRITERIA[self.criterion](self.normalize, self.min_samples_treatment, self.smoothing)
        return objective.make_criterion(own, is_wide)
