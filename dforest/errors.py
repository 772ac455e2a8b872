"""Errors and warnings of dforest's own. Arguments that are not allowed raise ValueError or TypeError, as in scikit-learn."""

from dforest.core.component import ContractError, CriterionError, LossError, SplitterError

__all__ = [
    "ContractError",
    "ConversionError",
    "CriterionError",
    "DeviceError",
    "LimitError",
    "LossError",
    "ModelFileError",
    "RankError",
    "SplitterError",
    "UnseenLabelsWarning",
]


class ConversionError(RuntimeError):
    """Error raised if a model that was converted for another library predicts something else there than here.

    It would be a mistake in dforest or in the other library; the message shows the first row that differs.
    """


class DeviceError(RuntimeError):
    """Error raised if there is no device of the given name, or if it cannot do what is asked.

    Examples
    --------
    >>> from dforest import RandomForestRegressor
    >>> from dforest.errors import DeviceError
    >>> try:
    ...     RandomForestRegressor(device="no such device").fit([[0.0], [1.0]], [0.0, 1.0])
    ... except DeviceError as error:
    ...     print(str(error)[:23])
    device='no such device'
    """


class LimitError(RuntimeError):
    """Error raised if a fit reaches a limit, such as that of `dforest.callback.TimeLimit`, before it has a single tree.

    Examples
    --------
    >>> from dforest import RandomForestRegressor
    >>> from dforest.callback import TimeLimit
    >>> from dforest.errors import LimitError
    >>> try:
    ...     RandomForestRegressor().set_callbacks(TimeLimit(1e-9)).fit([[0.0], [1.0]], [0.0, 1.0])
    ... except LimitError:
    ...     print("no time for a single tree")
    no time for a single tree
    """


class ModelFileError(ValueError):
    """Error raised by `dforest.load` if a file is not a model file or is damaged, or if its model needs missing parts.

    Examples
    --------
    >>> import dforest
    >>> from dforest.errors import ModelFileError
    >>> try:
    ...     dforest.load(dforest.__file__)  # a Python file
    ... except ModelFileError:
    ...     print("not a model file")
    not a model file
    """


class RankError(RuntimeError):
    """Error raised if another process of a common fit has failed, or can no longer be reached.

    It is raised where the exception of the other process cannot itself be raised here; the message names that process by its
    rank, and has the type and the message of the exception.
    """


class UnseenLabelsWarning(UserWarning):
    """Warning that most labels of a column, in rows to be predicted, did not occur there in training.

    Perhaps they are written differently. Labels that did not occur in training are treated as missing values.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from dforest import DecisionTreeRegressor
    >>> X = np.array([["Bern"], ["Delft"], ["Essen"]], dtype=object)
    >>> tree = DecisionTreeRegressor(categorical_features=[0]).fit(X, [1.0, 2.0, 3.0])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     prediction = tree.predict(np.array([["BERN"], ["DELFT"]], dtype=object))
    >>> caught[0].category.__name__
    'UnseenLabelsWarning'
    """
