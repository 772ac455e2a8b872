"""The parameters of estimators whose class is a user's own, with a constructor of its own.

Such a constructor may name fewer, other or more parameters than that of dforest's class, to which it hands values on. What
scikit-learn tells of parameters, and what it clones, are those alone that the user's constructor names.
"""

from sklearn.base import clone


def every_parameter(estimator, deep=False):
    """The parameters that `get_params` tells, and those of dforest's class that the user's constructor does not name: dict."""
    known = vars(estimator)
    return {name: known[name] for name in getattr(estimator, "_defaults", ()) if name in known} | estimator.get_params(deep)


def unfitted(estimator):
    """A clone of an estimator that has the parameters, too, which its constructor does not name."""
    made, named = clone(estimator), estimator.get_params(deep=False)
    for name, value in every_parameter(estimator).items():
        if name not in named:
            setattr(made, name, clone(value, safe=False))
    return made
