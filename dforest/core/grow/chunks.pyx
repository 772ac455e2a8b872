"""Chunks of records that several threads treat at the same time: see chunks.pxd."""
from libc.stdlib cimport malloc


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
