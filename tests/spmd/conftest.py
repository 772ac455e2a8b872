"""A Dask cluster of this machine."""

from contextlib import ExitStack

import pytest


class Clusters:
    """Clusters of three processes, each with one thread, one after the other; a new one where a process is not replaced."""

    def __init__(self, distributed):
        self.distributed = distributed
        self.opened = ExitStack()
        self.client = None

    def open(self):
        """The client of a cluster in which all three are there."""
        if self.client is not None:
            try:
                self.client.wait_for_workers(3, timeout=20)
                return self.client
            except TimeoutError:  # Dask does not always replace a process that was killed
                self.opened.close()
        cluster = self.distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0", memory_limit=0)
        self.opened.enter_context(cluster)
        self.client = self.opened.enter_context(self.distributed.Client(cluster))
        return self.client


@pytest.fixture(scope="session")
def clusters():
    clusters = Clusters(pytest.importorskip("distributed"))
    with clusters.opened:
        yield clusters


@pytest.fixture
def client(clusters):
    """The client of a cluster of three processes; who kills one need not replace it."""
    return clusters.open()
