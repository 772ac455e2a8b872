"""What splitters, criteria and losses have in common: see component.pxd.

A component's *parameters* are the arguments of its constructor, each of which is an attribute of the same name. From its class
and its parameters a component is made again when it is cloned or unpickled. What a forest adds to a component for a fit (sizes,
data, scratch) is no parameter and is never pickled.
"""
from inspect import Parameter, signature

cdef set _declared = set()       # modules that were compiled against this contract


class ContractError(RuntimeError):
    """Error raised if a splitter, a criterion or a loss breaks a rule of its contract: base of the errors for each kind."""


class SplitterError(ContractError):
    """Error raised by a fit if a splitter of your own breaks a rule of its contract.

    Examples
    --------
    >>> from dforest import DecisionTreeRegressor
    >>> from dforest.errors import SplitterError
    >>> from dforest.splitter import PythonSplitter
    >>> class Wrong(PythonSplitter):
    ...     def best_cut(self, node, feature):
    ...         return "in the middle"  # and not a code
    >>> try:
    ...     DecisionTreeRegressor(splitter=Wrong()).fit([[0.0], [1.0]], [0.0, 1.0])
    ... except SplitterError:
    ...     print("refused")
    refused
    """


class CriterionError(ContractError):
    """Error raised by a fit if a criterion of your own breaks a rule of its contract.

    Examples
    --------
    >>> from dforest import DecisionTreeClassifier
    >>> from dforest.criterion import PythonCriterion
    >>> from dforest.errors import CriterionError
    >>> class Negative(PythonCriterion):
    ...     def impurity(self, statistics):
    ...         return -statistics.weight
    >>> try:
    ...     DecisionTreeClassifier(criterion=Negative()).fit([[0.0], [1.0]], [0, 1])
    ... except CriterionError:
    ...     print("refused")
    refused
    """


class LossError(ContractError, ValueError):
    """Error raised by a fit if a loss of your own, for boosted trees, breaks a rule of its contract; it is a ValueError too.

    Examples
    --------
    >>> from dforest import HistGradientBoostingRegressor
    >>> from dforest.errors import LossError
    >>> from dforest.loss import PythonLoss
    >>> class Negative(PythonLoss):
    ...     def gradient_hessian(self, y_true, raw_prediction):
    ...         return raw_prediction - y_true, -1.0 + 0.0 * y_true
    >>> try:
    ...     HistGradientBoostingRegressor(loss=Negative()).fit([[0.0], [1.0]], [0.0, 1.0])
    ... except LossError:
    ...     print("refused")
    refused
    """


def declare_contract(str module not None, int version):
    """Declare for which version of dforest's contract a module with splitters, criteria or losses was compiled.

    A Cython module with such classes must call it once, at its top level: ``declare_contract(__name__, CONTRACT)``.

    Parameters
    ----------
    module : str
        Name of the module, its ``__name__``.
    version : int
        The constant `CONTRACT`, cimported from `dforest.core.component`, which keeps its value from the time of compilation.

    Raises
    ------
    ImportError
        If the installed dforest has another version of the contract.
    """
    if version != CONTRACT:
        raise ImportError(
            f"{module} was compiled for version {version} of dforest's contract of splitters, criteria and losses; this dforest "
            f"has version {CONTRACT}. Compile {module} again, against this dforest",
            name=module,
        )
    _declared.add(module)


def _check_contract(cls):
    """Raise unless all compiled classes that a class is made of know the contract."""
    for base in cls.__mro__:
        # Compiled classes with methods in C have this, and classes written in Python do not.
        if ("__pyx_vtable__" in base.__dict__ and not base.__module__.startswith("dforest.core.")
                and base.__module__ not in _declared):
            raise ImportError(
                f"{base.__module__} does not say for which contract {base.__name__} was compiled: it lacks "
                "declare_contract(__name__, CONTRACT), see dforest/core/component.pxd",
                name=base.__module__,
            )


def _check_methods(cls):
    """Raise ContractError if a class has methods in Python that its compiled base never calls."""
    for base in cls.__mro__:
        for name in cls.methods_in_c if "__pyx_vtable__" not in base.__dict__ else ():
            if callable(base.__dict__.get(name)):
                compiled = next(one.__name__ for one in cls.__mro__ if "__pyx_vtable__" in one.__dict__)
                raise ContractError(
                    f"{base.__qualname__}.{name} is written in Python and would never be called, as {compiled} has its methods "
                    f"in C; allowed are subclasses of {cls.in_python}, or of {compiled} in Cython"
                )


def has_methods_of(cls, base):
    """Whether a class derives from a compiled one without changing its methods in C, as classes written in Python do."""
    return getattr(cls, "__pyx_vtable__", None) is base.__pyx_vtable__


def parameter_names(cls):
    """The parameters of a class of components, in order.

    Those of its ``__init__``, as scikit-learn finds them. A compiled class whose ``__init__`` is compiled
    too lists them in ``parameters``, a tuple of str; without an ``__init__`` of its own it has its base's.

    Raises
    ------
    TypeError
        If the class has a constructor that does not tell its parameters by name.
    """
    for base in cls.__mro__:
        if "parameters" in base.__dict__:
            return list(base.__dict__["parameters"])
        init = base.__dict__.get("__init__")
        if init is None:
            continue
        if isinstance(init, type(object.__init__)):
            raise TypeError(f"{base.__module__}.{base.__qualname__} has a compiled constructor, and so must list its parameters "
                            "in `parameters`")
        arguments = list(signature(init).parameters.values())[1:]
        for argument in arguments:
            if argument.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
                raise TypeError(f"{base.__qualname__}.__init__ takes *{argument.name}; allowed are named parameters")
        return [argument.name for argument in arguments]
    return []


def _restore(cls, parameters):
    return cls(**parameters)


cdef class Component:
    """Base of splitters, criteria and losses."""

    parameters = ()
    methods_in_c, in_python = (), ""  # which of a subclass are to be in Cython, and the base class of others

    def __cinit__(self, *args, **kwargs):
        cdef type cls = type(self)
        self.is_built_in = cls.__module__.startswith("dforest.core.")
        if not self.is_built_in:
            _check_contract(cls)
            _check_methods(cls)

    def __init__(self):
        """No parameters."""

    def get_params(self, deep=True):
        """Return the parameters by name, as scikit-learn's estimators do: a dict.

        Parameters
        ----------
        deep : bool, default=True
            Ignored, as parameters have no parameters of their own.
        """
        return {name: getattr(self, name) for name in parameter_names(type(self))}

    def set_params(self, **parameters):
        """Change parameters, given by name, by calling the constructor anew; returns this object."""
        given = self.get_params()
        for name in parameters:
            if name not in given:
                raise ValueError(f"Invalid parameter {name!r} for {type(self).__name__}; it has {list(given)}")
        if parameters:
            self.__init__(**{**given, **parameters})
        return self

    def __sklearn_clone__(self):
        return _restore(type(self), self.get_params())

    def __reduce__(self):
        return _restore, (type(self), self.get_params())

    def __getstate__(self):
        """The parameters, for what does not ask `__reduce__`, as skops does not."""
        return self.get_params()

    def __setstate__(self, state):
        self.__init__(**state)

    def __repr__(self):
        inside = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({inside})"

    def __eq__(self, other):
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self):
        return hash(repr(self))
