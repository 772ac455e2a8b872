"""Loops over many cuts or records at once, compiled for several instruction sets.

Which set is used changes the speed, never the forest. It is the fastest one that the processor can run, or the one that
`DFOREST_LOOPS` in the environment names. Nothing here owns memory.
"""
import os

cdef extern from "core/loops.h" nogil:
    enum:
        DF_N_LOOPS
    const df_loops* df_loops_at(int i)


def names():
    """Names of the sets that this processor can run, the fastest one last."""
    return [df_loops_at(i).name.decode() for i in range(DF_N_LOOPS) if df_loops_at(i) != NULL]


def use(name=None):
    """Use a set of loops.

    Parameters
    ----------
    name : str, optional
        One of `names`. None: the one that the environment names, or else the fastest.
    """
    global loops
    cdef int i
    known = names()
    who = "DFOREST_LOOPS" if name is None else "name"
    name = os.environ.get("DFOREST_LOOPS", known[len(known) - 1]) if name is None else name
    if name not in known:
        raise ValueError(f"{who}={name!r}; allowed are the sets of loops that this processor can run: {known}")
    for i in range(DF_N_LOOPS):
        if df_loops_at(i) != NULL and df_loops_at(i).name.decode() == name:
            loops = df_loops_at(i)


use()
