"""Errors that are dforest's own; bad arguments raise ValueError, as everywhere."""

from dforest.core.component import ContractError, CriterionError, SplitterError

__all__ = ["ContractError", "CriterionError", "DeviceError", "SplitterError"]


class DeviceError(RuntimeError):
    """There is no such device, or it cannot do what is asked."""
