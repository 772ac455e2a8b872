"""The cuts of a feature of categories: see categories.pxd.

A `Categories` belongs to one thread and owns its scratch, which lists and the best split so far borrow.
"""
cimport cython
from libc.stdint cimport uint8_t, uint16_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcpy, memset

from dforest.core.search.cut_list cimport LONE, RUN, SINGLES
from dforest.core.types cimport code_t
from dforest.rules.categories cimport df_category_is_before, df_draw_categories, df_is_drawn


cdef void mark_present(const Node* node, const code_t* codes, uint32_t n_codes, uint64_t* present) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint32_t code
    for i in range(node.n):
        code = codes[node.records[i].row]
        if code < n_codes:
            present[code >> 6] |= <uint64_t> 1 << (code & 63)


cdef int compare_ranked(const void* a, const void* b) noexcept nogil:
    cdef const Ranked* x = <const Ranked*> a
    cdef const Ranked* y = <const Ranked*> b
    return -1 if df_category_is_before(x.key, x.place, y.key, y.place) else 1


@cython.final
cdef class Categories:
    """Arranges the cuts of categories.

    Parameters
    ----------
    criterion : Criterion
        Of the same thread.
    n_records : int
        Of the largest node.
    n_categories : int
        Of the column that has most; 0 if no column has categories.
    one_hot : bool
        Whether categories are divided from the rest one by one.
    """

    def __cinit__(self, Criterion criterion not None, Py_ssize_t n_records, Py_ssize_t n_categories, bint one_hot):
        cdef Py_ssize_t n = min(n_records, n_categories) + 1
        self.criterion = criterion
        self.n_words = criterion.n_words
        self.one_hot = one_hot
        self.n_set_words = (n_categories + 63) // 64
        self.sums = <int64_t*> malloc(n * self.n_words * sizeof(int64_t))
        self.codes = <uint32_t*> malloc(n * sizeof(uint32_t))
        self.place = <uint32_t*> malloc(n * sizeof(uint32_t))
        self.keys = <double*> malloc(n * sizeof(double))
        self.ranked = <Ranked*> malloc(n * sizeof(Ranked))
        self.drawn = <uint32_t*> malloc((n // 32 + 1) * sizeof(uint32_t))
        self.present = <uint64_t*> calloc(self.n_set_words + 1, sizeof(uint64_t))
        self.left_ones = <uint64_t*> calloc(self.n_set_words + 1, sizeof(uint64_t))
        self.subset = <uint64_t*> calloc(self.n_set_words + 1, sizeof(uint64_t))
        if (self.sums == NULL or self.codes == NULL or self.place == NULL or self.keys == NULL or self.ranked == NULL
                or self.drawn == NULL or self.present == NULL or self.left_ones == NULL or self.subset == NULL):
            raise MemoryError()

    def __dealloc__(self):
        free(self.sums)
        free(self.codes)
        free(self.place)
        free(self.keys)
        free(self.ranked)
        free(self.drawn)
        free(self.present)
        free(self.left_ones)
        free(self.subset)

    cdef void arrange(self, const Node* node, CutList* cuts) noexcept nogil:
        """Turn a list over categories in ascending order, by statistics, into one of the cuts that are tried."""
        if self.one_hot:
            self.take_singles(cuts)
        else:
            self.rank(node, cuts)

    cdef void take_singles(self, CutList* cuts) noexcept nogil:
        """Left sides of 2, 5 and 9 draws become those of single categories, 2, 3 and 4; and 9, if values are missing."""
        cdef Py_ssize_t i, k, n = cuts.n, n_words = self.n_words
        cdef int64_t* left = cuts.left
        cdef bint has_missing = cuts.missing[0] > 0
        if has_missing:
            memcpy(left + n * n_words, left + (n - 1) * n_words, n_words * sizeof(int64_t))
            cuts.code[n] = 0
        for i in range(n - 1, 0, -1):
            for k in range(n_words):
                left[i * n_words + k] -= left[(i - 1) * n_words + k]
        cuts.kind = SINGLES
        cuts.n = n + has_missing

    cdef void rank(self, const Node* node, CutList* cuts) noexcept nogil:
        """Put the categories in the order of their mean response, and of equal responses in that of their numbers.

        Categories 0, 1 and 2 with 2, 3 and 4 draws and the responses .5, .9 and .1 become 2, 0 and 1, of which the left
        sides have 4, 6 and 9 draws.
        """
        cdef Py_ssize_t i, j, k, n = cuts.n, n_words = self.n_words
        cdef bint is_sorted = True
        cdef int64_t* left = cuts.left
        cdef int64_t* to = self.sums
        for i in range(n - 1, 0, -1):
            for k in range(n_words):
                left[i * n_words + k] -= left[(i - 1) * n_words + k]
        self.criterion.mean_responses(left, n, node.statistics, self.keys)
        for i in range(n):
            self.ranked[i].place = <uint32_t> i
            self.ranked[i].key = self.keys[i]
            is_sorted = is_sorted and (i == 0 or self.keys[i - 1] <= self.keys[i])
        if not is_sorted:          # they are where categories have equal means, and nodes then may be many
            qsort(self.ranked, n, sizeof(Ranked), compare_ranked)
        for i in range(n):
            j = self.ranked[i].place
            self.place[i] = <uint32_t> j
            self.codes[i] = cuts.code[j]
            for k in range(n_words):
                to[i * n_words + k] = left[j * n_words + k] + (to[(i - 1) * n_words + k] if i > 0 else 0)
        memcpy(left, to, n * n_words * sizeof(int64_t))
        memcpy(cuts.code, self.codes, n * sizeof(uint32_t))
        cuts.place = self.place

    cdef uint32_t find_present(self, const Node* node, const Column* column) noexcept nogil:
        """Put the categories in the node into `present`; return how many there are."""
        cdef Py_ssize_t at, n_words = (<Py_ssize_t> column.n_codes + 63) // 64
        cdef uint32_t n_present = 0
        cdef uint64_t rest
        memset(self.present, 0, n_words * sizeof(uint64_t))
        if column.width == 1:
            mark_present[uint8_t](node, <const uint8_t*> column.codes, column.n_codes, self.present)
        elif column.width == 2:
            mark_present[uint16_t](node, <const uint16_t*> column.codes, column.n_codes, self.present)
        else:
            mark_present[uint32_t](node, <const uint32_t*> column.codes, column.n_codes, self.present)
        for at in range(n_words):
            rest = self.present[at]
            while rest:
                rest &= rest - 1
                n_present += 1
        return n_present

    cdef void take_up_to(self, const Column* column, uint64_t code) noexcept nogil:
        """Let those of `present` go left whose numbers are at most this."""
        cdef Py_ssize_t at, n_words = (<Py_ssize_t> column.n_codes + 63) // 64
        for at in range(n_words):
            self.left_ones[at] = self.present[at] if at < code >> 6 else 0
        self.left_ones[code >> 6] = self.present[code >> 6] & ((<uint64_t> 2 << (code & 63)) - 1)

    cdef void draw(self, const Column* column, uint32_t n_present, df_stream* stream) noexcept nogil:
        """Let some of `present`, n_present of them and at least one, go left at random: see df_draw_categories."""
        cdef Py_ssize_t at, n_words = (<Py_ssize_t> column.n_codes + 63) // 64
        cdef uint32_t i = 0
        cdef uint64_t rest
        df_draw_categories(stream, self.one_hot, n_present, self.drawn)
        for at in range(n_words):
            rest = self.present[at]
            self.left_ones[at] = 0
            while rest:
                if df_is_drawn(self.drawn, i):
                    self.left_ones[at] |= rest & (~rest + 1)
                rest &= rest - 1
                i += 1

    cdef void write(self, const Column* column, const CutList* cuts, Py_ssize_t entry, Split* best) noexcept nogil:
        """Write the payload of a split by the cut of a list; of one that is LONE, `present` and `left_ones` say what it is."""
        cdef Py_ssize_t i, at, n_words = (<Py_ssize_t> column.n_codes + 63) // 64
        cdef bint has_all = cuts.kind == SINGLES and cuts.missing[0] > 0      # the last entry
        cdef uint32_t code
        cdef uint64_t bit
        if cuts.kind != LONE:
            memset(self.present, 0, n_words * sizeof(uint64_t))
            memset(self.left_ones, 0, n_words * sizeof(uint64_t))
            for i in range(cuts.n - has_all):
                code = cuts.code[i]
                bit = <uint64_t> 1 << (code & 63)
                self.present[code >> 6] |= bit
                if i == entry or (has_all and entry == cuts.n - 1) or (cuts.kind == RUN and i < entry):
                    self.left_ones[code >> 6] |= bit
        for at in range(n_words):
            self.subset[at] = self.present[at] & ~self.left_ones[at] if best.missing_left else self.left_ones[at]
        best.payload = self.subset
        best.n_payload_words = n_words
