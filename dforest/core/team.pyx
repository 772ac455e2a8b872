"""Threads at work on one fit.

*Members* are the threads, numbered from 0; a thread becomes one by `join`. A member without work is *idle* and sleeps. An
*offer* is work that any one member may take and do alone: memory from `malloc`, which goes from the member that offers it to the
team, and on to the member that takes it. A *task* is work that its *leader* shares: it consists of *items*, which the leader and
its *helpers* take one after another, and the leader goes on when all items are done.

A member that has work to give sees at the price of one read whether another one is idle, so a team whose members are all busy
costs nothing. Only idle members wait, and leaders whose helpers are still at their last item. The fit is done when all members
are idle.

Members sleep on locks of Python's threads, which do not need the interpreter's lock, and are woken by the release of these. One
lock guards the team's state. It is held for a few instructions, never while a member works or sleeps.

A team owns its locks, its lists and the offers that nobody has taken. Tasks belong to their leaders.
"""
cimport cython
from libc.stdlib cimport calloc, free

from dforest.core.threads cimport (
    PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock, WAIT_LOCK, df_glance, df_set,
    sleep_on_list,
)

from dforest.core.threads import Stopped


cdef int do_items(void* context, void* own) except -1 nogil:
    """Take part in a plain task."""
    cdef PlainTask* plain = <PlainTask*> context
    cdef Py_ssize_t item = 0
    while item >= 0:
        item = (<Team> plain.team).take_item(&plain.task)
        if item >= 0:
            plain.work(plain.context, item)
    return 0


@cython.final
cdef class Team:
    """Shared by the growers of its members.

    Parameters
    ----------
    n_members : int
        How many members there may be.
    """

    def __cinit__(self, int n_members):
        cdef int i
        self.n_members = n_members
        self.lock = PyThread_allocate_lock()
        self.wake_locks = <PyThread_type_lock*> calloc(n_members, sizeof(PyThread_type_lock))
        self.idle = <int*> calloc(n_members, sizeof(int))
        self.offers = <void**> calloc(n_members, sizeof(void*))
        self.tasks = <TeamTask**> calloc(n_members, sizeof(TeamTask*))
        if self.lock == NULL or self.wake_locks == NULL or self.idle == NULL or self.offers == NULL or self.tasks == NULL:
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
        if self.offers != NULL:
            for i in range(self.n_offers):     # which nobody took, as all members had to stop
                free(self.offers[i])
        if self.lock != NULL:
            PyThread_free_lock(self.lock)
        free(self.wake_locks)
        free(self.idle)
        free(self.offers)
        free(self.tasks)

    def stop(self):
        """Tell all members to give up what they are at, and to stop."""
        with nogil:
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
            self.give_up()
            PyThread_release_lock(self.lock)

    cdef void give_up(self) noexcept nogil:
        """Have all members stop. The caller holds the lock."""
        df_set(self.stopped, 1)
        self.wake(self.n_members)

    cdef int check(self) except -1 nogil:
        """Raise `Stopped` if all members are to give up."""
        if df_glance(self.stopped):
            with gil:
                raise Stopped()
        return 0

    cdef bint join(self) noexcept nogil:
        """Count the calling thread as a member; False: there is nothing left to do."""
        cdef bint is_wanted
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        is_wanted = not (self.stopped or self.is_done)
        self.n_joined += is_wanted
        PyThread_release_lock(self.lock)
        return is_wanted

    cdef void wake(self, Py_ssize_t most) noexcept nogil:
        """Wake at most `most` idle members. The caller holds the lock."""
        cdef int n = self.n_idle
        while n > 0 and most > 0:
            n -= 1
            most -= 1
            PyThread_release_lock(self.wake_locks[self.idle[n]])
        df_set(self.n_idle, n)

    cdef bint offer(self, void* work) noexcept nogil:
        """Offer work, memory from `malloc` that its taker frees; False: no member is idle, and the work stays the caller's.

        Each offer wakes a member, which takes one before it sleeps again. So there are never more offers than members, and room.
        """
        cdef bint wanted
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        wanted = self.n_idle > 0
        if wanted:
            self.offers[self.n_offers] = work
            self.n_offers += 1
            self.wake(1)
        PyThread_release_lock(self.lock)
        return wanted

    cdef bint wait_for_work(self, int member, void** offer, TeamTask** task) except -1 nogil:
        """Sleep until there is an offer or a task to help at; the other one is NULL. False: the fit is done or stopped."""
        cdef int i
        offer[0] = NULL
        task[0] = NULL
        while True:
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
            if not self.stopped:
                if self.n_offers > 0:
                    offer[0] = self.offers[0]
                    self.n_offers -= 1
                    for i in range(self.n_offers):
                        self.offers[i] = self.offers[i + 1]
                    break
                for i in range(self.n_tasks):
                    if self.tasks[i].next < self.tasks[i].n_items:
                        task[0] = self.tasks[i]
                        task[0].n_helpers += 1
                        break
                if task[0] != NULL:
                    break
                if self.n_idle == self.n_joined - 1:
                    self.is_done = True
                    self.wake(self.n_members)
            if self.stopped or self.is_done:
                break
            df_set(self.is_short, 1)
            self.idle[self.n_idle] = member
            df_set(self.n_idle, self.n_idle + 1)
            PyThread_release_lock(self.lock)
            sleep_on_list(member, self.wake_locks, self.idle, &self.n_idle, self.lock)
        PyThread_release_lock(self.lock)
        return offer[0] != NULL or task[0] != NULL

    cdef int run_task(self, TeamTask* task, void* own) except -1 nogil:
        """Do a task, whose part, context, n_items and leader are set, together with idle members.

        IN own : what the leader brings to its part, as each helper does in `help`: its splitter, say

        No member knows of the task any more when this returns.
        """
        task.next = 0
        task.n_helpers = 0
        task.is_awaited = False
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.tasks[self.n_tasks] = task
        self.n_tasks += 1
        self.wake(task.n_items - 1)
        PyThread_release_lock(self.lock)
        try:
            self.take_part(task, own, True)
        finally:
            if task.is_awaited:
                PyThread_acquire_lock(self.wake_locks[task.leader], WAIT_LOCK)
        return self.check()

    cdef int take_part(self, TeamTask* task, void* own, bint leads) except -1 nogil:
        """Do a member's part of a task. Then the leader withdraws the task, and the last helper wakes a leader that waits."""
        cdef int i
        cdef bint failed = True
        try:
            task.part(task.context, own)
            failed = False
        finally:
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
            if failed:
                self.give_up()
            if leads:
                for i in range(self.n_tasks):
                    if self.tasks[i] == task:
                        self.n_tasks -= 1
                        self.tasks[i] = self.tasks[self.n_tasks]
                        break
                task.is_awaited = task.n_helpers > 0
            else:
                task.n_helpers -= 1
                if task.n_helpers == 0 and task.is_awaited:
                    PyThread_release_lock(self.wake_locks[task.leader])
            PyThread_release_lock(self.lock)
        return 0

    cdef int parallel_for(self, int leader, Py_ssize_t n_items, Work work, void* context) except -1 nogil:
        """Have `work` called with every item, by the caller, which is the member `leader`, and by idle members."""
        cdef PlainTask plain
        plain.task.part = do_items
        plain.task.context = &plain
        plain.task.n_items = n_items
        plain.task.leader = leader
        plain.team = <PyObject*> self
        plain.work = work
        plain.context = context
        return self.run_task(&plain.task, NULL)

    cdef int help_with(self, TeamTask* task, void* own) except -1 nogil:
        """Take part in a task that `wait` gave. IN own : what the member brings to its part"""
        return self.take_part(task, own, False)

    cdef Py_ssize_t take_item(self, TeamTask* task) noexcept nogil:
        """The next item of a task; -1: no item is left, or all members are to give up."""
        cdef Py_ssize_t item = -1
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        if task.next < task.n_items and not self.stopped:
            item = task.next
            task.next += 1
        PyThread_release_lock(self.lock)
        return item
