"""The threads of this process that share work.

The *caller* of a task does items one after another, together with other threads. Which thread does an item is a matter of chance,
so no result may depend on it. A `WorkerContext` is what a thread, the caller too, knows of the task that it is at.

Long work runs in parallel *regions* of OpenMP, with what comes with these: its settings of how threads are bound to cores, and
tools that know regions. Regions are opened by the main thread alone, in a process that is no child of a fork, and only for tasks
that no other task waits for (see regions.h). They are not opened by a runtime that may have been used before a fork that dforest
knows nothing of, as it was loaded before dforest; nor by one that was loaded after another one had bound the main thread, as it
knows none but this thread's cores; nor by one that gives fewer threads than are asked for.

All other tasks have *workers* of a pool: threads that are started when they are first wanted, sleep while there is no task, and
end with the process. So have tasks that are not long, as predictions and iterations of boosting are: the threads of OpenMP spin
for up to ten milliseconds when they have no more to do in a region, and again after it, which would be more than a hundredth of
such a task's time. They also take milliseconds to come when they sleep on cores that are busy. `DFOREST_THREADS` in the
environment, "openmp" or "pool", has all tasks run in regions where these may be opened, or none. Where a task runs changes no
result.

Tasks within a task that has a region have that many threads less. All tasks share the workers of the pool. Together with a caller
there are never more of them than the cores that the process may use or, if that is more, than the most threads that a caller has
asked for. So tasks that several threads of a program start at the same time do not multiply the threads. A task waits for no
worker of the pool: its caller begins at once, and workers join when they have nothing else to do. Where the system grants no
thread, or all workers are at other tasks, the caller does everything. After a fork, the child has none of its parent's workers
and starts its own.

Python handles signals in the main thread. If the main thread is the caller, it looks for signals while it works and while it
waits; other threads look whether to give up. An exception ends a task: all threads leave it, and then the caller raises the
exception that was raised first. The handler of a signal may raise an exception wherever the main thread is; one that must not
interrupt Python code hands the exception to `interrupt`, and it is raised where the main thread looks for signals by itself.

One lock guards tasks and workers. It is held for a few instructions, never while a thread works or sleeps.
"""
import os
import threading
import time
from _thread import start_new_thread
from collections import deque

cimport cython
cimport openmp
from cython.parallel cimport parallel
from libc.string cimport memset

from dforest.core.cores import binding_runtime, binds_to_fewer, unbound

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef extern from "pythread.h" nogil:
    ctypedef enum PyLockStatus:
        PY_LOCK_ACQUIRED
    PyLockStatus PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds, int intr_flag)
    unsigned long PyThread_get_thread_ident()

cdef extern from *:
    """
    static _Thread_local void *df_task;     /* the task that the calling thread is at; NULL: it is at none */
    """
    void* df_task

cdef extern from "core/regions.h":
    ctypedef struct df_python_state:
        pass
    void df_watch_forks()
    bint df_may_open(int n)
    int df_grants(int n)
    int df_bound_cores()
    df_python_state df_enter_python() nogil
    void df_leave_python(df_python_state own) nogil

cdef double TRUSTED_SECONDS = 0.1     # after a region in which the runtime is trusted to have kept its threads
cdef double LONG_WORK = 2e9           # work, for each thread, of a task that is long enough for a region

cdef enum:
    NAP = 50_000              # microseconds that the main thread sleeps without looking for signals

cdef enum Where:
    AUTO, REGIONS, POOL

# An `Item` for a caller that looks at the answer -1 itself, where Cython would raise the exception.
ctypedef int (*Silent)(void* context, Py_ssize_t item, WorkerContext* worker) noexcept nogil

cdef struct PoolThread:       # on its thread's stack
    PyThread_type_lock wake_lock   # held; the worker sleeps until it is released
    PoolThread* after             # the next one in the pool's list of idle workers


class Stopped(Exception):
    """Another thread failed; this one gave up what it was at."""


def interrupt(exception):
    """Have the main thread raise an exception where it next looks for signals, at work or waiting in a task.

    Parameters
    ----------
    exception : BaseException or None
        None takes back an exception that has not been raised yet.
    """
    interruptions.clear()
    if exception is not None:
        interruptions.append(exception)


def openmp_threads():
    """How many threads OpenMP would use, for the calling thread: what `threadpoolctl` and OMP_NUM_THREADS limit."""
    runtime = binding_runtime()
    return openmp.omp_get_max_threads() if runtime is None else runtime.omp_get_max_threads()


@cython.final
cdef class Pool:
    """The workers of a process, and the tasks that want some."""
    cdef PyThread_type_lock lock      # guards the lists, and each task's numbers
    cdef Task* tasks                    # tasks that want workers, the oldest first
    cdef PoolThread* idle                 # workers that sleep
    cdef int n_idle
    cdef int n_workers, most          # workers that there are or that are being started, and that there may be

    def __cinit__(self):
        self.lock = PyThread_allocate_lock()
        if self.lock == NULL:
            raise MemoryError()
        with unbound():
            cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
        self.most = len(cores) - 1

    def __dealloc__(self):
        if self.lock != NULL:
            PyThread_free_lock(self.lock)

    def serve(self):
        """Be a worker, until the process ends."""
        cdef PoolThread worker
        worker.wake_lock = PyThread_allocate_lock()
        if worker.wake_lock == NULL:
            self.count_workers(-1)
            return
        with nogil:
            PyThread_acquire_lock(worker.wake_lock, WAIT_LOCK)
            while True:
                self.take_part(&worker)

    cdef int staff(self, int n_wanted) except -1:
        """Start workers until `n_wanted` are idle, as far as there may be more workers and the system grants threads."""
        cdef int n_new
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.most = max(self.most, n_wanted)
        n_new = max(0, min(n_wanted - self.n_idle, self.most - self.n_workers))
        self.n_workers += n_new
        PyThread_release_lock(self.lock)
        try:
            while n_new > 0:
                with unbound():        # a worker would inherit the caller's few cores
                    start_new_thread(self.serve, ())
                n_new -= 1
        except (RuntimeError, MemoryError):
            pass
        finally:
            self.count_workers(-n_new)
        return 0

    cdef void count_workers(self, int n_more) noexcept:
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.n_workers += n_more
        PyThread_release_lock(self.lock)

    cdef void wake(self, int most) noexcept nogil:
        """Wake at most `most` idle workers. The caller holds the lock."""
        while most > 0 and self.idle != NULL:
            most -= 1
            self.n_idle -= 1
            PyThread_release_lock(self.idle.wake_lock)
            self.idle = self.idle.after

    cdef void enlist(self, Task* task) noexcept nogil:
        """Let workers join a task."""
        cdef Task** place = &self.tasks
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        while place[0] != NULL:
            place = &place[0].after
        place[0] = task
        task.is_listed = True
        self.wake(min(task.n_wanted, 2))       # each worker that joins wakes two more
        PyThread_release_lock(self.lock)

    cdef void withdraw(self, Task* task) noexcept nogil:
        """Let no more workers join a task. The caller holds the lock."""
        cdef Task** place = &self.tasks
        if not task.is_listed:
            return
        while place[0] != task:
            place = &place[0].after
        place[0] = task.after
        task.is_listed = False

    cdef void take_part(self, PoolThread* worker) noexcept nogil:
        """Sleep until a task wants workers, and do its items until none is left."""
        cdef Task* task
        cdef int number
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        while self.tasks == NULL:
            worker.after = self.idle
            self.idle = worker
            self.n_idle += 1
            PyThread_release_lock(self.lock)
            PyThread_acquire_lock(worker.wake_lock, WAIT_LOCK)
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
        task = self.tasks
        task.n_wanted -= 1
        task.n_there += 1
        task.n_joined += 1
        number = task.n_joined
        if task.n_wanted == 0:
            self.withdraw(task)
        else:
            self.wake(min(task.n_wanted, 2))
        PyThread_release_lock(self.lock)
        do_items(task, number)
        self.leave(task)

    cdef void leave(self, Task* task) noexcept nogil:
        """Have a worker leave a task of which no item is left."""
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.withdraw(task)
        task.n_there -= 1
        if task.n_there == 0 and task.is_awaited and not task.is_over:
            task.is_over = True
            PyThread_release_lock(task.done)
        PyThread_release_lock(self.lock)

    cdef void finish(self, Task* task) noexcept nogil:
        """Wait until all workers have left a task."""
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.withdraw(task)
        task.is_awaited = task.n_there > 0
        PyThread_release_lock(self.lock)
        if not task.is_awaited:
            return
        while (<int (*)(PyThread_type_lock) noexcept nogil> sleep)(task.done) == -1:
            keep_error(task)
        # The worker that released task.done has done with it once the pool's lock is free; then it may be destroyed.
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        PyThread_release_lock(self.lock)


def use(name=None):
    """Have tasks run in regions of OpenMP or in the pool.

    Parameters
    ----------
    name : {"auto", "openmp", "pool"}, optional
        As `DFOREST_THREADS`, which None stands for; "auto" is the default.
    """
    global where
    name = os.environ.get("DFOREST_THREADS", "auto") if name is None else name
    if name not in ("auto", "openmp", "pool"):
        raise ValueError(f'DFOREST_THREADS={name!r}; allowed are "openmp", "pool" and, the default, "auto"')
    where = Where.POOL if name == "pool" else Where.REGIONS if name == "openmp" else Where.AUTO


def share_runtime():
    """Let OpenMP's runtime be one that was there before dforest: nobody knows what it keeps of the time before a fork."""
    global shares_runtime
    shares_runtime = True


def count_regions():
    """How many regions this process has opened."""
    return n_regions


cdef Where where                  # of `use`
cdef int n_kept = 1               # threads of the last region, the main thread included
cdef int n_in_region = 0          # threads of the region that is open; 0: none is
cdef double last_region = 0.0     # when it ended
cdef int64_t n_regions = 0
cdef bint shares_runtime = False  # of `share_runtime`
df_watch_forks()
use()
cdef object interruptions = deque()   # what the main thread is to raise: one exception or none
cdef Pool pool
cdef Task nobody               # a task without items, never stopped: all is 0
cdef unsigned long main_thread


def forget_workers():
    """Begin without workers, in a child process, whose only thread this is."""
    global pool, main_thread
    pool = Pool()
    main_thread = PyThread_get_thread_ident()


pool = Pool()
main_thread = threading.main_thread().ident
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_workers)


cdef int pass_on() except -1:
    """Return what tells Cython that an exception has been raised, so that it can be caught."""
    return -1


cdef void keep_error(Task* task) noexcept nogil:
    """End a task by the exception that the calling thread has raised."""
    with gil:
        try:
            pass_on()
        except BaseException as error:
            (<list> task.errors).append(error)
        df_set(task.stopped, 1)


cdef void do_items(Task* task, int number) noexcept nogil:
    """Do items of a task until none is left."""
    global df_task
    cdef WorkerContext worker
    cdef int64_t item
    cdef void* outer = df_task
    worker.task = task
    worker.number = number
    worker.work = 0
    while not df_glance(task.stopped):
        item = df_add_to_long(task.next, 1)
        if item >= task.n_items:
            break
        df_task = task
        if (<Silent> task.do_item)(task.context, <Py_ssize_t> item, &worker) == -1:
            keep_error(task)
        df_task = outer


cdef void be_member(Pool own, Task* task, int number) noexcept nogil:
    """A thread's part of a region: the caller, number 0, leaves it last, and handles signals until then."""
    cdef df_python_state state
    cdef bint is_late
    if number == 0:
        do_items(task, 0)
        own.finish(task)
        return
    PyThread_acquire_lock(own.lock, WAIT_LOCK)
    is_late = task.is_awaited
    task.n_there += not is_late
    PyThread_release_lock(own.lock)
    if is_late:                        # all items are taken, and the caller knows who is at one
        return
    state = df_enter_python()
    do_items(task, number)
    df_leave_python(state)
    own.leave(task)


cdef int region_for(double work, int n) except -1:
    """How many threads the next task has in a region, of at most n; 0: it has workers of the pool."""
    if where == Where.POOL or df_task != NULL or n_in_region > 0:
        return 0
    if where == Where.AUTO and (work < LONG_WORK * n or shares_runtime):
        return 0
    if PyThread_get_thread_ident() != main_thread or not df_may_open(n) or binds_to_fewer(df_bound_cores()):
        return 0
    # Another user of the runtime may have had it end threads.
    if n > n_kept or time.monotonic() - last_region > TRUSTED_SECONDS:
        n = 1 + df_grants(n - 1)
    return n if n > 1 else 0


cdef int parallel_for(Item do_item, void* context, Py_ssize_t n_items, int n_threads, double work=0) except -1:
    """Have `do_item` called with every item, by this thread and by others, at most n_threads threads together.

    The caller holds the interpreter's lock, which is released while items are done. work : of all items, in nanoseconds or so, by
    which it is decided whether the task is long; 0: it is not
    """
    global n_kept, n_regions, n_in_region, last_region
    cdef Task task
    cdef WorkerContext worker
    cdef Py_ssize_t item
    cdef Pool own = pool
    cdef int n
    memset(&task, 0, sizeof(Task))
    n = df_glance(n_in_region)             # which the main thread may be about to change
    if df_task != NULL and n > 0:          # the threads of the region count
        n_threads = max(1, n_threads + 1 - n)
    if n_threads < 2 or n_items < 2:
        worker.task = &task
        worker.number = 0
        worker.work = 0
        with nogil:
            for item in range(n_items):
                do_item(context, item, &worker)
        return 0
    errors = []
    task.do_item = do_item
    task.context = context
    task.n_items = n_items
    task.n_wanted = <int> min(<Py_ssize_t> n_threads, n_items) - 1
    task.errors = <PyObject*> errors
    task.done = PyThread_allocate_lock()
    if task.done == NULL:
        raise MemoryError()
    try:
        n = region_for(work, task.n_wanted + 1)
        if n > 0:
            n_kept = n                 # the runtime ends threads that a region does not have
            df_set(n_in_region, n)
            n_regions += 1
            with nogil:
                PyThread_acquire_lock(task.done, WAIT_LOCK)
                with parallel(num_threads=n):
                    be_member(own, &task, openmp.omp_get_thread_num())
            df_set(n_in_region, 0)
            last_region = time.monotonic()
        else:
            own.staff(task.n_wanted)
            with nogil:
                PyThread_acquire_lock(task.done, WAIT_LOCK)
                own.enlist(&task)
                do_items(&task, 0)
                own.finish(&task)
    finally:
        PyThread_free_lock(task.done)
    if errors:
        # A thread that was told to stop may have kept its `Stopped` before the thread that failed kept its exception.
        raise next((error for error in errors if not isinstance(error, Stopped)), errors[0])
    return 0


cdef int call(void* context, Py_ssize_t item, WorkerContext* worker) except -1 nogil:
    check_signals()
    with gil:
        (<object> context)(item, worker.number)
    return 0


def each(Py_ssize_t n_items, do_item, int n_threads, double work=0):
    """Call a function with every item, in this thread and others.

    Parameters
    ----------
    n_items : int
    do_item : callable
        Called with the number of the item, from 0, and that of the thread, which is below `n_threads`; the caller's is 0.
    n_threads : int
        Most threads at work together, the caller included.
    work : float, default=0
        That of all items, in nanoseconds or so.

    Raises
    ------
    BaseException
        The first exception that a call raised. No other calls are begun then, and it is raised here when those begun have ended.
    """
    parallel_for(call, <void*> do_item, n_items, n_threads, work)


cdef WorkerContext current_worker() noexcept nogil:
    """What the calling thread knows of its task, if it has one: for long work that is to be interrupted when the task ends."""
    cdef WorkerContext worker
    worker.task = <Task*> df_task if df_task != NULL else &nobody
    worker.number = 0
    worker.work = 0
    return worker


cdef int look_up(WorkerContext* worker) except -1 nogil:
    """Raise `Stopped` if all threads at the task are to give up, or what the handler of a signal raises."""
    worker.work = 0
    if df_glance(worker.task.stopped):
        with gil:
            raise Stopped()
    return check_signals()


cdef int check_signals() except -1 nogil:
    """Handle signals, if the calling thread is the main thread."""
    if PyThread_get_thread_ident() == main_thread:
        with gil:
            handle_signals()
    return 0


cdef int handle_signals() except -1:
    """Handle signals, and raise what was handed to `interrupt`; for the main thread."""
    PyErr_CheckSignals()
    if interruptions:
        try:
            exception = interruptions.pop()
        except IndexError:                 # another thread has taken it back
            return 0
        raise exception
    return 0


cdef int sleep(PyThread_type_lock wake_lock) except -1 nogil:
    """Sleep until a lock is released, and acquire it; the main thread handles signals meanwhile."""
    if PyThread_get_thread_ident() != main_thread:
        PyThread_acquire_lock(wake_lock, WAIT_LOCK)
        return 0
    while PyThread_acquire_lock_timed(wake_lock, NAP, 1) != PY_LOCK_ACQUIRED:
        with gil:
            handle_signals()
    return 0


cdef int sleep_on_list(int member, PyThread_type_lock* wake_locks, int* asleep, int* n_asleep,
                       PyThread_type_lock lock) except -1 nogil:
    """Sleep as a member who is on a list, until who takes the member off the list releases its lock.

    If the handler of a signal raises an exception, the member is off the list afterwards too, and its lock is held, as it was
    before: nobody may release a lock that is not held.

    IN wake_locks : of all members
    INOUT asleep : the list, of n_asleep members; guarded by `lock`, which the caller does not hold
    """
    cdef bint is_woken = False
    cdef int i, n
    try:
        sleep(wake_locks[member])
        is_woken = True
    finally:
        if not is_woken:
            PyThread_acquire_lock(lock, WAIT_LOCK)
            n = n_asleep[0]
            i = 0
            while i < n and asleep[i] != member:
                i += 1
            if i < n:
                asleep[i] = asleep[n - 1]
                df_set(n_asleep[0], n - 1)
            else:                          # the member has been woken besides
                PyThread_acquire_lock(wake_locks[member], WAIT_LOCK)
            PyThread_release_lock(lock)
    return 0
