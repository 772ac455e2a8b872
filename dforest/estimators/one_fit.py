"""Methods that see the attributes of one fit throughout, even if another thread fits the estimator meanwhile.

A fit puts a new dict of attributes in the place of the old one, and never changes the old one (`fitting` of
`dforest.estimators.data.fits`). So whoever reads several attributes takes the dict once: `as_fitted` does, and
`dforest.estimators.declaration` has all public methods and properties of estimators begin with it. Functions that are given an
estimator call it themselves. What a method sets, such as what it keeps for the next call, belongs to the fit that it has seen.
"""

from functools import wraps
from inspect import isfunction

from sklearn.base import BaseEstimator

_new, _set = object.__new__, object.__setattr__  # without what classes do beside


def as_fitted(estimator):
    """The estimator as it is now: an object of its class that has its attributes, and that a later fit of it leaves alone.

    Anything else than an estimator is returned as it is.
    """
    if not isinstance(estimator, BaseEstimator):
        return estimator
    seen = _new(type(estimator))
    _set(seen, "__dict__", estimator.__dict__)
    return seen


def of_one_fit(method):
    """A method that sees the attributes of one fit throughout. What returns the object that it was called on still does."""

    @wraps(method)
    def seeing(self, *args, **kwargs):
        seen = _new(type(self))
        _set(seen, "__dict__", self.__dict__)
        found = method(seen, *args, **kwargs)
        return self if found is seen else found

    seeing.is_of_one_fit = True
    return seeing


def see_one_fit(cls):
    """Have the public methods and properties of a class of estimators, and of its bases in dforest, see one fit each.

    Those whose names begin with "fit" or "set" are left: what they set is the estimator's, whatever fit it has.
    """
    for base in cls.__mro__:
        if base is cls or base.__module__.startswith("dforest."):
            for name, member in list(vars(base).items()):
                if not name.startswith(("_", "fit", "set_")):
                    setattr(base, name, _seeing(member))


def _seeing(member):
    """A member of a class, decorated if it is a function or a property, and if it has not been."""
    if isinstance(member, property):
        return property(_seeing(member.fget), member.fset, member.fdel, member.__doc__)
    return of_one_fit(member) if isfunction(member) and not hasattr(member, "is_of_one_fit") else member
