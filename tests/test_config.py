"""Tests of settings that hold for a block of code."""

from threading import Thread

import pytest

from dforest import config_context
from dforest.config import communicator, queue_of
from dforest.spmd.communicator import ALONE
from dforest.spmd.threads import ThreadGroup


class Queue:
    """What looks like a queue."""

    sycl_device = None

    def addressof_ref(self):
        return 0


def test_settings_end_with_the_block():
    outer, inner = Queue(), Queue()
    assert queue_of() is None
    with config_context(queue=outer):
        assert queue_of() is outer
        with config_context(queue=inner):
            assert queue_of() is inner
        with config_context(queue=None):
            assert queue_of() is None
        assert queue_of() is outer
        with pytest.raises(KeyError):
            with config_context(queue=inner):
                raise KeyError
        assert queue_of() is outer
    assert queue_of() is None


def test_threads_have_settings_of_their_own():
    seen = []
    with config_context(queue=Queue()):
        thread = Thread(target=lambda: seen.append(queue_of()))
        thread.start()
        thread.join()
    assert seen == [None]


@pytest.mark.parametrize("queue", ["gpu", 1, object()])
def test_other_things_are_refused(queue):
    with pytest.raises(ValueError, match=r"queue=.*; allowed are objects of dpctl.SyclQueue, and None"):
        with config_context(queue=queue):
            pass
    with pytest.raises(TypeError, match="positional"):
        with config_context(Queue()):
            pass


def test_a_setting_that_is_not_given_stays():
    queue, (ranks, others) = Queue(), ThreadGroup(2).communicators
    assert communicator() is ALONE
    with config_context(communicator=ranks):
        with config_context(queue=queue):
            assert (communicator(), queue_of()) == (ranks, queue)
            with config_context(communicator=others):
                assert (communicator(), queue_of()) == (others, queue)
            with config_context(communicator=None, queue=None):
                assert (communicator(), queue_of()) == (ALONE, None)
        assert (communicator(), queue_of()) == (ranks, None)
    assert communicator() is ALONE


def test_a_communicator_is_one_of_ours_or_of_mpi4py():
    with pytest.raises(ValueError, match=r"communicator=3; allowed are communicators of mpi4py or dforest.spmd, and None"):
        with config_context(communicator=3):
            pass
