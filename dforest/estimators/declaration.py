"""Constructors, constraints and docstrings of estimators, made from the tables of parameters and attributes.

A constructor is written as source and compiled, as those of dataclasses are: so it has the signature that users, IDEs
and scikit-learn look at, and Python's own errors where arguments do not fit it.
"""

import json
import linecache
from inspect import cleandoc, isfunction
from itertools import groupby
from textwrap import fill, indent

from sklearn.base import RegressorMixin

from dforest.estimators.attributes import ATTRIBUTES
from dforest.estimators.families import CAUSAL, UPLIFT, WORDS
from dforest.estimators.one_fit import see_one_fit
from dforest.estimators.other_names import BOOSTED_NAMES, FOREST_NAMES, with_hints
from dforest.estimators.parameters import PARAMETERS
from dforest.public import ESTIMATORS
from dforest.warning import warn

RENAMED = {"min_hessian": "min_sum_hessian_in_leaf"}  # parameters: earlier names, with which "deprecated" means not given
OVERVIEW = "The parameters are listed below in groups:"
WIDTH = 100  # characters of a line of the overview and of descriptions

CONSTRUCTOR = """\
def __init__(self, {arguments}):
    keep_parameters(self, locals())
"""


def keep_parameters(estimator, arguments):
    """Set an attribute for each argument of a constructor, given what locals() returns in it."""
    criterion = arguments.get("criterion")
    if isinstance(estimator, RegressorMixin) and isinstance(criterion, str) and criterion == "friedman_mse":
        arguments = arguments | {"criterion": "squared_error"}
        warn(
            'criterion="friedman_mse" is deprecated, as in scikit-learn: it is another name for criterion="squared_error", '
            "which is used instead",
            FutureWarning,
        )
    for name, value in arguments.items():
        if name != "self":
            setattr(estimator, name, value)


def with_new_names(values):
    """Parameters, among other things, as an earlier version of dforest left them, by the names that they have now: a new dict.

    Boosted trees of versions without `defaults` had those of scikit-learn.
    """
    values = dict(values)
    if "l2_regularization" in values:
        values.setdefault("defaults", "scikit-learn")
    for old, new in RENAMED.items():
        if values.get(old, "deprecated") != "deprecated" and new not in values:
            values[new], values[old] = values[old], "deprecated"
    return values


def has_parameters(family, /, *, table=PARAMETERS, **defaults):
    """Decorate an estimator: make its `__init__`, its `_parameter_constraints` and sections of its docstring.

    The constructor sets an attribute for each parameter, and does nothing else. ``{parameters}`` and ``{attributes}``
    in the docstring become the descriptions of the tables, and ``{groups}`` becomes an overview of the groups of parameters.
    The attribute `_parameter_groups` has the names of the parameters of each group, for the API reference.

    Parameters
    ----------
    family : str
        Which entries of the tables are the estimator's: one of `dforest.estimators.families.FAMILIES`.
    table : sequence of dforest.estimators.entries.Parameter
        That of boosted trees is `dforest.estimators.boosting.parameters.BOOSTING_PARAMETERS`.
    **defaults
        Defaults in which the estimator differs from the table.

    Returns
    -------
    callable
        Takes the class, and returns it.

    Raises
    ------
    ValueError
        If there is no such family, or no such parameter in it.

    Examples
    --------
    >>> from dforest.estimators.declaration import has_parameters
    >>> from dforest.estimators.forest.ensemble import ForestRegressor
    >>> @has_parameters("forest regressor", n_estimators=10)
    ... class SmallForest(ForestRegressor):
    ...     pass
    >>> SmallForest(max_depth=2).get_params()["n_estimators"]
    10
    """
    if family not in WORDS:
        raise ValueError(f"family={family!r}; allowed are {', '.join(sorted(WORDS))}")
    entries = [entry for entry in table if family in entry.of]
    values = {entry.name: entry.default for entry in entries}
    for name in defaults:
        if name not in values:
            raise ValueError(f"{name}={defaults[name]!r} is a default of no parameter; a {family} has {', '.join(values)}")
    values |= defaults

    def declare(estimator):
        estimator._other_names = FOREST_NAMES if table is PARAMETERS or family in CAUSAL | UPLIFT else BOOSTED_NAMES
        estimator.__init__ = with_hints(_constructor(estimator, entries, values))
        estimator._parameter_constraints = {entry.name: entry.constraint for entry in entries}
        estimator._defaults, estimator._declared = values, (family, table)
        estimator._parameter_groups = {
            group: [entry.name for entry in members] for group, members in groupby(entries, lambda entry: entry.group)
        }
        estimator.__doc__ = _docstring(estimator, family, entries, values)
        see_one_fit(estimator)
        _hide_private_classes(estimator)
        return estimator

    return declare


def _hide_private_classes(estimator):
    """Have Python's errors about arguments speak of a method alone, where it is that of a class that users don't know."""
    for base in estimator.__mro__:
        if base.__module__.startswith("dforest.") and base.__name__ not in ESTIMATORS:
            for name, method in vars(base).items():
                while isfunction(method) and not name.startswith("_"):
                    method.__qualname__ = name
                    method = getattr(method, "__wrapped__", None)


def _constructor(estimator, entries, values):
    """The `__init__` of an estimator."""
    arguments = [f"{entry.name}={values[entry.name]!r}" for entry in entries]
    arguments.insert(sum(entry.by_position for entry in entries), "*")
    source = CONSTRUCTOR.format(arguments=", ".join(arguments))
    filename = f"<constructor of {estimator.__module__}.{estimator.__qualname__}>"
    linecache.cache[filename] = len(source), None, source.splitlines(keepends=True), filename  # for tracebacks, inspect
    made = {"keep_parameters": keep_parameters, "__name__": estimator.__module__}
    exec(compile(source, filename, "exec"), made)
    constructor = made["__init__"]
    constructor.__qualname__ = f"{estimator.__qualname__}.__init__"
    return constructor


def _docstring(estimator, family, entries, values):
    """The docstring of an estimator, with the sections that come from the tables."""
    words = WORDS[family] | {"tree": getattr(estimator, "_tree_class", estimator).__name__}
    parameters = [
        _described(entry.name, f"{entry.type}, default={_literal(values[entry.name])}", entry.doc.format(**words))
        for entry in entries
    ]
    attributes = [
        _described(attribute.name, attribute.type.format(**words), attribute.doc)
        for attribute in ATTRIBUTES
        if family in attribute.of
    ]
    doc = cleandoc(estimator.__doc__ or "")
    sections = {"groups": overview(estimator._parameter_groups).splitlines(), "parameters": parameters, "attributes": attributes}
    for name, lines in sections.items():
        doc = doc.replace(f"{{{name}}}", "\n".join(lines))
    return doc


def overview(groups):
    """The groups of parameters as a list for the beginning of a docstring, given the names of the parameters of each group."""
    lines = [fill(f"- {group}: {', '.join(names)}", WIDTH, subsequent_indent="  ") for group, names in groups.items()]
    return "\n".join([OVERVIEW, "", *lines])


def _described(name, kind, doc):
    """An entry of a numpydoc section, whose paragraphs are filled anew: words have been put into them."""
    paragraphs = cleandoc(doc).split("\n\n")
    text = "\n\n".join(_filled(part.split()) for part in paragraphs)
    return f"{name} : {kind}\n{indent(text, '    ')}"


def _filled(words):
    """Words in lines of at most `WIDTH` characters, as `textwrap.fill` has them, in a fifth of its time: imports wait for it."""
    lines, n = [[]], -1
    for word in words:
        n += 1 + len(word)
        if n > WIDTH and lines[-1]:
            lines.append([])
            n = len(word)
        lines[-1].append(word)
    return "\n".join(map(" ".join, lines))


def _literal(value):
    """A default as docstrings show it, strings between double quotes."""
    return json.dumps(value) if isinstance(value, str) else repr(value)
