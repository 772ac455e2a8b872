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
from importlib.metadata import version

from sklearn import config_context
from sklearn.utils.validation import check_is_fitted

from dforest.estimators.data.given import file_path_of
from dforest.estimators.data.validation import count_threads
from dforest.estimators.declaration import with_new_names
from dforest.estimators.kinds import Blend
from dforest.interchange.storage.container import write_container
from dforest.interchange.storage.file import FORMAT_VERSION, check_flag, read_file
from dforest.interchange.storage.trees import read_forest, trees_of
from dforest.interchange.storage.values import name_of
from dforest.interchange.storage.writer import ValueWriter
from dforest.public import ESTIMATORS, HOMES, public

# Attributes that are not written as they are: the forest; callbacks, which are of a fit and not of its model; and requests.
_ELSEWHERE = ("forest_", "_skl_callbacks", "_metadata_request", "_progress")


def save(estimator, path, serving):
    """Write a fitted estimator to a file: see `dforest.estimators.model.Model.save`."""
    check_is_fitted(estimator)
    estimator._validate_params()
    path = file_path_of(path)
    check_flag("serving", serving)
    writer = ValueWriter()
    model = _model_of(estimator, serving, writer, "")
    texts = {
        "format": "dforest",
        "format_version": str(FORMAT_VERSION),
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
        "parameters": writer.write_fields(parameters, f"{prefix}parameters"),
        "attributes": writer.write_fields(attributes, f"{prefix}attributes"),
        "routing": writer.write_fields(_requests_of(estimator), f"{prefix}routing"),
    }
    if members is not None:
        return model | {"members": [_model_of(one, serving, writer, f"{prefix}members.{i}.") for i, one in enumerate(members)]}
    return model | trees_of(estimator.forest_, getattr(estimator, "voting", "soft"), serving, writer, prefix)


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
    return read_file(path, mmap, components, count_threads(-1), _read_model)


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
        attributes["forest_"] = read_forest(container, reader, model, mmap, prefix)
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


def _request(estimator, requests):
    """Ask for metadata as the estimator did that was saved."""
    with config_context(enable_metadata_routing=True):
        for method, requested in requests.items():
            if method not in ("fit", "predict", "score", "transform", "partial_fit"):
                raise ValueError(f"it requests metadata for {method!r}, which estimators don't have")
            getattr(estimator, f"set_{method}_request")(**requested)
