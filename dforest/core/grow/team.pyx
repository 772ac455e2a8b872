"""Threads at work on one fit.

Words: *members* are the threads, numbered from 0; they join when they come. A member without work is *idle* and sleeps. An
*offer* is a piece of work that any member may take and do alone; a *task* is one that its *leader*
shares: it consists of *items*, which the leader and its *helpers* take one after another, and the
leader goes on when all are done.

Whoever has work to give sees at the price of one read whether somebody is idle, so a team whose
members are all busy costs nothing. Nobody waits but idle members, and leaders for helpers at their
last item. The fit is done when all who have joined are idle.

Sleeping and waking are the locks of Python's threads, which need no interpreter's lock. One lock
guards the team's state. It is held for a few instructions, never while anybody works or sleeps.

A team owns its locks and lists; offers and tasks are its members'.
"""
cimport cython
from libc.stdlib cimport calloc, free

from dforest.core.threads cimport (
    PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock, WAIT_LOCK, df_glance, df_set, sleep,
)

from dforest.core.threads import Stopped


cdef int do_items(void* context, void* own) except -1 nogil:
    cdef Plain* plain = <Plain*> context
    cdef Py_ssize_t item = 0
    while item >= 0:
        item = (<Team> plain.team).take(&plain.task)
        if item >= 0:
            plain.work(plain.context, item)
    return 0


@cython.final
cdef class Team:
    """Shared by the members' growers.

    Parameters
    ----------
    n_members : int
        At most.
    """

    def __cinit__(self, int n_members):
        cdef int i
        self.n_members = n_members
        self.lock = PyThread_allocate_lock()
        self.bells = <PyThread_type_lock*> calloc(n_members, sizeof(PyThread_type_lock))
        self.idle = <int*> calloc(n_members, sizeof(int))
        self.offers = <void**> calloc(n_members, sizeof(void*))
        self.tasks = <Task**> calloc(n_members, sizeof(Task*))
        if self.lock == NULL or self.bells == NULL or self.idle == NULL or self.offers == NULL or self.tasks == NULL:
            raise MemoryError()
        for i in range(n_members):
            self.bells[i] = PyThread_allocate_lock()
            if self.bells[i] == NULL:
                raise MemoryError()
            PyThread_acquire_lock(self.bells[i], WAIT_LOCK)

    def __dealloc__(self):
        cdef int i
        if self.bells != NULL:
            for i in range(self.n_members):
                if self.bells[i] != NULL:
                    PyThread_release_lock(self.bells[i])
                    PyThread_free_lock(self.bells[i])
        if self.offers != NULL:
            for i in range(self.n_offers):     # that nobody took, since all had to stop
                free(self.offers[i])
        if self.lock != NULL:
            PyThread_free_lock(self.lock)
        free(self.bells)
        free(self.idle)
        free(self.offers)
        free(self.tasks)

    def stop(self):
        """Tell all members to give up what they are at."""
        with nogil:
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
            self.give_up()
            PyThread_release_lock(self.lock)

    cdef void give_up(self) noexcept nogil:
        """Have all members stop. The lock is held."""
        df_set(self.stopped, 1)
        self.wake(self.n_members)

    cdef int check(self) except -1 nogil:
        """Raise `Stopped` if all are to give up."""
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
        """Wake up idle members. The lock is held."""
        cdef int n = self.n_idle
        while n > 0 and most > 0:
            n -= 1
            most -= 1
            PyThread_release_lock(self.bells[self.idle[n]])
        df_set(self.n_idle, n)

    cdef bint offer(self, void* work) noexcept nogil:
        """Offer memory from `malloc`, which the taker frees; False: nobody is idle, the work stays the caller's.

        There are never more offers than members awake to look for them, so there is room.
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

    cdef bint wait(self, int member, void** offer, Task** task) except -1 nogil:
        """Sleep until there is an offer or a task to help at, the other is NULL; False: everything is done, or stopped."""
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
            sleep(self.bells[member])
        PyThread_release_lock(self.lock)
        return offer[0] != NULL or task[0] != NULL

    cdef int share(self, Task* task, void* own) except -1 nogil:
        """Do a task of which part, context, n_items and leader are set, together with those who are idle.

        `own` is what the leader brings to its part. A task lives until this returns.
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
                PyThread_acquire_lock(self.bells[task.leader], WAIT_LOCK)
        return self.check()

    cdef int take_part(self, Task* task, void* own, bint leads) except -1 nogil:
        """Do a member's part of a task, then withdraw the task, or be its helper no longer."""
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
                    PyThread_release_lock(self.bells[task.leader])
            PyThread_release_lock(self.lock)
        return 0

    cdef int share_items(self, int leader, Py_ssize_t n_items, Work work, void* context) except -1 nogil:
        """Have `work` called with every item, by all who are idle and the caller."""
        cdef Plain plain
        plain.task.part = do_items
        plain.task.context = &plain
        plain.task.n_items = n_items
        plain.task.leader = leader
        plain.team = <PyObject*> self
        plain.work = work
        plain.context = context
        return self.share(&plain.task, NULL)

    cdef int help(self, Task* task, void* own) except -1 nogil:
        """Take part in a task that `wait` gave."""
        return self.take_part(task, own, False)

    cdef Py_ssize_t take(self, Task* task) noexcept nogil:
        """The next item of a task; -1: none are left."""
        cdef Py_ssize_t item = -1
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        if task.next < task.n_items and not self.stopped:
            item = task.next
            task.next += 1
        PyThread_release_lock(self.lock)
        return item
