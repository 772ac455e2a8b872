"""The threads of this process that share work, and crews of threads that stay together for many short pieces of work.

The *caller* of a task does items one after another, together with workers, which are started when they are first wanted, sleep
while there is no task, and end with the process. Which thread does an item is a matter of chance, so no result may depend on it.
A `Worker` is what a thread, the caller too, knows of the task that it is at.

All tasks share the workers. Together with a caller there are never more threads than the cores that the process may use or, if
that is more, than the most threads that a caller has asked for. So tasks that several threads of a program start at the same time
do not multiply the threads. A task waits for no worker: its caller begins at once, and workers join when they have nothing else
to do. Where the system grants no thread, or all workers are at other tasks, the caller does everything.

After a fork, the child has none of its parent's workers and starts its own. (An OpenMP runtime may wait
for its parent's threads forever, and GCC's ends the process when it can't create one: so there are no
parallel regions here.)

Python handles signals in the main thread. If the main thread is the caller, it looks for signals while it works and while it
waits; other threads look whether to give up. An exception ends a task: all threads leave it, and then the caller raises the
exception that was raised first. The handler of a signal may raise an exception wherever the main thread is; one that must not
interrupt Python code hands the exception to `interrupt`, and it is raised where the main thread looks for signals by itself.

One lock guards tasks and workers. It is held for a few instructions, never while a thread works or sleeps.

A task costs some ten microseconds to begin, as threads are woken for it. A boosted tree needs a hundred pieces of work that take
about ten microseconds each, one after another, so the threads of its crew stay: they look for the next piece again and again, and
sleep only if there is none for a while.

A crew has a *leader*, who does what can't be shared, and *members* besides. A *call* is work that the leader shares: leader and
members take its items one after another, and the leader goes on when all are done. Nobody waits for a member to come: a leader
without members does all items. A crew owns its locks. What a call needs belongs to the leader, and nobody else touches it when
the call is over.
"""
import os
import threading
from _thread import start_new_thread

cimport cython
cimport openmp
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from dforest.core.cores import binding_runtime, unbound

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

cdef extern from "core/crew.h" nogil:
    enum:
        DF_CREW_ITEMS
        DF_SPINS
        DF_SPINS_PER_YIELD
    uint64_t df_crew_word(unsigned int n_items)
    int64_t df_crew_item(uint64_t word)
    uint64_t df_load(uint64_t x)
    int64_t df_load_long "df_load"(int64_t x)
    void df_store(uint64_t x, uint64_t value)
    void df_store_long "df_store"(int64_t x, int64_t value)
    uint64_t df_take(uint64_t x)
    void DF_PAUSE()
    void DF_YIELD()

cdef enum:
    NAP = 50_000              # microseconds that the main thread sleeps without looking for signals

# An `Item` for a caller that looks at the answer -1 itself, where Cython would raise the exception.
ctypedef int (*Silent)(void* context, Py_ssize_t item, Worker* worker) noexcept nogil

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
    global interruption
    interruption = exception


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
    cdef int n_workers, most          # workers that there are, and that there may be; changed with the interpreter's lock

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
            self.n_workers -= 1
            return
        with nogil:
            PyThread_acquire_lock(worker.wake_lock, WAIT_LOCK)
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
                with unbound():        # a worker would inherit the caller's few cores
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
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.withdraw(task)
        task.n_there -= 1
        if task.n_there == 0 and task.is_awaited:
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


cdef object interruption = None   # what the main thread is to raise
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
    cdef Worker worker
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


cdef int share(Item do_item, void* context, Py_ssize_t n_items, int n_threads) except -1:
    """Have `do_item` called with every item, by this thread and by workers, at most n_threads threads together.

    The caller holds the interpreter's lock, which is released while items are done.
    """
    cdef Task task
    cdef Worker worker
    cdef Py_ssize_t item
    cdef Pool own = pool
    memset(&task, 0, sizeof(Task))
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


cdef int call(void* context, Py_ssize_t item, Worker* worker) except -1 nogil:
    check_signals()
    with gil:
        (<object> context)(item, worker.number)
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


cdef Worker current_worker() noexcept nogil:
    """What the calling thread knows of its task, if it has one: for long work that is to be interrupted when the task ends."""
    cdef Worker worker
    worker.task = <Task*> df_task if df_task != NULL else &nobody
    worker.number = 0
    worker.work = 0
    return worker


cdef int look_up(Worker* worker) except -1 nogil:
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
    global interruption
    PyErr_CheckSignals()
    if interruption is not None:
        exception, interruption = interruption, None
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


cdef int do_part(void* context, Py_ssize_t item, Worker* worker) except -1 nogil:
    """An `Item` of the crew's task: the first is the leader's, each other one a member's."""
    if item > 0:
        return (<Crew> context).serve(<int> item, worker)
    return (<Crew> context).do_lead(worker)


@cython.final
cdef class Crew:
    """A crew for one piece of leading.

    Parameters
    ----------
    n_members : int
        The most threads together, the leader included.
    """

    def __cinit__(self, int n_members):
        cdef int i
        self.n_members = n_members
        self.lock = PyThread_allocate_lock()
        self.wake_locks = <PyThread_type_lock*> calloc(n_members, sizeof(PyThread_type_lock))
        self.asleep = <int*> calloc(n_members, sizeof(int))
        if self.lock == NULL or self.wake_locks == NULL or self.asleep == NULL:
            raise MemoryError()
        for i in range(n_members):
            self.wake_locks[i] = PyThread_allocate_lock()
            if self.wake_locks[i] == NULL:
                raise MemoryError()
            PyThread_acquire_lock(self.wake_locks[i], WAIT_LOCK)

    def __dealloc__(self):
        cdef int i
        if self.wake_locks != NULL:
            for i in range(self.n_members):
                if self.wake_locks[i] != NULL:
                    PyThread_release_lock(self.wake_locks[i])
                    PyThread_free_lock(self.wake_locks[i])
        if self.lock != NULL:
            PyThread_free_lock(self.lock)
        free(self.wake_locks)
        free(self.asleep)

    cdef int run(self, CrewLead lead, void* context) except -1:
        """Have `lead` called by one thread, while others serve it. The caller holds the interpreter's lock, which is released."""
        self.lead = lead
        self.own = context
        self.is_over = 0
        self.word = 0
        return share(do_part, <void*> self, self.n_members, self.n_members)

    cdef int do_lead(self, Worker* worker) except -1 nogil:
        """Be the leader, and let all members go then."""
        try:
            self.lead(self.own, self, worker)
        finally:
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
            df_set(self.is_over, 1)
            self.wake_all()
            PyThread_release_lock(self.lock)
        return 0

    cdef void call(self, CrewWork work, void* context, int64_t n_items) noexcept nogil:
        """Have `work` called with every item, by the leader, who calls this, and by members."""
        self.first = 0
        while n_items > DF_CREW_ITEMS:         # more than a word can count
            self.call_some(work, context, DF_CREW_ITEMS)
            self.first += DF_CREW_ITEMS
            n_items -= DF_CREW_ITEMS
        self.call_some(work, context, n_items)

    cdef void call_some(self, CrewWork work, void* context, int64_t n_items) noexcept nogil:
        """Have `work` called with some items, from the first one that has not been done."""
        cdef int64_t item
        cdef int spins = 0
        if n_items < 2 or self.n_members == 1:
            for item in range(n_items):
                work(context, self.first + item)
            return
        self.work = work
        self.context = context
        df_store_long(self.n_done, 0)
        df_store(self.word, df_crew_word(<unsigned int> n_items))
        if df_glance(self.n_asleep) > 0:
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
            self.wake_all()
            PyThread_release_lock(self.lock)
        self.take_part()
        while df_load_long(self.n_done) < n_items:
            spins += 1
            DF_PAUSE()
            if spins % DF_SPINS_PER_YIELD == 0:
                DF_YIELD()

    cdef bint take_part(self) noexcept nogil:
        """Do items of the present call until none is left; whether there was one."""
        cdef int64_t item
        cdef bint found = False
        if df_crew_item(df_load(self.word)) < 0:       # a look is cheaper than to take one too many
            return False
        while True:
            item = df_crew_item(df_take(self.word))
            if item < 0:
                return found
            found = True
            self.work(self.context, self.first + item)
            df_add_to_long(self.n_done, 1)

    cdef int serve(self, int member, Worker* worker) except -1 nogil:
        """Be a member until the leader has done."""
        cdef int spins = 0
        while not df_glance(self.is_over):
            if self.take_part():
                spins = 0
                continue
            spins += 1
            DF_PAUSE()
            if spins < DF_SPINS:
                continue
            spins = 0
            look_up(worker)
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
            if df_glance(self.is_over) or df_crew_item(df_load(self.word)) >= 0:
                PyThread_release_lock(self.lock)
                continue
            self.asleep[self.n_asleep] = member
            df_set(self.n_asleep, self.n_asleep + 1)
            PyThread_release_lock(self.lock)
            sleep(self.wake_locks[member])
        return 0

    cdef void wake_all(self) noexcept nogil:
        """Wake who sleeps. The caller holds the lock."""
        cdef int i
        for i in range(self.n_asleep):
            PyThread_release_lock(self.wake_locks[self.asleep[i]])
        df_set(self.n_asleep, 0)
