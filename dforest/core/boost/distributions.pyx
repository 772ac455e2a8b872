"""The distributions whose parameters boosted trees predict, as losses: minus the logarithm of a row's density.

Formulas are those of rules/distributions.h, a function for each question; a class says which functions, and which targets are
allowed. A distribution owns what its parameters say.
"""
from libc.stdint cimport int64_t

from numbers import Real

import numpy as np

from dforest.core.boost.loss cimport Loss

ctypedef void (*Derivatives)(double y, const double* raw, double unit, double* g, double* h) noexcept nogil
ctypedef double (*MinusLog)(double y, const double* raw, double unit) noexcept nogil
ctypedef void (*Parameters)(const double* raw, double unit, double* parameters) noexcept nogil

cdef extern from "rules/distributions.h" nogil:
    void df_normal_derivatives(double y, const double* raw, double unit, double* g, double* h)
    double df_normal_loss(double y, const double* raw, double unit)
    void df_normal_parameters(const double* raw, double unit, double* parameters)
    void df_lognormal_derivatives(double y, const double* raw, double unit, double* g, double* h)
    double df_lognormal_loss(double y, const double* raw, double unit)
    void df_lognormal_parameters(const double* raw, double unit, double* parameters)
    void df_gamma_distribution_derivatives(double y, const double* raw, double unit, double* g, double* h)
    double df_gamma_distribution_loss(double y, const double* raw, double unit)
    void df_gamma_distribution_parameters(const double* raw, double unit, double* parameters)
    void df_negative_binomial_derivatives(double y, const double* raw, double unit, double* g, double* h)
    double df_negative_binomial_loss(double y, const double* raw, double unit)
    void df_negative_binomial_parameters(const double* raw, double unit, double* parameters)
    void df_student_derivatives(double y, const double* raw, double unit, double* g, double* h)
    double df_student_loss(double y, const double* raw, double unit)
    void df_student_parameters(const double* raw, double unit, double* parameters)
    void df_zero_inflated_poisson_derivatives(double y, const double* raw, double unit, double* g, double* h)
    double df_zero_inflated_poisson_loss(double y, const double* raw, double unit)
    void df_zero_inflated_poisson_parameters(const double* raw, double unit, double* parameters)
    double df_log_gamma(double x)
    double df_log_gamma_rest(double x)
    double df_digamma(double x)
    double df_log_less_digamma(double x)
    double df_trigamma(double x)
    double df_trigamma_less_inverse(double x)
    double df_size_information(double mean, double r)
    double df_log_of_target(double y)

cdef int64_t LARGEST_COUNT = <int64_t> 1 << 53     # counts beyond are not all numbers of float64


def special_functions(const double[::1] x not None):
    """ln Gamma, psi and psi' of numbers above 0, and what these are beside their leading terms, as special.h has them.

    Returns
    -------
    ndarray of shape (6, n), dtype float64
        In the order of special.h.
    """
    result = np.empty((6, x.shape[0]))
    cdef double[:, ::1] out = result
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        out[0, i], out[1, i] = df_log_gamma_rest(x[i]), df_log_gamma(x[i])
        out[2, i], out[3, i] = df_log_less_digamma(x[i]), df_digamma(x[i])
        out[4, i], out[5, i] = df_trigamma_less_inverse(x[i]), df_trigamma(x[i])
    return result


def logarithms(const double[::1] y not None):
    """Natural logarithms of targets above 0, the same on any machine: ndarray of shape (n_rows,), dtype float64."""
    result = np.empty(y.shape[0])
    cdef double[::1] out = result
    cdef Py_ssize_t i
    for i in range(y.shape[0]):
        out[i] = df_log_of_target(y[i])
    return result


def size_information(double mean, double size):
    """What stands for the Fisher information of the logarithm of a negative binomial distribution's size."""
    return df_size_information(mean, size)


cdef class BuiltInDistribution(Loss):
    """What the distributions of dforest share."""

    name = ""                          # of the parameter `loss`
    targets = "finite"                 # that are allowed: "finite", "above_0" or "counts"
    is_of_logarithms = False           # of targets
    magnitudes = None                  # in which the greatest target may be, if it is not 0; None: in any

    cdef Derivatives derivatives_of
    cdef MinusLog loss_of
    cdef Parameters parameters_of
    cdef readonly object unit
    cdef double unit_as_number

    def configure(self, Py_ssize_t n_classes=0):
        """See `Loss.configure`."""
        Loss.configure(self, n_classes)
        self.unit_as_number = 1.0
        if self.unit is not None:
            if isinstance(self.unit, bool) or not isinstance(self.unit, Real) or not 2.0**-500 <= self.unit <= 2.0**500:
                raise ValueError(f"unit={self.unit!r}; allowed are numbers from 2**-500 to 2**500, and None")
            self.unit_as_number = self.unit

    def in_y_true_range(self, y_true):
        """See `Loss.in_y_true_range`. Raises ValueError, which names a target that is not allowed."""
        wrong = np.zeros(len(y_true), bool)
        allowed = "finite numbers"
        if self.targets == "above_0":
            wrong, allowed = y_true <= 0, "numbers above 0"
        elif self.targets == "counts":
            wrong = (y_true < 0) | (y_true != np.floor(y_true)) | (y_true > LARGEST_COUNT)
            allowed = "counts: integers from 0 to 2**53"
        if self.magnitudes is not None and not wrong.any():
            wrong, allowed = np.abs(y_true) > self.magnitudes[1], f"numbers up to {self.magnitudes[1]} in magnitude"
        if wrong.any():
            raise ValueError(f'y holds {y_true[wrong.argmax()]}; allowed with loss="{self.name}" are {allowed}')
        return True

    def check_greatest(self, y_true):
        """Raise ValueError if the greatest of all targets is so small that parameters would not have a range for it."""
        greatest = np.abs(y_true).max(initial=0.0)
        if self.magnitudes is not None and 0 < greatest < self.magnitudes[0]:
            raise ValueError(f'y holds numbers up to {greatest} in magnitude; allowed with loss="{self.name}" are targets of '
                             f"which the greatest is 0, or from {self.magnitudes[0]} to {self.magnitudes[1]}: multiply them by "
                             "a number")

    cdef void gradient_hessian(self, const double* y, const double* raw, int64_t n, double* gradient,
                               double* hessian) noexcept nogil:
        cdef int64_t i
        for i in range(n):
            self.derivatives_of(y[i], raw + i * self.n_outputs, self.unit_as_number, gradient + i * self.n_outputs,
                                hessian + i * self.n_outputs)

    cdef void loss(self, const double* y, const double* raw, int64_t n, double* loss) noexcept nogil:
        cdef int64_t i
        for i in range(n):
            loss[i] = self.loss_of(y[i], raw + i * self.n_outputs, self.unit_as_number)

    cdef void inverse_link(self, const double* raw, int64_t n, double* prediction) noexcept nogil:
        cdef int64_t i
        for i in range(n):
            self.parameters_of(raw + i * self.n_outputs, self.unit_as_number, prediction + i * self.n_outputs)


cdef class InUnits(BuiltInDistribution):
    """What distributions with a location share."""

    parameters = ("unit",)

    def __init__(self, unit=None):
        self.unit = unit


cdef class Normal(InUnits):
    """The normal distribution, by its location (the mean) and its scale (the standard deviation).

    It is what ``loss="normal"`` of `HistGradientBoostingDistribution` stands for. Raw predictions are location / unit and
    log(scale / unit).

    Parameters
    ----------
    unit : float, optional
        Unit of raw predictions, from 2**-500 to 2**500. None means that `fit` takes the power of two that is nearest to the
        standard deviation of all targets, by its logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.distribution import Normal
    >>> raw = np.array([[3.0, 0.0]])
    >>> Normal(unit=2.0).configured(0).predictions(raw)  # a location of 3 units, and a scale of one
    array([[6., 2.]])
    """

    name, parameter_names, magnitudes = "normal", ("location", "scale"), (1e-149, 1e149)

    def __cinit__(self, *args, **kwargs):
        self.derivatives_of, self.loss_of, self.parameters_of = df_normal_derivatives, df_normal_loss, df_normal_parameters


cdef class LogNormal(InUnits):
    """The log-normal distribution of targets above 0, whose logarithms have a normal one, by the location and scale of these.

    It is what ``loss="lognormal"`` of `HistGradientBoostingDistribution` stands for. Raw predictions are location / unit and
    log(scale / unit).

    Parameters
    ----------
    unit : float, optional
        As of `Normal`; None means a power of two near the standard deviation of the logarithms of all targets.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.distribution import LogNormal
    >>> LogNormal(unit=1.0).configured(0).predictions(np.array([[3.0, 0.0]]))
    array([[3., 1.]])
    """

    name, parameter_names, targets, is_of_logarithms = "lognormal", ("location", "scale"), "above_0", True

    def __cinit__(self, *args, **kwargs):
        self.derivatives_of, self.loss_of = df_lognormal_derivatives, df_lognormal_loss
        self.parameters_of = df_lognormal_parameters


cdef class Gamma(BuiltInDistribution):
    """The gamma distribution of targets above 0, by its mean and its shape: the variance is mean**2 / shape.

    It is what ``loss="gamma"`` of `HistGradientBoostingDistribution` stands for. Raw predictions are logarithms of both.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.distribution import Gamma
    >>> Gamma().configured(0).predictions(np.zeros((1, 2)))
    array([[1., 1.]])
    """

    name, parameter_names, targets, magnitudes = "gamma", ("mean", "shape"), "above_0", (1e-130, 1e149)

    def __cinit__(self, *args, **kwargs):
        self.derivatives_of, self.loss_of = df_gamma_distribution_derivatives, df_gamma_distribution_loss
        self.parameters_of = df_gamma_distribution_parameters


cdef class NegativeBinomial(BuiltInDistribution):
    """The negative binomial distribution of counts, by its mean and its size: the variance is mean + mean**2 / size.

    It is what ``loss="negative_binomial"`` of `HistGradientBoostingDistribution` stands for. Raw predictions are logarithms of
    both. A large size makes it a Poisson distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.distribution import NegativeBinomial
    >>> NegativeBinomial().configured(0).predictions(np.zeros((1, 2)))
    array([[1., 1.]])
    """

    name, parameter_names, targets = "negative_binomial", ("mean", "size"), "counts"

    def __cinit__(self, *args, **kwargs):
        self.derivatives_of, self.loss_of = df_negative_binomial_derivatives, df_negative_binomial_loss
        self.parameters_of = df_negative_binomial_parameters


cdef class StudentT(InUnits):
    """Student's t distribution for targets with outliers, by its location, its scale and its degrees of freedom, above 1.

    It is what ``loss="student"`` of `HistGradientBoostingDistribution` stands for. Raw predictions are location / unit,
    log(scale / unit) and log(degrees of freedom - 1), so that there is a mean, which is the location.

    Parameters
    ----------
    unit : float, optional
        As of `Normal`.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.distribution import StudentT
    >>> StudentT(unit=1.0).configured(0).predictions(np.zeros((1, 3)))
    array([[0., 1., 2.]])
    """

    name, parameter_names = "student", ("location", "scale", "degrees_of_freedom")
    magnitudes = (1e-149, 1e149)

    def __cinit__(self, *args, **kwargs):
        self.derivatives_of, self.loss_of, self.parameters_of = df_student_derivatives, df_student_loss, df_student_parameters


cdef class ZeroInflatedPoisson(BuiltInDistribution):
    """The zero-inflated Poisson distribution of counts: a share of all rows is 0, and the others have a rate.

    It is what ``loss="zero_inflated_poisson"`` of `HistGradientBoostingDistribution` stands for. Raw predictions are the
    logarithm of the rate, and the logarithm of the odds of the share.

    Examples
    --------
    >>> import numpy as np
    >>> from dforest.distribution import ZeroInflatedPoisson
    >>> ZeroInflatedPoisson().configured(0).predictions(np.zeros((1, 2)))
    array([[1. , 0.5]])
    """

    name, parameter_names, targets = "zero_inflated_poisson", ("rate", "zero_share"), "counts"

    def __cinit__(self, *args, **kwargs):
        self.derivatives_of, self.loss_of = df_zero_inflated_poisson_derivatives, df_zero_inflated_poisson_loss
        self.parameters_of = df_zero_inflated_poisson_parameters


DISTRIBUTIONS = {cls.name: cls for cls in (Normal, LogNormal, Gamma, NegativeBinomial, StudentT, ZeroInflatedPoisson)}
