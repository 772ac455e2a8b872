"""Histograms of gradients of the nodes of a tree.

A histogram has one of two *forms*, words or sums: see histogram.h. A *slot* is memory for a histogram of either form; a node
has one from when its rows are added up until it is known that it is not split, or both of its children have theirs. A *part* is
memory for what some of a node's rows add up to, as threads share a large node's rows.

A `Histograms` serves one booster, and owns slots and parts. Slots that no node has are kept for other nodes.
"""
cimport cython
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np

from dforest.core.loops cimport DF_BOOST_TILE, df_boost_entries, df_boost_fill, df_boost_find, loops
from dforest.core.tree.buffers cimport ensure_room
from dforest.core.types cimport CATEGORICAL
from dforest.rules.boost cimport DF_SPILL, DF_WEIGHTED_SPILL, DF_WIDE_WORDS, df_word_of_sums

from dforest.core.threads import each


def max_rows_of_a_code(columns, n_threads):
    """The number of rows of the most frequent code of all columns."""
    most = np.zeros(len(columns), np.int64)

    def count(j, _):
        most[j] = np.bincount(columns[j].codes).max()

    each(len(columns), count, n_threads)
    return int(most.max())


@cython.final
cdef class Histograms:
    """Memory for histograms, and how it is filled.

    Parameters
    ----------
    data : DataView
        Its codes have one byte; with codes by row.
    most : int
        The number of rows of the most frequent code of all columns.
    kind : int
        How gradients and Hessians are packed into words, a `df_word_kind` of boost.h: that of the first tree, and of the longest
        words that other trees may have.
    n_parts : int
        Into how many parts the rows of a node are divided, at most.
    times : ndarray of shape (n_rows,), dtype uint32, or None
        Integer weights. None: all are 1.
    tuning : dict
        `word_rows`: the most rows that words stand for.
    """

    def __cinit__(self, DataView data not None, int64_t most, int kind, int n_parts, const uint32_t[::1] times,
                  dict tuning not None):
        cdef Py_ssize_t j, n = data.n_features
        self.data = data
        self.most = most
        if times is not None:
            self.times = &times[0]
            self.times_owner = times
        self.word_rows = min(<int64_t> DF_SPILL if times is None else <int64_t> DF_WEIGHTED_SPILL,
                             tuning.get("word_rows", DF_SPILL))
        self.use(kind)
        self.max_width = self.width
        self.n_columns = n
        self.n_parts = n_parts
        self.n_codes = <int*> malloc(n * sizeof(int))
        self.has_missing = <uint8_t*> malloc(n)
        self.is_category = <uint8_t*> malloc(n)
        self.first = <uint32_t*> malloc((n + 1) * sizeof(uint32_t))
        self.parts = <uint64_t**> calloc(n_parts, sizeof(uint64_t*))
        if (self.n_codes == NULL or self.has_missing == NULL or self.is_category == NULL or self.first == NULL
                or self.parts == NULL):
            raise MemoryError()
        self.first[0] = 0
        for j in range(n):
            if data.columns[j].width != 1:
                raise ValueError(f"column {j} has codes of {data.columns[j].width} bytes; allowed are those of one byte")
            self.n_codes[j] = <int> data.columns[j].n_codes
            self.has_missing[j] = data.columns[j].has_missing
            self.is_category[j] = data.columns[j].kind == CATEGORICAL
            self.first[j + 1] = self.first[j] + self.n_codes[j] + self.has_missing[j]
        self.n_entries = self.first[n]
        for j in range(n_parts):
            self.parts[j] = <uint64_t*> malloc((self.max_width + 3) * self.n_entries * sizeof(uint64_t))
            if self.parts[j] == NULL:
                raise MemoryError(f"{n_parts} times {(self.max_width + 3) * self.n_entries * 8} bytes for histograms")

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.n_slots):
            free(self.slots[i])
        if self.parts != NULL:
            for i in range(self.n_parts):
                free(self.parts[i])
        free(self.slots)
        free(self.parts)
        free(self.unused)
        free(self.n_codes)
        free(self.has_missing)
        free(self.is_category)
        free(self.first)

    cdef void use(self, int kind) noexcept nogil:
        """Have words of a kind from here on, while no node has a slot. With times, rows have as many bits as by that kind."""
        self.fill_kind = kind
        self.kind = kind if self.times == NULL else <int> DF_WIDE_WORDS
        self.width = 2 if self.kind == DF_WIDE_WORDS else 1

    cdef int32_t take(self) except -1 nogil:
        """The number of a slot, for a node to have."""
        cdef Py_ssize_t number = self.n_slots
        cdef size_t size = 3 * self.n_entries * sizeof(uint64_t)
        if self.n_unused > 0:
            self.n_unused -= 1
            return self.unused[self.n_unused]
        ensure_room(<void**> &self.slots, &self.slot_room, number + 1, sizeof(uint64_t*))
        ensure_room(<void**> &self.unused, &self.unused_room, number + 1, sizeof(int32_t))
        self.slots[number] = <uint64_t*> malloc(size)
        if self.slots[number] == NULL:
            with gil:
                raise MemoryError(f"{size} bytes for the histogram of a node, beside {number} others")
        self.n_slots += 1
        return <int32_t> number

    cdef void leave(self, int32_t* slot) noexcept nogil:
        """Have a node's slot free for others, if it has one. INOUT slot : its number; -1: the node has none"""
        if slot[0] >= 0:
            self.unused[self.n_unused] = slot[0]
            self.n_unused += 1
            slot[0] = -1

    cdef bint fits_words(self, int64_t n, int64_t most) noexcept nogil:
        """Whether words are enough for a histogram of n rows, of which at most `most` have one code of a column."""
        return self.kind != DF_WIDE_WORDS and min(n, most) <= self.word_rows

    cdef void fill(self, const uint32_t* rows, int64_t first, int64_t n, const int32_t* quantised, uint64_t* words,
                   uint64_t* sums) noexcept nogil:
        """Add up n rows: into words, and these into sums if they are not NULL. A tile of columns comes after another.

        IN rows : [n] their numbers; NULL: they are numbered from `first`
        OUT words : [n_entries, width]; cleared if sums are wanted
        OUT sums : [3, n_entries]
        """
        cdef Py_ssize_t column = 0, last, at, n_entries = self.n_entries
        cdef int64_t i, m
        cdef df_boost_fill fill = loops.boost.fill[self.fill_kind]
        if self.times != NULL:
            fill = loops.boost.fill_times[self.fill_kind]
        memset(words, 0, self.width * n_entries * sizeof(uint64_t))
        if sums != NULL:
            memset(sums, 0, 3 * n_entries * sizeof(uint64_t))
        while column < self.n_columns:
            last = min(column + DF_BOOST_TILE, self.n_columns)
            at = self.first[column]
            i = 0
            while i < n:
                m = n - i if sums == NULL else min(max(<int64_t> 1, self.word_rows), n - i)
                fill(self.data.rows.codes, self.data.rows.stride, quantised, self.times, rows + i if rows != NULL else NULL,
                     first + i, m, self.first, <int> column, <int> last, words)
                if sums != NULL:
                    loops.boost.spill[self.kind](words + self.width * at, self.first[last] - at, <int64_t*> sums + at,
                                                 <int64_t*> sums + n_entries + at, <int64_t*> sums + 2 * n_entries + at)
                i += m
            column = last

    cdef void fill_part(self, int part, int n_parts, const uint32_t* rows, int64_t first, int64_t n, const int32_t* quantised,
                        int32_t slot, bint has_words) noexcept nogil:
        """Add up a part of n rows: into the part's memory, or into the slot if it is the only one."""
        cdef int64_t begin = n * part // n_parts, end = n * (part + 1) // n_parts
        cdef uint64_t* words = self.parts[part]
        cdef uint64_t* sums = words + self.width * self.n_entries
        if n_parts == 1:
            words, sums = (self.slots[slot], sums) if has_words else (words, self.slots[slot])
        self.fill(rows + begin if rows != NULL else NULL, first + begin, end - begin, quantised, words,
                  NULL if has_words else sums)

    cdef void join_parts(self, Py_ssize_t column, int n_parts, int32_t slot, bint has_words) noexcept nogil:
        """Have the entries of a column in a slot, when all parts are filled."""
        cdef Py_ssize_t begin = self.first[column], end = self.first[column + 1], i, _, part
        cdef uint64_t* to = self.slots[slot]
        cdef const uint64_t* words
        if n_parts == 1:
            return
        for _ in range(1 if has_words else 3):
            for part in range(n_parts):
                words = self.parts[part] + (0 if has_words else self.width * self.n_entries)
                for i in range(begin, end):
                    to[i] = words[i] + (to[i] if part > 0 else 0)
            begin += self.n_entries
            end += self.n_entries

    cdef void subtract(self, Py_ssize_t column, int32_t slot, int32_t other, bint had_words, bint has_words) noexcept nogil:
        """Have the entries of a column for a large child in the slot of its parent, given the small child's slot `other`.

        IN had_words, has_words : the forms of the parent's histogram, and of both children's
        """
        cdef Py_ssize_t begin = self.first[column], end = self.first[column + 1], n = self.n_entries, i, _
        cdef uint64_t* to = self.slots[slot]
        cdef const uint64_t* less = self.slots[other]
        if has_words and not had_words:
            for i in range(begin, end):        # a word takes the place of the sum of gradients that it is made of
                to[i] = df_word_of_sums(self.kind, <int64_t> to[i], <int64_t> to[n + i], <int64_t> to[2 * n + i]) - less[i]
            return
        for _ in range(1 if has_words else 3):
            for i in range(begin, end):
                to[i] -= less[i]
            begin += n
            end += n

    cdef void find_cut(self, Py_ssize_t column, int32_t slot, bint has_words, const df_boost_limits* limits,
                       const df_boost_constraint* constraint, df_boost_cut* cut) noexcept nogil:
        """The best cut of a column. constraint : NULL: there are no monotonic constraints"""
        cdef const uint64_t* words = self.slots[slot] + self.first[column]
        cdef const int64_t* sums = <const int64_t*> words
        cdef df_boost_entries entries
        cdef df_boost_find find = loops.boost.subset[self.kind] if self.is_category[column] else loops.boost.cut[self.kind]
        entries.words = words if has_words else NULL
        entries.sums = NULL
        entries.g = sums
        entries.h = sums + self.n_entries
        entries.n = sums + 2 * self.n_entries
        find(&entries, self.n_codes[column], self.has_missing[column], limits, constraint, cut)
