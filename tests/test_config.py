"""Tests of settings that hold for a block of code."""

from threading import Thread

import pytest

from dforest import config_context
from dforest.config import queue_of


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
