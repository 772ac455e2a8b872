"""Rows that lie on the workers of a Dask cluster."""

import numpy as np
import pytest

pytest.importorskip("distributed")
import dask.array as da  # noqa: E402

import dforest  # noqa: E402
import dforest.dask  # noqa: E402


def test_methods_do_not_gather_lazy_rows_without_a_word():
    """`apply`, `decision_path`, `shap_values`, `score` and `estimate_memory` of a dask array gathered it in this process."""
    X = np.arange(8.0).reshape(-1, 1)
    y = (X[:, 0] > 3).astype(int)
    model = dforest.dask.RandomForestClassifier(2, bootstrap=False)
    model.__dict__.update(vars(dforest.RandomForestClassifier(2, bootstrap=False).fit(X, y)))
    lazy = da.from_array(X, (4, 1))
    leaves = model.apply(lazy)
    assert isinstance(leaves, da.Array) and leaves.chunks == ((4, 4), (2,))
    assert leaves.compute(scheduler="sync").tolist() == [[1, 1]] * 4 + [[2, 2]] * 4
    for answer in (model.decision_path(lazy)[0], model.shap_values(lazy), model.shap_interaction_values(lazy)):
        assert isinstance(answer, da.Array) and answer.chunks[0] == (4, 4)
    with pytest.raises(TypeError, match="y is of type ndarray; allowed are dask arrays"):
        model.score(lazy, y)
    with pytest.raises(TypeError, match=r"X is of type Array; .* call to_local\(\)"):
        model.estimate_memory(lazy)
