"""What the distributions of boosted trees say, given the parameters of rows: means, quantiles, densities and scores.

All functions take parameters as arrays that broadcast against their first argument, in the order of `parameter_names`. SciPy is
imported by those alone that need it, so that means are there without it. `upper_tail` is the probability of a target of at least
this, and `upper_quantile` the other way round. Tails are exact where 1 less the tail is rounded to 1, and so are the quantiles of
distributions with a density; those of counts may be infinite or NaN there, and are off where counts are large.

CRPS is the continuous ranked probability score, the integral of the squared difference between the distribution function and
that of the target: T. Gneiting, A. E. Raftery, "Strictly proper scoring rules, prediction, and estimation", JASA 102(477), 2007.
Its closed forms are those of A. Jordan, F. Krüger, S. Lerch, "Evaluating probabilistic forecasts with scoringRules", Journal of
Statistical Software 90(12), 2019.
"""

from importlib import import_module

import numpy as np

from dforest.core.boost.distributions import DISTRIBUTIONS


def _scipy(name):
    """A module of SciPy."""
    try:
        return import_module(f"scipy.{name}")
    except ModuleNotFoundError as error:
        message = "quantiles, probabilities and scores of distributions take SciPy, which is not installed: pip install scipy"
        raise ModuleNotFoundError(message, name="scipy") from error


def _special():
    return _scipy("special")


class Normal:
    """Of location and scale."""

    @staticmethod
    def mean(location, scale):
        return location + 0.0 * scale

    @staticmethod
    def variance(location, scale):
        return scale**2 + 0.0 * location

    @staticmethod
    def log_density(y, location, scale):
        return -0.5 * ((y - location) / scale) ** 2 - np.log(scale) - 0.5 * np.log(2 * np.pi)

    @staticmethod
    def cdf(y, location, scale):
        return _special().ndtr((y - location) / scale)

    @staticmethod
    def upper_tail(y, location, scale):
        return _special().ndtr((location - y) / scale)

    @staticmethod
    def quantile(q, location, scale):
        return location + scale * _special().ndtri(q)

    @staticmethod
    def upper_quantile(q, location, scale):
        return location - scale * _special().ndtri(q)

    @staticmethod
    def crps(y, location, scale):
        z = (y - location) / scale
        density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        return scale * (z * (2 * _special().ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi))

    @staticmethod
    def sample(rng, shape, location, scale):
        return rng.normal(location, scale, shape)


class LogNormal:
    """Of the location and the scale of logarithms."""

    @staticmethod
    def mean(location, scale):
        with np.errstate(over="ignore"):
            return np.exp(location + 0.5 * scale**2)

    @staticmethod
    def variance(location, scale):
        with np.errstate(over="ignore"):
            return np.expm1(scale**2) * np.exp(2 * location + scale**2)

    @staticmethod
    def log_density(y, location, scale):
        with np.errstate(divide="ignore", invalid="ignore"):
            of_log = np.log(y)
            return np.where(y > 0, Normal.log_density(of_log, location, scale) - of_log, -np.inf)

    @staticmethod
    def cdf(y, location, scale):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(y > 0, Normal.cdf(np.log(y), location, scale), 0.0)

    @staticmethod
    def upper_tail(y, location, scale):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(y > 0, Normal.upper_tail(np.log(y), location, scale), 1.0)

    @staticmethod
    def quantile(q, location, scale):
        with np.errstate(over="ignore"):
            return np.exp(Normal.quantile(q, location, scale))

    @staticmethod
    def upper_quantile(q, location, scale):
        with np.errstate(over="ignore"):
            return np.exp(Normal.upper_quantile(q, location, scale))

    @staticmethod
    def crps(y, location, scale):
        # S. Baran, S. Lerch, "Log-normal distribution based ensemble model output statistics models for probabilistic
        # wind-speed forecasting", Quarterly Journal of the Royal Meteorological Society 141(691), 2015.
        ndtr, there = _special().ndtr, np.maximum(y, 0.0)
        with np.errstate(divide="ignore"):
            z = (np.log(there) - location) / scale
        spread = ndtr(z - scale) + ndtr(scale / np.sqrt(2)) - 1
        return y * (2 * ndtr(z) - 1) - 2 * LogNormal.mean(location, scale) * spread

    @staticmethod
    def sample(rng, shape, location, scale):
        return rng.lognormal(location, scale, shape)


class Gamma:
    """Of mean and shape."""

    @staticmethod
    def mean(mean, shape):
        return mean + 0.0 * shape

    @staticmethod
    def variance(mean, shape):
        return mean**2 / shape

    @staticmethod
    def log_density(y, mean, shape):
        with np.errstate(divide="ignore", invalid="ignore"):
            # Large shapes: the terms that grow with them nearly cancel, and are put together first.
            ratio = y / mean
            rest = _special().gammaln(shape) - (shape - 0.5) * np.log(shape) + shape
            found = -shape * (ratio - 1 - np.log(ratio)) - np.log(y) + 0.5 * np.log(shape) - rest
        return np.where(y > 0, found, -np.inf)

    @staticmethod
    def cdf(y, mean, shape):
        return _special().gammainc(shape, np.maximum(y, 0.0) * shape / mean)

    @staticmethod
    def upper_tail(y, mean, shape):
        return _special().gammaincc(shape, np.maximum(y, 0.0) * shape / mean)

    @staticmethod
    def quantile(q, mean, shape):
        return _special().gammaincinv(shape, q) * mean / shape

    @staticmethod
    def upper_quantile(q, mean, shape):
        return _special().gammainccinv(shape, q) * mean / shape

    @staticmethod
    def crps(y, mean, shape):
        special, at = _special(), np.maximum(y, 0.0) * shape / mean
        spread = np.exp(special.gammaln(shape + 0.5) - special.gammaln(shape)) / (shape * np.sqrt(np.pi))
        below, beyond = special.gammainc(shape, at), special.gammainc(shape + 1, at)
        return y * (2 * below - 1) - mean * (2 * beyond - 1) - mean * spread

    @staticmethod
    def sample(rng, shape_of, mean, shape):
        return rng.gamma(shape, mean / shape, shape_of)


def _hypergeometric(size, c):
    """Gauss's hypergeometric function of size + 1, 1/2; 2 at -c, from 0 on, by Euler's integral with t = u^2 / (1 + u^2).

    The trapezoidal rule in ln u is exact but for rounding, as the integrand falls off exponentially on both sides.
    """
    log_u = np.arange(-40.0, 14.0, 0.1)
    u_squared = np.exp(2 * log_u)
    at = np.multiply.outer(np.asarray(c, float), u_squared / (1 + u_squared))
    power = np.exp(-(np.asarray(size, float)[..., None] + 1) * np.log1p(at))
    return 4 / np.pi * 0.1 * (power * (np.exp(log_u) / (1 + u_squared) ** 2)).sum(axis=-1)


class NegativeBinomial:
    """Of mean and size."""

    @staticmethod
    def mean(mean, size):
        return mean + 0.0 * size

    @staticmethod
    def variance(mean, size):
        return mean + mean**2 / size

    @staticmethod
    def log_density(y, mean, size):
        special, count = _special(), np.maximum(y, 0.0)
        rise = -special.betaln(size, count + 1) - np.log(size + count)  # ln of a binomial coefficient
        found = rise - size * np.log1p(mean / size) + special.xlogy(count, mean / (size + mean))
        return np.where((y >= 0) & (y == np.floor(y)), found, -np.inf)

    @staticmethod
    def cdf(y, mean, size):
        count = np.floor(np.maximum(y, 0.0))
        return np.where(y < 0, 0.0, _special().betainc(size, count + 1, size / (size + mean)))

    @staticmethod
    def upper_tail(y, mean, size):
        count = np.ceil(np.maximum(y, 0.0))
        with np.errstate(invalid="ignore"):
            return np.where(count > 0, _special().betainc(np.maximum(count, 1.0), size, mean / (size + mean)), 1.0)

    @staticmethod
    def quantile(q, mean, size):
        return np.maximum(_scipy("stats").nbinom.ppf(q, size, size / (size + mean)), 0.0)

    @staticmethod
    def upper_quantile(q, mean, size):
        return np.maximum(_scipy("stats").nbinom.isf(q, size, size / (size + mean)), 0.0)

    @staticmethod
    def crps(y, mean, size):
        # C. Wei, L. Held, "Calibration tests for count data", Test 23(4), 2014.
        share = size / (size + mean)
        spread = _hypergeometric(size, 4 * mean / size * (1 + mean / size))
        below = NegativeBinomial.cdf(y, mean, size)
        beyond = NegativeBinomial.cdf(y - 1, mean * (size + 1) / size, size + 1)  # of the same share
        return y * (2 * below - 1) - mean / share * (share * (2 * beyond - 1) + spread)

    @staticmethod
    def sample(rng, shape, mean, size):
        return rng.negative_binomial(np.broadcast_to(size, shape), size / (size + mean), shape).astype(np.float64)


class StudentT:
    """Of location, scale and degrees of freedom."""

    @staticmethod
    def mean(location, scale, freedom):
        return location + 0.0 * scale * freedom

    @staticmethod
    def variance(location, scale, freedom):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(freedom > 2, scale**2 * freedom / (freedom - 2), np.inf) + 0.0 * location

    @staticmethod
    def log_density(y, location, scale, freedom):
        gammaln, z = _special().gammaln, (y - location) / scale
        constant = gammaln(0.5 * (freedom + 1)) - gammaln(0.5 * freedom) - 0.5 * np.log(np.pi * freedom) - np.log(scale)
        return constant - 0.5 * (freedom + 1) * np.log1p(z**2 / freedom)

    @staticmethod
    def cdf(y, location, scale, freedom):
        return _special().stdtr(freedom, (y - location) / scale)

    @staticmethod
    def upper_tail(y, location, scale, freedom):
        return _special().stdtr(freedom, (location - y) / scale)

    @staticmethod
    def quantile(q, location, scale, freedom):
        z = np.abs(_special().stdtrit(freedom, q))  # which gives far quantiles the wrong sign
        return location + scale * np.where(np.asarray(q) < 0.5, -z, z)

    @staticmethod
    def upper_quantile(q, location, scale, freedom):
        return location - StudentT.quantile(q, 0.0, scale, freedom)

    @staticmethod
    def crps(y, location, scale, freedom):
        special, z = _special(), (y - location) / scale
        density = np.exp(StudentT.log_density(z, 0.0, 1.0, freedom))
        ratio = np.exp(special.betaln(0.5, freedom - 0.5) - 2 * special.betaln(0.5, 0.5 * freedom))
        near = z * (2 * special.stdtr(freedom, z) - 1) + 2 * density * (freedom + z**2) / (freedom - 1)
        return scale * (near - 2 * np.sqrt(freedom) / (freedom - 1) * ratio)

    @staticmethod
    def sample(rng, shape, location, scale, freedom):
        return location + scale * rng.standard_t(freedom, shape)


class ZeroInflatedPoisson:
    """Of the rate, and the share of rows that are 0 whatever the rate."""

    @staticmethod
    def mean(rate, share):
        return (1 - share) * rate

    @staticmethod
    def variance(rate, share):
        return (1 - share) * rate * (1 + share * rate)

    @staticmethod
    def log_density(y, rate, share):
        special, count = _special(), np.maximum(y, 0.0)
        positive = np.log1p(-share) + special.xlogy(count, rate) - rate - special.gammaln(count + 1)
        zero = np.log(share + (1 - share) * np.exp(-rate))
        return np.where((y >= 0) & (y == np.floor(y)), np.where(count > 0, positive, zero), -np.inf)

    @staticmethod
    def cdf(y, rate, share):
        below = _special().pdtr(np.floor(np.maximum(y, 0.0)), rate)
        return np.where(y < 0, 0.0, share + (1 - share) * below)

    @staticmethod
    def upper_tail(y, rate, share):
        count = np.ceil(np.maximum(y, 0.0))
        return np.where(count > 0, (1 - share) * _special().pdtrc(np.maximum(count, 1.0) - 1, rate), 1.0)

    @staticmethod
    def quantile(q, rate, share):
        with np.errstate(invalid="ignore"):
            return _scipy("stats").poisson.ppf(np.clip((q - share) / (1 - share), 0.0, 1.0), rate).clip(0.0)

    @staticmethod
    def upper_quantile(q, rate, share):
        return _scipy("stats").poisson.isf(np.clip(q / (1 - share), 0.0, 1.0), rate).clip(0.0)

    @staticmethod
    def crps(y, rate, share):
        special, count = _special(), np.maximum(y, 0.0)
        at = np.floor(count)
        mass = np.exp(special.xlogy(at, rate) - rate - special.gammaln(at + 1))
        apart = (count - rate) * (2 * special.pdtr(at, rate) - 1) + 2 * rate * mass  # E|N - y|
        spread = rate * (special.ive(0, 2 * rate) + special.ive(1, 2 * rate))  # E|N - N'| / 2
        found = share * count + (1 - share) * apart - share * (1 - share) * rate - (1 - share) ** 2 * spread
        return np.where(y < 0, found - y, found)

    @staticmethod
    def sample(rng, shape, rate, share):
        return np.where(rng.random(shape) < share, 0.0, rng.poisson(rate, shape))


_DENSITIES = {cls.__name__: cls for cls in (Normal, LogNormal, Gamma, NegativeBinomial, StudentT, ZeroInflatedPoisson)}
DENSITIES = {name: _DENSITIES[cls.__name__] for name, cls in DISTRIBUTIONS.items()}
_OF_CLASSES = {cls: DENSITIES[name] for name, cls in DISTRIBUTIONS.items()}


def functions_of(distribution, name):
    """Where to look for a function of a distribution: its class, if this has it, or what dforest knows of the built-in one.

    distribution : dforest.core.boost.loss.Loss
        An object of a class of one's own may be of a subclass of a built-in one.
    """
    known = [_OF_CLASSES[cls] for cls in type(distribution).__mro__ if cls in _OF_CLASSES]
    return distribution if not known or hasattr(distribution, name) else known[0]
