"""The losses of boosted trees as a fit needs them: which targets they allow, where raw predictions begin, what these say of y.

A raw prediction is a *baseline*, a constant, and the sum of the leaves that a row reaches. A row has one raw prediction, or, of
more than two classes, one for each class: as many as the loss has *sums*. Formulas are those of `rules/losses.h`. Sums over rows
are exact, so they depend on no order and on no number of threads.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dforest.core.boost.distributions import BuiltInDistribution
from dforest.core.boost.intercept import find_intercept, sum_derivatives, sums_of_columns
from dforest.core.boost.inverse_link import class_predictions, predictions
from dforest.core.boost.loss import GroupedRows
from dforest.core.boost.loss import Loss as BoostingLoss
from dforest.core.boost.quantiles import quantile_of_all
from dforest.core.component import LossError
from dforest.core.integer_weights import integer_weights
from dforest.core.predict.out_of_bag import add_up, total_of
from dforest.core.threads import each
from dforest.rules.losses import (
    LOSSES,
    baselines,
    class_derivatives,
    class_values,
    derivatives,
    relative_weights,
    values,
)
from dforest.rules.losses import Loss as LossFacts
from dforest.spmd.communicator import ALONE

MAX_TARGET = 2.0**500  # in magnitude: squares are in range, and sums of very many too
MAX_LOSS = 2.0**1003  # that `add_up` takes
ROWS_AT_A_TIME = 1 << 14


@dataclass(frozen=True)
class Loss:
    """A loss, by value.

    Parameters
    ----------
    name : str
        Of `dforest.rules.losses.LOSSES`.
    parameter : float or tuple of float, default=0.0
        The quantile of "quantile", the c of "fair", the power of "tweedie", the gamma of "focal"; of "huber" the share of rows
        that are no outliers. Several quantiles, which ascend, are *levels*: a row has one target then, and a raw prediction for
        each level.
    n_sums : int, default=1
        How many raw predictions a row has: one for each class of "multinomial", or for each output, each of which has the loss
        by itself.
    one_tree : bool, default=False
        Of several classes, whether an iteration has one tree, whose leaves have a number for each class, and not a tree for each.
        Of several outputs, and of levels, it always has.
    one_vs_rest : bool, default=False
        Whether the loss is that of two classes, each class against all others: a row has one target, its class, and a raw
        prediction for each class.
    """

    name: str
    parameter: float | tuple = 0.0
    n_sums: int = 1
    one_tree: bool = False
    one_vs_rest: bool = False

    distribution, of_groups, has_values = None, False, True

    @classmethod
    def of_classes(cls, name, n_classes, parameter=0.0, multi_class="multinomial"):
        """The loss that classifiers call by a name, with its parameter, or one of the user's own.

        Parameters
        ----------
        multi_class : {"multinomial", "one_tree", "one_vs_rest"}
            What becomes of more than two classes.

        Raises
        ------
        ValueError
            If it is not for so many classes.
        """
        if n_classes == 1:  # the probability of the one class is 1, and there is nothing to decrease
            return cls("multinomial")
        if not isinstance(name, str):
            if n_classes > 2 and multi_class == "one_vs_rest":
                raise ValueError(
                    f'multi_class="one_vs_rest" with loss={name!r}, which is asked about all {n_classes} classes at once; '
                    'allowed are "multinomial", "one_tree", and sklearn.multiclass.OneVsRestClassifier'
                )
            return OwnLoss(name, n_classes, multi_class == "one_tree")
        if n_classes == 2:
            return cls(name, parameter)
        if multi_class == "one_vs_rest":
            return cls(name, parameter, n_classes, one_vs_rest=True)
        if name != "log_loss":
            raise ValueError(
                f'loss="{name}" is for two classes, and y has {n_classes}; allowed are loss="log_loss" and '
                'multi_class="one_vs_rest"'
            )
        return cls("multinomial", 0.0, n_classes, multi_class == "one_tree")

    @classmethod
    def of_labels(cls, name, n_classes, parameter=0.0):
        """The loss that classifiers call by a name, with its parameter, of several outputs, given how many classes each has.

        Raises
        ------
        ValueError
            If the loss is one of the user's own, or if an output has more than two classes.
        """
        instead = "allowed is an estimator for each column, such as sklearn.multioutput.MultiOutputClassifier makes"
        if not isinstance(name, str):
            raise ValueError(f"loss={name!r} is for a y of one column, and y has {len(n_classes)}; {instead}")
        if max(n_classes) > 2:
            output = next(o for o, n in enumerate(n_classes) if n > 2)
            raise ValueError(
                f"column {output} of y has {n_classes[output]} classes, and two are the most in a y of several columns; {instead}"
            )
        return cls(name, parameter).of_outputs(len(n_classes))

    @classmethod
    def of_levels(cls, levels):
        """The pinball loss of several quantiles of one target, which ascend."""
        return cls("quantile", tuple(levels), len(levels))

    @property
    def levels(self):
        """The quantiles of one target that are predicted together: tuple of float; None: there is one prediction of a target."""
        return self.parameter if isinstance(self.parameter, tuple) else None

    @property
    def parameters(self):
        """`parameter`, or that of each level, for each sum: ndarray of shape (n_sums,), dtype float64."""
        return np.array(np.broadcast_to(np.asarray(self.parameter, np.float64), self.n_sums))

    @property
    def n_outputs(self):
        """How many outputs a tree has: the numbers of a leaf."""
        is_of_each = self.one_vs_rest or self.is_joint and not self.one_tree
        return 1 if is_of_each else self.n_sums

    @property
    def is_joint(self):
        """Whether the derivatives by a raw prediction depend on the row's other ones."""
        return self.name == "multinomial"

    @property
    def n_coupled(self):
        """How many raw predictions of a row take their steps together: see `rules/boost.h`."""
        return self.n_sums if self.is_joint else 1

    @property
    def n_directions(self):
        """How many directions of a sketch splits are chosen by; 0: by all outputs of a tree. See `rules/sketch.h`."""
        if not self.is_joint or not self.one_tree:
            return 0
        from dforest.core.boost.gradient_sketch import directions_of  # which models that predict do without

        return directions_of(self.n_sums)

    @property
    def n_targets(self):
        """How many targets a row has."""
        return 1 if self.levels or self.is_joint or self.one_vs_rest else self.n_sums

    @property
    def n_trees_per_iteration(self):
        return self.n_sums // self.n_outputs

    @property
    def is_damped(self):
        """Whether steps of leaves may overshoot, as the loss has a link: see `rules/boost.h`."""
        return self.facts.targets != "finite"

    def bound(self, groups):
        """The loss of rows that are in some groups; None: in none."""
        return self

    def of_some(self, chosen):
        """The loss of some of the rows whose groups it knows, given by an ndarray of bool or of their numbers."""
        return self

    def of_outputs(self, n_outputs):
        """The loss of so many outputs."""
        return replace(self, n_sums=n_outputs)

    def of_output(self, output):
        """The loss of one of the outputs, given its number."""
        return Loss(self.name, self.levels[output] if self.levels else self.parameter)

    def targets(self, y):
        """The target of each sum: ndarray of shape (n_rows,) or (n_rows, n_sums); of levels a view of those of rows."""
        if self.one_vs_rest:
            return (y[:, None] == np.arange(self.n_sums)).astype(np.float64)
        return np.broadcast_to(y[:, None], (len(y), self.n_sums)) if self.levels else y

    def _columns(self, *arrays):
        """Arrays of shape (n_rows,) or (n_rows, n_sums) sum by sum, each contiguous."""
        return [np.ascontiguousarray(array.reshape(len(array), self.n_sums).T) for array in arrays]

    @property
    def facts(self):
        """What is known of the loss: of `LOSSES`."""
        return LOSSES[self.name]

    @property
    def number(self):
        """The loss's number in `rules/losses.h`."""
        return self.facts.number

    def __str__(self):
        told = ", ".join(map(str, self.levels)) if self.levels else self.parameter
        way = " of each class against the rest" * self.one_vs_rest + " in one tree" * self.one_tree
        return self.name + (f" of {told}" if told else "") + way

    def check_targets(self, y, is_trained_on=True):
        """Raise ValueError if there are targets that the loss does not allow.

        Parameters
        ----------
        y : ndarray of shape (n_rows,) or (n_rows, n_outputs), dtype float64
            Finite numbers, or class numbers.
        is_trained_on : bool, default=True
            Whether these are all that trees are grown on. If not, targets from 0 may be 0 everywhere.
        """
        if y.ndim > 1:
            for column in y.T:
                self.check_targets(column, is_trained_on)
            return
        least, greatest = y.min(), y.max()
        targets = LOSSES[self.name].targets
        if targets == "above_0" and least <= 0:
            raise ValueError(
                f"y holds {least}; allowed with loss=\"{self.name}\" are numbers above 0: loss='{self.name}' requires strictly "
                "positive y."
            )
        if targets == "from_0" and (least < 0 or (greatest == 0 and is_trained_on)):
            what = f"y holds {least}" if least < 0 else "y is 0 everywhere"
            raise ValueError(
                f"{what}; allowed with loss=\"{self.name}\" are numbers from 0, and one above it: loss='{self.name}' requires "
                "non-negative y and sum(y) > 0."
            )
        if targets == "to_1" and not (least >= 0 and greatest <= 1):
            raise ValueError(
                f"y holds {least if least < 0 else greatest}; allowed with loss=\"{self.name}\" are numbers from 0 to 1, "
                "the share of what is to be predicted"
            )
        largest = max(least, greatest, key=abs)
        if abs(largest) > MAX_TARGET:
            raise ValueError(f"y holds {largest}; allowed are numbers up to {MAX_TARGET} in magnitude; rescale y")

    def baseline(self, y, weight, ranks, offset=None, share=None):
        """What raw predictions begin with, before the first tree and without the rows' offsets.

        Parameters
        ----------
        y : ndarray of shape (n_rows,) or (n_rows, n_outputs), dtype float64
        weight : ndarray of shape (n_rows,), dtype float64, or None
            Positive; weights beyond 31 bits are rounded. None: all 1.
        ranks : Communicator
            Who has rows.
        offset : ndarray of shape (n_rows, n_sums), dtype float64, optional
            What is known of each row's raw predictions. None means zeros.
        share : RowShare, optional
            Which rows these are, of several ranks.

        Returns
        -------
        tuple of float
            One for each sum: see `dforest.rules.losses.baselines`; where leaves are robust means, it is the median. With offsets
            they lose least beside these.
        """
        if self.levels or self.n_sums > 1 and not self.is_joint:
            own = [None] * self.n_sums if offset is None else np.split(offset, self.n_sums, axis=1)
            y = self._columns(self.targets(y))[0]
            return sum((self.of_output(k).baseline(y[k], weight, ranks, part) for k, part in enumerate(own)), ())
        of_leaves = relative_weights(y, weight) if self.facts.leaf == "relative" else weight
        integers = None if of_leaves is None else integer_weights(of_leaves, ranks).integers
        together = ranks if ranks.size > 1 else None
        has_link = LOSSES[self.name].targets != "finite"
        least = y if offset is None or has_link else y - offset[:, 0]
        if LOSSES[self.name].leaf != "newton":
            return (quantile_of_all(least, self.parameter if self.name == "quantile" else 0.5, integers, ranks),)
        start = baselines(self.name, least, integers, self.n_sums if self.is_joint else 2, together)
        if has_link and (offset is not None or self.name == "focal"):  # no formula says it
            known = np.zeros((len(y), 1)) if offset is None else offset
            if self.name == "focal":  # from the log odds, steps would lead nowhere: a rare class has next to no Hessian there
                start = np.zeros(1)
            start = find_intercept(lambda raw: sum_derivatives(*self._derivatives(y, known + raw), weight, together), start)
        return tuple(start.tolist())

    def derivatives(self, y, baseline, offset=None):
        """See `OwnLoss.derivatives`. For "huber", `parameter` must be delta: see `at_start`."""
        raw = np.tile(np.array(baseline), (len(y), 1)) if offset is None else offset + baseline
        if self.is_joint or self.n_sums == 1:
            return self._derivatives(y, raw)
        y = self._columns(self.targets(y))[0]
        found = [self.of_output(k)._derivatives(y[k], raw[:, [k]]) for k in range(self.n_sums)]
        return tuple(np.column_stack(parts) for parts in zip(*found, strict=True))

    def _derivatives(self, y, raw):
        """The first and second derivatives of rows: two ndarrays of shape (n_rows, n_sums)."""
        if self.is_joint:
            return class_derivatives(raw, y.astype(np.int64))
        return tuple(part[:, None] for part in derivatives(self.name, raw[:, 0].copy(), y, self.parameter))

    def at_start(self, baseline, y, weight, ranks, offset=None):
        """The loss that scores are by, given the training rows. A collective.

        Huber's delta changes from iteration to iteration; scores are by that of the first one.
        """
        if self.name != "huber":
            return self
        weight = None if weight is None else integer_weights(weight, ranks).integers
        raw = baseline[0] if offset is None else offset[:, 0] + baseline[0]
        return replace(self, parameter=quantile_of_all(np.abs(y - raw), self.parameter, weight, ranks))

    def predict(self, raw, n_threads=1):
        """What raw predictions say of y.

        Parameters
        ----------
        raw : ndarray of shape (n_rows, n_sums), dtype float64
            C-contiguous.
        n_threads : int, default=1

        Returns
        -------
        ndarray of shape (n_rows,), dtype float64
            The mean, the median or a quantile, or the probability of class 1; of more than two classes the probabilities of
            all, shape (n_rows, n_classes), and so of one class, where those of each class against the rest are divided by their
            sum; of several outputs, shape (n_rows, n_outputs). Of levels, raw
            predictions are put in ascending order, row by row: the sum of the levels' losses is never greater for that, as it
            is linear in the predictions but for a term that all levels have in common.
        """
        if self.levels:
            return np.sort(raw, axis=1)
        if self.is_joint:
            return class_predictions(raw, n_threads)
        found = [predictions(self.name, column, n_threads=n_threads) for column in self._columns(raw)[0]]
        if self.one_vs_rest:
            return _shares(found)
        return found[0] if self.n_sums == 1 else np.column_stack(found)

    def probabilities(self, raw, n_threads=1):
        """The probabilities of classes, given raw predictions as `predict` takes them: ndarray of shape (n_rows, n_classes)."""
        if self.is_joint or self.one_vs_rest:
            return self.predict(raw, n_threads)
        # Neither is 1 less the other, which would lose digits.
        return np.column_stack([self.predict(-raw, n_threads), self.predict(raw, n_threads)])

    def values(self, raw, y):
        """The loss of each row, given raw predictions as `predict` takes them: ndarray of shape (n_rows,), dtype float64.

        Of several outputs, and of classes against the rest, it is the sum of theirs, and of levels the mean, by what `predict`
        makes of raw predictions. For "huber", `parameter` must be delta: see `at_start`.
        """
        if self.is_joint:
            return class_values(raw, y.astype(np.int64))
        raw, y = self.predict(raw) if self.levels else raw, self.targets(y)
        given, total = self._columns(raw, y), np.zeros(len(raw))
        for parameter, *columns in zip(self.parameters.tolist(), *given, strict=True):
            total += values(self.name, *columns, parameter)
        return total / len(self.levels) if self.levels else total

    def score(self, predicted, y, weight=None):
        """How much less the mean loss of predictions is than that of constants, of levels: float.

        1 is the score of predictions without errors, 0 that of the constants that lose least, and also the score if these lose
        nothing, but predictions do.

        Parameters
        ----------
        predicted : ndarray of shape (n_rows, n_levels), dtype float64
        y : ndarray of shape (n_rows,), dtype float64
        weight : ndarray of shape (n_rows,), dtype float64, or None
        """
        y = np.ascontiguousarray(y, np.float64)
        chosen = slice(None) if weight is None else np.asarray(weight) > 0
        y, weight = y[chosen], None if weight is None else np.asarray(weight, np.float64)[chosen]
        constants = self.baseline(y, weight, ALONE)
        of_constants = MeanLoss(self, constants, y, weight, 1)(np.zeros((len(y), self.n_sums)))
        found = MeanLoss(self, np.zeros(self.n_sums), y, weight, 1)(np.asarray(predicted, np.float64)[chosen])
        if of_constants == 0.0:
            return float(found == 0.0)
        return 1.0 - found / of_constants


def _shares(columns):
    """What the numbers of rows, from 0 to 1, are of their sums: ndarray of shape (n_rows, n_columns), dtype float64.

    Of a row whose numbers are all 0, all shares are equal. Sums are in the order of columns.
    """
    total = sum(columns[1:], columns[0])
    equal = np.full_like(total, 1 / len(columns))
    return np.column_stack([np.divide(column, total, out=equal.copy(), where=total > 0) for column in columns])


@dataclass(frozen=True)
class OwnLoss:
    """A loss of the user's own, by value: what `Loss` is for the others.

    Parameters
    ----------
    loss : dforest.core.boost.loss.Loss
    n_classes : int, default=0
        0: regression.
    one_tree : bool, default=False
        As of `Loss`, where a row has several raw predictions.
    """

    loss: object
    n_classes: int = 0
    one_tree: bool = False

    def __post_init__(self):
        # What becomes of the user's object later makes no difference; nor does it keep what it was configured for.
        object.__setattr__(self, "loss", self.loss.configured(self.n_classes))

    def __reduce__(self):
        return OwnLoss, (self.loss, self.n_classes, self.one_tree)

    @property
    def facts(self):
        """What is known of the loss, as of `LOSSES`. Leaves are "own" if the loss says what values they have."""
        leaf = "own" if self.loss.need_update_leaves_values else "newton"
        return LossFacts(-1, self.loss.constant_hessian, "finite", leaf)

    @property
    def number(self):
        """The loss, in place of a number."""
        return self.loss

    n_targets, n_directions, levels, is_damped, one_vs_rest = 1, 0, None, False, False

    @property
    def n_outputs(self):
        """See `Loss.n_outputs`."""
        return self.n_sums if self.one_tree else 1

    @property
    def n_coupled(self):
        """See `Loss.n_coupled`."""
        return self.n_sums

    @property
    def name(self):
        """That of a built-in loss for ranking; None of others."""
        return getattr(self.loss, "name", None) if self.loss.is_built_in else None

    @property
    def distribution(self):
        """The loss, if raw predictions are parameters of a distribution, or None."""
        return None if self.loss.parameter_names is None else self.loss

    def distribution_of(self, raw):
        """The `PredictedDistribution` of rows, given raw predictions as `predict` takes them."""
        from dforest.estimators.results.predicted import PredictedDistribution  # here, as models for serving start soon

        return PredictedDistribution(self.loss, self.loss.predictions(raw))

    @property
    def of_groups(self):
        """Whether the loss of a row depends on the other rows of its group."""
        return self.loss.of_groups

    def bound(self, groups):
        """See `Loss.bound`. groups : ndarray of shape (n_rows,), dtype int64, or None"""
        if groups is None or not self.of_groups:
            return self
        return replace(self, loss=self.loss.bound(GroupedRows(groups)))

    def of_some(self, chosen):
        """See `Loss.of_some`."""
        groups = self.loss.groups
        return self if groups is None else replace(self, loss=self.loss.bound(groups.of_some(chosen)))

    @property
    def n_sums(self):
        return self.loss.n_outputs

    @property
    def parameters(self):
        """See `Loss.parameters`."""
        return np.zeros(self.n_sums)

    def targets(self, y):
        """See `Loss.targets`."""
        return y

    @property
    def n_trees_per_iteration(self):
        return self.n_sums // self.n_outputs

    def check_targets(self, y, is_trained_on=True):
        """See `Loss.check_targets`."""
        if len(y) and not self.loss.in_y_true_range(y.copy()):  # a rank may have no rows
            raise ValueError(f"y holds targets from {y.min()} to {y.max()}, which loss={self.loss!r} does not allow")
        if is_trained_on and isinstance(self.loss, BuiltInDistribution):
            self.loss.check_greatest(y)

    def baseline(self, y, weight, ranks, offset=None, share=None):
        """See `Loss.baseline`. Raises LossError if the loss says what is no such number.

        A loss of the user's own that finds it by itself gets the rows of all ranks, in the order of one process.
        """
        is_distribution = self.distribution is not None
        finds_none = type(self.loss).fit_intercept_only is BoostingLoss.fit_intercept_only
        if isinstance(self.loss, BuiltInDistribution) and finds_none:
            from dforest.estimators.boosting.starts import search_start, start_of  # here, as models for serving start soon

            start = start_of(self.loss, y, weight, ranks)
            return tuple(search_start(lambda raw: self._sums_and_loss(y, raw, weight, ranks, offset), start).tolist())
        if ranks.size > 1 and finds_none:
            start = np.zeros(self.n_sums)
            found = find_intercept(lambda raw: self._sums_of_ranks(y, raw, weight, ranks, None), start, not is_distribution)
        else:
            loss, all_y, all_weight = self.loss, y.copy(), None if weight is None else weight.copy()
            if ranks.size > 1 and not loss.is_built_in:
                if loss.groups is not None:
                    loss = loss.bound(GroupedRows(share.gathered(ranks, loss.groups.numbers)))
                all_y = share.gathered(ranks, y)
                all_weight = None
                if ranks.any(weight is not None):
                    all_weight = share.gathered(ranks, np.ones(len(y)) if weight is None else weight)
            found = loss.fit_intercept_only(all_y, all_weight)
        try:
            array = np.atleast_1d(np.asarray(found, np.float64))
        except (TypeError, ValueError):
            array = np.array([])
        if array.shape != (self.n_sums,) or not (np.abs(array) <= MAX_TARGET).all():
            allowed = "is a finite number" if self.n_sums == 1 else f"are arrays of {self.n_sums} finite numbers"
            raise LossError(
                f"{type(self.loss).__name__}.fit_intercept_only returned {found!r}; allowed {allowed}, up to 2**500 in magnitude"
            )
        if offset is not None and not self.of_groups:
            array = find_intercept(lambda raw: self._sums_of_ranks(y, raw, weight, ranks, offset), array, not is_distribution)
        return tuple(array.tolist())

    def _sums_and_loss(self, y, baseline, weight, ranks, offset):
        """What `search_start` asks of a built-in distribution. A collective."""
        raw = np.tile(baseline, (len(y), 1)) if offset is None else offset + baseline
        loss = self.loss.values(y, raw) if len(y) else y
        columns = np.column_stack([np.ones(len(y)), loss, *(self.loss.derivatives(y, raw) if len(y) else (raw, raw))])
        return sums_of_columns(columns, weight, ranks if ranks.size > 1 else None)

    def _sums_of_ranks(self, y, baseline, weight, ranks, offset):
        """Sums of derivatives over the rows of all ranks: see `sum_derivatives`. Raises LossError on all of them, or on none."""
        error, found = None, (np.zeros((0, self.n_sums)),) * 2
        try:
            if len(y):
                found = self.derivatives(y, baseline, offset)
        except LossError as of_own:
            error = of_own
        if ranks.any(error is not None):
            raise error or LossError(f"{type(self.loss).__name__}.gradient_hessian broke its contract on another rank")
        return sum_derivatives(*found, weight if len(y) else None, ranks if ranks.size > 1 else None)

    def derivatives(self, y, baseline, offset=None):
        """The first and second derivatives of rows whose raw predictions are the baseline and their offsets; 1 where the Hessian
        is constant.
        """
        raw = np.tile(np.array(baseline), (len(y), 1)) if offset is None else offset + baseline
        gradient, hessian = self.loss.derivatives(y, raw)
        return gradient, np.ones_like(gradient) if hessian is None else hessian

    def leaf_values(self, y, raw, weight, lengths):
        """The values of leaves, given their rows: see `dforest.core.boost.loss.Loss.leaf_values`."""
        return self.loss.leaf_values(y, raw, weight, lengths)

    def at_start(self, baseline, y, weight, ranks, offset=None):
        """See `Loss.at_start`."""
        return self

    def predict(self, raw, n_threads=1):
        """See `Loss.predict`; the user's code is called by one thread. Of distributions, these are the means."""
        if self.distribution is not None:
            return self.distribution_of(raw).mean()
        found = self.loss.predictions(raw)
        return found if self.n_sums > 1 else found[:, 0]

    def probabilities(self, raw, n_threads=1):
        """See `Loss.probabilities`."""
        found = self.predict(raw)
        return found if self.n_sums > 1 else np.column_stack([1.0 - found, found])

    @property
    def has_values(self):
        """Whether the loss says what the loss of a row is, which is tried on a row."""
        try:
            self.loss.values(np.zeros(1), np.zeros((1, self.n_sums)))
        except NotImplementedError:
            return False
        except Exception:
            return True  # the loss takes no such row
        return True

    def values(self, raw, y):
        """See `Loss.values`."""
        return self.loss.values(y, raw)


class MeanLoss:
    """The mean loss of some rows, given the sums of their leaves.

    Parameters
    ----------
    loss : Loss
    baseline : tuple of float
    y : ndarray of shape (n_rows,), dtype float64
    weight : ndarray of shape (n_rows,), dtype float64, or None
    n_threads : int
    ranks : Communicator, default=ALONE
        Who else has rows, whose mean this is too. Making it, and calling it, are collectives.
    """

    def __init__(self, loss, baseline, y, weight, n_threads, ranks=ALONE):
        self.loss, self.baseline, self.y, self.weight, self.n_threads = loss, np.array(baseline), y, weight, n_threads
        self.ranks = ranks
        self._total = Fraction(ranks.total(len(y))) if weight is None else total_of(ranks.sum(add_up(weight)))

    def __call__(self, sums):
        """The mean loss, of rows whose leaves have these sums: ndarray of shape (n_rows, n_sums), of any strides."""
        step = max(1, len(self.y)) if self.loss.of_groups else ROWS_AT_A_TIME
        starts = range(0, len(self.y), step)
        parts = [None] * len(starts)

        def work(i, _):
            rows = slice(starts[i], starts[i] + step)
            found = self.loss.values(np.add(sums[rows], self.baseline, order="C"), self.y[rows])
            if self.weight is not None:
                with np.errstate(under="ignore"):
                    found *= self.weight[rows]
            parts[i] = add_up(found) if (np.abs(found) < MAX_LOSS).all() else None

        each(len(starts), work, self.n_threads)
        if self.ranks.any(any(part is None for part in parts)):
            return math.inf
        return float(total_of(self.ranks.sum(sum(parts, add_up(np.zeros(0))))) / self._total)
