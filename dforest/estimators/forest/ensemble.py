"""What all forests share: how many trees there are, and what is estimated from the training rows."""

import warnings
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dforest.config import in_kind
from dforest.engines.weights import ClassBalance
from dforest.estimators.callbacks import CallbackSupportMixin
from dforest.estimators.conversion import to_sklearn
from dforest.estimators.data.agreement import Partition
from dforest.estimators.data.fits import Plan
from dforest.estimators.data.validation import count_threads
from dforest.estimators.forest import selection
from dforest.estimators.forest.base import TreeEstimator
from dforest.estimators.forest.batch import Batch
from dforest.estimators.forest.growth import ForestGrowth
from dforest.estimators.forest.predictions import ClassPredictions, NumberPredictions, last_draws
from dforest.estimators.forest.tree import DecisionTreeClassifier, DecisionTreeRegressor
from dforest.estimators.kinds import Forest
from dforest.estimators.other_names import with_hints
from dforest.estimators.progress import ProgressLine
from dforest.estimators.randomness import check_random_state
from dforest.estimators.reporting import report
from dforest.estimators.results import importance, oob
from dforest.estimators.results.calibration import calibrated, fit_temperature
from dforest.estimators.results.dependence import partial_dependence
from dforest.estimators.results.intervals import predict_interval
from dforest.estimators.results.local_linear import predict_local_linear
from dforest.estimators.results.neighbours import NeighbourMixin, predict_quantiles
from dforest.estimators.results.permutation import oob_importance, oob_local_importance
from dforest.estimators.results.shapley import shap_interaction_values, shap_values
from dforest.estimators.scoring import ClassifierScore, RegressorScore, is_known, named_scorer, refusal
from dforest.estimators.targets.classes import Classes
from dforest.estimators.targets.numbers import Numbers
from dforest.sampling import RowSampling, sampling_of
from dforest.warning import warn

# Values that are tried for parameters that are "auto", in this order, beside the defaults.
CANDIDATES = {
    "max_features": ("sqrt", 0.5, 1.0),
    "min_samples_leaf": (1, 3),
    "leaf_smoothing": (0.0, 1.0, 3.0, 10.0, 30.0, 100.0),
}

_OOB_ATTRIBUTES = [
    "oob_score_",
    "oob_error_",
    "oob_error_per_observation_",
    "oob_curve_",
    "oob_decision_function_",
    "oob_prediction_",
    "n_never_oob_",
]


# Attributes that a forest's single trees take from it.
_SHARED_ATTRIBUTES = {
    "n_features_in_",
    "feature_names_in_",
    "classes_",
    "n_classes_",
    "is_categorical_",
    "is_ordinal_",
    "categories_",
    "fit_report_",
    "_features",
}


class ForestEstimator(CallbackSupportMixin, TreeEstimator, Forest):
    """What all forests share."""

    calibration = None  # a parameter of classifiers
    _candidates = {}  # parameters that may be "auto", and what is tried for them: see `dforest.estimators.forest.selection`

    @with_hints
    def fit(self, X, y, sample_weight=None, groups=None):
        """Grow the trees of the forest on training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Training rows: numbers or booleans, and in categorical columns text too (see
            `categorical_features`). NaN, None, NA, null and masked cells are missing values, and infinities are ordinary
            values. float32 and float64 are used as they are, and other types become float64. Sparse
            matrices and arrays of SciPy give the same trees as ``X.toarray()``, which is never made as a
            whole; entries that they do not store are 0.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Targets: classes of any type, or finite numbers. If there are several columns ("outputs"), the
            same trees predict all of them, and impurities are means over the outputs.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, from 0 on, which count in impurities and leaves; rows of weight 0 are left
            out before anything is drawn. None means that all weights are 1. Weights don't change how often a
            row is drawn, except with ``bootstrap="weighted"``, where they change nothing else.
        groups : array-like of shape (n_rows,), optional
            The group of each row, as a label of any type. They are needed with ``bootstrap="group"``, and with
            samplings of your own that ask for them, and refused otherwise.

        Returns
        -------
        self
            The fitted forest.

        Raises
        ------
        ValueError
            If a parameter or the data are not as described; the estimator is then left as it was.
        """
        return self._fit_partitions(lambda rank: [Partition(rank, X, y, sample_weight, groups)])

    def _check_draws(self):
        """Raise ValueError if parameters ask of a forest that draws no rows what needs draws."""
        if not self.bootstrap:
            if self.max_samples is not None:
                raise ValueError(
                    f"max_samples={self.max_samples} needs bootstrap=True, without which every row is taken: `max_sample` "
                    "cannot be set if `bootstrap=False`. Either switch to `bootstrap=True` or set `max_sample=None`. "
                    'bootstrap="subsample" draws rows without replacement'
                )
            if self.oob_score:
                raise ValueError(
                    f"oob_score={self.oob_score} needs bootstrap=True: Out of bag estimation only available if "
                    "bootstrap=True, as without it no tree leaves out rows"
                )
            if self.calibration is not None:
                raise ValueError(
                    f"calibration={self.calibration!r} needs bootstrap=True, for trees to leave out rows; allowed without it is "
                    "None"
                )
            if self.variable_importance in ("mda_raw", "mda_scaled"):
                raise ValueError(
                    f"variable_importance={self.variable_importance!r} needs bootstrap=True, for trees to leave out "
                    'rows; without it "mdi" is allowed'
                )

    def _names_to_choose(self):
        given = {name: getattr(self, name) for name in self._candidates}
        return [name for name, value in given.items() if isinstance(value, str) and value == "auto"]

    def _value(self, name):
        chosen = getattr(self, "best_params_", {})
        return chosen[name] if name in chosen and name in self._names_to_choose() else getattr(self, name)

    def _losses_of_small(self, rows, power, plan, device):
        """The losses by which parameters are chosen: see `dforest.estimators.forest.selection.expected_losses`. A collective."""
        return selection.expected_losses(self, rows, power, plan, device)

    def _choose(self, plan, rows, device):
        return selection.choose_parameters(self, plan, rows, device) if self._names_to_choose() else None

    def _plan(self):
        selection.begin_with_defaults(self)
        self._check_draws()
        plan = Plan(
            n_trees=self.n_estimators,
            sampling=self._sampling_asked(),
            max_samples=self.max_samples,
            n_threads=count_threads(self.n_jobs),
            grown=getattr(self, "forest_", None) if self.warm_start else None,
            classes=getattr(self, "classes_", None),
        )
        if plan.n_trees < plan.n_grown:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to the {plan.n_grown} trees there are, "
                "as warm_start=True keeps them"
            )
        if plan.n_trees == plan.n_grown:
            warn(
                f"Warm-start fitting without increasing n_estimators does not fit new trees: there are {plan.n_grown}",
                UserWarning,
            )
        return plan

    def _sampling_asked(self):
        """The `Sampling` that parameters ask for; None: every row once."""
        if self.bootstrap != "auto":
            return sampling_of(self.bootstrap)
        looks = self.oob_score or self.calibration is not None or self.variable_importance in ("mda_raw", "mda_scaled")
        return RowSampling() if looks or self.max_samples is not None else None

    def _seed(self, plan):
        if plan.grown is not None:
            return plan.grown.seed, False
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int64).max, dtype=np.int64)), False

    def _tree_class_weight(self, rows, plan):
        """The `class_weight` with which a single tree, grown on its own, weighs classes as those of a `Plan` did on these rows.

        A collective.
        """

    def _check_plan(self, rows, plan):
        if plan.grown is not None:
            self._check_grown(rows, plan.grown)

    def _check_grown(self, rows, grown):
        """Raise ValueError if trees for these rows can't be added to a forest."""
        if self._own_criterion() != grown.criterion:
            raise ValueError(f"criterion={self.criterion!r}, but warm_start=True goes on with trees grown by {grown.criterion!r}")
        n_outputs = rows.y.shape[1] if rows.y.ndim == 2 else 1
        if n_outputs != grown.objective.n_outputs:
            raise ValueError(
                f"y has {n_outputs} columns, but warm_start=True goes on with trees grown on {grown.objective.n_outputs}"
            )

    def _kept_rows(self, rows, plan):
        """What is to be kept of the training rows; None: nothing. Raises ValueError if they cannot be kept."""

    def _check_rows(self, rows, plan):
        if self.calibration is not None and rows.y.ndim == 2:
            raise ValueError(
                f"calibration={self.calibration!r}, and y has {rows.y.shape[1]} columns, which would have a temperature each; "
                "allowed are one column, or calibration=None"
            )
        self._check_oob_scorer(rows)
        plan.kept = self._kept_rows(rows, plan)
        asks = self.oob_score or self.calibration is not None or self.variable_importance in ("mda_raw", "mda_scaled")
        if plan.grown is not None and asks:
            self._check_out_of_bag(rows, plan.grown)

    def _check_oob_scorer(self, rows):
        """Raise ValueError if a scorer of scikit-learn, as `oob_score`, can't score such targets: before there are trees.

        A collective.
        """
        scorer = named_scorer(self.oob_score, "oob_score")
        trial = self._target.trial(self, rows.of_all(rows.y)) if callable(scorer) and is_known(scorer) else None
        if trial is None:
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._target.score(self, scorer, *trial, None)
        except Exception as error:
            classes = getattr(self, "classes_", None)
            raise refusal(f"oob_score={self.oob_score!r}", "y", error, scorer, classes) from error

    def _check_out_of_bag(self, rows, forest):
        """Raise ValueError unless it is known which of encoded `TrainingRows` the trees of a forest left out. A collective."""
        n_trees = [batch.n_trees for batch in self._batches]
        oob.check_available(forest, n_trees, rows, count_threads(self.n_jobs))

    def _watch(self, plan, rows, tasks, device):
        line = ProgressLine(plan.n_trees, self.verbose) if self.verbose else None
        if not tasks.are_watched and line is None:
            return None
        counts_votes = line is not None and bool(self.oob_score) and not rows.is_divided
        growth = self._growth = ForestGrowth(self, plan, rows, device, tasks, line, counts_votes)
        growth.begin()
        return growth

    def _after_growth(self, rows, plan, device, growth=None):
        n_new = self.forest_.n_trees - plan.n_grown
        if n_new:
            kept = None if rows.kept.all() else np.packbits(rows.kept)
            share = None if rows.ranks.size == 1 else rows.share
            batch = Batch(n_new, len(rows.kept), kept, self._tree_class_weight(rows, plan), share)
            self._batches = [*(() if plan.grown is None else self._batches), batch]
        made_of = self.forest_, self.oob_score, getattr(self, "voting", "soft"), self.calibration, len(rows.kept)
        has_estimates = bool(self.oob_score) and not rows.is_divided and self._has_estimates_of(*made_of)
        stale = [] if has_estimates else [*_OOB_ATTRIBUTES, "_estimates_of"]
        for name in [*stale, "calibration_", "variable_importance_", "variable_importance_std_", "_training_data"]:
            self.__dict__.pop(name, None)
        if plan.kept is not None:
            self._training_data = plan.kept
        if self.calibration is not None or self.oob_score and not has_estimates:
            found = None if growth is None else growth.estimate()
            if found is None:
                found = oob.estimate(self.forest_, rows, getattr(self, "voting", "soft"), plan.n_threads, device)
            if self.calibration is not None:
                found = self._calibrate(rows, found)
        if self.oob_score and not has_estimates:
            if found.n_never and rows.ranks.rank == 0:
                warn(
                    f"Some inputs do not have OOB scores: {found.n_never} of {rows.n_rows} rows are out of the bag of none of "
                    f"the {self.forest_.n_trees} trees; more trees leave out more rows",
                    UserWarning,
                )
            self._set_oob_score_and_attributes(rows, found)
            self._estimates_of = made_of
        if self.variable_importance == "mdi":
            found = importance.impurity_decrease(self.forest_)
        elif self.variable_importance is not None:
            found = self._accuracy_decrease(rows, plan, device)
        else:
            return
        scaled = self.variable_importance == "mda_scaled"
        self.variable_importance_, self.variable_importance_std_ = importance.summarise(*found, scaled)

    def _calibrate(self, rows, found):
        """Set `calibration_` by out-of-bag estimates; returns these with calibrated probabilities. A collective."""
        shares, y, seen = (rows.of_all(part) for part in (found.prediction, rows.y, ~np.isnan(found.error_per_row)))
        if not seen.any():
            raise ValueError(
                f'calibration="oob" needs rows that some tree leaves out; each of {rows.n_rows} rows is drawn by all '
                f"{self.forest_.n_trees} trees. More trees leave out more rows"
            )
        weight = self._weight_of_losses(rows)
        weight = None if weight is None else weight[seen]
        self.calibration_ = rows.ranks.first(fit_temperature(shares[seen], y[seen], weight))
        return replace(found, prediction=calibrated(found.prediction, self.calibration_))

    def _weight_of_losses(self, rows):
        """What each of the rows of all ranks weighs in a loss: ndarray of shape (n_rows,); None: all alike. A collective."""
        weight = rows.weight
        if getattr(self, "class_weight", None) == "balanced_subsample":  # whose trees weigh classes by draws, which is about this
            factors = ClassBalance.of(rows, self.n_classes_).factors()
            weight = factors if weight is None else weight * factors
        return None if weight is None else rows.of_all(weight)

    def _accuracy_decrease(self, rows, plan, device):
        """By how much the accuracy of each tree falls when a feature is permuted, as `importance.accuracy_decrease` has it."""
        return importance.accuracy_decrease(self.forest_, rows, plan.n_threads, device)

    def _has_estimates_of(self, forest, *settings):
        """Whether there are out-of-bag estimates of a forest and of these settings already, to which no tree was added."""
        made_for, *known = self.__dict__.get("_estimates_of", (None,))
        return made_for is forest and known == list(settings)

    def _set_oob_score_and_attributes(self, rows, found):
        """Set the attributes of out-of-bag estimates, in which rows of weight 0 have NaN.

        The name is that of this step in scikit-learn's forests, by which others watch it or put another one in its place.

        Parameters
        ----------
        rows : TrainingRows
            What scikit-learn hands over as X and y.
        found : OutOfBag
        """
        self._target.keep_out_of_bag(self, rows, found)

    @property
    def estimators_(self):
        """The trees one by one: a list of fitted single-tree estimators, which share the forest's arrays.

        These estimators only show what the forest holds: ``prune(..., inplace=False)`` returns a pruned copy of
        one, but pruning one in place is refused.

        The `random_state` of each estimator is the seed of its tree. With ``method="dense"``, this seed grows the
        tree again, to the bit, on the rows in `estimators_samples_`::

            rows = forest.estimators_samples_[t]
            clone(forest.estimators_[t]).fit(X[rows], y[rows])

        There are conditions. Among its rows the tree must have every class, and every category and level of X, as
        these are numbered in the order of those that occur. With ``criterion="poisson"`` some target must be above
        0. With `sample_weight`, pass the weights of the rows too, except with ``bootstrap="weighted"``, whose trees count each
        draw as 1; they must become the same integers as those of all rows of the forest (see "Weights and targets as integers"
        on the page about the maths). With ``method="hist"`` the tree would differ, as bins are made from all rows that are given,
        and with ``honest=True``, as its halves depend on the numbers of rows.
        """
        check_is_fitted(self)
        made_for, trees = self.__dict__.get("_trees", (None, None))
        if made_for is not self.forest_:
            trees = self._make_trees()
            self._trees = (self.forest_, trees)
        return trees

    def __getstate__(self):
        state = super().__getstate__()
        passing = ("_trees", "_leaf_tables", "_estimates_of")
        return {name: value for name, value in state.items() if name not in passing}

    @property
    def _n_samples_bootstrap(self):
        """How many draws a tree has, one of the last fit, on average where they differ; None if it took every row once.

        The name is scikit-learn's, of whose forests others ask this.
        """
        check_is_fitted(self)
        return last_draws(self.forest_)

    @property
    def n_estimators_(self):
        """Number of trees in the fitted forest: int, less than `n_estimators` if a callback ended the fit."""
        check_is_fitted(self)
        return self.forest_.n_trees

    def __len__(self):
        """Return the number of trees of the fitted forest."""
        return self.n_estimators_

    def __getitem__(self, index):
        """Return the tree of an index, or a list of trees for a slice, of `estimators_`."""
        return self.estimators_[index]

    def __iter__(self):
        """Iterate over the trees, as in `estimators_`."""
        return iter(self.estimators_)

    @property
    def estimators_samples_(self):
        """The rows that each tree was grown on: a list of ndarrays of row numbers, dtype int32.

        The numbers are places in the X that `fit` was given, in ascending order; a row that was drawn several times
        is there as often. Rows of weight 0 are in none of the arrays. The type is int64 if X has more than 2**31
        rows. The arrays are computed anew from the seeds of the trees whenever they are asked for. If several
        processes fitted the forest together, the numbers are places in the X of this process. If calls of `fit` with
        ``warm_start=True`` were given different rows, they are places in the X of the call that grew the tree.
        """
        check_is_fitted(self)
        forest, samples = self.forest_, []
        for batch in self._batches:
            rows = batch.row_numbers()
            first = len(samples)
            samples += [np.repeat(rows, batch.own(forest.drawn_counts(t))) for t in range(first, first + batch.n_trees)]
        return samples

    @property
    def estimator(self):
        """A single tree, not fitted, with the forest's parameters, of which the trees in `estimators_` are copies."""
        names = set(self._tree_class().get_params()) - {"random_state"}
        return self._tree_class(**{name: self._value(name) for name in names if hasattr(self, name)})

    @property
    def estimator_(self):
        """A single tree, not fitted, with the forest's parameters: `estimator` under the name that scikit-learn uses."""
        check_is_fitted(self)
        return self.estimator

    def _make_trees(self):
        pattern = self.estimator
        class_weights = [batch.class_weight for batch in self._batches for _ in range(batch.n_trees)]
        fitted = {name: value for name, value in dict(vars(self)).items() if name in _SHARED_ATTRIBUTES}
        trees = []
        for t in range(self.forest_.n_trees):
            tree = clone(pattern)
            tree.random_state = int(self.forest_.seeds[t])
            if hasattr(tree, "class_weight"):
                tree.class_weight = class_weights[t]
            arrays = self.forest_.tree(t)
            tree.__dict__.update(fitted, forest_=arrays, _seen_in=arrays)
            trees.append(tree)
        return trees

    def apply(self, X):
        """Return the number of the leaf that each row reaches in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        ndarray of shape (n_rows, n_estimators), dtype int64
            Numbers of nodes in their tree: the root is 0, and all other nodes follow in depth-first preorder.
        """
        return in_kind(X, self._leaves(X))

    def decision_path(self, X):
        """Return the nodes of all trees that each row passes on its way from the root to a leaf.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        indicator : sparse matrix of shape (n_rows, n_nodes)
            1 where the row passes the node, else 0. The columns are the nodes of the first tree, then those of the
            second tree, and so on.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,), dtype int64
            Where the columns of each tree begin: tree t has the columns from n_nodes_ptr[t] up to
            n_nodes_ptr[t + 1] - 1.
        """
        return self._paths(X), np.array(self.forest_.node_offsets)


class ForestClassifier(NeighbourMixin, ClassPredictions, ClassifierScore, ForestEstimator):
    """What forests for classification share."""

    feature_importances_ = importance.feature_importances_
    oob_importance = oob_importance
    oob_local_importance = oob_local_importance
    partial_dependence = partial_dependence
    report = report
    shap_interaction_values = shap_interaction_values
    shap_values = shap_values
    to_sklearn = to_sklearn

    _target = Classes()
    _tree_class = DecisionTreeClassifier
    _candidates = CANDIDATES

    def _plan(self):
        plan = super()._plan()
        if self.class_weight == "balanced_subsample":
            plan.balances_draws = True
        return plan

    def _tree_class_weight(self, rows, plan):
        if self.class_weight == "balanced_subsample":
            return "balanced"
        if plan.ignores_weights:
            return None
        if self.class_weight == "balanced":  # balanced over all rows, not over the draws of a tree
            balance, several = ClassBalance.of(rows, self.n_classes_).class_factors(np.ones((1, len(rows.y)), np.int64)), []
            for (factors,), classes in zip(balance, self.classes_ if rows.y.ndim == 2 else [self.classes_], strict=True):
                there = factors > 0
                several.append(dict(zip(classes[there].tolist(), factors[there].tolist(), strict=True)))
            return several if rows.y.ndim == 2 else several[0]
        return self.class_weight


class ForestRegressor(NeighbourMixin, NumberPredictions, RegressorScore, ForestEstimator):
    """What forests for regression share."""

    feature_importances_ = importance.feature_importances_
    oob_importance = oob_importance
    oob_local_importance = oob_local_importance
    partial_dependence = partial_dependence
    predict_interval = predict_interval
    predict_local_linear = predict_local_linear
    predict_quantiles = predict_quantiles
    report = report
    shap_interaction_values = shap_interaction_values
    shap_values = shap_values
    to_sklearn = to_sklearn

    _target = Numbers()
    _tree_class = DecisionTreeRegressor
    _candidates = CANDIDATES
