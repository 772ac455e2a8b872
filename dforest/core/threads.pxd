from libc.stdint cimport int64_t

from cpython.ref cimport PyObject

cdef extern from "pythread.h":
    ctypedef void* PyThread_type_lock
    int WAIT_LOCK
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock lock)
    int PyThread_acquire_lock(PyThread_type_lock lock, int mode) nogil
    void PyThread_release_lock(PyThread_type_lock lock) nogil

cdef extern from *:
    """
    /* Of integers that several threads see: a hint, and counting. */
    #define df_glance(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
    #define df_set(x, value) __atomic_store_n(&(x), value, __ATOMIC_RELAXED)
    #define df_add_to(x, value) __atomic_fetch_add(&(x), value, __ATOMIC_ACQ_REL)
    """
    int df_glance(int x) nogil
    void df_set(int x, int value) nogil
    int df_add_to(int x, int value) nogil      # returns what x was
    int64_t df_add_to_long "df_add_to"(int64_t x, int64_t value) nogil

cdef enum:
    POLL_WORK = 1 << 23       # about a nanosecond each: a thread looks up from its work so often

# Does one item of a job.
ctypedef int (*Item)(void* context, Py_ssize_t item, Turn* turn) except -1 nogil

cdef struct Job:              # the caller's, on its stack
    Item do_item
    void* context
    int64_t n_items           # numbered from 0
    int64_t next              # the first that nobody has taken
    int n_wanted              # workers that may still join
    int n_joined              # that have
    int n_there               # that are at it
    int stopped               # all are to give up
    bint is_listed
    bint is_awaited           # the caller sleeps until nobody is there
    PyThread_type_lock done   # released then
    PyObject* errors          # list of what was raised
    Job* after                # in the list of jobs

cdef struct Turn:             # what a thread knows of a job it is at
    Job* job
    int number                # of the thread among those at the job; the caller's is 0
    int64_t work              # done since it last looked up

cdef int share(Item do_item, void* context, Py_ssize_t n_items, int n_threads) except -1
cdef Turn current_turn() noexcept nogil
cdef int look_up(Turn* turn) except -1 nogil
cdef int check_signals() except -1 nogil
cdef int sleep(PyThread_type_lock bell) except -1 nogil


cdef inline int poll(Turn* turn, int64_t work) except -1 nogil:
    """Count work, in nanoseconds or so; now and then, see whether to give up."""
    turn.work += work
    return look_up(turn) if turn.work >= POLL_WORK else 0
