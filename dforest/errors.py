"""Errors and warnings that are dforest's own; bad arguments raise ValueError, as everywhere."""

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
    """A model that was made for another library predicts otherwise there than here."""


class DeviceError(RuntimeError):
    """There is no such device, or it cannot do what is asked."""


class LimitError(RuntimeError):
    """A fit reached a limit before it had anything to keep."""


class ModelFileError(ValueError):
    """A file is no model file, or is damaged, or its model needs what is not there."""


class RankError(RuntimeError):
    """Another rank of a fit has failed, with an exception that cannot be raised here, or can no longer be reached."""


class UnseenLabelsWarning(UserWarning):
    """Most labels of a column in rows to be predicted did not occur there in training: perhaps they are written otherwise."""
