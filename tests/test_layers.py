"""Who may know of whom: rules, core, engines, fitting, estimators, each of those before it alone; backends beside the engines.

Within core and estimators, so do their folders; and headers follow what modules follow.
"""

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
ENGINES = {"built", "engines", "spmd.draws", *CORE}
MAY_IMPORT = {
    "rules": RULES,
    "core": CORE,
    "sampling": {"built", "core"},
    "spmd": {"spmd", "errors", "extras"},
    "spmd.binning": {"spmd", *CORE},
    "spmd.draws": {"core.draws", "core.grow.trainer", "core.sampling", "engines.rows", "spmd"},
    "spmd.lazy": {"estimators.data.given", "estimators.kinds", "spmd", "warning"},
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
    "backends.cuda": {"backends.cuda", "backends.devices", "backends.foreign", *BACKEND},
    "backends.sycl": {"backends.devices", "backends.foreign", "backends.sycl", *BACKEND},
    "backends.foreign": set(),
    "estimators.boosting.early_stopping": CORE,
    "estimators.boosting.loop": {"engines.fitting", "spmd.communicator", *CORE},
    "estimators.boosting.losses": {
        "estimators.boosting.starts", "estimators.results.predicted", "spmd.communicator", *CORE,
    },
    "estimators.kinds": set(),
    "estimators.results.pruning": {"core"},
    "inspection": {"config", "core", "estimators", "extras", "inspection", "rules", "warning", *ERRORS},
    "interchange.conversion": {
        "errors", "estimators.data.labels", "estimators.data.outputs", "estimators.kinds", "estimators.subclasses", "extras",
        "interchange.conversion",
    },
    # What makes estimators of other libraries' models.
    "interchange.conversion.boosted": {"engines.fit_report", "estimators", "interchange.conversion", *CORE},
    "interchange.conversion.from_hist_boosting": {"estimators", "interchange.conversion"},
    "interchange.conversion.from_lightgbm": {"estimators", "interchange.conversion"},
    "interchange.conversion.from_sklearn": {"engines.rows", "estimators", "interchange.conversion", *CORE},
    "interchange.conversion.from_xgboost": {"estimators", "interchange.conversion"},
    "interchange.conversion.oblique": {"core.search"},
    "interchange.conversion.parameters": {"warning"},
    "interchange.conversion.skl2onnx": {"errors", "estimators", "extras", "interchange.conversion", "public"},
    # A model file: what estimators and forests are made of.
    "interchange.storage": {
        "criterion", "engines.fit_report", "engines.rows", "engines.weights", "estimators", "interchange.storage", "loss",
        "public", "sampling", "splitter", *CORE,
    },
}  # fmt: skip
# What the folders of core and of estimators may import of the others. Modules that lie in core itself serve all its folders, and
# so import none of them; of those in estimators, some are what all folders share, and some gather what these have.
FOLDERS = {
    "core": set(),
    "core.coding": {"core"},
    "core.search": {"core"},
    "core.predict": {"core", "core.search"},
    "core.forest": {"core", "core.predict", "core.search"},
    "core.tree": {"core", "core.forest"},
    "core.grow": {"core", "core.search", "core.tree"},
    "core.boost": {"core", "core.coding", "core.predict", "core.search", "core.tree"},
    "estimators.data": {"estimators"},
    "estimators.results": {"estimators", "estimators.data"},
    "estimators.targets": {"estimators", "estimators.data", "estimators.results"},
    "estimators.forest": {"estimators", "estimators.data", "estimators.results", "estimators.targets"},
    "estimators.boosting": {
        "estimators", "estimators.data", "estimators.forest", "estimators.results", "estimators.targets",
    },
    "estimators.auto": {"estimators", "estimators.boosting", "estimators.data", "estimators.forest"},
    "estimators.causal": {
        "estimators", "estimators.auto", "estimators.data", "estimators.forest", "estimators.results", "estimators.targets",
    },
    "inspection": set(),
    "inspection.report": {"inspection"},
    "inspection.table": {"inspection"},
}
# Modules that look further. Pickles name the second and the last one, so that they stay where they are.
FURTHER = {
    "core.data": {"core.coding.coded_columns"},
    "core.objective": {"core.predict.packing", "core.predict.survival", "core.search.criteria", "core.search.outputs"},
    "core.loops": {"core.predict.walk", "core.search.sums"},  # records that loops work on
    "estimators.results.neighbours": {"estimators.forest.batch"},
}
# What the headers of a folder may include: those of others, and their own.
HEADERS = {
    "rules": set(),
    "core/search": {"core", "rules"},
    "core/predict": {"core", "core/search", "rules"},
    "core/grow": {"core", "core/search", "rules"},
    "core/boost": {"core", "core/search", "rules"},
    "core": {"core/boost", "core/grow", "core/predict", "core/search", "rules"},  # loops.h has the loops of all of them
    "engines/device/kernels": {"core/predict", "rules"},
    "backends/host": {"engines/device/kernels"},
    "backends/sycl": {"engines/device/kernels"},
}

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


def folder_of(name):
    """The folder in which a module lies: "core.search" of "core.search.cuts"."""
    is_folder = PACKAGE.joinpath(*name.split(".")).is_dir()
    return name if is_folder else name.rpartition(".")[0]


@pytest.mark.parametrize("folder", FOLDERS)
def test_folders_know_those_before_them(folder):
    here = PACKAGE.joinpath(*folder.split("."))
    paths = [path for kind in ("py", "pyx", "pxd") for path in here.glob(f"*.{kind}")]
    assert paths
    beyond = set()
    for path in paths:
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for other in imported(path) - FURTHER.get(name, set()):
            if folder_of(other) in FOLDERS.keys() - FOLDERS[folder] - {folder} and is_within(other, {folder.split(".")[0]}):
                beyond.add((name, other))
    assert not beyond


def test_all_folders_are_read_and_none_looks_further_than_it_must():
    there = {".".join(path.relative_to(PACKAGE).parts) for path in PACKAGE.rglob("*") if (path / "__init__.py").is_file()}
    assert {name for name in there if is_within(name, {"core", "estimators", "inspection"})} - {"estimators"} == FOLDERS.keys()
    for name, others in FURTHER.items():
        paths = [path for kind in ("py", "pyx", "pxd") for path in PACKAGE.glob(f"{name.replace('.', '/')}.{kind}")]
        assert others <= set().union(*map(imported, paths)), name


def headers_of(path):
    """The headers of dforest that a file includes, as paths from the package on."""
    found = re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
    ways = ([path.parent / name, PACKAGE / name, PACKAGE / "backends" / "sycl" / name] for name in found)
    return {str(way.resolve().relative_to(PACKAGE)) for several in ways for way in several if way.is_file()}


NATIVE = sorted(path for kind in ("h", "hpp", "c", "cpp") for path in PACKAGE.rglob(f"*.{kind}") if headers_of(path))


@pytest.mark.parametrize("path", NATIVE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_header_knows_the_layers_below_it(path):
    folder = str(path.relative_to(PACKAGE).parent)
    beyond = {name for name in headers_of(path) if str(Path(name).parent) not in HEADERS[folder] | {folder}}
    assert not beyond


def test_headers_include_each_other_in_no_circle():
    assert not circle_of({str(path.relative_to(PACKAGE)): headers_of(path) for path in NATIVE})


def circle_of(others):
    """What is left of a graph if those that point to none that is left are taken away, again and again."""
    waiting = dict(others)
    while done := [name for name, known in waiting.items() if not known & waiting.keys()]:
        for name in done:
            del waiting[name]
    return waiting


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
    assert not circle_of(waiting)


def test_what_is_compiled_against_is_installed():
    """All declarations and headers of the core, but for one of loops that no module outside uses."""
    core = PACKAGE / "core"
    listed = set(re.findall(r"'([\w.]+)'", (core / "meson.build").read_text(encoding="utf-8").partition("installed = {")[2]))
    there = {path.name for kind in ("*.pxd", "*.h") for path in core.rglob(kind)}
    assert there - listed == {"regions.h"}
