"""Columns of sums of other columns, for oblique splits of boosted trees.

Each iteration draws *projections*: sums of a few columns of numbers, each times a weight, as `dforest.core.search.oblique` says.
They are columns behind those of X, which the trees of the iteration split by as by any other: a projection has codes of one byte,
whose edges are chosen by the rule of bins (rules/bins.h) among the sums of a sample of the training rows, which is the same for
the whole fit. A row's code is the number of edges that are below its sum, so that a node's test of the sum, with an edge as its
threshold, sends each training row where its code goes.

What a missing value counts as in a sum, and what weights are divided by, follows from all training rows, each counted once.
The projections of an iteration are drawn by the seed of its first tree, each by a stream of its own: first how many columns it
has, then these, of those that vary among the training rows, and then their weights. Of a given matrix of projections, each draws
a row that no other of the iteration has.

A `ProjectedColumns` serves one booster, and owns its arrays. It borrows X, and writes into the row codes of the booster's
bundles.
"""
cimport cython
from libc.float cimport DBL_MAX
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

import numpy as np

from dforest.core.coding.key_sort cimport Key64, df_ordered_key64, df_value_of, fill_edges, sort_items
from dforest.core.loops cimport loops
from dforest.core.search.projection cimport (
    EXPONENT, HEAD, LARGEST, TERM, Extremes, Spread, Term, add_copy, add_up, draw_next, draw_number, draw_weight, find_spread,
    put_back, real_t, take_values, write_sum,
)
from dforest.core.tree.buffers cimport ensure_room
from dforest.rules.bins cimport df_add_to_bin, df_bin_filler, df_bin_filler_of, df_n_filled_bins
from dforest.rules.random cimport DF_PROJECTION, DF_ROOT_KEY, df_feature_key, df_stream, df_stream_open, df_tree_seed

from dforest.core.coding.coded_columns import CodedColumn
from dforest.core.sampling import Subsample
from dforest.core.search.projections import SCALINGS, WEIGHTS, count_projections, term_counts
from dforest.core.threads import each

cdef extern from "core/boost/projected.h" nogil:
    enum:
        DF_PROJECTED_EDGES

cdef enum:
    SAMPLED = 1024             # rows that edges are chosen by, at most
    CHUNK = 8192               # rows that a thread codes at a time, ...
    BLOCK = 64                 # ... so many together, whose values stay in a cache

MAX_CODES, MAX_SAMPLED = DF_PROJECTED_EDGES, SAMPLED
GREATEST_WEIGHTS = {"binary": 1.0, "continuous": 1.0, "integer": LARGEST, "power_of_two": 1 << EXPONENT}


cdef void find_edges(void* columns, int64_t item) noexcept nogil:
    (<ProjectedColumns> columns).find_edges(item)


cdef void code_chunk(void* columns, int64_t item) noexcept nogil:
    (<ProjectedColumns> columns).code_chunk(item)


cdef inline void copy_column(const real_t* x, size_t stride, Py_ssize_t n, double* copy) noexcept nogil:
    """Copy n values of a column, which are `stride` values apart."""
    cdef Py_ssize_t i
    for i in range(n):
        copy[i] = x[i * stride]


cdef inline df_rows rows_of(X):
    """A matrix of float32 or float64 as rows."""
    cdef const char[:, ::1] there = X.view("i1")
    cdef df_rows rows
    rows.x, rows.stride, rows.is_double = &there[0, 0], X.shape[1] * X.itemsize, X.dtype == "f8"
    return rows


def bytes_of_blocks(n_rows, n_numbers):
    """What copies of blocks of rows take, given how many columns of numbers there are."""
    return (n_rows + CHUNK - 1) // CHUNK * n_numbers * BLOCK * sizeof(double)


def count_columns(splitter, is_number):
    """How many projections an iteration has, given a splitter and which columns have numbers: int."""
    n = count_projections(splitter.n_projections, int(np.count_nonzero(is_number)))
    if splitter.projections is not None:
        return min(n, splitter.projections.shape[0])
    return n if np.count_nonzero(is_number) > 1 else 0


@cython.final
cdef class ProjectedColumns:
    """The projections of one iteration after another, as columns of codes.

    Parameters
    ----------
    splitter : dforest.splitter.ObliqueSplitter
        Which projections there are. Those of a matrix of its own have no weights of columns that are not numbers.
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64
        C-contiguous.
    is_number : ndarray of shape (n_features,), dtype bool
        Which columns are added up.
    first : int
        How many columns come before the projections: those of X, and perhaps others.
    max_codes : int
        Most values that a projection is parted into; at least 1, and counted as 255 if it is more.
    seed : int
        Of the model, below 2**64.
    n_threads : int
        How many may look at X before the first iteration.
    tuning : dict
        `sampled_rows`: rows that edges are chosen by, at most 1024.
    """

    def __cinit__(self, splitter not None, X not None, is_number not None, Py_ssize_t first, int max_codes, uint64_t seed,
                  int n_threads, dict tuning not None):
        cdef const double[::1] cumulated
        cdef uint8_t[:, ::1] codes
        cdef Py_ssize_t j, i
        cdef uint32_t first_seed = df_tree_seed(seed, 0)
        cdef double greatest = GREATEST_WEIGHTS[splitter.projection_weights]
        self.n_rows, self.n_features = X.shape
        self.first = first
        self.n_codes = max(1, min(max_codes, <int> DF_PROJECTED_EDGES))
        self.weights = WEIGHTS.index(splitter.projection_weights)
        self.X = rows_of(X)
        self.n = count_columns(splitter, is_number)
        self.spread = <Spread*> calloc(self.n_features, sizeof(Spread))
        if self.spread == NULL:
            raise MemoryError()
        own = splitter.projections
        varies, extents = self.look_at_columns(is_number, 0 if own is not None else SCALINGS.index(splitter.projection_scaling),
                                               n_threads)
        if own is None:
            drawable = np.flatnonzero(varies).astype(np.uint32)
            if len(drawable) < 2:                  # there are no sums
                self.n = 0
            used = drawable
        else:
            drawable, used = np.arange(own.shape[0], dtype=np.uint32), np.unique(own.columns)
            self.take_given(own)
            greatest = np.abs(own.values).max()
        self.n_drawable = len(drawable)
        self.drawable = <uint32_t*> malloc((self.n_drawable + 1) * sizeof(uint32_t))
        self.swapped = <uint32_t*> malloc((self.n_drawable + 1) * sizeof(uint32_t))
        self.terms_from = <Py_ssize_t*> calloc(self.n + 1, sizeof(Py_ssize_t))
        if self.drawable == NULL or self.swapped == NULL or self.terms_from == NULL:
            raise MemoryError()
        for i in range(self.n_drawable):
            self.drawable[i] = drawable[i]
        for j in used:
            self.may_lack |= not (greatest / self.spread[j].scale * <double> extents[j] <= DBL_MAX / self.n_features)
        self.fewest_terms, chances = term_counts(max(1, np.count_nonzero(is_number)), splitter.projection_density)
        cumulated = chances
        self.cumulated = &cumulated[0]
        most = self.n_drawable if own is None else int(np.diff(own.starts).max())
        self.n_payload_words = HEAD + TERM * max(1, most)
        sampled = X
        n_sampled = min(<int> SAMPLED, tuning.get("sampled_rows", SAMPLED))
        if n_sampled < self.n_rows:
            sampled = X[Subsample(n_sampled).counts(self.n_rows, seed=int(first_seed)) > 0]
        self.n_sampled, self.sampled = len(sampled), rows_of(sampled)
        self.numbers = <uint32_t*> malloc(self.n_sampled * sizeof(uint32_t))
        self.n_numbers = np.count_nonzero(is_number)
        self.used = <uint32_t*> malloc((self.n_numbers + 1) * sizeof(uint32_t))
        self.place = <int64_t*> malloc(self.n_features * sizeof(int64_t))
        self.copies = <double*> malloc(bytes_of_blocks(self.n_rows, self.n_numbers) + 1)
        if self.numbers == NULL or self.used == NULL or self.place == NULL or self.copies == NULL:
            raise MemoryError()
        for i in range(self.n_sampled):
            self.numbers[i] = <uint32_t> i
        all_codes, edges = np.zeros((self.n, self.n_rows), np.uint8), np.full((self.n, DF_PROJECTED_EDGES), np.inf)
        self.columns = []
        for own_codes, own_edges in zip(all_codes, edges, strict=True):
            values = own_edges[: self.n_codes]
            self.columns.append(CodedColumn(own_codes, values, values, values, bool(self.may_lack), 0))
        self.owners = own, X, sampled, chances, all_codes, edges
        if self.n > 0:
            codes = all_codes
            self.codes = &codes[0, 0]
            cumulated = edges.reshape(-1)
            self.edges = <double*> &cumulated[0]

    def __dealloc__(self):
        free(self.numbers)
        free(self.spread)
        free(self.drawable)
        free(self.swapped)
        free(self.terms)
        free(self.terms_from)
        free(self.used)
        free(self.place)
        free(self.copies)

    def look_at_columns(self, is_number, int scaling, int n_threads):
        """Find the spread of each column of numbers among all rows.

        Returns
        -------
        varies : ndarray of shape (n_features,), dtype bool
        extents : ndarray of shape (n_features,), dtype float64
            The largest magnitudes that sums may add up; infinite where a sum may have no value.
        """
        cdef Py_ssize_t n = self.n_rows
        cdef const uint32_t[::1] numbers = np.arange(n, dtype=np.uint32)
        cdef uint8_t[::1] varies = np.zeros(self.n_features, np.uint8)
        cdef double[::1] extents = np.zeros(self.n_features)
        of_numbers = np.flatnonzero(is_number)

        def look_at(place, _):
            cdef Py_ssize_t j = of_numbers[place], i
            cdef double[::1] copy = np.empty(n)
            cdef Extremes found
            cdef bint has_infinite = False
            with nogil:
                varies[j] = take_values(&self.X, j, &numbers[0], n, &copy[0], &found)
                find_spread(NULL, n, &copy[0], &found, scaling, True, &self.spread[j])
                for i in range(n):
                    has_infinite |= fabs(copy[i]) > DBL_MAX
                extents[j] = max(fabs(found.lowest), fabs(found.highest))
                if has_infinite or not found.lowest <= found.highest:
                    extents[j] = INFINITY

        each(len(of_numbers), look_at, n_threads)
        return np.asarray(varies).view(bool), np.asarray(extents)

    def take_given(self, own):
        """Know the rows of a matrix of projections."""
        cdef const double[::1] weights = own.values
        cdef const int[::1] columns = own.columns
        cdef const int64_t[::1] starts = own.starts
        self.own_weights, self.own_columns, self.own_starts = &weights[0], &columns[0], &starts[0]

    cdef int attach(self, Bundles bundles) except -1:
        """Know where row codes lie, once the columns, which are the last ones, have bundles."""
        self.rows = bundles.shared.rows
        self.first_byte = bundles.n_bundles - self.n
        return 0

    cdef int draw(self, uint32_t seed, SpinTeam team) except -1 nogil:
        """Make the columns of the iteration whose first tree has this seed."""
        if self.n > 0:
            self.draw_terms(seed)
            team.for_each(find_edges, <void*> self, self.n)
            team.for_each(code_chunk, <void*> self, (self.n_rows + CHUNK - 1) // CHUNK)
        return 0

    cdef int draw_terms(self, uint32_t seed) except -1 nogil:
        """Draw the columns and the weights of all projections."""
        cdef df_stream stream
        cdef Py_ssize_t p, k, n_terms, first, at = 0
        cdef uint32_t column
        cdef Term* own
        for p in range(self.n):
            df_stream_open(&stream, seed, df_feature_key(DF_ROOT_KEY, p), DF_PROJECTION)
            first = 0
            if self.own_starts != NULL:
                first = draw_next(self.drawable, self.swapped, p, self.n_drawable, &stream)
                n_terms = self.own_starts[first + 1] - self.own_starts[first]
                first = self.own_starts[first]
            else:
                n_terms = min(self.n_drawable, draw_number(self.fewest_terms, self.cumulated, &stream))
            ensure_room(<void**> &self.terms, &self.terms_room, at + n_terms, sizeof(Term))
            own = self.terms + at
            for k in range(n_terms):
                if self.own_starts != NULL:
                    column, own[k].weight = <uint32_t> self.own_columns[first + k], self.own_weights[first + k]
                else:
                    column = draw_next(self.drawable, self.swapped, k, self.n_drawable, &stream)
                own[k].column, own[k].if_missing = <double> column, self.spread[column].mean
            if self.own_starts == NULL:
                put_back(self.drawable, self.swapped, n_terms)
                for k in range(n_terms):
                    own[k].weight = draw_weight(self.weights, &stream) / self.spread[<Py_ssize_t> own[k].column].scale
            at += n_terms
            self.terms_from[p + 1] = at
        if self.own_starts != NULL:
            put_back(self.drawable, self.swapped, self.n)
        self.n_used = 0
        for k in range(self.n_features):
            self.place[k] = -1
        for k in range(at):
            column = <uint32_t> self.terms[k].column
            if self.place[column] < 0:
                self.used[self.n_used] = column
                self.place[column] = self.n_used
                self.n_used += 1
        return 0

    cdef void find_edges(self, int64_t item) noexcept nogil:
        """Choose the edges of a projection, by the sums of the sample."""
        cdef double sums[SAMPLED]
        cdef double lows[DF_PROJECTED_EDGES]
        cdef double highs[DF_PROJECTED_EDGES]
        cdef Key64 keys[SAMPLED]
        cdef Key64 spare[SAMPLED]
        cdef Key64* items = keys
        cdef double* edges = self.edges + item * DF_PROJECTED_EDGES
        cdef df_bin_filler filler
        cdef Py_ssize_t n = 0, n_above = 0, n_bins, i, begin
        cdef uint32_t code
        add_up(self.terms + self.terms_from[item], self.terms_from[item + 1] - self.terms_from[item], &self.sampled, self.numbers,
               self.n_sampled, sums)
        for i in range(self.n_sampled):
            if sums[i] == sums[i]:
                items[n].key = df_ordered_key64(sums[i])
                n += 1
        items = sort_items(items, spare, n)
        for i in range(n):
            n_above += i == 0 or items[i].key != items[i - 1].key
        filler = df_bin_filler_of(self.n_codes, n)
        begin = 0
        while begin < n:
            i = begin + 1
            while i < n and items[i].key == items[begin].key:
                i += 1
            n_above -= 1
            n_bins = df_n_filled_bins(&filler)
            code = df_add_to_bin(&filler, i - begin, n_above)
            highs[code] = df_value_of(items[begin].key, 1)
            if <Py_ssize_t> code >= n_bins:
                lows[code] = highs[code]
            begin = i
        n_bins = df_n_filled_bins(&filler)
        fill_edges(lows, highs, n_bins, 0, edges)
        for i in range(n_bins, DF_PROJECTED_EDGES):
            edges[i] = INFINITY

    cdef void code_chunk(self, int64_t item) noexcept nogil:
        """Write the codes of a chunk of rows. Sums are those of `add_up`, whose terms are added in the same order."""
        cdef double sums[BLOCK]
        cdef double* copies = self.copies + item * self.n_numbers * BLOCK
        cdef const Term* term
        cdef Py_ssize_t at = item * CHUNK, end = min(self.n_rows, at + CHUNK), stride = self.X.stride, p, k, column
        cdef int n, i
        while at < end:
            n = <int> min(<Py_ssize_t> BLOCK, end - at)
            for k in range(self.n_used):
                if self.X.is_double:
                    copy_column(<const double*> (self.X.x + at * stride) + self.used[k], stride // sizeof(double), n,
                                copies + k * BLOCK)
                else:
                    copy_column(<const float*> (self.X.x + at * stride) + self.used[k], stride // sizeof(float), n,
                                copies + k * BLOCK)
            for p in range(self.n):
                for i in range(n):
                    sums[i] = 0.0
                for k in range(self.terms_from[p], self.terms_from[p + 1]):
                    term = &self.terms[k]
                    column = <Py_ssize_t> term.column
                    add_copy(copies + self.place[column] * BLOCK, n, term, self.spread[column].may_miss, sums)
                loops.boost.code_sums(self.edges + p * DF_PROJECTED_EDGES, sums, n, self.n_codes,
                                      self.codes + p * self.n_rows + at)
            self.rows.write_bytes(self.first_byte, at, n)
            at += n

    cdef Py_ssize_t write_test(self, Py_ssize_t column, Py_ssize_t code, bint missing_left, uint64_t* payload) noexcept nogil:
        """Write the test of a projection, given its column's number, and return how many words it has."""
        cdef Py_ssize_t p = column - self.first
        return write_sum(self.edges[p * DF_PROJECTED_EDGES + code], missing_left, self.terms + self.terms_from[p],
                         self.terms_from[p + 1] - self.terms_from[p], payload)
