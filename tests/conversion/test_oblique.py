"""C code of oblique trees and forests predicts the same bits, however it is compiled; and probes are about to turn at sums."""

import shutil
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from helpers.c_code import Compiled, assert_same
from helpers.rings import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dforest
from dforest.errors import ConversionError
from dforest.estimators.data.tables import read_table
from dforest.interchange.conversion.c_tests import NodeTests
from dforest.interchange.conversion.probes import probe_rows

has_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
# Where the processor adds and multiplies in one step, compilers may use that, as GCC does unless a standard is asked for.
COMPILERS = [
    (name, *options)
    for name in ("cc", "gcc", "clang")
    for options in (["-std=c99", "-O0"], ["-std=gnu11", "-O3", "-march=native", "-ffp-contract=fast"])
    if shutil.which(name) is not None
]
NUMBER = count()


@st.composite
def models(draw):
    """A fitted oblique estimator, and rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, p = draw(st.integers(20, 120)), draw(st.integers(2, 6))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    X = rng.standard_normal((n, p)) * draw(st.sampled_from([1.0, 1.0, 1e-30, 1e30]))
    n_categories = draw(st.sampled_from([0, 0, 3, 80]))
    given = {}
    if n_categories:
        X[:, 0] = rng.integers(0, n_categories, n)
        given["categorical_features"] = [0]
    X[rng.random((n, p)) < draw(st.sampled_from([0.0, 0.1]))] = np.nan
    X[rng.random(n) < draw(st.sampled_from([0.0, 0.1])), -1] = draw(st.sampled_from([np.inf, -np.inf]))
    X = X.astype(dtype)
    names = ["RandomForest", "ExtraTrees", "DecisionTree", "ExtraTree"]
    name = draw(st.sampled_from(names)) + draw(st.sampled_from(["Classifier", "Regressor"]))
    y = rng.integers(0, draw(st.sampled_from([1, 2, 3])), n)
    if "Regressor" in name:
        y = y + rng.standard_normal(n)
    if draw(st.sampled_from([True, False, False])):
        y = np.stack([y, rng.integers(0, 2, n)], axis=1)
    if "Tree" not in name or "Trees" in name:
        given["n_estimators"] = 4
    if p > 2 and draw(st.sampled_from([True, False, False])):
        own = rng.standard_normal((7, p)) * (rng.random((7, p)) < 0.5)
        own[:, 0], own[:, -2:] = 0.0, 0.3
        given |= {"projections": own, "random_state": draw(st.integers(0, 2**31))}
        return getattr(dforest, name)(split_axis="oblique", **given).fit(X, y), X
    given |= {
        "projection_density": draw(st.sampled_from([1.0, 2.0, 4.5])),
        "projection_weights": draw(st.sampled_from(["binary", "continuous", "integer", "power_of_two"])),
        "projection_scaling": draw(st.sampled_from([None, "min_max", "standard"])),
        "random_state": draw(st.integers(0, 2**31)),
    }
    return getattr(dforest, name)(split_axis="oblique", **given).fit(X, y), X


@has_compiler
@pytest.mark.parametrize("compiler", COMPILERS, ids=" ".join)
@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(models())
def test_predictions_are_equal_to_the_bit(compiler, problem):
    estimator, X = problem
    prefix = f"m{next(NUMBER)}"
    with TemporaryDirectory() as folder:
        compiled = Compiled(estimator.to_c(prefix=prefix, verify=False), Path(folder), prefix, compiler)
    probes = probe_rows(estimator.forest_, np.float64, infinite=True)
    probes = probes[~(probes == estimator.forest_.n_categories).any(axis=1)]  # without unknown categories, which have no label
    known = estimator.categories_[0]
    rows = probes.copy()
    if known is not None and len(known):
        is_known = ~np.isnan(probes[:, 0])
        rows[is_known, 0] = np.asarray(known, float)[probes[is_known, 0].astype(int)]
    with np.errstate(over="ignore", under="ignore"):
        rows = np.concatenate([X, rows.astype(X.dtype)])
    assert_same(compiled, estimator, rows, estimator._features.encode(read_table(rows)).astype(np.float64))


@has_compiler
@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(models())
def test_what_is_compared(problem):
    """The comparison that `to_c` makes by default finds no difference."""
    problem[0].to_c()


def table(seed=0, n=400):
    """Numbers with gaps, categories that are text, and a target that depends on a sum and on a category."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.standard_normal((n, 3)), columns=["a", "b", "c"])
    frame["kind"] = rng.choice(["x", "y", "z", "w"], n)
    target = frame["a"] - frame["b"] + 2 * (frame["kind"] == "z") + 0.1 * rng.standard_normal(n)
    frame.loc[rng.random(n) < 0.1, "a"] = np.nan
    frame.loc[rng.random(n) < 0.1, "kind"] = None
    return frame.astype({"kind": "category"}), target.to_numpy()


@has_compiler
def test_tables_with_text(tmp_path):
    X, y = table()
    model = dforest.RandomForestRegressor(9, split_axis="oblique", random_state=0).fit(X, y)
    code = model.to_c()
    assert "kind & model_sum)" in code and "kind & model_set)" in code
    assert_same(Compiled(code, tmp_path), model, X, model._features.encode(read_table(X)).astype(np.float64))


@has_compiler
@pytest.mark.parametrize("place, changed", [(0, 1e-7), (3, 1e-7), (4, 0.5)])
def test_wrong_sums_are_found(monkeypatch, place, changed):
    """A threshold, a weight, or what a missing value counts as."""
    right = NodeTests.add

    def wrong(self, node, test):
        first = len(self.weights)
        right(self, node, test)
        if len(self.weights) > first:
            self.weights[first + place] += changed * max(1.0, abs(self.weights[first + place]))

    X, y = table()
    model = dforest.RandomForestRegressor(3, split_axis="oblique", random_state=0).fit(X[["a", "b", "c"]], y)
    monkeypatch.setattr(NodeTests, "add", wrong)
    with pytest.raises(ConversionError, match="predict differently"):
        model.to_c()


@pytest.mark.parametrize("scaling", [None, "min_max"])
def test_probes_turn_at_most_nodes(scaling):
    X, y = table(n=300)
    model = dforest.DecisionTreeRegressor(split_axis="oblique", projection_scaling=scaling, random_state=0)
    tree = model.fit(X[["a", "b", "c"]], y).forest_
    nodes = np.flatnonzero(tree.feature >= 0)
    rows = probe_rows(tree, np.float64)
    path = model.decision_path(rows).toarray().astype(bool)[:-1].reshape(len(nodes), 4, -1)
    left = [path[i, path[i, :, node], node + 1] for i, node in enumerate(nodes)]
    assert np.mean([len(set(sides)) == 2 for sides in left]) > 0.5
    assert np.mean([len(sides) > 0 for sides in left]) > 0.6
