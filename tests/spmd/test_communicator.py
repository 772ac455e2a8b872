"""Collectives of ranks, by threads of one process."""

import numpy as np
import pytest
from helpers.collectives import check_collectives

from dforest.errors import RankError
from dforest.spmd.communicator import ALONE, LONGEST, SMALL, decode_error, encode_error, named_error
from dforest.spmd.threads import ThreadGroup


def together(size, work):
    """What `work` returns on each of `size` ranks, or raises."""

    def run(communicator):
        with communicator.together() as ranks:
            return work(ranks)

    return ThreadGroup(size).run(run)


def own(rank, n, dtype=np.int64):
    return np.random.default_rng([rank, n]).integers(0, 1000, n).astype(dtype)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_an_exchange_brings_each_part_to_its_rank(size):
    def work(ranks):
        return ranks.exchange([np.full((to + ranks.rank, 2), 10 * ranks.rank + to, np.int16) for to in range(size)])

    for rank, got in enumerate(together(size, work)):
        assert [part.tolist() for part in got] == [[[10 * r + rank] * 2] * (r + rank) for r in range(size)]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("n", [0, 1, 4, SMALL])  # more than SMALL bytes are added up by share
def test_collectives_combine_what_all_ranks_hand_in(size, n):
    def work(ranks):
        array = own(ranks.rank, n)
        edges = ranks.edges(n)
        mine = slice(edges[ranks.rank], edges[ranks.rank + 1])
        return mine, ranks.sum(array), ranks.least(array / 7), ranks.greatest(array), ranks.sum_scattered(array)

    arrays = np.stack([own(rank, n) for rank in range(size)])
    for mine, total, least, greatest, share in together(size, work):
        np.testing.assert_array_equal(total, arrays.sum(axis=0))
        np.testing.assert_array_equal(least, arrays.min(axis=0) / 7)
        np.testing.assert_array_equal(greatest, arrays.max(axis=0))
        np.testing.assert_array_equal(share, arrays.sum(axis=0)[mine])


@pytest.mark.parametrize("size", [1, 2, 3])
def test_collectives_are_those_of_numpy(size):
    assert together(size, lambda ranks: check_collectives(ranks, range(100))) == [100] * size


def test_shapes_stay_what_they_are():
    array = np.arange(6).reshape(2, 3)
    for size in (1, 3):
        for total in together(size, lambda ranks: ranks.sum(array)):
            np.testing.assert_array_equal(total, len(together(size, id)) * array)


def test_arrays_of_any_length_and_objects_are_gathered():
    def work(ranks):
        arrays = ranks.gather(np.full(ranks.rank, ranks.rank, np.uint8))
        return [array.tolist() for array in arrays], ranks.gather_objects({"rank": ranks.rank}), ranks.first(ranks.rank + 7)

    for found in together(3, work):
        assert found == ([[], [1], [2, 2]], [{"rank": 0}, {"rank": 1}, {"rank": 2}], 7)


def test_what_a_collective_returns_belongs_to_the_caller():
    def work(ranks):
        array = np.zeros(3, np.int64)
        total = ranks.sum(array)
        array += 1
        parts = ranks.gather(array)
        parts[0][:] = 9
        return total.tolist(), array.tolist()

    for size in (1, 2):
        assert together(size, work) == [([0, 0, 0], [1, 1, 1])] * size


def test_sums_over_ranks_are_of_integers():
    with pytest.raises(TypeError, match="float64; allowed are integers"):
        ALONE.sum(np.ones(2))


def test_parts_are_checked():
    with pytest.raises(ValueError, match="parts for 3 ranks"):
        ThreadGroup(2).communicators[0].exchange([np.zeros(1)] * 3)
    with pytest.raises(ValueError, match="of 2 dtypes and shapes"):
        ThreadGroup(2).communicators[0].exchange([np.zeros(1), np.zeros(1, np.int8)])


@pytest.mark.parametrize("at", range(4))
def test_an_error_on_one_rank_is_raised_on_all(at):
    def work(ranks):
        for step in range(4):
            if ranks.rank == 1 and step == at:
                raise ZeroDivisionError(f"at step {step}")
            ranks.barrier()

    for error in together(3, work):
        assert type(error) is ZeroDivisionError
        assert str(error) == f"on rank 1: at step {at}"


def test_an_error_after_the_last_collective_is_raised_on_all():
    def work(ranks):
        ranks.barrier()
        if ranks.rank == 2:
            raise KeyboardInterrupt

    found = together(3, work)
    assert [type(error) for error in found] == [KeyboardInterrupt] * 3


def test_an_error_in_a_frame_around_another_is_raised_on_all():
    def work(ranks):
        if ranks.rank == 1:
            raise OSError("outside")
        with ranks.together() as inner:
            inner.barrier()

    assert [repr(error) for error in together(3, work)] == ["OSError('on rank 1: outside')"] * 3


def test_an_error_that_leaves_several_frames_names_its_rank_once():
    def work(ranks):
        with ranks.together() as inner:
            inner.barrier()
            if ranks.rank == 1:
                raise OSError("inside")

    assert [repr(error) for error in together(3, work)] == ["OSError('on rank 1: inside')"] * 3


def test_an_error_that_is_caught_between_frames_is_not_heard_again():
    def work(ranks):
        with pytest.raises(OSError, match="^on rank 1: inside$"):
            with ranks.together() as inner:
                if ranks.rank == 1:
                    raise OSError("inside")
                inner.barrier()
        return ranks.total(1)

    assert together(3, work) == [3, 3, 3]


def test_work_goes_on_after_an_error():
    group = ThreadGroup(3)

    def fail(communicator):
        with communicator.together() as ranks:
            if communicator.rank == 0:
                raise ValueError("no")
            ranks.sum(np.ones(1, np.int64))
            ranks.barrier()

    def succeed(communicator):
        with communicator.together() as ranks:
            return ranks.total(1)

    for _ in range(20):
        assert [str(error) for error in group.run(fail)] == ["on rank 0: no"] * 3
        assert group.run(succeed) == [3, 3, 3]
    assert not group.messages
    assert not group.errors


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("bad"), ValueError),
        (MemoryError("much"), MemoryError),
        (KeyError("key"), LookupError),  # whose message is the key in quotes
        (UnicodeDecodeError("ascii", b"x", 0, 1, "why"), UnicodeError),
        (type("Odd", (Exception,), {"__init__": lambda self: None})(), RankError),
    ],
)
def test_errors_of_ranks_keep_their_type_and_name_the_rank(error, kind):
    named = named_error(2, error)
    assert type(named) is kind
    assert str(named).startswith("on rank 2: ")
    assert str(error) in str(named)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("bad"), ValueError),
        (type("Unknown", (ValueError,), {})("bad"), RankError),  # which pickle does not find
        (ValueError("x" * 100_000), RankError),
    ],
)
def test_errors_are_told_by_messages(error, kind):
    message = encode_error(2, error)
    assert len(message) < 3 * LONGEST
    told = decode_error(message)
    assert type(told) is kind
    assert str(told).startswith("on rank 2: ")
    assert named_error(1, told) is told


def test_zeros_have_no_sign():
    def work(ranks):
        zeros = np.array([-0.0, 0.0] if ranks.rank == 0 else [0.0, -0.0])
        return np.signbit([ranks.least(zeros), ranks.greatest(zeros)]).any()

    for size in (1, 2):
        assert together(size, work) == [False] * size


def test_objects_are_no_parts():
    with pytest.raises(TypeError, match="dtype object; allowed are arrays without Python objects"):
        ThreadGroup(2).communicators[0].gather(np.array([None]))


def test_traffic_is_counted():
    def work(ranks):
        ranks.exchange([np.zeros(10, np.int64)] * ranks.size)
        return ranks.traffic.n_rounds, ranks.traffic.bytes_sent

    assert together(3, work) == [(1, 160)] * 3


@pytest.mark.parametrize("reduce", ["sum", "least", "greatest"])
def test_large_arrays_are_reduced_by_share(reduce):
    """No rank is sent all of what the others hand in."""

    def work(ranks):
        array = np.arange(3 * SMALL) * (ranks.rank + 1)
        expected = {"sum": 6, "least": 1, "greatest": 3}[reduce] * np.arange(3 * SMALL)
        np.testing.assert_array_equal(getattr(ranks, reduce)(array), expected)
        return ranks.traffic.n_rounds, ranks.traffic.bytes_sent

    assert together(3, work) == [(2, 4 * 8 * SMALL)] * 3
