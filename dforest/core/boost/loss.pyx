"""Losses of one's own, and what a booster asks them: derivatives of all rows, and values of leaves.

The contract of a loss, and its words, are in loss.pxd. What a loss says is checked by whoever asks it. An answer that breaks the
contract is a `LossError`, which names the class, the method and the first row that is wrong; rows are numbered as they were
given.

A *chunk* is the rows that one thread asks about at a time; a loss in Python is asked about all at once. A loss *of groups* is
asked about the rows of one group after those of another; rows stand *together* if those of each group do.

A `CustomLoss` owns its arrays and its loss; targets and weights are borrowed, and kept alive.
"""
cimport cython
from libc.math cimport NAN, ldexp
from libc.string cimport memcpy

import numpy as np

from dforest.core.loops cimport loops
from dforest.rules.losses cimport DF_LOG_LOSS

from dforest.core.boost.intercept import find_intercept, sum_derivatives
from dforest.core.component import LossError


MOST = ldexp(1.0, 500)

cdef enum:
    GROUP_ROWS = 16                    # chunks of groups are shorter by this factor


class _SaysLeaves:
    """The default of `Loss.need_update_leaves_values`: whether a class has a `leaf_value` of its own."""

    def __get__(self, loss, owner):
        return loss is not None and loss._overrides_leaf_value()


cdef class Loss:
    """Base class of losses of your own for boosted trees.

    Losses that are written in Cython derive from it, and those that are written in Python from `PythonLoss`. The contract of the
    former is the head of ``dforest/core/boost/loss.pxd``.

    Attributes
    ----------
    constant_hessian : bool
        Whether the second derivative ("Hessian") is 1 for all rows.
    need_update_leaves_values : bool
        Whether the method `leaf_value` says what values leaves have: by default, if the class has one.
    of_groups : bool
        Whether the loss of a row depends on the other rows of its group, as in ranking. The loss is then asked about the rows of
        one group at a time. It is for `HistGradientBoostingRanker`, whose `fit` is told the groups.
    n_classes : int
        Number of classes; 0 for regression.
    n_outputs : int
        Number of raw predictions of a row: 1, or `n_classes` if there are more than two classes, or that of `parameter_names`.
    parameter_names : tuple of str or None
        Of a distribution, the names of the parameters that `inverse_link` makes of a row's raw predictions, of which it has as
        many; `loss` is minus the logarithm of the density then. It is for `HistGradientBoostingDistribution`. None: the loss is
        no distribution.
    """

    constant_hessian = False
    parameter_names = None
    need_update_leaves_values = _SaysLeaves()
    of_groups = False
    methods_in_c, in_python = ("gradient_hessian", "loss", "inverse_link", "leaf_value"), "dforest.loss.PythonLoss"

    def __cinit__(self, *args, **kwargs):
        self.n_outputs = 1

    def configure(self, Py_ssize_t n_classes=0):
        """Set what the loss must know of the task; estimators call this method before trees are grown.

        Parameters
        ----------
        n_classes : int
            Number of classes; 0 for regression.

        Raises
        ------
        ValueError
            If the loss is not for such a task.
        """
        self.n_classes = n_classes
        self.n_outputs = n_classes if n_classes > 2 else 1
        if self.n_outputs > 1 and self.need_update_leaves_values:
            raise ValueError(f"loss={self!r} says what values leaves have, which is for one raw prediction a row; y has "
                             f"{n_classes} classes, and allowed are two, or need_update_leaves_values=False")
        if self.parameter_names is not None:
            self.n_outputs = self._n_parameters(n_classes)

    def _n_parameters(self, n_classes):
        """How many parameters the distribution has. Raises ValueError if this is for no such thing."""
        names = self.parameter_names
        if n_classes:
            raise ValueError(f"loss={self!r} is a distribution of numbers; y has {n_classes} classes")
        if not isinstance(names, tuple) or not names or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{type(self).__name__}.parameter_names={names!r}; allowed are tuples of names, and None")
        if len(names) > 1 and self.need_update_leaves_values:
            raise ValueError(f"loss={self!r} says what values leaves have, which is for one raw prediction a row, and it has "
                             f"{len(names)}; allowed is need_update_leaves_values=False")
        return len(names)

    def _overrides_leaf_value(self):
        """Whether the class has a `leaf_value` of its own."""
        return <void*> self.leaf_value != <void*> PLAIN.leaf_value

    def configured(self, n_classes):
        """Return a copy of this loss, with its class, its parameters and its groups, that is configured for `n_classes`: see
        `configure`.
        """
        cdef Loss loss = self.__sklearn_clone__()
        loss.groups = self.groups
        loss.configure(n_classes)
        if loss.n_classes != n_classes:
            raise LossError(f"{type(self).__name__}.configure must call the method of its base class")
        return loss

    def bound(self, groups):
        """Return a copy of this loss that is asked about rows of some `GroupedRows`; None: about rows that are one group."""
        cdef Loss loss = self.configured(self.n_classes)
        loss.groups = groups
        return loss

    def in_y_true_range(self, y_true):
        """Return whether all targets are allowed: bool, or raise ValueError, which says more. By default, all finite numbers are.

        Parameters
        ----------
        y_true : ndarray of shape (n_rows,), dtype float64
            Targets; for classification the numbers of the classes.
        """
        return True

    def fit_intercept_only(self, y_true, sample_weight=None):
        """Return the constants that raw predictions begin with: those of least loss.

        By default they are searched by Newton's method, which starts at 0 and halves a step until the sum of gradients
        becomes smaller.

        Parameters
        ----------
        y_true : ndarray of shape (n_rows,), dtype float64
            Targets; for classification the numbers of the classes.
        sample_weight : ndarray of shape (n_rows,), dtype float64, optional
            Weights of the rows, all above 0. None means that all are 1.

        Returns
        -------
        float, or ndarray of shape (n_outputs,)
            The constant, or one for each of several raw predictions.
        """
        return find_intercept(lambda raw: self._sums_of_derivatives(y_true, sample_weight, raw), np.zeros(self.n_outputs),
                              self.parameter_names is None)

    def _sums_of_derivatives(self, y_true, sample_weight, raw):
        """Sums of gradients and Hessians where all rows have equal raw predictions: ndarray of shape (2, n_outputs)."""
        gradient, hessian = self.derivatives(y_true, np.tile(raw, (len(y_true), 1)))
        if hessian is None:
            hessian = np.ones_like(gradient)
        return sum_derivatives(gradient, hessian, sample_weight)

    def derivatives(self, const double[::1] y_true not None, const double[:, ::1] raw not None):
        """Return the first and second derivatives of each row's loss by its raw predictions, after checking them.

        Parameters
        ----------
        y_true : ndarray of shape (n_rows,), dtype float64
            Targets; for classification the numbers of the classes.
        raw : ndarray of shape (n_rows, n_outputs), dtype float64
            Raw predictions.

        Returns
        -------
        gradient, hessian : ndarray of shape (n_rows, n_outputs), dtype float64
            The derivatives; the second array is None with `constant_hessian`.
        """
        cdef Loss asked = self.configured(self.n_classes)
        cdef int64_t n = y_true.shape[0]
        self.check_shape(raw.shape[0], raw.shape[1], n)
        gradient = np.empty((n, self.n_outputs))
        hessian = None if self.constant_hessian else np.empty((n, self.n_outputs))
        cdef double[:, ::1] g = gradient, h = hessian
        cdef int64_t group
        if self.groups is not None:
            self.groups.check(n)
            y_true, raw = self.groups.together(np.asarray(y_true)), self.groups.together(np.asarray(raw))
        with nogil:
            for group in range(asked.n_groups()):
                asked.ask(group, n, &y_true[0], &raw[0, 0], &g[0, 0], NULL if h is None else &h[0, 0])
        asked.check()
        if self.groups is not None:
            gradient = self.groups.apart(gradient)
            hessian = None if hessian is None else self.groups.apart(hessian)
        asked.check_derivatives(gradient, hessian)
        return gradient, hessian

    cdef int64_t n_groups(self) noexcept nogil:
        """How many groups there are to be asked about: one, unless there are `GroupedRows`."""
        return 1 if self.groups is None else self.groups.starts.shape[0] - 1

    cdef void ask(self, int64_t group, int64_t n, const double* y, const double* raw, double* gradient,
                  double* hessian) noexcept nogil:
        """Ask for the derivatives of a group, of n rows in all that stand together. Pointers are to the first of all rows."""
        cdef int64_t first = 0
        if self.groups is not None:
            first = self.groups.starts[group]
            n = self.groups.starts[group + 1] - first
        if n > 0:
            self.gradient_hessian(y + first, raw + first * self.n_outputs, n, gradient + first * self.n_outputs,
                                  NULL if hessian == NULL else hessian + first * self.n_outputs)

    def check_derivatives(self, const double[:, ::1] gradient not None, const double[:, ::1] hessian):
        """Raise LossError unless derivatives are as the contract has them; see `derivatives`."""
        cdef int64_t i
        cdef Py_ssize_t k
        for i in range(gradient.shape[0]):
            for k in range(gradient.shape[1]):
                if not is_allowed(gradient[i, k]):
                    raise self.broken("gradient_hessian", "gradient", gradient[i, k], i, k)
                if hessian is not None and not (hessian[i, k] >= 0.0 and is_allowed(hessian[i, k])):
                    raise self.broken("gradient_hessian", "Hessian", hessian[i, k], i, k)

    def check_shape(self, n_rows, n_columns, n):
        """Raise ValueError unless raw predictions of n rows have such a shape."""
        if (n_rows, n_columns) != (n, self.n_outputs):
            raise ValueError(f"raw has the shape {(n_rows, n_columns)}; allowed is {(n, self.n_outputs)}")

    def broken(self, method, what, number, row, output=0):
        """The error of a number that is not allowed."""
        of_class = f", class {output}" if self.n_outputs > 1 and method != "loss" else ""
        least = " from 0 on" if what == "Hessian" else ""
        leaf = "the leaf of " if method == "leaf_value" else ""
        return LossError(f"{type(self).__name__}.{method} returned the {what} {number} for {leaf}row {row}{of_class}; allowed "
                         f"are finite numbers{least}, up to 2**500 in magnitude")

    def values(self, const double[::1] y_true not None, const double[:, ::1] raw not None):
        """Return the loss of each row, after checking it: ndarray of shape (n_rows,). Parameters are those of `derivatives`."""
        cdef Loss asked = self.configured(self.n_classes)
        cdef int64_t n = y_true.shape[0]
        self.check_shape(raw.shape[0], raw.shape[1], n)
        result = np.empty(n)
        cdef double[::1] out = result
        cdef int64_t group, first = 0, n_own = n
        if self.groups is not None:
            self.groups.check(n)
            y_true, raw = self.groups.together(np.asarray(y_true)), self.groups.together(np.asarray(raw))
        with nogil:
            for group in range(asked.n_groups()):
                if asked.groups is not None:
                    first = asked.groups.starts[group]
                    n_own = asked.groups.starts[group + 1] - first
                if n_own > 0:
                    asked.loss(&y_true[first], &raw[first, 0], n_own, &out[first])
        asked.check()
        if self.groups is not None:
            result = self.groups.apart(result)
        wrong = np.flatnonzero(~(np.abs(result) <= MOST))
        if len(wrong):
            raise self.broken("loss", "loss", result[wrong[0]], wrong[0])
        return result

    def predictions(self, const double[:, ::1] raw not None):
        """Return predictions, given raw predictions of shape (n_rows, n_outputs), after checking them: ndarray of this shape."""
        cdef Loss asked = self.configured(self.n_classes)
        cdef int64_t n = raw.shape[0]
        self.check_shape(n, raw.shape[1], n)
        result = np.empty((n, self.n_outputs))
        cdef double[:, ::1] out = result
        if n > 0:
            with nogil:
                asked.inverse_link(&raw[0, 0], n, &out[0, 0])
        asked.check()
        wrong = np.argwhere(~(np.abs(result) <= MOST))
        if len(wrong):
            raise self.broken("inverse_link", "prediction", result[tuple(wrong[0])], *wrong[0])
        return result

    cdef void gradient_hessian(self, const double* y, const double* raw, int64_t n, double* gradient,
                               double* hessian) noexcept nogil:
        with gil:
            self.lack("gradient_hessian")

    cdef void loss(self, const double* y, const double* raw, int64_t n, double* loss) noexcept nogil:
        with gil:
            self.lack("loss")

    cdef double leaf_value(self, double* y, double* raw, double* weight, int64_t n) noexcept nogil:
        with gil:
            self.lack("leaf_value")
        return NAN

    def leaf_values(self, double[::1] y_true not None, double[::1] raw not None, double[::1] weight not None,
                    const int64_t[::1] lengths not None):
        """Return what `leaf_value` says of leaves, after checking it: ndarray of shape (n_leaves,), dtype float64.

        Parameters
        ----------
        y_true, raw, weight : ndarray of shape (n_rows,), dtype float64
            Targets, raw predictions and weights of the rows of the leaves, one leaf after another.
        lengths : ndarray of shape (n_leaves,), dtype int64
            How many rows each leaf has, one or more.
        """
        cdef Loss asked = self.configured(self.n_classes)
        cdef double[::1] values = np.empty(lengths.shape[0])
        cdef int64_t first = 0
        cdef Py_ssize_t i
        for i in range(lengths.shape[0]):
            with nogil:
                values[i] = asked.leaf_value(&y_true[first], &raw[first], &weight[first], lengths[i])
            asked.check()
            if not is_allowed(values[i]):
                raise asked.broken("leaf_value", "value", values[i], first)
            first += lengths[i]
        return np.asarray(values)

    cdef int lack(self, str method) except -1:
        return self.fail(NotImplementedError(f"{type(self).__name__} does not define {method}"))

    cdef void inverse_link(self, const double* raw, int64_t n, double* prediction) noexcept nogil:
        if self.n_classes == 0:
            memcpy(prediction, raw, n * sizeof(double))
        elif self.n_outputs == 1:
            loops.boost.predictions(DF_LOG_LOSS, raw, n, prediction)
        else:
            loops.boost.class_predictions(raw, n, self.n_outputs, prediction)

    cdef int fail(self, error) except -1:
        if not self.has_failed:
            self.error = error
            self.has_failed = True
        return 0

    cdef int check(self) except -1 nogil:
        if self.has_failed:
            with gil:
                raise self.error
        return 0


cdef Loss PLAIN = Loss()


@cython.final
cdef class GroupedRows:
    """Which rows belong together.

    Parameters
    ----------
    numbers : ndarray of shape (n_rows,), dtype int64
        The number of each row's group, from 0.
    """

    def __init__(self, numbers):
        self.numbers = numbers
        counts = np.bincount(numbers)
        self.starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.order = np.argsort(numbers, kind="stable") if (np.diff(numbers) < 0).any() else None

    def of_some(self, chosen):
        """Those of some rows, given by an ndarray of bool or of their numbers: `GroupedRows`."""
        return GroupedRows(self.numbers[chosen])

    def check(self, n_rows):
        """Raise ValueError if there are more or fewer rows."""
        if len(self.numbers) != n_rows:
            raise ValueError(f"{n_rows} rows are given; allowed are as many as have a group, {len(self.numbers)}")

    def together(self, array):
        """What rows have, group by group: an array of the shape of `array`, which it may be."""
        return array if self.order is None else array[np.asarray(self.order)]

    def apart(self, array):
        """The inverse of `together`."""
        if self.order is None:
            return array
        result = np.empty_like(array)
        result[np.asarray(self.order)] = array
        return result


cdef class PythonLossBase(Loss):
    """What `dforest.loss.PythonLoss` is made from. Arrays that methods get are copies."""

    methods_in_c = ()

    def __cinit__(self, *args, **kwargs):
        self.is_asked_at_once = True

    cdef void gradient_hessian(self, const double* y, const double* raw, int64_t n, double* gradient,
                               double* hessian) noexcept nogil:
        with gil:
            try:
                answer = (<object> self).gradient_hessian(copied(y, n, 1), copied(raw, n, self.n_outputs))
                if not isinstance(answer, tuple) or len(answer) != 2:
                    raise self.wrong("gradient_hessian", f"a {type(answer).__name__}", "pairs of arrays")
                self.write("gradient_hessian", answer[0], n, self.n_outputs, gradient)
                if hessian != NULL:
                    self.write("gradient_hessian", answer[1], n, self.n_outputs, hessian)
            except BaseException as error:
                self.fail(error)

    cdef void loss(self, const double* y, const double* raw, int64_t n, double* loss) noexcept nogil:
        with gil:
            try:
                self.write("loss", (<object> self).loss(copied(y, n, 1), copied(raw, n, self.n_outputs)), n, 1, loss)
            except BaseException as error:
                self.fail(error)

    cdef void inverse_link(self, const double* raw, int64_t n, double* prediction) noexcept nogil:
        with gil:
            try:
                answer = (<object> self).inverse_link(copied(raw, n, self.n_outputs))
                if answer is not None:
                    self.write("inverse_link", answer, n, self.n_outputs, prediction)
                    return
            except BaseException as error:
                self.fail(error)
                return
        Loss.inverse_link(self, raw, n, prediction)

    cdef double leaf_value(self, double* y, double* raw, double* weight, int64_t n) noexcept nogil:
        cdef double value = NAN
        with gil:
            try:
                answer = (<object> self).leaf_value(copied(y, n, 1), copied(raw, n, 1), copied(weight, n, 1))
                self.write("leaf_value", [answer], 1, 1, &value)
            except BaseException as error:
                self.fail(error)
        return value

    cdef int write(self, str method, answer, int64_t n, Py_ssize_t n_outputs, double* to) except -1:
        """Take an array that a method returned."""
        cdef tuple shape = (n, n_outputs)
        if n_outputs == 1:
            shape = (n,)
        try:
            array = np.asarray(answer, np.float64, order="C")
        except (TypeError, ValueError) as error:
            raise self.wrong(method, repr(answer), f"numbers of the shape {shape}") from error
        if array.shape != shape:
            raise self.wrong(method, f"an array of the shape {array.shape}", f"arrays of the shape {shape}")
        cdef const double[::1] flat = array.reshape(-1)
        if n > 0:
            memcpy(to, &flat[0], n * n_outputs * sizeof(double))
        return 0

    def wrong(self, method, what, allowed):
        """The error of an answer that is no array of a shape."""
        return LossError(f"{type(self).__name__}.{method} returned {what}; allowed are {allowed}")


cdef copied(const double* values, int64_t n, Py_ssize_t n_outputs):
    """A new array of some values: of shape (n,) or (n, n_outputs)."""
    result = np.empty(n * n_outputs)
    cdef double[::1] to = result
    if n > 0:
        memcpy(&to[0], values, n * n_outputs * sizeof(double))
    return result if n_outputs == 1 else result.reshape(n, n_outputs)


cdef void form_raw(void* own, int64_t item) noexcept nogil:
    (<CustomLoss> own).form_raw(item)


cdef void ask(void* own, int64_t item) noexcept nogil:
    (<CustomLoss> own).ask(item)


cdef void ask_groups(void* own, int64_t item) noexcept nogil:
    (<CustomLoss> own).ask_groups(item)


cdef void check_derivatives(void* own, int64_t item) noexcept nogil:
    (<CustomLoss> own).check_derivatives(item)


@cython.final
cdef class CustomLoss:
    """A loss of one's own, and what it says of the rows of a booster.

    Parameters
    ----------
    loss : Loss
        Configured, and bound to the groups of the rows, if it is of groups.
    y : ndarray of shape (n_rows,), dtype float64
    weight : ndarray of shape (n_rows,), dtype float64, or None
    team : SpinTeam
    chunk : int
        Rows of a chunk, at most.
    """

    def __init__(self, Loss loss not None, const double[::1] y not None, const double[::1] weight, SpinTeam team not None,
                 int64_t chunk):
        self.loss = loss.configured(loss.n_classes)
        self.team = team
        self.n_rows = y.shape[0]
        self.chunk = chunk
        self.groups = loss.groups
        self.y = &y[0]
        if weight is not None:
            self.weight = &weight[0]
        self.owners = y, weight
        self.raw = np.empty((self.n_rows, loss.n_outputs))
        self.gradient = np.empty((self.n_rows, loss.n_outputs))
        self.known.gradient = &self.gradient[0, 0]
        self.known.n_sums = loss.n_outputs
        if not loss.constant_hessian:
            self.hessian = np.empty((self.n_rows, loss.n_outputs))
            self.known.hessian = &self.hessian[0, 0]
        if loss.need_update_leaves_values:
            self.of_leaves = np.empty((3, self.n_rows))
        if self.groups is not None:
            self.groups.check(self.n_rows)
            # Which groups begin in the chunks, which are short: a group takes longer than so many rows by themselves.
            begins = np.append(np.arange(0, self.n_rows, max(1, chunk // GROUP_ROWS)), self.n_rows)
            self.first_group = np.searchsorted(np.asarray(self.groups.starts)[:len(self.groups.starts) - 1], begins)
            if self.groups.order is not None:
                self.y_together = self.groups.together(np.asarray(y))
                self.together = np.empty((2 if loss.constant_hessian else 3, self.n_rows, loss.n_outputs))

    cdef int find(self, const double* sums, const double* baseline) except -1 nogil:
        """Find the derivatives of all rows. sums : [n_outputs, n_rows] of leaf values; baseline : [n_outputs]"""
        cdef int64_t n_chunks = (self.n_rows + self.chunk - 1) // self.chunk
        self.sums = sums
        self.baseline = baseline
        cdef int64_t item
        self.team.for_each(form_raw, <void*> self, n_chunks)
        if self.groups is not None and self.loss.is_asked_at_once:
            for item in range(self.first_group.shape[0] - 1):
                self.ask_groups(item)
        elif self.groups is not None:
            self.team.for_each(ask_groups, <void*> self, self.first_group.shape[0] - 1)
        elif self.loss.is_asked_at_once:
            self.loss.gradient_hessian(self.y, &self.raw[0, 0], self.n_rows, &self.gradient[0, 0],
                                       <double*> self.known.hessian)
        else:
            self.team.for_each(ask, <void*> self, n_chunks)
        self.loss.check()
        self.is_wrong = False
        self.team.for_each(check_derivatives, <void*> self, n_chunks)
        if self.is_wrong:
            with gil:
                self.loss.check_derivatives(self.gradient, self.hessian)
        return 0

    cdef void form_raw(self, int64_t item) noexcept nogil:
        """Form the raw predictions of a chunk."""
        cdef int64_t i
        cdef Py_ssize_t k
        for i in range(item * self.chunk, min(self.n_rows, (item + 1) * self.chunk)):
            for k in range(self.known.n_sums):
                self.raw[i, k] = self.sums[k * self.n_rows + i] + self.baseline[k]

    cdef void ask(self, int64_t item) noexcept nogil:
        """Ask about a chunk."""
        cdef int64_t begin = item * self.chunk, n = min(self.chunk, self.n_rows - begin), at = begin * self.known.n_sums
        self.loss.gradient_hessian(self.y + begin, &self.raw[begin, 0], n, &self.gradient[begin, 0],
                                   NULL if self.known.hessian == NULL else <double*> self.known.hessian + at)

    cdef void ask_groups(self, int64_t item) noexcept nogil:
        """Ask about the groups that begin in a chunk."""
        cdef int64_t first = self.first_group[item], last = self.first_group[item + 1], group
        cdef int64_t begin = self.groups.starts[first], end = self.groups.starts[last], i, row
        cdef bint has_hessian = self.known.hessian != NULL
        cdef Py_ssize_t k
        if self.groups.order is None:
            for group in range(first, last):
                self.loss.ask(group, self.n_rows, self.y, &self.raw[0, 0], &self.gradient[0, 0], <double*> self.known.hessian)
            return
        for i in range(begin, end):
            row = self.groups.order[i]
            for k in range(self.known.n_sums):
                self.together[0, i, k] = self.raw[row, k]
        for group in range(first, last):
            self.loss.ask(group, self.n_rows, &self.y_together[0], &self.together[0, 0, 0], &self.together[1, 0, 0],
                          &self.together[2, 0, 0] if has_hessian else NULL)
        for i in range(begin, end):
            row = self.groups.order[i]
            for k in range(self.known.n_sums):
                self.gradient[row, k] = self.together[1, i, k]
                if has_hessian:
                    self.hessian[row, k] = self.together[2, i, k]

    cdef void check_derivatives(self, int64_t item) noexcept nogil:
        """See whether the derivatives of a chunk are allowed."""
        cdef int64_t i
        cdef Py_ssize_t k
        for i in range(item * self.chunk, min(self.n_rows, (item + 1) * self.chunk)):
            for k in range(self.known.n_sums):
                if not (is_allowed(self.gradient[i, k]) and (self.known.hessian == NULL or (self.hessian[i, k] >= 0.0
                        and is_allowed(self.hessian[i, k])))):
                    self.is_wrong = True

    cdef double leaf_value(self, const uint32_t* rows, int64_t first, int64_t n) noexcept nogil:
        """The value of a leaf. rows : [n]; NULL: they are numbered from `first`, which is in any case the place of the leaf's"""
        cdef double* y = &self.of_leaves[0, first]
        cdef double* raw = &self.of_leaves[1, first]
        cdef double* weight = &self.of_leaves[2, first]
        cdef int64_t i, row
        cdef double value
        cdef const uint32_t[::1] ordered
        for i in range(n - 1 if rows != NULL else 0):
            if rows[i] > rows[i + 1]:  # an inner node, whose rows have been divided
                with gil:
                    ordered = np.sort(np.asarray(<const uint32_t[:n]> rows))
                rows = &ordered[0]
                break
        for i in range(n):
            row = first + i if rows == NULL else <int64_t> rows[i]
            y[i] = self.y[row]
            raw[i] = self.raw[row, 0]
            weight[i] = 1.0 if self.weight == NULL else self.weight[row]
        value = self.loss.leaf_value(y, raw, weight, n)
        if not is_allowed(value) and not self.loss.has_failed:
            with gil:
                self.loss.fail(self.loss.broken("leaf_value", "value", value, first if rows == NULL else <int64_t> rows[0]))
        return value
