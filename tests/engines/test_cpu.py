"""The processor as an engine: sessions of several calls, sinks that stop, leaves of training rows."""

import numpy as np
import pytest

from dforest.core.sampling import Bootstrap
from dforest.engines.cpu import CpuEngine
from dforest.testing.engine_check import Kept, assert_equal_trees, check_engine, random_problem


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
def test_it_is_an_engine(n_threads):
    check_engine(CpuEngine(n_threads))


@pytest.mark.parametrize("tuning", [{"cache_bytes": 0}, {"cache_bytes": 3000}, {"parallel_from": 1, "parallel_visits_from": 0}])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_leaves_do_not_depend_on_the_machinery(kind, tuning):
    """Records in a block have other row numbers, and pieces of a tree are grown by several threads."""
    found = []
    for sizes in ({}, tuning):
        _, problem = random_problem(3, kind, n_rows=6000, sampling=Bootstrap(6000))
        problem.splitter.tuning.update(sizes)
        with CpuEngine(3).open(problem) as session:
            session.grow(range(4), Kept(), keep_leaves=True)
            found.append(np.stack([session.leaves(t) for t in range(4)]))
    np.testing.assert_array_equal(*found)


def test_a_sink_that_stops_while_others_work_on_large_trees():
    """The trees that are not wanted any more are given up, and the session goes on."""
    _, problem = random_problem(5, "numbers", n_rows=20000, sampling=Bootstrap(20000))
    with CpuEngine(4).open(problem) as session:
        once = Kept()
        session.grow(range(12), once)
        for most in (1, 2, 5):
            few = Kept(most)
            session.grow(range(12), few)
            assert_equal_trees(few.trees, once.trees[:most])
        assert session.report().n_trees == 12 + 1 + 2 + 5


def test_an_error_of_a_sink_ends_growing():
    class Full:
        def put(self, tree):
            raise OSError("no room")

    _, problem = random_problem(1)
    with CpuEngine(2).open(problem) as session:
        with pytest.raises(OSError, match="no room"):
            session.grow(range(9), Full())
        kept = Kept()
        session.grow(range(3), kept)
    assert [tree.number for tree in kept.trees] == [0, 1, 2]
