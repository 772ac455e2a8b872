"""Drawing and partition by several threads; results are those of `dforest.core.grow.rows`.

Both treat their records in chunks, which idle threads help with. What comes of a chunk are one or two
runs of records; where each run belongs follows from the lengths of all, and is copied there.
"""
from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from dforest.core.data cimport DataView
from dforest.core.grow.rows cimport Drawing, deal_draws, draw_block_rows, partition
from dforest.core.sampling cimport count_blocks, rows_of_block
from dforest.core.grow.team cimport Team
from dforest.core.types cimport Column, Draw, Split
from dforest.rules.random cimport DF_BLOCK

cdef enum:
    CHUNK_BLOCKS = 2
    CHUNK = CHUNK_BLOCKS * DF_BLOCK      # records, or rows to draw from

cdef struct Chunk:
    Py_ssize_t first, n           # its records
    Py_ssize_t n_left             # those that go left; drawing: those there are
    Py_ssize_t left_to, right_to  # where either run belongs

cdef struct Job:
    Draw* draws
    Draw* scratch
    Chunk* chunks
    Py_ssize_t n_chunks
    const Column* column          # partition only
    const uint32_t* rows
    const Split* split
    const Drawing* drawing        # drawing only


cdef int open_chunks(Job* job, Py_ssize_t n) except -1 nogil:
    """Cut n records, or rows, into chunks."""
    cdef Py_ssize_t i
    job.n_chunks = (n + CHUNK - 1) // CHUNK
    job.chunks = <Chunk*> malloc(job.n_chunks * sizeof(Chunk))
    if job.chunks == NULL:
        with gil:
            raise MemoryError()
    for i in range(job.n_chunks):
        job.chunks[i].first = i * CHUNK
        job.chunks[i].n = min(CHUNK, n - i * CHUNK)
    return 0


cdef Py_ssize_t place_runs(Job* job) noexcept nogil:
    """Set where all runs belong; return the length of the left ones."""
    cdef Py_ssize_t i, n_left = 0, right
    for i in range(job.n_chunks):
        job.chunks[i].left_to = n_left
        n_left += job.chunks[i].n_left
    right = n_left
    for i in range(job.n_chunks):
        job.chunks[i].right_to = right
        right += job.chunks[i].n - job.chunks[i].n_left
    return n_left


cdef void draw_chunk(void* context, Py_ssize_t item) noexcept nogil:
    cdef Job* job = <Job*> context
    cdef Chunk* chunk = &job.chunks[item]
    cdef Py_ssize_t n_blocks = count_blocks((<DataView> job.drawing.data).n_rows), block, n = 0
    for block in range(item * CHUNK_BLOCKS, min((item + 1) * CHUNK_BLOCKS, n_blocks)):
        n += draw_block_rows(job.drawing, block, job.scratch + chunk.first + n)
    chunk.n_left = n


cdef void collect_chunk(void* context, Py_ssize_t item) noexcept nogil:
    cdef Job* job = <Job*> context
    cdef Chunk* chunk = &job.chunks[item]
    memcpy(job.draws + chunk.left_to, job.scratch + chunk.first, chunk.n_left * sizeof(Draw))


cdef void divide_chunk(void* context, Py_ssize_t item) noexcept nogil:
    cdef Job* job = <Job*> context
    cdef Chunk* chunk = &job.chunks[item]
    chunk.n_left = partition(job.draws + chunk.first, chunk.n, job.column, job.rows, job.split, job.scratch + chunk.first)


cdef void distribute_chunk(void* context, Py_ssize_t item) noexcept nogil:
    cdef Job* job = <Job*> context
    cdef Chunk* chunk = &job.chunks[item]
    cdef const Draw* records = job.draws + chunk.first
    memcpy(job.scratch + chunk.left_to, records, chunk.n_left * sizeof(Draw))
    memcpy(job.scratch + chunk.right_to, records + chunk.n_left, (chunk.n - chunk.n_left) * sizeof(Draw))


cdef void return_chunk(void* context, Py_ssize_t item) noexcept nogil:
    cdef Job* job = <Job*> context
    cdef Chunk* chunk = &job.chunks[item]
    memcpy(job.draws + chunk.first, job.scratch + chunk.first, chunk.n * sizeof(Draw))


cdef Py_ssize_t draw_rows_together(Team team, int leader, const Drawing* drawing, Draw* out, Draw* scratch) except -1 nogil:
    """As `draw_rows`. OUT scratch : as `out`"""
    cdef Py_ssize_t n_rows = (<DataView> drawing.data).n_rows, n_blocks = count_blocks(n_rows)
    cdef Py_ssize_t i, block, at = 0, n_written
    cdef Job job
    deal_draws(drawing)
    open_chunks(&job, n_rows)
    job.draws = out
    job.scratch = scratch
    job.drawing = drawing
    for i in range(job.n_chunks):         # room for all that can come of each
        job.chunks[i].first = at
        for block in range(i * CHUNK_BLOCKS, min((i + 1) * CHUNK_BLOCKS, n_blocks)):
            at += min(drawing.of_block[block], rows_of_block(n_rows, block))
    try:
        team.share_items(leader, job.n_chunks, draw_chunk, &job)
        n_written = place_runs(&job)
        team.share_items(leader, job.n_chunks, collect_chunk, &job)
    finally:
        free(job.chunks)
    return n_written


cdef Py_ssize_t partition_together(Team team, int leader, Draw* draws, Py_ssize_t n, const Column* column,
                                   const uint32_t* rows, const Split* split, Draw* scratch) except -1 nogil:
    """As `partition`."""
    cdef Py_ssize_t n_left
    cdef Job job
    open_chunks(&job, n)
    job.draws = draws
    job.scratch = scratch
    job.column = column
    job.rows = rows
    job.split = split
    try:
        team.share_items(leader, job.n_chunks, divide_chunk, &job)
        n_left = place_runs(&job)
        team.share_items(leader, job.n_chunks, distribute_chunk, &job)
        team.share_items(leader, job.n_chunks, return_chunk, &job)
    finally:
        free(job.chunks)
    return n_left
