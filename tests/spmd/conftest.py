"""A Dask cluster of this machine."""

import pytest


@pytest.fixture(scope="session")
def cluster():
    """The client of a cluster of three processes, each with one thread; those that die are replaced."""
    distributed = pytest.importorskip("distributed")
    workers = distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0", memory_limit=0)
    with workers, distributed.Client(workers) as client:
        yield client


@pytest.fixture
def client(cluster):
    """The client, when all three are there."""
    cluster.wait_for_workers(3, timeout=60)
    return cluster
