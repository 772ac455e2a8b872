"""What estimators are made of as JSON, and back.

A *value* is what JSON has no word for, written as an object of one entry, whose name is its *tag*:

    {"tuple": [1, 2]}    {"array": "forest/seeds"}    {"dict": [["a", 1], [0, 2]]}    {"Bootstrap": {"n_draws": 150}}
    {"metric": "log_loss"}    {"scorer": "roc_auc"}    {"date": ["2031-01-30"]}

None, truth values, finite numbers, texts and lists are themselves. Arrays of numbers are kept beside the JSON, by name; those of
texts or objects are lists.

A `ValueWriter` collects the arrays. A `ValueReader` makes objects of those classes alone that are listed here or in `labels`, or
handed to it, and knows functions that are handed to it, metrics that `sklearn.metrics` lists, and scorers that it has by name: no
name of the file is looked up anywhere else. Each class gets what its constructor checks, or is checked by whoever reads a
whole model.
"""

import inspect
import math
from dataclasses import fields, is_dataclass
from functools import partial

import numpy as np
from sklearn import metrics

from dforest import criterion, loss, splitter
from dforest.core.boost.constraints import Constraints
from dforest.core.component import Component
from dforest.core.draws import Groups, Strata
from dforest.core.objective import OBJECTIVES
from dforest.core.sampling import AllRows, Bootstrap, DrawnElsewhere, SamplingPlan, Subsample, WithLabelOrder
from dforest.core.search.criteria import CRITERIA
from dforest.core.search.isolation import ExtendedSplitter
from dforest.core.sparse_rows import SparseRows
from dforest.engines.fit_report import FitReport
from dforest.engines.rows import RowShare
from dforest.engines.weights import ClassBalance
from dforest.estimators.boosting.losses import Loss, OwnLoss
from dforest.estimators.data.features import Features
from dforest.estimators.forest.batch import Batch
from dforest.estimators.results.neighbours import TrainingData
from dforest.estimators.results.survival import LeafCurves
from dforest.estimators.scoring import SCORER
from dforest.interchange.storage import labels
from dforest.interchange.storage.container import is_storable
from dforest.sampling import BlockSampling, GroupSampling, RowSampling, Sampling, StratifiedSampling, WeightedSampling

_RECORDS = {
    cls.__name__: cls
    for cls in (
        *OBJECTIVES, AllRows, Batch, BlockSampling, Bootstrap, ClassBalance, Constraints, DrawnElsewhere, Features, FitReport,
        Groups, GroupSampling, LeafCurves, Loss, OwnLoss, RowSampling, RowShare, SparseRows, Strata, StratifiedSampling,
        Subsample, TrainingData, WeightedSampling, WithLabelOrder,
    )
}  # fmt: skip
# Splitters, criteria and losses of dforest, by the names of their classes.
_BUILT_IN = {
    cls.__name__: cls
    for cls in [
        ExtendedSplitter, *CRITERIA.values(),
        *(getattr(module, name) for module in (criterion, loss, splitter) for name in module.__all__),
    ]
    if isinstance(cls, type) and issubclass(cls, Component)
}  # fmt: skip
CLASSES = [*_RECORDS.values(), *_BUILT_IN.values()]
_METRICS = {name: given for name in metrics.__all__ if inspect.isfunction(given := getattr(metrics, name))}
_BIT_GENERATORS = "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"  # of NumPy
_MAX_DEPTH = 64  # of values in values
_FREE_BYTES = 1 << 20  # of an array of texts


def name_of(given):
    """What a file calls a class or function of the user's own: its qualified name, without that of its module."""
    return given.__qualname__


def _scorer_name(given):
    """What scikit-learn calls a scorer; None if it is none of those that have names."""
    for name in metrics.get_scorer_names():
        known = metrics.get_scorer(name)
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


def _is_modest(kind, texts):
    """Whether an array of texts takes no more memory than texts in a file may ask for."""
    return kind.itemsize * len(texts) <= _FREE_BYTES + 64 * sum(map(len, texts))


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
        if _RECORDS.get(type(value).__name__) is type(value):
            return {type(value).__name__: self._write_fields(_fields_of(value), name)}
        if (found := labels.parts_of(value)) is not None:
            tag, parts = found
            return {tag: [self.write(part, name) for part in parts]}
        return self._write_named(value, name)

    def _write_fields(self, parts, name):
        return {key: self.write(part, f"{name}.{key}") for key, part in parts.items()}

    def _write_named(self, value, name):
        """What is found by the name of its class, or its own."""
        if isinstance(value, Component):
            cls = type(value)
            known = _BUILT_IN.get(cls.__name__) is cls
            parameters = self._write_fields(value.get_params(), name)
            return {"built_in" if known else "own": [cls.__name__ if known else name_of(cls), parameters]}
        if isinstance(value, Sampling) and is_dataclass(value):
            return {"own": [name_of(type(value)), self._write_fields(_fields_of(value), name)]}
        if isinstance(value, type) and _BUILT_IN.get(value.__name__) is value:
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
        if inspect.isfunction(value) and _METRICS.get(value.__name__) is value:
            return {"metric": value.__name__}
        if callable(value) and hasattr(value, "__qualname__"):
            return {"own": [name_of(value), None]}
        raise ValueError(
            f"{name}={value!r} can't be written to a model file; allowed are numbers, texts, dates and times, arrays, classes, "
            "functions, splitters, criteria, losses and samplings that are dataclasses, and what is made of these"
        )

    def _write_array(self, array, name):
        if array.dtype == object and array.ndim == 1:
            return {"objects": [self.write(item, f"{name}.{i}") for i, item in enumerate(array.tolist())]}
        if array.dtype.kind in "US":
            texts = [text.decode("latin-1") if array.dtype.kind == "S" else text for text in array.reshape(-1).tolist()]
            kind = array.dtype if _is_modest(array.dtype, texts) else np.array(texts, array.dtype.kind).dtype
            return {"texts": [kind.newbyteorder("<").str, list(array.shape), texts]}
        if array.dtype.kind in "mM":
            return {"times": [array.dtype.str, self._write_array(array.view(np.int64), name)]}
        if not is_storable(array.dtype):
            raise ValueError(f"{name} is an array of {array.dtype}; a model file can't contain numbers of this type")
        while name in self.arrays:
            name += "'"
        self.arrays[name] = array
        return {"array": name}


class ValueReader:
    """Makes values of JSON.

    Parameters
    ----------
    array_of : callable
        What returns an array, given its name.
    components : sequence of type or callable
        The user's own splitters, criteria, losses and functions, of which some the file may name.
    """

    def __init__(self, array_of, components):
        self._components = {name_of(component): component for component in components}
        self._depth = 0
        self._readers = {
            "Generator": self._generator,
            "RandomState": self._random_state,
            "array": array_of,
            "bytes": lambda content: content.encode("latin-1"),
            "built_in": lambda content: self._component(_BUILT_IN[content[0]], content[1]),
            "dict": lambda content: {self.read(key): self.read(item) for key, item in content},
            "float": _float,
            "frozenset": lambda content: frozenset(self._items(content)),
            "metric": _metric,
            "objects": self._objects,
            "own": lambda content: self._component(self.own(content[0]), content[1]),
            "partial": self._partial,
            "scalar": self._scalar,
            "scorer": _scorer,
            "set": lambda content: set(self._items(content)),
            "texts": _texts,
            "times": self._times,
            "tuple": lambda content: tuple(self._items(content)),
        }

    def read(self, written):
        """The value. Raises TypeError, ValueError, KeyError or IndexError if it is not what `ValueWriter.write` gives."""
        if not isinstance(written, list | dict):
            return written
        if self._depth == _MAX_DEPTH:
            raise ValueError(f"values are nested more than {_MAX_DEPTH} times")
        self._depth += 1
        try:
            if isinstance(written, list):
                return [self.read(item) for item in written]
            ((tag, content),) = written.items()
            if tag in _RECORDS:
                return self._record(_RECORDS[tag], content)
            if tag in self._readers:
                return self._readers[tag](content)
            if tag in labels.TAGS:
                return labels.label_of(tag, self._items(content))
            raise ValueError(f"it holds a {tag!r}, which this version of dforest does not know")
        finally:
            self._depth -= 1

    def fields(self, content):
        """Values by name, of an object that has no tag: dict."""
        if not isinstance(content, dict):
            raise TypeError(f"it has a {type(content).__name__} in place of values by name")
        return {name: self.read(part) for name, part in content.items()}

    def own(self, name):
        """What the user has handed in by a name."""
        if name not in self._components:
            raise ValueError(f"it needs {name!r}, which is not part of dforest; pass it to load: components=[{name}]")
        return self._components[name]

    def _record(self, cls, content):
        parts = self.fields(content)
        if cls is not Features:
            return cls(**parts)
        features = Features.__new__(Features)
        features.__setstate__(parts)
        return features

    def _component(self, given, parameters):
        if parameters is None:
            return given
        if not (isinstance(given, type) and issubclass(given, Component | Sampling)):
            raise TypeError(f"components has {given!r}, but the file needs a class of splitters, criteria, losses or samplings")
        return given(**self.fields(parameters))

    def _items(self, content):
        if not isinstance(content, list):
            raise TypeError(f"it has a {type(content).__name__} in place of a list")
        return self.read(content)

    def _objects(self, content):
        items = self._items(content)
        return np.fromiter(items, object, len(items))

    def _partial(self, content):
        (function, *arguments), keywords = self._items(content)
        return partial(function, *arguments, **keywords)

    def _scalar(self, content):
        array = self.read(content)
        if not isinstance(array, np.ndarray) or array.shape != ():
            raise ValueError(f"it has {array!r} in place of a scalar")
        return array[()]

    def _times(self, content):
        kind, array = np.dtype(content[0]), self.read(content[1])
        if kind.kind not in "mM" or not isinstance(array, np.ndarray) or array.dtype != np.int64:
            raise ValueError(f"it has times of the type {kind}")
        return array.view(kind)

    def _generator(self, content):
        state = self.read(content)
        if state["bit_generator"] not in _BIT_GENERATORS:
            raise ValueError(f"it has a Generator of {state['bit_generator']!r}; known are {', '.join(_BIT_GENERATORS)}")
        generator = np.random.Generator(getattr(np.random, state["bit_generator"])())
        generator.bit_generator.state = state
        return generator

    def _random_state(self, content):
        state = np.random.RandomState()
        state.set_state(self.read(content))
        return state


def _metric(content):
    if content not in _METRICS:
        raise ValueError(f"it needs the metric {content!r}, which this version of scikit-learn does not have")
    return _METRICS[content]


def _scorer(content):
    if content not in metrics.get_scorer_names():
        raise ValueError(f"it needs the scorer {content!r}, which this version of scikit-learn does not have")
    return metrics.get_scorer(content)


def _float(content):
    if content not in ("nan", "inf", "-inf"):
        raise ValueError(f"it has {content!r} in place of nan, inf or -inf")
    return float(content)


def _texts(content):
    kind, shape, texts = content
    kind = np.dtype(kind)
    if kind.kind not in "US" or not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"it has texts of the type {kind}")
    if not _is_modest(kind, texts):
        raise ValueError(f"it has {len(texts)} texts of the type {kind}")
    array = np.array([text.encode("latin-1") for text in texts] if kind.kind == "S" else texts, kind)
    return array.reshape(shape)
