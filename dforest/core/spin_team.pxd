"""Teams: threads that stay together for many short pieces of work: see spin_team.pyx."""
cimport cython
from libc.stdint cimport int64_t, uint64_t

from dforest.core.threads cimport PyThread_type_lock, WorkerContext

# Does one item of a call.
ctypedef void (*SpinWork)(void* context, int64_t item) noexcept nogil

# What the leader does. It may raise, between calls.
ctypedef int (*SpinLead)(void* context, SpinTeam team, WorkerContext* worker) except -1 nogil


@cython.final
cdef class SpinTeam:
    cdef readonly int n_members    # that there may be, the leader included
    cdef uint64_t word             # of the present call: see spin_team.h
    cdef int64_t first             # item of the present call, of more items than a word counts
    cdef int64_t n_done            # items of the present call that are done
    cdef SpinWork work             # of the present call, as is the next
    cdef void* context
    cdef SpinLead lead
    cdef void* own                 # context of `lead`
    cdef int is_over               # the leader has done all
    cdef int n_asleep              # members that sleep
    cdef PyThread_type_lock lock   # guards the list of those that sleep
    cdef PyThread_type_lock* wake_locks  # [n_members] locks that are held; a member sleeps until its own is released
    cdef int* asleep               # [n_members] numbers of members that sleep

    cdef void for_each(self, SpinWork work, void* context, int64_t n_items) noexcept nogil
    cdef int do_lead(self, WorkerContext* worker) except -1 nogil
    cdef void call_some(self, SpinWork work, void* context, int64_t n_items) noexcept nogil
    cdef bint take_part(self) noexcept nogil
    cdef int serve(self, int member, WorkerContext* worker) except -1 nogil
    cdef void wake_all(self) noexcept nogil
    cdef int run_leader(self, SpinLead lead, void* context, double work) except -1
