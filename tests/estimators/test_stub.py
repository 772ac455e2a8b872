"""`dforest/__init__.pyi` tells IDEs and type checkers the constructors, which they can't see as these are made on import.

It is written by this file, together with the list of parameters of `test_parameters.py`:

    DFOREST_RENEW_PARAMETERS=1 pytest tests/estimators/test_stub.py tests/estimators/test_parameters.py
"""

import ast
import inspect
import json
import os
from pathlib import Path

import dforest

HEAD = '''\
"""What IDEs and type checkers are told of `dforest`. Written by `tests/estimators/test_stub.py`: see there."""

'''


def public():
    """The public names by the module of their object, modules in alphabetical order; `None`: the package itself."""
    modules = {}
    for name in sorted(dforest.__all__):
        modules.setdefault(getattr(dforest, name).__module__, []).append(name)
    return dict(sorted(modules.items()))


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
        yield f"        {name}={literal(parameter.default)},"
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
    imports.sort(key=lambda line: (line.startswith("from"), line))
    parts = ["\n".join(imports), "__version__: str\n\n" + "\n".join(own)]
    parts += ["\n".join(constructor(kind)) for kind in sorted(classes, key=lambda kind: kind.__name__)]
    return HEAD + "\n\n".join(parts) + "\n"


if os.environ.get("DFOREST_RENEW_PARAMETERS"):
    (Path(__file__).parents[2] / "dforest" / "__init__.pyi").write_text(stub(), encoding="utf-8")


def test_stub_says_what_the_package_has():
    assert Path(dforest.__file__).with_name("__init__.pyi").read_text(encoding="utf-8") == stub()


def test_stub_names_what_is_public():
    tree = ast.parse(stub())
    named = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    named |= {name.asname for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names}
    assert named == set(dforest.__all__)
