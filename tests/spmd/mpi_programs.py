"""What ranks of MPI do in tests: started by mpiexec with a folder for reports and the names of functions here."""

import json
import os
import pickle
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from helpers.boosted_fits import CLASSES, REGRESSION
from helpers.boosted_fits import random_fit as random_boosted_fit
from helpers.collectives import check_collectives
from helpers.device_forests import differences
from helpers.ranks import CUTS, Cut
from mpi4py import MPI
from sklearn.base import clone

import dforest
from dforest import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRanker,
    RandomForestClassifier,
    config_context,
    spmd,
)
from dforest.config import communicator
from dforest.spmd import mpi
from dforest.spmd.mpi import MpiCommunicator, world

WORLD = world()


class Odd(Exception):
    """What pickle cannot restore and a message alone does not make."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def collectives():
    """Collectives against NumPy, with messages in one piece and in many, and sums by MPI's operations and by exchanges."""
    n_cases = 0
    usual = mpi.PIECE, mpi.MAX_REDUCED
    for piece, most in [(8, 10), (2048, 1 << 28), (1 << 30, 0), usual]:
        mpi.PIECE, mpi.MAX_REDUCED = piece, most
        for comm in (MPI.COMM_WORLD, MPI.COMM_SELF):
            with MpiCommunicator(comm).together() as ranks:
                n_cases += check_collectives(ranks, range(20), 3000 if piece > 8 else 30)
    return n_cases


def large():
    """Arrays of 200 MB."""
    with WORLD.together() as ranks:
        array = np.arange(200_000_000 // 8)
        edges = ranks.edges(len(array))
        mine = array[edges[ranks.rank] : edges[ranks.rank + 1]]
        assert np.array_equal(ranks.sum_scattered(array + ranks.rank), ranks.size * mine + sum(range(ranks.size)))
        assert all(np.array_equal(got, array) for got in ranks.gather(array))
        return array.nbytes


def wrapped():
    """Communicators of mpi4py as a setting."""
    with config_context(communicator=MPI.COMM_WORLD):
        first, second = communicator(), communicator()
    for refused in [MPI.COMM_NULL, None]:
        with pytest.raises(ValueError, match="allowed are intracommunicators of mpi4py"):
            MpiCommunicator(refused)
    return [type(first).__name__, first.rank, first.size, first is second]


def forests():
    """A forest of rows on all ranks, next to that of one process, and bad input on one rank."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 4)), rng.integers(0, 3, 500)
    cuts = [0, *np.sort(rng.integers(0, 500, WORLD.size - 1)), 500]
    mine = slice(cuts[WORLD.rank], cuts[WORLD.rank + 1])
    spread = spmd.RandomForestClassifier(5, random_state=0).fit(X[mine], y[mine])
    alone = RandomForestClassifier(5, random_state=0).fit(X, y)
    assert pickle.dumps(spread.forest_.as_dict()) == pickle.dumps(alone.forest_.as_dict())
    if WORLD.rank == 1:
        X[mine.start] = np.inf
        y = y + np.nan
    with pytest.raises(ValueError, match="on rank 1: .*NaN"):
        spread.fit(X[mine], y[mine])
    assert pickle.dumps(spread.forest_.as_dict()) == pickle.dumps(alone.forest_.as_dict())


def boosted():
    """Boosted trees of random cuts of the rows, and of more ranks' rows by `dforest.spmd`."""
    for seed, loss in enumerate([*REGRESSION, *CLASSES] * 2):
        rng = np.random.default_rng([seed, 5])
        model, X, y, weight = random_boosted_fit(seed + 50, loss)
        alone = clone(model).fit(X, y, weight)
        cut = Cut.random(rng, len(y), WORLD.size, CUTS[seed % len(CUTS)])
        with config_context(communicator=WORLD):
            spread = model._fit_partitions(lambda rank, cut=cut, given=(X, y, weight): cut.partitions(rank, *given))
        assert not differences(spread, alone), (seed, loss)
    X, y = np.arange(400.0).reshape(100, 4) % 7, np.arange(100) % 2
    mine = slice(100 * WORLD.rank // WORLD.size, 100 * (WORLD.rank + 1) // WORLD.size)
    spread = spmd.HistGradientBoostingClassifier(max_iter=3, random_state=0).fit(X[mine], y[mine])
    assert not differences(spread, HistGradientBoostingClassifier(max_iter=3, random_state=0).fit(X, y))
    sizes = [len(part) for part in np.array_split(np.arange(100), WORLD.size)]
    mine = slice(sum(sizes[: WORLD.rank]), sum(sizes[: WORLD.rank + 1]))
    parameters = {"max_iter": 9, "min_samples_leaf": 3, "early_stopping": True, "validation_fraction": 1, "random_state": 0}
    spread = spmd.HistGradientBoostingRanker(**parameters).fit(X[mine], y[mine], group=[sizes[WORLD.rank]])
    alone = HistGradientBoostingRanker(**parameters).fit(X, y, group=sizes)
    assert not differences(spread, alone) and spread.validation_score_.tolist() == alone.validation_score_.tolist()
    return seed + 1


def freed():
    """More pieces of work, one after the other, than MPICH has numbers for communicators at a time."""
    for _ in range(2200):
        with WORLD.together():
            pass
    return 2200


def causal():
    """Causal and uplift forests, of a communicator that is set and of estimators of `dforest.spmd`."""
    rng = np.random.default_rng(0)
    X, treatment = rng.normal(size=(150, 3)), rng.random(150) < 0.5
    y = X[:, 0] * treatment + rng.normal(size=150)
    mine = np.array_split(np.arange(150), WORLD.size)[WORLD.rank]
    n_equal = 0
    for name, parameters, target in (("CausalForest", {"min_samples_leaf": 3}, y), ("UpliftForestClassifier", {}, y > 0)):
        parameters |= {"n_estimators": 60, "random_state": 3}
        alone = getattr(dforest, name)(**parameters).fit(X, target, treatment=treatment)
        with config_context(communicator=MPI.COMM_WORLD):
            found = [getattr(dforest, name)(**parameters).fit(X[mine], target[mine], treatment=treatment[mine])]
        found.append(getattr(spmd, name)(**parameters).fit(X[mine], target[mine], treatment=treatment[mine]))
        for model in found:
            assert not differences(model, alone)
            assert np.array_equal(model.predict(X), alone.predict(X))
            n_equal += 1
        if name == "CausalForest":
            assert all(model.average_effect() == alone.average_effect() for model in found)
    return n_equal


def fail(ranks, step, where, error):
    """Ten collectives of several kinds; at a step, an error on one rank."""
    big = np.ones((ranks.size, 40_000), np.int64)
    for number in range(10):
        if ranks.rank == where and number == step:
            raise error
        [
            ranks.barrier,
            lambda: ranks.total(1),
            lambda: ranks.gather(big),
            lambda: ranks.sum(big),
            lambda: ranks.sum_scattered(big),
            lambda: ranks.gather_objects("thing"),
            lambda: ranks.exchange(list(big)),
            lambda: ranks.greatest(big / 2),
            ranks.barrier,
            lambda: ranks.first(1),
        ][number]()
    if ranks.rank == where and step == 10:
        raise error


def errors():
    """Errors at every place, and a sum after each."""
    seen = []
    raised = [ValueError("bad"), MemoryError("much"), KeyboardInterrupt(), Odd(1, 2), KeyError("key"), ValueError("x" * 10_000)]
    for case in range(60):
        error, where, step = raised[case % len(raised)], case % WORLD.size, case % 11
        try:
            with WORLD.together() as ranks:
                if case % 4 == 3:  # a frame in which the others wait lies within the one in which the error happens
                    if WORLD.rank == where:
                        raise error
                    with ranks.together() as inner:
                        inner.barrier()
                else:
                    fail(ranks, step, where, error)
        except BaseException as found:
            seen.append([where, type(found).__name__, str(found)])
        with WORLD.together() as ranks:
            assert ranks.total(1) == WORLD.size
    return seen


def killed():
    """One rank is killed while the other waits for it."""
    with WORLD.together() as ranks:
        ranks.barrier()
        if ranks.rank == 1:
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGKILL)
        ranks.barrier()


def interrupted():
    """Ctrl-C on one rank, which waits for the other; nobody catches what follows, once both have told of it."""
    try:
        with WORLD.together() as ranks:
            ranks.barrier()
            if ranks.rank == 1:
                signal.setitimer(signal.ITIMER_REAL, 0.3)
                signal.signal(signal.SIGALRM, signal.default_int_handler)  # as SIGINT is handled
            if ranks.rank == 0:
                time.sleep(1.0)
            ranks.barrier()
    except BaseException as error:
        report("interrupted", f"{type(error).__name__}: {error}")
        with WORLD.together():  # mpiexec stops all when the first one ends
            pass
        raise


def report(program, result):
    Path(sys.argv[1], f"{program}.{WORLD.rank}.json").write_text(json.dumps(result))


if __name__ == "__main__":
    for program in sys.argv[2:]:
        report(program, globals()[program]())
