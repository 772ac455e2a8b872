"""Ranks that are workers of a Dask cluster of this machine."""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dforest.errors import RankError

pytest.importorskip("distributed")
from helpers import dask_programs as programs  # noqa: E402

from dforest.spmd import workers  # noqa: E402

pytestmark = pytest.mark.slow


def addresses(client, n=3):
    return sorted(client.nthreads())[:n]


def run(client, function, *arguments, n=3):
    return workers.run_on_workers(client, addresses(client, n), function, [arguments] * n)


def test_collectives_are_those_of_numpy(client):
    for n in (1, 2, 3):
        assert run(client, programs.collectives, n=n) == [40] * n


def test_large_arrays_pass(client):
    assert run(client, programs.large, n=2) == [[True] * 2] * 2


@pytest.mark.parametrize("step", range(0, 11, 2))
def test_an_error_on_one_rank_is_raised_on_all_and_work_goes_on(client, step):
    error, kind, text = [(ValueError("bad"), "ValueError", "bad"), (KeyboardInterrupt(), "KeyboardInterrupt", "")][step % 4 // 2]
    assert run(client, programs.fail, step, error) == [(kind, f"on rank 1: {text}", 3)] * 3


def test_an_error_that_no_rank_catches_is_raised_where_the_run_began(client):
    with pytest.raises(LookupError, match="on rank 1: 'odd'") as caught:
        run(client, programs.raise_odd)
    assert "in raise_odd" in caught.value.__notes__[0]


def test_runs_at_the_same_time_do_not_wait_for_each_other(client):
    """Each worker has one thread, and the runs begin on different ones."""
    here = addresses(client)
    with ThreadPoolExecutor(4) as pool:
        orders = [here[i % 3 :] + here[: i % 3] for i in range(4)]
        calls = [
            pool.submit(workers.run_on_workers, client, order, programs.total, [(i, 0.2)] * 3) for i, order in enumerate(orders)
        ]
        assert [call.result(60) for call in calls] == [[3 * i] * 3 for i in range(4)]


def test_futures_come_as_their_results(client):
    here = addresses(client)
    numbers = client.map(int, ["3", "4", "5"], pure=False)
    assert workers.run_on_workers(client, here, programs.total, [(number,) for number in numbers]) == [12] * 3


def test_ranks_end_when_the_run_is_given_up(client, monkeypatch):
    def interrupted(seconds):
        time.sleep(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(client, programs.wait)
    wait_until(lambda: not any(client.run(programs.n_tasks).values()))


def wait_until(condition, limit=60):
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_workers_that_are_not_there_are_told(client):
    with pytest.raises(RankError, match="tcp://127.0.0.1:9 (has left the cluster|cannot be reached)"):
        workers.run_on_workers(client, [*addresses(client), "tcp://127.0.0.1:9"], programs.total, [(1,)] * 4)


@pytest.mark.parametrize("moment", range(5))
def test_a_killed_worker_ends_the_run_on_all(client, moment, tmp_path):
    seconds = random.Random(moment).uniform(0, 0.5)
    victim = addresses(client)[1]
    with pytest.raises(RankError, match="has left the cluster|cannot be reached|has ended"):
        run(client, programs.leave, seconds, tmp_path)
    wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
    wait_until(lambda: victim not in client.nthreads())  # or others would count on it
    for rank in (0, 2):
        assert (tmp_path / str(rank)).read_text().startswith("RankError: on rank ")


def test_nothing_stays_on_workers(client):
    assert run(client, programs.total, 1) == [3] * 3
    assert not any(client.run(programs.runs).values())
