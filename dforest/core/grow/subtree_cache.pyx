"""A copy of what a subtree's records need, small enough to stay in a cache of the processor.

The records of the subtree are numbered 0, 1, 2, ... in the order they have, and their codes, column by column, lie in that order:

    the data's rows of three records        7  2  9        SubtreeCache.rows
    the data's codes of rows 0 to 9         a  b  c  d  e  f  g  h  i  j
    the cache's codes                       h  c  j        and Record.row is 0, 1, 2

Where a column has buckets, the buckets are copied and the codes are not: `Node.rows` leads to the codes in the data. Where a
column has far more codes than the subtree has records, ranks take the place of the codes: `Column.origins` leads to
the codes.

A column may have a code for each of a million rows, and the records of a small subtree have few of these codes. The *ranks* 0,
1, 2, ... of the codes that occur are in the order of the codes, fit 16 bits, and are counted in little memory. The *origin* of a
rank is its code. Missing values have the rank that follows the highest one, as they have the code that follows the highest one:

    codes     70  5  70  300  missing          ranks     1  0  1  2  3          origins     5  70  300

Subtree caches lie in one another, where the data are much larger than the *outer* one. That one has the codes of a subtree so
large that some of its columns, not all of them together, stay in a cache of the processor; the inner one has those of a subtree
in it. Both are filled from the data's codes by row (`dforest.core.data`).

Waiting nodes of an outer one's subtree may be given away to other threads: then their records are numbered by the data's rows
again. Those of an inner one's subtree are not worth it.

A `SubtreeCache` belongs to one grower, owns its memory, and is filled again for each subtree. A `CodeRanker` belongs to one
thread and owns its scratch.
"""
cimport cython
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from dforest.core.data cimport DF_LINE, df_gather_bytes
from dforest.core.loops cimport loops
from dforest.core.prefetch cimport df_prefetch
from dforest.core.sorting cimport radix_sort
from dforest.core.types cimport CATEGORICAL, NO_RECORD, code_at, column_t, data_row

from dforest.rules.records import record

ctypedef fused wide_t:       # columns of 8 bits are never ranked
    uint16_t
    uint32_t


cdef void gather_with_bitmap(const uint32_t* rows, Py_ssize_t n, const wide_t* codes, Py_ssize_t step, uint32_t* to,
                             uint64_t* occupancy) noexcept nogil:
    """Copy the codes of n rows, `step` codes apart from row to row, and set the bit of each that occurs."""
    cdef Py_ssize_t i
    cdef uint32_t code
    for i in range(n):
        code = codes[rows[i] * step]
        to[i] = code
        occupancy[code >> 6] |= <uint64_t> 1 << (code & 63)


cdef void fill_sort_keys(const uint32_t* rows, Py_ssize_t n, const wide_t* codes, Py_ssize_t step,
                         uint64_t* sort_keys) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        sort_keys[i] = <uint64_t> codes[rows[i] * step] << 32 | <uint64_t> i


cdef class CodeRanker:
    """Ranks the codes of a subtree's records.

    Parameters
    ----------
    tuning : dict
        `ranked_above` and `bitmap_codes_per_record`, if they are not to have their defaults.
    """

    def __cinit__(self, dict tuning not None):
        self.ranked_above = tuning.get("ranked_above", 1)
        self.bitmap_codes_per_record = tuning.get("bitmap_codes_per_record", 512)

    def __dealloc__(self):
        free(self.occupancy)
        free(self.before)
        free(self.sort_keys)
        free(self.sort_keys_to)

    cdef int reserve(self, DataView data, Py_ssize_t n_records) except -1:
        """Make room for ranking `n_records` records."""
        cdef Py_ssize_t j, n_codes = 0
        for j in range(data.n_features):
            if data.columns[j].kind != CATEGORICAL:
                n_codes = max(n_codes, <Py_ssize_t> data.columns[j].n_codes)
        n_codes = min(n_codes, self.bitmap_codes_per_record * n_records)
        self.n_bitmap_words = n_codes // 64 + 1
        self.occupancy = <uint64_t*> calloc(self.n_bitmap_words, sizeof(uint64_t))
        self.before = <uint32_t*> malloc(self.n_bitmap_words * sizeof(uint32_t))
        self.sort_keys = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.sort_keys_to = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        if self.occupancy == NULL or self.before == NULL or self.sort_keys == NULL or self.sort_keys_to == NULL:
            raise MemoryError()
        return 0

    cdef bint is_worth_it(self, const Column* column, Py_ssize_t n) noexcept nogil:
        """Whether to rank a column's codes among those of n records."""
        return (column.kind != CATEGORICAL and not column.has_keys and column.width > 1
                and <double> column.n_codes > self.ranked_above * <double> n)

    cdef uint32_t rank(self, const uint32_t* rows, Py_ssize_t n, const Column* column, const uint8_t* codes, Py_ssize_t stride,
                       uint16_t* ranks, uint32_t* origins) noexcept nogil:
        """Rank the codes of n records, given their rows; return how many values occur.

        IN codes : the column's code of row 0, with `stride` bytes from row to row
        OUT ranks : [n]
        OUT origins : [n + 1] by rank
        """
        cdef uint32_t* found = <uint32_t*> self.sort_keys
        cdef const uint64_t* sorted
        cdef Py_ssize_t i, n_words
        cdef uint32_t n_values
        if <int64_t> column.n_codes <= self.bitmap_codes_per_record * n:
            if column.width == 2:
                gather_with_bitmap(rows, n, <const uint16_t*> codes, stride // 2, found, self.occupancy)
            else:
                gather_with_bitmap(rows, n, <const uint32_t*> codes, stride // 4, found, self.occupancy)
            n_words = column.n_codes // 64 + 1
            n_values = loops.before(self.occupancy, n_words, self.before)
            n_values -= (self.occupancy[column.n_codes >> 6] >> (column.n_codes & 63)) & 1
            loops.ranks(found, n, self.occupancy, self.before, ranks, origins)
            memset(self.occupancy, 0, n_words * sizeof(uint64_t))
            return n_values
        if column.width == 2:
            fill_sort_keys(rows, n, <const uint16_t*> codes, stride // 2, self.sort_keys)
        else:
            fill_sort_keys(rows, n, <const uint32_t*> codes, stride // 4, self.sort_keys)
        sorted = radix_sort(self.sort_keys, self.sort_keys_to, n)
        n_values = 0
        for i in range(n):
            ranks[<uint32_t> sorted[i]] = <uint16_t> n_values
            origins[n_values] = <uint32_t> (sorted[i] >> 32)
            if i + 1 < n:
                n_values += (sorted[i] >> 32) != (sorted[i + 1] >> 32)
        return n_values + (origins[n_values] != column.n_codes)


cdef enum:
    MIN_CACHED_RECORDS = 64        # records of a subtree that is worth copying
    CACHE_BYTES = 1 << 18
    OUTER_CACHE_BYTES = 1 << 22
    MIN_OUTER_CACHES = 2           # outer caches' worth of records in trees for which there is one, and inner ones' in it
    COPIED_PER_VISIT = 10          # a code is copied in about a tenth of the time that a visit takes out of a cache
    RECORDS_TOGETHER = 64          # records whose codes of several bytes are copied column by column
    MAX_CACHED_LEVELS = 12         # of nodes in a cache, where their depth has no limit


cdef Py_ssize_t levels_that_pay(DataView data, Splitter splitter):
    """Levels of nodes that a subtree cache has to be good for: its columns are copied once, and max_features read at each."""
    cdef Py_ssize_t by_level = splitter.tuning.get("copied_per_visit", COPIED_PER_VISIT) * splitter.max_features
    return (data.n_features + by_level - 1) // by_level


cdef bint caches_pay(DataView data, Splitter splitter, rules, Py_ssize_t n_records):
    cdef Py_ssize_t levels = MAX_CACHED_LEVELS if rules.max_depth is None else min(MAX_CACHED_LEVELS, rules.max_depth)
    return (not rules.max_leaf_nodes and not splitter.has_own_tests and n_records >= MIN_CACHED_RECORDS
            and splitter.tuning.get("cache_bytes", CACHE_BYTES) > 0 and levels_that_pay(data, splitter) <= levels)


cdef SubtreeCache make_subtree_caches(DataView data, Splitter splitter, rules, int64_t max_depth, Py_ssize_t n_records):
    cdef SubtreeCache cache, outer
    cdef dict tuning = splitter.tuning
    if not caches_pay(data, splitter, rules, n_records):
        return SubtreeCache(data, 0, 0, tuning, False)
    cache = SubtreeCache(data, tuning.get("cache_bytes", CACHE_BYTES), n_records, tuning, splitter.takes_ranks
                         and not data.has_sparse)
    outer = SubtreeCache(data, tuning.get("outer_cache_bytes", OUTER_CACHE_BYTES), n_records // MIN_OUTER_CACHES, tuning, False)
    cache.min_records = MIN_CACHED_RECORDS
    outer.min_records = max(<Py_ssize_t> MIN_CACHED_RECORDS, MIN_OUTER_CACHES * cache.max_records)
    cache.deepest = outer.deepest = max_depth - levels_that_pay(data, splitter)
    if outer.min_records <= outer.max_records:
        cache.outer = outer
    return cache


def subtree_cache_bytes(DataView data not None, Splitter splitter not None, rules, Py_ssize_t n_records):
    """Bytes that the subtree caches of one grower write to, for trees of at most n_records records; 0: they don't pay."""
    cdef Py_ssize_t n_bytes = 0
    cdef SubtreeCache cache
    if not caches_pay(data, splitter, rules, n_records):
        return 0
    cache = make_subtree_caches(data, splitter, rules, n_records, n_records)
    while cache is not None:
        n_bytes += cache.max_bytes + cache.max_records * sizeof(uint32_t)
        if cache.code_ranker is not None:  # sort keys, twice
            n_bytes += cache.max_records * 2 * sizeof(uint64_t)
        cache = cache.outer
    return n_bytes


cdef void gather(const uint32_t* rows, Py_ssize_t n, const uint8_t* codes, Py_ssize_t stride, column_t* to) noexcept nogil:
    """Copy the codes of n rows. IN codes : that of row 0, with `stride` bytes from row to row"""
    cdef Py_ssize_t i
    for i in range(n):
        to[i] = (<const column_t*> (codes + rows[i] * stride))[0]


cdef void repeat_code(uint64_t code, int32_t width, Py_ssize_t n, uint8_t* to) noexcept nogil:
    """Write a code n times."""
    cdef Py_ssize_t i
    if width == 1:
        memset(to, <int> code, n)
    elif width == 2:
        for i in range(n):
            (<uint16_t*> to)[i] = <uint16_t> code
    elif width == 4:
        for i in range(n):
            (<uint32_t*> to)[i] = <uint32_t> code
    else:
        for i in range(n):
            (<uint64_t*> to)[i] = code


@cython.final
cdef class SubtreeCache:
    """Holds the records of one subtree at a time.

    Parameters
    ----------
    data : DataView
    n_bytes : int
        Room for targets and codes; 0: no subtree fits.
    n_records : int
        Most records of a subtree.
    tuning : dict
        The fields of `CodeRanker`.
    takes_ranks : bool
        Whether ranks may take the place of codes: see `Splitter.takes_ranks`.
    """

    def __cinit__(self, DataView data not None, size_t n_bytes, Py_ssize_t n_records, dict tuning not None, bint takes_ranks):
        self.data = data
        self.held = data.rows
        if n_bytes > 0 and takes_ranks:
            self.code_ranker = CodeRanker(tuning)
        self.reserve(n_bytes, n_records)

    def __dealloc__(self):
        free(self.columns)
        free(self.rows)
        free(self.bytes)
        free(self.origins)

    cdef int reserve(self, size_t n_bytes, Py_ssize_t n_records) except -1:
        """Make room for the largest subtree whose targets and codes take n_bytes, but of n_records records at most."""
        cdef Py_ssize_t j, n_features = self.data.n_features, n_ranked = 0
        cdef size_t row_bytes = self.n_doubles() * sizeof(double)         # bytes of a record
        cdef const Column* column
        cdef bint is_ranked
        for j in range(n_features):
            column = &self.data.columns[j]
            if column.buckets != NULL:
                row_bytes += 1
                continue
            is_ranked = self.code_ranker is not None and self.code_ranker.is_worth_it(column, 1)
            n_ranked += is_ranked
            # A column that is ranked even in the largest cache never takes more than the 16 bits of a rank.
            row_bytes += 2 if is_ranked and self.code_ranker.is_worth_it(column, MAX_RANKED) else column.width
        self.max_records = min(n_records, <Py_ssize_t> (n_bytes // row_bytes))
        if n_ranked > 0:
            self.max_records = min(self.max_records, MAX_RANKED)
            self.code_ranker.reserve(self.data, self.max_records)
            self.max_bytes = n_ranked * (self.max_records + 1) * sizeof(uint32_t)
            self.origins = <uint32_t*> malloc(n_ranked * (self.max_records + 1) * sizeof(uint32_t))
            if self.origins == NULL:
                raise MemoryError()
        else:
            self.code_ranker = None
        self.max_bytes += self.max_records * row_bytes
        self.rows = <uint32_t*> malloc(self.max_records * sizeof(uint32_t) + 1)
        self.columns = <Column*> malloc(n_features * sizeof(Column))
        self.bytes = <uint8_t*> malloc(n_bytes + sizeof(double))
        if self.rows == NULL or self.columns == NULL or self.bytes == NULL:
            raise MemoryError()
        memcpy(self.columns, self.data.columns, n_features * sizeof(Column))
        return 0

    cdef inline Py_ssize_t n_doubles(self) noexcept nogil:
        """Of a record: its targets, and an exact weight where there may be some."""
        return self.data.n_targets + (self.data.exact_weight != NULL)

    cdef void fill(self, Record* records, Py_ssize_t n, Py_ssize_t n_waiting) noexcept nogil:
        cdef Py_ssize_t i, j, n_targets = self.data.n_targets, stride = self.held.stride if self.held is not None else 0
        cdef int32_t width = 8
        cdef bint has_wide = False     # codes of several bytes that are copied as they are
        cdef uint32_t* rows = self.rows
        cdef uint8_t* to = self.bytes
        cdef const uint8_t* codes
        cdef double* y = <double*> to
        cdef uint32_t* origins = self.origins
        cdef const Column* column
        cdef Column* copy
        self.y = y if self.data.y != NULL else NULL
        cdef const uint32_t* of_outer = self.outer.rows if self.outer is not None and self.outer.is_open else NULL
        for i in range(n):
            rows[i] = data_row(of_outer, records[i].row)
            records[i].row = <uint32_t> i
        # Their numbers are not kept up to date while they are here: a thread that is given a part of the subtree must find none.
        if self.record_of != NULL and of_outer == NULL:
            for i in range(n):
                self.record_of[rows[i]] = NO_RECORD
        if n_targets == 1:
            for i in range(n):
                y[i] = self.data.y[rows[i]]
        elif n_targets > 1:
            for i in range(n):
                memcpy(y + i * n_targets, self.data.y + rows[i] * n_targets, n_targets * sizeof(double))
        self.exact_weight = NULL
        if self.of_tree != NULL:
            self.exact_weight = y + n_targets * n
            for i in range(n):
                y[n_targets * n + i] = self.of_tree[rows[i]]
        to += self.n_doubles() * n * sizeof(double)
        self.is_open = True
        self.base = n_waiting
        if self.data.has_sparse:
            self.spread(n, to)
            return
        for j in range(self.data.n_features):
            copy = &self.columns[j]
            copy[0] = self.data.columns[j]
            if copy.buckets == NULL and self.code_ranker is not None and self.code_ranker.is_worth_it(copy, n):
                copy.width = 2
                copy.origins = origins
                origins += n + 1
        while width > 1:               # wide codes first: all are aligned
            for j in range(self.data.n_features):
                column = &self.data.columns[j]
                copy = &self.columns[j]
                if copy.buckets != NULL or copy.width != width:
                    continue
                codes = self.held.codes + self.held.place[j]
                if copy.origins != NULL:
                    copy.n_codes = self.code_ranker.rank(rows, n, column, codes, stride, <uint16_t*> to, <uint32_t*> copy.origins)
                else:
                    has_wide = True
                copy.codes = to
                to += n * width
            width //= 2
        i = 0 if has_wide else n
        self.fetch_wide(i, min(<Py_ssize_t> RECORDS_TOGETHER, n - i))
        while i < n:
            self.fetch_wide(i + RECORDS_TOGETHER, min(<Py_ssize_t> RECORDS_TOGETHER, n - i - RECORDS_TOGETHER))
            self.gather_wide(i, min(<Py_ssize_t> RECORDS_TOGETHER, n - i))
            i += RECORDS_TOGETHER
        df_gather_bytes(rows, n, self.held.codes + self.held.first_byte, stride, self.held.n_bytes, to)
        for j in range(self.data.n_features):
            copy = &self.columns[j]
            if copy.buckets != NULL:
                copy.buckets = to
            elif copy.width == 1:
                copy.codes = to
            else:
                continue
            to += n

    cdef void spread(self, Py_ssize_t n, uint8_t* to) noexcept nogil:
        """Copy the codes of n rows where some columns are sparse: none is in the cache. OUT to : room for all codes"""
        cdef const uint32_t* rows = self.rows
        cdef Py_ssize_t i, j, k
        cdef int32_t width = 8, step = self.data.present_width
        cdef const uint8_t* code
        cdef const Column* column
        cdef Column* copy
        while width > 0:               # wide codes first: all are aligned
            for j in range(self.data.n_features):
                column = &self.data.columns[j]
                copy = &self.columns[j]
                if (1 if column.buckets != NULL else column.width) != width:
                    continue
                copy[0] = column[0]
                if column.buckets != NULL:
                    gather[uint8_t](rows, n, column.buckets, 1, to)
                    copy.buckets = to
                else:
                    copy.codes = to
                    copy.stored = NULL
                    if column.stored != NULL:
                        repeat_code(column.implied, width, n, to)
                    elif width == 1:
                        gather[uint8_t](rows, n, <const uint8_t*> column.codes, 1, to)
                    elif width == 2:
                        gather[uint16_t](rows, n, <const uint8_t*> column.codes, 2, <uint16_t*> to)
                    elif width == 4:
                        gather[uint32_t](rows, n, <const uint8_t*> column.codes, 4, <uint32_t*> to)
                    else:
                        gather[uint64_t](rows, n, <const uint8_t*> column.codes, 8, <uint64_t*> to)
                to += n * width
            width //= 2
        for i in range(n):
            if i + 2 < n:
                df_prefetch(<const char*> &self.data.present[self.data.present_from[rows[i + 2]]])
                df_prefetch(<const char*> &self.data.present_codes[step * self.data.present_from[rows[i + 2]]])
            for k in range(self.data.present_from[rows[i]], self.data.present_from[rows[i] + 1]):
                copy = &self.columns[self.data.present[k]]
                to = <uint8_t*> copy.codes
                code = self.data.present_codes + step * k
                if copy.width == 1:
                    to[i] = code[0]
                elif copy.width == 2:
                    (<uint16_t*> to)[i] = (<const uint16_t*> code)[0]
                elif copy.width == 4:
                    (<uint32_t*> to)[i] = (<const uint32_t*> code)[0]
                else:
                    (<uint64_t*> to)[i] = (<const uint64_t*> code)[0]

    cdef void fetch_wide(self, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        """Ask for the codes of several bytes, of n records from `first` on, which are read next."""
        cdef Py_ssize_t i, at
        cdef const uint8_t* codes
        for i in range(first, first + n):
            codes = self.held.codes + self.rows[i] * self.held.stride
            at = 0
            while at < self.held.first_byte:
                df_prefetch(codes + at)
                at += DF_LINE

    cdef void gather_wide(self, Py_ssize_t first, Py_ssize_t n) noexcept nogil:
        """Copy codes of several bytes, but for ranks, of n records from `first` on: so few that their rows stay in a cache."""
        cdef Py_ssize_t j, stride = self.held.stride
        cdef const uint32_t* rows = self.rows + first
        cdef const uint8_t* codes
        cdef Column* copy
        for j in range(self.data.n_features):
            copy = &self.columns[j]
            codes = self.held.codes + self.held.place[j]
            if copy.buckets != NULL or copy.origins != NULL:
                continue
            if copy.width == 2:
                gather[uint16_t](rows, n, codes, stride, <uint16_t*> copy.codes + first)
            elif copy.width == 4:
                gather[uint32_t](rows, n, codes, stride, <uint32_t*> copy.codes + first)
            elif copy.width == 8:
                gather[uint64_t](rows, n, codes, stride, <uint64_t*> copy.codes + first)

    cdef void release(self, Record* records, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(n):
            records[i].row = self.rows[records[i].row]

    cdef void take_back(self, Record* records, Py_ssize_t n) noexcept nogil:
        """Partitions are stable: the records of a node have the order that they had when the cache was filled."""
        cdef Py_ssize_t i
        cdef uint32_t place = 0
        for i in range(n):
            while self.rows[place] != records[i].row:
                place += 1
            records[i].row = place


def filled(DataView data not None, const uint32_t[::1] rows not None, SubtreeCache outer=None, bint takes_ranks=True):
    """A subtree cache that has some rows, for tests and benchmarks.

    Parameters
    ----------
    data : DataView
        With codes by row.
    rows : ndarray of shape (n,), dtype uint32
        Numbers of the rows, in the outer cache if there is one; 16 or more.
    outer : SubtreeCache, optional
    takes_ranks : bool, default=True

    Returns
    -------
    SubtreeCache
    records : ndarray of shape (n,), dtype df_record
        As `SubtreeCache.fill` leaves them.
    """
    cdef Py_ssize_t n = rows.shape[0]
    cdef Record[::1] records = np.zeros(n, record("df_record"))
    cdef SubtreeCache cache = SubtreeCache(data, n * 8 * (data.n_targets + data.n_features), n, {}, takes_ranks)
    np.asarray(records)["row"] = rows
    cache.outer = outer
    cache.fill(&records[0], n, 0)
    return cache, np.asarray(records)


def contents(SubtreeCache cache not None, Record[::1] records not None):
    """What a subtree cache has of some of its records, for tests.

    Parameters
    ----------
    cache : SubtreeCache
    records : ndarray of shape (n,), dtype df_record
        In the order that they have in the cache.

    Returns
    -------
    codes : list of ndarray of shape (n,), dtype uint64
        For each column the buckets, if it has buckets, or else the data's codes.
    y : list of float
        Targets; empty for classification.
    released, taken_back : ndarray of shape (n,), dtype uint32
        The rows that the records have after `release`, and after `take_back`.
    """
    cdef Py_ssize_t i, j, n = records.shape[0]
    cdef uint32_t row
    cdef const Column* column
    cdef uint64_t[::1] out
    codes = []
    for j in range(cache.data.n_features):
        column = &cache.columns[j]
        out = np.empty(n, np.uint64)
        for i in range(n):
            row = records[i].row
            if column.buckets != NULL:
                out[i] = column.buckets[row]
            elif column.width == 8:
                out[i] = (<const uint64_t*> column.codes)[row]
            elif column.origins == NULL:
                out[i] = code_at(column, row)
            elif code_at(column, row) < column.n_codes:
                out[i] = column.origins[code_at(column, row)]
            else:
                out[i] = cache.data.columns[j].n_codes
        codes.append(np.asarray(out))
    y = [cache.y[records[i].row] for i in range(n)] if cache.y != NULL else []
    cache.release(&records[0], n)
    released = np.asarray(records)["row"].copy()
    cache.take_back(&records[0], n)
    return codes, y, released, np.asarray(records)["row"].copy()
