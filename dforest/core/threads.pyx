"""The threads of this process that share work.

Words: a *job* consists of *items*. Its *caller* does them one after another, together with *workers*:
threads that are started when they are first wanted, sleep while there is no job, and end with the
process. Which thread does an item is a matter of chance, so no result may depend on it. A *turn* is what a thread knows of the
job that it is at.

All calls share the workers. Together with a caller there are never more of them than the cores that the process may use or, if
that is more, than the most threads that a call has asked for. So calls that several threads of a program make at the same time do
not multiply the threads. A call waits for no worker: its caller begins at once, and workers join when they have nothing else to
do. Where the system grants no thread, or all workers are at other jobs, the caller does everything.

After a fork, the child has none of its parent's workers and starts its own. (An OpenMP runtime may wait
for its parent's threads forever, and GCC's ends the process when it can't create one: so there are no
parallel regions here.)

Python handles signals in the main thread. If the main thread is the caller, it looks for signals while it works and while it
waits; other threads look whether to give up. An exception ends a job: all threads leave it, and then the caller raises the
exception that was raised first. The handler of a signal may raise an exception wherever the main thread is; one that must not
interrupt Python code hands the exception to `interrupt`, and it is raised where the main thread looks for signals by itself.

One lock guards jobs and workers. It is held for a few instructions, never while a thread works or sleeps.
"""
cimport cython
cimport openmp
from libc.string cimport memset

import os
import threading
from _thread import start_new_thread

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef extern from "pythread.h" nogil:
    ctypedef enum PyLockStatus:
        PY_LOCK_ACQUIRED
    PyLockStatus PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds, int intr_flag)
    unsigned long PyThread_get_thread_ident()

cdef extern from *:
    """
    static _Thread_local void *df_job;     /* the job that the calling thread is at; NULL: it is at none */
    """
    void* df_job

cdef enum:
    NAP = 50_000              # microseconds that the main thread sleeps without looking for signals

# An `Item` for a caller that looks at the answer -1 itself, where Cython would raise the exception.
ctypedef int (*Silent)(void* context, Py_ssize_t item, Turn* turn) noexcept nogil

cdef struct Worker:           # on its thread's stack
    PyThread_type_lock bell   # held; the worker sleeps until it is released
    Worker* after             # the next one in the pool's list of idle workers


class Stopped(Exception):
    """Another thread failed; this one gave up what it was at."""


def interrupt(exception):
    """Have the main thread raise an exception where it next looks for signals, at work or waiting in a job.

    Parameters
    ----------
    exception : BaseException or None
        None takes back an exception that has not been raised yet.
    """
    global interruption
    interruption = exception


def openmp_threads():
    """How many threads OpenMP would use, for the calling thread: what `threadpoolctl` and OMP_NUM_THREADS limit."""
    return openmp.omp_get_max_threads()


@cython.final
cdef class Pool:
    """The workers of a process, and the jobs that want some."""
    cdef PyThread_type_lock lock      # guards the lists, and each job's numbers
    cdef Job* jobs                    # jobs that want workers, the oldest first
    cdef Worker* idle                 # workers that sleep
    cdef int n_idle
    cdef int n_workers, most          # workers that there are, and that there may be; changed with the interpreter's lock

    def __cinit__(self):
        self.lock = PyThread_allocate_lock()
        if self.lock == NULL:
            raise MemoryError()
        cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
        self.most = len(cores) - 1

    def __dealloc__(self):
        if self.lock != NULL:
            PyThread_free_lock(self.lock)

    def serve(self):
        """Be a worker, until the process ends."""
        cdef Worker worker
        worker.bell = PyThread_allocate_lock()
        if worker.bell == NULL:
            self.n_workers -= 1
            return
        with nogil:
            PyThread_acquire_lock(worker.bell, WAIT_LOCK)
            while True:
                self.take_part(&worker)

    cdef int staff(self, int n_wanted) except -1:
        """Start workers until `n_wanted` are idle, as far as there may be more workers and the system grants threads."""
        cdef int n_idle
        self.most = max(self.most, n_wanted)
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        n_idle = self.n_idle
        PyThread_release_lock(self.lock)
        while n_idle < n_wanted and self.n_workers < self.most:
            try:
                start_new_thread(self.serve, ())
            except (RuntimeError, MemoryError):
                break
            self.n_workers += 1
            n_idle += 1
        return 0

    cdef void wake(self, int most) noexcept nogil:
        """Wake at most `most` idle workers. The caller holds the lock."""
        while most > 0 and self.idle != NULL:
            most -= 1
            self.n_idle -= 1
            PyThread_release_lock(self.idle.bell)
            self.idle = self.idle.after

    cdef void enlist(self, Job* job) noexcept nogil:
        """Let workers join a job."""
        cdef Job** place = &self.jobs
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        while place[0] != NULL:
            place = &place[0].after
        place[0] = job
        job.is_listed = True
        self.wake(min(job.n_wanted, 2))       # each worker that joins wakes two more
        PyThread_release_lock(self.lock)

    cdef void withdraw(self, Job* job) noexcept nogil:
        """Let no more workers join a job. The caller holds the lock."""
        cdef Job** place = &self.jobs
        if not job.is_listed:
            return
        while place[0] != job:
            place = &place[0].after
        place[0] = job.after
        job.is_listed = False

    cdef void take_part(self, Worker* worker) noexcept nogil:
        """Sleep until a job wants workers, and do its items until none is left."""
        cdef Job* job
        cdef int number
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        while self.jobs == NULL:
            worker.after = self.idle
            self.idle = worker
            self.n_idle += 1
            PyThread_release_lock(self.lock)
            PyThread_acquire_lock(worker.bell, WAIT_LOCK)
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
        job = self.jobs
        job.n_wanted -= 1
        job.n_there += 1
        job.n_joined += 1
        number = job.n_joined
        if job.n_wanted == 0:
            self.withdraw(job)
        else:
            self.wake(min(job.n_wanted, 2))
        PyThread_release_lock(self.lock)
        do_items(job, number)
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.withdraw(job)
        job.n_there -= 1
        if job.n_there == 0 and job.is_awaited:
            PyThread_release_lock(job.done)
        PyThread_release_lock(self.lock)

    cdef void finish(self, Job* job) noexcept nogil:
        """Wait until all workers have left a job."""
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.withdraw(job)
        job.is_awaited = job.n_there > 0
        PyThread_release_lock(self.lock)
        if not job.is_awaited:
            return
        while (<int (*)(PyThread_type_lock) noexcept nogil> sleep)(job.done) == -1:
            keep_error(job)
        # The worker that released job.done has done with it once the pool's lock is free; then it may be destroyed.
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        PyThread_release_lock(self.lock)


cdef object interruption = None   # what the main thread is to raise
cdef Pool pool
cdef Job nobody               # a job without items, never stopped: all is 0
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


cdef void keep_error(Job* job) noexcept nogil:
    """End a job by the exception that the calling thread has raised."""
    with gil:
        try:
            pass_on()
        except BaseException as error:
            (<list> job.errors).append(error)
        df_set(job.stopped, 1)


cdef void do_items(Job* job, int number) noexcept nogil:
    """Do items of a job until none is left."""
    global df_job
    cdef Turn turn
    cdef int64_t item
    cdef void* outer = df_job
    turn.job = job
    turn.number = number
    turn.work = 0
    while not df_glance(job.stopped):
        item = df_add_to_long(job.next, 1)
        if item >= job.n_items:
            break
        df_job = job
        if (<Silent> job.do_item)(job.context, <Py_ssize_t> item, &turn) == -1:
            keep_error(job)
        df_job = outer


cdef int share(Item do_item, void* context, Py_ssize_t n_items, int n_threads) except -1:
    """Have `do_item` called with every item, by this thread and by workers, at most n_threads threads together.

    The caller holds the interpreter's lock, which is released while items are done.
    """
    cdef Job job
    cdef Turn turn
    cdef Py_ssize_t item
    cdef Pool own = pool
    memset(&job, 0, sizeof(Job))
    if n_threads < 2 or n_items < 2:
        turn.job = &job
        turn.number = 0
        turn.work = 0
        with nogil:
            for item in range(n_items):
                do_item(context, item, &turn)
        return 0
    errors = []
    job.do_item = do_item
    job.context = context
    job.n_items = n_items
    job.n_wanted = <int> min(<Py_ssize_t> n_threads, n_items) - 1
    job.errors = <PyObject*> errors
    job.done = PyThread_allocate_lock()
    if job.done == NULL:
        raise MemoryError()
    try:
        own.staff(job.n_wanted)
        with nogil:
            PyThread_acquire_lock(job.done, WAIT_LOCK)
            own.enlist(&job)
            do_items(&job, 0)
            own.finish(&job)
    finally:
        PyThread_free_lock(job.done)
    if errors:
        # A thread that was told to stop may have kept its `Stopped` before the thread that failed kept its exception.
        raise next((error for error in errors if not isinstance(error, Stopped)), errors[0])
    return 0


cdef int call(void* context, Py_ssize_t item, Turn* turn) except -1 nogil:
    check_signals()
    with gil:
        (<object> context)(item, turn.number)
    return 0


def each(Py_ssize_t n_items, work, int n_threads):
    """Call a function with every item, in this thread and others.

    Parameters
    ----------
    n_items : int
    work : callable
        Called with the number of the item, from 0, and that of the thread, which is below `n_threads`; the caller's is 0.
    n_threads : int
        Most threads at work together, the caller included.

    Raises
    ------
    BaseException
        The first exception that a call raised. No other calls are begun then, and it is raised here when those begun have ended.
    """
    share(call, <void*> work, n_items, n_threads)


cdef Turn current_turn() noexcept nogil:
    """A turn of the calling thread at its job, if it has one: for long work that is to be interrupted when the job ends."""
    cdef Turn turn
    turn.job = <Job*> df_job if df_job != NULL else &nobody
    turn.number = 0
    turn.work = 0
    return turn


cdef int look_up(Turn* turn) except -1 nogil:
    """Raise `Stopped` if all threads at the job are to give up, or what the handler of a signal raises."""
    turn.work = 0
    if df_glance(turn.job.stopped):
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
    global interruption
    PyErr_CheckSignals()
    if interruption is not None:
        exception, interruption = interruption, None
        raise exception
    return 0


cdef int sleep(PyThread_type_lock bell) except -1 nogil:
    """Sleep until a lock is released, and acquire it; the main thread handles signals meanwhile."""
    if PyThread_get_thread_ident() != main_thread:
        PyThread_acquire_lock(bell, WAIT_LOCK)
        return 0
    while PyThread_acquire_lock_timed(bell, NAP, 1) != PY_LOCK_ACQUIRED:
        with gil:
            handle_signals()
    return 0
