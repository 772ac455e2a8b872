"""A device as an engine: sessions of several calls, sinks that stop, leaves of training rows."""

import pytest

from dforest.engines.device.engine import DeviceEngine
from dforest.testing.engine_check import check_engine


@pytest.mark.parametrize("sizes", [{}, {"subtree_up_to": 10, "chunk": 64}, {"cache_bytes": 0}, {"batch_bytes": 1 << 18}])
def test_it_is_an_engine(device, tuning, sizes):
    tuning.update(sizes)
    check_engine(DeviceEngine(device))
