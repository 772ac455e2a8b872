"""What all estimators are, blends of others too: parameters, attributes that are checked when they are read, and files.

Files are written by `dforest.interchange.storage`, which is imported when it is asked for.
"""

import hashlib
import json
from functools import wraps
from importlib import import_module

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import InvalidParameterError, StrOptions, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

import dforest.built  # noqa: F401
from dforest.core.forest.digest import digest_of
from dforest.estimators.declaration import with_new_names
from dforest.estimators.kinds import Blend
from dforest.estimators.other_names import FOR_FUNCTIONS, FOR_LISTS, RESULTS, VALUES, hint, message_about
from dforest.estimators.state import check_state
from dforest.estimators.subclasses import every_parameter

# What predictions follow from besides the trees.
_TOLD = (
    "calibration_", "categories_", "classes_", "event_times_", "feature_names_in_", "offset_", "unique_times_", "voting",
    "weights_",
)  # fmt: skip


def _plain(value):
    """What JSON has words for, in place of something else."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)


class Model(BaseEstimator):
    """An estimator of dforest.

    Errors about parameters say what those of other libraries are called here. Attributes are looked at before they are taken
    from a pickle, and those left out that are none of the estimator's. Parameters that are numbers, truth values or text of
    NumPy become Python's, whoever sets them: numbers of few bits would overflow in arithmetic with others.
    """

    @wraps(BaseEstimator.set_params)
    def set_params(self, **params):
        unknown = [name for name in params if name not in self._get_param_names()]
        hints = [
            f". It is one of dforest's, which the constructor of {type(self).__name__} does not name" if name in self._defaults
            else hint(self, name)
            for name in unknown
        ]  # fmt: skip
        if any(hints):
            raise ValueError(message_about(f"{type(self).__name__}.set_params", "unknown parameter", unknown, hints))
        return super().set_params(**params)

    def __getattr__(self, name):
        if hasattr(type(self), name):  # a property that has raised AttributeError, such as NotFittedError
            return object.__getattribute__(self, name)
        known = f". {RESULTS[name]}" if name in RESULTS else ""
        if "oob_score=True" in known and "oob_score" not in type(self)._parameter_constraints:
            known = ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{known}", name=name, obj=self)

    def _validate_params(self):
        try:
            validate_parameter_constraints(self._parameter_constraints, every_parameter(self), caller_name=type(self).__name__)
        except InvalidParameterError as error:
            name = str(error).split("'")[1]
            value, names = getattr(self, name, None), VALUES.get(name, {})
            if isinstance(value, str) and value in names:
                answer = names[value]
                if " " in answer:
                    raise InvalidParameterError(f"{error} {answer}") from None
                options = (one.options for one in self._parameter_constraints[name] if isinstance(one, StrOptions))
                if any(answer in own for own in options):
                    raise InvalidParameterError(f"{error} It is called {answer!r} here") from None
            if isinstance(value, list | tuple) and name in FOR_LISTS:
                raise InvalidParameterError(f"{error} {FOR_LISTS[name]}") from None
            if callable(value) and name in FOR_FUNCTIONS:
                raise InvalidParameterError(f"{error} {FOR_FUNCTIONS[name]}") from None
            raise

    def __setattr__(self, name, value):
        if isinstance(value, np.generic) and name in self._parameter_constraints:
            value = float(value) if isinstance(value, np.floating) else value.item()  # which keeps long doubles
        super().__setattr__(name, value)

    def __getstate__(self):
        state = dict(super().__getstate__())  # at once: another thread may keep something in the attributes meanwhile
        state.pop("_growth", None)  # which is of one fit alone
        return state

    def __setstate__(self, state):
        try:
            check_state(self, state)
        except (AttributeError, LookupError, ArithmeticError, RecursionError) as error:  # of parts that are something else
            what = f"{type(error).__name__}: {error}"
            raise ValueError(f"these are not the attributes that fit gives a {type(self).__name__}: {what}") from error
        # An earlier version may lack parameters; what they are by default is how it worked.
        super().__setstate__(self._defaults | with_new_names(state))
        for name in self._defaults:
            setattr(self, name, getattr(self, name))

    def digest(self):
        """The digest of a fitted estimator: equal for equal models, on any machine and any number of threads.

        It covers what predictions follow from: the trees, with their seeds and how they drew rows, the labels of classes, the
        columns with their categories, the loss of boosted trees, how a forest votes, and the weights of a blend. It covers no
        other parameters, and nothing that was measured, such as scores and times.

        Returns
        -------
        str
            64 hexadecimal digits, of SHA-256.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from dforest import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> one, two = (RandomForestClassifier(10, n_jobs=n, random_state=0).fit(X, y) for n in (1, 2))
        >>> one.digest() == two.digest()
        True
        """
        check_is_fitted(self)
        told = {name: getattr(self, name, None) for name in _TOLD}
        if hasattr(self, "_curves"):
            told["curves"] = vars(self._curves)
        if hasattr(self, "_loss"):
            told["loss"] = getattr(self._loss, "name", type(self._loss).__name__)
        members = getattr(self, "estimators_", None) if isinstance(self, Blend) else None
        digests = [digest_of(self.forest_)] if members is None else [member.digest() for member in members]
        written = json.dumps([digests, told], sort_keys=True, default=_plain)
        return hashlib.sha256(written.encode()).hexdigest()

    def save(self, path, *, serving=True):
        """Write the estimator to a file, from which `dforest.load` reads it again.

        The file is a safetensors file: a header of JSON, and arrays that any language can read. It holds parameters, classes,
        names and categories of columns, all trees, and whatever else `fit` set. It holds no code and no callbacks. An existing
        file is replaced once the whole new file is written; if writing fails, it stays as it was.

        Estimators of `dforest.spmd` and `dforest.dask` are written as the estimators of `dforest` that they stand for.

        Parameters
        ----------
        path : str or path-like
            The file to write; ``.safetensors`` is the usual suffix.
        serving : bool, default=True
            Whether to write the trees a second time, packed for prediction, with 8 or 16 bytes for each node. Processes that
            load such a file share the memory of these packed trees, and predict at once. If False, the file is several times
            smaller, and each process packs the trees itself.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If a parameter or an attribute can't be written, such as a device that is not given by name; the message names it.
            Also if `path` is a folder, a device or a pipe.
        OSError
            If the file can't be written.

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
        ...     dforest.load(path).n_estimators_
        10
        """
        import_module("dforest.interchange.storage.model").save(self, path, serving)
