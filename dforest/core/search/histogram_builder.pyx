"""Cut lists of whole columns, by counting or sorting, and of sparse ones by what is stored: see histogram_builder.pxd.

A `HistogramBuilder`, a `Sorter` and a `Stored` belong to one thread, and own their scratch, which the lists that a builder makes
borrow; `CutList.sorted` leads to that of the sorter. The arrays of lists that a `Stored` fills are a builder's.
"""
cimport cython
from libc.stdint cimport int32_t, uint16_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from dforest.core.codes cimport gather_sort_keys
from dforest.core.loops cimport loops
from dforest.core.search.criterion cimport add_record
from dforest.core.search.cut_list cimport CLASSES, CLASS_COUNTERS, PACKED_SUMS, RECORDS, RUN, SUMS
from dforest.core.search.histogram cimport complete
from dforest.core.search.sums cimport df_copy_words
from dforest.core.search.packed_sums cimport (
    DF_BINARY_DRAWS, DF_CLASS_COUNTER_DRAWS, DF_SUM_DRAWS, unpack_class_counters, unpack_sum,
)
from dforest.core.sorting cimport insertion_sort, radix_sort
from dforest.core.types cimport CLASS_WEIGHTS, OUTPUTS, TARGET_SUM, add_draws, column_t


@cython.final
cdef class Sorter:
    """Sorts the records of a node by code.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    packed : PackedRecords
        Of the same thread.
    n_records : int
        Of the largest node.
    insertion_below : int
        Insertion sort of fewer sort keys, radix sort from here.
    """

    def __cinit__(self, Criterion criterion not None, PackedRecords packed not None, Py_ssize_t n_records,
                  int64_t insertion_below):
        self.criterion = criterion
        self.packed = packed
        self.insertion_below = insertion_below
        self.sort_keys = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.sort_keys_to = <uint64_t*> malloc(n_records * sizeof(uint64_t))
        self.sum = <int64_t*> malloc(self.criterion.n_words * sizeof(int64_t))
        if self.sort_keys == NULL or self.sort_keys_to == NULL or self.sum == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.sort_keys)
        free(self.sort_keys_to)
        free(self.sum)

    cdef uint64_t* sort_first(self, Py_ssize_t n) noexcept nogil:
        """Sort the first n of `sort_keys`; return where they are then, until the next call."""
        if n < self.insertion_below:
            insertion_sort(self.sort_keys, n)
            return self.sort_keys
        return radix_sort(self.sort_keys, self.sort_keys_to, n)

    cdef void sort(self, const Node* node, const Column* column, CutList* cuts) noexcept nogil:
        """Make the list of a column."""
        cdef Py_ssize_t n = node.n, n_values = node.n
        cdef uint64_t* sort_keys
        cuts.is_packed = cuts.accumulator == PACKED_SUMS or cuts.accumulator == CLASS_COUNTERS
        gather_sort_keys[Record](node.records, n, column, self.sort_keys)
        sort_keys = self.sort_first(n)
        cuts.sorted = sort_keys
        if column.has_missing:
            while n_values > 0 and <uint32_t> (sort_keys[n_values - 1] >> 32) == column.n_codes:
                n_values -= 1
            if n_values < n:               # as a list of one cut, which the list of the values writes over
                self.list_cuts(sort_keys + n_values, n - n_values, node.records, cuts)
                if cuts.accumulator == PACKED_SUMS:
                    cuts.missing_sum[0] = cuts.run[0]
                    unpack_sum(cuts.run[0], cuts.is_binary, cuts.missing)
                elif cuts.accumulator == CLASS_COUNTERS:
                    cuts.missing_sum[0] = cuts.run[0]
                    cuts.missing_sum[1] = cuts.more[0]
                    unpack_class_counters(cuts.run[0], cuts.more[0], cuts.missing, self.criterion.n_words)
                else:
                    memcpy(cuts.missing, cuts.left, self.criterion.n_words * sizeof(int64_t))
        cuts.n = self.list_cuts(sort_keys, n_values, node.records, cuts)

    # The walks fill the list's left sides and codes from sorted keys, and return how many codes occur. In all but the last,
    # a code that goes on is written over: sort keys of the codes 3, 3, 5 write 3's left side twice.

    cdef Py_ssize_t list_cuts(self, const uint64_t* sort_keys, Py_ssize_t n, const Record* records, CutList* cuts) noexcept nogil:
        if cuts.accumulator == PACKED_SUMS:
            return self.walk_packed_sums(sort_keys, n, cuts)
        if cuts.accumulator == CLASS_COUNTERS:
            return self.walk_class_counters(sort_keys, n, records, cuts)
        if cuts.accumulator == SUMS:
            return self.walk_sums(sort_keys, n, records, cuts)
        return self.walk_records(sort_keys, n, records, cuts)

    cdef Py_ssize_t walk_packed_sums(self, const uint64_t* sort_keys, Py_ssize_t n, CutList* cuts) noexcept nogil:
        cdef const uint64_t* words = self.packed.sums
        cdef uint64_t total = 0
        cdef uint64_t* run = cuts.run
        cdef uint32_t* codes = cuts.code
        cdef Py_ssize_t i, n_values = 0
        cdef uint32_t code, next_code = <uint32_t> (sort_keys[0] >> 32) if n else 0
        for i in range(n):
            code = next_code
            next_code = <uint32_t> (sort_keys[i + 1] >> 32) if i + 1 < n else ~code
            total += words[<uint32_t> sort_keys[i]]
            run[n_values] = total
            codes[n_values] = code
            n_values += code != next_code
        return n_values

    cdef Py_ssize_t walk_class_counters(self, const uint64_t* sort_keys, Py_ssize_t n, const Record* records,
                                        CutList* cuts) noexcept nogil:
        cdef uint64_t first = 0, second = 0, draws, is_second
        cdef uint64_t* run = cuts.run
        cdef uint64_t* more = cuts.more
        cdef uint32_t* codes = cuts.code
        cdef const Record* record
        cdef Py_ssize_t i, n_values = 0
        cdef uint32_t code, next_code = <uint32_t> (sort_keys[0] >> 32) if n else 0
        for i in range(n):
            code = next_code
            next_code = <uint32_t> (sort_keys[i + 1] >> 32) if i + 1 < n else ~code
            record = &records[<uint32_t> sort_keys[i]]
            draws = <uint64_t> record.count << (16 * (record.target & 3))
            is_second = -<uint64_t> (record.target >> 2)       # all bits of classes 4 to 7
            first += draws & ~is_second
            second += draws & is_second
            run[n_values] = first
            more[n_values] = second
            codes[n_values] = code
            n_values += code != next_code
        return n_values

    cdef Py_ssize_t walk_sums(self, const uint64_t* sort_keys, Py_ssize_t n, const Record* records, CutList* cuts) noexcept nogil:
        cdef int64_t weight = 0, total = 0
        cdef int64_t* left = cuts.left
        cdef const Record* record
        cdef Py_ssize_t i, n_values = 0
        cdef uint32_t code, next_code = <uint32_t> (sort_keys[0] >> 32) if n else 0
        for i in range(n):
            code = next_code
            next_code = <uint32_t> (sort_keys[i + 1] >> 32) if i + 1 < n else ~code
            record = &records[<uint32_t> sort_keys[i]]
            weight += record.count
            total += <int64_t> record.count * record.target
            left[3 * n_values] = left[3 * n_values + 1] = weight
            left[3 * n_values + 2] = total
            cuts.code[n_values] = code
            n_values += code != next_code
        return n_values

    cdef Py_ssize_t walk_records(self, const uint64_t* sort_keys, Py_ssize_t n, const Record* records,
                                 CutList* cuts) noexcept nogil:
        cdef Py_ssize_t i, n_values = 0, n_words = self.criterion.n_words
        cdef uint32_t code
        memset(self.sum, 0, n_words * sizeof(int64_t))
        if self.criterion.kind == OUTPUTS:
            return loops.outputs.sorted(&self.criterion.outputs, sort_keys, n, records, n_words, self.sum, cuts.left, cuts.code)
        for i in range(n):
            code = <uint32_t> (sort_keys[i] >> 32)
            add_draws(self.criterion.kind, self.sum, &records[<uint32_t> sort_keys[i]])
            if i + 1 == n or <uint32_t> (sort_keys[i + 1] >> 32) != code:
                complete(self.criterion, self.sum)
                df_copy_words(cuts.left + n_values * n_words, self.sum, n_words)
                cuts.code[n_values] = code
                n_values += 1
        return n_values


@cython.final
cdef class HistogramBuilder:
    """Sums up the draws of a node by value.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    packed : PackedRecords
        Of the same thread.
    n_records : int
        Of the largest node.
    n_codes : int
        Of the column of most codes.
    in_order : bool
        Whether lists are to have `sorted`, and are not packed.
    tuning : dict
        Values for the fields of `Tuning`, and ``insertion_below`` (`Sorter`), that are not to have their defaults.
    """

    def __cinit__(self, Criterion criterion not None, PackedRecords packed not None, Py_ssize_t n_records, Py_ssize_t n_codes,
                  bint in_order, dict tuning not None):
        cdef Py_ssize_t n_counted, n_values
        self.criterion = criterion
        self.packed = packed
        self.packs = (packed.is_unit and (criterion.n_classes == 2 or criterion.kind == TARGET_SUM) and criterion.is_additive
                      and not in_order)
        self.packs_class_counters = packed.own_slot != NULL and criterion.is_additive and not in_order
        self.tuning.sort_below = tuning.get("sort_below", 20)
        self.tuning.codes_per_record = tuning.get("codes_per_record", 8)
        self.tuning.bitmap_from = tuning.get("bitmap_from", 2)
        self.tuning.copy_from = tuning.get("copy_from", 4)
        self.tuning.bitmap_codes_per_record = tuning.get("bitmap_codes_per_record", 512)
        if in_order:
            self.tuning.sort_below = <int64_t> 1 << 62
        n_counted = min(n_codes, self.tuning.codes_per_record * n_records)
        self.histogram = Histogram(criterion, packed, n_counted, min(n_codes, self.tuning.bitmap_codes_per_record * n_records))
        self.sorter = Sorter(criterion, packed, n_records, tuning.get("insertion_below", 24))
        # Values, missing ones, all categories, and where values that do not occur are written. Loops look at eight at a time,
        # from the first valid cut on, so that they look at seven more.
        n_values = min(n_records, n_codes) + 3 + 7
        self.left = <int64_t*> malloc(n_values * self.criterion.n_words * sizeof(int64_t))
        self.code = <uint32_t*> malloc(n_values * sizeof(uint32_t))
        self.missing = <int64_t*> malloc(self.criterion.n_words * sizeof(int64_t))
        if self.left == NULL or self.code == NULL or self.missing == NULL:
            raise MemoryError()
        if self.packs or self.packs_class_counters:
            self.run = <uint64_t*> calloc(n_values, sizeof(uint64_t))
            if self.run == NULL:
                raise MemoryError()
        if self.packs_class_counters:
            self.more = <uint64_t*> calloc(n_values, sizeof(uint64_t))
            if self.more == NULL:
                raise MemoryError()

    def __dealloc__(self):
        free(self.left)
        free(self.code)
        free(self.missing)
        free(self.run)
        free(self.more)

    cdef void open_node(self, const Node* node) noexcept nogil:
        """Get ready for the columns of a node."""
        self.accumulator = self.accumulator_of(node.statistics)

    cdef inline Accumulator accumulator_of(self, const int64_t* total) noexcept nogil:
        if not self.packed.is_unit or total[0] >> 32:
            return RECORDS
        if self.packs and total[0] < (DF_BINARY_DRAWS if self.criterion.kind == CLASS_WEIGHTS else DF_SUM_DRAWS):
            return PACKED_SUMS
        if self.criterion.kind == CLASS_WEIGHTS:
            return CLASS_COUNTERS if self.packs_class_counters and total[0] <= DF_CLASS_COUNTER_DRAWS else CLASSES
        return SUMS if self.criterion.kind == TARGET_SUM else RECORDS

    cdef void blank(self, CutList* cuts) noexcept nogil:
        """Let a list borrow the arrays, with no cut and nothing missing."""
        cuts.kind = RUN
        cuts.accumulator = self.accumulator
        cuts.n = 0
        cuts.is_packed = self.accumulator == PACKED_SUMS
        cuts.is_binary = self.packed.is_binary
        cuts.code = self.code
        cuts.run = self.run
        cuts.more = self.more
        cuts.left = self.left
        cuts.missing_sum[0] = cuts.missing_sum[1] = 0
        cuts.missing = self.missing
        cuts.subset = NULL
        cuts.place = cuts.ends = NULL
        cuts.sorted = NULL
        memset(self.missing, 0, self.criterion.n_words * sizeof(int64_t))

    cdef void cumulate(self, const Node* node, const Column* column, CutList* cuts) noexcept nogil:
        """Make the list of a column: a cut after each value that occurs."""
        cdef int64_t n_codes = column.n_codes
        cdef bint is_large = node.n >= self.tuning.sort_below
        self.blank(cuts)
        if cuts.is_packed and not self.packed.is_made:
            self.packed.pack_node(node)
        if (cuts.is_packed and is_large
                and self.tuning.bitmap_from * node.n <= n_codes <= self.tuning.bitmap_codes_per_record * node.n):
            self.histogram.add_by_bitmap(node, column, <uint32_t*> self.sorter.sort_keys, cuts)
        elif not is_large or n_codes > self.tuning.codes_per_record * node.n:
            self.sorter.sort(node, column, cuts)
        elif cuts.is_packed:
            self.histogram.count_packed_sums(node, column, node.n >= self.tuning.copy_from * (n_codes + 1), cuts)
        elif cuts.accumulator == CLASS_COUNTERS:
            if not self.packed.is_made:
                self.packed.pack_node(node)
            self.histogram.count_class_counters(node, column, n_codes >= self.tuning.bitmap_from * node.n, cuts)
        else:
            self.histogram.count(node, column, n_codes >= self.tuning.bitmap_from * node.n, cuts)


cdef enum:
    INSERTION_BELOW = 24


cdef Py_ssize_t find_row(const uint32_t* rows, Py_ssize_t first, Py_ssize_t n, uint32_t row) noexcept nogil:
    """The place of the first of n ascending rows that is not below `row`, from the place `first` on, near which it may be."""
    cdef Py_ssize_t step = 1, end = first, middle
    while end < n and rows[end] < row:
        first = end + 1
        end += step
        step *= 2
    end = min(end, n)
    while first < end:
        middle = first + (end - first) // 2
        if rows[middle] < row:
            first = middle + 1
        else:
            end = middle
    return first


cdef inline Py_ssize_t find_stored(const Node* node, const Column* column, const column_t* codes, bint by_record,
                                   uint32_t* place, uint64_t* code) noexcept nogil:
    """Find the records of a node whose rows are stored. OUT place, code : [column.n_stored + 1]"""
    cdef const Record* records = node.records
    cdef const uint32_t* stored = column.stored
    cdef const uint32_t* record_of = node.record_of
    cdef uint32_t number, n = <uint32_t> node.n, first = <uint32_t> node.at.first
    cdef Py_ssize_t i, at = 0, n_stored = column.n_stored, found = 0
    if by_record:
        for i in range(n):
            at = find_row(stored, at, n_stored, records[i].row)
            if at == n_stored:
                break
            if stored[at] == records[i].row:
                place[found] = <uint32_t> i
                code[found] = codes[at]
                found += 1
        return found
    for i in range(n_stored):
        number = record_of[stored[i]] - first      # too large where it is no record of the node
        place[found] = number
        code[found] = codes[i]
        found += number < n
    return found


cdef void write_all(const Node* node, uint64_t implied, const uint32_t* place, const uint64_t* code, Py_ssize_t n_found,
                    column_t* to) noexcept nogil:
    """Write the codes of a node's records by their rows."""
    cdef Py_ssize_t i
    for i in range(node.n):
        to[node.records[i].row] = <column_t> implied
    for i in range(n_found):
        to[node.records[place[i]].row] = <column_t> code[i]


@cython.final
cdef class Stored:
    """Finds what nodes have of sparse columns.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    data : DataView
    tuning : dict
        ``stored_per_record``: the field, if it is not to have its default.
    """

    def __cinit__(self, Criterion criterion not None, DataView data not None, dict tuning not None):
        cdef Py_ssize_t j, n = 0
        cdef int32_t width = 1
        self.criterion = criterion
        self.stored_per_record = tuning.get("stored_per_record", 16)
        for j in range(data.n_features):
            if data.columns[j].stored != NULL:
                n = max(n, <Py_ssize_t> data.columns[j].n_stored)
                width = max(width, data.columns[j].width)
        self.place = <uint32_t*> malloc((n + 1) * sizeof(uint32_t))
        self.code = <uint64_t*> malloc((n + 1) * sizeof(uint64_t))
        self.sort_keys = <uint64_t*> malloc((n + 1) * sizeof(uint64_t))
        self.other_sort_keys = <uint64_t*> malloc((n + 1) * sizeof(uint64_t))
        self.rest = <int64_t*> malloc(self.criterion.n_words * sizeof(int64_t))
        self.unpacked = <uint8_t*> malloc(data.n_rows * width)
        if (self.place == NULL or self.code == NULL or self.sort_keys == NULL or self.other_sort_keys == NULL or self.rest == NULL
                or self.unpacked == NULL):
            raise MemoryError()

    def __dealloc__(self):
        free(self.place)
        free(self.code)
        free(self.sort_keys)
        free(self.other_sort_keys)
        free(self.rest)
        free(self.unpacked)

    cdef Py_ssize_t gather(self, const Node* node, const Column* column) noexcept nogil:
        cdef bint by_record = column.n_stored > self.stored_per_record * node.n
        if column.width == 1:
            return find_stored(node, column, <const uint8_t*> column.codes, by_record, self.place, self.code)
        if column.width == 2:
            return find_stored(node, column, <const uint16_t*> column.codes, by_record, self.place, self.code)
        if column.width == 4:
            return find_stored(node, column, <const uint32_t*> column.codes, by_record, self.place, self.code)
        return find_stored(node, column, <const uint64_t*> column.codes, by_record, self.place, self.code)

    cdef void cumulate(self, const Node* node, const Column* column, CutList* cuts) noexcept nogil:
        cdef Py_ssize_t i, k, n_words = self.criterion.n_words, n = self.gather(node, column), n_cuts = 0
        cdef uint64_t* sort_keys = self.sort_keys
        cdef uint32_t code
        cdef int64_t* left = cuts.left - n_words
        if n == 0:
            cuts.n = 1                 # all records have the implied code
            return
        memcpy(self.rest, node.statistics, n_words * sizeof(int64_t))
        for i in range(n):
            sort_keys[i] = self.code[i] << 32 | self.place[i]
        if n < INSERTION_BELOW:
            insertion_sort(sort_keys, n)
        else:
            sort_keys = radix_sort(sort_keys, self.other_sort_keys, n)
        for i in range(n):             # the draws of each code that is stored
            code = <uint32_t> (sort_keys[i] >> 32)
            if i == 0 or code != sort_keys[i - 1] >> 32:
                left += n_words
                if code == column.n_codes:
                    left = cuts.missing
                else:
                    cuts.code[n_cuts] = code
                    n_cuts += 1
                memset(left, 0, n_words * sizeof(int64_t))
            add_record(self.criterion, left, &node.records[<uint32_t> sort_keys[i]])
        for i in range(n_cuts):
            for k in range(n_words):
                self.rest[k] -= cuts.left[i * n_words + k]
        for k in range(n_words):
            self.rest[k] -= cuts.missing[k]
        if self.rest[0] > 0:           # draws
            i = n_cuts
            while i > 0 and cuts.code[i - 1] > column.implied:
                cuts.code[i] = cuts.code[i - 1]
                memcpy(cuts.left + i * n_words, cuts.left + (i - 1) * n_words, n_words * sizeof(int64_t))
                i -= 1
            cuts.code[i] = <uint32_t> column.implied
            memcpy(cuts.left + i * n_words, self.rest, n_words * sizeof(int64_t))
            n_cuts += 1
        for i in range(n_words, n_cuts * n_words):
            cuts.left[i] += cuts.left[i - n_words]
        cuts.n = n_cuts

    cdef Column unpack(self, const Node* node, const Column* column) noexcept nogil:
        cdef Py_ssize_t n = self.gather(node, column)
        cdef Column dense = column[0]
        dense.codes = self.unpacked
        dense.stored = NULL
        if column.width == 1:
            write_all(node, column.implied, self.place, self.code, n, <uint8_t*> self.unpacked)
        elif column.width == 2:
            write_all(node, column.implied, self.place, self.code, n, <uint16_t*> self.unpacked)
        elif column.width == 4:
            write_all(node, column.implied, self.place, self.code, n, <uint32_t*> self.unpacked)
        else:
            write_all(node, column.implied, self.place, self.code, n, <uint64_t*> self.unpacked)
        return dense
