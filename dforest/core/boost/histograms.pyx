"""Histograms of gradients of the nodes of a tree.

A histogram has one of two *forms*, words or sums: see histogram.h. A *slot* is memory for a histogram; a node
has one from when its rows are added up until it is known that it is not split, or both of its children have theirs. A *part* is
memory for what some of a node's rows add up to, as threads share a large node's rows.

The entries of a histogram come in *items*, of bundles and of columns whose codes are in lists (`bundles.pyx`). Columns have
entries for each of their codes, or for all but one, the default. Where leaves have a value for each of several *outputs*, a
histogram is one of each output, one after another.

A `Histograms` serves one grower, and owns slots, parts and the rooms of wide columns. Slots that no node has are kept for other
nodes.
"""
cimport cython
from libc.stdint cimport uint16_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from dforest.core.boost.bundles cimport BundledColumn
from dforest.core.loops cimport (
    DF_BOOST_CODES, DF_BOOST_TILE, DF_OUTPUT_NUMBERS, DF_ROOM_NUMBERS, DF_SUBSET_WORDS, df_boost_arrays, df_boost_constraint,
    df_boost_cut_in, df_boost_find, df_boost_outputs_at, df_boost_room_at, df_boost_subset_in, df_boost_sums_on_left,
    df_boost_write_subset, df_whole_lanes, loops,
)
from dforest.core.tree.buffers cimport DF_RED_ZONE, ensure_room
from dforest.rules.boost cimport (
    DF_SPILL, DF_WEIGHTED_SPILL, DF_WIDE_WORDS, df_gain_of_score, df_packed_sums, df_sums_of,
)
from dforest.rules.preferences cimport df_counted_gain
from dforest.rules.random cimport DF_THRESHOLD, df_below, df_feature_key, df_stream, df_stream_open

cdef extern from "core/red_zones.h" nogil:
    void df_close_array(void* end, int size)


cdef inline df_boost_entries entries_at(const df_boost_entries* entries, uint32_t entry) noexcept nogil:
    """Entries from one on."""
    cdef df_boost_entries own
    own.words = entries.words + entry if entries.words != NULL else NULL
    own.sums = NULL
    own.g, own.h, own.n = entries.g + entry, entries.h + entry, entries.n + entry
    return own


cdef inline df_boost_arrays arrays_at(void* memory, Py_ssize_t n) noexcept nogil:
    """Three arrays of n integers, one after another."""
    cdef df_boost_arrays arrays
    arrays.g = <int64_t*> memory
    arrays.h, arrays.n = arrays.g + n, arrays.g + 2 * n
    return arrays


cdef df_boost_sums sums_of_entry(int kind, const df_boost_entries* entries, int i) noexcept nogil:
    """What an entry of a histogram holds."""
    if entries.words != NULL:
        return df_sums_of(kind, entries.words[i], 0)
    return df_boost_sums(entries.g[i], entries.h[i], entries.n[i])


cdef double counted(const Search* search, const df_boost_cut* cut, bint has_outputs) noexcept nogil:
    """What a cut of a column counts for among others of its node."""
    cdef double gain = cut.score
    if not has_outputs:
        gain = df_gain_of_score(search.limits, search.monotonic_csts != NULL, gain, <double> cut.gradient, <double> cut.hessian)
    return df_counted_gain(gain, search.factors[cut.feature], search.costs[cut.feature])


@cython.final
cdef class Histograms:
    """Memory for histograms, and how it is filled.

    Parameters
    ----------
    bundles : Bundles
    kind : int
        How gradients and Hessians are packed into words, a `df_packing` of boost.h: that of the first tree, and of the longest
        words that other trees may have.
    n_parts : int
        Into how many parts the rows of a node are divided, at most.
    times : ndarray of shape (n_rows,), dtype uint32, or None
        Integer weights. None: all are 1.
    tuning : dict
        `packed_sum_rows`: the most rows that words stand for.
    n_outputs : int
    plane : int
        The quantised gradients of an output are so many behind those of the output before.
    """

    def __cinit__(self, Bundles bundles not None, int kind, int n_parts, const uint32_t[::1] times, dict tuning not None,
                  Py_ssize_t n_outputs, int64_t plane):
        cdef Py_ssize_t j, k
        self.n_outputs = n_outputs
        self.plane = plane
        self.bundles = bundles
        if times is not None:
            self.times = &times[0]
            self.times_owner = times
        self.packed_sum_rows = min(<int64_t> DF_SPILL if times is None else <int64_t> DF_WEIGHTED_SPILL,
                                   tuning.get("packed_sum_rows", DF_SPILL))
        self.use(kind)
        self.max_width = self.width
        self.n_items, self.n_entries, self.first = bundles.n_items, bundles.n_entries, bundles.first
        self.n_parts = n_parts
        self.make_rooms()
        self.parts = <uint64_t**> calloc(n_parts, sizeof(uint64_t*))
        if self.parts == NULL:
            raise MemoryError()
        for j in range(n_parts):
            self.parts[j] = <uint64_t*> malloc(n_outputs * self.part_numbers() * sizeof(uint64_t) + 1)
            if self.parts[j] == NULL:
                raise MemoryError(f"{n_parts} times {n_outputs * self.part_numbers() * 8} bytes for histograms")
            for k in range(n_outputs):
                df_close_array(self.words_of_part(j, k) + self.max_width * self.n_entries, sizeof(uint64_t))
                df_close_array(self.sums_of_part(j, k) + 3 * self.n_entries, sizeof(uint64_t))

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.n_slots):
            free(self.slots[i])
        if self.parts != NULL:
            for i in range(self.n_parts):
                free(self.parts[i])
        if self.rooms != NULL:
            for i in range(2 * self.bundles.n_wide):
                free(self.rooms[i].room.scores)
        free(self.rooms)
        free(self.slots)
        free(self.parts)
        free(self.slot_widths)
        free(self.unused)

    cdef int make_rooms(self) except -1:
        """Have room for the cuts of wide columns, in one piece of memory each, which begins with scores."""
        cdef Py_ssize_t which, j, n, step, n_arrays, k
        cdef const BundledColumn* column
        cdef WideRoom* wide
        cdef double* memory
        if self.bundles.n_wide == 0:
            return 0
        self.rooms = <WideRoom*> calloc(2 * self.bundles.n_wide, sizeof(WideRoom))
        if self.rooms == NULL:
            raise MemoryError()
        for j in range(self.bundles.n_columns):
            column = &self.bundles.columns[j]
            for which in range(2 if column.wide >= 0 else 0):
                wide = &self.rooms[which * self.bundles.n_wide + column.wide]
                n = df_whole_lanes(column.n_codes + column.has_missing)
                wide.n_words = <int> (n + 63) // 64
                step = n + DF_RED_ZONE
                n_arrays = DF_ROOM_NUMBERS + 3 + DF_OUTPUT_NUMBERS * (self.n_outputs > 1)
                memory = <double*> malloc((n_arrays * step + wide.n_words + DF_RED_ZONE) * sizeof(double))
                if memory == NULL:
                    raise MemoryError()
                wide.room = df_boost_room_at(memory, <int> step)
                wide.unpacked = arrays_at(memory + DF_ROOM_NUMBERS * step, step)
                if self.n_outputs > 1:
                    wide.outputs = df_boost_outputs_at(memory + (DF_ROOM_NUMBERS + 3) * step, <int> step)
                wide.left = <uint64_t*> (memory + n_arrays * step)
                for k in range(n_arrays):
                    if k != DF_ROOM_NUMBERS - 1:       # where the two arrays of short numbers are
                        df_close_array(memory + k * step + n, sizeof(double))
                df_close_array(wide.room.order + n, sizeof(uint16_t))
                df_close_array(wide.room.spare + n, sizeof(uint16_t))
                df_close_array(wide.left + wide.n_words, sizeof(uint64_t))
        return 0

    cdef void use(self, int kind) noexcept nogil:
        """Have words of a kind from here on, while no node has a slot. With times, rows have as many bits as by that kind."""
        self.fill_kind = kind
        self.kind = kind if self.times == NULL else <int> DF_WIDE_WORDS
        self.width = 2 if self.kind == DF_WIDE_WORDS else 1

    cdef int32_t take_slot(self, bint has_packed_sums) except -1 nogil:
        """The number of a slot, for a node to have whose histogram has words, or has sums."""
        cdef Py_ssize_t number = self.n_slots
        cdef int32_t width = 1 if has_packed_sums else 3
        cdef size_t size = self.n_outputs * (width * self.n_entries + DF_RED_ZONE) * sizeof(uint64_t) + 1
        cdef Py_ssize_t k
        if self.n_unused > 0:
            self.n_unused -= 1
            number = self.unused[self.n_unused]
        else:
            ensure_room(<void**> &self.slots, &self.slot_room, number + 1, sizeof(uint64_t*))
            ensure_room(<void**> &self.slot_widths, &self.width_room, number + 1, sizeof(int32_t))
            ensure_room(<void**> &self.unused, &self.unused_room, number + 1, sizeof(int32_t))
            self.slots[number] = NULL
            self.slot_widths[number] = 0
            self.n_slots += 1
        if self.slot_widths[number] < width or (DF_RED_ZONE > 0 and self.slot_widths[number] > width):
            free(self.slots[number])
            self.slots[number] = <uint64_t*> malloc(size)
            self.slot_widths[number] = width if self.slots[number] != NULL else 0
            if self.slots[number] == NULL:
                with gil:
                    raise MemoryError(f"{size} bytes for the histogram of a node, beside {self.n_slots - 1} others")
            for k in range(self.n_outputs):
                df_close_array(self.of_slot(<int32_t> number, k) + width * self.n_entries, sizeof(uint64_t))
        return <int32_t> number

    cdef void leave(self, int32_t* slot) noexcept nogil:
        """Have a node's slot free for others, if it has one. INOUT slot : its number; -1: the node has none"""
        if slot[0] >= 0:
            self.unused[self.n_unused] = slot[0]
            self.n_unused += 1
            slot[0] = -1

    cdef bint fits_packed_sums(self, int64_t n, int64_t most) noexcept nogil:
        """Whether words are enough for a histogram of n rows, of which at most `most` have one entry."""
        return self.kind != DF_WIDE_WORDS and min(n, most) <= self.packed_sum_rows

    cdef void add_rows(self, Py_ssize_t item, Py_ssize_t last, const uint32_t* rows, int64_t first, int64_t n,
                       const int32_t* quantised, uint64_t* words, uint64_t* sums) noexcept nogil:
        """Add up n rows in items from `item` to `last` - 1: into words, and these into sums if they are not NULL.

        A tile of bundles comes after another. Entries of other items are not looked at. Items of lists are filled together, all
        that there are.

        IN rows : [n] their numbers; NULL: they are numbered from `first`
        OUT words : [n_entries, width]; cleared if sums are wanted
        OUT sums : [3, n_entries]
        """
        cdef Py_ssize_t end, at, n_at, n_entries = self.n_entries
        cdef int64_t i, m
        cdef int k
        while item < last:
            end = last
            if item < self.bundles.n_bundles:
                end = min(item + DF_BOOST_TILE, min(last, self.bundles.n_bundles))
            at = self.first[item]
            n_at = self.first[end] - at
            memset(words + self.width * at, 0, self.width * n_at * sizeof(uint64_t))
            if sums != NULL:
                for k in range(3):
                    memset(sums + k * n_entries + at, 0, n_at * sizeof(uint64_t))
            i = 0
            while i < n:
                m = n - i if sums == NULL else min(max(<int64_t> 1, self.packed_sum_rows), n - i)
                self.fill_items(item, end, rows + i if rows != NULL else NULL, first + i, m, quantised, words)
                if sums != NULL:
                    loops.boost.spill[self.kind](words + self.width * at, n_at, <int64_t*> sums + at,
                                                 <int64_t*> sums + n_entries + at, <int64_t*> sums + 2 * n_entries + at)
                i += m
            item = end

    cdef void fill_items(self, Py_ssize_t item, Py_ssize_t last, const uint32_t* rows, int64_t first, int64_t n,
                         const int32_t* quantised, uint64_t* words) noexcept nogil:
        """Add n rows to the words of bundles from `item` to `last` - 1, or of all that is in lists."""
        if item >= self.bundles.n_bundles:
            (loops.boost.fill_lists[self.fill_kind] if self.times == NULL else loops.boost.fill_lists_times[self.fill_kind])(
                self.bundles.list_from, self.bundles.listed, quantised, self.times, rows, first, n, words)
            return
        (loops.boost.fill[self.fill_kind] if self.times == NULL else loops.boost.fill_times[self.fill_kind])(
            self.bundles.shared.rows.codes, self.bundles.shared.rows.stride, quantised, self.times, rows, first, n, self.first,
            <int> item, <int> last, words)

    cdef void fill_part(self, int part, int n_parts, const uint32_t* rows, int64_t first, int64_t n, const int32_t* quantised,
                        bint has_packed_sums) noexcept nogil:
        """Add up a part of n rows, one of several, into the part's memory."""
        cdef int64_t begin = n * part // n_parts, end = n * (part + 1) // n_parts
        cdef Py_ssize_t k
        cdef uint64_t* words
        for k in range(self.n_outputs):
            words = self.words_of_part(part, k)
            self.add_rows(0, self.n_items, rows + begin if rows != NULL else NULL, first + begin, end - begin,
                          quantised + k * self.plane, words, NULL if has_packed_sums else self.sums_of_part(part, k))

    cdef Py_ssize_t part_numbers(self) noexcept nogil:
        """How many numbers a part has for an output: words, and sums behind."""
        return (self.max_width + 3) * self.n_entries + 2 * DF_RED_ZONE

    cdef uint64_t* words_of_part(self, int part, Py_ssize_t output) noexcept nogil:
        """Memory of a part for the words of an output."""
        return self.parts[part] + output * self.part_numbers()

    cdef uint64_t* sums_of_part(self, int part, Py_ssize_t output) noexcept nogil:
        """Memory of a part for the sums of an output."""
        return self.words_of_part(part, output) + self.max_width * self.n_entries + DF_RED_ZONE

    cdef void fill_slot(self, Py_ssize_t item, Py_ssize_t last, const uint32_t* rows, int64_t first, int64_t n,
                        const int32_t* quantised, int32_t slot, bint has_packed_sums) noexcept nogil:
        """Add up n rows in some items, into the slot."""
        cdef Py_ssize_t k
        cdef uint64_t* to
        for k in range(self.n_outputs):
            to = self.of_slot(slot, k)
            self.add_rows(item, last, rows, first, n, quantised + k * self.plane, to if has_packed_sums else self.parts[0],
                          NULL if has_packed_sums else to)

    cdef uint64_t* of_slot(self, int32_t slot, Py_ssize_t output) noexcept nogil:
        """The histogram of an output in a slot, which has room for sums of each output, or for words alone."""
        return self.slots[slot] + output * (self.slot_widths[slot] * self.n_entries + DF_RED_ZONE)

    cdef void join_parts(self, Py_ssize_t item, int n_parts, int32_t slot, bint has_packed_sums) noexcept nogil:
        """Have the entries of an item in a slot, when all parts are filled."""
        cdef Py_ssize_t begin, end, i, _, part, k
        cdef uint64_t* to
        cdef const uint64_t* words
        for k in range(self.n_outputs):
            to = self.of_slot(slot, k)
            begin, end = self.first[item], self.first[item + 1]
            for _ in range(1 if has_packed_sums else 3):
                for part in range(n_parts):
                    words = self.words_of_part(part, k) if has_packed_sums else self.sums_of_part(part, k)
                    for i in range(begin, end):
                        to[i] = words[i] + (to[i] if part > 0 else 0)
                begin += self.n_entries
                end += self.n_entries

    cdef void subtract(self, Py_ssize_t item, int32_t slot, int32_t other, bint had_packed_sums,
                       bint has_packed_sums) noexcept nogil:
        """Have the entries of an item for a large child in the slot of its parent, given the small child's slot `other`.

        IN had_packed_sums, has_packed_sums : the forms of the parent's histogram, and of both children's
        """
        cdef Py_ssize_t begin, end, n = self.n_entries, i, _, k
        cdef uint64_t* to
        cdef const uint64_t* less
        for k in range(self.n_outputs):
            to, less = self.of_slot(slot, k), self.of_slot(other, k)
            begin, end = self.first[item], self.first[item + 1]
            if has_packed_sums and not had_packed_sums:
                for i in range(begin, end):    # a word takes the place of a sum that is not needed any more
                    to[i] = df_packed_sums(self.kind, <int64_t> to[i], <int64_t> to[n + i], <int64_t> to[2 * n + i]) - less[i]
                continue
            for _ in range(1 if has_packed_sums else 3):
                for i in range(begin, end):
                    to[i] -= less[i]
                begin += n
                end += n

    cdef df_boost_entries entries_of(self, int32_t slot, Py_ssize_t output, bint has_packed_sums) noexcept nogil:
        """All entries of an output in a slot."""
        cdef const uint64_t* words = self.of_slot(slot, output)
        cdef const int64_t* sums = <const int64_t*> words
        cdef df_boost_entries entries
        entries.words = words if has_packed_sums else NULL
        entries.sums = NULL
        entries.g, entries.h, entries.n = sums, sums + self.n_entries, sums + 2 * self.n_entries
        return entries

    cdef df_boost_sums total(self, const uint32_t* rows, int64_t first, int64_t n, const int32_t* quantised) noexcept nogil:
        """What n rows add up to, of one output. rows : [n] their numbers; NULL: they are numbered from `first`"""
        return (loops.boost.total[self.fill_kind] if self.times == NULL else loops.boost.total_times[self.fill_kind])(
            quantised, self.times, rows, first, n)

    cdef void find_cut(self, Py_ssize_t item, const Search* search, df_boost_cut* best) noexcept nogil:
        """The best cut of an item's columns that are tried, of equal ones that of the first column.

        OUT best : `feature` is -1 if no column is tried; `most` are rows of the item's most frequent entry, if all are tried
        """
        cdef df_boost_entries entries = self.entries_of(search.slot, 0, search.has_packed_sums)
        if self.bundles.digits_from[item + 1] - self.bundles.digits_from[item] > 1:
            entries = entries_at(&entries, self.first[item])
            self.find_cut_of_digits(item, &entries, search, best)
            return
        self.choose_column(item, &entries, search, best)

    cdef void find_cut_of_digits(self, Py_ssize_t item, const df_boost_entries* own, const Search* search,
                                 df_boost_cut* best) noexcept nogil:
        """The best cut of the columns that share a byte.

        IN own : the entries of the byte; those of its digits are made of these, and kept until the cut is found
        """
        cdef df_boost_entries entries
        cdef int n = <int> (self.first[item + 1] - self.first[item])
        cdef int n_digits = <int> (self.bundles.digits_from[item + 1] - self.bundles.digits_from[item]), i, k
        cdef const int32_t* radix = self.bundles.radix + self.bundles.digits_from[item]
        cdef int64_t[3 * DF_BOOST_CODES] scratch
        cdef int64_t[3 * DF_BOOST_CODES] digits
        cdef df_boost_sums sums
        cdef int64_t most
        loops.boost.count(own, n, &most)
        entries.words = entries.sums = NULL
        entries.g, entries.h, entries.n = digits, digits + DF_BOOST_CODES, digits + 2 * DF_BOOST_CODES
        if own.words != NULL and search.n_rows <= DF_SPILL:            # words are enough for any entry of a digit
            memcpy(scratch, own.words, n * sizeof(int64_t))
            loops.boost.add_digits(scratch, radix, n_digits, digits)
            entries.words = <const uint64_t*> digits
        else:
            for i in range(n):
                if own.words != NULL:
                    sums = df_sums_of(self.kind, own.words[i], 0)
                else:
                    sums.gradient, sums.hessian, sums.count = own.g[i], own.h[i], own.n[i]
                scratch[i], scratch[DF_BOOST_CODES + i], scratch[2 * DF_BOOST_CODES + i] = sums.gradient, sums.hessian, sums.count
            for k in range(3):
                loops.boost.add_digits(scratch + k * DF_BOOST_CODES, radix, n_digits, digits + k * DF_BOOST_CODES)
        self.choose_column(item, &entries, search, best)
        best.most = most

    cdef void choose_column(self, Py_ssize_t item, const df_boost_entries* entries, const Search* search,
                            df_boost_cut* best) noexcept nogil:
        """Find the cut of each column of an item, and take the best. entries : of all columns, of the first output"""
        cdef const BundledColumn* column
        cdef int64_t[3 * DF_BOOST_CODES] memory
        cdef df_boost_arrays unpacked = arrays_at(memory, DF_BOOST_CODES)
        cdef df_boost_entries own
        cdef WideRoom* wide = NULL
        cdef df_boost_constraint constraint
        cdef df_boost_cut cut
        cdef const df_boost_constraint* constrained = NULL if search.monotonic_csts == NULL else &constraint
        cdef int64_t most = 0, here = 0, n_others = 0
        cdef double best_counts = 0.0, here_counts
        cdef int n_codes
        cdef df_boost_find find
        cdef Py_ssize_t m
        cdef int32_t j
        best.feature = -1
        for m in range(self.bundles.members_from[item], self.bundles.members_from[item + 1]):
            j = self.bundles.members[m]
            if not search.tried[j]:
                continue
            column = &self.bundles.columns[j]
            own = entries_at(entries, column.first)
            unpacked = arrays_at(memory, DF_BOOST_CODES)
            if search.monotonic_csts != NULL:
                constraint.bounds = search.bounds[0]
                constraint.monotonic_cst = search.monotonic_csts[j]
            n_codes = column.n_codes + column.has_missing
            if column.default >= 0:
                n_others = loops.boost.count(&own, n_codes - 1, &here)
            if column.default >= 0 and n_others < search.limits.min_samples:
                memset(&cut, 0, sizeof(cut))
                cut.score = -1.0                   # no cut leaves rows enough on the side that lacks the default
                cut.gradient, cut.hessian, cut.n = search.totals.gradient, search.totals.hessian, search.totals.count
            elif self.n_outputs > 1:
                self.find_cut_of_outputs(column, search, &cut)
            elif (search.is_random or search.forced_code >= 0) and not column.is_category:
                if column.wide >= 0:
                    unpacked = search.rooms[column.wide].unpacked
                if column.default >= 0:
                    self.unpack(column, search.totals, &own, &unpacked)
                self.try_one(column, &own, search, constrained, &cut)
            elif (column.default >= 0 and own.words != NULL and n_others <= DF_SPILL and not column.is_category
                    and column.default < column.n_codes and column.wide < 0):
                loops.boost.cut_beside_default[self.kind](own.words, column.n_codes, column.has_missing, column.default, n_others,
                                                          search.totals[0], search.limits, constrained, &cut)
            else:
                if column.wide >= 0:
                    wide = &search.rooms[column.wide]
                if column.default >= 0:
                    self.unpack(column, search.totals, &own, &unpacked if column.wide < 0 else &wide.unpacked)
                if column.wide >= 0 and column.is_category:
                    df_boost_subset_in(self.kind, &own, column.n_codes, column.has_missing, search.limits, constrained,
                                       &wide.room, wide.left, wide.n_words, &cut)
                elif column.wide >= 0:
                    df_boost_cut_in(self.kind, &own, column.n_codes, column.has_missing, search.limits, constrained,
                                    &wide.room, &cut)
                else:
                    find = loops.boost.subset[self.kind] if column.is_category else loops.boost.cut[self.kind]
                    find(&own, column.n_codes, column.has_missing, search.limits, constrained, &cut)
            if column.default >= 0:
                cut.most = here                    # the default has no entry, by however many outputs
            most = max(most, cut.most)
            cut.feature = j
            if search.factors == NULL:
                here_counts = cut.score
            else:
                here_counts = counted(search, &cut, self.n_outputs > 1)
            if best.feature < 0 or here_counts > best_counts:  # columns ascend
                best[0] = cut
                best_counts = here_counts
        best.most = most

    cdef int code_to_try(self, const df_boost_entries* entries, const BundledColumn* column, const Search* search) noexcept nogil:
        """The code that the one cut of a column of numbers is after: forced, or drawn from those that parts of the rows have."""
        cdef df_stream stream
        cdef int first = -1, last = 0, code
        if search.forced_code >= 0:
            return search.forced_code
        for code in range(column.n_codes):
            if sums_of_entry(self.kind, entries, code).count > 0:
                first = code if first < 0 else first
                last = code
        if first < 0 or last <= first:
            return last
        df_stream_open(&stream, search.seed, df_feature_key(search.node_key, column - self.bundles.columns), DF_THRESHOLD)
        return first + <int> df_below(&stream, <uint32_t> (last - first))

    cdef df_boost_entries halved(self, const df_boost_entries* entries, const BundledColumn* column, int code, int missing,
                                 int64_t* numbers) noexcept nogil:
        """The entries of a column as those of two codes: that up to `code`, 0, and that of the others, 1.

        IN missing : the one that missing values are with; 2: they are one of their own
        OUT numbers : [3 * DF_BOOST_CODES] where they are; those behind the entries are 0
        """
        cdef df_boost_entries halves
        cdef df_boost_sums own
        cdef int i, half
        memset(numbers, 0, 3 * DF_BOOST_CODES * sizeof(int64_t))
        for i in range(column.n_codes + column.has_missing):
            own = sums_of_entry(self.kind, entries, i)
            half = missing if i == column.n_codes else i > code
            numbers[half] += own.gradient
            numbers[DF_BOOST_CODES + half] += own.hessian
            numbers[2 * DF_BOOST_CODES + half] += own.count
        halves.words = NULL
        halves.sums = NULL
        halves.g, halves.h, halves.n = numbers, numbers + DF_BOOST_CODES, numbers + 2 * DF_BOOST_CODES
        return halves

    cdef void try_one(self, const BundledColumn* column, const df_boost_entries* entries, const Search* search,
                      const df_boost_constraint* constraint, df_boost_cut* cut) noexcept nogil:
        """Try one cut of a column of numbers, with missing values on the right, and on the left. IN entries : of all codes"""
        cdef int64_t[3 * DF_BOOST_CODES] numbers
        cdef int code = self.code_to_try(entries, column, search)
        cdef df_boost_entries halves = self.halved(entries, column, code, 1, numbers)
        cdef df_boost_cut other
        cdef int64_t most
        loops.boost.cut[self.kind](&halves, 2, False, search.limits, constraint, cut)
        if column.has_missing and sums_of_entry(self.kind, entries, column.n_codes).count > 0:
            cut.missing_left = False
            halves = self.halved(entries, column, code, 0, numbers)
            loops.boost.cut[self.kind](&halves, 2, False, search.limits, constraint, &other)
            if other.score > cut.score:
                cut[0] = other
                cut.missing_left = True
        loops.boost.count(entries, column.n_codes + column.has_missing, &most)
        cut.most = most
        cut.code = code

    cdef void unpack(self, const BundledColumn* column, const df_boost_sums* total, df_boost_entries* entries,
                     const df_boost_arrays* unpacked) noexcept nogil:
        """Have the entries of all codes of a column that has a default. INOUT entries; OUT unpacked : they are there then"""
        loops.boost.unpack[self.kind](entries, column.n_codes + column.has_missing, column.default, total[0], unpacked)
        entries.words = NULL
        entries.g, entries.h, entries.n = unpacked.g, unpacked.h, unpacked.n

    cdef df_boost_entries entries_of_column(self, const BundledColumn* column, const Search* search, Py_ssize_t output,
                                            const df_boost_arrays* unpacked) noexcept nogil:
        """The entries of all codes of a column in an output. OUT unpacked : where they are, if the column has a default"""
        cdef df_boost_entries entries = self.entries_of(search.slot, output, search.has_packed_sums)
        entries = entries_at(&entries, column.first)
        if column.default >= 0:
            self.unpack(column, search.totals + output, &entries, unpacked)
        return entries

    cdef void find_cut_of_outputs(self, const BundledColumn* column, const Search* search, df_boost_cut* cut) noexcept nogil:
        """The best cut of a column by all outputs together; its score is its gain."""
        # Arrays of their own, so that sanitizers know where they end.
        cdef int64_t[DF_BOOST_CODES] g, h, counts, of_g, of_h, of_n, of_cuts
        cdef double[DF_BOOST_CODES] scores, keys, right, left
        cdef uint64_t[DF_BOOST_CODES] words
        cdef uint16_t[DF_BOOST_CODES] places, spare
        cdef WideRoom own
        cdef WideRoom* wide = &own
        cdef df_boost_entries entries
        cdef const uint16_t* order = NULL
        cdef int n_codes = column.n_codes + column.has_missing, n = column.n_codes
        cdef df_boost_constraint constraint
        cdef double spread, highest = -1.0
        cdef Py_ssize_t k, widest = 0
        if column.wide >= 0:
            wide = &search.rooms[column.wide]
        else:
            own.room.first.g, own.room.first.h, own.room.first.n = g, h, counts
            own.room.scores, own.room.keys, own.room.words, own.room.order, own.room.spare = scores, keys, words, places, spare
            own.unpacked.g, own.unpacked.h, own.unpacked.n = of_g, of_h, of_n
            own.outputs.right, own.outputs.left, own.outputs.count = right, left, of_cuts
            own.left, own.n_words = cut.left, DF_SUBSET_WORDS
        cdef int64_t[3 * DF_BOOST_CODES] numbers
        cdef int code = -1, n_here = column.n_codes
        cdef int64_t most = 0
        if column.is_category:
            for k in range(self.n_outputs):
                entries = self.entries_of_column(column, search, k, &wide.unpacked)
                spread = search.units[k] * loops.boost.spread[self.kind](&entries, n_codes, &search.limits[k])
                if spread > highest:
                    highest = spread
                    widest = k
            entries = self.entries_of_column(column, search, widest, &wide.unpacked)
            n = loops.boost.order[self.kind](&entries, n_codes, &search.limits[widest], &wide.room)
            order = wide.room.order
        for k in range(self.n_outputs):
            entries = self.entries_of_column(column, search, k, &wide.unpacked)
            if (search.is_random or search.forced_code >= 0) and not column.is_category:
                if k == 0:
                    code = self.code_to_try(&entries, column, search)
                    loops.boost.count(&entries, n_codes, &most)
                    n = n_here = 2
                entries = self.halved(&entries, column, code, 2, numbers)
            if search.monotonic_csts != NULL:
                constraint.bounds = search.bounds[k]
                constraint.monotonic_cst = search.monotonic_csts[column - self.bundles.columns]
            loops.boost.add_output[self.kind](&entries, n_here, column.has_missing, order, n, search.limits + k,
                                              &constraint if search.monotonic_csts != NULL else NULL, search.units[k], k == 0,
                                              &wide.room, &wide.outputs)
        loops.boost.choose_of_outputs(&wide.outputs, n if code < 0 else 1, cut)
        if code >= 0:
            cut.most = most
            cut.code = code
        if column.is_category:
            df_boost_write_subset(order, n, column.n_codes, wide.left, wide.n_words, cut)

    cdef df_boost_sums sums_on_left(self, const df_boost_cut* cut, const Search* search, Py_ssize_t output,
                                    df_boost_sums* total) noexcept nogil:
        """What a cut of numbers that was found sends to the left, of an output. OUT total : what the node has"""
        cdef const BundledColumn* column = &self.bundles.columns[cut.feature]
        cdef int64_t[3 * DF_BOOST_CODES] memory
        cdef df_boost_arrays unpacked = arrays_at(memory, DF_BOOST_CODES)
        if column.wide >= 0:
            unpacked = search.rooms[column.wide].unpacked
        cdef df_boost_entries entries = self.entries_of_column(column, search, output, &unpacked)
        return df_boost_sums_on_left(self.kind, &entries, column.n_codes, column.has_missing, cut, total)
