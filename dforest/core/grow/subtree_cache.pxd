"""A copy of what the records of one subtree need, with ranks in place of codes: see subtree_cache.pyx."""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from dforest.core.data cimport DataView, RowCodes
from dforest.core.search.splitter cimport Splitter
from dforest.core.types cimport Column, Node, Record

cdef enum:
    MAX_RANKED = 65535            # records whose codes may be ranked: a rank and "missing" fit 16 bits


cdef class CodeRanker:
    cdef double ranked_above       # columns of more codes than this for each record are ranked
    cdef int64_t bitmap_codes_per_record  # with more codes for each record, columns are ranked by sorting
    cdef Py_ssize_t n_bitmap_words
    cdef uint64_t* occupancy       # [n_bitmap_words] a bit for each code that occurs, all 0 between calls
    cdef uint32_t* before          # [n_bitmap_words] see occupancy.h
    cdef uint64_t* sort_keys       # [n_records] what is sorted; with a bitmap, the codes of the records as uint32
    cdef uint64_t* sort_keys_to    # [n_records] where it is sorted to

    cdef int reserve(self, DataView data, Py_ssize_t n_records) except -1
    cdef bint is_worth_it(self, const Column* column, Py_ssize_t n) noexcept nogil
    cdef uint32_t rank(self, const uint32_t* rows, Py_ssize_t n, const Column* column, const uint8_t* codes, Py_ssize_t stride,
                       uint16_t* ranks, uint32_t* origins) noexcept nogil


# Whether caches make it faster to grow trees of n_records records by these rules; if so, the data must have codes by row.
cdef bint caches_pay(DataView data, Splitter splitter, rules, Py_ssize_t n_records)

# The caches of a grower, the smallest one. IN max_depth : of a node
cdef SubtreeCache make_subtree_caches(DataView data, Splitter splitter, rules, int64_t max_depth, Py_ssize_t n_records)


@cython.final
cdef class SubtreeCache:
    cdef DataView data
    cdef RowCodes held             # the data's codes by row
    cdef SubtreeCache outer        # which this cache's subtree may lie in; None: there are no such caches
    cdef Py_ssize_t min_records    # of a subtree that is worth copying
    cdef int64_t deepest           # depth of the root of one; nodes below that have too few levels to come
    cdef size_t max_bytes          # that its targets, codes and origins take
    cdef Py_ssize_t max_records    # of a subtree that fits; 0: none does
    cdef bint is_open              # it holds the subtree of the node at hand
    cdef Py_ssize_t base           # its subtree is done when fewer nodes than this wait on the grower's stack
    cdef Column* columns           # [n_features] the data's, with the cache's codes
    cdef const double* y           # targets of the cache's records: see Node.y
    cdef const double* exact_weight  # weights of the cache's records: see Node.exact_weight
    cdef const double* of_tree     # those of all rows, of the tree at hand
    cdef uint32_t* record_of       # of the tree at hand: see Node.record_of
    cdef uint32_t* rows            # [max_records] their rows in the data
    cdef uint8_t* bytes            # y, then codes column by column
    cdef CodeRanker code_ranker    # None: codes stay the data's
    cdef uint32_t* origins         # [ranked columns, max_records + 1] see Column.origins

    cdef int reserve(self, size_t n_bytes, Py_ssize_t n_records) except -1

    cdef inline void enter(self, Record* records, Py_ssize_t n, Py_ssize_t depth, Py_ssize_t n_waiting) noexcept nogil:
        """Look at a node, whose subtree may be worth copying, here or in the outer cache: see `fill`."""
        if self.is_open:
            return
        if self.outer is not None:
            self.outer.enter(records, n, depth, n_waiting)
        if self.min_records <= n <= self.max_records and depth <= self.deepest:
            self.fill(records, n, n_waiting)

    cdef inline void set_node_arrays(self, Node* node) noexcept nogil:
        """Say where the codes and targets of a node's records are: here, in the outer cache, or in the data."""
        if self.is_open:
            node.columns = self.columns
            node.rows = self.rows
            node.y = self.y
            node.exact_weight = self.exact_weight
        elif self.outer is not None:
            self.outer.set_node_arrays(node)
        else:
            node.columns = self.data.columns
            node.rows = NULL
            node.y = self.data.y
            node.exact_weight = self.of_tree

    cdef inline void leave(self, Py_ssize_t n_waiting) noexcept nogil:
        """Look at the next node, which the subtree does not have if fewer nodes wait behind it than when the cache was filled."""
        self.is_open = self.is_open and n_waiting >= self.base
        if self.outer is not None:
            self.outer.leave(n_waiting)

    cdef inline void enter_tree(self, const double* exact_weight, uint32_t* record_of) noexcept nogil:
        """Look at a tree, or at a part of one, whose rows have these exact weights and numbers: at no subtree yet."""
        self.is_open = False
        self.of_tree = exact_weight
        self.record_of = record_of
        if self.outer is not None:
            self.outer.enter_tree(exact_weight, record_of)

    cdef inline Py_ssize_t first_inside(self, Py_ssize_t n_waiting) noexcept nogil:
        """The first of the waiting nodes that the subtree in the cache has; `n_waiting` if it has none."""
        return self.base if self.is_open else n_waiting

    # Say which rows of the data the records of a node are that waits in the cache's subtree, so that others may grow it; and
    # number them by their places in the cache again. INOUT records : [n]
    cdef void release(self, Record* records, Py_ssize_t n) noexcept nogil
    cdef void take_back(self, Record* records, Py_ssize_t n) noexcept nogil

    cdef Py_ssize_t n_doubles(self) noexcept nogil

    # Copy what the records of a subtree need, and number the records by their place in the cache.
    # INOUT records : [n] the subtree's
    # IN n_waiting : nodes on the grower's stack, without the subtree's
    cdef void fill(self, Record* records, Py_ssize_t n, Py_ssize_t n_waiting) noexcept nogil

    # `fill` where some columns are sparse
    cdef void spread(self, Py_ssize_t n, uint8_t* to) noexcept nogil

    # The cache's own: codes of several bytes, of n records from the first one on.
    cdef void fetch_wide(self, Py_ssize_t first, Py_ssize_t n) noexcept nogil
    cdef void gather_wide(self, Py_ssize_t first, Py_ssize_t n) noexcept nogil
