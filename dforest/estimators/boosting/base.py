"""What boosted trees for classes, for numbers and for ranking share: the steps of a fit, in order, and raw predictions.

How a fit goes: X -> codes -> trees, iteration by iteration -> `forest_`, whose leaves add up to raw predictions. A fit that fails
leaves the estimator as it was.
"""

from abc import abstractmethod
from copy import copy
from dataclasses import replace
from numbers import Integral

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from dforest.config import communicator, in_kind, on_host
from dforest.core.boost.tried_columns import can_split
from dforest.core.integer_weights import integer_weights
from dforest.engines.fit_report import FitReport
from dforest.engines.fitting import engine_on
from dforest.engines.problem import BoostingProblem, BoostingRules
from dforest.estimators.boosting.bags import (
    Bag,
    Seeds,
    begun,
    draw_seeds,
    going_on,
    model_of,
    monitor_of_bags,
    opened,
    problem_of_bags,
    warn_of_equal_bags,
)
from dforest.estimators.boosting.constraints import constraints_of, forced_splits_of
from dforest.estimators.boosting.defaults import choose_values
from dforest.estimators.boosting.drawing import drawing_of
from dforest.estimators.boosting.gains import warn_of_no_gain
from dforest.estimators.boosting.growth import BoostedGrowth
from dforest.estimators.boosting.leaf_models import check_linear_leaves, choose_leaf_model
from dforest.estimators.boosting.loop import first_trees, grow, with_sets, with_shares
from dforest.estimators.boosting.memory import estimate_memory
from dforest.estimators.boosting.oblique import check_oblique, splitter_of
from dforest.estimators.boosting.out_of_fold import keep_out_of_fold
from dforest.estimators.boosting.permutation import permutation_importance
from dforest.estimators.boosting.predictions import RawPredictions
from dforest.estimators.boosting.progress import tell_iteration, tell_stop
from dforest.estimators.boosting.queries import ToldQueries
from dforest.estimators.boosting.rows import (
    Sample,
    ToScore,
    booster_weight,
    check_columns_of_y,
    check_given,
    check_offset,
    check_targets,
    scored_rows,
)
from dforest.estimators.boosting.search import divisions_of, is_searched, search_iterations
from dforest.estimators.boosting.splits import warn_of_no_split
from dforest.estimators.boosting.statistics import statistics_of
from dforest.estimators.boosting.trees import trees_of
from dforest.estimators.callbacks import CallbackSupportMixin, FitTasks, callback_management_context
from dforest.estimators.data.agreement import Partition
from dforest.estimators.data.fits import fitting
from dforest.estimators.data.rows import coded_columns, training_rows
from dforest.estimators.data.validation import count_features, count_threads
from dforest.estimators.other_names import with_hints
from dforest.estimators.reporting import report
from dforest.estimators.results.dependence import partial_dependence
from dforest.estimators.results.importance import gain_shares
from dforest.estimators.results.shapley import shap_interaction_values, shap_values
from dforest.estimators.support import Fit, check_support, places_of_fit
from dforest.estimators.tree_model import TreeModel
from dforest.warning import warn

MAX_STORED = 0.5  # share of the rows that a sparse column stores; columns that store more become dense


class BoostingEstimator(CallbackSupportMixin, RawPredictions, TreeModel):
    """What boosted trees for classes, for numbers and for ranking share."""

    estimate_memory = estimate_memory
    partial_dependence = partial_dependence
    permutation_importance = permutation_importance
    report = report

    # What is allowed if y has several columns, and the loss is for one.
    _for_columns = (
        'names of losses other than "huber" and "mape", with one quantile at most, or an estimator for each column, such as '
        "sklearn.multioutput.MultiOutputRegressor makes"
    )

    def _measure(self, scoring, sample, n_threads, ranks):
        """What scores a `Sample` by a value of `scoring`, as `ScoredRows` has it; None: a scorer of scikit-learn's kind does."""

    def _scoring(self, samples, ranks):
        """`scoring`, or what its default means for some rows that are scored: list of `Sample`. A collective."""
        return self.scoring

    def _usual_scoring(self, sample):
        """The value of `scoring` that stands for what `score` returns of a `Sample`."""
        return None

    def _queries(self, told, ranks, suffix=""):
        """The number of each row's query, given a `ToldQueries` of each partition of rows; None: rows have none. A collective."""

    @abstractmethod
    def _make_loss(self, n_outputs):
        """The `Loss`, once classes are known, of a y of so many columns. Raises ValueError if there is none by the parameters."""

    def _fitted_loss(self, loss, rows, has_offset, grown):
        """The loss that `_make_loss` made, with what training rows must tell it. A collective."""
        return loss

    @with_hints
    def fit(
        self, X, y, sample_weight=None, *, offset=None, X_val=None, y_val=None, sample_weight_val=None, offset_val=None
    ):  # fmt: skip
        """Grow trees on training rows, one iteration after another.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Training rows: numbers or booleans, and in categorical and ordinal columns text too (see
            `categorical_features`). NaN, None, NA, null and masked cells are missing values, and infinities are ordinary values.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Targets: classes of any type, or finite numbers. If y has several columns, each tree has a value for each of them in
            its leaves; columns of classes have two classes each then.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows, from 0 on; rows of weight 0 are left out. None means that all weights are 1.
        offset : array-like of shape (n_rows,), (n_rows, n_classes) or (n_rows, n_outputs), optional
            What is known of each row's raw prediction, for example the logarithm of its exposure with ``loss="poisson"``: a raw
            prediction begins with the row's offset, and the constant and the trees are fitted to what is left. The second shape
            is that of more than two classes, the third that of several outputs. Predictions count an offset only if they are
            given one. Other libraries call it `init_score`, base margin or baseline. None means that there is none.
        X_val, y_val : {array-like, sparse matrix} of shape (n_val, n_features) and array-like of the shape of y, optional
            Validation rows and their targets, which are scored for early stopping. None means that with early stopping
            some rows of X are held out instead: see `validation_fraction`.
        sample_weight_val : array-like of shape (n_val,), optional
            Weights of the validation rows. None means that all weights are 1.
        offset_val : array-like of the shape of `offset`, with n_val rows, optional
            Offsets of the validation rows, which must be given if `offset` and `X_val` are.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data are not as described; the estimator is then left as it was.
        """
        partition = X, y, sample_weight, None, offset
        to_score = ToScore(X_val, y_val, sample_weight_val, offset_val)
        return self._fit_partitions(lambda rank: [Partition(rank, *partition)], to_score)

    def _fit_partitions(self, partitions_of, to_score=None):
        """Grow the trees from the partitions of this rank, given a function that returns them for the rank's number.

        All ranks of the estimator's communicator do this together. to_score: what a `ToScore` is made of, in its order
        """
        to_score = ToScore(*(to_score or ()))
        with (
            fitting(self) as model,
            self._communicator().together() as ranks,
            callback_management_context(model),
        ):
            model._validate_params()
            model._check_min_hessian()
            partitions = sorted(partitions_of(ranks.rank), key=lambda partition: partition.place)
            tasks = FitTasks(model, "round", partitions[0], ranks)
            places, device = places_of_fit(model, partitions, ranks, to_score)
            grown = getattr(model, "forest_", None) if model.warm_start else None
            training, held_out, kept = model._learn(partitions, to_score, ranks, places, grown)
            seeds = tasks.agree(draw_seeds(model, grown))
            n_trees = model.n_trees_per_iteration_
            n_before = 0 if grown is None else grown.n_trees // n_trees
            growth = model._growth = BoostedGrowth(model, tasks, ranks, n_before, model.max_iter_, n_trees, to_score)
            growth.begin()
            growth.agree_on_seeds(seeds)
            seeds = Seeds.of_bags(growth.seeds)
            model._row_seed = seeds[0].rows
            engine, searched, raw = engine_on(device, count_threads(model.n_jobs), ranks), None, None
            divisions = divisions_of(model, training, held_out, seeds, ranks)
            chosen = None
            if model.leaf_model == "auto":
                chosen = choose_leaf_model(model, training, divisions, held_out, seeds, engine, ranks)
            if is_searched(model, divisions, held_out):
                n_iterations, searched, raw = chosen or search_iterations(model, training, divisions, seeds, engine, ranks)
                bags = [Bag(own, training, None) for own in seeds]
            else:
                n_iterations = model.max_iter_
                bags = [Bag(own, *division[:2]) for own, (division,) in zip(seeds, divisions, strict=True)]
            keep_out_of_fold(model, raw, kept)
            growth.n_wanted = n_iterations * n_trees
            model._grow(bags, grown, growth, engine, ranks, searched)
            del model._growth
        return self

    def _check_min_hessian(self):
        """Warn if `min_sum_hessian_in_leaf` is given by its earlier name; raise ValueError if it is given by both."""
        if self.min_hessian == "deprecated":
            return
        if self.min_sum_hessian_in_leaf != self._defaults["min_sum_hessian_in_leaf"]:
            raise ValueError(
                f"min_hessian={self.min_hessian} and min_sum_hessian_in_leaf={self.min_sum_hessian_in_leaf}; allowed is "
                "one of them, which are two names of one parameter"
            )
        warn(
            f"min_hessian={self.min_hessian} is deprecated: it is the earlier name of min_sum_hessian_in_leaf, and goes "
            "away with the next version",
            FutureWarning,
        )

    def _communicator(self):
        """The `Communicator` of the ranks that fit together."""
        return communicator()

    def _learn(self, partitions, to_score, ranks, places, grown):
        """Set what is known of the data before trees are grown at some places, after those there are. A collective.

        Returns
        -------
        training : Sample
            All rows that may be trained on.
        held_out : Sample or None
            Those that `fit` was given to be scored.
        kept : ndarray of bool
            Which of the rows that `fit` was given here are training rows.
        """
        partitions, to_score = [partition.read() for partition in partitions], ToScore(*map(on_host, to_score))
        has_offset = any(partition.offset is not None for partition in partitions)
        check_given(self, to_score, has_offset)
        check_columns_of_y(self, partitions)
        names = "classes_", "_loss", "_constraints", "_has_offset", "n_trees_per_iteration_"
        known = tuple(getattr(self, name, None) for name in names)
        rows = training_rows(self, partitions, ranks, grown)
        loss = self._make_loss(1 if rows.y.ndim == 1 else rows.y.shape[1])
        self._loss = self._fitted_loss(loss, rows, has_offset, grown)
        told = zip(partitions, rows.lengths, strict=True)
        queries = self._queries([ToldQueries(own.place, own.groups, own.group_sizes, n) for own, n in told], ranks)
        if self._loss.of_groups and queries is None:
            raise ValueError(
                f"loss={self.loss!r} is of groups of rows; allowed are losses of rows, or HistGradientBoostingRanker, whose fit "
                "is told the groups"
            )
        self.n_trees_per_iteration_ = self.n_bags * self._loss.n_trees_per_iteration
        n_rows, is_given = ranks.total(sum(rows.lengths)), ranks.any(to_score[0] is not None)
        has_scores = not isinstance(self.scoring, str) or self.scoring != "loss" or self._loss.has_values
        choose_values(self, n_rows, is_given, has_scores=has_scores)
        check_support(Fit(self, self._loss.n_targets), places)
        self.leaf_model_ = self.leaf_model
        vars(self).pop("leaf_model_scores_", None)
        self._check_rows(rows)
        self._constraints = constraints_of(self, self.n_features_in_)
        self._has_offset = has_offset
        if grown is not None:
            self._check_grown(grown, *known)
        offset = check_offset([partition.offset for partition in partitions], rows.lengths, self._loss.n_sums)
        weights = (booster_weight(weight, ranks=ranks) for weight in (rows.weight, rows.sample_weight))
        training = Sample(
            rows.X, rows.y.astype(np.float64), *weights, None if offset is None else offset[rows.kept],
            None if queries is None else queries[rows.kept], rows.share if rows.is_divided else None,
        )  # fmt: skip
        check_linear_leaves(self, training, grown)
        check_oblique(self, training, grown)
        return training, scored_rows(self, to_score, ranks), rows.kept

    def _check_rows(self, rows):
        """Raise ValueError if targets of the rows of positive weight are not allowed. A collective."""
        check_targets(self, rows.y.astype(np.float64), rows.ranks)

    def _check_grown(self, grown, classes, loss, constraints, has_offset, n_trees):
        """Raise ValueError unless the data and parameters go on with what has been grown."""
        if is_classifier(self):
            self._target.check_same_classes(self, classes)
        if self._loss != loss:
            raise ValueError(f"loss={self.loss!r} means {self._loss}, but warm_start=True goes on with trees grown by {loss}")
        if not np.array_equal(self._constraints.directions, constraints.directions):
            raise ValueError(
                f"monotonic_cst={self.monotonic_cst!r}, but warm_start=True goes on with trees grown under the constraints "
                f"{None if constraints.directions is None else constraints.directions.tolist()}"
            )
        if has_offset not in (None, self._has_offset):  # models of other libraries and of earlier versions do not say
            raise ValueError(
                f"offset is {'' if self._has_offset else 'not '}given, but warm_start=True goes on with trees grown "
                f"with{'' if has_offset else 'out'} one"
            )
        if n_trees != self.n_trees_per_iteration_:
            raise ValueError(
                f"n_bags={self.n_bags}, but warm_start=True goes on with trees of {n_trees // loss.n_trees_per_iteration} bags; "
                "allowed is warm_start=False"
            )
        if self.max_iter_ < grown.n_trees // loss.n_trees_per_iteration:
            raise ValueError(
                f"max_iter={self.max_iter_} must be larger than or equal to "
                f"n_iter_={grown.n_trees // loss.n_trees_per_iteration} when warm_start==True, which keeps the trees there are"
            )

    def _grow(self, bags, grown, growth, engine, ranks, searched):
        """Grow the iterations that lack, and set `forest_` and all that tells of the fit.

        searched : the `Monitor` of a search that has found the number of iterations, or None
        """
        n_trees = self.n_trees_per_iteration_
        if grown is not None:  # by one bag
            (bag,) = bags
            # float32 values and thresholds are exact in float64, not the other way round.
            X = bag.training.X.astype(np.result_type(bag.training.X.dtype, grown.threshold), copy=False)
            bags = [bag._replace(training=bag.training._replace(X=X))]
        bags = begun(self, bags, grown, ranks)
        training, held_out, dtype = bags[0].training, bags[0].held_out, bags[0].training.X.dtype
        n_threads = count_threads(self.n_jobs)
        forest, monitor, session = grown, None, None
        if self.do_early_stopping_ and searched is None:
            monitor = monitor_of_bags(self, bags, n_threads, ranks)
            monitor.begin(grown, self._loss.n_sums)
        told = monitor or searched
        scored = (None, None) if told is None else (told.training, told.held_out)
        keeps_first = self.use_best_model and monitor is not None

        def fitted(forest):
            """The attributes that are set when a forest has been grown."""
            if forest is None:
                return None
            scores = [np.array([] if rows is None else rows.scores) for rows in scored]
            n_best, score = (None, None) if told is None else told.best()
            return {
                "forest_": model_of(forest, bags, n_best if keeps_first else forest.n_trees // n_trees),
                "fit_report_": replace(
                    FitReport(engine.name) if session is None else session.report(), n_trees=forest.n_trees - growth.n_before
                ),
                "train_score_": scores[0],
                "validation_score_": scores[1],
                "score_history_": {} if told is None else told.history(),
                "best_iteration_": n_best,
                "best_score_": score,
            }

        growth.tell_of_begin(fitted, grown)
        if growth.n_trees < growth.n_wanted:
            problem = problem_of_bags(self, bags, ranks, engine)
            warn_of_equal_bags(problem, bags, ranks)
            settings, n_wanted = self._tree_settings(), growth.n_wanted // n_trees
            resumed, has_ended = growth.start(problem, bags, monitor, engine, **settings)
            forest = grown if resumed is None else resumed
            problem = going_on(problem, bags, forest, n_threads)
            forest = forest if resumed is None else with_shares(with_sets(forest, problem), problem)
            if not has_ended:
                on_iteration = (lambda n: tell_iteration(self, n, n_wanted, monitor)) if self.verbose else None
                with opened(engine, problem, bags, **settings) as session:
                    first = 0 if forest is None else forest.n_trees // n_trees
                    forest = grow(
                        session, problem, dtype, range(first, n_wanted), forest, monitor, on_iteration,
                        growth if growth.is_watched else None, n_threads, **settings,
                    )  # fmt: skip
                    self._check_raw(forest, session.raw_sums)
            if self.verbose and monitor is not None:
                tell_stop(self, monitor, "these are kept" if self.use_best_model else "all are kept")
            warn_of_no_split(self, forest, training, ranks)
            warn_of_no_gain(self, forest, monitor, held_out, ranks)
        vars(self).update(fitted(forest))
        growth.tell_of_end(forest)

    def _tree_settings(self):
        """What a `Forest` of the trees knows beside their problem."""
        n_categories = self._features.n_categories
        return {"n_categories": n_categories, "criterion": "squared_error", "splitter": splitter_of(self)}

    def _min_hessian(self):
        """`min_sum_hessian_in_leaf`, which may be given by its earlier name."""
        return self.min_sum_hessian_in_leaf if self.min_hessian == "deprecated" else self.min_hessian

    def _baseline(self, training, grown, ranks):
        """What raw predictions begin with. A collective."""
        if grown is not None:
            return grown.objective.baseline
        loss = self._loss.bound(training.queries)
        return loss.baseline(training.y, training.weight, ranks, training.offset, training.share)

    def _make_problem(self, training, baseline, seeds, ranks, engine, columns=None):
        """The `BoostingProblem` that an engine is given in a fit without trees yet. columns : the coded ones of X, if known"""
        X, y, weight, bin_weight, offset, queries, share = training
        n_rows, asked = ranks.total(len(y)), self.max_features_
        bin_weight = None if bin_weight is None else integer_weights(bin_weight, ranks).integers
        statistics, constraints = statistics_of(self, training, baseline, seeds.rows, ranks), self._constraints
        columns = columns or self._coded([X], self._features.kinds, self._features.n_categories, bin_weight, ranks, engine)
        if statistics is not None:
            none = np.zeros(statistics.n_columns, np.int64)
            columns = [*columns, *self._coded([statistics.rows], none, none, bin_weight, ranks, engine)]
            constraints = statistics.beside(constraints)
        rules = BoostingRules(
            learning_rate=self.learning_rate_,
            max_leaf_nodes=self.max_leaf_nodes and min(self.max_leaf_nodes, max(2, n_rows)),
            max_depth=self.max_depth and min(self.max_depth, n_rows),
            min_samples_leaf=min(self.min_samples_leaf, n_rows + 1),
            min_hessian=self._min_hessian(),
            l2=self.l2_regularization_,
            max_features=count_features(asked, X.shape[1]) if isinstance(asked, Integral) else float(asked),
            max_delta_step=np.inf if self.max_delta_step is None else float(self.max_delta_step),
            colsample_bytree=float(self.colsample_bytree),
            colsample_bylevel=float(self.colsample_bylevel),
            l1=self.l1_regularization,
            path_smooth=float(self.path_smooth),
            min_gain=float(self.min_gain_to_split),
            categorical_smoothing=float(self.categorical_smoothing),
            min_samples_category=min(self.min_samples_category, n_rows + 1),
            is_random=self.splitter == "random",
            leaf_features=self.max_leaf_features if self.leaf_model_ == "linear" else 0,
            linear_l2=float(self.linear_l2),
            max_codes=self.max_bins,
        )
        splitter = splitter_of(self)
        return BoostingProblem(
            columns, self._loss.targets(y), weight, self._loss.bound(queries), baseline, rules, seeds.trees, n_rows,
            constraints=constraints,
            can_split=can_split(columns, ranks) if splitter is not None or rules.draw_columns(len(columns)) else None,
            raw=None if offset is None else np.array(offset.T, order="C"), share=share, statistics=statistics,
            forced=forced_splits_of(self, self.n_features_in_),
            X=None if self.leaf_model_ == "constant" and splitter is None else np.ascontiguousarray(X), splitter=splitter,
            **drawing_of(self, training, n_rows, ranks),
        )  # fmt: skip

    def _coded(self, parts, kinds, n_categories, bin_weight, ranks, engine):
        """The coded columns of training rows. A collective."""
        return coded_columns(
            engine, ranks, parts, self.max_bins, bin_weight, count_threads(self.n_jobs), kinds, n_categories,
            counts_missing=False, max_stored=MAX_STORED,
        )  # fmt: skip

    def _check_raw(self, forest, sums):
        """Raise ValueError if leaves, or what they add up to in training rows, have become infinite."""
        of_rows = [sums.min(), sums.max()] if sums.size else []  # a rank may have no rows
        if not np.isfinite([forest.leaf_value.min(), forest.leaf_value.max(), *of_rows]).all():
            raise ValueError(
                f"learning_rate={self.learning_rate_} makes raw predictions leave the range of float64 within "
                f"{forest.n_trees // self.n_trees_per_iteration_} iterations; allowed are lower rates"
            )

    @property
    def estimators_(self):
        """The trees one by one, as in scikit-learn's `GradientBoostingRegressor`, for drawings and for a look at their nodes.

        ndarray of shape (n_iterations, n_trees_per_iteration), dtype object, of fitted `DecisionTreeRegressor`, which are made
        when they are asked for and share the model's arrays. Each predicts what it adds to the raw predictions; with the
        baseline, these add up to `decision_function`, or, of a regressor whose loss has no link, to `predict`. Values of nodes
        that are no leaves are what these would add as leaves. There are no impurities.
        """
        check_is_fitted(self)
        return trees_of(self)

    @property
    def feature_importances_(self):
        """Gain-based importances of the features: ndarray of shape (n_features,), dtype float64.

        The importance of a feature is its share in the gain of all splits of all trees. The gain of a split is how much it
        decreases the loss, to second order. All importances are 0 if no tree has a split.
        """
        check_is_fitted(self)
        return gain_shares(self.forest_)

    def apply(self, X, *, n_iter=None):
        """Return the number of the leaf that each row reaches in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows with the columns of the training data.
        n_iter : int, optional
            Number of iterations that count, from 1 to `n_iter_`: their trees come first. None means all.

        Returns
        -------
        ndarray of shape (n_rows, n_iterations) or (n_rows, n_iterations, n_trees_per_iteration), dtype int64
            Numbers of nodes in their tree: the root is 0, and all other nodes follow in depth-first preorder. The second shape
            is that of more than two classes, where each iteration has a tree for each class, and of several bags.
        """
        n_iterations = self._count_iterations(n_iter)
        leaves = on_host(self._leaves(X))[:, : n_iterations * self.n_trees_per_iteration_]
        leaves = leaves if self.n_trees_per_iteration_ == 1 else leaves.reshape(len(leaves), -1, self.n_trees_per_iteration_)
        return in_kind(X, np.ascontiguousarray(leaves))

    def shap_values(self, X, background=None, *, n_iter=None, sparse_output=False):
        """Compute Shapley values: how much each feature of a row adds to the raw prediction for the row.

        They are those of `RandomForestClassifier.shap_values`, whose description says what they are, and what a background is.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows whose raw predictions are to be explained.
        background : {array-like, sparse matrix} of shape (n_background, n_features), optional
            At least one row: a feature that is not known has the value that it has in a row of the background, and the mean over
            all these rows is taken. None means that rows go to both sides of a test of such a feature, with the shares that
            these have in the training rows.
        n_iter : int, optional
            Number of iterations that count, from 1 to `n_iter_`: predictions are those of the first iterations. None means all.
        sparse_output : bool, default=False
            Whether `values` and `data` of the result are sparse, of the format of X, if that is CSR or CSC, or else CSR.

        Returns
        -------
        dforest.ShapValues
            An object whose `values` have the shape (n_rows, n_features) or, for more than two classes or several outputs,
            (n_rows, n_features, n_classes) or (n_rows, n_features, n_outputs). With ``sparse_output=True`` they are a matrix of
            the first shape, or a list of one for each class or output.

        Raises
        ------
        ValueError
            If X, the background or `n_iter` are not as described.
        """
        return shap_values(self._after(n_iter), X, background, sparse_output=sparse_output)

    def shap_interaction_values(self, X, background=None, *, n_iter=None):
        """Compute Shapley interaction values of raw predictions: main effects of features, and interactions of pairs of features.

        The description of `RandomForestClassifier.shap_interaction_values` says what these values are, and how much memory they
        need.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Rows whose raw predictions are to be explained.
        background : {array-like, sparse matrix} of shape (n_background, n_features), optional
            Rows that give values to the features that are not known; at least one row is needed, and the mean over all these
            rows is taken. None means that rows go to both sides of a test of a feature that is not known, with the shares that
            both sides have in the training rows.
        n_iter : int, optional
            Number of iterations that count, from 1 to `n_iter_`: predictions are those of the first iterations. None means all.

        Returns
        -------
        dforest.ShapInteractionValues
            An object whose `values` have the shape (n_rows, n_features, n_features) or, for more than two classes or several
            outputs, (n_rows, n_features, n_features, n_classes) or (n_rows, n_features, n_features, n_outputs).

        Raises
        ------
        ValueError
            If X, the background or `n_iter` are not as described.
        """
        return shap_interaction_values(self._after(n_iter), X, background)

    def _after(self, n_iter):
        """An estimator of the first iterations, which are this one's; None: all of them. Raises as `_count_iterations` does."""
        check_is_fitted(self)
        model = copy(self)
        model.forest_ = first_trees(self.forest_, self._count_iterations(n_iter) * self.n_trees_per_iteration_)
        return model

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
