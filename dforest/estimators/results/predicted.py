"""What is predicted of rows whose targets have a distribution each."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from dforest.estimators.data.given import check_number
from dforest.estimators.results.densities import functions_of


@dataclass(frozen=True, eq=False, repr=False)
class PredictedDistribution:
    """The distributions of the targets of some rows, as `HistGradientBoostingDistribution.predict_distribution` returns them.

    Where methods take targets or levels, these are a number for all rows, an array of shape (n_rows,), or several for each row,
    of shape (n_rows, n), and what is returned has the shape of what a row was asked. ``distribution[i]`` has the rows that an
    index, a slice or a mask chooses, and ``len`` is their number.

    Attributes
    ----------
    distribution : dforest.loss.Loss
        The kind of the distributions: an object of a class of `dforest.distribution`, or of one of your own.
    parameters : ndarray of shape (n_rows, n_parameters), dtype float64
        The parameters of each row, in the order of ``distribution.parameter_names``.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.distribution import Normal, PredictedDistribution
    >>> of_rows = PredictedDistribution(Normal(), np.array([[0.0, 1.0], [10.0, 2.0]]))
    >>> of_rows.mean(), of_rows.std()
    (array([ 0., 10.]), array([1., 2.]))
    >>> of_rows.quantile([0.5, 0.975]).round(2)
    array([[ 0.  ,  1.96],
           [10.  , 13.92]])
    >>> of_rows.log_density(np.array([0.0, 10.0])).round(3)
    array([-0.919, -1.612])
    """

    distribution: object
    parameters: np.ndarray

    def __len__(self):
        return len(self.parameters)

    def __getitem__(self, rows):
        if isinstance(rows, Integral) and not isinstance(rows, bool):
            row = range(len(self))[rows]  # or IndexError, which ends a loop
            rows = slice(row, row + 1)
        return PredictedDistribution(self.distribution, self.parameters[rows])

    def __repr__(self):
        return f"PredictedDistribution({type(self.distribution).__name__}, {len(self)} rows)"

    def __getattr__(self, name):
        names = self.distribution.parameter_names if "distribution" in vars(self) else ()
        if name in names:
            return self.parameters[:, names.index(name)]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}; parameters are {', '.join(names)}")

    def _ask(self, name, *first, shape=None):
        """What the functions of the distribution say: see `functions_of`."""
        distribution = self.distribution
        function = getattr(functions_of(distribution, name), name, None)
        if function is None:
            raise NotImplementedError(f"{type(distribution).__name__} does not define {name}")
        columns = [column.reshape(-1, *[1] * (len(shape) - 1)) for column in self.parameters.T] if shape else self.parameters.T
        found = np.asarray(function(*first, *columns), np.float64)
        expected = shape or (len(self),)
        if found.shape != expected:
            raise ValueError(f"{type(distribution).__name__}.{name} returned the shape {found.shape}; allowed is {expected}")
        return found

    def _targets(self, y):
        """Targets as an array of shape (n_rows,) or (n_rows, n)."""
        y = np.asarray(y, np.float64)
        y = np.broadcast_to(y, (len(self),)) if y.ndim == 0 else y
        if y.ndim > 2 or len(y) != len(self):
            raise ValueError(f"y has the shape {y.shape}; allowed are ({len(self)},), ({len(self)}, n), and a number")
        if np.isnan(y).any():
            raise ValueError("y holds NaN; allowed are numbers")
        return y

    def mean(self):
        """Return the mean of each row's distribution: ndarray of shape (n_rows,)."""
        return self._ask("mean")

    def variance(self):
        """Return the variance of each row's distribution, which may be infinite: ndarray of shape (n_rows,)."""
        return self._ask("variance")

    def std(self):
        """Return the standard deviation of each row's distribution: ndarray of shape (n_rows,)."""
        return np.sqrt(self.variance())

    def median(self):
        """Return the median of each row's distribution: ndarray of shape (n_rows,)."""
        return self.quantile(0.5)

    def log_density(self, y):
        """Return the logarithm of the density at some targets, or, of counts, of their probability.

        It is the *log score*: the higher its mean over rows, the better are predictions.

        Parameters
        ----------
        y : float, or array-like of shape (n_rows,) or (n_rows, n)
            Targets.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n), dtype float64
            Minus infinity where a target is impossible.
        """
        y = self._targets(y)
        return self._ask("log_density", y, shape=y.shape)

    def mean_log_density(self, y, weight=None):
        """Return the mean logarithm of the density at targets, one for each row: float.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Targets.
        weight : array-like of shape (n_rows,), optional
            Weights of the rows, from 0 on; what rows of weight 0 have does not count. None means that all weights are 1.
        """
        return _mean(self.log_density(y), weight)

    def mean_crps(self, y, weight=None):
        """Return the mean of `crps` at targets, one for each row: float.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Targets.
        weight : array-like of shape (n_rows,), optional
            Weights of the rows, from 0 on; what rows of weight 0 have does not count. None means that all weights are 1.
        """
        return _mean(self.crps(y), weight)

    def cdf(self, y):
        """Return the probability that a target is at most this.

        Parameters
        ----------
        y : float, or array-like of shape (n_rows,) or (n_rows, n)
            Targets.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n), dtype float64
        """
        y = self._targets(y)
        return self._ask("cdf", y, shape=y.shape)

    def quantile(self, q):
        """Return quantiles: the least targets that are not exceeded with some probabilities.

        Parameters
        ----------
        q : float, or array-like of shape (n,)
            Probabilities, from 0 to 1.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n), dtype float64
            The first shape is that of a single probability.
        """
        q = np.asarray(q, np.float64)
        if q.ndim > 1 or not ((q >= 0) & (q <= 1)).all():
            raise ValueError(f"q={q!r:.200}; allowed are a number from 0 to 1, and lists of such numbers")
        shape = (len(self), *q.shape)
        return self._ask("quantile", np.broadcast_to(q, shape), shape=shape)

    def _upper_tail(self, y):
        """The probability of a target of at least this. y : ndarray of shape (n_rows,)"""
        if functions_of(self.distribution, "cdf") is not self.distribution:
            return self._ask("upper_tail", y, shape=y.shape)
        return 1.0 - self._ask("cdf", np.nextafter(y, -np.inf), shape=y.shape)

    def _upper_quantile(self, q):
        """The greatest targets that are reached with a probability: ndarray of shape (n_rows,). q : float"""
        if functions_of(self.distribution, "quantile") is not self.distribution:
            return self._ask("upper_quantile", np.full(len(self), q), shape=(len(self),))
        return self.quantile(1.0 - q)

    def interval(self, level=0.9):
        """Return the central interval of each row's distribution.

        Parameters
        ----------
        level : float, default=0.9
            The share of targets that the intervals are to hold, above 0 and below 1: as many are below as above.

        Returns
        -------
        ndarray of shape (n_rows, 2), dtype float64
            The lower and the upper end of each interval.
        """
        level = check_number("level", level, Real, "numbers above 0 and below 1", lambda n: 0 < n < 1)
        return self.quantile([(1 - level) / 2, (1 + level) / 2])

    def crps(self, y):
        """Return the continuous ranked probability score, in the unit of targets: the lower, the better are predictions.

        It is the integral of the squared difference between the distribution function and that of the target, and for a
        distribution that is a single number the distance of this from the target [1]_.

        Parameters
        ----------
        y : float, or array-like of shape (n_rows,) or (n_rows, n)
            Targets.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n), dtype float64

        References
        ----------
        .. [1] T. Gneiting, A. E. Raftery, "Strictly proper scoring rules, prediction, and estimation", Journal of the American
           Statistical Association 102(477), 2007.
        """
        y = self._targets(y)
        return self._ask("crps", y, shape=y.shape)

    def sample(self, n=1, random_state=None):
        """Draw targets at random.

        Parameters
        ----------
        n : int, default=1
            How many for each row.
        random_state : int, Generator or None, default=None
            Seed, as of ``numpy.random.default_rng``.

        Returns
        -------
        ndarray of shape (n_rows, n), dtype float64
        """
        n = check_number("n", n, Integral, "integers from 0 on", lambda n: n >= 0)
        shape = len(self), int(n)
        return self._ask("sample", np.random.default_rng(random_state), shape, shape=shape)


def _mean(of_rows, weight):
    """The mean of what rows have, by their weights: float."""
    if weight is None:
        return float(np.mean(of_rows))
    weight = np.asarray(weight, np.float64)
    if weight.shape != of_rows.shape or not (weight >= 0).all() or not weight.any():
        raise ValueError(f"weight={weight!r:.200}; allowed are {len(of_rows)} numbers from 0 on, not all 0, and None")
    there = weight > 0
    return float(np.average(of_rows[there], weights=weight[there]))
