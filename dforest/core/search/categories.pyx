"""The cuts of categories in a node: in which order they are tried, which go left at random, and the payload of a split.

Of a feature of categories, a list over categories in ascending order of their numbers becomes one in the order of their mean
response, then cut like values: for two classes, and for squared error, the best of all subsets is among these cuts [1]_. With
more classes, the response is the share of the node's largest class, and that is a heuristic. Or it becomes a list of single
categories, each of which is divided from the rest. Where the tree has an order of the column's labels
(`dforest.core.grow.label_order`), categories have the order of their ranks there, and those of equal ranks stay together.

Which categories are where is written as a *set*: 64-bit words with a bit for each category.

A `Categories` belongs to the `Cuts` of one thread. It owns its scratch, and the payload that it writes, until its next call.

References
----------
.. [1] W. D. Fisher, "On grouping for maximum homogeneity", JASA 53, 1958; L. Breiman, J. Friedman,
   R. Olshen, C. Stone, "Classification and Regression Trees", 1984, section 4.2.2 and chapter 8.8.
"""
cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcpy, memmove, memset

from dforest.core.loops cimport loops
from dforest.core.search.cut_list cimport ONE_VS_REST, RUN, SINGLE_CUT
from dforest.rules.categories cimport (
    df_are_tied, df_category_is_before, df_draw_categories, df_draw_rank, df_is_drawn, df_label_orders, df_largest_class,
)

cdef extern from "core/search/scan.h" nogil:
    int df_lowest_bit(uint64_t x)


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
        self.one_hot = one_hot
        self.n_set_words = (n_categories + 63) // 64
        self.sums = <int64_t*> malloc(n * self.criterion.n_words * sizeof(int64_t))
        self.codes = <uint32_t*> malloc(n * sizeof(uint32_t))
        self.place = <uint32_t*> malloc(n * sizeof(uint32_t))
        self.ends = <uint32_t*> malloc(n * sizeof(uint32_t))
        self.keys = <double*> malloc(n * sizeof(double))
        self.ranked = <Ranked*> malloc(n * sizeof(Ranked))
        self.drawn = <uint32_t*> malloc((n // 32 + 1) * sizeof(uint32_t))
        self.present = <uint64_t*> calloc(self.n_set_words + 1, sizeof(uint64_t))
        self.left_ones = <uint64_t*> calloc(self.n_set_words + 1, sizeof(uint64_t))
        self.subset = <uint64_t*> calloc(self.n_set_words + 1, sizeof(uint64_t))
        if type(criterion).isolates:
            self.draws = <int64_t*> malloc((n_categories + 1) * sizeof(int64_t))
            if self.draws == NULL:
                raise MemoryError()
        if (self.sums == NULL or self.codes == NULL or self.place == NULL or self.ends == NULL or self.keys == NULL
                or self.ranked == NULL or self.drawn == NULL or self.present == NULL or self.left_ones == NULL
                or self.subset == NULL):
            raise MemoryError()

    def __dealloc__(self):
        free(self.sums)
        free(self.codes)
        free(self.place)
        free(self.ends)
        free(self.keys)
        free(self.ranked)
        free(self.drawn)
        free(self.present)
        free(self.left_ones)
        free(self.subset)
        free(self.draws)

    cdef void arrange(self, const Node* node, CutList* cuts) noexcept nogil:
        """Turn a list over categories in ascending order, by statistics, into one of the cuts that are tried."""
        if self.one_hot:
            self.take_one_vs_rest(cuts)
        else:
            self.rank(node, cuts)

    cdef void look_up(self, const Node* node, Py_ssize_t feature) noexcept nogil:
        """Set `ranks` for a feature of a node that is open."""
        cdef int64_t largest
        self.ranks = self.all_ranks = node.label_ranks[feature] if node.label_ranks != NULL else NULL
        self.n_orders = df_label_orders(self.criterion.n_classes)
        if self.ranks != NULL and self.n_orders > 1:
            largest = df_largest_class(node.statistics, self.criterion.n_words) - 2
            largest = self.criterion.present[largest] if self.criterion.is_compact else largest
            self.ranks += largest * (node.columns[feature].n_codes + 1)

    cdef bint are_tied(self, const Column* column, Py_ssize_t n) noexcept nogil:
        """Whether the first n of `codes` have equal ranks in all orders of labels."""
        return df_are_tied(self.all_ranks, self.n_orders, column.n_codes + 1, self.codes, n)

    cdef void take_one_vs_rest(self, CutList* cuts) noexcept nogil:
        """Left sides of 2, 5 and 9 draws become those of single categories, 2, 3 and 4; and 9, if values are missing."""
        cdef Py_ssize_t i, k, n = cuts.n, n_words = self.criterion.n_words
        cdef int64_t* left = cuts.left
        cdef bint has_missing = cuts.missing[0] > 0
        if has_missing:
            memcpy(left + n * n_words, left + (n - 1) * n_words, n_words * sizeof(int64_t))
            cuts.code[n] = 0
        for i in range(n - 1, 0, -1):
            for k in range(n_words):
                left[i * n_words + k] -= left[(i - 1) * n_words + k]
        cuts.kind = ONE_VS_REST
        cuts.n = n + has_missing

    cdef void rank(self, const Node* node, CutList* cuts) noexcept nogil:
        """Put the categories in the order of their rank, if they have any, or of their mean response, and of equal ones in that
        of their numbers.

        Categories 0, 1 and 2 with 2, 3 and 4 draws and the responses .5, .9 and .1 become 2, 0 and 1, of which the left
        sides have 4, 6 and 9 draws.
        """
        cdef Py_ssize_t i, j, k, n = cuts.n, n_words = self.criterion.n_words
        cdef bint is_sorted = True
        cdef int64_t* left = cuts.left
        cdef int64_t* to = self.sums
        for i in range(n - 1, 0, -1):
            for k in range(n_words):
                left[i * n_words + k] -= left[(i - 1) * n_words + k]
        if self.ranks != NULL:
            for i in range(n):
                self.keys[i] = self.ranks[cuts.code[i]]
        else:
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
        if self.ranks != NULL:
            self.merge(cuts)

    cdef void merge(self, CutList* cuts) noexcept nogil:
        """Make one entry of categories of equal ranks, by the number of the last of them."""
        cdef Py_ssize_t i, n = 0, n_words = self.criterion.n_words
        for i in range(cuts.n):
            if i + 1 == cuts.n or self.ranks[cuts.code[i]] != self.ranks[cuts.code[i + 1]]:
                cuts.code[n] = cuts.code[i]
                memmove(cuts.left + n * n_words, cuts.left + i * n_words, n_words * sizeof(int64_t))
                self.ends[n] = <uint32_t> (i + 1)
                n += 1
        cuts.n = n
        cuts.ends = self.ends

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

    cdef bint draw_rank(self, const Column* column, df_stream* stream) noexcept nogil:
        """Let those of `present`, at least one, go left that are up to a random rank: from the lowest to below the highest.
        Return whether they are tied in all orders."""
        cdef Py_ssize_t at, i, n = 0, n_words = (<Py_ssize_t> column.n_codes + 63) // 64
        cdef uint64_t rest
        for at in range(n_words):
            rest = self.present[at]
            self.left_ones[at] = 0
            while rest:
                self.codes[n] = <uint32_t> (at * 64 + df_lowest_bit(rest))
                rest &= rest - 1
                n += 1
        self.last = df_draw_rank(stream, self.ranks, self.codes, n)
        for i in range(n):
            if self.ranks[self.codes[i]] <= self.last:
                self.left_ones[self.codes[i] >> 6] |= <uint64_t> 1 << (self.codes[i] & 63)
        return self.are_tied(column, n)

    cdef void write_up_to(self, const Column* column, uint32_t last, bint has_missing, Split* best) noexcept nogil:
        """Write the payload of a split that sends all categories up to a rank left, and missing values if the node has none."""
        cdef Py_ssize_t at, n_words = (<Py_ssize_t> column.n_codes + 63) // 64
        if not has_missing:
            best.missing_left = self.ranks[column.n_codes] <= last
        loops.up_to(self.ranks, column.n_codes, last, self.subset)
        if best.missing_left:
            for at in range(n_words):
                self.subset[at] = ~self.subset[at]
            self.subset[n_words - 1] &= <uint64_t> -1 >> (64 * n_words - column.n_codes)
        best.payload = self.subset
        best.n_payload_words = n_words

    cdef void write(self, const Column* column, const CutList* cuts, Py_ssize_t entry, Split* best) noexcept nogil:
        """Write the payload of a split by the cut of a list; of SINGLE_CUT, `present` and `left_ones` say what it is."""
        cdef Py_ssize_t i, at, n_words = (<Py_ssize_t> column.n_codes + 63) // 64
        cdef bint has_all = cuts.kind == ONE_VS_REST and cuts.missing[0] > 0  # the last entry
        cdef uint32_t code
        cdef uint64_t bit
        if cuts.kind != SINGLE_CUT:
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
