"""Where the classes are now that pickles of earlier versions name: modules that were moved are found under their old names."""

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

_MOVED = {
    "dforest.boosting.losses": "dforest.estimators.boosting.losses",
    "dforest.estimators.embedding": "dforest.estimators.forest.embedding",
    "dforest.estimators.ensemble": "dforest.estimators.forest.batch",
    "dforest.estimators.features": "dforest.estimators.data.features",
    "dforest.estimators.neighbours": "dforest.estimators.results.neighbours",
    "dforest.estimators.tree": "dforest.estimators.forest.tree",
    "dforest.fit_report": "dforest.engines.fit_report",
    "dforest.interop": "dforest.inspection.interop",
    "dforest.report.curve": "dforest.inspection.report.curve",
    "dforest.report.displays": "dforest.inspection.report.displays",
    "dforest.report.report": "dforest.inspection.report.report",
    "dforest.rows": "dforest.engines.rows",
    "dforest.shap_values": "dforest.estimators.results.shap_values",
    "dforest.sycl.devices": "dforest.backends.devices",
    "dforest.weights": "dforest.engines.weights",
}


class _MovedModules(MetaPathFinder, Loader):
    """Finds modules by their old names, and imports them only then: some need libraries that many users do without."""

    def find_spec(self, name, path=None, target=None):
        if name in _MOVED:
            return ModuleSpec(name, self)
        if any(old.startswith(f"{name}.") for old in _MOVED):  # a folder that is no more
            return ModuleSpec(name, None, is_package=True)
        return None

    def create_module(self, spec):
        module = import_module(_MOVED[spec.name])
        spec.loader_state = module.__spec__  # as this one takes its place for the time of the import
        return module

    def exec_module(self, module):
        module.__spec__ = module.__spec__.loader_state


def know_moved_modules():
    """Have moved modules found by their old names, too."""
    sys.meta_path.append(_MovedModules())
