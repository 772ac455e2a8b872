"""`fit_report_` of fits on a device, and what counts for it."""

import gc
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from helpers.device_forests import differences
from sklearn.datasets import load_breast_cancer

from dforest import DecisionTreeClassifier, RandomForestClassifier, RandomForestRegressor
from dforest.engines.device import kernel_source
from dforest.engines.device.backend import Account
from dforest.engines.device.recorder import Recorder

X, Y = load_breast_cancer(return_X_y=True)


def test_a_fit_on_a_device(device, where):
    launches, held = device.n_launches, device.n_bytes_held
    forest = RandomForestRegressor(5, random_state=0, device=where).fit(X, Y)
    report = forest.fit_report_
    assert (report.device, report.n_trees) == (device.name, 5)
    assert report.n_launches == device.n_launches - launches
    assert report.kernels["df_draw_rows"] == report.kernels["df_write_draws"] >= 1
    assert list(report.kernels) == sorted(report.kernels)
    # Codes, integer and exact targets.
    data = X.size + 4 * len(X) + 8 * len(X)
    if device.is_cpu:
        assert data < report.bytes_written < 10 * data
    else:  # it codes X itself, and is told the values of bins, and where they begin and end, one of these twice
        of_bins = 4 * 8 * 256 * X.shape[1]
        assert X.nbytes < report.bytes_written < X.nbytes + of_bins + data
    assert 0 < report.bytes_read
    assert data < report.bytes_most <= device.n_bytes_most
    assert device.n_bytes_held == held
    untimed = replace(report, build_seconds=None, upload_seconds=None, train_seconds=None, wait_seconds=None)
    assert pickle.loads(pickle.dumps(forest)).fit_report_ == untimed
    assert str(report).startswith(f"{device.name}: 5 trees in ")


def test_more_batches_run_more_and_hold_less(where, tuning):
    model = RandomForestClassifier(8, random_state=0, device=where)
    tuning["batch_bytes"] = 1 << 30
    at_once = model.fit(X, Y).fit_report_
    tuning["batch_bytes"] = 1 << 18
    one_by_one = model.fit(X, Y).fit_report_
    assert at_once.kernels.keys() == one_by_one.kernels.keys()
    of_trees = kernel_source.kernels("train.hpp")
    assert all(one_by_one.kernels[name] > n for name, n in at_once.kernels.items() if name in of_trees)
    assert one_by_one.bytes_most < at_once.bytes_most


def test_a_tree_and_a_warm_start(device, where):
    assert DecisionTreeClassifier(device=where).fit(X, Y).fit_report_.n_trees == 1
    forest = RandomForestClassifier(2, random_state=0, warm_start=True).fit(X, Y)
    assert forest.fit_report_.device == "cpu"
    report = forest.set_params(n_estimators=5, device=where).fit(X, Y).fit_report_
    assert (report.device, report.n_trees) == (device.name, 3)
    assert not differences(forest, RandomForestClassifier(5, random_state=0).fit(X, Y))
    with pytest.warns(UserWarning, match="does not fit new trees"):
        report = forest.fit(X, Y).fit_report_
    assert (report.device, report.n_trees, report.kernels) == (device.name, 0, {})


def test_fits_at_once_are_counted_apart(device, where):
    models = [RandomForestClassifier(3, random_state=0, max_depth=depth, device=where) for depth in (2, 9, 2, 9)]
    alone = [model.fit(X, Y).fit_report_ for model in models]
    launches = device.n_launches
    with ThreadPoolExecutor(4) as pool:
        together = [model.fit_report_ for model in pool.map(lambda model: model.fit(X, Y), models)]
    assert device.n_launches - launches == sum(report.n_launches for report in together)
    for one, other in zip(alone, together, strict=True):
        assert one.kernels == other.kernels
        assert (one.bytes_written, one.bytes_read) == (other.bytes_written, other.bytes_read)


def test_accounts_enter_in_their_whole():
    whole = Account()
    part, other = Account(whole), Account(whole)
    part.hold(10)
    other.hold(5)
    part.hold(-10)
    part.write(3)
    other.read(4)
    assert (whole.n_bytes, whole.n_bytes_most, whole.n_bytes_written, whole.n_bytes_read) == (5, 15, 3, 4)
    assert (part.n_bytes, part.n_bytes_most, part.n_bytes_written, part.n_bytes_read) == (0, 10, 3, 0)


def test_a_recorder_counts_what_goes_through_it(device):
    recorder, held = Recorder(device), device.n_bytes_held
    a, b = recorder.array(np.zeros(100)), recorder.zeros((50,), np.int32)
    assert (recorder.account.n_bytes, device.n_bytes_held) == (1000, held + 1000)
    b.write(np.ones(10, np.int32))
    a.get()
    recorder.run("df_copy_draws", 0, None, None, 0, None)  # no groups: not launched
    del a, b
    device.array(np.zeros(100))  # not through it
    assert (recorder.account.n_bytes, recorder.account.n_bytes_most) == (0, 1000)
    assert (recorder.account.n_bytes_written, recorder.account.n_bytes_read) == (840, 800)
    report = recorder.report(0)
    assert (report.device, report.kernels, report.bytes_most) == (device.name, {}, 1000)


def test_arrays_in_a_cycle_give_their_memory_back(device, monkeypatch):
    failed, held = [], device.n_bytes_held
    monkeypatch.setattr(sys, "unraisablehook", failed.append)
    cycle = [Recorder(device).array(np.zeros(100))]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert (failed, device.n_bytes_held) == ([], held)
