"""Survival forests: time and memory by how many different times there are."""

import numpy as np

import dforest

from . import data

ROWS = 20_000


def table(n_times):
    """X of 10 columns, and events and times, of which there are about as many as asked for; None: all differ."""
    random = np.random.default_rng(0)
    n_rows = data.scaled(ROWS)
    X = random.standard_normal((n_rows, 10), dtype=np.float32)
    time, censored = random.exponential(np.exp(X[:, 0] + 0.5 * X[:, 1])), random.exponential(2.0, n_rows)
    event, time = time <= censored, np.minimum(time, censored)
    if n_times is not None:
        time = np.ceil(np.argsort(np.argsort(time)) * (n_times / n_rows))
    return X, np.column_stack([event, time])


class Survival:
    """Training and prediction on one thread. Peak memory is that of the process: Python, the modules and the data too."""

    params = (["RandomSurvivalForest", "ExtraSurvivalTrees"], ["logrank", "logrank_score"], [100, None])
    param_names = ("estimator", "criterion", "n_times")

    def setup(self, estimator, criterion, n_times):
        self.X, self.y = table(n_times)
        kind = getattr(dforest, estimator)
        self.forest = kind(4, criterion=criterion, random_state=0)
        self.fitted = kind(4, criterion=criterion, random_state=0).fit(self.X, self.y)
        self.times = np.quantile(self.y[:, 1], [0.25, 0.5, 0.75])

    def time_fit(self, estimator, criterion, n_times):
        self.forest.fit(self.X, self.y)

    def peakmem_fit(self, estimator, criterion, n_times):
        self.forest.fit(self.X, self.y)

    def time_predict(self, estimator, criterion, n_times):
        self.fitted.predict(self.X)

    def time_survival_function(self, estimator, criterion, n_times):
        self.fitted.predict_survival_function(self.X[:1000], return_array=True, times=self.times)

    def time_score(self, estimator, criterion, n_times):
        self.fitted.score(self.X, self.y)
