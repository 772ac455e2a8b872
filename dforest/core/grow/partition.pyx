"""Partitions of a node's records by its split: see partition.pxd.

Records are looked at 64 at a time: which of them go left is known first, a bit for each. The loop that then moves them
(partition.h) has no branch that depends on records. One is written to both places where it may belong, and only the place where
it does belong moves on. Records a, b, c, d, of which b and d go left:

    record    goes     draws          scratch
    a         right    a b c d        a
    b         left     b b c d        a b          b is written behind a, and overwritten next
    c         right    b c c d        a c
    d         left     b d c d        a c d
                       b d a c                     the records of scratch[0, n_right) follow

The draws that go left are added up by the way; the right side has the node's others.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from dforest.core.grow.chunks cimport Chunk, cut_chunks, place_runs
from dforest.core.loops cimport DF_MASKED, df_mask_of_bytes, loops
from dforest.core.search.sums cimport NO_SUMS, SumsKind
from dforest.core.search.words cimport pack_sums
from dforest.core.types cimport MOST_BUCKETS, Column, bucket_of, column_t, data_row
from dforest.rules.cut cimport df_category_goes_left, df_goes_left

cdef enum:
    TESTED = 1024                 # records that a splitter tests at a time

cdef struct CodeTest:             # codes up to the cut go left,
    uint64_t cut
    uint64_t also                 # and this code: that of missing values, or a code that goes left anyway

cdef struct BucketTest:           # buckets below the cut's go left; only in that one bucket a code is looked up
    const uint8_t* buckets        # by Record.row
    const uint32_t* rows          # see Node.rows
    uint32_t cut, cut_bucket
    uint32_t also                 # this bucket goes left, too: that of missing values, or the cut's

cdef struct SubsetTest:           # categories: see Split.payload
    const uint64_t* subset
    uint32_t n_codes
    bint missing_left

ctypedef fused test_t:
    CodeTest
    BucketTest
    SubsetTest

cdef struct Job:                  # what threads know that partition a node together
    const Node* node
    const Column* column
    const Split* split
    Record* scratch
    Chunk* chunks


cdef inline bint goes_left(test_t test, const column_t* codes, uint32_t row) noexcept nogil:
    """Whether a record goes left, given Record.row."""
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


cdef inline uint64_t mask_of(const Record* records, Py_ssize_t n, const column_t* codes, test_t test) noexcept nogil:
    """Which of at most DF_MASKED records go left, a bit for each."""
    cdef uint8_t code[DF_MASKED]
    cdef uint64_t mask = 0
    cdef Py_ssize_t i
    if column_t is uint8_t and test_t is CodeTest:
        if n < DF_MASKED:
            memset(code, 0, DF_MASKED)
        for i in range(n):
            code[i] = codes[records[i].row]
        mask = df_mask_of_bytes(code, <uint8_t> test.cut, <uint8_t> test.also)
        return mask if n == DF_MASKED else mask & ((<uint64_t> 1 << n) - 1)
    for i in range(n):
        mask |= <uint64_t> goes_left(test, codes, records[i].row) << i
    return mask


cdef Py_ssize_t partition_codes(Record* records, Py_ssize_t n, const column_t* codes, test_t test, SumsKind kind, uint64_t* sums,
                                Record* scratch) noexcept nogil:
    """Partition n records; see the worked example above. INOUT sums : [2] of the left side"""
    cdef Py_ssize_t i = 0, here, gone, n_left = 0, n_right = 0
    while i < n:
        # [0, n_left) goes left, [n_left, i) is free, [i, n) is to come; scratch[0, n_right) goes right
        here = min(<Py_ssize_t> DF_MASKED, n - i)
        gone = loops.divide(records + i, <int> here, mask_of(records + i, here, codes, test), kind, records + n_left,
                            scratch + n_right, sums)
        n_left += gone
        n_right += here - gone
        i += here
    if n_right >= DF_MASKED:
        memcpy(records + n_left, scratch, n_right * sizeof(Record))
    else:
        for i in range(n_right):         # no call of memcpy: most nodes are small
            records[n_left + i] = scratch[i]
    return n_left


cdef inline Py_ssize_t partition_column(Record* records, Py_ssize_t n, const Column* column, test_t test, SumsKind kind,
                                        uint64_t* sums, Record* scratch) noexcept nogil:
    """Partition n records by a column whose codes have up to 32 bits."""
    if column.width == 1:
        return partition_codes(records, n, <const uint8_t*> column.codes, test, kind, sums, scratch)
    if column.width == 2:
        return partition_codes(records, n, <const uint16_t*> column.codes, test, kind, sums, scratch)
    return partition_codes(records, n, <const uint32_t*> column.codes, test, kind, sums, scratch)


cdef Py_ssize_t partition_adding(const Node* node, const Column* column, const Split* split, SumsKind kind, uint64_t* sums,
                                 Record* scratch) noexcept nogil:
    """Partition a node. INOUT sums : [2] of the left side"""
    cdef CodeTest by_code
    cdef BucketTest by_bucket
    cdef SubsetTest by_subset
    cdef bint missing_left
    if split.payload != NULL:
        by_subset.subset = split.payload
        by_subset.n_codes = column.n_codes
        by_subset.missing_left = split.missing_left
        return partition_column(node.records, node.n, column, by_subset, kind, sums, scratch)
    missing_left = split.missing_left and column.has_missing
    if column.coarse == NULL:
        by_code.cut = split.code
        by_code.also = column.n_codes if missing_left else split.code
        if column.width == 8:
            return partition_codes(node.records, node.n, <const uint64_t*> column.codes, by_code, kind, sums, scratch)
        return partition_column(node.records, node.n, column, by_code, kind, sums, scratch)
    by_bucket.buckets = column.coarse
    by_bucket.rows = node.rows
    by_bucket.cut = <uint32_t> split.code
    by_bucket.cut_bucket = bucket_of(column, <uint32_t> split.code)
    by_bucket.also = MOST_BUCKETS if missing_left else by_bucket.cut_bucket
    return partition_column(node.records, node.n, column, by_bucket, kind, sums, scratch)


cdef Py_ssize_t partition(const Node* node, const Column* column, const Split* split, Record* scratch) noexcept nogil:
    cdef uint64_t[2] none
    none[0] = none[1] = 0
    return partition_adding(node, column, split, NO_SUMS, none, scratch)


cdef Py_ssize_t partition_summing(const Node* node, const Column* column, const Split* split, Record* scratch, Py_ssize_t n_words,
                                  Sums* left, Sums* right) noexcept nogil:
    cdef Py_ssize_t n_left
    left.word[0] = left.word[1] = 0
    n_left = partition_adding(node, column, split, left.kind, left.word, scratch)
    if left.kind != NO_SUMS:
        pack_sums(node.statistics, n_words, right)
        right.word[0] -= left.word[0]
        right.word[1] -= left.word[1]
    return n_left


cdef Py_ssize_t partition_together(Team team, int member, const Node* node, const Column* column, const Split* split,
                                   Record* scratch) except -1 nogil:
    cdef Py_ssize_t n_chunks, n_left
    cdef Job job
    job.node = node
    job.column = column
    job.split = split
    job.scratch = scratch
    job.chunks = cut_chunks(node.n, &n_chunks)
    try:
        team.share_items(member, n_chunks, partition_chunk, &job)
        n_left = place_runs(job.chunks, n_chunks)
        team.share_items(member, n_chunks, distribute_chunk, &job)
        team.share_items(member, n_chunks, return_chunk, &job)
    finally:
        free(job.chunks)
    return n_left


cdef void partition_chunk(void* context, Py_ssize_t item) noexcept nogil:
    """Partition the records of a chunk within its stretch."""
    cdef Job* job = <Job*> context
    cdef Chunk* chunk = &job.chunks[item]
    cdef Node part = job.node[0]
    part.records += chunk.first
    part.n = chunk.n
    chunk.n_left = partition(&part, job.column, job.split, job.scratch + chunk.first)


cdef void distribute_chunk(void* context, Py_ssize_t item) noexcept nogil:
    """Copy both runs of a chunk to where they belong, in the scratch."""
    cdef Job* job = <Job*> context
    cdef Chunk* chunk = &job.chunks[item]
    cdef const Record* records = job.node.records + chunk.first
    memcpy(job.scratch + chunk.left_to, records, chunk.n_left * sizeof(Record))
    memcpy(job.scratch + chunk.right_to, records + chunk.n_left, (chunk.n - chunk.n_left) * sizeof(Record))


cdef void return_chunk(void* context, Py_ssize_t item) noexcept nogil:
    """Copy a chunk's stretch of the scratch back to the node."""
    cdef Job* job = <Job*> context
    cdef Chunk* chunk = &job.chunks[item]
    memcpy(job.node.records + chunk.first, job.scratch + chunk.first, chunk.n * sizeof(Record))


cdef Py_ssize_t partition_by_test(Splitter splitter, const Node* node, const Split* split, Record* scratch) except -1 nogil:
    cdef uint32_t rows[TESTED]
    cdef uint8_t left[TESTED]
    cdef Record* records = node.records
    cdef Py_ssize_t first = 0, i, n, n_left = 0, n_right = 0
    while first < node.n:
        n = min(<Py_ssize_t> TESTED, node.n - first)
        for i in range(n):
            rows[i] = data_row(node.rows, records[first + i].row)
        splitter.goes_left(split.payload, split.n_payload_words, &splitter.data.x, rows, n, left)
        for i in range(n):
            if left[i]:
                records[n_left] = records[first + i]
                n_left += 1
            else:
                scratch[n_right] = records[first + i]
                n_right += 1
        first += n
    memcpy(records + n_left, scratch, n_right * sizeof(Record))
    return n_left
