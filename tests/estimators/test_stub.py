"""`dforest/__init__.pyi` tells IDEs and type checkers the constructors, which they can't see as these are made on import.

It is written by this file, together with the list of parameters of `test_parameters.py`:

    DFOREST_RENEW_PARAMETERS=1 pytest tests/estimators/test_stub.py tests/estimators/test_parameters.py
"""

import ast
import inspect
import json
import os
from pathlib import Path

import numpy as np
from sklearn.utils._param_validation import HasMethods, Hidden, Interval, Options

import dforest
from dforest.core.boost.loss import Loss
from dforest.core.search.criterion import Criterion
from dforest.core.search.logrank import SurvivalCriterion
from dforest.core.search.splitter import Splitter
from dforest.estimators.constraints import SubclassOf
from dforest.sampling import Sampling

HEAD = '''\
"""What IDEs and type checkers are told of `dforest`. Written by `tests/estimators/test_stub.py`: see there."""

'''
TYPES = """\
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike"""


def public():
    """The public names by the module of their object, modules in alphabetical order; `None`: the package itself."""
    modules = {}
    for name in sorted(dforest.__all__):
        modules.setdefault(getattr(dforest, name).__module__, []).append(name)
    return dict(sorted(modules.items()))


# What checkers are told of the types of values that constraints allow.
PUBLIC = {
    Criterion: "Criterion", Loss: "Loss", Sampling: "Sampling", Splitter: "Splitter", SurvivalCriterion: "Criterion",
}  # fmt: skip
NAMED = {
    "array-like": ["ArrayLike"], "boolean": ["bool"], "random_state": ["int", "np.random.RandomState", "None"],
    "verbose": ["int", "bool"], dict: ["Mapping[Any, Any]"], list: ["Sequence[Any]"], tuple: ["Sequence[Any]"], str: ["str"],
    callable: ["Callable[..., Any]"], "sparse matrix": ["Any"], None: ["None"], np.random.Generator: ["np.random.Generator"],
    **{kind: [name] for kind, name in PUBLIC.items()},
}  # fmt: skip
NUMBERS = {"Integral": "int", "Real": "float", "RealNotInt": "float"}


def allowed(constraint):
    """The types of the values that a constraint allows, as checkers know them: list of str."""
    if isinstance(constraint, Interval):
        return [NUMBERS[constraint.type.__name__]]
    if isinstance(constraint, SubclassOf):
        return [f"type[{PUBLIC[next(iter(constraint.options))]}]"]
    if isinstance(constraint, Options):
        return [f"Literal[{', '.join(map(literal, sorted(constraint.options, key=str)))}]"]
    return ["Any"] if isinstance(constraint, HasMethods) else NAMED[constraint]


def annotation(constraints, default):
    """What a parameter takes, the type of its default among it."""
    hidden = [constraint for constraint in constraints if isinstance(constraint, Hidden)]
    found = sum((allowed(constraint) for constraint in constraints if constraint not in hidden), [])
    if isinstance(default, str):  # it may be deprecated, as a sign that nothing is given
        found.append(f"Literal[{literal(default)}]")
    words = [word for kind in found if kind.startswith("Literal[") for word in kind[8:-1].split(", ")]
    found = list(dict.fromkeys(kind for kind in found if not kind.startswith("Literal[")))
    if words:
        found.insert(0, f"Literal[{', '.join(dict.fromkeys(words))}]")
    return " | ".join([kind for kind in found if kind != "None"] + ["None"] * ("None" in found))


def literal(value):
    return json.dumps(value) if isinstance(value, str) else repr(value)


def constructor(kind):
    """The lines of a class."""
    yield f"class {kind.__name__}({kind.__module__}.{kind.__name__}):"
    yield f'    """{inspect.getdoc(kind).splitlines()[0]}"""'
    yield ""
    yield "    def __init__("
    yield "        self,"
    named = False
    for name, parameter in inspect.signature(kind).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and not named:
            named = True
            yield "        *,"
        kinds = annotation(kind._parameter_constraints[name], parameter.default)
        line = f"        {name}: {kinds} = {literal(parameter.default)},"
        yield line + "  # noqa: E501" * (len(line) > 130)
    yield "    ) -> None: ..."


def stub():
    """The text of the file."""
    classes, imports, own = [], [], []
    for module, names in public().items():
        objects = [getattr(dforest, name) for name in names]
        kinds = [thing for thing in objects if hasattr(thing, "get_params")]
        classes += kinds
        others = [name for name in names if getattr(dforest, name) not in kinds]
        if kinds:
            imports.append(f"import {module}")
        if module == "dforest":
            own += [f"def {name}() -> str: ..." for name in others]
        else:
            imports += [f"from {module} import {name} as {name}" for name in others]
    imports += [f"from dforest.{name.lower()} import {name}" for name in ("Criterion", "Loss", "Sampling", "Splitter")]
    imports.sort(key=lambda line: (line.startswith("from"), line))
    parts = [TYPES, "\n".join(imports), "__version__: str\n\n" + "\n".join(own)]
    parts += ["\n".join(constructor(kind)) for kind in sorted(classes, key=lambda kind: kind.__name__)]
    return HEAD + "\n\n".join(parts) + "\n"


if os.environ.get("DFOREST_RENEW_PARAMETERS"):
    (Path(__file__).parents[2] / "dforest" / "__init__.pyi").write_text(stub(), encoding="utf-8")


def test_stub_says_what_the_package_has():
    assert Path(dforest.__file__).with_name("__init__.pyi").read_text(encoding="utf-8") == stub()


def test_stub_names_what_is_public():
    tree = ast.parse(stub())
    named = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    named |= {name.asname for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names if name.asname}
    assert named == set(dforest.__all__)
