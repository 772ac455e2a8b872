"""Reports on forests that were grown on the workers of a Dask cluster."""

import pytest
from sklearn.datasets import load_iris

import dforest

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
pytest.importorskip("matplotlib")

X, Y = load_iris(return_X_y=True)


def test_reports_take_rows_in_memory():
    from dforest.dask import RandomForestClassifier

    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        lazy = da.from_array(X, chunks=(75, 4)), da.from_array(Y, chunks=75)
        model = RandomForestClassifier(25, oob_score=True, random_state=0).fit(*lazy)
        with pytest.raises(TypeError, match="X is of type Array; report takes rows in memory"):
            model.report(*lazy)
    report = model.report(X[::2], Y[::2])
    local = dforest.RandomForestClassifier(25, oob_score=True, random_state=0).fit(X, Y).report(X[::2], Y[::2])
    assert "is known to ±" in local.html and "is known to ±" not in report.html  # of rows that the workers have
    assert report.html.partition("dforest</th>")[2] == local.html.partition("dforest</th>")[2]  # digest and versions
    assert "<svg" in model.report().html
