"""Where work is to be done, and who else takes part: what holds for a block of code, and what follows from where data lie.

Arrays *on a device* are those that `dforest.backends` knows, such as CuPy's, PyTorch's, JAX's and dpnp's.
"""

import sys
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module

import numpy as np

from dforest.backends import functions_for, is_on_device
from dforest.backends.foreign import library_of
from dforest.spmd.communicator import ALONE, Communicator

_queue = ContextVar("dforest_queue", default=None)
_communicator = ContextVar("dforest_communicator", default=ALONE)
_UNCHANGED = object()


@contextmanager
def config_context(*, queue=_UNCHANGED, communicator=_UNCHANGED):
    """Context manager for settings of a block of code: where estimators work, and which processes fit together.

    The settings hold in the thread that runs the block. A setting that is not given stays what an outer block has set.

    Parameters
    ----------
    queue : dpctl.SyclQueue or None, optional
        SYCL queue on whose device estimators work inside the block if their parameter `device` is None. An estimator whose
        `device` is a different one raises ValueError. None means no queue, even if an outer block has set one.
    communicator : dforest.spmd.communicator.Communicator, mpi4py.MPI.Comm or None, optional
        Processes ("ranks") that call `fit` and `oob_importance` together inside the block, each with rows of its own. Each of
        them gets the forest of all rows. None means that each process works on its own, even if an outer block has set a
        communicator.

    Examples
    --------
    >>> import dforest
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> with dforest.config_context(queue=None):
    ...     forest = dforest.RandomForestClassifier(random_state=0).fit(X, y)
    """
    changes = []
    if queue is not _UNCHANGED:
        if queue is not None and not (hasattr(queue, "addressof_ref") and hasattr(queue, "sycl_device")):
            raise ValueError(f"queue={queue!r}; allowed are objects of dpctl.SyclQueue, and None")
        changes.append((_queue, queue))
    if communicator is not _UNCHANGED:
        changes.append((_communicator, _as_communicator(communicator)))
    changes = [(variable, variable.set(value)) for variable, value in changes]
    try:
        yield
    finally:
        for variable, token in changes:
            variable.reset(token)


def _as_communicator(given):
    if given is None:
        return ALONE
    if isinstance(given, Communicator):
        return given
    if not (hasattr(given, "Get_rank") and hasattr(given, "Idup")):
        raise ValueError(f"communicator={given!r}; allowed are communicators of mpi4py or dforest.spmd, and None")
    return import_module("dforest.spmd.mpi").MpiCommunicator(given)


def communicator():
    """The `Communicator` that `config_context` has set; `ALONE` if it has set none."""
    return _communicator.get()


def queue_of(*arrays):
    """The queue that `config_context` has set or that arrays lie on; None if there is no queue.

    Raises
    ------
    ValueError
        If there is more than one queue.
    """
    queue = _queue.get()
    for array in arrays:
        if is_on_device(array):
            own = functions_for(array).queue_of(array)
            if queue not in (None, own):
                raise ValueError(
                    "the arrays given, or an array and config_context, are on different devices or have different SYCL queues; "
                    "allowed is one device, and one queue: make all arrays there, or copy them to the host"
                )
            queue = own
    return queue


def on_host(array):
    """An array on a device, or of another library than NumPy, as a NumPy array; anything else, such as a frame, as it is."""
    if is_on_device(array):
        return functions_for(array).on_host(array)
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack__"):
        return array
    if hasattr(array, "__array__") and library_of(array) is None:  # a column of pyarrow has DLPack, too
        return array
    try:
        return np.asarray(array) if hasattr(array, "__array__") else np.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError) as error:
        kind = f"{type(array).__name__} of {getattr(array, 'dtype', 'an unknown type')}"
        reason = str(error).rstrip(".")
        raise ValueError(
            f"NumPy can't read an array of the class {kind}: {reason}; allowed is what numpy.asarray reads"
        ) from error


def in_kind(X, result):
    """A result computed from X, as an array of the library that made X; if X lies on a queue, on that queue.

    For X on the host, it is a NumPy array unless scikit-learn's setting ``array_api_dispatch`` asks for one of X's library. An
    array of labels that are not numbers stays a NumPy array.
    """
    if is_on_device(X):
        return functions_for(X).like(X, result)
    sklearn = sys.modules.get("sklearn")
    if isinstance(X, np.ndarray) or sklearn is None or not sklearn.get_config()["array_api_dispatch"]:
        return result
    library = library_of(X) if result.dtype.kind in "biuf" else None
    return result if library is None else library.from_dlpack(result)
