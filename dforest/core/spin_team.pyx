"""Spinning teams: threads that stay together for many short pieces of work.

A task (`dforest.core.threads`) costs some ten microseconds to begin, as threads are woken for it. A boosted tree needs a hundred
pieces of work that take about ten microseconds each, one after another, so the threads of its team stay: they look for the next
piece again and again, and sleep only if there is none for a while.

A team has a *leader*, who does what can't be shared, and *members* besides. A *call* is work that the leader shares: leader and
members take its items one after another, and the leader goes on when all are done. Nobody waits for a member to come: a leader
without members does all items. A team owns its locks. What a call needs belongs to the leader, and nobody else touches it when
the call is over.
"""
cimport cython
from libc.stdlib cimport calloc, free

from dforest.core.threads cimport (
    WAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock, df_add_to_long,
    df_glance, df_set, look_up, parallel_for, sleep_on_list,
)

cdef extern from "core/spin_team.h" nogil:
    enum:
        DF_TEAM_ITEMS
        DF_SPINS
        DF_SPINS_PER_YIELD
    uint64_t df_team_word(unsigned int n_items)
    int64_t df_team_item(uint64_t word)
    uint64_t df_load(uint64_t x)
    int64_t df_load_long "df_load"(int64_t x)
    void df_store(uint64_t x, uint64_t value)
    void df_store_long "df_store"(int64_t x, int64_t value)
    uint64_t df_take(uint64_t x)
    void DF_PAUSE()
    void DF_YIELD()


cdef int do_part(void* context, Py_ssize_t item, WorkerContext* worker) except -1 nogil:
    """An `Item` of the team's task: the first is the leader's, each other one a member's."""
    if item > 0:
        return (<SpinTeam> context).serve(<int> item, worker)
    return (<SpinTeam> context).do_lead(worker)


@cython.final
cdef class SpinTeam:
    """A team for one piece of leading.

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

    cdef int run_leader(self, SpinLead lead, void* context, double work) except -1:
        """Have `lead` called by one thread, while others serve it. The caller holds the interpreter's lock, which is released.

        work : of all threads, in nanoseconds or so
        """
        self.lead = lead
        self.own = context
        self.is_over = 0
        self.word = 0
        return parallel_for(do_part, <void*> self, self.n_members, self.n_members, work)

    cdef int do_lead(self, WorkerContext* worker) except -1 nogil:
        """Be the leader, and let all members go then."""
        try:
            self.lead(self.own, self, worker)
        finally:
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
            df_set(self.is_over, 1)
            self.wake_all()
            PyThread_release_lock(self.lock)
        return 0

    cdef void for_each(self, SpinWork work, void* context, int64_t n_items) noexcept nogil:
        """Have `work` called with every item, by the leader, who calls this, and by members."""
        self.first = 0
        while n_items > DF_TEAM_ITEMS:         # more than a word can count
            self.call_some(work, context, DF_TEAM_ITEMS)
            self.first += DF_TEAM_ITEMS
            n_items -= DF_TEAM_ITEMS
        self.call_some(work, context, n_items)

    cdef void call_some(self, SpinWork work, void* context, int64_t n_items) noexcept nogil:
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
        df_store(self.word, df_team_word(<unsigned int> n_items))
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
        if df_team_item(df_load(self.word)) < 0:       # a look is cheaper than to take one too many
            return False
        while True:
            item = df_team_item(df_take(self.word))
            if item < 0:
                return found
            found = True
            self.work(self.context, self.first + item)
            df_add_to_long(self.n_done, 1)

    cdef int serve(self, int member, WorkerContext* worker) except -1 nogil:
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
            if df_glance(self.is_over) or df_team_item(df_load(self.word)) >= 0:
                PyThread_release_lock(self.lock)
                continue
            self.asleep[self.n_asleep] = member
            df_set(self.n_asleep, self.n_asleep + 1)
            PyThread_release_lock(self.lock)
            sleep_on_list(member, self.wake_locks, self.asleep, &self.n_asleep, self.lock)
        return 0

    cdef void wake_all(self) noexcept nogil:
        """Wake who sleeps. The caller holds the lock."""
        cdef int i
        for i in range(self.n_asleep):
            PyThread_release_lock(self.wake_locks[self.asleep[i]])
        df_set(self.n_asleep, 0)
