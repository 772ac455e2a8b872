"""Fitted estimators as model files.

A file has four texts, "format", "format_version", "dforest_version" and "model", and the arrays that the last one refers to. The
model is JSON:

    estimator    the name of its class, or {"own": name}
    parameters   values by name
    attributes   what `fit` set, by name, but for the forest
    routing      what was requested of metadata routing, by method
    forest       settings of the forest, whose plans are pairs [plan, how many trees in a row have it]
    packed       {"voting", "is_wide", "n_steps"} if the file has packed trees, else null

A blend of estimators has in place of the last two

    members      models of its `estimators_`

and the arrays that the model of the member i refers to have names that begin with "members.i.".

In version 1 of the format, the settings of a forest had `weight_exponent`, n for a `weight_unit` of 2**-n, and there was no
"packed.bounds".

`dforest.interchange.storage.values` says what values are. The arrays of trees are those of `dforest.core.forest.state`, named
"trees.feature" and so on; those of packed trees (`PackedArrays`) "packed.slots" and so on, one slot a row.

A file that is mapped is kept by whatever uses a part of it: the packed forest, the arrays among the attributes, and the forest
until its trees have been read.
"""

import json
import sys
from importlib.metadata import version
from itertools import groupby

import numpy as np
from sklearn import config_context
from sklearn.utils.validation import check_is_fitted

from dforest.core.class_lists import ClassLists
from dforest.core.forest.arrays import Forest
from dforest.core.forest.state import shrink
from dforest.core.predict.packing import PackedArrays, bounds_of_means, slot_bits, slot_size
from dforest.errors import ModelFileError
from dforest.estimators.data.given import file_path_of
from dforest.estimators.data.validation import count_threads
from dforest.estimators.declaration import with_new_names
from dforest.estimators.kinds import Blend
from dforest.interchange.storage.container import Container, write_container
from dforest.interchange.storage.values import ValueReader, ValueWriter, name_of
from dforest.public import ESTIMATORS, HOMES, public

_FORMAT_VERSION = 2
_READ_VERSIONS = ("1", "2")
# Attributes that are not written as they are: the forest; callbacks, which are of a fit and not of its model; and requests.
_ELSEWHERE = ("forest_", "_skl_callbacks", "_metadata_request", "_progress")
_WRONG = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError)


def save(estimator, path, serving):
    """Write a fitted estimator to a file: see `dforest.estimators.model.Model.save`."""
    check_is_fitted(estimator)
    estimator._validate_params()
    path = file_path_of(path)
    _check_flag("serving", serving)
    writer = ValueWriter()
    model = _model_of(estimator, serving, writer, "")
    texts = {
        "format": "dforest",
        "format_version": str(_FORMAT_VERSION),
        "dforest_version": version("dforest"),
        "model": json.dumps(model, allow_nan=False, separators=(",", ":")),
    }
    write_container(path, texts, writer.arrays)


def _model_of(estimator, serving, writer, prefix):
    """What a file says of an estimator; the arrays go to the writer, by names that begin with a prefix."""
    parameters, state = estimator.get_params(deep=False), estimator.__getstate__()
    attributes = {name: value for name, value in state.items() if name not in parameters and name not in _ELSEWHERE}
    members = None
    if isinstance(estimator, Blend):
        members = attributes.pop("estimators_")
    _check_names(type(estimator), attributes)
    model = {
        "estimator": _kind_of(estimator),
        "parameters": _written(writer, parameters, f"{prefix}parameters"),
        "attributes": _written(writer, attributes, f"{prefix}attributes"),
        "routing": _written(writer, _requests_of(estimator), f"{prefix}routing"),
    }
    if members is not None:
        return model | {"members": [_model_of(one, serving, writer, f"{prefix}members.{i}.") for i, one in enumerate(members)]}
    return model | _trees_of(estimator, serving, writer, prefix)


def _trees_of(estimator, serving, writer, prefix):
    """What a file says of the trees of an estimator."""
    forest = estimator.forest_
    settings = forest.settings()
    settings["plans"] = [[plan, len(list(run))] for plan, run in groupby(settings["plans"])]
    packed = None
    if serving:
        voting = getattr(estimator, "voting", "soft")
        packed = {"voting": voting, **_keep_packed(forest.packed(voting).arrays(), writer.arrays, prefix)}
    found = {"forest": _written(writer, settings, f"{prefix}forest"), "packed": packed}
    writer.arrays[f"{prefix}forest.node_offsets"] = forest.node_offsets
    trees = shrink(forest.as_dict())
    del trees["node_offsets"]
    writer.arrays |= {f"{prefix}trees.{name}": array for name, array in trees.items()}
    return found


def _check_flag(name, flag):
    if not isinstance(flag, bool | np.bool_):
        raise ValueError(f"{name}={flag!r}; allowed are True and False")


def _check_names(cls, attributes):
    """Raise ValueError if an attribute would hide what a class has, but for values in a user's class and parameters' defaults."""
    for name in attributes:
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if owner is None:
            continue
        is_value = not callable(vars(owner)[name]) and not hasattr(vars(owner)[name], "__get__")
        is_default = name in cls._defaults or not owner.__module__.startswith(("dforest.", "sklearn."))
        if name.startswith("__") or not (is_value and is_default):
            raise ValueError(f"the attribute {name!r} would hide what the class {cls.__name__} has")


def _written(writer, values, prefix):
    return {name: writer.write(value, f"{prefix}.{name}") for name, value in values.items()}


def _kind_of(estimator):
    """The name of an estimator's class. Those that only fit elsewhere, on several ranks say, leave models of their base class."""
    for cls in type(estimator).__mro__:
        if HOMES.get(cls.__name__) == cls.__module__:
            return cls.__name__
        if not cls.__module__.startswith("dforest."):
            return {"own": name_of(cls)}
    raise ValueError(f"estimators of the class {type(estimator).__name__} can't be saved to a model file")


def _requests_of(estimator):
    """What metadata routing was asked for, by method: dict of dict."""
    requested = vars(estimator).get("_metadata_request")
    by_method = {} if requested is None else vars(requested)
    return {method: dict(request.requests) for method, request in by_method.items() if getattr(request, "requests", None)}


def _keep_packed(packed, arrays, prefix):
    """Add the arrays of packed trees to others; returns what else there is to know of them."""
    slots = packed.slots.view(np.uint8).reshape(-1, slot_size(packed.is_wide))
    kept = packed._asdict() | {"slots": slots}
    if isinstance(packed.values, ClassLists):
        kept |= {f"value_{part}": getattr(packed.values, part) for part in _LISTS} | {"values": None}
    arrays |= {f"{prefix}packed.{name}": kept[name] for name in (*_PACKED, *_VALUE_LISTS) if kept.get(name) is not None}
    return {"is_wide": packed.is_wide, "n_steps": packed.n_steps}


_PACKED = ("slots", "words", "n_first", "depth", "values", "bases", "bounds")
_LISTS = ("starts", "classes", "values")
_VALUE_LISTS = tuple(f"value_{part}" for part in _LISTS)  # in place of "values", of leaves that list their classes


def load(path, mmap=True, components=()):
    """Read an estimator from a file that its method `save` wrote.

    No code of the file is run, and no class is imported because the file names it. Everything is checked before it is used; a
    damaged file raises ModelFileError. A damaged length can't make `load` reserve more memory than the file's arrays fill. The
    trees of large forests take four to eight times as many bytes as in the file, and twice as many while they are read.

    Parameters
    ----------
    path : str or path-like
        The file.
    mmap : bool, default=True
        Whether to map the file into memory instead of copying it. Processes that map one file share its memory. If the file was
        written with ``serving=True``, the estimator predicts from that memory. The trees themselves then stay in the file until
        something else needs them, such as importances; they are checked only then, which may raise ModelFileError. If False,
        trees are read and checked at once, and packed for prediction when they first predict.
    components : sequence, default=()
        What a file can't hold: classes of splitters, criteria and losses of your own that the estimator was fitted with,
        functions among its parameters, and its own class, if that is a subclass of one of dforest's. They are found by their
        ``__qualname__``.

    Returns
    -------
    estimator
        A fitted estimator of the class that was saved, whose predictions have the same bits.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, was written in a later version of the format, or needs a component that is
        not given.
    OSError
        If there is no such file, or if it can't be read.
    ValueError
        If `path` is a folder, a device or a pipe, or if another argument is not as described.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import dforest
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = dforest.RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "iris.safetensors")
    ...     forest.save(path)
    ...     again = dforest.load(path)
    >>> bool((again.predict_proba(X) == forest.predict_proba(X)).all())
    True
    """
    path = file_path_of(path)
    _check_flag("mmap", mmap)
    for component in components:
        if not callable(component) or not hasattr(component, "__qualname__"):
            raise ValueError(f"components holds {component!r}; allowed are classes and functions")
    container = Container(path, count_threads(-1))
    try:
        return _read(container, mmap, components)
    except ModelFileError:
        raise
    except _WRONG as error:
        raise container.error(f"{error}" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}") from error


def _read(container, mmap, components):
    texts = container.texts
    if texts.get("format") != "dforest":
        raise ValueError("it does not contain a model of dforest")
    if texts.get("format_version") not in _READ_VERSIONS:
        raise ValueError(
            f"it was written by dforest {texts.get('dforest_version')} in version {texts.get('format_version')} of the format; "
            f"this is dforest {version('dforest')}, which reads the versions {' and '.join(_READ_VERSIONS)}"
        )
    reader = ValueReader(container.array if mmap else lambda name: container.array(name).copy(), components)
    return _read_model(json.loads(texts["model"]), container, reader, mmap, "")


def _read_model(model, container, reader, mmap, prefix):
    """The estimator that a file has a model of, given how the names of its arrays begin."""
    cls = _class_of(model["estimator"], reader)
    parameters, attributes = with_new_names(reader.fields(model["parameters"])), reader.fields(model["attributes"])
    _check_names(cls, attributes)
    estimator = cls(**parameters)
    if issubclass(cls, Blend):
        attributes["estimators_"] = [
            _read_model(part, container, reader, mmap, f"{prefix}members.{i}.") for i, part in enumerate(model["members"])
        ]
    else:
        attributes["forest_"] = _read_forest(container, reader, model, mmap, prefix)
    estimator.__setstate__({**vars(estimator), **parameters, **attributes})
    estimator._validate_params()
    _request(estimator, reader.fields(model["routing"]))
    return estimator


def _class_of(name, reader):
    if isinstance(name, str):
        if name not in ESTIMATORS:
            raise KeyError(name)
        return public(name)
    cls = reader.own(name["own"])
    if not (isinstance(cls, type) and any(HOMES.get(base.__name__) == base.__module__ for base in cls.__mro__)):
        raise TypeError(f"components has {cls!r}, but the file needs a class of estimators")
    return cls


def _read_forest(container, reader, model, mmap, prefix):
    settings = reader.fields(model["forest"])
    if "weight_exponent" in settings:  # version 1 of the format
        settings["weight_unit"] = np.ldexp(1.0, -settings.pop("weight_exponent").astype(np.int64))
    settings["plans"] = _repeated(settings["plans"], len(settings["seeds"]))
    offsets, packed = container.array(f"{prefix}forest.node_offsets"), model["packed"]
    names = {name.removeprefix(f"{prefix}trees."): name for name in container.names(f"{prefix}trees.")}

    def read():
        return {name: container.array(stored) for name, stored in names.items()}

    if not mmap:
        offsets = offsets.copy()
    if packed is None or not mmap or sys.byteorder != "little":
        return Forest.stored(offsets, settings, read, container.error)
    if packed["voting"] not in ("soft", "hard"):
        raise ValueError(f"trees are packed for voting={packed['voting']!r}")
    arrays = _packed_arrays(container, packed, offsets, settings, f"{prefix}packed.")
    return Forest.stored(offsets, settings, read, container.error, packed["voting"], arrays, container.n_threads)


def _repeated(plans, n_trees):
    """A plan for each tree."""
    if any(type(count) is not int or count < 1 for _, count in plans) or sum(count for _, count in plans) != n_trees:
        raise ValueError(f"plans are not those of {n_trees} trees")
    return tuple(plan for plan, count in plans for _ in range(count))


def _packed_arrays(container, packed, offsets, settings, prefix):
    arrays = dict.fromkeys(_PACKED)
    arrays.update((name.removeprefix(prefix), container.array(name)) for name in container.names(prefix))
    lists = [arrays.pop(name) for name in _VALUE_LISTS if name in arrays]
    if lists:
        arrays["values"] = ClassLists(*lists, settings["objective"].n_values)
    elif settings["objective"].lists_classes:  # written when leaves did not list their classes yet
        arrays["values"] = ClassLists.of(arrays["values"])
    is_wide, slots = bool(packed["is_wide"]), arrays["slots"]
    if slots.dtype != np.uint8 or slots.shape[1:] != (slot_size(is_wide),):
        raise ValueError(f"slots have the type {slots.dtype} and the shape {slots.shape}")
    arrays["slots"] = slots.reshape(-1).view(np.int8)
    starts = offsets + np.arange(len(offsets))
    if container.texts["format_version"] == "1":
        arrays["bounds"] = bounds_of_means(settings["objective"], arrays["values"])
    return PackedArrays(
        **arrays, starts=starts, bits=slot_bits(settings["n_features"], is_wide), is_wide=is_wide, n_steps=packed["n_steps"]
    )


def _request(estimator, requests):
    """Ask for metadata as the estimator did that was saved."""
    with config_context(enable_metadata_routing=True):
        for method, requested in requests.items():
            if method not in ("fit", "predict", "score", "transform", "partial_fit"):
                raise ValueError(f"it requests metadata for {method!r}, which estimators don't have")
            getattr(estimator, f"set_{method}_request")(**requested)
