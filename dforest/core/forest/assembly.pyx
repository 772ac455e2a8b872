"""Trees put together to a forest, one after another.

Words: a *tree* is handed in as `TreeArrays`, in the order of the forest.

An `Assembly` owns what it has put together until that becomes a forest's. Room for the trees to come
is taken ahead, by the size of those that came; memory that nobody has written to costs nothing.
"""
from collections import namedtuple

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from dforest.core.scratch import scratch

cdef extern from *:
    """
    #define df_prefetch(address) __builtin_prefetch(address)
    #define df_highest_bit(x) (63 - __builtin_clzll(x))
    """
    void df_prefetch(const void* address) nogil

    int df_highest_bit(uint64_t x) nogil

cdef enum:
    AHEAD = 16         # rows between asking for memory and using it
    FIRST_BIT = 6      # of the first part's rows
    MOST_AHEAD = 64    # times as much room as is needed so far

NODE_ARRAYS = ("feature", "threshold", "link", "missing_left")


TREE_ARRAYS = ("feature", "threshold", "right", "missing_left", "leaves", "inner", "payload_lengths", "payload_words")


class TreeArrays(namedtuple("TreeArrays", TREE_ARRAYS)):
    """A tree before it is put together with others.

    Attributes
    ----------
    feature, threshold, missing_left : ndarray
        As in `Forest`.
    right : ndarray of shape (n_nodes,), dtype uint32
        The right child of each inner node; of leaves it means nothing.
    leaves : ndarray of shape (n_leaves, n_words), dtype int64
        For each node that is a leaf, what it keeps: see `Objective.leaf_words`. C-contiguous.
    inner : ndarray of shape (n_inner, 2) or (0, 2), dtype float64
        As `Forest.inner`.
    payload_lengths : ndarray of shape (n_payloads,), dtype int64
        How many words the payload of each node that has one has: of its subset, or of the splitter's own test.
    payload_words : ndarray of shape (n_words,), dtype uint64
        Their words, one payload after another.
    """

    __slots__ = ()

    def copy(self):
        """This tree in arrays of its own."""
        return TreeArrays(*(part.copy() for part in self))


cdef inline uint64_t hash_of(const int64_t* row, Py_ssize_t n) noexcept nogil:
    cdef uint64_t hashed = 0
    cdef Py_ssize_t k
    for k in range(n):
        hashed = (hashed ^ <uint64_t> row[k]) * 0x9E3779B97F4A7C15ULL
        hashed ^= hashed >> 29
    return hashed


cdef inline bint are_equal(const int64_t* a, const int64_t* b, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        if a[k] != b[k]:
            return False
    return True


cdef class RowTable:
    """Distinct rows in order of first appearance.

    Parameters
    ----------
    m : int
        Words of a row.
    """
    cdef Py_ssize_t m, n
    cdef list owned            # arrays of the parts
    cdef object owned_slots
    cdef int64_t* parts[64]    # rows: 64 in the first part, then 128, 256, ...; a part once made stays where it is
    cdef int n_parts
    cdef uint32_t* slots       # [size] open addressing; numbers of rows, counted from 1, and tags above; 0: none
    cdef uint64_t size         # a power of two, more than twice n
    cdef int bits              # of a slot's number; the others are the tag, the same bits of the row's hash

    def __cinit__(self, Py_ssize_t m):
        self.m = m
        self.owned = []
        self.grow()

    def __len__(self):
        return self.n

    cdef inline int64_t* row(self, uint64_t i) noexcept nogil:
        cdef int bit = df_highest_bit(i + (1 << FIRST_BIT))
        return self.parts[bit - FIRST_BIT] + <Py_ssize_t> (i + (1 << FIRST_BIT) - (<uint64_t> 1 << bit)) * self.m

    cdef int add_part(self, uint64_t size) except -1:
        cdef int64_t[:, ::1] part = scratch((<uint64_t> 1 << FIRST_BIT + self.n_parts, max(1, self.m)), np.int64)
        cdef uint32_t[::1] slots = scratch((size,), np.uint32)
        self.owned.append(part)
        self.owned_slots = slots
        self.parts[self.n_parts] = &part[0, 0]
        self.slots = &slots[0]
        self.size = size
        self.bits = FIRST_BIT + 1 + self.n_parts
        self.n_parts += 1
        return 0

    cdef int grow(self) except -1 nogil:
        """Make another part, and slots for the rows that all parts can take."""
        cdef Py_ssize_t i
        cdef uint64_t hashed, slot, size = <uint64_t> 4 << FIRST_BIT + self.n_parts
        cdef uint32_t* slots
        with gil:
            self.add_part(size)
        slots = self.slots
        for i in range(self.n):
            hashed = hash_of(self.row(i), self.m)
            slot = hashed & (size - 1)
            while slots[slot]:
                slot = (slot + 1) & (size - 1)
            slots[slot] = self.tag(hashed) | <uint32_t> (i + 1)
        return 0

    cdef inline uint32_t tag(self, uint64_t hashed) noexcept nogil:
        return <uint32_t> (hashed >> 32) >> self.bits << self.bits

    cdef inline uint64_t find_tag(self, uint64_t slot, uint32_t tag) noexcept nogil:
        """The first slot from this on that is free or has this tag."""
        while self.slots[slot] and self.slots[slot] >> self.bits != tag >> self.bits:
            slot = (slot + 1) & (self.size - 1)
        return slot

    def add(self, const int64_t[:, ::1] rows not None):
        """Take more rows.

        Parameters
        ----------
        rows : ndarray of shape (n, m), dtype int64

        Returns
        -------
        ndarray of shape (n,), dtype uint32
            The number of the distinct row that equals each row.

        Raises
        ------
        OverflowError
            If there are more than 2**31 distinct rows.
        """
        if not self.owned:
            raise ValueError("rows for a table that has been released")
        if rows.shape[1] != self.m:
            raise ValueError(f"rows of {rows.shape[1]} words, in a table of rows of {self.m}")
        numbers = np.empty(rows.shape[0], np.uint32)
        cdef uint32_t[::1] to = numbers
        with nogil:
            self.add_rows(rows, to)
        return numbers

    cdef int add_rows(self, const int64_t[:, ::1] rows, uint32_t[::1] numbers) except -1 nogil:
        cdef uint64_t ahead[AHEAD]                   # hashes of the rows to come
        cdef uint64_t hashed, slot
        cdef uint32_t number, tag
        cdef uint32_t mask
        cdef Py_ssize_t n = rows.shape[0], m = self.m, i
        for i in range(min(n, <Py_ssize_t> AHEAD)):
            ahead[i] = hash_of(&rows[i, 0], m)
        for i in range(n):
            if self.n + (1 << FIRST_BIT) == <Py_ssize_t> 1 << FIRST_BIT + self.n_parts:
                if self.size >> 32:
                    with gil:
                        raise OverflowError("a forest has more than 2**31 different leaves; limit max_depth or min_samples_leaf")
                self.grow()
            mask = (<uint32_t> 1 << self.bits) - 1
            hashed = ahead[i % AHEAD]
            if i + AHEAD < n:                        # nearly every access leaves the caches: ask for it early
                ahead[i % AHEAD] = hash_of(&rows[i + AHEAD, 0], m)
                df_prefetch(&self.slots[ahead[i % AHEAD] & (self.size - 1)])
                slot = ahead[(i + AHEAD // 2) % AHEAD]
                number = self.slots[self.find_tag(slot & (self.size - 1), self.tag(slot))] & mask
                if number:
                    df_prefetch(self.row(number - 1))
            tag = self.tag(hashed)
            slot = self.find_tag(hashed & (self.size - 1), tag)
            while self.slots[slot] and not are_equal(self.row((self.slots[slot] & mask) - 1), &rows[i, 0], m):
                slot = self.find_tag((slot + 1) & (self.size - 1), tag)
            if not self.slots[slot]:
                memcpy(self.row(self.n), &rows[i, 0], m * sizeof(int64_t))
                self.n += 1
                self.slots[slot] = tag | <uint32_t> self.n
            numbers[i] = (self.slots[slot] & mask) - 1
        return 0

    def release(self, *spans):
        """The distinct rows; ends the table.

        Parameters
        ----------
        *spans : tuple of (int, int)
            Which words of a row: the first, and one past the last.

        Returns
        -------
        list of ndarray of shape (n, n_words), dtype int64
            For each span.
        """
        columns = [np.empty((self.n, last - first), np.int64) for first, last in spans]
        first_row = 0
        self.owned_slots = None
        self.slots = NULL
        while self.owned:          # one part after another, for their memory is as large as that of the columns
            part = np.asarray(self.owned.pop(0))[: self.n - first_row]
            for column, (first, last) in zip(columns, spans):
                column[first_row : first_row + len(part)] = part[:, first:last]
            first_row += len(part)
        self.n = 0
        return columns


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
    return table.release((0, rows.shape[1]))[0], numbers


cdef void link_leaves(const int32_t[::1] feature, uint32_t[::1] link, const uint32_t[::1] rows) noexcept nogil:
    """Make right children links: give each leaf its row in the leaf tables."""
    cdef Py_ssize_t i, n = 0, last = rows.shape[0] - 1
    cdef bint is_leaf
    for i in range(feature.shape[0]):      # no branches: leaves come as if by chance
        is_leaf = feature[i] < 0
        link[i] = rows[min(n, last)] if is_leaf else link[i]
        n += is_leaf


class Stretch:
    """An array that more and more is appended to.

    Parameters
    ----------
    dtype : dtype
    *shape : int
        Of an entry.
    """

    def __init__(self, dtype, *shape):
        self.array = np.empty((0, *shape), dtype)
        self.n = 0

    def append(self, part, share):
        """Append entries; `share` tells which share of all there will be has come, with these."""
        n, self.n = self.n, self.n + len(part)
        if self.n > len(self.array):
            # Not for all of very many trees: the system refuses more memory than it could ever give.
            room = self.n if share == 1.0 else min(int(1.1 * self.n / share), MOST_AHEAD * self.n)
            array = np.empty((room, *self.array.shape[1:]), self.array.dtype)
            array[:n] = self.array[:n]
            self.array = array
        added = self.array[n : self.n]
        added[...] = part
        return added

    def release(self):
        """What was appended, in an array of its own."""
        array, self.array = self.array, None
        # Nothing refers to its memory any more; what the system did not take back would stay reserved.
        array.resize((self.n, *array.shape[1:]), refcheck=False)
        return array


class Assembly:
    """Puts trees together.

    Parameters
    ----------
    dtype : dtype
        Of thresholds: float32 or float64.
    n_trees : int
        How many trees there will be, as far as is known: room is made for them.
    before : Forest, optional
        The trees that come first.
    """

    def __init__(self, dtype, n_trees, before=None):
        dtypes = {"feature": np.int32, "threshold": dtype, "right": np.uint32, "missing_left": np.bool_,
                  "payload_lengths": np.int64, "payload_words": np.uint64}
        self._parts = {name: Stretch(given) for name, given in dtypes.items()}
        self._parts["inner"] = Stretch(np.float64, 2)
        self._leaves = None
        self._lengths = []
        self._n_trees = n_trees
        if before is not None:
            for tree in before.trees():
                self.append(tree)

    def append(self, tree):
        """Put the next tree in its place.

        Parameters
        ----------
        tree : TreeArrays
            Lent until this returns.
        """
        share = min(1.0, (len(self._lengths) + 1) / self._n_trees)
        added = {name: part.append(getattr(tree, name), share) for name, part in self._parts.items()}
        if self._leaves is None:
            self._leaves = RowTable(tree.leaves.shape[1])
        cdef const uint32_t[::1] rows = self._leaves.add(tree.leaves)
        cdef const int32_t[::1] feature = added["feature"]
        cdef uint32_t[::1] link = added["right"]
        with nogil:
            link_leaves(feature, link, rows)
        self._lengths.append(len(tree.feature))

    def release(self, objective):
        """The arrays of the forest of the trees that have come; ends the assembly.

        Parameters
        ----------
        objective : Objective
            Which says what the words of leaves are.

        Returns
        -------
        dict
            As `Forest.as_dict` has them.
        """
        arrays = {name: part.release() for name, part in self._parts.items()}
        arrays["link"] = arrays.pop("right")
        arrays["node_offsets"] = np.cumsum([0, *self._lengths])
        arrays["payload_offsets"] = np.cumsum([0, *arrays.pop("payload_lengths")])
        leaves, self._leaves = self._leaves, None
        spans = objective.leaf_words
        words = leaves.release(*((span.start, span.stop) for span in spans.values()))
        return arrays | objective.leaf_tables(dict(zip(spans, words)))
