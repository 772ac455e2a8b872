"""Cut lists of whole columns, by counting or sorting: see tally.pxd.

A `Tally` belongs to one thread and owns its scratch, which the lists that it makes borrow.
"""
cimport cython
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from dforest.core.search.cut_list cimport CLASSES, LANES, RECORDS, RUN, SUMS, WORDS
from dforest.core.search.words cimport DF_LANE_DRAWS, DF_PAIR_DRAWS, DF_SUM_DRAWS
from dforest.core.types cimport CLASS_WEIGHTS, TARGET_SUM


@cython.final
cdef class Tally:
    """Sums up the draws of a node by value.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    words : NodeWords
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

    def __cinit__(self, Criterion criterion not None, NodeWords words not None, Py_ssize_t n_records, Py_ssize_t n_codes,
                  bint in_order, dict tuning not None):
        cdef Py_ssize_t n_counted, n_values
        self.criterion = criterion
        self.words = words
        self.packs = (words.is_unit and (criterion.n_classes == 2 or criterion.kind == TARGET_SUM) and criterion.is_additive
                      and not in_order)
        self.packs_lanes = words.own_slot != NULL and criterion.is_additive and not in_order
        self.n_words = criterion.n_words
        self.tuning.sort_below = tuning.get("sort_below", 20)
        self.tuning.codes_per_record = tuning.get("codes_per_record", 8)
        self.tuning.mark_from = tuning.get("mark_from", 2)
        self.tuning.copy_from = tuning.get("copy_from", 4)
        self.tuning.codes_per_mark = tuning.get("codes_per_mark", 512)
        if in_order:
            self.tuning.sort_below = <int64_t> 1 << 62
        n_counted = min(n_codes, self.tuning.codes_per_record * n_records)
        self.histogram = Histogram(criterion, words, n_counted, min(n_codes, self.tuning.codes_per_mark * n_records))
        self.sorter = Sorter(criterion, words, n_records, tuning.get("insertion_below", 24))
        # Values, missing ones, all categories, and where values that do not occur are written; up to a multiple of 8.
        n_values = (min(n_records, n_codes) + 3 + 7) // 8 * 8
        self.left = <int64_t*> malloc(n_values * self.n_words * sizeof(int64_t))
        self.code = <uint32_t*> malloc(n_values * sizeof(uint32_t))
        self.missing = <int64_t*> malloc(self.n_words * sizeof(int64_t))
        if self.left == NULL or self.code == NULL or self.missing == NULL:
            raise MemoryError()
        if self.packs or self.packs_lanes:
            self.run = <uint64_t*> calloc(n_values, sizeof(uint64_t))
            if self.run == NULL:
                raise MemoryError()
        if self.packs_lanes:
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
        self.manner = self.manner_of(node.statistics)

    cdef inline Manner manner_of(self, const int64_t* total) noexcept nogil:
        if not self.words.is_unit or total[0] >> 32:
            return RECORDS
        if self.packs and total[0] < (DF_PAIR_DRAWS if self.criterion.kind == CLASS_WEIGHTS else DF_SUM_DRAWS):
            return WORDS
        if self.criterion.kind == CLASS_WEIGHTS:
            return LANES if self.packs_lanes and total[0] <= DF_LANE_DRAWS else CLASSES
        return SUMS if self.criterion.kind == TARGET_SUM else RECORDS

    cdef void blank(self, CutList* cuts) noexcept nogil:
        """Let a list borrow the arrays, with no cut and nothing missing."""
        cuts.kind = RUN
        cuts.manner = self.manner
        cuts.n = 0
        cuts.is_packed = self.manner == WORDS
        cuts.is_pairs = self.words.is_pairs
        cuts.code = self.code
        cuts.run = self.run
        cuts.more = self.more
        cuts.left = self.left
        cuts.missing_word[0] = cuts.missing_word[1] = 0
        cuts.missing = self.missing
        cuts.subset = NULL
        cuts.place = NULL
        cuts.sorted = NULL
        memset(self.missing, 0, self.n_words * sizeof(int64_t))

    cdef void cumulate(self, const Node* node, const Column* column, CutList* cuts) noexcept nogil:
        """Make the list of a column: a cut after each value that occurs."""
        cdef int64_t n_codes = column.n_codes
        cdef bint is_large = node.n >= self.tuning.sort_below
        self.blank(cuts)
        if cuts.is_packed and not self.words.is_made:
            self.words.make(node)
        if (cuts.is_packed and is_large
                and self.tuning.mark_from * node.n <= n_codes <= self.tuning.codes_per_mark * node.n):
            self.histogram.mark_words(node, column, <uint32_t*> self.sorter.keys, cuts)
        elif not is_large or n_codes > self.tuning.codes_per_record * node.n:
            self.sorter.sort(node, column, cuts)
        elif cuts.is_packed:
            self.histogram.count_words(node, column, node.n >= self.tuning.copy_from * (n_codes + 1), cuts)
        elif cuts.manner == LANES:
            if not self.words.is_made:
                self.words.make(node)
            self.histogram.count_lanes(node, column, n_codes >= self.tuning.mark_from * node.n, cuts)
        else:
            self.histogram.count(node, column, n_codes >= self.tuning.mark_from * node.n, cuts)
