"""Threads at work on one fit: see team.pyx."""
cimport cython
from cpython.ref cimport PyObject

from dforest.core.threads cimport PyThread_type_lock, df_glance

# What each member does that takes part in a task: take items until there are none. IN own : what it brings, see Team.run_task
ctypedef int (*Part)(void* context, void* own) except -1 nogil

# Does one item of a task that needs nothing of a member's own.
ctypedef void (*Work)(void* context, Py_ssize_t item) noexcept nogil

cdef struct TeamTask:         # on the stack of its leader, which sets part, context, n_items and leader; the team sets the rest
    Part part
    void* context             # handed to `part`
    Py_ssize_t n_items        # numbered from 0
    Py_ssize_t next           # the first item that nobody has taken
    int leader                # number of the member that shares the task
    int n_helpers             # members at the task, besides the leader
    bint is_awaited           # the leader sleeps until no helper is left

cdef struct PlainTask:        # a task that needs nothing of a member's own
    TeamTask task
    PyObject* team
    Work work
    void* context             # handed to `work`


@cython.final
cdef class Team:
    cdef readonly int n_members    # that there may be
    cdef int n_joined              # members that have joined
    cdef PyThread_type_lock lock   # guards everything below
    cdef PyThread_type_lock* wake_locks  # [n_members] locks that are held; a member sleeps until its own is released
    cdef int* idle                 # [n_idle] members that sleep for lack of work
    cdef int n_idle
    cdef int is_short              # a member has been idle: no tree is left to begin
    cdef void** offers             # [n_offers] what any member may take, the oldest first; room for n_members
    cdef int n_offers
    cdef TeamTask** tasks          # [n_tasks] tasks that their leaders are at; room for n_members
    cdef int n_tasks
    cdef int stopped               # all members are to give up
    cdef bint is_done              # nothing is left to do

    cdef bint join(self) noexcept nogil

    cdef inline bint has_idle(self) noexcept nogil:
        """Whether a member has nothing to do; may be out of date."""
        return df_glance(self.n_idle) > 0

    cdef inline bint runs_short(self) noexcept nogil:
        """Whether a member has had nothing to do, as no tree is left to begin: others will soon have nothing to do either."""
        return df_glance(self.is_short) != 0

    cdef bint offer(self, void* work) noexcept nogil
    cdef bint wait_for_work(self, int member, void** offer, TeamTask** task) except -1 nogil
    cdef int run_task(self, TeamTask* task, void* own) except -1 nogil
    cdef int parallel_for(self, int leader, Py_ssize_t n_items, Work work, void* context) except -1 nogil
    cdef Py_ssize_t take_item(self, TeamTask* task) noexcept nogil
    cdef int take_part(self, TeamTask* task, void* own, bint leads) except -1 nogil
    cdef int help_with(self, TeamTask* task, void* own) except -1 nogil
    cdef void give_up(self) noexcept nogil
    cdef void wake(self, Py_ssize_t most) noexcept nogil
    cdef int check(self) except -1 nogil
