"""What causal forests tell of many rows together: average effects, what effects depend on, and whether they differ at all."""

from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dforest.core.sparse_rows import SparseRows
from dforest.estimators.causal import scores
from dforest.estimators.causal.given import GivenRows
from dforest.estimators.causal.nuisances import expected
from dforest.estimators.data.agreement import Partition
from dforest.estimators.data.given import check_number, given_numbers, given_values
from dforest.estimators.randomness import check_random_state
from dforest.spmd.communicator import ALONE

TARGETS = "all", "treated", "control", "overlap"
LEAST_SHARE = 0.01  # expected shares of an arm count as this in scores, if they are less
N_HALVES = 200  # half-samples of a standard error


class Ranking(NamedTuple):
    """How well priorities rank rows by their effects.

    Attributes
    ----------
    estimate : Estimate
        The rank-weighted average effect: 0 if priorities tell nothing of effects.
    share, gain : ndarray of shape (n_rows,)
        The curve: the shares of rows of highest priority, and by how much their mean effect is above that of all.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import CausalForest
    >>> X, treatment = np.arange(200.0)[:, None] / 200, np.arange(200) % 2
    >>> forest = CausalForest(50, random_state=0).fit(X, X[:, 0] * treatment, treatment=treatment)
    >>> ranking = forest.rank_average_effect(X[:, 0])
    >>> bool(ranking.estimate.estimate > 0)
    True
    """

    estimate: scores.Estimate
    share: np.ndarray
    gain: np.ndarray


class _Rows(NamedTuple):
    """What is known of the training rows of positive weight, for one effect; arrays of shape (n_rows,)."""

    tau: np.ndarray
    y: np.ndarray
    w: np.ndarray
    y_hat: np.ndarray
    w_hat: np.ndarray
    weight: np.ndarray | None
    clusters: np.ndarray | None

    def some(self, chosen):
        return _Rows(*(None if own is None else own[chosen] for own in self))

    @property
    def is_binary(self):
        return bool(np.isin(self.w, (0.0, 1.0)).all())


def _numbers(name, values):
    """An argument as an array of float64. Raises ValueError if it has something else than numbers."""
    values = given_numbers(name, values)
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biuf":
        raise ValueError(f"{name} has values of the type {getattr(values, 'dtype', type(values).__name__)}; allowed are numbers")
    return values.astype(np.float64)


class AverageEffects:
    """What a fitted `CausalForest` tells of its training rows.

    Everywhere, `outcome` is the number of a column of y, and `treatment` that of a column of treatments, or the label of an arm.
    """

    def _effect(self, outcome, treatment):
        """(the number of an outcome, that of a treatment). Raises ValueError if there are no such."""
        check_is_fitted(self)
        n_outcomes, n_treatments, _ = self._moments
        outcome = check_number("outcome", outcome, Integral, f"0 to {n_outcomes - 1}", lambda k: 0 <= k < n_outcomes)
        if treatment is None and n_treatments == 1:
            return outcome, 0
        if self.arms_ is not None:
            labels = self.arms_[1:].tolist()
            if not any(type(treatment) is type(label) and treatment == label for label in labels):
                raise ValueError(f"treatment={treatment!r}; allowed are the arms {', '.join(map(repr, labels))}")
            return outcome, labels.index(treatment)
        allowed = f"0 to {n_treatments - 1}"
        return outcome, check_number("treatment", treatment, Integral, allowed, lambda k: 0 <= k < n_treatments)

    def _kept(self):
        """The numbers of the training rows of positive weight among those that `fit` was given."""
        n_given, numbers = self._numbers_of_kept_rows()
        return np.arange(n_given) if numbers is None else numbers

    def _shares(self):
        """The expected treatments of kept rows, those of 0 and 1 as shares that are not beyond `LEAST_SHARE`.

        Shares of arms and of the control sum to 1.
        """
        kept = self._kept()
        w, w_hat = self._observed["w"][kept], self.w_hat_[kept]
        if self.arms_ is not None and w.shape[1] > 1:
            share = np.maximum(np.column_stack([1.0 - w_hat.sum(axis=1), w_hat]), LEAST_SHARE)
            return share[:, 1:] / share.sum(axis=1, keepdims=True)
        is_share = np.isin(w, (0.0, 1.0)).all(axis=0)
        return np.where(is_share, np.clip(w_hat, LEAST_SHARE, 1.0 - LEAST_SHARE), w_hat)

    def _of_kept(self, name):
        """What is known of kept rows: see `_observed`; None: nothing."""
        told = self._observed[name]
        return None if told is None else told[self._kept()]

    def _rows(self, outcome, treatment):
        """The `_Rows` of an effect, given numbers. Raises ValueError if a row has no effect."""
        self._training_rows()
        kept = self._kept()
        tau = self._effects_out_of_bag()[kept, treatment, outcome]
        lost = int(np.isnan(tau).sum())
        if lost:
            raise ValueError(
                f"{lost} of {len(kept)} rows have no effect out of bag, as too few trees leave them out, or treatments do not "
                "vary there; averages need effects of all rows: more trees leave out more rows"
            )
        return _Rows(
            tau, self._of_kept("y")[:, outcome], self._of_kept("w")[:, treatment], self.y_hat_[kept, outcome],
            self._shares()[:, treatment], self._of_kept("weight"), self._of_kept("groups"),
        )  # fmt: skip

    def _subset(self, subset):
        """Which of the rows of positive weight are chosen: ndarray of bool. Raises ValueError if none is."""
        kept, n_given = self._kept(), len(self._observed["y"])
        if subset is None:
            return np.ones(len(kept), bool)
        chosen = np.asarray(given_values("subset", subset))
        if chosen.dtype.kind == "b" and chosen.shape == (n_given,):
            found = chosen[kept]
        elif chosen.dtype.kind in "iu" and chosen.ndim == 1 and ((chosen >= 0) & (chosen < n_given)).all():
            if len(np.unique(chosen)) < len(chosen):  # such as a mask of 0 and 1
                raise ValueError(f"subset={subset!r:.100} has a number twice; allowed are a mask of bools, or different numbers")
            found = np.isin(kept, chosen)
        else:
            raise ValueError(
                f"subset={subset!r:.100}; allowed are a mask of the {n_given} training rows, or numbers of rows from 0 to "
                f"{n_given - 1}"
            )
        if not found.any():
            raise ValueError(f"subset={subset!r:.100} has no row of positive weight; allowed are subsets that have some")
        return found

    def _encoded(self):
        """(X of the kept rows, parameters with which forests take it): columns and labels are numbers."""
        X = self._training_rows().X
        names = getattr(self, "feature_names_in_", None)
        place = {} if names is None else {name: j for j, name in enumerate(names.tolist())}
        weights, always = self.feature_weights, self.always_split_features
        if isinstance(weights, dict):
            weights = {place.get(key, key): value for key, value in weights.items()}
        if always is not None:
            always = [place.get(one, one) for one in np.asarray(always).tolist()]
        return X.matrix() if isinstance(X, SparseRows) else X, {
            "categorical_features": np.flatnonzero(self.is_categorical_).tolist() or None, "ordinal_features": None,
            "feature_weights": weights, "always_split_features": always,
        }  # fmt: skip

    def _model_of_kept(self, name, target):
        """What a forest expects of a number of each kept row, out of bag."""
        X, encoded = self._encoded()
        model = self._nuisance_forest().set_params(**encoded)
        told = self._of_kept("weight"), self._of_kept("groups")
        rows = GivenRows(self, [Partition(0, X, target)], ALONE)  # every rank has all rows
        return expected(name, model, rows, target[:, None], *told, self.cv, int(self.forest_.seed % 2**31))[:, 0]

    def _debiasing(self, rows):
        """What a residual counts in a score; None: as `scores.doubly_robust` says for treatments of 0 and 1."""
        if self._moments.is_instrumental:
            return self._derived("compliance", self._compliance)
        if rows.is_binary:
            return None

        def make():
            variance = self._model_of_kept("treatment_model", np.square(rows.w - rows.w_hat))
            return (rows.w - rows.w_hat) / variance

        return self._derived("variance of treatment", make)

    def _compliance(self):
        """The debiasing weights of instruments of 0 and 1, by their effects on the treatment."""
        z, z_hat = self._of_kept("z")[:, 0], np.clip(self.z_hat_[self._kept(), 0], LEAST_SHARE, 1.0 - LEAST_SHARE)
        if not np.isin(z, (0.0, 1.0)).all():
            raise ValueError("scores of an instrumental forest need an instrument of 0 and 1; this one has other numbers")
        X, encoded = self._encoded()
        given = {**self.get_params(deep=False), **getattr(self, "best_params_", {}), **encoded}
        first_stage = type(self)(**{**given, "random_state": int(self.forest_.seed % 2**31), "verbose": 0, "warm_start": False})
        first_stage.set_params(n_estimators=self.forest_.n_trees, keep_training_data=True)
        first_stage.fit(
            X, self._of_kept("w")[:, 0], treatment=z, sample_weight=self._of_kept("weight"), groups=self._of_kept("groups"),
            y_hat=self.w_hat_[self._kept(), 0], w_hat=z_hat,
        )
        return (z - z_hat) / (z_hat * (1.0 - z_hat)) / first_stage.predict()

    def doubly_robust_scores(self):
        """Return the doubly robust score of the effect for each training row.

        A score is a noisy estimate of the row's effect, with little bias even if the forest has some: the effect out of bag, and
        the row's residual, weighted by how unexpected its treatment is. Means of scores over rows, and regressions on them,
        estimate those of effects; rules for whom to treat are learned from them.

        Returns
        -------
        ndarray of the shape that `predict` returns, dtype float64
            NaN for rows of weight 0.

        Raises
        ------
        ValueError
            If the training rows were not kept, there are several columns of treatments, or an instrument that is not 0 and 1.

        Notes
        -----
        For a treatment W of 0 and 1, expected outcomes m, expected treatments e, and effects tau, the score is
        tau + (W - e) / (e (1 - e)) (Y - m - (W - e) tau) [1]_. For a dose, the variance of W - e, which a forest expects, takes
        the place of e (1 - e). With an instrument Z of 0 and 1, and z expected of it, it is
        tau + (Z - z) / (z (1 - z) d) (Y - m - (W - e) tau), where d is the effect of Z on W, by another causal forest [2]_.
        Expected shares e and z count as .01 if they are less, and as .99 if they are more; those of several arms
        and the control, as .01 at least, all divided by their sum.

        References
        ----------
        .. [1] J. M. Robins, A. Rotnitzky, L. P. Zhao, "Estimation of regression coefficients when some regressors are not always
           observed", Journal of the American Statistical Association 89(427), 1994.
        .. [2] S. Athey, S. Wager, "Policy learning with observational data", Econometrica 89(1), 2021.
        """
        check_is_fitted(self)
        n_outcomes, n_treatments, _ = self._moments
        found = np.stack([self._scores(outcome) for outcome in range(n_outcomes)], axis=2)
        return self._shaped(self._of_given_rows(found))

    def _scores(self, outcome):
        """The scores of kept rows for one outcome: ndarray of shape (n_rows, n_treatments)."""
        n_treatments = self._moments.n_treatments
        if n_treatments == 1:
            rows = self._rows(outcome, 0)
            found = scores.doubly_robust(*rows[:5], self._debiasing(rows))
            return found[:, None]
        if self.arms_ is None or self._moments.is_instrumental:
            raise ValueError(
                f"scores are for one treatment, or for arms without an instrument; this forest has {n_treatments} treatments"
            )
        rows, w, w_hat = self._rows(outcome, 0), self._of_kept("w"), self._shares()
        arm = np.where(w.any(axis=1), w.argmax(axis=1) + 1, 0)
        share = np.column_stack([1.0 - w_hat.sum(axis=1), w_hat])
        return scores.of_arms(self._effects_out_of_bag()[self._kept()][:, :, outcome], rows.y, arm, rows.y_hat, share)

    def average_effect(self, target="all", subset=None, *, outcome=0, treatment=None):
        """Estimate the mean effect over training rows, with a standard error.

        Parameters
        ----------
        target : {"all", "treated", "control", "overlap"}, default="all"
            Whose effects are averaged: those of all rows, by the mean of doubly robust scores; of rows that are treated, or that
            are not, where treatments are 0 and 1; or of all rows, weighted by the variance of their treatment [1]_, which is sure
            even where nearly all rows, or hardly any, are treated.
        subset : array-like of bool of shape (n_rows,), or of int, optional
            A mask of the rows that `fit` was given, or their numbers. None means all.
        outcome : int, default=0
            Number of the outcome.
        treatment : int or label, optional
            Number of the treatment, or the arm. None means the only one.

        Returns
        -------
        dforest.estimators.causal.scores.Estimate
            With the attributes `estimate` and `standard_error`, and a method `interval`.

        Raises
        ------
        ValueError
            If an argument is not as described, or the training rows were not kept.

        References
        ----------
        .. [1] F. Li, K. L. Morgan, A. M. Zaslavsky, "Balancing covariates via propensity score weighting", Journal of the
           American Statistical Association 113(521), 2018.
        """
        if target not in TARGETS:
            raise ValueError(f"target={target!r}; allowed are {', '.join(map(repr, TARGETS))}")
        outcome, treatment = self._effect(outcome, treatment)
        rows, chosen = self._rows(outcome, treatment), self._subset(subset)
        if target == "all":
            return scores.mean(self._scores(outcome)[chosen, treatment], *rows.some(chosen)[5:])
        is_binary, rows = rows.is_binary, rows.some(chosen)
        if target == "overlap":
            if self._moments.is_instrumental:
                raise ValueError('target="overlap" is not defined with an instrument; allowed is "all"')
            rest = (self._of_kept("w") - self._shares())[chosen]  # of all treatments, which may go together
            names = ["constant", *(f"treatment {k}" for k in range(rest.shape[1]))]
            residuals = np.column_stack([np.ones(len(rest)), rest])
            found = scores.regression(names, residuals, rows.y - rows.y_hat, rows.weight, rows.clusters)
            return scores.Estimate(float(found.estimate[1 + treatment]), float(found.standard_error[1 + treatment]))
        if not is_binary or self._moments.n_treatments > 1 or self._moments.is_instrumental:
            raise ValueError(
                f'target={target!r} needs one treatment of 0 and 1, without an instrument; allowed are "all" and "overlap"'
            )
        return scores.mean_of_some(*rows, of_treated=target == "treated")

    def best_linear_projection(self, A=None, subset=None, *, names=None, outcome=0, treatment=None):
        """Estimate the best linear projection of effects on some variables, by a regression of doubly robust scores.

        Parameters
        ----------
        A : array-like of shape (n_rows, n_variables), optional
            Variables of the rows that `fit` was given: finite numbers. None means a constant alone.
        subset, outcome, treatment
            As of `average_effect`.
        names : list of str, optional
            Names of the variables. None means those of a frame's columns, or "A1", "A2", ...

        Returns
        -------
        dforest.estimators.causal.scores.Coefficients
            The constant comes first. Standard errors are robust to heteroscedasticity (HC3), or to clusters (CR3).

        References
        ----------
        V. Semenova, V. Chernozhukov, "Debiased machine learning of conditional average treatment effects and other causal
        functions", Econometrics Journal 24(2), 2021.
        """
        outcome, treatment = self._effect(outcome, treatment)
        rows, chosen, kept = self._rows(outcome, treatment), self._subset(subset), self._kept()
        variables = np.zeros((len(self._observed["y"]), 0))
        if A is not None:
            names = list(map(str, A.columns)) if names is None and hasattr(A, "columns") else names
            variables = _numbers("A", A)
            variables = variables[:, None] if variables.ndim == 1 else variables
            if variables.ndim != 2 or variables.shape[0] != len(self._observed["y"]) or not np.isfinite(variables).all():
                raise ValueError(
                    f"A has the shape {variables.shape}; allowed are finite numbers of {len(self._observed['y'])} training rows"
                )
        names = [f"A{j + 1}" for j in range(variables.shape[1])] if names is None else names
        names = [names] if isinstance(names, str) else list(names)
        if len(names) != variables.shape[1]:
            raise ValueError(f"names has {len(names)} entries; allowed is one for each of {variables.shape[1]} variables")
        X = np.column_stack([np.ones(len(kept)), variables[kept]])[chosen]
        return scores.regression(["constant", *names], X, self._scores(outcome)[chosen, treatment], *rows.some(chosen)[5:])

    def calibration_test(self, *, outcome=0, treatment=None):
        """Test whether the forest's effects are right on average, and whether they differ as the forest says.

        Outcomes are regressed on the mean effect, and on how effects out of bag differ from it, both times the treatment, all
        with what is expected taken off. If the forest is right, both coefficients are 1. If the second one is above 0, effects
        differ between rows, and the forest has found some of that.

        Parameters
        ----------
        outcome, treatment
            As of `average_effect`.

        Returns
        -------
        dforest.estimators.causal.scores.Coefficients
            Of "mean" and "differential"; p-values are one-sided, of a coefficient of 0 or less.

        References
        ----------
        V. Chernozhukov, M. Demirer, E. Duflo, I. Fernández-Val, "Generic machine learning inference on heterogeneous treatment
        effects in randomized experiments", NBER working paper 24678, 2018.
        """
        outcome, treatment = self._effect(outcome, treatment)
        rows = self._rows(outcome, treatment)
        if self._moments.is_instrumental or self._moments.n_treatments > 1:
            raise ValueError("calibration_test is for one treatment, without an instrument; this forest has another kind")
        mean = np.average(rows.tau, weights=rows.weight)
        rest = rows.w - rows.w_hat
        X = np.column_stack([mean * rest, (rows.tau - mean) * rest])
        return scores.regression(["mean", "differential"], X, rows.y - rows.y_hat, rows.weight, rows.clusters, one_sided=True)

    def rank_average_effect(self, priorities, target="AUTOC", subset=None, *, outcome=0, treatment=None, random_state=0):
        """Estimate how well priorities rank rows by their effects: the rank-weighted average effect (RATE).

        It is the area under the curve of by how much the mean effect of the rows of highest priority is above that of all. It is
        0 for priorities that tell nothing. Effects that the forest itself predicts must come from other rows than those that
        they are judged on: fit one forest on half of the rows, and judge what it predicts by another one on the other half.

        Parameters
        ----------
        priorities : array-like of shape (n_rows,)
            Priorities of the rows that `fit` was given: finite numbers, the highest of which come first.
        target : {"AUTOC", "QINI"}, default="AUTOC"
            How shares of the rows count: all alike, which finds few rows of large effects sooner, or in proportion to their size,
            which finds small differences between many rows sooner.
        subset, outcome, treatment
            As of `average_effect`.
        random_state : int, RandomState or Generator, default=0
            Seed of the half-samples that the standard error is estimated from.

        Returns
        -------
        Ranking
            With the attributes `estimate`, an `Estimate`, and `share` and `gain`, the curve.

        References
        ----------
        S. Yadlowsky, S. Fleming, N. Shah, E. Brunskill, S. Wager, "Evaluating treatment prioritization rules via rank-weighted
        average treatment effects", Journal of the American Statistical Association 120(549), 2025.
        """
        if target not in ("AUTOC", "QINI"):
            raise ValueError(f'target={target!r}; allowed are "AUTOC" and "QINI"')
        outcome, treatment = self._effect(outcome, treatment)
        rows, chosen, kept = self._rows(outcome, treatment), self._subset(subset), self._kept()
        found = _numbers("priorities", priorities)
        if found.shape != (len(self._observed["y"]),) or not np.isfinite(found).all():
            raise ValueError(
                f"priorities has the shape {found.shape}; allowed is a finite number for each of {len(self._observed['y'])} rows"
            )
        own, found = self._scores(outcome)[chosen, treatment], found[kept][chosen]
        weight, clusters = rows.some(chosen)[5:]
        random = check_random_state(random_state)
        estimate = scores.rank_average_estimate(own, found, weight, clusters, target, N_HALVES, random)
        return Ranking(estimate, *scores.targeting_curve(own, found, weight))

    def split_frequencies(self, max_depth=4):
        """Return how often nodes are split by each feature, depth by depth.

        Parameters
        ----------
        max_depth : int, default=4
            Number of depths, from 1 on; the root is the first.

        Returns
        -------
        ndarray of shape (max_depth, n_features), dtype int64
            Numbers of splits, over all trees.
        """
        check_is_fitted(self)
        max_depth = check_number("max_depth", max_depth, Integral, "integers from 1 on", lambda n: n >= 1)
        forest = self.forest_
        found = np.zeros((max_depth, forest.n_features), np.int64)
        for t in range(forest.n_trees):
            tree = forest.tree(t)
            depth = np.zeros(len(tree.feature), np.int64)
            for node in np.flatnonzero(tree.feature >= 0).tolist():
                depth[node + 1] = depth[tree.right_child[node]] = depth[node] + 1
            of_splits = (tree.feature >= 0) & (depth < max_depth)
            np.add.at(found, (depth[of_splits], tree.feature[of_splits]), 1)
        return found

    @property
    def feature_importances_(self):
        """How often features split nodes near the roots: ndarray of shape (n_features,), which sums to 1.

        Splits at depth d, from 1 on for the root, count 1 / d**2, as a share of those of their depth, up to a depth of 4.
        """
        counts = self.split_frequencies()
        weight = np.arange(1.0, len(counts) + 1) ** -2
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        total = weight @ share
        return total / total.sum() if total.any() else total
