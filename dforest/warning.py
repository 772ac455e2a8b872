"""Warnings that point at the user's line."""

import sys
import warnings

_LIBRARIES = {"dforest", "sklearn", "contextlib", "numpy"}  # whose frames lie between the user's line and a warning


def warn(message, category=UserWarning):
    """Warn of something at the line outside of dforest and scikit-learn that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _LIBRARIES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
