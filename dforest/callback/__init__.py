"""Callbacks: objects that watch a fit and may stop it; set them by ``estimator.set_callbacks(...)``.

They follow scikit-learn's protocol, ``sklearn.callback``. A forest whose fit a callback has stopped equals the forest of a fit
of as many trees, to the bit, on any number of threads and ranks and on any device, and ``warm_start=True`` goes on with it.
"""

from dforest.callback.checkpoint import Checkpoint
from dforest.callback.interrupt import KeepOnInterrupt
from dforest.callback.limits import MemoryLimit, TimeLimit
from dforest.callback.plateau import OutOfBagPlateau
from dforest.callback.progress import ProgressBar

__all__ = ["Checkpoint", "KeepOnInterrupt", "MemoryLimit", "OutOfBagPlateau", "ProgressBar", "TimeLimit"]
