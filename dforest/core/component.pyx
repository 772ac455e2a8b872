"""What splitters, criteria and losses have in common: see component.pxd.

Words: a component's *parameters* are the arguments of its constructor; each is an attribute of the same
name. A component can be made again from its class and these, which is how it is cloned and pickled. What
a forest adds when it is fitted (sizes, data, scratch) is no parameter and is never pickled.
"""
from inspect import Parameter, signature

cdef set _declared = set()       # modules that were compiled against this contract


class ContractError(RuntimeError):
    """A splitter, a criterion or a loss broke a rule of its contract."""


class SplitterError(ContractError):
    """A splitter broke a rule of its contract."""


class CriterionError(ContractError):
    """A criterion broke a rule of its contract."""


class LossError(ContractError, ValueError):
    """A loss of boosted trees broke a rule of its contract."""


def declare_contract(str module not None, int version):
    """Say for which contract a module with splitters, criteria or losses was compiled.

    Parameters
    ----------
    module : str
        Its ``__name__``.
    version : int
        `CONTRACT`, cimported from `dforest.core.component`: the number at the time of compilation.

    Raises
    ------
    ImportError
        If the installed dforest has another contract.
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

    def __cinit__(self, *args, **kwargs):
        cdef type cls = type(self)
        self.is_built_in = cls.__module__.startswith("dforest.core.")
        if not self.is_built_in:
            _check_contract(cls)

    def __init__(self):
        """No parameters."""

    def get_params(self, deep=True):
        """The parameters by name, as scikit-learn's estimators have them.

        Parameters
        ----------
        deep : bool, default=True
            There is nothing deeper.
        """
        return {name: getattr(self, name) for name in parameter_names(type(self))}

    def set_params(self, **parameters):
        """Change some parameters, by constructing the object anew."""
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

    def __repr__(self):
        inside = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({inside})"

    def __eq__(self, other):
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self):
        return hash(repr(self))
