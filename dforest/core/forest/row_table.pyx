"""Distinct rows, which several threads find together.

Rows are handed in by *batches*, such as the leaves of a tree. Batches have numbers, and may come in any order, several at a time.
The *place* of a row is its batch's number and its own number in the batch. In the end distinct rows are numbered in the order of
their first places, so that chance decides nothing; until then they have *provisional* numbers.

A table is divided into *shards* by bits of the rows' hashes. A shard has *slots*, an array of row numbers by hash. To look a row
up needs no lock: a slot is written once, after all that it leads to. A larger array of slots replaces a small one, which stays
until all rows have come. A thread that does not find a row takes the lock of the row's shard, looks again, and adds the row. The
least place of a row is kept by an atomic minimum.

A row may have a *list* beside its words: entries of two words each, their number being the row's last word. Lists of equal rows
are equal, too. The table keeps lists in *chunks*, memory that stays where it is, and a list's address with the words of its row.

A table owns its memory, and copies the rows that it keeps.
"""
cimport cython
from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

import numpy as np

from dforest.core.prefetch cimport df_prefetch
from dforest.core.threads cimport (
    WAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock, PyThread_type_lock,
)

from dforest.core.threads import each

cdef extern from *:
    """
    #define df_highest_bit(x) (63 - __builtin_clzll(x))
    #define df_count_bits(x) __builtin_popcountll(x)
    /* What was written before the number was published is seen by whoever sees the number. */
    #define df_seen(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
    #define df_publish(x, value) __atomic_store_n(&(x), value, __ATOMIC_RELEASE)
    #define df_set_bits(x, bits) __atomic_fetch_or(&(x), bits, __ATOMIC_RELAXED)

    static inline void df_lower(uint64_t *x, uint64_t value)
    {
        uint64_t held = __atomic_load_n(x, __ATOMIC_RELAXED);
        while (value < held && !__atomic_compare_exchange_n(x, &held, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
    }
    """
    int df_highest_bit(uint64_t x) nogil
    int df_count_bits(uint64_t x) nogil
    uint32_t df_seen_number "df_seen"(uint32_t x) nogil
    int df_seen_int "df_seen"(int x) nogil
    void df_publish_number "df_publish"(uint32_t x, uint32_t value) nogil
    void df_publish_int "df_publish"(int x, int value) nogil
    void df_set_bits(uint64_t x, uint64_t bits) nogil
    void df_lower(uint64_t* x, uint64_t value) nogil

cdef enum:
    AT_A_TIME = 32             # rows whose memory is asked for together
    ADDED_TOGETHER = 2048      # rows that are looked up before those that are missing are added
    FIRST_BIT = 4              # of the first part's rows
    SHARDS_PER_THREAD = 16     # or more: two threads seldom want to add a row to one of them at the same time
    MAX_SHARDS = 1024
    MAX_PARTS = 32
    NODES_AT_A_TIME = 1 << 16
    LISTED_WORDS = 3           # of a row that has a list: one of its own, the number of entries, and their address
    FIRST_CHUNK = 1 << 7       # words,
    LARGEST_CHUNK = 1 << 17    # unless a list needs more

cdef uint32_t NO_NUMBER = 0xFFFFFFFF     # of a row that is left out

cdef enum Failure:
    NO_MEMORY = -1
    FULL = -2


cdef struct Slots:
    uint64_t size              # a power of two, more than twice the rows that all parts can take
    int bits                   # of a slot's number; the others are the tag, the same bits of the row's hash
    uint32_t* numbers          # [size] open addressing; numbers of rows, counted from 1, and tags above; 0: none

cdef struct Chunk:             # memory for lists, which follow
    Chunk* before              # the chunk before; NULL: it is the first one
    int64_t n, room            # words

cdef struct Shard:             # the rows whose hashes have some bits in common
    PyThread_type_lock lock    # held by who adds a row; NULL: there is one thread alone
    int64_t n                  # rows
    int n_parts
    int64_t* parts[MAX_PARTS]  # rows: some in the first part, then twice as many, ...; a part once made stays where it is
    uint64_t* places[MAX_PARTS]   # of the rows of each part: the first so far, as a batch's number << 32 | place in the batch
    Chunk* chunk               # the one in use; NULL: there is none yet
    Slots slots[MAX_PARTS]     # those made with each part, of which the last are in use; others may still be looked into


cdef inline uint64_t mixed(uint64_t hashed, uint64_t word) noexcept nogil:
    hashed = (hashed ^ word) * 0x9E3779B97F4A7C15ULL
    return hashed ^ hashed >> 29


cdef inline uint64_t hash_of(const int64_t* row, Py_ssize_t n) noexcept nogil:
    cdef uint64_t hashed = 0, second = 0, third = 0, fourth = 0
    cdef Py_ssize_t k = 0
    if n >= 8:                 # four at a time, none of which waits for the others
        while k + 4 <= n:
            hashed = mixed(hashed, row[k])
            second = mixed(second, row[k + 1])
            third = mixed(third, row[k + 2])
            fourth = mixed(fourth, row[k + 3])
            k += 4
        hashed = mixed(mixed(mixed(hashed, second), third), fourth)
    while k < n:
        hashed = mixed(hashed, row[k])
        k += 1
    return hashed


cdef inline bint are_equal(const int64_t* a, const int64_t* b, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        if a[k] != b[k]:
            return False
    return True


cdef inline uint32_t tag_of(uint64_t hashed, int bits) noexcept nogil:
    return <uint32_t> (hashed >> 32) >> bits << bits


cdef inline uint32_t next_number(const Slots* slots, uint64_t* slot, uint32_t tag) noexcept nogil:
    """The number with this tag in the first such slot from one on, before any that is free; 0: there is none.

    INOUT slot : any number whose lower bits are the slot's
    """
    cdef uint32_t held, mask = (<uint32_t> 1 << slots.bits) - 1
    while True:
        held = df_seen_number(slots.numbers[slot[0] & (slots.size - 1)])
        if held == 0 or held & ~mask == tag:
            return held & mask
        slot[0] += 1


@cython.final
cdef class RowTable:
    """Distinct rows in order of first appearance.

    Parameters
    ----------
    m : int
        Words of a row.
    n_threads : int, default=1
        How many threads may call `add` at the same time.
    has_lists : bool, default=False
        Whether rows, which have two words then, have lists.
    """
    cdef Py_ssize_t m              # words of a row, with the address of its list
    cdef bint has_lists
    cdef int n_threads
    cdef uint32_t n_shards         # a power of two
    cdef int shard_bits
    cdef Shard* shards             # [n_shards]; NULL once the table has ended
    cdef int64_t last_batch
    cdef int64_t n_final           # distinct rows, once they are final; -1: they are not
    cdef bint is_ordered           # one thread has handed in batch after batch: numbers are in order of first appearance
    cdef list numbers              # once final, of each shard: the number of each row among all; None: it is in order

    def __cinit__(self, Py_ssize_t m, int n_threads=1, bint has_lists=False):
        cdef uint32_t s
        self.m = LISTED_WORDS if has_lists else m
        self.has_lists = has_lists
        self.n_threads = n_threads
        self.n_shards = 1
        while n_threads > 1 and self.n_shards < min(MAX_SHARDS, SHARDS_PER_THREAD * n_threads):
            self.n_shards *= 2
        self.shard_bits = df_highest_bit(self.n_shards)
        self.last_batch = self.n_final = -1
        self.is_ordered = True
        self.shards = <Shard*> calloc(self.n_shards, sizeof(Shard))
        if self.shards == NULL:
            raise MemoryError()
        for s in range(self.n_shards if n_threads > 1 else 0):
            self.shards[s].lock = PyThread_allocate_lock()
            if self.shards[s].lock == NULL:
                raise MemoryError()

    def __dealloc__(self):
        self.end()

    cdef void end(self) noexcept:
        """Free all memory."""
        cdef uint32_t s
        cdef int p
        cdef Chunk* chunk
        self.numbers = None
        if self.shards == NULL:
            return
        for s in range(self.n_shards):
            while self.shards[s].chunk != NULL:
                chunk = self.shards[s].chunk
                self.shards[s].chunk = chunk.before
                free(chunk)
            for p in range(self.shards[s].n_parts):
                free(self.shards[s].parts[p])
                free(self.shards[s].places[p])
                free(self.shards[s].slots[p].numbers)
            if self.shards[s].lock != NULL:
                PyThread_free_lock(self.shards[s].lock)
        free(self.shards)
        self.shards = NULL

    def __len__(self):
        """How many distinct rows have come."""
        cdef int64_t n = 0
        cdef uint32_t s
        if self.shards != NULL:
            for s in range(self.n_shards):
                n += self.shards[s].n
        return n

    cdef inline int64_t* row(self, const Shard* shard, uint64_t i) noexcept nogil:
        cdef int bit = df_highest_bit(i + (1 << FIRST_BIT))
        return shard.parts[bit - FIRST_BIT] + <Py_ssize_t> (i + (1 << FIRST_BIT) - (<uint64_t> 1 << bit)) * self.m

    cdef inline uint64_t* place(self, const Shard* shard, uint64_t i) noexcept nogil:
        """Where a row's first place is kept."""
        cdef int bit = df_highest_bit(i + (1 << FIRST_BIT))
        return shard.places[bit - FIRST_BIT] + (i + (1 << FIRST_BIT) - (<uint64_t> 1 << bit))

    cdef inline uint64_t hash_row(self, const int64_t* row) noexcept nogil:
        return mixed(hash_of(list_of(row), 2 * row[1]), row[0]) if self.has_lists else hash_of(row, self.m)

    cdef inline bint are_same(self, const int64_t* a, const int64_t* b) noexcept nogil:
        if not self.has_lists:
            return are_equal(a, b, self.m)
        return a[0] == b[0] and a[1] == b[1] and memcmp(list_of(a), list_of(b), 2 * a[1] * sizeof(int64_t)) == 0

    cdef inline uint32_t find(self, Shard* shard, uint64_t hashed, const int64_t* row) noexcept nogil:
        """The number of the row that equals this one, from 1; 0: none has been seen."""
        cdef const Slots* slots
        cdef uint32_t tag, found
        cdef uint64_t slot = hashed
        cdef int n_parts = df_seen_int(shard.n_parts)
        if n_parts == 0:
            return 0
        slots = &shard.slots[n_parts - 1]
        tag = tag_of(hashed, slots.bits)
        while True:
            found = next_number(slots, &slot, tag)
            if not found or self.are_same(self.row(shard, found - 1), row):
                return found
            slot += 1

    cdef int enlarge(self, Shard* shard) noexcept nogil:
        """Make another part, and slots for the rows that all parts can take; return whether it failed, by a `Failure`."""
        cdef int p = shard.n_parts
        cdef Slots slots
        cdef uint64_t hashed, slot
        cdef int64_t i
        if FIRST_BIT + 1 + p + self.shard_bits > 31 or p == MAX_PARTS:
            return FULL
        slots.size = <uint64_t> 4 << FIRST_BIT + p
        slots.bits = FIRST_BIT + 1 + p
        slots.numbers = <uint32_t*> calloc(slots.size, sizeof(uint32_t))
        shard.parts[p] = <int64_t*> malloc((<uint64_t> 1 << FIRST_BIT + p) * max(<Py_ssize_t> 1, self.m) * sizeof(int64_t))
        shard.places[p] = <uint64_t*> malloc((<uint64_t> 1 << FIRST_BIT + p) * sizeof(uint64_t))
        if slots.numbers == NULL or shard.parts[p] == NULL or shard.places[p] == NULL:
            free(slots.numbers)
            free(shard.parts[p])
            free(shard.places[p])
            return NO_MEMORY
        for i in range(shard.n):
            hashed = self.hash_row(self.row(shard, i))
            slot = hashed & (slots.size - 1)
            while slots.numbers[slot]:
                slot = (slot + 1) & (slots.size - 1)
            slots.numbers[slot] = tag_of(hashed, slots.bits) | <uint32_t> (i + 1)
        shard.slots[p] = slots
        df_publish_int(shard.n_parts, p + 1)
        if shard.lock == NULL and p > 0:
            free(shard.slots[p - 1].numbers)
            shard.slots[p - 1].numbers = NULL
        return 0

    cdef int64_t insert(self, Shard* shard, uint64_t hashed, const int64_t* row, uint64_t place) noexcept nogil:
        """The number of a row, from 1, which is added unless it is there; or a `Failure`. The caller holds the shard's lock."""
        cdef int64_t found = self.find(shard, hashed, row)
        if found:
            df_lower(self.place(shard, found - 1), place)
            return found
        return self.append(shard, hashed, row, place)

    cdef int64_t append(self, Shard* shard, uint64_t hashed, const int64_t* row, uint64_t place) noexcept nogil:
        """The number of another row, from 1; or a `Failure`."""
        cdef Slots* slots
        cdef uint64_t slot
        cdef int failure
        if shard.n == (<int64_t> 1 << FIRST_BIT + shard.n_parts) - (1 << FIRST_BIT):
            failure = self.enlarge(shard)
            if failure:
                return failure
        memcpy(self.row(shard, shard.n), row, self.m * sizeof(int64_t))
        if self.has_lists and not keep_list(shard, self.row(shard, shard.n)):
            return NO_MEMORY
        self.place(shard, shard.n)[0] = place
        shard.n += 1
        slots = &shard.slots[shard.n_parts - 1]
        slot = hashed & (slots.size - 1)
        while slots.numbers[slot]:
            slot = (slot + 1) & (slots.size - 1)
        df_publish_number(slots.numbers[slot], tag_of(hashed, slots.bits) | <uint32_t> shard.n)
        return shard.n

    def add(self, rows not None, int64_t batch=0, entries=None):
        """Take a batch of rows, or more of one.

        Parameters
        ----------
        rows : ndarray of shape (n, m), dtype int64
            Fewer than 2**32.
        batch : int, default=0
            Their batch's number, below 2**31. Rows of one batch that come by several calls have no order among these.
        entries : ndarray of shape (n_entries, 2), dtype int64, or None
            Of the rows' lists, one list after another, if they have some.

        Returns
        -------
        ndarray of shape (n,), dtype uint32
            The provisional number of the distinct row that equals each row.

        Raises
        ------
        OverflowError
            If there are more distinct rows than a forest may have, about 2**31.
        """
        if self.shards == NULL or self.n_final >= 0:
            raise ValueError("rows for a table that has been settled or released")
        if self.has_lists:
            rows = with_addresses(rows, entries)
        if rows.shape[1] != self.m:
            raise ValueError(f"rows of {rows.shape[1]} words, in a table of rows of {self.m}")
        if self.n_threads > 1 or batch <= self.last_batch:
            self.is_ordered = False
        self.last_batch = batch
        numbers = np.empty(rows.shape[0], np.uint32)
        cdef uint32_t[::1] to = numbers
        cdef const int64_t[:, ::1] given = rows
        with nogil:
            self.add_rows(given, batch, to)
        return numbers

    cdef int add_rows(self, const int64_t[:, ::1] rows, uint64_t batch, uint32_t[::1] numbers) except -1 nogil:
        cdef int failure
        cdef Py_ssize_t first = 0, n
        while first < rows.shape[0]:
            n = min(<Py_ssize_t> ADDED_TOGETHER, rows.shape[0] - first)
            failure = self.add_some(&rows[first, 0], n, batch << 32 | <uint64_t> first, &numbers[first])
            if failure == NO_MEMORY:
                with gil:
                    raise MemoryError("no memory for the leaves of a forest")
            if failure == FULL:
                with gil:
                    raise OverflowError("a forest has more than 2**31 different leaves; limit max_depth or min_samples_leaf")
            first += n
        return 0

    cdef int add_some(self, const int64_t* rows, Py_ssize_t n, uint64_t place, uint32_t* numbers) noexcept nogil:
        """Take at most ADDED_TOGETHER rows, given the place of the first one; return 0 or a `Failure`.

        Those that nobody has added wait until all others have been found, so that the lock of a shard is taken once.
        """
        cdef uint64_t hashed[ADDED_TOGETHER]
        cdef int16_t after[ADDED_TOGETHER]           # of rows that wait: the next one of its shard; -1: none
        cdef int16_t heads[MAX_SHARDS]              # the first of each shard
        cdef uint32_t mask = self.n_shards - 1, s
        cdef Py_ssize_t first = 0, i, k, m = self.m
        cdef Shard* shard
        cdef int64_t found
        cdef bint is_alone = self.n_threads == 1
        if not is_alone:
            memset(heads, 0xFF, self.n_shards * sizeof(int16_t))
        while first < n:
            k = min(<Py_ssize_t> AT_A_TIME, n - first)
            self.foresee(rows + first * m, k, hashed + first, numbers + first)
            for i in range(first, first + k):
                s = (hashed[i] >> 32) & mask
                shard = &self.shards[s]
                found = numbers[i]
                if not found or not self.are_same(self.row(shard, found - 1), rows + i * m):
                    found = self.find(shard, hashed[i], rows + i * m)
                if found:
                    if not is_alone or not self.is_ordered:
                        df_lower(self.place(shard, found - 1), place + i)
                elif is_alone:
                    found = self.append(shard, hashed[i], rows + i * m, place + i)
                    if found < 0:
                        return <int> found
                else:
                    after[i] = heads[s]
                    heads[s] = <int16_t> i
                numbers[i] = <uint32_t> (found - 1) << self.shard_bits | s
            first += k
        for s in range(0 if is_alone else self.n_shards):
            if heads[s] < 0:
                continue
            shard = &self.shards[s]
            PyThread_acquire_lock(shard.lock, WAIT_LOCK)
            i = heads[s]
            found = 0
            while i >= 0 and found >= 0:
                found = self.insert(shard, hashed[i], rows + i * m, place + i)
                numbers[i] = <uint32_t> (found - 1) << self.shard_bits | s
                i = after[i]
            PyThread_release_lock(shard.lock)
            if found < 0:
                return <int> found
        return 0

    cdef void foresee(self, const int64_t* rows, Py_ssize_t n, uint64_t* hashed, uint32_t* held) noexcept nogil:
        """Ask for the memory that a few rows need: nearly every access leaves the caches, and they wait for it together.

        OUT hashed : [n]
        OUT held : [n] the first row that has the tag of each, from 1; 0: none
        """
        cdef uint32_t mask = self.n_shards - 1
        cdef const Slots* slots
        cdef Shard* shard
        cdef uint64_t slot
        cdef Py_ssize_t i
        cdef int n_parts
        for i in range(n):
            hashed[i] = self.hash_row(rows + i * self.m)
            shard = &self.shards[(hashed[i] >> 32) & mask]
            n_parts = df_seen_int(shard.n_parts)
            if n_parts > 0:
                slots = &shard.slots[n_parts - 1]
                df_prefetch(&slots.numbers[hashed[i] & (slots.size - 1)])
        for i in range(n):
            shard = &self.shards[(hashed[i] >> 32) & mask]
            n_parts = df_seen_int(shard.n_parts)
            held[i] = 0
            if n_parts > 0:
                slots = &shard.slots[n_parts - 1]
                slot = hashed[i]
                held[i] = next_number(slots, &slot, tag_of(hashed[i], slots.bits))
                if held[i]:
                    df_prefetch(self.row(shard, held[i] - 1))
                    if self.n_threads > 1:
                        df_prefetch(self.place(shard, held[i] - 1))

    def finalize(self, starts):
        """Number the distinct rows in order of first appearance; no more rows may come.

        Parameters
        ----------
        starts : ndarray of shape (n_batches + 1,), dtype int64
            How many rows came in the batches before each one, and in all of them, batches in the order of their numbers.
            Batches of higher numbers are left out, and so are the distinct rows that appear in none but these.

        Returns
        -------
        int
            How many distinct rows there are.
        """
        cdef uint32_t s
        cdef int p
        for s in range(self.n_shards):
            for p in range(self.shards[s].n_parts):
                free(self.shards[s].slots[p].numbers)
                self.shards[s].slots[p].numbers = NULL
        if self.is_ordered and self.last_batch < len(starts) - 1:
            self.n_final = len(self)
            return self.n_final
        # A bit for each row handed in: whether no equal one came before it.
        cdef const int64_t[::1] start = starts
        cdef Py_ssize_t n_words = start[start.shape[0] - 1] // 64 + 1, i
        cdef uint64_t[::1] is_first = np.zeros(n_words, np.uint64)
        cdef uint32_t[::1] before = np.empty(n_words, np.uint32)      # how many of these bits there are before each word
        cdef uint32_t n = 0
        self.numbers = [None] * self.n_shards

        def mark(Py_ssize_t s, _):
            with nogil:
                mark_firsts(self, s, start, is_first)

        def number(Py_ssize_t s, _):
            numbers = np.empty(self.shards[s].n, np.uint32)
            cdef uint32_t[::1] to = numbers
            with nogil:
                number_rows(self, s, start, is_first, before, to)
            self.numbers[s] = numbers

        each(self.n_shards, mark, self.n_threads)
        with nogil:
            for i in range(n_words):
                before[i] = n
                n += df_count_bits(is_first[i])
        each(self.n_shards, number, self.n_threads)
        for s in range(self.n_shards):
            for p in range(self.shards[s].n_parts):
                free(self.shards[s].places[p])
                self.shards[s].places[p] = NULL
        self.n_final = n
        return n

    def renumber(self, const int32_t[::1] feature not None, uint32_t[::1] link not None):
        """Replace provisional numbers by final ones.

        Parameters
        ----------
        feature : ndarray of shape (n_nodes,), dtype int32
            Of the nodes of trees; -1: a leaf.
        link : ndarray of shape (n_nodes,), dtype uint32
            INOUT : the provisional number of each leaf; others stay.
        """
        if self.numbers is None:
            return
        cdef Py_ssize_t n = feature.shape[0]
        addresses = np.zeros(self.n_shards, np.uintp)
        for s, numbers in enumerate(self.numbers):
            addresses[s] = numbers.ctypes.data
        cdef const size_t[::1] numbers_at = addresses

        def work(Py_ssize_t i, _):
            cdef Py_ssize_t first = i * NODES_AT_A_TIME
            with nogil:
                renumber_leaves(feature, link, first, min(first + NODES_AT_A_TIME, n), &numbers_at[0], self.shard_bits)

        each((n + NODES_AT_A_TIME - 1) // NODES_AT_A_TIME, work, self.n_threads)

    def release(self, *spans):
        """The distinct rows, once they are final; ends the table.

        Parameters
        ----------
        *spans : tuple of (int, int)
            Which words of a row: the first, and one past the last.

        Returns
        -------
        list of ndarray of shape (n, n_words), dtype int64
            For each span.
        """
        if self.n_final < 0:
            raise ValueError("rows of a table that has not been settled")
        columns = [np.empty((self.n_final, last - first), np.int64) for first, last in spans]

        def work(Py_ssize_t s, _):
            cdef const uint32_t[::1] numbers = None if self.numbers is None else self.numbers[s]
            cdef Shard* shard = &self.shards[s]
            cdef Py_ssize_t first_row = 0, n, first, last
            cdef int64_t[:, ::1] column
            cdef int p
            for p in range(shard.n_parts):       # each is freed at once: the columns need as much memory
                n = min(<int64_t> 1 << FIRST_BIT + p, shard.n - first_row)
                for to, (first, last) in zip(columns, spans):
                    column = to
                    if n and first < last:
                        with nogil:
                            copy_words(shard.parts[p] + first, self.m, last - first, first_row, n, numbers, &column[0, 0])
                free(shard.parts[p])
                shard.parts[p] = NULL
                first_row += n

        each(self.n_shards, work, self.n_threads)
        if not self.has_lists:
            self.end()
        return columns

    def release_lists(self):
        """The distinct rows and their lists, once they are final; ends the table.

        Returns
        -------
        words : ndarray of shape (n, 1), dtype int64
            The rows' own.
        starts : ndarray of shape (n + 1,), dtype int64
            Where each list begins.
        first : ndarray of shape (n_entries,), dtype int32
        second : ndarray of shape (n_entries,), dtype int64
            The words of entries.
        """
        words, lengths, addresses = self.release((0, 1), (1, 2), (2, 3))
        starts = np.append(0, np.cumsum(lengths))
        n_entries = int(lengths.sum())
        firsts, seconds = np.empty(n_entries, np.int32), np.empty(n_entries, np.int64)
        cdef const int64_t[::1] start = starts
        cdef const int64_t[:, ::1] address = addresses
        cdef int32_t[::1] first = firsts
        cdef int64_t[::1] second = seconds
        cdef const int64_t* entries
        cdef Py_ssize_t i, k
        with nogil:
            for i in range(address.shape[0]):
                entries = <const int64_t*> <size_t> address[i, 0]
                for k in range(start[i + 1] - start[i]):
                    first[start[i] + k] = <int32_t> entries[2 * k]
                    second[start[i] + k] = entries[2 * k + 1]
        self.end()
        return words, starts, firsts, seconds


cdef inline const int64_t* list_of(const int64_t* row) noexcept nogil:
    return <const int64_t*> <size_t> row[2]


cdef bint keep_list(Shard* shard, int64_t* row) noexcept nogil:
    """Copy a row's list into memory of the shard. INOUT row : its list's address; False: there is no memory"""
    cdef Chunk* chunk = shard.chunk
    cdef int64_t n = 2 * row[1], room
    cdef int64_t* to
    if chunk == NULL or chunk.room - chunk.n < n:
        room = max(n, <int64_t> FIRST_CHUNK if chunk == NULL else min(2 * chunk.room, <int64_t> LARGEST_CHUNK))
        chunk = <Chunk*> malloc(sizeof(Chunk) + room * sizeof(int64_t))
        if chunk == NULL:
            return False
        chunk.before, chunk.n, chunk.room = shard.chunk, 0, room
        shard.chunk = chunk
    to = <int64_t*> (chunk + 1) + chunk.n
    memcpy(to, list_of(row), n * sizeof(int64_t))
    chunk.n += n
    row[2] = <int64_t> <size_t> to
    return True


cdef with_addresses(const int64_t[:, ::1] rows, const int64_t[:, ::1] entries):
    """Rows of two words, the second of which is the length of a list, with the addresses of their lists."""
    cdef Py_ssize_t i, n = 0
    if rows.shape[1] != 2 or entries is None or entries.shape[1] != 2:
        raise ValueError(f"rows of {rows.shape[1]} words; allowed are rows of two words, and entries of two")
    addressed = np.empty((rows.shape[0], LISTED_WORDS), np.int64)
    cdef int64_t[:, ::1] to = addressed
    for i in range(rows.shape[0]):
        to[i, 0] = rows[i, 0]
        to[i, 1] = rows[i, 1]
        to[i, 2] = <int64_t> <size_t> &entries[n, 0] if rows[i, 1] > 0 else 0
        n += rows[i, 1]
    if n != entries.shape[0]:
        raise ValueError(f"{entries.shape[0]} entries, for lists of {n} together")
    return addressed


cdef inline int64_t count_before(const int64_t[::1] starts, uint64_t place) noexcept nogil:
    """How many rows of batches that count come before a place; -1: its batch does not count."""
    cdef int64_t batch = place >> 32
    return starts[batch] + <int64_t> <uint32_t> place if batch < starts.shape[0] - 1 else -1


cdef void mark_firsts(RowTable table, Py_ssize_t s, const int64_t[::1] starts, uint64_t[::1] is_first) noexcept nogil:
    """Set the bits of the first places of a shard's rows."""
    cdef const Shard* shard = &table.shards[s]
    cdef int64_t i, place
    for i in range(shard.n):
        place = count_before(starts, table.place(shard, i)[0])
        if place >= 0:
            df_set_bits(is_first[place >> 6], <uint64_t> 1 << (place & 63))


cdef void number_rows(RowTable table, Py_ssize_t s, const int64_t[::1] starts, const uint64_t[::1] is_first,
                      const uint32_t[::1] before, uint32_t[::1] numbers) noexcept nogil:
    """The numbers of a shard's rows: how many distinct ones appeared earlier."""
    cdef const Shard* shard = &table.shards[s]
    cdef int64_t i, place
    for i in range(shard.n):
        place = count_before(starts, table.place(shard, i)[0])
        if place < 0:
            numbers[i] = NO_NUMBER
        else:
            numbers[i] = before[place >> 6] + df_count_bits(is_first[place >> 6] & ((<uint64_t> 1 << (place & 63)) - 1))


cdef void renumber_leaves(const int32_t[::1] feature, uint32_t[::1] link, Py_ssize_t first, Py_ssize_t end,
                          const size_t* numbers, int shard_bits) noexcept nogil:
    """IN numbers : for each shard the address of its rows' numbers"""
    cdef Py_ssize_t i
    cdef uint32_t mask = (<uint32_t> 1 << shard_bits) - 1
    for i in range(first, end):
        if feature[i] < 0:
            link[i] = (<const uint32_t*> numbers[link[i] & mask])[link[i] >> shard_bits]


cdef void copy_words(const int64_t* words, Py_ssize_t stride, Py_ssize_t n_words, Py_ssize_t first_row, Py_ssize_t n,
                     const uint32_t[::1] numbers, int64_t* to) noexcept nogil:
    """Copy some words of each of n rows, the first of which has the number `first_row` in its shard, to where they belong."""
    cdef Py_ssize_t i, k
    cdef int64_t* row
    for i in range(n):
        if numbers is None:
            row = to + (first_row + i) * n_words
        elif numbers[first_row + i] == NO_NUMBER:
            continue
        else:
            row = to + numbers[first_row + i] * n_words
        for k in range(n_words):
            row[k] = words[i * stride + k]


def unique_rows(rows):
    """Distinct rows in order of first appearance.

    Parameters
    ----------
    rows : ndarray of shape (n, m), dtype int64

    Returns
    -------
    distinct : ndarray of shape (n_distinct, m), dtype int64
    numbers : ndarray of shape (n,), dtype uint32
        The row of `distinct` that equals each row.
    """
    table = RowTable(rows.shape[1])
    numbers = table.add(rows)
    table.finalize(np.array([0, len(rows)]))
    return table.release((0, rows.shape[1]))[0], numbers
