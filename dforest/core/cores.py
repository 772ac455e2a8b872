"""The cores that this process may use, also where OpenMP has bound a thread to a few of them.

If the environment asks for it, as OMP_PROC_BIND does, an OpenMP runtime binds the thread that loads it to one of its *places*,
which together are the cores that this thread had. Threads that Python starts from there inherit the few cores of the place, and a
runtime that is loaded later takes them for all there are. So the runtime is asked that knows the most cores.
"""

import ctypes
import os
from contextlib import contextmanager
from functools import cache

try:
    from threadpoolctl import ThreadpoolController
except ModuleNotFoundError:  # which scikit-learn brings, and who serves models does without
    ThreadpoolController = None

# What the environment may ask runtimes by: any of them may bind threads.
_ASKED_BY = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")
_CAN_BIND = hasattr(os, "sched_setaffinity") and any(name in os.environ for name in _ASKED_BY)


def openmp_runtimes():
    """The OpenMP runtimes that are loaded, as threadpoolctl describes them: list; None if it is not installed."""
    return None if ThreadpoolController is None else ThreadpoolController().select(user_api="openmp").lib_controllers


def places_of(runtime):
    """The places of an OpenMP runtime that binds threads, given as a library of ctypes: list of set of int."""
    if runtime.omp_get_proc_bind() == 0:
        return []
    places = []
    for number in range(runtime.omp_get_num_places()):
        cores = (ctypes.c_int * runtime.omp_get_place_num_procs(number))()
        runtime.omp_get_place_proc_ids(number, cores)
        places.append(set(cores))
    return places


@cache  # each runtime that is loaded later knows as many cores or fewer
def _binding():
    """(the runtime that binds threads and knows the most cores, its places); (None, []) if there is none."""
    found = [(None, [])]
    if _CAN_BIND:
        runtimes = [library.dynlib for library in openmp_runtimes() or []]
        found += [(runtime, places_of(runtime)) for runtime in runtimes]
    return max(found, key=lambda pair: len(set().union(*pair[1])))


def binds_to_fewer(n_cores):
    """Whether a runtime whose places have so many cores binds threads to fewer of them than the process has."""
    _, places = _binding()
    return n_cores < len(set().union(*places))


def binding_runtime():
    """The OpenMP runtime that binds threads of this process, as a library of ctypes; None if there is none."""
    return _binding()[0]


@contextmanager
def unbound():
    """Let the calling thread, and those that it starts, have all cores of the process in the block, if a runtime has bound it."""
    _, places = _binding()
    own = os.sched_getaffinity(0) if places else None
    if own not in places:
        yield
        return
    os.sched_setaffinity(0, set().union(*places))
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)
