"""What a tree draws, as records.

A *record* stands for all draws of one row, and carries what the search for splits needs of it: its row, its count, its target and
what one draw of it weighs. A sampling plan says which rows a tree draws, for each *block* of rows alone
(`dforest.core.sampling`), so idle threads can help to draw a large tree: they write the records of different blocks to different
stretches of memory, which are put together afterwards. Of blocks that have 3, 0 and 2 records:

    scratch     | a b c . . | . . . | d e . . |       room for as many records as there can be
    result      | a b c d e |
"""
cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from dforest.core.grow.chunks cimport CHUNK_BLOCKS, Chunk, cut_chunks, place_runs
from dforest.core.grow.team cimport Team
from dforest.core.loops cimport loops
from dforest.core.sampling cimport Helpers, Work, count_blocks, draws_of_block, rows_of_block
from dforest.rules.random cimport DF_BLOCK

cdef struct Leader:                # a member of a team, with the help of idle ones: see Helpers
    PyObject* team
    int member

cdef struct Job:                   # what threads know that draw a tree together
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
    """

    def __cinit__(self, DataView data not None, SamplingPlan plan not None):
        self.data = data
        self.plan = plan
        self.counts = self.weights = None
        plan.check_rows(data.n_rows)
        self.n_draws = plan.tree_draws(data.n_rows)
        self.most_records = plan.most_records(data.n_rows)
        self.of_block = <int64_t*> malloc(count_blocks(data.n_rows) * plan.width * sizeof(int64_t))
        if self.of_block == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.of_block)

    def set_draws(self, const uint32_t[::1] counts not None, const uint32_t[::1] weights not None):
        """Say what the next trees draw, and how much that weighs.

        Parameters
        ----------
        counts : ndarray of shape (n_rows,), dtype uint32
            How often a tree draws each row by its sampling plan, which is not asked again.
        weights : ndarray of shape (n_rows,), dtype uint32
            Integer weights of the rows, in place of the data's.

        Raises
        ------
        ValueError
            If the data have another number of rows, or no weights that these could replace.
        """
        if self.data.weight == NULL or not counts.shape[0] == weights.shape[0] == self.data.n_rows:
            raise ValueError(f"counts of {counts.shape[0]} and weights of {weights.shape[0]} rows, of data of "
                             f"{self.data.n_rows} rows with weights")
        self.counts, self.weights = counts, weights

    cdef int deal(self, uint32_t seed, Helpers* helpers) except -1 nogil:
        """Begin a tree: set how many draws each block has, or, where counts are known, how many records."""
        cdef Py_ssize_t n_blocks = count_blocks(self.data.n_rows), block
        self.seed = seed
        self.weight = &self.weights[0] if self.weights is not None else self.data.weight
        if self.counts is None:
            return self.plan.deal(seed, self.data.n_rows, 0, n_blocks, self.of_block, helpers)
        if helpers != NULL:
            return helpers.share(helpers.context, n_blocks, count_records, <void*> self)
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

    cdef Py_ssize_t draw_block(self, Py_ssize_t block, Record* out) noexcept nogil:
        """Write the records of one block in row order; return their number. OUT out : [records of the block]"""
        cdef uint32_t drawn[DF_BLOCK]
        cdef const uint32_t* counts = drawn
        cdef Py_ssize_t n_rows = self.data.n_rows, first = block * DF_BLOCK
        if self.records_of_block(block) == 0:
            return 0
        if self.counts is not None:
            counts = &self.counts[first]
        else:
            self.plan.draw_block(self.seed, n_rows, block, self.of_block + block * self.plan.width, drawn)
        return loops.records(first, rows_of_block(n_rows, block), counts, self.data.target, self.weight, out)

    cdef Py_ssize_t draw(self, uint32_t seed, Record* out) except -1 nogil:
        cdef Py_ssize_t block, n = 0
        self.deal(seed, NULL)
        for block in range(count_blocks(self.data.n_rows)):
            n += self.draw_block(block, out + n)
        return n

    cdef Py_ssize_t draw_together(self, Team team, int member, uint32_t seed, Record* out, Record* scratch) except -1 nogil:
        cdef Py_ssize_t n_rows = self.data.n_rows, n_blocks = count_blocks(n_rows)
        cdef Py_ssize_t i, block, n_chunks, at = 0, n
        cdef Job job
        cdef Leader leader = Leader(<PyObject*> team, member)
        cdef Helpers helpers = Helpers(&leader, share_among_team)
        self.deal(seed, &helpers)
        job.drawing = <PyObject*> self
        job.out = out
        job.scratch = scratch
        job.chunks = cut_chunks(n_rows, &n_chunks)
        for i in range(n_chunks):             # chunks of rows: the records of each have room for as many as there can be
            job.chunks[i].first = at
            for block in range(i * CHUNK_BLOCKS, min((i + 1) * CHUNK_BLOCKS, n_blocks)):
                at += self.records_of_block(block)
        try:
            team.share_items(member, n_chunks, draw_chunk, &job)
            n = place_runs(job.chunks, n_chunks)
            team.share_items(member, n_chunks, collect_chunk, &job)
        finally:
            free(job.chunks)
        return n


cdef int share_among_team(void* context, Py_ssize_t n_items, Work work, void* job) except -1 nogil:
    """See `Helpers.share`. IN context : Leader"""
    cdef Leader* leader = <Leader*> context
    return (<Team> leader.team).share_items(leader.member, n_items, work, job)


cdef void count_records(void* context, Py_ssize_t block) noexcept nogil:
    (<Drawing> context).count_records(block)


cdef void draw_chunk(void* context, Py_ssize_t item) noexcept nogil:
    """Write the records of a chunk's blocks to its stretch of the scratch."""
    cdef Job* job = <Job*> context
    cdef Chunk* chunk = &job.chunks[item]
    cdef Py_ssize_t n_blocks = count_blocks((<Drawing> job.drawing).data.n_rows), block, n = 0
    for block in range(item * CHUNK_BLOCKS, min((item + 1) * CHUNK_BLOCKS, n_blocks)):
        n += (<Drawing> job.drawing).draw_block(block, job.scratch + chunk.first + n)
    chunk.n_left = n


cdef void collect_chunk(void* context, Py_ssize_t item) noexcept nogil:
    """Copy the records of a chunk where they belong."""
    cdef Job* job = <Job*> context
    cdef Chunk* chunk = &job.chunks[item]
    memcpy(job.out + chunk.left_to, job.scratch + chunk.first, chunk.n_left * sizeof(Record))
