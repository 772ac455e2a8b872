"""Teams: threads that stay together for many short calls."""

import signal
import threading

import numpy as np
import pytest
from probes import spin_team

from dforest.core.spin_team import SpinTeam

MAX_ITEMS = 1 << 19  # that a word counts


@pytest.mark.parametrize("n_members", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("n_items", [0, 1, 2, 3, 100])
def test_each_item_is_done_once_in_each_call(n_members, n_items):
    assert spin_team.count_items(SpinTeam(n_members), 500, n_items).tolist() == [500] * n_items


def test_more_items_than_a_word_counts():
    counts = spin_team.count_items(SpinTeam(3), 2, 2 * MAX_ITEMS + 5)
    assert len(counts) == 2 * MAX_ITEMS + 5
    assert (counts == 2).all()


def test_members_that_fell_asleep_are_woken():
    """They sleep after a fraction of a millisecond without work."""
    assert spin_team.count_items(SpinTeam(4), 20, 50, nap=0.005).tolist() == [20] * 50


def test_a_crew_serves_again():
    team = SpinTeam(3)
    for _ in range(50):
        assert spin_team.count_items(team, 3, 7).tolist() == [3] * 7


def test_crews_at_the_same_time():
    """All of them share the workers of the process, and some get none."""
    results = []
    threads = [threading.Thread(target=lambda: results.append(spin_team.count_items(SpinTeam(4), 300, 9))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.array_equal(results, np.full((6, 9), 300))


@pytest.mark.parametrize("n_members", [1, 2, 8])
def test_an_error_of_the_leader_is_raised(n_members):
    team = SpinTeam(n_members)
    with pytest.raises(ArithmeticError, match="after 3 calls"):
        spin_team.count_items(team, 3, 5, fails=True)
    assert spin_team.count_items(team, 3, 5).tolist() == [3] * 5


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
@pytest.mark.parametrize("n_members", [1, 2])
def test_ctrl_c_ends_the_leader(n_members):
    """Whichever thread leads: the main thread may be a member. What wakes members is as before the team's work then."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(8):
            team = SpinTeam(n_members)
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(KeyboardInterrupt):
                spin_team.count_items(team, 10**9, 4, nap=0.001)
            assert all(spin_team.held_locks(team))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
