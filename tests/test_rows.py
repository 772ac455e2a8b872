"""Which rows a rank holds."""

import numpy as np
import pytest

from dforest.core.sparse_rows import SparseRows
from dforest.engines.rows import RowShare
from dforest.rules.arrays import BLOCK
from dforest.spmd.communicator import ALONE
from dforest.spmd.threads import ThreadGroup


def test_rows_are_numbered_by_the_order_of_ranges():
    given = [([3, 0], [2, 4]), ([], []), ([1, 3], [0, 5])]

    def work(communicator):
        share = RowShare.agreed(communicator, *given[communicator.rank])
        return share.n_rows, share.n_own, share.numbers().tolist()

    assert ThreadGroup(3).run(work) == [(11, 6, [4, 5, 0, 1, 2, 3]), (11, 0, []), (11, 5, [6, 7, 8, 9, 10])]


def test_what_rows_have_is_put_in_the_order_of_their_numbers():
    given = [([3, 0], [2, 4]), ([], []), ([1, 3], [0, 5])]

    def work(communicator):
        share = RowShare.agreed(communicator, *given[communicator.rank])
        X = share.numbers()[:, None] * np.array([1.0, 0.0, 2.0])
        some = SparseRows.of_any(X) if communicator.rank != 2 else X  # whose first row stores nothing
        numbers, texts = (share.gathered(communicator, share.numbers().astype(kind)) for kind in (np.uint32, "U2"))
        return numbers, texts, share.gathered_X(communicator, X), share.gathered_X(communicator, some)

    for numbers, texts, dense, sparse in ThreadGroup(3).run(work):
        assert (numbers.dtype, numbers.tolist()) == (np.uint32, list(range(11)))
        assert texts.tolist() == [str(number) for number in range(11)]
        assert dense.tolist() == sparse.toarray().tolist() == [[number, 0, 2 * number] for number in range(11)]
        sparse.check()


def test_there_may_be_no_rows():
    share = RowShare.agreed(ALONE, [], [])
    assert (share.n_rows, share.n_own) == (0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_pieces_lie_in_one_block_each(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, [1, 5, 2 * BLOCK, 3 * BLOCK][seed % 4] + 1, rng.integers(1, 6))
    starts = rng.permutation(np.cumsum(lengths) - lengths) if seed % 2 else np.cumsum(lengths) - lengths
    share = RowShare(int((starts + lengths).max()), starts, lengths)
    block, first, length = share.pieces()
    found = [np.arange(b * BLOCK + f, b * BLOCK + f + n) for b, f, n in zip(block, first, length, strict=True)]
    np.testing.assert_array_equal(np.concatenate([*found, np.zeros(0, np.int64)]), share.numbers())
    assert (length > 0).all()
    assert (first + length <= BLOCK).all()
