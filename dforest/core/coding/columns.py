"""All columns of a matrix as codes: which column is coded in which way, and by which threads.

Columns of numbers get bins, or ranks of their distinct values (`dforest.core.coding.column_sort`), or, where no list of distinct
values is needed, keys. Columns of categories hold their codes already. Of sparse X, columns that are mostly zero become sparse
columns (`dforest.core.coding.sparse_columns`).
"""

from functools import partial

import numpy as np

from dforest.core.coding.code_rule import MISSING_KEY, CodeRule, facts_of, unsorted_column, write_codes
from dforest.core.coding.coded_columns import CodedColumns, SparseBatch
from dforest.core.coding.column_sort import ColumnSort, code_together
from dforest.core.coding.sparse_columns import Coder
from dforest.core.scratch import scratch
from dforest.core.sparse_rows import SparseColumns, SparseRows
from dforest.core.threads import each

CONTINUOUS, CATEGORICAL = 0, 2  # kinds of columns
ROWS_IN_CHUNK = 1 << 14  # least
COLUMNS_IN_CHUNK = 64  # of sparse columns
FIRST = np.zeros(1, np.int64)  # the number of the only column of a matrix
BLOCK_BYTES = 1 << 25  # most that columns copied out of X take, for one thread
BATCH = 1 << 16  # stored values of a batch, about
SORT_WORK = 50  # of a value that is sorted, in nanoseconds or so


def code_columns(
    X, max_codes=0, weight=None, n_threads=1, kinds=None, n_categories=None, takes_keys=False, counts_missing=True, max_stored=0.0
):
    """Code all columns of a matrix.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), dtype float32 or float64, or SparseRows
        NaN means missing; infinities are ordinary values.
    max_codes : int
        Most codes of a column, from 2; 0: a code for each distinct value.
    weight : ndarray of shape (n_rows,), dtype uint32, optional
        Integer weights, 1 or more; bins get equal shares of them. None: all 1.
    n_threads : int
    kinds : sequence of int, optional
        0: continuous, 1: ordinal, 2: categorical; None: all continuous. Categories are not binned.
    n_categories : sequence of int, optional
        Of the categorical columns, which hold numbers below and NaN.
    takes_keys : bool
        Whether continuous columns are coded by keys, which takes no sorting; max_codes is 0.
    counts_missing : bool
        Whether the code for missing values is one of max_codes.
    max_stored : float
        Of SparseRows: columns of which at most this share of the rows is stored, less than 1, become sparse columns.

    Returns
    -------
    sequence of CodedColumn
    """
    n_features = X.shape[1]
    kinds = [CONTINUOUS] * n_features if kinds is None else [int(kind) for kind in kinds]
    is_sorted = np.array([kind != CATEGORICAL and not (takes_keys and kind == CONTINUOUS) for kind in kinds], bool)
    to_sort, others = np.flatnonzero(is_sorted), np.flatnonzero(~is_sorted).tolist()
    sort = max_codes, counts_missing, weight
    if isinstance(X, SparseRows):
        return _code_sparse_rows(X, kinds, to_sort, others, n_categories, sort, max_stored, n_threads)
    columns = code_unsorted([X], others, kinds, n_categories, n_threads)
    columns |= _sort_all(X, to_sort.tolist(), kinds, sort, n_threads)
    return [columns[j] for j in range(n_features)]


def code_unsorted(parts, numbers, kinds, n_categories, n_threads):
    """Code columns of categories, and of keys, of 32 bits where all values are float32 numbers.

    Parameters
    ----------
    parts : list of (ndarray of shape (n_k, n_features), or SparseColumns), dtype float32 or float64
        One above the other.
    numbers : list of int
        Which columns.
    kinds, n_categories, n_threads
        As of `code_columns`.

    Returns
    -------
    dict of int to CodedColumn
    """
    facts = unsorted_facts(parts, numbers, n_threads)
    described = describe_unsorted(numbers, facts, kinds, parts[0].dtype, n_categories)
    return dict(zip(numbers, write_columns(parts, numbers, *described, n_threads), strict=True))


def unsorted_facts(parts, numbers, n_threads):
    """What `facts_of` finds of columns, in chunks of rows: ndarray of shape (len(numbers), 2), dtype uint8."""
    facts, own = np.zeros((len(numbers), 2), np.uint8), np.array(numbers, np.int64)
    if numbers:
        for x in parts:
            if isinstance(x, SparseColumns):  # zeros are no news
                each_column(x, numbers, lambda k, values, _: facts_of(values, FIRST, facts[k : k + 1]), n_threads)
        pieces = [piece for x in parts if not isinstance(x, SparseColumns) for piece, _ in chunks_of(x)]
        each(len(pieces), lambda p, _: facts_of(pieces[p], own, facts), n_threads)
    return facts


def chunks_of(x, offset=0):
    """Some rows of a matrix at a time, and where they begin, if the matrix begins at `offset`."""
    return [(x[first : first + ROWS_IN_CHUNK], offset + first) for first in range(0, len(x), ROWS_IN_CHUNK)]


def each_column(stored, numbers, work, n_threads):
    """Call ``work(k, values, rows)`` for some `SparseColumns`, numbers[k], with matrices of one column and the rows of these."""
    edges = np.arange(0, len(numbers) + COLUMNS_IN_CHUNK, COLUMNS_IN_CHUNK).clip(max=len(numbers))

    def work_on(b, _):
        for k in range(edges[b], edges[b + 1]):
            values, rows = stored.column(numbers[k])
            if len(values):
                work(k, values[:, None], rows)

    each(len(edges) - 1, work_on, n_threads)


def describe_unsorted(numbers, facts, kinds, dtype, n_categories):
    """(columns without codes, their rules, their largest codes) of columns of categories and of keys, given their facts."""
    found = [
        unsorted_column(kinds[j], dtype, has_missing, is_wide, 0 if kinds[j] != CATEGORICAL else n_categories[j])
        for j, (has_missing, is_wide) in zip(numbers, facts.tolist(), strict=True)
    ]
    return tuple(map(list, zip(*found, strict=True))) if found else ([], [], [])


def write_columns(parts, numbers, columns, rules, largest, n_threads, row_major=False):
    """Write the codes of columns whose rules are known.

    Parameters
    ----------
    parts : list of (ndarray of shape (n_k, n_features), or SparseColumns)
        One above the other.
    numbers : list of int
        Which columns of these.
    columns : list of CodedColumn
        Without codes.
    rules : list of CodeRule
    largest : list of int
        The largest code of each column.
    n_threads : int
    row_major : bool
        Whether codes lie row by row, in one matrix of the widest code's dtype; the codes of a column are then a view of it.

    Returns
    -------
    list of CodedColumn
    """
    n_rows, dtypes = sum(map(len, parts)), [np.min_scalar_type(code) for code in largest]
    if row_major:
        matrix = np.empty((n_rows, len(columns)), max(dtypes, key=lambda dtype: dtype.itemsize))
        codes = [matrix[:, j] for j in range(len(columns))]
    else:
        codes = [np.empty(n_rows, dtype) for dtype in dtypes]
    pieces, offset, own = [], 0, np.array(numbers, np.int64)
    for x in parts:
        if not isinstance(x, SparseColumns):
            pieces += chunks_of(x, offset)
        elif numbers:
            to = [c[offset : offset + len(x)] for c in codes]
            write_zeros(rules, to, x.dtype, matrix[offset : offset + len(x)] if row_major else None)
            each_column(x, numbers, partial(_write_stored, rules, to), n_threads)
        offset += len(x)
    if numbers:
        each(len(pieces), lambda p, _: write_codes(*pieces[p], own, rules, codes), n_threads)
    return [column._replace(codes=c) for column, c in zip(columns, codes, strict=True)]


def write_zeros(rules, codes, dtype, matrix):
    """Write the code of zero to all rows of some columns, which are those of a matrix if there is one."""
    zeros = [np.empty(1, column.dtype) for column in codes]
    write_codes(np.zeros((1, 1), dtype), 0, np.zeros(len(rules), np.int64), rules, zeros)
    if matrix is not None:
        matrix[...] = np.concatenate(zeros)
        return
    for column, zero in zip(codes, zeros, strict=True):
        column[...] = zero


def _write_stored(rules, codes, k, values, rows):
    """Write the codes of a sparse column's stored values."""
    found = np.empty(len(rows), codes[k].dtype)
    write_codes(values, 0, FIRST, [rules[k]], [found])
    codes[k][rows] = found


def _sort_all(X, to_sort, kinds, sort, n_threads):
    """Columns that are sorted by row: a dict of int to CodedColumn."""
    n_rows, n = len(X), len(to_sort)
    if n == 0:
        return {}
    # A few columns at a time are copied out of row-major X, so that a cache line serves them all; as many blocks for each thread.
    width = 1
    if not X.flags.f_contiguous:
        width = max(1, min(8, n // (2 * n_threads), BLOCK_BYTES // X[:, 0].nbytes))
    width = -(-n // (-(-n // (width * n_threads)) * n_threads))
    blocks = [to_sort[first : first + width] for first in range(0, n, width)]
    # Scratch takes `width` + 4 times a column for each thread; it is kept to about twice the size of X.
    n_alone = max(1, min(n_threads, len(blocks), 2 * X.shape[1] // (width + 4)))
    if n_threads >= 2 * n_alone and n_rows >= 2 * ROWS_IN_CHUNK:
        n_chunks = min(-(-2 * n_threads // n_alone), n_rows // ROWS_IN_CHUNK)
        coded = code_together(X, to_sort, *sort, n_threads, min(n, n_alone), n_chunks)
        return {j: column._replace(kind=kinds[j]) for j, column in zip(to_sort, coded, strict=True)}
    sorts = [ColumnSort(n_rows, X.dtype == np.float32) for _ in range(n_alone)]
    copies = [scratch((width, n_rows), X.dtype) for _ in range(n_alone)]
    columns = {}

    def work(b, number):
        block = copies[number][: len(blocks[b])]
        is_range = blocks[b][-1] - blocks[b][0] + 1 == len(blocks[b])
        block[...] = X[:, slice(blocks[b][0], blocks[b][-1] + 1) if is_range else blocks[b]].T
        for j, x in zip(blocks[b], block, strict=True):
            columns[j] = sorts[number].code(x, *sort)._replace(kind=kinds[j])

    each(len(blocks), work, n_alone, SORT_WORK * n * n_rows)
    return columns


def _code_sparse_rows(X, kinds, to_sort, others, n_categories, sort, max_stored, n_threads):
    """`code_columns` for SparseRows."""
    stored, n_rows = X.by_column(), len(X)
    is_sparse = (np.diff(stored.starts) <= max_stored * n_rows) & (max_stored > 0)
    columns = code_unsorted([stored], [j for j in others if not is_sparse[j]], kinds, n_categories, n_threads)
    kinds = np.array(kinds, np.int64)
    numbers, others = to_sort[~is_sparse[to_sort]], np.array([j for j in others if is_sparse[j]], np.int64)
    coded = dense_columns(code_sparse(stored, numbers, kinds[numbers], n_rows, *sort, n_threads, one_by_one=True), n_rows)
    columns |= zip(numbers.tolist(), coded, strict=True)
    if not is_sparse.any():
        return [columns[j] for j in range(X.shape[1])]
    # Before what is sorted: that changes the rows that are stored.
    batches = code_sparse_unsorted(stored, others[kinds[others] == CATEGORICAL], n_categories, n_threads)
    batches += code_sparse_unsorted(stored, others[kinds[others] != CATEGORICAL], None, n_threads)
    numbers = to_sort[is_sparse[to_sort]]
    return CodedColumns(columns, batches + code_sparse(stored, numbers, kinds[numbers], n_rows, *sort, n_threads))


def code_sparse_unsorted(stored, numbers, n_categories, n_threads):
    """Code some columns of categories, or of keys, as sparse ones.

    Parameters
    ----------
    stored : SparseColumns
    numbers : ndarray of int
        Which columns, ascending.
    n_categories : sequence of int, or None
        Of all columns of categories; None: these are continuous columns, which get keys.
    n_threads : int

    Returns
    -------
    list of SparseBatch
    """
    facts, has_keys = unsorted_facts([stored], numbers.tolist(), n_threads), n_categories is None
    kind = CONTINUOUS if has_keys else CATEGORICAL
    n_codes = np.zeros(len(numbers), np.int64) if has_keys else np.asarray(n_categories, np.int64)[numbers]
    batches = batches_of(np.diff(stored.starts)[numbers])
    coded = [None] * len(batches)

    def work(b, _):
        own = slice(*batches[b])
        of_columns = [stored.column(j) for j in numbers[own]]
        values, rows = map(np.concatenate, zip(*of_columns, strict=True))
        column = np.repeat(np.arange(len(of_columns)), [len(values) for values, _ in of_columns])
        if has_keys:
            codes, implied = keys_of(values, facts[own, 1].any())
        else:
            codes, implied = np.where(np.isnan(values), n_codes[own][column], values), 0
            codes = codes.astype(np.min_scalar_type(n_codes[own].max()))
        kept = codes != implied
        own_facts = np.empty((len(of_columns), 4), np.int64)
        own_facts[:, 0], own_facts[:, 2] = n_codes[own], facts[own, 0]
        own_facts[:, 1] = np.uint64(implied).view(np.int64)
        own_facts[:, 3] = np.bincount(column[kept], minlength=len(of_columns))
        categories = np.concatenate([np.arange(n, dtype=values.dtype) for n in n_codes[own]])
        kinds = np.full(len(of_columns), kind, np.int64)
        coded[b] = SparseBatch(numbers[own], kinds, own_facts, *3 * [categories], rows[kept], codes[kept], has_keys)

    each(len(batches), work, n_threads)
    return coded


def keys_of(values, is_wide):
    """(keys of 64 or 32 bits of values, ndarray; that of zero)."""
    n_bytes = 8 if is_wide else 4
    rule, keys = CodeRule(MISSING_KEY[n_bytes], key_bits=8 * n_bytes), np.empty(len(values) + 1, f"u{n_bytes}")
    write_codes(np.append(values, values.dtype.type(0))[:, None], 0, FIRST, [rule], [keys])
    return keys[:-1], keys[-1]


def batches_of(n_stored):
    """(begin, end) of batches of columns, given how many values each stores: list of tuple of int."""
    before = np.cumsum(n_stored + 1)
    edges = np.searchsorted(before, np.arange(BATCH, before[-1], BATCH)).tolist() if len(before) else []
    edges = sorted({0, *edges, len(n_stored)})
    return list(zip(edges[:-1], edges[1:], strict=True))


def code_sparse(stored, numbers, kinds, n_rows, max_codes, counts_missing, weight, n_threads, one_by_one=False):
    """Code some columns of numbers as sparse ones.

    Parameters
    ----------
    stored : SparseColumns
        Its rows become those of the batches: those of other columns between these are lost, too.
    numbers : ndarray of int
        Which columns, ascending.
    kinds : ndarray of int
        Of these columns: see `CodedColumn`.
    n_rows : int
    max_codes, counts_missing, weight, n_threads
        As of `code_columns`.
    one_by_one : bool, default=False
        Whether each column is a batch of its own, so that no rows of other columns are lost.

    Returns
    -------
    list of SparseBatch
    """
    if len(numbers) == 0:
        return []
    begin, end = stored.starts[:-1][numbers], stored.starts[1:][numbers]
    n_stored = end - begin
    most = n_stored + 1 if max_codes == 0 else np.minimum(n_stored + 1, max_codes)     # codes of values
    largest = int(most.max())                                                          # that of missing values, ...
    if max_codes and counts_missing:
        largest = min(largest, max_codes - 1)                                          # ... which counts
    dtype = np.uint8 if largest <= 0xFF else np.uint16 if largest <= 0xFFFF else np.uint32
    all_weights = n_rows if weight is None else int(weight.sum(dtype=np.int64))
    batches = [(c, c + 1) for c in range(len(numbers))] if one_by_one else batches_of(n_stored)
    coders = [Coder(int(n_stored.max()), n_rows, max_codes, counts_missing, weight, all_weights) for _ in range(n_threads)]
    coded = [None] * len(batches)

    def work(b, number):
        own = slice(*batches[b])
        n = int(n_stored[own].sum())
        values = np.empty((3 if max_codes else 1, int(most[own].sum())))
        codes = np.empty(n, dtype)             # more than are kept, if zeros are stored
        facts = np.empty((own.stop - own.start, 4), np.int64)
        coders[number].code_batch(stored.values, stored.rows, begin[own], end[own], values, codes, facts)
        first = own.start + int((n_stored[own] > 0).argmax())   # the column from whose beginning on rows are kept
        rows = stored.rows[begin[first] :][: facts[:, 3].sum()]
        values = values[:, : facts[:, 0].sum()].astype(stored.values.dtype)
        edges, lows, highs = values if max_codes else 3 * [values[0]]
        if max_codes and (lows == highs).all():
            highs = lows = lows.copy()
            edges = edges.copy()
        coded[b] = SparseBatch(numbers[own], kinds[own], facts, edges, lows, highs, rows, codes)

    each(len(batches), work, n_threads)
    return coded


def dense_columns(batches, n_rows):
    """Yield the columns of batches as dense ones, which have the codes of all rows.

    Parameters
    ----------
    batches : list of SparseBatch
    n_rows : int

    Yields
    ------
    CodedColumn
    """
    for batch in batches:
        starts = batch.starts()
        for c in range(len(batch.numbers)):
            column = batch.column(c, starts)
            largest = max(0, len(column.values) - 1 + column.has_missing)
            codes = np.full(n_rows, min(column.implied, largest), np.min_scalar_type(largest))
            codes[column.rows] = column.codes
            yield column._replace(codes=codes, rows=None, implied=0)
