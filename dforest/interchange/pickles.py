"""Where the classes are now that pickles of earlier versions name: modules that were moved are found under their old names."""

import sys
from importlib import import_module

_MOVED = {
    "dforest.boosting.losses": "dforest.estimators.boosting.losses",
    "dforest.estimators.embedding": "dforest.estimators.forest.embedding",
    "dforest.estimators.ensemble": "dforest.estimators.forest.batch",
    "dforest.estimators.features": "dforest.estimators.data.features",
    "dforest.estimators.memory": "dforest.estimators.forest.memory",
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


def know_moved_modules():
    """Have moved modules found by their old names, too."""
    for old, new in _MOVED.items():
        sys.modules.setdefault(old, import_module(new))
