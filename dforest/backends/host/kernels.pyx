"""Kernels on the host: those compiled with dforest, or those of a library, and how threads share a launch.

A *launch* is a call of a kernel for a number of groups. Its threads take *blocks* of neighbouring groups, and call the kernel for
a few groups of their block at a time. The *group time* of a kernel is how long a group of its last launch took. A launch begins
in the calling thread. Other threads are woken only for launches that take long enough, and each thread has memory of its own for
the groups that it does.
"""
from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from dforest.core.threads cimport WorkerContext, df_add_to_long, parallel_for, poll

cdef extern from "entries.h" nogil:
    ctypedef struct df_group_range:
        int64_t first, last, n_groups, n_items
        char* local
    ctypedef void (*df_entry)(const uint64_t* arguments, const df_group_range* own) noexcept nogil
    df_entry df_find_entry(const char* name)
    int64_t df_max_items()

ctypedef df_entry (*Finder)(const char* name) noexcept nogil
ctypedef int64_t (*Counter)() noexcept nogil

cdef enum:
    CALL = 20_000             # nanoseconds that a call of a kernel takes at least, if its block has groups enough
    TIME_LIMIT = 60_000       # nanoseconds
    BLOCKS = 16               # for each thread
    LINE = 128                # bytes that threads had better not share
    MAX_ARGUMENTS = 64

cdef struct Launch:           # on the stack of its caller
    df_entry entry
    uint64_t arguments[MAX_ARGUMENTS]
    df_group_range groups     # those that are left
    int64_t n_blocks
    char* memory
    int64_t n_local           # bytes of memory for each thread
    int64_t time_limit        # nanoseconds after which a thread leaves the rest of its groups
    int64_t spent             # nanoseconds, by all threads


cdef inline int64_t now() noexcept nogil:
    """Nanoseconds since some moment."""
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return <int64_t> time.tv_sec * 1_000_000_000 + time.tv_nsec


cdef int64_t do_groups(Launch* launch, int64_t first, int64_t last, WorkerContext* worker) except -1 nogil:
    """Do groups from `first` on, until those before `last` are done or time is up; return the first one that was not done."""
    cdef df_group_range own = launch.groups
    cdef int64_t step = 1, start = now(), begun = start, end
    own.local = launch.memory + worker.number * launch.n_local
    own.first = first
    while own.first < last and begun - start < launch.time_limit:
        own.last = min(last, own.first + step)
        launch.entry(launch.arguments, &own)
        end = now()
        poll(worker, end - begun)
        if end - begun < CALL:
            step *= 2
        elif step > 1:
            step //= 2
        own.first = own.last
        begun = end
    df_add_to_long(launch.spent, begun - start)
    return own.first


cdef int do_block(void* context, Py_ssize_t block, WorkerContext* worker) except -1 nogil:
    cdef Launch* launch = <Launch*> context
    cdef int64_t first = launch.groups.first, n = launch.groups.last - first
    do_groups(launch, first + n * block // launch.n_blocks, first + n * (block + 1) // launch.n_blocks, worker)
    return 0


cdef int do_some(void* context, Py_ssize_t block, WorkerContext* worker) except -1 nogil:
    cdef Launch* launch = <Launch*> context
    launch.groups.first = do_groups(launch, launch.groups.first, launch.groups.last, worker)
    return 0


cdef class Kernels:
    """Kernels for the host. Any number of threads may run them at once.

    Parameters
    ----------
    find, count : int, optional
        Addresses of the functions `df_find_entry` and `df_max_items` of a library, see entries.h; None: those compiled with
        dforest. Whoever loaded the library sees to it that it stays.
    fill : int, optional
        A byte that all memory of groups is set to before each launch, so that a kernel which counts on zeros shows itself. None:
        it holds whatever it holds.

    Attributes
    ----------
    max_items : int
        Of a group.
    time_limit : int
        Nanoseconds of work from which on a launch is shared among threads.
    """
    cdef Finder find
    cdef dict group_time            # nanoseconds of a group, by kernel
    cdef int fill
    cdef readonly int64_t max_items
    cdef public int64_t time_limit

    def __init__(self, find=None, count=None, fill=None):
        self.group_time = {}
        self.time_limit = TIME_LIMIT
        self.fill = -1 if fill is None else fill
        self.find = df_find_entry if find is None else <Finder> <uintptr_t> find
        self.max_items = df_max_items() if count is None else (<Counter> <uintptr_t> count)()

    def has(self, str name not None):
        """Whether there is a kernel of this name."""
        return self.find(name.encode()) != NULL

    def run(self, str name not None, int64_t n_groups, int64_t n_items, size_t n_local, list arguments not None, int n_threads):
        """Run a kernel and wait for its end.

        Parameters
        ----------
        name : str
        n_groups, n_items : int
            Groups, and items of each.
        n_local : int
            Bytes of memory that a group has.
        arguments : list of int
            Integers, and addresses of arrays, as the kernel declares them, which the caller has checked.
        n_threads : int
            Most threads at work together.

        Raises
        ------
        KeyError
            If there is no such kernel.
        """
        cdef Launch launch
        cdef Py_ssize_t i
        launch.entry = self.find(name.encode())
        if launch.entry == NULL:
            raise KeyError(name)
        if len(arguments) > MAX_ARGUMENTS:
            raise ValueError(f"{name} takes {len(arguments)} arguments; allowed are up to {MAX_ARGUMENTS}")
        for i in range(len(arguments)):
            launch.arguments[i] = <uint64_t> <int64_t> arguments[i]
        launch.groups.first, launch.groups.last, launch.groups.n_groups, launch.groups.n_items = 0, n_groups, n_groups, n_items
        launch.n_local = (n_local + LINE - 1) // LINE * LINE + LINE
        launch.memory = <char*> malloc(launch.n_local * n_threads)
        if launch.memory == NULL:
            raise MemoryError()
        try:
            if self.fill >= 0:
                memset(launch.memory, self.fill, launch.n_local * n_threads)
            launch.spent = 0
            launch.n_blocks = 1
            if n_threads > 1 and self.group_time.get(name, 0) * n_groups < self.time_limit:
                launch.time_limit = self.time_limit
                parallel_for(do_some, &launch, 1, 1)
            if n_threads > 1:
                launch.n_blocks = min(launch.groups.last - launch.groups.first, BLOCKS * n_threads)
            launch.time_limit = 1 << 62
            parallel_for(do_block, &launch, launch.n_blocks, n_threads)
            self.group_time[name] = launch.spent // n_groups
        finally:
            free(launch.memory)
