"""Small nodes: the best cut of a feature of numbers, without a list of cuts. See few.pxd.

A `FewRecords` has up to 64 records, in no order; a `SmallNodes` has the draws of two classes by code. Each belongs to one
thread and owns its scratch.
"""
cimport cython
from libc.stdint cimport int16_t, int32_t, uint8_t, uint16_t
from libc.stdlib cimport calloc, free, malloc

from dforest.core.codes cimport fill_words
from dforest.core.loops cimport DF_FEW, DF_FEW_DRAWS, DF_FEW_NO_CODE, DF_SMALL_DRAWS, df_cut, loops
from dforest.core.search.chooser cimport check_cut, least_small_draws, take_cut
from dforest.core.search.words cimport df_sum_word
from dforest.core.types cimport CLASS_WEIGHTS, Record, code_at
from dforest.rules.cut cimport df_leads_left


@cython.final
cdef class FewRecords:
    """Finds the best cut among few records.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    scans : FastScans or None
    is_unit : bool
        Whether all weights are 1.
    tuning : dict
        ``few_below``: nodes of fewer records are scanned here, if the scans take as many.
    """

    def __cinit__(self, Criterion criterion not None, FastScans scans, bint is_unit, dict tuning not None):
        self.criterion = criterion
        self.scans = scans
        self.is_foreign = not criterion.is_built_in
        self.has_pairs = criterion.n_classes == 2
        if is_unit and scans is not None:
            self.below = min(scans.few + 1, tuning.get("few_below", DF_FEW + 1))

    cdef void open_node(self, const Node* node) noexcept nogil:
        """Take a node, if it has few records."""
        cdef Py_ssize_t i
        cdef const Record* records = node.records
        self.is_open = node.n < self.below and node.statistics[0] <= DF_FEW_DRAWS
        if not self.is_open:
            return
        self.few.n = <int> node.n
        for i in range(node.n, <Py_ssize_t> DF_FEW):
            self.few.code[i] = DF_FEW_NO_CODE
        if self.has_pairs:
            for i in range(node.n):
                self.few.pair[i] = <uint16_t> (records[i].count << (8 * records[i].target))
        elif self.criterion.kind == CLASS_WEIGHTS:
            for i in range(node.n):
                self.few.word[i] = <uint64_t> records[i].count << (8 * records[i].target)
        else:
            for i in range(node.n):
                self.few.word[i] = df_sum_word(records[i].count, records[i].target)

    cdef bint gather(self, const Node* node, const Column* column, uint64_t* missing) noexcept nogil:
        """Have the codes of a column, or their ranks; return whether all are equal. OUT missing : word of missing draws

        Codes 7, 300 and 7 become the ranks 0, 2 and 0, how many are below each, if 300 means missing or needs 32 bits.
        """
        cdef uint32_t codes[DF_FEW]
        cdef int32_t ranks[DF_FEW]
        cdef Py_ssize_t i
        cdef uint32_t first, differing = 0, highest = 0xFFFFFFFF
        missing[0] = 0
        self.few.missing = DF_FEW_NO_CODE
        self.few.n_missing = 0
        if column.width == 1:
            for i in range(node.n):
                codes[i] = (<const uint8_t*> column.codes)[node.records[i].row]
        elif column.width == 2:
            for i in range(node.n):
                codes[i] = (<const uint16_t*> column.codes)[node.records[i].row]
        else:
            for i in range(node.n):
                codes[i] = (<const uint32_t*> column.codes)[node.records[i].row]
        first = codes[0]
        for i in range(node.n):
            differing |= codes[i] ^ first
        if differing == 0:
            return True
        if column.has_missing:
            for i in range(node.n):
                if codes[i] == column.n_codes:
                    missing[0] += self.few.pair[i] if self.has_pairs else self.few.word[i]
                    self.few.n_missing += <int> node.records[i].count
                    codes[i] = highest
        if column.width < 4 and not column.has_missing:
            for i in range(node.n):        # the sign's bit turned: they order like unsigned numbers
                self.few.code[i] = <int16_t> (codes[i] ^ 0x8000)
            return False
        loops.few_ranks(codes, <int> node.n, ranks)
        for i in range(node.n):
            self.few.code[i] = <int16_t> ranks[i]
            if column.has_missing and codes[i] == highest:
                self.few.missing = <int16_t> ranks[i]
        return False

    cdef bint find(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        """Replace `best` if a cut of this column has a higher score; return whether it is constant."""
        cdef df_few* few = &self.few
        cdef uint64_t missing
        cdef df_cut cut, other
        cdef bint missing_left = False
        if self.gather(node, column, &missing):
            return True
        few.least = <int> least_small_draws(rules)
        self.scans.best_few(few, 0, node.statistics, &cut)
        if self.is_foreign:
            check_cut(self.criterion, "best_few", &cut, node.n)
        if few.n_missing > 0:
            self.scans.best_few(few, missing, node.statistics, &other)
            if self.is_foreign:
                check_cut(self.criterion, "best_few", &other, node.n)
            if df_leads_left(other.score, 0, few.code[other.place], cut.score, 0, few.code[cut.place]):
                cut = other
                missing_left = True
        self.score = cut.score
        take_cut(best, cut.score, cut.left, code_at(column, node.records[cut.place].row), 0, missing_left, few.n_missing,
                 node.statistics[0])
        return False


@cython.final
cdef class SmallNodes:
    """Finds the best cut in nodes of few draws of two classes, by columns of few codes.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    scans : FastScans or None
    is_unit : bool
        Whether all weights are 1.
    tuning : dict
        ``small_draws``, ``small_codes``, ``copy_from``: the fields that are not to have their defaults.
    """

    def __cinit__(self, Criterion criterion not None, FastScans scans, bint is_unit, dict tuning not None):
        self.criterion = criterion
        self.scans = scans
        self.is_foreign = not criterion.is_built_in
        self.codes_per_record = tuning.get("small_codes", 4)
        self.copy_from = tuning.get("copy_from", 4)
        if not is_unit or scans is None or not scans.takes_small:
            return
        self.most_draws = min(<int64_t> DF_SMALL_DRAWS, tuning.get("small_draws", DF_SMALL_DRAWS))
        self.row = <uint32_t*> malloc(DF_SMALL_DRAWS * sizeof(uint32_t))
        self.word = <uint32_t*> malloc(DF_SMALL_DRAWS * sizeof(uint32_t))
        self.histogram = <uint32_t*> calloc(4 * 257, sizeof(uint32_t))
        self.run = <uint32_t*> malloc(256 * sizeof(uint32_t))
        if self.row == NULL or self.word == NULL or self.histogram == NULL or self.run == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.row)
        free(self.word)
        free(self.histogram)
        free(self.run)

    cdef void open_node(self, const Node* node) noexcept nogil:
        """Forget the node before."""
        self.is_open = False

    cdef bint takes(self, const Node* node, const Column* column) noexcept nogil:
        """Whether a column is looked at here."""
        return (node.statistics[0] <= self.most_draws and column.width == 1
                and <int64_t> column.n_codes <= self.codes_per_record * node.n)

    cdef bint count(self, const Node* node, const Column* column, uint32_t* missing) noexcept nogil:
        """Fill `run`; return whether all codes are equal. OUT missing : word of the missing draws"""
        cdef uint32_t* histogram = self.histogram
        cdef const uint8_t* codes = <const uint8_t*> column.codes
        cdef const Record* records = node.records
        cdef uint32_t first = codes[records[0].row]
        if not self.is_open:
            self.is_open = True
            loops.pack_small(records, node.n, self.row, self.word)
        fill_words[uint32_t, uint8_t](self.row, self.word, node.n, codes, histogram, column.n_codes + column.has_missing,
                                      node.n >= self.copy_from * (<int64_t> column.n_codes + 1))
        missing[0] = histogram[column.n_codes] if column.has_missing else 0
        if (histogram[first] & 0xFFFF) + (histogram[first] >> 16) == node.statistics[0]:
            histogram[first] = 0
            return True
        if column.has_missing:
            histogram[column.n_codes] = 0
        loops.run_small(histogram, <int> column.n_codes, self.run)
        return False

    cdef bint find(self, const Node* node, const Column* column, const LeafRules* rules, Split* best) noexcept nogil:
        """Replace `best` if a cut of this column has a higher score; return whether it is constant."""
        cdef uint32_t missing
        cdef double least = least_small_draws(rules)
        cdef df_cut cut, other
        cdef int above, n_missing, lowest = 0, n_codes = <int> column.n_codes
        cdef uint32_t* run = self.run
        cdef bint missing_left = False
        if self.count(node, column, &missing):
            return True
        n_missing = (missing & 0xFFFF) + (missing >> 16)
        self.scans.best_small(run, n_codes, 0, node.statistics, least, &cut)
        if self.is_foreign:
            check_cut(self.criterion, "best_small", &cut, n_codes)
        if n_missing > 0:
            while run[lowest] == 0:        # before the lowest value, missing ones are alone on the left: no cut
                lowest += 1
            self.scans.best_small(run + lowest, n_codes - lowest, missing, node.statistics, least, &other)
            if self.is_foreign:
                check_cut(self.criterion, "best_small", &other, n_codes - lowest)
            other.place += lowest
            if df_leads_left(other.score, 0, other.place, cut.score, 0, cut.place):
                cut = other
                missing_left = True
        above = cut.place + 1
        while above < n_codes and run[above] == run[cut.place]:
            above += 1
        take_cut(best, cut.score, cut.left, <uint32_t> cut.place, <uint32_t> above, missing_left, n_missing, node.statistics[0])
        return False
