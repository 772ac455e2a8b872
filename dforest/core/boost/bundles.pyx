"""Columns of few uncommon codes: how histograms are filled without looking at each of them.

The *default* of a column is its most frequent code, or, of a sparse column, the code of what is not stored. Columns are
*exclusive* if in each row at most one of them has another code than its default. Exclusive columns share a *bundle*: one code of
a byte for each row, 0 where all have their defaults. The entries of a bundle are those of its columns, one column behind another,
without the default of each; what the default stands for is the node's total less the column's other entries, which is exact, as
all are integers. Other columns have a bundle to themselves:

    column a (default 0)   0 1 0 0 2          bundle of a and b    0 1 3 0 2        entries: none, a=1, a=2, b=1
    column b (default 0)   0 0 1 0 0
    column c               5 7 6 6 5          bundle of c          5 7 6 6 5        entries: c=0, ..., c=7

Columns of few codes, and bundles of few entries, share a byte though they are not exclusive: its code has a *digit* for each of
them, and its entries are all combinations of digits. What a digit's entries are follows from these by sums, as cuts are searched:

    digit of 3 codes   2 1 0 1                byte   2 1 3 4          code: first digit + 3 * second digit
    digit of 2 codes   0 0 1 1

Where bundles would be many and have little in them, as of words of texts, each row has a *list* of entries instead. *Wide*
columns, which have more codes than a byte, are always in lists.

Bundles are found greedily, the columns of most uncommon codes first. This is graph colouring, of columns that meet in a row: Ke
et al., "LightGBM: a highly efficient gradient boosting decision tree", NeurIPS 2017. Here columns of a bundle never meet, so that
trees are the same with and without bundles.

Entries of a histogram come in *items*, which threads take: the entries of a bundle, or of some columns whose codes are in lists.
A `Bundles` owns the codes of bundles and the lists.
"""
cimport cython
from libc.stdint cimport uint16_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from bisect import bisect_left, insort
from math import prod

import numpy as np

from dforest.core.loops cimport DF_BOOST_CODES, loops
from dforest.core.threads cimport check_signals
from dforest.core.types cimport CATEGORICAL, Column
from dforest.rules.boost cimport DF_SPILL

from dforest.core.coding.coded_columns import CodedColumn
from dforest.core.threads import each

cdef enum:
    MAX_OPEN = 64              # bundles that a column may join
    LISTED_TOGETHER = 64       # columns whose codes are in lists, of an item
    COLUMNS_TOGETHER = 64      # that a thread counts at a time
    WORTH = 4                  # a bundle is worth its bytes if one in so many of them is not 0
    LIST_COST = 8              # what it costs to begin a row's list, in codes of bundles that are read in the same time, ...
    LISTED_COST = 2            # ... and to add one of its entries
    PACKED_ROWS = 16384        # from so many rows on bundles share bytes: what digits cost a node does not depend on its rows


@cython.final
cdef class ColumnFacts:
    """What is known of columns before there are bundles.

    Parameters
    ----------
    data : DataView
    narrow_codes : int
        A column of more codes is wide.
    """

    def __init__(self, DataView data, Py_ssize_t narrow_codes):
        n = data.n_features
        self.data = data
        self.narrow_codes = narrow_codes
        self.is_wide = np.zeros(n, np.uint8)
        self.n_codes, self.default, self.n_others, self.most = (np.zeros(n, np.int64) for _ in range(4))

    def find(self, Py_ssize_t j, bint changes=False):
        """Learn what is to be known of a column. changes : all rows may come to have one code, and any"""
        cdef const Column* column = &self.data.columns[j]
        cdef Py_ssize_t i, n = self.data.n_rows if column.stored == NULL else column.n_stored
        cdef Py_ssize_t n_codes = max(<Py_ssize_t> DF_BOOST_CODES, <Py_ssize_t> column.n_codes + column.has_missing)
        cdef int64_t[::1] counts = np.zeros(n_codes, np.int64)
        cdef int64_t code, default
        if changes:
            self.n_codes[j] = column.n_codes + column.has_missing
            self.default[j], self.n_others[j], self.most[j] = -1, n, n
            return
        if column.width > 2:
            raise ValueError(f"column {j} has {column.n_codes} codes of {column.width} bytes; allowed are codes of two bytes")
        if column.stored != NULL and column.implied >= column.n_codes + column.has_missing:
            raise ValueError(f"column {j} stores all rows; allowed are sparse columns that imply a code")
        self.is_wide[j] = column.n_codes + column.has_missing > self.narrow_codes
        with nogil:
            for i in range(n):
                counts[code_at(column, i)] += 1
            default = column.implied
            if column.stored == NULL and self.is_wide[j]:
                default = -1
            elif column.stored == NULL:
                default = 0
                for code in range(DF_BOOST_CODES):
                    if counts[code] > counts[default]:
                        default = code
                n -= counts[default]
                counts[default] = 0
            self.n_codes[j] = column.n_codes + column.has_missing
            self.default[j] = default
            self.n_others[j] = n
            for code in range(n_codes):
                self.most[j] = max(self.most[j], counts[code])


cdef inline int code_at(const Column* column, int64_t i) noexcept nogil:
    """The i-th of a column's codes."""
    return (<const uint8_t*> column.codes)[i] if column.width == 1 else (<const uint16_t*> column.codes)[i]


cdef class _Open:
    """Columns that share a bundle, as far as it has come."""
    cdef readonly list members
    cdef readonly int64_t n_others, n_entries      # of all of them; the entry for all defaults, too
    cdef uint64_t[::1] taken                       # [n_rows / 64] a bit for each row in which one has no default

    def __init__(self, n_rows):
        self.members, self.n_entries = [], 1
        self.taken = np.zeros((n_rows + 63) // 64, np.uint64)

    cdef bint takes(self, const Column* column, const uint64_t[::1] bits):
        """Whether a column is exclusive of those that are here. bits : of the column; of a sparse one nobody looks at them"""
        cdef Py_ssize_t i
        if column.stored != NULL:
            for i in range(column.n_stored):
                if self.taken[column.stored[i] >> 6] >> (column.stored[i] & 63) & 1:
                    return False
            return True
        for i in range(self.taken.shape[0]):
            if self.taken[i] & bits[i]:
                return False
        return True

    cdef void add(self, Py_ssize_t j, const Column* column, const uint64_t[::1] bits, int64_t n_others, int64_t n_entries):
        cdef Py_ssize_t i
        self.members.append(j)
        self.n_others += n_others
        self.n_entries += n_entries
        if column.stored != NULL:
            for i in range(column.n_stored):
                self.taken[column.stored[i] >> 6] |= <uint64_t> 1 << (column.stored[i] & 63)
            return
        for i in range(self.taken.shape[0]):
            self.taken[i] |= bits[i]


cdef void find_others(const Column* column, Py_ssize_t n_rows, int64_t default, uint64_t[::1] bits) noexcept nogil:
    """The rows of a dense column that have another code than the default. OUT bits : one for each row"""
    cdef Py_ssize_t w, i, n
    cdef uint64_t word
    for w in range(bits.shape[0]):
        word = 0
        n = min(<Py_ssize_t> 64, n_rows - 64 * w)
        for i in range(n):
            word |= <uint64_t> (code_at(column, 64 * w + i) != default) << i
        bits[w] = word


def exclusive(ColumnFacts facts not None, columns, bint opens_all):
    """Find bundles for columns, of which those of most uncommon codes come first.

    Parameters
    ----------
    facts : ColumnFacts
    columns : sequence of int
    opens_all : bool
        Whether each column that joins no bundle begins one, even if that can't be worth its bytes.

    Returns
    -------
    bundles : list of _Open
    others : list of int
        Columns that have joined no bundle.
    """
    cdef DataView data = facts.data
    cdef uint64_t[::1] bits = np.zeros((data.n_rows + 63) // 64, np.uint64)
    cdef const Column* column
    cdef _Open bundle
    cdef Py_ssize_t j
    bundles, is_open, others = [], [], []
    for j in columns:
        check_signals()
        column = &data.columns[j]
        if column.stored == NULL:
            find_others(column, data.n_rows, facts.default[j], bits)
        for bundle in is_open:
            if bundle.n_entries + facts.n_codes[j] - 1 <= DF_BOOST_CODES and bundle.takes(column, bits):
                break
        else:
            if not opens_all and facts.n_others[j] * DF_BOOST_CODES * WORTH < data.n_rows:
                others.append(j)
                continue
            bundle = _Open(data.n_rows)
            bundles.append(bundle)
            is_open.append(bundle)
            if len(is_open) > MAX_OPEN:
                (<_Open> is_open.pop(0)).taken = None      # it takes as many bytes as a column
        bundle.add(j, column, bits, facts.n_others[j], facts.n_codes[j] - 1)
        if bundle.n_entries == DF_BOOST_CODES:
            is_open.remove(bundle)
    for bundle in bundles:
        bundle.taken = None
    return bundles, others


def choose_bundles(ColumnFacts facts not None, min_samples, may_share, may_list, packs):
    """Choose which columns share bundles, and which are in lists.

    Parameters
    ----------
    facts : ColumnFacts
    min_samples, may_share, may_list
        As of `Bundles`, the latter two as `bundles` and `lists` of its tuning.
    packs : bool
        Whether bundles share bytes.

    Returns
    -------
    together : list of list of int
        The columns of each bundle, ascending.
    listed : list of int
        Columns whose codes are in lists, ascending. If columns may share, those that can't have a cut are in neither.
    """
    cdef Py_ssize_t n_rows = facts.data.n_rows, j
    n_others = np.asarray(facts.n_others)
    is_dense = np.array([facts.data.columns[j].stored == NULL for j in range(facts.data.n_features)])
    is_wide = np.asarray(facts.is_wide, bool)
    wide = np.flatnonzero(is_wide).tolist()
    joins = (2 * n_others <= n_rows if may_share else ~is_dense) | is_wide
    order = np.flatnonzero(joins & ~is_wide & ((n_others >= min_samples) | (not may_share)))
    order = order[np.argsort(-n_others[order], kind="stable")].tolist()
    together = [[j] for j in np.flatnonzero(~joins).tolist()]
    if not may_share:
        return sorted(together + [[j] for j in order]), wide
    bundles, others = exclusive(facts, order, may_list is False)
    thin = [bundle for bundle in bundles if WORTH * bundle.n_others < n_rows]
    n_listed = sum(bundle.n_others for bundle in thin) + n_others[others].sum()
    n_thin = len(pack([bundle.n_entries for bundle in thin])) if packs else len(thin)
    n_thin += (np.asarray(facts.n_codes)[others] - 1).sum() / DF_BOOST_CODES
    if may_list or (may_list is None and n_thin * n_rows > LIST_COST * n_rows + LISTED_COST * n_listed):
        together += [bundle.members for bundle in bundles if WORTH * bundle.n_others >= n_rows]
        return sorted(map(sorted, together)), sorted(wide + others + [j for bundle in thin for j in bundle.members])
    together += [bundle.members for bundle in bundles + exclusive(facts, others, True)[0]]
    return sorted(map(sorted, together)), wide


def pack(radices):
    """Choose which bundles share a byte, given how many codes each has: list of lists of their numbers, ascending.

    Those of most codes are placed first, each in the byte that has least room left among those that have enough for it.
    """
    packed = []
    rooms = []                                     # (how many codes another digit may have, the place of its byte), ascending
    for b in sorted(range(len(radices)), key=lambda b: (-radices[b], b)):
        i = bisect_left(rooms, (radices[b], 0))
        if i == len(rooms):
            rooms.append((DF_BOOST_CODES, len(packed)))
            packed.append([])
        room, byte = rooms.pop(i)
        packed[byte].append(b)
        if room // radices[b] > 1:
            insort(rooms, (room // radices[b], byte))
    return sorted(map(sorted, packed))


def size_of_rows(n_rows, radices):
    """(bytes of a row's codes, entries of a histogram) of columns of which none are exclusive, given how many codes each has."""
    packed = pack(radices) if n_rows >= PACKED_ROWS else [[b] for b in range(len(radices))]
    return len(packed), sum(prod(radices[b] for b in byte) for byte in packed)


cdef inline int64_t first_from(const uint32_t* numbers, int64_t n, int64_t at, int64_t least) noexcept nogil:
    """The first place, from one on, of a number that is not below another. numbers : [n] ascending; most often it is near"""
    cdef int64_t step = 1, middle, end = at
    while end < n and numbers[end] < least:
        at = end + 1
        end += step
        step *= 2
    end = min(end, n)
    while at < end:
        middle = (at + end) // 2
        if numbers[middle] < least:
            at = middle + 1
        else:
            end = middle
    return at


@cython.final
cdef class Bundles:
    """Which columns share a bundle, and which have their codes in lists.

    Parameters
    ----------
    columns : sequence of CodedColumn
        Codes of one byte, by method hist.
    data : DataView
        Of these columns.
    min_samples : int
        Least number of rows of a leaf. Columns of fewer rows with another code than the default have no cuts, and no entries.
    n_threads : int
    n_changing : int, default=0
        How many of the last columns, of codes of one byte, are written anew again and again: each has a bundle of its own,
        without a default, whatever its codes are now.
    tuning : dict
        `bundles`: whether columns may share a bundle; `lists`: whether columns that are worth no bundle are in lists, or, by
        default, whether they are if that pays; `packed_rows`: from how many rows on bundles share bytes; `narrow_codes`: columns
        of more codes are wide; `packed_sum_rows`: the most rows that words stand for.

    Attributes
    ----------
    n_bundles : int
    n_entries : int
        Of a histogram.
    most : int
        Rows of the most frequent entry, but for those of bundles for rows with all defaults, which nobody reads.
    n_cells : int
        Codes that rows have, and four times the entries, which take longer.
    """

    def __cinit__(self, columns, DataView data not None, int64_t min_samples, int n_threads, dict tuning not None,
                  Py_ssize_t n_changing=0):
        cdef Py_ssize_t n = data.n_features, j
        cdef ColumnFacts facts = ColumnFacts(data, tuning.get("narrow_codes", DF_BOOST_CODES))
        self.data = data
        self.n_columns = n
        self.columns = <BundledColumn*> calloc(n, sizeof(BundledColumn))
        self.members = <int32_t*> malloc(n * sizeof(int32_t))
        if self.columns == NULL or self.members == NULL:
            raise MemoryError()

        def find(some, _):
            for j in range(some * COLUMNS_TOGETHER, min(n, (some + 1) * COLUMNS_TOGETHER)):
                facts.find(j, changes=j >= n - n_changing)

        each((n + COLUMNS_TOGETHER - 1) // COLUMNS_TOGETHER, find, n_threads)
        for j in range(n):
            self.columns[j].n_codes = <int32_t> data.columns[j].n_codes
            self.columns[j].has_missing = data.columns[j].has_missing
            self.columns[j].is_category = data.columns[j].kind == CATEGORICAL
            self.columns[j].bundle = self.columns[j].default = self.columns[j].wide = -1
            if facts.is_wide[j]:
                self.columns[j].wide = <int32_t> self.n_wide
                self.n_wide += 1
        may_share = tuning.get("bundles", True)
        packs = may_share and data.n_rows >= tuning.get("packed_rows", PACKED_ROWS)
        together, listed = choose_bundles(facts, min_samples, may_share, tuning.get("lists"), packs)
        together = self.lay_out(facts, together, listed, may_share, packs, tuning.get("packed_sum_rows", DF_SPILL), n_changing)
        self.write(columns, together, n_threads)
        if listed:
            self.write_lists(facts, listed)

    def __dealloc__(self):
        free(self.columns)
        free(self.members)
        free(self.members_from)
        free(self.first)
        free(self.digits_from)
        free(self.radix)
        free(self.list_from)
        free(self.listed)

    cdef lay_out(self, ColumnFacts facts, together, listed, bint may_share, bint packs, int64_t packed_sum_rows,
                 Py_ssize_t n_changing):
        """Give columns their entries. Returns the columns of each byte, ascending; those that change have the last bytes."""
        cdef Py_ssize_t item, m = 0, j, d = 0
        cdef int64_t entry = 0, origin, n_entries, digit_entries
        cdef BundledColumn* column
        # If no column has two codes of more rows than a word may have, words are enough once the more frequent one has no entry.
        saves_sums = may_share and np.max(facts.most) <= packed_sum_rows
        have_defaults = [
            len(members) > 1 or self.data.columns[<Py_ssize_t> members[0]].stored != NULL
            or saves_sums and self.data.n_rows - facts.n_others[<Py_ssize_t> members[0]] > packed_sum_rows
            for members in together
        ]
        n_codes = np.asarray(facts.n_codes)
        radices = [
            int(n_codes[members].sum()) - (len(members) - 1) * shares
            for members, shares in zip(together, have_defaults, strict=True)
        ]
        n_packed = len(together) - n_changing if packs else 0
        packed = pack(radices[:n_packed]) + [[b] for b in range(n_packed, len(together))]
        items = [[(together[b], have_defaults[b], radices[b]) for b in byte] for byte in packed]
        for first in range(0, len(listed), LISTED_TOGETHER):
            items.append([(listed[first : first + LISTED_TOGETHER], True, 0)])
        self.n_bundles, self.n_items = len(packed), len(items)
        self.first = <uint32_t*> malloc((self.n_items + 1) * sizeof(uint32_t))
        self.members_from = <int64_t*> malloc((self.n_items + 1) * sizeof(int64_t))
        self.digits_from = <int64_t*> malloc((self.n_items + 1) * sizeof(int64_t))
        self.radix = <int32_t*> malloc(sum(map(len, items)) * sizeof(int32_t) + 1)
        if self.first == NULL or self.members_from == NULL or self.digits_from == NULL or self.radix == NULL:
            raise MemoryError()
        for item, digits in enumerate(items):
            self.first[item] = <uint32_t> entry
            self.members_from[item] = m
            self.digits_from[item] = d
            n_entries, origin = 1, entry if len(digits) == 1 else 0
            for members, shares, radix in digits:
                digit_entries = shares and item < self.n_bundles
                for j in members:
                    column = &self.columns[j]
                    column.bundle = <int32_t> item if item < self.n_bundles else -1
                    column.default = <int32_t> facts.default[j] if shares else -1
                    column.step, column.radix = <int32_t> n_entries, <int32_t> radix
                    column.origin = <uint32_t> origin
                    column.first = <uint32_t> (origin + digit_entries)
                    digit_entries += facts.n_codes[j] - (column.default >= 0)
                    self.has_defaults |= column.default >= 0
                    self.most = max(self.most, facts.most[j])
                    if not shares:
                        self.most = max(self.most, self.data.n_rows - facts.n_others[j])
                self.radix[d] = <int32_t> digit_entries
                n_entries *= digit_entries
                origin += digit_entries
                d += 1
            for j in sorted(j for members, _, _ in digits for j in members):
                self.members[m] = <int32_t> j
                m += 1
            entry += n_entries
        if entry > <int64_t> 0xFFFFFFFF:
            raise ValueError(f"histograms of {entry} entries; allowed are up to {0xFFFFFFFF}")
        self.first[self.n_items] = <uint32_t> entry
        self.members_from[self.n_items] = m
        self.digits_from[self.n_items] = d
        self.n_entries = entry
        self.n_cells = self.data.n_rows * self.n_bundles + np.asarray(facts.n_others)[listed].sum() + 4 * entry
        return [sorted(j for members, _, _ in digits for j in members) for digits in items[: self.n_bundles]]

    cdef int write(self, columns, together, int n_threads) except -1:
        """Write the codes of bundles."""
        shared = [None] * self.n_bundles
        cdef Bundles own = self

        def write(b, _):
            members = together[b]
            j = members[0]
            if len(members) == 1 and own.columns[<Py_ssize_t> j].default < 0 and own.data.columns[<Py_ssize_t> j].width == 1:
                shared[b] = columns[members[0]]
                return
            codes = np.zeros(own.data.n_rows, np.uint8)
            for j in members:
                own.write_column(j, codes)
            values = np.zeros(own.first[<Py_ssize_t> b + 1] - own.first[<Py_ssize_t> b])
            shared[b] = CodedColumn(codes, values, values, values, False, 0)

        each(self.n_bundles, write, n_threads)
        if not shared:
            shared = [CodedColumn(np.zeros(self.data.n_rows, np.uint8), np.zeros(1), np.zeros(1), np.zeros(1), False, 0)]
        self.shared = self.data
        if self.has_defaults or self.n_bundles < self.n_columns or any(a is not b for a, b in zip(shared, columns)):
            self.shared = DataView(shared, np.zeros(self.data.n_rows, np.int32))
        self.shared.add_rows(n_threads)
        return 0

    cdef int write_column(self, Py_ssize_t j, uint8_t[::1] to) except -1:
        """Add the codes of a column to those of its byte."""
        cdef const Column* column = &self.data.columns[j]
        cdef uint8_t[DF_BOOST_CODES] of_code
        cdef Py_ssize_t i
        cdef int code
        with nogil:
            for code in range(self.columns[j].n_codes + self.columns[j].has_missing):
                of_code[code] = <uint8_t> ((entry_of(&self.columns[j], code) - self.columns[j].origin) * self.columns[j].step)
            if self.columns[j].default >= 0:
                of_code[self.columns[j].default] = 0
            if column.stored != NULL:
                for i in range(column.n_stored):
                    to[column.stored[i]] += of_code[code_at(column, i)]
            else:
                for i in range(self.data.n_rows):
                    to[i] += of_code[code_at(column, i)]
        return 0

    cdef int write_lists(self, ColumnFacts facts, listed) except -1:
        """Write the lists of rows."""
        cdef Py_ssize_t n_rows = self.data.n_rows, i, j, n
        cdef const Column* column
        cdef int64_t total = 0, here
        cdef int code
        cdef int64_t* at
        cdef bint writes
        self.list_from = at = <int64_t*> calloc(n_rows + 2, sizeof(int64_t))
        if at == NULL:
            raise MemoryError()
        at += 1                                    # at[i] is where row i's list ends, as far as it is written
        for writes in (False, True):
            if writes:
                for i in range(n_rows):
                    here = at[i]
                    at[i] = total
                    total += here
                self.listed = <uint32_t*> malloc((total + 1) * sizeof(uint32_t))
                if self.listed == NULL:
                    raise MemoryError(f"{4 * total} bytes for what rows have of columns with few values")
            for j in listed:
                check_signals()
                column = &self.data.columns[j]
                n = n_rows if column.stored == NULL else column.n_stored
                for i in range(n):
                    code = code_at(column, i)
                    if column.stored == NULL and code == facts.default[j]:
                        continue
                    here = i if column.stored == NULL else <int64_t> column.stored[i]
                    if writes:
                        self.listed[at[here]] = <uint32_t> entry_of(&self.columns[j], code)
                    at[here] += 1
        return 0

    cdef void by_shared_code(self, Py_ssize_t column, const uint8_t* by_code, uint8_t* by_shared) noexcept nogil:
        """What is said of each code of a column, by the code of its byte. IN by_code, OUT by_shared : [DF_BOOST_CODES]"""
        cdef const BundledColumn* own = &self.columns[column]
        cdef int code, digit, first, n_codes
        n_codes = 0 if own.bundle < 0 else <int> (self.first[own.bundle + 1] - self.first[own.bundle])
        if own.bundle < 0 or (own.default < 0 and own.radix == n_codes):
            memcpy(by_shared, by_code, DF_BOOST_CODES)
            return
        memset(by_shared, by_code[max(own.default, 0)], DF_BOOST_CODES)
        for code in range(own.n_codes + own.has_missing):
            if code != own.default:
                digit = <int> (entry_of(own, code) - own.origin)
                memset(by_shared + digit * own.step, by_code[code], own.step)
        first = own.step * own.radix
        for code in range(1, n_codes // first):    # codes with other digits behind repeat the first ones
            memcpy(by_shared + code * first, by_shared, first)

    cdef int64_t divide(self, Py_ssize_t column, const uint32_t* rows, int64_t first, int64_t n, const uint8_t* by_code,
                        const uint8_t* by_shared, uint32_t* left, uint32_t* end) noexcept nogil:
        """Divide rows, which ascend, by the codes of a column: see df_boost_divide_loop.

        IN by_code, by_shared : whether each code goes left
        """
        cdef const Column* own = &self.data.columns[column]
        cdef int32_t bundle = self.columns[column].bundle
        cdef int64_t i, row, n_left = 0, at = 0
        if own.stored == NULL and own.width == 1:
            return loops.boost.divide(rows, first, n, <const uint8_t*> own.codes, by_code, left, end)
        if bundle >= 0:
            return loops.boost.divide(rows, first, n, <const uint8_t*> self.shared.columns[bundle].codes, by_shared, left, end)
        for i in range(n):
            row = first + i if rows == NULL else <int64_t> rows[i]
            left[n_left] = <uint32_t> row
            (end - 1 - (i - n_left))[0] = <uint32_t> row
            if own.stored == NULL:
                n_left += by_code[code_at(own, row)]
                continue
            at = first_from(own.stored, own.n_stored, at, row)
            n_left += by_code[code_at(own, at) if at < own.n_stored and own.stored[at] == row else <int> own.implied]
        return n_left

    cdef int listed_code(self, Py_ssize_t column, int64_t row) noexcept nogil:
        """The code that a row has of a column whose codes are in lists."""
        cdef const BundledColumn* own = &self.columns[column]
        cdef int64_t begin = self.list_from[row], end = self.list_from[row + 1], middle, code
        while begin < end:                         # the first entry that is not below the column's
            middle = (begin + end) // 2
            if self.listed[middle] < own.first:
                begin = middle + 1
            else:
                end = middle
        code = self.listed[begin] - own.first if begin < self.list_from[row + 1] else -1
        if own.default < 0:                        # each row has an entry
            return <int> code
        if code < 0 or code >= own.n_codes + own.has_missing - 1:
            return own.default
        return <int> (code + (code >= own.default))
