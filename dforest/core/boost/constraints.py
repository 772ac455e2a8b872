"""What trees of a booster must keep to, beside their size: as a fit states it."""

from typing import NamedTuple

import numpy as np


class Constraints(NamedTuple):
    """Monotonic and interaction constraints.

    Attributes
    ----------
    directions : ndarray of shape (n_features,), dtype int8, or None
        What predictions of each output may do as a feature rises: 1: rise, -1: fall, 0: either. None: there are no such
        constraints.
    most_features : int
        How many different features may be tested on a path from the root; 0: any number.
    groups : ndarray of shape (n_groups, n_features), dtype uint8, or None
        Which features may be tested on one path: those of a group. None: all.
    """

    directions: np.ndarray | None = None
    most_features: int = 0
    groups: np.ndarray | None = None
