"""Grows many trees on many threads.

Each thread has a grower of its own and takes the next tree as soon as it is done with one. A tree
depends on the data, the parameters, the seed and its number alone, so it is the same whichever
thread grows it.
"""
from cpython.object cimport PyObject
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from dforest.core.criterion cimport Criterion
from dforest.core.data cimport DataView
from dforest.core.grower cimport Grower
from dforest.core.splitter cimport Splitter
from dforest.core.types cimport Scale

from dforest.core.grower import Stopped


def grow_trees(DataView data not None, Criterion criterion not None, Splitter splitter not None, dict limits not None,
               uint64_t seed, trees, int64_t n_draws, tuple scale, int n_threads, on_tree=None):
    """Grow some trees of a forest.

    Parameters
    ----------
    data : DataView
    criterion, splitter : Criterion, Splitter
        Patterns, of which every thread gets a clone.
    limits : dict
        As for `dforest.core.grower.Grower`.
    seed : int
        Below 2**64.
    trees : range
        Numbers of the trees.
    n_draws : int
        Draws of each tree's bootstrap; 0: every row once.
    scale : tuple of (float, int, int)
        Centre, exponent and range of the quantised targets; (0.0, 0, 0) for classification.
    n_threads : int
    on_tree : callable, optional
        Called with the number of trees finished, after each, under the interpreter's lock.

    Returns
    -------
    list of tuple
        The arrays of each tree, as `dforest.core.grower.Grower.arrays` gives them.

    Raises
    ------
    Exception
        What a thread raised first; all threads have stopped by then.
    """
    cdef Py_ssize_t i, n_trees = len(trees)
    cdef uint32_t first = trees.start
    cdef int n = max(1, min(n_threads, n_trees)), stop = 0
    cdef Scale c_scale
    cdef Grower grower
    cdef PyObject** workers
    c_scale.centre, c_scale.exponent, c_scale.range = scale
    growers = [Grower(data, criterion.clone(), splitter.clone(), limits, n_draws) for _ in range(n)]
    results = [None] * n_trees
    errors = []
    state = (results, [], errors, on_tree)
    workers = <PyObject**> calloc(n, sizeof(PyObject*))
    if workers == NULL:
        raise MemoryError()
    for i in range(n):
        grower = growers[i]
        grower.stop = &stop
        grower.polls_signals = i == 0
        workers[i] = <PyObject*> grower
    try:
        with nogil:
            for i in prange(n_trees, num_threads=n, schedule="dynamic", chunksize=1):
                if not stop:
                    grow_one(workers[threadid()], seed, first + <uint32_t> i, i, &c_scale, <PyObject*> state, &stop)
    finally:
        free(workers)
    if errors:
        raise errors[0]
    return results


cdef void grow_one(PyObject* worker, uint64_t seed, uint32_t tree, Py_ssize_t place, const Scale* scale, PyObject* state,
                   int* stop) noexcept with gil:
    results, done, errors, on_tree = <tuple> state
    cdef Grower grower = <Grower> worker
    try:
        with nogil:
            grower.grow(seed, tree, scale)
        results[place] = grower.arrays()
        done.append(tree)
        if on_tree is not None:
            on_tree(len(done))
    except Stopped:
        pass
    except BaseException as error:
        stop[0] = 1
        errors.append(error)
