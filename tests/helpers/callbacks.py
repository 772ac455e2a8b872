"""Callbacks of tests, the data that they watch fits of, and whether two fits leave the same."""

import pickle
import signal
import subprocess
import sys
import time

import numpy as np
from sklearn.datasets import load_diabetes

from dforest.callback.base import Callback, is_step

X, NUMBERS = load_diabetes(return_X_y=True)
CLASSES = np.digitize(NUMBERS, [100, 200])
WEIGHT = np.arange(len(X)) % 3 + 0.5


def target_of(model):
    return CLASSES if hasattr(model, "predict_proba") else NUMBERS


def one_line(model):
    """What a test is called by."""
    return repr(model).replace("\n", "")


def interrupted(program, arguments, seconds):
    """Run a program, and send it Ctrl-C some seconds after it has said "growing".

    Returns
    -------
    code : int
    out, err : str
        What it said afterwards.
    """
    command, pipe = [sys.executable, "-P", "-c", program, *arguments], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as fit:
        try:
            assert fit.stdout.readline() == "growing\n"
            time.sleep(seconds)
            fit.send_signal(signal.SIGINT)
            out, err = fit.communicate(timeout=60)
        finally:
            fit.kill()
    return fit.returncode, out, err


class StopAfter(Callback):
    """It asks to stop after some trees or rounds."""

    def __init__(self, n):
        self.n = n

    def on_fit_task_end(self, estimator, context):
        return is_step(context) and context.task_id + 1 == self.n


class FailAfter(Callback):
    """It raises after some trees or rounds."""

    def __init__(self, n):
        self.n = n

    def on_fit_task_end(self, estimator, context):
        if is_step(context) and context.task_id + 1 == self.n:
            raise RuntimeError("enough")


class Recorder(Callback):
    """It keeps all that it is told."""

    def __init__(self):
        self.told = []

    def keep(self, hook, context, **given):
        self.told.append((hook, context.task_name, context.task_id, given))

    def setup(self, estimator, context):
        self.keep("setup", context)

    def teardown(self, estimator, context):
        self.keep("teardown", context)

    def on_fit_task_begin(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.keep("begin", context, X=X, y=y, metadata=metadata, fitted=fitted_estimator)

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.keep("end", context, X=X, y=y, metadata=metadata, fitted=fitted_estimator)


# What two fits may differ in that leave the same.
FREE = ("n_estimators", "n_jobs", "device", "warm_start", "verbose", "_skl_callbacks")


def assert_equal_fits(model, other, free=FREE):
    """All that two fits leave has the same bytes, but for some attributes."""
    mine, others = ({name: value for name, value in vars(one).items() if name not in free} for one in (model, other))
    assert mine.keys() == others.keys()
    for name, value in mine.items():
        assert pickle.dumps(value) == pickle.dumps(others[name]), name
