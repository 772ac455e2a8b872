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
    methods = model.decision_path, model.shap_values, model.shap_interaction_values, model.score, model.estimate_memory
    for method in methods:
        with pytest.raises(TypeError, match=r"X is of type Array; .* call to_local\(\)"):
            method(lazy)
