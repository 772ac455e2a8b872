"""What trees are to predict, as a value: which words of a statistic a leaf keeps, and what a prediction is made of.

The words of a statistic (`dforest.core.types`) from the third on belong to the objective and its criteria. A leaf keeps *leaf
words*, integers of 64 bits: draws, weights, and, if the objective `keeps_values`, the bits of two floats, what the leaf predicts
and its impurity. The *leaf tables* of a forest have the numbers of all its leaves by column.

An objective is made once per fit. The `Problem` keeps it, and so does the `Forest` that was grown for it. It owns no arrays.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from dforest.core.class_lists import ClassLists, weight_arrays
from dforest.core.effects import Moments
from dforest.core.predict.packing import MAX_TERMS
from dforest.core.predict.survival import concordance, parts_of_codes
from dforest.core.sampling import checked_integer
from dforest.core.search.criteria import (
    CLASS_CRITERIA,
    CRITERIA,
    EFFECT_CRITERIA,
    ISOLATION_CRITERIA,
    NUMBER_CRITERIA,
    SURVIVAL_CRITERIA,
    UPLIFT_CRITERIA,
)
from dforest.core.search.outputs import MultiOutput

LISTED_ABOVE = 64  # classes of an output, on average: leaves of more keep lists of those that they have

_DRAWS_BITS = 48  # DF_DRAWS_BITS: of the word with the draws of a leaf; above them is the shift of its weights


class Objective(ABC):
    """What trees are to predict; objectives do not change once they are made, and are equal if their parameters are.

    Attributes
    ----------
    n_classes : int
        Number of classes, which `Criterion.configure` is told; 0 where there are none.
    predicts_shares : bool
        Whether a prediction consists of shares of classes, which add up to 1. If not, it is a number of each output.
    predicts_means : bool
        Whether a prediction is the mean over trees of numbers that leaves predict: neither shares of classes nor a sum.
    scales_targets : bool
        Whether each node chooses the scale by which its targets become integers.
    draws_per_leaf : int
        Leaves of trees that nothing limits have about so many draws, by which memory is estimated.
    criteria : dict
        The built-in criteria for this objective: their classes by name.
    n_values : int
        How many numbers a leaf adds to a prediction: those of one output after those of another.
    n_outputs : int
        How many columns y has.
    outputs : tuple of slice
        Which of these values are each output's.
    weight_columns : tuple of slice
        The weights of a leaf come in sets, each of which has the leaf's weight as its sum: the columns of each.
    n_node_values : int
        How many numbers tell of a node what it would predict as a leaf, and its impurity: see `Forest.inner`.
    weight_words : slice
        The words of a statistic that are the weights which a leaf keeps.
    keeps_values : bool
        Whether a leaf keeps what it predicts, and its impurity. If not, both follow from its weights.
    baseline : tuple of float, or None
        What sums of leaves are added to, one number for each of the sums among which trees take turns. None: a prediction is
        the mean over trees.
    keeps_gains : bool
        Whether trees keep, of each node that is no leaf, what it would add as a leaf and what its split gains. If not, values
        and impurities of such nodes follow from the leaves, or the criterion says what is kept.
    line_tables : dict
        What leaves keep of linear functions of a row: the type and the number of columns of each leaf table, by name. Leaves are
        constants if it is empty.
    has_errors_of_rows : bool
        Whether the error of predictions is the mean over rows of errors that these have one by one. If not, see `error_of`.
    """

    predicts_shares: ClassVar[bool]
    scales_targets: ClassVar[bool]
    draws_per_leaf: ClassVar[int]
    keeps_values: ClassVar[bool]
    criteria: ClassVar[dict]
    n_classes: int
    baseline: ClassVar[tuple | None] = None
    keeps_gains: ClassVar[bool] = False
    has_errors_of_rows: ClassVar[bool] = True
    n_outputs = 1
    n_node_values = 2
    line_tables: ClassVar[dict] = {}  # noqa: RUF012

    @property
    def outputs(self):
        return (slice(0, self.n_values),)

    @property
    def weight_columns(self):
        return (slice(0, self.n_weights),)

    @property
    def predicts_means(self):
        return not self.predicts_shares and self.baseline is None

    def of_output(self, output):
        """The objective of one of the outputs alone."""
        return self

    def leaf_class(self, weight):
        """The number of the class that each leaf votes for, given their weights: ndarray of shape (n_leaves,), dtype int32.

        Of classes with equal shares it is the lowest number. None if leaves do not vote for classes.
        """
        return None

    def error_of(self, y, prediction):
        """The error of the predictions of some rows together, where rows have no errors one by one.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            Encoded targets.
        prediction : ndarray of shape (n_rows, n_values), dtype float64

        Returns
        -------
        float
            NaN if these rows can't tell.
        """
        raise TypeError(f"{type(self).__name__} has errors of rows, whose mean is the error")

    @abstractmethod
    def check_encoded(self, y):
        """Raise ValueError if targets, an array of shape (n_rows,) or (n_rows, n_outputs), are not such as `fit` makes of y."""

    def total_weight(self, weight):
        """The weight of leaves or nodes, given their weights by class: ndarray of shape (n,), dtype int64."""
        own = self.weight_columns[0]
        return weight.columns(own).totals() if isinstance(weight, ClassLists) else weight[:, own].sum(axis=1)

    @property
    @abstractmethod
    def n_values(self): ...

    @property
    @abstractmethod
    def weight_words(self): ...

    @property
    def of_same_targets(self):
        """The `Objective` of the same targets that has the criteria of classes, or of numbers."""
        return self

    @abstractmethod
    def check(self):
        """Raise TypeError or ValueError if a parameter is not what it must be: pickles get damaged."""

    @abstractmethod
    def leaf_votes(self, weight, value, voting):
        """What each leaf adds to a prediction.

        Parameters
        ----------
        weight : ndarray of shape (n_leaves, n_weights), dtype int64, or ClassLists
            As `Forest.weights`.
        value : ndarray, dtype float64
            As `Forest.leaf_value`.
        voting : {"soft", "hard"}
            Whether a leaf adds the shares of its classes, or 1 for the class of the largest share.

        Returns
        -------
        ndarray of shape (n_leaves, n_values), dtype float64; or ClassLists, where weights are
        """

    def make_criterion(self, criterion, is_wide=False):
        """A `Criterion` for this objective.

        Parameters
        ----------
        criterion : str or Criterion
            The name of a built-in one, or an object, which is copied.
        is_wide : bool
            Whether sums of weight times target are kept in two words: see `Criterion.configure`.

        Raises
        ------
        ValueError
            If the criterion is not for this objective.
        """
        made = CRITERIA[criterion]() if isinstance(criterion, str) else criterion.__sklearn_clone__()
        return made.configure(self.n_classes, is_wide)

    @property
    def of_tree(self):
        """The objective that a tree alone predicts by."""
        return self

    @property
    def n_weights(self):
        """How many weights a leaf keeps."""
        return self.weight_words.stop - self.weight_words.start

    @property
    def lists_classes(self):
        """Whether leaves keep lists of the classes that they have, as they have few of many (`ClassLists`)."""
        return False

    @property
    def leaf_words(self):
        """Which of a leaf's words are for which leaf table: a dict of slices by the tables' names."""
        end = 1 + self.n_weights
        words = {"leaf_draws": slice(0, 1), "leaf_weight": slice(1, end)}
        if self.keeps_values:
            last = end + self.n_node_values - 1
            words |= {"leaf_value": slice(end, last), "leaf_impurity": slice(last, last + 1)}
            end = last + 1
        for name, (_, n) in self.line_tables.items():
            words[name] = slice(end, end + n)
            end += n
        return words

    @property
    def n_leaf_words(self):
        """How many words a leaf keeps."""
        return max(words.stop for words in self.leaf_words.values())

    def join_leaves(self, draws, weight, value, impurity, shift=(), lines=()):
        """Leaf tables as words.

        Parameters
        ----------
        draws : ndarray of shape (n,), dtype int64
        weight : ndarray of shape (n, n_weights), dtype int64
        value : ndarray of shape (n,) or (n, n_outputs), dtype float64
            Left out unless leaves keep it, as `impurity` is.
        impurity : ndarray of shape (n,) or (n, 1), dtype float64
        shift : ndarray of shape (n,), dtype int32, optional
            Left out if all are 0.
        lines : sequence of ndarray of shape (n, n_columns), optional
            The tables of `line_tables`.

        Returns
        -------
        ndarray of shape (n, n_leaf_words), dtype int64
        """
        kept = ((value, impurity) if self.keeps_values else ()) + tuple(lines)
        floats = [np.reshape(numbers, (len(draws), -1)).view(np.int64) for numbers in kept]
        return np.hstack([_first_words(draws, shift)[:, None], weight, *floats])

    def list_leaves(self, draws, weight, shift=()):
        """Leaf tables as `TreeArrays` has them if the objective `lists_classes`.

        Parameters
        ----------
        draws, shift
            As of `join_leaves`.
        weight : ClassLists

        Returns
        -------
        leaves : ndarray of shape (n, 2), dtype int64
        entries : ndarray of shape (n_entries, 2), dtype int64
        """
        return np.stack([_first_words(draws, shift), weight.lengths], axis=1), np.stack([weight.classes, weight.values], axis=1)

    def leaf_tables(self, words, lists=None):
        """The leaf tables, given the words of each.

        Parameters
        ----------
        words : dict of ndarray of shape (n, n_words), dtype int64
            For each table that `leaf_words` names; with lists, for "leaf_draws" alone.
        lists : ClassLists, optional
            The weights of classes, if the objective `lists_classes`.

        Returns
        -------
        dict
            `leaf_draws`, `leaf_value`, `leaf_impurity` and `leaf_shift` as `Forest` has them, `leaf_weight`, or the arrays
            of the lists, and those of `line_tables`.
        """
        shift, draws = np.zeros(0, np.int32), words["leaf_draws"][:, 0]
        if (draws >> _DRAWS_BITS).any():
            shift, draws = (draws >> _DRAWS_BITS).astype(np.int32), draws & ((1 << _DRAWS_BITS) - 1)
        floats = {name: np.empty(0) for name in ("leaf_value", "leaf_impurity")}
        if self.keeps_values:
            floats = {name: words[name].view(np.float64) for name in floats}
            floats = {name: table[:, 0] if table.shape[1] == 1 else table for name, table in floats.items()}
        weights = {"leaf_weight": words["leaf_weight"]} if lists is None else weight_arrays(lists)
        lines = {name: words[name].view(kind) for name, (kind, _) in self.line_tables.items()}
        return {"leaf_draws": draws, **weights, **floats, "leaf_shift": shift, **lines}


def _first_words(draws, shift):
    """The first words of leaves: their draws, and their shifts above these."""
    return draws if len(shift) == 0 else draws + (shift.astype(np.int64) << _DRAWS_BITS)


@dataclass(frozen=True)
class ClassObjective(Objective):
    """The objective of trees for classification: leaves keep the weight of each class, and predict the shares of the classes.

    It is the attribute `objective` of a `Forest` grown for classification.

    Parameters
    ----------
    n_classes : int
        Number of classes, from 1 on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RandomForestClassifier(5, random_state=0).fit(X, y).forest_.objective
    ClassObjective(n_classes=3)
    """

    n_classes: int

    predicts_shares = True
    scales_targets = False
    draws_per_leaf = 5
    keeps_values = False
    criteria = CLASS_CRITERIA

    def check(self):
        checked_integer("n_classes", self.n_classes, 1, 2**31 - 1)

    @property
    def n_values(self):
        return self.n_classes

    @property
    def weight_words(self):
        return slice(2, 2 + self.n_classes)

    @property
    def lists_classes(self):
        return self.n_weights > LISTED_ABOVE * self.n_outputs

    def _shares(self, weight):
        """The shares of the classes in leaves, as predictions report them. Those that are equal here are equal to every vote.

        Balanced classes weigh the same but for the rounding of their rows' weights, which float64 shares do not show.
        """
        total = self.total_weight(weight)
        return weight.divided(total) if isinstance(weight, ClassLists) else weight / total[:, None]

    def leaf_class(self, weight):
        shares = self._shares(weight)
        return shares.largest() if isinstance(weight, ClassLists) else shares.argmax(axis=1).astype(np.int32)

    def check_encoded(self, y):
        n_classes = [self.of_output(output).n_values for output in range(self.n_outputs)]
        if not (y.dtype.kind == "i" and y.min() >= 0 and (y.max(axis=0) < n_classes).all()):
            raise ValueError(f"training targets go from {y.min()} to {y.max()}; allowed are classes from 0, below {n_classes}")

    def leaf_votes(self, weight, value, voting):
        if voting == "soft":
            return self._shares(weight)
        if isinstance(weight, ClassLists):
            n = len(weight)
            return ClassLists(np.arange(n + 1), self.leaf_class(weight), np.ones(n), self.n_values)
        votes = np.zeros(weight.shape)
        votes[np.arange(len(votes)), self.leaf_class(weight)] = 1.0
        return votes


@dataclass(frozen=True)
class NumberObjective(Objective):
    """The objective of trees for regression: leaves keep their weight, the number that they predict, and their impurity.

    It is the attribute `objective` of a `Forest` grown for regression.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dforest import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RandomForestRegressor(5, random_state=0).fit(X, y).forest_.objective
    NumberObjective()
    """

    predicts_shares = False
    scales_targets = True
    draws_per_leaf = 1
    keeps_values = True
    criteria = NUMBER_CRITERIA
    n_classes = 0
    n_values = 1
    weight_words = slice(1, 2)

    def check(self):
        pass

    def check_encoded(self, y):
        pass

    def leaf_votes(self, weight, value, voting):
        return value[:, None]


class SeveralOutputs:
    """What makes an objective one of several outputs, predicted by the same trees."""

    @property
    def n_node_values(self):
        return self.n_outputs + 1

    def make_criterion(self, criterion, is_wide=False):
        pattern = CRITERIA[criterion]() if isinstance(criterion, str) else criterion
        return MultiOutput.of(pattern, self.class_counts, is_wide)


@dataclass(frozen=True)
class MultiOutputClassObjective(SeveralOutputs, ClassObjective):
    """Leaves keep the weight of each class of each output.

    Parameters
    ----------
    n_classes : tuple of int
        Of each output, of which there are two or more.
    """

    n_classes: tuple

    @property
    def class_counts(self):
        return self.n_classes

    def check(self):
        if type(self.n_classes) is not tuple or len(self.n_classes) < 2:
            raise ValueError(f"n_classes={self.n_classes!r}; allowed are tuples of two integers or more")
        for n in self.n_classes:
            checked_integer("n_classes", n, 1, 2**31 - 1)

    @property
    def n_outputs(self):
        return len(self.n_classes)

    @property
    def n_values(self):
        return sum(self.n_classes)

    @property
    def outputs(self):
        ends = np.cumsum(self.n_classes).tolist()
        return tuple(slice(end - n, end) for end, n in zip(ends, self.n_classes, strict=True))

    def of_output(self, output):
        return ClassObjective(self.n_classes[output])

    @property
    def weight_columns(self):
        return self.outputs

    @property
    def weight_words(self):
        return slice(2, 2 + self.n_values)

    def leaf_votes(self, weight, value, voting):
        if voting == "soft":
            return self._shares(weight)  # of one weight, which is that of each output
        of_outputs = list(enumerate(self.outputs))
        if isinstance(weight, ClassLists):  # as many entries as outputs, whose classes ascend
            own = [columns.start + self.of_output(o).leaf_class(weight.columns(columns)) for o, columns in of_outputs]
            classes = np.stack(own, axis=1).astype(np.int32).ravel()
            return ClassLists(np.arange(len(weight) + 1) * self.n_outputs, classes, np.ones(len(classes)), self.n_values)
        return np.hstack([self.of_output(o).leaf_votes(weight[:, columns], value, voting) for o, columns in of_outputs])


@dataclass(frozen=True)
class MultiOutputNumberObjective(SeveralOutputs, NumberObjective):
    """Leaves keep their total weight, the number that they predict of each output, and the mean impurity.

    Parameters
    ----------
    n_outputs : int
        From 2.
    """

    n_outputs: int

    def check(self):
        checked_integer("n_outputs", self.n_outputs, 2, 2**31 - 1)

    @property
    def class_counts(self):
        return (0,) * self.n_outputs

    @property
    def n_values(self):
        return self.n_outputs

    @property
    def outputs(self):
        return tuple(slice(o, o + 1) for o in range(self.n_outputs))

    def of_output(self, output):
        return NumberObjective()

    def leaf_votes(self, weight, value, voting):
        return value


@dataclass(frozen=True)
class SumObjective(NumberObjective):
    """The objective of boosted trees: leaves keep the number that they add to a sum, the raw prediction.

    It is the attribute `objective` of the `Forest` of boosted trees. Each sum begins with a baseline. For more than two classes
    there is a sum for each class, and trees take turns: tree t adds to sum ``t % n_sums``. Nodes that are not leaves keep the
    gains of their splits, in units of the loss (`keeps_gains`).

    Parameters
    ----------
    baseline : tuple of float
        The number that each sum begins with.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dforest import HistGradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(X, y)
    >>> model.forest_.objective.n_sums, model.forest_.n_trees
    (3, 15)
    """

    baseline: tuple

    keeps_gains = True

    @property
    def n_sums(self):
        return len(self.baseline)

    @property
    def n_trees_per_iteration(self):
        """How many trees add to all sums."""
        return self.n_sums

    @property
    def of_tree(self):
        return SumObjective((0.0,))

    def check(self):
        given = self.baseline
        if type(given) is not tuple or not given or not all(type(number) is float and math.isfinite(number) for number in given):
            raise ValueError(f"baseline={given!r}; allowed are tuples of one finite float or more")


@dataclass(frozen=True)
class LinearSumObjective(SumObjective):
    """The objective of boosted trees with linear leaves: what a leaf adds to a sum depends on some features of the row.

    Parameters
    ----------
    baseline : tuple of float
        The number that each sum begins with.
    n_leaf_features : int
        Most features of a leaf, from 1 on.
    """

    n_leaf_features: int = 1

    @property
    def line_tables(self):
        n = self.n_leaf_features
        return {
            "leaf_bounds": (np.float64, 2), "leaf_features": (np.int64, n), "leaf_centers": (np.float64, n),
            "leaf_slopes": (np.float64, n),
        }  # fmt: skip

    @property
    def of_tree(self):
        return LinearSumObjective((0.0,), self.n_leaf_features)

    def check(self):
        super().check()
        checked_integer("n_leaf_features", self.n_leaf_features, 1, MAX_TERMS)


@dataclass(frozen=True)
class MultiOutputSumObjective(SeveralOutputs, SumObjective):
    """The objective of boosted trees of several outputs: leaves keep a number for each output, which they add to its sum.

    Parameters
    ----------
    baseline : tuple of float
        The number that the sum of each output begins with.
    """

    n_trees_per_iteration = 1

    @property
    def n_outputs(self):
        return self.n_sums

    @property
    def n_values(self):
        return self.n_sums

    @property
    def outputs(self):
        return tuple(slice(o, o + 1) for o in range(self.n_sums))

    @property
    def of_tree(self):
        return MultiOutputSumObjective((0.0,) * self.n_sums)

    def of_output(self, output):
        return SumObjective((self.baseline[output],))

    def leaf_votes(self, weight, value, voting):
        return value

    def check(self):
        super().check()
        if len(self.baseline) < 2:
            raise ValueError(f"baseline={self.baseline!r} of several outputs; allowed are tuples of two floats or more")


@dataclass(frozen=True)
class SurvivalObjective(NumberObjective):
    """The objective of trees for survival times: leaves keep their weight, and the risk that they predict.

    It is the attribute `objective` of a `Forest` grown for survival times. The risk of a leaf is the sum of its cumulative hazard
    over the event times of the training rows. Nodes that are not leaves keep the statistics of their splits (`keeps_gains`).

    Parameters
    ----------
    n_times : int
        How many different event times the training rows have, from 1 on.

    Examples
    --------
    >>> from dforest import SurvivalTree
    >>> tree = SurvivalTree().fit([[0], [1], [2]], [(True, 1.0), (False, 2.0), (True, 4.0)])
    >>> tree.forest_.objective
    SurvivalObjective(n_times=2)
    """

    n_times: int

    draws_per_leaf = 4
    keeps_gains = True
    has_errors_of_rows = False
    criteria = SURVIVAL_CRITERIA

    @property
    def of_same_targets(self):
        return ClassObjective(1)  # times are no sums

    def error_of(self, y, prediction):
        event, time, entry = parts_of_codes(y)
        return 1.0 - concordance(event, time, prediction[:, 0], None, entry)

    def check(self):
        checked_integer("n_times", self.n_times, 1, 2**31 - 1)

    def make_criterion(self, criterion, is_wide=False):
        return super().make_criterion(criterion, is_wide).of_times(self.n_times)


@dataclass(frozen=True)
class PathObjective(NumberObjective):
    """The objective of isolation trees, which have no targets: leaves keep their weight, and the length of the path to them.

    It is the attribute `objective` of a `Forest` grown to find outliers. The length is the depth of the leaf, and as many steps
    more as it takes, on average, to tell its draws apart. What a forest predicts is the mean over trees.

    Examples
    --------
    >>> from dforest import IsolationForest
    >>> forest = IsolationForest(1, random_state=0).fit([[0.0], [1.0], [2.0], [9.0]])
    >>> forest.forest_.objective
    PathObjective()
    """

    scales_targets = False
    draws_per_leaf = 2
    criteria = ISOLATION_CRITERIA

    @property
    def of_same_targets(self):
        return ClassObjective(1)  # as if all rows were of one class


@dataclass(frozen=True)
class EffectObjective(SeveralOutputs, NumberObjective):
    """The objective of causal trees: leaves keep their weight, and the means of moments from which effects follow.

    It is the attribute `objective` of a `Forest` grown for the effects of treatments. `dforest.core.effects` says which moments
    there are.

    Parameters
    ----------
    moments : Moments

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import CausalForest
    >>> X, treatment = np.arange(200.0)[:, None], np.arange(200) % 2
    >>> forest = CausalForest(n_estimators=4, random_state=0).fit(X, X[:, 0] * treatment, treatment=treatment)
    >>> forest.forest_.objective.moments
    Moments(n_outcomes=1, n_treatments=1, is_instrumental=False)
    """

    moments: Moments

    draws_per_leaf = 10
    has_errors_of_rows = False
    criteria = EFFECT_CRITERIA

    @property
    def of_same_targets(self):
        return MultiOutputNumberObjective(self.n_outputs)

    def check(self):
        if type(self.moments) is not Moments:
            raise TypeError(f"moments={self.moments!r}; allowed are Moments")
        self.moments.check()

    @property
    def n_outputs(self):
        return self.moments.n

    @property
    def n_values(self):
        return self.moments.n

    @property
    def outputs(self):
        return tuple(slice(o, o + 1) for o in range(self.moments.n))

    def of_output(self, output):
        return NumberObjective()

    def leaf_votes(self, weight, value, voting):
        return value

    def make_criterion(self, criterion, is_wide=False):
        made = CRITERIA[criterion](*self.moments) if isinstance(criterion, str) else criterion.__sklearn_clone__()
        return made.configure(0, is_wide)


@dataclass(frozen=True)
class UpliftObjective(ClassObjective):
    """The objective of uplift trees: classes are couples of an arm and of one of two outcomes, `2 * arm + outcome`.

    It is the attribute `objective` of a `Forest` grown for uplift.

    Parameters
    ----------
    n_classes : int
        Twice the number of arms, of which the first is the control.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest import UpliftForestClassifier
    >>> X, treatment = np.arange(200.0)[:, None], np.arange(200) % 2
    >>> forest = UpliftForestClassifier(n_estimators=4, random_state=0).fit(X, (X[:, 0] > 99) * treatment, treatment=treatment)
    >>> forest.forest_.objective
    UpliftObjective(n_classes=4)
    """

    criteria = UPLIFT_CRITERIA

    @property
    def of_same_targets(self):
        return ClassObjective(self.n_classes)

    def check(self):
        checked_integer("n_classes", self.n_classes, 4, 2**31 - 2)
        if self.n_classes % 2:
            raise ValueError(f"n_classes={self.n_classes}; allowed are even numbers, two classes for each arm")


OBJECTIVES = (
    ClassObjective, NumberObjective, MultiOutputClassObjective, MultiOutputNumberObjective, SumObjective, LinearSumObjective,
    MultiOutputSumObjective, SurvivalObjective, PathObjective, EffectObjective, UpliftObjective,
)  # fmt: skip


def check_objective(objective):
    """Raise TypeError or ValueError unless this is an objective as a fit makes it."""
    if type(objective) not in OBJECTIVES:
        raise TypeError(f"objective={objective!r}; allowed are {', '.join(kind.__name__ for kind in OBJECTIVES)}")
    names = {field.name for field in fields(objective)}
    if vars(objective).keys() != names:
        raise TypeError(f"a {type(objective).__name__} has the attributes {sorted(vars(objective))}; allowed are {sorted(names)}")
    objective.check()
