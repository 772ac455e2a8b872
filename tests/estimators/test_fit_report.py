"""`fit_report_` of fits on the CPU; tests/device has the tests of fits on devices."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import dforest
from dforest.engines.fit_report import FitReport

X = np.random.default_rng(0).standard_normal((200, 3))
Y = (X[:, 0] > 0).astype(int)
FORESTS = [
    getattr(dforest, kind + task)
    for kind in ("RandomForest", "ExtraTrees")
    for task in ("Classifier", "Regressor")
]  # fmt: skip
TREES = [dforest.DecisionTreeClassifier, dforest.ExtraTreeRegressor]


@pytest.mark.parametrize("kind", [*FORESTS, *TREES])
@pytest.mark.parametrize("method", ["hist", "dense"])
def test_a_fit_on_the_cpu(kind, method):
    model = kind(method=method, random_state=0)
    if kind in FORESTS:
        model.set_params(n_estimators=7)
    report = model.fit(X, Y).fit_report_
    assert report.train_seconds > 0
    assert report == FitReport("cpu", 7 if kind in FORESTS else 1, train_seconds=report.train_seconds)
    assert (report.kernels, report.n_launches, report.bytes_most) == ({}, 0, 0)
    assert pickle.loads(pickle.dumps(model)).fit_report_ == FitReport(
        "cpu", report.n_trees, build_seconds=None, upload_seconds=None, train_seconds=None, wait_seconds=None
    )


@pytest.mark.parametrize("kind", [*FORESTS, *TREES])
def test_equal_fits_give_equal_pickles(kind):
    first, second = (kind(random_state=0).fit(X, Y) for _ in range(2))
    assert first.fit_report_ != second.fit_report_
    assert pickle.dumps(first) == pickle.dumps(second)
    second.predict(X)  # what it keeps for the next prediction is no part of the pickle
    assert pickle.dumps(first) == pickle.dumps(second)


def test_single_trees_have_that_of_their_forest():
    forest = dforest.RandomForestClassifier(3, random_state=0).fit(X, Y)
    assert all(tree.fit_report_ is forest.fit_report_ for tree in forest)


def test_a_warm_start_reports_its_own_trees():
    forest = dforest.RandomForestClassifier(3, random_state=0, warm_start=True).fit(X, Y)
    first = forest.fit_report_
    assert forest.set_params(n_estimators=8).fit(X, Y).fit_report_.n_trees == 5
    with pytest.warns(UserWarning, match="does not fit new trees"):
        assert forest.fit(X, Y).fit_report_ == FitReport("cpu")
    assert first.n_trees == 3


def test_a_fit_that_fails_leaves_it():
    forest = dforest.RandomForestClassifier(3, random_state=0).fit(X, Y)
    report = forest.fit_report_
    with pytest.raises(ValueError, match="max_depth"):
        forest.set_params(max_depth=0).fit(X, Y)
    assert forest.fit_report_ is report


def test_it_is_frozen_and_can_be_compared():
    report = FitReport("a GPU", 2, {"df_mean": 3, "df_most": 1})
    assert report == FitReport("a GPU", 2, {"df_mean": 3, "df_most": 1}) != FitReport("a GPU", 2, {"df_mean": 3})
    assert len({report, FitReport("a GPU", 2, {"df_mean": 3, "df_most": 1})}) == 1
    assert report.n_launches == 4
    with pytest.raises(FrozenInstanceError):
        report.device = "cpu"


def test_in_print():
    assert str(FitReport("cpu", 1, train_seconds=0.25)) == "cpu: 1 tree in 0.250 s"
    report = FitReport("a GPU", 20, {"df_a": 3, "df_longer": 12}, 5 << 20, 1 << 19, 7 << 20, 2.0, 0.125, 1.5)
    assert str(report).splitlines() == [
        "a GPU: 20 trees in 1.500 s, after 2.000 s to build kernels and 0.125 s to upload data",
        "5.0 MiB written there, 0.5 MiB read, at most 7.0 MiB held",
        "df_a            3",
        "df_longer      12",
    ]


def test_in_print_after_a_pickle():
    assert str(pickle.loads(pickle.dumps(FitReport("cpu", 1, train_seconds=0.25)))) == "cpu: 1 tree"
    report = FitReport("a GPU", 20, {"df_a": 3}, 5 << 20, 1 << 19, 7 << 20, 2.0, 0.125, 1.5)
    assert str(pickle.loads(pickle.dumps(report))).splitlines()[0] == "a GPU: 20 trees"
