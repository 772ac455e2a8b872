"""Who may know of whom: rules, core, engines, fitting, estimators, each of those before it alone; backends beside the engines."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "dforest"  # the sources, which are not all installed

# What a folder or module of dforest may import of the others; a longer name counts before a shorter one.
ERRORS = {"errors", "core.component"}
RULES = {"rules"}
CORE = {"core", *RULES, *ERRORS}
BACKEND = {"engines.device.backend", "engines.device.kernel_source", "extras", *ERRORS}
ENGINES = {"engines", "spmd.draws", *CORE}
MAY_IMPORT = {
    "rules": RULES,
    "core": CORE,
    "sampling": {"core"},
    "spmd": {"spmd", "errors", "extras"},
    "spmd.binning": {"spmd", *CORE},
    "spmd.draws": {"core.draws", "core.grow.trainer", "core.sampling", "engines.rows", "spmd"},
    "spmd.lazy": {"estimators.data.given", "spmd", "warning"},
    "spmd.permutations": {"core.predict", "spmd"},
    "engines": ENGINES,
    "engines.device": ENGINES,
    "engines.fitting": {"backends", *ENGINES},
    "engines.problem": {"core", "engines.rows", "engines.weights", *RULES},
    "engines.ranks": {"spmd", *ENGINES},
    "engines.rows": {"core.sparse_rows", *RULES},
    "engines.weights": {"core", "engines.rows", "spmd.communicator"},
    "backends": {"backends"},
    # A backend: what it implements, and the source of the kernels.
    "backends.host": {"backends.host", "core.threads", *BACKEND},
    "backends.cuda": {"backends.cuda", "backends.devices", "backends.strided", *BACKEND},
    "backends.sycl": {"backends.devices", "backends.strided", "backends.sycl", *BACKEND},
    "backends.strided": set(),
    "estimators.boosting.early_stopping": CORE,
    "estimators.boosting.loop": {"engines.fitting", "spmd.communicator", *CORE},
    "estimators.boosting.losses": {"spmd.communicator", *CORE},
    "estimators.kinds": set(),
    "estimators.results.pruning": {"core"},
    "inspection": {"config", "core", "estimators", "extras", "inspection", "rules", "warning", *ERRORS},
    "interchange.conversion": {
        "errors", "estimators.data.outputs", "estimators.kinds", "estimators.subclasses", "extras", "interchange.conversion",
    },
    # What makes estimators of other libraries' models.
    "interchange.conversion.boosted": {"engines.fit_report", "estimators", "interchange.conversion", *CORE},
    "interchange.conversion.from_hist_boosting": {"estimators", "interchange.conversion"},
    "interchange.conversion.from_lightgbm": {"estimators", "interchange.conversion"},
    "interchange.conversion.from_sklearn": {"engines.rows", "estimators", "interchange.conversion", *CORE},
    "interchange.conversion.from_xgboost": {"estimators", "interchange.conversion"},
    "interchange.conversion.parameters": {"warning"},
    "interchange.conversion.skl2onnx": {"errors", "estimators", "extras", "interchange.conversion"},
    # A model file: what estimators and forests are made of.
    "interchange.storage": {
        "criterion", "engines.fit_report", "engines.rows", "engines.weights", "estimators", "interchange.storage", "loss",
        "sampling", "splitter", *CORE,
    },
}  # fmt: skip
# Modules that are reached by their names alone, when they are first needed.
LAZY = re.compile(r"""import_module\(\s*["'](dforest\.[\w.]+)["']""")
CYTHON = re.compile(r"^\s*(?:from\s+(dforest[\w.]*)\s+c?import\s+(\(?[\w, ]*)|c?import\s+(dforest[\w.]*))", re.MULTILINE)


def imported(path):
    """The modules of dforest that a file imports, at any place, without the package's name: "core.data"."""
    text = path.read_text(encoding="utf-8")
    found = set(LAZY.findall(text))
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: a relative import"
                found |= {resolved(node.module, alias.name) for alias in node.names}
    else:
        for module, names, alone in CYTHON.findall(text):
            found |= {alone} if alone else {resolved(module, name) for name in re.findall(r"\w+", names) or [""]}
    return {name.removeprefix("dforest.") for name in found if name.startswith("dforest.")}


def resolved(module, name):
    """The module that "from module import name" needs: the name itself where it is one."""
    folder = PACKAGE.joinpath(*module.split(".")[1:])
    return f"{module}.{name}" if folder.is_dir() and ((folder / name).is_dir() or any(folder.glob(f"{name}.*"))) else module


def layer_of(path):
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    return max((layer for layer in MAY_IMPORT if (name + ".").startswith(layer + ".")), key=len, default=None)


def is_within(name, others):
    return any((name + ".").startswith(other + ".") for other in others)


SOURCES = sorted(path for kind in ("py", "pyx", "pxd") for path in PACKAGE.rglob(f"*.{kind}") if layer_of(path))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_knows_the_layers_below_it(path):
    layer = layer_of(path)
    beyond = {name for name in imported(path) if not is_within(name, MAY_IMPORT[layer])}
    if layer == "engines":  # what all of them share
        beyond |= {name for name in imported(path) if is_within(name, {"engines.device"})}
    assert not beyond, f"{path.relative_to(PACKAGE)} imports {sorted(beyond)}"


def test_layers_are_read():
    """Imports are found wherever they stand; and there are modules of all layers."""
    assert {layer_of(path) for path in SOURCES} == set(MAY_IMPORT)
    seen = {str(path.relative_to(PACKAGE)): imported(path) for path in PACKAGE.rglob("*.py")}
    # The second one inside a function.
    assert {"engines.device.backend", "backends.sycl.runtime"} <= seen["backends/sycl/device.py"]
    assert "engines.device.engine" in seen["engines/fitting.py"]  # by its name
    assert "rules.arrays" in seen["engines/forest_driver.py"]
    assert {"core.threads", "rules.random"} <= imported(PACKAGE / "core" / "predict" / "out_of_bag.pyx")


def test_engines_mention_no_backend():
    """What is said there holds for all backends, but where it is told what one is."""
    for path in PACKAGE.joinpath("engines").rglob("*.py"):
        if path.relative_to(PACKAGE).parts[1:] not in (("device", "__init__.py"), ("device", "backend.py")):
            assert not re.search(r"sycl|dpctl|usm|dforest\.backends\.", path.read_text(encoding="utf-8"), re.IGNORECASE), path


def test_modules_import_each_other_in_no_circle():
    """Not even through what is imported when it is first needed."""
    waiting = {}
    for path in [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyx")]:
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").rstrip(".")
        waiting[name] = imported(path) - {name}  # a module's own declarations
    # Modules that import none that is left are taken away, again and again.
    while done := [name for name, others in waiting.items() if not others & waiting.keys()]:
        for name in done:
            del waiting[name]
    assert not waiting
