"""Causal forests, which estimate how the effect of a treatment depends on features.

A fit first finds what is expected of outcomes and treatments (`dforest.estimators.causal.nuisances`), and takes it off. Trees are
then grown like those of several outputs, by a criterion of their own (`dforest.core.search.heterogeneity`); their leaves keep
moments, from which effects follow (`dforest.core.effects`).
"""

from copy import copy
from dataclasses import replace
from numbers import Real

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dforest.core.effects import Moments
from dforest.core.search.heterogeneity import Heterogeneity
from dforest.estimators.causal import intervals
from dforest.estimators.causal.averages import AverageEffects
from dforest.estimators.causal.given import GivenRows
from dforest.estimators.causal.nuisances import expected
from dforest.estimators.causal.observations import Observations
from dforest.estimators.causal.parameters import CAUSAL_PARAMETERS
from dforest.estimators.causal.predictions import EffectPredictions
from dforest.estimators.data.agreement import Partition
from dforest.estimators.data.given import check_number
from dforest.estimators.data.validation import count_samples, count_threads
from dforest.estimators.declaration import has_parameters
from dforest.estimators.forest.ensemble import ForestEstimator
from dforest.estimators.forest.forest import RandomForestRegressor
from dforest.estimators.forest.tree import DecisionTreeRegressor
from dforest.estimators.other_names import with_hints
from dforest.estimators.randomness import check_random_state
from dforest.estimators.reporting import report_on
from dforest.estimators.results.intervals import bag_size
from dforest.estimators.results.neighbours import NeighbourMixin
from dforest.estimators.targets.effects import Effects
from dforest.sampling import GroupSampling, RowSampling

FEWEST_NUISANCE_TREES = 50
# Values that are tried for parameters that are "auto", in this order, beside the defaults.
CANDIDATES = {
    "min_samples_leaf": (2, 10, 20, 40), "max_features": (0.3, 0.6), "honest_fraction": (0.6, 0.7), "alpha": (0.0, 0.15),
}  # fmt: skip


def _are_equal(value, known):
    return (value is None) == (known is None) and (value is None or np.array_equal(value, known))


@has_parameters("causal forest", table=CAUSAL_PARAMETERS, n_estimators=500, honest=True, ci_group_size=2, keep_training_data=True)
class CausalForest(AverageEffects, NeighbourMixin, EffectPredictions, ForestEstimator):
    """A causal forest: how the effect of a treatment on an outcome depends on features.

    The effect of a row is what its treatment adds to the outcome that is expected of rows like it. Trees look for splits between
    rows of different effects, and the forest compares treated rows with others where they fall into the same leaves. Before that,
    what features tell of outcomes and treatments is taken off, so that rows need not be treated at random: only all features must
    be there on which both treatment and outcome depend. Trees are honest and grown in little bags, from which intervals follow.
    With an instrument, which moves the treatment and nothing else, it is an instrumental forest, and not even that is needed.

    {groups}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    RandomForestRegressor : A forest that predicts outcomes.

    Notes
    -----
    With outcomes Y, treatments W, and what is expected of them given features, m and e, the effect for x is tau in the weighted
    least-squares regression of Y - m on a constant and W - e, where the weights are those of `forest_weights`. With instruments
    Z, it is that of two-stage least squares. Standard errors of averages are robust to heteroscedasticity and, with groups, to
    clusters.

    References
    ----------
    S. Athey, J. Tibshirani, S. Wager, "Generalized random forests", Annals of Statistics 47(2), 2019.

    X. Nie, S. Wager, "Quasi-oracle estimation of heterogeneous treatment effects", Biometrika 108(2), 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import CausalForest
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(2000, 5))
    >>> treatment = random.random(2000) < 1 / (1 + np.exp(-X[:, 1]))
    >>> y = X[:, 1] + np.maximum(X[:, 0], 0) * treatment + random.normal(size=2000)
    >>> forest = CausalForest(200, random_state=0).fit(X, y, treatment=treatment)
    >>> low, high = forest.average_effect().interval()
    >>> low < 0.4 < high
    True
    """

    _target = Effects()
    _tree_class = DecisionTreeRegressor
    _candidates = CANDIDATES
    _expects_means = False  # in place of what models expect, where these would take too long

    # Parameters of other forests, with the values that they have here.
    criterion = "heterogeneity"
    splitter = "best"
    bootstrap = "subsample"
    impurity_threshold = 0.0
    min_impurity_decrease = 0.0
    ccp_alpha = 0.0
    monotonic_cst = None
    oob_score = False
    variable_importance = None

    @with_hints
    def fit(
        self, X, y, treatment=None, instrument=None, sample_weight=None, groups=None, y_hat=None, w_hat=None, z_hat=None
    ):
        """Grow the trees of the forest on training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Training rows: numbers or booleans, and in categorical columns text too (see
            `categorical_features`). NaN, None, NA, null and masked cells are missing values.
        y : array-like of shape (n_rows,) or (n_rows, n_outcomes)
            Outcomes: finite numbers. Several outcomes share splits, which tell rows apart whose effects differ in any of them;
            they should have about equal units.
        treatment : array-like of shape (n_rows,) or (n_rows, n_treatments)
            Treatments: 0 and 1, or booleans, for rows that are treated or not; finite numbers, such as a dose, or several columns
            of these; or labels, which are text, of arms, of which the first one in their order is the control.
        instrument : array-like of shape (n_rows,) or (n_rows, n_treatments), optional
            Instruments: finite numbers, a column for each treatment. None means that the treatment depends on nothing that the
            outcome depends on but X.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, from 0 on; rows of weight 0 are left out before anything is drawn. None means that all weights
            are 1.
        groups : array-like of shape (n_rows,), optional
            The group of each row ("cluster"), as a label of any type. Trees then draw whole groups, and standard errors allow for
            rows of a group that depend on each other. None means that rows are independent.
        y_hat, w_hat, z_hat : array-like, optional
            What is expected of outcomes, treatments and instruments given X: arrays of the shapes of these, or for labels of
            shape (n_rows, n_arms - 1), made by models that were not fitted on the row. None means that `fit` finds them, by the
            parameters `outcome_model`, `treatment_model` and `instrument_model`.

        Returns
        -------
        self
            The fitted forest.

        Raises
        ------
        ValueError
            If a parameter or the data are not as described; the estimator is then left as it was.
        """
        told = {"y": y, "treatment": treatment, "instrument": instrument, "y_hat": y_hat, "w_hat": w_hat, "z_hat": z_hat}
        return self._fit_partitions(lambda rank: [Partition(rank, X, told, sample_weight, groups)])

    def estimate_memory(self, X, y=None, treatment=None, instrument=None, sample_weight=None, groups=None):
        """Estimate how much memory the trees of `fit` will take.

        The data are checked and coded as in `fit`, and a few trees are grown on some of the rows, to learn how many leaves trees
        have. What models of outcomes and treatments take is not in it. The estimator is left as it is.

        Parameters
        ----------
        X, y, treatment, instrument, sample_weight, groups
            What `fit` would be given.

        Returns
        -------
        FitMemory
            The estimate in bytes, beside X and y themselves; ``print`` shows it as a table.

        Raises
        ------
        ValueError
            As `fit` does.
        """
        model = copy(self)
        model._expects_means = True
        told = {"y": y, "treatment": treatment, "instrument": instrument}
        return super(CausalForest, model).estimate_memory(X, told, sample_weight, groups)

    def _read(self, partitions, ranks):
        """See `TreeEstimator`: what is expected is taken off. Each rank knows of all rows what there is beside X."""
        given = GivenRows(self, partitions, ranks, ("sample_weight", "groups"))
        told, seed = Observations.read(**given.told, categories=given.categories), ranks.first(self._nuisance_seed())
        weight, groups = told.weights_of(given.sample_weight), told.groups_of(given.groups)
        kept = np.ones(len(told.y), bool) if weight is None else weight > 0
        told.check_treatments(kept)
        self._has_groups = groups is not None
        names = self._names_to_choose()
        if names and told.z is not None:
            raise ValueError(
                f'{names[0]}="auto" is not possible with an instrument, with which residuals are not least for the effects; '
                "allowed are numbers"
            )
        observed = {"y": told.y, "w": told.w, "z": told.z, "weight": weight, "groups": groups}
        if self.warm_start and "forest_" in self.__dict__:
            told = self._known(told, observed)
        found = {}
        for name, own, own_hat, model in (
            ("outcome_model", told.y, told.y_hat, self.outcome_model),
            ("treatment_model", told.w, told.w_hat, self.treatment_model),
            ("instrument_model", told.z, told.z_hat, self.instrument_model),
        ):
            if own is None or own_hat is not None:
                found[name] = own_hat
                continue
            if self._expects_means:
                found[name] = np.broadcast_to(own.mean(axis=0), own.shape)
                continue
            model = self._nuisance_forest(honest=name != "outcome_model") if model is None else model
            found[name] = expected(name, model, given, own, weight, groups, self.cv, seed)
        self.y_hat_, self.w_hat_, self.z_hat_ = found.values()
        self.arms_ = told.arms
        self._moments = Moments(told.y.shape[1], told.w.shape[1], told.z is not None)
        self._observed = observed if self.keep_training_data else None
        rest = told.y - self.y_hat_, told.w - self.w_hat_, None if told.z is None else told.z - self.z_hat_
        # Means change no covariance, but would hide small ones.
        moments = self._moments.of(*(None if own is None else own - np.average(own[kept], axis=0) for own in rest))
        if not np.isfinite(moments).all():
            raise ValueError("y and treatment have products that are beyond the range of float64; rescale them")
        if ranks.rank == 0:
            told.warn_of_overlap(self.w_hat_, self.z_hat_, kept)
        return super()._read(given.partitions_with(y=moments, sample_weight=weight, groups=groups), ranks)

    def _known(self, told, observed):
        """What a fit is told, with the expectations of the fit that it goes on from. Raises ValueError if rows are others."""
        if self._observed is None:
            raise ValueError("warm_start=True needs keep_training_data=True, to compare outcomes and treatments; allowed is that")
        for name, value in {**observed, "arms": told.arms}.items():
            known = self.arms_ if name == "arms" else self._observed[name]
            if not _are_equal(value, known):
                what = {"w": "treatment", "arms": "treatment", "z": "instrument", "weight": "sample_weight"}.get(name, name)
                raise ValueError(
                    f"{what} is another than that of the trees which warm_start=True goes on with; allowed is the same, or "
                    "warm_start=False"
                )
        for name, value, known in (
            ("y_hat", told.y_hat, self.y_hat_), ("w_hat", told.w_hat, self.w_hat_), ("z_hat", told.z_hat, self.z_hat_),
        ):  # fmt: skip
            if value is not None and not _are_equal(value, known):
                raise ValueError(f"{name} is another than of the trees which warm_start=True goes on with; allowed is None")
        return told._replace(y_hat=self.y_hat_, w_hat=self.w_hat_, z_hat=self.z_hat_)

    def _nuisance_seed(self):
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _nuisance_forest(self, honest=False):
        """The forest that predicts outcomes and treatments where no other model is given.

        Treatments are hard to tell from features, or there would be no effect to be found, so that what forests say of them
        varies more than it should; honest ones are wrong by less.
        """
        same = (
            "max_features", "skip_constant_features", "feature_weights", "always_split_features", "method", "max_bins",
            "categorical_features", "ordinal_features", "categorical_split", "n_jobs",
        )  # fmt: skip
        return RandomForestRegressor(
            max(FEWEST_NUISANCE_TREES, self.n_estimators // 4), min_samples_leaf=5, max_samples=0.5,
            bootstrap=self._sampling_asked(), honest=honest, **{name: getattr(self, name) for name in same},
        )  # fmt: skip

    def _make_trees(self):
        raise AttributeError(  # for hasattr
            "the trees of a causal forest predict no effects by themselves, and are no estimators; forest_.tree(t) has the "
            "arrays of one, and dforest.trees_to_dataframe(forest) the nodes of all"
        )

    def _sampling_asked(self):
        return GroupSampling(replace=False) if self.__dict__.get("_has_groups") else RowSampling(replace=False)

    def _make_criterion(self, objective, is_wide, n_draws):
        least = count_samples(self._value("min_samples_leaf"), n_draws, 1)
        own = Heterogeneity(*objective.moments, self._value("alpha"), self.imbalance_penalty, least, self.stabilize_splits)
        return objective.make_criterion(own, is_wide)

    def _losses_of_small(self, rows, power, plan, device):
        numbers = rows.share.numbers() if rows.is_divided else None
        losses = intervals.expected_losses(self.forest_, rows.X, rows.y, plan.n_trees, plan.n_threads, power, numbers)
        return rows.of_all(losses)

    def _rules(self, n_rows, n_draws):
        rules = super()._rules(n_rows, n_draws)
        # Where there are enough draws above a mean, and enough others, there are twice as many.
        return replace(rules, min_samples_leaf=2 * rules.min_samples_leaf) if self.stabilize_splits else rules

    @property
    def n_outputs_(self):
        """Number of outcomes, which are the columns of y: int."""
        check_is_fitted(self)
        return self._moments.n_outcomes

    def _effects_out_of_bag(self):
        data = self._training_rows()

        def make():
            mean = intervals.moments_out_of_bag(self.forest_, data.X, count_threads(self.n_jobs))
            return self.forest_.objective.moments.effects(mean)

        return self._of_given_rows(self._derived("effects", make))

    def report(self, *, path=None, outcome=0, treatment=None, verbose=0):
        """Make a report: one HTML page, which needs no network.

        The page shows who can be compared with whom, by how often rows are expected to be treated; average effects with their
        intervals; how effects differ, whether they differ as the forest says, and how they change with the features that trees
        split by most; what to doubt; the data and the parameters; and the seed, versions and a digest of the trees.

        Parameters
        ----------
        path : str or path-like, optional
            A file to write the page to. Whether it can be written is tried before anything is computed.
        outcome : int, default=0
            Number of the outcome.
        treatment : int or label, optional
            Number of the treatment, or the arm. None means the only one.
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
            If there is no such outcome or treatment, or the training rows were not kept.
        """
        effect = self._effect(outcome, treatment)
        self._training_rows()
        return report_on(self, None, None, path, None, None, verbose, effect)

    def predict_interval(self, X=None, level=0.95):
        """Predict an interval for each row that is meant to hold the effect.

        It is normal, with a variance that the little bags of trees (`ci_group_size`) tell, by the delta method. It holds the
        effect as often as it says if trees have no bias, which honest ones have little of where the effect does not change much
        within their leaves; that is less true the fewer rows there are, and the more features an effect depends on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features), optional
            Rows with the columns of the training data. None means the training rows, each as predicted by the trees that left
            it out.
        level : float, default=0.95
            The share of effects that the intervals are meant to cover, above 0 and below 1.

        Returns
        -------
        ndarray of shape (n_rows, 2) or (n_rows, ..., 2), dtype float64
            The lower and the upper end of each interval, of each effect that `predict` returns. NaN where there is no effect, and
            for training rows that fewer than two whole bags left out.

        Raises
        ------
        ValueError
            If the forest has fewer than two bags, `level` is not as described, or X is None and the training rows were not kept.
        """
        check_is_fitted(self)
        level = check_number("level", level, Real, "numbers above 0 and below 1", lambda n: 0 < n < 1)
        size = bag_size(self.forest_.plans[0])
        if size == 1 or self.forest_.n_trees < 2 * size:
            raise ValueError(
                f"intervals need two bags of trees or more; this forest has {self.forest_.n_trees} trees, and was fitted with "
                f"ci_group_size={self.ci_group_size}; allowed are numbers from 2"
            )
        rows = self._training_rows().X if X is None else self._checked_rows(X)
        found = intervals.effects_and_variances(self.forest_, rows, count_threads(self.n_jobs), X is None)
        ends = self._shaped(intervals.ends_of(*found, level))
        return self._of_given_rows(ends) if X is None else ends
