"""From values to codes: bin edges for method "hist", ranks for method "dense".

A column's values are sorted once, as integers that order like the floats do. For "dense" each distinct value has a code of its
own, and so it has for "hist" if there are no more distinct values than codes. Otherwise values are dealt out to bins greedily, by
the rule in rules/bins.h. The *edge* of a bin is the middle between its largest value and the next bin's smallest; the edge of the
last bin is infinite.

Columns are coded in parallel, each by one thread with a `Workspace` of its own. Where there are many more threads than columns,
the threads share columns: the rows of some columns are divided into chunks, and all chunks pass one step after another, such as
reading values, or one digit of a radix sort (`SharedColumn`).
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

import numpy as np

from libc.string cimport memcpy, memset

from dforest.core.key_sort cimport DIGIT, DIGIT_BITS, Pair, key_in, make_item, number_in, pair_t, sort_items
from dforest.core.types cimport code_t
from dforest.rules.bins cimport df_bin_ends_before, df_bin_ends_with
from dforest.rules.numerics cimport df_middle

from dforest.core.coded_columns import CodedColumn
from dforest.core.scratch import scratch
from dforest.core.threads import each

cdef extern from "rules/keys.h" nogil:
    uint32_t df_key32(float x)
    uint64_t df_key64(double x)
    double df_value_of(uint64_t key, int is_wide)


ctypedef fused real_t:
    float
    double

cdef inline uint64_t key_of(real_t x) noexcept nogil:
    if real_t is float:
        return df_key32(x)
    else:
        return df_key64(x)


cdef class Workspace:
    """One thread's scratch: a sorted column, and where each code ends in it.

    Parameters
    ----------
    n : int
        Rows.
    is_float32 : bool
        Of X; else float64.
    """
    cdef Py_ssize_t n
    cdef bint is_float32
    cdef object owned              # the memory
    cdef void* items[2]            # [n] each, of which one
    cdef void* sorted              # has the rows whose value is not missing, sorted by it,
    cdef uint32_t* ends            # [n] and the other, by code: one past its last row there
    cdef Py_ssize_t n_present
    cdef uint32_t n_codes

    def __cinit__(self, Py_ssize_t n, bint is_float32):
        cdef uint8_t[:, ::1] items = scratch((2, n * (sizeof(uint64_t) if is_float32 else sizeof(Pair))), np.uint8)
        self.n = n
        self.is_float32 = is_float32
        self.owned = items
        self.items[0] = &items[0, 0]
        self.items[1] = &items[1, 0]


cdef void divide(Workspace space, const real_t* x, pair_t* items) noexcept nogil:
    """Sort the rows by value, and give each distinct value a code of its own."""
    cdef Py_ssize_t i, n = 0
    for i in range(space.n):
        if x[i] == x[i]:
            items[n] = make_item(items, key_of(x[i]), i)
            n += 1
    find_codes(space, sort_items(items, <pair_t*> space.items[1], n), n)


cdef void divide_stored(Workspace space, const real_t* x, const uint32_t* rows, Py_ssize_t n_stored,
                        pair_t* items) noexcept nogil:
    """`divide`, given the values that are stored, and their rows in ascending order; all other rows have 0.

    Only what is not 0 is sorted. The zeros come between what is below them and above:

        stored      2  -1   0   .          sorted    -1 | 0 | 2
        rows        1   3   4   2                     3 | 0 4 5 | 1          of six rows; the value of row 2 is missing
    """
    cdef uint64_t zero = key_of(<real_t> 0)
    cdef Py_ssize_t i, n = 0, below = 0, at, k = 0
    cdef pair_t* to
    for i in range(n_stored):
        if x[i] == x[i] and x[i] != 0:
            items[n] = make_item(items, key_of(x[i]), rows[i])
            n += 1
    items = sort_items(items, <pair_t*> space.items[1], n)
    to = <pair_t*> space.items[<void*> items == space.items[0]]
    while below < n and key_in(items[below]) < zero:
        below += 1
    memcpy(to, items, below * sizeof(pair_t))
    at = below
    for i in range(space.n):
        if k < n_stored and rows[k] == <uint32_t> i:
            k += 1
            if x[k - 1] != 0:        # or it is missing
                continue
        to[at] = make_item(items, zero, i)
        at += 1
    memcpy(to + at, items + below, (n - below) * sizeof(pair_t))
    find_codes(space, to, at + n - below)


cdef void find_codes(Workspace space, pair_t* items, Py_ssize_t n) noexcept nogil:
    """Give each distinct value of n sorted items, in one of the buffers, a code of its own."""
    cdef Py_ssize_t i
    space.n_present = n
    space.sorted = items
    space.ends = <uint32_t*> space.items[space.sorted == space.items[0]]
    space.n_codes = 0
    for i in range(n):
        if i + 1 == n or key_in(items[i + 1]) != key_in(items[i]):
            space.ends[space.n_codes] = <uint32_t> (i + 1)
            space.n_codes += 1


cdef void merge(Workspace space, pair_t* items, int64_t bins, const uint32_t* weight) noexcept nogil:
    """Merge the codes that `divide` gave into at most `bins` bins, of equal weight where possible."""
    cdef int64_t rest = 0, filled = 0, w
    cdef uint32_t code, n_values = space.n_codes, n_bins = 0, begin = 0, end, i
    if weight == NULL:
        rest = space.n_present
    else:
        for i in range(space.n_present):
            rest += weight[number_in(items[i])]
    for code in range(n_values):
        # ends[0, n_bins) are those of finished bins, ends[code, n_values) still those of values
        end = space.ends[code]
        w = end - begin
        if weight != NULL:
            w = 0
            for i in range(begin, end):
                w += weight[number_in(items[i])]
        if df_bin_ends_before(filled, w, bins, rest):
            space.ends[n_bins] = begin
            n_bins += 1
            rest -= filled
            bins -= 1
            filled = 0
        filled += w
        begin = end
        if df_bin_ends_with(filled, n_values - code - 1, bins, rest):
            space.ends[n_bins] = end
            n_bins += 1
            rest -= filled
            bins -= 1
            filled = 0
    if filled > 0:
        space.ends[n_bins] = begin
        n_bins += 1
    space.n_codes = n_bins


cdef void write_codes(Workspace space, pair_t* items, code_t* codes, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """Write the codes of the rows of items begin, ..., end - 1."""
    cdef Py_ssize_t i
    cdef uint32_t code = 0, beyond = space.n_codes, middle
    while code < beyond:                     # the first bin that ends after `begin`
        middle = code + (beyond - code) // 2
        if <Py_ssize_t> space.ends[middle] <= begin:
            code = middle + 1
        else:
            beyond = middle
    while begin < end:
        for i in range(begin, min(end, <Py_ssize_t> space.ends[code])):
            codes[number_in(items[i])] = <code_t> code
        begin = space.ends[code]
        code += 1


cdef void write_values(Workspace space, pair_t* items, double[:, ::1] out) noexcept nogil:
    """OUT out : [3, n_codes] upper edges, smallest and largest values; or [1, n_codes] where all three are equal"""
    cdef uint32_t code, begin = 0
    cdef bint is_wide = pair_t is not uint64_t
    if out.shape[0] == 1:
        for code in range(space.n_codes):
            out[0, code] = df_value_of(key_in(items[space.ends[code] - 1]), is_wide)
        return
    for code in range(space.n_codes):
        out[1, code] = df_value_of(key_in(items[begin]), is_wide)
        begin = space.ends[code]
        out[2, code] = df_value_of(key_in(items[begin - 1]), is_wide)
        if code + 1 < space.n_codes:
            out[0, code] = df_middle(out[2, code], df_value_of(key_in(items[begin]), is_wide), not is_wide)
        else:
            out[0, code] = INFINITY


cdef name_codes(Workspace space, pair_t* items, int64_t max_codes, bint counts_missing, const uint32_t* weight, dtype):
    """The `CodedColumn` of what has been sorted and divided; codes of values that are not missing are yet to be written."""
    cdef bint has_missing = space.n_present < space.n
    cdef int64_t most = max_codes - (has_missing and counts_missing)
    cdef Py_ssize_t largest
    if max_codes and <int64_t> space.n_codes > most:
        with nogil:
            merge(space, items, most, weight)
    cdef double[:, ::1] numbers = np.empty((3 if max_codes else 1, space.n_codes), np.float64)
    write_values(space, items, numbers)
    values = np.asarray(numbers).astype(dtype)
    largest = <Py_ssize_t> space.n_codes - 1 + has_missing
    codes = np.empty(space.n, np.uint8 if largest <= 0xFF else np.uint16 if largest <= 0xFFFF else np.uint32)
    if has_missing:
        codes[...] = space.n_codes
    edges, lows, highs = values if max_codes else 3 * [values[0]]
    return CodedColumn(codes, edges, lows, highs, bool(has_missing), 0)


cdef write_into(Workspace space, pair_t* items, codes, Py_ssize_t begin, Py_ssize_t end):
    """`write_codes`, whatever type codes have."""
    cdef uint8_t[::1] codes8
    cdef uint16_t[::1] codes16
    cdef uint32_t[::1] codes32
    if codes.itemsize == 1:
        codes8 = codes
        with nogil:
            write_codes(space, items, &codes8[0], begin, end)
    elif codes.itemsize == 2:
        codes16 = codes
        with nogil:
            write_codes(space, items, &codes16[0], begin, end)
    else:
        codes32 = codes
        with nogil:
            write_codes(space, items, &codes32[0], begin, end)


cdef code_by_items(Workspace space, pair_t* items, int64_t max_codes, bint counts_missing, const uint32_t* weight, dtype):
    """The `CodedColumn` of what `divide` has sorted."""
    column = name_codes(space, items, max_codes, counts_missing, weight, dtype)
    write_into(space, items, column.codes, 0, space.n_present)
    return column


def code_column(Workspace space not None, const real_t[::1] x not None, int64_t max_codes, const uint32_t[::1] weight=None,
                bint counts_missing=True):
    """Code one column.

    Parameters
    ----------
    space : Workspace
        Of as many rows, and X's type.
    x : ndarray of shape (n,), dtype float32 or float64
    max_codes : int
        Most codes; 0: a code for each distinct value.
    weight : ndarray of shape (n,), dtype uint32, optional
    counts_missing : bool
        Whether the code for missing values is one of max_codes.

    Returns
    -------
    CodedColumn
    """
    cdef const uint32_t* w = &weight[0] if weight is not None else NULL
    cdef bint is_float32 = real_t is float
    if x.shape[0] != space.n or space.is_float32 != is_float32:
        raise ValueError(f"a workspace for {space.n} rows of {4 if space.is_float32 else 8} bytes got {x.shape[0]} rows")
    if real_t is float:
        with nogil:
            divide(space, &x[0], <uint64_t*> space.items[0])
        return code_by_items(space, <uint64_t*> space.sorted, max_codes, counts_missing, w, np.float32)
    else:
        with nogil:
            divide(space, &x[0], <Pair*> space.items[0])
        return code_by_items(space, <Pair*> space.sorted, max_codes, counts_missing, w, np.float64)


def code_stored(Workspace space not None, const real_t[::1] x not None, const uint32_t[::1] rows not None, int64_t max_codes,
                const uint32_t[::1] weight=None, bint counts_missing=True):
    """Code one column of which zeros are not stored: what `code_column` makes of it with its zeros.

    Parameters
    ----------
    space, max_codes, weight, counts_missing
        As of `code_column`.
    x : ndarray of shape (n_stored,), dtype float32 or float64
    rows : ndarray of shape (n_stored,), dtype uint32
        Of these values, ascending, below the workspace's number of rows.

    Returns
    -------
    CodedColumn
    """
    cdef const uint32_t* w = &weight[0] if weight is not None else NULL
    cdef Py_ssize_t n_stored = x.shape[0]
    cdef const real_t* values = &x[0] if n_stored > 0 else NULL
    cdef const uint32_t* places = &rows[0] if n_stored > 0 else NULL
    if real_t is float:
        with nogil:
            divide_stored(space, values, places, n_stored, <uint64_t*> space.items[0])
        return code_by_items(space, <uint64_t*> space.sorted, max_codes, counts_missing, w, np.float32)
    else:
        with nogil:
            divide_stored(space, values, places, n_stored, <Pair*> space.items[0])
        return code_by_items(space, <Pair*> space.sorted, max_codes, counts_missing, w, np.float64)


cdef void read_chunk(const real_t* x, Py_ssize_t begin, Py_ssize_t end, pair_t* items) noexcept nogil:
    """Make items of rows begin, ..., end - 1 whose values are not missing."""
    cdef Py_ssize_t i, n = 0
    for i in range(begin, end):
        if x[i] == x[i]:
            items[n] = make_item(items, key_of(x[i]), i)
            n += 1


cdef void count_digits(const pair_t* items, Py_ssize_t begin, Py_ssize_t end, int shift, uint32_t* counts) noexcept nogil:
    cdef Py_ssize_t i
    memset(counts, 0, DIGIT * sizeof(uint32_t))
    for i in range(begin, end):
        counts[(key_in(items[i]) >> shift) & (DIGIT - 1)] += 1


cdef void deal_out(const pair_t* items, Py_ssize_t begin, Py_ssize_t end, int shift, const uint32_t[:, ::1] counts,
                   Py_ssize_t chunk, pair_t* to) noexcept nogil:
    """Put the items of a chunk where a stable sort by one digit puts them, given the digits' counts in all chunks."""
    cdef uint32_t places[DIGIT]
    cdef uint32_t total = 0, digit
    cdef Py_ssize_t i, c
    memset(places, 0, DIGIT * sizeof(uint32_t))
    for c in range(counts.shape[0]):
        for digit in range(DIGIT):
            places[digit] += counts[c, digit]
    for digit in range(DIGIT):
        total += places[digit]
        places[digit] = total - places[digit]      # items of lower digits
    for c in range(chunk):
        for digit in range(DIGIT):
            places[digit] += counts[c, digit]
    for i in range(begin, end):
        digit = (key_in(items[i]) >> shift) & (DIGIT - 1)
        to[places[digit]] = items[i]
        places[digit] += 1


cdef Py_ssize_t find_ends(const pair_t* items, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t n, uint32_t* ends) noexcept nogil:
    """How many of the items begin, ..., end - 1 are the last of their value, of n sorted ones.

    OUT ends : [that many] one past each of these, or NULL
    """
    cdef Py_ssize_t i, found = 0
    for i in range(begin, end):
        if i + 1 == n or key_in(items[i + 1]) != key_in(items[i]):
            if ends != NULL:
                ends[found] = <uint32_t> (i + 1)
            found += 1
    return found


cdef class SharedColumn:
    """A column that several threads code together, with what `code_column` makes of it.

    Each method but the first and `name` does a step for one chunk; a step is begun when the one before it is done for all.

    Parameters
    ----------
    x : ndarray of shape (n,), dtype float32 or float64
        May be written to until the first step.
    n_chunks : int
    """
    cdef Workspace space
    cdef Py_ssize_t n_chunks
    cdef const float[::1] x32
    cdef const double[::1] x64
    cdef Py_ssize_t[::1] found         # [n_chunks] present values, or ends of values, in each chunk
    cdef uint32_t[:, ::1] counts       # [n_chunks, DIGIT] of one digit in each chunk
    cdef readonly object column        # CodedColumn

    def __cinit__(self, x, Py_ssize_t n_chunks):
        self.space = Workspace(len(x), x.dtype == np.float32)
        self.n_chunks = n_chunks
        if self.space.is_float32:
            self.x32 = x
        else:
            self.x64 = x
        self.found = np.zeros(n_chunks, np.intp)
        self.counts = np.empty((n_chunks, DIGIT), np.uint32)
        self.space.sorted = self.space.items[0]

    @property
    def n_digits(self):
        """Of a key."""
        return ((32 if self.space.is_float32 else 64) + DIGIT_BITS - 1) // DIGIT_BITS

    cdef Py_ssize_t begin_of(self, Py_ssize_t chunk, Py_ssize_t n) noexcept nogil:
        return n // self.n_chunks * chunk + min(chunk, n % self.n_chunks)

    cdef Py_ssize_t found_before(self, Py_ssize_t chunk) noexcept nogil:
        cdef Py_ssize_t c, n = 0
        for c in range(chunk):
            n += self.found[c]
        return n

    def count_present(self, Py_ssize_t chunk):
        """Count the values that are not missing."""
        cdef Py_ssize_t i, n = 0
        with nogil:
            for i in range(self.begin_of(chunk, self.space.n), self.begin_of(chunk + 1, self.space.n)):
                n += self.x32[i] == self.x32[i] if self.space.is_float32 else self.x64[i] == self.x64[i]
        self.found[chunk] = n

    def read(self, Py_ssize_t chunk):
        """Make items of the values."""
        cdef Py_ssize_t begin = self.begin_of(chunk, self.space.n), end = self.begin_of(chunk + 1, self.space.n)
        with nogil:
            if chunk == 0:
                self.space.n_present = self.found_before(self.n_chunks)
            if self.space.is_float32:
                read_chunk(&self.x32[0], begin, end, <uint64_t*> self.space.sorted + self.found_before(chunk))
            else:
                read_chunk(&self.x64[0], begin, end, <Pair*> self.space.sorted + self.found_before(chunk))

    def count(self, Py_ssize_t chunk, int digit):
        """Count the values of a digit among the items."""
        cdef Py_ssize_t n = self.space.n_present
        cdef Py_ssize_t begin = self.begin_of(chunk, n), end = self.begin_of(chunk + 1, n)
        with nogil:
            if self.space.is_float32:
                count_digits(<const uint64_t*> self.space.sorted, begin, end, digit * DIGIT_BITS, &self.counts[chunk, 0])
            else:
                count_digits(<const Pair*> self.space.sorted, begin, end, digit * DIGIT_BITS, &self.counts[chunk, 0])

    def deal(self, Py_ssize_t chunk, int digit):
        """Sort the items by a digit, into the other buffer."""
        cdef Py_ssize_t n = self.space.n_present
        cdef Py_ssize_t begin = self.begin_of(chunk, n), end = self.begin_of(chunk + 1, n)
        cdef void* to = self.space.items[self.space.sorted == self.space.items[0]]
        with nogil:
            if self.space.is_float32:
                deal_out(<const uint64_t*> self.space.sorted, begin, end, digit * DIGIT_BITS, self.counts, chunk, <uint64_t*> to)
            else:
                deal_out(<const Pair*> self.space.sorted, begin, end, digit * DIGIT_BITS, self.counts, chunk, <Pair*> to)

    def swap(self):
        """Go on with what `deal` has written."""
        self.space.sorted = self.space.items[self.space.sorted == self.space.items[0]]

    def find_ends(self, Py_ssize_t chunk, bint writes):
        """Find where values end among the sorted items: first how many do, then where."""
        cdef Py_ssize_t n = self.space.n_present, found
        cdef Py_ssize_t begin = self.begin_of(chunk, n), end = self.begin_of(chunk + 1, n)
        cdef uint32_t* ends = NULL
        with nogil:
            if writes:
                ends = <uint32_t*> self.space.items[self.space.sorted == self.space.items[0]] + self.found_before(chunk)
            if self.space.is_float32:
                found = find_ends(<const uint64_t*> self.space.sorted, begin, end, n, ends)
            else:
                found = find_ends(<const Pair*> self.space.sorted, begin, end, n, ends)
        if not writes:
            self.found[chunk] = found

    def name(self, int64_t max_codes, bint counts_missing, const uint32_t[::1] weight):
        """Give the values codes; not by chunks."""
        cdef const uint32_t* w = &weight[0] if weight is not None else NULL
        self.space.ends = <uint32_t*> self.space.items[self.space.sorted == self.space.items[0]]
        self.space.n_codes = <uint32_t> self.found_before(self.n_chunks)
        if self.space.is_float32:
            self.column = name_codes(self.space, <uint64_t*> self.space.sorted, max_codes, counts_missing, w, np.float32)
        else:
            self.column = name_codes(self.space, <Pair*> self.space.sorted, max_codes, counts_missing, w, np.float64)

    def write(self, Py_ssize_t chunk):
        """Write the codes of rows; the `CodedColumn` is complete when all chunks have done so."""
        cdef Py_ssize_t n = self.space.n_present
        cdef Py_ssize_t begin = self.begin_of(chunk, n), end = self.begin_of(chunk + 1, n)
        if self.space.is_float32:
            write_into(self.space, <uint64_t*> self.space.sorted, self.column.codes, begin, end)
        else:
            write_into(self.space, <Pair*> self.space.sorted, self.column.codes, begin, end)
        return self.column


def code_together(X, numbers, max_codes, counts_missing, weight, n_threads, n_together, n_chunks):
    """Code some columns, of which the threads share some at a time.

    Parameters
    ----------
    X, max_codes, counts_missing, weight, n_threads
        As of `code_columns`.
    numbers : list of int
        Which columns.
    n_together : int
        How many are worked on at the same time.
    n_chunks : int
        How many chunks the rows of each are divided into.

    Returns
    -------
    list of CodedColumn
    """
    coded = []
    values = scratch((min(n_together, len(numbers)), len(X)), X.dtype)
    shared = [SharedColumn(x, n_chunks) for x in values]
    edges = [len(X) * chunk // n_chunks for chunk in range(n_chunks + 1)]
    for first in range(0, len(numbers), n_together):
        taken = numbers[first : first + n_together]
        now = shared[: len(taken)]

        def step(work):
            each(len(now) * n_chunks, lambda i, _: work(now[i % len(now)], i // len(now)), n_threads)

        def copy(chunk, _):
            for to, j in zip(values, taken):
                to[edges[chunk] : edges[chunk + 1]] = X[edges[chunk] : edges[chunk + 1], j]

        each(n_chunks, copy, n_threads)
        step(lambda column, chunk: column.count_present(chunk))
        step(lambda column, chunk: column.read(chunk))
        for digit in range(now[0].n_digits):
            step(lambda column, chunk: column.count(chunk, digit))
            step(lambda column, chunk: column.deal(chunk, digit))
            for column in now:
                column.swap()
        for writes in (False, True):
            step(lambda column, chunk: column.find_ends(chunk, writes))
        each(len(now), lambda i, _: now[i].name(max_codes, counts_missing, weight), n_threads)
        step(lambda column, chunk: column.write(chunk))
        coded += [column.column for column in now]
    return coded
