"""What trees of a booster must keep to, beside their size, and which columns they prefer: as a fit states it."""

from typing import NamedTuple

import numpy as np


class Constraints(NamedTuple):
    """Monotonic and interaction constraints, and preferences among columns.

    Attributes
    ----------
    directions : ndarray of shape (n_features,), dtype int8, or None
        What predictions of each output may do as a feature rises: 1: rise, -1: fall, 0: either. None: there are no such
        constraints.
    most_features : int
        How many different features may be tested on a path from the root; 0: any number.
    groups : ndarray of shape (n_groups, n_features), dtype uint8, or None
        Which features may be tested on one path: those of a group. None: all.
    costs : ndarray of shape (n_features,), dtype float64, or None
        From 0 on, in units of the loss: what the gain of a split is less by that is the model's first one by a feature. None:
        nothing.
    monotone_penalty : float
        How far splits by features with a direction are put off: see `rules/preferences.h`.
    origins : ndarray of shape (n_features,), dtype int32, or None
        Which feature each one is a part of, so that both are used at once. None: each is one of its own.
    """

    directions: np.ndarray | None = None
    most_features: int = 0
    groups: np.ndarray | None = None
    costs: np.ndarray | None = None
    monotone_penalty: float = 0.0
    origins: np.ndarray | None = None

    def allows(self, features):
        """Whether a set of features may be tested on one path: bool."""
        if self.most_features and len(features) > self.most_features:
            return False
        return self.groups is None or bool(self.groups[:, sorted(features)].all(axis=1).any())

    @property
    def has_preferences(self):
        """Whether gains of splits do not count as they are: bool."""
        return self.costs is not None or self.monotone_penalty > 0.0 and self.directions is not None
