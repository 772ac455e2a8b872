"""What parameters may be, in messages that name it: kinds of constraints besides scikit-learn's."""

from sklearn.utils._param_validation import Options, StrOptions


class Names(StrOptions):
    """One of some names, listed in the order given.

    Parameters
    ----------
    *names : str
    deprecated : tuple of str
        Which of them are.
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
        What it should be a subclass of; whether it is, is left to who uses it.
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
