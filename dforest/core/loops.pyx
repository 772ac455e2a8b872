"""Loops over many cuts or records at once, compiled for several instruction sets.

Which set is used changes the speed, never the forest. Nothing here owns memory.
"""
cdef extern from "core/loops.h" nogil:
    enum:
        DF_N_LOOPS
    const df_loops* df_loops_at(int i)


def names():
    """Names of the sets that this processor can run, the fastest one last."""
    return [df_loops_at(i).name.decode() for i in range(DF_N_LOOPS) if df_loops_at(i) != NULL]


def use(name=None):
    """Have all trees grown with a set, by default the fastest.

    Parameters
    ----------
    name : str, optional
        One of `names`.
    """
    global loops
    cdef int i
    known = names()
    name = known[len(known) - 1] if name is None else name
    if name not in known:
        raise ValueError(f"name={name!r}; this processor has {known}")
    for i in range(DF_N_LOOPS):
        if df_loops_at(i) != NULL and df_loops_at(i).name.decode() == name:
            loops = df_loops_at(i)


use()
