"""The rows of a column sorted by value, and the codes that follow: bins for method "hist", ranks for method "dense".

A column's values are sorted once, as keys (`dforest.core.coding.key_sort`), each with its row. For "dense" each distinct value
has a code of its own, and so it has for "hist" if there are no more distinct values than codes. Otherwise values are allocated to
bins greedily, by the rule in rules/bins.h. The *edge* of a bin is the middle between its largest value and the next bin's
smallest; the edge of the last bin is infinite.

Most columns are coded by one thread each (`ColumnSort.code`). Where there are many more threads than columns, the threads share
columns: the rows of some columns are divided into chunks, and all chunks pass one step after another, such as reading values, or
one digit of a radix sort (`code_together`).
"""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

import numpy as np

from libc.string cimport memset

from dforest.core.coding.key_sort cimport (
    DIGIT,
    DIGIT_BITS,
    Pair,
    df_value_of,
    fill_edges,
    key_in,
    key_of,
    make_item,
    number_in,
    pair_t,
    real_t,
    sort_items,
)
from dforest.core.types cimport code_t
from dforest.rules.bins cimport df_add_to_bin, df_bin_filler, df_bin_filler_of, df_n_filled_bins

from dforest.core.coding.coded_columns import CodedColumn
from dforest.core.scratch import scratch
from dforest.core.threads import each


cdef Py_ssize_t read_items(const real_t* x, Py_ssize_t begin, Py_ssize_t end, pair_t* items) noexcept nogil:
    """Make items of rows begin, ..., end - 1 whose values are not missing; return how many."""
    cdef Py_ssize_t i, n = 0
    for i in range(begin, end):
        if x[i] == x[i]:
            items[n] = make_item(items, key_of(x[i]), i)
            n += 1
    return n


cdef void count_digits(const pair_t* items, Py_ssize_t begin, Py_ssize_t end, int shift, uint32_t* counts) noexcept nogil:
    cdef Py_ssize_t i
    memset(counts, 0, DIGIT * sizeof(uint32_t))
    for i in range(begin, end):
        counts[(key_in(items[i]) >> shift) & (DIGIT - 1)] += 1


cdef void move_by_digit(const pair_t* items, Py_ssize_t begin, Py_ssize_t end, int shift, const uint32_t[:, ::1] counts,
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


cdef uint32_t fill_bins(const pair_t* items, Py_ssize_t n, uint32_t* ends, uint32_t n_values, int64_t bins,
                        const uint32_t* weight) noexcept nogil:
    """Allocate n sorted items to at most `bins` bins; return how many there are.

    INOUT ends : [n_values] where the items of each value end; of each bin
    """
    cdef int64_t rest = n, w
    cdef uint32_t value, begin = 0, end, i
    cdef df_bin_filler filler
    if weight != NULL:
        rest = 0
        for i in range(n):
            rest += weight[number_in(items[i])]
    filler = df_bin_filler_of(bins, rest)
    for value in range(n_values):
        end = ends[value]
        w = end - begin
        if weight != NULL:
            w = 0
            for i in range(begin, end):
                w += weight[number_in(items[i])]
        ends[df_add_to_bin(&filler, w, n_values - value - 1)] = end  # no code is above its values
        begin = end
    return df_n_filled_bins(&filler)


cdef void write_codes(const pair_t* items, const uint32_t* ends, uint32_t n_codes, code_t* codes, Py_ssize_t begin,
                      Py_ssize_t end) noexcept nogil:
    """Write the codes of the rows of items begin, ..., end - 1, given where those of each code end."""
    cdef Py_ssize_t i
    cdef uint32_t code = 0, beyond = n_codes, middle
    while code < beyond:                     # the first code that ends after `begin`
        middle = code + (beyond - code) // 2
        if <Py_ssize_t> ends[middle] <= begin:
            code = middle + 1
        else:
            beyond = middle
    while begin < end:
        for i in range(begin, min(end, <Py_ssize_t> ends[code])):
            codes[number_in(items[i])] = <code_t> code
        begin = ends[code]
        code += 1


cdef void write_values(const pair_t* items, const uint32_t* ends, uint32_t n_codes, double[:, ::1] out) noexcept nogil:
    """OUT out : [3, n_codes] upper edges, smallest and largest values; or [1, n_codes] where all three are equal"""
    cdef uint32_t code, begin = 0
    cdef bint is_wide = pair_t is not uint64_t
    cdef Py_ssize_t last = out.shape[0] - 1
    for code in range(n_codes):
        if last:
            out[1, code] = df_value_of(key_in(items[begin]), is_wide)
            begin = ends[code]
        out[last, code] = df_value_of(key_in(items[ends[code] - 1]), is_wide)
    if last and n_codes:
        fill_edges(&out[1, 0], &out[2, 0], n_codes, not is_wide, &out[0, 0])


cdef class ColumnSort:
    """Sorts the rows of one column after another, by one thread, or by several in steps of chunks; it has the memory for that.

    Of the steps, a method that takes a chunk is called for all chunks, by any threads, before the next one is called for any.

    Parameters
    ----------
    n_rows : int
        From 1.
    is_float32 : bool
        Of X; else float64.
    n_chunks : int, default=1
    """
    cdef Py_ssize_t n, n_chunks
    cdef bint is_float32
    cdef object owned                  # the memory
    cdef void* items[2]                # [n] each, of which one
    cdef void* sorted                  # has the rows whose value is not missing, sorted by it,
    cdef uint32_t* ends                # [n] and the other, by code: one past its last row there
    cdef Py_ssize_t n_present
    cdef uint32_t n_codes
    cdef const float[::1] x32
    cdef const double[::1] x64
    cdef Py_ssize_t[::1] found         # [n_chunks] present values, or ends of values, in each chunk
    cdef uint32_t[:, ::1] counts       # [n_chunks, DIGIT] of one digit in each chunk
    cdef readonly object column        # CodedColumn

    def __cinit__(self, Py_ssize_t n_rows, bint is_float32, Py_ssize_t n_chunks=1):
        cdef uint8_t[:, ::1] items = scratch((2, n_rows * (sizeof(uint64_t) if is_float32 else sizeof(Pair))), np.uint8)
        self.n, self.n_chunks, self.is_float32 = n_rows, n_chunks, is_float32
        self.owned = items
        self.items[0] = &items[0, 0]
        self.items[1] = &items[1, 0]
        self.found = np.zeros(n_chunks, np.intp)
        self.counts = np.empty((n_chunks if n_chunks > 1 else 0, DIGIT), np.uint32)

    cdef void* other(self) noexcept nogil:
        """The buffer that does not have the sorted items."""
        return self.items[self.sorted == self.items[0]]

    cdef Py_ssize_t begin_of(self, Py_ssize_t chunk, Py_ssize_t n) noexcept nogil:
        return n // self.n_chunks * chunk + min(chunk, n % self.n_chunks)

    cdef Py_ssize_t found_before(self, Py_ssize_t chunk) noexcept nogil:
        cdef Py_ssize_t c, n = 0
        for c in range(chunk):
            n += self.found[c]
        return n

    def take(self, x):
        """Take a column: ndarray of shape (n_rows,), dtype float32 or float64, which may be written to until the first step."""
        if len(x) != self.n:
            raise ValueError(f"x has {len(x)} rows; allowed are {self.n}")
        if self.is_float32:
            self.x32 = x
        else:
            self.x64 = x
        self.sorted = self.items[0]

    def code(self, x, int64_t max_codes, bint counts_missing, const uint32_t[::1] weight):
        """Code a column, by this thread alone.

        Parameters
        ----------
        x : ndarray of shape (n_rows,), dtype float32 or float64
        max_codes : int
            Most codes; 0: a code for each distinct value.
        counts_missing : bool
            Whether the code for missing values is one of max_codes.
        weight : ndarray of shape (n_rows,), dtype uint32, or None

        Returns
        -------
        CodedColumn
        """
        self.take(x)
        with nogil:
            if self.is_float32:
                self.n_present = read_items(&self.x32[0], 0, self.n, <uint64_t*> self.items[0])
                self.sorted = sort_items(<uint64_t*> self.items[0], <uint64_t*> self.items[1], self.n_present)
            else:
                self.n_present = read_items(&self.x64[0], 0, self.n, <Pair*> self.items[0])
                self.sorted = sort_items(<Pair*> self.items[0], <Pair*> self.items[1], self.n_present)
        self.find_ends(0, True)
        self.describe(max_codes, counts_missing, weight)
        return self.write(0)

    def count_present(self, Py_ssize_t chunk):
        """Count the values that are not missing."""
        cdef Py_ssize_t i, n = 0
        with nogil:
            for i in range(self.begin_of(chunk, self.n), self.begin_of(chunk + 1, self.n)):
                n += self.x32[i] == self.x32[i] if self.is_float32 else self.x64[i] == self.x64[i]
        self.found[chunk] = n

    def read(self, Py_ssize_t chunk):
        """Make items of the values."""
        cdef Py_ssize_t begin = self.begin_of(chunk, self.n), end = self.begin_of(chunk + 1, self.n)
        with nogil:
            if chunk == 0:
                self.n_present = self.found_before(self.n_chunks)
            if self.is_float32:
                read_items(&self.x32[0], begin, end, <uint64_t*> self.sorted + self.found_before(chunk))
            else:
                read_items(&self.x64[0], begin, end, <Pair*> self.sorted + self.found_before(chunk))

    @property
    def n_digits(self):
        """Of a key."""
        return ((32 if self.is_float32 else 64) + DIGIT_BITS - 1) // DIGIT_BITS

    def count(self, Py_ssize_t chunk, int digit):
        """Count the values of a digit among the items."""
        cdef Py_ssize_t begin = self.begin_of(chunk, self.n_present), end = self.begin_of(chunk + 1, self.n_present)
        with nogil:
            if self.is_float32:
                count_digits(<const uint64_t*> self.sorted, begin, end, digit * DIGIT_BITS, &self.counts[chunk, 0])
            else:
                count_digits(<const Pair*> self.sorted, begin, end, digit * DIGIT_BITS, &self.counts[chunk, 0])

    def move(self, Py_ssize_t chunk, int digit):
        """Sort the items by a digit, into the other buffer."""
        cdef Py_ssize_t begin = self.begin_of(chunk, self.n_present), end = self.begin_of(chunk + 1, self.n_present)
        cdef int shift = digit * DIGIT_BITS
        with nogil:
            if self.is_float32:
                move_by_digit(<const uint64_t*> self.sorted, begin, end, shift, self.counts, chunk, <uint64_t*> self.other())
            else:
                move_by_digit(<const Pair*> self.sorted, begin, end, shift, self.counts, chunk, <Pair*> self.other())

    def swap(self):
        """Go on with what `move` has written; not by chunks."""
        self.sorted = self.other()

    def find_ends(self, Py_ssize_t chunk, bint writes):
        """Find where values end among the sorted items: where, and how many do; with several chunks, how many first."""
        cdef Py_ssize_t n = self.n_present, begin = self.begin_of(chunk, n), end = self.begin_of(chunk + 1, n)
        cdef uint32_t* ends = NULL
        with nogil:
            if writes:
                ends = <uint32_t*> self.other() + self.found_before(chunk)
            if self.is_float32:
                n = find_ends(<const uint64_t*> self.sorted, begin, end, n, ends)
            else:
                n = find_ends(<const Pair*> self.sorted, begin, end, n, ends)
        if not writes or self.n_chunks == 1:
            self.found[chunk] = n

    def describe(self, int64_t max_codes, bint counts_missing, const uint32_t[::1] weight):
        """Give the values codes, and set `column`, whose codes are yet to be written; not by chunks."""
        cdef const uint32_t* w = &weight[0] if weight is not None else NULL
        cdef bint has_missing = self.n_present < self.n
        cdef int64_t most = max_codes - (has_missing and counts_missing)
        cdef Py_ssize_t largest
        cdef double[:, ::1] numbers
        self.ends = <uint32_t*> self.other()
        self.n_codes = <uint32_t> self.found_before(self.n_chunks)
        if max_codes and <int64_t> self.n_codes > most:
            with nogil:
                if self.is_float32:
                    self.n_codes = fill_bins(<const uint64_t*> self.sorted, self.n_present, self.ends, self.n_codes, most, w)
                else:
                    self.n_codes = fill_bins(<const Pair*> self.sorted, self.n_present, self.ends, self.n_codes, most, w)
        numbers = np.empty((3 if max_codes else 1, self.n_codes), np.float64)
        if self.is_float32:
            write_values(<const uint64_t*> self.sorted, self.ends, self.n_codes, numbers)
        else:
            write_values(<const Pair*> self.sorted, self.ends, self.n_codes, numbers)
        values = np.asarray(numbers).astype(np.float32 if self.is_float32 else np.float64)
        largest = <Py_ssize_t> self.n_codes - 1 + has_missing
        codes = np.empty(self.n, np.uint8 if largest <= 0xFF else np.uint16 if largest <= 0xFFFF else np.uint32)
        if has_missing:
            codes[...] = self.n_codes
        edges, lows, highs = values if max_codes else 3 * [values[0]]
        self.column = CodedColumn(codes, edges, lows, highs, bool(has_missing), 0)

    def write(self, Py_ssize_t chunk):
        """Write the codes of rows; the `CodedColumn` is complete when all chunks have done so."""
        cdef Py_ssize_t n = self.n_present, begin = self.begin_of(chunk, n), end = self.begin_of(chunk + 1, n)
        cdef uint8_t[::1] codes8
        cdef uint16_t[::1] codes16
        cdef uint32_t[::1] codes32
        codes = self.column.codes
        if codes.itemsize == 1:
            codes8 = codes
            with nogil:
                self.write_into(&codes8[0], begin, end)
        elif codes.itemsize == 2:
            codes16 = codes
            with nogil:
                self.write_into(&codes16[0], begin, end)
        else:
            codes32 = codes
            with nogil:
                self.write_into(&codes32[0], begin, end)
        return self.column

    cdef void write_into(self, code_t* codes, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
        if self.is_float32:
            write_codes(<const uint64_t*> self.sorted, self.ends, self.n_codes, codes, begin, end)
        else:
            write_codes(<const Pair*> self.sorted, self.ends, self.n_codes, codes, begin, end)


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
    shared = [ColumnSort(len(X), X.dtype == np.float32, n_chunks) for _ in values]
    edges = [len(X) * chunk // n_chunks for chunk in range(n_chunks + 1)]
    for first in range(0, len(numbers), n_together):
        taken = numbers[first : first + n_together]
        now = shared[: len(taken)]

        def step(work):
            each(len(now) * n_chunks, lambda i, _: work(now[i % len(now)], i // len(now)), n_threads)

        def copy(chunk, _):
            for to, j in zip(values, taken):
                to[edges[chunk] : edges[chunk + 1]] = X[edges[chunk] : edges[chunk + 1], j]

        for column, x in zip(now, values):
            column.take(x)
        each(n_chunks, copy, n_threads)
        step(lambda column, chunk: column.count_present(chunk))
        step(lambda column, chunk: column.read(chunk))
        for digit in range(now[0].n_digits):
            step(lambda column, chunk: column.count(chunk, digit))
            step(lambda column, chunk: column.move(chunk, digit))
            for column in now:
                column.swap()
        for writes in (False, True):
            step(lambda column, chunk: column.find_ends(chunk, writes))
        each(len(now), lambda i, _: now[i].describe(max_codes, counts_missing, weight), n_threads)
        step(lambda column, chunk: column.write(chunk))
        coded += [column.column for column in now]
    return coded
