"""Constraints of parameters, beside those of scikit-learn, whose error messages name the values that are allowed."""

from sklearn.utils._param_validation import Options, StrOptions


class Names(StrOptions):
    """One of some names, listed in the order given.

    Parameters
    ----------
    *names : str
        The names that are allowed.
    deprecated : tuple of str
        Names that are allowed and deprecated.
    """

    def __init__(self, *names, deprecated=()):
        super().__init__(set(names), deprecated=set(deprecated))
        self.names = [f'"{name}"' + " (deprecated)" * (name in deprecated) for name in names]

    def __str__(self):
        return f"one of {', '.join(self.names)}"


class SubclassOf(Options):
    """A class.

    Parameters
    ----------
    kind : type
        The base class. Whether a class is a subclass of it is checked when it is used, not here.
    where : str
        The public module of `kind`.
    """

    def __init__(self, kind, where):
        super().__init__(type, {kind})
        self.title = f"{where}.{kind.__name__}"

    def is_satisfied_by(self, value):
        return isinstance(value, type)

    def __str__(self):
        return f"a subclass of {self.title}"
