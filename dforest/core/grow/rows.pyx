"""The records of a tree: made of what its sampling plan draws, and partitioned stably in nodes."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove

from dforest.core.data cimport DataView
from dforest.core.sampling cimport SamplingPlan, count_blocks, rows_of_block
from dforest.core.types cimport MOST_BUCKETS, Column, Draw, Split, bucket_of, column_t, data_row
from dforest.rules.cut cimport df_category_goes_left, df_goes_left
from dforest.rules.random cimport DF_BLOCK

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


cdef int deal_draws(const Drawing* drawing) except -1 nogil:
    """Set how many draws, or, where counts are known, records, each block has."""
    cdef Py_ssize_t n_rows = (<DataView> drawing.data).n_rows, n_blocks = count_blocks(n_rows), block, row
    cdef int64_t n
    if drawing.counts == NULL:
        return (<SamplingPlan> drawing.plan).deal(drawing.seed, n_rows, 0, n_blocks, drawing.of_block)
    for block in range(n_blocks):
        n = 0
        for row in range(block * DF_BLOCK, block * DF_BLOCK + rows_of_block(n_rows, block)):
            n += drawing.counts[row] > 0
        drawing.of_block[block] = n
    return 0


cdef Py_ssize_t draw_block_rows(const Drawing* drawing, Py_ssize_t block, Draw* out) noexcept nogil:
    """Write the records of one block, in row order; return their number. OUT out : [those of the block]"""
    cdef uint32_t drawn[DF_BLOCK]
    cdef const uint32_t* counts = drawn
    cdef Py_ssize_t n_rows = (<DataView> drawing.data).n_rows, first = block * DF_BLOCK, i, n = 0
    if drawing.of_block[block] == 0:
        return 0
    if drawing.counts != NULL:
        counts = drawing.counts + first
    else:
        (<SamplingPlan> drawing.plan).draw_block(drawing.seed, n_rows, block, drawing.of_block[block], drawn)
    for i in range(rows_of_block(n_rows, block)):
        if counts[i] > 0:
            add_record(<DataView> drawing.data, drawing.weight, first + i, counts[i], &out[n])
            n += 1
    return n


cdef Py_ssize_t draw_rows(const Drawing* drawing, Draw* out) except -1 nogil:
    """Write the records of one tree, in row order; return their number. OUT out : [most records of the plan]"""
    cdef Py_ssize_t block, n = 0
    deal_draws(drawing)
    for block in range(count_blocks((<DataView> drawing.data).n_rows)):
        n += draw_block_rows(drawing, block, out + n)
    return n


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
