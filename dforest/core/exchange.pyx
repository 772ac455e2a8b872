"""Data on their way out of this process: records of nodes as packed records to another rank, and checksums of arrays in files.

A packed record consists of the exact target and the exact weight of its row, if there are such; the record's count and target;
its weight, unless all weights are 1; and the codes of its row. The packed records to one rank lie one after another, node by
node. A *range* is records of one node that one rank has sent, or sends.

The rank that gets packed records makes columns of their codes, as growers want them: the records of each node together, those of
one sender after those of another. If two senders have 2 and 1 records of one node, and 0 and 2 of another one:

    packed records of the first sender     a b           lengths   2 0
    packed records of the second sender    c d e                   1 2
    rows                                   a b c | d e

A checksum is fast enough to be compared whenever a file is opened. The bytes of an array are cut into *blocks* of
`CHECKED_BYTES`, the last of which may have fewer, so that threads can share them. The checksum of the array is the XXH64 of the
blocks' XXH64, one after another, as little-endian numbers of 8 bytes.

Nothing here is kept: arrays are the caller's.
"""
import math

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import numpy as np

from dforest.core.prefetch cimport df_prefetch
from dforest.core.threads cimport WorkerContext, parallel_for, poll
from dforest.core.types cimport column_t
from dforest.rules.records cimport df_record

from dforest.core.scratch import scratch
from dforest.rules import records as rules

cdef extern from "core/checksum.h" nogil:
    uint64_t df_checksum(const unsigned char* bytes, size_t n)

ctypedef fused code_t:         # codes in packed records
    uint8_t
    uint16_t
    uint32_t
    uint64_t

cdef enum:
    TOGETHER = 256             # packed records that are read or written in one go: they stay in a cache while columns are filled
    CHUNK = 1 << 13            # packed records that a thread takes at a time
    AHEAD = 16                 # packed records before a row is read, its codes are asked for
    RECORD_WORK = 32           # what a packed record counts as work, in nanoseconds or so: see threads.pxd

LARGE = 1 << 17                # bytes of an array that is large

cdef struct Form:              # of packed records
    Py_ssize_t n_targets       # exact targets of one
    bint has_weight, has_exact
    Py_ssize_t width           # bytes of one
    Py_ssize_t n_columns
    int code_width             # bytes of a code

cdef struct Packing:
    Form form
    const df_record* records
    const double* y
    const double* exact_weight
    const int64_t* first_weights  # [n_ranges] where those of its tree's rows begin; below 0: it has none
    const char* codes          # [n_rows, n_columns]
    Py_ssize_t n_ranges
    const int64_t* firsts      # [n_ranges] where the records of each begin,
    const int64_t* ends        # [n_ranges] and where its packed records end
    char* packed

cdef struct Unpacking:
    Form form
    df_record* records
    double* y
    double* exact_weight
    char** columns             # [n_columns] where the codes of each go
    int* widths                # [n_columns] bytes of its codes
    Py_ssize_t n_ranges
    const int64_t* firsts      # [n_ranges] where its rows begin,
    const int64_t* ends        # [n_ranges] and where its packed records end
    const char* packed


cdef Form form_of(Py_ssize_t n_targets, bint has_weight, bint has_exact, codes) noexcept:
    cdef Form form
    form.n_targets, form.has_weight, form.has_exact = n_targets, has_weight, has_exact
    form.n_columns = codes.shape[1]
    form.code_width = codes.dtype.itemsize
    form.width = 8 * n_targets + 8 * has_exact + 8 + 4 * has_weight + form.n_columns * form.code_width
    return form


cdef Py_ssize_t range_at(const int64_t* ends, Py_ssize_t n, int64_t number) noexcept nogil:
    """The range that a packed record belongs to."""
    cdef Py_ssize_t low = 0, high = n, middle
    while low < high:
        middle = (low + high) // 2
        if ends[middle] <= number:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline void pack_record(const Packing* p, int64_t i, int64_t first_weight, char* to) noexcept nogil:
    cdef const df_record* record = p.records + i
    cdef Py_ssize_t row = record.row, bytes = p.form.n_columns * p.form.code_width
    cdef double exact_weight
    if p.form.n_targets > 0:           # else there is no array of them
        memcpy(to, p.y + row * p.form.n_targets, 8 * p.form.n_targets)
    to += 8 * p.form.n_targets
    if p.form.has_exact:
        exact_weight = p.exact_weight[first_weight + row] if first_weight >= 0 else 0.0
        memcpy(to, &exact_weight, 8)
        to += 8
    memcpy(to, &record.count, 4)
    memcpy(to + 4, &record.target, 4)
    to += 8
    if p.form.has_weight:
        memcpy(to, &record.weight, 4)
        to += 4
    memcpy(to, p.codes + row * bytes, bytes)


cdef int pack_chunk(void* context, Py_ssize_t item, WorkerContext* worker) except -1 nogil:
    cdef const Packing* p = <const Packing*> context
    cdef int64_t at = item * CHUNK, last = min(at + CHUNK, p.ends[p.n_ranges - 1]), i, end
    cdef Py_ssize_t s = range_at(p.ends, p.n_ranges, at), bytes = p.form.n_columns * p.form.code_width
    while at < last:
        while p.ends[s] <= at:
            s += 1
        i = p.firsts[s] + at - (p.ends[s - 1] if s > 0 else 0)
        end = i + min(p.ends[s], last) - at
        while i < end:
            if i + AHEAD < end:        # rows lie anywhere
                df_prefetch(p.codes + p.records[i + AHEAD].row * bytes)
            pack_record(p, i, p.first_weights[s], p.packed + at * p.form.width)
            i += 1
            at += 1
    return poll(worker, CHUNK * RECORD_WORK)


def pack(records, const int64_t[::1] firsts not None, const int64_t[::1] lengths not None,
         const int64_t[::1] first_weights not None, codes, y, bint has_weight, exact_weight, int n_threads):
    """Packed records of the records of some nodes.

    Parameters
    ----------
    records : ndarray of shape (n_records,), dtype df_record
    firsts, lengths : ndarray of shape (n_nodes,), dtype int64
        Where the records of each node begin, and how many there are, possibly none.
    first_weights : ndarray of shape (n_nodes,), dtype int64
        Where the exact weights of its tree's rows begin; below 0, it has none.
    codes : ndarray of shape (n_rows, n_columns), dtype uint8, uint16, uint32 or uint64
        C-contiguous.
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs), dtype float64, or None
        Exact targets; C-contiguous.
    has_weight : bool
        Whether the records' weights are sent.
    exact_weight : ndarray, dtype float64, or None
        Exact weights.
    n_threads : int

    Returns
    -------
    ndarray of shape (n_packed, n_bytes), dtype uint8
    """
    cdef Packing p
    cdef const df_record[::1] from_records = records
    cdef const double[:, ::1] from_y = None if y is None else y.reshape(len(y), math.prod(y.shape[1:]))
    cdef const double[::1] from_weight = exact_weight
    cdef size_t address = codes.ctypes.data
    cdef const int64_t[::1] ends = np.cumsum(lengths)
    cdef Py_ssize_t n = ends[ends.shape[0] - 1] if ends.shape[0] else 0
    check_codes(codes)
    p.form = form_of(0 if y is None else from_y.shape[1], has_weight, exact_weight is not None, codes)
    cdef uint8_t[:, ::1] packed = new_array((n, p.form.width), np.uint8)
    if n == 0:
        return np.asarray(packed)
    p.records = &from_records[0]
    p.y = &from_y[0, 0] if y is not None else NULL
    p.exact_weight = &from_weight[0] if exact_weight is not None else NULL
    p.first_weights = &first_weights[0]
    p.codes = <const char*> address
    p.n_ranges = ends.shape[0]
    p.firsts = &firsts[0]
    p.ends = &ends[0]
    p.packed = <char*> &packed[0, 0]
    parallel_for(pack_chunk, &p, (n + CHUNK - 1) // CHUNK, n_threads)
    return np.asarray(packed)


cdef void take_column(code_t* _, const char* codes, Py_ssize_t width, Py_ssize_t n, column_t* to) noexcept nogil:
    """Copy a code of each of n packed records."""
    cdef Py_ssize_t i
    cdef code_t code
    for i in range(n):
        memcpy(&code, codes + i * width, sizeof(code_t))
        to[i] = <column_t> code


cdef void take_columns(code_t* like, const Unpacking* u, const char* codes, int64_t row, Py_ssize_t n) noexcept nogil:
    """Copy the codes of n packed records to the columns, from a row on."""
    cdef Py_ssize_t j
    cdef char* to
    for j in range(u.form.n_columns):
        to = u.columns[j] + row * u.widths[j]
        if u.widths[j] == 1:
            take_column(like, codes, u.form.width, n, <uint8_t*> to)
        elif u.widths[j] == 2:
            take_column(like, codes, u.form.width, n, <uint16_t*> to)
        elif u.widths[j] == 4:
            take_column(like, codes, u.form.width, n, <uint32_t*> to)
        else:
            take_column(like, codes, u.form.width, n, <uint64_t*> to)
        codes += sizeof(code_t)


cdef void unpack_records(const Unpacking* u, const char* packed, int64_t row, Py_ssize_t n) noexcept nogil:
    """Read n packed records, whose records go to the rows from `row` on."""
    cdef Py_ssize_t i, n_targets = u.form.n_targets, at = 8 * n_targets + 8 * u.form.has_exact
    cdef df_record* record
    for i in range(n):
        record = u.records + row + i
        if n_targets > 0:
            memcpy(u.y + (row + i) * n_targets, packed + i * u.form.width, 8 * n_targets)
        if u.form.has_exact:
            memcpy(u.exact_weight + row + i, packed + i * u.form.width + 8 * n_targets, 8)
        record.row = <uint32_t> (row + i)
        memcpy(&record.count, packed + i * u.form.width + at, 4)
        memcpy(&record.target, packed + i * u.form.width + at + 4, 4)
        record.weight = 1
        if u.form.has_weight:
            memcpy(&record.weight, packed + i * u.form.width + at + 8, 4)
    packed += at + 8 + 4 * u.form.has_weight
    if u.form.code_width == 1:
        take_columns(<uint8_t*> NULL, u, packed, row, n)
    elif u.form.code_width == 2:
        take_columns(<uint16_t*> NULL, u, packed, row, n)
    elif u.form.code_width == 4:
        take_columns(<uint32_t*> NULL, u, packed, row, n)
    else:
        take_columns(<uint64_t*> NULL, u, packed, row, n)


cdef int unpack_chunk(void* context, Py_ssize_t item, WorkerContext* worker) except -1 nogil:
    cdef const Unpacking* u = <const Unpacking*> context
    cdef int64_t at = item * CHUNK, last = min(at + CHUNK, u.ends[u.n_ranges - 1]), begin, n
    cdef Py_ssize_t s = range_at(u.ends, u.n_ranges, at)
    while at < last:
        while u.ends[s] <= at:
            s += 1
        begin = u.ends[s - 1] if s > 0 else 0
        n = min(min(u.ends[s], last) - at, <int64_t> TOGETHER)
        unpack_records(u, u.packed + at * u.form.width, u.firsts[s] + at - begin, n)
        at += n
    return poll(worker, CHUNK * RECORD_WORK)


def unpack(parts, const int64_t[:, ::1] lengths not None, codes, Py_ssize_t n_targets, bint has_weight, bint has_exact, dtypes,
           int n_threads):
    """What packed records say.

    Parameters
    ----------
    parts : list of ndarray of shape (n_packed of the sender, n_bytes), dtype uint8
        Packed records by sender; C-contiguous.
    lengths : ndarray of shape (n_senders, n_nodes), dtype int64
        How many records of each node a sender has sent.
    codes : ndarray of shape (., n_columns)
        Of the type that the codes in packed records have.
    n_targets : int
        How many exact targets a packed record has; 0: none.
    has_weight, has_exact : bool
        Whether packed records have weights, and exact weights.
    dtypes : sequence of dtype
        Of each column of codes: uint8, uint16, uint32 or uint64. Its codes must fit.
    n_threads : int

    Returns
    -------
    columns : list of ndarray of shape (n_records,)
        The codes of each column.
    records : ndarray of shape (n_records,), dtype df_record
        Those of each node together; `row` is the record's own number.
    y : ndarray of shape (n_records,) or (n_records, n_targets), dtype float64, or None
    exact_weight : ndarray of shape (n_records,), dtype float64, or None

    Raises
    ------
    ValueError
        If packed records are of another form or number.
    """
    cdef Unpacking u
    cdef size_t address
    cdef Py_ssize_t j
    cdef const uint8_t[:, ::1] packed
    cdef const int64_t[::1] firsts, ends
    counts = np.asarray(lengths)
    of_node = counts.sum(axis=0)
    n = int(of_node.sum())
    before = np.cumsum(of_node) - of_node + np.cumsum(counts, axis=0) - counts
    columns = [new_array((n,), dtype) for dtype in dtypes]
    records = new_array((n,), rules.record("df_record"))
    y = new_array((n,) if n_targets == 1 else (n, n_targets), np.float64) if n_targets else None
    exact_weight = new_array((n,), np.float64) if has_exact else None
    check_codes(codes, *columns)
    u.form = form_of(n_targets, has_weight, has_exact, codes)
    if len(columns) != u.form.n_columns or len(parts) != len(counts):
        raise ValueError(f"{len(columns)} columns and {len(parts)} senders, of {u.form.n_columns} and {len(counts)}")
    for part, count in zip(parts, counts, strict=True):
        if part.shape != (count.sum(), u.form.width):
            raise ValueError(f"packed records of shape {part.shape}; allowed are {count.sum()} of {u.form.width} bytes")
    u.columns = <char**> malloc(len(columns) * sizeof(char*) + 1)
    u.widths = <int*> malloc(len(columns) * sizeof(int) + 1)
    try:
        if u.columns == NULL or u.widths == NULL:
            raise MemoryError()
        for j, column in enumerate(columns):
            address = column.ctypes.data
            u.columns[j] = <char*> address
            u.widths[j] = column.itemsize
        address = records.ctypes.data
        u.records = <df_record*> address
        address = y.ctypes.data if n_targets else 0
        u.y = <double*> address
        address = exact_weight.ctypes.data if has_exact else 0
        u.exact_weight = <double*> address
        for part, count, first in zip(parts, counts, before, strict=True):
            if len(part) == 0:
                continue
            packed, firsts, ends = part, first, np.cumsum(count)
            u.packed, u.firsts, u.ends = <const char*> &packed[0, 0], &firsts[0], &ends[0]
            u.n_ranges = ends.shape[0]
            parallel_for(unpack_chunk, &u, (len(part) + CHUNK - 1) // CHUNK, n_threads)
    finally:
        free(u.columns)
        free(u.widths)
    return columns, records, y, exact_weight


def new_array(shape, dtype):
    """An array for a while. The memory of a large one goes back to the system with it: see `scratch`."""
    return scratch(shape, dtype) if math.prod(shape) * np.dtype(dtype).itemsize >= LARGE else np.empty(shape, dtype)


def check_codes(*arrays):
    """Raise ValueError unless arrays are C-contiguous, of unsigned integers."""
    for array in arrays:
        if array.dtype.kind != "u" or not array.dtype.isnative or not array.flags.c_contiguous:
            raise ValueError(f"codes of dtype {array.dtype}; allowed are contiguous arrays of uint8, uint16, uint32 and uint64")


cdef enum:
    CHECKED_BYTES = 1 << 20
    SHARED_BLOCKS = 4              # that are worth another thread

cdef struct CheckedBlocks:
    const unsigned char* bytes
    int64_t n
    uint64_t* sums                 # [n_blocks]


cdef int checksum_block(void* context, Py_ssize_t block, WorkerContext* worker) except -1 nogil:
    cdef const CheckedBlocks* blocks = <const CheckedBlocks*> context
    cdef int64_t first = block * CHECKED_BYTES, n = min(<int64_t> CHECKED_BYTES, blocks.n - first)
    blocks.sums[block] = df_checksum(blocks.bytes + first, n)
    return poll(worker, n >> 3)


def checksum(array not None, int n_threads=1):
    """The checksum of an array's bytes.

    Parameters
    ----------
    array : ndarray or bytes
        C-contiguous.
    n_threads : int, default=1
        The most threads that may work at it.

    Returns
    -------
    int
        Below 2**64.
    """
    cdef const unsigned char[::1] view = np.frombuffer(array, np.uint8) if len(array) else np.empty(0, np.uint8)
    cdef int64_t n = view.shape[0], n_blocks = (n + CHECKED_BYTES - 1) // CHECKED_BYTES
    sums = np.empty(n_blocks, np.uint64)
    cdef uint64_t[::1] to_sums = sums
    cdef const unsigned char[::1] end
    cdef CheckedBlocks blocks
    if n_blocks == 0:
        return df_checksum(NULL, 0)
    blocks.bytes, blocks.n, blocks.sums = &view[0], n, &to_sums[0]
    parallel_for(checksum_block, &blocks, n_blocks, max(1, min(n_threads, <int> (n_blocks // SHARED_BLOCKS))))
    end = sums.astype("<u8").view(np.uint8)
    return df_checksum(&end[0], end.shape[0])
