"""What estimators are made of as JSON, and back.

A *value* is what JSON has no word for, written as an object of one entry, whose name is its *tag*:

    {"tuple": [1, 2]}    {"array": "forest/seeds"}    {"dict": [["a", 1], [0, 2]]}    {"Bootstrap": {"n_draws": 150}}
    {"metric": "log_loss"}    {"scorer": "roc_auc"}    {"date": ["2031-01-30"]}

None, truth values, finite numbers, texts and lists are themselves. Arrays of numbers are kept beside the JSON, by name; those of
texts or objects are lists.

A `ValueWriter` (`dforest.interchange.storage.writer`) collects the arrays. A `ValueReader` makes objects of those classes alone
that are listed here or in `labels`, or handed to it, and knows functions that are handed to it, metrics that `sklearn.metrics`
lists, and scorers that it has by name: no name of the file is looked up anywhere else. Each class gets what its constructor
checks, or is checked by whoever reads a whole model. The module of a class is imported when a value of the class is read, so that
what predicts is read with NumPy alone.
"""

import inspect
from functools import cache, partial
from importlib import import_module

import numpy as np

from dforest.core.component import Component
from dforest.interchange.storage import labels

# Where classes are defined whose objects are records.
_RECORDS = {
    "dforest.core.boost.constraints": "Constraints",
    "dforest.core.draws": "Groups Strata",
    "dforest.core.effects": "Moments",
    "dforest.core.halves": "HonestHalf LittleBags",
    "dforest.core.objective": (
        "ClassObjective EffectObjective LinearSumObjective MultiOutputClassObjective MultiOutputNumberObjective "
        "MultiOutputSumObjective NumberObjective PathObjective SumObjective SurvivalObjective UpliftObjective"
    ),
    "dforest.core.sampling": "AllRows Bootstrap DrawnElsewhere Subsample WithLabelOrder",
    "dforest.core.search.projections": "Projections",
    "dforest.core.sparse_rows": "SparseRows",
    "dforest.engines.fit_report": "FitReport",
    "dforest.engines.rows": "RowShare",
    "dforest.engines.weights": "ClassBalance",
    "dforest.estimators.boosting.losses": "Loss OwnLoss",
    "dforest.estimators.data.features": "Features",
    "dforest.estimators.forest.batch": "Batch",
    "dforest.estimators.results.neighbours": "TrainingData",
    "dforest.estimators.results.survival": "LeafCurves",
    "dforest.sampling": "BlockSampling GroupSampling RowSampling StratifiedSampling WeightedSampling",
}
# Splitters, criteria and losses of dforest.
_BUILT_IN = {
    "dforest.core.boost.distributions": "Gamma LogNormal NegativeBinomial Normal StudentT ZeroInflatedPoisson",
    "dforest.core.boost.loss": "Loss",
    "dforest.core.boost.ranking": "LambdaRank PairwiseRank",
    "dforest.core.search.absolute_error": "AbsoluteError",
    "dforest.core.search.criterion": "ClassCriterion Criterion Entropy Gini Hellinger",
    "dforest.core.search.dense": "DenseSplitter RandomDenseSplitter",
    "dforest.core.search.heterogeneity": "Heterogeneity",
    "dforest.core.search.isolation": "ExtendedSplitter PathLength",
    "dforest.core.search.logrank": "LogRank LogRankScore",
    "dforest.core.search.oblique": "ObliqueSplitter",
    "dforest.core.search.regression": "NumberCriterion Poisson SquaredError",
    "dforest.core.search.splitter": "HistSplitter RandomHistSplitter RandomSplitter Splitter",
    "dforest.core.search.uplift": "ChiSquaredUplift EuclideanUplift KullbackLeiblerUplift UpliftCriterion",
    "dforest.criterion": "PythonCriterion",
    "dforest.distribution": "PythonDistribution",
    "dforest.loss": "PythonLoss",
    "dforest.splitter": "PythonSplitter",
}
RECORDS, BUILT_IN = ({name: home for home, names in table.items() for name in names.split()} for table in (_RECORDS, _BUILT_IN))
_BIT_GENERATORS = "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"  # of NumPy
_MAX_DEPTH = 64  # of values in values
_FREE_BYTES = 1 << 20  # of an array of texts


def class_of(name, homes):
    """The class that `RECORDS` or `BUILT_IN` has by a name. KeyError: there is none."""
    return getattr(import_module(homes[name]), name)


def is_among(cls, homes):
    """Whether a class is one of `RECORDS` or `BUILT_IN`, and not another one of its name."""
    return homes.get(cls.__name__) == cls.__module__


@cache
def metrics():
    """The metrics of scikit-learn by their names."""
    module = import_module("sklearn.metrics")
    return {name: given for name in module.__all__ if inspect.isfunction(given := getattr(module, name))}


def name_of(given):
    """What a file calls a class or function of the user's own: its qualified name, without that of its module."""
    return given.__qualname__


def is_modest(kind, texts):
    """Whether an array of texts takes no more memory than texts in a file may ask for."""
    return kind.itemsize * len(texts) <= _FREE_BYTES + 64 * sum(map(len, texts))


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
            "built_in": lambda content: self._component(class_of(content[0], BUILT_IN), content[1]),
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
            "sparse": self._sparse,
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
            if tag in RECORDS:
                return self._record(class_of(tag, RECORDS), content)
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
        if not hasattr(cls, "__setstate__"):
            return cls(**parts)
        record = cls.__new__(cls)
        record.__setstate__(parts)
        return record

    def _component(self, given, parameters):
        if parameters is None:
            return given
        if not (isinstance(given, type) and (issubclass(given, Component) or issubclass(given, _sampling()))):
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

    def _sparse(self, content):
        values, columns, starts, shape = self._items(content)
        matrix = import_module("scipy.sparse").csr_array((values, columns, starts), shape=tuple(shape))
        matrix.check_format()
        return matrix

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


def _sampling():
    return import_module("dforest.sampling").Sampling


def _metric(content):
    if content not in metrics():
        raise ValueError(f"it needs the metric {content!r}, which this version of scikit-learn does not have")
    return metrics()[content]


def _scorer(content):
    module = import_module("sklearn.metrics")
    if content not in module.get_scorer_names():
        raise ValueError(f"it needs the scorer {content!r}, which this version of scikit-learn does not have")
    return module.get_scorer(content)


def _float(content):
    if content not in ("nan", "inf", "-inf"):
        raise ValueError(f"it has {content!r} in place of nan, inf or -inf")
    return float(content)


def _texts(content):
    kind, shape, texts = content
    kind = np.dtype(kind)
    if kind.kind not in "US" or not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"it has texts of the type {kind}")
    if not is_modest(kind, texts):
        raise ValueError(f"it has {len(texts)} texts of the type {kind}")
    array = np.array([text.encode("latin-1") for text in texts] if kind.kind == "S" else texts, kind)
    return array.reshape(shape)
