"""Where work is to be done: what holds for a block of code, and what follows from where data lie.

Words: arrays *on a device* have SYCL's USM array interface, as dpnp's have. Nothing of SYCL is imported here before one
is seen.
"""

from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module

import numpy as np

_queue = ContextVar("dforest_queue", default=None)


@contextmanager
def config_context(*, queue=None):
    """Settings for a block of code, of the thread that runs it.

    Parameters
    ----------
    queue : dpctl.SyclQueue or None, default=None
        On whose device estimators work inside the block, if their parameter `device` is None; another device there raises
        ValueError. None: on none, even if an outer block has set one.

    Examples
    --------
    >>> import dforest
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> with dforest.config_context(queue=None):
    ...     forest = dforest.RandomForestClassifier(random_state=0).fit(X, y)
    """
    if queue is not None and not (hasattr(queue, "addressof_ref") and hasattr(queue, "sycl_device")):
        raise ValueError(f"queue={queue!r}; allowed are objects of dpctl.SyclQueue, and None")
    before = _queue.set(queue)
    try:
        yield
    finally:
        _queue.reset(before)


def is_on_device(array):
    """Whether an array's memory is that of a SYCL device."""
    return type(array) is not np.ndarray and hasattr(array, "__sycl_usm_array_interface__")


def queue_of(*arrays):
    """The queue of `config_context`, or that arrays lie on; None: there is none.

    Raises
    ------
    ValueError
        If there are several.
    """
    queue = _queue.get()
    for array in arrays:
        if is_on_device(array):
            own = _usm().queue_of(array)
            if queue not in (None, own):
                raise ValueError(
                    "data and config_context name different SYCL queues; allowed is one: make all arrays on the same, or "
                    "copy them to the host"
                )
            queue = own
    return queue


def on_host(array):
    """An array on a device as a NumPy array; anything else as it is."""
    return _usm().on_host(array) if is_on_device(array) else array


def in_kind(X, result):
    """What was computed from X, an array as X is one: on its queue, of its library.

    An array of labels that are no numbers stays a NumPy array.
    """
    return _usm().like(X, result) if is_on_device(X) else result


def _usm():
    return import_module("dforest.sycl.usm")
