"""The rows of a tree: the bootstrap, and the stable partition of a node's draws.

The bootstrap draws N rows of n with replacement, exactly multinomial, and any block of rows can be
computed alone: the draws are sent down a fixed binary tree over blocks of DF_BLOCK rows, then each
block draws its own rows. Nodes of that tree are numbered as in a heap (root 1, children 2i and
2i + 1), with the blocks as leaves, padded to a power of two; padding holds no rows.

A node with as many rows on the left as on the right sends as many draws left as there are ones
among as many random bits as it has draws; any other node (at most one a level) decides draw by draw.
"""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove, memset

import numpy as np

from dforest.rules.cut cimport df_category_goes_left, df_goes_left
from dforest.rules.random cimport (
    DF_BLOCK,
    DF_BOOTSTRAP_DRAW,
    DF_BOOTSTRAP_SPLIT,
    df_below,
    df_next,
    df_stream,
    df_stream_open,
)
from dforest.core.types cimport MOST_BUCKETS, Column, Draw, Split, bucket_of, column_t, data_row

cdef extern from *:
    """
    static inline int df_ones(uint32_t x) {
        x = x - ((x >> 1) & 0x55555555u);
        x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
        return (int)((((x + (x >> 4)) & 0x0F0F0F0Fu) * 0x01010101u) >> 24);
    }
    """
    int df_ones(uint32_t x) nogil

cdef struct Bootstrap:
    uint32_t seed
    int64_t n_rows

cdef struct CodeTest:             # which draws go left: codes up to the cut,
    uint64_t cut
    uint64_t also                 # and this one: missing, or one that does so anyway

cdef struct BucketTest:           # the same, looking codes up only in the bucket of the cut
    const uint8_t* buckets        # by Draw.row
    const uint32_t* rows          # see Node.rows
    uint32_t cut, cut_bucket
    uint32_t also                 # likewise, a bucket

cdef struct SubsetTest:           # categories: see Split.payload
    const uint64_t* subset
    uint32_t n_codes
    bint missing_left

ctypedef fused test_t:
    CodeTest
    BucketTest
    SubsetTest


cdef inline void add_record(DataView data, const uint32_t* weight, Py_ssize_t row, uint32_t count, Draw* out) noexcept nogil:
    out.row = <uint32_t> row
    out.count = count
    out.target = data.target[row]
    out.weight = weight[row] if weight != NULL else 1


cdef int64_t draws_to_left(const Bootstrap* b, uint64_t node, int64_t n_draws, int64_t left, int64_t right) noexcept nogil:
    """How many of a node's draws go to its left half, of `left` against `right` rows."""
    cdef df_stream stream
    cdef int64_t _i, count = 0
    if right == 0:
        return n_draws
    df_stream_open(&stream, b.seed, node, DF_BOOTSTRAP_SPLIT)
    if left == right:
        for _i in range(n_draws // 32):
            count += df_ones(df_next(&stream))
        if n_draws % 32:
            count += df_ones(df_next(&stream) & ((<uint32_t> 1 << (n_draws % 32)) - 1))
    else:
        for _i in range(n_draws):
            count += df_below(&stream, <uint32_t> (left + right)) < <uint32_t> left
    return count


cdef inline int64_t rows_before(const Bootstrap* b, int64_t block) noexcept nogil:
    return min(b.n_rows, block * DF_BLOCK)


cdef Py_ssize_t count_blocks(Py_ssize_t n_rows) noexcept nogil:
    return (n_rows + DF_BLOCK - 1) // DF_BLOCK


cdef void deal_draws(uint32_t seed, Py_ssize_t n_rows, int64_t n_draws, int64_t* out) noexcept nogil:
    """How many of a tree's draws fall into each block. OUT out : [count_blocks(n_rows)]"""
    cdef Bootstrap b
    cdef int64_t pending[64]         # draws of the right siblings still to come, by level
    cdef int64_t n_blocks = count_blocks(n_rows), block = 0, first, middle, last, draws = n_draws, left
    cdef int height = 0, level = 0
    b.seed = seed
    b.n_rows = n_rows
    while (<int64_t> 1 << height) < n_blocks:
        height += 1
    while block < n_blocks:
        # Down to this block from the highest node that starts at it.
        while level < height:
            first = block
            middle = block + (<int64_t> 1 << (height - level - 1))
            last = block + (<int64_t> 1 << (height - level))
            left = draws_to_left(&b, (<uint64_t> 1 << level) + (<uint64_t> block >> (height - level)), draws,
                                 rows_before(&b, middle) - rows_before(&b, first),
                                 rows_before(&b, last) - rows_before(&b, middle))
            level += 1
            pending[level] = draws - left
            draws = left
        out[block] = draws
        block += 1
        # The next block is the first of a right sibling, at the level where the carry stops.
        while level > 0 and (block >> (height - level)) & 1 == 0:
            level -= 1
        draws = pending[level] if level > 0 else 0


cdef Py_ssize_t draw_block(uint32_t seed, Py_ssize_t n_rows, Py_ssize_t block, int64_t n_draws,
                           uint32_t* counts) noexcept nogil:
    """How often each row of a block is drawn; return its number of rows. OUT counts : [DF_BLOCK]"""
    cdef int64_t _i, rows = min(n_rows - block * DF_BLOCK, DF_BLOCK)
    cdef df_stream stream
    memset(counts, 0, DF_BLOCK * sizeof(uint32_t))
    df_stream_open(&stream, seed, block, DF_BOOTSTRAP_DRAW)
    for _i in range(n_draws):
        counts[df_below(&stream, <uint32_t> rows)] += 1
    return rows


cdef Py_ssize_t draw_block_rows(DataView data, const uint32_t* weight, uint32_t seed, Py_ssize_t block,
                                int64_t n_draws, Draw* out) noexcept nogil:
    """Write the draws of one block, in row order; return the number of records. OUT out : [min(DF_BLOCK, n_draws)]"""
    cdef uint32_t counts[DF_BLOCK]
    cdef Py_ssize_t i, rows, written = 0
    if n_draws == 0:
        return 0
    rows = draw_block(seed, data.n_rows, block, n_draws, counts)
    for i in range(rows):
        if counts[i] > 0:
            add_record(data, weight, block * DF_BLOCK + i, counts[i], &out[written])
            written += 1
    return written


cdef Py_ssize_t draw_rows(DataView data, const uint32_t* weight, uint32_t seed, int64_t n_draws,
                          int64_t* of_block, Draw* out) noexcept nogil:
    """Write the draws of one tree, in row order; return the number of records.

    OUT of_block : [count_blocks(n_rows)] draws of each block
    OUT out : [min(n_rows, n_draws)]
    """
    cdef Py_ssize_t block, written = 0
    deal_draws(seed, data.n_rows, n_draws, of_block)
    for block in range(count_blocks(data.n_rows)):
        written += draw_block_rows(data, weight, seed, block, of_block[block], out + written)
    return written


cdef Py_ssize_t all_rows(DataView data, const uint32_t* weight, Draw* out) noexcept nogil:
    """Write every row once, in row order. OUT out : [n_rows]"""
    cdef Py_ssize_t row
    for row in range(data.n_rows):
        add_record(data, weight, row, 1, &out[row])
    return data.n_rows


cdef inline bint goes_left(test_t test, const column_t* codes, uint32_t row) noexcept nogil:
    cdef uint64_t code
    if test_t is CodeTest:
        code = codes[row]
        return df_goes_left(code, test.cut, test.also)
    elif test_t is BucketTest:
        code = test.buckets[row]
        if code == test.cut_bucket:
            return codes[data_row(test.rows, row)] <= test.cut
        return (code < test.cut_bucket) | (code == test.also)
    else:
        code = codes[row]
        return df_category_goes_left(code, test.subset, test.n_codes, test.missing_left)


cdef Py_ssize_t partition_codes(Draw* draws, Py_ssize_t n, const column_t* codes, test_t test, Draw* scratch) noexcept nogil:
    cdef Py_ssize_t i, n_left = 0, n_right = 0
    cdef bint left
    for i in range(n):
        # [0, n_left) goes left, [n_left, i) is free, [i, n) is to come; scratch[0, n_right) goes right
        left = goes_left(test, codes, draws[i].row)
        memcpy(scratch + n_right, draws + i, sizeof(Draw))     # in one piece, unlike an assignment
        memmove(draws + n_left, draws + i, sizeof(Draw))
        n_left += left
        n_right += not left
    for i in range(n_right):         # no call of memcpy: most nodes are small
        draws[n_left + i] = scratch[i]
    return n_left


cdef inline Py_ssize_t partition_column(Draw* draws, Py_ssize_t n, const Column* column, test_t test,
                                        Draw* scratch) noexcept nogil:
    if column.width == 1:
        return partition_codes(draws, n, <const uint8_t*> column.codes, test, scratch)
    if column.width == 2:
        return partition_codes(draws, n, <const uint16_t*> column.codes, test, scratch)
    return partition_codes(draws, n, <const uint32_t*> column.codes, test, scratch)


cdef Py_ssize_t partition(Draw* draws, Py_ssize_t n, const Column* column, const uint32_t* rows, const Split* split,
                          Draw* scratch) noexcept nogil:
    """Move the draws that go left to the front, keeping the order on either side.

    IN rows : see Node.rows
    INOUT draws : [n]
    OUT scratch : [n]

    Returns the number of records that go left.
    """
    cdef CodeTest by_code
    cdef BucketTest by_bucket
    cdef SubsetTest by_subset
    if split.payload != NULL:
        by_subset.subset = split.payload
        by_subset.n_codes = column.n_codes
        by_subset.missing_left = split.missing_left
        return partition_column(draws, n, column, by_subset, scratch)
    cdef bint missing_left = split.missing_left and column.has_missing
    if column.coarse == NULL:
        by_code.cut = split.code
        by_code.also = column.n_codes if missing_left else split.code
        if column.width == 8:
            return partition_codes(draws, n, <const uint64_t*> column.codes, by_code, scratch)
        return partition_column(draws, n, column, by_code, scratch)
    by_bucket.buckets = column.coarse
    by_bucket.rows = rows
    by_bucket.cut = <uint32_t> split.code
    by_bucket.cut_bucket = bucket_of(column, <uint32_t> split.code)
    by_bucket.also = MOST_BUCKETS if missing_left else by_bucket.cut_bucket
    return partition_column(draws, n, column, by_bucket, scratch)


def bootstrap_counts(Py_ssize_t n_rows, int64_t n_draws, uint32_t seed):
    """How often each row is drawn for a tree.

    Parameters
    ----------
    n_rows, n_draws : int
        Rows drawn from (below 2**32), and draws.
    seed : int
        The tree's.

    Returns
    -------
    ndarray of shape (n_rows,), dtype uint32
    """
    cdef Py_ssize_t block, i, rows
    cdef uint32_t counts[DF_BLOCK]
    if n_rows < 1 or n_draws < 1:
        raise ValueError(f"cannot draw {n_draws} times from {n_rows} rows")
    cdef int64_t[::1] of_block = np.empty(count_blocks(n_rows), np.int64)
    result = np.empty(n_rows, np.uint32)
    cdef uint32_t[::1] out = result
    deal_draws(seed, n_rows, n_draws, &of_block[0])
    for block in range(count_blocks(n_rows)):
        rows = draw_block(seed, n_rows, block, of_block[block], counts)
        for i in range(rows):
            out[block * DF_BLOCK + i] = counts[i]
    return result
