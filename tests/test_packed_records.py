"""Records that travel packed come back as they were, with what belongs to their rows."""

import numpy as np
import pytest

from dforest.core.exchange import pack, unpack
from dforest.rules.records import record


def sender(rng, n_nodes, codes_dtype, has_weight):
    """Records of some nodes on one sender: (records, firsts, lengths, codes, numbers of the rows)."""
    n_rows = int(rng.integers(1, 3000))
    codes = rng.integers(0, min(2**16, np.iinfo(codes_dtype).max), (n_rows, 5)).astype(codes_dtype)
    lengths = rng.integers(0, rng.choice([1, 3, 1000, 20000]) + 1, n_nodes)
    records = np.zeros(int(lengths.sum()) + 10, record("df_record"))
    records["row"] = rng.integers(0, n_rows, len(records))
    records["count"] = rng.integers(1, 2**32, len(records))
    records["target"] = rng.integers(-(2**31), 2**31, len(records))
    records["weight"] = rng.integers(1, 2**32, len(records)) if has_weight else 1
    order = rng.permutation(n_nodes)  # the runs of nodes lie in any order, behind each other
    firsts = np.empty(n_nodes, np.int64)
    firsts[order] = np.cumsum(lengths[order]) - lengths[order] + 7
    return records, firsts, lengths, codes, rng.standard_normal(n_rows)


@pytest.mark.parametrize("n_targets", [0, 1, 3])
@pytest.mark.parametrize("has_weight", [False, True])
@pytest.mark.parametrize("codes_dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_packed_records_come_back(codes_dtype, has_weight, n_targets, n_threads):
    rng = np.random.default_rng([np.dtype(codes_dtype).itemsize, has_weight, n_targets])
    has_exact = has_weight and n_threads > 1

    def first_weights(n_nodes, n_rows):
        return np.array([(0, n_rows, -1)[node % 3] for node in range(n_nodes)], np.int64)

    def exact_of(y):
        """Exact weights of two trees."""
        return np.concatenate([np.exp(y), 2 * np.exp(y)]) if has_exact else None

    def targets_of(y):
        return None if n_targets == 0 else y if n_targets == 1 else np.stack([y, -y, y + 1], axis=1)

    for n_senders, n_nodes in ((1, 1), (2, 3), (3, 40), (4, 0), (3, 500)):
        senders = [sender(rng, n_nodes, codes_dtype, has_weight) for _ in range(n_senders)]
        parts = [
            pack(records, *runs, first_weights(n_nodes, len(y)), codes, targets_of(y), has_weight, exact_of(y), n_threads)
            for records, *runs, codes, y in senders
        ]
        dtypes = [codes_dtype, np.uint64, np.uint32, np.uint16 if codes_dtype != np.uint8 else np.uint8, codes_dtype]
        counts = np.stack([lengths for _, _, lengths, _, _ in senders])
        given = counts, senders[0][3][:0], n_targets, has_weight, has_exact, dtypes, n_threads
        columns, records, y, exact_weight = unpack(parts, *given)
        assert [column.dtype for column in columns] == [np.dtype(dtype) for dtype in dtypes]
        done = 0
        for node in range(n_nodes):
            for theirs, firsts, lengths, codes, exact in senders:
                sent = theirs[firsts[node] : firsts[node] + lengths[node]]
                came = slice(done, done := done + lengths[node])
                for name in ("count", "target", "weight"):
                    np.testing.assert_array_equal(records[name][came], sent[name])
                for j, column in enumerate(columns):
                    np.testing.assert_array_equal(column[came], codes[sent["row"], j])
                if n_targets:
                    np.testing.assert_array_equal(y[came], targets_of(exact)[sent["row"]])
                if has_exact:  # every third node is of a tree that has none
                    expected = 0.0 if node % 3 == 2 else exact_of(exact)[node % 3 * len(codes) + sent["row"]]
                    np.testing.assert_array_equal(exact_weight[came], expected)
        assert done == len(records)
        np.testing.assert_array_equal(records["row"], np.arange(done))
        assert (n_targets > 0 or y is None) and (has_exact or exact_weight is None)


def test_packed_records_of_another_form_are_refused():
    codes = np.zeros((2, 3), np.uint8)
    packed = np.zeros((2, 11), np.uint8)
    with pytest.raises(ValueError, match=r"packed records of shape \(2, 11\); allowed are 3 of 11 bytes"):
        unpack([packed], np.array([[3]]), codes, 0, False, False, [np.uint8] * 3, 1)
    with pytest.raises(ValueError, match=r"allowed are 2 of 19 bytes"):
        unpack([packed], np.array([[2]]), codes, 1, False, False, [np.uint8] * 3, 1)
    with pytest.raises(ValueError, match="2 columns and 1 senders, of 3 and 1"):
        unpack([packed], np.array([[2]]), codes, 0, False, False, [np.uint8] * 2, 1)
    with pytest.raises(ValueError, match="codes of dtype int8"):
        unpack([packed], np.array([[2]]), codes.astype(np.int8), 0, False, False, [np.uint8] * 3, 1)
