"""The threads of this process that share work.

Words: a *job* consists of *items*. Its *caller* does them one after another, together with *workers*:
threads that are started when they are first wanted, sleep while there is no job, and end with the
process. Which thread does an item is luck, so nothing may depend on it.

All calls share the workers. There are never more of them than the cores that the process may use or,
if that is more, than the most threads a call has asked for, the caller counted: so many calls at a time
from threads of a program's own don't multiply. A call needs no worker. It begins at once, and those who
have nothing else to do join it, also later; where the system grants no thread, or all are at work, the
caller does everything.

After a fork, the child has none of its parent's workers and starts its own. (An OpenMP runtime may wait
for its parent's threads forever, and GCC's ends the process when it can't create one: so there are no
parallel regions here.)

Python handles signals in the main thread. If it is the caller, it looks for them while it works and
while it waits; the others look whether to give up. An exception ends a job: all leave it, then the
first one that was raised is raised by the caller.

One lock guards jobs and workers. It is held for a few instructions, never while anybody works or sleeps.
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
    static _Thread_local void *df_job;     /* that the thread is at; NULL: none */
    """
    void* df_job

cdef enum:
    NAP = 50_000              # microseconds that the main thread sleeps without looking for signals

# The same as `Item`, called by who looks for exceptions itself.
ctypedef int (*Silent)(void* context, Py_ssize_t item, Turn* turn) noexcept nogil

cdef struct Worker:           # on its thread's stack
    PyThread_type_lock bell   # held; the worker sleeps until it is released
    Worker* after             # in the list of those who sleep


class Stopped(Exception):
    """Another thread failed; this one gave up what it was at."""


def openmp_threads():
    """How many threads OpenMP would use, for the calling thread: what `threadpoolctl` and OMP_NUM_THREADS limit."""
    return openmp.omp_get_max_threads()


@cython.final
cdef class Pool:
    """The workers of a process, and the jobs that want some."""
    cdef PyThread_type_lock lock      # of the lists, and of each job's numbers
    cdef Job* jobs                    # that want workers, the oldest first
    cdef Worker* idle                 # who sleep
    cdef int n_idle
    cdef int n_workers, most          # that there are, and may be; changed with the interpreter's lock

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
        """Start workers until so many are idle, as far as there may be more and the system grants them."""
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
        """Wake some workers. The lock is held."""
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
        self.wake(min(job.n_wanted, 2))       # each of whom wakes two more
        PyThread_release_lock(self.lock)

    cdef void withdraw(self, Job* job) noexcept nogil:
        """Let no more workers join a job. The lock is held."""
        cdef Job** place = &self.jobs
        if not job.is_listed:
            return
        while place[0] != job:
            place = &place[0].after
        place[0] = job.after
        job.is_listed = False

    cdef void take_part(self, Worker* worker) noexcept nogil:
        """Sleep until there is a job, and be at it until it has no item left."""
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
        # Whoever released it has let go of it once the other lock is free.
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        PyThread_release_lock(self.lock)


cdef Pool pool
cdef Job nobody               # of no items: all is 0
cdef unsigned long main_thread


def forget_workers():
    """Begin without workers, in the thread that is the only one."""
    global pool, main_thread
    pool = Pool()
    main_thread = PyThread_get_thread_ident()


pool = Pool()
main_thread = threading.main_thread().ident
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_workers)


cdef int pass_on() except -1:
    """Say that an exception has been raised."""
    return -1


cdef void keep_error(Job* job) noexcept nogil:
    """End a job by the exception that has been raised."""
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
    """Have `do_item` called with every item, by this thread and by workers, at most n_threads together.

    With the interpreter's lock, which is released meanwhile.
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
        # A thread that was told to stop may have said so before the one that failed did.
        raise next((error for error in errors if not isinstance(error, Stopped)), errors[0])
    return 0


cdef int call(void* context, Py_ssize_t item, Turn* turn) except -1 nogil:
    with gil:
        PyErr_CheckSignals()          # does nothing but in the main thread
        (<object> context)(item, turn.number)
    return 0


def each(Py_ssize_t n_items, work, int n_threads):
    """Call a function with every item, in this thread and others.

    Parameters
    ----------
    n_items : int
    work : callable
        Given the item, from 0, and the number of the thread, below `n_threads`; the caller's is 0.
    n_threads : int
        Most threads.

    Raises
    ------
    BaseException
        What a call raised first, when all calls have ended; no further ones are begun then.
    """
    share(call, <void*> work, n_items, n_threads)


cdef Turn current_turn() noexcept nogil:
    """What the calling thread is at: for long work within an item, or outside of any job, that may be interrupted too."""
    cdef Turn turn
    turn.job = <Job*> df_job if df_job != NULL else &nobody
    turn.number = 0
    turn.work = 0
    return turn


cdef int look_up(Turn* turn) except -1 nogil:
    """Raise `Stopped` if all are to give up, or what a handler of a signal raises."""
    turn.work = 0
    if df_glance(turn.job.stopped):
        with gil:
            raise Stopped()
    return check_signals()


cdef int check_signals() except -1 nogil:
    """Handle signals, in the main thread."""
    if PyThread_get_thread_ident() == main_thread:
        with gil:
            PyErr_CheckSignals()
    return 0


cdef int sleep(PyThread_type_lock bell) except -1 nogil:
    """Acquire a lock; in the main thread, handle signals meanwhile."""
    if PyThread_get_thread_ident() != main_thread:
        PyThread_acquire_lock(bell, WAIT_LOCK)
        return 0
    while PyThread_acquire_lock_timed(bell, NAP, 1) != PY_LOCK_ACQUIRED:
        with gil:
            PyErr_CheckSignals()
    return 0
