"""The records of a tree: what it draws, and partitions of a node's records by its split. See records.pxd.

A *record* stands for all draws of one row, and carries what the search for splits needs of it: its row, its count, its target and
what one draw of it weighs. A sampling plan says which rows a tree draws, for each *block* of rows alone
(`dforest.core.sampling`), so idle threads can help to draw a large tree: they write the records of different blocks to different
ranges of memory, which are put together afterwards. Of blocks that have 3, 0 and 2 records:

    scratch     | a b c . . | . . . | d e . . |       room for as many records as there can be
    result      | a b c d e |

To partition a node, records are looked at 64 at a time: which of them go left is known first, a bit for each. The loop that then
moves them (partition.h) has no branch that depends on records. One is written to both places where it may belong, and only the
place where it does belong moves on. Records a, b, c, d, of which b and d go left:

    record    goes     draws          scratch
    a         right    a b c d        a
    b         left     b b c d        a b          b is written behind a, and overwritten next
    c         right    b c c d        a c
    d         left     b d c d        a c d
                       b d a c                     the records of scratch[0, n_right) follow

The draws that go left are added up by the way; the right side has the node's others. What several threads add up, chunk by
chunk, are integers: their sums are those of one thread.
"""
cimport cython
from libc.stdint cimport uint8_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from dforest.core.loops cimport DF_MASKED, df_mask_of_bytes, loops
from dforest.core.sampling cimport FEW_ROWS, Work, count_blocks, draws_of_block, rows_of_block
from dforest.core.search.sums cimport NO_SUMS
from dforest.core.search.packed_sums cimport pack_sums
from dforest.core.types cimport MAX_BUCKETS, bucket_of, column_t, data_row
from dforest.rules.cut cimport df_category_goes_left, df_goes_left


cdef Chunk* cut_chunks(Py_ssize_t n, Py_ssize_t* n_chunks) except NULL nogil:
    cdef Py_ssize_t i
    cdef Chunk* chunks
    n_chunks[0] = (n + CHUNK - 1) // CHUNK
    chunks = <Chunk*> malloc(n_chunks[0] * sizeof(Chunk))
    if chunks == NULL:
        with gil:
            raise MemoryError()
    for i in range(n_chunks[0]):
        chunks[i].first = i * CHUNK
        chunks[i].n = min(<Py_ssize_t> CHUNK, n - i * CHUNK)
    return chunks


cdef Py_ssize_t place_runs(Chunk* chunks, Py_ssize_t n_chunks) noexcept nogil:
    cdef Py_ssize_t i, n_left = 0, right
    for i in range(n_chunks):
        chunks[i].left_to = n_left
        n_left += chunks[i].n_left
    right = n_left
    for i in range(n_chunks):
        chunks[i].right_to = right
        right += chunks[i].n - chunks[i].n_left
    return n_left


cdef struct DrawingTask:            # what threads know that draw a tree together
    PyObject* drawing              # Drawing
    Record* out
    Record* scratch
    Chunk* chunks                  # of CHUNK_BLOCKS blocks each; the records of one are its left run


@cython.final
cdef class Drawing:
    """Draws trees, one at a time. Belongs to one grower, and owns the room for what blocks have.

    Parameters
    ----------
    data : DataView
    plan : SamplingPlan
        Which rows a tree draws.
    n_rows : int, optional
        Rows that trees draw from. None means those of the data, which may have fewer if trees are told what they draw.
    """

    def __cinit__(self, DataView data not None, SamplingPlan plan not None, n_rows=None):
        self.data = data
        self.plan = plan
        self.counts = self.weights = self.listed = self.listed_counts = None
        self.n_rows = data.n_rows if n_rows is None else n_rows
        plan.check_rows(self.n_rows)
        self.n_draws = plan.tree_draws(self.n_rows)
        self.max_records = plan.max_records(self.n_rows)
        self.of_block = <int64_t*> malloc(count_blocks(self.n_rows) * plan.width * sizeof(int64_t))
        if self.of_block == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.of_block)

    def set_draws(self, const uint32_t[::1] counts not None, const uint32_t[::1] weights not None,
                  const double[::1] exact_weights=None):
        """Say what the next trees draw, and how much that weighs.

        Parameters
        ----------
        counts : ndarray of shape (n_rows,), dtype uint32
            How often a tree draws each row by its sampling plan, which is not asked again.
        weights : ndarray of shape (n_rows,), dtype uint32
            Integer weights of the rows, in place of the data's.
        exact_weights : ndarray of shape (n_rows,), dtype float64, optional
            Their exact weights (weights.h); None: the integers are exact.

        Raises
        ------
        ValueError
            If the data have another number of rows, or no weights that these could replace.
        """
        if self.data.weight == NULL or not counts.shape[0] == weights.shape[0] == self.data.n_rows:
            raise ValueError(f"counts of {counts.shape[0]} and weights of {weights.shape[0]} rows, of data of "
                             f"{self.data.n_rows} rows with weights")
        self.counts, self.weights, self.exact_weights = counts, weights, exact_weights

    def set_list(self, const uint32_t[::1] rows not None, const uint32_t[::1] counts not None):
        """Say what the next tree draws.

        Parameters
        ----------
        rows : ndarray of shape (n_records,), dtype uint32
            The rows that it draws, by the data's numbers.
        counts : ndarray of shape (n_records,), dtype uint32
            How often it draws each.
        """
        self.listed, self.listed_counts = rows, counts

    cdef int allocate(self, uint32_t seed, Helpers* helpers) except -1 nogil:
        """Begin a tree: set how many draws each block has, or, where counts are known, how many records."""
        cdef Py_ssize_t n_blocks = count_blocks(self.data.n_rows), block
        self.seed = seed
        self.weight, self.exact_weight = self.data.weight, self.data.exact_weight
        if self.weights is not None:
            self.weight = &self.weights[0]
            self.exact_weight = &self.exact_weights[0] if self.exact_weights is not None else NULL
        if self.listed is not None:
            return 0
        if self.counts is None:
            return self.plan.allocate(seed, self.data.n_rows, 0, n_blocks, self.of_block, helpers)
        if helpers != NULL:
            return helpers.parallel_for(helpers.context, n_blocks, count_records, <void*> self)
        for block in range(n_blocks):
            count_records(<void*> self, block)
        return 0

    cdef void count_records(self, Py_ssize_t block) noexcept nogil:
        """Set how many records a block has, where counts are known."""
        cdef const uint32_t* counts = &self.counts[block * DF_BLOCK]
        cdef Py_ssize_t i
        cdef uint32_t n = 0
        for i in range(rows_of_block(self.data.n_rows, block)):
            n += counts[i] > 0
        self.of_block[block] = n

    cdef Py_ssize_t records_of_block(self, Py_ssize_t block) noexcept nogil:
        """How many records a block has at most."""
        cdef Py_ssize_t width = self.plan.width if self.counts is None else 1
        return min(draws_of_block(self.of_block + block * width, width), rows_of_block(self.data.n_rows, block))

    cdef void write_record(self, uint32_t row, uint32_t count, Record* out) noexcept nogil:
        out.row = row
        out.count = count
        out.target = self.data.target[row]
        out.weight = self.weight[row] if self.weight != NULL else 1

    cdef Py_ssize_t draw_block(self, Py_ssize_t block, Record* out) noexcept nogil:
        """Write the records of one block in row order; return their number. OUT out : [records of the block]"""
        cdef uint32_t drawn[DF_BLOCK]
        cdef uint32_t listed[FEW_ROWS]
        cdef const uint32_t* counts = drawn
        cdef Py_ssize_t n_rows = self.data.n_rows, first = block * DF_BLOCK, n = self.records_of_block(block), i
        if n == 0:
            return 0
        if self.counts is None and n <= FEW_ROWS:
            n = self.plan.list_block(self.seed, n_rows, block, self.of_block + block * self.plan.width, listed, drawn)
            for i in range(n):
                self.write_record(<uint32_t> first + listed[i], drawn[i], out + i)
            return n
        if self.counts is not None:
            counts = &self.counts[first]
        else:
            self.plan.draw_block(self.seed, n_rows, block, self.of_block + block * self.plan.width, drawn)
        return loops.records(first, rows_of_block(n_rows, block), counts, self.data.target, self.weight, out)

    cdef Py_ssize_t draw(self, uint32_t seed, Record* out) except -1 nogil:
        cdef Py_ssize_t block, i, n = 0
        self.allocate(seed, NULL)
        if self.listed is not None:
            for i in range(self.listed.shape[0]):
                self.write_record(self.listed[i], self.listed_counts[i], out + i)
            return self.listed.shape[0]
        for block in range(count_blocks(self.data.n_rows)):
            n += self.draw_block(block, out + n)
        return n

    cdef Py_ssize_t draw_together(self, Team team, int member, uint32_t seed, Record* out, Record* scratch) except -1 nogil:
        cdef Py_ssize_t n_rows = self.data.n_rows, n_blocks = count_blocks(n_rows)
        cdef Py_ssize_t i, block, n_chunks, at = 0, n
        cdef DrawingTask task
        cdef Leader leader = Leader(<PyObject*> team, member)
        cdef Helpers helpers = Helpers(&leader, parallel_for_team)
        self.allocate(seed, &helpers)
        task.drawing = <PyObject*> self
        task.out = out
        task.scratch = scratch
        task.chunks = cut_chunks(n_rows, &n_chunks)
        for i in range(n_chunks):             # chunks of rows: the records of each have room for as many as there can be
            task.chunks[i].first = at
            for block in range(i * CHUNK_BLOCKS, min((i + 1) * CHUNK_BLOCKS, n_blocks)):
                at += self.records_of_block(block)
        try:
            team.parallel_for(member, n_chunks, draw_chunk, &task)
            n = place_runs(task.chunks, n_chunks)
            team.parallel_for(member, n_chunks, collect_chunk, &task)
        finally:
            free(task.chunks)
        return n


cdef int parallel_for_team(void* context, Py_ssize_t n_items, Work work, void* task) except -1 nogil:
    """See `Helpers.parallel_for`. IN context : Leader"""
    cdef Leader* leader = <Leader*> context
    return (<Team> leader.team).parallel_for(leader.member, n_items, work, task)


cdef void count_records(void* context, Py_ssize_t block) noexcept nogil:
    (<Drawing> context).count_records(block)


cdef void draw_chunk(void* context, Py_ssize_t item) noexcept nogil:
    """Write the records of a chunk's blocks to its range of the scratch."""
    cdef DrawingTask* task = <DrawingTask*> context
    cdef Chunk* chunk = &task.chunks[item]
    cdef Py_ssize_t n_blocks = count_blocks((<Drawing> task.drawing).data.n_rows), block, n = 0
    for block in range(item * CHUNK_BLOCKS, min((item + 1) * CHUNK_BLOCKS, n_blocks)):
        n += (<Drawing> task.drawing).draw_block(block, task.scratch + chunk.first + n)
    chunk.n_left = n


cdef void collect_chunk(void* context, Py_ssize_t item) noexcept nogil:
    """Copy the records of a chunk where they belong."""
    cdef DrawingTask* task = <DrawingTask*> context
    cdef Chunk* chunk = &task.chunks[item]
    memcpy(task.out + chunk.left_to, task.scratch + chunk.first, chunk.n_left * sizeof(Record))


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

cdef struct PartitionTask:         # what threads know that partition a node together
    const Node* node
    const Column* column
    const Split* split
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
    else:
        for i in range(n):
            mask |= <uint64_t> goes_left(test, codes, records[i].row) << i
        return mask


cdef inline uint64_t mask_of_flags(const uint8_t* left, Py_ssize_t n) noexcept nogil:
    """A bit for each of at most DF_MASKED records."""
    cdef uint64_t mask = 0
    cdef Py_ssize_t i
    for i in range(n):
        mask |= <uint64_t> (left[i] != 0) << i
    return mask


cdef struct Sides:                 # of records that are being partitioned: see the worked example above
    Record* records                # [n_left] those that go left so far
    Record* scratch                # [n_right] the others
    Py_ssize_t n_left, n_right


cdef inline void put_on_sides(Sides* sides, const Record* records, Py_ssize_t n, uint64_t mask, Sums* left) noexcept nogil:
    """Move the next records, at most DF_MASKED, of which the mask tells which go left. INOUT left : their draws are added"""
    cdef int gone = loops.divide(records, <int> n, mask, left.kind, sides.records + sides.n_left, sides.scratch + sides.n_right,
                                 left.word)
    sides.n_left += gone
    sides.n_right += n - gone


cdef inline Py_ssize_t join_sides(const Sides* sides) noexcept nogil:
    """Bring both sides together; return how many records go left."""
    cdef Py_ssize_t i
    if sides.n_right >= DF_MASKED:
        memcpy(sides.records + sides.n_left, sides.scratch, sides.n_right * sizeof(Record))
    else:
        for i in range(sides.n_right):   # no call of memcpy: most nodes are small
            sides.records[sides.n_left + i] = sides.scratch[i]
    return sides.n_left


cdef Py_ssize_t partition_codes(const Node* node, const column_t* codes, test_t test, Sums* left) noexcept nogil:
    cdef Sides sides = Sides(node.records, node.scratch, 0, 0)
    cdef Py_ssize_t i = 0, n
    while i < node.n:
        n = min(<Py_ssize_t> DF_MASKED, node.n - i)
        put_on_sides(&sides, node.records + i, n, mask_of(node.records + i, n, codes, test), left)
        i += n
    return join_sides(&sides)


cdef inline Py_ssize_t partition_column(const Node* node, const Column* column, test_t test, Sums* left) noexcept nogil:
    """Partition a node by a column whose codes have up to 32 bits."""
    if column.width == 1:
        return partition_codes(node, <const uint8_t*> column.codes, test, left)
    if column.width == 2:
        return partition_codes(node, <const uint16_t*> column.codes, test, left)
    return partition_codes(node, <const uint32_t*> column.codes, test, left)


cdef Py_ssize_t partition_alone(const Node* node, const Column* column, const Split* split, Sums* left) noexcept nogil:
    """Partition a node. INOUT left : its draws are added"""
    cdef CodeTest by_code
    cdef BucketTest by_bucket
    cdef SubsetTest by_subset
    cdef bint missing_left
    if split.payload != NULL:
        by_subset.subset = split.payload
        by_subset.n_codes = column.n_codes
        by_subset.missing_left = split.missing_left
        return partition_column(node, column, by_subset, left)
    missing_left = split.missing_left and column.has_missing
    if column.buckets == NULL:
        by_code.cut = split.code
        by_code.also = column.n_codes if missing_left else split.code
        if column.width == 8:
            return partition_codes(node, <const uint64_t*> column.codes, by_code, left)
        return partition_column(node, column, by_code, left)
    by_bucket.buckets = column.buckets
    by_bucket.rows = node.rows
    by_bucket.cut = <uint32_t> split.code
    by_bucket.cut_bucket = bucket_of(column, <uint32_t> split.code)
    by_bucket.also = MAX_BUCKETS if missing_left else by_bucket.cut_bucket
    return partition_column(node, column, by_bucket, left)


cdef Py_ssize_t partition(const Node* node, const Column* column, const Split* split, const Leader* leader, Py_ssize_t n_words,
                          Sums* left, Sums* right) except -1 nogil:
    cdef Py_ssize_t n_left
    left.word[0] = left.word[1] = 0
    if leader == NULL:
        n_left = partition_alone(node, column, split, left)
    else:
        n_left = partition_together(leader, node, column, split, left)
    if left.kind != NO_SUMS:
        pack_sums(node.statistics, n_words, right)
        right.word[0] -= left.word[0]
        right.word[1] -= left.word[1]
    return n_left


cdef Py_ssize_t partition_together(const Leader* leader, const Node* node, const Column* column, const Split* split,
                                   Sums* left) except -1 nogil:
    """Partition a node. INOUT left : its draws are added"""
    cdef Py_ssize_t n_chunks, n_left, i
    cdef PartitionTask task
    task.node = node
    task.column = column
    task.split = split
    task.chunks = cut_chunks(node.n, &n_chunks)
    for i in range(n_chunks):
        task.chunks[i].left = left[0]
    try:
        parallel_for_team(<void*> leader, n_chunks, partition_chunk, &task)
        n_left = place_runs(task.chunks, n_chunks)
        for i in range(n_chunks):
            left.word[0] += task.chunks[i].left.word[0]
            left.word[1] += task.chunks[i].left.word[1]
        parallel_for_team(<void*> leader, n_chunks, distribute_chunk, &task)
        parallel_for_team(<void*> leader, n_chunks, return_chunk, &task)
    finally:
        free(task.chunks)
    return n_left


cdef void partition_chunk(void* context, Py_ssize_t item) noexcept nogil:
    """Partition the records of a chunk within its range."""
    cdef PartitionTask* task = <PartitionTask*> context
    cdef Chunk* chunk = &task.chunks[item]
    cdef Node part = task.node[0]
    part.records += chunk.first
    part.scratch += chunk.first
    part.n = chunk.n
    chunk.n_left = partition_alone(&part, task.column, task.split, &chunk.left)


cdef void distribute_chunk(void* context, Py_ssize_t item) noexcept nogil:
    """Copy both runs of a chunk to where they belong, in the scratch."""
    cdef PartitionTask* task = <PartitionTask*> context
    cdef Chunk* chunk = &task.chunks[item]
    cdef const Record* records = task.node.records + chunk.first
    memcpy(task.node.scratch + chunk.left_to, records, chunk.n_left * sizeof(Record))
    memcpy(task.node.scratch + chunk.right_to, records + chunk.n_left, (chunk.n - chunk.n_left) * sizeof(Record))


cdef void return_chunk(void* context, Py_ssize_t item) noexcept nogil:
    """Copy a chunk's range of the scratch back to the node."""
    cdef PartitionTask* task = <PartitionTask*> context
    cdef Chunk* chunk = &task.chunks[item]
    memcpy(task.node.records + chunk.first, task.node.scratch + chunk.first, chunk.n * sizeof(Record))


cdef Py_ssize_t partition_by_test(Splitter splitter, const Node* node, const Split* split) except -1 nogil:
    cdef uint32_t rows[TESTED]
    cdef uint8_t left[TESTED]
    cdef Sides sides = Sides(node.records, node.scratch, 0, 0)
    cdef Sums none
    cdef Py_ssize_t first = 0, i, here, n
    none.kind = NO_SUMS
    while first < node.n:
        n = min(<Py_ssize_t> TESTED, node.n - first)
        for i in range(n):
            rows[i] = data_row(node.rows, node.records[first + i].row)
        splitter.goes_left(split.payload, split.n_payload_words, &splitter.data.x, rows, n, left)
        i = 0
        while i < n:
            here = min(<Py_ssize_t> DF_MASKED, n - i)
            put_on_sides(&sides, node.records + first + i, here, mask_of_flags(left + i, here), &none)
            i += here
        first += n
    return join_sides(&sides)
