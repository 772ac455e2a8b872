"""The threads of this process that share work: see threads.pyx."""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

cdef extern from "pythread.h":
    ctypedef void* PyThread_type_lock
    int WAIT_LOCK, NOWAIT_LOCK
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock lock)
    int PyThread_acquire_lock(PyThread_type_lock lock, int mode) nogil
    void PyThread_release_lock(PyThread_type_lock lock) nogil

cdef extern from *:
    """
    /* Integers that several threads see. What df_glance reads may be out of date, and neither it nor df_set orders other
     * accesses to memory; df_add_to counts, and orders them. */
    #define df_glance(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
    #define df_set(x, value) __atomic_store_n(&(x), value, __ATOMIC_RELAXED)
    #define df_add_to(x, value) __atomic_fetch_add(&(x), value, __ATOMIC_ACQ_REL)
    """
    int df_glance(int x) nogil
    void df_set(int x, int value) nogil
    int df_add_to(int x, int value) nogil      # returns what x was
    int64_t df_add_to_long "df_add_to"(int64_t x, int64_t value) nogil

cdef enum:
    POLL_WORK = 1 << 23       # work, in nanoseconds or so, after which a thread looks whether to give up

# Does one item of a task; `worker` is the calling thread's context.
ctypedef int (*Item)(void* context, Py_ssize_t item, WorkerContext* worker) except -1 nogil

cdef struct Task:             # on the stack of its caller
    Item do_item
    void* context             # handed to do_item
    int64_t n_items           # numbered from 0
    int64_t next              # the first item that nobody has taken
    int n_wanted              # workers that may still join
    int n_joined              # workers that have joined so far
    int n_there               # workers that are at it now
    int stopped               # all threads at it are to give up
    bint is_listed            # in the pool's list of tasks that want workers
    bint is_awaited           # the caller sleeps until no worker is at it
    bint is_over              # and has been woken
    PyThread_type_lock done   # released when the last worker leaves while the caller sleeps
    PyObject* errors          # list of the exceptions that were raised, in their order
    Task* after               # the next one in the pool's list

cdef struct WorkerContext:    # what a thread knows of a task it is at
    Task* task
    int number                # of the thread among all that have been at the task; the caller's is 0
    int64_t work              # that the thread has done since it last looked whether to give up

cdef int parallel_for(Item do_item, void* context, Py_ssize_t n_items, int n_threads, double work=*) except -1
cdef int pass_on() except -1
cdef WorkerContext current_worker() noexcept nogil
cdef int look_up(WorkerContext* worker) except -1 nogil
cdef int check_signals() except -1 nogil
cdef int sleep_on_list(int member, PyThread_type_lock* wake_locks, int* asleep, int* n_asleep,
                       PyThread_type_lock lock) except -1 nogil


cdef inline int poll(WorkerContext* worker, int64_t work) except -1 nogil:
    """Count work, in nanoseconds or so, and now and then raise `Stopped` if the thread is to give up, or handle signals."""
    worker.work += work
    return look_up(worker) if worker.work >= POLL_WORK else 0
