"""Errors and warnings that are dforest's own; bad arguments raise ValueError, as everywhere."""

from dforest.core.component import ContractError, CriterionError, SplitterError

__all__ = ["ContractError", "CriterionError", "DeviceError", "SplitterError", "UnseenLabelsWarning"]


class DeviceError(RuntimeError):
    """There is no such device, or it cannot do what is asked."""


class UnseenLabelsWarning(UserWarning):
    """Most labels of a column in rows to be predicted did not occur there in training: perhaps they are written otherwise."""
