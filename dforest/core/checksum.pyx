"""Checksums of arrays, fast enough to be looked at whenever a file is opened.

The bytes of an array are cut into *pieces* of `PIECE_BYTES`, the last of which may have fewer, so that threads can share them.
The checksum of the array is the XXH64 of the pieces' XXH64, one after another, as little-endian numbers of 8 bytes.

Nothing here is kept: arrays are borrowed.
"""
from libc.stdint cimport int64_t, uint64_t

import numpy as np

from dforest.core.threads cimport Turn, poll, share

cdef extern from "core/checksum.h" nogil:
    uint64_t df_checksum(const unsigned char* bytes, size_t n)

cdef enum:
    PIECE_BYTES = 1 << 20
    SHARED_PIECES = 4              # that are worth another thread

cdef struct Pieces:
    const unsigned char* bytes
    int64_t n
    uint64_t* sums                 # [n_pieces]


cdef int add_up_piece(void* context, Py_ssize_t piece, Turn* turn) except -1 nogil:
    cdef const Pieces* pieces = <const Pieces*> context
    cdef int64_t first = piece * PIECE_BYTES, n = min(<int64_t> PIECE_BYTES, pieces.n - first)
    pieces.sums[piece] = df_checksum(pieces.bytes + first, n)
    return poll(turn, n >> 3)


def checksum(array not None, int n_threads=1):
    """The checksum of an array's bytes.

    Parameters
    ----------
    array : ndarray or bytes
        C-contiguous.
    n_threads : int, default=1
        At most so many work at it.

    Returns
    -------
    int
        Below 2**64.
    """
    cdef const unsigned char[::1] view = np.frombuffer(array, np.uint8) if len(array) else np.empty(0, np.uint8)
    cdef int64_t n = view.shape[0], n_pieces = (n + PIECE_BYTES - 1) // PIECE_BYTES
    sums = np.empty(n_pieces, np.uint64)
    cdef uint64_t[::1] to_sums = sums
    cdef const unsigned char[::1] end
    cdef Pieces pieces
    if n_pieces == 0:
        return df_checksum(NULL, 0)
    pieces.bytes, pieces.n, pieces.sums = &view[0], n, &to_sums[0]
    share(add_up_piece, &pieces, n_pieces, max(1, min(n_threads, <int> (n_pieces // SHARED_PIECES))))
    end = sums.astype("<u8").view(np.uint8)
    return df_checksum(&end[0], end.shape[0])
