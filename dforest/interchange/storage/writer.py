"""What estimators are made of, written as the JSON that `dforest.interchange.storage.values` describes."""

import inspect
import math
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import import_module

import numpy as np
import sklearn.metrics

from dforest.core.component import Component
from dforest.core.sampling import SamplingPlan
from dforest.engines.fit_report import FitReport
from dforest.engines.weights import ClassBalance
from dforest.estimators.data.features import Features
from dforest.estimators.scoring import SCORER
from dforest.interchange.storage import labels
from dforest.interchange.storage.container import is_storable
from dforest.interchange.storage.values import BUILT_IN, RECORDS, is_among, is_modest, metrics, name_of
from dforest.sampling import Sampling


def _scorer_name(given):
    """What scikit-learn calls a scorer; None if it is none of those that have names."""
    for name in sklearn.metrics.get_scorer_names():
        known = sklearn.metrics.get_scorer(name)
        if type(known) is type(given) and repr(known) == repr(given) and vars(known) == vars(given):
            return name
    return None


def _fields_of(record):
    """The fields of a record, or what else it is made of, by name: dict."""
    if isinstance(record, SamplingPlan):
        return {name: getattr(record, name) for name in record.parameters}
    if isinstance(record, ClassBalance | Features | FitReport):
        return record.__getstate__()
    if is_dataclass(record):
        return {field.name: getattr(record, field.name) for field in fields(record)}
    return record._asdict()


class ValueWriter:
    """Makes JSON of values.

    Attributes
    ----------
    arrays : dict of str to ndarray
        What the values refer to.
    """

    def __init__(self):
        self.arrays = {}

    def write(self, value, name):
        """A value as what `json.dumps` takes.

        Parameters
        ----------
        value : object
        name : str
            What messages, and arrays, are called by.

        Raises
        ------
        ValueError
            If there is no way to write the value, or a part of it.
        """
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) is bytes:
            return {"bytes": value.decode("latin-1")}
        if isinstance(value, np.generic):
            return {"scalar": self.write(np.asarray(value), name)}
        if isinstance(value, np.ndarray):
            return self._write_array(value, name)
        if type(value) in (list, tuple, set, frozenset):
            items = [self.write(item, f"{name}.{i}") for i, item in enumerate(value)]
            return items if type(value) is list else {type(value).__name__: items}
        if type(value) is dict:
            return {"dict": [[self.write(key, name), self.write(item, f"{name}.{key}")] for key, item in value.items()]}
        if is_among(type(value), RECORDS):
            return {type(value).__name__: self.write_fields(_fields_of(value), name)}
        if (found := labels.parts_of(value)) is not None:
            tag, parts = found
            return {tag: [self.write(part, name) for part in parts]}
        return self._write_named(value, name)

    def write_fields(self, parts, name):
        """Values by name, without a tag: dict."""
        return {key: self.write(part, f"{name}.{key}") for key, part in parts.items()}

    def _write_named(self, value, name):
        """What is found by the name of its class, or its own."""
        if isinstance(value, Component):
            cls = type(value)
            known = is_among(cls, BUILT_IN)
            parameters = self.write_fields(value.get_params(), name)
            return {"built_in" if known else "own": [cls.__name__ if known else name_of(cls), parameters]}
        if isinstance(value, Sampling) and is_dataclass(value):
            return {"own": [name_of(type(value)), self.write_fields(_fields_of(value), name)]}
        if isinstance(value, type) and is_among(value, BUILT_IN):
            return {"built_in": [value.__name__, None]}
        if isinstance(value, np.random.RandomState):
            return {"RandomState": self.write(value.get_state(legacy=False), name)}
        if isinstance(value, np.random.Generator):
            return {"Generator": self.write(value.bit_generator.state, name)}
        if isinstance(value, SCORER):
            if (known := _scorer_name(value)) is not None:
                return {"scorer": known}
            raise ValueError(
                f"{name}={value!r} can't be written to a model file; allowed are scorers that sklearn.metrics.get_scorer knows "
                "by name, metrics of sklearn.metrics and functools.partial of one, and functions of your own, which load then "
                "needs among its components; or call set_params with another value before save"
            )
        if isinstance(value, partial):
            parts = [value.func, *value.args], value.keywords
            return {"partial": [self.write(part, name) for part in parts]}
        if import_module("scipy.sparse").issparse(value):
            rows = value.tocsr()
            parts = rows.data, rows.indices, rows.indptr, list(map(int, rows.shape))
            return {"sparse": [self.write(part, f"{name}.{i}") for i, part in enumerate(parts)]}
        if inspect.isfunction(value) and metrics().get(value.__name__) is value:
            return {"metric": value.__name__}
        if callable(value) and hasattr(value, "__qualname__"):
            return {"own": [name_of(value), None]}
        if hasattr(value, "to_numpy") and getattr(value, "shape", ()):  # a frame or a column as a parameter, read as an array
            return self._write_array(value.to_numpy(), name)
        raise ValueError(
            f"{name}={value!r} can't be written to a model file; allowed are numbers, texts, dates and times, arrays, frames, "
            "classes, functions, splitters, criteria, losses and samplings that are dataclasses, and what is made of these"
        )

    def _write_array(self, array, name):
        if array.dtype == object and array.ndim == 1:
            return {"objects": [self.write(item, f"{name}.{i}") for i, item in enumerate(array.tolist())]}
        if array.dtype.kind in "US":
            texts = [text.decode("latin-1") if array.dtype.kind == "S" else text for text in array.reshape(-1).tolist()]
            kind = array.dtype if is_modest(array.dtype, texts) else np.array(texts, array.dtype.kind).dtype
            return {"texts": [kind.newbyteorder("<").str, list(array.shape), texts]}
        if array.dtype.kind in "mM":
            return {"times": [array.dtype.str, self._write_array(array.view(np.int64), name)]}
        if not is_storable(array.dtype):
            raise ValueError(f"{name} is an array of {array.dtype}; a model file can't contain numbers of this type")
        while name in self.arrays:
            name += "'"
        self.arrays[name] = array
        return {"array": name}
