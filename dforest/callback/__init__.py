"""Callbacks: what watches a fit, and stops it, by ``estimator.set_callbacks(...)``.

They are objects of scikit-learn's protocol, `sklearn.callback`. A fit that a callback stops leaves what a fit of as many trees
leaves, to the bit, on any number of threads and on any device, and goes on by ``warm_start=True``.
"""

from dforest.callback.checkpoint import Checkpoint
from dforest.callback.interrupt import KeepOnInterrupt
from dforest.callback.limits import MemoryLimit, TimeLimit
from dforest.callback.plateau import OutOfBagPlateau
from dforest.callback.progress import ProgressBar

__all__ = ["Checkpoint", "KeepOnInterrupt", "MemoryLimit", "OutOfBagPlateau", "ProgressBar", "TimeLimit"]
